// How things look on a terminal: a live line while something runs, calls as they are announced and as they end, the
// answer rendered, one line of figures after it, and the prompt. All but the answer goes to stderr.
import path from "node:path";
import type { Answer, Ctx, Zz } from "zz";
import { liveLine } from "./live.ts";
import { type Theme, type ThemeName, theme } from "./theme.ts";
import { branchOf, folded, gist, short, told } from "./words.ts";

const [NARROW, NARROWEST] = [60, 40]; // columns below which the prompt says less

export const defaults = {
  theme: "dark" as ThemeName,
  thinking: "summary",
  stats: true,
  reveal: "instant",
  wordsPerSecond: 40,
  bell: true,
  bellAfter: 10,
  plain: false,
};
export const settings = {
  name: "display",
  project: true,
  schema: {
    type: "object",
    properties: {
      theme: { enum: ["dark", "light", "none"], description: "colours for a dark or a light terminal, or none" },
      thinking: { enum: ["off", "summary", "full"], description: "how much of the model's thinking is shown" },
      stats: { type: "boolean", description: "time, tokens and calls after each answer" },
      reveal: {
        enum: ["instant", "words"],
        description: "an answer all at once, or word by word (any key: all of it)",
      },
      wordsPerSecond: { type: "number", minimum: 1, description: "how fast words are revealed" },
      bell: { type: "boolean", description: "a bell when a long turn has ended" },
      bellAfter: { type: "number", minimum: 0, description: "seconds that make a turn long" },
      plain: { type: "boolean", description: "for screen readers: words instead of signs, nothing that moves" },
    },
  },
};

/** Signs, and the words that stand for them in plain mode. */
const SIGNS = { call: "■", ok: "✓", bad: "✗" };
const WORDS = { call: "calls:", ok: "done:", bad: "failed:" };

export default (zz: Zz<typeof defaults>) => {
  const dumb = process.env.TERM === "dumb";
  let [live, stays, idle, since] = [false, false, true, 0];
  let running: string[] = []; // the calls of a round that have not ended
  const line = liveLine({ on: () => live && !isPlain(), look, columns: () => process.stderr.columns ?? 80 });

  zz.on("started", (fact) => {
    ({ live, stays } = fact);
    since = Date.now();
  });
  zz.on("phase", ({ to }) => {
    idle = to === "idle";
    line.stop();
    if (to === "thinking") line.begin("thinking");
    if (to === "executing_tools") line.begin(running[0] ?? "");
    if (to === "thinking" && isRich()) import("./markdown.ts").catch(() => {}); // it is heavy: loaded while the model thinks
    if (to === "thinking" && live && isPlain()) print("thinking");
  });
  zz.on("received", ({ tokens, thinking }) => line.thinks(tokens, thinking));
  zz.on("thought", ({ text, ms }) => {
    if (zz.config.thinking === "off" || !live) return;
    const rows = folded(text, columns() - 2, zz.config.thinking === "full" ? Number.POSITIVE_INFINITY : 2);
    const seconds = `${(ms / 1000).toFixed(1)} s`;
    for (const row of isPlain() ? [`thought for ${seconds}`] : rows) print(look().dim(isPlain() ? row : `┆ ${row}`));
  });
  zz.on("asked", line.stop);
  zz.on("planned", ({ calls, text }) => {
    if (text) print(look().dim(short(text, columns() - 1)));
    for (const { name, args } of calls) print(fit(`${look().accent(signs().call)} ${short(name)}`, told(args)));
    running = calls.map(({ name }) => short(name));
  });
  zz.on("called", ({ call, result, ms, shown, inner }) => {
    if (inner) return;
    const { ok, bad } = signs();
    const sign = result.failed ? look().bad(bad) : look().ok(ok);
    const said = result.refused ? short(result.text, 1_000) : (shown ?? gist(result.text)); // what would allow it is not cut
    const time = ` · ${(ms / 1000).toFixed(1)} s`;
    print(
      result.refused
        ? `${sign} ${short(call.name)} · ${said}${time}`
        : fit(`${sign} ${short(call.name)} ·`, said, time),
    );
    running.splice(running.indexOf(short(call.name)), 1);
    if (running.length) line.begin(running[0]!);
  });
  zz.on("progressed", ({ text }) => (text || !idle ? line.progress(text) : line.stop()));
  zz.on("retried", line.wipe);
  zz.on("noted", line.wipe);
  zz.on("answered", (answer) => {
    if (!live || !stays) return;
    if (zz.config.stats) print(`${look().dim(short(figures(answer), columns() - 1))}\n`);
    if (zz.config.bell && answer.ms > zz.config.bellAfter * 1000) process.stderr.write("\x07");
  });

  zz.wrap("preview", async ({ about, changes }) => {
    const { renderDiff } = await import("./diff.ts");
    const { removed, added, changed: strong, dim } = look();
    return [about, ...changes.map((one) => renderDiff(one, { removed, added, strong, dim }))]
      .filter(Boolean)
      .join("\n");
  });
  zz.wrap(
    "render",
    async (text, next, ctx) => {
      const answer = await next(text);
      if (!isRich()) return answer;
      const { renderMarkdown } = await import("./markdown.ts");
      const shown = renderMarkdown(answer, { width: process.stdout.columns ?? 80, theme: look() });
      return zz.config.reveal === "words" ? reveal(shown, zz.config.wordsPerSecond, ctx.signal) : shown;
    },
    "first",
    600_000,
  );
  zz.wrap("prompt", async (mark, next, ctx) => `${look().dim(await place(ctx))}${await next(mark)}`);
  zz.defer(line.stop);

  function isPlain(): boolean {
    return zz.config.plain || dumb;
  }
  function isRich(): boolean {
    return live && Boolean(process.stdout.isTTY) && !isPlain();
  }
  function look(): Theme {
    return theme(process.env.NO_COLOR || dumb || !process.stderr.isTTY ? "none" : zz.config.theme);
  }
  function signs(): typeof SIGNS {
    return isPlain() ? WORDS : SIGNS;
  }
  function columns(): number {
    return process.stderr.columns ?? 80;
  }
  function print(text: string): void {
    line.wipe();
    if (live) process.stderr.write(`${text}\n`);
  }
  /** One row: of the middle as much as there is room for. */
  function fit(head: string, middle: string, tail = ""): string {
    const room = columns() - width(head) - tail.length - 2;
    const text = `${short(middle, Math.max(room, 1))}${tail}`;
    return text ? `${head} ${look().dim(text)}` : head;
  }

  /** Project, branch, how full the window is and for how long this goes on, as far as there is room. */
  async function place({ root, chat }: Ctx): Promise<string> {
    const wide = columns();
    if (wide < NARROWEST) return "";
    const minutes = Math.floor((Date.now() - since) / 60_000);
    const context = chat.window && chat.used ? [`${Math.round((100 * chat.used) / chat.window)} %`] : [];
    const more = wide < NARROW ? [] : [short(path.basename(root), 20), await branchOf(root)];
    const parts = [...more, ...context, ...(minutes && wide >= NARROW ? [`${minutes} min`] : [])].filter(Boolean);
    return parts.length ? `${parts.join(" · ")} ` : "";
  }
};

/** Tokens are left out where the server did not tell. */
function figures({ usage, calls, ms, used, window }: Answer): string {
  const number = (count: number) => count.toLocaleString("en");
  const { input, output } = usage;
  const tokens = input || output ? [`${number(input)} tokens in, ${number(output)} out`] : [];
  const context = used && window ? [`context ${Math.round((100 * used) / window)} % of ${number(window)}`] : [];
  const made = `${calls.length} ${calls.length === 1 ? "call" : "calls"}`;
  return [`${(ms / 1000).toFixed(1)} s`, ...tokens, made, ...context].join(" · ");
}

/** Word by word, until a key is pressed; the last piece is left to whoever prints the answer. */
async function reveal(text: string, perSecond: number, signal: AbortSignal): Promise<string> {
  const { setTimeout: sleep } = await import("node:timers/promises");
  const pieces = text.match(/\s*\S+/g) ?? [];
  let hurry = false;
  const hear = () => void (hurry = true);
  process.stdin.once("data", hear);
  while (pieces.length > 1 && !hurry && !signal.aborted) {
    process.stdout.write(pieces.shift()!);
    await sleep(1000 / perSecond);
  }
  process.stdin.off("data", hear);
  return pieces.join("");
}

const width = (text: string): number => text.replace(/\x1b\[[\d;]*m/g, "").length;
