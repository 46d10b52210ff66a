// Asks the person: with pickers if they may use the terminal, otherwise line by line.
import { emitKeypressEvents } from "node:readline";
import type { Choice, Ctx } from "zz";
import { clip, pickerStreams, pickRow, terminalColumns, width } from "zz/text";

export interface Person {
  readonly signal: AbortSignal; // aborts when they leave
  say(sentence: string): void;
  pick(message: string, choices: Choice[], standing?: string): Promise<string>; // the chosen name
  line(message: string, standing?: string): Promise<string>;
  secret(message: string): Promise<string>;
  // shows the text meanwhile
  wait<T>(
    waitingText: string,
    runWork: (showProgress: (progressText: string) => void) => Promise<T>,
  ): Promise<T>;
}

const CLEAR_ROW = "\r\x1b[K";
const PERSON_LEFT = new Error("The person left.");

/** Undefined if they left, with Ctrl+C, Ctrl+D or Escape. */
export async function withPerson<T>(
  ctx: Ctx,
  usePerson: (person: Person) => Promise<T>,
): Promise<T | undefined> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([ctx.signal, leaving.signal]);
  const leave = () => leaving.abort(PERSON_LEFT);
  try {
    if (!ctx.terminal || ctx.io.variable("TERM") === "dumb")
      return await usePerson(plainLines(ctx, signal, leave));
    return await ctx.terminal(() => withPickers(ctx, signal, leave, usePerson));
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

const TYPING_ROOM = 40; // columns for typing, so that an address is not broken near its beginning

/** The question, with a line break if it leaves too little room after it. */
const withBreak = ({ io }: Ctx, message: string): string =>
  terminalColumns(io) - width(`? ${message} `) < TYPING_ROOM ? `${message}\n` : message;

async function withPickers<T>(
  ctx: Ctx,
  signal: AbortSignal,
  leave: () => void,
  usePerson: (person: Person) => Promise<T>,
): Promise<T> {
  const stdin = ctx.io.stdin as NodeJS.ReadStream;
  const prompts = await import("@inquirer/prompts");
  const handleKey = (_: unknown, { name, ctrl }: { name?: string; ctrl?: boolean } = {}) => {
    // a picker alone would hang on Ctrl+D
    if (name === "escape" || (ctrl && (name === "c" || name === "d"))) leave();
  };
  emitKeypressEvents(stdin);
  stdin.on("keypress", handleKey);
  process.on("SIGINT", leave); // between two pickers the terminal turns Ctrl+C into a signal
  try {
    ctx.io.stdout.write(CLEAR_ROW);
    return await usePerson(pickers(ctx, signal, leave, prompts));
  } finally {
    stdin.off("keypress", handleKey);
    process.off("SIGINT", leave);
  }
}

function pickers(
  ctx: Ctx,
  signal: AbortSignal,
  leave: () => void,
  prompts: typeof import("@inquirer/prompts"),
): Person {
  const { stdout } = ctx.io;
  const stdin = ctx.io.stdin as NodeJS.ReadStream;
  const showStatus = (statusText: string) => void stdout.write(CLEAR_ROW + statusText);
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
      const chosenName = await pickRow(ctx.io, { message, rows, selected: standing, signal });
      if (chosenName === undefined) leave();
      signal.throwIfAborted();
      return chosenName!;
    },
    line: (message, standing) =>
      prompts.input({ message: withBreak(ctx, message), default: standing }, context),
    secret: (message) =>
      prompts.password({ message: withBreak(ctx, message), mask: "*", toggleMask: false }, context),
    async wait(waitingText, runWork) {
      stdin.setRawMode(true).resume(); // input is hidden meanwhile, and Escape is noticed
      showStatus(waitingText);
      try {
        return await Promise.race([runWork(showStatus), aborted(signal)]);
      } finally {
        stdin.pause().setRawMode(false);
        showStatus("");
      }
    },
  };
}

/** The picked name, clipped to the rest of the row. */
const shownAfter = ({ io }: Ctx, message: string, pickedName: string): string =>
  clip(pickedName, Math.max(8, terminalColumns(io) - width(`✔ ${message} `) - 1));

/**
 * Asks line by line. An empty line leaves, since no other key is sure to work on a plain terminal.
 */
function plainLines(ctx: Ctx, signal: AbortSignal, leave: () => void): Person {
  return {
    signal,
    say: ctx.note,
    async pick(message, choices) {
      const choiceRows = choices.map(({ name }, i) => `${String(i + 1).padStart(3)}  ${name}\n`);
      for (;;) {
        const typedText = await askLine(
          `${message}\n${choiceRows.join("")}A number (Enter leaves): `,
        );
        const choice =
          choices[Number(typedText) - 1] ?? choices.find(({ name }) => name === typedText);
        if (choice) return choice.name;
        ctx.note(`Cannot choose '${typedText}': the numbers go from 1 to ${choices.length}.`);
      }
    },
    line: (message, standing) =>
      standing ? askLine(`${message} [${standing}] `, standing) : askLine(`${message} `),
    secret: (message) => readReply(ctx.ask!(message, { secret: true })),
    wait(waitingText, runWork) {
      ctx.note(waitingText);
      let lastTens = "";
      const showProgress = (progressLine: string) => {
        const percentTens = /(\d?)\d%/.exec(progressLine)?.[1];
        if (percentTens !== undefined && percentTens !== lastTens) ctx.note(progressLine);
        lastTens = percentTens ?? lastTens;
      };
      return Promise.race([runWork(showProgress), aborted(signal)]);
    },
  };

  function askLine(question: string, standing?: string): Promise<string> {
    return readReply(ctx.ask!(question), standing);
  }

  async function readReply(pendingReply: Promise<string>, standing?: string): Promise<string> {
    const typedText = (await Promise.race([pendingReply, aborted(signal)])).trim();
    if (!typedText && standing === undefined) leave();
    signal.throwIfAborted();
    return typedText || standing!;
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
