// Where imports lead, as TypeScript resolves them, and the graph made of them. Nearby files are found among the names
// of the project's files alone; resolve/typescript.ts asks TypeScript for the rest, and its answers are kept until
// something changes.
import crypto from "node:crypto";
import { isBuiltin } from "node:module";
import type { CompilerGate } from "zz";
import { openOthers } from "./languages/resolve.ts";
import { isComponent, languageOf } from "./languages/table.ts";
import type { Asked, How, Kept, Resolver } from "./resolve/contract.ts";
import { openDisk } from "./resolve/disk.ts";
import { findNearby } from "./resolve/near.ts";
import { packages } from "./resolve/packages.ts";
import { folderOf } from "./resolve/paths.ts";
import { configAbove, load, placeOf, wayOf } from "./resolve/places.ts";
import { type State, UNSURE } from "./resolve/state.ts";

export type { Edge, Graph, How, Kept, Resolver } from "./resolve/contract.ts";
export { cycles } from "./resolve/cycles.ts";
export { isUnchanged } from "./resolve/disk.ts";
export { entryPoints, graphOf, hubs } from "./resolve/graph.ts";
export { folderOf } from "./resolve/paths.ts";

/** `gate` checks every read; without it everything may be read. */
export function openResolver(root: string, list: readonly string[], kept?: Kept, gate?: CompilerGate): Resolver {
  const names = new Set(list);
  const parentConfig = configAbove(root, (file) => gate?.mayLookUp(file) !== false);
  const hash = crypto.hash("sha256", [parentConfig, ...list].join("\n")).slice(0, 32);
  const { disk, seen, isFresh } = openDisk(root, names, kept, gate);
  const isSame = isFresh && kept!.names === hash;
  const known = seen.size;
  const ways = new Map(isFresh ? Object.entries(kept!.ways) : []);
  const found = new Map(isSame ? Object.entries(kept!.found) : []);
  const state: State = {
    list,
    names,
    parentConfig,
    hash,
    disk,
    seen,
    ways,
    found,
    places: new Map(),
    hasNewAnswers: false,
  };
  const others = openOthers(list, (name) => disk.read(`${disk.root}/${name}`));
  return {
    prepare: (files) => prepare(state, files),
    others: (file, one) => (isOther(file) ? others(file, one) : undefined),
    resolve: (file, one) => resolve(state, file, one),
    packages: () => packages(state),
    kept: () => (isSame && !state.hasNewAnswers && seen.size === known ? kept! : keep(state)),
  };
}

/** In another language, which TypeScript knows nothing of. */
const isOther = (file: string): boolean => !!languageOf(file) && !isComponent(file);

async function prepare(state: State, files: Parameters<Resolver["prepare"]>[0]): Promise<void> {
  for (const [file, imports] of files) {
    if (!imports.length || isOther(file)) continue;
    const place = placeOf(state, folderOf(file));
    place.way ??= await wayOf(state, place.config!);
    for (const { from, how } of imports) {
      if (findNearby(state, place, from) !== UNSURE) continue;
      const key = keyOf(file, from, how);
      if (state.found.has(key)) continue;
      state.hasNewAnswers = true;
      state.found.set(key, (await load(state)).answer(file, from, how, place.config) ?? null);
    }
  }
}

function resolve(state: State, file: string, { from, how }: Asked): string | undefined {
  if (file !== state.last?.file) state.last = { file, place: placeOf(state, folderOf(file)) };
  const { place } = state.last;
  const to = place.way === undefined ? UNSURE : findNearby(state, place, from);
  if (to !== UNSURE) return to;
  const known = state.found.get(keyOf(file, from, how));
  if (known === undefined) throw new Error(`Cannot resolve '${from}' in '${file}': prepare() was not asked for it.`);
  if (!known && isBuiltin(from)) return "node:";
  return known ?? undefined;
}

function keep(state: State): Kept {
  return {
    ...{ names: state.hash, seen: Object.fromEntries(state.seen) },
    ...{ ways: Object.fromEntries(state.ways), found: Object.fromEntries(state.found) },
  };
}

/** The conditions of `exports` depend on whether the import is a require() and on the kind of its file. */
function keyOf(file: string, spec: string, how: How): string {
  const [, kind = ""] = /\.([cm])[jt]s$/.exec(file) ?? [];
  return `${how === "require" ? "r" : how === "dynamic" ? "d" : "i"}${kind}\n${folderOf(file)}\n${spec}`;
}
