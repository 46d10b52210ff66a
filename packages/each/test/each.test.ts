import assert from "node:assert/strict";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import type { ChatRequest, Plugin } from "zz";
import { harness } from "zz/test";
import { askable, refuse, say } from "../../../test/support/fake/openai.ts";
import { place, type Ran, zz } from "../../../test/support/run.ts";

const asked = (body: any): string => body.messages.at(-1).content;
const echo = ({ body }: { body: any }) =>
  say(`about ${/--- (?:FILE (.*?)|INPUT) ---\n(.*)/.exec(asked(body))?.[2]}`);
const rows = ({ stdout }: Ran): any[] =>
  stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const runFile = (home: string): string =>
  path.join(
    home,
    "each",
    readdirSync(path.join(home, "each")).find((name) => name.endsWith(".jsonl"))!,
  );

test("files are asked about one by one, each once, in order; what may hold secrets is left out", async () => {
  const model = await askable(echo);
  const where = place({ "b.txt": "bee", "a.txt": "ay", ".env": "KEY=1", "sub/c.txt": "sea" });
  const ran = await zz(where, [
    ...model.args,
    "--each",
    "*.txt",
    "sub/*",
    "a.txt",
    ".env",
    "What is it?",
  ]);
  assert.deepEqual(
    rows(ran).map(({ input, answer }) => [input, answer]),
    [
      ["a.txt", "about ay"],
      ["b.txt", "about bee"],
      ["sub/c.txt", "about sea"],
    ],
  );
  assert.match(ran.stderr, /1 file may not be read without a question and was left out: \.env/);
  assert.equal(ran.code, 4);
  assert.equal(model.requests.length, 3);
  assert.doesNotMatch(JSON.stringify(model.requests), /KEY=1/);
});

test("lines and rows are inputs, the same one twice too, and stand where the prompt names them", async (t) => {
  const cases: [flag: string, input: string, prompt: string, asked: string[]][] = [
    ["--each-line", "one\n\ntwo\none\n", "Say {}.", ["Say one.", "Say two.", "Say one."]],
    ["--each-line", "one\n", "Say {input} and {other}.", ["Say one and {other}."]],
    ["--each-line", "one\n", "Say.", ["Say.\n\n--- INPUT ---\none\n--- END INPUT ---"]],
    [
      "--each-json",
      '{"who":{"name":"Ann"},"n":2}\n',
      "Greet {who.name} {n} times.",
      ["Greet Ann 2 times."],
    ],
  ];
  for (const [flag, input, prompt, wanted] of cases)
    await t.test(`${flag} ${prompt}`, async () => {
      const model = await askable([say("fine")]);
      const ran = await zz(place(), [...model.args, flag, prompt, "--jobs", "1"], { input });
      assert.equal(ran.code, 0, ran.stderr);
      assert.deepEqual(
        model.requests.map(({ body }) => asked(body)),
        wanted,
      );
      assert.equal(rows(ran).length, wanted.length);
    });
});

test("what cannot be asked about fails alone, before anything is sent", async () => {
  const model = await askable(echo);
  const where = place({
    "a.txt": "ay",
    "b.bin": new Uint8Array([1, 0, 2]),
    "huge.txt": "x".repeat(21 * 1024 * 1024),
    "new\nline.txt": "named so",
  });
  const ran = await zz(where, [...model.args, "--each", "*", "What?"]);
  assert.deepEqual(
    rows(ran).map(({ input, answer, error }) => [input, answer ?? error]),
    [
      ["a.txt", "about ay"],
      ["b.bin", "Cannot ask about 'b.bin': it is neither text nor an image."],
      ["huge.txt", "Cannot ask about 'huge.txt': it is over 20 MB. Cut it down first."],
      ["new\nline.txt", "about named so"],
    ],
  );
  assert.equal(ran.code, 1);
  assert.equal(model.requests.length, 2);
});

test("a failed input is asked again by --resume, an answered one never", async () => {
  let isDown = true;
  const model = await askable(({ body }) =>
    isDown && asked(body).includes("two")
      ? refuse(400, { error: { message: "no" } })
      : echo({ body }),
  );
  const where = place();
  const first = await zz(where, [...model.args, "--each-line", "Say."], {
    input: "one\ntwo\nthree\n",
  });
  assert.equal(first.code, 1);
  assert.match(
    first.stderr,
    /1 input of 3 could not be answered\. Ask them again: zz --each --resume/,
  );
  isDown = false;
  const before = model.requests.length;
  const again = await zz(where, [...model.args, "--each", "--resume"]);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(
    rows(again).map(({ answer }) => answer),
    ["about one", "about two", "about three"],
  );
  assert.equal(model.requests.length - before, 1);
  const status = await zz(where, ["--each", "--status"]);
  assert.match(status.stdout, /3 of 3 answered/);
});

test("a run whose file was changed: a torn or spoilt answer is asked again, a changed input is refused", async () => {
  const model = await askable(echo);
  const where = place();
  await zz(where, [...model.args, "--each-line", "Say."], { input: "one\ntwo\n" });
  const file = runFile(where.home);
  const whole = readFileSync(file, "utf8");
  const lines = whole.trimEnd().split("\n");
  writeFileSync(file, `${lines.slice(0, -1).join("\n")}\nrubbish\n{"n":1,"ans`);
  const before = model.requests.length;
  const again = await zz(where, [...model.args, "--each", "--resume"]);
  assert.match(again.stderr, /1 lines? that cannot be read/);
  assert.equal(model.requests.length - before, 1);
  assert.deepEqual(
    rows(again).map(({ answer }) => answer),
    ["about one", "about two"],
  );
  writeFileSync(file, whole.replace('{"input":"two"}', "[]"));
  const refused = await zz(where, [...model.args, "--each", "--resume"]);
  assert.match(refused.stderr, /its file was changed: line 3 is not a line of a run/);
  assert.equal(refused.code, 2);
  appendFileSync(file, "");
});

test("of two runs in one second the last is the last", async () => {
  const model = await askable(echo);
  const where = place();
  for (const input of ["one\n", "one\ntwo\n", "one\ntwo\nthree\n"])
    await zz(where, [...model.args, "--each-line", "Say."], { input });
  assert.match((await zz(where, ["--each", "--status"])).stdout, /3 of 3 answered/);
});

test("two inputs of one name write two files", async () => {
  const model = await askable(echo);
  const where = place({ "x/a.txt": "1", "y/a.txt": "2" });
  const { code, stderr } = await zz(where, [
    ...model.args,
    "--each",
    "*/a.txt",
    "--out",
    "out/{name}.md",
    "Say {input}.",
  ]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(readdirSync(path.join(where.cwd, "out")).sort(), ["a-2.md", "a.md"]);
});

test("answers go to files, one each; a schema gives values; --dry-run and a spent budget send nothing more", async () => {
  const model = await askable([say('{"n": 1}')]);
  const where = place({ "x/a.ts": "1", "y/b.ts": "2" });
  await zz(where, [
    ...model.args,
    "--each",
    "*/*.ts",
    "--out",
    "notes/{name}.md",
    "--schema",
    "n int",
    "Count.",
  ]);
  assert.deepEqual(readdirSync(path.join(where.cwd, "notes")), ["a.md", "b.md"]);
  const values = await zz(where, [
    ...model.args,
    "--each",
    "*/*.ts",
    "--schema",
    "n int",
    "Count.",
  ]);
  assert.deepEqual(
    rows(values).map(({ answer }) => answer),
    [{ n: 1 }, { n: 1 }],
  );
  const before = model.requests.length;
  const dry = await zz(where, [...model.args, "--dry-run", "--each", "*/*.ts", "Count."]);
  assert.match(dry.stdout, /2 requests of about \d+ tokens together.*Nothing was sent/);
  assert.equal(model.requests.length, before);
  const poor = await zz(where, [...model.args, "--each", "*/*.ts", "--budget", "80t", "Count."]);
  assert.equal(poor.code, 3);
  assert.match(poor.stderr, /the budget is spent\. 1 of 2 are answered/);
});

test("wrong usage is said before anything is sent", async (t) => {
  const cases: [args: string[], input: string, said: RegExp][] = [
    [["--each", "none/*", "What?"], "", /no file has such a name/],
    [["--each", "a.txt"], "", /no file is named/],
    [["--each-line", "What?"], "", /no input came/],
    [["--each-line", "What?", "--jobs", "0"], "x", /--jobs '0': it takes a whole number/],
    [["--each-json", "What?"], "not json", /line 1: it is not a JSON object/],
    [["--each", "--resume", "nope"], "", /none was made yet/],
  ];
  for (const [args, input, said] of cases)
    await t.test(args.join(" "), async () => {
      const ran = await zz(
        place({ "a.txt": "a" }),
        ["-m", "openai/m", "--base-url", "http://127.0.0.1:9", ...args],
        { input },
      );
      assert.match(ran.stderr, said);
      assert.equal(ran.code, 2);
      assert.equal(ran.stdout, "");
    });
});

test("Ctrl+C leaves the run whole: the rest is asked when it is resumed", async () => {
  let strike = () => {};
  const { args, requests } = await askable((request, turn) =>
    turn < 2 ? echo(request) : { ending: "hang", sent: () => strike() },
  );
  const where = place();
  const flags = [...args, "--no-tools", "--jobs", "1"];
  const ran = await zz(where, [...flags, "--each-line", "Say."], {
    input: "one\ntwo\nthree\n",
    started: (child) => (strike = () => void child.kill("SIGINT")),
  });
  assert.equal(ran.code, 130);
  assert.doesNotMatch(ran.stderr, /^\s+at /m);
  assert.deepEqual(
    rows(ran).map(({ answer }) => answer),
    ["about one", "about two"],
  );
  assert.equal(requests.length, 3);
  const other = await askable(echo);
  const again = await zz(where, [...other.args, "--no-tools", "--each", "--resume"]);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(
    rows(again).map(({ answer }) => answer),
    ["about one", "about two", "about three"],
  );
  assert.equal(other.requests.length, 1);
});

test("a script asks about each of its items, so many at a time, and gets what came of them in order", async () => {
  let [underWay, most] = [0, 0];
  const { args, requests } = await askable(async ({ body }) => {
    most = Math.max(most, ++underWay);
    if (underWay < 2 && requests.length < 4) await both.promise;
    both.resolve();
    underWay--;
    return say(`about ${asked(body)}`);
  });
  const both = Promise.withResolvers<void>();
  const script = `import { zz } from "zz";
    const answers = await zz.each(["a", "b", "c", "d"], (item, i) => zz.ask(item + i, { tools: false }), { jobs: 2 });
    console.log(JSON.stringify(answers));
    await zz.each(["e"], () => { throw new Error("no more") }).catch(({ message }) => console.log(message));
    await zz.each([], () => {}, { jobs: 0 }).catch(({ message }) => console.log(message));`;
  const ran = await zz(place({ "ask.ts": script }), [...args, "--run", "ask.ts"]);
  assert.deepEqual(ran.stdout.trim().split("\n"), [
    JSON.stringify(["about a0", "about b1", "about c2", "about d3"]),
    "no more",
    "Cannot run 0 jobs: it takes a whole number from 1.",
  ]);
  assert.equal(most, 2);
});

test("ctx.answer() asks in a conversation of its own, and leaves the person's alone", async (t) => {
  const ask: Plugin = (zz) =>
    zz.command({
      name: "aside",
      description: "asks apart",
      async run(words, ctx) {
        const { text, exit, session } = await ctx.answer({ text: words, save: false });
        ctx.note(`${text} ${exit} ${session} ${ctx.chat.messages.length}`);
      },
    });
  const script = [(request: ChatRequest) => `apart: ${messageOf(request)}`];
  const it = await harness({ plugins: [ask], script }, t);
  assert.deepEqual(await it.command("/aside what is it?"), ["apart: what is it? 0 null 0"]);
  assert.equal(it.requests.length, 1);
});
const messageOf = ({ messages }: ChatRequest): string => (messages.at(-1) as { text: string }).text;
