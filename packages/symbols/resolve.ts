// Where imports lead, as TypeScript resolves them. Nearby files are found among the names of the
// project's files alone; resolve/typescript.ts asks TypeScript for the rest, and its answers are
// kept until something changes.
import crypto from "node:crypto";
import fs from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import type { CompilerGate } from "zz";
import { openImportFinder } from "./languages/resolve.ts";
import { isComponent, languageOf } from "./languages/table.ts";
import type { AskedImport, Disk, ImportForm, Kept, Resolver } from "./resolve/contract.ts";
import { openDisk } from "./resolve/disk.ts";
import {
  folderOf,
  IN_NODE_MODULES,
  join,
  SCRIPT,
  slashes,
  under,
  upwards,
} from "./resolve/paths.ts";
import type { Modules } from "./resolve/typescript.ts";

export type { Edge, Graph, ImportForm as How, Kept, Resolver } from "./resolve/contract.ts";
export { isUnchanged } from "./resolve/disk.ts";
export { cycles, entryPoints, graphOf, hubs } from "./resolve/graph.ts";
export { folderOf } from "./resolve/paths.ts";

/** A folder with the tsconfig.json that applies to it. */
interface Place {
  folder: string;
  config: string | undefined;
  // p: paths or baseUrl; t: everything needs TypeScript; undefined: not read yet
  way: string | undefined;
  near: Map<string, string | undefined>;
}
const UNSURE = "?"; // only TypeScript knows

/** What an open resolver holds. All paths are relative to the project. */
interface State {
  names: ReadonlySet<string>; // of all files
  parentConfig: string | undefined; // the tsconfig.json of a folder above the project
  disk: Disk;
  ways: Map<string, string>; // see Kept; so is the next one
  found: Map<string, string | null>;
  places: Map<string, Place>; // by folder
  modules?: Modules; // once TypeScript is loaded
  hasNewAnswers: boolean; // there are answers that were not kept
}

/** `gate` checks every read; without it everything may be read. */
export function openResolver(
  root: string,
  list: readonly string[],
  kept?: Kept,
  gate?: CompilerGate,
): Resolver {
  const names = new Set(list);
  const parentConfig = configAbove(root, (file) => gate?.mayLookUp(file) !== false);
  const hash = crypto.hash("sha256", [parentConfig, ...list].join("\n")).slice(0, 32);
  const { disk, seen, isFresh } = openDisk(root, names, kept, gate);
  const isSame = isFresh && kept!.names === hash;
  const known = seen.size;
  const ways = new Map(isFresh ? Object.entries(kept!.ways) : []);
  const found = new Map(isSame ? Object.entries(kept!.found) : []);
  const state: State = {
    names,
    parentConfig,
    disk,
    ways,
    found,
    places: new Map(),
    hasNewAnswers: false,
  };
  const others = openImportFinder(list, (name) => disk.read(`${disk.root}/${name}`));
  const keep = () => ({
    names: hash,
    seen: Object.fromEntries(seen),
    ways: Object.fromEntries(ways),
    found: Object.fromEntries(found),
  });
  return {
    prepare: (files) => prepare(state, files),
    others: (file, one) => (isOther(file) ? others(file, one) : undefined),
    resolve: (file, one) => resolve(state, file, one),
    packages: () =>
      list
        .filter((name) => /(?:^|\/)package\.json$/.test(name))
        .map((name) => ({ folder: folderOf(name), mains: mainsOf(folderOf(name), disk) })),
    kept: () => (isSame && !state.hasNewAnswers && seen.size === known ? kept! : keep()),
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
      const key = keyOf(file, from, how);
      if (findNearby(state, place, from) !== UNSURE || state.found.has(key)) continue;
      state.hasNewAnswers = true;
      state.found.set(key, (await load(state)).answer(file, from, how, place.config) ?? null);
    }
  }
}

function resolve(state: State, file: string, { from, how }: AskedImport): string | undefined {
  const place = placeOf(state, folderOf(file));
  const to = place.way === undefined ? UNSURE : findNearby(state, place, from);
  if (to !== UNSURE) return to;
  const known = state.found.get(keyOf(file, from, how));
  if (known === undefined)
    throw new Error(`Cannot resolve '${from}' in '${file}': prepare() was not asked for it.`);
  if (!known && isBuiltin(from)) return "node:";
  return known ?? undefined;
}

/**
 * The conditions of `exports` depend on whether the import is a require() and on the kind of its
 * file.
 */
function keyOf(file: string, spec: string, how: ImportForm): string {
  const [, kind = ""] = /\.([cm])[jt]s$/.exec(file) ?? [];
  return `${KEY_LETTERS[how] ?? "i"}${kind}\n${folderOf(file)}\n${spec}`;
}

const KEY_LETTERS: Partial<Record<ImportForm, string>> = { require: "r", dynamic: "d" };

function placeOf(state: State, folder: string): Place {
  const known = state.places.get(folder);
  if (known) return known;
  const configs = [...upwards(folder)].flatMap((up) => CONFIGS.map((name) => under(up, name)));
  const config = configs.find((name) => state.names.has(name)) ?? state.parentConfig;
  const place = {
    folder,
    config,
    way: config === undefined ? "" : state.ways.get(config),
    near: new Map(),
  };
  state.places.set(folder, place);
  return place;
}
const CONFIGS = ["tsconfig.json", "jsconfig.json"];

async function wayOf(state: State, config: string): Promise<string> {
  const known = state.ways.get(config);
  if (known !== undefined) return known;
  state.hasNewAnswers = true;
  const way = (await load(state)).configLetters(config);
  state.ways.set(config, way);
  return way;
}

async function load(state: State): Promise<Modules> {
  if (state.modules) return state.modules;
  const { openModules } = await import("./resolve/typescript.ts");
  return (state.modules = openModules(state.disk));
}

/** A project inside a repository may use a tsconfig.json above it. */
function configAbove(root: string, mayRead: (file: string) => boolean): string | undefined {
  let found: string | undefined;
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (folder !== root)
      found ??= CONFIGS.map((name) => path.join(folder, name)).find(
        (file) => fs.existsSync(file) && mayRead(file),
      );
    if (fs.existsSync(path.join(folder, ".git"))) return found && slashes(found);
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** Without TypeScript, or UNSURE. */
function findNearby(
  state: State,
  { folder, way = "t", near }: Place,
  spec: string,
): string | undefined {
  if (near.has(spec)) return near.get(spec);
  const isNodes = spec.startsWith("node:") || (isBuiltin(spec) && !way);
  const isRelative = /^\.\.?(?:$|[\\/])/.test(spec);
  const to = find();
  near.set(spec, to);
  return to;

  function find() {
    if (!isRelative) return isNodes ? "node:" : UNSURE;
    return way.includes("t") ? UNSURE : relative(state, folder, spec.replaceAll("\\", "/"));
  }
}

function relative(state: State, folder: string, spec: string): string | undefined {
  const { names } = state;
  const at = join(folder, spec);
  if (at === undefined || IN_NODE_MODULES.test(at)) return "";
  const isFolder = /(?:^|\/)(?:\.\.?)?$/.test(spec) || !at;
  const to = isFolder ? undefined : fileAt(names, at);
  if (to !== undefined) return to;
  if (names.has(under(at, "package.json"))) return UNSURE;
  const index = withExtension(names, under(at, "index"), "");
  if (index !== undefined) return index;
  if (!isFolder && names.has(at)) return at; // a picture, a style sheet
  const query = spec.search(/[?#]/);
  return query > 0 ? relative(state, folder, spec.slice(0, query)) : undefined;
}

function fileAt(names: ReadonlySet<string>, at: string): string | undefined {
  const dot = at.indexOf(".", at.lastIndexOf("/") + 1);
  const extension = dot < 0 ? "" : (EXTENSION.exec(at)?.[0] ?? at.slice(at.lastIndexOf(".")));
  const swapped = extension && withExtension(names, at.slice(0, -extension.length), extension);
  return swapped || withExtension(names, at, "");
}
function withExtension(
  names: ReadonlySet<string>,
  base: string,
  extension: string,
): string | undefined {
  const tried = EXTENSIONS.get(extension) ?? [`.d${extension}.ts`];
  return tried.map((one) => base + one).find((one) => names.has(one));
}
const EXTENSION = /\.(?:d\.[cm]?ts|[cm]?[jt]s|[jt]sx|json)$/;
/** The extensions that one in an import may stand for, in TypeScript's order. */
const EXTENSIONS = new Map<string, readonly string[]>([
  ...[".mjs", ".mts", ".d.mts"].map((name) => [name, [".mts", ".d.mts", ".mjs"]] as const),
  ...[".cjs", ".cts", ".d.cts"].map((name) => [name, [".cts", ".d.cts", ".cjs"]] as const),
  ...["", ".ts", ".d.ts", ".js"].map(
    (name) => [name, [".ts", ".tsx", ".d.ts", ".js", ".jsx"]] as const,
  ),
  ...[".tsx", ".jsx"].map((name) => [name, [".tsx", ".ts", ".d.ts", ".jsx", ".js"]] as const),
  [".json", [".d.json.ts", ".json"]],
]);

/** The files that a package.json names. */
function mainsOf(folder: string, { names, packageIn, sourceOf }: Disk): string[] {
  const { main, module, types, typings, bin, exports } = packageIn(folder) ?? {};
  const named: string[] = [];
  JSON.stringify([main, module, types, typings, bin, exports], (_, value) => {
    if (typeof value === "string") named.push(value);
    return value;
  });
  return named.flatMap((text) => {
    const at = join(folder, text);
    if (at === undefined || text.includes("*")) return [];
    const [to] = [at, `${at}.js`, `${at}/index.js`].flatMap((one) =>
      names.has(one) ? one : (sourceOf(one, [], true) ?? []),
    );
    return to !== undefined && SCRIPT.test(to) ? [to] : [];
  });
}
