// A path opened where it was judged: no link that was swapped in since is followed.
import fs from "node:fs";
import path from "node:path";
import { fault } from "../text/faults.ts";
import { tryTo } from "../text/words.ts";

// Windows has only the first; what it has not, adds nothing
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;

// refuses links anywhere in the path
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x20000000 : 0;

const SAFE_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOFOLLOW_ANY; // a FIFO does not block

/** Opens a path that was resolved before. A link that was swapped in since then is not followed; a
 * file that another program saves at that moment is opened again. */
export function openReal(realFile: string, attempts = 10): number {
  const descriptor = fs.openSync(realFile, SAFE_FLAGS);
  try {
    assertOpenedHere(descriptor, realFile);
    return descriptor;
  } catch (openError) {
    fs.closeSync(descriptor);
    if (attempts > 1) return openReal(realFile, attempts - 1);
    throw openError;
  }
}

/** Checks what was really opened, since the name may point elsewhere by now. */
function assertOpenedHere(descriptor: number, realFile: string): void {
  if (O_NOFOLLOW_ANY) return;
  const openedPath = pathOfOpenFile(descriptor);
  // some disks ignore case
  const foldName = (pathName: string) => pathName.normalize().toLowerCase();
  if (
    openedPath === undefined
      ? isStill(descriptor, realFile)
      : openedPath === realFile || foldName(openedPath) === foldName(realFile)
  )
    return;
  throw Object.assign(new Error(`'${realFile}' was swapped for a link`), { code: "ELOOP" });
}

/** Where the system cannot tell what was opened: no link may be in the path, before or after. */
function isStill(descriptor: number, realFile: string): boolean {
  const { ino, dev } = fs.fstatSync(descriptor);
  const isInPlace = (fileStat = fs.lstatSync(realFile, { throwIfNoEntry: false })) =>
    followLinks(realFile) === realFile && fileStat?.ino === ino && fileStat.dev === dev;
  return isInPlace() && isInPlace() && followLinks(realFile) === realFile;
}

/** Where an open file is, even if it was replaced meanwhile. Undefined: this system cannot tell. */
function pathOfOpenFile(descriptor: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  const linkTarget = tryTo(() => fs.readlinkSync(`/proc/self/fd/${descriptor}`));
  return linkTarget?.endsWith(DELETED_SUFFIX) && fs.fstatSync(descriptor).nlink === 0
    ? linkTarget.slice(0, -DELETED_SUFFIX.length)
    : linkTarget;
}

const DELETED_SUFFIX = " (deleted)";

/**
 * Holds the file's folder open, so that nobody can swap it for a link. here: its path by that
 * handle.
 */
export function withFolderOpen<T>(targetFile: string, usePath: (reachedPath: string) => T): T {
  const parentFolder = path.dirname(targetFile);
  const descriptor = fs.openSync(parentFolder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  const handlePath = `/proc/self/fd/${descriptor}`;
  try {
    const realFolder = tryTo(() => fs.readlinkSync(handlePath));
    if ((realFolder ?? fs.realpathSync(parentFolder)) !== parentFolder)
      throw fault(
        `Cannot write '${targetFile}': its folder was swapped for a link. ` +
          "Look at what happens there.",
      );
    return usePath(
      path.join(realFolder === undefined ? parentFolder : handlePath, path.basename(targetFile)),
    );
  } finally {
    fs.closeSync(descriptor);
  }
}

export function followLinks(startPath: string): string {
  let existing = startPath;
  const missing: string[] = [];
  for (let followedLinks = 0; ; ) {
    const resolved = tryTo(() => fs.realpathSync.native(existing));
    const parentFolder = path.dirname(existing);
    if (resolved !== undefined || parentFolder === existing)
      return path.join(resolved ?? existing, ...missing);
    // a link to something that does not exist yet
    const linkTarget = followedLinks++ < 40 ? tryTo(() => fs.readlinkSync(existing)) : undefined;
    if (linkTarget === undefined) missing.unshift(path.basename(existing));
    existing = linkTarget === undefined ? parentFolder : path.resolve(parentFolder, linkTarget);
  }
}
