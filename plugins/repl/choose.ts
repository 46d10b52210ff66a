// A picker for lists, and a prompt for secrets that hides what is typed. Both need a terminal whose cursor moves.
import type { Choice, Zz } from "zz";
import { clean, pickerContext, pickRow, terminalColumns, wrap } from "zz/text";

export const canChoose = (io: Zz["io"]): boolean => io.variable("TERM") !== "dumb";

/** Lets the person choose; typing narrows the list. Undefined if they left it, or if there is nothing to choose from. */
export async function pick(
  io: Zz["io"],
  question: string,
  choices: readonly (string | Choice)[],
  signal?: AbortSignal,
): Promise<string | undefined> {
  const all = choices.map((one) => (typeof one === "string" ? { name: one, description: "" } : one));
  const rows = all.map(({ name, description = "" }) => ({
    ...{ value: name, name: clean(name), short: clean(name) },
    ...(description && { description: clean(description) }),
  }));
  const message = clean(question.trim());
  if (!rows.length) return void io.stderr.write(`${wrapped(io, `${message}\nThere is nothing to choose from.`)}\n`);
  const holds = (row: (typeof rows)[number], term: string) =>
    `${row.name} ${row.description ?? ""}`.toLowerCase().includes(term.toLowerCase());
  const source = (term: string) => rows.filter((row) => holds(row, term));
  return pickRow(io, { message, source, signal });
}

/** Asks for a line without showing it; "" if the person left the prompt. */
export async function secret(io: Zz["io"], question: string, signal?: AbortSignal): Promise<string> {
  const { password } = await import("@inquirer/prompts");
  const how = { message: wrapped(io, question), mask: "*", toggleMask: false } as const;
  return (await orLeft(password(how, pickerContext(signal, io)))) ?? "";
}

const wrapped = (io: Zz["io"], question: string): string =>
  wrap(clean(question.trim()), terminalColumns(io) - 3).join("\n");

/** Undefined instead of the error that Ctrl+C causes. */
const orLeft = <T>(answered: Promise<T>): Promise<T | undefined> =>
  answered.catch((error) => {
    if (/^(ExitPromptError|AbortPromptError)$/.test(error.name)) return undefined;
    throw error;
  });
