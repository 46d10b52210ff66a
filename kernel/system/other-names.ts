// Whether a path is another name of what a denial covers: a hard link, a mount, a spelling that the
// disk takes for the same.
import fs from "node:fs";
import path from "node:path";
import { tryTo } from "../text/words.ts";

type Identity = string | undefined;
const identityOf = (stat: fs.Stats | undefined): Identity =>
  stat?.ino ? `${stat.dev} ${stat.ino}` : undefined;
const statOf = (at: string): fs.Stats | undefined =>
  tryTo(() => fs.statSync(at, { throwIfNoEntry: false }));

/** Cached, since thousands of files may be judged in a row. */
const known = new Map<string, any>();
function once<T>(key: string, find: () => T): T {
  if (!known.size) setImmediate(() => known.clear());
  if (!known.has(key)) known.set(key, find());
  return known.get(key);
}

/**
 * Whether the file is `place` or in it, whatever it is called: a folder above it is the same on the
 * disk.
 */
export function isInsideByIdentity(place: string, file: string): boolean {
  const wanted = once(place, () => identityOf(statOf(place)));
  if (wanted === undefined) return false;
  for (let at = file; ; at = path.dirname(at)) {
    if (once(at, () => identityOf(statOf(at))) === wanted) return true;
    if (at === path.dirname(at)) return false;
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
  const named = once(`${key}\0${folder}`, () => namedIn(folder, fits));
  return named === undefined || named.has(identityOf(stat));
}

/**
 * The files in a folder that have several names, and one that fits. Undefined: there is too much to
 * look at.
 */
function namedIn(folder: string, fits: (file: string) => boolean): Set<Identity> | undefined {
  const found = new Set<Identity>();
  const folders = [folder];
  let left = MAX_ENTRIES;
  while (folders.length) {
    const at = folders.pop()!;
    const entries = tryTo(() => fs.readdirSync(at, { withFileTypes: true }));
    if (!entries && fits(at)) add(at);
    for (const entry of entries ?? []) {
      const inner = path.join(at, entry.name);
      if (left-- <= 0) return undefined;
      if (entry.isDirectory()) folders.push(inner);
      else if (entry.isFile() && fits(inner)) add(inner);
    }
  }
  return found;

  function add(at: string): void {
    const stat = tryTo(() => fs.lstatSync(at, { throwIfNoEntry: false }));
    if (stat && stat.nlink > 1) found.add(identityOf(stat));
  }
}
