// vi's keys for the line (the setting repl.keys). While letters are inserted, readline handles them
// as always; after Escape they are commands.
import {
  currentPrompt,
  type Editor,
  type Keyboard,
  type KeyEvent,
  setLine,
  showPrompt,
} from "./input-line.ts";

type EditKey = (typedText: string | undefined, pressedKey: KeyEvent) => void;
interface Vi {
  keyboard: Keyboard;
  editKey: EditKey; // readline's own
  search: () => void; // in the history
  typed: string; // of a command whose end is missing yet
  register: string; // what was deleted or copied; whole rows end with a line break
  undo: { line: string; cursor: number }[];
  found: string; // the last search for a letter
  last: { command: string; count: number; inserted: Parameters<EditKey>[] }; // what . repeats
  isInserting: boolean; // letters belong to `last`
  browsed?: string; // the line as the history gave it
}

const plainKey = (name: string) => ({ name, sequence: "" }) as KeyEvent;

/** Returns what handles a key. */
export function openViKeys(keyboard: Keyboard, editKey: EditKey, search: () => void): EditKey {
  const last = { command: "", count: 1, inserted: [] };
  const vi: Vi = {
    keyboard,
    editKey,
    search,
    last,
    typed: "",
    register: "",
    found: "",
    undo: [],
    isInserting: false,
  };
  startLine(vi);
  keyboard.editor.prependListener("line", () => startLine(vi));
  return (typedText, pressedKey) => pressKey(vi, typedText, pressedKey);
}

/** Each line begins with inserting. */
function startLine(vi: Vi): void {
  vi.keyboard.isInNormalMode = false;
  vi.undo.splice(0, vi.undo.length, { line: "", cursor: 0 });
  Object.assign(vi, { typed: "", isInserting: false });
}

function pressKey(vi: Vi, typedText: string | undefined, pressedKey: KeyEvent): void {
  const { keyboard, editKey } = vi;
  const { isMuted, question, isInNormalMode } = keyboard;
  if (isMuted || question.onLine) return void editKey(typedText, pressedKey);
  // Escape and a letter right after it arrive like Alt and that letter
  const [, afterEscape] = /^\x1b(\P{Cc})$/u.exec(pressedKey.sequence) ?? [];
  if (afterEscape) {
    pressKey(vi, undefined, plainKey("escape"));
    pressKey(vi, afterEscape, plainKey(afterEscape));
  } else if (pressedKey.name === "escape") {
    if (!isInNormalMode) endInserting(vi);
    vi.typed = "";
  } else if (/^[\r\n\x03]$/.test(typedText ?? "")) {
    if (isInNormalMode) runPlainCommand(vi, "a", 1);
    startLine(vi);
    editKey(typedText, pressedKey);
  } else if (isInNormalMode) {
    pressInNormalMode(vi, pressedKey.name === "backspace" ? "h" : typedText, pressedKey);
  } else {
    if (vi.isInserting) vi.last.inserted.push([typedText, pressedKey]);
    editKey(typedText, pressedKey);
  }
}

function pressInNormalMode(vi: Vi, typedText: string | undefined, pressedKey: KeyEvent): void {
  const { keyboard, editKey, undo } = vi;
  const { line, cursor } = keyboard.editor;
  undo.push({ line, cursor });
  if (typedText && !/^\p{Cc}/u.test(typedText)) {
    vi.typed += typedText;
    if (obeyCommand(vi, vi.typed)) vi.typed = "";
    return;
  }
  vi.typed = "";
  editKey(typedText, pressedKey);
  if (!keyboard.isClosed) settleCursor(vi);
}

function endInserting(vi: Vi): void {
  const { keyboard, editKey } = vi;
  editKey(undefined, plainKey("escape")); // readline notes in which row the cursor is
  const { letters, at, start } = analyseLine(keyboard.editor);
  showLine(vi, letters, Math.max(start, at - 1));
}

const SEGMENTER = new Intl.Segmenter();
/** An emoji of several code points is one letter. */
const lettersOf = (lineText: string): string[] =>
  Array.from(SEGMENTER.segment(lineText), ({ segment }) => segment);

/** The line, by whole letters, for these keys; the cursor's row is from `start` to `end`. */
type Text = ReturnType<typeof analyseLine>;
function analyseLine({ line, cursor }: Editor, commandKeys = "") {
  const letters = lettersOf(line);
  const at = lettersOf(line.slice(0, cursor)).length;
  // words, too, where only spaces part them
  const otherSign = /[WBE]/.test(commandKeys) ? "o" : "w";
  const kinds = letters.map(classifyLetter).join("").replaceAll(otherSign, "w");
  const start = kinds.slice(0, at).lastIndexOf("\n") + 1;
  return { letters, kinds, at, start, end: at + kinds.slice(at).search(/\n|$/) };
}

/** A sign for the letters of a word, for others, for spaces and for line breaks. */
const classifyLetter = (letter: string): string => {
  if (/^\s/.test(letter)) return letter === "\n" ? "\n" : " ";
  return /^[\p{L}\p{N}_]/u.test(letter) ? "w" : "o";
};

/** Shows the line, and begins to insert, or keeps the cursor on a letter of its row. */
function showLine(vi: Vi, letters: readonly string[], cursorIndex: number, inserts = false): void {
  const { keyboard } = vi;
  vi.isInserting = inserts;
  keyboard.isInNormalMode = !inserts;
  const placeCursor = (letterIndex: number) =>
    setLine(keyboard, letters.join(""), letters.slice(0, letterIndex).join("").length);
  placeCursor(cursorIndex);
  const { start, end } = analyseLine(keyboard.editor);
  if (!inserts) placeCursor(Math.max(start, Math.min(cursorIndex, end - 1)));
  showPrompt(keyboard, currentPrompt(keyboard));
}

function settleCursor(vi: Vi): void {
  const { letters, at } = analyseLine(vi.keyboard.editor);
  showLine(vi, letters, at);
}

const COUNT_KEYS = String.raw`([1-9]\d*(?!\d))?`;
const OPERATOR_KEYS = `([cdy])${COUNT_KEYS}([iafFtT].|[^iafFtT1-9])`;
/** A count; an operator with its own count and what it is for; or a command. */
const COMMAND = new RegExp(`^${COUNT_KEYS}(?:${OPERATOR_KEYS}|([fFtTr].|[^cdyfFtTr1-9]))$`, "su");
/** Those that are short for others. */
const ABBREVIATIONS: Record<string, string> = {
  x: "dl",
  X: "dh",
  D: "d$",
  C: "c$",
  s: "cl",
  S: "cc",
  Y: "yy",
  I: "^ i",
  A: "$ a",
};
const MAX_COUNT = 1_000;

/** Obeys a command; false if its end is missing yet. */
function obeyCommand(vi: Vi, typedKeys: string): boolean {
  const [wholeMatch, firstCount, operator = "", secondCount, operatorObject, plainCommand] =
    COMMAND.exec(typedKeys) ?? [];
  if (!wholeMatch) return false;
  let commandKeys = operatorObject ?? plainCommand!;
  const count = Math.min(Number(firstCount ?? 1) * Number(secondCount ?? 1), MAX_COUNT);
  const expansion = operator ? undefined : ABBREVIATIONS[commandKeys];
  const command = operator + commandKeys;
  if (/^[fFtT]/.test(commandKeys)) vi.found = commandKeys;
  if (commandKeys === ",") commandKeys = `${swapCase(vi.found.slice(0, 1))}${vi.found.slice(1)};`;
  if (commandKeys === ";") commandKeys = `${vi.found};`;
  if (commandKeys === ".") repeatLast(vi, firstCount);
  else if (expansion)
    for (const longCommand of expansion.split(" ")) obeyCommand(vi, count + longCommand);
  else if (operator) operate(vi, operator, commandKeys, count);
  else runPlainCommand(vi, commandKeys, count);
  if (/^[cdiarp~PxXDCsSIA]/.test(command)) vi.last = { command, count, inserted: [] };
  return true;
}

function repeatLast(vi: Vi, typedCount: string | undefined): void {
  const { last } = vi;
  obeyCommand(vi, (typedCount ?? last.count) + last.command);
  if (!vi.isInserting) return;
  for (const insertedKey of last.inserted) pressKey(vi, ...insertedKey);
  endInserting(vi);
}

function operate(vi: Vi, operator: string, motionKeys: string, repeatCount: number): void {
  const lineState = analyseLine(vi.keyboard.editor, motionKeys);
  const { letters, at } = lineState;
  const isWholeRows = motionKeys === operator;
  let [fromIndex = 0, toIndex] = rangeOf(lineState, operator, motionKeys, repeatCount);
  if (toIndex === undefined) return;
  if (isWholeRows || toIndex > fromIndex)
    vi.register = letters.slice(fromIndex, toIndex).join("") + (isWholeRows ? "\n" : "");
  if (operator === "y") return void showLine(vi, letters, isWholeRows ? at : fromIndex);
  // a deleted row takes the line break before or after it along
  if (isWholeRows && operator === "d" && toIndex === letters.length)
    fromIndex = Math.max(0, fromIndex - 1);
  else if (isWholeRows && operator === "d") toIndex++;
  const remaining = letters.toSpliced(fromIndex, toIndex - fromIndex);
  if (isWholeRows) fromIndex = Math.min(fromIndex, remaining.lastIndexOf("\n") + 1);
  showLine(vi, remaining, fromIndex, operator === "c");
}

/** What an operator and a motion, or `iw` and its like, are for. */
function rangeOf(
  lineState: Text,
  operator: string,
  motionKeys: string,
  repeatCount: number,
): number[] {
  const { kinds, at, start } = lineState;
  if (motionKeys === operator) {
    const rowsPattern = `[^\n]*(?:\n[^\n]*){0,${repeatCount - 1}}`;
    return [start, start + matchLength(kinds.slice(start), rowsPattern)];
  }
  if (/^[ia]./.test(motionKeys)) return findWord(lineState, motionKeys);
  const isWordMotion = /^w/i.test(motionKeys);
  // the space after a word stays
  const isChange = isWordMotion && operator === "c" && kinds[at] !== " ";
  let toIndex = isChange
    ? at + matchLength(kinds.slice(at), `(?:[ \n]*${LETTER_RUN}){0,${repeatCount}}`)
    : findTarget(lineState, motionKeys, repeatCount);
  if (toIndex === undefined) return [];
  if (/^[eEft]/.test(motionKeys)) toIndex++;
  // so does the line break
  const lineBreak = isWordMotion ? kinds.slice(at, toIndex).search(/\n[ \n]*$/) : -1;
  if (lineBreak > 0) toIndex = at + lineBreak;
  return [Math.min(at, toIndex), Math.max(at, toIndex)];
}

/** The word at the cursor; `aw` takes the space after it along, or else the one before it. */
function findWord({ kinds, at }: Text, wordKeys: string): number[] {
  if (!/w$/i.test(wordKeys)) return [];
  for (const { index, 0: letterRun } of kinds.matchAll(/w+|o+| +/g)) {
    const runEnd = index + letterRun.length;
    if (runEnd <= at) continue;
    if (wordKeys[0] === "i") return [index, runEnd];
    const spaceCount = matchLength(kinds.slice(runEnd), " *");
    return [spaceCount ? index : kinds.slice(0, index).search(/ *$/), runEnd + spaceCount];
  }
  return [];
}

const LETTER_RUN = "(?:w+|o+)";
const matchLength = (letterKinds: string, pattern: string): number =>
  new RegExp(`^${pattern}`).exec(letterKinds)![0].length;
/** Where a motion leads; undefined if it is none, or leads nowhere. */
function findTarget(lineState: Text, motionKeys: string, repeatCount: number): number | undefined {
  const { kinds, at, start, end } = lineState;
  const kindsAhead = kinds.slice(at);
  switch (motionKeys[0]!) {
    case "h":
      return Math.max(start, at - repeatCount);
    case "l":
    case " ":
      return Math.min(end, at + repeatCount);
    case "j": {
      const nextStart = end + 1;
      if (nextStart > kinds.length) return undefined;
      return nextStart + Math.min(at - start, kinds.slice(nextStart).search(/\n|$/));
    }
    case "k": {
      const previousEnd = start - 1;
      if (previousEnd < 0) return undefined;
      return Math.min(previousEnd, kinds.slice(0, previousEnd).lastIndexOf("\n") + 1 + at - start);
    }
    case "G":
      return kinds.slice(end) ? kinds.lastIndexOf("\n") + 1 : undefined;
    case "0":
      return start;
    case "^":
      return start + matchLength(kinds.slice(start), " *");
    case "$":
      return end;
    case "w":
    case "W":
      return at + matchLength(kindsAhead, `(?:${LETTER_RUN}?[ \n]*){0,${repeatCount}}`);
    case "e":
    case "E":
      return at + matchLength(kindsAhead, `(?:.(?:[ \n]*${LETTER_RUN}){0,${repeatCount}})?`) - 1;
    case "b":
    case "B":
      return kinds.slice(0, at).search(new RegExp(`(?:${LETTER_RUN}[ \n]*){0,${repeatCount}}$`));
    default:
      return /^[fFtT]/.test(motionKeys) ? letterAt(lineState, motionKeys, repeatCount) : undefined;
  }
}

/** Where f, F, t or T and a letter lead; a `;` after them looks behind the last place. */
function letterAt({ letters, at, start, end }: Text, motionKeys: string, repeatCount: number) {
  const [motionKey = "", soughtLetter, isAgain] = motionKeys;
  const rowLetters = letters.slice(0, end).map((candidate) => [...candidate][0]);
  const direction = motionKey > "a" ? 1 : -1;
  const shortfall = /t/i.test(motionKey) ? direction : 0; // it stops before the letter
  let letterIndex = isAgain ? at + shortfall : at;
  for (let hitCount = 0; hitCount < repeatCount; ) {
    letterIndex += direction;
    if (letterIndex < start || letterIndex >= end) return undefined;
    if (rowLetters[letterIndex] === soughtLetter) hitCount++;
  }
  return letterIndex - shortfall;
}

function runPlainCommand(vi: Vi, commandKeys: string, repeatCount: number): void {
  const { editor } = vi.keyboard;
  const lineState = analyseLine(editor, commandKeys);
  const { letters, at, end } = lineState;
  const targetIndex = findTarget(lineState, commandKeys, repeatCount);
  if (targetIndex !== undefined) return void showLine(vi, letters, targetIndex);
  const [commandKey, newLetter] = commandKeys;
  switch (commandKey) {
    case "i":
      return void showLine(vi, letters, at, true);
    case "a":
      return void showLine(vi, letters, Math.min(at + 1, end), true);
    case "r":
    case "~": {
      const replaced = letters
        .slice(at, Math.min(at + repeatCount, end))
        .map((replacedLetter) => newLetter ?? swapCase(replacedLetter));
      const cursorAfter = at + replaced.length - (newLetter ? 1 : 0);
      return void showLine(vi, letters.toSpliced(at, replaced.length, ...replaced), cursorAfter);
    }
    case "p":
    case "P":
      return void putBack(vi, lineState, commandKey === "p", repeatCount);
    case "u":
      return void undoLast(vi);
    case "k":
    case "j":
      return void browseLines(vi, commandKey === "k" ? "up" : "down", repeatCount);
    case "G":
      editor.historyIndex = Math.min(editor.historyIndex, 0); // the newest, if it is in there
      return void browseLines(vi, "down", 1);
    case "/":
      vi.search();
  }
}

const swapCase = (letter: string): string =>
  letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase();

/** p and P: puts back what was deleted or copied, rows as rows. */
function putBack(
  vi: Vi,
  { letters, at, start, end }: Text,
  isAfter: boolean,
  repeatCount: number,
): void {
  const inserted = lettersOf(vi.register.repeat(repeatCount));
  const isWholeRows = inserted.at(-1) === "\n";
  const withoutBreak = isWholeRows ? inserted.slice(0, -1) : inserted;
  if (isWholeRows && letters.length && isAfter)
    return void showLine(vi, letters.toSpliced(end, 0, "\n", ...withoutBreak), end + 1);
  if (isWholeRows && letters.length)
    return void showLine(vi, letters.toSpliced(start, 0, ...inserted), start);
  const insertIndex = isAfter ? Math.min(at + 1, end) : at;
  showLine(
    vi,
    letters.toSpliced(insertIndex, 0, ...withoutBreak),
    insertIndex + withoutBreak.length - 1,
  );
}

function undoLast(vi: Vi): void {
  const { keyboard } = vi;
  let previousState = vi.undo.pop();
  while (previousState?.line === keyboard.editor.line) previousState = vi.undo.pop();
  if (!previousState) return;
  setLine(keyboard, previousState.line, previousState.cursor);
  settleCursor(vi);
}

/** j and k: other rows, or earlier lines that begin like all of this one. */
function browseLines(vi: Vi, arrowName: "up" | "down", repeatCount: number): void {
  const { keyboard, editKey } = vi;
  const { editor } = keyboard;
  if (editor.line !== vi.browsed) editKey(undefined, plainKey("escape")); // a search of its own
  for (let step = 0; step < repeatCount; step++) {
    if (!editor.line.includes("\n")) setLine(keyboard, editor.line);
    editKey(undefined, plainKey(arrowName));
  }
  vi.browsed = editor.line;
  settleCursor(vi);
}
