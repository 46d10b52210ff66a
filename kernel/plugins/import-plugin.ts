// How plugins are imported: module hooks, versions, and which plugin an error comes from.

import fs from "node:fs";
import module from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { getCallSites } from "node:util";
import type { Awaitable } from "../contract.ts";
import type { LoadedPlugin, Within } from "../instance.ts";
import { IS_BUILT, modulesForPlugins, version } from "../system/installation.ts";
import { followLinks } from "../system/open-real.ts";
import { CLOCK } from "../text/clock.ts";
import { codeOf, fault } from "../text/faults.ts";
import { stampOf, textOf } from "../text/read-quietly.ts";
import { errorMessage } from "../text/secrets.ts";
import { endingLoops } from "./loop-watchdog.ts";

const PROVIDED_MODULES = /^(zod|typebox|zz)(\/|$)/;

export function newLoadedPlugin(file: string, from: LoadedPlugin["from"]): LoadedPlugin {
  const baseName = path.basename(file).replace(/\.[cm]?[jt]sx?$/, "");
  return {
    name: baseName === "index" ? path.basename(path.dirname(file)) : baseName,
    file,
    from,
    ms: 0,
    undo: [],
    version: 0,
    stamps: new Map(),
  };
}

/** By the URL of each imported file: the URL of its plugin, and how the file is loaded. */
type ImportTrees = Map<string, ImportTree> & {
  uses: Map<string, Set<string>>; // by the URL of a file, what it imports
  // by the file of a plugin, its last import
  imported: Map<string, Pick<LoadedPlugin, "version" | "stamps">>;
  versions: number; // handed out so far
};
type ImportTree = { plugin: string; within?: Within; compiled?: boolean; script?: boolean };
// hooks apply to the whole process, with all its instances
const IMPORT_TREES = Symbol.for("zz.trees");

/** Resolves imports of plugins: zz's own zod and typebox wherever the file is, a package's own for
 * packages. Files that a plugin imports from its own files are noted, and belong to the same
 * version of it. */
export function providePackages(): void {
  if (Object.hasOwn(globalThis, IMPORT_TREES)) return;
  const allTrees = newTrees();
  Object.defineProperty(globalThis, IMPORT_TREES, { value: allTrees });
  module.registerHooks({
    resolve(specifier, context, nextResolve) {
      if (specifier.startsWith(AT_ONCE_SCHEME))
        return { url: specifier, format: "module", shortCircuit: true };
      const { parentURL = "" } = context;
      const isProvided =
        PROVIDED_MODULES.test(specifier) &&
        !parentURL.includes("/node_modules/") &&
        parentURL !== import.meta.url;
      if (isProvided)
        return {
          url: modulesForPlugins()[specifier] ?? import.meta.resolve(specifier),
          shortCircuit: true,
        };
      const ownTree = allTrees.get(specifier);
      // tsx would take it for CommonJS, and its place is known
      const isTypedFile = ownTree && TYPED_FILE.test(specifier);
      const resolution = isTypedFile
        ? { url: realUrl(specifier), shortCircuit: true }
        : nextResolve(specifier, context);
      if (ownTree?.within) assertTrusted(ownTree.within, resolution.url, specifier);
      // it was reached through a link
      if (ownTree && resolution.url !== specifier)
        recordImport(allTrees, specifier, resolution.url, ownTree);
      if (isTypedFile) return { ...resolution, format: "module-typescript" };
      const parentTree = allTrees.get(parentURL);
      if (!parentTree || resolution.url.startsWith("node:")) return resolution;
      const { plugin, within } = parentTree;
      if (within) assertTrusted(within, resolution.url, specifier);
      if (!resolution.url.startsWith("file:")) return resolution;
      const foreign = resolution.url.includes("/node_modules/");
      const version = new URL(plugin).search;
      const url =
        version && !foreign && !resolution.url.includes("?")
          ? resolution.url + version
          : resolution.url;
      if (within || !foreign) recordImport(allTrees, parentURL, url, parentTree);
      const isTyped = !foreign && /\.ts($|\?)/.test(url); // Node would warn about a missing "type"
      return { ...resolution, url, ...(isTyped && { format: "module-typescript" }) };
    },
    load(fileUrl, context, nextLoad) {
      if (!fileUrl.startsWith(AT_ONCE_SCHEME)) return nextLoad(fileUrl, context);
      return {
        format: "module",
        source: `export * as plugin from ${JSON.stringify(fileUrl.slice(AT_ONCE_SCHEME.length))}`,
        shortCircuit: true,
      };
    },
  });
}
/**
 * While plugins load, process.exit() throws. Signals, and a program that embeds zz, still end the
 * process.
 */
export async function forbidExitDuring<T>(loadAll: () => Promise<T>): Promise<T> {
  const { exit } = process;
  let isLoading = true;
  const refuseExit: typeof exit = (exitCode) => {
    const stackRows = getCallSites(200).map(({ scriptName }) => `${scriptName}:`);
    const isPlugins =
      stackRows.some((stackRow) => stackRow.startsWith("node:internal/modules/")) ||
      pluginInStack(stackRows.join("\n"));
    if (!isLoading || !isPlugins) return exit.call(process, exitCode);
    throw fault(
      `it called process.exit(${exitCode ?? ""}), which would end zz. Throw an error instead.`,
    );
  };
  process.exit = refuseExit;
  return loadAll().finally(() => {
    isLoading = false;
    if (process.exit === refuseExit) process.exit = exit;
  });
}

/** The real path, as Node finds it: asking Node takes a tenth of loading a plugin. */
const realUrl = (fileUrl: string): string =>
  pathToFileURL(fs.realpathSync.native(fileURLToPath(fileUrl))).href + new URL(fileUrl).search;
const TYPED_FILE = /\.ts($|\?)|\/[^./]+$/;
/**
 * Records an import. A file that several plugins share belongs to the last one and is used by all.
 */
function recordImport(
  allTrees: ImportTrees,
  parentUrl: string,
  importedUrl: string,
  ownTree: ImportTree,
): void {
  allTrees.set(importedUrl, ownTree);
  allTrees.uses.set(parentUrl, (allTrees.uses.get(parentUrl) ?? new Set()).add(importedUrl));
}
/** Refuses files that the person has not trusted. */
function assertTrusted({ folder, trusts }: Within, fileUrl: string, specifier: string): void {
  if (!fileUrl.startsWith(folder)) throw fault(OUTSIDE_TRUST.replace("%", () => specifier));
  const filePath = fileURLToPath(fileUrl);
  const relativePath = path.relative(fileURLToPath(folder), filePath).replaceAll(path.sep, "/");
  if (!trusts(relativePath, filePath))
    throw fault(
      `'.zz/plugins/${relativePath}' is not what you trusted any more. Look at it, then: /trust`,
    );
}
const OUTSIDE_TRUST =
  "it imports '%' from outside of .zz/plugins, which nobody trusted. " +
  "Copy it there, or install it in the home";
export const importTrees = (): ImportTrees =>
  (globalThis as unknown as { [IMPORT_TREES]?: ImportTrees })[IMPORT_TREES] ?? newTrees();
const newTrees = (): ImportTrees =>
  Object.assign(new Map<string, ImportTree>(), {
    uses: new Map(),
    imported: new Map(),
    versions: 0,
  });
/** A version that no other import in this process has: sharing one would return the older file. */
export const newVersion = (): number => ++importTrees().versions;

export const pluginUrlOf = ({ file, version }: LoadedPlugin): string =>
  pathToFileURL(file).href + (version ? `?zz=${version}` : "");

/** Imports a plugin's file. */
export function startImport(
  plugin: LoadedPlugin,
  bundled: Record<string, unknown>,
  seconds: number,
): Awaitable<any> {
  if (IS_BUILT && plugin.from === "zz") return bundled[plugin.name];
  const imported = importOnce(plugin, seconds);
  imported.catch(() => {}); // loadPlugins() reports it later
  return imported;
}

async function importOnce(plugin: LoadedPlugin, seconds: number): Promise<any> {
  if (plugin.unusable) throw fault(plugin.unusable);
  const startTime = CLOCK.now();
  if (plugin.from !== "zz" && !plugin.version) plugin.version = versionNow(plugin);
  try {
    // Node would warn about a file that it cannot run.
    if (plugin.file.endsWith(".cts")) return await importCompiled(plugin, seconds);
    return await importTree(plugin, seconds).catch((error) =>
      isForCompiler(error) ? importCompiled(plugin, seconds) : Promise.reject(error),
    );
  } finally {
    plugin.ms += CLOCK.now() - startTime;
    if (plugin.from !== "zz") noteImported(plugin);
  }
}

/**
 * Why a plugin for these versions of zz is not loaded: `0.1.2`, `>=0.1` or `^0.1.2`, as npm means
 * them.
 */
export function whyWrongVersion(versionRange: string, ownVersion = version()): string | undefined {
  const [, rangeSign, wantedVersion = ""] =
    /^(\^|>=|)(\d+(?:\.\d+){0,2})$/.exec(versionRange) ?? [];
  if (!wantedVersion)
    return (
      `its package.json says that it is for zz '${versionRange}', and that names no version. ` +
      `Write it as "^${ownVersion}" under engines.`
    );
  const [leastParts, ownParts] = [wantedVersion, ownVersion].map((versionText) =>
    versionText.split(".").map(Number),
  ) as [number[], number[]];
  // the first part that does
  const differs = leastParts.findIndex((leastPart, i) => leastPart !== ownParts[i]);
  const isNewer = differs < 0 || ownParts[differs]! > leastParts[differs]!;
  const firstNonZero = leastParts.findIndex((leastPart) => leastPart > 0);
  // the parts that must be the same
  const fixedCount = rangeSign === "^" && firstNonZero >= 0 ? firstNonZero + 1 : leastParts.length;
  if (rangeSign === ">=" ? isNewer : isNewer && (differs < 0 || differs >= fixedCount))
    return undefined;
  return (
    `it is for zz ${versionRange}, and this is ${ownVersion}. ` +
    "Install the one for this version."
  );
}

/**
 * Also of an import that never ends: once its files have changed, the next one needs a version of
 * its own.
 */
export function noteImported(plugin: LoadedPlugin): void {
  importTrees().imported.set(plugin.file, { version: plugin.version, stamps: stampsOf(plugin) });
}

/**
 * Node caches imports: after a change, another instance in this process needs a version of its own.
 */
function versionNow({ file }: LoadedPlugin): number {
  const lastImport = importTrees().imported.get(file);
  const isUnchanged = [...(lastImport?.stamps ?? [])].every(
    ([filePath, lastStamp]) => stampOf(filePath) === lastStamp,
  );
  return isUnchanged ? (lastImport?.version ?? 0) : newVersion();
}

/** Imports at once what waits for nothing, so that a loop in it can be ended. */
async function importTree(plugin: LoadedPlugin, seconds: number, compiled = false): Promise<any> {
  const pluginUrl = pluginUrlOf(plugin);
  if (plugin.from === "zz") return import(pluginUrl);
  const within = plugin.trusts && { folder: trustedPluginFolder(plugin), trusts: plugin.trusts };
  importTrees().set(pluginUrl, { plugin: pluginUrl, compiled, ...(within && { within }) });
  try {
    return endingLoops(seconds, () =>
      module.createRequire(import.meta.url)(AT_ONCE_SCHEME + pluginUrl),
    ).plugin;
  } catch (error) {
    if (!codeOf(error)?.startsWith("ERR_REQUIRE_") && !errorMessage(error).includes(AT_ONCE_SCHEME))
      throw error;
    // it waits for something at its top, or tsx, which loads by itself, is there
    return import(pluginUrl);
  }
}
const AT_ONCE_SCHEME = "zz-plugin:";

/** Enums, JSX and decorators, which Node cannot erase, are compiled with ts-morph's compiler. */
const NOT_ERASABLE =
  /^(ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX|ERR_UNKNOWN_FILE_EXTENSION|Invalid or unexpected token)$/;
export const isForCompiler = (error: any): boolean =>
  NOT_ERASABLE.test(codeOf(error) || error?.message);

export const readyCompiler = async (): Promise<void> =>
  (await import("./compile-typescript.ts")).installCompiler(
    (fileUrl) => importTrees().get(fileUrl)?.compiled === true,
  );

async function importCompiled(plugin: LoadedPlugin, seconds: number): Promise<any> {
  await readyCompiler();
  const pluginUrl = pluginUrlOf(plugin);
  for (const [fileUrl, fileTree] of importTrees())
    if (fileTree.plugin === pluginUrl) importTrees().delete(fileUrl);
  plugin.version = newVersion(); // Node remembers the failed import
  return importTree(plugin, seconds, true);
}

/** A project's .zz/plugins, which trust covers as a whole. */
function trustedPluginFolder({ file }: LoadedPlugin): string {
  const projectFolder = file.slice(
    0,
    file.lastIndexOf(`${path.sep}.zz${path.sep}plugins${path.sep}`),
  );
  return `${pathToFileURL(followLinks(path.join(projectFolder, ".zz", "plugins"))).href}/`;
}

/** The plugin's own files, as they are now. */
export function stampsOf(plugin: LoadedPlugin): Map<string, string> {
  const pluginUrl = pluginUrlOf(plugin);
  const allTrees = importTrees();
  const fileUrls = new Set([pluginUrl]);
  for (const fileUrl of fileUrls)
    for (const importedUrl of allTrees.uses.get(fileUrl) ?? []) fileUrls.add(importedUrl);
  for (const [fileUrl, fileTree] of allTrees)
    if (fileTree.plugin === pluginUrl) fileUrls.add(fileUrl);
  const filePaths = [...fileUrls].map((fileUrl) => fileURLToPath(fileUrl));
  return new Map([plugin.file, ...filePaths].map((filePath) => [filePath, stampOf(filePath)]));
}

/**
 * Where an error happened: the first of the plugin's files in the stack, else a package that it
 * imports.
 */
export function locationOfError(
  error: unknown,
  pluginFile: string,
  ownFiles?: Iterable<string>,
): string {
  const errorText = `${(error as Error)?.stack ?? ""}\n${errorMessage(error)}`;
  const knownFiles = ownFiles ?? [...importTrees().keys()].map((fileUrl) => fileURLToPath(fileUrl));
  const spellings = [pluginFile, ...knownFiles].flatMap((candidate) =>
    [candidate, pathToFileURL(candidate).href].map((spelt) => ({ one: candidate, spelt })),
  );
  const placeIn = (stackRow: string) =>
    spellings.flatMap(({ one, spelt }) => {
      const [, lineNumber] = /^(?:\?zz=\d+)?:(\d+)/.exec(stackRow.split(spelt)[1] ?? "") ?? [];
      return lineNumber ? `${one}:${lineNumber}` : [];
    });
  const [location] = errorText.split("\n").flatMap(placeIn);
  const [, package_] =
    /(?:file:\/\/)?(\/[^()]*\/node_modules\/[^()]*?:\d+):\d+\)?$/m.exec(errorText) ?? [];
  return location ?? (whereImported(errorText) || (package_ ?? pluginFile));
}
function whereImported(errorText: string): string {
  const [, missing = "", importingFile = ""] =
    /'([^']+)'.* imported from (.+)$/m.exec(errorText) ?? [];
  const fileRows = textOf(importingFile).split("\n");
  const lineNumber = fileRows.findIndex((fileRow) => fileRow.includes(path.basename(missing))) + 1;
  return importingFile && lineNumber ? `${importingFile}:${lineNumber}` : importingFile;
}

/** The plugin whose file comes first in a stack. */
export function pluginInStack(stackText: string): string | undefined {
  const pluginFiles = [...importTrees()].flatMap(([fileUrl, { plugin, script }]) =>
    script ? [] : [{ url: fileUrl.replace(/\?.*/, ""), plugin }],
  );
  const isRowOf = (stackRow: string, fileUrl: string) =>
    [`${fileUrl}:`, `${fileUrl}?`, `${fileURLToPath(fileUrl)}:`].some((spelling) =>
      stackRow.includes(spelling),
    );
  const [match] = stackText
    .split("\n")
    .flatMap((stackRow) => pluginFiles.find(({ url }) => isRowOf(stackRow, url)) ?? []);
  return match && newLoadedPlugin(fileURLToPath(match.plugin), "home").name;
}

/** A bug in a plugin is reported with its name and place; a sentence is reported as it is. */
export function explainError(error: unknown): string {
  const { name = "Error", stack = "" } = Object(error) as Error;
  const pluginName = name !== "Error" && pluginInStack(stack);
  return pluginName
    ? `Plugin '${pluginName}' failed (${locationOfError(error, "")}): ${errorMessage(error)}`
    : errorMessage(error);
}
