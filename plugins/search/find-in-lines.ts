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
const BYTE_ORDER_MARK = /^\ufeff/;

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
export function openReader(
  openFile: Ctx["files"]["open"],
): (fileName: string) => Buffer | undefined {
  const sharedBuffer = Buffer.allocUnsafe(BUFFER_BYTES);
  return (fileName) => {
    let descriptor: number | undefined;
    try {
      descriptor = openFile(fileName);
      const bytesRead = readSync(descriptor, sharedBuffer, 0, BUFFER_BYTES, 0);
      if (isBinary(sharedBuffer.subarray(0, bytesRead))) return undefined;
      if (bytesRead < BUFFER_BYTES) return sharedBuffer.subarray(0, bytesRead);
      return fstatSync(descriptor).size <= MAX_FILE_BYTES ? readFileSync(descriptor) : undefined;
    } catch {
      return undefined;
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  };
}

export const isBinary = (fileBytes: Uint8Array): boolean =>
  fileBytes.subarray(0, BINARY_CHECK_BYTES).includes(0);

/** Returns a function that lets everything else run whenever SLICE_MS have passed. */
export function newYielder(signal: AbortSignal): () => Promise<void> | undefined {
  let nextPause = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() < nextPause) return undefined;
    return setImmediate().then(() => {
      signal.throwIfAborted();
      nextPause = performance.now() + SLICE_MS;
    });
  };
}

export interface Finder {
  mayMatch(fileBytes: Buffer): boolean; // false if there is certainly no hit in it
  find(fileTexts: string[]): Promise<Found[]>;
}

export function createFinder(
  { query, regex, ignoreCase }: Query,
  signal: AbortSignal,
  clock: Clock,
): Finder {
  const pattern = toRegExp(
    regex ? query : query.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"),
    ignoreCase,
  );
  const isExact = !regex && !ignoreCase && isPlain(query);
  const queryBytes = Buffer.from(query);
  const runTimed = regex ? stopwatch() : undefined; // searching for a plain text never takes long
  const yieldIfDue = newYielder(signal);
  let remainingMs = LINES_APART_MS;
  return isExact
    ? {
        mayMatch: (fileBytes) => fileBytes.includes(queryBytes),
        find: async (fileTexts) => fileTexts.map((fileText) => findExact(fileText, query)),
      }
    : { mayMatch: () => true, find };

  /** Searches many lines at a time, since each use of the stopwatch costs 0.1 ms. */
  async function find(fileTexts: string[]): Promise<Found[]> {
    const linesByText = fileTexts.map(linesOf);
    const allLines = linesByText.length === 1 ? linesByText[0]! : linesByText.flat();
    // offset in each line; -1: no match, -2: it took too long
    const offsets = new Int32Array(allLines.length);
    for (let i = 0; i < allLines.length; ) {
      const searchLines = () => {
        for (
          const stopTime = performance.now() + SLICE_MS;
          i < allLines.length && performance.now() < stopTime;
          i++
        )
          offsets[i] = allLines[i]!.search(pattern);
      };
      if (!runTimed) searchLines();
      // all lines may be done
      else if (!runTimed(searchLines) && i < allLines.length)
        offsets[i] = await searchSlowLine(allLines[i++]!);
      await yieldIfDue();
    }
    return hitsByText(linesByText, allLines, offsets);
  }

  async function searchSlowLine(slowLine: string): Promise<number> {
    const started = clock.now();
    const timeLimit = { clock, ms: Math.min(remainingMs, LINE_APART_MS) };
    const matchOffset = await searchApart(pattern, slowLine, timeLimit, signal);
    remainingMs = Math.max(0, remainingMs - (clock.now() - started));
    if (matchOffset === -2 && slowLine.length <= LONG_LINE_CHARS)
      throw new Error(
        `Cannot search for '${query}': the regular expression takes too long. Make it simpler.`,
      );
    return matchOffset;
  }
}

/** Offsets in all lines, as what each text has of them. */
function hitsByText(linesByText: string[][], allLines: string[], offsets: Int32Array): Found[] {
  let startIndex = 0;
  return linesByText.map(({ length }) => {
    const textResult: Found = { count: 0, hits: [], stuck: [] };
    for (let i = startIndex; i < startIndex + length; i++)
      if (offsets[i] === -2) textResult.stuck.push(i - startIndex + 1);
      else if (offsets[i]! >= 0 && ++textResult.count <= MAX_HITS)
        textResult.hits.push({ line: i - startIndex + 1, text: allLines[i]!, at: offsets[i]! });
    startIndex += length;
    return textResult;
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
  const workerCode = `
    const { parentPort, workerData: { line, pattern } } = require("node:worker_threads");
    parentPort.postMessage(line.search(pattern));`;
  const searchWorker = new Worker(workerCode, {
    eval: true,
    execArgv: [],
    workerData: { line, pattern },
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const reportStopped = () => resolve(-2);
  searchWorker.once("message", resolve).once("error", reportStopped);
  signal.addEventListener("abort", reportStopped);
  const cancelTimer = clock.timer(ms, reportStopped);
  try {
    return await promise;
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", reportStopped);
    await searchWorker.terminate();
    signal.throwIfAborted();
  }
}

/** Goes from hit to hit, which is ten times as fast as line by line. */
function findExact(content: string, query: string): Found {
  const plainText = content.replace(BYTE_ORDER_MARK, "");
  const textResult: Found = { count: 0, hits: [], stuck: [] };
  let [line, lineStart] = [1, 0];
  for (
    let hitIndex = plainText.indexOf(query);
    hitIndex >= 0;
    hitIndex = plainText.indexOf(query, nextLine(hitIndex))
  ) {
    if (++textResult.count > MAX_HITS) continue;
    for (
      let nextStart = nextLine(lineStart);
      nextStart <= hitIndex;
      nextStart = nextLine(lineStart)
    )
      [line, lineStart] = [line + 1, nextStart];
    const hitLine = plainText.slice(lineStart, nextLine(hitIndex)).replace(/\r?\n$/, "");
    textResult.hits.push({ line, text: hitLine, at: hitIndex - lineStart });
  }
  return textResult;

  function nextLine(fromIndex: number): number {
    const lineEnd = plainText.indexOf("\n", fromIndex);
    return lineEnd < 0 ? plainText.length + 1 : lineEnd + 1;
  }
}

/**
 * Whether the query can be searched for as bytes: no lone surrogates, no replacement characters.
 */
export const isPlain = (query: string): boolean =>
  query.isWellFormed() && !/[\0\r\ufffd]/.test(query);

export const linesOf = (fileText: string): string[] => {
  const textLines = fileText.replace(BYTE_ORDER_MARK, "").split(/\r?\n/);
  if (textLines.at(-1) === "") textLines.pop(); // what follows the last line end is not a line
  return textLines;
};

function toRegExp(patternSource: string, ignoreCase: boolean): RegExp {
  const hasInlineFlag = patternSource.startsWith("(?i)"); // as other languages write it
  try {
    return new RegExp(
      hasInlineFlag ? patternSource.slice(4) : patternSource,
      ignoreCase || hasInlineFlag ? "i" : "",
    );
  } catch (syntaxError) {
    const failureReason = (syntaxError as Error).message;
    throw new Error(
      `Cannot search for '${patternSource}': ${failureReason}. ` +
        "Correct it, or leave out regex to find it as it stands.",
    );
  }
}

/**
 * Only a vm context can stop a regular expression that backtracks endlessly. False if it had to be
 * stopped.
 */
function stopwatch(): (timedWork: () => void) => boolean {
  const sandbox: { work?: () => void } = {};
  const context = vm.createContext(sandbox);
  const workScript = new vm.Script("work()");
  return (timedWork) => {
    sandbox.work = timedWork;
    try {
      workScript.runInContext(context, { timeout: LINE_MS });
      return true;
    } catch (scriptError) {
      if ((scriptError as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT")
        throw scriptError;
      return false;
    }
  };
}
