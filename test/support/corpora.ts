// Real repositories with their history, and what was changed in them later, from ../shared/corpora next to the
// project's root. The checkout may be a worktree elsewhere.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT } from "./run.ts";

export interface Corpus {
  name: string;
  root: string;
  queries: { query: string; files: string[] }[];
}
export const CORPORA = ["honojs_hono", "colinhacks_zod"];

const BESIDE = [join(ROOT, "../shared/corpora"), join(ROOT, "../../shared/corpora")];

/** The folder that holds them; undefined if there is none. */
export const corporaFolder = (): string | undefined =>
  [...(process.env.ZZ_CORPORA ? [process.env.ZZ_CORPORA] : []), ...BESIDE]
    .map((at) => resolve(at))
    .find((at) => existsSync(join(at, "commits.json")));

/** Unpacks them into a folder, each as a repository of its own. */
export function unpackCorpora(from: string, to: string, names = CORPORA): Corpus[] {
  mkdirSync(to, { recursive: true });
  const all: { repo: string; query: string; files: string[] }[] = JSON.parse(
    readFileSync(join(from, "commits.json"), "utf8"),
  );
  return names.map((name) => {
    if (!existsSync(join(to, name))) execFileSync(process.execPath, [join(from, "unpack.mjs"), name, to]);
    const queries = all.filter(({ repo }) => repo.replace("/", "_") === name);
    return { name, root: join(to, name), queries };
  });
}

/** Two simple rankings to compare with: files by the query's words in their paths, and by those in their text. */
export function yardsticks(
  root: string,
  files: readonly string[],
): (query: string) => Record<"path words" | "content rank", string[]> {
  const docs = files.map((path) => {
    const counts = new Map<string, number>();
    const words =
      readFileSync(join(root, path), "utf8")
        .toLowerCase()
        .match(/[\p{L}\p{N}_$]+/gu) ?? [];
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { path, lower: path.toLowerCase(), counts, length: words.length };
  });
  return (query) => {
    const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_$]{3,}/gu))];
    const rarity = words.map((word) =>
      Math.log(1 + docs.length / (1 + docs.filter(({ counts }) => counts.has(word)).length)),
    );
    const by = (value: (doc: (typeof docs)[number]) => number): string[] => {
      const scored = docs.map((doc) => ({ doc, score: value(doc) }));
      return scored.sort((a, b) => b.score - a.score || (a.doc.path < b.doc.path ? -1 : 1)).map(({ doc }) => doc.path);
    };
    const inPath = (lower: string) => words.filter((word) => lower.includes(word)).length;
    return {
      "path words": by(({ lower }) => inPath(lower)),
      "content rank": by(({ counts, lower, length }) => {
        const sum = words.reduce(
          (sum, word, at) =>
            sum + rarity[at]! * (Math.log(1 + (counts.get(word) ?? 0)) + (lower.includes(word) ? 2 : 0)),
          0,
        );
        return sum / Math.log(50 + length);
      }),
    };
  };
}
