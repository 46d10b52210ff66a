// rename_symbol, by a language server alone.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import { mayRead, scriptsUsing } from "../may-read.ts";
import type { CodeUse, Edit, SymbolSpot } from "../meaning/code-uses.ts";
import { atDesk, type Desk, startServerEarly } from "../meaning/desk.ts";
import { groupedReferences as usesAtDesk } from "../meaning/references.ts";
import { applyEdits, planRename, type Renaming } from "../meaning/rename.ts";
import { capRows, MAX_ROWS, pathAndLine, SCRIPT } from "./answer-rows.ts";
import { usesInComponents } from "./components.ts";
import { definitionsOf, MAX_NEAR, nearestTo, spotsOf } from "./definitions-of.ts";
import { freshIndex, type State, type SymbolQuery } from "./tool-state.ts";
import { listUnread, unreadUsers } from "./unread.ts";
import type { Uses } from "./uses.ts";
import { foreignAt, MAX_TEXT_HITS, unnamedByServer, unresolvedUses } from "./uses-elsewhere.ts";

const BY_NAME_ALONE =
  "by name alone it would change too much or too little. Edit each place instead.";

export async function renameSymbol(
  state: State,
  args: SymbolQuery & { to: string },
  ctx: Ctx,
): Promise<Result> {
  startServerEarly(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const {
    wanted,
    scriptDefinitions: defined,
    others: byName,
    unlistedCount: moreCount,
    users,
    file,
  } = definitionsOf(index, args, ctx);
  const cannot = (reason: string) =>
    new Error(`Cannot rename '${args.symbol}' to '${args.to}': ${reason}`);
  if (state.partial)
    throw cannot("uses in the rest of the code would be missed. Edit each place instead.");
  const [unlike] = byName;
  const byNameOnly = (reason: string) =>
    cannot(
      `${unlike!.path}:${unlike!.line} is known by name alone (${reason}). ` +
        "find_references shows the places; edit each of them.",
    );
  if (unlike && defined.length) throw byNameOnly("and other code by meaning");
  const wantedSpot = { path: file, line: args.line };
  const noServer = (reason: string) => {
    if (unlike) throw byNameOnly(reason);
    throw cannot(`${reason}, and ${BY_NAME_ALONE}`);
  };
  const foreign = users.length
    ? await foreignAt(state, index, wanted, users, wantedSpot, ctx, noServer)
    : undefined;
  const definitions = foreign
    ? foreignStart(foreign, wanted, wantedSpot, cannot)
    : [...defined, ...spotsOf(byName, wanted)];
  if (!definitions.length) throw cannot(`nothing has that name. ${nearestTo(index, wanted, ctx)}`);
  const [target] = definitions as [SymbolSpot];
  const { edits, knownUses } = await atDesk(
    state,
    index,
    target.path,
    ctx,
    (desk) => planForOne(desk, target, { definitions, moreCount, to: args.to }, cannot),
    noServer,
  );
  await checkNothingMissed(
    state,
    index,
    { wanted, target, byName, foreign, line: args.line },
    { edits, knownUses },
    cannot,
    ctx,
  );
  await makeEdits(edits, ctx);
  return renamedResult(index, wanted, args, edits, ctx);
}
/** Throws where the definitions are of several things. */
async function planForOne(
  desk: Desk,
  targetSpot: SymbolSpot,
  { definitions, moreCount, to }: { definitions: SymbolSpot[]; moreCount: number; to: string },
  makeError: (reason: string) => Error,
): Promise<Renaming> {
  const useGroups =
    definitions.length + moreCount > 1
      ? await usesAtDesk(desk, targetSpot)
      : [{ places: definitions }];
  const covered = useGroups.flatMap(({ places }) => places.map(pathAndLine));
  const uncovered = definitions.filter(({ path, line }) => !covered.includes(`${path}:${line}`));
  if (uncovered.length)
    throw makeError(
      `${uncovered.length + moreCount + 1} things are: ` +
        `${definitions.map(pathAndLine).join(", ")}. Choose one by path and line.`,
    );
  return planRename(desk, targetSpot, to);
}

function renamedResult(
  index: Index,
  wantedName: string,
  { symbol, to }: { symbol: string; to: string },
  edits: Edit[],
  ctx: Ctx,
): Result {
  const fileRows = [...Map.groupBy(edits, (edit) => edit.path)].map(
    ([filePath, fileEdits]) => `${filePath}: ${fileEdits.length}`,
  );
  return {
    text: [
      `Renamed '${symbol}' to '${to}' in ${plural(edits.length, "place")}:`,
      capRows(fileRows, MAX_ROWS, "files"),
      ...otherThings(index, wantedName, edits, ctx),
    ].join("\n"),
    data: edits,
  };
}

interface RenameTarget {
  wanted: string;
  target: SymbolSpot;
  byName: FoundSymbol[];
  foreign: Uses | undefined;
  line: number | undefined;
}
/** Throws where a use would be left with the old name. */
async function checkNothingMissed(
  state: State,
  index: Index,
  { wanted, target, byName, foreign, line }: RenameTarget,
  { edits, knownUses }: Renaming,
  makeError: (reason: string) => Error,
  ctx: Ctx,
): Promise<void> {
  const unnamed = await unnamedByServer(
    index,
    wanted,
    byName,
    [{ symbol: "", places: knownUses }],
    [],
    ctx,
  );
  if (unnamed.length)
    throw makeError(
      "the language server may not know these yet:\n" +
        `${unnamed.join("\n")}\nEdit each place instead.`,
    );
  const knownFiles = new Set(knownUses.map(({ path }) => path));
  const doubtfulUses = await unresolvedUses(state, index, wanted, knownFiles, ctx);
  if (doubtfulUses.length)
    throw makeError(
      "it would miss places whose imports lead nowhere known:\n" +
        `${capRows(doubtfulUses, MAX_TEXT_HITS, "places")}\n` +
        "Install or build what they import, or edit each place.",
    );
  const isEdited = ({ path, start, end }: CodeUse) =>
    edits.some((edit) => edit.path === path && edit.start <= start && end <= edit.end);
  const missedUse = foreign?.useGroups[0]?.places.find(
    (symbolUse) => isNamed(symbolUse, wanted, { path: target.path }) && !isEdited(symbolUse),
  );
  if (missedUse && !line)
    throw makeError(
      `2 things are: ${target.path}:${target.line}, ${missedUse.path}:${missedUse.line}. ` +
        "Choose one by path and line.",
    );
  const missedReason = await missedUses(state, index, target, edits, ctx);
  if (missedReason) throw makeError(missedReason);
}

async function makeEdits(edits: Edit[], ctx: Ctx): Promise<void> {
  for (const [filePath, fileEdits] of Map.groupBy(edits, (edit) => edit.path)) {
    const { text } = await ctx.files.read(filePath);
    await ctx.files.write(filePath, applyEdits(text, fileEdits));
  }
}
/**
 * Files that have the name and were left as they are, or were not read, so that nobody takes a miss
 * for a whole rename.
 */
function otherThings(index: Index, symbolName: string, edits: Edit[], ctx: Ctx): string[] {
  const deniedFiles = index.names.filter(
    (filePath) => SCRIPT.test(filePath) && !mayRead(ctx, filePath),
  );
  const notes = deniedFiles.length
    ? [`[Not looked at, since they may not be read: ${listFiles(deniedFiles)}]`]
    : [];
  const changed = new Set(edits.map(({ path }) => path));
  const untouchedFiles = scriptsUsing(index, symbolName, ctx).filter(
    (filePath) => !changed.has(filePath),
  );
  if (!untouchedFiles.length) return notes;
  return [
    `[Left as ${untouchedFiles.length > 1 ? "they are" : "it is"}, ` +
      `since there the name is passed on or means something else: ${listFiles(untouchedFiles)}]`,
    ...notes,
  ];
}
const listFiles = (filePaths: string[]) =>
  filePaths.slice(0, MAX_NEAR).join(", ") + (filePaths.length > MAX_NEAR ? " …" : "");
const isNamed = (
  { path, line, start, end, kind: useKind }: CodeUse,
  symbolName: string,
  wantedSpot: { path: string | undefined; line?: number | undefined },
) =>
  end - start === symbolName.length &&
  useKind !== "comment" &&
  (!wantedSpot.path || path === wantedSpot.path) &&
  (!wantedSpot.line || line === wantedSpot.line);
/**
 * Where to begin, with a name that the project takes from elsewhere: a rename reaches one file of
 * those that take it.
 */
function foreignStart(
  { useGroups, unsearched }: Uses,
  name: string,
  wantedSpot: { path: string | undefined; line: number | undefined },
  makeError: (reason: string) => Error,
): SymbolSpot[] {
  const namedGroups = useGroups
    .map(({ places }) => places.filter((symbolUse) => isNamed(symbolUse, name, wantedSpot)))
    .filter(([firstUse]) => firstUse);
  const definitions = namedGroups.map(([firstUse]) => ({
    path: firstUse!.path,
    line: firstUse!.line,
    name,
  }));
  const listSpots = (spots: SymbolSpot[]): string => {
    const spotRows = spots.slice(0, MAX_TEXT_HITS).map(pathAndLine);
    return (
      spotRows.join(", ") +
      (spots.length > spotRows.length ? ` and ${spots.length - spotRows.length} more` : "")
    );
  };
  if (definitions.length > 1)
    throw makeError(
      `${definitions.length} things are: ${listSpots(definitions)}. Choose one by path and line.`,
    );
  const fileSpots = [...Map.groupBy(namedGroups[0] ?? [], ({ path }) => path)].map(
    ([path, [firstUse]]) => ({ path, line: firstUse!.line, name }),
  );
  if (fileSpots.length > 1)
    throw makeError(
      `${fileSpots.length} files take it from elsewhere: ` +
        `${listSpots(fileSpots)}. Choose one by path.`,
    );
  if (unsearched && !wantedSpot.path) throw makeError(`${unsearched}. Choose one by path.`);
  return definitions;
}
/** Why a rename would miss uses that TypeScript does not see; "": it would not. */
async function missedUses(
  state: State,
  index: Index,
  targetSpot: { path: string; line: number; name: string },
  edits: { path: string }[],
  ctx: Ctx,
): Promise<string> {
  const inComponents = await usesInComponents(state, index, targetSpot, ctx);
  if (inComponents.length)
    return (
      "components and pages use it too, and are not read by meaning:\n" +
      `${capRows(inComponents, MAX_TEXT_HITS, "places")}\nEdit each place instead.`
    );
  const editedFiles = new Set(edits.map(({ path: filePath }) => filePath));
  const unreadFiles = unreadUsers(
    index,
    targetSpot.name,
    Boolean(index.facts(targetSpot.path)?.global),
    ctx,
  ).filter(({ path }) => !editedFiles.has(path));
  if (!unreadFiles.length) return "";
  return (
    `it may be used in ${plural(unreadFiles.length, "file")} that ` +
    `${unreadFiles.length > 1 ? "were" : "was"} not read: ${listUnread(unreadFiles)}. ` +
    "See with grep, and edit each place instead."
  );
}
