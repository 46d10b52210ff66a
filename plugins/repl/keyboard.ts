/**
 * The keyboard of the conversation at a prompt. readline edits the line. stdin reaches it through a
 * stream of our own, so that pastes (pastes.ts), keys for questions (ask-at-prompt.ts), plugins'
 * keys (plugin-keys.ts) and programs that need the terminal can be told apart. What these share is
 * in input-line.ts.
 */
import readline from "node:readline";
import { PassThrough } from "node:stream";
import type { DialogHost, Zz } from "zz";
import { clean, ERASE_BELOW, plural } from "zz/text";
import { answer, isTooEarly, keepWords } from "./ask-at-prompt.ts";
import {
  currentPrompt,
  DEFAULT_PROMPT,
  type Editor,
  insertPaste,
  isScreenTaken,
  type Keyboard,
  muteEditor,
  redraw,
  setLine,
  showPrompt,
  startNewLine,
  tell,
} from "./input-line.ts";
import { addLine, discard, isStarted, newDraft } from "./multi-line-drafts.ts";
import {
  expandPastes,
  keepReportsFrom,
  newPastes,
  normalizePaste,
  openPasteReader,
  readInput,
} from "./pastes.ts";
import { openKeys, receivePaste } from "./plugin-keys.ts";
import { say } from "./prompt-rows.ts";
import { followSize } from "./redraw-on-resize.ts";
import {
  addEntry,
  type History,
  MAX_ENTRIES,
  MAX_ENTRY_CHARS,
  openHistory,
} from "./typed-history.ts";

const HIDE_PASTES = "\x1b[?2004l"; // pastes arrive as if they were typed
const MARK_PASTES = "\x1b[?2004h";
const ASK_BACKGROUND = "\x1b]11;?\x1b\\"; // a terminal that knows its colour answers when it likes
const SHOW_CURSOR = "\x1b[?25h";
const READLINES_ERASE = "\x1b[0J";
const LEAVE_MS = 1000; // Ctrl+C twice within this time leaves
const MAX_QUEUED_COLUMNS = 60; // characters of a queued message that are shown
// ms: pastes.ts has waited for what belongs to Escape
const ESCAPE_ALONE = { escapeCodeTimeout: 1 };
// ms: the same for what reads the terminal itself
const ESCAPE_WHEN_LENT = { escapeCodeTimeout: 50 };

export function openKeyboard(
  zz: Zz,
  host: DialogHost,
  onLeave: (exitCode: number) => void,
): Keyboard {
  const stdout = zz.io.stdout as NodeJS.WriteStream;
  const isDumb = zz.io.variable("TERM") === "dumb";
  const editorInput = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => setTerminalRaw({ zz, isDumb }, isRaw),
  });
  const writeScreen = (outputText: string, ...extraArgs: []) =>
    isScreenTaken(keyboard) ||
    stdout.write(outputText === READLINES_ERASE ? ERASE_BELOW : outputText, ...extraArgs);
  const screen: NodeJS.WriteStream = Object.create(stdout, { write: { value: writeScreen } });
  const history = openHistory(host);
  const resizeListeners = stdout.listeners("resize");
  const editor = openEditor(editorInput, screen, isDumb, history);
  const keyboard: Keyboard = {
    zz,
    host,
    editor,
    screen,
    isDumb,
    history,
    onLeave,
    pastes: newPastes(),
    draft: newDraft(),
    question: { isPaged: false },
    queue: [],
    held: [],
    onChange: () => {},
    onInput: () => {},
    onResized: () => {},
    terminalUsers: 0,
    lastInterrupt: Number.NEGATIVE_INFINITY,
    prompt: DEFAULT_PROMPT,
    isPromptDue: false,
    isMuted: false,
    isClosed: false,
    isCutShort: false,
  };
  followSize(keyboard, resizeListeners);
  takeInput(keyboard, editorInput);
  editor.on("line", (typedLine) => takeLine(keyboard, typedLine));
  editor.on("close", () => handleClose(keyboard));
  editor.on("SIGINT", () => interrupt(keyboard));
  editor.on("SIGTSTP", () => suspend(keyboard));
  const onContinue = () => resumeTerminal(keyboard);
  process.on("SIGCONT", onContinue);
  editor.once("close", () => process.off("SIGCONT", onContinue));
  return keyboard;
}

function openEditor(
  input: PassThrough,
  output: NodeJS.WriteStream,
  isDumb: boolean,
  { entries }: History,
): Editor {
  return readline.createInterface({
    input,
    output,
    prompt: DEFAULT_PROMPT,
    history: [...entries],
    historySize: MAX_ENTRIES,
    terminal: !isDumb,
    ...ESCAPE_ALONE,
  }) as Editor;
}

/** Sends all further input here. */
function takeInput(keyboard: Keyboard, editorInput: PassThrough): void {
  const { zz, editor, question, isDumb } = keyboard;
  const { stdin, stdout } = zz.io;
  const pluginKeys = isDumb ? undefined : openKeys(keyboard);
  const onKeys = (keyBytes: Buffer) => {
    if (isTooEarly(keyboard)) return;
    if (question.onKey) question.onKey(keyBytes.toString("utf8"));
    else editorInput.write(keyBytes);
  };
  const onPaste = (pastedText: string) => {
    if (isTooEarly(keyboard)) return;
    const plainText = normalizePaste(pastedText);
    if (pluginKeys && !question.onKey) receivePaste(pluginKeys, plainText);
    else insertPaste(keyboard, plainText);
  };
  const onReport = (reportText: string) => {
    const isLight = lightIn(reportText);
    if (isLight !== undefined) keyboard.isLight = isLight;
  };
  const reader = openPasteReader({ clock: zz.io.clock, onKeys, onPaste, onReport });
  keyboard.onInput = (inputBytes) => readInput(reader, inputBytes);
  const closeEditor = () => editor.close();
  setTerminalRaw(keyboard, true);
  if (!isDumb) stdout.write(MARK_PASTES + ASK_BACKGROUND);
  const restore = () => void (isDumb || stdout.write(HIDE_PASTES + SHOW_CURSOR));
  process.once("exit", restore);
  stdin.on("data", keyboard.onInput).on("end", closeEditor).on("close", closeEditor);
  editor.once("close", () => {
    process.off("exit", restore);
    restore();
    stdin.off("data", keyboard.onInput).off("end", closeEditor).off("close", closeEditor).pause();
  });
  stdin.on("error", () => {}); // the window was closed: setRawMode() fails, too
}

/** Whether a terminal's answer names a light background; undefined if it is another answer. */
function lightIn(reportText: string): boolean | undefined {
  const colourMatch = /^\x1b\]11;rgba?:([\da-f]{1,4})\/([\da-f]{1,4})\/([\da-f]{1,4})/i.exec(
    reportText,
  );
  if (!colourMatch) return undefined;
  const [red, green, blue] = colourMatch
    .slice(1)
    .map((hexDigits) => parseInt(hexDigits, 16) / (16 ** hexDigits.length - 1));
  return 0.299 * red! + 0.587 * green! + 0.114 * blue! > 0.5; // as bright as eyes find it
}

const setTerminalRaw = ({ zz, isDumb }: Pick<Keyboard, "zz" | "isDumb">, isRaw: boolean): void =>
  void (isDumb || (zz.io.stdin as NodeJS.ReadStream).setRawMode(isRaw));

function takeLine(keyboard: Keyboard, typedLine: string): void {
  const { zz, draft, history, pastes, queue } = keyboard;
  restoreHistory(keyboard);
  if (answer(keyboard, typedLine)) return;
  keyboard.offer = undefined;
  const message = addLine(draft, typedLine);
  if (message === undefined)
    return void (keyboard.isMuted || showPrompt(keyboard, currentPrompt(keyboard)));
  const expandedText = expandPastes(pastes, message);
  addEntry(history, expandedText.length > MAX_ENTRY_CHARS ? message : expandedText, zz);
  restoreHistory(keyboard);
  keyboard.lastInterrupt = Number.NEGATIVE_INFINITY;
  if (keyboard.isMuted && message.trim())
    tell(keyboard, `queued: ${message.trim().split("\n")[0]!.slice(0, MAX_QUEUED_COLUMNS)}`);
  queue.push(message, ...(keyboard.isMuted ? [] : keyboard.held.splice(0)));
  keyboard.onChange();
}

/**
 * After a turn that failed or was stopped, puts what was typed ahead back into the line, where
 * Enter sends it.
 */
export function holdQueue(keyboard: Keyboard): void {
  const { queue, held, editor, zz } = keyboard;
  if (!queue.length || keyboard.isClosed) return;
  held.push(...queue.splice(0));
  const othersHint =
    held.length > 1 ? `; Enter also sends the ${plural(held.length - 1, "other")} after it` : "";
  setLine(keyboard, [held.shift(), editor.line].filter(Boolean).join("\n"));
  say(zz, `What you typed ahead was not sent${othersHint}. Ctrl+C drops it.`);
}

/** Undoes what readline added: our history has whole messages, and no answers to questions. */
function restoreHistory({ editor, history }: Keyboard): void {
  editor.history.splice(0, editor.history.length, ...history.entries);
}

function handleClose(keyboard: Keyboard): void {
  keyboard.isClosed = true;
  keyboard.host.stop();
  keyboard.question.onKey?.("");
  answer(keyboard, "");
  keyboard.onChange();
}

export const closeKeyboard = ({ isClosed, editor }: Keyboard): void =>
  void (isClosed || editor.close());

/** The next message; undefined once the keyboard is closed. */
export async function nextMessage(keyboard: Keyboard): Promise<string | undefined> {
  const { queue } = keyboard;
  while (!queue.length && !keyboard.isClosed)
    await new Promise<void>((resolve) => (keyboard.onChange = resolve));
  return keyboard.isClosed ? undefined : queue.shift();
}

/** Sends a message as if it had been typed. */
export function sendMessage(keyboard: Keyboard, messageText: string): void {
  keyboard.offer = undefined;
  keyboard.queue.push(messageText);
  keyboard.zz.io.stdout.write(`${messageText}\n`);
  keyboard.onChange();
}

/**
 * Shows the prompt for the next message. A message that was typed ahead is shown and taken first.
 */
export async function promptForMessage(keyboard: Keyboard): Promise<void> {
  const { host, queue } = keyboard;
  keyboard.isPromptDue = true;
  const promptText = queue.length ? DEFAULT_PROMPT : await host.prompt(DEFAULT_PROMPT);
  if (keyboard.isClosed || !keyboard.isPromptDue) return; // a turn has begun meanwhile
  keyboard.prompt = promptText;
  keyboard.chooseKeys?.();
  keepWords(keyboard);
  if (queue.length) return void keyboard.zz.io.stdout.write(`${promptText}${clean(queue[0]!)}\n`);
  muteEditor(keyboard, false);
  showPrompt(keyboard, currentPrompt(keyboard));
}

/**
 * Ctrl+C: ends a question without an answer, stops what runs, clears the input; twice within a
 * second it leaves.
 */
export function interrupt(keyboard: Keyboard): void {
  const { zz, editor, draft, host, question } = keyboard;
  const { stdout } = zz.io;
  if (question.onLine) stdout.write("\n");
  const stopped = host.stop();
  if (stopped) keyboard.isCutShort = true;
  if (answer(keyboard, "") || stopped) return;
  if (editor.line || isStarted(draft)) {
    setLine(keyboard, editor.line); // its end
    editor.prompt(true);
    stdout.write("^C");
    discard(draft);
    keyboard.held.length = 0;
    startNewLine(keyboard);
  } else if (zz.io.clock.now() - keyboard.lastInterrupt < LEAVE_MS)
    return void keyboard.onLeave(130);
  else {
    keyboard.lastInterrupt = zz.io.clock.now();
    stdout.write("\nCtrl+C again to leave.\n");
  }
  showPrompt(keyboard, currentPrompt(keyboard));
}

/** Ctrl+Z: stops this program until the shell continues it. */
function suspend(keyboard: Keyboard): void {
  const { stdout } = keyboard.zz.io;
  stdout.write(HIDE_PASTES);
  setTerminalRaw(keyboard, false);
  process.kill(process.pid, "SIGTSTP");
}

/**
 * After zz was stopped, by Ctrl+Z or by another program: the shell has changed the terminal's mode
 * meanwhile.
 */
function resumeTerminal(keyboard: Keyboard): void {
  const { zz, isDumb, terminalUsers } = keyboard;
  const { stdin, stdout } = zz.io;
  // a program has it that sets it up itself
  if (terminalUsers > 0 && !(stdin as NodeJS.ReadStream).isRaw) return;
  // otherwise Node, which knows nothing of it, would leave all as it is
  setTerminalRaw(keyboard, false);
  setTerminalRaw(keyboard, true);
  if (terminalUsers > 0 || isDumb) return;
  stdout.write(MARK_PASTES);
  redraw(keyboard);
}

/**
 * Turns Escape into Ctrl+C, the only key with which pickers can be left. Editors read their keys
 * themselves.
 */
function leaveAtEscape(
  this: NodeJS.EventEmitter,
  _: unknown,
  pressedKey?: { name?: string; meta?: boolean },
): void {
  if (pressedKey?.name === "escape")
    setImmediate(() => this.emit("keypress", "\x03", { name: "c", ctrl: true }));
}

/** Leaves the terminal to what runs in `act`, such as an editor. */
export async function lendTerminal<T>(keyboard: Keyboard, act: () => Promise<T>): Promise<T> {
  const { zz, onInput, isDumb } = keyboard;
  const { stdin, stdout } = zz.io;
  let letReports = () => {};
  if (keyboard.terminalUsers++ === 0) {
    letReports = keepReportsFrom(stdin as NodeJS.ReadStream, zz.io.clock);
    stdin.off("data", onInput).pause();
    setTerminalRaw(keyboard, false);
    if (!isDumb) stdout.write(HIDE_PASTES);
    if (!keyboard.isMuted) stdout.write("\n");
  }
  readline.emitKeypressEvents(stdin, ESCAPE_WHEN_LENT as object as readline.Interface);
  stdin.on("keypress", leaveAtEscape);
  try {
    return await act();
  } finally {
    stdin.off("keypress", leaveAtEscape);
    letReports();
    if (--keyboard.terminalUsers === 0 && !keyboard.isClosed) {
      stdin.on("data", onInput).resume();
      setTerminalRaw(keyboard, true);
      if (!isDumb) stdout.write(MARK_PASTES);
      redraw(keyboard);
    }
  }
}
