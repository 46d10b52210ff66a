// Inputs that are none, too large or of another form, and runs whose model or file is not what one
// would think: said, and nothing that was named is left out in silence.
import { deepEqual, equal, match } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Ctx } from "../../../kernel/contract.ts";
import { askable, say } from "../../../test/support/fake/openai.ts";
import { place, zz } from "../../../test/support/run.ts";
import { messageOf } from "../inputs.ts";
import { writeReduced } from "../print-outcomes.ts";

const asks = async () => askable(({ body }) => say(`to ${body.messages.at(-1).content}`));

describe("what is named and is not a file", () => {
  const oddities = (files = {}) => {
    const where = place(files);
    mkdirSync(join(where.cwd, "folder"));
    execFileSync("mkfifo", [join(where.cwd, "pipe")]);
    symlinkSync("/nowhere/at/all", join(where.cwd, "dangling"));
    return where;
  };
  const names = ["folder", "pipe", "dangling"];

  for (const name of names)
    test(`'${name}' alone`, async () => {
      const { args } = await asks();
      const { code, stderr } = await zz(oddities(), [...args, "--each", name, "What?"]);
      equal(code, 2);
      match(stderr, new RegExp(`Cannot ask about '${name}': it is not a file\\.`));
    });

  test("beside a file: said, and the file is asked about; what only a glob finds is not", async () => {
    const { args } = await asks();
    const where = oddities({ "a.txt": "ay" });
    const named = await zz(where, [...args, "--each", ...names, "a.txt", "What?"]);
    equal(named.code, 0, named.stderr);
    match(named.stderr, /Left out, since they are no files: 'folder', 'pipe', 'dangling'\./);
    equal(named.stdout.trim().split("\n").length, 1);
    const found = await zz(where, [...args, "--each", "*", "What?"]);
    equal(found.code, 0, found.stderr);
    equal(/no file/.test(found.stderr), false);
  });
});

describe("rows", () => {
  for (const row of ["null", "[1,2]", '"text"', "5", "{"])
    test(`${row} is not a JSON object`, async () => {
      const { args, requests } = await asks();
      const input = `{"a":1}\n${row}\n`;
      const { code, stderr } = await zz(place(), [...args, "--each-json", "Say."], { input });
      equal(code, 2);
      match(stderr, /Cannot ask about line 2: it is not a JSON object/);
      equal(requests.length, 0);
    });

  test("have the fields that they say, and no others", async () => {
    const { args } = await asks();
    for (const field of ["constructor", "__proto__", "a.b"]) {
      const asking = [...args, "--each-json", `Say {${field}}.`];
      const { code, stdout } = await zz(place(), asking, { input: '{"a":"text"}\n' });
      equal(code, 1);
      match(stdout, new RegExp(`It has no field '${field}', which the prompt names`));
    }
  });

  test("have the length of a text, also of an empty one", async () => {
    const row = { kind: "row", name: '{"a":""}' } as const;
    equal((await messageOf("Say {a.length}.", row, {} as Ctx)).text.split("\n")[0], "Say 0.");
  });
});

test("a line that is larger than a file may be is refused alone", async () => {
  const { args, requests } = await asks();
  const input = `${"x".repeat(20 * 1024 * 1024 + 1)}\nsmall\n`;
  const { code, stdout } = await zz(place(), [...args, "--each-line", "Say {}."], { input });
  equal(code, 1);
  match(stdout, /"error":"Cannot ask about it: it is over 20 MB\. Cut it down first\./);
  deepEqual(
    requests.map(({ body }) => body.messages.at(-1).content),
    ["Say small."],
  );
});

describe("without a model that is named", () => {
  const env = (url: string) => ({ OPENAI_API_KEY: "x", OPENAI_BASE_URL: url });

  test("--dry-run is about the one that would answer", async () => {
    const { url } = await asks();
    const where = place({ "a.txt": "ay" });
    const asking = ["--each", "a.txt", "What?"];
    const dry = await zz(where, ["--dry-run", ...asking], { env: env(url) });
    match(
      dry.stdout,
      /^1 request of about \d+ tokens together.* Nothing was sent\.\n$/,
      dry.stderr,
    );
  });

  test("the run keeps the one that answered first", async () => {
    const { url, requests } = await asks();
    const where = place();
    const input = "one\n";
    await zz(where, ["--each-line", "Say."], { input, env: env(url) });
    const [name] = readdirSync(join(where.home, "each"));
    const [head] = readFileSync(join(where.home, "each", name!), "utf8").split("\n");
    equal(JSON.parse(head!).plan.model, `openai/${requests[0]!.body.model}`);
  });
});

describe("the file of a run", () => {
  const runOf = async () => {
    const { args } = await asks();
    const where = place();
    await zz(where, [...args, "--each-line", "Say {}."], { input: "one\ntwo\n" });
    const folder = join(where.home, "each");
    const file = join(folder, readdirSync(folder)[0]!);
    const change = (from: string, to: string) =>
      writeFileSync(file, readFileSync(file, "utf8").replace(from, to));
    return { change, resume: () => zz(where, [...args, "--each", "--resume"]) };
  };
  const changed = /Cannot open the run '[\w-]+': its file was changed: .*Start it again\./;
  const rows: [what: string, from: string, to: string, said: RegExp][] = [
    ["another prompt", "Say {}.", "Shout {}.", changed],
    ["another model", "openai/m", "openai/n", changed],
    ["another input", '{"input":"two"}', '{"input":"owt"}', changed],
    ["a line less", '{"input":"two"}\n', "", changed],
    ["a newer version", '"zz":1', '"zz":9', /Cannot open the run '[\w-]+': a newer zz made it\./],
  ];
  for (const [what, from, to, said] of rows)
    test(`${what}: refused`, async () => {
      const { change, resume } = await runOf();
      change(from, to);
      const { code, stderr } = await resume();
      equal(code, 2);
      match(stderr, said);
    });

  test("of an earlier zz, without a hash: goes on", async () => {
    const { change, resume } = await runOf();
    change('"inputs":2', '"inputs":2,"x":1');
    change(/,"hash":"\w+"/.exec("")?.[0] ?? "", "");
    equal((await resume()).code, 0);
  });
});

test("the line that goes on with a run says its schema, too", async () => {
  const { args } = await asks();
  const where = place();
  const asking = [...args, "--schema", "n int (it's one)", "--each-line", "Count."];
  const { stderr } = await zz(where, asking, { input: "one\n" });
  match(stderr, /If it stops: zz --each --resume [\w-]+ --schema 'n int \(it'\\''s one\)'$/m);
});

test("an answer that cannot be written ends the run, which says how to go on", async () => {
  const { args } = await asks();
  const where = place({ notes: "a file" });
  const asking = [...args, "--each-line", "--out", "notes/{n}.md", "Say."];
  const { code, stderr } = await zz(where, asking, { input: "one\ntwo\n" });
  equal(code, 1);
  match(stderr, /Cannot .*notes.* \d of 2 are answered\. Go on with: zz --each --resume /);
});

for (const isTTY of [true, false])
  test(`what a model says is obeyed by no terminal, and piped as it is: ${isTTY}`, async () => {
    let shown = "";
    const write = (text: string) => Boolean((shown += text));
    const zz = { io: { stdout: { isTTY, write } }, veil: (text: string) => text };
    const running = { zz, ctx: {}, ledger: { plan: {} } } as any;
    await writeReduced(running, { answer: "a\x1b]0;b\x07\x9bc" } as any);
    equal(shown, isTTY ? "a␛]0;b␇\ufffdc\n" : "a\x1b]0;b\x07\x9bc\n");
  });
