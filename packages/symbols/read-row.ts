// Reads a file and makes its row of the index. Runs in worker processes, and in the main process
// for a few files.
import { isUtf8 } from "node:buffer";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { CODE } from "./code-files.ts";
import { textIn } from "./encoding.ts";
import { scanLanguage } from "./languages/scan.ts";
import { languageOf } from "./languages/table.ts";
import { type Entry, pack, type Row } from "./rows.ts";
import { emptyFacts, type Facts, unreadFacts } from "./scan/facts.ts";
import { isMarkedGenerated } from "./scan/generated-files.ts";
import { bagOf } from "./scan/word-bag.ts";
import { scan } from "./scan.ts";

const MAX_FILE_BYTES = 1_000_000; // bytes; nobody wrote a larger file by hand
const MAX_PROSE_BYTES = 250_000; // of a file that is no code
const NO_TEXT = Buffer.alloc(0);
// ms: a file's time says nothing about changes within the same tick of the clock
const CLOCK_TICK_MS = 50;

/**
 * Undefined if the file is missing or a link, since a link's target is indexed under its own name,
 * if it may be read. With `known`, a file with unchanged content keeps its row: the text is empty.
 */
export function readRow(root: string, name: string, earlier?: Entry): Row | undefined {
  const startTime = Date.now();
  const file = path.join(root, name);
  let stat: fs.Stats | undefined;
  let fd: number | undefined;
  try {
    stat = fs.lstatSync(file);
    if (!stat.isFile()) return undefined;
    fd = fs.openSync(file, OPEN_FLAGS);
    stat = fs.fstatSync(fd);
    if (!isStillAt(fd, file)) return undefined; // replaced by a link since it was checked
    const large = stat.size > (CODE.test(name) ? MAX_FILE_BYTES : MAX_PROSE_BYTES);
    const bytes = large ? undefined : fs.readFileSync(fd);
    const hash = bytes ? crypto.hash("sha256", bytes).slice(0, 32) : `${stat.size}`;
    const mtime = stat.mtimeMs > startTime - CLOCK_TICK_MS ? -1 : stat.mtimeMs;
    const rowHead = { path: name, mtime, ctime: stat.ctimeMs, size: stat.size, hash };
    if (earlier?.hash === hash && !large) return { ...rowHead, text: NO_TEXT };
    const { text, retry } = bytes ? rowOf(name, bytes) : { text: NO_TEXT };
    if (retry) return { ...rowHead, mtime: -1, hash: "", text };
    return {
      ...rowHead,
      text: bytes ? text : pack(unreadFacts(`${(stat.size / 1e6).toFixed(1)} MB`), NO_TEXT),
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || !stat) return undefined;
    const rowHead = {
      path: name,
      mtime: stat.mtimeMs,
      ctime: stat.ctimeMs,
      size: stat.size,
      hash: "",
    };
    return { ...rowHead, text: pack(unreadFacts(code ?? String(error)), NO_TEXT) };
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants; // Windows has only the first
const OPEN_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/**
 * The same safety as ctx.files.open(), which is not available here: a worker process has no ctx.
 */
function isStillAt(fd: number, file: string): boolean {
  if (process.platform !== "linux")
    return fs.realpathSync.native(file) === file && fs.lstatSync(file).ino === fs.fstatSync(fd).ino;
  return fs.readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, "") === file;
}

/**
 * The words count also where a text is not parsed: in another encoding, or in no language that the
 * parser knows.
 */
function rowOf(name: string, bytes: Buffer): { text: Buffer; retry?: boolean | undefined } {
  const text = textIn(bytes);
  if (text === undefined) return { text: pack(unreadFacts("binary"), NO_TEXT) };
  if (languageOf(name)) {
    const { retry, ...facts } = scanLanguage(name, text);
    return { text: pack(facts, facts.unread === "minified" ? NO_TEXT : bagOf(text)), retry };
  }
  const isPlain = isUtf8(bytes);
  if (CODE.test(name) && isPlain) {
    const facts = scan(name, text);
    return { text: pack(facts, facts.unread ? NO_TEXT : bagOf(text)) }; // minified: nobody wrote it
  }
  const facts: Facts = CODE.test(name) ? unreadFacts("not UTF-8") : emptyFacts();
  if (isMarkedGenerated(text)) facts.made = true;
  return { text: pack(facts, bagOf(text)) };
}
