// Names resolved against the disk, with links followed.
import fs from "node:fs";
import path from "node:path";
import { tryTo } from "zz/text";

/** Real paths, with links followed; missing ones are left out. */
export function real(absolutePaths: string[]): string[] {
  return [...new Set(absolutePaths.flatMap((absolutePath) => realOf(absolutePath) ?? []))];
}

export const realOf = (filePath: string): string | undefined =>
  tryTo(() => fs.realpathSync(filePath));

export function isFolder(absolutePath: string): boolean {
  return !!fs.lstatSync(absolutePath, { throwIfNoEntry: false })?.isDirectory();
}

/** Whether a name leads to a folder, relative to one of these; links are followed. */
export function isFolderIn(pathName: string | undefined, folders: readonly string[]): boolean {
  return folders.some(
    (folder) =>
      pathName !== undefined &&
      tryTo(() => fs.statSync(inFolder(folder, pathName)).isDirectory()) === true,
  );
}

/** Whether git takes a folder with these names in it for a repository's own. */
export const isGitFolder = (entryNames: string[]): boolean =>
  ["HEAD", "objects", "refs"].every((neededName) => entryNames.includes(neededName));

/** Not path.join(), which resolves `link/..` differently from the disk. */
export const inFolder = (folder: string, pathName: string): string =>
  path.isAbsolute(pathName) ? pathName : `${folder}/${pathName}`;

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
  const parentFolder = path.dirname(absolutePath);
  try {
    fs.accessSync(parentFolder, fs.constants.W_OK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EROFS") return false;
    const folderStats = fs.statSync(parentFolder, { throwIfNoEntry: false });
    // a folder that is missing could be made, too
    return !folderStats || folderStats.uid === process.getuid?.();
  }
}

/** The content of a file; nothing if nobody who runs as the person can read it, or write it. */
export const bytesOf = (absolutePath: string): Buffer =>
  tryTo(() => fs.readFileSync(absolutePath)) ?? Buffer.alloc(0);
