// What a command did on its view of the project, read from the overlay's upper folder.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { plural, runsByItself, visible } from "zz/text";
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
const CACHE =
  /(^|\/)(node_modules\/\.(cache|vite|vite-temp)|\.pytest_cache|__pycache__|\.mypy_cache|\.ruff_cache|\.tox|\.nyc_output|\.parcel-cache|\.turbo|\.eslintcache|\.phpunit\.result\.cache|[^/]*\.tsbuildinfo)(\/|$)/;

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
  const kept = withoutCaches(changes, effects);
  const { shown, groups } = await groupChanges(ctx, kept);
  if (shown.length > MAX_FILES || totalBytes(shown) > MAX_BYTES) {
    const amount = `${plural(shown.length, "file")}, ${formatSize(totalBytes(shown))}`;
    effects.leftOut.push(`it changed ${amount}: more than can be kept and undone`);
    return effects;
  }
  const allChanges = [...shown, ...[...groups.values()].flatMap(({ changes }) => changes)];
  const raced = allChanges.filter(
    ({ before }) => before && !before.isDirectory() && before.ctimeMs > view.began,
  );
  effects.raced = raced.map(({ name }) => utf8(name));
  effects.modes = shown.flatMap(({ name, before, after }) =>
    before && after && fileType(before) === fileType(after) && before.mode !== after.mode
      ? { name: utf8(name), mode: undoableMode(after) & 0o7777 }
      : [],
  );
  // names that are not UTF-8 may look like others
  const shownNames = new Set(shown.map(({ name }) => utf8(name)));
  const moved = [...groups].map(([group, { why: reason, changes }]) => {
    const summary = `${visible(group)}: ${sumUp(changes)}`;
    const isRaw = reason === NOT_UTF8 || (reason === LARGE && changes.length > 1);
    effects.about.push(
      `${reason}, not shown: ${summary}${isRaw ? shownRaw(view, ctx.root, changes) : ""}`,
    );
    return moveOf(view, ctx.root, group, changes, shownNames);
  });
  const isGoing = ({ moves = [] }: FileState) => moves.every(([, from]) => from === undefined);
  effects.states.push(...moved.filter(isGoing));
  for (const change of orderChanges(shown)) {
    effects.states.push({ path: path.join(ctx.root, utf8(change.name)), ...stateOf(view, change) });
  }
  effects.states.push(...moved.filter((state) => !isGoing(state)));
  return effects;
}

/** Drops caches, and folders that were made only for them. */
function withoutCaches(changes: Change[], effects: Effects): Change[] {
  const caches = new Set(changes.filter(({ name, after }) => after && CACHE.test(name)));
  if (!caches.size) return changes;
  effects.dropped = [...new Set([...caches].map(({ name }) => utf8(CACHE.exec(name)![2]!)))];
  const around = new Set([...caches].flatMap(({ name }) => parentsOf(name)));
  const otherChanges = changes.filter((change) => !caches.has(change));
  const needed = new Set(
    otherChanges
      .filter(({ name, isUsual }) => !isUsual || !around.has(name))
      .flatMap(({ name }) => parentsOf(name)),
  );
  return otherChanges.filter(
    ({ name, isUsual }) => !isUsual || !around.has(name) || needed.has(name),
  );
}

type Group = { why: string; changes: Change[] };
const [NOT_UTF8, LARGE] = ["its name is not UTF-8", "too large to be read"];

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
    [before, after].some((stat) => stat?.isFile() && stat.size > MAX_SHOWN_BYTES);
  // what comes into it goes with it
  const becomesFolder = (change: Change) => change.after?.isDirectory() && isLarge(change);
  const replaced = new Set(changes.filter(becomesFolder).map(({ name }) => name));
  const groupOf = (change: Change): [group: string, why: string] | undefined => {
    const unread = ignored(change);
    // what may run later is shown whole, wherever it lies
    if (unread && !mayRunLater(change)) return unread;
    if (!isUtf8(change.name))
      return [
        utf8(parentsOf(change.name).find((folder) => !isUtf8(folder)) ?? change.name),
        NOT_UTF8,
      ];
    const large = [...parentsOf(change.name), change.name].find((absolutePath) =>
      replaced.has(absolutePath),
    );
    return large !== undefined || isLarge(change) ? [utf8(large ?? change.name), LARGE] : undefined;
  };
  const mayRunLater = ({ name, after }: Change) =>
    after !== undefined &&
    !after.isDirectory() &&
    !inModules(name) &&
    runsByItself(path.join(ctx.root, utf8(name)));
  const groupByChange = new Map(changes.map((change) => [change, groupOf(change)]));
  const needed = new Set<string>(); // folders above what is shown, made or removed with it
  const around = new Set<string>(); // folders above what is shown in one line
  for (const [{ name }, group] of groupByChange)
    for (const parent of parentsOf(name)) (group ? around : needed).add(parent);
  const groups = new Map<string, Group>();
  const shown: Change[] = [];
  for (const [changed, chosenGroup] of groupByChange) {
    const isFolder = (changed.after ?? changed.before)!.isDirectory();
    if (chosenGroup && !(isFolder && needed.has(changed.name))) {
      const group = groups.get(chosenGroup[0]) ?? { why: chosenGroup[1], changes: [] };
      group.changes.push(changed);
      groups.set(chosenGroup[0], group);
    } else if (
      !changed.isUsual ||
      (around.has(changed.name) && isFolder) ||
      !needed.has(changed.name)
    )
      shown.push(changed);
  }
  return { shown, groups };
}

function moveOf(
  { upper }: View,
  root: string,
  group: string,
  changes: Change[],
  usedNames: Set<string>,
): FileState {
  const moves = orderChanges(changes).map(
    ({ name, after }): NonNullable<FileState["moves"]>[number] => {
      if (!after) return [name];
      const from = bytePath(upper, name).toString("latin1");
      return after.isDirectory() ? [name, from, undoableMode(after) & 0o7777] : [name, from];
    },
  );
  const isOne = changes.length === 1 && utf8(changes[0]!.name) === group;
  let absolutePath = isOne ? group : path.join(group, "…");
  while (usedNames.has(absolutePath)) absolutePath += "…";
  usedNames.add(absolutePath);
  return {
    path: path.join(root, absolutePath),
    brief: group,
    bytes: Buffer.from(`${sumUp(changes)}\n`),
    moves,
  };
}

const fileType = (stat: fs.Stats): number => stat.mode & TYPE;

/**
 * A folder may keep its setgid bit, which hands on its group; a file must not run as another user
 * or group.
 */
const undoableMode = (stat: fs.Stats): number => {
  if (stat.isSymbolicLink()) return (stat.mode & 0o777) | LINK;
  return stat.isDirectory() ? (stat.mode & 0o3777) | FOLDER : (stat.mode & 0o1777) | FILE;
};

/** Removals first, starting with the innermost; then additions, starting with the outermost. */
function orderChanges(changes: Change[]): Change[] {
  const isGone = ({ after, before }: Change) =>
    !after || (before?.isDirectory() && !after.isDirectory());
  const depth = ({ name }: Change) => name.split("/").length;
  const gone = changes.filter(isGone).sort((a, b) => depth(b) - depth(a));
  return [
    ...gone,
    ...changes.filter((change) => !isGone(change)).sort((a, b) => depth(a) - depth(b)),
  ];
}

function stateOf({ upper }: View, { name, after }: Change): Pick<FileState, "bytes" | "mode"> {
  if (!after) return {};
  const file = bytePath(upper, name);
  const mode = undoableMode(after);
  if (after.isSymbolicLink()) return { bytes: fs.readlinkSync(file, "buffer"), mode };
  if (after.isDirectory()) return { bytes: Buffer.alloc(0), mode };
  return { bytes: readUnlocked(file, after.mode), mode };
}

const totalBytes = (changes: Change[]): number =>
  changes.reduce(
    (sum, { after, before }) =>
      sum + (after?.isFile() ? after.size : 0) + (before?.isFile() ? before.size : 0),
    0,
  );
const formatSize = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${Math.round(bytes / 1_000_000)} MB`;

/** Sums changes up, as in "214 files, 31 MB". */
function sumUp(changes: Change[]): string {
  const files = changes.filter(({ before, after }) => !(after ?? before)!.isDirectory());
  const bytes = changes.reduce((sum, { before, after }) => {
    const stat = after ?? before;
    return sum + (stat?.isFile() ? stat.size : 0);
  }, 0);
  const gone = files.filter(({ after }) => !after).length;
  if (!files.length)
    return `${plural(changes.length, "folder")}${changes.every(({ after }) => !after) ? " removed" : ""}`;
  const sized = `${plural(files.length, "file")}, ${formatSize(bytes)}`;
  if (gone === 0) return sized;
  return gone === files.length ? `${sized} removed` : `${sized}, ${gone} of them removed`;
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

function linesOf(stat: fs.Stats | undefined, file: Buffer, sign: string): string[] {
  if (!stat || stat.isDirectory()) return [];
  return [
    `\n${sign}${sign}${sign} ${visible(`${file.subarray(file.lastIndexOf("/") + 1)}`)}`,
    ...contentOf(stat, file)
      .split("\n")
      .map((line) => `\n${sign}${line}`),
  ];
}

function contentOf(stat: fs.Stats, file: Buffer): string {
  if (stat.isSymbolicLink()) return `link to ${visible(`${fs.readlinkSync(file)}`)}`;
  return stat.size < MAX_RAW_BYTES ? `${readUnlocked(file, stat.mode)}` : formatSize(stat.size);
}

const MAX_RAW_BYTES = 100_000;
