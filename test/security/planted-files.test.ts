// What a sandboxed command leaves must not run by itself later: each row plants something, then the
// person goes on as ever.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { programs } from "../../kernel/system/other-programs.ts";
import { CLOCK } from "../../kernel/text/clock.ts";
import { findSandbox } from "../../plugins/shell/find-sandbox.ts";
import { type Limits, openSandbox } from "../../plugins/shell/open-sandbox.ts";
import { type Outcome, runJob } from "../../plugins/shell/run-process.ts";
import { plantsFor } from "../support/dangerous.ts";
import { needs, whyNot } from "../support/needs.ts";
import { some } from "../support/runs.ts";
import { together } from "../support/together.ts";

const base = fs.realpathSync(fs.mkdtempSync("/var/tmp/zz-plant-"));
const test = needs("bwrap", "git");
const pwned = join(base, "pwned");
const PLAIN = { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
before(async () => {
  if (whyNot("bwrap", "git")) return;
  equal(await findSandbox(programs("/")), "bubblewrap");
  Object.assign(process.env, PLAIN, { GIT_TEMPLATE_DIR: templates() });
});
after(() => fs.rmSync(base, { recursive: true, force: true }));

/** For new repositories: the folders that git's own templates make, without the examples in them,
 * which would all be copied. */
function templates(): string {
  const folder = join(base, "templates");
  for (const name of ["hooks", "info"]) fs.mkdirSync(join(folder, name), { recursive: true });
  return folder;
}

const AS = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"];
function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", [...AS, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  }).toString();
}

function put(file: string, text: string, mode = 0o644): void {
  fs.mkdirSync(dirname(file), { recursive: true });
  fs.writeFileSync(file, text, { mode });
}

/** A project with a submodule, a worktree within, a nested repository and a bare one, and hooks of
 * its own. */
function makeProject(folder: string): void {
  const [root, lib] = [join(folder, "project"), join(folder, "lib")];
  for (const at of [root, lib]) {
    fs.mkdirSync(at);
    git(at, "init", "-q", "-b", "main");
    git(at, "commit", "-q", "--allow-empty", "-m", "one");
  }
  put(join(lib, "f"), "1");
  git(lib, "add", ".");
  git(lib, "commit", "-qm", "two");
  git(root, "submodule", "--quiet", "add", lib, "sub");
  git(root, "worktree", "add", "-q", "tree");
  git(root, "clone", "-q", lib, "nested");
  git(root, "clone", "-q", "--bare", lib, "bare.git");
  put(join(root, ".husky/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
  git(root, "config", "core.hooksPath", ".husky");
  git(root, "config", "extensions.worktreeConfig", "true");
  put(join(root, ".vscode/tasks.json"), "{}");
  put(join(root, "tools/status.sh"), "#!/bin/sh\nexit 0\n", 0o755);
  git(root, "config", "alias.st", "!./tools/status.sh");
  put(join(root, "git.inc"), "[user]\n\tname = x\n");
  git(root, "config", "include.path", "../git.inc");
}

let made: string | undefined;
/** A copy of it; a worktree knows its place by its whole path. */
function project(): string {
  if (!made) makeProject((made = fs.mkdtempSync(join(base, "made-"))));
  const folder = fs.mkdtempSync(join(base, "p-"));
  const root = join(folder, "project");
  fs.cpSync(made, folder, { recursive: true, verbatimSymlinks: true });
  put(join(root, "tree/.git"), `gitdir: ${root}/.git/worktrees/tree\n`);
  put(join(root, ".git/worktrees/tree/gitdir"), `${root}/tree/.git\n`);
  return root;
}

async function run(root: string, command: string, limits: Partial<Limits> = {}): Promise<Outcome> {
  const plain = { programs: programs(root), root, write: [], hide: [], net: "none" as const };
  const sandbox = await openSandbox({ ...plain, ...limits });
  const { signal } = new AbortController();
  const env = { ...process.env, PWNED: pwned };
  const how = { programs: programs(root), clock: CLOCK, cwd: root, timeoutMs: 170_000 };
  const job = { ...how, command, env, signal, keepIn: join(base, "kept"), sandbox };
  return runJob(job).finally(() => sandbox.close());
}

/** What people and their tools do all day, in each of the folders, until something planted runs.
 * One shell starts git: from this process, starting it costs more than what git does. */
function goOn(root: string): void {
  const folders = `. sub tree nested bare.git new new/deep moved n2 wt b`.split(" ");
  const there = folders.filter((name) => fs.existsSync(join(root, name)));
  execFileSync("sh", ["-c", GO_ON, "sh", ...there], { cwd: root, stdio: "ignore" });
}
/** Some of the folders are no repository: what fails is passed over. No commit looks whether there
 * is something to pack. */
const UNPACKED = "-c maintenance.auto=false -c gc.auto=0";
const GO_ON = `for folder in "$@"; do (
  cd "$folder" || exit 0
  for asks in status st x "commit -m x --allow-empty"; do git ${AS.join(" ")} ${UNPACKED} $asks; [ -e '${pwned}' ] && exit 1; done
  true
) || break; done; true`;

const { FS, PLANTS, hook } = plantsFor(pwned);
for (const [what, command] of some(PLANTS, 7))
  test(`nothing runs later that a sandboxed command planted ${what}`, async () => {
    const root = project();
    await run(root, `LC_ALL=C; export LC_ALL; ${command}; true`);
    goOn(root);
    const ran = fs.existsSync(pwned);
    fs.rmSync(pwned, { force: true });
    equal(ran, false);
    const free = project();
    execFileSync("bash", ["-c", `${command}; true`], { cwd: free, stdio: "ignore" });
    if (!what.includes("nobody may enter")) {
      goOn(free);
      ok(fs.existsSync(pwned), "without a sandbox it does run");
      fs.rmSync(pwned);
    }
  });

const FILES: [name: string, there: boolean][] = [
  [".vscode/tasks.json", true],
  [".config/mise/config.toml", false],
  [".nvim.lua", false],
  [".zz/plugins/x.ts", false],
];
test("a sandboxed command leaves files that tools run by themselves as they were", () =>
  together(FILES, async (rows) => {
    const root = project();
    const plant = ([name]: (typeof FILES)[number], i: number) =>
      `mkdir -p "$(dirname ${name})"; echo planted > ${name}; rm -f ${name}2; mv $(dirname ${name}) d${i} 2>/dev/null; mkdir -p "$(dirname ${name})"; echo planted > ${name}; true`;
    const { text } = await run(root, rows.map(plant).join("\n"));
    for (const [name, there] of rows) {
      const file = join(root, name);
      equal(fs.existsSync(file), there, `${name}: ${text}`);
      if (there) equal(fs.readFileSync(file, "utf8"), "{}");
      if (name.startsWith(".zz")) continue;
      const told = text
        .split("\n")
        .filter((line) => line.includes("' could run commands outside of the sandbox: "));
      ok(
        told.some((line) => `${line.split("'")[1]}/`.startsWith(`${root}/${name.split("/")[0]}/`)),
        `${name}: ${text}`,
      );
    }
  }));

test("a link that a sandboxed command puts before such a file leads no removal out of the project", async () => {
  const root = project();
  put(join(dirname(root), "others/settings.json"), "theirs");
  put(join(dirname(root), "others/config"), "theirs");
  await run(
    root,
    "ln -s ../others .claude; ln -s ../../others .config; ln -s ../others .devcontainer; rm -rf nested/.git; ln -s ../../others nested/.git; true",
  );
  deepEqual(fs.readdirSync(join(dirname(root), "others")), ["config", "settings.json"]);
  equal(fs.readFileSync(join(dirname(root), "others/config"), "utf8"), "theirs");
  equal(fs.lstatSync(join(root, ".claude"), { throwIfNoEntry: false }), undefined);
});

const POINTERS: [what: string, folder: string, command: (outside: string) => string][] = [
  [
    "a folder of its own",
    "project",
    (outside) =>
      `mkdir x; cd x; echo gitdir: x > ../.git; echo ../.git > gitdir; echo ${outside} > commondir`,
  ],
  [
    "the project",
    "worktrees/p",
    () => "echo gitdir: . > .git; echo .git > gitdir; echo ../.. > commondir",
  ],
];
test("a repository that a sandboxed command pretends opens no folder outside to it, nor to zz", () =>
  together(POINTERS, async (rows) => {
    for (const [what, folder, command] of rows) {
      const outside = fs.mkdtempSync(join(base, "pretends-"));
      put(join(outside, "config"), "theirs\n");
      put(join(outside, "hooks/mine"), "theirs\n");
      const root = join(outside, folder);
      fs.mkdirSync(root, { recursive: true });
      await run(root, command(outside));
      const { text } = await run(root, `echo mine > ${outside}/config; echo mine > ${outside}/new`);
      deepEqual(fs.readdirSync(outside).sort(), ["config", "hooks", folder.split("/")[0]], text);
      equal(fs.readFileSync(join(outside, "config"), "utf8"), "theirs\n", what);
      deepEqual(fs.readdirSync(join(outside, "hooks")), ["mine"], what);
    }
  }));

test("start files of a home that lies in the project are left as they were", async (t) => {
  const { HOME } = process.env;
  t.after(() => (process.env.HOME = HOME));
  const root = project();
  process.env.HOME = join(root, "home");
  put(join(root, "home/.bashrc"), "mine\n");
  put(join(root, "home/.local/bin/tool"), "mine\n", 0o755);
  const outcome = await run(
    root,
    "cd home; echo x >> .bashrc; echo x > .zshenv; mv .bashrc b; echo x > .local/bin/ls; mkdir -p .config/fish; echo x > .config/fish/config.fish; echo x > notes; true",
  );
  const found = execFileSync("find", [".", "-type", "f"], { cwd: join(root, "home") })
    .toString()
    .trim()
    .split("\n")
    .sort();
  deepEqual(found, ["./.bashrc", "./.local/bin/tool", "./notes"], outcome.text);
  equal(fs.readFileSync(join(root, "home/.bashrc"), "utf8"), "mine\n");
});

test("another folder that may be written to is guarded as the project is", async () => {
  const [root, other] = [project(), project()];
  await run(
    root,
    `git -C ${other} config core.fsmonitor '${FS}'; echo planted > ${other}/.envrc; cd ${other}; ${hook(".husky")}; true`,
    { write: [other] },
  );
  equal(fs.existsSync(join(other, ".envrc")), false);
  goOn(other);
  equal(fs.existsSync(pwned), false);
});

// ── hard links ───────────────────────────────────────────────────────────────────────────────────

const LINKS: Record<string, (root: string, outside: string) => string> = {
  "a file at the top": (root, out) => {
    fs.linkSync(out, join(root, "twin"));
    return "echo gone > twin";
  },
  "a file that was moved": (root, out) => {
    put(join(root, "a/c"), "");
    fs.linkSync(out, join(root, "a/twin"));
    return "mv a b; echo gone > b/twin";
  },
  "one of many files": (root, out) => {
    for (let i = 0; i < 60; i++) {
      put(join(dirname(out), `o${i}`), "theirs");
      fs.mkdirSync(join(root, "many"), { recursive: true });
      fs.linkSync(join(dirname(out), `o${i}`), join(root, `many/${i}`));
    }
    fs.linkSync(out, join(root, "many/twin"));
    return "echo gone > many/twin";
  },
  "a package of a store": (root, out) => {
    const at = join(root, "node_modules/.pnpm/left@1/node_modules/left");
    fs.mkdirSync(at, { recursive: true });
    fs.linkSync(out, join(at, "package.json"));
    return "echo gone > node_modules/.pnpm/left@1/node_modules/left/package.json";
  },
};
test("a sandboxed command does not change a file that has another name outside", () =>
  together(Object.entries(LINKS), async (rows) => {
    const root = project();
    const outsides = rows.map((_, i) => join(dirname(root), `outside${i}`, "file"));
    const commands = rows.map(([what, make], i) => {
      put(outsides[i]!, "theirs");
      // packages lie in the project's own folder
      const folder = what.includes("package") ? "." : `${i}`;
      fs.mkdirSync(join(root, folder), { recursive: true });
      return `(cd ${folder} && ${make(join(root, folder), outsides[i]!)}); echo "${i} ended with $?"`;
    });
    const { text } = await run(root, commands.join("\n"));
    for (const [i, [what]] of rows.entries()) {
      equal(fs.readFileSync(outsides[i]!, "utf8"), "theirs", what);
      match(text, new RegExp(`^${i} ended with [1-9]`, "m"), what);
    }
  }));

// ── ordinary work ────────────────────────────────────────────────────────────────────────────────

test("a sandboxed command can move a nested repository, and write to hooks, of which nothing comes", async () => {
  const root = project();
  const { text } = await run(
    root,
    "mv nested moved && git -C moved status -s && echo x > .husky/_ && cat .husky/_",
  );
  match(
    text,
    /^x\n\[git runs what is in '.*\.husky': what was written there stayed in the sandbox\]\n\[exit code 0 /,
  );
  match(git(join(root, "moved"), "remote", "-v"), /lib/);
});

test("hard links of the project's own, from one command to the next, can be written to", async () => {
  const root = project();
  await run(root, "echo 1 > a; ln a b");
  match((await run(root, "echo 2 > b; cat a")).text, /^2\n/);
});
