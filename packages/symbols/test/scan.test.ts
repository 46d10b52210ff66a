// What scan() finds: one declaration form or one behaviour a row, each over the whole compiler and
// over its parser alone.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code
// biome-ignore-all format: rows of tables, in few lines
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, describe, test } from "node:test";
import { isAll, random, runs, SEED } from "../../../test/support/runs.ts";
import { parserOnly, usesOf } from "../../../test/support/symbols.ts";
import { type Facts, listed, type Sym, scan } from "../scan.ts";

let inDist: typeof scan; // the same code over the parser alone
before(async () => {
  inDist = (await parserOnly()).scan;
});

/** Both ways to load the compiler give the same facts, and these outlive the way through a file. */
function facts(text: string, path = "a.ts"): Facts {
  const found = scan(path, text);
  deepEqual(inDist(path, text), found);
  deepEqual(JSON.parse(JSON.stringify(found)), found);
  return found;
}

/** `2-4 method A > m+ local async private`; the plus: it is exported. */
function show({ name, kind, line, end, owner, ...flags }: Sym): string {
  const lines = line === end ? `${line}` : `${line}-${end}`;
  const said = [flags.local && "local", flags.async && "async", flags.visibility].filter(Boolean);
  return [lines, kind, ...(owner ? [owner, ">"] : []), name + (flags.exported ? "+" : ""), ...said].join(" ");
}

/** `c of b from ./x`. */
const showExport = ({ name, local, from }: Facts["exports"][number]): string =>
  [name, local !== undefined && `of ${local}`, from !== undefined && `from ${from}`].filter(Boolean).join(" ");

type Row<T> = [what: string, text: string, expected: T, path?: string];
function table<T>(name: string, of: (facts: Facts) => T, rows: Row<T>[]): void {
  describe(name, () => {
    for (const [what, text, expected, path] of rows) test(what, () => deepEqual(of(facts(text, path)), expected));
  });
}

const JS = "a.js";

table("scan() lists", ({ symbols }) => symbols.map(show).join("; "), [
  ["an arrow in a variable as a function", "const f = async () => 1;", "1 function f async"],
  ["what a pattern takes apart, each at its own line", "export const {\n  a,\n  b: [c, , ...d],\n  [e]: f = 1,\n} = x;",
    "2 const a+; 3 const c+; 3 const d+; 4 const f+"],
  ["functions of an object", "const a = { b: { c() {}, get d() {} }, 'f g': function () {} };", "1 const a; 1 method a.b > c; 1 method a.b > d; 1 method a > f g"],
  ["a class with its methods and properties", "class A {\n  a = 1;\n  static b?: string;\n  m() {}\n  static async n() {}\n  *g() {}\n}",
    "1-7 class A; 2 property A > a; 3 property A > b; 4 method A > m; 5 method A > n async; 6 method A > g"],
  ["who may see a member", "class A { private a; protected b() {} public c; #d; #e() {} }",
    "1 class A; 1 property A > a private; 1 method A > b protected; 1 property A > c; 1 property A > #d private; 1 method A > #e private"],
  ["a constructor and the properties among its parameters",
    "class A {\n  constructor(\n    private a: string,\n    readonly b = 1,\n    c: string,\n    protected override d?: 1,\n  ) {}\n}",
    "1-8 class A; 3 property A > a private; 4 property A > b; 6 property A > d protected; 2-7 method A > constructor"],
  ["a decorated class from its first word after the decorators", "@a\n@b({ c() {} })\nexport class A {\n  @d\n  m() {}\n  @e() p;\n}",
    "3-7 class A+; 2 method A > c; 5 method A > m; 6 property A > p"],
  ["an interface with its members",
    "export interface A<T> extends B {\n  a: string;\n  readonly 'b-c'?: 1;\n  m(a: { x: 1 }): { y: 2 };\n  get g(): 1;\n  (): void;\n  new (): A;\n  [key: string]: any;\n}",
    "1-9 interface A+; 2 property A > a; 3 property A > b-c; 4 method A > m; 5 method A > g"],
  ["members of a type", "type A = B & {\n  a: T } & ({ m(): void } | { c: { d: 1 } });", "1-2 type A; 2 property A > a; 2 method A > m; 2 property A > c"],
  ["an enum", "export enum A { B, C = 'c', 'D E' }", "1 enum A+; 1 member A > B; 1 member A > C; 1 member A > D E"],
  ["a namespace with what it holds", "export namespace A {\n  export const a = 1;\n  let b = 2;\n  export function f() {}\n}",
    "1-5 namespace A+; 2 const A > a+; 3 variable A > b; 4 function A > f+"],
  ["a declared module", "declare module 'x' { export function f(): V; }", '1 namespace "x"; 1 function "x" > f+'],
  ["a default function without a name", "export default function () {\n}", "1-2 function default+"],
  ["a default function in parentheses by its own name", "export default (function f() {});", "1 function f+"],
  ["a default object", "export default { a() {}, b: 1 } satisfies C;", "1 const default+; 1 method default > a"],
  ["a default name where it is declared", "const a = 1;\nexport default a;", "1 const a+"],
  ["`export =` of a value", "export = { a() {} };", "1 const default+; 1 method default > a"],
  ["a list", "const a = 1, b = 2; function c() {}\nexport { a, c as d }", "1 const a+; 1 const b; 1 function c+"],
  ["inner functions as local", "function f() {\n  function g() { const h = () => 1; }\n}", "1-3 function f; 2 function f > g local; 2 function f.g > h local"],
  ["no variables of functions and no parameters", "function f(a, { b }) { const c = 1; let { d } = a; for (const e of a) {} try {} catch (g) {} }", "1 function f"],
  ["members whose name is worked out from names, in brackets",
    "class A { [Symbol.iterator]() {} [key] = 1; ['lit'] = 2; [`tpl`]() {} [3] = 4; [a + b]() { function f() {} } }",
    "1 class A; 1 method A > [Symbol.iterator]; 1 property A > [key]; 1 property A > lit; 1 method A > tpl; 1 property A > 3; 1 function A > f local"],
  ["a declaration after a comment, a BOM and a `#!` line", "\ufeff// a\n/* b\n */ function f() {}", "3 function f"],
  ["lines as other tools count them: U+2028 is none", "const a = '\u2028';\nconst b = 1;", "1 const a; 2 const b"],
  ["an exported value", "exports.a = { b() {} }; exports.c = exports.d = 5", "1 const a+; 1 method a > b; 1 const c+; 1 const d+", JS],
  ["exports of what is declared elsewhere, there alone", "exports.f = void 0;\nfunction f() {}\nexports.f = f;\nexports.g = x.g;\nexports.h = require('h');",
    "2 function f+", JS],
  ["module.exports = function, by its name", "module.exports = function f() {};", "1 function f+", JS],
  ["module.exports = an object: its parts are exported", "function a() {}\nconst b = 1, c = 2;\nmodule.exports = { a, d: b, e() {}, f: () => 1 };",
    "1 function a+; 2 const b+; 2 const c; 3 method e+; 3 method f+", JS],
  ["Class.prototype.method = function", "function A() {}\nA.prototype.m = async function () { function g() {} };\nn.A.prototype.o = () => 1;\nA.prototype.p = 1;",
    "1 function A; 2 method A > m async; 2 function A.m > g local; 3 method A > o", JS],
  ["a prototype as an object", "A.prototype = { m() {}, n: function () {} };", "1 method A > m; 1 method A > n", JS],
  ["what a class sets on itself, in JavaScript",
    "class A {\n  b = 1;\n  constructor() {\n    super();\n    this.a = 1;\n    this.b = 2;\n    this.a = 3;\n    this.m = this.m.bind(this);\n    x.c = 4;\n  }\n  m() {}\n}",
    "1-12 class A; 5 property A > a; 2 property A > b; 3-10 method A > constructor; 11 method A > m", JS],
  ["what is required as no variable", "const a = require('a'), { b } = require('b');\nconst c = 1;", "2 const c", JS],
  ["all around an error", "function a() {}\nconst = 5;\nclass {}\nfunction b() {}", "1 function a; 4 function b"],
]);

table("scan() shows as the signature", ({ symbols }) => symbols.map(({ signature }) => signature).join("; "), [
  ["all but the body", "export async function f<T>(a: T, b = 1): A<T> { return a; }", "export async function f<T>(a: T, b = 1): A<T>"],
  ["one line", "function f(\n  a: T, // a\n  /* the\n b */ b: 'x // y',\n): V {}", "function f(a: T, b: 'x // y'): V"],
  ["a class up to its body", "@d export abstract class A<T> extends B<T> implements C {\n  private readonly a: string = 'x';\n  static m(): void {}\n}",
    "export abstract class A<T> extends B<T> implements C; private readonly a: string = 'x'; static m(): void"],
  ["what a constant is set to, in short", "const a = tool({ b: 1 }), c = f(1), d = new E(), g = [1], h = {}, i = await j.k(l), m = 'http://x', n = (x as Y);",
    "const a = tool({…}); const c = f(…); const d = new E(); const g = […]; const h = {…}; const i = await j.k(…); const m = 'http://x'; const n = x"],
  ["a constant's type", "const a: Map<A, C> = {};\nlet b: string;", "const a: Map<A, C> = {…}; let b: string"],
  ["JavaScript's exports", "exports.a = function (b) {};\nmodule.exports = { c };", "exports.a = function (b)", JS],
]);

table("scan() takes as the comment", ({ symbols }) => symbols.map(({ doc }) => doc), [
  ["the first line of a block", "/**\n * Does it.\n * Well.\n */\nfunction f() {}", ["Does it."]],
  ["none that stands a line apart", "// A banner.\n\nfunction f() {}", [undefined]],
  ["none that ends the line before", "f(); // no\nfunction f() {}", [undefined]],
]);

table(
  "scan() notes the import",
  ({ imports }) =>
    imports.map(({ from, line, how, names }) => `${line} ${how} ${from}: ${names.join(", ")}`).join("; "),
  [["of names", "import a, { b, c as d } from 'x';", "1 import x: default as a, b, c as d"], ["of all", "import * as a from 'x';", "1 import x: * as a"],
    ["by require", "import a = require('x');\nimport b = A.B;", "1 require x: * as a"],
    ["of a type in place", "let a: import('x').B.C, b: typeof import('y');", "1 type x: B; 1 type y: *"]],
);

table("scan() notes the export", ({ exports }) => exports.map(showExport).join("; "), [
  ["of declarations", "export const a = 1, { b } = c;\nexport function d() {}\nexport type E = 1;", "a; b; d; E"],
  ["of a list", "export { a, b as c, d as default };\nexport type { E }", "a; c of b; default of d; E"],
  ["of a file", "export { a as b } from 'x'; export * from 'y'; export * as z from 'z'", "b of a from x; * from y; z of * from z"],
  ["and not that of a namespace", "declare namespace A { export { a }; export const b: 1; }\ndeclare module 'x' { export default c; export = d; }", ""],
  ["of CommonJS", "exports.a = b;\nmodule.exports.c = () => 1;\nexports.d = void 0;", "a of b; c", JS],
  ["of CommonJS's whole", "module.exports = { a, b: c, 'd': 1, ...e };", "a; b of c; d", JS],
]);

table("scan() counts", usesOf, [
  ["each identifier, declared and used", "const a = b(a);\na.c = { c: 1, a };", { a: 4, b: 1, c: 2 }],
  ["none in comments, texts and JSX text", "// a\n'b c'; `d e`; /f/; <i>j</i>;", { i: 2 }, "a.tsx"],
  ["a text that could name a property as none: the file is looked into", "a['b']; a['c d']; 'a';", { a: 2, b: 0 }],
  ["names that every object has", "constructor; toString; toString; __proto__; __proto__; hasOwnProperty;",
    JSON.parse('{"constructor":1,"toString":2,"__proto__":2,"hasOwnProperty":1}')],
]);

table("scan() finds the to-do", ({ todos }) => todos.map(({ line, text }) => `${line} ${text}`).join("; "), [
  ["of comments within code", "f(a /* TODO one */, {\n  // TODO two\n  b,\n  // TODO three\n});\n// TODO four", "1 TODO one; 2 TODO two; 4 TODO three; 6 TODO four"],
  ["and none of texts", "'TODO a'; `TODO b ${c} TODO d`; /TODO/; const TODO = 1; let e: `TODO ${F}`", ""],
  ["in 120 characters", `// TODO ${"x".repeat(200)}`, `1 TODO ${"x".repeat(115)}`],
  ["in JSON with comments", '{\n  // TODO a\n  "TODO": 1 }', "2 TODO a", "a.json"],
]);

table("scan() measures", ({ loc, nesting, decisions }) => [loc, nesting, decisions], [
  ["lines of code", "a();\n\n// b\n/* c\n d */\ne(); // f\n/* g */ h();\n/* i */ /* j */ // k\n \t\n", [3, 0, 0]],
  ["lines of a template that look like comments", "a = `\n// b\n/* c\n\n${d}\n// e\n`;\nf();", [7, 0, 0]],
  ["an else-if as no deeper than its if", "if (a) {} else if (b) {} else if (c) {} else { d(); }", [1, 1, 3]],
  ["blocks within one another", "for (;;) { while (a) { if (b) { try {} catch {} } } }", [1, 4, 4]],
  ["each way to branch", "a ? b : c; d && e || f ?? g; h ||= i; do {} while (j); for (k of l); for (m in n); switch (o) { case 1: case 2: default: }", [1, 1, 10]],
]);

table("scan() measures of each function", ({ symbols }) => symbols.map(({ decisions }) => decisions), [
  ["its own, and not those of others within", "function f() { if (a) b && c; function g() { if (d) {} } }", [2, 1]],
  ["and nothing where there is no body", "declare function f(): void;\nabstract class A { abstract m(): void; n() {} }", [undefined, undefined, undefined, 0]],
]);

table("scan() says whether others see it unasked", ({ global }) => [global], [
  ["a script: they do", "var a = 1;", [true]],
  ["a declared module", "export {};\ndeclare module 'x' {}", [true]],
  ["CommonJS: they do not", "exports.a = 1;", [undefined], JS],
  ["a file that is a module by its name", "var a = 1;", [undefined], "a.mts"],
]);

table("scan() names the error", ({ parseError }) => parseError, [
  ["where there is none", "const a = 1;", undefined],
  ["at its line", "const a = 1;\nconst = 5;", "line 2: Variable declaration expected."],
  ["not for types in JavaScript, which others judge", "const a: string = 1;", undefined, JS],
]);

table("scan() lists the keys of", ({ symbols }) => symbols.map(show).join("; "), [
  ["JSON", '{\n  "a": { "b": 1 },\n  "c": [\n    1\n  ]\n}', "2 key a; 3-5 key c", "a.json"],
  ["YAML", "# x\na: 1\nb:\n  c: 2\n\n  - d: 3\n# y\n'e f': |\n  g: 1\n\"h\": 2\ni j : 3\n", "2 key a; 3-6 key b; 8-9 key e f; 10 key h; 11 key i j", "a.yml"],
]);

describe("scan() of what nobody wrote by hand", () => {
  const N = isAll ? 100_000 : 30_000;
  const deep: [what: string, text: string, expected: RegExp | undefined, path?: string][] = [
    ["lists", `function a() {}\nconst b = ${"[\n".repeat(N)}${"]\n".repeat(N)};`, /^nested too deep$/],
    ["arrow functions", `(x);\n${"(a =\n".repeat(N)}`, /^nested too deep$/],
    ["JSON", `{"a":${"[\n".repeat(N)}${"]\n".repeat(N)}}`, /^nested too deep$/, "a.json"],
    ["a sum, which is not deep at all", `const a = ${"1 +\n".repeat(N)} b;\nfunction f() {}`, undefined],
  ];
  for (const [what, text, expected, path = "a.ts"] of deep)
    test(`${N} ${what}`, () => {
      const { parseError, loc } = facts(text, path);
      if (expected) match(parseError!, expected);
      else equal(parseError, undefined);
      ok(loc > 0);
      // What the parser knows of the broken file, that no arrow begins at its (x), is not taken for
      // the next one's.
      equal(facts("(y) => 1;").parseError, undefined);
    });

  test("one statement that is too deep to walk leaves the others", () => {
    const text = `function a() { if (b) x${".y()\n".repeat(N)}; }\nclass B { m() { if (c) {} } }`;
    const { symbols, parseError, uses, nesting } = facts(text);
    deepEqual(symbols.map(show), [`1-${N + 1} function a`, `${N + 2} class B`, `${N + 2} method B > m`]);
    deepEqual([symbols[2]!.decisions, nesting], [1, 2]);
    equal(parseError, "nested too deep");
    match(uses, / c:1 /);
  });

  test("a file with long lines is listed as minified", () => {
    const text = `function f(){${"a();".repeat(2_000)}}`;
    deepEqual(facts(text), listed("minified"));
    deepEqual(facts("a();", "jquery.min.js"), listed("minified"));
    equal(facts("a();".repeat(100)).unread, undefined);
    equal(facts(`a();\n${"\n".repeat(2_000)}${"b();".repeat(2_000)}`).unread, undefined);
  });

  test("no text makes it throw: real code with bits missing, doubled and mixed up", () => {
    const whole =
      scan.toString() + show.toString() + "class A<T> { #a = `x${y}`; @d get b(): C { return <D>{}; } } enum E { F }";
    const next = random(SEED);
    const below = (count: number): number => Math.floor(next() * count);
    const bits = [..."{}()`'\n<\0\ud800@#", "/*", "${", "=>", "export ", "class ", "import ", "enum "];
    for (let i = runs(60, 600); i > 0; i--) {
      let text = whole;
      for (let n = below(6); n >= 0; n--) {
        const at = below(text.length);
        text = text.slice(0, at) + bits[below(bits.length)] + text.slice(at + below(20));
      }
      for (const path of ["a.tsx", "a.js", "a.json", "a.yaml"]) {
        const { symbols, parseError = "" } = scan(path, text);
        ok(!parseError.startsWith("cannot"), `${path}: ${parseError}: ${text}`);
        for (const { name, line, end, signature } of symbols) {
          ok(line >= 1 && end >= line && signature.length <= 120 && !/[\r\n]/.test(signature), `${path}: ${text}`);
          ok(name || path === "a.json", `${path}: ${text}`);
        }
      }
    }
  });
});
