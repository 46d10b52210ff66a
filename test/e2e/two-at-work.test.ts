// Two zz, each a process of its own, whose commands are at work on one project at the same moment: each on a view of its own, and the
// second is held against what the first left.
import { deepEqual, equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { harness } from "../../sdk/testing.ts";
import { place, zz } from "../support/run.ts";
import { viewTest } from "../support/view.ts";

let naps = 0;
/** How long the first of them sleeps, so that it is found among all processes, and woken. */
const newNap = (): string => `${61_000 + ++naps}.${process.pid}`;

const sleeping = (nap: string): number[] =>
  fs.readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      return fs.readFileSync(`/proc/${name}/cmdline`, "utf8") === `sleep\0${nap}\0` ? [Number(name)] : [];
    } catch {
      return []; // it has ended
    }
  });

async function asleep(nap: string): Promise<void> {
  while (!sleeping(nap).length) await sleep(50);
}
const wake = (nap: string): void => {
  for (const pid of sleeping(nap)) process.kill(pid);
};
const line = (script: string) => JSON.stringify({ command: `sh -c '${script}'` });

viewTest("two zz at work on one project: what both changed is the first one's, the rest is kept", async (t) => {
  const where = place();
  const file = (name: string) => join(where.cwd, name);
  for (const name of ["both", "a", "b"]) fs.writeFileSync(file(name), "old\n");
  execFileSync("git", ["init", "-q", where.cwd]);
  const call = (script: string) => zz(where, ["--allow-write", "--call", "run_command", line(script)]);

  for (const [late, kept] of [
    ["both", false],
    ["b", true],
  ] as const) {
    const nap = newNap();
    t.after(() => wake(nap));
    const second = call(`sleep ${nap}; echo second > ${late}; cat a`);
    await asleep(nap);
    const first = await call("echo first > both; echo first > a");
    equal(first.code, 0, first.stderr);
    match(first.stdout, /changed: a, both \(kept\)|changed: both, a \(kept\)/);
    wake(nap);
    const { code, stdout, stderr } = await second;
    if (kept) match(stdout, /changed: b \(kept\)/);
    else
      match(stdout + stderr, /'both' changed in the project while it ran, so nothing of it was kept\. Run it again\./);
    equal(code, kept ? 0 : 1, stderr);
    const now = ["both", "a", "b"].map((name) => fs.readFileSync(file(name), "utf8"));
    deepEqual(now, ["first\n", "first\n", kept ? "second\n" : "old\n"]);
    for (const name of ["both", "a"]) fs.writeFileSync(file(name), "old\n");
  }
});

viewTest("the person sees what would take the place of the other zz's work, and undo gives that back", async (t) => {
  const answers: string[] = [];
  const one = await harness({ own: true, files: { both: "old\n" }, answer: async () => answers.shift() ?? "y" }, t);
  execFileSync("git", ["init", "-q", one.root]);
  const nap = newNap();
  t.after(() => wake(nap));
  const second = one.call("run_command", { command: `sh -c 'sleep ${nap}; echo second > both'` });
  await asleep(nap);
  const other = { ...place(), cwd: one.root };
  const first = await zz(other, ["--allow-write", "--call", "run_command", line("echo first > both")]);
  equal(first.code, 0, first.stderr);
  answers.push("y");
  wake(nap);
  match((await second).text, /changed: both \(kept\)/);
  match(one.questions[0]!, /Mind 'both': changed in the project while it ran\. Yes puts this in place of that:/);
  match(one.questions[0]!, /- first[\s\S]*\+ second/);
  equal(one.read("both"), "second\n");
  await one.command("/undo");
  equal(one.read("both"), "first\n");
});
