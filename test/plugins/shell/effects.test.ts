// Commands that no list knows: they run on a copy of the project, and what they changed there is asked for. Compared by a walk of
// the tree with what the same command makes of a plain copy.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { programs } from "../../../kernel/programs.ts";
import { goesBeyond } from "../../../plugins/shell/beyond.ts";
import { whyNoView } from "../../../plugins/shell/view.ts";
import { type Harness, harness, type Setup } from "../../../sdk/testing.ts";
import { has, impossible, needs } from "../../support/needs.ts";
import { place, ROOT, zz } from "../../support/run.ts";

/** What no package brings: a kernel, or a container, that lets an overlay be mounted. */
const whyNot = has("bwrap") && has("unshare") ? await whyNoView(programs(ROOT), ROOT) : undefined;
const viewTest = whyNot === undefined ? needs("bwrap", "git", "unshare") : impossible(whyNot);
const RUNS = Number(process.env.ZZ_RUNS ?? 3); // more of them: test/slow/random.test.ts

/** Every path with its type, mode and content; names byte by byte. The repository's own folder is not part of it. */
function walk(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (at: Buffer, name: string): void => {
    const stat = fs.lstatSync(at);
    const mode = (stat.mode & 0o7777).toString(8);
    if (stat.isSymbolicLink()) found[name] = `link ${fs.readlinkSync(at, "latin1")}`;
    else if (stat.isFile()) found[name] = `file ${mode} ${fs.readFileSync(at, "latin1")}`;
    else if (!stat.isDirectory()) found[name] = "special";
    else {
      found[name] = `folder ${mode}`;
      for (const inner of fs.readdirSync(at, { encoding: "buffer" }))
        if (inner.toString("latin1") !== ".git")
          look(Buffer.concat([at, Buffer.from("/"), inner]), `${name}/${inner.toString("latin1")}`);
    }
  };
  look(Buffer.from(root), "");
  return found;
}

const SETUP = `mkdir -p src/deep empty ro; echo one > a; echo two > b; echo deep > src/deep/x; echo s > src/s
ln -s a link; ln -s ../outside way-out; printf 'a\\0b' > bin; printf '#!/bin/sh\\n' > tool; chmod 755 tool; echo r > ro/r; chmod 444 ro/r
mkdir dist; echo built > dist/old; printf 'dist/\\nnode_modules/\\n' > .gitignore`;
const sh = (cwd: string, script: string) => spawnSync("bash", ["-c", script], { cwd, encoding: "utf8" });

async function project(t: { after(done: () => Promise<void>): void }, setup: Setup = {}): Promise<Harness> {
  const zz = await harness({ own: true, ...setup }, t);
  sh(zz.root, SETUP);
  execFileSync("git", ["init", "-q", zz.root]);
  return zz;
}
const run = (zz: Harness, command: string, more = {}) => zz.call("run_command", { command, ...more });

/** What the command makes of a plain copy. */
function plainly(script: string): Record<string, string> {
  const copy = fs.mkdtempSync(join(os.tmpdir(), "zz-plain-"));
  try {
    sh(copy, SETUP);
    sh(copy, script);
    return walk(copy);
  } finally {
    execFileSync("chmod", ["-R", "u+rwx", copy]);
    fs.rmSync(copy, { recursive: true, force: true });
  }
}

/** The project of all proofs, since each leaves it as it was; after one that did not, there is another. */
const said = { now: "n" };
let proving: Promise<Harness> | undefined;
const newProject = () => project({ after: () => {} }, { answer: async (_, keys) => (keys ? said.now : "") });
after(async () => (await proving)?.close());

async function prove(script: string): Promise<void> {
  const zz = await (proving ??= newProject());
  try {
    await proveIn(zz, script);
  } catch (error) {
    proving = undefined;
    await zz.close();
    throw error;
  }
}

/** No leaves it as it was, yes makes it what the command would have made, undo takes all of it back. */
async function proveIn(zz: Harness, script: string): Promise<void> {
  said.now = "n";
  zz.questions.length = 0;
  const was = walk(zz.root);
  const top = was[""]!;
  const refused = await run(zz, script);
  deepEqual(walk(zz.root), was, `after no to ${script}`);
  const expected = { ...plainly(script), "": top };
  said.now = "y";
  const kept = await run(zz, script);
  deepEqual(walk(zz.root), expected, `after yes to ${script}: ${kept.text}`);
  const isChanged = JSON.stringify(expected) !== JSON.stringify(was);
  equal(refused.refused === true, isChanged, refused.text);
  if (!isChanged) equal(zz.questions.length, 0, "nothing changed, and it was asked for");
  if (isChanged) await zz.command("/undo");
  deepEqual(walk(zz.root), was, `after undo of ${script}: ${zz.notes.join("\n")}`);
}

/** Each command is one that no list knows. */
const script = (text: string): string => `sh -c '${text.replaceAll("'", "'\\''")}'`;

describe("a change × what stands there", { concurrency: false }, () => {
  for (const text of [
    "echo new > n",
    "mkdir -p new/deep; echo x > new/deep/f",
    "mkdir hollow",
    "mkdir -p hollow/in/side",
    "echo more >> a",
    "echo other > ro/n; rm -f ro/r",
    "rm a",
    "rm -r src",
    "rmdir empty",
    "rm -r src; mkdir src",
    "rm -r src; mkdir src; echo again > src/s",
    "rm -r src; mkdir -p src/deep; echo y > src/deep/y",
    "rm -r src; echo file > src",
    "rm -r src; ln -s empty src",
    "rm a; mkdir a; echo in > a/in",
    "rm a; mkdir a",
    "rm a; ln -s b a",
    "rm link; echo file > link",
    "rm link; mkdir link",
    "rm link",
    "ln -sf b link",
    "echo through > link",
    "rmdir empty; echo file > empty",
    "rmdir empty; ln -s a empty",
    "ln -s /etc/passwd hostile; ln -s ../../.. up",
    "ln a twin; echo x >> twin",
    "mv a c",
    "mv src moved",
    "mv src/s s; rm -r src",
    "chmod 600 a; chmod 700 src; chmod -x tool",
    "chmod 500 empty",
    "printf '\\1\\0\\2' > bin",
    "cat bin > copied",
    'echo x > "a b"; echo y > "$(printf "new\\nline")"; echo z > "quote\\"s"; echo w > ./-dash',
    "rm a; echo one > a",
    "touch a",
    "echo built > dist/new; rm dist/old",
    "rm -r dist",
    "true",
    "cat a | sort",
  ])
    viewTest(text, () => prove(script(text)));
});

viewTest(
  "whatever a script of creates, edits, deletes, renames, modes and links does, no, yes and undo hold",
  async () => {
    const name = fc.constantFrom(
      "a",
      "b",
      "src",
      "src/s",
      "src/deep",
      "src/deep/x",
      "n",
      "n/m",
      "link",
      "empty",
      "empty/e",
      "tool",
      "bin",
    );
    const op = fc.oneof(
      fc
        .tuple(fc.constantFrom("echo x >", "echo more >>", "mkdir -p", "rm -rf", "rmdir", "touch"), name)
        .map((all) => all.join(" ")),
      fc
        .tuple(fc.constantFrom("mv", "cp -r", "ln -s", "ln", "ln -sfn", "cp -P"), name, name)
        .map((all) => all.join(" ")),
      fc.tuple(fc.constantFrom("700", "711", "755", "750"), name).map(([mode, at]) => `chmod ${mode} ${at}`),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(op, { minLength: 1, maxLength: 8 }), (ops) => prove(script(ops.join("\n")))),
      { numRuns: RUNS },
    );
  },
);

describe("nothing of a command has an effect that was not agreed to", { concurrency: false }, () => {
  const outside = fs.mkdtempSync("/var/tmp/zz-effects-");
  fs.writeFileSync(join(outside, "file"), "untouched secret-7731");
  for (const text of [
    "echo x > .git/hooks/pre-commit; echo x >> .git/config; rm -rf .git",
    `echo x > ${outside}/file; echo x > ${outside}/new; cat ${outside}/file`,
    "echo x > way-out/file; echo x > ../escaped",
    "echo x > ~/.bashrc; echo x > ~/zz-effects",
    "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)'",
    "(sleep 60; echo late > late) & echo started; exit 0",
    "kill -9 -1; kill -9 1",
    "mkfifo pipe; mknod dev c 1 3; cp /bin/ls ls; chmod 4755 ls; rm ls",
    "mount -t tmpfs none src; umount .",
    "cat .env private/key.pem",
    `python3 -c 'open(${JSON.stringify(join(outside, "file"))}, "w")'`,
  ])
    viewTest(text, async (t) => {
      const zz = await project(t);
      for (const [name, what] of [
        [".env", "secret-7731"],
        ["private/key.pem", "secret-7731"],
      ] as const)
        zz.write(name, what);
      const git = fs.readdirSync(join(zz.root, ".git/hooks")).join();
      const config = fs.readFileSync(join(zz.root, ".git/config"), "utf8");
      const [was, home] = [walk(zz.root), fs.readdirSync(os.homedir()).join()];
      const { text: said } = await run(zz, script(text));
      deepEqual(walk(zz.root), was);
      equal(fs.readdirSync(os.homedir()).join(), home);
      equal(fs.readFileSync(join(outside, "file"), "utf8"), "untouched secret-7731");
      deepEqual(fs.readdirSync(outside), ["file"]);
      equal(fs.readdirSync(join(zz.root, ".git/hooks")).join(), git);
      equal(fs.readFileSync(join(zz.root, ".git/config"), "utf8"), config);
      doesNotMatch(said, /secret-7731/);
      ok(!fs.existsSync(join(zz.root, "..", "escaped")));
    });
  test("the folder outside goes", () => fs.rmSync(outside, { recursive: true, force: true }));
});

viewTest(
  "what cannot be kept is left out and named: special files, .git, what would run as another user",
  async (t) => {
    const zz = await project(t, { answer: "yes" });
    const { text } = await run(
      zz,
      script("mkfifo pipe; cp /bin/true t; chmod 4755 t; mkdir -p sub/r/.git; echo x > sub/r/.git/config; echo x > n"),
    );
    match(text, /'pipe' was left out: it is a device, a FIFO or a socket\./);
    match(text, /'t' was left out: it would run as another user or group\./);
    match(text, /'sub\/r\/\.git' was left out/);
    equal(zz.read("n"), "x\n");
    for (const name of ["pipe", "t", "sub/r/.git"]) ok(!fs.existsSync(join(zz.root, name)), name);
  },
);

for (const [what, hide] of [
  [
    "a committed and removed .env",
    "echo K=s3cret-7731 > .env; git add .; git commit -qm x; git rm -q .env; git commit -qm y",
  ],
  ["a password in the repository's settings", "git remote add o https://me:s3cret-7731@example.com/x"],
] as const)
  viewTest(`a command shows nothing of ${what}`, async (t) => {
    const zz = await project(t);
    sh(zz.root, `export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ${hide}`);
    const all = "git log -p --all; git config -l; cat .git/config; grep -r s3cret .git; git show HEAD~1:.env";
    ok(sh(zz.root, all).stdout.includes("s3cret-7731"));
    const { text } = await run(zz, `node -e 'process.stdout.write(require("child_process").execSync("${all}; true"))'`);
    doesNotMatch(text, /s3cret-7731/);
  });

viewTest("the question shows the command and the diff, and what git ignores in one line", async (t) => {
  const zz = await project(t, { answer: "yes" });
  await run(zz, script("sed -i s/one/three/ a; echo 1 > dist/1; echo 2 > dist/2"));
  const [question = ""] = zz.questions;
  match(question, /\$ sh -c 'sed -i s\/one\/three\/ a/);
  match(question, /three/);
  match(question, /ignored by git, not shown: dist\/: 2 files/);
  doesNotMatch(question, /(create|edit) dist/);
  deepEqual([zz.read("a"), zz.read("dist/1")], ["three\n", "1\n"]);
});

viewTest("a tool's own caches are thrown away without a question", async (t) => {
  const zz = await project(t);
  const { text, refused } = await run(
    zz,
    script("mkdir -p node_modules/.cache/x; echo 1 > node_modules/.cache/x/1; echo {} > a.tsbuildinfo"),
  );
  deepEqual([zz.questions.length, refused], [0, undefined]);
  match(text, /Not kept, since tools write them again: /);
});

viewTest("a file that changed in the project meanwhile keeps what it has", async (t) => {
  const zz = await project(t, { answer: "yes" });
  const running = run(zz, script("echo mine >> a; sleep 2"));
  await new Promise((done) => setTimeout(done, 1_500));
  zz.write("a", "theirs\n");
  match((await running).text, /'a' changed in the project while it ran, so nothing of it was kept/);
  equal(zz.read("a"), "theirs\n");
});

viewTest("what was stopped changes nothing", async (t) => {
  const zz = await project(t, { answer: "yes" });
  const was = walk(zz.root);
  const { text } = await run(zz, script("echo x > n; sleep 60"), { timeout_ms: 500 });
  match(text, /It was stopped, so nothing that it changed was kept\./);
  deepEqual(walk(zz.root), was);
});

viewTest("a project under a name with spaces, colons, commas, quotes and backslashes", async () => {
  const where = place();
  const root = join(where.cwd, 'a b:c,d\\e"f');
  fs.mkdirSync(root);
  const args = [
    "--cwd",
    root,
    "--allow-write",
    "--call",
    "run_command",
    JSON.stringify({ command: script("echo x > n") }),
  ];
  const ran = await zz(where, args);
  match(ran.stdout, /changed: n \(kept\)/, ran.stderr);
  equal(fs.readFileSync(join(root, "n"), "utf8"), "x\n");
});

viewTest(
  "where nobody can be asked it is thrown away, exit code 4, unless --allow-write covers each path",
  async () => {
    const where = place();
    fs.writeFileSync(join(where.cwd, "a"), "one\n");
    const call = (command: string, ...args: string[]) =>
      zz(where, [...args, "--call", "run_command", JSON.stringify({ command })]);
    const command = script("echo two > a; mkdir -p src; echo x > src/x");
    equal((await call(command)).code, 4);
    equal((await call(command, "--allow-write=src")).code, 4);
    deepEqual(fs.readdirSync(where.cwd), ["a"]);
    equal((await call(command, "--allow-write=src,a")).code, 0);
    deepEqual([fs.readdirSync(where.cwd), fs.readFileSync(join(where.cwd, "a"), "utf8")], [["a", "src"], "two\n"]);
    const ran = await call("node -e 'console.log(6*7)'");
    deepEqual([ran.code, ran.stdout.split("\n")[0]], [0, "42"]);
  },
);

for (const effects of ["before", "off"] as const)
  viewTest(`shell.effects "${effects}" asks beforehand`, async (t) => {
    const zz = await project(t, { settings: { shell: { effects } } });
    equal((await run(zz, "touch n")).refused, true);
    match(zz.questions[0]!, /run access to "touch n"/);
  });

viewTest("direct asks beforehand, and so does a named host", async (t) => {
  const zz = await project(t);
  await run(zz, "touch n", { direct: true });
  match(zz.questions[0]!, /run access to "touch n"/);
  await run(zz, "touch n", { hosts: ["example.com"] });
  match(zz.questions.join("\n"), /net access to "example.com"/);
});

for (const [line, beyond] of [
  ["npm install left-pad", true],
  ["npm test", false],
  ["npm run build", false],
  ["npm run dev", true],
  ["npm start", true],
  ["npx tsc --noEmit", false],
  ["git commit -m x", true],
  ["git clean -fd", false],
  ["/usr/bin/curl x", true],
  ["python3 -m http.server", true],
  ["python3 x.py", false],
  ["vite", true],
  ["vite build", false],
  ["yarn", true],
  ["sed -i s/a/b/ x", false],
] as const)
  test(`${line} ${beyond ? "is asked for beforehand" : "runs on a copy"}`, () =>
    equal(goesBeyond({ text: line, words: line.split(" "), verdict: "open", why: "", reads: [], writes: [] }), beyond));
