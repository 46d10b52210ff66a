// Compares the upper folder of a copy with the project: what a command made, changed and removed.
import fs from "node:fs";
import { tryTo } from "zz/text";
import type { View } from "./copy-on-write.ts";
import { isGitFolder } from "./resolve-paths.ts";

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
export const raw = (latin1Name: string): Buffer => Buffer.from(latin1Name, "latin1");
export const utf8 = (latin1Name: string): string => raw(latin1Name).toString();
export const isUtf8 = (latin1Name: string): boolean =>
  Buffer.from(utf8(latin1Name)).equals(raw(latin1Name));
export const within = (folderName: string, innerName: string): string =>
  folderName ? `${folderName}/${innerName}` : innerName;
export const parentsOf = (latin1Name: string): string[] =>
  [...latin1Name.matchAll(/\//g)].map(({ index }) => latin1Name.slice(0, index));
export const bytePath = (folderPath: string, latin1Name: string): Buffer =>
  Buffer.concat([Buffer.from(`${folderPath}/`), raw(latin1Name)]);
/** Reads a file even if the command took away its owner's right to read it. */
export function readUnlocked(filePath: Buffer, fileMode: number): Buffer {
  if (fileMode & 0o400) return fs.readFileSync(filePath);
  fs.chmodSync(filePath, fileMode | 0o400);
  try {
    return fs.readFileSync(filePath);
  } finally {
    fs.chmodSync(filePath, fileMode & 0o7777);
  }
}
const isWhiteout = (fileStats: fs.Stats): boolean =>
  fileStats.isCharacterDevice() && fileStats.rdev === 0;
export function lstatOrNone(filePath: Buffer): fs.Stats | undefined {
  try {
    return fs.lstatSync(filePath, { throwIfNoEntry: false });
  } catch (error) {
    if (["ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code!)) return undefined;
    throw error;
  }
}

function isSameEntry(
  root: string,
  upperFolder: string,
  entryName: string,
  statsBefore: fs.Stats | undefined,
  statsAfter: fs.Stats,
): boolean {
  const modeBits = TYPE | 0o7777;
  if (
    !statsBefore ||
    (statsBefore.mode & modeBits) !== (statsAfter.mode & modeBits) ||
    statsBefore.size !== statsAfter.size
  )
    return false;
  const [original, changed] = [bytePath(root, entryName), bytePath(upperFolder, entryName)];
  if (statsAfter.isSymbolicLink())
    return fs.readlinkSync(original, "buffer").equals(fs.readlinkSync(changed, "buffer"));
  if (statsAfter.size > MAX_SHOWN_BYTES) return statsBefore.mtimeMs === statsAfter.mtimeMs;
  return fs.readFileSync(original).equals(readUnlocked(changed, statsAfter.mode));
}

/** The names in a folder of the view, also in one that keeps its owner out. */
function openAndList(folderPath: Buffer): string[] {
  const { mode } = fs.lstatSync(folderPath);
  if ((mode & 0o700) !== 0o700) fs.chmodSync(folderPath, (mode & 0o7777) | 0o700);
  return namesIn(folderPath);
}
const namesIn = (folderPath: Buffer): string[] =>
  fs.readdirSync(folderPath, { encoding: "latin1" });
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
  const topStats = { before: fs.statSync(root), after: fs.statSync(view.upper) };
  if ((topStats.before.mode & 0o7777) !== (topStats.after.mode & 0o7777))
    leftOut.push("the mode of the project's own folder was left as it is");
  walkFolder(comparison, "", true);
  const changedNames = new Set(changes.map(({ name }) => name));
  const remaining = oldFolders.length ? await view.list(oldFolders) : new Set<string>();
  if (!remaining)
    throw new Error(
      "Cannot tell what the command changed: its view could not be read again. Nothing was kept.",
    );
  for (const oldFolder of oldFolders)
    for (const entryName of namesIn(bytePath(root, oldFolder)).map((innerName) =>
      within(oldFolder, innerName),
    ))
      if (!remaining.has(entryName) && !changedNames.has(entryName))
        recordRemoval(comparison, entryName);
  return changes;
}

function walkFolder(comparison: Comparison, folderName: string, isThere: boolean): void {
  for (const innerName of openAndList(bytePath(comparison.upper, folderName)))
    if (innerName === ".git")
      comparison.leftOut.push(
        `'${utf8(within(folderName, innerName))}' was left out: .git is git's own. ` +
          "Run it with direct: true",
      );
    else compareEntry(comparison, within(folderName, innerName), isThere);
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
  if (!isSameEntry(root, upper, name, before, after)) changes.push({ name, before, after });
}

function whyNotKept(statsBefore: fs.Stats | undefined, statsAfter: fs.Stats): string | undefined {
  if (!isPlain(statsAfter)) return "it is a device, a FIFO or a socket";
  if (statsAfter.isFile() && statsAfter.mode & 0o6000)
    return "it would run as another user or group";
  return statsBefore && !isPlain(statsBefore)
    ? "what stands there could not be brought back"
    : undefined;
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
function isNewRepository(
  { root, upper }: Comparison,
  folderName: string,
  wasFolder: boolean,
): boolean {
  const namesInView = openAndList(bytePath(upper, folderName));
  const namesInProject = wasFolder ? (tryTo(() => namesIn(bytePath(root, folderName))) ?? []) : [];
  return isGitFolder([...namesInView, ...namesInProject]) && !isGitFolder(namesInProject);
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

function removeContents(comparison: Comparison, folderName: string): boolean {
  return namesIn(bytePath(comparison.root, folderName))
    .map((innerName) => recordRemoval(comparison, within(folderName, innerName)))
    .every(Boolean);
}

const isPlain = (fileStats: fs.Stats): boolean =>
  fileStats.isDirectory() || fileStats.isFile() || fileStats.isSymbolicLink();
