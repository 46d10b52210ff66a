// Where the imports of a file lead, and which files import a given file.
import { ts } from "ts-morph";
import { internals } from "./compiler.ts";
import { configFor } from "./configs.ts";
import { absolute, isInProject, relative, textOf, versionOf } from "./disk.ts";
import { docVersion } from "./documents.ts";
import type { Slice, State } from "./state.ts";

export function importersOf(state: State, slice: Slice, file: string): Set<string> {
  if (!state.importers.size)
    for (const one of state.names)
      for (const module of modulesOf(state, slice, one)) {
        const target = resolve(state, slice, module, one) ?? "";
        state.importers.set(target, (state.importers.get(target) ?? new Set()).add(one));
      }
  return state.importers.get(file) ?? new Set();
}

function modulesOf(state: State, slice: Slice, file: string): string[] {
  const listed = state.index.importsOf(relative(state, file));
  if (listed) return listed;
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
export function resolve(state: State, slice: Slice, module: string, file: string): string | undefined {
  const { options, cache } = configFor(state, slice, file);
  const isPlain = internals.getEmitModuleResolutionKind(options) < ts.ModuleResolutionKind.Node16;
  for (const mode of isPlain ? [undefined] : ([ts.ModuleKind.ESNext, ts.ModuleKind.CommonJS] as const)) {
    const { resolvedModule } = lookUp(state, module, file, options, cache, mode);
    if (resolvedModule) return resolvedModule.resolvedFileName;
  }
  return undefined;
}

export function lookUp(
  state: State,
  ...[name, file, options, cache, mode]: [
    ...[name: string, file: string, options: ts.CompilerOptions],
    ...[cache: ts.ModuleResolutionCache, mode: ts.ResolutionMode],
  ]
): { readonly resolvedModule: ts.ResolvedModuleFull | undefined } {
  const found = ts.resolveModuleName(name, file, options, state.disk, cache, undefined, mode);
  const source = state.sources.get(`${relative(state, file)}\n${name}`);
  if (source !== undefined && !state.names.has(found.resolvedModule?.resolvedFileName ?? "")) {
    const resolvedFileName = absolute(state, source);
    const extension = /(?:\.d)?\.[cm]?[jt]sx?$/.exec(source)?.[0];
    if (extension) return { resolvedModule: { resolvedFileName, extension, isExternalLibraryImport: false } };
  }
  const { failedLookupLocations = [] } = found as { failedLookupLocations?: string[] };
  if (!found.resolvedModule && isInProject(state, file))
    for (const place of failedLookupLocations) if (!place.endsWith("/package.json")) state.gate.leadsOut(name, place);
  return found;
}
