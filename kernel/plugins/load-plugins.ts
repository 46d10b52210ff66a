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
import { entriesOf, stampOf, textOf } from "../text/read-quietly.ts";
import { byName, tryTo } from "../text/words.ts";
import {
  forbidExitDuring,
  newLoadedPlugin,
  newVersion,
  providePackages,
  stampsOf,
  startImport,
} from "./import-plugin.ts";
import { loadLimit, setUpPlugin, unregisterPlugin } from "./plugin-handle.ts";

/**
 * Imports all plugins at once, those that never loaded before one by one, and sets them up in
 * order.
 */
export async function loadPlugins(core: Core): Promise<void> {
  const own = await bundle(core);
  const all = findPlugins(core, own);
  const found = core.options.given?.length ? await loadOwn(core, all, own) : all;
  const wanted = found.filter(({ disabled }) => !disabled);
  // from source, zz's own plugins import "zz/text" too
  if (!IS_BUILT || wanted.some(({ from }) => from !== "zz")) providePackages();
  const limit = loadLimit(core);
  const imports = new Map(
    wanted.map((plugin) => [plugin, startImport(plugin, own.default, limit)]),
  );
  for (const plugin of found) {
    core.plugins.push(plugin);
    if (!plugin.disabled) await load(core, plugin, imports.get(plugin));
  }
}

/**
 * Loads zz's own first: one of their flags may exclude all others before any of them runs. Returns
 * those left to load.
 */
async function loadOwn(core: Core, all: LoadedPlugin[], bundled: Bundle): Promise<LoadedPlugin[]> {
  if (!IS_BUILT) providePackages();
  for (const plugin of all) {
    if (plugin.from !== "zz") continue;
    core.plugins.push(plugin);
    if (!plugin.disabled)
      await load(core, plugin, startImport(plugin, bundled.default, loadLimit(core)));
  }
  return isFlagGiven(core, "alone") ? [] : all.filter(({ from }) => from !== "zz");
}

/** The built zz has its plugins in one file: importing each by itself takes a tenth of a start. */
const bundle = async ({ options }: Core): Promise<Bundle> =>
  IS_BUILT && !options.bare
    ? await import(`${SELF_URL}/plugins.js`)
    : { default: {}, packages: [] };
type Bundle = { default: Record<string, unknown>; packages: string[] };

/** All plugins; the settings say which are disabled. */
function findPlugins(core: Core, bundled: Bundle): LoadedPlugin[] {
  const fromBundle = Object.keys(bundled.default).map((name) => ({
    ...newLoadedPlugin(path.join(ZZ_FOLDER, "plugins.js"), "zz"),
    name,
    ...(bundled.packages.includes(name) && { isPackage: true as const }),
  }));
  const isBundled = core.options.bare || IS_BUILT;
  const own = isBundled
    ? fromBundle
    : (inCheckout ??= zzsIn()).map((one) => ({ ...one, undo: [], stamps: new Map() }));
  const found = [...own, ...pluginsOfPerson(core, own)];
  for (const plugin of found) if (isLeftOut(core, plugin, found)) plugin.disabled = true;
  return found;
}

/**
 * The settings leave it out, or the person has one of that name in place of a package of zz. A
 * project cannot replace one.
 */
function isLeftOut(
  { options }: Core,
  { name, isPackage }: LoadedPlugin,
  all: LoadedPlugin[],
): boolean {
  const replaces = (other: LoadedPlugin) =>
    other.name === name && (other.from === "home" || other.from === "flag");
  return (
    Boolean(options.settings.disabled?.includes(name)) || (isPackage === true && all.some(replaces))
  );
}

let inCheckout: LoadedPlugin[] | undefined;
/** A checkout is its own home: plugins that were not part of the build are the person's. */
function zzsIn(): LoadedPlugin[] {
  const built = tryTo(
    () =>
      JSON.parse(textOf(path.join(PACKAGE_FOLDER, "dist", "plugins.json"))) as Record<
        "plugins" | "packages",
        string[]
      >,
  );
  const plugins = pluginsIn(path.join(ZZ_FOLDER, "plugins"), "zz").filter(
    ({ name }) => built?.plugins?.includes(name) ?? true,
  );
  const packages = packagesIn(path.join(ZZ_FOLDER, "packages"), built?.packages);
  return [...plugins, ...packages.map((one) => ({ ...one, isPackage: true as const }))].sort(
    byName,
  );
}

/**
 * One that was part of the build and is not whole any more fails by its name; without the folder,
 * zz does without all of them.
 */
function packagesIn(folder: string, built: string[] = []): LoadedPlugin[] {
  const found = pluginsIn(folder, "zz");
  const gone = built.filter(
    (name) => fs.existsSync(folder) && !found.some((one) => one.name === name),
  );
  return [
    ...found,
    ...gone.map((name) => newLoadedPlugin(path.join(folder, name, "index.ts"), "zz")),
  ];
}

/** The person's plugins: those of the home, of a trusted project, and those named by flags. */
function pluginsOfPerson(core: Core, found: LoadedPlugin[]): LoadedPlugin[] {
  const { root } = core.options;
  const home = path.join(core.options.home, "plugins");
  const seen =
    path.dirname(home) === PACKAGE_FOLDER
      ? found.flatMap(({ name, isPackage }) => (isPackage ? [] : name))
      : [];
  const others =
    core.options.own === false
      ? []
      : pluginsIn(home, "home").filter(({ name }) => !seen.includes(name));
  const named = (core.options.plugins ?? []).flatMap((file) => {
    const at = path.resolve(core.io.cwd(), file);
    const isFolder = tryTo(() => fs.statSync(at))?.isDirectory();
    const ofFile = () => (fs.existsSync(at) ? [newLoadedPlugin(at, "flag")] : []);
    const found = isFolder ? pluginIn(at, "flag") : ofFile();
    if (found.length || core.plugins.length) return found; // it existed
    const why = isFolder
      ? "the folder has no index.ts. Add one, or name a file in it."
      : "no such file. Check the path.";
    throw usage(`Cannot load plugin '${file}': ${why}`);
  });
  const trusted = pluginsIn(path.join(root, ".zz", "plugins"), "project").filter(({ file }) =>
    isTrusted(core, file),
  );
  const all = [...others, ...trusted.map((plugin) => ({ ...plugin, trusts: trustChecker(core) }))];
  const isNamed = ({ name, file }: LoadedPlugin) =>
    named.some((one) => one.name === name && one.file !== file); // --plugin wins
  const rest = named.filter(
    ({ file }, at) => ![...all, ...named.slice(0, at)].some((one) => one.file === file),
  );
  return [...all.filter((one) => !isNamed(one)), ...rest.sort(byName)];
}

const pluginsIn = (folder: string, from: LoadedPlugin["from"]): LoadedPlugin[] =>
  entriesOf(folder)
    .filter((entry) => !/^[._]|\.d\.m?ts$|\.test\.\w+$/.test(entry))
    .flatMap((entry) => pluginIn(path.join(folder, entry), from))
    .filter(({ file }) => fs.existsSync(file))
    .sort(byName);

/** A plugin is a file, or a folder with an index, or one whose package.json names its file. */
function pluginIn(at: string, from: LoadedPlugin["from"]): LoadedPlugin[] {
  if (/\.[cm]?[jt]sx?$/.test(at)) return [newLoadedPlugin(at, from)];
  const manifest = Object(tryTo(() => JSON.parse(textOf(path.join(at, "package.json")))));
  const names = [named(manifest) ?? [], "index.ts", "index.js", "index.tsx"].flat();
  const file = names.map((name) => path.join(at, name)).find((file) => fs.existsSync(file));
  const forZz = manifest.engines?.zz;
  return file
    ? [
        {
          ...newLoadedPlugin(file, from),
          name: path.basename(at),
          ...(typeof forZz === "string" && { forZz }),
        },
      ]
    : [];
}

/**
 * The file that "zz" in package.json names; with the keyword zz-plugin also the one that Node would
 * find. packages/install agrees.
 */
function named({ zz, keywords, exports, main }: any): string | undefined {
  const pick = (way: any): unknown =>
    Object(way) === way ? pick(way["."] ?? way.import ?? way.default) : way;
  const found = zz ?? (keywords?.includes?.("zz-plugin") ? (pick(exports) ?? main) : undefined);
  return typeof found === "string" ? found : undefined;
}

/**
 * Sets one plugin up. On failure its registrations are taken back, and a sentence names the plugin.
 */
const load = async (core: Core, plugin: LoadedPlugin, imported: Awaitable<any>) =>
  (await setUpPlugin(core, plugin, imported))?.commit();

/**
 * Reloads plugins whose files changed, came or went; `again`: also those that failed. One refresh
 * at a time.
 */
export function refreshPlugins(core: Core, again = false): Promise<Reloaded[]> {
  const done = Promise.resolve(core.refreshing).then(() => refresh(core, again));
  core.refreshing = done.catch(() => {});
  return done.then(async (plugins) => {
    if (plugins.length) core.models = new Map();
    if (plugins.length) await emit(core, "reloaded", { plugins });
    return plugins;
  });
}

async function refresh(core: Core, again: boolean): Promise<Reloaded[]> {
  if (rescan(core)) loadPrompts(core);
  await renewSettings(core);
  const done: Reloaded[] = [];
  const own = core.plugins.filter(({ from }) => from === "zz" || from === "program");
  const present = pluginsOfPerson(core, own);
  if (present.length) providePackages();
  for (const plugin of core.plugins.filter((one) => !own.includes(one) && !isFrozen(core, one))) {
    if (present.some(({ file }) => file === plugin.file)) continue;
    core.plugins.splice(core.plugins.indexOf(plugin), 1);
    if (!plugin.disabled) done.push(await unload(core, plugin));
  }
  done.push(...(await leaveOut(core, present)));
  for (const found of present) {
    const old = core.plugins.find((one) => one.file === found.file && !own.includes(one));
    if (old && !old.stamps.size) old.stamps = stampsOf(old);
    if (
      old?.disabled ||
      (old &&
        !(again && old.failure) &&
        [...old.stamps].every(([file, stamp]) => stampOf(file) === stamp))
    )
      continue;
    done.push(await reloadPlugin(core, found, old));
  }
  return done;
}

/** Whether what a project brings is still trusted. What was loaded before stays loaded. */
function rescan(core: Core): boolean {
  const before = core.extras;
  core.extras = core.options.own === false ? undefined : projectExtras(core.options, before);
  const { given, changed = [], hashes = {} } = core.extras ?? {};
  if (!given && changed.length && JSON.stringify(hashes) !== JSON.stringify(before?.hashes ?? {}))
    emitNote(
      core,
      `${changed.join(", ")} changed since you trusted it. What was loaded stays in use; /trust shows and loads it.`,
    );
  return !changed.length || given === true;
}
const isFrozen = ({ extras: brought }: Core, { from }: LoadedPlugin): boolean =>
  from === "project" && brought?.given === false && brought.changed !== undefined;

/**
 * Enables or disables plugins as the settings say, and as those that are there now replace zz's
 * packages.
 */
async function leaveOut(core: Core, present: LoadedPlugin[]): Promise<Reloaded[]> {
  const done: Reloaded[] = [];
  for (const plugin of [...core.plugins]) {
    const isOut = isLeftOut(core, plugin, present);
    if (!plugin.disabled && isOut) {
      done.push(await unload(core, plugin));
      plugin.disabled = true;
      delete plugin.failure;
    } else if (plugin.disabled && !isOut) done.push(await reloadPlugin(core, plugin, plugin));
  }
  return done;
}

async function unload(core: Core, plugin: LoadedPlugin): Promise<Reloaded> {
  await unregisterPlugin(clockOf(core.io), plugin);
  return { name: plugin.name, did: "unloaded", ms: 0 };
}

async function reloadPlugin(
  core: Core,
  found: LoadedPlugin,
  old?: LoadedPlugin,
): Promise<Reloaded> {
  const { disabled, failure, ...rest } = found;
  const version = found.from === "zz" ? 0 : newVersion();
  const next: LoadedPlugin = { ...rest, undo: [], stamps: new Map(), version, ms: 0 };
  const own = await bundle(core);
  const stage = await forbidExitDuring(() =>
    setUpPlugin(core, next, startImport(next, own.default, loadLimit(core))),
  );
  const ms = Math.round(next.ms * 10) / 10;
  const was = old?.disabled ? undefined : old;
  if (!stage) {
    const end = /[.!?]$/.test(next.failure!) ? "" : ".";
    const why =
      was && !was.failure
        ? `${next.failure}${end} Its previous version stays in use.`
        : next.failure!;
    if (was)
      Object.assign(was, { stamps: next.stamps, [was.failure ? "failure" : "outdated"]: why });
    else put(next);
    return { name: next.name, did: "failed", ms, why };
  }
  if (was) await unregisterPlugin(clockOf(core.io), was);
  stage.commit();
  put(next);
  return { name: next.name, did: was ? "reloaded" : "loaded", ms };

  function put(plugin: LoadedPlugin): void {
    core.plugins.splice(old ? core.plugins.indexOf(old) : core.plugins.length, old ? 1 : 0, plugin);
  }
}

const SETTLE_MS = 40; // ms without another change: editors save in several steps

/** Watches the plugins' files. A missed change is found before the next line. */
export function watchPlugins(core: Core, saved: () => void): { aim(): void; close(): void } {
  const watched = new Map<string, fs.FSWatcher>();
  for (const plugin of core.plugins)
    if (plugin.from !== "zz" && !plugin.stamps.size) plugin.stamps = stampsOf(plugin);
  let cancel = () => {};
  aim();
  return { aim, close };

  function aim(): void {
    const files = core.plugins.flatMap(({ stamps }) => [...stamps.keys()]);
    const places = [core.options.home, path.join(core.options.root, ".zz")];
    const folders = new Set([
      ...places.map((place) => path.join(place, "plugins")),
      ...files.map((file) => path.dirname(file)),
    ]);
    for (const [folder, watcher] of watched) if (!folders.has(folder)) stop(folder, watcher);
    for (const folder of folders) if (!watched.has(folder) && fs.existsSync(folder)) watch(folder);
  }
  function watch(folder: string): void {
    // the system may have no watchers left
    const watcher = tryTo(() => fs.watch(folder, { persistent: false }, hear));
    watcher?.on("error", () => stop(folder, watcher));
    if (watcher) watched.set(folder, watcher);
  }
  function hear(): void {
    cancel();
    cancel = clockOf(core.io).timer(SETTLE_MS, saved, { background: true });
  }
  function stop(folder: string, watcher: fs.FSWatcher): void {
    watcher.close();
    watched.delete(folder);
  }
  function close(): void {
    cancel();
    for (const [folder, watcher] of watched) stop(folder, watcher);
  }
}
