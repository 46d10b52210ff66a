// What speaks for each file, for one query: numbers between 0 and 1, side by side.
import { folderOf } from "../resolve/paths.ts";
import { keyOf, STOP_WORDS, stem, wordHash, wordsIn } from "../scan/word-bag.ts";
import { type History, historySignals } from "./commit-signals.ts";
import type { Doc, Survey } from "./survey.ts";
import { SIGNALS, type Signal, WEIGHTS } from "./weights.ts";

export type Signals = Record<Signal, Float64Array>;

const MAX_TERMS = 64;
// long files are not worse than short ones; a first look at the corpora said so
const BM25 = { k: 1.2, b: 0.3 };
const BACKWARD = 0.4; // of a file that uses one of the nearest, relative to one that it uses
const OWN_NAME = 3; // how often a word in it counts
const NEAR = 30; // files, from which it goes on to those that they use, or that lie beside them

/** The words of a query. */
export function termsOf(query: string): number[] {
  const words = wordsIn(query).filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  return [...new Set(words.map((word) => wordHash(stem(word))))].slice(0, MAX_TERMS);
}

export function signalsOf(survey: Survey, query: string, history?: History): Signals {
  const docCount = survey.docs.length;
  const signals = Object.fromEntries(
    SIGNALS.map((name) => [name, new Float64Array(docCount)]),
  ) as Signals;
  const terms = termsOf(query);
  pathWords(survey, terms, signals);
  bodyWords(survey, terms, signals);
  symbolWords(survey, terms, signals);
  identifiers(survey, query, signals);
  const past = history && historySignals(survey, terms, history);
  if (past) Object.assign(signals, past);
  for (const name of SIGNALS) normalize(signals[name]);
  const near = nearest(signals);
  neighbours(survey, near, signals);
  for (const name of ["uses", "folder"] as const) normalize(signals[name]);
  return signals;
}

function normalize(values: Float64Array): void {
  let highest = 0;
  for (const value of values) if (value > highest) highest = value;
  if (highest) for (let doc = 0; doc < values.length; doc++) values[doc]! /= highest;
}

/** Inverse document frequency. */
const rarity = (docCount: number, having: number): number =>
  Math.log(1 + (docCount - having + 0.5) / (having + 0.5));

/**
 * How much of the query stands in the path goes into `content`, how much in the file's own name
 * into `own`.
 */
function pathWords({ docs }: Survey, terms: number[], { own: byOwnName, content }: Signals): void {
  for (const term of terms) {
    const having = docs.flatMap(({ pathWords }, doc) => (pathWords.includes(term) ? [doc] : []));
    const weight = rarity(docs.length, having.length);
    let highest = 0;
    for (const doc of having) {
      content[doc]! += weight;
      const { ownWords } = docs[doc]!;
      if (ownWords.includes(term)) byOwnName[doc]! += weight / Math.sqrt(ownWords.length);
      highest = Math.max(highest, content[doc]!);
    }
  }
  normalize(content);
}

/** How rare each word is in the project, relative to the rarest. */
export function rarities({ docs }: Survey, terms: number[]): Map<number, number> {
  const weights = occurrences(docs, terms).map(
    ({ docs: having }) => having.length && rarity(docs.length, having.length),
  );
  const highest = Math.max(0, ...weights);
  return new Map(highest > 0 ? terms.map((term, index) => [term, weights[index]! / highest]) : []);
}

/** BM25, and the sum of how often each word occurs, by how rare it is. */
function bodyWords({ docs }: Survey, terms: number[], { bm25, content }: Signals): void {
  const docCount = docs.length;
  const mean = docs.reduce((sum, { length }) => sum + length, 0) / docCount || 1;
  const byTerm = occurrences(docs, terms);
  const sums = new Float64Array(docCount);
  for (const [index, { docs: having, counts }] of byTerm.entries()) {
    addPaths(docs, terms[index]!, having, counts);
    const weight = rarity(docCount, having.length);
    for (let i = 0; i < having.length; i++) {
      const [doc, count] = [having[i]!, counts[i]!];
      bm25[doc]! +=
        (weight * count * (BM25.k + 1)) /
        (count + BM25.k * (1 - BM25.b + (BM25.b * docs[doc]!.length) / mean));
      sums[doc]! += weight * Math.log(1 + count);
    }
  }
  for (let doc = 0; doc < docCount; doc++)
    content[doc] = (sums[doc]! + 2 * content[doc]!) / Math.log(50 + docs[doc]!.length);
}

/** A word in the path counts as one in the text, in the file's own name as several. */
function addPaths(docs: Doc[], term: number, having: number[], counts: number[]): void {
  const places = new Map(having.map((doc, index) => [doc, index]));
  for (const [doc, { pathWords, ownWords }] of docs.entries()) {
    if (!pathWords.includes(term)) continue;
    const index = places.get(doc) ?? having.push(doc) - 1;
    counts[index] = (counts[index] ?? 0) + (ownWords.includes(term) ? OWN_NAME : 1);
  }
}

/**
 * Of each hash, the files that have it and how often: one walk through all words of the project.
 */
function occurrences(docs: Doc[], hashes: number[]) {
  const byHash = hashes.map(() => ({ docs: [] as number[], counts: [] as number[] }));
  const places = new Map(hashes.map((hash, index) => [hash, index]));
  const marks = new Uint8Array(1 << 16);
  for (const hash of hashes) marks[hash & 0xffff] = 1;
  for (const [doc, { bag }] of docs.entries())
    for (let index = 0; index < (bag?.hashes.length ?? 0); index++) {
      const hash = bag!.hashes[index]!;
      const slot = marks[hash & 0xffff] ? places.get(hash) : undefined;
      if (slot === undefined) continue;
      byHash[slot]!.docs.push(doc);
      byHash[slot]!.counts.push(bag!.counts[index]!);
    }
  return byHash;
}

/** How many of a file's symbols the words are in, and how much of the query its best symbol has. */
function symbolWords({ docs }: Survey, terms: number[], { declared, symbol }: Signals): void {
  const wanted = new Set(terms);
  const [having, lengths] = [
    new Map<number, number>(),
    docs.map(({ names }) => sum(names, ({ words }) => words.length)),
  ];
  const countsOfDocs = docs.map(({ names }) => {
    const counts = new Map<number, number>();
    for (const { words } of names)
      for (const word of words) if (wanted.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const word of counts.keys()) having.set(word, (having.get(word) ?? 0) + 1);
    return counts;
  });
  const weights = new Map(
    Array.from(having, ([word, docsWith]) => [word, rarity(docs.length, docsWith)]),
  );
  const mean = sum(lengths, (length) => length) / docs.length || 1;
  for (const [doc, counts] of countsOfDocs.entries()) {
    for (const term of terms) {
      const count = counts.get(term) ?? 0;
      const long = 1.2 * (0.25 + (0.75 * lengths[doc]!) / mean);
      if (count) declared[doc]! += (weights.get(term)! * count * 2.2) / (count + long);
    }
    for (const { words } of counts.size ? docs[doc]!.names : []) {
      const value = sum(words, (word) => weights.get(word) ?? 0) / Math.sqrt(0.5 + words.length);
      symbol[doc] = Math.max(symbol[doc]!, value);
    }
  }
}
const sum = <T>(list: readonly T[], of: (element: T) => number): number =>
  list.reduce((total, element) => total + of(element), 0);

/**
 * Names that are not plain words, as the query has them: where they occur, and where they are
 * declared.
 */
function identifiers({ docs }: Survey, query: string, { named, declares }: Signals): void {
  const keys = [...new Set(identifiersIn(query).map(keyOf))];
  if (!keys.length) return;
  for (const [index, { docs: having, counts }] of occurrences(docs, keys).entries()) {
    const weight = Math.log(1 + docs.length / (having.length || 1));
    for (const [i, doc] of having.entries()) named[doc]! += weight * Math.log(1 + counts[i]!);
    for (const [doc, { names }] of docs.entries())
      if (names.some(({ key }) => key === keys[index])) declares[doc]! += weight;
  }
}

/** With a capital, a digit or an underscore in it, or in backticks, or followed by parentheses. */
function identifiersIn(query: string): string[] {
  const matches = [...query.matchAll(/[\p{L}\p{N}_$]+/gu)].filter(({ 0: word, index }) => {
    const after = query.slice(index + word.length, index + word.length + 2);
    return (
      /\p{Ll}[\p{Lu}\p{N}]|\p{L}_|_\p{L}|\$/u.test(word) ||
      query[index - 1] === "`" ||
      /^(?:`|\(\))/.test(after)
    );
  });
  return [...new Set(matches.map(([word]) => word))].slice(0, MAX_TERMS);
}

/** The files that the query itself is about, and how much: squared, so that the best ones count. */
function nearest(signals: Signals): Map<number, number> {
  const score = combinedScore(signals, [
    "bm25",
    "content",
    "own",
    "declared",
    "symbol",
    "named",
    "declares",
    "messages",
  ]);
  const best = [...score.keys()]
    .filter((doc) => score[doc])
    .sort((a, b) => score[b]! - score[a]! || a - b);
  const highest = score[best[0]!] ?? 1;
  return new Map(best.slice(0, NEAR).map((doc) => [doc, (score[doc]! / highest) ** 2]));
}

export function combinedScore(signals: Signals, which: readonly Signal[] = SIGNALS): Float64Array {
  const score = new Float64Array(signals.bm25.length);
  for (const name of which) {
    const [values, weight] = [signals[name], WEIGHTS[name]];
    if (weight) for (let doc = 0; doc < score.length; doc++) score[doc]! += weight * values[doc]!;
  }
  return score;
}

/** What the nearest files use, what uses them, and what lies beside them. */
function neighbours(
  { docs, importers }: Survey,
  near: Map<number, number>,
  { uses, folder }: Signals,
): void {
  const folders = Map.groupBy(docs.keys(), (doc) => folderOf(docs[doc]!.path));
  for (const [doc, weight] of near) {
    const { imports } = docs[doc]!;
    const by = importers[doc]!;
    for (const to of imports)
      uses[to]! += weight / Math.sqrt(imports.length) / Math.log(2 + importers[to]!.length);
    for (const from of by) uses[from]! += (BACKWARD * weight) / Math.sqrt(by.length);
    const beside = folders.get(folderOf(docs[doc]!.path))!;
    for (const neighbour of beside)
      if (neighbour !== doc) folder[neighbour]! += weight / Math.sqrt(beside.length);
  }
}
