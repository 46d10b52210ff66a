// Real repositories with their history, and what was changed in them later, from ../shared/corpora
// next to the project's root. The checkout may be a worktree elsewhere.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ROOT } from "./run.ts";

interface Corpus {
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
    if (!existsSync(join(to, name)))
      execFileSync(process.execPath, [join(from, "unpack.mjs"), name, to]);
    const queries = all.filter(({ repo }) => repo.replace("/", "_") === name);
    return { name, root: join(to, name), queries };
  });
}
