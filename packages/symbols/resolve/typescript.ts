// Imports that only TypeScript can resolve: tsconfig.json, packages, their exports. In dist/ it is
// bundled with TypeScript's parser alone, so whatever comes after it, from the binder on, is
// missing (see build/typescript.js).
import path from "node:path";
import { ts } from "ts-morph";
import { parseJson, realOf } from "./disk.ts";
import { folderOf, foldersOf, upwards } from "./paths.ts";
import type { Disk, ImportForm, Json } from "./resolver-types.ts";

export interface Modules {
  configLetters(config: string): string;
  answer(file: string, spec: string, importForm: ImportForm, config?: string): string | undefined;
}

interface Config {
  options: ts.CompilerOptions;
  out: [from: string, to: string][]; // relative to the project
  covers: [folder: string, deep: boolean][];
  references: string[]; // of a tsconfig.json without files of its own
  caches: Map<View, ts.ModuleResolutionCache>;
}
/** The file system as TypeScript sees it. */
interface View {
  host: ts.ModuleResolutionHost;
  local(file: string): string | undefined;
  source(name: string): string | undefined; // of a file in the project
  over: ts.CompilerOptions;
}

const MAX_EXTENDED_CONFIGS = 500; // configs that one may extend
const DEFAULTS: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowJs: true,
  resolveJsonModule: true,
  allowImportingTsExtensions: true,
};
/** Missing from the types, though TypeScript's own tools use them. */
const { getEmitModuleKind, getEmitModuleResolutionKind } = ts as unknown as {
  getEmitModuleKind(options: ts.CompilerOptions): ts.ModuleKind;
  getEmitModuleResolutionKind(options: ts.CompilerOptions): ts.ModuleResolutionKind;
};

type Workspaces = Pick<State, "disk" | "workspaces">;

/** What is kept while it is open. */
interface State {
  disk: Disk;
  folders: Set<string>; // that contain files of the project
  configs: Map<string | undefined, Config>;
  workspaces?: Map<string, string>; // packages of the project by name
  out: Config["out"]; // of the current question
  views: Record<"asItIs" | "asIfBuilt" | "asIfInstalled", View>;
}

export function openModules(disk: Disk): Modules {
  const { names, local, sourceOf } = disk;
  const state: Omit<State, "views"> = {
    disk,
    folders: foldersOf(names),
    configs: new Map(),
    out: [],
  };
  const asBundler = { moduleResolution: ts.ModuleResolutionKind.Bundler };
  const views: State["views"] = {
    asItIs: viewOf(state, {
      local,
      source: (name) => (names.has(name) ? name : undefined),
      hasFolder: (name) => state.folders.has(name),
      over: {},
    }),
    asIfBuilt: viewOf(state, {
      local,
      source: (name) => (names.has(name) ? name : sourceOf(name, state.out)),
      hasFolder: () => true,
      over: asBundler,
    }),
    asIfInstalled: viewOf(state, {
      local: (file) => workspaceFile(state, file),
      source: (name) => (names.has(name) ? name : sourceOf(name, state.out, true)),
      hasFolder: () => true,
      hasModules: true,
      over: { ...asBundler, paths: undefined, baseUrl: undefined },
    }),
  };
  const open: State = Object.assign(state, { views });
  return {
    configLetters: (name) => wayOf(open, name),
    answer: (file, spec, importForm, name) => answer(open, file, spec, importForm, name),
  };
}

function wayOf(state: State, name: string): string {
  const config = configOf(state, name);
  const letters = [config, ...config.references.map((name) => configOf(state, name))]
    .map(({ options }) => lettersOf(options))
    .join("");
  return [..."pt"].filter((letter) => letters.includes(letter)).join("");
}

function answer(
  state: State,
  file: string,
  spec: string,
  importForm: ImportForm,
  name?: string,
): string | undefined {
  const config = configFor(state, file, name);
  const mode = modeOf(state, file, importForm, config.options);
  ({ out: state.out } = config);
  const to = ask(state.views.asItIs);
  const projectPath = to === undefined ? undefined : pathInProject(state, to, state.views.asItIs);
  if (projectPath !== undefined && state.disk.names.has(projectPath))
    return (
      (isBuilt(state, projectPath) ? state.disk.sourceOf(projectPath, state.out) : undefined) ??
      projectPath
    );
  if (to !== undefined && projectPath === undefined) return ""; // in node_modules
  for (const view of viewsFor(state, spec, config.options)) {
    const there = ask(view);
    const source = there === undefined ? undefined : pathInProject(state, there, view);
    const sourceFile = source === undefined ? undefined : view.source(source);
    if (sourceFile !== undefined) return sourceFile;
  }
  return to !== undefined || /^[a-z][a-z\d+.-]+:/i.test(spec) || isDeclared(state, file, spec)
    ? ""
    : undefined;

  function ask(view: View): string | undefined {
    const options = { ...config.options, ...view.over };
    try {
      const { resolvedModule } = ts.resolveModuleName(
        ...([
          spec,
          `${state.disk.root}/${file}`,
          options,
          view.host,
          cacheFor(state, config, view),
          undefined,
          mode,
        ] as const),
      );
      return resolvedModule?.resolvedFileName;
    } catch {
      // TypeScript trusts package.json: a number where it expects a name makes it throw
      return undefined;
    }
  }
}

function cacheFor(state: State, { caches, options }: Config, view: View): ts.ModuleResolutionCache {
  const cache =
    caches.get(view) ?? ts.createModuleResolutionCache(state.disk.root, (name) => name, options);
  caches.set(view, cache);
  return cache;
}

/** The path in the project; a workspace's package is linked into node_modules. */
function pathInProject(state: State, file: string, { local }: View): string | undefined {
  return local(file) ?? state.disk.local(realOf(file));
}

function isBuilt(state: State, file: string): boolean {
  return state.out.some(([from]) => file.startsWith(`${from}/`));
}

/**
 * Further views for what may be in the project, though not where its package.json or tsconfig.json
 * says.
 */
function viewsFor(state: State, spec: string, { paths, baseUrl }: ts.CompilerOptions): View[] {
  const isPackage = spec.startsWith("#") || workspaces(state).has(packageOf(spec));
  return [
    ...(paths || baseUrl || /^[./]/.test(spec) ? [state.views.asIfBuilt] : []),
    ...(isPackage ? [state.views.asIfInstalled] : []),
  ];
}

function isDeclared(state: State, file: string, spec: string): boolean {
  const kinds = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
  return [...upwards(folderOf(file))].some((up) => {
    const manifest = state.disk.names.has(up ? `${up}/package.json` : "package.json")
      ? state.disk.packageIn(up)
      : undefined;
    return kinds.some((dependencyKind) =>
      Object.hasOwn(Object(manifest?.[dependencyKind]), packageOf(spec)),
    );
  });
}

/** Within the project only the listed files exist: what git ignores is not there. */
function viewOf(
  state: Pick<State, "disk">,
  {
    local,
    source,
    hasFolder,
    hasModules = false,
    over,
  }: Omit<View, "host"> & {
    hasFolder(name: string): boolean;
    hasModules?: boolean; // node_modules exists, installed or not
  },
): View {
  const { root, isFile, isFolder } = state.disk;
  const host: ts.ModuleResolutionHost = {
    ...readingOf(state),
    fileExists(file) {
      const projectPath = local(file);
      return projectPath === undefined ? isFile(file) : source(projectPath) !== undefined;
    },
    directoryExists(file) {
      if (hasModules && file === `${root}/node_modules`) return true;
      const projectPath = local(file);
      return projectPath === undefined ? isFolder(file) : hasFolder(projectPath);
    },
    readFile(file) {
      const projectPath = local(file);
      return readFile(state, projectPath === undefined ? file : `${root}/${projectPath}`);
    },
    realpath: (file) => (local(file) === undefined ? realOf(file) : file),
  };
  return { host, local, source, over };
}

/** A package of the project counts as being in node_modules, installed or not. */
function workspaceFile(state: Workspaces, file: string): string | undefined {
  const [, name, remainder = ""] =
    /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(file) ?? [];
  if (name === undefined) return state.disk.local(file);
  const folder = workspaces(state).get(name);
  return folder === undefined ||
    state.disk.local(file.slice(0, file.lastIndexOf("/node_modules/"))) === undefined
    ? state.disk.local(file)
    : (folder + remainder).replace(/^\/|\/$/g, "");
}

function workspaces(state: Workspaces): Map<string, string> {
  if (state.workspaces) return state.workspaces;
  const packageFolders = [...state.disk.names]
    .filter((name) => /(?:^|\/)package\.json$/.test(name) && !TEST_PACKAGE.test(name))
    .map(folderOf);
  packageFolders.sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1));
  state.workspaces = new Map();
  for (const folder of packageFolders) {
    const name = state.disk.packageIn(folder)?.name;
    if (typeof name === "string" && name && !state.workspaces.has(name))
      state.workspaces.set(name, folder);
  }
  return state.workspaces;
}

const readingOf = (state: Pick<State, "disk">) => ({
  readFile: (file: string) => readFile(state, file),
  realpath: realOf,
  getCurrentDirectory: () => state.disk.root,
  useCaseSensitiveFileNames: true,
});

/**
 * TypeScript follows `imports` from one "#name" to the next, in circles and with doubling work;
 * Node follows none.
 */
function readFile(state: Pick<State, "disk">, file: string): string | undefined {
  const text = state.disk.read(file);
  if (!text || !file.endsWith("/package.json") || !/"#[^"]*"\s*[,\]}]/.test(text)) return text;
  const { imports: _, ...otherFields } = parseJson(text) ?? {};
  return JSON.stringify(otherFields);
}

function configFor(state: State, file: string, name: string | undefined): Config {
  const config = configOf(state, name);
  const folder = folderOf(file);
  const covers = (candidate: Config) =>
    candidate.covers.some(
      ([covered, deep]) =>
        covered === folder || (deep && (!covered || folder.startsWith(`${covered}/`))),
    );
  return config.references.map((name) => configOf(state, name)).find(covers) ?? config;
}

function configOf(state: State, name: string | undefined): Config {
  const opened = state.configs.get(name);
  if (opened) return opened;
  const config = readConfig(state, name);
  state.configs.set(name, config);
  return config;
}

function readConfig(state: State, name: string | undefined): Config {
  const file = name === undefined || path.isAbsolute(name) ? name : `${state.disk.root}/${name}`;
  let parsed: Partial<ts.ParsedCommandLine> = {};
  try {
    if (file !== undefined) parsed = parse(state, file);
  } catch {} // broken beyond repair: as if there were none
  // Without outDir: given one, TypeScript looks for the source of a built file with its emitter,
  // which is not there.
  const { outDir, declarationDir, rootDir, ...otherOptions } = parsed.options ?? DEFAULTS;
  const options: ts.CompilerOptions = { resolveJsonModule: true, ...otherOptions };
  delete options.traceResolution;
  const source = localPath(state, rootDir ?? (file && folderOf(file)));
  return {
    options,
    out: [outDir, declarationDir]
      .map((file) => localPath(state, file))
      .flatMap((from) =>
        from && source !== undefined ? [[from, source] as [string, string]] : [],
      ),
    covers: Object.entries(parsed.wildcardDirectories ?? {}).flatMap(([folder, deep]) => {
      const projectFolder = localPath(state, folder);
      return projectFolder === undefined
        ? []
        : [[projectFolder, deep === ts.WatchDirectoryFlags.Recursive] as [string, boolean]];
    }),
    references: hasNoFiles(parsed.raw) ? referencesOf(state, parsed) : [],
    caches: new Map(),
  };
}

function parse(state: State, file: string): ts.ParsedCommandLine {
  let remaining = MAX_EXTENDED_CONFIGS;
  const host: ts.ParseConfigHost & Pick<ts.ModuleResolutionHost, "directoryExists" | "realpath"> = {
    ...readingOf(state),
    readFile: (name) => (remaining-- > 0 ? state.disk.read(name) : undefined),
    fileExists: state.disk.isFile,
    directoryExists: state.disk.isFolder,
    readDirectory: () => [],
  };
  const { config } = ts.readConfigFile(file, state.disk.read);
  // each is read once, though many may extend it; in a circle it is read half
  const extended = new Map();
  return ts.parseJsonConfigFileContent(
    config ?? {},
    host,
    folderOf(file),
    {},
    file,
    [],
    [],
    extended,
  );
}

function localPath(state: State, file: string | undefined): string | undefined {
  return file === undefined ? undefined : state.disk.local(file);
}

function referencesOf(
  state: State,
  { projectReferences = [] }: Partial<ts.ParsedCommandLine>,
): string[] {
  return projectReferences
    .map(({ path }) => (path.endsWith(".json") ? path : `${path}/tsconfig.json`))
    .map((path) => state.disk.local(path) ?? path);
}

/** Like getModeForUsageLocation(), which is not in the parser. */
function modeOf(
  state: State,
  file: string,
  importForm: ImportForm,
  options: ts.CompilerOptions,
): ts.ResolutionMode {
  const { CommonJS, ESNext, ES2015, Node16, NodeNext, Preserve } = ts.ModuleKind;
  if (getEmitModuleResolutionKind(options) < ts.ModuleResolutionKind.Node16) return undefined;
  if (importForm === "require") return CommonJS;
  const moduleKind = getEmitModuleKind(options);
  const isNode = Node16 <= moduleKind && moduleKind <= NodeNext;
  const [, named] = /\.([cm])[jt]s$/.exec(file) ?? [];
  const isEsm = named ? named === "m" : isNode && isModule(state, file);
  const moduleFormat = isEsm ? ESNext : CommonJS;
  const format = named || isNode ? moduleFormat : moduleKind;
  if (importForm === "dynamic")
    return isNode || moduleKind === Preserve || format >= ES2015 ? ESNext : CommonJS;
  if (format === CommonJS) return CommonJS;
  return (ES2015 <= format && format <= ESNext) || format === Preserve ? ESNext : undefined;
}

function isModule(state: State, file: string): boolean {
  for (const up of upwards(folderOf(file)))
    if (state.disk.names.has(up ? `${up}/package.json` : "package.json"))
      return state.disk.packageIn(up)?.type === "module";
  for (let up = folderOf(state.disk.root); up; up = folderOf(up))
    if (state.disk.isFile(`${up}/package.json`))
      return (
        (parseJson(state.disk.read(`${up}/package.json`)) as Json | undefined)?.type === "module"
      );
  return false;
}

/** Packages made for tests: no import means them. */
const TEST_PACKAGE =
  /(?:^|\/)(?:node_modules|__\w+__|fixtures?|testdata)\/(?:[^/]+\/)+package\.json$/;

function lettersOf({
  paths,
  baseUrl,
  rootDirs,
  moduleSuffixes,
  ...options
}: ts.CompilerOptions): string {
  const resolutionKind = getEmitModuleResolutionKind(options);
  const isOlder =
    resolutionKind === ts.ModuleResolutionKind.Classic ||
    resolutionKind === ts.ModuleResolutionKind.Node10;
  return (
    (paths || baseUrl ? "p" : "") +
    (rootDirs?.length || moduleSuffixes?.length || isOlder ? "t" : "")
  );
}

/** As in templates: a tsconfig.json that only names others. */
const hasNoFiles = (raw: Json | undefined): boolean =>
  Array.isArray(raw?.files) && raw.files.length === 0 && raw.include === undefined;

const packageOf = (spec: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(spec)?.[0] ?? spec;
