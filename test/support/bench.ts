// `npm run bench`: measures, and says how it was when the baseline was taken. It fails nothing.
// What is measured stands in test/bench/*.ts.
//
//   npm run bench                 all figures
//   npm run bench NAME...         the one of that name, or those whose names contain it
//   npm run bench -- --keep       makes what was measured the baseline
import { fork } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median } from "./machine.ts";

export interface Figure {
  name: string;
  /** What it measures, in a sentence. */
  what: string;
  /** "times": of something that is measured beside it, in turn. */
  unit: "ms" | "times" | "MB" | "MB/s" | "%";
  /** How often it is measured. */
  runs: number;
  /** Makes what is needed, and gives what measures it once. Undefined: something that it needs is
   * not there. */
  prepare(bench: Bench): Promise<Measure | undefined>;
}
export type Measure = () => number | Promise<number>;
/** As a test's context: what is done when all is measured. */
export interface Bench {
  after(done: () => unknown): void;
}
interface Kept {
  median: number;
  /** By what part of it a figure may differ and count as the same. */
  tolerance: number;
}
interface Results {
  machine: string;
  date: string;
  figures: Record<string, Kept>;
}

const FOLDER = join(import.meta.dirname, "..", "bench");
const BASELINE = join(FOLDER, "baseline.json");
const LATEST = join(FOLDER, "latest.json");
const LEAST_TOLERANCE = 0.1;
const MORE_IS_BETTER = ["MB/s", "%"];

if (process.send) await measureOne(process.argv[2]!);
else await measureAll();

async function allFigures(): Promise<Figure[]> {
  const modules = await Promise.all(
    globSync(join(FOLDER, "*.ts"))
      .sort()
      .map((file) => import(file)),
  );
  return modules.flatMap(({ figures }) => figures as Figure[]);
}

async function measureAll(): Promise<void> {
  const { values: flags, positionals: names } = parseArgs({
    options: { keep: { type: "boolean" } },
    allowPositionals: true,
  });
  const figures = chosen(await allFigures(), names);
  const baseline = readBaseline();
  const results: Results = {
    machine: machine(),
    date: new Date().toISOString().slice(0, 10),
    figures: {},
  };
  if (baseline) console.log(`The baseline is of ${baseline.date}, on ${baseline.machine}.\n`);
  console.log(columns("figure", "now", "unit", "baseline", "verdict", "what it measures"));
  for (const figure of figures) {
    const samples = await samplesOf(figure.name);
    if (typeof samples === "string") console.log(`${figure.name}: not measured. ${samples}`);
    else results.figures[figure.name] = keptOf(samples);
    if (typeof samples !== "string")
      console.log(row(figure, results.figures[figure.name]!, baseline?.figures[figure.name]));
  }
  write(LATEST, results);
  if (flags.keep)
    write(BASELINE, {
      ...results,
      figures: { ...(names.length && baseline?.figures), ...results.figures },
    });
}

/** All; or of each word the one of that name, or those whose names contain it. */
function chosen(figures: Figure[], words: string[]): Figure[] {
  const names = figures.map(({ name }) => name);
  const fits = (name: string, word: string) =>
    names.includes(word) ? name === word : name.includes(word);
  const strange = words.filter((word) => !names.some((name) => fits(name, word)));
  if (strange.length)
    throw new Error(
      `Cannot measure '${strange.join("', '")}': no figure has it in its name. All: ${names.join(", ")}.`,
    );
  return figures.filter(({ name }) => !words.length || words.some((word) => fits(name, word)));
}

/** In a process of its own, with a folder for temporary files that is removed afterwards. */
async function samplesOf(name: string): Promise<number[] | string> {
  const folder = mkdtempSync(join(tmpdir(), "zz-bench-"));
  try {
    const child = fork(import.meta.filename, [name], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    let said: number[] | string = "Its process ended.";
    child.on("message", (message: number[] | string) => (said = message));
    await once(child, "exit");
    return said;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOne(name: string): Promise<void> {
  const figure = (await allFigures()).find((one) => one.name === name)!;
  const ends: (() => unknown)[] = [];
  const said = await samples(figure, { after: (done) => void ends.unshift(done) }).catch(
    (error: Error) => error.message,
  );
  for (const end of ends) await end();
  process.send!(said, () => process.exit());
}

async function samples({ prepare, runs }: Figure, bench: Bench): Promise<number[] | string> {
  const measure = await prepare(bench);
  if (!measure) return "Something that it needs is not there.";
  await measure(); // fills caches
  const all: number[] = [];
  for (let i = 0; i < runs; i++) all.push(await measure());
  return all;
}

/** The tolerance covers what half of the runs differed by, twice. */
function keptOf(samples: number[]): Kept {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = median(sorted);
  const spread =
    (sorted[Math.floor(sorted.length * 0.75)]! - sorted[Math.floor(sorted.length * 0.25)]!) /
    Math.abs(middle);
  return {
    median: Number(middle.toPrecision(4)),
    tolerance: Number(Math.max(LEAST_TOLERANCE, 2 * spread).toFixed(2)),
  };
}

function row({ name, what, unit }: Figure, now: Kept, before: Kept | undefined): string {
  const was = before ? `${before.median} ± ${Math.round(100 * before.tolerance)} %` : "";
  return columns(name, String(now.median), unit, was, verdict(unit, now, before), what);
}

function columns(
  name: string,
  now: string,
  unit: string,
  was: string,
  verdict: string,
  what: string,
): string {
  return `${name.padEnd(36)} ${now.padStart(7)} ${unit.padEnd(6)} ${was.padEnd(16)} ${verdict.padEnd(10)} ${what}`;
}

function verdict(unit: Figure["unit"], now: Kept, before: Kept | undefined): string {
  if (!before) return "new";
  const change = (now.median - before.median) / Math.abs(before.median);
  if (Math.abs(change) <= before.tolerance) return "as before";
  const isWorse = MORE_IS_BETTER.includes(unit) ? change < 0 : change > 0;
  if (unit === "MB" || unit === "%") return isWorse ? "worse" : "better";
  return isWorse ? "slower" : "faster";
}

function readBaseline(): Results | undefined {
  try {
    return JSON.parse(readFileSync(BASELINE, "utf8"));
  } catch {
    return undefined; // none is kept yet
  }
}

function write(file: string, results: Results): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
}

function machine(): string {
  return `${cpus()[0]?.model ?? process.arch}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`;
}
