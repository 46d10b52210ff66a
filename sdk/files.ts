// Folders that are made, and files that are written whole or not at all.

import { partIn, sweepParts } from "../kernel/system/temporary-files.ts";
import { codeOf, errnoSentence } from "../kernel/text/faults.ts";
import { tryTo } from "../kernel/text/words.ts";

/** Makes a folder and those around it. Returns what it made, the outermost first. (mkdirSync's own
 * `recursive` never ends in /proc, and reports a read-only disk as a missing folder.) */
export function makeFolder(folderPath: string, mode = 0o777): string[] {
  const { existsSync, mkdirSync } = process.getBuiltinModule("node:fs");
  if (existsSync(folderPath)) return [];
  const madeAbove = makeFolder(process.getBuiltinModule("node:path").dirname(folderPath), mode);
  try {
    mkdirSync(folderPath, { mode });
  } catch (makeError) {
    if (codeOf(makeError) !== "EEXIST") throw makeError; // another zz has just made it
    return madeAbove;
  }
  return [...madeAbove, folderPath];
}

/** Writes to a new file beside it, then renames that into place: a full disk leaves what was there.
 * Links and modes stay; `mode` is that of a new file. Devices are written to directly, and so are
 * files that cannot be replaced: in a folder without write access, or mounted. */
export function writeWhole(
  targetFile: string,
  newContent: string | Uint8Array,
  mode = 0o666,
): void {
  const fs = process.getBuiltinModule("node:fs");
  const { dirname, resolve } = process.getBuiltinModule("node:path");
  let realFile = targetFile;
  for (let linkCount = 0; linkCount < 40; linkCount++)
    realFile = resolve(dirname(realFile), tryTo(() => fs.readlinkSync(realFile)) ?? realFile);
  try {
    const oldStat = fs.statSync(realFile, { throwIfNoEntry: false });
    if (oldStat && !oldStat.isFile()) return void fs.writeFileSync(realFile, newContent);
    sweepParts(dirname(realFile));
    const partFile = partIn(dirname(realFile));
    try {
      const descriptor = fs.openSync(partFile, "wx", mode);
      try {
        fs.writeFileSync(descriptor, newContent);
        // else a power cut may leave an empty file in its place
        tryTo(() => fs.fsyncSync(descriptor));
      } finally {
        fs.closeSync(descriptor);
      }
      if (oldStat) tryTo(() => fs.chownSync(partFile, oldStat.uid, oldStat.gid));
      if (oldStat) tryTo(() => fs.chmodSync(partFile, oldStat.mode & 0o7777));
      fs.renameSync(partFile, realFile);
    } catch (replaceError) {
      if (!oldStat || !/^(EACCES|EPERM|EBUSY)$/.test(codeOf(replaceError))) throw replaceError;
      fs.writeFileSync(realFile, newContent);
    } finally {
      tryTo(() => fs.unlinkSync(partFile));
    }
  } catch (writeError) {
    const diskReason = errnoSentence(writeError);
    throw diskReason
      ? Object.assign(new Error(`Cannot write '${targetFile}': ${diskReason}`), {
          code: codeOf(writeError),
        })
      : writeError;
  }
}
