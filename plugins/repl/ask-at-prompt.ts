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
import { keyMeant, matchKey, typedSoon, waitForQuiet } from "./prompt-rows.ts";

/** Returns one of the keys, or without keys a line; "" once the question is over. */
export async function askAtPrompt(
  keyboard: Keyboard,
  question: string,
  offeredKeys?: string,
): Promise<string> {
  const stopSignal = keyboard.host.ctx()?.signal;
  const isOver = () =>
    keyboard.isClosed || stopSignal?.aborted === true || keyboard.question.isWithdrawn === true;
  if (isOver()) return "";
  keyboard.question.takesWords = (offeredKeys ?? "").length > 1;
  if (offeredKeys === undefined) return askForLine(keyboard, question, isOver);
  return keyboard.isDumb
    ? askForKeyByLine(keyboard, question, offeredKeys, isOver)
    : askForKey(keyboard, question, offeredKeys, isOver);
}

async function askForKey(
  keyboard: Keyboard,
  question: string,
  offeredKeys: string,
  isOver: () => boolean,
): Promise<string> {
  await waitUntilNobodyTypes(keyboard);
  if (isOver()) return "";
  if (!keyboard.isMuted) writeText(keyboard, "\n");
  keepWords(keyboard);
  const screen = screenOf(keyboard, isOver);
  const words = async (firstTyped: string) =>
    interpretLine(keyboard, await readWords(screen, firstTyped), offeredKeys);
  const soon = (pressed: string) => keySoon(keyboard, pressed);
  const typedText = await putQuestion(question, offeredKeys, { ...screen, soon, words });
  const answerKey = keyMeant(typedText, offeredKeys);
  // with Enter: there is no reason
  if (answerKey === "n" && typedText.length > 1) keyboard.question.said = "";
  writeText(keyboard, keyboard.question.said ? "\n" : `${answerKey}\n`);
  keyboard.question.isNo = answerKey === "n";
  redraw(keyboard);
  return answerKey;
}

/** On a dumb terminal the system edits the line, so the last row of a page becomes the prompt. */
async function askForKeyByLine(
  keyboard: Keyboard,
  question: string,
  offeredKeys: string,
  isOver: () => boolean,
): Promise<string> {
  const pageRows: string[] = [];
  let lastPrompt = "";
  // the cursor cannot be moved
  const keepText = (shownText: string) =>
    void (shownText.startsWith("\r") || pageRows.push(shownText));
  const press = async () => {
    // after another key, the last row again
    lastPrompt = pageRows.splice(0).join("") || lastPrompt.split("\n").at(-1)!;
    const typedLine = await readAnswer(keyboard, lastPrompt);
    return isOver() ? "" : typedLine || "\n";
  };
  keepWords(keyboard);
  const words = async (typedLine: string) => interpretLine(keyboard, typedLine, offeredKeys);
  return keyMeant(
    await putQuestion(question, offeredKeys, {
      ...screenOf(keyboard, isOver),
      write: keepText,
      press,
      words,
    }),
    offeredKeys,
  );
}

/**
 * The key that a typed line means: y for "yes", "" for an empty line, else n, with the line as the
 * reason.
 */
function interpretLine({ question }: Keyboard, typedLine: string, offeredKeys: string): string {
  if (/^y(es)?$/i.test(typedLine.trim())) return matchKey("y", offeredKeys);
  if (typedLine.trim() && !/^no?$/i.test(typedLine.trim())) question.said = typedLine.trim();
  return typedLine.trim() && "n";
}

/** Reads and shows a line until Enter; returns "" after Escape, or if all of it was deleted. */
async function readWords(
  { write, press }: Pick<Screen, "write" | "press">,
  firstTyped: string,
): Promise<string> {
  let typedWords = "";
  const shorten = () => {
    const lastLetter = [...typedWords].at(-1) ?? "";
    typedWords = typedWords.slice(0, typedWords.length - lastLetter.length);
    write("\b \b".repeat(width(lastLetter)));
  };
  for (let typedText = firstTyped; ; typedText = await press(false)) {
    const pastedText = typedText.startsWith(PASTED)
      ? typedText.slice(PASTED.length).replaceAll("\n", " ")
      : undefined;
    // an arrow
    if (pastedText === undefined && typedText.startsWith("\x1b") && typedText !== "\x1b") continue;
    for (const typedLetter of pastedText ?? (typedText || "\x1b")) {
      if (typedLetter === "\r" || typedLetter === "\n") return typedWords;
      if (typedLetter === "\x7f" || typedLetter === "\b") shorten();
      else if (/[\x03\x04\x1b]/.test(typedLetter)) while (typedWords) shorten();
      else if (!/\p{C}/u.test(typedLetter)) write(typedLetter);
      if (!/[\p{C}]/u.test(typedLetter)) typedWords += typedLetter;
    }
    if (!typedWords) return "";
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
  const screen = screenOf(keyboard, isOver);
  const questionRows = rowsOf(clean(question), screen.size().columns).map(({ text }) => text);
  const headText = questionRows.slice(0, -1).join("\n");
  const lastRow = screen.unframed ? unframed(questionRows.at(-1)!) : questionRows.at(-1)!;
  if (!headText) return readAnswer(keyboard, lastRow);
  if ((await putQuestion(headText, undefined, screen)) === "on")
    return readAnswer(keyboard, `\n${lastRow}`);
  writeText(keyboard, "\n");
  redraw(keyboard);
  return "";
}

const writeText = ({ zz }: Keyboard, shownText: string): void => void zz.io.stderr.write(shownText);

/** Where questions are shown. */
function screenOf(keyboard: Keyboard, isOver: () => boolean): Screen {
  const { stderr } = keyboard.zz.io;
  const size = () => ({ columns: stderr.columns ?? 80, rows: stderr.rows ?? 24 });
  return {
    size,
    write: (shownText) => writeText(keyboard, shownText),
    press: (settled) => nextKey(keyboard, settled, isOver),
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
  const typedText = question.isResized
    ? RESIZED
    : await new Promise<string>((resolve) => (question.onKey = resolve));
  question.onKey = undefined;
  question.isResized = false;
  return typedText;
}

/** What is typed after a key, if it comes within a moment. */
async function keySoon({ question, zz }: Keyboard, pressed: string): Promise<string> {
  const typedText = await typedSoon(zz.io, pressed, (onTyped) => (question.onKey = onTyped));
  question.onKey = undefined;
  return typedText;
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
async function readAnswer(keyboard: Keyboard, questionText: string): Promise<string> {
  const { editor, question, isMuted } = keyboard;
  const { line, cursor } = editor;
  const { said, isNo } = question;
  Object.assign(question, { said: undefined, isNo: false });
  if (said !== undefined) return expandPastes(keyboard.pastes, said);
  setLine(keyboard, "");
  muteEditor(keyboard, false);
  const questionRows = questionText.split("\n");
  if (questionRows.length > 1) writeText(keyboard, `${questionRows.slice(0, -1).join("\n")}\n`);
  showPrompt(keyboard, questionRows.at(-1)!);
  const giveAnswer = await new Promise<string>((resolve) => (question.onLine = resolve));
  setLine(keyboard, line, cursor);
  muteEditor(keyboard, isMuted);
  // the rest of a "no" is not a reason
  return isNo && /^o$/i.test(giveAnswer.trim()) ? "" : giveAnswer;
}

/** Gives the line to the question that waits for one; false if there is none. */
export function answer({ question }: Keyboard, typedLine: string): boolean {
  const { onLine } = question;
  question.onLine = undefined;
  onLine?.(typedLine);
  return onLine !== undefined;
}
