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
  target: SymbolSpot,
  knownUses: CodeUse[],
  takings: Taking[],
): Promise<CodeUse[]> {
  const missed = new Map<string, CodeUse>();
  const isKnown = new Set(knownUses.map(keyOf));
  for (const taking of takings)
    for (const use of await usesOf(desk, taking, target))
      if (!isKnown.has(keyOf(use))) missed.set(keyOf(use), use);
  return [...missed.values()];
}
const keyOf = ({ path, start }: CodeUse): string => `${path}:${start}`;

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
  const search: TakingSearch = { desk, target, exported, isCommon, covered, reached, takings };
  let resolver: Resolver | undefined;
  for (let round = 0, size = 0; exported.size > size && round < MAX_ROUNDS; round++) {
    size = exported.size;
    const words = new Set([...exported.keys()].map((key) => key.split("\n")[1]!));
    const asked = candidates(search, words);
    if (!asked.length) break;
    const graph = await importGraph(state, index, ctx, asked, resolver);
    const edges = graph.imports;
    resolver = graph.resolver;
    for (const [file, { imports }] of asked)
      for (const [i, importFact] of imports.entries()) {
        const { kind: edgeKind, to } = edges.get(file)?.[i] ?? {};
        if (edgeKind === "internal" && to) take(search, file, importFact, to);
      }
  }
  return [...takings.values()];
}

function candidates(
  { desk, isCommon, covered }: TakingSearch,
  words: Set<string>,
): (readonly [string, { imports: Import[] }])[] {
  const { index } = desk;
  const named = new Set(
    [...words].flatMap((word) =>
      word === "default" ? index.having('"default') : filesUsing(index, word),
    ),
  );
  const files = new Set([...named, ...index.having('"*"')]);
  return [...files].flatMap((file) => {
    if (!SCRIPT.test(file) || !desk.mayShow(file)) return [];
    const isPassing = index.passed(file).exports.some(({ from }) => from === undefined);
    const imports = index.passed(file).imports.filter(({ names, how: importForm }) => {
      // it may pass on all of a module
      if (!named.has(file)) return importForm === "export" && names.includes(WHOLE);
      if (isCommon && names.some((name) => name.startsWith("default as "))) return true;
      const isNews = !covered.has(file) || isPassing || importForm === "export";
      return isNews && names.some((name) => mayTake(name, words));
    });
    return imports.length ? [[file, { imports }] as const] : [];
  });
}

function take(
  search: TakingSearch,
  file: string,
  { names: specifiers, how: importForm, line }: Import,
  to: string,
): void {
  const { desk, target, exported, isCommon, covered, reached } = search;
  const exportedHere = [...exported].filter(([key]) => key.startsWith(`${to}\n`));
  for (const specifier of specifiers) {
    const [from = "", as = from] = specifier.split(" as ");
    const isDefault = from === "default" && isCommon && to === target.path;
    const isWhole = from === WHOLE || isDefault;
    const isFollowed = !isCommon && importForm !== "require" && importForm !== "dynamic";
    for (const [key, root] of exportedHere) {
      const name = key.slice(to.length + 1);
      if (isWhole && importForm === "export") {
        if (as === WHOLE) exported.set(`${file}\n${name}`, root);
      } else if (isWhole && (from !== WHOLE || !reached.has(file)))
        keep(search, {
          path: file,
          name,
          local: WHOLE,
          owner: as,
          line,
          how: importForm,
          isFollowed,
          root,
        });
      else if (from === name) {
        if (importForm === "export") addExport(exported, file, as);
        for (const { name: exportName, local = exportName, from: further } of desk.index.passed(
          file,
        ).exports)
          if (further === undefined && local === as) addExport(exported, file, exportName);
        if (!covered.has(file))
          keep(search, {
            path: file,
            name,
            local: as,
            owner: "",
            line,
            how: importForm,
            isFollowed,
            root,
          });
      }
    }
  }
}
function addExport(exported: Map<string, string>, file: string, name: string): void {
  const key = `${file}\n${name}`;
  if (!exported.has(key)) exported.set(key, key);
}
function keep({ takings }: TakingSearch, taking: Taking): void {
  const { path, line, name, local } = taking;
  takings.set(`${path}\n${line}\n${name}\n${local}`, taking);
}
const SCRIPT_FILE = /\.c?jsx?$/;
const mayTake = (specifier: string, words: Set<string>): boolean =>
  specifier[0] === "*" || words.has(specifier.split(" as ")[0]!);

/** Under which names its own file exports it: nothing else can be taken from there. */
function exportsOf({ index }: Desk, { path: file, name, line }: SymbolSpot): Map<string, string> {
  const facts = index.facts(file);
  const ownSymbol = facts?.symbols.find(
    (symbol) => symbol.name === name && symbol.line === line && !symbol.owner && !symbol.local,
  );
  const names = (facts?.exports ?? [])
    .filter(({ name: as, local = as, from }) => from === undefined && local === name)
    .map(({ name: as }) => as);
  if (ownSymbol && (ownSymbol.exported || name === "default")) names.push(name);
  return new Map(names.map((as) => [`${file}\n${as}`, `${file}\n${as}`]));
}

/** Its places in the file that takes it. */
async function usesOf(desk: Desk, taking: Taking, target: SymbolSpot): Promise<CodeUse[]> {
  const { path: file, name, local, owner } = taking;
  if (local === WHOLE) {
    const places = await usesOfWhole(desk, file, owner, name);
    const first = places[0] && (await pointAt(desk, file, places[0].start));
    return first && (await isTold(desk, first, target, taking)) ? [] : places;
  }
  const bound = await boundAt(desk, taking);
  if (!bound) return [];
  if (await isTold(desk, bound.point, target, taking)) return [];
  return usesOfBound(desk, taking, bound);
}

/** What an import calls by a name of the file, from there on. */
export async function usesOfBound(
  desk: Desk,
  { path: file, name, line }: Bound,
  bound: { at: number; point: Point },
): Promise<CodeUse[]> {
  await showFile(desk, file);
  const spots = (await desk.server.references(bound.point)).filter(({ path }) => path === file);
  const places = await Promise.all(spots.map((spot) => toCodeUse(desk, spot)));
  const ownUse = await codeUseAt(desk, file, bound.at, bound.at + name.length);
  return [...new Map([ownUse, ...places].map((use) => [use.start, use])).values()].filter(
    (use) => use.line >= line,
  );
}

/**
 * Whether the server knows what stands there: as another thing, or as this one, which it has told
 * of then.
 */
async function isTold(
  desk: Desk,
  point: Point,
  target: SymbolSpot,
  { isFollowed }: Taking,
): Promise<boolean> {
  await showFile(desk, point.path);
  const spots = await desk.server.definition(point);
  return spots.some(({ path }) => path !== point.path && (isFollowed || path !== target.path));
}

type Bound = Pick<Taking, "path" | "name" | "local" | "line">;

/** Where an import names it, and where that gives it the name that it has in the file. */
export async function boundAt(
  desk: Desk,
  { path: file, name, local, line }: Bound,
): Promise<{ at: number; point: Point } | undefined> {
  const { text, rows } = await textAt(desk, file);
  const from = rows[line - 1] ?? 0;
  const offset = wordIn(text, name, from);
  if (offset === undefined) return undefined;
  const localOffset = name === local ? offset : wordIn(text, local, offset + name.length);
  return localOffset === undefined
    ? undefined
    : { at: offset, point: await pointAt(desk, file, localOffset) };
}

/** `all.name`, `all["name"]` and `require("x").name`: the server does not know what `all` is. */
export async function usesOfWhole(
  desk: Desk,
  file: string,
  owner: string,
  name: string,
): Promise<CodeUse[]> {
  const { text } = await textAt(desk, file);
  const escaped = name.replace(/\W/g, "\\$&");
  const holder = owner && owner !== WHOLE ? `(?<![\\w$.])${owner.replaceAll("$", "\\$")}` : "\\)";
  const uses = new RegExp(
    `${holder}\\s*(?:\\?\\.|\\.|\\[\\s*["'])\\s*(${escaped})(?![\\w$])`,
    "dg",
  );
  return Promise.all(
    Array.from(text.matchAll(uses), ({ indices }) =>
      codeUseAt(desk, file, ...(indices![1] as [number, number])),
    ),
  );
}
