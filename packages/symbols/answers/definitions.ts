// find_definition, find_symbols, get_structure, get_function and get_class.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { readText } from "../encoding.ts";
import type { Index } from "../index-view.ts";
import { bestFor, type FoundSymbol, fuzzy } from "../match-names.ts";
import { definitionElsewhere } from "../meaning/definition.ts";
import { typeOf } from "../meaning/desk.ts";
import { filesMarkedGenerated } from "../rows.ts";
import type { Facts, Sym } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";
import { type Alias, aliasesOf } from "./aliases.ts";
import {
  capRows,
  filesUnder,
  foundIn,
  lastName,
  MAX_NAMES_PER_FILE,
  MAX_ROWS,
  meantBy,
  NO_CODE,
  nameAndLine,
  nameIn,
  notLookedAt,
  pathAndLine,
  relative,
  row,
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
  const named = foundIn(index, files, ctx);
  const aliases = await aliasesOf(state, index, files, wanted, ctx);
  const code = named.filter(({ kind: symbolKind }) => symbolKind !== "key");
  const sameNamed = (code.length || aliases.length ? code : named).filter(
    ({ name }) => name === wanted || name.endsWith(`.${wanted}`),
  );
  const listedPlaces = new Set(sameNamed.map(pathAndLine));
  const isFromGenerated = ({ path: file }: FoundSymbol): boolean =>
    isGenerated(file) || Boolean(index.facts(file)?.made);
  const writtenFirst = (a: FoundSymbol, b: FoundSymbol): number =>
    Number(isFromGenerated(a)) - Number(isFromGenerated(b));
  const exact = [
    ...sameNamed,
    ...aliases.filter((alias) => !listedPlaces.has(pathAndLine(alias))),
  ].sort(writtenFirst);
  const writtenSymbols = () =>
    foundIn(index, writtenFilesOf(index), ctx).filter(
      ({ kind: symbolKind }) => symbolKind !== "key",
    );
  const { exact: sure, near } = exact.length
    ? { exact, near: [] }
    : bestFor(wanted, writtenSymbols());
  if (sure.length)
    return { text: capRows(sure.map(rowWithAlias), MAX_ROWS, "definitions"), data: sure };
  const elsewhere = near.some(({ name }) => lastName(name) === wanted)
    ? []
    : await definitionElsewhere(state, index, wanted, ctx);
  if (elsewhere.length)
    return { text: capRows(elsewhere, MAX_ROWS, "definitions"), data: elsewhere };
  if (!near.length)
    throw new Error(`Cannot find a definition of '${symbol}': nothing has that name. Try grep.`);
  return {
    text: [`No definition is named '${symbol}'. Nearest:`, ...near.map(row)].join("\n"),
    data: near,
  };
}

/** Tells build output and the like, by its path or by what its first lines say. */
function generatedTest(index: Index): (file: string) => boolean {
  const marked = new Set(filesMarkedGenerated(index));
  return (file) => isGenerated(file) || marked.has(file);
}
/** Without those, unless there is nothing else. */
function writtenFilesOf(index: Index): readonly string[] {
  const isGeneratedFile = generatedTest(index);
  const writtenFiles = index.files.filter((file) => !isGeneratedFile(file));
  return writtenFiles.length ? writtenFiles : index.files;
}

const rowWithAlias = (symbol: FoundSymbol | Alias): string =>
  "exporter" in symbol
    ? `${row(symbol)}  [exported as ${symbol.alias} by ${symbol.exporter}]`
    : row(symbol);

export async function findSymbols(
  state: State,
  { query, kind: wantedKind, path: under = "." }: { query: string; kind?: string; path?: string },
  ctx: Ctx,
) {
  const index = await freshIndex(state, ctx);
  const files = filesUnder(index, under, ctx);
  const candidates = foundIn(
    index,
    relative(under, ctx) ? files : writtenFilesOf(index),
    ctx,
  ).filter((symbol) => !wantedKind || symbol.kind === wantedKind);
  const best = fuzzy(nameIn(query), candidates, MAX_ROWS);
  if (!best.length)
    throw new Error(
      `Cannot find symbols like '${query}'${wantedKind ? ` of kind ${wantedKind}` : ""}: none is near. Try grep.`,
    );
  return { text: best.map((symbol) => `${row(symbol)}  [${symbol.kind}]`).join("\n"), data: best };
}

export async function showStructure(
  state: State,
  { path: under = ".", depth }: { path?: string; depth?: number },
  ctx: Ctx,
): Promise<Result | string> {
  const index = await freshIndex(state, ctx);
  const files = filesUnder(index, under, ctx);
  if (!files.length) return [NO_CODE, ...notLookedAt(index, under, files, ctx)].join("\n");
  if (files.length === 1 && files[0] === relative(under, ctx))
    return outline(files[0], index.facts(files[0])!, depth);
  const rows = files.map((file) => {
    const { symbols, unread, exports } = index.facts(file)!;
    const exportedNames = symbols
      .filter(({ exported, owner }) => exported && !owner)
      .map(({ name, line }) => `${name}:${line}`);
    const names = [
      ...exportedNames,
      ...reexports(exports).map(
        ([from, passedNames]) => `{${passedNames.join(", ")}} from ${from}`,
      ),
    ];
    const ellipsis = names.length > MAX_NAMES_PER_FILE ? " …" : "";
    return unread
      ? `${file} (not read: ${unread})`
      : `${file} (${symbols.length}) ${names.slice(0, MAX_NAMES_PER_FILE).join(" ")}${ellipsis}`.trimEnd();
  });
  const folders = files.length > 2 * MAX_ROWS ? foldersOf(files, relative(under, ctx)) : [];
  const shown = folders.length ? [...folders, "Files and what they export:"] : [];
  const text = [
    ...shown,
    capRows(rows, 2 * MAX_ROWS, "files"),
    ...notLookedAt(index, under, [], ctx),
  ].join("\n");
  return { text, data: files };
}

const isMadeByCall = ({ kind: symbolKind, signature }: FoundSymbol): boolean =>
  /^(const|variable|property)$/.test(symbolKind) && /=\s*[\w$.]+\s*(<.*>)?\(/.test(signature);

/** What a file passes on, by where it comes from. */
function reexports(exports: Facts["exports"]): [from: string, names: string[]][] {
  const passed = exports.filter(({ from }) => from !== undefined);
  const nameOf = ({ name, local }: Facts["exports"][number]) =>
    local === undefined || name === "*" ? name : `${local} as ${name}`;
  return [...Map.groupBy(passed, ({ from }) => from!)].map(([from, group]) => [
    from,
    group.map(nameOf),
  ]);
}

/** Each folder right below, with how many files of code it has. */
function foldersOf(files: string[], under: string): string[] {
  const below = files.map((file) => file.slice(under ? under.length + 1 : 0).split("/"));
  const byFolder = Map.groupBy(below, (parts) => (parts.length > 1 ? `${parts[0]}/` : "./"));
  const rows = [...byFolder]
    .map(([folder, { length }]) => ({ folder, length }))
    .sort((a, b) => b.length - a.length);
  return [
    capRows(
      rows.map(({ folder, length }) => `${folder} ${plural(length, "file")}`),
      MAX_ROWS,
      "folders",
    ),
  ];
}

function outline(
  file: string,
  { symbols, unread, parseError, loc, exports }: Facts,
  depth?: number,
): Result {
  if (unread) return { text: `${file}: not read: ${unread}.` };
  const level = ({ owner }: Sym) => (owner ? owner.split(".").length : 0);
  const isShown = (sym: Sym) =>
    depth === undefined ? !sym.local : level(sym) < depth && (depth > 2 || !sym.local);
  const deep = symbols.filter(isShown);
  const hiddenCount = symbols.length - deep.length;
  const rows = deep.map(
    (sym) => `${"  ".repeat(level(sym))}${sym.line}-${sym.end}: ${sym.signature}`,
  );
  const head = [
    `${file} · ${plural(loc, "line")} of code`,
    ...(parseError ? [`[syntax error: ${parseError}]`] : []),
  ];
  const passed = reexports(exports).map(
    ([from, names]) => `exports {${names.join(", ")}} from ${from}`,
  );
  const shown = [
    capRows(rows, 5 * MAX_ROWS, "symbols; a smaller depth shows fewer"),
    capRows(passed, MAX_ROWS, ""),
  ];
  const below =
    depth === undefined
      ? "inside of functions; depth: 3 shows them"
      : "deeper; a greater depth shows them";
  if (hiddenCount) shown.push(`[${hiddenCount} more ${below}]`);
  return { text: [...head, ...shown].filter(Boolean).join("\n"), data: deep };
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
  { path: file, line, end }: FoundSymbol,
  partKind: "function" | "class",
  name: string,
  ctx: Ctx,
): Promise<string[]> {
  const { text, hash } = await readText(ctx, file);
  const last = Math.min(end, line + MAX_PART_LINES - 1);
  const lines = text
    .replace(/^\ufeff/, "")
    .split(/\r?\n/)
    .slice(line - 1, last);
  ctx.files.shown(file, [[line, last]], hash);
  const type =
    partKind === "function" ? await typeOf(state, index, { path: file, line, name }, ctx) : "";
  const rows = [
    `${file}:${line}-${end}${type && `  ${type}`}`,
    ...lines.map((lineText, i) => `${line + i}\t${lineText}`),
  ];
  if (end - line >= MAX_PART_LINES)
    rows.push(`[${plural(end - line + 1 - MAX_PART_LINES, "more line")}; read_file shows them]`);
  return rows;
}

async function showPart(
  state: State,
  partKind: "function" | "class",
  { name, path: givenPath }: Named,
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const kinds =
    partKind === "function"
      ? ["function", "method"]
      : ["class", "interface", "type", "enum", "namespace", "const", "variable"];
  const { wanted, files: defining } = meantBy(index, name);
  const files = givenPath ? filesUnder(index, givenPath, ctx) : defining;
  const named = foundIn(index, files, ctx);
  const ofKind = named.filter(({ kind: symbolKind }) => kinds.includes(symbolKind));
  const isWanted = (symbol: FoundSymbol) =>
    symbol.name === wanted || symbol.name.endsWith(`.${wanted}`);
  const wantedSymbols = ofKind.filter(isWanted);
  // memo(() => …)
  const matches = wantedSymbols.length
    ? wantedSymbols
    : named.filter((symbol) => isWanted(symbol) && isMadeByCall(symbol));
  const aliases = matches.length ? [] : await aliasesOf(state, index, files, wanted, ctx);
  const fits = matches.length
    ? matches
    : aliases.filter(({ kind: symbolKind }) => kinds.includes(symbolKind));
  if (!fits.length) {
    const nearest = givenPath
      ? ofKind
      : bestFor(
          wanted,
          foundIn(index, index.files, ctx).filter(({ kind: symbolKind }) =>
            kinds.includes(symbolKind),
          ),
        ).near;
    const names = nearest.slice(0, MAX_ROWS).map(nameAndLine);
    const unread = givenPath && index.facts(relative(givenPath, ctx))?.unread;
    if (unread)
      throw new Error(
        `Cannot show ${partKind} '${name}': '${givenPath}' was not read (${unread}). Try grep and read_file.`,
      );
    throw new Error(
      `Cannot show ${partKind} '${name}': ${givenPath ? `'${givenPath}' has none of that name` : "none has that name"}. ${names.length ? `There are: ${names.join(", ")}.` : "Try find_symbols."}`,
    );
  }
  const shown: string[] = [];
  for (const part of fits.slice(0, 5))
    shown.push(...(await partRows(state, index, part, partKind, lastName(wanted), ctx)));
  if (fits.length > 5)
    shown.push(
      `[${fits.length - 5} more of that name: ${fits.slice(5, 15).map(pathAndLine).join(", ")}]`,
    );
  return { text: shown.join("\n"), data: fits };
}
