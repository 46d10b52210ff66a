// A list to choose from, as high as the terminal has room for. It is drawn again when the terminal
// is resized.
import type { Interface } from "node:readline";
import type { ChalkInstance } from "chalk";
import type { Clock, PluginIo } from "../kernel/contract.ts";
import { rewrapsLines, terminalColumns, width, wrap } from "./width.ts";

const { getBuiltinModule: builtin } = process;
const MAX_ROWS = 10;
const MIN_ROWS = 3; // with fewer, the help and the descriptions give theirs to the list
const TYPED_COLUMNS = 16; // that many may be typed without a row of its own
const SETTLED_MS = 150; // a window that is dragged changes every 20 to 100 ms
const nextRound = () => new Promise((resolve) => setImmediate(resolve));
const ESCAPE_MS = 50; // what follows Escape later is a key of its own
const ESCAPE_ALONE = { escapeCodeTimeout: 1 } as object as Interface; // ms: wholeKeys() has waited
const STARTED_KEY = /\x1b+(?:\[[[\d;?<=>]*|O\d?)?$/;
const MAX_KEY_BYTES = 32;

export interface PickerRow<T> {
  value: T;
  name: string;
  short?: string; // shown once it is chosen
  description?: string; // shown while it is selected
  words?: string; // what typing is compared with, if not the name and the description
}
export interface Picker<T> {
  message: string;
  rows: readonly PickerRow<T>[]; // what is typed narrows them
  selected?: T | undefined; // at first
  signal?: AbortSignal | undefined; // takes it away
}

/**
 * Lets the person choose a row. Undefined if they left, with Escape, Ctrl+C or Ctrl+D: then nothing
 * of it stays.
 */
export async function pickRow<T>(io: PluginIo, picker: Picker<T>): Promise<T | undefined> {
  const stdin = io.stdin as NodeJS.ReadStream;
  const state: State<T> = { term: "", selected: picker.selected, typed: [], feed: () => {} };
  const keys = wholeKeys(io.clock, (bytes) => state.feed(bytes));
  stdin.setRawMode?.(true);
  stdin.on("data", keys.read).resume();
  try {
    await nextRound(); // keys typed before do not count as an answer
    for (;;) {
      const chosen = await draw(io, picker, state);
      if (chosen !== RESIZED) return chosen;
    }
  } finally {
    keys.stop();
    stdin.off("data", keys.read).pause();
    stdin.setRawMode?.(false);
  }
}

const RESIZED = Symbol();
interface State<T> {
  term: string;
  selected: T | undefined;
  typed: Buffer[]; // between a change of the window and the next drawing
  feed(bytes: Buffer): void;
}

/**
 * Hands bytes on; those that end in the beginning of a key wait a moment for its rest, since
 * otherwise it is Escape.
 */
function wholeKeys(
  clock: Clock,
  deliver: (bytes: Buffer) => void,
): { read(bytes: Buffer): void; stop(): void } {
  let held = Buffer.alloc(0);
  let cancel = () => {};
  const flush = () => {
    const bytes = held;
    held = Buffer.alloc(0);
    deliver(bytes);
  };
  const read = (bytes: Buffer) => {
    cancel();
    held = Buffer.concat([held, bytes]);
    if (STARTED_KEY.test(held.toString("latin1", Math.max(0, held.length - MAX_KEY_BYTES))))
      cancel = clock.timer(ESCAPE_MS, flush);
    else flush();
  };
  return { read, stop: () => cancel() };
}

/**
 * Shows the list until a row is chosen or the person leaves. RESIZED: the window changed, and the
 * list was erased.
 */
async function draw<T>(
  io: PluginIo,
  picker: Picker<T>,
  state: State<T>,
): Promise<T | undefined | typeof RESIZED> {
  const [{ search }, { Chalk }, narrow] = await Promise.all([
    import("@inquirer/prompts"),
    import("chalk"),
    narrowing(picker.rows),
  ]);
  const chalk = new Chalk({ level: io.variable("NO_COLOR") ? 0 : 1 });
  const stderr = io.stderr as NodeJS.WriteStream;
  const layout = layoutOf(io, picker, state.term);
  const { term, selected } = state;
  const config = {
    message: layout.message.join("\n"),
    pageSize: layout.rows,
    ...listOf(narrow, state, layout, chalk),
    ...(term && { initialValue: term }),
    ...(selected !== undefined && { default: selected }),
  };
  const over = new AbortController();
  let isResized = false;
  let cancel = () => {};
  let isDrawn = true; // what the picker writes is shown
  const leave = () => {
    isDrawn = false;
    over.abort();
  };
  const resized = () => {
    isDrawn = false; // it would be for the old window
    state.feed = (bytes) => void state.typed.push(bytes);
    cancel();
    cancel = io.clock.timer(SETTLED_MS, () => over.abort((isResized = true)));
  };
  const output = outputOf(stderr, () => isDrawn);
  const input = inputWith(leave);
  stderr.on("resize", resized);
  picker.signal?.addEventListener("abort", leave);
  if (picker.signal?.aborted) leave();
  if (isDrawn && layout.above.length) stderr.write(`${layout.above.join("\n")}\n`);
  try {
    const chosen = search(config, { input, output, signal: over.signal });
    void nextRound().then(() => {
      if (isDrawn) state.feed = (bytes) => void input.write(bytes);
      if (isDrawn) state.typed.splice(0).forEach(state.feed);
    });
    return await chosen;
  } catch (error) {
    if (!/^(ExitPromptError|AbortPromptError)$/.test((error as Error).name)) throw error;
    if (!isDrawn) erase(io, layout, state.term);
    return isResized ? RESIZED : undefined;
  } finally {
    cancel();
    stderr.off("resize", resized);
    picker.signal?.removeEventListener("abort", leave);
  }
}

const outputOf = (stderr: NodeJS.WriteStream, isDrawn: () => boolean): NodeJS.WriteStream =>
  Object.create(stderr, {
    end: { value: () => {} }, // the terminal outlives the picker
    write: { value: (text: string) => !isDrawn() || stderr.write(text) },
  });

/** The keys that leave are heard before the picker has them. */
function inputWith(leave: () => void) {
  const { PassThrough } = builtin("node:stream"); // slow to load
  const input = new PassThrough();
  builtin("node:readline").emitKeypressEvents(input, ESCAPE_ALONE);
  input.on("keypress", (_, { name = "", ctrl }: { name?: string; ctrl?: boolean } = {}) => {
    if (name === "escape" || (ctrl && /^[cd]$/.test(name))) leave();
  });
  return input;
}

/** The rows that hold what was typed; similar ones only if there are none. */
async function narrowing<T>(
  rows: readonly PickerRow<T>[],
): Promise<(term: string) => readonly PickerRow<T>[]> {
  const { default: Fuse } = await import("fuse.js");
  const texts = rows.map(({ name, description = "", words = `${name} ${description}` }) =>
    words.toLowerCase(),
  );
  return (term) => {
    const holding = rows.filter((_, i) => texts[i]!.includes(term.toLowerCase()));
    if (holding.length || !term) return holding;
    return new Fuse(texts, { threshold: 0.4, ignoreLocation: true })
      .search(term)
      .map(({ refIndex }) => rows[refIndex]!);
  };
}

/**
 * The rows and the words around them, and which row is selected: the picker tells that only by
 * drawing it.
 */
function listOf<T>(
  narrow: (term: string) => readonly PickerRow<T>[],
  state: State<T>,
  { isLow, rows: room, columns, all }: Layout<T>,
  chalk: ChalkInstance,
) {
  let rows = all;
  const source = (term = "") => {
    state.term = term;
    rows = narrow(term);
    return rows.map(({ description, words: _, ...row }) =>
      isLow || !description ? row : { ...row, description },
    );
  };
  const highlight = (text: string) => {
    const row = rows.find(({ name }) => text.slice(2) === name);
    if (row) state.selected = row.value;
    return chalk.cyan(text);
  };
  const keysHelpTip = () => {
    const choices = `${all.length} choices`;
    const total = all.length > room ? choices : "";
    const count = rows.length < all.length ? `${rows.length} of ${choices}` : total;
    const keys = rows.length ? ["↑↓ navigate", "⏎ select"] : [];
    const helps = [
      [count, "type to search", ...keys, "esc leave"],
      [count, ...keys, "esc leave"],
      [count, ...keys.slice(1), "esc leave"],
      [count, "esc leave"],
      [count],
    ];
    const texts = helps.map((parts) => parts.filter(Boolean).join(" · "));
    return isLow ? "" : (texts.find((text) => width(text) < columns) ?? "");
  };
  const error = () => chalk.red("> Nothing matches.");
  return { source, theme: { style: { highlight, keysHelpTip, error } } };
}

interface Layout<T> {
  above: string[]; // rows of the message that do not fit into the window
  message: string[];
  rows: number; // of the list
  isLow: boolean;
  columns: number;
  all: readonly PickerRow<T>[];
}

function layoutOf<T>(io: PluginIo, picker: Picker<T>, term: string): Layout<T> {
  const columns = terminalColumns(io);
  const height = (io.stderr as NodeJS.WriteStream).rows || 24;
  const allRows = picker.rows;
  const lines = wrap(picker.message, columns - 3);
  const message = lines.slice(-Math.max(1, height - MIN_ROWS - 3));
  const head = headRows(message, columns, width(term) + TYPED_COLUMNS);
  const described = Math.max(
    ...allRows.map(({ description = "" }) => Math.ceil(width(description) / columns)),
    0,
  );
  const isLow = height - head - described - 2 < MIN_ROWS;
  const rows = Math.min(Math.max(height - head - (isLow ? 0 : described + 2), 1), MAX_ROWS);
  return {
    above: lines.slice(0, lines.length - message.length),
    message,
    rows,
    isLow,
    columns,
    all: allRows,
  };
}

/** The rows of the message, with its mark and so many columns typed after it. */
const headRows = (message: string[], columns: number, typed: number): number =>
  message
    .map((line, i) => width(line) + (i ? 0 : 2) + (i === message.length - 1 ? 1 + typed : 0))
    .reduce((sum, columnsUsed) => sum + Math.floor(columnsUsed / columns) + 1, 0);

/**
 * Erases the list from the row in which it begins by now; the cursor stands after what was typed.
 */
function erase<T>(io: PluginIo, { message, columns }: Layout<T>, term: string): void {
  const above =
    headRows(message, rewrapsLines(io.variable) ? terminalColumns(io) : columns, width(term)) - 1;
  io.stderr.write(`${above ? `\x1b[${above}A` : ""}\r\x1b[J\x1b[?25h`);
}
