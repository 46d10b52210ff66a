// Takes the calls out of a reply's text, or out of its thinking if there is no text.
import type { Call, Reply } from "zz";
import { findCalls } from "./find-calls.ts";
import { takeThinking } from "./thinking.ts";
import type { Tool } from "./types.ts";

interface RescueRequest {
  tools: readonly Tool[];
  foreign?: readonly Tool[]; // the tools under other programs' names
  translate?: (call: Call) => Promise<Call[]>; // translates such a call into zz's own
  worded: boolean; // zz asked for calls in words, not by the API
  options: Record<string, unknown>;
  schema?: unknown; // a JSON Schema that the answer must fit
}

export async function rescue(
  reply: Reply,
  { tools, foreign, translate, worded, options, schema }: RescueRequest,
): Promise<Reply> {
  const replyParts = takeThinking(reply.text);
  const cleaned = {
    ...reply,
    text: replyParts.text,
    thinking: joinTexts(reply.thinking, replyParts.thinking),
  };
  if (!tools.length || options.tool_choice === "none" || reply.finish === "filter") return cleaned;
  const inThinking = !cleaned.text.trim();
  const allTools =
    translate && foreign
      ? [...tools, ...foreign.map((tool): Tool => ({ ...tool, foreign: true }))]
      : tools;
  const extracted = await findCalls(inThinking ? cleaned.thinking : cleaned.text, allTools, {
    worded,
    bare: !schema,
    ended: reply.finish === "length",
    translate,
  });
  if (!extracted) return cleaned;
  const thinking = inThinking
    ? extracted.text
    : joinTexts(cleaned.thinking, extracted.thinking ?? "");
  return {
    ...cleaned,
    text: inThinking ? "" : extracted.text,
    thinking,
    calls: extracted.calls,
    finish: "calls",
  };
}

const joinTexts = (firstText: string, secondText: string): string =>
  [firstText, secondText]
    .map((partText) => partText.trim())
    .filter(Boolean)
    .join("\n");
