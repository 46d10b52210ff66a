// Chat Completions, at OpenAI or any server that supports it. The stream is read here, since the
// official package's client discards error bodies other than `{"error": …}`, ends silently when a
// stream is cut off, and stops at the first line that is not JSON.
import type { ChatRequest, Delta, HttpAnswer, Model, Usage } from "zz";
import { type EventPiece, eventPieces } from "zz/text";
import { request, send } from "./client.ts";
import { toMessages } from "./messages.ts";
import { isDone, NoJson, noStream, objectsIn, parse, valuesIn, wordsOf } from "./sse.ts";
import { knownModel, knownWindow } from "./windows.ts";
import { type Quirks, quirksOf, type Wire } from "./wire-types.ts";

const MAX_MODELS = 10_000;

export const chat: Wire = {
  model: knownModel,

  async models(zz, preset, endpoint, signal) {
    const { models: listedModels } = quirksOf(preset, endpoint);
    if (Array.isArray(listedModels)) return listedModels.map((id) => ({ id }));
    const response = await request(zz, preset, endpoint, signal, (client) =>
      client.get(listedModels ?? "/models", { signal }),
    );
    const { readModelPage } = await import("./listed-models.ts");
    return readModelPage(await response.json())
      .models.slice(0, MAX_MODELS)
      .map(withWindow);
  },

  async *chat(zz, preset, request, signal) {
    const quirks = quirksOf(preset, request.endpoint);
    const httpAnswer = await send(zz, preset, request, signal, {
      to: "chat",
      bodyOf: (without) => buildBody(request, quirks, without),
      refused: (message, requestBody) =>
        Object.keys(requestBody).find(
          (fieldName) => OPTIONAL.includes(fieldName) && isNamed(fieldName, message),
        ),
    });
    yield* readStream(httpAnswer, preset.name);
  },
};

function withWindow({ id, window = knownWindow(id), price }: Model): Model {
  return { id, ...(window && { window }), ...(price && { price }) };
}

/** Fields that a strict server may refuse, and that an answer does not depend on. */
const OPTIONAL = [
  "stream_options",
  "parallel_tool_calls",
  "tool_choice",
  "temperature",
  "top_p",
  "reasoning_effort",
  "reasoning",
  "thinking",
  "enable_thinking",
  "response_format",
  "max_tokens",
  "max_completion_tokens",
];

/**
 * Whether a refusal names the field. A plain word may occur in any sentence, so it must be written
 * as a field.
 */
const isNamed = (fieldName: string, message: string): boolean =>
  fieldName.includes("_")
    ? message.includes(fieldName)
    : new RegExp(`(['"\`.])${fieldName}\\b|\\b${fieldName}:`).test(message);

function buildBody(
  request: ChatRequest,
  quirks: Quirks,
  without: Set<string>,
): Record<string, unknown> {
  const { model, messages, tools, options, effort, schema } = request;
  const systemPrompt =
    schema && quirks.schema === "json_object"
      ? asksForJson(request.system, schema)
      : request.system;
  const role = quirks.developer?.test(model) ? "developer" : "system";
  const requestBody: Record<string, unknown> = {
    model,
    messages: [
      ...(systemPrompt ? [{ role, content: systemPrompt }] : []),
      ...toMessages(messages, model, quirks),
    ],
    stream: true,
    stream_options: { include_usage: true },
    ...(tools.length &&
      quirks.tools !== false && {
        tools: tools.map(({ name, description, schema }) => ({
          type: "function",
          function: { name, description, parameters: schema },
        })),
      }),
    ...(effort && effortFields(effort, quirks)),
    ...(schema && { response_format: formatOf(schema, quirks) }),
    ...options,
  };
  // Every server knows one of the two: swap rather than lose the limit.
  const [limitFields, maxField] = [["max_tokens", "max_completion_tokens"], quirks.max];
  for (const [limitField = "", otherName = ""] of [limitFields, limitFields.toReversed()]) {
    const isOther = maxField
      ? maxField !== limitField
      : without.has(limitField) && !without.has(otherName);
    if (requestBody[limitField] === undefined || !isOther) continue;
    requestBody[otherName] ??= requestBody[limitField];
    delete requestBody[limitField];
  }
  for (const omittedField of [...without, ...(quirks.without ?? [])])
    delete requestBody[omittedField];
  return requestBody;
}

function effortFields(
  effort: NonNullable<ChatRequest["effort"]>,
  { effort: effortMode }: Quirks,
): object {
  const isThinking = effort !== "none";
  if (effortMode === "thinking") return { thinking: { type: isThinking ? "enabled" : "disabled" } };
  if (effortMode === "enable_thinking") return { enable_thinking: isThinking };
  if (effortMode === "reasoning")
    return { reasoning: isThinking ? { effort } : { enabled: false } };
  return { reasoning_effort: effortMode === "high" && isThinking ? "high" : effort };
}

function formatOf(schema: Record<string, unknown>, { schema: formatMode }: Quirks): object {
  if (formatMode === "json_object") return { type: "json_object" };
  const strict = formatMode === "strict" && isClosed(schema);
  return {
    type: "json_schema",
    json_schema: { name: "answer", schema, ...(strict && { strict }) },
  };
}

/** For a server that takes no schema: the prompt must give it, and must contain the word JSON. */
const asksForJson = (systemPrompt: string, schema: object): string =>
  (
    `${systemPrompt}\n\nAnswer with one JSON value that fits this JSON Schema, ` +
    `and nothing else:\n${JSON.stringify(schema)}`
  ).trim();

/**
 * Whether a server can enforce the schema: each object lists all of its fields, requires them and
 * allows no others.
 */
export function isClosed(schema: any): boolean {
  if (Array.isArray(schema)) return schema.every(isClosed);
  if (typeof schema !== "object" || !schema) return true;
  const { type, properties, required = [], additionalProperties } = schema;
  if (type === "object" || properties) {
    const propertyNames = Object.keys(properties ?? {});
    if (
      additionalProperties !== false ||
      !propertyNames.every((propertyName) => required.includes(propertyName))
    )
      return false;
    if (!Object.values(properties ?? {}).every(isClosed)) return false;
  }
  return ["items", "anyOf", "$defs"].every((schemaKey) =>
    isClosed(schemaKey === "$defs" ? Object.values(schema.$defs ?? {}) : schema[schemaKey]),
  );
}

/** What has been read of one stream. */
interface Reading {
  seen?: boolean; // something other than a finish or usage came
  finished?: boolean;
  ended?: boolean; // [DONE]: what follows does not count
  isWhole?: boolean; // the usage came last, so nothing was cut off
  isRefusal?: boolean; // a field of its own says so, while the finish reason says "stop"
  details: Map<unknown, any>; // a gateway's pieces of thinking, by index
}

/** The stream as deltas: server-sent events, or one JSON body from servers that do not stream. */
async function* readStream(
  response: HttpAnswer,
  providerName: string,
): AsyncGenerator<Iterable<Delta>> {
  const reading: Reading = { details: new Map() };
  for await (const pieceBatch of eventPieces(response, providerName)) {
    yield readAll(reading, pieceBatch);
    if (reading.ended) return;
  }
  if (reading.seen && !reading.finished && reading.isWhole) yield finishAnswer(reading, "stop");
}

function* readAll(reading: Reading, pieceBatch: EventPiece[]): Generator<Delta> {
  for (const eventPiece of pieceBatch) {
    if ("alive" in eventPiece)
      yield { text: "" }; // a keep-alive: nothing to show, but a sign of life
    else if ("rest" in eventPiece) yield* readWhole(reading, eventPiece.rest);
    else {
      const { event, data } = eventPiece;
      if (event === "error") yield { error: parse(data) ?? data };
      if (isDone(data)) {
        if (reading.seen && !reading.finished) yield* finishAnswer(reading, "stop");
        reading.ended = true;
        return;
      }
      for (const chunk of valuesIn(data)) yield* readChunk(reading, chunk);
    }
  }
}

/** Reads what is not a stream: a whole answer, an error, or a web page. */
function* readWhole(reading: Reading, bodyText: string): Generator<Delta> {
  const parsedBody = parse(bodyText);
  if (parsedBody === undefined && !reading.seen) yield { error: noStream(bodyText) };
  if (parsedBody === undefined) return;
  yield* readDeltas(parsedBody);
  if (refuses(parsedBody)) yield { finish: "refusal" };
  reading.finished = true;
}

function* readChunk(reading: Reading, chunk: any): Generator<Delta> {
  if (chunk instanceof NoJson) return yield { error: chunk.words };
  reading.isRefusal ||= refuses(chunk);
  reading.isWhole = Boolean(chunk?.usage && chunk.choices?.length === 0);
  const thought = choiceOf(chunk)?.delta?.reasoning_details;
  if (thought) gatherThoughts(reading.details, thought);
  for (const chunkDelta of readDeltas(chunk)) {
    if ("finish" in chunkDelta) yield* finishAnswer(reading, chunkDelta.finish);
    else {
      if (!("usage" in chunkDelta)) reading.seen = true;
      yield chunkDelta;
    }
  }
}

function finishAnswer(reading: Reading, finishReason: string): Delta[] {
  reading.finished = true;
  const thoughtDetails = [...reading.details.values()];
  reading.details.clear();
  const extraDeltas = thoughtDetails.length
    ? [{ extra: { reasoning_details: thoughtDetails } }]
    : [];
  return [
    ...extraDeltas,
    { finish: finishReason === "stop" && reading.isRefusal ? "refusal" : finishReason },
  ];
}

/**
 * Joins a gateway's pieces of thinking that have the same index; they must be sent back unchanged.
 */
function gatherThoughts(gathered: Map<unknown, any>, newPieces: unknown): void {
  for (const thoughtPiece of Array.isArray(newPieces) ? newPieces : []) {
    if (typeof thoughtPiece !== "object" || !thoughtPiece) continue;
    const earlierPiece = gathered.get(thoughtPiece.index ?? gathered.size);
    const joinedPiece = { ...earlierPiece, ...thoughtPiece };
    for (const textField of ["text", "summary", "data"])
      if (
        typeof earlierPiece?.[textField] === "string" &&
        typeof thoughtPiece[textField] === "string"
      )
        joinedPiece[textField] = earlierPiece[textField] + thoughtPiece[textField];
    gathered.set(thoughtPiece.index ?? gathered.size, joinedPiece);
  }
}

/** The first answer, if the server gives several. */
const choiceOf = (chunk: any): any => objectsIn(chunk?.choices).find((choice) => !choice.index);

const refuses = (chunk: any): boolean =>
  Boolean((choiceOf(chunk)?.delta ?? choiceOf(chunk)?.message)?.refusal);

function* readDeltas(parsedChunk: any): Generator<Delta> {
  const chunk = Array.isArray(parsedChunk) ? parsedChunk[0] : parsedChunk;
  const choice = choiceOf(chunk);
  const choiceDelta = choice?.delta ?? choice?.message;
  yield* content(choiceDelta?.content);
  const thinking =
    choiceDelta?.reasoning_content ||
    choiceDelta?.reasoning ||
    choiceDelta?.reasoning_text ||
    choiceDelta?.thinking;
  if (typeof thinking === "string" && thinking) yield { thinking };
  if (choiceDelta?.extra_content) yield { extra: choiceDelta.extra_content };
  if (choiceDelta?.refusal) yield { text: wordsOf(choiceDelta.refusal) };
  for (const toolCall of objectsIn(choiceDelta?.tool_calls))
    yield {
      call: {
        index: toolCall.index,
        id: toolCall.id,
        name: toolCall.function?.name,
        args: toolCall.function?.arguments,
        extra: toolCall.extra_content,
      },
    };
  if (choiceDelta?.function_call)
    yield {
      call: {
        index: 0,
        name: choiceDelta.function_call.name,
        args: choiceDelta.function_call.arguments,
      },
    };
  const usageCounts = chunk?.usage ?? choice?.usage ?? chunk?.x_groq?.usage;
  if (usageCounts) yield { usage: usageOf(usageCounts) };
  if (chunk?.error) yield { error: chunk };
  if (wordsOf(choice?.finish_reason)) yield { finish: choice.finish_reason };
  else if (chunk?.detail || (chunk?.object === "error" && chunk.message)) yield { error: chunk };
}

/** Servers use different names for what they read from their cache and wrote into it. */
function usageOf(usageCounts: any): Usage {
  const {
    prompt_tokens: input = 0,
    completion_tokens: output = 0,
    prompt_tokens_details: details,
  } = usageCounts;
  const cached =
    details?.cached_tokens ??
    usageCounts.prompt_cache_hit_tokens ??
    usageCounts.cache_read_input_tokens ??
    usageCounts.cached_tokens;
  const written = details?.cache_write_tokens ?? usageCounts.cache_creation_input_tokens;
  return { input, output, ...(cached && { cached }), ...(written && { written }) };
}

/** Text, or parts of text and thinking. */
function* content(contentParts: unknown): Generator<Delta> {
  if (typeof contentParts === "string") {
    if (contentParts) yield { text: contentParts };
  } else if (Array.isArray(contentParts))
    for (const contentPart of contentParts) {
      if (contentPart?.type === "thinking") yield { thinking: joinText(contentPart.thinking) };
      else if (contentPart?.type === "text" || typeof contentPart === "string")
        yield { text: joinText(contentPart.text ?? contentPart) };
    }
}

const joinText = (textPart: unknown): string =>
  Array.isArray(textPart)
    ? textPart.map((childPart) => wordsOf(childPart?.text)).join("")
    : wordsOf(textPart);
