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

export class Watch {
  changes = 0; // how many it saw so far
  /**
   * Changes with the watched folders: what one look at all files and `takeTouched()` with the same
   * number saw is all there is.
   */
  generation = 0;
  readonly #root: string;
  readonly #debounce: () => number;
  readonly #clock: Clock;
  #watchers = new Map<string, fs.FSWatcher>(); // by the folder
  #unlisted = new Set<string>(); // those of them that hold no listed file, and git's own
  #touched = new Set<string>();
  #events = 0; // since the last look; Infinity: something happened that nobody knows
  #isWhole = false; // whether every folder is watched
  #run = 0;
  #known?: readonly string[] | undefined;
  #cancel = () => {}; // of what is to be told
  #onChange = () => {};

  /** `debounce`: ms without a further change, before it tells of one. */
  constructor(root: string, debounce: () => number, clock: Clock) {
    this.#root = root;
    this.#debounce = debounce;
    this.#clock = clock;
  }

  /**
   * Watches the folders of these files, and those without any; calls `onChange` some time after a
   * change.
   */
  watchFolders(filePaths: readonly string[], git: Git, onChange: () => void): void {
    this.#onChange = onChange;
    if (filePaths === this.#known) return;
    this.#known = filePaths;
    const folders = foldersOf(filePaths);
    for (const folder of [...this.#watchers.keys()])
      if (folders.has(folder) === this.#unlisted.has(folder)) this.#stopWatching(folder);
    const isLocal = LOCAL_DISKS.has(tryTo(() => fs.statfsSync(this.#root).type) ?? 0);
    let isWhole = process.platform === "linux" && folders.size <= MAX_FOLDERS && isLocal;
    for (const folder of [...folders].slice(0, MAX_FOLDERS))
      isWhole = this.#watchFolder(folder, () => this.#scheduleUpdate()) && isWhole;
    this.#isWhole = false; // until it is known which others there are
    if (isWhole) void this.#watchOthers(folders, git, ++this.#run);
  }

  /**
   * What it saw since it was last asked; undefined: not everything is watched, or too much
   * happened.
   */
  async takeTouched(): Promise<ReadonlySet<string> | undefined> {
    // what happened up to now is told of in between
    if (this.#isWhole) for (let i = 0; i < 2; i++) await setImmediate();
    const isKnown = this.#isWhole && this.#events <= MAX_EVENTS;
    const touchedNames = new Set(this.#touched);
    this.#touched.clear();
    this.#events = 0;
    return isKnown ? touchedNames : undefined;
  }

  close(): void {
    this.#cancel();
    this.#run++;
    for (const folder of [...this.#watchers.keys()]) this.#stopWatching(folder);
    this.#isWhole = false;
  }

  /**
   * A new file may come into a folder that has none so far, and git may list one that it did not.
   */
  async #watchOthers(
    listedFolders: ReadonlySet<string>,
    git: Git,
    runNumber: number,
  ): Promise<void> {
    const unlistedFolders = new Set<string>();
    for (let pendingFolders = [...listedFolders]; pendingFolders.length; ) {
      const subfolders: string[] = [];
      for (const [i, folder] of pendingFolders.entries()) {
        if (i % 50 === 0) await setImmediate();
        for (const dirent of this.#entriesOf(folder)) {
          if (dirent.name === ".git" && folder) return; // another repository, with its own list
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
      pendingFolders = subfolders.length ? await notIgnored(subfolders, git, this.#root) : [];
      for (const unlistedFolder of pendingFolders) unlistedFolders.add(unlistedFolder);
    }
    const gitFolder = (await git.say(["rev-parse", "--absolute-git-dir"], this.#root))?.trimEnd();
    if (runNumber !== this.#run) return;
    for (const folder of this.#unlisted)
      if (!unlistedFolders.has(folder) && !listedFolders.has(folder)) this.#stopWatching(folder);
    this.#unlisted.clear();
    const gitFolders = gitFolder ? [gitFolder, path.join(gitFolder, "info")] : [];
    let isWhole = true;
    for (const folder of [...unlistedFolders, ...gitFolders.filter((name) => fs.existsSync(name))])
      isWhole = this.#watchFolder(folder) && this.#unlisted.add(folder) && isWhole;
    this.#isWhole = isWhole;
  }

  /** Returns whether it is watched. */
  #watchFolder(folder: string, onEvent?: () => void): boolean {
    if (this.#watchers.has(folder)) return true;
    try {
      const isGitFolder = path.isAbsolute(folder);
      const watcher = fs.watch(
        path.resolve(this.#root, folder),
        { persistent: false },
        (_, entryName) => {
          if (isGitFolder && !/^(?:index|exclude)$/.test(entryName ?? "index")) return;
          this.#recordEvent(
            isGitFolder || !entryName ? undefined : path.posix.join(folder, entryName),
          );
          onEvent?.();
        },
      );
      watcher.on("error", () => this.#stopWatching(folder));
      this.#watchers.set(folder, watcher);
      this.generation++;
      return true;
    } catch {
      // it is gone, or the system has no watchers left: each question looks for itself
      return false;
    }
  }
  /** Undefined: nobody knows what. */
  #recordEvent(touchedPath: string | undefined): void {
    this.#events = touchedPath === undefined ? Infinity : this.#events + 1;
    if (touchedPath === undefined) return;
    if (this.#events <= MAX_EVENTS) this.#touched.add(touchedPath);
    if (this.#watchers.has(touchedPath))
      this.#forgetWith(touchedPath); // it may be another one now
    // with folders in it, perhaps
    else if (tryTo(() => fs.lstatSync(path.join(this.#root, touchedPath)).isDirectory()))
      this.#known = undefined;
  }
  #scheduleUpdate(): void {
    this.changes++;
    this.#cancel();
    this.#cancel = this.#clock.timer(this.#debounce(), this.#onChange, { background: true });
  }
  #forgetWith(folder: string): void {
    for (const watchedFolder of [...this.#watchers.keys()])
      if (watchedFolder === folder || watchedFolder.startsWith(`${folder}/`))
        this.#stopWatching(watchedFolder);
    this.#events = Infinity;
    this.#known = undefined;
  }
  #stopWatching(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
    this.#unlisted.delete(folder);
    this.generation++;
  }
  #entriesOf(folder: string): fs.Dirent[] {
    // gone, which its watcher tells
    return (
      tryTo(() => fs.readdirSync(path.join(this.#root, folder), { withFileTypes: true })) ?? []
    );
  }
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
