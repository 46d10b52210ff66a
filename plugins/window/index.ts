// Keeps what is sent within the model's window. When that is nearly full, before the next request and in step with it: first
// results that need not be seen again become one line each, then the turns but the last two become notes that the model
// writes. The session's file keeps all of it.
import type { ChatRequest, Compaction, Ctx, Message, Model, Reply, Zz } from "zz";
import { counts, scales } from "./count.ts";
import { overflow } from "./overflow.ts";
import { allResults, staleResults, type Texts } from "./stale.ts";
import { ends, filesChanged, notesIn, question, told } from "./summary.ts";

export const defaults = { compactAt: 0.8, turns: 2, words: 350 };
export const settings = {
  name: "context",
  schema: {
    type: "object",
    properties: {
      compactAt: { type: "number", exclusiveMinimum: 0, maximum: 0.95, description: "how full the window may get" },
      turns: { type: "integer", minimum: 1, description: "turns at the end that stay as they were" },
      words: { type: "integer", minimum: 50, description: "of the notes that stand for earlier turns, at most" },
    },
  },
};

const PATIENCE = 600_000; // ms; the model may take its time for a summary
const UNASKED = 28_000; // characters that fit nearly everywhere: for less the provider is not asked for a list of its models
const ROOMY = 0.75; // of what is allowed: when stale results leave more than that, a summary is needed as well
const WORTH = 0.1; // of the window must leave, or a summary would be asked for turn after turn
const LARGEST_RESULTS = 0.5; // of the window, for the results of one round
const LEAST = 200; // characters that stay of a text when nothing else helps
const SHORTER = [40_000, 10_000, 3_000, 1_000, LEAST];
const SUMMARY_SHARE = 0.6; // of the window, for what is to be summarised
const LONG_WORD = 12; // characters: notes that are longer than they should be are cut
const SHRUNK = 0.9; // times what leaves; notes that are not shorter than that are none
const SOME_WINDOW = 32_000; // for that alone, where nobody tells
const FULL = 0.95; // of the window: what is less may be sent when there is no better way
const DOUBT = 0.6; // times what nobody has counted yet: only what is surely too much is not even tried
const CAUTION = 1.6; // times what is new: some texts have that many tokens more than others of their weight
const OUTPUT = ["max_tokens", "max_completion_tokens", "num_predict", "max_output_tokens"];

/** What is to be sent, how much of it there should be, and how much there may be, in tokens. */
type Load = { request: ChatRequest; window: number; most: number; must: number };

export default (zz: Zz<typeof defaults>) => {
  const scale = scales();
  const count = counts(scale);
  const windows = new Map<string, number>(); // by model, as its provider told, or said when something was too long
  const asked = new Map<string, Model | undefined>();
  const thorough = new Set<string>(); // models of which their provider was asked for a list
  let failedAt: string | undefined; // the turn whose summary came to nothing: it is not tried again in it

  zz.wrap(
    "request",
    async (request, next, ctx) => {
      if (request.task !== "chat") return learn(request, await next(request), ctx);
      const sent = await fitted(request, ctx);
      try {
        return learn(sent, await next(sent), ctx);
      } catch (error) {
        const window = ctx.signal.aborted ? undefined : overflow(error as Error);
        if (window === undefined) throw error;
        return afterOverflow(sent, window, error as Error, next, ctx);
      }
    },
    "first", // whatever else changes a request changes what this one makes of it; a router of an earlier name goes before
    PATIENCE,
  );

  zz.command({
    name: "compact",
    usage: "[HINT]",
    description: "make room: notes instead of the earlier turns; the hint says what they must keep",
    group: "conversation",
    async run(hint, ctx) {
      const before = tokensOf(ctx);
      const texts = staleResults(ctx.chat.messages, toolsThatChange(ctx));
      const turns = startsOf(ctx.chat.messages).length;
      const upTo = endOfOld(ctx.chat.messages, Math.max(1, Math.min(zz.config.turns, turns - 1)));
      if (!upTo && !Object.keys(texts).length)
        return ctx.note(turns ? "There is nothing to compact yet." : "There is nothing to compact: nothing was said.");
      if (Object.keys(texts).length) ctx.chat.compact({ texts });
      const what = upTo ? `${await summarise(ctx, upTo, hint.trim())} notes now: about` : "About";
      ctx.note(`${what} ${before} tokens of conversation became ${tokensOf(ctx)}. The session keeps all of it.`);
    },
  });

  const tokensOf = ({ chat }: Ctx): number => Math.ceil(weightOf(chat.messages) * count.ratio(chat.model));
  const weightOf = (messages: readonly Message[]): number => messages.reduce((sum, one) => sum + scale.message(one), 0);
  /** Tools that are not sent are not counted. */
  const counted = (request: ChatRequest): ChatRequest =>
    asked.get(request.model)?.tools === false ? { ...request, tools: [] } : request;
  const estimate = (request: ChatRequest, caution?: number): number => count.estimate(counted(request), caution);

  // ── What the model takes in ──

  async function windowOf({ model, options }: ChatRequest, quick: boolean, ctx: Ctx): Promise<number | undefined> {
    if (!asked.has(model) || (!quick && !asked.get(model)?.window && !thorough.has(model)))
      asked.set(model, await ctx.about.model(model, quick).catch(() => undefined));
    if (!quick) thorough.add(model);
    const set = Number(options.num_ctx) || undefined; // the person's word goes before the provider's
    const chat = model === ctx.chat.model ? ctx.chat.window : undefined;
    return windows.get(model) ?? set ?? asked.get(model)?.window ?? chat;
  }

  /** Less than the window by what the answer needs. */
  function mostOf(window: number, { options }: ChatRequest, share: number): number {
    const output = Math.max(0, ...OUTPUT.map((name) => Number(options[name]) || 0));
    return Math.floor(Math.min(window * share, window - Math.min(output, window / 2)));
  }

  /** The provider's own count, for the next estimate. */
  function learn(sent: ChatRequest, reply: Reply, ctx: Ctx): Reply {
    const tokens = reply.usage?.input;
    if (!tokens) return reply;
    const last = count.last(sent.model);
    const kept = last && sent.messages.filter((one) => last.messages.has(one)).length === last.count;
    if (kept && tokens < last.tokens / 1.5)
      ctx.note(
        `The server counted ${tokens} tokens, though more was sent than the ${last.tokens} before: it seems to drop what is too long. Tell zz how many it takes, with the setting "window".`,
      );
    else count.learn(counted(sent), tokens);
    return reply;
  }

  // ── Before a request ──

  async function fitted(request: ChatRequest, ctx: Ctx): Promise<ChatRequest> {
    const chars = size(request); // which is more than its tokens: most requests need not be weighed
    const window = await windowOf(request, chars < UNASKED, ctx);
    if (!window) return request;
    const most = mostOf(window, request, zz.config.compactAt);
    if (chars <= most || estimate(request) <= most) return request;
    const less = await compacted({ request, window, most, must: mostOf(window, request, FULL) }, ctx);
    if (estimate(less, count.last(request.model) ? 1 : DOUBT) > window) throw tooMuch(less, window);
    return less;
  }

  /** Each measure in its turn, until it is enough. Texts are cut only where it would not fit otherwise. */
  async function compacted({ request, window, most, must }: Load, ctx: Ctx): Promise<ChatRequest> {
    const { chat } = ctx;
    const tail = request.messages.slice(chat.messages.length); // what is asked of it now, and is not part of the conversation
    const now = (): ChatRequest => ({ ...request, messages: [...chat.messages, ...tail] });
    const over = (limit: number): boolean => estimate(now()) > limit;
    const full = (): boolean => estimate(now(), CAUTION) > must;
    cutLastResults(window * LARGEST_RESULTS, ctx);
    if (over(most)) leaveOut(staleResults(chat.messages, toolsThatChange(ctx)), ctx);
    const upTo = endOfOld(chat.messages, zz.config.turns);
    const leaving = weightOf(chat.messages.slice(0, upTo)) * count.ratio(request.model);
    if (upTo && (full() || (over(most * ROOMY) && leaving > window * WORTH))) await trySummary(upTo, ctx);
    if (full()) squeeze(now, must, ctx);
    return now();
  }

  function leaveOut(texts: Texts, { chat, note }: Ctx): void {
    const number = Object.keys(texts).length;
    if (!number) return;
    chat.compact({ texts });
    note(`The window is nearly full: ${number === 1 ? "an old result was" : `${number} old results were`} left out.`);
  }

  /** The results of the last round, where they are too much for the window by themselves. */
  function cutLastResults(most: number, ctx: Ctx): void {
    const { chat, note } = ctx;
    const from = chat.messages.findLastIndex(({ role }) => role === "assistant") + 1;
    const tokens = weightOf(chat.messages.slice(from)) * count.ratio(chat.model);
    const texts = tokens > most ? lastResults(tokens - most, LEAST, ctx) : {};
    const names = Object.keys(texts).map((at) => (chat.messages[Number(at)] as { name: string }).name);
    if (!names.length) return;
    chat.compact({ texts });
    note(`What ${[...new Set(names)].join(", ")} gave is too much for the window and was cut.`);
  }

  // ── A summary ──

  async function trySummary(upTo: number, ctx: Ctx): Promise<void> {
    const turn = `${ctx.chat.id} ${turnsIn(ctx)}`;
    if (failedAt === turn) return;
    const was = tokensOf(ctx);
    try {
      const turns = await summarise(ctx, upTo, "");
      ctx.note(`${turns} notes now: about ${was} tokens of conversation became ${tokensOf(ctx)}.`);
    } catch (error) {
      if (ctx.signal.aborted) throw error;
      failedAt = turn;
      ctx.note((error as Error).message);
    }
  }

  /** Which turns they are, for a sentence. */
  async function summarise(ctx: Ctx, upTo: number, hint: string): Promise<string> {
    const { chat } = ctx;
    const refuse = (why: string) =>
      new Error(`Cannot summarise the conversation: ${why}. It stays as it is; /compact tries again.`);
    const before = notesIn(chat.messages[0]);
    const leaving = chat.messages.slice(before ? 2 : 0, upTo);
    const turns = turnsIn(ctx) - startsOf(chat.messages.slice(upTo)).length;
    ctx.progress(`summarising ${turns === 1 ? "a turn" : `${turns} turns`}`);
    const window = windows.get(chat.model) ?? asked.get(chat.model)?.window ?? chat.window ?? SOME_WINDOW;
    const tokensEach = (weightOf(leaving) * count.ratio(chat.model)) / charsOf(leaving);
    const room = Math.floor((window * SUMMARY_SHARE) / tokensEach);
    const { words } = zz.config;
    const ask = question({ notes: before?.notes ?? "", messages: leaving, hint, words, room });
    const reply = await ctx.request({ task: "summary", ...ask }).catch((error: Error) => {
      throw ctx.signal.aborted ? error : refuse(error.message.replace(/[.\s]+$/, ""));
    });
    const said = reply.text.trim();
    if (reply.calls.length) throw refuse("the model called a tool instead");
    if (!said) throw refuse("the model answered with nothing");
    const gone = weightOf(chat.messages.slice(0, upTo));
    const files = filesChanged(ctx.files.changes(), before?.files ?? "");
    const whole: Message = { role: "user", text: told(said, turns, files) };
    if (scale.message(whole) > gone * SHRUNK) throw refuse("the notes are no shorter than what they stand for");
    const text = told(ends(said, words * LONG_WORD), turns, files);
    chat.compact({ upTo, summary: text });
    return turns === 1 ? "The first turn is" : `The first ${turns} turns are`;
  }

  /** All that the person ever said in this conversation, also what became notes. */
  function turnsIn({ chat }: Ctx): number {
    return chat.tree().branch.filter(({ message }) => message?.role === "user" && !message.aside).length;
  }

  // ── When nothing else helps ──

  /** Results of earlier rounds, long arguments, the last results, long texts, as far as must be; the notes go last. */
  function squeeze(now: () => ChatRequest, most: number, ctx: Ctx): void {
    const { chat, note } = ctx;
    const excess = () => estimate(now(), CAUTION) - most;
    const measures: (() => Compaction["texts"])[] = [
      () => allResults(chat.messages),
      () => longer(chat.messages, LEAST * 2, ({ role }, place) => role === "assistant" && place !== "last"),
      () => lastResults(excess(), LEAST * 4, ctx),
      ...SHORTER.map((size) => () => longer(chat.messages, size, (_, place) => !place)),
      () => lastResults(excess(), LEAST, ctx),
      ...SHORTER.map((size) => () => longer(chat.messages, size, (_, place) => place !== "notes")),
      ...SHORTER.map((size) => () => longer(chat.messages, size, () => true)),
    ];
    const cut = new Set<string>();
    for (const measure of measures) {
      if (excess() <= 0) break;
      const texts = measure() ?? {};
      if (!Object.keys(texts).length) continue;
      chat.compact({ texts });
      for (const at of Object.keys(texts)) cut.add(at);
    }
    if (cut.size)
      note(`The window is full: ${cut.size === 1 ? "a long text was" : `${cut.size} long texts were`} cut.`);
  }

  /** The results of the last round so much shorter, by tokens. */
  function lastResults(excess: number, least: number, { chat }: Ctx): Record<number, number> {
    const from = chat.messages.findLastIndex(({ role }) => role === "assistant") + 1;
    const last = chat.messages.slice(from);
    const tokens = weightOf(last) * count.ratio(chat.model);
    const each = Math.max(least, largestThatFits(last, (Math.max(0, tokens - excess) * charsOf(last)) / tokens));
    return Object.fromEntries(
      last.flatMap((one, i) => (one.role === "tool" && one.text.length > each * 1.1 ? [[from + i, each]] : [])),
    );
  }

  function tooMuch(request: ChatRequest, window: number): Error {
    const all = estimate(request);
    return new Error(
      `Cannot send this: about ${all} tokens are left after all that could be left out, and '${request.model}' takes in ${window}. Offer fewer tools (--tool NAME, --no-tools), begin anew (/new), or choose a model with a larger window.`,
    );
  }

  /** Once: what the provider says is so. */
  async function afterOverflow(
    sent: ChatRequest,
    window: number,
    error: Error,
    next: (request: ChatRequest) => Promise<Reply>,
    ctx: Ctx,
  ): Promise<Reply> {
    const before = estimate(sent);
    if (window) windows.set(sent.model, window);
    const known = window || Math.floor(before * 0.75);
    const most = Math.min(mostOf(known, sent, zz.config.compactAt), Math.floor(before * 0.8));
    const why = error.message.replace(/\s+/g, " ").replace(/[.\s]+$/, "");
    ctx.note(`The request was too long for '${sent.model}'; sending less.`);
    const less = await compacted({ request: sent, window: known, most, must: most }, ctx);
    if (window && estimate(less) > window) throw tooMuch(less, window);
    if (estimate(less) >= before) throw error;
    try {
      return learn(less, await next(less), ctx);
    } catch (again) {
      if (overflow(again as Error) === undefined) throw again;
      const message = `Cannot send this: it is too long for '${sent.model}' even after what could be was left out (${why}). Begin anew (/new), or choose a model with a larger window.`;
      throw Object.assign(again as Error, { message });
    }
  }
};

/** Where turns begin: at what the person said. */
const startsOf = (messages: readonly Message[]): number[] =>
  messages.flatMap((message, at) => (message.role === "user" && !message.aside ? [at] : []));

/** Where the last so many turns begin; 0: nothing stands before them but notes. */
function endOfOld(messages: readonly Message[], turns: number): number {
  const starts = startsOf(messages);
  const at = starts.length > turns ? starts[starts.length - turns]! : 0;
  return at > (notesIn(messages[0]) ? 2 : 0) ? at : 0;
}

const toolsThatChange = ({ files }: Ctx): Set<string> => new Set(files.changes().map(({ tool }) => tool));

/** Texts and arguments of more than so many characters are cut to that. */
function longer(
  messages: readonly Message[],
  most: number,
  which: (message: Message, place?: "notes" | "last") => boolean,
): Record<number, number> {
  const found = messages.flatMap((message, at) => {
    const place = notesIn(message) ? "notes" : at === messages.length - 1 ? "last" : undefined;
    if (!which(message, place)) return [];
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const texts = [message.text, ...calls.flatMap(({ args }) => Object.values(args))];
    return texts.some((text) => typeof text === "string" && text.length > most * 1.2) ? [at] : [];
  });
  return Object.fromEntries(found.map((at) => [at, most]));
}

const charsOf = (messages: readonly Message[]): number =>
  Math.max(
    1,
    messages.reduce((sum, { text }) => sum + text.length, 0),
  );

/** How many characters each may keep so that all together have so many. */
function largestThatFits(messages: readonly Message[], most: number): number {
  const sizes = messages.map(({ text }) => text.length).sort((a, b) => a - b);
  let room = most;
  for (const [i, size] of sizes.entries()) {
    const each = room / (sizes.length - i);
    if (size > each) return Math.floor(each);
    room -= size;
  }
  return Number.POSITIVE_INFINITY;
}

const size = ({ system, tools, messages }: ChatRequest): number =>
  [...messages.map(sizeOf), system.length, JSON.stringify(tools).length].reduce((sum, one) => sum + one, 0);

function sizeOf(message: Message): number {
  const calls = message.role === "assistant" && message.calls?.length ? JSON.stringify(message.calls).length : 0;
  const news = message.role === "user" ? Object.values(message.news ?? {}).join("").length : 0;
  const images = ("images" in message && message.images?.length) || 0;
  return message.text.length + calls + news + images * 2_000 + 10;
}
