// Code can use a member of a type only if the types in that code lead to the member's declaration. The names that a type
// mentions say where it leads: they are followed from declaration to declaration, through imports and exports. Statements
// that have the member's name but never lead to its declaration are left out, with everything that only they need.
import { ts } from "ts-morph";
import { K } from "./compiler.ts";
import { configFor } from "./configs.ts";
import { absolute, isInProject, isScript, relative, textOf } from "./disk.ts";
import { isInJsDoc, treeOf } from "./documents.ts";
import { type Found, wordOf } from "./locate.ts";
import { importersByFile, targetsOf } from "./modules.ts";
import { hasWord, holdersIn, mentionedInDocs, namesOf, needsOf, pathOf, type Sheet, sheetOf } from "./sheets.ts";
import type { Slice, State } from "./state.ts";

export interface Members {
  files: string[];
  documented: string[]; // those with the name in JSDoc
  words: Set<string>;
  isBrowser: boolean; // what browsers declare is needed
}
/** A declaration, or a name that a module exports, and what its type takes. */
interface Unit {
  file: string;
  takes: Unit[];
  holds: boolean; // the member's name, as that of a member
  statement?: ts.Statement; // undefined: of an export
  loose?: Set<string>; // names that nothing in the project declares
}
interface Walk {
  state: State;
  slice: Slice;
  word: string;
  units: Map<string, Unit>;
  within?: Set<string> | undefined; // nothing beyond these files is followed
  ids: Map<ts.Node, number>;
  pending: (() => void)[];
  holders: Set<string>; // files that hold the word
  documented: Set<string>; // those with it in JSDoc
  trees: Map<string, ts.SourceFile | undefined>;
  known: Map<string, string[]>; // where an import leads
  globals: Globals;
}
type Declared = { file: string; statement: ts.Statement };
/** What files declare for others that do not import it. */
interface Globals {
  named: Map<string, Declared[]>;
  ambient: Map<string, Declared[]>; // modules by name
  augmented: Map<string, Declared[]>; // modules by file
  always: Declared[]; // what adds to TypeScript's own types, which nobody has to name
}
/** Only the whole project tells. */
class TypesDecide extends Error {}
const WORD = /^#?[\p{L}_$][\p{L}\p{N}_$]{0,47}$/u; // in the index

export function membersOf(state: State, slice: Slice, file: string, found: Found): Members | undefined {
  const word = wordOf(found.name);
  if (!isMember(found) || !word || !WORD.test(word) || isScript(file)) return undefined;
  const globals: Globals = { named: new Map(), ambient: new Map(), augmented: new Map(), always: [] };
  const walk: Walk = {
    state,
    slice,
    word,
    globals,
    ids: new Map(),
    units: new Map(),
    pending: [],
    known: new Map(),
    trees: new Map(),
    documented: new Set([file]),
    holders: new Set(holdersOf(state, word)),
  };
  try {
    readGlobals(walk);
    return follow(walk, file, found);
  } catch (error) {
    if (error instanceof TypesDecide) return undefined;
    throw error;
  }
}

function isMember({ name, within }: Found): boolean {
  const owner = within.at(-1)!;
  return (
    MEMBER_KINDS.has(owner.kind) &&
    (owner as { name?: ts.Node }).name === name &&
    (owner.kind !== K.Parameter || (owner as ts.ParameterDeclaration).modifiers !== undefined)
  );
}
const MEMBER_KINDS = new Set([
  ...[K.PropertySignature, K.MethodSignature, K.PropertyDeclaration, K.MethodDeclaration, K.GetAccessor, K.SetAccessor],
  ...[K.PropertyAssignment, K.EnumMember, K.Parameter],
]);

function follow(walk: Walk, file: string, found: Found): Members {
  const { state, word, globals } = walk;
  const statement = found.within[1] as ts.Statement;
  const own = statementUnit(walk, file, statement, true);
  const typed = statementUnit(walk, file, statement, false);
  settle(walk);
  const bases = basesOf(walk, file, found);
  const related = bases ?? { units: [...closure([own, typed])].filter((unit) => unit.holds), isOfLibrary: true };
  const seeds = new Set([own, typed, ...related.units]);
  const always = globals.always.map((one) => statementUnit(walk, one.file, one.statement, false));
  settle(walk);
  const isOfLibrary = related.isOfLibrary && [...state.libs.values()].some((text) => hasWord(text, word));
  const isAnywhere = isOfLibrary || [...closure(always)].some((unit) => seeds.has(unit));
  const all = isPrivate(found) ? [file] : [...walk.holders];
  const taking = isAnywhere || all.length * FILES_A_HOLDER < state.names.size ? undefined : filesTaking(walk, seeds);
  const users = all.flatMap((one) => (!taking || taking.has(one) ? usersIn(walk, one) : []));
  const leading = isAnywhere ? users : leadingUsers({ ...walk, within: taking, units: new Map() }, users, seeds);
  const chosen = leading.map((one) => statementUnit(walk, one.file, one.statement, true));
  settle(walk);
  const used = closure([own, ...always, ...chosen]);
  const files = [...new Set(Array.from(used, (unit) => unit.file))];
  const documented = files.filter((one) => walk.documented.has(one));
  const loose = new Set([...used].flatMap((unit) => [...(unit.loose ?? [])]));
  return { files, documented, words: new Set(), isBrowser: isBrowserNeeded(walk, loose) };
}

const FILES_A_HOLDER = 100; // files whose imports are looked up in the time that it takes to follow one that holds the name

/** Those that import a file with one of the declarations, directly or through others, or know it without. */
function filesTaking({ state, slice, globals, known }: Walk, seeds: Set<Unit>): Set<string> {
  const takers = importersByFile(state, slice, known);
  const found = new Set(Array.from(seeds, ({ file }) => file));
  const all = (by: Map<string, Declared[]>) =>
    [...by].flatMap(([name, list]) => list.map(({ file }) => ({ name, file })));
  const [named, ambient, augmented] = [all(globals.named), all(globals.ambient), all(globals.augmented)];
  for (const one of found) {
    for (const taker of takers.get(one) ?? []) found.add(taker);
    for (const { name, file } of augmented) if (file === one) found.add(name);
    for (const { name, file } of ambient)
      if (file === one) for (const taker of holdersOf(state, name)) found.add(taker);
    for (const { name, file } of named) if (file === one) for (const taker of holdersOf(state, name)) found.add(taker);
  }
  return found;
}
const holdersOf = (state: State, name: string): string[] =>
  WORD.test(name) ? state.index.usersOf(new Set([name])).map((path) => absolute(state, path)) : [...state.names];
interface Bases {
  units: Unit[];
  isOfLibrary: boolean; // some are TypeScript's own, or of a package
}
/** What else may declare the same member: what its class or interface is made from. Undefined: only types tell. */
function basesOf(walk: Walk, file: string, { within }: Found): Bases | undefined {
  const holder = within.at(-2)!;
  if (ts.isObjectLiteralExpression(holder)) return undefined;
  const isHeir = ts.isClassLike(holder) || ts.isInterfaceDeclaration(holder);
  const bases: Bases = { units: [], isOfLibrary: false };
  if (!isHeir) return within.some((node) => "heritageClauses" in node && node.heritageClauses) ? undefined : bases;
  const statement = within[1] as ts.Statement;
  if (statement !== holder && (ts.isClassLike(holder) || within.some(ts.isModuleDeclaration))) return undefined;
  return addBases(walk, bases, file, holder, new Set()) ? bases : undefined;
}

type Heir = ts.ClassLikeDeclaration | ts.InterfaceDeclaration;
function addBases(walk: Walk, bases: Bases, file: string, heir: Heir, seen: Set<ts.Node>): boolean {
  const sheet = sheetOf(treeIn(walk, file)!);
  const name = wordOf(heir.name) ?? "";
  const merged = [
    ...(sheet.declared.get(name) ?? []),
    ...(walk.globals.named.get(name) ?? []).map((one) => one.statement),
  ];
  const isOfClass = [heir, ...merged].some(ts.isClassLike);
  const mayMerge = (node: ts.Statement) => isHeirOrValue(node) || (!isOfClass && ts.isModuleDeclaration(node));
  if (!merged.every(mayMerge) || walk.globals.augmented.has(file)) return false;
  for (const one of new Set([heir, ...merged.filter(isHeir)])) {
    if (seen.has(one)) continue;
    seen.add(one);
    const clauses = ((one as Heir).heritageClauses ?? []).flatMap((clause) =>
      clause.types.map((type) => ({ clause, type })),
    );
    for (const { clause, type } of clauses) {
      const { expression } = type;
      const isOfTypes = ts.isInterfaceDeclaration(one) || clause.token === K.ImplementsKeyword;
      const path = pathOf(expression);
      if (!path) return false;
      const [first, , ...deeper] = path.split(".");
      const isPlain = first === path || (!deeper.length && sheet.imports.get(first!)?.name === "*");
      const unit: Unit = { file, takes: [], holds: false };
      takeName(walk, unit, sheet, path.split("."));
      settle(walk);
      if (!addDeclared(walk, bases, unit, seen, isOfTypes, isPlain)) return false;
    }
  }
  return true;
}
const isHeir = (node: ts.Node): node is Heir => ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node);
const isHeirOrValue = (node: ts.Node): boolean =>
  isHeir(node) || ts.isVariableStatement(node) || ts.isFunctionDeclaration(node);

/**
 * The classes and interfaces that a name stands for; `isOfTypes`: what else has the name does not count. `isPlain`: nor does
 * a namespace beside an interface, since the name does not lead into it.
 */
function addDeclared(
  ...[walk, bases, named, seen, isOfTypes, isPlain]: [Walk, Bases, Unit, Set<ts.Node>, boolean, boolean]
): boolean {
  if (named.loose || !named.takes.length) bases.isOfLibrary = true;
  const isBeside = named.takes.some(({ statement }) => statement && ts.isInterfaceDeclaration(statement));
  for (const unit of named.takes) {
    if (unit.statement) {
      bases.units.push(unit);
      if (isPlain && isOfTypes && isBeside && ts.isModuleDeclaration(unit.statement)) continue;
      if (isOfTypes && (ts.isVariableStatement(unit.statement) || ts.isFunctionDeclaration(unit.statement))) continue;
      if (!isHeir(unit.statement) || !addBases(walk, bases, unit.file, unit.statement, seen)) return false;
    } else if (!addDeclared(walk, bases, unit, seen, isOfTypes, isPlain)) return false;
  }
  return true;
}

/** Whether TypeScript itself declares it. */
function isOfLibrary({ libs }: State, name: string): boolean {
  const pattern = new RegExp(
    `^(?:declare )?(?:var|interface|type|class|namespace|function) ${name.replaceAll("$", "\\$")}\\b`,
    "m",
  );
  return [...libs.values()].some((text) => text.includes(name) && pattern.test(text));
}
const BROWSER = /\/lib\.(?:dom|webworker|scripthost)\b/;
/** Whether a name that no file declares is one of the browser's. */
function isBrowserNeeded({ state }: Walk, loose: Set<string>): boolean {
  for (const [name, text] of state.libs)
    if (BROWSER.test(name))
      for (const [, declared] of text.matchAll(
        /^(?:declare |export )?(?:declare )?(?:var|let|const|function|interface|type|class|namespace) ([\w$]+)/gm,
      ))
        if (loose.has(declared!)) return true;
  return false;
}

const isPrivate = ({ name, within }: Found): boolean =>
  ts.isPrivateIdentifier(name) ||
  ((within.at(-1) as { modifiers?: ts.NodeArray<ts.Node> }).modifiers ?? []).some(
    ({ kind }) => kind === K.PrivateKeyword,
  );

/** What is visible without an import. */
function readGlobals(walk: Walk): void {
  const { state, globals } = walk;
  const add = (to: Map<string, Declared[]>, key: string, one: Declared) =>
    void to.set(key, [...(to.get(key) ?? []), one]);
  const addNamed = (name: string, one: Declared) => {
    if (isOfLibrary(state, name)) globals.always.push(one);
    add(globals.named, name, one);
  };
  for (const path of state.index.globals()) {
    const file = absolute(state, path);
    const source = treeIn(walk, file);
    if (!source) continue;
    if (isScript(file)) throw new TypesDecide();
    const isModule = ts.isExternalModule(source);
    if (!isModule)
      for (const [name, all] of sheetOf(source).declared)
        for (const statement of all) add(globals.named, name, { file, statement });
    for (const statement of source.statements) {
      if (ts.isNamespaceExportDeclaration(statement)) throw new TypesDecide();
      if (!ts.isModuleDeclaration(statement)) continue;
      const { name, body } = statement;
      if (ts.isStringLiteral(name)) {
        if (
          body &&
          ts.isModuleBlock(body) &&
          body.statements.some((one) => ts.isModuleDeclaration(one) && one.flags & ts.NodeFlags.GlobalAugmentation)
        )
          throw new TypesDecide();
        add(globals.ambient, name.text, { file, statement });
        for (const target of targets(walk, file, name.text)) add(globals.augmented, target, { file, statement });
      } else if (statement.flags & ts.NodeFlags.GlobalAugmentation && body && ts.isModuleBlock(body))
        for (const one of body.statements) for (const name of namesOf(one)) addNamed(name, { file, statement });
    }
  }
}

function closure(from: Iterable<Unit>): Set<Unit> {
  const found = new Set(from);
  for (const unit of found) for (const taken of unit.takes) found.add(taken);
  return found;
}
/** One tree throughout, with comments if the word is in one. */
function treeIn({ state, slice, word, trees, holders, documented }: Walk, file: string): ts.SourceFile | undefined {
  if (trees.has(file)) return trees.get(file);
  if (holders.has(file) && isInJsDoc(textOf(state, file), [word])) documented.add(file);
  const source = treeOf(state, slice, file, documented.has(file));
  trees.set(file, source);
  return source;
}

/** The statements of a file in which the word may be that of the member. */
function usersIn(walk: Walk, file: string): Declared[] {
  const { word } = walk;
  const source = treeIn(walk, file);
  if (source && isScript(file)) throw new TypesDecide();
  return source ? Array.from(holdersIn(source, word), (statement) => ({ file, statement })) : [];
}

/** Those whose types lead to one of the declarations. Only files that can lead there are looked into. */
function leadingUsers(walk: Walk, users: Declared[], seeds: Set<Unit>): Declared[] {
  const units = users.map((one) => statementUnit(walk, one.file, one.statement, true));
  settle(walk);
  const takers = new Map<Unit, Unit[]>();
  for (const unit of closure(units))
    for (const taken of unit.takes) takers.set(taken, [...(takers.get(taken) ?? []), unit]);
  const declared = new Set(Array.from(seeds, ({ statement }) => statement));
  const found = new Set([...closure(units)].filter(({ statement }) => statement && declared.has(statement)));
  for (const unit of found) for (const taker of takers.get(unit) ?? []) found.add(taker);
  return users.filter((_, i) => found.has(units[i]!));
}

/** A declaration; `isWhole`: with all that it does, not only what its type tells. */
function statementUnit(walk: Walk, file: string, statement: ts.Statement, isWhole: boolean): Unit {
  let id = walk.ids.get(statement);
  if (id === undefined) walk.ids.set(statement, (id = walk.ids.size));
  const unit = unitOf(walk, `${id} ${isWhole}`, file, (unit) => {
    const source = treeIn(walk, file)!;
    unit.holds = holdersIn(source, walk.word).has(statement);
    const { names, modules, hasJsx } = needsOf(statement, isWhole);
    const sheet = sheetOf(source);
    for (const path of names) takeName(walk, unit, sheet, path.split("."));
    for (const module of modules) takeModule(walk, unit, file, module, "*", []);
    if (hasJsx) takeJsx(walk, unit, sheet);
    if (isWhole)
      for (const path of mentionedInDocs(source.text.slice(statement.pos, statement.end), walk.word))
        takeName(walk, unit, sheet, path.split("."));
  });
  unit.statement = statement;
  return unit;
}

/** What JSX takes without naming it. */
function takeJsx(walk: Walk, unit: Unit, sheet: Sheet): void {
  const { options } = configFor(walk.state, walk.slice, unit.file);
  const source = treeIn(walk, unit.file)!;
  const pragma =
    /@jsxImportSource\s+(\S+)/.exec(source.text.slice(0, 2_000))?.[1] ?? options.jsxImportSource ?? "react";
  const factory =
    /@jsx\s+([\w$]+)/.exec(source.text.slice(0, 2_000))?.[1] ??
    options.jsxFactory?.split(".")[0] ??
    options.reactNamespace ??
    "React";
  takeName(walk, unit, sheet, [factory]);
  takeName(walk, unit, sheet, ["JSX"]);
  for (const part of ["jsx-runtime", "jsx-dev-runtime"])
    takeModule(walk, unit, unit.file, `${pragma}/${part}`, "*", []);
}
function unitOf({ units, pending }: Walk, key: string, file: string, fill: (unit: Unit) => void): Unit {
  let unit = units.get(key);
  if (unit) return unit;
  units.set(key, (unit = { file, takes: [], holds: false }));
  pending.push(() => fill(unit));
  return unit;
}
function settle({ pending }: Walk): void {
  for (let next = pending.pop(); next; next = pending.pop()) next();
}

function takeName(walk: Walk, unit: Unit, sheet: Sheet, [name, ...rest]: string[]): void {
  const own = sheet.declared.get(name!) ?? [];
  for (const statement of own) unit.takes.push(statementUnit(walk, unit.file, statement, false));
  const imported = sheet.imports.get(name!);
  if (imported?.name === "*") takeModule(walk, unit, unit.file, imported.from, rest[0] ?? "*", rest.slice(1));
  else if (imported) takeModule(walk, unit, unit.file, imported.from, imported.name, rest);
  for (const { file, statement } of walk.globals.named.get(name!) ?? [])
    if (walk.within?.has(file) !== false) unit.takes.push(statementUnit(walk, file, statement, false));
  if (!own.length && !imported) (unit.loose ??= new Set()).add(name!);
}

function takeModule(walk: Walk, unit: Unit, file: string, from: string, name: string, rest: string[]): void {
  const { ambient } = walk.globals;
  for (const [pattern, all] of ambient)
    if (pattern.includes("*") ? matches(from, pattern) : pattern === from)
      for (const one of all)
        if (walk.within?.has(one.file) !== false) unit.takes.push(statementUnit(walk, one.file, one.statement, false));
  for (const target of targets(walk, file, from)) takeExport(walk, unit, target, name, rest);
}
function matches(text: string, pattern: string): boolean {
  const [before, after] = pattern.split("*") as [string, string];
  return text.startsWith(before) && text.endsWith(after);
}

function takeExport(walk: Walk, taker: Unit, file: string, name: string, rest: string[]): void {
  const { state } = walk;
  if (walk.within?.has(file) === false) return;
  for (const one of walk.globals.augmented.get(file) ?? [])
    taker.takes.push(statementUnit(walk, one.file, one.statement, false));
  if (!isInProject(state, file) || !state.names.has(file))
    return void taker.takes.push(unitOf(walk, file, file, () => {}));
  if (isScript(file)) throw new TypesDecide();
  taker.takes.push(
    unitOf(walk, [file, name, ...rest].join("\n"), file, (unit) => {
      const source = treeIn(walk, file);
      if (!source) return;
      const sheet = sheetOf(source);
      if (sheet.isWhole) throw new TypesDecide();
      const given = sheet.exports.get(name);
      if (name === "*") {
        for (const one of sheet.exports.keys()) takeExport(walk, unit, file, one, []);
        for (const from of sheet.stars) takeModule(walk, unit, file, from, "*", []);
      } else if (given?.from === undefined) {
        if (given) takeName(walk, unit, sheet, [given.name, ...rest]);
        if (given && name === "default")
          for (const one of sheet.declared.get("default") ?? []) unit.takes.push(statementUnit(walk, file, one, false));
        if (!given)
          for (const from of sheet.stars)
            for (const target of targets(walk, file, from))
              if (gives(walk, target, name)) takeExport(walk, unit, target, name, rest);
      } else if (given.name !== "*") takeModule(walk, unit, file, given.from, given.name, rest);
      else takeModule(walk, unit, file, given.from, rest[0] ?? "*", rest.slice(1));
    }),
  );
}

function gives(walk: Walk, file: string, name: string, seen = new Set<string>()): boolean {
  const { state } = walk;
  if (seen.has(file)) return false;
  seen.add(file);
  if (!state.names.has(file)) return true;
  const { exportsOf, of } = state.index.passing!;
  if (exportsOf(relative(state, file)).some((one) => one.name === name)) return true;
  return of(relative(state, file)).some(
    ({ how, names, from }) =>
      how === "export" && names.includes("*") && targets(walk, file, from).some((one) => gives(walk, one, name, seen)),
  );
}

function targets({ state, slice, known }: Walk, file: string, from: string): string[] {
  const key = `${file}\n${from}`;
  let found = known.get(key);
  if (!found) known.set(key, (found = targetsOf(state, slice, from, file, false)));
  return found;
}
