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

export const hashOf = (bytes: Uint8Array): string =>
  process.getBuiltinModule("node:crypto").hash("sha256", bytes, "hex");

export const isFolder = (state: DiskState): boolean =>
  state !== undefined && (state.mode & TYPE) === FOLDER;

export const hashOfState = (state: DiskState): string | null => {
  if (!state) return null;
  if (isFolder(state)) return "folder";
  return hashOf(state.bytes);
};

export const isSameState = (first: DiskState, two: DiskState): boolean =>
  first && two ? first.bytes.equals(two.bytes) && first.mode === two.mode : first === two;

/** How many bytes two contents share at their start, and how many of the others at their end. */
export function sharedEnds(first: Buffer, two: Buffer): [start: number, end: number] {
  const maxShared = Math.min(first.length, two.length);
  let start = 0;
  while (start < maxShared && first[start] === two[start]) start++;
  let end = 0;
  while (end < maxShared - start && first[first.length - 1 - end] === two[two.length - 1 - end])
    end++;
  return [start, end];
}

export function stateOf(file: string): DiskState {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const refuse = (reason: string) => fault(`Cannot change '${file}': ${reason}`);
  if (stat.isSymbolicLink()) return { bytes: fs.readlinkSync(file, "buffer"), mode: stat.mode };
  if (stat.isDirectory()) return { bytes: Buffer.alloc(0), mode: stat.mode };
  if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (stat.size > MAX_READ_BYTES) throw refuse(`${stat.size} bytes are too many. Use a command.`);
  const fd = openReal(file);
  try {
    return { bytes: fs.readFileSync(fd), mode: fs.fstatSync(fd).mode };
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * The same, for a path whose parent may be a file or a link, where nothing is then. A mode may keep
 * its owner out.
 */
export function stateInPlace(file: string): DiskState {
  const folder = path.dirname(file);
  const look = () => (followLinks(folder) === folder ? stateOf(file) : undefined);
  const modes = folderModes((folder, stat = fs.lstatSync(folder)) =>
    stat.isSymbolicLink() ? undefined : stat.mode,
  );
  try {
    return look();
  } catch (error) {
    if (["ENOTDIR", "ELOOP"].includes(codeOf(error))) return undefined;
    if (codeOf(error) !== "EACCES") throw error;
    modes.open(ancestorsOf(file));
    const state = look();
    return state && { ...state, mode: modes.late.get(file) ?? state.mode };
  } finally {
    modes.close();
  }
}

const { R_OK: READABLE, W_OK: WRITABLE, X_OK: PASSABLE } = fs.constants;

export const isShut = (folder: string): boolean =>
  !tryTo(() => fs.accessSync(folder, READABLE | WRITABLE | PASSABLE) ?? true);

export const ancestorsOf = (file: string): string[] =>
  file === path.dirname(file) ? [] : [...ancestorsOf(path.dirname(file)), file];

/**
 * Opens folders that keep their owner out. They get their modes at the end, the innermost first.
 */
export function folderModes(
  modeOf: (folder: string) => number | undefined = modeOfFolder,
  set = setMode,
) {
  const late = new Map<string, number>();
  const ownerBits = 0o700;
  const give = (folder: string, mode: number): void => {
    set(folder, mode | ownerBits);
    (mode & ownerBits) === ownerBits ? late.delete(folder) : late.set(folder, mode);
  };
  return {
    give,
    late,
    open(folders: Iterable<string>): void {
      for (const folder of [...folders].sort()) {
        const mode = tryTo(() => modeOf(folder));
        if (mode !== undefined && (mode & ownerBits) !== ownerBits) tryTo(() => give(folder, mode));
      }
    },
    close(): void {
      for (const [folder, mode] of [...late].sort().reverse())
        tryTo(() => modeOf(folder) !== undefined && set(folder, mode));
    },
  };
}

export type FolderModes = ReturnType<typeof folderModes>;

const modeOfFolder = (file: string, stat = fs.lstatSync(file)): number | undefined =>
  stat.isDirectory() ? stat.mode : undefined;

const setMode = (file: string, mode: number): void =>
  withFolderOpen(file, (reachedPath) => fs.chmodSync(reachedPath, mode & 0o7777));
