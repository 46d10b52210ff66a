// How many tokens a text has: a weight by kinds of characters, corrected by what the provider
// itself counted.
import type { ChatRequest, Message } from "zz";

/** The approximate number of tokens for a character of each kind in today's tokenizers. */
const LETTER_TOKENS = 0.22;
const MIN_WORD_TOKENS = 0.9; // at least
const DIGIT_TOKENS = 0.5;
const SIGN_TOKENS = 0.6;
const LINE_TOKENS = 0.4;
const OTHER_TOKENS = 0.5; // letters outside ASCII
const WIDE_TOKENS = 1; // scripts without spaces, and each half of an emoji
const MESSAGE = 4; // what surrounds each message
const IMAGE_TOKENS = 1_200;
const UNKNOWN = 1.2; // factor until the provider has counted once

export function weigh(weighedText: string): number {
  let [tokenSum, letters] = [0, 0];
  for (let i = 0; i < weighedText.length; i++) {
    const charCode = weighedText.charCodeAt(i);
    const lowerCode = charCode | 32;
    if (lowerCode > 96 && lowerCode < 123) {
      letters++;
      continue;
    }
    if (letters) tokenSum += Math.max(MIN_WORD_TOKENS, letters * LETTER_TOKENS);
    letters = 0;
    if (charCode === 32) continue; // a space belongs to the next word
    if (charCode === 10) tokenSum += LINE_TOKENS;
    else if (charCode < 128)
      tokenSum += charCode > 47 && charCode < 58 ? DIGIT_TOKENS : SIGN_TOKENS;
    else tokenSum += charCode < 0x2e80 ? OTHER_TOKENS : WIDE_TOKENS;
  }
  return tokenSum + (letters ? Math.max(MIN_WORD_TOKENS, letters * LETTER_TOKENS) : 0);
}

/** Messages do not change, so the weight of each is computed once. */
export function scales() {
  const weights = new WeakMap<Message, number>();
  // weights of what stays the same from request to request
  const steadyWeights = new Map<string, number>();
  return { message, request };

  function message(target: Message): number {
    const knownWeight = weights.get(target);
    if (knownWeight !== undefined) return knownWeight;
    const calls =
      target.role === "assistant" && target.calls?.length ? JSON.stringify(target.calls) : "";
    const updates = target.role === "user" ? Object.values(target.news ?? {}).join("\n") : "";
    const imageCount = ("images" in target && target.images?.length) || 0;
    const weight =
      MESSAGE + weigh(target.text) + weigh(calls) + weigh(updates) + imageCount * IMAGE_TOKENS;
    weights.set(target, weight);
    return weight;
  }
  function request({ system, tools, messages }: ChatRequest): number {
    const toolsText = tools.length ? JSON.stringify(tools) : "";
    return (
      weighSteady(system) +
      weighSteady(toolsText) +
      messages.reduce((sum, sentMessage) => sum + message(sentMessage), 0)
    );
  }
  function weighSteady(steadyText: string): number {
    const weight = steadyWeights.get(steadyText) ?? weigh(steadyText);
    if (!steadyWeights.has(steadyText) && steadyWeights.size >= 8) steadyWeights.clear();
    steadyWeights.set(steadyText, weight);
    return weight;
  }
}
const frameOf = ({ system, tools, schema }: ChatRequest): string =>
  JSON.stringify([system, tools, schema]);
export type Scales = ReturnType<typeof scales>;

// plausible tokens per weight; a server outside of this counts something else
const [MIN_RATIO, MAX_RATIO] = [0.5, 4];

type Measured = { weight: number; ratio: number; isPlausible: boolean };
type Counted = {
  tokens: number;
  count: number;
  measure(): Measured;
  isLike(request: ChatRequest): boolean; // with the same prompt, tools and schema
  messages: WeakSet<Message>;
};

/** What the providers counted, by model, and estimates of what was added since. */
export function counts(scale: Scales) {
  const lastByModel = new Map<string, Counted>();
  return { ratio, learn, estimate, last: (modelName: string) => lastByModel.get(modelName) };

  function ratio(modelName: string): number {
    return lastByModel.get(modelName)?.measure().ratio ?? UNKNOWN;
  }
  /**
   * Remembers a count of the provider. The weight is computed only when needed, which is never in a
   * one-shot.
   */
  function learn(request: ChatRequest, tokens: number): void {
    const ratioBefore = ratio(request.model);
    let measured: Measured | undefined;
    const measure = () => {
      if (measured) return measured;
      const weight = scale.request(request);
      const ratio = tokens / weight;
      const isPlausible = ratio >= MIN_RATIO && ratio <= MAX_RATIO;
      measured = { weight, ratio: isPlausible ? ratio : ratioBefore, isPlausible };
      return measured;
    };
    const messages = new WeakSet(request.messages);
    const isLike = (candidate: ChatRequest) => frameOf(candidate) === frameOf(request);
    lastByModel.set(request.model, {
      tokens,
      count: request.messages.length,
      measure,
      isLike,
      messages,
    });
  }
  /**
   * Messages that the provider counted keep that count; new ones have at least their weight, times
   * `caution`.
   */
  function estimate(request: ChatRequest, caution = 1): number {
    const lastCount = lastByModel.get(request.model);
    const wholeWeight = scale.request(request);
    if (!lastCount) return Math.ceil(wholeWeight * UNKNOWN * caution);
    const { weight, ratio, isPlausible } = lastCount.measure();
    const newWeight = request.messages
      .filter((sentMessage) => !lastCount.messages.has(sentMessage))
      .reduce((sum, newMessage) => sum + scale.message(newMessage), 0);
    const tokens =
      wholeWeight - newWeight === weight && isPlausible
        ? lastCount.tokens
        : (wholeWeight - newWeight) * ratio;
    return Math.ceil(tokens + newWeight * Math.max(ratio, 1) * caution);
  }
}
