// Takes the calls out of a reply's text, or out of its thinking if there is no text.
import type { Call, Reply } from "zz";
import { findCalls } from "./find.ts";
import { takeThinking } from "./thinking.ts";
import type { Tool } from "./types.ts";

interface Asked {
  tools: readonly Tool[];
  foreign?: readonly Tool[]; // the tools under other programs' names
  own?: (call: Call) => Promise<Call[]>; // translates such a call into zz's own
  worded: boolean; // zz asked for calls in words, not by the API
  options: Record<string, unknown>;
  schema?: unknown; // a JSON Schema that the answer must fit
}

export async function rescue(
  reply: Reply,
  { tools, foreign, own, worded, options, schema }: Asked,
): Promise<Reply> {
  const apart = takeThinking(reply.text);
  const whole = { ...reply, text: apart.text, thinking: joined(reply.thinking, apart.thinking) };
  if (!tools.length || options.tool_choice === "none" || reply.finish === "filter") return whole;
  const inThinking = !whole.text.trim();
  const known =
    own && foreign
      ? [...tools, ...foreign.map((tool): Tool => ({ ...tool, foreign: true }))]
      : tools;
  const found = await findCalls(inThinking ? whole.thinking : whole.text, known, {
    worded,
    bare: !schema,
    ended: reply.finish === "length",
    own,
  });
  if (!found) return whole;
  const thinking = inThinking ? found.text : joined(whole.thinking, found.thinking ?? "");
  return {
    ...whole,
    text: inThinking ? "" : found.text,
    thinking,
    calls: found.calls,
    finish: "calls",
  };
}

const joined = (one: string, two: string): string =>
  [one, two]
    .map((text) => text.trim())
    .filter(Boolean)
    .join("\n");
