// Chat Completions, at OpenAI or any server that supports it. The stream is read here, since the
// official package's client discards error bodies other than `{"error": …}`, ends silently when a
// stream is cut off, and stops at the first line that is not JSON.
import type { ChatRequest, Delta, HttpAnswer, Model, Usage } from "zz";
import { type EventPiece, eventPieces } from "zz/text";
import { request, send } from "./client.ts";
import { toMessages } from "./messages.ts";
import { isDone, NoJson, noStream, objectsIn, parse, valuesIn, wordsOf } from "./sse.ts";
import { knownModel, knownWindow } from "./windows.ts";
import { type Quirks, quirksOf, type Wire } from "./wire-types.ts";

const MAX_MODELS = 10_000;

export const chat: Wire = {
  model: knownModel,

  async models(zz, preset, endpoint, signal) {
    const { models: listed } = quirksOf(preset, endpoint);
    if (Array.isArray(listed)) return listed.map((id) => ({ id }));
    const response = await request(zz, preset, endpoint, signal, (client) =>
      client.get(listed ?? "/models", { signal }),
    );
    const { readModelPage } = await import("./listed-models.ts");
    return readModelPage(await response.json())
      .models.slice(0, MAX_MODELS)
      .map(withWindow);
  },

  async *chat(zz, preset, request, signal) {
    const quirks = quirksOf(preset, request.endpoint);
    const answer = await send(zz, preset, request, signal, {
      to: "chat",
      bodyOf: (without) => bodyOf(request, quirks, without),
      refused: (message, body) =>
        Object.keys(body).find((key) => OPTIONAL.includes(key) && isNamed(key, message)),
    });
    yield* read(answer, preset.name);
  },
};

function withWindow({ id, window = knownWindow(id), price }: Model): Model {
  return { id, ...(window && { window }), ...(price && { price }) };
}

/** Fields that a strict server may refuse, and that an answer does not depend on. */
const OPTIONAL = [
  "stream_options",
  "parallel_tool_calls",
  "tool_choice",
  "temperature",
  "top_p",
  "reasoning_effort",
  "reasoning",
  "thinking",
  "enable_thinking",
  "response_format",
  "max_tokens",
  "max_completion_tokens",
];

/**
 * Whether a refusal names the field. A plain word may occur in any sentence, so it must be written
 * as a field.
 */
const isNamed = (field: string, message: string): boolean =>
  field.includes("_")
    ? message.includes(field)
    : new RegExp(`(['"\`.])${field}\\b|\\b${field}:`).test(message);

function bodyOf(
  request: ChatRequest,
  quirks: Quirks,
  without: Set<string>,
): Record<string, unknown> {
  const { model, messages, tools, options, effort, schema } = request;
  const system =
    schema && quirks.schema === "json_object"
      ? asksForJson(request.system, schema)
      : request.system;
  const role = quirks.developer?.test(model) ? "developer" : "system";
  const body: Record<string, unknown> = {
    model,
    messages: [
      ...(system ? [{ role, content: system }] : []),
      ...toMessages(messages, model, quirks),
    ],
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length &&
      quirks.tools !== false && {
        tools: tools.map(({ name, description, schema }) => ({
          type: "function",
          function: { name, description, parameters: schema },
        })),
      }),
    ...(effort && effortFields(effort, quirks)),
    ...(schema && { response_format: formatOf(schema, quirks) }),
    ...options,
  };
  // Every server knows one of the two: swap rather than lose the limit.
  const [limits, maxField] = [["max_tokens", "max_completion_tokens"], quirks.max];
  for (const [limit = "", otherName = ""] of [limits, limits.toReversed()]) {
    const isOther = maxField ? maxField !== limit : without.has(limit) && !without.has(otherName);
    if (body[limit] === undefined || !isOther) continue;
    body[otherName] ??= body[limit];
    delete body[limit];
  }
  for (const field of [...without, ...(quirks.without ?? [])]) delete body[field];
  return body;
}

function effortFields(
  effort: NonNullable<ChatRequest["effort"]>,
  { effort: mode }: Quirks,
): object {
  const thinks = effort !== "none";
  if (mode === "thinking") return { thinking: { type: thinks ? "enabled" : "disabled" } };
  if (mode === "enable_thinking") return { enable_thinking: thinks };
  if (mode === "reasoning") return { reasoning: thinks ? { effort } : { enabled: false } };
  return { reasoning_effort: mode === "high" && thinks ? "high" : effort };
}

function formatOf(schema: Record<string, unknown>, { schema: mode }: Quirks): object {
  if (mode === "json_object") return { type: "json_object" };
  const strict = mode === "strict" && isClosed(schema);
  return {
    type: "json_schema",
    json_schema: { name: "answer", schema, ...(strict && { strict }) },
  };
}

/** For a server that takes no schema: the prompt must give it, and must contain the word JSON. */
const asksForJson = (system: string, schema: object): string =>
  `${system}\n\nAnswer with one JSON value that fits this JSON Schema, and nothing else:\n${JSON.stringify(schema)}`.trim();

/**
 * Whether a server can enforce the schema: each object lists all of its fields, requires them and
 * allows no others.
 */
export function isClosed(schema: any): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (typeof schema !== "object" || !schema) return true;
  const { type, properties, required = [], additionalProperties } = schema;
  if (type === "object" || properties) {
    const names = Object.keys(properties ?? {});
    if (additionalProperties !== false || !names.every((name) => required.includes(name)))
      return false;
    if (!Object.values(properties ?? {}).every(isClosed)) return false;
  }
  return ["items", "anyOf", "$defs"].every((key) =>
    isClosed(key === "$defs" ? Object.values(schema.$defs ?? {}) : schema[key]),
  );
}

/** What has been read of one stream. */
interface Reading {
  seen: boolean; // something other than a finish or usage came
  finished: boolean;
  ended: boolean; // [DONE]: what follows does not count
  isWhole: boolean; // the usage came last, so nothing was cut off
  isRefusal: boolean; // a field of its own says so, while the finish reason says "stop"
  details: Map<unknown, any>; // a gateway's pieces of thinking, by index
}

/** The stream as deltas: server-sent events, or one JSON body from servers that do not stream. */
async function* read(response: HttpAnswer, name: string): AsyncGenerator<Iterable<Delta>> {
  const none = { seen: false, finished: false, ended: false, isWhole: false, isRefusal: false };
  const reading: Reading = { ...none, details: new Map() };
  for await (const batch of eventPieces(response, name)) {
    yield readAll(reading, batch);
    if (reading.ended) return;
  }
  if (reading.seen && !reading.finished && reading.isWhole) yield finish(reading, "stop");
}

function* readAll(reading: Reading, batch: EventPiece[]): Generator<Delta> {
  for (const piece of batch) {
    if ("alive" in piece)
      yield { text: "" }; // a keep-alive: nothing to show, but a sign of life
    else if ("rest" in piece) yield* readWhole(reading, piece.rest);
    else {
      const { event, data } = piece;
      if (event === "error") yield { error: parse(data) ?? data };
      if (isDone(data)) {
        if (reading.seen && !reading.finished) yield* finish(reading, "stop");
        reading.ended = true;
        return;
      }
      for (const chunk of valuesIn(data)) yield* readChunk(reading, chunk);
    }
  }
}

/** Reads what is not a stream: a whole answer, an error, or a web page. */
function* readWhole(reading: Reading, text: string): Generator<Delta> {
  const parsed = parse(text);
  if (parsed === undefined && !reading.seen) yield { error: noStream(text) };
  if (parsed === undefined) return;
  yield* deltas(parsed);
  if (refuses(parsed)) yield { finish: "refusal" };
  reading.finished = true;
}

function* readChunk(reading: Reading, chunk: any): Generator<Delta> {
  if (chunk instanceof NoJson) return yield { error: chunk.words };
  reading.isRefusal ||= refuses(chunk);
  reading.isWhole = Boolean(chunk?.usage && chunk.choices?.length === 0);
  const thought = choiceOf(chunk)?.delta?.reasoning_details;
  if (thought) gather(reading.details, thought);
  for (const delta of deltas(chunk)) {
    if ("finish" in delta) yield* finish(reading, delta.finish);
    else {
      if (!("usage" in delta)) reading.seen = true;
      yield delta;
    }
  }
}

function finish(reading: Reading, reason: string): Delta[] {
  reading.finished = true;
  const back = [...reading.details.values()];
  reading.details.clear();
  const extra = back.length ? [{ extra: { reasoning_details: back } }] : [];
  return [...extra, { finish: reason === "stop" && reading.isRefusal ? "refusal" : reason }];
}

/**
 * Joins a gateway's pieces of thinking that have the same index; they must be sent back unchanged.
 */
function gather(calls: Map<unknown, any>, pieces: unknown): void {
  for (const piece of Array.isArray(pieces) ? pieces : []) {
    if (typeof piece !== "object" || !piece) continue;
    const before = calls.get(piece.index ?? calls.size);
    const joined = { ...before, ...piece };
    for (const field of ["text", "summary", "data"])
      if (typeof before?.[field] === "string" && typeof piece[field] === "string")
        joined[field] = before[field] + piece[field];
    calls.set(piece.index ?? calls.size, joined);
  }
}

/** The first answer, if the server gives several. */
const choiceOf = (chunk: any): any => objectsIn(chunk?.choices).find((choice) => !choice.index);

const refuses = (chunk: any): boolean =>
  Boolean((choiceOf(chunk)?.delta ?? choiceOf(chunk)?.message)?.refusal);

function* deltas(parsedChunk: any): Generator<Delta> {
  const chunk = Array.isArray(parsedChunk) ? parsedChunk[0] : parsedChunk;
  const choice = choiceOf(chunk);
  const delta = choice?.delta ?? choice?.message;
  yield* content(delta?.content);
  const thinking =
    delta?.reasoning_content || delta?.reasoning || delta?.reasoning_text || delta?.thinking;
  if (typeof thinking === "string" && thinking) yield { thinking };
  if (delta?.extra_content) yield { extra: delta.extra_content };
  if (delta?.refusal) yield { text: wordsOf(delta.refusal) };
  for (const call of objectsIn(delta?.tool_calls))
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
    yield {
      call: { index: 0, name: delta.function_call.name, args: delta.function_call.arguments },
    };
  const usage = chunk?.usage ?? choice?.usage ?? chunk?.x_groq?.usage;
  if (usage) yield { usage: usageOf(usage) };
  if (chunk?.error) yield { error: chunk };
  if (wordsOf(choice?.finish_reason)) yield { finish: choice.finish_reason };
  else if (chunk?.detail || (chunk?.object === "error" && chunk.message)) yield { error: chunk };
}

/** Servers use different names for what they read from their cache and wrote into it. */
function usageOf(usage: any): Usage {
  const {
    prompt_tokens: input = 0,
    completion_tokens: output = 0,
    prompt_tokens_details: details,
  } = usage;
  const cached =
    details?.cached_tokens ??
    usage.prompt_cache_hit_tokens ??
    usage.cache_read_input_tokens ??
    usage.cached_tokens;
  const written = details?.cache_write_tokens ?? usage.cache_creation_input_tokens;
  return { input, output, ...(cached && { cached }), ...(written && { written }) };
}

/** Text, or parts of text and thinking. */
function* content(parts: unknown): Generator<Delta> {
  if (typeof parts === "string") {
    if (parts) yield { text: parts };
  } else if (Array.isArray(parts))
    for (const part of parts) {
      if (part?.type === "thinking") yield { thinking: textOf(part.thinking) };
      else if (part?.type === "text" || typeof part === "string")
        yield { text: textOf(part.text ?? part) };
    }
}

const textOf = (part: unknown): string =>
  Array.isArray(part) ? part.map((child) => wordsOf(child?.text)).join("") : wordsOf(part);
