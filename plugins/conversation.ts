// The conversation as a tree: /clear, /new, /fork, /back, /retry, /continue and /tree.
import type { Ctx, Entry, Image, Zz } from "zz";
import { clip, oneLine, plural, terminalColumns, wantsWords, width, wordsOf } from "zz/text";

export default (zz: Zz) => {
  const group = "conversation";
  zz.command({
    name: "clear",
    description: "forget this conversation and start over; /undo still works",
    group,
    run: clearChat,
  });
  zz.command({
    name: "new",
    description: "start a new conversation; this one stays saved",
    group,
    run: beginChat,
  });
  zz.command({
    name: "fork",
    description: "go on in a copy of this conversation",
    group,
    run: forkChat,
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
    complete: completeMessages,
    run: goBack,
  });
  zz.command({
    name: "retry",
    description: "take back your last message and send it again",
    group,
    run: retryMessage,
  });
  zz.command({
    name: "continue",
    description: "go on with an answer that was stopped or cut off",
    group,
    run: continueAnswer,
  });
  zz.command({
    name: "tree",
    description: "list everything you said, including what was taken back",
    group,
    run: showTree,
  });
};

type UserEntry = Entry & { message: { role: "user"; text: string; images?: Image[] } };
const isUserEntry = (sessionEntry: Entry): sessionEntry is UserEntry =>
  sessionEntry.type === "message" &&
  sessionEntry.message?.role === "user" &&
  !sessionEntry.message.aside;

const quoteMessage = ({ message: { text } }: UserEntry): string =>
  `“${clip(beginningOf(text), 40)}”`;
/** As much of a message as one line can show: measuring all of a long one takes time. */
const beginningOf = (messageText: string): string => oneLine(wordsOf(messageText).slice(0, 2_000));

const completeMessages = (typed: string, { chat }: Ctx) =>
  chat
    .tree()
    .entries.filter(isUserEntry)
    .map(({ id, message }) => ({
      name: `#${id}`,
      description: clip(beginningOf(message.text), 60),
    }))
    .filter(({ name }) => name.startsWith(typed))
    .reverse();

function clearChat(_: string, { chat, note }: Ctx): void {
  if (!chat.messages.length) return void note("There is nothing to clear.");
  chat.back(null, true); // pinned files stay
  note(
    "The conversation starts over. What was said is kept (/tree shows it), and /undo still works.",
  );
}

function beginChat(_: string, { chat, sessions, note }: Ctx): void {
  const { id } = chat;
  sessions.open();
  note(`A new conversation.${id ? ` The other is kept: /sessions load ${id}` : ""}`);
}

function forkChat(_: string, { chat, sessions, note }: Ctx): void {
  const { id } = chat;
  if (!chat.messages.length)
    throw new Error("Cannot copy this conversation: nothing was said in it yet.");
  if (!id)
    throw new Error("Cannot copy this conversation: it is not saved. Start without --no-session.");
  sessions.open(id, true);
  const copyWords = chat.id
    ? `You are in a copy now: ${chat.id}.`
    : "You are in a copy now, which cannot be saved.";
  note(
    `${copyWords} To undo what the original changed in files, go back to it: /sessions load ${id}`,
  );
}

function goBack(argument: string, { chat, files, note }: Ctx): void {
  const { entries, branch } = chat.tree();
  const [, numberSign, typedDigits] = /^(#?)(\d+)$/.exec(argument || "1") ?? [];
  if (!typedDigits)
    throw new Error(
      `Cannot go back '${argument}': give how many messages, or #ID as /tree shows it.`,
    );
  const typedNumber = Number(typedDigits);
  if (numberSign) return void jumpToEntry(typedNumber);
  const userEntries = branch.filter(isUserEntry);
  if (!userEntries.length)
    throw new Error("Cannot go back: nothing was said yet. /tree shows what was taken back.");
  const firstTakenBack = userEntries[userEntries.length - typedNumber];
  if (!firstTakenBack)
    throw new Error(
      `Cannot go back ${typedDigits}: ` +
        `${plural(userEntries.length, "message")} of yours can be taken back.`,
    );
  chat.back(firstTakenBack.parent);
  const takenBack =
    typedNumber > 1
      ? `${plural(typedNumber, "message")}, from ${quoteMessage(firstTakenBack)} on`
      : quoteMessage(firstTakenBack);
  note(
    `Took back ${takenBack}. /back #${userEntries.at(-1)!.id} brings it ` +
      `back.${stillChanged(branch, firstTakenBack, files)}`,
  );

  function jumpToEntry(id: number): void {
    const targetEntry = entries.find((sessionEntry) => sessionEntry.id === id);
    if (!targetEntry)
      throw new Error(`Cannot go to #${id}: there is no entry with that number. /tree lists them.`);
    chat.back(endOfTurn(entries, targetEntry).id);
    note(
      isUserEntry(targetEntry)
        ? `Back at #${id}, ${quoteMessage(targetEntry)}, after its answer.`
        : `Back at #${id}.`,
    );
  }
}

/** Says how many changes to files stay, since taking back messages does not undo them. */
function stillChanged(branch: readonly Entry[], firstEntry: Entry, files: Ctx["files"]): string {
  const changeIds = new Set(branch.slice(branch.indexOf(firstEntry)).map(({ change }) => change));
  const changeCount = files
    .changes()
    .filter(({ id, undone }) => !undone && changeIds.has(id)).length;
  return changeCount
    ? ` ${plural(changeCount, "change")} to files stay${changeCount === 1 ? "s" : ""}: ` +
        "/undo takes back the last."
    : "";
}

/**
 * Where going back to the person's message leads: to the end of its turn, with the asides in the
 * middle of it.
 */
function endOfTurn(entries: readonly Entry[], userEntry: Entry): Entry {
  if (!isUserEntry(userEntry)) return userEntry;
  let turnEnd: Entry = userEntry;
  let lastEntry: Entry = userEntry;
  for (const sessionEntry of entries) {
    if (
      sessionEntry.parent !== lastEntry.id ||
      sessionEntry.type === "back" ||
      sessionEntry.id <= lastEntry.id ||
      isUserEntry(sessionEntry)
    )
      continue;
    const continuesTurn = lastEntry === turnEnd || sessionEntry.message?.role === "assistant";
    lastEntry = sessionEntry;
    if (continuesTurn && !isAside(sessionEntry)) turnEnd = sessionEntry;
  }
  return turnEnd;
}
const isAside = ({ message }: Entry): boolean => message?.role === "user" && message.aside === true;

function retryMessage(_: string, { chat, files, note }: Ctx): void {
  const { branch } = chat.tree();
  const lastMessage = branch.findLast(isUserEntry);
  if (!lastMessage) throw new Error("Cannot try again: nothing was said yet.");
  const { text, images = [] } = lastMessage.message;
  chat.back(lastMessage.parent);
  images.forEach(chat.attach);
  chat.send(text);
  note(`Again: ${quoteMessage(lastMessage)}.${stillChanged(branch, lastMessage, files)}`);
}

const REST_OF_ANSWER =
  "Your last answer was cut off. Continue exactly where it stopped; repeat nothing.";
const REST_OF_WORK = "You were interrupted. Go on with what you were doing.";
function continueAnswer(_: string, { chat }: Ctx): void {
  const lastMessage = chat.messages.at(-1);
  if (!lastMessage) throw new Error("Cannot continue: nothing was said yet.");
  const isAnswer = lastMessage.role === "assistant";
  if (isAnswer && !lastMessage.cut)
    throw new Error("Cannot continue: the last answer is whole. Say what you want next.");
  chat.send(isAnswer ? REST_OF_ANSWER : REST_OF_WORK);
}

function showTree(_: string, { chat, io, note, settings }: Ctx): void {
  const { entries, branch } = chat.tree();
  const marks = wantsWords(io, { settings }) ? WORD_MARKS : SIGN_MARKS;
  const treeLines = drawTree(entries, branch, terminalColumns(io), marks);
  const branchNote = branch.some(isUserEntry) ? `${marks.here} this branch` : "No branch is in use";
  note(
    treeLines.length
      ? [...treeLines, `${branchNote}; /back #ID goes there.`].join("\n")
      : "Nothing was said yet.",
  );
}

/** What the model said in an entry. */
function answerIn({ message }: Entry): string {
  if (message?.role !== "assistant" || !message.text) return "";
  return `${message.cut ? "(unfinished) " : ""}${beginningOf(message.text)}`;
}

const MAX_INDENTS = 6;

const SIGN_MARKS = { here: "●", elsewhere: "○", to: " → " };
const WORD_MARKS: typeof SIGN_MARKS = { here: "here:", elsewhere: "other:", to: ": " };

/**
 * One line for each of the person's messages, and one for the asides after it. A message without
 * alternatives stays at its parent's depth, however long the chain is. Of several alternatives the
 * one in force (or else the latest) stays at that depth, and the others come before it, indented.
 */
export function drawTree(
  entries: readonly Entry[],
  branch: readonly Entry[],
  columns: number,
  marks = SIGN_MARKS,
): string[] {
  const inForce = new Set(branch.map(({ id }) => id));
  // by entry, the person's message that it belongs to; 0: none
  const ownerIds = new Map<number, number>();
  const next = new Map<number, UserEntry[]>();
  const answers = new Map<number, string>();
  const asides = new Map<number, string[]>();
  let before = 0;
  for (const sessionEntry of entries) {
    const above = sessionEntry.parent === null ? 0 : (ownerIds.get(sessionEntry.parent) ?? before);
    before = isUserEntry(sessionEntry) ? sessionEntry.id : above;
    ownerIds.set(sessionEntry.id, before);
    if (isUserEntry(sessionEntry)) next.set(above, [...(next.get(above) ?? []), sessionEntry]);
    else if (isAside(sessionEntry))
      asides.set(above, [...(asides.get(above) ?? []), beginningOf(sessionEntry.message!.text)]);
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
    const room = Math.max(8, columns - 1 - head.length - moreNote.length);
    return texts.slice(-1).map((text) => head + clip(text, room) + moreNote);
  }

  function lineOf({ id, message }: UserEntry, depth: number): string {
    const mark = inForce.has(id) ? marks.here : marks.elsewhere;
    const head = `${"  ".repeat(Math.min(depth, MAX_INDENTS))}${mark} #${id} `;
    const answer = answers.get(id) ?? "";
    const room = Math.max(8, columns - 1 - head.length);
    const text = beginningOf(message.text) || "(an image)";
    const questionRoom = answer ? Math.max(Math.floor(room * 0.6), room - 3 - width(answer)) : room;
    const question = clip(text, questionRoom);
    const answerRoom = room - width(question) - 3;
    return (
      head + question + (answer && answerRoom > 3 ? `${marks.to}${clip(answer, answerRoom)}` : "")
    );
  }
}
