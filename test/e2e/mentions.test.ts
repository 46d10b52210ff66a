// @mentions: what the model is sent, and what the person is told.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { askable, say } from "../support/fake/openai.ts";
import { PDF } from "../support/media.ts";
import { place, zz } from "../support/run.ts";
import { sit } from "../support/sit.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** A file of every kind that a mention may meet. */
const FILES = {
  "a.ts": "export const a = 1;\n",
  "src/app.ts": "one\ntwo\nthree\n",
  "my notes.txt": "remember\n",
  README: "read me\n",
  "dot.png": Buffer.from(PIXEL, "base64"),
  "fake.png": "no picture\n",
  "paper.png": PDF,
  "none.pdf": "%PDF-1.7\nhello\n",
  "data.bin": Buffer.from([1, 0, 2, 0]),
  "long.txt": "row\n".repeat(2_500),
  ".env": "TOKEN=abc\n",
  "huge.png": Buffer.alloc(21 * 1024 * 1024),
};

const fileBlock = (path: string, text: string) =>
  `--- FILE ${path} ---\n${text}\n--- END FILE ${path} ---`;
const A = fileBlock("a.ts", "1\texport const a = 1;");
const APP = fileBlock("src/app.ts", "1\tone\n2\ttwo\n3\tthree");
const NOTES = (name: string) => fileBlock(name, "1\tremember");

/** Says a line in that project; what came of it, what the person was told, and what the model was
 * sent of it. */
async function talk(t: TestContext, home: Record<string, string> = {}) {
  const { it, tells } = await sit(t, { files: FILES, home });
  return {
    it,
    tells,
    async send(line: string) {
      const { notes } = await it.ask(line);
      return {
        told: notes.join("\n"),
        ...it.requests.at(-1)!.messages.findLast(({ role }) => role === "user")!,
      };
    },
  };
}

test("A mention attaches what it names, before the message", async (t) => {
  const { send } = await talk(t);
  for (const [line, text, note = /Attached /] of [
    ["see @a.ts", `${A}\n\nsee @a.ts`, /Attached a\.ts \(1 line\)\./],
    ["see @a.ts, and (@src/app.ts).", `${A}\n\n${APP}\n\nsee @a.ts, and (@src/app.ts).`],
    ["@a.ts @./a.ts @a.ts?", `${A}\n\n@a.ts @./a.ts @a.ts?`],
    ['x @"my notes.txt"', `${NOTES("my notes.txt")}\n\nx @"my notes.txt"`],
    ["@my\\ notes.txt.", `${NOTES("my notes.txt")}\n\n@my\\ notes.txt.`],
    ["@README", `${fileBlock("README", "1\tread me")}\n\n@README`],
    ["@src/app.ts:2-3", `${fileBlock("src/app.ts", "2\ttwo\n3\tthree")}\n\n@src/app.ts:2-3`],
    ["@src/", "--- FOLDER src/ ---\napp.ts\n--- END FOLDER src/ ---\n\n@src/", /Attached src\/\./],
  ] as [string, string, RegExp?][]) {
    const sent = await send(line);
    equal(sent.text, text);
    match(sent.told, note);
  }
});

test("What names no file is text, without a word; a backslash before the @ goes", async (t) => {
  const { send } = await talk(t);
  for (const line of [
    "mail ann@a.ts or @nobody",
    "@scope/package @types/node",
    "@Injectable() class A {} @app.route",
    "the folder @src is a word",
    "not \\@a.ts",
  ]) {
    const { text, told } = await send(line);
    deepEqual([text, told], [line.replace("\\", ""), ""]);
  }
});

test("A mention of what cannot be attached stays text and is noted once", async (t) => {
  const { send, it } = await talk(t);
  for (const [line, note] of [
    ["@src/ap.ts", /@src\/ap\.ts is not attached: no such file\. Did you mean @src\/app\.ts\?/],
    ["@data.bin", /@data\.bin is not attached: Cannot read 'data\.bin': it is not text\./],
    ["@fake.png", /@fake\.png is not attached: it holds no image of that kind\./],
    ["@none.pdf", /@none\.pdf is not attached: it begins as application\/pdf, but holds no/],
    ["@huge.png", /@huge\.png is not attached: 21 MB are too many for an image \(20 MB\)\./],
    ["@.env", /@\.env is not attached:/],
  ] as const) {
    const { text, told } = await send(`${line} ${line}`);
    equal(text, `${line} ${line}`);
    match(told, note);
    equal(told.match(/is not attached/g)?.length, 1);
  }
  match(it.questions[0]!, /\.env/);
});

test("A long file is cut by read_file's own rule; an image goes as one, and a PDF whatever its name", async (t) => {
  const { send } = await talk(t);
  const long = await send("@long.txt");
  match(
    long.text,
    /2000\trow\n\[500 more lines; read on from 2001\]\n--- END FILE long\.txt ---\n\n@long\.txt$/,
  );
  match(long.told, /Attached long\.txt \(2000 of 2500 lines\)\./);
  for (const [name, type, data] of [
    ["dot.png", "image/png", PIXEL],
    ["paper.png", "application/pdf", PDF.toString("base64")],
  ] as const) {
    const { told, ...sent } = await send(`what is @${name}?`);
    equal(sent.text, `what is @${name}?`);
    ok(
      JSON.stringify(sent).includes(type) && JSON.stringify(sent).includes(data),
      JSON.stringify(sent),
    );
    match(told, new RegExp(`Attached ${name} \\(\\d+ bytes\\)\\.`));
  }
});

test("In a one-shot only what stands on the command line counts, not what came through the pipe", async () => {
  const { args, requests } = await askable([say("Seen.")]);
  const where = place({ "a.ts": FILES["a.ts"] });
  for (const [words, input, content] of [
    [[], "data @a.ts\n", "data @a.ts"],
    [
      ["see @a.ts"],
      "data @a.ts\n",
      `--- STDIN ---\ndata @a.ts\n--- END STDIN ---\n\n${A}\n\nsee @a.ts`,
    ],
    [
      ["-f", "a.ts", "and @a.ts"],
      undefined,
      `${fileBlock("a.ts", "export const a = 1;")}\n\n${A}\n\nand @a.ts`,
    ],
  ] as const) {
    const { code, stderr } = await zz(
      where,
      [...args, ...words],
      input === undefined ? {} : { input },
    );
    equal(code, 0, stderr);
    equal(requests.at(-1)!.body.messages.at(-1).content, content);
  }
});

test("A template's words may mention a file, a command's words may not", async (t) => {
  const { send, tells } = await talk(t, {
    "prompts/look.md": "---\ndescription: look at it\n---\nLook closely.\n",
  });
  equal((await send("/look @a.ts")).text, `${A}\n\nLook closely.\n\n@a.ts`);
  doesNotMatch(
    await tells("/changes @src/app.ts", "Cannot show change '@src/app.ts'"),
    /app\.ts \(/,
  );
});
