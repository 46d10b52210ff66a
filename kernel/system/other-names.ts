// Whether a path is another name of what a denial covers: a hard link, a mount, a spelling that the
// disk takes for the same.
import fs from "node:fs";
import path from "node:path";
import { tryTo } from "../text/words.ts";

type Identity = string | undefined;
const identityOf = (fileStat: fs.Stats | undefined): Identity =>
  fileStat?.ino ? `${fileStat.dev} ${fileStat.ino}` : undefined;
const followedStatOf = (filePath: string): fs.Stats | undefined =>
  tryTo(() => fs.statSync(filePath, { throwIfNoEntry: false }));

/** Cached, since thousands of files may be judged in a row. */
const lookupCache = new Map<string, any>();
export function findOnce<T>(cacheKey: string, computeValue: () => T): T {
  if (!lookupCache.size) setImmediate(() => lookupCache.clear());
  if (!lookupCache.has(cacheKey)) lookupCache.set(cacheKey, computeValue());
  return lookupCache.get(cacheKey);
}

/**
 * Whether the file is `place` or in it, whatever it is called: a folder above it is the same on the
 * disk.
 */
export function isInsideByIdentity(covered: string, filePath: string): boolean {
  const wantedIdentity = findOnce(covered, () => identityOf(followedStatOf(covered)));
  if (wantedIdentity === undefined) return false;
  for (let ancestor = filePath; ; ancestor = path.dirname(ancestor)) {
    if (findOnce(ancestor, () => identityOf(followedStatOf(ancestor))) === wantedIdentity)
      return true;
    if (ancestor === path.dirname(ancestor)) return false;
  }
}

const MAX_ENTRIES = 20_000;
/**
 * Whether a file that has several names has one in the folder that fits. If there is too much to
 * look at, it may have.
 */
export function hasNameIn(
  searchedFolder: string,
  isCovered: (candidate: string) => boolean,
  linkedFile: string,
  cacheKey: string,
): boolean {
  const fileStat = tryTo(() => fs.lstatSync(linkedFile, { throwIfNoEntry: false }));
  if (!fileStat?.isFile() || fileStat.nlink < 2) return false;
  const linkedFiles = findOnce(`${cacheKey}\0${searchedFolder}`, () =>
    linkedFilesIn(searchedFolder, isCovered),
  );
  return linkedFiles === undefined || linkedFiles.has(identityOf(fileStat));
}

/**
 * The files in a folder that have several names, and one that fits. Undefined: there is too much to
 * look at.
 */
function linkedFilesIn(
  searchedFolder: string,
  isCovered: (candidate: string) => boolean,
): Set<Identity> | undefined {
  const identities = new Set<Identity>();
  const folders = [searchedFolder];
  let remaining = MAX_ENTRIES;
  while (folders.length) {
    const current = folders.pop()!;
    const entries = tryTo(() => fs.readdirSync(current, { withFileTypes: true }));
    if (!entries && isCovered(current)) addIdentity(current);
    for (const dirent of entries ?? []) {
      const innerPath = path.join(current, dirent.name);
      if (remaining-- <= 0) return undefined;
      if (dirent.isDirectory()) folders.push(innerPath);
      else if (dirent.isFile() && isCovered(innerPath)) addIdentity(innerPath);
    }
  }
  return identities;

  function addIdentity(linkedFile: string): void {
    const fileStat = tryTo(() => fs.lstatSync(linkedFile, { throwIfNoEntry: false }));
    if (fileStat && fileStat.nlink > 1) identities.add(identityOf(fileStat));
  }
}
