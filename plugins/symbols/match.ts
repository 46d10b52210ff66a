// From a name, or words for it, to the definitions that are meant.
import Fuse from "fuse.js";
import type { Found } from "./scan.ts";

const MOST = 8;

export async function bestFor(query: string, all: Found[]): Promise<{ exact: Found[]; near: Found[] }> {
  const wanted = query.trim().replace(/\(\)$/, "");
  const exact = all.filter(({ name }) => name === wanted || name.split(".").at(-1) === wanted);
  if (exact.length) return { exact, near: [] };
  const words = split(wanted);
  const loose = all.filter(({ name }) => split(name).join(" ") === words.join(" "));
  if (loose.length) return { exact: loose, near: [] };
  // All the words, whole, in the name and its comment together: `turn loop` is runTurn, "The turn loop".
  const scored = all
    .map((found) => ({ found, score: overlap(words, found) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || Number(b.found.exported) - Number(a.found.exported));
  if (scored.length) {
    const best = scored[0]!.score;
    return {
      exact: [],
      near: scored
        .filter(({ score }) => score >= best / 2)
        .slice(0, MOST)
        .map(({ found }) => found),
    };
  }
  const fuse = new Fuse(all, { keys: ["name"], threshold: 0.4, ignoreLocation: true });
  return {
    exact: [],
    near: fuse
      .search(wanted)
      .slice(0, MOST)
      .map(({ item }) => item),
  };
}

/** How much of the query a definition carries: a word in its name counts twice one in its comment. */
function overlap(words: string[], { name, doc }: Found): number {
  const [own, said] = [split(name), split(doc)];
  const hits = words.map((word) =>
    own.some((one) => alike(one, word)) ? 2 : said.some((one) => alike(one, word)) ? 1 : 0,
  );
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
