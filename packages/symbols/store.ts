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
import { makeFolder } from "zz/text";
import type { Kept } from "./resolve.ts";
import type { Entry, Page, Row } from "./rows.ts";

const FORMAT = "zz index 6"; // raise it whenever rows change in form or meaning
const HEAD = new RegExp(`^${FORMAT} (\\d+) (\\d+) (\\d+) (\\d+) +\n$`);
const OLDER = /^zz index [1-5] /; // made again without a word
const PREAMBLE = 100; // bytes: the format, two lengths, two checksums, blanks, a line end
const CHUNK = 1 << 20;
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
export function openStore(root: string, home: string, warn: (text: string) => void): LowSync<Data> {
  return new LowSync<Data>(adapter(storeFile(root, home), root, warn), emptyData());
}

/** What past commits say, beside it. */
export const historyFile = (root: string, home: string): string =>
  storeFile(root, home).replace(/idx$/, "log");

/** One file per project: two folders of the same name do not share it. */
export function storeFile(root: string, home: string): string {
  const name = root.split(path.sep).slice(-2).join("-");
  const plain = name.replace(/[^\w.-]/g, "_").slice(-80);
  return path.join(
    home,
    "index",
    `${plain || "root"}-${crypto.hash("sha256", root).slice(0, 12)}.idx`,
  );
}

function adapter(file: string, root: string, warn: (text: string) => void): SyncAdapter<Data> {
  return {
    read() {
      try {
        return parse(closedWhenUnused(fs.openSync(file, "r")), root);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          warn(
            `Cannot use the index of this project: ${(error as Error).message}. It is made again.`,
          );
        return null;
      }
    },
    write(data) {
      const { change, base, size } = data;
      const isSame = base && fs.lstatSync(file, { throwIfNoEntry: false })?.size === size;
      const piece = change && isSame ? changePiece(data, root, change) : undefined;
      if (piece && (size - base + piece.length) * 2 < base) {
        const { O_APPEND, O_NOFOLLOW = 0, O_WRONLY } = fs.constants;
        fs.appendFileSync(file, piece, { flag: O_WRONLY | O_APPEND | O_NOFOLLOW } as never);
        data.size += piece.length;
      } else writeWhole(file, root, data);
      data.change = undefined;
    },
  };
}

function changePiece(
  data: Data,
  root: string,
  { rows, gone }: NonNullable<Data["change"]>,
): Buffer {
  const files = rows.map((row) => listedFile(row.path, row, row.text.length));
  const head = headOf(data, root, files, gone);
  const text = Buffer.concat(rows.map(({ text }) => text));
  return Buffer.concat([
    preamble(text.length, head.length, zlib.crc32(text), zlib.crc32(head)),
    text,
    head,
  ]);
}

/** Replaces the old file atomically; a process that has the old one open can go on reading it. */
function writeWhole(file: string, root: string, data: Data): void {
  const temporary = `${file}.${process.pid}.${crypto.randomBytes(4).toString("hex")}.tmp`;
  makeFolder(path.dirname(file), 0o700);
  sweepTemporary(file);
  const fd = fs.openSync(temporary, "w+", 0o600);
  try {
    const files = [...data.files].map(([name, row]) => listedFile(name, row, row.length));
    const head = headOf(data, root, files);
    let [offset, crc] = [PREAMBLE, 0];
    for (const bytes of chunks([...data.files.values()])) {
      fs.writeSync(fd, bytes, 0, bytes.length, offset);
      crc = zlib.crc32(bytes, crc);
      offset += bytes.length;
    }
    fs.writeSync(fd, head, 0, head.length, offset);
    fs.writeSync(
      fd,
      preamble(offset - PREAMBLE, head.length, crc, zlib.crc32(head)),
      0,
      PREAMBLE,
      0,
    );
    fs.renameSync(temporary, file);
    data.base = data.size = offset + head.length;
    const page = filePage(closedWhenUnused(fd), PREAMBLE);
    offset = 0;
    data.files = new Map(
      Array.from(data.files, ([name, row]) => {
        const stored = { ...row, page, offset };
        offset += row.length;
        return [name, stored];
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
function sweepTemporary(file: string): void {
  const [folder, name] = [path.dirname(file), path.basename(file)];
  for (const otherName of fs.readdirSync(folder))
    if (otherName.startsWith(`${name}.`) && otherName.endsWith(".tmp")) {
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
function* chunks(entries: StoredRow[]): Generator<Buffer> {
  const into = Buffer.allocUnsafe(CHUNK);
  let filled = 0;
  for (const { page, offset, length } of entries) {
    if (filled + length > CHUNK) {
      yield into.subarray(0, filled);
      filled = 0;
    }
    if (length > CHUNK) yield page.read(offset, length);
    else filled += page.read(offset, length, into.subarray(filled)).copy(into, filled);
  }
  yield into.subarray(0, filled);
}

function headOf(
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
  name: string,
  { mtime, ctime, size, hash }: Entry,
  length: number,
): ListedFile => [...([name, mtime, ctime, size, hash, length] as const)];

function preamble(rows: number, head: number, ...crcs: number[]): Buffer {
  return Buffer.from(`${[FORMAT, rows, head, ...crcs].join(" ").padEnd(PREAMBLE - 1)}\n`);
}

/** Piece by piece; an incomplete last one was being written when the process ended. */
function parse(file: OpenFile, root: string): Data | null {
  const data = emptyData();
  const { fd } = file;
  const { size } = fs.fstatSync(fd);
  for (let from = 0; from < size; ) {
    const [, rows, head, rowsCrc, headCrc] =
      HEAD.exec(textAt(fd, from, PREAMBLE))?.map(Number) ?? [];
    const rowsStart = from + PREAMBLE;
    const bytes = rows === undefined ? undefined : readAt(fd, rowsStart + rows, head!);
    if (!bytes || zlib.crc32(bytes) !== headCrc || crcOf(fd, rowsStart, rows!) !== rowsCrc) {
      if (!from && OLDER.test(textAt(fd, 0, PREAMBLE))) return null;
      if (!from) throw new Error("it is damaged, or another version's");
      data.base = 0; // the complete pieces are used, and the file is rewritten
      return data;
    }
    addPiece(data, JSON.parse(bytes.toString()), filePage(file, rowsStart), root);
    from = rowsStart + rows! + head!;
    data.base ||= from;
    data.size = from;
  }
  if (!data.base) throw new Error("it is empty");
  return data;
}

function addPiece(
  data: Data,
  { gone, files, scope, most: maxFiles, resolved, ...head }: Head,
  page: Page,
  root: string,
): void {
  if (head.root !== root) throw new Error(`it is that of ${head.root}`);
  Object.assign(data, { scope, most: maxFiles, resolved });
  const isNew = !data.files.size;
  for (const name of gone) data.files.delete(name);
  let offset = 0;
  for (const [name, mtime, ctime, size, hash, length] of files) {
    data.files.set(name, { mtime, ctime, size, hash, page, offset, length });
    offset += length;
  }
  if (!isNew) data.files = sortFiles(data.files);
}

export const sortFiles = (files: Data["files"]): Data["files"] =>
  new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));

export const memoryPage = (bytes: Buffer): Page => ({
  read: (offset, length) => bytes.subarray(offset, offset + length),
});

/** An open file, closed when no page refers to it any more. */
type OpenFile = { fd: number };
const OPEN_FILES = new FinalizationRegistry((fd: number) => fs.closeSync(fd));

function closedWhenUnused(fd: number): OpenFile {
  const file = { fd };
  OPEN_FILES.register(file, fd);
  return file;
}

const filePage = (file: OpenFile, from: number): Page => ({
  read(offset, length, into) {
    const bytes = readAt(file.fd, from + offset, length, into);
    if (!bytes)
      throw new Error(
        "Cannot read the index of this project: it was cut off. /reindex makes it again.",
      );
    return bytes;
  },
});

/**
 * A page that another process fills, in an unlinked file that disappears when nobody has it open.
 */
export function scratchPage(): { page: Page; fd: number } {
  const file = path.join(
    os.tmpdir(),
    `zz-index-${process.pid}-${crypto.randomBytes(4).toString("hex")}`,
  );
  const fd = fs.openSync(file, "wx+", 0o600);
  fs.rmSync(file, { force: true });
  return { page: filePage(closedWhenUnused(fd), 0), fd };
}

/** Undefined if the file is too short. */
function readAt(
  fd: number,
  offset: number,
  length: number,
  into: Buffer = Buffer.allocUnsafe(length),
): Buffer | undefined {
  const bytes = into.subarray(0, length);
  return fs.readSync(fd, bytes, 0, length, offset) === length ? bytes : undefined;
}
const textAt = (fd: number, offset: number, length: number): string =>
  readAt(fd, offset, length)?.toString("latin1") ?? "";

function crcOf(fd: number, from: number, length: number): number {
  const bytes = Buffer.allocUnsafe(Math.min(CHUNK, length));
  let crc = 0;
  for (let offset = 0; offset < length; offset += bytes.length) {
    const read = fs.readSync(fd, bytes, 0, Math.min(bytes.length, length - offset), from + offset);
    if (!read) return -1;
    crc = zlib.crc32(bytes.subarray(0, read), crc);
  }
  return crc;
}
