// @mentions in a real pseudo-terminal: what the screen shows, and what the model is sent.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Fake } from "../support/fake/http.ts";
import { call, fakeOpenAI, say } from "../support/fake/openai.ts";
import { PDF } from "../support/media.ts";
import { type Place, place, zz } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const asks = (fake: Fake) => ["-m", "openai/m", "--base-url", fake.url, "--key", "x"];

/** A project with a file of every kind that a mention may meet. */
function project(): Place {
  const where = place();
  const put = (name: string, content: string | Buffer) => writeFileSync(join(where.cwd, name), content);
  mkdirSync(join(where.cwd, "src"));
  put("a.ts", "export const a = 1;\n");
  put("src/app.ts", "one\ntwo\nthree\n");
  put("my notes.txt", "remember\n");
  put("README", "read me\n");
  put("dot.png", Buffer.from(PIXEL, "base64"));
  put("fake.png", "no picture\n");
  put("paper.pdf", PDF);
  put("paper.png", PDF);
  put("none.pdf", "%PDF-1.7\nhello\n");
  put("data.bin", Buffer.from([1, 0, 2, 0]));
  put("long.txt", "row\n".repeat(2_500));
  put(".env", "TOKEN=abc\n");
  put("huge.png", "");
  truncateSync(join(where.cwd, "huge.png"), 21 * 1024 * 1024);
  return where;
}

const fileBlock = (path: string, text: string) => `--- FILE ${path} ---\n${text}\n--- END FILE ${path} ---`;
const A = fileBlock("a.ts", "1\texport const a = 1;");
const APP = fileBlock("src/app.ts", "1\tone\n2\ttwo\n3\tthree");
const NOTES = (name: string) => fileBlock(name, "1\tremember");

test("In a conversation", async (t) => {
  const fake = await fakeOpenAI((_, turn) => say(`Answer ${turn + 1}.`));
  const term = terminal(project(), asks(fake), { rows: 60 }); // one conversation for all of them
  t.after(fake.close);

  /** Sends the line; returns what the model got of it, and what the screen shows between the line and the answer. */
  async function send(line: string): Promise<{ content: any; told: string }> {
    const turn = fake.requests.length + 1;
    const from = (await term.sees(/›$/)).length;
    term.type(line + KEY.enter);
    const shown = await term.sees(`Answer ${turn}.`);
    return { content: fake.requests.at(-1)!.body.messages.at(-1).content, told: shown.slice(from) };
  }

  const rows: [what: string, line: string, content: string, told?: RegExp][] = [
    ["a file's text, before the message", "see @a.ts", `${A}\n\nsee @a.ts`, /Attached a\.ts \(1 line\)\./],
    ["no comma", "see @a.ts, and (@src/app.ts).", `${A}\n\n${APP}\n\nsee @a.ts, and (@src/app.ts).`],
    ["a file once", "@a.ts @./a.ts @a.ts?", `${A}\n\n@a.ts @./a.ts @a.ts?`],
    ["a name with spaces in quotes", 'x @"my notes.txt"', `${NOTES("my notes.txt")}\n\nx @"my notes.txt"`],
    ["a name with escaped spaces", "@my\\ notes.txt.", `${NOTES("my notes.txt")}\n\n@my\\ notes.txt.`],
    ["a file without an extension", "@README", `${fileBlock("README", "1\tread me")}\n\n@README`],
    ["some of a file's lines", "@src/app.ts:2-3", `${fileBlock("src/app.ts", "2\ttwo\n3\tthree")}\n\n@src/app.ts:2-3`],
    [
      "a folder's listing",
      "@src/",
      "--- FOLDER src/ ---\napp.ts\n--- END FOLDER src/ ---\n\n@src/",
      /Attached src\/\./,
    ],
  ];
  for (const [what, line, content, told] of rows)
    await t.test(`A mention attaches ${what}: ${line}`, async () => {
      const sent = await send(line);
      equal(sent.content, content);
      match(sent.told, told ?? /Attached /);
    });

  for (const line of [
    "mail ann@a.ts or @nobody",
    "@scope/package @types/node",
    "@Injectable() class A {} @app.route @pytest.fixture",
    "the folder @src is a word",
    "git@a.ts",
  ])
    await t.test(`What names no file is text, without a word: ${line}`, async () => {
      const sent = await send(line);
      equal(sent.content, line);
      doesNotMatch(sent.told, /ttached/);
    });

  await t.test("A backslash before the @ makes it text, and goes", async () => {
    const { content, told } = await send("not \\@a.ts");
    equal(content, "not @a.ts");
    doesNotMatch(told, /ttached/);
  });

  const refusals: [what: string, line: string, told: RegExp][] = [
    [
      "that is not there, with the nearest name",
      "@src/ap.ts",
      /@src\/ap\.ts is not attached: no such file\. Did you mean @src\/app\.ts\?/,
    ],
    ["that is binary", "@data.bin", /@data\.bin is not attached: Cannot read 'data\.bin': it is not text\./],
    ["that has only the name of an image", "@fake.png", /@fake\.png is not attached: it holds no image of that kind\./],
    [
      "that is a PDF which is none",
      "@none.pdf",
      /@none\.pdf is not attached: it begins as application\/pdf, but holds no/,
    ],
    [
      "that is too large an image",
      "@huge.png",
      /@huge\.png is not attached: 21 MB are too many for an image \(20 MB\)\./,
    ],
  ];
  for (const [what, line, told] of refusals)
    await t.test(`A mention ${what} stays text and is noted once: ${line}`, async () => {
      const sent = await send(`${line} ${line}`);
      equal(sent.content, `${line} ${line}`);
      match(sent.told, told);
      equal(sent.told.match(/is not attached/g)?.length, 1);
    });

  await t.test("A long file is cut by read_file's own rule, and both are told", async () => {
    const { content, told } = await send("@long.txt");
    match(content, /2000\trow\n\[500 more lines; read on from 2001\]\n--- END FILE long\.txt ---\n\n@long\.txt$/);
    match(told, /Attached long\.txt \(2000 of 2500 lines\)\./);
  });

  await t.test("An image goes as an image", async () => {
    const { content, told } = await send("what is @dot.png?");
    deepEqual(
      content.map((part: any) => part.text ?? part.image_url.url),
      ["what is @dot.png?", `data:image/png;base64,${PIXEL}`],
    );
    match(told, /Attached dot\.png \(1 KB\)\./);
  });

  for (const name of ["paper.pdf", "paper.png"])
    await t.test(`A PDF goes as a file, whatever its name: ${name}`, async () => {
      const { content, told } = await send(`what is @${name}?`);
      const file = { filename: "document.pdf", file_data: `data:application/pdf;base64,${PDF.toString("base64")}` };
      deepEqual(content, [
        { type: "text", text: `what is @${name}?` },
        { type: "file", file },
      ]);
      match(told, /Attached paper\.p..\s+\(1 KB\)\./);
    });

  await t.test("A file that holds secrets is asked for; a no is told, and it stays text", async () => {
    const turn = fake.requests.length + 1;
    term.type(`@.env${KEY.enter}`);
    await term.sees("Allow?");
    term.type("n");
    await term.sees("Why not?");
    term.type(KEY.enter);
    const shown = await term.sees(`Answer ${turn}.`);
    equal(fake.requests.at(-1)!.body.messages.at(-1).content, "@.env");
    match(shown, /@\.env is not attached:/);
  });

  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("What was mentioned counts as read: the model may edit it at once", async (t) => {
  const edit = { path: "a.ts", old: "1", new: "2" };
  const fake = await fakeOpenAI([call(["edit_file", edit]), say("Done.")]);
  t.after(fake.close);
  const where = project();
  const done = await zz(where, [...asks(fake), "--allow-write", "double @a.ts"]);
  equal(done.stdout, "Done.\n");
  const result = fake.requests[1]!.body.messages.at(-1);
  doesNotMatch(result.content, /read it first|has not been read/i);
  match(result.content, /a\.ts/);
});

test("In a one-shot only what stands on the command line counts, not what came through the pipe", async (t) => {
  const fake = await fakeOpenAI([say("Seen.")]);
  t.after(fake.close);
  const where = project();
  for (const [args, input, content] of [
    [["see @a.ts"], undefined, `${A}\n\nsee @a.ts`],
    [[], "data @a.ts\n", "data @a.ts"],
    [["see @a.ts"], "data @src/app.ts\n", `--- STDIN ---\ndata @src/app.ts\n--- END STDIN ---\n\n${A}\n\nsee @a.ts`],
    [
      ["-f", "my notes.txt", "and @src/app.ts"],
      undefined,
      `${fileBlock("my notes.txt", "remember")}\n\n${APP}\n\nand @src/app.ts`,
    ],
  ] as const) {
    const { code, stderr } = await zz(where, [...asks(fake), ...args], input === undefined ? {} : { input });
    equal(code, 0, stderr);
    equal(fake.requests.at(-1)!.body.messages.at(-1).content, content);
  }
});

test("A template's words may mention a file, a command's words may not", async (t) => {
  const fake = await fakeOpenAI([say("Seen.")]);
  t.after(fake.close);
  const where = project();
  mkdirSync(join(where.home, "prompts"), { recursive: true });
  writeFileSync(join(where.home, "prompts", "look.md"), "---\ndescription: look at it\n---\nLook closely.\n");
  const term = terminal(where, asks(fake));
  await term.sees("›");
  term.type(`/look @a.ts${KEY.enter}`);
  await term.sees("Seen.");
  equal(fake.requests[0]!.body.messages.at(-1).content, `${A}\n\nLook closely.\n\n@a.ts`);
  term.type(`/changes @src/app.ts${KEY.enter}`);
  doesNotMatch(await term.sees("Cannot show change '@src/app.ts'"), /app\.ts \(/);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});
