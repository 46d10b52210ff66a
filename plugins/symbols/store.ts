// Where the index of a project is kept: one file in the home, through lowdb. A head that says what there is, the rows of
// all files, then what changed since; it is written anew when that has grown to half of it.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import { LowSync, type SyncAdapter } from "lowdb";
import type { Kept } from "./resolve.ts";
import type { Entry, Page, Row } from "./rows.ts";

const FORMAT = 1; // raise it whenever rows change their form or meaning

export type Scope = { scope: string; most: number }; // the folder that is indexed ("": all of it), and how many files

export interface Data extends Scope {
  files: Map<string, Entry & { page: Buffer; at: number; length: number }>;
  resolved?: Kept | undefined;
  base: number; // bytes of the file as it was last written whole; 0: not yet
  added: number; // bytes after that
  change?: { rows: Row[]; gone: string[] } | undefined; // what is to be written; undefined: all of it
}

type Listed = [name: string, mtime: number, ctime: number, size: number, hash: string, length: number];
type Head = Partial<Scope> & {
  format: number;
  root: string;
  resolved?: Kept;
  gone: string[];
  files: Listed[];
  crc: number;
};

const nothing = (): Data => ({ scope: "", most: 0, files: new Map(), base: 0, added: 0 });

/** `warn` is told when what was kept cannot be used. */
export function openStore(root: string, home: string, warn: (text: string) => void): LowSync<Data> {
  return new LowSync<Data>(adapter(storeFile(root, home), root, warn), nothing());
}

/** One file a project: two folders of the same name do not share it. */
export function storeFile(root: string, home: string): string {
  const name = root.split(path.sep).slice(-2).join("-");
  const plain = name.replace(/[^\w.-]/g, "_").slice(-80);
  return path.join(home, "index", `${plain || "root"}-${crypto.hash("sha256", root).slice(0, 12)}.idx`);
}

function adapter(file: string, root: string, warn: (text: string) => void): SyncAdapter<Data> {
  return {
    read() {
      try {
        return parse(fs.readFileSync(file), root);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          warn(`Cannot use the index of this project: ${(error as Error).message}. It is made anew.`);
        return null;
      }
    },
    write(data) {
      const { change, base, added } = data;
      const piece = change && base ? changePiece(data, root, change) : undefined;
      if (
        piece &&
        (added + piece.length) * 2 < base &&
        fs.statSync(file, { throwIfNoEntry: false })?.size === base + added
      ) {
        fs.appendFileSync(file, piece);
        data.added += piece.length;
      } else {
        const whole = wholePiece(data, root);
        replace(file, whole);
        [data.base, data.added] = [whole.length, 0];
      }
      data.change = undefined;
    },
  };
}

function replace(file: string, bytes: Buffer): void {
  const temporary = `${file}.${process.pid}.${crypto.randomBytes(4).toString("hex")}.tmp`;
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    fs.writeFileSync(temporary, bytes, { mode: 0o600 });
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

function wholePiece({ files, scope, most, resolved }: Data, root: string): Buffer {
  const rows = Buffer.concat([...files.values()].map(({ page, at, length }) => page.subarray(at, at + length)));
  const list = [...files].map(([name, entry]) => listed(name, entry, entry.length));
  return piece({ ...{ format: FORMAT, root, scope, most, resolved }, gone: [], files: list, crc: 0 }, rows);
}

function changePiece(
  { scope, most, resolved }: Data,
  root: string,
  { rows, gone }: NonNullable<Data["change"]>,
): Buffer {
  const texts = rows.map(({ text }) => Buffer.from(text));
  const list = rows.map((row, at) => listed(row.path, row, texts[at]!.length));
  return piece({ ...{ format: FORMAT, root, scope, most, resolved }, gone, files: list, crc: 0 }, Buffer.concat(texts));
}

const listed = (name: string, { mtime, ctime, size, hash }: Entry, length: number): Listed => [
  ...([name, mtime, ctime, size, hash, length] as const),
];

const piece = (head: Head, rows: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${JSON.stringify({ ...head, crc: zlib.crc32(rows) })}\n`), rows]);

/** Piece after piece; a last one that is not whole was being written when something ended it. */
function parse(bytes: Buffer, root: string): Data | null {
  const data = nothing();
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    const head = headOf(bytes.toString("utf8", from, Math.max(end, from)));
    const length = head?.files.reduce((sum, [, , , , , length]) => sum + length, 0) ?? 0;
    const page = bytes.subarray(end + 1, end + 1 + length);
    const isWhole = head && end >= 0 && page.length === length && zlib.crc32(page) === head.crc;
    if (!isWhole) {
      if (!from) throw new Error("it is damaged");
      data.base = 0; // what is whole is used, and written anew
      break;
    }
    if (head.format !== FORMAT || head.root !== root) return null;
    for (const name of head.gone) data.files.delete(name);
    let at = 0;
    for (const [name, mtime, ctime, size, hash, length] of head.files) {
      data.files.set(name, { mtime, ctime, size, hash, page, at, length });
      at += length;
    }
    Object.assign(data, { scope: head.scope, most: head.most, resolved: head.resolved });
    from = end + 1 + length;
    if (data.base) data.added = from - data.base;
    else data.base = from;
  }
  return data;
}

function headOf(text: string): Head | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** For a search in all rows at once. What lies between two of them was a file's that is gone or has a later row. */
export function pagesOf({ files }: Pick<Data, "files">): Page[] {
  const pages = new Map<Buffer, Page & { end: number }>();
  for (const [name, { page, at, length }] of files) {
    let found = pages.get(page);
    if (!found) pages.set(page, (found = { paths: [], starts: [], rows: page, end: 0 }));
    if (found.end !== at) {
      found.paths.push("");
      found.starts.push(found.end);
    }
    found.paths.push(name);
    found.starts.push(at);
    found.end = at + length;
  }
  for (const page of pages.values()) {
    page.paths.push("");
    page.starts.push(page.end);
  }
  return [...pages.values()];
}
