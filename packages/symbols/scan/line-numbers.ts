// Line numbers, and counting lines of code.
import type { Reading } from "./scan-state.ts";

export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let index = 0; (index = text.indexOf("\n", index) + 1); ) starts.push(index);
  return starts;
}
export function lineAt(starts: number[], pos: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= pos) low = middle;
    else high = middle - 1;
  }
  return low + 1;
}
/** The position of the first non-blank character. */
export function textAfter(text: string, index: number, end = text.length): number {
  for (; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code > 32 && code !== BOM) break;
  }
  return index;
}
const BOM = 0xfeff;

/** The continuation lines of a comment that begins after code count as code too. */
export function countLines({
  text,
  starts,
  texts,
}: Pick<Reading, "text" | "starts" | "texts">): number {
  let [lines, commentEnd, nextText] = [0, 0, 0];
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1] ?? text.length;
    let index = textAfter(text, Math.max(start, commentEnd), end);
    if (index >= end) continue;
    while (nextText < texts.length && texts[nextText]!.end <= start) nextText++;
    const isText = nextText < texts.length && texts[nextText]!.pos < start;
    while (!isText && text.startsWith("/*", index)) {
      const close = text.indexOf("*/", index + 2);
      commentEnd = close < 0 ? text.length : close + 2;
      index = textAfter(text, commentEnd, end);
    }
    if (index < end && (isText || !text.startsWith("//", index))) lines++;
  }
  return lines;
}
