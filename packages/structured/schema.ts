// Reads what --schema is given: a file with a JSON Schema, the schema itself, or its short form.
// Refuses what is not a schema, or what no answer can fit, before the model is asked.
import fs from "node:fs";
import path from "node:path";
import { codeOf, errnoSentence, shortSchema, tryTo, usage, wrongInSchema } from "zz/text";

export type JsonSchema = Record<string, unknown>;

const MAX_FILE_BYTES = 1024 * 1024;

/** The schema that a text names as a file, contains as JSON, or describes in the short form. */
export async function readSchema(typed: string, folder: string): Promise<JsonSchema> {
  const text = typed.trim();
  if (!text)
    throw usage(
      "Flag --schema has an empty value. Give it a file, a JSON Schema, or names: 'name, age int'.",
    );
  if (text.startsWith("{"))
    return checked(parsed(text, "Cannot use --schema"), "Cannot use --schema");
  const file = fileNamed(text, folder);
  if (!file) return shortForm(text);
  const refused = `Cannot use --schema '${text}'`;
  return checked(parsed(contents(file, refused), refused), refused);
}

/**
 * The file that a text names, if any: it needs a dot or slash and no comma, and must exist or not
 * look like fields.
 */
function fileNamed(text: string, folder: string): string | undefined {
  if (!/[./\\]/.test(text) || /[\n,]/.test(text)) return undefined;
  const file = path.resolve(folder, text);
  return /\.json$/i.test(text) || /^[^\s:(]+$/.test(text) || fs.existsSync(file) ? file : undefined;
}

function contents(file: string, refused: string): string {
  try {
    const { size } = fs.statSync(file);
    if (size > MAX_FILE_BYTES)
      throw usage(`${refused}: it is larger than 1 MB. Name a file with a JSON Schema.`);
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw usage(`${refused}: no such file. Check the path.`);
    throw codeOf(error)
      ? usage(`${refused}: ${errnoSentence(error) || (error as Error).message}`)
      : error;
  }
}

function parsed(text: string, refused: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw usage(
      `${refused}: it is not JSON (${(error as Error).message}). Write a JSON Schema, or names: 'name, age int'.`,
    );
  }
}

async function checked(schema: unknown, refused: string): Promise<JsonSchema> {
  const wrong =
    (await wrongInSchema(schema, "it")) ??
    lostReference(schema) ??
    (hasKeyword(schema) ? undefined : NO_KEYWORD);
  if (wrong) throw usage(`${refused}: it is not a JSON Schema: ${wrong}.`);
  if (typeof schema === "boolean" || isImpossible(schema, schema))
    throw usage(`${refused}: no answer can fit this schema. Check what it requires.`);
  return schema as JsonSchema;
}

function lostReference(schema: unknown): string | undefined {
  const references = Array.from(
    JSON.stringify(schema).matchAll(/"\$ref":("(?:[^"\\]|\\.)*")/g),
    ([, text]) => JSON.parse(text!),
  );
  const lost: string | undefined = references.find(
    (reference) => target(schema, reference) === undefined,
  );
  return lost === undefined ? undefined : `it refers to '${lost}', which is not in it`;
}

const hasKeyword = (schema: unknown): boolean => {
  const words = Object.keys(Object(schema));
  return !words.length || words.some((word) => KEYWORDS.test(word));
};
const KEYWORDS =
  /^(type|enum|const|not|if|\$\w+|(any|one|all)Of|\w*[pP]roperties|\w*[iI]tems|m(in|ax)\w+|pattern|format|required|title|default|definitions)$/;
const NO_KEYWORD = "none of its words is one of JSON Schema's, such as 'type' or 'properties'";

/** The short form, in the words of the flag. */
export const shortForm = (text: string): JsonSchema => shortSchema(text, "--schema");

// Checks: what no answer can fit

const NAMES = ["string", "number", "integer", "boolean", "object", "array", "null"];
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * What a reference within a schema refers to; undefined if it leads nowhere, or out of the schema.
 */
function target(root: unknown, ref: string): unknown {
  if (!/^#(\/|$)/.test(ref)) return undefined;
  const words = ref.slice(1).split("/").slice(1);
  return words
    .map((word) =>
      (tryTo(() => decodeURIComponent(word)) ?? word).replaceAll("~1", "/").replaceAll("~0", "~"),
    )
    .reduce<unknown>(
      (inner, word) =>
        Object.hasOwn(Object(inner), word) ? (inner as JsonSchema)[word] : undefined,
      root,
    );
}

const PAIRS = [
  ["number", "minimum", "maximum"],
  ["string", "minLength", "maxLength"],
  ["array", "minItems", "maxItems"],
  ["object", "minProperties", "maxProperties"],
] as const;

/**
 * Whether it is certain that no value fits. Unknown keywords may fit; a schema that must contain
 * itself cannot.
 */
export function isImpossible(schema: any, root: unknown, above: readonly unknown[] = []): boolean {
  if (schema === false) return true;
  if (!isObject(schema)) return false;
  if (above.includes(schema)) return true;
  const inner = (part: unknown) => isImpossible(part, root, [...above, schema]);
  const list = (word: string) => (Array.isArray(schema[word]) ? (schema[word] as any[]) : []);
  const { properties = {}, additionalProperties, patternProperties, items } = schema as any;
  const types = typesOf(schema);
  const only = (type: string) =>
    types.every((name) => name === type || (type === "number" && name === "integer"));

  if (typeof schema.$ref === "string" && inner(target(root, schema.$ref))) return true;
  const typeLists = list("allOf").map(typesOf);
  if (
    !typeLists.reduce(
      (common, types) =>
        common.filter((type: string) => types.some((two: string) => agree(type, two))),
      types,
    ).length
  )
    return true;
  if (list("allOf").some(inner)) return true;
  if (["anyOf", "oneOf"].some((word) => list(word).length && list(word).every(inner))) return true;
  const values = "const" in schema ? [schema.const] : list("enum");
  if (
    ("const" in schema || "enum" in schema) &&
    !values.some((value) => types.some((type) => hasType(type, value)))
  )
    return true;
  for (const [type, least, maximum] of PAIRS)
    if (only(type) && Number(schema[least]) > Number(schema[maximum])) return true;
  if (only("array") && Number(schema.minItems) > 0 && inner(items)) return true;
  const isShut = additionalProperties === false && !patternProperties;
  const missing = (name: string) =>
    Object.hasOwn(properties, name) ? inner(properties[name]) : isShut;
  return only("object") && list("required").some(missing);
}

const typesOf = (schema: any): string[] =>
  schema?.type === undefined ? NAMES : [schema.type].flat();
const agree = (type: string, two: string): boolean =>
  type === two ||
  (type === "integer" && two === "number") ||
  (type === "number" && two === "integer");
function hasType(type: string, value: unknown): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isObject(value) : typeof value === type;
}
