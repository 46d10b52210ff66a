// A path opened where it was judged: no link that was swapped in since is followed.
import fs from "node:fs";
import path from "node:path";
import { fault } from "../text/faults.ts";
import { tryTo } from "../text/words.ts";

// Windows has only the first; what it has not, adds nothing
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

// refuses links anywhere in the path
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x20000000 : 0;

const SAFELY = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOFOLLOW_ANY; // a FIFO does not block

/** Opens a path that was resolved before. A link that was swapped in since then is not followed; a
 * file that another program saves at that moment is opened again. */
export function openReal(file: string, tries = 10): number {
  const fd = fs.openSync(file, SAFELY);
  try {
    assertOpenedHere(fd, file);
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    if (tries > 1) return openReal(file, tries - 1);
    throw error;
  }
}

/** Checks what was really opened, since the name may point elsewhere by now. */
function assertOpenedHere(fd: number, file: string): void {
  if (O_NOFOLLOW_ANY) return;
  const openedPath = pathOfOpenFile(fd);
  const foldName = (name: string) => name.normalize().toLowerCase(); // some disks ignore case
  if (
    openedPath === undefined
      ? isStill(fd, file)
      : openedPath === file || foldName(openedPath) === foldName(file)
  )
    return;
  throw Object.assign(new Error(`'${file}' was swapped for a link`), { code: "ELOOP" });
}

/** Where the system cannot tell what was opened: no link may be in the path, before or after. */
function isStill(fd: number, file: string): boolean {
  const { ino, dev } = fs.fstatSync(fd);
  const isHere = (stat = fs.lstatSync(file, { throwIfNoEntry: false })) =>
    followLinks(file) === file && stat?.ino === ino && stat.dev === dev;
  return isHere() && isHere() && followLinks(file) === file;
}

/** Where an open file is, even if it was replaced meanwhile. Undefined: this system cannot tell. */
function pathOfOpenFile(fd: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  const link = tryTo(() => fs.readlinkSync(`/proc/self/fd/${fd}`));
  return link?.endsWith(GONE) && fs.fstatSync(fd).nlink === 0 ? link.slice(0, -GONE.length) : link;
}

const GONE = " (deleted)";

/**
 * Holds the file's folder open, so that nobody can swap it for a link. here: its path by that
 * handle.
 */
export function withFolderOpen<T>(file: string, act: (reachedPath: string) => T): T {
  const folder = path.dirname(file);
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  const handle = `/proc/self/fd/${fd}`;
  try {
    const real = tryTo(() => fs.readlinkSync(handle));
    if ((real ?? fs.realpathSync(folder)) !== folder)
      throw fault(
        `Cannot write '${file}': its folder was swapped for a link. Look at what happens there.`,
      );
    return act(path.join(real === undefined ? folder : handle, path.basename(file)));
  } finally {
    fs.closeSync(fd);
  }
}

export function followLinks(file: string): string {
  let existing = file;
  const missing: string[] = [];
  for (let links = 0; ; ) {
    const real = tryTo(() => fs.realpathSync.native(existing));
    const parent = path.dirname(existing);
    if (real !== undefined || parent === existing) return path.join(real ?? existing, ...missing);
    // a link to something that does not exist yet
    const to = links++ < 40 ? tryTo(() => fs.readlinkSync(existing)) : undefined;
    if (to === undefined) missing.unshift(path.basename(existing));
    existing = to === undefined ? parent : path.resolve(parent, to);
  }
}
