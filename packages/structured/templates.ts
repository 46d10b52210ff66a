// Templates: what -t puts on the command line, and the file that --save writes.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result, Typed } from "zz";
import {
  errnoSentence,
  fault,
  isObject,
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
const SAVED_MARK = "saved: by --save";
/**
 * The flags that a template keeps, and those that concern this run alone, so that their loss is not
 * reported.
 */
const KEPT_FLAGS = [
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
export async function expandTemplate(
  { name, head, fill }: NonNullable<Wanted["template"]>,
  wanted: Wanted,
): Promise<string[]> {
  if (head.schema && !wanted.schema && !wanted.extract)
    wanted.schema = await inlineSchema(head.schema);
  else if (/^(first|last)$/.test(head.extract ?? "") && !wanted.schema)
    wanted.extract ??= head.extract as "first" | "last";
  const options: unknown = head.options ? tryTo(() => JSON.parse(head.options!)) : {};
  if (!isObject(options))
    throw usage(
      `Cannot use the template '${name}': its 'options' are not a JSON object. ` +
        'Write {"temperature": 0}.',
    );
  const { system, model, tools = "" } = head;
  const toolWords = tools
    .split(",")
    .map((toolWord) => toolWord.trim())
    .filter(Boolean);
  return [
    ...(model ? [`--model=${model}`] : []),
    ...(system ? [`--system=${jsonOrText(system)}`] : []),
    ...Object.entries(options).map(
      ([optionName, optionValue]) => `--option=${optionName}=${JSON.stringify(optionValue)}`,
    ),
    ...toolWords.map((toolWord) => (toolWord === "none" ? "--no-tools" : `--tool=${toolWord}`)),
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
  const wasSavedHere = textOf(file).includes(`\n${SAVED_MARK}\n`);
  const isCommand = about.commands.some((command) => command.name === name);
  if ((isCommand || fs.existsSync(file)) && !wasSavedHere)
    throw usage(
      `${refused}: '${isCommand ? `/${name}` : file}' is there already. Choose another name.`,
    );
  const templateBody = words
    .filter((typedWord) => typedWord !== "-")
    .join(" ")
    .trim();
  const headRows = await buildHead(values, wanted);
  if (!templateBody && !headRows.length)
    throw usage(
      `${refused}: there is nothing to keep. Add words, or flags such as --system and --schema.`,
    );
  const description =
    oneLine(templateBody).slice(0, 60).trim() ||
    `as it was saved: ${headRows.map(([rowKey]) => rowKey).join(", ")}`;
  const headLines = [
    `description: ${description}`,
    SAVED_MARK,
    ...headRows.map(([rowKey, rowValue]) => `${rowKey}: ${rowValue}`),
  ];
  try {
    makeFolder(path.dirname(file));
    writeWhole(file, `---\n${headLines.join("\n")}\n---\n${templateBody}\n`, 0o600);
  } catch (error) {
    throw fault(`${refused}: ${errnoSentence(error) || (error as Error).message}`);
  }
  const notKept = [...values.keys()].filter(
    (flagName) => !KEPT_FLAGS.includes(flagName) && !OF_THIS_RUN.includes(flagName),
  );
  const lossNote = notKept.length
    ? ` Not kept: ${notKept.map((flagName) => `--${flagName}`).join(", ")}.`
    : "";
  return {
    text: `Saved as ${file}. zz -t ${name} asks with it.${lossNote}`,
    data: { name, file, left: notKept },
  };
}

/** The template's front matter: a row for each flag that is kept. */
async function buildHead(
  flagValues: Typed["values"],
  { schema, extract }: Wanted,
): Promise<[key: string, value: string][]> {
  const readTexts = (flagName: string) =>
    (flagValues.get(flagName) ?? []).filter((flagValue) => flagValue !== true);
  const options = readTexts("option").map((optionPair) => [
    optionPair.slice(0, optionPair.indexOf("=")),
    jsonOrText(optionPair.slice(optionPair.indexOf("=") + 1)),
  ]);
  const systemText = readTexts("system").at(-1);
  const toolNames = flagValues.has("no-tools") ? "none" : readTexts("tool").join(", ");
  const headRows: [string, string | undefined][] = [
    ["model", readTexts("model").at(-1)],
    ["system", systemText && JSON.stringify(systemText)],
    ["schema", schema && (await schemaRow(schema, readTexts("schema").at(-1) ?? ""))],
    ["extract", extract],
    ["options", options.length ? JSON.stringify(Object.fromEntries(options)) : undefined],
    ["tools", toolNames],
  ];
  return headRows.filter((headRow): headRow is [string, string] => Boolean(headRow[1]));
}

/**
 * The schema as the person wrote it, if that was one line; the schema itself if they named a file.
 */
async function schemaRow(schema: JsonSchema, schemaText: string): Promise<string> {
  const rereadSchema = schemaText.includes("\n")
    ? undefined
    : await inlineSchema(schemaText).catch(() => undefined);
  return JSON.stringify(rereadSchema) === JSON.stringify(schema)
    ? schemaText.trim()
    : JSON.stringify(schema);
}

/** Reads a schema, but never from a file, since the template may come from a project. */
const inlineSchema = async (schemaText: string): Promise<JsonSchema> =>
  schemaText.trim().startsWith("{") ? readSchema(schemaText, "/") : shortForm(schemaText);
