// Uses that a server misses and the index knows of: what a script takes by require(), and what is
// taken from a package of the project whose build is not there. The index knows which file takes
// the name from which; what it means within that file the server tells.
import type { Point } from "zz";
import { SCRIPT } from "../answers/answer-rows.ts";
import { importGraph } from "../answers/list-imports.ts";
import type { Resolver } from "../resolve.ts";
import { filesUsing } from "../rows.ts";
import type { Import } from "../scan/facts.ts";
import type { CodeUse, SymbolSpot } from "./code-uses.ts";
import { codeUseAt, type Desk, pointAt, showFile, textAt, toCodeUse, wordIn } from "./desk.ts";

const MAX_ROUNDS = 5; // of files that pass it on to files that pass it on

/** A file takes the thing, and the server does not know. */
export interface Taking {
  path: string;
  name: string; // as it is called where it comes from
  local: string; // as it is called here; WHOLE: as a part of the whole module
  owner: string; // what the whole module is called then
  line: number; // of the import
  how: Import["how"];
  isFollowed: boolean; // the server follows such an import, if it leads somewhere
  root: string; // the file that exports it under this name, and after \n the name
}
const WHOLE = "*";

export async function missedUses(
  desk: Desk,
  targetSpot: SymbolSpot,
  knownUses: CodeUse[],
  takings: Taking[],
): Promise<CodeUse[]> {
  const missedByKey = new Map<string, CodeUse>();
  const isKnown = new Set(knownUses.map(makeUseKey));
  for (const taking of takings)
    for (const codeUse of await findUses(desk, taking, targetSpot))
      if (!isKnown.has(makeUseKey(codeUse))) missedByKey.set(makeUseKey(codeUse), codeUse);
  return [...missedByKey.values()];
}
const makeUseKey = ({ path, start }: CodeUse) => `${path}:${start}`;

/** What the search for the files that take something goes by, and what it has found so far. */
interface TakingSearch {
  desk: Desk;
  target: SymbolSpot;
  exported: Map<string, string>; // as "file\nname", and the root of each
  isCommon: boolean; // CommonJS
  covered: ReadonlySet<string>; // files whose import the server knows
  reached: ReadonlySet<string>; // there the server knows what a whole module is
  takings: Map<string, Taking>;
}

/** The files that take it by a way that the server does not follow. */
export async function takingOf(
  desk: Desk,
  target: SymbolSpot,
  knownUses: CodeUse[],
): Promise<Taking[]> {
  const { state, index, ctx } = desk;
  const exported = exportsOf(desk, target);
  const isCommon =
    SCRIPT_FILE.test(target.path) &&
    !index.passed(target.path).exports.some(({ name }) => name === "default");
  const covered = new Set(
    knownUses
      .filter(({ kind: useKind }) => useKind === "import" || useKind === "export")
      .map(({ path }) => path),
  );
  const reached = new Set(knownUses.map(({ path }) => path));
  const takings = new Map<string, Taking>();
  const takingSearch: TakingSearch = {
    desk,
    target,
    exported,
    isCommon,
    covered,
    reached,
    takings,
  };
  let resolver: Resolver | undefined;
  for (let round = 0, knownSize = 0; exported.size > knownSize && round < MAX_ROUNDS; round++) {
    knownSize = exported.size;
    const exportedNames = new Set(
      [...exported.keys()].map((exportKey) => exportKey.split("\n")[1]!),
    );
    const candidateFiles = candidates(takingSearch, exportedNames);
    if (!candidateFiles.length) break;
    const graph = await importGraph(state, index, ctx, candidateFiles, resolver);
    const edgesByFile = graph.imports;
    resolver = graph.resolver;
    for (const [filePath, { imports }] of candidateFiles)
      for (const [i, importFact] of imports.entries()) {
        const { kind: edgeKind, to } = edgesByFile.get(filePath)?.[i] ?? {};
        if (edgeKind === "internal" && to) recordTakings(takingSearch, filePath, importFact, to);
      }
  }
  return [...takings.values()];
}

function candidates(
  { desk, isCommon, covered }: TakingSearch,
  exportedNames: Set<string>,
): (readonly [string, { imports: Import[] }])[] {
  const { index } = desk;
  const namingFiles = new Set(
    [...exportedNames].flatMap((exportedName) =>
      exportedName === "default" ? index.having('"default') : filesUsing(index, exportedName),
    ),
  );
  const candidateFiles = new Set([...namingFiles, ...index.having('"*"')]);
  return [...candidateFiles].flatMap((filePath) => {
    if (!SCRIPT.test(filePath) || !desk.mayShow(filePath)) return [];
    const isPassing = index.passed(filePath).exports.some(({ from }) => from === undefined);
    const imports = index.passed(filePath).imports.filter(({ names, how: importForm }) => {
      // it may pass on all of a module
      if (!namingFiles.has(filePath)) return importForm === "export" && names.includes(WHOLE);
      if (isCommon && names.some((specifier) => specifier.startsWith("default as "))) return true;
      const isNewImport = !covered.has(filePath) || isPassing || importForm === "export";
      return isNewImport && names.some((specifier) => mayTake(specifier, exportedNames));
    });
    return imports.length ? [[filePath, { imports }] as const] : [];
  });
}

function recordTakings(
  search: TakingSearch,
  filePath: string,
  { names: specifiers, how: importForm, line }: Import,
  importedFile: string,
): void {
  const { desk, target, exported, isCommon, covered, reached } = search;
  const exportedHere = [...exported].filter(([exportKey]) =>
    exportKey.startsWith(`${importedFile}\n`),
  );
  for (const specifier of specifiers) {
    const [importedName = "", localName = importedName] = specifier.split(" as ");
    const isDefault = importedName === "default" && isCommon && importedFile === target.path;
    const isWhole = importedName === WHOLE || isDefault;
    const isFollowed = !isCommon && importForm !== "require" && importForm !== "dynamic";
    for (const [exportKey, root] of exportedHere) {
      const name = exportKey.slice(importedFile.length + 1);
      const taken = { path: filePath, name, line, how: importForm, isFollowed, root };
      if (isWhole && importForm === "export") {
        if (localName === WHOLE) exported.set(`${filePath}\n${name}`, root);
      } else if (isWhole && (importedName !== WHOLE || !reached.has(filePath)))
        keepTaking(search, { ...taken, local: WHOLE, owner: localName });
      else if (importedName === name) {
        if (importForm === "export") addExport(exported, filePath, localName);
        for (const { name: exportName, local = exportName, from: further } of desk.index.passed(
          filePath,
        ).exports)
          if (further === undefined && local === localName)
            addExport(exported, filePath, exportName);
        if (!covered.has(filePath)) keepTaking(search, { ...taken, local: localName, owner: "" });
      }
    }
  }
}
function addExport(exported: Map<string, string>, filePath: string, exportName: string): void {
  const exportKey = `${filePath}\n${exportName}`;
  if (!exported.has(exportKey)) exported.set(exportKey, exportKey);
}
function keepTaking({ takings }: TakingSearch, taking: Taking): void {
  const { path, line, name, local } = taking;
  takings.set(`${path}\n${line}\n${name}\n${local}`, taking);
}
const SCRIPT_FILE = /\.c?jsx?$/;
const mayTake = (specifier: string, exportedNames: Set<string>) =>
  specifier[0] === "*" || exportedNames.has(specifier.split(" as ")[0]!);

/** Under which names its own file exports it: nothing else can be taken from there. */
function exportsOf(
  { index }: Desk,
  { path: filePath, name, line }: SymbolSpot,
): Map<string, string> {
  const fileFacts = index.facts(filePath);
  const ownSymbol = fileFacts?.symbols.find(
    (symbol) => symbol.name === name && symbol.line === line && !symbol.owner && !symbol.local,
  );
  const exportNames = (fileFacts?.exports ?? [])
    .filter(
      ({ name: exportName, local = exportName, from }) => from === undefined && local === name,
    )
    .map(({ name: exportName }) => exportName);
  if (ownSymbol && (ownSymbol.exported || name === "default")) exportNames.push(name);
  return new Map(
    exportNames.map((exportName) => [`${filePath}\n${exportName}`, `${filePath}\n${exportName}`]),
  );
}

/** Its places in the file that takes it. */
async function findUses(desk: Desk, taking: Taking, targetSpot: SymbolSpot): Promise<CodeUse[]> {
  const { path: filePath, name, local, owner } = taking;
  if (local === WHOLE) {
    const wholeUses = await usesOfWhole(desk, filePath, owner, name);
    const firstPoint = wholeUses[0] && (await pointAt(desk, filePath, wholeUses[0].start));
    return firstPoint && (await isKnownToServer(desk, firstPoint, targetSpot, taking))
      ? []
      : wholeUses;
  }
  const boundPlace = await boundAt(desk, taking);
  if (!boundPlace) return [];
  if (await isKnownToServer(desk, boundPlace.point, targetSpot, taking)) return [];
  return usesOfBound(desk, taking, boundPlace);
}

/** What an import calls by a name of the file, from there on. */
export async function usesOfBound(
  desk: Desk,
  { path: file, name, line }: Bound,
  boundPlace: { at: number; point: Point },
): Promise<CodeUse[]> {
  await showFile(desk, file);
  const fileSpots = (await desk.server.references(boundPlace.point)).filter(
    ({ path }) => path === file,
  );
  const boundUses = await Promise.all(fileSpots.map((spot) => toCodeUse(desk, spot)));
  const ownUse = await codeUseAt(desk, file, boundPlace.at, boundPlace.at + name.length);
  return [
    ...new Map([ownUse, ...boundUses].map((codeUse) => [codeUse.start, codeUse])).values(),
  ].filter((codeUse) => codeUse.line >= line);
}

/**
 * Whether the server knows what stands there: as another thing, or as this one, which it has told
 * of then.
 */
async function isKnownToServer(
  desk: Desk,
  usePoint: Point,
  targetSpot: SymbolSpot,
  { isFollowed }: Taking,
): Promise<boolean> {
  await showFile(desk, usePoint.path);
  const definitionSpots = await desk.server.definition(usePoint);
  return definitionSpots.some(
    ({ path }) => path !== usePoint.path && (isFollowed || path !== targetSpot.path),
  );
}

type Bound = Pick<Taking, "path" | "name" | "local" | "line">;

/** Where an import names it, and where that gives it the name that it has in the file. */
export async function boundAt(
  desk: Desk,
  { path: file, name, local, line }: Bound,
): Promise<{ at: number; point: Point } | undefined> {
  const { text, rows } = await textAt(desk, file);
  const lineStart = rows[line - 1] ?? 0;
  const nameOffset = wordIn(text, name, lineStart);
  if (nameOffset === undefined) return undefined;
  const localOffset = name === local ? nameOffset : wordIn(text, local, nameOffset + name.length);
  return localOffset === undefined
    ? undefined
    : { at: nameOffset, point: await pointAt(desk, file, localOffset) };
}

/** `all.name`, `all["name"]` and `require("x").name`: the server does not know what `all` is. */
export async function usesOfWhole(
  desk: Desk,
  filePath: string,
  ownerName: string,
  memberName: string,
): Promise<CodeUse[]> {
  const { text } = await textAt(desk, filePath);
  const escaped = memberName.replace(/\W/g, "\\$&");
  const ownerPattern =
    ownerName && ownerName !== WHOLE ? `(?<![\\w$.])${ownerName.replaceAll("$", "\\$")}` : "\\)";
  const usePattern = new RegExp(
    `${ownerPattern}\\s*(?:\\?\\.|\\.|\\[\\s*["'])\\s*(${escaped})(?![\\w$])`,
    "dg",
  );
  return Promise.all(
    Array.from(text.matchAll(usePattern), ({ indices }) =>
      codeUseAt(desk, filePath, ...(indices![1] as [number, number])),
    ),
  );
}
