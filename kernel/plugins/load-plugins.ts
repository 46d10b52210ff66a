// Finds, loads, reloads and unloads plugins.

import fs from "node:fs";
import path from "node:path";
import type { Awaitable, Reloaded } from "../contract.ts";
import { loadPrompts } from "../conversation/system-prompt.ts";
import { emit, emitNote } from "../events.ts";
import { isTrusted, projectExtras, trustChecker } from "../gate/trust.ts";
import { type Core, isFlagGiven, type LoadedPlugin } from "../instance.ts";
import { renewSettings } from "../settings/plugin-settings.ts";
import { IS_BUILT, PACKAGE_FOLDER, SELF_URL, ZZ_FOLDER } from "../system/installation.ts";
import { clockOf } from "../text/clock.ts";
import { usage } from "../text/faults.ts";
import { entriesOf, jsonIn, stampOf } from "../text/read-quietly.ts";
import { byName, isObject, tryTo } from "../text/words.ts";
import {
  forbidExitDuring,
  newLoadedPlugin,
  newVersion,
  providePackages,
  stampsOf,
  startImport,
  whyWrongVersion,
} from "./import-plugin.ts";
import { loadLimit, setUpPlugin, unregisterPlugin } from "./plugin-handle.ts";

/**
 * Imports all plugins at once, those that never loaded before one by one, and sets them up in
 * order.
 */
export const loadPlugins = (core: Core): Promise<void> => forbidExitDuring(() => loadAll(core));

async function loadAll(core: Core): Promise<void> {
  const bundled = await loadBundle(core);
  const allPlugins = findPlugins(core, bundled);
  const toLoad = core.options.given?.length ? await loadOwn(core, allPlugins, bundled) : allPlugins;
  const enabledPlugins = toLoad.filter(({ disabled }) => !disabled);
  // from source, zz's own plugins import "zz/text" too
  if (!IS_BUILT || enabledPlugins.some(({ from }) => from !== "zz")) providePackages();
  const limitSeconds = loadLimit(core);
  const imports = new Map(
    enabledPlugins.map((plugin) => [plugin, startImport(plugin, bundled.default, limitSeconds)]),
  );
  for (const plugin of toLoad) {
    core.plugins.push(plugin);
    if (plugin.disabled) await noteSection(plugin, bundled);
    else await loadPlugin(core, plugin, imports.get(plugin));
  }
}

/** The settings of one of zz's own that is off stay known: it may come back. */
async function noteSection(plugin: LoadedPlugin, bundled: Bundle): Promise<void> {
  if (plugin.from !== "zz") return;
  const imported = await Promise.resolve(startImport(plugin, bundled.default, 1)).catch(() => {});
  const section = imported?.settings?.name;
  if (section) plugin.section = section;
}

/**
 * Loads zz's own first: one of their flags may exclude all others before any of them runs. Returns
 * those left to load.
 */
async function loadOwn(
  core: Core,
  allPlugins: LoadedPlugin[],
  bundled: Bundle,
): Promise<LoadedPlugin[]> {
  if (!IS_BUILT) providePackages();
  for (const plugin of allPlugins) {
    if (plugin.from !== "zz") continue;
    core.plugins.push(plugin);
    if (plugin.disabled) await noteSection(plugin, bundled);
    else await loadPlugin(core, plugin, startImport(plugin, bundled.default, loadLimit(core)));
  }
  return isFlagGiven(core, "alone") ? [] : allPlugins.filter(({ from }) => from !== "zz");
}

/** The built zz has its plugins in one file: importing each by itself takes a tenth of a start. */
export const loadBundle = async ({ options }: Core): Promise<Bundle> =>
  IS_BUILT && !options.bare
    ? await import(`${SELF_URL}/plugins.js`)
    : { default: {}, packages: [] };
type Bundle = { default: Record<string, unknown>; packages: string[] };

/** All plugins; the settings say which are disabled. */
function findPlugins(core: Core, bundled: Bundle): LoadedPlugin[] {
  const bundleFile = path.join(ZZ_FOLDER, "plugins.js");
  const fromBundle = Object.keys(bundled.default).map((name) => ({
    ...newLoadedPlugin(bundleFile, "zz"),
    name,
    ...(bundled.packages.includes(name) && { isPackage: true as const }),
  }));
  const isBundled = core.options.bare || IS_BUILT;
  const ownPlugins = isBundled
    ? fromBundle
    : (cachedCheckout ??= checkoutPlugins()).map((plugin) => ({
        ...plugin,
        undo: [],
        stamps: new Map(),
      }));
  const foundPlugins = [...ownPlugins, ...pluginsOfPerson(core, ownPlugins)];
  for (const plugin of foundPlugins)
    if (isLeftOut(core, plugin, foundPlugins)) plugin.disabled = true;
  return foundPlugins;
}

/**
 * The settings leave it out, or the person has one of that name in place of a package of zz. A
 * project cannot replace one.
 */
function isLeftOut(
  { options }: Core,
  { name, isPackage }: LoadedPlugin,
  allPlugins: LoadedPlugin[],
): boolean {
  const replaces = (candidate: LoadedPlugin) =>
    candidate.name === name && (candidate.from === "home" || candidate.from === "flag");
  const { plugins, disabled } = options.settings;
  return (
    [plugins?.off, disabled].some((offNames) => offNames?.includes(name)) ||
    (isPackage === true && allPlugins.some(replaces))
  );
}

let cachedCheckout: LoadedPlugin[] | undefined;
/** A checkout is its own home: plugins that were not part of the build are the person's. */
function checkoutPlugins(): LoadedPlugin[] {
  const builtNames: Record<"plugins" | "packages", string[]> | undefined = jsonIn(
    path.join(PACKAGE_FOLDER, "dist", "plugins.json"),
  );
  const plugins = pluginsIn(path.join(ZZ_FOLDER, "plugins"), "zz").filter(
    ({ name }) => builtNames?.plugins?.includes(name) ?? true,
  );
  const packages = packagesIn(path.join(ZZ_FOLDER, "packages"), builtNames?.packages);
  return [...plugins, ...packages.map((plugin) => ({ ...plugin, isPackage: true as const }))].sort(
    byName,
  );
}

/**
 * One that was part of the build and is not whole any more fails by its name; without the folder,
 * zz does without all of them.
 */
function packagesIn(packagesFolder: string, builtNames: string[] = []): LoadedPlugin[] {
  const foundPackages = pluginsIn(packagesFolder, "zz");
  const missingNames = builtNames.filter(
    (builtName) =>
      fs.existsSync(packagesFolder) && !foundPackages.some((plugin) => plugin.name === builtName),
  );
  return [
    ...foundPackages,
    ...missingNames.map((missingName) =>
      newLoadedPlugin(path.join(packagesFolder, missingName, "index.ts"), "zz"),
    ),
  ];
}

/** The person's plugins: those of the home, of a trusted project, and those named by flags. */
function pluginsOfPerson(core: Core, ownPlugins: LoadedPlugin[]): LoadedPlugin[] {
  const { root } = core.options;
  const pluginsFolder = path.join(core.options.home, "plugins");
  const ownNames =
    path.dirname(pluginsFolder) === PACKAGE_FOLDER
      ? ownPlugins.flatMap(({ name, isPackage }) => (isPackage ? [] : name))
      : [];
  const homePlugins =
    core.options.own === false
      ? []
      : pluginsIn(pluginsFolder, "home").filter(({ name }) => !ownNames.includes(name));
  const namedByFlags = (core.options.plugins ?? []).flatMap((namedPath) => {
    const absolutePath = path.resolve(core.io.cwd(), namedPath);
    const isFolder = tryTo(() => fs.statSync(absolutePath))?.isDirectory();
    const pluginOfFile = () =>
      fs.existsSync(absolutePath) ? [newLoadedPlugin(absolutePath, "flag")] : [];
    const foundPlugins = isFolder ? pluginAt(absolutePath, "flag") : pluginOfFile();
    if (foundPlugins.length || core.plugins.length) return foundPlugins; // it existed
    const reason = isFolder
      ? "the folder has no index.ts. Add one, or name a file in it."
      : "no such file. Check the path.";
    throw usage(`Cannot load plugin '${namedPath}': ${reason}`);
  });
  const trusted = pluginsIn(path.join(root, ".zz", "plugins"), "project").filter(({ file }) =>
    isTrusted(core, file),
  );
  const personPlugins = [
    ...homePlugins,
    ...trusted.map((plugin) => ({ ...plugin, trusts: trustChecker(core) })),
  ];
  const isNamed = ({ name, file }: LoadedPlugin) =>
    // --plugin wins
    namedByFlags.some((candidate) => candidate.name === name && candidate.file !== file);
  const flagPlugins = namedByFlags.filter(
    ({ file }, index) =>
      ![...personPlugins, ...namedByFlags.slice(0, index)].some((earlier) => earlier.file === file),
  );
  return [...personPlugins.filter((plugin) => !isNamed(plugin)), ...flagPlugins.sort(byName)];
}

const pluginsIn = (parentFolder: string, from: LoadedPlugin["from"]): LoadedPlugin[] =>
  entriesOf(parentFolder)
    .filter((fileName) => !/^[._]|\.d\.m?ts$|\.test\.\w+$/.test(fileName))
    .flatMap((fileName) => pluginAt(path.join(parentFolder, fileName), from))
    .filter(({ file, unusable }) => unusable || fs.existsSync(file))
    .sort(byName);

/** A plugin is a file, or a folder with an index, or one whose package.json names its file. */
function pluginAt(pluginPath: string, from: LoadedPlugin["from"]): LoadedPlugin[] {
  if (/\.[cm]?[jt]sx?$/.test(pluginPath)) return [newLoadedPlugin(pluginPath, from)];
  const manifest = Object(jsonIn(path.join(pluginPath, "package.json")));
  const entryNames = [namedEntryFile(manifest) ?? [], "index.ts", "index.js", "index.tsx"].flat();
  const entryFile = entryNames
    .map((entryName) => path.join(pluginPath, entryName))
    .find((candidate) => fs.existsSync(candidate));
  const unusable = whyUnusable(pluginPath, entryFile);
  if (!entryFile && !unusable) return [];
  return [
    {
      ...newLoadedPlugin(entryFile ?? path.join(pluginPath, "index.ts"), from),
      name: path.basename(pluginPath),
      ...(unusable && { unusable }),
    },
  ];
}

/** Why a folder cannot be loaded as a plugin; undefined: it can, or is not meant as one. */
function whyUnusable(folder: string, entryFile: string | undefined): string | undefined {
  const manifestFile = path.join(folder, "package.json");
  if (!fs.existsSync(manifestFile)) {
    const isFolder = tryTo(() => fs.statSync(folder))?.isDirectory();
    return isFolder && !entriesOf(folder).length
      ? "its folder is empty. Put an index.ts there, or remove the folder."
      : undefined;
  }
  const manifest = jsonIn(manifestFile);
  if (!isObject(manifest)) return "its package.json is not a JSON object. Correct it.";
  const { zz, keywords, engines } = manifest as any;
  if (entryFile) return engines?.zz == null ? undefined : whyWrongVersion(String(engines.zz));
  if (zz === undefined && !keywords?.includes?.("zz-plugin")) return undefined;
  const namedFile = namedEntryFile(manifest);
  return `its package.json names ${
    namedFile ? `'${namedFile}', which is not there` : "no file"
  }. Correct it under "zz".`;
}

/**
 * The file that "zz" in package.json names; with the keyword zz-plugin also the one that Node would
 * find. packages/install agrees.
 */
function namedEntryFile({ zz, keywords, exports, main }: any): string | undefined {
  const pickExport = (exported: any): unknown =>
    Object(exported) === exported
      ? pickExport(exported["."] ?? exported.import ?? exported.default)
      : exported;
  const entryFile =
    zz ?? (keywords?.includes?.("zz-plugin") ? (pickExport(exports) ?? main) : undefined);
  return typeof entryFile === "string" ? entryFile : undefined;
}

/**
 * Sets one plugin up. On failure its registrations are taken back, and a sentence names the plugin.
 */
const loadPlugin = async (core: Core, plugin: LoadedPlugin, imported: Awaitable<any>) =>
  (await setUpPlugin(core, plugin, imported))?.commit();

/**
 * Reloads plugins whose files changed, came or went; `again`: also those that failed. One refresh
 * at a time.
 */
export function refreshPlugins(core: Core, again = false): Promise<Reloaded[]> {
  const pendingRefresh = Promise.resolve(core.refreshing).then(() => refreshNow(core, again));
  core.refreshing = pendingRefresh.catch(() => {});
  return pendingRefresh.then(async (plugins) => {
    if (plugins.length) core.models = new Map();
    if (plugins.length) await emit(core, "reloaded", { plugins });
    return plugins;
  });
}

async function refreshNow(core: Core, again: boolean): Promise<Reloaded[]> {
  if (rescanProject(core)) loadPrompts(core);
  await renewSettings(core);
  const outcomes: Reloaded[] = [];
  const ownPlugins = core.plugins.filter(({ from }) => from === "zz" || from === "program");
  const present = pluginsOfPerson(core, ownPlugins);
  if (present.length) providePackages();
  for (const plugin of core.plugins.filter(
    (plugin) => !ownPlugins.includes(plugin) && !isFrozen(core, plugin),
  )) {
    if (present.some(({ file }) => file === plugin.file)) continue;
    core.plugins.splice(core.plugins.indexOf(plugin), 1);
    if (!plugin.disabled) outcomes.push(await unloadPlugin(core, plugin));
  }
  outcomes.push(...(await leavePluginsOut(core, present)));
  for (const candidate of present) {
    const loadedPlugin = core.plugins.find(
      (otherPlugin) => otherPlugin.file === candidate.file && !ownPlugins.includes(otherPlugin),
    );
    if (loadedPlugin && !loadedPlugin.stamps.size) loadedPlugin.stamps = stampsOf(loadedPlugin);
    if (
      loadedPlugin?.disabled ||
      (loadedPlugin &&
        !(again && loadedPlugin.failure) &&
        loadedPlugin.unusable === candidate.unusable &&
        [...loadedPlugin.stamps].every(([filePath, oldStamp]) => stampOf(filePath) === oldStamp))
    )
      continue;
    outcomes.push(await reloadPlugin(core, candidate, loadedPlugin));
  }
  return outcomes;
}

/** Whether what a project brings is still trusted. What was loaded before stays loaded. */
function rescanProject(core: Core): boolean {
  const previousExtras = core.extras;
  core.extras =
    core.options.own === false ? undefined : projectExtras(core.options, previousExtras);
  const { given, changed = [], hashes = {} } = core.extras ?? {};
  if (
    !given &&
    changed.length &&
    JSON.stringify(hashes) !== JSON.stringify(previousExtras?.hashes ?? {})
  )
    emitNote(
      core,
      `${changed.join(", ")} changed since you trusted it. ` +
        "What was loaded stays in use; /trust shows and loads it.",
    );
  return !changed.length || given === true;
}
const isFrozen = ({ extras: brought }: Core, { from }: LoadedPlugin): boolean =>
  from === "project" && brought?.given === false && brought.changed !== undefined;

/**
 * Enables or disables plugins as the settings say, and as those that are there now replace zz's
 * packages.
 */
async function leavePluginsOut(core: Core, present: LoadedPlugin[]): Promise<Reloaded[]> {
  const outcomes: Reloaded[] = [];
  for (const plugin of [...core.plugins]) {
    const isExcluded = isLeftOut(core, plugin, present);
    if (!plugin.disabled && isExcluded) {
      outcomes.push(await unloadPlugin(core, plugin));
      plugin.disabled = true;
      delete plugin.failure;
    } else if (plugin.disabled && !isExcluded)
      outcomes.push(await reloadPlugin(core, plugin, plugin));
  }
  return outcomes;
}

async function unloadPlugin(core: Core, plugin: LoadedPlugin): Promise<Reloaded> {
  await unregisterPlugin(clockOf(core.io), plugin);
  return { name: plugin.name, did: "unloaded", ms: 0 };
}

async function reloadPlugin(
  core: Core,
  replacement: LoadedPlugin,
  oldPlugin?: LoadedPlugin,
): Promise<Reloaded> {
  const { disabled, failure, ...rest } = replacement;
  const version = replacement.from === "zz" ? 0 : newVersion();
  const newPlugin: LoadedPlugin = { ...rest, undo: [], stamps: new Map(), version, ms: 0 };
  const bundled = await loadBundle(core);
  const newStage = await forbidExitDuring(() =>
    setUpPlugin(core, newPlugin, startImport(newPlugin, bundled.default, loadLimit(core))),
  );
  const ms = Math.round(newPlugin.ms * 10) / 10;
  const replaced = oldPlugin?.disabled ? undefined : oldPlugin;
  if (!newStage) {
    const fullStop = /[.!?]$/.test(newPlugin.failure!) ? "" : ".";
    const reason =
      replaced && !replaced.failure
        ? `${newPlugin.failure}${fullStop} Its previous version stays in use.`
        : newPlugin.failure!;
    if (replaced)
      Object.assign(replaced, {
        stamps: newPlugin.stamps,
        [replaced.failure ? "failure" : "outdated"]: reason,
      });
    else putInPlace(newPlugin);
    return { name: newPlugin.name, did: "failed", ms, why: reason };
  }
  if (replaced) await unregisterPlugin(clockOf(core.io), replaced);
  newStage.commit();
  putInPlace(newPlugin);
  return { name: newPlugin.name, did: replaced ? "reloaded" : "loaded", ms };

  function putInPlace(plugin: LoadedPlugin): void {
    core.plugins.splice(
      oldPlugin ? core.plugins.indexOf(oldPlugin) : core.plugins.length,
      oldPlugin ? 1 : 0,
      plugin,
    );
  }
}

const SETTLE_MS = 40; // ms without another change: editors save in several steps

/** Watches the plugins' files. A missed change is found before the next line. */
export function watchPlugins(core: Core, onSaved: () => void): { aim(): void; close(): void } {
  const watched = new Map<string, fs.FSWatcher>();
  for (const plugin of core.plugins)
    if (plugin.from !== "zz" && !plugin.stamps.size) plugin.stamps = stampsOf(plugin);
  let cancelTimer = () => {};
  aim();
  return { aim, close };

  function aim(): void {
    const watchedFiles = core.plugins.flatMap(({ stamps }) => [...stamps.keys()]);
    const parentFolders = [core.options.home, path.join(core.options.root, ".zz")];
    const folders = new Set([
      ...parentFolders.map((parentFolder) => path.join(parentFolder, "plugins")),
      ...watchedFiles.map((watchedFile) => path.dirname(watchedFile)),
    ]);
    for (const [pluginFolder, watcher] of watched)
      if (!folders.has(pluginFolder)) stopWatching(pluginFolder, watcher);
    for (const pluginFolder of folders)
      if (!watched.has(pluginFolder) && fs.existsSync(pluginFolder)) watchFolder(pluginFolder);
  }
  function watchFolder(pluginFolder: string): void {
    // the system may have no watchers left
    const watcher = tryTo(() => fs.watch(pluginFolder, { persistent: false }, restartTimer));
    watcher?.on("error", () => stopWatching(pluginFolder, watcher));
    if (watcher) watched.set(pluginFolder, watcher);
  }
  function restartTimer(): void {
    cancelTimer();
    cancelTimer = clockOf(core.io).timer(SETTLE_MS, onSaved, { background: true });
  }
  function stopWatching(pluginFolder: string, watcher: fs.FSWatcher): void {
    watcher.close();
    watched.delete(pluginFolder);
  }
  function close(): void {
    cancelTimer();
    for (const [pluginFolder, watcher] of watched) stopWatching(pluginFolder, watcher);
  }
}
