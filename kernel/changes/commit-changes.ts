// Changes of files that a tool proposed: checked, shown, made all or none, and recorded.
import { isUtf8 } from "node:buffer";
import fs from "node:fs";
import path from "node:path";
import type { StructuredPatch } from "diff";
import type { Call } from "../contract.ts";
import type { Change } from "../conversation/session-lines.ts";
import { emit } from "../events.ts";
import { applyGateWrappers, askPerson, judgeNeed, type PendingNeed } from "../gate/gate.ts";
import { partsOfRepositories } from "../gate/sensitive-paths.ts";
import { isTool, type TurnContext } from "../instance.ts";
import {
  type DiskState,
  FILE,
  hashOfState,
  isFolder,
  isSameState,
  stateInPlace,
  TYPE,
} from "../system/file-state.ts";
import { withProjectLock } from "../system/locks.ts";
import { shortestName } from "../system/real-paths.ts";
import { clockOf } from "../text/clock.ts";
import { fault } from "../text/faults.ts";
import { visible } from "../text/show-safely.ts";
import { plural, tryTo } from "../text/words.ts";
import { bytesAround, recordAndWrite } from "./change-log.ts";
import { changedSince, filesOfMoves, type Moves } from "./folder-moves.ts";
import { isComparable, MAX_DIFFERENCES, renderPreview, unifiedDiff } from "./preview-change.ts";
import { followChanges } from "./seen-files.ts";

// The new state of each file, by real path.
export type PendingChanges = Map<string, { before: DiskState; after: DiskState; moves?: Moves }>;

// left: the files that the person declined
type Committed = { refusal?: string; said?: string; left?: string[] };
/**
 * What a command did on a copy; the model need not have read those files. brief: files that are
 * shown as one folder.
 */
type CopyEffects = { about: string; brief: Map<string, string> };
/**
 * Shows what a tool would change, asks for what the gate did not already allow, and makes it.
 * `said` is for the model.
 */
export async function commitChanges(
  turn: TurnContext,
  call: Omit<Call, "id">,
  held: PendingChanges,
  granted: string[] = [],
  effects?: CopyEffects,
): Promise<Committed> {
  const open = new Map<string, PendingNeed>();
  const answered = { editedDiffs: [], declined: new Map() };
  const proposal: Proposal = { turn, call, held, granted, effects, open, ...answered };
  for (const [filePath, { before, after }] of held)
    if (isSameState(before, after)) held.delete(filePath);
  const gateRefusal = (await judgeAll(proposal)) ?? (await passWrappers(proposal));
  const refusal = gateRefusal ?? (await agreeOnChanges(proposal));
  return refusal === undefined ? makeChanges(proposal) : { refusal };
}

/** The changes that are proposed, and what the person said about them so far. */
interface Proposal {
  turn: TurnContext;
  call: Omit<Call, "id">;
  held: PendingChanges;
  granted: string[];
  effects: CopyEffects | undefined;
  open: Map<string, PendingNeed>; // what the rules leave open
  editedDiffs: string[];
  declined: Map<string, string>; // the refusal of each file that the person declined
}

const shortenName = ({ turn }: Proposal, filePath: string): string =>
  shortestName(turn.core.options, filePath);
const quotedNames = (proposal: Proposal, changes: [file: string, change: unknown][]): string =>
  changes.map(([filePath]) => `'${visible(shortenName(proposal, filePath))}'`).join(", ");
/** The changes that a question shows one by one. */
const shownInFull = ({ held, effects }: Proposal): PendingChanges =>
  effects ? new Map([...held].filter(([filePath]) => !effects.brief.has(filePath))) : held;
const editableChanges = (proposal: Proposal) =>
  [...shownInFull(proposal)].filter(
    ([, { after }]) => proposal.turn.core.edit && isText(after) && (after!.mode & TYPE) === FILE,
  );

/**
 * Plugins that wrap the gate see each file that would change, as a need to write. What the call
 * itself asked for, they saw before.
 */
async function passWrappers(proposal: Proposal): Promise<string | undefined> {
  const { turn, call, held, granted, open } = proposal;
  const targets = [...held].flatMap(([filePath, { moves }]) =>
    moves ? filesOfMoves(moves) : [filePath],
  );
  const write = targets
    .filter((filePath) => isTool(call.name) && !granted.includes(filePath))
    .map((filePath) => shortenName(proposal, filePath));
  return write.length
    ? applyGateWrappers(turn, { call, kind: "change", needs: { write } }, open)
    : undefined;
}

/**
 * Asks for what is open, until what was agreed on can be applied to what lies there now. Returns
 * the sentence of a refusal.
 */
async function agreeOnChanges(proposal: Proposal): Promise<string | undefined> {
  const { held, open } = proposal;
  let rebaseNews = "";
  while (held.size) {
    const staleNames = quotedNames(proposal, staleChanges(proposal));
    const warning = staleNames && `${staleNames}: it changed since it was read`;
    if (warning && !open.size) throw fault(`Cannot write ${warning}. Read it again.`);
    if (open.size) {
      const { refusal, isAgain } = await askAboutChanges(proposal, warning, rebaseNews);
      if (refusal !== undefined) return refusal;
      if (isAgain) continue;
    }
    const rebased = await rebaseChanges(proposal);
    if (!rebased) break;
    rebaseNews = `${rebased} changed meanwhile; the change still applies.`;
  }
  return undefined;
}

/** Files that are not as the model last saw them. */
function staleChanges({ turn, call, held, effects }: Proposal) {
  const seenHash = (filePath: string) =>
    !isTool(call.name) || effects ? undefined : turn.chat.seen.get(filePath)?.hash;
  return [...held].filter(
    ([filePath, { before }]) =>
      before && (seenHash(filePath) ?? hashOfState(before)) !== hashOfState(before),
  );
}

/** Asks one question; `isAgain` says that it has to be asked once more. */
async function askAboutChanges(
  proposal: Proposal,
  warning: string,
  rebaseNews: string,
): Promise<{ refusal?: string; isAgain?: true }> {
  const { turn, call, held, effects, open, declined } = proposal;
  const aboutText = [effects?.about, rebaseNews || (warning && `Mind ${warning}.`)]
    .filter(Boolean)
    .join("\n");
  const { text, long } = await renderPreview(turn, call.name, aboutText, shownInFull(proposal));
  const partsByName = questionParts(proposal);
  const also = {
    ...(editableChanges(proposal).length && { e: "edit it first" }),
    ...(partsByName.size > 1 && { f: "file by file" }),
    ...((rebaseNews || warning) && { r: "let the model look again" }),
  };
  const openNeeds = [...open.values()];
  const { key, refusal } = await askPerson(turn, call.name, openNeeds, text, {
    also,
    long,
    args: call.args,
  });
  if (refusal) return { refusal };
  if (key === "r") return { refusal: SENT_BACK };
  // the editor was closed without saving: ask again
  if (key === "e" && !(await editChanges(proposal))) return { isAgain: true };
  if (key === "f") await askForEach(proposal, partsByName);
  for (const filePath of declined.keys()) held.delete(filePath);
  return held.size ? {} : { refusal: refusalsIn(declined) };
}
const SENT_BACK =
  "Refused: the person sent it back. Read the file again, and propose the change again.";

/**
 * Lets the person edit each proposed text; what they save is written. False: they saved nothing.
 */
async function editChanges(proposal: Proposal): Promise<boolean> {
  const { turn, held, editedDiffs } = proposal;
  for (const [filePath, { before, after }] of editableChanges(proposal)) {
    const proposed = after!.bytes.toString("utf8");
    const savedText = await turn.core.edit!(proposed, path.basename(filePath));
    if (savedText === undefined) return false;
    if (savedText === proposed) continue;
    held.set(filePath, { before, after: { ...after!, bytes: Buffer.from(savedText) } });
    const fileName = shortenName(proposal, filePath);
    editedDiffs.push(await unifiedDiff({ path: fileName, before: proposed, after: savedText }));
  }
  return true;
}

/** Applies the changes to files that changed meanwhile. Returns their names, "" if none did. */
async function rebaseChanges(proposal: Proposal): Promise<string> {
  const { held, open } = proposal;
  const swapped = [...held].filter(([filePath, { before, moves }]) =>
    moves
      ? changedSince(moves, false).changed.length
      : !isSameState(stateInPlace(filePath), before),
  );
  const swappedNames = quotedNames(proposal, swapped);
  for (const [filePath, { before, after, moves }] of swapped) {
    const rebased = moves ? undefined : await reapplyChange(stateInPlace(filePath), before, after);
    if (!rebased || !open.size)
      throw fault(`Cannot write ${swappedNames}: it changed meanwhile. Read it again.`);
    held.set(filePath, rebased);
  }
  return swappedNames;
}

/** Makes all of them, or none. */
async function makeChanges(proposal: Proposal): Promise<Committed> {
  const { turn, call, held, effects, open, editedDiffs, declined } = proposal;
  const isUnasked = held.size > 0 && !open.size && turn.core.ask;
  const aboutText = effects?.about ?? "";
  const { text: shown } = isUnasked
    ? await renderPreview(turn, call.name, aboutText, shownInFull(proposal))
    : { text: "" };
  const editedNote = editedDiffs.length
    ? `The person edited the proposal before it was written:\n${editedDiffs.join("\n")}`
    : "";
  await keepChanges(turn, call.name, held, !effects, shown);
  const left = [...declined.keys()].map((filePath) => shortenName(proposal, filePath));
  const said = [editedNote, refusalsIn(declined)].filter(Boolean).join("\n");
  return { said, ...(left.length && { left }) };
}

/** Records the changes, makes them unless they are `made`, and tells of them. */
export async function keepChanges(
  turn: TurnContext,
  tool: string,
  changes: PendingChanges,
  tidies: boolean | "made",
  shown = "",
): Promise<void> {
  const { core, chat, ctx } = turn;
  const { options, io } = core;
  await withProjectLock(options.root, clockOf(io), ctx.signal, (begin) =>
    recordAndWrite(turn, tool, changes, { tidies, begin }),
  );
  if (isTool(tool)) followChanges(chat, changes, tidies === true);
  const paths = [...changes.keys()].map((filePath) => shortestName(options, filePath));
  if (paths.length) await emit(core, "changed", { tool, paths, ...(shown && { shown }) });
}

/**
 * Checks every file against the rules; what they leave open goes into `open`. Returns the sentence
 * of a refusal.
 */
async function judgeAll({
  turn: { core },
  call: { name: tool },
  held,
  granted,
  effects,
  open,
}: Proposal): Promise<string | undefined> {
  const targets = [...held].flatMap(([filePath, { moves }]) =>
    (moves ? filesOfMoves(moves) : [filePath]).map(
      (changedFile) => [filePath, changedFile] as const,
    ),
  );
  // several files together may make a repository, though none of them alone does
  const repositoryParts = partsOfRepositories(
    [...held].flatMap(([filePath, { after }]) => (after ? filePath : [])),
  );
  for (const [filePath, target] of targets) {
    if (granted.includes(filePath) && !repositoryParts.has(filePath)) continue;
    // for a link, its target decides
    const isLink = !effects && tryTo(() => fs.lstatSync(filePath).isSymbolicLink());
    const needsOfFile = new Map<string, PendingNeed>();
    const name = shortestName(core.options, target);
    const need = repositoryParts.has(filePath)
      ? {
          name,
          verdict: "ask" as const,
          exact: true,
          why: "git would obey its folder as a repository",
        }
      : name;
    const refusal = await judgeNeed(core, {
      tool,
      kind: "write",
      need,
      open: needsOfFile,
      ...(!isLink && { target }),
    });
    if (refusal) return refusal;
    const briefFolder = effects?.brief.get(filePath);
    for (const [needKey, needToAsk] of needsOfFile)
      if (briefFolder === undefined || needToAsk.why) open.set(needKey, needToAsk);
      else
        open.set(`write ${briefFolder}`, {
          ...needToAsk,
          name: briefFolder,
          target: path.resolve(core.options.root, briefFolder),
        });
  }
  return undefined;
}

const refusalsIn = (declined: Map<string, string>): string =>
  [...new Set(declined.values())].join("\n");
/** What a command did on a copy, by the name in the question. */
function questionParts(proposal: Proposal) {
  const { held, effects, open } = proposal;
  const partsByName = Map.groupBy(effects ? held : [], ([filePath]) => {
    const fileName = shortenName(proposal, filePath);
    return open.has(`write ${fileName}`) ? fileName : effects!.brief.get(filePath);
  });
  partsByName.delete(undefined);
  return partsByName;
}

/** Asks about each part. What gets a no stays as it is, and so does what depends on it. */
async function askForEach(
  proposal: Proposal,
  partsByName: ReturnType<typeof questionParts>,
): Promise<void> {
  const { turn, call, open, declined } = proposal;
  const inFull = shownInFull(proposal);
  const allChanges: PendingChanges = new Map([...partsByName.values()].flat());
  for (const [partName, partChanges] of partsByName) {
    const openNeed = open.get(`write ${partName}`);
    if (!openNeed) continue;
    const shownChanges = new Map(partChanges.filter(([filePath]) => inFull.has(filePath)));
    const unshown = partChanges
      .filter(([filePath]) => !inFull.has(filePath))
      .reduce((fileCount, [, { moves }]) => fileCount + (moves?.rows.length ?? 1), 0);
    const aboutText = unshown ? `${plural(unshown, "file")}, not shown` : "";
    const { text, long } = await renderPreview(turn, call.name, aboutText, shownChanges);
    const { key, refusal } = await askPerson(turn, call.name, [openNeed], text, { long });
    if (key === "A") break;
    if (!refusal) continue;
    for (const [filePath] of partChanges)
      for (const refusedFile of [filePath, ...dependentChanges(allChanges, filePath)])
        if (!declined.has(refusedFile)) declined.set(refusedFile, refusal);
  }
}

/**
 * What cannot happen if this file stays: removing the folders around it, or creating something
 * inside what replaces it.
 */
function dependentChanges(allChanges: PendingChanges, filePath: string): string[] {
  const stateBefore = allChanges.get(filePath)!.before;
  const isFile = stateBefore !== undefined && !isFolder(stateBefore);
  return [...allChanges].flatMap(([otherFile, { after }]) =>
    (filePath.startsWith(`${otherFile}/`) && !isFolder(after)) ||
    (isFile && after && otherFile.startsWith(`${filePath}/`))
      ? [otherFile]
      : [],
  );
}

const isText = (fileState: DiskState): boolean =>
  fileState !== undefined && !fileState.bytes.includes(0) && isUtf8(fileState.bytes);

/**
 * The same change applied to a file that has changed meanwhile; undefined if it does not apply
 * there.
 */
export async function reapplyChange(
  current: DiskState,
  before: DiskState,
  after: DiskState,
): Promise<{ before: DiskState; after: DiskState } | undefined> {
  if (
    !current ||
    !before ||
    !after ||
    ![current, before, after].every((fileState) => isText(fileState) && !isFolder(fileState))
  )
    return undefined;
  if (!isComparable(before, after)) return undefined;
  const { applyPatch, structuredPatch } = await import("diff");
  const [textBefore, textAfter, currentText] = [before, after, current].map((fileState) =>
    fileState.bytes.toString("utf8"),
  ) as [string, string, string];
  const textPatch = structuredPatch("", "", textBefore, textAfter, "", "", {
    maxEditLength: MAX_DIFFERENCES,
  }) as StructuredPatch | undefined;
  const mergedText =
    textPatch && applyPatch(currentText, textPatch, { autoConvertLineEndings: false });
  return mergedText === undefined || mergedText === false
    ? undefined
    : { before: current, after: { ...after, bytes: Buffer.from(mergedText) } };
}

/** Shows a change that was already made, the way a question would. */
export async function showChange(
  turn: TurnContext,
  allChanges: readonly Change[],
  change: Change,
): Promise<string> {
  const { path, tool, was, is, modes } = change;
  const [oldBytes, newBytes] = bytesAround(allChanges, change);
  const before = was === null ? undefined : { bytes: oldBytes, mode: modes[0] };
  const after = is === null ? undefined : { bytes: newBytes, mode: modes[1] };
  return (await renderPreview(turn, tool, "", new Map([[path, { before, after }]]))).text;
}
