// What a project may hold that TypeScript's server was not made for: the places are all told, and
// where the server hangs, the index tells them by name.
import { deepEqual, match } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { needs } from "../../../../test/support/needs.ts";
import { harness } from "../../../../test/support/script.ts";

const USES = {
  "a.ts": "export const lamp = 1;\n",
  "src/b.ts": 'import { lamp } from "../a";\nlamp;\n',
};
const PLACES = ["a.ts:1", "src/b.ts:1", "src/b.ts:2"];
const placesIn = (text: string): string[] =>
  text.split("\n").flatMap((row) => /^(\S+:\d+): /.exec(row)?.[1] ?? []);

const CONFIGS: Record<string, string> = {
  "cut off": '{ "compilerOptions": {',
  empty: "",
  "of bytes": "\0\x01\xff\0",
  "a list": "[1, 2]",
  null: "null",
  "of strange types":
    '{ "compilerOptions": { "paths": 3, "lib": "x", "target": 7 }, "include": 5 }',
  "200,000 deep": "[".repeat(200_000),
  "led to a missing one": '{ "extends": "./none.json" }',
  "led to a folder": '{ "extends": "./src" }',
  "of no files": '{ "files": [] }',
  "of files that are not there": '{ "include": ["none/**"] }',
  "of projects that are not there": '{ "references": [{ "path": "./none" }] }',
  "a project of itself": '{ "references": [{ "path": "." }], "files": [] }',
  "of all files of the machine": '{ "include": ["/**/*", "../../**/*"] }',
  "of patterns with many stars": `{ "include": ["${"*a".repeat(40)}/**/${"*".repeat(300)}"] }`,
  "of options that were dropped":
    '{ "compilerOptions": { "target": "es3", "module": "amd", "moduleResolution": "node", "baseUrl": ".", "outFile": "x.js", "importsNotUsedAsValues": "error" } }',
};
for (const [what, config] of Object.entries(CONFIGS))
  needs("bwrap")(`all places are told where tsconfig.json is ${what}`, async (t) => {
    const zz = await harness({ own: true, files: { ...USES, "tsconfig.json": config } }, t);
    const { text } = await zz.call("find_references", { symbol: "lamp" });
    deepEqual(placesIn(text), PLACES, text);
  });

needs("bwrap")(
  "a tsconfig.json that leads to itself, which hangs the server, is told",
  async (t) => {
    const files = { ...USES, "tsconfig.json": '{ "extends": "./tsconfig.json" }' };
    const zz = await harness({ own: true, files, settings: { code: { seconds: 0.5 } } }, t);
    const { text } = await zz.call("find_references", { symbol: "lamp" });
    match(
      text,
      /^\[By name: .* since TypeScript's language server failed: it gave no answer in 0\.5 s/,
    );
    deepEqual(placesIn(text), PLACES, text);
  },
);

/** What TypeScript 4 and older took, and 7 refuses. */
const OLD: Record<string, string> = {
  "module for a namespace": "module Old { export const x = lamp; }",
  "import =": 'import a = require("../a");\na.lamp;',
  "export =": "const all = { lamp };\nexport = all;",
  "an assertion in angle brackets": "const x = <any>lamp;",
  "assert for an import": 'import json from "../c.json" assert { type: "json" };\njson + lamp;',
  "decorators of parameters": "class C { constructor(@lamp private x: number) {} }",
  "a triple slash": '/// <reference no-default-lib="true"/>\nlamp;',
  "an enum and declare global": "declare global { enum E { A = 1 } }\nlamp;",
  "a legacy octal": "const x = 010 + lamp;",
};
for (const [what, line] of Object.entries(OLD))
  needs("bwrap")(`uses beside ${what} are told`, async (t) => {
    const b = `import { lamp } from "../a";\n${line}\n`;
    const files = { ...USES, "src/b.ts": b, "c.json": "{}", "tsconfig.json": "{}" };
    const zz = await harness({ own: true, files }, t);
    const { text } = await zz.call("find_references", { symbol: "lamp" });
    const rows = b
      .split("\n")
      .flatMap((row, i) => (/\blamp\b/.test(row) ? `src/b.ts:${i + 1}` : []));
    deepEqual(placesIn(text), ["a.ts:1", ...rows], text);
  });

test("a project of 30,000 files is asked about, changed and asked about again", async (t) => {
  const files = { "tsconfig.json": "{}", "a.ts": USES["a.ts"] };
  const zz = await harness({ own: true, files, settings: { symbols: { most: 50_000 } } }, t);
  for (let i = 0; i < 30_000; i++) {
    const folder = join(zz.root, `d${i % 300}`);
    if (i < 300) mkdirSync(folder);
    const text =
      i % 3_000 ? `export const x${i} = ${i};\n` : 'import { lamp } from "../a";\nlamp;\n';
    writeFileSync(join(folder, `m${i}.ts`), text);
  }
  const ask = async () => placesIn((await zz.call("find_references", { symbol: "lamp" })).text);
  deepEqual((await ask()).length, 21);
  deepEqual((await ask()).length, 21); // from now on what changes is watched
  writeFileSync(join(zz.root, "d7", "m7.ts"), 'import { lamp } from "../a";\nlamp;\n');
  deepEqual((await ask()).length, 23);
});
