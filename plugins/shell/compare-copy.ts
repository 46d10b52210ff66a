// Compares the upper folder of a copy with the project: what a command made, changed and removed.
import fs from "node:fs";
import { tryTo } from "zz/text";
import type { View } from "./copy-on-write.ts";

/** Of a file whose content is shown, and kept in the session. */
export const MAX_SHOWN_BYTES = 50 << 20;

export const [TYPE, FILE, LINK, FOLDER] = [0o170000, 0o100000, 0o120000, 0o040000];
/** Names are bytes, as latin1, relative to the project: Linux allows any. */
export interface Change {
  name: string;
  before: fs.Stats | undefined;
  after: fs.Stats | undefined;
  isUsual?: boolean; // a new folder with the usual mode: it is made along with its contents
}
export const raw = (name: string): Buffer => Buffer.from(name, "latin1");
export const utf8 = (name: string): string => raw(name).toString();
export const isUtf8 = (name: string): boolean => Buffer.from(utf8(name)).equals(raw(name));
export const within = (folder: string, name: string): string =>
  folder ? `${folder}/${name}` : name;
export const parentsOf = (name: string): string[] =>
  [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index));
export const bytePath = (folder: string, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${folder}/`), raw(name)]);
/** Reads a file even if the command took away its owner's right to read it. */
export function readUnlocked(file: Buffer, mode: number): Buffer {
  if (mode & 0o400) return fs.readFileSync(file);
  fs.chmodSync(file, mode | 0o400);
  try {
    return fs.readFileSync(file);
  } finally {
    fs.chmodSync(file, mode & 0o7777);
  }
}
const isWhiteout = (stat: fs.Stats): boolean => stat.isCharacterDevice() && stat.rdev === 0;
export function lstatOrNone(file: Buffer): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (["ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code!)) return undefined;
    throw error;
  }
}

function isSame(
  root: string,
  upper: string,
  name: string,
  before: fs.Stats | undefined,
  after: fs.Stats,
): boolean {
  const bits = TYPE | 0o7777;
  if (!before || (before.mode & bits) !== (after.mode & bits) || before.size !== after.size)
    return false;
  const [original, two] = [bytePath(root, name), bytePath(upper, name)];
  if (after.isSymbolicLink())
    return fs.readlinkSync(original, "buffer").equals(fs.readlinkSync(two, "buffer"));
  if (after.size > MAX_SHOWN_BYTES) return before.mtimeMs === after.mtimeMs;
  return fs.readFileSync(original).equals(readUnlocked(two, after.mode));
}

/** The names in a folder of the view, also in one that keeps its owner out. */
function openAndList(folder: Buffer): string[] {
  const { mode } = fs.lstatSync(folder);
  if ((mode & 0o700) !== 0o700) fs.chmodSync(folder, (mode & 0o7777) | 0o700);
  return namesIn(folder);
}
const OF_REPOSITORY = ["HEAD", "objects", "refs"];
const namesIn = (folder: Buffer): string[] => fs.readdirSync(folder, { encoding: "latin1" });
/** What is compared, and what was found so far. */
interface Comparison {
  root: string;
  upper: string;
  changes: Change[];
  oldFolders: string[]; // that existed before: the command may have removed and remade them
  leftOut: string[]; // what could not be kept and why
}

/** Compares every entry of the upper folder with the project. */
export async function compareWithProject(
  view: View,
  root: string,
  leftOut: string[],
): Promise<Change[]> {
  const comparison = { root, upper: view.upper, changes: [], oldFolders: [], leftOut };
  const { changes, oldFolders }: Comparison = comparison;
  const top = { before: fs.statSync(root), after: fs.statSync(view.upper) };
  if ((top.before.mode & 0o7777) !== (top.after.mode & 0o7777))
    leftOut.push("the mode of the project's own folder was left as it is");
  walkFolder(comparison, "", true);
  const changedNames = new Set(changes.map(({ name }) => name));
  const remaining = oldFolders.length ? await view.list(oldFolders) : new Set<string>();
  if (!remaining)
    throw new Error(
      "Cannot tell what the command changed: its view could not be read again. Nothing was kept.",
    );
  for (const folder of oldFolders)
    for (const name of namesIn(bytePath(root, folder)).map((inner) => within(folder, inner)))
      if (!remaining.has(name) && !changedNames.has(name)) recordRemoval(comparison, name);
  return changes;
}

function walkFolder(comparison: Comparison, folder: string, isThere: boolean): void {
  for (const name of openAndList(bytePath(comparison.upper, folder)))
    if (name === ".git")
      comparison.leftOut.push(
        `'${utf8(within(folder, name))}' was left out: .git is git's own. Run it with direct: true`,
      );
    else compareEntry(comparison, within(folder, name), isThere);
}

function compareEntry(comparison: Comparison, name: string, isThere: boolean): void {
  const { root, upper, changes, leftOut } = comparison;
  const after = fs.lstatSync(bytePath(upper, name));
  const before = isThere ? lstatOrNone(bytePath(root, name)) : undefined;
  if (isWhiteout(after)) return void recordRemoval(comparison, name);
  const obstacle = whyNotKept(before, after);
  if (obstacle) return void leftOut.push(`'${utf8(name)}' was left out: ${obstacle}`);
  if (after.isDirectory()) {
    compareFolder(comparison, { name, before, after });
    return;
  }
  if (before?.isDirectory() && !removeContents(comparison, name)) return;
  if (!isSame(root, upper, name, before, after)) changes.push({ name, before, after });
}

function whyNotKept(before: fs.Stats | undefined, after: fs.Stats): string | undefined {
  if (!isPlain(after)) return "it is a device, a FIFO or a socket";
  if (after.isFile() && after.mode & 0o6000) return "it would run as another user or group";
  return before && !isPlain(before) ? "what stands there could not be brought back" : undefined;
}

function compareFolder(
  comparison: Comparison,
  { name, before, after }: Pick<Change, "name" | "before"> & { after: fs.Stats },
): void {
  const wasFolder = before?.isDirectory() === true;
  if (wasFolder) comparison.oldFolders.push(name);
  const isUsual = !before && (after.mode & 0o7777) === (0o777 & ~process.umask());
  if (isNewRepository(comparison, name, wasFolder)) {
    const reason = "git would obey it as a repository. Run it with direct: true";
    return void comparison.leftOut.push(`'${utf8(name)}' was left out: ${reason}`);
  }
  if (!wasFolder || (before!.mode & 0o7777) !== (after.mode & 0o7777))
    comparison.changes.push({ name, before, after, isUsual });
  walkFolder(comparison, name, wasFolder);
}

/**
 * Whether the command made a folder that git takes for a repository: with what stands in the
 * project, it has all that one needs.
 */
function isNewRepository({ root, upper }: Comparison, name: string, wasFolder: boolean): boolean {
  const inView = openAndList(bytePath(upper, name));
  const there = wasFolder ? (tryTo(() => namesIn(bytePath(root, name))) ?? []) : [];
  const isNew = OF_REPOSITORY.some((name) => inView.includes(name) && !there.includes(name));
  return isNew && OF_REPOSITORY.every((name) => inView.includes(name) || there.includes(name));
}

/**
 * Whether a file is removed. What undo could not restore stays, and so do the folders that it is
 * in.
 */
function recordRemoval(comparison: Comparison, name: string): boolean {
  const before = lstatOrNone(bytePath(comparison.root, name));
  if (!before) return true;
  if (!isPlain(before) || /(^|\/)\.git$/.test(name)) {
    comparison.leftOut.push(`'${utf8(name)}' was left as it is: its removal could not be undone`);
    return false;
  }
  if (before.isDirectory() && !removeContents(comparison, name)) return false;
  comparison.changes.push({ name, before, after: undefined });
  return true;
}

function removeContents(comparison: Comparison, folder: string): boolean {
  return namesIn(bytePath(comparison.root, folder))
    .map((name) => recordRemoval(comparison, within(folder, name)))
    .every(Boolean);
}

const isPlain = (stat: fs.Stats): boolean =>
  stat.isDirectory() || stat.isFile() || stat.isSymbolicLink();
