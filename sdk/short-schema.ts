// The short form of a schema, as --schema and zz.ask() take it.
import { unknown } from "../kernel/text/did-you-mean.ts";
import { usage } from "../kernel/text/faults.ts";

type JsonSchema = Record<string, unknown>;

const TYPES: Record<string, string> = {
  str: "string",
  string: "string",
  text: "string",
  int: "integer",
  integer: "integer",
  float: "number",
  number: "number",
  bool: "boolean",
  boolean: "boolean",
  list: "array",
};
const FIELD =
  /^([\p{L}_][\p{L}\p{N}_-]*)(?: (list of [^ :(?]+|[^ :(?]+))? ?(\?)? ?(?::(.*)|\((.*)\))?$/u;
const TYPE_ALONE = /^ ?(list of \w+|\w+) ?(\?)?$/;

/**
 * A JSON Schema from its short form:
 * `name, age int, tags: list, note? (why it was bought)`: fields between commas, or one a line. A
 * field has a name, a type (text by default), `?` if it may be missing, and after a colon or in
 * brackets a description.
 */
export function shortSchema(text: string, what = "the schema"): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const field of fieldsOf(text)) {
    const [, name, typeText, optional, after, inside] = FIELD.exec(field) ?? [];
    if (!name)
      throw usage(
        `Cannot use ${what}: '${field}' is not a field. Write a name, a type and what it means: age int (in years).`,
      );
    if (Object.hasOwn(properties, name))
      throw usage(`Cannot use ${what}: '${name}' stands there twice. Leave one out.`);
    const [, alone, alsoOptional] = (!typeText && TYPE_ALONE.exec(after ?? "")) || [];
    const isType = alone !== undefined && Object.hasOwn(TYPES, alone.split(/\s/)[0]!);
    const description = (isType ? "" : (after ?? inside ?? "")).trim();
    properties[name] = {
      ...typeOf(name, typeText ?? (isType ? alone : "text"), what),
      ...(description && { description }),
    };
    if (!optional && !(isType && alsoOptional)) required.push(name);
  }
  return { type: "object", properties, required, additionalProperties: false };
}

/**
 * Splits a text into fields: at line breaks if it has any, otherwise at commas outside of brackets.
 */
function fieldsOf(text: string): string[] {
  const fields = [""];
  let depth = 0;
  for (const sign of text.includes("\n") ? "" : text) {
    if (sign === "(") depth++;
    if (sign === ")") depth = Math.max(0, depth - 1);
    if (sign === "," && !depth) fields.push("");
    else fields[fields.length - 1] += sign;
  }
  const lines = text.includes("\n")
    ? text.split("\n").map((line) => line.trim().replace(/,$/, ""))
    : fields;
  return lines.map((line) => line.replace(/\s+/g, " ").trim()).filter(Boolean);
}

function typeOf(name: string, typeText: string, what: string): JsonSchema {
  const [word = "", , inner] = typeText.split(/\s+/);
  for (const one of [word, inner])
    if (one !== undefined && !Object.hasOwn(TYPES, one))
      throw usage(
        `Cannot use ${what}: '${name}' cannot be read, since ${unknown("type", one, Object.keys(TYPES))}`,
      );
  if (word !== "list") return { type: TYPES[word] };
  return { type: "array", items: { type: TYPES[inner ?? "text"] } };
}
