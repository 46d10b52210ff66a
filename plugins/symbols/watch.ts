// Watches the folders of the project, so that saved changes are indexed before the next question, and a question need not
// look at every file: where every folder is watched, what was not told of has not changed.
import fs from "node:fs";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Git } from "zz";
import { tryTo } from "zz/text";

const MAX_FOLDERS = 20_000; // watched; each costs the system some resources
const MAX_UNLISTED = 500; // folders without a listed file, of which git is asked whether it ignores them
const MAX_EVENTS = 4_000; // between two looks; the system forgets some when there are many more
const NEVER = new Set(["node_modules", ".git"]);
/** Where the system tells of every change, also of one by another program: not over a network, where another machine may write. */
const LOCAL_DISKS = new Set([
  ...[0xef53, 0x9123683e, 0x58465342, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e],
]);

export interface Watch {
  /** Watches the folders of these files, and those without any; calls `onChange` some time after a change. */
  on(names: readonly string[], git: Git, onChange: () => void): void;
  changes(): number; // how many it saw so far
  /** What it saw since it was last asked; undefined: not everything is watched, or too much happened. */
  take(): Promise<ReadonlySet<string> | undefined>;
  /** Changes with the watched folders: what one look at all files and `take()` with the same number saw is all there is. */
  generation(): number;
  close(): void;
}

/** `debounce`: ms without a further change, before it tells of one. */
export function openWatch(root: string, debounce: () => number): Watch {
  const watchers = new Map<string, fs.FSWatcher>(); // by the folder
  const unlisted = new Set<string>(); // those of them that hold no listed file, and git's own
  const [touched, state] = [new Set<string>(), { generation: 0, events: 0, isLost: false, isWhole: false, run: 0 }];
  let timer: NodeJS.Timeout | undefined;
  let onChange = () => {};
  let seen = 0;
  let known: readonly string[] | undefined;
  return { ...{ on, take, close }, changes: () => seen, generation: () => state.generation };

  function on(names: readonly string[], git: Git, act: () => void): void {
    onChange = act;
    if (names === known) return;
    known = names;
    const folders = foldersOf(names);
    for (const folder of [...watchers.keys()]) if (folders.has(folder) === unlisted.has(folder)) forget(folder);
    let isWhole = process.platform === "linux" && folders.size <= MAX_FOLDERS && isLocal();
    for (const folder of [...folders].slice(0, MAX_FOLDERS)) isWhole = add(folder, scheduleUpdate) && isWhole;
    state.isWhole = false; // until it is known which others there are
    if (isWhole) void watchOthers(folders, git, ++state.run);
  }

  /** A new file may come into a folder that has none so far, and git may list one that it did not. */
  async function watchOthers(listed: ReadonlySet<string>, git: Git, run: number): Promise<void> {
    const found = new Set<string>();
    for (let next = [...listed]; next.length; ) {
      const inner: string[] = [];
      for (const [i, folder] of next.entries()) {
        if (i % 50 === 0) await setImmediate();
        for (const entry of entriesOf(folder)) {
          if (entry.name === ".git" && folder !== ".") return; // another repository, with a list of its own
          const name = path.posix.join(folder, entry.name);
          if (entry.isDirectory() && !NEVER.has(entry.name) && !listed.has(name)) inner.push(name);
        }
      }
      if (found.size + inner.length > MAX_UNLISTED) return;
      const ignored = inner.length ? await git.say(["check-ignore", "-z", "--", ...inner], root) : "";
      const isIgnored = new Set(ignored?.split("\0"));
      next = inner.filter((name) => !isIgnored.has(name));
      for (const name of next) found.add(name);
    }
    const dir = (await git.say(["rev-parse", "--absolute-git-dir"], root))?.trimEnd();
    if (run !== state.run) return;
    for (const folder of unlisted) if (!found.has(folder) && !listed.has(folder)) forget(folder);
    unlisted.clear();
    let isWhole = true;
    for (const folder of found) isWhole = add(folder) && unlisted.add(folder) && isWhole;
    for (const folder of dir ? [dir, path.join(dir, "info")] : []) {
      if (!fs.existsSync(folder)) continue;
      isWhole = add(folder) && unlisted.add(folder) && isWhole;
    }
    state.isWhole = isWhole;
  }

  /** Returns whether it is watched. */
  function add(folder: string, act?: () => void): boolean {
    if (watchers.has(folder)) return true;
    try {
      const isGits = path.isAbsolute(folder);
      const watcher = fs.watch(path.resolve(root, folder), { persistent: false }, (_, name) => {
        if (isGits && !/^(?:index|exclude)$/.test(name ?? "index")) return;
        notice(isGits || !name ? undefined : path.posix.join(folder, name));
        act?.();
      });
      watcher.on("error", () => forget(folder));
      watchers.set(folder, watcher);
      state.generation++;
      return true;
    } catch {
      return false; // it is gone, or the system has no watchers left: each question looks for itself
    }
  }
  /** Undefined: nobody knows what. */
  function notice(name: string | undefined): void {
    state.events++;
    if (name === undefined || state.events > MAX_EVENTS) state.isLost = true;
    else if (touched.size < MAX_EVENTS) touched.add(name);
    if (name === undefined) return;
    if (watchers.has(name) && name !== ".")
      forgetWith(name); // it may be another one now
    else if (tryTo(() => fs.lstatSync(path.join(root, name)).isDirectory())) known = undefined; // with folders in it, perhaps
  }
  function scheduleUpdate(): void {
    seen++;
    clearTimeout(timer);
    timer = setTimeout(onChange, debounce()).unref();
  }

  async function take(): Promise<ReadonlySet<string> | undefined> {
    if (!state.isWhole) return reset();
    for (let i = 0; i < 2; i++) await setImmediate(); // what happened up to now is told of in between
    const { isWhole, isLost } = state;
    const all = reset();
    return isWhole && !isLost ? all : undefined;
  }
  function reset(): ReadonlySet<string> | undefined {
    const { isWhole } = state;
    const all = new Set(touched);
    touched.clear();
    [state.events, state.isLost] = [0, false];
    return isWhole ? all : undefined;
  }

  function forgetWith(folder: string): void {
    for (const one of [...watchers.keys()]) if (one === folder || one.startsWith(`${folder}/`)) forget(one);
    state.isLost = true;
    known = undefined;
  }
  function forget(folder: string): void {
    watchers.get(folder)?.close();
    watchers.delete(folder);
    unlisted.delete(folder);
    state.generation++;
  }
  function close(): void {
    clearTimeout(timer);
    state.run++;
    for (const folder of [...watchers.keys()]) forget(folder);
    state.isWhole = false;
  }
  function entriesOf(folder: string): fs.Dirent[] {
    return tryTo(() => fs.readdirSync(path.join(root, folder), { withFileTypes: true })) ?? []; // gone, which its watcher tells
  }
  function isLocal(): boolean {
    return LOCAL_DISKS.has(tryTo(() => fs.statfsSync(root).type) ?? 0);
  }
}

/** Of these files, and the folders around those. */
function foldersOf(names: readonly string[]): Set<string> {
  const folders = new Set(["."]);
  for (const name of names)
    for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) {
      const folder = name.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
    }
  return folders;
}
