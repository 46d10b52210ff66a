// find_references, check_types and rename_symbol, from the language service.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { type Index, mayRead } from "../project.ts";
import type { Place } from "../refs/contract.ts";
import { defining, using } from "../rows.ts";
import { capped, filesUnder, foundIn, lastName, MAX_ROWS, nameIn, relative, SCRIPT } from "./rows.ts";
import { freshIndex, type State, type SymbolQuery } from "./state.ts";

const MAX_DEFINITIONS = 12; // definitions of one name
const MAX_TEXT_HITS = 10;
const MAX_SYMBOL_CHARS = 120; // characters
const LABELLED_KINDS = new Set(["definition", "import", "export", "write"]);

export async function references(state: State, args: SymbolQuery, ctx: Ctx): Promise<Result> {
  state.remote.start();
  const index = await freshIndex(state, ctx);
  const { wanted, all, left } = definitionsOf(index, args, ctx);
  const found: { symbol: string; places: Place[] }[] = [];
  for (const at of all) {
    const isSame = ({ path: file, line }: Place) => file === at.path && line === at.line;
    if (found.some(({ places }) => places.some(isSame))) continue;
    const groups = await state.remote.ask("references", [at], index, ctx); // under another name it is a separate group
    const places = groups.flatMap(({ places }) => places).filter(({ path: file }) => mayRead(ctx, file));
    if (places.length) found.push({ symbol: groups[0]!.symbol, places });
  }
  const said = await textHits(wanted, ctx);
  if (!found.length && !said.length)
    throw new Error(`Cannot find a use of '${args.symbol}': no code names it. find_definition suggests names.`);
  const rows = found.flatMap(({ symbol, places }) => {
    const lines = new Map(places.map((place) => [`${place.path}:${place.line}`, place]));
    const rows = [...lines].map(
      ([at, { text, kind }]) => `${at}: ${text}${LABELLED_KINDS.has(kind) ? `  [${kind}]` : ""}`,
    );
    return [...(found.length > 1 ? [`${symbol.slice(0, MAX_SYMBOL_CHARS)}: ${rows.length} places`] : []), ...rows];
  });
  const others = said.length ? ["In other files, as text:", ...said] : [];
  const more = left ? [`[${left} more definitions of that name; path and line choose one]`] : [];
  return { text: [capped(rows, 2 * MAX_ROWS, "places"), ...more, ...others].filter(Boolean).join("\n"), data: found };
}

/** The definitions that a name may refer to; if the project has none, the first place that mentions it. */
function definitionsOf(index: Index, { symbol, path: at, line }: SymbolQuery, ctx: Ctx) {
  const wanted = nameIn(symbol);
  const name = lastName(wanted);
  const file = at && relative(at, ctx);
  const named = foundIn(index, defining(index.pageIndexes, name), ctx)
    .filter(({ kind }) => kind !== "key")
    .filter((found) => found.name === wanted || found.name.endsWith(`.${wanted}`))
    .filter((found) => (!file || found.path === file) && (!line || found.line === line));
  const users = named.length
    ? []
    : using(index.pageIndexes, name).filter((one) => (!file || one === file) && mayRead(ctx, one));
  const places = named
    .map(({ path, line }) => ({ path, line, name }))
    .concat(users.slice(0, 1).map((path) => ({ path, line: line ?? 1, name })));
  return { wanted: name, all: places.slice(0, MAX_DEFINITIONS), left: Math.max(places.length - MAX_DEFINITIONS, 0) };
}

async function textHits(name: string, ctx: Ctx): Promise<string[]> {
  if (!/^[\w$#]+$/.test(name)) return [];
  const query = `(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`;
  const { text, failed } = await ctx.call("grep", { query, regex: true });
  if (failed) return [];
  return text
    .split("\n")
    .filter((row) => /^[^":]+:\d+:/.test(row) && !SCRIPT.test(row.split(":")[0]!))
    .slice(0, MAX_TEXT_HITS);
}

export async function check(state: State, { paths }: { paths: string[] }, ctx: Ctx): Promise<Result> {
  state.remote.start();
  const index = await freshIndex(state, ctx);
  const files = paths.flatMap((one) => filesUnder(index, one, ctx)).filter((file) => SCRIPT.test(file));
  if (!files.length)
    throw new Error(
      `Cannot check ${paths.join(", ") || "nothing"}: it is not TypeScript or JavaScript of this project. Name its files.`,
    );
  const found = await state.remote.ask("check", [files], index, ctx);
  const rows = found.map(
    ({ path: file, line, column, code, message, category }) =>
      `${file}:${line}:${column}: ${category} TS${code}: ${message}`,
  );
  const unread = await state.remote.ask("unread", [], index, ctx);
  const text = capped(rows, MAX_ROWS, "problems") || `No problems in ${plural(files.length, "file")}.`;
  return { text: [text, ...unread].join("\n"), data: found };
}

export async function rename(state: State, args: SymbolQuery & { to: string }, ctx: Ctx): Promise<Result> {
  state.remote.start();
  const index = await freshIndex(state, ctx);
  const { all, left } = definitionsOf(index, args, ctx);
  const cannot = (why: string) => new Error(`Cannot rename '${args.symbol}' to '${args.to}': ${why}`);
  if (!all.length) throw cannot("nothing has that name. find_definition suggests names.");
  const [at] = all;
  const first = await state.remote.ask("references", [at!], index, ctx);
  const covered = first.flatMap(({ places }) => places.map(({ path, line }) => `${path}:${line}`));
  const others = all.filter(({ path, line }) => !covered.includes(`${path}:${line}`));
  if (others.length)
    throw cannot(
      `${others.length + left + 1} things are: ${all.map(({ path, line }) => `${path}:${line}`).join(", ")}. Choose one by path and line.`,
    );
  const { edits, refused } = await state.remote.ask("rename", [at!, args.to], index, ctx);
  if (refused) throw new Error(refused);
  const byFile = Map.groupBy(edits, (edit) => edit.path);
  for (const [file, own] of byFile) {
    const { text } = await ctx.files.read(file);
    let [made, from] = ["", 0];
    for (const { start, end, text: put } of own) {
      made += text.slice(from, start) + put;
      from = end;
    }
    await ctx.files.write(file, made + text.slice(from));
  }
  const rows = [...byFile].map(([file, own]) => `${file}: ${own.length}`);
  return {
    text: [
      `Renamed '${args.symbol}' to '${args.to}' in ${plural(edits.length, "place")}:`,
      capped(rows, MAX_ROWS, "files"),
    ].join("\n"),
    data: edits,
  };
}
