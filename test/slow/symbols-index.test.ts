// How long the index of a project's symbols takes, cold, warm and after one edit, against Universal Ctags and ripgrep over
// the same files, taken alternately; what it costs in memory; and repositories of thirty thousand and a million files.
import { equal, match, ok } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { corpus } from "../support/corpus.ts";
import { median, slowness } from "../support/machine.ts";
import { needs } from "../support/needs.ts";
import "../support/ripgrep.ts";
import { WAYS } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const SHORT = Boolean(process.env.ZZ_SHORT);
const RUNS = SHORT ? 3 : 11;
const MANY = SHORT ? 2_000 : 10_000;
const SMALL = ["effect@4.1.0", "rxjs@7.8.2", "zod@4.6.7", "openai@7.55.0"]; // 1,664 files
const LARGE = [...SMALL, "viem@2.57.20"]; // 3,158

const base = fs.mkdtempSync(join(tmpdir(), "zz-symbols-"));
const home = join(base, "home");
after(() => fs.rmSync(base, { recursive: true, force: true }));

/** A project of these packages' TypeScript, in git, as projects are. */
function project(names: string[]): string {
  const root = join(base, `project${names.length}`);
  if (fs.existsSync(root)) return root;
  fs.cpSync(corpus(names), root, { recursive: true });
  execFileSync("git", ["init", "-q"], { cwd: root });
  execFileSync("git", ["add", "-A"], { cwd: root });
  return root;
}
const filesOf = (root: string): string[] =>
  execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n");

function time(command: string, args: string[], cwd: string): number {
  const started = performance.now();
  const { status, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...process.env, ZZ_HOME: home },
    encoding: "utf8",
  });
  equal(status, 0, stderr);
  return performance.now() - started;
}
const [node, zz] = WAYS.dist;
const ask = (root: string): number => time(node, [zz, "--call", "find_definition", '{"symbol":"switchMap"}'], root);
const forget = (): void => fs.rmSync(join(home, "index"), { recursive: true, force: true });
const ms = (all: number[]): string =>
  `${median(all).toFixed(0)} ms (${Math.min(...all).toFixed(0)}–${Math.max(...all).toFixed(0)})`;

for (const names of SHORT ? [SMALL] : [SMALL, LARGE])
  needs("ctags", "git")(`the index of ${names.join(" ")} against ctags`, (t) => {
    const root = project(names);
    const files = filesOf(root);
    const list = join(base, "files.txt");
    fs.writeFileSync(list, files.join("\n"));
    const edited = join(root, files.find((file) => file.endsWith("switchMap.ts"))!);
    const text = fs.readFileSync(edited, "utf8");
    const [ctags, rg, cold, warm, one]: number[][] = [[], [], [], [], []];
    forget();
    ask(root); // the compile cache is of every later run
    for (let run = 0; run < RUNS; run++) {
      ctags!.push(time("ctags", ["-L", list, "-f", join(base, "tags")], root));
      rg!.push(time("rg", ["-n", "-w", "--no-config", "switchMap", "."], root));
      forget();
      cold!.push(ask(root));
      fs.writeFileSync(edited, `${text}// ${run}\n`);
      one!.push(ask(root));
      ask(root); // what was saved a moment ago is looked at twice
      warm!.push(ask(root));
    }
    t.diagnostic(
      `${files.length} files, ${RUNS} runs: ctags ${ms(ctags!)}; ripgrep ${ms(rg!)}; cold ${ms(cold!)}; warm ${ms(warm!)}; one file changed ${ms(one!)}`,
    );
    const ratio = (all: number[], to: number[]): number => median(all.map((time, at) => time / to[at]!));
    t.diagnostic(
      `cold ${ratio(cold!, ctags!).toFixed(2)} × ctags, warm ${ratio(warm!, ctags!).toFixed(2)} × ctags, ${ratio(warm!, rg!).toFixed(1)} × ripgrep, one file changed ${ratio(one!, warm!).toFixed(2)} × warm`,
    );
    ok(ratio(cold!, ctags!) <= 3, "cold");
    ok(ratio(warm!, ctags!) <= 0.4, "warm");
  });

const statusOf = `process.stderr.write("peak " + process.resourceUsage().maxRSS + "\\n")`;
for (const [tool, args, most] of [
  ["find_definition", { symbol: "switchMap" }, 150],
  ["find_symbols", { query: "switchMap" }, 150],
  ["repo_map", { query: "switch to the latest observable", tokens: 1000 }, 190], // 150 is what it should take
  ["get_dependencies", {}, 150],
] as const)
  test(`${tool} in a project of 1,600 files: at most ${most} MB`, (t) => {
    const root = project(SMALL);
    ask(root);
    const hook = join(base, "peak.cjs");
    fs.writeFileSync(hook, `process.on("exit", () => ${statusOf});`);
    const env = { ...process.env, ZZ_HOME: home, NODE_OPTIONS: `--require=${hook}` };
    const how = { cwd: root, env, encoding: "utf8" as const };
    const { stderr, status } = spawnSync(node, [zz, "--call", tool, JSON.stringify(args)], how);
    equal(status, 0, stderr);
    const peak = Math.max(...Array.from(stderr.matchAll(/^peak (\d+)$/gm), ([, kB]) => Number(kB) / 1_000));
    t.diagnostic(`${peak.toFixed(0)} MB`);
    ok(peak > 50 && peak <= most, `${peak} MB`);
  });

test("thirty thousand files: an index in a minute, a question in half a second on a quiet machine", (t) => {
  const root = join(base, "thirty");
  const from = project(SMALL);
  const files = filesOf(from).filter((file) => fs.statSync(join(from, file)).size < 6_000);
  const count = SHORT ? 3_000 : 30_000;
  for (let i = 0; i < count; i++) {
    const to = join(root, `copy${Math.floor(i / files.length)}`, files[i % files.length]!);
    fs.mkdirSync(join(to, ".."), { recursive: true });
    fs.copyFileSync(join(from, files[i % files.length]!), to);
  }
  fs.writeFileSync(join(root, "one.ts"), "export const theOnlyOne = 1;\n");
  const where = join(base, "thirtyhome");
  fs.mkdirSync(where);
  fs.writeFileSync(join(where, "zz.config.json"), '{ "symbols": { "most": 50000 } }');
  const question = (): number => {
    const how = { cwd: root, env: { ...process.env, ZZ_HOME: where }, encoding: "utf8" as const };
    const started = performance.now();
    const { stdout, stderr } = spawnSync(node, [zz, "--call", "find_definition", '{"symbol":"theOnlyOne"}'], how);
    equal(stdout, "one.ts:1: export const theOnlyOne = 1\n", stderr);
    return performance.now() - started;
  };
  const slow = slowness();
  const cold = question();
  const warm = Array.from({ length: 5 }, question);
  t.diagnostic(
    `${count} files, on a machine ${slow.toFixed(1)} times as slow as a quiet one: ${(cold / 1_000).toFixed(1)} s; ${ms(warm)}`,
  );
  ok(cold < 60_000 * slow, "cold");
  ok(median(warm) < 500 * slow, "warm");
});

test(`${MANY} files: less than 500 MB while they are indexed, less than 100 MB held afterwards`, async (t) => {
  const root = join(base, "many");
  const source = project(SHORT ? SMALL : LARGE);
  const files = filesOf(source);
  for (let i = 0; i < MANY; i++) {
    const to = join(root, `copy${Math.floor(i / files.length)}`, files[i % files.length]!);
    fs.mkdirSync(join(to, ".."), { recursive: true });
    fs.copyFileSync(join(source, files[i % files.length]!), to);
  }
  const where = { home: join(base, "memory"), cwd: root, sessions: () => [] };
  const view = terminal(where, ["-m", "offline/router"], { cols: 120 });
  await view.sees("›");
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, memoryOf(view.pty.pid))), 50);
  view.type("where is defined `switchMap`?\r");
  const until = performance.now() + 120_000;
  while (!/ s · (.* · )?1 call/.test(view.screen()) && performance.now() < until) await sleep(100);
  clearInterval(watch);
  await sleep(16_000); // V8 keeps what it freed for eight seconds
  const held = memoryOf(view.pty.pid);
  t.diagnostic(`${peak.toFixed(0)} MB at most, all processes together; ${held.toFixed(0)} MB held 16 s later`);
  match(view.screen(), /switchMap\.ts:\d+: export function switchMap/);
  view.type(KEY.ctrlD);
  equal(await view.exited, 0);
  ok(peak > 60 && peak < 500, `${peak} MB`);
  ok(held < 100, `${held} MB`);
});

/** Resident, of a process and its children, in MB. */
function memoryOf(pid: number): number {
  try {
    const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
    const own = /^VmRSS:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0;
    return Number(own) / 1_000 + children.reduce((sum, child) => sum + memoryOf(Number(child)), 0);
  } catch {
    return 0; // it has ended
  }
}

test("a repository of very many empty files: an answer, and a sentence", (t) => {
  const root = join(base, "empty");
  const count = SHORT ? 30_000 : 1_000_000;
  const folders = count / 1_000;
  for (let i = 0; i < folders; i++) {
    fs.mkdirSync(join(root, `d${i}`), { recursive: true });
    for (let j = 0; j < 1_000; j++) fs.closeSync(fs.openSync(join(root, `d${i}/f${j}.${j % 2 ? "ts" : "txt"}`), "w"));
  }
  fs.writeFileSync(join(root, "a.ts"), "export const first = 1;\n");
  const started = performance.now();
  const how = { cwd: root, env: { ...process.env, ZZ_HOME: join(base, "emptyhome") }, encoding: "utf8" as const };
  const { stdout, stderr, status } = spawnSync(node, [zz, "--call", "find_definition", '{"symbol":"first"}'], how);
  t.diagnostic(`${count} files: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  equal(status, 0, stderr);
  match(stdout, /^a\.ts:1: export const first = 1\n\[Of \d+ code files only the first 10000 are indexed/);
  match(stderr, new RegExp(`^This project has ${count / 2 + 1} code files; the first 10000 are indexed\\.`));
});
