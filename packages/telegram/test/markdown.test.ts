// Answers as MarkdownV2: whatever a model writes can be parsed, fits, and loses no word.
import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { fc } from "../../../test/support/property.ts";
import { partsOf } from "../markdown.ts";
import { parseMarkdown } from "./parse-markdown.ts";

const read = (markdown: string) => partsOf(markdown).map((part) => parseMarkdown(part.markdown));

describe("Markdown for Telegram", () => {
  const ROWS: [what: string, markdown: string, text: string, entities: [string, string][]][] = [
    ["signs of its own", "1. a_b *c* (d) [e] ~f >g #h +i -j =k |l {m} n. o! \\p `q`", "1. a_b c (d) [e] ~f >g #h +i -j =k |l {m} n. o! \\p q", [["_", "c"], ["`", "q"]]],
    ["strong and emphasized", "**a *b* c** and ~~d~~", "a b c and d", [["_", "b"], ["*", "a b c"], ["~", "d"]]],
    ["two emphases that meet", "*a*_b_", "a\u2060b", [["_", "a"], ["_", "b"]]],
    ["code with backticks", "``a`b\\``", "a`b\\", [["`", "a`b\\"]]],
    ["a block of code", "```ts\nlet a = `1` \\ 2;\n```", "let a = `1` \\ 2;\n", [["```", "let a = `1` \\ 2;\n"]]],
    ["a heading", "## What *is* it?", "What is it?", [["_", "is"], ["*", "What is it?"]]],
    ["a strong heading", "## **What**", "What", [["*", "What"]]],
    ["a list", "- a\n  - b\n- [x] c", "• a\n   • b\n☑ c", []],
    ["a numbered list", "3. a\n4. b", "3. a\n4. b", []],
    ["a quotation", "> a\n> b", "a\nb", [[">", "a\nb"]]],
    ["a link", "[a (b)](https://x.y/z_(1))", "a (b)", [["[", "a (b)"]]],
    ["a link that would run", "[a](javascript:alert(1))", "a", []],
    ["a picture", "![a](https://x.y/z.png)", "a", [["[", "a"]]],
    ["a table", "| a | b |\n|---|---|\n| long | *c* |", "a     b\nlong  c\n", [["```", "a     b\nlong  c\n"]]],
    ["markup", "<b>a</b> & <script>", "<b>a</b> & <script>", []],
    ["a rule", "a\n\n---\n\nb", "a\n\n———\n\nb", []],
  ]; // biome-ignore format: a table
  for (const [what, markdown, text, entities] of ROWS)
    test(what, () => deepEqual(read(markdown), [{ text, entities }]));

  const word = fc.string({ unit: "grapheme", maxLength: 12 });
  const sign = fc.constantFrom(..."_*[]()~`>#+-=|{}.!\\\n <&".split(""));
  const piece = fc.oneof(
    word,
    sign,
    fc.constantFrom(
      "**",
      "__",
      "```",
      "\n\n",
      "- ",
      "1. ",
      "> ",
      "](",
      "https://a.b/c_d",
      "| a |\n|--|\n",
    ),
  );
  const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));
  test("whatever it is, Telegram can parse it", () => {
    fc.assert(
      fc.property(text, (markdown) => void read(markdown)),
      { numRuns: 2_000 },
    );
  });

  test("whatever it is, each part fits, and the words come in order", () => {
    const words = fc.array(
      fc.constantFrom("alpha", "beta_x", "gamma.", "```", "\n", "\n\n", "- ", "**b**"),
      { maxLength: 400 },
    );
    fc.assert(
      fc.property(words, fc.integer({ min: 60, max: 300 }), (pieces, max) => {
        const markdown = pieces.join(" ");
        const parts = partsOf(markdown, max);
        for (const part of parts) {
          ok(part.markdown.length <= max, `${part.markdown.length} > ${max}`);
          ok(part.plain.length <= max + 10);
          parseMarkdown(part.markdown);
        }
        const lettersOf = (shown: string) => shown.replace(/[^a-z]/g, "");
        const shown = parts.map((part) => parseMarkdown(part.markdown).text).join("");
        // the name of a language, after ``` and before the line's end, is not shown
        if (!markdown.includes("```")) equal(lettersOf(shown), lettersOf(markdown));
      }),
      { numRuns: 500 },
    );
  });

  test("long code is split between its lines and stays code; a long paragraph between words", () => {
    const code = Array.from({ length: 300 }, (_, i) => `const value${i} = ${i};`).join("\n");
    const parts = partsOf(`Look:\n\n\`\`\`ts\n${code}\n\`\`\`\n\nDone.`);
    const read = parts.map(({ markdown }) => parseMarkdown(markdown));
    ok(parts.length > 1 && parts.every(({ markdown }) => markdown.length <= 4_096));
    ok(parts.every(({ markdown }) => markdown.includes("```ts\n")));
    equal(
      read
        .flatMap(({ entities }) => entities)
        .map(([, shown]) => shown.trimEnd())
        .join("\n"),
      code,
    );
    const paragraph = Array.from({ length: 2_000 }, (_, i) => `word${i}`).join(" ");
    equal(
      partsOf(paragraph)
        .map(({ plain }) => plain)
        .join(" "),
      paragraph,
    );
  });
});
