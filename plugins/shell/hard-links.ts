// hard-links: the other names of files that the rules close: a file can have several, and a denial
// holds for the file.
import fs from "node:fs";
import path from "node:path";
import { isInside } from "zz/text";
import { direntsOf } from "./paths.ts";

const MAX_ENTRIES = 20_000;

/**
 * The names in these roots of files that are, or lie in, one of the places, of which the nearest
 * are looked at. The disk is searched only if one has several names.
 */
export function otherNames(places: string[], roots: string[], most = MAX_ENTRIES): string[] {
  const wanted = new Set<string>();
  for (const place of places) collect(place);
  if (!wanted.size) return [];
  const found: string[] = [];
  for (const root of roots) look(root);
  return found;

  function collect(place: string): void {
    const waiting = [place];
    for (let left = most; waiting.length && left; left--) {
      const at = waiting.shift()!;
      const stat = fs.lstatSync(at, { throwIfNoEntry: false });
      if (stat?.isFile() && stat.nlink > 1) wanted.add(identity(stat));
      if (!stat?.isDirectory()) continue;
      for (const inner of direntsOf(at))
        if (inner.isDirectory() || inner.isFile()) waiting.push(path.join(at, inner.name));
    }
  }

  function look(folder: string): void {
    for (const entry of direntsOf(folder)) {
      const at = path.join(folder, entry.name);
      if (places.some((place) => isInside(place, at))) continue;
      if (entry.isDirectory() && entry.name !== "node_modules") look(at);
      const stat = entry.isFile() ? fs.lstatSync(at, { throwIfNoEntry: false }) : undefined;
      if (stat && stat.nlink > 1 && wanted.has(identity(stat))) found.push(at);
    }
  }
}

const identity = ({ dev, ino }: fs.Stats): string => `${dev} ${ino}`;
