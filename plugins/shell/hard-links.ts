// The other names of files that the rules close: a file can have several, and a denial
// holds for the file.
import fs from "node:fs";
import path from "node:path";
import { isInsideAny } from "zz/text";
import { direntsOf } from "./resolve-paths.ts";

const MAX_ENTRIES = 20_000;

/**
 * The names in these roots of files that are, or lie in, one of the places, of which the nearest
 * are looked at. The disk is searched only if one has several names.
 */
export function otherNames(
  closedPaths: string[],
  roots: string[],
  maxEntries = MAX_ENTRIES,
): string[] {
  const wantedFiles = new Set<string>();
  for (const closedPath of closedPaths) collectIdentities(closedPath);
  if (!wantedFiles.size) return [];
  const matchingNames: string[] = [];
  for (const root of roots) searchFolder(root);
  return matchingNames;

  function collectIdentities(startPath: string): void {
    const waiting = [startPath];
    for (let remaining = maxEntries; waiting.length && remaining; remaining--) {
      const absolutePath = waiting.shift()!;
      const fileStats = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
      if (fileStats?.isFile() && fileStats.nlink > 1) wantedFiles.add(identity(fileStats));
      if (!fileStats?.isDirectory()) continue;
      for (const innerDirent of direntsOf(absolutePath))
        if (innerDirent.isDirectory() || innerDirent.isFile())
          waiting.push(path.join(absolutePath, innerDirent.name));
    }
  }

  function searchFolder(folder: string): void {
    for (const dirent of direntsOf(folder)) {
      const absolutePath = path.join(folder, dirent.name);
      if (isInsideAny(closedPaths, absolutePath)) continue;
      if (dirent.isDirectory() && dirent.name !== "node_modules") searchFolder(absolutePath);
      const fileStats = dirent.isFile()
        ? fs.lstatSync(absolutePath, { throwIfNoEntry: false })
        : undefined;
      if (fileStats && fileStats.nlink > 1 && wantedFiles.has(identity(fileStats)))
        matchingNames.push(absolutePath);
    }
  }
}

const identity = ({ dev, ino }: fs.Stats): string => `${dev} ${ino}`;
