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
  editKey(typedText: string | undefined, pressedKey: KeyEvent): void; // readline's own, or vi's
  onNext: ((pressedKey: Press) => void) | undefined; // a plugin asked for the next key
  isWorking: boolean;
  areRowsShown: boolean; // below the line
  rows: { text: string; chosen: number }; // those, or the last
  mark(chosenRow: string): string; // the chosen one
}
type Pressed = Press & { doDefault?(): void };

/** Makes keys come here before readline gets them. */
export function openKeys(keyboard: Keyboard): PluginKeys {
  const { editor } = keyboard;
  const editKey = followBursts(editor);
  const pluginKeys: PluginKeys = {
    keyboard,
    waiting: [],
    editKey,
    onNext: undefined,
    isWorking: false,
    areRowsShown: false,
    rows: { text: "", chosen: -1 },
    mark: (chosenRow) => chosenRow.replace(/^ {2}/, "> "),
  };
  if (!keyboard.zz.io.variable("NO_COLOR"))
    void import("chalk").then(({ Chalk }) => {
      const { inverse } = new Chalk({ level: 1 });
      pluginKeys.mark = (chosenRow) => inverse(`${chosenRow} `);
    });
  editor._ttyWrite = (typedText, pressedKey) => pressKey(pluginKeys, typedText, pressedKey);
  keyboard.chooseKeys = () => void chooseKeys(pluginKeys, editKey);
  keyboard.onResized = () => {
    // redrawing the line wiped them
    if (pluginKeys.areRowsShown) showRows(pluginKeys, pluginKeys.rows.text, pluginKeys.rows.chosen);
  };
  return pluginKeys;
}

/** vi's keys, or again readline's own, as the settings or /vim say. */
async function chooseKeys(pluginKeys: PluginKeys, editKey: PluginKeys["editKey"]): Promise<void> {
  const { keyboard } = pluginKeys;
  const wantsVi = keyboard.wantsVi ?? (keyboard.zz.config as { keys?: string }).keys === "vi";
  if (wantsVi === (pluginKeys.editKey !== editKey)) return;
  const searchHistory = () => receive(pluginKeys, { name: "ctrl+r", text: "" });
  const { openViKeys } = await import("./vi-keys.ts");
  keyboard.isInNormalMode = false;
  pluginKeys.editKey = wantsVi ? openViKeys(keyboard, editKey, searchHistory) : editKey;
}

/**
 * readline's own handling of a key. Of keys that arrive at once, it prints letters without noting
 * in which row the cursor is then, so that rows of a wrapped line would stay on the screen when it
 * is drawn again.
 */
function followBursts(editor: Editor): PluginKeys["editKey"] {
  const writeKey = editor._ttyWrite.bind(editor);
  let isNoted = true;
  return (typedText, pressedKey) => {
    const isPrinted =
      !editor.isCompletionEnabled &&
      !pressedKey.ctrl &&
      !pressedKey.meta &&
      /^\P{Cc}+$/u.test(typedText ?? "");
    if (!isNoted && !isPrinted) noteRow(editor, 1);
    // it printed over what follows
    if (!isNoted && !isPrinted && editor.cursor < editor.line.length) editor._refreshLine();
    writeKey(typedText, pressedKey);
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
export function receivePaste(pluginKeys: PluginKeys, text: string): void {
  receive(pluginKeys, {
    name: "paste",
    text,
    doDefault: () => insertPaste(pluginKeys.keyboard, text),
  });
}

function pressKey(
  pluginKeys: PluginKeys,
  typedText: string | undefined,
  pressedKey: KeyEvent,
): void {
  const { ctrl, meta, shift, name = pressedKey.sequence } = pressedKey;
  // readline combines a lone Escape with the next one as Meta
  const isAlt = meta && name !== "escape";
  const heldModifiers = [
    ctrl && "ctrl",
    isAlt && "meta",
    shift && (ctrl || isAlt || name.length > 1) && "shift",
  ].filter(Boolean);
  receive(pluginKeys, {
    name: [...heldModifiers, name].join("+"),
    text: typedText ?? "",
    doDefault: () => pluginKeys.editKey(typedText, pressedKey),
  });
}

function receive(pluginKeys: PluginKeys, pressedKey: Pressed): void {
  const { keyboard, waiting, onNext } = pluginKeys;
  const { editor, host, isMuted, question } = keyboard;
  if (pluginKeys.areRowsShown) hideRows(pluginKeys);
  pluginKeys.onNext = undefined;
  if (onNext) return void onNext(pressedKey);
  // the plugin hangs: go on without it
  if (pluginKeys.isWorking && pressedKey.name === "ctrl+c") pluginKeys.isWorking = false;
  if (pluginKeys.isWorking) return void waiting.push(pressedKey);
  if (isMuted && !question.onLine) return void typeAhead(pluginKeys, pressedKey);
  if (pressedKey.name === "tab" && keyboard.offer && !editor.line && !question.onLine)
    return void keyboard.offer();
  const boundKey = host.keys.get(pressedKey.name);
  if (boundKey) question.onLine || void runPluginKey(pluginKeys, boundKey, pressedKey);
  else if (/^(return|enter)$/.test(pressedKey.name) && editor.line.includes("\n"))
    sendLines(keyboard);
  else {
    const lineBefore = editor.line;
    pressedKey.doDefault?.();
    if (editor.line !== lineBefore && !question.onLine) void followTyping(pluginKeys);
  }
}

/**
 * During a turn, Escape stops it, and other input waits for the next prompt. Plugins' keys have no
 * effect.
 */
function typeAhead({ keyboard }: PluginKeys, pressedKey: Pressed): void {
  const { editor, host } = keyboard;
  if (pressedKey.name === "escape") {
    if (host.stop()) keyboard.isCutShort = true;
    return;
  }
  if (host.keys.has(pressedKey.name)) return;
  if (/^(return|enter)$/.test(pressedKey.name) && editor.line.includes("\n")) sendLines(keyboard);
  else pressedKey.doDefault?.();
  host.typed(editor.line);
}

/**
 * Runs the plugin that follows what is typed. What it shows for a line that has changed since is
 * dropped.
 */
async function followTyping(pluginKeys: PluginKeys): Promise<void> {
  const { host, editor } = pluginKeys.keyboard;
  const boundKey = host.keys.get("typing");
  const { line } = editor;
  if (!boundKey) return;
  const showBelow = (rowsText: string, chosenIndex?: number) => {
    if (editor.line === line && !pluginKeys.isWorking) showRows(pluginKeys, rowsText, chosenIndex);
  };
  const ctx = await host.open();
  await (async () =>
    boundKey.value.press(
      Object.create(lineFor(pluginKeys), { below: { value: showBelow } }),
      ctx,
    ))().catch(() => {});
}

/** Sends a message of several lines itself: readline would reverse them. */
function sendLines(keyboard: Keyboard): void {
  const { editor } = keyboard;
  const typedMessage = editor.line;
  setLine(keyboard, typedMessage);
  editor.prompt(true);
  startNewLine(keyboard);
  editor.emit("line", typedMessage);
}

async function runPluginKey(
  pluginKeys: PluginKeys,
  { owner, value }: { owner: string; value: Key },
  pressedKey: Pressed,
): Promise<void> {
  const { keyboard, waiting } = pluginKeys;
  const handlePress = async () => value.press(lineFor(pluginKeys), await keyboard.host.open());
  pluginKeys.isWorking = true;
  const pressResult = await handlePress().catch((pressError) =>
    showNote(
      keyboard,
      `Plugin '${owner}' failed on the key '${pressedKey.name}': ${sentenceOf(pressError)}`,
    ),
  );
  pluginKeys.isWorking = false;
  if (keyboard.isClosed) return;
  if (pressResult === false) pressedKey.doDefault?.();
  while (waiting.length && !pluginKeys.isWorking) receive(pluginKeys, waiting.shift()!);
}

/** The line as a plugin's key sees it. */
function lineFor(pluginKeys: PluginKeys): Line {
  const { keyboard, waiting } = pluginKeys;
  const { editor, history } = keyboard;
  return {
    get text() {
      return editor.line;
    },
    get cursor() {
      return editor.cursor;
    },
    history: history.entries,
    set(newText, newCursor = newText.length) {
      setLine(keyboard, clean(newText), newCursor); // file names and old lines may contain anything
      editor.prompt(true);
    },
    prompt: (promptText) =>
      showPrompt(keyboard, promptText === undefined ? currentPrompt(keyboard) : clean(promptText)),
    below: (rowsText, chosenIndex) => showRows(pluginKeys, rowsText, chosenIndex),
    next: () =>
      new Promise((resolve) =>
        waiting.length ? resolve(waiting.shift()!) : (pluginKeys.onNext = resolve),
      ),
    press: (pressedKey) => void waiting.unshift(pressedKey),
  };
}

function showRows(pluginKeys: PluginKeys, text: string, chosen = -1): void {
  const { keyboard } = pluginKeys;
  const { editor } = keyboard;
  const { stdout } = keyboard.zz.io;
  if (pluginKeys.areRowsShown) hideRows(pluginKeys);
  if (keyboard.isMuted || !text) return;
  const { columns = 80, rows: screenHeight = 24 } = stdout;
  const cursorPosition = editor.getCursorPos();
  const { line, cursor } = editor;
  setLine(keyboard, line);
  const endPosition = editor.getCursorPos();
  setLine(keyboard, line, cursor);
  const shownLines = text.split("\n").slice(0, Math.max(1, screenHeight - endPosition.rows - 2));
  const clippedRows = shownLines.map((shownLine) => clip(clean(shownLine), columns - 2));
  const drawnRows = clippedRows.map(
    (clippedRow, i) => `\r\n${i === chosen ? pluginKeys.mark(clippedRow) : clippedRow}`,
  );
  readline.moveCursor(stdout, 0, endPosition.rows - cursorPosition.rows);
  stdout.write(drawnRows.join(""));
  readline.moveCursor(stdout, 0, cursorPosition.rows - endPosition.rows - shownLines.length);
  readline.cursorTo(stdout, cursorPosition.cols);
  Object.assign(pluginKeys, { areRowsShown: true, rows: { text, chosen } });
}

function hideRows(pluginKeys: PluginKeys): void {
  pluginKeys.areRowsShown = false;
  pluginKeys.keyboard.editor.prompt(true); // it clears what is below
}
