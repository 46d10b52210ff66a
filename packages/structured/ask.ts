// Gets an answer that fits a schema: asks for it in words and in the provider's own mode, continues
// one that was cut,
// checks it, and asks again if it does not fit.
import type { ChatRequest, Reply, Usage } from "zz";
import { fault, joinHalves, readJson, sumUsage } from "zz/text";
import type { JsonSchema } from "./schema.ts";

type Next = (request: ChatRequest) => Promise<Reply>;

const TRIES_AGAIN = 2;
const CONTINUATIONS = 2;

const DRAFT = "https://json-schema.org/draft/2020-12/schema";
const WANTED =
  "Your last message, the one without tool calls, is read by a program. It must be one JSON value that fits this JSON Schema, without a word or a fence around it:";
const CONTINUE =
  "Your JSON was cut off by the output limit. Continue exactly where it stopped; repeat nothing.";

/**
 * Returns a reply with calls unchanged. The text of the last reply is JSON that fits, and nothing
 * else.
 */
export async function askFor(schema: JsonSchema, request: ChatRequest, next: Next): Promise<Reply> {
  // without it { type: "integer" } is the shorthand of tools
  const shape: JsonSchema = { $schema: DRAFT, ...schema };
  const words = `--- ANSWER ---\n${WANTED}\n${JSON.stringify(schema)}\n--- END ANSWER ---`;
  const spent: (Usage | undefined)[] = [];
  const send = recordingUsage(next, spent);
  let asked: ChatRequest = {
    ...request,
    system: [request.system, words].filter(Boolean).join("\n\n"),
    schema,
  };
  for (let tries = TRIES_AGAIN; ; tries--) {
    const reply = await completed(asked, shape, send);
    const cost = spent.some(Boolean) && { usage: sumUsage(spent) };
    if (reply.calls.length && asked.tools.length) return { ...reply, ...cost };
    if (reply.finish === "refusal") throw fault(`The model refused to answer: ${reply.text}`);
    if (reply.finish === "filter")
      throw fault(
        "The provider's content filter withheld the answer. Put the question differently.",
        { exit: 3 },
      );
    const { value, json, wrong } = await readJson(reply.text, shape);
    if (!wrong)
      return { ...reply, ...cost, text: compact(json!, value), data: value, finish: "stop" };
    const reason = reply.finish === "length" ? `${wrong}, for the output limit cut it off` : wrong;
    if (!tries)
      throw fault(`${unfit(reason)}${reply.text.trim() && ` The last answer was:\n${reply.text}`}`);
    asked = {
      ...asked,
      tools: [], // only the form of the answer must change
      messages: [
        ...request.messages,
        { role: "assistant", text: reply.text, ...(reply.model && { model: reply.model }) },
        {
          role: "user",
          text: `That does not fit: ${reason}. Answer again, with nothing but JSON that fits the schema.`,
        },
      ],
    };
  }
}

const unfit = (reason: string): string =>
  `The answer does not fit the schema, after ${TRIES_AGAIN + 1} tries: ${reason}. Ask for less, or another model.`;

/**
 * Records the usage of each request. A server that does not know schemas is asked again in words
 * alone.
 */
function recordingUsage(next: Next, spent: (Usage | undefined)[]): Next {
  return async (request) => {
    const reply = await next(request).catch((error: Error & { status?: number }) => {
      const isAboutSchema =
        /schema|format|json/i.test(error.message) && [400, 422, 501].includes(error.status ?? 0);
      if (!isAboutSchema || !request.schema) throw error;
      return next(inWords(request));
    });
    spent.push(reply.usage);
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
async function completed(request: ChatRequest, schema: JsonSchema, send: Next): Promise<Reply> {
  let reply = await send(request);
  for (let remaining = CONTINUATIONS; remaining && (await isCut(reply, schema)); remaining--) {
    const { text } = reply;
    const continued = await send({
      ...inWords(request),
      tools: [],
      messages: [
        ...request.messages,
        { role: "assistant", text },
        { role: "user", text: CONTINUE },
      ],
    });
    const joined = [text + continued.text, joinHalves(text, continued.text), continued.text];
    const read = await Promise.all(joined.map((text) => readJson(text, schema)));
    const fits = read.findIndex(({ wrong }) => !wrong);
    reply = { ...continued, calls: [], text: joined[Math.max(0, fits)]! };
  }
  return reply;
}

const isCut = async ({ finish, text, calls }: Reply, schema: JsonSchema): Promise<boolean> =>
  finish === "length" &&
  Boolean(text) &&
  !calls.length &&
  Boolean((await readJson(text, schema)).wrong);

/** The JSON on one line: as the model wrote it, or with the defaults if some were filled in. */
function compact(json: string, value: unknown): string {
  const plain = JSON.stringify(value);
  return JSON.stringify(JSON.parse(json)) === plain ? laidOut(json) : plain;
}

/**
 * JSON on one line, or indented. Numbers stay as written, since JSON.parse would change
 * 12345678901234567890.
 */
export function laidOut(json: string, indent = 0): string {
  const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => unknown };
  const exact = (_: string, part: unknown, context?: { source?: string }) =>
    typeof part === "number" && context?.source && rawJSON ? rawJSON(context.source) : part;
  return JSON.stringify(
    JSON.parse(json, exact as (key: string, value: unknown) => unknown),
    null,
    indent,
  );
}
