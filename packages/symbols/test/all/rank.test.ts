// The repository map: what it shows for a wish, that it never exceeds its budget, and that it holds
// still.
// biome-ignore-all format: rows of tables, in few lines
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ROOT } from "../../../../test/support/run.ts";
import { isAll } from "../../../../test/support/runs.ts";
import { countTokens, type MapRequest, mapOf, rank, type Source } from "../../rank.ts";
import { bagOf, readBag } from "../../scan/word-bag.ts";
import { scan } from "../../scan.ts";

const source = (path: string, text: string, imports: string[] = []): Source => ({
  path,
  facts: scan(path, text),
  imports,
  words: readBag(bagOf(text)),
});

/** Some of this repository: a real project, large enough to leave much out. */
const MUCH = isAll ? ["plugins/**/*.ts", "test/{kernel,support}/*.ts"] : ["plugins/{*,shell/*,search/*}.ts"];
const OWN = globSync(["zz.ts", ...MUCH], { cwd: ROOT })
  .sort()
  .map((path) => source(path, readFileSync(join(ROOT, path), "utf8"), path === "zz.ts" ? [] : ["zz.ts"]));
const OTHERS = ["CHANGELOG.md", "README.md", "prompts/base.md"];
const GIANT = [source("a.ts", `export function giant(${"parameter: Map<string, Array<number>>,\n".repeat(200)}) {}`)];
const LONG = [source(`${"folder/".repeat(60)}a.ts`, "export const one = 1;\nexport const two = 2;")];
const PROJECTS: [what: string, sources: Source[], others: string[]][] = [
  ["no files", [], []],
  ["this repository", OWN, OTHERS],
  ["one giant signature", GIANT, []],
  ["a path longer than a line", LONG, []],
  ["nothing but bare paths", [], Array.from({ length: 3_000 }, (_, at) => `docs/page-${at}.md`)],
];

for (const [what, sources, others] of PROJECTS)
  for (const query of ["", "read the stream of a test, and giant pages"])
    test(`A map of ${what} for '${query}' never exceeds its budget`, () => {
      for (const tokens of [-1, 0, 27, 28, 51, 333, 1_000, Infinity]) {
        const map = mapOf(sources, others, { query, tokens });
        equal(map.tokens, countTokens(map.text));
        ok(map.tokens <= Math.max(0, tokens), `${map.tokens} of ${tokens}:\n${map.text}`);
        const written = sources.filter(({ facts }) => !facts.made && facts.unread !== "minified");
        equal(map.files.length + map.left, written.length + others.length);
      }
    });

test("Each row is a path, a line and a signature of at most 120 characters together, the best file first, its rows by line", () => {
  const query = "README of the shell sandbox";
  const { text, files } = mapOf(OWN, OTHERS, { query, tokens: 2_000 });
  const rows = text.split("\n");
  match(rows.pop()!, /^\[\d+ files and [\d,]+ symbols left out; repo_map with a query or more tokens shows others\]$/);
  const at = rows.map((row) => {
    const [, path, line, signature] = /^(.+?):(\d+): (.*)$/.exec(row) ?? ["", row, "0", ""];
    ok(row.length <= 120, row);
    const there = OWN.find((one) => one.path === path)?.facts.symbols.filter((one) => one.line === Number(line));
    const isThere = there?.some((one) => one.signature.startsWith(signature!) && !one.local && !one.visibility);
    ok(!signature || isThere, row);
    return { path: path!, line: Number(line) };
  });
  ok(rows.some((row) => row.startsWith("plugins/shell/open-sandbox.ts:")) && rows.includes("README.md"), text);
  const order = rank(OWN, OTHERS, { query, tokens: 0 });
  const sorted = at.toSorted((a, b) => order.indexOf(a.path) - order.indexOf(b.path) || a.line - b.line);
  deepEqual(at, sorted);
  deepEqual(files, [...new Set(at.map(({ path }) => path))]);
  const paths = mapOf(OWN, OTHERS, { tokens: 2_000 }).files;
  deepEqual(paths, paths.toSorted(), "without a query by path");
});

test("What fits is shown whole, without a last line; private and local names never", () => {
  const text = `export class Cat {\n  #age = 1;\n  private nap() {}\n  purr(loud: boolean) {\n    const inner = () => 1;\n  }\n}\nfunction feed() {}`;
  const map = mapOf([source("cat.ts", text)], ["LICENSE"], { tokens: 100 });
  equal(map.text, "LICENSE\ncat.ts:1: export class Cat\ncat.ts:4: purr(loud: boolean)\ncat.ts:8: function feed()");
  equal(map.left, 0);
});

test("Nothing changes with the order of the files", () => {
  const wish = { query: "ask git for the diff", seen: [{ path: "plugins/undo.ts" }], tokens: 1_500 };
  const { text } = mapOf(OWN, OTHERS, wish);
  equal(mapOf(OWN.toReversed(), OTHERS.toReversed(), wish).text, text);
  equal(mapOf([...OWN.slice(20), ...OWN.slice(0, 20)], OTHERS, wish).text, text);
});

/** Of the lines of the second map, the share that the first one has, too. */
const kept = (before: string, after: string): number => {
  const [had, rows] = [new Set(before.split("\n")), after.split("\n")];
  return rows.filter((row) => had.has(row)).length / rows.length;
};

test("A change of one file or one more file leaves nearly all lines", () => {
  const query = "the sandbox of the shell denies a command its network";
  const map = (sources: Source[]) => mapOf(sources, OTHERS, { query, tokens: 2_000 }).text;
  const before = map(OWN);
  const edited = OWN.map((one) =>
    one.path === "plugins/undo.ts"
      ? source(one.path, `${readFileSync(join(ROOT, one.path), "utf8")}\nexport function extra() {}`, one.imports)
      : one,
  );
  ok(kept(before, map(edited)) >= 0.95, "an edit");
  ok(kept(before, map([...OWN, source("plugins/new.ts", "export function fresh() {}")])) >= 0.95, "a new file");
});

/** A small project: what is asked for is never what comes first without a query. */
const SHOP: Source[] = Object.entries({
  "src/base.ts": "export function noop() {}",
  "src/cart.ts": "/** Sums up what was measured. */\nexport function total(items: number[]) { return noop(); }",
  "src/invoice/index.ts": "export function printPage() { layoutGrid(); }\nexport function layoutGrid() { noop(); }",
  "src/letters.ts": "export function mailOut() { noop(); }\nexport function mailIn() {}\nexport function mailAll() {}",
  "src/mail.ts": "export function send() { queue(); }\nexport function queue() {\n  noop(); // TODO escape umlauts\n}",
  "src/query.ts": "export interface Filter { matchCase: boolean }\nexport function run(filter: Filter) { noop(); }",
  "src/tax.ts":
    "export class TaxTable { rateOf(of: string) {} }\nexport const read_rates = () => new TaxTable(noop());",
  "test/tax.test.ts": "export function taxTable() { noop(); }\nexport function taxTableTwice() {}",
}).map(([path, text]) => source(path, text, path === "src/base.ts" ? [] : ["src/base.ts"]));
const ALSO = ["README.md", "docs/deploy.md", "Makefile"];

test("Without a query comes first what all files use", () => equal(rank(SHOP, ALSO, { tokens: 0 })[0], "src/base.ts"));

const FIRST: [what: string, wish: Omit<MapRequest, "tokens">, first: string][] = [
  ["a file's own name", { query: "something is wrong with the mail" }, "src/mail.ts"],
  ["an identifier", { query: "call rateOf for the mail of the invoice" }, "src/tax.ts"],
  ["a path", { query: "the tax table as in src/cart.ts" }, "src/cart.ts"],
  ["code before its test", { query: "tax table" }, "src/tax.ts"],
  ["a test, where tests are meant", { query: "test of tax" }, "test/tax.test.ts"],
  ["what was edited", { seen: [{ path: "src/cart.ts" }, { path: "src/mail.ts", edited: true }] }, "src/mail.ts"],
  ["a path in focus before a word", { query: "`send` in src/mail.ts", focus: ["./src/cart.ts"] }, "src/cart.ts"],
];

for (const [what, wish, first] of FIRST)
  test(`Ranked first is ${what}: ${JSON.stringify(wish)}`, () =>
    equal(rank(SHOP, ALSO, { ...wish, tokens: 0 })[0], first));

/** Each uses what b.ts defines, not what a.ts does. */
const define = (name: string, export_ = "export ") => `${export_}function ${name}() {}`;
const USED: [what: string, sources: Source[]][] = [
  ["the file whose function is used, without an import", [source("a.ts", define("shutDoor", "")), source("b.ts", define("openDoor", "")), source("c.js", "openDoor();")]],
  ["of two that define a name, the one that an imported file exports again", [ source("a.ts", define("openDoor")), source("b.ts", define("openDoor")),
    source("also.ts", 'import "./a.ts";', ["a.ts"]), source("index.ts", 'export * from "./b.ts";', ["b.ts"]),
    source("m.ts", 'import { openDoor } from "./index.ts";\nopenDoor();', ["index.ts"]),
    source("n.ts", 'import { openDoor } from "./index.ts";\nopenDoor();', ["index.ts"]), ]],
  ["what is used often before what is used once", [ source("a.ts", define("shutDoor")), source("b.ts", define("openDoor")),
    source("c.ts", `import "./a.ts"; import "./b.ts"; shutDoor();${" openDoor();".repeat(9)}`, ["a.ts", "b.ts"]), ]],
];
for (const [what, sources] of USED)
  test(`Without a query comes first ${what}`, () => {
    const order = rank(sources, [], { tokens: 0 });
    ok(order.indexOf("b.ts") < order.indexOf("a.ts"), order.join(" "));
  });

test("Files that the query does not name follow those that they use or that use them", () => {
  const sources = [
    source("a.ts", define("openDoor")),
    source("b.ts", define("shutDoor")),
    ...["c.ts", "d.ts", "e.ts"].map((path) => source(path, 'import "./a.ts"; openDoor();', ["a.ts"])),
    source("mail.ts", 'import { shutDoor } from "./b.ts";\nshutDoor();', ["b.ts"]),
    source("y.ts", "export {};"),
    source("z.ts", 'import "./mail.ts";', ["mail.ts"]),
  ];
  const order = rank(sources, [], { query: "mail", tokens: 0 });
  equal(order[0], "mail.ts");
  ok(order.indexOf("b.ts") < order.indexOf("a.ts") && order.indexOf("z.ts") < order.indexOf("y.ts"), order.join(" "));
});

test("Of one file, what the query names is shown first, what is exported before what is not, an overload last", () => {
  const text = [
    "function hidden() {}",
    "export function open(a: string): void",
    "export function open(a: number): void",
    "export function open(a: any) {}",
    "export function close() {}",
    "export class Gate { swing() {} }",
  ].join("\n");
  const lines = (query: string, tokens: number) =>
    [...mapOf([source("g.ts", text)], [], { query, tokens }).text.matchAll(/^g\.ts:(\d+)/gm)].map(([, line]) =>
      Number(line),
    );
  deepEqual(lines("swing", 40), [6]);
  deepEqual(lines("hidden", 40), [1]);
  deepEqual(lines("", 70), [2, 5, 6, 6]);
  deepEqual(lines("", 80), [1, 2, 5, 6, 6]);
});

/** What o200k_base and cl100k_base count, the greater of the two, as gpt-tokenizer 3 has it. */
const COUNTED: [text: string, tokens: number][] = [
  ["", 0],
  ["src/internal/fiberRuntime.ts:1044: const unsafeMakeChildFiber = <A, E, R>(effect: Effect<A, E, R>): FiberRuntime<A, E> =>", 40],
  ["src/größe.ts:3: export const 面积 = (幅: number): number =>", 23],
  ["[84 files and 1,203 symbols left out; repo_map with a query or more tokens shows others]", 23],
];
for (const [text, real] of COUNTED)
  test(`countTokens() is no less than the ${real} of a tokenizer, and not much more: ${text.slice(0, 50)}`, () => {
    const ours = countTokens(text);
    ok(ours >= real && ours <= 1.26 * real + 2, `${ours}`);
  });
