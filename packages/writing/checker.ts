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
export interface Checker {
  check(pluginFile: string, requester: Asking, pluginText?: string): Promise<Checked>;
  close(): void;
}

const IDLE_MS = 30_000; // the process ends after this long without a check
const MAX_CHECK_MS = 60_000;
const LOW_PRIORITY = 10; // typing at the prompt has priority

/** All instances of zz in this process share one, which ends with the last of them. */
let sharedChecker: { checker: Checker; users: number } | undefined;

export function openChecker(programs: Programs, clock: Clock): Checker {
  sharedChecker ??= { checker: startChecker(programs, clock), users: 0 };
  const current = sharedChecker;
  current.users++;
  return {
    check: current.checker.check,
    close() {
      if (--current.users) return;
      if (sharedChecker === current) sharedChecker = undefined;
      current.checker.close();
    },
  };
}

function startChecker(programs: Programs, clock: Clock): Checker {
  const waiting = new Map<number, PromiseWithResolvers<Checked>>();
  let running: ChildProcess | undefined;
  let cancelEnd = () => {}; // of a process without a check
  let checkCount = 0;
  return { check, close };

  async function check(file: string, { permissions, signal }: Asking, text?: string) {
    cancelEnd();
    const pendingCheck = Promise.withResolvers<Checked>();
    const id = ++checkCount;
    waiting.set(id, pendingCheck);
    const onTimeout = () =>
      failAll(new Error(`Cannot check '${file}': it took longer than ${MAX_CHECK_MS / 1_000} s.`));
    const cancelLimit = clock.timer(MAX_CHECK_MS, onTimeout);
    const onAbort = () => pendingCheck.reject(signal!.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      signal?.throwIfAborted();
      running ??= startWorker();
      if (running.connected)
        running.send({ id, file, rules: permissions.compiler(), text } satisfies Order);
      else failAll(new Error(`Cannot check '${file}': the process for it ended. Try again.`));
      return await pendingCheck.promise;
    } finally {
      pendingCheck.promise.catch(() => {});
      waiting.delete(id);
      cancelLimit();
      signal?.removeEventListener("abort", onAbort);
      if (!waiting.size) cancelEnd = clock.timer(IDLE_MS, close, { background: true });
    }
  }

  function startWorker(): ChildProcess {
    const workerProcess = forkWorker(programs);
    process.once("exit", close);
    workerProcess.on("message", ({ id, checked, failure }: Outcome) => {
      if (checked) waiting.get(id)?.resolve(checked);
      else waiting.get(id)?.reject(new Error(failure));
    });
    workerProcess.on("error", (error) => {
      if (workerProcess === running) failAll(error); // not the checks of the process after it
    });
    workerProcess.on("exit", close);
    return workerProcess;
  }

  /** Ends the process. Checks that wait for it are told. */
  function close(): void {
    failAll(new Error("Cannot check: the process for it ended. Try again."));
  }

  function failAll(error: Error): void {
    for (const { reject } of waiting.values()) reject(error);
    cancelEnd();
    process.off("exit", close);
    running?.removeAllListeners("exit").kill("SIGKILL");
    running = undefined;
  }
}

function forkWorker(programs: Programs): ChildProcess {
  const workerProcess = programs.fork(fileBeside(import.meta.url, "writing-worker")!, {
    execArgv: [],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  if (workerProcess.pid) tryTo(() => os.setPriority(workerProcess.pid!, LOW_PRIORITY));
  workerProcess.unref();
  workerProcess.channel?.unref();
  return workerProcess;
}

/** The plugin's file for a path, or for the name of one in the home; for a folder, its index. */
export function fileOf(typedName: string, { root, about }: Pick<Ctx, "root" | "about">): string {
  const homeFiles = [".ts", ".js", ""].map((fileEnding) =>
    path.join(about.home, "plugins", typedName + fileEnding),
  );
  const isPluginName = /^[\w-]+$/.test(typedName) && !fs.existsSync(path.resolve(root, typedName));
  const pluginFile =
    (isPluginName && homeFiles.find((candidate) => fs.existsSync(candidate))) ||
    path.resolve(root, typedName);
  const refuse = (reason: string) => usage(`Cannot check '${typedName}': ${reason}`);
  const fileStats = tryTo(() => fs.statSync(pluginFile));
  if (!fileStats) throw refuse("no such file. Check the path.");
  if (fileStats.isDirectory()) {
    const indexFiles = [declared(pluginFile) ?? [], "index.ts", "index.js", "index.tsx"]
      .flat()
      .map((indexName) => path.join(pluginFile, indexName));
    const indexFile = indexFiles.find((candidate) => fs.existsSync(candidate));
    if (!indexFile) throw refuse("it is a folder without an index.ts. Name a file.");
    return indexFile;
  }
  if (!fileStats.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (!/\.[cm]?[jt]sx?$/.test(pluginFile))
    throw refuse("it is not TypeScript. Name a file that ends in .ts.");
  if (fileStats.size > MAX_FILE_BYTES)
    throw refuse(`${fileStats.size} bytes are too many for a plugin. Split it.`);
  if (!tryTo(() => fs.accessSync(pluginFile, fs.constants.R_OK) === undefined))
    throw refuse("permission denied. Check its mode.");
  return pluginFile;
}

/** The file that a folder's package.json names, as zz's loader finds it. */
function declared(folder: string): string | undefined {
  const { zz, keywords, exports, main } = Object(
    tryTo(() => JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"))),
  );
  const pickEntry = (exportTarget: any): unknown =>
    Object(exportTarget) === exportTarget
      ? pickEntry(exportTarget["."] ?? exportTarget.import ?? exportTarget.default)
      : exportTarget;
  const entryFile =
    zz ?? (keywords?.includes?.("zz-plugin") ? (pickEntry(exports) ?? main) : undefined);
  return typeof entryFile === "string" ? entryFile : undefined;
}
const MAX_FILE_BYTES = 1024 * 1024;

/** In the format of compilers: file:line:column: message. */
export function formatProblems(problems: Problem[], projectRoot: string): string[] {
  return problems.map(
    ({ file, line, column, message }) =>
      `${nearName(file, projectRoot)}:${line}:${column}: ${message}`,
  );
}

export function nearName(filePath: string, projectRoot: string): string {
  const relativePath = path.relative(projectRoot, filePath);
  return relativePath.startsWith("..") || path.isAbsolute(relativePath) ? filePath : relativePath;
}
