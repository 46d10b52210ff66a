// The files of a plugin on the disk, and what is shown of them.
import { hash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { compare, entriesOf, fault } from "zz/text";

/** How much a plugin may bring, and how much together with the packages that it needs. */
export const OWN = { files: 20_000, megabytes: 200 };
export const WITH_PACKAGES = { files: 100_000, megabytes: 1_000 };

/** Foreign text for a terminal: one line, without invisible characters, not too long. */
export const plain = (foreignText: unknown, maxChars = 200): string => {
  const singleLine = String(foreignText)
    .replace(/\s+/g, " ")
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu, "")
    .trim();
  return singleLine.length > maxChars ? `${singleLine.slice(0, maxChars - 1)}…` : singleLine;
};

export const sumOf = (hashedBytes: Buffer | string, algorithm = "sha256"): string =>
  `${algorithm}-${hash(algorithm, hashedBytes, "base64")}`;

/** Counts files and gives their size in all; throws where there are too many. */
export function counter(sizeLimits = OWN): (fileSize: number) => number {
  let [fileCount, byteTotal] = [0, 0];
  return (fileSize) => {
    if (++fileCount > sizeLimits.files)
      throw fault(`it holds more than ${sizeLimits.files.toLocaleString("en")} files, ${TOO_MUCH}`);
    if ((byteTotal += fileSize) > sizeLimits.megabytes * 1e6)
      throw fault(`it is larger than ${sizeLimits.megabytes} MB, ${TOO_MUCH}`);
    return byteTotal;
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
  countFile?: (fileSize: number) => unknown,
) {
  const fileNames: string[] = [];
  walkPath(top);
  return fileNames.sort(compare);

  function walkPath(relativePath: string): void {
    const pathStats = fs.lstatSync(path.join(folder, relativePath), { throwIfNoEntry: false });
    if (!pathStats?.isDirectory()) {
      if (pathStats) fileNames.push(relativePath);
      countFile?.(pathStats?.size ?? 0);
    } else if (
      !packages.has(relativePath.slice(top.length + "/node_modules/".length)) ||
      !relativePath.startsWith(`${top}/node_modules/`)
    )
      for (const childName of entriesOf(path.join(folder, relativePath)))
        walkPath(`${relativePath}/${childName}`);
  }
}
