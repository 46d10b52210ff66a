// rename_symbol, by a language server alone.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import { mayRead } from "../may-read.ts";
import type { CodeUse, Edit, SymbolSpot } from "../meaning/code-uses.ts";
import { atDesk, type Desk, wake } from "../meaning/desk.ts";
import { groupedReferences as usesAtDesk } from "../meaning/references.ts";
import { applyEdits, planRename, type Renaming } from "../meaning/rename.ts";
import { filesUsing } from "../rows.ts";
import { capRows, MAX_ROWS, pathAndLine, SCRIPT } from "./answer-rows.ts";
import { usesInComponents } from "./components.ts";
import { definitionsOf, MAX_NEAR, nearestTo } from "./definitions-of.ts";
import { freshIndex, type State, type SymbolQuery } from "./tool-state.ts";
import { listUnread, unreadUsers } from "./unread.ts";
import type { Uses } from "./uses.ts";
import { foreignAt, MAX_TEXT_HITS, unnamedByServer, unresolvedUses } from "./uses-elsewhere.ts";

export async function renameSymbol(
  state: State,
  args: SymbolQuery & { to: string },
  ctx: Ctx,
): Promise<Result> {
  wake(args.path, ctx);
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
      `${unlike!.path}:${unlike!.line} is known by name alone (${reason}). find_references shows the places; edit each of them.`,
    );
  if (unlike && defined.length) throw byNameOnly("and other code by meaning");
  const about = { path: file, line: args.line };
  const noServer = (reason: string) => {
    if (unlike) throw byNameOnly(reason);
    throw cannot(
      `${reason}, and by name alone it would change too much or too little. Edit each place instead.`,
    );
  };
  const foreign = users.length
    ? await foreignAt(state, index, wanted, users, about, ctx, noServer)
    : undefined;
  const others = byName.map(({ path, line }) => ({ path, line, name: wanted }));
  const definitions = foreign
    ? foreignStart(foreign, wanted, about, cannot)
    : [...defined, ...others];
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
  target: SymbolSpot,
  { definitions, moreCount, to }: { definitions: SymbolSpot[]; moreCount: number; to: string },
  cannot: (reason: string) => Error,
): Promise<Renaming> {
  const first =
    definitions.length + moreCount > 1 ? await usesAtDesk(desk, target) : [{ places: definitions }];
  const covered = first.flatMap(({ places }) => places.map(pathAndLine));
  const others = definitions.filter(({ path, line }) => !covered.includes(`${path}:${line}`));
  if (others.length)
    throw cannot(
      `${others.length + moreCount + 1} things are: ${definitions.map(pathAndLine).join(", ")}. Choose one by path and line.`,
    );
  return planRename(desk, target, to);
}

function renamedResult(
  index: Index,
  wanted: string,
  { symbol, to }: { symbol: string; to: string },
  edits: Edit[],
  ctx: Ctx,
): Result {
  const rows = [...Map.groupBy(edits, (edit) => edit.path)].map(
    ([file, fileEdits]) => `${file}: ${fileEdits.length}`,
  );
  return {
    text: [
      `Renamed '${symbol}' to '${to}' in ${plural(edits.length, "place")}:`,
      capRows(rows, MAX_ROWS, "files"),
      ...otherThings(index, wanted, edits, ctx),
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
  cannot: (reason: string) => Error,
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
    throw cannot(
      `the language server may not know these yet:\n${unnamed.join("\n")}\nEdit each place instead.`,
    );
  const files = new Set(knownUses.map(({ path }) => path));
  const unsure = await unresolvedUses(state, index, wanted, files, ctx);
  if (unsure.length)
    throw cannot(
      `it would miss places whose imports lead nowhere known:\n${capRows(unsure, MAX_TEXT_HITS, "places")}\nInstall or build what they import, or edit each place.`,
    );
  const isEdited = ({ path, start, end }: CodeUse) =>
    edits.some((edit) => edit.path === path && edit.start <= start && end <= edit.end);
  const missed = foreign?.useGroups[0]?.places.find(
    (use) => isNamed(use, wanted, { path: target.path }) && !isEdited(use),
  );
  if (missed && !line)
    throw cannot(
      `2 things are: ${target.path}:${target.line}, ${missed.path}:${missed.line}. Choose one by path and line.`,
    );
  const missedReason = await missedUses(state, index, target, edits, ctx);
  if (missedReason) throw cannot(missedReason);
}

async function makeEdits(edits: Edit[], ctx: Ctx): Promise<void> {
  for (const [file, fileEdits] of Map.groupBy(edits, (edit) => edit.path)) {
    const { text } = await ctx.files.read(file);
    await ctx.files.write(file, applyEdits(text, fileEdits));
  }
}
/**
 * Files that have the name and were left as they are, or were not read, so that nobody takes a miss
 * for a whole rename.
 */
function otherThings(index: Index, name: string, edits: Edit[], ctx: Ctx): string[] {
  const unread = index.names.filter((file) => SCRIPT.test(file) && !mayRead(ctx, file));
  const notes = unread.length
    ? [`[Not looked at, since they may not be read: ${listOf(unread)}]`]
    : [];
  const changed = new Set(edits.map(({ path }) => path));
  const others = filesUsing(index, name).filter(
    (file) => SCRIPT.test(file) && !changed.has(file) && mayRead(ctx, file),
  );
  if (!others.length) return notes;
  return [
    `[Left as ${others.length > 1 ? "they are" : "it is"}, since there the name is passed on or means something else: ${listOf(others)}]`,
    ...notes,
  ];
}
const listOf = (files: string[]): string =>
  files.slice(0, MAX_NEAR).join(", ") + (files.length > MAX_NEAR ? " …" : "");
const isNamed = (
  { path, line, start, end, kind: useKind }: CodeUse,
  name: string,
  about: { path: string | undefined; line?: number | undefined },
): boolean =>
  end - start === name.length &&
  useKind !== "comment" &&
  (!about.path || path === about.path) &&
  (!about.line || line === about.line);
/**
 * Where to begin, with a name that the project takes from elsewhere: a rename reaches one file of
 * those that take it.
 */
function foreignStart(
  { useGroups, unsearched }: Uses,
  name: string,
  about: { path: string | undefined; line: number | undefined },
  cannot: (reason: string) => Error,
): SymbolSpot[] {
  const groups = useGroups
    .map(({ places }) => places.filter((use) => isNamed(use, name, about)))
    .filter(([first]) => first);
  const definitions = groups.map(([first]) => ({ path: first!.path, line: first!.line, name }));
  const listed = (places: SymbolSpot[]): string => {
    const rows = places.slice(0, MAX_TEXT_HITS).map(pathAndLine);
    return (
      rows.join(", ") +
      (places.length > rows.length ? ` and ${places.length - rows.length} more` : "")
    );
  };
  if (definitions.length > 1)
    throw cannot(
      `${definitions.length} things are: ${listed(definitions)}. Choose one by path and line.`,
    );
  const files = [...Map.groupBy(groups[0] ?? [], ({ path }) => path)].map(([path, [first]]) => ({
    path,
    line: first!.line,
    name,
  }));
  if (files.length > 1)
    throw cannot(
      `${files.length} files take it from elsewhere: ${listed(files)}. Choose one by path.`,
    );
  if (unsearched && !about.path) throw cannot(`${unsearched}. Choose one by path.`);
  return definitions;
}
/** Why a rename would miss uses that TypeScript does not see; "": it would not. */
async function missedUses(
  state: State,
  index: Index,
  target: { path: string; line: number; name: string },
  edits: { path: string }[],
  ctx: Ctx,
): Promise<string> {
  const inComponents = await usesInComponents(state, index, target, ctx);
  if (inComponents.length)
    return `components and pages use it too, and are not read by meaning:\n${capRows(inComponents, MAX_TEXT_HITS, "places")}\nEdit each place instead.`;
  const editedFiles = new Set(edits.map(({ path: file }) => file));
  const unread = unreadUsers(
    index,
    target.name,
    Boolean(index.facts(target.path)?.global),
    ctx,
  ).filter(({ path }) => !editedFiles.has(path));
  if (!unread.length) return "";
  return `it may be used in ${plural(unread.length, "file")} that ${unread.length > 1 ? "were" : "was"} not read: ${listUnread(unread)}. See with grep, and edit each place instead.`;
}
