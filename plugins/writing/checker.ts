// Has plugins checked in a process of its own, which stays for a while: the next question takes a third of the time.
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Problem } from "./check.ts";
import { wrong } from "./where.ts";
import type { Order, Outcome } from "./worker.ts";

export interface Checker {
  check(file: string, text?: string, signal?: AbortSignal): Promise<Problem[]>;
  close(): void;
}

const STAYS = 30_000; // ms without a question
const LIMIT = 60_000; // ms for one
const GENTLE = 10; // whoever types goes first

export function openChecker(): Checker {
  const waiting = new Map<number, { resolve(problems: Problem[]): void; reject(error: Error): void }>();
  let worker: Promise<ChildProcess> | undefined;
  let running: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let count = 0;
  return { check, close };

  async function check(file: string, text?: string, signal?: AbortSignal): Promise<Problem[]> {
    clearTimeout(idle);
    const { promise, resolve, reject } = Promise.withResolvers<Problem[]>();
    const id = ++count;
    waiting.set(id, { resolve, reject });
    const late = () => fail(new Error(`Cannot check '${file}': it took longer than ${LIMIT / 1_000} s.`));
    const limit = setTimeout(late, LIMIT);
    const stop = () => reject(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      signal?.throwIfAborted();
      worker ??= start();
      const child = await worker;
      if (child.connected) child.send({ id, file, text } satisfies Order);
      else fail(new Error(`Cannot check '${file}': the process for it ended. Try again.`));
      return await promise;
    } finally {
      promise.catch(() => {});
      waiting.delete(id);
      clearTimeout(limit);
      signal?.removeEventListener("abort", stop);
      if (!waiting.size) idle = setTimeout(close, STAYS).unref();
    }
  }

  async function start(): Promise<ChildProcess> {
    const [{ fork }, os] = await Promise.all([import("node:child_process"), import("node:os")]);
    const child = fork(fileURLToPath(place()), [], { execArgv: [], stdio: ["ignore", "ignore", "ignore", "ipc"] });
    running = child;
    process.once("exit", close);
    if (child.pid) tryTo(() => os.setPriority(child.pid!, GENTLE));
    child.on("message", ({ id, problems, failure }: Outcome) => {
      const asked = waiting.get(id);
      if (problems) asked?.resolve(problems);
      else asked?.reject(new Error(failure));
    });
    child.on("error", fail);
    child.on("exit", () => fail(new Error("Cannot check: the process for it ended. Try again.")));
    child.unref();
    child.channel?.unref();
    return child;
  }

  function fail(error: Error): void {
    for (const { reject } of waiting.values()) reject(error);
    close();
  }

  function close(): void {
    clearTimeout(idle);
    process.off("exit", close);
    running?.removeAllListeners("exit").kill("SIGKILL");
    running = worker = undefined;
  }
}

/** In dist/ it is a file beside the kernel; from source it lies here. */
function place(): URL {
  const places = ["./worker.ts", "./writing-worker.js", "../writing-worker.js"].map(
    (at) => new URL(at, import.meta.url),
  );
  return places.find((place) => fs.existsSync(place))!;
}

/** The plugin's file that a path stands for; a folder stands for its index. */
export function fileOf(given: string, root: string): string {
  const file = path.resolve(root, given);
  const refuse = (reason: string) => wrong(`Cannot check '${given}': ${reason}`);
  const stat = tryTo(() => fs.statSync(file));
  if (!stat) throw refuse("no such file. Check the path.");
  if (stat.isDirectory()) {
    const index = ["index.ts", "index.js"].map((name) => path.join(file, name)).find((one) => fs.existsSync(one));
    if (!index) throw refuse("it is a folder without an index.ts. Name a file.");
    return index;
  }
  if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (!/\.[cm]?[jt]sx?$/.test(file)) throw refuse("it is not TypeScript. Name a file that ends in .ts.");
  if (stat.size > LARGEST) throw refuse(`${stat.size} bytes are too many for a plugin. Split it.`);
  tryTo(
    () => fs.accessSync(file, fs.constants.R_OK),
    () => {
      throw refuse("permission denied. Check its mode.");
    },
  );
  return file;
}
const LARGEST = 1024 * 1024;

/** As a compiler tells it: file:line:column: message. */
export function listed(problems: Problem[], root: string): string[] {
  const shown = (file: string) => {
    const near = path.relative(root, file);
    return near.startsWith("..") || path.isAbsolute(near) ? file : near;
  };
  return problems.map(({ file, line, column, message }) => `${shown(file)}:${line}:${column}: ${message}`);
}

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;

function tryTo<T>(act: () => T, otherwise: () => T | undefined = () => undefined): T | undefined {
  try {
    return act();
  } catch {
    return otherwise();
  }
}
