// What is found in an answer: blocks of code, and JSON that fits a schema.
import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { codeBlocks, readJson } from "../../sdk/json-in-answers.ts";

describe("codeBlocks()", () => {
  const ROWS: [name: string, text: string, ...blocks: string[]][] = [
    ["none in prose", "Use `a` or ``` b ``` here."],
    ["one, with its language", "So:\n```js\na();\n\nb();\n```\nDone.", "js: a();\n\nb();"],
    ["several", "```\na\n```\nand\n```sh\nb\n```", ": a", "sh: b"],
    ["tildes, which hold backticks", "~~~md\n```\na\n```\n~~~", "md: ```\na\n```"],
    ["one that is never closed", "Here:\n```py\na = 1\nb = 2\n", "py: a = 1\nb = 2"],
    ["in a list, without its indent", "1. Run\n   ```sh\n   a\n     b\n   ```\n2. Then",
      "sh: a\n  b"],
    ["in a quotation", "> ```\n> a\n>  b\n> ```", ": a\n b"],
  ]; // biome-ignore format: a table
  for (const [name, text, ...blocks] of ROWS)
    test(name, () => {
      const found = codeBlocks(text).map(({ language, text }) => `${language}: ${text}`);
      deepEqual(found, blocks);
    });
});

describe("readJson()", () => {
  const N = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const ROWS: [name: string, text: string, value: unknown][] = [
    ["alone", '{"n": 1}', { n: 1 }],
    ["in a fence", '```json\n{"n": 1}\n```', { n: 1 }],
    ["in prose", 'The number is {"n": 1}, as you said.', { n: 1 }],
    ["the one of several that fits", '{"n": 1} fits {"type": "object"}', { n: 1 }],
    ["with brackets in its strings", 'It is {"n": 1, "s": "}\\"]{"}.', { n: 1, s: '}"]{' }],
  ];
  for (const [name, text, value] of ROWS)
    test(`finds it ${name}`, async () => deepEqual((await readJson(text, N)).value, value));

  test("takes values that are no objects", async () => {
    equal((await readJson("41", { $schema: "x", type: "integer" })).value, 41);
    deepEqual((await readJson("So: [1, 2]", { $schema: "x", type: "array" })).value, [1, 2]);
  });

  const WRONG: [name: string, text: string, wrong: RegExp][] = [
    ["empty", " \n", /^it is empty$/],
    ["without what is required", "{}", /^it needs 'n'$/],
    ["cut off, with a whole one in it", '{"n": 1, "more": [{"n": 2}, {"n": ', /^it is not JSON$/],
  ];
  for (const [name, text, wrong] of WRONG)
    test(`says what is wrong with one that is ${name}`, async () =>
      match((await readJson(text, N)).wrong!, wrong));
});
