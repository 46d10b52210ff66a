// Line numbers, and counting lines of code.
import type { Reading } from "./scan-state.ts";

export function lineStarts(sourceText: string): number[] {
  const lineOffsets = [0];
  for (let index = 0; (index = sourceText.indexOf("\n", index) + 1); ) lineOffsets.push(index);
  return lineOffsets;
}
export function lineAt(lineOffsets: number[], offset: number): number {
  let lowLine = 0;
  let highLine = lineOffsets.length - 1;
  while (lowLine < highLine) {
    const middleLine = (lowLine + highLine + 1) >> 1;
    if (lineOffsets[middleLine]! <= offset) lowLine = middleLine;
    else highLine = middleLine - 1;
  }
  return lowLine + 1;
}
export const isMinified = (sourceText: string, lineCount: number): boolean =>
  sourceText.length >= 10 * MINIFIED && sourceText.length / lineCount > MINIFIED;
const MINIFIED = 500; // characters per line, on average

/** Where a name stands that begins there. */
export function positionAt(lineOffsets: number[], start: number, { length }: string) {
  const line = lineAt(lineOffsets, start);
  const column = start - lineOffsets[line - 1]! + 1; // both from 1
  return { line, column, start, end: start + length };
}
export type NamePosition = ReturnType<typeof positionAt>;

/** The position of the first non-blank character. */
export function textAfter(
  sourceText: string,
  index: number,
  endOffset = sourceText.length,
): number {
  for (; index < endOffset; index++) {
    const charCode = sourceText.charCodeAt(index);
    if (charCode > 32 && charCode !== BYTE_ORDER_MARK) break;
  }
  return index;
}
const BYTE_ORDER_MARK = 0xfeff;

/** The continuation lines of a comment that begins after code count as code too. */
export function countLines({
  text,
  starts,
  texts,
}: Pick<Reading, "text" | "starts" | "texts">): number {
  let [lineCount, commentEnd, nextText] = [0, 0, 0];
  for (const [i, lineStart] of starts.entries()) {
    const lineEnd = starts[i + 1] ?? text.length;
    let index = textAfter(text, Math.max(lineStart, commentEnd), lineEnd);
    if (index >= lineEnd) continue;
    while (nextText < texts.length && texts[nextText]!.end <= lineStart) nextText++;
    const isInText = nextText < texts.length && texts[nextText]!.pos < lineStart;
    while (!isInText && text.startsWith("/*", index)) {
      const commentClose = text.indexOf("*/", index + 2);
      commentEnd = commentClose < 0 ? text.length : commentClose + 2;
      index = textAfter(text, commentEnd, lineEnd);
    }
    if (index < lineEnd && (isInText || !text.startsWith("//", index))) lineCount++;
  }
  return lineCount;
}
