// --context TEXT|@FILE: what the model is told by whoever starts zz.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";

function having(files: Record<string, string | Buffer>): Place {
  const where = place();
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(where.cwd, name)), { recursive: true });
    writeFileSync(join(where.cwd, name), content);
  }
  return where;
}
const layer = (text: string): string | undefined =>
  /^--- CONTEXT ---\n([\s\S]*?)\n--- END CONTEXT ---$/m.exec(text)?.[1];

for (const [what, args, files, text] of [
  ["a text", ["--context", "The build is red."], {}, "The build is red."],
  ["a file", ["--context", "@notes.md"], { "notes.md": "\ufeff# Notes\n\nö\n" }, "# Notes\n\nö"],
  ["a file with a name that is odd", ["--context=@a b/@c"], { "a b/@c": "c" }, "c"],
  [
    "several, in order",
    ["--context", "one", "--context=@b", "--context", "three"],
    { b: "two\n" },
    "one\n\ntwo\n\nthree",
  ],
  ["a secret, since the person chose it", ["--context", "@.env"], { ".env": "K=1\n" }, "K=1"],
  ["a denied file, since the person chose it", ["--context", "@a", "--deny-read"], { a: "x" }, "x"],
  ["what lies outside", ["--context", "@../notes"], { "../notes": "far" }, "far"],
  ["a text that begins with @", ["--context", " @alice asks"], {}, "@alice asks"],
  ["an empty file: nothing", ["--context", "@a"], { a: "\n" }, undefined],
  ["none: nothing", [], {}, undefined],
] as [string, string[], Record<string, string>, string | undefined][])
  test(`--context tells the model ${what}`, async (t) => {
    const fake = await fakeOpenAI([call(["list_dir", {}]), say("x")]);
    t.after(fake.close);
    const ran = await zz(having(files), ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args, "hi"]);
    deepEqual([ran.code, ran.stdout, ran.stderr], [args.includes("--deny-read") ? 4 : 0, "x\n", ran.stderr]);
    for (const { body } of fake.requests) equal(layer(body.messages[0].content), text);
    equal(fake.requests.length, 2);
  });

test("--context is read in the folder that --cwd names, and zz --prompt shows it before what changes every turn", async () => {
  const where = having({ "sub/notes": "of sub", notes: "of the top" });
  const { stdout } = await zz(where, ["--cwd", "sub", "--prompt", "--context", "@notes"]);
  equal(layer(stdout), "of sub");
  ok(stdout.indexOf("--- SESSION") < stdout.indexOf("--- CONTEXT"));
  ok(stdout.indexOf("--- CONTEXT") < stdout.indexOf("--- RUNTIME"));
});

test("Of a long --context the model is told head and tail, with a marker", async () => {
  const { stdout } = await zz(having({ a: `HEAD${"x".repeat(100_000)}TAIL` }), ["--prompt", "--context", "@a"]);
  const text = layer(stdout)!;
  match(text, /^HEADx+\n\[… 71208 characters left out …\]\nx+TAIL$/);
  ok(text.length < 8_000 * 4);
});

const big = place();
mkdirSync(join(big.cwd, "folder"));
writeFileSync(join(big.cwd, "bin"), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0]));
writeFileSync(join(big.cwd, "latin"), Buffer.from("caf\xe9\n", "latin1"));
writeFileSync(join(big.cwd, "shut"), "x");
chmodSync(join(big.cwd, "shut"), 0);
execFileSync("mkfifo", [join(big.cwd, "fifo")]);
writeFileSync(join(big.cwd, "large"), "");
truncateSync(join(big.cwd, "large"), 1024 * 1024 + 1);
for (const [given, says] of [
  ["@none", "'@none': no such file. Check the path; a text that begins with @ needs a space before it."],
  ["@bin/x", "'@bin/x': a part of the path is not a folder. Check the path."],
  ["@folder", "'@folder': it is a folder. Name a file."],
  ["@", "'@': it names no file. Write it as @FILE."],
  ["@fifo", "'@fifo': it is not a regular file. Name another."],
  ["@bin", "'@bin': it is not text (UTF-8). Name a text file."],
  ["@latin", "'@latin': it is not text (UTF-8). Name a text file."],
  ["@large", "'@large': 1048577 bytes are too many (1 MB). Cut it down first."],
  ["  ", "'  ': it is empty. Give it a text, or @FILE."],
  ...(process.getuid?.() === 0 ? [] : [["@shut", "'@shut': permission denied. Check its mode."]]),
] as [string, string][])
  test(`--context '${given}' is refused before anything is sent`, async () => {
    const ran = await zz(big, [
      "-m",
      "openai/m",
      "--base-url",
      "http://127.0.0.1:49",
      "--key",
      "x",
      `--context=${given}`,
      "hi",
    ]);
    deepEqual([ran.code, ran.stdout, ran.stderr], [2, "", `Cannot use --context ${says}\n`]);
  });

test("--context without a value is wrong usage", async () => {
  const { code, stderr } = await zz(place(), ["--context"]);
  deepEqual([code, stderr], [2, "Flag --context needs a value: --context TEXT|@FILE.\n"]);
});
