// The live rows show what runs, for how long, the end of its output, and what is typed meanwhile.
// They are wiped before anything else is shown, also in a window that was resized, of which zz may
// hear late. Where terminals rewrap all rows, the cursor waits at the beginning of the first one,
// and stays there. Others leave its row as it is and count on it to be the last one: it waits where
// that begins.

import type { Zz } from "zz";
import { clean, ERASE_BELOW, rewrapsLines, terminalColumns, width, wrap } from "zz/text";
import { shortenToColumns, tail } from "./shorten-for-rows.ts";
import type { Theme } from "./styles.ts";

const SPINNER_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_TIME = 100; // ms
const MAX_TAIL_ROWS = 4; // of a running call's output
const MAX_LIVE_CHARS = 2_000;
const ERASE_ROWS = `\r${ERASE_BELOW}`; // from the cursor's row on
/** A row stays one, even if the window has become narrower and zz has not been told yet. */
const [NO_WRAP, WRAP_AGAIN] = ["\x1b[?7l", "\x1b[?7h"];

/** From one second on; before that it says nothing. */
export const seconds = (milliseconds: number): string =>
  milliseconds < 1_000 ? "" : `${(milliseconds / 1000).toFixed(1)} s`;

const moveUp = (rowCount: number): string => (rowCount ? `\x1b[${rowCount}A` : "");

type Where = { io: Zz["io"]; on(): boolean; waiting(): string[]; look(): Theme };

export function liveLine(liveContext: Where) {
  const { io, on } = liveContext;
  const columns = () => terminalColumns(io);
  const rowDrawer = liveRows(io, on);
  let [activity, tokenCount, thinking, startTime, frameIndex] = ["", 0, "", 0, 0];
  let answerEnd = ""; // so far, with display.live
  let typedAhead = ""; // typed for the next prompt
  // of the clock, which advances the time when nothing arrives
  let cancelTick: (() => void) | undefined;
  return { begin, resume, thinks, progress, typed, wipe: rowDrawer.wipe, stop, isLive: on };

  function begin(newActivity: string): void {
    stop();
    if (!on()) return;
    [activity, tokenCount, thinking, startTime] = [newActivity, 0, "", io.clock.now()];
    answerEnd = "";
    tickSoon();
  }
  function tickSoon(): void {
    const tickAgain = () => [tickSoon(), tick()];
    cancelTick = io.clock.timer(FRAME_TIME, tickAgain, { background: true });
  }
  /** Starts again after a question. */
  function resume(newActivity: string): void {
    if (!cancelTick) begin(newActivity);
  }
  function thinks(receivedTokens: number, thought: string, answerText = ""): void {
    if (!cancelTick) begin("thinking"); // after a question
    // shortened when shown: for each piece, that would take quadratic time
    const textEnd = clean(answerText.slice(-MAX_LIVE_CHARS)).trim();
    const latestLines = textEnd ? wrap(textEnd, Math.max(10, columns() - 4)) : [];
    [tokenCount, thinking, answerEnd] = [receivedTokens, thought, ["", ...latestLines].join("\n")];
  }
  /**
   * Shows progress. Outside a turn, such as while the code is indexed, there is no clock, so it is
   * drawn at once.
   */
  function progress(progressText: string): void {
    thinking = progressText;
    if (!cancelTick) rowDrawer.show([shortenToColumns(progressText, Math.min(60, columns() - 1))]);
  }
  function typed(typedText: string): void {
    typedAhead = typedText;
    if (cancelTick) tick();
  }
  function stop(): void {
    cancelTick?.();
    cancelTick = undefined;
    rowDrawer.wipe();
  }
  function tick(): void {
    const activityText = `${SPINNER_FRAMES[frameIndex++ % SPINNER_FRAMES.length]} ${activity}`;
    const headText = formatHead(activityText, seconds(io.clock.now() - startTime), tokenCount);
    rowDrawer.show([
      ...announcedRows(liveContext),
      ...latestRows(liveContext, headText, answerEnd || thinking, tokenCount > 0 && !answerEnd),
      ...(typedAhead ? [`› ${tail(typedAhead, columns() - 3)}`] : []),
    ]);
  }
}

const formatHead = (activityText: string, elapsedTime: string, tokenCount: number): string =>
  [activityText, elapsedTime, tokenCount ? `${tokenCount} tokens` : ""].filter(Boolean).join(" · ");

/** The calls that were not printed yet, as many as there is room for. */
function announcedRows({ io, waiting }: Where): string[] {
  const waitingRows = waiting();
  const maxRows = Math.max(1, (io.stderr.rows || 24) - 12);
  return waitingRows.length > maxRows
    ? [...waitingRows.slice(0, maxRows), `… ${waitingRows.length - maxRows} more`]
    : waitingRows;
}

/** What runs, and the last of what it says: a thought in the same row, output in those below. */
function latestRows(
  { io, look }: Where,
  headText: string,
  latestOutput: string,
  isThought: boolean,
): string[] {
  const columns = terminalColumns(io);
  const headRow = shortenToColumns(headText, columns - 1);
  const outputLines = isThought ? [latestOutput] : latestOutput.split("\n");
  if (outputLines.length > 1) {
    const maxRows = Math.max(1, Math.min(MAX_TAIL_ROWS, (io.stderr.rows || 24) - 8));
    const latestLines = outputLines
      .slice(-maxRows)
      .map((outputLine) => shortenToColumns(outputLine, columns - 3));
    return [headRow, ...latestLines.map((latestLine) => look().dim(`  ${latestLine}`))];
  }
  const wordsWidth = columns - width(headRow) - 5;
  const latestWords = wordsWidth > 10 && tail(latestOutput.slice(-500), wordsWidth);
  return [latestWords ? `${headRow} · ${look().dim(latestWords)}` : headRow];
}

/** Rows that are drawn over one another, and wiped before anything else is shown. */
function liveRows(io: Zz["io"], isLive: () => boolean) {
  // whether there are rows, and those above the cursor
  let [hasRows, rowsAbove]: [boolean, string[]] = [false, []];
  const columns = () => terminalColumns(io);
  return { show, wipe };

  function show(rowTexts: string[]): void {
    if (!isLive()) return;
    const isFirst = rewrapsLines(io.variable);
    io.stderr.write(
      `${eraseRows()}${NO_WRAP}${rowTexts.join("\n")}${WRAP_AGAIN}\r` +
        `${moveUp(isFirst ? rowTexts.length - 1 : 0)}`,
    );
    [hasRows, rowsAbove] = [true, isFirst ? [] : rowTexts.slice(0, -1)];
  }
  /** In a window that became narrower, each row above the cursor's may take several. */
  function eraseRows(): string {
    return (
      moveUp(
        rowsAbove.reduce(
          (rowTotal, rowText) => rowTotal + Math.max(1, Math.ceil(width(rowText) / columns())),
          0,
        ),
      ) + ERASE_ROWS
    );
  }
  function wipe(): void {
    if (hasRows) io.stderr.write(eraseRows());
    [hasRows, rowsAbove] = [false, []];
  }
}
