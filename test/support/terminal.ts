// Opens a real pseudo-terminal, runs zz in it, and reads its screen. zz runs in the test's own
// process where that is enough: a process of its own costs half a second of work.
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { after } from "node:test";
import { setImmediate as nextRound, setTimeout as sleep } from "node:timers/promises";
import { ReadStream, WriteStream } from "node:tty";
import { type IPty, spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import type { Clock } from "../../kernel/contract.ts";
import type { EarlyStop } from "../../kernel/program/process-signals.ts";
import { tryTo } from "../../sdk/text.ts";
import { clockOf, environment, type Place, WAYS, type Way, ZZS_OWN } from "./run.ts";
import { waitFor } from "./wait.ts";

export interface Terminal {
  /** For its process id and signals; only with { process: true }. */
  pty: IPty;
  /** The screen as a person sees it, without trailing blanks. */
  screen(): string;
  /** The screen with its colours. */
  view: xterm.Terminal;
  type(keys: string): void;
  /** Types, and waits until the screen holds the text. */
  hit(keys: string, text: string | RegExp): Promise<string>;
  /** Types, and waits until zz has read it; not with { process: true }. */
  press(keys: string): Promise<void>;
  /** Waits until all that was written so far is on the screen; not with { process: true }. */
  drawn(): Promise<string>;
  resize(cols: number, rows: number): void;
  /** Every byte that was written, unchanged. */
  raw(): string;
  /** Hears of each piece that is written. */
  onData(hear: (text: string) => void): void;
  /** From now on only reads the bytes, so that measurements leave out the work of this screen. */
  shut(): void;
  /** Waits until the screen holds the text. */
  sees(text: string | RegExp): Promise<string>;
  exited: Promise<number>;
  /** Closes the window; at the latest that is done at the end of the file. */
  hangUp(): unknown;
}

process.setMaxListeners(0); // each zz in this process waits for its end
export const KEY = { enter: "\r", ctrlC: "\x03", ctrlD: "\x04" };

export interface TerminalOptions {
  /** It outlives the test that opens it, whose end would hang it up. */
  isShared?: boolean;
  env?: Record<string, string> | undefined;
  cols?: number;
  rows?: number;
  way?: Way;
  shell?: (zz: string) => string;
  /** For signals, a program that has the terminal, or whatever ends a process. */
  process?: boolean;
  /** Instead of the machine's, for zz in this process: standingClock(), which the test moves. */
  clock?: Clock;
}

/** What zz writes to a terminal, and the ways to reach it. */
interface Line {
  type(keys: string): void;
  resize(cols: number, rows: number): void;
  onData(hear: (text: string) => void): void;
  hangUp(): unknown;
  exited: Promise<number>;
  /** What the process does, where it is one of its own. */
  state?(): string;
  pty?: IPty;
  /** Waits until zz has read what was typed, and until what it wrote has been read here. */
  taken?(): Promise<void>;
  flushed?(): Promise<void>;
}

export function terminal(where: Place, args: string[], how: TerminalOptions = {}): Terminal {
  const { cols = 80, rows = 24 } = how;
  const { NO_COLOR, ...inherited } = environment(where, {});
  const env = { ...inherited, TERM: "xterm-256color", ...how.env };
  const size = { cols, rows };
  const isApart = needsProcess(args, how);
  if (isApart && how.clock) throw new Error("A zz in its own process cannot be handed a clock.");
  const line = (isApart ? inProcess : here)(where, args, env, how);
  const view = new xterm.Terminal({ ...size, allowProposedApi: true });
  let [bytes, blind] = ["", false];
  line.onData((data) => {
    bytes += data;
    if (!blind) view.write(data);
  });
  let alive = true;
  if (!how.isShared) after(() => alive && line.hangUp());
  const exited = line.exited.then(async (code) => {
    alive = false;
    await shown();
    return code;
  });
  const shown = () => new Promise<void>((done) => view.write("", done)); // all that has arrived
  const screen = () => {
    const { active } = view.buffer;
    const lines = Array.from(
      { length: active.length },
      (_, i) => active.getLine(i)?.translateToString(true) ?? "",
    );
    return lines.join("\n").trimEnd();
  };
  const sees = async (text: string | RegExp) => {
    let seen = "";
    const isThere = () => {
      seen = screen();
      return typeof text === "string" ? seen.includes(text) : text.test(seen);
    };
    try {
      await waitFor(
        `${text} on the screen`,
        isThere,
        () => `It shows:\n${seen}${line.state?.() ?? ""}`,
      );
    } catch (late) {
      line.hangUp();
      await Promise.race([exited, sleep(2_000, undefined, { ref: false })]);
      throw late;
    }
    return seen;
  };
  return {
    screen,
    view,
    exited,
    sees,
    pty: line.pty!,
    type: line.type,
    onData: line.onData,
    hangUp: line.hangUp,
    hit(keys, text) {
      line.type(keys);
      return sees(text);
    },
    async press(keys) {
      line.type(keys);
      await line.taken!();
    },
    async drawn() {
      await line.flushed!();
      await shown();
      return screen();
    },
    raw: () => bytes,
    shut: () => void (blind = true),
    resize(cols, rows) {
      line.resize(cols, rows);
      view.resize(cols, rows);
    },
  };
}

/** Whether the test needs a process: for its way to start, a script, or an environment that more
 * than zz reads. */
function needsProcess(args: string[], { process, way, shell, env = {} }: TerminalOptions): boolean {
  const isShared = Object.keys(env).some((name) => !ZZS_OWN.test(name) && !TERMINALS.test(name));
  return (
    process === true ||
    way !== undefined ||
    shell !== undefined ||
    args.includes("--run") ||
    isShared
  );
}
const TERMINALS =
  /^(TERM|TERM_PROGRAM|LC_TERMINAL|NO_COLOR|COLORTERM|EDITOR|VISUAL|KITTY_WINDOW_ID|KONSOLE_VERSION|VTE_VERSION|TMUX|STY|ZELLIJ)$/;

function inProcess(
  where: Place,
  args: string[],
  env: NodeJS.ProcessEnv,
  how: TerminalOptions,
): Line {
  const { cols = 80, rows = 24, way = "dist", shell } = how;
  const all = [...WAYS[way], ...args];
  const zz = all.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const [command, ...rest] = shell ? ["bash", "-c", shell(zz)] : all;
  const pty = spawn(command!, rest, { cols, rows, cwd: where.cwd, env, name: env.TERM! });
  const exited = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
  return {
    pty,
    exited,
    type: (keys) => pty.write(keys),
    resize: (cols, rows) => pty.resize(cols, rows),
    onData: (hear) => void pty.onData(hear),
    hangUp: () => pty.kill("SIGKILL"),
    state: () => stateOf(pty.pid),
  };
}

/** Whether it runs, sleeps or is stopped, in which call, and what its event loop waits for. */
function stateOf(pid: number): string {
  const read = (name: string) => tryTo(() => readFileSync(`/proc/${pid}/${name}`, "utf8")) ?? "";
  const states = read("status").match(/^(State|SigPnd|ShdPnd|SigBlk):.*$/gm) ?? [];
  const call = read("syscall"); // of epoll_wait, whose first argument is the loop's own file
  const loop = read(`fdinfo/${Number(call.split(" ")[1])}`);
  const watched = loop.match(/tfd: *\d+ events: *\w+/g) ?? [];
  return ["", "Its process:", ...states, read("wchan"), call.trim(), ...watched].join("\n");
}

/** The part of node-pty that opens a terminal without starting a program. */
interface Native {
  open(cols: number, rows: number): { master: number; slave: number; pty: string };
  resize(fd: number, cols: number, rows: number): void;
}
let native: Native | undefined;
const loadNative = (): Native =>
  createRequire(import.meta.url)(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`);

/** Runs the program in this process, from its source. The terminal is real, but it sends this
 * process no signals. */
function here(where: Place, args: string[], env: NodeJS.ProcessEnv, how: TerminalOptions): Line {
  const { cols = 80, rows = 24, clock } = how;
  native ??= loadNative();
  const { resize } = native;
  const { master: fd, slave, pty: name } = native.open(cols, rows);
  const open = () => openSync(name, constants.O_RDWR | constants.O_NOCTTY);
  const master = new ReadStream(fd).setEncoding("utf8");
  const stdin = new ReadStream(open());
  const [stdout, stderr] = [new WriteStream(open()), new WriteStream(open())];
  // the other end was closed
  for (const stream of [master, stdin, stdout, stderr]) stream.on("error", () => {});
  const marks = readMarks(master);
  const keys = countKeys(stdin);
  const stop: EarlyStop = { why: "Stopped.", leave: () => {} };
  let folder = where.cwd;
  const enter = (to: string) => void (folder = to);
  const io = { stdin, stdout, stderr, env, cwd: () => folder, enter, clock: clockOf({ clock }) };
  const exited = import("../../zz.ts").then(({ run }) => run(args, io, stop)).finally(close);
  return {
    exited,
    flushed,
    taken: () => keys.taken(),
    type: typing((piece) => {
      keys.sent += piece.length;
      master.write(piece);
    }),
    onData: marks.hear,
    resize(cols, rows) {
      resize(fd, cols, rows);
      // as Node does at SIGWINCH
      for (const stream of [stdout, stderr])
        (stream as WriteStream & { _refreshSize(): void })._refreshSize();
    },
    async hangUp() {
      stop.code = 129;
      stop.leave(129);
      await Promise.race([exited, sleep(2_000, undefined, { ref: false })]);
      close();
    },
  };

  /** A mark that is written last is also read last. */
  async function flushed(): Promise<void> {
    while (stdout.writableLength || stderr.writableLength) await nextRound();
    if (master.destroyed) return;
    const { text, read } = marks.next();
    while (!written(text)) await nextRound();
    await read;
  }
  function written(text: string): boolean {
    try {
      return writeSync(slave, text) > 0;
    } catch (error) {
      // there is room once more has been read
      if ((error as NodeJS.ErrnoException).code === "EAGAIN") return false;
      throw error;
    }
  }

  async function close(): Promise<void> {
    await flushed();
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    if (!master.destroyed) closeSync(slave);
    master.destroy();
  }
}

/** Marks in what is written: a number between two NULs, which zz itself never writes and no
 * terminal shows. */
function readMarks(master: ReadStream) {
  const listeners: ((text: string) => void)[] = [];
  const awaited = new Map<number, () => void>();
  let count = 0;
  let rest = "";
  master.on("data", (piece) => {
    const text = `${rest}${piece}`.replace(/\0(\d+)\0/g, (_, mark) => {
      queueMicrotask(() => awaited.get(Number(mark))?.()); // once what stands before it was heard
      return "";
    });
    rest = /\0\d*$/.exec(text)?.[0] ?? ""; // the beginning of one
    const heard = text.slice(0, text.length - rest.length);
    if (heard) for (const hear of listeners) hear(heard);
  });
  return {
    hear: (listener: (text: string) => void) => void listeners.push(listener),
    next: () => {
      const mark = ++count;
      return { text: `\0${mark}\0`, read: new Promise<void>((read) => awaited.set(mark, read)) };
    },
  };
}

/** Counts the bytes that zz reads, against those that were typed. */
function countKeys(stdin: ReadStream) {
  const emit = stdin.emit.bind(stdin) as (event: string, ...values: unknown[]) => boolean;
  const counted = { sent: 0, taken };
  let read = 0;
  let check = () => {};
  stdin.emit = (event: string, ...values: unknown[]) => {
    const isHeard = emit(event, ...values);
    if (event === "data") read += (values[0] as Buffer).length;
    if (event === "data") check();
    return isHeard;
  };
  return counted;

  function taken(): Promise<void> {
    return new Promise((done) => {
      check = () => void (read >= counted.sent && done());
      check();
    });
  }
}

/** Types long texts piece by piece: this very thread has to read each before there is room for the
 * next. */
function typing(write: (piece: Buffer) => void): (keys: string) => void {
  let rest = Buffer.alloc(0);
  const pump = () => {
    write(rest.subarray(0, MAX_PIECE_BYTES));
    rest = rest.subarray(MAX_PIECE_BYTES);
    if (rest.length) setImmediate(pump);
  };
  return (keys) => {
    const waits = rest.length > 0;
    rest = Buffer.concat([rest, Buffer.from(keys)]);
    if (!waits && rest.length) pump();
  };
}
const MAX_PIECE_BYTES = 1_000;
