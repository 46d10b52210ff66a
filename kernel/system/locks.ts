// One writer at a time, by a lock that a dead process does not keep.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Clock } from "../contract.ts";
import { sleepWith } from "../text/clock.ts";
import { codeOf, fault } from "../text/faults.ts";
import { entriesOf, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import {
  makePrivate,
  namingFile,
  removeUnfinished,
  type Unfinished,
  writePrivate,
} from "./atomic-write.ts";
import { hashOf } from "./file-state.ts";
import { partIn, processStartTime, sweepParts } from "./temporary-files.ts";

/**
 * Locks a file. The lock names its process by number and start time, so that a dead process does
 * not keep it.
 */
export function acquireLock(
  lockFile: string,
  cannotPhrase: string,
  remedy = "Try again",
): () => void {
  const ownLockText = `${process.pid} ${processStartTime(process.pid)}`;
  const temporary = partIn(path.dirname(lockFile));
  try {
    fs.writeFileSync(temporary, ownLockText, { mode: 0o600 });
    for (;;) {
      try {
        if (claimLock(temporary, lockFile)) return () => releaseLock(lockFile);
        continue;
      } catch (claimError) {
        if (codeOf(claimError) !== "EEXIST") throw claimError;
      }
      if (tryTo(() => fs.lstatSync(lockFile).isFile()) === false)
        throw fault(`${cannotPhrase}: '${lockFile}' is not a file. Move it away.`);
      const heldLockText = textOf(lockFile);
      const holderPid = holderOf(heldLockText);
      if (holderPid)
        throw fault(`${cannotPhrase}: another zz (process ${holderPid}) has it open. ${remedy}.`);
      // released meanwhile: do not mistake the next one for it
      if (!heldLockText && tryTo(() => fs.statSync(lockFile).size) !== 0) continue;
      let mayBreak: (() => void) | undefined;
      try {
        // only one at a time may break a dead process's lock
        mayBreak = acquireLock(`${lockFile}.break`, cannotPhrase);
        if (textOf(lockFile) === heldLockText && fs.existsSync(lockFile)) fs.unlinkSync(lockFile);
      } catch (breakError) {
        // another process is breaking it: look again
        if (codeOf(breakError) && codeOf(breakError) !== "ENOENT") throw breakError;
      } finally {
        mayBreak?.();
      }
    }
  } finally {
    tryTo(() => fs.unlinkSync(temporary));
  }
}

/** Whether another process that is alive has this lock. */
export const isHeldByAnother = (lockFile: string): boolean =>
  ![0, process.pid].includes(holderOf(textOf(lockFile)));

/** The process that has a lock, as its text says; 0: none that is alive. */
function holderOf(lockText: string): number {
  const [holderPid, holderStart] = lockText.split(" ");
  return holderStart && processStartTime(Number(holderPid)) === holderStart ? Number(holderPid) : 0;
}

/** Where nothing can be removed just now, an empty lock is one that nobody holds. */
function releaseLock(lockFile: string): void {
  try {
    fs.unlinkSync(lockFile);
  } catch {
    tryTo(() => fs.truncateSync(lockFile));
  }
}

/**
 * In one step, so that nobody sees an empty lock. Without hard links it takes two, and who sees it
 * empty may take it away.
 */
function claimLock(temporary: string, lockFile: string): boolean {
  try {
    fs.linkSync(temporary, lockFile);
    return true;
  } catch (linkError) {
    if (codeOf(linkError) === "EEXIST") throw linkError;
    fs.writeFileSync(lockFile, textOf(temporary), { flag: "wx", mode: 0o600 });
    return textOf(lockFile) === textOf(temporary);
  }
}

/** Reads, changes and writes a file of the home without losing what another zz writes meanwhile. */
export function updatePrivateFile(
  privateFile: string,
  changeText: (previousText: string) => string,
): void {
  const realFile = tryTo(() => fs.realpathSync(privateFile)) ?? privateFile;
  const release = namingFile(realFile, () => waitForLock(realFile));
  try {
    writePrivate(realFile, changeText(textOf(realFile)));
  } finally {
    release();
  }
}

/**
 * One zz at a time changes the files of a project, wherever its home is: what it compares is then
 * what it replaces. The lock lies in the machine's folder for temporary files, since a project
 * holds no file of zz's. Where none can be made, it goes without.
 */
export async function withProjectLock<T>(
  root: string,
  clock: Clock,
  abortSignal: AbortSignal,
  changeProject: (beginChange: (unfinished: Unfinished) => void) => Promise<T>,
): Promise<T> {
  const lockFile = lockFileOf(root);
  const release = lockFile && (await projectLock(root, lockFile, clock, abortSignal));
  if (!release) return changeProject(() => {});
  try {
    removeLeftovers(lockFile);
    return await changeProject(
      (unfinished) =>
        void tryTo(() =>
          fs.writeFileSync(
            notesOf(lockFile),
            JSON.stringify({ root, pid: process.pid, ...unfinished }),
            { mode: 0o600 },
          ),
        ),
    );
  } finally {
    fs.rmSync(notesOf(lockFile), { force: true });
    release();
  }
}

/**
 * While a project is changed, this stands beside its lock: what a zz that is killed then would
 * leave in the project.
 */
const UNFINISHED = ".unfinished";
const notesOf = (lockFile: string): string => `${lockFile}${UNFINISHED}`;
function removeLeftovers(lockFile: string): void {
  const notesText = textOf(notesOf(lockFile));
  if (notesText) tryTo(() => removeUnfinished(JSON.parse(notesText), JSON.parse(notesText).pid));
}

/** Takes away what a killed zz left in this project, unless another one is just changing it. */
export function finishUnfinished(root: string): void {
  const folderPath = locksFolder();
  if (!fs.existsSync(folderPath) || !isOwnFolder(folderPath)) return;
  sweepParts(folderPath);
  // before lockFileOf(): a hash takes node:crypto, whose loading takes 5 ms
  const noteNames = entriesOf(folderPath).filter((entryName) => entryName.endsWith(UNFINISHED));
  // one that was killed while it wrote the note says nothing of where it was
  const mayBeOfRoot = (noteName: string) =>
    (tryTo(() => JSON.parse(textOf(path.join(folderPath, noteName))).root) ?? root) === root;
  if (!noteNames.some(mayBeOfRoot)) return;
  const lockFile = lockFileOf(root);
  if (!lockFile) return;
  tryTo(() => {
    const release = acquireLock(lockFile, `Cannot write in '${root}'`);
    removeLeftovers(lockFile);
    fs.rmSync(notesOf(lockFile), { force: true });
    release();
  });
}

const locksFolder = (): string => path.join(os.tmpdir(), `zz-locks-${process.getuid?.() ?? "all"}`);

const isOwnFolder = (folderPath: string): boolean | undefined =>
  tryTo(() => {
    // never what is around it: TMPDIR may name what is not there
    tryTo(() => fs.mkdirSync(folderPath, { mode: 0o700 }));
    const { uid, mode } = fs.lstatSync(folderPath);
    return uid === (process.getuid?.() ?? uid) && (mode & 0o777) === 0o700;
  });

function lockFileOf(root: string): string | undefined {
  const folderPath = locksFolder();
  return isOwnFolder(folderPath) ? path.join(folderPath, hashOf(root).slice(0, 32)) : undefined;
}

async function projectLock(
  root: string,
  lockFile: string,
  clock: Clock,
  abortSignal: AbortSignal,
): Promise<(() => void) | undefined> {
  const mayWait = patience(lockFile, () => clock.now());
  for (;;)
    try {
      return acquireLock(lockFile, `Cannot write in '${root}'`);
    } catch (lockError) {
      if (codeOf(lockError)) return undefined; // a full disk must keep nobody from undoing
      if (!mayWait()) throw lockError;
      await sleepWith(clock, 2 + Math.random() * 10, abortSignal);
    }
}

/** Waits for its turn: others hold the lock for a few ms. */
function waitForLock(privateFile: string): () => void {
  makePrivate(path.dirname(privateFile));
  const lockFile = `${privateFile}.lock`;
  const mayWait = patience(lockFile, () => performance.now());
  for (;;)
    try {
      return acquireLock(lockFile, `Cannot change '${privateFile}'`);
    } catch (lockError) {
      if (codeOf(lockError) || !mayWait()) throw lockError;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 + Math.random() * 10);
    }
}

/** Whether to wait on: the time starts again when the lock has changed hands. */
function patience(lockFile: string, now: () => number): () => boolean {
  let [holderText, deadline] = ["", now() + LOCK_PATIENCE_MS];
  return () => {
    const lockText = textOf(lockFile);
    if (lockText !== holderText) [holderText, deadline] = [lockText, now() + LOCK_PATIENCE_MS];
    return now() <= deadline;
  };
}
const LOCK_PATIENCE_MS = 10_000; // ms to wait for each holder
