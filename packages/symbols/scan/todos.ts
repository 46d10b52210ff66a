// TODO, FIXME and HACK comments.

import type { ts } from "ts-morph";
import { MAX_TEXT_CHARS, type Todo } from "./facts.ts";
import { lineAt } from "./line-numbers.ts";
import { forEachChild, isIdentifier, isPrivateIdentifier, K, skipTrivia } from "./parser.ts";

const MAX_TODOS = 500; // per file
const TODO = /\b(?:TODO|FIXME|HACK)\b/g;

export function todosIn(source: ts.SourceFile, text: string, starts: number[]): Todo[] {
  const todos: Todo[] = [];
  let looked = 0;
  for (const { index } of text.matchAll(TODO)) {
    if (++looked > MAX_TODOS) break; // each of them searches the tree
    const line = lineAt(starts, index);
    if (todos.at(-1)?.line === line || !isInComment(source, text, index)) continue;
    const words = text.slice(index, starts[line]).replace(/\s*\*\/.*/, "");
    todos.push({ line, text: words.trim().slice(0, MAX_TEXT_CHARS) });
  }
  return todos;
}

/** The parser knows everything else: what is in no token is in a comment. */
function isInComment(source: ts.SourceFile, text: string, offset: number): boolean {
  let node: ts.Node = source;
  let inner: ts.Node | undefined = source;
  for (
    ;
    inner;
    inner = forEachChild(inner, (child) =>
      child.pos <= offset && offset < child.end ? child : undefined,
    )
  )
    node = inner;
  const isWord =
    node.kind <= K.LastTemplateToken || isIdentifier(node) || isPrivateIdentifier(node);
  return node.kind !== K.JsxText && (!isWord || offset < skipTrivia(text, node.pos));
}
