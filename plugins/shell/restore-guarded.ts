// Restores or removes what a command left behind that other programs would run later.
import fs from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isInside, ownValue } from "zz/text";
import { findGuardedFiles, repositoryPaths } from "./guarded-files.ts";
import { bytesOf, direntsOf, isFolder, realOf } from "./resolve-paths.ts";
import type { Guard } from "./sandbox-limits.ts";
import {
  askGit,
  findSelfRunningFiles,
  type GitProgram,
  gitFolders,
  IN_GIT,
  type ProjectScan,
  parseGitSetting,
  type SelfRunningFiles,
  scanProject,
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
  gitProgram: GitProgram | undefined,
): { begin(): Guard; end(): string[] } {
  let running = 0;
  let snapshotsBefore: Snapshots;
  const zz = path.join(roots[0]!, ".zz");
  return {
    begin() {
      if (!running++) snapshotsBefore = takeSnapshots(roots, workFolder, gitProgram);
      return snapshotsBefore.guard;
    },
    end() {
      if (--running) return [];
      // the empty folder that the cover was mounted on
      if (!snapshotsBefore.zz && isThere(zz)) fs.rmdirSync(zz);
      return restoreGuarded(snapshotsBefore, roots, gitProgram);
    },
  };
}

function takeSnapshots(
  roots: string[],
  workFolder: string,
  gitProgram: GitProgram | undefined,
): Snapshots {
  const projectScan = scanProjects(roots);
  const selfRunningFiles = roots.map((root) => findSelfRunningFiles(root, gitProgram));
  const selfRunning = {
    paths: selfRunningFiles.flatMap((projectFiles) => projectFiles.paths),
    hooks: selfRunningFiles[0]!.hooks,
  };
  const watched = new Map(
    pathsToWatch(projectScan, selfRunning).map((absolutePath) => [
      absolutePath,
      snapshot(absolutePath),
    ]),
  );
  const guard = {
    ...findGuardedFiles(roots, projectScan, selfRunning),
    copies: copyHooks(selfRunning.hooks, workFolder),
    endpoints: projectScan.endpoints,
  };
  const { hooks } = selfRunning;
  if (hooks && !guard.copies.length) {
    if (isThere(hooks)) guard.readonly.push(hooks);
    watched.set(hooks, snapshot(hooks));
  }
  return { found: projectScan, watched, zz: isThere(path.join(roots[0]!, ".zz")), guard };
}

/** What had to be put back or removed, in sentences. */
function restoreGuarded(
  snapshotsBefore: Snapshots,
  roots: string[],
  gitProgram: GitProgram | undefined,
): string[] {
  const restoreNotes = [...snapshotsBefore.watched].flatMap(([absolutePath, savedFiles]) =>
    withAccess(absolutePath, () => restorePath(absolutePath, savedFiles, gitProgram)),
  );
  const [scanBefore, scanNow] = [snapshotsBefore.found, scanProjects(roots, false)];
  const newOnes = (scanField: "folders" | "gitPointers" | "startFiles") =>
    scanNow[scanField].filter((newPath) => !scanBefore[scanField].includes(newPath));
  const foldersNow = [...scanBefore.folders, ...scanNow.folders];
  const removed = (newPath: string) => {
    removePath(newPath);
    return [removalNote(newPath)];
  };
  const removals = [
    ...newOnes("folders")
      .filter((folder) => !isMoved(folder, snapshotsBefore.watched))
      .flatMap((folder) =>
        withAccess(folder, () => removeRunnable(folder, roots).map(removalNote)),
      ),
    ...newOnes("gitPointers").flatMap((newPath) =>
      withAccess(newPath, () => (pointsInto(newPath, foldersNow) ? [] : removed(newPath))),
    ),
    ...newOnes("startFiles").flatMap((newPath) => withAccess(newPath, () => removed(newPath))),
  ];
  const discarded = snapshotsBefore.guard.copies.filter(
    ({ at, from }) => !isSameSnapshot(snapshot(at), snapshot(from)),
  );
  for (const { from } of snapshotsBefore.guard.copies) removePath(from);
  return [
    ...restoreNotes,
    ...removals,
    ...discarded.map(
      ({ at }) => `git runs what is in '${at}': what was written there stayed in the sandbox`,
    ),
  ];
}

function scanProjects(roots: string[], checksLinks = true): ProjectScan {
  const projectScans = roots.map((root) => scanProject(root, checksLinks));
  const outerFolders = repositoryPaths(roots[0]!).folders.flatMap(gitFolders);
  return {
    folders: [...new Set([...outerFolders, ...projectScans.flatMap((scan) => scan.folders)])],
    gitPointers: projectScans.flatMap((scan) => scan.gitPointers),
    startFiles: projectScans.flatMap((scan) => scan.startFiles),
    hardLinked: projectScans.flatMap((scan) => scan.hardLinked),
    endpoints: projectScans.flatMap((scan) => scan.endpoints),
  };
}

/** Package installers write to a hooks folder, so a small one is mounted as a copy. */
function copyHooks(
  hooksFolder: string | undefined,
  workFolder: string,
): { at: string; from: string }[] {
  if (!hooksFolder || !isFolder(hooksFolder) || fs.lstatSync(hooksFolder).isSymbolicLink())
    return [];
  const hookFiles = [...snapshot(hooksFolder).values()];
  if (
    hookFiles.length > MAX_COPIED ||
    hookFiles.some(({ bytes, link }) => !bytes && link === undefined)
  )
    return [];
  const from = fs.mkdtempSync(path.join(workFolder, "hooks-"));
  fs.cpSync(hooksFolder, from, { recursive: true, verbatimSymlinks: true });
  return [{ at: hooksFolder, from }];
}
const MAX_COPIED = 300; // files

const isThere = (absolutePath: string): boolean =>
  fs.lstatSync(absolutePath, { throwIfNoEntry: false }) !== undefined;

/** Tries again with access to the folder, which a command may have taken away. */
function withAccess(absolutePath: string, attempt: () => string[]): string[] {
  try {
    return attempt();
  } catch {
    try {
      fs.chmodSync(path.dirname(absolutePath), 0o700);
      return attempt();
    } catch (error) {
      return [
        `'${absolutePath}' may run commands outside of the sandbox, ` +
          `and cannot be put right: ${(error as Error).message}`,
      ];
    }
  }
}

const removalNote = (absolutePath: string): string =>
  `'${absolutePath}' could run commands outside of the sandbox: what could was taken out of it`;
const restoreNote = (absolutePath: string): string =>
  `'${absolutePath}' could run commands outside of the sandbox: it was put back as it was`;

function pathsToWatch(projectScan: ProjectScan, { paths, hooks }: SelfRunningFiles): string[] {
  const gitPaths = projectScan.folders.flatMap((folder) =>
    IN_GIT.map((fileName) => path.join(folder, fileName)),
  );
  return [
    ...new Set([...gitPaths, ...projectScan.gitPointers, ...projectScan.startFiles, ...paths]),
  ].filter((absolutePath) => absolutePath !== hooks);
}

// ── snapshots ────────────────────────────────────────────────────────────────────────────────────

const MAX_KEPT = 4 << 20; // bytes per file
const MAX_ENTRIES = 2_000; // per folder

function snapshot(topPath: string, relativeName = "", collected: Snapshot = new Map()): Snapshot {
  const absolutePath = path.join(topPath, relativeName);
  const fileStats = fs.lstatSync(absolutePath, { throwIfNoEntry: false });
  if (!fileStats || collected.size >= MAX_ENTRIES) return collected;
  if (fileStats.isDirectory())
    for (const dirent of direntsOf(absolutePath))
      snapshot(topPath, path.join(relativeName, dirent.name), collected);
  else if (fileStats.isSymbolicLink())
    collected.set(relativeName, { mode: 0, link: fs.readlinkSync(absolutePath) });
  else if (fileStats.isFile() && fileStats.size <= MAX_KEPT) {
    // The cover of a missing file leaves an empty one.
    if (fileStats.size || !/\/(config|hooks)$/.test(absolutePath))
      collected.set(relativeName, { mode: fileStats.mode & 0o7777, bytes: bytesOf(absolutePath) });
  } else
    collected.set(relativeName, {
      mode: fileStats.mode & 0o7777,
      mark: `${fileStats.mode} ${fileStats.size} ${fileStats.mtimeMs} ${fileStats.ino}`,
    });
  return collected;
}

const isSameSnapshot = (snapshotA: Snapshot, snapshotB: Snapshot): boolean =>
  isDeepStrictEqual(comparable(snapshotA), comparable(snapshotB));
/** Of the modes only whether a file is executable counts, which matters for a hook. */
const comparable = (savedFiles: Snapshot) =>
  new Map(
    [...savedFiles].map(([fileName, savedFile]) => [
      fileName,
      { ...savedFile, mode: savedFile.mode & 0o111 },
    ]),
  );

/**
 * Restores what changed. What was removed stays removed, unless something else was put in its
 * place.
 */
function restorePath(
  absolutePath: string,
  savedFiles: Snapshot,
  gitProgram: GitProgram | undefined,
): string[] {
  // its folder is gone, or is a link, which is checked separately
  if (!isReachedDirectly(absolutePath)) return [];
  const current = snapshot(absolutePath);
  if (isSameSnapshot(savedFiles, current) || (!current.size && !isPointer(absolutePath))) return [];
  if (
    path.basename(absolutePath) === "config" &&
    gitProgram &&
    onlyHarmless(absolutePath, savedFiles.get("")?.bytes, gitProgram)
  )
    return [];
  removePath(absolutePath);
  for (const [relativeName, { mode, link, bytes }] of savedFiles) {
    const restoredFile = path.join(absolutePath, relativeName);
    fs.mkdirSync(path.dirname(restoredFile), { recursive: true });
    if (link !== undefined) fs.symlinkSync(link, restoredFile);
    else if (bytes) fs.writeFileSync(restoredFile, bytes, { mode, flag: "wx" });
  }
  return [savedFiles.size ? restoreNote(absolutePath) : removalNote(absolutePath)];
}

/** Whether git would look elsewhere for a configuration if the file were missing. */
const isPointer = (absolutePath: string): boolean =>
  /\/(commondir|gitdir|\.git)$/.test(absolutePath) && fs.existsSync(path.dirname(absolutePath));

/** Whether the path's folder is reached without a link, whose target may be anywhere. */
function isReachedDirectly(absolutePath: string): boolean {
  const parentFolder = path.dirname(absolutePath);
  return realOf(parentFolder) === parentFolder;
}

const removePath = (absolutePath: string): void =>
  fs.rmSync(absolutePath, { recursive: true, force: true });

// ── repositories ─────────────────────────────────────────────────────────────────────────────────

/** Whether a file or link named .git leads to one of the folders that were checked. */
function pointsInto(pointerFile: string, folders: string[]): boolean {
  const [, targetPath] =
    /^gitdir: (.+)\n?$/.exec(
      fs.lstatSync(pointerFile).isFile() ? fs.readFileSync(pointerFile, "utf8") : "",
    ) ?? [];
  const target = targetPath && realOf(path.resolve(path.dirname(pointerFile), targetPath));
  return !!target && folders.includes(target);
}

/** Whether this is a repository that was moved here unchanged. */
function isMoved(newFolder: string, watched: Map<string, Snapshot>): boolean {
  const current = new Map(
    IN_GIT.map((fileName) => [fileName, snapshot(path.join(newFolder, fileName))]),
  );
  const goneConfigs = [...watched.keys()].filter(
    (absolutePath) => absolutePath.endsWith("/config") && !isThere(path.dirname(absolutePath)),
  );
  return goneConfigs.some((absolutePath) =>
    IN_GIT.every((fileName) =>
      isSameSnapshot(
        current.get(fileName)!,
        watched.get(path.join(path.dirname(absolutePath), fileName)) ?? new Map(),
      ),
    ),
  );
}

/**
 * Removes from a repository that a command made whatever could run something. Returns what was
 * removed.
 */
function removeRunnable(gitFolder: string, roots: string[]): string[] {
  const pathInGit = (fileName: string) => path.join(gitFolder, fileName);
  const isWorktree =
    /\/worktrees\/[^/]+$/.test(gitFolder) &&
    textOfPlainFile(pathInGit("commondir")).trim() === "../..";
  const riskyNames = ["config.worktree", ...(isWorktree ? [] : ["commondir", "gitdir"])];
  const removed = riskyNames.map(pathInGit).filter(isThere);
  const hooksStats = fs.lstatSync(pathInGit("hooks"), { throwIfNoEntry: false });
  if (
    hooksStats &&
    !(
      hooksStats.isDirectory() &&
      fs.readdirSync(pathInGit("hooks")).every((hookName) => hookName.endsWith(".sample"))
    )
  )
    removed.push(pathInGit("hooks"));
  const configStats = fs.lstatSync(pathInGit("config"), { throwIfNoEntry: false });
  const configText = textOfPlainFile(pathInGit("config"));
  const harmlessText = keepHarmless(configText, gitFolder, roots);
  if (configStats && (!configStats.isFile() || harmlessText !== configText))
    removed.push(pathInGit("config"));
  removed.forEach(removePath);
  if (removed.includes(pathInGit("config")))
    fs.writeFileSync(pathInGit("config"), harmlessText, { flag: "wx" });
  return removed;
}

function textOfPlainFile(absolutePath: string): string {
  return fs.lstatSync(absolutePath, { throwIfNoEntry: false })?.isFile()
    ? fs.readFileSync(absolutePath, "utf8")
    : "";
}

const CORE_KEYS =
  "repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|symlinks|precomposeunicode";
const HARMLESS: Record<string, RegExp> = {
  core: new RegExp(`^(${CORE_KEYS})$`, "i"),
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
function isHarmless(
  section: string | undefined,
  settingKey: string,
  settingValue: string,
): boolean {
  return (
    section !== undefined &&
    !!ownValue(HARMLESS, section)?.test(settingKey) &&
    !settingValue.includes("::")
  );
}

/** Keeps only lines in git's own format that cannot run anything. */
function keepHarmless(configText: string, gitFolder: string, roots: string[]): string {
  let section: string | undefined;
  const keptLines = configText.split("\n").filter((configLine) => {
    const sectionHead = /^\[(\w+)(?: "[^"\\\]]*")?\]$/.exec(configLine);
    if (sectionHead || configLine.trimStart().startsWith("["))
      section = sectionHead?.[1]?.toLowerCase();
    if (sectionHead) return Object.hasOwn(HARMLESS, section!);
    const [, settingKey, settingValue] = /^\s*(\w+) = ([^\\"#;]*)$/.exec(configLine) ?? [];
    if (configLine === "") return true;
    if (settingKey === undefined || settingValue === undefined) return false;
    // A submodule's repository names its working folder.
    if (section === "core" && settingKey === "worktree" && gitFolder.includes("/modules/"))
      return roots.some((root) => isInside(root, path.resolve(gitFolder, settingValue)));
    return isHarmless(section, settingKey, settingValue);
  });
  return keptLines.join("\n");
}

/**
 * Whether a changed configuration adds only settings that cannot run anything: a remote, a branch.
 */
function onlyHarmless(
  absolutePath: string,
  savedConfig: Buffer = Buffer.alloc(0),
  gitProgram: GitProgram,
): boolean {
  if (!fs.lstatSync(absolutePath).isFile()) return false;
  const listSettings = (configFile: string, inputBytes?: Buffer) =>
    askGit(gitProgram, ["config", "--file", configFile, "--list", "-z"], inputBytes)?.split("\0");
  const [settingsBefore, current] = [listSettings("-", savedConfig), listSettings(absolutePath)];
  return (
    !!settingsBefore &&
    !!current &&
    current.every(
      (settingText) =>
        settingText === "" || settingsBefore.includes(settingText) || isPlain(settingText),
    )
  );
}

function isPlain(settingText: string): boolean {
  const { key, value } = parseGitSetting(settingText);
  return isHarmless(key.split(".")[0], key.split(".").at(-1)!, value);
}
