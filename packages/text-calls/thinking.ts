// Takes thinking, by the marks of each family, and the marks around an answer out of a text. The
// kernel knows <think>.
import { matchAt, skipMatch } from "./search-text.ts";

/** What begins thinking, also in the middle of a text, and what ends it. */
export const THINKING_MARKS = new Map([
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<thought>", "</thought>"],
  ["<reasoning>", "</reasoning>"],
  ["<seed:think>", "</seed:think>"],
  ["[THINK]", "[/THINK]"],
  ["<|START_THINKING|>", "<|END_THINKING|>"],
  ["<|channel>thought", "<channel|>"],
]);
/**
 * Closing tokens that occur nowhere else: without an opening one, everything before them is
 * thinking.
 */
const LONE_CLOSERS = ["[/THINK]", "</seed:think>", "<|END_THINKING|>"];
const ANSWER_MARKS = /<\|(?:START|END)_(?:RESPONSE|TEXT)\|>/g;

type Parts = { text: string; thinking: string };

export function takeThinking(replyText: string): Parts {
  const harmony = /^\s*(<\|channel\|>|<\|start\|>)/.test(replyText.slice(0, 200))
    ? harmonySegments(replyText)
    : undefined;
  if (harmony) return harmony;
  const thoughts: string[] = [];
  let text = replyText;
  for (;;) {
    const trimmedText = text.trimStart();
    const markPair = [...THINKING_MARKS].find(([opener]) => trimmedText.startsWith(opener));
    if (!markPair) break;
    const [opener, closer] = markPair;
    const closeIndex = trimmedText.indexOf(closer, opener.length);
    const innerText = trimmedText
      .slice(opener.length, closeIndex < 0 ? undefined : closeIndex)
      .trim();
    // a repeated opening mark
    thoughts.push(innerText.startsWith(opener) ? innerText.slice(opener.length).trim() : innerText);
    text =
      closeIndex < 0
        ? ""
        : trimmedText.slice(closeIndex + closer.length).replace(/^\s{1,1000}/, "");
    if (text.startsWith(closer)) text = text.slice(closer.length).trimStart();
  }
  const loneCloser = thoughts.length
    ? undefined
    : LONE_CLOSERS.find((closer) => text.includes(closer));
  if (loneCloser) {
    const closerStart = text.indexOf(loneCloser);
    thoughts.push(text.slice(0, closerStart).trim());
    text = text.slice(closerStart + loneCloser.length).trimStart();
  }
  return { text: text.replace(ANSWER_MARKS, ""), thinking: thoughts.filter(Boolean).join("\n") };
}

const SEGMENT_HEAD = new RegExp(
  String.raw`(?:<\|start\|>[a-z]{1,20})?(?:\s{0,5}to=[^\s<]{1,200})?\s{0,5}<\|channel\|>\s{0,5}` +
    String.raw`([a-z]{1,20})[^<>\n]{0,250}(?:<\|constrain\|>[a-z]{0,20}\s{0,5})?<\|message\|>`,
  "y",
);
const SEGMENT_END = /<\|(?:end|call|return|start|channel)\|>/g;

/**
 * gpt-oss: analysis is thinking, segments with a recipient are left for find-calls.ts, all else is
 * for
 * the person.
 */
function harmonySegments(replyText: string): Parts | undefined {
  const shownParts: string[] = [];
  const thoughts: string[] = [];
  let segmentStart = replyText.length - replyText.trimStart().length;
  while (segmentStart < replyText.length) {
    const headMatch = matchAt(SEGMENT_HEAD, replyText, segmentStart);
    if (!headMatch) break;
    const bodyStart = segmentStart + headMatch[0].length;
    const endMatch = matchAt(SEGMENT_END, replyText, bodyStart);
    const bodyEnd = endMatch?.index ?? replyText.length;
    const bodyText = replyText.slice(bodyStart, bodyEnd);
    segmentStart =
      endMatch && !/start|channel/.test(endMatch[0]) ? bodyEnd + endMatch[0].length : bodyEnd;
    if (/\sto=|^to=/.test(headMatch[0].replace("<|start|>assistant", " ")))
      shownParts.push(replyText.slice(bodyStart - headMatch[0].length, segmentStart));
    else (headMatch[1] === "analysis" ? thoughts : shownParts).push(bodyText);
    segmentStart = skipMatch(/\s{0,100}/y, replyText, segmentStart);
  }
  if (segmentStart < replyText.length) shownParts.push(replyText.slice(segmentStart));
  return shownParts.length || thoughts.length
    ? { text: shownParts.join("\n").trim(), thinking: thoughts.join("\n").trim() }
    : undefined;
}
