// The live line: what runs, for how long, and the end of its output, on one line that is wiped before anything else is
// shown.

import { width } from "zz/text";
import { short, tail } from "./format.ts";
import type { Theme } from "./theme.ts";

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const FRAME_TIME = 100; // ms

type Where = { on(): boolean; look(): Theme; columns(): number };

export function liveLine({ on, look, columns }: Where) {
  let shown = "";
  let [what, tokens, said, since, frame] = ["", 0, "", 0, 0];
  let clock: NodeJS.Timeout | undefined; // so that the time advances when nothing arrives
  return { begin, thinks, progress, wipe, stop };

  function begin(doing: string): void {
    stop();
    if (!on()) return;
    [what, tokens, said, since] = [doing, 0, "", performance.now()];
    clock = setInterval(tick, FRAME_TIME).unref();
  }
  function thinks(count: number, thought: string): void {
    if (!clock) begin("thinking"); // after a question
    [tokens, said] = [count, thought]; // shortened only when it is shown: doing so for each piece would take quadratic time
  }
  /** Outside a turn, as while the code is indexed, there is no clock: progress is shown as it comes. */
  function progress(text: string): void {
    said = text;
    if (!clock) show(short(text, Math.min(60, columns() - 1)));
  }
  function tick(): void {
    const seconds = ((performance.now() - since) / 1000).toFixed(1);
    const head = [
      `${FRAMES[frame++ % FRAMES.length]} ${what}`,
      `${seconds} s`,
      ...(tokens ? [`${tokens} tokens`] : []),
    ];
    const text = short(head.join(" · "), columns() - 1);
    const room = columns() - width(text) - 5;
    const rest = tail(said.slice(-500), Math.max(room, 1));
    show(room > 10 && rest ? `${text} · ${look().dim(rest)}` : text);
  }
  function show(text: string): void {
    if (!on()) return;
    process.stderr.write(`\r\x1b[K${text}`);
    shown = text;
  }
  function wipe(): void {
    if (shown) process.stderr.write("\r\x1b[K");
    shown = "";
  }
  function stop(): void {
    clearInterval(clock);
    clock = undefined;
    wipe();
  }
}
