// Files that the index lists and did not read, and components that TypeScript does not: an answer
// that may lack something because of them says so, and a rename that would miss a use in them is
// refused.
// biome-ignore-all format: rows of tables, in few lines
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { harness } from "../../../../test/support/script.ts";
import { warmCall as call, type Files } from "../../../../test/support/warm.ts";
import { countTokens } from "../../rank.ts";

const large = (text: string, comment = "//"): string => text + `${comment} ${"x".repeat(98)}\n`.repeat(11_000);
const minified = (text: string): string => `${text}/*${"y".repeat(6_000)}*/`;
const swapped = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, "utf16le").swap16()]);
const LIB = "export function helper(a: number) { return a; }\nexport class Box { size = 1 }\nexport const grün = 1;\n";
const USER = 'import { helper } from "./lib";\nhelper(1);\n';

describe("A rename", () => {
  const uses = 'import { helper } from "./lib";\nexport const used = helper(2);\n';
  const symbol = { symbol: "helper", to: "aid" };
  const rename = (files: Files, args: object) =>
    call({ "lib.ts": LIB, "user.ts": USER, ...files }, "rename_symbol", args);
  const refused: [what: string, files: Files, args: object, because: RegExp][] = [
    ["size", { "large.ts": large(uses) }, symbol, /1 file that was not read: large\.ts \(1\.1 MB\)\. See with grep/],
    ["UTF-16, the other way round", { "wide.ts": swapped(uses) }, symbol, /not read: wide\.ts \(not UTF-8\)/],
  ];
  for (const [what, files, args, because] of refused)
    test(`is refused where a file was not read that has the name: ${what}`, async () => {
      const { said, failed, standing } = await rename(files, args);
      match(said, /^Cannot rename '.*' to '.*': it may be used in /);
      match(said, because);
      doesNotMatch(said, /\n/);
      ok(failed);
      equal(standing("lib.ts"), LIB);
    });

  test("is made where a file that was not read has only a longer word", async () => {
    const { said } = await rename({ "min.ts": minified('import { helpers } from "./helpers";helpers(1)') }, symbol);
    match(said, /^Renamed 'helper' to 'aid' in 3 places:\n/);
  });

  const total = "export const total = (n: number) => n;\nexport class Cart { sum() { return 1; } }\n";
  const setup = (code: string, rest = ""): string => `<script setup lang="ts">\n${code}\n</script>\n${rest}`;
  const page = (code: string): string => `<html><body><script type="module">\n${code}\n</script></body></html>\n`;
  const components: [what: string, files: Files, rows: RegExp | undefined][] = [
    ["a Vue component that imports it", { "A.vue": setup('import { total } from "./total";\ntotal(1);', "<template><p>{{ total(2) }}</p></template>") },
      /:\nA\.vue:2: import \{ total \} from "\.\/total";\nA\.vue:3: total\(1\);\nA\.vue:5: <template>/],
    ["from nowhere known", { "A.vue": setup('import { total } from "@/total";\ntotal(1);') }, /^A\.vue:2:/m],
    ["a page", { "a.html": page('import { total } from "./total.js";\ntotal(1);') }, /^a\.html:2:/m],
    ["a name of its own", { "A.vue": setup("const total = 1;\nconsole.log(total);") }, undefined],
    ["another module's", { "o.ts": "export const total = 2;\n", "A.vue": setup('import { total } from "./o";\ntotal;') }, undefined],
  ];
  for (const [what, files, rows] of components)
    test(`${rows ? "is refused" : "is made"} where a component uses it: ${what}`, async () => {
      const args = { symbol: "total", path: "total.ts", to: "renamed" };
      const { said, failed } = await call({ "total.ts": total, ...files }, "rename_symbol", args);
      equal(failed, rows !== undefined, said);
      const used = /^Cannot rename '.*': components and pages use it too, and are not read by meaning:\n/;
      for (const one of rows ? [used, rows] : [/^Renamed/]) match(said, one);
    });
});

describe("An answer that may lack what was not read", () => {
  const files = {
    "lib.ts": LIB,
    "user.ts": USER,
    "large.ts": large('import { helper } from "./lib";\nexport function inLarge() { return helper(2); }\n'),
    "m.ts": minified('import { helper } from "./lib";export function minned(){return helper(3)}'),
    "go.mod": "module a\n",
    "lib.go": "package a\n\nfunc Helper() {}\n",
    "large.go": large("package a\n\nfunc inGo() { Helper() }\n"),
    "package-lock.json": `{"helper":"${"y".repeat(1_100_000)}"}`,
  };
  const all: [tool: string, args: object, expected: RegExp][] = [
    ["find_references", { symbol: "helper" }, /\n\[Not read, though 'helper' stands there: large\.ts \(1\.1 MB\), m\.ts \(minified\); grep shows where\]$/],
    ["find_references", { symbol: "inLarge" }, /^Cannot find a use of 'inLarge': in what was read, .*\n\[Not read, .*: large\.ts \(1\.1 MB\); grep shows where\]$/],
    ["get_function", { name: "inLarge", path: "large.ts" }, /^Cannot show function 'inLarge': 'large\.ts' was not read \(1\.1 MB\)\. Try grep and read_file\.$/],
    ["get_dependents", { path: "lib.ts" }, /^user\.ts:1: \.\/lib\n\[Not read, and may import it: large\.ts \(1\.1 MB\), m\.ts \(minified\)\]$/],
    ["get_dependencies", { path: "large.ts" }, /^What 'large\.ts' imports is not known: it was not read \(1\.1 MB\)\. grep searches it\.$/],
    ["get_dependencies", {}, /\n\[Not read, so that what these import is not counted: large\.go and large\.ts \(1\.1 MB\), m\.ts \(minified\)\]$/],
  ];
  for (const [tool, args, expected] of all)
    test(`says so: ${tool} ${JSON.stringify(args)}`, async () => match((await call(files, tool, args)).said, expected));
});

describe("The imports of a folder are those that cross its border:", () => {
  const files = {
    "a/one.ts": 'import { x } from "./two";\nimport { y } from "../b/y";\nexport const z = x + y;\n',
    "a/two.ts": 'import fs from "node:fs";\nexport const x = fs.sep;\n',
    "b/y.ts": "export const y = 1;\n",
    "main.ts": 'import { z } from "./a/one";\nimport { x } from "./a/two";\nz + x;\n',
    "docs/a.md": "x",
  };
  for (const [tool, path, expected] of [
    ["get_dependencies", "a", "a/one.ts:2: ../b/y → b/y.ts {y}\na/two.ts:1: node:fs → builtin {default as fs}"],
    ["get_dependencies", "b", "'b' imports nothing from outside of it."],
    ["get_dependents", "a", "main.ts:1: ./a/one, ./a/two"],
    ["get_dependents", "b", "a/one.ts:2: ../b/y"],
    ["get_dependents", ".", "Nothing outside of '.' imports a file in it."],
    ["get_dependents", "docs", /^Cannot list what imports 'docs': it holds no such code/],
  ] as [string, string, string | RegExp][])
    test(`${tool} of ${path}`, async () => {
      const { said } = await call(files, tool, { path });
      if (typeof expected === "string") equal(said, expected);
      else match(said, expected);
    });
});

test("a name that is found nowhere: what was not looked into is told", async () => {
  const files = Array.from({ length: 302 }, (_, i) => [`a${i}.py`, 'x = "ghost"\n']);
  const { said } = await call(Object.fromEntries(files), "find_references", { symbol: "ghost" });
  match(said, /^Cannot find a use of 'ghost': no code names it\..*\n/);
  match(said, /\n\[Not looked at: 2 more files with that name; grep shows them\]$/);
});

describe("A rename of a name that is only imported", () => {
  const spawnToRun = { symbol: "spawn", to: "run" };
  const from = (text: string): string => `import { spawn } from "nowhere-known";\n${text}`;
  test("takes the import, not an earlier string, comment or longer word", async () => {
    const before = 'const spawned = "spawn";\nconst text = "to spawn or not";\n/* the\n   spawn */\n';
    const files = { "a.ts": before + from("spawn(spawned, text);\n") };
    const { said, standing } = await call(files, "rename_symbol", spawnToRun);
    equal(said, "Renamed 'spawn' to 'run' in 2 places:\na.ts: 2");
    equal(standing("a.ts"), `${before}import { spawn as run } from "nowhere-known";\nrun(spawned, text);\n`);
  });
  test("is refused where other files import it too", async () => {
    const files = { "a.ts": from("spawn(1);\n"), "b.ts": from("spawn(2);\n") };
    const { said, failed, standing } = await call(files, "rename_symbol", spawnToRun);
    ok(failed);
    const why =
      /^Cannot rename 'spawn' to 'run': 2 files take it from elsewhere: a\.ts:1, b\.ts:1\. Choose one by path\.$/;
    match(said, why);
    equal(standing("a.ts"), from("spawn(1);\n"));
    const one = await call(files, "rename_symbol", { ...spawnToRun, path: "b.ts" });
    match(one.said, /it would miss places whose imports lead nowhere known:\na\.ts:1: from "nowhere-known"\n/);
    equal(one.standing("a.ts"), from("spawn(1);\n"));
  });
  test("is refused where it is local in two places, unless a line says which", async () => {
    const text = "export function f(one: number) { return one; }\nexport function g(one: number) { return one; }\n";
    const files = { "a.ts": text };
    const rename = (more: object) => call(files, "rename_symbol", { symbol: "one", to: "two", ...more });
    const two = /^Cannot rename 'one' to 'two': 2 things are: a\.ts:1, a\.ts:2\. Choose one by path and line\.$/;
    match((await rename({})).said, two);
    equal((await rename({ path: "a.ts", line: 2 })).said, "Renamed 'one' to 'two' in 2 places:\na.ts: 2");
  });
});

for (const [what, tokens, line] of [
  ["names the first", 500, /^\[Not read: m0\.ts and m1\.ts and m2\.ts \(minified\) and 1 more\]$/m],
  ["counts them, where it is small", 100, /^\[Not read: 4 files\]$/m],
] as const)
  test(`the map in the prompt tells within its tokens what was not read: it ${what}`, async (t) => {
    const own = Array.from({ length: 16 }, (_, i) => [`lib${i}.ts`, `export function helper${i}(a: number) {}\n`]);
    const others = Array.from({ length: 4 }, (_, i) => [`m${i}.ts`, minified("export const x = 1;")]);
    const files = { "package.json": "{}", ...Object.fromEntries([...own, ...others]) };
    const zz = await harness({ own: true, settings: { symbols: { map: "always", tokens } }, files }, t);
    await zz.ask("helper");
    const [, said = ""] = /--- REPO MAP ---\n([\s\S]*?)\n--- END REPO MAP ---/.exec(zz.requests[0]!.system!) ?? [];
    match(said, /lib\d+\.ts/);
    match(said, line);
    ok(countTokens(said.replace(/^Lines may have moved.*$/m, "").trim()) <= tokens, said);
  });
