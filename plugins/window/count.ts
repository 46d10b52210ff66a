// How many tokens a text has: a weight by kinds of characters, corrected by what the provider
// itself counted.
import type { ChatRequest, Message } from "zz";

/** The approximate number of tokens for a character of each kind in today's tokenizers. */
const LETTER = 0.22;
const WORD = 0.9; // at least
const DIGIT = 0.5;
const SIGN = 0.6;
const LINE = 0.4;
const OTHER = 0.5; // letters outside ASCII
const WIDE = 1; // scripts without spaces, and each half of an emoji
const MESSAGE = 4; // what surrounds each message
const IMAGE = 1_200;
const UNKNOWN = 1.2; // factor until the provider has counted once

export function weigh(text: string): number {
  let [sum, letters] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const lower = code | 32;
    if (lower > 96 && lower < 123) {
      letters++;
      continue;
    }
    if (letters) sum += Math.max(WORD, letters * LETTER);
    letters = 0;
    if (code === 32) continue; // a space belongs to the next word
    if (code === 10) sum += LINE;
    else if (code < 128) sum += code > 47 && code < 58 ? DIGIT : SIGN;
    else sum += code < 0x2e80 ? OTHER : WIDE;
  }
  return sum + (letters ? Math.max(WORD, letters * LETTER) : 0);
}

/** Messages do not change, so the weight of each is computed once. */
export function scales() {
  const weights = new WeakMap<Message, number>();
  const texts = new Map<string, number>(); // weights of what stays the same from request to request
  return { message, request };

  function message(target: Message): number {
    const had = weights.get(target);
    if (had !== undefined) return had;
    const calls =
      target.role === "assistant" && target.calls?.length ? JSON.stringify(target.calls) : "";
    const updates = target.role === "user" ? Object.values(target.news ?? {}).join("\n") : "";
    const images = ("images" in target && target.images?.length) || 0;
    const weight = MESSAGE + weigh(target.text) + weigh(calls) + weigh(updates) + images * IMAGE;
    weights.set(target, weight);
    return weight;
  }
  function request({ system, tools, messages }: ChatRequest): number {
    const toolsText = tools.length ? JSON.stringify(tools) : "";
    return (
      steady(system) + steady(toolsText) + messages.reduce((sum, part) => sum + message(part), 0)
    );
  }
  function steady(text: string): number {
    const weight = texts.get(text) ?? weigh(text);
    if (!texts.has(text) && texts.size >= 8) texts.clear();
    texts.set(text, weight);
    return weight;
  }
}
const frameOf = ({ system, tools, schema }: ChatRequest): string =>
  JSON.stringify([system, tools, schema]);
export type Scales = ReturnType<typeof scales>;

// plausible tokens per weight; a server outside of this counts something else
const [MIN_RATIO, MAX_RATIO] = [0.5, 4];

type Counted = {
  tokens: number;
  count: number;
  measure(): { weight: number; ratio: number };
  isPlausible(): boolean;
  isLike(request: ChatRequest): boolean; // with the same prompt, tools and schema
  messages: WeakSet<Message>;
};

/** What the providers counted, by model, and estimates of what was added since. */
export function counts(scale: Scales) {
  const last = new Map<string, Counted>();
  return { ratio, learn, estimate, last: (model: string) => last.get(model) };

  function ratio(model: string): number {
    return last.get(model)?.measure().ratio ?? UNKNOWN;
  }
  /**
   * Remembers a count of the provider. The weight is computed only when needed, which is never in a
   * one-shot.
   */
  function learn(request: ChatRequest, tokens: number): void {
    const before = ratio(request.model);
    let measured: { weight: number; ratio: number } | undefined;
    const measure = () => {
      if (measured) return measured;
      const weight = scale.request(request);
      const ratio = tokens / weight;
      const isPlausible = ratio >= MIN_RATIO && ratio <= MAX_RATIO;
      measured = { weight, ratio: isPlausible ? ratio : before };
      return measured;
    };
    const isPlausible = () =>
      tokens >= measure().weight * MIN_RATIO && tokens <= measure().weight * MAX_RATIO;
    const messages = new WeakSet(request.messages);
    const isLike = (candidate: ChatRequest) => frameOf(candidate) === frameOf(request);
    last.set(request.model, {
      tokens,
      count: request.messages.length,
      measure,
      isPlausible,
      isLike,
      messages,
    });
  }
  /**
   * Messages that the provider counted keep that count; new ones have at least their weight, times
   * `caution`.
   */
  function estimate(request: ChatRequest, caution = 1): number {
    const before = last.get(request.model);
    const wholeWeight = scale.request(request);
    if (!before) return Math.ceil(wholeWeight * UNKNOWN * caution);
    const { weight, ratio } = before.measure();
    const fresh = request.messages
      .filter((part) => !before.messages.has(part))
      .reduce((sum, part) => sum + scale.message(part), 0);
    const tokens =
      wholeWeight - fresh === weight && before.isPlausible()
        ? before.tokens
        : (wholeWeight - fresh) * ratio;
    return Math.ceil(tokens + fresh * Math.max(ratio, 1) * caution);
  }
}
