// Files that other programs run later, outside of the sandbox. They are read-only in it, or
// checked after the command.
import fs from "node:fs";
import path from "node:path";
import { isInside } from "zz/text";
import { isFolder, real } from "./resolve-paths.ts";
import type { Guard } from "./sandbox-limits.ts";
import { IN_GIT, type ProjectScan, type SelfRunningFiles, stores } from "./self-running-files.ts";

interface RepositoryPaths {
  write: string[]; // writable, though it may be outside of the project
  guard: string[]; // read-only inside that
  folders: string[]; // where a new file could be run
}

/**
 * Git's configuration and hooks, and .zz, contain commands that other programs run later, outside.
 * They must not change. `.git` is mounted on itself: a mount point cannot be moved away.
 */
export function repositoryPaths(root: string): RepositoryPaths {
  const git = path.join(root, ".git");
  const zz = path.join(root, ".zz");
  const gitStat = fs.lstatSync(git, { throwIfNoEntry: false });
  if (gitStat?.isDirectory())
    return {
      write: [git],
      guard: [zz, ...guardedFiles(git), ...guardedIfThere(git)],
      folders: [git],
    };
  if (!gitStat?.isFile()) return { write: [], guard: [zz], folders: [] };
  const linked = linkedRepository(git);
  return { ...linked, guard: [zz, git, ...linked.guard] };
}

/** The repository of a worktree or submodule: a commit must write to it. */
function linkedRepository(file: string): RepositoryPaths {
  const root = path.dirname(file);
  const text = (...parts: string[]) => readIfThere(path.join(...parts))?.trim();
  const [folder] = real([path.resolve(root, text(file)!.replace(/^gitdir:\s*/, ""))]);
  // Only if it points back: a command could have made the file, and named any folder in it.
  const back = folder && text(folder, "gitdir");
  if (back && real([path.resolve(folder, back)])[0] === file) {
    const [common] = real([path.resolve(folder, text(folder, "commondir") ?? "")]);
    const worktreeFiles = [
      ...guardedFiles(folder).filter((absolutePath) => fs.existsSync(absolutePath)),
      ...guardedIfThere(folder),
    ];
    const guard = [...guardedFiles(common!), ...guardedIfThere(common!), ...worktreeFiles];
    return { write: [common!, path.dirname(folder), folder], guard, folders: [common!, folder] };
  }
  const tree = folder && /^\s*worktree\s*=\s*(.+)$/m.exec(text(folder, "config") ?? "")?.[1];
  if (!tree || real([path.resolve(folder, tree)])[0] !== root)
    return { write: [], guard: [], folders: [] };
  return {
    write: [folder],
    guard: [...guardedFiles(folder), ...guardedIfThere(folder)],
    folders: [folder],
  };
}

/**
 * Whether git's settings may hold a password, or come from elsewhere: then commands run unasked
 * must not see them.
 */
export function mayHoldPasswords(root: string): boolean {
  const { folders } = repositoryPaths(root);
  const texts = folders.flatMap((folder) =>
    ["config", "config.worktree"].map((name) => readIfThere(path.join(folder, name)) ?? ""),
  );
  const isPlain = texts.every(
    (text) =>
      !/:\/\/[^\s/]*@|header|passw|token|secret|helper|credential|insteadof|include/i.test(text),
  );
  return !isPlain || folders.some((folder) => isFolder(path.join(folder, "modules")));
}

/** These must not be created either. */
function guardedFiles(git: string): string[] {
  return ["config", "hooks"].map((name) => path.join(git, name));
}

// removed if they are created
export const GUARDED_IF_THERE = ["config.worktree", "commondir", "gitdir"];

function guardedIfThere(git: string): string[] {
  return GUARDED_IF_THERE.map((name) => path.join(git, name)).filter((file) => fs.existsSync(file));
}

function readIfThere(file: string): string | undefined {
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined;
}

/**
 * Guarded paths among what a command can write to: read-only if they exist already. New ones are
 * checked afterwards.
 */
export function findGuardedFiles(
  roots: string[],
  scan: ProjectScan,
  { paths, hooks }: SelfRunningFiles,
): Omit<Guard, "copies" | "endpoints"> {
  // of the project itself, more is known
  const outerRepositories = roots.slice(1).map((root) => path.join(root, ".git"));
  const inner = scan.folders
    .filter((folder) => folder.includes("/.git/modules/") || outerRepositories.includes(folder))
    .slice(0, MAX_MOUNTED);
  const git = inner.flatMap((folder) => IN_GIT.map((name) => path.join(folder, name)));
  const existing = [...paths.filter((absolutePath) => absolutePath !== hooks), ...git].filter(
    (absolutePath) => {
      const stat = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
      return stat && !stat.isSymbolicLink();
    },
  );
  const packages = roots.flatMap(stores);
  const caches = packages.flatMap((folder) =>
    [".cache", ".vite", ".vite-temp"].map((name) => path.join(folder, name)),
  );
  const { paths: shared, notes } = sharedPlaces(roots, scan);
  return {
    readonly: [...new Set([...existing, ...packages, ...shared])],
    writable: caches.filter(isFolder),
    notes,
  };
}
const MAX_MOUNTED = 50; // per kind: each costs a little time in every command

/**
 * Files with a name outside of the project are read-only; if there are many, so is what holds them
 * at the top.
 */
function sharedPlaces(
  roots: string[],
  { hardLinked }: ProjectScan,
): { paths: string[]; notes: string[] } {
  if (hardLinked.length <= MAX_MOUNTED) return { paths: hardLinked, notes: [] };
  const top = (file: string) => {
    const root = roots.find((candidate) => isInside(candidate, file)) ?? roots[0]!;
    return path.join(root, path.relative(root, file).split("/")[0]!);
  };
  const tops = [...new Set(hardLinked.map(top))];
  const names = tops.slice(0, 3).map((top) => `'${path.basename(top)}'`);
  const problem = `${hardLinked.length} files in ${names.join(", ")} are hard links with other names outside of the project`;
  return {
    paths: tops,
    notes: [`${problem}: these are read-only here. Work in a copy of the project`],
  };
}
