// Which tsconfig.json or jsconfig.json a file belongs to, and what it says.
import { type Dirent, readdirSync } from "node:fs";
import { dirname } from "node:path/posix";
import { ts } from "ts-morph";
import { internals } from "./compiler.ts";
import { isInProject, stampOf } from "./disk.ts";
import type { Config, Slice, State } from "./state.ts";
import { tryTo } from "./words.ts";

/** A file's imports are resolved by its own config, whoever asks: a package in a monorepo has its own paths. */
export function configFor(state: State, slice: Slice, file: string): Config {
  if (!isInProject(state, file)) return slice.config;
  const own = configOf(state, file);
  return own.path ? own : slice.config;
}

export function configOf(state: State, file: string): Config {
  const config = configIn(state, dirname(file));
  return config.parts.find(({ files }) => files?.has(file)) ?? config;
}

function configIn(state: State, folder: string): Config {
  let found = state.configs.get(folder);
  if (found) return found;
  const own = ["tsconfig.json", "jsconfig.json"].map((name) => `${folder}/${name}`);
  for (const path of own) state.settings.set(path, stampOf(state, path));
  const path = own.find(state.disk.fileExists);
  if (path) found = readConfig(state, path);
  else if (folder === state.root || !folder.startsWith(`${state.root}/`))
    found = newConfig(state, "", NO_CONFIG_OPTIONS);
  else found = configIn(state, dirname(folder));
  state.configs.set(folder, found);
  return found;
}

function readConfig(state: State, path: string, isPart = false): Config {
  const json = ts.readJsonConfigFile(path, state.disk.readFile);
  const { options, projectReferences = [], raw } = readOptions(state, path, json, state.disk.readDirectory);
  for (const source of [path, ...(json.extendedSourceFiles ?? [])]) state.settings.set(source, stampOf(state, source));
  const defaults = versionInstalled(state, dirname(path)) < 6 ? DEFAULTS_BEFORE_6 : {};
  const declaration = options.declaration ?? options.composite ?? false;
  const config = newConfig(state, path, { ...defaults, ...options, declaration, ...FORCED_OPTIONS });
  if (isPart || raw?.files?.length !== 0) return config;
  const parts = projectReferences
    .map((reference) => ts.resolveProjectReferencePath(reference))
    .filter(state.disk.fileExists);
  config.parts = parts.map((part) => ({ ...readConfig(state, part, true), files: filesOf(state, part) }));
  return config;
}

export function filesOf(state: State, path: string): Set<string> {
  const json = ts.readJsonConfigFile(path, state.disk.readFile);
  return new Set(readOptions(state, path, json, (...walk) => filesIn(state, ...walk)).fileNames);
}

/** As TypeScript walks through folders. */
function filesIn(
  state: State,
  ...[folder, extensions, excludes, includes, depth]: Parameters<typeof ts.sys.readDirectory>
) {
  return internals.matchFiles(
    ...[folder, extensions, excludes, includes, state.disk.useCaseSensitiveFileNames, state.root, depth],
    (at) => {
      const entries = state.gate.mayList(at) ? (tryTo(() => readdirSync(at, { withFileTypes: true })) ?? []) : [];
      const isFolder = (one: Dirent) => state.disk.directoryExists(`${at}/${one.name}`);
      const [directories, files] = [entries.filter(isFolder), entries.filter((one) => !isFolder(one))];
      return { files: files.map(({ name }) => name).sort(), directories: directories.map(({ name }) => name).sort() };
    },
    state.disk.realpath,
  );
}

function readOptions(
  state: State,
  path: string,
  json: ts.TsConfigSourceFile,
  readDirectory: typeof ts.sys.readDirectory,
) {
  return ts.parseJsonSourceFileConfigFileContent(
    json,
    { ...state.disk, readDirectory },
    dirname(path),
    undefined,
    path,
  );
}

function newConfig(state: State, path: string, options: ts.CompilerOptions): Config {
  for (const folder of new Set([state.root, dirname(path || `${state.root}/.`)]))
    for (const name of INSTALLED) state.installed.set(`${folder}/${name}`, stampOf(state, `${folder}/${name}`));
  return { path, options, cache: newCache(state, options), parts: [] };
}

export function newCache(state: State, options: ts.CompilerOptions): ts.ModuleResolutionCache {
  const canonical = (path: string) => (state.disk.useCaseSensitiveFileNames ? path : path.toLowerCase());
  return ts.createModuleResolutionCache(state.root, canonical, options);
}

/** The version of the project's own TypeScript; 6 if it has none. */
function versionInstalled(state: State, folder: string): number {
  const text = state.disk.readFile(`${folder}/node_modules/typescript/package.json`);
  if (text) return Number.parseInt(tryTo(() => JSON.parse(text).version) ?? "6", 10);
  return folder.startsWith(`${state.root}/`) ? versionInstalled(state, dirname(folder)) : 6;
}

const FORCED_OPTIONS: ts.CompilerOptions = {
  ...{ allowJs: true, noEmit: true, skipLibCheck: true, composite: false, incremental: false, rootDir: undefined },
  ...{ outDir: undefined, outFile: undefined, declarationDir: undefined, tsBuildInfoFile: undefined },
};
const NO_CONFIG_OPTIONS: ts.CompilerOptions = {
  ...{ target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext, strict: true, jsx: ts.JsxEmit.Preserve },
  ...{ moduleResolution: ts.ModuleResolutionKind.Bundler, allowImportingTsExtensions: true, resolveJsonModule: true },
  ...{ lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"], types: ["*"], ...FORCED_OPTIONS },
};
/** The defaults of older versions, for projects that rely on them. */
const DEFAULTS_BEFORE_6: ts.CompilerOptions = { strict: false, types: ["*"], noUncheckedSideEffectImports: false };
const INSTALLED = [
  "package.json",
  ...["", "/.package-lock.json", "/.modules.yaml"].map((name) => `node_modules${name}`),
];
