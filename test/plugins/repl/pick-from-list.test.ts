// ctx.pick() and ctx.ask(…, { secret: true }): a list to choose from, and a line that nobody sees.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { harness, standingClock } from "../../../sdk/testing.ts";
import { call, say } from "../../support/fake/openai.ts";
import { DOWN, type ReplOptions, repl, ticks } from "../../support/repl.ts";
import { place } from "../../support/run.ts";
import { KEY } from "../../support/terminal.ts";
import { waitFor } from "../../support/wait.ts";

const PLUGIN = `export default (zz) => {
  const choose = (name, question, choices) => zz.command({ name, description: "d", run: async (_, { pick, note }) =>
    note("picked " + (pick ? await pick(question, choices) : "nowhere")) });
  choose("fruit", "Which fruit?", ["apple", { name: "pear", description: "green" }, "plum"]);
  choose("line", "Which line?", Array.from({ length: 40 }, (_, i) => ({ name: "line-" + (i + 1), description: "about " + i })));
  choose("none", "Which fruit?", []);
  zz.command({ name: "password", description: "d", run: async (_, { ask, note, keep }) => {
    const said = await ask("Password? ", { secret: true });
    keep("said.txt", () => said);
    note("of " + said.length + " letters: <" + said + ">");
  } });
  const tool = (name, act) => zz.tool({ name, description: "d", run: async (_, ctx) => "got " + (await act(ctx)) });
  tool("choose", ({ pick }) => pick("Which fruit?", ["apple", "pear"]));
  tool("draw", ({ io, terminal }) => terminal(() => {
    io.stderr.write("Draw here. ");
    io.stdin.setRawMode(true).resume();
    return new Promise((done) => io.stdin.once("data", () => done("a key")));
  }));
};`;

async function open(t: TestContext, options: ReplOptions = {}) {
  const where = place();
  const file = join(where.cwd, "own.ts");
  writeFileSync(file, PLUGIN);
  return { ...(await repl(t, { where, args: ["--plugin", file], ...options })), where };
}

test("a list is shown, narrowed by what is typed, and one is taken; Ctrl+C takes none, and the conversation goes on", async (t) => {
  const it = await open(t, { cols: 40 });
  await it.say("/fruit", "plum");
  it.type(`${DOWN}${KEY.enter}`);
  await it.sees("picked pear");
  await it.say("/fruit", /Which fruit\?[\s\S]*Which fruit\?[\s\S]*plum/);
  it.type("plumx"); // nothing holds it, one is like it
  await it.sees(/Which fruit\? plumx/);
  it.type(KEY.enter);
  await it.sees("picked plum");
  await it.say("/fruit", /picked plum[\s\S]*Which fruit\?[\s\S]*plum/);
  it.type(KEY.ctrlC);
  await it.sees("picked undefined");
  await it.say("hello");
});

test("a secret is not shown while it is typed, nor later", async (t) => {
  const it = await open(t);
  await it.say("/password", "Password?");
  it.type("hunter2hunter2");
  await it.sees("**************");
  it.type(KEY.enter);
  await it.sees("of 14 letters");
  doesNotMatch(it.raw(), /hunter2/);
  equal(readFileSync(join(it.where.home, "said.txt"), "utf8"), "hunter2hunter2\n");
});

test("on a dumb terminal there is no list, and a secret is as unseen", async (t) => {
  const it = await open(t, { env: { TERM: "dumb" } });
  await it.say("/fruit", "picked nowhere");
  await it.say("/password", "(hidden)");
  it.type(`hunterr\x7f2hunter2${KEY.enter}`);
  await it.sees("of 14 letters");
  doesNotMatch(it.raw(), /hunter2/);
});

describe("a list longer than the window", { concurrency: 3 }, () => {
  /** With a clock that stands: the list is drawn again once the size has not changed for 150 ms. */
  const long = async (t: TestContext, rows: number, cols = 40) => {
    const clock = standingClock();
    const it = await open(t, { cols, rows, clock });
    const visible = () => {
      const { active } = it.view.buffer;
      const all = Array.from(
        { length: it.view.rows },
        (_, i) => active.getLine(active.viewportY + i)!,
      );
      return all.map((line) => line.translateToString(true));
    };
    /** How many rows of the list are shown, once this one is selected. */
    const selects = async (name: string) => {
      const isSelected = () => visible().filter((row) => row.includes(`❯ ${name}`)).length === 1;
      const isWhole = () => /Which line\?[\s\S]*^40 choices/m.test(visible().join("\n"));
      await waitFor(`${name} to be selected`, () => isSelected() && isWhole(), it.screen);
      return visible().filter((row) => /^[❯ ] line-\d/.test(row)).length;
    };
    const resized = async (cols: number, rows: number) => {
      await it.drawn(); // the screen rewraps what is on it by then
      it.resize(cols, rows);
      await clock.pass(150);
    };
    const once = () => equal(it.screen().split("Which line?").length - 1, 1, it.screen());
    return { ...it, clock, visible, selects, resized, once };
  };

  test("is drawn again in a window that gets lower, higher and narrower, with the same row selected", async (t) => {
    const it = await long(t, 15);
    it.type(`/line${KEY.enter}`);
    equal(await it.selects("line-1"), 10);
    it.type(DOWN.repeat(7));
    await it.selects("line-8");
    await it.resized(40, 10);
    it.type(DOWN);
    equal(await it.selects("line-9"), 6);
    it.once();
    await it.resized(34, 8);
    equal(await it.selects("line-9"), 4);
    it.resize(40, 9);
    await it.press(`${DOWN}${KEY.enter}`); // before it is drawn again
    await it.clock.pass(150);
    await it.sees("picked line-10");
    it.once();
  });

  test("stays narrowed by what was typed, and says how many fit", async (t) => {
    const it = await long(t, 15, 60);
    it.type(`/line${KEY.enter}`);
    await it.selects("line-1");
    it.type("line-2");
    await it.sees("11 of 40 choices");
    it.type(DOWN);
    await it.sees("❯ line-20");
    await it.resized(60, 9);
    await it.sees(/Which line\? line-2\n[\s\S]*❯ line-20[\s\S]*11 of 40 choices/);
    it.once();
    it.type("9");
    await it.sees(/Which line\? line-29\n❯ line-29/);
    it.type(KEY.enter);
    await it.sees("picked line-29");
  });

  test("Escape leaves it 50 ms later, also while the window changes, and nothing of it stays", async (t) => {
    const it = await long(t, 15);
    it.type(`/line${KEY.enter}`);
    await it.selects("line-1");
    await it.drawn();
    it.resize(40, 10);
    await it.press("\x1b");
    await it.clock.pass(49);
    doesNotMatch(await it.drawn(), /picked/);
    await it.clock.pass(101); // while a window changes, keys wait until the list is drawn again
    await it.sees("picked undefined");
    // what a lower window scrolled away cannot be erased
    doesNotMatch(it.visible().join("\n"), /Which line|line-\d|choices/);
  });

  test("an empty list says so, and none is taken", async (t) => {
    const it = await long(t, 15);
    it.type(`/none${KEY.enter}`);
    doesNotMatch(await it.sees("picked undefined"), /select/);
    match(it.screen(), /Which fruit\?\nThere is nothing to choose from\./);
  });
});

describe("while a tool has the person choose or type, no live row is drawn", {
  concurrency: 3,
}, () => {
  for (const [name, shows, key, got] of [
    ["choose", "pear", `${DOWN}${KEY.enter}`, "got pear"],
    ["draw", "Draw here.", "x", "got a key"],
  ] as const)
    test(name, async (t) => {
      const clock = standingClock();
      const it = await open(t, { script: [call([name, {}]), say("Good.")], clock });
      it.type(`go${KEY.enter}`);
      await ticks(clock, it, shows);
      const before = it.raw().length;
      await clock.pass(500);
      await it.drawn();
      doesNotMatch(it.raw().slice(before), /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
      it.type(key);
      await it.sees("Good.");
      match(JSON.stringify(it.fake.requests.at(-1)?.body.messages), new RegExp(got));
    });
});

test("in the test kit a function answers both", async (t) => {
  const { ctx } = await harness({ answer: async () => "b" }, t);
  equal(await ctx.pick!("Which?", ["a", { name: "b" }]), "b");
  equal(await ctx.ask!("Key? ", { secret: true }), "b");
});
