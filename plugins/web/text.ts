// Finds out the kind and encoding of an answer, and its text. Pages and PDFs are read in a thread with limits on memory
// and time, since some are made to use up both.
import fs from "node:fs";
import { Worker } from "node:worker_threads";
import { fault, tryTo } from "zz/text";
import type { Order, Outcome } from "./worker.ts";

export type Kind = "page" | "pdf" | "json" | "text";
export interface Source {
  bytes: Buffer;
  kind: Kind;
  type: string;
  url: string;
}
export type Read = { text: string; title: string; cut: string };

const MAX_THREAD_MB = 26;
const MAX_PDF_THREAD_MB = 128;
const THREAD_SECONDS = 15;
const MAX_PAGE_CHARS = 200_000; // of HTML that is parsed, without scripts and styles
const MAX_TAG_CHARS = 20_000;
const MAX_DEPTH = 1_000;

/** The kind, by the server's type or else by the first bytes; undefined if it holds no text. */
export function kindOf(type: string, bytes: Buffer): Kind | undefined {
  const [name = ""] = type.toLowerCase().split(";");
  const plain = name.trim();
  const start = bytes.subarray(0, 1_024).toString("latin1");
  if (/^[\s\S]{0,100}%PDF-/.test(start)) return "pdf";
  if (plain === "application/pdf")
    throw fault("Cannot read it: it is called a PDF and is not one. Look for another source.");
  if (/^(text\/html|application\/xhtml\+xml)$/.test(plain)) return "page";
  if (!/^text\/(?!plain)/.test(plain) && /^\s*(<!--[\s\S]*?-->\s*)?<(!doctype html|html)\b/i.test(start)) return "page";
  if (/^application\/json$|\+json$/.test(plain)) return "json";
  return /^text\//.test(plain) || isText(bytes) ? "text" : undefined;
}

function isText(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 4_096);
  return /^\xff\xfe|^\xfe\xff/.test(start.toString("latin1", 0, 2)) || !start.includes(0);
}

export async function textFrom(source: Source, signal: AbortSignal): Promise<Read> {
  const { kind, bytes, type, url } = source;
  if (kind === "pdf") return inThread({ kind, bytes: Uint8Array.from(bytes), url }, signal);
  const text = decoded(bytes, type, kind);
  if (kind !== "page") return { text: text.trim(), title: "", cut: "" };
  const all = withoutScripts(text);
  const html = all.slice(0, MAX_PAGE_CHARS);
  const cut = html.length < all.length ? `Only the first ${MAX_PAGE_CHARS} characters of the page were read.` : "";
  try {
    if (depthOf(html) > MAX_DEPTH) throw fault("it is nested too deeply");
    return { ...(await inThread({ kind, html, url }, signal)), cut };
  } catch (error) {
    signal.throwIfAborted();
    return {
      text: bareText(html),
      title: "",
      cut: `It could not be read as a page (${(error as Error).message}): this is its bare text.`,
    };
  }
}

/** Decodes by byte order mark, the server's header or the page's own; else as UTF-8 if valid, or as windows-1252. */
function decoded(bytes: Buffer, type: string, kind: Kind): string {
  const start = bytes.subarray(0, 2_048).toString("latin1");
  const mark = start.startsWith("\xef\xbb\xbf")
    ? "utf-8"
    : start.startsWith("\xff\xfe")
      ? "utf-16le"
      : start.startsWith("\xfe\xff")
        ? "utf-16be"
        : "";
  const inHeader = /charset\s*=\s*["']?([\w.:-]+)/i.exec(type)?.[1];
  const inPage =
    kind === "page"
      ? /<(?:meta\b[^>]*?charset|\?xml[^>]*?encoding)\s*=\s*["']?([\w.:-]+)/i.exec(start)?.[1]
      : undefined;
  for (const name of [mark, inHeader, inPage]) {
    const decoder = name ? tryTo(() => new TextDecoder(name)) : undefined;
    if (decoder) return decoder.decode(bytes);
  }
  const whole = bytes.subarray(0, lastWhole(bytes));
  return (
    tryTo(() => new TextDecoder("utf-8", { fatal: true }).decode(whole)) ??
    new TextDecoder("windows-1252").decode(bytes)
  );
}

/** The end of the last whole character, in case the bytes were cut in the middle of one. */
function lastWhole(bytes: Buffer): number {
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 4); at--) {
    const byte = bytes[at]!;
    if (byte < 0x80) return at + 1;
    if (byte >= 0xc0) return at + (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) <= bytes.length ? bytes.length : at;
  }
  return bytes.length;
}

function inThread(order: Order, signal: AbortSignal): Promise<Read> {
  const { promise, resolve, reject } = Promise.withResolvers<Read>();
  const limits = {
    maxOldGenerationSizeMb: order.kind === "pdf" ? MAX_PDF_THREAD_MB : MAX_THREAD_MB,
    maxYoungGenerationSizeMb: 2,
    stackSizeMb: 4,
  };
  const thread = new Worker(workerFile(), {
    execArgv: [],
    workerData: order,
    resourceLimits: limits,
    stdout: true,
    stderr: true,
  });
  const stop = () => reject(signal.reason);
  const late = setTimeout(
    () => reject(fault(`reading it took longer than ${THREAD_SECONDS} s`)),
    THREAD_SECONDS * 1000,
  );
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  thread.on("message", ({ read, failure }: Outcome) =>
    read ? resolve({ ...read, cut: "" }) : reject(fault(failure ?? "")),
  );
  thread.on("error", (error: NodeJS.ErrnoException) =>
    reject(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? fault("reading it takes too much memory") : error),
  );
  thread.on("exit", () => reject(fault("what reads it ended")));
  return promise.finally(() => {
    clearTimeout(late);
    signal.removeEventListener("abort", stop);
    return thread.terminate();
  });
}

/** The worker's file: next to this one in the source, next to the kernel in dist/. */
function workerFile(): URL {
  const places = ["./worker.ts", "./web-worker.js", "../web-worker.js"].map((at) => new URL(at, import.meta.url));
  return places.find((place) => fs.existsSync(place))!;
}

/** Tags and the text between them, in one pass, without comments, scripts and the like. */
function* piecesOf(html: string): Generator<string> {
  const lower = html.toLowerCase();
  for (let at = 0; at < html.length; ) {
    const tag = html.indexOf("<", at);
    if (tag !== at) yield html.slice(at, tag < 0 ? html.length : tag);
    if (tag < 0) return;
    const [, silent] = /^<(script|style|noscript|template|svg)\b/.exec(lower.slice(tag, tag + 10)) ?? [];
    const isComment = html.startsWith("<!--", tag);
    const end = isComment ? html.indexOf("-->", tag) : silent ? lower.indexOf(`</${silent}`, tag) : tag;
    const close = end < 0 ? -1 : html.indexOf(">", end);
    if (close < 0) return;
    if (!silent && !isComment) yield html.slice(tag, close + 1);
    at = close + 1;
  }
}

/** A page without its scripts and styles, which often are most of it. */
function withoutScripts(html: string): string {
  const pieces: string[] = [];
  let size = 0;
  for (const piece of piecesOf(html)) {
    pieces.push(piece.length > MAX_TAG_CHARS && piece.startsWith("<") ? " " : piece); // an inline image
    size += piece.length;
    if (size > MAX_PAGE_CHARS) break;
  }
  return pieces.join("");
}

/** About how deeply the HTML is nested, counting only tags that are normally closed. */
function depthOf(html: string): number {
  let [depth, most] = [0, 0];
  for (const piece of piecesOf(html)) {
    if (!NESTS.test(piece)) continue;
    depth += piece[1] === "/" ? -1 : 1;
    most = Math.max(most, depth);
  }
  return most;
}
const NESTS = /^<\/?(div|span|section|article|main|table|ul|ol|dl|blockquote|a|b|i|u|em|strong|font|small|code|pre)\b/i;

/** The text between tags, without parsing a tree. */
function bareText(html: string): string {
  const pieces = Array.from(piecesOf(html), (piece) =>
    !/^<[!/a-z]/i.test(piece) ? piece : BLOCK.test(piece) ? "\n" : " ",
  );
  const text = pieces.join("").replace(/&(nbsp|amp|lt|gt|quot|#39);/g, (whole, name) => ENTITIES[name] ?? whole);
  return text
    .replace(/[^\S\n]+/g, " ")
    .replace(/ ?\n\s*/g, "\n")
    .trim();
}
const BLOCK = /^<\/?(p|div|br|li|tr|h\d|section|article|pre|table|ul|ol)\b/i;
const ENTITIES: Record<string, string> = { nbsp: " ", amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
