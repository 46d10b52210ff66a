// What is too much for a question is neither compared nor drawn, and nobody can say yes to it; of a
// large file its differences are shown.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Zz } from "zz";
import { unifiedDiff } from "../../kernel/changes/preview-change.ts";
import { harness } from "../../sdk/testing.ts";

const LINE = "hello\n";
const MANY = LINE.repeat(1_500_000); // 9 MB
const at = (line: number, text: string): string =>
  `${MANY.slice(0, (line - 1) * LINE.length)}${text}\n${MANY.slice(line * LINE.length)}`;
const long = (bytes: number) =>
  new RegExp(`^Refused: put asks for more than anyone can review at once \\(${bytes} bytes\\)\\.`);

/** before and after; what the question shows, or what the model is told. */
const ROWS: [
  what: string,
  before: string | undefined,
  after: string | undefined,
  expected: RegExp,
][] = [
  ["zeros", undefined, "\0".repeat(9_000_000),
    /┃ create f · .*not text\n┃ {5}1 \+ 9000000 bytes\n/],
  ["zeros that go", "\0".repeat(9_000_000), undefined,
    /┃ delete f · .*not text\n┃ {5}1 - 9000000 bytes\n/],
  ["zeros after a text", undefined, `${"a".repeat(9_000)}${"\0".repeat(9_000_000)}`,
    long(9_009_000)],
  ["one line", undefined, "a".repeat(9_000_000), long(9_000_000)],
  ["many lines", undefined, MANY, long(9_000_000)],
  ["many empty lines", undefined, "\n".repeat(200_000), long(200_000)],
  ["one line more", MANY, `${MANY}x\n`,
    /lines 1499998–1500001 · \+1 −0\n(┃ 1\d{6} {3}hello\n){3}┃ 1500001 \+ x\n/],
  ["a line amid", MANY, at(1_000_000, "wörld"),
    /lines 999997–1000003 · \+1 −1\n(.*\n){3}┃ 1000000 \+ wörld\n/],
  ["all lines", MANY, MANY.replaceAll("hello", "world"), long(18_000_000)],
  ["a line of 9 MB, by a character", "a".repeat(9_000_000), `${"a".repeat(8_999_999)}b`,
    long(18_000_000)],
]; // biome-ignore format: a table

for (const [what, before, after, expected] of ROWS)
  test(`A question of a large file shows its differences, or is none: ${what}`, async (t) => {
    const put = (zz: Zz) =>
      zz.tool({
        name: "put",
        description: "Puts it there.",
        changes: true,
        async run(_, { files }) {
          if (before !== undefined) await files.read("f");
          await (after === undefined ? files.remove("f") : files.write("f", after));
          return "Done.";
        },
      });
    const zz = await harness({ own: true, plugins: [put] }, t);
    if (before !== undefined) writeFileSync(join(zz.root, "f"), before);
    const { text } = await zz.call("put");
    const [question = ""] = zz.questions;
    match(question || text, expected);
    doesNotMatch(question, /.{1000}/);
    equal(zz.questions.length > 0, !/^Refused: put asks/.test(text));
  });

for (const [changed, kept] of [
  [1_990, true],
  [2_010, false],
] as const)
  test(`Of ${changed} changed lines those between are ${kept ? "kept" : "shown as new"}, however busy the machine is`, async () => {
    const text = (what: string) =>
      Array.from({ length: changed }, (_, i) => `${what} ${i}\n=${i}\n`);
    const [before, after] = [text("a").join(""), text("b").join("")];
    equal(/^ =7$/m.test(await unifiedDiff({ path: "f", before, after })), kept);
  });
