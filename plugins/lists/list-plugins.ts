// /plugins: the list, one plugin, and switching one on or off.
import type { About, Choice, Ctx, Reloaded } from "zz";
import { narrow, table, wrapped } from "./aligned-rows.ts";

type Plugin = About["plugins"][number];
const stateOf = ({ ms, failure, outdated, disabled }: Plugin): string => {
  if (failure) return "failed";
  if (disabled) return "off";
  if (outdated) return "older";
  return `${ms} ms`;
};
/** A row for each: where it is from, and how it is. */
export const pluginTable = (plugins: readonly Plugin[]): string =>
  table(plugins.map((plugin) => [plugin.name, plugin.from, stateOf(plugin), plugin.file]));
export function noteReloads(reloads: Reloaded[], writeNote: Ctx["note"]): void {
  for (const { name, did, ms, why: reloadReason } of reloads)
    writeNote(
      reloadReason ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`,
    );
}
/** The user's plugins and those that failed, with what each adds; zz's own only by name. */
export function listPlugins({ plugins }: Pick<About, "plugins">, maxColumns: number): string {
  const ownPlugins = plugins.filter(
    ({ from, failure, disabled }) => from === "zz" && !failure && !disabled,
  );
  const otherPlugins = plugins.filter((plugin) => !ownPlugins.includes(plugin));
  const pluginRows = pluginTable(otherPlugins).split("\n");
  const pluginLines = otherPlugins.flatMap((plugin, i) => [
    narrow(pluginRows[i]!, maxColumns),
    ...[explainFailure(plugin), listAdditions(plugin)].flatMap((detailText) =>
      detailText
        ? wrapped(detailText, maxColumns - 4).map((detailLine) => `    ${detailLine}`)
        : [],
    ),
  ]);
  const totalTime = ownPlugins.reduce((total, plugin) => total + plugin.ms, 0);
  const pluginNames = ownPlugins.map(({ name }) => name).join(", ");
  return [
    ...pluginLines,
    ...wrapped(
      `zz's own, ${ownPlugins.length} in ${totalTime.toFixed(1)} ms: ${pluginNames}.`,
      maxColumns,
    ),
    ...wrapped("/plugins NAME shows what one adds; /plugins off NAME leaves it out.", maxColumns),
  ].join("\n");
}
/** Why it failed, without its name and file, which are in the row above. */
const explainFailure = ({ name, file, outdated = "", failure = outdated }: Plugin): string => {
  const [, lineNumber, problem] =
    /^:?(\d*)\)?: (.*)$/s.exec(failure.split(`Cannot load plugin '${name}' (${file}`)[1] ?? "") ??
    [];
  return problem ? `${lineNumber ? `line ${lineNumber}: ` : ""}${problem}` : failure;
};
/** What a plugin adds, such as `tool lamp; command /lamp, /lamps`. */
const listAdditions = ({ adds }: Plugin): string =>
  [...Map.groupBy(adds, ({ kind: additionKind }) => additionKind)]
    .map(([additionKind, additions]) => {
      const namePrefix = additionKind === "command" ? "/" : "";
      const shownNames = new Set(additions.map(({ name }) => `${namePrefix}${name}`));
      return `${additionKind} ${[...shownNames].join(", ")}`;
    })
    .join("; ");
export function describePlugin(pluginName: string, { plugins }: About, maxColumns: number): string {
  const matches = plugins.filter((plugin) => plugin.name === pluginName);
  if (!matches.length) return `There is no plugin '${pluginName}'. /plugins lists them.`;
  return matches
    .flatMap((plugin) => [
      ...wrapped(
        `${pluginName}: from ${plugin.from}, ${stateOf(plugin)}; ${plugin.file}`,
        maxColumns,
      ),
      ...wrapped(plugin.failure ?? plugin.outdated ?? "", maxColumns).filter(Boolean),
      ...listAdditions(plugin)
        .split("; ")
        .flatMap((additionLine) =>
          wrapped(additionLine, maxColumns - 2).map((wrappedLine) => `  ${wrappedLine}`),
        ),
    ])
    .join("\n");
}
export const completePlugins = (typedText: string, { plugins }: About): Choice[] => {
  const [, switchVerb = ""] = /^(on|off|enable|disable)\s/.exec(typedText) ?? [];
  const fitsVerb = ({ disabled }: Plugin) => !switchVerb || Boolean(disabled) === isOn(switchVerb);
  const pluginChoices = plugins
    .filter(fitsVerb)
    .map(({ name, from }) => ({
      name: switchVerb ? `${switchVerb} ${name}` : name,
      description: from,
    }));
  return [...(switchVerb ? [] : [{ name: "on" }, { name: "off" }]), ...pluginChoices].filter(
    ({ name }) => name.startsWith(typedText),
  );
};
export const isOn = (switchVerb: string): boolean => /^(on|enable)$/.test(switchVerb);
/** Switches a plugin on or off in the settings, so that it lasts. */
export async function switchPlugin(
  pluginName: string,
  isSwitchedOn: boolean,
  { about, settings, plugins, note }: Ctx,
): Promise<void> {
  // one that replaces zz's comes after it
  const present = about.plugins.findLast((plugin) => plugin.name === pluginName);
  if (!present) return note(`There is no plugin '${pluginName}'. /plugins lists them.`);
  if (Boolean(present.disabled) !== isSwitchedOn)
    return note(`'${pluginName}' is ${isSwitchedOn ? "on" : "off"} already.`);
  const settingOf = (settingName: string) =>
    settings.list().find((settingRow) => settingRow.name === settingName)?.value;
  const { off = [] } = (settingOf("plugins") ?? {}) as { off?: string[] };
  const oldNames = settingOf("disabled") as string[] | undefined;
  const remaining = [...off, ...(oldNames ?? [])].filter((offName) => offName !== pluginName);
  const disabledNames = isSwitchedOn ? remaining : [...remaining, pluginName];
  if (oldNames) await settings.set("disabled", undefined);
  await settings.set("plugins", disabledNames.length ? { off: disabledNames } : undefined);
  noteReloads(await plugins.refresh(), note);
}
