// The body of a request to generateContent, without what this server has refused.
import type { ChatRequest } from "zz";
import { plainName, toWire } from "./contents.ts";

/** Options that are fields of the request itself; all others go into generationConfig. */
const TOP =
  /^(tools|toolConfig|tool_config|safetySettings|safety_settings|cachedContent|cached_content|labels|systemInstruction|contents)$/;

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
  const set = Object.entries(rest);
  const limit = max_tokens ?? max_completion_tokens;
  const generation = {
    ...schemaOf(request, without),
    ...thinkingOf(request, without),
    ...(limit !== undefined && { maxOutputTokens: limit }),
    ...(stop && { stopSequences: [stop].flat() }),
    ...Object.fromEntries(set.filter(([name]) => !TOP.test(name))),
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
    ...Object.fromEntries(set.filter(([name]) => TOP.test(name))),
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
  const name = plainName(model);
  const [, major = "", minor = ""] =
    /^gemini-(\d)(?:\.(\d))?(?!.*(image|tts|audio|live|embedding))/.exec(name) ?? [];
  const thinks = Number(`${major}.${minor || 0}`) >= 2.5;
  if (without.has("thinkingConfig") || "thinkingConfig" in options) return {};
  if (!effort)
    return thinks && !/lite/.test(name) ? { thinkingConfig: { includeThoughts: true } } : {};
  if (!major || !thinks) return {};
  const includeThoughts = effort !== "none";
  const isPro = /pro/.test(name);
  if (Number(major) >= 3) {
    const least = isPro ? "low" : "minimal";
    const nearest = isPro && effort === "medium" && !minor ? "high" : effort;
    const level = effort === "none" ? least : nearest;
    return {
      thinkingConfig: {
        includeThoughts,
        ...(!without.has("thinkingLevel") && { thinkingLevel: level }),
      },
    };
  }
  const thinkingBudget = isPro ? Math.max(BUDGETS[effort], LEAST_OF_PRO) : BUDGETS[effort];
  return {
    thinkingConfig: { includeThoughts, ...(!without.has("thinkingBudget") && { thinkingBudget }) },
  };
}

/** The fields of JSON Schema that OpenAPI 3.0 has, for servers that take nothing else. */
const KEPT =
  /^(type|format|title|description|nullable|enum|items|properties|required|(min|max)(Items|Length|imum)|pattern|anyOf)$/;
function reduced(schema: any, root = schema, depth = 0): any {
  if (!schema || typeof schema !== "object" || depth > 30) return {};
  const named = /^#\/(\$defs|definitions)\/(.+)$/.exec(schema.$ref ?? "");
  if (named)
    return reduced(
      { ...root[named[1]!]?.[named[2]!], ...schema, $ref: undefined },
      root,
      depth + 1,
    );
  const schemaOut: Record<string, unknown> = {};
  const inner = (child: unknown) => reduced(child, root, depth + 1);
  for (const [name, value] of Object.entries({
    ...schema,
    anyOf: schema.anyOf ?? schema.oneOf,
  }) as [string, any][]) {
    if (value === undefined || !KEPT.test(name)) continue;
    if (name === "properties")
      schemaOut.properties = Object.fromEntries(
        Object.entries(value).map(([key, child]) => [key, inner(child)]),
      );
    else if (name === "items") schemaOut.items = inner(value);
    else if (name === "anyOf") schemaOut.anyOf = value.map(inner);
    else if (name === "enum")
      schemaOut.enum = value.filter((option: unknown) => option !== null).map(String);
    else if (name === "format") {
      if (value === "date-time") schemaOut.format = value;
    } else if (name === "type" && Array.isArray(value)) {
      schemaOut.type = value.find((name) => name !== "null");
      if (value.includes("null")) schemaOut.nullable = true;
    } else schemaOut[name] = value;
  }
  if (schema.const !== undefined) schemaOut.enum = [String(schema.const)];
  if (schemaOut.enum) schemaOut.type = "string";
  return schemaOut;
}
