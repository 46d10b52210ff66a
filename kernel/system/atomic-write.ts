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
  targetFile: string,
  newState: DiskState,
  openedModes?: FolderModes,
  aside?: string,
  check: (reachedPath: string) => void = () => {},
): void {
  for (const missing of missingFolders(path.dirname(targetFile))) fs.mkdirSync(missing);
  withFolderOpen(targetFile, (reachedPath) => {
    const oldStat = fs.lstatSync(reachedPath, { throwIfNoEntry: false });
    if (!newState) {
      check(reachedPath);
      oldStat?.isDirectory() ? fs.rmdirSync(reachedPath) : fs.unlinkSync(reachedPath);
    } else if (aside)
      withFolderOpen(aside, (partFile) => replaceFile(reachedPath, partFile, oldStat));
    else if (!isFolder(newState))
      replaceFile(reachedPath, partIn(path.dirname(reachedPath)), oldStat, newState, check);
    else if (oldStat?.isDirectory()) openedModes?.give(targetFile, newState.mode);
    else {
      if (oldStat) fs.unlinkSync(reachedPath);
      fs.mkdirSync(reachedPath);
      // some disks have no modes, or do not let them be set
      tryTo(() => openedModes?.give(targetFile, newState.mode));
    }
  });
}

function replaceFile(
  targetFile: string,
  partFile: string,
  oldStat: fs.Stats | undefined,
  newState?: DiskState,
  check?: (reachedPath: string) => void,
): void {
  try {
    if (newState) writePart(partFile, newState, oldStat);
    check?.(targetFile);
    if (oldStat?.isDirectory()) fs.rmdirSync(targetFile); // its replacement is complete
    if (oldStat || !newState || !linkWithoutReplacing(partFile, targetFile))
      fs.renameSync(partFile, targetFile);
  } finally {
    tryTo(() => fs.unlinkSync(partFile));
  }
}

/**
 * Unlike a rename, a link takes nobody's place: who has made such a file meanwhile keeps it. False:
 * this disk has no links.
 */
function linkWithoutReplacing(partFile: string, targetFile: string): boolean {
  try {
    fs.linkSync(partFile, targetFile);
    return true;
  } catch (linkError) {
    if (codeOf(linkError) === "EEXIST") throw changedMeanwhile(targetFile);
    return false;
  }
}

function writePart(
  partFile: string,
  { bytes, mode }: NonNullable<DiskState>,
  oldStat: fs.Stats | undefined,
): void {
  if ((mode & TYPE) === LINK) return void fs.symlinkSync(bytes, partFile);
  const isOthers = oldStat && oldStat.uid !== process.getuid?.();
  const descriptor = fs.openSync(partFile, "wx", isOthers ? 0o600 : mode & 0o777);
  try {
    fs.writeFileSync(descriptor, bytes);
    if (isOthers) tryTo(() => fs.fchownSync(descriptor, oldStat.uid, oldStat.gid));
    tryTo(() => fs.fchmodSync(descriptor, mode & 0o7777));
    syncFile(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** From then on a power cut leaves its bytes there. Some disks cannot say so. */
export function syncFile(descriptor: number): void {
  try {
    fs.fsyncSync(descriptor);
  } catch (syncError) {
    if (!NO_SYNC.test(codeOf(syncError))) throw syncError;
  }
}
export const NO_SYNC = /^(EINVAL|ENOSYS|ENOTSUP|EOPNOTSUPP)$/; // of disks that have no such thing
/** The same for the names in a folder. Not all disks have that; Windows has not. */
export function syncFolder(folderPath: string): void {
  tryTo(() => {
    const descriptor = fs.openSync(folderPath, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
    tryTo(() => fs.fsyncSync(descriptor));
    fs.closeSync(descriptor);
  });
}

export const missingFolders = (folderPath: string): string[] =>
  fs.existsSync(folderPath) ? [] : [...missingFolders(path.dirname(folderPath)), folderPath];

/**
 * What a change leaves in a project where zz is killed in the middle of it: parts of files in
 * `folders`, and empty ones of `made`.
 */
export type Unfinished = { folders: string[]; made: string[] };

/** Puts all files into their new states, or none; `tidy` takes away what else was made. `opens`:
 * even folders that keep their owner out. begin: hears what would be left. */
export function writeAllOrNone(
  writeSteps: WriteStep[],
  tidy: () => void,
  opens: boolean,
  begin: (unfinished: Unfinished) => void = () => {},
): void {
  const newFolders: string[] = [];
  const doneSteps: [step: WriteStep, aside: string | undefined][] = [];
  const openedModes = folderModes();
  const goingFolders = foldersThatGo(writeSteps);
  const forgetAsides = () =>
    doneSteps.splice(0).map(([, aside]) => aside && tryTo(() => fs.unlinkSync(aside)));
  let writeStep = writeSteps[0]!;
  const unfinished = unfinishedOf(writeSteps, goingFolders);
  begin(unfinished);
  try {
    if (opens)
      openedModes.open(
        [...new Set(writeSteps.flatMap(({ file }) => ancestorsOf(path.dirname(file))))].filter(
          isShut,
        ),
      );
    openedModes.open(writeSteps.flatMap(({ file, from }) => (isFolder(from) ? [file] : [])));
    for (const folderPath of unfinished.folders) sweepParts(folderPath);
    for (writeStep of writeSteps) {
      if (!writeStep.act) newFolders.push(...missingFolders(path.dirname(writeStep.file)));
      const aside = keepAside(writeStep, goingFolders);
      doneSteps.push([writeStep, aside]);
      if (goingFolders.has(writeStep.file)) tidy(); // that may be in it
      if (writeStep.act) writeStep.act(false);
      else if (writeStep.to || stateInPlace(writeStep.file))
        writeState(writeStep.file, writeStep.to, openedModes, undefined, () =>
          assertAsCompared(writeStep),
        );
      if (aside) assertKept(writeStep, aside);
    }
    const newNames = [...writeSteps.map(({ file }) => file), ...newFolders];
    for (const folderPath of new Set(newNames.map((newName) => path.dirname(newName))))
      syncFolder(folderPath);
    forgetAsides();
    tidy();
  } catch (writeError) {
    const lost = doneSteps
      .toReversed()
      .flatMap(([doneStep, aside]) =>
        tryTo(() => revertStep(doneStep, openedModes, aside) ?? true) ? [] : doneStep.file,
      );
    removeEmptyFolders(newFolders);
    throw Object.assign(writeError as Error, { file: writeStep.file, lost });
  } finally {
    forgetAsides();
    openedModes.close();
  }
}

const foldersThatGo = (writeSteps: WriteStep[]): Set<string> =>
  new Set(
    writeSteps.flatMap(({ file, from, to, gone = [] }) =>
      isFolder(from) && !isFolder(to) ? file : gone,
    ),
  );

function unfinishedOf(writeSteps: WriteStep[], goingFolders: Set<string>): Unfinished {
  const folders = writeSteps.flatMap(
    ({ file, near }) => near ?? [path.dirname(file), lastingFolder(file, goingFolders)],
  );
  const madeFolders = writeSteps.flatMap(({ file, act }) =>
    act ? [] : missingFolders(path.dirname(file)),
  );
  return { folders: [...new Set(folders)], made: [...new Set(madeFolders)].sort() };
}

/**
 * What is replaced is what was compared: another program may have saved the file since, in place or
 * as a new one.
 */
function assertAsCompared({ file, from }: WriteStep): void {
  if (isFolder(from)) return; // what is in it decides, and rmdir() refuses
  // its folder may keep its owner out
  const readStat = () => tryTo(() => fs.lstatSync(file, { throwIfNoEntry: false }));
  // reading it may take setting modes
  const readStamp = (fileStat = readStat()) =>
    fileStat && `${fileStat.ino} ${fileStat.size} ${fileStat.mtimeMs}`;
  const stampBefore = readStamp();
  if (!isSameState(stateInPlace(file), from) || readStamp() !== stampBefore)
    throw changedMeanwhile(file);
}
/**
 * The old content, which is kept until all is done, is still what was compared: else somebody has
 * just written to it.
 */
function assertKept({ file, from }: WriteStep, aside: string): void {
  const keptBytes = tryTo(() => fs.readFileSync(aside)); // who cannot read it could not write to it
  if (keptBytes && !keptBytes.equals(from!.bytes)) throw changedMeanwhile(file);
}
const changedMeanwhile = (changedFile: string): Fault =>
  fault(`Cannot write '${path.basename(changedFile)}': it changed meanwhile. Read it again.`);

/** The folder of a file, or the one around the folders that go. */
const lastingFolder = (filePath: string, goingFolders: Set<string>): string =>
  path.dirname(ancestorsOf(filePath).find((ancestor) => goingFolders.has(ancestor)) ?? filePath);

/**
 * Keeps a file under another name until all is done: it comes back even if another program fills
 * the disk meanwhile.
 */
function keepAside({ file, from, act }: WriteStep, goingFolders: Set<string>): string | undefined {
  if (act || !from || (from.mode & TYPE) !== FILE) return undefined;
  const aside = partIn(lastingFolder(file, goingFolders));
  // Some disks have no links.
  return tryTo(() =>
    withFolderOpen(file, (reachedPath) =>
      withFolderOpen(aside, (reachedAside) => fs.linkSync(reachedPath, reachedAside) ?? aside),
    ),
  );
}

function revertStep(
  { file, from, to, act }: WriteStep,
  openedModes: FolderModes,
  aside?: string,
): void {
  if (act) {
    act(true);
    return;
  }
  const current = stateInPlace(file);
  const isOthers =
    current !== undefined &&
    (current.mode & TYPE) === FILE &&
    ![from, to].some((diskState) => diskState?.bytes.equals(current.bytes));
  if (isOthers) return; // somebody has saved it since: theirs stays
  if (isSameState(current, from)) isFolder(from) && openedModes.give(file, from!.mode);
  else if (!aside || !tryTo(() => writeState(file, from, openedModes, aside) ?? true))
    writeState(file, from, openedModes);
}

/** Takes away what a process that was killed left. What is not empty is somebody's by now. */
export function removeUnfinished({ folders, made: newFolders }: Unfinished, deadPid: number): void {
  for (const folderPath of [...folders, ...newFolders]) sweepParts(folderPath, deadPid);
  removeEmptyFolders(newFolders);
}

/** Removes the folders that are empty again. */
export const removeEmptyFolders = (folders: string[]): void => {
  for (const folderPath of folders.toReversed()) tryTo(() => fs.rmdirSync(folderPath));
};

/**
 * act: used instead of writing, and to take it back. gone: the folders that it removes. near: those
 * that it works in.
 */
export type WriteStep = {
  file: string;
  from: DiskState;
  to: DiskState;
  act?: ((isRevert: boolean) => void) | undefined;
  gone?: string[];
  near?: string[];
};

export const fileFault = (
  verb: string,
  fileName: string,
  diskError: unknown,
  extraFields: Partial<Fault> = {},
): Fault =>
  fault(
    `Cannot ${verb} '${fileName}': ${errnoSentence(diskError) || `${errorMessage(diskError)}.`}`,
    extraFields,
  );

/** The same for what putAll threw; it may not have been able to take everything back. */
export function writeFault(
  verb: string,
  nameOf: (filePath: string) => string,
  writeError: any,
  defaultFile = "",
): Fault {
  const { file = defaultFile, lost = [] }: { file?: string; lost?: string[] } = writeError;
  const failure = codeOf(writeError) ? fileFault(verb, nameOf(file), writeError) : writeError;
  const lostNames = someOf(10, lost, (lostFile) => `'${nameOf(lostFile)}'`);
  if (lostNames)
    failure.message += ` What it did to ${lostNames} could not be taken back: then undo it.`;
  return failure;
}

/**
 * Makes folders one by one: mkdir's own `recursive` hangs under /proc, and reports a read-only disk
 * as a missing folder.
 */
export function makePrivate(folderPath: string): void {
  for (const missing of missingFolders(folderPath))
    try {
      fs.mkdirSync(missing, { mode: 0o700 });
    } catch (makeError) {
      if (codeOf(makeError) !== "EEXIST") throw makeError; // another zz has just made it
    }
  if (path.basename(folderPath) === "sessions" && fs.statSync(folderPath).mode & 0o077)
    fs.chmodSync(folderPath, 0o700);
}

/** A full disk names no file in its error: the sentence about it should. */
export function namingFile<T>(file: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw Object.assign(error as Error, { path: (error as NodeJS.ErrnoException).path ?? file });
  }
}

/** Only the person may read it. */
export function writePrivate(privateFile: string, newText: string): void {
  makePrivate(path.dirname(privateFile));
  const realFile =
    tryTo(() => fs.realpathSync(privateFile)) ??
    path.join(fs.realpathSync(path.dirname(privateFile)), path.basename(privateFile));
  sweepParts(path.dirname(realFile));
  const newState = { bytes: Buffer.from(`${newText}\n`), mode: 0o100600 };
  namingFile(realFile, () => writeState(realFile, newState));
  syncFolder(path.dirname(realFile));
}
