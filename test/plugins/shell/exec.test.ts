// How a command is run: real commands in real process groups, those included that will not end.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { getEventListeners } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Job, Outcome } from "../plugins/shell/exec.ts";
import { asShown, cleanEnv, FILE_MOST, MOST, runJob } from "../plugins/shell/exec.ts";
import type { Sandbox } from "../plugins/shell/sandbox.ts";
import { findSandbox, openSandbox } from "../plugins/shell/sandbox.ts";

const base = mkdtempSync(join(tmpdir(), "zz-exec-"));
after(() => rmSync(base, { recursive: true, force: true }));
const cwd = join(base, "project");
const keepIn = join(base, "kept");
mkdirSync(cwd);

function run(command: string, more: Partial<Job> = {}): Promise<Outcome> {
  const signal = new AbortController().signal;
  return runJob({ command, cwd, env: process.env, timeoutMs: 20_000, signal, keepIn, ...more });
}

async function box(): Promise<Sandbox> {
  equal(await findSandbox(), "bubblewrap", "This test needs a sandbox: apt-get install bubblewrap.");
  return openSandbox({ root: cwd, write: [], hide: [], net: "none" });
}

/** Processes of this machine whose command line holds a word. */
function alive(word: string): number {
  const lines = readdirSync("/proc").map((pid) => {
    try {
      return /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0") : [];
    } catch {
      return [];
    }
  });
  return lines.filter((words) => words.includes(word)).length;
}

let marks = 0;
/** A number that only one sleep of this machine is called with. */
const mark = () => `${50_000 + (process.pid % 10_000)}.${100 + marks++}`;

const ENDS: [command: string, exit: number | null, end: RegExp][] = [
  ["true", 0, /^\[exit code 0 · \d\.\d s\]$/],
  ["echo hi; exit 3", 3, /^hi\n\[exit code 3 · \d\.\d s\]$/],
  ["kill -SEGV $$", null, /^\[killed by SIGSEGV · \d\.\d s\]$/],
  ["bash -c 'kill -SEGV $$'; exit $?", 139, /\[exit code 139, as after SIGSEGV · \d\.\d s\]$/],
  ["no-such-program-anywhere", 127, /not found\n\[exit code 127 · /],
  ["printf 'no end'", 0, /^no end\n\[exit code 0 /],
  ['read x; echo "got $?"; cat', 0, /^got 1\n\[exit code 0 /],
  ["read -p 'Sure? ' x", 1, /^\[nobody can type into a command: .*-y.*\]\n\[exit code 1 /],
  ["read x </dev/tty", 1, /No such device or address\n\[nobody can type into a command: /],
  ["echo a | tee /dev/stderr > /dev/null; sleep 0.1; echo b > /dev/stdout", 0, /^a\nb\n\[exit/],
  [
    "printf 'caf\\351 \\377\\376\\n'",
    0,
    /^caf\ufffd \ufffd\ufffd\n\[not all of this is UTF-8: .*xxd.*\]\n\[exit code 0 /,
  ],
];
for (const [command, exit, end] of ENDS)
  test(`runJob() says how '${command}' ended`, async () => {
    const outcome = await run(command);
    match(outcome.text, end);
    equal(outcome.exit, exit);
  });

test("runJob() keeps both outputs apart, and together in the order in which they came", async () => {
  const outcome = await run("for i in 1 2 3; do echo o$i; sleep 0.03; echo e$i >&2; sleep 0.03; done");
  equal(outcome.stdout, "o1\no2\no3\n");
  equal(outcome.stderr, "e1\ne2\ne3\n");
  match(outcome.text, /^o1\ne1\no2\ne2\no3\ne3\n\[exit code 0 /);
  equal(outcome.bytes, 18);
});

test("runJob() reads a character whose bytes come one by one", async () => {
  const outcome = await run('for b in 342 202 254; do printf "\\\\$b"; sleep 0.03; done; echo');
  match(outcome.text, /^€\n\[exit code 0 · \d\.\d s\]$/);
});

const SHOWN: [raw: string, shown: string][] = [
  ["plain\n", "plain\n"],
  ["a\r\nb\r\n", "a\nb\n"],
  ["10%\r50%\r100%\ndone", "100%\ndone"],
  ["long line\rshort", "shortline"],
  ["long line\r\x1b[Kshort", "short"],
  ["long line\x1b[2K\rnew", "new"],
  ["abc\b\bX\n", "aXc\n"],
  ["\x1b[1;31mred\x1b[0m \x1b]0;title\x07text \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "red text link"],
  ["bell\x07 nul\0 tab\t\x9b31m\x7f", "bell nul tab\t31m"],
  ["cut \x1b[3", "cut "],
];
for (const [raw, shown] of SHOWN)
  test(`asShown() makes ${JSON.stringify(shown)} of ${JSON.stringify(raw)}`, () => equal(asShown(raw), shown));

test("asShown() takes no time over a long line that is written over and over", () => {
  const began = performance.now();
  asShown(`${"x".repeat(200_000)}${"\ry".repeat(100_000)}\n${"a\b".repeat(100_000)}`);
  ok(performance.now() - began < 1_000);
});

test("runJob() shows the head and the end of a long output, and keeps all of it in a file of the person alone", async () => {
  const outcome = await run("for i in $(seq 20000); do echo \"line $i\"; done; printf '\\033[31mred\\377'");
  ok(outcome.text.length <= MOST, `${outcome.text.length} characters`);
  match(outcome.text, /^line 1\nline 2\n/);
  match(outcome.text, /\nline 20000\nred\ufffd\n\[not all/);
  const [all, lines, bytes, file] = /\n\[… (\d+) lines, (\d+) bytes left out; all of it is in (\S+)\]\n/.exec(
    outcome.text,
  )!;
  const [head, end] = outcome.text.split(all!);
  equal(file, outcome.file);
  const [last, next] = [head!.split("\n").at(-1)!, end!.split("\n")[0]!].map((line) => Number(line.slice(5)));
  equal(Number(lines), next! - last! - 1 + 1, "the break after the head counts as left out");
  ok(Number(bytes) > 100_000);
  ok(Math.abs(head!.length / (head!.length + end!.length) - 0.4) < 0.02);
  const kept = readFileSync(outcome.file!);
  equal(kept.length, outcome.bytes);
  equal(kept.subarray(-9).toString("latin1"), "\x1b[31mred\xff", "the file has the bytes as they came");
  equal(statSync(outcome.file!).mode & 0o777, 0o600);
  equal(statSync(keepIn).mode & 0o777, 0o700);
});

test("runJob() keeps no file of what is shown whole", async () => {
  const folder = join(base, "none");
  const outcome = await run("for i in $(seq 5000); do printf '\\033[1;31m\\033[0m'; done; seq 100", { keepIn: folder });
  ok(outcome.bytes > MOST, "the codes alone are more than the model is shown");
  equal(outcome.file, undefined);
  match(outcome.text, /^1\n2\n/);
  deepEqual(readdirSync(folder), []);
});

test("runJob() cuts one endless line, and says so when the rest cannot be kept", async () => {
  const blocked = join(base, "blocked");
  writeFileSync(blocked, "");
  const outcome = await run("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end", { keepIn: blocked });
  match(outcome.text, /x\n\[… 0 lines, 27\d+ bytes left out\]\nx/);
  match(outcome.text, /\nend\n\[the whole output could not be kept in '.*blocked': .*\]\n\[exit code 0 /);
});

test("runJob() ends a command that prints for ever, within bounds of memory and disk", async () => {
  const before = process.memoryUsage().rss;
  const outcome = await run("yes 'for ever'");
  match(
    outcome.text,
    /\n\[killed after \d\.\d s: it printed more than 100 MB\. Let it print less, by head, grep or a file\]$/,
  );
  equal(statSync(outcome.file!).size, FILE_MOST);
  ok(process.memoryUsage().rss - before < 150e6, `${(process.memoryUsage().rss - before) / 1e6} MB`);
  rmSync(outcome.file!);
});

for (const boxed of [false, true]) {
  const where = boxed ? "in the sandbox" : "without a sandbox";
  const here = async (command: string, more: Partial<Job> = {}) => {
    const sandbox = boxed ? await box() : undefined;
    try {
      return await run(command, { ...more, ...(sandbox && { sandbox }) });
    } finally {
      sandbox?.close();
    }
  };

  test(`runJob() ends a command that takes too long, and all that it started, ${where}`, async () => {
    const nap = mark();
    const outcome = await here(`sleep ${nap} & sleep ${nap} | sleep ${nap}`, { timeoutMs: 500 });
    match(outcome.text, /^\[killed after 0\.5 s: it did not end by itself\. Give it a longer timeout_ms /);
    equal(outcome.timedOut, true);
    equal(alive(nap), 0);
    ok(outcome.ms < 2_000, `${outcome.ms} ms`);
  });

  test(`runJob() ends a command that ignores SIGTERM, ${where}`, async () => {
    const nap = mark();
    const outcome = await here(`trap '' TERM INT; echo on; while :; do sleep ${nap}; done`, { timeoutMs: 300 });
    match(outcome.text, /^on\n\[killed after 0\.3 s: /);
    equal(alive(nap), 0);
    ok(outcome.ms > 2_000 && outcome.ms < 4_000, `${outcome.ms} ms`);
  });

  test(`runJob() lets a command clean up on SIGTERM, ${where}`, async () => {
    const outcome = await here("trap 'echo cleaned; exit 9' TERM; sleep 30 & wait", { timeoutMs: 300 });
    match(outcome.text, /^cleaned\n\[killed after 0\.3 s: /);
    ok(outcome.ms < 2_000, `${outcome.ms} ms`);
  });

  test(`runJob() is interrupted, and leaves no listener, ${where}`, async () => {
    const nap = mark();
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    const outcome = await here(`echo begun; sleep ${nap}`, { signal: stop.signal });
    match(outcome.text, /^begun\n\[interrupted\]$/);
    equal(outcome.aborted, true);
    equal(alive(nap), 0);
    equal(getEventListeners(stop.signal, "abort").length, 0);
  });

  test(`runJob() does not wait for a child that holds the output, ${where}`, async () => {
    const nap = mark();
    const outcome = await here(`sleep ${nap} & echo done`);
    match(outcome.text, /^done\n/);
    equal(outcome.exit, 0);
    equal(alive(nap), 0);
    ok(outcome.ms < 3_000, `${outcome.ms} ms`);
    if (!boxed) match(outcome.text, /\n\[processes that it left running were ended\. .*\]\n\[exit code 0 /);
  });

  test(`runJob() lets a command start, use and stop a server of its own, ${where}`, async () => {
    const code =
      'require("http").createServer((_, r) => r.end("served")).listen(0, "127.0.0.1", function () { console.log(this.address().port) })';
    const outcome = await here(
      `'${process.execPath}' -e '${code}' > port & sleep 0.5; curl -s http://127.0.0.1:$(cat port); kill %1`,
    );
    match(outcome.text, /^served\n\[exit code 0 /);
  });
}

test("runJob() ends what was left running without an output, in a group of its own as well", async () => {
  const [nap, other] = [mark(), mark()];
  const outcome = await run(`sleep ${nap} >/dev/null 2>&1 & set -m; sleep ${other} >/dev/null 2>&1 & echo done`);
  match(outcome.text, /^done\n\[processes that it left running were ended\. /);
  deepEqual([alive(nap), alive(other)], [0, 0]);
});

test("runJob() does not hang on a process that left its session and holds the output", async () => {
  const nap = mark();
  const outcome = await run(`setsid sleep ${nap} & echo done`);
  match(outcome.text, /^done\n\[a process that left the command's group still holds its output, and may be running\]/);
  ok(outcome.ms < 5_000, `${outcome.ms} ms`);
  execFileSync("pkill", ["-f", `^sleep ${nap.replace(".", "\\.")}$`]);
});

test("runJob() does not start when it is interrupted already", async () => {
  const outcome = await run("touch started", { signal: AbortSignal.abort() });
  deepEqual([outcome.text, outcome.aborted, existsSync(join(cwd, "started"))], ["[interrupted]", true, false]);
});

test("runJob() leaves no timer, listener, handle or open file behind", async () => {
  const { signal } = new AbortController();
  await run("true", { signal });
  equal(getEventListeners(signal, "abort").length, 0);
  const files = () => readdirSync("/proc/self/fd").length;
  const [before, handles] = [files(), process.getActiveResourcesInfo().length];
  for (const command of ["seq 100000", "sleep 9 & true", "exit 1"]) await run(command, { onTail() {} });
  await new Promise((resolve) => setTimeout(resolve, 50));
  equal(files(), before);
  const now = process.getActiveResourcesInfo();
  ok(now.length <= handles, now.join());
});

test("runJob() shows the last line as it changes, ten times a second at most, without codes", async () => {
  const seen: string[] = [];
  const outcome = await run("for i in $(seq 100); do printf '\\r\\033[32m%d%%' $i; sleep 0.01; done; echo; echo", {
    onTail: (line) => seen.push(line),
  });
  ok(seen.length >= 5 && seen.length <= outcome.ms / 100 + 2, `${seen.length} lines in ${outcome.ms} ms`);
  for (const line of seen) match(line, /^\d+%$/);
  equal(seen.at(-1), "100%");
});

const CANNOT: [what: string, job: Partial<Job>, message: RegExp][] = [
  [
    "in a folder that is not there",
    { cwd: join(base, "gone") },
    /^Cannot run a command in '.*gone': no such folder\. Choose another one\.$/,
  ],
  [
    "with a shell that is not there",
    { shell: "/bin/no-shell" },
    /^Cannot run '\/bin\/no-shell': it is not installed, or not in PATH\. /,
  ],
  [
    "that is too long",
    { command: `: ${"x".repeat(200_000)}` },
    /^Cannot run the command: it is too long\. Write it to a file and run that\.$/,
  ],
  [
    "that holds a NUL",
    { command: "echo \0" },
    /^Cannot run the command: it holds a NUL character\. Write it without\.$/,
  ],
];
for (const [what, job, message] of CANNOT)
  test(`runJob() says why it cannot run a command ${what}`, async () => {
    const before = readdirSync("/proc/self/fd").length;
    const { signal } = new AbortController();
    await rejects(run("true", { signal, ...job }), { message });
    equal(getEventListeners(signal, "abort").length, 0);
    await new Promise((resolve) => setTimeout(resolve, 20));
    equal(readdirSync("/proc/self/fd").length, before);
  });

for (const boxed of [false, true])
  test(`runJob() hands on no file that zz was given open${boxed ? ", in the sandbox neither" : ""}`, async () => {
    if (boxed) (await box()).close();
    const secret = join(base, "open.txt");
    writeFileSync(secret, "s3cret-fd");
    chmodSync(secret, 0o600);
    const code = `
      import { runJob } from ${JSON.stringify(join(import.meta.dirname, "../plugins/shell/exec.ts"))};
      import { openSandbox } from ${JSON.stringify(join(import.meta.dirname, "../plugins/shell/sandbox.ts"))};
      const sandbox = ${boxed ? `await openSandbox({ root: ${JSON.stringify(cwd)}, write: [], hide: [], net: "none" })` : "undefined"};
      const out = await runJob({ command: "cat <&9; cat <&100; echo end; ls -l /proc/self/fd", cwd: ${JSON.stringify(cwd)}, env: process.env,
        timeoutMs: 5000, signal: new AbortController().signal, keepIn: ${JSON.stringify(keepIn)}, sandbox });
      sandbox?.close();
      process.stdout.write(out.text);`;
    const file = join(base, `fd-${boxed}.ts`);
    writeFileSync(file, code);
    const out = execFileSync("bash", [
      "-c",
      `exec 9<${secret} 100<${secret}; cat /proc/self/fd/100; exec '${process.execPath}' ${file}`,
    ]).toString();
    match(out, /^s3cret-fd(bash: .*\n)?end\n/, "it is readable before, and not after");
    equal(out.split("s3cret-fd").length, 2);
    ok(!out.includes("open.txt"), out);
  });

const NAMES: [name: string, kept: boolean][] = [
  ["PATH", true],
  ["PWD", true],
  ["OLDPWD", true],
  ["HOME", true],
  ["LANG", true],
  ["SSH_AUTH_SOCK", true],
  ["GIT_ASKPASS", true],
  ["NODE_OPTIONS", true],
  ["COMPASS", true],
  ["AUTHOR", true],
  ["OPENAI_API_KEY", false],
  ["github_token", false],
  ["AWS_SECRET_ACCESS_ID", false],
  ["PGPASSWORD", false],
  ["DB_PASSWD", false],
  ["DB_PASS", false],
  ["PASS", false],
  ["MYSQL_PWD", false],
  ["GPG_PASSPHRASE", false],
  ["GOOGLE_APPLICATION_CREDENTIALS", false],
  ["AZURE_DEVOPS_EXT_PAT", false],
  ["NPM_CONFIG__AUTH", false],
  ["SESSION_COOKIE", false],
];
for (const [name, kept] of NAMES)
  test(`cleanEnv() ${kept ? "keeps" : "drops"} ${name}`, () => {
    deepEqual(
      cleanEnv({ [name]: "x" }, () => false),
      kept ? { [name]: "x" } : {},
    );
    deepEqual(
      cleanEnv({ [name]: "x" }, (one) => one === name),
      { [name]: "x" },
    );
  });

test("runJob() gives the command the variables of its job and no others", async () => {
  process.env.ZZ_TEST_TOKEN = "s3cret-env";
  const outcome = await run("env; cat /proc/self/environ", { env: cleanEnv(process.env, () => false) });
  delete process.env.ZZ_TEST_TOKEN;
  ok(outcome.text.includes("PATH=") && !outcome.text.includes("s3cret-env"));
});
