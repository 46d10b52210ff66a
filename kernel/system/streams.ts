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
  enter: (folder) => process.chdir(folder),
  console,
});

/** Opening /dev/null takes 3 ms, the loading of Node's streams of files and of readline. */
let ownStdin: Io["stdin"] | undefined;
const emptyStream = () =>
  Object.assign(process.getBuiltinModule("node:stream").Readable.from([]), { fd: 0 });
function isDevNull(fd: number): boolean | undefined {
  return tryTo(() => {
    const stat = fs.fstatSync(fd);
    return stat.isCharacterDevice() && stat.rdev === fs.statSync(os.devNull).rdev;
  });
}

/** Writes to stderr, for the person; on a terminal lines are wrapped at words. */
export const say = (io: Io, text: string): void =>
  void io.stderr.write(`${wrapForTerminal(io, clean(veil(text)))}\n`);

/** Wraps at words if it is a terminal. */
export function wrapForTerminal({ stderr }: Io, text: string): string {
  const width = stderr.isTTY ? (stderr.columns ?? 80) : Number.POSITIVE_INFINITY;
  const wrap = (
    line: string,
    breakAt = line.length > width ? line.lastIndexOf(" ", width) : -1,
  ): string =>
    breakAt < width / 3 ? line : `${line.slice(0, breakAt)}\n${wrap(line.slice(breakAt + 1))}`;
  const lines = text.split("\n").map((line) => wrap(line));
  return lines.join("\n");
}

/** Prints a rendered answer; its colours and links stay. */
export const printAnswer = (io: Io, text: string): Promise<void> => print(io, text, cleanRendered);

/**
 * Writes everything to stdout, however slow the reader is. A closed pipe is not an error: the
 * reader has what it wanted.
 */
export function print({ stdout, clean: isClean }: Io, text: string, tidy = clean): Promise<void> {
  const shown = stdout.isTTY || isClean ? tidy(veil(text)) : veil(text);
  return new Promise((done, failed) =>
    stdout.write(!shown || shown.endsWith("\n") ? shown : `${shown}\n`, (error) => {
      if (!error || codeOf(error) === "EPIPE") done();
      else failed(fileFault("write the answer to", "stdout", error));
    }),
  );
}
