// What an index meets that nobody wishes for: other encodings, very large files, syntax of
// tomorrow, odd repositories, readers that are killed, and indexes of other versions. Each with an
// answer.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Harness } from "../../../sdk/testing.ts";
import { needs } from "../../../test/support/needs.ts";
import { INIT, shell } from "../../../test/support/repository.ts";
import { warm, warmCall } from "../../../test/support/warm.ts";
import { usesOf } from "../answers/uses.ts";
import { NoAnswer } from "../meaning/desk.ts";

async function ask(zz: Harness, tool: string, args: object): Promise<string> {
  const { text, failed } = await zz.call(tool, args);
  equal(failed, undefined, text);
  return text.trimEnd();
}
const find = (zz: Harness, symbol: string) => ask(zz, "find_definition", { symbol });

test("references: a place that cannot be located is told, and the others are asked for; another error ends the answer", async () => {
  const place = { column: 1, start: 0, end: 1, text: "a", kind: "read" } as const;
  const all = ["a.ts", "b.ts", "c.ts", "secret.ts"].map((path) => ({ path, line: 1, name: "a" }));
  const ask = async ({ path, line }: (typeof all)[number]) => {
    if (path === "b.ts") throw new NoAnswer("Cannot find 'a' at b.ts:1.");
    return [{ symbol: `a of ${path}`, places: [{ path, line, ...place }] }];
  };
  const { useGroups, unlocated } = await usesOf(all, ask, (file) => file !== "secret.ts");
  const symbols = useGroups.map(({ symbol }) => symbol);
  deepEqual(symbols, ["a of a.ts", "a of c.ts"]);
  deepEqual(unlocated, ["Cannot find 'a' at b.ts:1."]);
  const ends = () => Promise.reject(new Error("the thread ended"));
  await rejects(usesOf(all, ends, Boolean), /the thread ended/);
});

const SPAWN = 'import { spawn } from "node:child_process";\nspawn("a");\n';
for (const [what, files, args, expected] of /* biome-ignore format: one case a row */ [
  ["an import", { "1.ts": SPAWN, "2.ts": SPAWN }, { symbol: "spawn" }, "1:1 1:2 2:1 2:2"],
  ["where another file has the word in a pattern first", { "1.ts": "export const a = /[^spawn]/;\nexport const b = 'spawn';\n", "2.ts": SPAWN }, { symbol: "spawn" }, "2:1 2:2"],
] as [string, Record<string, string>, object, string][])
  test(`references of a name that the project takes from elsewhere are in all files: ${what}`, async () => {
    const { said: text } = await warmCall(files, "find_references", args);
    const places = Array.from(
      text.matchAll(/^(\d)\.ts:(\d+): /gm),
      ([, file, line]) => `${file}:${line}`,
    );
    equal(places.sort().join(" "), expected, text);
    equal(text.split("\n").length, places.length, text);
  });

test("get_structure of one file shows members however deep they are", async () => {
  const it = await warm({
    "a.rb": "module Shop\n  class Cart\n    def total\n      1\n    end\n  end\nend\n",
  });
  match(await ask(it, "get_structure", { path: "a.rb" }), /^ {4}3-5: /m);
  const shallow = await ask(it, "get_structure", { path: "a.rb", depth: 1 });
  match(shallow, /\n\[\d+ more deeper; a greater depth shows them\]$/);
});

test("lines are counted as everywhere else: a lone carriage return or a line separator begins none", async () => {
  const zz = await warm({
    "a.ts": "/* \u2028 */ // \u2029\nexport const first = 1;\n",
    "b.ts": "// x\r\nexport const second = 1;\r\nsecond;\n",
  });
  const said = async (symbol: string) => (await zz.call("find_references", { symbol })).text;
  equal(await said("first"), "a.ts:2: export const first = 1;  [definition]");
  equal(await said("second"), "b.ts:2: export const second = 1;  [definition]\nb.ts:3: second;");
});

needs("git")(
  "in the middle of a rebase: the files as they are, each once, with the conflict in them",
  async () => {
    const it = await warm({
      "a.ts": "export const first = 1;\n",
      "b.ts": "export const second = 1;\n",
    });
    const cwd = it.root;
    shell(
      cwd,
      `${INIT}; git config user.name a; git config user.email a@b.c; git add -A; git commit -qm one; git checkout -qb other
       printf 'export const first = 2;\nexport const theirs = 1;\n' > a.ts; git commit -qam two; git checkout -q trunk
       printf 'export const first = 3;\nexport const ours = 1;\n' > a.ts; git commit -qam three
       ! git rebase -q other`, // it stops at the conflict
    );
    match(fs.readFileSync(join(cwd, "a.ts"), "utf8"), /^<<<<<<< /m);
    equal(await find(it, "theirs"), "a.ts:3: export const theirs = 1");
    match(await find(it, "ours"), /^a\.ts:6: /);
    match(await ask(it, "find_references", { symbol: "first" }), /^a\.ts:2: (?:.*\n)+a\.ts:5: /m);
    match(await ask(it, "get_structure", {}), /^a\.ts .*\nb\.ts \(1\) second:1$/);
  },
);

test("types lead into a file in UTF-16, where nothing is renamed", async () => {
  const wide = 'import { base } from "./base.ts";\nexport const sixteen: number = base + 1;\n';
  const it = await warm({
    "base.ts": "export const base = 15;\n",
    "wide.ts": Buffer.from(`\ufeff${wide}`, "utf16le"),
    "use.ts": 'import { sixteen } from "./wide.ts";\nexport const sum: number = sixteen;\n',
    "tsconfig.json":
      '{"compilerOptions": {"strict": true, "allowImportingTsExtensions": true, "noEmit": true}}\n',
  });
  equal(await ask(it, "check_types", { paths: ["use.ts"] }), "No problems in 1 file.");
  const { text } = await it.call("rename_symbol", { symbol: "base", to: "other" });
  match(text, /wide\.ts' is UTF-16, which is not written\. Turn it into UTF-8 first\./);
});
