// Gemini's generateContent. A part's thought signature is sent back on the same part; calls have no
// ids here, so results are sent in the order of the calls.
import type {
  Call,
  ChatRequest,
  Delta,
  Endpoint,
  HttpAnswer,
  Image,
  Message,
  Model,
  Usage,
  Zz,
} from "zz";
import { fault } from "zz/text";
import { MAX_MODELS, needKey, toJson, type Value, valuesOf } from "./native.ts";
import { objectsIn } from "./sse.ts";
import { baseOf, memory, type Preset, type Wire } from "./wire-types.ts";

const WINDOWS: [names: RegExp, window: number][] = [
  [/^gemini-1\.5-pro/, 2_097_152],
  [/^gemini-(1\.5-flash|2|3)/, 1_048_576],
];
const knownWindow = (id: string): number | undefined =>
  WINDOWS.find(([names]) => names.test(id))?.[1];
const TAKES = ["image/*", "application/pdf", "audio/*", "video/*"];
const PROTOCOL = "Gemini's generateContent";
const MAX_PAGES = 50; // of the list of models

/** What a server refused, so that it is not sent again. */
const refusedOf = memory<Set<string>>(() => new Set());

export const gemini: Wire = {
  model(_preset, id) {
    const window = knownWindow(id);
    return window ? { id, window, tools: true, vision: true, takes: TAKES } : undefined;
  },

  async models(zz, preset, endpoint, signal) {
    const url = base(preset, endpoint);
    const listed: Model[] = [];
    let next = "";
    for (let page = 0; page < MAX_PAGES && listed.length < MAX_MODELS; page++) {
      const query = `?pageSize=1000${next && `&pageToken=${encodeURIComponent(next)}`}`;
      const answer = await zz.fetch(`${url}/models${query}`, {
        headers: headers(zz, preset, endpoint),
        signal,
      });
      const { models, nextPageToken } = Object((await answer.json()) as any);
      for (const { name, inputTokenLimit, supportedGenerationMethods: methods } of objectsIn(
        models,
      )) {
        if (Array.isArray(methods) && !methods.includes("generateContent")) continue;
        const id = plainName(String(name));
        const window = Number(inputTokenLimit) || knownWindow(id);
        listed.push({ id, ...(window && { window }) });
      }
      if (!nextPageToken || nextPageToken === next) break;
      next = String(nextPageToken);
    }
    return listed.slice(0, MAX_MODELS);
  },

  async *chat(zz, preset, request, signal) {
    const reading: Reading = { chars: 0, calls: 0, text: false };
    const answer = await send(zz, preset, request, signal);
    for await (const batch of valuesOf(answer, PROTOCOL, preset.name)) {
      yield readAll(reading, batch);
      if (reading.ended) break;
    }
    const { finish, calls, text } = reading;
    if (finish === "stop" && !calls && !text)
      throw fault("Gemini's answer was empty. Try again.", { transient: true });
    if (finish) yield [{ finish }];
  },
};

const plainName = (id: string): string => id.replace(/^models\//, "");

// ── The request ──

/**
 * The base address. The one that is set may lack the version, or lead to the layer for OpenAI's
 * clients.
 */
function base(preset: Preset, endpoint: Endpoint): string {
  const url = baseOf(preset, endpoint)
    .replace(/\/models(\/.*)?$/, "")
    .replace(/\/openai$/, "");
  return /\/v\d\w*($|[/?])/.test(url) ? url : `${url}/v1beta`;
}

const OTHER_VARIABLE = "GOOGLE_API_KEY";
function headers(zz: Zz<any>, preset: Preset, endpoint: Endpoint): Record<string, string> {
  const otherKey = preset.name === "gemini" && zz.io.variable(OTHER_VARIABLE);
  const key = endpoint.key ?? (otherKey ? zz.secret(otherKey) : undefined);
  needKey(preset, { ...endpoint, ...(key && { key }) }, OTHER_VARIABLE);
  return {
    "content-type": "application/json",
    accept: "text/event-stream",
    ...(key && { "x-goog-api-key": `${key}` }),
  };
}

async function send(
  zz: Zz<any>,
  preset: Preset,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const url = base(preset, request.endpoint);
  const without = refusedOf(url, request.model);
  for (;;) {
    const body = bodyOf(request, without);
    const name = /^(models|tunedModels)\//.test(request.model)
      ? request.model
      : `models/${request.model}`;
    try {
      return await zz.fetch(`${url}/${encodeURI(name)}:streamGenerateContent?alt=sse`, {
        method: "POST",
        headers: headers(zz, preset, request.endpoint),
        body: toJson(body),
        signal,
      });
    } catch (error) {
      const { status, message } = error as Error & { status?: number };
      const text = toJson(body);
      const [refused] =
        REFUSED.find(
          ([name, words, sent]) => !without.has(name) && words.test(message) && text.includes(sent),
        ) ?? [];
      if (status !== 400 || !refused) throw error;
      without.add(refused);
    }
  }
}

/**
 * [what to send differently, what the refusal says, what was sent]. The first match counts; each is
 * used once.
 */
const REFUSED: [name: string, words: RegExp, sent: string][] = [
  [
    "parametersJsonSchema",
    /parameters_?json_?schema|function_declarations/i,
    '"parametersJsonSchema":',
  ],
  [
    "ownSignatures",
    /(corrupted|invalid) thought|thought_?\s?signature.*(not valid|invalid|corrupt)/i,
    '"thoughtSignature":',
  ],
  ["signatures", /thought_?signature/i, '"functionCall":'],
  [
    "format",
    /response[_ ]?mime[_ ]?type|response_?(json_?)?schema|json mode/i,
    '"responseMimeType":',
  ],
  ["thinkingLevel", /thinking_?level/i, '"thinkingLevel":'],
  ["thinkingBudget", /thinking_?budget|budget/i, '"thinkingBudget":'],
  ["thinkingConfig", /think|includeThoughts|include_thoughts/i, '"thinkingConfig":'],
  ["systemInstruction", /(developer|system)_? ?instruction/i, '"systemInstruction":'],
  ["functionId", /Unknown name "id"/, '"functionResponse":'],
];

/** Options that are fields of the request itself; all others go into generationConfig. */
const TOP =
  /^(tools|toolConfig|tool_config|safetySettings|safety_settings|cachedContent|cached_content|labels|systemInstruction|contents)$/;

function bodyOf(request: ChatRequest, without: Set<string>): Record<string, unknown> {
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

// ── Messages ──

interface Content {
  role: "user" | "model";
  parts: any[];
}
/**
 * The extra of a part. at: where it begins and ends in the text; id: that of a call, if the server
 * gave one.
 */
interface Extra {
  thoughtSignature?: string;
  at?: [from: number, to: number];
  id?: string;
}
/**
 * Stands in for the signature on calls of other models, which this one cannot read, as Gemini's
 * makers advise.
 */
const NO_SIGNATURE = "skip_thought_signature_validator";

function toWire(messages: Message[], model: string, without: Set<string>): Content[] {
  const isStrict =
    without.has("signatures") ||
    without.has("ownSignatures") ||
    /^gemini-[3-9]/.test(plainName(model));
  const contents: Content[] = [];
  const ids = new Map<string, string>(); // ids of calls, as the server gave them
  let results: Content | undefined;
  for (const message of messages) {
    if (message.role === "tool") {
      if (!results) contents.push((results = { role: "user", parts: [] }));
      results.parts.push(...resultParts(message, ids.get(message.id), isStrict));
      continue;
    }
    results = undefined;
    if (message.role === "user") {
      const parts = [
        ...textPart(message.text),
        ...(message.images ?? []).map((image) => file(image)),
      ];
      if (parts.length) contents.push({ role: "user", parts });
      continue;
    }
    for (const { id, extra } of message.calls ?? []) {
      const callId = (extra as Extra)?.id;
      if (callId && !without.has("functionId")) ids.set(id, callId);
    }
    const isOwn =
      !without.has("ownSignatures") && (!message.model || message.model.endsWith(`/${model}`));
    const calls = (message.calls ?? []).map(({ extra, ...call }, i) =>
      callPart({ ...call, ...(isOwn && { extra }) }, ids.get(call.id), isStrict && i === 0),
    );
    const parts = [
      ...textParts(message.text, isOwn ? ((message.extra ?? []) as Extra[]) : []),
      ...calls,
    ];
    if (parts.length) contents.push({ role: "model", parts });
  }
  if (contents[0]?.role === "model")
    contents.unshift({ role: "user", parts: [{ text: "Go on." }] });
  return contents;
}

const textPart = (text: string): any[] => (text ? [{ text }] : []);

/** Splits the text so that what was signed is a part of its own again. */
function textParts(text: string, extras: Extra[]): any[] {
  const signed = extras.flatMap(({ thoughtSignature, at }) =>
    thoughtSignature ? [{ thoughtSignature, at }] : [],
  );
  if (signed.some(({ at }) => !at || at[1] > text.length)) {
    const { thoughtSignature } = signed.at(-1)!; // the text has changed since
    return text ? [{ text, thoughtSignature }] : [];
  }
  const parts: any[] = [];
  let end = 0;
  for (const { thoughtSignature, at } of signed) {
    const [from, to] = at!;
    parts.push(...textPart(text.slice(end, from)), {
      text: text.slice(from, to),
      thoughtSignature,
    });
    end = Math.max(end, to);
  }
  return [...parts, ...textPart(text.slice(end))];
}

const plainTool = (name: string): string => name.replace(/[^\w.-]/g, "_").slice(0, 64) || "unknown";

function callPart({ name, args, extra }: Call, id: string | undefined, isStrict: boolean) {
  const thoughtSignature =
    (extra as Extra)?.thoughtSignature ?? (isStrict ? NO_SIGNATURE : undefined);
  return {
    functionCall: { ...(id && { id }), name: plainTool(name), args },
    ...(thoughtSignature && { thoughtSignature }),
  };
}

/** From 3 on, a result may hold files; before that, they follow it. */
function resultParts(
  message: Message & { role: "tool" },
  id: string | undefined,
  isNew: boolean,
): any[] {
  const { name, text, failed, images = [] } = message;
  const files = images.map((image) => file(image));
  const holds = isNew && files.length ? { parts: files } : {};
  const response = failed ? { error: text } : { output: text };
  return [
    { functionResponse: { ...(id && { id }), name: plainTool(name), response, ...holds } },
    ...(isNew ? [] : files),
  ];
}

const file = ({ type, base64 }: Image) => ({ inlineData: { mimeType: type, data: base64 } });

// ── The answer ──

interface Reading {
  chars: number; // of the text so far
  calls: number;
  text: boolean;
  finish?: string;
  usage?: any;
  ended?: true;
}
const FILTERED =
  /^(SAFETY|PROHIBITED_CONTENT|RECITATION|BLOCKLIST|SPII|LANGUAGE|IMAGE_\w+|MODEL_ARMOR)$/;
/** Slips of the model: another try may well succeed. */
const SLIPS = /^(MALFORMED_FUNCTION_CALL|MALFORMED_RESPONSE|UNEXPECTED_TOOL_CALL|NO_IMAGE|OTHER)$/;

function* readAll(reading: Reading, batch: Value[]): Generator<Delta> {
  for (const { event, value } of batch) {
    const isError = event === "error" || value?.error;
    if (isError && reading.finish) reading.ended = true; // the answer was complete
    if (reading.ended) break;
    if (isError) yield { error: value };
    yield* deltas(reading, value);
  }
  // the usage comes with each piece, and grows
  if (reading.usage) yield { usage: usageOf(reading.usage) };
  delete reading.usage;
}

function* deltas(reading: Reading, value: any): Generator<Delta> {
  if (value === undefined) yield { text: "" };
  if (!value || typeof value !== "object") return;
  const { candidates, promptFeedback, usageMetadata } = value;
  const first = objectsIn(candidates).find((candidate) => (candidate.index ?? 0) === 0);
  for (const part of objectsIn(first?.content?.parts)) yield* partDeltas(reading, part);
  if (usageMetadata) reading.usage = usageMetadata;
  if (promptFeedback?.blockReason) reading.finish = "filter";
  const reason = first?.finishReason;
  if (reason && reason !== "FINISH_REASON_UNSPECIFIED")
    reading.finish = finishOf(reading, reason, first.finishMessage);
  yield { text: "" };
}

function finishOf({ text, calls }: Reading, reason: string, message = ""): string {
  if (reason === "MAX_TOKENS") return "length";
  if (FILTERED.test(reason)) return "filter";
  if (!SLIPS.test(reason) || (reason === "OTHER" && (text || calls))) return "stop";
  const explanation = message ? `: ${String(message).slice(0, 200)}` : "";
  throw fault(`Gemini gave up in the middle of its answer (${reason}${explanation}). Try again.`, {
    transient: true,
  });
}

function* partDeltas(reading: Reading, part: any): Generator<Delta> {
  const { text, thought, functionCall, executableCode, codeExecutionResult } = part;
  const thoughtSignature = part.thoughtSignature ?? part.thought_signature;
  if (functionCall) {
    const { id, name, args } = functionCall;
    const extra = { ...(thoughtSignature && { thoughtSignature }), ...(id && { id }) };
    const index = reading.calls++;
    yield {
      call: {
        index,
        id: id || newCall(),
        name,
        args: args ?? {},
        ...(Object.keys(extra).length && { extra }),
      },
    };
    return;
  }
  const finished =
    text ??
    (executableCode
      ? fenced("python", executableCode.code)
      : codeExecutionResult && fenced("", codeExecutionResult.output));
  const from = reading.chars;
  if (thought === true) yield { thinking: String(finished ?? "") };
  else if (finished) {
    reading.chars += String(finished).length;
    reading.text ||= String(finished).trim() !== "";
    yield { text: String(finished) };
  }
  if (thoughtSignature)
    yield { extra: { thoughtSignature, at: [from, reading.chars] } satisfies Extra };
}

const fenced = (language: string, code: unknown): string =>
  `\n\`\`\`${language}\n${String(code ?? "").trimEnd()}\n\`\`\`\n`;
const newCall = (): string => `call_${Math.random().toString(36).slice(2, 10)}`;

/**
 * Gemini counts what it read from the cache as input, but what it thought apart from the output; zz
 * adds that.
 */
function usageOf(usage: any): Usage {
  const {
    promptTokenCount = 0,
    toolUsePromptTokenCount = 0,
    candidatesTokenCount = 0,
    thoughtsTokenCount = 0,
  } = usage;
  const cached = usage.cachedContentTokenCount;
  return {
    input: promptTokenCount + toolUsePromptTokenCount,
    output: candidatesTokenCount + thoughtsTokenCount,
    ...(cached && { cached }),
  };
}
