// What strangers sent or stored is decoded in a process of its own that has an end: limits on its
// memory and its time, no network, nothing to write, and nothing to read but its code. In the
// sandbox, where there is one.
import type { ChildProcess } from "node:child_process";
import path from "node:path";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Ctx } from "../kernel/contract.ts";
import { fault, usage } from "../kernel/text/faults.ts";
import { fileBeside, textOf } from "../kernel/text/read-quietly.ts";
import { tryTo } from "../kernel/text/words.ts";
import type { Head } from "./decoder.ts";
import type { SandboxedDecoder } from "./services.ts";

export type { Decoded, Job } from "./decoder.ts";
export interface Decoding {
  // the name of the file, beside the one that asks, whose default export decodes (a Job)
  job: string;
  near: string; // import.meta.url of the file that asks
  bytes: Uint8Array;
  how?: unknown; // for the job, as JSON
  megabytes?: number; // of memory, of all kinds
  seconds?: number;
  most?: number; // megabytes of what comes out
}
export type DecodeContext = Pick<Ctx, "programs" | "signal" | "service"> & {
  io: Pick<Ctx["io"], "clock">;
};

const [MEGABYTES, SECONDS, MOST] = [512, 15, 64];
const MB = 2 ** 20;
const OWN_MB = 128; // of Node itself, before it decodes anything
const STACK_KB = 3_900; // of the 8 MB that systems give
// whose limits count all memory, and whose sandbox ends with zz
const OF_SYSTEM = process.platform === "linux";

const REASONS = {
  memory: () => "reading it takes too much memory",
  time: ({ seconds = SECONDS }) => `reading it took longer than ${seconds} s`,
  size: ({ most = MOST }) => `it unpacks to more than ${most} MB`,
  damaged: () => "it is damaged",
  ended: () => "what reads it ended",
} satisfies Record<string, (decoding: Decoding) => string>;
type Failure = keyof typeof REASONS;
/** How a process ends that reached a limit: itself, and as the sandbox reports it. */
const ENDS: Record<string, Failure> = {
  SIGABRT: "memory",
  SIGTRAP: "memory",
  SIGILL: "memory",
  SIGKILL: "memory",
  SIGXCPU: "time",
  134: "memory",
  133: "memory",
  132: "memory",
  137: "memory",
  152: "time",
};

/** Throws why it cannot be decoded, as what follows the colon in "Cannot read 'x': …". */
export async function decode<Value>(
  decoding: Decoding,
  ctx: DecodeContext,
): Promise<{ value: Value; bytes: Buffer[] }> {
  const { bytes, seconds = SECONDS, most = MOST } = decoding;
  const { signal, io } = ctx;
  signal.throwIfAborted();
  const box = await sandboxed(decoding, ctx);
  let failure: Failure | undefined;
  let kill = () => {};
  const fail = (reason: Failure) => {
    failure ??= reason;
    kill();
  };
  const stop = () => kill();
  const cancel = io.clock.timer(seconds * 1000, () => fail("time"));
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    const child = start(box ?? { argv: commandOf(decoding, true) }, decoding, ctx);
    kill = () => killGroup(child);
    const { out, end } = await outputOf(child, bytes, most * MB, () => fail("size"));
    signal.throwIfAborted();
    const result = failure ?? ENDS[end] ?? resultIn(out);
    if (typeof result === "string") throw fault(REASONS[result](decoding));
    return result;
  } catch (error) {
    signal.throwIfAborted();
    throw fault((error as Error).message.replace(/\.$/, "")); // the end of another sentence
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
  }
}

function resultIn(output: Buffer): Failure | { value: any; bytes: Buffer[] } {
  const line = output.indexOf(10, 1);
  if (line < 0) return "ended";
  const head = tryTo(() => JSON.parse(output.toString("utf8", 1, line)) as Head);
  const { value, sizes = [], failure = head ? undefined : "ended", cannot } = head ?? {};
  if (cannot !== undefined) throw fault(cannot);
  let offset = line + 1;
  const bytes = sizes.map((size) => output.subarray(offset, (offset += size)));
  return failure ?? (offset === output.length ? { value, bytes } : "ended");
}

// ── the process ──

/** `watches`: the process watches itself, where neither the system's limits nor a sandbox do. */
function commandOf(
  { job, near, how = null, megabytes = MEGABYTES }: Decoding,
  watches: boolean,
): string[] {
  const [decoder, file] = filesOf(job, near);
  const flags = ["--no-warnings", "--permission", `--max-old-space-size=${megabytes}`];
  if (watches) flags.push("--allow-worker");
  if (process.platform !== "win32") flags.push(`--stack-size=${STACK_KB}`);
  const reads = readsOf([decoder, file]).map((readable) => `--allow-fs-read=${readable}`);
  const watch = watches ? [`${(megabytes + OWN_MB) * MB}`] : [];
  return [nodeFile(), ...flags, ...reads, decoder, file, JSON.stringify(how), ...watch];
}

const nodeFile = (): string => fs().realpathSync(process.execPath);
const fs = () => process.getBuiltinModule("node:fs");

/**
 * What runs in the process, and the job: beside the files that ask for them in the source, in dist/
 * when built.
 */
function filesOf(job: string, near: string): [decoder: string, job: string] {
  const findFile = (name: string, from: string) => {
    const file = fileBeside(from, name);
    if (file) return fs().realpathSync(fileURLToPath(file));
    const wanted = fileURLToPath(new URL(`./${name}.ts`, from));
    throw usage(`Cannot decode anything by '${name}': ${wanted} is missing. Put the job there.`);
  };
  return [findFile("decoder", import.meta.url), findFile(job, near)];
}

/** The folders of these files, and the packages around them. */
function readsOf(files: string[]): string[] {
  const folders = [...new Set(files.map((file) => path.dirname(file)))];
  const tops = folders.flatMap(packagesAround);
  const packageParts = [...new Set(tops)].flatMap((top) =>
    ["package.json", "node_modules"].map((name) => path.join(top, name)),
  );
  return [...folders, ...packageParts.filter((packagePart) => fs().existsSync(packagePart))];
}

/** A workspace has its packages in the package around it. */
function packagesAround(folder: string): string[] {
  const nearest = folderAbove(folder, (folderPath) =>
    fs().existsSync(path.join(folderPath, "package.json")),
  );
  if (!nearest || fs().existsSync(path.join(nearest, "node_modules")))
    return nearest ? [nearest] : [];
  const top = folderAbove(nearest, (folderPath) =>
    /"workspaces"/.test(textOf(path.join(folderPath, "package.json"))),
  );
  return top ? [nearest, top] : [nearest];
}

function folderAbove(folder: string, fits: (folder: string) => boolean): string | undefined {
  if (fits(folder)) return folder;
  const above = path.dirname(folder);
  return above === folder ? undefined : folderAbove(above, fits);
}

async function sandboxed(
  decoding: Decoding,
  ctx: DecodeContext,
): Promise<SandboxedDecoder | undefined> {
  const files = [nodeFile(), ...readsOf(filesOf(decoding.job, decoding.near))];
  return ctx.service("sandbox")?.startDecoder(commandOf(decoding, !OF_SYSTEM), files, ctx);
}

/** The limit on the processor's time holds if zz is killed, too. */
function start(
  { argv, third }: SandboxedDecoder,
  { megabytes = MEGABYTES, seconds = SECONDS }: Decoding,
  { programs }: DecodeContext,
): ChildProcess {
  const threads = argv.includes("--allow-worker") ? 2 : 1;
  const memory = OF_SYSTEM
    ? `ulimit -d ${(megabytes + OWN_MB) * 1024 + threads * codeRangeKb()};`
    : "";
  const limits = `{ echo 1000 > /proc/self/oom_score_adj; ulimit -c 0; ulimit -t ${4 * seconds}; ${memory} } 2>/dev/null; exec "$@"`;
  const isPosix = process.platform !== "win32";
  const [program = "", ...args] = isPosix ? ["/bin/sh", "-c", limits, "sh", ...argv] : argv;
  const child = programs.start(program, args, {
    cwd: path.dirname(nodeFile()),
    env: {},
    stdio: ["pipe", "pipe", "ignore", third ? "pipe" : "ignore"],
    detached: isPosix,
    windowsHide: true, // out of reach of the terminal's Ctrl+C: zz ends it
  });
  (child.stdio[3] as Writable | null)?.on("error", () => {}).end(third);
  return child;
}

/**
 * V8 reserves room for the code of each thread, which counts as memory, though most of it is never
 * used: as much here as there.
 */
function codeRangeKb(): number {
  const maps = tryTo(() => fs().readFileSync("/proc/self/maps", "latin1")) ?? "";
  const sizes = Array.from(
    maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rwxp 0+ 00:00 0/gm),
    ([, from = "", to = ""]) => Number(`0x${to}`) - Number(`0x${from}`),
  );
  return Math.max(0, ...sizes) / 1024;
}

const BEGIN = "\n";

/** The output, and how the process ended: a signal's name or an exit code. */
function outputOf(
  child: ChildProcess,
  bytes: Uint8Array,
  maxBytes: number,
  tooMuch: () => void,
): Promise<{ out: Buffer; end: string }> {
  const { promise, resolve } = Promise.withResolvers<{ out: Buffer; end: string }>();
  const pieces: Buffer[] = [];
  let size = 0;
  child.stdin!.on("error", () => {}); // it may end without reading all
  // By now it would end with zz. Without BEGIN it ends itself: it was to be ended before that.
  child.stdout!.once("data", () => {
    child.stdin!.write(BEGIN);
    child.stdin!.end(bytes);
  });
  child.stdout!.on("data", (piece: Buffer) => {
    if ((size += piece.length) > maxBytes) tooMuch();
    else pieces.push(piece);
  });
  child.on("error", () => resolve({ out: Buffer.alloc(0), end: "" }));
  child.on("close", (code, signal) =>
    resolve({ out: Buffer.concat(pieces), end: signal ?? String(code) }),
  );
  return promise;
}

function killGroup({ pid }: ChildProcess): void {
  if (pid) tryTo(() => process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL"));
}
