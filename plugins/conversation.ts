// The conversation as a tree: /clear, /new, /fork, /back, /retry, /continue and /tree.
import type { Ctx, Entry, Image, Zz } from "zz";
import { clip, oneLine, plural, terminalColumns, wantsWords, width, wordsOf } from "zz/text";

export default (zz: Zz) => {
  const group = "conversation";
  zz.command({
    name: "clear",
    description: "forget this conversation and start over; /undo still works",
    group,
    run: clear,
  });
  zz.command({
    name: "new",
    description: "start a new conversation; this one stays saved",
    group,
    run: begin,
  });
  zz.command({
    name: "fork",
    description: "go on in a copy of this conversation",
    group,
    run: fork,
  });
  zz.command({
    name: "back",
    usage: "[N | #ID]",
    description: "take back your last N messages, or go to #ID",
    examples: {
      "/back": "take back your last message",
      "/back 3": "take back the last three",
      "/back #12": "go to message 12 of /tree, also on another branch",
    },
    group,
    complete: (typed, { chat }) =>
      chat
        .tree()
        .entries.filter(isUserEntry)
        .map(({ id, message }) => ({ name: `#${id}`, description: clip(shown(message.text), 60) }))
        .filter(({ name }) => name.startsWith(typed))
        .reverse(),
    run: back,
  });
  zz.command({
    name: "retry",
    description: "take back your last message and send it again",
    group,
    run: retry,
  });
  zz.command({
    name: "continue",
    description: "go on with an answer that was stopped or cut off",
    group,
    run: goOn,
  });
  zz.command({
    name: "tree",
    description: "list everything you said, including what was taken back",
    group,
    run: tree,
  });
};

type UserEntry = Entry & { message: { role: "user"; text: string; images?: Image[] } };
const isUserEntry = (sessionEntry: Entry): sessionEntry is UserEntry =>
  sessionEntry.type === "message" &&
  sessionEntry.message?.role === "user" &&
  !sessionEntry.message.aside;

const quoted = ({ message: { text } }: UserEntry): string => `“${clip(shown(text), 40)}”`;
/** As much of a message as one line can show: measuring all of a long one takes time. */
const shown = (text: string): string => oneLine(wordsOf(text).slice(0, 2_000));

function clear(_: string, { chat, note }: Ctx): void {
  const had = chat.messages.length;
  if (had) chat.back(null, true); // pinned files stay
  note(
    had
      ? "The conversation starts over. What was said is kept (/tree shows it), and /undo still works."
      : "There is nothing to clear.",
  );
}

function begin(_: string, { chat, sessions, note }: Ctx): void {
  const { id } = chat;
  sessions.open();
  note(`A new conversation.${id ? ` The other is kept: /sessions load ${id}` : ""}`);
}

function fork(_: string, { chat, sessions, note }: Ctx): void {
  const { id } = chat;
  if (!chat.messages.length)
    throw new Error("Cannot copy this conversation: nothing was said in it yet.");
  if (!id)
    throw new Error("Cannot copy this conversation: it is not saved. Start without --no-session.");
  sessions.open(id, true);
  const copy = chat.id
    ? `You are in a copy now: ${chat.id}.`
    : "You are in a copy now, which cannot be saved.";
  note(`${copy} To undo what the original changed in files, go back to it: /sessions load ${id}`);
}

function back(argument: string, { chat, files, note }: Ctx): void {
  const { entries, branch } = chat.tree();
  const [, sign, digits] = /^(#?)(\d+)$/.exec(argument || "1") ?? [];
  if (!digits)
    throw new Error(
      `Cannot go back '${argument}': give how many messages, or #ID as /tree shows it.`,
    );
  if (sign) {
    jump(Number(digits));
    return;
  }
  const userEntries = branch.filter(isUserEntry);
  const first = userEntries.at(-Number(digits));
  if (!userEntries.length)
    throw new Error("Cannot go back: nothing was said yet. /tree shows what was taken back.");
  if (Number(digits) < 1 || Number(digits) > userEntries.length)
    throw new Error(
      `Cannot go back ${digits}: ${plural(userEntries.length, "message")} of yours can be taken back.`,
    );
  chat.back(first!.parent);
  const takenBack =
    Number(digits) > 1
      ? `${plural(Number(digits), "message")}, from ${quoted(first!)} on`
      : quoted(first!);
  note(
    `Took back ${takenBack}. /back #${userEntries.at(-1)!.id} brings it back.${stillChanged(branch, first!, files)}`,
  );

  function jump(id: number): void {
    const target = entries.find((sessionEntry) => sessionEntry.id === id);
    if (!target)
      throw new Error(`Cannot go to #${id}: there is no entry with that number. /tree lists them.`);
    chat.back(endOfTurn(entries, target).id);
    note(
      isUserEntry(target)
        ? `Back at #${id}, ${quoted(target)}, after its answer.`
        : `Back at #${id}.`,
    );
  }
}

/** Says how many changes to files stay, since taking back messages does not undo them. */
function stillChanged(branch: readonly Entry[], from: Entry, files: Ctx["files"]): string {
  const changeIds = new Set(branch.slice(branch.indexOf(from)).map(({ change }) => change));
  const count = files.changes().filter(({ id, undone }) => !undone && changeIds.has(id)).length;
  return count
    ? ` ${plural(count, "change")} to files stay${count === 1 ? "s" : ""}: /undo takes back the last.`
    : "";
}

/**
 * Where going back to the person's message leads: to the end of its turn, with the asides in the
 * middle of it.
 */
function endOfTurn(entries: readonly Entry[], from: Entry): Entry {
  if (!isUserEntry(from)) return from;
  let end: Entry = from;
  let last: Entry = from;
  for (const sessionEntry of entries) {
    if (
      sessionEntry.parent !== last.id ||
      sessionEntry.type === "back" ||
      sessionEntry.id <= last.id ||
      isUserEntry(sessionEntry)
    )
      continue;
    const goesOn = last === end || sessionEntry.message?.role === "assistant";
    last = sessionEntry;
    if (goesOn && !isAside(sessionEntry)) end = sessionEntry;
  }
  return end;
}
const isAside = ({ message }: Entry): boolean => message?.role === "user" && message.aside === true;

function retry(_: string, { chat, files, note }: Ctx): void {
  const { branch } = chat.tree();
  const last = branch.findLast(isUserEntry);
  if (!last) throw new Error("Cannot try again: nothing was said yet.");
  const { text, images = [] } = last.message;
  chat.back(last.parent);
  images.forEach(chat.attach);
  chat.send(text);
  note(`Again: ${quoted(last)}.${stillChanged(branch, last, files)}`);
}

const REST_OF_ANSWER =
  "Your last answer was cut off. Continue exactly where it stopped; repeat nothing.";
const REST_OF_WORK = "You were interrupted. Go on with what you were doing.";
function goOn(_: string, { chat }: Ctx): void {
  const last = chat.messages.at(-1);
  if (!last) throw new Error("Cannot continue: nothing was said yet.");
  const isAnswer = last.role === "assistant";
  if (isAnswer && !last.cut)
    throw new Error("Cannot continue: the last answer is whole. Say what you want next.");
  chat.send(isAnswer ? REST_OF_ANSWER : REST_OF_WORK);
}

function tree(_: string, { chat, io, note, settings }: Ctx): void {
  const { entries, branch } = chat.tree();
  const marks = wantsWords(io, { settings }) ? WORDS : SIGNS;
  const lines = drawTree(entries, branch, terminalColumns(io), marks);
  const branchNote = branch.some(isUserEntry) ? `${marks.here} this branch` : "No branch is in use";
  note(
    lines.length
      ? [...lines, `${branchNote}; /back #ID goes there.`].join("\n")
      : "Nothing was said yet.",
  );
}

/** What the model said in an entry. Older versions of zz kept an unfinished answer as a draft. */
function answerIn({ type, message, text }: Entry): string {
  if (type === "draft" && text) return `(unfinished) ${shown(String(text))}`;
  if (message?.role !== "assistant" || !message.text) return "";
  return `${message.cut ? "(unfinished) " : ""}${shown(message.text)}`;
}

const MAX_INDENTS = 6;

const SIGNS = { here: "●", elsewhere: "○", to: " → " };
const WORDS: typeof SIGNS = { here: "here:", elsewhere: "other:", to: ": " };

/**
 * One line for each of the person's messages, and one for the asides after it. A message without
 * alternatives stays at its parent's depth, however long the chain is. Of several alternatives the
 * one in force (or else the latest) stays at that depth, and the others come before it, indented.
 */
export function drawTree(
  entries: readonly Entry[],
  branch: readonly Entry[],
  columns: number,
  marks = SIGNS,
): string[] {
  const inForce = new Set(branch.map(({ id }) => id));
  // by entry, the person's message that it belongs to; 0: none
  const owners = new Map<number, number>();
  const next = new Map<number, UserEntry[]>();
  const answers = new Map<number, string>();
  const asides = new Map<number, string[]>();
  let before = 0;
  for (const sessionEntry of entries) {
    const above = sessionEntry.parent === null ? 0 : (owners.get(sessionEntry.parent) ?? before);
    before = isUserEntry(sessionEntry) ? sessionEntry.id : above;
    owners.set(sessionEntry.id, before);
    if (isUserEntry(sessionEntry)) next.set(above, [...(next.get(above) ?? []), sessionEntry]);
    else if (isAside(sessionEntry))
      asides.set(above, [...(asides.get(above) ?? []), shown(sessionEntry.message!.text)]);
    else answers.set(above, answerIn(sessionEntry) || (answers.get(above) ?? ""));
  }
  const lines: string[] = [];
  walk(next.get(0) ?? [], 0);
  return lines;

  function walk(alternatives: UserEntry[], depth: number): void {
    for (let level = alternatives; level.length; ) {
      const main = level.find(({ id }) => inForce.has(id)) ?? level.at(-1)!;
      for (const sibling of level) if (sibling !== main) walk([sibling], depth + 1);
      lines.push(lineOf(main, depth), ...asidesOf(main, depth));
      level = next.get(main.id) ?? [];
    }
  }

  function asidesOf({ id }: UserEntry, depth: number): string[] {
    const texts = asides.get(id) ?? [];
    const moreNote = texts.length > 1 ? ` (and ${texts.length - 1} more)` : "";
    const head = `${"  ".repeat(Math.min(depth, MAX_INDENTS))}    told: `;
    return texts
      .slice(-1)
      .map(
        (text) =>
          head + clip(text, Math.max(8, columns - 1 - head.length - moreNote.length)) + moreNote,
      );
  }

  function lineOf({ id, message }: UserEntry, depth: number): string {
    const head = `${"  ".repeat(Math.min(depth, MAX_INDENTS))}${inForce.has(id) ? marks.here : marks.elsewhere} #${id} `;
    const answer = answers.get(id) ?? "";
    const room = Math.max(8, columns - 1 - head.length);
    const text = shown(message.text) || "(an image)";
    const questionRoom = answer ? Math.max(Math.floor(room * 0.6), room - 3 - width(answer)) : room;
    const question = clip(text, questionRoom);
    const answerRoom = room - width(question) - 3;
    return (
      head + question + (answer && answerRoom > 3 ? `${marks.to}${clip(answer, answerRoom)}` : "")
    );
  }
}
