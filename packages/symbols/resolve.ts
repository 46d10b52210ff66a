// Where imports lead, as TypeScript resolves them. Nearby files are found among the names of the
// project's files alone; resolve/typescript.ts asks TypeScript for the rest, and its answers are
// kept until something changes.
import crypto from "node:crypto";
import fs from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import type { CompilerGate } from "zz";
import { openImportFinder } from "./languages/find-imports.ts";
import { isComponent, languageOf } from "./languages/table.ts";
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
import type { AskedImport, Disk, ImportForm, Kept, Resolver } from "./resolve/resolver-types.ts";
import type { Modules } from "./resolve/typescript.ts";

export { isUnchanged } from "./resolve/disk.ts";
export { cycles, entryPoints, graphOf, hubs } from "./resolve/graph.ts";
export { folderOf } from "./resolve/paths.ts";
export type { Edge, Graph, ImportForm as How, Kept, Resolver } from "./resolve/resolver-types.ts";

/** A folder with the tsconfig.json that applies to it. */
interface ConfigScope {
  folder: string;
  config: string | undefined;
  // p: paths or baseUrl; t: everything needs TypeScript; undefined: not read yet
  letters: string | undefined;
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
  scopes: Map<string, ConfigScope>; // by folder
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
  const { disk, seenStamps, isFresh } = openDisk(root, names, kept, gate);
  const isSame = isFresh && kept!.names === hash;
  const knownCount = seenStamps.size;
  const ways = new Map(isFresh ? Object.entries(kept!.ways) : []);
  const answers = new Map(isSame ? Object.entries(kept!.found) : []);
  const state: State = {
    names,
    parentConfig,
    disk,
    ways,
    found: answers,
    scopes: new Map(),
    hasNewAnswers: false,
  };
  const others = openImportFinder(list, (name) => disk.read(`${disk.root}/${name}`));
  const keep = () => ({
    names: hash,
    seen: Object.fromEntries(seenStamps),
    ways: Object.fromEntries(ways),
    found: Object.fromEntries(answers),
  });
  return {
    prepare: (files) => prepare(state, files),
    others: (file, asked) => (isOther(file) ? others(file, asked) : undefined),
    resolve: (file, asked) => resolveImport(state, file, asked),
    packages: () =>
      list
        .filter((name) => /(?:^|\/)package\.json$/.test(name))
        .map((name) => ({ folder: folderOf(name), mains: mainsOf(folderOf(name), disk) })),
    kept: () => (isSame && !state.hasNewAnswers && seenStamps.size === knownCount ? kept! : keep()),
  };
}

/** In another language, which TypeScript knows nothing of. */
const isOther = (file: string): boolean => !!languageOf(file) && !isComponent(file);

async function prepare(state: State, files: Parameters<Resolver["prepare"]>[0]): Promise<void> {
  for (const [file, imports] of files) {
    if (!imports.length || isOther(file)) continue;
    const scope = scopeOf(state, folderOf(file));
    scope.letters ??= await lettersOf(state, scope.config!);
    for (const { from, how: importForm } of imports) {
      const key = keyOf(file, from, importForm);
      if (findNearby(state, scope, from) !== UNSURE || state.found.has(key)) continue;
      state.hasNewAnswers = true;
      state.found.set(
        key,
        (await loadModules(state)).answer(file, from, importForm, scope.config) ?? null,
      );
    }
  }
}

function resolveImport(
  state: State,
  file: string,
  { from, how: importForm }: AskedImport,
): string | undefined {
  const scope = scopeOf(state, folderOf(file));
  const to = scope.letters === undefined ? UNSURE : findNearby(state, scope, from);
  if (to !== UNSURE) return to;
  const answer = state.found.get(keyOf(file, from, importForm));
  if (answer === undefined)
    throw new Error(`Cannot resolve '${from}' in '${file}': prepare() was not asked for it.`);
  if (!answer && isBuiltin(from)) return "node:";
  return answer ?? undefined;
}

/**
 * The conditions of `exports` depend on whether the import is a require() and on the kind of its
 * file.
 */
function keyOf(file: string, spec: string, importForm: ImportForm): string {
  const [, moduleLetter = ""] = /\.([cm])[jt]s$/.exec(file) ?? [];
  return `${KEY_LETTERS[importForm] ?? "i"}${moduleLetter}\n${folderOf(file)}\n${spec}`;
}

const KEY_LETTERS: Partial<Record<ImportForm, string>> = { require: "r", dynamic: "d" };

function scopeOf(state: State, folder: string): ConfigScope {
  const earlier = state.scopes.get(folder);
  if (earlier) return earlier;
  const configs = [...upwards(folder)].flatMap((up) => CONFIGS.map((name) => under(up, name)));
  const config = configs.find((name) => state.names.has(name)) ?? state.parentConfig;
  const scope = {
    folder,
    config,
    letters: config === undefined ? "" : state.ways.get(config),
    near: new Map(),
  };
  state.scopes.set(folder, scope);
  return scope;
}
const CONFIGS = ["tsconfig.json", "jsconfig.json"];

async function lettersOf(state: State, config: string): Promise<string> {
  const earlier = state.ways.get(config);
  if (earlier !== undefined) return earlier;
  state.hasNewAnswers = true;
  const letters = (await loadModules(state)).configLetters(config);
  state.ways.set(config, letters);
  return letters;
}

async function loadModules(state: State): Promise<Modules> {
  if (state.modules) return state.modules;
  const { openModules } = await import("./resolve/typescript.ts");
  return (state.modules = openModules(state.disk));
}

/** A project inside a repository may use a tsconfig.json above it. */
function configAbove(root: string, mayRead: (file: string) => boolean): string | undefined {
  let nearest: string | undefined;
  for (let folder = root; ; folder = path.dirname(folder)) {
    if (folder !== root)
      nearest ??= CONFIGS.map((name) => path.join(folder, name)).find(
        (file) => fs.existsSync(file) && mayRead(file),
      );
    if (fs.existsSync(path.join(folder, ".git"))) return nearest && slashes(nearest);
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** Without TypeScript, or UNSURE. */
function findNearby(
  state: State,
  { folder, letters = "t", near }: ConfigScope,
  spec: string,
): string | undefined {
  if (near.has(spec)) return near.get(spec);
  const isNodes = spec.startsWith("node:") || (isBuiltin(spec) && !letters);
  const isRelative = /^\.\.?(?:$|[\\/])/.test(spec);
  const to = find();
  near.set(spec, to);
  return to;

  function find() {
    if (!isRelative) return isNodes ? "node:" : UNSURE;
    return letters.includes("t")
      ? UNSURE
      : resolveRelative(state, folder, spec.replaceAll("\\", "/"));
  }
}

function resolveRelative(state: State, folder: string, spec: string): string | undefined {
  const { names } = state;
  const target = join(folder, spec);
  if (target === undefined || IN_NODE_MODULES.test(target)) return "";
  const isFolder = /(?:^|\/)(?:\.\.?)?$/.test(spec) || !target;
  const to = isFolder ? undefined : fileAt(names, target);
  if (to !== undefined) return to;
  if (names.has(under(target, "package.json"))) return UNSURE;
  const index = withExtension(names, under(target, "index"), "");
  if (index !== undefined) return index;
  if (!isFolder && names.has(target)) return target; // a picture, a style sheet
  const query = spec.search(/[?#]/);
  return query > 0 ? resolveRelative(state, folder, spec.slice(0, query)) : undefined;
}

function fileAt(names: ReadonlySet<string>, base: string): string | undefined {
  const dot = base.indexOf(".", base.lastIndexOf("/") + 1);
  const extension = dot < 0 ? "" : (EXTENSION.exec(base)?.[0] ?? base.slice(base.lastIndexOf(".")));
  const swapped = extension && withExtension(names, base.slice(0, -extension.length), extension);
  return swapped || withExtension(names, base, "");
}
function withExtension(
  names: ReadonlySet<string>,
  base: string,
  extension: string,
): string | undefined {
  const tried = EXTENSIONS.get(extension) ?? [`.d${extension}.ts`];
  return tried.map((ending) => base + ending).find((file) => names.has(file));
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
    const target = join(folder, text);
    if (target === undefined || text.includes("*")) return [];
    const [to] = [target, `${target}.js`, `${target}/index.js`].flatMap((candidate) =>
      names.has(candidate) ? candidate : (sourceOf(candidate, [], true) ?? []),
    );
    return to !== undefined && SCRIPT.test(to) ? [to] : [];
  });
}
