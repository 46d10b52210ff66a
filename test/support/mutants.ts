// Do the tests notice when the product is broken? `node test/support/mutants.ts --run` breaks it in
// one place after the other, as test/support/mutants.json says, and runs the test files that cover
// the place, until one fails. Nothing is broken in the checkout itself.
//
//   --list          makes the list again
//   --run           runs the tests; without it the mutants are shown
//   --files GLOB    only mutants of these files
//   --tests GLOB    only these test files
//   --suite all     what `npm run test:all` runs, too
import { readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, matchesGlob } from "node:path";
import { parseArgs } from "node:util";
import { type Copy, copyOf } from "./copy.ts";
import { type Covered, coverage, shareOfLines } from "./coverage.ts";
import { type Mutant, makeMutants, mutate } from "./mutant-list.ts";
import { testFiles } from "./suites.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const LIST = join(ROOT, "test", "support", "mutants.json");
const SEED = 29;
const AT_ONCE = 2;
/** A mutant that makes a test file take so long, and thrice as long as without it, makes it
 * hang. */
const HANGS_MS = 60_000;
/** How long tests may run for one mutant: more than all of the kernel's take on a busy machine. */
const WITHIN_MS = 300_000;
/** Looks at the text of the source, which any mutant changes. */
const STYLE = "test/kernel/house.test.ts";

type Verdict = "killed" | "survived" | "not covered" | "not found";
/** `left`: how many files were not run any more, since it took too long. */
type Result = { verdict: Verdict; by?: string; left?: number };

const [flag, glob] = [{ type: "boolean" }, { type: "string", default: "**" }] as const;
const suite = { type: "string", default: "npm" } as const;
const { values: flags } = parseArgs({
  options: { list: flag, run: flag, files: glob, tests: glob, suite },
});
if (flags.suite === "all") process.env.ZZ_ALL = "1";

const rows = flags.list ? makeMutants(ROOT, SEED).map((mutant) => JSON.stringify(mutant)) : [];
if (flags.list) writeFileSync(LIST, `[\n${rows.join(",\n")}\n]\n`);
const listed: Mutant[] = JSON.parse(readFileSync(LIST, "utf8"));
const mutants = listed.filter(({ file }) => matchesGlob(file, flags.files));
if (flags.run) await runAll();
else for (const mutant of mutants) console.log(shown(mutant));

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
  const all = await coverage(testsToRun(), copies);
  for (const [test, { passes }] of all)
    if (!passes) console.log(`Left out, since it fails without a mutant: ${test}`);
  const share = shareOfLines("kernel", ROOT, all.values());
  console.log(`Tests run ${share.toFixed(1)} % of the lines of kernel/.`);
  const results = new Map<Mutant, Result>();
  const left = [...mutants];
  await Promise.all(
    copies.map(async (copy) => {
      for (let mutant = left.shift(); mutant; mutant = left.shift()) {
        const result = await resultOf(mutant, copy, all);
        results.set(mutant, result);
        console.log(
          `${result.verdict.padEnd(11)} ${shown(mutant)}${result.by ? ` (${result.by})` : ""}`,
        );
      }
    }),
  );
  tell(results);
}

function testsToRun(): string[] {
  return testFiles(flags.suite === "all").filter(
    (file) => file !== STYLE && matchesGlob(file, flags.tests),
  );
}

async function resultOf(mutant: Mutant, copy: Copy, all: Map<string, Covered>): Promise<Result> {
  const text = readFileSync(join(ROOT, mutant.file), "utf8");
  const mutated = mutate(text, mutant);
  if (!mutated) return { verdict: "not found" };
  const covers = ({ passes, ran }: Covered) =>
    passes && ran.get(mutant.file)?.[mutated.start] === 1;
  const nearest = [...all]
    .filter(([, covered]) => covers(covered))
    .map(([test, { ms }]) => ({ test, ms, distance: distance(test, mutant.file) }))
    .sort((a, b) => a.distance - b.distance || a.ms - b.ms);
  if (!nearest.length) return { verdict: "not covered" };
  copy.write(mutant.file, mutated.text);
  try {
    let spent = 0;
    for (const [i, { test, ms }] of nearest.entries()) {
      if (spent + ms > WITHIN_MS) return { verdict: "survived", left: nearest.length - i };
      const how = { limitMs: Math.max(HANGS_MS, 3 * ms) };
      const run = await copy.run(test, how);
      spent += run.ms;
      // A second time, since a test may fail by chance.
      const fails =
        run.outcome === "stuck" ||
        (run.outcome === "failed" && (await copy.run(test, how)).outcome !== "passed");
      if (fails) return { verdict: "killed", by: test };
    }
    return { verdict: "survived" };
  } finally {
    copy.write(mutant.file, text);
  }
}

/** Which tests to run first: of the same name, the same folder, the same part, and all others. */
function distance(test: string, file: string): number {
  const place = test.replace(/^test\/(all\/)?/, "").replace(/\/test\/|\.test\.ts$/g, "");
  const parts = file.replace(/\.ts$/, "").split("/");
  if (parts.includes(basename(place)) && place.startsWith(parts[0]!)) return 0;
  const folder = parts.slice(0, 2).join("/");
  if (dirname(place) === dirname(file) || place.startsWith(`${folder}/`)) return 1;
  return place.startsWith(`${parts[0]}/`) ? 2 : 3;
}

function tell(results: Map<Mutant, Result>): void {
  const counts: Record<string, Partial<Record<Verdict, number>>> = {};
  for (const [{ file }, { verdict }] of results)
    for (const part of [dirname(file).split("/").slice(0, 2).join("/"), "all"]) {
      const own = (counts[part] ??= {});
      own[verdict] = (own[verdict] ?? 0) + 1;
    }
  console.table(counts);
  for (const [mutant, { verdict, left }] of results)
    if (verdict !== "killed")
      console.log(`${verdict}: ${shown(mutant)}${left ? ` (${left} files were not run)` : ""}`);
}
