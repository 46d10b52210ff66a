// The log's file: readable by the person alone, only ever appended to, and checked again with every
// entry.
import fs from "node:fs";
import { codeOf, errnoSentence, makeFolder } from "zz/text";

// a FIFO must not block
const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants;

/** Like errnoSentence() of zz/text, but every next step is about where the log may be. */
const REASONS: Record<string, string> = {
  ENOENT: "no such folder. Name a file in a folder that is there.",
  ENOTDIR: "a part of the path is not a folder. Name a file in a folder that is there.",
  EISDIR: "it is a folder. Name a file.",
  ELOOP: "it is a link. Name the file itself.",
  EMLINK: "it is a link. Name the file itself.",
  ENXIO: "it is not a regular file. Name another.",
  EACCES: "permission denied. Name a file that you may write.",
  EPERM: "it is somebody else's. Name a file of your own.",
  EROFS: "the file system is read-only. Name a file elsewhere.",
  ENOSPC: "the disk is full. Make room, or name a file elsewhere.",
  EDQUOT: "the disk quota is used up. Make room, or name a file elsewhere.",
};

/**
 * The text is handed to the system before this returns, so that a killed zz loses at most the entry
 * it was writing.
 */
export function append(logFile: string, entryText: string, folderToMake?: string): void {
  const descriptor = openLogFile(logFile, folderToMake);
  try {
    const fileStats = fs.fstatSync(descriptor);
    if (!fileStats.isFile()) throw Object.assign(new Error("ENXIO"), { code: "ENXIO" });
    if (fileStats.mode & 0o077) fs.fchmodSync(descriptor, 0o600);
    if (entryText) fs.appendFileSync(descriptor, entryText);
  } finally {
    fs.closeSync(descriptor);
  }
}

function openLogFile(logFile: string, folderToMake: string | undefined): number {
  const openFlags = O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
  try {
    return fs.openSync(logFile, openFlags, 0o600);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || !folderToMake) throw error;
    makeFolder(folderToMake, 0o700);
    return fs.openSync(logFile, openFlags, 0o600);
  }
}

export function sentenceFor(logFile: string, error: unknown): string {
  return (
    `Cannot write the debug log '${logFile}': ` +
    `${REASONS[codeOf(error)] ?? (errnoSentence(error) || `${(error as Error).message}.`)}`
  );
}
