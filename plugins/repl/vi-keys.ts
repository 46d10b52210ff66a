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

type EditKey = (text: string | undefined, key: KeyEvent) => void;
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
  return (text, key) => pressKey(vi, text, key);
}

/** Each line begins with inserting. */
function startLine(vi: Vi): void {
  vi.keyboard.isInNormalMode = false;
  vi.undo.splice(0, vi.undo.length, { line: "", cursor: 0 });
  Object.assign(vi, { typed: "", isInserting: false });
}

function pressKey(vi: Vi, text: string | undefined, key: KeyEvent): void {
  const { keyboard, editKey } = vi;
  const { isMuted, question, isInNormalMode } = keyboard;
  if (isMuted || question.onLine) return void editKey(text, key);
  // Escape and a letter right after it arrive like Alt and that letter
  const [, afterEscape] = /^\x1b(\P{Cc})$/u.exec(key.sequence) ?? [];
  if (afterEscape) {
    pressKey(vi, undefined, plainKey("escape"));
    pressKey(vi, afterEscape, plainKey(afterEscape));
  } else if (key.name === "escape") {
    if (!isInNormalMode) endInserting(vi);
    vi.typed = "";
  } else if (/^[\r\n\x03]$/.test(text ?? "")) {
    if (isInNormalMode) act(vi, "a", 1);
    startLine(vi);
    editKey(text, key);
  } else if (isInNormalMode) {
    pressInNormalMode(vi, key.name === "backspace" ? "h" : text, key);
  } else {
    if (vi.isInserting) vi.last.inserted.push([text, key]);
    editKey(text, key);
  }
}

function pressInNormalMode(vi: Vi, text: string | undefined, key: KeyEvent): void {
  const { keyboard, editKey, undo } = vi;
  const { line, cursor } = keyboard.editor;
  undo.push({ line, cursor });
  if (text && !/^\p{Cc}/u.test(text)) {
    vi.typed += text;
    if (obey(vi, vi.typed)) vi.typed = "";
    return;
  }
  vi.typed = "";
  editKey(text, key);
  if (!keyboard.isClosed) settle(vi);
}

function endInserting(vi: Vi): void {
  const { keyboard, editKey } = vi;
  editKey(undefined, plainKey("escape")); // readline notes in which row the cursor is
  const { letters, at, start } = textOf(keyboard.editor);
  show(vi, letters, Math.max(start, at - 1));
}

const SEGMENTER = new Intl.Segmenter();
/** An emoji of several code points is one letter. */
const lettersOf = (text: string): string[] =>
  Array.from(SEGMENTER.segment(text), ({ segment }) => segment);

/** The line, by whole letters, for these keys; the cursor's row is from `start` to `end`. */
type Text = ReturnType<typeof textOf>;
function textOf({ line, cursor }: Editor, keys = "") {
  const letters = lettersOf(line);
  const at = lettersOf(line.slice(0, cursor)).length;
  const others = /[WBE]/.test(keys) ? "o" : "w"; // words, too, where only spaces part them
  const kinds = letters.map(kindOf).join("").replaceAll(others, "w");
  const start = kinds.slice(0, at).lastIndexOf("\n") + 1;
  return { letters, kinds, at, start, end: at + kinds.slice(at).search(/\n|$/) };
}

/** A sign for the letters of a word, for others, for spaces and for line breaks. */
const kindOf = (letter: string): string => {
  if (/^\s/.test(letter)) return letter === "\n" ? "\n" : " ";
  return /^[\p{L}\p{N}_]/u.test(letter) ? "w" : "o";
};

/** Shows the line, and begins to insert, or keeps the cursor on a letter of its row. */
function show(vi: Vi, letters: readonly string[], at: number, inserts = false): void {
  const { keyboard } = vi;
  vi.isInserting = inserts;
  keyboard.isInNormalMode = !inserts;
  const place = (index: number) =>
    setLine(keyboard, letters.join(""), letters.slice(0, index).join("").length);
  place(at);
  const { start, end } = textOf(keyboard.editor);
  if (!inserts) place(Math.max(start, Math.min(at, end - 1)));
  showPrompt(keyboard, currentPrompt(keyboard));
}

function settle(vi: Vi): void {
  const { letters, at } = textOf(vi.keyboard.editor);
  show(vi, letters, at);
}

/** A count; an operator with its own count and what it is for; or a command. */
const COMMAND =
  /^([1-9]\d*(?!\d))?(?:([cdy])([1-9]\d*(?!\d))?([iafFtT].|[^iafFtT1-9])|([fFtTr].|[^cdyfFtTr1-9]))$/su;
/** Those that are short for others. */
const SHORT: Record<string, string> = {
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
function obey(vi: Vi, typed: string): boolean {
  const [whole, first, operator = "", second, object, plain] = COMMAND.exec(typed) ?? [];
  if (!whole) return false;
  let keys = object ?? plain!;
  const count = Math.min(Number(first ?? 1) * Number(second ?? 1), MAX_COUNT);
  const parts = operator ? undefined : SHORT[keys];
  const command = operator + keys;
  if (/^[fFtT]/.test(keys)) vi.found = keys;
  if (keys === ",") keys = `${swapCase(vi.found.slice(0, 1))}${vi.found.slice(1)};`;
  if (keys === ";") keys = `${vi.found};`;
  if (keys === ".") repeat(vi, first);
  else if (parts) for (const part of parts.split(" ")) obey(vi, count + part);
  else if (operator) operate(vi, operator, keys, count);
  else act(vi, keys, count);
  if (/^[cdiarp~PxXDCsSIA]/.test(command)) vi.last = { command, count, inserted: [] };
  return true;
}

function repeat(vi: Vi, count: string | undefined): void {
  const { last } = vi;
  obey(vi, (count ?? last.count) + last.command);
  if (!vi.isInserting) return;
  for (const key of last.inserted) pressKey(vi, ...key);
  endInserting(vi);
}

function operate(vi: Vi, operator: string, keys: string, count: number): void {
  const text = textOf(vi.keyboard.editor, keys);
  const { letters, at } = text;
  const isRows = keys === operator;
  let [from = 0, to] = rangeOf(text, operator, keys, count);
  if (to === undefined) return;
  if (isRows || to > from) vi.register = letters.slice(from, to).join("") + (isRows ? "\n" : "");
  if (operator === "y") return void show(vi, letters, isRows ? at : from);
  // a deleted row takes the line break before or after it along
  if (isRows && operator === "d" && to === letters.length) from = Math.max(0, from - 1);
  else if (isRows && operator === "d") to++;
  const remaining = letters.toSpliced(from, to - from);
  if (isRows) from = Math.min(from, remaining.lastIndexOf("\n") + 1);
  show(vi, remaining, from, operator === "c");
}

/** What an operator and a motion, or `iw` and its like, are for. */
function rangeOf(text: Text, operator: string, keys: string, count: number): number[] {
  const { kinds, at, start } = text;
  if (keys === operator) {
    const rows = `[^\n]*(?:\n[^\n]*){0,${count - 1}}`;
    return [start, start + reach(kinds.slice(start), rows)];
  }
  if (/^[ia]./.test(keys)) return wordAt(text, keys);
  const isWord = /^w/i.test(keys);
  // the space after a word stays
  const isChange = isWord && operator === "c" && kinds[at] !== " ";
  let to = isChange
    ? at + reach(kinds.slice(at), `(?:[ \n]*${RUN}){0,${count}}`)
    : target(text, keys, count);
  if (to === undefined) return [];
  if (/^[eEft]/.test(keys)) to++;
  // so does the line break
  const lineBreak = isWord ? kinds.slice(at, to).search(/\n[ \n]*$/) : -1;
  if (lineBreak > 0) to = at + lineBreak;
  return [Math.min(at, to), Math.max(at, to)];
}

/** The word at the cursor; `aw` takes the space after it along, or else the one before it. */
function wordAt({ kinds, at }: Text, keys: string): number[] {
  if (!/w$/i.test(keys)) return [];
  for (const { index, 0: run } of kinds.matchAll(/w+|o+| +/g)) {
    const to = index + run.length;
    if (to <= at) continue;
    if (keys[0] === "i") return [index, to];
    const spaces = reach(kinds.slice(to), " *");
    return [spaces ? index : kinds.slice(0, index).search(/ *$/), to + spaces];
  }
  return [];
}

const RUN = "(?:w+|o+)";
const reach = (kinds: string, pattern: string): number =>
  new RegExp(`^${pattern}`).exec(kinds)![0].length;
/** Where a motion leads; undefined if it is none, or leads nowhere. */
function target(text: Text, keys: string, count: number): number | undefined {
  const { kinds, at, start, end } = text;
  const ahead = kinds.slice(at);
  switch (keys[0]!) {
    case "h":
      return Math.max(start, at - count);
    case "l":
    case " ":
      return Math.min(end, at + count);
    case "j": {
      const next = end + 1;
      if (next > kinds.length) return undefined;
      return next + Math.min(at - start, kinds.slice(next).search(/\n|$/));
    }
    case "k": {
      const last = start - 1;
      if (last < 0) return undefined;
      return Math.min(last, kinds.slice(0, last).lastIndexOf("\n") + 1 + at - start);
    }
    case "G":
      return kinds.slice(end) ? kinds.lastIndexOf("\n") + 1 : undefined;
    case "0":
      return start;
    case "^":
      return start + reach(kinds.slice(start), " *");
    case "$":
      return end;
    case "w":
    case "W":
      return at + reach(ahead, `(?:${RUN}?[ \n]*){0,${count}}`);
    case "e":
    case "E":
      return at + reach(ahead, `(?:.(?:[ \n]*${RUN}){0,${count}})?`) - 1;
    case "b":
    case "B":
      return kinds.slice(0, at).search(new RegExp(`(?:${RUN}[ \n]*){0,${count}}$`));
    default:
      return /^[fFtT]/.test(keys) ? letterAt(text, keys, count) : undefined;
  }
}

/** Where f, F, t or T and a letter lead; a `;` after them looks behind the last place. */
function letterAt({ letters, at, start, end }: Text, keys: string, count: number) {
  const [key = "", letter, isAgain] = keys;
  const row = letters.slice(0, end).map((candidate) => [...candidate][0]);
  const step = key > "a" ? 1 : -1;
  const short = /t/i.test(key) ? step : 0; // it stops before the letter
  let place = isAgain ? at + short : at;
  for (let hits = 0; hits < count; ) {
    place += step;
    if (place < start || place >= end) return undefined;
    if (row[place] === letter) hits++;
  }
  return place - short;
}

function act(vi: Vi, keys: string, count: number): void {
  const { editor } = vi.keyboard;
  const text = textOf(editor, keys);
  const { letters, at, end } = text;
  const to = target(text, keys, count);
  if (to !== undefined) return void show(vi, letters, to);
  const [key, letter] = keys;
  switch (key) {
    case "i":
      return void show(vi, letters, at, true);
    case "a":
      return void show(vi, letters, Math.min(at + 1, end), true);
    case "r":
    case "~": {
      const replaced = letters
        .slice(at, Math.min(at + count, end))
        .map((replacedLetter) => letter ?? swapCase(replacedLetter));
      const after = at + replaced.length - (letter ? 1 : 0);
      return void show(vi, letters.toSpliced(at, replaced.length, ...replaced), after);
    }
    case "p":
    case "P":
      return void putBack(vi, text, key === "p", count);
    case "u":
      return void undo(vi);
    case "k":
    case "j":
      return void browse(vi, key === "k" ? "up" : "down", count);
    case "G":
      editor.historyIndex = Math.min(editor.historyIndex, 0); // the newest, if it is in there
      return void browse(vi, "down", 1);
    case "/":
      vi.search();
  }
}

const swapCase = (letter: string): string =>
  letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase();

/** p and P: puts back what was deleted or copied, rows as rows. */
function putBack(vi: Vi, { letters, at, start, end }: Text, isAfter: boolean, count: number): void {
  const inserted = lettersOf(vi.register.repeat(count));
  const isRows = inserted.at(-1) === "\n";
  const withoutBreak = isRows ? inserted.slice(0, -1) : inserted;
  if (isRows && letters.length && isAfter)
    return void show(vi, letters.toSpliced(end, 0, "\n", ...withoutBreak), end + 1);
  if (isRows && letters.length)
    return void show(vi, letters.toSpliced(start, 0, ...inserted), start);
  const index = isAfter ? Math.min(at + 1, end) : at;
  show(vi, letters.toSpliced(index, 0, ...withoutBreak), index + withoutBreak.length - 1);
}

function undo(vi: Vi): void {
  const { keyboard } = vi;
  let state = vi.undo.pop();
  while (state?.line === keyboard.editor.line) state = vi.undo.pop();
  if (!state) return;
  setLine(keyboard, state.line, state.cursor);
  settle(vi);
}

/** j and k: other rows, or earlier lines that begin like all of this one. */
function browse(vi: Vi, name: "up" | "down", count: number): void {
  const { keyboard, editKey } = vi;
  const { editor } = keyboard;
  if (editor.line !== vi.browsed) editKey(undefined, plainKey("escape")); // a search of its own
  for (let n = 0; n < count; n++) {
    if (!editor.line.includes("\n")) setLine(keyboard, editor.line);
    editKey(undefined, plainKey(name));
  }
  vi.browsed = editor.line;
  settle(vi);
}
