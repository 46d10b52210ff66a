// Keys of plugins: they take precedence over readline's, and may change the line and show rows
// below it.
import readline from "node:readline";
import type { Key, Line, Press } from "zz";
import { clean, clip, sentenceOf } from "zz/text";
import {
  currentPrompt,
  type Editor,
  insertPaste,
  type Keyboard,
  type KeyEvent,
  setLine,
  showNote,
  showPrompt,
  startNewLine,
} from "./input-line.ts";

/** Keys that arrive while a plugin's key is being handled wait for it. */
interface PluginKeys {
  readonly keyboard: Keyboard;
  readonly waiting: Pressed[];
  editKey(text: string | undefined, key: KeyEvent): void; // readline's own, or vi's
  onNext: ((key: Press) => void) | undefined; // a plugin asked for the next key
  isWorking: boolean;
  areRowsShown: boolean; // below the line
  rows: { text: string; chosen: number }; // those, or the last
  mark(row: string): string; // the chosen one
}
type Pressed = Press & { doDefault?(): void };

/** Makes keys come here before readline gets them. */
export function openKeys(keyboard: Keyboard): PluginKeys {
  const { editor } = keyboard;
  const editKey = followBursts(editor);
  const keys: PluginKeys = {
    keyboard,
    waiting: [],
    editKey,
    onNext: undefined,
    isWorking: false,
    areRowsShown: false,
    rows: { text: "", chosen: -1 },
    mark: (row) => row.replace(/^ {2}/, "> "),
  };
  if (!keyboard.zz.io.variable("NO_COLOR"))
    void import("chalk").then(({ Chalk }) => {
      const { inverse } = new Chalk({ level: 1 });
      keys.mark = (row) => inverse(`${row} `);
    });
  editor._ttyWrite = (text, key) => pressKey(keys, text, key);
  keyboard.chooseKeys = () => void chooseKeys(keys, editKey);
  keyboard.onResized = () => {
    // redrawing the line wiped them
    if (keys.areRowsShown) showRows(keys, keys.rows.text, keys.rows.chosen);
  };
  return keys;
}

/** vi's keys, or again readline's own, as the settings or /vim say. */
async function chooseKeys(keys: PluginKeys, editKey: PluginKeys["editKey"]): Promise<void> {
  const { keyboard } = keys;
  const wantsVi = keyboard.wantsVi ?? (keyboard.zz.config as { keys?: string }).keys === "vi";
  if (wantsVi === (keys.editKey !== editKey)) return;
  const search = () => receive(keys, { name: "ctrl+r", text: "" });
  const { openViKeys } = await import("./vi-keys.ts");
  keyboard.isInNormalMode = false;
  keys.editKey = wantsVi ? openViKeys(keyboard, editKey, search) : editKey;
}

/**
 * readline's own handling of a key. Of keys that arrive at once, it prints letters without noting
 * in which row the cursor is then, so that rows of a wrapped line would stay on the screen when it
 * is drawn again.
 */
function followBursts(editor: Editor): PluginKeys["editKey"] {
  const write = editor._ttyWrite.bind(editor);
  let isNoted = true;
  return (text, key) => {
    const isPrinted =
      !editor.isCompletionEnabled && !key.ctrl && !key.meta && /^\P{Cc}+$/u.test(text ?? "");
    if (!isNoted && !isPrinted) noteRow(editor, 1);
    // it printed over what follows
    if (!isNoted && !isPrinted && editor.cursor < editor.line.length) editor._refreshLine();
    write(text, key);
    if (!isNoted && !isPrinted) noteRow(editor, 0);
    isNoted = !isPrinted;
  };
}

/** Behind the last column, the cursor may be waiting in its row until something else is printed. */
function noteRow(editor: Editor, waiting: 0 | 1): void {
  const { rows, cols } = editor.getCursorPos();
  if (editor.line && editor.prevRows !== rows)
    editor.prevRows = rows && !cols ? rows - waiting : rows;
}

/**
 * Handles a paste in order with the keys, so that an open menu gets it and a completion does not
 * overwrite it.
 */
export function receivePaste(keys: PluginKeys, text: string): void {
  receive(keys, { name: "paste", text, doDefault: () => insertPaste(keys.keyboard, text) });
}

function pressKey(keys: PluginKeys, text: string | undefined, key: KeyEvent): void {
  const { ctrl, meta, shift, name = key.sequence } = key;
  // readline combines a lone Escape with the next one as Meta
  const alt = meta && name !== "escape";
  const held = [
    ctrl && "ctrl",
    alt && "meta",
    shift && (ctrl || alt || name.length > 1) && "shift",
  ].filter(Boolean);
  receive(keys, {
    name: [...held, name].join("+"),
    text: text ?? "",
    doDefault: () => keys.editKey(text, key),
  });
}

function receive(keys: PluginKeys, key: Pressed): void {
  const { keyboard, waiting, onNext } = keys;
  const { editor, host, isMuted, question } = keyboard;
  if (keys.areRowsShown) hideRows(keys);
  keys.onNext = undefined;
  if (onNext) return void onNext(key);
  // the plugin hangs: go on without it
  if (keys.isWorking && key.name === "ctrl+c") keys.isWorking = false;
  if (keys.isWorking) return void waiting.push(key);
  if (isMuted && !question.onLine) return void typeAhead(keys, key);
  if (key.name === "tab" && keyboard.offer && !editor.line && !question.onLine)
    return void keyboard.offer();
  const bound = host.keys.get(key.name);
  if (bound) question.onLine || void runKey(keys, bound, key);
  else if (/^(return|enter)$/.test(key.name) && editor.line.includes("\n")) sendLines(keyboard);
  else {
    const before = editor.line;
    key.doDefault?.();
    if (editor.line !== before && !question.onLine) void followTyping(keys);
  }
}

/**
 * During a turn, Escape stops it, and other input waits for the next prompt. Plugins' keys have no
 * effect.
 */
function typeAhead({ keyboard }: PluginKeys, key: Pressed): void {
  const { editor, host } = keyboard;
  if (key.name === "escape") {
    if (host.stop()) keyboard.isCutShort = true;
    return;
  }
  if (host.keys.has(key.name)) return;
  if (/^(return|enter)$/.test(key.name) && editor.line.includes("\n")) sendLines(keyboard);
  else key.doDefault?.();
  host.typed(editor.line);
}

/**
 * Runs the plugin that follows what is typed. What it shows for a line that has changed since is
 * dropped.
 */
async function followTyping(keys: PluginKeys): Promise<void> {
  const { host, editor } = keys.keyboard;
  const bound = host.keys.get("typing");
  const { line } = editor;
  if (!bound) return;
  const below = (text: string, chosen?: number) => {
    if (editor.line === line && !keys.isWorking) showRows(keys, text, chosen);
  };
  const ctx = await host.open();
  await (async () =>
    bound.value.press(Object.create(lineFor(keys), { below: { value: below } }), ctx))().catch(
    () => {},
  );
}

/** Sends a message of several lines itself: readline would reverse them. */
function sendLines(keyboard: Keyboard): void {
  const { editor } = keyboard;
  const text = editor.line;
  setLine(keyboard, text);
  editor.prompt(true);
  startNewLine(keyboard);
  editor.emit("line", text);
}

async function runKey(
  keys: PluginKeys,
  { owner, value }: { owner: string; value: Key },
  key: Pressed,
): Promise<void> {
  const { keyboard, waiting } = keys;
  const press = async () => value.press(lineFor(keys), await keyboard.host.open());
  keys.isWorking = true;
  const done = await press().catch((error) =>
    showNote(keyboard, `Plugin '${owner}' failed on the key '${key.name}': ${sentenceOf(error)}`),
  );
  keys.isWorking = false;
  if (keyboard.isClosed) return;
  if (done === false) key.doDefault?.();
  while (waiting.length && !keys.isWorking) receive(keys, waiting.shift()!);
}

/** The line as a plugin's key sees it. */
function lineFor(keys: PluginKeys): Line {
  const { keyboard, waiting } = keys;
  const { editor, history } = keyboard;
  return {
    get text() {
      return editor.line;
    },
    get cursor() {
      return editor.cursor;
    },
    history: history.entries,
    set(text, cursor = text.length) {
      setLine(keyboard, clean(text), cursor); // file names and old lines may contain anything
      editor.prompt(true);
    },
    prompt: (text) =>
      showPrompt(keyboard, text === undefined ? currentPrompt(keyboard) : clean(text)),
    below: (text, chosen) => showRows(keys, text, chosen),
    next: () =>
      new Promise((resolve) =>
        waiting.length ? resolve(waiting.shift()!) : (keys.onNext = resolve),
      ),
    press: (key) => void waiting.unshift(key),
  };
}

function showRows(keys: PluginKeys, text: string, chosen = -1): void {
  const { keyboard } = keys;
  const { editor } = keyboard;
  const { stdout } = keyboard.zz.io;
  if (keys.areRowsShown) hideRows(keys);
  if (keyboard.isMuted || !text) return;
  const { columns = 80, rows: height = 24 } = stdout;
  const cursorPosition = editor.getCursorPos();
  const { line, cursor } = editor;
  setLine(keyboard, line);
  const end = editor.getCursorPos();
  setLine(keyboard, line, cursor);
  const lines = text.split("\n").slice(0, Math.max(1, height - end.rows - 2));
  const cells = lines.map((line) => clip(clean(line), columns - 2));
  const rows = cells.map((cell, i) => `\r\n${i === chosen ? keys.mark(cell) : cell}`);
  readline.moveCursor(stdout, 0, end.rows - cursorPosition.rows);
  stdout.write(rows.join(""));
  readline.moveCursor(stdout, 0, cursorPosition.rows - end.rows - lines.length);
  readline.cursorTo(stdout, cursorPosition.cols);
  Object.assign(keys, { areRowsShown: true, rows: { text, chosen } });
}

function hideRows(keys: PluginKeys): void {
  keys.areRowsShown = false;
  keys.keyboard.editor.prompt(true); // it clears what is below
}
