// What is known about windows and sizes, and the estimates made from it.
import type { ChatRequest, Ctx, Message, Model, Zz } from "zz";
import { counts, type Scales, scales } from "./count.ts";

export interface Config {
  compactAt: number;
  turns: number;
  words: number;
  messages: number; // 0: no limit
  method: "summary" | "truncate";
}
export interface State {
  zz: Zz<Config>;
  scale: Scales;
  count: ReturnType<typeof counts>;
  windows: Map<string, number>; // by model, as its provider said when a request was too long
  asked: Map<string, Model | undefined>;
  listed: Set<string>; // models whose provider was asked for a list of its models
  // by model: a count that has not grown since, and the tokens sent beside it meanwhile
  stalls: Map<string, { tokens: number; added: number }>;
  cut: Set<string>; // models whose server left out a part of what it was sent
  failedAt: string | undefined; // the turn whose summary failed: it is not tried again in that turn
}

export function newState(zz: Zz<Config>): State {
  const scale = scales();
  const learned = {
    windows: new Map(),
    asked: new Map(),
    listed: new Set<string>(),
    stalls: new Map(),
    cut: new Set<string>(),
  };
  return { zz, scale, count: counts(scale), ...learned, failedAt: undefined };
}

export function forgetModels({ asked, listed, windows, cut }: State): void {
  for (const collection of [asked, listed, windows, cut]) collection.clear();
}

const OUTPUT_OPTIONS = ["max_tokens", "max_completion_tokens", "num_predict", "max_output_tokens"];

export function tokensOf(state: State, { chat }: Ctx): number {
  return Math.ceil(weightOf(state, chat.messages) * state.count.ratio(chat.model));
}

export function weightOf(state: State, messages: readonly Message[]): number {
  return messages.reduce((sum, sentMessage) => sum + state.scale.message(sentMessage), 0);
}

/** The request as it is counted: without tools if the model cannot take any. */
export function counted(state: State, request: ChatRequest): ChatRequest {
  return state.asked.get(request.model)?.tools === false ? { ...request, tools: [] } : request;
}

export function estimate(state: State, request: ChatRequest, caution?: number): number {
  return state.count.estimate(counted(state, request), caution);
}

export async function windowOf(
  state: State,
  { model, options }: ChatRequest,
  isQuick: boolean,
  ctx: Ctx,
): Promise<number | undefined> {
  if (
    !state.asked.has(model) ||
    (!isQuick && !state.asked.get(model)?.window && !state.listed.has(model))
  )
    state.asked.set(model, await ctx.about.model(model, isQuick).catch(() => undefined));
  if (!isQuick) state.listed.add(model);
  // the person's setting wins over the provider's
  const optionWindow = Number(options.num_ctx) || undefined;
  const chatWindow = model === ctx.chat.model ? ctx.chat.window : undefined;
  return state.windows.get(model) ?? optionWindow ?? state.asked.get(model)?.window ?? chatWindow;
}

/** How many tokens the input may have: a share of the window, or what the answer leaves of it. */
export function inputLimit(window: number, { options }: ChatRequest, share: number): number {
  const outputTokens = Math.max(
    0,
    ...OUTPUT_OPTIONS.map((optionName) => Number(options[optionName]) || 0),
  );
  return Math.floor(Math.min(window * share, window - Math.min(outputTokens, window / 2)));
}

/** Where turns begin: at the person's messages. */
export const turnStarts = (messages: readonly Message[]): number[] =>
  messages.flatMap((message, index) => (message.role === "user" && !message.aside ? [index] : []));
// for new texts: some have this many times the tokens of others with the same weight
export const CAUTION_FACTOR = 1.6;
