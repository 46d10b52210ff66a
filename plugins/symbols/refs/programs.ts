// Which files are loaded, under which config, and when they are forgotten.
import { ts } from "ts-morph";
import { JSDOC } from "./compiler.ts";
import { configFor, configOf, filesOf, newCache } from "./configs.ts";
import { absolute, isText, stampOf, statOf, textOf } from "./disk.ts";
import { type Acquired, docVersion, parse, parsed } from "./documents.ts";
import { lookUp, nextTo } from "./modules.ts";
import { type Config, LIB, MAX_WHOLE_PROJECT_FILES, type Slice, type State } from "./state.ts";

const MAX_SPECULATIVE_BYTES = 1_000_000; // bytes of a file that may be loaded speculatively
const MAX_SLICES = 2; // slices
const MAX_SLIM_FILES = 1_000; // files that several questions may bring together
const NOWHERE = { resolvedModule: undefined };

export function close(state: State): void {
  for (const slice of state.slices) drop(slice);
  state.slices = [];
}

function drop({ service, slim, typed, plain }: Slice): void {
  service.dispose();
  slim?.service.dispose();
  typed?.service.dispose();
  plain?.service.dispose();
}

/** The disk may have changed since the last question: configs, packages, the files themselves. */
export function begin(state: State): void {
  state.stats.clear();
  state.gate.again();
  state.importers.clear();
  if (isChanged(state, state.settings)) {
    state.settings.clear();
    state.configs.clear();
    close(state);
  }
  const isThere = (path: string) => state.disk.fileExists(path);
  if (isChanged(state, state.installed) || [...state.missing].some(isThere)) forgetModules(state);
}

function isChanged(state: State, seen: Map<string, string>): boolean {
  return [...seen].some(([path, stamp]) => stampOf(state, path) !== stamp);
}

export function forgetModules(state: State): void {
  state.missing.clear();
  for (const path of state.installed.keys()) state.installed.set(path, stampOf(state, path));
  for (const config of [...state.configs.values()].flatMap((config) => [config, ...config.parts])) {
    config.cache = newCache(state, config.options);
    if (config.files) config.files = filesOf(state, config.path);
  }
  for (const slice of state.slices)
    for (const one of [slice, slice.slim, slice.typed, slice.plain]) if (one) one.importsMayHaveChanged = true;
}

/**
 * The program with these files; `full`: with their JSDoc. A new program loses all types, so it is made only if
 * necessary.
 */
export function grow(state: State, slice: Slice, files: string[], full: boolean): ts.Program {
  if (full) for (const file of files) slice.full.add(file);
  const wanted = [...state.index.globals().map((path) => absolute(state, path)), ...files].filter(
    state.disk.fileExists,
  );
  const isMissing = (file: string) => !slice.roots.has(file) && !slice.program?.getSourceFile(file);
  const isGrowing = slice.full.size !== slice.seen || wanted.some(isMissing);
  if (slice.program && isGrowing && state.names.size <= MAX_WHOLE_PROJECT_FILES) addAll(state, slice);
  do for (const file of wanted.filter(isMissing)) slice.roots.add(file);
  while (current(state, slice) && wanted.some(isMissing)); // once more, if a file is no longer imported
  return slice.program!;
}

export function addAll(state: State, { roots, full }: Slice): void {
  for (const file of state.names) {
    full.add(file);
    if ((statOf(state, file)?.size ?? MAX_SPECULATIVE_BYTES) < MAX_SPECULATIVE_BYTES) roots.add(file);
  }
}

type Few = { files: string[]; documented: string[] };

/** Whether these files are loaded, with all that they need. */
export function has({ program, full, seen, importsMayHaveChanged }: Slice, { files, documented }: Few): boolean {
  if (!program || importsMayHaveChanged || seen !== full.size) return false;
  return documented.every((file) => full.has(file)) && files.every((file) => program.getSourceFile(file));
}

/** These files and, of what they import, these files alone: a hundredth of all that the types of a large project need. */
export function slimOf(state: State, slice: Slice, { files, documented }: Few, key: Kind = "slim"): Slice {
  const known = slice[key];
  const more = known ? files.filter((file) => !known.roots.has(file)).length : 0;
  const isRoom = known && (!more || known.roots.size + more <= MAX_SLIM_FILES);
  const slim = (slice[key] = isRoom ? known : newSlim(state, slice, key));
  const fresh = files.filter((file) => !slim.roots.has(file));
  for (const file of documented) slice.full.add(file);
  for (const file of fresh) slim.roots.add(file);
  if (fresh.length) slim.importsMayHaveChanged = true;
  current(state, slim);
  return slim;
}

type Kind = "slim" | "typed" | "plain";
/** Without what browsers declare, or with hardly anything. */
function optionsFor(own: ts.CompilerOptions, kind: Kind): ts.CompilerOptions {
  if (kind === "typed") return own;
  if (kind === "slim") return { ...own, lib: ["lib.es5.d.ts"], types: [], noLib: false };
  const all = own.lib ?? [
    ts
      .getDefaultLibFileName(own)
      .replace(/^lib\.d/, "lib.es5.d")
      .replace("lib.es6.", "lib.es2015.")
      .replace(".full.", "."),
  ];
  return { ...own, lib: all.filter((name) => !/\blib\.(?:dom|webworker|scripthost)\b/.test(name)) };
}

function newSlim(state: State, slice: Slice, key: Kind): Slice {
  slice[key]?.service.dispose();
  const { options: own } = slice.config;
  const options = optionsFor(own, key);
  const roots = new Set<string>();
  const slim: Omit<Slice, "service"> = {
    ...slice,
    config: { ...slice.config, options },
    roots,
    only: roots,
    seen: 0,
    unwarmed: [],
  };
  delete slim.program;
  delete slim.slim;
  delete slim.typed;
  delete slim.plain;
  return Object.assign(slim, { service: newService(state, slim as Slice, roots) });
}

function current(state: State, slice: Slice): ts.Program {
  const program = slice.service.getProgram()!;
  if (program !== slice.program && !slice.only)
    slice.unwarmed = program.getSourceFiles().filter(({ fileName }) => state.names.has(fileName));
  [slice.program, slice.seen, slice.importsMayHaveChanged] = [program, slice.full.size, false];
  return program;
}

export function sliceOf(state: State, file: string): Slice {
  const config = configOf(state, file);
  const slice = state.slices.find((slice) => slice.config === config) ?? newSlice(state, config);
  state.slices = [slice, ...state.slices.filter((other) => other !== slice)];
  for (const dropped of state.slices.splice(MAX_SLICES)) drop(dropped);
  return slice;
}

function newSlice(state: State, config: Config): Slice {
  const [roots, full, docs] = [new Set<string>(), new Set<string>(), new Map()];
  const slice = { config, roots, full, docs, seen: 0, importsMayHaveChanged: false, unwarmed: [] } as unknown as Slice;
  slice.service = newService(state, slice, roots);
  return slice;
}

export function newService(
  state: State,
  slice: Slice,
  roots: Set<string>,
  overlay = new Map<string, string>(),
): ts.LanguageService {
  const { config } = slice;
  const acquire = (...[file, , , , , version, kind, how]: Acquired) =>
    overlay.has(file)
      ? parse(state, file, overlay.get(file)!, version, kind, { ...how, jsDocParsingMode: JSDOC.all })
      : parsed(state, slice, file, version, kind, how);
  const host = {
    ...state.disk,
    useCaseSensitiveFileNames: () => state.disk.useCaseSensitiveFileNames,
    getCompilationSettings: () => config.options,
    getDefaultLibFileName: (options: ts.CompilerOptions) => LIB + ts.getDefaultLibFileName(options),
    // Always in the same order, since types may depend on it, in rare cases.
    getScriptFileNames: () =>
      [
        ...[...state.names].filter((file) => roots.has(file)),
        ...[...roots].filter((file) => !state.names.has(file)),
      ].filter(state.disk.fileExists),
    getScriptVersion: (file: string) => (overlay.has(file) ? "overlay" : (docVersion(state, slice, file) ?? "")),
    getScriptSnapshot: (file: string) => (isText(state, file) ? lazily(() => textOf(state, file)) : undefined),
    getModuleResolutionCache: () => config.cache,
    hasInvalidatedResolutions: () => slice.importsMayHaveChanged,
    hasChangedAutomaticTypeDirectiveNames: () => slice.importsMayHaveChanged,
    resolveModuleNameLiterals(
      literals: readonly ts.StringLiteralLike[],
      file: string,
      _: unknown,
      options: ts.CompilerOptions,
      source: ts.SourceFile,
    ) {
      const own = configFor(state, slice, file);
      return literals.map((literal) => {
        const mode = ts.getModeForUsageLocation(source, literal, options);
        const { only } = slice;
        const next = only && nextTo(state, literal.text, file, own.options);
        if (next && !only.has(next)) return NOWHERE; // without a look at the disk
        const found = lookUp(state, literal.text, file, own.options, own.cache, mode, !only);
        return !only || only.has(found.resolvedModule?.resolvedFileName ?? "") ? found : NOWHERE;
      });
    },
  };
  const registry = {
    getKeyForCompilationSettings: () => "",
    acquireDocumentWithKey: acquire,
    updateDocumentWithKey: acquire,
    releaseDocumentWithKey: () => {},
  };
  return ts.createLanguageService(host, registry as unknown as ts.DocumentRegistry);
}

function lazily(read: () => string): ts.IScriptSnapshot {
  return {
    getText: (start, end) => read().slice(start, end),
    getLength: () => read().length,
    getChangeRange: () => undefined,
  };
}
