// How many tokens a text has: a weight by kinds of characters, and what the provider's own counts say a weight comes to.
import type { ChatRequest, Message } from "zz";

/** Tokens that a character of each kind is about, in the tokenizers of today. */
const LETTER = 0.22;
const WORD = 0.9; // at least
const DIGIT = 0.5;
const SIGN = 0.6;
const LINE = 0.4;
const OTHER = 0.5; // letters beyond ASCII
const WIDE = 1; // scripts without spaces, and each half of an emoji
const MESSAGE = 4; // what stands around one
const IMAGE = 1_200;
const UNKNOWN = 1.2; // times that, until the provider has counted once

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
    if (code === 32) continue; // it belongs to the next word
    if (code === 10) sum += LINE;
    else if (code < 128) sum += code > 47 && code < 58 ? DIGIT : SIGN;
    else sum += code < 0x2e80 ? OTHER : WIDE;
  }
  return sum + (letters ? Math.max(WORD, letters * LETTER) : 0);
}

/** Messages do not change, so each is weighed once. */
export function scales() {
  const known = new WeakMap<Message, number>();
  const texts = new Map<string, number>(); // of what is alike from request to request
  return { message, request };

  function message(one: Message): number {
    const had = known.get(one);
    if (had !== undefined) return had;
    const calls = one.role === "assistant" && one.calls?.length ? JSON.stringify(one.calls) : "";
    const news = one.role === "user" ? Object.values(one.news ?? {}).join("\n") : "";
    const images = ("images" in one && one.images?.length) || 0;
    const weight = MESSAGE + weigh(one.text) + weigh(calls) + weigh(news) + images * IMAGE;
    known.set(one, weight);
    return weight;
  }
  function request({ system, tools, messages }: ChatRequest): number {
    const told = tools.length ? JSON.stringify(tools) : "";
    return steady(system) + steady(told) + messages.reduce((sum, one) => sum + message(one), 0);
  }
  function steady(text: string): number {
    const weight = texts.get(text) ?? weigh(text);
    if (!texts.has(text) && texts.size >= 8) texts.clear();
    texts.set(text, weight);
    return weight;
  }
}
export type Scales = ReturnType<typeof scales>;

const [LEAST, MOST] = [0.5, 4]; // what a weight may come to; a server that says otherwise counts something else

/** What the providers counted, by model; and what is new since, of which nobody knows. */
export function counts(scale: Scales) {
  type Counted = {
    tokens: number;
    count: number;
    weigh(): { weight: number; ratio: number };
    messages: WeakSet<Message>;
  };
  const last = new Map<string, Counted>();
  return { ratio, learn, estimate, last: (model: string) => last.get(model) };

  function ratio(model: string): number {
    return last.get(model)?.weigh().ratio ?? UNKNOWN;
  }
  /** It is weighed when that is asked for: one answer and out never asks. */
  function learn(request: ChatRequest, tokens: number): void {
    const before = ratio(request.model);
    let known: { weight: number; ratio: number } | undefined;
    const weigh = () => {
      if (known) return known;
      const weight = scale.request(request);
      const ratio = tokens / weight;
      const sane = ratio >= LEAST && ratio <= MOST;
      known = { weight, ratio: sane ? ratio : before };
      return known;
    };
    last.set(request.model, { tokens, count: request.messages.length, weigh, messages: new WeakSet(request.messages) });
  }
  /** What was counted stays as it was; what is new is at least its weight, or that many times as much for all one knows. */
  function estimate(request: ChatRequest, caution = 1): number {
    const before = last.get(request.model);
    const all = scale.request(request);
    if (!before) return Math.ceil(all * UNKNOWN * caution);
    const { weight, ratio } = before.weigh();
    const fresh = request.messages
      .filter((one) => !before.messages.has(one))
      .reduce((sum, one) => sum + scale.message(one), 0);
    const sane = before.tokens >= weight * LEAST && before.tokens <= weight * MOST;
    const known = all - fresh === weight && sane ? before.tokens : (all - fresh) * ratio;
    return Math.ceil(known + fresh * Math.max(ratio, 1) * caution);
  }
}
