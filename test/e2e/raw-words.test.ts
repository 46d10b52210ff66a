// What the disk says reaches nobody in its own words: each way in that takes a path, with each path
// that cannot be used.
import { doesNotMatch, equal, notEqual } from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { errnoSentence, sentenceOf } from "../../kernel/text/faults.ts";
import { place, zz } from "../support/run.ts";

const RAW = /\bE[A-Z]{3,}\b|errno|syscall|\bZ_[A-Z]+|incorrect header|fetch failed|\n {4}at /;

const PATHS = [
  "folder",
  "file.txt/in",
  "loop",
  "loop/in",
  "n".repeat(300),
  "missing",
  "missing/in",
];
const call = (tool: string, args: (path: string) => object) => (path: string) => [
  "--call",
  tool,
  JSON.stringify(args(path)),
  "-A",
];
const WAYS: [what: string, args: (path: string) => string[]][] = [
  ["read_file", call("read_file", (path) => ({ path }))],
  ["write_file", call("write_file", (path) => ({ path, content: "y\n" }))],
  ["delete_file", call("delete_file", (path) => ({ path }))],
  ["list_dir", call("list_dir", (path) => ({ path }))],
  ["an attached file", (path) => ["--file", path, "hi"]],
  ["--replay", (path) => ["--replay", path, "hi"]],
  ["--record", (path) => ["--record", path, "--replay", path, "hi"]],
  ["--context", (path) => ["--context", `@${path}`, "hi"]],
  ["--attachment", (path) => ["--attachment", path, "hi"]],
  ["--audit", (path) => ["--audit", path, "--call", "list_dir", "{}"]],
  ["--debug", (path) => [`--debug=${path}`, "--call", "list_dir", "{}"]],
  ["--config", (path) => ["--config", path, "--call", "list_dir", "{}"]],
  ["--check-plugin", (path) => ["--check-plugin", path]],
  ["--home", (path) => ["--home", path, "--undo"]],
  ["--schema", (path) => ["--schema", path, "hi"]],
  ["--functions", (path) => ["--functions", path, "hi"]],
  ["--plugin", (path) => ["--plugin", path, "hi"]],
  ["--cwd", (path) => ["--cwd", path, "--call", "list_dir", "{}"]],
];
for (const [what, args] of WAYS)
  test(`No raw words of the disk: ${what}`, async () => {
    const where = place({ "file.txt": "x\n", "folder/in.txt": "x\n" });
    symlinkSync("loop", join(where.cwd, "loop"));
    for (const path of PATHS) {
      const { stdout, stderr } = await zz(where, args(path));
      notEqual(stdout + stderr, "");
      doesNotMatch(stdout + stderr, RAW, path);
    }
  });

const CODES =
  `ENOENT EACCES EPERM EROFS ENOSPC EDQUOT EMFILE ENFILE EISDIR ENOTDIR ELOOP ENAMETOOLONG EBUSY ETXTBSY EXDEV EEXIST ENOTEMPTY
  EFBIG EIO ESTALE E2BIG ENOMEM EAGAIN ENXIO ENODEV EMLINK EINVAL ENOEXEC`.split(/\s+/);
test("Each fault of the disk has its sentence", () => {
  for (const code of CODES) {
    const error = Object.assign(new Error(`${code}: raw words, write`), { code, syscall: "write" });
    notEqual(errnoSentence(error), "", code);
    doesNotMatch(sentenceOf(error), RAW, code);
    equal(
      sentenceOf(Object.assign(error, { syscall: "spawn" })),
      `Cannot start it: ${errnoSentence(error)}`,
    );
  }
});
