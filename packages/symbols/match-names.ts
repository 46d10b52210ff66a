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
  const words = splitWords(query);
  const sameWords = symbols.filter(({ name }) => splitWords(name).join(" ") === words.join(" "));
  if (sameWords.length)
    return /\s/.test(query.trim())
      ? { exact: sameWords, near: [] }
      : { exact: [], near: sameWords };
  // All words, in the name and comment together: `turn loop` finds runTurn, "The turn loop".
  const scored = symbols
    .map((symbol) => ({ symbol, score: overlap(words, symbol) }))
    .filter(({ score }) => score > 0)
    .sort(
      (a, b) =>
        b.score - a.score ||
        Number(Boolean(b.symbol.exported)) - Number(Boolean(a.symbol.exported)),
    );
  const best = scored[0]?.score ?? 0;
  const near = scored.filter(({ score }) => score >= best / 2).map(({ symbol }) => symbol);
  return {
    exact: [],
    near: near.length ? near.slice(0, MAX_RESULTS) : fuzzy(query, symbols, MAX_RESULTS),
  };
}

/** The nearest names, whether misspelt or not. */
export function fuzzy(query: string, symbols: FoundSymbol[], max: number): FoundSymbol[] {
  const likely = symbols.length > MAX_FUZZY_NAMES ? nearest(query, symbols) : symbols;
  const fuse = new Fuse(likely, {
    keys: ["name"],
    threshold: 0.4,
    ignoreLocation: true,
    includeScore: true,
  });
  const matches = fuse.search(query, { limit: 4 * max });
  const rank = ({ item, score = 0 }: (typeof matches)[number]) =>
    score + (item.exported ? 0 : 0.02) + (item.local ? 0.05 : 0);
  return matches
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, max)
    .map(({ item }) => item);
}

/** Those that share the most pairs of letters with the query. */
function nearest(query: string, symbols: FoundSymbol[]): FoundSymbol[] {
  const wanted = pairs(query.toLowerCase());
  const scores = symbols.map((symbol, index) => {
    const name = symbol.name.toLowerCase();
    let score = 0;
    for (const pair of wanted) if (name.includes(pair)) score++;
    return { index, score: score - name.length / 100 };
  });
  scores.sort((a, b) => b.score - a.score);
  return scores.slice(0, MAX_FUZZY_NAMES).map(({ index }) => symbols[index]!);
}

const pairs = (text: string): string[] => [
  ...new Set(Array.from(text.slice(1), (letter, index) => text[index] + letter)),
];

/**
 * How much of the query a symbol covers: a word in its name counts twice as much as one in its
 * comment.
 */
function overlap(words: string[], { name, doc = "" }: FoundSymbol): number {
  const [nameWords, docWords] = [splitWords(name), splitWords(doc)];
  const hits = words.map((word) => {
    if (nameWords.some((nameWord) => isAlike(nameWord, word))) return 2;
    if (docWords.some((docWord) => isAlike(docWord, word))) return 1;
    return 0;
  });
  const share = hits.filter(Boolean).length / words.length;
  return share < 0.5
    ? 0
    : share * (hits as number[]).reduce((a, b) => a + b, 0) - nameWords.length / 100;
}

const isAlike = (a: string, b: string): boolean =>
  a === b || (b.length > 3 && (a.startsWith(b) || (b.startsWith(a) && a.length > 3)));

function splitWords(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}
