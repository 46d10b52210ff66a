import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs, {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { Zz } from "../../kernel/contract.ts";
import { harness } from "../../sdk/testing.ts";
import "../support/lean.ts";
import { mains } from "../support/mains.ts";
import { needs } from "../support/needs.ts";
import { environment, place } from "../support/run.ts";
import { runs, some } from "../support/runs.ts";
import { livesHold } from "../support/undo-model.ts";
import { viewTest } from "../support/view.ts";
import { walk } from "../support/walk.ts";

test("Random lives of a project: the disk is what the model says after every step", async () => {
  ok((await livesHold(runs(30, 300))) > 0);
});

test("A change is kept to the byte, secrets too, so that it can be undone after a restart; what was said is veiled", async (t) => {
  const KEY = "hunter2-hunter2-0123";
  const plugins = [{ name: "keeper", default: (zz: Zz) => void zz.secret(KEY) }];
  const zz = await harness(
    { own: true, plugins, files: { a: `key = ${KEY}\n` }, answer: "yes", script: ["Fine."] },
    t,
  );
  await zz.ask(`The key is ${KEY}.`);
  await zz.call("delete_file", { path: "a" });
  equal(zz.read("a"), undefined);
  await zz.restart();
  await zz.command("/undo");
  equal(zz.read("a"), `key = ${KEY}\n`);
  const folder = join(zz.home, "sessions");
  const [session] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  const entries = readFileSync(join(folder, session!), "utf8").trim().split("\n");
  const said = entries.filter((line) => /"type":"message"/.test(line)).join("\n");
  match(said, /The key is /);
  doesNotMatch(said, new RegExp(KEY));
});

needs("bwrap")(
  "Undo brings back a folder that a killed zz had removed, and put no file in its place yet",
  async () => {
    const zz = await harness({ own: true, files: { "in/a": "1\n" }, answer: "yes" });
    await zz.call("run_command", { command: "rm -r in; echo f > in" });
    equal(zz.read("in"), "f\n");
    rmSync(join(zz.root, "in"));
    await zz.command("/undo");
    equal(zz.read("in/a"), "1\n");
    await zz.close();
  },
);

test("Undo and redo take a file's mode along, unless somebody has set it since", async (t) => {
  const runnable = (zz: Zz) =>
    zz.tool({
      name: "makes_runnable",
      description: "Makes it a script.",
      needs: () => ({ write: ["a"] }),
      run: async (_, { files, root }) => {
        await files.apply(
          [{ path: join(root, "a"), bytes: Buffer.from("#!\n"), mode: 0o100755 }],
          "",
        );
        return "It is one.";
      },
    });
  const plugins = [{ name: "runnable", default: runnable }];
  const zz = await harness({ own: true, plugins, files: { a: "one\n" }, answer: "yes" }, t);
  const at = join(zz.root, "a");
  const stands = () => [zz.read("a"), (statSync(at).mode & 0o777).toString(8)];
  const gives = async (line: string, content: string, mode: string) => {
    await zz.command(line);
    deepEqual(stands(), [content, mode], line);
  };
  chmodSync(at, 0o644);
  await zz.call("makes_runnable", {});
  deepEqual(stands(), ["#!\n", "755"]);
  await gives("/undo", "one\n", "644");
  await gives("/redo", "#!\n", "755");
  chmodSync(at, 0o700);
  await gives("/undo", "one\n", "700");
  await gives("/redo", "#!\n", "700");
});

viewTest(
  "A file that git ignores, changed by a command and by a tool: each is undone and redone, unless somebody else changed it",
  async (t) => {
    const files = { ".gitignore": "dist/\n", "dist/n": "old\n" };
    const zz = await harness(
      { own: true, answer: async (_, keys) => (keys === "on" ? "n" : "y"), files },
      t,
    );
    spawnSync("git", ["init", "-q", zz.root]);
    const gives = async (line: string, content: string) => {
      const said = await zz.command(line);
      equal(zz.read("dist/n"), content, `${line}: ${said}`);
    };
    await zz.call("run_command", { command: "sh -c 'echo one > dist/n'" });
    await zz.call("read_file", { path: "dist/n" });
    await zz.call("write_file", { path: "dist/n", content: "of a tool\n" });
    await zz.call("run_command", { command: "sh -c 'echo two > dist/n'" });
    for (const _ of [1, 2]) {
      for (const content of ["of a tool\n", "one\n", "old\n"]) await gives("/undo", content);
      for (const content of ["one\n", "of a tool\n", "two\n"]) await gives("/redo", content);
    }
    await gives("/undo", "of a tool\n");
    await gives("/undo 2", "old\n");
    await gives("/redo", "one\n");
    zz.write("dist/n", "six\n");
    await gives("/undo", "six\n");
    match(zz.questions.at(-1)!, /Cannot undo 'dist\/…': 'dist\/n' changed since/);
  },
);

/** An ordinary user, whom modes keep out, and the process in which they run zz. */
const who = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const zzAsThem = mains(who);

/** Runs zz and scripts in a project of their own. */
function ordinary(t: { after(done: () => void): void }) {
  const where = place();
  const at = dirname(where.cwd);
  t.after(() => rmSync(at, { recursive: true, force: true }));
  const own = { HOME: where.home, TMPDIR: at };
  mkdirSync(where.home);
  if (who.uid)
    for (const folder of [at, where.home, where.cwd]) chownSync(folder, who.uid, who.gid);
  const zz = async (...args: string[]) => {
    const { code, stdout, stderr } = await zzAsThem(where, args, { env: own });
    return { status: code, said: stdout + stderr };
  };
  const env = { ...environment(where, {}), ...own };
  const sh = (script: string) => spawnSync("sh", ["-c", script], { cwd: where.cwd, env, ...who });
  const keep = () =>
    zz("--allow-write=.", "--call", "run_command", JSON.stringify({ command: "sh script" }));
  return { where, zz, sh, keep };
}

/** What a project holds, what a command does to it as an ordinary user, and what is undone along
 * with it or not at all. */
// biome-ignore format: one case a row.
const SHUT: [what: string, setup: string, script: string][] = [
  ["a file that nobody may read", "echo a > a; echo b > b", "chmod 000 a; rm b"],
  ["a folder that nobody may enter", "mkdir d; echo x > d/x; echo q > d/q", "echo y >> d/x; rm d/q; chmod 000 d"],
  ["a new tree that nobody may enter", "echo a > a", "mkdir -p n/m; echo x > n/m/x; chmod 000 n/m; chmod 000 n"],
  ["a shut folder that a file replaces", "mkdir d; echo x > d/x; chmod 500 d", "chmod 700 d; rm -r d; echo f > d"],
  ["an ignored folder that nobody may enter", "echo > build/b", "mkdir build/z; echo 1 > build/z/1; chmod 000 build/z"],
  ["a file that was shut before", "echo a > a; chmod 000 a", "chmod 644 a"],
  ["a shut folder with removals", "mkdir d; echo x > d/x; chmod 500 d", "chmod 700 d; rm d/x; mkdir d/e; chmod 500 d"],
  ["an ignored folder that is shut after", "mkdir -p build/z; echo 1 > build/z/1", "rm build/z/1; chmod 400 build/z"],
  ["an ignored folder that is opened", "mkdir -p build/z; chmod 500 build/z", "chmod 755 build/z; echo 2 > build/z/1"],
];
for (const [what, setup, script] of some(SHUT, 4))
  viewTest(`What modes keep their owner out of is kept, undone and redone: ${what}`, async (t) => {
    const { where, zz, sh, keep } = ordinary(t);
    const seen = () => walk(where.cwd);
    sh(`git init -q; echo build/ > .gitignore; mkdir build; echo "${script}" > script; ${setup}`);
    const was = seen();
    await zz("--call", "run_command", JSON.stringify({ command: "sh script" }));
    deepEqual(seen(), was, "after no");
    const { said } = await keep();
    match(said, /\(kept\)/);
    const made = seen();
    for (const [flag, word, expected] of [
      ["--undo", "Undid", was],
      ["--redo", "Redid", made],
      ["--undo", "Undid", was],
    ] as const) {
      const { status, said } = await zz(flag);
      match(said, new RegExp(`^${word} \\d+ changes?: `), what);
      equal(status, 0);
      deepEqual(seen(), expected, `${flag}: ${said}`);
    }
    sh("chmod -R u+rwx .");
  });

viewTest(
  "An edit in a folder that takes nothing new is refused, and leaves its mode",
  async (t) => {
    const { where, zz, sh } = ordinary(t);
    sh("mkdir d; echo x > d/x; chmod 500 d");
    const was = walk(where.cwd);
    const args = JSON.stringify({ path: "d/x", content: "y\n" });
    const { status, said } = await zz("--allow-write=.", "--call", "write_file", args);
    match(said, /Cannot write '.+': permission denied\./);
    deepEqual([status, walk(where.cwd)], [1, was]);
    sh("chmod 700 d");
  },
);

test("What could not be taken back on a full disk is named, and undone later", async (t) => {
  const changes = (zz: Zz) =>
    zz.tool({
      name: "changes_all",
      description: "Changes all.",
      needs: () => ({ write: ["a", "b", "c"] }),
      run: async (_, { files, root }) => {
        const written = ["b", "c"].map((name) => ({
          path: join(root, name),
          bytes: Buffer.from("new\n"),
        }));
        await files.apply([{ path: join(root, "a") }, ...written], "");
        return "Done.";
      },
    });
  const plugins = [{ name: "changes", default: changes }];
  const zz = await harness(
    { own: true, plugins, files: { a: "one\n", b: "two\n" }, answer: "yes" },
    t,
  );
  const stands = () => [zz.read("a"), zz.read("b"), zz.read("c"), readdirSync(zz.root).length];
  const { renameSync, writeFileSync } = fs;
  const full = () => Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
  let isFull = false; // from c on, on a disk without hard links
  t.mock.method(fs, "linkSync", () => {
    throw Object.assign(new Error("EPERM"), { code: "EPERM" });
  });
  t.mock.method(fs, "renameSync", (from: string, to: string) => {
    if (/\/c$/.test(to)) isFull = true;
    if (isFull && !/\/[ab]$/.test(to) && from.includes("/proc/")) throw full();
    return renameSync(from, to);
  });
  t.mock.method(fs, "writeFileSync", (at: number, ...rest: [Buffer]) => {
    if (isFull && typeof at === "number") throw full();
    return writeFileSync(at, ...rest);
  });
  const { text, failed } = await zz.call("changes_all", {});
  const why = "What it did to 'b', 'a' could not be taken back: then undo it.";
  deepEqual([failed, text], [true, `Cannot write 'c': the disk is full. Make room. ${why}`]);
  deepEqual(stands(), [undefined, "new\n", undefined, 1]);
  t.mock.restoreAll();
  await zz.command("/undo");
  deepEqual(stands(), ["one\n", "two\n", undefined, 2]);
});
