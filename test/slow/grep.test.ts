// How long grep takes over 10,000 files, against ripgrep by itself, taken alternately: the machine's noise falls on both.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { grepper } from "../support/grep.ts";
import { median, slowness, undisturbed } from "../support/machine.ts";
import { ROOT } from "../support/run.ts";

const IS_SHORT = Boolean(process.env.ZZ_SHORT);
const RUNS = IS_SHORT ? 7 : 21; // the median counts
const FILES = 10_000;
const WORDS =
  "const let function return import export from the value list file path error result await async string number".split(
    " ",
  );

const base = mkdtempSync(join(tmpdir(), "zz-grep-"));
after(() => rmSync(base, { recursive: true, force: true }));
const plain = join(base, "plain");
const gitted = join(base, "git");

before(() => {
  generate(plain);
  cpSync(plain, gitted, { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd: gitted });
  execFileSync("git", ["add", "-A"], { cwd: gitted });
});

/** 4 KB a file on average, in 600 folders up to seven deep; one file in 200 holds what is looked for. */
function generate(root: string): void {
  let seed = 42;
  const random = (below: number): number => {
    seed = (seed * 1_664_525 + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const word = () => WORDS[random(WORDS.length)]!;
  const folders = ["."];
  for (let i = 0; i < 600; i++) {
    const above = folders[random(folders.length)]!;
    if (above.split("/").length < 8) folders.push(`${above}/${word()}${i}`);
  }
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  for (let i = 0; i < FILES; i++) {
    const size = Math.min(40_000, -Math.log(1 - random(1_000) / 1_000) * 4_096);
    let text = random(200) ? "" : "here is the needle_in_it\n";
    while (text.length < size) text += `${"  ".repeat(random(4))}${Array.from({ length: 6 }, word).join(" ")};\n`;
    writeFileSync(join(root, folders[random(folders.length)]!, `${word()}${i}.ts`), text);
  }
}

/** With nothing but zz itself, in a process of its own. */
function alone(root: string, args: object, runs: number): { times: number[]; text: string } {
  const words = [root, join(base, "home"), "", JSON.stringify(args), String(runs)];
  const program = join(ROOT, "test", "support", "grep.ts");
  return JSON.parse(execFileSync(process.execPath, [program, ...words], { encoding: "utf8" }));
}

function timed(command: string, args: string[], cwd: string, env = process.env): Promise<number> {
  const started = performance.now();
  const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "ignore"] });
  child.stdout.resume();
  return new Promise((resolve) => child.on("close", () => resolve(performance.now() - started)));
}

/** Of git and of a second ripgrep, on a quiet machine: where starting a program takes longer, ripgrep alone has less of it. */
const STARTS_MS = 20;
const QUERIES: [what: string, args: object, rg: string[]][] = [
  ["a text", { query: "needle_in" }, ["-nF", "needle_in"]],
  ["a regex", { query: "needle_\\w+\\s*$", regex: true }, ["-n", "needle_\\w+\\s*$"]],
  ["a text in any case", { query: "NEEDLE_in", ignore_case: true }, ["-niF", "NEEDLE_in"]],
];

for (const [where, what] of [
  [gitted, "in a repository"],
  [plain, "without git"],
] as const)
  for (const [about, args, rg] of IS_SHORT ? QUERIES.slice(0, where === gitted ? 2 : 1) : QUERIES)
    test(`grep of ${about} over 10,000 files ${what}: at most 2 times ripgrep, under 1.5 s without`, async (t) => {
      const having = await grepper(where, join(base, "home"), "rg");
      const [ours, theirs]: [number[], number[]] = [[], []];
      let said = "";
      for (let i = 0; i < RUNS; i++) {
        theirs.push(await timed("rg", [...rg, "./"], where));
        const { ms, text } = await having(args);
        ours.push(ms);
        said = text;
      }
      const { times, text } = alone(where, args, Math.ceil(RUNS / 3));
      deepEqual(said, text);
      ok(text.split("\n").length > 20, text);
      const ratio = undisturbed(ours) / undisturbed(theirs);
      t.diagnostic(
        `with ripgrep ${median(ours).toFixed(0)} ms, without ${median(times).toFixed(0)} ms, ripgrep itself ${median(theirs).toFixed(0)} ms: ${ratio.toFixed(2)} times`,
      );
      ok(undisturbed(ours) <= 2 * undisturbed(theirs) + STARTS_MS * (slowness() - 1), `${ratio}`);
      ok(median(times) < 1_500 * slowness(), `${median(times)}`);
    });

test("grep of what is in every file", async (t) => {
  const having = await grepper(gitted, join(base, "home"), "rg");
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let i = 0; i < (IS_SHORT ? 3 : 7); i++) {
    theirs.push(await timed("rg", ["-nF", "value", "./"], gitted));
    ours.push((await having({ query: "value" })).ms);
  }
  t.diagnostic(`${median(ours).toFixed(0)} ms, ripgrep itself ${median(theirs).toFixed(0)} ms`);
  ok(median(ours) < 1_500 * slowness(), `${median(ours)}`);
});

test("The whole of `zz --call grep`, without ripgrep, takes under 1.5 s", async (t) => {
  const bin = join(base, "bin"); // a PATH with git and nothing else
  mkdirSync(bin);
  symlinkSync(execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim(), join(bin, "git"));
  const run = (PATH = process.env.PATH) =>
    timed(process.execPath, [join(ROOT, "dist", "zz.js"), "--call", "grep", '{"query":"needle_in"}'], gitted, {
      ...process.env,
      PATH,
      ZZ_HOME: join(base, "home"),
    });
  const [having, lacking, theirs]: [number[], number[], number[]] = [[], [], []];
  for (let i = 0; i < (IS_SHORT ? 3 : RUNS); i++) {
    having.push(await run());
    lacking.push(await run(bin));
    theirs.push(await timed("rg", ["-nF", "needle_in", "./"], gitted));
  }
  t.diagnostic(
    `whole process: with ripgrep ${median(having).toFixed(0)} ms, without ${median(lacking).toFixed(0)} ms, ripgrep itself ${median(theirs.length ? theirs : [0]).toFixed(0)} ms`,
  );
  ok(median(lacking) < 1_500 * slowness(), `${median(lacking)}`);
});
