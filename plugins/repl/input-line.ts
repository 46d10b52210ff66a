// The line at the prompt: what the keyboard's modules share, and how the line is drawn.
import readline from "node:readline";
import type { DialogHost, Zz } from "zz";
import { ERASE_BELOW, wantsWords } from "zz/text";
import { type Draft, isStarted } from "./multi-line-drafts.ts";
import { PASTED, unframed } from "./page-questions.ts";
import { type Pastes, textInLine } from "./pastes.ts";
import { say } from "./prompt-rows.ts";
import type { History } from "./typed-history.ts";

export const DEFAULT_PROMPT = "› ";
const CONTINUATION_PROMPT = "… ";

/** The keyboard of a conversation. */
export interface Keyboard {
  readonly zz: Zz;
  readonly host: DialogHost;
  readonly editor: Editor;
  // stdout, but silent while it shows something other than the line
  readonly screen: NodeJS.WritableStream;
  // TERM=dumb: the terminal answers no queries and moves no cursor, the system edits the line
  readonly isDumb: boolean;
  readonly history: History;
  readonly pastes: Pastes;
  readonly draft: Draft;
  readonly question: OpenQuestion;
  readonly queue: string[]; // messages that have not been taken yet
  // messages that wait for Enter, since the turn before them failed or was stopped
  readonly held: string[];
  onChange: () => void; // a message arrived, or the keyboard was closed
  onInput: (inputBytes: Buffer) => void;
  onResized: () => void; // the line was drawn again in a window of another size
  onLeave: (exitCode: number) => void;
  prompt: string; // shown before the line
  isPromptDue: boolean; // the prompt is being made
  isMuted: boolean; // a turn is under way: input is not shown
  isClosed: boolean;
  isCutShort: boolean; // the turn failed, or the person stopped it
  wantsVi?: boolean | undefined; // vi's keys until the conversation ends, whatever the settings say
  isInNormalMode?: boolean; // of vi's keys: letters are commands
  chooseKeys?: () => void; // as the settings are by now
  isLight?: boolean; // the terminal's background, once it has said so
  terminalUsers: number; // programs that have the terminal
  offer?: (() => void) | undefined; // what Tab on the empty line does, until the first message
  lastInterrupt: number; // when Ctrl+C was pressed at an empty prompt
}

/** readline, with members that its types lack. */
export type Editor = readline.Interface & {
  history: string[];
  clearLine(): void;
  historyIndex: number; // -1: the line is not from there
  prevRows: number; // in which row of the line readline believes the cursor to be
  isCompletionEnabled: boolean; // false until the last of the keys that arrived at once
  _refreshLine(): void;
  _ttyWrite(typedText: string | undefined, pressedKey: KeyEvent): void;
};
export type KeyEvent = {
  ctrl: boolean;
  meta: boolean;
  shift: boolean;
  name?: string;
  sequence: string;
};

/** The pending question, if there is one. */
interface OpenQuestion {
  onKey?: ((typedText: string) => void) | undefined;
  onLine?: ((typedLine: string) => void) | undefined;
  // set until nothing is being typed, when the question is shown
  onNoise?: (() => void) | undefined;
  takesWords?: boolean; // words are an answer, too
  isResized?: boolean; // the window got another size, and the question may have to be drawn again
  isPaged: boolean; // the question is between two pages, so input belongs to it
  isWithdrawn?: boolean; // it was answered from elsewhere
  isNo?: boolean; // the last question was answered with the key n
  // words typed instead of a key: the answer to "why not", or part of the next message
  said?: string | undefined;
}

/**
 * Whether readline must not draw: not over a question, nor into a program that has the terminal.
 */
export const isScreenTaken = ({ isMuted, question, terminalUsers }: Keyboard): boolean =>
  isMuted || question.onKey !== undefined || terminalUsers > 0;

export function showPrompt({ editor }: Keyboard, promptText: string): void {
  editor.setPrompt(promptText);
  editor.prompt(true);
}

/** What is shown before the next line of the message; in vi's normal mode, its sign is another. */
export function currentPrompt({ draft, prompt, isInNormalMode, zz, host }: Keyboard): string {
  const shownPrompt = isStarted(draft) ? CONTINUATION_PROMPT : prompt;
  if (!isInNormalMode) return shownPrompt;
  return wantsWords(zz.io, host.ctx())
    ? `normal mode ${shownPrompt}`
    : shownPrompt.replace(/\S\s*$/u, "‹ ");
}

/** Draws the line again after something else was in its place. */
export function redraw(keyboard: Keyboard): void {
  if (keyboard.isMuted || keyboard.isClosed) return;
  forgetDrawn(keyboard);
  keyboard.editor.prompt(true);
}

export function muteEditor(keyboard: Keyboard, isMuting: boolean): void {
  if (isMuting) keyboard.isPromptDue = false;
  if (keyboard.isMuted && !isMuting) forgetDrawn(keyboard);
  keyboard.host.typed(isMuting ? keyboard.editor.line : "");
  keyboard.isMuted = isMuting;
}

/** Makes readline forget where it drew last, since that has moved. */
function forgetDrawn({ editor }: Keyboard): void {
  editor.prevRows = 0;
}

/** Changes the line without drawing it. */
export function setLine({ editor }: Keyboard, line: string, cursor = line.length): void {
  Object.assign(editor, { line, cursor });
}

/**
 * Leaves the line where it stands, and begins with an empty one below. Up then begins at the
 * newest, and finds what begins alike.
 */
export function startNewLine(keyboard: Keyboard): void {
  setLine(keyboard, "");
  keyboard.editor.clearLine(); // readline forgets that the line had several rows
  keyboard.editor.historyIndex = -1;
}

/**
 * A paste is part of one message, and runs no commands; at a question it is words. A long one is
 * shown by its size.
 */
export function insertPaste(keyboard: Keyboard, pastedText: string): void {
  const { editor, pastes, question } = keyboard;
  const { line, cursor } = editor;
  const inserted = textInLine(pastes, pastedText);
  if (question.onKey && question.takesWords) return void question.onKey(PASTED + inserted);
  setLine(
    keyboard,
    line.slice(0, cursor) + inserted + line.slice(cursor),
    cursor + inserted.length,
  );
  if (!keyboard.isMuted) editor.prompt(true);
}

/** Shows a note, above the line if one is being typed. */
export function showNote(keyboard: Keyboard, noteText: string): void {
  const { zz, editor, host, question, isMuted, isClosed, isDumb } = keyboard;
  if (wantsWords(zz.io, host.ctx())) noteText = noteText.split("\n").map(unframed).join("\n");
  if (isMuted || question.onLine || question.onKey || isClosed || isDumb)
    return void say(zz, noteText);
  const { stdout } = zz.io;
  const { rows } = editor.getCursorPos();
  readline.cursorTo(stdout, 0);
  readline.moveCursor(stdout, 0, -rows);
  stdout.write(ERASE_BELOW);
  say(zz, noteText);
  redraw(keyboard);
}

/** Shows a note as part of the turn, once there is a conversation. */
export function tell({ host, zz }: Keyboard, noteText: string): void {
  const ctx = host.ctx();
  if (ctx) ctx.note(noteText);
  else say(zz, noteText);
}
