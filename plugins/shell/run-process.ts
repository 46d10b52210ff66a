// Runs one command in a process group of its own, reads its output within limits, and says
// how it ended.

import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import type { Readable } from "node:stream";
import type { Clock, Programs } from "zz";
import { plural } from "zz/text";
import {
  endAllProcesses,
  GRACE_MS,
  markProcesses,
  type ProcessMark,
  type ResourceCaps,
  sendSignal,
  watchLimits,
} from "./end-processes.ts";
import {
  MAX_FILE_BYTES,
  MAX_SHOWN_CHARS,
  type OutputStore,
  openOutputStore,
} from "./keep-outputs.ts";
import type { Sandbox } from "./open-sandbox.ts";
import { openPipes } from "./real-pipes.ts";

export { MAX_FILE_BYTES, MAX_SHOWN_CHARS } from "./keep-outputs.ts";

export interface CommandJob {
  programs: Programs;
  clock: Clock;
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number; // 0 or Infinity: none
  maxTimeoutMs?: number; // the most that the model may ask for; 600,000 by default
  signal: AbortSignal;
  sandbox?: Sandbox;
  argv?: string[]; // runs instead of the command, without a shell
  // gets the last few lines that it printed, at most ten times a second
  onTail?(lines: string): void;
  veil?(output: string): string; // hides what nobody may read, before what is too long is cut
  keepIn: string; // folder for full outputs: 0700, the files 0600
  caps?: Partial<ResourceCaps>; // limits that replace the usual ones
}
export interface Outcome {
  exit: number | null;
  signal?: string;
  timedOut?: boolean;
  aborted?: boolean;
  stdout: string;
  stderr: string;
  text: string; // what the model reads: both outputs in the order they came, then how it ended
  file?: string; // the whole output, if text has only part of it
  bytes: number;
  ms: number;
}

const NOTES_CHARS = 1_000; // of MAX_SHOWN_CHARS, reserved for our own notes
const HEAD_SHARE = 0.4; // of what is shown of a long output; the rest goes to its end
const MAX_HELD_CHARS = 200_000; // kept of each end; what is shown is made from them
const LIVE_INTERVAL_MS = 100; // ms between two looks at what is printed
const LIVE_LINES = 4;

type Stop = "timeout" | "abort" | "flood" | { exceeded: string };

/**
 * Runs a command. It tries again if a path that the sandbox was to cover disappears before the
 * start: nothing has run.
 */
export async function runJob(job: CommandJob): Promise<Outcome> {
  for (let retries = 3; ; retries--) {
    const outcome = await runJobOnce(job);
    const isNotStarted =
      job.sandbox && outcome.exit === 1 && !outcome.stdout && NOT_STARTED.test(outcome.stderr);
    if (!isNotStarted || !retries) return outcome;
  }
}
const NOT_STARTED =
  /^bwrap: Can't [^\n]*(No such file or directory|Read-only file system|Not a directory|Permission denied)\n?$/;

async function runJobOnce(job: CommandJob): Promise<Outcome> {
  const { clock } = job;
  const startedAt = clock.now();
  const elapsed = () => clock.now() - startedAt;
  if (job.signal.aborted)
    return {
      exit: null,
      aborted: true,
      stdout: "",
      stderr: "",
      text: "[interrupted]",
      bytes: 0,
      ms: elapsed(),
    };

  const file = openOutputStore(job.keepIn);
  const [everyOutput, standardOutput, standardError] = [newCapture(), newCapture(), newCapture()];
  const tail = watchTail(clock, everyOutput, job.onTail);
  const mark = markProcesses(!job.sandbox);
  const { child, stdout, stderr } = await startProcess(job, mark);
  const pid = child.pid!;
  let stopReason: Stop | undefined;
  let cancelKill = () => {};
  const stop = (reason: Stop) => {
    if (stopReason) return;
    stopReason = reason;
    // the command must end at once
    if (typeof reason === "object") return sendSignal(job.programs, pid, "SIGKILL");
    sendSignal(job.programs, pid, "SIGTERM", !!job.sandbox);
    cancelKill = clock.timer(GRACE_MS, () => sendSignal(job.programs, pid, "SIGKILL"));
  };
  const unwatch = watchLimits(pid, { ...job.caps }, job.sandbox ?? {}, job.cwd, (exceeded) =>
    stop({ exceeded }),
  );
  const closed = Promise.all([
    readStream(stdout, [everyOutput, standardOutput], file, tail.onOutput, () => stop("flood")),
    readStream(stderr, [everyOutput, standardError], file, tail.onOutput, () => stop("flood")),
  ]);

  const abort = () => stop("abort");
  job.signal.addEventListener("abort", abort, { once: true });
  if (job.signal.aborted) abort(); // aborted while it started
  const timed = job.timeoutMs > 0 && Number.isFinite(job.timeoutMs);
  const cancelLimit = timed ? clock.timer(job.timeoutMs, () => stop("timeout")) : () => {};
  const { code, signal } = await waitForExit(child);
  unwatch();
  cancelLimit();
  job.signal.removeEventListener("abort", abort);

  const leftoverNote = await endAllProcesses(job.programs, pid, closed, mark);
  cancelKill();
  tail.stop();
  for (const stream of [stdout, stderr]) stream.destroy();
  const kept = file.close();

  const notes = [
    ...(leftoverNote ? [leftoverNote] : []),
    ...(job.sandbox?.settle?.() ?? []),
    ...(kept.failure ? [kept.failure] : []),
    ...explainOutput(job.command, code, everyOutput),
  ];
  const shown = shorten(everyOutput, kept.path, job);
  if (shown.whole) kept.drop();
  const text = [
    shown.text.replace(/\n+$/, ""),
    ...notes.map((note) => `[${note}]`),
    `[${describeEnd(job, stopReason, code, signal, elapsed())}]`,
  ];
  return {
    exit: code,
    ...(signal && { signal }),
    ...(stopReason === "timeout" && { timedOut: true }),
    ...(stopReason === "abort" && { aborted: true }),
    stdout: shorten(standardOutput, kept.path, job).text,
    stderr: shorten(standardError, kept.path, job).text,
    text: text.filter(Boolean).join("\n"),
    ...(kept.path && !shown.whole && { file: kept.path }),
    bytes: everyOutput.bytes,
    ms: elapsed(),
  };
}

// ── start and end ────────────────────────────────────────────────────────────────────────────────

/** Starts a leader of its own group and session, without a terminal, with an empty stdin. */
async function startProcess(
  job: CommandJob,
  mark: ProcessMark,
): Promise<{ child: ChildProcess; stdout: Readable; stderr: Readable }> {
  if (!fs.statSync(job.cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`Cannot run a command in '${job.cwd}': no such folder. Choose another one.`);
  const { argv, env } = (job.sandbox ?? mark).wrap(shellArgv(job));
  const [stdoutPipe, stderrPipe] = openPipes(job.programs);
  const inherited = inheritedFiles();
  const nothing = inherited.length ? fs.openSync(os.devNull, "r") : -1;
  const stdio: ("ignore" | "pipe" | number)[] = [
    "ignore",
    stdoutPipe?.write ?? "pipe",
    stderrPipe?.write ?? "pipe",
  ];
  for (const fd of inherited) stdio[fd] = nothing;
  try {
    const child = job.programs.start(argv[0]!, argv.slice(1), {
      cwd: job.cwd,
      env: { ...job.env, ...env },
      ownPath: true, // the line was judged with this PATH
      stdio: Array.from(stdio, (target) => target ?? "ignore"),
      detached: process.platform !== "win32", // on Windows it would open a window
      windowsHide: true,
      windowsVerbatimArguments: process.platform === "win32",
    });
    await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return {
      child,
      stdout: stdoutPipe?.read() ?? child.stdout!,
      stderr: stderrPipe?.read() ?? child.stderr!,
    };
  } catch (error) {
    for (const pipe of [stdoutPipe, stderrPipe]) pipe?.read().destroy();
    job.sandbox?.settle?.();
    throw startError(error as NodeJS.ErrnoException, argv[0]!);
  } finally {
    for (const fd of [stdoutPipe?.write, stderrPipe?.write, nothing])
      if (fd !== undefined && fd >= 0) fs.closeSync(fd);
  }
}

function shellArgv(job: CommandJob): string[] {
  if (job.argv) return job.argv;
  if (process.platform === "win32")
    return [process.env.ComSpec ?? "cmd.exe", "/d", "/s", "/c", `"${job.command}"`];
  const bash = ["bash", "sh"]
    .map((name) => job.programs.find(name, job.env.PATH ?? "/usr/bin:/bin"))
    .find(Boolean);
  return [bash ?? "sh", "-c", "--", job.command]; // a line may begin with a dash
}

/**
 * Files that zz inherited from its parent and would pass on: a folder among them would be a way out
 * of the sandbox.
 */
function inheritedFiles(): number[] {
  if (process.platform !== "linux") return [];
  const open = fs.readdirSync("/proc/self/fdinfo").map(Number);
  return open.filter((fd) => {
    if (fd < 3) return false;
    try {
      const flags =
        /^flags:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0";
      return !(Number.parseInt(flags, 8) & 0o2000000); // O_CLOEXEC
    } catch {
      return false; // closed meanwhile
    }
  });
}

function startError(error: { code?: string; message?: string }, program: string): Error {
  const sentences: Record<string, string> = {
    ENOENT: `Cannot run '${program}': it is not installed, or not in PATH. Install it, or choose another shell.`,
    E2BIG: "Cannot run the command: it is too long. Write it to a file and run that.",
    ERR_INVALID_ARG_VALUE: "Cannot run the command: it holds a NUL character. Write it without.",
  };
  return new Error(sentences[error.code ?? ""] ?? error.message, { cause: error });
}

function waitForExit(
  child: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
}

// ── output ───────────────────────────────────────────────────────────────────────────────────────

/** Both ends of an output of any length. */
interface Captured {
  front: string;
  back: string;
  cut: boolean; // something between them was dropped
  lines: number;
  bytes: number;
  broken: number; // characters that were not valid UTF-8
}
function newCapture(): Captured {
  return { front: "", back: "", cut: false, lines: 0, bytes: 0, broken: 0 };
}

function recordText(capture: Captured, text: string): void {
  const room = MAX_HELD_CHARS - capture.front.length;
  if (room > 0) capture.front += text.slice(0, room);
  if (room < text.length) capture.back += room > 0 ? text.slice(room) : text;
  if (capture.back.length <= 2 * MAX_HELD_CHARS) return;
  capture.back = capture.back.slice(-MAX_HELD_CHARS);
  capture.cut = true;
}

function readStream(
  stream: Readable,
  captured: Captured[],
  file: OutputStore,
  onOutput: () => void,
  onTooMuch: () => void,
): Promise<void> {
  const decoder = new TextDecoder(); // holds back incomplete characters
  const add = (text: string, bytes: Uint8Array) => {
    const [lines, broken] = [
      countByte(bytes, 10),
      text.includes("\ufffd") ? text.split("\ufffd").length - 1 : 0,
    ];
    for (const capture of captured) {
      recordText(capture, text);
      capture.bytes += bytes.length;
      capture.lines += lines;
      capture.broken += broken;
    }
  };
  stream.on("data", (bytes: Buffer) => {
    file.add(bytes);
    add(decoder.decode(bytes, { stream: true }), bytes);
    if (captured[0]!.bytes > MAX_FILE_BYTES) onTooMuch();
    onOutput();
  });
  return new Promise((resolve) => {
    stream.on("error", () => {}); // only its end matters
    stream.on("end", () => add(decoder.decode(), new Uint8Array()));
    stream.on("close", resolve);
  });
}

function countByte(bytes: Uint8Array, byte: number): number {
  let total = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === byte) total++;
  return total;
}

function shorten(
  capture: Captured,
  file: string | undefined,
  { veil }: CommandJob,
): { text: string; whole: boolean } {
  const readable = (text: string) => veil?.(outputForModel(text)) ?? outputForModel(text);
  const wholeText = capture.cut ? undefined : readable(capture.front + capture.back);
  const room = MAX_SHOWN_CHARS - NOTES_CHARS;
  if (wholeText !== undefined && wholeText.length <= room) return { text: wholeText, whole: true };
  const head = keepHead(wholeText ?? readable(capture.front), Math.floor(room * HEAD_SHARE));
  const end = keepTail(wholeText ?? readable(capture.back), Math.floor(room * (1 - HEAD_SHARE)));
  const lines = Math.max(0, capture.lines - breaks(head) - breaks(end));
  const bytes = Math.max(0, capture.bytes - Buffer.byteLength(head) - Buffer.byteLength(end));
  const where = file ? `; all of it is in ${file}` : "";
  return {
    text: `${head}\n[… ${plural(lines, "line")}, ${plural(bytes, "byte")} left out${where}]\n${end}`,
    whole: false,
  };
}

const breaks = (text: string) => text.split("\n").length - 1;

function keepHead(text: string, maxChars: number): string {
  const lineEnd = text.lastIndexOf("\n", maxChars);
  return (lineEnd > maxChars / 2 ? text.slice(0, lineEnd) : text.slice(0, maxChars)).toWellFormed();
}

function keepTail(text: string, maxChars: number): string {
  const tail = text.slice(-maxChars);
  const lineEnd = tail.indexOf("\n");
  return (lineEnd >= 0 && lineEnd < maxChars / 2 ? tail.slice(lineEnd + 1) : tail).toWellFormed();
}

const CODES =
  /\x1b\[[0-?]*[ -/]*([@-~])?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]/g;
const CONTROLS = /[\0-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g;

/**
 * The text as a terminal would show it: without control codes, and only the last state of a line
 * that was overwritten.
 */
export function outputForModel(raw: string): string {
  const plain = raw.replace(CODES, (code, end) => (end === "K" ? code : "")).replace(CONTROLS, "");
  if (!/[\r\b\x1b]/.test(plain)) return plain;
  return plain
    .split(/\r*\n/)
    .map((line) => (/[\r\b\x1b]/.test(line) ? lastState(line) : line))
    .join("\n");
}

function lastState(line: string): string {
  // replaying it would take long
  if (line.length > 20_000) line = line.replace(/\r+$/, "").replace(/^.*\r/s, "");
  let [cells, column] = ["", 0];
  for (const part of line.split(/(\r|\x08|\x1b\[[\d;]*K|\x1b)/)) {
    if (part === "" || part === "\x1b") continue;
    if (part === "\r") column = 0;
    else if (part === "\b") column = Math.max(0, column - 1);
    else if (part.startsWith("\x1b[1")) cells = " ".repeat(column) + cells.slice(column);
    else if (part.startsWith("\x1b[2")) cells = "";
    else if (part.startsWith("\x1b[")) cells = cells.slice(0, column);
    else {
      cells = cells.slice(0, column).padEnd(column) + part + cells.slice(column + part.length);
      column += part.length;
    }
  }
  return cells;
}

/** Reports the last non-empty lines, now and then. */
function watchTail(
  clock: Clock,
  captured: Captured,
  show?: (lines: string) => void,
): { onOutput(): void; stop(): void } {
  let cancel: (() => void) | undefined; // while a report is due
  let lastShown = -Infinity;
  const report = () => {
    cancel = undefined;
    lastShown = clock.now();
    const end = (captured.back || captured.front).slice(-4_000);
    const lines = outputForModel(end)
      .split("\n")
      .flatMap((line) => (line.trim() ? [line.trimEnd().slice(-500)] : []));
    if (lines.length) show?.(lines.slice(-LIVE_LINES).join("\n"));
  };
  return {
    onOutput() {
      if (show && !cancel)
        cancel = clock.timer(Math.max(0, lastShown + LIVE_INTERVAL_MS - clock.now()), report);
    },
    stop() {
      if (!cancel) return;
      cancel();
      report();
    },
  };
}

// ── how it ended ─────────────────────────────────────────────────────────────────────────────────

function describeEnd(
  job: CommandJob,
  stopReason: Stop | undefined,
  code: number | null,
  signal: string | null,
  ms: number,
): string {
  const elapsed = ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
  if (stopReason === "abort") return "interrupted";
  if (stopReason === "timeout") {
    const { timeoutMs, maxTimeoutMs = 600_000 } = job;
    const upTo = Number.isFinite(maxTimeoutMs) ? ` (up to ${maxTimeoutMs})` : "";
    const longer =
      timeoutMs < maxTimeoutMs
        ? `Give it a longer timeout_ms${upTo}, or let it do less`
        : "Let it do less";
    return `killed after ${Number((timeoutMs / 1_000).toFixed(1))} s: it did not end by itself. ${longer}; what runs forever must be stopped within the command`;
  }
  if (typeof stopReason === "object") return `killed after ${elapsed}: it ${stopReason.exceeded}`;
  if (stopReason === "flood")
    return `killed after ${elapsed}: it printed more than ${MAX_FILE_BYTES / 1024 / 1024} MB. Let it print less, by head, grep or a file`;
  if (signal) return `killed by ${signal} · ${elapsed}`;
  const name = Object.entries(os.constants.signals).find(
    ([, number]) => number + 128 === code,
  )?.[0];
  return name
    ? `exit code ${code}, as after ${name} · ${elapsed}`
    : `exit code ${code} · ${elapsed}`;
}

const ASKS =
  /EOFError|EOF when reading|\/dev\/tty|not a (?:tty|terminal)|terminal is required|No tty present|inappropriate ioctl/i;
const READS = /(?:^|[;&|({\s])(?:read|select|passwd|sudo|su|ssh)\b/;

/** Explains what a model would otherwise have to guess. */
function explainOutput(command: string, code: number | null, captured: Captured): string[] {
  const sentences: string[] = [];
  const words = captured.front.slice(-2_000) + captured.back.slice(-2_000);
  if (code !== 0 && (ASKS.test(words) || (!words.trim() && READS.test(command))))
    sentences.push(
      "nobody can type into a command: its input is empty and it has no terminal. Give the answer by an option such as -y, or pipe it: echo yes | …",
    );
  if (captured.broken)
    sentences.push(
      "not all of this is UTF-8: what could not be read stands as \ufffd. Look at it with xxd or file, or convert it with iconv",
    );
  return sentences;
}
