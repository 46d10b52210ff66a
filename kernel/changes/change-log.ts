// What tools did to files in a conversation. The session keeps it, byte for byte.
import { isUtf8 } from "node:buffer";
import path from "node:path";
import type { Changed } from "../contract.ts";
import { saveChangeEntry, saveEntry, saveFault } from "../conversation/save-chat.ts";
import { sessionsFolder } from "../conversation/session-files.ts";
import { type Change, type Content, isChange } from "../conversation/session-lines.ts";
import { sessionPlaceOf } from "../conversation/session-store.ts";
import type { LiveChat, TurnContext } from "../instance.ts";
import {
  missingFolders,
  removeEmptyFolders,
  type Unfinished,
  type WriteStep,
  writeAllOrNone,
  writeFault,
} from "../system/atomic-write.ts";
import { hashOfState, sharedEnds } from "../system/file-state.ts";
import { shortestName } from "../system/real-paths.ts";
import { orAbort } from "../text/deadlines.ts";
import { fault } from "../text/faults.ts";
import { isInside } from "../text/read-quietly.ts";
import type { PendingChanges } from "./commit-changes.ts";
import {
  filesOfMoves,
  foldersGone,
  keepMoves,
  type Moves,
  markMoves,
  moveFiles,
} from "./folder-moves.ts";

/** Removes the folders around these files that one of the changes created, once they are empty. */
export function removeCreatedFolders(changes: Change[], files: string[]): void {
  const createdFolders = new Set(changes.flatMap((change) => change.made));
  removeEmptyFolders(
    [...createdFolders].filter((folder) => files.some((file) => isInside(folder, file))).sort(),
  );
}

/** As text where that is shorter: JSON spells out each NUL. */
const contentOf = (bytes: Buffer): Content =>
  isUtf8(bytes) && !bytes.includes(0)
    ? { text: bytes.toString("utf8") }
    : { base64: bytes.toString("base64") };
const bytesOfContent = (content: Content): Buffer =>
  "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");

const MAX_DELTA_CHAIN = 20;

const moveAct = (moves: Moves, back: boolean) => (again: boolean) =>
  moveFiles(moves, again !== back);
const foldersAround = (moves: Moves) => [
  ...new Set(filesOfMoves(moves).map((file) => path.dirname(file))),
];
export const moveStepFields = (moves: Moves, back = false) => ({
  moves,
  act: moveAct(moves, back),
  gone: foldersGone(moves, back),
  near: foldersAround(moves),
});

/**
 * tidies: zz's own folders that it empties go; "made": the changes are made already. begin: hears
 * what a killed zz would leave.
 */
type WriteOptions = { tidies: boolean | "made"; begin: (unfinished: Unfinished) => void };
/** Records the changes first, then makes them: after a crash in between, the hashes tell. */
export async function recordAndWrite(
  turn: TurnContext,
  tool: string,
  held: PendingChanges,
  { tidies, begin }: WriteOptions,
): Promise<void> {
  const { core, chat } = turn;
  const steps: ChangeStep[] = [...held].map(([file, { before, after, moves }]) => ({
    file,
    from: before,
    to: after,
    ...(moves && moveStepFields(moves)),
  }));
  const first = await recordChanges(turn, tool, steps);
  if (tidies === "made") return;
  try {
    const gone = steps.filter(({ to }) => !to).map(({ file }) => file);
    const open = changeHistory(chat).changes.filter(({ undone }) => !undone);
    writeAllOrNone(steps, () => tidies && removeCreatedFolders(open, gone), !tidies, begin);
  } catch (error) {
    const { lost = [] } = error as { lost?: string[] };
    saveEntry(core, chat, "undone", {
      changes: steps.flatMap(({ file }, i) => (lost.includes(file) ? [] : first + i)),
      never: true,
    });
    throw writeFault("write", (file) => shortestName(core.options, file), error);
  }
}

type ChangeStep = WriteStep & { moves?: Moves };

/** Saves what undoes them; the number of the first. */
async function recordChanges(
  { core, chat, ctx }: TurnContext,
  tool: string,
  steps: ChangeStep[],
): Promise<number> {
  const past = (chat.session?.entries ?? []).filter(isChange);
  const first = past.length + 1;
  let keep: (fields: Record<string, unknown>) => void = (fields) =>
    saveChangeEntry(core, chat, fields);
  for (const [i, step] of steps.entries()) {
    const { moves } = step;
    const changeEntry = {
      change: first + i,
      group: first,
      turn: chat.turn,
      tool,
      ...difference(step, past),
      ...(moves && { moves: keepMoves(sessionsFolder(core.options.home), moves) }),
    };
    try {
      keep(changeEntry);
    } catch (error) {
      await mayGoWithout(error as Error, i);
      keep = (fields) => saveEntry(core, chat, "change", fields);
      keep(changeEntry);
    }
    if (moves) markMoves(moves, chat.id ?? "");
  }
  try {
    // a power cut must not leave a change without what undoes it; some disks only say now that they
    // are full
    chat.session?.syncNow();
  } catch (error) {
    await mayGoWithout(saveFault(sessionPlaceOf(core), error), steps.length);
  }
  return first;

  /** A change that could not be undone later is made only if the person agrees. */
  async function mayGoWithout({ message }: Error, madeCount: number): Promise<void> {
    const name = shortestName(core.options, steps[0]!.file);
    const question = `${message} The change to '${name}' could not be undone later. Make it anyway? [y/N] `;
    if (core.ask && (await orAbort(ctx.signal, core.ask(question, "yn"))) === "y") return;
    if (madeCount)
      saveEntry(core, chat, "undone", {
        changes: steps.slice(0, madeCount).map((_, i) => first + i),
        never: true,
      });
    const reason = `what would undo it cannot be saved. ${message}`;
    throw fault(
      `Cannot write '${name}': ${reason} --home names another place; --no-session goes without.`,
    );
  }
}

/** From one state of a file to the other; the whole old one only where the session has no copy. */
function difference({ file, from, to, moves }: ChangeStep, past: Change[]) {
  const [was, is] = [hashOfState(from), hashOfState(to)];
  const [old, next] = [from?.bytes ?? Buffer.alloc(0), to?.bytes ?? Buffer.alloc(0)];
  const earlier = past.filter((change) => change.path === file);
  const hasOldContent =
    earlier.at(-1)?.is === was &&
    earlier.slice(-MAX_DELTA_CHAIN).some((change) => change.base || !change.was);
  const [start, end] = sharedEnds(old, next);
  return {
    path: file,
    was,
    is,
    modes: [from?.mode ?? 0, to?.mode ?? 0],
    ...(from && !hasOldContent && { base: contentOf(old) }),
    place: start,
    cut: old.length - start - end,
    put: contentOf(next.subarray(start, next.length - end)),
    made: moves ? [] : missingFolders(path.dirname(file)),
  };
}

/**
 * All changes, on whichever branch, each with whether it is undone, and those that a redo would
 * restore, latest first.
 */
export function changeHistory({ session }: LiveChat): {
  changes: (Change & { undone: boolean })[];
  redo: number[][];
} {
  const changes: (Change & { undone: boolean })[] = [];
  let redo: number[][] = [];
  for (const sessionEntry of session?.entries ?? []) {
    if (isChange(sessionEntry)) {
      changes.push({ ...sessionEntry, undone: false });
      redo = []; // a new change empties the redo list
    }
    if (!/^(undone|redone)$/.test(sessionEntry.type)) continue;
    const ids = Array.isArray(sessionEntry.changes) ? (sessionEntry.changes as number[]) : [];
    for (const change of changes)
      if (ids.includes(change.change)) change.undone = sessionEntry.type === "undone";
    if (sessionEntry.type === "redone") redo = redo.slice(1);
    else if (!sessionEntry.never) redo = [ids, ...redo];
  }
  return { changes, redo };
}

export const changeEffect = ({ was, is }: Change): Changed["did"] => {
  if (was === null) return "created";
  if (is === null) return "deleted";
  return "edited";
};

/**
 * A file's bytes before and after a change: the nearest full copy, with the later changes applied
 * to it.
 */
export function bytesAround(
  changes: readonly Change[],
  change: Change,
): [before: Buffer, after: Buffer] {
  const chain: Change[] = [];
  let from = change;
  while (!from.base && from.was !== null) {
    const earlier = changes.findLast(
      (candidate) => candidate.path === from.path && candidate.change < from.change,
    );
    if (!earlier)
      throw fault(
        `Cannot restore '${change.path}': the session no longer has its earlier content.`,
      );
    chain.unshift(earlier);
    from = earlier;
  }
  const before = chain.reduce(bytesAfter, from.base ? bytesOfContent(from.base) : Buffer.alloc(0));
  return [before, bytesAfter(before, change)];
}
const bytesAfter = (before: Buffer, { place, cut, put }: Change): Buffer =>
  Buffer.concat([before.subarray(0, place), bytesOfContent(put), before.subarray(place + cut)]);
