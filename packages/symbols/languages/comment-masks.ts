// What in a text is a comment or a string, and what follows from that: lines of code, uses of
// names, TODO comments.
import { anyOf } from "zz/text";
import { firstLineOf, todosIn } from "../scan/comments.ts";
import type { Todo } from "../scan/facts.ts";

export type Span = [start: number, end: number];
export type Spans = Record<"comment" | "string" | "code" | "branch" | "case", Span[]>;

const [CODE, COMMENT, STRING] = [0, 1, 2];
const MAX_NAME_CHARS = 100;
const WORD_PATTERN = /[\p{L}_][\p{L}\p{N}_]*/gu;

/** Of each character whether it is code, of a comment or of a string; code in a string is code. */
export function maskOf(
  textLength: number,
  { comment = [], string = [], code = [] }: Partial<Spans>,
): Uint8Array {
  const charMask = new Uint8Array(textLength);
  const maskRanges = [
    ...comment.map(([start, end]) => [start, end, COMMENT] as const),
    ...string.map(([start, end]) => [start, end, STRING] as const),
    ...code.map(([start, end]) => [start, end, CODE] as const),
  ].sort((first, second) => first[0] - second[0] || second[1] - first[1]);
  for (const [rangeStart, rangeEnd, category] of maskRanges)
    charMask.fill(category, rangeStart, rangeEnd);
  return charMask;
}

/** How often each name occurs in code; 0 where only a string is that name. */
export function usesIn(
  sourceText: string,
  charMask: Uint8Array,
  wordPattern: RegExp = wordPatternFor(sourceText),
): Map<string, number> {
  const useCounts = new Map<string, number>();
  for (const { 0: usedName, index } of sourceText.matchAll(wordPattern)) {
    if (usedName.length > MAX_NAME_CHARS) continue;
    const earlier = useCounts.get(usedName);
    if (charMask[index] === CODE) useCounts.set(usedName, (earlier ?? 0) + 1);
    else if (
      charMask[index] === STRING &&
      earlier === undefined &&
      isQuoted(sourceText, index, usedName.length)
    )
      useCounts.set(usedName, 0);
  }
  return useCounts;
}
/** Letters of all the world's scripts take twice the time. */
const wordPatternFor = (sourceText: string) =>
  /[^\x00-\x7f]/.test(sourceText) ? WORD_PATTERN : /[a-z_]\w*/gi;
const isQuoted = (sourceText: string, nameStart: number, nameLength: number) =>
  /["'`]/.test(sourceText[nameStart - 1] ?? "") &&
  sourceText[nameStart - 1] === sourceText[nameStart + nameLength];

/** Blanks stand for comments and texts; code stays where it is. */
export const codeAlone = (sourceText: string, charMask: Uint8Array): string =>
  sourceText.replace(/[^\n]/g, (letter, offset: number) => (charMask[offset] ? " " : letter));

export const maskedTodos = (
  sourceText: string,
  lineOffsets: number[],
  charMask: Uint8Array,
): Todo[] =>
  todosIn(
    sourceText,
    lineOffsets,
    (offset) => charMask[offset] === COMMENT,
    /\s*(?:\*\/|-->|\]\]).*/,
  );

export const docLineOf = (comment: string): string => firstLineOf(comment, COMMENT_MARKS);
const COMMENT_MARKS = anyOf(
  /^\s*(?:\/\*+!?|\/\/+!?|\*+(?!\/)|#+!?|-{2,}\[*|<!--)?|(?:\*+\/|-->|\]\])\s*$/g,
  /<\/?[a-z]+>/,
);

/** Lines that are neither blank nor comment. */
export function countLines(
  sourceText: string,
  lineOffsets: number[],
  charMask: Uint8Array,
): number {
  let lineCount = 0;
  for (const [i, lineStart] of lineOffsets.entries()) {
    const lineEnd = lineOffsets[i + 1] ?? sourceText.length;
    for (let offset = lineStart; offset < lineEnd; offset++)
      if (sourceText.charCodeAt(offset) > 32 && charMask[offset] !== COMMENT) {
        lineCount++;
        break;
      }
  }
  return lineCount;
}
