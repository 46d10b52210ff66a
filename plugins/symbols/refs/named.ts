// All places of a name that the project takes from elsewhere, apart by what it means there: one walk through the files
// that have it, since one question for each of them would search all of them again and again.
import { ts } from "ts-morph";
import { codeFile } from "./candidates.ts";
import { K } from "./compiler.ts";
import type { Group, Named } from "./contract.ts";
import { isInProject } from "./disk.ts";
import { begin, grow, sliceOf } from "./programs.ts";
import { isOfModule, moduleOf, placeOf, short } from "./references.ts";
import type { State } from "./state.ts";
import { tryTo } from "./words.ts";

const MAX_MS = 10_000; // ms that the walk may take
const MAX_DEPTH = 20; // of a.b.c, and of aliases of aliases

interface Walk {
  checker: ts.TypeChecker;
  name: string;
}
/** What a name means: a key that is the same wherever it means the same, and how to call it. */
interface Meaning {
  key: unknown;
  title: string;
}

export function named(state: State, name: string, paths: string[]): Named {
  begin(state);
  const files = paths.flatMap((path) => tryTo(() => codeFile(state, path)) ?? []);
  if (!files.length) return { groups: [], left: 0 };
  const program = grow(state, sliceOf(state, files[0]!), files, true);
  const walk: Walk = { checker: program.getTypeChecker(), name };
  const groups = new Map<unknown, Group>();
  const until = Date.now() + MAX_MS;
  let done = 0;
  for (const file of files) {
    if (Date.now() > until) break;
    done++;
    const source = program.getSourceFile(file);
    if (!source || !isInProject(state, file)) continue;
    for (const { node, key, title } of usesIn(source, walk)) {
      const textSpan = { start: node.getStart(source), length: node.getWidth(source) };
      const is = { fileName: file, textSpan, isWriteAccess: false, isDefinition: isDefinition(node) };
      const place = placeOf(state, program, is);
      const group = groups.get(key) ?? { symbol: short(title), places: [] };
      groups.set(key, group);
      group.places.push(place);
    }
  }
  const [vague, clear] = [["local", "unknown"].flatMap((key) => groups.get(key) ?? []), new Set(groups.values())];
  for (const one of vague) clear.delete(one);
  return { groups: [...clear, ...vague], left: files.length - done };
}

type Use = Meaning & { node: ts.Node };

/** In the order of the text: the name itself, and what an import calls it in this file. */
function usesIn(source: ts.SourceFile, walk: Walk): Use[] {
  const { checker, name } = walk;
  const uses: Use[] = [];
  const aliases = new Map<ts.Symbol, Meaning>(); // what `import { name as other }` takes
  each(source, (node) => {
    if (!isNamed(node, name)) return;
    const meaning = tryTo(() => meaningOf(node, walk)) ?? unknown(name);
    uses.push({ node, ...meaning });
    const alias = otherName(node);
    const symbol = alias && checker.getSymbolAtLocation(alias);
    if (symbol) aliases.set(symbol, meaning);
  });
  const others = new Set([...aliases.keys()].map((symbol) => symbol.name));
  if (others.size)
    each(source, (node) => {
      if (!ts.isIdentifier(node) || node.text === name || !others.has(node.text)) return;
      const isShort = ts.isShorthandPropertyAssignment(node.parent);
      const symbol = isShort
        ? checker.getShorthandAssignmentValueSymbol(node.parent)
        : checker.getSymbolAtLocation(node);
      const meaning = symbol && aliases.get(symbol);
      if (meaning) uses.push({ node, ...meaning });
    });
  return uses.sort((a, b) => a.node.pos - b.node.pos);
}

/** With the names in comments that TypeScript reads. */
function each(node: ts.Node, act: (node: ts.Node) => void): void {
  act(node);
  for (const doc of (node as { jsDoc?: ts.Node[] }).jsDoc ?? []) each(doc, act);
  ts.forEachChild(node, (child) => each(child, act));
}

function isNamed(node: ts.Node, name: string): boolean {
  if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) return node.text === name;
  return ts.isStringLiteralLike(node) && node.text === name && ts.isElementAccessExpression(node.parent);
}

/** `other` in `import { name as other }` and in `const { name: other } = await import("x")`. */
function otherName({ parent }: ts.Node): ts.Node | undefined {
  if (ts.isImportSpecifier(parent)) return parent.propertyName ? parent.name : undefined;
  return ts.isBindingElement(parent) && parent.propertyName && isOfModule(parent) ? parent.name : undefined;
}

function meaningOf(node: ts.Node, walk: Walk): Meaning {
  const { checker } = walk;
  const { parent } = node;
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) {
    const own = parent.propertyName ?? parent.name;
    if (own !== node) return meaningOfSymbol(checker.getSymbolAtLocation(node), node, walk, 0);
    const from = ts.isImportSpecifier(parent) ? parent.parent.parent.parent : parent.parent.parent;
    const target = tryTo(() => checker.getAliasedSymbol(checker.getSymbolAtLocation(parent.name)!));
    if (isKnown(target)) return known(target, walk);
    if ("moduleSpecifier" in from && from.moduleSpecifier && ts.isStringLiteral(from.moduleSpecifier))
      return memberOf(from.moduleSpecifier.text, walk.name);
  }
  if (ts.isExportSpecifier(parent))
    return meaningOfSymbol(checker.getExportSpecifierLocalTargetSymbol(parent), node, walk, 0);
  if (ts.isBindingElement(parent) && (parent.propertyName ?? parent.name) === node) return boundTo(parent, walk);
  if (ts.isShorthandPropertyAssignment(parent))
    return meaningOfSymbol(checker.getShorthandAssignmentValueSymbol(parent), node, walk, 0);
  if (ts.isPropertyAssignment(parent) && parent.name === node) {
    const asked = checker.getContextualType(parent.parent)?.getProperty(walk.name);
    if (asked) return known(asked, walk);
  }
  return meaningOfSymbol(checker.getSymbolAtLocation(node), node, walk, 0);
}

function meaningOfSymbol(symbol: ts.Symbol | undefined, node: ts.Node, walk: Walk, depth: number): Meaning {
  if (depth > MAX_DEPTH) return unknown(walk.name);
  if (!symbol) {
    const owner = ownerOf(node);
    const spec = owner && unresolved(owner, walk, depth);
    return spec === undefined ? unknown(walk.name) : memberOf(spec, walk.name);
  }
  if (symbol.flags & ts.SymbolFlags.Alias) {
    const target = walk.checker.getAliasedSymbol(symbol);
    if (isKnown(target)) return known(target, walk);
    return importedBy(symbol.declarations?.[0]) ?? unknown(walk.name);
  }
  const declared = symbol.valueDeclaration;
  if (declared && ts.isBindingElement(declared) && !declared.propertyName && ts.isObjectBindingPattern(declared.parent))
    return boundTo(declared, walk);
  if (declared && ts.isVariableDeclaration(declared) && moduleOf(declared.initializer) !== undefined)
    return whole(moduleOf(declared.initializer)!);
  return known(symbol, walk);
}

const isKnown = (symbol: ts.Symbol | undefined): symbol is ts.Symbol => !!symbol?.declarations?.length;

/** What stands before the dot. */
function ownerOf({ parent }: ts.Node): ts.Node | undefined {
  if (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) return parent.expression;
  return ts.isQualifiedName(parent) ? parent.left : undefined;
}

/** The module that an expression is, if that cannot be found. */
function unresolved(node: ts.Node, walk: Walk, depth: number): string | undefined {
  if (ts.isParenthesizedExpression(node) || ts.isAwaitExpression(node)) return unresolved(node.expression, walk, depth);
  const called = moduleOf(node as ts.Expression);
  if (called !== undefined) return called;
  if (!ts.isIdentifier(node)) return undefined;
  const { key } = meaningOfSymbol(walk.checker.getSymbolAtLocation(node), node, walk, depth + 1);
  return typeof key === "string" && key.startsWith(WHOLE) ? key.slice(WHOLE.length) : undefined;
}

/** `const { name } = x`: the property of x, and inside of the file what is called like it. */
function boundTo(element: ts.BindingElement, walk: Walk): Meaning {
  const own = element.propertyName ?? element.name;
  const name = ts.isIdentifier(own) || ts.isStringLiteral(own) ? own.text : walk.name;
  const property = walk.checker.getTypeAtLocation(element.parent).getProperty(name);
  if (isKnown(property)) return known(property, walk);
  const { parent } = element.parent;
  const spec = ts.isVariableDeclaration(parent) ? moduleOf(parent.initializer) : undefined;
  return spec === undefined ? LOCAL(walk.name) : memberOf(spec, name);
}

function importedBy(node: ts.Node | undefined): Meaning | undefined {
  const bound = node && ts.isBindingElement(node) ? node.parent.parent : node;
  const called = bound && ts.isVariableDeclaration(bound) ? moduleOf(bound.initializer) : undefined;
  if (called !== undefined && bound === node) return whole(called);
  if (called !== undefined) {
    const { propertyName, name } = node as ts.BindingElement;
    return memberOf(called, ((propertyName ?? name) as ts.Identifier).text);
  }
  for (let at = node; at; at = at.parent) {
    if (ts.isImportEqualsDeclaration(at))
      return ts.isExternalModuleReference(at.moduleReference) && ts.isStringLiteral(at.moduleReference.expression)
        ? whole(at.moduleReference.expression.text)
        : undefined;
    if (!ts.isImportDeclaration(at)) continue;
    const spec = (at.moduleSpecifier as ts.StringLiteral).text;
    if (!ts.isImportSpecifier(node!)) return whole(spec);
    return memberOf(spec, (node.propertyName ?? node.name).text);
  }
  return undefined;
}

/** By its first declaration: each instance of a generic type has symbols of its own. */
function known(symbol: ts.Symbol, { checker, name }: Walk): Meaning {
  const [declaration] = symbol.declarations ?? [];
  if (!declaration) return unknown(name);
  if (isLocal(declaration)) return LOCAL(name);
  return { key: declaration, title: checker.getFullyQualifiedName(symbol).replace(/"[^"]*\/([^"/]+)"/g, '"$1"') };
}

/** Inside of a function or an object: hardly another file can see it, and there may be one in each. */
function isLocal(declaration: ts.Node): boolean {
  if (ts.isParameter(declaration) || ts.isTypeParameterDeclaration(declaration)) return true;
  if (declaration.parent && ts.isObjectLiteralExpression(declaration.parent)) return true;
  for (let at = declaration.parent; at; at = at.parent) {
    if (ts.isFunctionLike(at) || ts.isBlock(at)) return true;
    if (ts.isClassLike(at) || ts.isInterfaceDeclaration(at) || ts.isObjectLiteralExpression(at)) return false;
  }
  return false;
}

const WHOLE = "module ";
const whole = (spec: string): Meaning => ({ key: WHOLE + bare(spec), title: `"${spec}"` });
const memberOf = (spec: string, name: string): Meaning => ({
  key: name === "default" ? WHOLE + bare(spec) : `${bare(spec)}\n${name}`,
  title: name === "default" ? `"${spec}"` : `"${spec}".${name}`,
});
const bare = (spec: string): string => spec.replace(/^node:/, "");
const LOCAL = (name: string): Meaning => ({ key: "local", title: `${name}, local in each place` });
const unknown = (name: string): Meaning => ({ key: "unknown", title: `${name}, of a type that is not known` });

/** What declares the name here, other than an import. */
function isDefinition(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return false;
  if (ts.isPropertyAssignment(parent) || ts.isShorthandPropertyAssignment(parent)) return false;
  if (parent.kind === K.ImportEqualsDeclaration || ts.isExportSpecifier(parent)) return false;
  if (ts.isBindingElement(parent) && isOfModule(parent)) return false;
  return (parent as { name?: ts.Node }).name === node && DECLARING.has(parent.kind);
}
const DECLARING = new Set([
  ...[K.VariableDeclaration, K.BindingElement, K.Parameter, K.TypeParameter, K.TypeAliasDeclaration],
  ...[K.FunctionDeclaration, K.FunctionExpression, K.ClassDeclaration, K.ClassExpression, K.InterfaceDeclaration],
  ...[K.EnumDeclaration, K.EnumMember, K.PropertyDeclaration, K.PropertySignature, K.MethodDeclaration],
  ...[K.MethodSignature, K.GetAccessor, K.SetAccessor, K.ModuleDeclaration],
]);
