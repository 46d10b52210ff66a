// Which way a command goes: unasked, at once on a copy of the project, or after a question; and
// what is offered again.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { join } from "node:path";
import { test as freeTest, type TestContext } from "node:test";
import { judgeLine } from "../../../plugins/shell/judge/judge-line.ts";
import { whyNotOnCopy } from "../../../plugins/shell/not-on-a-copy.ts";
import { findMissingAccess } from "../../../plugins/shell/offer-rerun.ts";
import { type Harness, harness, type Setup } from "../../../sdk/testing.ts";
import { temporaryFolder } from "../../support/files.ts";
import { INIT, shell } from "../../support/repository.ts";
import { type Place, place, ROOT, zz } from "../../support/run.ts";
import { viewTest as test } from "../../support/view.ts";

async function project(t: TestContext, setup: Setup = {}): Promise<Harness> {
  const zz = await harness(
    { own: true, files: { a: "one\n", ".env": "KEY=secret-7731\n" }, ...setup },
    t,
  );
  shell(zz.root, `${INIT}; git -c user.name=n -c user.email=e@x commit -q --allow-empty -m one`);
  return zz;
}
const run = (zz: Harness, command: string, more = {}) =>
  zz.call("run_command", { command, ...more });

const lines = (text: string): string[] => text.trim().split("\n");
const BEFOREHAND = lines(`
npm i -D x
/usr/bin/curl x.org
curl -s $URL
curl -s http://127.0.0.1/x && ls
npm run dev
npm start
tail -f x.log
git add -A && git status
npm test; git push
git config user.name x
git -C sub commit -m x
npm test && curl example.com
node s.js & curl localhost:1 x.org
`);
const ON_COPY = lines(`
npm test
pip --version
vite build
git
cd src && git status
git config user.name
git branch --contains x
git apply x
git diff > /tmp/x
curl --version
timeout 5 npm start
npm run dev & sleep 1; curl -s localhost:3000; kill %1
(node s.js &); curl http://127.0.0.1:1/x
tail -n 5 a
x=curl; echo $x
`);
freeTest("what a copy cannot hold is asked for beforehand, and nothing else", async () => {
  const fileFacts = { git: { index: false, history: false, knows: () => true } };
  const lists = { deny: [], except: [], repository: { reads: [] }, fileFacts };
  const asked: string[] = [];
  for (const line of [...BEFOREHAND, ...ON_COPY])
    if (whyNotOnCopy((await judgeLine(line, ROOT, lists)).simple) !== undefined) asked.push(line);
  deepEqual(asked, BEFOREHAND);
});

test("what git that only looks runs of its repository runs unasked on a copy, with no network", async (t) => {
  const zz = await project(t);
  fs.writeFileSync(join(zz.root, ".gitattributes"), "*.x filter=x\n");
  fs.writeFileSync(join(zz.root, "b.x"), "b\n");
  const clean = "sh -c 'echo x > .git/made; readlink /proc/self/ns/net >&2; cat'";
  const set = `git add b.x; git config core.hooksPath .husky; git config filter.x.clean "$1"; touch -d 2001-01-01 b.x`;
  shell(zz.root, set, clean);
  const { text } = await run(zz, "git status --short");
  match(text, /net:\[\d+\]\n/, "it ran");
  ok(!text.includes(fs.readlinkSync("/proc/self/ns/net")));
  deepEqual([zz.questions, fs.existsSync(join(zz.root, ".git/made"))], [[], false]);
});

const FAILED: [output: string, command: string, lack: object | undefined, lookups?: string[]][] = [
  ["curl: (6) Could not resolve host: example.com", "x", { hosts: ["example.com"] }],
  ["npm error request to https://r.org/x failed, reason: getaddrinfo EAI_AGAIN r.org", "x",
    { hosts: ["r.org"] }],
  ["HTTPSConnectionPool(host='pypi.org', port=443): Failed to resolve 'pypi.org'", "x",
    { hosts: ["pypi.org"] }],
  ["go: dial tcp: lookup proxy.golang.org on 10.0.0.1:53: x", "x", { hosts: ["proxy.golang.org"] }],
  ["Error: connect ENETUNREACH 1.1.1.1:53", "x", { hosts: ["1.1.1.1:53"] }],
  ["Temporary failure in name resolution", "x 'http://example.com/a'", { hosts: ["example.com"] }],
  ["Error: fetch failed", "x", { hosts: ["a.example"] }, ["a.example"]],
  ["3 of 4 failed", "x", undefined, ["a.example"]],
  ["fatal: Unable to create '/p/.git/index.lock': Read-only file system", "x", { direct: true }],
  ["Error: EROFS: read-only file system, open '/p/.git/hooks/x'", "x", { direct: true }],
  ["touch: cannot touch '/usr/x': Read-only file system", "x", undefined],
]; // biome-ignore format: a table
freeTest("what a failed command was refused is read in its output", () => {
  for (const [output, command, lack, lookups] of FAILED)
    deepEqual(findMissingAccess(command, output, "/nowhere", lookups), lack, output);
});

/** So that the words do not tell. */
const hide = (command: string): string =>
  `node -e 'require("child_process").execSync("${command}", { stdio: "inherit" })'`;

/** Says yes to the questions that these fit, and no to the others. */
const yesTo =
  (...fits: RegExp[]) =>
  async (question: string, keys?: string) => {
    if (!keys) return "";
    if (fits.some((one) => one.test(question))) return "y";
    return "n";
  };

test("a command that tried to reach a host is offered again with it, by one question", async (t) => {
  const command = `sh -c 'echo half > half; node -e "fetch(process.argv[1]).catch((e) => { console.error(e); process.exit(1) })" http://zz-nowhere.example'`;
  const zz = await project(t);
  const { text, refused } = await run(zz, command);
  equal(zz.questions.filter((one) => /to reach /.test(one)).length, 1, zz.questions.join("\n"));
  match(zz.questions[0]!, /to reach zz-nowhere\.example\./);
  const question =
    /It ran on a copy of the project, where it tried to reach 'zz-nowhere\.example'\. Run it again /;
  match(zz.questions[0]!, question);
  const answer =
    /It tried to reach 'zz-nowhere\.example'\. The person was asked to let it run again with that\. Refused/;
  match(text, answer);
  deepEqual(
    [refused, zz.read("half")],
    [true, undefined],
    "and what it had changed was asked for, and refused",
  );
});

test("in the sandbox a command is offered again with hosts that it lacks, beside those it had", async (t) => {
  const zz = await project(t, { answer: yesTo(/one\.example/, /to run /) });
  const command = "sh -c 'echo x >> ran; echo Could not resolve host: two.example; exit 6'";
  await run(zz, command, { hosts: ["one.example"] });
  equal(zz.read("ran"), "x\nx\n", zz.questions.join("\n"));
  match(zz.questions.at(-1)!, /to reach .*two\.example/);
  ok(zz.questions.length === 2 || zz.questions.length === 3, "and no third time");
});

/** Who looks a host up is heard where the C library asks a cache of names first. */
const lookUp = (host: string, says: string) =>
  `node -e "require('dns').lookup(process.argv[1], () => { require('fs').writeFileSync('half', 'x'); console.log(process.argv[2]); process.exit(7) })" ${host} '${says}'`;

test("of one that says nothing of it the model is told what it looked up, and nobody is asked", async (t) => {
  const zz = await project(t, { deny: { net: ["denied.example"] } });
  const { text } = await run(zz, lookUp("silent-nowhere.example", "3 of 4 failed"));
  ok(!zz.questions.some((one) => /to reach /.test(one)), zz.questions.join("\n"));
  match(
    text,
    /\[It looked up 'silent-nowhere\.example', and a copy has no network\. If it failed for that, call it /,
  );
  match(text, / again with hosts: \["silent-nowhere\.example"\]\.\]/);
  for (const host of ["denied.example", "localhost", "127.0.0.1", "a..b"])
    doesNotMatch((await run(zz, lookUp(host, "3 of 4 failed"))).text, /looked up/, host);
});

test("a command that failed on .git is offered again", async (t) => {
  const zz = await project(t, { answer: yesTo(/to run /) });
  const { text, failed } = await run(
    zz,
    hide("git branch by-a-script && git rev-parse --verify by-a-script"),
  );
  equal(zz.questions.length, 1, zz.questions.join("\n"));
  match(zz.questions[0]!, /It ran on a copy of the project, where it needed \.git/);
  equal(failed, false, text);
  match(shell(zz.root, "git branch"), /by-a-script/);
});

test("where nobody can be asked the model is told what to name", async (t) => {
  const zz = await project(t, { answer: "nobody" });
  const git = await run(zz, hide("git branch x"));
  match(
    git.text,
    /It needed \.git, which it can only read there, .* Call it again with direct: true\./,
  );
  const host = await run(zz, "sh -c 'echo Could not resolve host: a.example; exit 6'");
  match(host.text, /Call it again with hosts: \["a\.example"\]\./);
});

const SHOWN = [
  "cat /etc/os-release",
  "ls /usr/lib | head -2",
  "grep -rn one .",
  "grep -r secret-7731 . ; true",
];
test("what the system shows to every command is read unasked, and files of secrets are not there", async (t) => {
  const zz = await project(t);
  for (const command of [...SHOWN, "cat /proc/version"]) {
    const { text, refused } = await run(zz, command);
    equal(refused, undefined, `${command}: ${text}`);
    doesNotMatch(text, /KEY=/);
  }
  equal(zz.questions.length, 0, zz.questions.join("\n"));
  for (const command of ["cat .env", "cat /etc/shadow", "ls /tmp", "ls ~"]) await run(zz, command);
  equal(zz.questions.filter((one) => /Allow\?/.test(one)).length, 4, zz.questions.join("\n"));
});

test("commands on copies share a /tmp that nobody else sees", async (t) => {
  const zz = await project(t);
  const name = `/tmp/zz-ways-${process.pid}`;
  await run(zz, `echo kept > ${name}`);
  const { text } = await run(
    zz,
    `cat ${name}; env -i sh -c 'echo $XDG_CACHE_HOME'; echo $XDG_CACHE_HOME`,
  );
  match(text, /^kept\n\n\/tmp\/\.cache/);
  deepEqual([zz.questions, fs.existsSync(name)], [[], false]);
});

type Way = [line: string, way: string];
async function waysOf(where: Place, rows: Way[]): Promise<Way[]> {
  const { stdout } = await zz(where, ["--judge", "-"], {
    input: rows.map(([line]) => JSON.stringify(line)).join("\n"),
  });
  const said = lines(stdout).map((row) => JSON.parse(row));
  return said.map(({ way }, i) => [rows[i]![0], way]);
}

test("--judge says which way a command goes", async () => {
  const where = place();
  execFileSync("git", ["init", "-q", where.cwd]);
  const rows: Way[] = [
    ["ls", "unasked"],
    ["npm test", "copy"],
    ["rm -rf dist", "copy"],
    ["npm install x", "beforehand"],
    ["sudo ls", "never"],
  ];
  deepEqual(await waysOf(where, rows), rows);
  const { stdout } = await zz(where, ["--judge", "ls"]);
  match(stdout, /^allow: runs without a question: only reads\nruns: ls$/m);
  match(
    (await zz(where, ["--judge", "sudo ls"])).stdout,
    /^deny: never runs: sudo is on the deny list/,
  );
});

test("what names something outside that a copy hides never runs at once on one; others may", async () => {
  const where = place({ a: "one\n", "sub/": null, link: "->../other", "../other/file": "one\n" });
  const other = join(where.cwd, "..", "other");
  const rows: Way[] = [
    ["mkdir -p ../other/x", "beforehand"],
    [`npm test --config=${other}/file`, "beforehand"],
    ["rm link/file", "beforehand"],
    ["cd sub && mv ../../other/file .", "beforehand"],
    ["touch ~/.", "beforehand"],
    ["rm -rf ../other", "never"],
    ["mkdir -p /etc/zz/x", "copy"],
    ["touch sub/../b", "copy"],
    ["rm link", "copy"],
    ["sed -i s#/root#/home# a", "copy"],
    ["python3 /etc/hosts", "copy"],
    ["cd sub && touch ../a", "copy"],
  ];
  deepEqual(await waysOf(where, rows), rows);
});

test("in a worktree of a repository elsewhere git can look, and change nothing there", async (t) => {
  const zz = await harness({ own: true, answer: "nobody" }, t);
  const main = temporaryFolder("/var/tmp/zz-ways-");
  const commit = "git -c user.name=n -c user.email=e@x commit -q --allow-empty -m first";
  shell(main, `${INIT}; ${commit}; git worktree add -q "$1"`, zz.root);
  const config = fs.readFileSync(join(main, ".git/config"), "utf8");
  match((await run(zz, hide("git log --format=%s"))).text, /^first$/m);
  const { text } = await run(zz, hide("git config core.fsmonitor ./x"));
  match(text, /Call it again with direct: true/);
  await run(zz, `sh -c 'echo x > ${main}/.git/hooks/pre-commit; echo "gitdir: x" > .git; rm .git'`);
  equal(fs.readFileSync(join(main, ".git/config"), "utf8"), config);
  deepEqual(fs.readdirSync(join(main, ".git/hooks")), []);
  match(fs.readFileSync(join(zz.root, ".git"), "utf8"), /worktrees/);
});
