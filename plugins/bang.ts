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
  (
    "vi vim nvim nano pico emacs hx micro less more most man info top htop btop watch ssh mosh " +
    "tmux screen fzf mc ranger tig lazygit gdb"
  ).split(" "),
);

/** What the person may give to the conversation. */
type Output = { words: string; text: string };

export default (zz: Zz) => {
  let lastOutput: Output | undefined;
  zz.service("ownOutput", { give: giveOutput });
  zz.wrap(
    "line",
    async (typedLine, nextLine, ctx) => {
      const covered = /^!\+\s*([^!\s].*)$/.exec(typedLine.trim())?.[1];
      if (covered && ctx.ask) {
        await runCovered(covered, ctx);
        return "";
      }
      if (typedLine.trim() === "!!") {
        if (!giveOutput(ctx)) ctx.note("There is no output to give: run a command with ! first.");
        return "";
      }
      const command = covered ? undefined : commandOf(typedLine);
      if (command && ctx.terminal) {
        await runOwnCommand(command, ctx);
        return "";
      }
      if (command || covered) throw refusal(typedLine);
      return nextLine(typedLine.startsWith("\\!") ? typedLine.slice(1) : typedLine);
    },
    { order: "first", limit: NO_TIMEOUT }, // no other plugin needs to see it
  );

  async function runOwnCommand({ words, wholeTerminal }: Command, ctx: Ctx): Promise<void> {
    const variables = keptVariables(ctx.about.home);
    lastOutput = undefined;
    const ownOutput = await ctx.terminal!(() => runInShell(words, wholeTerminal, ctx, variables));
    keepOutput(words, withoutValues(ownOutput, variables));
  }

  async function runCovered(commandWords: string, ctx: Ctx): Promise<void> {
    const { text, refused } = await ctx.call("run_command", { command: commandWords });
    keepOutput(commandWords, refused ? "" : text);
    ctx.note(lastOutput ? `${text}\n${HOW_TO_GIVE}.` : text);
  }

  function keepOutput(words: string, text: string): void {
    lastOutput = text ? { words, text } : undefined;
  }

  /** Gives the last output to the next message, once; false if there is none. */
  function giveOutput({ chat, note }: Ctx): boolean {
    if (!lastOutput) return false;
    const { words, text } = lastOutput;
    lastOutput = undefined;
    chat.attach(
      `--- OUTPUT OF ${words} ---\n${shorten(text, MAX_OUTPUT_CHARS)}\n` +
        `--- END OUTPUT OF ${words} ---`,
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
function commandOf(typedLine: string): Command | undefined {
  const [, secondBang, words = ""] = /^!(!?)\s*([^!\s].*)$/.exec(typedLine.trim()) ?? [];
  if (!words || (!secondBang && /^\[\S/.test(words))) return undefined;
  const [, program = ""] =
    /^(?:\w+=\S*\s+|(?:sudo|env|command|exec)\s+)*(?:\S*\/)?([^\s/]+)/.exec(words) ?? [];
  return {
    words,
    wholeTerminal: Boolean(secondBang) || (FULL_SCREEN.has(program) && !/[|>&;]/.test(words)),
  };
}

const refusal = (typedLine: string): Error =>
  usage(
    `Cannot run '${typedLine.split("\n")[0]}': your own commands run only in a conversation at ` +
      'a terminal. Run it in the shell, and pipe its output in: … | zz "words".',
  );

/**
 * Runs a command and returns its output; empty if nothing was kept. Ctrl+C goes to the command: the
 * terminal sends it, and zz ignores it meanwhile.
 */
async function runInShell(
  commandWords: string,
  wholeTerminal: boolean,
  { root, io, signal, programs }: Ctx,
  variables: Record<string, string>,
): Promise<string> {
  const started = io.clock.now();
  const shellProcess = programs.start(...shellFor(commandWords), {
    cwd: root,
    env: { ...process.env, ...variables },
    ownPath: true,
    stdio: wholeTerminal
      ? [descriptorOf(io.stdin), descriptorOf(io.stdout), descriptorOf(io.stderr)]
      : [descriptorOf(io.stdin), "pipe", "pipe"],
    windowsVerbatimArguments: true,
  });
  const outputEnds = bothEnds();
  let lastByte = 10; // the last byte that was shown
  for (const [sourceStream, targetStream] of [
    [shellProcess.stdout, io.stdout],
    [shellProcess.stderr, io.stderr],
  ] as const)
    sourceStream?.on("data", (outputChunk: Buffer) => {
      targetStream.write(outputChunk);
      outputEnds.add(outputChunk);
      lastByte = outputChunk.at(-1) ?? lastByte;
    });
  const stopProcess = () => void shellProcess.kill();
  const ignoreSignal = () => {}; // Ctrl+\ goes to the command too
  signal.addEventListener("abort", stopProcess);
  process.on("SIGQUIT", ignoreSignal);
  try {
    const outcome = await new Promise<string>((resolve) => {
      shellProcess.on("error", (error) => resolve(`Cannot run it: ${error.message}. Check SHELL`));
      shellProcess.on("exit", (code, exitSignal) =>
        resolve(exitSignal ? `stopped by ${exitSignal}` : `exit code ${code}`),
      );
    });
    await Promise.race([
      untilClosed(shellProcess.stdout, shellProcess.stderr),
      io.clock.sleep(EXIT_GRACE_MS),
    ]);
    shellProcess.stdout?.destroy();
    shellProcess.stderr?.destroy();
    const seconds = ((io.clock.now() - started) / 1000).toFixed(1);
    const plainOutput = toPlainText(outputEnds.text());
    const outcomeRow = [outcome, `${seconds} s`, ...(plainOutput ? [HOW_TO_GIVE] : [])].join(" · ");
    io.stderr.write(
      `${lastByte === 10 ? "" : "\n"}${resetSequence(io)}${await dimText(io, outcomeRow)}\n`,
    );
    return plainOutput;
  } finally {
    signal.removeEventListener("abort", stopProcess);
    process.off("SIGQUIT", ignoreSignal);
  }
}

/**
 * The shell is never one of the project's; the command finds its programs on the person's own PATH.
 */
function shellFor(commandWords: string): [program: string, args: string[]] {
  if (process.platform !== "win32") return [process.env.SHELL || "sh", ["-c", commandWords]];
  return [process.env.ComSpec ?? "cmd.exe", ["/d", "/s", "/c", `"${commandWords}"`]];
}

const untilClosed = (...streams: (NodeJS.ReadableStream | null)[]): Promise<unknown> =>
  Promise.all(
    streams.map((stream) => stream && new Promise((resolve) => stream.on("close", resolve))),
  );

/** A program that was killed may have left the cursor hidden and colours on. */
const resetSequence = ({ variable }: Ctx["io"]): string =>
  variable("TERM") === "dumb" ? "" : "\x1b[0m\x1b[?25h";
async function dimText({ variable }: Ctx["io"], text: string): Promise<string> {
  if (variable("NO_COLOR") || variable("TERM") === "dumb") return text;
  const { Chalk } = await import("chalk");
  return new Chalk({ level: 1 }).dim(text);
}
/** The command gets the very terminal that zz has. */
const descriptorOf = (stream: object): number | "inherit" =>
  (stream as { fd?: number }).fd ?? "inherit";

/** Keeps both ends of an output, so that a flood does not fill the memory. */
function bothEnds() {
  let [headBytes, tailBytes, lostBytes] = [Buffer.alloc(0), Buffer.alloc(0), 0];
  return {
    add(addedBytes: Buffer): void {
      const headRoom = MAX_KEPT_BYTES - headBytes.length;
      if (headRoom > 0) headBytes = Buffer.concat([headBytes, addedBytes.subarray(0, headRoom)]);
      if (addedBytes.length > headRoom)
        tailBytes = Buffer.concat([tailBytes, addedBytes.subarray(Math.max(0, headRoom))]);
      if (tailBytes.length <= 2 * MAX_KEPT_BYTES) return;
      lostBytes += tailBytes.length - MAX_KEPT_BYTES;
      tailBytes = Buffer.from(tailBytes.subarray(-MAX_KEPT_BYTES));
    },
    text: (): string =>
      lostBytes
        ? `${headBytes}\n[… ${lostBytes} bytes left out …]\n${tailBytes}`
        : Buffer.concat([headBytes, tailBytes]).toString("utf8"),
  };
}

/**
 * The final state of the screen: without colours, and without text that was overwritten in its
 * line.
 */
function toPlainText(rawOutput: string): string {
  return stripVTControlCharacters(rawOutput)
    .replace(/[^\n]\x08/g, "")
    .split("\n")
    .map((outputLine) => outputLine.replace(/\r+$/, ""))
    .map((outputLine) => outputLine.slice(outputLine.lastIndexOf("\r") + 1))
    .join("\n")
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
    .replace(/^\n+|\s+$/g, "");
}
