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
import { byKind, nameOf, ownName } from "./nodes.ts";
import {
  forEachChild,
  IDENTIFIER,
  isBinaryExpression,
  isIfStatement,
  K,
  LAST_TOKEN,
} from "./parser.ts";
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

export function visit(node: ts.Node, file: Reading): void {
  const { kind: syntaxKind } = node;
  const act = VISITORS[syntaxKind];
  if (syntaxKind === IDENTIFIER) countUse(node as ts.Identifier, file);
  else if (act) act(node, file);
  else if (syntaxKind > LAST_TOKEN) forEachChild(node, file.visit);
}

type Visitor = (node: any, file: Reading) => void;
const VISITORS = byKind<Visitor>([
  [[K.PrivateIdentifier], countUse],
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
  [[K.FunctionDeclaration], (node, file) => declare(file, ownName(node), "function", node)],
  [[K.FunctionExpression, K.ArrowFunction], visitFunction],
  [
    [K.MethodDeclaration, K.GetAccessor, K.SetAccessor],
    (node, file) => declare(file, nameOf(node.name), "method", node),
  ],
  [[K.Constructor], declareConstructor],
  [[K.ClassDeclaration], (node, file) => declare(file, ownName(node), "class", node)],
  [[K.ClassExpression], visitClass],
  [[K.ClassStaticBlockDeclaration], visitBody],
  [[K.PropertyDeclaration], declareProperty],
  [[K.PropertyAssignment], visitPropertyAssignment],
  [[K.InterfaceDeclaration], (node, file) => declare(file, nameOf(node.name), "interface", node)],
  [[K.PropertySignature, K.MethodSignature], declareMember],
  [[K.TypeAliasDeclaration], declareType],
  [[K.TypeLiteral], visitTypeLiteral],
  [[K.EnumDeclaration], (node, file) => declare(file, nameOf(node.name), "enum", node)],
  [[K.EnumMember], (node, file) => declare(file, nameOf(node.name), "member", node)],
  [[K.ModuleDeclaration], declareModule],
  [[K.VariableStatement], declareVariables],
  [[K.VariableDeclaration], (node, file) => declareVariable(file, node)], // of a loop or a catch
  [[K.BinaryExpression], visitBinary],
  [[K.IfStatement], branch],
  [[K.ConditionalExpression, K.CaseClause, K.CatchClause], countDecision],
  [[K.ForStatement, K.ForInStatement, K.ForOfStatement, K.WhileStatement, K.DoStatement], loop],
  [[K.SwitchStatement, K.TryStatement], visitDeeper],
  [[K.Block], visitBlock],
]);
function countDecision(node: ts.Node, file: Reading): void {
  file.decisions++;
  forEachChild(node, file.visit);
}
function loop(node: ts.Node, file: Reading): void {
  file.decisions++;
  visitDeeper(node, file);
}
/** An `else if` is no deeper than its `if`. */
function branch({ expression, thenStatement, elseStatement }: ts.IfStatement, file: Reading): void {
  file.decisions++;
  file.visit(expression);
  descend(file, () => file.visit(thenStatement));
  if (!elseStatement) return;
  if (isIfStatement(elseStatement)) branch(elseStatement, file);
  else descend(file, () => file.visit(elseStatement));
}
/** A block that is neither a function's nor a statement's: its declarations are local. */
function visitBlock(node: ts.Block, file: Reading): void {
  if (file.depth) forEachChild(node, file.visit);
  else visitDeeper(node, file);
}

/** A sum of thousands of terms is a left-leaning tree, so it is walked without recursion. */
function visitBinary(node: ts.BinaryExpression, file: Reading): void {
  if (file.isScript && node.operatorToken.kind === K.EqualsToken && visitAssignment(node, file))
    return;
  const rights: ts.Expression[] = [];
  let operand: ts.Expression = node;
  for (; isBinaryExpression(operand); operand = operand.left) {
    if (LOGICAL.has(operand.operatorToken.kind)) file.decisions++;
    rights.push(operand.right);
  }
  file.visit(operand);
  while (rights.length) file.visit(rights.pop()!);
}
const LOGICAL = new Set([
  K.AmpersandAmpersandToken,
  K.BarBarToken,
  K.QuestionQuestionToken,
  K.AmpersandAmpersandEqualsToken,
  K.BarBarEqualsToken,
  K.QuestionQuestionEqualsToken,
]);
