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
  listedNames: readonly string[],
  keptAnswers?: Kept,
  gate?: CompilerGate,
): Resolver {
  const names = new Set(listedNames);
  const parentConfig = configAbove(root, (configFile) => gate?.mayLookUp(configFile) !== false);
  const namesHash = crypto.hash("sha256", [parentConfig, ...listedNames].join("\n")).slice(0, 32);
  const { disk, seenStamps, isFresh } = openDisk(root, names, keptAnswers, gate);
  const isSameList = isFresh && keptAnswers!.names === namesHash;
  const knownCount = seenStamps.size;
  const ways = new Map(isFresh ? Object.entries(keptAnswers!.ways) : []);
  const answers = new Map(isSameList ? Object.entries(keptAnswers!.found) : []);
  const state: State = {
    names,
    parentConfig,
    disk,
    ways,
    found: answers,
    scopes: new Map(),
    hasNewAnswers: false,
  };
  const findOthers = openImportFinder(listedNames, (fileName) =>
    disk.read(`${disk.root}/${fileName}`),
  );
  const packAnswers = () => ({
    names: namesHash,
    seen: Object.fromEntries(seenStamps),
    ways: Object.fromEntries(ways),
    found: Object.fromEntries(answers),
  });
  return {
    prepare: (askedFiles) => prepare(state, askedFiles),
    others: (importer, askedImport) =>
      isOther(importer) ? findOthers(importer, askedImport) : undefined,
    resolve: (importer, askedImport) => resolveImport(state, importer, askedImport),
    packages: () =>
      listedNames
        .filter((fileName) => /(?:^|\/)package\.json$/.test(fileName))
        .map((fileName) => ({
          folder: folderOf(fileName),
          mains: mainsOf(folderOf(fileName), disk),
        })),
    kept: () =>
      isSameList && !state.hasNewAnswers && seenStamps.size === knownCount
        ? keptAnswers!
        : packAnswers(),
  };
}

/** In another language, which TypeScript knows nothing of. */
const isOther = (filePath: string) => !!languageOf(filePath) && !isComponent(filePath);

async function prepare(
  state: State,
  askedFiles: Parameters<Resolver["prepare"]>[0],
): Promise<void> {
  for (const [importer, imports] of askedFiles) {
    if (!imports.length || isOther(importer)) continue;
    const configScope = scopeOf(state, folderOf(importer));
    configScope.letters ??= await lettersOf(state, configScope.config!);
    for (const { from, how: importForm } of imports) {
      const importKey = importKeyOf(importer, from, importForm);
      if (findNearby(state, configScope, from) !== UNSURE || state.found.has(importKey)) continue;
      state.hasNewAnswers = true;
      state.found.set(
        importKey,
        (await loadModules(state)).answer(importer, from, importForm, configScope.config) ?? null,
      );
    }
  }
}

function resolveImport(
  state: State,
  importer: string,
  { from, how: importForm }: AskedImport,
): string | undefined {
  const configScope = scopeOf(state, folderOf(importer));
  const target = configScope.letters === undefined ? UNSURE : findNearby(state, configScope, from);
  if (target !== UNSURE) return target;
  const keptAnswer = state.found.get(importKeyOf(importer, from, importForm));
  if (keptAnswer === undefined)
    throw new Error(`Cannot resolve '${from}' in '${importer}': prepare() was not asked for it.`);
  if (!keptAnswer && isBuiltin(from)) return "node:";
  return keptAnswer ?? undefined;
}

/**
 * The conditions of `exports` depend on whether the import is a require() and on the kind of its
 * file.
 */
function importKeyOf(importer: string, specifier: string, importForm: ImportForm): string {
  const [, moduleLetter = ""] = /\.([cm])[jt]s$/.exec(importer) ?? [];
  return `${KEY_LETTERS[importForm] ?? "i"}${moduleLetter}\n${folderOf(importer)}\n${specifier}`;
}

const KEY_LETTERS: Partial<Record<ImportForm, string>> = { require: "r", dynamic: "d" };

function scopeOf(state: State, folder: string): ConfigScope {
  const earlier = state.scopes.get(folder);
  if (earlier) return earlier;
  const configs = [...upwards(folder)].flatMap((ancestor) =>
    CONFIGS.map((configName) => under(ancestor, configName)),
  );
  const config = configs.find((configName) => state.names.has(configName)) ?? state.parentConfig;
  const configScope = {
    folder,
    config,
    letters: config === undefined ? "" : state.ways.get(config),
    near: new Map(),
  };
  state.scopes.set(folder, configScope);
  return configScope;
}
const CONFIGS = ["tsconfig.json", "jsconfig.json"];

async function lettersOf(state: State, configFile: string): Promise<string> {
  const earlier = state.ways.get(configFile);
  if (earlier !== undefined) return earlier;
  state.hasNewAnswers = true;
  const letters = (await loadModules(state)).configLetters(configFile);
  state.ways.set(configFile, letters);
  return letters;
}

async function loadModules(state: State): Promise<Modules> {
  if (state.modules) return state.modules;
  const { openModules } = await import("./resolve/typescript.ts");
  return (state.modules = openModules(state.disk));
}

/** A project inside a repository may use a tsconfig.json above it. */
function configAbove(root: string, mayRead: (configFile: string) => boolean): string | undefined {
  let nearest: string | undefined;
  for (let ancestor = root; ; ancestor = path.dirname(ancestor)) {
    if (ancestor !== root)
      nearest ??= CONFIGS.map((configName) => path.join(ancestor, configName)).find(
        (configFile) => fs.existsSync(configFile) && mayRead(configFile),
      );
    if (fs.existsSync(path.join(ancestor, ".git"))) return nearest && slashes(nearest);
    if (ancestor === path.dirname(ancestor)) return undefined;
  }
}

/** Without TypeScript, or UNSURE. */
function findNearby(
  state: State,
  { folder, letters = "t", near }: ConfigScope,
  specifier: string,
): string | undefined {
  if (near.has(specifier)) return near.get(specifier);
  const isNodes = specifier.startsWith("node:") || (isBuiltin(specifier) && !letters);
  const isRelative = /^\.\.?(?:$|[\\/])/.test(specifier);
  const target = findTarget();
  near.set(specifier, target);
  return target;

  function findTarget() {
    if (!isRelative) return isNodes ? "node:" : UNSURE;
    return letters.includes("t")
      ? UNSURE
      : resolveRelative(state, folder, specifier.replaceAll("\\", "/"));
  }
}

function resolveRelative(
  state: State,
  importerFolder: string,
  specifier: string,
): string | undefined {
  const { names } = state;
  const targetPath = join(importerFolder, specifier);
  if (targetPath === undefined || IN_NODE_MODULES.test(targetPath)) return "";
  const isFolder = /(?:^|\/)(?:\.\.?)?$/.test(specifier) || !targetPath;
  const targetFile = isFolder ? undefined : fileAt(names, targetPath);
  if (targetFile !== undefined) return targetFile;
  if (names.has(under(targetPath, "package.json"))) return UNSURE;
  const indexFile = withExtension(names, under(targetPath, "index"), "");
  if (indexFile !== undefined) return indexFile;
  if (!isFolder && names.has(targetPath)) return targetPath; // a picture, a style sheet
  const queryOffset = specifier.search(/[?#]/);
  return queryOffset > 0
    ? resolveRelative(state, importerFolder, specifier.slice(0, queryOffset))
    : undefined;
}

function fileAt(fileNames: ReadonlySet<string>, basePath: string): string | undefined {
  const dotOffset = basePath.indexOf(".", basePath.lastIndexOf("/") + 1);
  const extension =
    dotOffset < 0
      ? ""
      : (EXTENSION.exec(basePath)?.[0] ?? basePath.slice(basePath.lastIndexOf(".")));
  const swapped =
    extension && withExtension(fileNames, basePath.slice(0, -extension.length), extension);
  return swapped || withExtension(fileNames, basePath, "");
}
function withExtension(
  fileNames: ReadonlySet<string>,
  basePath: string,
  extension: string,
): string | undefined {
  const endings = EXTENSIONS.get(extension) ?? [`.d${extension}.ts`];
  return endings.map((ending) => basePath + ending).find((candidate) => fileNames.has(candidate));
}
const EXTENSION = /\.(?:d\.[cm]?ts|[cm]?[jt]s|[jt]sx|json)$/;
/** The extensions that one in an import may stand for, in TypeScript's order. */
const EXTENSIONS = new Map<string, readonly string[]>([
  ...[".mjs", ".mts", ".d.mts"].map(
    (extension) => [extension, [".mts", ".d.mts", ".mjs"]] as const,
  ),
  ...[".cjs", ".cts", ".d.cts"].map(
    (extension) => [extension, [".cts", ".d.cts", ".cjs"]] as const,
  ),
  ...["", ".ts", ".d.ts", ".js"].map(
    (extension) => [extension, [".ts", ".tsx", ".d.ts", ".js", ".jsx"]] as const,
  ),
  ...[".tsx", ".jsx"].map(
    (extension) => [extension, [".tsx", ".ts", ".d.ts", ".jsx", ".js"]] as const,
  ),
  [".json", [".d.json.ts", ".json"]],
]);

/** The files that a package.json names. */
function mainsOf(packageFolder: string, { names, packageIn, sourceOf }: Disk): string[] {
  const { main, module, types, typings, bin, exports } = packageIn(packageFolder) ?? {};
  const namedPaths: string[] = [];
  JSON.stringify([main, module, types, typings, bin, exports], (_, fieldValue) => {
    if (typeof fieldValue === "string") namedPaths.push(fieldValue);
    return fieldValue;
  });
  return namedPaths.flatMap((namedPath) => {
    const targetPath = join(packageFolder, namedPath);
    if (targetPath === undefined || namedPath.includes("*")) return [];
    const [mainFile] = [targetPath, `${targetPath}.js`, `${targetPath}/index.js`].flatMap(
      (candidate) => (names.has(candidate) ? candidate : (sourceOf(candidate, [], true) ?? [])),
    );
    return mainFile !== undefined && SCRIPT.test(mainFile) ? [mainFile] : [];
  });
}
