// /config: the settings, what they are, what they are for and who set them; set, and taken back; their schema for editors.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Setting, Zz } from "zz";

const SECRET = /(key|secret|password|passphrase|token|credential)$/i;
const HIDDEN = "(set, not shown)";
const FILE = "zz.config.json";
const SCHEMA = "./zz.config.schema.json"; // the kernel writes it beside settings that name it

export default (zz: Zz) => {
  zz.flag({
    name: "config-schema",
    description: "print the JSON Schema of the settings, for editors",
    run: (_, { settings }) => ({ text: JSON.stringify(settings.schema(), null, 2), data: settings.schema() }),
  });
  zz.command({
    name: "config",
    usage: "[NAME [VALUE]]",
    description: "the settings: show, set, take back (--reset); schema: for editors",
    group: "settings",
    complete,
    async run(rest, ctx) {
      const [, name = "", value = ""] = /^(\S*)\s*(.*)$/s.exec(rest) ?? [];
      if (!name) return ctx.note(table(ctx.settings.list()));
      if (name === "schema" && !value) return schema(ctx);
      if (name === "unset") return set(ctx, value.trim(), undefined);
      if (value === "--reset") return set(ctx, name, undefined);
      if (value) return set(ctx, name, meant(value, find(ctx, name)));
      ctx.note(one(ctx, name));
    },
  });
};

const roomOf = (): number => (process.stderr.columns ?? 80) - 1;
const isChanged = ({ value, default: before }: Setting): boolean =>
  value !== undefined && JSON.stringify(value) !== (JSON.stringify(before) ?? "{}");
const oneOf = (values: unknown[]): string => values.map((one) => JSON.stringify(one)).join(", ");
const find = ({ settings }: Ctx, name: string) => settings.list().find((setting) => setting.name === name);

/** What is secret is never shown, wherever in a value it stands. */
export function shown(name: string, value: unknown): string {
  return value === undefined ? "not set" : JSON.stringify(veiled(name, value));
}
function veiled(name: string, value: unknown): unknown {
  if (value && typeof value === "object" && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, veiled(key, inner)]));
  return typeof value === "string" && value && SECRET.test(name) ? HIDDEN : value;
}

function table(settings: Setting[]): string {
  const room = roomOf();
  const rows = settings.map((setting) => {
    const { name, value, about = "" } = setting;
    return [`${signOf(setting)} ${name}`, shown(name, value), about] as const;
  });
  const first = Math.min(Math.max(...rows.map(([name]) => name.length)), Math.floor(room * 0.55));
  const second = Math.min(Math.max(...rows.map(([, value]) => value.length)), room < 60 ? room - first - 2 : 22);
  const lines = rows.map(([name, value, about]) =>
    cut(
      `${cut(name, first).padEnd(first)}  ${cut(value, second).padEnd(second)}  ${room < 60 ? "" : about}`.trimEnd(),
      room,
    ),
  );
  const theirs = settings.some((setting) => signOf(setting) === "+") ? ", + changed by the project" : "";
  return [...lines, `* changed${theirs}; /config NAME tells of one.`].join("\n");
}

const signOf = (setting: Setting): string => (setting.from?.includes("project") ? "+" : isChanged(setting) ? "*" : " ");

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Also what lies within one: providers.openai.url. */
function one(ctx: Ctx, name: string): string {
  const setting = find(ctx, name);
  if (setting) {
    const { about, owner, value, values, from } = setting;
    const among = values ? `\none of: ${oneOf(values)}` : "";
    const before = setting.default === undefined ? "" : `\nby itself: ${shown(name, setting.default)}`;
    const by = from ? `; set in ${from.map((whose) => FROM[whose]).join(" and ")}` : "";
    return `${name} = ${shown(name, value)}${about ? `\n${about}` : ""}${among}${before}\nof ${owner}${by}`;
  }
  const [section = "", ...keys] = name.split(".");
  const whole = keys.length ? find(ctx, section)?.value : undefined;
  const inner = keys.reduce((value: any, key) => value?.[key], whole);
  if (inner !== undefined) return `${name} = ${shown(keys.at(-1)!, inner)}`;
  const names = ctx.settings.list().map((setting) => setting.name);
  const near = names.filter((known) => known.includes(name) || name.includes(known));
  throw new Error(
    `Cannot show '${name}': there is no such setting. ${near.length ? `There are: ${near.join(", ")}.` : "/config lists them."}`,
  );
}

const FROM = { home: "your own settings", project: `the project's .zz/${FILE}` };

/** JSON where it is JSON, unless the setting is a text. */
function meant(text: string, setting: Setting | undefined): unknown {
  const isText = typeof (setting?.default ?? setting?.value) === "string" || setting?.name === "model";
  if (isText && !text.startsWith('"')) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function set(ctx: Ctx, name: string, value: unknown): Promise<void> {
  if (!name) throw new Error("Cannot take back nothing: give a name, /config unset NAME.");
  const before = find(ctx, name);
  const file = path.join(ctx.about.home, FILE);
  const isFirst = !fs.existsSync(file);
  await ctx.settings.set(name, value);
  if (isFirst && fs.existsSync(file)) await ctx.settings.set("$schema", SCHEMA);
  const last = name.split(".").at(-1)!;
  if (before?.from?.includes("project"))
    return ctx.note(`Kept in your own settings: ${name} is ${value === undefined ? "not set" : shown(last, value)}.`);
  const now = value === undefined ? find(ctx, name)?.value : value;
  const was =
    before && JSON.stringify(before.value) !== JSON.stringify(now) ? ` (was ${shown(last, before.value)})` : "";
  ctx.note(`${name} is ${now === undefined ? "not set" : shown(last, now)} now${was}.`);
}

async function schema(ctx: Ctx): Promise<void> {
  await ctx.settings.set("$schema", SCHEMA);
  ctx.note(`Wrote ${path.basename(SCHEMA)} beside your settings, which name it: an editor knows what may be set.`);
}

function complete(typed: string, ctx: Ctx): Choice[] {
  const [, name = "", given] = /^(\S*)(?:\s+(.*))?$/s.exec(typed) ?? [];
  if (given === undefined)
    return ctx.settings
      .list()
      .filter((setting) => setting.name.toLowerCase().includes(name.toLowerCase()))
      .map((setting) => ({ name: setting.name, description: setting.about ?? shown(setting.name, setting.value) }));
  const setting = find(ctx, name);
  const values = setting ? valuesFor(setting) : [];
  return values.filter((value) => value.startsWith(given)).map((value) => ({ name: `${name} ${value}` }));
}

function valuesFor(setting: Setting): string[] {
  const { value, default: before } = setting;
  const isSwitch = typeof (before ?? value) === "boolean";
  const values = (setting.values ?? (isSwitch ? [true, false] : [])).map(String);
  return isChanged(setting) ? [...values, "--reset"] : values;
}
