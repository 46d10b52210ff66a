// Replaces the earlier turns of a conversation with notes that the model writes. If the setting is
// "truncate", no notes are written: only a line that says so remains, and the files that were
// changed.
import type { Ctx, Message } from "zz";
import { sentenceOf } from "zz/text";
import { charsOf } from "./cut.ts";
import { filesChanged, headAndTail, notesIn, notesText, summaryRequest } from "./summary.ts";
import { type State, tokensOf, turnStarts, weightOf } from "./window-state.ts";

export async function tryToTakeNotes(state: State, upTo: number, ctx: Ctx): Promise<void> {
  const turnKey = `${ctx.chat.id} ${turnsIn(ctx)}`;
  if (state.failedAt === turnKey) return;
  const tokensBefore = tokensOf(state, ctx);
  try {
    const outcomeWords = await takeNotes(state, ctx, upTo, "");
    ctx.note(
      `${outcomeWords}: about ${tokensBefore} tokens of ` +
        `conversation became ${tokensOf(state, ctx)}.`,
    );
  } catch (error) {
    if (ctx.signal.aborted) throw error;
    state.failedAt = turnKey;
    ctx.note(sentenceOf(error));
  }
}

/** Returns the beginning of a sentence that says what became of which turns. */
export async function takeNotes(
  state: State,
  ctx: Ctx,
  upTo: number,
  hint: string,
): Promise<string> {
  const { chat } = ctx;
  const isCut = state.zz.config.method === "truncate"; // earlier notes stay
  const refuse = (reason: string) =>
    new Error(
      `Cannot ${isCut ? "shorten" : "summarise"} the conversation: ` +
        `${reason.replace(/\.$/, "")}. It stays as it is; /compact tries again.`,
    );
  const before = notesIn(chat.messages[0]);
  const leaving = chat.messages.slice(before ? 2 : 0, upTo);
  const turns = turnsIn(ctx) - turnStarts(chat.messages.slice(upTo)).length;
  const newNotes = isCut ? (before?.notes ?? "") : await askForNotes(leaving, before?.notes ?? "");
  const leavingWeight = weightOf(state, chat.messages.slice(0, upTo));
  const changedFiles = filesChanged(ctx.files.changes(), before?.files ?? "");
  const notesMessage: Message = { role: "user", text: notesText(newNotes, turns, changedFiles) };
  if (state.scale.message(notesMessage) > leavingWeight * MAX_NOTES_SHARE)
    throw refuse(`the notes ${isCut ? "that stay " : ""}are no shorter than what they stand for`);
  const { words } = state.zz.config;
  const summaryText = notesText(
    headAndTail(newNotes, words * MAX_CHARS_PER_WORD),
    turns,
    changedFiles,
  );
  chat.compact({ upTo, summary: summaryText });
  const turnsSubject = turns === 1 ? "The first turn is" : `The first ${turns} turns are`;
  return `${turnsSubject} ${isCut ? "left out" : "notes"} now`;

  async function askForNotes(messages: readonly Message[], notes: string): Promise<string> {
    ctx.progress(`summarising ${turns === 1 ? "a turn" : `${turns} turns`}`);
    const window =
      state.windows.get(chat.model) ??
      state.asked.get(chat.model)?.window ??
      chat.window ??
      ASSUMED_WINDOW;
    const tokensEach =
      (weightOf(state, messages) * state.count.ratio(chat.model)) / charsOf(messages);
    const room = Math.floor((window * SUMMARY_SHARE) / tokensEach);
    const notesRequest = summaryRequest({
      notes,
      messages,
      hint,
      words: state.zz.config.words,
      room,
    });
    const reply = await ctx.request({ task: "summary", ...notesRequest }).catch((error: Error) => {
      throw ctx.signal.aborted ? error : refuse(error.message.replace(/[.\s]+$/, ""));
    });
    if (reply.calls.length) throw refuse("the model called a tool instead");
    if (!reply.text.trim()) throw refuse("the model answered with nothing");
    return reply.text.trim();
  }
}

/**
 * How many messages the person has sent in this conversation, including those that notes replaced.
 */
function turnsIn({ chat }: Ctx): number {
  return chat.tree().branch.filter(({ message }) => message?.role === "user" && !message.aside)
    .length;
}
const SUMMARY_SHARE = 0.6; // of the window, for the turns that the notes replace
const MAX_CHARS_PER_WORD = 12; // notes with more than this for each word asked for are cut
const MAX_NOTES_SHARE = 0.9; // of what they replace: longer notes are refused
const ASSUMED_WINDOW = 32_000; // tokens, for taking notes if the window is unknown
