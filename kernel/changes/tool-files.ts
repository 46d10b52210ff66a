// ctx.files: the tools' only way to the disk.
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import type { Call, Fault, FileRead, FileState, Files, Kind } from "../contract.ts";
import { verdictFor } from "../gate/rules.ts";
import { repositoryAround } from "../gate/sensitive-paths.ts";
import { type Core, isTool, type TurnContext } from "../instance.ts";
import { fileFault } from "../system/atomic-write.ts";
import {
  type DiskState,
  FILE,
  hashOfState,
  isFolder,
  MAX_READ_BYTES,
  stateInPlace,
  stateOf,
  TYPE,
} from "../system/file-state.ts";
import { openReal } from "../system/open-real.ts";
import { absolutePath, projectContaining, realPath, shortestName } from "../system/real-paths.ts";
import { codeOf, fault } from "../text/faults.ts";
import { isInside } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import { changeEffect } from "./change-log.ts";
import { commitChanges, keepChanges, type PendingChanges, showChange } from "./commit-changes.ts";
import { type Moves, planMoves } from "./folder-moves.ts";
import { listUnignored } from "./list-unignored.ts";
import { markLinesSeen, mergeSpans, movedNow } from "./seen-files.ts";
import { changesToShow, undoOrRedo } from "./undo.ts";

/**
 * What one call may reach. `granted`: what the gate allowed by name; `held`: pending changes;
 * `reads`: hashes of the files read whole.
 */
type CallReach = {
  tool: string;
  args?: Call["args"];
  granted?: string[];
  held?: PendingChanges | undefined;
  reads?: Map<string, string>;
  changes?: boolean;
};
type FilesOfCall = TurnContext &
  CallReach & {
    args: Call["args"];
    granted: string[];
    changes: boolean;
    bases: Map<string, string>; // hashes of what it read last, on which its changes are based
  };

export function filesForCall(turnContext: TurnContext, callReach: CallReach): Files {
  const defaults = { args: {}, granted: [], changes: true, bases: new Map() };
  const hand: FilesOfCall = { ...turnContext, ...defaults, ...callReach };
  const { options } = turnContext.core;
  return {
    path: (fileName) => requireInside(hand, fileName),
    read: (fileName) => readFile(hand, fileName),
    shown(fileName, lineSpans, fileHash) {
      const filePath = requireInside(hand, fileName);
      hand.reads?.delete(filePath);
      const pendingState = fileHash ?? tryTo(() => hashOfState(stateOf(filePath)));
      if (pendingState) markLinesSeen(turnContext.chat, filePath, pendingState, lineSpans);
    },
    open: openReal,
    list: (underFolder) => listFiles(hand, underFolder),
    async write(fileName, content) {
      const newBytes = typeof content === "string" ? undefined : Buffer.from(content);
      const newFileMode = FILE | (0o666 & ~process.umask());
      const makeState = (before: DiskState) => ({
        bytes: newBytes ?? adaptText(String(content), before),
        mode: before?.mode ?? newFileMode,
      });
      await changeFiles(hand, "write", fileName, [[realPath(options, fileName), makeState]]);
    },
    async remove(fileName) {
      const filePath = pathOfLinkItself(hand, fileName);
      if (!stateOfFile(hand, filePath)) throw fileFault("delete", fileName, { code: "ENOENT" });
      await changeFiles(hand, "delete", fileName, [[filePath, () => undefined]]);
    },
    async move(from, to) {
      const [file, targetPath] = [pathOfLinkItself(hand, from), pathOfLinkItself(hand, to)];
      if (!heldOrOnDisk(hand, file)) throw fileFault("move", from, { code: "ENOENT" });
      if (heldOrOnDisk(hand, targetPath))
        throw fault(`Cannot move '${from}' to '${to}': there is a file already. Delete it first.`);
      await changeFiles(hand, "move", from, moveSteps(hand, file, targetPath));
    },
    apply: (fileStates, aboutText) => applyCopyEffects(hand, fileStates, aboutText),
    made: (statesBefore) => recordMade(hand, statesBefore),
    changes: () =>
      changesToShow(turnContext).map((pastChange) => {
        const { change: id, turn, at, tool, path: filePath, undone } = pastChange;
        const did = changeEffect(pastChange);
        return { id, turn, at, tool, path: shortestName(options, filePath), did, undone };
      }),
    async diff(id) {
      const pastChanges = changesToShow(turnContext);
      const pastChange = pastChanges.find((pastChange) => pastChange.change === id);
      if (!pastChange)
        throw fault(`Cannot show change ${id}: there is none of that number. /changes lists them.`);
      return showChange(turnContext, pastChanges, pastChange);
    },
    undo: (selector = "1") => undoOrRedo(forPerson(hand, "undo"), "undo", selector),
    redo: (selector = "1") => undoOrRedo(forPerson(hand, "redo"), "redo", selector),
  };
}

/** Commands and flags act for the person; a tool acts for the model. */
function forPerson(fileAccess: FilesOfCall, verb: string): TurnContext {
  if (!isTool(fileAccess.tool)) return fileAccess;
  throw fault(`Cannot ${verb} in a tool: only the person does that. Register a command for it.`);
}

function requireInside({ core, granted }: FilesOfCall, fileName: string): string {
  const filePath = realPath(core.options, fileName);
  const allowed = (needKind: Kind) =>
    verdictFor(core, needKind, filePath, filePath).verdict === "allow";
  if (
    !projectContaining(core.options, filePath) &&
    !granted.includes(filePath) &&
    !allowed("read") &&
    !allowed("write")
  )
    throw fault(
      `Cannot use '${fileName}': it is outside the project (${core.options.root}). ` +
        insteadOf(core, filePath),
    );
  return filePath;
}

/** A subfolder of a repository is a project of its own, unless the person says otherwise. */
function insteadOf({ options: { root } }: Core, filePath: string): string {
  const repository = repositoryAround(root);
  return repository && repository !== root && isInside(repository, filePath)
    ? "It is in the same repository: " +
        "the person can let zz work in all of that (/config project.scope repository)."
    : "Use a path inside it.";
}

/** The path itself, with a link at its end not followed. */
function pathOfLinkItself({ core }: FilesOfCall, fileName: string): string {
  const literalPath = absolutePath(core.options, fileName);
  return path.join(realPath(core.options, path.dirname(literalPath)), path.basename(literalPath));
}

const heldOrOnDisk = ({ held }: FilesOfCall, filePath: string): DiskState =>
  held?.has(filePath) ? held.get(filePath)!.after : stateOf(filePath);

/**
 * A folder is made before what is in it, and goes after that; undone in reverse, this holds too.
 */
function moveSteps(fileAccess: FilesOfCall, sourcePath: string, targetPath: string): PendingStep[] {
  const fileState = heldOrOnDisk(fileAccess, sourcePath);
  const childNames = isFolder(fileState) ? fs.readdirSync(sourcePath) : [];
  const innerSteps = childNames.flatMap((childName) =>
    moveSteps(fileAccess, path.join(sourcePath, childName), path.join(targetPath, childName)),
  );
  return [[targetPath, () => fileState], ...innerSteps, [sourcePath, () => undefined]];
}

function stateOfFile(fileAccess: FilesOfCall, filePath: string): DiskState {
  const fileState = heldOrOnDisk(fileAccess, filePath);
  if (isFolder(fileState))
    throw fault(`Cannot change '${filePath}': it is a folder. Name a file, or use a command.`);
  return fileState;
}

/** Changes that a command made on a copy: always shown and asked for, at once. */
async function applyCopyEffects(
  fileAccess: FilesOfCall,
  fileStates: FileState[],
  about: string,
): ReturnType<Files["apply"]> {
  const pendingChanges: PendingChanges = new Map();
  const brief = new Map<string, string>();
  for (const {
    path: fileName,
    bytes,
    mode = FILE | 0o644,
    brief: briefFolder,
    moves: givenMoves,
  } of fileStates) {
    const filePath = absolutePath(fileAccess.core.options, fileName);
    const isInNewFolder = () =>
      // it replaces a link
      [...pendingChanges].some(
        ([madeFolder, { after }]) =>
          madeFolder !== filePath && isFolder(after) && isInside(madeFolder, filePath),
      );
    if (
      !isInside(fileAccess.core.options.root, filePath) ||
      (pathOfLinkItself(fileAccess, fileName) !== filePath && !isInNewFolder())
    )
      throw fault(`Cannot change '${fileName}': a link on its way leads elsewhere.`);
    if (pendingChanges.has(filePath))
      throw fault(
        `Cannot change '${fileName}': two changes are of that name, ` +
          "as far as it is UTF-8. Make them one by one.",
      );
    const after = bytes && { bytes: Buffer.from(bytes), mode };
    const moves = givenMoves && planMoves(fileAccess.core.options.root, givenMoves);
    pendingChanges.set(
      filePath,
      moves
        ? { ...combinedState(moves, after!), moves }
        : { before: stateInPlace(filePath), after },
    );
    if (briefFolder !== undefined) brief.set(filePath, briefFolder);
  }
  return commitChanges(fileAccess, buildCall(fileAccess), pendingChanges, [], { about, brief });
}

/**
 * Records what a command did in the project itself, where it was allowed to, so that undo has it.
 */
async function recordMade(fileAccess: FilesOfCall, fileStates: FileState[]): Promise<void> {
  const { core, tool } = fileAccess;
  const madeChanges: PendingChanges = new Map();
  for (const { path: fileName, bytes, mode = FILE | 0o644 } of fileStates) {
    const filePath = pathOfLinkItself(fileAccess, fileName);
    const before = bytes && { bytes: Buffer.from(bytes), mode };
    if (isInside(core.options.root, filePath))
      madeChanges.set(filePath, { before, after: stateInPlace(filePath) });
  }
  if (madeChanges.size) await keepChanges(fileAccess, tool, madeChanges, "made");
}

/** Many files that are shown and recorded as one entry with their number. */
function combinedState(
  { rows }: Moves,
  summaryState: NonNullable<DiskState>,
): { before: DiskState; after: DiskState } {
  const isGone = rows.every(([, , newLook]) => !newLook);
  const emptied = rows.some(([, oldLook]) => oldLook)
    ? { ...summaryState, bytes: Buffer.alloc(0) }
    : undefined;
  return { before: isGone ? summaryState : emptied, after: isGone ? undefined : summaryState };
}

const buildCall = ({ tool, args }: FilesOfCall) => ({ name: tool, args });

type PendingStep = [file: string, become: (before: DiskState) => DiskState];
/** Holds a tool's changes until it returns; a command's are asked for and made at once. */
async function changeFiles(
  fileAccess: FilesOfCall,
  verb: string,
  fileName: string,
  pendingSteps: PendingStep[],
): Promise<void> {
  const { tool, held, changes } = fileAccess;
  if (!changes)
    throw fault(
      `Cannot ${verb} '${fileName}': '${tool}' does not say that it changes files. ` +
        "Add changes: true to it.",
    );
  const pendingChanges: PendingChanges = held ?? new Map();
  try {
    for (const [filePath, makeState] of pendingSteps) {
      const present =
        verb === "move" ? heldOrOnDisk(fileAccess, filePath) : stateOfFile(fileAccess, filePath);
      if (present && !(present.mode & 0o222) && (present.mode & TYPE) === FILE)
        throw fault(
          `Cannot ${verb} '${fileName}': it is read-only. ` +
            "Leave it, or have its mode changed first.",
        );
      // what it becomes was made of what was read
      if (
        !pendingChanges.has(filePath) &&
        fileAccess.bases.has(filePath) &&
        fileAccess.bases.get(filePath) !== hashOfState(present)
      )
        throw fault(`Cannot ${verb} '${fileName}': it changed meanwhile. Read it again.`);
      pendingChanges.set(filePath, {
        before: pendingChanges.has(filePath) ? pendingChanges.get(filePath)!.before : present,
        after: makeState(present),
      });
    }
  } catch (error) {
    throw codeOf(error) ? fileFault(verb, fileName, error) : error;
  }
  const { refusal } = held
    ? {}
    : await commitChanges(fileAccess, buildCall(fileAccess), pendingChanges);
  if (refusal) throw fault(refusal);
  for (const [filePath] of pendingSteps) fileAccess.bases.delete(filePath);
}

async function readFile(fileAccess: FilesOfCall, fileName: string): Promise<FileRead> {
  const { core, chat, granted, held, reads } = fileAccess;
  const refuseRead = (reason: string) => fault(`Cannot read '${fileName}': ${reason}`);
  const filePath = requireInside(fileAccess, fileName);
  // judged again: a search finds files that no need named
  const { verdict, why } = verdictFor(core, "read", filePath, filePath);
  if (verdict === "deny") throw refuseRead(`it is denied ${why}.`);
  if (verdict === "ask" && !granted.includes(filePath))
    throw refuseRead("it requires read access. Name the file itself, and it is asked for.");
  const waiting = held?.get(filePath);
  try {
    if (waiting && !waiting.after) throw fileFault("read", fileName, { code: "ENOENT" });
    const bytes = waiting?.after?.bytes ?? (await bytesOf(filePath, refuseRead));
    const hash = hashOfState({ bytes, mode: FILE })!;
    const seenFile = chat.seen.get(filePath);
    const seenFields = {
      ...(seenFile && { seen: seenFile.hash }),
      lines: mergeSpans(seenFile?.lines ?? []),
      moved: movedNow(chat, seenFile),
    };
    if (!waiting && isTool(fileAccess.tool)) fileAccess.bases.set(filePath, hash);
    if (granted.includes(filePath)) reads?.set(filePath, hash);
    return { text: bytes.toString("utf8"), bytes, hash, ...seenFields };
  } catch (error) {
    throw codeOf(error) ? fileFault("read", fileName, error) : error;
  }
}

async function bytesOf(filePath: string, refuseRead: (reason: string) => Fault): Promise<Buffer> {
  const checkStat = (fileStat: fs.Stats) => {
    if (fileStat.isDirectory()) throw refuseRead("it is a folder. List it with list_dir instead.");
    if (!fileStat.isFile()) throw refuseRead("it is not a regular file. Choose another.");
    if (fileStat.size > MAX_READ_BYTES)
      throw refuseRead(`${fileStat.size} bytes are too many. Search it instead.`);
  };
  checkStat(await fs.promises.lstat(filePath)); // devices are refused before they are opened
  const fd = openReal(filePath);
  try {
    checkStat(fs.fstatSync(fd));
    return await promisify(fs.readFile)(fd);
  } finally {
    fs.closeSync(fd);
  }
}

async function listFiles(fileAccess: FilesOfCall, underFolder = "."): Promise<string[]> {
  const { options } = fileAccess.core;
  const { root } = options;
  const folder = requireInside(fileAccess, underFolder);
  const folderStat = fs.statSync(folder, { throwIfNoEntry: false });
  if (!folderStat?.isDirectory())
    throw fault(
      `Cannot list '${underFolder}': ` +
        `${folderStat ? "it is a file. Read it" : "no such folder. Check the path"}.`,
    );
  const prefix = folder === root ? "" : `${path.relative(root, folder)}/`;
  const top = isInside(root, folder)
    ? root
    : (projectContaining(options, folder)?.folder ?? folder);
  return listUnignored({ root, top, folder }, prefix);
}

/** A text that keeps the file's byte order mark, line ends and final newline. */
function adaptText(newText: string, before: DiskState): Buffer {
  const oldText = before?.bytes.toString("utf8") ?? "";
  if (!oldText || !before?.bytes.equals(Buffer.from(oldText))) return Buffer.from(newText);
  const countEnding = (lineEnding: string) => oldText.split(lineEnding).length - 1;
  const lineCount = countEnding("\n");
  let adaptedText = newText;
  if (lineCount && countEnding("\r\n") === lineCount)
    adaptedText = adaptedText.replace(/\r?\n/g, "\r\n");
  else if (lineCount && !countEnding("\r\n")) adaptedText = adaptedText.replaceAll("\r\n", "\n");
  if (!oldText.endsWith("\n")) adaptedText = adaptedText.replace(/\r?\n$/, "");
  else if (adaptedText && !adaptedText.endsWith("\n"))
    adaptedText += /\r\n$/.test(oldText) ? "\r\n" : "\n";
  if (oldText.startsWith("\ufeff") && !adaptedText.startsWith("\ufeff"))
    adaptedText = `\ufeff${adaptedText}`;
  return Buffer.from(adaptedText);
}
