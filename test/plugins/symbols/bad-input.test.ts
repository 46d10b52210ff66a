// What an index meets that nobody wishes for: other encodings, very large files, syntax of tomorrow, odd repositories,
// readers that are killed, and indexes of other versions. Each with an answer.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { needs } from "../../support/needs.ts";
import { type Place, place, zz } from "../../support/run.ts";

function project(files: Record<string, string | Buffer>): Place {
  const where = place();
  for (const [name, content] of Object.entries(files)) put(where.cwd, name, content);
  return where;
}
function put(root: string, name: string, content: string | Buffer): void {
  fs.mkdirSync(dirname(join(root, name)), { recursive: true });
  fs.writeFileSync(join(root, name), content);
}
const git = (cwd: string, ...args: string[]): string => {
  const own = [
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@b.c",
    "-c",
    "protocol.file.allow=always",
    "-c",
    "init.defaultBranch=main",
  ];
  return execFileSync("git", [...own, ...args], { cwd, encoding: "utf8", stdio: "pipe" });
};
async function ask(where: Place, tool: string, args: object): Promise<string> {
  const { stdout, stderr, code } = await zz(where, ["--call", tool, JSON.stringify(args)]);
  equal(code, 0, stderr);
  equal(stderr, "");
  return stdout.trimEnd();
}
const find = (where: Place, symbol: string) => ask(where, "find_definition", { symbol });

test("UTF-16, either way round, and Latin-1: listed with the reason, and found by their words; the rest is read", async () => {
  const text = "export function measuredZebra() {} // Grüße\n";
  const big = Buffer.from(text, "utf16le").swap16();
  const where = project({
    "plain.ts": "\ufeffexport const plain = 1;\n",
    "little.ts": Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, "utf16le")]),
    "big.ts": Buffer.concat([Buffer.from([0xfe, 0xff]), big]),
    "latin.ts": Buffer.from(text, "latin1"),
  });
  equal(await find(where, "plain"), "plain.ts:1: export const plain = 1");
  const structure = await ask(where, "get_structure", {});
  for (const name of ["big", "latin", "little"])
    match(structure, new RegExp(`^${name}\\.ts \\(not read: not UTF-8\\)$`, "m"));
  const map = await ask(where, "repo_map", { query: "zebra" });
  for (const name of ["big", "latin", "little"]) match(map, new RegExp(`^${name}\\.ts`, "m"));
});

test("a source file of 30 MB is listed and not read, also under the name of a text", async () => {
  const huge = Buffer.alloc(30_000_000, "export const x = 1;\n");
  const where = project({ "a.ts": "export const first = 1;\n", "huge.ts": huge, "huge.md": huge });
  equal(await find(where, "first"), "a.ts:1: export const first = 1");
  match(await ask(where, "get_structure", {}), /^huge\.ts \(not read: 30\.0 MB\)$/m);
});

test("syntax of tomorrow: what is around it is found, and the error is told", async () => {
  const where = project({
    "a.ts":
      "export const before = 1;\nexport const piped = before |> double(%) |> #{ a: 1 };\nmatch (x) { when 1: y }\nexport function behind() {}\n",
    "b.ts": "export const other = 1;\n",
  });
  equal(await find(where, "before"), "a.ts:1: export const before = 1");
  match(await find(where, "behind"), /^a\.ts:4: export function behind\(\)/);
  equal(await find(where, "other"), "b.ts:1: export const other = 1");
  match(await ask(where, "get_structure", { path: "a.ts" }), /^\[syntax error: line \d/m);
});

needs("git")(
  "a repository in the middle of a rebase: the files as they are, each once, with the conflict in them",
  async () => {
    const where = project({ "a.ts": "export const first = 1;\n", "b.ts": "export const second = 1;\n" });
    const { cwd } = where;
    git(cwd, "init", "-q");
    const save = (text: string, why: string) => {
      put(cwd, "a.ts", text);
      git(cwd, "add", "-A");
      git(cwd, "commit", "-qm", why);
    };
    save("export const first = 1;\n", "one");
    git(cwd, "checkout", "-qb", "other");
    save("export const first = 2;\nexport const theirs = 1;\n", "two");
    git(cwd, "checkout", "-q", "main");
    save("export const first = 3;\nexport const ours = 1;\n", "three");
    try {
      git(cwd, "rebase", "other");
    } catch {} // it stops at the conflict
    ok(fs.existsSync(join(cwd, ".git/rebase-merge")));
    match(fs.readFileSync(join(cwd, "a.ts"), "utf8"), /^<<<<<<< /m);
    equal(await find(where, "theirs"), "a.ts:3: export const theirs = 1");
    match(await find(where, "ours"), /^a\.ts:6: /);
    match(await ask(where, "get_structure", {}), /^a\.ts .*\nb\.ts \(1\) second:1$/);
    match(await ask(where, "repo_map", { query: "theirs two" }), /^a\.ts/);
  },
);

needs("git")(
  "a shallow clone, a submodule, a linked working tree whose .git is a file: all their files, each once",
  async () => {
    const where = project({});
    const base = dirname(where.cwd);
    const [origin, library] = [join(base, "origin"), join(base, "library")];
    for (const [folder, name] of [
      [origin, "first"],
      [library, "lent"],
    ] as const) {
      put(folder, `src/${name}.ts`, `export const ${name} = 1;\n`);
      git(folder, "init", "-q");
      git(folder, "add", "-A");
      git(folder, "commit", "-qm", "one");
      git(folder, "commit", "-qm", "two", "--allow-empty");
    }
    fs.rmSync(where.cwd, { recursive: true });
    git(base, "clone", "-q", "--depth", "1", `file://${origin}`, where.cwd);
    ok(fs.existsSync(join(where.cwd, ".git/shallow")));
    equal(await find(where, "first"), "src/first.ts:1: export const first = 1");
    match(await ask(where, "repo_map", { query: "first two" }), /^src\/first\.ts:1/);

    git(where.cwd, "submodule", "--quiet", "add", library, "lib");
    ok(fs.statSync(join(where.cwd, "lib/.git")).isFile());
    equal(await find(where, "lent"), "lib/src/lent.ts:1: export const lent = 1");
    put(where.cwd, "lib/src/later.ts", "export const later = 1;\n");
    equal(await find(where, "later"), "lib/src/later.ts:1: export const later = 1");

    const tree = { ...where, cwd: join(base, "tree") };
    git(origin, "worktree", "add", "-q", tree.cwd);
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

for (const version of [0, 1, 2, 99])
  test(`an index of version ${version} is made again`, async () => {
    const where = project({ "a.ts": "export const first = 1;\n" });
    await find(where, "first");
    const [name] = fs.readdirSync(join(where.home, "index"));
    const file = join(where.home, "index", name!);
    const text = fs.readFileSync(file, "latin1").replace(/^zz index \d+/, `zz index ${version}`);
    fs.writeFileSync(file, text, "latin1");
    const { stdout, stderr, code } = await zz(where, ["--call", "find_definition", '{"symbol":"first"}']);
    deepEqual([stdout, code], ["a.ts:1: export const first = 1\n", 0]);
    ok(
      version === 1 || version === 2
        ? stderr === ""
        : /^Cannot use the index of this project: .*\. It is made again\.\n$/.test(stderr),
      stderr,
    );
    equal(await find(where, "first"), "a.ts:1: export const first = 1");
  });

needs("git")("a reader that is killed: a sentence, and what was read is kept for the next question", async () => {
  const long = Array.from({ length: 300 }, (_, i) => `export function f${i}() { return ${i} }\n`).join("");
  const where = project(
    Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`f${i}.ts`, `${long}export const c${i} = 1;\n`])),
  );
  const { WAYS } = await import("../../support/run.ts");
  const env = { ...process.env, ZZ_HOME: where.home };
  const child = spawn(WAYS.dist[0], [WAYS.dist[1], "--call", "find_definition", '{"symbol":"c1"}'], {
    cwd: where.cwd,
    env,
  });
  let said = "";
  child.stderr.on("data", (data) => (said += data));
  const ended = new Promise((resolve) => child.on("close", resolve));
  const reader = async (): Promise<number> => {
    for (;;) {
      if (child.exitCode !== null) return 0;
      for (const pid of childrenOf(child.pid!)) if (/symbols-worker/.test(commandOf(pid))) return pid;
      await sleep(5);
    }
  };
  const pid = process.platform === "linux" ? await reader() : 0;
  if (pid) process.kill(pid, "SIGKILL");
  const code = await ended;
  if (pid) match(said, /Cannot index this project: a process that reads it ended .*\. Try again\./);
  equal(code, pid ? 1 : 0);
  equal(await find(where, "c899"), "f899.ts:301: export const c899 = 1");
});

function childrenOf(pid: number): number[] {
  try {
    return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return []; // it has ended
  }
}
function commandOf(pid: number): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
