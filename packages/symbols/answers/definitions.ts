// find_definition, find_symbols, get_structure, get_function and get_class.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { readText } from "../encoding.ts";
import { bestFor, type Found, fuzzy } from "../match.ts";
import { definitionElsewhere } from "../meaning/definition.ts";
import { typeOf } from "../meaning/desk.ts";
import type { Index } from "../project.ts";
import { generated } from "../rows.ts";
import type { Facts, Sym } from "../scan/facts.ts";
import { isMade } from "../scan/made.ts";
import { type Alias, aliasesOf } from "./aliases.ts";
import {
  capped,
  filesUnder,
  foundIn,
  lastName,
  MAX_NAMES_PER_FILE,
  MAX_ROWS,
  meantBy,
  NO_CODE,
  nameIn,
  nameWithPlace,
  notLookedAt,
  placeIn,
  relative,
  row,
} from "./rows.ts";
import { freshIndex, type State } from "./state.ts";

const MAX_PART_LINES = 400; // lines

export async function definition(
  state: State,
  { symbol }: { symbol: string },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const { wanted, files } = meantBy(index, symbol);
  const named = foundIn(index, files, ctx);
  const aliases = await aliasesOf(state, index, files, wanted, ctx);
  const code = named.filter(({ kind }) => kind !== "key");
  const own = (code.length || aliases.length ? code : named).filter(
    ({ name }) => name === wanted || name.endsWith(`.${wanted}`),
  );
  const known = new Set(own.map(placeIn));
  const made = ({ path: file }: Found): boolean => isMade(file) || Boolean(index.facts(file)?.made);
  const writtenFirst = (a: Found, b: Found): number => Number(made(a)) - Number(made(b));
  const exact = [...own, ...aliases.filter((found) => !known.has(placeIn(found)))].sort(
    writtenFirst,
  );
  const all = () => foundIn(index, written(index), ctx).filter(({ kind }) => kind !== "key");
  const { exact: sure, near } = exact.length ? { exact, near: [] } : bestFor(wanted, all());
  if (sure.length)
    return { text: capped(sure.map(rowWithAlias), MAX_ROWS, "definitions"), data: sure };
  const elsewhere = near.some(({ name }) => lastName(name) === wanted)
    ? []
    : await definitionElsewhere(state, index, wanted, ctx);
  if (elsewhere.length)
    return { text: capped(elsewhere, MAX_ROWS, "definitions"), data: elsewhere };
  if (!near.length)
    throw new Error(`Cannot find a definition of '${symbol}': nothing has that name. Try grep.`);
  return {
    text: [`No definition is named '${symbol}'. Nearest:`, ...near.map(row)].join("\n"),
    data: near,
  };
}

/** Tells build output and the like, by its path or by what its first lines say. */
function madeBy(index: Index): (file: string) => boolean {
  const marked = new Set(generated(index));
  return (file) => isMade(file) || marked.has(file);
}
/** Without those, unless there is nothing else. */
function written(index: Index): readonly string[] {
  const made = madeBy(index);
  const own = index.files.filter((file) => !made(file));
  return own.length ? own : index.files;
}

const rowWithAlias = (found: Found | Alias): string =>
  "exporter" in found
    ? `${row(found)}  [exported as ${found.alias} by ${found.exporter}]`
    : row(found);

export async function symbols(
  state: State,
  { query, kind, path: under = "." }: { query: string; kind?: string; path?: string },
  ctx: Ctx,
) {
  const index = await freshIndex(state, ctx);
  const files = filesUnder(index, under, ctx);
  const all = foundIn(index, relative(under, ctx) ? files : written(index), ctx).filter(
    (found) => !kind || found.kind === kind,
  );
  const best = fuzzy(nameIn(query), all, MAX_ROWS);
  if (!best.length)
    throw new Error(
      `Cannot find symbols like '${query}'${kind ? ` of kind ${kind}` : ""}: none is near. Try grep.`,
    );
  return { text: best.map((found) => `${row(found)}  [${found.kind}]`).join("\n"), data: best };
}

export async function structure(
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
    const own = symbols
      .filter(({ exported, owner }) => exported && !owner)
      .map(({ name, line }) => `${name}:${line}`);
    const names = [
      ...own,
      ...reexports(exports).map(([from, all]) => `{${all.join(", ")}} from ${from}`),
    ];
    const more = names.length > MAX_NAMES_PER_FILE ? " …" : "";
    return unread
      ? `${file} (not read: ${unread})`
      : `${file} (${symbols.length}) ${names.slice(0, MAX_NAMES_PER_FILE).join(" ")}${more}`.trimEnd();
  });
  const folders = files.length > 2 * MAX_ROWS ? foldersOf(files, relative(under, ctx)) : [];
  const shown = folders.length ? [...folders, "Files and what they export:"] : [];
  const text = [
    ...shown,
    capped(rows, 2 * MAX_ROWS, "files"),
    ...notLookedAt(index, under, [], ctx),
  ].join("\n");
  return { text, data: files };
}

const isMadeByCall = ({ kind, signature }: Found): boolean =>
  /^(const|variable|property)$/.test(kind) && /=\s*[\w$.]+\s*(<.*>)?\(/.test(signature);

/** What a file passes on, by where it comes from. */
function reexports(exports: Facts["exports"]): [from: string, names: string[]][] {
  const passed = exports.filter(({ from }) => from !== undefined);
  const nameOf = ({ name, local }: Facts["exports"][number]) =>
    local === undefined || name === "*" ? name : `${local} as ${name}`;
  return [...Map.groupBy(passed, ({ from }) => from!)].map(([from, all]) => [
    from,
    all.map(nameOf),
  ]);
}

/** Each folder right below, with how many files of code it has. */
function foldersOf(files: string[], under: string): string[] {
  const below = files.map((file) => file.slice(under ? under.length + 1 : 0).split("/"));
  const all = Map.groupBy(below, (parts) => (parts.length > 1 ? `${parts[0]}/` : "./"));
  const rows = [...all]
    .map(([folder, { length }]) => ({ folder, length }))
    .sort((a, b) => b.length - a.length);
  return [
    capped(
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
  const left = symbols.length - deep.length;
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
    capped(rows, 5 * MAX_ROWS, "symbols; a smaller depth shows fewer"),
    capped(passed, MAX_ROWS, ""),
  ];
  const below =
    depth === undefined
      ? "inside of functions; depth: 3 shows them"
      : "deeper; a greater depth shows them";
  if (left) shown.push(`[${left} more ${below}]`);
  return { text: [...head, ...shown].filter(Boolean).join("\n"), data: deep };
}

type Named = { name: string; path?: string };
export const showFunction = (state: State, args: Named, ctx: Ctx) =>
  showPart(state, "function", args, ctx);
export const showClass = (state: State, args: Named, ctx: Ctx) =>
  showPart(state, "class", args, ctx);

async function showPart(
  state: State,
  what: "function" | "class",
  { name, path: at }: Named,
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const kinds =
    what === "function"
      ? ["function", "method"]
      : ["class", "interface", "type", "enum", "namespace", "const", "variable"];
  const { wanted, files: defining } = meantBy(index, name);
  const files = at ? filesUnder(index, at, ctx) : defining;
  const named = foundIn(index, files, ctx);
  const all = named.filter(({ kind }) => kinds.includes(kind));
  const isWanted = (found: Found) => found.name === wanted || found.name.endsWith(`.${wanted}`);
  const own = all.filter(isWanted);
  // memo(() => …)
  const made = own.length ? own : named.filter((one) => isWanted(one) && isMadeByCall(one));
  const aliases = made.length ? [] : await aliasesOf(state, index, files, wanted, ctx);
  const fits = made.length ? made : aliases.filter(({ kind }) => kinds.includes(kind));
  if (!fits.length) {
    const known = at
      ? all
      : bestFor(
          wanted,
          foundIn(index, index.files, ctx).filter(({ kind }) => kinds.includes(kind)),
        ).near;
    const names = known.slice(0, MAX_ROWS).map(nameWithPlace);
    const unread = at && index.facts(relative(at, ctx))?.unread;
    if (unread)
      throw new Error(
        `Cannot show ${what} '${name}': '${at}' was not read (${unread}). Try grep and read_file.`,
      );
    throw new Error(
      `Cannot show ${what} '${name}': ${at ? `'${at}' has none of that name` : "none has that name"}. ${names.length ? `There are: ${names.join(", ")}.` : "Try find_symbols."}`,
    );
  }
  const shown: string[] = [];
  for (const { path: file, line, end } of fits.slice(0, 5)) {
    const { text, hash } = await readText(ctx, file);
    const last = Math.min(end, line + MAX_PART_LINES - 1);
    const lines = text
      .replace(/^\ufeff/, "")
      .split(/\r?\n/)
      .slice(line - 1, last);
    ctx.files.shown(file, [[line, last]], hash);
    const type =
      what === "function"
        ? await typeOf(state, index, { path: file, line, name: lastName(wanted) }, ctx)
        : "";
    shown.push(
      `${file}:${line}-${end}${type && `  ${type}`}`,
      ...lines.map((one, i) => `${line + i}\t${one}`),
    );
    if (end - line >= MAX_PART_LINES)
      shown.push(`[${plural(end - line + 1 - MAX_PART_LINES, "more line")}; read_file shows them]`);
  }
  if (fits.length > 5)
    shown.push(
      `[${fits.length - 5} more of that name: ${fits.slice(5, 15).map(placeIn).join(", ")}]`,
    );
  return { text: shown.join("\n"), data: fits };
}
