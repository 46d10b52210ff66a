// What the two native wires share: they read events as values, and explain any stream that is not
// of their protocol.
import type { Endpoint, HttpAnswer } from "zz";
import { eventPieces, fault, usage } from "zz/text";
import { NoJson, noStream, parse, valuesIn } from "./sse.ts";
import { baseOf, type Preset } from "./wire-types.ts";

export const MAX_MODELS = 10_000;

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

/** JSON without lone surrogates, which would break the decoders of some servers. */
export const toJson = (requestBody: unknown): string =>
  JSON.stringify(requestBody, (_, fieldValue) =>
    typeof fieldValue === "string" ? fieldValue.toWellFormed() : fieldValue,
  );

/** Throws if the public server would be asked without a key. */
export function needKey(preset: Preset, endpoint: Endpoint, ...variables: string[]): void {
  if (endpoint.key || baseOf(preset, endpoint) !== preset.url) return;
  const variableNames = [preset.key, ...variables].join(" or ");
  throw usage(
    `Cannot ask '${preset.name}': no key is set. ` +
      `Set ${variableNames}, or pass --key KEY (--base-url URL for another server).`,
  );
}
