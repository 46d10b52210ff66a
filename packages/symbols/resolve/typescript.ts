// Imports that only TypeScript can resolve: tsconfig.json, packages, their exports. In dist/ it is
// bundled with TypeScript's parser alone, so whatever comes after it, from the binder on, is
// missing (see build/typescript.js).
import path from "node:path";
import { ts } from "ts-morph";
import { compare } from "zz/text";
import { parseJson, realOf } from "./disk.ts";
import { folderOf, foldersOf, upwards } from "./paths.ts";
import type { Disk, ImportForm, Json } from "./resolver-types.ts";

export interface Modules {
  configLetters(configName: string): string;
  answer(
    importer: string,
    specifier: string,
    importForm: ImportForm,
    configName?: string,
  ): string | undefined;
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
  local(filePath: string): string | undefined;
  source(projectPath: string): string | undefined; // of a file in the project
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
    asItIs: createView(disk, {
      local,
      source: (projectPath) => (names.has(projectPath) ? projectPath : undefined),
      hasFolder: (folderPath) => state.folders.has(folderPath),
      over: {},
    }),
    asIfBuilt: createView(disk, {
      local,
      source: (name) => (names.has(name) ? name : sourceOf(name, state.out)),
      hasFolder: () => true,
      over: asBundler,
    }),
    asIfInstalled: createView(disk, {
      local: (filePath) => workspaceFile(state, filePath),
      source: (name) => (names.has(name) ? name : sourceOf(name, state.out, true)),
      hasFolder: () => true,
      hasModules: true,
      over: { ...asBundler, paths: undefined, baseUrl: undefined },
    }),
  };
  const openState: State = Object.assign(state, { views });
  return {
    configLetters: (configName) => allLettersOf(openState, configName),
    answer: (importer, specifier, importForm, configName) =>
      answerImport(openState, importer, specifier, importForm, configName),
  };
}

function allLettersOf(state: State, configName: string): string {
  const config = configOf(state, configName);
  const letters = [config, ...config.references.map((reference) => configOf(state, reference))]
    .map(({ options }) => lettersOf(options))
    .join("");
  return [..."pt"].filter((letter) => letters.includes(letter)).join("");
}

function answerImport(
  state: State,
  importer: string,
  spec: string,
  importForm: ImportForm,
  configName?: string,
): string | undefined {
  const config = configFor(state, importer, configName);
  const resolutionMode = modeOf(state, importer, importForm, config.options);
  ({ out: state.out } = config);
  const to = resolveIn(state.views.asItIs);
  const projectPath = to === undefined ? undefined : pathInProject(state, to, state.views.asItIs);
  if (projectPath !== undefined && state.disk.names.has(projectPath))
    return (
      (isBuilt(state, projectPath) ? state.disk.sourceOf(projectPath, state.out) : undefined) ??
      projectPath
    );
  if (to !== undefined && projectPath === undefined) return ""; // in node_modules
  for (const view of viewsFor(state, spec, config.options)) {
    const viewFile = resolveIn(view);
    const viewPath = viewFile === undefined ? undefined : pathInProject(state, viewFile, view);
    const sourceFile = viewPath === undefined ? undefined : view.source(viewPath);
    if (sourceFile !== undefined) return sourceFile;
  }
  return to !== undefined || /^[a-z][a-z\d+.-]+:/i.test(spec) || isDeclared(state, importer, spec)
    ? ""
    : undefined;

  function resolveIn(view: View): string | undefined {
    const options = { ...config.options, ...view.over };
    try {
      const { resolvedModule } = ts.resolveModuleName(
        spec,
        `${state.disk.root}/${importer}`,
        options,
        view.host,
        cacheFor(state, config, view),
        undefined,
        resolutionMode,
      );
      return resolvedModule?.resolvedFileName;
    } catch {
      // TypeScript trusts package.json: a number where it expects a name makes it throw
      return undefined;
    }
  }
}

function cacheFor(state: State, { caches, options }: Config, view: View): ts.ModuleResolutionCache {
  const viewCache =
    caches.get(view) ??
    ts.createModuleResolutionCache(state.disk.root, (filePath) => filePath, options);
  caches.set(view, viewCache);
  return viewCache;
}

/** The path in the project; a workspace's package is linked into node_modules. */
function pathInProject(state: State, filePath: string, { local }: View): string | undefined {
  return local(filePath) ?? state.disk.local(realOf(filePath));
}

function isBuilt(state: State, filePath: string): boolean {
  return state.out.some(([outFolder]) => filePath.startsWith(`${outFolder}/`));
}

/**
 * Further views for what may be in the project, though not where its package.json or tsconfig.json
 * says.
 */
function viewsFor(state: State, specifier: string, { paths, baseUrl }: ts.CompilerOptions): View[] {
  const isPackage = specifier.startsWith("#") || workspaces(state).has(packageOf(specifier));
  return [
    ...(paths || baseUrl || /^[./]/.test(specifier) ? [state.views.asIfBuilt] : []),
    ...(isPackage ? [state.views.asIfInstalled] : []),
  ];
}

function isDeclared(state: State, importer: string, specifier: string): boolean {
  const dependencyKinds = [
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
  ];
  return [...upwards(folderOf(importer))].some((up) => {
    const manifest = state.disk.names.has(up ? `${up}/package.json` : "package.json")
      ? state.disk.packageIn(up)
      : undefined;
    return dependencyKinds.some((dependencyKind) =>
      Object.hasOwn(Object(manifest?.[dependencyKind]), packageOf(specifier)),
    );
  });
}

/** Within the project only the listed files exist: what git ignores is not there. */
function createView(
  disk: Disk,
  {
    local,
    source,
    hasFolder,
    hasModules = false,
    over,
  }: Omit<View, "host"> & {
    hasFolder(folderPath: string): boolean;
    hasModules?: boolean; // node_modules exists, installed or not
  },
): View {
  const { root, isFile, isFolder } = disk;
  const host: ts.ModuleResolutionHost = {
    ...readingOf(disk),
    fileExists(filePath) {
      const projectPath = local(filePath);
      return projectPath === undefined ? isFile(filePath) : source(projectPath) !== undefined;
    },
    directoryExists(filePath) {
      if (hasModules && filePath === `${root}/node_modules`) return true;
      const projectPath = local(filePath);
      return projectPath === undefined ? isFolder(filePath) : hasFolder(projectPath);
    },
    readFile(filePath) {
      const projectPath = local(filePath);
      return readFile(disk, projectPath === undefined ? filePath : `${root}/${projectPath}`);
    },
    realpath: (filePath) => (local(filePath) === undefined ? realOf(filePath) : filePath),
  };
  return { host, local, source, over };
}

/** A package of the project counts as being in node_modules, installed or not. */
function workspaceFile(state: Workspaces, file: string): string | undefined {
  const [, packageName, remainder = ""] =
    /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(file) ?? [];
  if (packageName === undefined) return state.disk.local(file);
  const packageFolder = workspaces(state).get(packageName);
  return packageFolder === undefined ||
    state.disk.local(file.slice(0, file.lastIndexOf("/node_modules/"))) === undefined
    ? state.disk.local(file)
    : (packageFolder + remainder).replace(/^\/|\/$/g, "");
}

function workspaces(state: Workspaces): Map<string, string> {
  if (state.workspaces) return state.workspaces;
  const packageFolders = [...state.disk.names]
    .filter((filePath) => /(?:^|\/)package\.json$/.test(filePath) && !TEST_PACKAGE.test(filePath))
    .map(folderOf);
  packageFolders.sort(
    (first, second) => first.split("/").length - second.split("/").length || compare(first, second),
  );
  state.workspaces = new Map();
  for (const packageFolder of packageFolders) {
    const name = state.disk.packageIn(packageFolder)?.name;
    if (typeof name === "string" && name && !state.workspaces.has(name))
      state.workspaces.set(name, packageFolder);
  }
  return state.workspaces;
}

const readingOf = (disk: Disk) => ({
  readFile: (filePath: string) => readFile(disk, filePath),
  realpath: realOf,
  getCurrentDirectory: () => disk.root,
  useCaseSensitiveFileNames: true,
});

/**
 * TypeScript follows `imports` from one "#name" to the next, in circles and with doubling work;
 * Node follows none.
 */
function readFile(disk: Disk, filePath: string): string | undefined {
  const fileText = disk.read(filePath);
  if (!fileText || !filePath.endsWith("/package.json") || !/"#[^"]*"\s*[,\]}]/.test(fileText))
    return fileText;
  const { imports: _, ...otherFields } = parseJson(fileText) ?? {};
  return JSON.stringify(otherFields);
}

function configFor(state: State, importer: string, configName: string | undefined): Config {
  const config = configOf(state, configName);
  const folder = folderOf(importer);
  const coversFolder = (candidate: Config) =>
    candidate.covers.some(
      ([covered, isDeep]) =>
        covered === folder || (isDeep && (!covered || folder.startsWith(`${covered}/`))),
    );
  return (
    config.references.map((reference) => configOf(state, reference)).find(coversFolder) ?? config
  );
}

function configOf(state: State, configName: string | undefined): Config {
  const openedConfig = state.configs.get(configName);
  if (openedConfig) return openedConfig;
  const config = readConfig(state, configName);
  state.configs.set(configName, config);
  return config;
}

function readConfig(state: State, name: string | undefined): Config {
  const file = name === undefined || path.isAbsolute(name) ? name : `${state.disk.root}/${name}`;
  let parsed: Partial<ts.ParsedCommandLine> = {};
  try {
    if (file !== undefined) parsed = parseConfig(state.disk, file);
  } catch {} // broken beyond repair: as if there were none
  // Without outDir: given one, TypeScript looks for the source of a built file with its emitter,
  // which is not there.
  const { outDir, declarationDir, rootDir, ...otherOptions } = parsed.options ?? DEFAULTS;
  const options: ts.CompilerOptions = { resolveJsonModule: true, ...otherOptions };
  delete options.traceResolution;
  const localPath = (folder: string | undefined) =>
    folder === undefined ? undefined : state.disk.local(folder);
  const sourceFolder = localPath(rootDir ?? (file && folderOf(file)));
  return {
    options,
    out: [outDir, declarationDir]
      .map((outFolder) => localPath(outFolder))
      .flatMap((outFolder) =>
        outFolder && sourceFolder !== undefined
          ? [[outFolder, sourceFolder] as [string, string]]
          : [],
      ),
    covers: Object.entries(parsed.wildcardDirectories ?? {}).flatMap(
      ([coveredFolder, watchFlags]) => {
        const projectFolder = state.disk.local(coveredFolder);
        return projectFolder === undefined
          ? []
          : [[projectFolder, watchFlags === ts.WatchDirectoryFlags.Recursive] as [string, boolean]];
      },
    ),
    references: hasNoFiles(parsed.raw) ? referencesOf(state, parsed) : [],
    caches: new Map(),
  };
}

function parseConfig(disk: Disk, configFile: string): ts.ParsedCommandLine {
  let remaining = MAX_EXTENDED_CONFIGS;
  const parseHost: ts.ParseConfigHost &
    Pick<ts.ModuleResolutionHost, "directoryExists" | "realpath"> = {
    ...readingOf(disk),
    readFile: (filePath) => (remaining-- > 0 ? disk.read(filePath) : undefined),
    fileExists: disk.isFile,
    directoryExists: disk.isFolder,
    readDirectory: () => [],
  };
  const { config } = ts.readConfigFile(configFile, disk.read);
  // each is read once, though many may extend it; in a circle it is read half
  const extended = new Map();
  return ts.parseJsonConfigFileContent(
    config ?? {},
    parseHost,
    folderOf(configFile),
    {},
    configFile,
    [],
    [],
    extended,
  );
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
  importer: string,
  importForm: ImportForm,
  options: ts.CompilerOptions,
): ts.ResolutionMode {
  const { CommonJS, ESNext, ES2015, Node16, NodeNext, Preserve } = ts.ModuleKind;
  if (getEmitModuleResolutionKind(options) < ts.ModuleResolutionKind.Node16) return undefined;
  if (importForm === "require") return CommonJS;
  const moduleKind = getEmitModuleKind(options);
  const isNodeKind = Node16 <= moduleKind && moduleKind <= NodeNext;
  const [, namedLetter] = /\.([cm])[jt]s$/.exec(importer) ?? [];
  const isEsm = namedLetter ? namedLetter === "m" : isNodeKind && isModule(state, importer);
  const moduleFormat = isEsm ? ESNext : CommonJS;
  const format = namedLetter || isNodeKind ? moduleFormat : moduleKind;
  if (importForm === "dynamic")
    return isNodeKind || moduleKind === Preserve || format >= ES2015 ? ESNext : CommonJS;
  if (format === CommonJS) return CommonJS;
  return (ES2015 <= format && format <= ESNext) || format === Preserve ? ESNext : undefined;
}

function isModule(state: State, importer: string): boolean {
  for (const ancestor of upwards(folderOf(importer)))
    if (state.disk.names.has(ancestor ? `${ancestor}/package.json` : "package.json"))
      return state.disk.packageIn(ancestor)?.type === "module";
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
const hasNoFiles = (rawConfig: Json | undefined) =>
  Array.isArray(rawConfig?.files) &&
  rawConfig.files.length === 0 &&
  rawConfig.include === undefined;

const packageOf = (specifier: string) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
