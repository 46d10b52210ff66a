// How many tokens a text has: a weight by kinds of characters, corrected by what the provider itself counted.
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
  const known = new WeakMap<Message, number>();
  const texts = new Map<string, number>(); // weights of what stays the same from request to request
  return { message, request };

  function message(one: Message): number {
    const had = known.get(one);
    if (had !== undefined) return had;
    const calls = one.role === "assistant" && one.calls?.length ? JSON.stringify(one.calls) : "";
    const updates = one.role === "user" ? Object.values(one.news ?? {}).join("\n") : "";
    const images = ("images" in one && one.images?.length) || 0;
    const weight = MESSAGE + weigh(one.text) + weigh(calls) + weigh(updates) + images * IMAGE;
    known.set(one, weight);
    return weight;
  }
  function request({ system, tools, messages }: ChatRequest): number {
    const toolsText = tools.length ? JSON.stringify(tools) : "";
    return steady(system) + steady(toolsText) + messages.reduce((sum, one) => sum + message(one), 0);
  }
  function steady(text: string): number {
    const weight = texts.get(text) ?? weigh(text);
    if (!texts.has(text) && texts.size >= 8) texts.clear();
    texts.set(text, weight);
    return weight;
  }
}
const frameOf = ({ system, tools, schema }: ChatRequest): string => JSON.stringify([system, tools, schema]);
export type Scales = ReturnType<typeof scales>;

const [MIN_RATIO, MAX_RATIO] = [0.5, 4]; // plausible tokens per weight; a server outside of this counts something else

/** What the providers counted, by model, and estimates of what was added since. */
export function counts(scale: Scales) {
  type Counted = {
    tokens: number;
    count: number;
    measure(): { weight: number; ratio: number };
    isPlausible(): boolean;
    isLike(request: ChatRequest): boolean; // with the same prompt, tools and schema
    messages: WeakSet<Message>;
  };
  const last = new Map<string, Counted>();
  return { ratio, learn, estimate, last: (model: string) => last.get(model) };

  function ratio(model: string): number {
    return last.get(model)?.measure().ratio ?? UNKNOWN;
  }
  /** Remembers a count of the provider. The weight is computed only when needed, which is never in a one-shot. */
  function learn(request: ChatRequest, tokens: number): void {
    const before = ratio(request.model);
    let known: { weight: number; ratio: number } | undefined;
    const measure = () => {
      if (known) return known;
      const weight = scale.request(request);
      const ratio = tokens / weight;
      const isPlausible = ratio >= MIN_RATIO && ratio <= MAX_RATIO;
      known = { weight, ratio: isPlausible ? ratio : before };
      return known;
    };
    const isPlausible = () => tokens >= measure().weight * MIN_RATIO && tokens <= measure().weight * MAX_RATIO;
    const messages = new WeakSet(request.messages);
    const isLike = (other: ChatRequest) => frameOf(other) === frameOf(request);
    last.set(request.model, { tokens, count: request.messages.length, measure, isPlausible, isLike, messages });
  }
  /** Messages that the provider counted keep that count; new ones have at least their weight, times `caution`. */
  function estimate(request: ChatRequest, caution = 1): number {
    const before = last.get(request.model);
    const all = scale.request(request);
    if (!before) return Math.ceil(all * UNKNOWN * caution);
    const { weight, ratio } = before.measure();
    const fresh = request.messages
      .filter((one) => !before.messages.has(one))
      .reduce((sum, one) => sum + scale.message(one), 0);
    const known = all - fresh === weight && before.isPlausible() ? before.tokens : (all - fresh) * ratio;
    return Math.ceil(known + fresh * Math.max(ratio, 1) * caution);
  }
}
