// Chat Completions, at OpenAI or any server that supports it. The stream is read here rather than by the official
// package, which discards error bodies other than `{"error": …}`, ends silently when a stream is cut off, and stops at
// the first line that is not JSON. Only its types are used.
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { ChatRequest, Delta, Endpoint, HttpAnswer, Image, Message, Usage } from "zz";
import { tryTo, usage } from "zz/text";
import { baseOf, type Preset, type Wire } from "./contract.ts";

/** The windows of well-known models, in tokens, for servers that do not report them. The first match counts. */
const WINDOWS: [names: RegExp, window: number][] = [
  [/(^|\/)gpt-5/, 272_000],
  [/(^|\/)gpt-4\.1/, 1_047_576],
  [/(^|\/)(gpt-4o|chatgpt-4o|gpt-4-turbo)/, 128_000],
  [/(^|\/)gpt-3\.5-turbo/, 16_385],
  [/(^|\/)(o1|o3|o4-mini)(-\d|-pro|$)/, 200_000],
  [/(^|\/)claude-/, 200_000],
  [/(^|\/)gemini-(1\.5-flash|2)/, 1_048_576],
  [/(^|\/)gemini-1\.5-pro/, 2_097_152],
  [/(^|\/)deepseek-(chat|reasoner)$/, 65_536],
  [/(^|\/)(mistral-large|mistral-small|ministral)/, 128_000],
  [/(^|\/)grok-3/, 131_072],
  [/(^|\/)grok-4/, 256_000],
];

const knownWindow = (id: string): number | undefined => WINDOWS.find(([names]) => names.test(id))?.[1];

/** Fields that a server refused, by its address: omitted from then on. */
const refused = new Map<string, Set<string>>();

export const chat: Wire = {
  model(_preset, id) {
    const window = knownWindow(id);
    return window ? { id, window } : undefined;
  },

  async models(zz, preset, endpoint, signal) {
    const response = await zz.fetch(`${base(preset, endpoint)}/models`, { headers: headers(preset, endpoint), signal });
    const body = (await response.json()) as any;
    const models: any[] = Array.isArray(body) ? body : (body.data ?? body.models ?? []);
    return models.slice(0, MAX_MODELS).map((model) => {
      const window = model.context_length ?? model.context_window ?? model.max_context_length ?? model.max_model_len;
      const id = String(model.id ?? model.name);
      const known = window ? Number(window) : knownWindow(id);
      return { id, ...(known && { window: known }) };
    });
  },

  async *chat(zz, preset, request, signal) {
    const url = base(preset, request.endpoint);
    const without = refused.get(url) ?? new Set();
    refused.set(url, without);
    const response = await send();
    yield* read(response);

    async function send(): Promise<HttpAnswer> {
      for (;;) {
        const body = bodyOf(request, without);
        try {
          return await zz.fetch(`${url}/chat/completions`, {
            method: "POST",
            headers: headers(preset, request.endpoint),
            body: JSON.stringify(body, (_, value) => (typeof value === "string" ? value.toWellFormed() : value)),
            signal,
          });
        } catch (error) {
          const { status, message } = error as Error & { status?: number };
          const field = Object.keys(body).find((key) => OPTIONAL.includes(key) && message.includes(key));
          if ((status !== 400 && status !== 422) || !field) throw error;
          without.add(field);
        }
      }
    }
  },
};

/** Fields that a strict server may refuse, and that an answer does not depend on. */
const OPTIONAL = [
  "stream_options",
  "parallel_tool_calls",
  "tool_choice",
  "temperature",
  "top_p",
  "reasoning_effort",
  "response_format",
  "max_tokens",
  "max_completion_tokens",
];

const base = (preset: Preset, endpoint: Endpoint): string =>
  baseOf(preset, endpoint).replace(/\/chat\/completions$/, "");

function headers(preset: Preset, endpoint: Endpoint): Record<string, string> {
  const { key } = endpoint;
  if (!key && preset.key && base(preset, endpoint) === preset.url)
    throw usage(
      `Cannot ask '${preset.name}': no key is set. Set ${preset.key}, or pass --key KEY (--base-url URL for another server).`,
    );
  // Local servers need no key, but some refuse a request without one.
  return { authorization: `Bearer ${key ?? "none"}`, "content-type": "application/json", accept: "text/event-stream" };
}

function bodyOf({ model, system, messages, tools, options, effort }: ChatRequest, without: Set<string>) {
  const body: Record<string, unknown> = {
    model,
    messages: [
      ...(system ? [{ role: "system", content: system }] : []),
      ...afterResults(acceptedIds(messages, model)).flatMap(toWire),
    ],
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length && {
      tools: tools.map(({ name, description, schema }) => ({
        type: "function",
        function: { name, description, parameters: schema },
      })),
    }),
    ...(effort && { reasoning_effort: effort }),
    ...options,
  };
  // Every server knows one of the two: swap rather than lose the limit.
  for (const [one, other] of [
    ["max_tokens", "max_completion_tokens"],
    ["max_completion_tokens", "max_tokens"],
  ] as const)
    if (without.has(one) && body[one] !== undefined && !without.has(other)) body[other] = body[one];
  for (const field of without) delete body[field];
  return body;
}

/**
 * Call ids from another model may be refused here: those that are not plain and short are replaced, in calls and
 * results.
 */
function acceptedIds(messages: Message[], model: string): Message[] {
  const ids = new Map<string, string>();
  const own = (id: string) => ids.get(id) ?? id;
  for (const message of messages)
    if (message.role === "assistant" && !message.model?.endsWith(`/${model}`))
      for (const { id } of message.calls ?? [])
        if (!/^[\w-]{1,40}$/.test(id)) ids.set(id, `moved${String(ids.size).padStart(4, "0")}`); // every server accepts nine letters and digits
  if (!ids.size) return messages;
  return messages.map((message) => {
    if (message.role === "tool") return { ...message, id: own(message.id) };
    if (message.role !== "assistant" || !message.calls) return message;
    return { ...message, calls: message.calls.map((call) => ({ ...call, id: own(call.id) })) };
  });
}

/** Tool results cannot contain images here: they move into a user message after the last result. */
function afterResults(messages: Message[]): Message[] {
  const moved: Message[] = [];
  let images: Image[] = [];
  for (const [i, message] of messages.entries()) {
    if (message.role === "tool") images.push(...(message.images ?? []));
    if (message.role === "user" && images.length) {
      moved.push({
        role: "user",
        text: `The images of the results above.\n\n${message.text}`,
        images: [...images, ...(message.images ?? [])],
      });
      images = [];
      continue;
    }
    moved.push(message);
    const next = messages[i + 1]?.role;
    if (images.length && next !== "tool" && next !== "user") {
      moved.push({ role: "user", text: "The images of the results above.", images });
      images = [];
    }
  }
  return moved;
}

function toWire(message: Message): ChatCompletionMessageParam[] {
  if (message.role === "user") return [{ role: "user", content: withImages(message.text, message.images) }];
  if (message.role === "tool") {
    return [{ role: "tool", tool_call_id: message.id, content: message.text }];
  }
  const extra = message.extra?.at(-1); // Gemini's signature
  const signed = extra ? { extra_content: extra } : {};
  if (!message.calls?.length) return [{ role: "assistant", content: message.text, ...signed }];
  return [
    {
      role: "assistant",
      ...signed,
      content: message.text || null,
      tool_calls: message.calls.map(({ id, name, args, extra }) => ({
        id,
        type: "function" as const,
        function: { name: name.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown", arguments: JSON.stringify(args) },
        ...(extra ? { extra_content: extra } : {}),
      })),
    },
  ];
}

function withImages(text: string, images: Image[] = []) {
  if (!images.length) return text;
  return [{ type: "text" as const, text }, ...images.map(partOf)];
}

function partOf({ type, base64 }: Image) {
  const url = `data:${type};base64,${base64}`;
  if (type === "application/pdf") return { type: "file" as const, file: { filename: "document.pdf", file_data: url } };
  if (!type.startsWith("audio/")) return { type: "image_url" as const, image_url: { url } };
  const named = type.slice("audio/".length).replace(/^x-/, "");
  const format = (named === "mpeg" ? "mp3" : named) as "mp3"; // OpenAI takes wav and mp3, other servers more
  return { type: "input_audio" as const, input_audio: { data: base64, format } };
}

const MB = 1024 * 1024;
const MAX_LINE_CHARS = 8 * MB; // also of an event, which may have several lines
const MAX_ANSWER_CHARS = 512 * MB; // of the whole stream, most of which is not the answer itself
const MAX_MODELS = 10_000;

/** The stream as deltas: server-sent events, or one JSON body from servers that do not stream. */
async function* read(response: HttpAnswer): AsyncGenerator<Delta> {
  const { createParser } = await import("eventsource-parser");
  const decoder = new TextDecoder();
  let events: { event?: string | undefined; data: string }[] = [];
  let rest = ""; // the parser drops an unfinished line that it does not know, so it gets whole lines only
  let otherLines = "";
  let seen = false;
  let finished = false;
  let isRefusal = false; // told by a field of its own, while the finish reason says "stop"
  let [size, open] = [0, 0]; // characters: in all, and since the last event ended
  const tooLong = (what: string, most: number) =>
    new Error(`'openai' sent ${what} of more than ${most / MB} MB, and was given up. Check --base-url.`);
  const parser = createParser({
    onEvent: ({ event, data }) => events.push({ event, data }),
    onComment: () => events.push({ event: "alive", data: "" }),
    onError: (error) => (otherLines += `${error.line ?? ""}\n`),
  });
  for await (const bytes of response.body) {
    const text = decoder.decode(bytes, { stream: true });
    const end = Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1; // only in new text, so that a long line is not searched repeatedly
    if (end) parser.feed(rest + text.slice(0, end));
    rest = end ? text.slice(end) : rest + text;
    open = events.length ? 0 : open + text.length;
    size += text.length;
    if (rest.length > MAX_LINE_CHARS) throw tooLong("a line", MAX_LINE_CHARS);
    if (open > MAX_LINE_CHARS || otherLines.length > MAX_LINE_CHARS) throw tooLong("an event", MAX_LINE_CHARS);
    if (size > MAX_ANSWER_CHARS) throw tooLong("an answer", MAX_ANSWER_CHARS);
    if (yield* drain()) return;
  }
  parser.feed(`${rest}${decoder.decode()}\n\n`);
  parser.reset({ consume: true });
  if (yield* drain()) return;
  if (!otherLines.trim()) return;
  // Not a stream: a whole answer, an error, or a web page.
  const whole = parse(otherLines);
  if (whole !== undefined) {
    yield* deltas(whole);
    if (refuses(whole)) yield { finish: "refusal" };
  } else if (!seen)
    yield {
      error: /^\s*<(!doctype|html)/i.test(otherLines)
        ? otherLines
        : `not a stream but ${otherLines.trim().slice(0, 200)}`,
    };

  /** True at the end of the stream. */
  async function* drain(): AsyncGenerator<Delta, boolean> {
    const batch = events;
    events = [];
    for (const { event, data } of batch) {
      if (event === "alive") yield { text: "" }; // a keep-alive: nothing to show, but a sign of life
      if (event === "error") yield { error: parse(data) ?? data };
      if (data.trim() === "[DONE]") {
        if (seen && !finished) yield { finish: isRefusal ? "refusal" : "stop" };
        return true;
      }
      // Some servers omit the blank line between events; then several lines come as one.
      const chunks = parse(data) !== undefined ? [data] : data.split("\n");
      for (const line of chunks) {
        if (!line.trim() || line.trim() === "[DONE]") continue;
        const chunk = parse(line);
        if (chunk === undefined) yield { error: `a line that is not JSON: ${line.slice(0, 200)}` };
        isRefusal ||= refuses(chunk);
        for (const delta of deltas(chunk)) {
          if ("finish" in delta) finished = true;
          else if (!("usage" in delta)) seen = true;
          yield "finish" in delta && delta.finish === "stop" && isRefusal ? { finish: "refusal" } : delta;
        }
      }
    }
    return false;
  }
}

const refuses = (chunk: any): boolean => Boolean((chunk?.choices?.[0]?.delta ?? chunk?.choices?.[0]?.message)?.refusal);

const parse = (text: string): any => tryTo(() => JSON.parse(text));

function* deltas(given: any): Generator<Delta> {
  const chunk = Array.isArray(given) ? given[0] : given;
  const choice = chunk?.choices?.[0];
  const delta = choice?.delta ?? choice?.message;
  yield* content(delta?.content);
  const thinking = delta?.reasoning_content || delta?.reasoning || delta?.reasoning_text || delta?.thinking;
  if (typeof thinking === "string" && thinking) yield { thinking };
  if (delta?.extra_content) yield { extra: delta.extra_content };
  if (delta?.refusal) yield { text: String(delta.refusal) };
  for (const call of Array.isArray(delta?.tool_calls) ? delta.tool_calls : [])
    yield {
      call: {
        index: call.index,
        id: call.id,
        name: call.function?.name,
        args: call.function?.arguments,
        extra: call.extra_content,
      },
    };
  if (delta?.function_call)
    yield { call: { index: 0, name: delta.function_call.name, args: delta.function_call.arguments } };
  const usage = chunk?.usage ?? choice?.usage ?? chunk?.x_groq?.usage;
  if (usage) yield { usage: usageOf(usage) };
  if (chunk?.error) yield { error: chunk };
  if (choice?.finish_reason) yield { finish: choice.finish_reason };
  else if (chunk?.detail || (chunk?.object === "error" && chunk.message)) yield { error: chunk };
}

/** Servers tell in their own words what came from their cache, and what went into it. */
function usageOf(said: any): Usage {
  const { prompt_tokens: input = 0, completion_tokens: output = 0, prompt_tokens_details: details } = said;
  const cached =
    details?.cached_tokens ?? said.prompt_cache_hit_tokens ?? said.cache_read_input_tokens ?? said.cached_tokens;
  const written = details?.cache_write_tokens ?? said.cache_creation_input_tokens;
  return { input, output, ...(cached && { cached }), ...(written && { written }) };
}

/** Text, or parts of text and thinking. */
function* content(given: unknown): Generator<Delta> {
  if (typeof given === "string") {
    if (given) yield { text: given };
  } else if (Array.isArray(given))
    for (const part of given) {
      if (part?.type === "thinking") yield { thinking: textOf(part.thinking) };
      else if (part?.type === "text" || typeof part === "string") yield { text: textOf(part.text ?? part) };
    }
}

const textOf = (part: unknown): string =>
  Array.isArray(part) ? part.map((one) => one?.text ?? "").join("") : String(part ?? "");
