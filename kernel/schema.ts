// The parameters of tools: JSON Schema and its short form, and whether arguments fit.
import type { Schema, StandardSchema } from "./contract.ts";
import { fault } from "./faults.ts";

/** The JSON Schema that a tool's parameters stand for. */
export function toJsonSchema(params: Schema | undefined): Record<string, unknown> {
  if (params && "~standard" in params) {
    const convert = (params as StandardSchema)["~standard"].jsonSchema;
    if (!convert) throw fault("its params cannot become JSON Schema. Use zod 4.6 or later.");
    const { $schema, ...schema } = convert.input({ target: "draft-2020-12" });
    return schema;
  }
  const given: Record<string, unknown> = { ...params };
  if (given.type === "object" || given.properties) return { properties: {}, ...given };
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
const SHORTHAND = /^(string|number|integer|boolean)(\[\])?(\?)?(?: (.*))?$/s;
const SHORTHAND_WORDS = "Use string, number, integer or boolean, with [] and ? as needed.";

/** The value as a schema lets it through, or what is wrong with it, in the schema's own words. */
export async function check(schema: Schema | undefined, given: unknown): Promise<{ value?: any; wrong?: string }> {
  if (schema && "~standard" in schema) {
    const checked = await (schema as StandardSchema)["~standard"].validate(given);
    if ("value" in checked) return checked;
    return { wrong: checked.issues.map(({ path, message }) => `${path?.join(".") || "arguments"}: ${message}`).join("; ") };
  }
  const { Errors } = await import("typebox/schema");
  const [ok, errors] = Errors(toJsonSchema(schema), given);
  if (ok) return { value: given };
  const told = ({ instancePath, message, params }: (typeof errors)[number]): string => {
    const { allowedValues } = params as { allowedValues?: unknown[] };
    const must = allowedValues ? `must be one of ${allowedValues.join(", ")}` : message;
    return `${instancePath.slice(1) || "arguments"} ${must}`;
  };
  return { wrong: errors.map(told).join("; ") };
}
