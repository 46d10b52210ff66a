// What a sandboxed command cannot do: each row is a real command that tries. And what it still can.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test as freeTest } from "node:test";
import { credentials } from "../../../kernel/gate/secret-files.ts";
import { programs } from "../../../kernel/system/other-programs.ts";
import { CLOCK } from "../../../kernel/text/clock.ts";
import { findSandbox } from "../../../plugins/shell/find-sandbox.ts";
import { isPrivate, judgeHost, parseHost } from "../../../plugins/shell/host-proxy.ts";
import { type Limits, openSandbox, type Sandbox } from "../../../plugins/shell/open-sandbox.ts";
import { type CommandJob, type Outcome, runJob } from "../../../plugins/shell/run-process.ts";
import { tryTo } from "../../../sdk/text.ts";
import { needs, whyNot } from "../../support/needs.ts";
import { withEnvironment } from "../../support/run.ts";
import { some } from "../../support/runs.ts";
import { stripped } from "../../support/stripped.ts";
import { together } from "../../support/together.ts";

// Not in /tmp: a command has one of its own, where nothing of this would be seen.
const SECRET = "s3cret-7731";
const base = fs.realpathSync(fs.mkdtempSync("/var/tmp/zz-box-"));
const at = (name: string) => join(base, name);
const [root, home, outside, keepIn] = [at("project"), at("home"), at("outside"), at("kept")];
const node = `'${process.execPath}'`;
/** A request with a proxy as other programs make it: in place of curl, which is not everywhere. */
const request = `${node} '${stripped("test/support/request.ts")}'`;
const test = needs("bwrap", "git");
const victim = spawn("sleep", ["1000"]);
const opened: Sandbox[] = [];

before(async () => {
  for (const name of ["outside", "home/.ssh", "project/conf", "denied/sub"])
    fs.mkdirSync(at(name), { recursive: true });
  if (whyNot("bwrap", "git")) return;
  equal(await findSandbox(programs(root)), "bubblewrap");
  process.env.HOME = home;
  put(join(outside, "file"), "untouched");
  put(join(home, "notes"), "readable");
  const secrets =
    "home/.ssh/id home/.netrc home/.npmrc project/.env project/conf/key.pem denied/deep".split(" ");
  for (const file of secrets) put(at(file), SECRET);
  fs.symlinkSync(join(root, ".env"), join(root, "link"));
  fs.symlinkSync(join(base, "denied"), join(root, "folder-link"));
  fs.symlinkSync(outside, join(root, "way-out"));
  fs.linkSync(join(root, ".env"), join(root, "conf/twin"));
  git(root, "init", "-q", "-b", "main");
  put(join(root, ".gitignore"), ".env\nkey.pem\n");
});
after(() => {
  victim.kill("SIGKILL");
  for (const sandbox of opened) sandbox.close();
  fs.rmSync(base, { recursive: true, force: true });
});

const put = (file: string, text: string) => fs.writeFileSync(file, text);
const AUTHOR = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"];
const git = (cwd: string, ...args: string[]): string =>
  execFileSync("git", [...AUTHOR, ...args], { cwd, encoding: "utf8", stdio: "pipe" });

async function box(limits: Partial<Limits> = {}): Promise<Sandbox> {
  const own = ["project/.env", "project/conf/key.pem", "denied", "not-there"].map(at);
  const hide = [...own, ...credentials()];
  const plain = { programs: programs(root), root, write: [], hide, net: "none" as const };
  const sandbox = await openSandbox({ ...plain, ...limits });
  opened.push(sandbox);
  return sandbox;
}

/** Without a sandbox. */
function free(command: string, more: Partial<CommandJob> = {}): Promise<Outcome> {
  const { signal } = new AbortController();
  const how = { programs: programs(root), clock: CLOCK, cwd: root, timeoutMs: 170_000 };
  return runJob({ ...how, env: process.env, command, signal, keepIn, ...more });
}
async function run(command: string, limits: Partial<Limits> | Sandbox = {}): Promise<Outcome> {
  const sandbox = "wrap" in limits ? limits : await box(limits);
  return free(command, { sandbox, cwd: ("root" in limits && limits.root) || root });
}

/** Each in a shell of its own, in one sandbox: what it prints, and its exit code. `after` runs
 * after each. */
async function runEach(commands: string[], limits: Partial<Limits> = {}, after = "true") {
  const end = `) 2>&1; printf '\\n== exit %d\\n' $?; { ${after}; } 2>&1`;
  const lines = commands.map((one) => `(LC_ALL=C; export LC_ALL; ${one}\n${end}`);
  const { stdout, text } = await run(lines.join("\n"), limits);
  const parts = stdout.split(/^== exit (\d+)\n/m);
  equal(parts.length, 2 * commands.length + 1, text);
  return commands.map((_, i) => {
    const own = parts[2 * i]!;
    return { own, text: own + (parts[2 * i + 2] ?? ""), exit: Number(parts[2 * i + 1]) };
  });
}

// ── finding one ──────────────────────────────────────────────────────────────────────────────────

const STANDINS: [what: string, script: string | undefined][] = [
  ["there is none", undefined],
  ["it may not make namespaces",
    "echo 'bwrap: No permissions to create new namespace' >&2; exit 1"],
  ["it runs the command without shutting it in",
    'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'],
  ["it does nothing", "exit 0"],
]; // biome-ignore format: a table
for (const [what, script] of STANDINS)
  freeTest(`findSandbox() finds none when ${what}`, async () => {
    const folder = fs.mkdtempSync(join(base, "bin-"));
    fs.symlinkSync("/usr/bin/readlink", join(folder, "readlink"));
    if (script) fs.writeFileSync(join(folder, "bwrap"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    using _ = withEnvironment({ PATH: folder });
    equal(await findSandbox(programs(root)), undefined);
    const all: Limits = { programs: programs(root), root, write: [], hide: [], net: "none" };
    if (!script) await rejects(openSandbox(all), /bubblewrap is not in PATH\. Install it/);
  });

test("openSandbox() takes no bwrap that a command could have put into the project", async () => {
  const bin = join(root, "bin");
  fs.mkdirSync(bin);
  fs.writeFileSync(join(bin, "bwrap"), "#!/bin/sh\necho fake\n", { mode: 0o755 });
  using _ = withEnvironment({ PATH: `${bin}:${process.env.PATH}` });
  const outcome = await run("echo real").finally(() => fs.rmSync(bin, { recursive: true }));
  match(outcome.text, /^real\n/);
});

// ── writing ──────────────────────────────────────────────────────────────────────────────────────

const NO_WRITE =
  /Read-only file system|Permission denied|Operation not permitted|Invalid cross-device link|must be superuser|EROFS|EACCES|permission denied/;
const WRITES: [what: string, command: string, says?: RegExp][] = [
  ["write to a file outside", `echo gone > ${outside}/file`],
  ["make a file beside the project", `touch ${root}-beside`, /Read-only/],
  ["remove a file outside", `rm -f ${outside}/file`],
  ["write by a link that leads out", "echo gone > way-out/file"],
  ["write by a hard link that it makes", `ln ${outside}/file hard && echo gone > hard`],
  ["write by the root of another process", `echo gone > /proc/1/root${outside}/file`],
  ["change a mode outside", `chmod 777 ${outside}/file`],
  ["write to the home", `echo gone > ${home}/notes`],
  ["write to /sys",
    "f=$(find /sys/kernel/mm -type f -perm -200 | head -1); cat $f > was; cat was > $f; rm was"],
  ["mount / again for writing", `mount -o remount,rw / && echo gone > ${outside}/file`],
  ["mount / in namespaces of its own",
    `unshare -Um mount -o remount,rw,bind / && echo gone > ${outside}/file`],
  ["unmount the cover of a folder", `umount /tmp ${base}/denied`],
  ["make a disk's device", "mknod disk b 254 0 && head -c 4 disk"],
  ["take another root", "chroot / true"],
  ["move the project away", `mv ${root} ${root}-2`, /Device or resource busy|Read-only/],
]; // biome-ignore format: a table
test("a sandboxed command cannot write, mount or move anything outside", () =>
  together(WRITES, async (rows) => {
    const commands = rows.map(([, command]) => `set -e; ${command}`);
    const outcomes = await runEach(commands, {}, "rm -f was out hard");
    for (const [i, [what, , says = NO_WRITE]] of rows.entries())
      match(outcomes[i]!.text, says, what);
    equal(fs.readFileSync(join(outside, "file"), "utf8"), "untouched");
    equal(fs.statSync(join(outside, "file")).mode & 0o777, 0o644);
    const projects = fs.readdirSync(base).filter((name) => name.startsWith("project"));
    deepEqual([fs.readdirSync(outside), projects], [["file"], ["project"]]);
    equal(fs.readFileSync(join(home, "notes"), "utf8"), "readable");
  }));

test("a sandboxed command writes to folders that were allowed, and a denied folder stays denied", async () => {
  const write = [outside, at("denied"), at("denied/sub")];
  const denied = `echo b > ${base}/denied/x; echo b > ${base}/denied/sub/x`;
  const outcome = await run(`echo a > ${outside}/allowed && cat ${outside}/allowed; ${denied}`, {
    write,
  });
  equal(outcome.stdout, "a\n");
  match(outcome.stderr, /denied\/x: Permission denied\n.*sub\/x: Permission denied\n$/s);
  fs.rmSync(join(outside, "allowed"));
});

test("a sandboxed command has a /tmp of its own, which lasts until the sandbox is closed", async () => {
  const sandbox = await box();
  const name = `/tmp/zz-probe-${process.pid}`;
  const { stdout } = await run(`echo mine > ${name}; ls -A /tmp/zz-probe*; echo $TMPDIR`, sandbox);
  deepEqual([stdout, fs.existsSync(name)], [`${name}\n/tmp\n`, false]);
  match((await run(`cat ${name}`, sandbox)).text, /^mine\n/);
  sandbox.close();
  match((await run(`cat ${name}`)).text, /No such file/);
});

test("closing a sandbox leaves nothing behind", async (t) => {
  // in /tmp: a sandbox that others open just now covers its sockets elsewhere
  const folder = fs.mkdtempSync("/tmp/zz-box-");
  using _ = withEnvironment({ TMPDIR: folder });
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  const sandbox = await box({ hide: [], net: ["127.0.0.1"] });
  await run("mkdir -p /tmp/a/b; chmod 500 /tmp/a", sandbox);
  equal(fs.readdirSync(folder).length, 1);
  sandbox.close();
  deepEqual(fs.readdirSync(folder), []);
  deepEqual(
    fs.readdirSync(root).sort(),
    ".env .git .gitignore conf folder-link link way-out".split(" "),
  );
});

// ── reading ──────────────────────────────────────────────────────────────────────────────────────

// biome-ignore format: one case a row.
const READS: [what: string, command: string][] = [
  ["by its name", "cat .env"],
  ["by a link", "cat link"],
  ["by a hard link that was there before", "cat conf/twin"],
  ["by a hard link that it makes", "ln .env mine && cat mine"],
  ["by a folder's link", "cat folder-link/deep; ls folder-link/"],
  ["after its folder was moved", "mv conf conf2; cat conf2/key.pem; r=$?; mv conf2 conf; exit $r"],
  ["by a move", "mv .env moved && cat moved"],
  ["by the root of the first process", `cat /proc/1/root${root}/.env`],
  ["by git", "git add -f .env && git diff --cached"],
  ["after a change of its mode", "chmod 644 .env && cat .env"],
  ["after it is unmounted", "umount .env && cat .env"],
  ["after it is unmounted in namespaces of its own", "unshare -Um sh -c 'umount .env; umount -l .env; cat .env'"],
  ["by a bind mount of its own", `unshare -Um sh -c 'mkdir /tmp/m; mount --bind ${root} /tmp/m; cat /tmp/m/.env'`],
  ["in the home's credentials", "cat ~/.ssh/id; ls ~/.ssh; cat ~/.netrc"],
  ["by an overlay", `unshare -Um sh -c 'mount -t overlay -o lowerdir=${root}:/etc o /mnt; cat /mnt/.env'`],
  ["in the memory of a process outside", `cat /proc/${victim.pid}/environ`],
];
test("a sandboxed command cannot read what is denied", () =>
  together(READS, async (rows) => {
    const commands = rows.map(([, command]) => command);
    const outcomes = await runEach(commands, {}, "cat mine moved 2> /dev/null; rm -f mine moved");
    for (const [i, [what]] of rows.entries()) {
      ok(!outcomes[i]!.text.includes(SECRET), `${what}: ${outcomes[i]!.text}`);
      ok(outcomes[i]!.exit !== 0, `${what}: ${outcomes[i]!.text}`);
    }
    equal(fs.readFileSync(join(root, ".env"), "utf8"), SECRET);
  }));

test("the same commands do read it without a sandbox", async () => {
  const commands = ["cat .env", "cat link", "cat folder-link/deep", "cat ~/.ssh/id"];
  const { stdout } = await free(commands.map((one, i) => `${one}; echo; echo == ${i}`).join("\n"));
  const parts = stdout.split(/== \d\n/);
  for (const [i, one] of commands.entries()) ok(parts[i]!.includes(SECRET), one);
});

test("what is to be shown is, though it is on the list or in a hidden folder", async () => {
  const show = [join(home, ".netrc"), join(home, ".npmrc"), join(base, "denied/deep")];
  const outcome = await run(`cat ~/.netrc ${base}/denied/deep; ls ${base}/denied; cat ~/.ssh/id`, {
    show,
  });
  equal(outcome.stdout, SECRET + SECRET);
  match(outcome.stderr, /denied': Permission denied\n.*id: Permission denied/s);
});

// ── processes ────────────────────────────────────────────────────────────────────────────────────

const PROCESSES: [what: string, command: string][] = [
  ["end a process outside", `kill -9 ${victim.pid}`],
  ["trace a process outside", `strace -p ${victim.pid}`],
  ["enter a process outside", `nsenter -t ${victim.pid} -m true`],
  ["reach a terminal", "echo x > /dev/tty"],
];
test("a sandboxed command cannot end, trace or enter a process outside, or reach a terminal", () =>
  together(PROCESSES, async (rows) => {
    const outcomes = await runEach(rows.map(([, command]) => command));
    for (const [i, [what]] of rows.entries())
      ok(outcomes[i]!.exit !== 0, `${what}: ${outcomes[i]!.text}`);
    await run("kill -9 -1"); // all that it sees
    equal(victim.exitCode ?? victim.signalCode, null);
  }));

test("a sandboxed command has no capability and cannot gain one", async () => {
  const outcome = await run("grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status");
  match(outcome.stdout, /^CapPrm:\s0+\nCapEff:\s0+\nCapBnd:\s0+\nNoNewPrivs:\s1\n$/);
});

// ── the network ──────────────────────────────────────────────────────────────────────────────────

async function serve(): Promise<{ port: number; seen: string[]; close(): void }> {
  const seen: string[] = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (text) => (body += text));
    request.on("end", () => {
      seen.push(`${request.method} ${request.url} ${request.headers.host} ${body}`);
      response.end("answered\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { port, seen, close: () => server.close().closeAllConnections() };
}

/** In node, past any proxy. */
const raw = (port: number) =>
  `${node} -e 'require("net").connect(${port}, "127.0.0.1", () => { console.log("connected"); process.exit(0) }).on("error", (e) => { console.log(e.code); process.exit(1) })'`;

const get =
  (more = "") =>
  (port: number) =>
    `${request} http://127.0.0.1:${port}${more}`;
const fetched = (port: number) =>
  `${node} -e 'fetch("http://127.0.0.1:${port}").then((r) => r.text()).then((t) => process.stdout.write(t))'`;
const ANSWERED = /^answered$/;
type Asks = [command: (port: number) => string, says: RegExp];
// biome-ignore format: one case a row.
const NETS: [net: (port: number) => Limits["net"], ...asks: Asks[]][] = [
  [() => "none", [get(), /ECONNREFUSED|ENETUNREACH/], [raw, /ECONNREFUSED/]],
  [() => "all", [get(), ANSWERED]],
  [(port) => [`127.0.0.1:${port}`], [get(), ANSWERED]],
  [() => ["127.0.0.1"], [get("/x?y body=sent"), ANSWERED], [get(" tunnel"), ANSWERED], [fetched, ANSWERED], [raw, /ECONNREFUSED/], [() => get()(1), /zz's proxy cannot reach '127\.0\.0\.1:1': .*ECONNREFUSED/]],
];
for (const [net, ...asks] of NETS)
  test(`with net ${JSON.stringify(net(80))} a sandboxed command reaches that, and nothing else`, async () => {
    const server = await serve();
    const commands = asks.map(([command]) => command(server.port));
    const outcomes = await runEach(commands, { net: net(server.port) });
    server.close();
    for (const [i, [, says]] of asks.entries()) match(outcomes[i]!.own.trim(), says, commands[i]);
    equal(
      server.seen.length,
      asks.filter(([, says]) => says === ANSWERED).length,
      server.seen.join(),
    );
    const sent = server.seen.filter((one) => one.startsWith("POST"));
    deepEqual(sent, asks.length > 2 ? [`POST /x?y 127.0.0.1:${server.port} sent`] : []);
  });

test("some hosts are reached, however long the names of folders for temporary files are", async (t) => {
  const TMPDIR = join(base, "long".repeat(40));
  fs.mkdirSync(TMPDIR);
  using _ = withEnvironment({ TMPDIR });
  const server = await serve();
  t.after(() => server.close());
  match((await run(get()(server.port), { net: ["127.0.0.1"] })).text, /^answered\n/);
});

const NOT_LET = /\n\[zz does not let commands connect to '127\.0\.0\.1:\d+': /;
const NOT_AMONG = /not among the allowed hosts\. .* with --allow-net=127\.0\.0\.1\n/;
// biome-ignore format: one case a row.
const PROXIED: [what: string, net: string[], command: (port: number) => string, says: RegExp][] = [
  ["is told of another port", ["127.0.0.1:1"], get(), NOT_AMONG],
  ["is told of another host", ["example.com"], get(" proxy=always"), NOT_LET],
  ["is told of another host behind a tunnel", ["example.com"], get(" proxy=always tunnel"), NOT_LET],
  ["gains nothing by a header", ["example.com"], get(" proxy=always host=example.com"), NOT_LET],
  ["ends by its own signal", ["127.0.0.1"], () => "kill -SEGV $$", /^\[exit code 139, as after SIGSEGV /],
  ["inherits no socket", ["127.0.0.1"], () => "cat; ls -l /proc/self/fd | grep -c socket:", /^0\n\[exit code 1 /],
];
for (const [what, net, command, says] of PROXIED)
  test(`a sandboxed command with some hosts ${what}`, async () => {
    const server = await serve();
    const { text } = await run(command(server.port), { net });
    server.close();
    match(text, says);
    deepEqual(server.seen, []);
  });

test("what a sandboxed command starts is reached on its own loopback, whatever hosts are allowed", async () => {
  const code = 'require("http").createServer((_, r) => r.end("own")).listen(8123, "127.0.0.1")';
  const command = `${node} -e '${code}' & ${request} http://127.0.0.1:8123 retry; kill %1`;
  match((await run(command, { net: ["example.com"] })).text, /^own\n\[exit code 0 /);
});

test("a sandboxed command cannot connect to an abstract socket", async () => {
  const at = `\0zz-${process.pid}`;
  const server = net.createServer((socket) => socket.end("reached"));
  await new Promise<void>((resolve) => server.listen(at, resolve));
  const code = `require("net").connect(${JSON.stringify(at)}).on("error", (e) => console.log(e.code)).on("data", (d) => console.log(d + ""))`;
  const command = `${node} -e '${code}'`;
  const [reached, boxed] = [await free(command), await run(command)];
  await new Promise((resolve) => server.close(resolve));
  match(reached.text, /^reached\n/);
  match(boxed.text, /^(ECONNREFUSED|EACCES|ENOENT|EAFNOSUPPORT)\n/);
});

const HOSTS: [rules: string[], host: string, addresses: string[], reached: string[]][] = [
  [["example.com"], "example.com:443", ["93.184.216.34"], ["93.184.216.34"]],
  [["example.com"], "evil-example.com:443", ["93.184.216.34"], []],
  [["*.example.com"], "a.b.example.com:443", ["93.184.216.34"], ["93.184.216.34"]],
  [["*.example.com"], "example.com:443", ["93.184.216.34"], []],
  [["*.0.0.1"], "127.0.0.1:80", [], []],
  [["example.com:443"], "example.com:443", ["93.184.216.34"], ["93.184.216.34"]],
  [["example.com:443"], "example.com:22", ["93.184.216.34"], []],
  [["example.com"], "example.com:80", ["127.0.0.1"], []],
  [["example.com"], "example.com:80", ["192.168.1.1", "93.184.216.34"], ["93.184.216.34"]],
  [["example.com", "10.0.0.5"], "example.com:80", ["10.0.0.5"], ["10.0.0.5"]],
  [["localhost"], "localhost:80", ["::1", "127.0.0.1"], ["::1", "127.0.0.1"]],
  [["localhost"], "localhost:80", ["10.0.0.1"], []],
  [["127.0.0.1"], "127.1:80", [], ["127.0.0.1"]],
  [["127.0.0.1"], "[::ffff:127.0.0.1]:80", [], []],
  [["::1"], "[::1]:80", [], ["::1"]],
];
freeTest(
  "judgeHost() lets pass what a rule names, and nothing of a private network that it does not name",
  async () => {
    for (const [rules, host, addresses, reached] of HOSTS) {
      const resolve = async () =>
        addresses.map((address) => ({ address, family: net.isIP(address) }));
      const judged = await judgeHost(parseHost(host), rules.map(parseHost), resolve);
      const found = judged.addresses.map(({ address }) => address);
      deepEqual(
        [found, judged.refusal === undefined],
        [reached, reached.length > 0],
        `${host} by ${rules}`,
      );
    }
  },
);

freeTest("judgeHost() says how to allow a name that leads into a private network", async () => {
  const resolve = async () => [{ address: "10.0.0.5", family: 4 }];
  const { refusal = "" } = await judgeHost(
    parseHost("git.corp:443"),
    [parseHost("git.corp")],
    resolve,
  );
  match(
    refusal,
    /^zz does not let commands connect to 'git\.corp:443': its address 10\.0\.0\.5 is of this machine /,
  );
  match(
    refusal,
    / or a private network\. The person can allow it with --allow-net=git\.corp,10\.0\.0\.5$/,
  );
});

freeTest("parseHost() refuses what is no host", async () => {
  for (const bad of ["", "a b", "http://x", "x:y", "x:1:2", "*."])
    await rejects(async () => parseHost(bad), {
      message: `Cannot read '${bad}' as a host. Write name or name:port.`,
    });
});

const PRIVATE =
  `172.31.0.1 100.64.1.1 fd00::1 ::ffff:127.0.0.1 ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::a00:1 64:ff9b:1::a00:1
  2002:7f00:1:: 2001:0:1::1 fec0::1 169.254.169.254 100.100.100.200 fd00:ec2::254 0.0.0.0 ::`.split(
    /\s+/,
  );
const PUBLIC = "8.8.8.8 172.32.0.1 2606:4700::1 2001:4860:4860::8888 1.1.1.1".split(" ");
freeTest(
  "isPrivate() knows the addresses of this machine, its network and a cloud's metadata",
  () => deepEqual([...PRIVATE, ...PUBLIC].filter(isPrivate), PRIVATE),
);

// ── git ──────────────────────────────────────────────────────────────────────────────────────────

const AS = "git -c user.name=t -c user.email=t@t";
const ELSEWHERE =
  "cp -r .git evil; echo ../evil > .git/commondir; echo '[core] fsmonitor = touch pwned' >> evil/config";
const TAKEN =
  /\.git\/commondir' could run commands outside of the sandbox: what could was taken out of it\]/;
const WORKTREE = "echo '[core] fsmonitor = touch pwned' > .git/config.worktree; false";
// biome-ignore format: one case a row.
const PLANTS: [what: string, command: string, says: RegExp][] = [
  ["write a hook", "echo 'touch pwned' > .git/hooks/post-commit", /Read-only file system/],
  ["remove the hooks", "rm -rf .git/hooks && mkdir .git/hooks", /busy|Read-only/],
  ["move the repository away", "mv .git .g && git init -q", /busy/],
  ["write to the configuration", "echo '[core] fsmonitor = touch pwned' >> .git/config", /Read-only file system/],
  ["put another configuration there", "cp .git/config c && mv c .git/config; r=$?; rm -f c; exit $r", /busy|Read-only/],
  ["lead git to another folder", `${ELSEWHERE}; false`, TAKEN],
  ["add a worktree's configuration", WORKTREE, /\.git\/config\.worktree' could run commands/],
];
for (const [what, command, says] of some(PLANTS, 3))
  test(`a sandboxed command cannot ${what}`, async () => {
    const config = fs.readFileSync(join(root, ".git/config"), "utf8");
    const outcome = await run(`LC_ALL=C; export LC_ALL; ${command}`);
    match(outcome.text, says);
    ok(outcome.exit !== 0, outcome.text);
    equal(fs.readFileSync(join(root, ".git/config"), "utf8"), config);
    git(root, "status");
    const planted = ["commondir", "config.worktree", "hooks/post-commit", "../.zz", "../pwned"];
    ok(!planted.some((name) => fs.existsSync(join(root, ".git", name))));
    fs.rmSync(join(root, "evil"), { recursive: true, force: true });
  });

test("a sandboxed command keeps what is in .zz as it is", async () => {
  const project = fs.mkdtempSync(join(base, "zz-"));
  fs.mkdirSync(join(project, ".zz"));
  put(join(project, ".zz/settings"), "mine");
  const outcome = await run(
    "cat .zz/settings; echo other > .zz/settings; mv .zz .z; touch .zz/new",
    { root: project },
  );
  equal(outcome.stdout, "mine");
  deepEqual(
    [fs.readdirSync(project), fs.readdirSync(join(project, ".zz"))],
    [[".zz"], ["settings"]],
  );
});

test("a sandboxed command makes a repository, which works and keeps nothing that runs", async () => {
  const project = fs.mkdtempSync(join(base, "fresh-"));
  const first =
    "git init -q -b main . && git config user.name t && git remote add origin https://example.com/x.git";
  const commit = `git add a && ${AS} commit -qm one && git log --oneline | wc -l`;
  const { text } = await run(`${first} && echo 1 > a && ${commit}`, { root: project });
  match(text, /^1\n\[exit code 0 /);
  const kept = /user\.name=t\nremote\.origin\.url=https:\/\/example\.com\/x\.git\n/;
  match(git(project, "config", "-l", "--local"), kept);
  match((await run(`echo 2 > a && ${commit}`, { root: project })).text, /^2\n/);
});

const TRAPS = [
  "git init -q . && printf '[core]\\n\\trepositoryformatversion = 0 \\\\\\n\\n\\tfsmonitor = touch pwned\\n[include]\\n\\tpath = ../evil\\n' > .git/config; printf '[core]\\n\\tfsmonitor = touch pwned\\n' > evil",
  "git init -q . && mkdir -p .git/hooks && printf '#!/bin/sh\\ntouch pwned\\n' > .git/hooks/post-index-change && chmod 755 .git/hooks/post-index-change",
  "git init -q e && git -C e config core.fsmonitor 'touch pwned' && ln -s e/.git .git",
  "git init -q . && printf '[constructor]\\n\\tx = y\\n[core]\\n\\tfsmonitor = touch pwned\\n' >> .git/config",
];
test("a repository that a sandboxed command lays as a trap is made harmless", async () => {
  for (const trap of some(TRAPS, 3)) {
    const project = fs.mkdtempSync(join(base, "trap-"));
    const outcome = await run(`${trap}; echo set`, { root: project });
    match(outcome.text, /^set\n\[.* could run commands outside of the sandbox: /);
    put(join(project, "a"), "");
    // some are none any more
    for (const args of [["status"], ["add", "a"], ["x"]]) tryTo(() => git(project, ...args));
    equal(fs.existsSync(join(project, "pwned")), false, trap);
  }
});

test("a sandboxed command commits in a worktree and in a submodule, and plants nothing there", async () => {
  const [main, tree] = [fs.mkdtempSync(at("main-")), at("tree")];
  git(main, "init", "-q", "-b", "main");
  git(main, "commit", "-q", "--allow-empty", "-m", "one");
  git(main, "worktree", "add", "-q", tree);
  git(main, "submodule", "--quiet", "add", main, "sub");
  for (const project of [tree, join(main, "sub")]) {
    const work = `echo 1 > a; git add a && ${AS} commit -qm two && git status --short | wc -l`;
    match((await run(work, { root: project })).text, /^0\n\[exit code 0 /);
    const folder = fs.readFileSync(join(project, ".git"), "utf8").trim().replace("gitdir: ", "");
    const common = `$(git rev-parse --git-common-dir)`;
    const plant = `echo 1 > ${common}/hooks/post-commit; echo 1 >> ${common}/config; echo 1 > ${folder}/config.worktree`;
    const move = `mv ${folder} ${folder}2; mv .git g; echo 'gitdir: /' > .git`;
    const plants = await run(`LC_ALL=C; git config core.fsmonitor x; ${plant}; ${move}`, {
      root: project,
    });
    equal(
      plants.stderr.split("\n").filter((line) => /busy|Read-only|could not/i.test(line)).length,
      6,
      plants.text,
    );
    match(plants.text, /config\.worktree' could run commands/);
    equal(git(project, "status", "--short"), "");
  }
});

test("a .git file that a command could have made opens no folder outside", async () => {
  const [project, other] = [fs.mkdtempSync(at("forged-")), fs.mkdtempSync(at("other-"))];
  git(other, "init", "-q");
  put(join(project, ".git"), `gitdir: ${other}/.git\n`);
  match((await run(`touch ${other}/.git/x`, { root: project })).text, /Read-only file system/);
});

// ── ordinary work ────────────────────────────────────────────────────────────────────────────────

const BRANCH = "git switch -qc b && echo 1 >> .gitignore && git stash -q && git stash pop -q";
const MERGE = `${AS} commit -qam two && git switch -q main && git merge -q b && git log --format=%s | head -1`;
const DEVICES =
  "echo x > /dev/null && head -c 4 /dev/urandom | wc -c && echo a | tee /dev/stderr >/dev/null";
const WORKS: [what: string, command: string, says: RegExp][] = [
  ["commit", `git add .gitignore && ${AS} commit -qm one && git log --format=%s`, /^one\n/],
  ["branch, stash and merge", `${BRANCH} && ${MERGE}`, /^two\n/],
  ["use the devices", `${DEVICES} && : > /dev/shm/x`, /^4\na\n\[exit code 0/],
  ["make a temporary file", 'f=$(mktemp) && echo 1 > $f && cat $f && test -w "$TMPDIR"',
    /^1\n\[exit code 0/],
  ["see its own processes only", "ls /proc | grep -c '^[0-9]'", /^\d\n/],
]; // biome-ignore format: a table
test("a sandboxed command can do what people's work needs", async () => {
  const outcomes = await runEach(WORKS.map(([, command]) => command));
  for (const [i, [what, , says]] of WORKS.entries()) {
    const said = `${outcomes[i]!.own.trim()}\n[exit code ${outcomes[i]!.exit} `.trimStart();
    ok(says.test(said), `${what}: ${said}`);
  }
});

test("a project in a home that is hidden, and one behind a link, are worked in as any", async () => {
  const project = at("hidden/p");
  fs.mkdirSync(project, { recursive: true });
  put(at("hidden/x"), SECRET);
  fs.symlinkSync(project, at("alias"));
  const outcome = await run("pwd -P; touch made; ls; cat ../x; ls ..", {
    root: at("alias"),
    hide: [at("hidden")],
  });
  deepEqual([outcome.stdout, outcome.text.includes(SECRET)], [`${project}\nmade\n`, false]);
  ok(fs.existsSync(join(project, "made")));
});

// ── nothing to write ─────────────────────────────────────────────────────────────────────────────

test("a command with nothing to write reads, has its own /tmp, no network, and sees no secret", async () => {
  const server = await serve();
  const reads =
    "cat .gitignore; f=$(mktemp); echo own > $f; cat $f; cat .env ~/.ssh/id; git status --short | wc -l";
  const outcome = await run(`${reads}; ${raw(server.port)}`, {
    readonly: true,
    net: ["127.0.0.1"],
  });
  server.close();
  match(outcome.stdout, /^\.env\nkey\.pem\n(?:1\n)?own\n\d+\nECONNREFUSED\n$/);
  ok(!outcome.text.includes(SECRET));
});

test("a command with nothing to write sees a project that lies in /tmp", async () => {
  const project = fs.mkdtempSync("/tmp/zz-readonly-");
  put(join(project, "a"), "here");
  const outcome = await run("(cat a; touch b) 2>&1", { root: project, readonly: true });
  match(outcome.text, /^heretouch: .*Read-only file system/);
  deepEqual(fs.readdirSync(project), ["a"]);
  fs.rmSync(project, { recursive: true });
});
