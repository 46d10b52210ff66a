// What scan() lists of real code, held against what TypeScript's binder knows of it, in both directions.
import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ts } from "ts-morph";
import { scan } from "../../../../plugins/symbols/scan.ts";
import { codeIn, JAVASCRIPT, TYPESCRIPT } from "../../../support/corpus.ts";
import { ROOT } from "../../../support/run.ts";

const K = ts.SyntaxKind;
type Bound = ts.Node & { symbol?: ts.Symbol; name?: ts.Node };
const { bindSourceFile, getAssignmentDeclarationKind, getEnclosingBlockScopeContainer, skipOuterExpressions } =
  ts as unknown as {
    bindSourceFile(file: ts.SourceFile, options: ts.CompilerOptions): void;
    getAssignmentDeclarationKind(node: ts.Node): number;
    getEnclosingBlockScopeContainer(node: ts.Node): ts.Node;
    skipOuterExpressions(node: ts.Node): ts.Node;
  };

/** `name kind line` of each declaration that has a symbol and that an index is meant to list. */
function known(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  bindSourceFile(file, { target: ts.ScriptTarget.Latest });
  const rows: string[] = [];
  const lines = new Uint32Array(text.length + 1); // of each character
  for (let at = 0, line = 1; at <= text.length; at++) {
    lines[at] = line;
    if (text[at] === "\n") line++;
  }
  const look = (node: Bound): void => {
    const isKnown = node.symbol?.declarations?.includes(node as ts.Declaration) || isForeign(node);
    const kind = isKnown && kindOf(node);
    if (kind) rows.push(`${nameOf(node)} ${kind} ${lines[startOf(node, file)]}`);
    ts.forEachChild(node, look);
  };
  look(file);
  return rows.sort();
}

/** What the index calls it; nothing for what it leaves out: parameters, locals, what is further within a type. */
function kindOf(node: Bound): string | undefined {
  const { parent } = node;
  switch (node.kind) {
    case K.FunctionDeclaration:
      return "function";
    case K.ClassDeclaration:
      return "class";
    case K.InterfaceDeclaration:
      return "interface";
    case K.TypeAliasDeclaration:
      return "type";
    case K.EnumDeclaration:
      return "enum";
    case K.EnumMember:
      return "member";
    case K.ModuleDeclaration:
      return node.flags & ts.NodeFlags.GlobalAugmentation ? undefined : "namespace";
    case K.FunctionExpression:
      return node.name && !namesIt(node) ? "function" : undefined;
    case K.ClassExpression:
      return node.name && !namesIt(node) ? "class" : undefined;
    case K.VariableDeclaration:
    case K.BindingElement:
      return variable(node as ts.VariableDeclaration | ts.BindingElement);
    case K.Parameter:
      return ts.isParameterPropertyDeclaration(node, parent) ? "property" : undefined;
    case K.Constructor:
    case K.MethodDeclaration:
      return "method";
    case K.PropertyDeclaration:
      return made((node as ts.PropertyDeclaration).initializer) === "function" ? "method" : "property";
    case K.PropertyAssignment:
      return made((node as ts.PropertyAssignment).initializer) === "function" ? "method" : undefined;
    case K.PropertySignature:
      return isTopOfType(parent) ? "property" : undefined;
    case K.MethodSignature:
    case K.GetAccessor:
    case K.SetAccessor:
      return !ts.isTypeLiteralNode(parent) || isTopOfType(parent) ? "method" : undefined;
    case K.ExportAssignment:
      return ts.isSourceFile(parent) ? value((node as ts.ExportAssignment).expression) : undefined;
    case K.BinaryExpression: // JavaScript's own
      return assignment(node as ts.BinaryExpression);
    case K.PropertyAccessExpression:
      return exportOrMember(parent as ts.BinaryExpression);
  }
  return undefined;
}

const outer = (node: ts.Node): ts.Node => skipOuterExpressions(node);
function settled(node: ts.Node): ts.Node {
  const inner = outer(node);
  return isSet(inner) ? settled(inner.right) : inner;
}
const isSet = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === K.EqualsToken;

function made(initializer: ts.Node | undefined): "function" | "class" | "const" | undefined {
  if (!initializer) return undefined;
  const node = outer(initializer);
  if (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) return "function";
  return ts.isClassExpression(node) ? "class" : "const";
}
/** What an export makes of an expression: nothing where that is named elsewhere. */
function value(expression: ts.Node): string | undefined {
  const node = settled(expression);
  return ts.isIdentifier(node) || isRequire(node) ? undefined : made(node);
}
const isRequire = (node: ts.Node): boolean => ts.isCallExpression(node) && node.expression.getText() === "require";

function variable(node: ts.VariableDeclaration | ts.BindingElement): string | undefined {
  const root = ts.isBindingElement(node) ? ts.walkUpBindingElementsAndPatterns(node) : node;
  if (!ts.isVariableDeclaration(root) || !ts.isIdentifier(node.name)) return undefined;
  const kind = node === root ? made(root.initializer) : undefined;
  if (kind === "function" || kind === "class") return kind;
  const scope = getEnclosingBlockScopeContainer(node);
  const isLocal = !ts.isSourceFile(scope) && !ts.isModuleDeclaration(scope);
  if (isLocal || !ts.isVariableStatement(root.parent.parent)) return undefined;
  if ((node as Bound).symbol!.flags & ts.SymbolFlags.Alias) return undefined; // an import, as JavaScript has it
  return ts.getCombinedNodeFlags(root) & (ts.NodeFlags.Const | ts.NodeFlags.Using) ? "const" : "variable";
}

/** Whether a type's own members are here: in its literal, or in a part of what it is put together from. */
function isTopOfType(node: ts.Node): boolean {
  if (!ts.isTypeLiteralNode(node)) return ts.isInterfaceDeclaration(node);
  let { parent } = node as ts.Node;
  while (ts.isParenthesizedTypeNode(parent) || ts.isUnionTypeNode(parent) || ts.isIntersectionTypeNode(parent))
    parent = parent.parent;
  return ts.isTypeAliasDeclaration(parent);
}

/** Whether a function or class is what a variable, a member or an export is set to, and goes by that name. */
function namesIt(node: ts.Node): boolean {
  let { parent } = node;
  while (outer(parent) === node || (isSet(parent) && !assigned(parent))) parent = parent.parent;
  if (ts.isVariableDeclaration(parent) || ts.isPropertyDeclaration(parent) || ts.isExportAssignment(parent))
    return true;
  if (ts.isPropertyAssignment(parent)) return ts.isFunctionExpression(node);
  return isSet(parent) && Boolean(exportOrMember(parent) ?? assignment(parent));
}

/** A method for a class of another file, where the binder has no symbol to hang it on. */
const isForeign = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) && isSet(node.parent) && assigned(node.parent) === PROTOTYPE;

const [EXPORTS, WHOLE, PROTOTYPE, THIS] = [1, 2, 3, 4];
const assigned = (node: ts.Node): number => (ts.isBinaryExpression(node) ? getAssignmentDeclarationKind(node) : 0);
function exportOrMember(node: ts.BinaryExpression): string | undefined {
  if (assigned(node) === PROTOTYPE) return made(node.right) === "function" ? "method" : undefined;
  const right = settled(node.right ?? node);
  if (assigned(node) !== EXPORTS || ts.isVoidExpression(right) || ts.isPropertyAccessExpression(right))
    return undefined;
  return value(right);
}
function assignment(node: ts.BinaryExpression): string | undefined {
  if (assigned(node) === WHOLE)
    return ts.isObjectLiteralExpression(settled(node.right)) ? undefined : value(node.right);
  if (assigned(node) !== THIS || !ts.isConstructorDeclaration(node.parent.parent.parent)) return undefined;
  return (node as Bound).symbol!.declarations![0] === node ? "property" : undefined;
}

function nameOf(node: Bound): string | undefined {
  const { symbol, name } = node;
  if (ts.isConstructorDeclaration(node)) return "constructor";
  if (name && ts.isPrivateIdentifier(name)) return name.text;
  if (name && ts.isComputedPropertyName(name) && symbol?.escapedName === ts.InternalSymbolName.Computed)
    return /^[\w$.]+$/.test(name.expression.getText()) ? `[${name.expression.getText()}]` : undefined;
  const whole = [ts.InternalSymbolName.Default, ts.InternalSymbolName.ExportEquals] as ts.__String[];
  if (!symbol) return name!.getText();
  if (!whole.includes(symbol.escapedName)) return symbol.name;
  const own = (
    isSet(node) ? settled(node.right) : ts.isExportAssignment(node) ? settled(node.expression) : node
  ) as Bound;
  const isNamed = !ts.isCallExpression(own) && own.name && !ts.isPropertyAccessExpression(own);
  return isNamed ? own.name!.getText() : "default";
}

function startOf(node: ts.Node, file: ts.SourceFile): number {
  const list = node.parent;
  const alone = ts.isVariableDeclaration(node) && ts.isVariableDeclarationList(list) && list.declarations.length === 1;
  const from = alone && ts.isVariableStatement(list.parent) ? list.parent : node;
  const decorator = ts.canHaveDecorators(from) ? ts.getDecorators(from)?.at(-1) : undefined;
  if (!decorator) return from.getStart(file);
  const between = /^\s*(?:(?:\/\/.*|\/\*[\s\S]*?\*\/)\s*)*/.exec(file.text.slice(decorator.end))!;
  return decorator.end + between[0].length;
}

for (const name of [...TYPESCRIPT, ...JAVASCRIPT])
  test(`scan() lists what the compiler knows of ${name}`, () => {
    const folder = join(ROOT, "node_modules", name);
    let [expected, found] = [0, 0];
    const [missed, wrong]: [string[], string[]] = [[], []];
    for (const file of codeIn(folder)) {
      const text = readFileSync(join(folder, file), "utf8");
      const { symbols, unread, parseError = "" } = scan(file, text);
      ok(!/^(?:cannot|nested)/.test(parseError), `${file}: ${parseError}`);
      if (unread) continue;
      const left = Map.groupBy(known(file, text), (row) => row);
      expected += [...left.values()].flat().length;
      for (const row of symbols.map(({ name, kind, line }) => `${name} ${kind} ${line}`))
        if (left.get(row)?.pop()) found++;
        else wrong.push(`${file}: ${row}`);
      for (const rows of left.values()) for (const row of rows) missed.push(`${file}: ${row}`);
    }
    deepEqual(wrong.slice(0, 20), []);
    ok(found >= 0.995 * expected, missed.slice(0, 20).join("\n"));
    ok(expected > 100, `${expected}`);
  });
