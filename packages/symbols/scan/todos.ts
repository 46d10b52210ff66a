// TODO, FIXME and HACK comments.

import type { ts } from "ts-morph";
import { MAX_TEXT_CHARS, type Todo } from "./facts.ts";
import { lineAt } from "./line-numbers.ts";
import { forEachChild, isIdentifier, isPrivateIdentifier, K, skipTrivia } from "./parser.ts";

const MAX_TODOS = 500; // per file
const TODO_WORD = /\b(?:TODO|FIXME|HACK)\b/g;

export function todosIn(
  sourceFile: ts.SourceFile,
  sourceText: string,
  lineOffsets: number[],
): Todo[] {
  const todos: Todo[] = [];
  let lookedCount = 0;
  for (const { index } of sourceText.matchAll(TODO_WORD)) {
    if (++lookedCount > MAX_TODOS) break; // each of them searches the tree
    const line = lineAt(lineOffsets, index);
    if (todos.at(-1)?.line === line || !isInComment(sourceFile, sourceText, index)) continue;
    const todoWords = sourceText.slice(index, lineOffsets[line]).replace(/\s*\*\/.*/, "");
    todos.push({ line, text: todoWords.trim().slice(0, MAX_TEXT_CHARS) });
  }
  return todos;
}

/** The parser knows everything else: what is in no token is in a comment. */
function isInComment(sourceFile: ts.SourceFile, sourceText: string, offset: number): boolean {
  let innermost: ts.Node = sourceFile;
  let innerNode: ts.Node | undefined = sourceFile;
  for (
    ;
    innerNode;
    innerNode = forEachChild(innerNode, (childNode) =>
      childNode.pos <= offset && offset < childNode.end ? childNode : undefined,
    )
  )
    innermost = innerNode;
  const isTokenNode =
    innermost.kind <= K.LastTemplateToken ||
    isIdentifier(innermost) ||
    isPrivateIdentifier(innermost);
  return (
    innermost.kind !== K.JsxText && (!isTokenNode || offset < skipTrivia(sourceText, innermost.pos))
  );
}
