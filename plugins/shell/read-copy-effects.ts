// What a command did on its view of the project, read from the overlay's upper folder.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { plural, runsByItself, sizeInWords, visible } from "zz/text";
import {
  bytePath,
  type Change,
  compareWithProject,
  FILE,
  FOLDER,
  isUtf8,
  LINK,
  MAX_SHOWN_BYTES,
  parentsOf,
  readUnlocked,
  TYPE,
  utf8,
} from "./compare-copy.ts";
import type { View } from "./copy-on-write.ts";
import { findIgnored, inModules } from "./find-ignored.ts";

export type FileState = Parameters<Ctx["files"]["apply"]>[0][number];

export interface Effects {
  states: FileState[]; // in the order in which they can be made
  about: string[]; // lines for the question
  // files that changed in the project while the command ran: approval overwrites them
  raced: string[];
  leftOut: string[]; // what could not be kept and why, for the model
  dropped: string[]; // tools' own caches, thrown away
  modes: { name: string; mode: number }[]; // those that the command set
}

const MAX_BYTES = 200 << 20;
const MAX_FILES = 20_000;

/** Caches that tools write for themselves, and write again when they are gone. */
const CACHE_NAMES =
  String.raw`node_modules/\.(cache|vite|vite-temp)|\.pytest_cache|__pycache__|\.mypy_cache` +
  String.raw`|\.ruff_cache|\.tox|\.nyc_output|\.parcel-cache|\.turbo|\.eslintcache` +
  String.raw`|\.phpunit\.result\.cache|[^/]*\.tsbuildinfo`;
const CACHE_PATH = new RegExp(`(^|/)(${CACHE_NAMES})(/|$)`);

export async function readEffects(view: View, ctx: Ctx): Promise<Effects> {
  const effects: Effects = {
    states: [],
    about: [],
    raced: [],
    leftOut: [],
    dropped: [],
    modes: [],
  };
  const changes = await compareWithProject(view, ctx.root, effects.leftOut);
  const keptChanges = withoutCaches(changes, effects);
  const { shown, groups } = await groupChanges(ctx, keptChanges);
  if (shown.length > MAX_FILES || totalBytes(shown) > MAX_BYTES) {
    const amount = `${plural(shown.length, "file")}, ${sizeInWords(totalBytes(shown))}`;
    effects.leftOut.push(`it changed ${amount}: more than can be kept and undone`);
    return effects;
  }
  const allChanges = [...shown, ...[...groups.values()].flatMap(({ changes }) => changes)];
  effects.raced = allChanges.flatMap(({ name, before }) =>
    before && !before.isDirectory() && before.ctimeMs > view.began ? utf8(name) : [],
  );
  effects.modes = shown.flatMap(({ name, before, after }) =>
    before && after && fileType(before) === fileType(after) && before.mode !== after.mode
      ? { name: utf8(name), mode: undoableMode(after) & 0o7777 }
      : [],
  );
  // names that are not UTF-8 may look like others
  const shownNames = new Set(shown.map(({ name }) => utf8(name)));
  const movedStates = [...groups].map(([groupName, { why: reason, changes }]) => {
    const summary = `${visible(groupName)}: ${summarize(changes)}`;
    const isShownRaw = reason === NOT_UTF8 || (reason === TOO_LARGE && changes.length > 1);
    effects.about.push(
      `${reason}, not shown: ${summary}${isShownRaw ? shownRaw(view, ctx.root, changes) : ""}`,
    );
    return buildMove(view, ctx.root, groupName, changes, shownNames);
  });
  const isGoing = ({ moves = [] }: FileState) =>
    moves.every(([, upperPath]) => upperPath === undefined);
  effects.states.push(...movedStates.filter(isGoing));
  for (const change of orderChanges(shown)) {
    effects.states.push({ path: path.join(ctx.root, utf8(change.name)), ...stateOf(view, change) });
  }
  effects.states.push(...movedStates.filter((state) => !isGoing(state)));
  return effects;
}

/** Drops caches, and folders that were made only for them. */
function withoutCaches(changes: Change[], effects: Effects): Change[] {
  const cacheChanges = new Set(changes.filter(({ name, after }) => after && CACHE_PATH.test(name)));
  if (!cacheChanges.size) return changes;
  effects.dropped = [
    ...new Set([...cacheChanges].map(({ name }) => utf8(CACHE_PATH.exec(name)![2]!))),
  ];
  const cacheParents = new Set([...cacheChanges].flatMap(({ name }) => parentsOf(name)));
  const otherChanges = changes.filter((change) => !cacheChanges.has(change));
  const neededFolders = new Set(
    otherChanges
      .filter(({ name, isUsual }) => !isUsual || !cacheParents.has(name))
      .flatMap(({ name }) => parentsOf(name)),
  );
  return otherChanges.filter(
    ({ name, isUsual }) => !isUsual || !cacheParents.has(name) || neededFolders.has(name),
  );
}

type Group = { why: string; changes: Change[] };
const [NOT_UTF8, TOO_LARGE] = ["its name is not UTF-8", "too large to be read"];

/**
 * Splits the changes into those shown in full, and groups shown in one line: an ignored folder, or
 * a single name.
 */
async function groupChanges(
  ctx: Ctx,
  changes: Change[],
): Promise<{ shown: Change[]; groups: Map<string, Group> }> {
  const ignored = findIgnored(ctx, changes);
  const isLarge = ({ before, after }: Change) =>
    [before, after].some((fileStats) => fileStats?.isFile() && fileStats.size > MAX_SHOWN_BYTES);
  // what comes into it goes with it
  const becomesFolder = (change: Change) => change.after?.isDirectory() && isLarge(change);
  const replaced = new Set(changes.filter(becomesFolder).map(({ name }) => name));
  const groupOf = (change: Change): [group: string, why: string] | undefined => {
    const ignoredGroup = ignored(change);
    // what may run later is shown whole, wherever it lies
    if (ignoredGroup && !mayRunLater(change)) return ignoredGroup;
    if (!isUtf8(change.name))
      return [
        utf8(parentsOf(change.name).find((folder) => !isUtf8(folder)) ?? change.name),
        NOT_UTF8,
      ];
    const largeFolder = [...parentsOf(change.name), change.name].find((absolutePath) =>
      replaced.has(absolutePath),
    );
    return largeFolder !== undefined || isLarge(change)
      ? [utf8(largeFolder ?? change.name), TOO_LARGE]
      : undefined;
  };
  const mayRunLater = ({ name, after }: Change) =>
    after !== undefined &&
    !after.isDirectory() &&
    !inModules(name) &&
    runsByItself(path.join(ctx.root, utf8(name)));
  const groupByChange = new Map(changes.map((change) => [change, groupOf(change)]));
  const shownFolders = new Set<string>(); // folders above what is shown, made or removed with it
  const groupFolders = new Set<string>(); // folders above what is shown in one line
  for (const [{ name }, chosenGroup] of groupByChange)
    for (const parentFolder of parentsOf(name))
      (chosenGroup ? groupFolders : shownFolders).add(parentFolder);
  const groups = new Map<string, Group>();
  const shown: Change[] = [];
  for (const [changed, chosenGroup] of groupByChange) {
    const isFolder = (changed.after ?? changed.before)!.isDirectory();
    if (chosenGroup && !(isFolder && shownFolders.has(changed.name))) {
      const targetGroup = groups.get(chosenGroup[0]) ?? { why: chosenGroup[1], changes: [] };
      targetGroup.changes.push(changed);
      groups.set(chosenGroup[0], targetGroup);
    } else if (
      !changed.isUsual ||
      (groupFolders.has(changed.name) && isFolder) ||
      !shownFolders.has(changed.name)
    )
      shown.push(changed);
  }
  return { shown, groups };
}

function buildMove(
  { upper }: View,
  root: string,
  groupName: string,
  changes: Change[],
  usedNames: Set<string>,
): FileState {
  const moves = orderChanges(changes).map(
    ({ name, after }): NonNullable<FileState["moves"]>[number] => {
      if (!after) return [name];
      const upperPath = bytePath(upper, name).toString("latin1");
      return after.isDirectory()
        ? [name, upperPath, undoableMode(after) & 0o7777]
        : [name, upperPath];
    },
  );
  const isSingle = changes.length === 1 && utf8(changes[0]!.name) === groupName;
  let absolutePath = isSingle ? groupName : path.join(groupName, "…");
  while (usedNames.has(absolutePath)) absolutePath += "…";
  usedNames.add(absolutePath);
  return {
    path: path.join(root, absolutePath),
    brief: groupName,
    bytes: Buffer.from(`${summarize(changes)}\n`),
    moves,
  };
}

const fileType = (fileStats: fs.Stats): number => fileStats.mode & TYPE;

/**
 * A folder may keep its setgid bit, which hands on its group; a file must not run as another user
 * or group.
 */
const undoableMode = (fileStats: fs.Stats): number => {
  if (fileStats.isSymbolicLink()) return (fileStats.mode & 0o777) | LINK;
  return fileStats.isDirectory()
    ? (fileStats.mode & 0o3777) | FOLDER
    : (fileStats.mode & 0o1777) | FILE;
};

/** Removals first, starting with the innermost; then additions, starting with the outermost. */
function orderChanges(changes: Change[]): Change[] {
  const orderOf = ({ name, after, before }: Change) => {
    const depth = name.split("/").length;
    return !after || (before?.isDirectory() && !after.isDirectory()) ? -depth : depth;
  };
  return changes.toSorted((first, second) => orderOf(first) - orderOf(second));
}

function stateOf({ upper }: View, { name, after }: Change): Pick<FileState, "bytes" | "mode"> {
  if (!after) return {};
  const upperFile = bytePath(upper, name);
  const mode = undoableMode(after);
  if (after.isSymbolicLink()) return { bytes: fs.readlinkSync(upperFile, "buffer"), mode };
  if (after.isDirectory()) return { bytes: Buffer.alloc(0), mode };
  return { bytes: readUnlocked(upperFile, after.mode), mode };
}

const totalBytes = (changes: Change[]): number =>
  changes.reduce(
    (sum, { after, before }) =>
      sum + (after?.isFile() ? after.size : 0) + (before?.isFile() ? before.size : 0),
    0,
  );

/** Sums changes up, as in "214 files, 31 MB". */
function summarize(changes: Change[]): string {
  const changedFiles = changes.filter(({ before, after }) => !(after ?? before)!.isDirectory());
  const byteCount = changes.reduce((sum, { before, after }) => {
    const fileStats = after ?? before;
    return sum + (fileStats?.isFile() ? fileStats.size : 0);
  }, 0);
  const removedCount = changedFiles.filter(({ after }) => !after).length;
  if (!changedFiles.length)
    return (
      `${plural(changes.length, "folder")}` +
      `${changes.every(({ after }) => !after) ? " removed" : ""}`
    );
  const sizeText = `${plural(changedFiles.length, "file")}, ${sizeInWords(byteCount)}`;
  if (removedCount === 0) return sizeText;
  return removedCount === changedFiles.length
    ? `${sizeText} removed`
    : `${sizeText}, ${removedCount} of them removed`;
}

/** The contents of files whose names are not UTF-8, as raw lines for the question. */
function shownRaw({ upper }: View, root: string, changes: Change[]): string {
  return changes
    .flatMap(({ name, before, after }) => [
      ...linesOf(before, bytePath(root, name), "-"),
      ...linesOf(after, bytePath(upper, name), "+"),
    ])
    .join("");
}

function linesOf(fileStats: fs.Stats | undefined, filePath: Buffer, lineSign: string): string[] {
  if (!fileStats || fileStats.isDirectory()) return [];
  return [
    `\n${lineSign}${lineSign}${lineSign} ` +
      `${visible(`${filePath.subarray(filePath.lastIndexOf("/") + 1)}`)}`,
    ...contentOf(fileStats, filePath)
      .split("\n")
      .map((line) => `\n${lineSign}${line}`),
  ];
}

function contentOf(fileStats: fs.Stats, filePath: Buffer): string {
  if (fileStats.isSymbolicLink()) return `link to ${visible(`${fs.readlinkSync(filePath)}`)}`;
  return fileStats.size < MAX_RAW_BYTES
    ? `${readUnlocked(filePath, fileStats.mode)}`
    : sizeInWords(fileStats.size);
}

const MAX_RAW_BYTES = 100_000;
