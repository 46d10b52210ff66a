// exec: runs one command in a process group of its own, drains what it prints within bounds, and says how it ended.

import type { ChildProcess } from "node:child_process";
import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import type { Sandbox } from "./sandbox.ts";

export interface Job {
  command: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
  timeoutMs: number; // 0 or Infinity: none
  signal: AbortSignal;
  sandbox?: Sandbox;
  shell?: string;
  onTail?(line: string): void; // the line it printed last, at most ten times a second
  keepIn: string; // folder for full outputs: 0700, the files 0600
}
export interface Outcome {
  exit: number | null;
  signal?: string;
  timedOut?: boolean;
  aborted?: boolean;
  stdout: string;
  stderr: string;
  text: string; // both as they came, then how it ended: what the model reads
  file?: string; // all of it, when text does not hold all of it
  bytes: number;
  ms: number;
}

export const MOST = 30_000; // characters of an output that the model reads
export const FILE_MOST = 100 * 1024 * 1024; // bytes of an output that are kept
const NOTES = 1_000; // characters of MOST that are for what we say ourselves
const HEAD = 0.4; // of what is shown of a long output, the rest is its end
const WINDOW = 200_000; // characters that are held of each end: what is shown is made from them
const GRACE = 2_000; // ms from SIGTERM to SIGKILL
const LINGER = 1_000; // ms that children may live on after the command itself
const OFTEN = 100; // ms between two live lines

type Stop = "timeout" | "abort" | "flood";

/** Names that hold one of these hold a secret. */
export const SECRET =
  /KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|(?:^|_)(?:PASS|PAT|AUTH)$|(?:^|_)PASS_|._PWD$/i;

/** What would make bash read a line otherwise than it was judged. */
const TWISTS = /^(BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|POSIXLY_CORRECT|TEXTDOMAIN.*|IFS)$/;

export function cleanEnv(env: NodeJS.ProcessEnv, allowed: (name: string) => boolean): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !TWISTS.test(name) && (!SECRET.test(name) || allowed(name))),
  );
}

export async function runJob(job: Job): Promise<Outcome> {
  const began = performance.now();
  const took = () => performance.now() - began;
  if (job.signal.aborted)
    return { exit: null, aborted: true, stdout: "", stderr: "", text: "[interrupted]", bytes: 0, ms: took() };

  const file = keeper(job.keepIn);
  const [all, out, err] = [tape(), tape(), tape()];
  const tail = live(all, job.onTail);
  const { child, stdout, stderr } = await start(job);
  const pid = child.pid!;
  let why: Stop | undefined;
  let last: NodeJS.Timeout | undefined;
  const stop = (reason: Stop) => {
    if (why) return;
    why = reason;
    send(pid, "SIGTERM", !!job.sandbox);
    last = setTimeout(send, GRACE, pid, "SIGKILL");
  };
  const closed = Promise.all([
    drain(stdout, [all, out], file, tail.tell, () => stop("flood")),
    drain(stderr, [all, err], file, tail.tell, () => stop("flood")),
  ]);

  const abort = () => stop("abort");
  job.signal.addEventListener("abort", abort, { once: true });
  if (job.signal.aborted) abort(); // while it started
  const timed = job.timeoutMs > 0 && Number.isFinite(job.timeoutMs);
  const clock = timed ? setTimeout(stop, Math.min(job.timeoutMs, 2 ** 31 - 1), "timeout") : undefined;
  const { code, signal } = await ended(child);
  clearTimeout(clock);
  job.signal.removeEventListener("abort", abort);

  const left = await settle(pid, closed);
  clearTimeout(last);
  tail.stop();
  for (const stream of [stdout, stderr]) stream.destroy();
  const kept = file.close();

  const notes = [
    ...(left ? [left] : []),
    ...(job.sandbox?.settle?.() ?? []),
    ...(kept.failure ? [kept.failure] : []),
    ...advice(job.command, code, all),
  ];
  const shown = show(all, kept.path);
  if (shown.whole) kept.drop();
  const text = [
    shown.text.replace(/\n+$/, ""),
    ...notes.map((note) => `[${note}]`),
    `[${how(job, why, code, signal, took())}]`,
  ];
  return {
    exit: code,
    ...(signal && { signal }),
    ...(why === "timeout" && { timedOut: true }),
    ...(why === "abort" && { aborted: true }),
    stdout: show(out, kept.path).text,
    stderr: show(err, kept.path).text,
    text: text.filter(Boolean).join("\n"),
    ...(kept.path && !shown.whole && { file: kept.path }),
    bytes: all.bytes,
    ms: took(),
  };
}

// ── start and end ──────────────────────────────────────────────────────────────────────────────────────

/** A leader of its own group and session, without a terminal, with an empty stdin. */
async function start(job: Job): Promise<{ child: ChildProcess; stdout: Readable; stderr: Readable }> {
  if (!fs.statSync(job.cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`Cannot run a command in '${job.cwd}': no such folder. Choose another one.`);
  const { argv, env } = job.sandbox?.wrap(shell(job)) ?? { argv: shell(job), env: {} };
  const [out, err] = pipes(job.keepIn);
  const leaks = leaked();
  const nothing = leaks.length ? fs.openSync(os.devNull, "r") : -1;
  const stdio: ("ignore" | "pipe" | number)[] = ["ignore", out?.write ?? "pipe", err?.write ?? "pipe"];
  for (const fd of leaks) stdio[fd] = nothing;
  try {
    const child = spawn(argv[0]!, argv.slice(1), {
      cwd: job.cwd,
      env: { ...job.env, ...env },
      stdio: Array.from(stdio, (one) => one ?? "ignore"),
      detached: process.platform !== "win32", // there it would open a window
      windowsHide: true,
      windowsVerbatimArguments: process.platform === "win32",
    });
    await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    return { child, stdout: out?.read() ?? child.stdout!, stderr: err?.read() ?? child.stderr! };
  } catch (error) {
    for (const pipe of [out, err]) pipe?.read().destroy();
    job.sandbox?.settle?.();
    throw cannot(error as NodeJS.ErrnoException, argv[0]!);
  } finally {
    for (const fd of [out?.write, err?.write, nothing]) if (fd !== undefined && fd >= 0) fs.closeSync(fd);
  }
}

function shell(job: Job): string[] {
  if (job.shell) return [job.shell, "-c", "--", job.command];
  if (process.platform === "win32") return [process.env.ComSpec ?? "cmd.exe", "/d", "/s", "/c", `"${job.command}"`];
  const folders = (job.env.PATH ?? "/usr/bin:/bin").split(":").filter(path.isAbsolute);
  const bash = folders.some((folder) => fs.existsSync(path.join(folder, "bash")));
  return [bash ? "bash" : "sh", "-c", "--", job.command]; // a line may begin with a dash
}

/**
 * Node gives a child sockets for its output, and Linux cannot open a socket again, so that `tee /dev/stderr` would fail.
 * Real pipes only come from mkfifo. Where there is none, sockets do.
 */
function pipes(folder: string): { write: number; read(): Readable }[] {
  if (process.platform !== "linux") return [];
  const names = ["out", "err"].map((name) => path.join(folder, `.${name}-${randomUUID()}`));
  const { O_RDONLY, O_NONBLOCK, O_WRONLY } = fs.constants;
  const opened: number[] = [];
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    execFileSync("/usr/bin/mkfifo", ["-m", "600", ...names], { stdio: "ignore" }); // PATH may name the project's folders
    return names.map((name) => {
      const fd = fs.openSync(name, O_RDONLY | O_NONBLOCK);
      opened.push(fd);
      const write = fs.openSync(name, O_WRONLY);
      opened.push(write);
      return { write, read: () => new net.Socket({ fd, readable: true, writable: false }) };
    });
  } catch {
    for (const fd of opened) fs.closeSync(fd);
    return [];
  } finally {
    for (const name of names) if (fs.existsSync(name)) fs.unlinkSync(name);
  }
}

/** What zz itself was given open by who started it, and would hand on: a folder among it would be a way out. */
function leaked(): number[] {
  if (process.platform !== "linux") return [];
  const open = fs.readdirSync("/proc/self/fdinfo").map(Number);
  return open.filter((fd) => {
    if (fd < 3) return false;
    try {
      const flags = /^flags:\s*(\d+)/m.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "0";
      return !(Number.parseInt(flags, 8) & 0o2000000); // O_CLOEXEC
    } catch {
      return false; // closed meanwhile
    }
  });
}

function cannot(error: NodeJS.ErrnoException, program: string): Error {
  const told: Record<string, string> = {
    ENOENT: `Cannot run '${program}': it is not installed, or not in PATH. Install it, or choose another shell.`,
    E2BIG: "Cannot run the command: it is too long. Write it to a file and run that.",
    ERR_INVALID_ARG_VALUE: "Cannot run the command: it holds a NUL character. Write it without.",
  };
  return new Error(told[error.code ?? ""] ?? error.message, { cause: error });
}

function ended(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
}

/** What the command left behind gets a moment to end by itself, then is ended. Says so if it was. */
async function settle(pid: number, closed: Promise<unknown>): Promise<string | undefined> {
  let open = true;
  void closed.then(() => (open = false));
  const gone = async (ms: number) => {
    const until = performance.now() + ms;
    do {
      await Promise.race([closed, pause(10)]);
      if (!open && !living(pid)) return true;
      if (!open) await pause(10);
    } while (performance.now() < until);
    return false;
  };
  if (await gone(LINGER)) return;
  send(pid, "SIGTERM");
  if (!(await gone(GRACE))) send(pid, "SIGKILL");
  if (!(await gone(LINGER / 2)) && open)
    return "a process that left the command's group still holds its output, and may be running";
  return "processes that it left running were ended. Start, use and stop a server within one command";
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function send(pid: number, signal: NodeJS.Signals, boxed = false): void {
  if (process.platform === "win32") return void spawn("taskkill", ["/pid", `${pid}`, "/t", "/f"], { stdio: "ignore" });
  const kill = (target: number) => {
    try {
      process.kill(target, signal);
    } catch {} // gone
  };
  const members = family(pid);
  // bubblewrap would die of SIGTERM at once, and the command with it by SIGKILL: only who is within is told.
  if (!boxed) kill(-pid);
  for (const member of members) if (member !== pid) kill(member);
}

function living(pid: number): boolean {
  if (process.platform === "win32") return false;
  try {
    process.kill(-pid, 0);
    return process.platform !== "linux" || family(pid).length > 0; // a dead one that nobody asked for counts as well
  } catch {
    return false;
  }
}

/** Who is alive of a leader's group and session, and whoever they started: the sandbox's own processes too. */
function family(leader: number): number[] {
  if (process.platform !== "linux") return [];
  const table = fs.readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [state, ...numbers] = fs
        .readFileSync(`/proc/${name}/stat`, "latin1")
        .replace(/^.*\) /s, "")
        .split(" ");
      const [parent, group, session] = numbers.map(Number);
      return state === "Z" ? [] : [{ pid: Number(name), parent: parent!, group: group!, session: session! }];
    } catch {
      return []; // gone meanwhile
    }
  });
  const found = new Set(
    table.filter((one) => [one.pid, one.group, one.session].includes(leader)).map((one) => one.pid),
  );
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const one of table) if (found.has(one.parent)) found.add(one.pid);
  }
  return [...found];
}

// ── what it printed ────────────────────────────────────────────────────────────────────────────────────

/** Both ends of an output, whatever its length. */
interface Tape {
  front: string;
  back: string;
  cut: boolean; // something between them is gone
  lines: number;
  bytes: number;
  broken: number; // characters that were not UTF-8
}
function tape(): Tape {
  return { front: "", back: "", cut: false, lines: 0, bytes: 0, broken: 0 };
}

function record(tape: Tape, text: string): void {
  const room = WINDOW - tape.front.length;
  if (room > 0) tape.front += text.slice(0, room);
  if (room < text.length) tape.back += room > 0 ? text.slice(room) : text;
  if (tape.back.length <= 2 * WINDOW) return;
  tape.back = tape.back.slice(-WINDOW);
  tape.cut = true;
}

function drain(stream: Readable, tapes: Tape[], file: Keeper, tell: () => void, flood: () => void): Promise<void> {
  const decoder = new TextDecoder(); // holds back half a character
  const take = (text: string, bytes: Uint8Array) => {
    const [lines, broken] = [count(bytes, 10), text.includes("\ufffd") ? text.split("\ufffd").length - 1 : 0];
    for (const tape of tapes) {
      record(tape, text);
      tape.bytes += bytes.length;
      tape.lines += lines;
      tape.broken += broken;
    }
  };
  stream.on("data", (bytes: Buffer) => {
    file.add(bytes);
    take(decoder.decode(bytes, { stream: true }), bytes);
    if (tapes[0]!.bytes > FILE_MOST) flood();
    tell();
  });
  return new Promise((resolve) => {
    stream.on("error", () => {}); // its end is all that counts
    stream.on("end", () => take(decoder.decode(), new Uint8Array()));
    stream.on("close", resolve);
  });
}

function count(bytes: Uint8Array, what: number): number {
  let found = 0;
  for (let i = 0; i < bytes.length; i++) if (bytes[i] === what) found++;
  return found;
}

interface Keeper {
  add(bytes: Buffer): void;
  close(): { path?: string; failure?: string; drop(): void };
}
/** Writes all of it to a file as soon as there is more than the model is shown. */
function keeper(folder: string): Keeper {
  let held: Buffer[] = [];
  let size = 0;
  let fd: number | undefined;
  let name: string | undefined;
  let failure: string | undefined;
  const put = (bytes: Buffer) => {
    try {
      if (fd === undefined) {
        fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
        const at = path.join(
          folder,
          `output-${new Date().toISOString().replace(/\D/g, "").slice(0, 14)}-${randomUUID().slice(0, 8)}.txt`,
        );
        fd = fs.openSync(at, "wx", 0o600);
        name = at;
      }
      for (let at = 0; at < bytes.length; ) at += fs.writeSync(fd, bytes, at);
    } catch (error) {
      failure = `the whole output could not be kept in '${folder}': ${(error as Error).message}`;
    }
  };
  return {
    add(bytes) {
      const room = FILE_MOST - size;
      size += bytes.length;
      if (failure || room <= 0) return;
      if (size <= MOST) return void held.push(bytes);
      for (const one of held) put(one);
      held = [];
      put(bytes.subarray(0, room));
    },
    close() {
      if (fd !== undefined) fs.closeSync(fd);
      const drop = () => name && fs.rmSync(name, { force: true });
      return { ...(name && { path: name }), ...(failure && { failure }), drop };
    },
  };
}

function show(tape: Tape, file: string | undefined): { text: string; whole: boolean } {
  const whole = tape.cut ? undefined : asShown(tape.front + tape.back);
  const room = MOST - NOTES;
  if (whole !== undefined && whole.length <= room) return { text: whole, whole: true };
  const head = untilLine(whole ?? asShown(tape.front), Math.floor(room * HEAD));
  const end = fromLine(whole ?? asShown(tape.back), Math.floor(room * (1 - HEAD)));
  const lines = Math.max(0, tape.lines - breaks(head) - breaks(end));
  const bytes = Math.max(0, tape.bytes - Buffer.byteLength(head) - Buffer.byteLength(end));
  const where = file ? `; all of it is in ${file}` : "";
  return { text: `${head}\n[… ${lines} lines, ${bytes} bytes left out${where}]\n${end}`, whole: false };
}

const breaks = (text: string) => text.split("\n").length - 1;

function untilLine(text: string, most: number): string {
  const at = text.lastIndexOf("\n", most);
  return (at > most / 2 ? text.slice(0, at) : text.slice(0, most)).toWellFormed();
}

function fromLine(text: string, most: number): string {
  const rest = text.slice(-most);
  const at = rest.indexOf("\n");
  return (at >= 0 && at < most / 2 ? rest.slice(at + 1) : rest).toWellFormed();
}

const CODES =
  /\x1b\[[0-?]*[ -/]*([@-~])?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]/g;
const CONTROLS = /[\0-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g;

/** What a terminal would show of it: no codes, and of a line that was written over and over its last state. */
export function asShown(raw: string): string {
  const plain = raw.replace(CODES, (code, end) => (end === "K" ? code : "")).replace(CONTROLS, "");
  if (!/[\r\b\x1b]/.test(plain)) return plain;
  return plain
    .split(/\r*\n/)
    .map((line) => (/[\r\b\x1b]/.test(line) ? lastState(line) : line))
    .join("\n");
}

function lastState(line: string): string {
  if (line.length > 20_000) line = line.replace(/\r+$/, "").replace(/^.*\r/s, ""); // to redraw it would take long
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

/** The last line that is not empty, now and then. */
function live(all: Tape, show?: (line: string) => void): { tell(): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let at = -OFTEN;
  const now = () => {
    timer = undefined;
    at = performance.now();
    const end = (all.back || all.front).slice(-4_000);
    const line = asShown(end).trimEnd().split("\n").at(-1)?.trim();
    if (line) show?.(line.slice(-500));
  };
  return {
    tell() {
      if (show && !timer) timer = setTimeout(now, Math.max(0, at + OFTEN - performance.now()));
    },
    stop() {
      if (!timer) return;
      clearTimeout(timer);
      now();
    },
  };
}

// ── how it ended ───────────────────────────────────────────────────────────────────────────────────────

function how(job: Job, why: Stop | undefined, code: number | null, signal: string | null, ms: number): string {
  const took = ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.round(ms / 1_000)} s`;
  if (why === "abort") return "interrupted";
  if (why === "timeout")
    return `killed after ${Number((job.timeoutMs / 1_000).toFixed(1))} s: it did not end by itself. Give it a longer timeout_ms (up to 600000), or let it do less; what runs for ever must be stopped within the command`;
  if (why === "flood")
    return `killed after ${took}: it printed more than ${FILE_MOST / 1024 / 1024} MB. Let it print less, by head, grep or a file`;
  if (signal) return `killed by ${signal} · ${took}`;
  const name = Object.entries(os.constants.signals).find(([, number]) => number + 128 === code)?.[0];
  return name ? `exit code ${code}, as after ${name} · ${took}` : `exit code ${code} · ${took}`;
}

const ASKS =
  /EOFError|EOF when reading|\/dev\/tty|not a (?:tty|terminal)|terminal is required|No tty present|inappropriate ioctl/i;
const READS = /(?:^|[;&|({\s])(?:read|select|passwd|sudo|su|ssh)\b/;

/** What a model would otherwise have to guess. */
function advice(command: string, code: number | null, all: Tape): string[] {
  const told: string[] = [];
  const words = all.front.slice(-2_000) + all.back.slice(-2_000);
  if (code !== 0 && (ASKS.test(words) || (!words.trim() && READS.test(command))))
    told.push(
      "nobody can type into a command: its input is empty and it has no terminal. Give the answer by an option such as -y, or pipe it: echo yes | …",
    );
  if (all.broken)
    told.push(
      "not all of this is UTF-8: what could not be read stands as \ufffd. Look at it with xxd or file, or convert it with iconv",
    );
  return told;
}
