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
export function readRow(root: string, filePath: string, earlier?: Entry): Row | undefined {
  const startTime = Date.now();
  const absolutePath = path.join(root, filePath);
  let fileStats: fs.Stats | undefined;
  let fd: number | undefined;
  try {
    fileStats = fs.lstatSync(absolutePath);
    if (!fileStats.isFile()) return undefined;
    fd = fs.openSync(absolutePath, OPEN_FLAGS);
    fileStats = fs.fstatSync(fd);
    if (!isStillAt(fd, absolutePath)) return undefined; // replaced by a link since it was checked
    const isTooLarge = fileStats.size > (CODE.test(filePath) ? MAX_FILE_BYTES : MAX_PROSE_BYTES);
    const fileBytes = isTooLarge ? undefined : fs.readFileSync(fd);
    const hash = fileBytes ? crypto.hash("sha256", fileBytes).slice(0, 32) : `${fileStats.size}`;
    const mtime = fileStats.mtimeMs > startTime - CLOCK_TICK_MS ? -1 : fileStats.mtimeMs;
    const rowHead = { path: filePath, mtime, ctime: fileStats.ctimeMs, size: fileStats.size, hash };
    if (earlier?.hash === hash && fileBytes) return { ...rowHead, text: NO_TEXT };
    if (!fileBytes)
      return { ...rowHead, text: unreadRow(`${(fileStats.size / 1e6).toFixed(1)} MB`) };
    const { text, retry } = encodeRow(filePath, fileBytes);
    return retry ? { ...rowHead, mtime: -1, hash: "", text } : { ...rowHead, text };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || !fileStats) return undefined;
    const rowHead = {
      path: filePath,
      mtime: fileStats.mtimeMs,
      ctime: fileStats.ctimeMs,
      size: fileStats.size,
      hash: "",
    };
    return { ...rowHead, text: unreadRow(code ?? String(error)) };
  } finally {
    if (fd !== undefined) fs.closeSync(fd);
  }
}

const unreadRow = (reason: string) => pack(unreadFacts(reason), NO_TEXT);

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants; // Windows has only the first
const OPEN_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/**
 * The same safety as ctx.files.open(), which is not available here: a worker process has no ctx.
 */
function isStillAt(fd: number, absolutePath: string): boolean {
  if (process.platform !== "linux")
    return (
      fs.realpathSync.native(absolutePath) === absolutePath &&
      fs.lstatSync(absolutePath).ino === fs.fstatSync(fd).ino
    );
  return fs.readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, "") === absolutePath;
}

/**
 * The words count also where a text is not parsed: in another encoding, or in no language that the
 * parser knows.
 */
function encodeRow(
  filePath: string,
  fileBytes: Buffer,
): { text: Buffer; retry?: boolean | undefined } {
  const fileText = textIn(fileBytes);
  if (fileText === undefined) return { text: unreadRow("binary") };
  if (languageOf(filePath)) {
    const { retry, ...facts } = scanLanguage(filePath, fileText);
    return { text: pack(facts, facts.unread === "minified" ? NO_TEXT : bagOf(fileText)), retry };
  }
  const isPlain = isUtf8(fileBytes);
  if (CODE.test(filePath) && isPlain) {
    const scannedFacts = scan(filePath, fileText);
    // minified: nobody wrote it
    return { text: pack(scannedFacts, scannedFacts.unread ? NO_TEXT : bagOf(fileText)) };
  }
  const basicFacts: Facts = CODE.test(filePath) ? unreadFacts("not UTF-8") : emptyFacts();
  if (isMarkedGenerated(fileText)) basicFacts.made = true;
  return { text: pack(basicFacts, bagOf(fileText)) };
}
