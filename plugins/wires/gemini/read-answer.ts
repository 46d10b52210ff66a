// Pieces of an answer of generateContent as deltas; a piece that is signed keeps its signature.
import type { Delta, Usage } from "zz";
import { fault } from "zz/text";
import type { Value } from "../native.ts";
import { objectsIn } from "../sse.ts";
import type { Extra } from "./contents.ts";

export interface Reading {
  chars: number; // of the text so far
  calls: number;
  text: boolean;
  finish?: string;
  usage?: any;
  ended?: true;
}
const FILTERED =
  /^(SAFETY|PROHIBITED_CONTENT|RECITATION|BLOCKLIST|SPII|LANGUAGE|IMAGE_\w+|MODEL_ARMOR)$/;
/** Slips of the model: another try may well succeed. */
const SLIPS = /^(MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL|NO_IMAGE|OTHER)$/;

export function* readAll(reading: Reading, batch: Value[]): Generator<Delta> {
  for (const { event, value } of batch) {
    const isError = event === "error" || value?.error;
    if (isError && reading.finish) reading.ended = true; // the answer was complete
    if (reading.ended) break;
    if (isError) yield { error: value };
    yield* deltas(reading, value);
  }
  // the usage comes with each piece, and grows
  if (reading.usage) yield { usage: usageOf(reading.usage) };
  delete reading.usage;
}

function* deltas(reading: Reading, value: any): Generator<Delta> {
  if (value === undefined) yield { text: "" };
  if (!value || typeof value !== "object") return;
  const { candidates, promptFeedback, usageMetadata } = value;
  const first = objectsIn(candidates).find((candidate) => (candidate.index ?? 0) === 0);
  for (const part of objectsIn(first?.content?.parts)) yield* partDeltas(reading, part);
  if (usageMetadata) reading.usage = usageMetadata;
  if (promptFeedback?.blockReason) reading.finish = "filter";
  const reason = first?.finishReason;
  if (reason && reason !== "FINISH_REASON_UNSPECIFIED")
    reading.finish = finishOf(reading, reason, first.finishMessage);
  yield { text: "" };
}

function finishOf({ text, calls }: Reading, reason: string, message = ""): string {
  if (reason === "MAX_TOKENS") return "length";
  if (FILTERED.test(reason)) return "filter";
  if (!SLIPS.test(reason) || (reason === "OTHER" && (text || calls))) return "stop";
  const explanation = message ? `: ${String(message).slice(0, 200)}` : "";
  throw fault(`Gemini gave up in the middle of its answer (${reason}${explanation}). Try again.`, {
    transient: true,
  });
}

function* partDeltas(reading: Reading, part: any): Generator<Delta> {
  const { text, thought, functionCall, executableCode, codeExecutionResult } = part;
  const thoughtSignature = part.thoughtSignature ?? part.thought_signature;
  if (functionCall) {
    const { id, name, args } = functionCall;
    const extra = { ...(thoughtSignature && { thoughtSignature }), ...(id && { id }) };
    const index = reading.calls++;
    yield {
      call: {
        index,
        id: id || newCall(),
        name,
        args: args ?? {},
        ...(Object.keys(extra).length && { extra }),
      },
    };
    return;
  }
  const finished =
    text ??
    (executableCode
      ? fenced("python", executableCode.code)
      : codeExecutionResult && fenced("", codeExecutionResult.output));
  const from = reading.chars;
  if (thought === true) yield { thinking: String(finished ?? "") };
  else if (finished) {
    reading.chars += String(finished).length;
    reading.text ||= String(finished).trim() !== "";
    yield { text: String(finished) };
  }
  if (thoughtSignature)
    yield { extra: { thoughtSignature, at: [from, reading.chars] } satisfies Extra };
}

const fenced = (language: string, code: unknown): string =>
  `\n\`\`\`${language}\n${String(code ?? "").trimEnd()}\n\`\`\`\n`;
const newCall = (): string => `call_${Math.random().toString(36).slice(2, 10)}`;

/**
 * Gemini counts what it read from the cache as input, but what it thought apart from the output; zz
 * adds that.
 */
function usageOf(usage: any): Usage {
  const {
    promptTokenCount = 0,
    toolUsePromptTokenCount = 0,
    candidatesTokenCount = 0,
    thoughtsTokenCount = 0,
  } = usage;
  const cached = usage.cachedContentTokenCount;
  return {
    input: promptTokenCount + toolUsePromptTokenCount,
    output: candidatesTokenCount + thoughtsTokenCount,
    ...(cached && { cached }),
  };
}
