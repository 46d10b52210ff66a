// Turns what a text contained into a call of an offered tool: cleans the name, converts values to
// the types of the tool's schema if nothing is lost by it, and checks the result.
import { tryTo } from "zz/text";
import { setField, type Work, wholeJson } from "./json.ts";
import type { Tool } from "./types.ts";

type Schema = any; // a tool's JSON Schema
const MAX_NAME_CHARS = 300;
const ALL_TYPES = ["null", "boolean", "integer", "number", "object", "array", "string"];
/** Parameters in which some models wrap all of the arguments again. */
const WRAPPERS = ["arguments", "parameters", "args", "input", "params", "tool_input"];

const loose = (name: string): string => name.replace(/[-._\s]/g, "").toLowerCase();

/** The tools by name, since a text may name many that do not exist. */
const indexes = new WeakMap<
  readonly Tool[],
  { exact: Map<string, Tool[]>; loose: Map<string, Tool[]> }
>();
function indexOf(tools: readonly Tool[]) {
  const earlier = indexes.get(tools);
  if (earlier) return earlier;
  const index = {
    exact: Map.groupBy(tools, ({ name }) => name),
    loose: Map.groupBy(tools, ({ name }) => loose(name)),
  };
  indexes.set(tools, index);
  return index;
}

/**
 * The offered tool that a name means, without what models put around it; undefined if several fit.
 */
export function toolFor(givenName: string, tools: readonly Tool[]): Tool | undefined {
  if (givenName.length > MAX_NAME_CHARS) return undefined;
  const { exact, loose: similar } = indexOf(tools);
  const sameTool = exact.get(givenName)?.[0];
  if (sameTool) return sameTool;
  const [head = ""] = givenName.trim().split(/<\||[{(["<\n]/);
  const plain = head.replace(/^[\s'"`]+|[\s'"`]+$/g, "");
  const cut = plain.replace(/^(functions?[._]|tools\.|default_api\.)/, "");
  const bare = cut.replace(/[:_]?\d{1,6}$/, "");
  const half = cut.slice(0, cut.length / 2);
  const names = [
    cut,
    cut.replace(/:\d{1,6}$/, ""),
    cut.split(/\s/)[0]!,
    cut.split(".").at(-1)!,
    ...(half + half === cut ? [half] : []),
    bare,
    bare.split(".").at(-1)!,
  ];
  if (/^functions/.test(bare)) names.push(bare.replace(/^functions/, ""));
  for (const fitting of [
    (name: string) => exact.get(name),
    (name: string) => similar.get(loose(name)),
  ])
    for (const name of names.filter(Boolean)) {
      const fits = fitting(name);
      if (fits) return fits.length === 1 ? fits[0] : undefined;
    }
  return undefined;
}

/** Converts a value to the type of its schema. raw: the texts in it have no type, as in XML. */
function coerce(
  schema: Schema,
  value: unknown,
  raw: boolean,
  work: Work,
  root = schema,
  depth = 0,
): unknown {
  if (depth > 30) return value;
  const types = typesOf(schema, root);
  if (typeof value === "string") return coerceText(schema, value, types, raw, work, root, depth);
  if (
    types.size &&
    !types.has(typeOf(value)) &&
    !(typeOf(value) === "integer" && types.has("number"))
  ) {
    if (types.has("array") && value !== null)
      return [coerce(resolveRef(schema, root).items, value, false, work, root, depth + 1)];
    if (types.has("string") && typeof value === "number") return String(value);
    const inner = value as { type?: unknown; value?: unknown };
    if (
      typeOf(value) === "object" &&
      inner.value !== undefined &&
      Object.keys(inner).every((key) => /^(type|value)$/.test(key))
    )
      // the schema echoed around the value
      return coerce(schema, inner.value, false, work, root, depth + 1);
    return value;
  }
  if (Array.isArray(value)) {
    const { items } = resolveRef(schema, root);
    return items
      ? value.map((element) => coerce(items, element, false, work, root, depth + 1))
      : value;
  }
  if (typeof value !== "object" || value === null) return value;
  const converted: Record<string, unknown> = {};
  const properties = propertiesOf(schema, root);
  for (const [key, field] of Object.entries(value))
    setField(
      converted,
      key,
      Object.hasOwn(properties, key)
        ? coerce(properties[key], field, false, work, root, depth + 1)
        : field,
    );
  return converted;
}

/**
 * Converts a text to the type that is wanted. It stays a text if a text is wanted, or if no other
 * type fits.
 */
function coerceText(
  schema: Schema,
  text: string,
  types: Set<string>,
  raw: boolean,
  work: Work,
  root: Schema,
  depth: number,
): unknown {
  if (!types.size || (types.has("string") && (!raw || types.size === 1))) return text;
  const words = enumOf(schema, root);
  if (words.includes(text)) return text;
  const word = text.trim();
  if (types.has("null") && /^(null|none)$/i.test(word)) return null;
  if (
    (types.has("integer") || types.has("number")) &&
    /^[+-]?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?$/.test(word)
  ) {
    const number = Number(word);
    if (Number.isSafeInteger(number) || (types.has("number") && Number.isFinite(number)))
      return number;
  }
  if (types.has("boolean") && /^(true|false)$/i.test(word)) return word.toLowerCase() === "true";
  if (types.has("boolean") && types.size === 1 && /^[01]$/.test(word)) return word === "1";
  if (types.has("object") || types.has("array")) {
    const parsed = /^[[{"(]/.test(word) ? wholeJson(word, work) : undefined;
    if (parsed !== undefined && types.has(typeOf(parsed)))
      return coerce(schema, parsed, false, work, root, depth + 1);
    if (types.has("array") && !types.has("string")) {
      const element = parsed === undefined || typeof parsed === "string" ? text : parsed;
      return [coerce(resolveRef(schema, root).items, element, raw, work, root, depth + 1)];
    }
    if (typeof parsed === "string" && types.has("object"))
      return coerce(schema, parsed, raw, work, root, depth + 1);
  }
  return text;
}

const TEXTUAL =
  /content|text|str|code|source|data|patch|diff|new|old|replace|search|find|body|command|cmd|script|query|pattern|regex|input|prompt|message|question/i;
const KEPT = /content|text|new|code|source|data|command|query/i;

/**
 * Decodes the values of a call in XML whose schema is not known yet: lists, objects, booleans and
 * null; texts stay.
 */
export function decodeArgs(args: Record<string, unknown>): Record<string, unknown> {
  const decodedArgs: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(args)) {
    const word = typeof value === "string" ? value.trim() : "";
    const isData = /^(true|false)$/.test(word) || (/^[[{]/.test(word) && !TEXTUAL.test(key));
    if (word === "null" && !KEPT.test(key)) continue;
    setField(decodedArgs, key, isData ? (tryTo(() => JSON.parse(word)) ?? value) : value);
  }
  return decodedArgs;
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
  const [key, ...otherKeys] = Object.keys(args);
  if (key && !otherKeys.length && WRAPPERS.includes(key) && !Object.hasOwn(properties, key)) {
    const inner = typeof args[key] === "string" ? wholeJson(args[key], work) : args[key];
    if (typeOf(inner) === "object") {
      fields = inner as Record<string, unknown>;
      raw = false;
    }
  }
  const typedArgs: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    const name = Object.hasOwn(properties, key)
      ? key
      : Object.keys(properties).find(
          (property) => loose(property) === loose(key) && !(property in fields),
        );
    const typed = name === undefined ? value : coerce(properties[name], value, raw, work, schema);
    if (
      typed === null &&
      name !== undefined &&
      !(schema as Schema).required?.includes(name) &&
      !typesOf(properties[name], schema).has("null")
    )
      continue; // null for an optional parameter
    setField(typedArgs, name ?? key, typed);
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
  const strange = Object.keys(args).filter((key) => !knownNames.includes(key));
  if (isExact && strange.length) return false;
  const { required = [] } = schema as { required?: string[] };
  const missing = required.filter((name) => !(name in args));
  const stands = missing.every((name) =>
    strange.some((key) => loose(key).includes(loose(name)) || loose(name).includes(loose(key))),
  );
  if (!stands) return false;
  const relaxed = missing.length
    ? { ...schema, required: required.filter((name) => name in args), additionalProperties: true }
    : schema;
  try {
    return Errors(relaxed, args)[0];
  } catch {
    return true; // a schema that cannot be read: the tool checks again
  }
}

export function propertiesOf(schema: Schema, root: Schema): Record<string, Schema> {
  const resolved = resolveRef(schema, root);
  const parts = [
    resolved,
    ...(resolved.allOf ?? []),
    ...(resolved.anyOf ?? []),
    ...(resolved.oneOf ?? []),
  ];
  return Object.assign({}, ...parts.map((part) => resolveRef(part, root).properties ?? {}));
}

/** The types that a schema accepts; empty if it accepts any. */
export function typesOf(schema: Schema, root: Schema, depth = 0): Set<string> {
  const resolved = resolveRef(schema, root);
  if (depth > 10) return new Set();
  if (resolved.type !== undefined)
    return new Set(
      [resolved.type]
        .flat()
        .map((type) => ALIASES[type] ?? type)
        .filter((type) => ALL_TYPES.includes(type)),
    );
  const values = resolved.const === undefined ? resolved.enum : [resolved.const];
  if (Array.isArray(values)) return new Set(values.map(typeOf));
  const parts: Schema[] = resolved.anyOf ?? resolved.oneOf ?? resolved.allOf ?? [];
  const typesOfParts = parts.map((part) => typesOf(part, root, depth + 1));
  if (!typesOfParts.length || (!resolved.allOf && typesOfParts.some((types) => !types.size)))
    return containersOf(resolved);
  return new Set(typesOfParts.flatMap((types) => [...types]));
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

function enumOf(schema: Schema, root: Schema): unknown[] {
  const resolved = resolveRef(schema, root);
  return resolved.enum ?? (resolved.const === undefined ? [] : [resolved.const]);
}

/** The schema, or the one in the same document that its $ref points to. */
function resolveRef(schema: Schema, root: Schema): Schema {
  let resolved = schema;
  for (
    let i = 0;
    i < 10 && typeof resolved?.$ref === "string" && resolved.$ref.startsWith("#/");
    i++
  )
    resolved = resolved.$ref
      .slice(2)
      .split("/")
      .reduce((inner: Schema, key: string) => inner?.[key], root);
  return typeof resolved === "object" && resolved !== null ? resolved : {};
}

export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
