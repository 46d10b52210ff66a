// What is at a path: its bytes, its mode, or nothing.
import fs from "node:fs";
import path from "node:path";
import { codeOf, fault } from "../text/faults.ts";
import { tryTo } from "../text/words.ts";
import { followLinks, openReal, withFolderOpen } from "./open-real.ts";

export const MAX_READ_BYTES = 50 * 1024 * 1024;

export const [FILE, LINK, FOLDER, TYPE] = [0o100000, 0o120000, 0o040000, 0o170000];

/**
 * The state of a file: its mode with the type; the bytes of a link are its target, a folder has
 * none. Undefined: it does not exist.
 */
export type DiskState = { bytes: Buffer; mode: number } | undefined;

export const hashOf = (contents: Uint8Array | string): string =>
  process.getBuiltinModule("node:crypto").hash("sha256", contents, "hex");

export const isFolder = (diskState: DiskState): boolean =>
  diskState !== undefined && (diskState.mode & TYPE) === FOLDER;

export const hashOfState = (diskState: DiskState): string | null => {
  if (!diskState) return null;
  if (isFolder(diskState)) return "folder";
  return hashOf(diskState.bytes);
};

export const isSameState = (firstState: DiskState, secondState: DiskState): boolean =>
  firstState && secondState
    ? firstState.bytes.equals(secondState.bytes) && firstState.mode === secondState.mode
    : firstState === secondState;

/** How many bytes two contents share at their start, and how many of the others at their end. */
export function sharedEnds(firstBytes: Buffer, secondBytes: Buffer): [start: number, end: number] {
  const maxShared = Math.min(firstBytes.length, secondBytes.length);
  let sharedStart = 0;
  while (sharedStart < maxShared && firstBytes[sharedStart] === secondBytes[sharedStart])
    sharedStart++;
  let sharedEnd = 0;
  while (
    sharedEnd < maxShared - sharedStart &&
    firstBytes[firstBytes.length - 1 - sharedEnd] ===
      secondBytes[secondBytes.length - 1 - sharedEnd]
  )
    sharedEnd++;
  return [sharedStart, sharedEnd];
}

export function stateOf(filePath: string): DiskState {
  const fileStat = fs.lstatSync(filePath, { throwIfNoEntry: false });
  if (!fileStat) return undefined;
  const refuse = (reason: string) => fault(`Cannot change '${filePath}': ${reason}`);
  if (fileStat.isSymbolicLink())
    return { bytes: fs.readlinkSync(filePath, "buffer"), mode: fileStat.mode };
  if (fileStat.isDirectory()) return { bytes: Buffer.alloc(0), mode: fileStat.mode };
  if (!fileStat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (fileStat.size > MAX_READ_BYTES)
    throw refuse(`${fileStat.size} bytes are too many. Use a command.`);
  const descriptor = openReal(filePath);
  try {
    return { bytes: fs.readFileSync(descriptor), mode: fs.fstatSync(descriptor).mode };
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * The same, for a path whose parent may be a file or a link, where nothing is then. A mode may keep
 * its owner out.
 */
export function stateInPlace(filePath: string): DiskState {
  const parentFolder = path.dirname(filePath);
  const readState = () =>
    followLinks(parentFolder) === parentFolder ? stateOf(filePath) : undefined;
  const openedModes = folderModes((checkedFolder, folderStat = fs.lstatSync(checkedFolder)) =>
    folderStat.isSymbolicLink() ? undefined : folderStat.mode,
  );
  try {
    return readState();
  } catch (readError) {
    if (["ENOTDIR", "ELOOP"].includes(codeOf(readError))) return undefined;
    if (codeOf(readError) !== "EACCES") throw readError;
    openedModes.open(ancestorsOf(filePath));
    const openedState = readState();
    return (
      openedState && { ...openedState, mode: openedModes.late.get(filePath) ?? openedState.mode }
    );
  } finally {
    openedModes.close();
  }
}

const { R_OK: READABLE, W_OK: WRITABLE, X_OK: PASSABLE } = fs.constants;

export const isShut = (folderPath: string): boolean =>
  !tryTo(() => fs.accessSync(folderPath, READABLE | WRITABLE | PASSABLE) ?? true);

export const ancestorsOf = (filePath: string): string[] =>
  filePath === path.dirname(filePath) ? [] : [...ancestorsOf(path.dirname(filePath)), filePath];

/**
 * Opens folders that keep their owner out. They get their modes at the end, the innermost first.
 */
export function folderModes(
  readMode: (folderPath: string) => number | undefined = modeOfFolder,
  applyMode = setMode,
) {
  const late = new Map<string, number>();
  const ownerBits = 0o700;
  const give = (folderPath: string, wantedMode: number): void => {
    applyMode(folderPath, wantedMode | ownerBits);
    (wantedMode & ownerBits) === ownerBits
      ? late.delete(folderPath)
      : late.set(folderPath, wantedMode);
  };
  return {
    give,
    late,
    open(folders: Iterable<string>): void {
      for (const folderPath of [...folders].sort()) {
        const folderMode = tryTo(() => readMode(folderPath));
        if (folderMode !== undefined && (folderMode & ownerBits) !== ownerBits)
          tryTo(() => give(folderPath, folderMode));
      }
    },
    close(): void {
      for (const [folderPath, finalMode] of [...late].sort().reverse())
        tryTo(() => readMode(folderPath) !== undefined && applyMode(folderPath, finalMode));
    },
  };
}

export type FolderModes = ReturnType<typeof folderModes>;

const modeOfFolder = (
  folderPath: string,
  folderStat = fs.lstatSync(folderPath),
): number | undefined => (folderStat.isDirectory() ? folderStat.mode : undefined);

const setMode = (folderPath: string, wantedMode: number): void =>
  withFolderOpen(folderPath, (reachedPath) => fs.chmodSync(reachedPath, wantedMode & 0o7777));
