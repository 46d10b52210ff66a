// Errors as sentences: what could not be done, why, and what to do next.
import { constants } from "node:os";
import { inspect } from "node:util";
import type { Fault } from "../contract.ts";
import errors from "./errors.json" with { type: "json" };

export const fault = (message: string, fields: Partial<Fault> = {}): Fault =>
  Object.assign(new Error(message), fields);
// wrong usage: the program ends with exit code 2
export const usage = (message: string): Fault => fault(message, { exit: 2 });

/** The kind of an error, for programs: from its exit code, or from what failed. */
export const kindOf = ({ exit = 1, kind: faultKind }: Partial<Fault>): string =>
  exit === 1 ? (faultKind ?? "failed") : (["usage", "limit", "refused"][exit - 2] ?? "stopped");

/** Turns whatever was thrown into an Error that can carry more fields. */
export function asFault(thrown: unknown, nothing = "It threw, and did not say what."): Fault {
  if (thrown instanceof Error && Object.isExtensible(thrown)) return thrown;
  const cause = (thrown as Partial<Error> | undefined)?.message ?? thrown ?? nothing;
  return fault(typeof cause === "string" ? cause : inspect(cause));
}

/**
 * The code of a system error, such as ENOENT; "" for other errors. Some, as of network disks, Node
 * has no name for.
 */
export function codeOf(error: unknown): string {
  const { code = "", errno = 0 } = (error ?? {}) as NodeJS.ErrnoException;
  return String(code).startsWith("Unknown system error")
    ? (ERROR_NUMBERS.find(([, number]) => number === -errno)?.[0] ?? code)
    : code;
}
const ERROR_NUMBERS = Object.entries(constants.errno);

/** Why the disk refused and what to do next; "" for an error that is not from the disk. */
export const errnoSentence = (error: unknown): string =>
  (errors.disk as Record<string, string>)[codeOf(error)] ?? "";
/** What an error says to a person: what Node itself threw is put in words. */
export function sentenceOf(error: unknown): string {
  const { message, syscall = "", path } = asFault(error) as NodeJS.ErrnoException;
  if (message.includes("without null bytes"))
    return "Cannot use a name or an argument with a NUL character in it. Leave it out.";
  const reason = /^\w+$/.test(syscall) && errnoSentence(error);
  return reason
    ? `Cannot ${syscall === "spawn" ? "start it" : syscall}${path ? ` '${path}'` : ""}: ${reason}`
    : message;
}
