// What git, rg and the sandbox show of files that hold secrets, unasked: nothing, though they were
// committed and removed.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { describe } from "node:test";
import type { Ctx } from "../../kernel/contract.ts";
import { holdsSecret } from "../../kernel/gate/secret-files.ts";
import { programs } from "../../kernel/system/other-programs.ts";
import { gitOf } from "../../kernel/system/safe-git.ts";
import { CLOCK } from "../../kernel/text/clock.ts";
import { secretsInGit } from "../../plugins/shell/judge/git-history.ts";
import { judgeLine } from "../../plugins/shell/judge/judge-line.ts";
import { has, needs } from "../support/needs.ts";
import { configure, INIT, put, settingLines, shell } from "../support/repository.ts";
import { asksBefore, type Place, place, withEnvironment, zz } from "../support/run.ts";
import { some } from "../support/runs.ts";

const test = needs("git");
const TOKEN = "open-sesame";

type Step = Record<string, string | undefined> | string[];
const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** A repository after these steps: a text is written, `undefined` removes; each is committed. A
 * list is words for git. */
function repository(...steps: Step[]): Place {
  const where = place();
  shell(where.cwd, [INIT.replace("trunk", "main"), ...steps.map(lineOf)].join("\n"));
  return where;
}
function lineOf(step: Step): string {
  if (Array.isArray(step)) return `git ${WHO} ${step.map(quoted).join(" ")}`;
  const lines = Object.entries(step).map(([name, text]) => {
    if (text === undefined) return `rm ${quoted(name)}`;
    const folder = name.includes("/") ? `mkdir -p ${quoted(dirname(name))}; ` : "";
    return `${folder}printf %s ${quoted(text)} > ${quoted(name)}`;
  });
  return [...lines, `git add -A; git ${WHO} commit -qm step --allow-empty`].join("\n");
}
const WHO = "-c user.name=x -c user.email=x@y -c protocol.file.allow=always";
const git = ({ cwd }: Place, ...args: string[]): string =>
  shell(cwd, `git ${WHO} "$@"`, ...args).trim();

/** What git keeps of secrets, as zz finds it. */
const secretsOf = ({ cwd: root }: Place) => {
  const { signal } = new AbortController();
  const permissions = { secret: holdsSecret };
  const io = { clock: CLOCK };
  return secretsInGit({
    root,
    git: gitOf(root),
    programs: programs(root),
    permissions,
    signal,
    io,
  } as Ctx);
};
/** Asks the judge itself for its verdict on each. */
async function judges(where: Place, verdict: string, commands: string[]): Promise<void> {
  // it has no password
  const secret = (at: string) => holdsSecret(at) && !at.endsWith(".git/config");
  const fileFacts = { secret, git: await secretsOf(where) };
  const { find } = programs(where.cwd);
  const lists = { deny: [], except: [], repository: { reads: [] }, fileFacts, find };
  for (const command of commands)
    equal((await judgeLine(command, where.cwd, lists)).verdict, verdict, command);
}
const ENV = { ".env": `K=${TOKEN}\n` };
const A = { "a.ts": "1\n" };
const GONE = repository(A, ENV, { ".env": undefined, "a.ts": "2\n" });
put(GONE.cwd, { "a.ts": "3\n" });

const SHOWS = `git log -p § git show HEAD~1 § git log -1 --patch § git diff HEAD~1 § git log -S open
  git reflog -p § git log --check § git rev-list -p HEAD § git stash show § git diff --cached
  git status -v § git log --cc § git log -U1 § git log --word-diff § git cat-file -p HEAD^{tree}
  git shortlog -p`.split(/ § |\n */);
const NAMES =
  `git log --oneline -5 § git log --stat § git status § git diff § git diff --stat HEAD~1
  git reflog § git diff --name-only HEAD~2 § git shortlog -s § git ls-files
  git rev-list HEAD`.split(/ § |\n */);
test("After a committed and removed .env, what shows it asks", async () => {
  await judges(GONE, "ask", SHOWS);
  const { stdout } = await zz(asksBefore(GONE), ["--judge", "git log -p", "--json"]);
  match(JSON.parse(stdout).reason, /history holds files that may hold secrets/);
});
test("but not what only names files and commits", () => judges(GONE, "allow", NAMES));
describe("A history that asks", () => {
  for (const [what, make] of some([
    ["amended away", () => repository(A, ENV, ["rm", "-q", ".env"], ["commit", "-q", "--amend", "-m", "x", "--allow-empty"])],
    ["on a branch that is gone", () => repository(A, ["checkout", "-qb", "b"], ENV, ["checkout", "-q", "main"], ["branch", "-qD", "b"])],
    ["renamed", () => repository({ ...A, ".env": "K=1\n" }, ["mv", ".env", "b.txt"], ["commit", "-qm", "x"])],
    ["in capitals", () => repository(A, { "conf/Server.PEM": "x" }, { "conf/Server.PEM": undefined })],
    ["with a line break in its name", () => repository(A, { "x\ny/.env": "x" }, { "x\ny/.env": undefined })],
    ["in a merge", () =>
      repository(A, ["checkout", "-qb", "b"], { "b.ts": "1" }, ["checkout", "-q", "main"], { "c.ts": "1" },
        ["merge", "-q", "--no-commit", "b"], ENV, ["rm", "-q", ".env"], ["commit", "-qm", "rm"])],
    ["stashed with what is not tracked", () => {
      const made = repository(A);
      put(made.cwd, ENV);
      git(made, "stash", "-q", "-u");
      return made;
    }],
  ] as [string, () => Place][], 2)) // biome-ignore format: a table
    test(what, async () => {
      const { index, history } = await secretsOf(make());
      deepEqual({ index, history }, { index: false, history: true });
    });

  test("and one without secrets does not, nor what templates were in it", async () => {
    const clean = repository(
      A,
      { ".env.example": "K=\n", "src/keys.ts": "" },
      { ".env.example": undefined },
    );
    await judges(clean, "allow", [
      "git log -p",
      "git show HEAD",
      `git show ${git(clean, "rev-parse", "--short", "HEAD")}`,
    ]);
    await judges(repository(), "allow", ["git log", "git diff", "git show"]);
  });

  test("what was added and never committed is known by its hash alone: that asks", async () => {
    const made = repository(A);
    put(made.cwd, ENV);
    const hash = git(made, "hash-object", "-w", ".env");
    fs.rmSync(join(made.cwd, ".env"));
    await judges(made, "ask", [
      `git show ${hash}`,
      `git cat-file -p ${hash}`,
      `git cat-file blob ${hash.slice(0, 7)}`,
      `git diff ${hash}..HEAD`,
      `git diff HEAD..${hash}`,
      `git show v1-g${hash.slice(0, 7)}`,
    ]);
  });
});

describe("What goes round the names of files", () => {
  const clean = repository(A, { "e/config.json": "1\n", "lib/a.ts": "x\n" });
  test("a folder that is a link now, which git grep follows, asks", async () => {
    await judges(clean, "allow", ["git grep x"]);
    shell(clean.cwd, "mkdir ../own; echo x > ../own/config.json; rm -r e; ln -s ../own e");
    await judges(clean, "ask", ["git grep x", "git grep x -- e", "git grep -n x HEAD"]);
    await judges(clean, "allow", ["git grep --cached x", "git diff", "git status"]);
  });
  test("what git keeps of removed secrets asks, whichever way it is read, and nothing else does", async () => {
    shell(GONE.cwd, "mkdir -p src; ln -sfn .git/objects link; git init -q --bare src/store");
    const reads = `cat .git/objects/*/* § cd .git/objects && grep -rao K . § head < .git/objects/info/x § cat link/*/* § grep -r K src
grep -raoh K=.* . § grep -ra K .git § grep -ra K .git/objects § grep -ra K link/ § rg -a K .git § grep -ra --include='*' K .
grep -ra --include='*.pack' K .`;
    await judges(GONE, "ask", reads.split(/ § |\n/));
    shell(GONE.cwd, "rm -r src/store; mkdir src/objects; echo x > src/objects/x");
    await judges(GONE, "allow", [
      "grep -rn x src",
      "cat src/objects/x",
      "grep -rn --exclude-dir=.git x .",
    ]);
    shell(clean.cwd, "rm e");
    await judges(clean, "allow", ["grep -r x .", "rg x"]);
  });
  test("a submodule is not entered, where submodule.recurse or diff.submodule is the person's or the repository's", async () => {
    const settings: [string, string][] = [["submodule.recurse", "true"], ["diff.submodule", "diff"]]; // biome-ignore format: short
    const [inner, outer] = [repository(ENV), repository(A)];
    shell(
      outer.cwd,
      `git ${WHO} submodule --quiet add "$1" sub; git ${WHO} commit -qm sub`,
      inner.cwd,
    );
    using _ = withEnvironment({ HOME: join(outer.cwd, "../p") });
    for (const [key, value] of settings) {
      put(outer.cwd, { "sub/.env": `K=${TOKEN}2\n`, "../p/.gitconfig": settingLines(key, value) });
      for (const command of [
        "git grep --cached K",
        "git grep K HEAD",
        "git diff",
        "git show HEAD",
      ]) {
        const args = ["--no-prompt", "--call", "run_command", JSON.stringify({ command })];
        const { stdout } = await zz(outer, args);
        ok(!stdout.includes(TOKEN) && !/denied/.test(stdout), `${command}: ${stdout}`);
      }
    }
    const file = join(outer.cwd, ".git/config");
    const before = fs.readFileSync(file, "utf8");
    for (const [key, value] of settings) {
      fs.writeFileSync(file, before + settingLines(key, value));
      match(
        (await zz(outer, ["--judge", "git diff", "--json"])).stdout,
        new RegExp(`beforehand.*${key}`),
      );
    }
  });
});

describe("A password in git's settings is not shown by what goes unasked", () => {
  const where = repository(A);
  const settings: [string, string][] = [
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
  ];
  if (has("git")) configure(where.cwd, settings);
  for (const command of some(
    [
      "git remote -v",
      "git remote get-url --push d",
      "git remote show -n a",
      "git config --get-regexp http",
      "git for-each-ref --format='%(push:remotename) %(upstream:remotename)'",
      "git ls-remote --get-url e",
      "git branch -vv",
      "cat .git/config",
    ],
    3,
  ))
    test(command, async () => {
      const { stdout, stderr } = await zz(where, [
        "--no-prompt",
        "--call",
        "run_command",
        JSON.stringify({ command }),
      ]);
      ok(!/sesame\d|b3Blbi1z/.test(stdout + stderr), stdout);
    });
});

describe("Where git cannot read the index, it may name a file of secrets", () => {
  const where = repository(A);
  fs.writeFileSync(join(where.cwd, has("git") ? ".git/index" : "index"), "damaged");
  test("what shows contents asks", () => judges(where, "ask", ["git diff", "git show HEAD"]));
});
