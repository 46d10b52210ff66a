// restore: restores or removes what a command left behind that other programs would run later.
import fs from "node:fs";
import path from "node:path";
import { isInside } from "zz/text";
import { findGuardedFiles, repository } from "./guards.ts";
import type { Guard } from "./limits.ts";
import { bytesOf, direntsOf, isFolder } from "./paths.ts";
import {
  askGit,
  type Found,
  findRepositories,
  findSelfRunningFiles,
  type GitProgram,
  gitFolders,
  IN_GIT,
  parseGitSetting,
  type SelfRunningFiles,
} from "./places.ts";

interface Kept {
  mode: number;
  link?: string;
  bytes?: Buffer; // absent: too large to keep
  mark?: string; // kept instead of the bytes, to detect changes
}
/** A file, or a folder's files, by relative path; "" is the path itself. */
type Snapshot = Map<string, Kept>;

interface Snapshots {
  found: Found;
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
  own: string,
  git: GitProgram | undefined,
): { begin(): Guard; end(): string[] } {
  let running = 0;
  let before: Snapshots;
  const zz = path.join(roots[0]!, ".zz");
  return {
    begin() {
      if (running++) return before.guard;
      const found = searchAll(roots);
      const named = roots.map((root) => findSelfRunningFiles(root, git));
      const all = { all: named.flatMap((one) => one.all), hooks: named[0]!.hooks };
      const watched = new Map(pathsToWatch(found, all).map((at) => [at, snapshot(at)]));
      const { endpoints } = found;
      const guard = {
        ...findGuardedFiles(roots, found, all),
        copies: copyHooks(all.hooks, own),
        endpoints,
      };
      if (all.hooks && !guard.copies.length && isThere(all.hooks)) guard.readonly.push(all.hooks);
      if (!guard.copies.length && all.hooks) watched.set(all.hooks, snapshot(all.hooks));
      before = { found, watched, zz: isThere(zz), guard };
      return guard;
    },
    end() {
      if (--running) return [];
      // the empty folder that the cover was mounted on
      if (!before.zz && isThere(zz)) fs.rmdirSync(zz);
      const notes = [...before.watched].flatMap(([at, saved]) =>
        withAccess(at, () => restore(at, saved, git)),
      );
      const [known, now] = [before.found, searchAll(roots, false)];
      const fresh = now.folders.filter(
        (at) => !known.folders.includes(at) && !isMoved(at, before.watched),
      );
      notes.push(
        ...fresh.flatMap((at) => withAccess(at, () => removeRunnable(at, roots).map(removalNote))),
      );
      const foldersNow = [...known.folders, ...now.folders];
      for (const at of now.gitPointers.filter((one) => !known.gitPointers.includes(one)))
        notes.push(
          ...withAccess(at, () =>
            pointsInto(at, foldersNow) ? [] : [at].filter(remove).map(removalNote),
          ),
        );
      for (const at of now.startFiles.filter((one) => !known.startFiles.includes(one)))
        notes.push(...withAccess(at, () => [at].filter(remove).map(removalNote)));
      const discarded = before.guard.copies.filter(
        ({ at, from }) => !same(snapshot(at), snapshot(from)),
      );
      for (const { from } of before.guard.copies) fs.rmSync(from, { recursive: true, force: true });
      return [
        ...notes,
        ...discarded.map(
          ({ at }) => `git runs what is in '${at}': what was written there stayed in the sandbox`,
        ),
      ];
    },
  };
}

function searchAll(roots: string[], links = true): Found {
  const all = roots.map((root) => findRepositories(root, links));
  const outer = repository(roots[0]!).folders.flatMap(gitFolders);
  return {
    folders: [...new Set([...outer, ...all.flatMap((one) => one.folders)])],
    gitPointers: all.flatMap((one) => one.gitPointers),
    startFiles: all.flatMap((one) => one.startFiles),
    hardLinked: all.flatMap((one) => one.hardLinked),
    endpoints: all.flatMap((one) => one.endpoints),
    isIncomplete: all.some((one) => one.isIncomplete),
  };
}

/** Package installers write to a hooks folder, so a small one is mounted as a copy. */
function copyHooks(hooks: string | undefined, own: string): { at: string; from: string }[] {
  if (!hooks || !isFolder(hooks) || fs.lstatSync(hooks).isSymbolicLink()) return [];
  const files = [...snapshot(hooks).values()];
  if (files.length > MAX_COPIED || files.some(({ bytes, link }) => !bytes && link === undefined))
    return [];
  const from = fs.mkdtempSync(path.join(own, "hooks-"));
  fs.cpSync(hooks, from, { recursive: true, verbatimSymlinks: true });
  return [{ at: hooks, from }];
}
const MAX_COPIED = 300; // files

const isThere = (at: string): boolean => fs.lstatSync(at, { throwIfNoEntry: false }) !== undefined;

/** Tries again with access to the folder, which a command may have taken away. */
function withAccess(at: string, act: () => string[]): string[] {
  try {
    return act();
  } catch {
    try {
      fs.chmodSync(path.dirname(at), 0o700);
      return act();
    } catch (error) {
      return [
        `'${at}' may run commands outside of the sandbox, and cannot be put right: ${(error as Error).message}`,
      ];
    }
  }
}

const removalNote = (at: string): string =>
  `'${at}' could run commands outside of the sandbox: what could was taken out of it`;
const restoreNote = (at: string): string =>
  `'${at}' could run commands outside of the sandbox: it was put back as it was`;

function pathsToWatch(found: Found, { all, hooks }: SelfRunningFiles): string[] {
  const git = found.folders.flatMap((folder) => IN_GIT.map((name) => path.join(folder, name)));
  return [...new Set([...git, ...found.gitPointers, ...found.startFiles, ...all])].filter(
    (at) => at !== hooks,
  );
}

// ── snapshots ────────────────────────────────────────────────────────────────────────────────────

const MAX_KEPT = 4 << 20; // bytes per file
const MAX_ENTRIES = 2_000; // per folder

function snapshot(place: string, name = "", kept: Snapshot = new Map()): Snapshot {
  const at = path.join(place, name);
  const stat = fs.lstatSync(at, { throwIfNoEntry: false });
  if (!stat || kept.size >= MAX_ENTRIES) return kept;
  if (stat.isDirectory())
    for (const entry of direntsOf(at)) snapshot(place, path.join(name, entry.name), kept);
  else if (stat.isSymbolicLink()) kept.set(name, { mode: 0, link: fs.readlinkSync(at) });
  else if (stat.isFile() && stat.size <= MAX_KEPT) {
    // The cover of a missing file leaves an empty one.
    if (stat.size || !/\/(config|hooks)$/.test(at))
      kept.set(name, { mode: stat.mode & 0o7777, bytes: bytesOf(at) });
  } else
    kept.set(name, {
      mode: stat.mode & 0o7777,
      mark: `${stat.mode} ${stat.size} ${stat.mtimeMs} ${stat.ino}`,
    });
  return kept;
}

function same(one: Snapshot, other: Snapshot): boolean {
  const isSame = (a: Kept, b: Kept | undefined) =>
    b &&
    a.link === b.link &&
    a.mark === b.mark &&
    (a.bytes && b.bytes ? a.bytes.equals(b.bytes) : a.bytes === b.bytes);
  return (
    one.size === other.size &&
    [...one].every(([at, kept]) => isSame(kept, other.get(at)) && isSameMode(kept, other.get(at)!))
  );
}
/** Whether both are executable, or neither is, which matters for a hook. */
const isSameMode = (one: Kept, other: Kept): boolean => (one.mode & 0o111) === (other.mode & 0o111);

/**
 * Restores what changed. What was removed stays removed, unless something else was put in its
 * place.
 */
function restore(at: string, saved: Snapshot, git: GitProgram | undefined): string[] {
  if (!isOwn(at)) return []; // its folder is gone, or is a link, which is checked separately
  const now = snapshot(at);
  if (same(saved, now) || (!now.size && !isPointer(at))) return [];
  if (path.basename(at) === "config" && git && onlyHarmless(at, saved.get("")?.bytes, git))
    return [];
  remove(at);
  for (const [name, { mode, link, bytes }] of saved) {
    const file = path.join(at, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    if (link !== undefined) fs.symlinkSync(link, file);
    else if (bytes) fs.writeFileSync(file, bytes, { mode, flag: "wx" });
  }
  return [saved.size ? restoreNote(at) : removalNote(at)];
}

/** Whether git would look elsewhere for a configuration if the file were missing. */
const isPointer = (at: string): boolean =>
  /\/(commondir|gitdir|\.git)$/.test(at) && fs.existsSync(path.dirname(at));

/** Whether the path's folder is reached without a link, whose target may be anywhere. */
function isOwn(at: string): boolean {
  const folder = path.dirname(at);
  try {
    return fs.realpathSync(folder) === folder;
  } catch {
    return false;
  }
}

function remove(at: string): boolean {
  fs.rmSync(at, { recursive: true, force: true });
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
  const now = new Map(IN_GIT.map((name) => [name, snapshot(path.join(folder, name))]));
  const gone = [...watched.keys()].filter(
    (at) => at.endsWith("/config") && !isThere(path.dirname(at)),
  );
  return gone.some((at) =>
    IN_GIT.every((name) =>
      same(now.get(name)!, watched.get(path.join(path.dirname(at), name)) ?? new Map()),
    ),
  );
}

/**
 * Removes from a repository that a command made whatever could run something. Returns what was
 * removed.
 */
function removeRunnable(git: string, roots: string[]): string[] {
  const at = (name: string) => path.join(git, name);
  const isWorktree =
    /\/worktrees\/[^/]+$/.test(git) && textOfPlainFile(at("commondir")).trim() === "../..";
  const risky = ["config.worktree", ...(isWorktree ? [] : ["commondir", "gitdir"])];
  const found = risky.map(at).filter(isThere);
  const hooks = fs.lstatSync(at("hooks"), { throwIfNoEntry: false });
  if (
    hooks &&
    !(hooks.isDirectory() && fs.readdirSync(at("hooks")).every((name) => name.endsWith(".sample")))
  )
    found.push(at("hooks"));
  const config = fs.lstatSync(at("config"), { throwIfNoEntry: false });
  const text = textOfPlainFile(at("config"));
  const kept = harmless(text, git, roots);
  if (config && (!config.isFile() || kept !== text)) found.push(at("config"));
  found.forEach(remove);
  if (found.includes(at("config"))) fs.writeFileSync(at("config"), kept, { flag: "wx" });
  return found;
}

function textOfPlainFile(at: string): string {
  return fs.lstatSync(at, { throwIfNoEntry: false })?.isFile() ? fs.readFileSync(at, "utf8") : "";
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
function harmless(config: string, git: string, roots: string[]): string {
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
function onlyHarmless(at: string, saved: Buffer = Buffer.alloc(0), git: GitProgram): boolean {
  if (!fs.lstatSync(at).isFile()) return false;
  const list = (file: string, input?: Buffer) =>
    askGit(git, ["config", "--file", file, "--list", "-z"], input)?.split("\0");
  const [before, now] = [list("-", saved), list(at)];
  return (
    !!before && !!now && now.every((text) => text === "" || before.includes(text) || isPlain(text))
  );
}

function isPlain(text: string): boolean {
  const { key, value } = parseGitSetting(text);
  return isHarmless(key.split(".")[0], key.split(".").at(-1)!, value);
}
