// What is counted once for a project, whatever the query: who uses whom, and which words are where.
import { anyOf, compare } from "zz/text";
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

export function surveyOf(sources: Source[], otherFiles: OtherFile[]): Survey {
  const texts = otherFiles.map((otherFile) =>
    typeof otherFile === "string" ? { path: otherFile } : otherFile,
  );
  const textsByPath = new Map(texts.map((text) => [text.path, text]));
  const docs = makeDocs(sources, [...textsByPath.keys()]);
  const factsOfDocs = docs.map(({ source }) => source?.facts);
  const [uses, namesByText] = [new Map<string, Use>(), new Map<string, Name>()];
  for (const [docIndex, doc] of docs.entries()) {
    const docFacts = factsOfDocs[docIndex];
    doc.names = (docFacts?.symbols ?? []).map(({ name }) => {
      if (!namesByText.has(name)) namesByText.set(name, wordsOfName(name));
      return namesByText.get(name)!;
    });
    for (const docSymbol of docFacts?.symbols ?? []) recordSymbol(uses, docIndex, docSymbol);
    doc.shown = docFacts ? publicSymbols(docFacts).length : 0;
    if (docFacts && (docFacts.made || docFacts.unread === "minified")) doc.role = "made";
    doc.bag = (doc.source ?? textsByPath.get(doc.path))?.words;
    for (const wordCount of doc.bag?.counts ?? []) doc.length += wordCount;
  }
  for (const docFacts of factsOfDocs)
    eachUse(docFacts?.uses ?? "", (usedName) => {
      const nameUse = uses.get(usedName);
      if (nameUse) nameUse.users++;
    });
  return { docs, importers: importersOf(docs), net: networkOf(docs, factsOfDocs, uses), uses };
}

function makeDocs(sources: Source[], barePaths: string[]): Doc[] {
  const sortedDocs = [
    ...sources.map((source) => makeDoc(source.path, source)),
    ...barePaths.map((path) => makeDoc(path)),
  ].sort((first, second) => compare(first.path, second.path));
  const indexes = new Map(sortedDocs.map(({ path }, docIndex) => [path, docIndex]));
  for (const { path, imports } of sources) {
    const importer = indexes.get(path)!;
    const targets = imports
      .map((importedPath) => indexes.get(importedPath))
      .filter((targetIndex) => targetIndex !== undefined && targetIndex !== importer) as number[];
    sortedDocs[importer]!.imports = [...new Set(targets)].sort((first, second) => first - second);
  }
  return sortedDocs;
}

function importersOf(docs: Doc[]): number[][] {
  const importers: number[][] = docs.map(() => []);
  for (const [importer, { imports }] of docs.entries())
    for (const imported of imports) importers[imported]!.push(importer);
  return importers;
}

function makeDoc(path: string, source?: Source): Doc {
  const barePath = path.replace(/(?<=[^/])(?:[._-](?:test|spec|bench))?(?:\.\w+)+$/, "");
  const segments = barePath.split("/");
  const lastSegment = segments.at(-1)!;
  const ownName = /^(?:index|main|mod)$/.test(lastSegment)
    ? (segments.at(-2) ?? lastSegment)
    : lastSegment;
  const role = decideRole(path);
  const hashWords = (hashedText: string) => [...new Set(hashesIn(hashedText))];
  return {
    path,
    source,
    imports: [],
    role,
    shown: 0,
    pathWords: hashWords(barePath),
    ownWords: hashWords(ownName),
    names: [],
    bag: undefined,
    length: 0,
  };
}

function decideRole(filePath: string): Doc["role"] {
  if (isGenerated(filePath)) return "made";
  if (TEST_PATH.test(filePath)) return "test";
  if (ASIDE_PATH.test(filePath)) return "aside";
  return CODE_PATH.test(filePath) ? "code" : "other";
}

const TEST_PATH =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|[\w-]+-tests?)\/|[._-](?:test|spec|bench|test-d)\.\w+$/i;
const ASIDE_PATH = anyOf(
  /(?:^|\/)(?:examples?|fixtures?|__fixtures__|__mocks__|playgrounds?)\//i,
  /(?:^|\/)(?:benchmarks?|bench|demos?|samples?)\//i,
);
/** What is written in a programming language, parsed or not. */
const CODE_PATH = anyOf(
  /\.(?:[cm]?[jt]sx?|vue|svelte|astro|pyi?|go|rs|java|kts?|swift|rb|php|c|h|cc|cpp|cxx|hpp)$/i,
  /\.(?:hh|cs|scala|dart|lua|exs?|erl|hs|clj|zig|sql)$/i,
);

function recordSymbol(usesByName: Map<string, Use>, docIndex: number, docSymbol: Sym): void {
  let nameUse = usesByName.get(docSymbol.name);
  if (!nameUse) {
    nameUse = { definers: [], users: 0 };
    usesByName.set(docSymbol.name, nameUse);
  }
  if (isPublic(docSymbol) && nameUse.definers.at(-1) !== docIndex) nameUse.definers.push(docIndex);
}

export const isPublic = (candidate: Sym): boolean =>
  !candidate.local && !candidate.visibility && candidate.kind !== "key";

/** The symbols that other files may use; only once where one line declares several. */
export function publicSymbols({ symbols }: Facts): Sym[] {
  const visibleSymbols = symbols.filter(isPublic);
  return visibleSymbols.filter(
    ({ line, signature }, index) =>
      visibleSymbols[index - 1]?.line !== line ||
      visibleSymbols[index - 1]?.signature !== signature,
  );
}
