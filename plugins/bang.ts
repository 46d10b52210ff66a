// !command runs the person's own shell command, unasked since they typed it; its output is live, and can go to the model.
// !!command has the whole terminal, and nothing of it is kept: for what fills the screen, such as editors and pagers.
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import type { Ctx, Zz } from "zz";

const FOR_EVER = 2 ** 31 - 1; // ms; the person's command takes what it takes
const MOST = 20_000; // characters that go to the model
const KEPT = 256 * 1024; // bytes from each end of an output
const AT_END = 200; // ms in which what a command left running may still write

/** They need a real terminal, with one ! as well. */
const SCREENS = new Set(
  "vi vim nvim nano pico emacs hx micro less more most man info top htop btop watch ssh mosh tmux screen fzf mc ranger tig lazygit gdb".split(
    " ",
  ),
);

export default (zz: Zz) => {
  zz.wrap(
    "line",
    async (line, next, ctx) => {
      const command = commandOf(line);
      if (command && ctx.terminal) {
        await runAndOffer(command, ctx);
        return "";
      }
      if (command) throw refusal(line);
      return next(line.startsWith("\\!") ? line.slice(1) : line);
    },
    "first", // nobody else needs to see it
    FOR_EVER,
  );

  async function runAndOffer({ words, whole }: Command, ctx: Ctx): Promise<void> {
    const kept = variables(ctx.about.home);
    const output = veiled(await ctx.terminal!(() => run(words, whole, ctx, kept)), kept);
    if (!output || ctx.signal.aborted) return;
    const question = `Give ${count(output)} to the conversation? [y]es, any other key: no `;
    if ((await ctx.ask?.(question, "y")) !== "y") return;
    ctx.chat.attach(`--- OUTPUT OF ${words} ---\n${shorten(output)}\n--- END OUTPUT OF ${words} ---`);
    ctx.note("It goes with your next message.");
  }
};

interface Command {
  words: string;
  whole: boolean; // it gets the whole terminal
}

/** Several lines are a message, as is a picture in Markdown: ![words](file). */
function commandOf(line: string): Command | undefined {
  const [, second, words = ""] = /^!(!?)\s*([^!\s].*)$/.exec(line.trim()) ?? [];
  if (!words || (!second && /^\[\S/.test(words))) return undefined;
  const [, program = ""] = /^(?:\w+=\S*\s+|(?:sudo|env|command|exec)\s+)*(?:\S*\/)?([^\s/]+)/.exec(words) ?? [];
  return { words, whole: Boolean(second) || (SCREENS.has(program) && !/[|>&;]/.test(words)) };
}

function refusal(line: string): Error {
  const message = `Cannot run '${line.split("\n")[0]}': commands of yours run only in a conversation at a terminal. Run it in the shell, and pipe its output in: … | zz "words".`;
  return Object.assign(new Error(message), { exit: 2 });
}

/** Its output; empty where nothing was kept. Ctrl+C goes to the command: the terminal sends it, and zz does not heed it meanwhile. */
async function run(words: string, whole: boolean, { root, signal }: Ctx, kept: Variables): Promise<string> {
  const started = performance.now();
  const shell = process.env.SHELL || true;
  const env = { ...process.env, ...kept };
  const child = spawn(words, { cwd: root, env, shell, stdio: whole ? "inherit" : ["inherit", "pipe", "pipe"] });
  const output = keeper();
  let last = 10; // the last byte that was shown
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const)
    from?.on("data", (bytes: Buffer) => {
      to.write(bytes);
      output.add(bytes);
      last = bytes.at(-1) ?? last;
    });
  const stop = () => void child.kill();
  const ignore = () => {}; // Ctrl+\ is the command's too
  signal.addEventListener("abort", stop);
  process.on("SIGQUIT", ignore);
  try {
    const how = await new Promise<string>((resolve) => {
      child.on("error", (error) => resolve(`Cannot run it: ${error.message}. Check SHELL`));
      child.on("exit", (code, killed) => resolve(killed ? `stopped by ${killed}` : `exit code ${code}`));
    });
    await Promise.race([ended(child.stdout, child.stderr), new Promise((late) => setTimeout(late, AT_END))]);
    child.stdout?.destroy();
    child.stderr?.destroy();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stderr.write(`${last === 10 ? "" : "\n"}${reset()}${dim(`${how} · ${seconds} s`)}\n`);
    return plain(output.text());
  } finally {
    signal.removeEventListener("abort", stop);
    process.off("SIGQUIT", ignore);
  }
}

type Variables = Record<string, string>;

/** What /env keeps for commands, { "NAME": "value" }. */
function variables(home: string): Variables {
  const file = path.join(home, "env.json");
  if (!fs.statSync(file, { throwIfNoEntry: false })?.isFile()) return {};
  try {
    const kept = Object.entries(JSON.parse(fs.readFileSync(file, "utf8")) as object);
    return Object.fromEntries(kept.filter(([name, value]) => /^[A-Za-z_]\w*$/.test(name) && typeof value === "string"));
  } catch {
    throw new Error(`Cannot use '${file}': it is not readable as JSON. Mend it, or move it away.`); // its own words would show values
  }
}

/** They stay with the person, though a command prints them. */
function veiled(text: string, kept: Variables): string {
  const long = Object.entries(kept).filter(([, value]) => value.length >= 6);
  const first = long.sort(([, one], [, two]) => two.length - one.length);
  return first.reduce((shown, [name, value]) => shown.replaceAll(value, () => `[value of ${name}]`), text);
}

const ended = (...streams: (NodeJS.ReadableStream | null)[]): Promise<unknown> =>
  Promise.all(streams.map((stream) => stream && new Promise((resolve) => stream.on("close", resolve))));

/** A program that was killed may have left the cursor hidden and a colour on. */
const reset = (): string => (process.env.TERM === "dumb" ? "" : "\x1b[0m\x1b[?25h");
const dim = (text: string): string =>
  process.env.NO_COLOR || process.env.TERM === "dumb" ? text : `\x1b[2m${text}\x1b[22m`;

/** Both ends of what came, so that a flood does not fill the memory. */
function keeper() {
  let [head, tail, lost] = [Buffer.alloc(0), Buffer.alloc(0), 0];
  return {
    add(bytes: Buffer): void {
      const room = KEPT - head.length;
      if (room > 0) head = Buffer.concat([head, bytes.subarray(0, room)]);
      if (bytes.length > room) tail = Buffer.concat([tail, bytes.subarray(Math.max(0, room))]);
      if (tail.length <= 2 * KEPT) return;
      lost += tail.length - KEPT;
      tail = Buffer.from(tail.subarray(-KEPT));
    },
    text: (): string =>
      lost ? `${head}\n[… ${lost} bytes left out …]\n${tail}` : Buffer.concat([head, tail]).toString("utf8"),
  };
}

/** As it stood on the screen in the end: without colours, without what a line wrote over. */
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

function shorten(text: string): string {
  if (text.length <= MOST) return text;
  const [head, tail] = [text.slice(0, MOST * 0.7), text.slice(-MOST * 0.2)];
  return `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`.toWellFormed();
}

function count(text: string): string {
  const lines = text.split("\n").length;
  return lines === 1 ? "this line" : `these ${lines} lines`;
}
