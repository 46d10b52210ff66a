// Temporary folders tell whose they are: what a process left that was killed goes, and nothing else
// does.
import { deepEqual, equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, test } from "node:test";
import {
  processStartTime,
  removeTree,
  temporaryFolder,
} from "../../kernel/system/temporary-files.ts";

const base = fs.mkdtempSync(join(tmpdir(), "zz-test-"));
after(() => removeTree(base));

test("temporaryFolder() removes what killed processes left, and only that", {
  skip: process.platform !== "linux",
}, () => {
  const ended = spawnSync(process.execPath, ["-p", "process.pid"], {
    encoding: "utf8",
  }).stdout.trim();
  const [own, start] = [process.pid, processStartTime(process.pid)];
  const here = /\d+/.exec(fs.readlinkSync("/proc/self/ns/pid"))![0];
  const ROWS: [name: string, goes: boolean, days?: number][] = [
    [`zz-edit.${ended}.${start}.${here}.abcdef`, true],
    [`zz-sandbox.${own}.1.${here}.abcdef`, true], // an earlier process with this number
    [`zz-sandbox.${own}.${start}.${here}.abcdef`, false],
    [`zz-rg.${ended}.${start}.1.abcdef`, false], // of another container
    [`zz-rg.${ended}.${start}.1.ghijkl`, true, 2],
    [`zz-edit-${ended}`, false],
    [`zz-edit.${ended}`, false],
    [`my-zz-edit.${ended}.${start}.${here}.abcdef`, false],
  ];
  for (const [name, , days] of ROWS) {
    fs.mkdirSync(join(base, name, "in", "shut"), { recursive: true });
    fs.chmodSync(join(base, name, "in"), 0);
    const at = Date.now() / 1_000 - (days ?? 0) * 86_400;
    fs.utimesSync(join(base, name), at, at);
  }
  fs.writeFileSync(join(base, `zz-file.${ended}.${start}.${here}.abcdef`), "");
  fs.symlinkSync(base, join(base, `zz-link.${ended}.${start}.${here}.abcdef`));
  const made = temporaryFolder("edit", base);
  match(basename(made), new RegExp(`^zz-edit\\.${own}\\.${start}\\.${here}\\.\\w{6}$`));
  const left = ROWS.flatMap(([name, goes]) => (goes ? [] : name));
  const others = ["file", "link"].map((what) => `zz-${what}.${ended}.${start}.${here}.abcdef`);
  deepEqual(fs.readdirSync(base).sort(), [...left, ...others, basename(made)].sort());
});

test("Off Linux a process runs if a signal reaches it, or may not", (t) => {
  const platform = Object.getOwnPropertyDescriptor(process, "platform")!;
  t.after(() => Object.defineProperty(process, "platform", platform));
  Object.defineProperty(process, "platform", { value: "darwin" });
  equal(processStartTime(process.pid), "alive");
  for (const [code, runs] of [
    ["EPERM", "alive"],
    ["ESRCH", ""],
  ]) {
    t.mock.method(process, "kill", () => {
      throw Object.assign(new Error(), { code });
    });
    equal(processStartTime(1), runs);
  }
});
