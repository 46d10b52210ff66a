// `npm test`: runs all test files but the slow ones, in parallel. They and what they start share a cache of compiled
// code: stripping types would take a quarter of the time. Runs only the files given, if any.
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import { pathToFileURL } from "node:url";
import report from "./reporter.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const AT_ONCE = 4; // on two cores: many tests wait more than they work
const LIMIT_MS = 60_000;
/**
 * A small young generation, since starting a program copies the page tables of the process that starts it. Grammars are
 * compiled once, quickly: compiling them again, for speed, takes seconds and leaves 45 MB behind.
 */
const LEAN = ["--max-semi-space-size=4", "--liftoff-only", "--no-wasm-dynamic-tiering", "--no-wasm-tier-up"];
/** Loading zz takes half a second of each process: short files share one. */
const IN_ONE_PROCESS = 6;
const UNHOOKED = ["--import", new URL("unhooked.ts", import.meta.url).href];
/** The longest files are started first: if they began last, they would run alone at the end. */
const FIRST =
  `security/git-hostile plugins/install/install plugins/writing/writing plugins/search/search plugins/shell/effects e2e/symbols plugins/git/git
  security/canary security/planted-files e2e/readme kernel/plugin-lifecycle plugins/shell/sandbox plugins/shell/exec security/compiler-reads
  security/hangs security/permissions e2e/packages plugins/symbols/indexing security/plugins-and-servers plugins/read-tools kernel/undo
  e2e/one-shot plugins/shell/ways plugins/window/window`.split(/\s+/);

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "zz-test-cache");
const named = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "zz-tests-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const long = FIRST.map((name) => join(ROOT, "test", `${name}.test.ts`));
const all = globSync("test/{kernel,sdk,plugins,security,e2e}/**/*.test.ts", { cwd: ROOT }).sort();
const short = all.map((file) => join(ROOT, file)).filter((file) => !long.includes(file));
const files = named.length ? named : [...long, ...together(short)];
const events = run({ files, concurrency: AT_ONCE, timeout: LIMIT_MS, execArgv: [...LEAN, ...UNHOOKED] });
events.on("test:fail", () => {
  process.exitCode = 1;
});
Readable.from(report(events)).pipe(process.stdout);

/** Modules that each import a few of the files. */
function together(files: string[]): string[] {
  return Array.from({ length: Math.ceil(files.length / IN_ONE_PROCESS) }, (_, i) => {
    const some = files.slice(i * IN_ONE_PROCESS, (i + 1) * IN_ONE_PROCESS);
    const module = join(folder, `${i}.test.mjs`);
    writeFileSync(module, some.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`).join(""));
    return module;
  });
}
