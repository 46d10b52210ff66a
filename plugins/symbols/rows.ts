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
const INSIDE = 8; // more than there are kinds
const EXPORTED = 1;
const ASYNC = 2;
const PRIVATE = 4;
const PROTECTED = 8;
const LOCAL = 16;

export function pack(facts: Facts, words: Buffer): Buffer {
  const text = textOf(facts);
  const length = Buffer.byteLength(text);
  const row = Buffer.allocUnsafe(length + 1 + words.length);
  row.write(text);
  row[length] = 0; // JSON has none
  words.copy(row, length + 1);
  return row;
}

function textOf(facts: Facts): string {
  const { symbols, imports, exports, uses, todos, loc, nesting, decisions, parseError, global, unread, made } = facts;
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
    i: imports.map(({ from, line, how, names, inside = 0 }) => {
      return [from, line, IMPORT_KINDS.indexOf(how) + inside * INSIDE, ...names];
    }),
    e: exports.map(({ name, local, from }) => trimmed([name, local ?? 0, from ?? 0])),
    u: uses,
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
    uses: u,
    todos: t.map(([line, text]: [number, string]) => ({ line, text })),
    ...{ loc: n[0], nesting: n[1], decisions: n[2] },
    ...(x && { parseError: x }),
    ...(g && { global: g }),
    ...(r && { unread: r }),
    ...(m && { made: m }),
  };
}

/** Its imports and exports alone: what lies between is not parsed. */
export type Passed = Pick<Facts, "imports" | "exports">;
export function passingOf(row: Buffer): Passed {
  const [imports, exports, end] = ['],"i":[', '],"e":[', '],"u":"'].map((key) => row.indexOf(key)) as [
    number,
    number,
    number,
  ];
  const listed = (from: number, to: number): any[] => JSON.parse(row.toString("utf8", from + 6, to + 1));
  return { imports: listed(imports, exports).map(importOf), exports: listed(exports, end).map(exportOf) };
}
const importOf = ([from, line, how, ...names]: any[]): Import => {
  const one: Import = { from, line, how: IMPORT_KINDS[how % INSIDE]!, names };
  if (how >= INSIDE) one.inside = Math.floor(how / INSIDE);
  return one;
};
const exportOf = ([name, local, from]: any[]): Export => ({ name, ...(local && { local }), ...(from && { from }) });

/** By index, since a pattern would walk the fields with an iterator: a project has tens of thousands of symbols. */
function symOf(fields: any[]): Sym {
  const flags: number = fields[2];
  const line: number = fields[3];
  const sym: Sym = {
    name: fields[0],
    kind: SYMBOL_KINDS[fields[1]]!,
    line,
    end: line + fields[4],
    signature: fields[5],
  };
  if (fields[6]) sym.owner = fields[6];
  if (fields[7]) sym.doc = fields[7];
  if (fields[8]) sym.decisions = fields[8];
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

/** Without trailing zeros. */
function trimmed(fields: unknown[]): unknown[] {
  while (fields.at(-1) === 0) fields.pop();
  return fields;
}

/** Rows stored one after the other. */
export interface Page {
  read(at: number, length: number, into?: Buffer): Buffer;
}

/** An index, which finds the files whose rows have one of these texts. */
interface Searched {
  having(...texts: string[]): readonly string[];
}
/** The files that define a name, and those that use it. */
export const defining = (index: Searched, name: string) => index.having(`[${JSON.stringify(name)},`);
export const using = (index: Searched, name: string) => index.having(` ${name}:`);
/** The files that say of themselves that a program made them. */
export const generated = (index: Searched) => index.having(',"m":true');
