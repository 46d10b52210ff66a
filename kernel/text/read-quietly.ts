// What is read of a file or folder without an error when it is not there.
import fs from "node:fs";
import path from "node:path";
import { tryTo } from "./words.ts";

/** The text of a file, or "" if it cannot be read. */
export const textOf = (file: string): string => tryTo(() => readRegular(file).toString()) ?? "";

/** The bytes of a regular file. A FIFO never ends, nor does a link to a device. */
export function readRegular(file: string): Buffer {
  const fd = fs.openSync(file, WITHOUT_WAITING);
  try {
    if (!fs.fstatSync(fd).isFile())
      throw Object.assign(new Error(`'${file}' is not a regular file`), { code: "EISDIR" });
    return fs.readFileSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}
// a FIFO does not block
const WITHOUT_WAITING = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK;
/** The nearest folder with a .git in it, from this one upwards. */
export function repositoryTop(folder: string): string | undefined {
  if (fs.existsSync(path.join(folder, ".git"))) return folder;
  return folder === path.dirname(folder) ? undefined : repositoryTop(path.dirname(folder));
}
/** The names in a folder; none if it cannot be read. */
export const entriesOf = (folder: string): string[] => tryTo(() => fs.readdirSync(folder)) ?? [];

/** A plugin's own file of code, named without its ending; in zz's build it is beside the kernel. */
export const fileBeside = (near: string, name: string): URL | undefined =>
  [`./${name}.ts`, `./${name}.js`, `../${name}.js`]
    .map((relativePath) => new URL(relativePath, near))
    .find((url) => fs.existsSync(url));

/** Changes whenever the file does; "" if it does not exist. */
export function stampOf(file: string): string {
  const stat = tryTo(() => fs.statSync(file, { throwIfNoEntry: false }));
  return stat ? `${stat.mtimeMs} ${stat.ctimeMs} ${stat.size} ${stat.ino}` : "";
}

/** Says who can read a file that was just written for its owner alone: a disk may keep no modes. */
export function whoReads(file: string): string {
  const others = process.platform !== "win32" && (tryTo(() => fs.statSync(file).mode)! & 0o077) > 0;
  return others
    ? "which others on this machine can read: its disk keeps no permissions"
    : "which only you can read";
}

/** Whether a path is that folder or inside of it. Both are absolute and without links. */
export const isInside = (folder: string, file: string): boolean =>
  file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
export const isInsideAny = (folders: readonly string[], file: string): boolean =>
  folders.some((folder) => isInside(folder, file));
