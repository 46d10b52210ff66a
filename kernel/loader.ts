// Chapter 2 of the kernel, its second half: plugins are found, loaded, loaded anew when their files change, and taken away.
import fs from "node:fs";
import module from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import {
  type About,
  type Awaitable,
  BUILT,
  byName,
  type Core,
  compare,
  EVENTS,
  emit,
  entriesOf,
  FLAGS,
  fault,
  HOOK_LIMIT,
  IDENTIFIER,
  known,
  type Owned,
  PACKAGE,
  type Reloaded,
  reason,
  SELF,
  SLOTS,
  STEPS,
  toJsonSchema,
  tryTo,
  usage,
  within,
  words,
  type Zz,
} from "../zz.ts";
import { configOf } from "./settings.ts";
import { request } from "./stream.ts";

export interface Loaded extends PluginAt {
  undo: (() => Awaitable<void>)[]; // takes back what it added, last in first out
  version: number; // how often it was loaded anew
  stamps: Map<string, string>; // its own files, as they were when it was loaded
}
type PluginAt = About["plugins"][number];

const LENT = /^(zod|typebox|zz)(\/|$)/;
const LOAD_LIMIT = 10_000;
const SLOW_LOAD = "loading took longer than 10 s. Move slow work into a tool.";
const KEY_NAME = /^((ctrl|meta|shift)\+)*[a-z0-9]+$/;
/** Field by field what may be registered; "!" marks what must be there. */
const SHAPES = {
  tool: "name! description! run! aliases also params needs changes preview render timeout",
  command: "name! description! run! usage group complete",
  layer: "name! slot! text! budget",
  provider: "name! models! chat! auto model",
  flag: "name! description! short value optional many set run",
  key: "name! description! press!",
} as const;

// ── Finding ──

/** All at once are imported, one after the other set up. The built zz has its own plugins at hand. */
export async function loadPlugins(core: Core, bundle: Record<string, unknown>): Promise<void> {
  core.plugins.push(...findPlugins(core, bundle));
  if (core.plugins.some(({ from }) => from !== "zz")) lendPackages();
  const imports = core.plugins.map((plugin) => startImport(plugin, bundle));
  for (const [i, plugin] of core.plugins.entries()) await load(core, plugin, imports[i]!);
}

/** The built zz has its own plugins in one file: to import each by itself takes a tenth of a start. */
function findPlugins(core: Core, bundle: object): Loaded[] {
  const own = path.join(SELF, "plugins");
  const bundled = Object.keys(bundle).map((name) => ({ ...pluginAt(path.join(SELF, "plugins.js"), "zz"), name }));
  const found = core.options.bare || BUILT ? bundled : pluginsIn(own, "zz");
  return [...found, ...othersThan(core, found)];
}

/** The person's own: those of the home, and those that were named. */
function othersThan(core: Core, found: Loaded[]): Loaded[] {
  const home = path.join(core.options.home, "plugins");
  const others: Loaded[] = [];
  // A checkout's home is the folder that the built-in plugins were built from: there, only what is new counts.
  if (core.options.own !== false && home !== path.join(SELF, "plugins")) {
    const seen = new Set(path.dirname(home) === PACKAGE ? found.map((plugin) => plugin.name) : []);
    others.push(...pluginsIn(home, "home").filter((plugin) => !seen.has(plugin.name)));
  }
  const named = (core.options.plugins ?? []).flatMap((file) => {
    if (fs.existsSync(file)) return [pluginAt(path.resolve(file), "flag")];
    if (core.plugins.length) return []; // it was there
    throw usage(`Cannot load plugin '${file}': no such file. Check the path.`);
  });
  return [...others, ...named.sort(byName)];
}

/** A plugin is a file, or a folder with an index. */
function pluginsIn(folder: string, from: Loaded["from"]): Loaded[] {
  return entriesOf(folder)
    .filter((entry) => !/^[._]|\.d\.m?ts$|\.test\.\w+$/.test(entry))
    .flatMap((entry) => (/\.[cm]?[jt]s$/.test(entry) ? [entry] : [`${entry}/index.ts`, `${entry}/index.js`]))
    .map((entry) => path.join(folder, entry))
    .filter((file) => fs.existsSync(file))
    .map((file) => pluginAt(file, from))
    .sort(byName);
}

function pluginAt(file: string, from: Loaded["from"]): Loaded {
  const base = path.basename(file).replace(/\.[cm]?[jt]sx?$/, "");
  const name = base === "index" ? path.basename(path.dirname(file)) : base;
  return { name, file, from, ms: 0, undo: [], version: 0, stamps: new Map() };
}

// ── Importing ──

/** By the URL of each file that was imported for a plugin, the URL of the plugin that it was imported for. */
type Trees = Map<string, string>;
const TREES = Symbol.for("zz.trees"); // hooks hold for the whole process, however many instances it has

/**
 * A plugin gets zz's own zod and typebox, wherever its file lies; the packages that it imports keep their own. What it
 * imports of its own files is noted, and belongs to the same version of it.
 */
function lendPackages(): void {
  if (Object.hasOwn(globalThis, TREES)) return;
  const trees: Trees = new Map();
  Object.defineProperty(globalThis, TREES, { value: trees });
  module.registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = "" } = context;
      const lent = LENT.test(specifier) && !parentURL.includes("/node_modules/") && parentURL !== import.meta.url;
      if (lent) return { url: import.meta.resolve(specifier), shortCircuit: true };
      const plugin = trees.get(parentURL);
      const found = next(specifier, context);
      if (!plugin || !found.url.startsWith("file:") || found.url.includes("/node_modules/")) return found;
      const version = new URL(plugin).search;
      const url = version && !found.url.includes("?") ? found.url + version : found.url;
      trees.set(url, plugin);
      return { ...found, url };
    },
  });
}
const treesOf = (): Trees => (globalThis as unknown as { [TREES]?: Trees })[TREES] ?? new Map();

const urlOf = ({ file, version }: Loaded): string => pathToFileURL(file).href + (version ? `?zz=${version}` : "");

/** What a plugin's file exports. */
function startImport(plugin: Loaded, bundle: Record<string, unknown>): Awaitable<any> {
  if (BUILT && plugin.from === "zz") return bundle[plugin.name];
  const start = performance.now();
  const url = urlOf(plugin);
  if (plugin.from !== "zz") treesOf().set(url, url);
  const imported = import(url).finally(() => (plugin.ms += performance.now() - start));
  imported.catch(() => {}); // load() tells of it, when it is its turn
  return imported;
}

/** Its own files, as they are now. */
function stampsOf(plugin: Loaded): Map<string, string> {
  const own = urlOf(plugin);
  const files = [...treesOf()].flatMap(([url, its]) =>
    its === own ? [decodeURIComponent(new URL(url).pathname)] : [],
  );
  return new Map([plugin.file, ...files].map((file) => [file, stampOf(file)]));
}

function stampOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.mtimeMs} ${stat.size} ${stat.ino}` : "";
}

// ── Loading ──

/** Sets one plugin up. If that fails, what it had added is taken back, and the failure is a sentence that names it. */
async function load(core: Core, plugin: Loaded, imported: Awaitable<any>): Promise<void> {
  const stage = await setUp(core, plugin, imported);
  if (stage) stage.commit();
}

/** What a plugin adds, held until all of it is there. Undefined: it failed. */
async function setUp(core: Core, plugin: Loaded, imported: Awaitable<any>): Promise<Stage | undefined> {
  const unload = { controller: undefined as AbortController | undefined };
  plugin.undo = [() => unload.controller?.abort()];
  let start = performance.now();
  const stage = openStage();
  try {
    const exports = imported instanceof Promise ? await within(imported, LOAD_LIMIT, SLOW_LOAD) : imported;
    start = performance.now();
    if (typeof exports.default !== "function")
      throw fault("it has no default export to call. Write `export default (zz: Zz) => …`.");
    const made = configOf(core, plugin.name, exports);
    const config = made instanceof Promise ? await made : made;
    const setup = exports.default(handle(core, plugin, config, unload, stage));
    if (setup instanceof Promise) await within(setup, LOAD_LIMIT, SLOW_LOAD);
  } catch (error) {
    await takeBack(plugin);
    plugin.failure = `Cannot load plugin '${plugin.name}' (${whereFrom(error, plugin.file)}): ${reason(error)}`;
    if (core.options.debug) plugin.failure += `\n${(error as Error)?.stack}`;
  }
  plugin.ms += performance.now() - start;
  if (plugin.version) plugin.stamps = stampsOf(plugin); // of the first load nobody asks but a prompt
  return plugin.failure ? undefined : stage;
}

/** In reverse, each for itself: one that throws or hangs does not keep the others. */
async function takeBack(plugin: Loaded): Promise<string[]> {
  const failures: string[] = [];
  for (const undo of plugin.undo.splice(0).reverse())
    try {
      const undone = undo();
      if (undone instanceof Promise) await within(undone, HOOK_LIMIT, "its cleanup took too long");
    } catch (error) {
      failures.push(`Plugin '${plugin.name}' failed while it was taken away: ${reason(error)}`);
    }
  const own = urlOf(plugin);
  for (const [url, its] of treesOf()) if (its === own) treesOf().delete(url);
  return failures;
}

/** Gives what went wrong, in sentences. */
export const unloadPlugin = (plugin: Loaded): Promise<string[]> => takeBack(plugin);

/** A plugin's additions while it is set up. Once it is, they come into force together; later ones at once. */
type Stage = { add(apply: () => void): void; commit(): void };

function openStage(): Stage {
  let held: (() => void)[] | undefined = [];
  return {
    add: (apply) => (held ? void held.push(apply) : apply()),
    commit() {
      for (const apply of held ?? []) apply();
      held = undefined;
    },
  };
}

/** As a stack or a message tells the place: the name may stand there as a URL has it, and with its version. */
function whereFrom(error: unknown, file: string): string {
  const text = `${(error as Error)?.stack ?? ""}\n${reason(error)}`;
  const name = path.basename(file);
  const after = [name, encodeURIComponent(name)].flatMap((spelt) => text.split(spelt).slice(1));
  for (const rest of after) {
    const line = /^(?:\?zz=\d+)?:(\d+)/.exec(rest)?.[1];
    if (line) return `${file}:${line}`;
  }
  return file;
}

// ── Loading anew ──

/** Plugins whose files changed, came or went since. One call after the other. */
export function refreshPlugins(core: Core): Promise<Reloaded[]> {
  const done = (core.refreshing ?? Promise.resolve()).then(() => refresh(core));
  core.refreshing = done.catch(() => {});
  return done.then(async (plugins) => {
    if (plugins.length) await emit(core, "reloaded", { plugins });
    return plugins;
  });
}

async function refresh(core: Core): Promise<Reloaded[]> {
  const present = othersThan(
    core,
    core.plugins.filter(({ from }) => from === "zz"),
  );
  if (present.length) lendPackages();
  const done: Reloaded[] = [];
  for (const plugin of core.plugins.filter(({ from }) => from !== "zz")) {
    if (present.some(({ file }) => file === plugin.file)) continue;
    await unload(core, plugin);
    done.push({ name: plugin.name, did: "unloaded", ms: 0 });
  }
  for (const found of present) {
    const old = core.plugins.find(({ file }) => file === found.file);
    if (old && !old.stamps.size) old.stamps = stampsOf(old);
    if (old && [...old.stamps].every(([file, stamp]) => stampOf(file) === stamp)) continue;
    done.push(await renew(core, found, old));
  }
  return done;
}

async function unload(core: Core, plugin: Loaded): Promise<void> {
  core.plugins.splice(core.plugins.indexOf(plugin), 1);
  await takeBack(plugin);
}

async function renew(core: Core, found: Loaded, old?: Loaded): Promise<Reloaded> {
  const next: Loaded = { ...found, version: (old?.version ?? core.versions) + 1 };
  core.versions = Math.max(core.versions, next.version);
  const stage = await setUp(core, next, startImport(next, {}));
  const ms = Math.round(next.ms * 10) / 10;
  if (!stage) {
    const end = /[.!?]$/.test(next.failure!) ? "" : ".";
    const why = old && !old.failure ? `${next.failure}${end} What it was before goes on.` : next.failure!;
    if (old) Object.assign(old, { stamps: next.stamps, version: next.version, ...(old.failure && { failure: why }) });
    else core.plugins.push(next);
    return { name: next.name, did: "failed", ms, why };
  }
  if (old) await takeBack(old);
  stage.commit();
  core.plugins.splice(old ? core.plugins.indexOf(old) : core.plugins.length, old ? 1 : 0, next);
  return { name: next.name, did: old ? "reloaded" : "loaded", ms };
}

const SETTLED = 40; // ms without another change: editors write a file in several steps

/** Tells when a file of a plugin was saved. What it misses is found before the next line. */
export function watchPlugins(core: Core, saved: () => void): { aim(): void; close(): void } {
  const watched = new Map<string, fs.FSWatcher>();
  for (const plugin of core.plugins) if (plugin.from !== "zz" && !plugin.stamps.size) plugin.stamps = stampsOf(plugin);
  let soon: NodeJS.Timeout | undefined;
  aim();
  return { aim, close };

  function aim(): void {
    const files = core.plugins.flatMap(({ stamps }) => [...stamps.keys()]);
    const folders = new Set([path.join(core.options.home, "plugins"), ...files.map((file) => path.dirname(file))]);
    for (const [folder, watcher] of watched) if (!folders.has(folder)) stop(folder, watcher);
    for (const folder of folders) if (!watched.has(folder) && fs.existsSync(folder)) watch(folder);
  }
  function watch(folder: string): void {
    const watcher = tryTo(() => fs.watch(folder, { persistent: false }, hear)); // there may be too many already
    watcher?.on("error", () => stop(folder, watcher));
    if (watcher) watched.set(folder, watcher);
  }
  function hear(): void {
    clearTimeout(soon);
    soon = setTimeout(saved, SETTLED).unref();
  }
  function stop(folder: string, watcher: fs.FSWatcher): void {
    watcher.close();
    watched.delete(folder);
  }
  function close(): void {
    clearTimeout(soon);
    for (const [folder, watcher] of watched) stop(folder, watcher);
  }
}

// ── The handle ──

/** The verbs that one plugin has. Each remembers how to take back what it adds. */
function handle(
  core: Core,
  plugin: Loaded,
  config: Awaited<ReturnType<typeof configOf>>,
  unload: { controller: AbortController | undefined },
  stage: Stage,
): Zz<any> {
  const owner = plugin.name;
  const names = new Map<string, Set<string>>(); // by kind
  many(core.configs, config);
  return {
    config: config.live,
    get signal() {
      unload.controller ??= new AbortController(); // most never ask for it
      return unload.controller.signal;
    },
    fetch: (url, init) => request(core, url, init),
    defer: (cleanup) => void plugin.undo.push(cleanup),
    state: (initial) => {
      const had = core.states.get(owner)?.live ?? {}; // it outlives a version of the plugin
      const live = Object.assign(had, { ...structuredClone(initial), ...had }) as typeof initial;
      const saved = core.states.get(owner)?.saved ?? JSON.stringify(live);
      const value = { live, saved, initial: JSON.stringify(initial) };
      stage.add(() => {
        core.states.set(owner, value);
        plugin.undo.push(() => void core.states.delete(owner));
      });
      return live;
    },
    tool: (tool) => {
      const schema = toJsonSchema(tool.params); // refused now rather than at the first call
      one("tool", core.tools, tool);
      stage.add(() => {
        core.schemas.set(tool.name, schema);
        plugin.undo.push(() => void core.schemas.delete(tool.name));
      });
    },
    command: (command) => one("command", core.commands, command),
    provider: (provider) => one("provider", core.providers, provider),
    flag: (flag) => one("flag", core.flags, flag),
    key: (key) => one("key", core.keys, key),
    layer: (layer) => {
      if (plugin.from !== "zz") shaped("layer", layer);
      known("slot", layer.slot, SLOTS);
      many(core.layers, layer);
    },
    on: (event, see, limit = HOOK_LIMIT) => {
      known("event", event, EVENTS);
      many(core.seers, { event, see, limit });
    },
    wrap: (step, around, order = "last", limit = HOOK_LIMIT) => {
      known("step", step, STEPS);
      known("order", order, ["first", "last"]);
      many(
        core.wraps,
        { step, around, order, limit },
        () => core.wraps.sort((a, b) => compare(a.value.order, b.value.order) || compare(a.owner, b.owner)), // first < last
      );
    },
  };

  function one<T extends { name: string }>(kind: keyof typeof SHAPES, all: Map<string, Owned<T>>, value: T): void {
    const { name } = value;
    if (plugin.from !== "zz") shaped(kind, value);
    if (!IDENTIFIER.test(name) && kind !== "key")
      throw fault(`${kind} '${name}' has a name that providers refuse. Use letters, digits, _ and -.`);
    if (kind === "key" && !KEY_NAME.test(name))
      throw fault(`key '${name}' has a name that no key has. Write it like ctrl+r, meta+return or tab.`);
    const mine = names.get(kind) ?? new Set();
    if (mine.has(name)) throw taken(kind, name, owner);
    names.set(kind, mine.add(name));
    const other = kind === "flag" && FLAGS.some((flag) => flag.name === name) ? "zz" : all.get(name)?.owner;
    if (other && other !== owner) throw taken(kind, name, other);
    stage.add(() => {
      all.set(name, { owner, value });
      plugin.undo.push(() => void (all.get(name)?.value === value && all.delete(name)));
    });
  }
  function taken(kind: string, name: string, other: string): Error {
    const file = core.plugins.find((plugin) => plugin.name === other)?.file ?? "the kernel";
    return fault(`${kind} '${name}' is already there, from '${other}' (${file}). Rename one of them.`);
  }
  function many<T>(all: Owned<T>[], value: T, then: () => void = () => {}): void {
    const entry = { owner, value };
    stage.add(() => {
      all.push(entry);
      plugin.undo.push(() => void (all.includes(entry) && all.splice(all.indexOf(entry), 1)));
      then();
    });
  }
}

/** Refuses a field that nobody would ever read, and a field that is missing. */
function shaped(kind: keyof typeof SHAPES, value: object): void {
  const fields = words(SHAPES[kind].replaceAll("!", ""));
  for (const key of Object.keys(value)) known(`${kind} field`, key, fields);
  for (const must of SHAPES[kind].match(/\w+(?=!)/g) ?? [])
    if (!(value as Record<string, unknown>)[must]) throw fault(`a ${kind} needs '${must}'. Add it.`);
}
