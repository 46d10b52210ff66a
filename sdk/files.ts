// Folders that are made, and files that are written whole or not at all.

import { partIn, sweepParts } from "../kernel/system/temporary-files.ts";
import { codeOf, errnoSentence } from "../kernel/text/faults.ts";
import { tryTo } from "../kernel/text/words.ts";

/** Makes a folder and those around it. Returns what it made, the outermost first. (mkdirSync's own
 * `recursive` never ends in /proc, and reports a read-only disk as a missing folder.) */
export function makeFolder(folder: string, mode = 0o777): string[] {
  const { existsSync, mkdirSync } = process.getBuiltinModule("node:fs");
  if (existsSync(folder)) return [];
  const above = makeFolder(process.getBuiltinModule("node:path").dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error; // another zz has just made it
    return above;
  }
  return [...above, folder];
}

/** Writes to a new file beside it, then renames that into place: a full disk leaves what was there.
 * Links and modes stay; `mode` is that of a new file. Devices are written to directly, and so are
 * files that cannot be replaced: in a folder without write access, or mounted. */
export function writeWhole(file: string, text: string | Uint8Array, mode = 0o666): void {
  const fs = process.getBuiltinModule("node:fs");
  const { dirname, resolve } = process.getBuiltinModule("node:path");
  let real = file;
  for (let links = 0; links < 40; links++)
    real = resolve(dirname(real), tryTo(() => fs.readlinkSync(real)) ?? real);
  try {
    const old = fs.statSync(real, { throwIfNoEntry: false });
    if (old && !old.isFile()) return void fs.writeFileSync(real, text);
    sweepParts(dirname(real));
    const part = partIn(dirname(real));
    try {
      const fd = fs.openSync(part, "wx", mode);
      try {
        fs.writeFileSync(fd, text);
        tryTo(() => fs.fsyncSync(fd)); // else a power cut may leave an empty file in its place
      } finally {
        fs.closeSync(fd);
      }
      if (old) tryTo(() => fs.chownSync(part, old.uid, old.gid));
      if (old) tryTo(() => fs.chmodSync(part, old.mode & 0o7777));
      fs.renameSync(part, real);
    } catch (error) {
      if (!old || !/^(EACCES|EPERM|EBUSY)$/.test(codeOf(error))) throw error;
      fs.writeFileSync(real, text);
    } finally {
      tryTo(() => fs.unlinkSync(part));
    }
  } catch (error) {
    const reason = errnoSentence(error);
    throw reason
      ? Object.assign(new Error(`Cannot write '${file}': ${reason}`), { code: codeOf(error) })
      : error;
  }
}
