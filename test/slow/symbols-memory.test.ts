// What the index of a project's symbols takes in memory, and a repository of a million files. No time is looked at.
import { equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { filesOf, LARGE, projectOf, SMALL } from "../support/corpus.ts";
import { runs } from "../support/machine.ts";
import { WAYS } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const SHORT = Boolean(process.env.ZZ_SHORT);
const HELD = 100; // MB
const MANY = SHORT ? 2_000 : 10_000;
const [node, zz] = WAYS.dist;

const base = fs.mkdtempSync(join(tmpdir(), "zz-symbols-memory-"));
const home = join(base, "home");
after(() => fs.rmSync(base, { recursive: true, force: true }));
const project = (names: string[]): string => projectOf(names, base);

/** So that what is measured finds an index, and in it where imports lead. */
function warm(cwd: string): void {
  const env = { ...process.env, ZZ_HOME: home };
  spawnSync(node, [zz, "--call", "repo_map", '{"query":"switchMap"}'], { cwd, env });
}

for (const [tool, args, most] of [
  ["find_definition", { symbol: "switchMap" }, 150],
  ["find_symbols", { query: "switchMap" }, 150],
  ["repo_map", { query: "switch to the latest observable", tokens: 1000 }, 155],
  ["get_dependencies", {}, 150],
] as const)
  test(`${tool} in a project of 1,600 files: at most ${most} MB`, async (t) => {
    const root = project(SMALL);
    warm(root);
    const env = { ...process.env, ZZ_HOME: home };
    const { peak } = await runs(root, env, node, [zz, "--call", tool, JSON.stringify(args)]);
    t.diagnostic(`${peak.toFixed(0)} MB`);
    ok(peak > 50 && peak <= most, `${peak} MB`);
  });

test(`${MANY} files: less than 500 MB while they are indexed, less than ${HELD} MB held afterwards`, async (t) => {
  const root = join(base, "many");
  const source = project(SHORT ? SMALL : LARGE);
  const files = filesOf(source);
  for (let i = 0; i < MANY; i++) {
    const to = join(root, `copy${Math.floor(i / files.length)}`, files[i % files.length]!);
    fs.mkdirSync(join(to, ".."), { recursive: true });
    fs.copyFileSync(join(source, files[i % files.length]!), to);
  }
  const where = { home: join(base, "memory"), cwd: root, sessions: () => [] };
  const view = terminal(where, ["-m", "offline/router"], { cols: 120, process: true });
  await view.sees("›");
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, memoryOf(view.pty.pid))), 50);
  view.type("where is defined `switchMap`?\r");
  const until = performance.now() + 120_000;
  while (!/ s · (.* · )?1 call/.test(view.screen()) && performance.now() < until) await sleep(100);
  clearInterval(watch);
  const ended = performance.now();
  const since = () => (performance.now() - ended) / 1_000;
  let held = memoryOf(view.pty.pid);
  for (; held >= HELD && since() < 16; held = memoryOf(view.pty.pid)) await sleep(200); // V8 keeps what it freed for eight seconds
  t.diagnostic(
    `${peak.toFixed(0)} MB at most, all processes together; ${held.toFixed(0)} MB held ${since().toFixed(0)} s later`,
  );
  match(view.screen(), /switchMap\.ts:\d+: export function switchMap/);
  view.type(KEY.ctrlD);
  equal(await view.exited, 0);
  ok(peak > 60 && peak < 500, `${peak} MB`);
  ok(held < HELD, `${held} MB`);
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
