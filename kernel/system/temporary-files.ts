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
export function processStartTime(processId: number): string {
  if (process.platform === "linux") {
    const statFields = textOf(`/proc/${processId}/stat`).split(") ").at(-1)!.split(" ");
    // a zombie holds nothing any more
    return "ZX".includes(statFields[0]!) ? "" : (statFields[19] ?? "");
  }
  try {
    return process.kill(processId, 0) ? "alive" : "";
  } catch (killError) {
    return codeOf(killError) === "EPERM" ? "alive" : "";
  }
}

/** A new file beside another, which then takes its place. */
export const partIn = (folderPath: string): string =>
  join(folderPath, `.zz-${process.pid}-${Math.random().toString(36).slice(2)}.tmp`);

/** Removes such files that a killed zz left in a folder. dead: one that is known to have ended. */
export function sweepParts(folderPath: string, dead?: number): void {
  for (const fileName of entriesOf(folderPath)) {
    const ownerPid = Number(/^\.zz-(\d+)-\w+\.tmp$/.exec(fileName)?.[1] ?? process.pid);
    if (ownerPid !== process.pid && (ownerPid === dead || !processStartTime(ownerPid)))
      tryTo(() => fs.unlinkSync(join(folderPath, fileName)));
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
export function temporaryFolder(purpose: string, baseFolder = os.tmpdir()): string {
  const thisContainer = containerId();
  for (const folderName of entriesOf(baseFolder)) {
    const [, ownerPid, ownerStart, ownerContainer] =
      /^zz-[a-z]+\.(\d+)\.(\w*)\.(\d*)\./.exec(folderName) ?? [];
    const folderStat = ownerPid
      ? tryTo(() => fs.lstatSync(join(baseFolder, folderName)))
      : undefined;
    if (!folderStat?.isDirectory() || folderStat.uid !== process.getuid?.()) continue;
    const isLeftBehind =
      ownerContainer === thisContainer
        ? processStartTime(Number(ownerPid)) !== ownerStart
        : Date.now() - folderStat.mtimeMs > DAY_MS;
    if (isLeftBehind) tryTo(() => removeTree(join(baseFolder, folderName)));
  }
  const ownStart = processStartTime(process.pid);
  const namePrefix = `zz-${purpose}.${process.pid}.${ownStart}.${thisContainer}.`;
  try {
    return fs.mkdtempSync(join(baseFolder, namePrefix));
  } catch (makeError) {
    const diskReason = errnoSentence(makeError);
    throw diskReason
      ? fault(
          `Cannot make a temporary folder in '${baseFolder}': ` +
            `${diskReason} TMPDIR names another place.`,
        )
      : makeError;
  }
}

/**
 * Drops a TMPDIR that cannot be used, for this process and those that it starts: Node and other
 * programs would make it, or fail each in its own words. Returns what to tell.
 */
export function dropUnusableTmpdir(workingFolder: string, environment = process.env): string {
  const dropped: string[] = [];
  for (const variableName of ["TMPDIR", "TMP", "TEMP"]) {
    if (environment.TMPDIR && variableName !== "TMPDIR") break; // the first of them counts
    const namedFolder = environment[variableName];
    const faultReason = namedFolder && whyUnusable(namedFolder, workingFolder);
    if (!faultReason) continue;
    delete environment[variableName];
    dropped.push(
      `Cannot use ${variableName} '${namedFolder.replace(/\s+/g, " ")}': ${faultReason}.`,
    );
  }
  if (!dropped.length) return "";
  return `${dropped.join(" ")} Temporary files go to '${os.tmpdir()}'.`;
}

function whyUnusable(namedFolder: string, workingFolder: string): string {
  if (!isAbsolute(namedFolder)) return "it is not an absolute path";
  const folderStat = tryTo(() => fs.statSync(namedFolder));
  if (!folderStat) return "nothing is there";
  if (!folderStat.isDirectory()) return "it is not a folder";
  const isWritable = tryTo(() => fs.accessSync(namedFolder, WRITABLE) ?? true);
  if (!isWritable) return "zz may not write there";
  const isProject = !isInside(workingFolder, os.homedir()) && !isInside(workingFolder, "/tmp");
  return isProject && isInside(workingFolder, fs.realpathSync(namedFolder))
    ? "it lies in the project"
    : "";
}
const WRITABLE = fs.constants.W_OK | fs.constants.X_OK;

/**
 * Removes a folder with those in it that nobody may enter or change: commands leave such folders.
 */
export function removeTree(topFolder: string): void {
  const openFolder = (innerFolder: string): void => {
    tryTo(() => fs.chmodSync(innerFolder, 0o700));
    for (const dirent of tryTo(() => fs.readdirSync(innerFolder, { withFileTypes: true })) ?? [])
      if (dirent.isDirectory()) openFolder(join(innerFolder, dirent.name));
  };
  openFolder(topFolder);
  fs.rmSync(topFolder, { recursive: true, force: true });
}
