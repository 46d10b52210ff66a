// Names resolved against the disk, with links followed.
import fs from "node:fs";
import path from "node:path";
import { tryTo } from "zz/text";

/** Real paths, with links followed; missing ones are left out. */
export function real(paths: string[]): string[] {
  return [...new Set(paths.flatMap((absolutePath) => realOf(absolutePath) ?? []))];
}

export const realOf = (file: string): string | undefined => tryTo(() => fs.realpathSync(file));

export function isFolder(absolutePath: string): boolean {
  return !!fs.lstatSync(absolutePath, { throwIfNoEntry: false })?.isDirectory();
}

/** Whether a name leads to a folder, relative to one of these; links are followed. */
export function isFolderIn(name: string | undefined, dirs: readonly string[]): boolean {
  return dirs.some(
    (dir) =>
      name !== undefined && tryTo(() => fs.statSync(inFolder(dir, name)).isDirectory()) === true,
  );
}

/** Not path.join(), which resolves `link/..` differently from the disk. */
export const inFolder = (dir: string, name: string): string =>
  path.isAbsolute(name) ? name : `${dir}/${name}`;

/**
 * The entries of a folder; none if it is gone or unreadable: then no command can read it either.
 */
export const direntsOf = (folder: string): fs.Dirent[] =>
  tryTo(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [];

/**
 * Whether a missing file could be made: not on a read-only disk, nor in a folder that is another
 * person's to open. Who owns a folder could open it.
 */
export function canAppear(absolutePath: string): boolean {
  const folder = path.dirname(absolutePath);
  try {
    fs.accessSync(folder, fs.constants.W_OK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EROFS") return false;
    const stat = fs.statSync(folder, { throwIfNoEntry: false });
    return !stat || stat.uid === process.getuid?.(); // a folder that is missing could be made, too
  }
}

/** The content of a file; nothing if nobody who runs as the person can read it, or write it. */
export const bytesOf = (absolutePath: string): Buffer =>
  tryTo(() => fs.readFileSync(absolutePath)) ?? Buffer.alloc(0);
