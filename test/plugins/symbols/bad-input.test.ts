// What an index meets that nobody wishes for: other encodings, very large files, syntax of tomorrow, odd repositories,
// readers that are killed, and indexes of other versions. Each with an answer.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { usesOf } from "../../../plugins/symbols/answers/uses.ts";
import { NoAnswer } from "../../../plugins/symbols/remote.ts";
import type { Harness } from "../../../sdk/testing.ts";
import { needs } from "../../support/needs.ts";
import { INIT, shell } from "../../support/repository.ts";
import { type Place, place, zz } from "../../support/run.ts";
import { isAll } from "../../support/runs.ts";
import { caller } from "../../support/script.ts";
import { warm, warmCall } from "../../support/warm.ts";

function project(files: Record<string, string | Buffer>): Place {
  const where = place();
  for (const [name, content] of Object.entries(files)) put(where.cwd, name, content);
  return where;
}
function put(root: string, name: string, content: string | Buffer): void {
  fs.mkdirSync(dirname(join(root, name)), { recursive: true });
  fs.writeFileSync(join(root, name), content);
}
/** One in each place. */
const callers = new Map<string, ReturnType<typeof caller>>();
function callerIn(where: Place): ReturnType<typeof caller> {
  if (!callers.has(where.cwd)) callers.set(where.cwd, caller(where));
  return callers.get(where.cwd)!;
}
async function ask(where: Place | Harness, tool: string, args: object): Promise<string> {
  const { text, failed } = await ("call" in where ? where.call(tool, args) : (await callerIn(where))(tool, args));
  equal(failed, undefined, text);
  return text.trimEnd();
}
const find = (where: Place | Harness, symbol: string) => ask(where, "find_definition", { symbol });

test("a source file of 30 MB is listed and not read, also under the name of a text", async () => {
  const huge = Buffer.alloc(30_000_000, "export const x = 1;\n");
  const where = project({ "a.ts": "export const first = 1;\n", "huge.ts": huge, "huge.md": huge });
  equal(await find(where, "first"), "a.ts:1: export const first = 1");
  match(await ask(where, "get_structure", {}), /^huge\.ts \(not read: 30\.0 MB\)$/m);
});

test("references: a place that cannot be located is told, and the others are asked for; another error ends the answer", async () => {
  const place = { column: 1, start: 0, end: 1, text: "a", kind: "read" } as const;
  const all = ["a.ts", "b.ts", "c.ts", "secret.ts"].map((path) => ({ path, line: 1, name: "a" }));
  const ask = async ({ path, line }: (typeof all)[number]) => {
    if (path === "b.ts") throw new NoAnswer("Cannot find 'a' at b.ts:1.");
    return [{ symbol: `a of ${path}`, places: [{ path, line, ...place }] }];
  };
  const { found, unlocated } = await usesOf(all, ask, (file) => file !== "secret.ts");
  deepEqual(
    found.map(({ symbol }) => symbol),
    ["a of a.ts", "a of c.ts"],
  );
  deepEqual(unlocated, ["Cannot find 'a' at b.ts:1."]);
  await rejects(
    usesOf(
      all,
      () => Promise.reject(new Error("the thread ended")),
      () => true,
    ),
    /the thread ended/,
  );
});

const SPAWN = 'import { spawn } from "node:child_process";\nspawn("a");\n';
const NODE_PATH = 'import path from "node:path";\nexport const p = path.join("a");\n';
const TAKEN = 'const { spawn } = await import("node:child_process");\nspawn("b");\nexport {};\n';
for (const [what, files, args, expected] of [
  ["an import", { "1.ts": SPAWN, "2.ts": SPAWN }, { symbol: "spawn" }, "1:1 1:2 2:1 2:2"],
  ["a member", { "1.ts": NODE_PATH, "2.ts": NODE_PATH }, { symbol: "join" }, "1:2 2:2"],
  ["what one file takes apart", { "1.ts": SPAWN, "2.ts": TAKEN }, { symbol: "spawn" }, "1:1 1:2 2:1 2:2"],
  [
    "where another file has the word in a pattern first",
    { "1.ts": "export const a = /[^spawn]/;\nexport const b = 'spawn';\n", "2.ts": SPAWN },
    { symbol: "spawn" },
    "2:1 2:2",
  ],
  [
    "where an earlier line has it in a string",
    {
      "1.ts": 'export * from "./types";\nimport * as types from "./types";\nexport { types };\n',
      "types.ts": "export type A = 1;\n",
    },
    { symbol: "types", path: "1.ts" },
    "1:2 1:3",
  ],
] as [string, Record<string, string>, object, string][])
  test(`references of a name that the project takes from elsewhere are in all files: ${what}`, async () => {
    const { said: text } = await warmCall(files, "find_references", args);
    const places = Array.from(text.matchAll(/^(\d)\.ts:(\d+): /gm), ([, file, line]) => `${file}:${line}`);
    equal(places.sort().join(" "), expected, text);
    equal(text.split("\n").length, places.length, text);
  });

test("references: a line that defines a name and uses it later is its definition", async () => {
  const files = { "a.ts": "export class Cart { static of() { return new Cart(); } }\n" };
  match((await warmCall(files, "find_references", { symbol: "Cart" })).said, /^a\.ts:1: .* {2}\[definition\]$/);
});

for (const [path, text, last] of [
  ["a.rb", "module Shop\n  class Cart\n    def total\n      1\n    end\n  end\nend\n", /^ {4}3-5: /m],
  ["a.ts", "namespace A.B {\n  export class C {\n    total() {}\n  }\n}\n", /^ +3-3: total\(\)/m],
] as const)
  test(`get_structure of one file shows members however deep they are: ${path}`, async () => {
    const where = project({ [path]: text });
    match(await ask(where, "get_structure", { path }), last);
    match(await ask(where, "get_structure", { path, depth: 1 }), /\n\[\d+ more deeper; a greater depth shows them\]$/);
  });

test("lines are counted as everywhere else: a lone carriage return or a line separator begins none", async () => {
  const zz = await warm({
    "a.ts": "/* \u2028 */ // \u2029\nexport const first = 1;\n",
    "b.ts": "// x\r\nexport const second = 1;\r\nsecond;\n",
  });
  const said = async (symbol: string) => (await zz.call("find_references", { symbol })).text;
  equal(await said("first"), "a.ts:2: export const first = 1;  [definition]");
  equal(await said("second"), "b.ts:2: export const second = 1;  [definition]\nb.ts:3: second;");
});

needs("git")(
  "a repository in the middle of a rebase: the files as they are, each once, with the conflict in them",
  async () => {
    const it = await warm({ "a.ts": "export const first = 1;\n", "b.ts": "export const second = 1;\n" });
    const cwd = it.root;
    shell(
      cwd,
      `${INIT}; git config user.name a; git config user.email a@b.c; git add -A; git commit -qm one; git checkout -qb other
       printf 'export const first = 2;\nexport const theirs = 1;\n' > a.ts; git commit -qam two; git checkout -q trunk
       printf 'export const first = 3;\nexport const ours = 1;\n' > a.ts; git commit -qam three
       ! git rebase -q other`, // it stops at the conflict
    );
    ok(fs.existsSync(join(cwd, ".git/rebase-merge")));
    match(fs.readFileSync(join(cwd, "a.ts"), "utf8"), /^<<<<<<< /m);
    equal(await find(it, "theirs"), "a.ts:3: export const theirs = 1");
    match(await find(it, "ours"), /^a\.ts:6: /);
    match(await ask(it, "find_references", { symbol: "first" }), /^a\.ts:2: (?:.*\n)+a\.ts:5: /m);
    match(await ask(it, "find_references", { symbol: "ours" }), /^a\.ts:6: /);
    match(await ask(it, "get_structure", {}), /^a\.ts .*\nb\.ts \(1\) second:1$/);
    match(await ask(it, "repo_map", { query: "theirs two" }), /^a\.ts/);
  },
);

const testAll = isAll ? needs("git") : () => {}; // it starts two dozen programs
testAll(
  "a shallow clone, a submodule, a linked working tree whose .git is a file: all their files, each once",
  async () => {
    const where = project({});
    const base = dirname(where.cwd);
    const [origin, library] = [join(base, "origin"), join(base, "library")];
    put(origin, "src/first.ts", "export const first = 1;\n");
    put(library, "src/lent.ts", "export const lent = 1;\n");
    fs.rmSync(where.cwd, { recursive: true });
    const commit = `${INIT}; git config user.name a; git config user.email a@b.c; git add -A; git commit -qm one`;
    shell(origin, `${commit}; git commit -qm two --allow-empty`);
    shell(library, commit);
    const clone = 'git clone -q --depth 1 "file://$1" "$2"; git -C "$1" worktree add -q "$3"';
    shell(base, clone, origin, where.cwd, join(base, "tree"));
    ok(fs.existsSync(join(where.cwd, ".git/shallow")));
    equal(await find(where, "first"), "src/first.ts:1: export const first = 1");
    match(await ask(where, "repo_map", { query: "first two" }), /^src\/first\.ts:1/);

    shell(where.cwd, 'git -c protocol.file.allow=always submodule --quiet add "$1" lib', library);
    ok(fs.statSync(join(where.cwd, "lib/.git")).isFile());
    equal(await find(where, "lent"), "lib/src/lent.ts:1: export const lent = 1");
    put(where.cwd, "lib/src/later.ts", "export const later = 1;\n");
    equal(await find(where, "later"), "lib/src/later.ts:1: export const later = 1");

    const tree = { ...where, cwd: join(base, "tree") };
    ok(fs.statSync(join(tree.cwd, ".git")).isFile());
    put(tree.cwd, "src/own.ts", "export const own = 1;\n");
    equal(await find(tree, "first"), "src/first.ts:1: export const first = 1");
    equal(await find(tree, "own"), "src/own.ts:1: export const own = 1");
  },
);

test("names that differ in their case alone are two files here, and one that changes its case is found by its new name", async () => {
  const where = project({
    "src/a.ts": "export const small = 1;\n",
    "src/A.ts": "export const capital = 1;\n",
    "b.ts": "",
  });
  const isOne = fs.readdirSync(join(where.cwd, "src")).length === 1; // a file system that knows no case
  equal(
    await find(where, "capital"),
    isOne ? "src/a.ts:1: export const capital = 1" : "src/A.ts:1: export const capital = 1",
  );
  if (!isOne) equal(await find(where, "small"), "src/a.ts:1: export const small = 1");
  fs.renameSync(join(where.cwd, "src/A.ts"), join(where.cwd, "src/B.ts"));
  equal(await find(where, "capital"), "src/B.ts:1: export const capital = 1");
  fs.renameSync(join(where.cwd, "src/B.ts"), join(where.cwd, "src/b.ts"));
  equal(await find(where, "capital"), "src/b.ts:1: export const capital = 1");
});

for (const version of [0, 4, 99])
  test(`an index of version ${version} is made again`, async () => {
    const where = project({ "a.ts": "export const first = 1;\n" });
    await zz(where, ["--call", "find_definition", '{"symbol":"first"}']);
    const [name] = fs.readdirSync(join(where.home, "index"));
    const file = join(where.home, "index", name!);
    const text = fs.readFileSync(file, "latin1").replace(/^zz index \d+/, `zz index ${version}`);
    fs.writeFileSync(file, text, "latin1");
    const { stdout, stderr, code } = await zz(where, ["--call", "find_definition", '{"symbol":"first"}']);
    deepEqual([stdout, code], ["a.ts:1: export const first = 1\n", 0]);
    ok(
      version >= 1 && version <= 4
        ? stderr === ""
        : /^Cannot use the index of this project: .*\. It is made again\.\n$/.test(stderr),
      stderr,
    );
    equal(await find(where, "first"), "a.ts:1: export const first = 1");
  });

test("references by name stand also in UTF-16 and in Latin-1; types lead into UTF-16, where nothing is renamed", async () => {
  const wide = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le");
  const it = await warm({
    "a.py": wide("# Grüße\ndef large():\n    return large\n"),
    "b.py": wide("x = large()\n").swap16(),
    "A.java": Buffer.from("class A { int été() { return été(); } }\n", "latin1"),
    "base.ts": "export const base = 15;\n",
    "wide.ts": wide('import { base } from "./base.ts";\nexport const sixteen: number = base + 1;\n'),
    "use.ts":
      'import { base } from "./base.ts";\nimport { sixteen } from "./wide.ts";\nexport const sum: number = sixteen + base;\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "allowImportingTsExtensions": true, "noEmit": true}}\n',
  });
  const uses = await ask(it, "find_references", { symbol: "large" });
  for (const row of ["a.py:2: def large():  [definition]", "a.py:3: return large", "b.py:1: x = large()"])
    ok(uses.split("\n").includes(row), uses);
  match(
    await ask(it, "find_references", { symbol: "été" }),
    /^A\.java:1: class A \{ int été\(\) \{ return été\(\); \} \}/m,
  );
  equal(await ask(it, "check_types", { paths: ["use.ts"] }), "No problems in 1 file.");
  const { text } = await it.call("rename_symbol", { symbol: "base", to: "other" });
  match(text, /wide\.ts' is UTF-16, which is not written\. Turn it into UTF-8 first\./);
});
