// Uses that a server misses and the index knows of: what a script takes by require(), and what is
// taken from a package of the project whose build is not there. The index knows which file takes
// the name from which; what it means within that file the server tells.
import { importGraph } from "../answers/imports.ts";
import { SCRIPT } from "../answers/rows.ts";
import { passing } from "../passing.ts";
import { mayRead } from "../project.ts";
import { containing, using } from "../rows.ts";
import type { Import } from "../scan/facts.ts";
import type { At, Place, Point } from "./contract.ts";
import { type Desk, placeAt, placeOf, pointAt, show, textAt, wordIn } from "./desk.ts";

const MAX_ROUNDS = 5; // of files that pass it on to files that pass it on

/** A file takes the thing, and the server does not know. */
export interface Taking {
  path: string;
  name: string; // as it is called where it comes from
  local: string; // as it is called here; "*": as a part of the whole module
  owner: string; // what the whole module is called then
  line: number; // of the import
  at?: number; // where the name stands in it
  point?: Point;
}

export async function missedUses(desk: Desk, at: At, known: Place[]): Promise<Place[]> {
  const found = new Map<string, Place>();
  const isKnown = new Set(known.map(({ path, start }) => `${path}:${start}`));
  for (const taking of await takingOf(desk, at, known))
    for (const place of await usesOf(desk, taking)) {
      const key = `${place.path}:${place.start}`;
      if (!isKnown.has(key)) found.set(key, place);
    }
  return [...found.values()];
}

/** The files that take it by a way that the server does not follow. */
export async function takingOf(desk: Desk, at: At, known: Place[]): Promise<Taking[]> {
  const { state, index, ctx } = desk;
  const facts = index.facts(at.path);
  const isTop = facts?.symbols.some((one) => one.name === at.name && one.line === at.line && !one.owner && !one.local);
  const passed = passing(index.pageIndexes);
  const named = passed
    .exportsOf(at.path)
    .filter(({ name, local = name, from }) => from === undefined && local === at.name);
  const names = new Set(named.map(({ name }) => name));
  if (isTop && facts!.symbols.some((one) => one.name === at.name && one.exported)) names.add(at.name);
  if (at.name === "default" && isTop) names.add("default");
  const exported = new Set([...names].map((name) => `${at.path}\n${name}`));
  const covered = new Set(known.filter(({ kind }) => kind === "import" || kind === "export").map(({ path }) => path));
  const takings = new Map<string, Taking>();
  for (let round = 0, size = 0; exported.size > size && round < MAX_ROUNDS; round++) {
    size = exported.size;
    const words = new Set([...exported].map((key) => key.split("\n")[1]!));
    const users = [...words].flatMap((word) =>
      word === "default" ? containing(index.pageIndexes, '"default') : using(index.pageIndexes, word),
    );
    const files = [...new Set([...users, ...containing(index.pageIndexes, '"*"')])].filter((file) => SCRIPT.test(file) && mayRead(ctx, file));
    const asked = files.flatMap((file) => {
      const isPassing = !covered.has(file) || passed.exportsOf(file).some(({ from }) => from === undefined);
      const imports = passed
        .of(file)
        .filter((one) => (isPassing || one.how === "export") && one.names.some((name) => mayTake(name, words)));
      return imports.length ? [[file, { imports }] as const] : [];
    });
    if (!asked.length) break;
    const { imports: edges } = await importGraph(state, index, ctx, asked);
    for (const [file, { imports }] of asked)
      for (const [i, one] of imports.entries()) {
        const { kind, to } = edges.get(file)?.[i] ?? {};
        if (kind === "internal" && to) take(file, one, to);
      }
  }
  return [...takings.values()];

  function take(file: string, { names: taken, how, line }: Import, to: string): void {
    for (const one of taken) {
      const [from = "", as = from] = one.split(" as ");
      const of = [...exported].filter((key) => key.startsWith(`${to}\n`)).map((key) => key.split("\n")[1]!);
      if (from === "*" && how === "export" && as === "*") for (const name of of) exported.add(`${file}\n${name}`);
      else if (from !== "*" && of.includes(from)) {
        if (how === "export") exported.add(`${file}\n${as}`);
        for (const { name, local = name, from: other } of passed.exportsOf(file))
          if (other === undefined && local === as) exported.add(`${file}\n${name}`);
        if (!covered.has(file)) keep({ path: file, name: from, local: as, owner: "", line });
      } else if (from === "*" && how !== "export" && !covered.has(file))
        for (const name of of) keep({ path: file, name, local: "*", owner: as, line });
    }
  }
  function keep(taking: Taking): void {
    takings.set(`${taking.path}\n${taking.line}\n${taking.name}\n${taking.local}`, taking);
  }
}
const mayTake = (taken: string, words: Set<string>): boolean =>
  taken[0] === "*" || words.has(taken.split(" as ")[0]!);

/** Its places in the file that takes it. */
async function usesOf(desk: Desk, taking: Taking): Promise<Place[]> {
  const { path: file, name, local, owner, line } = taking;
  if (local === "*") return usesOfWhole(desk, file, owner, name);
  const bound = await boundAt(desk, taking);
  if (!bound) return [];
  await show(desk, file);
  const spots = (await desk.server.references(bound.point)).filter(({ path }) => path === file);
  const places = await Promise.all(spots.map((spot) => placeOf(desk, spot)));
  const own = await placeAt(desk, file, bound.at, bound.at + name.length);
  return [...new Map([own, ...places].map((place) => [place.start, place])).values()].filter(
    (place) => place.line >= line,
  );
}

/** Where an import names it, and where that gives it the name that it has in the file. */
export async function boundAt(
  desk: Desk,
  { path: file, name, local, line }: Taking,
): Promise<{ at: number; point: Point } | undefined> {
  const { text, rows } = await textAt(desk, file);
  const from = rows[line - 1] ?? 0;
  const at = wordIn(text, name, from);
  if (at === undefined) return undefined;
  const own = name === local ? at : wordIn(text, local, at + name.length);
  return own === undefined ? undefined : { at, point: await pointAt(desk, file, own) };
}

/** `all.name` and `require("x").name`: the server does not know what `all` is. */
export async function usesOfWhole(desk: Desk, file: string, owner: string, name: string): Promise<Place[]> {
  const { text } = await textAt(desk, file);
  const escaped = name.replace(/\W/g, "\\$&");
  const holder = owner && owner !== "*" ? `(?<![\\w$.])${owner.replaceAll("$", "\\$")}` : "\\)";
  const uses = new RegExp(`${holder}\\s*\\??\\.\\s*(${escaped})(?![\\w$])`, "dg");
  return Promise.all(
    Array.from(text.matchAll(uses), ({ indices }) => placeAt(desk, file, ...(indices![1] as [number, number]))),
  );
}
