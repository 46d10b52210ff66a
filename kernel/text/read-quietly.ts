// What is read of a file or folder without an error when it is not there.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { codeOf, fault, usage } from "./faults.ts";
import { isObject, tryTo } from "./words.ts";

/** The text of a file, or "" if it cannot be read. */
export const textOf = (filePath: string): string =>
  tryTo(() => readRegular(filePath).toString()) ?? "";

/** What the JSON of a file stands for; undefined if it cannot be read, or is none. */
export const jsonIn = (filePath: string): any => tryTo(() => JSON.parse(textOf(filePath)));

/** Why a file that should hold a JSON object is of no use; "" if it is, or is not there. */
export const whyNoObject = (filePath: string): string =>
  textOf(filePath).trim() && !isObject(jsonIn(filePath))
    ? "it is not a JSON object. Fix it or move it away."
    : "";
/** Throws before such a file is written over. */
export function refuseNoObject(filePath: string): void {
  const reason = whyNoObject(filePath);
  if (reason) throw fault(`Cannot change '${filePath}': ${reason}`);
}

/** The bytes of a regular file. A FIFO never ends, nor does a link to a device. */
export function readRegular(filePath: string): Buffer {
  const descriptor = fs.openSync(filePath, WITHOUT_WAITING);
  try {
    if (!fs.fstatSync(descriptor).isFile())
      throw Object.assign(new Error(`'${filePath}' is not a regular file`), { code: "EISDIR" });
    return fs.readFileSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}
// a FIFO does not block
const WITHOUT_WAITING = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK;
/** What a person wrote, with `~` as their home. */
export const expandHome = (typedPath: string): string =>
  typedPath.replace(/^~(?=\/|$)/, () => os.homedir());
/** The same for a file that a command is to write: a misspelt flag is not taken for its name. */
export function fileToWrite(typedPath: string): string {
  if (!typedPath.startsWith("--")) return expandHome(typedPath);
  const [flagWord] = typedPath.split(/\s/, 1);
  throw usage(
    `Cannot write '${typedPath}': there is no flag '${flagWord}' here. ` +
      `A file of that name is './${typedPath}'.`,
  );
}

/** The nearest folder with a .git in it, from this one upwards. */
export function repositoryTop(startFolder: string): string | undefined {
  if (fs.existsSync(path.join(startFolder, ".git"))) return startFolder;
  return startFolder === path.dirname(startFolder)
    ? undefined
    : repositoryTop(path.dirname(startFolder));
}
/** What is there itself, links not followed. Undefined: nothing, or a part of the way is a file. */
export function lookAt(filePath: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(filePath, { throwIfNoEntry: false });
  } catch (error) {
    if (codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/** The names in a folder; none if it cannot be read. */
export const entriesOf = (folderPath: string): string[] =>
  tryTo(() => fs.readdirSync(folderPath)) ?? [];

/** A plugin's own file of code, named without its ending; in zz's build it is beside the kernel. */
export const fileBeside = (moduleUrl: string, moduleName: string): URL | undefined =>
  [`./${moduleName}.ts`, `./${moduleName}.js`, `../${moduleName}.js`]
    .map((relativePath) => new URL(relativePath, moduleUrl))
    .find((candidateUrl) => fs.existsSync(candidateUrl));

/** Changes whenever the file does; "" if it does not exist. */
export function stampOf(filePath: string): string {
  const fileStat = tryTo(() => fs.statSync(filePath, { throwIfNoEntry: false }));
  return fileStat ? stampOfStat(fileStat) : "";
}
export const stampOfStat = ({ mtimeMs, ctimeMs, size, ino }: fs.Stats): string =>
  `${mtimeMs} ${ctimeMs} ${size} ${ino}`;

/** Says who can read a file that was just written for its owner alone: a disk may keep no modes. */
export function whoReads(privateFile: string): string {
  const othersCanRead =
    process.platform !== "win32" && (tryTo(() => fs.statSync(privateFile).mode)! & 0o077) > 0;
  return othersCanRead
    ? "which others on this machine can read: its disk keeps no permissions"
    : "which only you can read";
}

/** Whether a path is that folder or inside of it. Both are absolute and without links. */
export const isInside = (outerFolder: string, innerPath: string): boolean =>
  innerPath === outerFolder ||
  innerPath.startsWith(outerFolder.endsWith(path.sep) ? outerFolder : outerFolder + path.sep);
export const isInsideAny = (folders: readonly string[], innerPath: string): boolean =>
  folders.some((outerFolder) => isInside(outerFolder, innerPath));
