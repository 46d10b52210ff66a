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
import { DIFF_LIMIT, isComparable, renderPreview, unifiedDiff } from "./preview-change.ts";
import { followChanges } from "./seen-files.ts";

// The new state of each file, by real path.
export type PendingChanges = Map<string, { before: DiskState; after: DiskState; moves?: Moves }>;

// left: the files that got a no
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
  const answered = { editedDiffs: [], declined: [] };
  const proposal: Proposal = { turn, call, held, granted, effects, open, ...answered };
  for (const [file, { before, after }] of held) if (isSameState(before, after)) held.delete(file);
  const denied =
    (await judgeAll(turn, call.name, held, { granted, effects, open })) ??
    (await passWrappers(proposal));
  const refusal = denied ?? (await agreeOnChanges(proposal));
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
  declined: DeclinedFile[];
}

const nameIn = ({ turn }: Proposal, file: string): string => shortestName(turn.core.options, file);
const quotedNames = (proposal: Proposal, changes: [file: string, change: unknown][]): string =>
  changes.map(([file]) => `'${visible(nameIn(proposal, file))}'`).join(", ");
/** Those that a question shows one by one. */
const shownInFull = ({ held, effects }: Proposal): PendingChanges =>
  effects ? new Map([...held].filter(([file]) => !effects.brief.has(file))) : held;
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
  const targets = [...held].flatMap(([file, { moves }]) => (moves ? filesOfMoves(moves) : [file]));
  const write = targets
    .filter((file) => isTool(call.name) && !granted.includes(file))
    .map((file) => nameIn(proposal, file));
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
  for (let news = ""; held.size; ) {
    const stale = quotedNames(proposal, staleChanges(proposal));
    const warning = stale && `${stale}: it changed since it was read`;
    if (warning && !open.size) throw fault(`Cannot write ${warning}. Read it again.`);
    if (open.size) {
      const { refusal, isAgain } = await askAboutChanges(proposal, warning, news);
      if (refusal !== undefined) return refusal;
      if (isAgain) continue;
    }
    const rebased = await rebaseChanges(proposal);
    if (!rebased) break;
    news = `${rebased} changed meanwhile; the change still applies.`;
  }
  return undefined;
}

/** Files that are not as the model last saw them. */
function staleChanges({ turn, call, held, effects }: Proposal) {
  const seenHash = (file: string) =>
    !isTool(call.name) || effects ? undefined : turn.chat.seen.get(file)?.hash;
  return [...held].filter(
    ([file, { before }]) =>
      before && (seenHash(file) ?? hashOfState(before)) !== hashOfState(before),
  );
}

/** One question. isAgain: it has to be put once more. */
async function askAboutChanges(
  proposal: Proposal,
  warning: string,
  news: string,
): Promise<{ refusal?: string; isAgain?: true }> {
  const { turn, call, held, effects, open, declined } = proposal;
  const inFull = () => shownInFull(proposal);
  const about = [effects?.about, news || (warning && `Mind ${warning}.`)]
    .filter(Boolean)
    .join("\n");
  const { text, long } = await renderPreview(turn, call.name, about, inFull());
  const named = (file: string) => nameIn(proposal, file);
  const parts: QuestionParts = effects ? questionParts(held, named, open, effects) : new Map();
  const also = {
    ...(editableChanges(proposal).length && { e: "edit it first" }),
    ...(parts.size > 1 && { f: "file by file" }),
    ...((news || warning) && { r: "let the model look again" }),
  };
  const needs = [...open.values()];
  const { key, refusal } = await askPerson(turn, call.name, needs, text, {
    also,
    long,
    args: call.args,
  });
  if (refusal) return { refusal };
  if (key === "r") return { refusal: SENT_BACK };
  // the editor was closed without saving: ask again
  if (key === "e" && !(await editChanges(proposal))) return { isAgain: true };
  if (key === "f") declined.push(...(await askForEach(turn, call.name, parts, open, inFull)));
  for (const { file } of declined) held.delete(file);
  return held.size ? {} : { refusal: refusalsIn(declined) };
}
const SENT_BACK =
  "Refused: the person sent it back. Read the file again, and propose the change again.";

/** Lets the person edit each proposed text; what they save is written. False: they saved nothing. */
async function editChanges(proposal: Proposal): Promise<boolean> {
  const { turn, held, editedDiffs } = proposal;
  for (const [file, { before, after }] of editableChanges(proposal)) {
    const proposed = after!.bytes.toString("utf8");
    const saved = await turn.core.edit!(proposed, path.basename(file));
    if (saved === undefined) return false;
    if (saved === proposed) continue;
    held.set(file, { before, after: { ...after!, bytes: Buffer.from(saved) } });
    const name = nameIn(proposal, file);
    editedDiffs.push(await unifiedDiff({ path: name, before: proposed, after: saved }));
  }
  return true;
}

/** Applies the changes to files that changed meanwhile. Returns their names, "" if none did. */
async function rebaseChanges(proposal: Proposal): Promise<string> {
  const { held, open } = proposal;
  const swapped = [...held].filter(([file, { before, moves }]) =>
    moves ? changedSince(moves, false).changed.length : !isSameState(stateInPlace(file), before),
  );
  const names = quotedNames(proposal, swapped);
  for (const [file, { before, after, moves }] of swapped) {
    const rebased = moves ? undefined : await reapplyChange(stateInPlace(file), before, after);
    if (!rebased || !open.size)
      throw fault(`Cannot write ${names}: it changed meanwhile. Read it again.`);
    held.set(file, rebased);
  }
  return names;
}

/** Makes all of them, or none. */
async function makeChanges(proposal: Proposal): Promise<Committed> {
  const { turn, call, held, effects, open, editedDiffs, declined } = proposal;
  const { core, chat, ctx } = turn;
  const tool = call.name;
  const isUnasked = held.size > 0 && !open.size && core.ask;
  const about = effects?.about ?? "";
  const { text: shown } = isUnasked
    ? await renderPreview(turn, tool, about, shownInFull(proposal))
    : { text: "" };
  const edited = editedDiffs.length
    ? `The person edited the proposal before it was written:\n${editedDiffs.join("\n")}`
    : "";
  await withProjectLock(core.options.root, clockOf(core.io), ctx.signal, (begin) =>
    recordAndWrite(turn, tool, held, { tidies: !effects, begin }),
  );
  if (isTool(tool)) followChanges(chat, held, !effects);
  const paths = [...held.keys()].map((file) => nameIn(proposal, file));
  if (held.size) await emit(core, "changed", { tool, paths, ...(shown && { shown }) });
  const left = declined.map(({ file }) => nameIn(proposal, file));
  const said = [edited, refusalsIn(declined)].filter(Boolean).join("\n");
  return { said, ...(left.length && { left }) };
}

/**
 * Checks every file against the rules; what they leave open goes into `open`. Returns the sentence
 * of a refusal.
 */
type JudgeOptions = {
  granted: string[];
  effects: CopyEffects | undefined;
  open: Map<string, PendingNeed>;
};
async function judgeAll(
  { core }: TurnContext,
  tool: string,
  held: PendingChanges,
  { granted, effects, open }: JudgeOptions,
): Promise<string | undefined> {
  const targets = [...held].flatMap(([file, { moves }]) =>
    (moves ? filesOfMoves(moves) : [file]).map((changedFile) => [file, changedFile] as const),
  );
  // though each alone is none
  const parts = partsOfRepositories([...held].flatMap(([file, { after }]) => (after ? file : [])));
  for (const [file, target] of targets) {
    if (granted.includes(file) && !parts.has(file)) continue;
    // then its target decides
    const isLink = !effects && tryTo(() => fs.lstatSync(file).isSymbolicLink());
    const needsOfFile = new Map<string, PendingNeed>();
    const name = shortestName(core.options, target);
    const need = parts.has(file)
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
    const folder = effects?.brief.get(file);
    for (const [key, needToAsk] of needsOfFile)
      if (folder === undefined || needToAsk.why) open.set(key, needToAsk);
      else
        open.set(`write ${folder}`, {
          ...needToAsk,
          name: folder,
          target: path.resolve(core.options.root, folder),
        });
  }
  return undefined;
}

type DeclinedFile = { file: string; refusal: string };
const refusalsIn = (declinedFiles: DeclinedFile[]): string =>
  [...new Set(declinedFiles.map(({ refusal }) => refusal))].join("\n");
type QuestionParts = Map<string, PendingChanges>; // by the name in the question
function questionParts(
  held: PendingChanges,
  named: (file: string) => string,
  open: Map<string, PendingNeed>,
  { brief }: CopyEffects,
): QuestionParts {
  const parts: QuestionParts = new Map();
  for (const [file, states] of held) {
    const name = open.has(`write ${named(file)}`) ? named(file) : brief.get(file);
    if (name !== undefined) parts.set(name, new Map([...(parts.get(name) ?? []), [file, states]]));
  }
  return parts;
}

/** Asks about each part. What gets a no stays as it is, and so does what depends on it. */
async function askForEach(
  turn: TurnContext,
  tool: string,
  parts: QuestionParts,
  open: Map<string, PendingNeed>,
  inFull: () => PendingChanges,
): Promise<DeclinedFile[]> {
  const declined: DeclinedFile[] = [];
  const allChanges = new Map([...parts.values()].flatMap((part) => [...part]));
  for (const [name, part] of parts) {
    const need = open.get(`write ${name}`);
    if (!need) continue;
    const shown = new Map([...part].filter(([file]) => inFull().has(file)));
    const unshown = [...part]
      .filter(([file]) => !shown.has(file))
      .reduce((sum, [, { moves }]) => sum + (moves?.rows.length ?? 1), 0);
    const about = unshown ? `${plural(unshown, "file")}, not shown` : "";
    const { text, long } = await renderPreview(turn, tool, about, shown);
    const { key, refusal } = await askPerson(turn, tool, [need], text, { long });
    if (key === "A") break;
    if (refusal)
      for (const file of part.keys())
        declined.push(
          ...[file, ...dependentChanges(allChanges, file)].map((file) => ({ file, refusal })),
        );
  }
  return declined.filter(
    ({ file }, i) => declined.findIndex((earlier) => earlier.file === file) === i,
  );
}

/**
 * What cannot happen if this file stays: removing the folders around it, or creating something
 * inside what replaces it.
 */
function dependentChanges(held: PendingChanges, file: string): string[] {
  const was = held.get(file)!.before;
  const isGone = (after: DiskState) => !after || !isFolder(after);
  const isFile = was !== undefined && !isFolder(was);
  return [...held].flatMap(([otherFile, { after }]) =>
    (file.startsWith(`${otherFile}/`) && isGone(after)) ||
    (isFile && after && otherFile.startsWith(`${file}/`))
      ? [otherFile]
      : [],
  );
}

const isText = (state: DiskState): boolean =>
  state !== undefined && !state.bytes.includes(0) && isUtf8(state.bytes);

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
    ![current, before, after].every((state) => isText(state) && !isFolder(state))
  )
    return undefined;
  if (!isComparable(before, after)) return undefined;
  const { applyPatch, structuredPatch } = await import("diff");
  const [from, to, on] = [before, after, current].map((state) => state.bytes.toString("utf8")) as [
    string,
    string,
    string,
  ];
  const patch = structuredPatch("", "", from, to, "", "", { timeout: DIFF_LIMIT }) as
    | StructuredPatch
    | undefined;
  const merged = patch && applyPatch(on, patch, { autoConvertLineEndings: false });
  return merged === undefined || merged === false
    ? undefined
    : { before: current, after: { ...after, bytes: Buffer.from(merged) } };
}

/** Shows a change that was already made, the way a question would. */
export async function showChange(
  turn: TurnContext,
  allChanges: readonly Change[],
  change: Change,
): Promise<string> {
  const { path, tool, was, is, modes } = change;
  const [old, next] = bytesAround(allChanges, change);
  const before = was === null ? undefined : { bytes: old, mode: modes[0] };
  const after = is === null ? undefined : { bytes: next, mode: modes[1] };
  return (await renderPreview(turn, tool, "", new Map([[path, { before, after }]]))).text;
}
