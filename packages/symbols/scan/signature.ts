// The one-line signature of a declaration and the first line of its comment.

import type { ts } from "ts-morph";
import type { DeclarationSpan } from "./declarations.ts";
import { MAX_TEXT_CHARS } from "./facts.ts";
import { textAfter } from "./line-numbers.ts";
import { dottedName, isFunction, unwrap } from "./nodes.ts";
import {
  getLeadingCommentRanges,
  isArrayLiteralExpression,
  isAwaitExpression,
  isCallExpression,
  isNewExpression,
  isObjectLiteralExpression,
  K,
  skipTrivia,
} from "./parser.ts";

/** Where a declaration begins: after comments and decorators. */
export function startOf(node: ts.Node, text: string): number {
  const { modifiers } = node as { modifiers?: ts.NodeArray<ts.ModifierLike> };
  let from = node.pos;
  if (modifiers)
    for (const { kind: syntaxKind, end } of modifiers) if (syntaxKind === K.Decorator) from = end;
  return skipTrivia(text, from);
}
/** Where a declaration's body begins. */
export function headEnd(assigned: ts.Node, node: ts.Node): number {
  const { members, body } = assigned as { members?: ts.NodeArray<ts.Node>; body?: ts.Node };
  if (members) return members.pos - 1; // before the brace
  return (isFunction(assigned) && body?.pos) || node.end;
}

/** One line, without the body. `value`: the initializer, which is shown in part. */
export function signatureOf(
  text: string,
  start: number,
  { node, before = "", end = node.end, value }: DeclarationSpan,
): string {
  const head = text.slice(start, Math.min(end, start + 4 * MAX_TEXT_CHARS));
  return oneLine(before + head + (value ? ` ${shortValue(value, text)}` : "")).slice(
    0,
    MAX_TEXT_CHARS,
  );
}
/** For example `tool({…})`. */
function shortValue(value: ts.Node, text: string): string {
  if (isObjectLiteralExpression(value)) return "{…}";
  if (isArrayLiteralExpression(value)) return "[…]";
  if (isAwaitExpression(value)) return `await ${shortValue(unwrap(value.expression), text)}`;
  if (isCallExpression(value) || isNewExpression(value)) {
    const first = value.arguments?.[0];
    const shortened = first && isObjectLiteralExpression(first) ? "{…}" : "…";
    const argumentText = first ? shortened : "";
    return `${isNewExpression(value) ? "new " : ""}${dottedName(value.expression) ?? "…"}(${argumentText})`;
  }
  const start = startOf(value, text);
  return text.slice(start, Math.min(value.end, start + MAX_TEXT_CHARS));
}

/** Comments and line breaks become a blank, except in quotes. */
function oneLine(text: string): string {
  if (/[\n\t/]| {2}/.test(text))
    text = text
      .replace(QUOTED_OR_BLANK, (_, quoted?: string) =>
        quoted ? quoted.replace(/\s+/g, " ") : " ",
      )
      .replace(/([([]) |,? (?=[)\]])/g, "$1");
  return text.replace(/[\s;,=]+$/, "");
}
const QUOTED_OR_BLANK =
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`)|(?:\s|\/\*[\s\S]*?(?:\*\/|$)|\/\/.*)+/g;

/** The first line of the comment right before a node; for several `//` lines, the first one. */
export function docOf(node: ts.Node, text: string): string {
  let next = skipTrivia(text, node.pos);
  if (textAfter(text, node.pos) === next) return "";
  let doc = "";
  for (const { pos, end, kind: commentKind } of getLeadingCommentRanges(
    text,
    node.pos,
  )?.reverse() ?? []) {
    if (text.slice(end, next).split("\n").length > 2) break; // separated by a blank line
    doc = text.slice(pos, end);
    next = pos;
    if (commentKind === K.MultiLineCommentTrivia) break;
  }
  for (const line of doc.split("\n")) {
    const words = line.replace(/^\s*(?:\/\*+|\/\/+|\*+(?!\/))?|\*+\/\s*$/g, "").trim();
    if (words) return words.slice(0, MAX_TEXT_CHARS);
  }
  return "";
}
