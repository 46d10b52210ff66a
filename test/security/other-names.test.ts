// A denial holds for the file, not for one name of it: other names (hard links, links, ways through
// /proc, dots), and a folder above that is moved, lead past it neither in a call nor in the next
// one.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type Harness, harness } from "../../sdk/testing.ts";
import { some } from "../support/runs.ts";
import { viewTest } from "../support/view.ts";

const CANARY = "the-frozen-canary";
const ALL = { read: true, write: true, run: true, net: true, env: true } as const;
const FILES = {
  "keep/frozen/f.ts": `export const ${"canary"} = "${CANARY}";\n`,
  "keep/frozen/in/g.txt": `${CANARY}\n`,
  "keep/a.txt": "a\n",
  "b.txt": "b\n",
};

type Call = [tool: string, args: object] | string; // a text is a command
/** Each row is what is called in turn. ROOT stands for the project's folder. */
const WRITES: Call[][] = [
  ["echo x > twin.ts"],
  ["cp b.txt twin.ts"],
  ["mv keep moved", "echo x > moved/frozen/f.ts"],
  ["mv keep moved", ["write_file", { path: "moved/frozen/f.ts", content: "x\n" }]],
  ["mv keep/frozen moved", "echo x > moved/f.ts"],
  [`node -e 'fs.renameSync("keep", "moved")'`, "echo x > moved/frozen/f.ts"],
  ["ln -s keep/frozen way", "echo x > way/f.ts"],
  ["echo x > link/new.txt"],
  ["echo x > /proc/self/root$PWD/keep/frozen/f.ts"],
  ["chmod 777 keep/frozen/f.ts"],
  ["rm -rf keep"],
  [["write_file", { path: "twin.ts", content: "x\n" }]],
  [["edit_file", { path: "twin.ts", old_string: CANARY, new_string: "x" }]],
  [["write_file", { path: "link/f.ts", content: "x\n" }]],
  [["write_file", { path: "/proc/self/rootROOT/keep/frozen/f.ts", content: "x\n" }]],
  [["write_file", { path: "KEEP/Frozen/f.ts", content: "x\n" }]],
  [["delete_file", { path: "twin.ts" }]],
  [["move_file", { from: "b.txt", to: "keep/frozen/b.txt" }]],
  [["move_file", { from: "keep/frozen/f.ts", to: "f.ts" }]],
];
const READS: Call[][] = [
  ["cat twin.ts"],
  ["sort deep/twin.txt b.txt > out.txt", ["read_file", { path: "out.txt" }]],
  ["ln twin.ts again.ts", ["read_file", { path: "again.ts" }]],
  ["mv keep moved", "cat moved/frozen/f.ts"],
  ["mv keep moved", ["read_file", { path: "moved/frozen/f.ts" }]],
  ["cat link/f.ts"],
  ["cat /proc/self/root$PWD/keep/frozen/f.ts"],
  ["tar cf - . | cat"],
  ["git init -q . && git add -f . && git show :twin.ts"],
  [["read_file", { path: "twin.ts" }]],
  [["read_file", { path: "link/f.ts" }]],
  [["read_file", { path: "/proc/self/rootROOT/keep/frozen/f.ts" }]],
  [["read_file", { path: "KEEP/Frozen/f.ts" }]],
  [["grep", { query: "canary" }]],
  [["find_definition", { symbol: "canary" }]],
  [["repo_map", {}]],
  [["move_file", { from: "twin.ts", to: "c.ts" }], ["read_file", { path: "c.ts" }]],
]; // biome-ignore format: a table

async function frozen(t: TestContext, kind: "read" | "write", name = "keep/frozen") {
  const deny = { [kind]: [name] };
  const zz = await harness({ own: true, files: FILES, allow: ALL, deny, answer: "nobody" }, t);
  const at = (name: string) => join(zz.root, name);
  fs.mkdirSync(at("deep"));
  fs.linkSync(at("keep/frozen/f.ts"), at("twin.ts"));
  fs.linkSync(at("keep/frozen/in/g.txt"), at("deep/twin.txt"));
  fs.symlinkSync("keep/frozen", at("link"));
  return zz;
}

async function inTurn(zz: Harness, calls: Call[]): Promise<string> {
  const texts: string[] = [];
  for (const given of calls) {
    const [tool, args] = typeof given === "string" ? ["run_command", { command: given }] : given;
    const named = JSON.parse(JSON.stringify(args).replace("ROOT", zz.root));
    const { text, data } = await zz.call(tool as string, named);
    texts.push(text, JSON.stringify(data ?? ""));
  }
  return texts.join("\n");
}

describe("what is denied to be written stays as it is", () => {
  for (const calls of some(WRITES, 4))
    viewTest(JSON.stringify(calls), async (t) => {
      const zz = await frozen(t, "write");
      const names = ["f.ts", "in/g.txt"];
      const open = names.map((name) => fs.openSync(join(zz.root, "keep/frozen", name), "r"));
      const states = () =>
        open.map((fd) => [fs.fstatSync(fd).size, fs.fstatSync(fd).mtimeMs, fs.fstatSync(fd).mode]);
      const before = JSON.stringify(states());
      const said = await inTurn(zz, calls);
      equal(JSON.stringify(states()), before, said);
      deepEqual(fs.readdirSync(join(zz.root, "keep/frozen")).sort(), ["f.ts", "in"], said);
      for (const [i, name] of names.entries())
        equal(
          fs.statSync(join(zz.root, "keep/frozen", name)).ino,
          fs.fstatSync(open[i]!).ino,
          said,
        );
      for (const fd of open) fs.closeSync(fd);
    });
});

describe("what is denied to be read is shown nowhere", () => {
  for (const calls of some(READS, 4))
    viewTest(JSON.stringify(calls), async (t) => {
      const zz = await frozen(t, "read");
      doesNotMatch(await inTurn(zz, calls), new RegExp(CANARY));
    });
});

viewTest(
  "what is made where a denial names what is not there yet is named, and the command failed",
  async (t) => {
    for (const command of [
      "mkdir late; echo x > late/f.txt",
      "mkdir m; touch m/f.txt; mv m late",
      "ln -s keep late",
    ]) {
      const zz = await frozen(t, "write", "late");
      const { text, failed } = await zz.call("run_command", {
        command: `node -e 'process.exitCode=0'; ${command}`,
      });
      match(
        text,
        /^Refused: write access to "late.*is denied|\[It made '.*\/late', which the rules forbid\. Look at it\.\]/m,
      );
      ok(failed);
    }
  },
);

test("however the denial is spelled, it holds for every name of the file, and for no other file", async (t) => {
  const spelled = "./keep/frozen/ keep/../keep//frozen link fro* **/frozen/** keep/*/f.ts".split(
    " ",
  );
  for (const name of [...spelled, "keep/frozen/f.ts", "f.ts*", "keep/froze?"])
    for (const kind of ["read", "write"] as const) {
      const { permissions } = (await frozen(t, kind, name)).ctx;
      const verdicts = "twin.ts link/f.ts keep/frozen/f.ts b.txt keep/a.txt new.ts"
        .split(" ")
        .map((file) => permissions.judge(kind, file).verdict === "deny");
      deepEqual(verdicts, [true, true, true, false, false, false], `${kind} ${name}`);
    }
});

test("without a sandbox, what names a denied file or a folder around it is asked for, whatever is allowed", async (t) => {
  const settings = { shell: { sandbox: "off" } };
  const deny = { write: ["keep/frozen"] };
  const zz = await harness(
    { own: true, files: FILES, allow: ALL, deny, settings, answer: "nobody" },
    t,
  );
  fs.linkSync(join(zz.root, "keep/frozen/f.ts"), join(zz.root, "hard"));
  for (const command of `cp b.txt keep/frozen/f.ts § rm keep/frozen/f.ts § mv keep moved
    truncate -s0 hard § dd of=hard § cd keep && rm frozen/f.ts § dd if=b.txt of=keep/frozen/f.ts
    rm ./keep/../keep/frozen/in/g.txt`.split(/ § |\n */))
    match(
      (await zz.call("run_command", { command })).text,
      /^Refused: .*it names what --deny-write=keep\/frozen covers/,
      command,
    );
  for (const command of ["cp b.txt c.txt", "mv keep/a.txt d.txt", "node -e 1"])
    equal((await zz.call("run_command", { command })).failed ?? false, false, command);
});
