// Cuts texts of the conversation, when leaving out results and taking notes is not enough.
import type { ChatRequest, Compaction, Ctx, Message } from "zz";
import { allResults } from "./stale.ts";
import { notesIn } from "./summary.ts";
import { CAUTION_FACTOR, estimate, type State, weightOf } from "./window-state.ts";

/** Cuts the results of the last round if they alone are too much for the window. */
export function cutLastResults(state: State, maxTokens: number, ctx: Ctx): void {
  const { chat, note } = ctx;
  const from = chat.messages.findLastIndex(({ role }) => role === "assistant") + 1;
  const tokens = weightOf(state, chat.messages.slice(from)) * state.count.ratio(chat.model);
  const texts =
    tokens > maxTokens ? shorterLastResults(state, tokens - maxTokens, MIN_CHARS_LEFT, ctx) : {};
  const names = Object.keys(texts).map(
    (index) => (chat.messages[Number(index)] as { name: string }).name,
  );
  if (!names.length) return;
  chat.compact({ texts });
  note(`What ${[...new Set(names)].join(", ")} gave is too much for the window and was cut.`);
}

/**
 * Cuts earlier results, long arguments, the last results, long texts and then notes, until the
 * request fits.
 */
export function cutTexts(
  state: State,
  currentRequest: () => ChatRequest,
  maxTokens: number,
  ctx: Ctx,
): void {
  const { chat, note } = ctx;
  const excess = () => estimate(state, currentRequest(), CAUTION_FACTOR) - maxTokens;
  const measures: (() => Compaction["texts"])[] = [
    () => allResults(chat.messages),
    () =>
      textsLongerThan(
        chat.messages,
        MIN_CHARS_LEFT * 2,
        ({ role }, position) => role === "assistant" && position !== "last",
      ),
    () => shorterLastResults(state, excess(), MIN_CHARS_LEFT * 4, ctx),
    ...CHAR_LIMITS.map(
      (size) => () => textsLongerThan(chat.messages, size, (_, position) => !position),
    ),
    () => shorterLastResults(state, excess(), MIN_CHARS_LEFT, ctx),
    ...CHAR_LIMITS.map(
      (size) => () => textsLongerThan(chat.messages, size, (_, position) => position !== "notes"),
    ),
    ...CHAR_LIMITS.map((size) => () => textsLongerThan(chat.messages, size, () => true)),
  ];
  const cut = new Set<string>();
  for (const measure of measures) {
    if (excess() <= 0) break;
    const texts = measure() ?? {};
    if (!Object.keys(texts).length) continue;
    chat.compact({ texts });
    for (const index of Object.keys(texts)) cut.add(index);
  }
  if (cut.size)
    note(
      `The window is full: ${cut.size === 1 ? "a long text was" : `${cut.size} long texts were`} cut.`,
    );
}

/** Character limits that make the results of the last round shorter by `excess` tokens. */
function shorterLastResults(
  state: State,
  excess: number,
  least: number,
  { chat }: Ctx,
): Record<number, number> {
  const from = chat.messages.findLastIndex(({ role }) => role === "assistant") + 1;
  const last = chat.messages.slice(from);
  const tokens = weightOf(state, last) * state.count.ratio(chat.model);
  const each = Math.max(
    least,
    largestThatFits(last, (Math.max(0, tokens - excess) * charsOf(last)) / tokens),
  );
  return Object.fromEntries(
    last.flatMap((part, i) =>
      part.role === "tool" && part.text.length > each * 1.1 ? [[from + i, each]] : [],
    ),
  );
}
const MIN_CHARS_LEFT = 200; // of a text, if nothing else helps
const CHAR_LIMITS = [40_000, 10_000, 3_000, 1_000, MIN_CHARS_LEFT];

/** The messages with texts or arguments of more than `most` characters, each with that limit. */
function textsLongerThan(
  messages: readonly Message[],
  maxChars: number,
  which: (message: Message, position?: "notes" | "last") => boolean,
): Record<number, number> {
  const indexes = messages.flatMap((message, index) => {
    const lastOrNone = index === messages.length - 1 ? "last" : undefined;
    const position = notesIn(message) ? "notes" : lastOrNone;
    if (!which(message, position)) return [];
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const texts = [message.text, ...calls.flatMap(({ args }) => Object.values(args))];
    return texts.some((text) => typeof text === "string" && text.length > maxChars * 1.2)
      ? [index]
      : [];
  });
  return Object.fromEntries(indexes.map((index) => [index, maxChars]));
}

export const charsOf = (messages: readonly Message[]): number =>
  Math.max(
    1,
    messages.reduce((sum, { text }) => sum + text.length, 0),
  );

/** How many characters each message may keep so that all together have at most `most`. */
function largestThatFits(messages: readonly Message[], maxTokens: number): number {
  const sizes = messages.map(({ text }) => text.length).sort((a, b) => a - b);
  let room = maxTokens;
  for (const [i, size] of sizes.entries()) {
    const each = room / (sizes.length - i);
    if (size > each) return Math.floor(each);
    room -= size;
  }
  return Number.POSITIVE_INFINITY;
}
