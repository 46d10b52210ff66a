// What is asked: the words of the command line, what comes on stdin, and attached files.
import fs from "node:fs";
import path from "node:path";
import type { Fault, Image, Io } from "../contract.ts";
import { fencedBlock } from "../conversation/system-prompt.ts";
import { fileFault } from "../system/atomic-write.ts";
import { MAX_READ_BYTES } from "../system/file-state.ts";
import { say } from "../system/streams.ts";
import { clockOf } from "../text/clock.ts";
import { codeOf, usage } from "../text/faults.ts";
import { visible } from "../text/show-safely.ts";
import { allValues, type CommandLine } from "./parse-flags.ts";

/**
 * What the person asked and attached. `typed`: the words were typed, so that a slash is a command
 * and an @ a file.
 */
export type FirstMessage = { words: string; attached: (Image | string)[]; typed: boolean };

/** Puts the prompt together: piped text, attached files, and the words. */
export async function readPrompt(
  cli: CommandLine,
  stdinText: string,
  io: Io,
): Promise<FirstMessage> {
  const typedWords = cli.words.filter((typedWord) => typedWord !== "-").join(" ");
  const attachments = await Promise.all(
    allValues(cli, "file").map((fileName) => readAttachment(fileName, io.cwd())),
  );
  const stdinBlock =
    typedWords && stdinText.trim() ? [fencedBlock("STDIN", stdinText.trimEnd())] : [];
  const attached = [
    ...stdinBlock,
    ...attachments.flatMap(({ text = [], image = [] }) => [text, image].flat()),
  ];
  return { words: typedWords || stdinText.trimEnd(), attached, typed: Boolean(typedWords) };
}

export async function readAttachment(
  fileName: string,
  cwd: string,
): Promise<{ text?: string; image?: Image }> {
  const filePath = path.resolve(cwd, fileName);
  const refuseFile = (reason: string) => usage(`Cannot attach '${fileName}': ${reason}.`);
  const fileBytes = await readAll().catch((error) =>
    Promise.reject(codeOf(error) ? fileFault("attach", fileName, error, { exit: 2 }) : error),
  );
  const imageKind = /\.(png|jpe?g|webp|gif)$/i
    .exec(fileName)?.[1]
    ?.toLowerCase()
    .replace("jpg", "jpeg");
  if (imageKind)
    return { image: { type: `image/${imageKind}`, base64: fileBytes.toString("base64") } };
  if (!fileBytes.subarray(0, 8192).includes(0))
    return { text: fencedBlock(`FILE ${visible(fileName)}`, fileBytes.toString("utf8").trimEnd()) };
  throw refuseFile("it is neither text nor an image. -a FILE attaches a PDF or a sound");

  async function readAll(): Promise<Buffer> {
    const fileStat = await fs.promises.stat(filePath);
    if (!fileStat.isFile() && !fileStat.isFIFO() && !fileStat.isDirectory())
      throw refuseFile("it is a device. Name a file");
    return readUpTo(fs.createReadStream(filePath), MAX_READ_BYTES / 2 ** 20, (maxMb) =>
      refuseFile(`it is over ${maxMb} MB. Cut it down first`),
    );
  }
}

async function readUpTo(
  inputStream: AsyncIterable<Buffer | string>,
  maxMb: number,
  tooMuch: (megabytes: number) => Fault,
  noteArrival?: () => void,
) {
  const pieces: Buffer[] = [];
  let remaining = (maxMb || Number.POSITIVE_INFINITY) * 2 ** 20;
  for await (const piece of inputStream) {
    noteArrival?.();
    remaining -= piece.length;
    if (remaining < 0) throw tooMuch(maxMb);
    pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces);
}

/** All that comes on stdin, 64 MB at most (ZZ_STDIN_LIMIT). */
export async function readAllStdin({ stdin, env }: Io, noteArrival?: () => void): Promise<string> {
  const remedy = "Cut it down first; ZZ_STDIN_LIMIT=MB takes more (0: no limit)";
  const tooMuch = (maxMb: number) =>
    usage(`Cannot take what comes on stdin: it is more than ${maxMb} MB. ${remedy}.`);
  return (await readUpTo(stdin, Number(env.ZZ_STDIN_LIMIT ?? 64), tooMuch, noteArrival)).toString(
    "utf8",
  );
}

/** Seconds to wait for the first byte: of a pipe, and of a socket where words are given. */
const [PIPE_WAIT, SOCKET_WAIT] = [30, 5];
/**
 * Reads stdin; the result waits for all of it. A silent pipe is reported after 2 s of waiting,
 * given up after 30 s (ZZ_STDIN_WAIT). A silent socket is what Node and others give a program for
 * which they have no input: with words on the command line, zz answers these.
 */
export function startReadingStdin(cli: CommandLine, io: Io): () => Promise<string> {
  if (
    cli.values.has("no-stdin") ||
    !io.stdin.readable ||
    (io.stdin.isTTY && !cli.words.includes("-"))
  )
    return async () => "";
  const clock = clockOf(io);
  let isSilent = true;
  let restartTimer = () => {};
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const noteArrival = () => {
    isSilent = false;
    restartTimer();
  };
  // a folder, for instance, gives nothing
  readAllStdin(io, noteArrival).then(resolve, (error) =>
    codeOf(error) ? resolve("") : reject(error),
  );
  promise.catch(() => {}); // it may fail before anybody waits for it
  return async () => {
    const { fd } = io.stdin as { fd?: number };
    const stdinStat = fd === undefined ? undefined : fs.fstatSync(fd);
    const canGoWithout =
      Boolean(stdinStat?.isSocket()) && cli.words.length > 0 && !cli.words.includes("-");
    const waitMs = Number(io.env.ZZ_STDIN_WAIT ?? (canGoWithout ? SOCKET_WAIT : PIPE_WAIT)) * 1000;
    if (stdinStat && !stdinStat.isFIFO() && !stdinStat.isSocket()) return promise;
    const cancelNote = clock.timer(
      2_000,
      () => isSilent && say(io, "Waiting for stdin; --no-stdin leaves it alone."),
    );
    let cancelWait = () => {};
    restartTimer = () => {
      cancelWait();
      if (waitMs)
        cancelWait = clock.timer(waitMs, () =>
          (canGoWithout && isSilent ? goWithout : giveUp)(waitMs / 1000),
        );
    };
    restartTimer();
    return promise.finally(() => {
      cancelNote();
      cancelWait();
    });
  };

  function goWithout(seconds: number): void {
    say(io, `Nothing came on stdin for ${seconds} s: answering without it.`);
    resolve("");
    io.stdin.destroy?.();
  }
  function giveUp(seconds: number): void {
    const remedy =
      "Close it, add </dev/null, or use --no-stdin; " +
      "ZZ_STDIN_WAIT=SECONDS waits longer (0: no limit)";
    reject(usage(`Nothing came on stdin for ${seconds} s, and it is still open. ${remedy}.`));
    io.stdin.destroy?.();
  }
}
