// Schemas: JSON Schema and its short form, and what of a value does not fit. typebox checks the
// arguments of tools, zod settings.
import type { Schema, StandardSchema, Tool } from "../contract.ts";
import { nearestAllowed } from "./did-you-mean.ts";
import { fault } from "./faults.ts";
import registered from "./registered.json" with { type: "json" };
import { isObject, tryTo } from "./words.ts";

/** A JSON Schema, as far as zz reads it itself. */
export interface Shape {
  type?: string;
  enum?: unknown[];
  anyOf?: Shape[];
  properties?: Record<string, Shape>;
  required?: string[];
  additionalProperties?: boolean | Shape;
  description?: string;
  default?: unknown;
}
/** What is wrong at a place in a value: "rounds" must be a number. */
export interface Misfit {
  path: string[];
  words: string;
}

/** The JSON Schema of a tool's parameters. */
export function toJsonSchema(params: Schema | undefined): Record<string, unknown> {
  if (params && "~standard" in params) {
    const convert = (params as StandardSchema)["~standard"].jsonSchema;
    if (!convert) throw fault("its params cannot become JSON Schema. Use zod 4.6 or later.");
    const { $schema, ...schema } = convert.input({ target: "draft-2020-12" });
    return schema;
  }
  const fields: Record<string, unknown> = { ...params };
  if (fields.type === "object" || fields.properties) return { properties: {}, ...fields };
  const isWord = ([key, value]: [string, unknown]) =>
    SCHEMA_WORD.test(key) && !SHORTHAND.test(String(value));
  const isTyped = typeof fields.type === "string" && !SHORTHAND.test(fields.type);
  if (params && (isTyped || "~kind" in params || Object.entries(fields).some(isWord)))
    return fields;
  const required: string[] = [];
  const property = ([name, word]: [string, unknown]) => {
    const [, type, list, optional, description] = SHORTHAND.exec(String(word)) ?? [];
    if (!type)
      throw fault(
        `param '${name}' has type '${word}'. Use string, number, integer or boolean, with [] and ? as needed.`,
      );
    if (!optional) required.push(name);
    return [
      name,
      {
        ...(list ? { type: "array", items: { type } } : { type }),
        ...(description && { description }),
      },
    ];
  };
  const properties = Object.fromEntries(Object.entries(fields).map(property));
  return { type: "object", properties, ...(params && { required }) };
}
const SCHEMA_WORD =
  // typebox schemas too
  /^((any|one|all)Of|items|prefixItems|enum|const|not|pattern|format|default|m(in|ax)\w*|\$\w+)$/;
const SHORTHAND = /^(string|number|integer|boolean)(\[\])?(\?)?(?: (.*))?$/s;

/** The same for a tool, whose arguments must be an object or one of several. */
export function parametersOf({
  name,
  params,
}: Pick<Tool, "name" | "params">): Record<string, unknown> {
  const schema =
    /^(object|undefined|function)$/.test(typeof params) && !Array.isArray(params)
      ? toJsonSchema(params)
      : {};
  if (takesObject(schema)) return { type: "object", ...schema };
  throw fault(`tool '${name}' has parameters that are not an object. Write them as { name: … }.`);
}
const takesObject = ({ type, properties, $ref, anyOf, oneOf, allOf }: any): boolean =>
  type === "object" ||
  Boolean(
    properties ??
      $ref ??
      [anyOf, oneOf, allOf].find((alternatives) => alternatives?.every(takesObject)),
  );

/** The value as the schema returns it, or what is wrong with it, in one line. */
export async function checkValue(
  schema: Schema | undefined,
  input: unknown,
): Promise<{ value?: any; wrong?: string }> {
  const { value, misfits } = await checkAgainstSchema(schema, input);
  return misfits ? { wrong: inOneLine(misfits) } : { value };
}
export const inOneLine = (misfits: Misfit[]): string =>
  [...new Set(misfits.map(({ path, words }) => `${path.join(".") || "it"} ${words}`))].join("; ");

/**
 * The value as the schema returns it, or all that is wrong with it, in the schema's own words if it
 * has any.
 */
export async function checkAgainstSchema(
  schema: Schema | undefined,
  input: unknown,
): Promise<{ value?: any; misfits?: Misfit[] }> {
  const json = tryTo(() => toJsonSchema(schema)) ?? {};
  const misfitAt = (keys: readonly PropertyKey[], message: string, listed?: string[]): Misfit => {
    const path = keys.map(String);
    const values = listed ?? valuesAt(json, path);
    const value = path.reduce<any>((inner, key) => inner?.[key], input);
    const words = values?.some((allowed) => !message.includes(allowed))
      ? `must be one of ${values.join(", ")}`
      : message.replace(/^(?=[A-Z])/, "does not fit: ");
    return { path, words: words + nearestAllowed(values, value) };
  };
  if (!schema || !("~standard" in schema)) {
    const { Errors } = await import("typebox/schema");
    const value = withDefaults(json, input);
    const [ok, errors] = Errors(json, value);
    if (ok) return { value };
    // each of these has errors of its own
    const inner = errors.filter(({ keyword }) => !/^(additionalProperties|anyOf)$/.test(keyword));
    const relevant = inner.length ? inner : errors;
    return {
      misfits: relevant.map((error) =>
        misfitAt(
          error.instancePath.split("/").slice(1),
          sentenceOfTypebox(error),
          allowedValuesIn(error.params),
        ),
      ),
    };
  }
  const { safeParseAsync: parse, "~standard": standard } = schema as any; // zod, or another library
  const checked = await (parse ? parse(input, { error: sentenceOfZod }) : standard.validate(input));
  const issues: any[] | undefined = checked.error?.issues ?? checked.issues;
  if (!issues) return { value: "data" in checked ? checked.data : checked.value };
  const strange = (
    path: string[],
    key: string,
    { properties = {} }: Shape = schemaAt(json, path) ?? {},
  ) => ({ path: [...path, key], words: NOT_KNOWN + nearestAllowed(Object.keys(properties), key) });
  return {
    misfits: issues.flatMap(
      ({ path = [], message, keys }) =>
        keys?.map((key: string) => strange(path, key)) ?? misfitAt(path, message),
    ),
  };
}

/** A settings' schema as zod has it; the schema itself if zod cannot say all of it. */
export async function asZod(schema: Schema): Promise<Schema> {
  if ("~standard" in schema) return schema;
  const { fromJSONSchema } = await import("./zod-subset.ts");
  return tryTo(() => fromJSONSchema(toJsonSchema(schema)) as unknown as StandardSchema) ?? schema;
}

/** What zod found, in words that go after a name; undefined: its own words do. */
function sentenceOfZod({
  code,
  input,
  expected,
  values,
  minimum,
  maximum,
  inclusive,
  origin,
  errors,
}: any): string | undefined {
  const isNumber = origin === "number" || origin === "int";
  if (code === "invalid_type" || (code === "too_big" && expected))
    return input === undefined ? "is missing" : mustBe([expected]);
  if (code === "invalid_value")
    return `must be ${values.length > 1 ? `one of ${values.join(", ")}` : JSON.stringify(values[0])}`;
  if (code === "too_small" && isNumber)
    return `must be ${inclusive ? "at least" : "more than"} ${minimum}`;
  if (code === "too_small" && minimum === 1 && origin === "string") return "must not be empty";
  if (code === "too_big" && isNumber)
    return `must be ${inclusive ? "at most" : "less than"} ${maximum}`;
  if (code !== "invalid_union" || !errors?.length) return undefined;
  const ways = errors.map(
    ([{ path, message }]: any) => `${path.length ? `its entry ${path.join(".")} ` : ""}${message}`,
  );
  return [...new Set(ways)].join(", or ");
}

/** The same of typebox. */
function sentenceOfTypebox({
  keyword,
  params,
  message,
}: {
  keyword: string;
  params: any;
  message: string;
}): string {
  if (keyword === "type") return mustBe([params.type].flat());
  if (keyword === "required") return `needs '${params.requiredProperties.join("', '")}'`;
  return keyword === "boolean" ? NOT_KNOWN : message;
}
const allowedValuesIn = (params: any): string[] | undefined => params.allowedValues?.map(String);
const NOT_KNOWN = "is not known";

/** Each type in words. */
const TYPE_NAMES: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  integer: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
  function: "a function",
};
export const mustBe = (types: string[]): string =>
  `must be ${types.map((type) => TYPE_NAMES[type] ?? type).join(" or ")}`;

/** What is wrong in a JSON Schema. typebox passes over what it cannot read, and zod throws. */
export async function wrongInSchema(schema: unknown, label: string): Promise<string | undefined> {
  const { json, $defs } = registered;
  return (
    await checkValue({ type: "object", properties: { [label]: json }, $defs } as object as Schema, {
      [label]: schema,
    })
  ).wrong;
}

/** A value as JSON; refuses what JSON cannot represent. */
export function plainJson(state: object): string {
  return JSON.stringify(state, function (this: any, key, value) {
    const raw = this[key]; // a Date is already text here
    const type = typeof raw === "object" ? (raw?.constructor?.name ?? "Object") : typeof raw;
    if (/^(Object|Array|string|number|boolean|undefined)$/.test(type)) return value;
    throw fault(
      `zz.state() keeps plain JSON, and '${key}' is a ${type}. Use an object or an array.`,
    );
  });
}

/** `on` and `off` where a setting is a switch, as true and false. */
export function withSwitches(shape: Shape | undefined, input: any): any {
  const ways = shape?.anyOf ?? [shape];
  const isSwitch =
    ways.some((alternative) => alternative?.type === "boolean") &&
    !ways.some((alternative) => alternative?.type === "string" || alternative?.enum);
  if (isSwitch && /^(on|off)$/.test(input)) return input === "on";
  if (!isObject(input)) return input;
  const { properties = {}, additionalProperties: others } = shape ?? {};
  const inner = (key: string) => {
    if (Object.hasOwn(properties, key)) return properties[key];
    if (isObject(others)) return others;
    return undefined;
  };
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, withSwitches(inner(key), value)]),
  );
}

const schemaAt = (schema: any, path: readonly string[]): any =>
  path.reduce((inner, key) => inner?.properties?.[key] ?? inner?.items, schema);

/** The values that a schema lists at a place, if it does. */
function valuesAt(schema: any, path: readonly string[]): string[] | undefined {
  const part = schemaAt(schema, path);
  const values: unknown[] =
    part?.enum ?? (part?.anyOf ?? part?.oneOf)?.map((alternative: any) => alternative.const) ?? [];
  return values.length && !values.includes(undefined) ? values.map(String) : undefined;
}

/** Fills in the defaults of a schema. */
function withDefaults({ default: otherwise, properties = {}, items }: any, input: unknown): any {
  const value = input === undefined ? structuredClone(otherwise) : input;
  if (Array.isArray(value))
    return items ? value.map((element) => withDefaults(items, element)) : value;
  if (typeof value !== "object" || !value) return value;
  const filled = Object.entries(properties).map(([key, inner]) => [
    key,
    withDefaults(inner, value[key]),
  ]);
  return { ...value, ...Object.fromEntries(filled.filter(([, field]) => field !== undefined)) };
}
