// Checks plugins in a separate process, which stays for a while: the next check takes a third of
// the time.
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Clock, Ctx, Programs } from "zz";
import { fileBeside, tryTo, usage } from "zz/text";
import type { Checked, Problem } from "./check.ts";
import type { Order, Outcome } from "./writing-worker.ts";

type Asking = Pick<Ctx, "permissions"> & { signal?: AbortSignal };
type Waiting = PromiseWithResolvers<Checked>;
export interface Checker {
  check(file: string, by: Asking, text?: string): Promise<Checked>;
  close(): void;
}

const IDLE_MS = 30_000; // the process ends after this long without a check
const MAX_CHECK_MS = 60_000;
const LOW_PRIORITY = 10; // typing at the prompt has priority

/** All instances of zz in this process share one, which ends with the last of them. */
let shared: { checker: Checker; users: number } | undefined;

export function openChecker(programs: Programs, clock: Clock): Checker {
  shared ??= { checker: startChecker(programs, clock), users: 0 };
  const current = shared;
  current.users++;
  return {
    check: current.checker.check,
    close() {
      if (--current.users) return;
      if (shared === current) shared = undefined;
      current.checker.close();
    },
  };
}

function startChecker(programs: Programs, clock: Clock): Checker {
  const waiting = new Map<number, Waiting>();
  let running: ChildProcess | undefined;
  let cancelEnd = () => {}; // of a process without a check
  let count = 0;
  return { check, close };

  async function check(file: string, by: Asking, text?: string): Promise<Checked> {
    const { permissions, signal } = by;
    cancelEnd();
    const asked = Promise.withResolvers<Checked>();
    const id = ++count;
    waiting.set(id, asked);
    const late = () =>
      fail(new Error(`Cannot check '${file}': it took longer than ${MAX_CHECK_MS / 1_000} s.`));
    const cancelLimit = clock.timer(MAX_CHECK_MS, late);
    const stop = () => asked.reject(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      signal?.throwIfAborted();
      running ??= start();
      if (running.connected)
        running.send({ id, file, rules: permissions.compiler(), text } satisfies Order);
      else fail(new Error(`Cannot check '${file}': the process for it ended. Try again.`));
      return await asked.promise;
    } finally {
      asked.promise.catch(() => {});
      waiting.delete(id);
      cancelLimit();
      signal?.removeEventListener("abort", stop);
      if (!waiting.size) cancelEnd = clock.timer(IDLE_MS, close, { background: true });
    }
  }

  function start(): ChildProcess {
    const child = forkWorker(programs);
    process.once("exit", close);
    child.on("message", (outcome: Outcome) => settle(waiting.get(outcome.id), outcome));
    child.on("error", (error) => {
      if (child === running) fail(error); // not the checks of the process after it
    });
    child.on("exit", close);
    return child;
  }

  /** Ends the process. Checks that wait for it are told. */
  function close(): void {
    fail(new Error("Cannot check: the process for it ended. Try again."));
  }

  function fail(error: Error): void {
    for (const { reject } of waiting.values()) reject(error);
    cancelEnd();
    process.off("exit", close);
    running?.removeAllListeners("exit").kill("SIGKILL");
    running = undefined;
  }
}

function settle(asked: Waiting | undefined, { checked, failure }: Outcome): void {
  if (checked) asked?.resolve(checked);
  else asked?.reject(new Error(failure));
}

function forkWorker(programs: Programs): ChildProcess {
  const child = programs.fork(fileBeside(import.meta.url, "writing-worker")!, {
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  if (child.pid) tryTo(() => os.setPriority(child.pid!, LOW_PRIORITY));
  child.unref();
  child.channel?.unref();
  return child;
}

/** The plugin's file for a path, or for the name of one in the home; for a folder, its index. */
export function fileOf(typed: string, { root, about }: Pick<Ctx, "root" | "about">): string {
  const named = [".ts", ".js", ""].map((end) => path.join(about.home, "plugins", typed + end));
  const isName = /^[\w-]+$/.test(typed) && !fs.existsSync(path.resolve(root, typed));
  const file =
    (isName && named.find((candidate) => fs.existsSync(candidate))) || path.resolve(root, typed);
  const refuse = (reason: string) => usage(`Cannot check '${typed}': ${reason}`);
  const stat = tryTo(() => fs.statSync(file));
  if (!stat) throw refuse("no such file. Check the path.");
  if (stat.isDirectory()) {
    const index = [declared(file) ?? [], "index.ts", "index.js", "index.tsx"]
      .flat()
      .map((name) => path.join(file, name));
    const indexFile = index.find((candidate) => fs.existsSync(candidate));
    if (!indexFile) throw refuse("it is a folder without an index.ts. Name a file.");
    return indexFile;
  }
  if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (!/\.[cm]?[jt]sx?$/.test(file))
    throw refuse("it is not TypeScript. Name a file that ends in .ts.");
  if (stat.size > MAX_FILE_BYTES)
    throw refuse(`${stat.size} bytes are too many for a plugin. Split it.`);
  if (!tryTo(() => fs.accessSync(file, fs.constants.R_OK) === undefined))
    throw refuse("permission denied. Check its mode.");
  return file;
}

/** The file that a folder's package.json names, as zz's loader finds it. */
function declared(folder: string): string | undefined {
  const { zz, keywords, exports, main } = Object(
    tryTo(() => JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"))),
  );
  const pick = (target: any): unknown =>
    Object(target) === target ? pick(target["."] ?? target.import ?? target.default) : target;
  const entryFile = zz ?? (keywords?.includes?.("zz-plugin") ? (pick(exports) ?? main) : undefined);
  return typeof entryFile === "string" ? entryFile : undefined;
}
const MAX_FILE_BYTES = 1024 * 1024;

/** In the format of compilers: file:line:column: message. */
export function formatProblems(problems: Problem[], root: string): string[] {
  return problems.map(
    ({ file, line, column, message }) => `${nearName(file, root)}:${line}:${column}: ${message}`,
  );
}

export function nearName(file: string, root: string): string {
  const near = path.relative(root, file);
  return near.startsWith("..") || path.isAbsolute(near) ? file : near;
}
