// Do the tests notice when the product is broken? `node test/support/mutants.ts --run` breaks it in one place after the other, as
// test/support/mutants.json says, and runs the test files that cover the place, until one fails. Nothing is broken in the checkout itself.
//
//   --list          makes the list anew
//   --run           runs the tests; without it the mutants are shown
//   --files GLOB    only mutants of these files
//   --tests GLOB    only these test files
//   --suite all     what `npm run test:all` runs, too
//   --within SECONDS  how long tests may run for one mutant; 300 without it
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, matchesGlob } from "node:path";
import { parseArgs } from "node:util";
import { type Copy, copyOf } from "./copy.ts";
import { type Covered, coverage, hashOf } from "./coverage.ts";
import { type Mutant, makeMutants, mutate } from "./mutant-list.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const LIST = join(ROOT, "test", "support", "mutants.json");
const KEPT = join(ROOT, "node_modules", ".cache", "mutants");
const SEED = 29;
const AT_ONCE = 2;
/** A mutant that makes a test file take so long, and thrice as long as without it, makes it hang. */
const HANGS_MS = 60_000;
/** Looks at the text of the source, which any mutant changes. */
const STYLE = "test/kernel/house.test.ts";

type Verdict = "killed" | "survived" | "not covered" | "not found";
/** `left`: how many files were not run any more, since it took too long. */
type Result = { verdict: Verdict; by?: string; left?: number };

const { values: flags } = parseArgs({
  options: {
    list: { type: "boolean" },
    run: { type: "boolean" },
    files: { type: "string", default: "**" },
    tests: { type: "string", default: "**" },
    suite: { type: "string", default: "npm" },
    within: { type: "string", default: "300" },
  },
});
if (flags.suite === "all") process.env.ZZ_ALL = "1";
const coverageOf = join(KEPT, `coverage-${flags.suite}`);
const resultsFile = join(KEPT, `results-${flags.suite}.json`);

if (flags.list) writeList(makeMutants(ROOT, SEED));
const mutants = readList().filter(({ file }) => matchesGlob(file, flags.files));
if (flags.run) await runAll();
else for (const mutant of mutants) console.log(shown(mutant));

function readList(): Mutant[] {
  return JSON.parse(readFileSync(LIST, "utf8"));
}

function writeList(list: Mutant[]): void {
  writeFileSync(LIST, `[\n${list.map((mutant) => JSON.stringify(mutant)).join(",\n")}\n]\n`);
}

function shown({ file, line, kind, was, becomes }: Mutant): string {
  const flat = (text: string) => text.replace(/\s+/g, " ");
  return `${file}:${line}: ${kind}: ${flat(was)} → ${flat(becomes)}`;
}

async function runAll(): Promise<void> {
  const copies = Array.from({ length: AT_ONCE }, () => copyOf(ROOT));
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  process.on("exit", () => {
    for (const copy of copies) copy.remove();
  });
  const all = await coverage(ROOT, coverageOf, testFiles(), copies);
  for (const [test, { passes }] of all) if (!passes) console.log(`Left out, since it fails without a mutant: ${test}`);
  const before = readResults();
  const results = new Map<Mutant, Result>();
  const left = [...mutants];
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = left.shift(); mutant; mutant = left.shift()) {
        const result = await resultOf(mutant, copy, all, before[keyOf(mutant)]?.by);
        results.set(mutant, result);
        console.log(`${result.verdict.padEnd(11)} ${shown(mutant)}${result.by ? ` (${result.by})` : ""}`);
      }
    }),
  );
  mkdirSync(KEPT, { recursive: true });
  const now = Object.fromEntries([...results].map(([mutant, result]) => [keyOf(mutant), result]));
  writeFileSync(resultsFile, JSON.stringify({ ...before, ...now }, null, 1));
  tell(results);
}

function testFiles(): string[] {
  const folders = flags.suite === "all" ? "{kernel,sdk,plugins,security,e2e,all}" : "{kernel,sdk,plugins,security,e2e}";
  const files = globSync(`test/${folders}/**/*.test.ts`, { cwd: ROOT }).sort();
  return files.filter((file) => file !== STYLE && matchesGlob(file, flags.tests));
}

/** What came of the last run: what killed a mutant then is run first. */
function readResults(): Record<string, Result> {
  try {
    return JSON.parse(readFileSync(resultsFile, "utf8"));
  } catch {
    return {}; // the first run
  }
}
function keyOf({ file, before, was, becomes }: Mutant): string {
  return hashOf([file, before, was, becomes].join("\0"));
}

async function resultOf(mutant: Mutant, copy: Copy, all: Map<string, Covered>, last?: string): Promise<Result> {
  const text = readFileSync(join(ROOT, mutant.file), "utf8");
  const mutated = mutate(text, mutant);
  if (!mutated) return { verdict: "not found" };
  const covers = ({ passes, lines }: Covered) => passes && lines[mutant.file]?.includes(mutated.line);
  const nearest = [...all]
    .filter(([, covered]) => covers(covered))
    .map(([test, { ms }]) => ({ test, ms, distance: test === last ? -1 : distance(test, mutant.file) }))
    .sort((a, b) => a.distance - b.distance || a.ms - b.ms);
  if (!nearest.length) return { verdict: "not covered" };
  copy.write(mutant.file, mutated.text);
  try {
    let spent = 0;
    for (const [i, { test, ms }] of nearest.entries()) {
      if (spent + ms > 1_000 * Number(flags.within)) return { verdict: "survived", left: nearest.length - i };
      const how = { limitMs: Math.max(HANGS_MS, 3 * ms) };
      const run = await copy.run(test, how);
      spent += run.ms;
      // A second time, since a test may fail by chance.
      const fails =
        run.outcome === "stuck" || (run.outcome === "failed" && (await copy.run(test, how)).outcome !== "passed");
      if (fails) return { verdict: "killed", by: test };
    }
    return { verdict: "survived" };
  } finally {
    copy.write(mutant.file, text);
  }
}

/** Which tests to run first: those of the same name, of the same folder, and all others. */
function distance(test: string, file: string): number {
  const place = test.replace(/^test\/(all\/)?/, "").replace(/\.test\.ts$/, "");
  const parts = file.replace(/\.ts$/, "").split("/");
  if (parts.includes(basename(place)) && place.startsWith(parts[0]!)) return 0;
  const folder = parts.slice(0, 2).join("/");
  return dirname(place) === dirname(file) || place.startsWith(`${folder}/`) ? 1 : 2;
}

function tell(results: Map<Mutant, Result>): void {
  const folderOf = (file: string) => dirname(file).split("/").slice(0, 2).join("/");
  const verdicts = ["killed", "survived", "not covered", "not found"] as const;
  const counts = (of: (mutant: Mutant) => boolean) => {
    const own = [...results].filter(([mutant]) => of(mutant));
    return Object.fromEntries(
      verdicts.map((verdict) => [verdict, own.filter(([, result]) => result.verdict === verdict).length]),
    );
  };
  const folders = [...new Set(mutants.map(({ file }) => folderOf(file)))];
  const rows = folders.map((folder) => [folder, counts(({ file }) => folderOf(file) === folder)]);
  console.table(Object.fromEntries([...rows, ["all", counts(() => true)]]));
  for (const [mutant, { verdict, left }] of results)
    if (verdict !== "killed") console.log(`${verdict}: ${shown(mutant)}${left ? ` (${left} files were not run)` : ""}`);
}
