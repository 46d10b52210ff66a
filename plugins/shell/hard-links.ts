// hard-links: the other names of files that the rules close: a file can have several, and a denial holds for the file.
import fs from "node:fs";
import path from "node:path";
import { isInside } from "zz/text";
import { direntsOf } from "./paths.ts";

const MAX_ENTRIES = 20_000; // looked at in closed folders

/** The names in these roots of files that are, or lie in, one of the places. The disk is searched only if one has several names. */
export function otherNames(places: string[], roots: string[]): string[] {
  const wanted = new Set<string>();
  let left = MAX_ENTRIES;
  for (const place of places) collect(place);
  if (!wanted.size) return [];
  const found: string[] = [];
  for (const root of roots) look(root);
  return found;

  function collect(at: string, entry?: fs.Dirent): void {
    if (left-- <= 0) return;
    if (entry && !entry.isDirectory() && !entry.isFile()) return;
    const stat = entry?.isDirectory() ? undefined : fs.lstatSync(at, { throwIfNoEntry: false });
    if (stat?.isFile() && stat.nlink > 1) wanted.add(identity(stat));
    if (entry?.isDirectory() || stat?.isDirectory())
      for (const inner of direntsOf(at)) collect(path.join(at, inner.name), inner);
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
