// Commands that no list knows: they run on a copy of the project, and what they changed there is
// asked for. Compared by a walk of the tree with what the same command makes of a plain copy.
import {
  deepEqual,
  doesNotMatch,
  equal,
  match,
  notDeepEqual,
  ok,
  throws,
} from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createServer } from "node:net";
import os from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import type { Ask } from "../../../kernel/contract.ts";
import { standingClock } from "../../../sdk/clock.ts";
import { type Harness, harness, type Setup } from "../../../sdk/testing.ts";
import { impossible, type Test } from "../../support/needs.ts";
import { INIT } from "../../support/repository.ts";
import { type Place, place, zz as runZz } from "../../support/run.ts";
import { isAll, some } from "../../support/runs.ts";
import { viewTest as test } from "../../support/view.ts";
import { waitFor } from "../../support/wait.ts";
import { walk } from "../../support/walk.ts";

/** Of what few rely on, or what others prove nearly. */
const allTest: Test = isAll ? test : () => {};

const SETUP = `mkdir -p src/deep empty ro; echo one > a; echo two > b; echo deep > src/deep/x; echo s > src/s
ln -s a link; ln -s round round; ln -s ../outside way-out; printf 'a\\0b' > bin; printf '#!/bin/sh\\n' > tool; chmod 755 tool; echo r > ro/r; chmod 444 ro/r
mkdir dist; echo built > dist/old; printf 'dist/\\nnode_modules/\\n' > .gitignore`;
const sh = (cwd: string, script: string) =>
  spawnSync("bash", ["-c", script], { cwd, encoding: "utf8" });

async function project(t: { after(done: () => Promise<void>): void }, setup: Setup = {}) {
  const zz = await harness({ own: true, ...setup }, t);
  copyModel(REPOSITORY, zz.root);
  return zz;
}
const models = new Map<string, string>();
after(() => models.forEach((model) => void fs.rmSync(model, { recursive: true, force: true })));
/** What a script makes, to be copied: made once, since each program costs more than a copy. */
function copyModel(setup: string, to: string): void {
  const model = models.get(setup) ?? fs.mkdtempSync(join(os.tmpdir(), "zz-model-"));
  if (!models.has(setup)) sh(model, setup);
  models.set(setup, model);
  fs.cpSync(model, to, { recursive: true, verbatimSymlinks: true });
}
const REPOSITORY = `${SETUP}; ${INIT}`;
/** One zz for the tests that differ in their project and in what the person says: its project is
 * made again for each. */
let answered: Ask;
let shared: Promise<Harness> | undefined;
after(async () => (await shared)?.close());
const always =
  (key: () => string): Ask =>
  async (_, keys) =>
    keys ? key() : "";
async function freshZz(answer: "y" | "n" | Ask): Promise<Harness> {
  answered = typeof answer === "string" ? always(() => answer) : answer;
  shared ??= harness({ own: true, answer: (...asked) => answered(...asked) });
  const zz = await shared;
  for (const name of fs.readdirSync(zz.root, "buffer")) // some are no text
    fs.rmSync(Buffer.concat([Buffer.from(`${zz.root}/`), name]), { recursive: true });
  copyModel(REPOSITORY, zz.root);
  for (const told of [zz.questions, zz.notes, zz.events]) told.length = 0;
  return zz;
}
/** As a script calls it. */
const calls = (where: Place, command: string, ...args: string[]) =>
  runZz(where, [...args, "--call", "run_command", JSON.stringify({ command })]);
const run = (zz: Harness, command: string, more = {}) =>
  zz.call("run_command", { command, ...more });

const lastRow = (zz: Harness): string =>
  zz.events.findLast((event) => event.type === "called")?.shown ?? "";

/** Makes a project with a folder for each script, as SETUP makes it. */
function fillFolders(root: string, scripts: readonly unknown[]): void {
  for (const i of scripts.keys()) copyModel(SETUP, join(root, `${i}`));
}

/** The part of a walk that lies in a folder. */
const partOf = (whole: Record<string, string>, folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(whole).filter(([name]) => `${name}/`.startsWith(`/${folder}/`)),
  );

/** No leaves a project as it was, yes makes it what the command would have made, undo takes all of
 * it back. Each script has its folder. */
async function prove(shell: "sh" | "bash", scripts: readonly string[], changes: boolean) {
  const lines = scripts.map((one, i) => `(cd ${i}; ${one})`).join("\n");
  const command = `${shell} -c '${lines.replaceAll("'", "'\\''")}'`;
  const plain = fs.mkdtempSync(join(os.tmpdir(), "zz-plain-"));
  let key = "n";
  const zz = await freshZz(always(() => key));
  for (const name of fs.readdirSync(zz.root).filter((name) => name !== ".git"))
    fs.rmSync(join(zz.root, name), { recursive: true });
  for (const root of [zz.root, plain]) fillFolders(root, scripts);
  const was = walk(zz.root);
  const refused = await run(zz, command);
  deepEqual(walk(zz.root), was, `after no: ${refused.text}`);
  sh(plain, command);
  const expected = { ...walk(plain), "": was[""]! };
  fs.rmSync(plain, { recursive: true });
  for (const [i, one] of scripts.entries())
    equal(
      JSON.stringify(partOf(expected, `${i}`)) !== JSON.stringify(partOf(was, `${i}`)),
      changes,
      one,
    );
  key = "y";
  const kept = await run(zz, command);
  deepEqual(walk(zz.root), expected, `after yes: ${kept.text}`);
  equal(refused.refused === true, changes, refused.text);
  if (!changes)
    return equal(
      zz.questions.length,
      0,
      `nothing changed, and it was asked for: ${zz.questions[0]}`,
    );
  await zz.command("/undo");
  deepEqual(walk(zz.root), was, `after undo: ${zz.notes.join("\n")}`);
}

/** Each command is one that no list knows. */
const script = (text: string): string => `sh -c '${text.replaceAll("'", "'\\''")}'`;

const CHANGES = `echo new > n § mkdir -p new/deep; echo x > new/deep/f § echo more >> a § rm a
  rm -r src; mkdir src § rm -r src; echo file > src § rm -r src; ln -s empty src
  rm a; mkdir a; echo in > a/in § rm a; ln -s b a § rm link; echo file > link § echo through > link
  ln -s "$(printf "caf\\351")" odd; echo x > "$(printf "caf\\351")"
  rm link; mkdir link; echo in > link/in § ln a twin; echo x >> twin § mv src moved
  chmod 600 a; chmod 700 src; chmod -x tool § printf '\\1\\0\\2' > bin
  echo x > "a b"; echo y > "$(printf "new\\nline")"; echo z > "quote\\"s"; echo w > ./-dash
  echo built > dist/new; rm dist/old`.split(/ § |\n */);
test("a change × what stands there", () => prove("sh", CHANGES, true));
test("what changes nothing is not asked for", () =>
  prove("sh", ["rm a; echo one > a", "touch a", "true", "cat a | sort"], false));

describe("nothing of a command has an effect that was not agreed to", {
  concurrency: false,
}, () => {
  const outside = fs.mkdtempSync("/var/tmp/zz-effects-");
  fs.writeFileSync(join(outside, "file"), "untouched secret-7731");
  const rows = [
    "echo x > .git/hooks/pre-commit; echo x >> .git/config; rm -rf .git",
    `echo x > ${outside}/file; echo x > ${outside}/new; cat ${outside}/file`,
    "echo x > way-out/file; echo x > ../escaped",
    "echo x > ~/.bashrc; echo x > ~/zz-effects",
    "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'",
    "(sleep 60; echo late > late) & echo started; exit 0",
    "mkfifo pipe; mknod dev c 1 3; cp /bin/ls ls; chmod 4755 ls; rm ls",
    "mount -t tmpfs none src; umount .",
    "cat .env private/key.pem",
    `python3 -c 'open(${JSON.stringify(join(outside, "file"))}, "w")'`,
    "kill -9 -1; kill -9 1", // ends those before it, too
  ];
  const harm = async (commands: string[], about: string): Promise<void> => {
    const zz = await freshZz("n");
    for (const name of [".env", "private/key.pem"]) zz.write(name, "secret-7731");
    const git = (name: string) => join(zz.root, ".git", name);
    const seen = () => [
      [walk(zz.root), fs.readFileSync(git("config"), "utf8")],
      [outside, os.homedir(), git("hooks"), join(zz.root, "..")].map((folder) =>
        fs.readdirSync(folder).join(),
      ),
      fs.readFileSync(join(outside, "file"), "utf8"),
    ];
    const before = seen();
    doesNotMatch((await run(zz, commands.join("; "))).text, /secret-7731/, about);
    deepEqual(seen(), before, about);
  };
  test("all of them in one command", () =>
    harm(rows.map(script), "one of them").catch(async (error) => {
      // names the first that does it alone
      for (const text of rows) await harm([script(text)], text);
      throw error;
    }));
  after(() => fs.rmSync(outside, { recursive: true, force: true }));
});

test("what cannot be kept is left out and named: special files, .git, what would run as another user", async () => {
  const zz = await freshZz("y");
  const git = "mkdir -p sub/r/.git; echo x > sub/r/.git/config";
  const { text } = await run(
    zz,
    script(`mkfifo pipe; cp /bin/true t; chmod 4755 t; ${git}; echo x > n`),
  );
  match(text, /'pipe' was left out: it is a device, a FIFO or a socket\./);
  match(text, /'t' was left out: it would run as another user or group\./);
  match(text, /'sub\/r\/\.git' was left out/);
  equal(zz.read("n"), "x\n");
  for (const name of ["pipe", "t", "sub/r/.git"]) ok(!fs.existsSync(join(zz.root, name)), name);
});

const HIDDEN = [
  [
    "a committed and removed .env",
    "echo K=s3cret-7731 > .env; git add .; git commit -qm x; git rm -q .env",
  ],
  [
    "a password in the repository's settings",
    "git remote add o https://me:s3cret-7731@example.com/x",
  ],
] as const;
for (const [what, hide] of some(HIDDEN, 2))
  test(`a command shows nothing of ${what}`, async () => {
    const zz = await freshZz("n");
    const by =
      "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    sh(zz.root, `${by}; ${hide}; git commit --allow-empty -qm y`);
    const all =
      "git log -p --all; git config -l; cat .git/config; grep -r s3cret .git; git show HEAD~1:.env";
    ok(sh(zz.root, all).stdout.includes("s3cret-7731"));
    const { text } = await run(
      zz,
      `node -e 'process.stdout.write(require("child_process").execSync("${all}; true"))'`,
    );
    doesNotMatch(text, /s3cret-7731/);
  });

test("the question shows the command and the diff, and what git ignores in one line", async () => {
  const zz = await freshZz("y");
  await run(zz, script("sed -i s/one/three/ a; echo 1 > dist/1; echo 2 > dist/2"));
  const [question = ""] = zz.questions;
  match(
    question,
    /\$ sh -c 'sed -i s\/one\/three\/ a[\s\S]*ignored by git, not shown: dist: 2 files[\s\S]*\+ three/,
  );
  doesNotMatch(question, /(create|edit) dist/);
  deepEqual([zz.read("a"), zz.read("dist/1")], ["three\n", "1\n"]);
});

/** Each goes as `tracked` in its own folder. */
const TRACKED = "echo tracked > x; git add x; echo x > .gitignore";
const LINK = "ln -s tracked node_modules; git add -f node_modules";
// biome-ignore format: one case a row.
const REPLACED = [
  ["a file by an ignored folder", "echo tracked > x; echo x/ > .gitignore", "rm x; mkdir x; echo 1 > x/1; echo 2 > x/2"],
  ["a file that git tracks by a folder of an ignored name", TRACKED, "rm x; mkdir -p x/in; echo 1 > x/in/1"],
  ["a link by node_modules", LINK, "rm node_modules; mkdir -p node_modules/m; echo 1 > node_modules/m/i.js"],
  ["a folder by an ignored file", "mkdir x; echo tracked > x/t; git add x; echo x > .gitignore", "rm -r x; echo 1 > x"],
] as const;
test("a command that replaces a file, a link or a folder by something ignored: what goes is shown", async () => {
  let key = "n";
  const zz = await freshZz(always(() => key));
  fillFolders(zz.root, REPLACED);
  /** What goes has another name in each folder. */
  const everywhere = (lines: string[]) =>
    lines.map((line, i) => `(cd ${i}; ${line.replaceAll("tracked", `tracked-${i}`)})`).join("\n");
  sh(zz.root, everywhere(REPLACED.map(([, before]) => before)));
  const was = walk(zz.root);
  const command = script(everywhere(REPLACED.map(([, , command]) => command)));
  await run(zz, command);
  for (const [i, [what]] of REPLACED.entries())
    match(zz.questions[0]!, new RegExp(`[-] tracked-${i}\\b`), what);
  deepEqual(walk(zz.root), was, "after no");
  key = "y";
  const { text, failed } = await run(zz, command);
  equal(failed, false, text);
  const made = walk(zz.root);
  for (const [i, [what]] of REPLACED.entries())
    notDeepEqual(partOf(made, `${i}`), partOf(was, `${i}`), what);
  await zz.command("/undo");
  deepEqual(walk(zz.root), was, zz.notes.at(-1));
  await zz.command("/redo");
  deepEqual(walk(zz.root), made, zz.notes.at(-1));
});

test("a file of node_modules that git tracks is shown, others are told in one line", async () => {
  const zz = await freshZz("y");
  fs.rmSync(join(zz.root, ".gitignore"));
  const all = ["ignored", "untracked", "tracked", "nested"];
  for (const name of all) zz.write(`${name}/node_modules/x/i.js`, `good ${name}\n`);
  zz.write("ignored/.gitignore", "node_modules\n");
  sh(zz.root, "git add -f tracked/node_modules; git init -q nested; cd nested; git add .");
  await run(zz, script("sed -i s/good/evil/ */node_modules/x/i.js"));
  const [question = ""] = zz.questions;
  for (const name of ["tracked", "nested"])
    match(question, new RegExp(`- good ${name}\n.*\\+ evil ${name}\n`));
  match(question, /ignored by git, not shown: ignored\/node_modules: 1 file/);
  match(question, /in node_modules, not shown: untracked\/node_modules: 1 file/);
  doesNotMatch(question, /good (ignored|untracked)/);
  for (const name of all) equal(zz.read(`${name}/node_modules/x/i.js`), `evil ${name}\n`);
  await zz.command("/undo");
  for (const name of all) equal(zz.read(`${name}/node_modules/x/i.js`), `good ${name}\n`);
});

test("a tool's own caches are thrown away without a question", async () => {
  const zz = await freshZz("n");
  const caches =
    "mkdir -p node_modules/.cache/x; echo 1 > node_modules/.cache/x/1; echo {} > a.tsbuildinfo";
  const { text, refused } = await run(zz, script(caches));
  deepEqual([zz.questions.length, refused], [0, undefined]);
  match(text, /Not kept, since tools write them again: /);
});

const MEANWHILE = [
  ["is shown with what it puts in place of that, and no keeps it", "n", undefined],
  ["is kept where nobody is asked", "y", { write: true }],
] as const;
for (const [who, answer, allow] of some(MEANWHILE, 2))
  test(`a file that changed in the project while a command ran ${who}`, async (t) => {
    const zz = await project(t, {
      answer: async (_, keys) => (keys ? answer : ""),
      ...(allow && { allow }),
    });
    const running = run(
      zz,
      script("echo mine >> a; echo > started; while ! grep -q theirs b; do sleep 0.05; done"),
    );
    await started("started");
    for (const name of ["a", "b"]) zz.write(name, "theirs\n");
    const { text } = await running;
    if (allow) match(text, /'a' changed in the project while it ran, so nothing of it was kept/);
    else match(zz.questions[0]!, /Mind 'a': changed in the project while it ran\./);
    equal(zz.read("a"), "theirs\n");
  });

/** Waits until a command has made a file on its copy. */
const started = (name: string) =>
  waitFor(`a command to make '${name}'`, () => {
    const views = fs
      .readdirSync(os.tmpdir())
      .filter((view) => view.startsWith(`zz-view.${process.pid}.`));
    return views.some((view) => fs.existsSync(join(os.tmpdir(), view, "upper", name)));
  });

test("what was stopped changes nothing", async (t) => {
  const clock = standingClock();
  const zz = await project(t, { answer: "yes", clock });
  const was = walk(zz.root);
  const running = run(zz, script("echo x > n; sleep 600"), { timeout_ms: 500 });
  await started("n");
  await clock.waits(500);
  await clock.pass(500);
  match((await running).text, /It was stopped, so nothing that it changed was kept\./);
  deepEqual(walk(zz.root), was);
});

test("a project under a name with spaces, colons, commas, quotes and backslashes", async () => {
  const where = place();
  const root = join(where.cwd, 'a b:c,d\\e"f');
  fs.mkdirSync(root);
  const ran = await calls(where, script("echo x > n"), "--cwd", root, "--allow-write");
  match(ran.stdout, /changed: n \(kept\)/, ran.stderr);
  equal(fs.readFileSync(join(root, "n"), "utf8"), "x\n");
});

test("where nobody can be asked it is thrown away, exit 4, unless --allow-write covers all", async () => {
  const where = place();
  fs.writeFileSync(join(where.cwd, "a"), "one\n");
  const command = script("echo two > a; mkdir -p src; echo x > src/x");
  for (const flags of [[], ["--allow-write=src"]])
    equal((await calls(where, command, ...flags)).code, 4);
  deepEqual(fs.readdirSync(where.cwd), ["a"]);
  equal((await calls(where, command, "--allow-write=src,a")).code, 0);
  deepEqual(
    [fs.readdirSync(where.cwd), fs.readFileSync(join(where.cwd, "a"), "utf8")],
    [["a", "src"], "two\n"],
  );
  match((await calls(where, "node -e 'console.log(6*7)'")).stdout, /^42\n/);
});

test("with --only-write a command that changes nothing else is put in place, others not at all", async () => {
  const where = place();
  const at = (name: string) => join(where.cwd, name);
  for (const folder of ["src", "docs"]) fs.mkdirSync(at(folder));
  const run = (command: string) => calls(where, command, "-A", "--only-write=docs/**");
  const both = await run("sh -c 'echo x > docs/a; echo x > src/a'");
  match(
    both.stderr,
    /write access to "src\/a" is denied by --only-write='?docs\/\*\*'? \(only docs\/\*\*\)/,
  );
  ok(!fs.existsSync(at("docs/a")) && !fs.existsSync(at("src/a")));
  equal((await run("sh -c 'echo x > docs/a'")).code, 0);
  ok(fs.existsSync(at("docs/a")));
});

test("line ends and bytes that a command changed are seen, whatever else changes", async (t) => {
  const zz = await project(t, { files: { crlf: "one\ntwo\n" } });
  const crlf = "printf 'one\\r\\ntwo!\\r\\n' > crlf; printf 'two\\r\\n' > b";
  await run(zz, script(`${crlf}; printf 'caf\\351' >> a; chmod 755 b`));
  const [question = ""] = zz.questions;
  match(question, /- one\n.*- two\n.*\+ one␍\n.*\+ two!␍\n/);
  match(question, /another mode: 644 to 755, only line ends or bytes that do not show/);
});

/** Each is a name with a newline in it, made by a command. */
const FORGERIES = [
  ["in an ignored folder", `mkdir -p "$n/node_modules"; echo x > "$n/node_modules/f"`],
  ["of an ignored file", `echo "*.o" >> .gitignore; echo x > "$n.o"`],
  ["that is not UTF-8", `echo x > "$n$(printf '\\377')"`],
  ["of a FIFO", `mkfifo "$n"; echo x > n`],
  ["of a file", `echo x > "$n"`],
] as const;
for (const answer of some(["y", "n"] as const, 2))
  test(`a name with a newline forges no line, after ${answer === "y" ? "yes" : "no"}`, async () => {
    const zz = await freshZz(answer);
    const name = (i: number) =>
      `n="$(printf 'x: 1 file, 1 byte\\n--- a/fake]\\r\\n+forged-${i}]')"`;
    for (const [i, [, make]] of FORGERIES.entries())
      zz.write(`${i}/s.sh`, `${name(i)}\nmkdir -p "\${n%/*}"; ${make}\n`);
    const { text } = await run(
      zz,
      `bash -c 'for i in ?; do [ ! -e $i/s.sh ] || (cd $i; bash s.sh); done'`,
    );
    const told = `${zz.questions.join("\n")}\n${text}`;
    for (const [i, [what]] of FORGERIES.entries())
      match(told, new RegExp(`fake\\]␊\\+forged-${i}\\b`), what);
    for (const said of [zz.questions.join("\n"), text])
      doesNotMatch(said, /^(┃ )?(---? a\/fake|[+-]?forged)/m);
  });

test("direct asks beforehand, and so does a named host", async () => {
  const zz = await freshZz("n");
  await run(zz, "touch n", { direct: true });
  match(zz.questions[0]!, /wants to run "touch n"/);
  await run(zz, "touch n", { hosts: ["example.com"] });
  match(zz.questions.join("\n"), /to reach example\.com/);
});

/** Answers by what is asked for: the first that fits. Other lines get nothing. */
const answers =
  (...all: [fits: RegExp, key: string][]) =>
  async (question: string, keys?: string) =>
    keys === undefined
      ? ""
      : (all.find(([fits]) => fits.test(question.split("\n")[0]!))?.[1] ?? "n");

describe("file by file", { concurrency: false }, () => {
  test("what got a yes is kept, and the rest is as it was", async () => {
    const zz = await freshZz(
      answers([/, | and /, "f"], [/change a\./, "y"], [/change dist\./, "y"]),
    );
    const made = script("echo A > a; echo B > b; echo N > n; echo 1 > dist/1; echo 2 > dist/2");
    const { text, failed } = await run(zz, made);
    deepEqual(
      [zz.read("a"), zz.read("b"), zz.read("n"), zz.read("dist/1")],
      ["A\n", "two\n", undefined, "1\n"],
    );
    const asked = zz.questions.filter((one) => /Allow\?/.test(one));
    equal(asked.length, 5, "the whole, three files, and one folder that git ignores");
    match(asked[0]!, /\[y\/n\/f\/A\/\?\]/);
    match(asked[1]!, /- one\n.*\+ A/);
    match(text, /changed: a, dist: 2 files, 4 bytes \(kept\)/);
    equal(lastRow(zz), "2 changes kept");
    match(text, /changed: b, n \(the person said no: they are as they were\)/);
    match(text, /Refused: the person said no to write access to "b"/);
    equal(failed, false);
    await zz.command("/undo");
    deepEqual([zz.read("a"), zz.read("dist/1")], ["one\n", undefined]);
    answered = always(() => "y");
    await run(zz, script("echo once more > a; echo said"));
    equal(lastRow(zz), "1 line · changed a");
  });
  test("a file that stays keeps its folder, and what was to come in its place does not", async () => {
    const zz = await freshZz(answers([/, | and /, "f"], [/change (src\/s|a)\./, "n"], [/./, "y"]));
    const was = walk(zz.root);
    const { text } = await run(zz, script("rm -r src; rm a; mkdir a; echo x > a/x; echo x > n"));
    const [now, names] = [walk(zz.root), ["/src/s", "/a", "/a/x", "/src/deep"]];
    const standing = [...names.map((name) => now[name]), "/n" in now];
    deepEqual(standing, [was["/src/s"], was["/a"], undefined, undefined, true], text);
    await zz.command("/undo");
    deepEqual(walk(zz.root), was);
  });
  test("always, in the middle, is a yes to the rest", async (t) => {
    const zz = await project(t, {
      answer: answers([/, | and /, "f"], [/change a\./, "n"], [/change b\./, "A"]),
    });
    await run(zz, script("echo A > a; echo B > b; echo N > n"));
    deepEqual([zz.read("a"), zz.read("b"), zz.read("n")], ["one\n", "B\n", "N\n"]);
    equal(zz.questions.filter((one) => /Allow\?/.test(one)).length, 3);
  });
});

test("the proposal of a command can be edited before it is kept", async (t) => {
  const zz = await project(t, {
    answer: async (question, keys) => {
      if (!(keys && /Allow/.test(question))) return "";
      if (zz.questions.length > 1) return "y";
      return "e";
    },
  });
  Object.assign(zz.core, { edit: async (text: string) => text.replace("three", "four") });
  const { text } = await run(zz, script("sed -i s/one/three/ a"));
  equal(zz.read("a"), "four\n");
  match(text, /The person edited the proposal/);
});

test("with -A it runs in the project itself, as ever", async (t) => {
  const zz = await project(t, {
    allow: { read: true, write: true, run: true, net: true, env: true },
  });
  const { text } = await run(zz, "touch n");
  deepEqual([zz.questions.length, zz.read("n")], [0, ""]);
  doesNotMatch(text, /copy/);
});

test("the person's own !+command is covered by /changes and /undo, and a plain one is not", async () => {
  const zz = await freshZz(async (question, keys) => (keys && /Allow/.test(question) ? "y" : ""));
  const { notes } = await zz.ask("!+ sed -i s/one/three/ a");
  equal(zz.read("a"), "three\n");
  match(notes.join("\n"), /changed: a \(kept\)/);
  match(notes.join("\n"), /Tab or !! gives it to the model\./);
  match((await zz.command("/changes")).join("\n"), /edited +a +\(run_command\)/);
  await zz.command("/undo");
  equal(zz.read("a"), "one\n");
});

describe("what a copy has to stand", { concurrency: false }, () => {
  const FLOODS = [
    ["", "head -c 15000000 /dev/zero > large; head -c 15000000 /dev/zero > larger; sleep 60"],
    [
      " in files that it deletes and holds open",
      "exec 3> large; rm large; head -c 40000000 /dev/zero >&3; sleep 60",
    ],
  ] as const;
  for (const [how, line] of some(FLOODS, 2))
    test(`a command that writes more than a copy may hold${how} is ended, and nothing of it is kept`, async (t) => {
      const zz = await project(t, { answer: "yes", settings: { shell: { maxCopyMB: 20 } } });
      const was = walk(zz.root);
      const { text } = await run(zz, script(line));
      match(text, /changed more than 20 MB of the project\. Let it write less/);
      match(text, /nothing that it changed was kept/);
      deepEqual(walk(zz.root), was);
    });

  test("exit codes, pipelines, process substitution, temporary files and /dev/urandom work as ever", async () => {
    const zz = await freshZz("y");
    const pipes = "cat <(echo in) | tr a-z A-Z; set -o pipefail; false | cat";
    const temporary =
      't=$(mktemp); echo kept > "$t"; cat "$t"; head -c 8 /dev/urandom | wc -c; : > /dev/null';
    for (const [command, end] of [
      [pipes, [1, "IN\n"]],
      [temporary, [0, "kept\n8\n"]],
    ] as const) {
      const { data } = await run(zz, `bash -c '${command}'`);
      const { exit, stdout } = data as { exit: number; stdout: string };
      deepEqual([exit, stdout], end, command);
    }
    deepEqual(zz.questions, [], "nothing changed");
  });

  test("what it changed is asked for also where it failed", async () => {
    const zz = await freshZz("y");
    const { failed, text } = await run(zz, script("echo x > n; exit 3"));
    deepEqual([failed, zz.read("n")], [true, "x\n"]);
    match(text, /exit code 3/);
  });

  test("two commands at once on one file: the second is shown what the first left", async (t) => {
    const zz = await project(t, { answer: always(() => "y") });
    const wait = (name: string) =>
      `touch started-${name}; while ! grep -q go b${name}; do sleep 0.05; done; rm -f started-${name}`;
    for (const name of ["b1", "b2"]) zz.write(name, "");
    const end = (name: string) => `${wait(name)}; echo ${name} >> a; echo ${name} > only${name}`;
    const both = ["1", "2"].map((name) => run(zz, script(end(name))));
    for (const name of ["1", "2"]) await started(`started-${name}`);
    // a file that comes now would not be seen
    for (const name of ["b1", "b2"]) zz.write(name, "go\n");
    await Promise.all(both);
    equal(zz.questions.length, 2);
    const last = zz.questions[1]!;
    if (!/Mind 'a'/.test(last)) match(last, /'a' changed meanwhile; the change still applies/);
    deepEqual([zz.read("only1"), zz.read("only2")], ["1\n", "2\n"]);
    match(zz.read("a")!, /^one\n[12]\n/);
  });

  test("what the person edits while the question stands is not overwritten", async () => {
    let asked = 0;
    const zz: Harness = await freshZz(async (_, keys) => {
      if (keys && asked++ === 0) {
        zz.write("a", "one\nthe person's\n");
        zz.write("dist/old", "the person's\n");
      }
      return keys ? "y" : "";
    });
    const { text } = await run(zz, script("sed -i s/one/ONE/ a; echo mine > dist/old"));
    deepEqual([zz.read("a"), zz.read("dist/old")], ["one\nthe person's\n", "the person's\n"], text);
    match(text, /Nothing that it changed was kept: Cannot write .*changed meanwhile/);
    match(lastRow(zz), /^Nothing that it changed was kept: Cannot write .*changed meanwhile/);
  });

  allTest("a socket and a FIFO in the project lead nowhere", async () => {
    const zz = await freshZz("y");
    let heard = 0;
    const server = createServer(() => heard++).listen(join(zz.root, "sock"));
    await once(server, "listening");
    execFileSync("mkfifo", [join(zz.root, "fifo")]);
    const reader = fs.openSync(
      join(zz.root, "fifo"),
      fs.constants.O_RDWR | fs.constants.O_NONBLOCK,
    );
    const reach = `const s = require("net").connect("sock"); s.on("error", (e) => console.log(e.code)); s.on("connect", () => console.log("connected"))`;
    const { text } = await run(
      zz,
      `bash -c '(timeout 1 bash -c "echo out > fifo"); exec node -e "$0"' '${reach}'`,
    );
    doesNotMatch(text, /connected/);
    throws(() => fs.readSync(reader, Buffer.alloc(9)), /EAGAIN/, "nothing came through the FIFO");
    equal(heard, 0);
    fs.closeSync(reader);
    server.close();
  });

  const asRoot =
    process.getuid?.() === 0
      ? allTest
      : impossible("a file of another owner can be made by root alone");
  asRoot(
    "a file of another owner, which a view cannot change: it is offered in the project itself",
    async (t) => {
      const zz = await project(t, {
        answer: async (text: string) => (/to run /.test(text) ? "y" : "n"),
      });
      for (const name of ["a", "b"]) fs.chownSync(join(zz.root, name), 4_711, 4_711);
      fs.chmodSync(join(zz.root, "a"), 0o666);
      const { text } = await run(zz, script("cat a; echo x > n; echo more >> a"));
      match(
        zz.questions[0]!,
        /on a copy of the project, where it came upon a file of another owner, which it cannot/,
      );
      equal(zz.questions.length, 1);
      match(text, /the person let it run again with that/);
      match((await run(zz, script("cat a b; echo y >> n"))).text, /one/, "it can be read");
      await zz.command("/undo");
    },
  );

  test("the mode of the project's own folder stays, and a folder that hands its group on does so", async () => {
    const zz = await freshZz("y");
    const mode = fs.statSync(zz.root).mode;
    const { text } = await run(
      zz,
      script("chmod 711 .; mkdir shared; chmod 2775 shared; echo x > shared/x"),
    );
    match(text, /the mode of the project's own folder was left as it is/);
    deepEqual(
      [fs.statSync(zz.root).mode, fs.statSync(join(zz.root, "shared")).mode & 0o7777],
      [mode, 0o2775],
    );
  });

  const LARGE = [
    ["a folder", "truncate -s 51M a", "rm a; mkdir -p a/in; echo inner > a/in/x"],
    ["a link", "truncate -s 51M a", "rm a; ln -s b a"],
    ["a file, and its folder by another", "truncate -s 51M src/s", "rm -r src; echo file > src"],
    ["nothing, and a folder by it", "true", "rm -r src; truncate -s 51M src"],
  ] as const;
  allTest("a file over 50 MB that a command replaces is moved, and undone", async () => {
    const zz = await freshZz("y");
    fillFolders(zz.root, LARGE);
    sh(zz.root, LARGE.map(([, before], i) => `(cd ${i}; ${before})`).join("\n"));
    const was = walk(zz.root);
    const { text, failed } = await run(
      zz,
      script(LARGE.map(([, , command], i) => `(cd ${i}; ${command})`).join("\n")),
    );
    deepEqual([failed, /\(kept\)/.test(text)], [false, true], text);
    match(zz.questions[0]!, /too large to be read.*\n.*--- a\n.*-53 MB\n.*\+\+\+ x\n.*\+inner\n/);
    const now = walk(zz.root);
    for (const [i, [what]] of LARGE.entries())
      notDeepEqual(partOf(now, `${i}`), partOf(was, `${i}`), what);
    match((await zz.command("/changes")).join(), / 0\/a\/… .* 1\/a {2}\(/s);
    await zz.command("/undo");
    deepEqual(walk(zz.root), was, zz.notes.join("\n"));
    await zz.command("/redo");
    deepEqual(walk(zz.root), now, zz.notes.join("\n"));
  });

  test("what was moved is taken back after a restart, made again, and not where it changed since", async (t) => {
    let said = "y";
    const zz = await project(t, { answer: async (_, keys) => (keys ? said : "") });
    const was = walk(zz.root);
    await run(
      zz,
      script(
        "echo new > dist/old; echo more > dist/more; mkdir dist/in; echo x > $(printf 'd\\377')",
      ),
    );
    const made = walk(zz.root);
    await zz.restart();
    await zz.command("/undo");
    deepEqual(walk(zz.root), was);
    await zz.command("/redo");
    deepEqual(walk(zz.root), made);
    zz.write("dist/more", "the person's own\n");
    said = "n";
    match(
      (await zz.command("/undo")).join("\n"),
      /^Cannot undo 'dist\/…': 'dist\/more' changed since\. Nothing was/m,
    );
    equal(zz.read("dist/more"), "the person's own\n");
    said = "o";
    await zz.command("/undo");
    deepEqual(walk(zz.root), was);
  });
});

test("/undo and /redo of what was moved say which copies are gone, and touch nothing", async (t) => {
  const zz = await project(t, { answer: always(() => "y") });
  const was = walk(zz.root);
  await run(zz, script("echo new > dist/old; echo more > dist/more; echo more >> a"));
  const made = walk(zz.root);
  const moved = join(zz.home, "sessions/moved");
  for (const [verb, folder, gone, stays, comes] of [
    [
      "undo",
      "old",
      /^Cannot undo 'dist\/…': the copy of 'dist\/old' is gone\. Nothing was touched\./,
      made,
      was,
    ],
    [
      "redo",
      "new",
      /^Cannot redo 'dist\/…': the copy of 'dist\/(old|more)' and 1 more is gone\./,
      was,
      made,
    ],
  ] as const) {
    const copies = join(moved, fs.readdirSync(moved)[0]!, folder);
    fs.renameSync(copies, `${copies}-away`);
    match((await zz.command(`/${verb}`)).join("\n"), gone);
    deepEqual(walk(zz.root), stays);
    fs.renameSync(`${copies}-away`, copies);
    await zz.command(`/${verb}`);
    deepEqual(walk(zz.root), comes, zz.notes.join("\n"));
  }
});
