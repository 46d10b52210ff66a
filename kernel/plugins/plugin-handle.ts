// The handle that a plugin gets. What it registers belongs to the plugin and goes away with it.

import type {
  Awaitable,
  Clock,
  Flag,
  HttpRequest,
  Order,
  PluginIo,
  Tool,
  Zz,
} from "../contract.ts";
import { EVENTS, SLOTS, STEPS, words } from "../contract.ts";
import { fetchForPlugin } from "../conversation/server-errors.ts";
import { HOOK_LIMIT, runStep } from "../events.ts";
import {
  assertKnown,
  type Core,
  IDENTIFIER,
  type LoadedPlugin,
  type Owned,
  showsTraces,
} from "../instance.ts";
import { KERNEL_FLAGS, UNLISTED_FLAGS } from "../settings/flag-table.ts";
import { configOf } from "../settings/plugin-settings.ts";
import { IS_BUILT, SELF_URL } from "../system/installation.ts";
import { programs } from "../system/other-programs.ts";
import { CLOCK, clockOf } from "../text/clock.ts";
import { withTimeout } from "../text/deadlines.ts";
import { unknown } from "../text/did-you-mean.ts";
import { fault } from "../text/faults.ts";
import { must, parametersOf, plainJson, wrongInSchema } from "../text/json-schema.ts";
// Of what may be registered, with their types; "!" marks the required ones.
import FIELDS from "../text/registered.json" with { type: "json" };
import { errorMessage, makeSecret, veil } from "../text/secrets.ts";
import { compare, lazily } from "../text/words.ts";
import { importTrees, locationOfError, noteImported, stampsOf, urlOf } from "./import-plugin.ts";
import { endingLoops } from "./loop-watchdog.ts";

// how long a plugin may take to load, in seconds
export const loadLimit = ({ io }: Core): number => Number(io.env.ZZ_LOAD_LIMIT) || 10;
const tooSlow = (seconds: number): string =>
  `loading took longer than ${seconds} s. Move slow work into a tool.`;
const KEY_NAME = /^((ctrl|meta|shift)\+)*[a-z0-9]+$/;

/**
 * Runs a plugin's function. What it registers is held until the function has succeeded. Undefined:
 * it failed.
 */
export async function setUpPlugin(
  core: Core,
  plugin: LoadedPlugin,
  imported: Awaitable<any>,
): Promise<StagedRegistrations | undefined> {
  let start = CLOCK.now();
  const stage = openStage(plugin);
  const own: Registrant = { core, plugin, stage, names: new Map(), flags: [], checks: [] };
  const limit = loadLimit(core);
  const loading = <T>(promise: Promise<T>) =>
    withTimeout(clockOf(core.io), promise, limit * 1_000, tooSlow(limit));
  plugin.undo = [stage.end, () => own.unload?.abort()];
  try {
    const loaded = imported instanceof Promise ? await loading(imported) : imported;
    const exports = loaded.default?.__esModule ? loaded.default : loaded; // compiled to CommonJS
    start = CLOCK.now();
    const twin = core.plugins.find(
      (one) =>
        one.name === plugin.name && one.file !== plugin.file && !one.disabled && !one.failure,
    );
    if (twin)
      throw fault(`a plugin '${twin.name}' is already there (${twin.file}). Rename one of them.`);
    if (typeof exports.default !== "function")
      throw fault("it has no default export to call. Write `export default (zz: Zz) => …`.");
    checkSettings(own, exports);
    const made = configOf(core, plugin.name, exports);
    const given = createHandle(own, made instanceof Promise ? await made : made);
    const setup =
      plugin.from === "zz"
        ? exports.default(given)
        : endingLoops(limit, () => exports.default(given));
    if (setup instanceof Promise) await loading(setup);
    const wrong = own.checks.length ? (await Promise.all(own.checks)).find(Boolean) : undefined;
    if (wrong) throw fault(`${wrong}. Write it as JSON Schema has it.`);
  } catch (error) {
    plugin.stamps = stampsOf(plugin);
    if (errorMessage(error) === tooSlow(limit)) noteImported(plugin);
    await unregisterPlugin(clockOf(core.io), plugin);
    const at = locationOfError(error, plugin.file, plugin.stamps.keys());
    plugin.failure = `Cannot load plugin '${plugin.name}' (${at}): ${await reasonFor(error)}`;
    if (showsTraces(core)) plugin.failure += `\n${(error as Error)?.stack}`;
  }
  plugin.ms += CLOCK.now() - start;
  // at the first load, only a prompt will ask for them
  if (plugin.version && !plugin.failure) plugin.stamps = stampsOf(plugin);
  return plugin.failure ? undefined : stage;
}

function checkSettings(own: Registrant, { defaults, settings = {} }: any): void {
  assertFields(own, "export", { defaults, settings });
  assertFields(own, "settings", settings);
  checkSchema(own, "settings.schema", settings.schema);
}

/**
 * Set-up waits for it, since typebox has to be loaded. Other ways to write a schema need no look.
 */
function checkSchema({ plugin, checks }: Registrant, at: string, schema: object | undefined): void {
  if (plugin.from === "zz" || !schema || "~standard" in schema || "~kind" in schema) return;
  checks.push(wrongInSchema(schema, at)); // of a tool that comes later, the first call says it
}

/**
 * Why a plugin cannot be loaded, and what to do. Earlier ones imported from "zz" what is in
 * "zz/text" now.
 */
async function reasonFor(error: unknown): Promise<string> {
  const said = errorMessage(error);
  const [, from = "", name = ""] =
    /module '(zz(?:\/text)?|.*[/\\](?:kernel|zz|text)\.[jt]s)' .* named '(\w+)'/.exec(said) ?? [];
  const step = /^Cannot find (package|module) /.test(said)
    ? "Install it there, or correct the import."
    : "";
  const isTypo =
    Object(error).name === "SyntaxError" && !name && "Fix it; at the prompt, /reload tries again.";
  if (!name) return step || isTypo ? `${said.replace(/\.$/, "")}. ${step || isTypo}` : said;
  if (!/text(\.[jt]s)?$/.test(from))
    return `it imports '${name}' from "zz", which has types alone. Import it from "zz/text", or copy it.`;
  const names = Object.keys(await import(`${SELF_URL}/${IS_BUILT ? "text.js" : "sdk/text.ts"}`));
  return `it imports '${name}' from "zz/text": ${unknown("export", name, names, "Its manual lists them.")}`;
}

/**
 * Takes back all registrations, latest first. One that throws or hangs does not hold up the others.
 */
export async function unregisterPlugin(clock: Clock, plugin: LoadedPlugin): Promise<string[]> {
  const failures: string[] = [];
  for (const undo of plugin.undo.splice(0).reverse())
    try {
      const undone = undo();
      if (undone instanceof Promise)
        await withTimeout(clock, undone, HOOK_LIMIT, "its cleanup took too long");
    } catch (error) {
      failures.push(
        `Plugin '${plugin.name}' failed while it was taken away: ${errorMessage(error)}`,
      );
    }
  for (const [url, tree] of importTrees())
    if (tree.plugin === urlOf(plugin)) importTrees().delete(url);
  return failures;
}

/**
 * Unloads the plugins of an instance when the process goes on without it. Returns what went wrong.
 */
export async function closeInstance(core: Core): Promise<string[]> {
  const failures: string[] = [];
  for (const plugin of core.plugins.splice(0).reverse())
    failures.push(...(await unregisterPlugin(clockOf(core.io), plugin)));
  return failures;
}

/**
 * Registrations made during set-up take effect together at its end; later ones at once, until the
 * plugin is unloaded.
 */
type StagedRegistrations = {
  add(apply: () => unknown, undo: () => unknown): void;
  commit(): void;
  end(): void;
};

function openStage(plugin: LoadedPlugin): StagedRegistrations {
  let held: (() => unknown)[] | undefined = [];
  let ended = false;
  return {
    add(apply, undo) {
      const both = () => [apply(), plugin.undo.push(undo)];
      if (held) held.push(both);
      else if (!ended) both();
    },
    end: () => void (ended = true),
    commit() {
      for (const apply of held ?? []) apply();
      held = undefined;
    },
  };
}

export function ioOf(core: Core): PluginIo {
  const { io, pluginIo } = core;
  const { stdout, stderr, cwd } = io;
  const clock = clockOf(io);
  const variable = (name: string) => io.env[name];
  return (
    pluginIo ??
    (core.pluginIo = Object.assign(lazily({ stdin: () => io.stdin }), {
      stdout,
      stderr,
      cwd,
      clock,
      variable,
    }))
  );
}

/**
 * The plugin that registers something. `unload` is created on first use, since few plugins need it.
 */
interface Registrant {
  core: Core;
  plugin: LoadedPlugin;
  stage: StagedRegistrations;
  names: Map<string, Set<string>>; // by kind
  flags: Flag[];
  checks: Promise<string | undefined>[]; // of schemas
  hasState?: true;
  unload?: AbortController;
}

/** The `zz` object of one plugin. Each method remembers how to take back what it registers. */
function createHandle(own: Registrant, config: Awaited<ReturnType<typeof configOf>>): Zz<any> {
  const { core, plugin } = own;
  const owner = plugin.name;
  const provides = () =>
    plugin.from === "zz" ||
    [...core.providers.values()].some((provider) => provider.owner === owner);
  registerInList(own, core.configs, config);
  return {
    config: config.live,
    get configFault() {
      return config.fault;
    },
    get signal() {
      return (own.unload ??= new AbortController()).signal;
    },
    io: ioOf(core),
    programs: programs(core.options.root, core.io.env),
    events: core.events,
    fetch(url, init) {
      const send = ({ url, ...init }: HttpRequest & { url: string }) =>
        fetchForPlugin(core, url, init, !init.via && provides());
      const isWrapped = core.wraps.some(({ value }) => value.step === "fetch");
      return isWrapped
        ? runStep({ core, ctx: core.ctx() }, "fetch", { ...init, url }, send)
        : send({ ...init, url });
    },
    secret: (value, instead) => makeSecret(String(value), instead),
    veil: (text, instead) => veil(String(text), instead),
    defer: (cleanup) => void plugin.undo.push(cleanup),
    state: (initial) => {
      if (own.hasState)
        throw fault(
          "zz.state() was called twice, and a plugin has one state. Put both into one object.",
        );
      if (Array.isArray(initial))
        throw fault("zz.state() takes an object. Put the array into one: { list: [] }.");
      const initially = plainJson(initial);
      own.hasState = true;
      const had = core.states.get(owner)?.live ?? {}; // the state survives a reload
      const live = Object.assign(had, { ...structuredClone(initial), ...had }) as typeof initial;
      const saved = core.states.get(owner)?.saved ?? JSON.stringify(live);
      setUndoable(own, core.states, owner, { live, saved, initial: initially });
      return live;
    },
    tool: (tool) => {
      assertFields(own, "tool", tool);
      if (tool.kind !== undefined)
        assertKnown("kind of tool", tool.kind, ["read", "change", "run"]);
      const schema = parametersOf(tool); // refused now rather than at the first call
      if (Object.values(tool.params ?? {}).some((one) => typeof one === "object"))
        checkSchema(own, "params", tool.params);
      registerUnique(own, "tool", core.tools, tool);
      setUndoable(own, core.schemas, tool.name, schema);
    },
    command: (command) => registerUnique(own, "command", core.commands, command),
    service: (name, offer) => registerUnique(own, "service", core.services, { name, offer }),
    provider: (provider) => registerUnique(own, "provider", core.providers, provider),
    flag: (flag) => {
      const others = () =>
        [...core.flags.values()].flatMap((other) => (other.owner === owner ? [] : other.value));
      const taken =
        flag.short &&
        [...KERNEL_FLAGS, ...others(), ...own.flags].find(
          ({ short, name }) => short === flag.short && name !== flag.name,
        );
      if (taken)
        throw fault(
          `flag '${flag.name}' has the short form -${flag.short} of --${taken.name}. Choose another.`,
        );
      registerUnique(own, "flag", core.flags, flag);
      own.flags.push(flag);
    },
    key: (key) => registerUnique(own, "key", core.keys, key),
    layer: (layer) => {
      assertFields(own, "layer", layer);
      assertKnown("slot", layer.slot, SLOTS);
      registerInList(own, core.layers, layer);
    },
    on: (event, see, how) => {
      assertKnown("event", event, EVENTS);
      const { limit = HOOK_LIMIT } = hookOptions("on", see, how);
      registerInList(own, core.observers, { event, see, limit });
    },
    dialog: (dialog) => {
      assertFields(own, "dialog", dialog);
      registerInList(own, core.dialogs, dialog);
    },
    store: (store) => registerUnique(own, "store", core.stores, store),
    wrap: (step, around, how) => {
      assertKnown("step", step, STEPS);
      const { order = "last", limit = HOOK_LIMIT } = hookOptions("wrap", around, how);
      assertKnown("order", order, ["first", "last"]); // which is also alphabetical order
      const sort = () =>
        core.wraps.sort(
          (a, b) => compare(a.value.order, b.value.order) || compare(a.owner, b.owner),
        );
      registerInList(own, core.wraps, { step, around, order, limit }, sort);
    },
  };
}

/** The options of on() and wrap(); an order may stand alone. */
function hookOptions(
  verb: "on" | "wrap",
  act: unknown,
  how: unknown = {},
): { order?: Order; limit?: number } {
  if (typeof act !== "function")
    throw fault(`${verb}() takes a function after the name. Write one instead of '${act}'.`);
  const given: any = verb === "wrap" && typeof how === "string" ? { order: how } : how;
  if (typeof given !== "object" || !given)
    throw fault(`${verb}() takes options as its last argument, not '${given}': { limit: 30_000 }.`);
  for (const key of Object.keys(given))
    assertKnown(`option of ${verb}()`, key, verb === "on" ? ["limit"] : ["order", "limit"]);
  if (given.limit === undefined || given.limit > 0) return given;
  throw fault(
    `the limit of ${verb}() is '${given.limit}'. Give it in milliseconds: { limit: 30_000 }.`,
  );
}

/** Registers what can exist once per name. */
function registerUnique<T extends { name: string }>(
  own: Registrant,
  kind: keyof typeof FIELDS,
  all: Map<string, Owned<T>>,
  value: T,
): void {
  const { core, names } = own;
  const [owner, name] = [own.plugin.name, value.name];
  assertFields(own, kind, value);
  if (!IDENTIFIER.test(name) && kind !== "key")
    throw fault(
      `${kind} '${name}' has a name that providers refuse. Use letters, digits, _ and -.`,
    );
  if (kind === "key" && !KEY_NAME.test(name))
    throw fault(
      `key '${name}' has a name that no key has. Write it like ctrl+r, meta+return or tab.`,
    );
  const mine = names.get(kind) ?? new Set();
  const kernels: { name: string }[] = kind === "flag" ? [...KERNEL_FLAGS, ...UNLISTED_FLAGS] : [];
  const other = kernels.some((one) => one.name === name) ? "zz" : all.get(name)?.owner;
  const holder = mine.has(name)
    ? owner
    : other !== owner && !(value as Partial<Tool>).override && other;
  if (holder) {
    const file = core.plugins.find((plugin) => plugin.name === holder)?.file ?? "the kernel";
    const more = kind === "tool" ? ", or say override: true" : "";
    throw fault(
      `${kind} '${name}' is already there, from '${holder}' (${file}). Rename one of them${more}.`,
    );
  }
  names.set(kind, mine.add(name));
  setUndoable(own, all, name, { owner, value });
}

function setUndoable<T>({ stage }: Registrant, all: Map<string, T>, name: string, value: T): void {
  let before: T | undefined; // what it replaces
  const undo = () => all.get(name) === value && (before ? all.set(name, before) : all.delete(name));
  stage.add(() => [(before = all.get(name)), all.set(name, value)], undo);
}

function registerInList<T>(
  { plugin, stage }: Registrant,
  all: Owned<T>[],
  value: T,
  then: () => unknown = () => {},
): void {
  const entry = { owner: plugin.name, value };
  const undo = () => all.includes(entry) && all.splice(all.indexOf(entry), 1);
  stage.add(() => [all.push(entry), then()], undo);
}

/** Refuses fields that are unknown, missing or of a wrong type. */
function assertFields({ plugin }: Registrant, kind: keyof typeof FIELDS, value: any = {}): void {
  if (plugin.from === "zz") return;
  const fields = FIELDS[kind] as Record<string, string>;
  for (const key of Object.keys(value)) assertKnown(`${kind} field`, key, Object.keys(fields));
  for (const [key, types] of Object.entries(fields)) {
    if (types.endsWith("!") && !value[key]) throw fault(`a ${kind} needs '${key}'. Add it.`);
    const allowed = words(types.replace("!", "")).filter(Boolean);
    const type = Array.isArray(value[key]) ? "array" : typeof (value[key] ?? undefined);
    if (allowed.length && type !== "undefined" && !allowed.includes(type))
      throw fault(`in ${kind} '${String(value.name)}', "${key}" ${must(allowed)}.`);
  }
}
