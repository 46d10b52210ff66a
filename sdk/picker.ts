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
  const pickerState: State<T> = { term: "", selected: picker.selected, typed: [], feed: () => {} };
  const keyReader = wholeKeys(io.clock, (keyBytes) => pickerState.feed(keyBytes));
  stdin.setRawMode?.(true);
  stdin.on("data", keyReader.read).resume();
  try {
    await nextRound(); // keys typed before do not count as an answer
    for (;;) {
      const chosenValue = await drawList(io, picker, pickerState);
      if (chosenValue !== RESIZED) return chosenValue;
    }
  } finally {
    keyReader.stop();
    stdin.off("data", keyReader.read).pause();
    stdin.setRawMode?.(false);
  }
}

const RESIZED = Symbol();
interface State<T> {
  term: string;
  selected: T | undefined;
  typed: Buffer[]; // between a change of the window and the next drawing
  feed(keyBytes: Buffer): void;
}

/**
 * Hands bytes on; those that end in the beginning of a key wait a moment for its rest, since
 * otherwise it is Escape.
 */
function wholeKeys(
  clock: Clock,
  deliver: (keyBytes: Buffer) => void,
): { read(keyBytes: Buffer): void; stop(): void } {
  let heldBytes = Buffer.alloc(0);
  let cancelTimer = () => {};
  const deliverHeld = () => {
    const readyBytes = heldBytes;
    heldBytes = Buffer.alloc(0);
    deliver(readyBytes);
  };
  const read = (keyBytes: Buffer) => {
    cancelTimer();
    heldBytes = Buffer.concat([heldBytes, keyBytes]);
    if (
      STARTED_KEY.test(heldBytes.toString("latin1", Math.max(0, heldBytes.length - MAX_KEY_BYTES)))
    )
      cancelTimer = clock.timer(ESCAPE_MS, deliverHeld);
    else deliverHeld();
  };
  return { read, stop: () => cancelTimer() };
}

/**
 * Shows the list until a row is chosen or the person leaves. RESIZED: the window changed, and the
 * list was erased.
 */
async function drawList<T>(
  io: PluginIo,
  picker: Picker<T>,
  pickerState: State<T>,
): Promise<T | undefined | typeof RESIZED> {
  const [{ search }, { Chalk }, narrowRows] = await Promise.all([
    import("@inquirer/prompts"),
    import("chalk"),
    narrowing(picker.rows),
  ]);
  const chalk = new Chalk({ level: io.variable("NO_COLOR") ? 0 : 1 });
  const stderr = io.stderr as NodeJS.WriteStream;
  const layout = layoutOf(io, picker, pickerState.term);
  const { term, selected } = pickerState;
  const searchConfig = {
    message: layout.message.join("\n"),
    pageSize: layout.rows,
    ...createList(narrowRows, pickerState, layout, chalk),
    ...(term && { initialValue: term }),
    ...(selected !== undefined && { default: selected }),
  };
  const abortController = new AbortController();
  let isResized = false;
  let cancelTimer = () => {};
  let isDrawn = true; // what the picker writes is shown
  const leavePicker = () => {
    isDrawn = false;
    abortController.abort();
  };
  const resized = () => {
    isDrawn = false; // it would be for the old window
    pickerState.feed = (keyBytes) => void pickerState.typed.push(keyBytes);
    cancelTimer();
    cancelTimer = io.clock.timer(SETTLED_MS, () => abortController.abort((isResized = true)));
  };
  const output = outputOf(stderr, () => isDrawn);
  const input = inputWith(leavePicker);
  stderr.on("resize", resized);
  picker.signal?.addEventListener("abort", leavePicker);
  if (picker.signal?.aborted) leavePicker();
  if (isDrawn && layout.above.length) stderr.write(`${layout.above.join("\n")}\n`);
  try {
    const chosenRow = search(searchConfig, { input, output, signal: abortController.signal });
    void nextRound().then(() => {
      if (isDrawn) pickerState.feed = (keyBytes) => void input.write(keyBytes);
      if (isDrawn) pickerState.typed.splice(0).forEach(pickerState.feed);
    });
    return await chosenRow;
  } catch (searchError) {
    if (!/^(ExitPromptError|AbortPromptError)$/.test((searchError as Error).name))
      throw searchError;
    if (!isDrawn) eraseList(io, layout, pickerState.term);
    return isResized ? RESIZED : undefined;
  } finally {
    cancelTimer();
    stderr.off("resize", resized);
    picker.signal?.removeEventListener("abort", leavePicker);
  }
}

const outputOf = (stderr: NodeJS.WriteStream, isDrawn: () => boolean): NodeJS.WriteStream =>
  Object.create(stderr, {
    end: { value: () => {} }, // the terminal outlives the picker
    write: { value: (writtenText: string) => !isDrawn() || stderr.write(writtenText) },
  });

/** The keys that leave are heard before the picker has them. */
function inputWith(leavePicker: () => void) {
  const { PassThrough } = builtin("node:stream"); // slow to load
  const keyStream = new PassThrough();
  builtin("node:readline").emitKeypressEvents(keyStream, ESCAPE_ALONE);
  keyStream.on("keypress", (_, { name = "", ctrl }: { name?: string; ctrl?: boolean } = {}) => {
    if (name === "escape" || (ctrl && /^[cd]$/.test(name))) leavePicker();
  });
  return keyStream;
}

/** The rows that hold what was typed; similar ones only if there are none. */
async function narrowing<T>(
  allRows: readonly PickerRow<T>[],
): Promise<(searchTerm: string) => readonly PickerRow<T>[]> {
  const { default: Fuse } = await import("fuse.js");
  const searchTexts = allRows.map(({ name, description = "", words = `${name} ${description}` }) =>
    words.toLowerCase(),
  );
  return (searchTerm) => {
    const holding = allRows.filter((_, i) => searchTexts[i]!.includes(searchTerm.toLowerCase()));
    if (holding.length || !searchTerm) return holding;
    return new Fuse(searchTexts, { threshold: 0.4, ignoreLocation: true })
      .search(searchTerm)
      .map(({ refIndex }) => allRows[refIndex]!);
  };
}

/**
 * The rows and the words around them, and which row is selected: the picker tells that only by
 * drawing it.
 */
function createList<T>(
  narrowRows: (searchTerm: string) => readonly PickerRow<T>[],
  pickerState: State<T>,
  { isLow, rows: visibleRows, columns, all }: Layout<T>,
  chalk: ChalkInstance,
) {
  let shownRows = all;
  const source = (searchTerm = "") => {
    pickerState.term = searchTerm;
    shownRows = narrowRows(searchTerm);
    return shownRows.map(({ description, words: _, ...row }) =>
      isLow || !description ? row : { ...row, description },
    );
  };
  const highlight = (rowText: string) => {
    const matchingRow = shownRows.find(({ name }) => rowText.slice(2) === name);
    if (matchingRow) pickerState.selected = matchingRow.value;
    return chalk.cyan(rowText);
  };
  const keysHelpTip = () => {
    const choices = `${all.length} choices`;
    const totalText = all.length > visibleRows ? choices : "";
    const countText =
      shownRows.length < all.length ? `${shownRows.length} of ${choices}` : totalText;
    const keyHints = shownRows.length ? ["↑↓ navigate", "⏎ select"] : [];
    const helpVariants = [
      [countText, "type to search", ...keyHints, "esc leave"],
      [countText, ...keyHints, "esc leave"],
      [countText, ...keyHints.slice(1), "esc leave"],
      [countText, "esc leave"],
      [countText],
    ];
    const helpTexts = helpVariants.map((helpParts) => helpParts.filter(Boolean).join(" · "));
    return isLow ? "" : (helpTexts.find((helpText) => width(helpText) < columns) ?? "");
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

function layoutOf<T>(io: PluginIo, picker: Picker<T>, searchTerm: string): Layout<T> {
  const columns = terminalColumns(io);
  const windowHeight = (io.stderr as NodeJS.WriteStream).rows || 24;
  const allRows = picker.rows;
  const messageLines = wrap(picker.message, columns - 3);
  const message = messageLines.slice(-Math.max(1, windowHeight - MIN_ROWS - 3));
  const headHeight = headRows(message, columns, width(searchTerm) + TYPED_COLUMNS);
  const described = Math.max(
    ...allRows.map(({ description = "" }) => Math.ceil(width(description) / columns)),
    0,
  );
  const isLow = windowHeight - headHeight - described - 2 < MIN_ROWS;
  const rows = Math.min(
    Math.max(windowHeight - headHeight - (isLow ? 0 : described + 2), 1),
    MAX_ROWS,
  );
  return {
    above: messageLines.slice(0, messageLines.length - message.length),
    message,
    rows,
    isLow,
    columns,
    all: allRows,
  };
}

/** The rows of the message, with its mark and so many columns typed after it. */
const headRows = (message: string[], columns: number, typedColumns: number): number =>
  message
    .map(
      (messageLine, i) =>
        width(messageLine) + (i ? 0 : 2) + (i === message.length - 1 ? 1 + typedColumns : 0),
    )
    .reduce((rowSum, columnsUsed) => rowSum + Math.floor(columnsUsed / columns) + 1, 0);

/**
 * Erases the list from the row in which it begins by now; the cursor stands after what was typed.
 */
function eraseList<T>(io: PluginIo, { message, columns }: Layout<T>, searchTerm: string): void {
  const rowsAbove =
    headRows(
      message,
      rewrapsLines(io.variable) ? terminalColumns(io) : columns,
      width(searchTerm),
    ) - 1;
  io.stderr.write(`${rowsAbove ? `\x1b[${rowsAbove}A` : ""}\r\x1b[J\x1b[?25h`);
}
