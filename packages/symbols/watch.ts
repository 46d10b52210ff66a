// Watches the folders of the project, so that saved changes are indexed before the next question,
// and a question need not look at every file: where every folder is watched, what was not told of
// has not changed.
import fs from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Clock, Git } from "zz";
import { tryTo } from "zz/text";
import { foldersOf } from "./resolve/paths.ts";

const MAX_FOLDERS = 20_000; // watched; each costs the system some resources
// folders without a listed file, of which git is asked whether it ignores them
const MAX_UNLISTED = 500;
const MAX_EVENTS = 4_000; // between two looks; the system forgets some when there are many more
const NEVER_WATCHED = new Set(["node_modules", ".git"]);
/**
 * Where the system tells of every change, also of one by another program: not over a network, where
 * another machine may write.
 */
const LOCAL_DISKS = new Set([
  0xef53, 0x9123683e, 0x58465342, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e,
]);

export interface Watch {
  /**
   * Watches the folders of these files, and those without any; calls `onChange` some time after a
   * change.
   */
  watchFolders(filePaths: readonly string[], git: Git, onChange: () => void): void;
  changes(): number; // how many it saw so far
  /**
   * What it saw since it was last asked; undefined: not everything is watched, or too much
   * happened.
   */
  takeTouched(): Promise<ReadonlySet<string> | undefined>;
  /**
   * Changes with the watched folders: what one look at all files and `take()` with the same number
   * saw is all there is.
   */
  generation(): number;
  close(): void;
}

interface Watching {
  root: string;
  debounce: () => number;
  watchers: Map<string, fs.FSWatcher>; // by the folder
  unlisted: Set<string>; // those of them that hold no listed file, and git's own
  touched: Set<string>;
  generation: number;
  events: number;
  isLost: boolean; // whether something happened that nobody knows
  isWhole: boolean; // whether every folder is watched
  run: number;
  clock: Clock;
  cancel(): void; // of what is to be told
  onChange(): void;
  seen: number;
  known?: readonly string[] | undefined;
}

/** `debounce`: ms without a further change, before it tells of one. */
export function openWatch(root: string, debounce: () => number, clock: Clock): Watch {
  const watching: Watching = {
    root,
    debounce,
    clock,
    watchers: new Map(),
    unlisted: new Set(),
    touched: new Set(),
    generation: 0,
    events: 0,
    isLost: false,
    isWhole: false,
    run: 0,
    seen: 0,
    onChange() {},
    cancel() {},
  };
  return {
    watchFolders: (filePaths, git, onChange) => startWatching(watching, filePaths, git, onChange),
    takeTouched: () => takeNames(watching),
    close: () => closeWatch(watching),
    changes: () => watching.seen,
    generation: () => watching.generation,
  };
}

function startWatching(
  watching: Watching,
  filePaths: readonly string[],
  git: Git,
  onChange: () => void,
): void {
  watching.onChange = onChange;
  if (filePaths === watching.known) return;
  watching.known = filePaths;
  const folders = foldersOf(filePaths);
  for (const folder of [...watching.watchers.keys()])
    if (folders.has(folder) === watching.unlisted.has(folder)) stopWatching(watching, folder);
  let isWhole = process.platform === "linux" && folders.size <= MAX_FOLDERS && isLocal(watching);
  for (const folder of [...folders].slice(0, MAX_FOLDERS))
    isWhole = watchFolder(watching, folder, () => scheduleUpdate(watching)) && isWhole;
  watching.isWhole = false; // until it is known which others there are
  if (isWhole) void watchOthers(watching, folders, git, ++watching.run);
}

/** A new file may come into a folder that has none so far, and git may list one that it did not. */
async function watchOthers(
  watching: Watching,
  listedFolders: ReadonlySet<string>,
  git: Git,
  runNumber: number,
): Promise<void> {
  const unlistedFolders = new Set<string>();
  for (let pendingFolders = [...listedFolders]; pendingFolders.length; ) {
    const subfolders: string[] = [];
    for (const [i, folder] of pendingFolders.entries()) {
      if (i % 50 === 0) await setImmediate();
      for (const dirent of entriesOf(watching, folder)) {
        if (dirent.name === ".git" && folder) return; // another repository, with a list of its own
        const entryPath = path.posix.join(folder, dirent.name);
        if (
          dirent.isDirectory() &&
          !NEVER_WATCHED.has(dirent.name) &&
          !listedFolders.has(entryPath)
        )
          subfolders.push(entryPath);
      }
    }
    if (unlistedFolders.size + subfolders.length > MAX_UNLISTED) return;
    pendingFolders = subfolders.length ? await notIgnored(subfolders, git, watching.root) : [];
    for (const unlistedFolder of pendingFolders) unlistedFolders.add(unlistedFolder);
  }
  const gitFolder = (await git.say(["rev-parse", "--absolute-git-dir"], watching.root))?.trimEnd();
  if (runNumber !== watching.run) return;
  for (const folder of watching.unlisted)
    if (!unlistedFolders.has(folder) && !listedFolders.has(folder)) stopWatching(watching, folder);
  watching.unlisted.clear();
  let isWhole = true;
  for (const folder of unlistedFolders)
    isWhole = watchFolder(watching, folder) && watching.unlisted.add(folder) && isWhole;
  for (const folder of gitFolder ? [gitFolder, path.join(gitFolder, "info")] : []) {
    if (!fs.existsSync(folder)) continue;
    isWhole = watchFolder(watching, folder) && watching.unlisted.add(folder) && isWhole;
  }
  watching.isWhole = isWhole;
}

/** Those of these folders, none of them in another that is ignored, whose files git would list. */
async function notIgnored(folders: readonly string[], git: Git, root: string): Promise<string[]> {
  const listArguments = [
    "--literal-pathspecs",
    "ls-files",
    "-oiz",
    "--exclude-standard",
    "--directory",
  ];
  const ignored = new Set((await git.say([...listArguments, "--", ...folders], root))?.split("\0"));
  return folders.filter((folder) => !ignored.has(`${folder}/`));
}

/** Returns whether it is watched. */
function watchFolder(watching: Watching, folder: string, onEvent?: () => void): boolean {
  if (watching.watchers.has(folder)) return true;
  try {
    const isGitFolder = path.isAbsolute(folder);
    const watcher = fs.watch(
      path.resolve(watching.root, folder),
      { persistent: false },
      (_, entryName) => {
        if (isGitFolder && !/^(?:index|exclude)$/.test(entryName ?? "index")) return;
        recordEvent(
          watching,
          isGitFolder || !entryName ? undefined : path.posix.join(folder, entryName),
        );
        onEvent?.();
      },
    );
    watcher.on("error", () => stopWatching(watching, folder));
    watching.watchers.set(folder, watcher);
    watching.generation++;
    return true;
  } catch {
    // it is gone, or the system has no watchers left: each question looks for itself
    return false;
  }
}
/** Undefined: nobody knows what. */
function recordEvent(watching: Watching, touchedPath: string | undefined): void {
  watching.events++;
  if (touchedPath === undefined || watching.events > MAX_EVENTS) watching.isLost = true;
  else if (watching.touched.size < MAX_EVENTS) watching.touched.add(touchedPath);
  if (touchedPath === undefined) return;
  if (watching.watchers.has(touchedPath))
    forgetWith(watching, touchedPath); // it may be another one now
  // with folders in it, perhaps
  else if (tryTo(() => fs.lstatSync(path.join(watching.root, touchedPath)).isDirectory()))
    watching.known = undefined;
}
function scheduleUpdate(watching: Watching): void {
  watching.seen++;
  watching.cancel();
  watching.cancel = watching.clock.timer(watching.debounce(), watching.onChange, {
    background: true,
  });
}

async function takeNames(watching: Watching): Promise<ReadonlySet<string> | undefined> {
  if (!watching.isWhole) return clearTouched(watching);
  for (let i = 0; i < 2; i++) await setImmediate(); // what happened up to now is told of in between
  const { isWhole, isLost } = watching;
  const touchedNames = clearTouched(watching);
  return isWhole && !isLost ? touchedNames : undefined;
}
function clearTouched(watching: Watching): ReadonlySet<string> | undefined {
  const { isWhole } = watching;
  const touchedNames = new Set(watching.touched);
  watching.touched.clear();
  [watching.events, watching.isLost] = [0, false];
  return isWhole ? touchedNames : undefined;
}

function forgetWith(watching: Watching, folder: string): void {
  for (const watchedFolder of [...watching.watchers.keys()])
    if (watchedFolder === folder || watchedFolder.startsWith(`${folder}/`))
      stopWatching(watching, watchedFolder);
  watching.isLost = true;
  watching.known = undefined;
}
function stopWatching(watching: Watching, folder: string): void {
  watching.watchers.get(folder)?.close();
  watching.watchers.delete(folder);
  watching.unlisted.delete(folder);
  watching.generation++;
}
function closeWatch(watching: Watching): void {
  watching.cancel();
  watching.run++;
  for (const folder of [...watching.watchers.keys()]) stopWatching(watching, folder);
  watching.isWhole = false;
}
function entriesOf(watching: Watching, folder: string): fs.Dirent[] {
  // gone, which its watcher tells
  return (
    tryTo(() => fs.readdirSync(path.join(watching.root, folder), { withFileTypes: true })) ?? []
  );
}
function isLocal(watching: Watching): boolean {
  return LOCAL_DISKS.has(tryTo(() => fs.statfsSync(watching.root).type) ?? 0);
}
