// Where long outputs are kept in full, for a day, in a private folder.
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { errnoSentence, makeFolder } from "zz/text";

export const MAX_SHOWN_CHARS = 30_000; // of an output, for the model
export const MAX_FILE_BYTES = 100 * 1024 * 1024; // of an output kept on the disk
const KEPT_MS = 24 * 60 * 60 * 1000;
const OUTPUT_NAME = /^output-\d{14}-[\da-f]{8}\.txt$/;

/**
 * Makes the folder, or checks it: nothing is written or removed in another user's folder, or
 * through a link.
 */
function makePrivate(folder: string): void {
  makeFolder(folder, 0o700);
  const folderStats = fs.lstatSync(folder);
  if (!folderStats.isDirectory()) throw new Error("it is not a folder but a link. Remove it");
  if (process.platform === "win32") return;
  if (folderStats.uid !== process.getuid!())
    throw new Error("it belongs to somebody else. Remove it");
  if (folderStats.mode & 0o077) fs.chmodSync(folder, 0o700);
  removeOldOutputs(folder);
}

/** Removes files made here more than a day ago. */
function removeOldOutputs(folder: string): void {
  for (const fileName of fs.readdirSync(folder)) {
    const outputFile = path.join(folder, fileName);
    const fileStats = OUTPUT_NAME.test(fileName)
      ? fs.lstatSync(outputFile, { throwIfNoEntry: false })
      : undefined;
    if (fileStats?.isFile() && Date.now() - fileStats.mtimeMs > KEPT_MS)
      fs.rmSync(outputFile, { force: true });
  }
}

export interface OutputStore {
  add(outputBytes: Buffer): void;
  close(): { path?: string; failure?: string; drop(): void };
}
/** Writes the output to a file as soon as it is longer than what the model is shown. */
export function openOutputStore(folder: string): OutputStore {
  let heldPieces: Buffer[] = [];
  let totalBytes = 0;
  let descriptor: number | undefined;
  let keptPath: string | undefined;
  let failure: string | undefined;
  const closeFile = () => {
    if (descriptor !== undefined) fs.closeSync(descriptor);
    descriptor = undefined;
  };
  const drop = () => void (keptPath && fs.rmSync(keptPath, { force: true }));
  const writeBytes = (pieceBytes: Buffer) => {
    if (failure) return;
    try {
      if (descriptor === undefined) {
        makePrivate(folder);
        const newFile = path.join(
          folder,
          `output-${new Date().toISOString().replace(/\D/g, "").slice(0, 14)}-` +
            `${randomUUID().slice(0, 8)}.txt`,
        );
        descriptor = fs.openSync(newFile, "wx", 0o600);
        keptPath = newFile;
      }
      for (let offset = 0; offset < pieceBytes.length; )
        offset += fs.writeSync(descriptor, pieceBytes, offset);
    } catch (error) {
      const reason = errnoSentence(error).split(". ")[0] || (error as Error).message;
      failure = `the whole output could not be kept in '${folder}': ${reason}`;
      closeFile();
      drop(); // a part is of no use, and others need the room
      keptPath = undefined;
    }
  };
  return {
    add(outputBytes) {
      const remainingBytes = MAX_FILE_BYTES - totalBytes;
      totalBytes += outputBytes.length;
      if (failure || remainingBytes <= 0) return;
      if (totalBytes <= MAX_SHOWN_CHARS) return void heldPieces.push(outputBytes);
      for (const heldBytes of heldPieces) writeBytes(heldBytes);
      heldPieces = [];
      writeBytes(outputBytes.subarray(0, remainingBytes));
    },
    close() {
      closeFile();
      return { ...(keptPath && { path: keptPath }), ...(failure && { failure }), drop };
    },
  };
}
