// The short form of a schema, as --schema and zz.ask() take it.
import { unknown } from "../kernel/text/did-you-mean.ts";
import { usage } from "../kernel/text/faults.ts";

type JsonSchema = Record<string, unknown>;

const TYPE_NAMES: Record<string, string> = {
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
const FIELD_PATTERN =
  /^([\p{L}_][\p{L}\p{N}_-]*)(?: (list of [^ :(?]+|[^ :(?]+))? ?(\?)? ?(?::(.*)|\((.*)\))?$/u;
const TYPE_ALONE = /^ ?(list of \w+|\w+) ?(\?)?$/;

/**
 * A JSON Schema from its short form:
 * `name, age int, tags: list, note? (why it was bought)`: fields between commas, or one a line. A
 * field has a name, a type (text by default), `?` if it may be missing, and after a colon or in
 * brackets a description.
 */
export function shortSchema(schemaText: string, subject = "the schema"): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  const required: string[] = [];
  for (const fieldText of fieldsOf(schemaText)) {
    const [, fieldName, typeText, optional, afterColon, inBrackets] =
      FIELD_PATTERN.exec(fieldText) ?? [];
    if (!fieldName)
      throw usage(
        `Cannot use ${subject}: '${fieldText}' is not a field. ` +
          "Write a name, a type and what it means: age int (in years).",
      );
    if (Object.hasOwn(properties, fieldName))
      throw usage(`Cannot use ${subject}: '${fieldName}' stands there twice. Leave one out.`);
    const [, typeAlone, alsoOptional] = (!typeText && TYPE_ALONE.exec(afterColon ?? "")) || [];
    const isType = typeAlone !== undefined && Object.hasOwn(TYPE_NAMES, typeAlone.split(/\s/)[0]!);
    const description = (isType ? "" : (afterColon ?? inBrackets ?? "")).trim();
    properties[fieldName] = {
      ...fieldTypeOf(fieldName, typeText ?? (isType ? typeAlone : "text"), subject),
      ...(description && { description }),
    };
    if (!optional && !(isType && alsoOptional)) required.push(fieldName);
  }
  return { type: "object", properties, required, additionalProperties: false };
}

/**
 * Splits a text into fields: at line breaks if it has any, otherwise at commas outside of brackets.
 */
function fieldsOf(schemaText: string): string[] {
  const fieldTexts = [""];
  let bracketDepth = 0;
  for (const character of schemaText.includes("\n") ? "" : schemaText) {
    if (character === "(") bracketDepth++;
    if (character === ")") bracketDepth = Math.max(0, bracketDepth - 1);
    if (character === "," && !bracketDepth) fieldTexts.push("");
    else fieldTexts[fieldTexts.length - 1] += character;
  }
  const schemaLines = schemaText.includes("\n")
    ? schemaText.split("\n").map((schemaLine) => schemaLine.trim().replace(/,$/, ""))
    : fieldTexts;
  return schemaLines.map((schemaLine) => schemaLine.replace(/\s+/g, " ").trim()).filter(Boolean);
}

function fieldTypeOf(fieldName: string, typeText: string, subject: string): JsonSchema {
  const [typeWord = "", , itemWord] = typeText.split(/\s+/);
  for (const candidate of [typeWord, itemWord])
    if (candidate !== undefined && !Object.hasOwn(TYPE_NAMES, candidate))
      throw usage(
        `Cannot use ${subject}: '${fieldName}' cannot be read, ` +
          `since ${unknown("type", candidate, Object.keys(TYPE_NAMES))}`,
      );
  if (typeWord !== "list") return { type: TYPE_NAMES[typeWord] };
  return { type: "array", items: { type: TYPE_NAMES[itemWord ?? "text"] } };
}
