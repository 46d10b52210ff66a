// Reads Anthropic's stream of events as zz's own deltas.
import type { Delta, Usage } from "zz";
import { sumUsage, tryTo } from "zz/text";
import type { Value } from "../native.ts";
import { wordsOf } from "../sse.ts";
import { ANSWER_TOOL, isThought } from "./request.ts";

export const MAX_BLOCKS = 100_000; // of one message; those of the next are numbered from there
export interface Reading {
  open: Map<unknown, any>;
  blocks: any[];
  first: number;
  spent: Usage; // up to the last pause
  counts: Record<string, number>;
  text: boolean; // whether any text came
  // the pieces not yet added to a block
  grown: { block?: any; field: "text" | "thinking"; pieces: string[] };
  stop?: string;
  ended?: true;
}

/**
 * Reads a batch of events. Nothing counts after the end, and no error counts once the answer is
 * complete.
 */
export function* readAll(reading: Reading, batch: Value[]): Generator<Delta> {
  for (const { event, value } of batch) {
    const isError = event === "error" || value?.error;
    if (isError && reading.stop) reading.ended = true;
    if (reading.ended) return;
    if (isError) yield { error: withStatus(value) };
    const { type, index, delta } = value ?? {};
    if (type === "content_block_delta" && delta) {
      if (!reading.open.has(index))
        yield* begin(reading, index, { type: MADE[delta.type] ?? "unknown" });
      yield grow(reading, index, delta);
    } else if (type === "message")
      for (const wholeEvent of wholeEvents(value)) yield* deltas(reading, wholeEvent);
    else yield* deltas(reading, value);
  }
}

/**
 * The events that would have streamed a whole message, which comes from a server that does not
 * stream.
 */
const wholeEvents = (value: any): any[] => [
  { type: "message_start", message: value },
  ...[value.content ?? []].flat().flatMap((block, index) => [
    {
      type: "content_block_start",
      index,
      content_block: typeof block === "string" ? { type: "text", text: block } : block,
    },
    { type: "content_block_stop", index },
  ]),
  { type: "message_delta", delta: value },
  { type: "message_stop" },
];

function* deltas(reading: Reading, value: any): Generator<Delta> {
  const { type, index, delta } = value ?? {};
  if (type === "message_start") yield* count(reading, value.message?.usage);
  else if (type === "content_block_start") yield* begin(reading, index, value.content_block);
  else if (type === "content_block_stop") yield* close(reading, index);
  else if (type === "message_delta") {
    yield* count(reading, value.usage);
    if (!delta?.stop_reason) return;
    reading.stop = String(delta.stop_reason);
    for (const blockIndex of reading.open.keys()) yield* close(reading, blockIndex);
    const { explanation } = delta.stop_details ?? {};
    if (reading.stop === "refusal" && explanation && !reading.text)
      yield { text: String(explanation) };
  } else if (type === "message_stop") {
    for (const openIndex of reading.open.keys()) yield* close(reading, openIndex);
    if (reading.stop || reading.blocks.length) reading.ended = true;
  } else yield { text: "" }; // a ping: nothing to show, but a sign of life
}

function* begin(reading: Reading, index: unknown, started: any): Generator<Delta> {
  const block = { ...started };
  reading.open.set(index, block);
  reading.blocks.push(block);
  const { type, text, thinking, id, name, input } = block;
  const args = input && Object.keys(input).length ? { args: input } : {};
  if (text) reading.text = true;
  if (type === "text") yield { text: wordsOf(text) };
  else if (type === "thinking") yield { thinking: wordsOf(thinking) };
  else if (type === "tool_use" && name === ANSWER_TOOL)
    yield { text: args.args ? JSON.stringify(input) : "" };
  else if (type === "tool_use")
    yield { call: { index: indexOf(reading, index), id, name, ...args } };
  else yield { text: "" };
}

const indexOf = ({ first, blocks }: Reading, index: unknown): number =>
  first + (typeof index === "number" ? index : blocks.length);

/** The blocks that pieces belong to, for a server that did not begin them. */
const MADE: Record<string, string> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "thinking",
};

/** Adds a piece to a block that has begun. */
function grow(reading: Reading, index: unknown, delta: any): Delta {
  const { type } = delta;
  const block = reading.open.get(index);
  const text = wordsOf(delta.text);
  if (text) reading.text = true;
  if (type === "text_delta") {
    add(reading, block, "text", text);
    return { text };
  }
  const thinking = wordsOf(delta.thinking);
  if (type === "thinking_delta") {
    add(reading, block, "thinking", thinking);
    return { thinking };
  }
  const json = wordsOf(delta.partial_json);
  if (type === "input_json_delta" && block.name === ANSWER_TOOL) return { text: json };
  if (type === "input_json_delta" && block.type === "tool_use")
    return { call: { index: indexOf(reading, index), args: json } };
  // the input of one of the server's own tools
  if (type === "input_json_delta") block.json = (block.json ?? "") + json;
  if (type === "signature_delta")
    block.signature = (block.signature ?? "") + wordsOf(delta.signature);
  if (type === "citations_delta") block.citations = [...(block.citations ?? []), delta.citation];
  return { text: "" };
}

const MAX_PIECES = 500;

/**
 * Joins the pieces of a block only now and then: a string made of many small ones takes a lot of
 * memory.
 */
function add(reading: Reading, block: any, field: "text" | "thinking", piece: string): void {
  const { grown } = reading;
  if (grown.block !== block || grown.field !== field || grown.pieces.length === MAX_PIECES)
    settle(reading);
  if (!grown.pieces.length) Object.assign(grown, { block, field });
  grown.pieces.push(piece);
}

export function settle({ grown }: Reading): void {
  const { block, field, pieces } = grown;
  if (block) block[field] = (block[field] ?? "") + pieces.join("");
  grown.pieces = [];
}

function* close(reading: Reading, index: unknown): Generator<Delta> {
  settle(reading);
  const block = reading.open.get(index);
  reading.open.delete(index);
  if (block?.json) block.input = tryTo(() => JSON.parse(block.json)) ?? {};
  delete block?.json;
  if (isThought(block)) yield { extra: block };
}

function* count(reading: Reading, usage: any): Generator<Delta> {
  if (!usage) return;
  for (const [name, value] of Object.entries(usage))
    if (typeof value === "number") reading.counts[name] = value;
  yield { usage: usageOf(reading) };
}

/**
 * Anthropic counts what it read from the cache and wrote into it apart from the input; zz adds them
 * to it.
 */
export function usageOf({ counts, spent }: Reading): Usage {
  const {
    input_tokens = 0,
    output_tokens = 0,
    cache_read_input_tokens: cached = 0,
    cache_creation_input_tokens: written = 0,
  } = counts;
  return sumUsage([
    spent,
    {
      input: input_tokens + cached + written,
      output: output_tokens,
      ...(cached && { cached }),
      ...(written && { written }),
    },
  ]);
}

/**
 * The HTTP status that an error would have had before the stream began; it decides whether to try
 * again.
 */
const STATUS: Record<string, number> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};
function withStatus(value: any): unknown {
  const error = value?.error ?? value;
  const code = STATUS[error?.type];
  return code ? { error: { ...error, code } } : value;
}
