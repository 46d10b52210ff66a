// `npm test`: all test files but the slow ones, side by side. What they start, and they themselves, share one cache of compiled
// code: without it a quarter of the time goes into stripping types. Files named as arguments are run alone.
import { globSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import report from "./reporter.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const AT_ONCE = 3; // on two cores: some tests wait more than they work
const LIMIT_MS = 60_000;

process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), "zz-test-cache");
const all = () => globSync("test/{kernel,sdk,plugins,security,e2e}/**/*.test.ts", { cwd: ROOT }).sort();
const files = process.argv.length > 2 ? process.argv.slice(2) : all().map((file) => join(ROOT, file));
const events = run({ files, concurrency: AT_ONCE, timeout: LIMIT_MS });
events.on("test:fail", () => {
  process.exitCode = 1;
});
Readable.from(report(events)).pipe(process.stdout);
