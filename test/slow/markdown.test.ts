// A megabyte of Markdown is rendered in less than a second, whatever it consists of.
import { ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stripVTControlCharacters as strip } from "node:util";
import { renderMarkdown } from "../../plugins/terminal/markdown.ts";
import { theme } from "../../plugins/terminal/theme.ts";
import { slowness } from "../support/machine.ts";
import { ROOT } from "../support/run.ts";

const SIZE = 1_000_000;
const MAX_MS = 1_000; // on a quiet machine
const DARK = theme("dark");
const source = readFileSync(join(ROOT, "zz.ts"), "utf8");

const upTo = (piece: (i: number) => string): string => {
  let text = "";
  for (let i = 0; text.length < SIZE; i++) text += piece(i);
  return text;
};
const PROSE = `## Heading of a part

Some **bold words** and *emphasis* with \`code\` and a [link](https://a.example/b) in a paragraph of words &amp; more that
goes on over several lines of the source, as it does here and there, until it ends.

- the first **item** of a list that is long enough to be wrapped at eighty columns, with \`code\` and a last word
- second
  - nested _one_

1. one
2. two

`;
const TABLE =
  "| Name | Type | Meaning |\n|---|:-:|--:|\n| `a` | **b** | words that make it wide enough to be wrapped |\n\n";

// [what, Markdown, its last word]
const KINDS: [string, string, string][] = [
  ["prose with lists and inline styles", upTo(() => PROSE), "two"],
  ["one block of code", `\`\`\`ts\n${upTo(() => source)}\nlast\n\`\`\``, "last"],
  [
    "a thousand tables and a thousand blocks of code",
    upTo((i) => `${TABLE}\`\`\`ts\n${source.slice(i * 40, i * 40 + 850)}\n\`\`\`\n\nwords\n\n`),
    "words",
  ],
  ["one list", upTo(() => "- item with **bold** and `code`\n"), "code"],
  ["one paragraph", upTo(() => "word and *em* `code` **b** "), "b"],
  ["one table", `| a | b **c** |\n|---|---|\n${upTo(() => "| some words here | `x` and more words |\n")}`, "words"],
  ["a text without spaces", upTo(() => "日本語のテキスト、"), "、"],
  ["letters beyond ASCII", upTo(() => "zażółć gęślą jaźń — „tak” "), "„tak”"],
];
for (const [what, markdown, last] of KINDS)
  test(`1 MB: ${what}`, (t) => {
    const began = performance.now();
    const output = renderMarkdown(markdown, { width: 80, theme: DARK });
    const ms = Math.round(performance.now() - began);
    t.diagnostic(`${ms} ms`);
    ok(strip(output).slice(-200).includes(last), strip(output).slice(-200)); // a block of code has an end
    ok(output.includes("\x1b") || !/[*`|]/.test(markdown));
    ok(ms < MAX_MS * slowness(), `${ms} ms`);
  });
