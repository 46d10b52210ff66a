// What in a text is a comment or a string, and what follows from that: lines of code, uses of
// names, TODO comments.
import { MAX_TEXT_CHARS, type Todo } from "../scan/facts.ts";
import { lineAt } from "../scan/line-numbers.ts";

export type Span = [start: number, end: number];
export type Spans = Record<"comment" | "string" | "code" | "branch" | "case", Span[]>;

const [CODE, COMMENT, STRING] = [0, 1, 2];
const MAX_TODOS = 500; // per file
const MAX_NAME_CHARS = 100;
const WORD = /[\p{L}_][\p{L}\p{N}_]*/gu;
const TODO = /\b(?:TODO|FIXME|HACK)\b/g;

/** Of each character whether it is code, of a comment or of a string; code in a string is code. */
export function maskOf(
  length: number,
  { comment, string, code }: Pick<Spans, "comment" | "string" | "code">,
): Uint8Array {
  const mask = new Uint8Array(length);
  const ranges = [
    ...comment.map(([start, end]) => [start, end, COMMENT] as const),
    ...string.map(([start, end]) => [start, end, STRING] as const),
    ...code.map(([start, end]) => [start, end, CODE] as const),
  ].sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  for (const [start, end, category] of ranges) mask.fill(category, start, end);
  return mask;
}

/** How often each name occurs in code; 0 where only a string is that name. */
export function usesIn(
  text: string,
  mask: Uint8Array,
  word: RegExp = wordsOf(text),
): Map<string, number> {
  const uses = new Map<string, number>();
  for (const { 0: name, index } of text.matchAll(word)) {
    if (name.length > MAX_NAME_CHARS) continue;
    const earlier = uses.get(name);
    if (mask[index] === CODE) uses.set(name, (earlier ?? 0) + 1);
    else if (mask[index] === STRING && earlier === undefined && isQuoted(text, index, name.length))
      uses.set(name, 0);
  }
  return uses;
}
/** Letters of all the world's scripts take twice the time. */
const wordsOf = (text: string): RegExp => (/[^\x00-\x7f]/.test(text) ? WORD : /[a-z_]\w*/gi);
const isQuoted = (text: string, index: number, length: number): boolean =>
  /["'`]/.test(text[index - 1] ?? "") && text[index - 1] === text[index + length];

export function todosIn(text: string, starts: number[], mask: Uint8Array): Todo[] {
  const todos: Todo[] = [];
  for (const { index } of text.matchAll(TODO)) {
    if (todos.length >= MAX_TODOS) break;
    const line = lineAt(starts, index);
    if (mask[index] !== COMMENT || todos.at(-1)?.line === line) continue;
    const words = text.slice(index, starts[line]).replace(/\s*(?:\*\/|-->|\]\]).*/, "");
    todos.push({ line, text: words.trim().slice(0, MAX_TEXT_CHARS) });
  }
  return todos;
}

/** Lines that are neither blank nor comment. */
export function countLines(text: string, starts: number[], mask: Uint8Array): number {
  let lines = 0;
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1] ?? text.length;
    for (let index = start; index < end; index++)
      if (text.charCodeAt(index) > 32 && mask[index] !== COMMENT) {
        lines++;
        break;
      }
  }
  return lines;
}
