// The one-line signature of a declaration and the first line of its comment.

import type { ts } from "ts-morph";
import { anyOf } from "zz/text";
import { firstLineOf } from "./comments.ts";
import type { DeclarationSpan } from "./declarations.ts";
import { MAX_TEXT_CHARS } from "./facts.ts";
import { textAfter } from "./line-numbers.ts";
import { dottedName, unwrap } from "./nodes.ts";
import {
  getLeadingCommentRanges,
  isArrayLiteralExpression,
  isAwaitExpression,
  isCallExpression,
  isFunctionLikeDeclaration,
  isNewExpression,
  isObjectLiteralExpression,
  K,
  skipTrivia,
} from "./parser.ts";

/** Where a declaration begins: after comments and decorators. */
export function startOf(node: ts.Node, sourceText: string): number {
  const { modifiers } = node as { modifiers?: ts.NodeArray<ts.ModifierLike> };
  let startOffset = node.pos;
  if (modifiers)
    for (const { kind: syntaxKind, end } of modifiers)
      if (syntaxKind === K.Decorator) startOffset = end;
  return skipTrivia(sourceText, startOffset);
}
/** Where a declaration's body begins. */
export function headEnd(assigned: ts.Node, declaration: ts.Node): number {
  const { members, body } = assigned as { members?: ts.NodeArray<ts.Node>; body?: ts.Node };
  if (members) return members.pos - 1; // before the brace
  return (isFunctionLikeDeclaration(assigned) && body?.pos) || declaration.end;
}

/** One line, without the body. `value`: the initializer, which is shown in part. */
export function signatureOf(
  sourceText: string,
  startOffset: number,
  { node, before = "", end = node.end, value }: DeclarationSpan,
): string {
  const headText = sourceText.slice(startOffset, Math.min(end, startOffset + 4 * MAX_TEXT_CHARS));
  return oneLine(before + headText + (value ? ` ${shortValue(value, sourceText)}` : "")).slice(
    0,
    MAX_TEXT_CHARS,
  );
}
/** For example `tool({…})`. */
function shortValue(valueNode: ts.Node, sourceText: string): string {
  if (isObjectLiteralExpression(valueNode)) return "{…}";
  if (isArrayLiteralExpression(valueNode)) return "[…]";
  if (isAwaitExpression(valueNode))
    return `await ${shortValue(unwrap(valueNode.expression), sourceText)}`;
  if (isCallExpression(valueNode) || isNewExpression(valueNode)) {
    const firstArgument = valueNode.arguments?.[0];
    const shortened = firstArgument && isObjectLiteralExpression(firstArgument) ? "{…}" : "…";
    const argumentText = firstArgument ? shortened : "";
    return (
      `${isNewExpression(valueNode) ? "new " : ""}` +
      `${dottedName(valueNode.expression) ?? "…"}(${argumentText})`
    );
  }
  const startOffset = startOf(valueNode, sourceText);
  return sourceText.slice(startOffset, Math.min(valueNode.end, startOffset + MAX_TEXT_CHARS));
}

/** Comments and line breaks become a blank, except in quotes. */
function oneLine(headText: string): string {
  if (/[\n\t/]| {2}/.test(headText))
    headText = headText
      .replace(QUOTED_OR_BLANK, (_, quotedText?: string) =>
        quotedText ? quotedText.replace(/\s+/g, " ") : " ",
      )
      .replace(/([([]) |,? (?=[)\]])/g, "$1");
  return headText.replace(/[\s;,=]+$/, "");
}
const QUOTED_OR_BLANK = anyOf(
  /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[\s\S])*`)/g,
  /(?:\s|\/\*[\s\S]*?(?:\*\/|$)|\/\/.*)+/g,
);

/** The first line of the comment right before a node; for several `//` lines, the first one. */
export function docOf(node: ts.Node, sourceText: string): string {
  let nextStart = skipTrivia(sourceText, node.pos);
  if (textAfter(sourceText, node.pos) === nextStart) return "";
  let docComment = "";
  for (const { pos, end, kind: commentKind } of getLeadingCommentRanges(
    sourceText,
    node.pos,
  )?.reverse() ?? []) {
    if (sourceText.slice(end, nextStart).split("\n").length > 2) break; // separated by a blank line
    docComment = sourceText.slice(pos, end);
    nextStart = pos;
    if (commentKind === K.MultiLineCommentTrivia) break;
  }
  return firstLineOf(docComment, /^\s*(?:\/\*+|\/\/+|\*+(?!\/))?|\*+\/\s*$/g);
}
