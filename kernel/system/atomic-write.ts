// Files written whole or not at all, several of them or one, and private files of the home.
import fs from "node:fs";
import path from "node:path";
import type { Fault } from "../contract.ts";
import { codeOf, errnoSentence, fault } from "../text/faults.ts";
import { errorMessage } from "../text/secrets.ts";
import { someOf, tryTo } from "../text/words.ts";
import {
  ancestorsOf,
  type DiskState,
  FILE,
  type FolderModes,
  folderModes,
  isFolder,
  isSameState,
  isShut,
  LINK,
  stateInPlace,
  TYPE,
} from "./file-state.ts";
import { withFolderOpen } from "./open-real.ts";
import { partIn, sweepParts } from "./temporary-files.ts";

/** Writes a file's new state next to it and renames it into place: whole, or not at all. aside:
 * where it is already. check: runs right before the file is replaced or removed. */
function writeState(
  file: string,
  state: DiskState,
  modes?: FolderModes,
  aside?: string,
  check: (reachedPath: string) => void = () => {},
): void {
  for (const missing of missingFolders(path.dirname(file))) fs.mkdirSync(missing);
  withFolderOpen(file, (reachedPath) => {
    const old = fs.lstatSync(reachedPath, { throwIfNoEntry: false });
    if (!state) {
      check(reachedPath);
      old?.isDirectory() ? fs.rmdirSync(reachedPath) : fs.unlinkSync(reachedPath);
    } else if (aside) withFolderOpen(aside, (part) => replaceFile(reachedPath, part, old));
    else if (!isFolder(state))
      replaceFile(reachedPath, partIn(path.dirname(reachedPath)), old, state, check);
    else if (old?.isDirectory()) modes?.give(file, state.mode);
    else {
      if (old) fs.unlinkSync(reachedPath);
      fs.mkdirSync(reachedPath);
      // some disks have no modes, or do not let them be set
      tryTo(() => modes?.give(file, state.mode));
    }
  });
}

function replaceFile(
  file: string,
  part: string,
  old: fs.Stats | undefined,
  state?: DiskState,
  check?: (reachedPath: string) => void,
): void {
  try {
    if (state) writePart(part, state, old);
    check?.(file);
    if (old?.isDirectory()) fs.rmdirSync(file); // its replacement is complete
    if (old || !state || !linkWithoutReplacing(part, file)) fs.renameSync(part, file);
  } finally {
    tryTo(() => fs.unlinkSync(part));
  }
}

/**
 * Unlike a rename, a link takes nobody's place: who has made such a file meanwhile keeps it. False:
 * this disk has no links.
 */
function linkWithoutReplacing(part: string, file: string): boolean {
  try {
    fs.linkSync(part, file);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw changedMeanwhile(file);
    return false;
  }
}

function writePart(
  part: string,
  { bytes, mode }: NonNullable<DiskState>,
  old: fs.Stats | undefined,
): void {
  if ((mode & TYPE) === LINK) return void fs.symlinkSync(bytes, part);
  const isOthers = old && old.uid !== process.getuid?.();
  const fd = fs.openSync(part, "wx", isOthers ? 0o600 : mode & 0o777);
  try {
    fs.writeFileSync(fd, bytes);
    if (isOthers) tryTo(() => fs.fchownSync(fd, old.uid, old.gid));
    tryTo(() => fs.fchmodSync(fd, mode & 0o7777));
    syncFile(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/** From then on a power cut leaves its bytes there. Some disks cannot say so. */
export function syncFile(fd: number): void {
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    if (!NO_SYNC.test(codeOf(error))) throw error;
  }
}
export const NO_SYNC = /^(EINVAL|ENOSYS|ENOTSUP|EOPNOTSUPP)$/; // of disks that have no such thing
/** The same for the names in a folder. Not all disks have that; Windows has not. */
export function syncFolder(folder: string): void {
  tryTo(() => {
    const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
    tryTo(() => fs.fsyncSync(fd));
    fs.closeSync(fd);
  });
}

export const missingFolders = (folder: string): string[] =>
  fs.existsSync(folder) ? [] : [...missingFolders(path.dirname(folder)), folder];

/**
 * What a change leaves in a project where zz is killed in the middle of it: parts of files in
 * `folders`, and empty ones of `made`.
 */
export type Unfinished = { folders: string[]; made: string[] };

/** Puts all files into their new states, or none; `tidy` takes away what else was made. `opens`:
 * even folders that keep their owner out. begin: hears what would be left. */
export function writeAllOrNone(
  steps: WriteStep[],
  tidy: () => void,
  opens: boolean,
  begin: (unfinished: Unfinished) => void = () => {},
): void {
  const newFolders: string[] = [];
  const done: [step: WriteStep, aside: string | undefined][] = [];
  const modes = folderModes();
  const going = foldersThatGo(steps);
  const forget = () =>
    done.splice(0).map(([, aside]) => aside && tryTo(() => fs.unlinkSync(aside)));
  let step = steps[0]!;
  const unfinished = unfinishedOf(steps, going);
  begin(unfinished);
  try {
    if (opens)
      modes.open(
        [...new Set(steps.flatMap(({ file }) => ancestorsOf(path.dirname(file))))].filter(isShut),
      );
    modes.open(steps.flatMap(({ file, from }) => (isFolder(from) ? [file] : [])));
    for (const folder of unfinished.folders) sweepParts(folder);
    for (step of steps) {
      if (!step.act) newFolders.push(...missingFolders(path.dirname(step.file)));
      const aside = keepAside(step, going);
      done.push([step, aside]);
      if (going.has(step.file)) tidy(); // that may be in it
      if (step.act) step.act(false);
      else if (step.to || stateInPlace(step.file))
        writeState(step.file, step.to, modes, undefined, () => assertAsCompared(step));
      if (!step.act && aside) assertKept(step, aside);
    }
    for (const folder of new Set(
      [...steps, ...newFolders.map((file) => ({ file }))].map(({ file }) => path.dirname(file)),
    ))
      syncFolder(folder);
    forget();
    tidy();
  } catch (error) {
    const lost = done
      .toReversed()
      .flatMap(([doneStep, aside]) =>
        tryTo(() => revertStep(doneStep, modes, aside) ?? true) ? [] : doneStep.file,
      );
    removeEmptyFolders(newFolders);
    throw Object.assign(error as Error, { file: step.file, lost });
  } finally {
    forget();
    modes.close();
  }
}

const foldersThatGo = (steps: WriteStep[]): Set<string> =>
  new Set(
    steps.flatMap(({ file, from, to, gone = [] }) =>
      isFolder(from) && !isFolder(to) ? file : gone,
    ),
  );

function unfinishedOf(steps: WriteStep[], going: Set<string>): Unfinished {
  const folders = steps.flatMap(
    ({ file, near }) => near ?? [path.dirname(file), lastingFolder(file, going)],
  );
  const made = steps.flatMap(({ file, act }) => (act ? [] : missingFolders(path.dirname(file))));
  return { folders: [...new Set(folders)], made: [...new Set(made)].sort() };
}

/**
 * What is replaced is what was compared: another program may have saved the file since, in place or
 * as a new one.
 */
function assertAsCompared({ file, from }: WriteStep): void {
  if (isFolder(from)) return; // what is in it decides, and rmdir() refuses
  // its folder may keep its owner out
  const stat = () => tryTo(() => fs.lstatSync(file, { throwIfNoEntry: false }));
  // reading it may take setting modes
  const look = (file = stat()) => file && `${file.ino} ${file.size} ${file.mtimeMs}`;
  const before = look();
  if (!isSameState(stateInPlace(file), from) || look() !== before) throw changedMeanwhile(file);
}
/**
 * The old content, which is kept until all is done, is still what was compared: else somebody has
 * just written to it.
 */
function assertKept({ file, from }: WriteStep, aside: string): void {
  const kept = tryTo(() => fs.readFileSync(aside)); // who cannot read it could not write to it
  if (kept && !kept.equals(from!.bytes)) throw changedMeanwhile(file);
}
const changedMeanwhile = (file: string): Fault =>
  fault(`Cannot write '${path.basename(file)}': it changed meanwhile. Read it again.`);

/** The folder of a file, or the one around the folders that go. */
const lastingFolder = (file: string, going: Set<string>): string =>
  path.dirname(ancestorsOf(file).find((ancestor) => going.has(ancestor)) ?? file);

/**
 * Keeps a file under another name until all is done: it comes back even if another program fills
 * the disk meanwhile.
 */
function keepAside({ file, from, act }: WriteStep, going: Set<string>): string | undefined {
  if (act || !from || (from.mode & TYPE) !== FILE) return undefined;
  const aside = partIn(lastingFolder(file, going));
  // Some disks have no links.
  return tryTo(() =>
    withFolderOpen(file, (reachedPath) =>
      withFolderOpen(aside, (there) => fs.linkSync(reachedPath, there) ?? aside),
    ),
  );
}

function revertStep({ file, from, to, act }: WriteStep, modes: FolderModes, aside?: string): void {
  if (act) {
    act(true);
    return;
  }
  const current = stateInPlace(file);
  const isOthers =
    current !== undefined &&
    (current.mode & TYPE) === FILE &&
    ![from, to].some((state) => state?.bytes.equals(current.bytes));
  if (isOthers) return; // somebody has saved it since: theirs stays
  if (isSameState(current, from)) isFolder(from) && modes.give(file, from!.mode);
  else if (!aside || !tryTo(() => writeState(file, from, modes, aside) ?? true))
    writeState(file, from, modes);
}

/** Takes away what a process that was killed left. What is not empty is somebody's by now. */
export function removeUnfinished({ folders, made: newFolders }: Unfinished, pid: number): void {
  for (const folder of [...folders, ...newFolders]) sweepParts(folder, pid);
  removeEmptyFolders(newFolders);
}

/** Removes the folders that are empty again. */
export const removeEmptyFolders = (folders: string[]): void => {
  for (const folder of folders.toReversed()) tryTo(() => fs.rmdirSync(folder));
};

/**
 * act: used instead of writing, and to take it back. gone: the folders that it removes. near: those
 * that it works in.
 */
export type WriteStep = {
  file: string;
  from: DiskState;
  to: DiskState;
  act?: ((back: boolean) => void) | undefined;
  gone?: string[];
  near?: string[];
};

export const fileFault = (
  verb: string,
  name: string,
  error: unknown,
  fields: Partial<Fault> = {},
): Fault =>
  fault(`Cannot ${verb} '${name}': ${errnoSentence(error) || `${errorMessage(error)}.`}`, fields);

/** The same for what putAll threw; it may not have been able to take everything back. */
export function writeFault(
  verb: string,
  nameOf: (file: string) => string,
  error: any,
  defaultFile = "",
): Fault {
  const { file = defaultFile, lost = [] }: { file?: string; lost?: string[] } = error;
  const failure = codeOf(error) ? fileFault(verb, nameOf(file), error) : error;
  const names = someOf(10, lost, (lostFile) => `'${nameOf(lostFile)}'`);
  if (names) failure.message += ` What it did to ${names} could not be taken back: then undo it.`;
  return failure;
}

/**
 * Makes folders one by one: mkdir's own `recursive` hangs under /proc, and reports a read-only disk
 * as a missing folder.
 */
export function makePrivate(folder: string): void {
  for (const missing of missingFolders(folder))
    try {
      fs.mkdirSync(missing, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error; // another zz has just made it
    }
  if (path.basename(folder) === "sessions" && fs.statSync(folder).mode & 0o077)
    fs.chmodSync(folder, 0o700);
}

/** Only the person may read it. */
export function writePrivate(file: string, text: string): void {
  makePrivate(path.dirname(file));
  const real =
    tryTo(() => fs.realpathSync(file)) ??
    path.join(fs.realpathSync(path.dirname(file)), path.basename(file));
  sweepParts(path.dirname(real));
  writeState(real, { bytes: Buffer.from(`${text}\n`), mode: 0o100600 });
  syncFolder(path.dirname(real));
}
