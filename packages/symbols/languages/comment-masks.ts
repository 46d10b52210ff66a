// What in a text is a comment or a string, and what follows from that: lines of code, uses of
// names, TODO comments.
import { MAX_TEXT_CHARS, type Todo } from "../scan/facts.ts";
import { lineAt } from "../scan/line-numbers.ts";

export type Span = [start: number, end: number];
export type Spans = Record<"comment" | "string" | "code" | "branch" | "case", Span[]>;

const [CODE, COMMENT, STRING] = [0, 1, 2];
const MAX_TODOS = 500; // per file
const MAX_NAME_CHARS = 100;
const WORD_PATTERN = /[\p{L}_][\p{L}\p{N}_]*/gu;
const TODO_WORD = /\b(?:TODO|FIXME|HACK)\b/g;

/** Of each character whether it is code, of a comment or of a string; code in a string is code. */
export function maskOf(
  textLength: number,
  { comment, string, code }: Pick<Spans, "comment" | "string" | "code">,
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
const wordPatternFor = (sourceText: string): RegExp =>
  /[^\x00-\x7f]/.test(sourceText) ? WORD_PATTERN : /[a-z_]\w*/gi;
const isQuoted = (sourceText: string, nameStart: number, nameLength: number): boolean =>
  /["'`]/.test(sourceText[nameStart - 1] ?? "") &&
  sourceText[nameStart - 1] === sourceText[nameStart + nameLength];

export function todosIn(sourceText: string, lineOffsets: number[], charMask: Uint8Array): Todo[] {
  const todos: Todo[] = [];
  for (const { index } of sourceText.matchAll(TODO_WORD)) {
    if (todos.length >= MAX_TODOS) break;
    const line = lineAt(lineOffsets, index);
    if (charMask[index] !== COMMENT || todos.at(-1)?.line === line) continue;
    const todoWords = sourceText
      .slice(index, lineOffsets[line])
      .replace(/\s*(?:\*\/|-->|\]\]).*/, "");
    todos.push({ line, text: todoWords.trim().slice(0, MAX_TEXT_CHARS) });
  }
  return todos;
}

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
