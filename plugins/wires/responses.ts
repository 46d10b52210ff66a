// OpenAI's Responses API, which its reasoning and codex models are made for. The server keeps
// nothing (store: false), so what a model thought comes encrypted, is kept with the answer, and is
// sent back with the next request.
import type { ChatRequest, Delta, HttpAnswer, Image, Message, Usage } from "zz";
import { type EventPiece, eventPieces } from "zz/text";
import { chat, isClosed } from "./chat.ts";
import { send } from "./client.ts";
import { acceptedIds } from "./messages.ts";
import { isObject, NoJson, noStream, objectsIn, parse, valuesIn, wordsOf } from "./sse.ts";
import type { Wire } from "./wire-types.ts";

export const responses: Wire = {
  ...chat,
  async *chat(zz, preset, request, signal) {
    const answer = await send(zz, preset, request, signal, {
      to: "responses",
      bodyOf: (without) => bodyOf(request, without),
      refused: (message, _, without) =>
        OPTIONAL.find(([part, words]) => !without.has(part) && words.test(message))?.[0],
    });
    yield* read(answer, preset.name);
  },
};

/**
 * Parts of a request that an answer does not depend on, and the words of an error that refuses
 * them.
 */
const OPTIONAL: [part: string, words: RegExp][] = [
  ["include", /encrypted/i],
  ["summary", /reasoning\.summary|reasoning summar/i],
  ["effort", /reasoning\.effort/i],
  ["reasoning", /['"`]reasoning['"`]|reasoning is not supported/i],
  ["parallel_tool_calls", /parallel_tool_calls/],
  ["max_output_tokens", /max_output_tokens/],
  ["temperature", /temperature/],
  ["top_p", /top_p/],
  ["text", /text\.format/],
];

function bodyOf(
  { model, system, messages, tools, options, effort, schema }: ChatRequest,
  without: Set<string>,
) {
  const {
    max_tokens,
    max_completion_tokens,
    max_output_tokens,
    reasoning_effort,
    reasoning,
    ...others
  } = options;
  const limit = max_output_tokens ?? max_completion_tokens ?? max_tokens;
  const effortSetting = reasoning_effort ?? effort;
  const thinking = {
    ...(!without.has("effort") && effortSetting !== undefined && { effort: effortSetting }),
    ...(!without.has("summary") && { summary: "auto" }),
    ...(reasoning as object),
  };
  const format = schema && {
    type: "json_schema",
    name: "answer",
    schema,
    strict: isClosed(schema),
  };
  const body: Record<string, unknown> = {
    model,
    ...(system && { instructions: system }),
    input: acceptedIds(messages, model, /^[\w-]{1,64}$/).flatMap((message) =>
      toItems(message, model),
    ),
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    ...(tools.length && {
      tools: tools.map(({ name, description, schema }) => ({
        type: "function",
        name,
        description,
        parameters: schema,
        strict: false,
      })),
    }),
    ...(Object.keys(thinking).length && { reasoning: thinking }),
    ...(format && { text: { format } }),
    ...(limit !== undefined && { max_output_tokens: limit }),
    ...others,
  };
  for (const part of without) delete body[part];
  return body;
}

/** What was thought, and where: before which call, and before or after the text. */
type Thought = { reasoning: object; calls: number; text: boolean };
const isThought = (extra: any): extra is Thought => typeof extra?.reasoning === "object";

function toItems(message: Message, model: string): object[] {
  if (message.role === "user")
    return [{ role: "user", content: partsOf(message.text, message.images) }];
  if (message.role === "tool") {
    const output = message.images?.length ? partsOf(message.text, message.images) : message.text;
    return [{ type: "function_call_output", call_id: message.id, output }];
  }
  const isOwn = message.model?.endsWith(`/${model}`); // another model cannot read it
  const thoughts = isOwn ? (message.extra ?? []).filter(isThought) : [];
  const thoughtsAt = (calls: number, text?: boolean) =>
    thoughts
      .filter((thought) => thought.calls === calls && (text ?? thought.text) === thought.text)
      .map(({ reasoning }) => reasoning);
  const calls = message.calls ?? [];
  return [
    ...thoughtsAt(0, false),
    ...(message.text ? [{ role: "assistant", content: message.text }] : []),
    ...thoughtsAt(0, true),
    ...calls.flatMap(({ id, name, args }, i) => [
      ...(i ? thoughtsAt(i) : []),
      {
        type: "function_call",
        call_id: id,
        name: name.replace(/[^\w-]/g, "_").slice(0, 64) || "unknown",
        arguments: JSON.stringify(args),
      },
    ]),
  ];
}

const partsOf = (text: string, images: Image[] = []): object[] => [
  ...(text || !images.length ? [{ type: "input_text", text }] : []),
  ...images.map(({ type, base64 }) => {
    const url = `data:${type};base64,${base64}`;
    if (type.startsWith("image/")) return { type: "input_image", image_url: url, detail: "auto" };
    return { type: "input_file", filename: `document.${type.split("/")[1]}`, file_data: url };
  }),
];

/** The state of one answer, while its events come. */
interface Open {
  // what came of each, by its index
  items: Map<number, { text: string; args: string; named: boolean }>;
  thoughts: Set<unknown>; // the ids of those that came
  calls: number;
  text: boolean;
  thought: boolean;
  isRefusal: boolean;
  ended?: true; // what follows does not count
}

async function* read(response: HttpAnswer, name: string): AsyncGenerator<Iterable<Delta>> {
  const open: Open = {
    items: new Map(),
    thoughts: new Set(),
    calls: 0,
    text: false,
    thought: false,
    isRefusal: false,
  };
  for await (const batch of eventPieces(response, name)) {
    yield readAll(open, batch);
    if (open.ended) return;
  }
}

function* readAll(open: Open, batch: EventPiece[]): Generator<Delta> {
  for (const piece of batch) {
    if ("alive" in piece) yield { text: "" };
    else if ("rest" in piece) {
      const parsed = parse(piece.rest);
      if (parsed === undefined) yield { error: noStream(piece.rest) };
      else yield* ended(open, parsed ?? {});
    } else
      for (const event of valuesIn(piece.data)) {
        if (event instanceof NoJson) yield { error: event.words };
        else if (isObject(event)) yield* deltas(open, event, event.type ?? piece.event ?? "");
        else yield { text: "" };
        if (open.ended) return;
      }
  }
}

function* deltas(open: Open, event: any, type: string): Generator<Delta> {
  const index = event?.output_index ?? 0;
  const item = open.items.get(index) ?? { text: "", args: "", named: false };
  open.items.set(index, item);
  if (type === "response.output_text.delta" || type === "response.refusal.delta") {
    open.isRefusal ||= type === "response.refusal.delta";
    yield say(open, item, wordsOf(event.delta));
  } else if (/^response\.reasoning(_summary)?_text\.delta$/.test(type)) {
    open.thought = true;
    yield { thinking: wordsOf(event.delta) };
  } else if (type === "response.reasoning_summary_part.added") {
    if (open.thought) yield { thinking: "\n\n" };
  } else if (type === "response.output_item.added" && event.item?.type === "function_call") {
    yield* call(open, item, index, event.item, event.item.arguments);
  } else if (type === "response.function_call_arguments.delta") {
    item.args += wordsOf(event.delta);
    yield { call: { index: index, args: event.delta } };
  } else if (type === "response.function_call_arguments.done") {
    if (!item.args && event.arguments)
      yield { call: { index: index, args: (item.args = event.arguments) } };
  } else if (type === "response.output_item.done") yield* wholeItem(open, index, event.item);
  else if (/^response\.(completed|incomplete|failed|cancelled)$/.test(type))
    yield* ended(open, event.response ?? {});
  else if (type === "error" || event?.error)
    yield { error: event?.error ? event : { error: event } };
  else if (event?.choices)
    yield {
      error:
        'not a stream of Responses but of Chat Completions. Set "wire": "chat" for this provider',
    };
  else yield { text: "" }; // other events: a sign of life
}

function say(open: Open, item: { text: string }, text: string): Delta {
  item.text ||= text; // only whether some came counts
  open.text ||= text !== "";
  return { text };
}

/** Begins a call once; its arguments come with it, or follow. */
function* call(
  open: Open,
  item: { args: string; named: boolean },
  index: number,
  source: any,
  args: unknown,
) {
  if (!item.named) open.calls++;
  const isNew = !item.named;
  item.named = true;
  const remainingArgs = typeof args === "string" && args && !item.args ? args : undefined;
  item.args += remainingArgs ?? "";
  if (isNew || remainingArgs)
    yield {
      call: {
        index,
        id: source.call_id ?? source.id,
        name: source.name,
        ...(remainingArgs && { args: remainingArgs }),
      },
    };
}

/** Yields what did not come in pieces of an item that is finished. */
function* wholeItem(open: Open, index: number, source: any): Generator<Delta> {
  const item = open.items.get(index) ?? { text: "", args: "", named: false };
  open.items.set(index, item);
  if (source?.type === "function_call") yield* call(open, item, index, source, source.arguments);
  else if (source?.type === "reasoning") {
    const { status: _, ...reasoning } = source;
    if (!open.thought)
      for (const { text } of objectsIn(source.summary)) if (text) yield { thinking: `${text}\n` };
    const isNew = !open.thoughts.has(source.id);
    open.thoughts.add(source.id);
    if (source.encrypted_content && isNew)
      yield { extra: { reasoning, calls: open.calls, text: open.text } satisfies Thought };
  } else if (source?.type === "message") {
    const parts = objectsIn(source.content);
    open.isRefusal ||= parts.some(({ type }) => type === "refusal");
    if (!item.text)
      for (const { text, refusal } of parts) yield say(open, item, wordsOf(text ?? refusal));
  }
}

/** The end of an answer, with its usage; from a server that does not stream, all of it. */
function* ended(open: Open, answer: any): Generator<Delta> {
  const { output, usage, status, error, incomplete_details: cut } = answer;
  if (error || status === "failed") return yield { error: { error: error ?? "the answer failed" } };
  if (!Array.isArray(output) && !status) return yield { error: answer };
  open.ended = true;
  const isNew = ![...open.items.values()].some(({ text, named }) => text || named);
  if (isNew)
    for (const [index, item] of objectsIn(output).entries()) yield* wholeItem(open, index, item);
  if (usage) yield { usage: usageOf(usage) };
  if (status === "cancelled") return yield { error: { error: "the answer was cancelled" } };
  const completed = open.calls ? "tool_calls" : "stop";
  if (status === "incomplete" || cut)
    yield { finish: cut?.reason === "content_filter" ? "content_filter" : "length" };
  else yield { finish: open.isRefusal ? "refusal" : completed };
}

function usageOf({
  input_tokens: input = 0,
  output_tokens: output = 0,
  input_tokens_details: details,
}: any): Usage {
  const cached = details?.cached_tokens;
  return { input, output, ...(cached && { cached }) };
}
