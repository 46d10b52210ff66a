// !command runs the person's own shell command, without asking since they typed it; its output is
// live, and goes to the model only if they then type !! or press Tab on the empty line. !!command
// has the whole terminal, and its output is not kept: for programs that fill the screen, such as
// editors and pagers. !+command runs as the model's commands do, so that what it changes is shown,
// and /undo covers it.
import { stripVTControlCharacters } from "node:util";
import type { Ctx, Zz } from "zz";
import { keptVariables, plural, shorten, usage, withoutValues } from "zz/text";

const NO_TIMEOUT = 2 ** 31 - 1; // ms; the person's command takes as long as it takes
const MAX_OUTPUT_CHARS = 20_000; // given to the model
const MAX_KEPT_BYTES = 256 * 1024; // from each end of an output
const HOW_TO_GIVE = "Tab or !! gives it to the model";
const EXIT_GRACE_MS = 200; // ms in which processes that a command left running may still write

/** These need a real terminal, even with a single !. */
const FULL_SCREEN = new Set(
  "vi vim nvim nano pico emacs hx micro less more most man info top htop btop watch ssh mosh tmux screen fzf mc ranger tig lazygit gdb".split(
    " ",
  ),
);

/** What the person may give to the conversation. */
type Output = { words: string; text: string };

export default (zz: Zz) => {
  let last: Output | undefined;
  zz.service("ownOutput", { give: (ctx) => give(ctx) });
  zz.wrap(
    "line",
    async (line, next, ctx) => {
      const covered = /^!\+\s*([^!\s].*)$/.exec(line.trim())?.[1];
      if (covered && ctx.ask) {
        await runCovered(covered, ctx);
        return "";
      }
      if (line.trim() === "!!") {
        if (!give(ctx)) ctx.note("There is no output to give: run a command with ! first.");
        return "";
      }
      const command = covered ? undefined : commandOf(line);
      if (command && ctx.terminal) {
        await runOwn(command, ctx);
        return "";
      }
      if (command || covered) throw refusal(line);
      return next(line.startsWith("\\!") ? line.slice(1) : line);
    },
    { order: "first", limit: NO_TIMEOUT }, // no other plugin needs to see it
  );

  async function runOwn({ words, wholeTerminal }: Command, ctx: Ctx): Promise<void> {
    const kept = keptVariables(ctx.about.home);
    last = undefined;
    const ran = await ctx.terminal!(() => run(words, wholeTerminal, ctx, kept));
    keep(words, withoutValues(ran, kept));
  }

  async function runCovered(words: string, ctx: Ctx): Promise<void> {
    const { text, refused } = await ctx.call("run_command", { command: words });
    keep(words, refused ? "" : text);
    ctx.note(last ? `${text}\n${HOW_TO_GIVE}.` : text);
  }

  function keep(words: string, text: string): void {
    last = text ? { words, text } : undefined;
  }

  /** Gives the last output to the next message, once; false if there is none. */
  function give({ chat, note }: Ctx): boolean {
    if (!last) return false;
    const { words, text } = last;
    last = undefined;
    chat.attach(
      `--- OUTPUT OF ${words} ---\n${shorten(text, MAX_OUTPUT_CHARS)}\n--- END OUTPUT OF ${words} ---`,
    );
    note(`${plural(text.split("\n").length, "line")} of ${words} go with your next message.`);
    return true;
  }
};

interface Command {
  words: string;
  wholeTerminal: boolean; // it gets the whole terminal
}

/** Several lines are a message, and so is a picture in Markdown: ![words](file). */
function commandOf(line: string): Command | undefined {
  const [, second, words = ""] = /^!(!?)\s*([^!\s].*)$/.exec(line.trim()) ?? [];
  if (!words || (!second && /^\[\S/.test(words))) return undefined;
  const [, program = ""] =
    /^(?:\w+=\S*\s+|(?:sudo|env|command|exec)\s+)*(?:\S*\/)?([^\s/]+)/.exec(words) ?? [];
  return {
    words,
    wholeTerminal: Boolean(second) || (FULL_SCREEN.has(program) && !/[|>&;]/.test(words)),
  };
}

function refusal(line: string): Error {
  const message = `Cannot run '${line.split("\n")[0]}': your own commands run only in a conversation at a terminal. Run it in the shell, and pipe its output in: … | zz "words".`;
  return usage(message);
}

/**
 * Runs a command and returns its output; empty if nothing was kept. Ctrl+C goes to the command: the
 * terminal sends it, and zz ignores it meanwhile.
 */
async function run(
  words: string,
  wholeTerminal: boolean,
  { root, io, signal, programs }: Ctx,
  kept: Variables,
): Promise<string> {
  const started = io.clock.now();
  const child = programs.start(...shellFor(words), {
    cwd: root,
    env: { ...process.env, ...kept },
    ownPath: true,
    stdio: wholeTerminal
      ? [fdOf(io.stdin), fdOf(io.stdout), fdOf(io.stderr)]
      : [fdOf(io.stdin), "pipe", "pipe"],
    windowsVerbatimArguments: true,
  });
  const output = bothEnds();
  let last = 10; // the last byte that was shown
  for (const [from, to] of [
    [child.stdout, io.stdout],
    [child.stderr, io.stderr],
  ] as const)
    from?.on("data", (bytes: Buffer) => {
      to.write(bytes);
      output.add(bytes);
      last = bytes.at(-1) ?? last;
    });
  const stop = () => void child.kill();
  const ignore = () => {}; // Ctrl+\ goes to the command too
  signal.addEventListener("abort", stop);
  process.on("SIGQUIT", ignore);
  try {
    const outcome = await new Promise<string>((resolve) => {
      child.on("error", (error) => resolve(`Cannot run it: ${error.message}. Check SHELL`));
      child.on("exit", (code, killed) =>
        resolve(killed ? `stopped by ${killed}` : `exit code ${code}`),
      );
    });
    await Promise.race([ended(child.stdout, child.stderr), io.clock.sleep(EXIT_GRACE_MS)]);
    child.stdout?.destroy();
    child.stderr?.destroy();
    const seconds = ((io.clock.now() - started) / 1000).toFixed(1);
    const text = plain(output.text());
    const row = [outcome, `${seconds} s`, ...(text ? [HOW_TO_GIVE] : [])].join(" · ");
    io.stderr.write(`${last === 10 ? "" : "\n"}${reset(io)}${await dim(io, row)}\n`);
    return text;
  } finally {
    signal.removeEventListener("abort", stop);
    process.off("SIGQUIT", ignore);
  }
}

/**
 * The shell is never one of the project's; the command finds its programs on the person's own PATH.
 */
function shellFor(words: string): [program: string, args: string[]] {
  if (process.platform !== "win32") return [process.env.SHELL || "sh", ["-c", words]];
  return [process.env.ComSpec ?? "cmd.exe", ["/d", "/s", "/c", `"${words}"`]];
}

type Variables = Record<string, string>;

const ended = (...streams: (NodeJS.ReadableStream | null)[]): Promise<unknown> =>
  Promise.all(
    streams.map((stream) => stream && new Promise((resolve) => stream.on("close", resolve))),
  );

/** A program that was killed may have left the cursor hidden and colours on. */
const reset = ({ variable }: Ctx["io"]): string =>
  variable("TERM") === "dumb" ? "" : "\x1b[0m\x1b[?25h";
async function dim({ variable }: Ctx["io"], text: string): Promise<string> {
  if (variable("NO_COLOR") || variable("TERM") === "dumb") return text;
  const { Chalk } = await import("chalk");
  return new Chalk({ level: 1 }).dim(text);
}
/** The command gets the very terminal that zz has. */
const fdOf = (stream: object): number | "inherit" => (stream as { fd?: number }).fd ?? "inherit";

/** Keeps both ends of an output, so that a flood does not fill the memory. */
function bothEnds() {
  let [head, tail, lost] = [Buffer.alloc(0), Buffer.alloc(0), 0];
  return {
    add(bytes: Buffer): void {
      const room = MAX_KEPT_BYTES - head.length;
      if (room > 0) head = Buffer.concat([head, bytes.subarray(0, room)]);
      if (bytes.length > room) tail = Buffer.concat([tail, bytes.subarray(Math.max(0, room))]);
      if (tail.length <= 2 * MAX_KEPT_BYTES) return;
      lost += tail.length - MAX_KEPT_BYTES;
      tail = Buffer.from(tail.subarray(-MAX_KEPT_BYTES));
    },
    text: (): string =>
      lost
        ? `${head}\n[… ${lost} bytes left out …]\n${tail}`
        : Buffer.concat([head, tail]).toString("utf8"),
  };
}

/**
 * The final state of the screen: without colours, and without text that was overwritten in its
 * line.
 */
function plain(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[^\n]\x08/g, "")
    .split("\n")
    .map((line) => line.replace(/\r+$/, ""))
    .map((line) => line.slice(line.lastIndexOf("\r") + 1))
    .join("\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
    .replace(/^\n+|\s+$/g, "");
}
