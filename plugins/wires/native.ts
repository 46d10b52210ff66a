// What the two native wires share: they read events as values, and explain any stream that is not
// of their protocol.
import type { Endpoint, HttpAnswer } from "zz";
import { eventPieces, fault, usage } from "zz/text";
import { NoJson, noStream, parse, valuesIn } from "./sse.ts";
import { baseOf, type Preset } from "./wire-types.ts";

export const MAX_MODELS = 10_000;

/** The protocols, and how to recognize a value of each. */
const PROTOCOLS: [name: string, signs: (value: any) => unknown][] = [
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
  answer: HttpAnswer,
  protocol: string,
  provider: string,
): AsyncGenerator<Value[]> {
  const decoder = new TextDecoder();
  let [isStream, raw] = [false, ""];
  async function* body(): AsyncGenerator<Uint8Array> {
    for await (const bytes of answer.body) {
      if (!isStream) raw += decoder.decode(bytes, { stream: true });
      yield bytes;
    }
  }
  for await (const batch of eventPieces({ ...answer, body: body() }, provider)) {
    const values: Value[] = [];
    for (const piece of batch) {
      if ("alive" in piece) values.push({ value: undefined });
      if (!("data" in piece)) continue;
      const { event, data } = piece;
      const parsed = parse(data);
      const others = event === "error" ? [data] : undefined;
      for (const value of parsed === undefined ? (others ?? valuesIn(data)) : [parsed]) {
        if (!isStream) refuseOther(value, protocol, provider);
        values.push(
          value instanceof NoJson ? { event: "error", value: value.words } : { event, value },
        );
      }
      isStream = true;
      raw = "";
    }
    if (values.length) yield values;
  }
  raw = raw.replaceAll(/^:.*$/gm, ""); // comments keep a connection alive
  if (isStream || !raw.trim()) return;
  const parsedArgs = parse(raw) ?? parse(raw.trim().split("\n")[0]!);
  if (parsedArgs === undefined) yield [{ event: "error", value: noStream(raw) }];
  for (const value of [parsedArgs].flat()) {
    refuseOther(value, protocol, provider);
    yield [{ value }];
  }
}

function refuseOther(value: any, ownWire: string, provider: string): void {
  const [spoken] =
    PROTOCOLS.find(([, signs]) => value && typeof value === "object" && signs(value)) ?? [];
  if (spoken && spoken !== ownWire)
    throw fault(
      `Cannot read the answer of '${provider}': the server speaks ${spoken}, not ${ownWire}. ` +
        "Check --base-url, or name the provider that speaks so in --model.",
    );
}

/** JSON without lone surrogates, which would break the decoders of some servers. */
export const toJson = (body: unknown): string =>
  JSON.stringify(body, (_, value) => (typeof value === "string" ? value.toWellFormed() : value));

/** Throws if the public server would be asked without a key. */
export function needKey(preset: Preset, endpoint: Endpoint, ...variables: string[]): void {
  if (endpoint.key || baseOf(preset, endpoint) !== preset.url) return;
  const names = [preset.key, ...variables].join(" or ");
  throw usage(
    `Cannot ask '${preset.name}': no key is set. Set ${names}, or pass --key KEY (--base-url URL for another server).`,
  );
}
