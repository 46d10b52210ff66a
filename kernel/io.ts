// Where zz reads and writes: the process's own streams and environment, or those that a program or a test hands in.
import type { Io } from "./contract.ts";
import { fileFault } from "./disk.ts";
import { codeOf } from "./faults.ts";
import { veil } from "./secrets.ts";
import { clean, cleanRendered } from "./text.ts";

/** Those of this process. stdin is opened at the first look at it, which takes a while. */
export const processIo = (): Io => ({
  get stdin() {
    return process.stdin;
  },
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: () => process.cwd(),
  enter: (folder) => process.chdir(folder),
  console,
});

/** To the person, on stderr; on a terminal lines end between words. */
export const say = (io: Io, text: string): void => void io.stderr.write(`${wrapForTerminal(io, clean(veil(text)))}\n`);

/** With lines that end between words, where it is a terminal. */
export function wrapForTerminal({ stderr }: Io, text: string): string {
  const width = stderr.isTTY ? (stderr.columns ?? 80) : Number.POSITIVE_INFINITY;
  const wrap = (line: string, at = line.length > width ? line.lastIndexOf(" ", width) : -1): string =>
    at < width / 3 ? line : `${line.slice(0, at)}\n${wrap(line.slice(at + 1))}`;
  const lines = text.split("\n").map((line) => wrap(line));
  return lines.join("\n");
}

/** An answer, as it was rendered: its colours and links stay. */
export const printAnswer = (io: Io, text: string): Promise<void> => print(io, text, cleanRendered);

/** All of it on stdout, also when the other end is slow. A closed pipe is not an error: the reader has what it wanted. */
export function print({ stdout }: Io, text: string, tidy = clean): Promise<void> {
  const shown = stdout.isTTY ? tidy(veil(text)) : veil(text);
  return new Promise((done, failed) =>
    stdout.write(shown.endsWith("\n") ? shown : `${shown}\n`, (error) => {
      if (!error || codeOf(error) === "EPIPE") done();
      else failed(fileFault("write the answer to", "stdout", error));
    }),
  );
}
