// What a zz that runs says after files changed is what a new one would say.
import { deepEqual, equal } from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Result } from "zz";
import { put } from "../../../test/support/repository.ts";
import { place } from "../../../test/support/run.ts";
import { random, runs, SEED } from "../../../test/support/runs.ts";
import { harness } from "../../../test/support/script.ts";
import { embed } from "../../../zz.ts";

const OPTIONS = { module: "esnext", moduleResolution: "bundler", lib: ["es5"], types: [] };
const config = (more: object) => JSON.stringify({ compilerOptions: { ...OPTIONS, ...more } });
/** What each file may say. Nobody lists those in node_modules/. */
const TEXTS: Record<string, string[]> = {
  "tsconfig.json": [
    config({}),
    config({ paths: { "@/*": ["./*"] } }),
    config({ paths: { "@/*": ["./sub/*"] } }),
    "",
  ],
  "a.ts": ["./b", "@/b", "./gen/b", "p", "./sub"].map(
    (from) => `import { bee } from "${from}";\nexport const a: string = bee;\n`,
  ),
  "b.ts": [
    "export let bee = 1",
    'export let bee = ""',
    'export { bee } from "./gen/b";',
    'export * from "./sub/b";',
  ],
  "sub/b.ts": [
    "export const bee = 2;\n",
    'export { a as bee } from "../a";\n',
    "export const other = 1;\n",
  ],
  "sub/index.ts": ['export * from "./b";\n', 'export { bee } from "@/b";\n'],
  "gen/b.ts": ["export const bee = 3;\n", 'export const bee = "";\n'],
  "node_modules/p/index.d.ts": [
    "export declare const bee: number;\n",
    "export declare const bee: string;\n",
  ],
};
const NAMES = Object.keys(TEXTS);

test("whatever happens to files, uses and problems of types are those that a new zz finds", async (t) => {
  const zz = await harness({ own: true }, t);
  const { root } = zz;
  const listed = () =>
    NAMES.filter((name) => /^(?!node)[^.]+\.ts$/.test(name) && existsSync(join(root, name)));
  const saying = async (call: (tool: string, args: object) => Promise<Result>) => {
    const problems = listed().length && (await call("check_types", { paths: listed() })).text;
    const uses: string[] = [];
    for (const symbol of ["a", "bee"])
      uses.push(sorted((await call("find_references", { symbol })).text));
    return { problems, uses };
  };
  const next = random(SEED);
  const one = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)]!;
  const done: string[] = [];
  for (let round = 0; round < runs(4, 40); round++) {
    for (let i = round ? one([1, 1, 2, 3]) : 12; i > 0; i--) {
      const name = one(NAMES);
      const text = next() < 0.3 ? "" : one(TEXTS[name]!);
      if (text) put(root, { [name]: text });
      else rmSync(join(root, name), { force: true });
      if (name.startsWith("node_modules"))
        put(root, { "node_modules/.package-lock.json": `{"at":${done.length}}` });
      done.push(`${name}: ${text}`);
    }
    const fresh = await embed({ root, home: place().home, save: false });
    deepEqual(await saying(zz.call), await saying(fresh.call), done.slice(-8).join("\n"));
    await fresh.close();
    done.push("asked");
  }
});
/** Which of several things of one name comes first depends on what was asked before. */
const sorted = (text: string): string => text.split("\n").sort().join("\n");

test("what was asked before changes no answer: packages that are not built, files that come where none was indexed", async (t) => {
  const files = {
    "package.json": '{"workspaces":["packages/*"]}',
    "tsconfig.json": "{}",
    "packages/x/package.json": '{"name":"x","main":"dist/index.js"}',
    "packages/x/src/index.ts": "export const bee = 3;\n",
    "a.ts": 'import { bee } from "x";\nbee;\n',
    "b.ts": 'import { made } from "./made/b";\nmade;\n',
  };
  const zz = await harness(
    { own: true, live: true, settings: { symbols: { ignore: ["made"] } }, files },
    t,
  );
  const ask = async (tool: string, args: object) =>
    (await zz.call(tool, args)).text.split("\n[Of ")[0]!.split("\n");
  const check = async () =>
    (await ask("check_types", { paths: ["a.ts", "b.ts"] })).map((row) => row.slice(0, 22));
  for (const _ of [1, 2]) {
    deepEqual(await check(), ["a.ts:1:21: error TS230", "b.ts:1:22: error TS230"]);
    deepEqual(await ask("find_references", { symbol: "bee" }), [
      "packages/x/src/index.ts:1: export const bee = 3;  [definition]",
      'a.ts:1: import { bee } from "x";  [import]',
      "a.ts:2: bee;",
    ]);
  }
  zz.write("made/b.ts", "export const made = 1;\n");
  deepEqual(await check(), ["a.ts:1:21: error TS230"]);
});

test("the map in the prompt is that of the conversation which goes on, and the same to the letter where no code changed", async (t) => {
  const words = ["alpha", "beta", "gamma", "delta", "kappa", "sigma"];
  const code = words.map((word) => [`${word}.ts`, `export function ${word}() {\n  return 1;\n}\n`]);
  const settings = { symbols: { tokens: 60, wait: 60_000, waitAgain: 60_000 } };
  const files = { "package.json": "{}", ...Object.fromEntries(code) };
  const zz = await harness({ own: true, live: true, settings, files }, t);
  /**
   * Which function the map in the prompt begins with; and whether a map came with the message, as
   * news.
   */
  const told = async (text: string): Promise<string> => {
    await zz.ask(text);
    const { system, messages } = zz.requests.at(-1)!;
    const [, top] = /REPO MAP ---(?:\\n|\n)(\w+)/.exec(JSON.stringify(system)) ?? [];
    return `${top}${JSON.stringify(messages.at(-1)).includes("REPO MAP") ? ", and news" : ""}`;
  };
  equal(await told("what does alpha do in alpha.ts?"), "alpha");
  const { id } = zz.chat;
  await zz.command("/new");
  equal(await told("what does sigma do in sigma.ts?"), "sigma");
  equal(await told("go on"), "sigma");
  await zz.command(`/sessions load ${id}`);
  equal(await told("go on"), "alpha");
  await zz.command("/clear");
  equal(await told("what does kappa do in kappa.ts?"), "kappa");
  await zz.restart();
  await zz.command("/new");
  equal(await told("what does gamma do in gamma.ts?"), "gamma");
  await zz.command(`/sessions load ${id}`);
  equal(await told("go on"), "kappa");
});
