// What -a names: a file, a URL, or the pipe. The person named it, so that it is not asked for; a
// denial of its host counts.
import { closeSync, constants, openSync } from "node:fs";
import path from "node:path";
import type { Fault, Zz } from "zz";
import {
  errnoSentence,
  fault,
  MAX_MEDIA_BYTES,
  type MediaFile,
  mediaIn,
  readMedia,
  usage,
} from "zz/text";
import type { Attachment } from "./index.ts";

const FETCH_LIMIT_MS = 60_000;
const STDIN_WAIT_SECONDS = 30;
const MB = 1024 * 1024;
const UNKNOWN = "it is no image, PDF or sound that zz knows. -f FILE attaches a text";

export async function load(zz: Zz, source: string): Promise<Attachment> {
  const refuse = (reason: string) => usage(`Cannot attach '${zz.veil(source)}': ${reason}`);
  if (!source) throw refuse("it names no file. Give a file, a URL, or - for the pipe.");
  try {
    const media = await mediaAt(zz, source);
    if (!media) throw refuse(`${UNKNOWN}.`);
    const name =
      source === "-" ? "the pipe" : path.basename(source.replace(/[?#].*$/, "")) || source;
    return attachmentOf(name, media);
  } catch (error) {
    const { exit, kind, message } = error as Fault;
    if (exit) throw error;
    const failed = refuse(errnoSentence(error) || message);
    throw kind ? fault(failed.message, { kind }) : failed;
  }
}

export const attachmentOf = (
  name: string,
  { type, base64, bytes, width, height }: MediaFile,
): Attachment => ({
  label: [
    `${name} (${type}`,
    ...(width && height ? [`${width} × ${height}`] : []),
    `${sizeOf(bytes)})`,
  ].join(", "),
  what: { type, base64 },
});

const sizeOf = (bytes: number): string =>
  bytes < MB ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / MB).toFixed(1)} MB`;

async function mediaAt(zz: Zz, source: string): Promise<MediaFile | undefined> {
  if (source === "-") return mediaIn(await fromPipe(zz));
  if (/^https?:\/\//i.test(source)) return mediaIn(await fromUrl(zz, source));
  const fd = openSync(
    path.resolve(zz.io.cwd(), source),
    constants.O_RDONLY | (constants.O_NONBLOCK ?? 0),
  ); // a FIFO holds nobody up
  try {
    return readMedia(fd);
  } finally {
    closeSync(fd);
  }
}

/** What zz itself reads of stdin afterwards is nothing. */
async function fromPipe({ io: { stdin, variable, clock } }: Zz): Promise<Uint8Array> {
  if (stdin.isTTY)
    throw new Error("stdin is a terminal. Pipe it in: zz -a - 'what is this?' < photo.png");
  if (!stdin.readable) throw new Error("stdin was read already. Name - once.");
  const seconds = Number(variable("ZZ_STDIN_WAIT") ?? STDIN_WAIT_SECONDS);
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const pieces: Buffer[] = [];
  let size = 0;
  const stop = (reason: string) => {
    stdin.destroy?.();
    reject(new Error(reason));
  };
  const silent = `nothing came on stdin for ${seconds} s. ZZ_STDIN_WAIT=SECONDS waits longer (0: no limit).`;
  let cancel = () => {};
  const waitForMore = () => {
    cancel();
    if (seconds) cancel = clock.timer(seconds * 1000, () => stop(silent));
  };
  waitForMore();
  stdin.on("data", (piece: Buffer) => {
    waitForMore();
    pieces.push(Buffer.from(piece));
    size += piece.length;
    if (size > MAX_MEDIA_BYTES) stop(tooLarge());
  });
  stdin.on("end", () => resolve(Buffer.concat(pieces))).on("error", reject);
  const bytes = await promise.finally(() => cancel());
  if (!bytes.length) throw new Error("nothing came through the pipe. Give it a file: < photo.png");
  return bytes;
}

async function fromUrl(zz: Zz, source: string): Promise<Uint8Array> {
  if (!URL.canParse(source)) throw new Error("it is not a URL. Check it.");
  let isJudged = false;
  zz.wrap("fetch", async (request, next, { permissions }) => {
    if (isJudged || request.url !== source) return next(request);
    isJudged = true;
    const { hostname } = new URL(source);
    const { verdict, why } = permissions.judge("net", hostname);
    if (verdict === "deny")
      throw fault(`Cannot attach '${source}': reaching '${hostname}' is denied ${why}.`, {
        exit: 4,
      });
    return next(request);
  });
  try {
    return await download(zz, source);
  } catch (error) {
    const { exit, kind = "network", status = 0, message } = error as Fault;
    // what was named may be wrong, or too large; what a server or the way there does is not
    const isNamed = exit || error instanceof TooLarge || (status >= 400 && status < 500);
    throw isNamed ? Object.assign(error as Fault, { kind: undefined }) : fault(message, { kind });
  }
}

async function download(zz: Zz, source: string): Promise<Uint8Array> {
  const answer = await zz.fetch(source, {
    signal: AbortSignal.any([zz.signal, zz.io.clock.limit(FETCH_LIMIT_MS)]),
  });
  if (Number(answer.headers.get("content-length") ?? 0) > MAX_MEDIA_BYTES)
    throw new TooLarge(tooLarge());
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer.body) {
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_MEDIA_BYTES) throw new TooLarge(tooLarge());
  }
  return Buffer.concat(pieces);
}

class TooLarge extends Error {}
const tooLarge = (): string => `it has more than ${MAX_MEDIA_BYTES / MB} MB. Make it smaller.`;
