// Other programs' names for zz's tools, wherever a person or a plugin names one.
import { equal, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { place, zz } from "../../../../test/support/run.ts";
import { sit } from "../../../../test/support/sit.ts";

describe("--call takes other programs' names, with their arguments", () => {
  for (const [name, args, says] of [
    ["Bash", { command: "cat a.txt", description: "Show it" }, /^one\ntwo\n/],
    ["bash", { cmd: "cat a.txt" }, /^one\ntwo\n/],
    ["shell", { command: ["bash", "-lc", "cat a.txt"] }, /^one\ntwo\n/],
    ["run_shell_command", { command: "cat a.txt" }, /^one\ntwo\n/],
    ["exec_command", { cmd: "cat a.txt" }, /^one\ntwo\n/],
    ["Read", { file_path: "a.txt" }, /1.*one/],
    ["view", { path: "a.txt", view_range: [2, 2] }, /2.*two/],
    ["Write", { file_path: "b.txt", content: "new" }, /^Created b\.txt/],
    ["Edit", { file_path: "a.txt", old_string: "one", new_string: "1" }, /^Edited a\.txt/],
    ["replace", { file_path: "a.txt", old_string: "one", new_string: "1" }, /^Edited a\.txt/],
    ["Grep", { pattern: "two" }, /a\.txt/],
    ["search_file_content", { pattern: "two" }, /a\.txt/],
    ["Glob", { pattern: "*.txt" }, /a\.txt/],
    ["LS", { path: "." }, /a\.txt/],
    ["list_directory", { path: "." }, /a\.txt/],
  ] as [string, object, RegExp][])
    test(name, async () => {
      const where = place({ "a.txt": "one\ntwo\n" });
      const { code, stdout, stderr } = await zz(where, [
        "-A",
        "--call",
        name,
        JSON.stringify(args),
      ]);
      equal(code, 0, stderr);
      match(stdout, says);
    });

  for (const [name, args, says] of [
    ["grep", { pattern: "two" }, /^a\.txt:2: two/],
    ["grep", { regex: "t.o", output_mode: "content", "-n": true }, /^a\.txt:2: two/],
    ["grep", { regex: "t.o" }, /^a\.txt:2: two/],
    ["grep", { pattern: "TWO", "-i": true, include: "*.txt" }, /^a\.txt:2: two/],
    ["read_file", { file_path: "a.txt" }, /1.*one\n2.*two/],
    ["read_file", { file_path: "a.txt", offset: 2, limit: 1 }, /^2.*two/],
    ["read_file", { file_path: "a.txt", view_range: [1, 1] }, /^1.*one/],
    ["glob", { query: "*.txt" }, /^a\.txt/],
    ["glob", { patterns: ["*.txt"], path: "." }, /^a\.txt/],
    ["list_dir", { directory: "src" }, /^b\.ts/],
    ["list_dir", { relative_workspace_path: "src" }, /^b\.ts/],
    ["find_references", { symbol_name: "two" }, /b\.ts/],
    ["get_structure", { file_path: "src/b.ts" }, /^src\/b\.ts · 1 line .*\n.*two/],
  ] as [string, object, RegExp][])
    test(`zz's own ${name} with ${JSON.stringify(args)}`, async () => {
      const where = place({ "a.txt": "one\ntwo\n", "src/b.ts": "export const two = 2;\n" });
      const given = ["--call", name, JSON.stringify(args)];
      const { code, stdout, stderr } = await zz(where, given);
      equal(code, 0, stderr);
      match(stdout, says);
      equal(stdout.includes("[Ignored"), false, stdout);
    });

  for (const [name, args, misses] of [
    ["write_file", { file_path: "n.txt", contents: "x" }, "path"],
    ["create_file", { file_path: "n.txt", file_text: "x" }, "path"],
    ["edit_file", { file_path: "a.txt", old_str: "one", new_str: "1" }, "path"],
    ["edit_lines", { file_path: "a.txt", start_line: 1, content: "x" }, "path"],
    ["delete_file", { file: "a.txt" }, "path"],
    ["move_file", { source: "a.txt", destination: "b.txt" }, "from"],
    ["run_command", { cmd: "rm a.txt" }, "command"],
  ] as [string, object, string][])
    test(`what changes things takes its own words alone: ${name}`, async () => {
      const where = place({ "a.txt": "one\n" });
      const given = ["-A", "--call", name, JSON.stringify(args)];
      const { code, stderr } = await zz(where, given);
      equal(code, 2);
      match(stderr, new RegExp(`^Cannot call '${name}': .*${misses}`));
      equal(readFileSync(join(where.cwd, "a.txt"), "utf8"), "one\n");
    });

  test("a name that nobody has is refused as before", async () => {
    const { code, stderr } = await zz(place(), ["--call", "Frobnicate", "{}"]);
    match(stderr, /^Cannot call 'Frobnicate': there is no tool 'Frobnicate'\. There are: /);
    equal(code, 2);
  });
});

test("-T, /tools and the settings of helpers and tools take them, too", async (t) => {
  const refused = await zz(place(), ["-T", "Frobnicate", "hi"]);
  match(refused.stderr, /^Cannot offer 'Frobnicate': there is no tool/);
  const { stdout } = await zz(place(), ["-T", "Bash", "-T", "LS", "--tools", "--json"]);
  equal(
    JSON.parse(stdout)
      .map(({ name }: { name: string }) => name)
      .join(),
    "list_dir,run_command",
  );
  const tools = ["Bash"];
  const script = [{ call: ["task", { question: "q" }] as [string, object] }, "done"];
  const { it, tells } = await sit(t, { settings: { helpers: { tools } }, script, answer: "yes" });
  await tells("/tools Bash", "run_command");
  const unknown = "There is no tool 'Frobnicate'";
  await tells("/tools Frobnicate", unknown);
  await it.ask("hello");
  equal(
    it.requests[1]!.tools.some(({ name }) => name === "run_command"),
    true,
  );
});
