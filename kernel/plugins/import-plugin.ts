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
  const base = path.basename(file).replace(/\.[cm]?[jt]sx?$/, "");
  return {
    name: base === "index" ? path.basename(path.dirname(file)) : base,
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
const TREES = Symbol.for("zz.trees"); // hooks apply to the whole process, with all its instances

/** Resolves imports of plugins: zz's own zod and typebox wherever the file is, a package's own for
 * packages. Files that a plugin imports from its own files are noted, and belong to the same
 * version of it. */
export function providePackages(): void {
  if (Object.hasOwn(globalThis, TREES)) return;
  const trees = newTrees();
  Object.defineProperty(globalThis, TREES, { value: trees });
  module.registerHooks({
    resolve(specifier, context, next) {
      if (specifier.startsWith(AT_ONCE_SCHEME))
        return { url: specifier, format: "module", shortCircuit: true };
      const { parentURL = "" } = context;
      const lent =
        PROVIDED_MODULES.test(specifier) &&
        !parentURL.includes("/node_modules/") &&
        parentURL !== import.meta.url;
      if (lent)
        return {
          url: modulesForPlugins()[specifier] ?? import.meta.resolve(specifier),
          shortCircuit: true,
        };
      const itself = trees.get(specifier);
      // tsx would take it for CommonJS, and its place is known
      const typed = itself && TYPED_FILE.test(specifier);
      const resolution = typed
        ? { url: realUrl(specifier), shortCircuit: true }
        : next(specifier, context);
      if (itself?.within) assertTrusted(itself.within, resolution.url, specifier);
      // it was reached through a link
      if (itself && resolution.url !== specifier)
        recordImport(trees, specifier, resolution.url, itself);
      if (typed) return { ...resolution, format: "module-typescript" };
      const tree = trees.get(parentURL);
      if (!tree || resolution.url.startsWith("node:")) return resolution;
      const { plugin, within } = tree;
      if (within) assertTrusted(within, resolution.url, specifier);
      if (!resolution.url.startsWith("file:")) return resolution;
      const foreign = resolution.url.includes("/node_modules/");
      const version = new URL(plugin).search;
      const url =
        version && !foreign && !resolution.url.includes("?")
          ? resolution.url + version
          : resolution.url;
      if (within || !foreign) recordImport(trees, parentURL, url, tree);
      const isTyped = !foreign && /\.ts($|\?)/.test(url); // Node would warn about a missing "type"
      return { ...resolution, url, ...(isTyped && { format: "module-typescript" }) };
    },
    load(url, context, next) {
      if (!url.startsWith(AT_ONCE_SCHEME)) return next(url, context);
      return {
        format: "module",
        source: `export * as plugin from ${JSON.stringify(url.slice(AT_ONCE_SCHEME.length))}`,
        shortCircuit: true,
      };
    },
  });
}
/**
 * While plugins load, process.exit() throws. Signals, and a program that embeds zz, still end the
 * process.
 */
export async function forbidExitDuring<T>(act: () => Promise<T>): Promise<T> {
  const { exit } = process;
  let isLoading = true;
  const leave: typeof exit = (code) => {
    const stack = getCallSites(200).map(({ scriptName }) => `${scriptName}:`);
    const isPlugins =
      stack.some((row) => row.startsWith("node:internal/modules/")) ||
      pluginInStack(stack.join("\n"));
    if (!isLoading || !isPlugins) return exit.call(process, code);
    throw fault(
      `it called process.exit(${code ?? ""}), which would end zz. Throw an error instead.`,
    );
  };
  process.exit = leave;
  return act().finally(() => {
    isLoading = false;
    if (process.exit === leave) process.exit = exit;
  });
}

/** The real path, as Node finds it: asking Node takes a tenth of loading a plugin. */
const realUrl = (url: string): string =>
  pathToFileURL(fs.realpathSync.native(fileURLToPath(url))).href + new URL(url).search;
const TYPED_FILE = /\.ts($|\?)|\/[^./]+$/;
/**
 * Records an import. A file that several plugins share belongs to the last one and is used by all.
 */
function recordImport(trees: ImportTrees, parent: string, url: string, tree: ImportTree): void {
  trees.set(url, tree);
  trees.uses.set(parent, (trees.uses.get(parent) ?? new Set()).add(url));
}
/** Refuses files that the person has not trusted. */
function assertTrusted({ folder, trusts }: Within, url: string, specifier: string): void {
  if (!url.startsWith(folder)) throw fault(OUTSIDE_TRUST.replace("%", () => specifier));
  const file = fileURLToPath(url);
  const name = path.relative(fileURLToPath(folder), file).replaceAll(path.sep, "/");
  if (!trusts(name, file))
    throw fault(`'.zz/plugins/${name}' is not what you trusted any more. Look at it, then: /trust`);
}
const OUTSIDE_TRUST =
  "it imports '%' from outside of .zz/plugins, which nobody trusted. Copy it there, or install it in the home";
export const importTrees = (): ImportTrees =>
  (globalThis as unknown as { [TREES]?: ImportTrees })[TREES] ?? newTrees();
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
  const unfit = plugin.forZz === undefined ? undefined : whyWrongVersion(plugin.forZz);
  if (unfit) return rejectImport(unfit);
  const start = CLOCK.now();
  if (plugin.from !== "zz" && !plugin.version) plugin.version = versionNow(plugin);
  const plain = () =>
    importTree(plugin, seconds).catch((error) =>
      isForCompiler(error) ? importCompiled(plugin, seconds) : Promise.reject(error),
    );
  // Node would warn about a file that it cannot run.
  const imported = (
    plugin.file.endsWith(".cts") ? importCompiled(plugin, seconds) : plain()
  ).finally(() => {
    plugin.ms += CLOCK.now() - start;
    if (plugin.from === "zz") return;
    noteImported(plugin);
  });
  imported.catch(() => {}); // loadPlugins() reports it later
  return imported;
}

function rejectImport(reason: string): Promise<never> {
  const imported = Promise.reject(fault(reason));
  imported.catch(() => {}); // loadPlugins() reports it later
  return imported;
}

/**
 * Why a plugin for these versions of zz is not loaded: `0.1.2`, `>=0.1` or `^0.1.2`, as npm means
 * them.
 */
export function whyWrongVersion(range: string, ownVersion = version()): string | undefined {
  const [, sign, wanted = ""] = /^(\^|>=|)(\d+(?:\.\d+){0,2})$/.exec(range) ?? [];
  if (!wanted)
    return `its package.json says that it is for zz '${range}', and that names no version. Write it as "^${ownVersion}" under engines.`;
  const [least, have] = [wanted, ownVersion].map((text) => text.split(".").map(Number)) as [
    number[],
    number[],
  ];
  const differs = least.findIndex((part, i) => part !== have[i]); // the first part that does
  const isNewer = differs < 0 || have[differs]! > least[differs]!;
  const first = least.findIndex((part) => part > 0);
  // the parts that must be the same
  const fixed = sign === "^" && first >= 0 ? first + 1 : least.length;
  if (sign === ">=" ? isNewer : isNewer && (differs < 0 || differs >= fixed)) return undefined;
  return `it is for zz ${range}, and this is ${ownVersion}. Install the one for this version.`;
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
  const before = importTrees().imported.get(file);
  const isUnchanged = [...(before?.stamps ?? [])].every(([file, stamp]) => stampOf(file) === stamp);
  return isUnchanged ? (before?.version ?? 0) : newVersion();
}

/** Imports at once what waits for nothing, so that a loop in it can be ended. */
async function importTree(plugin: LoadedPlugin, seconds: number, compiled = false): Promise<any> {
  const url = pluginUrlOf(plugin);
  if (plugin.from === "zz") return import(url);
  const within = plugin.trusts && { folder: trustedPluginFolder(plugin), trusts: plugin.trusts };
  importTrees().set(url, { plugin: url, compiled, ...(within && { within }) });
  try {
    return endingLoops(seconds, () => module.createRequire(import.meta.url)(AT_ONCE_SCHEME + url))
      .plugin;
  } catch (error) {
    if (!codeOf(error)?.startsWith("ERR_REQUIRE_") && !errorMessage(error).includes(AT_ONCE_SCHEME))
      throw error;
    // it waits for something at its top, or tsx, which loads by itself, is there
    return import(url);
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
    (url) => importTrees().get(url)?.compiled === true,
  );

async function importCompiled(plugin: LoadedPlugin, seconds: number): Promise<any> {
  await readyCompiler();
  const pluginUrl = pluginUrlOf(plugin);
  for (const [url, tree] of importTrees()) if (tree.plugin === pluginUrl) importTrees().delete(url);
  plugin.version = newVersion(); // Node remembers the failed import
  return importTree(plugin, seconds, true);
}

/** A project's .zz/plugins, which trust covers as a whole. */
function trustedPluginFolder({ file }: LoadedPlugin): string {
  const folder = file.slice(0, file.lastIndexOf(`${path.sep}.zz${path.sep}plugins${path.sep}`));
  return `${pathToFileURL(followLinks(path.join(folder, ".zz", "plugins"))).href}/`;
}

/** The plugin's own files, as they are now. */
export function stampsOf(plugin: LoadedPlugin): Map<string, string> {
  const pluginUrl = pluginUrlOf(plugin);
  const trees = importTrees();
  const urls = new Set([pluginUrl]);
  for (const url of urls) for (const used of trees.uses.get(url) ?? []) urls.add(used);
  for (const [url, tree] of trees) if (tree.plugin === pluginUrl) urls.add(url);
  const files = [...urls].map((url) => fileURLToPath(url));
  return new Map([plugin.file, ...files].map((file) => [file, stampOf(file)]));
}

/**
 * Where an error happened: the first of the plugin's files in the stack, else a package that it
 * imports.
 */
export function locationOfError(error: unknown, file: string, ownFiles?: Iterable<string>): string {
  const text = `${(error as Error)?.stack ?? ""}\n${errorMessage(error)}`;
  const knownFiles = ownFiles ?? [...importTrees().keys()].map((url) => fileURLToPath(url));
  const files = [file, ...knownFiles].flatMap((candidate) =>
    [candidate, pathToFileURL(candidate).href].map((spelt) => ({ one: candidate, spelt })),
  );
  const placeIn = (row: string) =>
    files.flatMap(({ one, spelt }) => {
      const [, line] = /^(?:\?zz=\d+)?:(\d+)/.exec(row.split(spelt)[1] ?? "") ?? [];
      return line ? `${one}:${line}` : [];
    });
  const [location] = text.split("\n").flatMap(placeIn);
  const [, package_] =
    /(?:file:\/\/)?(\/[^()]*\/node_modules\/[^()]*?:\d+):\d+\)?$/m.exec(text) ?? [];
  return location ?? (whereImported(text) || (package_ ?? file));
}
function whereImported(text: string): string {
  const [, missing = "", from = ""] = /'([^']+)'.* imported from (.+)$/m.exec(text) ?? [];
  const rows = textOf(from).split("\n");
  const line = rows.findIndex((row) => row.includes(path.basename(missing))) + 1;
  return from && line ? `${from}:${line}` : from;
}

/** The plugin whose file comes first in a stack. */
export function pluginInStack(stack: string): string | undefined {
  const files = [...importTrees()].flatMap(([url, { plugin, script }]) =>
    script ? [] : [{ url: url.replace(/\?.*/, ""), plugin }],
  );
  const tells = (line: string, url: string) =>
    [`${url}:`, `${url}?`, `${fileURLToPath(url)}:`].some((spelling) => line.includes(spelling));
  const [match] = stack
    .split("\n")
    .flatMap((line) => files.find(({ url }) => tells(line, url)) ?? []);
  return match && newLoadedPlugin(fileURLToPath(match.plugin), "home").name;
}

/** A bug in a plugin is reported with its name and place; a sentence is reported as it is. */
export function explainError(error: unknown): string {
  const { name = "Error", stack = "" } = Object(error) as Error;
  const owner = name !== "Error" && pluginInStack(stack);
  return owner
    ? `Plugin '${owner}' failed (${locationOfError(error, "")}): ${errorMessage(error)}`
    : errorMessage(error);
}
