// Reads a file, and makes its row of the index. Runs in the worker threads, and here where it is about a few files.
import { isUtf8 } from "node:buffer";
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { type Entry, pack, type Row } from "./rows.ts";
import { type Facts, listed, scan } from "./scan.ts";

const LARGEST = 1_000_000; // bytes; what is larger is no code that anyone wrote
const NONE = Buffer.alloc(0);
const SURE = 50; // ms: a file's time tells nothing of what happens within the same tick of the clock

/** Undefined: it is not there. With `known`, a file that holds the same bytes as before keeps its row: the text is empty. */
export function readRow(root: string, name: string, known?: Entry): Row | undefined {
  const now = Date.now();
  let stat: fs.Stats | undefined;
  try {
    stat = fs.statSync(path.join(root, name));
    if (!stat.isFile()) return undefined;
    const large = stat.size > LARGEST;
    const bytes = large ? undefined : fs.readFileSync(path.join(root, name));
    const hash = bytes ? crypto.hash("sha256", bytes).slice(0, 32) : `${stat.size}`;
    const mtime = stat.mtimeMs > now - SURE ? -1 : stat.mtimeMs;
    const entry = { path: name, mtime, ctime: stat.ctimeMs, size: stat.size, hash };
    if (known?.hash === hash && !large) return { ...entry, text: NONE };
    return { ...entry, text: pack(bytes ? factsOf(name, bytes) : listed(`${(stat.size / 1e6).toFixed(1)} MB`)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR" || !stat) return undefined;
    const entry = { path: name, mtime: stat.mtimeMs, ctime: stat.ctimeMs, size: stat.size, hash: "" };
    return { ...entry, text: pack(listed(code ?? String(error))) };
  }
}

function factsOf(name: string, bytes: Buffer): Facts {
  if (bytes.subarray(0, 8_000).includes(0)) return listed("binary");
  if (!isUtf8(bytes)) return listed("not UTF-8");
  return scan(name, bytes.toString("utf8"));
}
