// Reads what --schema is given: a file with a JSON Schema, the schema itself, or its short form.
// Refuses what is not a schema, or what no answer can fit, before the model is asked.
import fs from "node:fs";
import path from "node:path";
import {
  anyOf,
  codeOf,
  errnoSentence,
  isObject,
  ownValue,
  shortSchema,
  tryTo,
  usage,
  wrongInSchema,
} from "zz/text";

export type JsonSchema = Record<string, unknown>;

const MAX_FILE_BYTES = 1024 * 1024;

/** The schema that a text names as a file, contains as JSON, or describes in the short form. */
export async function readSchema(typedText: string, baseFolder: string): Promise<JsonSchema> {
  const schemaText = typedText.trim();
  if (!schemaText)
    throw usage(
      "Flag --schema has an empty value. Give it a file, a JSON Schema, or names: 'name, age int'.",
    );
  if (schemaText.startsWith("{"))
    return checked(parseJson(schemaText, "Cannot use --schema"), "Cannot use --schema");
  const schemaFile = fileNamed(schemaText, baseFolder);
  if (!schemaFile) return shortForm(schemaText);
  const refused = `Cannot use --schema '${schemaText}'`;
  return checked(parseJson(contents(schemaFile, refused), refused), refused);
}

/**
 * The file that a text names, if any: it needs a dot or slash and no comma, and must exist or not
 * look like fields.
 */
function fileNamed(schemaText: string, baseFolder: string): string | undefined {
  if (!/[./\\]/.test(schemaText) || /[\n,]/.test(schemaText)) return undefined;
  const schemaFile = path.resolve(baseFolder, schemaText);
  return /\.json$/i.test(schemaText) || /^[^\s:(]+$/.test(schemaText) || fs.existsSync(schemaFile)
    ? schemaFile
    : undefined;
}

function contents(schemaFile: string, refused: string): string {
  try {
    const { size } = fs.statSync(schemaFile);
    if (size > MAX_FILE_BYTES)
      throw usage(`${refused}: it is larger than 1 MB. Name a file with a JSON Schema.`);
    return fs.readFileSync(schemaFile, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") throw usage(`${refused}: no such file. Check the path.`);
    throw codeOf(error)
      ? usage(`${refused}: ${errnoSentence(error) || (error as Error).message}`)
      : error;
  }
}

function parseJson(jsonText: string, refused: string): unknown {
  try {
    return JSON.parse(jsonText.replace(/^\ufeff/, ""));
  } catch (error) {
    throw usage(
      `${refused}: it is not JSON (${(error as Error).message}). ` +
        "Write a JSON Schema, or names: 'name, age int'.",
    );
  }
}

async function checked(schema: unknown, refused: string): Promise<JsonSchema> {
  const problem =
    (await wrongInSchema(schema, "it")) ??
    lostReference(schema) ??
    (hasKeyword(schema) ? undefined : NO_KEYWORD);
  if (problem) throw usage(`${refused}: it is not a JSON Schema: ${problem}.`);
  if (typeof schema === "boolean" || isImpossible(schema, schema))
    throw usage(`${refused}: no answer can fit this schema. Check what it requires.`);
  return schema as JsonSchema;
}

function lostReference(schema: unknown): string | undefined {
  const references = Array.from(
    JSON.stringify(schema).matchAll(/"\$ref":("(?:[^"\\]|\\.)*")/g),
    ([, quotedText]) => JSON.parse(quotedText!),
  );
  const lostTarget: string | undefined = references.find(
    (reference) => resolveTarget(schema, reference) === undefined,
  );
  return lostTarget === undefined ? undefined : `it refers to '${lostTarget}', which is not in it`;
}

const hasKeyword = (schema: unknown): boolean => {
  const schemaWords = Object.keys(Object(schema));
  return !schemaWords.length || schemaWords.some((schemaWord) => KEYWORDS.test(schemaWord));
};
const KEYWORDS = anyOf(
  /^(type|enum|const|not|if|\$\w+|(any|one|all)Of|\w*[pP]roperties|\w*[iI]tems|m(in|ax)\w+)$/,
  /^(pattern|format|required|title|default|definitions)$/,
);
const NO_KEYWORD = "none of its words is one of JSON Schema's, such as 'type' or 'properties'";

/** The short form, in the words of the flag. */
export const shortForm = (shortText: string): JsonSchema => shortSchema(shortText, "--schema");

// Checks: what no answer can fit

const TYPE_NAMES = ["string", "number", "integer", "boolean", "object", "array", "null"];

/**
 * What a reference within a schema refers to; undefined if it leads nowhere, or out of the schema.
 */
function resolveTarget(rootSchema: unknown, reference: string): unknown {
  if (!/^#(\/|$)/.test(reference)) return undefined;
  const pathSteps = reference.slice(1).split("/").slice(1);
  return pathSteps
    .map((pathStep) =>
      (tryTo(() => decodeURIComponent(pathStep)) ?? pathStep)
        .replaceAll("~1", "/")
        .replaceAll("~0", "~"),
    )
    .reduce<unknown>(
      (innerSchema, pathStep) => ownValue(innerSchema as JsonSchema, pathStep),
      rootSchema,
    );
}

const LIMIT_PAIRS = [
  ["number", "minimum", "maximum"],
  ["string", "minLength", "maxLength"],
  ["array", "minItems", "maxItems"],
  ["object", "minProperties", "maxProperties"],
] as const;

/**
 * Whether it is certain that no value fits. Unknown keywords may fit; a schema that must contain
 * itself cannot.
 */
export function isImpossible(
  schema: any,
  rootSchema: unknown,
  outerSchemas: readonly unknown[] = [],
): boolean {
  if (schema === false) return true;
  if (!isObject(schema)) return false;
  if (outerSchemas.includes(schema)) return true;
  const cannotFit = (schemaPart: unknown) =>
    isImpossible(schemaPart, rootSchema, [...outerSchemas, schema]);
  const listUnder = (keyword: string) =>
    Array.isArray(schema[keyword]) ? (schema[keyword] as any[]) : [];
  const { properties = {}, additionalProperties, patternProperties, items } = schema as any;
  const allowedTypes = typesOf(schema);
  const allowsOnly = (typeName: string) =>
    allowedTypes.every(
      (allowedType) =>
        allowedType === typeName || (typeName === "number" && allowedType === "integer"),
    );

  if (typeof schema.$ref === "string" && cannotFit(resolveTarget(rootSchema, schema.$ref)))
    return true;
  const typeLists = listUnder("allOf").map(typesOf);
  if (
    !typeLists.reduce(
      (commonTypes, otherTypes) =>
        commonTypes.filter((firstType: string) =>
          otherTypes.some((secondType: string) => canAgree(firstType, secondType)),
        ),
      allowedTypes,
    ).length
  )
    return true;
  if (listUnder("allOf").some(cannotFit)) return true;
  if (
    ["anyOf", "oneOf"].some(
      (keyword) => listUnder(keyword).length && listUnder(keyword).every(cannotFit),
    )
  )
    return true;
  const fixedValues = "const" in schema ? [schema.const] : listUnder("enum");
  if (
    ("const" in schema || "enum" in schema) &&
    !fixedValues.some((fixedValue) =>
      allowedTypes.some((typeName) => hasType(typeName, fixedValue)),
    )
  )
    return true;
  for (const [typeName, minimum, maximum] of LIMIT_PAIRS)
    if (allowsOnly(typeName) && Number(schema[minimum]) > Number(schema[maximum])) return true;
  if (allowsOnly("array") && Number(schema.minItems) > 0 && cannotFit(items)) return true;
  const isClosed = additionalProperties === false && !patternProperties;
  const missing = (propertyName: string) =>
    Object.hasOwn(properties, propertyName) ? cannotFit(properties[propertyName]) : isClosed;
  return allowsOnly("object") && listUnder("required").some(missing);
}

const typesOf = (schema: any): string[] =>
  schema?.type === undefined ? TYPE_NAMES : [schema.type].flat();
const canAgree = (firstType: string, secondType: string): boolean =>
  firstType === secondType ||
  (firstType === "integer" && secondType === "number") ||
  (firstType === "number" && secondType === "integer");
function hasType(typeName: string, value: unknown): boolean {
  if (typeName === "integer") return Number.isInteger(value);
  if (typeName === "null") return value === null;
  if (typeName === "array") return Array.isArray(value);
  return typeName === "object" ? isObject(value) : typeof value === typeName;
}
