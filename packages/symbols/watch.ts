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
const NEVER = new Set(["node_modules", ".git"]);
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
  watchFolders(names: readonly string[], git: Git, onChange: () => void): void;
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
  const w: Watching = {
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
    watchFolders: (names, git, onChange) => startWatching(w, names, git, onChange),
    takeTouched: () => takeNames(w),
    close: () => close(w),
    changes: () => w.seen,
    generation: () => w.generation,
  };
}

function startWatching(w: Watching, names: readonly string[], git: Git, act: () => void): void {
  w.onChange = act;
  if (names === w.known) return;
  w.known = names;
  const folders = foldersOf(names);
  for (const folder of [...w.watchers.keys()])
    if (folders.has(folder) === w.unlisted.has(folder)) forget(w, folder);
  let isWhole = process.platform === "linux" && folders.size <= MAX_FOLDERS && isLocal(w);
  for (const folder of [...folders].slice(0, MAX_FOLDERS))
    isWhole = watchFolder(w, folder, () => scheduleUpdate(w)) && isWhole;
  w.isWhole = false; // until it is w.known which others there are
  if (isWhole) void watchOthers(w, folders, git, ++w.run);
}

/** A new file may come into a folder that has none so far, and git may list one that it did not. */
async function watchOthers(
  w: Watching,
  listed: ReadonlySet<string>,
  git: Git,
  run: number,
): Promise<void> {
  const unlistedFolders = new Set<string>();
  for (let next = [...listed]; next.length; ) {
    const inner: string[] = [];
    for (const [i, folder] of next.entries()) {
      if (i % 50 === 0) await setImmediate();
      for (const dirent of entriesOf(w, folder)) {
        if (dirent.name === ".git" && folder) return; // another repository, with a list of its own
        const name = path.posix.join(folder, dirent.name);
        if (dirent.isDirectory() && !NEVER.has(dirent.name) && !listed.has(name)) inner.push(name);
      }
    }
    if (unlistedFolders.size + inner.length > MAX_UNLISTED) return;
    next = inner.length ? await notIgnored(inner, git, w.root) : [];
    for (const name of next) unlistedFolders.add(name);
  }
  const dir = (await git.say(["rev-parse", "--absolute-git-dir"], w.root))?.trimEnd();
  if (run !== w.run) return;
  for (const folder of w.unlisted)
    if (!unlistedFolders.has(folder) && !listed.has(folder)) forget(w, folder);
  w.unlisted.clear();
  let isWhole = true;
  for (const folder of unlistedFolders)
    isWhole = watchFolder(w, folder) && w.unlisted.add(folder) && isWhole;
  for (const folder of dir ? [dir, path.join(dir, "info")] : []) {
    if (!fs.existsSync(folder)) continue;
    isWhole = watchFolder(w, folder) && w.unlisted.add(folder) && isWhole;
  }
  w.isWhole = isWhole;
}

/** Those of these folders, none of them in another that is ignored, whose files git would list. */
async function notIgnored(folders: readonly string[], git: Git, root: string): Promise<string[]> {
  const list = ["--literal-pathspecs", "ls-files", "-oiz", "--exclude-standard", "--directory"];
  const ignored = new Set((await git.say([...list, "--", ...folders], root))?.split("\0"));
  return folders.filter((name) => !ignored.has(`${name}/`));
}

/** Returns whether it is watched. */
function watchFolder(w: Watching, folder: string, act?: () => void): boolean {
  if (w.watchers.has(folder)) return true;
  try {
    const isGits = path.isAbsolute(folder);
    const watcher = fs.watch(path.resolve(w.root, folder), { persistent: false }, (_, name) => {
      if (isGits && !/^(?:index|exclude)$/.test(name ?? "index")) return;
      notice(w, isGits || !name ? undefined : path.posix.join(folder, name));
      act?.();
    });
    watcher.on("error", () => forget(w, folder));
    w.watchers.set(folder, watcher);
    w.generation++;
    return true;
  } catch {
    // it is gone, or the system has no w.watchers left: each question looks for itself
    return false;
  }
}
/** Undefined: nobody knows what. */
function notice(w: Watching, name: string | undefined): void {
  w.events++;
  if (name === undefined || w.events > MAX_EVENTS) w.isLost = true;
  else if (w.touched.size < MAX_EVENTS) w.touched.add(name);
  if (name === undefined) return;
  if (w.watchers.has(name))
    forgetWith(w, name); // it may be another one now
  // with folders in it, perhaps
  else if (tryTo(() => fs.lstatSync(path.join(w.root, name)).isDirectory())) w.known = undefined;
}
function scheduleUpdate(w: Watching): void {
  w.seen++;
  w.cancel();
  w.cancel = w.clock.timer(w.debounce(), w.onChange, { background: true });
}

async function takeNames(w: Watching): Promise<ReadonlySet<string> | undefined> {
  if (!w.isWhole) return reset(w);
  for (let i = 0; i < 2; i++) await setImmediate(); // what happened up to now is told of in between
  const { isWhole, isLost } = w;
  const touchedNames = reset(w);
  return isWhole && !isLost ? touchedNames : undefined;
}
function reset(w: Watching): ReadonlySet<string> | undefined {
  const { isWhole } = w;
  const touchedNames = new Set(w.touched);
  w.touched.clear();
  [w.events, w.isLost] = [0, false];
  return isWhole ? touchedNames : undefined;
}

function forgetWith(w: Watching, folder: string): void {
  for (const watchedFolder of [...w.watchers.keys()])
    if (watchedFolder === folder || watchedFolder.startsWith(`${folder}/`))
      forget(w, watchedFolder);
  w.isLost = true;
  w.known = undefined;
}
function forget(w: Watching, folder: string): void {
  w.watchers.get(folder)?.close();
  w.watchers.delete(folder);
  w.unlisted.delete(folder);
  w.generation++;
}
function close(w: Watching): void {
  w.cancel();
  w.run++;
  for (const folder of [...w.watchers.keys()]) forget(w, folder);
  w.isWhole = false;
}
function entriesOf(w: Watching, folder: string): fs.Dirent[] {
  // gone, which its watcher tells
  return tryTo(() => fs.readdirSync(path.join(w.root, folder), { withFileTypes: true })) ?? [];
}
function isLocal(w: Watching): boolean {
  return LOCAL_DISKS.has(tryTo(() => fs.statfsSync(w.root).type) ?? 0);
}
