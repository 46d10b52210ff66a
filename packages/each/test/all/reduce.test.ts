// --reduce: answers folded level by level into one.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { askable, refuse, say } from "../../../../test/support/fake/openai.ts";
import { type Place, place, zz } from "../../../../test/support/run.ts";

const asked = (body: any): string => body.messages.at(-1).content;
const isFold = (body: any): boolean => asked(body).startsWith("Sum up.");
/** The lines of the answers in a fold. */
const foldedIn = (body: any): string[] => asked(body).match(/^(about|sum of) .*/gm) ?? [];
/** Inputs are answered "about X", folds "sum of" what is in them. */
const model = (broken: (body: any) => boolean = () => false) =>
  askable(({ body }) => {
    if (broken(body)) return refuse(400, { error: { message: "no" } });
    if (!isFold(body)) return say(`about ${/INPUT ---\n(.*)/.exec(asked(body))![1]}`);
    return say(`sum of ${numbersIn(foldedIn(body).join(" ")).join(" ")}`);
  });
const numbersIn = (text: string): string[] => text.match(/\d+/g) ?? [];
const lines = (count: number): string => Array.from({ length: count }, (_, n) => `${n}\n`).join("");
const SMALL = { window: 1500 };
const reduce = (where: Place, args: string[], more: string[], input?: string) =>
  zz(where, [...args, "--no-tools", ...more, "--reduce", "Sum up."], input ? { input } : {});

test("answers are folded by groups that fit the window, until one is left", async () => {
  const { args, requests } = await model();
  const where = place({}, SMALL);
  const ran = await reduce(where, args, ["--system", "S", "--each-line", "Say."], lines(40));
  assert.equal(ran.code, 0, ran.stderr);
  assert.deepEqual(numbersIn(ran.stdout), numbersIn(lines(40)));
  assert.equal(ran.stdout.trim().split("\n").length, 1);
  const folds = requests.filter(({ body }) => isFold(body)).map(({ body }) => body);
  assert.ok(folds.length > 2, `${folds.length} folds`);
  assert.ok(folds.every((body) => asked(body).length < (SMALL.window / 2) * 3));
  assert.match(asked(folds[0]), /^Sum up\.\n\nBelow is a part of the answers to "Say\."/);
  assert.match(asked(folds.at(-1)), /^Sum up\.\n\nBelow are answers to "Say\."/);
});

test("one answer is folded too, a long one in pieces; --out, --schema and --dry-run hold for folds", async (t) => {
  const cases: [what: string, input: string, more: string[], folds: number, printed: RegExp][] = [
    ["one answer", "7\n", [], 1, /^sum of 7\n$/],
    ["a file for the result", "7\n8\n", ["--out", "sum.md"], 1, /^$/],
    ["a file for each answer", "7\n8\n", ["--out", "{n}.md"], 1, /^sum of 7 8\n$/],
    ["not sent", "7\n8\n", ["--dry-run"], 0, /^3 requests of about \d+ tokens/],
  ];
  for (const [what, input, more, folds, printed] of cases)
    await t.test(what, async () => {
      const { args, requests } = await model();
      const where = place();
      const ran = await reduce(where, args, [...more, "--each-line", "Say."], input);
      assert.equal(ran.code, 0, ran.stderr);
      assert.match(ran.stdout, printed);
      assert.equal(requests.filter(({ body }) => isFold(body)).length, folds);
      const file = (name: string) => readFileSync(path.join(where.cwd, name), "utf8");
      if (more.includes("sum.md")) assert.equal(file("sum.md"), "sum of 7 8\n");
      if (more.includes("{n}.md")) assert.equal(file("2.md"), "about 8\n");
    });
});

test("an answer longer than the window is folded in pieces, with nothing lost", async () => {
  const words = Array.from({ length: 700 }, (_, n) => `about ${n}`).join("\n");
  const seen: string[] = [];
  const { args } = await askable(({ body }) => {
    if (!isFold(body)) return say(words);
    seen.push(...foldedIn(body));
    return say("sum of 1");
  });
  const where = place({}, SMALL);
  const ran = await reduce(where, args, ["--system", "S", "--each-line", "Say."], "x\n");
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(ran.stdout, "sum of 1\n");
  const whole = seen.filter((line) => line.startsWith("about"));
  assert.deepEqual(whole, words.split("\n"));
});

test("with --schema the fold is a value of that schema", async () => {
  const { args, requests } = await askable([say('{"n": 1}')]);
  const ran = await reduce(
    place(),
    args,
    ["--schema", "n int", "--each-line", "Say."],
    "one\ntwo\n",
  );
  assert.equal(ran.stdout, '{"n":1}\n');
  assert.match(asked(requests.at(-1)!.body), /\{"n":1\}[\s\S]*\{"n":1\}/);
});

test("inputs without an answer are said to the person and to the model, and folded once they have one", async () => {
  let isDown = true;
  const { args, requests } = await model(
    (body) => isDown && !isFold(body) && asked(body).includes("\n8\n"),
  );
  const where = place();
  const ran = await reduce(where, args, ["--each-line", "Say."], "7\n8\n9\n");
  assert.equal(ran.stdout, "sum of 7 9\n");
  assert.match(ran.stderr, /1 input of 3 could not be answered: what is folded lacks them/);
  assert.match(asked(requests.at(-1)!.body), /1 input of 3 could not be answered\./);
  assert.equal(ran.code, 1);
  isDown = false;
  const again = await zz(where, [...args, "--no-tools", "--each", "--resume"]);
  assert.equal(again.code, 0, again.stderr);
  assert.equal(again.stdout, "sum of 7 8 9\n");
});

test("a fold that fails is the only one asked again; a finished run is folded by other words", async () => {
  let isDown = true;
  const { args, requests } = await model(
    (body) => isDown && isFold(body) && foldedIn(body)[0]!.startsWith("sum of"),
  );
  const where = place({}, SMALL);
  const system = ["--system", "S"];
  const ran = await reduce(where, args, [...system, "--each-line", "Say."], lines(40));
  assert.equal(ran.code, 1);
  assert.equal(ran.stdout, "");
  assert.match(
    ran.stderr,
    /Cannot reduce: .*40 of 40 are answered\. Go on with: zz --each --resume/,
  );
  const before = requests.length;
  isDown = false;
  const again = await zz(where, [...args, "--no-tools", ...system, "--each", "--resume"]);
  assert.deepEqual(numbersIn(again.stdout), numbersIn(lines(40)));
  assert.equal(requests.length - before, 1);
  const other = ["--each", "--resume", "--reduce", "Sum up. In German."];
  await zz(where, [...args, "--no-tools", ...system, ...other]);
  const later = requests.slice(before + 1);
  assert.ok(later.length > 1 && later.every(({ body }) => isFold(body)));
});

test("folds count for --budget, and what does not get shorter is given up", async (t) => {
  await t.test("--budget", async () => {
    const { args, requests } = await model();
    const more = ["--budget", "150t", "--jobs", "1", "--each-line", "Say."];
    const ran = await reduce(place(), args, more, "7\n8\n");
    assert.equal(ran.code, 3);
    assert.match(ran.stderr, /the budget is spent\. 2 of 2 are answered/);
    assert.equal(requests.filter(({ body }) => isFold(body)).length, 0);
  });
  await t.test("the same length", async () => {
    const long = `about ${"1 ".repeat(700)}`;
    const { args } = await askable([say(long)]);
    const where = place({}, SMALL);
    const ran = await reduce(where, args, ["--system", "S", "--each-line", "Say."], lines(8));
    assert.equal(ran.code, 3);
    assert.match(ran.stderr, /what the parts fold into is as long as they were/);
  });
  await t.test("no answer", async () => {
    const { args } = await model(() => true);
    const ran = await reduce(place(), args, ["--each-line", "Say."], lines(2));
    assert.equal(ran.code, 1);
    assert.match(ran.stderr, /Cannot reduce: nothing was answered\. 0 of 2 are answered/);
  });
});
