// Turns functions, classes, types, variables and their members into symbols.

import type { ts } from "ts-morph";
import type { Sym } from "./facts.ts";
import { lineAt } from "./line-numbers.ts";
import { modifiersOf, nameOf, unwrap } from "./nodes.ts";
import {
  forEachChild,
  idText,
  isBinaryExpression,
  isBindingElement,
  isClassExpression,
  isClassLike,
  isConstructorDeclaration,
  isExpressionStatement,
  isFunctionLikeDeclaration,
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
  reading: Reading,
  symbolName: string | undefined,
  symbolKind: Sym["kind"],
  node: ts.Node,
  assigned: ts.Node = node,
  span: DeclarationSpan = { node },
): Sym | undefined {
  const sym =
    symbolName === undefined
      ? undefined
      : addSymbol(reading, symbolName, symbolKind, { ...span, end: headEnd(assigned, span.node) });
  const isCode = isFunctionLikeDeclaration(assigned);
  if (sym && isCode && modifiersOf(assigned) & ModifierFlags.Async) sym.async = true;
  visitInside(reading, symbolName, assigned, () => {
    if (reading.isScript && isClassLike(assigned)) addFields(assigned, reading);
    countDecisionsOf(reading, isCode && assigned.body ? sym : undefined, () =>
      isCode && assigned === node ? visitBody(node, reading) : forEachChild(node, reading.visit),
    );
  });
  return sym;
}

export function addSymbol(
  reading: Reading,
  name: string,
  symbolKind: Sym["kind"],
  span: DeclarationSpan,
): Sym {
  const { facts, owner, starts, text } = reading;
  const { node, statement = node, shown = node } = span;
  const startOffset = startOf(node, text);
  const signature = signatureOf(text, shown === node ? startOffset : startOf(shown, text), span);
  const sym: Sym = {
    name,
    kind: symbolKind,
    line: lineAt(starts, startOffset),
    end: lineAt(starts, node.end),
    signature,
  };
  if (!name) return sym; // the parser inserts an empty one for a missing name
  facts.symbols.push(sym);
  if (owner) sym.owner = owner;
  if (reading.inFunction) sym.local = true;
  const modifierFlags = modifiersOf(statement);
  if (modifierFlags & ModifierFlags.Private || name.startsWith("#")) sym.visibility = "private";
  else if (modifierFlags & ModifierFlags.Protected) sym.visibility = "protected";
  const docLine = docOf(node, text) || (statement === node ? "" : docOf(statement, text));
  if (docLine) sym.doc = docLine;
  if (modifierFlags & ModifierFlags.Export) {
    sym.exported = true;
    if (!owner) exportOnce(reading, modifierFlags & ModifierFlags.Default ? "default" : name, name);
  }
  return sym;
}

/** A function expression: its own name counts if nothing else names it. */
export function visitFunction(
  functionNode: ts.FunctionExpression | ts.ArrowFunction,
  reading: Reading,
): void {
  if (functionNode.name && functionNode !== reading.made)
    declare(reading, idText(functionNode.name), "function", functionNode);
  else visitBody(functionNode, reading);
}
export function visitClass(classNode: ts.ClassExpression, reading: Reading): void {
  if (classNode.name && classNode !== reading.made)
    declare(reading, idText(classNode.name), "class", classNode);
  else forEachChild(classNode, reading.visit);
}

export function declareConstructor(
  constructorNode: ts.ConstructorDeclaration,
  reading: Reading,
): void {
  for (const parameter of constructorNode.parameters)
    if (
      modifiersOf(parameter) & ModifierFlags.ParameterPropertyModifier &&
      isIdentifier(parameter.name)
    )
      addSymbol(reading, idText(parameter.name), "property", { node: parameter });
  declare(reading, "constructor", "method", constructorNode);
}

export function declareProperty(node: ts.PropertyDeclaration, reading: Reading): void {
  const propertyName = nameOf(node.name);
  const assigned = node.initializer && unwrap(node.initializer);
  if (assigned && isFunctionLikeDeclaration(assigned))
    return void declare(reading, propertyName, "method", node, assigned);
  if (propertyName !== undefined)
    addSymbol(reading, propertyName, "property", {
      node,
      end: node.initializer?.pos,
      ...(assigned && { value: assigned }),
    });
  visitInside(reading, propertyName, assigned, () => forEachChild(node, reading.visit));
}

/** Only the functions of an object literal are listed. */
export function visitPropertyAssignment(assignment: ts.PropertyAssignment, reading: Reading): void {
  const assigned = unwrap(assignment.initializer);
  if (isFunctionLikeDeclaration(assigned))
    return void declare(reading, nameOf(assignment.name), "method", assignment, assigned);
  if (!isObjectLiteralExpression(assigned)) return void forEachChild(assignment, reading.visit);
  visitInside(reading, nameOf(assignment.name), undefined, () =>
    forEachChild(assignment, reading.visit),
  );
}

/** A type's members are those of its own literals, not of nested ones. */
export function declareType(node: ts.TypeAliasDeclaration, reading: Reading): void {
  const typeName = idText(node.name);
  addSymbol(reading, typeName, "type", { node });
  visitInside(reading, typeName, undefined, () =>
    forEachChild(node, (childNode) =>
      childNode === node.type ? visitType(childNode, reading) : reading.visit(childNode),
    ),
  );
}
function visitType(typeNode: ts.Node, reading: Reading): void {
  if (isTypeLiteralNode(typeNode)) forEachChild(typeNode, reading.visit);
  else if (
    isUnionTypeNode(typeNode) ||
    isIntersectionTypeNode(typeNode) ||
    isParenthesizedTypeNode(typeNode)
  )
    forEachChild(typeNode, (typePart) => visitType(typePart, reading));
  else reading.visit(typeNode);
}
export function declareMember(
  node: ts.PropertySignature | ts.MethodSignature,
  reading: Reading,
): void {
  const memberName = nameOf(node.name);
  if (memberName !== undefined)
    addSymbol(reading, memberName, isPropertySignature(node) ? "property" : "method", { node });
  forEachChild(node, reading.visit);
}
/** A type literal that is not a type's own: of a parameter, or nested. */
export function visitTypeLiteral(typeNode: ts.TypeLiteralNode, reading: Reading): void {
  for (const memberNode of typeNode.members) forEachChild(memberNode, reading.visit);
}

export function declareModule(node: ts.ModuleDeclaration, reading: Reading): void {
  const isGlobal = (node.flags & NodeFlags.GlobalAugmentation) !== 0;
  const moduleName = isIdentifier(node.name) ? idText(node.name) : `"${node.name.text}"`;
  if (isGlobal || !isIdentifier(node.name)) reading.facts.global = true;
  if (!isGlobal) {
    const isNested = (node.flags & NodeFlags.NestedNamespace) !== 0; // the B of A.B
    const before = isNested ? `namespace ${reading.owner}.` : "";
    const sym = addSymbol(reading, moduleName, "namespace", { node, before, end: node.name.end });
    if (isNested) sym.exported = true;
  }
  visitInside(reading, isGlobal ? undefined : moduleName, undefined, () =>
    forEachChild(node, reading.visit),
  );
}

export function declareVariables(statement: ts.VariableStatement, reading: Reading): void {
  for (const declaration of statement.declarationList.declarations)
    declareVariable(reading, declaration, statement);
}
/** A variable in a function or a block is listed only if it holds a function or a class. */
export function declareVariable(
  reading: Reading,
  declaration: ts.VariableDeclaration,
  statement?: ts.VariableStatement,
): void {
  const assigned = declaration.initializer && unwrap(declaration.initializer);
  const variableName = isIdentifier(declaration.name) ? idText(declaration.name) : undefined;
  const variableSpan = variableSpanOf(declaration, statement, reading);
  if (
    assigned &&
    variableName &&
    (isFunctionLikeDeclaration(assigned) || isClassExpression(assigned))
  )
    return void declare(
      reading,
      variableName,
      isFunctionLikeDeclaration(assigned) ? "function" : "class",
      declaration,
      assigned,
      variableSpan,
    );
  const isImport = assigned !== undefined && noteTaking(declaration.name, assigned, reading);
  const isListed = statement !== undefined && !reading.inFunction && !reading.depth && !isImport;
  if (isListed) {
    const symbolKind = statement.declarationList.flags & CONSTANT ? "const" : "variable";
    const valueSpan = {
      ...variableSpan,
      end: declaration.initializer?.pos ?? declaration.end,
      value: assigned,
    };
    if (variableName) addSymbol(reading, variableName, symbolKind, valueSpan);
    else
      for (const boundElement of boundNames(declaration.name))
        addSymbol(reading, idText(boundElement.name as ts.Identifier), symbolKind, {
          ...valueSpan,
          node: boundElement,
          statement,
          shown: variableSpan.node,
        });
  }
  const isOwner = assigned && (isListed || isObjectLiteralExpression(assigned));
  visitInside(reading, isOwner ? variableName : undefined, undefined, () =>
    forEachChild(declaration, reading.visit),
  );
}
const CONSTANT = NodeFlags.Const | NodeFlags.Using;

/** If it is alone in its statement, a variable's text is the whole statement. */
function variableSpanOf(
  node: ts.VariableDeclaration,
  statement: ts.VariableStatement | undefined,
  { text }: Reading,
): DeclarationSpan {
  if (!statement) return { node };
  const { declarations } = statement.declarationList;
  if (declarations.length === 1) return { node: statement };
  return { node, statement, before: `${text.slice(startOf(statement, text), declarations.pos)} ` };
}

function* boundNames(bindingName: ts.BindingName): Generator<ts.BindingElement> {
  if (isIdentifier(bindingName)) return;
  for (const element of bindingName.elements)
    if (isBindingElement(element)) {
      if (isIdentifier(element.name)) yield element;
      else yield* boundNames(element.name);
    }
}

/** What a constructor assigns to `this` are fields, unless the class declares them. */
function addFields(classNode: ts.ClassLikeDeclaration, reading: Reading): void {
  const declaredNames = new Set(classNode.members.map(({ name }) => name && nameOf(name)));
  for (const statement of classNode.members.find(isConstructorDeclaration)?.body?.statements ??
    []) {
    if (!isExpressionStatement(statement) || !isBinaryExpression(statement.expression)) continue;
    const { left: targetNode, operatorToken, right } = statement.expression;
    if (operatorToken.kind !== K.EqualsToken || !isPropertyAccessExpression(targetNode)) continue;
    const fieldName = nameOf(targetNode.name);
    if (
      targetNode.expression.kind !== K.ThisKeyword ||
      fieldName === undefined ||
      declaredNames.has(fieldName)
    )
      continue;
    declaredNames.add(fieldName);
    addSymbol(reading, fieldName, "property", { node: statement, end: right.pos });
  }
}
