// Finds the symbols meant by a name or by words that describe them.
import Fuse from "fuse.js";
import type { Sym } from "./scan/facts.ts";

export type FoundSymbol = Sym & { path: string }; // with its owner: Class.method

const MAX_RESULTS = 8;
const MAX_FUZZY_NAMES = 5_000; // names given to fuse.js, which needs a second for 100,000

export function bestFor(
  query: string,
  all: FoundSymbol[],
): { exact: FoundSymbol[]; near: FoundSymbol[] } {
  const exact = all.filter(({ name }) => name === query || name.endsWith(`.${query}`));
  if (exact.length) return { exact, near: [] };
  const words = split(query);
  const sameWords = all.filter(({ name }) => split(name).join(" ") === words.join(" "));
  if (sameWords.length)
    return /\s/.test(query.trim())
      ? { exact: sameWords, near: [] }
      : { exact: [], near: sameWords };
  // All words, in the name and comment together: `turn loop` finds runTurn, "The turn loop".
  const scored = all
    .map((found) => ({ found, score: overlap(words, found) }))
    .filter(({ score }) => score > 0)
    .sort(
      (a, b) =>
        b.score - a.score || Number(Boolean(b.found.exported)) - Number(Boolean(a.found.exported)),
    );
  const best = scored[0]?.score ?? 0;
  const near = scored.filter(({ score }) => score >= best / 2).map(({ found }) => found);
  return {
    exact: [],
    near: near.length ? near.slice(0, MAX_RESULTS) : fuzzy(query, all, MAX_RESULTS),
  };
}

/** The nearest names, whether misspelt or not. */
export function fuzzy(query: string, all: FoundSymbol[], most: number): FoundSymbol[] {
  const likely = all.length > MAX_FUZZY_NAMES ? nearest(query, all) : all;
  const fuse = new Fuse(likely, {
    keys: ["name"],
    threshold: 0.4,
    ignoreLocation: true,
    includeScore: true,
  });
  const found = fuse.search(query, { limit: 4 * most });
  const rank = ({ item, score = 0 }: (typeof found)[number]) =>
    score + (item.exported ? 0 : 0.02) + (item.local ? 0.05 : 0);
  return found
    .sort((a, b) => rank(a) - rank(b))
    .slice(0, most)
    .map(({ item }) => item);
}

/** Those that share the most pairs of letters with the query. */
function nearest(query: string, all: FoundSymbol[]): FoundSymbol[] {
  const wanted = pairs(query.toLowerCase());
  const scores = all.map((found, at) => {
    const name = found.name.toLowerCase();
    let score = 0;
    for (const pair of wanted) if (name.includes(pair)) score++;
    return { at, score: score - name.length / 100 };
  });
  scores.sort((a, b) => b.score - a.score);
  return scores.slice(0, MAX_FUZZY_NAMES).map(({ at }) => all[at]!);
}

const pairs = (text: string): string[] => [
  ...new Set(Array.from(text.slice(1), (letter, at) => text[at] + letter)),
];

/**
 * How much of the query a symbol covers: a word in its name counts twice as much as one in its
 * comment.
 */
function overlap(words: string[], { name, doc = "" }: FoundSymbol): number {
  const [own, said] = [split(name), split(doc)];
  const hits = words.map((word) => {
    if (own.some((one) => alike(one, word))) return 2;
    if (said.some((one) => alike(one, word))) return 1;
    return 0;
  });
  const share = hits.filter(Boolean).length / words.length;
  return share < 0.5 ? 0 : share * (hits as number[]).reduce((a, b) => a + b, 0) - own.length / 100;
}

const alike = (a: string, b: string): boolean =>
  a === b || (b.length > 3 && (a.startsWith(b) || (b.startsWith(a) && a.length > 3)));

function split(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}
