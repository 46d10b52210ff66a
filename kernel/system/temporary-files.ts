// What a zz that was killed leaves behind, told by its name from what is anybody else's, so that
// the next one can remove it.
import fs from "node:fs";
import os from "node:os";
import { isAbsolute, join } from "node:path";
import { codeOf, errnoSentence, fault } from "../text/faults.ts";
import { entriesOf, isInside, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";

/**
 * When a process started ("" if it does not exist), to tell it from a later one with the same
 * number.
 */
export function processStartTime(pid: number): string {
  if (process.platform === "linux") {
    const fields = textOf(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
    return "ZX".includes(fields[0]!) ? "" : (fields[19] ?? ""); // a zombie holds nothing any more
  }
  try {
    return process.kill(pid, 0) ? "alive" : "";
  } catch (error) {
    return codeOf(error) === "EPERM" ? "alive" : "";
  }
}

/** A new file beside another, which then takes its place. */
export const partIn = (folder: string): string =>
  join(folder, `.zz-${process.pid}-${Math.random().toString(36).slice(2)}.tmp`);

/** Removes such files that a killed zz left in a folder. dead: one that is known to have ended. */
export function sweepParts(folder: string, dead?: number): void {
  for (const name of entriesOf(folder)) {
    const pid = Number(/^\.zz-(\d+)-\w+\.tmp$/.exec(name)?.[1] ?? process.pid);
    if (pid !== process.pid && (pid === dead || !processStartTime(pid)))
      tryTo(() => fs.unlinkSync(join(folder, name)));
  }
}

/** Processes of other containers have the same numbers. */
const containerId = (): string =>
  /\d+/.exec(tryTo(() => fs.readlinkSync("/proc/self/ns/pid")) ?? "")?.[0] ?? "";
const DAY_MS = 86_400_000;

/**
 * A new folder for one's own temporary files, named after this process. Those of processes that
 * were killed are removed first.
 */
export function temporaryFolder(name: string, base = os.tmpdir()): string {
  const thisContainer = containerId();
  for (const folderName of entriesOf(base)) {
    const [, pid, start, there] = /^zz-[a-z]+\.(\d+)\.(\w*)\.(\d*)\./.exec(folderName) ?? [];
    const stat = pid ? tryTo(() => fs.lstatSync(join(base, folderName))) : undefined;
    if (!stat?.isDirectory() || stat.uid !== process.getuid?.()) continue;
    const isLeft =
      there === thisContainer
        ? processStartTime(Number(pid)) !== start
        : Date.now() - stat.mtimeMs > DAY_MS;
    if (isLeft) tryTo(() => removeTree(join(base, folderName)));
  }
  const mine = `zz-${name}.${process.pid}.${processStartTime(process.pid)}.${thisContainer}.`;
  try {
    return fs.mkdtempSync(join(base, mine));
  } catch (error) {
    const why = errnoSentence(error);
    throw why
      ? fault(`Cannot make a temporary folder in '${base}': ${why} TMPDIR names another place.`)
      : error;
  }
}

/**
 * Drops a TMPDIR that cannot be used, for this process and those that it starts: Node and other
 * programs would make it, or fail each in its own words. Returns what to tell.
 */
export function dropUnusableTmpdir(cwd: string, env = process.env): string {
  const dropped: string[] = [];
  for (const name of ["TMPDIR", "TMP", "TEMP"]) {
    if (env.TMPDIR && name !== "TMPDIR") break; // the first of them counts
    const folder = env[name];
    const why = folder && whyUnusable(folder, cwd);
    if (!why) continue;
    delete env[name];
    dropped.push(`Cannot use ${name} '${folder.replace(/\s+/g, " ")}': ${why}.`);
  }
  if (!dropped.length) return "";
  return `${dropped.join(" ")} Temporary files go to '${os.tmpdir()}'.`;
}

function whyUnusable(folder: string, cwd: string): string {
  if (!isAbsolute(folder)) return "it is not an absolute path";
  const stat = tryTo(() => fs.statSync(folder));
  if (!stat) return "nothing is there";
  if (!stat.isDirectory()) return "it is not a folder";
  const isWritable = tryTo(() => fs.accessSync(folder, WRITABLE) ?? true);
  if (!isWritable) return "zz may not write there";
  const isProject = !isInside(cwd, os.homedir()) && !isInside(cwd, "/tmp");
  return isProject && isInside(cwd, fs.realpathSync(folder)) ? "it lies in the project" : "";
}
const WRITABLE = fs.constants.W_OK | fs.constants.X_OK;

/**
 * Removes a folder with those in it that nobody may enter or change: commands leave such folders.
 */
export function removeTree(folder: string): void {
  const { chmodSync, existsSync, readdirSync, rmSync } = fs;
  if (!existsSync(folder)) return;
  const open = (inner: string): void => {
    tryTo(() => chmodSync(inner, 0o700));
    for (const dirent of tryTo(() => readdirSync(inner, { withFileTypes: true })) ?? [])
      if (dirent.isDirectory()) open(join(inner, dirent.name));
  };
  open(folder);
  rmSync(folder, { recursive: true, force: true });
}
