// What zz's own plugins that are off would bring: who asks for it is told how to turn it on.
import type { Command } from "../contract.ts";
import { type Core, emptyInstance, type LoadedPlugin } from "../instance.ts";
import { inOwnFile } from "../settings/settings-files.ts";
import { unknown } from "../text/did-you-mean.ts";
import { usage } from "../text/faults.ts";
import { startImport } from "./import-plugin.ts";
import { loadBundle } from "./load-plugins.ts";
import { closeInstance, loadLimit, setUpPlugin } from "./plugin-handle.ts";

/** Finds a command by its name. */
export async function commandNamed(core: Core, typedName: string): Promise<Command> {
  const command = core.commands.get(typedName)?.value;
  if (command) return command;
  const listNames = () => [...core.commands.keys()].map((commandName) => `/${commandName}`);
  const reason =
    (await whyOff(core, ({ commands }) => commands.get(typedName)?.owner)) ??
    unknown("command", `/${typedName}`, listNames(), "/help lists them.");
  throw usage(`Cannot run '/${typedName}': ${reason}`);
}

/**
 * Names the plugin that is off and would bring something, as a part of a sentence. To find it, zz's
 * own plugins that are off are loaded into an instance that nobody uses.
 */
export async function whyOff(
  core: Core,
  ownerIn: (trial: Core) => string | undefined,
): Promise<string | undefined> {
  const isReplaced = (name: string) =>
    core.plugins.some((plugin) => plugin.name === name && !plugin.disabled);
  const offPlugins = core.plugins.filter(
    ({ name, from, disabled }) => disabled && from === "zz" && !isReplaced(name),
  );
  if (!offPlugins.length) return undefined;
  const { sources, ...options } = core.options;
  const { apart, ctx } = core;
  const trial = emptyInstance(core.io, { ...options, settings: {} }, { apart, ctx });
  const bundled = await loadBundle(trial);
  for (const { disabled, ...offPlugin } of offPlugins) {
    const plugin: LoadedPlugin = { ...offPlugin, undo: [], stamps: new Map() };
    trial.plugins.push(plugin);
    const imported = startImport(plugin, bundled.default, loadLimit(trial));
    (await setUpPlugin(trial, plugin, imported))?.commit();
  }
  const owner = ownerIn(trial);
  await closeInstance(trial);
  // without the command there is only the file
  const remedy = core.commands.has("plugins")
    ? `/plugins on ${owner} turns it on`
    : `Take it out of "plugins.off"${inOwnFile(core.options) || " in the settings"}`;
  return owner && `the plugin '${owner}' is off. ${remedy}.`;
}
