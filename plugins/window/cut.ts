// Cuts texts of the conversation, when leaving out results and taking notes is not enough.
import type { ChatRequest, Compaction, Ctx, Message } from "zz";
import { allResults } from "./stale.ts";
import { notesIn } from "./summary.ts";
import { CAUTION_FACTOR, estimate, type State, weightOf } from "./window-state.ts";

/** Cuts the results of the last round if they alone are too much for the window. */
export function cutLastResults(state: State, maxTokens: number, ctx: Ctx): void {
  const { chat, note } = ctx;
  const { lastTokens } = lastRound(state, ctx);
  const texts = shorterLastResults(state, lastTokens - maxTokens, MIN_CHARS_LEFT, ctx);
  const toolNames = Object.keys(texts).map(
    (index) => (chat.messages[Number(index)] as { name: string }).name,
  );
  if (!toolNames.length) return;
  chat.compact({ texts });
  note(`What ${[...new Set(toolNames)].join(", ")} gave is too much for the window and was cut.`);
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
  const excessTokens = () => estimate(state, currentRequest(), CAUTION_FACTOR) - maxTokens;
  const measures: (() => Compaction["texts"])[] = [
    () => allResults(chat.messages),
    () =>
      textsLongerThan(
        chat.messages,
        MIN_CHARS_LEFT * 2,
        ({ role }, position) => role === "assistant" && position !== "last",
      ),
    () => shorterLastResults(state, excessTokens(), MIN_CHARS_LEFT * 4, ctx),
    ...CHAR_LIMITS.map(
      (charLimit) => () => textsLongerThan(chat.messages, charLimit, (_, position) => !position),
    ),
    () => shorterLastResults(state, excessTokens(), MIN_CHARS_LEFT, ctx),
    ...CHAR_LIMITS.map(
      (charLimit) => () =>
        textsLongerThan(chat.messages, charLimit, (_, position) => position !== "notes"),
    ),
    ...CHAR_LIMITS.map((charLimit) => () => textsLongerThan(chat.messages, charLimit, () => true)),
  ];
  const cutIndexes = new Set<string>();
  for (const measure of measures) {
    if (excessTokens() <= 0) break;
    const texts = measure() ?? {};
    if (!Object.keys(texts).length) continue;
    chat.compact({ texts });
    for (const index of Object.keys(texts)) cutIndexes.add(index);
  }
  if (cutIndexes.size)
    note(
      "The window is full: " +
        `${cutIndexes.size === 1 ? "a long text was" : `${cutIndexes.size} long texts were`} cut.`,
    );
}

/** What came since the model's last message. */
function lastRound(state: State, { chat }: Ctx) {
  const firstIndex = chat.messages.findLastIndex(({ role }) => role === "assistant") + 1;
  const lastResults = chat.messages.slice(firstIndex);
  const lastTokens = weightOf(state, lastResults) * state.count.ratio(chat.model);
  return { firstIndex, lastResults, lastTokens };
}

/** Character limits that make the results of the last round shorter by `excess` tokens. */
function shorterLastResults(
  state: State,
  excess: number,
  minChars: number,
  ctx: Ctx,
): Record<number, number> {
  const { firstIndex, lastResults, lastTokens } = lastRound(state, ctx);
  const charLimit = Math.max(
    minChars,
    largestThatFits(
      lastResults,
      (Math.max(0, lastTokens - excess) * charsOf(lastResults)) / lastTokens,
    ),
  );
  return Object.fromEntries(
    lastResults.flatMap((lastResult, i) =>
      lastResult.role === "tool" && lastResult.text.length > charLimit * 1.1
        ? [[firstIndex + i, charLimit]]
        : [],
    ),
  );
}
const MIN_CHARS_LEFT = 200; // of a text, if nothing else helps
const CHAR_LIMITS = [40_000, 10_000, 3_000, 1_000, MIN_CHARS_LEFT];

/** The messages with texts or arguments of more than `most` characters, each with that limit. */
function textsLongerThan(
  messages: readonly Message[],
  maxChars: number,
  isCuttable: (message: Message, position?: "notes" | "last") => boolean,
): Record<number, number> {
  const limits = messages.flatMap((message, index) => {
    const lastOrNone = index === messages.length - 1 ? "last" : undefined;
    const position = notesIn(message) ? "notes" : lastOrNone;
    if (!isCuttable(message, position)) return [];
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const longTexts = [message.text, ...calls.flatMap(({ args }) => Object.values(args))];
    const isLong = longTexts.some(
      (longText) => typeof longText === "string" && longText.length > maxChars * 1.2,
    );
    return isLong ? [[index, maxChars]] : [];
  });
  return Object.fromEntries(limits);
}

export const charsOf = (messages: readonly Message[]): number =>
  Math.max(
    1,
    messages.reduce((sum, { text }) => sum + text.length, 0),
  );

/** How many characters each message may keep so that all together have at most `most`. */
function largestThatFits(messages: readonly Message[], maxTokens: number): number {
  const sortedLengths = messages.map(({ text }) => text.length).sort((a, b) => a - b);
  let charsLeft = maxTokens;
  for (const [i, textLength] of sortedLengths.entries()) {
    const charsEach = charsLeft / (sortedLengths.length - i);
    if (textLength > charsEach) return Math.floor(charsEach);
    charsLeft -= textLength;
  }
  return Number.POSITIVE_INFINITY;
}
