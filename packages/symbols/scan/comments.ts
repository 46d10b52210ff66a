// What comments say: TODO, FIXME and HACK, and the first line of one.

import { MAX_TEXT_CHARS, type Todo } from "./facts.ts";
import { lineAt } from "./line-numbers.ts";

const MAX_TODOS = 500; // words that are looked at in a file
const TODO_WORD = /\b(?:TODO|FIXME|HACK)\b/g;

/** `commentEnd`: what follows the words. */
export function todosIn(
  sourceText: string,
  lineOffsets: number[],
  isInComment: (offset: number) => boolean,
  commentEnd = /\s*\*\/.*/,
): Todo[] {
  const todos: Todo[] = [];
  let lookedCount = 0;
  for (const { index } of sourceText.matchAll(TODO_WORD)) {
    if (++lookedCount > MAX_TODOS) break; // each of them may search a tree
    const line = lineAt(lineOffsets, index);
    if (todos.at(-1)?.line === line || !isInComment(index)) continue;
    const todoWords = sourceText.slice(index, lineOffsets[line]).replace(commentEnd, "");
    todos.push({ line, text: todoWords.trim().slice(0, MAX_TEXT_CHARS) });
  }
  return todos;
}

/** The first line that says something; `marks`: what is around its words. */
export function firstLineOf(comment: string, marks: RegExp): string {
  for (const commentLine of comment.split("\n")) {
    const commentWords = commentLine.replace(marks, "").trim();
    if (commentWords) return commentWords.slice(0, MAX_TEXT_CHARS);
  }
  return "";
}
