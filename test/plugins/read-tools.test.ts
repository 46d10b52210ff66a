import { deepEqual, equal, match, ok } from "node:assert/strict";
import { realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Core, Options } from "../../kernel/instance.ts";
import { findTool } from "../../kernel/plugins/run-call.ts";
import { needs } from "../support/needs.ts";
import { put, shell } from "../support/repository.ts";
import { type Place, place, zz } from "../support/run.ts";
import { type Got, harness, kernel, play as playScript, rowsOf } from "../support/script.ts";
import "../support/lean.ts";
import { type Files, warm } from "../support/warm.ts";

const empty = (names: string[]) => Object.fromEntries(names.map((name) => [name, ""]));

async function call(where: Place, tool: string, args: object, options?: Options): Promise<Got> {
  const core = await kernel.createZz({
    root: where.cwd,
    home: where.home,
    save: false,
    ...options,
  });
  return (await playScript(core, [[tool, args]]))[0]!;
}

/** A project, or just its files: then it is that of the one zz whose compiler is warm. */
type Where = Place | Files;
const isPlace = (where: Where): where is Place => typeof where.sessions === "function";
/** By one instance for all rows of a project: each new one would read TypeScript's libraries
 * first. */
const opened = new Map<Place, Promise<Core>>();
async function coreOf(where: Where, options?: Options): Promise<Core> {
  if (!isPlace(where)) return (await warm(where)).core;
  if (!opened.has(where))
    opened.set(
      where,
      kernel.createZz({ root: where.cwd, home: where.home, save: false, ...options }),
    );
  return opened.get(where)!;
}

type Told = [tool: string, args: object, says: string | RegExp, what?: string];
/** A test for each row. What failed begins with "Cannot". */
function told(where: Where, table: Told[]): void {
  const calls = table.map(([tool, args]): [string, object] => [tool, args]);
  const nth = rowsOf(() => coreOf(where), calls);
  for (const [
    row,
    [tool, args, says, what = `${JSON.stringify(args)} says ${says}`],
  ] of table.entries())
    test(`${tool}: ${what}`, async () => {
      const { text, failed = false } = await nth(row);
      if (typeof says === "string") equal(text, says);
      else match(text, says);
      deepEqual([failed, text.includes("\0")], [text.startsWith("Cannot"), false], text);
    });
}
/** The same of one tool. */
const rows = (
  tool: string,
  where: Where,
  table: [what: string, args: object, says: string | RegExp][],
): void => {
  const all = table.map(([what, args, says]): Told => [tool, args, says, what]);
  told(where, all);
};

// ── read_file ──

const LONG = Array.from({ length: 2_001 }, (_, i) => `line ${i + 1}`).join("\n");
const outside = place({ "secret.txt": "from outside\n" });
const texts = place({
  "three.txt": "a\nb\nc\n",
  "windows.txt": "a\r\nb\r\n",
  "empty.txt": "",
  "long.txt": LONG,
  "exact.txt": `${"x".repeat(2_000)}\n`,
  "latin1.txt": Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a]),
  "binary.bin": Buffer.from([1, 2, 0, 3]),
  "src/a.ts": "",
  pipe: "|",
  loop: "->loop",
});

// biome-ignore format: one case a row.
rows("read_file", texts, [
  ["numbers the lines", { path: "three.txt" }, "1\ta\n2\tb\n3\tc"],
  ["a range, both ends in it", { path: "three.txt", start: 2, end: 3 }, "2\tb\n3\tc"],
  ["a start of 0 is the first line", { path: "three.txt", start: 0, end: 1 }, "1\ta"],
  ["a negative start", { path: "three.txt", start: -5, end: 1 }, /from line -5 to 1: lines count from 1\./],
  ["a start past the end", { path: "three.txt", start: 4 }, /from line 4: it has 3 lines\. Start earlier\./],
  ["CRLF leaves no trace", { path: "windows.txt" }, "1\ta\n2\tb"],
  ["an empty file", { path: "empty.txt" }, /^1\t$|empty/],
  ["at most 2000 lines", { path: "long.txt" }, /^1\tline 1\n[\s\S]*\n2000\t.*\n\[1 more line; read on from 2001\]$/],
  ["2000 characters are not too wide", { path: "exact.txt" }, `1\t${"x".repeat(2_000)}`],
  ["bytes that are not UTF-8", { path: "latin1.txt" }, /^1\tcaf\ufffd\n\[not all of it is UTF-8; \ufffd stands for /],
  ["a binary file", { path: "binary.bin" }, /^Cannot read 'binary\.bin': it is not text\./],
  ["a folder", { path: "src" }, /^Cannot read 'src': it is a folder\. List it with list_dir/],
  ["a FIFO does not hang", { path: "pipe" }, /^Cannot read 'pipe': it is not a regular file\./],
  ["a file that is missing", { path: "gone.txt" }, /^Cannot read 'gone\.txt': no such file or folder\. /],
  ["absolute, inside", { path: join(realpathSync(texts.cwd), "three.txt"), end: 1 }, "1\ta"],
  ["~ is a name, not the home", { path: "~/x" }, /^Cannot read '~\/x': no such file/],
]);

// ── list_dir ──

const LEFT_OUT = ["node_modules/x/index.js", "src/node_modules/y/index.js", "dist/out.js"];
const tree = place({
  ...empty(["a.txt", "B.txt", "src/one.ts", "src/deep/two.ts", "src/deep/three.ts", ...LEFT_OUT]),
  pipe: "|",
  ".env": "KEY=1\n",
  "pictures/a.bin": Buffer.from("GIF89a\0\0"),
  "pictures/b.txt": "a",
});
// biome-ignore format: one case a row.
rows("list_dir", tree, [
  ["files, and folders with how many are in them", {}, ".env\nB.txt\na.txt\npictures/ (2 files)\nsrc/ (3 files)"],
  ["a file that is not text, with its size", { path: "pictures" }, "a.bin (binary, 8 bytes)\nb.txt"],
  ["a folder, absolute", { path: join(realpathSync(tree.cwd), "src/deep") }, "three.ts\ntwo.ts"],
]);

test("list_dir: at most 200 rows, and how many are left", async () => {
  const many = place(
    empty(Array.from({ length: 203 }, (_, i) => `f${String(i).padStart(3, "0")}`)),
  );
  const lines = (await call(many, "list_dir", {})).text.split("\n");
  deepEqual([lines.length, lines[199], lines[200]], [201, "f199", "[3 more; list a folder in it]"]);
});

// ── The lister ──

const EMPTY =
  "a.log kept.log a.txt top-only sub/top-only sub/b.log sub/c.tmp sub/local/d.txt sub/deeper/e.tmp " +
  "other/c.tmp other/local/d.txt whole/f.txt";
const IGNORING = {
  ...empty(EMPTY.split(" ")),
  ".gitignore": "*.log\n/top-only\nwhole/\n!/kept.log\n# comment\n",
  "sub/.gitignore": "!b.log\n*.tmp\nlocal/\n",
  "sub/deeper/.gitignore": "!e.tmp\n",
  "whole/.gitignore": "!*\n",
};
const BELOW = "sub/.gitignore sub/b.log sub/deeper/.gitignore sub/deeper/e.tmp sub/top-only".split(
  " ",
);
const KEPT = [".gitignore", "a.txt", "kept.log", "other/c.tmp", "other/local/d.txt", ...BELOW];
async function list({ cwd: root, home }: Place, path?: string): Promise<string[]> {
  return (await kernel.createZz({ root, home, save: false })).ctx().files.list(path);
}

for (const [way, ownTest] of Object.entries({ "with git": needs("git"), "without git": test }))
  ownTest(`the lister, ${way}, honours nested .gitignore with negation`, async () => {
    const where = place(IGNORING);
    if (way === "with git") shell(where.cwd, "git init -q");
    deepEqual([await list(where), await list(where, "sub")], [KEPT, BELOW]);
  });

// ── grep ──

const searched = place({
  "src/a.ts": "const price = a.b(c);\n",
  "lib/a.ts": "price again\n",
  "srcery.txt": "price of magic\n",
  "binary.bin": Buffer.from("price\0"),
  pipe: "|",
  "to-pipe": "->pipe",
  loop: "->loop",
  leaving: `->${join(outside.cwd, "secret.txt")}`,
  "leaving-folder": `->${outside.cwd}`,
});
const PRICES = /^lib\/a\.ts:1: price again\nsrc\/a\.ts:1: .*\nsrcery\.txt:1: price of magic$/;
// biome-ignore format: one case a row.
rows("grep", searched, [
  ["a folder, with dots, and not its namesakes", { query: "price", path: "lib/../src" }, /^src\/a\.ts:1: .*$/],
  ["binary files are passed over, FIFOs do not hang", { query: "price" }, PRICES],
  ["what links bring from outside is not searched", { query: "from outside" }, "Nothing holds 'from outside'."],
]);

// ── Symbols ──

const CODE = `// The forms that a definition has.
export function plain(): void {}
export async function waits(): Promise<void> {}
export function* makes() {}
export const arrow = (a: number) => a;
export const named = function inner() {};
let changing = 1;
var old = 2;
export const { taken, renamed: given } = { taken: 1, renamed: 2 };
/** Shines. */
export class Lamp {
  static count = 0;
  #wire = 1;
  constructor() {}
  dim(level: number) {
    function clamp() {}
    return level + this.#wire;
  }
  get bright() { return true; }
  set volume(value: number) {}
  static make() { return new Lamp(); }
  quick = () => 1;
}
export abstract class Shape { abstract area(): number }
export interface Bulb { watt: number }
export type Colour = "red" | "blue";
export enum Mode { On, Off }
export namespace Room { export function enter() {} }
`;
const coded: Files = {
  "src/code.ts": CODE,
  "src/plugin.ts": "export default (zz: any) => {\n  function helper() {}\n  return helper;\n};\n",
  "src/view.tsx": "export function View() {\n  return <p>// TODO in text</p>;\n}\n",
  "src/old.js": "function legacy() {}\nmodule.exports = { legacy };\n",
  "src/broken.ts": "export const before = ;\nexport const after = 1;\n",
  "src/uses.ts": `import { Lamp } from "./code.ts";\n// Lamp in a comment\nconst s = "Lamp in a string";\nconst t = \`Lamp \${new Lamp().dim(2)}\`;\nconst Lamps = 1;\n`,
  "src/todo.ts": [
    "// TODO: one",
    'const a = "TODO: not one"; // FIXME two',
    `const b = \`// TODO not one \${/* HACK three */ 1}\`;`,
    "const c = /TODO not one/;",
    "/*",
    " * TODO four",
    " */",
    "function f() {",
    "  // TODO five",
    "}",
    "// METHODTODO not one, todo not one",
    'const url = "http://x/ // TODO not one";',
    "// TODO: last",
  ].join("\n"),
  "notes.md": "TODO: not code\nclass Lamp\n",
};

// biome-ignore format: one case a row.
told(coded, [
  ["find_definition", { symbol: "Lamp" }, "src/code.ts:11: export class Lamp  // Shines."],
  // a syntax error does not stop it
  ["find_definition", { symbol: "after" }, /^src\/broken\.ts:2: export const after = 1/],
  ["find_definition", { symbol: "room_enter" }, /^No definition .*'room_enter'. Nearest:\nsrc\/code\.ts:28: /],
  ["find_definition", { symbol: "lamp count" }, /src\/code\.ts:12: static count = 0/],
  ["find_references", { symbol: "Lamp" }, /^(src\/.*\n){4}In other files, as text:\nnotes\.md:2: class Lamp$/],
  ["get_structure", { path: "src/view.tsx" }, "src/view.tsx · 3 lines of code\n1-3: export function View()"],
  ["get_structure", { path: "src/code.ts" }, /^11-23: export class Lamp\n {2}12-12: .*\n {2}13-13: #wire/m],
  ["get_structure", { path: "src" }, /^src\/broken\.ts .*\nsrc\/code\.ts \(\d+\) plain:2 waits:3 /],
  ["get_structure", { path: "src/broken.ts" }, /^\[syntax error: line 1: Expression expected\.\]$/m],
  ["get_structure", { path: "notes.md" }, /^Cannot look at 'notes\.md': only JavaScript, .* the rest\.$/],
  ["get_function", { name: "Lamp.dim" }, /^src\/code\.ts:15-\d+(?: {2}.*)?\n15\t {2}dim\(level/],
  ["get_function", { name: "legacy" }, /^src\/old\.js:1-1(?: {2}.*)?\n1\tfunction legacy\(\) \{\}$/],
  ["get_function", { name: "nope", path: "src/old.js" }, /'src\/old\.js' has none of that name\. There are: legacy \(/],
  ["find_symbols", { query: "prlain" }, /^src\/code\.ts:2: .* {2}\[function\]/],
  ["get_complexity", { path: "src/old.js" }, /^src\/old\.js: score 2 = 0 .* \/ 20\n1-1: legacy: 1 paths, 1 lines$/],
  ["get_dependencies", { path: "src/todo.ts" }, "'src/todo.ts' imports nothing."],
  ["get_dependencies", {}, /^Entry points:\n(src\/\w+\.(ts|tsx|js) \(nothing imports it\)\n?)+$/],
  ["check_types", { paths: ["src/broken.ts"] }, "src/broken.ts:1:23: error TS1109: Expression expected."],
  ["check_types", { paths: ["src/view.tsx", "src/old.js"] }, /^No problems in 2 files\.$|TS\d+/],
  [
    "get_todos", // in comments alone: not in strings, templates, regular expressions, other words
    { path: "src/todo.ts" },
    /^src\/todo\.ts:1: TODO: one\n.*:2: FIXME two\n.*:3: HACK three\n.*:6: TODO four\n.*:9: TODO five\n.*:13: TODO: last$/,
  ],
]);

const mixed = place({
  "a.ts": "export const here = 1;\n",
  "b.ts": "here;\n",
  "ignored/c.ts": "export const c = 1;\n",
  ".gitignore": "ignored\n",
  "docs/guide.md": "words\n",
  "tool.scala": "// TODO: later\nval here = 1\n",
});
// biome-ignore format: one case a row.
/** Nothing is not said of what was not looked at. */
const UNSEEN: Told[] = [
  ["get_todos", { path: "gone.ts" }, /^Cannot look at 'gone\.ts': no such file or folder\. Check the path\.$/],
  ["get_todos", {}, /^No TODO, FIXME or HACK in the comments of 2 files\.\n\[Not looked at: 1 file in other languages \(\.scala\); grep searches them\]$/],
  ["get_todos", { path: "tool.scala" }, /^Cannot look at 'tool\.scala': only JavaScript, /],
  ["get_todos", { path: "docs" }, /^Cannot look at 'docs': it holds no such code\. Only JavaScript, /],
  ["get_dependencies", { path: "gone.ts" }, /^Cannot list what 'gone\.ts' imports: no such file or folder\./],
  ["find_references", { symbol: "here", path: "gone.ts" }, /^Cannot look for 'here' in 'gone\.ts': no such file or folder\./],
  ["repo_map", { focus: ["gone.ts"] }, /\[Nothing here is called 'gone\.ts': no file, no folder, no symbol\]$/],
  ["repo_map", { focus: ["a.ts", "here", "docs/"] }, /^[^[]*$/],
];
told(mixed, UNSEEN);

test("the symbol tools say which folder alone is indexed", async () => {
  const where = place({ "lib/a.ts": "export const a = 1;\n", "b.ts": "export const b = 1;\n" });
  const { text } = await call(where, "get_todos", {}, { settings: { symbols: { folder: "lib" } } });
  match(text, /^No TODO.*\n\[Of 2 code files only the 1 in 'lib' are indexed, /);
});

test("the symbol tools count a file once that a link leads to as well, and one that only a link leads to", async () => {
  const where = place({
    "a.ts": "export const once = 1; // TODO one\n",
    "outer/b.ts": "",
    "link.ts": "->a.ts",
  });
  const { text } = await call(where, "find_definition", { symbol: "once" });
  equal(text, "a.ts:1: export const once = 1");
  equal((await call(where, "get_todos", {})).text, "a.ts:1: TODO one");
  rmSync(join(where.cwd, "a.ts"));
  put(where.cwd, { "c.ts": "export const once = 1;\n" });
  equal(
    (await call(where, "find_definition", { symbol: "once" })).text,
    "c.ts:1: export const once = 1",
  );
});

const DEFAULT = 'import def, { b as bee } from "./b.ts";\n';
const shaped = place({
  "index.ts":
    'export * from "./a.ts";\nexport { b, c as d } from "./b.ts";\nexport const own = 1;\n',
  "a.ts": `${DEFAULT}import * as all from "./b.ts";\nexport const a = [def, bee, all];\n`,
  "b.ts": "export const b = 1;\nexport const c = 2;\nexport default 3;\n",
  "view.tsx": "export const Card = React.memo(() => {\n  return null;\n});\n",
});
const compiled = place({
  "src/a.ts": "export const a = (b: number) => (b ? 1 : 2);\n",
  "src/b.ts": "export const b = 1;\n",
  "lib/bundle.js": "export const a = (b) => (b ? 1 : 2);\n".repeat(20),
  "made.ts": `// @generated\n${"export const a = (b) => (b ? 1 : 2);\n".repeat(20)}`,
});
const nth = (i: number) => [`${i < 60 ? "lib" : "app/ui"}/f${i}.ts`, `export const f${i} = 1;\n`];
const large = place(Object.fromEntries(Array.from({ length: 90 }, (_, i) => nth(i))));
// biome-ignore format: one case a row.
const SHAPES: [where: Where, tool: string, args: object, says: string | RegExp][] = [
  [shaped, "get_structure", { path: "index.ts" }, 'index.ts · 3 lines of code\n3-3: export const own = 1\nexports {*} from ./a.ts\nexports {b, c as d} from ./b.ts'],
  [shaped, "get_structure", {}, /^index\.ts \(1\) own:3 \{\*\} from \.\/a\.ts \{b, c as d\} from \.\/b\.ts$/m],
  [shaped, "get_function", { name: "Card" }, /^view\.tsx:1-3\n1\texport const Card = React\.memo/],
  [shaped, "get_dependencies", { path: "a.ts" }, "a.ts:1: ./b.ts → b.ts {default as def, b as bee}\na.ts:2: ./b.ts → b.ts {* as all}"],
  [compiled, "get_complexity", {}, /^src\/a\.ts: .*\nsrc\/b\.ts: .*\n\[Left out: 2 files of build output or generated code\. Give a path to measure it\.\]$/],
  [large, "get_structure", {}, /^lib\/ 60 files\napp\/ 30 files\nFiles and what they export:\napp\/ui\/f60\.ts \(1\) f60:1\n/],
];
for (const [where, shapes] of Map.groupBy(SHAPES, ([where]) => where)) {
  const table = shapes.map(([, ...shape]): Told => shape);
  told(where, table);
}

const BASE = "export interface Base { cacheDir: string }\n";
const WORKSPACE = {
  "package.json": '{ "name": "all", "private": true, "workspaces": ["packages/*"] }',
  "packages/core/package.json":
    '{ "name": "core", "main": "./dist/index.js", "types": "./dist/index.d.ts" }',
  "packages/core/src/index.ts": 'export * from "./config.ts";\n',
  "packages/core/src/config.ts": `export function makeConfig() {}\n${BASE}export interface More extends Base {}\n`,
  "packages/app/package.json": '{ "name": "app", "dependencies": { "core": "*" } }',
  "packages/app/a.ts": 'import { makeConfig } from "core";\nmakeConfig();\n',
  "packages/app/b.ts":
    'async () => {\n  const { makeConfig } = await import("core");\n  makeConfig();\n};\nexport {};\n',
  "packages/app/c.ts": 'import * as core from "core";\ncore.makeConfig();\n',
};

// biome-ignore format: one case a row.
for (const [what, file, isUse] of [
  ["a package that is not there", 'import { makeConfig } from "gone";\nmakeConfig();\n', true],
  ["all of a package that is not there", 'import * as gone from "gone";\ngone.makeConfig();\n', true],
  ["a package that is not there, for something else", 'import { other } from "gone";\nconst makeConfig = other;\nexport { makeConfig };\n', false],
] as const)
  test(`find_references tells of ${what}, and rename_symbol refuses: ${isUse}`, async () => {
    const zz = await warm({ ...WORKSPACE, "packages/app/d.ts": file });
    const args = { symbol: "makeConfig", path: "packages/core/src/config.ts" };
    const { text } = await zz.call("find_references", args);
    equal(/^Perhaps used here too, .*\npackages\/app\/d\.ts:1: from "/m.test(text), isUse, text);
    const renamed = await zz.call("rename_symbol", { ...args, to: "define" });
    equal(/^Cannot rename 'makeConfig' to 'define': it would miss places .*\npackages\/app\/d\.ts:1: from "/.test(renamed.text), isUse, renamed.text);
    equal(zz.read("packages/app/d.ts"), file);
  });

test("find_references of a member that its owner does not declare says what there is", async () => {
  const { text } = await (await warm(WORKSPACE)).call("find_references", {
    symbol: "More.cacheDir",
  });
  match(
    text,
    /nothing is named like that\. There are: Base\.cacheDir \(packages\/core\/src\/config\.ts:2\)\.$/,
  );
});

test("zz --call --json carries the data: numbers, hash", async () => {
  const { code, stdout } = await zz(
    texts,
    '--call read_file {"path":"three.txt","start":2} --json'.split(" "),
  );
  const { ok: good, text, data } = JSON.parse(stdout);
  deepEqual([code, good, text], [0, true, "2\tb\n3\tc"]);
  deepEqual(
    { ...data, hash: data.hash.length },
    { path: "three.txt", start: 2, end: 3, lines: 3, hash: 64 },
  );
  const hits = JSON.parse(
    (await zz(searched, ["--call", "grep", '{"query":"price = a"}', "--json"])).stdout,
  ).data;
  deepEqual(hits, [{ path: "src/a.ts", line: 1, text: "const price = a.b(c);" }]);
});

test("read_file: the line of a picture says its size, not lines; what is cut off is refused, not sent", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAAEklEQVR4nGP8z8Dwn4GBgYEBAA0GAQFPGdxwAAAAAElFTkSuQmCC";
  const files = { "a.png": Buffer.from(png, "base64"), "b.gif": "GIF89a" };
  await using it = await harness({ own: true, files, script: [] });
  await it.call("read_file", { path: "a.png" });
  const { text, failed, images } = await it.call("read_file", { path: "b.gif" });
  equal(text, "Cannot read 'b.gif': it begins as image/gif, but is cut off. Choose another.");
  const shown = it.events.flatMap((event) => (event.type === "called" ? [event.shown] : []));
  deepEqual([failed, images, shown], [true, undefined, ["picture, 2 × 3", undefined]]);
});

// ── Names and parameters as other tools have them ──

const spelt: Files = { "a.ts": "export const one = 1;\n\n// TODO now\none;\nlast;\n" };
// biome-ignore format: one case a row.
const SPELT: Told[] = [
  ["get_file", { filePath: "a.ts", startLine: 4, endLine: 4 }, "4\tone;"],
  ["read_file", { path: "a.ts", offset: 3, limit: 2 }, /^3\t.*\n4\tone;/],
  ["read_file", { path: "a.ts", start: 5, colour: "red" }, "5\tlast;\n[Ignored: colour. 'read_file' has no such parameter; it takes path, start, end, limit.]"],
  ["get_definition", { symbolName: "one" }, /^a\.ts:1: /],
  ["getComplexity", {}, /^a\.ts: score/],
  ["check_types", { filePath: "a.ts" }, /TS2304/],
  ["grep", { pattern: "last", ignoreCase: "true" }, "a.ts:5: last;"],
];
told(spelt, SPELT);

test("A name that other tools have is that of one tool", async () => {
  for (const name of ["status", "diff", "log", "commit", "getTodos", "editLines", "repoMap"])
    ok(findTool(await coreOf(spelt), name), name);
});
