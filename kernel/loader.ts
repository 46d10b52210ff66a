// Chapter 2 of the kernel, its second half: plugins are found, loaded, loaded anew when their files change, and taken away.
import fs from "node:fs";
import module from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  type About,
  type Awaitable,
  BUILT,
  byName,
  type Core,
  codeOf,
  compare,
  EVENTS,
  emit,
  entriesOf,
  FLAGS,
  fault,
  HOOK_LIMIT,
  IDENTIFIER,
  known,
  loadPrompts,
  note,
  OWN_COMMANDS,
  type Owned,
  PACKAGE,
  type Reloaded,
  reason,
  SELF,
  SELF_URL,
  SLOTS,
  STEPS,
  textOf,
  toJsonSchema,
  tryTo,
  until,
  usage,
  within,
  words,
  type Zz,
} from "../zz.ts";
import { followed } from "./gate.ts";
import { configOf } from "./settings.ts";
import { writePrivate } from "./store.ts";
import { request } from "./stream.ts";
import { broughtBy, isTrusted, trusts } from "./trust.ts";

export interface Loaded extends PluginAt {
  undo: (() => Awaitable<void>)[]; // takes back what it added, last in first out
  version: number; // how often it was loaded anew
  stamps: Map<string, string>; // its own files, as they were when it was loaded
  trusts?: Within["trusts"]; // a project's
}
type PluginAt = Omit<About["plugins"][number], "adds">;

const kernel = (): string => `${SELF_URL}/${BUILT ? "kernel.js" : "zz.ts"}`;
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

/** Imported all at once, what was never seen to load one by one; then set up in their order. */
export async function loadPlugins(core: Core): Promise<void> {
  const own = await bundle(core);
  const found = findPlugins(core, own);
  const wanted = found.filter(({ disabled }) => !disabled);
  const others = wanted.filter(({ from }) => from !== "zz");
  if (others.length) lendPackages();
  const known = others.length ? knownIn(core) : {};
  const strange = others.filter((plugin) => !isKnown(known, plugin));
  const imports = new Map<Loaded, Awaitable<any>>();
  for (const plugin of wanted) if (!strange.includes(plugin)) imports.set(plugin, startImport(plugin, own));
  if (strange.length) await Promise.allSettled(imports.values()); // what is ended takes all along that waits behind it
  for (const plugin of found) {
    core.plugins.push(plugin);
    if (strange.includes(plugin)) await guarded(core, plugin, () => load(core, plugin, startImport(plugin, own)));
    else if (!plugin.disabled) await load(core, plugin, imports.get(plugin));
  }
  if (strange.length) keepKnown(core, strange);
  core.versions = Math.max(0, ...found.map(({ version }) => version));
}

/** The built zz has its own plugins in one file: to import each by itself takes a tenth of a start. */
const bundle = async ({ options }: Core): Promise<Record<string, unknown>> =>
  BUILT && !options.bare ? (await import(`${SELF_URL}/plugins.js`)).default : {};

/** All there is; the settings say which of them to leave out. */
function findPlugins(core: Core, bundled: object): Loaded[] {
  const named = Object.keys(bundled).map((name) => ({ ...pluginAt(path.join(SELF, "plugins.js"), "zz"), name }));
  const own = core.options.bare || BUILT ? named : zzsIn(path.join(SELF, "plugins"));
  const found = [...own, ...othersThan(core, own)];
  const { disabled = [] } = core.options.settings;
  for (const plugin of found) if (disabled.includes(plugin.name)) plugin.disabled = true;
  return found;
}

/** A checkout is its own home: what was not there when it was built is the person's. */
function zzsIn(folder: string): Loaded[] {
  const built = tryTo(() => JSON.parse(textOf(path.join(PACKAGE, "dist", "plugins.json"))) as string[]);
  return pluginsIn(folder, "zz").filter(({ name }) => built?.includes(name) ?? true);
}

/** The person's own: those of the home, of a project that they trust, and those that were named. */
function othersThan(core: Core, found: Loaded[]): Loaded[] {
  const { root } = core.options;
  const home = path.join(core.options.home, "plugins");
  const others: Loaded[] = [];
  if (core.options.own !== false) {
    const seen = new Set(path.dirname(home) === PACKAGE ? found.map((plugin) => plugin.name) : []);
    others.push(...pluginsIn(home, "home").filter((plugin) => !seen.has(plugin.name)));
  }
  const named = (core.options.plugins ?? []).flatMap((file) => {
    if (fs.existsSync(file)) return [pluginAt(path.resolve(file), "flag")];
    if (core.plugins.length) return []; // it was there
    throw usage(`Cannot load plugin '${file}': no such file. Check the path.`);
  });
  const project = pluginsIn(path.join(root, ".zz", "plugins"), "project")
    .filter(({ file }) => isTrusted(core, file))
    .map((plugin) => ({ ...plugin, trusts: trusts(core) }));
  const all = [...others, ...project, ...named.sort(byName)];
  return all.filter(({ file }, at) => all.findIndex((one) => one.file === file) === at); // --plugin may name one of the home
}

/** A plugin is a file, or a folder with an index, or with a package.json that names its file. */
function pluginsIn(folder: string, from: Loaded["from"]): Loaded[] {
  return entriesOf(folder)
    .filter((entry) => !/^[._]|\.d\.m?ts$|\.test\.\w+$/.test(entry))
    .flatMap((entry) => {
      if (/\.[cm]?[jt]sx?$/.test(entry)) return [pluginAt(path.join(folder, entry), from)];
      const names = [named(path.join(folder, entry)) ?? [], "index.ts", "index.js", "index.tsx"].flat();
      const file = names.map((name) => path.join(folder, entry, name)).find((file) => fs.existsSync(file));
      return file ? [{ ...pluginAt(file, from), name: entry }] : [];
    })
    .filter(({ file }) => fs.existsSync(file))
    .sort(byName);
}

/** By the key "zz" of a package.json; with the keyword zz-plugin also as Node would find it. plugins/install finds it so too. */
function named(folder: string): string | undefined {
  const { zz, keywords, exports, main } = Object(tryTo(() => JSON.parse(textOf(path.join(folder, "package.json")))));
  const pick = (way: any): unknown => (Object(way) === way ? pick(way["."] ?? way.import ?? way.default) : way);
  const found = zz ?? (keywords?.includes?.("zz-plugin") ? (pick(exports) ?? main) : undefined);
  return typeof found === "string" ? found : undefined;
}

function pluginAt(file: string, from: Loaded["from"]): Loaded {
  const base = path.basename(file).replace(/\.[cm]?[jt]sx?$/, "");
  const name = base === "index" ? path.basename(path.dirname(file)) : base;
  return { name, file, from, ms: 0, undo: [], version: 0, stamps: new Map() };
}

// ── Importing ──

/** By the URL of each file that was imported for a plugin: the URL of that plugin, and how its files are taken in. */
type Trees = Map<string, Tree> & { uses: Map<string, Set<string>> }; // uses: by each file's URL, what it imports
type Tree = { plugin: string; within?: Within; compiled?: boolean; script?: boolean };
type Within = { folder: string; trusts: ReturnType<typeof trusts> }; // what it must keep to
const TREES = Symbol.for("zz.trees"); // hooks hold for the whole process, however many instances it has

/**
 * A plugin gets zz's own zod and typebox, wherever its file lies; the packages that it imports keep their own. What it
 * imports of its own files is noted, and belongs to the same version of it.
 */
function lendPackages(): void {
  if (Object.hasOwn(globalThis, TREES)) return;
  const trees: Trees = Object.assign(new Map<string, Tree>(), { uses: new Map() });
  Object.defineProperty(globalThis, TREES, { value: trees });
  module.registerHooks({
    resolve(specifier, context, next) {
      const { parentURL = "" } = context;
      const lent = LENT.test(specifier) && !parentURL.includes("/node_modules/") && parentURL !== import.meta.url;
      if (lent) return { url: specifier === "zz" ? kernel() : import.meta.resolve(specifier), shortCircuit: true };
      const itself = trees.get(specifier);
      const typed = itself && TYPED.test(specifier); // tsx would take it for CommonJS; and where it is, is known
      const found = typed ? { url: realUrl(specifier), shortCircuit: true } : next(specifier, context);
      if (itself?.within) keepTo(itself.within, found.url, specifier);
      if (itself && found.url !== specifier) uses(trees, specifier, found.url, itself); // a link led to it
      if (typed) return { ...found, format: "module-typescript" };
      const tree = trees.get(parentURL);
      if (!tree || found.url.startsWith("node:")) return found;
      const { plugin, within } = tree;
      if (within) keepTo(within, found.url, specifier);
      if (!found.url.startsWith("file:")) return found;
      const foreign = found.url.includes("/node_modules/");
      const version = new URL(plugin).search;
      const url = version && !foreign && !found.url.includes("?") ? found.url + version : found.url;
      if (within || !foreign) uses(trees, parentURL, url, tree);
      return { ...found, url, ...(!foreign && /\.ts($|\?)/.test(url) && { format: "module-typescript" }) }; // Node would warn that nobody said so
    },
  });
}
/** With links followed, as Node does it: to ask Node takes a tenth of loading a plugin. */
const realUrl = (url: string): string =>
  pathToFileURL(fs.realpathSync.native(fileURLToPath(url))).href + new URL(url).search;
const TYPED = /\.ts($|\?)|\/[^./]+$/;
/** A file that several plugins import belongs to the last of them, and is used by all. */
function uses(trees: Trees, parent: string, url: string, tree: Tree): void {
  trees.set(url, tree);
  trees.uses.set(parent, (trees.uses.get(parent) ?? new Set()).add(url));
}
/** Refuses what nobody said yes to. */
function keepTo({ folder, trusts }: Within, url: string, specifier: string): void {
  if (!url.startsWith(folder)) throw fault(OUTSIDE.replace("%", () => specifier));
  const file = fileURLToPath(url);
  const name = path.relative(fileURLToPath(folder), file).replaceAll(path.sep, "/");
  if (!trusts(name, file))
    throw fault(`'.zz/plugins/${name}' is not what you said yes to any more. Look at it, then: /trust`);
}
const OUTSIDE =
  "it imports '%' from outside of .zz/plugins, which nobody said yes to. Copy it there, or install it in the home";
const treesOf = (): Trees =>
  (globalThis as unknown as { [TREES]?: Trees })[TREES] ?? Object.assign(new Map<string, Tree>(), { uses: new Map() });

const urlOf = ({ file, version }: Loaded): string => pathToFileURL(file).href + (version ? `?zz=${version}` : "");

/** What a plugin's file exports. */
function startImport(plugin: Loaded, bundled: Record<string, unknown>): Awaitable<any> {
  if (BUILT && plugin.from === "zz") return bundled[plugin.name];
  const start = performance.now();
  const imported = importTree(plugin, false)
    .catch((error) => (NOT_ERASABLE.test(codeOf(error)) ? compiled(plugin) : Promise.reject(error)))
    .finally(() => (plugin.ms += performance.now() - start));
  imported.catch(() => {}); // load() tells of it, when it is its turn
  return imported;
}

function importTree(plugin: Loaded, compiled: boolean): Promise<any> {
  const url = urlOf(plugin);
  const within = plugin.trusts && { folder: around(plugin), trusts: plugin.trusts };
  if (plugin.from !== "zz") treesOf().set(url, { plugin: url, compiled, ...(within && { within }) });
  return import(url);
}

/** Enums, JSX and the like: what Node cannot leave out of the text is compiled, by the compiler that ts-morph has. */
const NOT_ERASABLE = /^ERR_(UNSUPPORTED_TYPESCRIPT_SYNTAX|UNKNOWN_FILE_EXTENSION)$/;

async function readyCompiler(): Promise<void> {
  const { lendCompiler } = await import("./compiler.ts");
  lendCompiler((url) => treesOf().get(url)?.compiled === true);
}

async function compiled(plugin: Loaded): Promise<any> {
  await readyCompiler();
  const own = urlOf(plugin);
  for (const [url, tree] of treesOf()) if (tree.plugin === own) treesOf().delete(url);
  plugin.version += 1000; // Node remembers what it could not load
  return importTree(plugin, true);
}

/** A person's own program, which imports zz as a plugin does. */
export async function importScript(file: string): Promise<void> {
  lendPackages();
  const plugin = pathToFileURL(file).href;
  treesOf().set(plugin, { plugin, script: true });
  try {
    await settled(import(plugin));
  } catch (error) {
    if (!NOT_ERASABLE.test(codeOf(error))) throw error ?? fault("The script threw, and did not say what.");
    await readyCompiler();
    const again = `${plugin}?zz=1`;
    treesOf().set(again, { plugin: again, script: true, compiled: true });
    await settled(import(again));
  }
}

/** Nothing is left to do, and yet it waits: Node would end with a trace of zz's own. */
async function settled(imported: Promise<unknown>): Promise<void> {
  const { promise: idle, reject } = Promise.withResolvers<never>();
  const stuck = () => reject(fault("The script awaits what never comes: nothing is left that could settle it."));
  process.once("beforeExit", stuck);
  await Promise.race([imported, idle]).finally(() => process.off("beforeExit", stuck));
}

/** A project's .zz/plugins: all that a yes to it is for. */
function around({ file }: Loaded): string {
  const folder = file.slice(0, file.lastIndexOf(`${path.sep}.zz${path.sep}plugins${path.sep}`));
  return `${pathToFileURL(followed(path.join(folder, ".zz", "plugins"))).href}/`;
}

/** Its own files, as they are now. */
function stampsOf(plugin: Loaded): Map<string, string> {
  const own = urlOf(plugin);
  const trees = treesOf();
  const urls = new Set([own]);
  for (const url of urls) for (const used of trees.uses.get(url) ?? []) urls.add(used);
  for (const [url, tree] of trees) if (tree.plugin === own) urls.add(url);
  const files = [...urls].map((url) => fileURLToPath(url));
  return new Map([plugin.file, ...files].map((file) => [file, stampOf(file)]));
}

export function stampOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat ? `${stat.mtimeMs} ${stat.size} ${stat.ino}` : "";
}

// ── Those that were seen to load ──

/** By each plugin's file, its own files as they were. Such a one needs no watchdog. */
type Known = Record<string, Record<string, string>>;
const knownFile = ({ options }: Core): string => path.join(options.home, "known-plugins.json");
const knownIn = (core: Core): Known => tryTo(() => JSON.parse(textOf(knownFile(core)))) ?? {};

function isKnown(known: Known, { file }: Loaded): boolean {
  const stamps = Object.entries(known[file] ?? {});
  return stamps.length > 0 && stamps.every(([file, stamp]) => stampOf(file) === stamp);
}

function keepKnown(core: Core, plugins: Loaded[]): void {
  if (!fs.existsSync(core.options.home)) return; // it is not made for that, nor made again where it was just removed
  const kept = Object.entries(knownIn(core)).filter(([file]) => fs.existsSync(file));
  const seen = plugins.flatMap((plugin) =>
    plugin.failure ? [] : [[plugin.file, Object.fromEntries(stampsOf(plugin))] as const],
  );
  tryTo(() => writePrivate(knownFile(core), JSON.stringify(Object.fromEntries([...kept, ...seen]))));
}

/** Loads it under the eyes of another thread: an endless loop is ended, and the others load all the same. */
async function guarded<T>(core: Core, plugin: Loaded, act: () => Promise<T>): Promise<T | undefined> {
  const { watchdog } = await import("./watchdog.ts");
  core.dog ??= watchdog(LOAD_LIMIT, () => delete core.dog);
  const { watch, rest } = core.dog;
  try {
    return await until(watch(), act());
  } catch {
    plugin.stamps = stampsOf(plugin);
    await takeBack(plugin);
    plugin.failure = `Cannot load plugin '${plugin.name}' (${plugin.file}): it ran for 10 s without end. Mend its loop.`;
    return undefined;
  } finally {
    rest();
  }
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
  let start = performance.now();
  const stage = openStage();
  plugin.undo = [stage.end, () => unload.controller?.abort()];
  try {
    const exports = imported instanceof Promise ? await within(imported, LOAD_LIMIT, SLOW_LOAD) : imported;
    start = performance.now();
    const twin = core.plugins.find(
      (one) => one.name === plugin.name && one.file !== plugin.file && !one.disabled && !one.failure,
    );
    if (twin) throw fault(`a plugin '${twin.name}' is already there (${twin.file}). Rename one of them.`);
    if (typeof exports.default !== "function")
      throw fault("it has no default export to call. Write `export default (zz: Zz) => …`.");
    const made = configOf(core, plugin.name, exports);
    const config = made instanceof Promise ? await made : made;
    const setup = exports.default(handle(core, plugin, config, unload, stage));
    if (setup instanceof Promise) await within(setup, LOAD_LIMIT, SLOW_LOAD);
  } catch (error) {
    plugin.stamps = stampsOf(plugin);
    await takeBack(plugin);
    plugin.failure = `Cannot load plugin '${plugin.name}' (${whereFrom(error, plugin.file)}): ${reason(error)}`;
    if (core.options.debug) plugin.failure += `\n${(error as Error)?.stack}`;
  }
  plugin.ms += performance.now() - start;
  if (plugin.version && !plugin.failure) plugin.stamps = stampsOf(plugin); // of the first load nobody asks but a prompt
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
  const trees = treesOf();
  for (const [url, { plugin: its }] of trees) {
    if (its !== own) continue;
    trees.delete(url);
    if (plugin.version) trees.uses.delete(url); // of the first version others may use the same
  }
  return failures;
}

/** Gives what went wrong, in sentences. */
export const unloadPlugin = (plugin: Loaded): Promise<string[]> => takeBack(plugin);

/** A plugin's additions while it is set up. Once it is, they come into force together; later ones at once, until it is taken away. */
type Stage = { add(apply: () => void): void; commit(): void; end(): void };

function openStage(): Stage {
  let held: (() => void)[] | undefined = [];
  let ended = false;
  return {
    add: (apply) => (ended ? undefined : held ? void held.push(apply) : apply()),
    end: () => void (ended = true),
    commit() {
      for (const apply of held ?? []) apply();
      held = undefined;
    },
  };
}

/** As a stack or a message tells the place: the name may stand there as a URL has it, and with its version. */
export function whereFrom(error: unknown, file: string): string {
  const text = `${(error as Error)?.stack ?? ""}\n${reason(error)}`;
  const name = path.basename(file);
  const after = [name, encodeURIComponent(name)].flatMap((spelt) => text.split(spelt).slice(1));
  for (const rest of after) {
    const line = /^(?:\?zz=\d+)?:(\d+)/.exec(rest)?.[1];
    if (line) return `${file}:${line}`;
  }
  return file;
}

/** The name of the one whose file is the first that a stack tells of. */
export function pluginAmong(stack: string): string | undefined {
  const files = [...treesOf()].flatMap(([url, { plugin, script }]) =>
    script ? [] : [{ url: url.replace(/\?.*/, ""), plugin }],
  );
  const tells = (line: string, url: string) =>
    [`${url}:`, `${url}?`, `${fileURLToPath(url)}:`].some((at) => line.includes(at));
  for (const line of stack.split("\n")) {
    const found = files.find(({ url }) => tells(line, url));
    if (found) return pluginAt(fileURLToPath(found.plugin), "home").name;
  }
  return undefined;
}

/** A mistake in a plugin's code is told with whose it is, and where; a sentence is told as it is. */
export function blamed(error: unknown): string {
  const { name = "Error", stack = "" } = Object(error) as Error;
  const owner = name !== "Error" && pluginAmong(stack);
  const url = owner && [...treesOf().keys()].find((url) => stack.includes(url));
  return owner && url
    ? `Plugin '${owner}' failed (${whereFrom(error, fileURLToPath(url))}): ${reason(error)}`
    : reason(error);
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
  if (lookAgain(core)) loadPrompts(core);
  const done: Reloaded[] = await switched(core);
  const own = core.plugins.filter(({ from }) => from === "zz");
  const present = othersThan(core, own);
  if (present.length) lendPackages();
  for (const plugin of core.plugins.filter((one) => !own.includes(one) && !isFrozen(core, one))) {
    if (present.some(({ file }) => file === plugin.file)) continue;
    core.plugins.splice(core.plugins.indexOf(plugin), 1);
    if (!plugin.disabled) done.push(await unload(plugin));
  }
  for (const found of present) {
    const old = core.plugins.find(({ file }) => file === found.file);
    if (old && !old.stamps.size) old.stamps = stampsOf(old);
    if (old?.disabled || (old && [...old.stamps].every(([file, stamp]) => stampOf(file) === stamp))) continue;
    done.push(await renew(core, found, old));
  }
  return done;
}

/** What a project brings counts as long as it is what the person said yes to. What was loaded goes on as it is. False: it does not count. */
function lookAgain(core: Core): boolean {
  const before = core.brought;
  core.brought = core.options.own === false ? undefined : broughtBy(core.options, before);
  const { given, changed = [], hashes = {} } = core.brought ?? {};
  const isNew = JSON.stringify(hashes) !== JSON.stringify(before?.hashes ?? {});
  if (isNew && !given && changed.length)
    note(
      core,
      `${changed.join(", ")} changed since you said yes to it. What was loaded goes on; /trust shows and loads it.`,
    );
  return !changed.length || given === true;
}
const isFrozen = ({ brought }: Core, { from }: Loaded): boolean =>
  from === "project" && brought?.given === false && brought.changed !== undefined;

/** By the settings. */
async function switched(core: Core): Promise<Reloaded[]> {
  const { disabled = [] } = core.options.settings;
  const done: Reloaded[] = [];
  for (const plugin of [...core.plugins])
    if (!plugin.disabled && disabled.includes(plugin.name)) {
      done.push(await unload(plugin));
      plugin.disabled = true;
      delete plugin.failure;
    } else if (plugin.disabled && !disabled.includes(plugin.name)) done.push(await renew(core, plugin, plugin));
  return done;
}

async function unload(plugin: Loaded): Promise<Reloaded> {
  await takeBack(plugin);
  return { name: plugin.name, did: "unloaded", ms: 0 };
}

async function renew(core: Core, found: Loaded, old?: Loaded): Promise<Reloaded> {
  const { disabled, failure, ...rest } = found;
  const isOwn = found.from === "zz";
  const version = isOwn ? 0 : core.versions + 1; // one that no other has: what two of them import would be the older one's
  const next: Loaded = { ...rest, undo: [], stamps: new Map(), version, ms: 0 };
  const own = await bundle(core);
  const act = () => setUp(core, next, startImport(next, own));
  const stage = isOwn ? await act() : await guarded(core, next, act);
  core.versions = Math.max(core.versions, next.version);
  const ms = Math.round(next.ms * 10) / 10;
  const was = old?.disabled ? undefined : old;
  if (!stage) {
    const end = /[.!?]$/.test(next.failure!) ? "" : ".";
    const why = was && !was.failure ? `${next.failure}${end} What it was before goes on.` : next.failure!;
    if (was) Object.assign(was, { stamps: next.stamps, [was.failure ? "failure" : "outdated"]: why });
    else put(next);
    return { name: next.name, did: "failed", ms, why };
  }
  if (was) await takeBack(was);
  stage.commit();
  put(next);
  if (!isOwn) keepKnown(core, [next]);
  return { name: next.name, did: was ? "reloaded" : "loaded", ms };

  function put(plugin: Loaded): void {
    core.plugins.splice(old ? core.plugins.indexOf(old) : core.plugins.length, old ? 1 : 0, plugin);
  }
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
    const places = [core.options.home, path.join(core.options.root, ".zz")];
    const folders = new Set([
      ...places.map((place) => path.join(place, "plugins")),
      ...files.map((file) => path.dirname(file)),
    ]);
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
    fetch: (url, init) => request(core, url, init, plugin.from === "zz" || provides()),
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

  function provides(): boolean {
    return [...core.providers.values()].some((provider) => provider.owner === owner);
  }
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
    const kernels: { name: string }[] = kind === "flag" ? FLAGS : kind === "command" ? OWN_COMMANDS : [];
    const other = kernels.some((own) => own.name === name) ? "zz" : all.get(name)?.owner;
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
