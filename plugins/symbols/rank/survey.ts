// What is counted once for a project, whatever the query: who uses whom, and which words are where.
import type { Facts, Sym } from "../scan/facts.ts";
import { isMade } from "../scan/made.ts";
import { eachUse } from "../scan/uses.ts";
import { hashesIn, wordsOfName } from "../scan/words.ts";
import type { Other, Source } from "./contract.ts";
import { type Network, networkOf } from "./network.ts";

export interface Doc {
  path: string;
  source?: Source | undefined; // undefined: not parsed, a bare path
  imports: number[]; // indexes into `docs`
  place: Place;
  shown: number; // of its symbols
  pathWords: number[]; // hashes
  ownWords: number[]; // of its own name
}
/** code; a test; beside the code, as examples are; made by a program; prose and other files that are no code. */
export type Place = "code" | "test" | "aside" | "made" | "other";

/** Lists of numbers, one after the other. */
export interface Lists {
  starts: Uint32Array; // where each begins, and where the last one ends
  values: Uint32Array;
}
export interface Survey {
  docs: Doc[]; // by path
  importers: number[][]; // of each file
  net: Network;
  general?: Float64Array; // how much each file is used, once it is needed
  users: Map<string, number>; // of each name that the project declares, how many files use it
  bags: Lists & { counts: Uint8Array }; // of each file, its words
  lengths: Float64Array; // of each file, in words
  symbols: Uint32Array; // where the symbols of each file begin, and where the last ones end
  symbolWords: Lists; // of each symbol, the hashes of its name's words
  symbolNames: Uint32Array; // the hashes of their names
}
/** What counting who uses whom needs. */
export interface Uses {
  docs: Doc[];
  reexports: boolean[];
  names: Map<string, number>; // an id for each name that the project declares
  definers: number[][]; // of each name, the files that declare it visibly
  users: number[]; // of each name, how many files use it
  uses: { doc: number[]; name: number[]; count: number[] }; // sorted by file
}

export function surveyOf(sources: Source[], others: Other[]): Survey {
  const docs = docsOf(sources, others);
  const known = docs.map(({ source }) => source?.facts);
  const names = new Map<string, number>();
  const all: Uses = {
    ...{ docs, names, definers: [], users: [], uses: { doc: [], name: [], count: [] } },
    reexports: known.map((facts) => facts?.exports.some(({ from }) => from) ?? false),
  };
  for (const [doc, facts] of known.entries()) for (const sym of facts?.symbols ?? []) define(all, doc, sym);
  for (const [doc, facts] of known.entries()) if (facts) countUses(all, doc, facts);
  const texts = new Map(others.flatMap((one) => (typeof one === "string" ? [] : [[one.path, one] as const])));
  for (const [doc, facts] of known.entries()) {
    docs[doc]!.shown = facts ? publicSymbols(facts).length : 0;
    if (facts && (facts.made || facts.unread === "minified")) docs[doc]!.place = "made";
  }
  return {
    ...{
      docs,
      importers: importersOf(docs),
      net: networkOf(all),
      users: new Map(Array.from(names, ([name, id]) => [name, all.users[id]!])),
    },
    ...symbolsOf(known),
    ...bagsOf(docs.map(({ path, source }) => source ?? texts.get(path))),
  };
}

function docsOf(sources: Source[], others: Other[]): Doc[] {
  const bare = others.map((one) => (typeof one === "string" ? one : one.path));
  const docs = [
    ...sources.map((source) => ({ path: source.path, source })),
    ...bare.map((path) => ({ path, source: undefined })),
  ]
    .map(({ path, source }) => docOf(path, source))
    .sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  const indexes = new Map(docs.map(({ path }, at) => [path, at]));
  for (const { path, imports } of sources) {
    const from = indexes.get(path)!;
    const found = imports.map((to) => indexes.get(to)).filter((to) => to !== undefined && to !== from) as number[];
    docs[from]!.imports = [...new Set(found)].sort((a, b) => a - b);
  }
  return docs;
}

function importersOf(docs: Doc[]): number[][] {
  const by: number[][] = docs.map(() => []);
  for (const [doc, { imports }] of docs.entries()) for (const to of imports) by[to]!.push(doc);
  return by;
}

function docOf(path: string, source: Source | undefined): Doc {
  const bare = path.replace(/(?<=[^/])(?:[._-](?:test|spec|bench))?(?:\.\w+)+$/, "");
  const parts = bare.split("/");
  const last = parts.at(-1)!;
  const own = /^(?:index|main|mod)$/.test(last) ? (parts.at(-2) ?? last) : last;
  const place = isMade(path)
    ? "made"
    : TEST.test(path)
      ? "test"
      : ASIDE.test(path)
        ? "aside"
        : isCode(path)
          ? "code"
          : "other";
  const hashes = (text: string) => [...new Set(hashesIn(text))];
  return { path, source, imports: [], place, shown: 0, pathWords: hashes(bare), ownWords: hashes(own) };
}
const TEST = /(?:^|\/)(?:tests?|__tests__|specs?|e2e|[\w-]+-tests?)\/|[._-](?:test|spec|bench|test-d)\.\w+$/i;
const ASIDE =
  /(?:^|\/)(?:examples?|fixtures?|__fixtures__|__mocks__|playgrounds?|benchmarks?|bench|demos?|samples?)\//i;
/** What is written in a programming language, parsed or not. */
const isCode = (path: string): boolean =>
  /\.(?:[cm]?[jt]sx?|vue|svelte|astro|pyi?|go|rs|java|kts?|swift|rb|php|c|h|cc|cpp|cxx|hpp|hh|cs|scala|dart|lua|exs?|erl|hs|clj|zig|sql)$/i.test(
    path,
  );

function numberOf({ names, users, definers }: Uses, name: string): number {
  const known = names.get(name);
  if (known !== undefined) return known;
  names.set(name, users.length);
  definers.push([]);
  return users.push(0) - 1;
}
function define(all: Uses, doc: number, sym: Sym): void {
  const docs = all.definers[numberOf(all, sym.name)]!;
  if (isPublic(sym) && docs.at(-1) !== doc) docs.push(doc);
}
function countUses({ names, users, definers, uses }: Uses, doc: number, facts: Facts): void {
  eachUse(facts.uses, (name, count) => {
    const id = names.get(name);
    if (id === undefined) return;
    users[id]!++;
    if (!definers[id]!.length) return;
    uses.doc.push(doc);
    uses.name.push(id);
    uses.count.push(count);
  });
}

/** One file after the other, since its words may come from the disk. */
function bagsOf(all: (Pick<Source, "words"> | undefined)[]): Pick<Survey, "bags" | "lengths"> {
  const starts = new Uint32Array(all.length + 1);
  let [values, counts] = [new Uint32Array(FIRST_WORDS), new Uint8Array(FIRST_WORDS)];
  const lengths = new Float64Array(all.length);
  for (const [doc, file] of all.entries()) {
    const bag = file?.words;
    const [from, end] = [starts[doc]!, starts[doc]! + (bag?.hashes.length ?? 0)];
    starts[doc + 1] = end;
    if (!bag) continue;
    if (end > values.length) [values, counts] = [larger(values, end), larger(counts, end)];
    values.set(bag.hashes, from);
    counts.set(bag.counts, from);
    let length = 0;
    for (let i = 0; i < bag.counts.length; i++) length += bag.counts[i]!;
    lengths[doc] = length;
  }
  const end = starts.at(-1)!;
  return { bags: { starts, values: values.slice(0, end), counts: counts.slice(0, end) }, lengths };
}
const FIRST_WORDS = 1 << 16;
function larger<T extends Uint32Array | Uint8Array>(all: T, least: number): T {
  const found = new (all.constructor as new (length: number) => T)(Math.max(least, Math.ceil(all.length * 1.5)));
  found.set(all);
  return found;
}

function symbolsOf(known: (Facts | undefined)[]): Pick<Survey, "symbols" | "symbolWords" | "symbolNames"> {
  const starts = new Uint32Array(known.length + 1);
  const [wordStarts, words, names]: [number[], number[], number[]] = [[0], [], []];
  const split = new Map<string, ReturnType<typeof wordsOfName>>(); // many names are declared often
  for (const [doc, facts] of known.entries()) {
    for (const { name } of facts?.symbols ?? []) {
      let known = split.get(name);
      if (!known) split.set(name, (known = wordsOfName(name)));
      for (let i = 0; i < known.own.length; i++) words.push(known.own[i]!);
      wordStarts.push(words.length);
      names.push(known.key);
    }
    starts[doc + 1] = names.length;
  }
  return {
    symbols: starts,
    symbolWords: { starts: Uint32Array.from(wordStarts), values: Uint32Array.from(words) },
    symbolNames: Uint32Array.from(names),
  };
}

export const isPublic = (sym: Sym): boolean => !sym.local && !sym.visibility && sym.kind !== "key";

/** The symbols that other files may use; only once where one line declares several. */
export function publicSymbols({ symbols }: Facts): Sym[] {
  const shown = symbols.filter(isPublic);
  return shown.filter(
    ({ line, signature }, at) => shown[at - 1]?.line !== line || shown[at - 1]?.signature !== signature,
  );
}
