// --context TEXT|@FILE: what the model is told by whoever starts zz.
import { deepEqual, match, ok } from "node:assert/strict";
import { truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, say } from "../support/fake/openai.ts";
import { asks, having } from "../support/having.ts";
import { zz } from "../support/run.ts";

const layer = (text: string): string | undefined =>
  /^--- CONTEXT ---\n([\s\S]*?)\n--- END CONTEXT ---$/m.exec(text)?.[1];

for (const [what, args, files, text] of [
  ["a text", ["--context", "The build is red."], {}, "The build is red."],
  ["a file", ["--context", "@notes.md"], { "notes.md": "\ufeff# Notes\n\nö\n" }, "# Notes\n\nö"],
  ["several", ["--context", "one", "--context=@b", "--context", "3"], { b: "two\n" },
    "one\n\ntwo\n\n3"],
  ["a secret, since the person chose it", ["--context", "@.env"], { ".env": "K=1\n" }, "K=1"],
  ["a text that begins with @", ["--context", " @alice asks"], {}, "@alice asks"],
  ["an empty file: nothing", ["--context", "@a"], { a: "\n" }, undefined],
] as [string, string[], Record<string, string>, string | undefined][]) // biome-ignore format: a table
  test(`--context tells the model ${what}`, async () => {
    const { code, stdout, sent } = await asks(
      having(files),
      [call(["list_dir", {}]), say("x")],
      [...args, "hi"],
    );
    deepEqual([code, stdout], [0, "x\n"]);
    const layers = sent.map(({ messages }) => layer(messages[0].content));
    deepEqual(layers, [text, text]);
  });

test("--context is read in the folder that --cwd names, cut if it is long, and shown before what changes every turn", async () => {
  const where = having({ "sub/notes": `HEAD${"x".repeat(100_000)}TAIL`, notes: "of the top" });
  const { stdout } = await zz(where, ["--cwd", "sub", "--prompt", "--context", "@notes"]);
  match(layer(stdout)!, /^HEADx+\n\[… 71208 characters left out …\]\nx+TAIL$/);
  ok(stdout.indexOf("--- SESSION") < stdout.indexOf("--- CONTEXT"));
  ok(stdout.indexOf("--- CONTEXT") < stdout.indexOf("--- RUNTIME"));
});

const big = having({
  "folder/x": "",
  latin: Buffer.from("caf\xe9\n", "latin1"),
  fifo: "|",
  large: "",
});
truncateSync(join(big.cwd, "large"), 1024 * 1024 + 1);
for (const [given, says] of [
  ["@none",
    "'@none': no such file. Check the path; a text that begins with @ needs a space before it."],
  ["@fifo", "'@fifo': it is not a regular file. Name another."],
  ["@latin", "'@latin': it is not text (UTF-8). Name a text file."],
  ["@large", "'@large': 1048577 bytes are too many (1 MB). Cut it down first."],
  ["  ", "'  ': it is empty. Give it a text, or @FILE."],
] as [string, string][]) // biome-ignore format: a table
  test(`--context '${given}' is refused before anything is sent`, async () => {
    const model = ["-m", "openai/m", "--base-url", "http://127.0.0.1:49", "--key", "x"];
    const ran = await zz(big, [...model, `--context=${given}`, "hi"]);
    deepEqual([ran.code, ran.stdout, ran.stderr], [2, "", `Cannot use --context ${says}\n`]);
  });
