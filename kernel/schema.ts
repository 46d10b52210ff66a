// The parameters of tools: JSON Schema and its short form, and whether arguments fit.
import type { Schema, SchemaIssue, StandardSchema, Tool } from "./contract.ts";
import { fault } from "./faults.ts";
import { nearTo, tryTo } from "./text.ts";

/** The JSON Schema of a tool's parameters. */
export function toJsonSchema(params: Schema | undefined): Record<string, unknown> {
  if (params && "~standard" in params) {
    const convert = (params as StandardSchema)["~standard"].jsonSchema;
    if (!convert) throw fault("its params cannot become JSON Schema. Use zod 4.6 or later.");
    const { $schema, ...schema } = convert.input({ target: "draft-2020-12" });
    return schema;
  }
  const given: Record<string, unknown> = { ...params };
  if (given.type === "object" || given.properties) return { properties: {}, ...given };
  const isWord = ([key, value]: [string, unknown]) => SCHEMA_WORD.test(key) && !SHORTHAND.test(String(value));
  const isTyped = typeof given.type === "string" && !SHORTHAND.test(given.type);
  if (params && (isTyped || "~kind" in params || Object.entries(given).some(isWord))) return given;
  const required: string[] = [];
  const property = ([name, word]: [string, unknown]) => {
    const [, type, list, optional, description] = SHORTHAND.exec(String(word)) ?? [];
    if (!type) throw fault(`param '${name}' has type '${word}'. ${SHORTHAND_WORDS}`);
    if (!optional) required.push(name);
    return [name, { ...(list ? { type: "array", items: { type } } : { type }), ...(description && { description }) }];
  };
  const properties = Object.fromEntries(Object.entries(given).map(property));
  return { type: "object", properties, ...(params && { required }) };
}
const SCHEMA_WORD = /^((any|one|all)Of|items|prefixItems|enum|const|not|pattern|format|default|m(in|ax)\w*|\$\w+)$/; // typebox schemas too
const SHORTHAND = /^(string|number|integer|boolean)(\[\])?(\?)?(?: (.*))?$/s;
const SHORTHAND_WORDS = "Use string, number, integer or boolean, with [] and ? as needed.";

/** The same for a tool, whose arguments must be an object or one of several. */
export function parametersOf({ name, params }: Pick<Tool, "name" | "params">): Record<string, unknown> {
  const schema = /^(object|undefined|function)$/.test(typeof params) && !Array.isArray(params) ? toJsonSchema(params) : {};
  if (takesObject(schema)) return { type: "object", ...schema };
  throw fault(`tool '${name}' has parameters that are not an object. Write them as { name: … }.`);
}
const takesObject = ({ type, properties, $ref, anyOf, oneOf, allOf }: any): boolean =>
  type === "object" || Boolean(properties ?? $ref ?? [anyOf, oneOf, allOf].find((all) => all?.every(takesObject)));

/** The value as the schema returns it, or what is wrong with it, in the schema's words. */
export async function check(schema: Schema | undefined, given: unknown): Promise<{ value?: any; wrong?: string }> {
  const json = tryTo(() => toJsonSchema(schema)) ?? {};
  const naming = (message: string, path: readonly unknown[]) => {
    const words = wordsAt(json, path);
    const said = words?.some((word) => !message.includes(word)) ? `must be one of ${words.join(", ")}` : message;
    return (
      said +
      nearTo(
        words,
        path.reduce<any>((value, key) => value?.[key as string], given),
      )
    );
  };
  if (schema && "~standard" in schema) {
    const checked = await (schema as StandardSchema)["~standard"].validate(given);
    if ("value" in checked) return checked;
    const told = ({ path = [], message }: SchemaIssue) => `${path.join(".") || "arguments"}: ${naming(message, path)}`;
    return { wrong: checked.issues.map(told).join("; ") };
  }
  const { Errors } = await import("typebox/schema");
  const value = withDefaults(toJsonSchema(schema), given);
  const [ok, errors] = Errors(json, value);
  if (ok) return { value };
  const told = ({ instancePath: at, message }: (typeof errors)[number]) =>
    `${at.slice(1) || "arguments"} ${naming(message, at.split("/").slice(1))}`;
  return { wrong: [...new Set(errors.map(told))].join("; ") };
}

/** The values that a schema lists at a place, if it does. */
function wordsAt(schema: any, path: readonly unknown[]): string[] | undefined {
  const at = path.reduce<any>((inner, key) => inner?.properties?.[key as string] ?? inner?.items, schema);
  const values: unknown[] = at?.enum ?? (at?.anyOf ?? at?.oneOf)?.map((one: any) => one.const) ?? [];
  return values.length && !values.includes(undefined) ? values.map(String) : undefined;
}

/** Fills in the defaults of a schema. */
function withDefaults({ default: otherwise, properties = {}, items }: any, given: unknown): any {
  const value = given === undefined ? structuredClone(otherwise) : given;
  if (Array.isArray(value)) return items ? value.map((one) => withDefaults(items, one)) : value;
  if (typeof value !== "object" || !value) return value;
  const filled = Object.entries(properties).map(([key, inner]) => [key, withDefaults(inner, value[key])]);
  return { ...value, ...Object.fromEntries(filled.filter(([, one]) => one !== undefined)) };
}
