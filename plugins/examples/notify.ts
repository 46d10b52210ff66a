// Tells a person who looked away that a long turn has ended, or that zz waits for an answer. An example of seeing, not changing.
import type { Zz } from "zz";

export const defaults = {
  after: 20, // seconds that make a turn long
  by: "auto", // or one of: terminal, desktop, bell, command, off
  command: [] as string[], // a program and its words; $1 is the title and $2 the text
  words: true, // what the answer or the question begins with
};
export const settings = {
  schema: {
    type: "object",
    properties: {
      after: { type: "number", minimum: 0 },
      by: { enum: ["auto", "terminal", "desktop", "bell", "command", "off"] },
      command: { type: "array", items: { type: "string" } },
      words: { type: "boolean" },
    },
  },
};

const LONGEST = 200; // characters

/** Terminals that show a notification, and in which of two ways. Inside tmux none is sure to hear of it. */
const TERMINALS: [variable: string, is: RegExp, osc: 9 | 777][] = [
  ["TERM_PROGRAM", /^(iTerm\.app|WezTerm|ghostty)$/, 9],
  ["KITTY_WINDOW_ID", /./, 9],
  ["TERM", /^(foot|rxvt-unicode)/, 777],
];
const DESKTOPS: Partial<Record<NodeJS.Platform, (title: string, text: string) => string[]>> = {
  linux: (title, text) => [
    "notify-send",
    "--app-name=zz",
    "--",
    title,
    text.replace(/&/g, "&amp;").replace(/</g, "&lt;"),
  ],
  darwin: (title, text) => ["osascript", "-e", "on run it", "-e", SHOW, "-e", "end run", title, text],
};
const SHOW = "display notification (item 2 of it) with title (item 1 of it)";

export default (zz: Zz<typeof defaults>) => {
  const { config } = zz;
  let sits = false; // somebody, at a prompt; not at a pipe, nor for one answer
  let began: number | undefined; // the turn
  let waits: NodeJS.Timeout | undefined;
  const isLong = () => began !== undefined && performance.now() - began >= config.after * 1000;

  zz.on("started", (fact) => void (sits = fact.live && fact.stays));
  zz.on("phase", ({ from, to }) => {
    clearTimeout(waits);
    if (from === "idle") began = performance.now();
    if (to === "idle") began = undefined;
  });
  zz.on("decided", () => clearTimeout(waits));
  zz.on("answered", ({ text, ms }) => (ms >= config.after * 1000 ? tell("zz has answered", text) : undefined));
  zz.on("failed", ({ message, exit }) => (exit !== 130 && isLong() ? tell("zz has failed", message) : undefined));
  zz.on("asked", ({ question }) => {
    if (began === undefined) return; // the person is just at it
    const text = question.replace(/^[┏┠┃┗] /gm, "");
    clearTimeout(waits);
    if (isLong()) return tell("zz waits for you", text);
    waits = setTimeout(() => void tell("zz waits for you", text).catch(() => {}), config.after * 1000).unref();
  });
  zz.defer(() => clearTimeout(waits));

  async function tell(title: string, words: string): Promise<void> {
    const text = config.words ? tidy(words) : "";
    const by = config.by === "auto" && config.command.length ? "command" : config.by;
    if (!sits || by === "off") return;
    if (by === "command") return start(config.command.map((word) => fill(word, title, text)));
    if (by !== "desktop" && by !== "bell" && showOnTerminal(title, text)) return;
    if (by === "desktop" || (by === "auto" && !process.env.SSH_CONNECTION)) {
      const command = DESKTOPS[process.platform]?.(title, text) ?? [];
      const shown = start(command);
      if (by === "desktop") return shown;
      if (await shown.then(() => true).catch(() => false)) return;
    }
    if (process.stderr.isTTY) process.stderr.write("\x07");
  }
};

const fill = (word: string, title: string, text: string): string =>
  word.replace(/\$([12])/g, (_, which) => (which === "1" ? title : text));

/** Nothing that a terminal or a desktop would obey. */
function tidy(words: string): string {
  const text = words.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\s]+/gu, " ").trim();
  const letters = [...text.slice(0, 2 * LONGEST)];
  return letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : letters.join("");
}

function showOnTerminal(title: string, text: string): boolean {
  const { env, stderr } = process;
  const [, , osc] = TERMINALS.find(([variable, is]) => is.test(env[variable] ?? "")) ?? [];
  if (!osc || !stderr.isTTY || env.TMUX) return false;
  const body = osc === 9 ? `${title}: ${text}` : `notify;${title};${text.replaceAll(";", ",")}`;
  return stderr.write(`\x1b]${osc};${body}\x07`) || true;
}

/** Waits until it runs, not until it has ended. */
async function start([program = "", ...words]: string[]): Promise<void> {
  const { spawn } = await import("node:child_process");
  const { once } = await import("node:events");
  if (!program) throw new Error("there is no command to notify by. Set notify.command, or notify.by.");
  const child = spawn(program, words, { stdio: "ignore", detached: true });
  child.unref();
  await once(child, "spawn");
}
