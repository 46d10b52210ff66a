// `npm run fuzz`: the tests that try things at random, again and again, each time from another
// seed, until Ctrl+C. When one fails, its file and seed are printed, which give the same failure
// again. A case that this finds becomes a row of a table.
//
//   npm run fuzz                      every file that tries things at random
//   npm run fuzz -- FILE...           only these
//   npm run fuzz -- --rounds N        ends after so many rounds
//   ZZ_RUNS=5000 npm run fuzz         how many cases a property has; 1,000 without it
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { testFiles } from "./suites.ts";

const ROOT = join(import.meta.dirname, "..", "..");
/** What makes a file random, itself or by what of test/support it imports. */
const SOURCES =
  /from "\S*support\/(property|undo-model|fuzz-judge|text-calls)\.ts"|\bSEED\b[^;]* from "\S*runs\.ts"/;

const rounds = { type: "string", default: "Infinity" } as const;
const { values: flags, positionals: named } = parseArgs({
  options: { rounds },
  allowPositionals: true,
});
const files = named.length
  ? named
  : testFiles(true).filter((file) => SOURCES.test(readFileSync(join(ROOT, file), "utf8")));
for (let round = 0; round < Number(flags.rounds); round++)
  for (const file of files) await run(file);

async function run(file: string): Promise<void> {
  const seed = String(Math.floor(Math.random() * 2 ** 31));
  const { ZZ_RUNS = "1000" } = process.env;
  const child = spawn(process.execPath, ["--test-reporter=dot", "--test-timeout=86400000", file], {
    cwd: ROOT,
    env: { ...process.env, ZZ_SEED: seed, ZZ_RUNS },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text) => (said += text));
  const code = await new Promise((done) => child.on("close", done));
  const command = `ZZ_SEED=${seed} ZZ_RUNS=${ZZ_RUNS} node ${file}`;
  console.log(code === 0 ? `passed  ${command}` : `FAILED  ${command}\n${said}`);
  if (code !== 0) process.exitCode = 1;
}
