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
import { events } from "../conversation/server-sent-events.ts";
import { HOOK_LIMIT_MS, runStep } from "../events.ts";
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
import { mustBe, parametersOf, plainJson, wrongInSchema } from "../text/json-schema.ts";
// Of what may be registered, with their types; "!" marks the required ones.
import FIELDS from "../text/registered.json" with { type: "json" };
import { errorMessage, makeSecret, veil } from "../text/secrets.ts";
import { compare, lazily } from "../text/words.ts";
import {
  importTrees,
  locationOfError,
  noteImported,
  pluginUrlOf,
  stampsOf,
} from "./import-plugin.ts";
import { endingLoops } from "./loop-watchdog.ts";

// how long a plugin may take to load, in seconds
export const loadLimit = ({ io }: Core): number => Number(io.env.ZZ_LOAD_LIMIT) || 10;
const tooSlowSentence = (seconds: number): string =>
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
  const registrant: Registrant = { core, plugin, stage, names: new Map(), flags: [], checks: [] };
  const limit = loadLimit(core);
  const loading = <T>(promise: Promise<T>) =>
    withTimeout(clockOf(core.io), promise, limit * 1_000, tooSlowSentence(limit));
  plugin.undo = [stage.end, () => registrant.unload?.abort()];
  try {
    const loaded = imported instanceof Promise ? await loading(imported) : imported;
    const exports = loaded.default?.__esModule ? loaded.default : loaded; // compiled to CommonJS
    start = CLOCK.now();
    const twin = core.plugins.find(
      (loadedPlugin) =>
        loadedPlugin.name === plugin.name &&
        loadedPlugin.file !== plugin.file &&
        !loadedPlugin.disabled &&
        !loadedPlugin.failure,
    );
    if (twin)
      throw fault(`a plugin '${twin.name}' is already there (${twin.file}). Rename one of them.`);
    if (typeof exports.default !== "function")
      throw fault("it has no default export to call. Write `export default (zz: Zz) => …`.");
    checkSettings(registrant, exports);
    const configured = configOf(core, plugin.name, exports);
    const handle = createHandle(
      registrant,
      configured instanceof Promise ? await configured : configured,
    );
    const setup =
      plugin.from === "zz"
        ? exports.default(handle)
        : endingLoops(limit, () => exports.default(handle));
    if (setup instanceof Promise) await loading(setup);
    const wrong = registrant.checks.length
      ? (await Promise.all(registrant.checks)).find(Boolean)
      : undefined;
    if (wrong) throw fault(`${wrong}. Write it as JSON Schema has it.`);
  } catch (error) {
    plugin.stamps = stampsOf(plugin);
    if (errorMessage(error) === tooSlowSentence(limit)) noteImported(plugin);
    await unregisterPlugin(clockOf(core.io), plugin);
    const location = locationOfError(error, plugin.file, plugin.stamps.keys());
    plugin.failure = `Cannot load plugin '${plugin.name}' (${location}): ${await loadFailureReason(error)}`;
    if (showsTraces(core)) plugin.failure += `\n${(error as Error)?.stack}`;
  }
  plugin.ms += CLOCK.now() - start;
  // at the first load, only a prompt will ask for them
  if (plugin.version && !plugin.failure) plugin.stamps = stampsOf(plugin);
  return plugin.failure ? undefined : stage;
}

function checkSettings(registrant: Registrant, { defaults, settings = {} }: any): void {
  assertFields(registrant, "export", { defaults, settings });
  assertFields(registrant, "settings", settings);
  checkSchema(registrant, "settings.schema", settings.schema);
}

/**
 * Set-up waits for it, since typebox has to be loaded. Other ways to write a schema need no look.
 */
function checkSchema(
  { plugin, checks }: Registrant,
  label: string,
  schema: object | undefined,
): void {
  if (plugin.from === "zz" || !schema || "~standard" in schema || "~kind" in schema) return;
  checks.push(wrongInSchema(schema, label)); // of a tool that comes later, the first call says it
}

/**
 * Why a plugin cannot be loaded, and what to do. Earlier ones imported from "zz" what is in
 * "zz/text" now.
 */
async function loadFailureReason(error: unknown): Promise<string> {
  const message = errorMessage(error);
  const [, from = "", name = ""] =
    /module '(zz(?:\/text)?|.*[/\\](?:kernel|zz|text)\.[jt]s)' .* named '(\w+)'/.exec(message) ??
    [];
  const step = /^Cannot find (package|module) /.test(message)
    ? "Install it there, or correct the import."
    : "";
  const isTypo =
    Object(error).name === "SyntaxError" && !name && "Fix it; at the prompt, /reload tries again.";
  if (!name) return step || isTypo ? `${message.replace(/\.$/, "")}. ${step || isTypo}` : message;
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
        await withTimeout(clock, undone, HOOK_LIMIT_MS, "its cleanup took too long");
    } catch (error) {
      failures.push(
        `Plugin '${plugin.name}' failed while it was taken away: ${errorMessage(error)}`,
      );
    }
  for (const [url, tree] of importTrees())
    if (tree.plugin === pluginUrlOf(plugin)) importTrees().delete(url);
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
      const applyBoth = () => [apply(), plugin.undo.push(undo)];
      if (held) held.push(applyBoth);
      else if (!ended) applyBoth();
    },
    end: () => void (ended = true),
    commit() {
      for (const apply of held ?? []) apply();
      held = undefined;
    },
  };
}

export function pluginIoOf(core: Core): PluginIo {
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
function createHandle(
  registrant: Registrant,
  config: Awaited<ReturnType<typeof configOf>>,
): Zz<any> {
  const { core, plugin } = registrant;
  const owner = plugin.name;
  const provides = () =>
    plugin.from === "zz" ||
    [...core.providers.values()].some((provider) => provider.owner === owner);
  registerInList(registrant, core.configs, config);
  return {
    config: config.live,
    get configFault() {
      return config.fault;
    },
    get signal() {
      return (registrant.unload ??= new AbortController()).signal;
    },
    io: pluginIoOf(core),
    programs: programs(core.options.root, core.io.env),
    events,
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
      if (registrant.hasState)
        throw fault(
          "zz.state() was called twice, and a plugin has one state. Put both into one object.",
        );
      if (Array.isArray(initial))
        throw fault("zz.state() takes an object. Put the array into one: { list: [] }.");
      const initially = plainJson(initial);
      registrant.hasState = true;
      const had = core.states.get(owner)?.live ?? {}; // the state survives a reload
      const live = Object.assign(had, { ...structuredClone(initial), ...had }) as typeof initial;
      const saved = core.states.get(owner)?.saved ?? JSON.stringify(live);
      setUndoable(registrant, core.states, owner, { live, saved, initial: initially });
      return live;
    },
    tool: (tool) => {
      assertFields(registrant, "tool", tool);
      if (tool.kind !== undefined)
        assertKnown("kind of tool", tool.kind, ["read", "change", "run"]);
      const schema = parametersOf(tool); // refused now rather than at the first call
      if (Object.values(tool.params ?? {}).some((parameter) => typeof parameter === "object"))
        checkSchema(registrant, "params", tool.params);
      registerUnique(registrant, "tool", core.tools, tool);
      setUndoable(registrant, core.schemas, tool.name, schema);
    },
    command: (command) => registerUnique(registrant, "command", core.commands, command),
    service: (name, offer) => registerUnique(registrant, "service", core.services, { name, offer }),
    provider: (provider) => registerUnique(registrant, "provider", core.providers, provider),
    flag: (flag) => {
      const others = () =>
        [...core.flags.values()].flatMap((registration) =>
          registration.owner === owner ? [] : registration.value,
        );
      const sameShort =
        flag.short &&
        [...KERNEL_FLAGS, ...others(), ...registrant.flags].find(
          ({ short, name }) => short === flag.short && name !== flag.name,
        );
      if (sameShort)
        throw fault(
          `flag '${flag.name}' has the short form -${flag.short} of --${sameShort.name}. Choose another.`,
        );
      registerUnique(registrant, "flag", core.flags, flag);
      registrant.flags.push(flag);
    },
    key: (key) => registerUnique(registrant, "key", core.keys, key),
    layer: (layer) => {
      assertFields(registrant, "layer", layer);
      assertKnown("slot", layer.slot, SLOTS);
      registerInList(registrant, core.layers, layer);
    },
    on: (event, see, options) => {
      assertKnown("event", event, EVENTS);
      const { limit = HOOK_LIMIT_MS } = hookOptions("on", see, options);
      registerInList(registrant, core.observers, { event, see, limit });
    },
    dialog: (dialog) => {
      assertFields(registrant, "dialog", dialog);
      registerInList(registrant, core.dialogs, dialog);
    },
    store: (store) => registerUnique(registrant, "store", core.stores, store),
    wrap: (step, around, options) => {
      assertKnown("step", step, STEPS);
      const { order = "last", limit = HOOK_LIMIT_MS } = hookOptions("wrap", around, options);
      assertKnown("order", order, ["first", "last"]); // which is also alphabetical order
      const sort = () =>
        core.wraps.sort(
          (a, b) => compare(a.value.order, b.value.order) || compare(a.owner, b.owner),
        );
      registerInList(registrant, core.wraps, { step, around, order, limit }, sort);
    },
  };
}

/** The options of on() and wrap(); an order may stand alone. */
function hookOptions(
  verb: "on" | "wrap",
  act: unknown,
  options: unknown = {},
): { order?: Order; limit?: number } {
  if (typeof act !== "function")
    throw fault(`${verb}() takes a function after the name. Write one instead of '${act}'.`);
  const hookSettings: any =
    verb === "wrap" && typeof options === "string" ? { order: options } : options;
  if (typeof hookSettings !== "object" || !hookSettings)
    throw fault(
      `${verb}() takes options as its last argument, not '${hookSettings}': { limit: 30_000 }.`,
    );
  for (const key of Object.keys(hookSettings))
    assertKnown(`option of ${verb}()`, key, verb === "on" ? ["limit"] : ["order", "limit"]);
  if (hookSettings.limit === undefined || hookSettings.limit > 0) return hookSettings;
  throw fault(
    `the limit of ${verb}() is '${hookSettings.limit}'. Give it in milliseconds: { limit: 30_000 }.`,
  );
}

/** Registers what can exist once per name. */
function registerUnique<T extends { name: string }>(
  registrant: Registrant,
  noun: keyof typeof FIELDS,
  registry: Map<string, Owned<T>>,
  value: T,
): void {
  const { core, names } = registrant;
  const [owner, name] = [registrant.plugin.name, value.name];
  assertFields(registrant, noun, value);
  if (!IDENTIFIER.test(name) && noun !== "key")
    throw fault(
      `${noun} '${name}' has a name that providers refuse. Use letters, digits, _ and -.`,
    );
  if (noun === "key" && !KEY_NAME.test(name))
    throw fault(
      `key '${name}' has a name that no key has. Write it like ctrl+r, meta+return or tab.`,
    );
  const mine = names.get(noun) ?? new Set();
  const kernels: { name: string }[] = noun === "flag" ? [...KERNEL_FLAGS, ...UNLISTED_FLAGS] : [];
  const holderBefore = kernels.some((kernelFlag) => kernelFlag.name === name)
    ? "zz"
    : registry.get(name)?.owner;
  const holder = mine.has(name)
    ? owner
    : holderBefore !== owner && !(value as Partial<Tool>).override && holderBefore;
  if (holder) {
    const file = core.plugins.find((plugin) => plugin.name === holder)?.file ?? "the kernel";
    const advice = noun === "tool" ? ", or say override: true" : "";
    throw fault(
      `${noun} '${name}' is already there, from '${holder}' (${file}). Rename one of them${advice}.`,
    );
  }
  names.set(noun, mine.add(name));
  setUndoable(registrant, registry, name, { owner, value });
}

function setUndoable<T>(
  { stage }: Registrant,
  registry: Map<string, T>,
  name: string,
  value: T,
): void {
  let before: T | undefined; // what it replaces
  const undo = () =>
    registry.get(name) === value && (before ? registry.set(name, before) : registry.delete(name));
  stage.add(() => [(before = registry.get(name)), registry.set(name, value)], undo);
}

function registerInList<T>(
  { plugin, stage }: Registrant,
  registrations: Owned<T>[],
  value: T,
  then: () => unknown = () => {},
): void {
  const registration = { owner: plugin.name, value };
  const undo = () =>
    registrations.includes(registration) &&
    registrations.splice(registrations.indexOf(registration), 1);
  stage.add(() => [registrations.push(registration), then()], undo);
}

/** Refuses fields that are unknown, missing or of a wrong type. */
function assertFields({ plugin }: Registrant, noun: keyof typeof FIELDS, value: any = {}): void {
  if (plugin.from === "zz") return;
  const fields = FIELDS[noun] as Record<string, string>;
  for (const key of Object.keys(value)) assertKnown(`${noun} field`, key, Object.keys(fields));
  for (const [key, types] of Object.entries(fields)) {
    if (types.endsWith("!") && !value[key]) throw fault(`a ${noun} needs '${key}'. Add it.`);
    const allowed = words(types.replace("!", "")).filter(Boolean);
    const type = Array.isArray(value[key]) ? "array" : typeof (value[key] ?? undefined);
    if (allowed.length && type !== "undefined" && !allowed.includes(type))
      throw fault(`in ${noun} '${String(value.name)}', "${key}" ${mustBe(allowed)}.`);
  }
}
