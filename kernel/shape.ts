// Checks settings against the part of JSON Schema that they need: a library would take longer to load than zz takes to start.
import { words } from "./contract.ts";
import { fault } from "./faults.ts";
import registered from "./registered.json" with { type: "json" };
import { nearest, nearTo, short } from "./text.ts";

/** A schema, as far as it is checked here. */
export interface Shape {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Shape[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minLength?: number;
  items?: Shape;
  properties?: Record<string, Shape>;
  required?: string[];
  additionalProperties?: boolean | Shape;
  description?: string;
  default?: unknown;
}
const KEYWORDS = words<keyof Shape>(
  "type const enum anyOf minimum maximum exclusiveMinimum minLength items properties required additionalProperties description default",
);

export const isObject = (one: unknown): one is Record<string, unknown> => typeof one === "object" && one !== null && !Array.isArray(one);

/** A value as JSON; refuses what JSON cannot represent. */
export function plainJson(state: object): string {
  return JSON.stringify(state, function (this: any, key, value) {
    const raw = this[key]; // a Date is already text here
    const type = typeof raw === "object" ? (raw?.constructor?.name ?? "Object") : typeof raw;
    if (/^(Object|Array|string|number|boolean|undefined)$/.test(type)) return value;
    throw fault(`zz.state() keeps plain JSON, and '${key}' is a ${type}. Use an object or an array.`);
  });
}

/** Each type: its name in messages, and its test. */
const TYPES: Record<string, [words: string, is: (value: unknown) => boolean]> = {
  string: ["a string", (value) => typeof value === "string"],
  number: ["a number", (value) => typeof value === "number"],
  integer: ["a whole number", Number.isInteger],
  boolean: ["true or false", (value) => typeof value === "boolean"],
  object: ["an object", isObject],
  array: ["an array", Array.isArray],
  function: ["a function", (value) => typeof value === "function"],
};
export const typeWords = (type: string): string => TYPES[type]?.[0] ?? type;

/** What a JSON Schema is. */
export const JSON_SCHEMA: Shape = registered.json;
const within: Shape = { type: "object", additionalProperties: JSON_SCHEMA };
const several: Shape = { type: "array", items: JSON_SCHEMA };
Object.assign(JSON_SCHEMA.properties!, { properties: within, $defs: within, anyOf: several, oneOf: several, allOf: several });
Object.assign(JSON_SCHEMA.properties!, { items: JSON_SCHEMA, additionalProperties: JSON_SCHEMA, not: JSON_SCHEMA });

/** Whether a schema uses nothing beyond what is checked here. */
export function isPlain(shape: unknown): shape is Shape {
  if (!isObject(shape)) return false;
  const { type = "string", anyOf = [], items = [], properties = {}, additionalProperties: others } = shape as Shape;
  return (
    Object.keys(shape).every((key) => (KEYWORDS as string[]).includes(key)) &&
    Object.hasOwn(TYPES, type) &&
    [...anyOf, items, ...Object.values(properties), isObject(others) ? others : []].flat().every(isPlain)
  );
}

/** The first thing that is wrong in a value, as a sentence without its full stop. */
export function wrongIn(shape: Shape, value: unknown, at: string): string | undefined {
  if (!fits(shape, value)) return `"${at}" must be ${must(shape)}${nearTo(shape.enum, value)}`;
  if (!isObject(value)) return undefined;
  const missing = shape.required?.find((key) => !Object.hasOwn(value, key));
  if (missing !== undefined) return `"${at}" needs "${missing}"`;
  const { properties = {}, additionalProperties = true } = shape;
  for (const [key, inner] of Object.entries(value)) {
    const own = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    const wrong = own && own !== true && wrongIn(own, inner, `${at}.${key}`);
    if (wrong) return wrong;
    if (own === false) return `there is no "${at}.${short(key)}"; ${instead(key, Object.keys(properties))}`;
  }
  return undefined;
}

/** Checks without looking into objects. */
export function fits(shape: Shape, value: unknown): boolean {
  const { type, anyOf, items, minLength = 0, minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity } = shape;
  if (anyOf) return anyOf.some((one) => !wrongIn(one, value, ""));
  if (shape.enum) return shape.enum.includes(value);
  if ("const" in shape) return value === shape.const;
  if (type && !TYPES[type]![1](value)) return false;
  if (typeof value === "number") return value >= minimum && value > exclusiveMinimum && value <= maximum;
  if (typeof value === "string") return value.length >= minLength;
  return !items || !Array.isArray(value) || value.every((one) => !wrongIn(items, one, ""));
}

function must({ type = "", anyOf, enum: values, const: only, items, minimum, maximum, exclusiveMinimum }: Shape): string {
  if (anyOf) return anyOf.map(must).join(" or ");
  if (values) return `one of ${values.join(", ")}`;
  if (only !== undefined) return JSON.stringify(only);
  if (items) return `an array of ${items.type}s`;
  const [words = "something else"] = TYPES[type] ?? [];
  const [least, most] = [minimum === undefined ? "" : ` from ${minimum}`, maximum === undefined ? "" : ` up to ${maximum}`];
  return (exclusiveMinimum === 0 ? words.replace(/^a /, "a positive ") : words) + least + most;
}

/** The name that was probably meant. */
export function instead(word: string, all: string[]): string {
  const near = nearest(short(word), all);
  return near === undefined ? `there are ${all.join(", ")}` : `nearest is "${near}"`;
}
