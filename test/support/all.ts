// `npm test` and `npm run test:all`: runs the test files, in a few processes at a time, and says
// what they cost. Runs only the files given, if any. ZZ_ORDER=SEED shuffles them, which must change
// nothing.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { cpuOfChildren } from "./machine.ts";
import report from "./reporter.ts";
import { random } from "./runs.ts";
import { APART, SLICE, testFiles } from "./suites.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const AT_ONCE = 3; // on two cores: some tests wait more than they work
/** Only what hangs takes so long. */
const HANGS_MS = 180_000;
/** Starting a program copies the page tables of the process that starts it, so a small young
 * generation makes that cheaper. */
const LEAN =
  "--max-semi-space-size=4 --liftoff-only --no-wasm-dynamic-tiering --no-wasm-tier-up".split(" ");

/** ZZ_TIMES=FILE: each process adds what it cost, with the programs that it started, in seconds of
 * CPU. */
const TIMES = `import { appendFileSync, readFileSync } from "node:fs";
process.on("exit", () => {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ").slice(11, 15).map(Number);
  const seconds = fields.reduce((sum, ticks) => sum + ticks / 100, 0);
  appendFileSync(process.env.ZZ_TIMES, \`\${seconds.toFixed(1)}\\tNAME\\n\`);
});
`;

const { values: flags, positionals: named } = parseArgs({
  options: { all: { type: "boolean" }, slice: { type: "boolean" } },
  allowPositionals: true,
});
if (flags.all || flags.slice) process.env.ZZ_ALL = "1";
/** The tests and what they start share a cache of compiled code: stripping types would take a
 * quarter of the time. */
process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), `zz-test-cache-${userInfo().uid}`);

/** What tests start as `node` is the one that runs them, also without npm. */
process.env.PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);

const folder = mkdtempSync(join(tmpdir(), "zz-tests-"));
const stop = new AbortController();
let heard = performance.now();
const started = performance.now();
const events = run({
  files: groups(files()).map(([name, together]) => moduleOf(name, together)),
  concurrency: AT_ONCE,
  timeout: HANGS_MS,
  signal: stop.signal,
  execArgv: LEAN,
});
// what is printed does not count: a process that hangs may go on complaining
for (const event of ["test:dequeue", "test:complete", "test:start", "test:pass"] as const)
  events.on(event, () => {
    heard = performance.now();
  });
events.on("test:fail", () => {
  process.exitCode = 1;
});
const watch = setInterval(endWhatHangs, 5_000);
process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
Readable.from(report(events))
  .on("end", () => {
    clearInterval(watch);
    const seconds = (ms: number) => `${(ms / 1_000).toFixed(0)} s`;
    console.log(
      `ℹ took ${seconds(performance.now() - started)}, ${seconds(cpuOfChildren())} of CPU`,
    );
  })
  .pipe(process.stdout);

function files(): string[] {
  const missing = named.filter((file) => !existsSync(file));
  if (missing.length)
    throw new Error(`Cannot run '${missing.join("', '")}': no such file. Check the path.`);
  if (named.length) return named.map((file) => relative(ROOT, file));
  if (flags.slice) return SLICE;
  return testFiles(Boolean(flags.all));
}

/** Files that share a process: loading zz takes as long as a dozen tests. Each passes alone, too,
 * and in any order. */
function groups(all: string[]): [name: string, files: string[]][] {
  const shared = new Map<string, string[]>();
  for (const file of all) {
    const place = file.replace(/^test\/|\.test\.ts$/g, "");
    const [top, inner, deeper] = dirname(place).split("/");
    const isAlone = APART.includes(place) || top === "all" || place.includes("/test/all/");
    // Packages of one test file share a process.
    const isSmall =
      top === "packages" &&
      all.filter((other) => other.startsWith(`packages/${inner}/`)).length === 1;
    const folder = isSmall ? top : [top, inner, deeper].filter(Boolean).join("/");
    const name = isAlone ? place : folder;
    shared.set(name, [...(shared.get(name) ?? []), file]);
  }
  const rank = (name: string) => (APART.includes(name) ? APART.indexOf(name) : APART.length);
  const inOrder = [...shared].sort(([a], [b]) => rank(a) - rank(b));
  if (!process.env.ZZ_ORDER) return inOrder;
  const next = random(Number(process.env.ZZ_ORDER));
  const shuffled = <T>(list: T[]): T[] =>
    list
      .map((item) => [next(), item] as const)
      .sort(([a], [b]) => a - b)
      .map(([, item]) => item);
  return shuffled(inOrder).map(([name, together]) => [name, shuffled(together)]);
}

function moduleOf(name: string, files: string[]): string {
  const module = join(folder, `${name.replaceAll("/", ".")}.mjs`);
  const urls = files.map((file) => pathToFileURL(join(ROOT, file)).href);
  const times = process.env.ZZ_TIMES === undefined ? [] : [TIMES.replace("NAME", name)];
  writeFileSync(
    module,
    [...times, ...urls.map((url) => `import ${JSON.stringify(url)};\n`)].join(""),
  );
  return module;
}

/** A process that goes on after its last test, because something in it never ends. */
function endWhatHangs(): void {
  if (performance.now() - heard < HANGS_MS + 30_000) return;
  stop.abort(
    new Error(
      "Ended, since nothing was heard of it for so long: a test hangs, or its process does not end.",
    ),
  );
}
