// find_definition, find_symbols, get_structure, get_function and get_class.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import { bestFor, type FoundSymbol, fuzzy } from "../match-names.ts";
import { definitionElsewhere } from "../meaning/definition.ts";
import { typeOf } from "../meaning/desk.ts";
import type { Facts, Sym } from "../scan/facts.ts";
import { type Alias, aliasesOf } from "./aliases.ts";
import {
  capRows,
  filesUnder,
  formatSymbolRow,
  foundIn,
  generatedTest,
  isCode,
  lastName,
  MAX_NAMES_PER_FILE,
  MAX_ROWS,
  meantBy,
  NO_CODE,
  nameAndLine,
  nameIn,
  notLookedAt,
  pathAndLine,
  toProjectPath,
} from "./answer-rows.ts";
import { freshIndex, type State } from "./tool-state.ts";

const MAX_PART_LINES = 400; // lines

export async function findDefinition(
  state: State,
  { symbol }: { symbol: string },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const { wanted, files } = meantBy(index, symbol);
  const definedSymbols = foundIn(index, files, ctx);
  const aliases = await aliasesOf(state, index, files, wanted, ctx);
  const codeSymbols = definedSymbols.filter(isCode);
  const sameNamed = (codeSymbols.length || aliases.length ? codeSymbols : definedSymbols).filter(
    ({ name }) => name === wanted || name.endsWith(`.${wanted}`),
  );
  const listedPlaces = new Set(sameNamed.map(pathAndLine));
  const isGeneratedFile = generatedTest(index);
  const exact = [
    ...sameNamed,
    ...aliases.filter((alias) => !listedPlaces.has(pathAndLine(alias))),
  ].sort(
    (first, second) => Number(isGeneratedFile(first.path)) - Number(isGeneratedFile(second.path)),
  );
  const { exact: sureMatches, near } = exact.length
    ? { exact, near: [] }
    : bestFor(wanted, foundIn(index, writtenFilesOf(index), ctx).filter(isCode));
  if (sureMatches.length)
    return {
      text: capRows(sureMatches.map(rowWithAlias), MAX_ROWS, "definitions"),
      data: sureMatches,
    };
  const elsewhere = near.some(({ name }) => lastName(name) === wanted)
    ? []
    : await definitionElsewhere(state, index, wanted, ctx);
  if (elsewhere.length)
    return { text: capRows(elsewhere, MAX_ROWS, "definitions"), data: elsewhere };
  if (!near.length)
    throw new Error(`Cannot find a definition of '${symbol}': nothing has that name. Try grep.`);
  return {
    text: [`No definition is named '${symbol}'. Nearest:`, ...near.map(formatSymbolRow)].join("\n"),
    data: near,
  };
}

/** Without build output and the like, unless there is nothing else. */
function writtenFilesOf(index: Index): readonly string[] {
  const isGeneratedFile = generatedTest(index);
  const writtenFiles = index.files.filter((filePath) => !isGeneratedFile(filePath));
  return writtenFiles.length ? writtenFiles : index.files;
}

const rowWithAlias = (symbol: FoundSymbol | Alias) =>
  "exporter" in symbol
    ? `${formatSymbolRow(symbol)}  [exported as ${symbol.alias} by ${symbol.exporter}]`
    : formatSymbolRow(symbol);

export async function findSymbols(
  state: State,
  { query, kind: wantedKind, path: under = "." }: { query: string; kind?: string; path?: string },
  ctx: Ctx,
) {
  const index = await freshIndex(state, ctx);
  const codeFiles = filesUnder(index, under, ctx);
  const candidates = foundIn(
    index,
    toProjectPath(under, ctx) ? codeFiles : writtenFilesOf(index),
    ctx,
  ).filter((symbol) => !wantedKind || symbol.kind === wantedKind);
  const bestMatches = fuzzy(nameIn(query), candidates, MAX_ROWS);
  if (!bestMatches.length)
    throw new Error(
      `Cannot find symbols like '${query}'${wantedKind ? ` of kind ${wantedKind}` : ""}: ` +
        "none is near. Try grep.",
    );
  return {
    text: bestMatches.map((symbol) => `${formatSymbolRow(symbol)}  [${symbol.kind}]`).join("\n"),
    data: bestMatches,
  };
}

export async function showStructure(
  state: State,
  { path: under = ".", depth }: { path?: string; depth?: number },
  ctx: Ctx,
): Promise<Result | string> {
  const index = await freshIndex(state, ctx);
  const codeFiles = filesUnder(index, under, ctx);
  if (!codeFiles.length) return [NO_CODE, ...notLookedAt(index, under, codeFiles, ctx)].join("\n");
  if (codeFiles.length === 1 && codeFiles[0] === toProjectPath(under, ctx))
    return outline(codeFiles[0], index.facts(codeFiles[0])!, depth);
  const fileRows = codeFiles.map((filePath) => {
    const { symbols, unread, exports } = index.facts(filePath)!;
    const exportedNames = symbols
      .filter(({ exported, owner }) => exported && !owner)
      .map(({ name, line }) => `${name}:${line}`);
    const shownNames = [
      ...exportedNames,
      ...reexports(exports).map(
        ([origin, passedNames]) => `{${passedNames.join(", ")}} from ${origin}`,
      ),
    ];
    const ellipsis = shownNames.length > MAX_NAMES_PER_FILE ? " …" : "";
    return unread
      ? `${filePath} (not read: ${unread})`
      : (
          `${filePath} (${symbols.length}) ` +
          `${shownNames.slice(0, MAX_NAMES_PER_FILE).join(" ")}${ellipsis}`
        ).trimEnd();
  });
  const folders =
    codeFiles.length > 2 * MAX_ROWS ? foldersOf(codeFiles, toProjectPath(under, ctx)) : [];
  const folderRows = folders.length ? [...folders, "Files and what they export:"] : [];
  const text = [
    ...folderRows,
    capRows(fileRows, 2 * MAX_ROWS, "files"),
    ...notLookedAt(index, under, [], ctx),
  ].join("\n");
  return { text, data: codeFiles };
}

const isMadeByCall = ({ kind: symbolKind, signature }: FoundSymbol) =>
  /^(const|variable|property)$/.test(symbolKind) && /=\s*[\w$.]+\s*(<.*>)?\(/.test(signature);

/** What a file passes on, by where it comes from. */
function reexports(exports: Facts["exports"]): [from: string, names: string[]][] {
  const passedExports = exports.filter(({ from }) => from !== undefined);
  const formatExport = ({ name, local }: Facts["exports"][number]) =>
    local === undefined || name === "*" ? name : `${local} as ${name}`;
  return [...Map.groupBy(passedExports, ({ from }) => from!)].map(([origin, groupExports]) => [
    origin,
    groupExports.map(formatExport),
  ]);
}

/** Each folder right below, with how many files of code it has. */
function foldersOf(filePaths: string[], parentFolder: string): string[] {
  const pathParts = filePaths.map((filePath) =>
    filePath.slice(parentFolder ? parentFolder.length + 1 : 0).split("/"),
  );
  const byFolder = Map.groupBy(pathParts, (segments) =>
    segments.length > 1 ? `${segments[0]}/` : "./",
  );
  const folderCounts = [...byFolder]
    .map(([folder, { length }]) => ({ folder, length }))
    .sort((first, second) => second.length - first.length);
  return [
    capRows(
      folderCounts.map(({ folder, length }) => `${folder} ${plural(length, "file")}`),
      MAX_ROWS,
      "folders",
    ),
  ];
}

function outline(
  filePath: string,
  { symbols, unread, parseError, loc, exports }: Facts,
  depth?: number,
): Result {
  if (unread) return { text: `${filePath}: not read: ${unread}.` };
  const nestingLevel = ({ owner }: Sym) => (owner ? owner.split(".").length : 0);
  const isShown = (outlineSymbol: Sym) =>
    depth === undefined
      ? !outlineSymbol.local
      : nestingLevel(outlineSymbol) < depth && (depth > 2 || !outlineSymbol.local);
  const shownSymbols = symbols.filter(isShown);
  const hiddenCount = symbols.length - shownSymbols.length;
  const symbolRows = shownSymbols.map(
    (outlineSymbol) =>
      `${"  ".repeat(nestingLevel(outlineSymbol))}${outlineSymbol.line}-${outlineSymbol.end}: ` +
      outlineSymbol.signature,
  );
  const headRows = [
    `${filePath} · ${plural(loc, "line")} of code`,
    ...(parseError ? [`[syntax error: ${parseError}]`] : []),
  ];
  const passedRows = reexports(exports).map(
    ([origin, passedNames]) => `exports {${passedNames.join(", ")}} from ${origin}`,
  );
  const bodyRows = [
    capRows(symbolRows, 5 * MAX_ROWS, "symbols; a smaller depth shows fewer"),
    capRows(passedRows, MAX_ROWS, ""),
  ];
  const hiddenHint =
    depth === undefined
      ? "inside of functions; depth: 3 shows them"
      : "deeper; a greater depth shows them";
  if (hiddenCount) bodyRows.push(`[${hiddenCount} more ${hiddenHint}]`);
  return { text: [...headRows, ...bodyRows].filter(Boolean).join("\n"), data: shownSymbols };
}

type Named = { name: string; path?: string };
export const showFunction = (state: State, args: Named, ctx: Ctx) =>
  showPart(state, "function", args, ctx);
export const showClass = (state: State, args: Named, ctx: Ctx) =>
  showPart(state, "class", args, ctx);

/** Its text, with line numbers, which counts as shown to the model. */
async function partRows(
  state: State,
  index: Index,
  { path: filePath, line, end }: FoundSymbol,
  partKind: "function" | "class",
  name: string,
  ctx: Ctx,
): Promise<string[]> {
  const { text, hash } = await readText(ctx, filePath);
  const lastLine = Math.min(end, line + MAX_PART_LINES - 1);
  const partLines = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .slice(line - 1, lastLine);
  ctx.files.shown(filePath, [[line, lastLine]], hash);
  const typeText =
    partKind === "function" ? await typeOf(state, index, { path: filePath, line, name }, ctx) : "";
  const shownRows = [
    `${filePath}:${line}-${end}${typeText && `  ${typeText}`}`,
    ...partLines.map((lineText, i) => `${line + i}\t${lineText}`),
  ];
  if (end - line >= MAX_PART_LINES)
    shownRows.push(
      `[${plural(end - line + 1 - MAX_PART_LINES, "more line")}; read_file shows them]`,
    );
  return shownRows;
}

async function showPart(
  state: State,
  partKind: "function" | "class",
  { name, path: givenPath }: Named,
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const symbolKinds =
    partKind === "function"
      ? ["function", "method"]
      : ["class", "interface", "type", "enum", "namespace", "const", "variable"];
  const { wanted, files: defining } = meantBy(index, name);
  const searchedFiles = givenPath ? filesUnder(index, givenPath, ctx) : defining;
  const definedSymbols = foundIn(index, searchedFiles, ctx);
  const isOfKind = ({ kind: symbolKind }: Sym) => symbolKinds.includes(symbolKind);
  const symbolsOfKind = definedSymbols.filter(isOfKind);
  const isWanted = (symbol: FoundSymbol) =>
    symbol.name === wanted || symbol.name.endsWith(`.${wanted}`);
  const wantedSymbols = symbolsOfKind.filter(isWanted);
  // memo(() => …)
  const matches = wantedSymbols.length
    ? wantedSymbols
    : definedSymbols.filter((symbol) => isWanted(symbol) && isMadeByCall(symbol));
  const aliases = matches.length ? [] : await aliasesOf(state, index, searchedFiles, wanted, ctx);
  const matchingParts = matches.length ? matches : aliases.filter(isOfKind);
  if (!matchingParts.length) {
    const nearest = givenPath
      ? symbolsOfKind
      : bestFor(wanted, foundIn(index, index.files, ctx).filter(isOfKind)).near;
    const nearestNames = nearest.slice(0, MAX_ROWS).map(nameAndLine);
    const unreadReason = givenPath && index.facts(toProjectPath(givenPath, ctx))?.unread;
    if (unreadReason)
      throw new Error(
        `Cannot show ${partKind} '${name}': '${givenPath}' was not read (${unreadReason}). ` +
          "Try grep and read_file.",
      );
    throw new Error(
      `Cannot show ${partKind} '${name}': ` +
        `${givenPath ? `'${givenPath}' has none of that name` : "none has that name"}. ` +
        `${nearestNames.length ? `There are: ${nearestNames.join(", ")}.` : "Try find_symbols."}`,
    );
  }
  const shownRows: string[] = [];
  for (const symbolPart of matchingParts.slice(0, 5))
    shownRows.push(...(await partRows(state, index, symbolPart, partKind, lastName(wanted), ctx)));
  if (matchingParts.length > 5)
    shownRows.push(
      `[${matchingParts.length - 5} more of that name: ` +
        `${matchingParts.slice(5, 15).map(pathAndLine).join(", ")}]`,
    );
  return { text: shownRows.join("\n"), data: matchingParts };
}
