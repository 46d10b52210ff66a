// Restores or removes what a command left behind that other programs would run later.
import fs from "node:fs";
import path from "node:path";
import { isInside } from "zz/text";
import { findGuardedFiles, repositoryPaths } from "./guarded-files.ts";
import { bytesOf, direntsOf, isFolder } from "./resolve-paths.ts";
import type { Guard } from "./sandbox-limits.ts";
import {
  askGit,
  findRepositories,
  findSelfRunningFiles,
  type GitProgram,
  gitFolders,
  IN_GIT,
  type ProjectScan,
  parseGitSetting,
  type SelfRunningFiles,
} from "./self-running-files.ts";

interface SavedFile {
  mode: number;
  link?: string;
  bytes?: Buffer; // absent: too large to keep
  mark?: string; // kept instead of the bytes, to detect changes
}
/** A file, or a folder's files, by relative path; "" is the path itself. */
type Snapshot = Map<string, SavedFile>;

interface Snapshots {
  found: ProjectScan;
  watched: Map<string, Snapshot>;
  zz: boolean;
  guard: Guard;
}

/**
 * Takes a snapshot before the first of several simultaneous commands, and compares after the last.
 * `own` is a folder for copies.
 */
export function watchGuardedFiles(
  roots: string[],
  workFolder: string,
  git: GitProgram | undefined,
): { begin(): Guard; end(): string[] } {
  let running = 0;
  let before: Snapshots;
  const zz = path.join(roots[0]!, ".zz");
  return {
    begin() {
      if (running++) return before.guard;
      before = takeSnapshots(roots, workFolder, git);
      return before.guard;
    },
    end() {
      if (--running) return [];
      // the empty folder that the cover was mounted on
      if (!before.zz && isThere(zz)) fs.rmdirSync(zz);
      return restoreGuarded(before, roots, git);
    },
  };
}

function takeSnapshots(
  roots: string[],
  workFolder: string,
  git: GitProgram | undefined,
): Snapshots {
  const scan = scanProjects(roots);
  const named = roots.map((root) => findSelfRunningFiles(root, git));
  const selfRunning = {
    paths: named.flatMap((projectFiles) => projectFiles.paths),
    hooks: named[0]!.hooks,
  };
  const watched = new Map(
    pathsToWatch(scan, selfRunning).map((absolutePath) => [absolutePath, snapshot(absolutePath)]),
  );
  const guard = {
    ...findGuardedFiles(roots, scan, selfRunning),
    copies: copyHooks(selfRunning.hooks, workFolder),
    endpoints: scan.endpoints,
  };
  const { hooks } = selfRunning;
  if (hooks && !guard.copies.length) {
    if (isThere(hooks)) guard.readonly.push(hooks);
    watched.set(hooks, snapshot(hooks));
  }
  return { found: scan, watched, zz: isThere(path.join(roots[0]!, ".zz")), guard };
}

/** What had to be put back or removed, in sentences. */
function restoreGuarded(before: Snapshots, roots: string[], git: GitProgram | undefined): string[] {
  const notes = [...before.watched].flatMap(([absolutePath, saved]) =>
    withAccess(absolutePath, () => restorePath(absolutePath, saved, git)),
  );
  const [scanBefore, scanNow] = [before.found, scanProjects(roots, false)];
  const newOnes = (found: "folders" | "gitPointers" | "startFiles") =>
    scanNow[found].filter((file) => !scanBefore[found].includes(file));
  const foldersNow = [...scanBefore.folders, ...scanNow.folders];
  const removed = (file: string) => [file].filter(remove).map(removalNote);
  const removals = [
    ...newOnes("folders")
      .filter((folder) => !isMoved(folder, before.watched))
      .flatMap((folder) =>
        withAccess(folder, () => removeRunnable(folder, roots).map(removalNote)),
      ),
    ...newOnes("gitPointers").flatMap((file) =>
      withAccess(file, () => (pointsInto(file, foldersNow) ? [] : removed(file))),
    ),
    ...newOnes("startFiles").flatMap((file) => withAccess(file, () => removed(file))),
  ];
  const discarded = before.guard.copies.filter(
    ({ at, from }) => !isSameSnapshot(snapshot(at), snapshot(from)),
  );
  for (const { from } of before.guard.copies) fs.rmSync(from, { recursive: true, force: true });
  return [
    ...notes,
    ...removals,
    ...discarded.map(
      ({ at }) => `git runs what is in '${at}': what was written there stayed in the sandbox`,
    ),
  ];
}

function scanProjects(roots: string[], links = true): ProjectScan {
  const scans = roots.map((root) => findRepositories(root, links));
  const outer = repositoryPaths(roots[0]!).folders.flatMap(gitFolders);
  return {
    folders: [...new Set([...outer, ...scans.flatMap((scan) => scan.folders)])],
    gitPointers: scans.flatMap((scan) => scan.gitPointers),
    startFiles: scans.flatMap((scan) => scan.startFiles),
    hardLinked: scans.flatMap((scan) => scan.hardLinked),
    endpoints: scans.flatMap((scan) => scan.endpoints),
    isIncomplete: scans.some((scan) => scan.isIncomplete),
  };
}

/** Package installers write to a hooks folder, so a small one is mounted as a copy. */
function copyHooks(hooks: string | undefined, workFolder: string): { at: string; from: string }[] {
  if (!hooks || !isFolder(hooks) || fs.lstatSync(hooks).isSymbolicLink()) return [];
  const files = [...snapshot(hooks).values()];
  if (files.length > MAX_COPIED || files.some(({ bytes, link }) => !bytes && link === undefined))
    return [];
  const from = fs.mkdtempSync(path.join(workFolder, "hooks-"));
  fs.cpSync(hooks, from, { recursive: true, verbatimSymlinks: true });
  return [{ at: hooks, from }];
}
const MAX_COPIED = 300; // files

const isThere = (absolutePath: string): boolean =>
  fs.lstatSync(absolutePath, { throwIfNoEntry: false }) !== undefined;

/** Tries again with access to the folder, which a command may have taken away. */
function withAccess(absolutePath: string, act: () => string[]): string[] {
  try {
    return act();
  } catch {
    try {
      fs.chmodSync(path.dirname(absolutePath), 0o700);
      return act();
    } catch (error) {
      return [
        `'${absolutePath}' may run commands outside of the sandbox, and cannot be put right: ${(error as Error).message}`,
      ];
    }
  }
}

const removalNote = (absolutePath: string): string =>
  `'${absolutePath}' could run commands outside of the sandbox: what could was taken out of it`;
const restoreNote = (absolutePath: string): string =>
  `'${absolutePath}' could run commands outside of the sandbox: it was put back as it was`;

function pathsToWatch(scan: ProjectScan, { paths, hooks }: SelfRunningFiles): string[] {
  const git = scan.folders.flatMap((folder) => IN_GIT.map((name) => path.join(folder, name)));
  return [...new Set([...git, ...scan.gitPointers, ...scan.startFiles, ...paths])].filter(
    (absolutePath) => absolutePath !== hooks,
  );
}

// ── snapshots ────────────────────────────────────────────────────────────────────────────────────

const MAX_KEPT = 4 << 20; // bytes per file
const MAX_ENTRIES = 2_000; // per folder

function snapshot(top: string, name = "", kept: Snapshot = new Map()): Snapshot {
  const absolutePath = path.join(top, name);
  const stat = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
  if (!stat || kept.size >= MAX_ENTRIES) return kept;
  if (stat.isDirectory())
    for (const dirent of direntsOf(absolutePath)) snapshot(top, path.join(name, dirent.name), kept);
  else if (stat.isSymbolicLink()) kept.set(name, { mode: 0, link: fs.readlinkSync(absolutePath) });
  else if (stat.isFile() && stat.size <= MAX_KEPT) {
    // The cover of a missing file leaves an empty one.
    if (stat.size || !/\/(config|hooks)$/.test(absolutePath))
      kept.set(name, { mode: stat.mode & 0o7777, bytes: bytesOf(absolutePath) });
  } else
    kept.set(name, {
      mode: stat.mode & 0o7777,
      mark: `${stat.mode} ${stat.size} ${stat.mtimeMs} ${stat.ino}`,
    });
  return kept;
}

function isSameSnapshot(snapshotA: Snapshot, snapshotB: Snapshot): boolean {
  const isSame = (a: SavedFile, b: SavedFile | undefined) =>
    b &&
    a.link === b.link &&
    a.mark === b.mark &&
    (a.bytes && b.bytes ? a.bytes.equals(b.bytes) : a.bytes === b.bytes);
  return (
    snapshotA.size === snapshotB.size &&
    [...snapshotA].every(
      ([absolutePath, kept]) =>
        isSame(kept, snapshotB.get(absolutePath)) && isSameMode(kept, snapshotB.get(absolutePath)!),
    )
  );
}
/** Whether both are executable, or neither is, which matters for a hook. */
const isSameMode = (fileA: SavedFile, fileB: SavedFile): boolean =>
  (fileA.mode & 0o111) === (fileB.mode & 0o111);

/**
 * Restores what changed. What was removed stays removed, unless something else was put in its
 * place.
 */
function restorePath(absolutePath: string, saved: Snapshot, git: GitProgram | undefined): string[] {
  if (!isReachedDirectly(absolutePath)) return []; // its folder is gone, or is a link, which is checked separately
  const current = snapshot(absolutePath);
  if (isSameSnapshot(saved, current) || (!current.size && !isPointer(absolutePath))) return [];
  if (
    path.basename(absolutePath) === "config" &&
    git &&
    onlyHarmless(absolutePath, saved.get("")?.bytes, git)
  )
    return [];
  remove(absolutePath);
  for (const [name, { mode, link, bytes }] of saved) {
    const file = path.join(absolutePath, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    if (link !== undefined) fs.symlinkSync(link, file);
    else if (bytes) fs.writeFileSync(file, bytes, { mode, flag: "wx" });
  }
  return [saved.size ? restoreNote(absolutePath) : removalNote(absolutePath)];
}

/** Whether git would look elsewhere for a configuration if the file were missing. */
const isPointer = (absolutePath: string): boolean =>
  /\/(commondir|gitdir|\.git)$/.test(absolutePath) && fs.existsSync(path.dirname(absolutePath));

/** Whether the path's folder is reached without a link, whose target may be anywhere. */
function isReachedDirectly(absolutePath: string): boolean {
  const folder = path.dirname(absolutePath);
  try {
    return fs.realpathSync(folder) === folder;
  } catch {
    return false;
  }
}

function remove(absolutePath: string): boolean {
  fs.rmSync(absolutePath, { recursive: true, force: true });
  return true;
}

// ── repositories ─────────────────────────────────────────────────────────────────────────────────

/** Whether a file or link named .git leads to one of the folders that were checked. */
function pointsInto(point: string, folders: string[]): boolean {
  const [, to] =
    /^gitdir: (.+)\n?$/.exec(fs.lstatSync(point).isFile() ? fs.readFileSync(point, "utf8") : "") ??
    [];
  try {
    return (
      to !== undefined && folders.includes(fs.realpathSync(path.resolve(path.dirname(point), to)))
    );
  } catch {
    return false;
  }
}

/** Whether this is a repository that was moved here unchanged. */
function isMoved(folder: string, watched: Map<string, Snapshot>): boolean {
  const current = new Map(IN_GIT.map((name) => [name, snapshot(path.join(folder, name))]));
  const gone = [...watched.keys()].filter(
    (absolutePath) => absolutePath.endsWith("/config") && !isThere(path.dirname(absolutePath)),
  );
  return gone.some((absolutePath) =>
    IN_GIT.every((name) =>
      isSameSnapshot(
        current.get(name)!,
        watched.get(path.join(path.dirname(absolutePath), name)) ?? new Map(),
      ),
    ),
  );
}

/**
 * Removes from a repository that a command made whatever could run something. Returns what was
 * removed.
 */
function removeRunnable(git: string, roots: string[]): string[] {
  const partOf = (name: string) => path.join(git, name);
  const isWorktree =
    /\/worktrees\/[^/]+$/.test(git) && textOfPlainFile(partOf("commondir")).trim() === "../..";
  const risky = ["config.worktree", ...(isWorktree ? [] : ["commondir", "gitdir"])];
  const removed = risky.map(partOf).filter(isThere);
  const hooks = fs.lstatSync(partOf("hooks"), { throwIfNoEntry: false });
  if (
    hooks &&
    !(
      hooks.isDirectory() &&
      fs.readdirSync(partOf("hooks")).every((name) => name.endsWith(".sample"))
    )
  )
    removed.push(partOf("hooks"));
  const config = fs.lstatSync(partOf("config"), { throwIfNoEntry: false });
  const text = textOfPlainFile(partOf("config"));
  const kept = keepHarmless(text, git, roots);
  if (config && (!config.isFile() || kept !== text)) removed.push(partOf("config"));
  removed.forEach(remove);
  if (removed.includes(partOf("config"))) fs.writeFileSync(partOf("config"), kept, { flag: "wx" });
  return removed;
}

function textOfPlainFile(absolutePath: string): string {
  return fs.lstatSync(absolutePath, { throwIfNoEntry: false })?.isFile()
    ? fs.readFileSync(absolutePath, "utf8")
    : "";
}

const HARMLESS: Record<string, RegExp> = {
  core: /^(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|symlinks|precomposeunicode)$/i,
  extensions: /^(objectformat|refstorage|partialclone)$/i,
  user: /^(name|email)$/i,
  init: /^defaultbranch$/i,
  remote: /^(url|fetch|pushurl|tagopt|promisor|partialclonefilter)$/i,
  branch: /^(remote|merge|rebase)$/i,
  submodule: /^(url|active)$/i,
};

/**
 * Whether a setting cannot run anything, judging by its section and key; a URL of the kind "ext::"
 * names a program.
 */
function isHarmless(section: string | undefined, key: string, value: string): boolean {
  return section !== undefined && !!HARMLESS[section]?.test(key) && !value.includes("::");
}

/** Keeps only lines in git's own format that cannot run anything. */
function keepHarmless(config: string, git: string, roots: string[]): string {
  let section: string | undefined;
  const lines = config.split("\n").filter((line) => {
    const head = /^\[(\w+)(?: "[^"\\\]]*")?\]$/.exec(line);
    if (head || line.trimStart().startsWith("[")) section = head?.[1]?.toLowerCase();
    if (head) return Object.hasOwn(HARMLESS, section!);
    const [, key, value] = /^\s*(\w+) = ([^\\"#;]*)$/.exec(line) ?? [];
    if (line === "") return true;
    if (key === undefined || value === undefined) return false;
    // A submodule's repository names its working folder.
    if (section === "core" && key === "worktree" && git.includes("/modules/"))
      return roots.some((root) => isInside(root, path.resolve(git, value)));
    return isHarmless(section, key, value);
  });
  return lines.join("\n");
}

/**
 * Whether a changed configuration adds only settings that cannot run anything: a remote, a branch.
 */
function onlyHarmless(
  absolutePath: string,
  saved: Buffer = Buffer.alloc(0),
  git: GitProgram,
): boolean {
  if (!fs.lstatSync(absolutePath).isFile()) return false;
  const list = (file: string, input?: Buffer) =>
    askGit(git, ["config", "--file", file, "--list", "-z"], input)?.split("\0");
  const [before, current] = [list("-", saved), list(absolutePath)];
  return (
    !!before &&
    !!current &&
    current.every((text) => text === "" || before.includes(text) || isPlain(text))
  );
}

function isPlain(text: string): boolean {
  const { key, value } = parseGitSetting(text);
  return isHarmless(key.split(".")[0], key.split(".").at(-1)!, value);
}
