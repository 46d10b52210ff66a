// The parameters of tools: JSON Schema and its short form, and whether arguments fit.
import type { Schema, SchemaIssue, StandardSchema, Tool } from "./contract.ts";
import { fault } from "./faults.ts";
import { typeWords } from "./shape.ts";
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
    if (!type) throw fault(`param '${name}' has type '${word}'. Use string, number, integer or boolean, with [] and ? as needed.`);
    if (!optional) required.push(name);
    return [name, { ...(list ? { type: "array", items: { type } } : { type }), ...(description && { description }) }];
  };
  const properties = Object.fromEntries(Object.entries(given).map(property));
  return { type: "object", properties, ...(params && { required }) };
}
const SCHEMA_WORD = /^((any|one|all)Of|items|prefixItems|enum|const|not|pattern|format|default|m(in|ax)\w*|\$\w+)$/; // typebox schemas too
const SHORTHAND = /^(string|number|integer|boolean)(\[\])?(\?)?(?: (.*))?$/s;

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
  const told = (path: readonly unknown[], colon: string, message: string) => {
    const words = wordsAt(json, path);
    const value = path.reduce<any>((inner, key) => inner?.[key as string], given);
    const said = words?.some((word) => !message.includes(word)) ? `must be one of ${words.join(", ")}` : message;
    return `${path.join(".") || "it"}${colon} ${said}${nearTo(words, value)}`;
  };
  if (schema && "~standard" in schema) {
    const checked = await (schema as StandardSchema)["~standard"].validate(given);
    if ("value" in checked) return checked;
    return { wrong: checked.issues.map(({ path = [], message }: SchemaIssue) => told(path, ":", message)).join("; ") };
  }
  const { Errors } = await import("typebox/schema");
  const value = withDefaults(toJsonSchema(schema), given);
  const [ok, errors] = Errors(json, value);
  if (ok) return { value };
  const own = errors.filter(({ keyword }) => keyword !== "additionalProperties"); // each of these has an error of its own
  const faults = own.map((error) => told(error.instancePath.split("/").slice(1), "", inWords(error)));
  return { wrong: [...new Set(faults)].join("; ") };
}

function inWords({ keyword, params, message }: { keyword: string; params: any; message: string }): string {
  if (keyword === "type") return `must be ${[params.type].flat().map(typeWords).join(" or ")}`;
  if (keyword === "required") return `needs '${params.requiredProperties.join("', '")}'`;
  return keyword === "boolean" ? "is not known" : message;
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
