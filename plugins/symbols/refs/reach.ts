// A name at the top level of a module reaches other files by imports and exports alone, unless the module is used as a value.
// The few files that it reaches hold all its uses, and answer without the types of the others. They are found in the index.
import { ts } from "ts-morph";
import { internals, K } from "./compiler.ts";
import { absolute, isScript, relative, textOf } from "./disk.ts";
import { isInJsDoc, treeOf } from "./documents.ts";
import { linksOf } from "./links.ts";
import { type Found, isLocal, partsOf, wordOf } from "./locate.ts";
import { importersByFile, nextTo, targetsOf } from "./modules.ts";
import type { Passing, Slice, State } from "./state.ts";

export interface Reached {
  files: string[];
  documented: string[]; // those with the name in JSDoc
  words: Set<string>; // the name, and those under which modules export it
  doubts: Doubt[];
}
type Names = Map<string, Set<string>>; // of modules
interface Reach {
  state: State;
  slice: Slice;
  passing: NonNullable<State["index"]["passing"]>;
  words: Set<string>;
  exposing: Names; // modules, and the names under which they export it
  carried: Names; // modules, and what they export that is itself one of these modules, as in `export * as ns`
  holders: Set<string>; // files that hold one of the words, as they were last searched
  users: Set<string>; // those that import it
  locals: Names; // files, and what it is called there
  globals: Set<string>; // files whose declarations need no import
  known: Map<string, string[]>; // where an import leads
  doubts: Map<string, Doubt>;
}
/** A module that may be used as a value, under this name; `members`: what else of it may not be. */
interface Doubt {
  file: string;
  name: string;
  members: Set<string>;
}
/** Only types tell what refers to the name. */
class TypesDecide extends Error {}

export function reachOf(state: State, slice: Slice, file: string, found: Found): Reached | undefined {
  const { passing } = state.index;
  const source = treeOf(state, slice, file)!;
  if (!passing || (isScript(file) && COMMONJS.test(source.text))) return undefined;
  if (isLocal(source, found.name, found.within, linksOf(state, slice, file)))
    return { files: [file], documented: [file], words: new Set(), doubts: [] };
  if (!isTopLevel(found) || !ts.isExternalModule(source)) return undefined;
  const word = wordOf(found.name)!;
  const own = passing
    .exportsOf(relative(state, file))
    .filter(({ from, local, name }) => !from && (local ?? name) === word);
  const reach: Reach = {
    ...{ state, slice, passing, words: new Set([word]), users: new Set(), holders: new Set(), known: new Map() },
    doubts: new Map(),
    exposing: new Map([[file, new Set(own.map(({ name }) => name))]]),
    ...{ carried: new Map(), locals: new Map() },
    globals: new Set(state.index.globals().map((path) => absolute(state, path))),
  };
  try {
    spread(reach);
    const doubts = seriousDoubts(reach);
    const doubted = doubts.map(({ file }) => file);
    const files = new Set([
      ...reach.exposing.keys(),
      ...reach.users,
      ...unseenUsers(reach),
      ...doubted,
      ...rivals(reach),
    ]);
    const documented = [...files].filter((one) => one === file || isDocumented(reach, one));
    const full = new Set(documented);
    for (const one of files) checkTree(reach, one, full.has(one));
    return { files: [...files], documented, words: reach.words, doubts };
  } catch (error) {
    if (error instanceof TypesDecide) return undefined;
    throw error;
  }
}
const COMMONJS = /\b(?:require|exports)\b/;
const WORD = /^[\p{L}_$][\p{L}\p{N}_$]{0,47}$/u; // in the index

/** A declaration that a module's own scope has. */
function isTopLevel({ name, within }: Found): boolean {
  const owner = within.at(-1)!;
  const depth = ts.isVariableDeclaration(owner) ? 4 : 2;
  const isOwn = (owner as { name?: ts.Node }).name === name || name.kind === K.DefaultKeyword;
  return within.length === depth && TOP_KINDS.has(owner.kind) && isOwn;
}
const TOP_KINDS = new Set([
  ...[K.FunctionDeclaration, K.ClassDeclaration, K.InterfaceDeclaration, K.TypeAliasDeclaration],
  ...[K.EnumDeclaration, K.VariableDeclaration],
]);

/** Those about files from which a file that holds the name may get the module; all others have no consequence. */
function seriousDoubts(reach: Reach): Doubt[] {
  const { state, holders, globals, doubts } = reach;
  if (!doubts.size) return [];
  const importers = importersByFile(state, reach.slice);
  return [...doubts.values()].filter(({ file }) => {
    const reached = new Set([file]);
    for (const one of reached) {
      if (holders.has(one) || globals.has(one) || !state.names.has(one)) return true;
      for (const importer of importers.get(one) ?? []) reached.add(importer);
    }
    return false;
  });
}
/** Other files from which a module that exposes the name exports something under the same name: that may hide it. */
function rivals(reach: Reach): string[] {
  const { state, passing, words, exposing } = reach;
  const [sources, pending] = [new Map<string, string[]>(), [...exposing.keys()]];
  const givesName = (taken: string) => taken === "*" || words.has(taken.split(" as ").at(-1)!);
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (sources.has(file) || !state.names.has(file)) continue;
    const rows = passing
      .of(relative(state, file))
      .filter(({ how, names }) => how === "export" && names.some(givesName));
    const found = rows.flatMap(({ from }) => targets(reach, file!, from));
    sources.set(file, found);
    pending.push(...found);
  }
  const isRival = (file: string) => passing.exportsOf(relative(state, file)).some(({ name }) => words.has(name));
  const all = new Set([...sources.keys()].filter(isRival));
  for (let size = -1; size !== all.size; ) {
    size = all.size;
    for (const [file, found] of sources) if (found.some((one) => all.has(one))) all.add(file);
  }
  return [...all];
}

/** Files that hold the name and may know it without an import that the index has: by `declare module`, or by JSDoc of a script. */
function unseenUsers({ state, holders, globals }: Reach): string[] {
  return [...holders].filter((file) => {
    if (globals.has(file)) return true;
    const text = isScript(file) ? textOf(state, file) : "";
    if (/\btypeof\s+import\(/.test(text)) throw new TypesDecide();
    return /@import\b|\bimport\(/.test(text);
  });
}

const isDocumented = ({ state, words, locals }: Reach, file: string): boolean =>
  isInJsDoc(textOf(state, file), [...words, ...(locals.get(file) ?? [])]);

/** What the index does not tell: aliases of namespaces and of their members, `export =`, modules that are global variables. */
function checkTree({ state, slice, words }: Reach, file: string, isFull: boolean): void {
  const source = treeOf(state, slice, file, isFull);
  if (!source) return;
  const isDoubtful = (node: ts.Statement): boolean => {
    if (ts.isNamespaceExportDeclaration(node)) return true;
    if (ts.isImportEqualsDeclaration(node)) return !ts.isExternalModuleReference(node.moduleReference);
    if (ts.isExportAssignment(node)) return node.isExportEquals || ts.isPropertyAccessExpression(node.expression);
    return ts.isModuleDeclaration(node) && hasAliasWithin(node);
  };
  if (source.statements.some((node) => isDoubtful(node) && [...words].some((word) => source.text.includes(word))))
    throw new TypesDecide();
}
function hasAliasWithin({ body }: ts.ModuleDeclaration): boolean {
  if (!body || !ts.isModuleBlock(body)) return body !== undefined;
  return body.statements.some(
    (node) =>
      ts.isImportEqualsDeclaration(node) ||
      ts.isExportDeclaration(node) ||
      ts.isExportAssignment(node) ||
      (ts.isModuleDeclaration(node) && hasAliasWithin(node)),
  );
}

/** Follows imports and exports of the name, and of whole modules that have it, until nothing new is found. */
function spread(reach: Reach): void {
  const { state, slice, passing, exposing, carried, words, globals } = reach;
  const whole = new Set([...passing.taking("*").map((path) => absolute(state, path)), ...globals]);
  let searched = -1;
  for (let size = -1; size !== sizeOf(reach); ) {
    size = sizeOf(reach);
    for (const names of exposing.values()) for (const name of names) if (name !== "default") words.add(name);
    if (![...words].every((word) => WORD.test(word))) throw new TypesDecide();
    if (searched !== words.size)
      reach.holders = new Set(state.index.usersOf(words).map((path) => absolute(state, path)));
    searched = words.size;
    const isDefault = [...exposing.values()].some((names) => names.has("default"));
    const named = [
      ...reach.holders,
      ...(isDefault ? passing.taking("default").map((path) => absolute(state, path)) : []),
    ];
    for (const file of new Set(named)) for (const one of passing.of(relative(state, file))) takeNamed(reach, file, one);
    for (const file of whole) for (const one of passing.of(relative(state, file))) takeWhole(reach, file, one);
    for (const [file, names] of [...carried]) for (const name of [...names]) followCarried(reach, file, name);
  }
  const isStrict = internals.getEmitModuleResolutionKind(slice.config.options) >= ts.ModuleResolutionKind.Node16;
  const isInterop = (file: string) => (isStrict || /\.[cm]?jsx?$|\.d\.[cm]?ts$/.test(file)) && !hasDefault(reach, file);
  const interop = new Map([...exposing].filter(([file]) => isInterop(file))); // their default may be the module itself
  if (!interop.size) return;
  for (const path of passing.taking("default")) {
    const file = absolute(state, path);
    for (const { from, names } of passing.of(path))
      if (names.some((name) => /^default\b/.test(name)) && lead(reach, file, from, interop).length)
        throw new TypesDecide();
  }
}
const sizeOf = ({ exposing, carried, users }: Reach): number =>
  [exposing, carried].flatMap((all) => [...all.values()]).reduce((sum, { size }) => sum + 1 + size, users.size);

function note(all: Names, file: string, name?: string): void {
  const names = all.get(file) ?? new Set();
  all.set(file, name === undefined ? names : names.add(name));
}

/** An import or a re-export of the name itself. */
function takeNamed(reach: Reach, file: string, { from, how, names }: Passing): void {
  const { exposing, words, users } = reach;
  for (const taken of names) {
    const [name = "", as = name] = taken.split(" as ");
    if (name === "*" || !(words.has(name) || name === "default")) continue;
    const owners = lead(reach, file, from, exposing).filter((owner) => exposing.get(owner)!.has(name));
    if (!owners.length) continue;
    users.add(file);
    note(reach.locals, file, as);
    if (how === "export") note(exposing, file, as);
    else if (how === "dynamic") {
      if (name === "default") throw new TypesDecide();
    } else if (how === "require") {
      if (isScript(file)) throw new TypesDecide();
    } else for (const given of exportedAs(reach, file, as)) note(exposing, file, given);
  }
}

/** The names under which a file exports what it imported under this one. */
const exportedAs = ({ state, passing }: Reach, file: string, name: string): string[] =>
  passing
    .exportsOf(relative(state, file))
    .filter((one) => !one.from && (one.local ?? one.name) === name)
    .map((one) => one.name);

function takeWhole(reach: Reach, file: string, { from, how, names }: Passing): void {
  const { exposing, carried, users, holders } = reach;
  const whole = names.find((name) => name[0] === "*");
  const isWithin = how === "export" && !names.length; // `declare module`
  if (whole === undefined && !isWithin && how !== "dynamic" && how !== "require") return;
  const owners = lead(reach, file, from, exposing);
  if (!owners.length) return;
  const as = whole?.slice("* as ".length);
  const members = new Set(owners.flatMap((owner) => [...(carried.get(owner) ?? [])]));
  if (isWithin || (how === "require" && isScript(file))) throw new TypesDecide();
  if (how === "export") {
    if (as) carry(reach, file, as);
    for (const owner of as ? [] : owners) {
      note(exposing, file);
      for (const name of exposing.get(owner)!) if (name !== "default") note(exposing, file, name);
      for (const name of carried.get(owner) ?? []) if (name !== "default") carry(reach, file, name);
    }
    return;
  }
  if (how === "dynamic" && names.some((name) => members.has(name.split(" as ")[0]!))) throw new TypesDecide();
  if (as) use(reach, file, as, members);
  else if (whole && how !== "require" && isSeen(reach, file)) throw new TypesDecide();
  if (holders.has(file)) users.add(file);
}

function carry({ carried, exposing }: Reach, file: string, name: string): void {
  note(exposing, file);
  note(carried, file, name);
}

/** Every import of a module under the name under which another exports it. */
function followCarried(reach: Reach, owner: string, name: string): void {
  const { state, passing, holders, users } = reach;
  const paths = name === "default" ? passing.taking("default") : state.index.usersOf(new Set([name]));
  for (const path of paths) {
    const file = absolute(state, path);
    for (const { from, how, names } of passing.of(path))
      for (const taken of names) {
        const [imported, as = imported] = taken.split(" as ");
        if (imported !== name || !lead(reach, file, from, new Map([[owner, new Set()]])).length) continue;
        if (how === "export") carry(reach, file, as!);
        else if (how === "import" || how === "type") use(reach, file, as!, new Set());
        else if (isSeen(reach, file)) throw new TypesDecide();
        if (holders.has(file)) users.add(file);
      }
  }
}

/** A module under a local name: harmless where only its members are used, passed on where it is exported. */
function use(reach: Reach, file: string, name: string, members: Set<string>): void {
  const { state, slice } = reach;
  for (const given of exportedAs(reach, file, name)) carry(reach, file, given);
  if (!isSeen(reach, file) || (!members.size && isPlainText(textOf(state, file), name))) return;
  const source = treeOf(state, slice, file, false);
  if (source && !isPlain(source, name, members)) reach.doubts.set(`${file}\n${name}`, { file, name, members });
}

/** What is done with a module in a file that neither holds the name nor exports anything stays there. */
function isSeen({ state, passing, holders, globals }: Reach, file: string): boolean {
  return holders.has(file) || globals.has(file) || passing.exportsOf(relative(state, file)).length > 0;
}

function isPlainText(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (PART.test(text[at - 1] ?? " ") || PART.test(text[at + name.length] ?? " ")) continue;
    const [before, after] = [text.slice(Math.max(at - 16, 0), at), text.slice(at + name.length, at + name.length + 16)];
    const isMember = before.endsWith(".") && !before.endsWith("..");
    if (!isMember && !/^\s*\??\.\s*[\p{L}_$]/u.test(after) && !/\*\s+as\s+$/.test(before)) return false;
  }
  return true;
}
const PART = /[\p{L}\p{N}_$]/u;

function isPlain(source: ts.SourceFile, name: string, members: Set<string>): boolean {
  return otherUses(source, name, members).next().done === true;
}
function* otherUses(source: ts.SourceFile, name: string, members: Set<string>): Generator<ts.Identifier> {
  const found: ts.Identifier[] = [];
  visit(source, []);
  yield* found;

  function visit(node: ts.Node, within: ts.Node[]): void {
    if (ts.isIdentifier(node) && node.text === name && !isPlainUse(node, within, members)) found.push(node);
    const inside = [node, ...within]; // nodes may have no parents yet
    ts.forEachChild(node, (child) => visit(child, inside));
  }
}
function isPlainUse(node: ts.Identifier, [parent, outer, statement]: ts.Node[], members: Set<string>): boolean {
  if (isOwner(node, parent!)) {
    const member = memberOf(parent!);
    return member === undefined || !members.has(member) || isOwner(parent!, outer!);
  }
  if (ts.isPropertyAccessExpression(parent!) || ts.isQualifiedName(parent!)) return true; // another thing's member
  if (ts.isExportSpecifier(parent!) || ts.isExportAssignment(parent!) || ts.isNamespaceExport(parent!)) return true;
  if (ts.isImportSpecifier(parent!) || ts.isImportClause(parent!) || ts.isNamespaceImport(parent!)) return true;
  if (ts.isImportEqualsDeclaration(parent!)) return true; // an exported one is passed on
  return isBoundToImport(parent!, node) && !partsOf(statement!).some(({ kind }) => kind === K.ExportKeyword);
}

/** Whether a scope's own variables explain what looked as if a module were used as a value. */
export function isCleared(program: ts.Program, doubts: Doubt[]): boolean {
  const checker = program.getTypeChecker() as ts.TypeChecker & {
    resolveName(name: string, at: ts.Node, meaning: ts.SymbolFlags, noGlobals: boolean): ts.Symbol | undefined;
  };
  const all = ts.SymbolFlags.Value | ts.SymbolFlags.Type | ts.SymbolFlags.Namespace | ts.SymbolFlags.Alias;
  return doubts.every(({ file, name, members }) => {
    const uses = [...otherUses(program.getSourceFile(file)!, name, members)];
    return uses.every((node) => isMemberName(node) || isOther(checker.resolveName(name, node, all, true)));
  });
}
/** A name that is no variable, such as that of a property. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  const isMember = ts.isPropertyAssignment(parent) || ts.isClassElement(parent) || ts.isTypeElement(parent);
  return (isMember || ts.isEnumMember(parent) || ts.isJsxAttribute(parent)) && parent.name === node;
}
/** A variable or a parameter of the file, or nothing that it declares. */
function isOther(symbol: ts.Symbol | undefined): boolean {
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) return false;
  return !symbol?.declarations?.some((node) => ts.isVariableDeclaration(node) && isBoundToImport(node, node.name));
}
/** `const name = await import("…")` */
function isBoundToImport(parent: ts.Node, node: ts.Node): boolean {
  if (!ts.isVariableDeclaration(parent) || parent.name !== node) return false;
  return parent.initializer !== undefined && ts.isAwaitExpression(parent.initializer);
}

/** Whether a member of it is taken. */
function isOwner(node: ts.Node, parent: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent))
    return parent.expression === node && memberOf(parent) !== undefined;
  return ts.isQualifiedName(parent) && parent.left === node;
}
function memberOf(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isQualifiedName(node)) return node.right.text;
  const key = ts.isElementAccessExpression(node) ? node.argumentExpression : undefined;
  return key && ts.isStringLiteralLike(key) ? key.text : undefined;
}

const hasDefault = ({ state, passing }: Reach, file: string): boolean =>
  passing.exportsOf(relative(state, file)).some(({ name }) => name === "default" || name === "export=");

/** Those of the modules that an import leads to; others are not looked up on the disk, since most are. */
function lead(reach: Reach, file: string, from: string, to: Names): string[] {
  const next = nextTo(reach.state, from, file, reach.slice.config.options);
  return next && !to.has(next) ? [] : targets(reach, file, from).filter((target) => to.has(target));
}

function targets({ state, slice, known }: Reach, file: string, from: string): string[] {
  const key = `${file}\n${from}`;
  let found = known.get(key);
  if (!found) known.set(key, (found = targetsOf(state, slice, from, file, false)));
  return found;
}
