// The files of a plugin on the disk, and what is shown of them.
import { hash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { compare, entriesOf, fault } from "zz/text";

/** How much a plugin may bring, and how much together with the packages that it needs. */
export const OWN = { files: 20_000, megabytes: 200 };
export const WITH_PACKAGES = { files: 100_000, megabytes: 1_000 };

/** Foreign text for a terminal: one line, without invisible characters, not too long. */
export const plain = (text: unknown, maxChars = 200): string => {
  const line = String(text)
    .replace(/\s+/g, " ")
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "")
    .trim();
  return line.length > maxChars ? `${line.slice(0, maxChars - 1)}…` : line;
};

export const sumOf = (bytes: Buffer | string, algorithm = "sha256"): string =>
  `${algorithm}-${hash(algorithm, bytes, "base64")}`;

export const inUnits = (bytes: number): string => {
  if (bytes < 1e3) return `${bytes} bytes`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
};

/** Counts files and gives their size in all; throws where there are too many. */
export function counter(limits = OWN): (size: number) => number {
  let [files, bytes] = [0, 0];
  return (size) => {
    if (++files > limits.files)
      throw fault(`it holds more than ${limits.files.toLocaleString("en")} files, ${TOO_MUCH}`);
    if ((bytes += size) > limits.megabytes * 1e6)
      throw fault(`it is larger than ${limits.megabytes} MB, ${TOO_MUCH}`);
    return bytes;
  };
}
const TOO_MUCH = "which is more than a plugin may bring";

/**
 * The files of a plugin (`top` is its file or folder) by their paths below `folder`, without the
 * packages that it needs.
 */
export function filesIn(
  folder: string,
  top: string,
  packages: ReadonlySet<string>,
  count?: (size: number) => unknown,
) {
  const names: string[] = [];
  walk(top);
  return names.sort(compare);

  function walk(name: string): void {
    const stat = fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false });
    if (!stat?.isDirectory()) {
      if (stat) names.push(name);
      count?.(stat?.size ?? 0);
    } else if (
      !packages.has(name.slice(top.length + "/node_modules/".length)) ||
      !name.startsWith(`${top}/node_modules/`)
    )
      for (const child of entriesOf(path.join(folder, name))) walk(`${name}/${child}`);
  }
}
