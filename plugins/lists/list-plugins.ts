// /plugins: the list, one plugin, and switching one on or off.
import type { About, Choice, Ctx, Reloaded } from "zz";
import { narrow, table, wrapped } from "./aligned-rows.ts";

type Plugin = About["plugins"][number];
export const stateOf = ({ ms, failure, outdated, disabled }: Plugin, failed: string): string => {
  if (failure) return failed;
  if (disabled) return "off";
  if (outdated) return "older";
  return `${ms} ms`;
};
export function noteReloads(done: Reloaded[], note: Ctx["note"]): void {
  for (const { name, did, ms, why: reason } of done)
    note(reason ?? `Plugin '${name}' ${did}${did === "unloaded" ? "" : ` in ${ms} ms`}.`);
}
/** The user's plugins and those that failed, with what each adds; zz's own only by name. */
export function plugins({ plugins }: Pick<About, "plugins">, room: number): string {
  const ownPlugins = plugins.filter(
    ({ from, failure, disabled }) => from === "zz" && !failure && !disabled,
  );
  const others = plugins.filter((plugin) => !ownPlugins.includes(plugin));
  const rows = table(
    others.map((plugin) => [plugin.name, plugin.from, stateOf(plugin, "failed"), plugin.file]),
  );
  const lines = others.flatMap((plugin, i) => [
    narrow(rows.split("\n")[i]!, room),
    ...[whyOf(plugin), added(plugin)].flatMap((text) =>
      text ? wrapped(text, room - 4).map((line) => `    ${line}`) : [],
    ),
  ]);
  const ms = ownPlugins.reduce((sum, plugin) => sum + plugin.ms, 0);
  const names = ownPlugins.map(({ name }) => name).join(", ");
  return [
    ...lines,
    ...wrapped(`zz's own, ${ownPlugins.length} in ${ms.toFixed(1)} ms: ${names}.`, room),
    ...wrapped("/plugins NAME shows what one adds; /plugins off NAME leaves it out.", room),
  ].join("\n");
}
/** Why it failed, without its name and file, which are in the row above. */
const whyOf = ({ name, file, outdated = "", failure = outdated }: Plugin): string => {
  const [, line, problem] =
    /^:?(\d*)\)?: (.*)$/s.exec(failure.split(`Cannot load plugin '${name}' (${file}`)[1] ?? "") ??
    [];
  return problem ? `${line ? `line ${line}: ` : ""}${problem}` : failure;
};
/** What a plugin adds, such as `tool lamp; command /lamp, /lamps`. */
const added = ({ adds }: Plugin): string =>
  [...Map.groupBy(adds, ({ kind: additionKind }) => additionKind)]
    .map(
      ([additionKind, additions]) =>
        `${additionKind} ${[...new Set(additions.map(({ name }) => (additionKind === "command" ? `/${name}` : name)))].join(", ")}`,
    )
    .join("; ");
export function plugin(name: string, { plugins }: About, room: number): string {
  const matches = plugins.filter((plugin) => plugin.name === name);
  if (!matches.length) return `There is no plugin '${name}'. /plugins lists them.`;
  return matches
    .flatMap((plugin) => [
      ...wrapped(
        `${name}: from ${plugin.from}, ${stateOf(plugin, "failed")}; ${plugin.file}`,
        room,
      ),
      ...wrapped(plugin.failure ?? plugin.outdated ?? "", room).filter(Boolean),
      ...added(plugin)
        .split("; ")
        .flatMap((line) => wrapped(line, room - 2).map((line) => `  ${line}`)),
    ])
    .join("\n");
}
export const choices = (typed: string, { plugins }: About): Choice[] => {
  const [, verb = ""] = /^(on|off|enable|disable)\s/.exec(typed) ?? [];
  const fits = ({ disabled }: Plugin) => !verb || Boolean(disabled) === isOn(verb);
  const names = plugins
    .filter(fits)
    .map(({ name, from }) => ({ name: verb ? `${verb} ${name}` : name, description: from }));
  return [...(verb ? [] : [{ name: "on" }, { name: "off" }]), ...names].filter(({ name }) =>
    name.startsWith(typed),
  );
};
export const isOn = (verb: string): boolean => /^(on|enable)$/.test(verb);
/** Switches a plugin on or off in the settings, so that it lasts. */
export async function switchPlugin(
  name: string,
  on: boolean,
  { about, settings, plugins, note }: Ctx,
): Promise<void> {
  // one that replaces zz's comes after it
  const present = about.plugins.findLast((plugin) => plugin.name === name);
  if (!present) return note(`There is no plugin '${name}'. /plugins lists them.`);
  if (Boolean(present.disabled) !== on) return note(`'${name}' is ${on ? "on" : "off"} already.`);
  const settingOf = (wanted: string) => settings.list().find((row) => row.name === wanted)?.value;
  const { off = [] } = (settingOf("plugins") ?? {}) as { off?: string[] };
  const oldNames = settingOf("disabled") as string[] | undefined;
  const remaining = [...off, ...(oldNames ?? [])].filter((offName) => offName !== name);
  const names = on ? remaining : [...remaining, name];
  if (oldNames) await settings.set("disabled", undefined);
  await settings.set("plugins", names.length ? { off: names } : undefined);
  noteReloads(await plugins.refresh(), note);
}
