// One writer at a time, with a lock that a dead process does not keep.
import fs from "node:fs";
import path from "node:path";
import { makePrivate, startOf, writePrivate } from "./disk.ts";
import { codeOf, fault } from "./faults.ts";
import { textOf, tryTo } from "./text.ts";

/** One writer at a time. The lock names its process by number and start time, so that a dead one does not keep it. */
export function lock(file: string, cannot: string, remedy = "Try again"): () => void {
  const mine = `${process.pid} ${startOf(process.pid)}`;
  const temporary = `${file}.${process.pid}`;
  try {
    fs.writeFileSync(temporary, mine, { mode: 0o600 });
    for (;;) {
      try {
        fs.linkSync(temporary, file); // all at once: nobody ever sees an empty lock
        return () => fs.rmSync(file, { force: true });
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
      const theirs = textOf(file);
      const [pid, start] = theirs.split(" ");
      if (start && startOf(Number(pid)) === start) throw fault(`${cannot}: another zz (process ${pid}) has it open. ${remedy}.`);
      if (!theirs && tryTo(() => fs.statSync(file).size) !== 0) continue; // given back meanwhile: the next one's must not be taken for it
      let mayBreak: (() => void) | undefined;
      try {
        mayBreak = lock(`${file}.break`, cannot); // only one at a time may take a dead one's lock away
        if (textOf(file) === theirs && fs.existsSync(file)) fs.rmSync(file, { force: true });
      } catch (error) {
        if (codeOf(error)) throw error; // else someone else is at it; look again
      } finally {
        mayBreak?.();
      }
    }
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** Acts while no other zz does so on that file. Others wait their turn: each takes a few ms. */
export function locked<T>(file: string, act: () => T): T {
  makePrivate(path.dirname(file));
  for (let until = performance.now() + PATIENCE, holder = ""; ; ) {
    let release: (() => void) | undefined;
    try {
      release = lock(`${file}.lock`, `Cannot change '${file}'`);
    } catch (error) {
      const now = textOf(`${file}.lock`);
      if (now !== holder) [holder, until] = [now, performance.now() + PATIENCE]; // it is somebody else's turn
      if (codeOf(error) || performance.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 + Math.random() * 10);
      continue;
    }
    try {
      return act();
    } finally {
      release();
    }
  }
}
const PATIENCE = 10_000; // ms for one of those that come before

/** Reads, changes and writes a file of the home: nothing that another zz wrote meanwhile is lost. */
export function updatePrivate(file: string, change: (text: string) => string): void {
  const real = tryTo(() => fs.realpathSync(file)) ?? file;
  locked(real, () => writePrivate(real, change(textOf(real))));
}
