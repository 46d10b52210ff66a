// The walk through a file: which function handles which kind of node.

import type { ts } from "ts-morph";
import {
  declare,
  declareConstructor,
  declareMember,
  declareModule,
  declareProperty,
  declareType,
  declareVariable,
  declareVariables,
  visitClass,
  visitFunction,
  visitPropertyAssignment,
  visitTypeLiteral,
} from "./declarations.ts";
import { noteDefault, noteExport, visitAssignment } from "./exports.ts";
import { nameOf, ownName } from "./nodes.ts";
import { forEachChild, isBinaryExpression, isIfStatement, K } from "./parser.ts";
import { noteCall, noteImport, noteImportEquals, noteImportType } from "./scan-imports.ts";
import {
  countUse,
  descend,
  noteMention,
  noteText,
  type Reading,
  visitBody,
  visitDeeper,
} from "./scan-state.ts";

export function visit(node: ts.Node, reading: Reading): void {
  const visitor = VISITORS.get(node.kind);
  if (visitor) visitor(node, reading);
  else if (node.kind > K.LastToken) forEachChild(node, reading.visit);
}

type Visitor = (node: any, reading: Reading) => void;
const VISITED_KINDS: [kinds: ts.SyntaxKind[], visitor: Visitor][] = [
  [[K.Identifier, K.PrivateIdentifier], countUse],
  [[K.StringLiteral], noteMention],
  [
    [K.NoSubstitutionTemplateLiteral, K.TemplateHead, K.TemplateMiddle, K.TemplateTail, K.JsxText],
    noteText,
  ],
  [[K.ImportDeclaration], noteImport],
  [[K.ImportEqualsDeclaration], noteImportEquals],
  [[K.ImportType], noteImportType],
  [[K.CallExpression], noteCall],
  [[K.ExportDeclaration], noteExport],
  [[K.ExportAssignment], noteDefault],
  [[K.FunctionDeclaration], (node, reading) => declare(reading, ownName(node), "function", node)],
  [[K.FunctionExpression, K.ArrowFunction], visitFunction],
  [
    [K.MethodDeclaration, K.GetAccessor, K.SetAccessor],
    (node, reading) => declare(reading, nameOf(node.name), "method", node),
  ],
  [[K.Constructor], declareConstructor],
  [[K.ClassDeclaration], (node, reading) => declare(reading, ownName(node), "class", node)],
  [[K.ClassExpression], visitClass],
  [[K.ClassStaticBlockDeclaration], visitBody],
  [[K.PropertyDeclaration], declareProperty],
  [[K.PropertyAssignment], visitPropertyAssignment],
  [
    [K.InterfaceDeclaration],
    (node, reading) => declare(reading, nameOf(node.name), "interface", node),
  ],
  [[K.PropertySignature, K.MethodSignature], declareMember],
  [[K.TypeAliasDeclaration], declareType],
  [[K.TypeLiteral], visitTypeLiteral],
  [[K.EnumDeclaration], (node, reading) => declare(reading, nameOf(node.name), "enum", node)],
  [[K.EnumMember], (node, reading) => declare(reading, nameOf(node.name), "member", node)],
  [[K.ModuleDeclaration], declareModule],
  [[K.VariableStatement], declareVariables],
  // of a loop or a catch
  [[K.VariableDeclaration], (node, reading) => declareVariable(reading, node)],
  [[K.BinaryExpression], visitBinary],
  [[K.IfStatement], visitBranch],
  [[K.ConditionalExpression, K.CaseClause, K.CatchClause], countDecision],
  [
    [K.ForStatement, K.ForInStatement, K.ForOfStatement, K.WhileStatement, K.DoStatement],
    visitLoop,
  ],
  [[K.SwitchStatement, K.TryStatement], visitDeeper],
  [[K.Block], visitBlock],
];
const VISITORS = new Map(
  VISITED_KINDS.flatMap(([kinds, visitor]) => kinds.map((kind) => [kind, visitor] as const)),
);
function countDecision(node: ts.Node, reading: Reading): void {
  reading.decisions++;
  forEachChild(node, reading.visit);
}
function visitLoop(loopNode: ts.Node, reading: Reading): void {
  reading.decisions++;
  visitDeeper(loopNode, reading);
}
/** An `else if` is no deeper than its `if`. */
function visitBranch(
  { expression, thenStatement, elseStatement }: ts.IfStatement,
  reading: Reading,
): void {
  reading.decisions++;
  reading.visit(expression);
  descend(reading, () => reading.visit(thenStatement));
  if (!elseStatement) return;
  if (isIfStatement(elseStatement)) visitBranch(elseStatement, reading);
  else descend(reading, () => reading.visit(elseStatement));
}
/** A block that is neither a function's nor a statement's: its declarations are local. */
function visitBlock(block: ts.Block, reading: Reading): void {
  if (reading.depth) forEachChild(block, reading.visit);
  else visitDeeper(block, reading);
}

/** A sum of thousands of terms is a left-leaning tree, so it is walked without recursion. */
function visitBinary(binaryNode: ts.BinaryExpression, reading: Reading): void {
  if (
    reading.isScript &&
    binaryNode.operatorToken.kind === K.EqualsToken &&
    visitAssignment(binaryNode, reading)
  )
    return;
  const rightOperands: ts.Expression[] = [];
  let operand: ts.Expression = binaryNode;
  for (; isBinaryExpression(operand); operand = operand.left) {
    if (LOGICAL.has(operand.operatorToken.kind)) reading.decisions++;
    rightOperands.push(operand.right);
  }
  reading.visit(operand);
  while (rightOperands.length) reading.visit(rightOperands.pop()!);
}
const LOGICAL = new Set([
  K.AmpersandAmpersandToken,
  K.BarBarToken,
  K.QuestionQuestionToken,
  K.AmpersandAmpersandEqualsToken,
  K.BarBarEqualsToken,
  K.QuestionQuestionEqualsToken,
]);
