// Something chosen from a list, and a line that is not shown while it is typed. Both need a terminal whose cursor moves.
import type { Choice } from "zz";
import { clean, pickerTheme, terminalColumns, wrap } from "zz/text";

export const canChoose = (): boolean => process.env.TERM !== "dumb";

/** What is typed narrows the list. Undefined: the person left it. */
export async function pick(
  question: string,
  choices: readonly (string | Choice)[],
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { search } = await import("@inquirer/prompts");
  const all = choices.map((one) => (typeof one === "string" ? { name: one, description: "" } : one));
  const rows = all.map(({ name, description = "" }) => ({
    ...{ value: name, name: clean(name), short: clean(name) },
    ...(description && { description: clean(description) }),
  }));
  const holds = (row: (typeof rows)[number], term: string) =>
    `${row.name} ${row.description ?? ""}`.toLowerCase().includes(term.toLowerCase());
  const source = (term = "") => rows.filter((row) => holds(row, term));
  return orLeft(search({ message: wrapped(question), pageSize: 10, source, theme: pickerTheme }, contextOf(signal)));
}

/** "": the person left it. */
export async function secret(question: string, signal?: AbortSignal): Promise<string> {
  const { password } = await import("@inquirer/prompts");
  return (
    (await orLeft(password({ message: wrapped(question), mask: "*", toggleMask: false }, contextOf(signal)))) ?? ""
  );
}

const wrapped = (question: string): string => wrap(clean(question.trim()), terminalColumns() - 3).join("\n");
const contextOf = (signal: AbortSignal | undefined) => ({ output: process.stderr, ...(signal && { signal }) });

/** Ctrl+C means no. */
const orLeft = <T>(answered: Promise<T>): Promise<T | undefined> =>
  answered.catch((error) => {
    if (/^(ExitPromptError|AbortPromptError)$/.test(error.name)) return undefined;
    throw error;
  });
