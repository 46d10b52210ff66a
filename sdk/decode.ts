// Decodes what strangers sent or stored, in a process of its own: with limits on its memory and its
// time, without a network, and with nothing to read but its code and nothing to write. It runs in
// the sandbox, where there is one.
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
  megabytes?: number; // of memory in all
  seconds?: number;
  most?: number; // megabytes of output
}
export type DecodeContext = Pick<Ctx, "programs" | "signal" | "service"> & {
  io: Pick<Ctx["io"], "clock">;
};

const [MEGABYTES, SECONDS, MAX_MEGABYTES] = [512, 15, 64];
const BYTES_PER_MB = 2 ** 20;
const OWN_MEGABYTES = 128; // of Node itself, before it decodes anything
const STACK_KB = 3_900; // of the 8 MB that systems give
// only Linux has limits that count all memory, and a sandbox that ends with zz
const OF_SYSTEM = process.platform === "linux";

const REASONS = {
  memory: () => "reading it takes too much memory",
  time: ({ seconds = SECONDS }) => `reading it took longer than ${seconds} s`,
  size: ({ most = MAX_MEGABYTES }) => `it unpacks to more than ${most} MB`,
  damaged: () => "it is damaged",
  ended: () => "what reads it ended",
} satisfies Record<string, (decoding: Decoding) => string>;
type Failure = keyof typeof REASONS;
/** How a process ends at a limit: by a signal, or by the exit code that the sandbox reports. */
const FAILURES_BY_END: Record<string, Failure> = {
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
  const { bytes, seconds = SECONDS, most = MAX_MEGABYTES } = decoding;
  const { signal, io } = ctx;
  signal.throwIfAborted();
  const boxedDecoder = await sandboxed(decoding, ctx);
  let failure: Failure | undefined;
  let killChild = () => {};
  const failWith = (reason: Failure) => {
    failure ??= reason;
    killChild();
  };
  const handleAbort = () => killChild();
  const cancelTimer = io.clock.timer(seconds * 1000, () => failWith("time"));
  signal.addEventListener("abort", handleAbort, { once: true });
  try {
    signal.throwIfAborted();
    const decoderProcess = startProcess(
      boxedDecoder ?? { argv: commandOf(decoding, true) },
      decoding,
      ctx,
    );
    killChild = () => killGroup(decoderProcess);
    const { out, end } = await outputOf(decoderProcess, bytes, most * BYTES_PER_MB, () =>
      failWith("size"),
    );
    signal.throwIfAborted();
    const result = failure ?? FAILURES_BY_END[end] ?? resultIn(out);
    if (typeof result === "string") throw fault(REASONS[result](decoding));
    return result;
  } catch (decodeError) {
    signal.throwIfAborted();
    throw fault((decodeError as Error).message.replace(/\.$/, "")); // the end of another sentence
  } finally {
    cancelTimer();
    signal.removeEventListener("abort", handleAbort);
  }
}

function resultIn(decoderOutput: Buffer): Failure | { value: any; bytes: Buffer[] } {
  const headEnd = decoderOutput.indexOf(10, 1);
  if (headEnd < 0) return "ended";
  const parsedHead = tryTo(() => JSON.parse(decoderOutput.toString("utf8", 1, headEnd)) as Head);
  const {
    value,
    sizes = [],
    failure = parsedHead ? undefined : "ended",
    cannot,
  } = parsedHead ?? {};
  if (cannot !== undefined) throw fault(cannot);
  let offset = headEnd + 1;
  const bytes = sizes.map((byteCount) => decoderOutput.subarray(offset, (offset += byteCount)));
  return failure ?? (offset === decoderOutput.length ? { value, bytes } : "ended");
}

// ── the process ──

/** `watches`: the process watches itself, where neither the system's limits nor a sandbox do. */
function commandOf(
  { job, near, how = null, megabytes = MEGABYTES }: Decoding,
  watches: boolean,
): string[] {
  const [decoder, jobFile] = filesOf(job, near);
  const nodeFlags = ["--no-warnings", "--permission", `--max-old-space-size=${megabytes}`];
  if (watches) nodeFlags.push("--allow-worker");
  if (process.platform !== "win32") nodeFlags.push(`--stack-size=${STACK_KB}`);
  const readFlags = readsOf([decoder, jobFile]).map((readable) => `--allow-fs-read=${readable}`);
  const watchLimit = watches ? [`${(megabytes + OWN_MEGABYTES) * BYTES_PER_MB}`] : [];
  return [
    nodeFile(),
    ...nodeFlags,
    ...readFlags,
    decoder,
    jobFile,
    JSON.stringify(how),
    ...watchLimit,
  ];
}

const nodeFile = (): string => fs().realpathSync(process.execPath);
const fs = () => process.getBuiltinModule("node:fs");

/**
 * What runs in the process, and the job: beside the files that ask for them in the source, in dist/
 * when built.
 */
function filesOf(jobName: string, moduleUrl: string): [decoder: string, job: string] {
  const findFile = (fileName: string, baseUrl: string) => {
    const fileUrl = fileBeside(baseUrl, fileName);
    if (fileUrl) return fs().realpathSync(fileURLToPath(fileUrl));
    const wantedFile = fileURLToPath(new URL(`./${fileName}.ts`, baseUrl));
    throw usage(
      `Cannot decode anything by '${fileName}': ${wantedFile} is missing. Put the job there.`,
    );
  };
  return [findFile("decoder", import.meta.url), findFile(jobName, moduleUrl)];
}

/** The folders of these files, and the packages around them. */
function readsOf(neededFiles: string[]): string[] {
  const folders = [...new Set(neededFiles.map((neededFile) => path.dirname(neededFile)))];
  const packageFolders = folders.flatMap(packagesAround);
  const packageParts = [...new Set(packageFolders)].flatMap((packageFolder) =>
    ["package.json", "node_modules"].map((entryName) => path.join(packageFolder, entryName)),
  );
  return [...folders, ...packageParts.filter((packagePart) => fs().existsSync(packagePart))];
}

/** A workspace has its packages in the package around it. */
function packagesAround(startFolder: string): string[] {
  const nearest = folderAbove(startFolder, (folderPath) =>
    fs().existsSync(path.join(folderPath, "package.json")),
  );
  if (!nearest || fs().existsSync(path.join(nearest, "node_modules")))
    return nearest ? [nearest] : [];
  const workspaceTop = folderAbove(nearest, (folderPath) =>
    /"workspaces"/.test(textOf(path.join(folderPath, "package.json"))),
  );
  return workspaceTop ? [nearest, workspaceTop] : [nearest];
}

function folderAbove(
  startFolder: string,
  isWanted: (folderPath: string) => boolean,
): string | undefined {
  if (isWanted(startFolder)) return startFolder;
  const parentFolder = path.dirname(startFolder);
  return parentFolder === startFolder ? undefined : folderAbove(parentFolder, isWanted);
}

async function sandboxed(
  decoding: Decoding,
  ctx: DecodeContext,
): Promise<SandboxedDecoder | undefined> {
  const readableFiles = [nodeFile(), ...readsOf(filesOf(decoding.job, decoding.near))];
  return ctx.service("sandbox")?.startDecoder(commandOf(decoding, !OF_SYSTEM), readableFiles, ctx);
}

/** The limit on the processor's time holds if zz is killed, too. */
function startProcess(
  { argv, third }: SandboxedDecoder,
  { megabytes = MEGABYTES, seconds = SECONDS }: Decoding,
  { programs }: DecodeContext,
): ChildProcess {
  const threads = argv.includes("--allow-worker") ? 2 : 1;
  const memoryLimit = OF_SYSTEM
    ? `ulimit -d ${(megabytes + OWN_MEGABYTES) * 1024 + threads * codeRangeKb()};`
    : "";
  const limitScript =
    `{ echo 1000 > /proc/self/oom_score_adj; ulimit -c 0; ulimit -t ${4 * seconds}; ` +
    `${memoryLimit} } 2>/dev/null; exec "$@"`;
  const isPosix = process.platform !== "win32";
  const [program = "", ...args] = isPosix ? ["/bin/sh", "-c", limitScript, "sh", ...argv] : argv;
  const decoderProcess = programs.start(program, args, {
    cwd: path.dirname(nodeFile()),
    env: {},
    stdio: ["pipe", "pipe", "ignore", third ? "pipe" : "ignore"],
    detached: isPosix,
    windowsHide: true, // out of reach of the terminal's Ctrl+C: zz ends it
  });
  (decoderProcess.stdio[3] as Writable | null)?.on("error", () => {}).end(third);
  return decoderProcess;
}

/**
 * V8 reserves room for the code of each thread, which counts as memory, though most of it is never
 * used: as much here as there.
 */
function codeRangeKb(): number {
  const memoryMaps = tryTo(() => fs().readFileSync("/proc/self/maps", "latin1")) ?? "";
  const rangeSizes = Array.from(
    memoryMaps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rwxp 0+ 00:00 0/gm),
    ([, rangeStart = "", rangeEnd = ""]) => Number(`0x${rangeEnd}`) - Number(`0x${rangeStart}`),
  );
  return Math.max(0, ...rangeSizes) / 1024;
}

const BEGIN = "\n";

/** The output, and how the process ended: a signal's name or an exit code. */
function outputOf(
  decoderProcess: ChildProcess,
  inputBytes: Uint8Array,
  maxBytes: number,
  tooMuch: () => void,
): Promise<{ out: Buffer; end: string }> {
  const { promise, resolve } = Promise.withResolvers<{ out: Buffer; end: string }>();
  const outputPieces: Buffer[] = [];
  let outputSize = 0;
  decoderProcess.stdin!.on("error", () => {}); // it may end without reading all
  // Its first output shows that it ends with zz from now on, so it gets its bytes. Without BEGIN it
  // ends by itself.
  decoderProcess.stdout!.once("data", () => {
    decoderProcess.stdin!.write(BEGIN);
    decoderProcess.stdin!.end(inputBytes);
  });
  decoderProcess.stdout!.on("data", (outputPiece: Buffer) => {
    if ((outputSize += outputPiece.length) > maxBytes) tooMuch();
    else outputPieces.push(outputPiece);
  });
  decoderProcess.on("error", () => resolve({ out: Buffer.alloc(0), end: "" }));
  decoderProcess.on("close", (exitCode, exitSignal) =>
    resolve({ out: Buffer.concat(outputPieces), end: exitSignal ?? String(exitCode) }),
  );
  return promise;
}

function killGroup({ pid }: ChildProcess): void {
  if (pid) tryTo(() => process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL"));
}
