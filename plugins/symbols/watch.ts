// Watches the folders of the files that are indexed, so that what is saved is known before the next question.
import fs from "node:fs";
import path from "node:path";

const QUIET = 500; // ms without a change, after which it is looked at
const MOST_FOLDERS = 5_000; // watched; each costs the system something

export interface Watch {
  on(files: readonly string[], act: () => void): void; // from now on these files' folders, and this to do
  close(): void;
}

export function openWatch(root: string): Watch {
  const watchers = new Map<string, fs.FSWatcher>();
  let timer: NodeJS.Timeout | undefined;
  let then = () => {};
  return { on, close };

  function on(files: readonly string[], act: () => void): void {
    then = act;
    const folders = new Set(files.map((file) => path.dirname(file)));
    folders.add(".");
    for (const [folder, watcher] of watchers) if (!folders.has(folder)) forget(folder, watcher);
    for (const folder of [...folders].slice(0, MOST_FOLDERS)) if (!watchers.has(folder)) look(folder);
  }
  function look(folder: string): void {
    try {
      const watcher = fs.watch(path.join(root, folder), { persistent: false }, noticed);
      watcher.on("error", () => forget(folder, watcher));
      watchers.set(folder, watcher);
    } catch {} // it is gone, or the system has no more to give: each question looks for itself
  }
  function noticed(): void {
    clearTimeout(timer);
    timer = setTimeout(then, QUIET).unref();
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
