// Makes a request fit the model's window: before it is sent, and once more if the provider says it
// was too long.
import type { ChatRequest, Ctx, Message, Reply } from "zz";
import { oneLine } from "zz/text";
import { tryToTakeNotes } from "./compact-to-notes.ts";
import { cutLastResults, cutTexts } from "./cut.ts";
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
  const shortened = await withinMessages(state, request, ctx);
  return fitTokens(state, shortened, ctx);
}

/** Takes out whole early turns once there are more messages than `context.messages` allows. */
async function withinMessages(state: State, request: ChatRequest, ctx: Ctx): Promise<ChatRequest> {
  const { chat } = ctx;
  const { messages: maxMessages } = state.zz.config;
  if (!maxMessages || chat.messages.length <= maxMessages) return request;
  const addedTail = request.messages.slice(chat.messages.length);
  const turnIndexes = turnStarts(chat.messages);
  const leavingEnd =
    turnIndexes.find((turnIndex) => chat.messages.length - turnIndex <= maxMessages) ??
    turnIndexes.at(-1) ??
    0;
  if (leavingEnd > (notesIn(chat.messages[0]) ? 2 : 0))
    await tryToTakeNotes(state, leavingEnd, ctx);
  return { ...request, messages: [...chat.messages, ...addedTail] };
}

async function fitTokens(state: State, request: ChatRequest, ctx: Ctx): Promise<ChatRequest> {
  // there are fewer tokens than characters, so most requests need no estimate
  const charCount = charsOfRequest(request);
  const window = await windowOf(state, request, charCount < MAX_CHARS_UNCHECKED, ctx);
  if (!window) return request;
  const target = inputLimit(window, request, state.zz.config.compactAt);
  if (charCount <= target || estimate(state, request) <= target) return request;
  const compacted = await compactToFit(
    state,
    { request, window, target, max: inputLimit(window, request, MAX_FILL) },
    ctx,
  );
  if (
    estimate(state, compacted, state.count.last(request.model) ? 1 : MIN_ESTIMATE_FACTOR) > window
  )
    throw tooLargeError(state, compacted, window);
  return compacted;
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
  const addedTail = request.messages.slice(chat.messages.length);
  const currentRequest = (): ChatRequest => ({
    ...request,
    messages: [...chat.messages, ...addedTail],
  });
  const isOver = (limit: number): boolean => estimate(state, currentRequest()) > limit;
  const isFull = (): boolean => estimate(state, currentRequest(), CAUTION_FACTOR) > max;
  cutLastResults(state, window * MAX_RESULTS_SHARE, ctx);
  if (isOver(target)) leaveOut(staleResults(chat.messages, toolsThatChange(ctx)), ctx);
  const leavingEnd = startOfRecentTurns(chat.messages, state.zz.config.turns);
  const leaving =
    weightOf(state, chat.messages.slice(0, leavingEnd)) * state.count.ratio(request.model);
  if (
    leavingEnd &&
    (isFull() || (isOver(target * ENOUGH_ROOM) && leaving > window * MIN_SHARE_REPLACED))
  )
    await tryToTakeNotes(state, leavingEnd, ctx);
  if (isFull()) cutTexts(state, currentRequest, max, ctx);
  return currentRequest();
}

function leaveOut(texts: Texts, { chat, note }: Ctx): void {
  const resultCount = Object.keys(texts).length;
  if (!resultCount) return;
  chat.compact({ texts });
  note(
    "The window is nearly full: " +
      `${resultCount === 1 ? "an old result was" : `${resultCount} old results were`} left out.`,
  );
}

/** Remembers how many tokens the provider counted, for the next estimate. */
export function recordUsage(state: State, sent: ChatRequest, reply: Reply, ctx: Ctx): Reply {
  const tokens = reply.usage?.input;
  // an answer as data may have taken several requests, and this is their sum
  if (!tokens || reply.data !== undefined) return reply;
  const lastCount = state.count.last(sent.model);
  const newMessages = sent.messages.filter((sentMessage) => !lastCount?.messages.has(sentMessage));
  const keepsCounted = lastCount && sent.messages.length - newMessages.length === lastCount.count;
  const countsLess =
    keepsCounted &&
    (tokens < lastCount.tokens / 1.5 || isStalled(state, sent.model, tokens, newMessages));
  // a request without tools, or with a shorter prompt, takes fewer tokens anyway
  const isCutByServer = countsLess && lastCount.isLike(counted(state, sent));
  if (!isCutByServer) state.count.learn(counted(state, sent), tokens);
  if (isCutByServer && !state.cut.has(sent.model)) ctx.note(cutByServer(tokens, lastCount.tokens));
  if (isCutByServer) state.cut.add(sent.model);
  return reply;
}
/**
 * Whether the count stays where it was though more and more is sent: a server that cuts may do so
 * from the first request on, and each message alone may be small.
 */
function isStalled(
  state: State,
  modelName: string,
  tokens: number,
  newMessages: readonly Message[],
): boolean {
  const lastCount = state.count.last(modelName)!;
  const stallBefore = state.stalls.get(modelName) ?? { tokens: lastCount.tokens, added: 0 };
  if (tokens >= stallBefore.tokens * MAX_STALLED_RATIO) {
    state.stalls.delete(modelName);
    return false;
  }
  const added = stallBefore.added + weightOf(state, newMessages) * state.count.ratio(modelName);
  state.stalls.set(modelName, { ...stallBefore, added });
  const isCount = stallBefore.tokens >= MIN_CUT_TOKENS || lastCount.measure().isPlausible;
  return isCount && added > stallBefore.tokens * MIN_GROWTH;
}
const MIN_CUT_TOKENS = 1_000; // below, a count that stays the same may be one that means nothing

// if the tokens grew no more than this though more was sent, the server cut some
const MAX_STALLED_RATIO = 1.02;
// of the last count: new messages of at least this share must raise the next one
const MIN_GROWTH = 0.1;

const cutByServer = (tokensNow: number, tokensBefore: number): string =>
  `The server is cutting the conversation: it counted ${tokensNow} tokens, ` +
  `after ${tokensBefore} for a part of the same. ` +
  'Let it take more (Ollama: OLLAMA_CONTEXT_LENGTH, or ollama.window), or set "window": ' +
  `${Math.max(tokensNow, tokensBefore)} in zz's settings, so that zz sends no more than that.`;

/** Sends the request once more, shorter, after the provider said that it was too long. */
export async function retryShorter(
  state: State,
  sent: ChatRequest,
  window: number,
  error: Error,
  nextRequest: (request: ChatRequest) => Promise<Reply>,
  ctx: Ctx,
): Promise<Reply> {
  const tokensBefore = estimate(state, sent);
  if (window) state.windows.set(sent.model, window);
  const windowLimit = window || Math.floor(tokensBefore * 0.75);
  const target = Math.min(
    inputLimit(windowLimit, sent, state.zz.config.compactAt),
    Math.floor(tokensBefore * 0.8),
  );
  const reason = oneLine(error.message).replace(/[.\s]+$/, "");
  ctx.note(`The request was too long for '${sent.model}'; sending less.`);
  const compacted = await compactToFit(
    state,
    { request: sent, window: windowLimit, target, max: target },
    ctx,
  );
  if (window && estimate(state, compacted) > window) throw tooLargeError(state, compacted, window);
  if (estimate(state, compacted) >= tokensBefore) throw error;
  try {
    return recordUsage(state, compacted, await nextRequest(compacted), ctx);
  } catch (retryError) {
    if (overflow(retryError as Error) === undefined) throw retryError;
    const message =
      `Cannot send this: it is too long for '${sent.model}' even after what could be was left ` +
      `out (${reason}). Start again (/new), or choose a model with a larger window.`;
    throw Object.assign(retryError as Error, { message });
  }
}

function tooLargeError(state: State, request: ChatRequest, window: number): Error {
  const tokensLeft = estimate(state, request);
  return new Error(
    `Cannot send this: about ${tokensLeft} tokens are left after all that could be left out, ` +
      `and '${request.model}' takes in ${window}. Offer fewer tools (--tool NAME, --no-tools), ` +
      "start again (/new), or choose a model with a larger window.",
  );
}
// so few fit nearly every window, and the provider is not asked for its models
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
  const turnIndexes = turnStarts(messages);
  const cutIndex = turnIndexes.length > turns ? turnIndexes[turnIndexes.length - turns]! : 0;
  return cutIndex > (notesIn(messages[0]) ? 2 : 0) ? cutIndex : 0;
}

export const toolsThatChange = ({ files }: Ctx): Set<string> =>
  new Set(files.changes().map(({ tool }) => tool));

const charsOfRequest = ({ system, tools, messages }: ChatRequest): number =>
  [...messages.map(charsOfMessage), system.length, JSON.stringify(tools).length].reduce(
    (sum, charCount) => sum + charCount,
    0,
  );

function charsOfMessage(message: Message): number {
  const callChars =
    message.role === "assistant" && message.calls?.length
      ? JSON.stringify(message.calls).length
      : 0;
  const updates = message.role === "user" ? Object.values(message.news ?? {}).join("").length : 0;
  const imageCount = ("images" in message && message.images?.length) || 0;
  return message.text.length + callChars + updates + imageCount * 2_000 + 10;
}
