// Runs one command in a process group of its own, reads its output within limits, and says
// how it ended.

import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import type { Readable } from "node:stream";
import type { Clock, Programs } from "zz";
import { anyOf, textOf } from "zz/text";
import {
  endAllProcesses,
  GRACE_MS,
  markProcesses,
  type ProcessMark,
  type ResourceCaps,
  sendSignal,
  watchLimits,
} from "./end-processes.ts";
import { MAX_FILE_BYTES, type OutputStore, openOutputStore } from "./keep-outputs.ts";
import type { Sandbox } from "./open-sandbox.ts";
import { openPipes } from "./real-pipes.ts";
import {
  type Captured,
  newCapture,
  outputForModel,
  readStream,
  shorten,
} from "./shorten-output.ts";

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
  onTail?(tailLines: string): void;
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
const BWRAP_REASONS =
  "No such file or directory|Read-only file system|Not a directory|Permission denied";
const NOT_STARTED = new RegExp(String.raw`^bwrap: Can't [^\n]*(${BWRAP_REASONS})\n?$`);

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
  const isTimed = job.timeoutMs > 0 && Number.isFinite(job.timeoutMs);
  const cancelLimit = isTimed ? clock.timer(job.timeoutMs, () => stop("timeout")) : () => {};
  const { code, signal } = await waitForExit(child);
  unwatch();
  cancelLimit();
  job.signal.removeEventListener("abort", abort);

  const leftoverNote = await endAllProcesses(job.programs, pid, closed, mark);
  cancelKill();
  tail.stop();
  for (const stream of [stdout, stderr]) stream.destroy();
  const kept = file.close();

  const ended = { stopReason, code, signal, ms: elapsed() };
  return outcomeOf(job, [everyOutput, standardOutput, standardError], kept, ended, leftoverNote);
}

interface Ended {
  stopReason: Stop | undefined;
  code: number | null;
  signal: NodeJS.Signals | null;
  ms: number;
}

function outcomeOf(
  job: CommandJob,
  [everyOutput, standardOutput, standardError]: [Captured, Captured, Captured],
  keptOutput: ReturnType<OutputStore["close"]>,
  ended: Ended,
  leftoverNote: string | undefined,
): Outcome {
  const { stopReason, code, signal, ms } = ended;
  const endNotes = [
    ...(leftoverNote ? [leftoverNote] : []),
    ...(job.sandbox?.settle?.() ?? []),
    ...(keptOutput.failure ? [keptOutput.failure] : []),
    ...explainOutput(job.command, code, everyOutput),
  ];
  const shownOutput = shorten(everyOutput, keptOutput.path, job.veil);
  if (shownOutput.whole) keptOutput.drop();
  const textParts = [
    shownOutput.text.replace(/\n+$/, ""),
    ...endNotes.map((endNote) => `[${endNote}]`),
    `[${describeEnd(job, ended)}]`,
  ];
  return {
    exit: code,
    ...(signal && { signal }),
    ...(stopReason === "timeout" && { timedOut: true }),
    ...(stopReason === "abort" && { aborted: true }),
    stdout: shorten(standardOutput, keptOutput.path, job.veil).text,
    stderr: shorten(standardError, keptOutput.path, job.veil).text,
    text: textParts.filter(Boolean).join("\n"),
    ...(keptOutput.path && !shownOutput.whole && { file: keptOutput.path }),
    bytes: everyOutput.bytes,
    ms,
  };
}

// ── start and end ────────────────────────────────────────────────────────────────────────────────

/** Starts a leader of its own group and session, without a terminal, with an empty stdin. */
async function startProcess(
  job: CommandJob,
  processMark: ProcessMark,
): Promise<{ child: ChildProcess; stdout: Readable; stderr: Readable }> {
  if (!fs.statSync(job.cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`Cannot run a command in '${job.cwd}': no such folder. Choose another one.`);
  const { argv, env } = (job.sandbox ?? processMark).wrap(shellArgv(job));
  const [stdoutPipe, stderrPipe] = openPipes(job.programs);
  const inherited = inheritedFiles();
  const nothing = inherited.length ? fs.openSync(os.devNull, "r") : -1;
  const stdio: ("ignore" | "pipe" | number)[] = [
    "ignore",
    stdoutPipe?.write ?? "pipe",
    stderrPipe?.write ?? "pipe",
  ];
  for (const descriptor of inherited) stdio[descriptor] = nothing;
  try {
    const child = job.programs.start(argv[0]!, argv.slice(1), {
      cwd: job.cwd,
      env: { ...job.env, ...env },
      ownPath: true, // the line was judged with this PATH
      stdio: Array.from(stdio, (stdioTarget) => stdioTarget ?? "ignore"),
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
    for (const descriptor of [stdoutPipe?.write, stderrPipe?.write, nothing])
      if (descriptor !== undefined && descriptor >= 0) fs.closeSync(descriptor);
  }
}

function shellArgv(job: CommandJob): string[] {
  if (job.argv) return job.argv;
  if (process.platform === "win32")
    return [process.env.ComSpec ?? "cmd.exe", "/d", "/s", "/c", `"${job.command}"`];
  const shellProgram = ["bash", "sh"]
    .map((shellName) => job.programs.find(shellName, job.env.PATH ?? "/usr/bin:/bin"))
    .find(Boolean);
  return [shellProgram ?? "sh", "-c", "--", job.command]; // a line may begin with a dash
}

/**
 * Files that zz inherited from its parent and would pass on: a folder among them would be a way out
 * of the sandbox.
 */
function inheritedFiles(): number[] {
  if (process.platform !== "linux") return [];
  const openFiles = fs.readdirSync("/proc/self/fdinfo").map(Number);
  return openFiles.filter((descriptor) => {
    // none where it was closed meanwhile
    const [, openFlags] = /^flags:\s*(\d+)/m.exec(textOf(`/proc/self/fdinfo/${descriptor}`)) ?? [];
    return descriptor > 2 && openFlags && !(Number.parseInt(openFlags, 8) & 0o2000000); // O_CLOEXEC
  });
}

function startError(error: { code?: string; message?: string }, program: string): Error {
  const sentences: Record<string, string> = {
    ENOENT:
      `Cannot run '${program}': it is not installed, or not in PATH. ` +
      "Install it, or choose another shell.",
    E2BIG: "Cannot run the command: it is too long. Write it to a file and run that.",
    ERR_INVALID_ARG_VALUE: "Cannot run the command: it holds a NUL character. Write it without.",
  };
  return new Error(sentences[error.code ?? ""] ?? error.message, { cause: error });
}

function waitForExit(
  childProcess: ChildProcess,
): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) =>
    childProcess.once("exit", (code, signal) => resolve({ code, signal })),
  );
}

/** Reports the last non-empty lines, now and then. */
function watchTail(
  clock: Clock,
  captured: Captured,
  showTail?: (tailLines: string) => void,
): { onOutput(): void; stop(): void } {
  let cancelReport: (() => void) | undefined; // while a report is due
  let lastShown = -Infinity;
  const reportTail = () => {
    cancelReport = undefined;
    lastShown = clock.now();
    const outputEnd = (captured.back || captured.front).slice(-4_000);
    const lastLines = outputForModel(outputEnd)
      .split("\n")
      .flatMap((outputLine) => (outputLine.trim() ? [outputLine.trimEnd().slice(-500)] : []));
    if (lastLines.length) showTail?.(lastLines.slice(-LIVE_LINES).join("\n"));
  };
  return {
    onOutput() {
      if (showTail && !cancelReport)
        cancelReport = clock.timer(
          Math.max(0, lastShown + LIVE_INTERVAL_MS - clock.now()),
          reportTail,
        );
    },
    stop() {
      if (!cancelReport) return;
      cancelReport();
      reportTail();
    },
  };
}

// ── how it ended ─────────────────────────────────────────────────────────────────────────────────

function describeEnd(job: CommandJob, { stopReason, code, signal, ms }: Ended): string {
  const elapsed = ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
  if (stopReason === "abort") return "interrupted";
  if (stopReason === "timeout") {
    const { timeoutMs, maxTimeoutMs = 600_000 } = job;
    const upperBound = Number.isFinite(maxTimeoutMs) ? ` (up to ${maxTimeoutMs})` : "";
    const timeAdvice =
      timeoutMs < maxTimeoutMs
        ? `Give it a longer timeout_ms${upperBound}, or let it do less`
        : "Let it do less";
    return (
      `killed after ${Number((timeoutMs / 1_000).toFixed(1))} s: it did not end by itself. ` +
      `${timeAdvice}; what runs forever must be stopped within the command`
    );
  }
  if (typeof stopReason === "object") return `killed after ${elapsed}: it ${stopReason.exceeded}`;
  if (stopReason === "flood")
    return (
      `killed after ${elapsed}: it printed more than ${MAX_FILE_BYTES / 1024 / 1024} MB. ` +
      "Let it print less, by head, grep or a file"
    );
  if (signal) return `killed by ${signal} · ${elapsed}`;
  const signalName = Object.entries(os.constants.signals).find(
    ([, signalNumber]) => signalNumber + 128 === code,
  )?.[0];
  return signalName
    ? `exit code ${code}, as after ${signalName} · ${elapsed}`
    : `exit code ${code} · ${elapsed}`;
}

const ASKS_FOR_INPUT = anyOf(
  /EOFError|EOF when reading|\/dev\/tty|not a (?:tty|terminal)|terminal is required/i,
  /No tty present|inappropriate ioctl/i,
);
const READS_INPUT = /(?:^|[;&|({\s])(?:read|select|passwd|sudo|su|ssh)\b/;

/** Explains what a model would otherwise have to guess. */
function explainOutput(command: string, exitCode: number | null, captured: Captured): string[] {
  const sentences: string[] = [];
  const outputEnds = captured.front.slice(-2_000) + captured.back.slice(-2_000);
  if (
    exitCode !== 0 &&
    (ASKS_FOR_INPUT.test(outputEnds) || (!outputEnds.trim() && READS_INPUT.test(command)))
  )
    sentences.push(
      "nobody can type into a command: its input is empty and it has no terminal. " +
        "Give the answer by an option such as -y, or pipe it: echo yes | …",
    );
  if (captured.broken)
    sentences.push(
      "not all of this is UTF-8: what could not be read stands as \ufffd. " +
        "Look at it with xxd or file, or convert it with iconv",
    );
  return sentences;
}
