// The live rows: what runs, for how long, the end of its output, and what is typed meanwhile. They are wiped before
// anything else is shown.

import { width } from "zz/text";
import { short, tail } from "./format.ts";
import type { Theme } from "./theme.ts";

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_TIME = 100; // ms
const MAX_TAIL_ROWS = 4; // of the output of what runs

type Where = { on(): boolean; look(): Theme; columns(): number; height(): number };

export function liveLine({ on, look, columns, height }: Where) {
  let shown: string[] = [];
  let [what, tokens, said, since, frame] = ["", 0, "", 0, 0];
  let ahead = ""; // typed for the next prompt
  let clock: NodeJS.Timeout | undefined; // so that the time advances when nothing arrives
  return { begin, resume, thinks, progress, typed, wipe, stop };

  function begin(doing: string): void {
    stop();
    if (!on()) return;
    [what, tokens, said, since] = [doing, 0, "", performance.now()];
    clock = setInterval(tick, FRAME_TIME).unref();
  }
  /** Goes on after a question. */
  function resume(doing: string): void {
    if (!clock) begin(doing);
  }
  function thinks(count: number, thought: string): void {
    if (!clock) begin("thinking"); // after a question
    [tokens, said] = [count, thought]; // shortened only when it is shown: doing so for each piece would take quadratic time
  }
  /** Outside a turn, as while the code is indexed, there is no clock: progress is shown as it comes. */
  function progress(text: string): void {
    said = text;
    if (!clock) show([short(text, Math.min(60, columns() - 1))]);
  }
  function typed(text: string): void {
    ahead = text;
    if (clock) tick();
  }
  function tick(): void {
    const seconds = ((performance.now() - since) / 1000).toFixed(1);
    const head = [
      `${FRAMES[frame++ % FRAMES.length]} ${what}`,
      `${seconds} s`,
      ...(tokens ? [`${tokens} tokens`] : []),
    ];
    const text = short(head.join(" · "), columns() - 1);
    const lines = tokens ? [said] : said.split("\n"); // thoughts stay in one row
    const room = columns() - width(text) - 5;
    const rest = lines.length > 1 ? "" : tail(said.slice(-500), Math.max(room, 1));
    const rows = lines.length > 1 ? lines.slice(-tailRows()).map((line) => look().dim(cell(line))) : [];
    const mine = ahead ? [`› ${tail(ahead, columns() - 3)}`] : [];
    show([room > 10 && rest ? `${text} · ${look().dim(rest)}` : text, ...rows, ...mine]);
  }
  function cell(line: string): string {
    return `  ${short(line, columns() - 3)}`;
  }
  function tailRows(): number {
    return Math.max(1, Math.min(MAX_TAIL_ROWS, height() - 8));
  }
  function show(lines: string[]): void {
    if (!on()) return;
    process.stderr.write(`${erase()}${lines.join("\n")}`);
    shown = lines;
  }
  /** From the end of the last row back to the first. In a window that was made narrower, each may take several by now. */
  function erase(): string {
    const taken = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(width(line) / columns())), 0);
    shown = [];
    return taken > 1 ? `\x1b[${taken - 1}A\r\x1b[J` : "\r\x1b[K";
  }
  function wipe(): void {
    if (shown.length) process.stderr.write(erase());
  }
  function stop(): void {
    clearInterval(clock);
    clock = undefined;
    wipe();
  }
}
