// `npm run bench`: runs the slow suites. First those that count, or measure CPU time, in parallel;
// then those that measure time, one at a time.
// ZZ_SHORT makes all of them shorter, and leaves out what `npm test` has run. Runs only the files given as arguments, if any.
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import report from "./reporter.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const AT_ONCE = 2;
const LIMIT_MS = Number(process.env.ZZ_LIMIT_MS ?? 600_000);
/** In their short form they are what `npm test` runs. */
const ALREADY_RUN = /^(kill|random)\.test\.ts$/;
const COUNTING =
  /^(aimock|asks|effects|judge|kill|linear-time|locks|random|smuggling|streams|symbols-corpora|symbols-map|symbols-memory|symbols-oracle|text-calls|undo|web)\.test\.ts$/;

const named = process.argv.slice(2);
const isDue = (file: string): boolean => !(process.env.ZZ_SHORT && ALREADY_RUN.test(basename(file)));
const files = named.length ? named : globSync("test/slow/*.test.ts", { cwd: ROOT }).filter(isDue).sort();
const isCounting = (file: string): boolean => COUNTING.test(basename(file));
const parts = [
  { files: files.filter(isCounting), concurrency: AT_ONCE },
  { files: files.filter((file) => !isCounting(file)), concurrency: 1 },
].filter(({ files }) => files.length);

/** The events of both runs, for one report whose totals cover all suites. */
async function* events(): AsyncGenerator<TestEvent> {
  const sums = new Map<string, number>();
  for (const [at, part] of parts.entries())
    for await (const event of run({ cwd: ROOT, timeout: LIMIT_MS, ...part }) as AsyncIterable<TestEvent>) {
      if (event.type === "test:fail") process.exitCode = 1;
      const isFigure = event.type === "test:diagnostic" && event.data.nesting === 0;
      const [, name, figure] = (isFigure && /^(\w+) ([\d.]+)$/.exec(event.data.message)) || [];
      if (name === undefined) yield event;
      else sums.set(name, (sums.get(name) ?? 0) + Number(figure));
      if (name !== undefined && isFigure && at === parts.length - 1)
        yield { ...event, data: { ...event.data, message: `${name} ${sums.get(name)}` } };
    }
}

Readable.from(report(events())).pipe(process.stdout);
