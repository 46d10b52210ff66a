// Turns what a text contained into a call of an offered tool: cleans the name, converts values to
// the types of the tool's schema if nothing is lost by it, and checks the result.
import { tryTo } from "zz/text";
import { put, type Work, wholeJson } from "./json.ts";
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
  const known = indexes.get(tools);
  if (known) return known;
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
export function toolFor(given: string, tools: readonly Tool[]): Tool | undefined {
  if (given.length > MAX_NAME_CHARS) return undefined;
  const { exact, loose: similar } = indexOf(tools);
  const same = exact.get(given)?.[0];
  if (same) return same;
  const [head = ""] = given.trim().split(/<\||[{(["<\n]/);
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
export function coerce(
  schema: Schema,
  value: unknown,
  raw: boolean,
  work: Work,
  root = schema,
  depth = 0,
): unknown {
  if (depth > 30) return value;
  const types = typesOf(schema, root);
  if (typeof value === "string") return ofText(schema, value, types, raw, work, root, depth);
  if (
    types.size &&
    !types.has(typeOf(value)) &&
    !(typeOf(value) === "integer" && types.has("number"))
  ) {
    if (types.has("array") && value !== null)
      return [coerce(at(schema, root).items, value, false, work, root, depth + 1)];
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
    const { items } = at(schema, root);
    return items ? value.map((one) => coerce(items, one, false, work, root, depth + 1)) : value;
  }
  if (typeof value !== "object" || value === null) return value;
  const made: Record<string, unknown> = {};
  const properties = propertiesOf(schema, root);
  for (const [key, one] of Object.entries(value))
    put(
      made,
      key,
      Object.hasOwn(properties, key)
        ? coerce(properties[key], one, false, work, root, depth + 1)
        : one,
    );
  return made;
}

/**
 * Converts a text to the type that is wanted. It stays a text if a text is wanted, or if no other
 * type fits.
 */
function ofText(
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
    const found = /^[[{"(]/.test(word) ? wholeJson(word, work) : undefined;
    if (found !== undefined && types.has(typeOf(found)))
      return coerce(schema, found, false, work, root, depth + 1);
    if (types.has("array") && !types.has("string")) {
      const one = found === undefined || typeof found === "string" ? text : found;
      return [coerce(at(schema, root).items, one, raw, work, root, depth + 1)];
    }
    if (typeof found === "string" && types.has("object"))
      return coerce(schema, found, raw, work, root, depth + 1);
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
export function decoded(given: Record<string, unknown>): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    const word = typeof value === "string" ? value.trim() : "";
    const isData = /^(true|false)$/.test(word) || (/^[[{]/.test(word) && !TEXTUAL.test(key));
    if (word === "null" && !KEPT.test(key)) continue;
    put(made, key, isData ? (tryTo(() => JSON.parse(word)) ?? value) : value);
  }
  return made;
}

/** Converts arguments to the types of a tool's schema. */
export function argumentsFor(
  { schema }: Tool,
  given: Record<string, unknown>,
  raw: boolean,
  work: Work,
) {
  const properties = propertiesOf(schema, schema);
  let all = given;
  const [key, ...more] = Object.keys(given);
  if (key && !more.length && WRAPPERS.includes(key) && !Object.hasOwn(properties, key)) {
    const inner = typeof given[key] === "string" ? wholeJson(given[key], work) : given[key];
    if (typeOf(inner) === "object") {
      all = inner as Record<string, unknown>;
      raw = false;
    }
  }
  const made: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(all)) {
    const name = Object.hasOwn(properties, key)
      ? key
      : Object.keys(properties).find((one) => loose(one) === loose(key) && !(one in all));
    const typed = name === undefined ? value : coerce(properties[name], value, raw, work, schema);
    if (
      typed === null &&
      name !== undefined &&
      !(schema as Schema).required?.includes(name) &&
      !typesOf(properties[name], schema).has("null")
    )
      continue; // null for an optional parameter
    put(made, name ?? key, typed);
  }
  return made;
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
  const known = Object.keys(propertiesOf(schema, schema));
  const strange = Object.keys(args).filter((key) => !known.includes(key));
  if (isExact && strange.length) return false;
  const { required = [] } = schema as { required?: string[] };
  const left = required.filter((name) => !(name in args));
  const stands = left.every((name) =>
    strange.some((key) => loose(key).includes(loose(name)) || loose(name).includes(loose(key))),
  );
  if (!stands) return false;
  const relaxed = left.length
    ? { ...schema, required: required.filter((name) => name in args), additionalProperties: true }
    : schema;
  try {
    return Errors(relaxed, args)[0];
  } catch {
    return true; // a schema that cannot be read: the tool checks again
  }
}

export function propertiesOf(schema: Schema, root: Schema): Record<string, Schema> {
  const own = at(schema, root);
  const parts = [own, ...(own.allOf ?? []), ...(own.anyOf ?? []), ...(own.oneOf ?? [])];
  return Object.assign({}, ...parts.map((one) => at(one, root).properties ?? {}));
}

/** The types that a schema accepts; empty if it accepts any. */
export function typesOf(schema: Schema, root: Schema, depth = 0): Set<string> {
  const own = at(schema, root);
  if (depth > 10) return new Set();
  if (own.type !== undefined)
    return new Set(
      [own.type]
        .flat()
        .map((one) => ALIASES[one] ?? one)
        .filter((one) => ALL_TYPES.includes(one)),
    );
  const values = own.const === undefined ? own.enum : [own.const];
  if (Array.isArray(values)) return new Set(values.map(typeOf));
  const parts: Schema[] = own.anyOf ?? own.oneOf ?? own.allOf ?? [];
  const all = parts.map((one) => typesOf(one, root, depth + 1));
  if (!all.length || (!own.allOf && all.some((one) => !one.size))) return containersOf(own);
  return new Set(all.flatMap((one) => [...one]));
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
  const own = at(schema, root);
  return own.enum ?? (own.const === undefined ? [] : [own.const]);
}

/** The schema, or the one in the same document that its $ref points to. */
function at(schema: Schema, root: Schema): Schema {
  let own = schema;
  for (let i = 0; i < 10 && typeof own?.$ref === "string" && own.$ref.startsWith("#/"); i++)
    own = own.$ref
      .slice(2)
      .split("/")
      .reduce((inner: Schema, key: string) => inner?.[key], root);
  return typeof own === "object" && own !== null ? own : {};
}

export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}
