// Schemas: JSON Schema and its short form, and what of a value does not fit. typebox checks the
// arguments of tools, zod settings.
import type { Schema, StandardSchema, Tool } from "../contract.ts";
import { nearestAllowed } from "./did-you-mean.ts";
import { fault } from "./faults.ts";
import registered from "./registered.json" with { type: "json" };
import { isObject, mapValues, pickKeys, tryTo } from "./words.ts";

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
  const paramFields: Record<string, unknown> = { ...params };
  if (paramFields.type === "object" || paramFields.properties)
    return { properties: {}, ...paramFields };
  const isSchemaWord = ([fieldName, fieldValue]: [string, unknown]) =>
    SCHEMA_WORD.test(fieldName) && !SHORTHAND.test(String(fieldValue));
  const isTyped = typeof paramFields.type === "string" && !SHORTHAND.test(paramFields.type);
  if (params && (isTyped || "~kind" in params || Object.entries(paramFields).some(isSchemaWord)))
    return paramFields;
  const required: string[] = [];
  const property = (shorthand: unknown, paramName: string) => {
    const [, type, listMark, optional, description] = SHORTHAND.exec(String(shorthand)) ?? [];
    if (!type)
      throw fault(
        `param '${paramName}' has type '${shorthand}'. ` +
          "Use string, number, integer or boolean, with [] and ? as needed.",
      );
    if (!optional) required.push(paramName);
    return {
      ...(listMark ? { type: "array", items: { type } } : { type }),
      ...(description && { description }),
    };
  };
  const properties = mapValues(paramFields, property);
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
  const toolSchema =
    /^(object|undefined|function)$/.test(typeof params) && !Array.isArray(params)
      ? toJsonSchema(params)
      : {};
  if (takesObject(toolSchema)) return { type: "object", ...toolSchema };
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
  inputValue: unknown,
): Promise<{ value?: any; wrong?: string }> {
  const { value, misfits } = await checkAgainstSchema(schema, inputValue);
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
  const misfitAt = (
    keyPath: readonly PropertyKey[],
    message: string,
    listedValues?: string[],
  ): Misfit => {
    const path = keyPath.map(String);
    const values = listedValues ?? valuesAt(json, path);
    const misfitValue = path.reduce<any>((innerValue, pathKey) => innerValue?.[pathKey], input);
    const misfitWords = values?.some((allowed) => !message.includes(allowed))
      ? `must be one of ${values.join(", ")}`
      : message.replace(/^(?=[A-Z])/, "does not fit: ");
    return { path, words: misfitWords + nearestAllowed(values, misfitValue) };
  };
  if (!schema || !("~standard" in schema)) {
    const { Errors } = await import("typebox/schema");
    const value = withDefaults(json, input);
    const [isValid, schemaErrors] = Errors(json, value);
    if (isValid) return { value };
    // each of these has errors of its own
    const innerErrors = schemaErrors.filter(
      ({ keyword }) => !/^(additionalProperties|anyOf)$/.test(keyword),
    );
    const relevant = innerErrors.length ? innerErrors : schemaErrors;
    return {
      misfits: relevant.map((schemaError) =>
        misfitAt(
          schemaError.instancePath.split("/").slice(1),
          sentenceOfTypebox(schemaError),
          allowedValuesIn(schemaError.params),
        ),
      ),
    };
  }
  // zod, or another library
  const { safeParseAsync: parseSafely, "~standard": standard } = schema as any;
  const checked = await (parseSafely
    ? parseSafely(input, { error: sentenceOfZod })
    : standard.validate(input));
  const schemaIssues: any[] | undefined = checked.error?.issues ?? checked.issues;
  if (!schemaIssues) return { value: "data" in checked ? checked.data : checked.value };
  const strange = (
    objectPath: string[],
    unknownKey: string,
    { properties = {} }: Shape = schemaAt(json, objectPath) ?? {},
  ) => ({
    path: [...objectPath, unknownKey],
    words: NOT_KNOWN + nearestAllowed(Object.keys(properties), unknownKey),
  });
  return {
    misfits: schemaIssues.flatMap(
      ({ path = [], message, keys }) =>
        keys?.map((unknownKey: string) => strange(path, unknownKey)) ?? misfitAt(path, message),
    ),
  };
}

/** A settings' schema as zod has it; the schema itself if zod cannot say all of it. */
export async function asZod(settingsSchema: Schema): Promise<Schema> {
  if ("~standard" in settingsSchema) return settingsSchema;
  const { fromJSONSchema } = await import("./zod-subset.ts");
  return (
    tryTo(() => fromJSONSchema(toJsonSchema(settingsSchema)) as unknown as StandardSchema) ??
    settingsSchema
  );
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
    return values.length > 1
      ? `must be one of ${values.join(", ")}`
      : `must be ${JSON.stringify(values[0])}`;
  if (code === "too_small" && isNumber)
    return `must be ${inclusive ? "at least" : "more than"} ${minimum}`;
  if (code === "too_small" && minimum === 1 && origin === "string") return "must not be empty";
  if (code === "too_big" && isNumber)
    return `must be ${inclusive ? "at most" : "less than"} ${maximum}`;
  if (code !== "invalid_union" || !errors?.length) return undefined;
  const unionSentences = errors.map(
    ([{ path, message }]: any) => `${path.length ? `its entry ${path.join(".")} ` : ""}${message}`,
  );
  return [...new Set(unionSentences)].join(", or ").replaceAll(", or must be ", ", or ");
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
const allowedValuesIn = (errorParams: any): string[] | undefined =>
  errorParams.allowedValues?.map(String);
export const NOT_KNOWN = "is not known";

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
export const mustBe = (typeNames: string[]): string =>
  `must be ${typeNames.map((typeName) => TYPE_NAMES[typeName] ?? typeName).join(" or ")}`;

/** What is wrong in a JSON Schema. typebox passes over what it cannot read, and zod throws. */
export async function wrongInSchema(
  schema: unknown,
  schemaLabel: string,
): Promise<string | undefined> {
  const { json, $defs } = registered;
  return (
    await checkValue(
      { type: "object", properties: { [schemaLabel]: json }, $defs } as object as Schema,
      { [schemaLabel]: schema },
    )
  ).wrong;
}

/** A value as JSON; refuses what JSON cannot represent. */
export function plainJson(pluginState: object): string {
  return JSON.stringify(pluginState, function (this: any, propertyName, propertyValue) {
    const rawValue = this[propertyName]; // a Date is already text here
    const typeName =
      typeof rawValue === "object" ? (rawValue?.constructor?.name ?? "Object") : typeof rawValue;
    if (/^(Object|Array|string|number|boolean|undefined)$/.test(typeName)) return propertyValue;
    throw fault(
      `zz.state() keeps plain JSON, and '${propertyName}' is a ${typeName}. ` +
        "Use an object or an array.",
    );
  });
}

/** `on` and `off` where a setting is a switch, as true and false. */
export function withSwitches(settingShape: Shape | undefined, inputValue: any): any {
  const alternatives = settingShape?.anyOf ?? [settingShape];
  const isSwitch =
    alternatives.some((alternative) => alternative?.type === "boolean") &&
    !alternatives.some((alternative) => alternative?.type === "string" || alternative?.enum);
  if (isSwitch && /^(on|off)$/.test(inputValue)) return inputValue === "on";
  if (!isObject(inputValue)) return inputValue;
  const { properties = {}, additionalProperties: otherShape } = settingShape ?? {};
  const shapeOfKey = (propertyName: string) => {
    if (Object.hasOwn(properties, propertyName)) return properties[propertyName];
    if (isObject(otherShape)) return otherShape;
    return undefined;
  };
  return mapValues(inputValue, (innerValue, propertyName) =>
    withSwitches(shapeOfKey(propertyName), innerValue),
  );
}

const schemaAt = (schema: any, keyPath: readonly string[]): any =>
  keyPath.reduce(
    (innerSchema, pathKey) => innerSchema?.properties?.[pathKey] ?? innerSchema?.items,
    schema,
  );

/** The values that a schema lists at a place, if it does. */
function valuesAt(schema: any, keyPath: readonly string[]): string[] | undefined {
  const schemaPart = schemaAt(schema, keyPath);
  const allowedValues: unknown[] =
    schemaPart?.enum ??
    (schemaPart?.anyOf ?? schemaPart?.oneOf)?.map((alternative: any) => alternative.const) ??
    [];
  return allowedValues.length && !allowedValues.includes(undefined)
    ? allowedValues.map(String)
    : undefined;
}

/** Fills in the defaults of a schema. */
function withDefaults(
  { default: otherwise, properties = {}, items }: any,
  inputValue: unknown,
): any {
  const baseValue = inputValue === undefined ? structuredClone(otherwise) : inputValue;
  if (Array.isArray(baseValue))
    return items ? baseValue.map((element) => withDefaults(items, element)) : baseValue;
  if (!isObject(baseValue)) return baseValue;
  const filledFields = mapValues(properties, (propertySchema, propertyName) =>
    withDefaults(propertySchema, baseValue[propertyName]),
  );
  return { ...baseValue, ...pickKeys(filledFields, (_, fieldValue) => fieldValue !== undefined) };
}
