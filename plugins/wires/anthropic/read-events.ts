// Reads Anthropic's stream of events as zz's own deltas.
import type { Delta, Usage } from "zz";
import { ownValue, sumUsage, tryTo } from "zz/text";
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
export function* readAll(reading: Reading, valueBatch: Value[]): Generator<Delta> {
  for (const { event, value } of valueBatch) {
    const isError = event === "error" || value?.error;
    if (isError && reading.stop) reading.ended = true;
    if (reading.ended) return;
    if (isError) yield { error: withStatus(value) };
    const { type, index, delta } = value ?? {};
    if (type === "content_block_delta" && delta) {
      if (!reading.open.has(index))
        yield* beginBlock(reading, index, { type: ownValue(BLOCK_TYPES, delta.type) ?? "unknown" });
      yield growBlock(reading, index, delta);
    } else if (type === "message")
      for (const wholeEvent of wholeEvents(value)) yield* readDeltas(reading, wholeEvent);
    else yield* readDeltas(reading, value);
  }
}

/**
 * The events that would have streamed a whole message, which comes from a server that does not
 * stream.
 */
const wholeEvents = (wholeMessage: any): any[] => [
  { type: "message_start", message: wholeMessage },
  ...[wholeMessage.content ?? []].flat().flatMap((contentBlock, index) => [
    {
      type: "content_block_start",
      index,
      content_block:
        typeof contentBlock === "string" ? { type: "text", text: contentBlock } : contentBlock,
    },
    { type: "content_block_stop", index },
  ]),
  { type: "message_delta", delta: wholeMessage },
  { type: "message_stop" },
];

function* readDeltas(reading: Reading, eventValue: any): Generator<Delta> {
  const { type, index, delta } = eventValue ?? {};
  if (type === "message_start") yield* countUsage(reading, eventValue.message?.usage);
  else if (type === "content_block_start")
    yield* beginBlock(reading, index, eventValue.content_block);
  else if (type === "content_block_stop") yield* closeBlock(reading, index);
  else if (type === "message_delta") {
    yield* countUsage(reading, eventValue.usage);
    if (!delta?.stop_reason) return;
    reading.stop = String(delta.stop_reason);
    for (const blockIndex of reading.open.keys()) yield* closeBlock(reading, blockIndex);
    const { explanation } = delta.stop_details ?? {};
    if (reading.stop === "refusal" && explanation && !reading.text)
      yield { text: String(explanation) };
  } else if (type === "message_stop") {
    for (const openIndex of reading.open.keys()) yield* closeBlock(reading, openIndex);
    if (reading.stop || reading.blocks.length) reading.ended = true;
  } else yield { text: "" }; // a ping: nothing to show, but a sign of life
}

function* beginBlock(reading: Reading, blockIndex: unknown, started: any): Generator<Delta> {
  const openBlock = { ...started };
  reading.open.set(blockIndex, openBlock);
  reading.blocks.push(openBlock);
  const { type, text, thinking, id, name, input } = openBlock;
  const argumentField = input && Object.keys(input).length ? { args: input } : {};
  if (text) reading.text = true;
  if (type === "text") yield { text: wordsOf(text) };
  else if (type === "thinking") yield { thinking: wordsOf(thinking) };
  else if (type === "tool_use" && name === ANSWER_TOOL)
    yield { text: argumentField.args ? JSON.stringify(input) : "" };
  else if (type === "tool_use")
    yield { call: { index: indexOf(reading, blockIndex), id, name, ...argumentField } };
  else yield { text: "" };
}

const indexOf = ({ first, blocks }: Reading, blockIndex: unknown): number =>
  first + (typeof blockIndex === "number" ? blockIndex : blocks.length);

/** The blocks that pieces belong to, for a server that did not begin them. */
const BLOCK_TYPES: Record<string, string> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "thinking",
};

/** Adds a piece to a block that has begun. */
function growBlock(reading: Reading, blockIndex: unknown, blockDelta: any): Delta {
  const { type } = blockDelta;
  const grownBlock = reading.open.get(blockIndex);
  const text = wordsOf(blockDelta.text);
  if (text) reading.text = true;
  if (type === "text_delta") {
    addPiece(reading, grownBlock, "text", text);
    return { text };
  }
  const thinking = wordsOf(blockDelta.thinking);
  if (type === "thinking_delta") {
    addPiece(reading, grownBlock, "thinking", thinking);
    return { thinking };
  }
  const jsonPiece = wordsOf(blockDelta.partial_json);
  if (type === "input_json_delta" && grownBlock.name === ANSWER_TOOL) return { text: jsonPiece };
  if (type === "input_json_delta" && grownBlock.type === "tool_use")
    return { call: { index: indexOf(reading, blockIndex), args: jsonPiece } };
  // the input of one of the server's own tools
  if (type === "input_json_delta") grownBlock.json = (grownBlock.json ?? "") + jsonPiece;
  if (type === "signature_delta")
    grownBlock.signature = (grownBlock.signature ?? "") + wordsOf(blockDelta.signature);
  if (type === "citations_delta")
    grownBlock.citations = [...(grownBlock.citations ?? []), blockDelta.citation];
  return { text: "" };
}

const MAX_PIECES = 500;

/**
 * Joins the pieces of a block only now and then: a string made of many small ones takes a lot of
 * memory.
 */
function addPiece(
  reading: Reading,
  block: any,
  field: "text" | "thinking",
  newPiece: string,
): void {
  const { grown } = reading;
  if (grown.block !== block || grown.field !== field || grown.pieces.length === MAX_PIECES)
    settle(reading);
  if (!grown.pieces.length) Object.assign(grown, { block, field });
  grown.pieces.push(newPiece);
}

export function settle({ grown }: Reading): void {
  const { block, field, pieces } = grown;
  if (block) block[field] = (block[field] ?? "") + pieces.join("");
  grown.pieces = [];
}

function* closeBlock(reading: Reading, blockIndex: unknown): Generator<Delta> {
  settle(reading);
  const closedBlock = reading.open.get(blockIndex);
  reading.open.delete(blockIndex);
  if (closedBlock?.json) closedBlock.input = tryTo(() => JSON.parse(closedBlock.json)) ?? {};
  delete closedBlock?.json;
  if (isThought(closedBlock)) yield { extra: closedBlock };
}

function* countUsage(reading: Reading, usageCounts: any): Generator<Delta> {
  if (!usageCounts) return;
  for (const [countName, countValue] of Object.entries(usageCounts))
    if (typeof countValue === "number") reading.counts[countName] = countValue;
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
const STATUS_CODES: Record<string, number> = {
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
function withStatus(errorValue: any): unknown {
  const errorDetails = errorValue?.error ?? errorValue;
  const code = ownValue(STATUS_CODES, errorDetails?.type);
  return code ? { error: { ...errorDetails, code } } : errorValue;
}
