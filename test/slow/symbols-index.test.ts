// How long the index of a project's symbols takes, cold, warm and after one edit, against Universal Ctags and ripgrep over
// the same files, taken alternately; and a repository of thirty thousand files. What it costs in memory: symbols-memory.test.ts.
import { equal, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { filesOf, LARGE, projectOf, SMALL } from "../support/corpus.ts";
import { median, slowness } from "../support/machine.ts";
import { needs } from "../support/needs.ts";
import "../support/ripgrep.ts";
import { WAYS } from "../support/run.ts";

const SHORT = Boolean(process.env.ZZ_SHORT);
const RUNS = SHORT ? 1 : 11;

const base = fs.mkdtempSync(join(tmpdir(), "zz-symbols-"));
const home = join(base, "home");
after(() => fs.rmSync(base, { recursive: true, force: true }));

const project = (names: string[]): string => projectOf(names, base);

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
