// The body of a request to generateContent, without what this server has refused.
import type { ChatRequest } from "zz";
import { plainName, toWire } from "./contents.ts";

/** Options that are fields of the request itself; all others go into generationConfig. */
const TOP_FIELDS = new Set(
  (
    "tools toolConfig tool_config safetySettings safety_settings cachedContent cached_content " +
    "labels systemInstruction contents"
  ).split(" "),
);

export function bodyOf(request: ChatRequest, without: Set<string>): Record<string, unknown> {
  const { system, messages, tools, options } = request;
  const {
    generationConfig,
    tools: extraTools = [],
    max_tokens,
    max_completion_tokens,
    stop,
    ...rest
  } = options as any;
  const otherOptions = Object.entries(rest);
  const tokenLimit = max_tokens ?? max_completion_tokens;
  const generation = {
    ...schemaOf(request, without),
    ...thinkingOf(request, without),
    ...(tokenLimit !== undefined && { maxOutputTokens: tokenLimit }),
    ...(stop && { stopSequences: [stop].flat() }),
    ...Object.fromEntries(otherOptions.filter(([optionName]) => !TOP_FIELDS.has(optionName))),
    ...generationConfig,
  };
  const isFirst = without.has("systemInstruction"); // Gemma takes it only in the person's message
  const contents = toWire(messages, request.model, without);
  const instruction = [{ text: system }];
  if (system.trim() && isFirst) contents[0]?.parts.unshift(...instruction);
  const declared = tools.map(({ name, description, schema }) => ({
    name,
    description,
    ...parametersOf(schema, without),
  }));
  const offered = [...(declared.length ? [{ functionDeclarations: declared }] : []), ...extraTools];
  return {
    contents,
    ...(system.trim() && !isFirst && { systemInstruction: { parts: instruction } }),
    ...(offered.length && { tools: offered }),
    ...Object.fromEntries(otherOptions.filter(([optionName]) => TOP_FIELDS.has(optionName))),
    ...(Object.keys(generation).length && { generationConfig: generation }),
  };
}

function schemaOf({ schema }: ChatRequest, without: Set<string>) {
  return schema && !without.has("format")
    ? { responseMimeType: "application/json", responseJsonSchema: schema }
    : {};
}

function parametersOf(schema: any, without: Set<string>) {
  if (!Object.keys(schema.properties ?? {}).length && !schema.$ref && !schema.anyOf) return {};
  return without.has("parametersJsonSchema")
    ? { parameters: reduced(schema) }
    : { parametersJsonSchema: schema };
}

const BUDGETS = { none: 0, low: 1_024, medium: 8_192, high: 24_576 };
const LEAST_OF_PRO = 128; // these models cannot be told not to think

/**
 * How much to think: in tokens up to 2.5, as a word from 3 on. Thoughts are sent only if they are
 * asked for.
 */
function thinkingOf({ model, effort, options }: ChatRequest, without: Set<string>) {
  const modelName = plainName(model);
  const [, majorVersion = "", minorVersion = ""] =
    /^gemini-(\d)(?:\.(\d))?(?!.*(image|tts|audio|live|embedding))/.exec(modelName) ?? [];
  const canThink = Number(`${majorVersion}.${minorVersion || 0}`) >= 2.5;
  if (without.has("thinkingConfig") || "thinkingConfig" in options) return {};
  if (!effort)
    return canThink && !/lite/.test(modelName) ? { thinkingConfig: { includeThoughts: true } } : {};
  if (!majorVersion || !canThink) return {};
  const includeThoughts = effort !== "none";
  const isProModel = /pro/.test(modelName);
  if (Number(majorVersion) >= 3) {
    const leastLevel = isProModel ? "low" : "minimal";
    const nearest = isProModel && effort === "medium" && !minorVersion ? "high" : effort;
    const chosenLevel = effort === "none" ? leastLevel : nearest;
    return {
      thinkingConfig: {
        includeThoughts,
        ...(!without.has("thinkingLevel") && { thinkingLevel: chosenLevel }),
      },
    };
  }
  const thinkingBudget = isProModel ? Math.max(BUDGETS[effort], LEAST_OF_PRO) : BUDGETS[effort];
  return {
    thinkingConfig: { includeThoughts, ...(!without.has("thinkingBudget") && { thinkingBudget }) },
  };
}

/** The fields of JSON Schema that OpenAPI 3.0 has, for servers that take nothing else. */
const KEPT_FIELDS = new Set(
  (
    "type format title description nullable enum items properties required pattern anyOf " +
    "minItems minLength minimum maxItems maxLength maximum"
  ).split(" "),
);
function reduced(schema: any, rootSchema = schema, nestingDepth = 0): any {
  if (!schema || typeof schema !== "object" || nestingDepth > 30) return {};
  const reference = /^#\/(\$defs|definitions)\/(.+)$/.exec(schema.$ref ?? "");
  if (reference)
    return reduced(
      { ...rootSchema[reference[1]!]?.[reference[2]!], ...schema, $ref: undefined },
      rootSchema,
      nestingDepth + 1,
    );
  const schemaOut: Record<string, unknown> = {};
  const reduceChild = (childSchema: unknown) => reduced(childSchema, rootSchema, nestingDepth + 1);
  for (const [fieldName, fieldValue] of Object.entries({
    ...schema,
    anyOf: schema.anyOf ?? schema.oneOf,
  }) as [string, any][]) {
    if (fieldValue === undefined || !KEPT_FIELDS.has(fieldName)) continue;
    if (fieldName === "properties")
      schemaOut.properties = Object.fromEntries(
        Object.entries(fieldValue).map(([propertyName, childSchema]) => [
          propertyName,
          reduceChild(childSchema),
        ]),
      );
    else if (fieldName === "items") schemaOut.items = reduceChild(fieldValue);
    else if (fieldName === "anyOf") schemaOut.anyOf = fieldValue.map(reduceChild);
    else if (fieldName === "enum")
      schemaOut.enum = fieldValue.filter((enumOption: unknown) => enumOption !== null).map(String);
    else if (fieldName === "format") {
      if (fieldValue === "date-time") schemaOut.format = fieldValue;
    } else if (fieldName === "type" && Array.isArray(fieldValue)) {
      schemaOut.type = fieldValue.find((typeName) => typeName !== "null");
      if (fieldValue.includes("null")) schemaOut.nullable = true;
    } else schemaOut[fieldName] = fieldValue;
  }
  if (schema.const !== undefined) schemaOut.enum = [String(schema.const)];
  if (schemaOut.enum) schemaOut.type = "string";
  return schemaOut;
}
