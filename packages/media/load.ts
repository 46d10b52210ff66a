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
  sizeInWords,
  usage,
} from "zz/text";
import type { Attachment } from "./index.ts";

const FETCH_LIMIT_MS = 60_000;
const STDIN_WAIT_SECONDS = 30;
const MEGABYTE = 1024 * 1024;
const UNKNOWN = "it is no image, PDF or sound that zz knows. -f FILE attaches a text";

export async function load(zz: Zz, source: string): Promise<Attachment> {
  const refuse = (reason: string) => usage(`Cannot attach '${zz.veil(source)}': ${reason}`);
  if (!source) throw refuse("it names no file. Give a file, a URL, or - for the pipe.");
  try {
    const loadedMedia = await mediaAt(zz, source);
    if (!loadedMedia) throw refuse(`${UNKNOWN}.`);
    const mediaName =
      source === "-" ? "the pipe" : path.basename(source.replace(/[?#].*$/, "")) || source;
    return attachmentOf(mediaName, loadedMedia);
  } catch (error) {
    const { exit, kind, message } = error as Fault;
    if (exit) throw error;
    const loadFailure = refuse(errnoSentence(error) || message);
    throw kind ? fault(loadFailure.message, { kind }) : loadFailure;
  }
}

export const attachmentOf = (
  mediaName: string,
  { type, base64, bytes, width, height }: MediaFile,
): Attachment => ({
  label: [
    `${mediaName} (${type}`,
    ...(width && height ? [`${width} × ${height}`] : []),
    `${sizeInWords(bytes)})`,
  ].join(", "),
  what: { type, base64 },
});

async function mediaAt(zz: Zz, source: string): Promise<MediaFile | undefined> {
  if (source === "-") return mediaIn(await fromPipe(zz));
  if (/^https?:\/\//i.test(source)) return mediaIn(await fromUrl(zz, source));
  const descriptor = openSync(
    path.resolve(zz.io.cwd(), source),
    constants.O_RDONLY | (constants.O_NONBLOCK ?? 0),
  ); // a FIFO holds nobody up
  try {
    return readMedia(descriptor);
  } finally {
    closeSync(descriptor);
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
  let stdinSize = 0;
  const stopReading = (reason: string) => {
    stdin.destroy?.();
    reject(new Error(reason));
  };
  const silenceReason =
    `nothing came on stdin for ${seconds} s. ` +
    "ZZ_STDIN_WAIT=SECONDS waits longer (0: no limit).";
  let cancelTimer = () => {};
  const waitForMore = () => {
    cancelTimer();
    if (seconds) cancelTimer = clock.timer(seconds * 1000, () => stopReading(silenceReason));
  };
  waitForMore();
  stdin.on("data", (piece: Buffer) => {
    waitForMore();
    pieces.push(Buffer.from(piece));
    stdinSize += piece.length;
    if (stdinSize > MAX_MEDIA_BYTES) stopReading(tooLarge());
  });
  stdin.on("end", () => resolve(Buffer.concat(pieces))).on("error", reject);
  const bytes = await promise.finally(() => cancelTimer());
  if (!bytes.length) throw new Error("nothing came through the pipe. Give it a file: < photo.png");
  return bytes;
}

async function fromUrl(zz: Zz, sourceUrl: string): Promise<Uint8Array> {
  if (!URL.canParse(sourceUrl)) throw new Error("it is not a URL. Check it.");
  let isJudged = false;
  zz.wrap("fetch", async (request, runNext, { permissions }) => {
    if (isJudged || request.url !== sourceUrl) return runNext(request);
    isJudged = true;
    const { hostname } = new URL(sourceUrl);
    const { verdict, why } = permissions.judge("net", hostname);
    if (verdict === "deny")
      throw fault(`Cannot attach '${sourceUrl}': reaching '${hostname}' is denied ${why}.`, {
        exit: 4,
      });
    return runNext(request);
  });
  try {
    return await download(zz, sourceUrl);
  } catch (error) {
    const { exit, kind = "network", status = 0, message } = error as Fault;
    // what was named may be wrong, or too large; what a server or the way there does is not
    const isNamed = exit || error instanceof TooLarge || (status >= 400 && status < 500);
    throw isNamed ? Object.assign(error as Fault, { kind: undefined }) : fault(message, { kind });
  }
}

async function download(zz: Zz, sourceUrl: string): Promise<Uint8Array> {
  const response = await zz.fetch(sourceUrl, {
    signal: AbortSignal.any([zz.signal, zz.io.clock.limit(FETCH_LIMIT_MS)]),
  });
  if (Number(response.headers.get("content-length") ?? 0) > MAX_MEDIA_BYTES)
    throw new TooLarge(tooLarge());
  const pieces: Uint8Array[] = [];
  let bodySize = 0;
  for await (const piece of response.body) {
    pieces.push(piece);
    bodySize += piece.length;
    if (bodySize > MAX_MEDIA_BYTES) throw new TooLarge(tooLarge());
  }
  return Buffer.concat(pieces);
}

class TooLarge extends Error {}
const tooLarge = (): string =>
  `it has more than ${MAX_MEDIA_BYTES / MEGABYTE} MB. Make it smaller.`;
