// ctx.files: the tools' only way to the disk.
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import type { Call, Fault, FileRead, FileState, Files, Kind } from "../contract.ts";
import { emit } from "../events.ts";
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
import { withProjectLock } from "../system/locks.ts";
import { openReal } from "../system/open-real.ts";
import { absolutePath, projectContaining, realPath, shortestName } from "../system/real-paths.ts";
import { clockOf } from "../text/clock.ts";
import { codeOf, fault } from "../text/faults.ts";
import { isInside } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import { changeEffect, changeHistory, recordAndWrite } from "./change-log.ts";
import { commitChanges, type PendingChanges, showChange } from "./commit-changes.ts";
import { type Moves, planMoves } from "./folder-moves.ts";
import { listUnignored } from "./list-unignored.ts";
import { followChanges, markLinesSeen, mergeSpans, movedNow } from "./seen-files.ts";
import { sessionWithChanges, undoOrRedo } from "./undo.ts";

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

export function filesForCall(turnContext: TurnContext, reach: CallReach): Files {
  const defaults = { args: {}, granted: [], changes: true, bases: new Map() };
  const hand: FilesOfCall = { ...turnContext, ...defaults, ...reach };
  const { options } = turnContext.core;
  return {
    path: (name) => requireInside(hand, name),
    read: (name) => readFile(hand, name),
    shown(name, lines, hash) {
      const file = requireInside(hand, name);
      hand.reads?.delete(file);
      const pendingState = hash ?? tryTo(() => hashOfState(stateOf(file)));
      if (pendingState) markLinesSeen(turnContext.chat, file, pendingState, lines);
    },
    open: openReal,
    list: (under) => listFiles(hand, under),
    async write(name, content) {
      const newBytes = typeof content === "string" ? undefined : Buffer.from(content);
      const mode = FILE | (0o666 & ~process.umask());
      const become = (before: DiskState) => ({
        bytes: newBytes ?? adaptText(String(content), before),
        mode: before?.mode ?? mode,
      });
      await changeFiles(hand, "write", name, [[realPath(options, name), become]]);
    },
    async remove(name) {
      const file = pathOfLinkItself(hand, name);
      if (!stateOfFile(hand, file)) throw fileFault("delete", name, { code: "ENOENT" });
      await changeFiles(hand, "delete", name, [[file, () => undefined]]);
    },
    async move(from, to) {
      const [file, target] = [pathOfLinkItself(hand, from), pathOfLinkItself(hand, to)];
      if (!heldOrOnDisk(hand, file)) throw fileFault("move", from, { code: "ENOENT" });
      if (heldOrOnDisk(hand, target))
        throw fault(`Cannot move '${from}' to '${to}': there is a file already. Delete it first.`);
      await changeFiles(hand, "move", from, moveSteps(hand, file, target));
    },
    apply: (states, about) => applyCopyEffects(hand, states, about),
    made: (before) => recordMade(hand, before),
    changes: () =>
      changeHistory(sessionWithChanges(turnContext)).changes.map((pastChange) => {
        const { change: id, turn, at, tool, path: file, undone } = pastChange;
        const did = changeEffect(pastChange);
        return { id, turn, at, tool, path: shortestName(options, file), did, undone };
      }),
    async diff(id) {
      const pastChanges = changeHistory(sessionWithChanges(turnContext)).changes;
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
function forPerson(hand: FilesOfCall, verb: string): TurnContext {
  if (!isTool(hand.tool)) return hand;
  throw fault(`Cannot ${verb} in a tool: only the person does that. Register a command for it.`);
}

function requireInside({ core, granted }: FilesOfCall, name: string): string {
  const file = realPath(core.options, name);
  const allowed = (needKind: Kind) => verdictFor(core, needKind, file, file).verdict === "allow";
  if (
    !projectContaining(core.options, file) &&
    !granted.includes(file) &&
    !allowed("read") &&
    !allowed("write")
  )
    throw fault(
      `Cannot use '${name}': it is outside the project (${core.options.root}). ${insteadOf(core, file)}`,
    );
  return file;
}

/** A subfolder of a repository is a project of its own, unless the person says otherwise. */
function insteadOf({ options: { root } }: Core, file: string): string {
  const repository = repositoryAround(root);
  return repository && repository !== root && isInside(repository, file)
    ? `It is in the same repository: the person can let zz work in all of that (/config project.scope repository).`
    : "Use a path inside it.";
}

/** The path itself, with a link at its end not followed. */
function pathOfLinkItself({ core }: FilesOfCall, name: string): string {
  const literalPath = absolutePath(core.options, name);
  return path.join(realPath(core.options, path.dirname(literalPath)), path.basename(literalPath));
}

const heldOrOnDisk = ({ held }: FilesOfCall, file: string): DiskState =>
  held?.has(file) ? held.get(file)!.after : stateOf(file);

/**
 * A folder is made before what is in it, and goes after that; undone in reverse, this holds too.
 */
function moveSteps(hand: FilesOfCall, file: string, target: string): PendingStep[] {
  const state = heldOrOnDisk(hand, file);
  const names = isFolder(state) ? fs.readdirSync(file) : [];
  const inner = names.flatMap((name) =>
    moveSteps(hand, path.join(file, name), path.join(target, name)),
  );
  return [[target, () => state], ...inner, [file, () => undefined]];
}

function stateOfFile(hand: FilesOfCall, file: string): DiskState {
  const state = heldOrOnDisk(hand, file);
  if (isFolder(state))
    throw fault(`Cannot change '${file}': it is a folder. Name a file, or use a command.`);
  return state;
}

/** Changes that a command made on a copy: always shown and asked for, at once. */
async function applyCopyEffects(
  hand: FilesOfCall,
  states: FileState[],
  about: string,
): ReturnType<Files["apply"]> {
  const into: PendingChanges = new Map();
  const brief = new Map<string, string>();
  for (const {
    path: name,
    bytes,
    mode = FILE | 0o644,
    brief: folder,
    moves: givenMoves,
  } of states) {
    const file = absolutePath(hand.core.options, name);
    const isMade = () =>
      // it replaces a link
      [...into].some(
        ([madeFolder, { after }]) =>
          madeFolder !== file && isFolder(after) && isInside(madeFolder, file),
      );
    if (
      !isInside(hand.core.options.root, file) ||
      (pathOfLinkItself(hand, name) !== file && !isMade())
    )
      throw fault(`Cannot change '${name}': a link on its way leads elsewhere.`);
    if (into.has(file))
      throw fault(
        `Cannot change '${name}': two changes are of that name, as far as it is UTF-8. Make them one by one.`,
      );
    const after = bytes && { bytes: Buffer.from(bytes), mode };
    const moves = givenMoves && planMoves(hand.core.options.root, givenMoves);
    if (moves) into.set(file, { ...combinedState(moves, after!), moves });
    else into.set(file, { before: stateInPlace(file), after });
    if (folder !== undefined) brief.set(file, folder);
  }
  return commitChanges(hand, callOf(hand), into, [], { about, brief });
}

/**
 * Records what a command did in the project itself, where it was allowed to, so that undo has it.
 */
async function recordMade(hand: FilesOfCall, states: FileState[]): Promise<void> {
  const { core, chat, ctx, tool } = hand;
  const madeChanges: PendingChanges = new Map();
  for (const { path: name, bytes, mode = FILE | 0o644 } of states) {
    const file = pathOfLinkItself(hand, name);
    const before = bytes && { bytes: Buffer.from(bytes), mode };
    if (isInside(core.options.root, file))
      madeChanges.set(file, { before, after: stateInPlace(file) });
  }
  if (!madeChanges.size) return;
  await withProjectLock(core.options.root, clockOf(core.io), ctx.signal, (begin) =>
    recordAndWrite(hand, tool, madeChanges, { tidies: "made", begin }),
  );
  if (isTool(tool)) followChanges(chat, madeChanges, false);
  await emit(core, "changed", {
    tool,
    paths: [...madeChanges.keys()].map((file) => shortestName(core.options, file)),
  });
}

/** Many files that are shown and recorded as one entry with their number. */
function combinedState(
  { rows }: Moves,
  about: NonNullable<DiskState>,
): { before: DiskState; after: DiskState } {
  const isGone = rows.every(([, , is]) => !is);
  const emptied = rows.some(([, was]) => was) ? { ...about, bytes: Buffer.alloc(0) } : undefined;
  return { before: isGone ? about : emptied, after: isGone ? undefined : about };
}

const callOf = ({ tool, args }: FilesOfCall) => ({ name: tool, args });

type PendingStep = [file: string, become: (before: DiskState) => DiskState];
/** Holds a tool's changes until it returns; a command's are asked for and made at once. */
async function changeFiles(
  hand: FilesOfCall,
  verb: string,
  name: string,
  steps: PendingStep[],
): Promise<void> {
  const { tool, held, changes } = hand;
  if (!changes)
    throw fault(
      `Cannot ${verb} '${name}': '${tool}' does not say that it changes files. Add changes: true to it.`,
    );
  const into: PendingChanges = held ?? new Map();
  try {
    for (const [file, become] of steps) {
      const present = verb === "move" ? heldOrOnDisk(hand, file) : stateOfFile(hand, file);
      if (present && !(present.mode & 0o222) && (present.mode & TYPE) === FILE)
        throw fault(
          `Cannot ${verb} '${name}': it is read-only. Leave it, or have its mode changed first.`,
        );
      // what it becomes was made of what was read
      if (!into.has(file) && hand.bases.has(file) && hand.bases.get(file) !== hashOfState(present))
        throw fault(`Cannot ${verb} '${name}': it changed meanwhile. Read it again.`);
      into.set(file, {
        before: into.has(file) ? into.get(file)!.before : present,
        after: become(present),
      });
    }
  } catch (error) {
    throw codeOf(error) ? fileFault(verb, name, error) : error;
  }
  const { refusal } = held ? {} : await commitChanges(hand, callOf(hand), into);
  if (refusal) throw fault(refusal);
  for (const [file] of steps) hand.bases.delete(file);
}

async function readFile(hand: FilesOfCall, name: string): Promise<FileRead> {
  const { core, chat, granted, held, reads } = hand;
  const refuse = (reason: string) => fault(`Cannot read '${name}': ${reason}`);
  const file = requireInside(hand, name);
  // judged again: a search finds files that no need named
  const { verdict, why } = verdictFor(core, "read", file, file);
  if (verdict === "deny") throw refuse(`it is denied ${why}.`);
  if (verdict === "ask" && !granted.includes(file))
    throw refuse("it requires read access. Name the file itself, and it is asked for.");
  const waiting = held?.get(file);
  try {
    if (waiting && !waiting.after) throw fileFault("read", name, { code: "ENOENT" });
    const bytes = waiting?.after?.bytes ?? (await bytesOf(file, refuse));
    const hash = hashOfState({ bytes, mode: FILE })!;
    const seenFile = chat.seen.get(file);
    const seenFields = {
      ...(seenFile && { seen: seenFile.hash }),
      lines: mergeSpans(seenFile?.lines ?? []),
      moved: movedNow(chat, seenFile),
    };
    if (!waiting && isTool(hand.tool)) hand.bases.set(file, hash);
    if (granted.includes(file)) reads?.set(file, hash);
    return { text: bytes.toString("utf8"), bytes, hash, ...seenFields };
  } catch (error) {
    throw codeOf(error) ? fileFault("read", name, error) : error;
  }
}

async function bytesOf(file: string, refuse: (reason: string) => Fault): Promise<Buffer> {
  const check = (stat: fs.Stats) => {
    if (stat.isDirectory()) throw refuse("it is a folder. List it with list_dir instead.");
    if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
    if (stat.size > MAX_READ_BYTES)
      throw refuse(`${stat.size} bytes are too many. Search it instead.`);
  };
  check(await fs.promises.lstat(file)); // devices are refused before they are opened
  const fd = openReal(file);
  try {
    check(fs.fstatSync(fd));
    return await promisify(fs.readFile)(fd);
  } finally {
    fs.closeSync(fd);
  }
}

async function listFiles(hand: FilesOfCall, under = "."): Promise<string[]> {
  const { options } = hand.core;
  const { root } = options;
  const folder = requireInside(hand, under);
  const stat = fs.statSync(folder, { throwIfNoEntry: false });
  if (!stat?.isDirectory())
    throw fault(
      `Cannot list '${under}': ${stat ? "it is a file. Read it" : "no such folder. Check the path"}.`,
    );
  const prefix = folder === root ? "" : `${path.relative(root, folder)}/`;
  const top = isInside(root, folder)
    ? root
    : (projectContaining(options, folder)?.folder ?? folder);
  return listUnignored({ root, top, folder }, prefix);
}

/** A text that keeps the file's byte order mark, line ends and final newline. */
function adaptText(text: string, before: DiskState): Buffer {
  const old = before?.bytes.toString("utf8") ?? "";
  if (!before || !old || !before.bytes.equals(Buffer.from(old))) return Buffer.from(text);
  const count = (ending: string) => old.split(ending).length - 1;
  const lineCount = count("\n");
  let next = text;
  if (lineCount && count("\r\n") === lineCount) next = next.replace(/\r?\n/g, "\r\n");
  else if (lineCount && !count("\r\n")) next = next.replaceAll("\r\n", "\n");
  if (!old.endsWith("\n")) next = next.replace(/\r?\n$/, "");
  else if (next && !next.endsWith("\n")) next += /\r\n$/.test(old) ? "\r\n" : "\n";
  if (old.startsWith("\ufeff") && !next.startsWith("\ufeff")) next = `\ufeff${next}`;
  return Buffer.from(next);
}
