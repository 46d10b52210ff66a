// Ways out of a sandbox that are known from others: system calls, sockets, FIFOs, what uses up the
// machine.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { basename, join } from "node:path";
import { after, before, test as freeTest, type TestContext } from "node:test";
import { programs } from "../../kernel/system/other-programs.ts";
import { CLOCK } from "../../kernel/text/clock.ts";
import { tryTo } from "../../kernel/text/words.ts";
import { findSandbox } from "../../plugins/shell/find-sandbox.ts";
import { type Limits, openSandbox } from "../../plugins/shell/open-sandbox.ts";
import { type CommandJob, type Outcome, runJob } from "../../plugins/shell/run-process.ts";
import { seccompFilter } from "../../plugins/shell/seccomp.ts";
import { type Needed, needs, whyNot } from "../support/needs.ts";

const base = fs.realpathSync(fs.mkdtempSync("/var/tmp/zz-escape-"));
const [root, outside] = [join(base, "project"), join(base, "outside")];
const node = `'${process.execPath}'`;
const test = needs("bwrap");
const perlTest = needs("bwrap", "perl");
before(async () => {
  if (whyNot("bwrap")) return;
  equal(await findSandbox(programs("/")), "bubblewrap");
  for (const at of [root, outside]) fs.mkdirSync(at);
});
after(() => fs.rmSync(base, { recursive: true, force: true }));

function run(command: string, more: Partial<CommandJob> = {}): Promise<Outcome> {
  const signal = new AbortController().signal;
  const keepIn = join(base, "kept");
  const job = {
    programs: programs(root),
    clock: CLOCK,
    command,
    cwd: root,
    env: process.env,
    timeoutMs: 170_000,
  };
  return runJob({ ...job, signal, keepIn, ...more });
}

async function boxed(
  command: string,
  limits: Partial<Limits> = {},
  more: Partial<CommandJob> = {},
): Promise<Outcome> {
  const sandbox = await openSandbox({
    programs: programs(root),
    root,
    write: [],
    hide: [],
    net: "none",
    ...limits,
  });
  try {
    return await run(command, { ...more, sandbox });
  } finally {
    sandbox.close();
  }
}

// ── system calls ─────────────────────────────────────────────────────────────────────────────────

const x64 = process.arch === "x64";
const [EPERM, ENOSYS, EAFNOSUPPORT, EOPNOTSUPP] = [1, 38, 97, 95];
const CALLS: [what: string, x64: number, arm64: number, args: string, errno: number][] = [
  ["unshare a user namespace", 272, 97, "0x10000000", EPERM],
  ["unshare a time namespace", 272, 97, "0x80", EPERM],
  ["unshare with other flags beside", 272, 97, "0x10000200", EPERM],
  ["clone into a user namespace", 56, 220, "0x10000011, 0, 0, 0, 0", EPERM],
  ["clone3, whose flags cannot be looked at", 435, 435, "0, 0", ENOSYS],
  ["enter a namespace", 308, 268, "999, 0", EPERM],
  ["join a session keyring", 250, 219, "1, 0", EPERM],
  ["read the kernel's keyring", 250, 219, "6, -3, 0, 0", EPERM],
  ["add a key", 248, 217, '"user", "zz", "x", 1, -3', EPERM],
  ["ask for a key", 249, 218, '"user", "zz", 0, -3', EPERM],
  ["set up io_uring", 425, 425, "1, 0", ENOSYS],
  ["enter io_uring", 426, 426, "999, 0, 0, 0, 0, 0", ENOSYS],
  ["register with io_uring", 427, 427, "999, 0, 0, 0", ENOSYS],
  ["load a BPF program", 321, 280, "0, 0, 0", EPERM],
  ["count events of the processor", 298, 241, "0, 0, -1, -1, 0", EPERM],
  ["handle page faults itself", 323, 282, "0x7fffffff", EPERM],
  ["open a file by its handle", 304, 265, "-100, 0, 0", EPERM],
  ["ask for a file's handle", 303, 264, '-100, "/etc/passwd", 0, 0, 0', EOPNOTSUPP],
  ["load a kernel module", 313, 273, "-1, 0, 0", EPERM],
  ["load a kernel", 320, 294, "-1, -1, 0, 0, 0", EPERM],
  ["mount", 165, 40, "0, 0, 0, 0, 0", EPERM],
  ["open a file system", 430, 430, "0, 0", EPERM],
  ["open a mount", 428, 428, "-1, 0, 0", EPERM],
  ["move a mount", 429, 429, "-1, 0, -1, 0, 0", EPERM],
  ["change a mount", 442, 442, "-1, 0, 0, 0, 0", EPERM],
  ["pivot the root", 155, 41, "0, 0", EPERM],
  ["unmount", 166, 39, "0, 0", EPERM],
  ["read the kernel's log", 103, 116, "10, 0, 0", EPERM],
  ["type into a terminal", 16, 29, '0, 0x5412, "x"', EPERM],
  ["type into a terminal by a longer number", 16, 29, '0, 0x100005412, "x"', EPERM],
  ["paste into a console", 16, 29, '0, 0x541c, "x"', EPERM],
  ["make a socket to the machine that holds this one", 41, 198, "40, 1, 0", EAFNOSUPPORT],
  ["make a socket of the kernel's ciphers", 41, 198, "38, 5, 0", EAFNOSUPPORT],
  ["make a socket of no known kind", 41, 198, "77, 1, 0", EAFNOSUPPORT],
  ["make what is read run as well", 135, 92, "0x0400000", EPERM],
];
/** Prints the number of the error; 0 where there is none. */
const perl = (number: number, args: string) =>
  `perl -e 'my @a = (${args}); $! = 0; my $r = syscall(${number}, @a); print $r < 0 ? $! + 0 : 0, "\\n"'`;
/** What each of them prints in the sandbox, and outside of it: all in one command, each in a
 * process of its own. */
perlTest("a sandboxed command has none of the system calls that lead out", async () => {
  const command = CALLS.map(([, one, other, args]) => perl(x64 ? one : other, args)).join("; ");
  const [free, held] = [await run(command), await boxed(command)].map(({ stdout }) =>
    stdout.trimEnd().split("\n"),
  );
  const expected = CALLS.map(([what, , , , errno]) => [what, errno]);
  const found = held!.map((errno, i) => [CALLS[i]![0], Number(errno)]);
  deepEqual(found, expected);
  const alike = /load a BPF|clone3|of no known kind|open a mount|type|paste|ciphers/;
  if (process.getuid?.() === 0)
    for (const [i, [what, , , , errno]] of CALLS.entries())
      ok(
        alike.test(what) || Number(free![i]) !== errno,
        `without a sandbox it is another answer: ${what}`,
      );
});

if (x64)
  perlTest(
    "a sandboxed command has no system calls of the kind x32, of those that it refuses neither",
    async () => {
      for (const number of [0x40000000 + 39, 0x40000000 + 250])
        equal((await boxed(perl(number, ""))).stdout, `${ENOSYS}\n`);
    },
  );

needs("bwrap", "gcc")(
  "a sandboxed command has no system calls of 32 bits",
  { skip: !x64 && "these are calls of x64" },
  async () => {
    // getpid, by the old gate: from a program of 64 bits, so that no libraries of 32 bits are
    // needed.
    const code = `#include <stdio.h>
    int main() { int r; __asm__ volatile ("int $0x80" : "=a"(r) : "a"(20) : "memory"); printf("%d\\n", r); return 0; }`;
    fs.writeFileSync(join(root, "old.c"), code);
    execFileSync("gcc", ["-o", join(root, "old"), join(root, "old.c")]);
    // some virtual machines end a program at such a call
    const { stdout: free } = await run("./old");
    equal((await boxed("./old")).stdout, free && `-${ENOSYS}\n`);
  },
);

freeTest("filter() knows no machine but those whose calls it was made for", () => {
  equal(seccompFilter({ machine: "riscv64" }), undefined);
  for (const machine of ["x64", "arm64"]) {
    const bytes = seccompFilter({ machine })!;
    equal(bytes.length % 8, 0);
    for (let at = 0; at < bytes.length; at += 8) {
      const longest = ![0x15, 0x35, 0x45].includes(bytes.readUInt16LE(at))
        ? 0
        : Math.max(bytes[at + 2]!, bytes[at + 3]!);
      ok(
        at + 8 * (longest + 1) < bytes.length || at + 8 === bytes.length,
        `${machine}: a jump out of the program`,
      );
    }
    equal(bytes.readUInt32LE(bytes.length - 4), 0x7fff0000);
  }
});

// ── sockets and FIFOs ────────────────────────────────────────────────────────────────────────────

// biome-ignore format: one case a row.
const SOCKETS: [what: string, cwd: string, at: string, found: string, then?: string][] = [
  ["bound by a relative path outside", outside, "one", join(outside, "one")],
  ["bound by a path with dots", root, "../outside/three", join(outside, "three")],
  ["bound in the project, and moved", root, join(root, "four"), join(root, "five"), "fs.renameSync('four', 'five')"],
  ["bound in the project, and linked", root, join(root, "six"), join(root, "seven"), "fs.linkSync('six', 'seven')"],
  ["bound by a relative path, by who went elsewhere", outside, "eight", join(outside, "eight"), "process.chdir('/')"],
  ["bound in a folder that its program has open", outside, "/proc/self/fd/OPEN/nine", join(outside, "nine")],
];
/** A program outside that listens at all of them, each by its path as it is given, in a folder. */
async function listening(): Promise<() => void> {
  const code = `process.on("message", ([cwd, at, then]) => {
    process.chdir(cwd);
    const name = at.replace("OPEN", () => require("fs").openSync("."));
    require("net").createServer((s) => s.end("reached")).listen(name, () => process.send(eval(then) ?? 0));
  });`;
  const child = spawn(process.execPath, ["-e", code], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  for (const [, cwd, at, , then = "0"] of SOCKETS) {
    child.send([cwd, at, then]);
    await once(child, "message");
  }
  return () => void child.kill("SIGKILL");
}
test("a sandboxed command cannot connect to a socket of a program outside, wherever it lies", async (t) => {
  t.after(await listening());
  const code = `for (const at of process.argv.slice(1))
    require("net").connect(at).on("error", (e) => console.log(at, e.code)).on("data", (d) => console.log(at, d + ""))`;
  const all = `(cd /; ${node} -e '${code}' ${SOCKETS.map(([, , , found]) => found).join(" ")})`;
  equal((await run(all)).stdout.match(/ reached$/gm)?.length, SOCKETS.length);
  for (const limits of [{}, { net: "all" }, { readonly: true }] as const) {
    const { stdout } = await boxed(all, limits);
    const refused = stdout.match(/ (ECONNREFUSED|EACCES|ENOENT|EAFNOSUPPORT)$/gm);
    deepEqual([refused?.length, stdout.includes("reached")], [SOCKETS.length, false], stdout);
  }
  for (const [, , , found] of SOCKETS) fs.rmSync(found, { force: true });
});

/** A program outside that says `on` once it listens, and then what it heard. */
async function hearing(t: TestContext, program: string, args: string[]): Promise<() => string> {
  const child = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => tryTo(() => process.kill(-child.pid!, "SIGKILL")));
  let heard = "";
  child.stdout.on("data", (text) => (heard += text));
  await once(child.stdout, "data");
  return () => heard;
}

perlTest("a sandboxed command cannot send to a socket that takes datagrams", async (t) => {
  const at = join(outside, "log");
  const code = `use Socket; socket(S, AF_UNIX, SOCK_DGRAM, 0); bind(S, pack_sockaddr_un("${at}")); $| = 1; print "on\\n"; recv(S, $x, 9, 0); print $x`;
  const heard = await hearing(t, "perl", ["-e", code]);
  const send = `perl -e 'use Socket; socket(S, AF_UNIX, SOCK_DGRAM, 0); print send(S, "reached", 0, pack_sockaddr_un("${at}")) ? "sent" : "not"'`;
  match((await boxed(send)).stdout, /^not/);
  equal(heard(), "on\n");
  match((await run(send)).stdout, /^sent/);
});

/** Of 150 processes with as many open files as are looked at of each. */
const CROWD =
  'for fd in {4..14}; do eval "exec $fd</dev/null"; done; for i in {1..150}; do sleep 99 & done; echo on; wait';
for (const [folder, words] of [
  [outside, "on a busy machine"],
  [root, ""],
] as const)
  test(
    `a sandboxed command cannot write to a FIFO in ${basename(folder)} that a program reads ${words}`.trimEnd(),
    async (t) => {
      if (words) await hearing(t, "bash", ["-c", CROWD]);
      const at = join(folder, "fifo");
      execFileSync("mkfifo", [at]);
      t.after(() => fs.rmSync(at));
      const heard = await hearing(t, "bash", [
        "-c",
        `exec 3<>'${at}'; echo on; read -r x <&3; echo "$x"`,
      ]);
      const write = `bash -c 'echo reached > ${at}'`;
      ok((await boxed(`timeout 2 ${write}`)).exit !== 0);
      equal(heard(), "on\n");
      equal((await run(write)).exit, 0);
    },
  );

// ── what real work needs ─────────────────────────────────────────────────────────────────────────

const OWN = `require("net").createServer((s) => s.end("own")).listen("s", () => require("net").connect("s").on("data", (d) => { console.log(d + ""); process.exit() }))`;
for (const [what, command, says, ...programs] of [
  ["use sockets of its own", `${node} -e '${OWN}'; rm -f s`, /^own\n/],
  ["use a FIFO of its own", "mkfifo p; (echo through > p &); cat p; rm p",
    /^through\n\[exit code 0/],
  ["trace its own", "strace -f -o t.txt true && grep -c execve t.txt", /^1\n/, "strace"],
] as [string, string, RegExp, ...Needed[]][]) // biome-ignore format: a table
  needs("bwrap", ...programs)(`a sandboxed command can ${what}`, async () =>
    match((await boxed(command)).text, says),
  );

test("a sandboxed command has limits: no core file, a size of files, a number of processes", async () => {
  const { stdout } = await boxed(
    "ulimit -c; ulimit -f; ulimit -u; cat /proc/self/oom_score_adj; df -B1 --output=size /dev/shm | tail -1",
  );
  const [core, size, count, score, memory] = stdout.trim().split("\n").map(Number);
  deepEqual([core, size, score, memory], [0, 10 * 1024 * 1024, 1000, 1 << 30]);
  ok(count! <= 8192);
});

test("a sandboxed command cannot fill the machine's memory by files in it", async () => {
  const { text } = await boxed(
    "for d in /dev /dev/pts /run /proc /sys; do touch $d/x; done; head -c 1100000000 /dev/zero > /dev/shm/x",
  );
  equal(text.match(/touch: /g)?.length, 5);
  match(text, /No space left on device/);
});
