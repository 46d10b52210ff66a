// A file's facts as one line of text: half the size of the plain object, and searchable without parsing. Behind it, after
// a zero byte, stands what words occur in the file.
import { type Export, type Facts, type Import, SYMBOL_KINDS, type Sym } from "./scan/facts.ts";
import { type Bag, readBag } from "./scan/words.ts";

/** Tells whether a file is still the one that was read. */
export interface Entry {
  mtime: number; // -1: changed so shortly before it was read that its time proves nothing
  ctime: number;
  size: number;
  hash: string;
}
export type Row = Entry & { path: string; text: Uint8Array }; // empty: unchanged

const IMPORT_KINDS: Import["how"][] = ["import", "type", "export", "dynamic", "require"];
const EXPORTED = 1;
const ASYNC = 2;
const PRIVATE = 4;
const PROTECTED = 8;
const LOCAL = 16;

/** `uses`: where they are not in the facts. */
export function pack(facts: Facts, words: Buffer, uses?: Iterable<[string, number]>): Buffer {
  const text = textOf(facts, uses ?? Object.entries(facts.uses));
  const length = Buffer.byteLength(text);
  const row = Buffer.allocUnsafe(length + 1 + words.length);
  row.write(text);
  row[length] = 0; // JSON has none
  words.copy(row, length + 1);
  return row;
}

function textOf(facts: Facts, uses: Iterable<[string, number]>): string {
  let used = " ";
  for (const [name, count] of uses) used += `${name}:${count} `;
  const { symbols, imports, exports, todos, loc, nesting, decisions, parseError, global, unread, made } = facts;
  return JSON.stringify({
    s: symbols.map((sym) =>
      trimmed([
        sym.name,
        SYMBOL_KINDS.indexOf(sym.kind),
        flagsOf(sym),
        sym.line,
        sym.end - sym.line,
        sym.signature,
        sym.owner ?? 0,
        sym.doc ?? 0,
        sym.decisions ?? 0,
      ]),
    ),
    i: imports.map(({ from, line, how, names }) => [from, line, IMPORT_KINDS.indexOf(how), ...names]),
    e: exports.map(({ name, local, from }) => trimmed([name, local ?? 0, from ?? 0])),
    u: used.length > 1 ? used : "  ",
    t: todos.map(({ line, text }) => [line, text]),
    n: [loc, nesting, decisions],
    x: parseError,
    g: global,
    r: unread,
    m: made,
  });
}

/** What words occur in the file. */
export const wordsOf = (row: Buffer): Bag => readBag(row.subarray(row.indexOf(0) + 1));

export function unpack(row: Buffer): Facts {
  const { s, i, e, u, t, n, x, g, r, m } = JSON.parse(row.toString("utf8", 0, row.indexOf(0)));
  return {
    symbols: s.map(symOf),
    imports: i.map(importOf),
    exports: e.map(exportOf),
    get uses() {
      return usesOf(u); // few ask for them, and they take more memory than the rest
    },
    todos: t.map(([line, text]: [number, string]) => ({ line, text })),
    ...{ loc: n[0], nesting: n[1], decisions: n[2] },
    ...(x && { parseError: x }),
    ...(g && { global: g }),
    ...(r && { unread: r }),
    ...(m && { made: m }),
  };
}

/** Its imports and exports alone: what lies between is not parsed. */
export function passingOf(row: Buffer): Pick<Facts, "imports" | "exports"> {
  const [imports, exports, end] = ['],"i":[', '],"e":[', '],"u":"'].map((key) => row.indexOf(key)) as [
    number,
    number,
    number,
  ];
  const listed = (from: number, to: number): any[] => JSON.parse(row.toString("utf8", from + 6, to + 1));
  return { imports: listed(imports, exports).map(importOf), exports: listed(exports, end).map(exportOf) };
}
const importOf = ([from, line, how, ...names]: any[]): Import => ({ from, line, how: IMPORT_KINDS[how]!, names });
const exportOf = ([name, local, from]: any[]): Export => ({ name, ...(local && { local }), ...(from && { from }) });

function symOf([name, kind, flags, line, lines, signature, owner, doc, decisions]: any[]): Sym {
  const sym: Sym = { name, kind: SYMBOL_KINDS[kind]!, line, end: line + lines, signature };
  if (owner) sym.owner = owner;
  if (doc) sym.doc = doc;
  if (decisions) sym.decisions = decisions;
  if (flags & EXPORTED) sym.exported = true;
  if (flags & ASYNC) sym.async = true;
  if (flags & LOCAL) sym.local = true;
  if (flags & (PRIVATE | PROTECTED)) sym.visibility = flags & PRIVATE ? "private" : "protected";
  return sym;
}

function flagsOf({ exported, async, visibility, local }: Sym): number {
  const seen = visibility === "private" ? PRIVATE : visibility === "protected" ? PROTECTED : 0;
  return (exported ? EXPORTED : 0) | (async ? ASYNC : 0) | (local ? LOCAL : 0) | seen;
}

function usesOf(text: string): Record<string, number> {
  const uses: Record<string, number> = Object.create(null);
  for (const one of text.split(" ")) {
    const cut = one.lastIndexOf(":");
    if (cut > 0) uses[one.slice(0, cut)] = Number(one.slice(cut + 1));
  }
  return uses;
}

/** Without trailing zeros. */
function trimmed(fields: unknown[]): unknown[] {
  while (fields.at(-1) === 0) fields.pop();
  return fields;
}

/** Rows stored one after the other. */
export interface Page {
  read(at: number, length: number, into?: Buffer): Buffer;
}
/** A page and the files its rows belong to; "" for rows that are out of date. */
export interface PageIndex {
  paths: string[];
  starts: number[]; // where each row begins
  end: number; // where the last row ends
  page: Page;
}
const CHUNK = 1 << 20; // bytes searched at a time

/** The files that define a name, use it, or have declarations that are visible without an import. */
export const defining = (pageIndexes: PageIndex[], name: string): string[] =>
  containing(pageIndexes, `[${JSON.stringify(name)},`);
export const using = (pageIndexes: PageIndex[], name: string): string[] => containing(pageIndexes, ` ${name}:`);
/** The files that say of themselves that a program made them. */
export const generated = (pageIndexes: PageIndex[]): string[] => containing(pageIndexes, ',"m":true');
export const globals = (pageIndexes: PageIndex[]): string[] => containing(pageIndexes, ',"g":true');

/** The files whose rows contain a text. */
export function containing(pageIndexes: PageIndex[], text: string): string[] {
  const found: string[] = [];
  let into: Buffer | undefined;
  for (const { paths, starts, end, page } of pageIndexes)
    for (let first = 0; first < paths.length; ) {
      const from = starts[first]!;
      let last = first + 1;
      while (last < paths.length && (starts[last + 1] ?? end) - from < CHUNK) last++;
      const length = (starts[last] ?? end) - from;
      if (!into || into.length < length) into = Buffer.allocUnsafe(length);
      const bytes = page.read(from, length, into);
      for (let at = bytes.indexOf(text); at >= 0; ) {
        const file = lastUpTo(starts, from + at);
        if (paths[file]) found.push(paths[file]);
        const next = starts[file + 1];
        at = next === undefined ? -1 : bytes.indexOf(text, next - from);
      }
      first = last;
    }
  return found.sort();
}

function lastUpTo(starts: number[], at: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
