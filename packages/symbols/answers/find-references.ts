// find_references, from a language server; where there is none, by name.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import type { CodeUse, Group, SymbolSpot } from "../meaning/code-uses.ts";
import { atDesk, type Desk, startServerEarly } from "../meaning/desk.ts";
import { groupedReferences as usesAtDesk } from "../meaning/references.ts";
import { MAX_TEXT_CHARS } from "../scan/facts.ts";
import { MAX_ROWS, pathAndLine } from "./answer-rows.ts";
import { usesByName } from "./by-name.ts";
import { definitionsOf, nearestTo, spotsOf } from "./definitions-of.ts";
import { freshIndex, type State, type SymbolQuery } from "./tool-state.ts";
import { type Uses, usesOf } from "./uses.ts";
import {
  endOf,
  foreignAt,
  NO_USES,
  NONE,
  textHits,
  textsAsBefore,
  unnamedByServer,
  unresolvedUses,
} from "./uses-elsewhere.ts";

const LABELLED_KINDS = new Set(["definition", "import", "export", "write"]);

export async function findReferences(
  state: State,
  args: SymbolQuery & { start?: number },
  ctx: Ctx,
): Promise<Result> {
  startServerEarly(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const { wanted, unlistedCount, scriptDefinitions, users, others } = definitionsOf(
    index,
    args,
    ctx,
  );
  const isOfScripts = (scriptDefinitions.length || users.length) && !others.length;
  const earlyRows = isOfScripts ? textsAsBefore(state, wanted, index, ctx) : undefined; // meanwhile
  earlyRows?.catch(() => {}); // awaited below
  const { useGroups, unlocated, beyond, unnamed, named } = await usesOfAll(state, index, args, ctx);
  const knownFiles = new Set(
    useGroups.flatMap(({ places }) => places.map(({ path: filePath }) => filePath)),
  );
  const unsure = named.isScripts ? [] : await unresolvedUses(state, index, wanted, knownFiles, ctx);
  const textRows = await (earlyRows ?? textHits(wanted, index, named.covers, ctx));
  const missedNotes = [...(beyond ? [`[${beyond}]`] : []), ...named.missed];
  if (!useGroups.length && !textRows.length && !unsure.length) {
    const [
      reason = `Cannot find a use of '${args.symbol}': no code names it. ` +
        nearestTo(index, wanted, ctx),
      ...furtherReasons
    ] = unlocated;
    throw new Error(
      [reason, ...furtherReasons.map((furtherReason) => `[${furtherReason}]`), ...missedNotes].join(
        "\n",
      ),
    );
  }
  const firstIndex = Math.max(args.start ?? 1, 1) - 1;
  const { shown, rows } = makePage(useGroups, firstIndex, args.symbol);
  noteShown(shown, ctx);
  if (firstIndex) return { text: rows.join("\n"), data: useGroups };
  const text = [
    named.places.length && named.note,
    ...rows,
    unlistedCount && `[${unlistedCount} more definitions of that name; path and line choose one]`,
    ...unlocated.map((sentence) => `[${sentence}]`),
    ...missedNotes,
    unsure.length && "Perhaps used here too, by an import that leads nowhere known:",
    ...unsure,
    unnamed.length && "By name alone, where the language server names no use:",
    ...unnamed,
    textRows.length && "In other files, as text:",
    ...textRows,
  ]
    .filter(Boolean)
    .join("\n");
  return { text, data: useGroups };
}

/** By meaning where a language server knows it, else by name. */
async function usesOfAll(state: State, index: Index, args: SymbolQuery, ctx: Ctx) {
  const { wanted, scriptDefinitions, others, users, file } = definitionsOf(index, args, ctx);
  const useGroups: Group[] = [];
  const unlocated: string[] = [];
  const byName: FoundSymbol[] = [];
  let [beyond, scriptFailure, failure] = ["", "", ""];
  const askServer = async (
    definitions: SymbolSpot[],
    instead: (reason: string) => Uses,
  ): Promise<void> => {
    const ask = (desk: Desk) =>
      usesOf(definitions, (definition) => usesAtDesk(desk, definition), desk.mayShow);
    const serverUses = await atDesk(state, index, definitions[0]!.path, ctx, ask, instead);
    useGroups.push(...serverUses.useGroups);
    unlocated.push(...serverUses.unlocated);
  };
  const byNameSince = (reason: string): Uses => {
    scriptFailure = reason;
    return NO_USES;
  };
  if (users.length) {
    const wantedSpot = { path: file, line: args.line };
    const foreignUses = await foreignAt(state, index, wanted, users, wantedSpot, ctx, byNameSince);
    useGroups.push(...foreignUses.useGroups);
    beyond = foreignUses.unsearched ?? "";
  } else if (scriptDefinitions.length) await askServer(scriptDefinitions, byNameSince);
  for (const [, fileGroup] of Map.groupBy(others, ({ path }) => endOf(path))) {
    await askServer(spotsOf(fileGroup, wanted), (reason) => {
      if (!/not installed|no language server/.test(reason)) failure = reason;
      byName.push(...fileGroup);
      return NO_USES;
    });
  }
  const unnamed = await unnamedByServer(index, wanted, others, useGroups, byName, ctx);
  const isNowhere = !others.length && !scriptDefinitions.length && !users.length;
  const scripts = scriptFailure
    ? { why: scriptFailure, files: [...scriptDefinitions.map(({ path }) => path), ...users] }
    : undefined;
  const namedUses =
    byName.length || isNowhere || scripts
      ? await usesByName(index, wanted, byName, ctx, failure, scripts)
      : NONE;
  if (namedUses.places.length)
    useGroups.push({ symbol: `${wanted}, by name`, places: namedUses.places });
  const answeredEndings = new Set(
    others.filter((definition) => !byName.includes(definition)).map(({ path }) => endOf(path)),
  );
  const covers = (filePath: string) =>
    namedUses.covers(filePath) || answeredEndings.has(endOf(filePath));
  return {
    useGroups,
    unlocated,
    beyond,
    unnamed,
    named: { ...namedUses, covers, isScripts: !!scripts },
  };
}

/** The places that one answer shows, a line each, and how to ask for the next ones. */
function makePage(
  useGroups: { symbol: string; places: CodeUse[] }[],
  firstIndex: number,
  symbolName: string,
) {
  const listedPlaces = useGroups.flatMap(({ symbol, places }) => {
    const usesByLine = Map.groupBy(places, pathAndLine);
    const linePlaces = [...usesByLine.values()].map(
      (lineUses) =>
        lineUses.find(({ kind: useKind }) => useKind === "definition") ?? lineUses.at(-1)!,
    );
    const group = {
      title: `${symbol.slice(0, MAX_TEXT_CHARS)}: ${plural(linePlaces.length, "place")}`,
    };
    return linePlaces.map((lineUse) => ({ ...lineUse, group }));
  });
  if (firstIndex && firstIndex >= listedPlaces.length)
    throw new Error(
      `Cannot show the uses of '${symbolName}' from place ${firstIndex + 1} on: ` +
        `there are ${listedPlaces.length}. Begin with an earlier one.`,
    );
  const shown = listedPlaces.slice(firstIndex, firstIndex + 2 * MAX_ROWS);
  const pageRows = shown.flatMap(({ path: filePath, line, text, kind: useKind, group }, i) => {
    const isHeaded = useGroups.length > 1 && group !== shown[i - 1]?.group;
    return [
      ...(isHeaded ? [group.title] : []),
      `${filePath}:${line}: ${text}${LABELLED_KINDS.has(useKind) ? `  [${useKind}]` : ""}`,
    ];
  });
  const nextIndex = firstIndex + shown.length;
  if (nextIndex < listedPlaces.length)
    pageRows.push(
      `[${plural(listedPlaces.length - nextIndex, "more place")}; ` +
        `start: ${nextIndex + 1} shows more]`,
    );
  return { shown, rows: pageRows };
}

/** The lines of these places count as shown to the model. */
export function noteShown(shownPlaces: CodeUse[], ctx: Ctx): void {
  for (const [filePath, filePlaces] of Map.groupBy(shownPlaces, ({ path: filePath }) => filePath))
    ctx.files.shown(
      filePath,
      filePlaces
        .filter(({ text }) => text.length < MAX_TEXT_CHARS) // a longer line is cut
        .map(({ line }) => [line, line]),
    );
}
