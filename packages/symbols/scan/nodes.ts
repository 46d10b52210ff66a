// Questions about single nodes of the tree: names, modifiers, and what an expression evaluates to.
import type { ts } from "ts-morph";
import {
  forEachChild,
  idText,
  isBigIntLiteral,
  isBinaryExpression,
  isComputedPropertyName,
  isIdentifier,
  isMemberName,
  isNumericLiteral,
  isPropertyAccessExpression,
  isStringLiteralLike,
  K,
  ModifierFlags,
  modifiersToFlags,
  skipTrivia,
} from "./parser.ts";

export const modifiersOf = (node: ts.Node): ts.ModifierFlags =>
  modifiersToFlags((node as { modifiers?: ts.NodeArray<ts.ModifierLike> }).modifiers);

/** Without parentheses and type assertions around it. */
export function unwrap(node: ts.Node): ts.Node {
  while (WRAPPERS.has(node.kind)) node = (node as ts.ParenthesizedExpression).expression;
  return node;
}
const WRAPPERS = new Set([
  K.ParenthesizedExpression,
  K.NonNullExpression,
  K.AsExpression,
  K.SatisfiesExpression,
  K.TypeAssertionExpression,
]);
/** The value at the end of `a = b = value`. */
export function assignedValue(node: ts.Node): ts.Node {
  for (node = unwrap(node); isBinaryExpression(node) && node.operatorToken.kind === K.EqualsToken; )
    node = unwrap(node.right);
  return node;
}

/** As other code writes it; `[Symbol.iterator]` in its brackets, undefined for a computed name. */
export function nameOf(nameNode: ts.Node): string | undefined {
  if (isMemberName(nameNode)) return idText(nameNode);
  if (isStringLiteralLike(nameNode) || isNumericLiteral(nameNode) || isBigIntLiteral(nameNode))
    return nameNode.text;
  if (!isComputedPropertyName(nameNode)) return undefined;
  const { expression } = nameNode;
  if (isStringLiteralLike(expression) || isNumericLiteral(expression)) return expression.text;
  const dottedPath = dottedName(expression);
  return dottedPath && `[${dottedPath}]`;
}
export const ownName = (node: ts.Node & { name?: ts.Node }): string | undefined => {
  if (node.name) return nameOf(node.name);
  if (modifiersOf(node) & ModifierFlags.Default) return "default";
  return undefined;
};

/** `a.b.c`, or undefined if it is not made of names alone. */
export function dottedName(node: ts.Node): string | undefined {
  if (isIdentifier(node)) return idText(node);
  if (!isPropertyAccessExpression(node)) return undefined;
  const leftPath = dottedName(node.expression);
  return leftPath && `${leftPath}.${idText(node.name)}`;
}

export const aliasText = ({
  name,
  propertyName,
}: ts.ImportSpecifier | ts.ExportSpecifier): string =>
  propertyName ? `${nameOf(propertyName)} as ${nameOf(name)}` : nameOf(name)!;

/** The parser knows everything else: what is in no token is in a comment. */
export function isInComment(sourceFile: ts.SourceFile, offset: number): boolean {
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
  const isTokenNode = innermost.kind <= K.LastTemplateToken || isMemberName(innermost);
  return (
    innermost.kind !== K.JsxText &&
    (!isTokenNode || offset < skipTrivia(sourceFile.text, innermost.pos))
  );
}
