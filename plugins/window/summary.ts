// Notes on the turns that leave the window: what the model is asked, and how its answer appears in
// the conversation.
import type { Changed, Message } from "zz";
import { visible } from "zz/text";

const SYSTEM = `You keep the notes of a conversation between a person and an assistant that works
in a project with tools. The older part of it leaves the assistant's view, and your notes take its
place. Write what must be known to go on without it, in at most WORDS words, as short lists under
these heads, leaving out a head that has nothing:

Goal: what the person wants, and how far it is.
Constraints: what the person asked for about how it is done, in their own words.
Decisions: what was decided, and why.
Files: what was changed in which file, and in what state it is.
Open: what is left to do, in order.
Facts: what was found out that is needed again, with paths, names and numbers as they were.

Earlier notes must be carried on, but for what is done with or was replaced. Write the notes
alone: no greeting, no call of a tool, nothing to the person.`;
const MESSAGE_CHAR_LIMITS = [2_000, 600, 200, 60]; // the largest that fits is used

type Asked = {
  notes: string;
  messages: readonly Message[];
  hint: string;
  words: number;
  room: number;
};

/** The request for notes, with the turns in at most `room` characters. */
export function summaryRequest({ notes, messages, hint, words, room }: Asked): {
  system: string;
  messages: Message[];
} {
  const earlier = notes ? `Earlier notes:\n${notes}\n\n` : "";
  const wish = hint ? `\n\nThe person says of the notes: ${hint}` : "";
  const sizedTexts = MESSAGE_CHAR_LIMITS.map((charLimit) =>
    messages.map((message) => messageLine(message, charLimit)).join("\n"),
  );
  const turnsText =
    sizedTexts.find(({ length }) => length <= room) ?? headAndTail(sizedTexts.at(-1)!, room);
  const content =
    `${earlier}The part that leaves:\n<conversation>\n${turnsText}\n` +
    `</conversation>${wish}\n\nNow the notes.`;
  return {
    system: SYSTEM.replace("WORDS", String(words)),
    messages: [{ role: "user", text: content }],
  };
}

function messageLine(message: Message, charLimit: number): string {
  if (message.role === "tool")
    return `RESULT of ${message.name}: ${headAndTail(message.text, Math.ceil(charLimit / 4))}`;
  if (message.role === "user")
    return `${message.aside ? "NOTE" : "PERSON"}: ${headAndTail(message.text, charLimit)}`;
  const callLines = (message.calls ?? []).map(
    ({ name, args }) => `CALL ${name} ${headAndTail(JSON.stringify(args), charLimit / 4)}`,
  );
  return [message.text && `ASSISTANT: ${headAndTail(message.text, charLimit)}`, ...callLines]
    .filter(Boolean)
    .join("\n");
}

export function headAndTail(longText: string, maxChars: number): string {
  if (longText.length <= maxChars) return longText;
  const [headChars, tailChars] = [Math.floor(maxChars * 0.7), Math.floor(maxChars * 0.2)];
  return `${longText.slice(0, headChars)} […] ${longText.slice(longText.length - tailChars)}`;
}

const NOTES_HEAD = "[Not from the person: of this conversation";

const FILES_HEAD = "Files changed in this conversation, as zz recorded it:";

/** The message that replaces the turns that left the window, with or without notes. */
export function notesText(notes: string, turnCount: number, fileRows: string): string {
  return [
    `${NOTES_HEAD} the first ${turnCount === 1 ? "turn has" : `${turnCount} turns have`} left ` +
      `your view.${notes ? " These notes stand for them." : ""}]`,
    ...(notes ? [notes] : []),
    ...(fileRows ? [`${FILES_HEAD}\n${fileRows}`] : []),
    "[End of the notes. What follows is the conversation itself.]",
  ].join("\n\n");
}

/** The notes and the list of files of a message made by notesText(). */
export function notesIn(
  message: Message | undefined,
): { notes: string; files: string } | undefined {
  if (message?.role !== "user" || !message.text.startsWith(NOTES_HEAD)) return undefined;
  const innerText = message.text.split("\n\n").slice(1, -1).join("\n\n");
  const filesStart = innerText.lastIndexOf(FILES_HEAD);
  return filesStart < 0
    ? { notes: innerText, files: "" }
    : {
        notes: innerText.slice(0, filesStart).trim(),
        files: innerText.slice(filesStart + FILES_HEAD.length).trim(),
      };
}

const STATE_WORDS = {
  created: "created",
  edited: "edited",
  deleted: "deleted",
  undone: "changed and undone again",
};
type State = keyof typeof STATE_WORDS;

/**
 * Each file once, with its last state. Files of earlier notes stay in the list, also in a copy of
 * the conversation.
 */
export function filesChanged(changes: readonly Changed[], rowsBefore: string): string {
  const stateByPath = new Map<string, State>();
  for (const fileRow of rowsBefore.split("\n")) {
    const [, stateWords, rowPaths = ""] = /^- ([a-z ]+): (.*)$/.exec(fileRow) ?? [];
    const rowState = (Object.keys(STATE_WORDS) as State[]).find(
      (candidate) => STATE_WORDS[candidate] === stateWords,
    );
    if (rowState) for (const rowPath of rowPaths.split(", ")) stateByPath.set(rowPath, rowState);
  }
  const earlier = new Set(stateByPath.keys());
  for (const { path: file, did, undone } of changes) {
    const shownPath = visible(file);
    const stateBefore = stateByPath.get(shownPath);
    const effect = did === "edited" && stateBefore === "created" ? "created" : did;
    const newState = undone ? "undone" : effect;
    if (!undone || !stateBefore || earlier.has(shownPath)) stateByPath.set(shownPath, newState);
    earlier.delete(shownPath);
  }
  return Object.entries(STATE_WORDS)
    .flatMap(([listedState, stateWords]) => {
      const statePaths = [...stateByPath].flatMap(([changedPath, fileState]) =>
        fileState === listedState ? changedPath : [],
      );
      return statePaths.length ? `- ${stateWords}: ${statePaths.sort().join(", ")}` : [];
    })
    .join("\n");
}
