// Where the index of a project is kept: one file in the home, through lowdb. It consists of pieces:
// the rows of all files with a head that lists them, then the same for each update. It is rewritten
// when the updates have grown to half of it. Rows stay on the disk until they are needed, so that a
// large project costs no memory.
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";
import { LowSync, type SyncAdapter } from "lowdb";
import { compare, makeFolder } from "zz/text";
import type { Kept } from "./resolve.ts";
import type { Entry, Page, Row } from "./rows.ts";

const FORMAT_NAME = "zz index 6"; // raise it whenever rows change in form or meaning
const PREAMBLE_PATTERN = new RegExp(`^${FORMAT_NAME} (\\d+) (\\d+) (\\d+) (\\d+) +\n$`);
const OLDER_FORMAT = /^zz index [1-5] /; // made again without a word
const PREAMBLE = 100; // bytes: the format, two lengths, two checksums, blanks, a line end
const CHUNK_BYTES = 1 << 20;
const ABANDONED_MS = 60_000; // ms

export type StoredRow = Entry & { page: Page; offset: number; length: number };
// the indexed folder ("": everything), and the maximum number of files
export type Scope = { scope: string; most: number };

export interface Data extends Scope {
  files: Map<string, StoredRow>;
  resolved?: Kept | undefined;
  base: number; // bytes of the first piece; 0: there is none yet
  size: number; // bytes of the file
  // what is to be written; undefined: everything
  change?: { rows: Row[]; gone: string[] } | undefined;
}

type ListedFile = [
  name: string,
  mtime: number,
  ctime: number,
  size: number,
  hash: string,
  length: number,
];
type Head = Scope & {
  root: string;
  resolved?: Kept | undefined;
  gone: string[];
  files: ListedFile[];
};

const emptyData = (): Data => ({ scope: "", most: 0, files: new Map(), base: 0, size: 0 });

/** `warn` is called when the saved index cannot be used. */
export function openStore(
  root: string,
  homeFolder: string,
  warn: (warning: string) => void,
): LowSync<Data> {
  const store = new LowSync<Data>(adapter(storeFile(root, homeFolder), root, warn), emptyData());
  store.read();
  return store;
}

/** What past commits say, beside it. */
export const historyFile = (root: string, homeFolder: string): string =>
  storeFile(root, homeFolder).replace(/idx$/, "log");

/** One file per project: two folders of the same name do not share it. */
export function storeFile(root: string, homeFolder: string): string {
  const folderNames = root.split(path.sep).slice(-2).join("-");
  const safeName = folderNames.replace(/[^\w.-]/g, "_").slice(-80);
  return path.join(
    homeFolder,
    "index",
    `${safeName || "root"}-${crypto.hash("sha256", root).slice(0, 12)}.idx`,
  );
}

function adapter(
  indexFile: string,
  root: string,
  warn: (warning: string) => void,
): SyncAdapter<Data> {
  return {
    read() {
      try {
        return parseIndex(closedWhenUnused(fs.openSync(indexFile, "r")), root);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          warn(
            `Cannot use the index of this project: ${(error as Error).message}. It is made again.`,
          );
        return null;
      }
    },
    write(indexData) {
      const { change, base, size } = indexData;
      const isUnchanged = base && fs.lstatSync(indexFile, { throwIfNoEntry: false })?.size === size;
      const newPiece = change && isUnchanged ? changePiece(indexData, root, change) : undefined;
      if (newPiece && (size - base + newPiece.length) * 2 < base) {
        const { O_APPEND, O_NOFOLLOW = 0, O_WRONLY } = fs.constants;
        fs.appendFileSync(indexFile, newPiece, { flag: O_WRONLY | O_APPEND | O_NOFOLLOW } as never);
        indexData.size += newPiece.length;
      } else writeWhole(indexFile, root, indexData);
      indexData.change = undefined;
    },
  };
}

function changePiece(
  indexData: Data,
  root: string,
  { rows, gone }: NonNullable<Data["change"]>,
): Buffer {
  const listedFiles = rows.map((row) => listedFile(row.path, row, row.text.length));
  const pieceHead = encodeHead(indexData, root, listedFiles, gone);
  const rowBytes = Buffer.concat(rows.map(({ text }) => text));
  return Buffer.concat([
    preamble(rowBytes.length, pieceHead.length, zlib.crc32(rowBytes), zlib.crc32(pieceHead)),
    rowBytes,
    pieceHead,
  ]);
}

/** Replaces the old file atomically; a process that has the old one open can go on reading it. */
function writeWhole(indexFile: string, root: string, indexData: Data): void {
  const temporary = `${indexFile}.${process.pid}.${crypto.randomBytes(4).toString("hex")}.tmp`;
  makeFolder(path.dirname(indexFile), 0o700);
  sweepTemporary(indexFile);
  const fd = fs.openSync(temporary, "w+", 0o600);
  try {
    const listedFiles = [...indexData.files].map(([filePath, storedRow]) =>
      listedFile(filePath, storedRow, storedRow.length),
    );
    const pieceHead = encodeHead(indexData, root, listedFiles);
    let [offset, checksum] = [PREAMBLE, 0];
    for (const chunkBytes of readChunks([...indexData.files.values()])) {
      fs.writeSync(fd, chunkBytes, 0, chunkBytes.length, offset);
      checksum = zlib.crc32(chunkBytes, checksum);
      offset += chunkBytes.length;
    }
    fs.writeSync(fd, pieceHead, 0, pieceHead.length, offset);
    fs.writeSync(
      fd,
      preamble(offset - PREAMBLE, pieceHead.length, checksum, zlib.crc32(pieceHead)),
      0,
      PREAMBLE,
      0,
    );
    fs.renameSync(temporary, indexFile);
    indexData.base = indexData.size = offset + pieceHead.length;
    const page = filePage(closedWhenUnused(fd), PREAMBLE);
    offset = 0;
    indexData.files = new Map(
      Array.from(indexData.files, ([filePath, storedRow]) => {
        const rebasedRow = { ...storedRow, page, offset };
        offset += storedRow.length;
        return [filePath, rebasedRow];
      }),
    );
  } catch (error) {
    fs.closeSync(fd);
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/**
 * Removes files that a killed process left half written, unless a living one may still be writing
 * them.
 */
function sweepTemporary(indexFile: string): void {
  const [folder, indexName] = [path.dirname(indexFile), path.basename(indexFile)];
  for (const otherName of fs.readdirSync(folder))
    if (otherName.startsWith(`${indexName}.`) && otherName.endsWith(".tmp")) {
      const temporary = path.join(folder, otherName);
      const { mtimeMs } = fs.statSync(temporary, { throwIfNoEntry: false }) ?? {
        mtimeMs: Date.now(),
      };
      if (Date.now() - mtimeMs > ABANDONED_MS) fs.rmSync(temporary, { force: true });
    }
}

/**
 * All rows in order, in chunks of a good size to write. Each reuses the buffer of the one before.
 */
function* readChunks(entries: StoredRow[]): Generator<Buffer> {
  const chunkBuffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let filledBytes = 0;
  for (const { page, offset, length } of entries) {
    if (filledBytes + length > CHUNK_BYTES) {
      yield chunkBuffer.subarray(0, filledBytes);
      filledBytes = 0;
    }
    if (length > CHUNK_BYTES) yield page.read(offset, length);
    else
      filledBytes += page
        .read(offset, length, chunkBuffer.subarray(filledBytes))
        .copy(chunkBuffer, filledBytes);
  }
  yield chunkBuffer.subarray(0, filledBytes);
}

function encodeHead(
  { scope, most: maxFiles, resolved }: Data,
  root: string,
  files: ListedFile[],
  gone: string[] = [],
): Buffer {
  return Buffer.from(
    JSON.stringify({ root, scope, most: maxFiles, resolved, gone, files } satisfies Head),
  );
}
const listedFile = (
  filePath: string,
  { mtime, ctime, size, hash }: Entry,
  rowLength: number,
): ListedFile => [filePath, mtime, ctime, size, hash, rowLength];

function preamble(rowsLength: number, headLength: number, ...checksums: number[]): Buffer {
  return Buffer.from(
    `${[FORMAT_NAME, rowsLength, headLength, ...checksums].join(" ").padEnd(PREAMBLE - 1)}\n`,
  );
}

/** Piece by piece; an incomplete last one was being written when the process ended. */
function parseIndex(openFile: OpenFile, root: string): Data | null {
  const indexData = emptyData();
  const { fd } = openFile;
  const { size } = fs.fstatSync(fd);
  if (!size) throw new Error("it is empty");
  for (let pieceStart = 0; pieceStart < size; ) {
    const [, rowsLength, headLength, rowsCrc, headCrc] =
      PREAMBLE_PATTERN.exec(readTextAt(fd, pieceStart, PREAMBLE))?.map(Number) ?? [];
    const rowsStart = pieceStart + PREAMBLE;
    const headBytes =
      rowsLength === undefined ? undefined : readBytesAt(fd, rowsStart + rowsLength, headLength!);
    if (
      !headBytes ||
      zlib.crc32(headBytes) !== headCrc ||
      readChecksum(fd, rowsStart, rowsLength!) !== rowsCrc
    ) {
      if (!pieceStart && OLDER_FORMAT.test(readTextAt(fd, 0, PREAMBLE))) return null;
      if (!pieceStart) throw new Error("it is damaged, or another version's");
      indexData.base = 0; // the complete pieces are used, and the file is rewritten
      break;
    }
    addPiece(indexData, JSON.parse(headBytes.toString()), filePage(openFile, rowsStart), root);
    pieceStart = rowsStart + rowsLength! + headLength!;
    indexData.base ||= pieceStart;
    indexData.size = pieceStart;
  }
  indexData.files = sortFiles(indexData.files);
  return indexData;
}

function addPiece(
  indexData: Data,
  { gone, files, scope, most: maxFiles, resolved, ...head }: Head,
  page: Page,
  root: string,
): void {
  if (head.root !== root) throw new Error(`it is that of ${head.root}`);
  Object.assign(indexData, { scope, most: maxFiles, resolved });
  for (const removedPath of gone) indexData.files.delete(removedPath);
  let offset = 0;
  for (const [filePath, mtime, ctime, size, hash, length] of files) {
    indexData.files.set(filePath, { mtime, ctime, size, hash, page, offset, length });
    offset += length;
  }
}

export const sortFiles = (storedFiles: Data["files"]): Data["files"] =>
  new Map([...storedFiles].sort(([first], [second]) => compare(first, second)));

export const memoryPage = (pageBytes: Buffer): Page => ({
  read: (offset, length) => pageBytes.subarray(offset, offset + length),
});

/** An open file, closed when no page refers to it any more. */
type OpenFile = { fd: number };
const OPEN_FILES = new FinalizationRegistry((fd: number) => fs.closeSync(fd));

function closedWhenUnused(fd: number): OpenFile {
  const openFile = { fd };
  OPEN_FILES.register(openFile, fd);
  return openFile;
}

const filePage = (openFile: OpenFile, pageStart: number): Page => ({
  read(offset, length, targetBuffer) {
    const rowBytes = readBytesAt(openFile.fd, pageStart + offset, length, targetBuffer);
    if (!rowBytes)
      throw new Error(
        "Cannot read the index of this project: it was cut off. /reindex makes it again.",
      );
    return rowBytes;
  },
});

/**
 * A page that another process fills, in an unlinked file that disappears when nobody has it open.
 */
export function scratchPage(): { page: Page; fd: number } {
  const scratchPath = path.join(
    os.tmpdir(),
    `zz-index-${process.pid}-${crypto.randomBytes(4).toString("hex")}`,
  );
  const fd = fs.openSync(scratchPath, "wx+", 0o600);
  fs.rmSync(scratchPath, { force: true });
  return { page: filePage(closedWhenUnused(fd), 0), fd };
}

/** Undefined if the file is too short. */
function readBytesAt(
  fd: number,
  offset: number,
  length: number,
  targetBuffer: Buffer = Buffer.allocUnsafe(length),
): Buffer | undefined {
  const wantedBytes = targetBuffer.subarray(0, length);
  return fs.readSync(fd, wantedBytes, 0, length, offset) === length ? wantedBytes : undefined;
}
const readTextAt = (fd: number, offset: number, length: number) =>
  readBytesAt(fd, offset, length)?.toString("latin1") ?? "";

function readChecksum(fd: number, startOffset: number, length: number): number {
  const chunkBuffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, length));
  let checksum = 0;
  for (let offset = 0; offset < length; offset += chunkBuffer.length) {
    const bytesRead = fs.readSync(
      fd,
      chunkBuffer,
      0,
      Math.min(chunkBuffer.length, length - offset),
      startOffset + offset,
    );
    if (!bytesRead) return -1;
    checksum = zlib.crc32(chunkBuffer.subarray(0, bytesRead), checksum);
  }
  return checksum;
}
