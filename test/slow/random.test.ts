// What npm test tries at random a few times, many times.
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../support/run.ts";

const LIMIT_MS = 600_000 + 10_000 * (Number(process.env.ZZ_RUNS) || 0);

const ROWS: [file: string, tests: string, variable: string, runs: number][] = [
  ["search/search", "^grep: (at random|whatever)", "ZZ_RUNS", 1_000],
  ["shell/effects-property", "random commands", "ZZ_RUNS", Number(process.env.ZZ_RUNS) || 50],
  ["edit-file/cascade", "^(any edit|an exact edit|the same edit) ", "ZZ_RUNS", 3_000],
  ["apply-patch/patch", "", "ZZ_RUNS", 2_000],
  ["shell/judge", "^where a line is allowed", "ZZ_RUNS", 3_000],
  ["window/window", "turns with edits", "ZZ_RUNS", 50],
  ["symbols/indexing", " edits, one after the other", "ZZ_EDITS", 200],
];
for (const [file, tests, variable, runs] of ROWS)
  test(`${file}: ${tests}, ${runs} times`, { timeout: LIMIT_MS }, async () => {
    const { NODE_TEST_CONTEXT, ...env } = process.env;
    const args = [`--test-timeout=${LIMIT_MS}`, `--test-name-pattern=${tests}`, `test/plugins/${file}.test.ts`];
    const how = { cwd: ROOT, env: { ...env, [variable]: String(runs) } };
    await promisify(execFile)(process.execPath, args, how).catch(({ stdout }) => {
      throw new Error(stdout);
    });
  });
