// Makes a request fit the model's window: before it is sent, and once more if the provider says it
// was too long.
import type { ChatRequest, Ctx, Message, Reply } from "zz";
import { oneLine } from "zz/text";
import { cutLastResults, cutTexts } from "./cut.ts";
import { tryToTakeNotes } from "./notes.ts";
import { overflow } from "./overflow.ts";
import { staleResults, type Texts } from "./stale.ts";
import { notesIn } from "./summary.ts";
import {
  CAUTION_FACTOR,
  counted,
  estimate,
  inputLimit,
  type State,
  turnStarts,
  weightOf,
  windowOf,
} from "./window-state.ts";

export async function fitToWindow(
  state: State,
  request: ChatRequest,
  ctx: Ctx,
): Promise<ChatRequest> {
  const sent = await withinMessages(state, request, ctx);
  return fitTokens(state, sent, ctx);
}

/** context.messages: earlier turns leave, each whole, once the conversation has more messages. */
async function withinMessages(state: State, request: ChatRequest, ctx: Ctx): Promise<ChatRequest> {
  const { chat } = ctx;
  const { messages: most } = state.zz.config;
  if (!most || chat.messages.length <= most) return request;
  const tail = request.messages.slice(chat.messages.length);
  const starts = turnStarts(chat.messages);
  const end = starts.find((start) => chat.messages.length - start <= most) ?? starts.at(-1) ?? 0;
  if (end > (notesIn(chat.messages[0]) ? 2 : 0)) await tryToTakeNotes(state, end, ctx);
  return { ...request, messages: [...chat.messages, ...tail] };
}

async function fitTokens(state: State, request: ChatRequest, ctx: Ctx): Promise<ChatRequest> {
  const chars = charsOfRequest(request); // more than its tokens, so most requests need no estimate
  const window = await windowOf(state, request, chars < MAX_CHARS_UNCHECKED, ctx);
  if (!window) return request;
  const target = inputLimit(window, request, state.zz.config.compactAt);
  if (chars <= target || estimate(state, request) <= target) return request;
  const less = await compactToFit(
    state,
    { request, window, target, max: inputLimit(window, request, MAX_FILL) },
    ctx,
  );
  if (estimate(state, less, state.count.last(request.model) ? 1 : MIN_ESTIMATE_FACTOR) > window)
    throw tooLargeError(state, less, window);
  return less;
}

/**
 * Makes the request shorter, step by step, until it fits. Texts are cut only if nothing else helps.
 */
async function compactToFit(
  state: State,
  { request, window, target, max }: Load,
  ctx: Ctx,
): Promise<ChatRequest> {
  const { chat } = ctx;
  // sent only now, not part of the conversation
  const tail = request.messages.slice(chat.messages.length);
  const currentRequest = (): ChatRequest => ({ ...request, messages: [...chat.messages, ...tail] });
  const over = (limit: number): boolean => estimate(state, currentRequest()) > limit;
  const full = (): boolean => estimate(state, currentRequest(), CAUTION_FACTOR) > max;
  cutLastResults(state, window * MAX_RESULTS_SHARE, ctx);
  if (over(target)) leaveOut(staleResults(chat.messages, toolsThatChange(ctx)), ctx);
  const end = startOfRecentTurns(chat.messages, state.zz.config.turns);
  const leaving = weightOf(state, chat.messages.slice(0, end)) * state.count.ratio(request.model);
  if (end && (full() || (over(target * ENOUGH_ROOM) && leaving > window * MIN_SHARE_REPLACED)))
    await tryToTakeNotes(state, end, ctx);
  if (full()) cutTexts(state, currentRequest, max, ctx);
  return currentRequest();
}

function leaveOut(texts: Texts, { chat, note }: Ctx): void {
  const number = Object.keys(texts).length;
  if (!number) return;
  chat.compact({ texts });
  note(
    `The window is nearly full: ${number === 1 ? "an old result was" : `${number} old results were`} left out.`,
  );
}

/** Remembers how many tokens the provider counted, for the next estimate. */
export function recordUsage(state: State, sent: ChatRequest, reply: Reply, ctx: Ctx): Reply {
  const tokens = reply.usage?.input;
  // data may have taken several requests: that is their sum
  if (!tokens || reply.data !== undefined) return reply;
  const last = state.count.last(sent.model);
  const fresh = sent.messages.filter((part) => !last?.messages.has(part));
  const kept = last && sent.messages.length - fresh.length === last.count;
  const isLess =
    kept && (tokens < last.tokens / 1.5 || isStalled(state, sent.model, tokens, fresh));
  // without tools, or with a shorter prompt, it is less anyway
  const isCut = isLess && last.isLike(counted(state, sent));
  if (!isCut) state.count.learn(counted(state, sent), tokens);
  if (isCut && !state.cut.has(sent.model)) ctx.note(cutByServer(tokens, last.tokens));
  if (isCut) state.cut.add(sent.model);
  return reply;
}
/**
 * Whether the count stays where it was though more and more is sent: a server that cuts may do so
 * from the first request on, and each message alone may be small.
 */
function isStalled(
  state: State,
  model: string,
  tokens: number,
  fresh: readonly Message[],
): boolean {
  const last = state.count.last(model)!;
  const before = state.stalls.get(model) ?? { tokens: last.tokens, added: 0 };
  if (tokens >= before.tokens * MAX_STALLED_RATIO) {
    state.stalls.delete(model);
    return false;
  }
  const added = before.added + weightOf(state, fresh) * state.count.ratio(model);
  state.stalls.set(model, { ...before, added });
  const isCount = before.tokens >= MIN_CUT_TOKENS || last.isPlausible();
  return isCount && added > before.tokens * MIN_GROWTH;
}
const MIN_CUT_TOKENS = 1_000; // below, a count that stays the same may be one that means nothing

// if the tokens grew no more than this though more was sent, the server cut some
const MAX_STALLED_RATIO = 1.02;
// of the last count: new messages of at least this share must raise the next one
const MIN_GROWTH = 0.1;

const cutByServer = (tokens: number, before: number): string =>
  `The server is cutting the conversation: it counted ${tokens} tokens, after ${before} for a part of the same. Let it take more (Ollama: OLLAMA_CONTEXT_LENGTH, or ollama.window), or set "window": ${Math.max(tokens, before)} in zz's settings, so that zz sends no more than that.`;

/** Sends the request once more, shorter, after the provider said that it was too long. */
export async function retryShorter(
  state: State,
  sent: ChatRequest,
  window: number,
  error: Error,
  next: (request: ChatRequest) => Promise<Reply>,
  ctx: Ctx,
): Promise<Reply> {
  const before = estimate(state, sent);
  if (window) state.windows.set(sent.model, window);
  const limit = window || Math.floor(before * 0.75);
  const target = Math.min(
    inputLimit(limit, sent, state.zz.config.compactAt),
    Math.floor(before * 0.8),
  );
  const reason = oneLine(error.message).replace(/[.\s]+$/, "");
  ctx.note(`The request was too long for '${sent.model}'; sending less.`);
  const less = await compactToFit(
    state,
    { request: sent, window: limit, target, max: target },
    ctx,
  );
  if (window && estimate(state, less) > window) throw tooLargeError(state, less, window);
  if (estimate(state, less) >= before) throw error;
  try {
    return recordUsage(state, less, await next(less), ctx);
  } catch (again) {
    if (overflow(again as Error) === undefined) throw again;
    const message = `Cannot send this: it is too long for '${sent.model}' even after what could be was left out (${reason}). Start again (/new), or choose a model with a larger window.`;
    throw Object.assign(again as Error, { message });
  }
}

function tooLargeError(state: State, request: ChatRequest, window: number): Error {
  const total = estimate(state, request);
  return new Error(
    `Cannot send this: about ${total} tokens are left after all that could be left out, and '${request.model}' takes in ${window}. Offer fewer tools (--tool NAME, --no-tools), start again (/new), or choose a model with a larger window.`,
  );
}
// they fit nearly every window, so the provider is not asked for its models
const MAX_CHARS_UNCHECKED = 28_000;
// of the limit: if more is left after removing stale results, notes are needed as well
const ENOUGH_ROOM = 0.75;
const MIN_SHARE_REPLACED = 0.1; // of the window, so that notes are not asked for in every turn
const MAX_RESULTS_SHARE = 0.5; // of the window, for the results of one round
const MAX_FILL = 0.95; // of the window, if nothing else helps
// for what no provider has counted yet: refuse only what is certainly too much
const MIN_ESTIMATE_FACTOR = 0.6;

/**
 * A request with its limits in tokens: how many it should have at most (`target`), and how many it
 * may (`max`).
 */
type Load = { request: ChatRequest; window: number; target: number; max: number };

/** The index at which the last `turns` turns begin; 0 if there is nothing before them but notes. */
export function startOfRecentTurns(messages: readonly Message[], turns: number): number {
  const starts = turnStarts(messages);
  const cutIndex = starts.length > turns ? starts[starts.length - turns]! : 0;
  return cutIndex > (notesIn(messages[0]) ? 2 : 0) ? cutIndex : 0;
}

export const toolsThatChange = ({ files }: Ctx): Set<string> =>
  new Set(files.changes().map(({ tool }) => tool));

const charsOfRequest = ({ system, tools, messages }: ChatRequest): number =>
  [...messages.map(charsOfMessage), system.length, JSON.stringify(tools).length].reduce(
    (sum, chars) => sum + chars,
    0,
  );

function charsOfMessage(message: Message): number {
  const calls =
    message.role === "assistant" && message.calls?.length
      ? JSON.stringify(message.calls).length
      : 0;
  const updates = message.role === "user" ? Object.values(message.news ?? {}).join("").length : 0;
  const images = ("images" in message && message.images?.length) || 0;
  return message.text.length + calls + updates + images * 2_000 + 10;
}
