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
import { emitNote } from "../events.ts";
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
import { changedSince, keptMoves } from "./folder-moves.ts";
import { countLines } from "./preview-change.ts";

/**
 * For use outside of a conversation: the named session, or the last one of this folder with
 * changes.
 */
export function sessionWithChanges({ core, chat }: TurnContext): LiveChat {
  const { home, root } = core.options;
  const { past, model } = chat;
  if (!past || chat.session) return chat;
  const warn = (text: string) => emitNote(core, text);
  const changed = (id: string) => Boolean(tryTo(() => hasChanged(readSession(home, id).entries)));
  const id = past === true ? lastSession(home, root, warn, changed) : findSession(home, past);
  if (!id) return chat;
  try {
    return Object.assign(chat, openChat(core, model, openSession(home, id, warn)));
  } catch (error) {
    if (!/^(ENOSPC|EDQUOT|EROFS)$/.test(codeOf(error))) throw error;
    // what filled the disk may be what is to be undone
    const { header, entries } = readSession(home, id);
    return Object.assign(chat, openChat(core, model, unsavedSession(header, entries)), {
      id: "",
      lost: id,
    });
  }
}

/** Whether any change was made, and not only meant to be. */
function hasChanged(entries: readonly Entry[]): boolean {
  const never = entries.flatMap((sessionEntry) =>
    sessionEntry.never ? (sessionEntry.changes as number[]) : [],
  );
  return entries.some(
    (sessionEntry) => isChange(sessionEntry) && !never.includes(sessionEntry.change),
  );
}

/** What undo and redo work on: the conversation's changes, and which of them are undone. */
type UndoRequest = TurnContext & {
  chat: LiveChat;
  changes: ReturnType<typeof changeHistory>["changes"];
  back: boolean;
};
type BeginWriting = (unfinished: Unfinished) => void;
const visibleName = ({ core }: UndoRequest, file: string): string =>
  visible(shortestName(core.options, file));

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
  const picked = changes.filter(({ change }) => batches.flat().includes(change));
  if (!picked.length)
    return {
      text: `Nothing to ${verb}${/^(\d+|turn)$/.test(selector) ? "" : ` in '${selector}'`}.`,
      data: [],
    };
  if (undoRequest.back) picked.reverse();
  const paths = picked.map((change) => change.path);
  const [steps, knownLooks]: [WriteStep[], Parameters<typeof changedSince>[2]] = [[], new Map()];
  let [file] = paths;
  try {
    for (const target of new Set(picked.map((change) => (change.moves ? change : change.path)))) {
      file = typeof target === "string" ? target : target.path;
      const changesOfTarget = picked.filter((change) => change.path === target);
      const step =
        typeof target === "string"
          ? await undoStepFor(undoRequest, target, changesOfTarget)
          : await moveStepOf(undoRequest, target, knownLooks, steps);
      if (typeof step === "string") return { text: step, failed: true };
      if (step) steps.push(step);
    }
    const put = async (begin: BeginWriting) =>
      writeAllOrNone(steps, () => removeCreatedFolders(changes, paths), true, begin);
    await withProjectLock(core.options.root, clockOf(core.io), turn.ctx.signal, put);
  } catch (error) {
    throw writeFault(verb, (file) => visibleName(undoRequest, file), error, file);
  }
  if (chat.lost) saveAgain(core, chat);
  for (const changes of batches)
    saveEntry(core, chat, undoRequest.back ? "undone" : "redone", { changes });
  await chat.session?.sync();
  const text = tellUndone(undoRequest, picked.length, await describeSteps(undoRequest, steps));
  return { text, data: paths.map((file) => shortestName(core.options, file)) };
}

/** Which files became what they were, and by how many lines. */
async function describeSteps(undoRequest: UndoRequest, steps: WriteStep[]): Promise<string> {
  const shown: [name: string, lines: string][] = [];
  for (const { file, from, to } of steps) {
    const isCounted = shown.length < MAX_NAMED && (from || to);
    const lines = isCounted ? ` (${await countLines(from, to)})` : "";
    shown.push([visibleName(undoRequest, file), lines]);
  }
  return someOf(MAX_NAMED, shown, ([name, lines]) => name + lines);
}
const MAX_NAMED = 20;

/** Says what was undone or redone, to the person and in the conversation. */
function tellUndone(undoRequest: UndoRequest, count: number, effects: string): string {
  const { core, chat } = undoRequest;
  if (chat.lost)
    emitNote(
      core,
      `Nothing can be written in the home now, so zz does not remember that it ${undoRequest.back ? "undid" : "redid"} this.`,
    );
  const did = undoRequest.back ? "Undid" : "Redid";
  const text = `${did} ${plural(count, "change")}${effects && `: ${effects}`}.`;
  if (chat.messages.length)
    addMessage(core, chat, {
      role: "user",
      text: `[Since your last message: ${text}]`,
      aside: true,
    });
  return text;
}

/** The last calls, one by one; the whole last turn; or the last change of one file. */
function changesToUndo({ core, changes }: UndoRequest, selector: string): number[][] {
  const open = changes.filter((change) => !change.undone);
  const of = (fits: (change: Change) => boolean) => open.filter(fits).map(({ change }) => change);
  if (selector === "turn") return [of(({ turn }) => turn === open.at(-1)!.turn)];
  if (/^\d+$/.test(selector)) {
    const groups = [...new Set(open.map(({ group }) => group))]
      .reverse()
      .slice(0, Number(selector));
    return groups.map((group) => of((change) => change.group === group));
  }
  const file = realPath(core.options, selector);
  return [of((change) => change.path === file).slice(-1)];
}

/** The new state of one file, or a text that says why it cannot be changed back. */
async function undoStepFor(
  undoRequest: UndoRequest,
  file: string,
  changesOfFile: Change[],
): Promise<WriteStep | string | undefined> {
  const { core, back } = undoRequest;
  const from = stateInPlace(file);
  let hash = hashOfState(from);
  const expected = changesOfFile.every(({ was, is, modes }) => {
    const [before, after] = back ? [is, was] : [was, is];
    // one makes room for the other
    const isBetween = hash === null && modes.some((mode) => (mode & TYPE) === FOLDER);
    // after: zz was killed before it could make the change
    const fits = hash === before || hash === after || isBetween;
    hash = after;
    return fits;
  });
  const [first, last] = [changesOfFile[0]!, changesOfFile.at(-1)!];
  const then = last.modes[back ? 0 : 1];
  const isKept =
    // somebody has set it since
    from && from.mode !== first.modes[back ? 1 : 0] && (from.mode & TYPE) === (then & TYPE);
  const isGone = (back ? last.was : last.is) === null;
  const to = isGone
    ? undefined
    : {
        bytes: bytesAround(undoRequest.changes, last)[back ? 0 : 1],
        mode: isKept ? from.mode : then,
      };
  if (expected) return isSameState(from, to) ? undefined : { file, from, to };
  const cannot = `Cannot ${back ? "undo" : "redo"} '${visibleName(undoRequest, file)}': it has changed since.`;
  if (!core.ask)
    return `${cannot} Nothing was touched. At the prompt, zz can merge or overwrite it.`;
  const merged = await mergeAll(undoRequest, from, changesOfFile);
  const keys = `${merged ? "m = merge into what is there now, " : ""}o = overwrite, n = leave everything`;
  const key = await core.ask(
    `${cannot} [${merged ? "m/" : ""}o/N] (${keys}) `,
    merged ? "mon" : "on",
  );
  if (key === "o") return { file, from, to };
  return key === "m" && merged ? { file, from, to: merged } : `${cannot} Nothing was touched.`;
}

async function moveStepOf(
  undoRequest: UndoRequest,
  { path: file, moves: name = "" }: Change,
  knownLooks: Map<string, any>,
  before: WriteStep[],
) {
  const { core, back } = undoRequest;
  const moves = keptMoves(sessionsFolder(core.options.home), name);
  const cannot = `Cannot ${back ? "undo" : "redo"} '${visibleName(undoRequest, file)}':`;
  if (!moves) return `${cannot} what stood there is not kept any more. Nothing was touched.`;
  const nameSome = (names: string[]) => someOf(1, names, (name) => `'${visible(name)}'`);
  const raw = (file: string) => Buffer.from(file).toString("latin1"); // names are bytes
  const rows = new Map(moves.rows.map(([name]) => [`${raw(moves.root)}/${name}`, name]));
  for (const { path: changedPath, was, is, moves: movedFiles } of undoRequest.changes) {
    const [row, last] = [
      movedFiles ? undefined : rows.get(raw(changedPath)),
      before.findLast((step) => step.file === changedPath),
    ];
    if (row === undefined || knownLooks.has(row)) continue;
    const state = last ? last.to : tryTo(() => stateInPlace(changedPath));
    if (state && [was, is].includes(hashOfState(state)))
      knownLooks.set(row, [state.mode, state.bytes.length, Number.NaN, 0]); // zz wrote it
  }
  const { changed, missing } = changedSince(moves, back, knownLooks);
  if (missing.length)
    return `${cannot} the copy of ${nameSome(missing)} is gone. Nothing was touched.`;
  const reason = `${cannot} ${nameSome(changed)} changed since.`;
  const key = changed.length
    ? await core.ask?.(`${reason} [o/N] (o = overwrite, n = leave everything) `, "on")
    : "o";
  if (key !== "o") return `${reason} Nothing was touched.`;
  return { file, from: undefined, to: undefined, ...moveStepFields(moves, back) };
}

async function mergeAll(
  undoRequest: UndoRequest,
  from: DiskState,
  changesOfFile: Change[],
): Promise<DiskState> {
  let current = from;
  for (const change of changesOfFile) {
    if (change.was === null || change.is === null) return undefined;
    const [older, two] = bytesAround(undoRequest.changes, change).map((bytes) => ({
      bytes,
      mode: 0,
    }));
    current = (
      await reapplyChange(current, undoRequest.back ? two : older, undoRequest.back ? older : two)
    )?.after;
  }
  return current && { bytes: current.bytes, mode: from!.mode };
}
