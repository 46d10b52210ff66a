// How a command is run: real commands in real process groups, those included that will not end.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { getEventListeners } from "node:events";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { programs } from "../../../kernel/system/other-programs.ts";
import { CLOCK } from "../../../kernel/text/clock.ts";
import { cleanEnv } from "../../../plugins/shell/command-variables.ts";
import type { ResourceCaps } from "../../../plugins/shell/end-processes.ts";
import { findSandbox } from "../../../plugins/shell/find-sandbox.ts";
import { MAX_FILE_BYTES, MAX_SHOWN_CHARS } from "../../../plugins/shell/keep-outputs.ts";
import { openSandbox } from "../../../plugins/shell/open-sandbox.ts";
import { unusedFifos } from "../../../plugins/shell/real-pipes.ts";
import { type CommandJob, type Outcome, runJob } from "../../../plugins/shell/run-process.ts";
import { outputForModel } from "../../../plugins/shell/shorten-output.ts";
import { type StandingClock, standingClock } from "../../../sdk/clock.ts";
import { tryTo } from "../../../sdk/text.ts";
import { temporaryFolder } from "../../support/files.ts";
import { needs } from "../../support/needs.ts";
import { some } from "../../support/runs.ts";
import { waitFor } from "../../support/wait.ts";

const base = temporaryFolder("zz-exec-");
const cwd = join(base, "project");
const keepIn = join(base, "kept");
fs.mkdirSync(cwd);

function run(command: string, more: Partial<CommandJob> = {}): Promise<Outcome> {
  const { signal } = new AbortController();
  const how = { programs: programs(cwd), clock: CLOCK, cwd, env: process.env, timeoutMs: 170_000 };
  return runJob({ ...how, command, signal, keepIn, ...more });
}

async function inBox(command: string, more: Partial<CommandJob> = {}, tmp?: string) {
  equal(await findSandbox(programs(cwd)), "bubblewrap");
  const limits = { programs: programs(cwd), root: cwd, write: [], hide: [], net: "none" as const };
  const sandbox = await openSandbox({ ...limits, ...(tmp && { tmp }) });
  return run(command, { ...more, sandbox }).finally(() => sandbox.close());
}

/** Processes of this machine whose command line holds a word. */
function alive(word: string): number {
  const lines = fs.readdirSync("/proc").map((pid) => {
    const line = tryTo(() => /^\d+$/.test(pid) && fs.readFileSync(`/proc/${pid}/cmdline`, "utf8"));
    return line ? line.split("\0") : [];
  });
  return lines.filter((words) => words.includes(word)).length;
}

let marks = 0;
/** A number that only one sleep of this machine is called with. */
const mark = () => `${50_000 + (process.pid % 10_000)}.${100 + marks++}`;

/** Makes a command wait until this line of it was heard: what two pipes hold at once has no
 * order. */
const untilHeard = (line: string) => `until [ -e heard-${line} ]; do sleep 0.01; done`;
const hear = (lines: string) => {
  for (const line of lines.split("\n"))
    if (/^\w+$/.test(line)) fs.writeFileSync(join(cwd, `heard-${line}`), "");
};

// biome-ignore format: one case a row.
const ENDS: [command: string, exit: number | null, end: RegExp][] = [
  ["echo hi; exit 3", 3, /^hi\n\[exit code 3 · \d\.\d s\]$/],
  ["kill -SEGV $$", null, /^\[killed by SIGSEGV · \d\.\d s\]$/],
  ["bash -c 'kill -SEGV $$'; exit $?", 139, /\[exit code 139, as after SIGSEGV · \d\.\d s\]$/],
  ["read -p 'Sure? ' x", 1, /^\[nobody can type into a command: .*-y.*\]\n\[exit code 1 /],
  ["read x </dev/tty", 1, /No such device or address\n\[nobody can type into a command: /],
  [`echo a | tee /dev/stderr > /dev/null; ${untilHeard("a")}; echo b > /dev/stdout`, 0, /^a\nb\n\[exit/],
  ["printf 'caf\\351 \\377\\n'", 0, /^caf\ufffd \ufffd\n\[not all of this is UTF-8: .*xxd.*\]\n\[exit code 0 /],
];
for (const [command, exit, end] of ENDS)
  test(`runJob() says how '${command}' ended`, async () => {
    const outcome = await run(command, { onTail: hear });
    match(outcome.text, end);
    equal(outcome.exit, exit);
  });

for (const why of [
  "No such file or directory",
  "Read-only file system",
  "Not a directory",
  "Permission denied",
])
  test(`runJob() starts again if a path that was to be covered is gone before the start: ${why}`, async () => {
    let starts = 0;
    // as of another user's folder
    const fails = `echo "bwrap: Can't mkdir parents for /var/tmp/gone/fifo: ${why}" >&2; exit 1`;
    const wrap = (argv: string[]) => ({ argv: starts++ ? argv : ["sh", "-c", fails], env: {} });
    const { exit, stdout } = await run("echo ran", {
      sandbox: { name: "bubblewrap", wrap, close() {} },
    });
    deepEqual([exit, stdout, starts], [0, "ran\n", 2]);
  });

test("runJob() keeps both outputs apart, and together in the order in which they came", async () => {
  const command = `for i in 1 2 3; do echo o$i; ${untilHeard("o$i")}; echo e$i >&2; ${untilHeard("e$i")}; done`;
  const outcome = await run(command, { onTail: hear });
  deepEqual([outcome.stdout, outcome.stderr, outcome.bytes], ["o1\no2\no3\n", "e1\ne2\ne3\n", 18]);
  match(outcome.text, /^o1\ne1\no2\ne2\no3\ne3\n\[exit code 0 /);
});

test("runJob() reads a character whose bytes come one by one", async () => {
  const outcome = await run('for b in 342 202 254; do printf "\\\\$b"; sleep 0.03; done; echo');
  match(outcome.text, /^€\n\[exit code 0 · \d\.\d s\]$/);
});

const SHOWN: [raw: string, shown: string][] = [
  ["a\r\nb\r\n", "a\nb\n"],
  ["10%\r50%\r100%\ndone", "100%\ndone"],
  ["long line\x1b[2K\rnew", "new"],
  ["abc\b\bX\n", "aXc\n"],
  ["\x1b[1;31mred\x1b[0m \x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    "red text link"],
  ["cut \x1b[3", "cut "],
]; // biome-ignore format: a table
test("asShown() makes of an output what a terminal would show", () => {
  for (const [raw, shown] of SHOWN) equal(outputForModel(raw), shown, JSON.stringify(raw));
});

test("asShown() shows the end of a long line that is written over and over", () => {
  const shown = outputForModel(
    `${"x".repeat(200_000)}${"\ry".repeat(100_000)}\n${"a\b".repeat(100_000)}`,
  );
  equal(shown, "y\na");
});

test("runJob() shows the head and the end of a long output, and keeps all of it in a file of the person alone", async () => {
  const outcome = await run(
    "for i in $(seq 20000); do echo \"line $i\"; done; printf '\\033[31mred\\377'",
  );
  ok(outcome.text.length <= MAX_SHOWN_CHARS, `${outcome.text.length} characters`);
  match(outcome.text, /^line 1\nline 2\n/);
  match(outcome.text, /\nline 20000\nred\ufffd\n\[not all/);
  const cut = /\n\[… (\d+) lines, (\d+) bytes left out; all of it is in (\S+)\]\n/;
  const [all, lines, bytes, file] = cut.exec(outcome.text)!;
  const [head, end] = outcome.text.split(all!);
  equal(file, outcome.file);
  const [last, next] = [head!.split("\n").at(-1)!, end!.split("\n")[0]!].map((line) =>
    Number(line.slice(5)),
  );
  equal(Number(lines), next! - last! - 1 + 1, "the break after the head counts as left out");
  ok(Number(bytes) > 100_000);
  ok(Math.abs(head!.length / (head!.length + end!.length) - 0.4) < 0.02);
  const kept = fs.readFileSync(outcome.file!);
  equal(kept.length, outcome.bytes);
  equal(
    kept.subarray(-9).toString("latin1"),
    "\x1b[31mred\xff",
    "the file has the bytes as they came",
  );
  equal(fs.statSync(outcome.file!).mode & 0o777, 0o600);
  equal(fs.statSync(keepIn).mode & 0o777, 0o700);
});

test("runJob() hides a secret before it cuts an output, so that no half of it is shown", async () => {
  const veil = (text: string) => text.replaceAll("secret".repeat(20), "[key]");
  for (const script of [
    "printf 'secret%.0s' $(seq 20)",
    "printf 'a%.0s' {1..7}; for i in {1..900}; do printf 'secret%.0s' {1..20}; done",
  ]) {
    const { text, stdout } = await run(script, { veil });
    match(text, /\[key\]/);
    doesNotMatch(text + stdout, /secret/);
  }
});

test("runJob() cuts one endless line, and says so when the rest cannot be kept", async () => {
  const blocked = join(base, "blocked");
  fs.writeFileSync(blocked, "");
  const outcome = await run("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end", {
    keepIn: blocked,
  });
  match(outcome.text, /x\n\[… 0 lines, 27\d+ bytes left out\]\nx/);
  match(
    outcome.text,
    /\nend\n\[the whole output could not be kept in '.*blocked': .*\]\n\[exit code 0 /,
  );
});

test("runJob() ends a command that prints for ever, and keeps no more than a file may hold", async () => {
  const outcome = await run("yes 'for ever'", { timeoutMs: 0 });
  match(
    outcome.text,
    /\n\[killed after [\d.]+ s: it printed more than 100 MB\. Let it print less, by head, grep or a/,
  );
  equal(fs.statSync(outcome.file!).size, MAX_FILE_BYTES);
  fs.rmSync(outcome.file!);
});

const freeTest = test;
const late = async (nap: string, clock: StandingClock, ms: number, many = 1) => {
  await waitFor("what it starts", () => alive(nap) === many);
  await clock.waits(ms);
  await clock.pass(ms);
};
for (const boxed of [false, true]) {
  const test = boxed ? needs("bwrap") : freeTest;
  const where = boxed ? "in the sandbox" : "without a sandbox";
  const here = boxed ? inBox : run;

  test(`runJob() ends a command that takes too long, and all that it started, ${where}`, async () => {
    const [nap, clock] = [mark(), standingClock()];
    const running = here(`sleep ${nap} & sleep ${nap} | sleep ${nap}`, { timeoutMs: 500, clock });
    await late(nap, clock, 500, 3);
    const outcome = await running;
    match(
      outcome.text,
      /^\[killed after 0\.5 s: it did not end by itself\. Give it a longer timeout_ms /,
    );
    deepEqual([outcome.timedOut, alive(nap)], [true, 0]);
  });

  test(`runJob() ends a command that ignores SIGTERM, ${where}`, async () => {
    const [nap, clock] = [mark(), standingClock()];
    const running = here(`trap '' TERM INT; echo on; while :; do sleep ${nap}; done`, {
      timeoutMs: 300,
      clock,
    });
    await late(nap, clock, 300);
    await clock.pass(2_000); // what it gets to end by itself
    const outcome = await running;
    match(outcome.text, /^on\n\[killed after 0\.3 s: /);
    deepEqual([alive(nap), outcome.ms], [0, 2_300]);
  });

  test(`runJob() lets a command clean up on SIGTERM, ${where}`, async () => {
    const [nap, clock] = [mark(), standingClock()];
    const running = here(`trap 'echo cleaned; exit 9' TERM; sleep ${nap} & wait`, {
      timeoutMs: 300,
      clock,
    });
    await late(nap, clock, 300);
    match((await running).text, /^cleaned\n\[killed after 0\.3 s: /);
  });

  test(`runJob() is interrupted, and leaves no listener, ${where}`, async () => {
    const nap = mark();
    const stop = new AbortController();
    const outcome = await here(`echo begun; sleep ${nap}`, {
      signal: stop.signal,
      onTail: () => stop.abort(),
    });
    match(outcome.text, /^begun\n\[interrupted\]$/);
    deepEqual(
      [outcome.aborted, alive(nap), getEventListeners(stop.signal, "abort").length],
      [true, 0, 0],
    );
  });

  test(`runJob() does not wait for a child that holds the output, ${where}`, async () => {
    const nap = mark();
    const outcome = await here(`sleep ${nap} & echo done`);
    match(outcome.text, /^done\n/);
    deepEqual([outcome.exit, alive(nap)], [0, 0]);
    if (!boxed)
      match(outcome.text, /\n\[processes that it left running were ended\. .*\]\n\[exit code 0 /);
  });
}

test("runJob() ends what was left running without an output, in a group of its own as well", async () => {
  const [nap, other] = [mark(), mark()];
  const outcome = await run(
    `sleep ${nap} >/dev/null 2>&1 & set -m; sleep ${other} >/dev/null 2>&1 & echo done`,
  );
  match(outcome.text, /^done\n\[processes that it left running were ended\. /);
  deepEqual([alive(nap), alive(other)], [0, 0]);
});

const QUIET = ">/dev/null 2>&1";
const UP = "until [ -e /tmp/upNAP ]; do sleep 0.01; done; rm /tmp/upNAP";
const LEFT: [what: string, command: string][] = [
  ["left its session and holds the output", "setsid sleep NAP &"],
  ["cleared its variables", `(env -i setsid sh -c '/bin/sleep NAP & exit' ${QUIET} &);`],
  ["left its session by a double fork",
    `(setsid sh -c 'sleep NAP & : > /tmp/upNAP' ${QUIET} &); ${UP};`],
  ["did so after the command had ended",
    `(setsid sh -c 'sleep 0.2; sleep NAP & exit' ${QUIET} &);`],
  ["ignores TERM", `(setsid sh -c 'trap "" TERM; sleep NAP; sleep NAP' ${QUIET} &);`],
]; // biome-ignore format: a table
for (const [what, command] of some(LEFT, 2))
  test(`runJob() ends a process that ${what}, and says so`, async () => {
    const nap = mark();
    const outcome = await run(`${command.replaceAll("NAP", nap)} echo done`);
    match(
      outcome.text,
      /^done\n\[processes that it left running were ended\. .*\]\n\[exit code [03] /,
    );
    equal(alive(nap), 0);
  });

test("runJob() ends nothing that is not the command's, though it is as near to its end", async (t) => {
  const other = spawn("/bin/sh", ["-c", "echo 699 > /proc/self/oom_score_adj; exec sleep 1000"], {
    stdio: "ignore",
  });
  t.after(() => other.kill("SIGKILL"));
  const score = () => fs.readFileSync(`/proc/${other.pid}/oom_score_adj`, "utf8").trim();
  await waitFor("it to be as near to its end", () => score() === "699");
  const second = run("until [ -e one-ended ]; do sleep 0.01; done; echo two");
  const first = await run("(setsid sleep 0.1 &) ; echo one");
  fs.writeFileSync(join(cwd, "one-ended"), "");
  deepEqual([first.stdout, (await second).stdout], ["one\n", "two\n"]);
  equal(other.exitCode ?? other.signalCode, null);
});

const TMP =
  /\[killed after .*: it wrote more than 48 MB to \/tmp\. Let it write less, or into the project\]$/;
const MEMORY =
  /\[killed after .*: it took more than 191 MB of memory\. Let it work in smaller parts\]$/;
const MANY =
  /\[killed after .*: it started more than 50 processes\. Let it start fewer at a time\]$/;
const FILL = "for i in 1 2 3 4 5 6 7 8 9; do head -c 20000000 /dev/zero > /tmp/$i; done; sleep 300";
const OPEN =
  "exec 3> /tmp/a 4> /tmp/b; rm /tmp/a /tmp/b; for i in 3 4; do head -c 40000000 /dev/zero >&$i; done";
// biome-ignore format: one case a row.
const OVER: [what: string, command: string, caps: Partial<ResourceCaps>, says: RegExp][] = [
  ["takes too much memory", `perl -e '$x = "x" x 300_000_000; sleep 300'`, { memory: 200e6 }, MEMORY],
  ["starts too many processes", "for i in $(seq 60); do sleep 300 & done; wait", { processes: 50 }, MANY],
  ["fills its /tmp", FILL, { tmp: 50e6 }, TMP],
  ["fills its /tmp with files that it deletes and holds open", `${OPEN}; sleep 300`, { tmp: 50e6 }, TMP],
];
for (const [what, command, caps, says] of OVER) {
  const test = command.includes("perl") ? needs("bwrap", "perl") : needs("bwrap");
  test(`runJob() ends a command that ${what}`, async () =>
    match((await inBox(command, { caps })).text, says));
}

const boxTest = needs("bwrap");
/** A checkout in /tmp shows there as a folder. */
const FILES_OF_TMP = "ls -p /tmp | grep -v -e / -e zz-";
boxTest(
  "runJob() counts what commands leave in a /tmp that they share, and others may remove it",
  async () => {
    const [caps, tmp] = [{ tmp: 50e6 }, join(base, "shared")];
    const part = (name: string) => `head -c 30000000 /dev/zero > /tmp/${name}`;
    match((await inBox(part("one"), { caps }, tmp)).text, /^\[exit code 0 /);
    const second = await inBox(`${part("two")}; sleep 300`, { caps }, tmp);
    match(
      second.text,
      /wrote more than 48 MB to \/tmp, with what earlier commands left there\. Let it write less/,
    );
    // looked at meanwhile
    match((await inBox(`sleep 1.1; ${FILES_OF_TMP}`, { caps }, tmp)).text, /^one\ntwo\n/);
    match((await inBox(`rm /tmp/one; sleep 1.1; ${FILES_OF_TMP}`, { caps }, tmp)).text, /^two\n/);
  },
);

// ── where long outputs lie ───────────────────────────────────────────────────────────────────────

const LONG = "seq 20000";
test("runJob() keeps no output behind a link, and touches nothing of what it leads to", async () => {
  const [theirs, link] = [join(base, "theirs"), join(base, "planted")];
  fs.mkdirSync(theirs);
  const old = join(theirs, "output-20200101000000-01234567.txt");
  for (const name of [old, join(theirs, "note")]) fs.writeFileSync(name, "theirs");
  for (const name of fs.readdirSync(theirs)) fs.utimesSync(join(theirs, name), 1, 1);
  fs.symlinkSync(theirs, link);
  const outcome = await run(LONG, { keepIn: link });
  const why =
    /\[the whole output could not be kept in '.*planted': it is not a folder but a link\. Remove it\]/;
  match(outcome.text, why);
  deepEqual(
    [outcome.file, fs.readdirSync(theirs).sort()],
    [undefined, ["note", "output-20200101000000-01234567.txt"]],
  );
});

test("runJob() cleans the folder of outputs of its own old ones only, and keeps it to the person", async () => {
  const folder = join(base, "old");
  fs.mkdirSync(folder, { mode: 0o777 });
  fs.chmodSync(folder, 0o777);
  const [old, young, other] = [
    "output-20200101000000-01234567.txt",
    "output-20200101000000-89abcdef.txt",
    "mine.txt",
  ];
  for (const name of [old, young, other]) fs.writeFileSync(join(folder, name), "x");
  fs.symlinkSync(join(folder, other), join(folder, "output-20200101000000-aaaaaaaa.txt"));
  for (const name of [old, other]) fs.utimesSync(join(folder, name), 1, 1);
  const { file } = await run(LONG, { keepIn: folder });
  equal(fs.statSync(folder).mode & 0o777, 0o700);
  const there = [old, young, other].map((name) => fs.existsSync(join(folder, name)));
  deepEqual([...there, fs.existsSync(file!)], [false, true, true, true]);
});

test("runJob() uses no folder of somebody else's", {
  skip: process.getuid!() !== 0 && "only root can make one",
}, async () => {
  const folder = join(base, "others");
  fs.mkdirSync(folder);
  fs.chownSync(folder, 12345, 12345);
  const outcome = await run(LONG, { keepIn: folder });
  match(outcome.text, /it belongs to somebody else\. Remove it\]/);
  deepEqual(fs.readdirSync(folder), []);
});

/** How many are open, without the pipes for later commands. */
const files = () => fs.readdirSync("/proc/self/fd").length - unusedFifos.length;

test("runJob() leaves no timer, listener, handle or open file behind", async () => {
  const { signal } = new AbortController();
  await run("true", { signal });
  equal(getEventListeners(signal, "abort").length, 0);
  const [before, handles] = [files(), process.getActiveResourcesInfo().length];
  for (const command of ["seq 100000", "sleep 9 & true", "exit 1"])
    await run(command, { onTail() {} });
  await waitFor("its files to be closed", () => files() === before);
  await waitFor(
    "its handles to be closed",
    () => process.getActiveResourcesInfo().length <= handles,
  );
});

test("runJob() shows the last lines as they change, ten times a second at most, without codes", async () => {
  const [seen, clock]: [string[], StandingClock] = [[], standingClock()];
  const next = (name: string) =>
    `until [ -e ${name} ]; do sleep 0.01; done; printf '\\r\\033[32m${name}%%'`;
  const onTail = (line: string) => seen.push(line);
  const running = run(`printf '10%%'; ${next("20")}; ${next("30")}; echo; echo`, { clock, onTail });
  await clock.waits(0);
  await clock.pass(0);
  fs.writeFileSync(join(cwd, "20"), "");
  await clock.waits(100);
  await clock.pass(99);
  deepEqual(seen, ["10%"]);
  await clock.pass(1);
  deepEqual(seen, ["10%", "20%"]);
  fs.writeFileSync(join(cwd, "30"), "");
  await running;
  deepEqual(seen, ["10%", "20%", "30%"], "the last ones at its end");
});

// biome-ignore format: one case a row.
const CANNOT: [what: string, job: Partial<CommandJob>, message: RegExp][] = [
  ["in a folder that is not there", { cwd: join(base, "gone") }, /^Cannot run a command in '.*gone': no such folder/],
  ["that is too long", { command: `: ${"x".repeat(200_000)}` }, /^Cannot run the command: it is too long\. /],
  ["that holds a NUL", { command: "echo \0" }, /^Cannot run the command: it holds a NUL character\. /],
];
for (const [what, job, message] of CANNOT)
  test(`runJob() says why it cannot run a command ${what}`, async () => {
    const before = files();
    const { signal } = new AbortController();
    await rejects(run("true", { signal, ...job }), { message });
    equal(getEventListeners(signal, "abort").length, 0);
    await waitFor("its files to be closed", () => files() === before);
  });

needs("bwrap")("runJob() hands on no file that zz was given open", async () => {
  const secret = join(base, "open.txt");
  fs.writeFileSync(secret, "s3cret-fd", { mode: 0o600 });
  const from = (name: string) => JSON.stringify(join(import.meta.dirname, "../../..", name));
  const code = `
    import { runJob } from ${from("plugins/shell/run-process.ts")};
    import { CLOCK as clock } from ${from("kernel/text/clock.ts")};
    import { programs as of } from ${from("kernel/system/other-programs.ts")};
    import { openSandbox } from ${from("plugins/shell/open-sandbox.ts")};
    const [root, keepIn, boxed] = process.argv.slice(2);
    const programs = of(root);
    const sandbox = boxed ? await openSandbox({ programs, root, write: [], hide: [], net: "none" }) : undefined;
    const how = { clock, programs, cwd: root, env: process.env, timeoutMs: 5000, signal: new AbortController().signal };
    const out = await runJob({ ...how, command: "cat <&9; cat <&100; echo end; ls -l /proc/self/fd", keepIn, sandbox });
    sandbox?.close();
    process.stdout.write(out.text);`;
  const file = join(base, "fd.ts");
  fs.writeFileSync(file, code);
  for (const boxed of ["", "boxed"]) {
    const line = `exec 9<${secret} 100<${secret}; cat /proc/self/fd/100; exec "$0" "$@"`;
    const out = execFileSync("bash", [
      "-c",
      line,
      process.execPath,
      file,
      cwd,
      keepIn,
      boxed,
    ]).toString();
    match(out, /^s3cret-fd(\S*bash: .*\n)?end\n/, "it is readable before, and not after");
    equal(out.split("s3cret-fd").length, 2);
    ok(!out.includes("open.txt"), out);
  }
});

const clean = (env: NodeJS.ProcessEnv, ...allowed: string[]) =>
  cleanEnv(env, (name) => allowed.includes(name));
const KEPT =
  "PATH PWD OLDPWD HOME LANG SSH_AUTH_SOCK GIT_ASKPASS NODE_OPTIONS COMPASS AUTHOR".split(" ");
const DROPPED =
  `OPENAI_API_KEY github_token AWS_SECRET_ACCESS_ID PGPASSWORD DB_PASSWD DB_PASS PASS MYSQL_PWD GPG_PASSPHRASE
  GOOGLE_APPLICATION_CREDENTIALS AZURE_DEVOPS_EXT_PAT NPM_CONFIG__AUTH SESSION_COOKIE DB_PW MYPASS BEARER CREDS OTP
  MNEMONIC`.split(/\s+/);
test("cleanEnv() drops a variable whose name says that it holds a secret, unless it is allowed", () => {
  const env = Object.fromEntries([...KEPT, ...DROPPED].map((name) => [name, "x"]));
  deepEqual(Object.keys(clean(env)), KEPT);
  deepEqual(clean(env, ...DROPPED), env);
});

const VALUES: [value: string, kept: boolean][] = [
  ["postgres://u:pw@h", false],
  ["https://x-access-token:ghs_0123456789abcdefghij@github.com/o/r", false],
  ["jdbc:postgresql://h/db?user=me&password=hunter2", false],
  ["host=h user=me password='hunter2'", false],
  ["DefaultEndpointsProtocol=https;AccountName=a;AccountKey=QUJDREVG==;", false],
  ["https://a.blob.core.windows.net/c?sv=2020&sig=abc%2Fdef", false],
  ['{"type":"service_account","private_key":"x y z"}', false],
  ["AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hz", false],
  ["Bearer abcdefghijklmnop", false],
  ["sk-proj-0123456789abcdefghij", false],
  ["sk_live_0123456789abcdef", false],
  ["github_pat_0123456789abcdefghij_x", false],
  ["npm_0123456789abcdefghijklmnopqrstuvwxyz", false],
  ["hf_abcdefghijklmnopqrstuvwxyz", false],
  ["SG.0123456789abcdefgh.0123456789abcdefgh", false],
  ["ghp_0123456789abcdefghijklmnopqrstuvwxyz", false],
  ["glpat-0123456789abcdefghij", false],
  ["AKIAIOSFODNN7EXAMPLE", false],
  ["ATATT3xFfGF0abcdefghijklmnop", false],
  ["sbp_0123456789abcdef0123456789abcdef01234567", false],
  ["dapi0123456789abcdef0123456789abcdef", false],
  ["glsa_0123456789abcdefghijklmnopqrstuv_1234", false],
  ["xoxb-123456789012-abcdef", false],
  ["https://hooks.slack.com/services/T0/B0/x", false],
  ["AIzaSyA0123456789abcdefghijklmnopqrstuvw", false],
  ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", false],
  ["-----BEGIN OPENSSH PRIVATE KEY-----\nabc", false],
  ["hvs.CAESIJ0123456789abcdefghij", false],
  ["http://localhost:8080/@scope/package", true],
  ["https://user@example.com/", true],
  ["rs=0:di=01;34:ln=01;36:*.tar=01;31", true],
  ["unix:path=/run/user/1000/bus,guid=0123456789abcdef0123456789abcdef", true],
  ["sk-short", true],
  ["%F{blue}%~%f $ ", true],
  ["task-0123456789abcdefghij", true],
];
test("cleanEnv() drops a variable whose value is a secret, unless it is allowed", () => {
  for (const [value, kept] of VALUES) {
    deepEqual(clean({ THING: value }), kept ? { THING: value } : {}, value);
    deepEqual(clean({ THING: value }, "THING"), { THING: value }, value);
  }
});

test("cleanEnv() drops what holds the value of a variable that was dropped", () => {
  const [value, env] = ["abcd-efgh-1234", { OTHER: "abcd", PIN_TOKEN: "1" }];
  const all = { ...env, API_KEY: value, COPY: value, PART: `--key ${value}` };
  deepEqual(clean({ ...all, ONE: "1" }), { OTHER: "abcd", ONE: "1" });
  deepEqual(clean(all, "API_KEY", "COPY").COPY, value);
});
