// Where the imports of a file lead, and which files import a given file.
import { basename, dirname, join } from "node:path/posix";
import { ts } from "ts-morph";
import { internals } from "./compiler.ts";
import { configFor } from "./configs.ts";
import { absolute, isInProject, relative, textOf, versionOf } from "./disk.ts";
import { docVersion } from "./documents.ts";
import type { Passing, Slice, State } from "./state.ts";

export function importersOf(state: State, slice: Slice, file: string): Set<string> {
  const { passing } = state.index;
  const takers = passing && new Set([...passing.taking("*"), ...passing.taking("default"), ...state.index.globals()]);
  if (!state.importers.size)
    for (const one of takers ? [...takers].map((path) => absolute(state, path)) : state.names)
      for (const module of modulesOf(state, slice, one)) {
        const target = resolve(state, slice, module, one) ?? "";
        state.importers.set(target, (state.importers.get(target) ?? new Set()).add(one));
      }
  return state.importers.get(file) ?? new Set();
}

function modulesOf(state: State, slice: Slice, file: string): string[] {
  const { passing } = state.index;
  if (passing) {
    const isWhole = ({ how, names }: Passing) =>
      names.some((name) => /^(?:\*|default\b)/.test(name)) || (how === "export" && !names.length);
    return [
      ...new Set(
        passing
          .of(relative(state, file))
          .filter(isWhole)
          .map(({ from }) => from),
      ),
    ];
  }
  const version = versionOf(state, file);
  const doc = slice.docs.get(file);
  if (doc && doc.version === docVersion(state, slice, file) && doc.source.imports)
    return doc.source.imports.map(({ text }) => text);
  const known = state.specifiers.get(file);
  if (version === undefined || known?.version === version) return known?.found ?? [];
  const found = ts.preProcessFile(textOf(state, file), true, true).importedFiles.map(({ fileName }) => fileName);
  state.specifiers.set(file, { version, found });
  return found;
}

/** In both modes, if there are two: one file too many does no harm. */
export const resolve = (state: State, slice: Slice, module: string, file: string): string | undefined =>
  targetsOf(state, slice, module, file)[0];

/** Which files import each file, in any way; `known`: where an import leads, by the file and what it says. */
export function importersByFile(
  state: State,
  slice: Slice,
  known = new Map<string, string[]>(),
): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const file of state.names)
    for (const from of new Set(state.index.passing!.of(relative(state, file)).map((one) => one.from))) {
      const next = nextTo(state, from, file, slice.config.options);
      const key = `${file}\n${from}`;
      const leads = next ? [next] : (known.get(key) ?? targetsOf(state, slice, from, file, false));
      if (!next) known.set(key, leads);
      for (const target of leads) found.set(target, (found.get(target) ?? new Set()).add(file));
    }
  return found;
}

/** `isNoted`: what may not be read on the way is reported. */
export function targetsOf(state: State, slice: Slice, module: string, file: string, isNoted = true): string[] {
  const { options, cache } = configFor(state, slice, file);
  const isPlain = internals.getEmitModuleResolutionKind(options) < ts.ModuleResolutionKind.Node16;
  const modes = isPlain ? [undefined] : ([ts.ModuleKind.ESNext, ts.ModuleKind.CommonJS] as const);
  const found = modes.map(
    (mode) => lookUp(state, module, file, options, cache, mode, isNoted).resolvedModule?.resolvedFileName,
  );
  return [...new Set(found.filter((one) => one !== undefined))];
}

export function lookUp(
  state: State,
  ...[name, file, options, cache, mode, isNoted = true]: [
    ...[name: string, file: string, options: ts.CompilerOptions],
    ...[cache: ts.ModuleResolutionCache, mode: ts.ResolutionMode, isNoted?: boolean],
  ]
): { readonly resolvedModule: ts.ResolvedModuleFull | undefined } {
  const near = nextTo(state, name, file, options);
  if (near && state.disk.fileExists(near))
    return { resolvedModule: { ...NEAR, resolvedFileName: near, resolvedUsingTsExtension: name.endsWith(".ts") } };
  const found = ts.resolveModuleName(name, file, options, state.disk, cache, undefined, mode);
  const source = state.sources.get(`${relative(state, file)}\n${name}`);
  if (source !== undefined && !state.names.has(found.resolvedModule?.resolvedFileName ?? "")) {
    const resolvedFileName = absolute(state, source);
    const extension = /(?:\.d)?\.[cm]?[jt]sx?$/.exec(source)?.[0];
    if (extension) return { resolvedModule: { resolvedFileName, extension, isExternalLibraryImport: false } };
  }
  const { failedLookupLocations = [] } = found as { failedLookupLocations?: string[] };
  if (found.resolvedModule || !isInProject(state, file)) return found;
  for (const place of failedLookupLocations) {
    const [installed] = /^.*\/node_modules\/[^/]+/.exec(place) ?? []; // that a package comes is seen elsewhere
    const mayCome = !installed || state.disk.directoryExists(installed);
    if (mayCome && !state.disk.fileExists(place)) state.missing.add(place);
    if (isNoted && !place.endsWith("/package.json")) state.gate.leadsOut(name, place);
  }
  return found;
}

/** What TypeScript tries first, if it is a file of the project: most imports lead there. */
export function nextTo(state: State, name: string, file: string, options: ts.CompilerOptions): string | undefined {
  const [, path, extension = ""] = /^(\.\.?\/.*?[^./]+)(\.[jt]s)?$/.exec(name) ?? [];
  if (path === undefined || path.endsWith(".d") || options.rootDirs || options.moduleSuffixes) return undefined;
  if (!extension && (basename(path).includes(".") || internals.getEmitModuleResolutionKind(options) !== BUNDLER))
    return undefined;
  const found = `${join(dirname(file), path)}.ts`;
  return state.names.has(found) ? found : undefined;
}
const BUNDLER = ts.ModuleResolutionKind.Bundler;
const NEAR = { extension: ".ts", isExternalLibraryImport: false };
