// Turns what a text contained into a call of an offered tool: cleans the name, converts values to
// the types of the tool's schema if nothing is lost by it, and checks the result.
import { anyOf, isObject, ownValue, tryTo } from "zz/text";
import { setField, type Work, wholeJson } from "./json.ts";
import type { Tool } from "./types.ts";

type Schema = any; // a tool's JSON Schema
const MAX_NAME_CHARS = 300;
const ALL_TYPES = ["null", "boolean", "integer", "number", "object", "array", "string"];
/** Parameters in which some models wrap all of the arguments again. */
const WRAPPERS = ["arguments", "parameters", "args", "input", "params", "tool_input"];

const loosenName = (name: string): string => name.replace(/[-._\s]/g, "").toLowerCase();

/** The tools by name, since a text may name many that do not exist. */
const indexes = new WeakMap<
  readonly Tool[],
  { exact: Map<string, Tool[]>; loose: Map<string, Tool[]> }
>();
function indexOf(tools: readonly Tool[]) {
  const earlier = indexes.get(tools);
  if (earlier) return earlier;
  const toolIndex = {
    exact: Map.groupBy(tools, ({ name }) => name),
    loose: Map.groupBy(tools, ({ name }) => loosenName(name)),
  };
  indexes.set(tools, toolIndex);
  return toolIndex;
}

/**
 * The offered tool that a name means, without what models put around it; undefined if several fit.
 */
export function toolFor(givenName: string, tools: readonly Tool[]): Tool | undefined {
  if (givenName.length > MAX_NAME_CHARS) return undefined;
  const { exact, loose: similar } = indexOf(tools);
  const sameTool = exact.get(givenName)?.[0];
  if (sameTool) return sameTool;
  const [nameHead = ""] = givenName.trim().split(/<\||[{(["<\n]/);
  const plainName = nameHead.replace(/^[\s'"`]+|[\s'"`]+$/g, "");
  const unprefixed = plainName.replace(/^(functions?[._]|tools\.|default_api\.)/, "");
  const bareName = unprefixed.replace(/[:_]?\d{1,6}$/, "");
  const halfName = unprefixed.slice(0, unprefixed.length / 2);
  const spellings = [
    unprefixed,
    unprefixed.replace(/:\d{1,6}$/, ""),
    unprefixed.split(/\s/)[0]!,
    unprefixed.split(".").at(-1)!,
    halfName + halfName === unprefixed ? halfName : "",
    bareName,
    bareName.split(".").at(-1)!,
    bareName.replace(/^functions/, ""),
  ];
  for (const fitting of [
    (spelling: string) => exact.get(spelling),
    (spelling: string) => similar.get(loosenName(spelling)),
  ])
    for (const spelling of spellings.filter(Boolean)) {
      const matchingTools = fitting(spelling);
      if (matchingTools) return matchingTools.length === 1 ? matchingTools[0] : undefined;
    }
  return undefined;
}

/** Converts a value to the type of its schema. raw: the texts in it have no type, as in XML. */
function coerceValue(
  schema: Schema,
  value: unknown,
  raw: boolean,
  work: Work,
  rootSchema: Schema,
  depth = 0,
): unknown {
  if (depth > 30) return value;
  const resolved = resolveRef(schema, rootSchema);
  const wantedTypes = typesOf(resolved, rootSchema);
  const coerceInner = (innerSchema: Schema, innerValue: unknown, isRaw = false) =>
    coerceValue(innerSchema, innerValue, isRaw, work, rootSchema, depth + 1);
  if (typeof value === "string")
    return coerceText(resolved, value, wantedTypes, raw, work, coerceInner);
  if (
    wantedTypes.size &&
    !wantedTypes.has(typeOf(value)) &&
    !(typeOf(value) === "integer" && wantedTypes.has("number"))
  ) {
    if (wantedTypes.has("array") && value !== null) return [coerceInner(resolved.items, value)];
    if (wantedTypes.has("string") && typeof value === "number") return String(value);
    const isEcho = // of the schema, around the value
      isObject(value) &&
      value.value !== undefined &&
      Object.keys(value).every((echoedKey) => /^(type|value)$/.test(echoedKey));
    return isEcho ? coerceInner(resolved, value.value) : value;
  }
  if (Array.isArray(value)) return value.map((element) => coerceInner(resolved.items, element));
  if (!isObject(value)) return value;
  const properties = propertiesOf(resolved, rootSchema);
  const converted = Object.entries(value).map(([fieldName, fieldValue]) => [
    fieldName,
    coerceInner(ownValue(properties, fieldName), fieldValue),
  ]);
  return Object.fromEntries(converted);
}

/**
 * Converts a text to the type that is wanted. It stays a text if a text is wanted, or if no other
 * type fits.
 */
function coerceText(
  schema: Schema,
  valueText: string,
  wantedTypes: Set<string>,
  raw: boolean,
  work: Work,
  coerceInner: (innerSchema: Schema, innerValue: unknown, isRaw?: boolean) => unknown,
): unknown {
  if (!wantedTypes.size || (wantedTypes.has("string") && (!raw || wantedTypes.size === 1)))
    return valueText;
  if (schema.const === valueText || schema.enum?.includes(valueText)) return valueText;
  const trimmed = valueText.trim();
  if (wantedTypes.has("null") && /^(null|none)$/i.test(trimmed)) return null;
  if (
    (wantedTypes.has("integer") || wantedTypes.has("number")) &&
    /^[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?$/.test(trimmed)
  ) {
    const parsedNumber = Number(trimmed);
    if (
      Number.isSafeInteger(parsedNumber) ||
      (wantedTypes.has("number") && Number.isFinite(parsedNumber))
    )
      return parsedNumber;
  }
  if (wantedTypes.has("boolean") && /^(true|false)$/i.test(trimmed))
    return trimmed.toLowerCase() === "true";
  if (wantedTypes.has("boolean") && wantedTypes.size === 1 && /^[01]$/.test(trimmed))
    return trimmed === "1";
  if (wantedTypes.has("object") || wantedTypes.has("array")) {
    const parsedValue = /^[[{"(]/.test(trimmed) ? wholeJson(trimmed, work) : undefined;
    if (parsedValue !== undefined && wantedTypes.has(typeOf(parsedValue)))
      return coerceInner(schema, parsedValue);
    if (wantedTypes.has("array") && !wantedTypes.has("string")) {
      const isText = parsedValue === undefined || typeof parsedValue === "string";
      return [coerceInner(schema.items, isText ? valueText : parsedValue, raw)];
    }
    if (typeof parsedValue === "string" && wantedTypes.has("object"))
      return coerceInner(schema, parsedValue, raw);
  }
  return valueText;
}

const TEXTUAL = anyOf(
  /content|text|str|code|source|data|patch|diff|new|old|replace|search|find|body|command|cmd/i,
  /script|query|pattern|regex|input|prompt|message|question/i,
);
const NULL_AS_TEXT = /content|text|new|code|source|data|command|query/i;

/**
 * Decodes the values of a call in XML whose schema is not known yet: lists, objects, booleans and
 * null; texts stay.
 */
export function decodeArgs(args: Record<string, unknown>): Record<string, unknown> {
  const decodedFields = Object.entries(args).flatMap(([fieldName, fieldValue]) => {
    const trimmed = typeof fieldValue === "string" ? fieldValue.trim() : "";
    const isData =
      /^(true|false)$/.test(trimmed) || (/^[[{]/.test(trimmed) && !TEXTUAL.test(fieldName));
    if (trimmed === "null" && !NULL_AS_TEXT.test(fieldName)) return [];
    const decoded = isData ? tryTo(() => JSON.parse(trimmed)) : undefined;
    return [[fieldName, decoded ?? fieldValue] as const];
  });
  return Object.fromEntries(decodedFields);
}

/** Converts arguments to the types of a tool's schema. */
export function argumentsFor(
  { schema }: Tool,
  args: Record<string, unknown>,
  raw: boolean,
  work: Work,
) {
  const properties = propertiesOf(schema, schema);
  let fields = args;
  const [onlyKey, ...otherKeys] = Object.keys(args);
  if (
    onlyKey &&
    !otherKeys.length &&
    WRAPPERS.includes(onlyKey) &&
    !Object.hasOwn(properties, onlyKey)
  ) {
    const innerArgs =
      typeof args[onlyKey] === "string" ? wholeJson(args[onlyKey], work) : args[onlyKey];
    if (isObject(innerArgs)) {
      fields = innerArgs;
      raw = false;
    }
  }
  const typedArgs: Record<string, unknown> = {};
  for (const [fieldName, fieldValue] of Object.entries(fields)) {
    const propertyName = Object.hasOwn(properties, fieldName)
      ? fieldName
      : Object.keys(properties).find(
          (property) => loosenName(property) === loosenName(fieldName) && !(property in fields),
        );
    const typedValue =
      propertyName === undefined
        ? fieldValue
        : coerceValue(properties[propertyName], fieldValue, raw, work, schema);
    if (
      typedValue === null &&
      propertyName !== undefined &&
      !(schema as Schema).required?.includes(propertyName) &&
      !typesOf(properties[propertyName], schema).has("null")
    )
      continue; // null for an optional parameter
    setField(typedArgs, propertyName ?? fieldName, typedValue);
  }
  return typedArgs;
}

/**
 * Whether arguments fit a tool's schema. Unless they have to be exact, an unknown name may replace
 * a missing one that it resembles.
 */
export async function fits(
  { schema }: Tool,
  args: Record<string, unknown>,
  isExact = false,
): Promise<boolean> {
  const { Errors } = await import("typebox/schema");
  const knownNames = Object.keys(propertiesOf(schema, schema));
  const strange = Object.keys(args).filter((argumentName) => !knownNames.includes(argumentName));
  if (isExact && strange.length) return false;
  const { required = [] } = schema as { required?: string[] };
  const missing = required.filter((requiredName) => !(requiredName in args));
  const hasStandIns = missing.every((missingName) =>
    strange.some(
      (strangeName) =>
        loosenName(strangeName).includes(loosenName(missingName)) ||
        loosenName(missingName).includes(loosenName(strangeName)),
    ),
  );
  if (!hasStandIns) return false;
  const relaxed = missing.length
    ? {
        ...schema,
        required: required.filter((requiredName) => requiredName in args),
        additionalProperties: true,
      }
    : schema;
  try {
    return Errors(relaxed, args)[0];
  } catch {
    return true; // a schema that cannot be read: the tool checks again
  }
}

function propertiesOf(schema: Schema, rootSchema: Schema): Record<string, Schema> {
  const resolved = resolveRef(schema, rootSchema);
  const schemaParts = [
    resolved,
    ...(resolved.allOf ?? []),
    ...(resolved.anyOf ?? []),
    ...(resolved.oneOf ?? []),
  ];
  return Object.assign(
    {},
    ...schemaParts.map((schemaPart) => resolveRef(schemaPart, rootSchema).properties),
  );
}

/** The types that a schema accepts; empty if it accepts any. */
function typesOf(schema: Schema, rootSchema: Schema, depth = 0): Set<string> {
  const resolved = resolveRef(schema, rootSchema);
  if (depth > 10) return new Set();
  if (resolved.type !== undefined)
    return new Set(
      [resolved.type]
        .flat()
        .map((typeName) => ALIASES[typeName] ?? typeName)
        .filter((typeName) => ALL_TYPES.includes(typeName)),
    );
  const allowedValues = resolved.const === undefined ? resolved.enum : [resolved.const];
  if (Array.isArray(allowedValues)) return new Set(allowedValues.map(typeOf));
  const schemaParts: Schema[] = resolved.anyOf ?? resolved.oneOf ?? resolved.allOf ?? [];
  const typesOfParts = schemaParts.map((schemaPart) => typesOf(schemaPart, rootSchema, depth + 1));
  if (
    !typesOfParts.length ||
    (!resolved.allOf && typesOfParts.some((partTypes) => !partTypes.size))
  )
    return containersOf(resolved);
  return new Set(typesOfParts.flatMap((partTypes) => [...partTypes]));
}

function containersOf(schema: Schema): Set<string> {
  if (schema.properties) return new Set(["object"]);
  return new Set(schema.items ? ["array"] : []);
}

const ALIASES: Record<string, string> = {
  str: "string",
  text: "string",
  int: "integer",
  int32: "integer",
  int64: "integer",
  long: "integer",
  float: "number",
  double: "number",
  bool: "boolean",
  dict: "object",
  list: "array",
};

/** The schema, or the one in the same document that its $ref points to. */
function resolveRef(schema: Schema, rootSchema: Schema): Schema {
  let resolved = schema;
  for (
    let i = 0;
    i < 10 && typeof resolved?.$ref === "string" && resolved.$ref.startsWith("#/");
    i++
  )
    resolved = resolved.$ref
      .slice(2)
      .split("/")
      .reduce((innerSchema: Schema, pathKey: string) => innerSchema?.[pathKey], rootSchema);
  return isObject(resolved) ? resolved : {};
}

export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
