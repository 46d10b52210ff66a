// The files that a command must not read or write, looked up on the disk, since a sandbox
// accepts no patterns.
import { type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Ctx, Rule } from "zz";
import { isInside } from "zz/text";
import { otherNames } from "./hard-links.ts";
import { split } from "./judge/parse-options.ts";
import { direntsOf, isGitFolder } from "./resolve-paths.ts";

interface UnreadableFiles {
  hide: string[]; // neither readable nor writable
  pin: string[]; // those of `hide` that rules name: their folders cannot be moved
  keep: string[]; // readable, but not writable
  absent: string[]; // those of `keep` that are not there: nothing can cover them
}

const MAX_PLACES = 2_000; // the most paths that a sandbox can be given
// the most to examine outside of a project: in a home, or on the whole disk
const MAX_ENTRIES = 200_000;
// entries of a folder of them that are looked at: browsers have many more
const MAX_CREDENTIALS = 200;
const SLICE_MS = 30; // how long it works before other tasks get a turn
const isPattern = (ruleName: string): boolean => /[*?]/.test(ruleName);

/** Of zz's own. */
const HOME_FILES = split(`zz.config.json permissions.json trust.json keys.json env.json
  mcp-credentials.json mcp-tools.json history sessions outputs`);

/**
 * Files closed by the rules or the list of secret files, and zz's own. Rules that ask close files
 * as well, since a sandbox cannot ask. What is written on a view is judged afterwards, file by
 * file.
 */
export async function findUnreadableFiles(ctx: Ctx, onView = false): Promise<UnreadableFiles> {
  const { root, permissions } = ctx;
  const { home } = ctx.about;
  const [deniedReads, unwritten] = [deniedPaths(ctx, "read"), deniedPaths(ctx, "write", onView)];
  const filesOnDisk = await searchDisk(ctx, [...deniedReads.patterns, ...unwritten.patterns]);
  const deniesAllWrites = permissions.rules.some(
    ({ verdict, kind, name, but }) =>
      (verdict === "deny" || (verdict === "ask" && !onView)) &&
      kind === "write" &&
      !name &&
      !(but && onView),
  );
  const pin = [
    ...deniedReads.places,
    ...filesOnDisk.matching.flatMap(({ file, rule }) => (rule.kind === "read" ? [file] : [])),
  ];
  const unreadable = {
    hide: [
      ...HOME_FILES.map((fileName) => join(home, fileName)),
      ...permissions.credentials(),
      ...otherNames(permissions.credentials(), [root], MAX_CREDENTIALS),
      ...pin,
      ...filesOnDisk.secret,
      ...(onView ? filesOnDisk.repositories : []), // of the project's own, more is known
    ],
    pin,
    keep: [
      ...(deniesAllWrites ? [root, `${root}/.git`] : unwritten.places),
      ...filesOnDisk.matching.flatMap(({ file, rule }) => (rule.kind === "write" ? [file] : [])),
      ...(home.startsWith(`${root}/`) ? [home] : []),
    ],
    absent: unwritten.places.filter((absolutePath) => statsOf(absolutePath) === undefined),
  };
  const fileCount = unreadable.pin.length + filesOnDisk.secret.length + filesOnDisk.matching.length;
  if (fileCount > MAX_PLACES)
    throw new Error(
      `Cannot run it: ${fileCount} files here may not be read or written, ` +
        "more than a sandbox can hide. " +
        "Name their folders in the rules, or work in a part of the project.",
    );
  return unreadable;
}

/** New files whose names must not be written: a sandbox cannot prevent new files. */
export async function unwantedFiles(
  ctx: Ctx,
  { keep, absent }: Pick<UnreadableFiles, "keep" | "absent">,
): Promise<string[]> {
  const newFiles = absent.filter((absolutePath) => statsOf(absolutePath) !== undefined);
  const { patterns } = deniedPaths(ctx, "write");
  if (!patterns.length) return newFiles;
  const { matching } = await searchDisk(ctx, patterns);
  return [...newFiles, ...matching.flatMap(({ file }) => (keep.includes(file) ? [] : [file]))];
}

interface DeniedPaths {
  places: string[];
  patterns: { rule: Rule; base: string }[];
}

/**
 * The paths that denials name, and the patterns with their base folders. A pattern for everything
 * in a folder counts as the folder.
 */
function deniedPaths(
  { permissions, root }: Ctx,
  needKind: "read" | "write",
  onView = false,
): DeniedPaths {
  const denied: DeniedPaths = { places: [], patterns: [] };
  for (const rule of permissions.rules) {
    const { verdict, kind: ruleKind, name } = rule;
    if (verdict === "allow" || (verdict === "ask" && onView) || ruleKind !== needKind || !name)
      continue;
    const absolutePath = permissions.place(name);
    denied.places.push(absolutePath); // a file may have that literal name
    if (!isPattern(name)) continue;
    const literalStart = absolutePath.slice(0, absolutePath.search(/[*?]/));
    const base = literalStart.slice(0, literalStart.lastIndexOf("/")) || "/";
    if (/^\/(\*+\/?)+$/.test(absolutePath.slice(base.length)) && base !== root && base !== "/")
      denied.places.push(base);
    else denied.patterns.push({ rule, base });
  }
  return denied;
}

interface FilesOnDisk {
  secret: string[];
  repositories: string[]; // git folders in the project besides its own, found by what they hold
  matching: { file: string; rule: Rule }[];
}

const TOO_MANY_FILES =
  "Cannot run it: there are too many files to look for those that the rules deny. " +
  "Name their folders.";

async function searchDisk(ctx: Ctx, patterns: DeniedPaths["patterns"]): Promise<FilesOnDisk> {
  const { root, permissions } = ctx;
  const filesOnDisk: FilesOnDisk = { secret: [], repositories: [], matching: [] };
  const rules = patterns.map(({ rule }) => ({
    rule,
    fits: permissions.matches(rule.kind, rule.name!),
  }));
  let [remainingEntries, pauseAt] = [
    permissions.wide === undefined ? Number.POSITIVE_INFINITY : MAX_ENTRIES,
    performance.now() + SLICE_MS,
  ];
  await walk(root, true);
  for (const baseFolder of new Set(patterns.map(({ base }) => base))) {
    if (isInside(root, baseFolder)) continue;
    remainingEntries = Math.min(remainingEntries, MAX_ENTRIES);
    await walk(baseFolder, false);
  }
  if (remainingEntries <= 0 && rules.length) throw new Error(TOO_MANY_FILES);
  return filesOnDisk;

  async function walk(topFolder: string, isProject: boolean): Promise<void> {
    const folders = [topFolder];
    while (folders.length && remainingEntries > 0) {
      const folder = folders.pop()!;
      if (performance.now() > pauseAt) pauseAt = (await setImmediate(SLICE_MS)) + performance.now();
      const {
        names = [],
        secret,
        inner,
        isGit,
      } = examineFolder(folder, permissions.secret, rules.length > 0);
      if (isGit && isProject && folder !== root) filesOnDisk.repositories.push(folder);
      remainingEntries -= names.length + inner.length + 1;
      if (isProject)
        filesOnDisk.secret.push(
          ...secret.filter(
            (file) => !isGitSetting(file) && permissions.judge("read", file).verdict !== "allow",
          ),
        );
      const skip = new Set<string>();
      for (const { rule, fits } of rules)
        for (const entryName of [...names, ...inner]) {
          const file = pathWithin(folder, entryName);
          if (!fits(file)) continue;
          filesOnDisk.matching.push({ file, rule });
          if (rule.kind === "read") skip.add(file);
        }
      // The contents of `.git` are git's own; a hidden folder needs no search.
      for (const name of inner) {
        const file = pathWithin(folder, name);
        if (name !== ".git") {
          if (!skip.has(file)) folders.push(file);
        } else if (isProject) {
          filesOnDisk.secret.push(`${file}/credentials`);
          if (folder !== root) filesOnDisk.repositories.push(file);
        }
      }
    }
  }
}

/**
 * Git's settings stay readable, since git fails without them; a command that names them is asked
 * about.
 */
const isGitSetting = (filePath: string): boolean =>
  /\.git\/(.*\/)?config(\.worktree)?$/i.test(filePath);

interface FolderRecord {
  mtime: number;
  examinedAt: number; // when it was examined
  names?: string[]; // all but folders, if requested
  inner: string[]; // folders
  secret: string[];
  isGit: boolean; // whether git would take it for a repository's own folder
}
/**
 * Results by folder, so that unchanged ones are not read again: a tenth of the time if there are
 * many.
 */
const examinedFolders = new Map<string, FolderRecord>();
const MAX_SEEN_FOLDERS = 100_000;
const CLOCK_SLACK_MS = 2_000; // ms within which a disk's clock may not tell two changes apart

const pathWithin = (folder: string, entryName: string): string =>
  `${folder === "/" ? "" : folder}/${entryName}`;

export function examineFolder(
  folder: string,
  isSecret: (filePath: string) => boolean,
  wantsNames: boolean,
): FolderRecord {
  const mtime = statsOf(folder)?.mtimeMs ?? 0;
  const previous = examinedFolders.get(folder);
  if (
    !wantsNames &&
    previous &&
    previous.mtime === mtime &&
    previous.examinedAt - mtime > CLOCK_SLACK_MS
  )
    return previous;
  const folderRecord: FolderRecord = {
    mtime,
    examinedAt: Date.now(),
    inner: [],
    secret: [],
    isGit: false,
    ...(wantsNames && { names: [] }),
  };
  // Elsewhere a file's name alone says it, which is quicker to look at.
  const isPlace = /\/\.|\.git$/.test(folder) || isSecret(`${folder}/x`);
  const entries = direntsOf(folder);
  folderRecord.isGit = isGitFolder(entries.map(({ name }) => name));
  for (const dirent of entries) {
    const { name } = dirent;
    const entryPath = pathWithin(folder, name);
    if (dirent.isDirectory()) {
      if (name.startsWith(".") && name !== ".git" && isSecret(`${entryPath}/x`))
        folderRecord.secret.push(entryPath);
      else folderRecord.inner.push(name);
    } else {
      folderRecord.names?.push(name);
      if (isSecret(name) || (isPlace && isSecret(entryPath))) folderRecord.secret.push(entryPath);
    }
  }
  if (examinedFolders.size > MAX_SEEN_FOLDERS) examinedFolders.clear();
  if (!wantsNames) examinedFolders.set(folder, folderRecord);
  return folderRecord;
}

function statsOf(filePath: string): Stats | undefined {
  return statSync(filePath, { throwIfNoEntry: false });
}
