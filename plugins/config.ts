// /config: shows the settings and who set them, sets and resets them; --config-schema and /config
// schema: for editors.
import fs from "node:fs";
import path from "node:path";
import type { Choice, Ctx, Setting, Zz } from "zz";
import { clip, jsonOrText, terminalColumns, width, wrap } from "zz/text";

const SETTINGS_FILE = "zz.config.json";
const SCHEMA_FILE = "./zz.config.schema.json"; // the kernel writes it next to settings that name it

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
      const [, settingName = "", typedValue = ""] = /^(\S*)\s*(.*)$/s.exec(argument) ?? [];
      if (!settingName) return ctx.note(formatTable(ctx.settings.list(), ctx));
      if (settingName === "schema" && !typedValue) return schema(ctx);
      if (settingName === "unset") return changeSetting(ctx, typedValue.trim(), undefined);
      if (typedValue === "--reset") return changeSetting(ctx, settingName, undefined);
      if (typedValue)
        return changeSetting(
          ctx,
          settingName,
          parseValue(typedValue, findSetting(ctx, settingName)),
        );
      ctx.note(describeSetting(ctx, settingName));
    },
  });
};

const isChanged = ({ value, default: defaultValue }: Setting): boolean =>
  value !== undefined && JSON.stringify(value) !== (JSON.stringify(defaultValue) ?? "{}");
const listValues = (allowedValues: unknown[]): string =>
  allowedValues.map((allowedValue) => JSON.stringify(allowedValue)).join(", ");
const findSetting = ({ settings }: Ctx, settingName: string) =>
  settings.list().find((setting) => setting.name === settingName);

/** A secret value is an object whose JSON does not contain it. */
export const shown = (value: unknown): string =>
  value === undefined ? "not set" : JSON.stringify(value);

/** A value, or what applies as long as nobody sets one. */
const inForce = ({ value, default: otherwise }: Setting): string =>
  value === undefined && otherwise !== undefined ? `not set (${shown(otherwise)})` : shown(value);

/** Each setting with its value, who set it, and under it the whole sentence of what it is. */
function formatTable(settings: Setting[], { io }: Ctx): string {
  const tableWidth = terminalColumns(io) - 1;
  const settingNames = new Set(settings.map(({ name }) => name));
  // its section has a row
  const isSectionPart = ({ name }: Setting) =>
    name.includes(".") && settingNames.has(name.split(".")[0]!);
  const settingRows = settings
    .filter((setting) => !isSectionPart(setting))
    .flatMap((setting) => {
      const { name, about = "" } = setting;
      const assignment = `${name} = ${inForce(setting)}`;
      const originNote = ` (${describeOrigin(setting)})`;
      return [
        clip(assignment, Math.max(tableWidth - originNote.length, width(name) + 6)) + originNote,
        ...wrap(sentence(about), Math.max(tableWidth - 4, 10)).map(
          (aboutLine) => `    ${aboutLine}`,
        ),
      ];
    });
  const legendText = "/config NAME shows one, /config NAME VALUE sets it, /config WORD finds some.";
  return [...settingRows, ...wrap(legendText, tableWidth)].join("\n");
}

const sentence = (aboutText: string): string =>
  aboutText &&
  `${aboutText.charAt(0).toUpperCase()}${aboutText.slice(1)}${/[.?!]$/.test(aboutText) ? "" : "."}`;
const describeOrigin = (setting: Setting): string =>
  describeFiles(setting) ||
  (isChanged(setting) ? "set by a flag or the environment" : "by default");
const describeFiles = ({ from }: Setting): string =>
  from ? `set in ${from.map((settingSource) => SOURCE_WORDS[settingSource]).join(" and ")}` : "";

/** One setting, or a part of one: providers.openai.url. */
function describeSetting(ctx: Ctx, settingName: string): string {
  const setting = findSetting(ctx, settingName);
  if (setting) {
    const { about, owner, values } = setting;
    const allowedWords = values ? `\none of: ${listValues(values)}` : "";
    const defaultWords =
      setting.default === undefined ? "" : `\ndefault: ${shown(setting.default)}`;
    const ownerWords = owner === "zz" ? "a setting of zz itself" : `plugin: ${owner}`;
    return (
      `${settingName} = ` +
      `${inForce(setting)}${about ? `\n${about}` : ""}${allowedWords}${defaultWords}\n` +
      [ownerWords, describeFiles(setting)].filter(Boolean).join("; ")
    );
  }
  const inner = findWithin(ctx, settingName);
  if (inner !== undefined) return `${settingName} = ${shown(inner)}`;
  const allSettings = ctx.settings.list();
  const searchWords = settingName.toLowerCase();
  const matchingSettings = allSettings.filter(({ name, about }) =>
    `${name} ${about}`.toLowerCase().includes(searchWords),
  );
  if (matchingSettings.length) return formatTable(matchingSettings, ctx);
  const nearNames = allSettings
    .map(({ name }) => name)
    .filter((candidate) => settingName.includes(candidate));
  throw new Error(
    `Cannot show '${settingName}': no such setting. ` +
      `${nearNames.length ? `There are: ${nearNames.join(", ")}.` : "/config lists them."}`,
  );
}

function findWithin(ctx: Ctx, settingPath: string): unknown {
  const [section = "", ...innerKeys] = settingPath.split(".");
  return innerKeys.length
    ? innerKeys.reduce(
        (outerValue: any, innerKey) => outerValue?.[innerKey],
        findSetting(ctx, section)?.value,
      )
    : undefined;
}

const SOURCE_WORDS = {
  team: "your team's, in the store",
  home: "your own settings",
  project: `the project's .zz/${SETTINGS_FILE}`,
};

/** Parsed as JSON if possible, unless the setting is a text. */
function parseValue(typedText: string, setting: Setting | undefined): unknown {
  const isTextSetting =
    typeof (setting?.default ?? setting?.value) === "string" || setting?.name === "model";
  return isTextSetting && !typedText.startsWith('"') ? typedText : jsonOrText(typedText);
}

async function changeSetting(ctx: Ctx, settingName: string, newValue: unknown): Promise<void> {
  if (!settingName) throw new Error("Cannot reset nothing: give a name, /config NAME --reset.");
  const previousSetting = findSetting(ctx, settingName);
  const settingsFile = path.join(ctx.about.home, SETTINGS_FILE);
  const isFirst = !fs.existsSync(settingsFile);
  await ctx.settings.set(settingName, newValue);
  if (isFirst && fs.existsSync(settingsFile)) await ctx.settings.set("$schema", SCHEMA_FILE);
  const current = findSetting(ctx, settingName)?.value ?? findWithin(ctx, settingName);
  if (previousSetting?.from?.includes("project"))
    return ctx.note(
      "Saved in your own settings: " +
        `${settingName} is ${shown(isSecret(current) ? current : newValue)}.`,
    ); // the new one may be a secret too
  const previousWords =
    previousSetting && shown(previousSetting.value) !== shown(current)
      ? ` (was ${shown(previousSetting.value)})`
      : "";
  ctx.note(`${settingName} is ${shown(current)} now${previousWords}.`);
}

/** A secret value's JSON is not its value. */
const isSecret = (value: unknown): boolean => typeof Object(value).toJSON === "function";

async function schema(ctx: Ctx): Promise<void> {
  await ctx.settings.set("$schema", SCHEMA_FILE);
  ctx.note(
    `Wrote ${path.basename(SCHEMA_FILE)} beside your settings, which name it: ` +
      "editors complete settings from it.",
  );
}

function complete(typedText: string, ctx: Ctx): Choice[] {
  const [, settingName = "", typedValue] = /^(\S*)(?:\s+(.*))?$/s.exec(typedText) ?? [];
  if (typedValue === undefined)
    return ctx.settings
      .list()
      .filter((setting) => setting.name.toLowerCase().includes(settingName.toLowerCase()))
      .map((setting) => ({
        name: setting.name,
        description: setting.about ?? shown(setting.value),
      }));
  const setting = findSetting(ctx, settingName);
  const possibleValues = setting ? valuesFor(setting) : [];
  return possibleValues
    .filter((possibleValue) => possibleValue.startsWith(typedValue))
    .map((possibleValue) => ({ name: `${settingName} ${possibleValue}` }));
}

function valuesFor(setting: Setting): string[] {
  const { value, default: defaultValue } = setting;
  const isSwitch = typeof (defaultValue ?? value) === "boolean";
  const possibleValues = (setting.values ?? (isSwitch ? [true, false] : [])).map(String);
  return isChanged(setting) ? [...possibleValues, "--reset"] : possibleValues;
}
