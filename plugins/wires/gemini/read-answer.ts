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
const MODEL_SLIPS =
  /^(MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL|NO_IMAGE|OTHER)$/;

export function* readAll(reading: Reading, valueBatch: Value[]): Generator<Delta> {
  for (const { event, value } of valueBatch) {
    const isError = event === "error" || value?.error;
    if (isError && reading.finish) reading.ended = true; // the answer was complete
    if (reading.ended) break;
    if (isError) yield { error: value };
    yield* readDeltas(reading, value);
  }
  // the usage comes with each piece, and grows
  if (reading.usage) yield { usage: usageOf(reading.usage) };
  delete reading.usage;
}

function* readDeltas(reading: Reading, streamValue: any): Generator<Delta> {
  if (streamValue === undefined) yield { text: "" };
  if (!streamValue || typeof streamValue !== "object") return;
  const { candidates, promptFeedback, usageMetadata } = streamValue;
  const firstCandidate = objectsIn(candidates).find((candidate) => (candidate.index ?? 0) === 0);
  for (const answerPart of objectsIn(firstCandidate?.content?.parts))
    yield* partDeltas(reading, answerPart);
  if (usageMetadata) reading.usage = usageMetadata;
  if (promptFeedback?.blockReason) reading.finish = "filter";
  const finishReason = firstCandidate?.finishReason;
  if (finishReason && finishReason !== "FINISH_REASON_UNSPECIFIED")
    reading.finish = finishOf(reading, finishReason, firstCandidate.finishMessage);
  yield { text: "" };
}

function finishOf({ text, calls }: Reading, finishReason: string, message = ""): string {
  if (finishReason === "MAX_TOKENS") return "length";
  if (FILTERED.test(finishReason)) return "filter";
  if (!MODEL_SLIPS.test(finishReason) || (finishReason === "OTHER" && (text || calls)))
    return "stop";
  const explanation = message ? `: ${String(message).slice(0, 200)}` : "";
  throw fault(
    `Gemini gave up in the middle of its answer (${finishReason}${explanation}). Try again.`,
    { transient: true },
  );
}

function* partDeltas(reading: Reading, answerPart: any): Generator<Delta> {
  const { text, thought, functionCall, executableCode, codeExecutionResult } = answerPart;
  const thoughtSignature = answerPart.thoughtSignature ?? answerPart.thought_signature;
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
      ? fenceCode("python", executableCode.code)
      : codeExecutionResult && fenceCode("", codeExecutionResult.output));
  const startOffset = reading.chars;
  if (thought === true) yield { thinking: String(finished ?? "") };
  else if (finished) {
    reading.chars += String(finished).length;
    reading.text ||= String(finished).trim() !== "";
    yield { text: String(finished) };
  }
  if (thoughtSignature)
    yield { extra: { thoughtSignature, at: [startOffset, reading.chars] } satisfies Extra };
}

const fenceCode = (language: string, codeText: unknown): string =>
  `\n\`\`\`${language}\n${String(codeText ?? "").trimEnd()}\n\`\`\`\n`;
const newCall = (): string => `call_${Math.random().toString(36).slice(2, 10)}`;

/**
 * Gemini counts what it read from the cache as input, but what it thought apart from the output; zz
 * adds that.
 */
function usageOf(usageCounts: any): Usage {
  const {
    promptTokenCount = 0,
    toolUsePromptTokenCount = 0,
    candidatesTokenCount = 0,
    thoughtsTokenCount = 0,
  } = usageCounts;
  const cached = usageCounts.cachedContentTokenCount;
  return {
    input: promptTokenCount + toolUsePromptTokenCount,
    output: candidatesTokenCount + thoughtsTokenCount,
    ...(cached && { cached }),
  };
}
