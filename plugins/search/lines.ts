// What a hit is. Nothing else decides it, whether ripgrep helps or not, so that the answers are the same.
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import vm from "node:vm";

const LARGEST = 50 * 1024 * 1024;
const ROOM = 1 << 17; // bytes; most files are smaller
const BINARY_WITHIN = 8_192;
const SLICE = 30; // ms at a stretch, then whoever waits has a turn: Ctrl+C, the live line
const PATIENCE = 100; // ms for one line, here
const PATIENCE_APART = 2_000; // and in a thread of its own
const PATIENCE_IN_ALL = 10_000; // with such lines
const LONG_LINE = 10_000;
export const MOST = 100; // hits
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
  stuck: number[]; // lines that were passed over
}

/**
 * Reads one file after the other into the same room: each is good until the next. Undefined: not there, too large, not
 * text, or no file at all. Links are not followed, since what they lead to is found under its own name.
 */
export function reader(): (file: string) => Buffer | undefined {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants; // a FIFO must not hold us up
  const room = Buffer.allocUnsafe(ROOM);
  return (file) => {
    let fd: number | undefined;
    try {
      fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      const read = readSync(fd, room, 0, ROOM, 0);
      if (isBinary(room.subarray(0, read))) return undefined;
      if (read < ROOM) return room.subarray(0, read);
      return fstatSync(fd).size <= LARGEST ? readFileSync(fd) : undefined;
    } catch {
      return undefined;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  };
}

export const isBinary = (bytes: Uint8Array): boolean => bytes.subarray(0, BINARY_WITHIN).includes(0);

/** A turn for everything else, when it is time. */
export function breather(signal: AbortSignal): () => Promise<void> | undefined {
  let next = performance.now() + SLICE;
  return () => {
    if (performance.now() < next) return undefined;
    return setImmediate().then(() => {
      signal.throwIfAborted();
      next = performance.now() + SLICE;
    });
  };
}

export interface Finder {
  may(bytes: Buffer): boolean; // false: there is certainly no hit in it
  find(texts: string[]): Promise<Found[]>;
}

export function finder({ query, regex, ignoreCase }: Query, signal: AbortSignal): Finder {
  const pattern = toRegExp(regex ? query : query.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), ignoreCase);
  const isExact = !regex && !ignoreCase && isPlain(query);
  const bytes = Buffer.from(query);
  const within = regex ? stopwatch() : undefined; // no plain text takes for ever
  const breathe = breather(signal);
  let left = PATIENCE_IN_ALL;
  return isExact
    ? { may: (all) => all.includes(bytes), find: async (texts) => texts.map((text) => findExact(text, query)) }
    : { may: () => true, find };

  /** By lines, many at a time, since each look at the stopwatch costs 0.1 ms. */
  async function find(texts: string[]): Promise<Found[]> {
    const each = texts.map(linesOf);
    const lines = each.length === 1 ? each[0]! : each.flat();
    const at = new Int32Array(lines.length); // where in each line, -1: nowhere, -2: it took too long
    for (let i = 0; i < lines.length; ) {
      const work = () => {
        for (const stop = performance.now() + SLICE; i < lines.length && performance.now() < stop; i++)
          at[i] = lines[i]!.search(pattern);
      };
      if (within?.(work) === false) at[i] = await patiently(lines[i++]!);
      else if (!within) work();
      await breathe();
    }
    let start = 0;
    return each.map(({ length }) => {
      const found: Found = { count: 0, hits: [], stuck: [] };
      for (let i = start; i < start + length; i++)
        if (at[i] === -2) found.stuck.push(i - start + 1);
        else if (at[i]! >= 0 && ++found.count <= MOST)
          found.hits.push({ line: i - start + 1, text: lines[i]!, at: at[i]! });
      start += length;
      return found;
    });
  }

  async function patiently(line: string): Promise<number> {
    const started = performance.now();
    const at = await searchApart(pattern, line, Math.min(left, PATIENCE_APART), signal);
    left = Math.max(0, left - (performance.now() - started));
    if (at === -2 && line.length <= LONG_LINE)
      throw new Error(`Cannot search for '${query}': the regular expression takes too long. Make it simpler.`);
    return at;
  }
}

/** In a thread that can be stopped at any time. -2: it was. */
async function searchApart(pattern: RegExp, line: string, ms: number, signal: AbortSignal): Promise<number> {
  const { Worker } = await import("node:worker_threads");
  const code = `const { parentPort, workerData: { line, pattern } } = require("node:worker_threads");
    parentPort.postMessage(line.search(pattern));`;
  const worker = new Worker(code, { eval: true, execArgv: [], workerData: { line, pattern } });
  const { promise, resolve } = Promise.withResolvers<number>();
  const stop = () => resolve(-2);
  worker.once("message", resolve).once("error", stop);
  signal.addEventListener("abort", stop);
  const timer = setTimeout(stop, ms);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    await worker.terminate();
    signal.throwIfAborted();
  }
}

/** From hit to hit: ten times as fast as line by line. */
function findExact(whole: string, query: string): Found {
  const text = whole.replace(BOM, "");
  const found: Found = { count: 0, hits: [], stuck: [] };
  let [line, begin] = [1, 0];
  for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, nextLine(at))) {
    if (++found.count > MOST) continue;
    for (let next = nextLine(begin); next <= at; next = nextLine(begin)) [line, begin] = [line + 1, next];
    const row = text.slice(begin, nextLine(at)).replace(/\r?\n$/, "");
    found.hits.push({ line, text: row, at: at - begin });
  }
  return found;

  function nextLine(from: number): number {
    const end = text.indexOf("\n", from);
    return end < 0 ? text.length + 1 : end + 1;
  }
}

/** As it would be looked for in bytes: no half letters, nothing that stands for broken ones. */
export const isPlain = (query: string): boolean => query.isWellFormed() && !/[\0\r\ufffd]/.test(query);

export const linesOf = (text: string): string[] => {
  const lines = text.replace(BOM, "").split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop(); // what follows the last line end is no line
  return lines;
};

function toRegExp(source: string, ignoreCase: boolean): RegExp {
  const inline = source.startsWith("(?i)"); // as other languages write it
  try {
    return new RegExp(inline ? source.slice(4) : source, ignoreCase || inline ? "i" : "");
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`Cannot search for '${source}': ${why}. Correct it, or leave out regex to find it as it stands.`);
  }
}

/** Nothing but a context of its own stops a regular expression that backtracks for ever. False: it had to be stopped. */
function stopwatch(): (work: () => void) => boolean {
  const room: { work?: () => void } = {};
  const context = vm.createContext(room);
  const script = new vm.Script("work()");
  return (work) => {
    room.work = work;
    try {
      script.runInContext(context, { timeout: PATIENCE });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      return false;
    }
  };
}
