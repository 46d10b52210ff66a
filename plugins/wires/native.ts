// What the two native wires share: events read as values, with a sentence for whatever is not the protocol's own stream.
import type { Endpoint, HttpAnswer, Zz } from "zz";
import { fault, tryTo, usage } from "zz/text";
import { baseOf, type Preset } from "./contract.ts";

const MB = 1024 * 1024;
const MAX_ANSWER_BYTES = 512 * MB; // of the whole stream, most of which is not the answer itself
export const MAX_MODELS = 10_000;

/** The protocols by what one of their values looks like. */
const PROTOCOLS: [name: string, signs: (value: any) => unknown][] = [
  ["Chat Completions", ({ choices }) => Array.isArray(choices)],
  ["OpenAI's Responses", ({ type, object }) => /^response\./.test(type) || object === "response"],
  ["Gemini's generateContent", ({ candidates, promptFeedback }) => candidates ?? promptFeedback],
  ["Anthropic's Messages", ({ type }) => /^(message|content_block)(_|$)/.test(type)],
  ["Ollama's own API", ({ done, message }) => typeof done === "boolean" && message],
];

/**
 * The stream's events as values; an event "error" has the server's words. One JSON body comes as one value for each of
 * its parts.
 */
export async function* valuesOf(
  zz: Zz<any>,
  answer: HttpAnswer,
  protocol: string,
  provider: string,
): AsyncGenerator<{ event?: string; value: any }> {
  const decoder = new TextDecoder();
  let [isStream, size, raw] = [false, 0, ""];
  async function* body(): AsyncGenerator<Uint8Array> {
    for await (const bytes of answer.body) {
      size += bytes.length;
      if (size > MAX_ANSWER_BYTES)
        throw fault(
          `'${provider}' sent an answer of more than ${MAX_ANSWER_BYTES / MB} MB, and was given up. Check --base-url.`,
        );
      if (!isStream) raw += decoder.decode(bytes, { stream: true });
      yield bytes;
    }
  }
  for await (const { event, data } of zz.events({ ...answer, body: body() })) {
    for (const value of isPlainError(event, data) ? [data] : valuesIn(data)) {
      if (!isStream) refuseOther(value, protocol, provider);
      yield { ...(event && { event }), ...(isNoJson(value) ? { event: "error" } : {}), value };
    }
    isStream = true;
    raw = "";
  }
  if (isStream || !raw.trim()) return;
  const whole = parsed(raw) ?? parsed(raw.trim().split("\n")[0]!);
  if (whole === undefined) {
    const isPage = /^\s*<(!doctype|html)/i.test(raw);
    yield { event: "error", value: isPage ? raw : `not a stream but ${raw.trim().slice(0, 200)}` };
  }
  for (const value of [whole].flat()) {
    refuseOther(value, protocol, provider);
    yield { value };
  }
}

const isPlainError = (event: string | undefined, data: string) => event === "error" && parsed(data) === undefined;
const NO_JSON = "a line that is not JSON: ";
const isNoJson = (value: unknown) => typeof value === "string" && value.startsWith(NO_JSON);

/** Some servers omit the blank line between events; then several lines come as one. */
function valuesIn(data: string): unknown[] {
  const whole = parsed(data);
  if (whole !== undefined) return [whole];
  const lines = data.split("\n").filter((line) => line.trim() && line.trim() !== "[DONE]");
  return lines.map((line) => {
    const value = parsed(line);
    return value === undefined ? NO_JSON + line.slice(0, 200) : value;
  });
}

const parsed = (text: string): any => tryTo(() => JSON.parse(text));

function refuseOther(value: any, own: string, provider: string): void {
  const [spoken] = PROTOCOLS.find(([, signs]) => value && typeof value === "object" && signs(value)) ?? [];
  if (spoken && spoken !== own)
    throw fault(
      `Cannot read the answer of '${provider}': the server speaks ${spoken}, not ${own}. ` +
        "Check --base-url, or name the provider that speaks so in --model.",
    );
}

/** As JSON, in which half a surrogate would break the decoders of some servers. */
export const toJson = (body: unknown): string =>
  JSON.stringify(body, (_, value) => (typeof value === "string" ? value.toWellFormed() : value));

/** Where everybody's server is asked, a key is needed. */
export function needKey(preset: Preset, endpoint: Endpoint, ...variables: string[]): void {
  if (endpoint.key || baseOf(preset, endpoint) !== preset.url) return;
  const names = [preset.key, ...variables].join(" or ");
  throw usage(
    `Cannot ask '${preset.name}': no key is set. Set ${names}, or pass --key KEY (--base-url URL for another server).`,
  );
}

/** What servers refused of a request, by address and model: not sent again. */
export function memory<T>(empty: () => T): (url: string, model: string) => T {
  const all = new Map<string, T>();
  return (url, model) => {
    const name = `${url} ${model}`;
    const known = all.get(name) ?? empty();
    all.set(name, known);
    return known;
  };
}
