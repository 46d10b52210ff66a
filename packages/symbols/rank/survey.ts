// What is counted once for a project, whatever the query: who uses whom, and which words are where.
import type { Facts, Sym } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";
import { eachUse } from "../scan/uses.ts";
import { type Bag, hashesIn, wordsOfName } from "../scan/word-bag.ts";
import type { OtherFile, Source } from "./map-request.ts";
import { type Network, networkOf } from "./network.ts";

export interface Doc {
  path: string;
  source?: Source | undefined; // undefined: not parsed, a bare path
  imports: number[]; // indexes into `docs`
  role: FileRole;
  shown: number; // of its symbols
  pathWords: number[]; // hashes
  ownWords: number[]; // of its own name
  names: readonly Name[]; // that it declares
  bag: Bag | undefined; // its words
  length: number; // in words
}
/** A name as hashes: of its words, and as a whole. Equal names share one. */
type Name = ReturnType<typeof wordsOfName>;
/**
 * code; a test; beside the code, as examples are; made by a program; prose and other files that are
 * no code.
 */
export type FileRole = "code" | "test" | "aside" | "made" | "other";

export interface Survey {
  docs: Doc[]; // by path
  importers: number[][]; // of each file
  net: Network;
  general?: Float64Array; // how much each file is used, once it is needed
  uses: ReadonlyMap<string, Use>; // of each name that the project declares
}
/** The files that declare a name visibly, and how many files use it. */
export interface Use {
  definers: number[];
  users: number;
}

export function surveyOf(sources: Source[], others: OtherFile[]): Survey {
  const texts = new Map(
    others.flatMap((other) => (typeof other === "string" ? [] : [[other.path, other] as const])),
  );
  const docs = docsOf(sources, others);
  const factsOfDocs = docs.map(({ source }) => source?.facts);
  const [uses, names] = [new Map<string, Use>(), new Map<string, Name>()];
  for (const [index, doc] of docs.entries()) {
    const facts = factsOfDocs[index];
    doc.names = (facts?.symbols ?? []).map(({ name }) => {
      if (!names.has(name)) names.set(name, wordsOfName(name));
      return names.get(name)!;
    });
    for (const sym of facts?.symbols ?? []) define(uses, index, sym);
    doc.shown = facts ? publicSymbols(facts).length : 0;
    if (facts && (facts.made || facts.unread === "minified")) doc.role = "made";
    doc.bag = (doc.source ?? texts.get(doc.path))?.words;
    for (const count of doc.bag?.counts ?? []) doc.length += count;
  }
  for (const facts of factsOfDocs)
    eachUse(facts?.uses ?? "", (name) => {
      const use = uses.get(name);
      if (use) use.users++;
    });
  return { docs, importers: importersOf(docs), net: networkOf(docs, factsOfDocs, uses), uses };
}

function docsOf(sources: Source[], others: OtherFile[]): Doc[] {
  const bare = others.map((other) => (typeof other === "string" ? other : other.path));
  const docs = [
    ...sources.map((source) => ({ path: source.path, source })),
    ...bare.map((path) => ({ path, source: undefined })),
  ]
    .map(({ path, source }) => docOf(path, source))
    .sort((a, b) => {
      if (a.path < b.path) return -1;
      if (a.path > b.path) return 1;
      return 0;
    });
  const indexes = new Map(docs.map(({ path }, index) => [path, index]));
  for (const { path, imports } of sources) {
    const from = indexes.get(path)!;
    const targets = imports
      .map((to) => indexes.get(to))
      .filter((to) => to !== undefined && to !== from) as number[];
    docs[from]!.imports = [...new Set(targets)].sort((a, b) => a - b);
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
  const ownName = /^(?:index|main|mod)$/.test(last) ? (parts.at(-2) ?? last) : last;
  const role = roleOf(path);
  const hashes = (text: string) => [...new Set(hashesIn(text))];
  return {
    path,
    source,
    imports: [],
    role,
    shown: 0,
    pathWords: hashes(bare),
    ownWords: hashes(ownName),
    names: [],
    bag: undefined,
    length: 0,
  };
}

function roleOf(path: string): Doc["role"] {
  if (isGenerated(path)) return "made";
  if (TEST.test(path)) return "test";
  if (ASIDE.test(path)) return "aside";
  return isCode(path) ? "code" : "other";
}

const TEST =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|[\w-]+-tests?)\/|[._-](?:test|spec|bench|test-d)\.\w+$/i;
const ASIDE =
  /(?:^|\/)(?:examples?|fixtures?|__fixtures__|__mocks__|playgrounds?|benchmarks?|bench|demos?|samples?)\//i;
/** What is written in a programming language, parsed or not. */
const isCode = (path: string): boolean =>
  /\.(?:[cm]?[jt]sx?|vue|svelte|astro|pyi?|go|rs|java|kts?|swift|rb|php|c|h|cc|cpp|cxx|hpp|hh|cs|scala|dart|lua|exs?|erl|hs|clj|zig|sql)$/i.test(
    path,
  );

function define(uses: Map<string, Use>, doc: number, sym: Sym): void {
  let use = uses.get(sym.name);
  if (!use) uses.set(sym.name, (use = { definers: [], users: 0 }));
  if (isPublic(sym) && use.definers.at(-1) !== doc) use.definers.push(doc);
}

export const isPublic = (sym: Sym): boolean => !sym.local && !sym.visibility && sym.kind !== "key";

/** The symbols that other files may use; only once where one line declares several. */
export function publicSymbols({ symbols }: Facts): Sym[] {
  const shown = symbols.filter(isPublic);
  return shown.filter(
    ({ line, signature }, index) =>
      shown[index - 1]?.line !== line || shown[index - 1]?.signature !== signature,
  );
}
