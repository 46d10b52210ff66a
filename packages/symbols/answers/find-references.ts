// find_references, from a language server; where there is none, by name.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import type { CodeUse, Group, SymbolSpot } from "../meaning/code-uses.ts";
import { atDesk, wake } from "../meaning/desk.ts";
import { groupedReferences as usesAtDesk } from "../meaning/references.ts";
import { MAX_ROWS, pathAndLine } from "./answer-rows.ts";
import { usesByName } from "./by-name.ts";
import { definitionsOf, nearestTo } from "./definitions-of.ts";
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

const MAX_SYMBOL_CHARS = 120; // characters
const MAX_PLACE_CHARS = 120; // of the text of a place: a longer line is cut
const LABELLED_KINDS = new Set(["definition", "import", "export", "write"]);

export async function findReferences(
  state: State,
  args: SymbolQuery & { start?: number },
  ctx: Ctx,
): Promise<Result> {
  wake(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const { wanted, unlistedCount, scriptDefinitions, users, others } = definitionsOf(
    index,
    args,
    ctx,
  );
  const isOfScripts = (scriptDefinitions.length || users.length) && !others.length;
  const early = isOfScripts ? textsAsBefore(state, wanted, index, ctx) : undefined; // meanwhile
  early?.catch(() => {}); // awaited below
  const { useGroups, unlocated, beyond, unnamed, named } = await usesOfAll(state, index, args, ctx);
  const knownFiles = new Set(
    useGroups.flatMap(({ places }) => places.map(({ path: file }) => file)),
  );
  const unsure = named.isScripts ? [] : await unresolvedUses(state, index, wanted, knownFiles, ctx);
  const textRows = await (early ?? textHits(wanted, index, named.covers, ctx));
  const missed = [...(beyond ? [`[${beyond}]`] : []), ...named.missed];
  if (!useGroups.length && !textRows.length && !unsure.length) {
    const [
      reason = `Cannot find a use of '${args.symbol}': no code names it. ${nearestTo(index, wanted, ctx)}`,
      ...furtherReasons
    ] = unlocated;
    throw new Error(
      [reason, ...furtherReasons.map((furtherReason) => `[${furtherReason}]`), ...missed].join(
        "\n",
      ),
    );
  }
  const first = Math.max(args.start ?? 1, 1) - 1;
  const { shown, rows } = pageOf(useGroups, first, args.symbol);
  noteShown(shown, ctx);
  if (first) return { text: rows.join("\n"), data: useGroups };
  const elsewhere = textRows.length ? ["In other files, as text:", ...textRows] : [];
  const moreNote = unlistedCount
    ? [`[${unlistedCount} more definitions of that name; path and line choose one]`]
    : [];
  const notes = [...unlocated.map((sentence) => `[${sentence}]`), ...missed];
  const maybe = unsure.length
    ? ["Perhaps used here too, by an import that leads nowhere known:", ...unsure]
    : [];
  if (unnamed.length)
    maybe.push("By name alone, where the language server names no use:", ...unnamed);
  const text = [
    ...(named.places.length ? [named.note] : []),
    ...rows,
    ...moreNote,
    ...notes,
    ...maybe,
    ...elsewhere,
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
  const ask = async (
    definitions: SymbolSpot[],
    instead: (reason: string) => Uses,
  ): Promise<void> => {
    const uses = await atDesk(
      ...([state, index, definitions[0]!.path, ctx] as const),
      (desk) => usesOf(definitions, (definition) => usesAtDesk(desk, definition), desk.mayShow),
      instead,
    );
    useGroups.push(...uses.useGroups);
    unlocated.push(...uses.unlocated);
  };
  const byNameSince = (reason: string): Uses => {
    scriptFailure = reason;
    return NO_USES;
  };
  if (users.length) {
    const about = { path: file, line: args.line };
    const uses = await foreignAt(state, index, wanted, users, about, ctx, byNameSince);
    useGroups.push(...uses.useGroups);
    beyond = uses.unsearched ?? "";
  } else if (scriptDefinitions.length) await ask(scriptDefinitions, byNameSince);
  for (const [, fileGroup] of Map.groupBy(others, ({ path }) => endOf(path))) {
    const places = fileGroup.map(({ path, line }) => ({ path, line, name: wanted }));
    await ask(places, (reason) => {
      if (!/not installed|no language server|turned off/.test(reason)) failure = reason;
      byName.push(...fileGroup);
      return NO_USES;
    });
  }
  const unnamed = await unnamedByServer(index, wanted, others, useGroups, byName, ctx);
  const isNowhere = !others.length && !scriptDefinitions.length && !users.length;
  const scripts = scriptFailure
    ? { why: scriptFailure, files: [...scriptDefinitions.map(({ path }) => path), ...users] }
    : undefined;
  const named =
    byName.length || isNowhere || scripts
      ? await usesByName(index, wanted, byName, ctx, failure, scripts)
      : NONE;
  if (named.places.length) useGroups.push({ symbol: `${wanted}, by name`, places: named.places });
  const answeredEndings = new Set(
    others.filter((definition) => !byName.includes(definition)).map(({ path }) => endOf(path)),
  );
  const covers = (file: string) => named.covers(file) || answeredEndings.has(endOf(file));
  return {
    useGroups,
    unlocated,
    beyond,
    unnamed,
    named: { ...named, covers, isScripts: !!scripts },
  };
}

/** The places that one answer shows, a line each, and how to ask for the next ones. */
function pageOf(groups: { symbol: string; places: CodeUse[] }[], first: number, name: string) {
  const listedPlaces = groups.flatMap(({ symbol, places }) => {
    const byLine = Map.groupBy(places, pathAndLine);
    const lines = [...byLine.values()].map(
      (lineUses) =>
        lineUses.find(({ kind: useKind }) => useKind === "definition") ?? lineUses.at(-1)!,
    );
    const group = {
      title: `${symbol.slice(0, MAX_SYMBOL_CHARS)}: ${plural(lines.length, "place")}`,
    };
    return lines.map((use) => ({ ...use, group }));
  });
  if (first && first >= listedPlaces.length)
    throw new Error(
      `Cannot show the uses of '${name}' from place ${first + 1} on: there are ${listedPlaces.length}. Begin with an earlier one.`,
    );
  const shown = listedPlaces.slice(first, first + 2 * MAX_ROWS);
  const rows = shown.flatMap(({ path: file, line, text, kind: useKind, group }, i) => {
    const isHeaded = groups.length > 1 && group !== shown[i - 1]?.group;
    return [
      ...(isHeaded ? [group.title] : []),
      `${file}:${line}: ${text}${LABELLED_KINDS.has(useKind) ? `  [${useKind}]` : ""}`,
    ];
  });
  const next = first + shown.length;
  const nextNote =
    next < listedPlaces.length
      ? [`[${plural(listedPlaces.length - next, "more place")}; start: ${next + 1} shows more]`]
      : [];
  return { shown, rows: [...rows, ...nextNote] };
}

/** The lines of these places count as shown to the model. */
export function noteShown(shown: CodeUse[], ctx: Ctx): void {
  for (const [file, places] of Map.groupBy(shown, ({ path: file }) => file))
    ctx.files.shown(
      file,
      places.filter(({ text }) => text.length < MAX_PLACE_CHARS).map(({ line }) => [line, line]),
    );
}
