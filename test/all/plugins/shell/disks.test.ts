// Projects on other disks: FUSE, disks without modes, hard links or capital letters of their own,
// read-only, full, and gone. Each has a command run on its copy of the project there, refused, kept
// and undone, or says why it asks beforehand.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Harness, harness } from "../../../../sdk/testing.ts";
import { temporaryFolder } from "../../../support/files.ts";
import { impossible, type Needed, type Test } from "../../../support/needs.ts";
import { withEnvironment } from "../../../support/run.ts";
import { needsView } from "../../../support/view.ts";
import { waitFor } from "../../../support/wait.ts";
import { walk } from "../../../support/walk.ts";

const sh = (cwd: string, script: string) =>
  spawnSync("bash", ["-c", script], { cwd, encoding: "utf8" });
const noMounts = (() => {
  const at = fs.mkdtempSync(join(os.tmpdir(), "zz-mount-"));
  const tried = `{ ! command -v bindfs || { bindfs /etc '${at}' && umount '${at}'; }; }`;
  const { status } = sh(
    "/",
    `[ -w /dev/fuse ] && mount -t tmpfs zz '${at}' && umount '${at}' && ${tried}`,
  );
  fs.rmSync(at, { recursive: true });
  return status !== 0;
})();
const diskTest = (...programs: Needed[]): Test =>
  noMounts ? impossible("nothing may be mounted here, or FUSE is missing") : needsView(...programs);

/** By this file, not by another run of it. */
const mounted: string[] = [];

/** A project on a disk that these words mount, in the foreground, on its folder. `setup` fills it
 * before, `stop` takes it away. */
async function onDisk(t: TestContext, argv: (back: string, at: string) => string[], setup = "") {
  const back = fs.mkdtempSync(join(os.tmpdir(), "zz-disk-"));
  const said = { key: "n" };
  const answer = async (_: string, keys?: string) => (keys ? said.key : "");
  const zz = await harness({ own: true, answer });
  mounted.push(back, zz.root);
  sh(back, setup);
  const { dev } = fs.statSync(zz.root);
  const [program, ...args] = argv(back, zz.root);
  const server = spawn(program!, args, { stdio: "ignore" });
  const ended = new Promise((resolve) => server.on("close", resolve).on("error", resolve));
  const stop = () => {
    server.kill("SIGKILL");
    return ended;
  };
  t.after(async () => {
    server.kill();
    sh("/", `umount -l '${zz.root}'`);
    await ended;
    await zz.close();
    fs.rmSync(back, { recursive: true, force: true });
  });
  await waitFor(`${program} to mount`, () => fs.statSync(zz.root).dev !== dev);
  return { zz, said, stop };
}
const bindfs =
  (...options: string[]) =>
  (back: string, at: string) => ["bindfs", "-f", ...options, back, at];
const run = (zz: Harness, script: string) =>
  zz.call("run_command", { command: `sh -c '${script}'` });

const SETUP = `mkdir -p src/deep dist node_modules/m; echo one > a; echo two > b; echo s > src/s; echo x > src/deep/x; ln -s a link
printf 'a\\0b' > bin; echo built > dist/old; echo m > node_modules/m/i; printf 'dist/\\nnode_modules/\\n' > .gitignore; git init -q`;
/** Edits, removals, what becomes something else, and what git ignores, which is moved instead of
 * written. */
const SCRIPT = `echo more >> a; rm b; mkdir b; echo in > b/in; rm -r src; mkdir src; echo again > src/s; rm link; ln -s b link
mkdir -p new/in; echo x > new/in/x; cat bin > bin2; echo 1 > dist/new; echo 2 > dist/old; touch -d 2001-02-03T04:05:06.789 dist/new; rm -r node_modules/m`;
const contents = (root: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(walk(root)).map(([name, what]) => [name, what.replace(/^(\w+) \d+/, "$1")]),
  );

const DISKS = {
  FUSE: [],
  "a disk that does not let modes and owners be set":
    "--chmod-deny --chown-deny --chgrp-deny --xattr-none".split(" "),
  "a disk that keeps no modes": "--perms=a=rwX --chmod-ignore --chown-ignore --chgrp-ignore".split(
    " ",
  ),
};
for (const [what, options] of Object.entries(DISKS))
  diskTest("bindfs")(
    `${what}: no leaves all as it was, yes keeps it, /undo takes it back`,
    async (t) => {
      const { zz, said } = await onDisk(t, bindfs(...options), SETUP);
      const plain = temporaryFolder("zz-plain-");
      sh(plain, `${SETUP}\n${SCRIPT}`);
      const was = walk(zz.root);
      await run(zz, SCRIPT);
      deepEqual(walk(zz.root), was, "after no");
      said.key = "y";
      const { text, failed } = await run(zz, SCRIPT);
      equal(failed, false, text);
      deepEqual(contents(zz.root), contents(plain), text);
      await zz.restart();
      await zz.command("/undo");
      deepEqual(walk(zz.root), was, zz.notes.join("\n"));
      await zz.command("/redo");
      deepEqual(contents(zz.root), contents(plain), zz.notes.join("\n"));
      await zz.command("/undo");
      await zz.call("write_file", { path: "new.txt", content: "new\n" });
      equal(zz.read("new.txt"), "new\n");
      await zz.command("/undo");
      deepEqual(walk(zz.root), was, zz.notes.join("\n"));
    },
  );

diskTest("bindfs")("a mode that the disk did not take is named", async (t) => {
  const { zz, said } = await onDisk(t, bindfs("--perms=a-x:a+D", "--chmod-ignore"), SETUP);
  said.key = "y";
  match((await run(zz, "chmod +x a; echo more >> b")).text, /did not take the new mode of 'a'\./);
  doesNotMatch((await run(zz, "echo more >> a")).text, /new mode/);
});

diskTest("bindfs")("a read-only disk: nothing is asked for that could not be kept", async (t) => {
  const { zz, said } = await onDisk(t, bindfs("-r"), SETUP);
  const { text, failed } = await run(zz, "echo more >> a");
  deepEqual([zz.questions, failed], [[], true]);
  match(text, /changed: a \(not kept: the project lies on a read-only file system\)/);
  match((await run(zz, "cat a")).text, /^one\n/);
  said.key = "y";
  const direct = await zz.call("run_command", {
    command: "sh -c 'cat a; mkdir .zz' 2>&1",
    direct: true,
  }); // two pipes have no order
  match(direct.text, /^one\nmkdir: .*\.zz.*: Read-only file system\n/);
});

diskTest()("a full disk: nothing is kept, and what was there is still there", async (t) => {
  const { zz, said } = await onDisk(t, (_, at) => [
    "mount",
    "-t",
    "tmpfs",
    "-o",
    "size=800k",
    "zz",
    at,
  ]);
  sh(zz.root, SETUP);
  const was = walk(zz.root);
  said.key = "y";
  const full =
    /Nothing that it changed was kept: Cannot write '.+': the disk is full\. Make room\./;
  for (const [file, large] of Object.entries({ a: "big", "dist/old": "dist/big" })) {
    match((await run(zz, `echo more >> ${file}; head -c 900k /dev/zero > ${large}`)).text, full);
    deepEqual(walk(zz.root), was);
  }
  await run(zz, "echo more >> a");
  equal(zz.read("a"), "one\nmore\n");
});

/** Fills the disk before the file of that name comes into place; `free`: makes room again. */
function fillAt(t: TestContext, root: string, name: string, filler = join(root, ".filler")) {
  const { renameSync } = fs;
  let isFilled = false;
  t.mock.method(fs, "renameSync", (from: string, to: string) => {
    if (!isFilled && `${to}`.endsWith(`/${name}`)) {
      isFilled = true;
      equal(sh(root, `cat /dev/zero > '${filler}'`).status, 1);
    }
    return renameSync(from, to);
  });
  return {
    free() {
      t.mock.restoreAll();
      ok(isFilled, "it was never full");
      fs.rmSync(filler);
    },
  };
}

const LARGE = `mkdir -p d/e old; for f in a b d/e/c old/f into; do head -c 90k /dev/zero | tr '\\0' x > $f; done; ln -s a link; chmod 600 b`;
const SHRINK = `echo s > a; echo s > b; chmod 755 b; rm -r old; echo f > old; rm into link; mkdir into; echo i > into/i; rm -r d; echo l > link
head -c 600k /dev/zero | tr "\\0" y > into/z`;
diskTest()(
  "another program fills the disk in the middle: what was done by then comes back by itself",
  async (t) => {
    const { zz, said } = await onDisk(t, (_, at) => [
      "mount",
      "-t",
      "tmpfs",
      "-o",
      "size=2m",
      "zz",
      at,
    ]);
    sh(zz.root, LARGE);
    const was = walk(zz.root);
    said.key = "y";
    for (const name of ["a", "b", "old", "link"]) {
      const disk = fillAt(t, zz.root, name);
      const { text } = await run(zz, SHRINK);
      disk.free();
      match(text, /Cannot write '.+': the disk is full\. Make room\.\]$/, name);
      deepEqual(walk(zz.root), was, name);
      await zz.command("/undo");
      match(zz.notes.at(-1)!, /Nothing to undo/);
    }
    const { text, failed } = await run(zz, SHRINK);
    equal(failed, false, text);
    const made = walk(zz.root);
    const disk = fillAt(t, zz.root, "b");
    await rejects(zz.command("/undo"), /Cannot undo '.+': the disk is full\. Make room\.$/);
    disk.free();
    deepEqual(walk(zz.root), made);
    await zz.command("/undo");
    deepEqual(walk(zz.root), was);
  },
);

diskTest("bindfs")("a disk that goes away while a command runs", async (t) => {
  const { zz, stop } = await onDisk(t, bindfs(), SETUP);
  const running = run(zz, "echo more >> a; echo go; while [ -e b ]; do sleep 0.05; done; exit 1");
  await waitFor("it to run", () =>
    zz.events.some((event) => event.type === "progressed" && event.text.includes("go")),
  );
  await stop();
  const { text, failed } = await running;
  ok(failed, text);
  match(text, /Nothing that it changed was kept: its disk is gone\. Mount it again\./);
  deepEqual(zz.questions, []);
});

diskTest("mount.exfat-fuse")(
  "a disk that ignores case: asked for before; without hard links: sessions are kept",
  async (t) => {
    const at = fs.mkdtempSync(join(os.tmpdir(), "zz-disk-"));
    mounted.push(at);
    const make =
      "truncate -s 8M image && mkfs.exfat image >&2 && mkdir on && losetup -f --show image";
    const loop = sh(at, make).stdout.trim();
    t.after(() => {
      sh("/", `umount -l '${at}/on'; losetup -d ${loop}`);
      fs.rmSync(at, { recursive: true });
    });
    const { status, stderr } = sh(at, `mount.exfat-fuse ${loop} on`);
    equal(status, 0, stderr);
    using elsewhere = withEnvironment({ TMPDIR: join(at, "on") });
    const zz = await harness({ own: true, answer: "yes", script: ["hello"] });
    elsewhere[Symbol.dispose]();
    try {
      zz.write("name", "one\n");
      await zz.call("write_file", { path: "other", content: "x\n" });
      await zz.command("/undo");
      deepEqual([zz.read("other"), zz.read("NAME")], [undefined, "one\n"]);
      await run(zz, "mv name NAME");
      const why =
        /no copy of the project to run it on: the project lies on a disk that takes a capital/;
      match(zz.questions.at(-1)!, why);
      ok((await zz.ask("hi")).session);
      await zz.restart();
      equal(zz.chat.messages.length, 2);
    } finally {
      await zz.close();
    }
  },
);

test("nothing is left mounted", () => {
  const there = fs.readFileSync("/proc/self/mountinfo", "utf8");
  const left = mounted.filter((at) => there.includes(at));
  deepEqual(left, []);
});
