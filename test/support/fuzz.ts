// `npm run fuzz`: the tests that try things at random, again and again, each time from another seed, until Ctrl+C. When one fails, its file
// and seed are printed, which give the same failure again. A case that this finds becomes a row of a table.
//
//   npm run fuzz                      every file that tries things at random
//   npm run fuzz -- FILE...           only these
//   npm run fuzz -- --rounds N        ends after so many rounds
//   ZZ_RUNS=5000 npm run fuzz         how many cases a property has; 1,000 without it
import { spawn } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";

const ROOT = join(import.meta.dirname, "..", "..");
/** Where randomness comes from: a file is random if it imports one of these, or if something that it imports does. */
const SOURCES = /from "\S*support\/property\.ts"|from "\.\/property\.ts"|\bSEED\b[^;]* from "\S*runs\.ts"/;

const { values: flags, positionals: named } = parseArgs({
  options: { rounds: { type: "string", default: "Infinity" } },
  allowPositionals: true,
});
const files = named.length
  ? named
  : globSync("test/**/*.test.ts", { cwd: ROOT })
      .sort()
      .filter((file) => isRandom(file));
for (let round = 0; round < Number(flags.rounds); round++) for (const file of files) await run(file);

function isRandom(file: string, seen = new Set<string>()): boolean {
  const path = resolve(ROOT, file);
  if (seen.has(path)) return false;
  seen.add(path);
  const text = readFileSync(path, "utf8");
  if (SOURCES.test(text)) return true;
  const imports = Array.from(text.matchAll(/from "(\.\S*\.ts)"/g), ([, name]) => join(dirname(path), name!));
  const own = imports.filter((path) => relative(ROOT, path).startsWith("test") && existsSync(path)); // some stand in texts
  return own.some((path) => isRandom(path, seen));
}

async function run(file: string): Promise<void> {
  const seed = String(Math.floor(Math.random() * 2 ** 31));
  const { ZZ_RUNS = "1000" } = process.env;
  const child = spawn(process.execPath, ["--test-reporter=dot", "--test-timeout=86400000", file], {
    cwd: ROOT,
    env: { ...process.env, ZZ_SEED: seed, ZZ_RUNS },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
  const code = await new Promise((done) => child.on("close", done));
  const command = `ZZ_SEED=${seed} ZZ_RUNS=${ZZ_RUNS} node ${file}`;
  console.log(code === 0 ? `passed  ${command}` : `FAILED  ${command}\n${said}`);
  if (code !== 0) process.exitCode = 1;
}
