// Where a name is used, what else is called so, and what renaming it does. In the sources ⟦name⟧ stands where a use is to be
// found, ⟦!name⟧ where it is asked for.
import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { CompilerGate } from "zz";
import { type At, openService, type Place, type Renaming, type Service } from "../../../plugins/symbols/refs.ts";
import { scan } from "../../../plugins/symbols/scan.ts";
import { having } from "../../support/having.ts";
import { place } from "../../support/run.ts";
import { isAll } from "../../support/runs.ts";

type Files = Record<string, string>;

interface Project {
  root: string;
  service: Service;
  at: At;
  marked: string[]; // path:start
  write(path: string, text: string | null): void;
  read(path: string): string;
  asked: Set<string>; // every name that usersOf was asked for
}

/** Without the DOM, which takes longer to load than all else; "" for a project that has no config at all. */
const OPTIONS = { module: "esnext", moduleResolution: "bundler", strict: true, jsx: "preserve", lib: ["esnext"] };
const CONFIG = JSON.stringify({ compilerOptions: OPTIONS });

function project(sources: Files, links: Record<string, string> = {}, gate?: CompilerGate): Project {
  const where = place();
  const { cwd: root } = where;
  const put = (files: Files) => having(files, where);
  const texts = new Map<string, string>();
  const marked: string[] = [];
  let at: At | undefined;
  const write = (path: string, text: string | null) => {
    if (text === null) texts.delete(path);
    else texts.set(path, text);
    if (text === null) rmSync(join(root, path));
    else put({ [path]: text });
  };
  for (const [path, source] of Object.entries({ "tsconfig.json": CONFIG, ...sources })) {
    if (path === "tsconfig.json" && !source) continue;
    let text = source;
    for (let mark = /⟦(!?)([^⟧]*)⟧/.exec(text); mark; mark = /⟦(!?)([^⟧]*)⟧/.exec(text)) {
      const [whole, asked, name] = mark;
      text = text.slice(0, mark.index) + name + text.slice(mark.index + whole.length);
      marked.push(`${path}:${mark.index}`);
      if (asked) at = { path, line: text.slice(0, mark.index).split("\n").length, name: name! };
    }
    write(path, text);
  }
  put(Object.fromEntries(Object.entries(links).map(([path, target]) => [path, `->${target}`])));
  const asked = new Set<string>();
  const isCode = (path: string) => /\.[cm]?[jt]sx?$/.test(path) && !path.includes("node_modules/");
  const code = () => [...texts.keys()].filter(isCode);
  const usersOf = (names: Set<string>) => {
    for (const name of names) asked.add(name);
    return code().filter((path) => [...names].some((name) => texts.get(path)!.includes(name)));
  };
  const facts = (path: string) => scan(path, texts.get(path)!);
  const globals = () => code().filter((path) => facts(path).global);
  const [of, exportsOf] = [(path: string) => facts(path).imports, (path: string) => facts(path).exports];
  const service = openService(root, { usersOf, globals, passing: { of, exportsOf, taking: code } }, gate);
  service.update(code());
  after(() => service.close());
  return {
    ...{ root, service, marked: marked.sort(), at: at!, asked },
    write: (path, text) => {
      const before = code().join();
      write(path, text);
      if (isCode(path) && code().join() !== before) service.update(code());
    },
    read: (path) => readFileSync(join(root, path), "utf8"),
  };
}

const placesOf = (service: Service, at: At): Place[] => service.references(at).flatMap(({ places }) => places);
const found = (service: Service, at: At): string[] =>
  [...new Set(placesOf(service, at).map(({ path, start }) => `${path}:${start}`))].sort();

interface Case {
  title: string;
  to: string;
  files: Files;
  links: Record<string, string>;
  after: Files;
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
a member of what the base is made from, where that lies in a namespace beside an interface
  a.ts: import type { B } from "./b";\nexport interface A extends B.In { ⟦!foo⟧: 1 }
  b.ts: import type { D } from "./d";\nexport interface B { foo: 2 }\nexport declare namespace B { interface In extends D {} }
  d.ts: export interface D { ⟦foo⟧: number }
  e.ts: import type { D } from "./d";\nexport const d = (it: D) => it.⟦foo⟧;
an import under another name
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: import { ⟦foo⟧ as ⟦bar⟧ } from "./a";\n⟦bar⟧ + 1;\nexport {};
an export under another name
  a.ts: const ⟦!foo⟧ = 1;\nexport { ⟦foo⟧ as ⟦bar⟧ };
  b.ts: import { ⟦bar⟧ } from "./a";\nexport const two = ⟦bar⟧ + 1;
  c.ts: const bar = 2;\nexport { bar };
a namespace import that is passed on under another name
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: import * as a from "./a";\nexport { a as other };
  c.ts: import { other } from "./b";\nother.⟦foo⟧;
a default function, imported under any name
  a.ts: export default function ⟦!foo⟧() {}\n⟦foo⟧();
  b.ts: import ⟦Whatever⟧ from "./a";\n⟦Whatever⟧();
  c.ts: import Other from "./d";\nOther();
  d.ts: export default function other() {}
a default that is passed on under a name
  a.ts: export default class ⟦!Foo⟧ {}
  b.ts: export { ⟦default⟧ as ⟦Bar⟧ } from "./a";
  c.ts: import { ⟦Bar⟧ } from "./b";\nnew ⟦Bar⟧();
a default without a name, asked for where it is imported
  a.ts: export ⟦default⟧ { a: 1 };
  b.ts: import ⟦!it⟧ from "./a";\n⟦it⟧;
  c.ts: import ⟦other⟧ from "./a";\n⟦other⟧;
one of two of the same name in two files
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: export const foo = 2;
  c.ts: import { ⟦foo⟧ } from "./a";\n⟦foo⟧;
  d.ts: import { foo } from "./b";\nfoo;
a property through a function of another file that gives back what it gets
  a.ts: export interface A { ⟦!foo⟧: number }
  first.ts: export const first = <T>(all: T[]): T => all[0]!;
  c.ts: import type { A } from "./a";\nimport { first } from "./first";\nexport const c = (all: A[]) => first(all).⟦foo⟧;
a property that only inference leads to, through a namespace and two modules that pass it on
  a.ts: const inner = () => ({ ⟦!foo⟧: 1 });\nexport const make = () => inner();
  b.ts: export * from "./a";
  c.ts: export * as things from "./b";
  d.ts: import * as all from "./c";\nexport const d = all.things.make().⟦foo⟧;\nconst foo = 1;\nfoo;
a property through what a file adds to TypeScript's own types
  a.ts: export interface A { ⟦!foo⟧: number }
  b.ts: declare global {\n  interface Array<T> { first: import("./a").A }\n}\nexport {};
  c.ts: export const c = [1].first.⟦foo⟧;
a property through a global of a script
  a.ts: export interface A { ⟦!foo⟧: number }
  b.d.ts: declare const theOne: import("./a").A;
  c.ts: export const c = theOne.⟦foo⟧;
a key of an object that another file's type asks for, and where that type is used
  a.ts: export interface A { ⟦foo⟧: number }\nexport const take = (a: A) => a.⟦foo⟧;
  b.ts: import { take } from "./a";\ntake({ ⟦!foo⟧: 1 });\nexport {};
  c.ts: import type { A } from "./a";\nexport const c = (a: A) => a.⟦foo⟧;\nexport const other = { foo: 1 };
a constructor, and who calls it through an heir
  a.ts: export class A {\n  ⟦!constructor⟧(readonly x = 1) {}\n}\nnew ⟦A⟧();
  b.ts: import { ⟦A⟧ as Base } from "./a";\nexport class B extends Base {}\nexport class C extends Base { constructor() { ⟦super⟧(2); } }
  c.ts: import { B } from "./b";\nnew ⟦B⟧();
a key that is no identifier
  a.ts: export interface A {\n  "⟦!some-key⟧": number;\n}
  b.ts: import type { A } from "./a";\nexport const f = (a: A) => a["⟦some-key⟧"];
a name in a pattern that begins on an earlier line
  a.ts: export const {\n  one,\n  ⟦!two⟧,\n} = { one: 1, ⟦two⟧: 2 };
  b.ts: import { ⟦two⟧ } from "./a";\n⟦two⟧;
the exports of a .cjs file and what requires them
  a.cjs: function ⟦!foo⟧() {}\nmodule.exports = { ⟦foo⟧ };
  b.js: const { ⟦foo⟧ } = require("./a.cjs");\n⟦foo⟧();
  c.cjs: const a = require("./a.cjs");\na.⟦foo⟧();\nrequire("./a.cjs").⟦foo⟧();
  d.mjs: import { ⟦foo⟧ } from "./a.cjs";\nimport a from "./a.cjs";\n⟦foo⟧(a.⟦foo⟧);
  e.ts: import { ⟦foo⟧ } from "./a.cjs";\n⟦foo⟧();
a script's global
  a.ts: var ⟦!shared⟧ = 1;
  b.ts: ⟦shared⟧ + 1;\nexport {};
  c.ts: const shared = 1;\nshared;\nexport {};
a declared global
  tsconfig.json:
  a.ts: declare global {\n  interface Window {\n    ⟦!shared⟧: number;\n  }\n}\nexport {};
  b.ts: window.⟦shared⟧;
a property that another file adds to an interface
  a.ts: export interface A { one: number }
  b.ts: declare module "./a" {\n  interface A {\n    ⟦!two⟧: number;\n  }\n}\nexport {};
  c.ts: import type { A } from "./a";\nexport const f = (a: A) => a.one + a.⟦two⟧;
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
a config that is broken
  tsconfig.json: { "compilerOptions": { "strict":
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: import { ⟦foo⟧ } from "./a";\n⟦foo⟧;
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

for (const [i, { title, files, links }] of REFERENCES.entries())
  test(`references() finds ${title}`, () => {
    const { service, at, marked } = project(files, links);
    deepEqual(found(service, at), marked);
    if (!isAll && i % 4) return;
    while (service.warm()); // and once everything is loaded, the same
    deepEqual(found(service, at), marked);
  });

const KINDS: [source: string, kinds: string][] = [
  ["export let ⟦!foo⟧ = 1;\nfoo = 2;\nfoo;", "definition write read"],
  ["export interface ⟦!Foo⟧ {}\nexport let x: Foo;\nexport class C implements Foo {}", "definition type type"],
  ["const ⟦!foo⟧ = 1;\nexport { foo };", "definition export"],
  ["/** {@link foo} */\nexport const ⟦!foo⟧ = 1;", "comment definition"],
];
for (const [source, kinds] of KINDS)
  test(`references() says what each is: ${kinds} in ${JSON.stringify(source)}`, () => {
    const { service, at } = project({ "a.ts": source });
    const places = placesOf(service, at).sort((a, b) => a.start - b.start);
    equal(places.map(({ kind }) => kind).join(" "), kinds);
  });

test("references() tells an import from a use, by line, column and text", () => {
  const b = 'import { foo } from "./a";\n\n  foo;\n';
  const { service, at } = project({ "a.ts": "export const ⟦!foo⟧ = 1;", "b.ts": b });
  const [, imported, used] = placesOf(service, at);
  const [path, text] = ["b.ts", 'import { foo } from "./a";'];
  deepEqual(imported, { path, line: 1, column: 10, start: 9, end: 12, text, kind: "import" });
  deepEqual(used, { path, line: 3, column: 3, start: 30, end: 33, text: "foo;", kind: "read" });
});

test("references() leaves out what TypeScript's own search does: a type's brackets, where the file has no other such name", () => {
  const type = 'import type { A } from "./a";\nexport type F = A["foo"];';
  const { service, at } = project({
    "a.ts": "export interface A { ⟦!foo⟧: number }",
    "b.ts": type,
    "c.ts": `${type}\nexport const f = (a: A) => a.foo;`,
  });
  deepEqual(found(service, at), ["a.ts:21", "c.ts:49", "c.ts:85"]);
});

test("references() asks only for names under which the symbol is passed on", () => {
  const { service, at, asked } = project({
    "a.ts": "export const ⟦!foo⟧ = 1;",
    "b.ts": 'import { foo as own } from "./a";\nown;',
    "c.ts": 'export { foo as given } from "./a";\nexport const other = 1;',
  });
  service.references(at);
  deepEqual([...asked].sort(), ["foo", "given"]);
});

/** The files of the project that a question reads. */
function readFor(files: Files, name?: string): string[] {
  const read = new Set<string>();
  const { service, at } = project(
    files,
    {},
    {
      ...{ mayLookUp: () => true, mayList: () => true, leadsOut: () => {}, unread: () => [], again: () => {} },
      mayRead: (file) => Boolean(read.add(file.replace(/^.*\//, ""))),
    },
  );
  service.references(name ? { ...at, name } : at);
  return [...read].filter((file) => file in files).sort();
}
const AROUND = {
  "heavy.ts": 'import "./heavier";\nexport const heavy = { foo: 1 };',
  "heavier.ts": "declare global {\n  var heavier: 1;\n}\nexport {};",
  "other.ts": 'import { heavy } from "./heavy";\nheavy.foo;',
};
const READ = cases(String.raw`
whose types lead to a member
  a.ts: export interface A { ⟦!foo⟧: number }\nexport interface B { foo: number }
  b.ts: import type { A } from "./a";\nexport const b = (a: A) => a.foo;
  c.ts: export const c = { foo: 1 };
  reads a.ts b.ts heavier.ts
that import the name
  a.ts: export const ⟦!foo⟧ = 1;
  b.ts: import { heavy } from "./heavy";\nimport { foo } from "./a";\nheavy;
  reads a.ts b.ts
whose types decide
  a.ts: import { heavy } from "./heavy";\nexport const it = { ⟦!foo⟧: heavy };
  reads a.ts heavier.ts heavy.ts other.ts
`);
for (const { title, files, words } of READ)
  test(`references() reads the files ${title}`, () => deepEqual(readFor({ ...AROUND, ...files }), words));

test("references() goes on to another name, with what it has", () => {
  const own = project({
    "a.ts": "export const ⟦!foo⟧ = 1;",
    "b.ts": 'import { foo } from "./a";\nimport { bar } from "./c";\n/** {@link bar} */\nexport const it = foo;',
    "c.ts": "export const bar = 1;",
  });
  equal(found(own.service, own.at).length, 3);
  deepEqual(found(own.service, { path: "c.ts", line: 1, name: "bar" }), ["b.ts:36", "b.ts:65", "c.ts:13"]);
  own.write("b.ts", 'import { foo } from "./a";');
  deepEqual(found(own.service, { path: "c.ts", line: 1, name: "bar" }), ["c.ts:13"]);
  equal(found(own.service, own.at).length, 2);
});

test("references() does without a file that was deleted, whether it was told or not", () => {
  const user = 'import { foo } from "./a";';
  const own = project({ "a.ts": "export const ⟦!foo⟧ = 1;", "b.ts": user, "c.ts": user });
  equal(found(own.service, own.at).length, 3);
  own.write("b.ts", null);
  equal(found(own.service, own.at).length, 2);
  rmSync(join(own.root, "c.ts"));
  equal(found(own.service, own.at).length, 1);
});
test("references() goes by a config that was not there before", () => {
  const own = project({ "tsconfig.json": "", "a.ts": "export const ⟦!foo⟧ = 1;", "c.ts": 'import { foo } from "@";' });
  equal(found(own.service, own.at).length, 1);
  own.write("tsconfig.json", JSON.stringify({ compilerOptions: { ...OPTIONS, paths: { "@": ["./a.ts"] } } }));
  equal(found(own.service, own.at).length, 2);
});
test("check() sees that a package was installed", () => {
  const own = project({ "a.ts": 'import { one } from "lib";\none;' });
  deepEqual(lines(own.service, ["a.ts"]), ["a.ts:1:21 2307"]);
  for (const [path, text] of Object.entries(LIB)) own.write(path, text);
  own.write("node_modules/.package-lock.json", "{}");
  deepEqual(lines(own.service, ["a.ts"]), []);
});
test("references() takes a file that is nested too deep as empty", () => {
  const deep = `import { foo } from "./a"; export const x = ${"[".repeat(50_000)}`;
  const own = project({ "a.ts": "export const ⟦!foo⟧ = 1;", "b.ts": deep });
  equal(found(own.service, own.at).length, 1);
});

test("references() refuses a name that is not there, a file that is not, and one that is no code", () => {
  const { service } = project({ "a.ts": "export const foo = 1;\n\nexport const later = 1;", "a.md": "foo" });
  for (const [path, name, message] of [
    [
      "a.ts",
      "bar",
      /^Cannot find 'bar' at a\.ts:1: nothing there has that name for TypeScript\. Use grep, or read_file there\.$/,
    ],
    ["b.ts", "foo", /^Cannot look into 'b\.ts': there is no such file\. Name one that exists\.$/],
    ["a.md", "foo", /^Cannot look into 'a\.md': it is neither TypeScript nor JavaScript\./],
  ] as const)
    throws(() => service.references({ path, line: 1, name }), { message });
});

// ── Names that nothing in the project defines ──────────────────────────────────────────────────────────────

const TYPED = {
  "node_modules/paths/package.json": '{ "name": "paths", "types": "index.d.ts" }',
  "node_modules/paths/index.d.ts": "export declare function join(a: string): string;\n",
};
/** Each way to take `join` from a package; the places of all of them are one group. */
const TAKING = {
  "a.ts": 'import { ⟦join⟧ } from "paths";\n⟦join⟧("[^join]"); // join',
  "b.ts": 'import * as all from "paths";\nall.⟦join⟧("join"); all[⟦"join"⟧]("b");',
  "c.ts": 'const { ⟦join⟧ } = await import("paths");\n⟦join⟧("c");\nexport {};',
  "d.ts": 'import { ⟦join⟧ as ⟦other⟧ } from "paths";\n⟦other⟧("d"); export const x = { ⟦other⟧ };',
  "e.ts": 'import { ⟦join⟧ } from "paths";\nexport { ⟦join⟧ };\nexport const it = { ⟦join⟧ };',
  "f.js": 'const all = require("paths");\nall.⟦join⟧("f");',
  "g.js": 'const { ⟦join⟧ } = require("paths");\n⟦join⟧("g");',
  "h.ts": '(await import("paths")).⟦join⟧("h");\nexport {};',
};
const LOCALS = { "z.ts": "export const z = (join: string) => { join; ({ join: 1 }); };" };
for (const [title, types] of Object.entries({ "a package with types": TYPED, "a package that is not there": {} }))
  test(`named() finds what comes from ${title}, however it is taken, and nothing else in the same group`, () => {
    const { service, marked } = project({ ...types, ...TAKING, ...LOCALS });
    const paths = [...Object.keys(TAKING), "z.ts", "gone.ts"];
    const { groups, left } = service.named("join", paths);
    equal(left, 0);
    const found = groups.map(({ places }) => places.map(({ path, start }) => `${path}:${start}`).sort());
    deepEqual(found[0], marked);
    deepEqual(found.slice(1).flat(), ["z.ts:18", "z.ts:37", "z.ts:46"]);
    match(groups[0]!.symbol, /^"(?:paths|index)"\.join$/);
  });

test("named() tells apart what has the same name, and says what each place is", () => {
  const { service } = project({
    ...TYPED,
    "a.ts": 'import { join } from "paths";\njoin("a");',
    "b.ts": 'export const b = ["b"].join();',
    "c.ts": "export const c = (join: string) => join;",
    "d.ts": 'import join from "./e";\njoin;',
    "e.ts": "export default 1;",
  });
  const { groups } = service.named("join", ["a.ts", "b.ts", "c.ts", "d.ts"]);
  deepEqual(
    groups.map(({ symbol, places }) => [symbol, places.map(({ path, kind }) => `${path} ${kind}`).join(", ")]),
    [
      ['"index".join', "a.ts import, a.ts read"],
      ["Array.join", "b.ts read"],
      ['"e".default', "d.ts import, d.ts read"],
      ["join, local in each place", "c.ts definition, c.ts read"],
    ],
  );
});

// ── Renaming ───────────────────────────────────────────────────────────────────────────────────────────────

function apply(own: Project, { edits }: Renaming): string[] {
  const changed = new Set<string>();
  for (const { path, start, end, text } of edits.toReversed()) {
    const before = own.read(path);
    own.write(path, before.slice(0, start) + text + before.slice(end));
    changed.add(path);
  }
  return [...changed].sort();
}

const RENAMES = cases(String.raw`
a function before which its uses stand, in another file and its own → bar
  b.ts: foo();\nexport function ⟦!foo⟧() {}
  a.ts: import { foo } from "./b";\nfoo();
  b.ts becomes bar();\nexport function bar() {}
  a.ts becomes import { bar } from "./b";\nbar();
a constant in a shorthand property → bar
  a.ts: const ⟦!foo⟧ = 1;\nexport const it = { foo };\nit.foo;
  a.ts becomes const bar = 1;\nexport const it = { foo: bar };\nit.foo;
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
a method in all that implement it → go
  a.ts: export interface A {\n  ⟦!run⟧(): void;\n}\nexport class B implements A { run() {} }\nexport class C { run() {} }
  b.ts: import { B, C } from "./a";\nnew B().run();\nnew C().run();
  a.ts becomes export interface A {\n  go(): void;\n}\nexport class B implements A { go() {} }\nexport class C { run() {} }
  b.ts becomes import { B, C } from "./a";\nnew B().go();\nnew C().run();
a property in brackets and in quotes → bar
  a.ts: export interface A {\n  ⟦!foo⟧: number;\n}\nexport const a: A = { "foo": 1 };\na["foo"];\n"foo";
  a.ts becomes export interface A {\n  bar: number;\n}\nexport const a: A = { "bar": 1 };\na["bar"];\n"foo";
a key that is no identifier → other-key
  a.ts: export const a = {\n  "⟦!some-key⟧": 1,\n};\na["some-key"];
  a.ts becomes export const a = {\n  "other-key": 1,\n};\na["other-key"];
a component → Card
  a.tsx: export const ⟦!Box⟧ = () => null;\nexport const b = <Box></Box>;
  jsx.d.ts: declare namespace JSX { interface IntrinsicElements {} type Element = null }
  a.tsx becomes export const Card = () => null;\nexport const b = <Card></Card>;
a default, where it is called so → bar
  a.ts: export default function ⟦!foo⟧() {}\nfoo();
  b.ts: import foo from "./a";\nfoo();
  c.ts: import own from "./a";\nown();
  a.ts becomes export default function bar() {}\nbar();
  b.ts becomes import bar from "./a";\nbar();
behind a byte order mark and two-unit letters → bar
  a.ts: \ufeffexport const sad = "😢", ⟦!foo⟧ = 1;\nfoo;
  a.ts becomes \ufeffexport const sad = "😢", bar = 1;\nbar;
`);
for (const { title, to, files, after: expected } of RENAMES)
  test(`rename() changes ${title}`, () => {
    const own = project(files);
    const before = own.service.check(Object.keys(files).filter((path) => /\.tsx?$/.test(path))).length;
    const renaming = own.service.rename(own.at, to);
    equal(renaming.refused, undefined);
    deepEqual(
      renaming.edits,
      renaming.edits.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.start - b.start)),
    );
    deepEqual(apply(own, renaming), Object.keys(expected).sort());
    for (const [path, text] of Object.entries(expected)) equal(own.read(path), text);
    equal(own.service.check(Object.keys(files).filter((path) => /\.tsx?$/.test(path))).length, before);
  });

const LIB = {
  "node_modules/lib/package.json": '{ "name": "lib", "types": "index.d.ts" }',
  "node_modules/lib/index.d.ts": "export interface Plugin { run(): void }\nexport declare const one: 1;",
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
what a script takes from a module, which would be left behind → bar
  a.ts: export function ⟦!foo⟧() {}
  b.cjs: const { foo } = require("./a.ts");\nfoo();
  says it is also used at b\.cjs:\d, by a require\(\) that cannot be followed\.$
`);
for (const { title, to, files, says } of REFUSED)
  test(`rename() refuses ${title}`, () => {
    const own = project({ ...LIB, ...files });
    const { edits, refused } = own.service.rename(own.at, to);
    match(refused ?? "", says);
    deepEqual(edits, []);
  });

test("rename() writes nothing, and leaves the answers as they were", () => {
  const own = project({ "a.ts": "export const ⟦!foo⟧ = 1;\n⟦foo⟧;" });
  equal(own.service.rename(own.at, "bar").edits.length, 2);
  equal(own.read("a.ts"), "export const foo = 1;\nfoo;");
  deepEqual(found(own.service, own.at), own.marked);
});

// ── Checking ───────────────────────────────────────────────────────────────────────────────────────────────

const lines = (service: Service, paths: string[]) =>
  service.check(paths).map(({ path, line, column, code }) => `${path}:${line}:${column} ${code}`);

const CHECKS = cases(String.raw`
syntax
  a.ts: const = 1;\nexport {};
  reports a.ts:1:7 1134, a.ts:1:9 1134
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
a project's older TypeScript, which was not strict unasked
  tsconfig.json: {}
  node_modules/typescript/package.json: { "version": "5.9.3" }
  a.ts: export const f = (a) => a;
`);
for (const { title, files, words } of CHECKS)
  test(`check() reports ${title}`, () => {
    const { service } = project(files);
    const names = Object.keys(files).filter((path) => /^\w+\.[jt]sx?$/.test(path));
    deepEqual(lines(service, names), words);
  });

test("references() goes by the config that a new file is for, where one only names others", () => {
  const paths = { module: "esnext", moduleResolution: "bundler", lib: ["esnext"], paths: { "@/*": ["./src/*"] } };
  const own = project({
    "tsconfig.json": '{ "files": [], "references": [{ "path": "./tsconfig.app.json" }] }',
    "tsconfig.app.json": JSON.stringify({ include: ["src"], compilerOptions: paths }),
    "src/a.ts": "export const ⟦!foo⟧ = 1;",
  });
  equal(found(own.service, own.at).length, 1);
  own.write("src/b.ts", 'import { foo } from "@/a";');
  equal(found(own.service, own.at).length, 2);
  deepEqual(own.service.check(["src/b.ts"]), []);
});
test("warm() takes steps until nothing is left, and begins anew after a change", () => {
  const own = project({ "a.ts": "export const ⟦!foo⟧ = { a: 1 };\nfoo.a;" });
  ok(own.service.warm());
  while (own.service.warm());
  ok(!own.service.warm());
  own.write("a.ts", "export const foo = { a: 2 };\nfoo.a;");
  ok(own.service.warm());
});
