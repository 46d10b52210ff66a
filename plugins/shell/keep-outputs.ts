// Where long outputs are kept in full, for a day, in a private folder.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { errnoSentence, makeFolder } from "zz/text";

export const MAX_SHOWN_CHARS = 30_000; // of an output, for the model
export const MAX_FILE_BYTES = 100 * 1024 * 1024; // of an output kept on the disk
const KEPT_MS = 24 * 60 * 60 * 1000;
const NAME = /^output-\d{14}-[\da-f]{8}\.txt$/;

/**
 * Makes the folder, or checks it: nothing is written or removed in another user's folder, or
 * through a link.
 */
function makePrivate(folder: string): void {
  makeFolder(folder, 0o700);
  const stat = fs.lstatSync(folder);
  if (!stat.isDirectory()) throw new Error("it is not a folder but a link. Remove it");
  if (process.platform === "win32") return;
  if (stat.uid !== process.getuid!()) throw new Error("it belongs to somebody else. Remove it");
  if (stat.mode & 0o077) fs.chmodSync(folder, 0o700);
  removeOldOutputs(folder);
}

/** Removes files made here more than a day ago. */
function removeOldOutputs(folder: string): void {
  for (const name of fs.readdirSync(folder)) {
    const file = path.join(folder, name);
    const stat = NAME.test(name) ? fs.lstatSync(file, { throwIfNoEntry: false }) : undefined;
    if (stat?.isFile() && Date.now() - stat.mtimeMs > KEPT_MS) fs.rmSync(file, { force: true });
  }
}

export interface OutputStore {
  add(bytes: Buffer): void;
  close(): { path?: string; failure?: string; drop(): void };
}
/** Writes the output to a file as soon as it is longer than what the model is shown. */
export function openOutputStore(folder: string): OutputStore {
  let held: Buffer[] = [];
  let size = 0;
  let fd: number | undefined;
  let name: string | undefined;
  let failure: string | undefined;
  const shut = () => {
    if (fd !== undefined) fs.closeSync(fd);
    fd = undefined;
  };
  const drop = () => void (name && fs.rmSync(name, { force: true }));
  const writeBytes = (bytes: Buffer) => {
    if (failure) return;
    try {
      if (fd === undefined) {
        makePrivate(folder);
        const file = path.join(
          folder,
          `output-${new Date().toISOString().replace(/\D/g, "").slice(0, 14)}-${randomUUID().slice(0, 8)}.txt`,
        );
        fd = fs.openSync(file, "wx", 0o600);
        name = file;
      }
      for (let offset = 0; offset < bytes.length; ) offset += fs.writeSync(fd, bytes, offset);
    } catch (error) {
      const reason = errnoSentence(error).split(". ")[0] || (error as Error).message;
      failure = `the whole output could not be kept in '${folder}': ${reason}`;
      shut();
      drop(); // a part is of no use, and others need the room
      name = undefined;
    }
  };
  return {
    add(bytes) {
      const room = MAX_FILE_BYTES - size;
      size += bytes.length;
      if (failure || room <= 0) return;
      if (size <= MAX_SHOWN_CHARS) return void held.push(bytes);
      for (const heldBytes of held) writeBytes(heldBytes);
      held = [];
      writeBytes(bytes.subarray(0, room));
    },
    close() {
      shut();
      return { ...(name && { path: name }), ...(failure && { failure }), drop };
    },
  };
}
