// Asks the person: with pickers if they may use the terminal, otherwise line by line.
import { emitKeypressEvents } from "node:readline";
import type { Choice, Ctx } from "zz";
import { clip, pickerStreams, pickRow, terminalColumns, width } from "zz/text";

export interface Person {
  readonly signal: AbortSignal; // aborts when they leave
  say(text: string): void;
  pick(message: string, choices: Choice[], standing?: string): Promise<string>; // the chosen name
  line(message: string, standing?: string): Promise<string>;
  secret(message: string): Promise<string>;
  // shows the text meanwhile
  wait<T>(text: string, work: (show: (text: string) => void) => Promise<T>): Promise<T>;
}

const CLEAR_ROW = "\r\x1b[K";
const PERSON_LEFT = new Error("The person left.");

/** Undefined if they left, with Ctrl+C, Ctrl+D or Escape. */
export async function withPerson<T>(
  ctx: Ctx,
  act: (person: Person) => Promise<T>,
): Promise<T | undefined> {
  const stop = new AbortController();
  const signal = AbortSignal.any([ctx.signal, stop.signal]);
  const atTerminal = ctx.terminal && ctx.io.variable("TERM") !== "dumb";
  try {
    if (!atTerminal) return await act(plainLines(ctx, signal, () => stop.abort(PERSON_LEFT)));
    return await ctx.terminal!(() => withPickers(ctx, signal, () => stop.abort(PERSON_LEFT), act));
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

const ROOM = 40; // columns for typing, so that an address is not broken near its beginning

/** The question, with a line break if it leaves too little room after it. */
const withBreak = ({ io }: Ctx, message: string): string =>
  terminalColumns(io) - width(`? ${message} `) < ROOM ? `${message}\n` : message;

async function withPickers<T>(
  ctx: Ctx,
  signal: AbortSignal,
  leave: () => void,
  act: (person: Person) => Promise<T>,
): Promise<T> {
  const stdin = ctx.io.stdin as NodeJS.ReadStream;
  const prompts = await import("@inquirer/prompts");
  const press = (_: unknown, key: { name?: string; ctrl?: boolean } = {}) => {
    const { name = "", ctrl } = key;
    // a picker alone would hang on Ctrl+D
    if (name === "escape" || (ctrl && (name === "c" || name === "d"))) leave();
  };
  emitKeypressEvents(stdin);
  stdin.on("keypress", press);
  process.on("SIGINT", leave); // between two pickers the terminal turns Ctrl+C into a signal
  try {
    ctx.io.stdout.write(CLEAR_ROW);
    return await act(pickers(ctx, { signal, leave, prompts }));
  } finally {
    stdin.off("keypress", press);
    process.off("SIGINT", leave);
  }
}

interface Picking {
  signal: AbortSignal;
  leave: () => void;
  prompts: typeof import("@inquirer/prompts");
}

function pickers(ctx: Ctx, { signal, leave, prompts }: Picking): Person {
  const { stdout } = ctx.io;
  const stdin = ctx.io.stdin as NodeJS.ReadStream;
  const status = (text: string) => void stdout.write(CLEAR_ROW + text);
  const context = {
    ...pickerStreams(stdin, stdout),
    signal,
    get clearPromptOnDone() {
      return signal.aborted;
    },
  };
  return {
    signal,
    say: ctx.note,
    async pick(message, choices, standing) {
      const rows = choices.map((choice) => ({
        ...choice,
        value: choice.name,
        short: shownAfter(ctx, message, choice.name),
      }));
      const chosen = await pickRow(ctx.io, { message, rows, selected: standing, signal });
      if (chosen === undefined) leave();
      signal.throwIfAborted();
      return chosen!;
    },
    line: (message, standing) =>
      prompts.input(
        { message: withBreak(ctx, message), ...(standing && { default: standing }) },
        context,
      ),
    secret: (message) =>
      prompts.password({ message: withBreak(ctx, message), mask: "*", toggleMask: false }, context),
    async wait(text, work) {
      stdin.setRawMode(true).resume(); // input is hidden meanwhile, and Escape is noticed
      status(text);
      try {
        return await Promise.race([work(status), aborted(signal)]);
      } finally {
        stdin.pause().setRawMode(false);
        status("");
      }
    },
  };
}

/** The picked name, clipped to the rest of the row. */
const shownAfter = ({ io }: Ctx, message: string, name: string): string =>
  clip(name, Math.max(8, terminalColumns(io) - width(`✔ ${message} `) - 1));

/**
 * Asks line by line. An empty line leaves, since no other key is sure to work on a plain terminal.
 */
function plainLines(ctx: Ctx, signal: AbortSignal, leave: () => void): Person {
  return {
    signal,
    say: ctx.note,
    async pick(message, choices) {
      const rows = choices.map(({ name }, i) => `${String(i + 1).padStart(3)}  ${name}\n`);
      for (;;) {
        const typed = await ask(`${message}\n${rows.join("")}A number (Enter leaves): `);
        const choice = choices[Number(typed) - 1] ?? choices.find(({ name }) => name === typed);
        if (choice) return choice.name;
        ctx.note(`Cannot choose '${typed}': the numbers go from 1 to ${choices.length}.`);
      }
    },
    line: (message, standing) =>
      standing ? ask(`${message} [${standing}] `, standing) : ask(`${message} `),
    secret: (message) => meant(ctx.ask!(message, { secret: true })),
    wait(text, work) {
      ctx.note(text);
      let before = "";
      const show = (line: string) => {
        const tens = /(\d?)\d%/.exec(line)?.[1];
        if (tens !== undefined && tens !== before) ctx.note(line);
        before = tens ?? before;
      };
      return Promise.race([work(show), aborted(signal)]);
    },
  };

  function ask(question: string, standing?: string): Promise<string> {
    return meant(ctx.ask!(question), standing);
  }

  async function meant(asked: Promise<string>, standing?: string): Promise<string> {
    const typed = (await Promise.race([asked, aborted(signal)])).trim();
    if (!typed && standing === undefined) leave();
    signal.throwIfAborted();
    return typed || standing!;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
