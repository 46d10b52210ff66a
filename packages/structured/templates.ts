// Templates: what -t puts on the command line, and the file that --save writes.
import fs from "node:fs";
import path from "node:path";
import type { Command, Ctx, Result, Typed } from "zz";
import {
  errnoSentence,
  fault,
  jsonOrText,
  makeFolder,
  oneLine,
  textOf,
  tryTo,
  usage,
  writeWhole,
} from "zz/text";
import type { Wanted } from "./index.ts";
import { type JsonSchema, readSchema, shortForm } from "./schema.ts";

const IDENTIFIER = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const SAVED = "saved: by --save";
/**
 * The flags that a template keeps, and those that concern this run alone, so that their loss is not
 * reported.
 */
const KEPT = [
  "model",
  "system",
  "option",
  "schema",
  "extract",
  "xl",
  "extract-last",
  "tool",
  "no-tools",
];
const OF_THIS_RUN = [
  "save",
  "home",
  "config",
  "cwd",
  "json",
  "json-lines",
  "quiet",
  "no-color",
  "once",
  "no-session",
  "no-plugins",
  "plugin",
];

/**
 * What -t stands for on the command line: flags such as --model, then the template's command if it
 * has words.
 */
export async function lineOf(
  { name, head, fill }: NonNullable<Wanted["template"]>,
  wanted: Wanted,
): Promise<string[]> {
  if (head.schema && !wanted.schema && !wanted.extract)
    wanted.schema = await inlineSchema(head.schema);
  else if (/^(first|last)$/.test(head.extract ?? "") && !wanted.schema)
    wanted.extract ??= head.extract as "first" | "last";
  const options = head.options ? (tryTo(() => JSON.parse(head.options!)) as unknown) : {};
  if (typeof options !== "object" || !options || Array.isArray(options))
    throw usage(
      `Cannot use the template '${name}': its 'options' are not a JSON object. Write {"temperature": 0}.`,
    );
  const { system, model, tools = "" } = head;
  const words = tools
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
  return [
    ...(model ? [`--model=${model}`] : []),
    ...(system ? [`--system=${jsonOrText(system)}`] : []),
    ...Object.entries(options).map(([key, value]) => `--option=${key}=${JSON.stringify(value)}`),
    ...words.map((word) => (word === "none" ? "--no-tools" : `--tool=${word}`)),
    ...(tryTo(() => fill("")) === "" ? [] : [`/${name}`]),
  ];
}

/** Runs --save NAME [WORDS]. */
export async function save(
  name: string,
  { about }: Ctx,
  { words, values }: Typed,
  wanted: Wanted,
): Promise<Result> {
  const refused = `Cannot save the template '${name}'`;
  if (!IDENTIFIER.test(name))
    throw usage(`${refused}: a name has letters, digits, _ and -, and begins with a letter.`);
  if (values.has("template"))
    throw usage(`${refused}: -t is a template already. Say its words and flags again, without -t.`);
  const file = path.join(about.home, "prompts", `${name}.md`);
  const isOwn = textOf(file).includes(`\n${SAVED}\n`);
  const existing: Pick<Command, "name"> | undefined = about.commands.find(
    (command) => command.name === name,
  );
  if ((existing || fs.existsSync(file)) && !isOwn)
    throw usage(
      `${refused}: '${existing ? `/${name}` : file}' is there already. Choose another name.`,
    );
  const body = words
    .filter((word) => word !== "-")
    .join(" ")
    .trim();
  const head = await headOf(values, wanted);
  if (!body && !head.length)
    throw usage(
      `${refused}: there is nothing to keep. Add words, or flags such as --system and --schema.`,
    );
  const description =
    oneLine(body).slice(0, 60).trim() || `as it was saved: ${head.map(([key]) => key).join(", ")}`;
  const lines = [
    `description: ${description}`,
    SAVED,
    ...head.map(([key, value]) => `${key}: ${value}`),
  ];
  try {
    makeFolder(path.dirname(file));
    writeWhole(file, `---\n${lines.join("\n")}\n---\n${body}\n`, 0o600);
  } catch (error) {
    throw fault(`${refused}: ${errnoSentence(error) || (error as Error).message}`);
  }
  const notKept = [...values.keys()].filter(
    (flag) => !KEPT.includes(flag) && !OF_THIS_RUN.includes(flag),
  );
  const note = notKept.length ? ` Not kept: ${notKept.map((flag) => `--${flag}`).join(", ")}.` : "";
  return {
    text: `Saved as ${file}. zz -t ${name} asks with it.${note}`,
    data: { name, file, left: notKept },
  };
}

/** The template's front matter: a row for each flag that is kept. */
async function headOf(
  values: Typed["values"],
  { schema, extract }: Wanted,
): Promise<[key: string, value: string][]> {
  const texts = (name: string) => (values.get(name) ?? []).filter((value) => value !== true);
  const options = texts("option").map((pair) => [
    pair.slice(0, pair.indexOf("=")),
    jsonOrText(pair.slice(pair.indexOf("=") + 1)),
  ]);
  const [model, system, schemaText] = [
    texts("model").at(-1),
    texts("system").at(-1),
    texts("schema").at(-1),
  ];
  const tools = values.has("no-tools") ? "none" : texts("tool").join(", ");
  const rows: [string, string | undefined][] = [
    ["model", model],
    ["system", system && JSON.stringify(system)],
    ["schema", schema && (await schemaRow(schema, schemaText ?? ""))],
    ["extract", extract],
    ["options", options.length ? JSON.stringify(Object.fromEntries(options)) : undefined],
    ["tools", tools],
  ];
  return rows.filter((row): row is [string, string] => Boolean(row[1]));
}

/**
 * The schema as the person wrote it, if that was one line; the schema itself if they named a file.
 */
async function schemaRow(schema: JsonSchema, schemaText: string): Promise<string> {
  const again = schemaText.includes("\n")
    ? undefined
    : await inlineSchema(schemaText).catch(() => undefined);
  return JSON.stringify(again) === JSON.stringify(schema)
    ? schemaText.trim()
    : JSON.stringify(schema);
}

/** Reads a schema, but never from a file, since the template may come from a project. */
const inlineSchema = async (text: string): Promise<JsonSchema> =>
  text.trim().startsWith("{") ? readSchema(text, "/") : shortForm(text);
