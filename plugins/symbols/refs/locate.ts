// From a line and a name to the node in the tree, and whether other files can see it.
import { ts } from "ts-morph";
import { K } from "./compiler.ts";
import type { Link } from "./state.ts";

export interface Found {
  name: ts.Node;
  within: ts.Node[]; // the path from the file down to the node that it names
}

/** The first declaration of that name that begins on this line; otherwise any occurrence of the name there. */
export function locate(source: ts.SourceFile, line: number, name: string): Found | undefined {
  const starts = source.getLineStarts();
  if (!(line >= 1 && line <= starts.length)) return undefined;
  const [from, to] = [starts[line - 1]!, starts[line] ?? source.end + 1];
  const begins = (node: ts.Node) => isBetween(node.getStart(source), from, to);
  let [found, use]: (Found | undefined)[] = [];
  let first = Number.POSITIVE_INFINITY;
  visit(source, []);
  return found ?? use;

  function visit(node: ts.Node, within: ts.Node[]): void {
    if (node.end < from || node.pos > first) return;
    const inside = [...within, node];
    const own = nameOf(node, source);
    if (own && wordOf(own) === name) {
      const start = own.getStart(source);
      const isHere =
        isBetween(start, from, to) || (start >= to && inside.some((one) => begins(one) || partsOf(one).some(begins)));
      if (isHere && start < first) [found, first] = [{ name: own, within: inside }, start];
    } else if (!use && wordOf(node) === name && begins(node)) use = { name: node, within };
    ts.forEachChild(node, (child) => visit(child, inside));
  }
}
const isBetween = (at: number, from: number, to: number): boolean => at >= from && at < to;
export const partsOf = (node: ts.Node): readonly ts.Node[] =>
  (node as { modifiers?: ts.NodeArray<ts.Node> }).modifiers ?? [];

/** The name of a declaration: an identifier, a keyword, or the target of a script's assignment. */
function nameOf(node: ts.Node, source: ts.SourceFile): ts.Node | undefined {
  if (ts.isConstructorDeclaration(node)) return keyword(node, K.ConstructorKeyword, source);
  if (ts.isExportAssignment(node))
    return keyword(node, node.isExportEquals ? K.ExportKeyword : K.DefaultKeyword, source);
  if (ts.isBinaryExpression(node)) return node.operatorToken.kind === K.EqualsToken ? assigned(node.left) : undefined;
  if (ts.isPropertyAccessExpression(node) || ts.isMetaProperty(node) || ts.isJsxAttribute(node)) return undefined;
  const { name } = node as { name?: ts.Node };
  if (name) return ts.isComputedPropertyName(name) ? name.expression : name;
  return partsOf(node).find(({ kind }) => kind === K.DefaultKeyword);
}
function assigned(left: ts.Expression): ts.Node | undefined {
  if (ts.isPropertyAccessExpression(left)) return left.name;
  return ts.isElementAccessExpression(left) ? left.argumentExpression : undefined;
}
function keyword(node: ts.Node, kind: ts.SyntaxKind, source: ts.SourceFile): ts.Node | undefined {
  return node.getChildren(source).find((child) => child.kind === kind);
}
export function wordOf(name: ts.Node | undefined): string | undefined {
  if (!name) return undefined;
  if (ts.isIdentifier(name) || ts.isPrivateIdentifier(name) || ts.isStringLiteralLike(name)) return name.text;
  if (ts.isNumericLiteral(name)) return name.text;
  return KEYWORD_NAMES[name.kind];
}
const KEYWORD_NAMES: Partial<Record<ts.SyntaxKind, string>> = {
  [K.ConstructorKeyword]: "constructor",
  [K.DefaultKeyword]: "default",
  [K.ExportKeyword]: "default", // of `export =`
};

/** Whether no other file can see it. */
export function isLocal(source: ts.SourceFile, name: ts.Node, within: ts.Node[], links: Link[]): boolean {
  const owner = within.at(-1)!;
  if (!LOCAL_KINDS.has(owner.kind) || (owner as { name?: ts.Node }).name !== name) return false;
  if (ts.isParameter(owner) && partsOf(owner).length) return false; // may be a property
  if (ts.isBindingElement(owner) && !owner.propertyName && ts.isObjectBindingPattern(within.at(-2)!)) return false;
  if (within.slice(0, -1).some((node) => ts.isFunctionLike(node) || ts.isClassStaticBlockDeclaration(node)))
    return true;
  if (ts.isTypeParameterDeclaration(owner)) return ts.isTypeAliasDeclaration(within.at(-2)!);
  if (ts.isFunctionExpression(owner) || ts.isClassExpression(owner)) return true;
  if (!ts.isExternalModule(source) || within.some(ts.isModuleDeclaration)) return false;
  if (partsOf(within[1]!).some(({ kind }) => kind === K.ExportKeyword)) return false;
  const text = wordOf(name);
  return !links.some(({ how, from, module }) => how === "export" && !module && from === text);
}
const LOCAL_KINDS = new Set([
  ...[K.VariableDeclaration, K.BindingElement, K.Parameter, K.TypeParameter, K.TypeAliasDeclaration],
  ...[K.FunctionDeclaration, K.FunctionExpression, K.ClassDeclaration, K.ClassExpression, K.InterfaceDeclaration],
  K.EnumDeclaration,
]);
