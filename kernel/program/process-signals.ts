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
import { errorMessage, KEY, learnSecret, sealUrl, veil, veiledJson } from "../text/secrets.ts";
import { tryTo } from "../text/words.ts";
import { indexOfRunFlag } from "./parse-flags.ts";

/** How a run ends early: `leave` does what is needed wherever zz is at that moment. */
export interface EarlyStop {
  code?: number; // the exit code, once it was stopped
  why: string;
  core?: Core; // the instance, once it is open
  leave(exitCode: number): unknown;
  showStray?(strayText: string): void; // a dialog survives a fault outside of any turn
}
// zz.ts has the whole program
type RunProgram = (argv: string[], io: Io, stop: EarlyStop) => Promise<number>;

export async function runAsProcess(argv: string[], runProgram: RunProgram): Promise<number> {
  const io = processIo();
  if (isTooOld(io)) return 2;
  const tmpdirFault = dropUnusableTmpdir(tryTo(() => process.cwd()) ?? "/gone"); // it may be gone
  if (tmpdirFault) say(io, tmpdirFault);
  hideKey(argv);
  const isScript = indexOfRunFlag(argv) >= 0;
  const isJsonWanted = wantsJson(argv);
  const stop: EarlyStop = { why: "Stopped.", leave: leaveAtOnce };
  let running = true;
  // a terminal that does not report its size
  for (const stream of [process.stdout, process.stderr])
    if (stream.isTTY && !stream.columns) Object.assign(stream, { columns: 80, rows: 24 });
  process.on("SIGINT", () => endBySignal(130));
  process.on("SIGTERM", () => endBySignal(143));
  process.on("SIGHUP", () => endBySignal(129)); // the window was closed
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
  process.on("exit", (exitCode) => {
    if (!running || isScript) return;
    say(io, ENDED_FROM_WITHIN);
    process.exitCode = exitCode || 1;
    if (isJsonWanted) process.stdout.write(errorLine(ENDED_FROM_WITHIN, exitCode || 1));
  });
  return runProgram(argv, io, stop).finally(() => (running = false));

  function endBySignal(exitCode: number): void {
    if (stop.code !== undefined) leaveAtOnce(stop.code);
    if (stop.leave(exitCode) === false) return; // Ctrl+C does not end a dialog
    stop.code = exitCode;
  }
  function leaveAtOnce(exitCode: number): void {
    running = false;
    if (isJsonWanted && exitCode) process.stdout.write(errorLine(stop.why, exitCode));
    process.exit(exitCode);
  }
}

const LAST_MS = 20;
/**
 * Ends this process as soon as nothing is left to wait for, or after 20 ms. process.exit() at once
 * can hang for ever: it waits for V8's workers, and they may wait for a garbage collection, which
 * only this thread can make (issue 54918 of Node). What still runs changes nothing any more.
 */
export function endProcess(exitCode: number): void {
  process.setUncaughtExceptionCaptureCallback(null);
  process.setUncaughtExceptionCaptureCallback(() => {});
  process.prependListener("exit", () => void (process.exitCode = exitCode));
  process.exitCode = exitCode;
  setTimeout(() => process.exit(), LAST_MS).unref();
}

export const wantsJson = (argv: string[]): boolean =>
  argv.includes("--json") || argv.includes("--json-lines");

/** The last line for a program that asked for JSON. */
export const errorLine = (message: string, exit: number, faultKind = kindOf({ exit })): string =>
  `${veiledJson({ type: "error", kind: faultKind, message, exit })}\n`;

const ENDED_FROM_WITHIN =
  "Something inside zz ended it before there was an answer, most likely a plugin. " +
  "--no-plugins leaves them out.";
const strayErrorMessage = (error: unknown): string =>
  `Something failed outside of any turn, most likely in a plugin: ${errorMessage(error)}`;

function isTooOld(io: Io): boolean {
  const [majorVersion = 0, minorVersion = 0] = process.versions.node.split(".").map(Number);
  if (majorVersion > 22 || (majorVersion === 22 && minorVersion >= 18)) return false;
  const ownFolderHint = fs.existsSync(path.join(PACKAGE_FOLDER, "node_modules", "node"))
    ? ", or run it by npx in its own folder"
    : "";
  say(
    io,
    `zz needs Node 22.18 or later; this is ${process.versions.node}. ` +
      `Install a newer one${ownFolderHint}.`,
  );
  return true;
}

/**
 * Hides the key before anything else is read: from the list of processes, and from everything that
 * is written.
 */
function hideKey(argv: string[]): void {
  const flagArguments = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : undefined);
  const flagValues = (flagName: string) =>
    flagArguments.flatMap((argument, i) => {
      if (argument === flagName) return flagArguments[i + 1] ?? [];
      if (argument.startsWith(`${flagName}=`)) return argument.slice(flagName.length + 1);
      return [];
    });
  const keyValues = flagValues("--key").filter(Boolean);
  for (const keyValue of keyValues) learnSecret(keyValue);
  const replacements = new Map(keyValues.map((keyValue) => [keyValue, KEY]));
  for (const baseUrl of flagValues("--base-url")) replacements.set(baseUrl, veil(sealUrl(baseUrl)));
  for (const [secretText, instead] of replacements)
    for (const [i, argument] of process.argv.entries())
      if (argument === secretText || argument.endsWith(`=${secretText}`))
        process.argv[i] = argument.slice(0, argument.length - secretText.length) + instead;
  // what `ps` shows
  if ([...replacements].some(([original, instead]) => original !== instead)) process.title = "zz";
  if (indexOfRunFlag(argv) >= 0) return; // a script's output is not veiled
  for (const stream of [process.stdout, process.stderr]) {
    const writePlain = stream.write.bind(stream) as (...parameters: any[]) => boolean;
    stream.write = (piece: any, ...writeOptions: any[]) =>
      writePlain(typeof piece === "string" ? veil(piece) : piece, ...writeOptions);
  }
}
