// Tells a person who looked away that a long turn has ended, or that zz waits for an answer. An
// example of observing without changing.
import type { Programs, Zz } from "zz";

export const defaults = {
  after: 20, // seconds that make a turn long
  by: "auto", // or one of: terminal, desktop, bell, command, off
  command: [] as string[], // a program and its words; $1 is the title and $2 the text
  words: true, // whether to show how the answer or the question begins
};
export const settings = {
  schema: {
    type: "object",
    properties: {
      after: { type: "number", minimum: 0, maximum: 1_000_000 },
      by: { enum: ["auto", "terminal", "desktop", "bell", "command", "off"] },
      command: { type: "array", items: { type: "string" } },
      words: { type: "boolean" },
    },
  },
};

const MAX_CHARS = 200;

/**
 * Terminals that show notifications, and which of two sequences they need. Inside tmux none
 * reliably receives it.
 */
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
  darwin: (title, text) => [
    "osascript",
    "-e",
    "on run it",
    "-e",
    SHOW,
    "-e",
    "end run",
    title,
    text,
  ],
};
const SHOW = "display notification (item 2 of it) with title (item 1 of it)";

export default (zz: Zz<typeof defaults>) => {
  const { config } = zz;
  const { clock } = zz.io;
  let isAttended = false; // the person is at a prompt: not with a pipe, nor in a one-shot
  let [busy, asked] = [false, false];
  let lastActive = 0; // when the person was last active
  let cancel = () => {}; // of the note that zz waits
  const isLong = () => clock.now() - lastActive >= config.after * 1000;

  zz.on("started", (fact) => void (isAttended = fact.live && fact.stays));
  zz.on("phase", ({ from, to }) => {
    cancel();
    busy = to !== "idle";
    if (from === "idle") lastActive = clock.now();
  });
  zz.on("asked", ({ question }) => {
    if (!busy || !question) return; // the person has just been active, or is
    asked = true;
    const text = question.replace(/^[┏┠┃┗] /gm, "");
    cancel();
    const act = () => void notify("zz is waiting for you", text).catch(() => {});
    cancel = clock.timer(isLong() ? 0 : config.after * 1000, act, { background: true });
  });
  zz.on("resumed", () => {
    cancel();
    if (asked) lastActive = clock.now();
    asked = false;
  });
  zz.on("answered", ({ text }) => (isLong() ? notify("zz has answered", text) : undefined));
  zz.on("failed", ({ message, exit }) =>
    exit !== 130 && isLong() ? notify("zz has failed", message) : undefined,
  );
  zz.defer(() => cancel());

  async function notify(title: string, words: string): Promise<void> {
    const text = config.words ? printable(words) : "";
    const by = config.by === "auto" && config.command.length ? "command" : config.by;
    if (!isAttended || by === "off") return;
    if (by === "command")
      return start(
        zz.programs,
        config.command.map((word) => fill(word, title, text)),
      );
    if (by !== "desktop" && by !== "bell" && showOnTerminal(title, text)) return;
    if (by === "desktop" || (by === "auto" && isDesktop(process.env))) {
      const command = DESKTOPS[process.platform]?.(title, text) ?? [];
      const shown = start(zz.programs, command);
      if (by === "desktop") return shown;
      if (await shown.then(() => true).catch(() => false)) return;
    }
    if (process.stderr.isTTY) process.stderr.write("\x07");
  }
};

const isDesktop = ({ SSH_CONNECTION, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): boolean =>
  !SSH_CONNECTION && (process.platform !== "linux" || Boolean(DISPLAY || WAYLAND_DISPLAY));

const fill = (word: string, title: string, text: string): string =>
  word.replace(/\$([12])/g, (_, which) => (which === "1" ? title : text));

/** The text without anything that a terminal or a desktop would obey. */
function printable(words: string): string {
  const text = words.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\s]+/gu, " ").trim();
  const letters = [...text.slice(0, 2 * MAX_CHARS + 2)];
  return letters.length > MAX_CHARS
    ? `${letters.slice(0, MAX_CHARS - 1).join("")}…`
    : letters.join("");
}

function showOnTerminal(title: string, text: string): boolean {
  const { env, stderr } = process;
  const [, , osc] = TERMINALS.find(([variable, is]) => is.test(env[variable] ?? "")) ?? [];
  if (!osc || !stderr.isTTY || env.TMUX) return false;
  const body = osc === 9 ? `${title}: ${text}` : `notify;${title};${text.replaceAll(";", ",")}`;
  return stderr.write(`\x1b]${osc};${body}\x07`) || true;
}

/** Starts a program and waits until it runs, not until it has ended. */
async function start(programs: Programs, [program = "", ...words]: string[]): Promise<void> {
  if (!program)
    throw new Error("there is no command to notify by. Set notify.command, or notify.by.");
  const child = programs.start(program, words, { stdio: "ignore", detached: true });
  child.unref();
  await new Promise((runs, failed) => child.once("spawn", runs).once("error", failed));
}
