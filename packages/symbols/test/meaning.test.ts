// Where a name is used, what else is called so, and what renaming it does, by the tools and a real
// language server. In the sources ⟦name⟧ stands where a use is to be found, ⟦!name⟧ where it is
// asked for.
import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { Harness } from "../../../sdk/testing.ts";
import { type Files, warm } from "../../../test/support/warm.ts";
import type { Group, Problem } from "../meaning/code-uses.ts";

type Texts = Record<string, string>;
interface Asked {
  path: string;
  line: number;
  symbol: string;
}
interface Project {
  zz: Harness;
  at: Asked;
  marked: string[]; // path:start
}

/**
 * Without the DOM, which takes longer to load than all else; "" for a project that has no config at
 * all.
 */
const OPTIONS = {
  module: "esnext",
  moduleResolution: "bundler",
  strict: true,
  jsx: "preserve",
  lib: ["esnext"],
};
const CONFIG = JSON.stringify({ compilerOptions: OPTIONS });

/** zz in a project with these files. */
async function project(sources: Texts, links: Texts = {}): Promise<Project> {
  const files: Files = {};
  const marked: string[] = [];
  let at: Asked | undefined;
  for (const [path, source] of Object.entries({ "tsconfig.json": CONFIG, ...sources })) {
    if (path === "tsconfig.json" && !source) continue;
    let text = source;
    for (let mark = /⟦(!?)([^⟧]*)⟧/.exec(text); mark; mark = /⟦(!?)([^⟧]*)⟧/.exec(text)) {
      const [whole, asked, name] = mark;
      text = text.slice(0, mark.index) + name + text.slice(mark.index + whole.length);
      marked.push(`${path}:${mark.index}`);
      if (asked) at = { path, line: text.slice(0, mark.index).split("\n").length, symbol: name! };
    }
    files[path] = text;
  }
  for (const [path, target] of Object.entries(links)) files[path] = `->${target}`;
  return { zz: await warm(files), at: at!, marked: marked.sort() };
}

async function groups(zz: Harness, at: object): Promise<Group[]> {
  const { data, failed, text } = await zz.call("find_references", at);
  equal(failed, undefined, text);
  return data as Group[];
}
const found = async (zz: Harness, at: object): Promise<string[]> => {
  const places = (await groups(zz, at)).flatMap(({ places }) => places);
  return [...new Set(places.map(({ path, start }) => `${path}:${start}`))].sort();
};

interface Case {
  title: string;
  to: string;
  files: Texts;
  links: Record<string, string>;
  after: Texts;
  says: RegExp;
  words: string[]; // what it reads or reports
}

/** Cases as text: a title, a line for each file, and what is to come of them. */
function cases(text: string): Case[] {
  const entries = text.trim().split(/\n(?! )/);
  return entries.map((entry) => {
    const [head, ...rows] = entry.split("\n");
    const [title, to = ""] = head!.split(" → ");
    const made: Case = { title: title!, to, files: {}, links: {}, after: {}, says: /./, words: [] };
    for (const row of rows) {
      const [, name, how, written] = /^ {2}(\S+?)(:| ->| becomes|(?= )) ?(.*)$/.exec(row)!;
      const content = written!.replaceAll("\\n", "\n").replaceAll("\\ufeff", "\ufeff");
      if (how === ":") made.files[name!] = content;
      else if (how === " ->") made.links[name!] = content;
      else if (how === " becomes") made.after[name!] = content;
      else if (name === "says") made.says = new RegExp(written!);
      else made.words = written!.split(name === "reads" ? " " : ", ");
    }
    return made;
  });
}

const REFERENCES = cases(String.raw`
both sides of a merge conflict, from the first
  a.ts: <<<<<<< HEAD\nexport function ⟦!foo⟧() {}\nexport const x = 1;\n=======\nexport function ⟦foo⟧() {}\n⟦foo⟧();\n>>>>>>> 0454af4 (change)\n
  b.ts: import { ⟦foo⟧ } from "./a";\n⟦foo⟧();
what only the other side of a conflict defines, with what both come from
  a.ts: <<<<<<< HEAD\n⟦foo⟧();\n||||||| 1234567\n⟦foo⟧;\n=======\nexport const ⟦!foo⟧ = () => 1;\n>>>>>>> 0454af4 (change)\n
a default that is passed on under a name
  a.ts: export default class ⟦!Foo⟧ {}
  b.ts: export { ⟦default⟧ as ⟦Bar⟧ } from "./a";
  c.ts: import { ⟦Bar⟧ } from "./b";\nnew ⟦Bar⟧();
a default without a name, asked for where it is imported
  a.ts: export ⟦default⟧ { a: 1 };
  b.ts: import ⟦!it⟧ from "./a";\n⟦it⟧;
  c.ts: import ⟦other⟧ from "./a";\n⟦other⟧;
a constructor, and who calls it through an heir
  a.ts: export class A {\n  ⟦!constructor⟧(readonly x = 1) {}\n}\nnew ⟦A⟧();
  b.ts: import { ⟦A⟧ as Base } from "./a";\nexport class B extends Base {}\nexport class C extends Base { constructor() { ⟦super⟧(2); } }
  c.ts: import { B } from "./b";\nnew ⟦B⟧();
the exports of a .cjs file and what requires them
  a.cjs: function ⟦!foo⟧() {}\nmodule.exports = { ⟦foo⟧ };
  b.js: const { ⟦foo⟧ } = require("./a.cjs");\n⟦foo⟧();
  c.cjs: const a = require("./a.cjs");\na.⟦foo⟧();\nrequire("./a.cjs").⟦foo⟧();
  d.mjs: import { ⟦foo⟧ } from "./a.cjs";\nimport a from "./a.cjs";\n⟦foo⟧(a.⟦foo⟧);
  e.ts: import { ⟦foo⟧ } from "./a.cjs";\n⟦foo⟧();
a declared global
  tsconfig.json:
  a.ts: declare global {\n  interface Window {\n    ⟦!shared⟧: number;\n  }\n}\nexport {};
  b.ts: window.⟦shared⟧;
a path alias of another package's own config
  one/tsconfig.json: { "compilerOptions": { "moduleResolution": "bundler", "module": "esnext" } }
  one/a.ts: export const ⟦!foo⟧ = 1;
  two/tsconfig.json: { "compilerOptions": { "moduleResolution": "bundler", "module": "esnext", "paths": { "@one": ["../one/a.ts"] } } }
  two/b.ts: import { ⟦foo⟧ } from "@one";\n⟦foo⟧;
another package of the workspace
  packages/one/package.json: { "name": "one", "types": "./src/index.ts" }
  packages/one/src/index.ts: export * from "./a";
  packages/one/src/a.ts: export const ⟦!foo⟧ = 1;
  packages/two/src/b.ts: import { ⟦foo⟧ } from "one";\n⟦foo⟧;
  packages/two/node_modules/one -> ../../one
what a script takes apart of a module
  a.ts: export function ⟦!foo⟧() {}
  b.cjs: const { ⟦foo⟧ } = require("./a.ts");\n⟦foo⟧();
  c.js: const { ⟦foo⟧: ⟦bar⟧ } = require("./a");\n⟦bar⟧();
an import() that a function gives
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: export const load = () => import("./a");
  c.ts: import { load } from "./b";\n(await load()).⟦foo⟧;\nload().then((all) => all.⟦foo⟧);
a module that stars, names and defaults pass on
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: export * as ns from "./a";
  c.ts: export * from "./b";\nexport { ns as other } from "./b";
  d.ts: import { other } from "./c";\nexport default other;
  e.ts: import it from "./d";\nimport * as all from "./c";\nit.⟦foo⟧;\nall.ns.⟦foo⟧;
  f.ts: import * as all from "./c";\nexport const { ns } = all;
  g.ts: import { ns } from "./f";\nns.⟦foo⟧;
a name, and no use of what an earlier export * has under that name
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: export const foo = 2;
  c.ts: export * from "./b";
  d.ts: export * from "./c";\nexport * from "./a";
  e.ts: import * as all from "./d";\nall.foo;
  g.ts: import { ⟦foo⟧ } from "./a";\n⟦foo⟧;
a name in JSDoc, under its own name and another
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: import type { ⟦foo⟧ as ⟦bar⟧ } from "./a";\n/** {@link ⟦bar⟧} */\nexport const it = 1;
  c.ts: import * as ns from "./a";\n/** {@link ns.⟦foo⟧} */\nexport const it = 1;
`);

for (const { title, files, links } of REFERENCES)
  test(`find_references finds ${title}`, async () => {
    const { zz, at, marked } = await project(files, links);
    deepEqual(await found(zz, at), marked);
  });

const KINDS: [source: string, kinds: string][] = [
  ["export let ⟦!foo⟧ = 1;\nfoo = 2;\nfoo;", "definition write read"],
  ["const ⟦!foo⟧ = 1;\nexport { foo };", "definition export"],
  ["/** {@link foo} */\nexport const ⟦!foo⟧ = 1;", "comment definition"],
];

for (const [source, kinds] of KINDS)
  test(`find_references says what each is: ${kinds} in ${JSON.stringify(source)}`, async () => {
    const { zz, at } = await project({ "a.ts": source });
    const places = (await groups(zz, at))
      .flatMap(({ places }) => places)
      .sort((a, b) => a.start - b.start);
    equal(places.map(({ kind }) => kind).join(" "), kinds);
  });

// ── Names that nothing in the project defines ────────────────────────────────────────────────────

const TYPED = {
  "node_modules/paths/package.json": '{ "name": "paths", "types": "index.d.ts" }',
  "node_modules/paths/index.d.ts": "export declare function join(a: string): string;\n",
};
/** Each way to take `join` from a package; the places of all of them are one group. */
const TAKING = {
  "a.ts": 'import { ⟦join⟧ } from "paths";\n⟦join⟧("[^join]"); // join',
  "b.ts": 'import * as all from "paths";\nall.⟦join⟧("join"); all["⟦join⟧"]("b");',
  "c.ts": 'const { ⟦join⟧ } = await import("paths");\n⟦join⟧("c");\nexport {};',
  "d.ts": 'import { ⟦join⟧ as ⟦other⟧ } from "paths";\n⟦other⟧("d"); export const x = { ⟦other⟧ };',
  "e.ts": 'import { ⟦join⟧ } from "paths";\nexport { ⟦join⟧ };\nexport const it = { ⟦join⟧ };',
  "f.js": 'const all = require("paths");\nall.⟦join⟧("f");',
  "g.js": 'const { ⟦join⟧ } = require("paths");\n⟦join⟧("g");',
  "h.ts": '(await import("paths")).⟦join⟧("h");\nexport {};',
};
const LOCALS = { "z.ts": "export const z = (join: string) => { join; ({ join: 1 }); };" };

for (const [title, types] of Object.entries({
  "a package with types": TYPED,
  "a package that is not there": {},
}))
  test(`find_references finds what comes from ${title}, however it is taken, and nothing else in the same group`, async () => {
    const { zz, marked } = await project({ ...types, ...TAKING, ...LOCALS });
    const [first, ...others] = (await groups(zz, { symbol: "join" })).map(({ places }) =>
      places.map(({ path, start }) => `${path}:${start}`).sort(),
    );
    deepEqual(first, marked);
    deepEqual(others.flat().sort(), ["z.ts:18", "z.ts:37", "z.ts:46"]);
  });

// ── Renaming ─────────────────────────────────────────────────────────────────────────────────────

const RENAMES = cases(String.raw`
a function before which its uses stand, in another file and its own → bar
  b.ts: foo();\nexport function ⟦!foo⟧() {}
  a.ts: import { foo } from "./b";\nfoo();
  b.ts becomes bar();\nexport function bar() {}
  a.ts becomes import { bar } from "./b";\nbar();
what is passed on, which keeps its name there → bar
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: export { foo } from "./a";
  c.ts: import { foo } from "./b";\nfoo;
  a.ts becomes export const bar = 1;
  b.ts becomes export { bar as foo } from "./a";
what is passed on by a star → bar
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: export * from "./a";
  c.ts: import { foo } from "./b";\nfoo;
  a.ts becomes export const bar = 1;
  c.ts becomes import { bar } from "./b";\nbar;
a key that is no identifier → other-key
  a.ts: export interface A {\n  "⟦!some-key⟧": number;\n}\nexport const f = (a: A) => a["some-key"];
  a.ts becomes export interface A {\n  "other-key": number;\n}\nexport const f = (a: A) => a["other-key"];
a default, where it is called so → bar
  a.ts: export default function ⟦!foo⟧() {}\nfoo();
  b.ts: import foo from "./a";\nfoo();
  c.ts: import own from "./a";\nown();
  a.ts becomes export default function bar() {}\nbar();
  b.ts becomes import bar from "./a";\nbar();
what a script takes by require(), which keeps its name there → bar
  a.ts: export function ⟦!foo⟧() {}
  b.cjs: const { foo } = require("./a.ts");\nfoo();
  c.cjs: const { foo: own } = require("./a.ts");\nown();
  d.cjs: const all = require("./a.ts");\nall.foo();
  a.ts becomes export function bar() {}
  b.cjs becomes const { bar: foo } = require("./a.ts");\nfoo();
  c.cjs becomes const { bar: own } = require("./a.ts");\nown();
  d.cjs becomes const all = require("./a.ts");\nall.bar();
what is taken from a package that is not built, and passed on from there under its name → bar
  packages/one/package.json: { "name": "one", "main": "dist/index.js" }
  packages/one/src/index.ts: export function ⟦!foo⟧() {}
  b.ts: import { foo } from "one";\nfoo();\nexport const it = { foo };
  c.ts: export { foo } from "one";
  d.ts: import { foo } from "./c";\nfoo();
  package.json: { "workspaces": ["packages/*"] }
  packages/one/src/index.ts becomes export function bar() {}
  b.ts becomes import { bar } from "one";\nbar();\nexport const it = { foo: bar };
  c.ts becomes export { bar as foo } from "one";
what is passed on under its name to a script → bar
  a.ts: const ⟦!foo⟧ = 1;\nexport { foo };
  b.cjs: const { foo } = require("./a.ts");\nfoo();
  a.ts becomes const bar = 1;\nexport { bar as foo };
behind a byte order mark and two-unit letters → bar
  a.ts: \ufeffexport const sad = "😢", ⟦!foo⟧ = 1;\nfoo;
  a.ts becomes \ufeffexport const sad = "😢", bar = 1;\nbar;
`);

for (const { title, to, files, after: expected } of RENAMES)
  test(`rename_symbol changes ${title}`, async () => {
    const { zz, at } = await project(files);
    const before = Object.fromEntries(Object.keys(files).map((path) => [path, zz.read(path)]));
    const { failed, text } = await zz.call("rename_symbol", { ...at, to });
    equal(failed, undefined, text);
    for (const path of Object.keys(files)) equal(zz.read(path), expected[path] ?? before[path]);
  });

const LIB = {
  "node_modules/lib/package.json": '{ "name": "lib", "types": "index.d.ts" }',
  "node_modules/lib/index.d.ts":
    "export interface Plugin { run(): void }\nexport declare const one: 1;",
};

const REFUSED = cases(String.raw`
to no identifier → a b
  a.ts: export const ⟦!foo⟧ = 1;
  says ^Cannot rename 'foo' to 'a b': 'a b' is not an identifier\. Use letters, digits, _ and \$ only\.$
a constructor → make
  a.ts: export class A { ⟦!constructor⟧() {} }
  says it is not a name that could be another\. Rename what it stands for\.$
to what an inner scope hides, though the types fit → bar
  a.ts: const ⟦!foo⟧ = 1;\nexport const f = () => {\n  const bar = 2;\n  return foo + bar;\n};
  says 'bar' is taken: at a\.ts:4 it would mean something else\. Choose another name\.$
an inner name to an outer one that is used there → bar
  a.ts: const bar = 1;\nexport const f = () => {\n  const ⟦!foo⟧ = 2;\n  return foo + bar;\n};
  says 'bar' is taken: at a\.ts:4 it means something that this would become one with\. Choose another name\.$
to a name that another of the stars has → bar
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: export const bar = 1;
  index.ts: export * from "./a";\nexport * from "./b";
  c.ts: import { foo } from "./index";\nfoo;
  says 'bar' is taken|it would be wrong at (index|c)\.ts:
to a name of the standard library that is used here → parseInt
  a.ts: const ⟦!foo⟧ = (_: string) => 1;\nfoo;\nexport const n = parseInt;
  says 'parseInt' is taken: at a\.ts:3\b
what an interface of a package demands → go
  a.ts: import type { Plugin } from "lib";\nexport class A implements Plugin {\n  ⟦!run⟧() {}\n}
  says in a package|outside the project's code|it would be wrong
`);

for (const { title, to, files, says } of REFUSED)
  test(`rename_symbol refuses ${title}`, async () => {
    const { zz, at } = await project({ ...LIB, ...files });
    const before = Object.keys(files).map((path) => zz.read(path));
    const { text, failed } = await zz.call("rename_symbol", { ...at, to });
    equal(failed, true, text);
    match(text, says);
    const now = Object.keys(files).map((path) => zz.read(path));
    deepEqual(now, before);
  });

// ── Checking ─────────────────────────────────────────────────────────────────────────────────────

async function lines(zz: Harness, paths: string[]): Promise<string[]> {
  const { data } = await zz.call("check_types", { paths });
  return (data as Problem[]).map(
    ({ path, line, column, code }) => `${path}:${line}:${column} ${code}`,
  );
}

const CHECKS = cases(String.raw`
by no config: strict
  tsconfig.json:
  a.ts: export const f = (a) => a;
  reports a.ts:1:19 7006
the marks of a merge conflict, and those alone
  a.ts: <<<<<<< HEAD\nexport const a = 1;\n||||||| 1234567\nexport const a: string = 0;\n=======\nexport const a = b;\n>>>>>>> 0454af4 (change)\n
  reports a.ts:1:1 1185, a.ts:3:1 1185, a.ts:5:1 1185, a.ts:7:1 1185
a script only where it asks for it
  a.js: /** @type {string} */ export const a = 1;
  b.js: // @ts-check\n/** @type {string} */ export const b = 1;
  reports b.js:2:36 2322
`);

for (const { title, files, words } of CHECKS)
  test(`check_types reports ${title}`, async () => {
    const { zz } = await project(files);
    const paths = Object.keys(files).filter((path) => /^\w+\.[jt]sx?$/.test(path));
    deepEqual(await lines(zz, paths), words);
  });

test("check_types says that a project has an older TypeScript", async () => {
  const older = { "node_modules/typescript/package.json": '{ "version": "5.9.3" }' };
  const { zz } = await project({ ...older, "a.ts": "export const a = 1;\n" });
  const { text } = await zz.call("check_types", { paths: ["a.ts"] });
  match(text, /^No problems in 1 file\.\n\[Checked by TypeScript 7; the project has 5\.9\.3, /);
});

// ── Calls, and what is defined elsewhere ─────────────────────────────────────────────────────────

const CALLS = {
  "a.ts": "export function foo() { return bar(); }\nexport function bar() { return 1; }\nfoo();\n",
  "b.ts": 'import { foo as it } from "./a";\nexport const b = () => it();\n',
};
for (const [callees, told] of [
  [
    false,
    "2 callers of foo (a.ts:1):\na.ts, outside of functions:\n  a.ts:3: foo();\nb (b.ts:2):\n  b.ts:2: export const b = () => it();",
  ],
  [
    true,
    "1 callee of foo (a.ts:1):\nbar (a.ts:2):\n  a.ts:1: export function foo() { return bar(); }",
  ],
] as const)
  test(`find_calls tells ${callees ? "what a function calls" : "who calls a function"}`, async () => {
    const { zz } = await project(CALLS);
    equal((await zz.call("find_calls", { symbol: "foo", callees })).text, told);
  });

test("find_definition follows what a package defines; get_function says what a function gives", async () => {
  const { zz } = await project({
    ...TYPED,
    ...CALLS,
    "c.ts": 'import { join } from "paths";\njoin("c");\n',
  });
  const { text } = await zz.call("find_definition", { symbol: "join" });
  equal(text, "node_modules/paths/index.d.ts:1: (alias) function join(a: string): string");
  match(
    (await zz.call("get_function", { name: "foo" })).text,
    /^a\.ts:1-1 {2}function foo\(\): number\n/,
  );
});
