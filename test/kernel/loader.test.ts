// Plugins as a person writes them: a file of one's own, outside the repository, loaded by the
// program itself.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import module from "node:module";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { readyCompiler } from "../../kernel/plugins/import-plugin.ts";
import type { Script } from "../support/fake/http.ts";
import { askable, call, problems, say } from "../support/fake/openai.ts";
import { type How, type Place, place, WAYS, type Way, zz } from "../support/run.ts";

/** Writes a plugin into the project (or wherever a path leads from there) and returns its path. */
function plugin(where: Place, name: string, source: string): string {
  const file = join(where.cwd, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, source);
  return file;
}
/** A plugin's file around what it does. */
const does = (body: string, head = "") =>
  `import type { Zz } from "zz";\n${head}\nexport default (zz: Zz<any>) => {\n${body}\n};\n`;

async function ask(where: Place, script: Script, args: string[], how: How = {}) {
  const model = await askable(script);
  const ran = await zz(where, [...model.args, ...args], how);
  return { ...ran, sent: model.requests.map((request) => request.body) };
}
/** One run with one plugin. */
async function having(source: string, script: Script, args: string[] = [], how: How = {}) {
  const where = place();
  const file = plugin(where, "own.ts", source);
  return { where, file, ...(await ask(where, script, ["--plugin", file, ...args, "hi"], how)) };
}
const results = (body: any): string[] =>
  body.messages.filter((m: any) => m.role === "tool").map((m: any) => m.content);
const NOW = `import type { Zz } from "zz";
export default (zz: Zz) => zz.tool({
  name: "now", description: "The current time, ISO 8601.",
  run: () => new Date().toISOString(),
});
`;

/** A plugin's tool that takes these params, which are the same in every kind of schema. */
const dims = (name: string, params: string, head: string) =>
  does(
    `zz.tool({ name: "${name}", description: "d", params: ${params}, run: ({ level, room = "hall" }: any) => "dimmed " + room + " to " + level });`,
    head,
  );
const ZODDED = dims("dim_zod", "z.object({ level: z.number().int().max(100), room: z.string().optional() })", 'import { z } from "zod";'); // biome-ignore format: one line
const TYPED = dims("dim_typebox", "Type.Object({ level: Type.Integer({ maximum: 100 }), room: Type.Optional(Type.String()) })", 'import { Type } from "typebox";'); // biome-ignore format: one line
const tellsOf = (name: string, gives: string, head = "") =>
  `${head}\nexport default (zz) => zz.tool({ name: "${name}", description: "d", run: () => ${gives} });\n`;

for (const way of Object.keys(WAYS) as Way[])
  test(`${way} loads plugins of all kinds from outside the repository, and names the one that it cannot`, async () => {
    const where = place();
    const module = (name: string, code: string) => {
      const about = JSON.stringify({ name, type: "module", exports: "./index.js" });
      plugin(where, `other/node_modules/${name}/package.json`, about);
      plugin(where, `other/node_modules/${name}/index.js`, code);
    };
    module("zod", 'export const mine = "an older zod";');
    module("dep", 'export { mine } from "zod";');
    const imports = 'import { mine } from "dep"; import { z } from "zod";';
    const both = tellsOf("both", 'mine + " and " + typeof z.object', imports);
    const files = [
      plugin(where, "own.ts", NOW),
      plugin(where, "zodded.ts", ZODDED),
      plugin(where, "typed.ts", TYPED),
      plugin(where, "other/both.ts", both),
      plugin(where, "enumed.ts", tellsOf("enumed", "Color.Blue", 'enum Color { Blue = "blue" }')),
      plugin(
        where,
        "common.cjs",
        tellsOf("common", '"common"').replace("export default", "module.exports ="),
      ),
    ];
    const broken = plugin(
      where,
      "../home/plugins/broken.ts",
      "export default (zz: any) => {\n\n  const a = ;\n};\n",
    );
    const calls: [tool: string, args: unknown, gives: RegExp][] = [
      ["now", {}, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/],
      ...["dim_zod", "dim_typebox"].flatMap((tool): [string, unknown, RegExp][] => [
        [tool, { level: 40 }, /^dimmed hall to 40$/],
        [tool, { level: 7, room: "den" }, /^dimmed den to 7$/],
        [tool, { level: "x" }, new RegExp(`^Cannot call '${tool}': .*level.*Send the call again`)],
        [tool, { level: 1, room: 2 },
          new RegExp(`^Cannot call '${tool}': .*room.*Send the call again`)],
      ]),
      // zz's own for the plugin itself, their own for its packages
      ["both", {}, /^an older zod and function$/],
      ["enumed", {}, /^blue$/],
      ["common", {}, /^common$/],
    ]; // biome-ignore format: a table
    const script: Script = (_, turn) =>
      calls[turn] ? call([calls[turn][0], calls[turn][1]]) : say("done");
    const ran = await ask(where, script, [...files.flatMap((file) => ["--plugin", file]), "hi"], {
      way,
    });
    deepEqual([ran.stdout, ran.code], ["done\n", 0], ran.stderr);
    ok(ran.stderr.startsWith(`Cannot load plugin 'broken' (${broken}:3): `), ran.stderr);
    match(ran.stderr, /^[^\n]+\n$/);
    for (const [i, gave] of results(ran.sent.at(-1)).entries()) match(gave, calls[i]![2]);
    const told = (name: string) =>
      ran.sent[0].tools.find((tool: any) => tool.function.name === name).function;
    equal(told("now").description, "The current time, ISO 8601.");
    for (const { parameters } of ["dim_zod", "dim_typebox"].map(told))
      deepEqual(
        [
          parameters.type,
          parameters.properties.level.type,
          parameters.properties.room.type,
          parameters.required,
        ],
        ["object", "integer", "string", ["level"]],
      );
    deepEqual(problems(ran.sent.at(-1)), []);
  });

test("params are checked for --call, too: exit 2", async () => {
  const where = place();
  const file = plugin(where, "own.ts", ZODDED);
  const ran = await zz(where, ["--plugin", file, "--call", "dim_zod", '{"level": 101}']);
  deepEqual([ran.stdout, ran.code], ["", 2]);
  match(ran.stderr, /^Cannot call 'dim_zod': level.*100/);
});

describe("a plugin that fails is skipped and named, and zz answers", { concurrency: 3 }, () => {
  const tool = (fields: string) => `\nexport default (zz: any) =>\n  zz.tool({ ${fields} });\n`;
  const rows: [what: string, source: string, reason: RegExp, line?: number][] = [
    ["a syntax error", "export default (zz: any) => {\n  const a = ;\n};\n", /(expect|unexpected).*[^.]\. Fix it; at the prompt, \/reload tries again\.$/i, 2],
    ["a throw at load", '\n\nthrow new Error("the sky is low");\n', /the sky is low/, 3],
    ["a throw whose code is null", '\nthrow Object.assign(new Error("low"), { code: null });', /low/, 2],
    ["a throw at set-up", '\nexport default () => {\n  throw new Error("no luck");\n};', /no luck/, 3],
    ["no default export", "export const x = 1;\n", /no default export.*export default/],
    ["an unknown event", '\nexport default (zz: any) =>\n  zz.on("caled", () => {});\n', /no event 'caled'\. Did you mean 'called'\?/, 3],
    ["an unknown verb", "\nexport default (zz: any) =>\n  zz.tol({});\n", /tol/, 3],
    ["an unknown tool key", tool('name: "a", descripton: "d", run: () => ""'), /no tool field 'descripton'\. Did you mean 'description'\?/, 3],
    ["a tool name that providers refuse", tool('name: "a b", description: "d", run: () => ""'), /tool 'a b' has a name/, 3],
    ["params of no type", tool('name: "a", description: "d", params: { n: "numbr" }, run: () => ""'), /param 'n' has type 'numbr'/, 3],
    ["a tool that is already there", tool('name: "read_file", description: "d", run: () => ""'), /tool 'read_file' is already there, from 'read-file' \(.*plugins(\.js|\/read-file\.ts)\)/, 3],
    ["an end of the process at load", "\nprocess.exit(0);\nexport default () => {};", /it called process\.exit\(0\), which would end zz\. Throw/, 2],
    ["an end of the process while it is awaited", "\nawait null;\nexport default async () => {\n  await null;\n  process.exit();\n};", /it called process\.exit\(\)/, 5],
    ["an import that is not there", 'import "./none.ts";\nexport default () => {};', /none\.ts/],
    ["a package that is not there", 'import "zzz-none";\nexport default () => {};', /zzz-none.*\. Install it there, or correct the import\.$/],
    ["a function from where earlier ones had it", 'import { fault } from "zz";\nexport default () => fault("");', /it imports 'fault' from "zz", .*"zz\/text"/],
    ["a name that zz/text has not", 'import { clipp } from "zz/text";\nexport default () => clipp("");', /it imports 'clipp' from "zz\/text": there is no export 'clipp'\. Did you mean 'clip'\?$/],
  ]; // biome-ignore format: a table
  test("whatever is wrong, it is one line of its own, with its place", async () => {
    const where = place();
    const files = rows.map(([, source], i) => plugin(where, `../home/plugins/own${i}.ts`, source));
    const ran = await ask(where, [say("pong")], ["hi"]);
    const lines = ran.stderr.trimEnd().split("\n");
    deepEqual([ran.stdout, ran.code, lines.length], ["pong\n", 0, rows.length], ran.stderr);
    for (const [i, [what, , reason, line]] of rows.entries()) {
      const at = `(${files[i]}${line ? `:${line}` : ""}`;
      const said = lines.filter((one) => one.startsWith(`Cannot load plugin 'own${i}' `));
      equal(said.length, 1, what);
      ok(said[0]!.startsWith(`Cannot load plugin 'own${i}' ${at}`), `${at}\n${ran.stderr}`);
      match(said[0]!, reason);
    }
    ok(!/^\s+at |node:internal/m.test(ran.stderr), ran.stderr);
    ok(
      ran.sent[0].tools.some((one: any) => one.function.description.startsWith("Read a text file")),
    );
  });

  const parts: [what: string, part: string, source: string, reason: RegExp, line: number, imports?: string][] = [
    ["a throw", "lib/part.ts", '\n\nthrow new Error("part");', /part/, 3],
    ["a fault in its syntax", "lib/part.ts", "\nconst a = ;\n", /xpression expected/, 2],
    ["an import that is not there", "lib/part.ts", '\nimport "./gone.ts";\n', /gone\.ts/, 2],
    ["a wrong registration", "lib/part.ts", "\nexport default (zz: any) => zz.tol({});", /tol/, 2, "export { default } from"],
    ["a package", "node_modules/part/index.js", '\nthrow new Error("part");', /part/, 2, 'import "part";'],
  ]; // biome-ignore format: a table
  test("in a file that it imports, that file is named", async () => {
    for (const [what, part, source, reason, line, imports = "import"] of parts) {
      const where = place();
      const at = plugin(where, part, source);
      const head = imports.endsWith(";") ? imports : `${imports} "./${part}";`;
      const file = plugin(
        where,
        "own.ts",
        imports.startsWith("export") ? head : `${head}\nexport default () => {};`,
      );
      const { stderr } = await zz(where, ["--plugin", file, "--tools"]);
      ok(stderr.startsWith(`Cannot load plugin 'own' (${at}:${line}): `), `${what}: ${stderr}`);
      match(stderr, reason);
    }
  });

  test("what it had added before it failed is taken back", async () => {
    const added = `zz.tool({ name: "half", description: "d", run: () => "" }); zz.layer({ name: "l", slot: "rules", text: "HALF A LAYER" }); throw new Error("late");`;
    const where = place();
    plugin(where, "../home/plugins/own.ts", does(added));
    const { sent, stderr } = await ask(where, [say("x")], ["hi"]);
    match(stderr, /late/);
    ok(!/half/i.test(JSON.stringify(sent[0])));
  });

  test("a file that is not there: exit 2, and nothing is asked", async () => {
    const ran = await ask(place(), [say("x")], ["--plugin", "none.ts", "hi"]);
    deepEqual([ran.stdout, ran.code, ran.sent.length], ["", 2, 0]);
    equal(ran.stderr, "Cannot load plugin 'none.ts': no such file. Check the path.\n");
  });
  test("one that the line names: exit 2 with its sentence once, and nothing is done", async () => {
    const where = place();
    const file = plugin(where, "own.ts", '\nexport default () => { throw new Error("no luck"); };');
    plugin(where, "script.mjs", 'console.log("ran");');
    for (const rest of ["--once hi", "--json hi", "--call list_dir {}", "--run script.mjs"]) {
      const ran = await ask(where, [say("x")], ["--plugin", file, ...rest.split(" ")]);
      deepEqual([ran.code, ran.sent.length], [2, 0], rest);
      match(ran.stderr, /^Cannot load plugin 'own' \(.*own\.ts:2\): no luck[^\n]*\n$/);
      match(ran.stdout, rest.startsWith("--json") ? /"Cannot load plugin 'own' / : /^$/);
    }
    equal((await zz(where, ["--plugin", file, "--tools"])).code, 0); // a list may be looked at
  });
});

describe("what a plugin adds", { concurrency: 3 }, () => {
  test("its layers are in the system prompt, in slot order", async () => {
    const source = does(
      `zz.layer({ name: "late-news", slot: "turn", text: async ({ root }) => "ROOT IS " + root });
       zz.layer({ name: "house_rules", slot: "rules", text: "NEVER SHOUT" });
       zz.layer({ name: "nothing", slot: "rules", text: () => undefined });
       zz.layer({ name: "long", slot: "memory", budget: 20, text: "y".repeat(500) });
       zz.layer({ name: "broken", slot: "memory", text: () => { throw new Error("lost it"); } });`,
    );
    const { sent, stderr, where, stdout } = await having(source, [say("x")]);
    const system: string = sent[0].messages[0].content;
    match(
      system,
      /You are zz[\s\S]*HOUSE RULES ---\nNEVER SHOUT\n--- END HOUSE RULES[\s\S]*LATE NEWS ---\nROOT IS /,
    );
    ok(system.includes(`ROOT IS ${where.cwd}`));
    ok(!/NOTHING ---|BROKEN ---/.test(system));
    match(system, /y{56}\n\[… \d+ characters left out …\]\ny{16}\n/);
    deepEqual([stdout, stderr], ["x\n", "Layer 'broken' of 'own' was left out: lost it\n"]);
  });

  test("what set() gives as a line goes first on it, and run() of a flag that takes words gets them all", async () => {
    const source = does(
      `zz.flag({ name: "as", value: "WHO", description: "d", set: (who, ctx) => ({ line: ["--system=" + who, "-o", "seed", "1", typeof ctx.about.home] }) });
       zz.flag({ name: "odd", description: "d", set: () => ["--no-such"] });
       zz.flag({ name: "pair", value: "KEY VALUE", many: true, description: "d", set: () => {} });
       zz.flag({ name: "tell", value: "NAME [WORDS]", description: "d", run: (name, ctx, { words, values }) =>
         ({ text: JSON.stringify([name, words, values.get("pair"), values.has("as")]) }) });`,
    );
    const where = place();
    const file = plugin(where, "own.ts", source);
    const run = (...args: string[]) =>
      zz(where, ["--plugin", file, ..."-m openai/m --key x".split(" "), ...args]);
    const dry = await run("--as", "you", "--odd", "--dry-run", "hi");
    const { messages, seed } = JSON.parse(dry.stdout);
    deepEqual(
      [messages[0].content.slice(0, 3), messages.at(-1).content, seed],
      ["you", "string hi", 1],
    );
    deepEqual(
      JSON.parse((await run("--as", "you", "-o", "seed", "2", "--dry-run", "hi")).stdout).seed,
      2,
    );
    const told = await run("--pair", "a", "b c", "--pair", "d=e", "--tell", "it", "all", "that");
    deepEqual([told.stdout, told.stderr], ['["it",["all","that"],["a=b c","d=e"],false]\n', ""]);
  });
  test("what it prints goes to stderr under its name, never to stdout, and an end of the process in a package is refused", async () => {
    const PRINTS: [print: string, shown: string][] = [
      ["console.log('a %s', 'b', { c: 1 })", "own0: a b { c: 1 }"],
      ["console.info('a\\nb')", "own1: a\nown1: b"],
      ["console.error('wrong')", "own2: wrong"],
      ["console.log('\\x1b[2Jx')", "own3: ␛[2Jx"],
      ["(await import('./deep/words.ts')).talk()", "own4: from deep"],
    ];
    const where = place();
    plugin(where, "deep/words.ts", "export const talk = () => console.log('from deep');");
    const files = PRINTS.map(([what], i) =>
      plugin(where, `own${i}.ts`, `${what};\nexport default (zz) => {};`),
    );
    const run = "run: (rest) => console.log(rest.toUpperCase())";
    files.push(
      plugin(where, "own.ts", does(`zz.command({ name: "shout", description: "d", ${run} });`)),
    );
    plugin(
      where,
      "../home/node_modules/leaver/package.json",
      '{ "name": "leaver", "main": "main.js" }',
    );
    plugin(where, "../home/node_modules/leaver/main.js", "(() => process.exit(4))();");
    plugin(where, "../home/plugins/leaves.ts", 'import "leaver";');
    const args = [...files.flatMap((file) => ["--plugin", file]), "/shout it out"];
    const { stdout, stderr, code, sent } = await ask(where, [say("x")], args, { way: "dist" });
    deepEqual([stdout, code, sent.length], ["", 0, 0]);
    const [left, ...said] = stderr.trimEnd().split("\n").sort();
    match(left!, /^Cannot load plugin 'leaves' \(.*\): it called process\.exit\(4\)/);
    deepEqual(said, ["own: IT OUT", ...PRINTS.flatMap(([, shown]) => shown.split("\n"))].sort());
  });
});

describe("on and wrap", { concurrency: 3 }, () => {
  test("wrap() changes what goes in and what comes out, at every step", async () => {
    const source = does(
      `zz.wrap("line", (line, next) => next(line + " there"));
       zz.wrap("request", async (request, next) => {
         const reply = await next({ ...request, options: { ...request.options, seed: 7 } });
         return { ...reply, text: reply.text && reply.text + "!" };
       });
       zz.wrap("call", async (call, next) => {
         const result = await next({ ...call, args: { path: "b.txt" } });
         return { ...result, text: result.text + " (seen)" };
       });
       zz.wrap("render", async (text, next) => (await next(text)).toUpperCase());`,
    );
    const where = place();
    const file = plugin(where, "own.ts", source);
    for (const name of ["a", "b"]) writeFileSync(join(where.cwd, `${name}.txt`), `in ${name}`);
    const script = [call(["read_file", { path: "a.txt" }]), say("done")];
    const ran = await ask(where, script, ["--plugin", file, "hi"]);
    deepEqual([ran.stdout, ran.stderr, ran.code], ["DONE!\n", "", 0]);
    deepEqual([ran.sent[0].messages[1].content, ran.sent[0].seed], ["hi there", 7]);
    deepEqual(results(ran.sent[1]), ["1\tin b (seen)"]);
    equal((await ask(where, [say("done")], ["--plugin", file, "--raw", "hi"])).stdout, "done!\n");
  });

  test("whatever a wrapper of 'request' leaves of the history, what is sent is valid", async () => {
    const source = does(
      `zz.wrap("request", (request, next) => next({ ...request, messages: request.messages.filter(({ role }) => role !== "tool") }));`,
    );
    const ran = await having(source, [call(["list_dir", {}]), say("done")]);
    deepEqual(results(ran.sent[1]), ["[interrupted]"]);
    equal(ran.stdout, "done\n");
  });

  test("layers, tools and wrappers go by 'first' and 'last', then by plugin name, whatever the order of loading", async () => {
    const where = place();
    const all = (name: string, order: string) =>
      `zz.wrap("render", async (text, next) => "${name}(" + (await next(text)) + ")", "${order}");
       zz.layer({ name: "${name}", slot: "project", text: "from ${name}" });
       zz.tool({ name: "${name}_one", description: "d", run: () => "" });`;
    const mark = (name: string, order: string) =>
      plugin(where, `${name}.ts`, does(all(name, order)));
    const files = [mark("b", "last"), mark("c", "first"), mark("a", "last")];
    const seen = new Set<string>();
    for (const some of [files, files.toReversed()]) {
      const ran = await ask(
        where,
        [say("x")],
        [...some.flatMap((file) => ["--plugin", file]), "hi"],
      );
      equal(ran.stdout, "c(a(b(x)))\n");
      const { messages, tools } = ran.sent[0];
      seen.add(
        JSON.stringify([
          messages[0].content.replace(/--- TIME ---[\s\S]*--- END TIME ---/, ""),
          tools,
        ]),
      );
    }
    equal(seen.size, 1);
  });
});

describe("where plugins come from", { concurrency: 3 }, () => {
  const here = (name: string) => NOW.replace('"now"', `"${name}"`);
  const tools = async (where: Place, ...args: string[]) =>
    JSON.parse((await zz(where, ["--tools", "--json", ...args])).stdout).map(
      (tool: any) => tool.name,
    );

  test("HOME/plugins: files and folders with an index; not tests, types, nor what begins with . or _", async () => {
    const where = place();
    for (const name of ["a", "b.test", "c.d", ".d", "_e"])
      plugin(where, `../home/plugins/${name}.ts`, here(`from_${name.replace(/\W/g, "")}`));
    plugin(where, "../home/plugins/pack/index.ts", here("from_pack"));
    plugin(where, "../home/plugins/pack/part.ts", here("from_part"));
    plugin(where, "../home/plugins/notes.md", "# none");
    const found = (await tools(where)).filter((name: string) => name.startsWith("from_"));
    deepEqual(found, ["from_a", "from_pack"]);
  });

  test("--plugin takes a folder, too: by its index, or by its package.json", async () => {
    const where = place();
    plugin(where, "pack/index.ts", here("from_index"));
    plugin(where, "other/package.json", '{ "zz": "src/own.ts" }');
    plugin(where, "other/src/own.ts", here("from_package"));
    plugin(where, "none/notes.md", "none");
    const found = await tools(where, "--plugin", "pack", "--plugin", "./other/");
    equal(
      found.filter((name: string) => name.startsWith("from_")).join(),
      "from_index,from_package",
    );
    const plugins = JSON.parse(
      (await zz(where, ["--plugin", "pack", "--plugins", "--json"])).stdout,
    );
    deepEqual(plugins.find(({ from }: any) => from === "flag").name, "pack");
    const none = await zz(where, ["--plugin", "none", "--tools"]);
    const why = "the folder has no index.ts. Add one, or name a file in it.";
    deepEqual([none.code, none.stderr], [2, `Cannot load plugin 'none': ${why}\n`]);
  });

  test("--no-plugins leaves out the home's; zz's own and --plugin's stay", async () => {
    const where = place();
    plugin(where, "../home/plugins/a.ts", here("from_home"));
    const file = plugin(where, "b.ts", here("from_flag"));
    const all = await tools(where, "--plugin", file);
    ok(
      all.includes("from_home") && all.includes("from_flag") && all.includes("read_file"),
      all.join(),
    );
    const some = await tools(where, "--plugin", file, "--no-plugins");
    equal(all.filter((name: string) => !some.includes(name)).join(), "from_home");
  });
});

test("the short form of another plugin's flag is refused", async () => {
  const flag = (name: string) =>
    `export default (zz) => zz.flag({ name: "${name}", short: "y", description: "d", run: () => ({ text: "${name}" }) });`;
  const where = place();
  plugin(where, "../home/plugins/a.ts", flag("alpha"));
  plugin(where, "../home/plugins/b.ts", flag("beta"));
  const { stdout, stderr } = await zz(where, ["-y"]);
  equal(stdout, "alpha\n");
  const why = "flag 'beta' has the short form -y of --alpha. Choose another.";
  ok(stderr.includes(`b.ts:1): ${why}\n`), stderr);
});

test("--plugin goes before the home's plugin of that name", async () => {
  const where = place();
  plugin(where, "../home/plugins/mine.ts", tellsOf("says", '"home"'));
  const file = plugin(where, "work/mine.ts", tellsOf("says", '"work"'));
  const { stdout, stderr } = await zz(where, ["--plugin", file, "--call", "says"]);
  deepEqual([stdout, stderr], ["work\n", ""]);
});

test("a flag that runs instead of a turn refuses --call beside it, and says that --once was left out", async () => {
  const ran = await zz(place(), ["--trust", "--call", "list_dir"]);
  const why =
    "Cannot use --call with --trust: --trust is all that zz does in a run. Run one after the other.\n";
  deepEqual([ran.code, ran.stdout, ran.stderr], [2, "", why]);
  const listed = await zz(place(), ["--tools", "--once"], { input: "words" });
  deepEqual(
    [listed.code, listed.stderr],
    [0, "--tools is all that zz does in a run: --once was left out.\n"],
  );
});

test("The compiler is installed once", async (t) => {
  await readyCompiler();
  const { mock } = t.mock.method(module, "registerHooks");
  await readyCompiler();
  equal(mock.callCount(), 0);
});
