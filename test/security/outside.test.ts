// What reaches beyond the project, or beyond zz: a refusal names all flags that lift it, and
// --clean lets no control character out.
import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { place, zz } from "../support/run.ts";

for (const [tool, args, after] of [
  ["edit_file", { path: "../out.txt", old_string: "one", new_string: "two" }, "two\n"],
  ["write_file", { path: "../out.txt", content: "two\n" }, "two\n"],
  ["edit_lines", { path: "../out.txt", start: 1, end: 1, content: "two" }, "two\n"],
] as const)
  test(`a refused ${tool} outside of the project runs with the flags that the refusal names`, async () => {
    const where = place();
    const file = join(where.cwd, "..", "out.txt");
    writeFileSync(file, "one\n");
    const call = ["--call", tool, JSON.stringify(args)];
    const refused = await zz(where, call);
    const flags = /run again with (.*)\.$/m.exec(refused.stderr)?.[1]?.split(" ") ?? [];
    deepEqual(
      [refused.code, flags.length, readFileSync(file, "utf8")],
      [4, 2, "one\n"],
      refused.stderr,
    );
    const ran = await zz(where, [...flags, ...call]);
    deepEqual([ran.code, readFileSync(file, "utf8")], [0, after], ran.stderr);
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
