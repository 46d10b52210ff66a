// ctx.pick() and ctx.ask(…, { secret: true }): a list to choose from, and a line that nobody sees.
import { doesNotMatch, equal } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Zz } from "zz";
import { harness } from "zz/test";
import { DOWN, type ReplOptions, repl } from "../../support/repl.ts";
import { place } from "../../support/run.ts";
import { KEY } from "../../support/terminal.ts";

const PLUGIN = `export default (zz) => {
  zz.command({ name: "fruit", description: "d", run: async (_, { pick, note }) =>
    note("picked " + (pick ? await pick("Which fruit?", ["apple", { name: "pear", description: "green" }, "plum"]) : "nowhere")) });
  zz.command({ name: "password", description: "d", run: async (_, { ask, note, keep }) => {
    const said = await ask("Password? ", { secret: true });
    keep("said.txt", () => said);
    note("of " + said.length + " letters: <" + said + ">");
  } });
};`;

async function open(t: TestContext, options: ReplOptions = {}) {
  const where = place();
  const file = join(where.cwd, "own.ts");
  writeFileSync(file, PLUGIN);
  return { ...(await repl(t, { where, args: ["--plugin", file], ...options })), where };
}

describe("at the prompt", { concurrency: 2 }, () => {
  for (const cols of [80, 40])
    test(`a list is shown, narrowed by what is typed, and one is taken, at ${cols} columns`, async (t) => {
      const it = await open(t, { cols });
      it.type(`/fruit${KEY.enter}`);
      await it.sees("plum");
      it.type(`${DOWN}${KEY.enter}`);
      await it.sees("picked pear");
      it.type(`/fruit${KEY.enter}`);
      await it.sees(/Which fruit\?[\s\S]*Which fruit\?[\s\S]*plum/);
      it.type("plu");
      await it.sees(/Which fruit\? plu/);
      it.type(KEY.enter);
      await it.sees("picked plum");
      await it.say("hello");
      await it.leave();
    });

  test("Ctrl+C takes none, and the conversation goes on", async (t) => {
    const it = await open(t);
    it.type(`/fruit${KEY.enter}`);
    await it.sees("plum");
    it.type(KEY.ctrlC);
    await it.sees("picked undefined");
    await it.say("hello");
    await it.leave();
  });

  test("a secret is not shown while it is typed, nor later", async (t) => {
    const it = await open(t);
    it.type(`/password${KEY.enter}`);
    await it.sees("Password?");
    it.type("hunter2hunter2");
    await it.sees("**************");
    it.type(KEY.enter);
    await it.sees("of 14 letters");
    doesNotMatch(it.raw(), /hunter2/);
    equal(readFileSync(join(it.where.home, "said.txt"), "utf8"), "hunter2hunter2\n");
    await it.leave();
  });

  test("on a dumb terminal there is no list, and no secret is asked for", async (t) => {
    const it = await open(t, { env: { TERM: "dumb" } });
    it.type(`/fruit${KEY.enter}`);
    await it.sees("picked nowhere");
    it.type(`/password${KEY.enter}`);
    await it.sees("Cannot ask for a secret");
    await it.leave();
  });
});

describe("in the test kit", () => {
  const plugin = (zz: Zz) =>
    zz.tool({
      ...{ name: "it", description: "d" },
      run: async (_, { ask, pick }) =>
        JSON.stringify([await pick?.("Which?", ["a", { name: "b" }]), await ask?.("Key? ", { secret: true })]),
    });
  for (const [answer, gives] of [
    ["yes", '["a",""]'],
    ["no", '[null,""]'],
    [async () => "b", '["b","b"]'],
    ["nobody", "[null,null]"],
  ] as const)
    test(`${typeof answer === "function" ? "a function" : answer}`, async (t) => {
      const zz = await harness({ plugins: [plugin], answer }, t);
      equal((await zz.call("it")).text, gives);
    });
});
