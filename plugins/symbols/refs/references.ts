// All places that refer to one symbol.
import { ts } from "ts-morph";
import { load, type Target } from "./candidates.ts";
import { internals } from "./compiler.ts";
import type { At, Group, Place } from "./contract.ts";
import { absolute, isInProject, isScript, relative } from "./disk.ts";
import { exportedAs, linksOf } from "./links.ts";
import type { State } from "./state.ts";

const MAX_LINE_CHARS = 120; // characters

export function references(state: State, at: At): Group[] {
  const target = load(state, at, false);
  const { service, program } = target.slice;
  const found = service.findReferences(target.file, target.position) ?? [];
  const groups = found.map(({ definition, references }) => {
    const places = references
      .filter((one) => isInProject(state, one.fileName))
      .map((one) => placeOf(state, program!, one));
    return { symbol: short(definition.name), places };
  });
  for (const own of groups.slice()) {
    const known = new Set(own.places.map(keyOf));
    const places = usesOfExports(state, target, own.places).filter((place) => !known.has(keyOf(place)));
    if (places.length) groups.push({ symbol: own.symbol, places });
  }
  for (const own of groups.slice()) {
    const places = usesOfBindings(state, target, own.places);
    if (places.length) groups.push({ symbol: own.symbol, places });
  }
  const known = new Set(groups.flatMap(({ places }) => places.map(keyOf)));
  const more = usesInScripts(state, target).filter((place) => !known.has(keyOf(place)));
  if (more.length) groups.push({ symbol: groups[0]?.symbol ?? at.name, places: more });
  return groups.filter(({ places }) => places.length);
}

const keyOf = ({ path, start }: Place): string => `${path}:${start}`;

/** What `module.exports = { name, other: name }` passes on is, elsewhere, a property of that object. */
function usesOfExports(state: State, { slice }: Target, places: Place[]): Place[] {
  const { service } = slice;
  const program = slice.program!;
  return places.flatMap(({ path, start }) => {
    const file = absolute(state, path);
    const node = internals.getTouchingPropertyName(program.getSourceFile(file)!, start);
    const { parent } = node;
    const isPassed =
      ts.isShorthandPropertyAssignment(parent) || (ts.isPropertyAssignment(parent) && parent.initializer === node);
    if (!isScript(file) || !isPassed || !isExported(parent.parent)) return [];
    const uses = service.findReferences(file, parent.name.getStart())?.flatMap(({ references }) => references) ?? [];
    return uses.filter(({ fileName }) => isInProject(state, fileName)).map((one) => placeOf(state, program, one));
  });
}

/** Whether an object is all that a script exports. */
function isExported({ parent }: ts.Node): boolean {
  for (; ts.isBinaryExpression(parent); parent = parent.parent) if (exportedAs(parent.left) === "default") return true;
  return false;
}

/** What `const { name } = require("x")` takes is used under a variable's name from there on. */
function usesOfBindings(state: State, { slice }: Target, places: Place[]): Place[] {
  const { service } = slice;
  const program = slice.program!;
  return places.flatMap(({ path, start }) => {
    const file = absolute(state, path);
    const { parent } = internals.getTouchingPropertyName(program.getSourceFile(file)!, start);
    if (!ts.isBindingElement(parent) || !ts.isIdentifier(parent.name) || !isOfModule(parent)) return [];
    const uses = service.findReferences(file, parent.name.getStart())?.flatMap(({ references }) => references) ?? [];
    return uses.filter(({ fileName }) => fileName === file).map((one) => placeOf(state, program, one));
  });
}

/** Whether it takes apart what import() or require() gives. */
export function isOfModule({ parent: { parent } }: ts.BindingElement): boolean {
  return ts.isVariableDeclaration(parent) && !!moduleCall(parent.initializer);
}
/** What import() or require() names. */
export function moduleOf(expression: ts.Expression | undefined): string | undefined {
  const [from] = moduleCall(expression)?.arguments ?? [];
  return from && ts.isStringLiteralLike(from) ? from.text : undefined;
}
function moduleCall(value: ts.Expression | undefined): ts.CallExpression | undefined {
  while (value && (ts.isAwaitExpression(value) || ts.isParenthesizedExpression(value))) value = value.expression;
  if (!value || !ts.isCallExpression(value)) return undefined;
  const { expression } = value;
  const isRequire = ts.isIdentifier(expression) && expression.text === "require";
  return isRequire || expression.kind === ts.SyntaxKind.ImportKeyword ? value : undefined;
}

/** Uses in scripts through require(), and of what a script exports: TypeScript does not search for them, but knows what a name refers to. */
export function usesInScripts(state: State, { slice, file, position, files, words }: Target): Place[] {
  const program = slice.program!;
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file)!;
  if (!words.size) return [];
  const target = resolvedSymbol(internals.getTouchingPropertyName(source, position));
  const places: Place[] = [];
  for (const one of target ? files.filter((one) => isScript(one) || isScript(file)) : []) {
    const aliases = linksOf(state, slice, one).filter(({ from }) => words.has(from));
    const aliasNames = new Set([...words, ...aliases.map(({ to }) => to)]);
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node) && aliasNames.has(node.text) && resolvedSymbol(node) === target) {
        const textSpan = { start: node.getStart(), length: node.getWidth() };
        places.push(placeOf(state, program, { fileName: one, textSpan, isWriteAccess: false }));
      }
      ts.forEachChild(node, visit);
    };
    visit(program.getSourceFile(one)!);
  }
  return places;

  function resolvedSymbol(node: ts.Node): ts.Symbol | undefined {
    const symbol = checker.getSymbolAtLocation(node);
    return symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  }
}

export function placeOf(
  state: State,
  program: ts.Program,
  { fileName, textSpan, ...reference }: ts.ReferenceEntry,
): Place {
  const source = program.getSourceFile(fileName)!;
  const { line, character } = source.getLineAndCharacterOfPosition(textSpan.start);
  const starts = source.getLineStarts();
  return {
    ...{ path: relative(state, fileName), line: line + 1, column: character + 1 },
    ...{ start: textSpan.start, end: textSpan.start + textSpan.length },
    text: source.text
      .slice(starts[line], starts[line + 1])
      .replace(/[\r\u2028\u2029]/g, " ")
      .trim()
      .slice(0, MAX_LINE_CHARS),
    kind: kindOfPlace(internals.getTouchingPropertyName(source, textSpan.start), reference),
  };
}
export const short = (text: string): string => text.replace(/\s+/g, " ").slice(0, MAX_LINE_CHARS);

function kindOfPlace(node: ts.Node, is: { isDefinition?: boolean; isWriteAccess?: boolean }): Place["kind"] {
  const { parent } = node;
  if (internals.isInJSDoc(node)) return "comment";
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return "import";
  if (ts.isImportEqualsDeclaration(parent) || (ts.isBindingElement(parent) && isOfModule(parent))) return "import";
  if (ts.isExportSpecifier(parent) || ts.isExportAssignment(parent)) return "export";
  if (is.isDefinition) return "definition";
  if (internals.isPartOfTypeNode(node)) return "type";
  return is.isWriteAccess ? "write" : "read";
}
