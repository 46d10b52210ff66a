// One writer at a time, by a lock that a dead process does not keep.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import type { Clock } from "../contract.ts";
import { sleepWith } from "../text/clock.ts";
import { codeOf, fault } from "../text/faults.ts";
import { entriesOf, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import { makePrivate, removeUnfinished, type Unfinished, writePrivate } from "./atomic-write.ts";
import { partIn, processStartTime, sweepParts } from "./temporary-files.ts";

/**
 * Locks a file. The lock names its process by number and start time, so that a dead process does
 * not keep it.
 */
export function acquireLock(file: string, cannot: string, remedy = "Try again"): () => void {
  const mine = `${process.pid} ${processStartTime(process.pid)}`;
  const temporary = partIn(path.dirname(file));
  try {
    fs.writeFileSync(temporary, mine, { mode: 0o600 });
    for (;;) {
      try {
        if (claimLock(temporary, file)) return () => releaseLock(file);
        continue;
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
      const theirs = textOf(file);
      const [pid, start] = theirs.split(" ");
      if (start && processStartTime(Number(pid)) === start)
        throw fault(`${cannot}: another zz (process ${pid}) has it open. ${remedy}.`);
      // released meanwhile: do not mistake the next one for it
      if (!theirs && tryTo(() => fs.statSync(file).size) !== 0) continue;
      let mayBreak: (() => void) | undefined;
      try {
        // only one at a time may break a dead process's lock
        mayBreak = acquireLock(`${file}.break`, cannot);
        if (textOf(file) === theirs && fs.existsSync(file)) fs.unlinkSync(file);
      } catch (error) {
        // another process is breaking it: look again
        if (codeOf(error) && codeOf(error) !== "ENOENT") throw error;
      } finally {
        mayBreak?.();
      }
    }
  } finally {
    tryTo(() => fs.unlinkSync(temporary));
  }
}

/** Whether another process that is alive has this lock. */
export function isHeldByAnother(file: string): boolean {
  const [pid, start] = textOf(file).split(" ");
  return Boolean(start) && Number(pid) !== process.pid && processStartTime(Number(pid)) === start;
}

/** Where nothing can be removed just now, an empty lock is one that nobody holds. */
function releaseLock(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch {
    tryTo(() => fs.truncateSync(file));
  }
}

/**
 * In one step, so that nobody sees an empty lock. Without hard links it takes two, and who sees it
 * empty may take it away.
 */
function claimLock(temporary: string, file: string): boolean {
  try {
    fs.linkSync(temporary, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw error;
    fs.writeFileSync(file, textOf(temporary), { flag: "wx", mode: 0o600 });
    return textOf(file) === textOf(temporary);
  }
}

/** Reads, changes and writes a file of the home without losing what another zz writes meanwhile. */
export function updatePrivateFile(file: string, change: (text: string) => string): void {
  const real = tryTo(() => fs.realpathSync(file)) ?? file;
  const release = waitForLock(real);
  try {
    writePrivate(real, change(textOf(real)));
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
  signal: AbortSignal,
  act: (begin: (unfinished: Unfinished) => void) => Promise<T>,
): Promise<T> {
  const file = lockFileOf(root);
  const release = file && (await projectLock(root, file, clock, signal));
  if (!release) return act(() => {});
  try {
    removeLeftovers(file);
    return await act(
      (unfinished) =>
        void tryTo(() =>
          fs.writeFileSync(
            notesOf(file),
            JSON.stringify({ root, pid: process.pid, ...unfinished }),
            { mode: 0o600 },
          ),
        ),
    );
  } finally {
    fs.rmSync(notesOf(file), { force: true });
    release();
  }
}

/**
 * While a project is changed, this stands beside its lock: what a zz that is killed then would
 * leave in the project.
 */
const UNFINISHED = ".unfinished";
const notesOf = (file: string): string => `${file}${UNFINISHED}`;
function removeLeftovers(file: string): void {
  const text = textOf(notesOf(file));
  if (text) tryTo(() => removeUnfinished(JSON.parse(text), JSON.parse(text).pid));
}

/** Takes away what a killed zz left in this project, unless another one is just changing it. */
export function finishUnfinished(root: string): void {
  const folder = locksFolder();
  if (!fs.existsSync(folder) || !isOurs(folder)) return;
  sweepParts(folder);
  // before lockFileOf(): a hash takes node:crypto, whose loading takes 5 ms
  const notes = entriesOf(folder).filter((name) => name.endsWith(UNFINISHED));
  // one that was killed while it wrote the note says nothing of where it was
  const mayBeOfRoot = (name: string) =>
    (tryTo(() => JSON.parse(textOf(path.join(folder, name))).root) ?? root) === root;
  if (!notes.some(mayBeOfRoot)) return;
  const file = lockFileOf(root);
  if (!file) return;
  tryTo(() => {
    const release = acquireLock(file, `Cannot write in '${root}'`);
    removeLeftovers(file);
    fs.rmSync(notesOf(file), { force: true });
    release();
  });
}

const locksFolder = (): string => path.join(os.tmpdir(), `zz-locks-${process.getuid?.() ?? "all"}`);

const isOurs = (folder: string): boolean | undefined =>
  tryTo(() => {
    // never what is around it: TMPDIR may name what is not there
    tryTo(() => fs.mkdirSync(folder, { mode: 0o700 }));
    const { uid, mode } = fs.lstatSync(folder);
    return uid === (process.getuid?.() ?? uid) && (mode & 0o777) === 0o700;
  });

function lockFileOf(root: string): string | undefined {
  const folder = locksFolder();
  return isOurs(folder)
    ? path.join(
        folder,
        process.getBuiltinModule("node:crypto").hash("sha256", root, "hex").slice(0, 32),
      )
    : undefined;
}

async function projectLock(
  root: string,
  file: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<(() => void) | undefined> {
  for (let until = clock.now() + LOCK_PATIENCE_MS, holder = ""; ; )
    try {
      return acquireLock(file, `Cannot write in '${root}'`);
    } catch (error) {
      if (codeOf(error)) return undefined; // a full disk must keep nobody from undoing
      const lockText = textOf(file);
      if (lockText !== holder) [holder, until] = [lockText, clock.now() + LOCK_PATIENCE_MS];
      if (clock.now() > until) throw error;
      await sleepWith(clock, 2 + Math.random() * 10, signal);
    }
}

/** Waits for its turn: others hold the lock for a few ms. */
function waitForLock(file: string): () => void {
  makePrivate(path.dirname(file));
  for (let until = performance.now() + LOCK_PATIENCE_MS, holder = ""; ; )
    try {
      return acquireLock(`${file}.lock`, `Cannot change '${file}'`);
    } catch (error) {
      const lockText = textOf(`${file}.lock`);
      // the lock has changed hands
      if (lockText !== holder) [holder, until] = [lockText, performance.now() + LOCK_PATIENCE_MS];
      if (codeOf(error) || performance.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 + Math.random() * 10);
    }
}
const LOCK_PATIENCE_MS = 10_000; // ms to wait for each holder
