// What a person sees on stderr while a turn runs: a live line, each call as it is announced, each result as it ends.
import type { Zz } from "zz";

export default (zz: Zz) => {
  let live = false;
  let shown = false;
  let tokens = 0;
  let thought = "";
  let since = 0;
  let clock: NodeJS.Timeout | undefined; // it ticks while the model thinks, also when nothing comes

  zz.on("started", (fact) => void (live = fact.live));
  zz.on("phase", ({ to }) => {
    stop();
    if (to === "thinking") begin();
  });
  zz.on("received", (fact) => {
    ({ tokens, thinking: thought } = fact);
    if (!clock) begin(); // after a question
  });
  zz.on("asked", stop);
  zz.on("planned", ({ calls, text }) => {
    if (text) line(dim(short(text)));
    for (const { name, args } of calls) line(`■ ${short(name)} ${short(JSON.stringify(args))}`);
  });
  zz.on("called", ({ call, result, ms, inner }) => {
    if (inner) return;
    const told = short(result.text, result.refused ? 1_000 : 60); // what would allow it is not cut
    line(`${result.failed ? "✗" : "✓"} ${short(call.name)} · ${told} · ${(ms / 1000).toFixed(1)} s`);
  });
  zz.on("progressed", ({ text }) => status(short(text, Math.min(60, (process.stderr.columns ?? 80) - 1))));
  zz.wrap("preview", async ({ about, changes }) => {
    const { renderDiff } = await import("./diff.ts");
    return [about, ...changes.map((change) => renderDiff(change, paint()))].filter(Boolean).join("\n");
  });
  zz.on("retried", wipe);
  zz.on("noted", wipe);
  zz.defer(stop);

  function begin(): void {
    if (!live) return;
    [since, tokens, thought] = [performance.now(), 0, ""];
    clock = setInterval(tick, 100).unref();
  }
  function stop(): void {
    clearInterval(clock);
    clock = undefined;
    wipe();
  }
  /** How long, how much, and the end of what it thinks, in one line that fits. */
  function tick(): void {
    const text = `thinking… ${((performance.now() - since) / 1000).toFixed(1)}s · ${tokens} tok`;
    const room = (process.stderr.columns ?? 80) - text.length - 4;
    const tail = short(thought, thought.length).slice(-Math.max(room, 0));
    status(tail && room > 10 ? `${text} ${dim(`…${tail}`)}` : text);
  }
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

/** Colours for a question; without them the signs tell. */
function paint() {
  const style = (on: string, off: string) => (text: string) =>
    process.env.NO_COLOR || !process.stderr.isTTY ? text : `\x1b[${on}m${text}\x1b[${off}m`;
  return { removed: style("31", "39"), added: style("32", "39"), strong: style("7", "27"), dim: style("2", "22") };
}

const dim = (text: string): string => (process.env.NO_COLOR ? text : `\x1b[2m${text}\x1b[22m`);

/** One line without control bytes. */
function short(text: string, most = 60): string {
  const line = text.replace(/[\s\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
