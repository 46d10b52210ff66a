// Files that other programs run later, outside of the sandbox. They are read-only in it, or
// checked after the command.
import fs from "node:fs";
import path from "node:path";
import { isInside, textOf } from "zz/text";
import { isFolder, real } from "./resolve-paths.ts";
import type { Guard } from "./sandbox-limits.ts";
import {
  findLinkedPackages,
  IN_GIT,
  type ProjectScan,
  type SelfRunningFiles,
} from "./self-running-files.ts";

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
  const gitPath = path.join(root, ".git");
  const zz = path.join(root, ".zz");
  const gitStat = fs.lstatSync(gitPath, { throwIfNoEntry: false });
  if (gitStat?.isDirectory())
    return { write: [gitPath], guard: [zz, ...guardedIn(gitPath)], folders: [gitPath] };
  if (!gitStat?.isFile()) return { write: [], guard: [zz], folders: [] };
  const linkedPaths = linkedRepository(gitPath);
  return { ...linkedPaths, guard: [zz, gitPath, ...linkedPaths.guard] };
}

/** The repository of a worktree or submodule: a commit must write to it. */
function linkedRepository(gitFile: string): RepositoryPaths {
  const root = path.dirname(gitFile);
  const readText = (...pathParts: string[]) => textOf(path.join(...pathParts)).trim();
  const [gitFolder] = real([path.resolve(root, readText(gitFile).replace(/^gitdir:\s*/, ""))]);
  // Only if it points back, from where git keeps it: a command could have made the file, and named
  // any folder in it, and a folder in the project may be its own work, too.
  const backPointer = gitFolder && readText(gitFolder, "gitdir");
  if (backPointer && real([path.resolve(gitFolder, backPointer)])[0] === gitFile) {
    const commonFolder = path.dirname(path.dirname(gitFolder));
    const [namedFolder] = real([path.resolve(gitFolder, readText(gitFolder, "commondir"))]);
    if (namedFolder !== commonFolder || isInside(root, gitFolder))
      return { write: [], guard: [], folders: [] };
    return {
      write: [commonFolder, path.dirname(gitFolder), gitFolder],
      guard: [...guardedIn(commonFolder), ...guardedIn(gitFolder, [])],
      folders: [commonFolder, gitFolder],
    };
  }
  const workTree =
    gitFolder && /^\s*worktree\s*=\s*(.+)$/m.exec(readText(gitFolder, "config"))?.[1];
  if (!workTree || real([path.resolve(gitFolder, workTree)])[0] !== root)
    return { write: [], guard: [], folders: [] };
  return { write: [gitFolder], guard: guardedIn(gitFolder), folders: [gitFolder] };
}

/**
 * Whether git's settings may hold a password, or come from elsewhere: then commands run unasked
 * must not see them.
 */
export function mayHoldPasswords(root: string): boolean {
  const { folders } = repositoryPaths(root);
  const configTexts = folders.flatMap((gitFolder) =>
    ["config", "config.worktree"].map((fileName) => textOf(path.join(gitFolder, fileName))),
  );
  const isPlain = configTexts.every(
    (configText) =>
      !/:\/\/[^\s/]*@|header|passw|token|secret|helper|credential|insteadof|include/i.test(
        configText,
      ),
  );
  return !isPlain || folders.some((gitFolder) => isFolder(path.join(gitFolder, "modules")));
}

/** Those that are there, and those that must not be created; others are removed if they are. */
const guardedIn = (gitFolder: string, neverMade = ["config", "hooks"]): string[] =>
  IN_GIT.map((fileName) => path.join(gitFolder, fileName)).filter(
    (guardedFile) => neverMade.includes(path.basename(guardedFile)) || fs.existsSync(guardedFile),
  );

/**
 * Guarded paths among what a command can write to: read-only if they exist already. New ones are
 * checked afterwards.
 */
export function findGuardedFiles(
  roots: string[],
  projectScan: ProjectScan,
  { paths, hooks }: SelfRunningFiles,
): Omit<Guard, "copies" | "endpoints"> {
  // of the project itself, more is known
  const outerRepositories = roots.slice(1).map((root) => path.join(root, ".git"));
  const innerFolders = projectScan.folders
    .filter((folder) => folder.includes("/.git/modules/") || outerRepositories.includes(folder))
    .slice(0, MAX_MOUNTED);
  const gitPaths = innerFolders.flatMap((folder) =>
    IN_GIT.map((fileName) => path.join(folder, fileName)),
  );
  const existing = [...paths.filter((absolutePath) => absolutePath !== hooks), ...gitPaths].filter(
    (absolutePath) => {
      const fileStats = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
      return fileStats && !fileStats.isSymbolicLink();
    },
  );
  const packages = roots.flatMap(findLinkedPackages);
  const cacheFolders = packages.flatMap((packageFolder) =>
    [".cache", ".vite", ".vite-temp"].map((cacheName) => path.join(packageFolder, cacheName)),
  );
  const { paths: sharedPaths, notes } = sharedPlaces(roots, projectScan);
  return {
    readonly: [...new Set([...existing, ...packages, ...sharedPaths])],
    writable: cacheFolders.filter(isFolder),
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
  const topEntryOf = (linkedFile: string) => {
    const root = roots.find((candidate) => isInside(candidate, linkedFile)) ?? roots[0]!;
    return path.join(root, path.relative(root, linkedFile).split("/")[0]!);
  };
  const topEntries = [...new Set(hardLinked.map(topEntryOf))];
  const shownNames = topEntries.slice(0, 3).map((topEntry) => `'${path.basename(topEntry)}'`);
  const problem =
    `${hardLinked.length} files in ${shownNames.join(", ")} are hard links with ` +
    "other names outside of the project";
  return {
    paths: topEntries,
    notes: [`${problem}: these are read-only here. Work in a copy of the project`],
  };
}
