// Undo and redo.

import type { Entry, Result } from "../contract.ts";
import { addMessage, openChat } from "../conversation/chat.ts";
import { saveAgain, saveEntry } from "../conversation/save-chat.ts";
import {
  findSession,
  lastSession,
  openSession,
  readSession,
  sessionsFolder,
} from "../conversation/session-files.ts";
import { type Change, isChange, unsavedSession } from "../conversation/session-lines.ts";
import { sessionPlaceOf } from "../conversation/session-store.ts";
import { emitNote, noteTo } from "../events.ts";
import type { LiveChat, TurnContext } from "../instance.ts";
import {
  type Unfinished,
  type WriteStep,
  writeAllOrNone,
  writeFault,
} from "../system/atomic-write.ts";
import {
  type DiskState,
  FOLDER,
  hashOfState,
  isSameState,
  stateInPlace,
  TYPE,
} from "../system/file-state.ts";
import { withProjectLock } from "../system/locks.ts";
import { realPath, shortestName } from "../system/real-paths.ts";
import { clockOf } from "../text/clock.ts";
import { codeOf } from "../text/faults.ts";
import { visible } from "../text/show-safely.ts";
import { plural, someOf, tryTo } from "../text/words.ts";
import { bytesAround, changeHistory, moveStepFields, removeCreatedFolders } from "./change-log.ts";
import { reapplyChange } from "./commit-changes.ts";
import { changedSince, type KnownLooks, keptMoves } from "./folder-moves.ts";
import { countLines } from "./preview-change.ts";

/**
 * For use outside of a conversation: the named session, or the last one of this folder with
 * changes.
 */
function sessionWithChanges(turn: TurnContext): LiveChat {
  const { core, chat } = turn;
  const id = idWithChanges(turn);
  if (!id) return chat;
  const place = sessionPlaceOf(core);
  try {
    return Object.assign(chat, openChat(core, chat.model, openSession(place, id, noteTo(core))));
  } catch (error) {
    if (!/^(ENOSPC|EDQUOT|EROFS)$/.test(codeOf(error))) throw error;
    // what filled the disk may be what is to be undone
    const { header, entries } = readSession(place, id);
    return Object.assign(chat, openChat(core, chat.model, unsavedSession(header, entries)), {
      id: "",
      lost: id,
    });
  }
}

/** The changes to look at, read without the lock: another zz may go on in that session. */
export function changesToShow(turn: TurnContext): ReturnType<typeof changeHistory>["changes"] {
  const id = idWithChanges(turn);
  return changeHistory(id ? { session: readSession(sessionPlaceOf(turn.core), id) } : turn.chat)
    .changes;
}

function idWithChanges({ core, chat }: TurnContext): string | undefined {
  if (!chat.past || chat.session) return undefined;
  const place = sessionPlaceOf(core);
  if (chat.past !== true) return findSession(place, chat.past);
  return lastSession(place, core.options.root, noteTo(core), (id) =>
    Boolean(tryTo(() => hasChanged(readSession(place, id).entries))),
  );
}

/** Whether any change was made, and not only meant to be. */
function hasChanged(entries: readonly Entry[]): boolean {
  const neverMade = entries.flatMap((sessionEntry) =>
    sessionEntry.never ? (sessionEntry.changes as number[]) : [],
  );
  return entries.some(
    (sessionEntry) => isChange(sessionEntry) && !neverMade.includes(sessionEntry.change),
  );
}

/** What undo and redo work on: the conversation's changes, and which of them are undone. */
type UndoRequest = TurnContext & {
  chat: LiveChat;
  changes: ReturnType<typeof changeHistory>["changes"];
  back: boolean;
};
type BeginWriting = (unfinished: Unfinished) => void;
const visibleName = ({ core }: UndoRequest, filePath: string): string =>
  visible(shortestName(core.options, filePath));

/** Undoes or redoes all of the given changes, or none. */
export async function undoOrRedo(
  turn: TurnContext,
  verb: "undo" | "redo",
  selector: string,
): Promise<Result> {
  const { core } = turn;
  const chat = sessionWithChanges(turn);
  const { changes, redo } = changeHistory(chat);
  const undoRequest: UndoRequest = { ...turn, chat, changes, back: verb === "undo" };
  const batches = undoRequest.back
    ? changesToUndo(undoRequest, selector)
    : redo.slice(0, Number(selector) || 0);
  const pickedChanges = changes.filter(({ change }) => batches.flat().includes(change));
  if (!pickedChanges.length)
    return {
      text: `Nothing to ${verb}${/^(\d+|turn)$/.test(selector) ? "" : ` in '${selector}'`}.`,
      data: [],
    };
  if (undoRequest.back) pickedChanges.reverse();
  const changedPaths = pickedChanges.map((change) => change.path);
  const writeSteps: WriteStep[] = [];
  const knownLooks: KnownLooks = new Map();
  let [currentFile] = changedPaths;
  try {
    for (const target of new Set(
      pickedChanges.map((change) => (change.moves ? change : change.path)),
    )) {
      currentFile = typeof target === "string" ? target : target.path;
      const changesOfTarget = pickedChanges.filter((change) => change.path === target);
      const writeStep =
        typeof target === "string"
          ? await undoStepFor(undoRequest, target, changesOfTarget)
          : await moveStepOf(undoRequest, target, knownLooks, writeSteps);
      if (typeof writeStep === "string") return { text: writeStep, failed: true };
      if (writeStep) writeSteps.push(writeStep);
    }
    const writeAll = async (beginWriting: BeginWriting) =>
      writeAllOrNone(
        writeSteps,
        () => removeCreatedFolders(changes, changedPaths),
        true,
        beginWriting,
      );
    await withProjectLock(core.options.root, clockOf(core.io), turn.ctx.signal, writeAll);
  } catch (error) {
    throw writeFault(verb, (filePath) => visibleName(undoRequest, filePath), error, currentFile);
  }
  if (chat.lost) saveAgain(core, chat);
  for (const changes of batches)
    saveEntry(core, chat, undoRequest.back ? "undone" : "redone", { changes });
  await chat.session?.sync();
  const text = tellUndone(
    undoRequest,
    pickedChanges.length,
    await describeSteps(undoRequest, writeSteps),
  );
  return { text, data: changedPaths.map((filePath) => shortestName(core.options, filePath)) };
}

/** Which files became what they were, and by how many lines. */
async function describeSteps(undoRequest: UndoRequest, writeSteps: WriteStep[]): Promise<string> {
  const shownSteps: [name: string, lines: string][] = [];
  for (const { file, from, to } of writeSteps) {
    const isCounted = shownSteps.length < MAX_NAMED && (from || to);
    const lineCounts = isCounted ? ` (${await countLines(from, to)})` : "";
    shownSteps.push([visibleName(undoRequest, file), lineCounts]);
  }
  return someOf(MAX_NAMED, shownSteps, ([fileName, lineCounts]) => fileName + lineCounts);
}
const MAX_NAMED = 20;

/** Says what was undone or redone, to the person and in the conversation. */
function tellUndone(undoRequest: UndoRequest, changeCount: number, effects: string): string {
  const { core, chat } = undoRequest;
  if (chat.lost)
    emitNote(
      core,
      "Nothing can be written in the home now, " +
        `so zz does not remember that it ${undoRequest.back ? "undid" : "redid"} this.`,
    );
  const doneVerb = undoRequest.back ? "Undid" : "Redid";
  const sentence = `${doneVerb} ${plural(changeCount, "change")}${effects && `: ${effects}`}.`;
  if (chat.messages.length)
    addMessage(core, chat, {
      role: "user",
      text: `[Since your last message: ${sentence}]`,
      aside: true,
    });
  return sentence;
}

/** The last calls, one by one; the whole last turn; or the last change of one file. */
function changesToUndo({ core, changes }: UndoRequest, selector: string): number[][] {
  const standingChanges = changes.filter((change) => !change.undone);
  const pickNumbers = (isPicked: (change: Change) => boolean) =>
    standingChanges.filter(isPicked).map(({ change }) => change);
  if (selector === "turn")
    return [pickNumbers(({ turn }) => turn === standingChanges.at(-1)!.turn)];
  if (/^\d+$/.test(selector)) {
    const lastGroups = [...new Set(standingChanges.map(({ group }) => group))]
      .reverse()
      .slice(0, Number(selector));
    return lastGroups.map((groupNumber) => pickNumbers((change) => change.group === groupNumber));
  }
  const filePath = realPath(core.options, selector);
  return [pickNumbers((change) => change.path === filePath).slice(-1)];
}

/** The new state of one file, or a text that says why it cannot be changed back. */
async function undoStepFor(
  undoRequest: UndoRequest,
  file: string,
  changesOfFile: Change[],
): Promise<WriteStep | string | undefined> {
  const { core, back } = undoRequest;
  const from = stateInPlace(file);
  let reachedHash = hashOfState(from);
  const expected = changesOfFile.every(({ was, is, modes }) => {
    const [before, after] = back ? [is, was] : [was, is];
    // one makes room for the other
    const isBetween =
      reachedHash === null && modes.some((fileMode) => (fileMode & TYPE) === FOLDER);
    // after: zz was killed before it could make the change
    const isExpected = reachedHash === before || reachedHash === after || isBetween;
    reachedHash = after;
    return isExpected;
  });
  const [firstChange, lastChange] = [changesOfFile[0]!, changesOfFile.at(-1)!];
  const restoredMode = lastChange.modes[back ? 0 : 1];
  const isModeKept =
    // somebody has set it since
    from &&
    from.mode !== firstChange.modes[back ? 1 : 0] &&
    (from.mode & TYPE) === (restoredMode & TYPE);
  const isDeleted = (back ? lastChange.was : lastChange.is) === null;
  const to = isDeleted
    ? undefined
    : {
        bytes: bytesAround(undoRequest.changes, lastChange)[back ? 0 : 1],
        mode: isModeKept ? from.mode : restoredMode,
      };
  if (expected) return isSameState(from, to) ? undefined : { file, from, to };
  const failureText =
    `Cannot ${back ? "undo" : "redo"} ` +
    `'${visibleName(undoRequest, file)}': it has changed since.`;
  if (!core.ask)
    return `${failureText} Nothing was touched. At the prompt, zz can merge or overwrite it.`;
  const mergedState = await mergeAll(undoRequest, from, changesOfFile);
  const keyHints =
    `${mergedState ? "m = merge into what is there now, " : ""}o = ` +
    "overwrite, n = leave everything";
  const answerKey = await core.ask(
    `${failureText} [${mergedState ? "m/" : ""}o/N] (${keyHints}) `,
    mergedState ? "mon" : "on",
  );
  if (answerKey === "o") return { file, from, to };
  return answerKey === "m" && mergedState
    ? { file, from, to: mergedState }
    : `${failureText} Nothing was touched.`;
}

async function moveStepOf(
  undoRequest: UndoRequest,
  { path: file, moves: keptName = "" }: Change,
  knownLooks: KnownLooks,
  earlierSteps: WriteStep[],
) {
  const { core, back } = undoRequest;
  const moves = keptMoves(sessionsFolder(core.options.home), keptName);
  const failureText = `Cannot ${back ? "undo" : "redo"} '${visibleName(undoRequest, file)}':`;
  if (!moves) return `${failureText} what stood there is not kept any more. Nothing was touched.`;
  const nameSome = (fileNames: string[]) =>
    someOf(1, fileNames, (fileName) => `'${visible(fileName)}'`);
  // names are bytes
  const toLatin1 = (filePath: string) => Buffer.from(filePath).toString("latin1");
  const namesByPath = new Map(
    moves.rows.map(([rowName]) => [`${toLatin1(moves.root)}/${rowName}`, rowName]),
  );
  for (const { path: changedPath, was, is, moves: movedFiles } of undoRequest.changes) {
    const [rowName, lastStep] = [
      movedFiles ? undefined : namesByPath.get(toLatin1(changedPath)),
      earlierSteps.findLast((earlierStep) => earlierStep.file === changedPath),
    ];
    if (rowName === undefined || knownLooks.has(rowName)) continue;
    const fileState = lastStep ? lastStep.to : tryTo(() => stateInPlace(changedPath));
    if (fileState && [was, is].includes(hashOfState(fileState)))
      // zz wrote it
      knownLooks.set(rowName, [fileState.mode, fileState.bytes.length, Number.NaN, 0]);
  }
  const { changed, missing } = changedSince(moves, back, knownLooks);
  if (missing.length)
    return `${failureText} the copy of ${nameSome(missing)} is gone. Nothing was touched.`;
  const reason = `${failureText} ${nameSome(changed)} changed since.`;
  const answerKey = changed.length
    ? await core.ask?.(`${reason} [o/N] (o = overwrite, n = leave everything) `, "on")
    : "o";
  if (answerKey !== "o") return `${reason} Nothing was touched.`;
  return { file, from: undefined, to: undefined, ...moveStepFields(moves, back) };
}

async function mergeAll(
  undoRequest: UndoRequest,
  stateOnDisk: DiskState,
  changesOfFile: Change[],
): Promise<DiskState> {
  let current = stateOnDisk;
  for (const change of changesOfFile) {
    if (change.was === null || change.is === null) return undefined;
    const [olderState, newerState] = bytesAround(undoRequest.changes, change).map((bytes) => ({
      bytes,
      mode: 0,
    }));
    current = (
      await reapplyChange(
        current,
        undoRequest.back ? newerState : olderState,
        undoRequest.back ? olderState : newerState,
      )
    )?.after;
  }
  return current && { bytes: current.bytes, mode: stateOnDisk!.mode };
}
