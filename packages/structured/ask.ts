// Gets an answer that fits a schema: asks for it in words and in the provider's own mode, continues
// one that was cut,
// checks it, and asks again if it does not fit.
import type { ChatRequest, Reply, Usage } from "zz";
import { fault, joinHalves, readJson, sumUsage } from "zz/text";
import type { JsonSchema } from "./schema.ts";

type Next = (request: ChatRequest) => Promise<Reply>;

const TRIES_AGAIN = 2;
const CONTINUATIONS = 2;

const SCHEMA_DRAFT = "https://json-schema.org/draft/2020-12/schema";
const ANSWER_RULE =
  "Your last message, the one without tool calls, is read by a program. " +
  "It must be one JSON value that fits this JSON Schema, without a word or a fence around it:";
const CONTINUE =
  "Your JSON was cut off by the output limit. Continue exactly where it stopped; repeat nothing.";

/**
 * Returns a reply with calls unchanged. The text of the last reply is JSON that fits, and nothing
 * else.
 */
export async function askFor(schema: JsonSchema, request: ChatRequest, next: Next): Promise<Reply> {
  // without it { type: "integer" } is the shorthand of tools
  const fullSchema: JsonSchema = { $schema: SCHEMA_DRAFT, ...schema };
  const schemaText = JSON.stringify(schema);
  const instructions = `--- ANSWER ---\n${ANSWER_RULE}\n${schemaText}\n--- END ANSWER ---`;
  const usageRecords: (Usage | undefined)[] = [];
  const sendRequest = recordingUsage(next, usageRecords);
  let sentRequest: ChatRequest = {
    ...request,
    system: [request.system, instructions].filter(Boolean).join("\n\n"),
    schema,
  };
  for (let remainingTries = TRIES_AGAIN; ; remainingTries--) {
    const reply = await completed(sentRequest, fullSchema, sendRequest);
    const totalUsage = usageRecords.some(Boolean) && { usage: sumUsage(usageRecords) };
    if (reply.calls.length && sentRequest.tools.length) return { ...reply, ...totalUsage };
    if (reply.finish === "refusal") throw fault(`The model refused to answer: ${reply.text}`);
    if (reply.finish === "filter")
      throw fault(
        "The provider's content filter withheld the answer. Put the question differently.",
        { exit: 3 },
      );
    const { value, json, wrong } = await readJson(reply.text, fullSchema);
    if (!wrong)
      return { ...reply, ...totalUsage, text: compact(json!, value), data: value, finish: "stop" };
    const reason = reply.finish === "length" ? `${wrong}, for the output limit cut it off` : wrong;
    if (!remainingTries)
      throw fault(
        `${describeMisfit(reason)}${reply.text.trim() && ` The last answer was:\n${reply.text}`}`,
      );
    sentRequest = {
      ...sentRequest,
      tools: [], // only the form of the answer must change
      messages: [
        ...request.messages,
        { role: "assistant", text: reply.text, ...(reply.model && { model: reply.model }) },
        {
          role: "user",
          text:
            `That does not fit: ${reason}. ` +
            "Answer again, with nothing but JSON that fits the schema.",
        },
      ],
    };
  }
}

const describeMisfit = (reason: string): string =>
  `The answer does not fit the schema, after ${TRIES_AGAIN + 1} tries: ${reason}. ` +
  "Ask for less, or another model.";

/**
 * Records the usage of each request. A server that does not know schemas is asked again in words
 * alone.
 */
function recordingUsage(next: Next, usageRecords: (Usage | undefined)[]): Next {
  return async (request) => {
    const reply = await next(request).catch((error: Error & { status?: number }) => {
      const isAboutSchema =
        /schema|format|json/i.test(error.message) && [400, 422, 501].includes(error.status ?? 0);
      if (!isAboutSchema || !request.schema) throw error;
      return next(inWords(request));
    });
    usageRecords.push(reply.usage);
    return reply;
  };
}

function inWords({ schema: _, ...request }: ChatRequest): ChatRequest {
  return request;
}

/**
 * Completes an answer that the output limit cut. Asks for the rest without the schema, whose mode
 * would start over.
 */
async function completed(
  request: ChatRequest,
  schema: JsonSchema,
  sendRequest: Next,
): Promise<Reply> {
  let reply = await sendRequest(request);
  for (let remaining = CONTINUATIONS; remaining && (await isCutOff(reply, schema)); remaining--) {
    const { text } = reply;
    const continued = await sendRequest({
      ...inWords(request),
      tools: [],
      messages: [
        ...request.messages,
        { role: "assistant", text },
        { role: "user", text: CONTINUE },
      ],
    });
    const joinedTexts = [text + continued.text, joinHalves(text, continued.text), continued.text];
    const parseResults = await Promise.all(
      joinedTexts.map((joinedText) => readJson(joinedText, schema)),
    );
    const fittingIndex = parseResults.findIndex(({ wrong }) => !wrong);
    reply = { ...continued, calls: [], text: joinedTexts[Math.max(0, fittingIndex)]! };
  }
  return reply;
}

const isCutOff = async ({ finish, text, calls }: Reply, schema: JsonSchema): Promise<boolean> =>
  finish === "length" &&
  Boolean(text) &&
  !calls.length &&
  Boolean((await readJson(text, schema)).wrong);

/** The JSON on one line: as the model wrote it, or with the defaults if some were filled in. */
function compact(jsonText: string, jsonValue: unknown): string {
  const plainJson = JSON.stringify(jsonValue);
  return JSON.stringify(JSON.parse(jsonText)) === plainJson ? laidOut(jsonText) : plainJson;
}

/**
 * JSON on one line, or indented. Numbers stay as written, since JSON.parse would change
 * 12345678901234567890.
 */
export function laidOut(jsonText: string, indent = 0): string {
  const { rawJSON } = JSON as unknown as { rawJSON?: (numberText: string) => unknown };
  const keepExact = (_: string, jsonPart: unknown, context?: { source?: string }) =>
    typeof jsonPart === "number" && context?.source && rawJSON ? rawJSON(context.source) : jsonPart;
  return JSON.stringify(
    JSON.parse(jsonText, keepExact as (key: string, value: unknown) => unknown),
    null,
    indent,
  );
}
