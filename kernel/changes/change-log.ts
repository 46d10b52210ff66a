// What tools did to files in a conversation. The session keeps it, byte for byte.
import { isUtf8 } from "node:buffer";
import path from "node:path";
import type { Changed, Saved } from "../contract.ts";
import { saveChangeEntry, saveEntry, saveFault } from "../conversation/save-chat.ts";
import { sessionsFolder } from "../conversation/session-files.ts";
import { type Change, type Content, isChange } from "../conversation/session-lines.ts";
import { sessionPlaceOf } from "../conversation/session-store.ts";
import type { TurnContext } from "../instance.ts";
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
export function removeCreatedFolders(changes: Change[], filePaths: string[]): void {
  const createdFolders = new Set(changes.flatMap((change) => change.made));
  removeEmptyFolders(
    [...createdFolders]
      .filter((createdFolder) => filePaths.some((filePath) => isInside(createdFolder, filePath)))
      .sort(),
  );
}

/** As text where that is shorter: JSON spells out each NUL. */
const contentOf = (fileBytes: Buffer): Content =>
  isUtf8(fileBytes) && !fileBytes.includes(0)
    ? { text: fileBytes.toString("utf8") }
    : { base64: fileBytes.toString("base64") };
const bytesOfContent = (content: Content): Buffer =>
  "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");

const MAX_DELTA_CHAIN = 20;

export const moveStepFields = (moves: Moves, isBackward = false) => ({
  moves,
  act: (isRevert: boolean) => moveFiles(moves, isRevert !== isBackward),
  gone: foldersGone(moves, isBackward),
  near: filesOfMoves(moves).map((movedFile) => path.dirname(movedFile)),
});

/**
 * tidies: zz's own folders that it empties go; "made": the changes are made already. begin: hears
 * what a killed zz would leave.
 */
type WriteOptions = { tidies: boolean | "made"; begin: (unfinished: Unfinished) => void };
/** Records the changes first, then makes them: after a crash in between, the hashes tell. */
export async function recordAndWrite(
  turn: TurnContext,
  toolName: string,
  heldChanges: PendingChanges,
  { tidies, begin }: WriteOptions,
): Promise<void> {
  const { core, chat } = turn;
  const changeSteps: ChangeStep[] = [...heldChanges].map(([file, { before, after, moves }]) => ({
    file,
    from: before,
    to: after,
    ...(moves && moveStepFields(moves)),
  }));
  const firstNumber = await recordChanges(turn, toolName, changeSteps);
  if (tidies === "made") return;
  try {
    const deletedFiles = changeSteps.filter(({ to }) => !to).map(({ file }) => file);
    const standingChanges = changeHistory(chat).changes.filter(({ undone }) => !undone);
    writeAllOrNone(
      changeSteps,
      () => tidies && removeCreatedFolders(standingChanges, deletedFiles),
      !tidies,
      begin,
    );
  } catch (error) {
    const { lost = [] } = error as { lost?: string[] };
    saveEntry(core, chat, "undone", {
      changes: changeSteps.flatMap(({ file }, i) => (lost.includes(file) ? [] : firstNumber + i)),
      never: true,
    });
    throw writeFault("write", (filePath) => shortestName(core.options, filePath), error);
  }
}

type ChangeStep = WriteStep & { moves?: Moves };

/** Saves what undoes them; the number of the first. */
async function recordChanges(
  { core, chat, ctx }: TurnContext,
  tool: string,
  changeSteps: ChangeStep[],
): Promise<number> {
  const pastChanges = (chat.session?.entries ?? []).filter(isChange);
  const firstNumber = pastChanges.length + 1;
  let saveChange: (entryFields: Record<string, unknown>) => void = (entryFields) =>
    saveChangeEntry(core, chat, entryFields);
  for (const [i, changeStep] of changeSteps.entries()) {
    const { moves } = changeStep;
    const changeEntry = {
      change: firstNumber + i,
      group: firstNumber,
      turn: chat.turn,
      tool,
      ...difference(changeStep, pastChanges),
      ...(moves && { moves: keepMoves(sessionsFolder(core.options.home), moves) }),
    };
    try {
      saveChange(changeEntry);
    } catch (error) {
      await mayGoWithout(error as Error, i);
      saveChange = (entryFields) => saveEntry(core, chat, "change", entryFields);
      saveChange(changeEntry);
    }
    if (moves) markMoves(moves, chat.id ?? "");
  }
  try {
    // a power cut must not leave a change without what undoes it; some disks only say now that they
    // are full
    chat.session?.syncNow();
  } catch (error) {
    await mayGoWithout(saveFault(sessionPlaceOf(core), error), changeSteps.length);
  }
  return firstNumber;

  /** A change that could not be undone later is made only if the person agrees. */
  async function mayGoWithout({ message }: Error, madeCount: number): Promise<void> {
    const shownName = shortestName(core.options, changeSteps[0]!.file);
    const question =
      `${message} The change to '${shownName}' could not be undone later. ` +
      "Make it anyway? [y/N] ";
    if (core.ask && (await orAbort(ctx.signal, core.ask(question, "yn"))) === "y") return;
    if (madeCount)
      saveEntry(core, chat, "undone", {
        changes: changeSteps.slice(0, madeCount).map((_, i) => firstNumber + i),
        never: true,
      });
    const reason = `what would undo it cannot be saved. ${message}`;
    throw fault(
      `Cannot write '${shownName}': ${reason} --home names another place; ` +
        "--no-session goes without.",
    );
  }
}

/** From one state of a file to the other; the whole old one only where the session has no copy. */
function difference({ file, from, to, moves }: ChangeStep, pastChanges: Change[]) {
  const [was, is] = [hashOfState(from), hashOfState(to)];
  const [oldBytes, newBytes] = [from?.bytes ?? Buffer.alloc(0), to?.bytes ?? Buffer.alloc(0)];
  const earlier = pastChanges.filter((pastChange) => pastChange.path === file);
  const hasOldContent =
    earlier.at(-1)?.is === was &&
    earlier.slice(-MAX_DELTA_CHAIN).some((pastChange) => pastChange.base || !pastChange.was);
  const [sharedStart, sharedEnd] = sharedEnds(oldBytes, newBytes);
  return {
    path: file,
    was,
    is,
    modes: [from?.mode ?? 0, to?.mode ?? 0],
    ...(from && !hasOldContent && { base: contentOf(oldBytes) }),
    place: sharedStart,
    cut: oldBytes.length - sharedStart - sharedEnd,
    put: contentOf(newBytes.subarray(sharedStart, newBytes.length - sharedEnd)),
    made: moves ? [] : missingFolders(path.dirname(file)),
  };
}

/**
 * All changes, on whichever branch, each with whether it is undone, and those that a redo would
 * restore, latest first.
 */
export function changeHistory({ session }: { session?: Pick<Saved, "entries"> | undefined }): {
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
    const changeNumbers = Array.isArray(sessionEntry.changes)
      ? (sessionEntry.changes as number[])
      : [];
    for (const change of changes)
      if (changeNumbers.includes(change.change)) change.undone = sessionEntry.type === "undone";
    if (sessionEntry.type === "redone") redo = redo.slice(1);
    else if (!sessionEntry.never) redo = [changeNumbers, ...redo];
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
  const deltaChain: Change[] = [];
  let chainStart = change;
  while (!chainStart.base && chainStart.was !== null) {
    const earlier = changes.findLast(
      (candidate) => candidate.path === chainStart.path && candidate.change < chainStart.change,
    );
    if (!earlier)
      throw fault(
        `Cannot restore '${change.path}': the session no longer has its earlier content.`,
      );
    deltaChain.unshift(earlier);
    chainStart = earlier;
  }
  const bytesBefore = deltaChain.reduce(
    bytesAfter,
    chainStart.base ? bytesOfContent(chainStart.base) : Buffer.alloc(0),
  );
  return [bytesBefore, bytesAfter(bytesBefore, change)];
}
const bytesAfter = (bytesBefore: Buffer, { place, cut, put }: Change): Buffer =>
  Buffer.concat([
    bytesBefore.subarray(0, place),
    bytesOfContent(put),
    bytesBefore.subarray(place + cut),
  ]);
