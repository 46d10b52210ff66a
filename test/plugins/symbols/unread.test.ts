// Files that the index lists and did not read, and components that TypeScript does not: an answer that may lack something
// because of them says so, and a rename that would miss a use in them is refused.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { countTokens } from "../../../plugins/symbols/rank.ts";
import { fakeOpenAI, say } from "../../support/fake/openai.ts";
import { place, ROOT, zz } from "../../support/run.ts";
import { isAll } from "../../support/runs.ts";
import { warmCall as call, type Files } from "../../support/warm.ts";

const large = (text: string, comment = "//"): string => text + `${comment} ${"x".repeat(98)}\n`.repeat(11_000);
const minified = (text: string): string => `${text}/*${"y".repeat(6_000)}*/`;
const swapped = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, "utf16le").swap16()]);
const LIB = "export function helper(a: number) { return a; }\nexport class Box { size = 1 }\nexport const grün = 1;\n";
const USER = 'import { helper } from "./lib";\nhelper(1);\n';

describe("A rename", () => {
  const uses = 'import { helper } from "./lib";\nexport const used = helper(2);\n';
  const symbol = { symbol: "helper", to: "aid" };
  const refused: [what: string, files: Files, args: object, because: RegExp][] = [
    [
      "too large",
      { "large.ts": large(uses) },
      symbol,
      /1 file that was not read: large\.ts \(1\.1 MB\)\. See with grep/,
    ],
    ["too large, the use at its end", { "large.ts": `${large('import "./lib";\n')}${uses}` }, symbol, /large\.ts/],
    ["minified", { "min.ts": minified(uses) }, symbol, /not read: min\.ts \(minified\)/],
    ["UTF-16, the other way round", { "wide.ts": swapped(uses) }, symbol, /not read: wide\.ts \(not UTF-8\)/],
    [
      "Latin-1",
      { "latin.ts": Buffer.from('import { grün } from "./lib";\ngrün;', "latin1") },
      { symbol: "grün", to: "blau" },
      /not read: latin\.ts \(not UTF-8\)/,
    ],
    [
      "a member",
      { "min.ts": minified('import { Box } from "./lib";new Box().size') },
      { symbol: "Box.size", to: "width" },
      /min\.ts/,
    ],
  ];
  for (const [what, files, args, because] of refused)
    test(`is refused where a file was not read that has the name: ${what}`, async () => {
      const { said, failed, standing } = await call(
        { "lib.ts": LIB, "user.ts": USER, ...files },
        "rename_symbol",
        args,
      );
      match(said, /^Cannot rename '.*' to '.*': it may be used in /);
      match(said, because);
      doesNotMatch(said, /\n/);
      ok(failed);
      equal(standing("lib.ts"), LIB);
    });

  const made: [what: string, files: Files][] = [
    ["has only a longer word", { "min.ts": minified('import { helpers } from "./helpers";helpers(1)') }],
    ["imports nothing", { "min.js": minified("var helper = 1;helper++;") }],
    ["is in another language", { "large.go": large("package a\n\nfunc helper() {}\n") }],
    ["is data", { "data.json": `{"helper":"${"y".repeat(1_100_000)}"}` }],
  ];
  for (const [what, files] of made)
    test(`is made where a file that was not read ${what}`, async () => {
      const { said } = await call({ "lib.ts": LIB, "user.ts": USER, ...files }, "rename_symbol", symbol);
      match(said, /^Renamed 'helper' to 'aid' in 3 places:\n/);
    });

  const total = "export const total = (n: number) => n;\nexport class Cart { sum() { return 1; } }\n";
  const setup = (code: string, rest = ""): string => `<script setup lang="ts">\n${code}\n</script>\n${rest}`;
  const page = (code: string): string => `<html><body><script type="module">\n${code}\n</script></body></html>\n`;
  const components: [what: string, files: Files, symbol: string, rows: RegExp | undefined][] = [
    [
      "a Vue component that imports it",
      { "A.vue": setup('import { total } from "./total";\ntotal(1);', "<template><p>{{ total(2) }}</p></template>") },
      "total",
      /:\nA\.vue:2: import \{ total \} from "\.\/total";\nA\.vue:3: total\(1\);\nA\.vue:5: <template>/,
    ],
    [
      "by way of another module",
      { "index.ts": 'export * from "./total";\n', "A.vue": setup('import { total } from "./index";\ntotal(1);') },
      "total",
      /^A\.vue:2:/m,
    ],
    ["from nowhere known", { "A.vue": setup('import { total } from "@/total";\ntotal(1);') }, "total", /^A\.vue:2:/m],
    [
      "a Svelte component",
      { "A.svelte": '<script>\nimport { total } from "./total";\n</script>\n{total(1)}\n' },
      "total",
      /^A\.svelte:2:/m,
    ],
    ["a page", { "a.html": page('import { total } from "./total.js";\ntotal(1);') }, "total", /^a\.html:2:/m],
    ["a name of its own", { "A.vue": setup("const total = 1;\nconsole.log(total);") }, "total", undefined],
    ["a property of that name", { "A.vue": setup("const n = item.total;") }, "total", undefined],
    [
      "another module's",
      { "other.ts": "export const total = 2;\n", "A.vue": setup('import { total } from "./other";\ntotal;') },
      "total",
      undefined,
    ],
    ["a package's", { "A.vue": setup('import { total } from "node:os";\ntotal;') }, "total", undefined],
  ];
  for (const [what, files, symbol, rows] of components)
    test(`${rows ? "is refused" : "is made"} where a component uses it: ${what}`, async () => {
      const args = { symbol, path: "total.ts", to: "renamed" };
      const { said, failed } = await call({ "total.ts": total, ...files }, "rename_symbol", args);
      equal(failed, rows !== undefined, said);
      match(
        said,
        rows ? /^Cannot rename '.*': components and pages use it too, and are not read by meaning:\n/ : /^Renamed/,
      );
      if (rows) match(said, rows);
    });
});

describe("An answer that may lack what was not read", () => {
  const files = {
    "lib.ts": LIB,
    "user.ts": USER,
    "large.ts": large('import { helper } from "./lib";\nexport function inLarge() { return helper(2); }\n'),
    "min.ts": minified('import { helper } from "./lib";export function minned(){return helper(3)}'),
    "go.mod": "module a\n",
    "lib.go": "package a\n\nfunc Helper() {}\n",
    "large.go": large("package a\n\nfunc inGo() { Helper() }\n"),
    "package-lock.json": `{"helper":"${"y".repeat(1_100_000)}"}`,
  };
  const all: [tool: string, args: object, expected: RegExp][] = [
    [
      "find_references",
      { symbol: "helper" },
      /\n\[Not read, though 'helper' stands there: large\.ts \(1\.1 MB\), min\.ts \(minified\); grep shows where\]$/,
    ],
    [
      "find_references",
      { symbol: "inLarge" },
      /^Cannot find a use of 'inLarge': in what was read, .*\n\[Not read, .*: large\.ts \(1\.1 MB\); grep shows where\]$/,
    ],
    ["find_references", { symbol: "Box" }, /^lib\.ts:2: [^[]*\[definition\]$/],
    [
      "find_definition",
      { symbol: "inLarge" },
      /^Cannot find a definition of 'inLarge': in what was read, nothing has that name\..*\n\[Not read, .*large\.ts/,
    ],
    [
      "find_symbols",
      { query: "minne" },
      /\n\[Not read, though 'minne' stands there: min\.ts \(minified\); grep shows where\]$/,
    ],
    ["get_function", { name: "inLarge" }, /in what was read, none has that name.*\n\[Not read, .*large\.ts/],
    [
      "get_function",
      { name: "inLarge", path: "large.ts" },
      /^Cannot show function 'inLarge': 'large\.ts' was not read \(1\.1 MB\)\. Try grep and read_file\.$/,
    ],
    [
      "get_dependents",
      { path: "lib.ts" },
      /^user\.ts:1: \.\/lib\n\[Not read, and may import it: large\.ts \(1\.1 MB\), min\.ts \(minified\)\]$/,
    ],
    [
      "get_dependencies",
      { path: "large.ts" },
      /^What 'large\.ts' imports is not known: it was not read \(1\.1 MB\)\. grep searches it\.$/,
    ],
    ["get_dependencies", { path: "user.ts" }, /^user\.ts:1: \.\/lib → lib\.ts \{helper\}$/],
    [
      "get_dependencies",
      {},
      /\n\[Not read, so that what these import is not counted: large\.go and large\.ts \(1\.1 MB\), min\.ts \(minified\)\]$/,
    ],
    [
      "rename_symbol",
      { symbol: "inLarge", to: "x" },
      /: in what was read, nothing has that name\..*\n\[Not read, .*large\.ts/,
    ],
    ["repo_map", { query: "minned" }, /^\[Not read: .*min\.ts \(minified\)\]$/m],
  ];
  for (const [tool, args, expected] of all)
    test(`says so: ${tool} ${JSON.stringify(args)}`, async () => match((await call(files, tool, args)).said, expected));
});

const MAX_COPIED_BYTES = 1_500_000; // the compiler and what reads PDFs are larger, and not needed

/** It copies the built program. */
const testAll = isAll ? test : () => {};
testAll(
  "a grammar that cannot be loaded is named by each answer that may lack its files, which a whole one reads later",
  async () => {
    const where = place();
    fs.writeFileSync(join(where.cwd, "a.py"), "def one(): pass\n");
    fs.writeFileSync(join(where.cwd, "b.go"), "package b\n\nfunc Two() {}\n");
    const copy = join(place().cwd, "dist");
    const isNeeded = (name: string) => !/\/types$|\.mjs$/.test(name) && fs.statSync(name).size < MAX_COPIED_BYTES;
    fs.cpSync(join(ROOT, "dist"), copy, { recursive: true, filter: isNeeded });
    fs.cpSync(join(ROOT, "package.json"), join(copy, "..", "package.json"));
    fs.writeFileSync(join(copy, "grammars", "go.wasm.br"), "no grammar");
    const asked = [
      ["find_definition", { symbol: "Two" }],
      ["find_references", { symbol: "Two" }],
      ["find_symbols", { query: "Two" }],
      ["get_function", { name: "Two" }],
      ["get_function", { name: "Two", path: "b.go" }],
      ["get_dependencies", { path: "b.go" }],
      ["get_dependencies", {}],
      ["get_structure", {}],
      ["get_todos", {}],
      ["repo_map", {}],
    ];
    const tool = `export default (zz) => zz.tool({ name: "each", description: "d", async run(_, ctx) {
    const said = [];
    for (const [name, args] of ${JSON.stringify(asked)}) said.push((await ctx.call(name, args)).text);
    said.push((await ctx.call("find_definition", { symbol: "one" })).text);
    return JSON.stringify(said);
  } });`;
    fs.writeFileSync(join(copy, "each.mjs"), tool);
    const env = { ...process.env, ZZ_HOME: where.home };
    const args = [join(copy, "zz.js"), "--plugin", join(copy, "each.mjs"), "--call", "each"];
    const said: string[] = JSON.parse(execFileSync(process.execPath, args, { cwd: where.cwd, env, encoding: "utf8" }));
    equal(said.pop(), "a.py:1: def one()");
    for (const [i, text] of said.entries())
      match(text, /b\.go.*the grammar of Go cannot be loaded: /, `${asked[i]![0]}: ${text}`);
    const { stdout } = await zz(where, ["--call", "find_definition", '{"symbol":"Two"}']);
    equal(stdout, "b.go:3: func Two()\n");
  },
);

test("a name that is found nowhere: what was not looked into is told", async () => {
  const files = Array.from({ length: 302 }, (_, i) => [`a${i}.py`, 'x = "ghost"\n']);
  const { said } = await call(Object.fromEntries(files), "find_references", { symbol: "ghost" });
  match(
    said,
    /^Cannot find a use of 'ghost': no code names it\..*\n\[Not looked at: 2 more files with that name; grep shows them\]$/,
  );
});

describe("A rename of a name that is only imported", () => {
  const spawnToRun = { symbol: "spawn", to: "run" };
  const from = (text: string): string => `import { spawn } from "nowhere-known";\n${text}`;
  test("takes the import, not an earlier string, comment or longer word", async () => {
    const files = {
      "a.ts": `const spawned = "spawn";\nconst text = "to spawn or not";\n/* the\n   spawn */\n${from("spawn(spawned, text);\n")}`,
    };
    const { said, standing } = await call(files, "rename_symbol", spawnToRun);
    equal(said, "Renamed 'spawn' to 'run' in 2 places:\na.ts: 2");
    equal(
      standing("a.ts"),
      'const spawned = "spawn";\nconst text = "to spawn or not";\n/* the\n   spawn */\nimport { spawn as run } from "nowhere-known";\nrun(spawned, text);\n',
    );
  });
  test("is refused where other files import it too", async () => {
    const files = { "a.ts": from("spawn(1);\n"), "b.ts": from("spawn(2);\n") };
    const { said, failed, standing } = await call(files, "rename_symbol", spawnToRun);
    ok(failed);
    match(
      said,
      /^Cannot rename 'spawn' to 'run': 2 files take it from elsewhere: a\.ts:1, b\.ts:1\. Choose one by path\.$/,
    );
    equal(standing("a.ts"), from("spawn(1);\n"));
    const one = await call(files, "rename_symbol", { ...spawnToRun, path: "b.ts" });
    match(one.said, /it would miss places whose imports lead nowhere known:\na\.ts:1: from "nowhere-known"\n/);
    equal(one.standing("a.ts"), from("spawn(1);\n"));
  });
  test("is refused where it is more than one thing", async () => {
    const files = { "a.ts": from("spawn(1);\nexport const o = { a: (x: any) => x.spawn };\n") };
    const { said, failed } = await call(files, "rename_symbol", spawnToRun);
    ok(failed);
    match(said, /^Cannot rename 'spawn' to 'run': 2 things are: a\.ts:1, a\.ts:3\. Choose one by path and line\.$/);
  });
  test("is refused where it is local in two places, unless a line says which", async () => {
    const text = "export function f(one: number) { return one; }\nexport function g(one: number) { return one; }\n";
    const files = { "a.ts": text };
    match(
      (await call(files, "rename_symbol", { symbol: "one", to: "two" })).said,
      /^Cannot rename 'one' to 'two': 2 things are: a\.ts:1, a\.ts:2\. Choose one by path and line\.$/,
    );
    const { said } = await call(files, "rename_symbol", { symbol: "one", to: "two", path: "a.ts", line: 2 });
    equal(said, "Renamed 'one' to 'two' in 2 places:\na.ts: 2");
  });
});

for (const [what, tokens, files, line] of [
  ["names the first", 500, 4, /^\[Not read: m0\.ts and m1\.ts and m2\.ts \(minified\) and 1 more\]$/m],
  ["counts them, where it is small", 100, 4, /^\[Not read: 4 files\]$/m],
  ["says nothing, where all was read", 500, 0, undefined],
] as const)
  test(`the map in the prompt tells within its tokens what was not read: it ${what}`, async (t) => {
    const fake = await fakeOpenAI([say("one.")]);
    t.after(fake.close);
    const own = Array.from({ length: 16 }, (_, i) => [`lib${i}.ts`, `export function helper${i}(a: number) {}\n`]);
    const others = Array.from({ length: files }, (_, i) => [`m${i}.ts`, minified("export const x = 1;")]);
    const settings = JSON.stringify({ symbols: { map: "always", tokens } });
    const where = place();
    for (const [name, text] of [["package.json", "{}"], ["zz.json", settings], ...own, ...others] as [string, string][])
      fs.writeFileSync(join(where.cwd, name), text);
    const config = ["--config", "zz.json"];
    const ran = await zz(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...config, "helper"]);
    equal(ran.code, 0, ran.stderr);
    const [system] = fake.requests.map(({ body }: any) => body.messages[0].content as string);
    const said = /--- REPO MAP ---\n([\s\S]*?)\n--- END REPO MAP ---/.exec(system!)![1]!;
    match(said, /lib\d+\.ts/);
    if (line) match(said, line);
    else doesNotMatch(said, /Not read/);
    const [note = ""] = /^Lines may have moved.*$/m.exec(said) ?? [];
    ok(countTokens(said.replace(note, "").trim()) <= tokens, said);
  });
