// From names and paths to their entries in the index, and from those to the rows of an answer.
import path from "node:path";
import type { Ctx } from "zz";
import type { Found } from "../match.ts";
import { CODE, type Index, mayRead } from "../project.ts";
import type { Sym } from "../scan/facts.ts";

export const MAX_ROWS = 40; // rows per answer
export const SCRIPT = /\.[cm]?[jt]sx?$/i;

export const nameIn = (symbol: string): string => symbol.trim().replace(/\(\)$/, "");
export const lastName = (name: string): string => name.split(".").at(-1)!;
export const nameOf = ({ owner, name }: Sym): string => (owner ? `${owner}.${name}` : name);

export function foundIn(index: Index, files: readonly string[], ctx: Ctx): Found[] {
  return files.flatMap((file) => {
    const symbols = index.facts(file)?.symbols ?? [];
    if (!symbols.length || !mayRead(ctx, file)) return [];
    return symbols.map((sym) => ({ ...sym, path: file, name: nameOf(sym) }));
  });
}

/** Relative to the project, as in the index. */
export function relative(name: string, { root, files }: Ctx): string {
  return path.relative(root, files.path(name)).split(path.sep).join("/");
}

export function filesUnder(index: Index, under: string, ctx: Ctx): string[] {
  const folder = relative(under, ctx);
  const inside = index.files.filter((file) => !folder || file === folder || file.startsWith(`${folder}/`));
  return inside.filter((file) => CODE.test(file) && mayRead(ctx, file));
}

/** The first rows, and how many more there are. */
export function capped(rows: string[], most: number, what: string): string {
  const more = rows.length - most;
  return [...rows.slice(0, most), ...(more > 0 ? [`[${more} more ${what}`.trimEnd() + "]"] : [])].join("\n");
}

export const row = ({ path: file, line, signature, doc }: Found): string =>
  `${file}:${line}: ${signature}${doc ? `  // ${doc}` : ""}`;
