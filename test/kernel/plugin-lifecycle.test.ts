// The life of a plugin: what it may be written in, what is cut off, how it is switched off, how
// strange its file may be.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import type { Zz } from "zz";
import { harness, standingClock } from "zz/test";
import type { Ctx } from "../../kernel/contract.ts";
import type { Core } from "../../kernel/instance.ts";
import { refreshPlugins } from "../../kernel/plugins/load-plugins.ts";
import { loadLimit } from "../../kernel/plugins/plugin-handle.ts";
import { createZz } from "../../zz.ts";
import { serve } from "../support/fake/http.ts";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { place, zz, zzProcess } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

const tool = (name: string, gives = '"on"', head = "") =>
  `${head}\nexport default (zz) => zz.tool({ name: "${name}", description: "d", run: () => ${gives} });\n`;

function home(files: Record<string, string>) {
  const where = place();
  const put = (name: string, text: string) => {
    const file = join(where.home, "plugins", name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  const run = (...args: string[]) => zz(where, args);
  return {
    where,
    put,
    run,
    gives: async (name: string) => (await run("--call", name)).stdout.trimEnd(),
  };
}

/** As endless as `for (;;);`, but it leaves the processor to others. */
const LOOP = "for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);";
test("An endless loop at load is cut off, named, and the others load", async () => {
  const { where } = home({
    "a.ts": tool("before"),
    "b_top.ts": `${LOOP}\nexport default () => {};`,
    "c.ts": tool("between"),
    "d_set_up.ts": `export default () => { ${LOOP} };`,
    "e.ts": tool("after"),
  });
  // In a process of its own, with time for the others even where the machine is busy: Node imports
  // nothing more where it was stopped in the middle of its own work.
  const env = { ZZ_LOAD_LIMIT: "6" };
  const { stdout, stderr, code } = await zzProcess(where, ["--tools"], { env });
  equal(code, 0);
  for (const name of ["before", "between", "after"]) match(stdout, new RegExp(`^${name} `, "m"));
  const said = ["b_top", "d_set_up"].map((name) => {
    const file = join(where.home, "plugins", `${name}.ts`);
    return `Cannot load plugin '${name}' (${file}): it ran for 6 s without an end. Fix its loop.\n`;
  });
  equal(stderr, said.join(""));
});

test("A plugin may load for 10 s, if nothing else is said", () =>
  equal(loadLimit({ io: { env: {} } } as Core), 10));

const RAN =
  'import { writeFileSync } from "node:fs";\nwriteFileSync(import.meta.dirname + "/ran.txt", "");\n';
/** Plugins that never finish loading: the file with the fault, and its text. In the order in which
 * they are loaded. */
const NEVER = "await new Promise(() => {});";
const STUCK: [name: string, file: string, text: string][] = [
  ["at_set_up", "at_set_up.ts", `${RAN}export default () => new Promise(() => {});`],
  ["imports", "lib/part.ts", NEVER],
  ["waits", "waits.ts", `${NEVER}\nexport default () => {};`],
];
test("What used up its time to load is named, and the others load", async () => {
  const { where, put } = home({ "z.ts": tool("after"), "imports.ts": 'import "./lib/part.ts";' });
  for (const [, file, text] of STUCK) put(file, text);
  const clock = standingClock();
  const running = zz(where, ["--call", "after"], { clock, env: { ZZ_LOAD_LIMIT: "7" } });
  await waitFor("the first one", () => existsSync(join(where.home, "plugins", "ran.txt")));
  for (const _ of STUCK) {
    await clock.waits(7_000);
    await clock.pass(7_000);
  }
  const { stdout, stderr } = await running;
  equal(stdout, "on\n");
  for (const [name] of STUCK)
    match(
      stderr,
      new RegExp(
        `^Cannot load plugin '${name}' .*: loading took longer than 7 s\\. Move slow work`,
        "m",
      ),
    );
});

test("Ctrl+C ends zz while a plugin runs in an endless loop at load, and a reload of such a plugin gives up", async () => {
  const { where, put } = home({ "a.ts": `${RAN}${LOOP}\n` });
  let loops: ChildProcess;
  const ended = zzProcess(where, ["--tools"], { started: (child) => (loops = child) });
  await waitFor("the loop", () => existsSync(join(where.home, "plugins", "ran.txt")));
  loops!.kill("SIGINT");
  equal((await ended).code, 130);
  put("a.ts", tool("a"));
  const core = await createZz({ home: where.home, root: where.cwd, save: false });
  await refreshPlugins(core);
  core.io.env.ZZ_LOAD_LIMIT = "4";
  put("a.ts", `${LOOP}\n`);
  const [{ did, why } = {} as never] = await refreshPlugins(core);
  deepEqual([did, core.tools.has("a")], ["failed", true]);
  match(
    why!,
    /it ran for 4 s without an end\. Fix its loop\. Its previous version stays in use\.$/,
  );
});

const WRITTEN: [name: string, file: string, source: string, gives: string][] = [
  ["JSX with a function of its own", "it.tsx", `/** @jsxRuntime classic */\n/** @jsx h */${tool("it", "<b>hi</b>", 'const h = (tag: string, _: unknown, ...inside: string[]) => tag + "(" + inside + ")";')}`, "b(hi)"],
  ["CommonJS with an ES module's default", "it.cjs", 'Object.defineProperty(exports, "__esModule", { value: true });\nexports.defaults = { word: "default" };\nexports.default = (zz) => zz.tool({ name: "it", description: "d", run: () => zz.config.word });', "default"],
  ["decorators in a file that it imports", "it.ts", tool("it", "new Lamp().say()", 'import { Lamp } from "./lib/lamp.ts";'), "on!"],
  ["TypeScript of CommonJS with a default", "it.cts", 'import path = require("node:path");\nimport { plural } from "zz/text";\nexport default (zz: any) => zz.tool({ name: "it", description: "d", run: () => path.join("word", plural(2, "x")) });', "word/2 xs"],
  ["TypeScript of CommonJS that is assigned", "it.cts", 'const it = (zz: any) => zz.tool({ name: "it", description: "d", run: () => "common" });\nexport = it;', "common"],
  ["a name with spaces & ünïcode", "file with spaces & ünïcode #1%.ts", tool("it"), "on"],
  ["Windows line ends and a BOM", "it.ts", `\ufeff${tool("it").replaceAll("\n", "\r\n")}`, "on"],
  ["files that import one another", "it.ts", tool("it", "a() + b()", 'import { a } from "./lib/a.ts"; import { b } from "./lib/b.ts";'), "ab"],
]; // biome-ignore format: a table
describe("a plugin may be written in", { concurrency: 2 }, () => {
  const lib = {
    "lib/a.ts":
      'import { b } from "./b.ts";\nexport const a = () => "a"; export const c = () => b();',
    "lib/b.ts":
      'import { a } from "./a.ts";\nexport const b = () => "b"; export const c = () => a();',
    "lib/lamp.ts":
      'const loud = (say: () => string, _: unknown) => () => say() + "!";\nexport class Lamp { @loud say() { return "on"; } }',
  };
  for (const [name, file, source, given] of WRITTEN)
    test(name, async () => {
      const { where } = home({ ...lib, [file]: source });
      const ran = await zz(where, ["--call", "it"]);
      deepEqual([ran.stdout, ran.stderr, ran.code], [`${given}\n`, "", 0]);
    });

  test("an error in what is compiled, in a file that it imports: that file is named, with the line as it was written", async () => {
    const { where, run } = home({
      "it.ts": 'import "./lib/part.ts";\nexport default () => {};',
      "lib/part.ts": 'enum A { B }\n\nthrow new Error("part " + A.B);',
    });
    const at = join(where.home, "plugins", "lib", "part.ts");
    const { stderr } = await run("--tools");
    match(stderr, new RegExp(`^Cannot load plugin 'it' \\(${at}:3\\): part 0$`, "m"));
  });

  test("a fault in what is compiled is told with its line", async () => {
    const { run } = home({ "it.tsx": "const a = 1;\nconst b = <b>;\nexport default () => {};\n" });
    match(
      (await run("--tools")).stderr,
      /^Cannot load plugin 'it' \(.*it\.tsx:\d\): .*(JSX|expected|closing)/m,
    );
  });
});

test("A plugin is switched off and on by /plugins, and stays so", async () => {
  const { where, run } = home({
    "lamp.ts": tool(
      "lamp",
      '"on"',
      'import { writeFileSync } from "node:fs"; writeFileSync(import.meta.dirname + "/ran.txt", "");',
    ),
  });
  const fake = await fakeOpenAI([say("Good.")]);
  try {
    const types = async (line: string) => {
      const flags = ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x"];
      const { stdout, stderr } = await run(...flags, line);
      return stdout + stderr;
    };
    const file = join(where.home, "zz.config.json");
    const settings = () => JSON.parse(readFileSync(file, "utf8"));
    match(await types("/plugins"), /^lamp +home +[\d.]+ ms +\/.*\n {4}tool lamp$/m);
    match(
      await types("/plugins lamp"),
      /^lamp: from home, [\d.]+ ms;\s[^ ]*lamp\.ts\n {2}tool lamp$/m,
    );
    equal(await types("/plugins off lamp"), "Plugin 'lamp' unloaded.\n");
    deepEqual(settings(), { plugins: { off: ["lamp"] } });
    equal((await run("--call", "lamp")).code, 2);
    const ran = join(where.home, "plugins", "ran.txt");
    ok(existsSync(ran));
    writeFileSync(ran, "old");
    match(await types("/plugins"), /^lamp +home +off/m);
    equal(readFileSync(ran, "utf8"), "old", "not even imported");
    match(await types("/plugins on lamp"), /^Plugin 'lamp' loaded in [\d.]+ ms\.$/m);
    equal((await run("--call", "lamp")).stdout, "on\n");
    deepEqual(settings(), {});
    equal(await types("/plugins on lamp"), "'lamp' is on already.\n");
    writeFileSync(file, '{ "disabled": ["lamp", "eval"], "plugins": { "off": ["git"] } }');
    match(await types("/plugins enable lamp"), /^Plugin 'lamp' loaded/);
    deepEqual(settings(), { plugins: { off: ["git", "eval"] } }, "one list");
    equal(await types("/plugins off lampp"), "There is no plugin 'lampp'. /plugins lists them.\n");
  } finally {
    await fake.close();
  }
});

test("zz's own plugins can be switched off too, by either name of the setting: the rest works", async () => {
  const { where, run } = home({});
  mkdirSync(where.home, { recursive: true });
  for (const written of [
    { disabled: ["read-file", "git"] },
    { plugins: { off: ["read-file", "git"] } },
    { plugins: { off: ["git"] }, disabled: ["read-file"] },
  ]) {
    writeFileSync(join(where.home, "zz.config.json"), JSON.stringify(written));
    const { stdout, stderr } = await run("--tools");
    equal(stderr, "");
    ok(!/^(read_file|git_status) /m.test(stdout));
    match(stdout, /^list_dir /m);
  }
});

let hangs = false;
const never = () => {
  hangs = true;
  return new Promise<never>(() => {});
};
const CUT =
  /^Plugin 'hook' was cut off in 'call': it took longer than 300 s\. Its own limit can be raised\.$/;
const HOOKS: [name: string, hook: (zz: Zz<any>) => void, notes: string[], result: RegExp, limit?: number][] = [
  ["on() that throws", (zz) => zz.on("called", () => { throw new Error("no eyes"); }), ["Plugin 'hook' failed on 'called': no eyes"], /^on$/],
  ["on() that hangs", (zz) => zz.on("called", never), ["Plugin 'hook' failed on 'called': it took longer than 5 s. Its own limit can be raised."], /^on$/, 5_000],
  ["a wrapper of calls that throws", (zz) => zz.wrap("call", () => { throw new Error("Not today."); }), [], /^Not today\.$/],
  ["a wrapper of calls that hangs", (zz) => zz.wrap("call", never, { limit: 300_000 }), [], CUT, 300_000],
  ["a wrapper of calls that hangs after the call", (zz) => zz.wrap("call", async (call, next) => { await next(call); return never(); }, { limit: 300_000 }), [], CUT, 300_000],
  ["a wrapper that gives nothing back", (zz) => zz.wrap("call", (async (call: any, next: any) => void (await next(call))) as never), [], /^Plugin 'hook' gave nothing back in 'call'\. Its wrapper must return what next\(\) gave\.$/],
]; // biome-ignore format: a table
describe("a hook that fails does not stop the turn:", () => {
  for (const [name, hook, notes, result, limit] of HOOKS)
    test(name, async (t) => {
      const clock = standingClock();
      let lit = 0;
      const lamp = (zz: Zz) =>
        zz.tool({ name: "lamp", description: "d", run: () => (++lit ? "on" : "") });
      const plugins = [lamp, { name: "hook", default: hook }];
      const zz = await harness({ plugins, clock, script: [{ call: ["lamp"] }, "Done."] }, t);
      const asked = zz.ask("hi");
      if (limit) await waitFor("the hook to hang", () => hangs);
      if (limit) await clock.pass(limit);
      hangs = false;
      const said = await asked;
      deepEqual([said.text, said.notes], ["Done.", notes]);
      match(said.results[0]!.text, result);
      equal(
        lit,
        /^Not today/.test(said.results[0]!.text) || name === "a wrapper of calls that hangs"
          ? 0
          : 1,
      );
    });
});

test("A plugin rewritten in place is reloaded, also at the same size and with the time that it had", async () => {
  const { where, put } = home({});
  const core = await createZz({ home: where.home, root: where.cwd, save: false });
  for (const word of ["one", "two"]) {
    utimesSync(put("lamp.ts", tool("lamp", `"${word}"`)), 1, 1);
    await refreshPlugins(core);
    equal(await core.tools.get("lamp")?.value.run({}, {} as Ctx), word);
  }
});

test("An instance loads a plugin as it is now, also if another in this process loaded it before", async () => {
  const { where, put } = home({});
  for (const word of ["one", "two"]) {
    put("lamp.ts", tool("lamp", `"${word}"`));
    const core = await createZz({ home: where.home, root: where.cwd, save: false });
    equal(await core.tools.get("lamp")?.value.run({}, {} as Ctx), word);
  }
});

test("Loaded, reloaded ten times and unloaded: every registry, listener and timer is as before", async () => {
  const { where, put } = home({ "stays.ts": tool("stays") });
  const core = await createZz({ home: where.home, root: where.cwd, save: false });
  const did = async () => (await refreshPlugins(core)).map(({ did }) => did);
  const look = () => {
    const owned = [core.layers, core.configs, core.observers, core.wraps].map((all) =>
      all.map(({ owner }) => owner).join(),
    );
    const named = [
      core.tools,
      core.commands,
      core.providers,
      core.flags,
      core.schemas,
      core.keys,
      core.states,
    ];
    return {
      owned,
      named: named.map((all) => [...all.keys()].sort().join()),
      plugins: core.plugins.map(({ name, from }) => `${from} ${name}`),
      trees: [...(globalThis as any)[Symbol.for("zz.trees")].keys()].filter(
        (url: string) => !url.includes("stays"),
      ),
      listeners: process
        .eventNames()
        .map((name) => `${String(name)} ${process.listenerCount(name)}`),
      signals: core.plugins.length,
    };
  };
  const all = (n: number) => `import { word } from "./lib/word.ts";
export const defaults = { n: ${n} };
export default (zz) => {
  const kept = zz.state({ n: 0 });
  zz.tool({ name: "all", description: word, params: { a: "string" }, run: () => "x" });
  zz.command({ name: "all", description: "d", run: () => {} });
  zz.layer({ name: "all", slot: "rules", text: "x" });
  zz.provider({ name: "all", models: async () => [], async *chat() {} });
  zz.flag({ name: "all", description: "d" });
  zz.key({ name: "f9", description: "d", press: () => {} });
  zz.on("called", () => {});
  for (const step of ["line", "request", "call", "preview", "render", "prompt"]) zz.wrap(step, (input, next) => next(input));
  const hear = () => {};
  process.on("SIGUSR2", hear);
  zz.defer(() => process.off("SIGUSR2", hear));
  const timer = setInterval(() => {}, 60_000);
  zz.signal.addEventListener("abort", () => clearInterval(timer));
};
`;
  const before = look();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  put("lib/word.ts", 'export const word = "w";');
  put("all.ts", all(0));
  deepEqual(await did(), ["loaded"]);
  const loaded = look();
  ok(loaded.named[0]!.includes("all") && loaded.owned[3] !== before.owned[3], "it was there");
  const [trees, held] = [loaded.trees.length, timers()];
  for (let i = 1; i <= 10; i++) {
    put("all.ts", all(i));
    deepEqual(await did(), ["reloaded"]);
    deepEqual({ ...look(), trees: [] }, { ...loaded, trees: [] });
  }
  equal(look().trees.length, trees);
  ok(timers() <= held, "each took its timer along"); // those of others may have ended
  put(
    "all.ts",
    `${tool("all").replace("export default (zz) =>", "export default (zz) => {")} throw new Error("half"); };`,
  );
  deepEqual(await did(), ["failed"]);
  deepEqual({ ...look(), trees: [] }, { ...loaded, trees: [] }, "a broken one changes nothing");
  rmSync(join(where.home, "plugins", "all.ts"));
  deepEqual(await did(), ["unloaded"]);
  deepEqual(look(), before);
  equal(timers(), held - 1);
});

test("What a plugin's own request meets is told without the flags that are for models", async (t) => {
  const { run } = home({
    "get.ts": `export default (zz) => zz.tool({ name: "get", description: "d", params: { url: "string" }, run: async ({ url }) => (await zz.fetch(url)).text() });`,
  });
  const fake = await serve([{ status: 404, body: ["no such page"] }]);
  t.after(fake.close);
  for (const [url, told] of [
    [fake.url, /^127\.0\.0\.1:\d+ answered 404: no such page\.$/m],
    ["nowhere", /^Cannot reach 'nowhere': not a URL\. Check the address\.$/m],
    ["http://127.0.0.1:9",
      /^Cannot reach '127\.0\.0\.1:9': connection refused\. Is the server running there\?$/m],
  ] as const) // biome-ignore format: a table
    match((await run("--call", "get", JSON.stringify({ url }))).stderr, told);
});

test("A mistake in a command is told with whose it is and where", async () => {
  const { where, run } = home({
    "lamp.ts": `export default (zz) => zz.command({
  name: "lamp", description: "d",
  run: (rest, ctx) => rest ? ctx.notte("x") : Promise.reject(new Error("Cannot light it: no oil.")),
});
`,
  });
  const told = async (line: string) => (await run("--model", "offline", "--once", line)).stderr;
  const file = join(where.home, "plugins", "lamp.ts");
  equal(await told("/lamp now"), `Plugin 'lamp' failed (${file}:3): ctx.notte is not a function\n`);
  equal(await told("/lamp"), "Cannot light it: no oil.\n");
});
