// A picker for lists, which needs a terminal whose cursor moves, and a prompt for secrets that
// hides what is typed.
import type { Choice, Zz } from "zz";
import { clean, pickerContext, pickRow, terminalColumns, wrap } from "zz/text";

export const canChoose = (io: Zz["io"]): boolean => io.variable("TERM") !== "dumb";

/**
 * Lets the person choose; typing narrows the list. Undefined if they left it, or if there is
 * nothing to choose from.
 */
export async function pickFromList(
  io: Zz["io"],
  question: string,
  choices: readonly (string | Choice)[],
  signal?: AbortSignal,
): Promise<string | undefined> {
  const rows = choices
    .map(toChoice)
    .map(({ name, description }) => ({
      value: name,
      name: clean(name),
      short: clean(name),
      ...(description && { description: clean(description) }),
    }));
  const message = clean(question.trim());
  if (!rows.length)
    return void io.stderr.write(`${wrapped(io, `${message}\nThere is nothing to choose from.`)}\n`);
  return pickRow(io, { message, rows, signal });
}

const toChoice = (choice: string | Choice): Choice =>
  typeof choice === "string" ? { name: choice } : choice;

/** The same by a line that the person types, for screen readers: nothing is drawn again. */
export async function pickByNumber(
  askPerson: (listText: string) => Promise<string>,
  question: string,
  choices: readonly (string | Choice)[],
): Promise<string | undefined> {
  const allChoices = choices.map(toChoice);
  const numberedRows = allChoices.map(({ name, description = "" }, i) =>
    clean(`${i + 1}. ${name}${description && `: ${description}`}`),
  );
  for (let hintText = ""; ; ) {
    const promptRows = [
      question.trim(),
      ...numberedRows,
      `${hintText}Number or name, nothing to leave: `,
    ];
    const typedText = (await askPerson(promptRows.join("\n"))).trim();
    if (!typedText) return undefined;
    const pickedChoice =
      allChoices[Number(typedText) - 1] ?? allChoices.find(({ name }) => name === typedText);
    if (pickedChoice) return pickedChoice.name;
    hintText = `There is no choice '${typedText}'. `;
  }
}

/** Asks for a line without showing it; "" if the person left the prompt. */
export async function askUnseen(
  io: Zz["io"],
  question: string,
  signal?: AbortSignal,
): Promise<string> {
  if (!canChoose(io)) return typedUnseen(io, question, signal);
  const { password } = await import("@inquirer/prompts");
  const promptOptions = { message: wrapped(io, question), mask: "*", toggleMask: false } as const;
  return (await catchLeaving(password(promptOptions, pickerContext(signal, io)))) ?? "";
}

/** The same on a terminal whose cursor does not move: there is nothing to draw. */
async function typedUnseen(
  { stdin, stderr }: Zz["io"],
  question: string,
  signal?: AbortSignal,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const keyboard = stdin as NodeJS.ReadStream;
  let typedLetters: string[] = [];
  const onInput = (inputBytes: Buffer) => {
    for (const typedLetter of inputBytes.toString("utf8")) {
      if (/[\r\n]/.test(typedLetter)) resolve(typedLetters.join(""));
      else if (/[\x03\x04\x1b]/.test(typedLetter)) resolve("");
      else if (/[\b\x7f]/.test(typedLetter)) typedLetters.pop();
      else typedLetters.push(typedLetter);
    }
  };
  const leavePrompt = () => resolve("");
  signal?.addEventListener("abort", leavePrompt);
  stderr.write(`${clean(question.trim())} (hidden) `);
  keyboard.setRawMode?.(true).on("data", onInput).resume();
  try {
    return await promise;
  } finally {
    signal?.removeEventListener("abort", leavePrompt);
    keyboard.off("data", onInput).pause().setRawMode?.(false);
    typedLetters = [];
    stderr.write("\n");
  }
}

const wrapped = (io: Zz["io"], question: string): string =>
  wrap(clean(question.trim()), terminalColumns(io) - 3).join("\n");

/** Undefined instead of the error that Ctrl+C causes. */
const catchLeaving = <T>(answered: Promise<T>): Promise<T | undefined> =>
  answered.catch((promptError) => {
    if (/^(ExitPromptError|AbortPromptError)$/.test(promptError.name)) return undefined;
    throw promptError;
  });
