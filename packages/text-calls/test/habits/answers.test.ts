// SEARCH/REPLACE blocks in an answer: an edit where the model means it, and nothing where it only
// talks of them.
import { deepEqual, equal, match } from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type Harness, harness } from "zz/test";
import { withBlocks } from "../../habits/answers.ts";

const FILES = {
  "src/a.ts": "export const one = 1;\nexport const two = 2;\n",
  "b.txt": "alpha\r\nbeta\r\n",
};
const block = (old: string, made: string) =>
  `<<<<<<< SEARCH\n${old}\n=======\n${made}\n>>>>>>> REPLACE`;
const ONE = block("export const one = 1;", "export const one = 11;");
const TWO = block("export const two = 2;", "export const two = 22;");
const [EDITED, BOTH] = [2, 22].map(
  (two) => `export const one = 11;\nexport const two = ${two};\n`,
) as [string, string];

let opened: Promise<Harness> | undefined;
const house = () => (opened ??= harness({ own: true, files: FILES, answer: "yes" }));
after(async () => (await opened)?.close());
const reply = (text: string) => ({ text, thinking: "", calls: [], finish: "stop" as const });

test("A block in an answer is an edit of the turn", async (t) => {
  const read = { call: ["read_file", { path: "src/a.ts" }] as [string, object] };
  const script = [read, `I change it.\n\nsrc/a.ts\n\`\`\`ts\n${ONE}\n\`\`\`\n`, "Done."];
  const zz = await harness({ own: true, files: FILES, answer: "yes", script }, t);
  const answer = await zz.ask("go");
  deepEqual([answer.text, zz.read("src/a.ts")], ["Done.", EDITED]);
  deepEqual(answer.calls.slice(1).map(({ name, ok }) => [name, ok]), [["edit_file", true]]); // biome-ignore format: short
  equal((zz.chat.messages.at(-3) as { text: string }).text, "I change it.");
});

// biome-ignore format: one answer a row.
const MEANT: [what: string, text: string, file: string, content: string, said: RegExp][] = [
  ["its file in the fence", `\`\`\`\nsrc/a.ts\n${ONE}\n\`\`\``, "src/a.ts", EDITED, /^$/],
  ["its file in marks", `**\`src/a.ts\`**\n\n\`\`\`ts\n${ONE}\n\`\`\`\nThat is all.`, "src/a.ts", EDITED, /^That is all\.$/],
  ["two blocks, the file named once", `src/a.ts\n\`\`\`ts\n${ONE}\n${TWO}\n\`\`\``, "src/a.ts", BOTH, /^$/],
  ["two blocks, each with its file", `src/a.ts\n\`\`\`ts\n${ONE}\n\`\`\`\n\nand\n\nsrc/a.ts\n\`\`\`ts\n${TWO}\n\`\`\``, "src/a.ts", BOTH, /^and$/],
  ["of a file with Windows line ends", `b.txt\n\`\`\`\n${block("beta", "gamma")}\n\`\`\``, "b.txt", "alpha\r\ngamma\r\n", /^$/],
];
describe("a block in an answer is an edit,", () => {
  for (const [what, text, file, content, said] of MEANT)
    test(what, async () => {
      const zz = await house();
      for (const [name, content] of Object.entries(FILES)) zz.write(name, content);
      const { text: left, calls, finish } = withBlocks(reply(text), zz.ctx);
      deepEqual([calls.map(({ name }) => name), finish], [["edit_file"], "calls"]);
      match(left, said);
      await zz.call("read_file", { path: file });
      equal((await zz.call("edit_file", calls[0]!.args)).failed, undefined);
      equal(zz.read(file), content);
    });
});

// biome-ignore format: one answer a row.
const TALK: [what: string, text: string][] = [
  ["of a file that is not there", `mathweb/flask/app.py\n\`\`\`python\n${block("from flask import Flask", "import math\nfrom flask import Flask")}\n\`\`\``],
  ["of text that the file does not hold", `src/a.ts\n\`\`\`ts\n${block("the old lines", "the new lines")}\n\`\`\``],
  ["without a file", `A block looks like this:\n\n\`\`\`\n${ONE}\n\`\`\`\n`],
  ["one meant and one not", `src/a.ts\n${ONE}\n\nand\n\nc.ts\n${TWO}\n`],
  ["that is not whole", `src/a.ts\n<<<<<<< SEARCH\nexport const one = 1;\n=======\n`],
  ["outside of the project", `../a.ts\n${ONE}\n`],
  ["that searches for nothing", `src/a.ts\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE`],
  ["of git, with a conflict", "src/a.ts\n<<<<<<< HEAD\nexport const one = 1;\n=======\nx\n>>>>>>> main"],
];
describe("a block in an answer stays text,", () => {
  for (const [what, text] of TALK)
    test(what, async () => {
      const zz = await house();
      for (const [name, content] of Object.entries(FILES)) zz.write(name, content);
      const given = reply(text);
      equal(withBlocks(given, zz.ctx), given);
    });
});
