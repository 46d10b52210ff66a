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
import { entriesOf, jsonIn, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";

/** What a look at a file shows; null: it does not exist; a time that is not a number is any. */
type FileLook = [mode: number, bytes: number, mtime: number, inode: number] | null;
type MoveRow = [name: string, was: FileLook, is: FileLook];
export type KnownLooks = Map<string, FileLook>; // by name
/** from: where each file waits until it is moved. Names are bytes, as latin1. */
export type Moves = { root: string; rows: MoveRow[]; from?: (string | undefined)[]; kept?: string };

const latin1Bytes = (latin1Name: string): Buffer => Buffer.from(latin1Name, "latin1");
const isFolder = (fileLook: FileLook): boolean =>
  fileLook !== null && (fileLook[0] & TYPE) === FOLDER;
const isFile = (fileLook: FileLook): boolean => fileLook !== null && !isFolder(fileLook);
const isSameLook = (firstLook: FileLook, secondLook: FileLook): boolean =>
  firstLook && secondLook
    ? firstLook[0] === secondLook[0] &&
      firstLook[1] === secondLook[1] &&
      !(Math.abs(firstLook[2] - secondLook[2]) >= 1)
    : firstLook === secondLook;

function lookAtFile(filePath: Buffer): FileLook {
  const fileStat = fs.lstatSync(filePath, { throwIfNoEntry: false });
  if (!fileStat) return null;
  if (fileStat.isDirectory()) return [fileStat.mode, 0, 0, 0];
  return [fileStat.mode, fileStat.size, fileStat.mtimeMs, fileStat.ino];
}

/**
 * What is in the project; in a folder that is missing, a file or a link, that is nothing. isStrict:
 * a link is an error.
 */
function lookInProject({ at, late }: Folders, fileName: string, isStrict = false): FileLook {
  try {
    const fileLook = lookAtFile(at(fileName));
    return isFolder(fileLook) && late.has(fileName) ? [late.get(fileName)!, 0, 0, 0] : fileLook;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", ...(isStrict ? [] : [""])].includes(codeOf(error)))
      return null;
    throw error;
  }
}

export function planMoves(root: string, moves: readonly Move[]): Moves {
  const makeRow = ([fileName, sourcePath, newMode]: Move, folders: Folders): MoveRow => {
    const newLook = sourcePath === undefined ? null : lookAtFile(latin1Bytes(sourcePath));
    if (sourcePath !== undefined && !newLook) throw copyGoneFault(fileName);
    if (newLook && newMode !== undefined) newLook[0] = (newLook[0] & TYPE) | newMode;
    return [fileName, lookInProject(folders, fileName), newLook];
  };
  return {
    root,
    rows: inFolders(root, moves, (folders) => moves.map((oneMove) => makeRow(oneMove, folders))),
    from: moves.map(([, sourcePath]) => sourcePath),
  };
}
export const filesOfMoves = ({ root, rows }: Moves): string[] =>
  rows.map(([name]) => absoluteName(root, name).toString());
/** Folders that go. */
export const foldersGone = ({ root, rows }: Moves, isBackward: boolean): string[] =>
  rows.flatMap(([name, was, is]) =>
    isFolder(isBackward ? is : was) && !isFolder(isBackward ? was : is)
      ? `${absoluteName(root, name)}`
      : [],
  );
const absoluteName = (root: string, fileName: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), latin1Bytes(fileName)]);
const sourceOf = ({ from, kept = "" }: Moves, i: number, isBackward: boolean): Buffer =>
  !isBackward && from?.[i]
    ? latin1Bytes(from[i])
    : Buffer.from(`${kept}/${isBackward ? "old" : "new"}/${i}`);

/**
 * Files that are neither in their old nor in their new state, and those whose kept copy is gone.
 * known: states that earlier moves make.
 */
export function changedSince(
  moves: Moves,
  isBackward: boolean,
  knownLooks: KnownLooks = new Map(),
): { changed: string[]; missing: string[] } {
  const [changed, missing]: [string[], string[]] = [[], []];
  inFolders(moves.root, moves.rows, (folders) => {
    for (const [i, [fileName, oldLook, newLook]] of moves.rows.entries()) {
      const [targetLook, otherLook, sourcePath] = [
        isBackward ? oldLook : newLook,
        isBackward ? newLook : oldLook,
        sourceOf(moves, i, isBackward),
      ];
      const currentLook = knownLooks.has(fileName)
        ? knownLooks.get(fileName)!
        : lookInProject(folders, fileName);
      knownLooks.set(fileName, targetLook);
      if (
        ![oldLook, newLook].some(
          (knownLook) =>
            isSameLook(currentLook, knownLook) || (isFolder(currentLook) && isFolder(knownLook)),
        )
      )
        changed.push(`${latin1Bytes(fileName)}`);
      if (
        !moves.from &&
        isFile(targetLook) &&
        !isMovedAlready(sourcePath, currentLook, targetLook, otherLook) &&
        !lookAtFile(sourcePath)
      )
        missing.push(`${latin1Bytes(fileName)}`);
    }
  });
  return { changed, missing };
}
const copyGoneFault = (fileName: string) =>
  fault(`Cannot write '${latin1Bytes(fileName)}': its copy is gone. Run the command again.`);

/** Moves every file into place, or back. Killed at any moment, each file is either old or new. */
export function moveFiles(moves: Moves, isBackward: boolean): void {
  const { root, rows, kept = "" } = moves;
  for (const folderName of ["old", "new"]) makePrivate(path.join(kept, folderName));
  let hasNewLooks = false;
  for (const i of rows.length > MAX_SYNCED_FILES ? [] : rows.keys())
    if (isFile(rows[i]![isBackward ? 1 : 2])) syncMovedFile(sourceOf(moves, i, isBackward));
  try {
    inFolders(root, rows, (folders, modes) => {
      for (const i of isBackward ? [...rows.keys()].reverse() : rows.keys())
        moveRow(i, folders, modes);
    });
  } finally {
    if (hasNewLooks) saveList(moves);
  }

  function moveRow(i: number, folders: Folders, modes: FolderModes): void {
    const [fileName, oldLook, newLook] = rows[i]!;
    const [targetLook, otherLook, keptSide] = isBackward
      ? [oldLook, newLook, "new"]
      : [newLook, oldLook, "old"];
    // its folder may be gone, too
    if (!targetLook && !lookInProject(folders, fileName, true)) return;
    const openedPath = folders.at(fileName);
    const currentLook = lookInProject(folders, fileName, true);
    const sourcePath = sourceOf(moves, i, isBackward);
    if (
      isFile(targetLook)
        ? isMovedAlready(sourcePath, currentLook, targetLook, otherLook)
        : isSameLook(currentLook, targetLook)
    )
      return;
    if (isFile(targetLook) && !lookAtFile(sourcePath)) throw copyGoneFault(fileName);
    if (isFolder(currentLook) && !isFolder(targetLook))
      removeFolder(openedPath, isBackward && !targetLook);
    else if (currentLook && !isFolder(currentLook))
      keepOldFile(openedPath, Buffer.from(`${kept}/${keptSide}/${i}`), isFile(targetLook));
    if (isFile(targetLook)) {
      // another disk may have coarser times, and no modes
      const movedLook = renameOrCopy(sourcePath, openedPath, targetLook)
        ? lookAtFile(openedPath)
        : targetLook;
      hasNewLooks ||= !isSameLook(movedLook, targetLook);
      rows[i]![isBackward ? 1 : 2] = movedLook;
    } else if (targetLook) {
      if (!isFolder(currentLook)) fs.mkdirSync(openedPath);
      // some disks have no modes, or do not let them be set
      tryTo(() => modes.give(fileName, targetLook[0]));
    }
  }
}

// git ignores what is moved: of more, a power cut may leave some that have to be built again
const MAX_SYNCED_FILES = 500;
/** What a command has just written is on the disk before it takes another file's place. */
function syncMovedFile(sourcePath: Buffer): void {
  const fd = tryTo(() => fs.openSync(sourcePath, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW));
  if (fd === undefined) return; // a link, or one that was moved before
  tryTo(() => fs.fsyncSync(fd));
  fs.closeSync(fd);
}

/** What `act` does with these files in their folders, even in those that keep their owner out. */
function inFolders<T>(
  root: string,
  movedFiles: readonly (MoveRow | Move)[],
  act: (folders: Folders, modes: FolderModes) => T,
): T {
  const folders = openFolders(root);
  const findMode = (folderName: string, folderLook = lookInProject(folders, folderName)) =>
    isFolder(folderLook) ? folderLook![0] : undefined;
  const modes = folderModes(findMode, (folderName, folderMode) =>
    fs.chmodSync(folders.at(folderName), folderMode & 0o7777),
  );
  folders.late = modes.late;
  const listParents = (fileName: string) =>
    Array.from(fileName.matchAll(/\//g), ({ index }) => fileName.slice(0, index));
  try {
    modes.open(new Set(["", ...movedFiles.flatMap(([fileName]) => listParents(fileName))]));
    return act(folders, modes);
  } finally {
    modes.close();
    folders.close();
  }
}

/**
 * Whether it was moved before. Two files may look alike: package managers give all files one time.
 */
function isMovedAlready(
  sourcePath: Buffer,
  currentLook: FileLook,
  targetLook: FileLook,
  otherLook: FileLook,
): boolean {
  if (!isSameLook(currentLook, targetLook) || !isSameLook(currentLook, otherLook))
    return isSameLook(currentLook, targetLook);
  const sourceLook = lookAtFile(sourcePath);
  return sourceLook ? currentLook![3] === sourceLook[3] : currentLook![3] !== otherLook![3];
}

/** Holds the folder of a file open, so that nobody can swap it for a link. */
type Folders = ReturnType<typeof openFolders>;
function openFolders(root: string) {
  const latin1Root = Buffer.from(root).toString("latin1");
  let [openedFolder, fd] = ["", -1];
  const close = () => {
    if (fd >= 0) fs.closeSync(fd);
    fd = -1;
  };
  return {
    close,
    late: new Map<string, number>(), // the modes of those that stand open for now
    at(fileName: string): Buffer {
      const folderName = path.posix.join(latin1Root, path.posix.dirname(fileName));
      if (fd < 0 || folderName !== openedFolder) {
        close();
        [openedFolder, fd] = [
          "",
          fs.openSync(latin1Bytes(folderName), O_PATH | fs.constants.O_DIRECTORY),
        ];
        if (fs.readlinkSync(`/proc/self/fd/${fd}`, "latin1") !== folderName)
          throw fault(
            `Cannot write '${latin1Bytes(fileName)}': its folder was swapped for a link. ` +
              "Look at what happens there.",
          );
        openedFolder = folderName;
      }
      return latin1Bytes(`/proc/self/fd/${fd}/${path.posix.basename(fileName)}`);
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
  const makeLink = () => tryTo(() => fs.linkSync(openedPath, keptPath) ?? true);
  if (makeLink()) return;
  tryTo(() => fs.unlinkSync(keptPath)); // left over from an interrupted run
  if (!makeLink()) copyWhole(openedPath, keptPath); // another disk, or another owner's file
}

/** Whether it was copied. */
function renameOrCopy(sourcePath: Buffer, targetPath: Buffer, fileLook?: FileLook): boolean {
  try {
    fs.renameSync(sourcePath, targetPath);
    return false;
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    copyWhole(sourcePath, targetPath, fileLook);
    fs.unlinkSync(sourcePath);
    return true;
  }
}

/** Copies to another disk: whole, or not at all. */
function copyWhole(
  sourcePath: Buffer,
  targetPath: Buffer,
  fileLook = lookAtFile(sourcePath),
): void {
  const partialPath = Buffer.concat([
    targetPath.subarray(0, targetPath.lastIndexOf("/") + 1),
    Buffer.from(partIn("")),
  ]);
  const { atimeMs, ...stat } = fs.lstatSync(sourcePath);
  const [fileMode, , mtimeMs] = fileLook!;
  try {
    if ((fileMode & TYPE) === LINK)
      fs.symlinkSync(fs.readlinkSync(sourcePath, "buffer"), partialPath);
    else {
      if (!(stat.mode & 0o400)) fs.chmodSync(sourcePath, 0o600);
      if (
        tryTo(
          () => fs.copyFileSync(sourcePath, partialPath, fs.constants.COPYFILE_FICLONE) ?? true,
        ) === undefined
      )
        // it sets the mode, which some disks refuse
        fs.writeFileSync(partialPath, fs.readFileSync(sourcePath), { mode: fileMode & 0o777 });
      if (stat.uid !== process.getuid?.())
        tryTo(() => fs.chownSync(partialPath, stat.uid, stat.gid));
      tryTo(() => fs.chmodSync(partialPath, fileMode & 0o7777));
      if (!(stat.mode & 0o400)) fs.chmodSync(sourcePath, stat.mode & 0o7777);
    }
    tryTo(() => fs.lutimesSync(partialPath, atimeMs / 1_000, mtimeMs / 1_000));
    fs.renameSync(partialPath, targetPath);
  } catch (error) {
    tryTo(() => fs.unlinkSync(partialPath));
    throw error;
  }
}

// ── what is kept ────────────────────────────────────────

const KEPT_MS = 30 * 86_400_000;
const keptMovesFolder = (sessions: string): string => path.join(sessions, "moved");

/** Records what will be moved before anything is. Returns the name by which it is found again. */
export function keepMoves(sessions: string, moves: Moves): string {
  const keptName = newId();
  moves.kept = path.join(keptMovesFolder(sessions), keptName);
  saveList(moves);
  return keptName;
}
const saveList = ({ root, rows, kept = "" }: Moves): void =>
  writePrivate(path.join(kept, "list.json"), JSON.stringify({ root, rows }));

/** Marks whose they are. Kept files go when their session is gone, or after some time. */
export function markMoves({ kept = "" }: Moves, session: string): void {
  writePrivate(path.join(kept, "session"), session || "none");
  const sessions = path.dirname(path.dirname(kept));
  for (const keptName of entriesOf(keptMovesFolder(sessions))) {
    const keptFolder = path.join(keptMovesFolder(sessions), keptName);
    const ownerSession = textOf(path.join(keptFolder, "session")).trim();
    const maxAge = keptMsOf(sessions, ownerSession);
    const folderAge = Date.now() - (tryTo(() => fs.statSync(keptFolder).mtimeMs) ?? 0);
    if (keptFolder !== kept && folderAge > maxAge)
      tryTo(() => fs.rmSync(keptFolder, { recursive: true, force: true }));
  }
}

function keptMsOf(sessions: string, ownerSession: string): number {
  if (fs.existsSync(path.join(sessions, `${ownerSession}.jsonl`))) return KEPT_MS;
  return ownerSession === "none" || !ownerSession ? KEPT_MS / 30 : 0;
}

export function keptMoves(sessions: string, keptName: string): Moves | undefined {
  const kept = path.join(keptMovesFolder(sessions), path.basename(keptName));
  const keptList = jsonIn(path.join(kept, "list.json"));
  return keptList && { ...keptList, kept };
}
