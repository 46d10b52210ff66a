// Plugins under load: hundreds of reloads leave nothing behind, and the order of loading changes nothing.
import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fakeOpenAI, say } from "../../support/fake/openai.ts";
import { place, zz, zzProcess } from "../../support/run.ts";
import { random, SEED } from "../../support/runs.ts";

const RELOADS = 300;
const LAMP = `export default (zz) => zz.tool({ name: "lamp", description: "d", run: () => "on" });\n`;

/** Looks at all there is from within, before and after. */
const PROBE = `import { writeFileSync } from "node:fs";
export default (zz) => zz.tool({ name: "probe", description: "d", timeout: 300_000, async run({ lamp, source }, ctx) {
  const look = async () => {
    for (let i = 0; i < 5; i++) await new Promise((soon) => setImmediate(soon));
    const { tools, commands, keys, plugins, flags } = ctx.about;
    return {
      counts: [tools, commands, keys, plugins, flags, await ctx.about.prompt()].map(({ length }) => length),
      names: tools.map(({ name }) => name),
      resources: process.getActiveResourcesInfo().filter((kind) => !/^(Timeout|Immediate|FSReq\\w*)$/.test(kind)).length,
      listeners: process.eventNames().map((name) => process.listenerCount(name)).reduce((a, b) => a + b, 0),
    };
  };
  const reload = async (i) => { writeFileSync(lamp, source + "// " + i + "\\n"); return ctx.plugins.refresh(); };
  await reload(-1);
  const before = await look();
  for (let i = 0; i < ${RELOADS}; i++) {
    const done = await reload(i);
    if (done.length !== 1 || done[0].did !== "reloaded") throw new Error(JSON.stringify(done));
  }
  return { text: "done", data: { before, after: await look() } };
} });
`;

test(`${RELOADS} reloads: registries, timers and listeners are as before`, async () => {
  const where = place();
  const folder = join(where.home, "plugins");
  mkdirSync(folder, { recursive: true });
  const lamp = join(folder, "lamp.ts");
  writeFileSync(lamp, LAMP);
  writeFileSync(join(folder, "probe.ts"), PROBE);
  const ran = await zzProcess(where, ["--call", "probe", JSON.stringify({ lamp, source: LAMP }), "--json"]);
  equal(ran.code, 0, ran.stderr);
  const { before, after } = JSON.parse(ran.stdout).data;
  deepEqual(after, before);
});

test("load order shuffled: the same prompt, the same tools, the same order of wrappers", async (t) => {
  const where = place();
  const files = ["delta", "alpha", "echo", "bravo", "charlie"].map((name) => {
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
  const fake = await fakeOpenAI([say("x")]);
  t.after(fake.close);
  const next = random(SEED);
  const seen = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const shuffled = files.map((file) => [next(), file] as const).sort(([a], [b]) => a - b);
    const args = shuffled.flatMap(([, file]) => ["--plugin", file]);
    const ran = await zz(where, ["-n", "-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args, "hi"]);
    equal(ran.code, 0, ran.stderr);
    const { messages, tools } = fake.requests.at(-1)!.body;
    const system = messages[0].content.replace(/--- TIME ---[\s\S]*--- END TIME ---/, "");
    seen.add(JSON.stringify([system, tools.map((tool: any) => tool.function.name), ran.stdout]));
  }
  equal(seen.size, 1);
  ok([...seen][0]!.includes("alpha(bravo(charlie(delta(echo(x)))))"), [...seen][0]);
});
