// The handle that a plugin gets. What it registers belongs to the plugin and goes away with it.
import { existsSync } from "node:fs";
import type { Awaitable, Clock, HttpAnswer, HttpRequest, PluginIo, Zz } from "../contract.ts";
import { EVENTS, SLOTS } from "../contract.ts";
import { fetchForPlugin } from "../conversation/server-errors.ts";
import { events } from "../conversation/server-sent-events.ts";
import { HOOK_LIMIT_MS, runStep } from "../events.ts";
import { assertKnown, type Core, type LoadedPlugin, showsTraces } from "../instance.ts";
import { configOf } from "../settings/plugin-settings.ts";
import { IS_BUILT, SELF_URL } from "../system/installation.ts";
import { programs } from "../system/other-programs.ts";
import { CLOCK, clockOf } from "../text/clock.ts";
import { withTimeout } from "../text/deadlines.ts";
import { unknown } from "../text/did-you-mean.ts";
import { fault } from "../text/faults.ts";
import { errorMessage, makeSecret, veil } from "../text/secrets.ts";
import { lazily } from "../text/words.ts";
import {
  importTrees,
  locationOfError,
  noteImported,
  pluginUrlOf,
  stampsOf,
} from "./import-plugin.ts";
import { endingLoops } from "./loop-watchdog.ts";
import {
  assertFields,
  checkSchema,
  hookOptions,
  openStage,
  type Registrant,
  registerFlag,
  registerInList,
  registerState,
  registerTool,
  registerUnique,
  registerWrapper,
  type StagedRegistrations,
} from "./register.ts";

// how long a plugin may take to load, in seconds
export const loadLimit = ({ io }: Core): number => Number(io.env.ZZ_LOAD_LIMIT) || 10;
const tooSlowSentence = (seconds: number): string =>
  `loading took longer than ${seconds} s. Move slow work into a tool.`;

/**
 * Runs a plugin's function. What it registers is held until the function has succeeded. Undefined:
 * it failed.
 */
export async function setUpPlugin(
  core: Core,
  plugin: LoadedPlugin,
  imported: Awaitable<any>,
): Promise<StagedRegistrations | undefined> {
  let startTime = CLOCK.now();
  const stage = openStage(plugin);
  const registrant: Registrant = { core, plugin, stage, names: new Map(), flags: [], checks: [] };
  const limit = loadLimit(core);
  const loading = <T>(promise: Promise<T>) =>
    withTimeout(clockOf(core.io), promise, limit * 1_000, tooSlowSentence(limit));
  plugin.undo = [stage.end, () => registrant.unload?.abort()];
  try {
    const loaded = imported instanceof Promise ? await loading(imported) : imported;
    const exports = loaded.default?.__esModule ? loaded.default : loaded; // compiled to CommonJS
    startTime = CLOCK.now();
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
    const { name, file, from, stamps } = plugin;
    const [location, reason] =
      from === "zz" && !existsSync(file)
        ? [file, MISSING]
        : [locationOfError(error, file, stamps.keys()), await loadFailureReason(error)];
    plugin.failure = `Cannot load plugin '${name}' (${location}): ${reason}`;
    if (showsTraces(core)) plugin.failure += `\n${(error as Error)?.stack}`;
  }
  plugin.ms += CLOCK.now() - startTime;
  // at the first load, only a prompt will ask for them
  if (plugin.version && !plugin.failure) plugin.stamps = stampsOf(plugin);
  return plugin.failure ? undefined : stage;
}

function checkSettings(registrant: Registrant, { defaults, settings = {} }: any): void {
  assertFields(registrant, "export", { defaults, settings });
  assertFields(registrant, "settings", settings);
  checkSchema(registrant, "settings.schema", settings.schema);
}

const MISSING =
  "it is missing, and was there when zz was built. " +
  "Put it back, or build zz without it: npm run build.";

/**
 * Why a plugin cannot be loaded, and what to do. Earlier ones imported from "zz" what is in
 * "zz/text" now.
 */
async function loadFailureReason(error: unknown): Promise<string> {
  const message = errorMessage(error);
  const [, importedFrom = "", exportName = ""] =
    /module '(zz(?:\/text)?|.*[/\\](?:kernel|zz|text)\.[jt]s)' .* named '(\w+)'/.exec(message) ??
    [];
  const installHint = /^Cannot find (package|module) /.test(message)
    ? "Install it there, or correct the import."
    : "";
  const typoHint =
    Object(error).name === "SyntaxError" &&
    !exportName &&
    "Fix it; at the prompt, /reload tries again.";
  if (!exportName)
    return installHint || typoHint
      ? `${message.replace(/\.$/, "")}. ${installHint || typoHint}`
      : message;
  if (!/text(\.[jt]s)?$/.test(importedFrom))
    return (
      `it imports '${exportName}' from "zz", which has types alone. ` +
      'Import it from "zz/text", or copy it.'
    );
  const exportNames = Object.keys(
    await import(`${SELF_URL}/${IS_BUILT ? "text.js" : "sdk/text.ts"}`),
  );
  return (
    `it imports '${exportName}' from "zz/text": ` +
    unknown("export", exportName, exportNames, "Its manual lists them.")
  );
}

/**
 * Takes back all registrations, latest first. One that throws or hangs does not hold up the others.
 */
export async function unregisterPlugin(clock: Clock, plugin: LoadedPlugin): Promise<string[]> {
  const failures: string[] = [];
  for (const undo of plugin.undo.splice(0).reverse())
    try {
      const undoResult = undo();
      if (undoResult instanceof Promise)
        await withTimeout(clock, undoResult, HOOK_LIMIT_MS, "its cleanup took too long");
    } catch (error) {
      failures.push(
        `Plugin '${plugin.name}' failed while it was taken away: ${errorMessage(error)}`,
      );
    }
  for (const [fileUrl, fileTree] of importTrees())
    if (fileTree.plugin === pluginUrlOf(plugin)) importTrees().delete(fileUrl);
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

export function pluginIoOf(core: Core): PluginIo {
  const { io } = core;
  const { stdout, stderr, cwd } = io;
  core.pluginIo ??= Object.assign(lazily({ stdin: () => io.stdin }), {
    stdout,
    stderr,
    cwd,
    clock: clockOf(io),
    variable: (variableName: string) => io.env[variableName],
  });
  return core.pluginIo;
}

/** The `zz` object of one plugin. Each method remembers how to take back what it registers. */
function createHandle(
  registrant: Registrant,
  config: Awaited<ReturnType<typeof configOf>>,
): Zz<any> {
  const { core, plugin } = registrant;
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
    fetch: (requestUrl, request) => fetchAs(registrant, requestUrl, request),
    secret: (secretValue, instead) => makeSecret(String(secretValue), instead),
    veil: (plainText, instead) => veil(String(plainText), instead),
    defer: (cleanup) => void plugin.undo.push(cleanup),
    state: (initial) => registerState(registrant, initial),
    tool: (tool) => registerTool(registrant, tool),
    command: (command) => registerUnique(registrant, "command", core.commands, command),
    service: (name, offer) => registerUnique(registrant, "service", core.services, { name, offer }),
    provider: (provider) => registerUnique(registrant, "provider", core.providers, provider),
    flag: (flag) => registerFlag(registrant, flag),
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
    wrap: (step, around, options) => registerWrapper(registrant, step, around, options),
  };
}

function fetchAs(
  { core, plugin: { name: pluginName, from } }: Registrant,
  url: string,
  request: HttpRequest = {},
): Promise<HttpAnswer> {
  const provides = () =>
    from === "zz" || [...core.providers.values()].some((provider) => provider.owner === pluginName);
  const sendRequest = ({ url, ...init }: HttpRequest & { url: string }) =>
    fetchForPlugin(core, url, init, !init.via && provides());
  const isWrapped = core.wraps.some(({ value }) => value.step === "fetch");
  return isWrapped
    ? runStep({ core, ctx: core.ctx() }, "fetch", { ...request, url }, sendRequest)
    : sendRequest({ ...request, url });
}
