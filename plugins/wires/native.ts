// What the two native wires share: they read events as values, and explain any stream that is not
// of their protocol.
import type { HttpAnswer } from "zz";
import { eventPieces, fault } from "zz/text";
import { NoJson, noStream, parse, valuesIn } from "./sse.ts";

const MAX_MODELS = 10_000;
const MAX_PAGES = 50; // of the list of models

/** The protocols, and how to recognize a value of each. */
const PROTOCOLS: [name: string, signs: (eventValue: any) => unknown][] = [
  ["Chat Completions", ({ choices }) => Array.isArray(choices)],
  ["OpenAI's Responses", ({ type, object }) => /^response\./.test(type) || object === "response"],
  ["Gemini's generateContent", ({ candidates, promptFeedback }) => candidates ?? promptFeedback],
  ["Anthropic's Messages", ({ type }) => /^(message|content_block)(_|$)/.test(type)],
  ["Ollama's own API", ({ done, message }) => typeof done === "boolean" && message],
];

/** One value of the stream: an event "error" has the server's words, a keep-alive has undefined. */
export interface Value {
  event?: string | undefined;
  value: any;
}

/**
 * The stream's events as values, in batches as they arrived. A JSON body comes as one value for
 * each of its parts.
 */
export async function* valuesOf(
  httpAnswer: HttpAnswer,
  protocol: string,
  provider: string,
): AsyncGenerator<Value[]> {
  const decoder = new TextDecoder();
  let [isStream, rawText] = [false, ""];
  async function* collectBody(): AsyncGenerator<Uint8Array> {
    for await (const bodyBytes of httpAnswer.body) {
      if (!isStream) rawText += decoder.decode(bodyBytes, { stream: true });
      yield bodyBytes;
    }
  }
  for await (const pieceBatch of eventPieces({ ...httpAnswer, body: collectBody() }, provider)) {
    const batchValues: Value[] = [];
    for (const eventPiece of pieceBatch) {
      if ("alive" in eventPiece) batchValues.push({ value: undefined });
      if (!("data" in eventPiece)) continue;
      const { event, data } = eventPiece;
      const parsedData = parse(data);
      const errorValues = event === "error" ? [data] : undefined;
      for (const value of parsedData === undefined
        ? (errorValues ?? valuesIn(data))
        : [parsedData]) {
        if (!isStream) refuseOther(value, protocol, provider);
        batchValues.push(
          value instanceof NoJson ? { event: "error", value: value.words } : { event, value },
        );
      }
      isStream = true;
      rawText = "";
    }
    if (batchValues.length) yield batchValues;
  }
  rawText = rawText.replaceAll(/^:.*$/gm, ""); // comments keep a connection alive
  if (isStream || !rawText.trim()) return;
  const parsedArgs = parse(rawText) ?? parse(rawText.trim().split("\n")[0]!);
  if (parsedArgs === undefined) yield [{ event: "error", value: noStream(rawText) }];
  for (const value of [parsedArgs].flat()) {
    refuseOther(value, protocol, provider);
    yield [{ value }];
  }
}

function refuseOther(eventValue: any, ownWire: string, provider: string): void {
  const [spokenProtocol] =
    PROTOCOLS.find(
      ([, hasSigns]) => eventValue && typeof eventValue === "object" && hasSigns(eventValue),
    ) ?? [];
  if (spokenProtocol && spokenProtocol !== ownWire)
    throw fault(
      `Cannot read the answer of '${provider}': ` +
        `the server speaks ${spokenProtocol}, not ${ownWire}. ` +
        "Check --base-url, or name the provider that speaks so in --model.",
    );
}

/** The models of all pages of a list; a page is asked for by what the one before it says. */
export async function modelsOfPages(askPage: (cursor: string) => Promise<HttpAnswer>) {
  const { readModelPage } = await import("./listed-models.ts");
  const listedModels = [];
  let cursor = "";
  for (let pageCount = 0; pageCount < MAX_PAGES && listedModels.length < MAX_MODELS; pageCount++) {
    const { models, next } = readModelPage(await (await askPage(cursor)).json());
    listedModels.push(...models.slice(0, MAX_MODELS)); // a call takes about 100,000
    if (!next || next === cursor) break;
    cursor = next;
  }
  return listedModels.slice(0, MAX_MODELS);
}
