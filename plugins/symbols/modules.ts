// What only TypeScript knows of imports: tsconfig.json, packages, their exports. In dist/ it is bundled with TypeScript's
// parser alone, so whatever comes after it, from the binder on, is not there (see esbuild.config.js).
import path from "node:path";
import { ts } from "ts-morph";
import { type Disk, folderOf, type How, type Json, parsed, realOf, upwards } from "./resolve.ts";

export interface Modules {
  wayOf(config: string): string;
  answer(file: string, spec: string, how: How, config?: string): string | undefined;
}

interface Config {
  options: ts.CompilerOptions;
  out: [from: string, to: string][]; // relative to the project
  covers: [folder: string, deep: boolean][];
  references: string[]; // of a tsconfig.json that has no files of its own
  caches: Map<View, ts.ModuleResolutionCache>;
}
/** What TypeScript is shown. */
interface View {
  host: ts.ModuleResolutionHost;
  local(file: string): string | undefined;
  source(name: string): string | undefined; // of a file in the project
  over: ts.CompilerOptions;
}

const MOST = 500; // configurations that one may extend
const DEFAULTS: ts.CompilerOptions = {
  ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  ...{ allowJs: true, resolveJsonModule: true, allowImportingTsExtensions: true },
};
/** Not in the types, though TypeScript's own tools are made of them. */
const { getEmitModuleKind, getEmitModuleResolutionKind } = ts as unknown as {
  getEmitModuleKind(options: ts.CompilerOptions): ts.ModuleKind;
  getEmitModuleResolutionKind(options: ts.CompilerOptions): ts.ModuleResolutionKind;
};

export function openModules(disk: Disk): Modules {
  const { root, names, local, isFile, isFolder, read, packageIn, sourceOf } = disk;
  const folders = foldersOf(names);
  const configs = new Map<string | undefined, Config>();
  let byName: Map<string, string> | undefined;
  let out: Config["out"] = []; // of the question at hand
  const reading = { readFile, realpath: realOf, getCurrentDirectory: () => root, useCaseSensitiveFileNames: true };
  const asBundler = { moduleResolution: ts.ModuleResolutionKind.Bundler };
  const asItIs = viewOf(
    local,
    (name) => (names.has(name) ? name : undefined),
    (name) => folders.has(name),
    {},
  );
  const asIfBuilt = viewOf(
    local,
    (name) => (names.has(name) ? name : sourceOf(name, out)),
    () => true,
    asBundler,
  );
  const asIfInstalled = viewOf(
    borrowed,
    (name) => (names.has(name) ? name : sourceOf(name, out, true)),
    () => true,
    { ...asBundler, paths: undefined, baseUrl: undefined },
  );
  return { wayOf, answer };

  function wayOf(name: string): string {
    const config = configOf(name);
    const all = [config, ...config.references.map(configOf)].map(({ options }) => lettersOf(options)).join("");
    return [..."pnt"].filter((letter) => all.includes(letter)).join("");
  }

  function answer(file: string, spec: string, how: How, name?: string): string | undefined {
    const config = configFor(file, name);
    const mode = modeOf(file, how, config.options);
    ({ out } = config);
    const to = ask(asItIs);
    const at = to === undefined ? undefined : placeOf(to, asItIs);
    if (at !== undefined && names.has(at)) return (isBuilt(at) ? sourceOf(at, out) : undefined) ?? at;
    if (to !== undefined && at === undefined) return ""; // in node_modules
    for (const view of viewsFor(spec, config.options)) {
      const there = ask(view);
      const source = there === undefined ? undefined : placeOf(there, view);
      const found = source === undefined ? undefined : view.source(source);
      if (found !== undefined) return found;
    }
    return to !== undefined || /^[a-z][a-z\d+.-]+:/i.test(spec) || isDeclared(file, spec) ? "" : undefined;

    function ask(view: View): string | undefined {
      const options = { ...config.options, ...view.over };
      try {
        const { resolvedModule } = ts.resolveModuleName(
          ...([spec, `${root}/${file}`, options, view.host, cacheFor(config, view), undefined, mode] as const),
        );
        return resolvedModule?.resolvedFileName;
      } catch {
        return undefined; // TypeScript trusts what stands in a package.json: a number for a name is its end
      }
    }
  }

  function cacheFor({ caches, options }: Config, view: View): ts.ModuleResolutionCache {
    const cache = caches.get(view) ?? ts.createModuleResolutionCache(root, (name) => name, options);
    caches.set(view, cache);
    return cache;
  }

  /** As it stands in the project; a workspace's package is linked into node_modules. */
  function placeOf(file: string, { local }: View): string | undefined {
    return local(file) ?? disk.local(realOf(file));
  }
  function isBuilt(file: string): boolean {
    return out.some(([from]) => file.startsWith(`${from}/`));
  }

  /** Asked again for what may be in the project, though it is not where its package.json or tsconfig.json says. */
  function viewsFor(spec: string, { paths, baseUrl }: ts.CompilerOptions): View[] {
    const isPackage = spec.startsWith("#") || workspaces().has(packageOf(spec));
    return [...(paths || baseUrl || /^[./]/.test(spec) ? [asIfBuilt] : []), ...(isPackage ? [asIfInstalled] : [])];
  }

  function isDeclared(file: string, spec: string): boolean {
    const kinds = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
    return [...upwards(folderOf(file))].some((up) => {
      const known = names.has(up ? `${up}/package.json` : "package.json") ? packageIn(up) : undefined;
      return kinds.some((kind) => Object.hasOwn(Object(known?.[kind]), packageOf(spec)));
    });
  }

  // ── What TypeScript sees of the disk

  /** Within the project the list of its files is all there is: what git ignores is not there. */
  function viewOf(
    local: View["local"],
    source: View["source"],
    hasFolder: (name: string) => boolean,
    over: ts.CompilerOptions,
  ): View {
    const host: ts.ModuleResolutionHost = {
      ...reading,
      fileExists(file) {
        const at = local(file);
        return at === undefined ? isFile(file) : source(at) !== undefined;
      },
      directoryExists(file) {
        if (local === borrowed && file === `${root}/node_modules`) return true;
        const at = local(file);
        return at === undefined ? isFolder(file) : hasFolder(at);
      },
      readFile(file) {
        const at = local(file);
        return readFile(at === undefined ? file : `${root}/${at}`);
      },
      realpath: (file) => (local(file) === undefined ? realOf(file) : file),
    };
    return { host, local, source, over };
  }

  /** A package of the project is where node_modules would have it, installed or not. */
  function borrowed(file: string): string | undefined {
    const [, name, rest = ""] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(file) ?? [];
    if (name === undefined) return local(file);
    const folder = workspaces().get(name);
    return folder === undefined || local(file.slice(0, file.lastIndexOf("/node_modules/"))) === undefined
      ? local(file)
      : (folder + rest).replace(/^\/|\/$/g, "");
  }

  function workspaces(): Map<string, string> {
    if (byName) return byName;
    const found = [...names].filter((name) => /(?:^|\/)package\.json$/.test(name) && !APART.test(name)).map(folderOf);
    found.sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1));
    byName = new Map();
    for (const folder of found) {
      const name = packageIn(folder)?.name;
      if (typeof name === "string" && name && !byName.has(name)) byName.set(name, folder);
    }
    return byName;
  }

  /** TypeScript follows `imports` from one "#name" to the next, in circles and twice as often at every step; Node follows none. */
  function readFile(file: string): string | undefined {
    const text = read(file);
    if (!text || !file.endsWith("/package.json") || !/"#[^"]*"\s*[,\]}]/.test(text)) return text;
    const { imports: _, ...rest } = parsed(text) ?? {};
    return JSON.stringify(rest);
  }

  // ── tsconfig.json

  function configFor(file: string, name: string | undefined): Config {
    const config = configOf(name);
    const folder = folderOf(file);
    const covers = (one: Config) =>
      one.covers.some(([at, deep]) => at === folder || (deep && (!at || folder.startsWith(`${at}/`))));
    return config.references.map(configOf).find(covers) ?? config;
  }

  function configOf(name: string | undefined): Config {
    const known = configs.get(name);
    if (known) return known;
    const made = readConfig(name);
    configs.set(name, made);
    return made;
  }

  function readConfig(name: string | undefined): Config {
    const file = name === undefined || path.isAbsolute(name) ? name : `${root}/${name}`;
    let parsed: Partial<ts.ParsedCommandLine> = {};
    try {
      if (file !== undefined) parsed = parse(file);
    } catch {} // broken beyond repair: as if there were none
    // TypeScript does without outDir: it looks for a source beside what is built by means of its emitter, which is not there.
    const { outDir, declarationDir, rootDir, ...given } = parsed.options ?? DEFAULTS;
    const options: ts.CompilerOptions = { resolveJsonModule: true, ...given };
    delete options.traceResolution;
    const source = placeIn(rootDir ?? (file && folderOf(file)));
    return {
      options,
      out: [outDir, declarationDir]
        .map(placeIn)
        .flatMap((from) => (from && source !== undefined ? [[from, source] as [string, string]] : [])),
      covers: Object.entries(parsed.wildcardDirectories ?? {}).flatMap(([folder, deep]) => {
        const at = placeIn(folder);
        return at === undefined ? [] : [[at, deep === ts.WatchDirectoryFlags.Recursive] as [string, boolean]];
      }),
      references: hasNoFiles(parsed.raw) ? referencesOf(parsed) : [],
      caches: new Map(),
    };
  }

  function parse(file: string): ts.ParsedCommandLine {
    let left = MOST;
    const host: ts.ParseConfigHost & Pick<ts.ModuleResolutionHost, "directoryExists" | "realpath"> = {
      ...reading,
      readFile: (name) => (left-- > 0 ? read(name) : undefined),
      fileExists: isFile,
      directoryExists: isFolder,
      readDirectory: () => [],
    };
    const { config } = ts.readConfigFile(file, read);
    const extended = new Map(); // each is read once, though many may extend it; in a circle it is read half
    return ts.parseJsonConfigFileContent(config ?? {}, host, folderOf(file), {}, file, [], [], extended);
  }
  function placeIn(file: string | undefined): string | undefined {
    return file === undefined ? undefined : local(file);
  }

  function referencesOf({ projectReferences = [] }: Partial<ts.ParsedCommandLine>): string[] {
    return projectReferences
      .map(({ path }) => (path.endsWith(".json") ? path : `${path}/tsconfig.json`))
      .map((path) => local(path) ?? path);
  }

  // ── import or require

  /** As getModeForUsageLocation() has it, which is not in the parser. */
  function modeOf(file: string, how: How, options: ts.CompilerOptions): ts.ResolutionMode {
    const { CommonJS, ESNext, ES2015, Node16, NodeNext, Preserve } = ts.ModuleKind;
    if (getEmitModuleResolutionKind(options) < ts.ModuleResolutionKind.Node16) return undefined;
    if (how === "require") return CommonJS;
    const kind = getEmitModuleKind(options);
    const isNode = Node16 <= kind && kind <= NodeNext;
    const [, named] = /\.([cm])[jt]s$/.exec(file) ?? [];
    const format = named ? (named === "m" ? ESNext : CommonJS) : isNode ? (isModule(file) ? ESNext : CommonJS) : kind;
    if (how === "dynamic") return isNode || kind === Preserve || format >= ES2015 ? ESNext : CommonJS;
    if (format === CommonJS) return CommonJS;
    return (ES2015 <= format && format <= ESNext) || format === Preserve ? ESNext : undefined;
  }
  function isModule(file: string): boolean {
    for (const up of upwards(folderOf(file)))
      if (names.has(up ? `${up}/package.json` : "package.json")) return packageIn(up)?.type === "module";
    for (let up = folderOf(root); up; up = folderOf(up))
      if (isFile(`${up}/package.json`))
        return (parsed(read(`${up}/package.json`)) as Json | undefined)?.type === "module";
    return false;
  }
}

/** Packages that tests are made of: nobody means them. */
const APART = /(?:^|\/)(?:node_modules|__\w+__|fixtures?|testdata)\/(?:[^/]+\/)+package\.json$/;

function foldersOf(names: Iterable<string>): Set<string> {
  const folders = new Set([""]);
  for (const name of names)
    for (let folder = folderOf(name); !folders.has(folder); folder = folderOf(folder)) folders.add(folder);
  return folders;
}

function lettersOf({ paths, baseUrl, rootDirs, moduleSuffixes, ...options }: ts.CompilerOptions): string {
  const kind = getEmitModuleResolutionKind(options);
  const isOdd = rootDirs?.length || moduleSuffixes?.length || kind === ts.ModuleResolutionKind.Classic;
  return [paths || baseUrl ? "p" : "", kind === ts.ModuleResolutionKind.Node10 ? "n" : "", isOdd ? "t" : ""].join("");
}

/** As templates have it: a tsconfig.json that only names others. */
const hasNoFiles = (raw: Json | undefined): boolean =>
  Array.isArray(raw?.files) && raw.files.length === 0 && raw.include === undefined;

const packageOf = (spec: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(spec)?.[0] ?? spec;
