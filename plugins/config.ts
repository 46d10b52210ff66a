// /config: shows the settings and who set them, sets and resets them; --config-schema and /config
// schema: for editors.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Setting, Zz } from "zz";
import { clip, jsonOrText, terminalColumns, width, wrap } from "zz/text";

const FILE = "zz.config.json";
const SCHEMA = "./zz.config.schema.json"; // the kernel writes it next to settings that name it

export default (zz: Zz) => {
  zz.flag({
    name: "config-schema",
    group: "folders and settings",
    description: "print the JSON Schema of the settings, for editors",
    run: (_, { settings }) => ({
      text: JSON.stringify(settings.schema(), null, 2),
      data: settings.schema(),
    }),
  });
  zz.command({
    name: "config",
    usage: "[NAME [VALUE | --reset] | schema]",
    description: "show the settings, set one, or take it back",
    examples: {
      "/config": "list the settings and who set each",
      "/config display.theme": "show one",
      "/config display.theme light": "set one",
      "/config display.theme --reset": "go back to its default",
      "/config schema": "write a schema for your editor",
    },
    group: "settings",
    complete,
    async run(argument, ctx) {
      const [, name = "", value = ""] = /^(\S*)\s*(.*)$/s.exec(argument) ?? [];
      if (!name) return ctx.note(table(ctx.settings.list(), terminalColumns(ctx.io) - 1));
      if (name === "schema" && !value) return schema(ctx);
      if (name === "unset") return set(ctx, value.trim(), undefined);
      if (value === "--reset") return set(ctx, name, undefined);
      if (value) return set(ctx, name, parseValue(value, find(ctx, name)));
      ctx.note(describeSetting(ctx, name));
    },
  });
};

const isChanged = ({ value, default: before }: Setting): boolean =>
  value !== undefined && JSON.stringify(value) !== (JSON.stringify(before) ?? "{}");
const oneOf = (values: unknown[]): string =>
  values.map((value) => JSON.stringify(value)).join(", ");
const find = ({ settings }: Ctx, name: string) =>
  settings.list().find((setting) => setting.name === name);

/** A secret value is an object whose JSON does not contain it. */
export const shown = (value: unknown): string =>
  value === undefined ? "not set" : JSON.stringify(value);

/** A value, or what applies as long as nobody sets one. */
const inForce = ({ value, default: otherwise }: Setting): string =>
  value === undefined && otherwise !== undefined ? `not set (${shown(otherwise)})` : shown(value);

/** Each setting with its value, who set it, and under it the whole sentence of what it is. */
function table(settings: Setting[], room: number): string {
  const names = new Set(settings.map(({ name }) => name));
  // its section has a row
  const isPart = ({ name }: Setting) => name.includes(".") && names.has(name.split(".")[0]!);
  const rows = settings
    .filter((setting) => !isPart(setting))
    .flatMap((setting) => {
      const { name, about = "" } = setting;
      const head = `${name} = ${inForce(setting)}`;
      const end = ` (${whoSet(setting)})`;
      const first = `${clip(head, Math.max(room - end.length, width(name) + 6))}${end}`;
      return [first, ...wrap(sentence(about), Math.max(room - 4, 10)).map((line) => `    ${line}`)];
    });
  const legend = "/config NAME shows one, /config NAME VALUE sets it, /config WORD finds some.";
  return [...rows, ...wrap(legend, room)].join("\n");
}

const sentence = (about: string): string =>
  about && `${about.charAt(0).toUpperCase()}${about.slice(1)}${/[.?!]$/.test(about) ? "" : "."}`;
const whoSet = ({ from, ...setting }: Setting): string => {
  if (from) return `set in ${from.map((whose) => FROM[whose]).join(" and ")}`;
  return isChanged(setting) ? "set by a flag or the environment" : "by default";
};

/** One setting, or a part of one: providers.openai.url. */
function describeSetting(ctx: Ctx, name: string): string {
  const setting = find(ctx, name);
  if (setting) {
    const { about, owner, values, from } = setting;
    const among = values ? `\none of: ${oneOf(values)}` : "";
    const before = setting.default === undefined ? "" : `\ndefault: ${shown(setting.default)}`;
    const by = from ? `; set in ${from.map((whose) => FROM[whose]).join(" and ")}` : "";
    return `${name} = ${inForce(setting)}${about ? `\n${about}` : ""}${among}${before}\n${owner === "zz" ? "a setting of zz itself" : `plugin: ${owner}`}${by}`;
  }
  const inner = within(ctx, name);
  if (inner !== undefined) return `${name} = ${shown(inner)}`;
  const names = ctx.settings.list().map((setting) => setting.name);
  const near = names.filter((candidate) => candidate.includes(name) || name.includes(candidate));
  const words = name.toLowerCase();
  const about = ctx.settings
    .list()
    .filter((setting) => `${setting.name} ${setting.about}`.toLowerCase().includes(words));
  if (about.length) return table(about, terminalColumns(ctx.io) - 1);
  throw new Error(
    `Cannot show '${name}': no such setting. ${near.length ? `There are: ${near.join(", ")}.` : "/config lists them."}`,
  );
}

function within(ctx: Ctx, name: string): unknown {
  const [section = "", ...keys] = name.split(".");
  return keys.length
    ? keys.reduce((value: any, key) => value?.[key], find(ctx, section)?.value)
    : undefined;
}

const FROM = {
  team: "your team's, in the store",
  home: "your own settings",
  project: `the project's .zz/${FILE}`,
};

/** Parsed as JSON if possible, unless the setting is a text. */
function parseValue(text: string, setting: Setting | undefined): unknown {
  const isText =
    typeof (setting?.default ?? setting?.value) === "string" || setting?.name === "model";
  return isText && !text.startsWith('"') ? text : jsonOrText(text);
}

async function set(ctx: Ctx, name: string, value: unknown): Promise<void> {
  if (!name) throw new Error("Cannot reset nothing: give a name, /config NAME --reset.");
  const before = find(ctx, name);
  const file = path.join(ctx.about.home, FILE);
  const isFirst = !fs.existsSync(file);
  await ctx.settings.set(name, value);
  if (isFirst && fs.existsSync(file)) await ctx.settings.set("$schema", SCHEMA);
  const current = find(ctx, name)?.value ?? within(ctx, name);
  if (before?.from?.includes("project"))
    return ctx.note(
      `Saved in your own settings: ${name} is ${shown(isSecret(current) ? current : value)}.`,
    ); // the new one may be a secret too
  const was =
    before && shown(before.value) !== shown(current) ? ` (was ${shown(before.value)})` : "";
  ctx.note(`${name} is ${shown(current)} now${was}.`);
}

/** A secret value's JSON is not its value. */
const isSecret = (value: unknown): boolean =>
  Object(value) === value && typeof Object(value).toJSON === "function";

async function schema(ctx: Ctx): Promise<void> {
  await ctx.settings.set("$schema", SCHEMA);
  ctx.note(
    `Wrote ${path.basename(SCHEMA)} beside your settings, which name it: editors complete settings from it.`,
  );
}

function complete(typed: string, ctx: Ctx): Choice[] {
  const [, name = "", typedValue] = /^(\S*)(?:\s+(.*))?$/s.exec(typed) ?? [];
  if (typedValue === undefined)
    return ctx.settings
      .list()
      .filter((setting) => setting.name.toLowerCase().includes(name.toLowerCase()))
      .map((setting) => ({
        name: setting.name,
        description: setting.about ?? shown(setting.value),
      }));
  const setting = find(ctx, name);
  const values = setting ? valuesFor(setting) : [];
  return values
    .filter((value) => value.startsWith(typedValue))
    .map((value) => ({ name: `${name} ${value}` }));
}

function valuesFor(setting: Setting): string[] {
  const { value, default: before } = setting;
  const isSwitch = typeof (before ?? value) === "boolean";
  const values = (setting.values ?? (isSwitch ? [true, false] : [])).map(String);
  return isChanged(setting) ? [...values, "--reset"] : values;
}
