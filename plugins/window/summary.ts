// Notes on the turns that leave the window: what the model is asked, and how its answer appears in
// the conversation.
import type { Changed, Message } from "zz";
import { visible } from "zz/text";

const SYSTEM = `You keep the notes of a conversation between a person and an assistant that works in a project with tools.
The older part of it leaves the assistant's view, and your notes take its place. Write what must be known to go on
without it, in at most WORDS words, as short lists under these heads, leaving out a head that has nothing:

Goal: what the person wants, and how far it is.
Constraints: what the person asked for about how it is done, in their own words.
Decisions: what was decided, and why.
Files: what was changed in which file, and in what state it is.
Open: what is left to do, in order.
Facts: what was found out that is needed again, with paths, names and numbers as they were.

Earlier notes must be carried on, but for what is done with or was replaced. Write the notes alone: no greeting, no call of
a tool, nothing to the person.`;
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
  const texts = MESSAGE_CHAR_LIMITS.map((each) =>
    messages.map((message) => line(message, each)).join("\n"),
  );
  const text = texts.find(({ length }) => length <= room) ?? headAndTail(texts.at(-1)!, room);
  const content = `${earlier}The part that leaves:\n<conversation>\n${text}\n</conversation>${wish}\n\nNow the notes.`;
  return {
    system: SYSTEM.replace("WORDS", String(words)),
    messages: [{ role: "user", text: content }],
  };
}

function line(message: Message, each: number): string {
  if (message.role === "tool")
    return `RESULT of ${message.name}: ${headAndTail(message.text, Math.ceil(each / 4))}`;
  if (message.role === "user")
    return `${message.aside ? "NOTE" : "PERSON"}: ${headAndTail(message.text, each)}`;
  const calls = (message.calls ?? []).map(
    ({ name, args }) => `CALL ${name} ${headAndTail(JSON.stringify(args), each / 4)}`,
  );
  return [message.text && `ASSISTANT: ${headAndTail(message.text, each)}`, ...calls]
    .filter(Boolean)
    .join("\n");
}

export function headAndTail(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const [head, tail] = [Math.floor(maxChars * 0.7), Math.floor(maxChars * 0.2)];
  return `${text.slice(0, head)} […] ${text.slice(text.length - tail)}`;
}

const HEAD = "[Not from the person: of this conversation";

const FILES = "Files changed in this conversation, as zz recorded it:";

/** The message that replaces the turns that left the window, with or without notes. */
export function notesText(notes: string, turns: number, files: string): string {
  return [
    `${HEAD} the first ${turns === 1 ? "turn has" : `${turns} turns have`} left your view.${notes ? " These notes stand for them." : ""}]`,
    ...(notes ? [notes] : []),
    ...(files ? [`${FILES}\n${files}`] : []),
    "[End of the notes. What follows is the conversation itself.]",
  ].join("\n\n");
}

/** The notes and the list of files of a message made by notesText(). */
export function notesIn(
  message: Message | undefined,
): { notes: string; files: string } | undefined {
  if (message?.role !== "user" || !message.text.startsWith(HEAD)) return undefined;
  const text = message.text.split("\n\n").slice(1, -1).join("\n\n");
  const filesStart = text.lastIndexOf(FILES);
  return filesStart < 0
    ? { notes: text, files: "" }
    : {
        notes: text.slice(0, filesStart).trim(),
        files: text.slice(filesStart + FILES.length).trim(),
      };
}

const STATES = {
  created: "created",
  edited: "edited",
  deleted: "deleted",
  undone: "changed and undone again",
};
type State = keyof typeof STATES;

/**
 * Each file once, with its last state. Files of earlier notes stay in the list, also in a copy of
 * the conversation.
 */
export function filesChanged(changes: readonly Changed[], before: string): string {
  const states = new Map<string, State>();
  for (const line of before.split("\n")) {
    const [, words, paths = ""] = /^- ([a-z ]+): (.*)$/.exec(line) ?? [];
    const state = (Object.keys(STATES) as State[]).find((state) => STATES[state] === words);
    if (state) for (const path of paths.split(", ")) states.set(path, state);
  }
  const earlier = new Set(states.keys());
  for (const { path: file, did, undone } of changes) {
    const path = visible(file);
    const had = states.get(path);
    const effect = did === "edited" && had === "created" ? "created" : did;
    const state = undone ? "undone" : effect;
    if (!undone || !had || earlier.has(path)) states.set(path, state);
    earlier.delete(path);
  }
  return Object.entries(STATES)
    .map(
      ([state, words]) =>
        [
          words,
          [...states].flatMap(([path, fileState]) => (fileState === state ? [path] : [])),
        ] as const,
    )
    .flatMap(([words, paths]) => (paths.length ? [`- ${words}: ${paths.sort().join(", ")}`] : []))
    .join("\n");
}
