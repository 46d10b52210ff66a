// What a plugin registers: checked, held until it is loaded, taken back when it goes.
import type { Around, Flag, Order, Steps, Tool } from "../contract.ts";
import { STEPS, words } from "../contract.ts";
import { HOOK_LIMIT_MS } from "../events.ts";
import { assertKnown, type Core, IDENTIFIER, type LoadedPlugin, type Owned } from "../instance.ts";
import { KERNEL_FLAGS, UNLISTED_FLAGS } from "../settings/flag-table.ts";
import { fault } from "../text/faults.ts";
import { mustBe, parametersOf, plainJson, wrongInSchema } from "../text/json-schema.ts";
// Of what may be registered, with their types; "!" marks the required ones.
import FIELDS from "../text/registered.json" with { type: "json" };
import { compare } from "../text/words.ts";

const KEY_NAME = /^((ctrl|meta|shift)\+)*[a-z0-9]+$/;

/**
 * Set-up waits for it, since typebox has to be loaded. Other ways to write a schema need no look.
 */
export function checkSchema(
  { plugin, checks }: Registrant,
  label: string,
  schema: object | undefined,
): void {
  if (plugin.from === "zz" || !schema || "~standard" in schema || "~kind" in schema) return;
  checks.push(wrongInSchema(schema, label)); // of a tool that comes later, the first call says it
}

/**
 * Registrations made during set-up take effect together at its end; later ones at once, until the
 * plugin is unloaded.
 */
export type StagedRegistrations = {
  add(apply: () => unknown, undo: () => unknown): void;
  commit(): void;
  end(): void;
};

export function openStage(plugin: LoadedPlugin): StagedRegistrations {
  let heldActions: (() => unknown)[] | undefined = [];
  let hasEnded = false;
  return {
    add(apply, undo) {
      const applyBoth = () => [apply(), plugin.undo.push(undo)];
      if (heldActions) heldActions.push(applyBoth);
      else if (!hasEnded) applyBoth();
    },
    end: () => void (hasEnded = true),
    commit() {
      for (const apply of heldActions ?? []) apply();
      heldActions = undefined;
    },
  };
}

/**
 * The plugin that registers something. `unload` is created on first use, since few plugins need it.
 */
export interface Registrant {
  core: Core;
  plugin: LoadedPlugin;
  stage: StagedRegistrations;
  names: Map<string, Set<string>>; // by kind
  flags: Flag[];
  checks: Promise<string | undefined>[]; // of schemas
  hasState?: true;
  unload?: AbortController;
}

export function registerState<T extends object>(registrant: Registrant, initial: T): T {
  const { core } = registrant;
  const pluginName = registrant.plugin.name;
  if (registrant.hasState)
    throw fault(
      "zz.state() was called twice, and a plugin has one state. Put both into one object.",
    );
  if (Array.isArray(initial))
    throw fault("zz.state() takes an object. Put the array into one: { list: [] }.");
  const initially = plainJson(initial);
  registrant.hasState = true;
  const stateBefore = core.states.get(pluginName)?.live ?? {}; // the state survives a reload
  const live = Object.assign(stateBefore, { ...structuredClone(initial), ...stateBefore }) as T;
  const saved = core.states.get(pluginName)?.saved ?? JSON.stringify(live);
  setUndoable(registrant, core.states, pluginName, { live, saved, initial: initially });
  return live;
}

export function registerTool(registrant: Registrant, tool: Tool): void {
  const { core } = registrant;
  assertFields(registrant, "tool", tool);
  if (tool.kind !== undefined) assertKnown("kind of tool", tool.kind, ["read", "change", "run"]);
  const schema = parametersOf(tool); // refused now rather than at the first call
  if (Object.values(tool.params ?? {}).some((parameter) => typeof parameter === "object"))
    checkSchema(registrant, "params", tool.params);
  registerUnique(registrant, "tool", core.tools, tool);
  setUndoable(registrant, core.schemas, tool.name, schema);
}

export function registerFlag(registrant: Registrant, flag: Flag): void {
  const { core } = registrant;
  const listOthers = () =>
    [...core.flags.values()].flatMap((registration) =>
      registration.owner === registrant.plugin.name ? [] : registration.value,
    );
  const sameShort =
    flag.short &&
    [...KERNEL_FLAGS, ...listOthers(), ...registrant.flags].find(
      ({ short, name }) => short === flag.short && name !== flag.name,
    );
  if (sameShort)
    throw fault(
      `flag '${flag.name}' has the short form -${flag.short} of ` +
        `--${sameShort.name}. Choose another.`,
    );
  registerUnique(registrant, "flag", core.flags, flag);
  registrant.flags.push(flag);
}

export function registerWrapper(
  registrant: Registrant,
  step: keyof Steps,
  around: Around<[any, any]>,
  options: unknown,
): void {
  const { core } = registrant;
  assertKnown("step", step, STEPS);
  const { order = "last", limit = HOOK_LIMIT_MS } = hookOptions("wrap", around, options);
  assertKnown("order", order, ["first", "last"]); // which is also alphabetical order
  const sortWraps = () =>
    core.wraps.sort(
      (first, second) =>
        compare(first.value.order, second.value.order) || compare(first.owner, second.owner),
    );
  registerInList(registrant, core.wraps, { step, around, order, limit }, sortWraps);
}

/** The options of on() and wrap(); an order may stand alone. */
export function hookOptions(
  hookName: "on" | "wrap",
  hookFunction: unknown,
  options: unknown = {},
): { order?: Order; limit?: number } {
  if (typeof hookFunction !== "function")
    throw fault(
      `${hookName}() takes a function after the name. Write one instead of '${hookFunction}'.`,
    );
  const hookSettings: any =
    hookName === "wrap" && typeof options === "string" ? { order: options } : options;
  if (typeof hookSettings !== "object" || !hookSettings)
    throw fault(
      `${hookName}() takes options as its last argument, not '${hookSettings}': { limit: 30_000 }.`,
    );
  for (const optionName of Object.keys(hookSettings))
    assertKnown(
      `option of ${hookName}()`,
      optionName,
      hookName === "on" ? ["limit"] : ["order", "limit"],
    );
  if (hookSettings.limit === undefined || hookSettings.limit > 0) return hookSettings;
  throw fault(
    `the limit of ${hookName}() is '${hookSettings.limit}'. ` +
      "Give it in milliseconds: { limit: 30_000 }.",
  );
}

/** Registers what can exist once per name. */
export function registerUnique<T extends { name: string }>(
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
  const pluginNames = names.get(noun) ?? new Set();
  const kernels: { name: string }[] = noun === "flag" ? [...KERNEL_FLAGS, ...UNLISTED_FLAGS] : [];
  const holderBefore = kernels.some((kernelFlag) => kernelFlag.name === name)
    ? "zz"
    : registry.get(name)?.owner;
  const holder = pluginNames.has(name)
    ? owner
    : holderBefore !== owner && !(value as Partial<Tool>).override && holderBefore;
  if (holder) {
    const holderFile = core.plugins.find((plugin) => plugin.name === holder)?.file ?? "the kernel";
    const advice = noun === "tool" ? ", or say override: true" : "";
    throw fault(
      `${noun} '${name}' is already there, from '${holder}' (${holderFile}). ` +
        `Rename one of them${advice}.`,
    );
  }
  names.set(noun, pluginNames.add(name));
  setUndoable(registrant, registry, name, { owner, value });
}

function setUndoable<T>(
  { stage }: Registrant,
  registry: Map<string, T>,
  entryName: string,
  newValue: T,
): void {
  let valueBefore: T | undefined; // what it replaces
  const undo = () =>
    registry.get(entryName) === newValue &&
    (valueBefore ? registry.set(entryName, valueBefore) : registry.delete(entryName));
  stage.add(
    () => [(valueBefore = registry.get(entryName)), registry.set(entryName, newValue)],
    undo,
  );
}

export function registerInList<T>(
  { plugin, stage }: Registrant,
  registrations: Owned<T>[],
  value: T,
  onAdded: () => unknown = () => {},
): void {
  const registration = { owner: plugin.name, value };
  const undo = () =>
    registrations.includes(registration) &&
    registrations.splice(registrations.indexOf(registration), 1);
  stage.add(() => [registrations.push(registration), onAdded()], undo);
}

/** Refuses fields that are unknown, missing or of a wrong type. */
export function assertFields(
  { plugin }: Registrant,
  noun: keyof typeof FIELDS,
  registered: any = {},
): void {
  if (plugin.from === "zz") return;
  const fieldTypes = FIELDS[noun] as Record<string, string>;
  for (const fieldName of Object.keys(registered))
    assertKnown(`${noun} field`, fieldName, Object.keys(fieldTypes));
  for (const [fieldName, allowedTypes] of Object.entries(fieldTypes)) {
    if (allowedTypes.endsWith("!") && !registered[fieldName])
      throw fault(`a ${noun} needs '${fieldName}'. Add it.`);
    const allowed = words(allowedTypes.replace("!", "")).filter(Boolean);
    const valueType = Array.isArray(registered[fieldName])
      ? "array"
      : typeof (registered[fieldName] ?? undefined);
    if (allowed.length && valueType !== "undefined" && !allowed.includes(valueType))
      throw fault(`in ${noun} '${String(registered.name)}', "${fieldName}" ${mustBe(allowed)}.`);
  }
}
