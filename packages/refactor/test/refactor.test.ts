// biome-ignore-all format: rows of tables, in few lines
// refactor: what each action makes of files, and what it refuses, with nothing changed.
import { deepEqual, equal, match } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, say } from "../../../test/support/fake/openai.ts";
import { repl } from "../../../test/support/repl.ts";
import { place } from "../../../test/support/run.ts";
import { rare } from "../../../test/support/runs.ts";
import { type Files, warm } from "../../../test/support/warm.ts";

const OPTIONS = '"lib":["es5"],"types":[],"strict":true,"module":"esnext","moduleResolution":"bundler"';
const TS = { "tsconfig.json": `{"compilerOptions":{${OPTIONS},"paths":{"@/*":["./src/*"]}}}` };
const ADD = "export function add(a: number, b: number): number {\n  return a + b;\n}\n";
const USE = 'import { add } from "./add";\nexport const x = add(add(1, 2), 3);\n';
const BOTH = { ...TS, "src/add.ts": ADD, "src/use.ts": USE };
const code = (text: string) => ({ ...TS, "a.ts": text });
const signature = (...parameters: string[]) => ({ action: "change_signature", path: "src/add.ts", name: "add", parameters });
const extract = (what: string, code: string, more = {}) => ({ action: `extract_${what}`, path: "a.ts", code, name: "made", ...more });
const move = (path: string, to: string) => ({ action: "move", path, to });
const DOES = `declare function g(): number;
let n = 0, last;
last = g();
const q = String.raw\`x\`, id = n++, z = (n = 5), m = delete process.env.A;
class Stat { static x = g(); }
for (const item of [null]) { n++; }
export { n };
`;
const QUERIES = (way: string) =>
  [..."raw inline url worker sharedworker url&no-inline react".split(" ").map((query) => `import "${way}?${query}";`), `import "${way}#part";`,
    `export * from "${way}?component";`, `import("${way}?url");`, `new URL("${way}?x", import.meta.url);`, ""].join("\n");
const ALIASED = (way: string) => `import a from "${way}?raw";\nimport b from "${way}";\nexport const late = [a, b, import("${way}?url")];\n`;
const GLOB = 'import.meta.glob("./*.ts", { base: "./none" });\nexport {};\n';
const AUTOMATIC = { "tsconfig.json": TS["tsconfig.json"].replace("{\"lib", "{\"jsx\":\"react-jsx\",\"lib") };
const JSX_REACT = 'import React from "react";\nexport const x = <p />;\n';
const tidy = (action: string, path = "a.ts") => ({ action, path });

const MODULES = 'declare module "*";\ndeclare namespace JSX { interface IntrinsicElements { p: object } }\n';
const JSX_H = 'import { h } from "preact";\nexport const x = <p />;\n';
/** What organize_imports leaves as it is, unless a third text says otherwise. */
const LEFT: [what: string, text: string, made?: string][] = [
  ["effects in their order", 'import "z";\nimport "b";\nimport "a";\n'],
  ["imports around effects", 'import { c } from "c";\nimport "z";\nimport { a } from "a";\nc(a);\n'],
  ["what stands between effects, in order", 'import "z";\nimport { c } from "c";\nimport { b } from "b";\nimport "a";\nc(b);\n',
    'import "z";\nimport { b } from "b";\nimport { c } from "c";\nimport "a";\nc(b);\n'],
  ["effects in CRLF", 'import "z";\r\nimport "a";\r\n'],
  ["effects in one line", 'import "z"; import "a";\n'],
  ["React for JSX", 'import React from "react";\nexport const x = <p />;\n'],
  ["all of React for JSX", 'import * as React from "react";\nexport const x = <p />;\n'],
  ["the factory that a bundler may name", JSX_H],
  ["the factory of a pragma", '/** @jsx make */\nimport { make } from "m";\nexport const x = <p />;\n'],
  ["fragments of a pragma", '/** @jsxFrag Many */\nimport { Many } from "m";\nexport const x = <></>;\n'],
  ["a comment for TypeScript", '// @ts-ignore\nimport { z } from "z";\nimport { a } from "a";\nz(a);\n'],
  ["a comment for eslint", 'import { z } from "z";\n// eslint-disable-next-line import/order\nimport { a } from "a";\nz(a);\n'],
  ["a comment at the end of a line", 'import { z } from "z"; // biome-ignore lint: so\nimport { a } from "a";\nz(a);\n'],
  ["a comment within", 'import { z /* first */ } from "z";\nimport { a } from "a";\nz(a);\n'],
  ["a comment about one that nothing uses", 'import { a } from "a";\n// for its types\nimport { z } from "z";\na();\n'],
];
/** What nothing uses goes, wherever it stands beside what stays. */
const [A, B, U, V, Z, R] = ["a", "b", "u", "v"].map((name) => `import { ${name} } from "${name}";\n`).concat('import "z";\n', 'import React from "react";\n');
const P = "export const x = <p />;\n";
const BESIDE: [what: string, text: string, made: string][] = [
  ["before an effect", `${U}${Z}`, Z!],
  ["after an effect", `${Z}${U}`, Z!],
  ["on both sides of an effect", `${U}${Z}${V}`, Z!],
  ["at the end of the file", `${Z}import { u } from "u";`, 'import "z";'],
  ["two before, two after", `${U}${V}${Z}${V!.replace('"v"', '"w"')}import D from "d";\n`, Z!],
  ["between used ones between effects", `${Z}${B}${U}${A}import "y";\na(b);\n`, `${Z}${A}${B}import "y";\na(b);\n`],
  ["a part of one", `import { a, u } from "a";\n${Z}a();\n`, `${A}${Z}a();\n`],
  ["in CRLF", `${U}${Z}${V}`.replaceAll("\n", "\r\n"), Z!.replace("\n", "\r\n")],
  ["before React", U! + R + P, R! + P],
  ["after React", R! + U + P, R! + P],
  ["on both sides of React, sorted", B! + U + R + V + `export const x = <p id={b} />;\n`, B! + R + `export const x = <p id={b} />;\n`],
  ["of names, where JSX is", `${B}${U}${A}export const x = <p id={a(b)} />;\n`, `${A}${B}export const x = <p id={a(b)} />;\n`],
  ["in a JSX file, a type", `import type { T } from "t";\n${R}${P}`, R! + P],
  ["before a comment about the next", `${U}// eslint-disable-next-line x\n${A}a();\n`, `// eslint-disable-next-line x\n${A}a();\n`],
  ["after a comment at the end of a line", `import { a } from "a"; // so\n${U}a();\n`, 'import { a } from "a"; // so\na();\n'],
  ["below a comment about the file", `// the file\n${U}${Z}`, `// the file\n${Z}`],
  ["in many lines, without semicolons", 'import {\n  u,\n  v,\n} from "u"\nimport "z"\n', 'import "z"\n'],
];
/** What a move does not follow is refused, with the reason. */
const PATTERNS: [code: string, why: RegExp][] = [
  ...['import.meta.glob("./add*.ts")', 'import.meta.glob(["./*.ts", "!./use.ts"])', 'import.meta.glob("/src/*.ts")', 'import.meta.globEager("./*.ts")'],
  ...['import.meta.glob("./**/add.ts", { eager: true })', 'import.meta.glob("@/*.ts")', 'require.context("./", false)', "import(`./${name}.ts`)"],
  ...["new URL(`./${name}.ts`, import.meta.url)", "require(`./${name}.ts`)"],
  ...['import.meta.glob("./*.ts", { base: "../src" })', 'import.meta.glob("*.ts", { base: "/src", eager: true })', `import.meta.glob(["**", "!z"], { "base": './' })`],
].map((line) => [`declare const name: string, require: any;\n${line};\nexport {};\n`, /'src\/g\.js' takes files by '[^']+' at line 2, and would no longer take the same\./]);

/** What differs afterwards; undefined: it is gone. */
type Row = [title: string, files: Files, args: object, made: Record<string, string | undefined>];
const MADE: Record<string, Row[]> = {
  move: [
    ["a file: relative and aliased imports, exports, import(), types, mocks and workers",
      {
        ...BOTH, "src/alias.ts": 'export * from "@/add";\nexport const late = import("./add");\n',
        "src/in/test.ts": 'declare const vi: any;\nvi.mock("../add");\ntype A = typeof import("../add");\n', "src/work.mjs": 'new Worker(new URL("./add.ts", import.meta.url));\n',
      }, move("src/add.ts", "src/math/plus.ts"),
      {
        "src/add.ts": undefined, "src/math/plus.ts": ADD, "src/use.ts": USE.replace("./add", "./math/plus"),
        "src/alias.ts": 'export * from "@/math/plus";\nexport const late = import("./math/plus");\n',
        "src/in/test.ts": 'declare const vi: any;\nvi.mock("../math/plus");\ntype A = typeof import("../math/plus");\n',
        "src/work.mjs": 'new Worker(new URL("./math/plus.ts", import.meta.url));\n',
      }],
    ["what bundlers are asked for: queries, and patterns that take the same then",
      { ...TS, "src/logo.svg": "<svg />", "src/in/a.ts": 'import.meta.glob("./*.ts");\nexport {};\n', "src/use.ts": `${QUERIES("./logo.svg")}` }, move("src/logo.svg", "img/logo.svg"),
      { "src/logo.svg": undefined, "img/logo.svg": "<svg />", "src/use.ts": QUERIES("../img/logo.svg") }],
    ["patterns from a base that is elsewhere", { ...BOTH, "src/g.ts": GLOB }, move("src/add.ts", "lib/add.ts"), { "src/add.ts": undefined, "lib/add.ts": ADD, "src/use.ts": USE.replace("./add", "../lib/add"), "src/g.ts": GLOB }],
    ["what an alias with a query takes, within the alias",
      { ...TS, "src/logo.svg": "<svg />", "src/a.ts": ADD, "src/use.ts": ALIASED("@/logo.svg") }, move("src/logo.svg", "src/img/logo.svg"),
      { "src/logo.svg": undefined, "src/img/logo.svg": "<svg />", "src/use.ts": ALIASED("@/img/logo.svg") }],
    ["what an alias with a query takes, out of it", { ...TS, "src/logo.svg": "<svg />", "src/use.ts": ALIASED("@/logo.svg") }, move("src/logo.svg", "img/logo.svg"),
      { "src/logo.svg": undefined, "img/logo.svg": "<svg />", "src/use.ts": ALIASED("../img/logo.svg") }],
    ["what is moved along with what it takes by an alias, out of it", { ...TS, "src/ui/logo.svg": "<svg />", "src/ui/use.ts": ALIASED("@/ui/logo.svg") }, move("src/ui", "lib/deep/ui"),
      { "src/ui/logo.svg": undefined, "src/ui/use.ts": undefined, "lib/deep/ui/logo.svg": "<svg />", "lib/deep/ui/use.ts": ALIASED("./logo.svg") }],
    ["what an alias takes that begins with #", { "tsconfig.json": TS["tsconfig.json"].replace("@/", "#"), "src/logo.svg": "<svg />", "src/add.ts": ADD, "src/use.ts": ALIASED("#logo.svg") + 'export { add } from "#add";\n' }, move("src/logo.svg", "src/img/logo.svg"),
      { "src/logo.svg": undefined, "src/img/logo.svg": "<svg />", "src/use.ts": ALIASED("#img/logo.svg") + 'export { add } from "#add";\n' }],
    ["a script that an alias takes with a query, too", { ...BOTH, "src/w.ts": 'import W from "@/add?worker";\nimport { add } from "@/add";\nexport { W, add };\n' }, move("src/add.ts", "src/in/sum.ts"),
      { "src/add.ts": undefined, "src/in/sum.ts": ADD, "src/use.ts": USE.replace("./add", "./in/sum"), "src/w.ts": 'import W from "@/in/sum?worker";\nimport { add } from "@/in/sum";\nexport { W, add };\n' }],
    ["a folder: what is in it moves along, what it imports and what imports it follows",
      {
        ...TS, "lib/a.ts": 'import { z } from "../z";\nimport "./look.css";\nimport { b } from "./b";\nexport const a = z + b;\n',
        "lib/b.ts": "export const b = 1;\n", "lib/index.ts": 'export * from "./a";\n', "lib/look.css": "a {}\n", "z.ts": "export const z = 1;\n",
        "use.ts": 'import { a } from "./lib";\nimport "./lib/look.css";\nexport const u = a;\n',
      }, move("lib", "src/deep/lib"),
      {
        "lib/a.ts": undefined, "lib/b.ts": undefined, "lib/index.ts": undefined, "lib/look.css": undefined,
        "src/deep/lib/a.ts": 'import { z } from "../../../z";\nimport "./look.css";\nimport { b } from "./b";\nexport const a = z + b;\n', "src/deep/lib/b.ts": "export const b = 1;\n",
        "src/deep/lib/index.ts": 'export * from "./a";\n', "src/deep/lib/look.css": "a {}\n",
        "use.ts": 'import { a } from "./src/deep/lib";\nimport "./src/deep/lib/look.css";\nexport const u = a;\n',
      }],
    ["CommonJS without a tsconfig, with CRLF and a byte order mark as they were",
      { "a.js": "exports.a = 1;\r\n", "u.js": '\ufeffconst { a } = require("./a");\r\n\r\nexports.u = a;\r\n' }, move("a.js", "lib/a.js"),
      { "a.js": undefined, "lib/a.js": "exports.a = 1;\r\n", "u.js": '\ufeffconst { a } = require("./lib/a");\r\n\r\nexports.u = a;\r\n', }],
    ["a file named as what it is built to, or as it is, with a broken tsconfig", { "tsconfig.json": "{ not", "a.ts": "export const a = 1;\n", "u.ts": 'export { a } from "./a.js";\n', "v.ts": 'export { a } from "./a.ts";\n' },
      move("a.ts", "b/c.ts"), { "a.ts": undefined, "b/c.ts": "export const a = 1;\n", "u.ts": 'export { a } from "./b/c.js";\n', "v.ts": 'export { a } from "./b/c.ts";\n' }],
  ],
  organize_imports: [
    ...[...LEFT, ...BESIDE].map(([what, text, made = text]) =>
      [what, { ...TS, "a.tsx": text, "m.d.ts": MODULES }, tidy("organize_imports", "a.tsx"), { "a.tsx": made }] as Row),
    ["React, where nothing calls it", { ...AUTOMATIC, "a.tsx": JSX_REACT, "m.d.ts": MODULES }, tidy("organize_imports", "a.tsx"), { "a.tsx": "export const x = <p />;\n" }],
    ["not React, where a file asks for it", { ...AUTOMATIC, "a.tsx": `/** @jsxRuntime classic */\n${JSX_REACT}`, "m.d.ts": MODULES }, tidy("organize_imports", "a.tsx"), { "a.tsx": `/** @jsxRuntime classic */\n${JSX_REACT}` }],
    ["h, where JSX calls React", { "tsconfig.json": AUTOMATIC["tsconfig.json"].replace("react-jsx", "react"), "a.tsx": `import React from "react";\n${JSX_H}`, "m.d.ts": MODULES }, tidy("organize_imports", "a.tsx"), { "a.tsx": JSX_REACT }],
    ["sorted, joined, unused ones gone, in the file's quotes", { ...BOTH, "src/a.ts": "import { x } from './use';\nimport { add } from './add';\nimport './use';\nadd(1, 2);\n", },
      tidy("organize_imports", "src/a.ts"), { "src/a.ts": "import { add } from './add';\nimport './use';\nadd(1, 2);\n" }],
  ],
  fix_imports: [
    ["a name that another file exports", { ...BOTH, "src/a.ts": "export const y = add(1, 2);\n" }, tidy("fix_imports", "src/a.ts"),
      { "src/a.ts": 'import { add } from "./add";\n\nexport const y = add(1, 2);\n' }],
    ["in JavaScript alone, in a folder", { "lib/add.js": "export function add() {}\n", "lib/use.js": "export const y = add();\n" }, tidy("fix_imports", "lib"),
      { "lib/use.js": 'import { add } from "./add";\n\nexport const y = add();\n' }],
  ],
  remove_unused: [
    ["imports and what only they used; not parameters, and not calls",
      {
        ...BOTH,
        "src/a.ts": 'import { add } from "./add";\nfunction one() {}\nfunction two() {\n  one();\n}\nconst kept = add(1, 2);\nconst gone = () => add(1, 2);\nexport function f(a: number) {}\n',
      }, tidy("remove_unused", "src/a.ts"), { "src/a.ts": 'import { add } from "./add";\nconst kept = add(1, 2);\nexport function f(a: number) {}\n' }],
    ["in CRLF", code(`${B}a();\nfunction gone() {}\nexport {};\n`.replaceAll("\n", "\r\n")), tidy("remove_unused"), { "a.ts": "a();\r\nexport {};\r\n" }],
    ["the only one", code("export {};\nfunction gone() {}\n"), tidy("remove_unused"), { "a.ts": "export {};\n" }],
    ["no parameter, also where it is the only one", code("export function f(a: number) {}\n"), tidy("remove_unused"), { "a.ts": "export function f(a: number) {}\n" }],
    ["names beside what JSX calls", { ...TS, "a.tsx": U! + JSX_H, "m.d.ts": MODULES }, tidy("remove_unused", "a.tsx"), { "a.tsx": JSX_H }],
    ["not what JSX calls", { ...TS, "a.tsx": JSX_H, "m.d.ts": MODULES }, tidy("remove_unused", "a.tsx"), { "a.tsx": JSX_H }],
    ["nothing that does something: calls, steps, assignments, tagged templates, classes, loops",
      code(`${DOES}const plain = { a: [1, -2] };\n`), tidy("remove_unused"), { "a.ts": DOES }],
  ],
  change_signature: [
    ["one added, with calls within calls", BOTH, { ...signature("b", "a", "by: number"), value: "1" },
      { "src/add.ts": ADD.replace("a: number, b: number", "b: number, a: number, by: number"), "src/use.ts": USE.replace("add(add(1, 2), 3)", "add(3, add(2, 1, 1), 1)"), }],
    ["of a method, one removed, in many lines and with comments",
      {
        ...TS, "src/add.ts": "export class Sum {\n\t/**\n\t * @param a one\n\t * @param b other\n\t */\n\tadd(\n\t\ta: number,\n\t\tb: number,\n\t) {\n\t\treturn b;\n\t}\n}\n",
        "src/use.ts": 'import { Sum } from "./add";\nnew Sum().add(\n\t/* a */ 1,\n\t/* b */ 2,\n);\n',
      }, { ...signature("b"), name: "Sum.add" },
      {
        "src/add.ts": "export class Sum {\n\t/**\n\t * @param b other\n\t */\n\tadd(\n\t\tb: number,\n\t) {\n\t\treturn b;\n\t}\n}\n",
        "src/use.ts": 'import { Sum } from "./add";\nnew Sum().add(\n\t/* b */ 2,\n);\n',
      }],
    ["of an arrow function, with what is left out passed as undefined",
      {
        ...TS, "src/add.ts": "export const add = a => a;\n".replace("a =>", "(a: number, b = 2, ...more: number[]) =>"),
        "src/use.ts": USE.replace("add(add(1, 2), 3)", "[add(1), add(1, 2, 3, 4)]"),
      }, signature("a", "by?: number", "b", "more"),
      {
        "src/add.ts": "export const add = (a: number, by?: number, b = 2, ...more: number[]) => a;\n", "src/use.ts": USE.replace("add(add(1, 2), 3)", "[add(1), add(1, undefined, 2, 3, 4)]"),
      }],
    ["of a constructor",
      { ...TS, "src/add.ts": "export class Box {\n  constructor(a: number) {}\n}\n", "src/use.ts": 'import { Box } from "./add";\nexport const all: Box[] = [new Box(1)];\n', },
      { ...signature("size: string", "a"), name: "Box.constructor", value: '"s"' },
      { "src/add.ts": "export class Box {\n  constructor(size: string, a: number) {}\n}\n", "src/use.ts": 'import { Box } from "./add";\nexport const all: Box[] = [new Box("s", 1)];\n', }],
  ],
  extract_function: [
    ["statements of a function, with odd indent", code("export function f(a: number) {\n   const b = a * 2;\n   const c = b + 1;\n   return c;\n}\n"),
      extract("function", "const b = a * 2;\n   const c = b + 1;"),
      { "a.ts": "export function f(a: number) {\n   const c = made(a);\n   return c;\n}\n\nfunction made(a: number) {\n   const b = a * 2;\n   const c = b + 1;\n   return c;\n}\n", }],
  ],
  extract_constant: [
    ["with TypeScript's own name for it in a text", code('export const s = "newLocal stays " + 2;\n'), extract("constant", '"newLocal stays " + 2'), { "a.ts": 'const made = "newLocal stays " + 2;\nexport const s = made;\n' }],
    ["one of two, in CRLF and tabs, in JavaScript alone", { "a.js": "function f(a) {\r\n\tg(a * 2);\r\n\tg(a * 2);\r\n}\r\n" }, { ...extract("constant", "a * 2"), path: "a.js", line: 3 },
      { "a.js": "function f(a) {\r\n\tg(a * 2);\r\n\tconst made = a * 2;\r\n\tg(made);\r\n}\r\n" }],
  ],
};
for (const [action, rows] of Object.entries(MADE))
  for (const [i, [title, files, args, made]] of rows.entries())
    (i || !/^(move|change_signature)$/.test(action) ? rare : test)(`refactor, ${action}: ${title}`, async () => {
      const zz = await warm(files);
      const { text, failed } = await zz.call("refactor", args);
      equal(failed, undefined, text);
      const now = Object.fromEntries(Object.keys({ ...files, ...made }).map((name) => [name, zz.read(name)]));
      deepEqual(now, { ...files, ...made });
      await zz.command("/undo");
      for (const [name, content] of Object.entries(files)) equal(zz.read(name), content, `${name} after /undo`);
    });

const HARD = { ...BOTH, "src/more.ts": 'import { add } from "./add";\n' };
const USES = 'import { add } from "./add";\ndeclare function g(): number;\ndeclare const o: { a: number };\n';
const LOST: [calls: string, parameters: string[], why: RegExp][] = [
  ...["add(g(), g());", "add(await 1, g());", "add(new Date().x, o.a++);"].map((line): (typeof LOST)[number] => [line, ["b", "a"], /the call at src\/use\.ts:4 would run '.*' in another order\./]),
  ...["add(1, // one\n 2);", "add(1 /* one */, 2);", "add(1, 2 /* two */);", "add(1, 2, // two\n);", "add(\n1, /* after one */ // x\n2);", "add(\n  1, // one\n  2, // two\n);"]
    .map((line): (typeof LOST)[number] => [line, ["b", "a"], /the comment '.*' at use\.ts:4 would be lost or belong to another\./]),
];
const REFUSED: [title: string, files: Files, args: object, why: RegExp, spoil?: (root: string) => void][] = [
  ["broken syntax", code("export const = 1;\n"), tidy("remove_unused"), /syntax is broken at a\.ts:1: .*Correct that first\.$/],
  ["an action that is not there", BOTH, tidy("inline", "src/add.ts"), /'inline' is not an action\. Choose from move,/],
  ["a file that is not there", BOTH, tidy("fix_imports", "b.ts"), /^Cannot fix imports 'b\.ts': nothing is there\./],
  ["a file outside", BOTH, tidy("fix_imports", "../b.ts"), /not a part of the project/],
  ["what is no code", { "a.md": "" }, tidy("fix_imports", "a.md"), /no TypeScript or JavaScript is there/],
  ["a folder moved into itself", BOTH, move("src", "src/in/src"), /'src\/in\/src' is inside it/],
  ["a move onto another", BOTH, move("src/add.ts", "src/use.ts"), /'src\/use\.ts' is already there/],
  ["a move that a component would not follow", { ...BOTH, "src/App.vue": '<script lang="ts">\nimport { add } from "./add";\n</script>\n' },
    move("src/add.ts", "src/plus.ts"), /it would miss src\/App\.vue\. Edit each place instead\.$/] as never,
  ...PATTERNS.map(([code, why]) => [`a move out of '${code.split("\n")[1]}'`, { ...BOTH, "src/g.js": code.replace(/^declare.*\n/, "\n") }, move("src/add.ts", "lib/add.ts"), why] as (typeof REFUSED)[number]),
  ...LOST.map(([calls, parameters, why]) => [`to lose or turn around '${calls}'`, { ...BOTH, "src/use.ts": USES + calls }, signature(...parameters), why] as (typeof REFUSED)[number]),
  ["a parameter that is used", BOTH, signature("a"), /'b' is still used at line 2\./],
  ["a name that is taken", BOTH, signature("a", "b", "a2: number", "a2: number"), /'a2' is there twice/],
  ["calls that have to pass something", BOTH, signature("a", "b", "c: number"), /something for 'c'\. Give it as value\./],
  ["what is no parameter", BOTH, signature("a", "b", "c d"), /'c d' is not a parameter/],
  ["a value that is none", BOTH, { ...signature("a", "b", "c: any"), value: "1) + (2" }, /is not an expression/],
  ["a function that is passed on", { ...HARD, "src/more.ts": `${HARD["src/more.ts"]}[1].reduce(add);\n` }, signature("b", "a"),
    /at src\/more\.ts:2 it is used in another way than by a call: '\[1\]\.reduce\(add\)'/] as never,
  ["a call that spreads", { ...HARD, "src/more.ts": `${HARD["src/more.ts"]}add(...([1, 2] as const));\n` }, signature("b", "a"), /the call at src\/more\.ts:2 spreads what it passes/] as never,
  ["half of an expression", code("export const f = (a: number) => a + 2 * a;\n"), extract("constant", "a + 2"), /Choose other code/],
  ...["ok && g()", "while (g()) {}", "for (let i = 0; g(); i++) {}", "ok ? g() : 1"].map((line) =>
    [`a constant out of '${line}'`, code(`declare const ok: boolean;\ndeclare function g(): boolean;\n${line};\n`), { ...extract("constant", "g()"), line: 3 }, /runs only at times/] as (typeof REFUSED)[number]),
  ["a name that stands there", code("const made = 1, f = 1 + 2;\n"), extract("constant", "1 + 2"), /'made' already means something/],
  ["code that is there twice", code("f(1 + 2);\ng(1 + 2);\n"), extract("constant", "1 + 2"), /2 times: at lines 1, 2\./],
  ["a link", { ...BOTH, "src/own.ts": "" }, move("l.ts", "m.ts"), /Name 'src\/add\.ts' itself/, (root) => fs.symlinkSync("src/add.ts", join(root, "l.ts"))],
  ["read-only files", { ...BOTH, "b.md": "" }, move("src/add.ts", "b.ts"), /read-only/, (root) => fs.chmodSync(join(root, "src/use.ts"), 0o444)],
];
for (const [title, files, args, why, spoil] of REFUSED)
  rare(`refactor refuses ${title}, and changes nothing`, async () => {
    const zz = await warm(files);
    spoil?.(zz.root);
    const { text, failed } = await zz.call("refactor", args);
    equal(failed, true, text);
    match(text, why);
    match(text, /^Cannot [^\n]+[.]$/);
    for (const [name, content] of Object.entries(files)) equal(zz.read(name), content);
  });

test("move_file of code takes the imports along: shown as one diff, asked for, and undone as one", async (t) => {
  const where = place(BOTH);
  const script = [call(["move_file", { from: "src/add.ts", to: "src/sum.ts" }]), say("Moved.")];
  const term = await repl(t, { where, script, cols: 100, rows: 50 });
  const shown = await term.say("move it", "Allow?");
  match(shown, /create src\/sum\.ts[\s\S]*\+ import \{ add \} from "\.\/sum"/);
  await term.hit("y", /Moved\.[\s\S]*›$/);
  equal(fs.readFileSync(join(where.cwd, "src/use.ts"), "utf8"), USE.replace("./add", "./sum"));
  await term.say("/undo", /Undid \d+ changes?:/);
  deepEqual(fs.readdirSync(join(where.cwd, "src")).sort(), ["add.ts", "use.ts"]);
  equal(fs.readFileSync(join(where.cwd, "src/use.ts"), "utf8"), USE);
  await term.leave();
});

test("a folder that moves leaves none behind, empty ones go along, and it can move back", async () => {
  const zz = await warm({ ...BOTH, "src/in/deep/x.md": "" });
  fs.mkdirSync(join(zz.root, "src/empty/too"), { recursive: true });
  const all = () => fs.readdirSync(zz.root, { recursive: true }).sort();
  const before = all();
  for (const [from, to] of [["src", "lib/new"], ["lib/new", "src"]] as const) {
    const { text, failed } = await zz.call("move_file", { from, to });
    equal(failed, undefined, text);
    equal(fs.existsSync(join(zz.root, from)), false);
  }
  deepEqual(all().filter((name) => name !== "lib"), before);
  await zz.command("/undo");
  await zz.command("/undo");
  deepEqual(all(), before);
});

test("a change of a signature says what calls no longer pass", async () => {
  const zz = await warm({ ...BOTH, "src/add.ts": "export function add(a: number, b = 2) {\n  return a;\n}\n" });
  const { text, failed } = await zz.call("refactor", { ...signature("a"), path: "src/add.ts" });
  equal(failed, undefined, text);
  match(text, /\[no longer passed at src\/use\.ts:2: 3\]\n\[no longer passed at src\/use\.ts:2: 2\]/);
});
