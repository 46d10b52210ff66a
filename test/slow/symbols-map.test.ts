// How often the map for a commit's message shows the files that the commit changed, against the same map in two other
// orders. ZZ_MAP_REPO: another repository. The parents' files are read from git, nothing is checked out.
import { ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { before, test } from "node:test";
import {
  type MapRequest,
  mapFrom,
  mapInOrder,
  rankFrom,
  type Source,
  type Survey,
  surveyOf,
} from "../../plugins/symbols/rank.ts";
import { bagOf, readBag } from "../../plugins/symbols/scan/words.ts";
import { scan } from "../../plugins/symbols/scan.ts";
import { slowness } from "../support/machine.ts";
import { ROOT } from "../support/run.ts";

const REPO = process.env.ZZ_MAP_REPO ?? ROOT;
const LAST = process.env.ZZ_SHORT ? 40 : 300;
const BUDGETS = [1_000, 2_000, 4_000];
const MOST_CHANGED = 20;
/** In a smaller project the map shows nearly every file in any order. */
const SMALLEST = 60;
const LARGEST = 1_000_000;
const SOURCE = /\.[cm]?[jt]sx?$/; // as in ../shared/corpora: what else a commit changed says nothing of the map
const CODE = /\.(?:[cm]?[jt]sx?|json|ya?ml)$/;

interface Commit {
  message: string;
  changed: string[]; // and there before
  sources: Source[];
  others: string[];
}
type Order = (commit: Commit & { survey: Survey }, wish: MapRequest) => string[];

const git = (args: string[], input?: string): Buffer =>
  execFileSync("git", ["-C", REPO, ...args], { maxBuffer: 2 ** 30, ...(input !== undefined && { input }) });
const list = (args: string[]): string[] => git(args).toString().split("\0").filter(Boolean);

function* commits(): Generator<Commit> {
  const known = new Map<string, Read | undefined>(); // by path and blob
  for (const row of list(["log", "--no-merges", "-z", "--format=%H%x1f%P%x1f%B", `-n${LAST}`])) {
    const [hash, parent, message] = row.split("\x1f") as [string, string, string];
    if (!parent) continue;
    const tree = treeOf(parent);
    const touched = list(["diff-tree", "-r", "-z", "--name-only", "--no-renames", parent, hash]);
    const changed = touched.filter((path) => tree.has(path) && SOURCE.test(path));
    if (touched.length > MOST_CHANGED || !changed.length || tree.size < SMALLEST) continue;
    learn(tree, known);
    yield { message: message.trim(), changed, ...projectOf(tree, known) };
  }
}

function treeOf(commit: string): Map<string, string> {
  const rows = list(["ls-tree", "-r", "-z", commit]).filter((row) => row.startsWith("100"));
  return new Map(rows.map((row) => [row.slice(row.indexOf("\t") + 1), row.split(/[ \t]/)[2]!]));
}

/** Scans what no commit before had, read in one go. */
function learn(tree: Map<string, string>, known: Map<string, Read | undefined>): void {
  const missing = [...tree].filter(([path, blob]) => CODE.test(path) && !known.has(path + blob));
  if (!missing.length) return;
  const all = git(["cat-file", "--batch"], missing.map(([, blob]) => `${blob}\n`).join(""));
  let at = 0;
  for (const [path, blob] of missing) {
    const start = all.indexOf("\n", at) + 1;
    const size = Number(all.toString("utf8", at, start).split(" ")[2]);
    const text = size > LARGEST ? "" : all.toString("utf8", start, start + size);
    known.set(path + blob, text ? factsOf(path, text) : undefined);
    at = start + size + 1;
  }
}

type Read = Pick<Source, "facts" | "words">;
function factsOf(path: string, text: string): Read | undefined {
  try {
    return { facts: scan(path, text), words: readBag(bagOf(text)) };
  } catch (error) {
    if (error instanceof RangeError) return undefined; // nested too deep for the parser
    throw error;
  }
}

function projectOf(
  tree: Map<string, string>,
  known: Map<string, Read | undefined>,
): Pick<Commit, "sources" | "others"> {
  const [sources, others]: [Source[], string[]] = [[], []];
  for (const [path, blob] of tree) {
    const read = known.get(path + blob);
    if (!read) others.push(path);
    else sources.push({ path, ...read, imports: importsOf(path, read, tree) });
  }
  return { sources, others };
}

function importsOf(path: string, { facts: { imports } }: Read, tree: Map<string, string>): string[] {
  const found = imports.map(({ from }) => {
    if (!from.startsWith(".")) return REPO === ROOT && from === "zz" ? "zz.ts" : undefined;
    const at = posix.join(posix.dirname(path), from);
    const bare = at.replace(/\.[cm]?jsx?$/, "");
    const guesses = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"].flatMap((end) => [
      `${bare}.${end}`,
      `${at}/index.${end}`,
    ]);
    return [at, ...guesses].find((one) => tree.has(one));
  });
  return [...new Set(found.filter((one) => one !== undefined))];
}

const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const alphabetical: Order = ({ sources, others }) => [...sources.map(({ path }) => path), ...others].sort(byName);
const mostImported: Order = (commit, wish) => {
  const times = new Map<string, number>();
  for (const { imports } of commit.sources) for (const to of imports) times.set(to, (times.get(to) ?? 0) + 1);
  return alphabetical(commit, wish).sort((a, b) => (times.get(b) ?? 0) - (times.get(a) ?? 0));
};
const ours: Order = ({ survey }, wish) => rankFrom(survey, wish);
const unasked: Order = (commit, { tokens }) => ours(commit, { tokens });

interface Score {
  recall: number; // of the files changed, on average
  hits: number; // commits with at least one
  files: number; // in the map
}
const ORDERS: Record<string, Order> = {
  ours, // without the history
  "without the message": unasked,
  "most imported": mostImported,
  alphabetical,
};
const scores: Record<string, Score[]> = Object.fromEntries(
  Object.keys(ORDERS).map((name) => [name, BUDGETS.map(() => ({ recall: 0, hits: 0, files: 0 }))]),
);
let many = 0;

before(() => {
  for (const one of commits()) {
    const commit = { ...one, survey: surveyOf(one.sources, one.others) };
    many++;
    const named: number[] = []; // files that the map names: the simple orders name as many
    for (const [name, order] of Object.entries(ORDERS)) {
      const paths = order(commit, { query: commit.message, tokens: 0 });
      for (const [at, tokens] of BUDGETS.entries()) {
        const isSimple = order === mostImported || order === alphabetical;
        const { files } = isSimple
          ? { files: paths.slice(0, named[at]) }
          : mapInOrder(commit.survey, { query: commit.message, tokens }, paths);
        if (order === ours) named[at] = files.length;
        const hits = commit.changed.filter((path) => files.includes(path)).length;
        const score = scores[name]![at]!;
        score.recall += hits / commit.changed.length;
        score.hits += hits ? 1 : 0;
        score.files += files.length;
      }
    }
  }
});

test("The files that a commit changed are in the map for its message more often than in other orders", (t) => {
  ok(
    many >= 3,
    `Only ${many} commits of ${REPO} have a parent of ${SMALLEST} files and change at most ${MOST_CHANGED}.`,
  );
  t.diagnostic(`${many} commits of ${REPO}: files found of those changed (commits with one found; files in the map)`);
  t.diagnostic(`${"".padEnd(20)}${BUDGETS.map((tokens) => `${tokens} tokens`.padEnd(26)).join("")}`);
  const percent = (sum: number) => `${((100 * sum) / many).toFixed(1)} %`;
  for (const [name, of] of Object.entries(scores)) {
    const cells = of.map(
      ({ recall, hits, files }) => `${percent(recall)} (${percent(hits)}; ${(files / many).toFixed(0)})`,
    );
    t.diagnostic(`${name.padEnd(20)}${cells.map((cell) => cell.padEnd(26)).join("")}`);
  }
  for (const [at, least] of [1.3, 1.3, 1].entries()) {
    const [best, other] = [
      scores.ours![at]!.recall,
      Math.max(scores["most imported"]![at]!.recall, scores.alphabetical![at]!.recall),
    ];
    ok(best > least * other, `${BUDGETS[at]} tokens: ${percent(best)} against ${percent(other)}`);
  }
});

let own: Source[] | undefined;

/** This repository's files, several times over: each copy under a folder and with names of its own. */
function copies(files: number): Source[] {
  own ??= globSync(["zz.ts", "kernel/*.ts", "plugins/**/*.ts", "test/**/*.ts"], { cwd: ROOT }).map((path): Source => {
    const text = readFileSync(join(ROOT, path), "utf8");
    return { path, facts: scan(path, text), words: readBag(bagOf(text)), imports: path === "zz.ts" ? [] : ["zz.ts"] };
  });
  const copy = (one: Source, n: number): Source => ({
    path: `${n}/${one.path}`,
    words: one.words,
    imports: one.imports.map((path) => `${n}/${path}`),
    facts: {
      ...one.facts,
      uses: one.facts.uses.replace(/(?<= )(\S+?):(\d+) (\S+?)(?=:)/g, `$1${n}:$2 $3`), // every other name
      symbols: one.facts.symbols.map((sym, at) => (at % 2 ? sym : { ...sym, name: sym.name + n })),
    },
  });
  const { length } = own;
  return Array.from({ length: files }, (_, at) => copy(own![at % length]!, Math.floor(at / length)));
}

/** Work, not waiting: other programs on the machine do not count. */
function worked(act: () => unknown): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const RUNS = process.env.ZZ_SHORT ? 3 : 7; // the median counts

for (const [files, limit] of [
  [1_500, 100], // on a quiet machine a third of this
  [10_000, 700],
] as const)
  test(`A map of ${files} files takes less than ${limit} ms of work`, (t) => {
    const sources = copies(files);
    const query = "Wait for a slow regular expression in a thread that Ctrl+C ends, and say so in the README";
    const surveys: Survey[] = [];
    const counted = Array.from({ length: 3 }, () => worked(() => void surveys.push(surveyOf(sources, []))));
    const times = Array.from({ length: RUNS }, () => worked(() => mapFrom(surveys[0]!, { query, tokens: 4_000 })));
    const list = (all: number[]) => all.map((ms) => ms.toFixed(0)).join(", ");
    t.diagnostic(`${files} files: ${list(counted)} ms once, ${list(times)} ms a query`);
    ok(times.toSorted((a, b) => a - b)[(RUNS - 1) / 2]! < limit * slowness(), times.join(" "));
  });
