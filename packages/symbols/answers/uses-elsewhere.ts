// Uses that no language server tells: of names that come from outside, by imports that lead nowhere
// known, and where a name stands in other texts.
import path from "node:path";
import type { Ctx } from "zz";
import { stampOf } from "zz/text";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import type { FoundSymbol } from "../match-names.ts";
import { scriptsUsing } from "../may-read.ts";
import type { CodeUse, Group } from "../meaning/code-uses.ts";
import { atDesk, type Desk } from "../meaning/desk.ts";
import { foreignUses } from "../meaning/foreign.ts";
import { SCRIPT, takesName } from "./answer-rows.ts";
import { type NamedUses, usesByName } from "./by-name.ts";
import { importGraph } from "./list-imports.ts";
import type { State } from "./tool-state.ts";
import type { Uses } from "./uses.ts";

export const MAX_TEXT_HITS = 10;
const MAX_GLOB_CHARS = 900;
/**
 * Rows of files that have the name, where a server of another language names none: it may not have
 * read them yet.
 */
export async function unnamedByServer(
  index: Index,
  symbolName: string,
  defined: FoundSymbol[],
  useGroups: Group[],
  byName: FoundSymbol[],
  ctx: Ctx,
): Promise<string[]> {
  const askedSymbols = defined.filter((definition) => !byName.includes(definition));
  if (!askedSymbols.length) return [];
  const knownFiles = new Set(useGroups.flatMap(({ places }) => places.map(({ path }) => path)));
  const { places } = await usesByName(index, symbolName, askedSymbols, ctx);
  return places
    .filter(({ path }) => !knownFiles.has(path))
    .slice(0, MAX_TEXT_HITS)
    .map(({ path, line, text }) => `${path}:${line}: ${text}`);
}
export const endOf = (filePath: string): string | undefined => filePath.split(".").at(-1);
/** The uses of a name that the project does not define, where it means the same as at `about`. */
export async function foreignAt(
  state: State,
  index: Index,
  symbolName: string,
  userFiles: string[],
  about: { path: string | undefined; line: number | undefined },
  ctx: Ctx,
  instead: (reason: string) => Uses,
): Promise<Uses> {
  const isAsked = ({ path, line }: CodeUse) =>
    (!about.path || path === about.path) && (!about.line || line === about.line);
  const findAtDesk = async (desk: Desk): Promise<Uses> => {
    const { groups, unsearched } = await foreignUses(desk, symbolName, userFiles, about.path);
    return {
      useGroups: groups.filter(({ places }) => places.some(isAsked)),
      unlocated: [],
      unsearched,
    };
  };
  return atDesk(state, index, about.path ?? userFiles[0]!, ctx, findAtDesk, instead);
}
export const NO_USES: Uses = { useGroups: [], unlocated: [] };
export const NONE: NamedUses = { places: [], note: "", missed: [], covers: () => false };
/**
 * Rows of files that take a thing of that name from where nobody knows, besides those that are
 * known to use it.
 */
export async function unresolvedUses(
  state: State,
  index: Index,
  symbolName: string,
  knownFiles: Set<string>,
  ctx: Ctx,
) {
  const userImports = scriptsUsing(index, symbolName, ctx)
    .filter((filePath) => !knownFiles.has(filePath))
    .map(
      (filePath) =>
        [
          filePath,
          {
            imports: index
              .passed(filePath)
              .imports.filter(({ names }) =>
                names.some((specifier) => mayTake(specifier, symbolName)),
              ),
          },
        ] as const,
    )
    .filter(([, { imports }]) => imports.length);
  if (!userImports.length) return [];
  const { imports } = await importGraph(state, index, ctx, userImports);
  const useRows: string[] = [];
  for (const [filePath, { imports: fileImports }] of userImports) {
    const doubtful = (imports.get(filePath) ?? []).flatMap(({ kind: edgeKind, line, spec }, i) => {
      return edgeKind === "missing" ? [{ line, spec, names: fileImports[i]!.names }] : [];
    });
    if (!doubtful.length) continue;
    const { text } = await readText(ctx, filePath);
    const takingImport = doubtful.find(({ names }) =>
      names.some((specifier) => takesName(specifier, symbolName, text)),
    );
    if (takingImport) useRows.push(`${filePath}:${takingImport.line}: from "${takingImport.spec}"`);
  }
  return useRows;
}
const mayTake = (specifier: string, symbolName: string) =>
  specifier[0] === "*" || specifier.split(" as ")[0] === symbolName;
/** What was found for this name before, as long as no file has changed since. */
export function textsAsBefore(
  state: State,
  name: string,
  index: Index,
  ctx: Ctx,
): Promise<string[]> {
  const unindexedFiles = index.names.filter((filePath) => !index.entries.has(filePath));
  const changeTimes = unindexedFiles
    .map((filePath) => stampOf(path.join(state.root, filePath)))
    .join();
  const about = [index.version, index.names, JSON.stringify(ctx.permissions.rules), changeTimes];
  const earlier = state.said;
  if (earlier?.name === name && about.every((condition, i) => condition === earlier.about[i]))
    return earlier.rows;
  const rows = textHits(name, index, NONE.covers, ctx);
  state.said = { name, about, rows };
  rows.catch(() => delete state.said);
  return rows;
}
/** Where the name stands in files that the index does not know. */
export async function textHits(
  symbolName: string,
  { files, names }: Index,
  isKnown: (filePath: string) => boolean,
  ctx: Ctx,
): Promise<string[]> {
  const knownFiles = new Set(
    files.filter((filePath) => SCRIPT.test(filePath) || isKnown(filePath)),
  );
  const unknownFiles = names.filter((filePath) => !knownFiles.has(filePath));
  if (!/^[\w$#]+$/.test(symbolName) || !unknownFiles.length) return [];
  const query = `(?<![\\w$])${symbolName.replaceAll("$", "\\$")}(?![\\w$])`;
  const glob = makeGlob(unknownFiles);
  const { text, failed } = await ctx.call("grep", { query, regex: true, ...(glob && { glob }) });
  if (failed) return [];
  const hitRows = text
    .split("\n")
    .filter((grepRow) => /^[^":]+:\d+:/.test(grepRow) && !knownFiles.has(grepRow.split(":")[0]!));
  const hasMore = hitRows.length > MAX_TEXT_HITS || /^\[\d+ more hit/m.test(text);
  return [
    ...hitRows.slice(0, MAX_TEXT_HITS),
    ...(hasMore && hitRows.length ? ["[there is more; grep shows all of it]"] : []),
  ];
}
/**
 * Their extensions, so that code is not searched again; undefined if they cannot be told from it.
 */
function makeGlob(filePaths: string[]): string | undefined {
  const globParts = [
    ...new Set(
      filePaths.map((filePath) => path.basename(filePath).replace(/^.*(?=\.[^.]+$)/, "*")),
    ),
  ];
  const wholeGlob = `{${globParts.join(",")},}`;
  const isPlain = globParts.every(
    (globPart) => /^[\w.*@+-]+$/.test(globPart) && !SCRIPT.test(globPart),
  );
  return isPlain && wholeGlob.length < MAX_GLOB_CHARS ? wholeGlob : undefined;
}
