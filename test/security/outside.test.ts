// What reaches beyond the project, or beyond zz: a refusal names all flags that lift it, and
// --clean lets no control character out.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { place, zz } from "../support/run.ts";

const edits = (names: string[]) => {
  const parts = names.map((name) => `*** Add File: ${name}\n+x`);
  return { patch: ["*** Begin Patch", ...parts, "*** End Patch"].join("\n") };
};
const many = (name: (i: number) => string): string[] =>
  Array.from({ length: 8 }, (_, i) => name(i));
const starts = many((i) => `${i}/.vscode/tasks.json`);
const REFUSED: [what: string, given: string[], tool: string, args: object][] = [
  ["a file", [], "write_file", { path: "a", content: "x" }],
  ["a file with a blank in its name", [], "write_file", { path: "a b", content: "x" }],
  ["a file with a comma in its name", [], "write_file", { path: "a,b", content: "x" }],
  ["eight files", [], "apply_patch", edits(many((i) => `${i}.txt`))],
  ["two start files", [], "apply_patch", edits(starts.slice(0, 2))],
  ["eight start files", [], "apply_patch", edits(starts)],
  ["eight start files", ["--allow-write"], "apply_patch", edits(starts)],
  ["a start file", ["--allow-write"], "apply_patch", edits(starts.slice(0, 1))],
  ["a start file", ["--allow-write=a"], "apply_patch", edits(starts.slice(0, 1))],
  ["start files and others", ["--allow-write=a"], "apply_patch", edits(["a", "b", ...starts])],
  ["a file elsewhere", ["-A"], "write_file", { path: "../out", content: "x" }],
  ["a file elsewhere", ["--allow-write"], "write_file", { path: "../out", content: "x" }],
  ["a file elsewhere", ["--allow-write=a"], "write_file", { path: "../out", content: "x" }],
  ["one with a comma elsewhere", ["-A"], "write_file", { path: "../d/o,t", content: "x" }],
  ["a secret file", [], "read_file", { path: ".env" }],
  ["a secret file", ["--allow-read=a"], "read_file", { path: ".env" }],
  ["a file read elsewhere", [], "read_file", { path: "../in.txt" }],
  ["a file read elsewhere", ["--allow-write"], "read_file", { path: "../in.txt" }],
  ["a folder elsewhere", [], "list_files", { path: ".." }],
  ["a secret that is changed", [], "edit_file", { path: ".env", old_string: "K", new_string: "L" }],
  ["one elsewhere", ["-A"], "edit_file", { path: "../in.txt", old_string: "i", new_string: "o" }],
  ["one elsewhere", [], "edit_file", { path: "../in.txt", old_string: "i", new_string: "o" }],
  ["one elsewhere", [], "edit_lines", { path: "../in.txt", start: 1, end: 1, content: "x" }],
  ["one elsewhere", [], "write_file", { path: "../in.txt", content: "x\n" }],
  ["a deleted file", [], "delete_file", { path: ".env" }],
  ["a command", [], "run_command", { command: "git push" }],
  ["a command with a comma", [], "run_command", { command: "git push a,b" }],
];
for (const [what, given, tool, args] of REFUSED)
  test(`a refusal names flags that are enough, and none that is given: ${tool}, ${what} (${given})`, async () => {
    const where = place({ ".env": "K=1\n" });
    writeFileSync(join(where.cwd, "..", "in.txt"), "in\n");
    const call = ["--call", tool, JSON.stringify(args)];
    const refused = await zz(where, [...given, ...call]);
    const read = () => readFileSync(join(where.cwd, "..", "in.txt"), "utf8");
    deepEqual([refused.code, read()], [4, "in\n"], refused.stderr);
    const [, named = ""] = /run again with (.*)\.$/m.exec(refused.stderr) ?? [];
    const flags =
      named.match(/(?:[^\s']|'[^']*')+/g)?.map((flag) => flag.replaceAll("'", "")) ?? [];
    equal(flags.length > 0 && flags.every((flag) => !given.includes(flag)), true, refused.stderr);
    const ran = await zz(where, [...given, ...flags, ...call]);
    doesNotMatch(ran.stderr, /Refused/, `${flags}`);
    if (/^(edit|write)/.test(tool) && /in\.txt/.test(call[2]!)) equal(read() === "in\n", false);
  });

test("--clean: what a model writes into a pipe moves no terminal that reads it", async (t) => {
  const said =
    "a\x1b]0;title\x07b\x1b[2Jc\u202ed\x1b[8mhidden\x1b[0m\x1b]8;;https://x.example\x1b\\e\x1b]8;;\x1b\\";
  const fake = await fakeOpenAI(Array(2).fill(say(said)));
  t.after(fake.close);
  const args = ["--once", "-m", "openai/m", "--base-url", fake.url, "--key", "x", "hi"];
  equal((await zz(place(), args)).stdout, `${said}\n`);
  match((await zz(place(), ["--clean", ...args])).stdout, /^[\x20-\x7e\n␛␇�\u2400-\u24ff]+$/u);
});
