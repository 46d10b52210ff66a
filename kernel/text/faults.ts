// Errors as sentences: what could not be done, why, and what to do next.
import { constants } from "node:os";
import { inspect } from "node:util";
import type { Fault } from "../contract.ts";
import errors from "./errors.json" with { type: "json" };

export const fault = (message: string, extraFields: Partial<Fault> = {}): Fault =>
  Object.assign(new Error(message), extraFields);
// wrong usage: the program ends with exit code 2
export const usage = (message: string): Fault => fault(message, { exit: 2 });

/** The kind of an error, for programs: from its exit code, or from what failed. */
export const kindOf = ({ exit = 1, kind: faultKind }: Partial<Fault>): string =>
  exit === 1 ? (faultKind ?? "failed") : (["usage", "limit", "refused"][exit - 2] ?? "stopped");

/** Turns whatever was thrown into an Error that can carry more fields. */
export function asFault(thrownValue: unknown, nothing = "It threw, and did not say what."): Fault {
  if (thrownValue instanceof Error && Object.isExtensible(thrownValue)) return thrownValue;
  const cause = (thrownValue as Partial<Error> | undefined)?.message ?? thrownValue ?? nothing;
  return fault(typeof cause === "string" ? cause : inspect(cause));
}

/**
 * The code of a system error, such as ENOENT; "" for other errors. Some, as of network disks, Node
 * has no name for.
 */
export function codeOf(systemError: unknown): string {
  const { code = "", errno = 0 } = (systemError ?? {}) as NodeJS.ErrnoException;
  return String(code).startsWith("Unknown system error")
    ? (ERROR_NUMBERS.find(([, errorNumber]) => errorNumber === -errno)?.[0] ?? code)
    : code;
}
const ERROR_NUMBERS = Object.entries(constants.errno);

/** Why the disk refused and what to do next; "" for an error that is not from the disk. */
export const errnoSentence = (diskError: unknown): string =>
  (errors.disk as Record<string, string>)[codeOf(diskError)] ?? "";
/** What an error says to a person: what Node itself threw is put in words. */
export function sentenceOf(thrownError: unknown): string {
  const { message, syscall = "", path } = asFault(thrownError) as NodeJS.ErrnoException;
  if (message.includes("without null bytes"))
    return "Cannot use a name or an argument with a NUL character in it. Leave it out.";
  const diskReason = /^\w+$/.test(syscall) && errnoSentence(thrownError);
  return diskReason
    ? `Cannot ${syscall === "spawn" ? "start it" : syscall}${path ? ` '${path}'` : ""}: ` +
        diskReason
    : message;
}
