// Takes thinking, by the marks of each family, and the marks around an answer out of a text. The
// kernel knows <think>.
import { matchAt } from "./search-text.ts";

const PAIRS: [open: string, close: string][] = [
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<reasoning>", "</reasoning>"],
  ["<seed:think>", "</seed:think>"],
  ["[THINK]", "[/THINK]"],
  ["<|START_THINKING|>", "<|END_THINKING|>"],
  ["<|channel>thought", "<channel|>"],
];
/**
 * Closing tokens that occur nowhere else: without an opening one, everything before them is
 * thinking.
 */
const LONE = ["[/THINK]", "</seed:think>", "<|END_THINKING|>"];
const AROUND = /<\|(?:START|END)_(?:RESPONSE|TEXT)\|>/g;
/** Marks that begin thinking in the middle of a text. */
export const OPENERS = PAIRS.map(([open]) => open);
export const closerOf = (opener: string): string => PAIRS.find(([open]) => open === opener)![1];

type Parts = { text: string; thinking: string };

export function takeThinking(reply: string): Parts {
  const harmony = /^\s*(<\|channel\|>|<\|start\|>)/.test(reply.slice(0, 200))
    ? harmonySegments(reply)
    : undefined;
  if (harmony) return harmony;
  const thoughts: string[] = [];
  let text = reply;
  for (;;) {
    const start = text.trimStart();
    const pair = PAIRS.find(([open]) => start.startsWith(open));
    if (!pair) break;
    const end = start.indexOf(pair[1], pair[0].length);
    const inner = start.slice(pair[0].length, end < 0 ? undefined : end).trim();
    // a repeated opening mark
    thoughts.push(inner.startsWith(pair[0]) ? inner.slice(pair[0].length).trim() : inner);
    text = end < 0 ? "" : start.slice(end + pair[1].length).replace(/^\s{1,1000}/, "");
    if (end >= 0 && text.startsWith(pair[1])) text = text.slice(pair[1].length).trimStart();
  }
  const lone = thoughts.length ? undefined : LONE.find((close) => text.includes(close));
  if (lone) {
    const end = text.indexOf(lone);
    thoughts.push(text.slice(0, end).trim());
    text = text.slice(end + lone.length).trimStart();
  }
  if (text.includes("<|START_") || text.includes("<|END_")) text = text.replace(AROUND, "");
  return { text, thinking: thoughts.filter(Boolean).join("\n") };
}

const HEAD =
  /(?:<\|start\|>[a-z]{1,20})?(?:\s{0,5}to=[^\s<]{1,200})?\s{0,5}<\|channel\|>\s{0,5}([a-z]{1,20})[^<>\n]{0,250}(?:<\|constrain\|>[a-z]{0,20}\s{0,5})?<\|message\|>/y;
const END = /<\|(?:end|call|return|start|channel)\|>/g;

/**
 * gpt-oss: analysis is thinking, segments with a recipient are left for find-calls.ts, all else is
 * for
 * the person.
 */
function harmonySegments(text: string): Parts | undefined {
  const shown: string[] = [];
  const thoughts: string[] = [];
  let index = text.length - text.trimStart().length;
  while (index < text.length) {
    const head = matchAt(HEAD, text, index);
    if (!head) break;
    const from = index + head[0].length;
    END.lastIndex = from;
    const match = END.exec(text);
    const end = match?.index ?? text.length;
    const body = text.slice(from, end);
    index = match && !/start|channel/.test(match[0]) ? end + match[0].length : end;
    if (/\sto=|^to=/.test(head[0].replace("<|start|>assistant", " ")))
      shown.push(text.slice(from - head[0].length, index));
    else (head[1] === "analysis" ? thoughts : shown).push(body);
    index +=
      text.slice(index, index + 100).length - text.slice(index, index + 100).trimStart().length;
  }
  if (index < text.length) shown.push(text.slice(index));
  return shown.length || thoughts.length
    ? { text: shown.join("\n").trim(), thinking: thoughts.join("\n").trim() }
    : undefined;
}
