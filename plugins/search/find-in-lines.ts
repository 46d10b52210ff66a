// Decides what a hit is. Only this file does, with or without ripgrep, so that the results are the
// same.
import { closeSync, fstatSync, readFileSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import vm from "node:vm";
import type { Clock, Ctx } from "zz";

const MAX_FILE_BYTES = 50 * 1024 * 1024;
const BUFFER_BYTES = 1 << 17; // most files are smaller
const BINARY_CHECK_BYTES = 8_192;
const SLICE_MS = 30; // at a stretch, then everything else may run: Ctrl+C, the live line
const LINE_MS = 100; // for one line, in this thread
const LINE_APART_MS = 2_000; // for one line, in a separate thread
const LINES_APART_MS = 10_000; // for all such lines
const LONG_LINE_CHARS = 10_000;
export const MAX_HITS = 100;
const BOM = /^\ufeff/;

export interface Query {
  query: string;
  regex: boolean;
  ignoreCase: boolean;
}
/** A line and where in it the query begins. */
export type Hit = { line: number; text: string; at: number };
export interface Found {
  count: number;
  hits: Hit[]; // the first of them
  stuck: number[]; // lines that were ignored, since searching them takes too long
}

/**
 * Reads one file after the other into the same buffer, so each result is valid until the next call.
 * Undefined for what is missing, too large, not text or not a file. Links are not followed: their
 * targets are found under their own names.
 */
export function reader(open: Ctx["files"]["open"]): (file: string) => Buffer | undefined {
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  return (file) => {
    let fd: number | undefined;
    try {
      fd = open(file);
      const read = readSync(fd, buffer, 0, BUFFER_BYTES, 0);
      if (isBinary(buffer.subarray(0, read))) return undefined;
      if (read < BUFFER_BYTES) return buffer.subarray(0, read);
      return fstatSync(fd).size <= MAX_FILE_BYTES ? readFileSync(fd) : undefined;
    } catch {
      return undefined;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  };
}

export const isBinary = (bytes: Uint8Array): boolean =>
  bytes.subarray(0, BINARY_CHECK_BYTES).includes(0);

/** Returns a function that lets everything else run whenever SLICE_MS have passed. */
export function newYielder(signal: AbortSignal): () => Promise<void> | undefined {
  let next = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < next) return undefined;
    return setImmediate().then(() => {
      signal.throwIfAborted();
      next = performance.now() + SLICE_MS;
    });
  };
}

export interface Finder {
  mayMatch(bytes: Buffer): boolean; // false if there is certainly no hit in it
  find(texts: string[]): Promise<Found[]>;
}

export function finder(
  { query, regex, ignoreCase }: Query,
  signal: AbortSignal,
  clock: Clock,
): Finder {
  const pattern = toRegExp(
    regex ? query : query.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"),
    ignoreCase,
  );
  const isExact = !regex && !ignoreCase && isPlain(query);
  const bytes = Buffer.from(query);
  const within = regex ? stopwatch() : undefined; // searching for a plain text never takes long
  const yieldIfDue = newYielder(signal);
  let remainingMs = LINES_APART_MS;
  return isExact
    ? {
        mayMatch: (fileBytes) => fileBytes.includes(bytes),
        find: async (texts) => texts.map((text) => findExact(text, query)),
      }
    : { mayMatch: () => true, find };

  /** Searches many lines at a time, since each use of the stopwatch costs 0.1 ms. */
  async function find(texts: string[]): Promise<Found[]> {
    const each = texts.map(linesOf);
    const lines = each.length === 1 ? each[0]! : each.flat();
    // offset in each line; -1: no match, -2: it took too long
    const offsets = new Int32Array(lines.length);
    for (let i = 0; i < lines.length; ) {
      const work = () => {
        for (
          const stop = performance.now() + SLICE_MS;
          i < lines.length && performance.now() < stop;
          i++
        )
          offsets[i] = lines[i]!.search(pattern);
      };
      if (!within) work();
      // all lines may be done
      else if (!within(work) && i < lines.length) offsets[i] = await searchSlowLine(lines[i++]!);
      await yieldIfDue();
    }
    return hitsByText(each, lines, offsets);
  }

  async function searchSlowLine(line: string): Promise<number> {
    const started = clock.now();
    const limit = { clock, ms: Math.min(remainingMs, LINE_APART_MS) };
    const offset = await searchApart(pattern, line, limit, signal);
    remainingMs = Math.max(0, remainingMs - (clock.now() - started));
    if (offset === -2 && line.length <= LONG_LINE_CHARS)
      throw new Error(
        `Cannot search for '${query}': the regular expression takes too long. Make it simpler.`,
      );
    return offset;
  }
}

/** Offsets in all lines, as what each text has of them. */
function hitsByText(texts: string[][], lines: string[], offsets: Int32Array): Found[] {
  let start = 0;
  return texts.map(({ length }) => {
    const result: Found = { count: 0, hits: [], stuck: [] };
    for (let i = start; i < start + length; i++)
      if (offsets[i] === -2) result.stuck.push(i - start + 1);
      else if (offsets[i]! >= 0 && ++result.count <= MAX_HITS)
        result.hits.push({ line: i - start + 1, text: lines[i]!, at: offsets[i]! });
    start += length;
    return result;
  });
}

/** Searches in a thread that can be stopped at any time. Returns -2 if it was stopped. */
async function searchApart(
  pattern: RegExp,
  line: string,
  { clock, ms }: { clock: Clock; ms: number },
  signal: AbortSignal,
): Promise<number> {
  const { Worker } = await import("node:worker_threads");
  const code = `const { parentPort, workerData: { line, pattern } } = require("node:worker_threads");
    parentPort.postMessage(line.search(pattern));`;
  const worker = new Worker(code, { eval: true, execArgv: [], workerData: { line, pattern } });
  const { promise, resolve } = Promise.withResolvers<number>();
  const stop = () => resolve(-2);
  worker.once("message", resolve).once("error", stop);
  signal.addEventListener("abort", stop);
  const cancel = clock.timer(ms, stop);
  try {
    return await promise;
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
    await worker.terminate();
    signal.throwIfAborted();
  }
}

/** Goes from hit to hit, which is ten times as fast as line by line. */
function findExact(content: string, query: string): Found {
  const text = content.replace(BOM, "");
  const result: Found = { count: 0, hits: [], stuck: [] };
  let [line, begin] = [1, 0];
  for (let index = text.indexOf(query); index >= 0; index = text.indexOf(query, nextLine(index))) {
    if (++result.count > MAX_HITS) continue;
    for (let next = nextLine(begin); next <= index; next = nextLine(begin))
      [line, begin] = [line + 1, next];
    const row = text.slice(begin, nextLine(index)).replace(/\r?\n$/, "");
    result.hits.push({ line, text: row, at: index - begin });
  }
  return result;

  function nextLine(from: number): number {
    const end = text.indexOf("\n", from);
    return end < 0 ? text.length + 1 : end + 1;
  }
}

/**
 * Whether the query can be searched for as bytes: no lone surrogates, no replacement characters.
 */
export const isPlain = (query: string): boolean =>
  query.isWellFormed() && !/[\0\r\ufffd]/.test(query);

export const linesOf = (text: string): string[] => {
  const lines = text.replace(BOM, "").split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop(); // what follows the last line end is not a line
  return lines;
};

function toRegExp(source: string, ignoreCase: boolean): RegExp {
  const inline = source.startsWith("(?i)"); // as other languages write it
  try {
    return new RegExp(inline ? source.slice(4) : source, ignoreCase || inline ? "i" : "");
  } catch (error) {
    const reason = (error as Error).message;
    throw new Error(
      `Cannot search for '${source}': ${reason}. Correct it, or leave out regex to find it as it stands.`,
    );
  }
}

/**
 * Only a vm context can stop a regular expression that backtracks endlessly. False if it had to be
 * stopped.
 */
function stopwatch(): (work: () => void) => boolean {
  const buffer: { work?: () => void } = {};
  const context = vm.createContext(buffer);
  const script = new vm.Script("work()");
  return (work) => {
    buffer.work = work;
    try {
      script.runInContext(context, { timeout: LINE_MS });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      return false;
    }
  };
}
