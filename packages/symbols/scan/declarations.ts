// Turns functions, classes, types, variables and their members into symbols.

import type { ts } from "ts-morph";
import type { Sym } from "./facts.ts";
import { lineAt } from "./line-numbers.ts";
import { isFunction, modifiersOf, nameOf, unwrap } from "./nodes.ts";
import {
  forEachChild,
  idText,
  isBinaryExpression,
  isBindingElement,
  isClassExpression,
  isClassLike,
  isConstructorDeclaration,
  isExpressionStatement,
  isIdentifier,
  isIntersectionTypeNode,
  isObjectLiteralExpression,
  isParenthesizedTypeNode,
  isPropertyAccessExpression,
  isPropertySignature,
  isTypeLiteralNode,
  isUnionTypeNode,
  K,
  ModifierFlags,
  NodeFlags,
} from "./parser.ts";
import { noteTaking } from "./scan-imports.ts";
import {
  countDecisionsOf,
  exportOnce,
  type Reading,
  visitBody,
  visitInside,
} from "./scan-state.ts";
import { docOf, headEnd, signatureOf, startOf } from "./signature.ts";

/**
 * Where a declaration is, and what its signature is made of. One of several variables is a part of
 * its statement.
 */
export interface DeclarationSpan {
  node: ts.Node;
  statement?: ts.Node; // has the modifiers and the comment
  shown?: ts.Node;
  before?: string; // `export const`
  end?: number; // of what is shown
  value?: ts.Node; // its initializer, of which only part is shown
}

/** Declares a symbol and visits what is in it. `made`: the function or class that it is set to. */
export function declare(
  file: Reading,
  name: string | undefined,
  symbolKind: Sym["kind"],
  node: ts.Node,
  assigned: ts.Node = node,
  span: DeclarationSpan = { node },
): Sym | undefined {
  const sym =
    name === undefined
      ? undefined
      : addSymbol(file, name, symbolKind, { ...span, end: headEnd(assigned, span.node) });
  const isCode = isFunction(assigned);
  if (sym && isCode && modifiersOf(assigned) & ModifierFlags.Async) sym.async = true;
  visitInside(file, name, assigned, () => {
    if (file.isScript && isClassLike(assigned)) addFields(assigned, file);
    countDecisionsOf(file, isCode && assigned.body ? sym : undefined, () =>
      isCode && assigned === node ? visitBody(node, file) : forEachChild(node, file.visit),
    );
  });
  return sym;
}

export function addSymbol(
  file: Reading,
  name: string,
  symbolKind: Sym["kind"],
  span: DeclarationSpan,
): Sym {
  const { facts, owner, starts, text } = file;
  const { node, statement = node, shown = node } = span;
  const start = startOf(node, text);
  const signature = signatureOf(text, shown === node ? start : startOf(shown, text), span);
  const sym: Sym = {
    name,
    kind: symbolKind,
    line: lineAt(starts, start),
    end: lineAt(starts, node.end),
    signature,
  };
  if (!name) return sym; // the parser inserts an empty one for a missing name
  facts.symbols.push(sym);
  if (owner) sym.owner = owner;
  if (file.inFunction) sym.local = true;
  const flags = modifiersOf(statement);
  if (flags & ModifierFlags.Private || name.startsWith("#")) sym.visibility = "private";
  else if (flags & ModifierFlags.Protected) sym.visibility = "protected";
  const doc = docOf(node, text) || (statement === node ? "" : docOf(statement, text));
  if (doc) sym.doc = doc;
  if (flags & ModifierFlags.Export) {
    sym.exported = true;
    if (!owner) exportOnce(file, flags & ModifierFlags.Default ? "default" : name, name);
  }
  return sym;
}

/** A function expression: its own name counts if nothing else names it. */
export function visitFunction(node: ts.FunctionExpression | ts.ArrowFunction, file: Reading): void {
  if (node.name && node !== file.made) declare(file, idText(node.name), "function", node);
  else visitBody(node, file);
}
export function visitClass(node: ts.ClassExpression, file: Reading): void {
  if (node.name && node !== file.made) declare(file, idText(node.name), "class", node);
  else forEachChild(node, file.visit);
}

export function declareConstructor(node: ts.ConstructorDeclaration, file: Reading): void {
  for (const parameter of node.parameters)
    if (
      modifiersOf(parameter) & ModifierFlags.ParameterPropertyModifier &&
      isIdentifier(parameter.name)
    )
      addSymbol(file, idText(parameter.name), "property", { node: parameter });
  declare(file, "constructor", "method", node);
}

export function declareProperty(node: ts.PropertyDeclaration, file: Reading): void {
  const name = nameOf(node.name);
  const assigned = node.initializer && unwrap(node.initializer);
  if (assigned && isFunction(assigned)) return void declare(file, name, "method", node, assigned);
  if (name !== undefined)
    addSymbol(file, name, "property", {
      node,
      end: node.initializer?.pos,
      ...(assigned && { value: assigned }),
    });
  visitInside(file, name, assigned, () => forEachChild(node, file.visit));
}

/** Only the functions of an object literal are listed. */
export function visitPropertyAssignment(node: ts.PropertyAssignment, file: Reading): void {
  const assigned = unwrap(node.initializer);
  if (isFunction(assigned)) return void declare(file, nameOf(node.name), "method", node, assigned);
  if (!isObjectLiteralExpression(assigned)) return void forEachChild(node, file.visit);
  visitInside(file, nameOf(node.name), undefined, () => forEachChild(node, file.visit));
}

/** A type's members are those of its own literals, not of nested ones. */
export function declareType(node: ts.TypeAliasDeclaration, file: Reading): void {
  const name = idText(node.name);
  addSymbol(file, name, "type", { node });
  visitInside(file, name, undefined, () =>
    forEachChild(node, (part) => (part === node.type ? visitType(part, file) : file.visit(part))),
  );
}
function visitType(node: ts.Node, file: Reading): void {
  if (isTypeLiteralNode(node)) forEachChild(node, file.visit);
  else if (isUnionTypeNode(node) || isIntersectionTypeNode(node) || isParenthesizedTypeNode(node))
    forEachChild(node, (part) => visitType(part, file));
  else file.visit(node);
}
export function declareMember(
  node: ts.PropertySignature | ts.MethodSignature,
  file: Reading,
): void {
  const name = nameOf(node.name);
  if (name !== undefined)
    addSymbol(file, name, isPropertySignature(node) ? "property" : "method", { node });
  forEachChild(node, file.visit);
}
/** A type literal that is not a type's own: of a parameter, or nested. */
export function visitTypeLiteral(node: ts.TypeLiteralNode, file: Reading): void {
  for (const member of node.members) forEachChild(member, file.visit);
}

export function declareModule(node: ts.ModuleDeclaration, file: Reading): void {
  const isGlobal = (node.flags & NodeFlags.GlobalAugmentation) !== 0;
  const name = isIdentifier(node.name) ? idText(node.name) : `"${node.name.text}"`;
  if (isGlobal || !isIdentifier(node.name)) file.facts.global = true;
  if (!isGlobal) {
    const isNested = (node.flags & NodeFlags.NestedNamespace) !== 0; // the B of A.B
    const before = isNested ? `namespace ${file.owner}.` : "";
    const sym = addSymbol(file, name, "namespace", { node, before, end: node.name.end });
    if (isNested) sym.exported = true;
  }
  visitInside(file, isGlobal ? undefined : name, undefined, () => forEachChild(node, file.visit));
}

export function declareVariables(statement: ts.VariableStatement, file: Reading): void {
  for (const declaration of statement.declarationList.declarations)
    declareVariable(file, declaration, statement);
}
/** A variable in a function or a block is listed only if it holds a function or a class. */
export function declareVariable(
  file: Reading,
  node: ts.VariableDeclaration,
  statement?: ts.VariableStatement,
): void {
  const assigned = node.initializer && unwrap(node.initializer);
  const name = isIdentifier(node.name) ? idText(node.name) : undefined;
  const span = spanOf(node, statement, file);
  if (assigned && name && (isFunction(assigned) || isClassExpression(assigned)))
    return void declare(
      file,
      name,
      isFunction(assigned) ? "function" : "class",
      node,
      assigned,
      span,
    );
  const isImport = assigned !== undefined && noteTaking(node.name, assigned, file);
  const isListed = statement !== undefined && !file.inFunction && !file.depth && !isImport;
  if (isListed) {
    const symbolKind = statement.declarationList.flags & CONSTANT ? "const" : "variable";
    const valueSpan = { ...span, end: node.initializer?.pos ?? node.end, value: assigned };
    if (name) addSymbol(file, name, symbolKind, valueSpan);
    else
      for (const bound of boundNames(node.name))
        addSymbol(file, idText(bound.name as ts.Identifier), symbolKind, {
          ...valueSpan,
          node: bound,
          statement,
          shown: span.node,
        });
  }
  const isOwner = assigned && (isListed || isObjectLiteralExpression(assigned));
  visitInside(file, isOwner ? name : undefined, undefined, () => forEachChild(node, file.visit));
}
const CONSTANT = NodeFlags.Const | NodeFlags.Using;

/** If it is alone in its statement, a variable's text is the whole statement. */
function spanOf(
  node: ts.VariableDeclaration,
  statement: ts.VariableStatement | undefined,
  { text }: Reading,
): DeclarationSpan {
  if (!statement) return { node };
  const { declarations } = statement.declarationList;
  if (declarations.length === 1) return { node: statement };
  return { node, statement, before: `${text.slice(startOf(statement, text), declarations.pos)} ` };
}

function* boundNames(name: ts.BindingName): Generator<ts.BindingElement> {
  if (isIdentifier(name)) return;
  for (const element of name.elements)
    if (isBindingElement(element)) {
      if (isIdentifier(element.name)) yield element;
      else yield* boundNames(element.name);
    }
}

/** What a constructor assigns to `this` are fields, unless the class declares them. */
function addFields(node: ts.ClassLikeDeclaration, file: Reading): void {
  const declaredNames = new Set(node.members.map(({ name }) => name && nameOf(name)));
  for (const statement of node.members.find(isConstructorDeclaration)?.body?.statements ?? []) {
    if (!isExpressionStatement(statement) || !isBinaryExpression(statement.expression)) continue;
    const { left: target, operatorToken, right } = statement.expression;
    if (operatorToken.kind !== K.EqualsToken || !isPropertyAccessExpression(target)) continue;
    const name = nameOf(target.name);
    if (target.expression.kind !== K.ThisKeyword || name === undefined || declaredNames.has(name))
      continue;
    declaredNames.add(name);
    addSymbol(file, name, "property", { node: statement, end: right.pos });
  }
}
