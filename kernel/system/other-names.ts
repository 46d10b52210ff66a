// Whether a path is another name of what a denial covers: a hard link, a mount, a spelling that the
// disk takes for the same.
import fs from "node:fs";
import path from "node:path";
import { tryTo } from "../text/words.ts";

type Identity = string | undefined;
const identityOf = (stat: fs.Stats | undefined): Identity =>
  stat?.ino ? `${stat.dev} ${stat.ino}` : undefined;
const followedStatOf = (file: string): fs.Stats | undefined =>
  tryTo(() => fs.statSync(file, { throwIfNoEntry: false }));

/** Cached, since thousands of files may be judged in a row. */
const cache = new Map<string, any>();
function findOnce<T>(key: string, find: () => T): T {
  if (!cache.size) setImmediate(() => cache.clear());
  if (!cache.has(key)) cache.set(key, find());
  return cache.get(key);
}

/**
 * Whether the file is `place` or in it, whatever it is called: a folder above it is the same on the
 * disk.
 */
export function isInsideByIdentity(covered: string, file: string): boolean {
  const wanted = findOnce(covered, () => identityOf(followedStatOf(covered)));
  if (wanted === undefined) return false;
  for (let ancestor = file; ; ancestor = path.dirname(ancestor)) {
    if (findOnce(ancestor, () => identityOf(followedStatOf(ancestor))) === wanted) return true;
    if (ancestor === path.dirname(ancestor)) return false;
  }
}

const MAX_ENTRIES = 20_000;
/**
 * Whether a file that has several names has one in the folder that fits. If there is too much to
 * look at, it may have.
 */
export function hasNameIn(
  folder: string,
  fits: (file: string) => boolean,
  file: string,
  key: string,
): boolean {
  const stat = tryTo(() => fs.lstatSync(file, { throwIfNoEntry: false }));
  if (!stat?.isFile() || stat.nlink < 2) return false;
  const named = findOnce(`${key}\0${folder}`, () => linkedFilesIn(folder, fits));
  return named === undefined || named.has(identityOf(stat));
}

/**
 * The files in a folder that have several names, and one that fits. Undefined: there is too much to
 * look at.
 */
function linkedFilesIn(folder: string, fits: (file: string) => boolean): Set<Identity> | undefined {
  const identities = new Set<Identity>();
  const folders = [folder];
  let remaining = MAX_ENTRIES;
  while (folders.length) {
    const current = folders.pop()!;
    const entries = tryTo(() => fs.readdirSync(current, { withFileTypes: true }));
    if (!entries && fits(current)) add(current);
    for (const dirent of entries ?? []) {
      const inner = path.join(current, dirent.name);
      if (remaining-- <= 0) return undefined;
      if (dirent.isDirectory()) folders.push(inner);
      else if (dirent.isFile() && fits(inner)) add(inner);
    }
  }
  return identities;

  function add(twin: string): void {
    const stat = tryTo(() => fs.lstatSync(twin, { throwIfNoEntry: false }));
    if (stat && stat.nlink > 1) identities.add(identityOf(stat));
  }
}
