// Moves many files instead of copying them: those that a command made on a copy and that no question shows. The old ones are kept for undo.
import fs from "node:fs";
import path from "node:path";
import type { Move } from "./contract.ts";
import { newId } from "./core.ts";
import { FOLDER, LINK, makePrivate, TYPE, writePrivate } from "./disk.ts";
import { codeOf, fault } from "./faults.ts";
import { entriesOf, textOf, tryTo } from "./text.ts";

/** What a look at a file shows; null: it does not exist. */
type Look = [mode: number, bytes: number, mtime: number, inode: number] | null;
type Row = [name: string, was: Look, is: Look];
/** from: where each file waits until it is moved. Names are bytes, as latin1. */
export type Moves = { root: string; rows: Row[]; from?: (string | undefined)[]; kept?: string };

const raw = (name: string): Buffer => Buffer.from(name, "latin1");
const isFolder = (look: Look): boolean => look !== null && (look[0] & TYPE) === FOLDER;
const isSame = (one: Look, two: Look): boolean =>
  one && two ? one[0] === two[0] && one[1] === two[1] && Math.abs(one[2] - two[2]) < 1 : one === two;

function lookAt(file: Buffer): Look {
  const stat = tryTo(() => fs.lstatSync(file, { throwIfNoEntry: false })); // its folder may be a file
  if (!stat) return null;
  return stat.isDirectory() ? [stat.mode, 0, 0, 0] : [stat.mode, stat.size, stat.mtimeMs, stat.ino];
}

export function plan(root: string, moves: readonly Move[]): Moves {
  const rows = moves.map(([name, from, mode]): Row => {
    const is = from === undefined ? null : lookAt(raw(from));
    if (is && mode !== undefined) is[0] = (is[0] & TYPE) | mode;
    return [name, lookAt(placeOf(root, name)), is];
  });
  return { root, rows, from: moves.map(([, from]) => from) };
}
export const filesOf = ({ root, rows }: Moves): string[] => rows.map(([name]) => placeOf(root, name).toString());
const placeOf = (root: string, name: string): Buffer => Buffer.concat([Buffer.from(`${root}/`), raw(name)]);

/** Files that are neither in their old nor in their new state. known: states that earlier moves will have made. */
export function changedSince({ root, rows }: Moves, back: boolean, known = new Map<string, Look>()): string[] {
  return rows.flatMap(([name, was, is]) => {
    const now = known.has(name) ? known.get(name)! : lookAt(placeOf(root, name));
    known.set(name, back ? was : is);
    const isFine = [was, is].some((one) => isSame(now, one) || (isFolder(now) && isFolder(one)));
    return isFine ? [] : raw(name).toString();
  });
}

/** Moves every file into place, or back. Killed at any moment, each file is either old or new. */
export function move({ root, rows, from, kept = "" }: Moves, back: boolean): void {
  const folders = openFolders(root);
  const late: [name: string, mode: number][] = [];
  try {
    for (let n = 0; n < rows.length; n++) {
      const i = back ? rows.length - 1 - n : n;
      const [name, was, is] = rows[i]!;
      const [to, old, next] = [back ? was : is, ...(back ? ["new", "old"] : ["old", "new"])] as [Look, string, string];
      if (!to && !lookAt(placeOf(root, name))) continue; // its folder may be gone, too
      const here = folders.at(name);
      const now = lookAt(here);
      const source = !back && from?.[i] ? raw(from[i]) : Buffer.from(`${kept}/${next}/${i}`);
      if (to && !isFolder(to) ? !isWaiting(source, now) : isSame(now, to)) continue;
      if (isFolder(now) && !isFolder(to)) removeFolder(here, back && !to);
      else if (now && !isFolder(now)) keep(here, Buffer.from(`${kept}/${old}/${i}`), to !== null && !isFolder(to));
      if (to && isFolder(to)) {
        if (!isFolder(now)) fs.mkdirSync(here);
        if (to[0] & 0o200) fs.chmodSync(here, to[0] & 0o7777);
        else late.push([name, to[0]]); // files are still to come into it
      } else if (to) take(source, here);
    }
    for (const [name, mode] of late.reverse()) fs.chmodSync(folders.at(name), mode & 0o7777);
  } finally {
    folders.close();
  }
}

/** Whether it has yet to be moved. Two files may look alike: package managers give all files one time. */
function isWaiting(source: Buffer, now: Look): boolean {
  const look = lookAt(source);
  return look !== null && !(now && now[3] === look[3] && isSame(now, look));
}

/** Holds the folder of a file open, so that nobody can swap it for a link. */
function openFolders(root: string) {
  const top = Buffer.from(root).toString("latin1");
  let [open, fd, mode] = ["", -1, 0];
  const close = () => {
    if (fd < 0) return;
    if (!(mode & 0o200)) tryTo(() => fs.chmodSync(`/proc/self/fd/${fd}`, mode & 0o7777));
    fs.closeSync(fd);
    fd = -1;
  };
  return {
    close,
    at(name: string): Buffer {
      const folder = path.posix.join(top, path.posix.dirname(name));
      if (fd < 0 || folder !== open) {
        close();
        [open, fd] = [folder, fs.openSync(raw(folder), O_PATH | fs.constants.O_DIRECTORY)];
        if (fs.readlinkSync(`/proc/self/fd/${fd}`, "latin1") !== folder)
          throw fault(`Cannot write '${raw(name)}': its folder was swapped for a link. Look at what happens there.`);
        mode = fs.fstatSync(fd).mode;
        if (!(mode & 0o200)) tryTo(() => fs.chmodSync(`/proc/self/fd/${fd}`, (mode & 0o7777) | 0o300));
      }
      return raw(`/proc/self/fd/${fd}/${path.posix.basename(name)}`);
    },
  };
}
const O_PATH = 0o10000000; // only Linux has copies

/** On the way back, files that somebody added to the folder stay. */
function removeFolder(here: Buffer, isTolerant: boolean): void {
  try {
    fs.rmdirSync(here);
  } catch (error) {
    if (!isTolerant || codeOf(error) !== "ENOTEMPTY") throw error;
  }
}

/** linked: a replacement will take its place in one step. */
function keep(here: Buffer, at: Buffer, linked: boolean): void {
  if (!linked) return void take(here, at);
  const link = () => tryTo(() => fs.linkSync(here, at) ?? true);
  if (link()) return;
  fs.rmSync(at, { force: true }); // left over from an interrupted run
  if (!link()) copy(here, at); // another disk, or another owner's file
}

function take(from: Buffer, to: Buffer): void {
  try {
    fs.renameSync(from, to);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    copy(from, to);
    fs.unlinkSync(from);
  }
}

/** Copies to another disk: whole, or not at all. */
function copy(from: Buffer, to: Buffer): void {
  const part = Buffer.concat([to.subarray(0, to.lastIndexOf("/") + 1), Buffer.from(`.zz-${process.pid}-${newId()}.tmp`)]);
  const { mode, atimeMs, mtimeMs, ...stat } = fs.lstatSync(from);
  try {
    if ((mode & TYPE) === LINK) fs.symlinkSync(fs.readlinkSync(from, "buffer"), part);
    else {
      if (!(mode & 0o400)) fs.chmodSync(from, 0o600);
      fs.copyFileSync(from, part, fs.constants.COPYFILE_FICLONE);
      if (stat.uid !== process.getuid?.()) tryTo(() => fs.chownSync(part, stat.uid, stat.gid));
      fs.chmodSync(part, mode & 0o7777);
      if (!(mode & 0o400)) fs.chmodSync(from, mode & 0o7777);
    }
    fs.lutimesSync(part, atimeMs / 1_000, mtimeMs / 1_000);
    fs.renameSync(part, to);
  } catch (error) {
    fs.rmSync(part, { force: true });
    throw error;
  }
}

// ── what is kept ───────────────────────────────────────────────────────────────────────────────────────

const KEPT_MS = 30 * 86_400_000;
const keptIn = (sessions: string): string => path.join(sessions, "moved");

/** Records what will be moved before anything is. Returns the name by which it is found again. */
export function keepMoves(sessions: string, moves: Moves): string {
  const name = newId();
  moves.kept = path.join(keptIn(sessions), name);
  for (const folder of ["old", "new"]) makePrivate(path.join(moves.kept, folder));
  writePrivate(path.join(moves.kept, "list.json"), JSON.stringify({ root: moves.root, rows: moves.rows }));
  return name;
}

/** Marks whose they are. Kept files go when their session is gone, or after some time. */
export function markMoves({ kept = "" }: Moves, session: string): void {
  writePrivate(path.join(kept, "session"), session || "none");
  const sessions = path.dirname(path.dirname(kept));
  for (const name of entriesOf(keptIn(sessions))) {
    const at = path.join(keptIn(sessions), name);
    const owner = textOf(path.join(at, "session")).trim();
    const isOwned = fs.existsSync(path.join(sessions, `${owner}.jsonl`));
    const most = isOwned ? KEPT_MS : owner === "none" || !owner ? KEPT_MS / 30 : 0;
    const age = Date.now() - (tryTo(() => fs.statSync(at).mtimeMs) ?? 0);
    if (at !== kept && age > most) fs.rmSync(at, { recursive: true, force: true });
  }
}

export function keptMoves(sessions: string, name: string): Moves | undefined {
  const kept = path.join(keptIn(sessions), path.basename(name));
  return tryTo(() => ({ ...JSON.parse(textOf(path.join(kept, "list.json"))), kept }));
}
