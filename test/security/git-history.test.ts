// What git, rg and the sandbox show of files that hold secrets, unasked: nothing, though they were committed and removed.
import { equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test as anyTest, describe } from "node:test";
import "../support/lean.ts";
import { has, needs } from "../support/needs.ts";
import { asksBefore, type Place, place, zz } from "../support/run.ts";

const test = needs("git");
const TOKEN = "open-sesame";

/** A repository after these steps: a text is written, `undefined` removes; each is committed, but for the last ones. */
function repository(
  ...steps: (Record<string, string | undefined> | string[])[]
): Place & { git(...args: string[]): string } {
  const where = place();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@y", "-c", "protocol.file.allow=always", ...args], {
      cwd: where.cwd,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  if (!has("git")) return { ...where, git };
  git("init", "-q", "-b", "main");
  for (const step of steps)
    if (Array.isArray(step)) git(...step);
    else {
      put(where, step);
      git("add", "-A");
      git("commit", "-qm", "step", "--allow-empty");
    }
  return { ...where, git };
}
function put({ cwd }: Place, files: Record<string, string | undefined>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = join(cwd, name);
    fs.mkdirSync(dirname(file), { recursive: true });
    if (text === undefined) fs.rmSync(file);
    else fs.writeFileSync(file, text);
  }
}
const verdictOf = async (where: Place, command: string): Promise<{ verdict: string; reason: string }> =>
  JSON.parse((await zz(asksBefore(where), ["--judge", command, "--json"])).stdout);

const ENV = { ".env": `K=${TOKEN}\n` };
const A = { "a.ts": "1\n" };
const GONE = repository(A, ENV, { ".env": undefined, "a.ts": "2\n" });
put(GONE, { "a.ts": "3\n" });

describe("After a committed and removed .env, what shows it asks", () => {
  for (const command of [
    ...[
      "git log -p",
      "git show HEAD",
      "git show HEAD~1",
      "git log -1 --patch",
      "git diff HEAD~1",
      "git diff HEAD~2 HEAD",
    ],
    ...[
      "git log -S open",
      "git log -G open",
      "git reflog -p",
      "git log --check",
      "git rev-list -p HEAD",
      "git stash show",
    ],
    ...[
      "git diff --cached",
      "git status -v",
      "git status --verbose",
      "git log --cc",
      "git log -U1",
      "git log --word-diff",
    ],
    ...["git cat-file -p HEAD^{tree}", "git cat-file blob abcd", "git shortlog -p", "git log -W"],
  ])
    test(command, async () => equal((await verdictOf(GONE, command)).verdict, "ask"));

  for (const command of [
    ...["git log", "git log --oneline -5", "git log --stat", "git status", "git diff", "git diff --stat HEAD~1"],
    ...["git diff --name-only HEAD~2", "git reflog", "git shortlog -s", "git ls-files", "git rev-list HEAD"],
  ])
    test(`but not ${command}`, async () => equal((await verdictOf(GONE, command)).verdict, "allow"));

  test("and the tools of git leave it out", async () => {
    const { stdout } = await zz(GONE, ["--call", "git_diff", '{"ref":"HEAD~1"}']);
    ok(!stdout.includes(TOKEN));
    match(stdout, /Left out, since they may not be read: \.env/);
  });
});

describe("A history that asks", () => {
  for (const [what, make] of [
    ["amended away", () => repository(A, ENV, ["rm", "-q", ".env"], ["commit", "-q", "--amend", "-m", "x", "--allow-empty"])],
    ["on another branch", () => repository(A, ["checkout", "-qb", "b"], ENV, ["checkout", "-q", "main"])],
    ["on a branch that is gone", () => repository(A, ["checkout", "-qb", "b"], ENV, ["checkout", "-q", "main"], ["branch", "-qD", "b"])],
    ["under a tag", () => repository(A, ["checkout", "-qb", "b"], ENV, ["tag", "t"], ["checkout", "-q", "main"])],
    ["in the first commit", () => repository({ ...A, ...ENV }, { ".env": undefined })],
    ["renamed", () => repository({ ...A, ".env": "K=1\n" }, ["mv", ".env", "b.txt"], ["commit", "-qm", "x"])],
    ["in capitals", () => repository(A, { "conf/Server.PEM": "x" }, { "conf/Server.PEM": undefined })],
    ["in a folder", () => repository(A, { "x/.aws/credentials": "x" }, { "x/.aws/credentials": undefined })],
    ["with a line break in its name", () => repository(A, { "x\ny/.env": "x" }, { "x\ny/.env": undefined })],
    ["in a merge", () => {
      const made = repository(A, ["checkout", "-qb", "b"], { "b.ts": "1" }, ["checkout", "-q", "main"], { "c.ts": "1" });
      made.git("merge", "-q", "--no-commit", "b");
      put(made, ENV);
      made.git("add", "-A");
      made.git("commit", "-qm", "merge");
      made.git("rm", "-q", ".env");
      made.git("commit", "-qm", "rm");
      return made;
    }],
    ["stashed with what is not tracked", () => {
      const made = repository(A);
      put(made, ENV);
      made.git("stash", "-q", "-u");
      return made;
    }],
  ] as [string, () => Place][]) // biome-ignore format: a table
    test(what, async () => {
      const { verdict, reason } = await verdictOf(make(), "git log -p");
      equal(verdict, "ask");
      match(reason, /history holds files that may hold secrets/);
    });

  test("and one without secrets does not, nor what templates were in it", async () => {
    const clean = repository(A, { ".env.example": "K=\n", "src/keys.ts": "" }, { ".env.example": undefined });
    for (const command of ["git log -p", "git show HEAD", `git show ${clean.git("rev-parse", "--short", "HEAD")}`])
      equal((await verdictOf(clean, command)).verdict, "allow", command);
    for (const command of ["git log", "git diff", "git show"])
      equal((await verdictOf(repository(), command)).verdict, "allow", command);
  });

  test("what was added and never committed is known by its hash alone: that asks", async () => {
    const made = repository(A);
    put(made, ENV);
    const hash = made.git("hash-object", "-w", ".env");
    fs.rmSync(join(made.cwd, ".env"));
    for (const command of [`git show ${hash}`, `git cat-file -p ${hash}`, `git cat-file blob ${hash.slice(0, 7)}`])
      equal((await verdictOf(made, command)).verdict, "ask", command);
    for (const command of [`git diff ${hash}..HEAD`, `git diff HEAD..${hash}`, `git show v1-g${hash.slice(0, 7)}`])
      equal((await verdictOf(made, command)).verdict, "ask", command);
  });
});

describe("rg", () => {
  for (const [what, files, command, verdict] of [
    ["keys.json", { "keys.json": TOKEN }, "rg open", "ask"],
    ["env.json", { "a/env.json": TOKEN }, "rg open a", "ask"],
    ["capitals", { "Server.PEM": TOKEN }, "rg open", "ask"],
    ["what git ignores in a node_modules that it does not", { "node_modules/x/keys.json": TOKEN }, "rg open", "ask"],
    ["a glob for keys", A, "rg -g '*.jks' open", "ask"],
    ["a glob for keys in capitals", A, "rg -g '*.PEM' open", "ask"],
    ["a type that brings hidden ones", { ".claude.json": TOKEN }, "rg -t json open", "ask"],
    ["a template", { ".env.example": "", "secrets.example.yml": "" }, "rg open", "allow"],
    ["a folder of code", { "src/secrets/a.ts": "" }, "rg open", "allow"],
    ["a glob", { "a.ts": "" }, "rg -g '*.ts' open", "allow"],
  ] as [string, Record<string, string>, string, string][])
    (verdict === "allow" ? needs("bwrap") : anyTest)(`${what}: ${verdict}`, async () => {
      const where = place();
      put(where, files);
      equal((await verdictOf(where, command)).verdict, verdict);
    });
});

describe("The sandbox hides", () => {
  const test = needs("git", "bwrap");
  const where = repository(A);
  const FILES = ["Server.PEM", "ID_RSA", "node_modules/x/.env", "node_modules/@a/b/.npmrc", ".env-prod", "prod.env"];
  const MORE = [
    "conf/.docker/config.json",
    "x/.AWS/credentials",
    "store.JKS",
    ".env.local~",
    "deep/keys.json",
    "kubeconfig",
  ];
  for (const name of [...FILES, ...MORE, ".env.example", "src/secrets/a.ts"]) put(where, { [name]: `${TOKEN}\n` });
  const cat = async (name: string, ...flags: string[]) =>
    (await zz(where, ["--call", "run_command", JSON.stringify({ command: `node -p 'require("fs").readFileSync(${JSON.stringify(name)}, "utf8")'` }), "--allow-run", "--allow-read=nothing", ...flags])).stdout; // biome-ignore format: one call
  for (const name of [...FILES, ...MORE]) test(name, async () => ok(!(await cat(name)).includes(TOKEN)));
  for (const name of [".env.example", "src/secrets/a.ts"])
    test(`but not ${name}`, async () => ok((await cat(name)).includes(TOKEN)));

  test("and git works in it; its settings are asked for by name, where a token may be", async () => {
    where.git("remote", "add", "origin", `https://me:${TOKEN}@example.com/x.git`);
    const { stdout } = await zz(where, ["--call", "run_command", '{"command":"git log --oneline"}', "--allow-run"]);
    match(stdout, /step/);
    equal((await verdictOf(where, "cat .git/config")).verdict, "ask");
    equal((await verdictOf(where, "cat .GIT/modules/x/config")).verdict, "ask");
    equal((await verdictOf(where, "rg open .git")).verdict, "ask");
  });

  test("what a call makes and the next would read", async () => {
    put(where, { "node_modules/x/later.pem": TOKEN });
    ok(!(await cat("node_modules/x/later.pem")).includes(TOKEN));
  });
});

describe("A password in git's settings is not shown by what goes unasked", () => {
  const where = repository(A);
  for (const [key, value] of [
    ["remote.a.url", "https://me:open-sesame1@example.com/x"],
    ["remote.b.url", "https://ghp_opensesame2abcdefghij@example.com/x"],
    ["remote.c.url", "https://x-access-token:open-sesame3@example.com/x"],
    ["remote.d.pushurl", "https://me:open%2Dsesame4@example.com/x"],
    ["remote.e.url", "https://example.com/x?token=open-sesame5"],
    ["remote.f.url", "short:x"],
    ["url.https://me:open-sesame6@example.com/.insteadOf", "short:"],
    ["branch.main.remote", "https://me:open-sesame7@example.com/x"],
    ["branch.main.merge", "refs/heads/main"],
    ["http.https://example.com/.extraHeader", "Authorization: basic b3Blbi1zZXNhbWU4"],
  ] as const)
    if (has("git")) where.git("config", key, value);
  for (const command of [
    ...["git remote -v", "git remote get-url a", "git remote get-url --all b", "git remote get-url --push d"],
    ...["git remote get-url f", "git remote show -n a", "git config -l", "git config --get-regexp http"],
    ...["git for-each-ref --format='%(push:remotename) %(upstream:remotename)'", "git ls-remote --get-url e"],
    ...["git branch -vv", "git status -sb", "git remote -v | grep -n e", "cat .git/config"],
  ])
    test(command, async () => {
      const { stdout, stderr } = await zz(where, ["--no-prompt", "--call", "run_command", JSON.stringify({ command })]);
      ok(!/sesame\d|b3Blbi1z/.test(stdout + stderr), stdout);
    });
});

describe("Where git cannot read the index, it may name a file of secrets", () => {
  const where = repository(A);
  fs.writeFileSync(join(where.cwd, has("git") ? ".git/index" : "index"), "damaged");
  for (const command of ["git diff", "git show HEAD"])
    test(`${command} asks`, async () => equal((await verdictOf(where, command)).verdict, "ask"));
});
