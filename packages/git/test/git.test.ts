// The tools that ask git, against real repositories. test/security/git-hostile.test.ts plants
// programs in their configuration.
import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Ask, Result } from "../../../kernel/contract.ts";
import type { Core } from "../../../kernel/instance.ts";
import { processIo } from "../../../kernel/system/streams.ts";
import { type StandingClock, standingClock } from "../../../sdk/testing.ts";
import { tryTo } from "../../../sdk/text.ts";
import "../../../test/support/lean.ts";
import { has, needs } from "../../../test/support/needs.ts";
import {
  configure,
  fill,
  INIT,
  PERSON,
  shell,
  put as write,
} from "../../../test/support/repository.ts";
import { type Place, place, withEnvironment } from "../../../test/support/run.ts";
import { kernel } from "../../../test/support/script.ts";
import { waitFor } from "../../../test/support/wait.ts";

const test = needs("git");

/** As a person would call it, without a configuration of the machine's own. */
function git(cwd: string, ...args: string[]): string {
  // then no test looks at the repositories that are made for all of them
  if (!has("git")) return "";
  const env = { ...process.env, ...PERSON };
  return execFileSync("git", args, {
    cwd,
    encoding: "utf8",
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

const put = ({ cwd }: Place, files: Record<string, string>): void => write(cwd, files);

const IS_ADA = "git config user.name Ada; git config user.email ada@example.com";
/** A repository with one commit of these files, on the branch trunk, and what was changed since. */
function repository(
  files: Record<string, string> = { "a.txt": "one\n" },
  since: Record<string, string> = {},
): Place {
  const where = place();
  fill(where.cwd, JSON.stringify(files), (model) => {
    write(model, files);
    shell(model, `${INIT}; ${IS_ADA}; git add --all; git commit -qm Begin`);
  });
  put(where, since);
  return where;
}

type Given = { ask?: Ask; clock?: StandingClock; allow?: string[]; deny?: string[] };

/** One call; what comes back with its data. */
const call = async (where: Place, tool: string, args: object, given: Given = {}): Promise<Result> =>
  (await zzOf(where, given)).ctx().call(tool, args);
const commit = (where: Place, args: object, given: Given = {}): Promise<Result> =>
  call(where, "git_commit", args, given);

/** The zz of a place, where no flag forbids to commit; one of its own for what is given. */
const opened = new Map<string, Promise<Core>>();
async function zzOf(where: Place, given: Given = {}): Promise<Core> {
  const { ask, clock, allow = ["git commit"], deny = [] } = given;
  const { cwd: root, home } = where;
  const io = clock && { io: Object.assign(processIo(), { clock }) };
  const open = () =>
    kernel.createZz({
      root,
      home,
      save: false,
      allow: { run: allow },
      deny: { read: deny },
      ...io,
    });
  if (Object.keys(given).length) return Object.assign(await open(), ask && { ask });
  if (!opened.has(where.cwd)) opened.set(where.cwd, open());
  return opened.get(where.cwd)!;
}

/** What the person would be shown with the question. */
async function preview(where: Place, args: object): Promise<string> {
  const core = await zzOf(where);
  const shown = core.tools.get("git_commit")!.value.preview!(args as never, core.ctx());
  return Promise.resolve(shown as string).catch(({ message }) => message);
}

/** So that git must look at the content again. */
const touch = (where: Place, name: string): void =>
  utimesSync(join(where.cwd, name), 1, Date.now() / 1_000);

const busy = repository({
  "a.txt": "one\n",
  "src/b.txt": "one\n",
  "gone.txt": "one\n",
  "moves.txt": "a longer text that stays\n".repeat(9),
  ".env": "KEY=old-secret\n",
  "ünï céde.txt": "x\n",
  ":(top)x": "one\n",
});
put(busy, {
  "a.txt": "two\n",
  "src/b.txt": "two\n",
  ".env": "KEY=new-secret\n",
  "new.txt": "n\n",
  ":(top)x": "two\n",
});
rmSync(join(busy.cwd, "gone.txt"));
shell(
  busy.cwd,
  "git mv moves.txt moved.txt; git add src/b.txt; git tag v1; git tag -a -m x blob HEAD:.env",
);

type Row = [
  what: string,
  tool: string,
  args: object,
  expected: string | RegExp,
  not?: RegExp | "fails",
];
const ALL =
  "## trunk\n M .env\n M :(top)x\n M a.txt\n D gone.txt\nR  moves.txt -> moved.txt\nM  src/b.txt\n?? new.txt";
const UNSTAGED = /^diff --git a\/:\(top\)x [\s\S]*-one\n\+two\n[\s\S]*deleted file[\s\S]*\n-one\n/;
const ROWS: Row[] = [
  ["every kind of change", "git_status", {}, ALL],
  [
    "a path that looks like git's own words",
    "git_status",
    { path: ":(top)x" },
    "## trunk\n M :(top)x",
  ],
  ["what is not staged", "git_diff", {}, UNSTAGED, /b\.txt|secret/],
  [
    "what is staged",
    "git_diff",
    { staged: true },
    /rename from moves\.txt[\s\S]*b\/src\/b\.txt/,
    /a\.txt/,
  ],
  ["since a commit", "git_diff", { ref: "HEAD" }, /a\/a\.txt[\s\S]*src\/b\.txt/, /secret/],
  [
    "since a tag, under a path",
    "git_diff",
    { ref: "v1", path: "src" },
    /^diff --git a\/src\/b\.txt/,
    /a\/a\.txt/,
  ],
  [
    "a path with staged changes",
    "git_diff",
    { path: "src" },
    /^No unstaged changes \(1 file staged: /,
  ],
  [
    "a path without any",
    "git_diff",
    { path: "a.txt", staged: true },
    /^No staged changes \(1 file changed and not /,
  ],
  [
    "a new file",
    "git_diff",
    { path: "new.txt" },
    "No changes (1 path not tracked: git_status lists them).",
  ],
  [
    "a path that is not there",
    "git_diff",
    { path: "nope.ts" },
    /'nope\.ts': there is no such file/,
    "fails",
  ],
  [
    "a path that is not there, with a ref",
    "git_diff",
    { path: "nope", ref: "HEAD" },
    /'nope': there is no such file or folder, nor does git track one\. git_status lists/,
    "fails",
  ],
  [
    "a ref that is an option",
    "git_diff",
    { ref: "--output=x" },
    /'--output=x': it begins with a dash/,
    "fails",
  ],
  [
    "a second ref that is an option",
    "git_diff",
    { ref: "HEAD..-x" },
    /there is no commit '-x'/,
    "fails",
  ],
  [
    "no such ref",
    "git_diff",
    { ref: "nope" },
    /'nope': there is no commit 'nope'\. git_log shows/,
    "fails",
  ],
  [
    "a tag on a file's content",
    "git_diff",
    { ref: "blob", path: "a.txt" },
    /there is no commit 'blob'/,
    "fails",
  ],
  [
    "the latest",
    "git_log",
    {},
    /^[0-9a-f]{7,} \d{4}-\d\d-\d\d Ada: Begin \(HEAD -> trunk, tag: v1\)$/,
  ],
  ["none under a path", "git_log", { path: "new.txt" }, "No commits that changed 'new.txt'."],
  ["a since that is an option", "git_log", { since: "--output=x" }, /Begin|No commits/],
];
for (const [what, tool, args, expected, not] of ROWS)
  test(`${tool}: ${what}`, async () => {
    const { text, failed } = await call(busy, tool, args);
    if (typeof expected === "string") equal(text, expected);
    else match(text, expected);
    equal(Boolean(failed), not === "fails", text);
    if (not instanceof RegExp) doesNotMatch(text, not);
    ok(!existsSync(join(busy.cwd, "x")), "an option got through");
  });

test("git_diff: a file of secrets that is named, and that the person allows, is shown", async () => {
  const { text } = await call(busy, "git_diff", { path: ".env" }, { ask: async () => "y" });
  match(text, /-KEY=old-secret\n\+KEY=new-secret/);
});

test("git_diff: a moved file of secrets is not shown by its new name", async () => {
  const where = repository({ ".env": "KEY=secret\n".repeat(9) });
  git(where.cwd, "mv", ".env", "id_rsa");
  equal(
    (await call(where, "git_diff", { staged: true })).text,
    "[Left out, since they may not be read: .env, id_rsa]",
  );
});

test("git_diff: an environment that changes how git takes paths does not show it either", async () => {
  using _ = withEnvironment({ GIT_LITERAL_PATHSPECS: "1" });
  const { text } = await call(busy, "git_diff", {});
  match(text, /a\.txt/);
  doesNotMatch(text, /secret/);
});

test("git_diff: a long one keeps its head and its tail, and says what is missing", async () => {
  const where = repository({ "a.txt": "", "b.txt": "" });
  put(where, {
    "a.txt": Array.from({ length: 9_000 }, (_, i) => `first ${i}\n`).join(""),
    "b.txt": "last\n",
  });
  const { text, data } = await call(where, "git_diff", {});
  ok(text.length < 31_000, `${text.length}`);
  match(text, /^diff --git a\/a\.txt[\s\S]*\+last$/);
  const shown = text.match(/^\+first \d+$/gm)!.length;
  const said = Number(
    /\[(\d+) lines left out here; ask for one path at a time: a\.txt, b\.txt\]/.exec(text)?.[1],
  );
  deepEqual([shown + said, (data as { cut: number }).cut], [9_000, said]);
});

test("git tools: in a folder of a repository, they see that folder, by its own paths", async () => {
  const outer = repository({ "top.txt": "one\n", "in/a.txt": "one\n" });
  const where = { ...outer, cwd: join(outer.cwd, "in") };
  put(outer, { "top.txt": "two\n", "in/a.txt": "two\n", "in/new.txt": "n\n" });
  equal((await call(where, "git_status", {})).text, "## trunk\n M a.txt\n?? new.txt");
  match((await call(where, "git_diff", {})).text, /^diff --git a\/a\.txt b\/a\.txt\n[\s\S]*\+two$/);
  git(outer.cwd, "add", "--all");
  const shown = await preview(where, { message: "All" });
  match(
    shown,
    /\n {2}M a\.txt\n {2}A new\.txt\n {2}M \.\.\/top\.txt\n/,
    "what lies outside is told, too",
  );
});

for (const tool of ["git_status", "git_commit"])
  test(`${tool}: outside a repository it says so`, async () => {
    const { text, failed } = await call(place(), tool, { message: "x" });
    match(text, /^Cannot ask git: not a git repository .*: \.git\. Is '.*' a repository\?/);
    equal(failed, true);
  });

test("git_status: without git it says so", async () => {
  const where = repository();
  using _ = withEnvironment({ PATH: "/nowhere" });
  equal(
    (await call(where, "git_status", {})).text,
    "Cannot ask git: there is no git here. Install it.",
  );
});

test("git tools: they leave the index as it is, and need no lock", async () => {
  const where = repository();
  const index = join(where.cwd, ".git/index");
  touch(where, "a.txt");
  const before = readFileSync(index);
  writeFileSync(`${index}.lock`, "");
  for (const tool of ["git_status", "git_diff", "git_log"])
    equal((await call(where, tool, {})).failed, undefined);
  deepEqual(readFileSync(index), before);
});

test("git_status, git_diff: a file that its filter would show as unchanged is told of", async () => {
  const where = repository();
  configure(where.cwd, [["filter.up.clean", "tr a-z A-Z"]]);
  put(where, { ".gitattributes": "*.txt filter=up\n" });
  shell(where.cwd, "git add --all --renormalize .; git add .gitattributes; git commit -qm Filter");
  put(where, { "a.txt": "oNe\n" });
  utimesSync(join(where.cwd, "a.txt"), 1, 1); // another time than what git has noted
  equal(git(where.cwd, "-c", "diff.autoRefreshIndex=false", "diff"), "", "to git nothing changed");
  const note = "[Compared without their content filter, so these may only look changed: a.txt]";
  equal((await call(where, "git_status", {})).text, `## trunk\n M a.txt\n${note}`);
  ok((await call(where, "git_diff", {})).text.endsWith(note));
});

test("git_diff: what a flag denies to read is not shown", async () => {
  const { text } = await call(busy, "git_diff", {}, { deny: ["a.txt"] });
  match(text, /\n\[Left out, since they may not be read: \.env, a\.txt\]$/);
  doesNotMatch(text, /a\/a\.txt/);
});

/** A git that hangs, and the process that it started. */
function hanging(where: Place): { PATH: string; started(): boolean; alive(): boolean } {
  const folder = join(where.cwd, "..", "bin");
  const pid = join(folder, "pid");
  mkdirSync(folder);
  writeFileSync(join(folder, "git"), `#!/bin/sh\nsleep 600 & echo $! >'${pid}'\nwait\n`, {
    mode: 0o755,
  });
  const started = () => existsSync(pid) && readFileSync(pid, "utf8").endsWith("\n");
  const stat = () =>
    tryTo(() => readFileSync(`/proc/${readFileSync(pid, "utf8").trim()}/stat`, "utf8"));
  return {
    PATH: `${folder}:${process.env.PATH}`,
    started,
    alive: () => !/^$| Z /.test(stat() ?? ""),
  };
}

for (const how of ["is given up after its time", "is stopped with the turn"])
  test(`git tools: a git that hangs ${how}, with all it started`, async () => {
    const where = repository();
    const { PATH, started, alive } = hanging(where);
    using _ = withEnvironment({ PATH });
    const clock = standingClock();
    const core = await zzOf(where, { clock });
    const chat = kernel.openChat(core, "none/m");
    const result = core.ctx().call("git_status", {});
    let settled = false;
    const done = result
      .catch(({ message }) => ({ text: message }))
      .finally(() => {
        settled = true;
      });
    await waitFor("git to hang", started);
    if (how.includes("turn")) chat.stop.abort();
    else
      await waitFor("every git that it asks to be given up", async () => {
        await clock.pass(60_000);
        return settled;
      });
    const says = how.includes("turn")
      ? /interrupted|aborted/
      : /^Cannot ask git: it took longer than 60 s/;
    match((await done).text, says);
    await waitFor("the end of what git started", () => !alive());
  });

const last = (where: Place, format = "%B"): string =>
  git(where.cwd, "log", "-1", `--format=${format}`).trimEnd();
const hook = (where: Place, name: string, script: string): void =>
  writeFileSync(join(where.cwd, ".git/hooks", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

test("git_commit: what is staged, and nothing else", async () => {
  const where = repository(
    { "a.txt": "one\n", "b.txt": "one\n" },
    { "a.txt": "two\n", "b.txt": "two\n" },
  );
  git(where.cwd, "add", "a.txt");
  const { text, data } = await commit(where, { message: "Say two\n\nFor a reason." });
  match(
    text,
    /^Committed [0-9a-f]{7,} on trunk: Say two \(1 file changed, 1 insertion\(\+\), 1 deletion\(-\)\)$/,
  );
  const { hash, ...rest } = data as Record<string, unknown>;
  deepEqual(rest, { subject: "Say two", branch: "trunk", files: 1, insertions: 1, deletions: 1 });
  deepEqual([hash, last(where)], [last(where, "%h"), "Say two\n\nFor a reason."]);
  equal(git(where.cwd, "status", "--short"), " M b.txt\n");
});

test("git_commit: these files: changed, new, deleted, in a folder, with a strange name; others stay as they are", async () => {
  const one = { "a.txt": "one\n", "staged.txt": "one\n", "src/s.txt": "one\n", "b.md": "x\n" };
  const two = { "a.txt": "two\n", "staged.txt": "two\n", "src/s.txt": "two\n", "b.md": "two\n" };
  const fresh = { "src/new.txt": "n\n", "*.txt": "star\n", "-x": "dash\n" };
  const where = repository({ ...one, "gone.txt": "x\n", "*.md": "x\n" }, { ...two, ...fresh });
  for (const name of ["gone.txt", "*.md"]) rmSync(join(where.cwd, name));
  git(where.cwd, "add", "staged.txt");
  const files = ["a.txt", "gone.txt", "src", "*.txt", "*.md", "-x"];
  const shown = await preview(where, { message: "Some", files });
  match(shown, /^On trunk, 7 files:\n( {2}[AMD] .*\n){7}With the message:\n/);
  const { text, failed } = await commit(where, { message: "Some", files });
  ok(!failed, text);
  const names = git(where.cwd, "show", "--name-status", "--format=", "HEAD");
  equal(names, "D\t*.md\nA\t*.txt\nA\t-x\nM\ta.txt\nD\tgone.txt\nA\tsrc/new.txt\nM\tsrc/s.txt\n");
  equal(git(where.cwd, "status", "--short"), " M b.md\nM  staged.txt\n");
});

for (const message of [
  "--amend",
  "# not a comment\n\n$(touch planted) `touch planted`\na \"b\" 'c' \\n %s\nÜnïcödé 🚀 名\n# still not\n-- \ntwo",
])
  test(`git_commit: the message ${JSON.stringify(message)} is plain text`, async () => {
    const where = repository(undefined, { "a.txt": "two\n" });
    configure(where.cwd, [["commit.cleanup", "strip"]]);
    const { text, failed } = await commit(where, { message, files: ["a.txt"] });
    ok(!failed, text);
    equal(last(where), message.replace("-- \n", "--\n"));
    equal(git(where.cwd, "rev-list", "--count", "HEAD"), "2\n");
    ok(!existsSync(join(where.cwd, "planted")));
  });

const REFUSED: [what: string, args: { message: string; files?: string[] }, expected: RegExp][] = [
  [
    "an empty message",
    { message: " \n" },
    /^Cannot commit: the message is empty\. Say what was changed, and why\.$/,
  ],
  [
    "nothing staged",
    { message: "x" },
    /nothing is staged \(2 paths changed: {2}M a\.txt, \?\? new\.txt\)\. Name/,
  ],
  [
    "an ignored file",
    { message: "x", files: ["a.log", "a.txt"] },
    /nothing new in 'a\.log', or git ignores it\./,
  ],
];
const ONE = { "a.txt": "one\n", "same.txt": "x\n", ".gitignore": "*.log\n" };
const refusing = repository(ONE, { "a.txt": "two\n", "new.txt": "n\n", "a.log": "x\n" });
for (const [what, args, expected] of REFUSED)
  test(`git_commit: refuses ${what}, and does nothing`, async () => {
    const kept = () =>
      [".git/index", ".git/logs/HEAD"].map((name) =>
        readFileSync(join(refusing.cwd, name), "latin1"),
      );
    const before = kept();
    const { text, failed } = await commit(refusing, args);
    match(text, expected);
    equal(failed, true);
    match(await preview(refusing, args), expected, "the person is not asked in vain");
    deepEqual(kept(), before);
  });

test("git_commit: refuses while there are conflicts; concludes a merge once they are resolved", async () => {
  const where = repository();
  const theirs = "git switch -qc other; echo theirs > a.txt; git commit -qam Theirs";
  const ours = "git switch -q trunk; echo ours > a.txt; git commit -qam Ours";
  shell(where.cwd, `${theirs}; ${ours}; git merge -q other || :`);
  const refused = await commit(where, { message: "x" });
  equal(refused.text, "Cannot commit: 'a.txt' has a conflict. Resolve it and stage it first.");
  put(where, { "a.txt": "ours\n" });
  git(where.cwd, "add", "a.txt");
  const { text, failed } = await commit(where, { message: "Merge other" });
  ok(!failed, text);
  equal(last(where, "%p").split(" ").length, 2);
});

test("git_commit: asks, and tells what it will do", async () => {
  const where = repository(undefined, { "a.txt": "two\n", "new.txt": "n\n" });
  for (const name of ["pre-commit", "commit-msg"]) hook(where, name, "exit 0");
  writeFileSync(join(where.cwd, ".git/hooks/post-commit"), "not executable");
  configure(where.cwd, [["filter.lfs.process", "git-lfs filter-process"]]);
  configure(where.cwd, [["commit.gpgSign", "true"]]);
  const files = ["a.txt", "new.txt"];
  const shown = await preview(where, { message: "Say two\n\nBody\n", files });
  match(
    shown,
    /^On trunk, 2 files:\n {2}M a\.txt\n {2}A new\.txt\nWith the message:\n {2}Say two\n {2}\n {2}Body\n/,
  );
  match(
    shown,
    /\| 2 \+-\n 1 file changed, .*\nIt will run the hook pre-commit, the hook commit-msg, the filter 'lfs'/,
  );
  match(shown, / the program that signs\.$/);
  equal(git(where.cwd, "status", "--short"), " M a.txt\n?? new.txt\n", "to tell is not to do");
  const questions: string[] = [];
  const ask = async (question: string) => (questions.push(question) ? "n" : "");
  const { text, refused } = await commit(
    where,
    { message: "x", files: ["a.txt"] },
    { allow: [], ask },
  );
  match(text, /^Refused: the person said no to run access to "git commit"/);
  ok(refused && questions.length);
  match(
    (await commit(where, { message: "x", files: ["a.txt"] }, { allow: [] })).text,
    /--allow-run='?git commit/,
  );
  equal(last(where), "Begin");
});

test("git_commit: the first commit of a repository", async () => {
  const where = place();
  put(where, { "a.txt": "one\n", "b.txt": "one\n" });
  shell(where.cwd, `${INIT}; ${IS_ADA}`);
  match(
    await preview(where, { message: "First", files: ["a.txt"] }),
    /^On trunk, 1 file:\n {2}A a\.txt\n/,
  );
  const { text } = await commit(where, { message: "First", files: ["a.txt"] });
  match(text, /^Committed [0-9a-f]+ on trunk: First \(1 file changed, 1 insertion\(\+\)\)$/);
  equal(git(where.cwd, "status", "--short"), "?? b.txt\n");
});

test("git_commit: no value that is kept for commands is shown when a hook fails, a plain word neither", async () => {
  const where = repository(undefined, { "a.txt": "two\n" });
  write(where.home, {
    "env.json": JSON.stringify({ WORD: "hunter", MIXED: "hunter-2222", SHORT: "in" }),
  });
  hook(where, "pre-commit", "echo in $WORD; echo $MIXED >&2; exit 3");
  const { text, data } = await commit(where, { message: "x", files: ["a.txt"] });
  match(text, /in \[value of WORD\]\n\[value of MIXED\]/);
  ok(!JSON.stringify([text, data]).includes("hunter"));
});

test("git_commit: a failing hook's words come back, and the index is as it was", async () => {
  const one = { "a.txt": "one\ntwo\n", "b.txt": "one\n" };
  const where = repository(one, { "a.txt": "ONE\ntwo\n", "b.txt": "two\n", "new.txt": "n\n" });
  git(where.cwd, "add", "a.txt");
  put(where, { "a.txt": "ONE\nTWO\n" }); // half of it staged
  const index = () => git(where.cwd, "ls-files", "--stage") + git(where.cwd, "status", "--short");
  const before = index();
  hook(where, "pre-commit", "echo 'lint: no TWO'; echo 'and more' >&2; exit 3");
  const { text, failed, data } = await commit(where, { message: "x", files: ["a.txt", "new.txt"] });
  match(
    text,
    /^Cannot commit: git or a hook refused \(exit code 1\)\. Nothing was committed; .* is as it was\.\n/,
  );
  ok(text.endsWith("lint: no TWO\nand more"));
  deepEqual([failed, data], [true, { exit: 1, output: "lint: no TWO\nand more" }]);
  deepEqual([index(), last(where)], [before, "Begin"]);
});

test("git_commit: signing that asks for a passphrase has no terminal to ask on", async () => {
  const where = repository(undefined, { "a.txt": "two\n" });
  const session = (pid: string) => `cut -d' ' -f6 /proc/${pid}/stat`;
  const signer = join(where.cwd, "..", "signer");
  const heard = `{ echo "[$GPG_TTY]"; ${session("self")}; } > "$0.heard"`;
  writeFileSync(signer, `#!/bin/sh\n${heard}; exit 2\n`, { mode: 0o755 });
  configure(where.cwd, [["commit.gpgSign", "true"]]);
  configure(where.cwd, [["gpg.program", signer]]);
  using _ = withEnvironment({ GPG_TTY: "/dev/tty" });
  const { text } = await commit(
    where,
    { message: "x", files: ["a.txt"] },
    { ask: async () => "y" },
  );
  match(text, /failed to sign/);
  const [tty, own] = readFileSync(`${signer}.heard`, "utf8").split("\n");
  equal(tty, "[]");
  notEqual(own, execFileSync("sh", ["-c", session(`${process.pid}`)], { encoding: "utf8" }).trim());
});

test("git_commit: what a hook leaves running does not hold it up", async () => {
  const where = repository(undefined, { "a.txt": "two\n" });
  hook(where, "post-commit", "sleep 600 & echo $! > .git/sleeping");
  match((await commit(where, { message: "x", files: ["a.txt"] })).text, /^Committed /);
  process.kill(Number(readFileSync(join(where.cwd, ".git/sleeping"), "utf8")));
});

test("git_commit: without an identity it says how to give one", async () => {
  const where = repository(undefined, { "a.txt": "two\n" });
  shell(where.cwd, "git config --remove-section user; git config user.useConfigOnly true");
  using _ = withEnvironment({ GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" });
  const { text } = await commit(where, { message: "x", files: ["a.txt"] });
  match(
    text,
    /^Cannot commit: git does not know who you are: no (name|email) .*: git config --global user\.name /,
  );
  equal(git(where.cwd, "status", "--short"), " M a.txt\n");
});
