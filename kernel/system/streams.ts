// Where zz reads and writes: the process's streams and environment, or those that a program or a
// test passes in.
import fs from "node:fs";
import os from "node:os";
import type { Io } from "../contract.ts";
import { codeOf } from "../text/faults.ts";
import { veil } from "../text/secrets.ts";
import { clean, cleanRendered } from "../text/show-safely.ts";
import { tryTo } from "../text/words.ts";
import { fileFault } from "./atomic-write.ts";

/** Those of this process. stdin opens at the first access, since that takes a while. */
export const processIo = (): Io => ({
  get stdin() {
    return (ownStdin ??= isDevNull(0) ? emptyStream() : process.stdin);
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: () => process.cwd(),
  enter: (newFolder) => process.chdir(newFolder),
  console,
});

/** Opening /dev/null takes 3 ms, the loading of Node's streams of files and of readline. */
let ownStdin: Io["stdin"] | undefined;
const emptyStream = () =>
  Object.assign(process.getBuiltinModule("node:stream").Readable.from([]), { fd: 0 });
function isDevNull(descriptor: number): boolean | undefined {
  return tryTo(() => {
    const streamStat = fs.fstatSync(descriptor);
    return streamStat.isCharacterDevice() && streamStat.rdev === fs.statSync(os.devNull).rdev;
  });
}

/** Writes to stderr, for the person; on a terminal lines are wrapped at words. */
export const say = (io: Io, messageText: string): void =>
  void io.stderr.write(`${wrapForTerminal(io, clean(veil(messageText)))}\n`);

/** Wraps at words if it is a terminal; what is left of an indented line goes further in. */
export function wrapForTerminal({ stderr }: Io, messageText: string): string {
  if (!stderr.isTTY) return messageText;
  const lineWidth = stderr.columns ?? 80;
  const wrapLine = (longLine: string, hang: string): string => {
    const breakAt = longLine.length > lineWidth ? longLine.lastIndexOf(" ", lineWidth) : -1;
    return breakAt < lineWidth / 3
      ? longLine
      : `${longLine.slice(0, breakAt)}\n${wrapLine(hang + longLine.slice(breakAt + 1), hang)}`;
  };
  return messageText.replace(/^( *).+$/gm, (line, indent) =>
    wrapLine(line, indent && indent.length < lineWidth / 4 - 1 ? `${indent}  ` : ""),
  );
}

/** Prints a rendered answer; its colours and links stay. */
export const printAnswer = (io: Io, answerText: string): Promise<void> =>
  print(io, answerText, cleanRendered);

/**
 * Writes everything to stdout, however slow the reader is. A closed pipe is not an error: the
 * reader has what it wanted.
 */
export function print(
  { stdout, clean: isClean }: Io,
  answerText: string,
  cleanText = clean,
): Promise<void> {
  const shownText = stdout.isTTY || isClean ? cleanText(veil(answerText)) : veil(answerText);
  return new Promise((resolve, reject) =>
    stdout.write(
      !shownText || shownText.endsWith("\n") ? shownText : `${shownText}\n`,
      (writeError) => {
        if (!writeError || codeOf(writeError) === "EPIPE") resolve();
        else reject(fileFault("write the answer to", "stdout", writeError));
      },
    ),
  );
}
