// The live rows show what runs, for how long, the end of its output, and what is typed meanwhile.
// They are wiped before anything else is shown, also in a window that was resized, of which zz may
// hear late. Where terminals rewrap all rows, the cursor waits at the beginning of the first one,
// and stays there. Others leave its row as it is and count on it to be the last one: it waits where
// that begins.

import type { Zz } from "zz";
import { clean, ERASE_BELOW, rewrapsLines, terminalColumns, width, wrap } from "zz/text";
import { shortenToColumns, tail } from "./shorten-for-rows.ts";
import type { Theme } from "./styles.ts";

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_TIME = 100; // ms
const MAX_TAIL_ROWS = 4; // of a running call's output
const MAX_LIVE_CHARS = 2_000;
const ERASE = `\r${ERASE_BELOW}`; // from the cursor's row on
/** A row stays one, even if the window has become narrower and zz has not been told yet. */
const [NO_WRAP, WRAP] = ["\x1b[?7l", "\x1b[?7h"];

/** From one second on; before that it says nothing. */
export const seconds = (ms: number): string => (ms < 1_000 ? "" : `${(ms / 1000).toFixed(1)} s`);

const up = (rows: number): string => (rows ? `\x1b[${rows}A` : "");

type Where = { io: Zz["io"]; on(): boolean; waiting(): string[]; look(): Theme };

export function liveLine(where: Where) {
  const { io, on } = where;
  const columns = () => terminalColumns(io);
  const rows = liveRows(io, on);
  let [activity, tokens, thinking, since, frame] = ["", 0, "", 0, 0];
  let answer = ""; // so far, with display.live
  let ahead = ""; // typed for the next prompt
  // of the clock, which advances the time when nothing arrives
  let cancel: (() => void) | undefined;
  return { begin, resume, thinks, progress, typed, wipe: rows.wipe, stop, isLive: on };

  function begin(doing: string): void {
    stop();
    if (!on()) return;
    [activity, tokens, thinking, since] = [doing, 0, "", io.clock.now()];
    answer = "";
    tickSoon();
  }
  function tickSoon(): void {
    const next = () => [tickSoon(), tick()];
    cancel = io.clock.timer(FRAME_TIME, next, { background: true });
  }
  /** Starts again after a question. */
  function resume(doing: string): void {
    if (!cancel) begin(doing);
  }
  function thinks(count: number, thought: string, text = ""): void {
    if (!cancel) begin("thinking"); // after a question
    // shortened when shown: for each piece, that would take quadratic time
    const end = clean(text.slice(-MAX_LIVE_CHARS)).trim();
    const latest = end ? wrap(end, Math.max(10, columns() - 4)) : [];
    [tokens, thinking, answer] = [count, thought, ["", ...latest].join("\n")];
  }
  /**
   * Shows progress. Outside a turn, such as while the code is indexed, there is no clock, so it is
   * drawn at once.
   */
  function progress(text: string): void {
    thinking = text;
    if (!cancel) rows.show([shortenToColumns(text, Math.min(60, columns() - 1))]);
  }
  function typed(text: string): void {
    ahead = text;
    if (cancel) tick();
  }
  function stop(): void {
    cancel?.();
    cancel = undefined;
    rows.wipe();
  }
  function tick(): void {
    const doing = `${FRAMES[frame++ % FRAMES.length]} ${activity}`;
    const head = headOf(doing, seconds(io.clock.now() - since), tokens);
    rows.show([
      ...announcedRows(where),
      ...latestRows(where, head, answer || thinking, tokens > 0 && !answer),
      ...(ahead ? [`› ${tail(ahead, columns() - 3)}`] : []),
    ]);
  }
}

const headOf = (doing: string, time: string, tokens: number): string =>
  [doing, time, tokens ? `${tokens} tokens` : ""].filter(Boolean).join(" · ");

/** The calls that were not printed yet, as many as there is room for. */
function announcedRows({ io, waiting }: Where): string[] {
  const rows = waiting();
  const most = Math.max(1, (io.stderr.rows || 24) - 12);
  return rows.length > most ? [...rows.slice(0, most), `… ${rows.length - most} more`] : rows;
}

/** What runs, and the last of what it says: a thought in the same row, output in those below. */
function latestRows({ io, look }: Where, head: string, said: string, isThought: boolean): string[] {
  const columns = terminalColumns(io);
  const text = shortenToColumns(head, columns - 1);
  const lines = isThought ? [said] : said.split("\n");
  if (lines.length > 1) {
    const most = Math.max(1, Math.min(MAX_TAIL_ROWS, (io.stderr.rows || 24) - 8));
    const latest = lines.slice(-most).map((line) => shortenToColumns(line, columns - 3));
    return [text, ...latest.map((line) => look().dim(`  ${line}`))];
  }
  const room = columns - width(text) - 5;
  const latestWords = room > 10 && tail(said.slice(-500), room);
  return [latestWords ? `${text} · ${look().dim(latestWords)}` : text];
}

/** Rows that are drawn over one another, and wiped before anything else is shown. */
function liveRows(io: Zz["io"], on: () => boolean) {
  // whether there are rows, and those above the cursor
  let [shown, above]: [boolean, string[]] = [false, []];
  const columns = () => terminalColumns(io);
  return { show, wipe };

  function show(lines: string[]): void {
    if (!on()) return;
    const isFirst = rewrapsLines(io.variable);
    io.stderr.write(
      `${erase()}${NO_WRAP}${lines.join("\n")}${WRAP}\r${up(isFirst ? lines.length - 1 : 0)}`,
    );
    [shown, above] = [true, isFirst ? [] : lines.slice(0, -1)];
  }
  /** In a window that became narrower, each row above the cursor's may take several. */
  function erase(): string {
    return (
      up(above.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / columns())), 0)) +
      ERASE
    );
  }
  function wipe(): void {
    if (shown) io.stderr.write(erase());
    [shown, above] = [false, []];
  }
}
