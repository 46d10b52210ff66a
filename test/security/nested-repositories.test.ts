// A repository in the project keeps what it is told, like the project's own: nested, bare,
// mirrored, under any name, as a worktree or a submodule. No command that runs unasked shows what
// it ever held, or a password in its settings.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { before, describe } from "node:test";
import { put } from "../support/files.ts";
import { needs } from "../support/needs.ts";
import { INIT, shell } from "../support/repository.ts";
import { place, zz } from "../support/run.ts";
import { harness } from "../support/script.ts";
import { viewTest } from "../support/view.ts";

const test = needs("git");
const where = place();
const CANARY = "canary-3f9a";
const FOLDERS = ["sub", "deep/er/sub", "mirror.git", "store", "tree", "module"];

before(() => {
  shell(
    where.cwd,
    `${INIT}
     git() { command git -c user.name=x -c user.email=x@y -c protocol.file.allow=always "$@"; }
     echo 1 > a; git add a; git commit -qm one
     make() { mkdir -p "$1"; (cd "$1"; git init -q; echo ${CANARY} > .env; git add -f .env; git commit -qm two; git rm -q .env; git commit -qm gone
       git remote add origin https://me:${CANARY}@example.com/x.git); }
     make sub; make deep/er/sub
     git clone -q --mirror sub mirror.git; git clone -q --bare sub store; git --git-dir=store config remote.o.url https://me:${CANARY}@example.com/
     git -C sub worktree add -q ../tree
     git submodule --quiet add ./sub module 2>/dev/null; git reset -q --hard; rm -rf .gitmodules
     cp -a sub/.git held; mkdir Held; cp -a sub/.git Held/.x; git --git-dir=store worktree add -q linked
     git --git-dir=store config extensions.worktreeConfig true
     git -C linked config --worktree remote.o.url https://me:${CANARY}@example.com/`,
  );
});

describe("nested repositories", () => {
  const script = FOLDERS.map(
    (name) => `cat ${name}/config ${name}/.git/config ${name}/.git ${name}/logs/HEAD
      git -C ${name} log -p --all; git --git-dir=${name} log -p --all; git --git-dir=${name}/.git log -p --all; (cd ${name}; git log -p; git config -l)`,
  );
  viewTest("show nothing on a copy", async () => {
    await using it = await harness({
      own: true,
      answer: "nobody",
      files: { "x.sh": script.join("\n") },
    });
    shell(it.root, `cp -a ${where.cwd}/. .`);
    const { text } = await it.call("run_command", { command: "sh x.sh 2>&1; true" });
    equal(text.includes(CANARY), false, text);
    const { text: own } = await it.call("run_command", {
      command: "sh -c 'git log --oneline; true'",
    });
    equal(own.includes("one"), true, own);
  });

  test("have their settings asked for, by tools and commands, under any name", async () => {
    const settings = Array.from(fs.globSync("**/{config,config.worktree}", { cwd: where.cwd }));
    const hidden = fs.globSync("**/.{git,x}/**/config*", { cwd: where.cwd });
    const files = [...new Set([...settings, ...hidden])].sort();
    const own = ["config", "conf/config", "objects/config"];
    for (const name of own) put(where.cwd, { [name]: "key = 1\n" });
    const unasked: string[] = [];
    for (const name of [...files, ...own]) {
      const { code } = await zz(where, ["--call", "read_file", JSON.stringify({ path: name })]);
      if (code === 0) unasked.push(name);
    }
    deepEqual(unasked, own);
    ok(files.length > 8, files.join());
    const line = `cat ${files.join("; cat ")}`;
    const { stdout } = await zz(where, ["--judge", line]);
    match(stdout, /^ask: /);
    const { stdout: found } = await zz(where, ["--call", "grep", `{"query":"${CANARY}"}`]);
    equal(found.includes("config"), false, found);
  });

  test("are asked for when git is pointed at one, and the project's own is not", async () => {
    const lines = FOLDERS.slice(0, 2).flatMap((name) => [
      `git -C ./${name} status`,
      `git --git-dir=${name}/.git log -p`,
      `cd ${name}; git stash list -p`,
      `git --git-dir ${name}/.git --work-tree . show`,
      `env git -C ${name} log`,
    ]);
    const own = ["git status", "git log"];
    const input = [...lines, ...own].map((line) => JSON.stringify(line)).join("\n");
    const { stdout } = await zz(where, ["--judge", "-"], { input });
    const judged = Array.from(stdout.trimEnd().split("\n"), (line) => JSON.parse(line));
    const unasked = judged.flatMap(({ command, way }) =>
      way === "beforehand" ? [] : `${way} ${command}`,
    );
    const expected = own.map((line) => `unasked ${line}`);
    deepEqual(unasked, expected);
  });
});
