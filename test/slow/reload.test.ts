// Plugins under load: a thousand reloads leave nothing behind, a hundred plugins cost little.
import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { cpuOfChildren, nodeStart, slowness, undisturbed } from "../support/machine.ts";
import { repl } from "../support/repl.ts";
import { type How, place, WAYS, type Way, zzProcess } from "../support/run.ts";

const RELOADS = process.env.ZZ_SHORT ? 150 : 1_000;
const STARTS = 14;

const five = (name: string) => `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({
  name: "${name}", description: "The current time, ISO 8601.",
  run: () => new Date().toISOString(),
});
`;

test(`${RELOADS} reloads: registries, timers and memory are as before`, async (t) => {
  const where = place();
  mkdirSync(join(where.home, "plugins"), { recursive: true });
  const lamp = join(where.home, "plugins", "lamp.ts");
  writeFileSync(lamp, five("lamp"));
  // It looks at all there is from within, before and after.
  writeFileSync(
    join(where.home, "plugins", "probe.ts"),
    `import { readFileSync, writeFileSync } from "node:fs";
export default (zz) => zz.tool({ name: "probe", description: "d", timeout: 300_000, async run(_, ctx) {
  const look = async () => {
    for (let i = 0; i < 5; i++) { gc(); await new Promise((soon) => setTimeout(soon, 10)); }
    const { tools, commands, keys, plugins, flags } = ctx.about;
    return {
      counts: [tools, commands, keys, plugins, flags, await ctx.about.prompt()].map(({ length }) => length),
      names: tools.map(({ name }) => name),
      resources: process.getActiveResourcesInfo().filter((kind) => kind !== "Timeout").length,
      listeners: process.eventNames().map((name) => process.listenerCount(name)).reduce((a, b) => a + b, 0),
      heap: process.memoryUsage().heapUsed, rss: process.memoryUsage.rss(),
    };
  };
  const source = readFileSync(${JSON.stringify(lamp)}, "utf8");
  const reload = async (i) => { writeFileSync(${JSON.stringify(lamp)}, source + "// " + i + "\\n"); return ctx.plugins.refresh(); };
  await reload(-1);
  const before = await look();
  const times = [];
  for (let i = 0; i < ${RELOADS}; i++) {
    const began = performance.now();
    const done = await reload(i);
    times.push(performance.now() - began);
    if (done.length !== 1 || done[0].did !== "reloaded") throw new Error(JSON.stringify(done));
  }
  const after = await look();
  return { text: "done", data: { before, after, times } };
} });
`,
  );
  const ran = await zzProcess(where, ["--call", "probe", "{}", "--json"], { env: { NODE_OPTIONS: "--expose-gc" } });
  equal(ran.code, 0, ran.stderr);
  const { data } = JSON.parse(ran.stdout);
  const { before, after, times } = data;
  const sorted = times.toSorted((a: number, b: number) => a - b);
  const grown = (after.heap - before.heap) / 1e6;
  t.diagnostic(
    `heap +${grown.toFixed(1)} MB, resident +${((after.rss - before.rss) / 1e6).toFixed(1)} MB; a reload: median ${sorted[RELOADS >> 1].toFixed(1)} ms, most ${sorted.at(-1).toFixed(1)} ms`,
  );
  for (const what of ["counts", "names", "resources", "listeners"]) deepEqual(after[what], before[what], what);
  ok(grown < 20, `${grown} MB`);
  ok(sorted[RELOADS >> 1] < 150);
});

test("Load order shuffled: the same prompt, the same tools, the same order of wrappers", async (t) => {
  const runs = process.env.ZZ_SHORT ? 6 : 50;
  const where = place();
  const names = ["delta", "alpha", "echo", "bravo", "charlie"];
  const files = names.map((name) => {
    const file = join(where.cwd, "..", `${name}.ts`);
    writeFileSync(
      file,
      `export default (zz) => {
  zz.tool({ name: "${name}_one", description: "of ${name}", run: () => "x" });
  zz.layer({ name: "${name}", slot: "project", text: "from ${name}" });
  zz.wrap("render", async (text, next) => "${name}(" + (await next(text)) + ")", ${name.length % 2 ? '"first"' : '"last"'});
};
`,
    );
    return file;
  });
  const seen = new Set<string>();
  const fake = await fakeOpenAI([say("x")]);
  t.after(fake.close);
  for (let i = 0; i < runs; i++) {
    const shuffled = files.map((file) => [Math.random(), file] as const).sort(([a], [b]) => a - b);
    const args = shuffled.flatMap(([, file]) => ["--plugin", file]);
    const ran = await zzProcess(where, ["-n", "-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args, "hi"]);
    equal(ran.code, 0, ran.stderr);
    const { messages, tools } = fake.requests.at(-1)!.body;
    const system = messages[0].content.replace(/--- TIME ---[\s\S]*--- END TIME ---/, "");
    seen.add(JSON.stringify([system, tools.map((tool: any) => tool.function.name), ran.stdout]));
  }
  equal(seen.size, 1);
  ok([...seen][0]!.includes("alpha(bravo(charlie(delta(echo(x)))))"), [...seen][0]);
});

for (const [way, limit] of [
  ["node", 60],
  ["dist", 40],
] as [Way, number][])
  test(`100 plugins of five lines add less than ${limit} ms to a start by ${WAYS[way][1]!.split("/").at(-1)}`, async (t) => {
    const [without, having] = [place(), place()];
    mkdirSync(join(having.home, "plugins"), { recursive: true });
    for (let i = 0; i < 100; i++) {
      const file = join(having.home, "plugins", `p${i}.ts`);
      writeFileSync(file, five(`now_${i}`));
      utimesSync(file, 1, 1);
    }
    const cache = join(having.cwd, "..", "compiled"); // of its own: what other suites left would make it slow or fast
    const start = async (where: typeof having) => {
      const how: How = { way, env: { NODE_COMPILE_CACHE: cache } };
      const began = performance.now();
      const { code } = await zzProcess(where, ["--call", "list_dir", "{}"], how);
      equal(code, 0);
      return performance.now() - began;
    };
    const [bare, full, nodes]: [number[], number[], number[]] = [[], [], []];
    let cpu = 0;
    for (let i = 0; i < 8; i++) await start(i % 2 ? without : having); // warm
    for (let i = 0; i < STARTS; i++) {
      const before = cpuOfChildren();
      bare.push(await start(without));
      const between = cpuOfChildren();
      full.push(await start(having));
      cpu += (cpuOfChildren() - between - (between - before)) / STARTS;
      nodes.push(nodeStart());
    }
    const more = undisturbed(full) - undisturbed(bare);
    t.diagnostic(
      `${more.toFixed(0)} ms more than ${undisturbed(bare).toFixed(0)}; ${cpu.toFixed(0)} ms more CPU; node starts in ${(25 * slowness(nodes)).toFixed(0)} ms`,
    );
    const added = Math.min(more, cpu); // beside other work, and on a busy disk, only the CPU's time means anything
    ok(added < limit * slowness(nodes), `${added} ms, at ${slowness(nodes)} × the time of a quiet machine`);
  });

test("A plugin that is saved can be used within 150 ms", async (t) => {
  const where = place();
  const folder = join(where.home, "plugins");
  mkdirSync(folder, { recursive: true });
  const { sees } = await repl(t, { where, cols: 120, rows: 50, process: true });
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const began = performance.now();
    writeFileSync(join(folder, `lamp${i}.ts`), five(`lamp_${i}`));
    await sees(`Plugin 'lamp${i}' loaded in`);
    times.push(performance.now() - began);
    rmSync(join(folder, `lamp${i}.ts`));
    await sees(`Plugin 'lamp${i}' unloaded.`);
  }
  const median = times.toSorted((a, b) => a - b)[2]!;
  t.diagnostic(`from saving to the note that it is loaded: ${times.map((ms) => ms.toFixed(0)).join(", ")} ms`);
  ok(median < 150, `${median} ms`);
});
