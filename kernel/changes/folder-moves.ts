// Moves many files instead of copying them: those that a command made on a copy and that no
// question shows. The old ones are kept for undo.
import fs from "node:fs";
import path from "node:path";
import type { Move } from "../contract.ts";
import { newId } from "../instance.ts";
import { makePrivate, writePrivate } from "../system/atomic-write.ts";
import { FOLDER, type FolderModes, folderModes, LINK, TYPE } from "../system/file-state.ts";
import { partIn } from "../system/temporary-files.ts";
import { codeOf, fault } from "../text/faults.ts";
import { entriesOf, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";

/** What a look at a file shows; null: it does not exist; a time that is not a number is any. */
type FileLook = [mode: number, bytes: number, mtime: number, inode: number] | null;
type MoveRow = [name: string, was: FileLook, is: FileLook];
/** from: where each file waits until it is moved. Names are bytes, as latin1. */
export type Moves = { root: string; rows: MoveRow[]; from?: (string | undefined)[]; kept?: string };

const latin1Bytes = (name: string): Buffer => Buffer.from(name, "latin1");
const isFolder = (look: FileLook): boolean => look !== null && (look[0] & TYPE) === FOLDER;
const isFile = (look: FileLook): boolean => look !== null && !isFolder(look);
const isSameLook = (first: FileLook, two: FileLook): boolean =>
  first && two
    ? first[0] === two[0] && first[1] === two[1] && !(Math.abs(first[2] - two[2]) >= 1)
    : first === two;

function lookAt(file: Buffer): FileLook {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return null;
  if (stat.isDirectory()) return [stat.mode, 0, 0, 0];
  return [stat.mode, stat.size, stat.mtimeMs, stat.ino];
}

/**
 * What is in the project; in a folder that is missing, a file or a link, that is nothing. isStrict:
 * a link is an error.
 */
function lookIn({ at, late }: Folders, name: string, isStrict = false): FileLook {
  try {
    const look = lookAt(at(name));
    return isFolder(look) && late.has(name) ? [late.get(name)!, 0, 0, 0] : look;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", ...(isStrict ? [] : [""])].includes(codeOf(error)))
      return null;
    throw error;
  }
}

export function planMoves(root: string, moves: readonly Move[]): Moves {
  const rowOf = ([name, from, mode]: Move, folders: Folders): MoveRow => {
    const is = from === undefined ? null : lookAt(latin1Bytes(from));
    if (from !== undefined && !is) throw copyGoneFault(name);
    if (is && mode !== undefined) is[0] = (is[0] & TYPE) | mode;
    return [name, lookIn(folders, name), is];
  };
  return {
    root,
    rows: inFolders(root, moves, (folders) => moves.map((oneMove) => rowOf(oneMove, folders))),
    from: moves.map(([, from]) => from),
  };
}
export const filesOfMoves = ({ root, rows }: Moves): string[] =>
  rows.map(([name]) => absoluteName(root, name).toString());
/** Folders that go. */
export const foldersGone = ({ root, rows }: Moves, back: boolean): string[] =>
  rows.flatMap(([name, was, is]) =>
    isFolder(back ? is : was) && !isFolder(back ? was : is) ? `${absoluteName(root, name)}` : [],
  );
const absoluteName = (root: string, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), latin1Bytes(name)]);
const sourceOf = ({ from, kept = "" }: Moves, i: number, back: boolean): Buffer =>
  !back && from?.[i] ? latin1Bytes(from[i]) : Buffer.from(`${kept}/${back ? "old" : "new"}/${i}`);

/**
 * Files that are neither in their old nor in their new state, and those whose kept copy is gone.
 * known: states that earlier moves make.
 */
export function changedSince(
  moves: Moves,
  back: boolean,
  knownLooks = new Map<string, FileLook>(),
): { changed: string[]; missing: string[] } {
  const [changed, missing]: [MoveRow[], MoveRow[]] = [[], []];
  inFolders(moves.root, moves.rows, (folders) => {
    for (const [i, [name, was, is]] of moves.rows.entries()) {
      const [to, otherLook, source] = [back ? was : is, back ? is : was, sourceOf(moves, i, back)];
      const currentLook = knownLooks.has(name) ? knownLooks.get(name)! : lookIn(folders, name);
      knownLooks.set(name, to);
      if (
        ![was, is].some(
          (look) => isSameLook(currentLook, look) || (isFolder(currentLook) && isFolder(look)),
        )
      )
        changed.push(moves.rows[i]!);
      if (
        !moves.from &&
        isFile(to) &&
        !isDone(source, currentLook, to, otherLook) &&
        !lookAt(source)
      )
        missing.push(moves.rows[i]!);
    }
  });
  return { changed: namesOf(changed), missing: namesOf(missing) };
}
const copyGoneFault = (name: string) =>
  fault(`Cannot write '${latin1Bytes(name)}': its copy is gone. Run the command again.`);

/** Moves every file into place, or back. Killed at any moment, each file is either old or new. */
export function moveFiles(moves: Moves, back: boolean): void {
  const { root, rows, kept = "" } = moves;
  for (const folder of ["old", "new"]) makePrivate(path.join(kept, folder));
  let isNews = false;
  for (const i of rows.length > MAX_SYNCED_FILES ? [] : rows.keys())
    if (isFile(rows[i]![back ? 1 : 2])) syncMovedFile(sourceOf(moves, i, back));
  try {
    inFolders(root, rows, (folders, modes) => {
      for (const i of back ? [...rows.keys()].reverse() : rows.keys()) moveRow(i, folders, modes);
    });
  } finally {
    if (isNews) saveList(moves);
  }

  function moveRow(i: number, folders: Folders, modes: FolderModes): void {
    const [name, was, is] = rows[i]!;
    const [to, otherLook, old] = back ? [was, is, "new"] : [is, was, "old"];
    if (!to && !lookIn(folders, name, true)) return; // its folder may be gone, too
    const openedPath = folders.at(name);
    const currentLook = lookIn(folders, name, true);
    const source = sourceOf(moves, i, back);
    if (isFile(to) ? isDone(source, currentLook, to, otherLook) : isSameLook(currentLook, to))
      return;
    if (isFile(to) && !lookAt(source)) throw copyGoneFault(name);
    if (isFolder(currentLook) && !isFolder(to)) removeFolder(openedPath, back && !to);
    else if (currentLook && !isFolder(currentLook))
      keepOldFile(openedPath, Buffer.from(`${kept}/${old}/${i}`), isFile(to));
    if (isFile(to)) {
      // another disk may have coarser times, and no modes
      const look = renameOrCopy(source, openedPath, to) ? lookAt(openedPath) : to;
      isNews ||= !isSameLook(look, to);
      rows[i]![back ? 1 : 2] = look;
    } else if (to) {
      if (!isFolder(currentLook)) fs.mkdirSync(openedPath);
      tryTo(() => modes.give(name, to[0])); // some disks have no modes, or do not let them be set
    }
  }
}

// git ignores what is moved: of more, a power cut may leave some that have to be built again
const MAX_SYNCED_FILES = 500;
/** What a command has just written is on the disk before it takes another file's place. */
function syncMovedFile(source: Buffer): void {
  const fd = tryTo(() => fs.openSync(source, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW));
  if (fd === undefined) return; // a link, or one that was moved before
  tryTo(() => fs.fsyncSync(fd));
  fs.closeSync(fd);
}

const namesOf = (rows: MoveRow[]): string[] => rows.map(([name]) => latin1Bytes(name).toString());
/** What `act` does with these files in their folders, even in those that keep their owner out. */
function inFolders<T>(
  root: string,
  files: readonly (MoveRow | Move)[],
  act: (folders: Folders, modes: FolderModes) => T,
): T {
  const folders = openFolders(root);
  const modeOf = (name: string, look = lookIn(folders, name)) =>
    isFolder(look) ? look![0] : undefined;
  const modes = folderModes(modeOf, (name, mode) => fs.chmodSync(folders.at(name), mode & 0o7777));
  folders.late = modes.late;
  const above = (name: string) =>
    Array.from(name.matchAll(/\//g), ({ index }) => name.slice(0, index));
  try {
    modes.open(new Set(["", ...files.flatMap(([name]) => above(name))]));
    return act(folders, modes);
  } finally {
    modes.close();
    folders.close();
  }
}

/**
 * Whether it was moved before. Two files may look alike: package managers give all files one time.
 */
function isDone(source: Buffer, currentLook: FileLook, to: FileLook, otherLook: FileLook): boolean {
  if (!isSameLook(currentLook, to) || !isSameLook(currentLook, otherLook))
    return isSameLook(currentLook, to);
  const look = lookAt(source);
  return look ? currentLook![3] === look[3] : currentLook![3] !== otherLook![3];
}

/** Holds the folder of a file open, so that nobody can swap it for a link. */
type Folders = ReturnType<typeof openFolders>;
function openFolders(root: string) {
  const top = Buffer.from(root).toString("latin1");
  let [open, fd] = ["", -1];
  const close = () => {
    if (fd >= 0) fs.closeSync(fd);
    fd = -1;
  };
  return {
    close,
    late: new Map<string, number>(), // the modes of those that stand open for now
    at(name: string): Buffer {
      const folder = path.posix.join(top, path.posix.dirname(name));
      if (fd < 0 || folder !== open) {
        close();
        [open, fd] = ["", fs.openSync(latin1Bytes(folder), O_PATH | fs.constants.O_DIRECTORY)];
        if (fs.readlinkSync(`/proc/self/fd/${fd}`, "latin1") !== folder)
          throw fault(
            `Cannot write '${latin1Bytes(name)}': its folder was swapped for a link. Look at what happens there.`,
          );
        open = folder;
      }
      return latin1Bytes(`/proc/self/fd/${fd}/${path.posix.basename(name)}`);
    },
  };
}

const O_PATH = 0o10000000; // only Linux has copies

/** On the way back, files that somebody added to the folder stay. */
function removeFolder(openedPath: Buffer, isTolerant: boolean): void {
  try {
    fs.rmdirSync(openedPath);
  } catch (error) {
    if (!isTolerant || codeOf(error) !== "ENOTEMPTY") throw error;
  }
}

/** linked: a replacement will take its place in one step. */
function keepOldFile(openedPath: Buffer, keptPath: Buffer, linked: boolean): void {
  if (!linked) return void renameOrCopy(openedPath, keptPath);
  const link = () => tryTo(() => fs.linkSync(openedPath, keptPath) ?? true);
  if (link()) return;
  tryTo(() => fs.unlinkSync(keptPath)); // left over from an interrupted run
  if (!link()) copyWhole(openedPath, keptPath); // another disk, or another owner's file
}

/** Whether it was copied. */
function renameOrCopy(from: Buffer, to: Buffer, look?: FileLook): boolean {
  try {
    fs.renameSync(from, to);
    return false;
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    copyWhole(from, to, look);
    fs.unlinkSync(from);
    return true;
  }
}

/** Copies to another disk: whole, or not at all. */
function copyWhole(from: Buffer, to: Buffer, look = lookAt(from)): void {
  const part = Buffer.concat([to.subarray(0, to.lastIndexOf("/") + 1), Buffer.from(partIn(""))]);
  const { atimeMs, ...stat } = fs.lstatSync(from);
  const [mode, , mtimeMs] = look!;
  try {
    if ((mode & TYPE) === LINK) fs.symlinkSync(fs.readlinkSync(from, "buffer"), part);
    else {
      if (!(stat.mode & 0o400)) fs.chmodSync(from, 0o600);
      if (
        tryTo(() => fs.copyFileSync(from, part, fs.constants.COPYFILE_FICLONE) ?? true) ===
        undefined
      )
        // it sets the mode, which some disks refuse
        fs.writeFileSync(part, fs.readFileSync(from), { mode: mode & 0o777 });
      if (stat.uid !== process.getuid?.()) tryTo(() => fs.chownSync(part, stat.uid, stat.gid));
      tryTo(() => fs.chmodSync(part, mode & 0o7777));
      if (!(stat.mode & 0o400)) fs.chmodSync(from, stat.mode & 0o7777);
    }
    tryTo(() => fs.lutimesSync(part, atimeMs / 1_000, mtimeMs / 1_000));
    fs.renameSync(part, to);
  } catch (error) {
    tryTo(() => fs.unlinkSync(part));
    throw error;
  }
}

// ── what is kept ────────────────────────────────────────

const KEPT_MS = 30 * 86_400_000;
const keptMovesFolder = (sessions: string): string => path.join(sessions, "moved");

/** Records what will be moved before anything is. Returns the name by which it is found again. */
export function keepMoves(sessions: string, moves: Moves): string {
  const name = newId();
  moves.kept = path.join(keptMovesFolder(sessions), name);
  saveList(moves);
  return name;
}
const saveList = ({ root, rows, kept = "" }: Moves): void =>
  writePrivate(path.join(kept, "list.json"), JSON.stringify({ root, rows }));

/** Marks whose they are. Kept files go when their session is gone, or after some time. */
export function markMoves({ kept = "" }: Moves, session: string): void {
  writePrivate(path.join(kept, "session"), session || "none");
  const sessions = path.dirname(path.dirname(kept));
  for (const name of entriesOf(keptMovesFolder(sessions))) {
    const keptFolder = path.join(keptMovesFolder(sessions), name);
    const owner = textOf(path.join(keptFolder, "session")).trim();
    const maxAge = keptMsOf(sessions, owner);
    const age = Date.now() - (tryTo(() => fs.statSync(keptFolder).mtimeMs) ?? 0);
    if (keptFolder !== kept && age > maxAge)
      tryTo(() => fs.rmSync(keptFolder, { recursive: true, force: true }));
  }
}

function keptMsOf(sessions: string, owner: string): number {
  if (fs.existsSync(path.join(sessions, `${owner}.jsonl`))) return KEPT_MS;
  return owner === "none" || !owner ? KEPT_MS / 30 : 0;
}

export function keptMoves(sessions: string, name: string): Moves | undefined {
  const kept = path.join(keptMovesFolder(sessions), path.basename(name));
  return tryTo(() => ({ ...JSON.parse(textOf(path.join(kept, "list.json"))), kept }));
}
