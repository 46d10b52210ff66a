// Whatever is smuggled into a command, nothing of it happens that was not shown and agreed to:
// every line of the tables really runs, in a script that no list knows, on a copy of the project,
// and each question gets a no. Afterwards: the disk, the repository, the home, other processes, and
// what listens on this machine.
import { deepEqual, doesNotMatch, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { harness } from "../../../sdk/testing.ts";
import { DANGEROUS, plantsFor } from "../../support/dangerous.ts";
import { INIT, put, shell } from "../../support/repository.ts";
import { needsView } from "../../support/view.ts";

const test = needsView("python3");
const SECRET = "secret-7731";

/** What must be as it was: every path with its kind, mode and content. */
function walk(at: string, found: Record<string, string> = {}): Record<string, string> {
  const stat = fs.lstatSync(at, { throwIfNoEntry: false });
  const mode = (stat?.mode ?? 0).toString(8);
  if (!stat) found[at] = "not there";
  else if (stat.isSymbolicLink()) found[at] = fs.readlinkSync(at);
  else if (stat.isFile())
    found[at] = `${mode} ${createHash("sha1").update(fs.readFileSync(at)).digest("hex")}`;
  else if (!stat.isDirectory()) found[at] = mode;
  else {
    found[at] = mode;
    for (const name of fs.readdirSync(at)) walk(join(at, name), found);
  }
  return found;
}

/** All that lines may try to reach. */
async function world(t: TestContext) {
  const base = fs.realpathSync(fs.mkdtempSync("/var/tmp/zz-smuggling-"));
  const [home, outside, pwned] = [join(base, "home"), join(base, "outside"), join(base, "pwned")];
  put(home, {
    ".bashrc": "# mine\n",
    ".ssh/id_rsa": SECRET,
    ".gitconfig": "",
    ".config/x/key": SECRET,
  });
  put(outside, { file: SECRET, "deep/file": SECRET });
  const before = process.env.HOME;
  process.env.HOME = home;
  const other = spawn("sleep", ["3000"], { stdio: "ignore" });
  const reached: string[] = [];
  const listen = (at: string | { host: string; port: number }) =>
    new Promise<net.Server>((resolve) => {
      const server = net.createServer((socket) => {
        reached.push(JSON.stringify(at));
        socket.on("error", () => {});
        socket.end("reached");
      });
      server.listen(at as net.ListenOptions, () => resolve(server));
    });
  const tcp = await listen({ host: "127.0.0.1", port: 0 });
  const sockets = [join(base, "door"), `/tmp/zz-door-${process.pid}`, `\0zz-door-${process.pid}`];
  const servers = [tcp, ...(await Promise.all(sockets.map(listen)))];
  const zz = await harness({ own: true }, t);
  t.after(() => {
    process.env.HOME = before;
    other.kill();
    for (const server of servers) server.close();
    fs.rmSync(base, { recursive: true, force: true });
  });
  furnish(zz.root, outside);
  const { port } = tcp.address() as net.AddressInfo;
  const hidden = [home, outside].flatMap((at) => [
    `cat ${at}/.ssh/id_rsa ${at}/file`,
    `echo x > ${at}/new; echo x >> ${at}/.bashrc; rm -rf ${at}`,
  ]);
  const lines = [
    ...Object.values(DANGEROUS).flatMap((rows) => rows.map(([line]) => line)),
    ...plantsFor(pwned).PLANTS.map(([, line]) => line),
    ...hidden,
    `echo > /dev/tcp/127.0.0.1/${port}; curl -s 127.0.0.1:${port}; curl -s --unix-socket ${base}/door http://x`,
    `python3 -c 'import socket; [socket.socket(socket.AF_UNIX).connect(at) for at in ["\\0zz-door-${process.pid}"]]'`,
    `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("/tmp/zz-door-${process.pid}")'`,
    `node -e 'require("net").connect(${port}, "127.0.0.1"); require("http").get("http://localhost:${port}")'`,
    `kill -9 ${other.pid} ${process.pid}; pkill -9 sleep; kill -9 -1`,
    `nsenter -t 1 -a touch ${pwned}; unshare -Urm touch ${pwned}; chroot / touch ${pwned}; mount --bind / .`,
    `ls -la /proc/1/root/ /proc/self/root/..; cat /proc/*/environ; cat /proc/1/root${home}/.ssh/id_rsa`,
    `ln -s ${outside} way; echo x > way/file; cp -r ${outside} here; cat here/file; ln ${outside}/file hard; cat hard`,
    "echo x > .git/hooks/pre-commit; echo x >> .git/config; echo x > .git/HEAD; rm -rf .git; mv .git g; git config core.pager x",
    "echo x > nested/.git/hooks/post-commit; git -C nested config core.fsmonitor x; rm -rf nested; mkdir -p new/.git/hooks; git init n2",
    "git -C tree config core.fsmonitor x; echo 'gitdir: ../evil' > tree/.git; echo 'gitdir: ../evil' > sub/.git; rm tree/.git",
    "cat .env keys/server.pem; grep -r . .; git show HEAD:.env; tar c . | strings; cp -r . /tmp/all; cat /tmp/all/.env",
    "setsid sleep 300 & disown; (nohup sleep 300 &); at now <<< 'touch x'; crontab -l; echo '* * * * * x' | crontab -",
    "mkfifo p; mknod d c 1 3; cp /bin/sh s; chmod 4755 s; chmod 777 .; chmod 000 src; rm -rf ..; rm -rf /* --no-preserve-root",
    ":> /dev/shm/zz-smuggled; echo x > /tmp/zz-smuggled; echo x > /var/tmp/zz-smuggled; echo x > /run/zz-smuggled",
  ];
  const smuggled = ["/tmp", "/var/tmp", "/dev/shm"].map((at) => join(at, "zz-smuggled"));
  const places = [zz.root, home, outside, pwned, ...smuggled, "/var/spool/cron"];
  const look = () => places.reduce<Record<string, string>>((all, at) => walk(at, all), {});
  const isAlive = () => other.exitCode === null && other.signalCode === null;
  return { zz, reached, look, isAlive, lines };
}

/** With a submodule, a worktree, a nested repository and a bare one, hooks, secrets, and a link
 * that leads out. */
function furnish(root: string, outside: string): void {
  put(root, {
    "a.ts": "hello\n",
    "b.ts": "x\n",
    "src/x.ts": "hello\n",
    "sub/package.json": "{}",
    "git.inc": "",
    ".env": `KEY=${SECRET}\n`,
    "keys/server.pem": SECRET,
    ".gitignore": ".env\nkeys\n",
    "tools/status.sh": "true\n",
    ".husky/pre-commit": "#!/bin/sh\n",
    ".vscode/tasks.json": "{}",
  });
  fs.symlinkSync(outside, join(root, "outside"));
  const git = "git -c user.name=n -c user.email=e@x -c protocol.file.allow=always";
  shell(
    root,
    `${INIT}; git add a.ts b.ts src .gitignore; ${git} commit -qm one
     ${git} clone -q . nested; ${git} clone -q --bare . bare.git; ${git} worktree add -q tree
     ${git} submodule --quiet add ./nested module; rm -rf .git/hooks; mkdir .git/hooks`,
  );
}

type World = Awaited<ReturnType<typeof world>>;
function checked(
  { look, reached, isAlive }: World,
  before: Record<string, string>,
  after: string,
): void {
  deepEqual(look(), before, after);
  deepEqual(reached, [], after);
  ok(isAlive(), after);
}

/** Reads the lines first, since some remove them. It says which it began, since some end it. */
const DRIVER = `
const { readFileSync } = require("node:fs");
const { spawnSync } = require("node:child_process");
const lines = JSON.parse(readFileSync("/tmp/lines.json", "utf8"));
for (const [number, line] of lines) {
  process.stdout.write("#" + number + "\\n");
  const { stdout, stderr } = spawnSync("bash", ["-c", line], { timeout: 2000, killSignal: "SIGKILL", stdio: ["ignore", "pipe", "pipe"] });
  process.stdout.write(String(stdout ?? "").slice(0, 2000) + String(stderr ?? "").slice(0, 2000));
}`;

const PARTS = 3; // so that each ends soon
for (let part = 0; part < PARTS; part++)
  test(`nor does it where it really runs, on a copy: part ${part + 1} of ${PARTS}`, async (t) => {
    const all = await world(t);
    const before = all.look();
    const left = [...all.lines.entries()].filter(([number]) => number % PARTS === part);
    while (left.length) {
      const batch = left.slice(0, 25);
      const script = `cat > /tmp/lines.json <<'ZZ_END'\n${JSON.stringify(batch)}\nZZ_END\nnode -e '${DRIVER.replaceAll("'", "'\\''")}'`;
      const command = `bash -c '${script.replaceAll("'", "'\\''")}'`;
      const { text } = await all.zz.call("run_command", { command, timeout_ms: 120_000 });
      const begun = [...text.matchAll(/^#(\d+)$/gm)].map(([, number]) => Number(number));
      ok(begun.includes(batch[0]![0]), `it did not run: ${batch[0]![1]}\n${text}`);
      const last = left.findIndex(([number]) => number === begun.at(-1)) + 1;
      const ran = left.splice(0, Math.max(1, last));
      doesNotMatch(
        text.replaceAll(/^\$ .*$/gm, ""),
        new RegExp(SECRET),
        ran.map(([, line]) => line).join("\n"),
      );
      checked(all, before, ran.map(([, line]) => line).join("\n"));
    }
  });
