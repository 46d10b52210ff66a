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
// files, from which it goes on to those that they use, or that lie beside them
const MAX_NEAREST = 30;

/** The words of a query. */
export function termsOf(query: string): number[] {
  const queryWords = wordsIn(query).filter((word) => word.length > 1 && !STOP_WORDS.has(word));
  return [...new Set(queryWords.map((word) => wordHash(stem(word))))].slice(0, MAX_TERMS);
}

export function signalsOf(survey: Survey, query: string, history?: History): Signals {
  const docCount = survey.docs.length;
  const signals = Object.fromEntries(
    SIGNALS.map((signalName) => [signalName, new Float64Array(docCount)]),
  ) as Signals;
  const queryTerms = termsOf(query);
  pathWords(survey, queryTerms, signals);
  bodyWords(survey, queryTerms, signals);
  symbolWords(survey, queryTerms, signals);
  identifiers(survey, query, signals);
  const pastSignals = history && historySignals(survey, queryTerms, history);
  if (pastSignals) Object.assign(signals, pastSignals);
  for (const signalName of SIGNALS) normalize(signals[signalName]);
  const nearestDocs = nearest(signals);
  neighbours(survey, nearestDocs, signals);
  for (const signalName of ["uses", "folder"] as const) normalize(signals[signalName]);
  return signals;
}

function normalize(signalValues: Float64Array): void {
  let highest = 0;
  for (const signalValue of signalValues) if (signalValue > highest) highest = signalValue;
  if (highest) for (let doc = 0; doc < signalValues.length; doc++) signalValues[doc]! /= highest;
}

/** Inverse document frequency. */
const measureRarity = (docCount: number, docsWith: number) =>
  Math.log(1 + (docCount - docsWith + 0.5) / (docsWith + 0.5));

/**
 * How much of the query stands in the path goes into `content`, how much in the file's own name
 * into `own`.
 */
function pathWords(
  { docs }: Survey,
  queryTerms: number[],
  { own: byOwnName, content }: Signals,
): void {
  for (const term of queryTerms) {
    const matchingDocs = docs.flatMap(({ pathWords }, docIndex) =>
      pathWords.includes(term) ? [docIndex] : [],
    );
    const termWeight = measureRarity(docs.length, matchingDocs.length);
    let highest = 0;
    for (const docIndex of matchingDocs) {
      content[docIndex]! += termWeight;
      const { ownWords } = docs[docIndex]!;
      if (ownWords.includes(term)) byOwnName[docIndex]! += termWeight / Math.sqrt(ownWords.length);
      highest = Math.max(highest, content[docIndex]!);
    }
  }
  normalize(content);
}

/** How rare each word is in the project, relative to the rarest. */
export function rarities({ docs }: Survey, queryTerms: number[]): Map<number, number> {
  const weights = occurrences(docs, queryTerms).map(
    ({ docs: matchingDocs }) =>
      matchingDocs.length && measureRarity(docs.length, matchingDocs.length),
  );
  const highest = Math.max(0, ...weights);
  return new Map(
    highest > 0 ? queryTerms.map((term, index) => [term, weights[index]! / highest]) : [],
  );
}

/** BM25, and the sum of how often each word occurs, by how rare it is. */
function bodyWords({ docs }: Survey, queryTerms: number[], { bm25, content }: Signals): void {
  const docCount = docs.length;
  const meanLength = docs.reduce((total, { length }) => total + length, 0) / docCount || 1;
  const termOccurrences = occurrences(docs, queryTerms);
  const wordSums = new Float64Array(docCount);
  for (const [termIndex, { docs: matchingDocs, counts }] of termOccurrences.entries()) {
    addPaths(docs, queryTerms[termIndex]!, matchingDocs, counts);
    const termWeight = measureRarity(docCount, matchingDocs.length);
    for (let i = 0; i < matchingDocs.length; i++) {
      const [doc, count] = [matchingDocs[i]!, counts[i]!];
      bm25[doc]! +=
        (termWeight * count * (BM25.k + 1)) /
        (count + BM25.k * (1 - BM25.b + (BM25.b * docs[doc]!.length) / meanLength));
      wordSums[doc]! += termWeight * Math.log(1 + count);
    }
  }
  for (let doc = 0; doc < docCount; doc++)
    content[doc] = (wordSums[doc]! + 2 * content[doc]!) / Math.log(50 + docs[doc]!.length);
}

/** A word in the path counts as one in the text, in the file's own name as several. */
function addPaths(docs: Doc[], term: number, matchingDocs: number[], termCounts: number[]): void {
  const positions = new Map(matchingDocs.map((docIndex, position) => [docIndex, position]));
  for (const [docIndex, { pathWords, ownWords }] of docs.entries()) {
    if (!pathWords.includes(term)) continue;
    const position = positions.get(docIndex) ?? matchingDocs.push(docIndex) - 1;
    termCounts[position] = (termCounts[position] ?? 0) + (ownWords.includes(term) ? OWN_NAME : 1);
  }
}

/**
 * Of each hash, the files that have it and how often: one walk through all words of the project.
 */
function occurrences(docs: Doc[], wordHashes: number[]) {
  const byHash = wordHashes.map(() => ({ docs: [] as number[], counts: [] as number[] }));
  const slotsByHash = new Map(wordHashes.map((hash, index) => [hash, index]));
  const hashMarks = new Uint8Array(1 << 16);
  for (const hash of wordHashes) hashMarks[hash & 0xffff] = 1;
  for (const [docIndex, { bag }] of docs.entries())
    for (let index = 0; index < (bag?.hashes.length ?? 0); index++) {
      const bagHash = bag!.hashes[index]!;
      const slot = hashMarks[bagHash & 0xffff] ? slotsByHash.get(bagHash) : undefined;
      if (slot === undefined) continue;
      byHash[slot]!.docs.push(docIndex);
      byHash[slot]!.counts.push(bag!.counts[index]!);
    }
  return byHash;
}

/** How many of a file's symbols the words are in, and how much of the query its best symbol has. */
function symbolWords({ docs }: Survey, queryTerms: number[], { declared, symbol }: Signals): void {
  const wantedTerms = new Set(queryTerms);
  const [docCounts, lengths] = [
    new Map<number, number>(),
    docs.map(({ names }) => addUp(names, ({ words }) => words.length)),
  ];
  const countsOfDocs = docs.map(({ names }) => {
    const termCounts = new Map<number, number>();
    for (const { words } of names)
      for (const word of words)
        if (wantedTerms.has(word)) termCounts.set(word, (termCounts.get(word) ?? 0) + 1);
    for (const word of termCounts.keys()) docCounts.set(word, (docCounts.get(word) ?? 0) + 1);
    return termCounts;
  });
  const weights = new Map(
    Array.from(docCounts, ([word, docsWith]) => [word, measureRarity(docs.length, docsWith)]),
  );
  const meanLength = addUp(lengths, (length) => length) / docs.length || 1;
  for (const [doc, termCounts] of countsOfDocs.entries()) {
    for (const term of queryTerms) {
      const termCount = termCounts.get(term) ?? 0;
      const lengthFactor = 1.2 * (0.25 + (0.75 * lengths[doc]!) / meanLength);
      if (termCount)
        declared[doc]! += (weights.get(term)! * termCount * 2.2) / (termCount + lengthFactor);
    }
    for (const { words } of termCounts.size ? docs[doc]!.names : []) {
      const symbolValue =
        addUp(words, (word) => weights.get(word) ?? 0) / Math.sqrt(0.5 + words.length);
      symbol[doc] = Math.max(symbol[doc]!, symbolValue);
    }
  }
}
const addUp = <T>(elements: readonly T[], measure: (element: T) => number) =>
  elements.reduce((total, element) => total + measure(element), 0);

/**
 * Names that are not plain words, as the query has them: where they occur, and where they are
 * declared.
 */
function identifiers({ docs }: Survey, query: string, { named, declares }: Signals): void {
  const nameKeys = [...new Set(identifiersIn(query).map(keyOf))];
  if (!nameKeys.length) return;
  for (const [keyIndex, { docs: matchingDocs, counts }] of occurrences(docs, nameKeys).entries()) {
    const keyWeight = Math.log(1 + docs.length / (matchingDocs.length || 1));
    for (const [i, docIndex] of matchingDocs.entries())
      named[docIndex]! += keyWeight * Math.log(1 + counts[i]!);
    for (const [docIndex, { names }] of docs.entries())
      if (names.some(({ key }) => key === nameKeys[keyIndex])) declares[docIndex]! += keyWeight;
  }
}

/** With a capital, a digit or an underscore in it, or in backticks, or followed by parentheses. */
function identifiersIn(query: string): string[] {
  const matches = [...query.matchAll(/[\p{L}\p{N}_$]+/gu)].filter(({ 0: queryWord, index }) => {
    const textAfter = query.slice(index + queryWord.length, index + queryWord.length + 2);
    return (
      /\p{Ll}[\p{Lu}\p{N}]|\p{L}_|_\p{L}|\$/u.test(queryWord) ||
      query[index - 1] === "`" ||
      /^(?:`|\(\))/.test(textAfter)
    );
  });
  return [...new Set(matches.map(([queryWord]) => queryWord))].slice(0, MAX_TERMS);
}

/** The files that the query itself is about, and how much: squared, so that the best ones count. */
function nearest(signals: Signals): Map<number, number> {
  const docScores = combinedScore(
    signals,
    SIGNALS.filter((signalName) => signalName !== "churn"), // and without the neighbours, so far
  );
  const bestDocs = [...docScores.keys()]
    .filter((docIndex) => docScores[docIndex])
    .sort((a, b) => docScores[b]! - docScores[a]! || a - b);
  const highest = docScores[bestDocs[0]!] ?? 1;
  return new Map(
    bestDocs
      .slice(0, MAX_NEAREST)
      .map((docIndex) => [docIndex, (docScores[docIndex]! / highest) ** 2]),
  );
}

export function combinedScore(
  signals: Signals,
  signalNames: readonly Signal[] = SIGNALS,
): Float64Array {
  const docScores = new Float64Array(signals.bm25.length);
  for (const signalName of signalNames) {
    const [signalValues, weight] = [signals[signalName], WEIGHTS[signalName]];
    for (let doc = 0; doc < docScores.length; doc++) docScores[doc]! += weight * signalValues[doc]!;
  }
  return docScores;
}

/** What the nearest files use, what uses them, and what lies beside them. */
function neighbours(
  { docs, importers }: Survey,
  nearestDocs: Map<number, number>,
  { uses, folder }: Signals,
): void {
  const folders = Map.groupBy(docs.keys(), (docIndex) => folderOf(docs[docIndex]!.path));
  for (const [docIndex, weight] of nearestDocs) {
    const { imports } = docs[docIndex]!;
    const docImporters = importers[docIndex]!;
    for (const importedDoc of imports)
      uses[importedDoc]! +=
        weight / Math.sqrt(imports.length) / Math.log(2 + importers[importedDoc]!.length);
    for (const importingDoc of docImporters)
      uses[importingDoc]! += (BACKWARD * weight) / Math.sqrt(docImporters.length);
    const folderDocs = folders.get(folderOf(docs[docIndex]!.path))!;
    for (const neighbour of folderDocs)
      if (neighbour !== docIndex) folder[neighbour]! += weight / Math.sqrt(folderDocs.length);
  }
}
