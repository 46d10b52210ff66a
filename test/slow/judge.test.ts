// Lines by bash's grammar, whatever it allows, judged; and what is allowed really run, in a jail that sees every program
// started and every file touched. The long form, once a release: FUZZ_LINES=1000000 node --test test/slow/judge.test.ts
import { deepEqual, equal, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Tally } from "../support/fuzz-judge.ts";
import { needs } from "../support/needs.ts";
import { ROOT } from "../support/run.ts";

const WORKERS = 2;
const { FUZZ_LINES, FUZZ_SEED, ZZ_SHORT } = process.env;
const LINES = Number(FUZZ_LINES ?? (ZZ_SHORT ? 5_000 : 40_000));
/** Another one each day, so that what no one has tried comes up some day; a failure names it. */
const SEED = Number(FUZZ_SEED ?? Math.floor(Date.now() / 86_400_000));

function worker(seed: number, lines: number): Promise<Tally> {
  const file = join(ROOT, "test/support/fuzz-judge.ts");
  const child = spawn(process.execPath, [file, `${seed}`, `${lines}`], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(JSON.parse(out)) : reject(new Error(`exit code ${code}`))));
  });
}

needs("bwrap", "gcc")(
  `of ${LINES} lines none that is allowed starts or touches anything else`,
  { timeout: 24 * 3_600_000 },
  async (t) => {
    const began = performance.now();
    const all = await Promise.all(
      Array.from({ length: WORKERS }, (_, i) => worker(SEED * WORKERS + i, Math.ceil(LINES / WORKERS))),
    );
    const sum = (of: (tally: Tally) => number) => all.reduce((total, tally) => total + of(tally), 0);
    const seconds = Math.round((performance.now() - began) / 1000);
    t.diagnostic(
      `seed ${SEED}: ${sum(({ lines }) => lines)} lines, ${sum(({ allowed }) => allowed)} allowed, ${seconds} s`,
    );
    deepEqual(
      all.flatMap(({ found }) => found),
      [],
      `seed ${SEED}`,
    );
    equal(
      sum(({ empty }) => empty),
      0,
      "every line needs something that a denial bites on",
    );
    ok(sum(({ allowed }) => allowed) > LINES / 10, "enough of them were run");
  },
);
