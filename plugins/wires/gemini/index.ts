// Gemini's generateContent. A part's thought signature is sent back on the same part; calls have no
// ids here, so results are sent in the order of the calls.
import type { ChatRequest, Endpoint, HttpAnswer, Model, Zz } from "zz";
import { fault } from "zz/text";
import { modelsOfPages, valuesOf } from "../native.ts";
import { baseOf, needKey, type Preset, rememberByModel, toJson, type Wire } from "../wire-types.ts";
import { plainName } from "./contents.ts";
import { type Reading, readAll } from "./read-answer.ts";
import { bodyOf } from "./request.ts";

const WINDOWS: [names: RegExp, window: number][] = [
  [/^gemini-1\.5-pro/, 2_097_152],
  [/^gemini-(1\.5-flash|2|3)/, 1_048_576],
];
const knownWindow = (id: string): number | undefined =>
  WINDOWS.find(([namePattern]) => namePattern.test(id))?.[1];
const TAKES = ["image/*", "application/pdf", "audio/*", "video/*"];
const PROTOCOL = "Gemini's generateContent";

/** What a server refused, so that it is not sent again. */
const refusedOf = rememberByModel<Set<string>>(() => new Set());

export const gemini: Wire = {
  model(_preset, id) {
    const window = knownWindow(id);
    return window ? { id, window, tools: true, vision: true, takes: TAKES } : undefined;
  },

  async models(zz, preset, endpoint, signal) {
    const baseUrl = findBaseUrl(preset, endpoint);
    const listedModels = await modelsOfPages((pageToken) => {
      const tokenPart = pageToken && `&pageToken=${encodeURIComponent(pageToken)}`;
      return zz.fetch(`${baseUrl}/models?pageSize=1000${tokenPart}`, {
        headers: headers(zz, preset, endpoint),
        signal,
      });
    });
    return listedModels
      .filter(({ generates }) => generates)
      .map(({ id, window }) => withWindow(plainName(id), window));
  },

  async *chat(zz, preset, request, signal) {
    const reading: Reading = { chars: 0, calls: 0, text: false };
    const httpAnswer = await sendRequest(zz, preset, request, signal);
    for await (const valueBatch of valuesOf(httpAnswer, PROTOCOL, preset.name)) {
      yield readAll(reading, valueBatch);
      if (reading.ended) break;
    }
    const { finish, calls, text } = reading;
    if (finish === "stop" && !calls && !text)
      throw fault("Gemini's answer was empty. Try again.", { transient: true });
    if (finish) yield [{ finish }];
  },
};

const withWindow = (id: string, window = knownWindow(id)): Model => ({
  id,
  ...(window && { window }),
});

/**
 * The base address. The one that is set may lack the version, or lead to the layer for OpenAI's
 * clients.
 */
function findBaseUrl(preset: Preset, endpoint: Endpoint): string {
  const baseUrl = baseOf(preset, endpoint)
    .replace(/\/models(\/.*)?$/, "")
    .replace(/\/openai$/, "");
  return /\/v\d\w*($|[/?])/.test(baseUrl) ? baseUrl : `${baseUrl}/v1beta`;
}

const OTHER_VARIABLE = "GOOGLE_API_KEY";
function headers(zz: Zz, preset: Preset, endpoint: Endpoint): Record<string, string> {
  const otherKey = preset.name === "gemini" && zz.io.variable(OTHER_VARIABLE);
  const key = endpoint.key ?? (otherKey ? zz.secret(otherKey) : undefined);
  needKey(preset, key, findBaseUrl(preset, endpoint), OTHER_VARIABLE);
  return {
    "content-type": "application/json",
    accept: "text/event-stream",
    ...(key && { "x-goog-api-key": `${key}` }),
  };
}

async function sendRequest(
  zz: Zz,
  preset: Preset,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const baseUrl = findBaseUrl(preset, request.endpoint);
  const without = refusedOf(baseUrl, request.model);
  for (;;) {
    const requestBody = bodyOf(request, without);
    const modelPath = /^(models|tunedModels)\//.test(request.model)
      ? request.model
      : `models/${request.model}`;
    try {
      return await zz.fetch(`${baseUrl}/${encodeURI(modelPath)}:streamGenerateContent?alt=sse`, {
        method: "POST",
        headers: headers(zz, preset, request.endpoint),
        body: toJson(requestBody),
        signal,
      });
    } catch (requestError) {
      const { status, message } = requestError as Error & { status?: number };
      const sentText = toJson(requestBody);
      const [refused] =
        REFUSED.find(
          ([changeName, errorPattern, sentField]) =>
            !without.has(changeName) && errorPattern.test(message) && sentText.includes(sentField),
        ) ?? [];
      if (status !== 400 || !refused) throw requestError;
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
