// Questions about single nodes of the tree: names, modifiers, and what an expression evaluates to.
import type { ts } from "ts-morph";
import {
  idText,
  isBigIntLiteral,
  isBinaryExpression,
  isComputedPropertyName,
  isIdentifier,
  isNumericLiteral,
  isPrivateIdentifier,
  isPropertyAccessExpression,
  isStringLiteralLike,
  K,
  ModifierFlags,
} from "./parser.ts";

export function byKind<T>(kindRows: [kinds: ts.SyntaxKind[], value: T][]): (T | undefined)[] {
  const kindTable = new Array<T | undefined>(K.Count).fill(undefined);
  for (const [syntaxKinds, kindValue] of kindRows)
    for (const syntaxKind of syntaxKinds) kindTable[syntaxKind] = kindValue;
  return kindTable;
}

type Code = ts.FunctionLikeDeclaration & { name?: ts.Node; body?: ts.Node };
const FUNCTIONS = byKind<true>([
  [
    [
      K.FunctionDeclaration,
      K.FunctionExpression,
      K.ArrowFunction,
      K.MethodDeclaration,
      K.Constructor,
    ],
    true,
  ],
  [[K.GetAccessor, K.SetAccessor], true],
]);
export const isFunction = (node: ts.Node): node is Code => FUNCTIONS[node.kind] === true;

export function modifiersOf(node: ts.Node): number {
  let modifierFlags = 0;
  const { modifiers } = node as { modifiers?: ts.NodeArray<ts.ModifierLike> };
  if (modifiers)
    for (const { kind: syntaxKind } of modifiers) modifierFlags |= MODIFIERS[syntaxKind] ?? 0;
  return modifierFlags;
}
const MODIFIERS = byKind<number>([
  [[K.ExportKeyword], ModifierFlags.Export],
  [[K.DefaultKeyword], ModifierFlags.Default],
  [[K.AsyncKeyword], ModifierFlags.Async],
  [[K.PublicKeyword], ModifierFlags.Public],
  [[K.PrivateKeyword], ModifierFlags.Private],
  [[K.ProtectedKeyword], ModifierFlags.Protected],
  [[K.ReadonlyKeyword], ModifierFlags.Readonly],
  [[K.OverrideKeyword], ModifierFlags.Override],
]);

/** Without parentheses and type assertions around it. */
export function unwrap(node: ts.Node): ts.Node {
  while (WRAPPERS[node.kind]) node = (node as ts.ParenthesizedExpression).expression;
  return node;
}
const WRAPPERS = byKind<true>([
  [[K.ParenthesizedExpression, K.NonNullExpression], true],
  [[K.AsExpression, K.SatisfiesExpression, K.TypeAssertionExpression], true],
]);
/** The value at the end of `a = b = value`. */
export function assignedValue(node: ts.Node): ts.Node {
  for (node = unwrap(node); isBinaryExpression(node) && node.operatorToken.kind === K.EqualsToken; )
    node = unwrap(node.right);
  return node;
}

/** As other code writes it; `[Symbol.iterator]` in its brackets, undefined for a computed name. */
export function nameOf(nameNode: ts.Node): string | undefined {
  if (isIdentifier(nameNode) || isPrivateIdentifier(nameNode)) return idText(nameNode);
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
