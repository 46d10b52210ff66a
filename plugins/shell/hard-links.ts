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
export function otherNames(places: string[], roots: string[], maxEntries = MAX_ENTRIES): string[] {
  const wanted = new Set<string>();
  for (const closedPath of places) collectIdentities(closedPath);
  if (!wanted.size) return [];
  const names: string[] = [];
  for (const root of roots) searchFolder(root);
  return names;

  function collectIdentities(start: string): void {
    const waiting = [start];
    for (let remaining = maxEntries; waiting.length && remaining; remaining--) {
      const absolutePath = waiting.shift()!;
      const stat = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
      if (stat?.isFile() && stat.nlink > 1) wanted.add(identity(stat));
      if (!stat?.isDirectory()) continue;
      for (const inner of direntsOf(absolutePath))
        if (inner.isDirectory() || inner.isFile())
          waiting.push(path.join(absolutePath, inner.name));
    }
  }

  function searchFolder(folder: string): void {
    for (const dirent of direntsOf(folder)) {
      const absolutePath = path.join(folder, dirent.name);
      if (isInsideAny(places, absolutePath)) continue;
      if (dirent.isDirectory() && dirent.name !== "node_modules") searchFolder(absolutePath);
      const stat = dirent.isFile()
        ? fs.lstatSync(absolutePath, { throwIfNoEntry: false })
        : undefined;
      if (stat && stat.nlink > 1 && wanted.has(identity(stat))) names.push(absolutePath);
    }
  }
}

const identity = ({ dev, ino }: fs.Stats): string => `${dev} ${ino}`;
