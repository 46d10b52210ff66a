// What commands on a copy of the project cost, in time or, beside other work, in CPU time. Random commands: test/slow/random.test.ts; kill -9: test/slow/kill.test.ts.
import { ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { harness } from "../../sdk/testing.ts";
import { cpuOfChildren, median, slowness } from "../support/machine.ts";
import { viewTest } from "../support/view.ts";

const SHORT = Boolean(process.env.ZZ_SHORT);
const FOLDERS = SHORT ? 40 : 500; // with a hundred files each
const MANY = SHORT ? 100 : 1_000; // the same
const cpu = (): number => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (userCPUTime + systemCPUTime) / 1_000;
};

viewTest(
  `${FOLDERS * 100} ignored files are put in place in under ${FOLDERS / 100} s on a quiet machine, and undone`,
  { timeout: 600_000 },
  async (t) => {
    let asked = { at: 0, cpu: 0 };
    const answer = async (_: string, keys?: string) => {
      if (keys) asked = { at: performance.now(), cpu: cpu() };
      return keys ? "y" : "";
    };
    const zz = await harness({ own: true, answer }, t);
    execFileSync("git", ["init", "-q", zz.root]);
    zz.write(".gitignore", "node_modules/\n");
    const make = (text: string) =>
      `node -e 'for (let d = 0; d < ${FOLDERS}; d++) { fs.mkdirSync("node_modules/p" + d, { recursive: true }); for (let i = 0; i < 100; i++) fs.writeFileSync("node_modules/p" + d + "/" + i, "${text} " + i); }'`;
    for (const [what, command] of [
      ["made", make("one")],
      ["edited", make("other")],
      ["removed", "sh -c 'rm -rf node_modules'"],
    ] as const) {
      const { text, failed } = await zz.call("run_command", { command });
      const took = { ms: performance.now() - asked.at, cpu: cpu() - asked.cpu };
      ok(!failed, text);
      t.diagnostic(`${what}: ${Math.round(took.ms)} ms, ${Math.round(took.cpu)} ms of them CPU`);
      ok(Math.min(took.ms, took.cpu) < FOLDERS * 10 * slowness(), `${what} in ${Math.round(took.ms)} ms`);
    }
    await zz.command("/undo 2");
    ok(fs.readFileSync(join(zz.root, "node_modules/p7/7"), "utf8") === "one 7", "undone");
    fs.rmSync(zz.root, { recursive: true, force: true });
  },
);

viewTest("a command on a copy takes at most 100 ms more than in today's sandbox", { timeout: 300_000 }, async (t) => {
  const zz = await harness({ own: true, answer: async (_, keys) => (keys ? "y" : "") }, t);
  execFileSync("git", ["init", "-q", zz.root]);
  fs.mkdirSync(join(zz.root, "src"));
  const took = { copy: [] as number[], direct: [] as number[] };
  const used = { copy: 0, direct: 0 };
  for (let i = 0; i < 12; i++)
    for (const [how, more] of [
      ["copy", {}],
      ["direct", { direct: true }],
    ] as const) {
      const [began, before] = [performance.now(), cpu() + cpuOfChildren()];
      const { failed, text } = await zz.call("run_command", { command: `sh -c 'echo ${i} > src/${how}'`, ...more });
      ok(!failed, text);
      if (i < 2) continue;
      took[how].push(performance.now() - began);
      used[how] += (cpu() + cpuOfChildren() - before) / 10;
    }
  const [copy, direct] = [median(took.copy), median(took.direct)];
  t.diagnostic(`on a copy ${Math.round(copy)} ms, in the sandbox alone ${Math.round(direct)} ms`);
  t.diagnostic(`on a copy ${Math.round(used.copy)} ms of CPU, in the sandbox alone ${Math.round(used.direct)} ms`);
  const more = Math.min(copy - direct, used.copy - used.direct); // beside other work only the CPU's time means anything
  ok(more <= 100 * slowness(), `${Math.round(more)} ms more`);
});

viewTest(`a project of ${MANY * 100} files costs no more than one of 100`, { timeout: 600_000 }, async (t) => {
  const zzs = await Promise.all(
    [1, MANY].map(() => harness({ own: true, answer: async (_, keys) => (keys ? "y" : "") }, t)),
  );
  for (const [i, zz] of zzs.entries()) {
    execFileSync("git", ["init", "-q", zz.root]);
    for (let d = 0; d < (i ? MANY : 1); d++) {
      fs.mkdirSync(join(zz.root, `d${d}`));
      for (let f = 0; f < 100; f++) fs.writeFileSync(join(zz.root, `d${d}/${f}`), "");
    }
  }
  const took: [number[], number[]] = [[], []];
  const used: [number, number] = [0, 0];
  for (let round = 0; round < 10; round++)
    for (const i of [0, 1] as const) {
      const [began, before] = [performance.now(), cpu() + cpuOfChildren()];
      const { failed, text } = await zzs[i]!.call("run_command", { command: `sh -c 'echo ${round} > d0/7'` });
      ok(!failed, text);
      if (round < 3) continue; // the first ones look for secret files, as ever
      took[i].push(performance.now() - began);
      used[i] += (cpu() + cpuOfChildren() - before) / 7;
    }
  const [few, many] = took.map(median) as [number, number];
  t.diagnostic(`100 files ${Math.round(few)} ms, ${MANY * 100} files ${Math.round(many)} ms`);
  t.diagnostic(`100 files ${Math.round(used[0])} ms of CPU, ${MANY * 100} files ${Math.round(used[1])} ms`);
  ok(Math.min(many - few, used[1] - used[0]) < 50 * slowness(), `${Math.round(many)} ms against ${Math.round(few)} ms`);
  fs.rmSync(zzs[1]!.root, { recursive: true, force: true });
});
