// Questions to the person in the middle of a conversation: for one key, or for a line.
import { clean, wantsWords, width } from "zz/text";
import { type Keyboard, muteEditor, redraw, setLine, showPrompt } from "./input-line.ts";
import {
  isPlain,
  PASTED,
  putQuestion,
  RESIZED,
  rowsOf,
  type Screen,
  unframed,
} from "./page-questions.ts";
import { expandPastes } from "./pastes.ts";
import { keyMeant, matchKey, timeAfter, waitForQuiet } from "./prompt-rows.ts";

/** Returns one of the keys, or without keys a line; "" once the question is over. */
export async function askAtPrompt(
  keyboard: Keyboard,
  question: string,
  keys?: string,
): Promise<string> {
  const stop = keyboard.host.ctx()?.signal;
  const isOver = () =>
    keyboard.isClosed || stop?.aborted === true || keyboard.question.isWithdrawn === true;
  if (isOver()) return "";
  keyboard.question.takesWords = (keys ?? "").length > 1;
  if (keys === undefined) return askForLine(keyboard, question, isOver);
  return keyboard.isDumb
    ? askForKeyByLine(keyboard, question, keys, isOver)
    : askForKey(keyboard, question, keys, isOver);
}

async function askForKey(
  keyboard: Keyboard,
  question: string,
  keys: string,
  isOver: () => boolean,
): Promise<string> {
  await waitUntilNobodyTypes(keyboard);
  if (isOver()) return "";
  if (!keyboard.isMuted) write(keyboard, "\n");
  keepWords(keyboard);
  const press = (settled: boolean) => nextKey(keyboard, settled, isOver);
  const words = async (first: string) =>
    meant(keyboard, await readWords({ ...screenOf(keyboard), press }, first), keys);
  const soon = (pressed: string) => keySoon(keyboard, pressed);
  const typed = await putQuestion(question, keys, { ...screenOf(keyboard), press, soon, words });
  const key = keyMeant(typed, keys);
  // with Enter: there is no reason
  if (key === "n" && typed.length > 1) keyboard.question.said = "";
  write(keyboard, keyboard.question.said ? "\n" : `${key}\n`);
  keyboard.question.isNo = key === "n";
  redraw(keyboard);
  return key;
}

/** On a dumb terminal the system edits the line, so the last row of a page becomes the prompt. */
async function askForKeyByLine(
  keyboard: Keyboard,
  question: string,
  keys: string,
  isOver: () => boolean,
): Promise<string> {
  const rows: string[] = [];
  let last = "";
  // the cursor cannot be moved
  const keep = (text: string) => void (text.startsWith("\r") || rows.push(text));
  const press = async () => {
    // after another key, the last row again
    last = rows.splice(0).join("") || last.split("\n").at(-1)!;
    const line = await readAnswer(keyboard, last);
    return isOver() ? "" : line || "\n";
  };
  keepWords(keyboard);
  const words = async (line: string) => meant(keyboard, line, keys);
  return keyMeant(
    await putQuestion(question, keys, { ...screenOf(keyboard), write: keep, press, words }),
    keys,
  );
}

/**
 * The key that a typed line means: y for "yes", "" for an empty line, else n, with the line as the
 * reason.
 */
function meant({ question }: Keyboard, text: string, keys: string): string {
  if (/^y(es)?$/i.test(text.trim())) return matchKey("y", keys);
  if (text.trim() && !/^no?$/i.test(text.trim())) question.said = text.trim();
  return text.trim() && "n";
}

/** Reads and shows a line until Enter; returns "" after Escape, or if all of it was deleted. */
async function readWords(
  { write, press }: Pick<Screen, "write" | "press">,
  first: string,
): Promise<string> {
  let text = "";
  const shorten = () => {
    const letter = [...text].at(-1) ?? "";
    text = text.slice(0, text.length - letter.length);
    write("\b \b".repeat(width(letter)));
  };
  for (let typed = first; ; typed = await press(false)) {
    const pasted = typed.startsWith(PASTED)
      ? typed.slice(PASTED.length).replaceAll("\n", " ")
      : undefined;
    if (pasted === undefined && typed.startsWith("\x1b") && typed !== "\x1b") continue; // an arrow
    for (const letter of pasted ?? (typed || "\x1b")) {
      if (letter === "\r" || letter === "\n") return text;
      if (letter === "\x7f" || letter === "\b") shorten();
      else if (/[\x03\x04\x1b]/.test(letter)) while (text) shorten();
      else if (!/\p{C}/u.test(letter)) write(letter);
      if (!/[\p{C}]/u.test(letter)) text += letter;
    }
    if (!text) return "";
  }
}

/**
 * Adds words that were typed instead of a key to the next message, if no question asked for a
 * reason.
 */
export function keepWords(keyboard: Keyboard): void {
  const { editor, question } = keyboard;
  if (question.said) setLine(keyboard, [editor.line, question.said].filter(Boolean).join(" "));
  question.said = undefined;
}

async function askForLine(
  keyboard: Keyboard,
  question: string,
  isOver: () => boolean,
): Promise<string> {
  const screen = screenOf(keyboard);
  const rows = rowsOf(clean(question), screen.size().columns).map(({ text }) => text);
  const head = rows.slice(0, -1).join("\n");
  const last = screen.unframed ? unframed(rows.at(-1)!) : rows.at(-1)!;
  if (!head) return readAnswer(keyboard, last);
  const press = (settled: boolean) => nextKey(keyboard, settled, isOver);
  if ((await putQuestion(head, undefined, { ...screen, press })) === "on")
    return readAnswer(keyboard, `\n${last}`);
  write(keyboard, "\n");
  redraw(keyboard);
  return "";
}

const write = ({ zz }: Keyboard, text: string): void => void zz.io.stderr.write(text);

/** Where questions are shown. */
function screenOf(keyboard: Keyboard): Pick<Screen, "size" | "write" | "plain" | "unframed"> {
  const { stderr } = keyboard.zz.io;
  const size = () => ({ columns: stderr.columns ?? 80, rows: stderr.rows ?? 24 });
  return {
    size,
    write: (text: string) => write(keyboard, text),
    plain: isPlain(keyboard.zz),
    unframed: wantsWords(keyboard.zz.io, keyboard.host.ctx()),
  };
}

/** The next key. If settled is true, a key that is still held down does not count. */
async function nextKey(
  keyboard: Keyboard,
  settled: boolean,
  isOver: () => boolean,
): Promise<string> {
  const { question } = keyboard;
  if (settled) {
    question.isPaged = true;
    await waitUntilNobodyTypes(keyboard);
    question.isPaged = false;
  }
  if (isOver()) return "";
  const typed = question.isResized
    ? RESIZED
    : await new Promise<string>((resolve) => (question.onKey = resolve));
  question.onKey = undefined;
  question.isResized = false;
  return typed;
}

/** What is typed after a key, if it comes within a moment. */
async function keySoon({ question, zz }: Keyboard, pressed: string): Promise<string> {
  const key = await new Promise<string>((resolve) => {
    const cancel = zz.io.clock.timer(timeAfter(pressed), () => resolve(""));
    question.onKey = (typed) => {
      cancel();
      resolve(typed);
    };
  });
  question.onKey = undefined;
  return key;
}

async function waitUntilNobodyTypes({ question, zz }: Keyboard): Promise<void> {
  await waitForQuiet(zz.io, (onNoise) => (question.onNoise = onNoise));
  question.onNoise = undefined;
}

/**
 * Whether input before a question shows is dropped: it is a key that is held down, except in a
 * turn, where it belongs to the next message.
 */
export function isTooEarly({ question, isMuted }: Keyboard): boolean {
  question.onNoise?.();
  return question.onNoise !== undefined && (!isMuted || question.isPaged);
}

/**
 * The line typed after the last row of a question. Lines typed before it are messages, not answers.
 */
async function readAnswer(keyboard: Keyboard, text: string): Promise<string> {
  const { editor, question, isMuted } = keyboard;
  const { line, cursor } = editor;
  const { said, isNo } = question;
  Object.assign(question, { said: undefined, isNo: false });
  if (said !== undefined) return expandPastes(keyboard.pastes, said);
  setLine(keyboard, "");
  muteEditor(keyboard, false);
  const rows = text.split("\n");
  if (rows.length > 1) write(keyboard, `${rows.slice(0, -1).join("\n")}\n`);
  showPrompt(keyboard, rows.at(-1)!);
  const giveAnswer = await new Promise<string>((resolve) => (question.onLine = resolve));
  setLine(keyboard, line, cursor);
  muteEditor(keyboard, isMuted);
  // the rest of a "no" is not a reason
  return isNo && /^o$/i.test(giveAnswer.trim()) ? "" : giveAnswer;
}

/** Gives the line to the question that waits for one; false if there is none. */
export function answer({ question }: Keyboard, line: string): boolean {
  const { onLine } = question;
  question.onLine = undefined;
  onLine?.(line);
  return onLine !== undefined;
}
