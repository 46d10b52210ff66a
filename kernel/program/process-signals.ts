// zz as a process, and all that it shares with the outside: signals, the exit code, the console,
// its command line as others see it.
import fs from "node:fs";
import path from "node:path";
import type { Io } from "../contract.ts";
import type { Core } from "../instance.ts";
import { PACKAGE_FOLDER } from "../system/installation.ts";
import { processIo, say } from "../system/streams.ts";
import { dropUnusableTmpdir } from "../system/temporary-files.ts";
import { codeOf, kindOf } from "../text/faults.ts";
import {
  errorMessage,
  isVeiled,
  KEY,
  learnSecret,
  sealUrl,
  veil,
  veiledJson,
} from "../text/secrets.ts";
import { tryTo } from "../text/words.ts";
import { indexOfRunFlag } from "./parse-flags.ts";

/** How a run ends early: `leave` does what is needed wherever zz is at that moment. */
export interface EarlyStop {
  code?: number; // the exit code, once it was stopped
  why: string;
  core?: Core; // the instance, once it is open
  leave(code: number): unknown;
  showStray?(text: string): void; // a dialog survives a fault outside of any turn
}
// zz.ts has the whole program
type RunProgram = (argv: string[], io: Io, stop: EarlyStop) => Promise<number>;

export async function runAsProcess(argv: string[], run: RunProgram): Promise<number> {
  const io = processIo();
  if (isTooOld(io)) return 2;
  const tmpdirFault = dropUnusableTmpdir(tryTo(() => process.cwd()) ?? "/gone"); // it may be gone
  if (tmpdirFault) say(io, tmpdirFault);
  hideKey(argv);
  const isScript = indexOfRunFlag(argv) >= 0;
  const json = argv.includes("--json") || argv.includes("--json-lines");
  const stop: EarlyStop = { why: "Stopped.", leave: leaveAtOnce };
  let running = true;
  // a terminal that does not report its size
  for (const stream of [process.stdout, process.stderr])
    if (stream.isTTY && !stream.columns) Object.assign(stream, { columns: 80, rows: 24 });
  process.on("SIGINT", () => end(130));
  process.on("SIGTERM", () => end(143));
  process.on("SIGHUP", () => end(129)); // the window was closed
  process.stdout.on("error", (error) => {
    if (codeOf(error) !== "EPIPE") return; // print() reports others
    stop.code ??= 0; // the reader has what it wanted
    stop.leave(0);
  });
  process.stderr.on("error", () => {});
  process.on("uncaughtException", (error) => {
    if (stop.showStray) return stop.showStray(strayErrorMessage(error));
    stop.why = isScript ? errorMessage(error) : strayErrorMessage(error);
    say(io, stop.why);
    stop.code ??= 1;
    stop.leave(1);
  });
  process.on("exit", (code) => {
    if (!running || isScript) return;
    say(io, ENDED_FROM_WITHIN);
    process.exitCode = code || 1;
    if (json) process.stdout.write(errorLine(ENDED_FROM_WITHIN, code || 1));
  });
  return run(argv, io, stop).finally(() => (running = false));

  function end(code: number): void {
    if (stop.code !== undefined) leaveAtOnce(stop.code);
    if (stop.leave(code) === false) return; // Ctrl+C does not end a dialog
    stop.code = code;
  }
  function leaveAtOnce(code: number): void {
    running = false;
    if (json && code) process.stdout.write(errorLine(stop.why, code));
    process.exit(code);
  }
}

/** The last line for a program that asked for JSON. */
export const errorLine = (message: string, exit: number, faultKind = kindOf({ exit })): string =>
  `${veiledJson({ type: "error", kind: faultKind, message, exit })}\n`;

const ENDED_FROM_WITHIN =
  "Something inside zz ended it before there was an answer, most likely a plugin. --no-plugins leaves them out.";
const strayErrorMessage = (error: unknown): string =>
  `Something failed outside of any turn, most likely in a plugin: ${errorMessage(error)}`;

function isTooOld(io: Io): boolean {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 22 || (major === 22 && minor >= 18)) return false;
  const ownFolderHint = fs.existsSync(path.join(PACKAGE_FOLDER, "node_modules", "node"))
    ? ", or run it by npx in its own folder"
    : "";
  say(
    io,
    `zz needs Node 22.18 or later; this is ${process.versions.node}. Install a newer one${ownFolderHint}.`,
  );
  return true;
}

/**
 * Hides the key before anything else is read: from the list of processes, and from everything that
 * is written.
 */
function hideKey(argv: string[]): void {
  const flags = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const flagValues = (name: string) =>
    flags.flatMap((arg, i) => {
      if (arg === name) return flags[i + 1] ?? [];
      if (arg.startsWith(`${name}=`)) return arg.slice(name.length + 1);
      return [];
    });
  const keys = flagValues("--key").filter(Boolean);
  for (const key of keys) learnSecret(key);
  const shown = new Map(keys.map((key) => [key, KEY]));
  for (const url of flagValues("--base-url")) shown.set(url, veil(sealUrl(url)));
  for (const [secretText, instead] of shown)
    for (const [i, arg] of process.argv.entries())
      if (arg === secretText || arg.endsWith(`=${secretText}`))
        process.argv[i] = arg.slice(0, arg.length - secretText.length) + instead;
  // what `ps` shows
  if ([...shown].some(([original, instead]) => original !== instead)) process.title = "zz";
  if (indexOfRunFlag(argv) >= 0) return; // a script's output is not veiled
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream) as (...parameters: any[]) => boolean;
    const veiled = (piece: unknown) =>
      typeof piece === "string" && isVeiled(piece) ? veil(piece) : piece;
    stream.write = (piece: any, ...others: any[]) => write(veiled(piece), ...others);
  }
}
