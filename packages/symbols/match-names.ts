// Finds the symbols meant by a name or by words that describe them.
import Fuse from "fuse.js";
import type { Sym } from "./scan/facts.ts";

export type FoundSymbol = Sym & { path: string }; // with its owner: Class.method

const MAX_RESULTS = 8;
const MAX_FUZZY_NAMES = 5_000; // names given to fuse.js, which needs a second for 100,000

export function bestFor(
  query: string,
  symbols: FoundSymbol[],
): { exact: FoundSymbol[]; near: FoundSymbol[] } {
  const exact = symbols.filter(({ name }) => name === query || name.endsWith(`.${query}`));
  if (exact.length) return { exact, near: [] };
  const queryWords = splitWords(query);
  const sameWords = symbols.filter(
    ({ name }) => splitWords(name).join(" ") === queryWords.join(" "),
  );
  if (sameWords.length)
    return /\s/.test(query.trim())
      ? { exact: sameWords, near: [] }
      : { exact: [], near: sameWords };
  // All words, in the name and comment together: `turn loop` finds runTurn, "The turn loop".
  const scoredSymbols = symbols
    .map((symbol) => ({ symbol, score: overlap(queryWords, symbol) }))
    .filter(({ score }) => score > 0)
    .sort(
      (first, second) =>
        second.score - first.score ||
        Number(Boolean(second.symbol.exported)) - Number(Boolean(first.symbol.exported)),
    );
  const bestScore = scoredSymbols[0]?.score ?? 0;
  const nearSymbols = scoredSymbols
    .filter(({ score }) => score >= bestScore / 2)
    .map(({ symbol }) => symbol);
  return {
    exact: [],
    near: nearSymbols.length
      ? nearSymbols.slice(0, MAX_RESULTS)
      : fuzzy(query, symbols, MAX_RESULTS),
  };
}

/** The nearest names, whether misspelt or not. */
export function fuzzy(query: string, symbols: FoundSymbol[], maxResults: number): FoundSymbol[] {
  const likelySymbols = symbols.length > MAX_FUZZY_NAMES ? nearest(query, symbols) : symbols;
  const fuzzySearch = new Fuse(likelySymbols, {
    keys: ["name"],
    threshold: 0.4,
    ignoreLocation: true,
    includeScore: true,
  });
  const matches = fuzzySearch.search(query, { limit: 4 * maxResults });
  const scoreMatch = ({ item, score = 0 }: (typeof matches)[number]) =>
    score + (item.exported ? 0 : 0.02) + (item.local ? 0.05 : 0);
  return matches
    .sort((first, second) => scoreMatch(first) - scoreMatch(second))
    .slice(0, maxResults)
    .map(({ item }) => item);
}

/** Those that share the most pairs of letters with the query. */
function nearest(query: string, symbols: FoundSymbol[]): FoundSymbol[] {
  const queryPairs = splitPairs(query.toLowerCase());
  const scoredIndexes = symbols.map((symbol, index) => {
    const lowerName = symbol.name.toLowerCase();
    let sharedPairs = 0;
    for (const queryPair of queryPairs) if (lowerName.includes(queryPair)) sharedPairs++;
    return { index, score: sharedPairs - lowerName.length / 100 };
  });
  scoredIndexes.sort((first, second) => second.score - first.score);
  return scoredIndexes.slice(0, MAX_FUZZY_NAMES).map(({ index }) => symbols[index]!);
}

const splitPairs = (letters: string) => [
  ...new Set(Array.from(letters.slice(1), (letter, index) => letters[index] + letter)),
];

/**
 * How much of the query a symbol covers: a word in its name counts twice as much as one in its
 * comment.
 */
function overlap(queryWords: string[], { name, doc = "" }: FoundSymbol): number {
  const [nameWords, docWords] = [splitWords(name), splitWords(doc)];
  const wordScores = queryWords.map((queryWord): number => {
    if (nameWords.some((nameWord) => isAlike(nameWord, queryWord))) return 2;
    if (docWords.some((docWord) => isAlike(docWord, queryWord))) return 1;
    return 0;
  });
  const matchedShare = wordScores.filter(Boolean).length / queryWords.length;
  return matchedShare < 0.5
    ? 0
    : matchedShare * wordScores.reduce((total, wordScore) => total + wordScore, 0) -
        nameWords.length / 100;
}

const isAlike = (symbolWord: string, queryWord: string) =>
  symbolWord === queryWord ||
  (queryWord.length > 3 &&
    (symbolWord.startsWith(queryWord) ||
      (queryWord.startsWith(symbolWord) && symbolWord.length > 3)));

function splitWords(phrase: string): string[] {
  return phrase
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}
