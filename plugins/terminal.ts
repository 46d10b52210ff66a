// What a person sees on stderr while a turn runs: a live line, each call as it is announced, each result as it ends.
import type { Zz } from "zz";

export default (zz: Zz) => {
  let live = false;
  let shown = false;
  let last = 0;

  zz.on("started", (fact) => void (live = fact.live));
  zz.on("planned", ({ calls, text }) => {
    if (text) line(dim(short(text)));
    for (const { name, args } of calls) line(`■ ${name} ${short(JSON.stringify(args))}`);
  });
  zz.on("called", ({ call, result, ms }) => {
    line(`${result.failed ? "✗" : "✓"} ${call.name} · ${short(result.text)} · ${(ms / 1000).toFixed(1)} s`);
  });
  zz.on("received", ({ tokens, ms }) => {
    if (ms >= last && ms - last < 100) return; // ten times a second is enough
    last = ms;
    status(`thinking… ${(ms / 1000).toFixed(1)}s · ${tokens} tok`);
  });
  zz.on("progressed", ({ text }) => status(short(text)));
  zz.on("phase", ({ to }) => void (to !== "thinking" && wipe()));
  zz.on("retried", wipe);
  zz.on("noted", wipe);

  function status(text: string): void {
    if (!live) return;
    process.stderr.write(`\r\x1b[K${text}`);
    shown = true;
  }
  function line(text: string): void {
    wipe();
    if (live) process.stderr.write(`${text}\n`);
  }
  function wipe(): void {
    if (shown) process.stderr.write("\r\x1b[K");
    shown = false;
  }
};

const dim = (text: string): string => (process.env.NO_COLOR ? text : `\x1b[2m${text}\x1b[22m`);

/** One line of at most 60 characters, without control bytes. */
function short(text: string): string {
  const line = text.replace(/[\s\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
