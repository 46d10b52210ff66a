// Uses that a server misses and the index knows of: what a script takes by require(), and what is
// taken from a package of the project whose build is not there. The index knows which file takes
// the name from which; what it means within that file the server tells.
import type { Point } from "zz";
import { importGraph } from "../answers/imports.ts";
import { SCRIPT } from "../answers/rows.ts";
import type { Resolver } from "../resolve.ts";
import { using } from "../rows.ts";
import type { Import } from "../scan/facts.ts";
import type { At, Place } from "./contract.ts";
import { type Desk, placeAt, placeOf, pointAt, show, textAt, wordIn } from "./desk.ts";

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
  at: At,
  known: Place[],
  takings: Taking[],
): Promise<Place[]> {
  const found = new Map<string, Place>();
  const isKnown = new Set(known.map(keyOf));
  for (const taking of takings)
    for (const place of await usesOf(desk, taking, at))
      if (!isKnown.has(keyOf(place))) found.set(keyOf(place), place);
  return [...found.values()];
}
const keyOf = ({ path, start }: Place): string => `${path}:${start}`;

/** The files that take it by a way that the server does not follow. */
export async function takingOf(desk: Desk, at: At, known: Place[]): Promise<Taking[]> {
  const { state, index, ctx } = desk;
  const exported = exportsOf(desk, at);
  const isCommon =
    SCRIPT_FILE.test(at.path) &&
    !index.passed(at.path).exports.some(({ name }) => name === "default");
  const covered = new Set(
    known.filter(({ kind }) => kind === "import" || kind === "export").map(({ path }) => path),
  );
  // there the server knows what a whole module is
  const reached = new Set(known.map(({ path }) => path));
  const takings = new Map<string, Taking>();
  let resolver: Resolver | undefined;
  for (let round = 0, size = 0; exported.size > size && round < MAX_ROUNDS; round++) {
    size = exported.size;
    const words = new Set([...exported.keys()].map((key) => key.split("\n")[1]!));
    const asked = candidates(words);
    if (!asked.length) break;
    const graph = await importGraph(state, index, ctx, asked, resolver);
    const edges = graph.imports;
    resolver = graph.resolver;
    for (const [file, { imports }] of asked)
      for (const [i, one] of imports.entries()) {
        const { kind, to } = edges.get(file)?.[i] ?? {};
        if (kind === "internal" && to) take(file, one, to);
      }
  }
  return [...takings.values()];

  function candidates(words: Set<string>): (readonly [string, { imports: Import[] }])[] {
    const named = new Set(
      [...words].flatMap((word) =>
        word === "default" ? index.having('"default') : using(index, word),
      ),
    );
    const files = new Set([...named, ...index.having('"*"')]);
    return [...files].flatMap((file) => {
      if (!SCRIPT.test(file) || !desk.mayShow(file)) return [];
      const isPassing = index.passed(file).exports.some(({ from }) => from === undefined);
      const imports = index.passed(file).imports.filter(({ names, how }) => {
        // it may pass on all of a module
        if (!named.has(file)) return how === "export" && names.includes(WHOLE);
        if (isCommon && names.some((name) => name.startsWith("default as "))) return true;
        const isNews = !covered.has(file) || isPassing || how === "export";
        return isNews && names.some((name) => mayTake(name, words));
      });
      return imports.length ? [[file, { imports }] as const] : [];
    });
  }

  function take(file: string, { names: taken, how, line }: Import, to: string): void {
    const own = [...exported].filter(([key]) => key.startsWith(`${to}\n`));
    for (const one of taken) {
      const [from = "", as = from] = one.split(" as ");
      const isDefault = from === "default" && isCommon && to === at.path;
      const isWhole = from === WHOLE || isDefault;
      const isFollowed = !isCommon && how !== "require" && how !== "dynamic";
      for (const [key, root] of own) {
        const name = key.slice(to.length + 1);
        if (isWhole && how === "export") {
          if (as === WHOLE) exported.set(`${file}\n${name}`, root);
        } else if (isWhole && (from !== WHOLE || !reached.has(file)))
          keep({ path: file, name, local: WHOLE, owner: as, line, how, isFollowed, root });
        else if (from === name) {
          if (how === "export") addExport(file, as);
          for (const { name: other, local = other, from: further } of index.passed(file).exports)
            if (further === undefined && local === as) addExport(file, other);
          if (!covered.has(file))
            keep({ path: file, name, local: as, owner: "", line, how, isFollowed, root });
        }
      }
    }
  }
  function addExport(file: string, name: string): void {
    const key = `${file}\n${name}`;
    if (!exported.has(key)) exported.set(key, key);
  }
  function keep(taking: Taking): void {
    const { path, line, name, local } = taking;
    takings.set(`${path}\n${line}\n${name}\n${local}`, taking);
  }
}
const SCRIPT_FILE = /\.c?jsx?$/;
const mayTake = (taken: string, words: Set<string>): boolean =>
  taken[0] === "*" || words.has(taken.split(" as ")[0]!);

/** Under which names its own file exports it: nothing else can be taken from there. */
function exportsOf({ index }: Desk, { path: file, name, line }: At): Map<string, string> {
  const facts = index.facts(file);
  const own = facts?.symbols.find(
    (one) => one.name === name && one.line === line && !one.owner && !one.local,
  );
  const names = (facts?.exports ?? [])
    .filter(({ name: as, local = as, from }) => from === undefined && local === name)
    .map(({ name: as }) => as);
  if (own && (own.exported || name === "default")) names.push(name);
  return new Map(names.map((as) => [`${file}\n${as}`, `${file}\n${as}`]));
}

/** Its places in the file that takes it. */
async function usesOf(desk: Desk, taking: Taking, target: At): Promise<Place[]> {
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
): Promise<Place[]> {
  await show(desk, file);
  const spots = (await desk.server.references(bound.point)).filter(({ path }) => path === file);
  const places = await Promise.all(spots.map((spot) => placeOf(desk, spot)));
  const own = await placeAt(desk, file, bound.at, bound.at + name.length);
  return [...new Map([own, ...places].map((place) => [place.start, place])).values()].filter(
    (place) => place.line >= line,
  );
}

/**
 * Whether the server knows what stands there: as another thing, or as this one, which it has told
 * of then.
 */
async function isTold(
  desk: Desk,
  point: Point,
  target: At,
  { isFollowed }: Taking,
): Promise<boolean> {
  await show(desk, point.path);
  const found = await desk.server.definition(point);
  return found.some(({ path }) => path !== point.path && (isFollowed || path !== target.path));
}

type Bound = Pick<Taking, "path" | "name" | "local" | "line">;

/** Where an import names it, and where that gives it the name that it has in the file. */
export async function boundAt(
  desk: Desk,
  { path: file, name, local, line }: Bound,
): Promise<{ at: number; point: Point } | undefined> {
  const { text, rows } = await textAt(desk, file);
  const from = rows[line - 1] ?? 0;
  const at = wordIn(text, name, from);
  if (at === undefined) return undefined;
  const own = name === local ? at : wordIn(text, local, at + name.length);
  return own === undefined ? undefined : { at, point: await pointAt(desk, file, own) };
}

/** `all.name`, `all["name"]` and `require("x").name`: the server does not know what `all` is. */
export async function usesOfWhole(
  desk: Desk,
  file: string,
  owner: string,
  name: string,
): Promise<Place[]> {
  const { text } = await textAt(desk, file);
  const escaped = name.replace(/\W/g, "\\$&");
  const holder = owner && owner !== WHOLE ? `(?<![\\w$.])${owner.replaceAll("$", "\\$")}` : "\\)";
  const uses = new RegExp(
    `${holder}\\s*(?:\\?\\.|\\.|\\[\\s*["'])\\s*(${escaped})(?![\\w$])`,
    "dg",
  );
  return Promise.all(
    Array.from(text.matchAll(uses), ({ indices }) =>
      placeAt(desk, file, ...(indices![1] as [number, number])),
    ),
  );
}
