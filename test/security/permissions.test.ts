// What a hostile model, or a hostile project, must not get: each row was tried and went through once, or shows where it would.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ask, Result } from "../../kernel/contract.ts";
import type { Options } from "../../kernel/core.ts";
import { findTool } from "../../kernel/tools.ts";
import "../support/lean.ts";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { mains } from "../support/mains.ts";
import { needs } from "../support/needs.ts";
import { configure, fill, INIT, objectOf, shell } from "../support/repository.ts";
import { type Place, place, zz } from "../support/run.ts";
import { kernel } from "../support/script.ts";
import { KEY, terminal } from "../support/terminal.ts";

const GIT = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
Object.assign(process.env, GIT); // no configuration of this machine's own
const WHO = ["-c", "user.name=a", "-c", "user.email=a@example.com"];

function put(where: Place, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(join(where.cwd, name, ".."), { recursive: true });
    fs.writeFileSync(join(where.cwd, name), text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
}

/** A repository with one commit of these files. */
function repo(files: Record<string, string>): Place {
  const where = place();
  fill(where.cwd, JSON.stringify(files), (cwd) => {
    put({ ...where, cwd }, files);
    shell(cwd, `${INIT}; git add -A -f; git ${WHO.join(" ")} commit -qm x`);
  });
  return where;
}

const zzAgain = mains(); // for a PATH of its own
const tool = (where: Place, name: string, args: unknown, flags: string[] = [], env: Record<string, string> = {}) =>
  (env.PATH ? zzAgain : zz)(where, ["--call", name, JSON.stringify(args), ...flags], { env });
const ran = (where: Place) => fs.existsSync(join(where.cwd, "..", "ran"));
const trap = (where: Place, more = "") =>
  `#!/bin/sh\ntouch '${join(where.cwd, "..", "ran")}' '${where.cwd}/ran'\n${more}`;
const trapped = (where: Place) => ran(where) || fs.existsSync(join(where.cwd, "ran"));

/** In this process, with answers given ahead; what was asked is kept. */
/** A command is asked for before it runs, not about what it changed on a copy. */
const BEFORE: Options = { settings: { shell: { effects: "before" } } };

async function held(where: Place, answers: string[] = [], more: Options = {}) {
  const core = await kernel.createZz({ root: where.cwd, home: where.home, save: false, ...more });
  const asked: string[] = [];
  const ask: Ask = async (question) => {
    asked.push(question);
    return answers.shift() ?? "";
  };
  core.ask = ask;
  kernel.openChat(core, "x/y");
  const ctx = core.ctx();
  return { core, asked, call: (name: string, args: unknown): Promise<Result> => ctx.call(name, args) };
}

// ── nothing of the project's runs because somebody looks ──

for (const [name, args] of [
  ["list_dir", {}],
  ["grep", { query: "x" }],
  ["find_definition", { symbol: "x" }],
  ["git_status", {}],
  ["git_diff", {}],
] as const)
  needs("git")(`${name} fetches no missing object: the remote's configuration names a program for that`, async () => {
    const where = place();
    fill(where.cwd, "a missing object", (cwd) => {
      put({ ...where, cwd }, { "sub/.gitignore": "x\n", "sub/f": "a\n" });
      shell(
        cwd,
        `${INIT}; git add -A -f; git ${WHO.join(" ")} commit -qm x; git update-index --skip-worktree sub/.gitignore`,
      );
      fs.rmSync(join(cwd, "sub", ".gitignore"));
      fs.rmSync(join(cwd, ".git", "objects", objectOf("x\n")));
    });
    put(where, { "sub/untracked": "x\n" });
    configure(where.cwd, [
      ["core.repositoryformatversion", "1"],
      ["extensions.partialclone", "o"],
      ["remote.o.promisor", "true"],
      ["remote.o.url", join(where.cwd, "none")],
      ["remote.o.uploadpack", `touch '${join(where.cwd, "..", "ran")}'; false`],
    ]);
    await tool(where, name, args);
    ok(!ran(where), "the program that the repository names ran");
  });

for (const [name, args] of [
  ["list_dir", {}],
  ["git_status", {}],
] as const)
  needs("git")(`${name} runs the machine's git, not one that the project brings to PATH`, async () => {
    const where = repo({ a: "a\n" });
    put(where, { "node_modules/.bin/git": trap(where, 'exec /usr/bin/git "$@"\n') });
    await tool(where, name, args, [], { PATH: `${where.cwd}/node_modules/.bin:${process.env.PATH}` });
    ok(!trapped(where), "the project's git ran");
  });

for (const [what, line, set] of [
  ["core.fsmonitor", "git status --short", (where) => configure(where.cwd, [["core.fsmonitor", "./t.sh"]])],
  ["diff.external", "git diff", (where) => configure(where.cwd, [["diff.external", "./t.sh"]])],
  ["a filter", "git diff", (where) => configure(where.cwd, [["filter.f.clean", "./t.sh; cat"]])],
  ["a text conversion", "git show HEAD", (where) => configure(where.cwd, [["diff.f.textconv", "./t.sh; cat"]])],
  [
    "an included file",
    "git status",
    (where) => {
      put(where, { more: "[core]\n\tfsmonitor = ./t.sh\n" });
      configure(where.cwd, [["include.path", "../more"]]);
    },
  ],
  ["the hook post-index-change", "git status", (where) => put(where, { ".git/hooks/post-index-change": trap(where) })],
] as [string, string, (where: Place) => unknown][])
  needs("git")(`'${line}' asks where the repository has ${what} of its own`, async () => {
    const where = repo({ a: "a\n", ".gitattributes": "a filter=f diff=f\n" });
    put(where, { "t.sh": trap(where), a: "b\n" });
    equal((await tool(where, "run_command", { command: line })).code, 0, "without it, it goes unasked");
    set(where);
    const { code, stderr } = await tool(where, "run_command", { command: line });
    equal(code, 4, stderr);
    ok(!trapped(where), "the repository's own program ran");
  });

needs("git")("'git status' asks where the project itself is a bare repository with settings of its own", async () => {
  const where = place();
  put(where, { "t.sh": trap(where) });
  shell(
    where.cwd,
    `git init -q --bare .; git config --file config core.bare false
     git config --file config core.worktree .; git config --file config core.fsmonitor ./t.sh`,
  );
  equal((await tool(where, "run_command", { command: "git status" })).code, 4);
  ok(!trapped(where));
});

for (const command of ["ls", "cat a", "find . -name a", "timeout 5 ls", "git status", "bash -c ls", "sh -c pwd"])
  needs("git")(`'${command}' asks where PATH leads to the project's own program of that name`, async () => {
    const where = repo({ a: "a\n" });
    const name = command.split(" ")[0]!;
    put(where, { [`bin/${name}`]: trap(where) });
    const env = { PATH: `${where.cwd}/bin:${process.env.PATH}` };
    const { code } = await tool(where, "run_command", { command }, [], env);
    equal(code, 4);
    ok(!trapped(where), "the project's program ran");
  });

// ── secrets ──

for (const flag of ["--deny-read=.env", "--no-prompt"])
  test(`A secret cannot be moved to where it may be read (${flag})`, async () => {
    const where = place();
    put(where, { ".env": "K=secret\n" });
    const { code } = await tool(where, "move_file", { from: ".env", to: "e.txt" }, ["--allow-write=.", flag]);
    deepEqual([code, fs.existsSync(join(where.cwd, "e.txt"))], [4, false]);
  });

for (const line of [
  "git show HEAD",
  "git log -p",
  "git diff HEAD~1",
  "git show HEAD --stat -p",
  "git cat-file -p HASH",
])
  needs("git")(`'${line}' asks where what it shows may hold a secret`, async () => {
    const where = place();
    fill(where.cwd, "a secret", (cwd) => {
      put({ ...where, cwd }, { a: "a\n" });
      const commit = `git ${WHO.join(" ")} commit -qm`;
      shell(cwd, `${INIT}; git add a; ${commit} x; echo K=secret > .env; git add -f .env; ${commit} y`);
    });
    const command = line.replace("HASH", objectOf("K=secret\n").replace("/", ""));
    const { code, stdout } = await tool(where, "run_command", { command });
    doesNotMatch(stdout, /secret/);
    equal(code, 4);
  });

for (const command of ["git show HEAD", "rg secret", "rg secret ."])
  needs("git")(`'${command}' shows nothing of a file that is denied, sandbox or not`, async () => {
    const where = repo({ "private/k": "secret\n" });
    const config = join(where.cwd, "..", "c.json");
    fs.writeFileSync(config, '{"shell":{"sandbox":"off"}}');
    for (const more of [[], ["--config", config]]) {
      const { stdout } = await tool(where, "run_command", { command }, ["--deny-read=private", ...more]);
      doesNotMatch(stdout, /secret/);
    }
  });

for (const name of [".ENV", ".Env.local", "ID_RSA", "key.PEM"])
  test(`Reading '${name}' asks: there are disks on which it is the same file`, async () => {
    const { call, asked } = await held(place());
    await call("read_file", { path: name });
    equal(asked.length > 0, true);
  });

test("Writing '.GIT/hooks/x' is not in a list: there are disks on which it is .git", async () => {
  const where = place();
  const { code } = await tool(where, "create_file", { path: ".GIT/hooks/x", content: "x\n" }, ["--allow-write=."]);
  equal(code, 4);
});

// ── rules ──

const SKILL = "---\nname: x\ndescription: x\n---\nx\n";

for (const command of ["/usr/bin/touch x", "env touch x", "touch -- x"])
  test(`--deny-run=touch denies '${command}' though all else is allowed`, async () => {
    const where = place();
    const { code, stderr } = await tool(where, "run_command", { command }, ["--allow-run", "--deny-run=touch"]);
    equal(code, 4, stderr);
    ok(!fs.existsSync(join(where.cwd, "x")));
  });

test("--allow-write=src does not follow src out of the project", async () => {
  const where = place();
  const out = join(where.cwd, "..", "out");
  fs.mkdirSync(out);
  fs.symlinkSync("../out", join(where.cwd, "src"));
  await tool(where, "create_file", { path: "src/x", content: "x\n" }, ["--allow-write=src"]);
  deepEqual(fs.readdirSync(out), []);
});

for (const [name, args] of [
  ["create_file", { path: ".zz/skills/x/SKILL.md", content: SKILL }],
  ["install_skill", { name: "x", content: SKILL, where: "project" }],
  ["create_file", { path: ".zz/AGENTS.md", content: "x\n" }],
  ["create_file", { path: ".git/hooks/pre-commit", content: "x\n" }],
  ["create_file", { path: "home/skills/x/SKILL.md", content: SKILL }],
  ["install_skill", { name: "x", content: SKILL }],
  ["create_file", { path: "home/memory/INDEX.md", content: "x\n" }],
  ["create_file", { path: "home/permissions.json", content: "{}\n" }],
] as const)
  test(`${name} of ${"path" in args ? args.path : `a skill of the ${"where" in args ? "project" : "home"}`} takes more than --allow-write`, async () => {
    const where = place();
    const home = { ZZ_HOME: join(where.cwd, "home") };
    const had = () =>
      fs.readdirSync(where.cwd, { recursive: true }).filter((one) => !/sessions|\.lock$/.test(String(one)));
    for (const flags of [["--allow-write"], ["--allow-write=."], ["--allow-write", "--allow-read", "--allow-run"]]) {
      const { code, stderr } = await tool(where, name, args, flags, home);
      deepEqual([code, had().length < 2], [4, true], stderr);
      match(stderr, /requires write access to .*; run again with --allow-write=/);
    }
    const { code, stderr } = await tool(where, name, args, ["-A"], home);
    equal(code, 0, stderr);
  });

test("--deny-read= with nothing in it is refused rather than nothing denied", async () => {
  const { code } = await zz(place(), ["--deny-read=", "--call", "list_dir", "{}"]);
  equal(code, 2);
});

test("A for 'rm a' allows 'rm a' and not 'rm a b'", async () => {
  const where = place();
  put(where, { a: "", b: "" });
  const { call, asked } = await held(where, ["A"], BEFORE);
  await call("run_command", { command: "rm a" });
  await call("run_command", { command: "rm -f a b" });
  await call("run_command", { command: "rm a b" });
  ok(fs.existsSync(join(where.cwd, "b")), "b was removed");
  equal(asked.filter((question) => question.includes("Allow?")).length, 3);
});

for (const [one, other] of [
  ["X='touch one'; $X", "X='touch two'; $X"],
  ["echo 'touch one' | sh", "echo 'touch two' | sh"],
] as const)
  test(`A for ${one} does not allow ${other}`, async () => {
    const where = place();
    const { call } = await held(where, ["A"], BEFORE);
    await call("run_command", { command: one });
    ok(fs.existsSync(join(where.cwd, "one")), "the first was allowed");
    await call("run_command", { command: other });
    ok(!fs.existsSync(join(where.cwd, "two")), "the other ran unasked");
  });

// ── what is shown is what is done ──

for (const command of ["echo 'touch evil' | sh", "X='touch evil'; $X", "sh <<E\ntouch evil\nE", "touch a < evil"])
  test(`The question shows all of ${JSON.stringify(command)}`, async () => {
    const { call, asked } = await held(place(), [], BEFORE);
    await call("run_command", { command });
    match(asked[0]!, /evil/);
    for (const line of command.split("\n")) ok(asked[0]!.includes(line), `'${line}' is missing in:\n${asked[0]}`);
  });

test("The question names the file that a link leads to", async () => {
  const where = place();
  fs.symlinkSync("/etc/hosts", join(where.cwd, "README.txt"));
  const { call, asked } = await held(where);
  await call("read_file", { path: "README.txt" });
  match(asked[0]!, /\/etc\/hosts/);
});

test("The question shows that only line ends change", async () => {
  const where = place();
  put(where, { "a.txt": "x\r\ny\r\n" });
  const { call, asked } = await held(where);
  await call("apply_patch", { patch: "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-x\r\n-y\r\n+x\n+y\n" });
  match(asked[0]!, /line ends|CRLF|␍/);
});

test("The question shows that a moved file is a link", async () => {
  const where = place();
  put(where, { a: "x\n" });
  fs.symlinkSync("a", join(where.cwd, "l"));
  const { call, asked } = await held(where);
  await call("move_file", { from: "l", to: "m" });
  match(asked[0]!, /link/);
});

test("The question shows that a moved file can run", async () => {
  const where = place();
  put(where, { "a.sh": "#!/bin/sh\n" });
  const { call, asked } = await held(where);
  await call("move_file", { from: "a.sh", to: "b.sh" });
  match(asked[0]!, /mode|runs|executable/);
});

test("A name with a line break cannot write lines of its own into the question", async () => {
  const { call, asked } = await held(place());
  await call("create_file", { path: "a\nedit b · lines 1 · +0 −0", content: "x\n" });
  doesNotMatch(asked[0]!, /^┃ edit b/m);
});

test("The question shows characters that nobody sees", async () => {
  const { call, asked } = await held(place());
  await call("create_file", { path: "a", content: "a\u200bb\u{e0041}c\u2028d\ufeffe\n" });
  doesNotMatch(asked[0]!, /[\u200b\u{e0041}\u2028\ufeff]/u);
});

// ── the person at the question ──

test("A reason for a no is no answer to the next question", async (t) => {
  const both = call(["read_file", { path: "/etc/hosts" }], ["read_file", { path: "/etc/passwd" }]);
  const fake = await fakeOpenAI([both, say("End.")]);
  t.after(fake.close);
  const term = terminal(place(), ["-m", "openai/m", "--base-url", fake.url, "--key", "x"], { rows: 40 });
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees("Allow?");
  term.type("n");
  await term.sees("Why not?");
  for (let typed = 1; typed <= "A secret".length; typed++) {
    term.type("A secret"[typed - 1]!);
    await term.sees("A secret".slice(0, typed).trimEnd());
  }
  term.type(KEY.enter);
  doesNotMatch(await term.sees(/Allow\?[\s\S]*Allow\?/), /root:x:0/);
  await sleep(500); // what is typed at once is not for this question
  term.type("n");
  await term.sees(/Why not\?[\s\S]*Why not\?/);
  term.type(KEY.enter);
  await term.sees("End."); // and nothing waits for ever
});

/** What a held-down key made of three questions; undefined: the machine was so busy that it was let go for a while. */
async function heldDown(t: TestContext): Promise<string[] | undefined> {
  const three = call(...["a", "b", "c"].map((path) => ["create_file", { path, content: path }] as [string, unknown]));
  const fake = await fakeOpenAI([three, say("End.")]);
  t.after(fake.close);
  const where = place();
  const term = terminal(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x"], { rows: 40 });
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees("Allow?");
  let last = performance.now();
  for (let i = 0; i < 15; i++) {
    term.type("y");
    await sleep(30);
    if (performance.now() - last > 100) return undefined;
    last = performance.now();
  }
  return fs.readdirSync(where.cwd);
}

test("A key that is held down answers one question", async (t) => {
  let made: string[] | undefined;
  for (let tries = 0; tries < 10 && !made; tries++) made = await heldDown(t);
  deepEqual(made, ["a"]);
});

// ── the e key ──

const TWO = "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n";

test("What was edited before the editor was left is told to the model, however the question ends", async () => {
  const where = place();
  put(where, { a: "1\n", b: "1\n" });
  const { core, call } = await held(where, ["e", "y"]);
  core.edit = async (text, name) => (name === "a" ? `${text}mine\n` : undefined);
  const { text } = await call("apply_patch", { patch: TWO });
  equal(fs.readFileSync(join(where.cwd, "a"), "utf8"), "2\nmine\n");
  match(text, /The person edited the proposal[\s\S]*mine/);
});

test("e does not turn bytes that are no text into others", async () => {
  const where = place();
  const bytes = Buffer.from([0xff, 0xe9, 0x41, 10]);
  fs.writeFileSync(join(where.cwd, "a.bin"), bytes);
  const { core, call } = await held(where, ["e", "y"]);
  core.edit = async (text) => text.replace("A", "B");
  await call("move_file", { from: "a.bin", to: "b.bin" });
  const now = ["a.bin", "b.bin"].map((name) => join(where.cwd, name)).find(fs.existsSync)!;
  deepEqual(fs.readFileSync(now).subarray(0, 2), bytes.subarray(0, 2));
});

// ── it stays alive ──

test("A path of many parts is refused", async () => {
  const { call } = await held(place());
  const { failed } = await call("read_file", { path: `${"a/".repeat(20_000)}b` });
  ok(failed);
});

test("A question for 50,000 other lines is refused, since nobody reads that before a yes", async () => {
  const where = place();
  const lines = (sign: string) => Array.from({ length: 50_000 }, (_, i) => `${sign}${i}\n`).join("");
  put(where, { a: lines("a") });
  const { call, asked } = await held(where);
  const { text, refused } = await call("write_file", { path: "a", content: lines("b") });
  deepEqual([asked.length, refused], [0, true]);
  match(
    text,
    /more than anyone can review at once \(100001 lines\)\. Do it in smaller parts, or run again with --allow-write=a\./,
  );
});

test("A file that is nested too deep does not keep find_definition from the others", async () => {
  const where = place();
  put(where, { "bomb.ts": "(".repeat(20_000), "a.ts": "export function found() {}\n" });
  const { call } = await held(where);
  match((await call("find_definition", { symbol: "found" })).text, /a\.ts:1/);
});

test("A folder that is called like a file of zz's own does not stop writing", async () => {
  const where = place();
  fs.mkdirSync(join(where.cwd, ".zz-99999999-a.tmp"));
  const { code, stderr } = await tool(where, "create_file", { path: "a", content: "a\n" }, ["--allow-write=."]);
  equal(code, 0, stderr);
});

test("A tool's own name goes before another's alias", async () => {
  const { core } = await held(place());
  const value = { name: "search", description: "", run: () => "" };
  core.tools.set("search", { owner: "test", value });
  equal(findTool(core, "search"), value);
});

// ── a denied file stays denied ──

needs("bwrap")("A command cannot move a denied file to another name by its folder", async () => {
  const where = place();
  put(where, { "conf/private/k": "secret\n" });
  const flags = ["--allow-run", "--deny-read=conf/private"];
  await tool(where, "run_command", { command: "mv conf other" }, flags);
  const { stdout } = await tool(where, "read_file", { path: "other/private/k" }, flags);
  doesNotMatch(stdout, /secret/);
});

for (const [command, flags] of [
  ["touch src/b", ["--deny-write=src"]],
  ["touch src/gen/b", ["--deny-write=src", "--allow-write=src/gen"]],
  ["touch src/gen/b", ["--deny-write=src", "--deny-read=src/gen/deep/k"]],
  ["touch src/b", ["--deny-write"]],
  ["touch .git/b", ["--deny-write"]],
] as const)
  needs("git", "bwrap")(`'${command}' in the sandbox makes nothing with ${flags.join(" ")}`, async () => {
    const where = repo({ "src/a": "", "src/gen/deep/k": "k\n" });
    const { code } = await tool(where, "run_command", { command }, ["--allow-run", ...flags]);
    equal(code, 1);
    ok(!fs.existsSync(join(where.cwd, command.split(" ")[1]!)));
  });

needs("bwrap")("A command cannot make the rules of a home that lies in the project", async () => {
  const where = place();
  const home = join(where.cwd, "home");
  fs.mkdirSync(join(home, "plugins"), { recursive: true });
  const command = "touch home/permissions.json home/zz.config.json home/plugins/x.ts";
  await tool(where, "run_command", { command }, ["--allow-run"], { ZZ_HOME: home });
  deepEqual(
    fs.readdirSync(home, { recursive: true }).filter((name) => /json|x\.ts/.test(String(name))),
    [],
  );
});

test("A long line is shown whole, what hides in its middle too", async () => {
  const { call, asked } = await held(place(), [], BEFORE);
  await call("run_command", { command: `touch ${"x".repeat(200_000)} EVIL ${"x".repeat(200_000)}END` });
  match(asked[0]!, /touch x{200000} EVIL x{200000}END/);
});

test("A new file of 501 lines is shown whole", async () => {
  const { call, asked } = await held(place());
  const lines = Array.from({ length: 501 }, (_, i) => `line ${i + 1}`);
  await call("write_file", { path: "a.txt", content: lines.join("\n") });
  for (const line of lines) ok(asked[0]!.includes(line), line);
});

for (const [what, content] of [
  ["a line of 3 MB", "x".repeat(3_000_000)],
  ["20,001 lines", "x\n".repeat(20_001)],
] as const)
  test(`A new file of ${what} is refused, since nobody reads that before a yes`, async () => {
    const { call, asked } = await held(place());
    const { text } = await call("write_file", { path: "a.txt", content });
    equal(asked.length, 0);
    match(
      text,
      /^Refused: write_file asks for more than anyone can review at once \(\d+ (lines|characters)\)\. Do it in/,
    );
  });
