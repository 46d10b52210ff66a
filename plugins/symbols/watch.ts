// Watches the folders of the indexed files, so that saved changes are indexed before the next question.
import fs from "node:fs";
import path from "node:path";

const MAX_FOLDERS = 5_000; // watched; each costs the system some resources

export interface Watch {
  on(files: readonly string[], onChange: () => void): void; // watches these files' folders, and calls this on a change
  changes(): number; // how many it saw so far
  close(): void;
}

/** `debounce`: ms without a further change, before it tells of one. */
export function openWatch(root: string, debounce: () => number): Watch {
  const watchers = new Map<string, fs.FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  let onChange = () => {};
  let seen = 0;
  return { on, changes: () => seen, close };

  function on(files: readonly string[], act: () => void): void {
    onChange = act;
    const folders = new Set(files.map((file) => path.dirname(file)));
    folders.add(".");
    for (const [folder, watcher] of watchers) if (!folders.has(folder)) forget(folder, watcher);
    for (const folder of [...folders].slice(0, MAX_FOLDERS)) if (!watchers.has(folder)) watchFolder(folder);
  }
  function watchFolder(folder: string): void {
    try {
      const watcher = fs.watch(path.join(root, folder), { persistent: false }, scheduleUpdate);
      watcher.on("error", () => forget(folder, watcher));
      watchers.set(folder, watcher);
    } catch {} // it is gone, or the system has no watchers left: each question checks for itself
  }
  function scheduleUpdate(): void {
    seen++;
    clearTimeout(timer);
    timer = setTimeout(onChange, debounce()).unref();
  }
  function forget(folder: string, watcher: fs.FSWatcher): void {
    watcher.close();
    watchers.delete(folder);
  }
  function close(): void {
    clearTimeout(timer);
    for (const [folder, watcher] of watchers) forget(folder, watcher);
  }
}
