// ctx.pick() and ctx.ask(…, { secret: true }): a list to choose from, and a line that nobody sees.
import { doesNotMatch, equal, match } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Zz } from "zz";
import { harness } from "zz/test";
import { call, say } from "../../support/fake/openai.ts";
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

describe("a list longer than the window", { concurrency: 3 }, () => {
  const LONG = `export default (zz) => {
    const lines = Array.from({ length: 40 }, (_, i) => ({ name: "line-" + (i + 1), description: "about " + (i + 1) }));
    zz.command({ name: "line", description: "d", run: async (_, { pick, note }) =>
      note("picked " + (await pick("Which line?", lines))) });
    zz.command({ name: "none", description: "d", run: async (_, { pick, note }) =>
      note("picked " + (await pick("Which fruit?", []))) });
    zz.command({ name: "tell", description: "d", run: async (_, { pick, note }) =>
      note("picked " + (await pick(lines.map(({ name }) => "told of " + name).join("\\n"), lines.slice(0, 5)))) });
  };`;
  const open = async (t: TestContext, rows: number, cols = 40) => {
    const where = place();
    const file = join(where.cwd, "own.ts");
    writeFileSync(file, LONG);
    const it = await repl(t, { where, args: ["--plugin", file], cols, rows });
    const visible = () => {
      const { active } = it.view.buffer;
      const all = Array.from({ length: it.view.rows }, (_, i) => active.getLine(active.viewportY + i)!);
      return all.map((line) => line.translateToString(true));
    };
    const settled = async (name: string) => {
      for (let left = 300; !(visible().some((row) => row.includes(`❯ ${name}`)) && isWhole()) && left; left--)
        await sleep(10);
      equal(visible().filter((row) => row.includes(`❯ ${name}`)).length, 1, it.screen());
      equal(isWhole(), true, it.screen());
      return visible().filter((row) => /^[❯ ] line-\d/.test(row)).length;
    };
    const isWhole = () => /Which line\?/.test(visible().join("\n")) && /^40 choices/m.test(visible().join("\n"));
    const once = () => equal(it.screen().split("Which line?").length - 1, 1, it.screen());
    return { ...it, visible, settled, once };
  };

  test("is drawn again in a window that gets lower, higher and narrower, with the same row selected", async (t) => {
    const it = await open(t, 15);
    it.type(`/line${KEY.enter}`);
    equal(await it.settled("line-1"), 10);
    it.type(DOWN.repeat(7));
    await it.settled("line-8");
    it.resize(40, 10);
    it.type(DOWN);
    equal(await it.settled("line-9"), 6);
    it.once();
    it.resize(34, 8);
    equal(await it.settled("line-9"), 4);
    it.resize(34, 20);
    it.type(DOWN);
    equal(await it.settled("line-10"), 10);
    it.once();
    it.resize(40, 9);
    it.type(`${DOWN}${KEY.enter}`);
    await it.sees("picked line-11");
    it.once();
    await it.say("hello");
    await it.leave();
  });

  test("stays narrowed by what was typed, and says how many fit", async (t) => {
    const it = await open(t, 15, 60);
    it.type(`/line${KEY.enter}`);
    await it.settled("line-1");
    it.type("line-2");
    await it.sees("11 of 40 choices");
    it.type(DOWN);
    await it.sees("❯ line-20");
    it.resize(60, 9);
    await sleep(400);
    await it.sees(/Which line\? line-2\n[\s\S]*❯ line-20[\s\S]*11 of 40 choices/);
    it.once();
    it.type("9");
    await it.sees(/Which line\? line-29\n❯ line-29/);
    it.type("9");
    doesNotMatch(await it.sees(/Which line\? line-299\n.*Nothing matches/), /select/);
    it.type("\x7f");
    await it.sees("❯ line-29");
    it.type(KEY.enter);
    await it.sees("picked line-29");
    await it.leave();
  });

  test("Escape leaves it, also while the window changes, and nothing of it stays", async (t) => {
    const it = await open(t, 15);
    for (const rows of [15, 10]) {
      it.type(`/line${KEY.enter}`);
      await it.sees("❯ line-1");
      it.resize(40, rows);
      it.type("\x1b");
      await it.sees("picked undefined");
      doesNotMatch(it.visible().join("\n"), /Which line|line-\d|choices/); // what a lower window scrolled away cannot be erased
      it.type(`/new${KEY.enter}`);
      await it.sees("A new conversation");
      it.view.clear();
    }
    await it.leave();
  });

  for (const rows of [4, 7, 9])
    test(`as many rows as fit are shown from the start, at ${rows} rows`, async (t) => {
      const it = await open(t, rows);
      it.type(`/line${KEY.enter}`);
      await it.sees("❯ line-1");
      it.type(DOWN.repeat(4));
      await it.sees("❯ line-5");
      it.once();
      it.type(KEY.enter);
      await it.sees("picked line-5");
      it.once();
      await it.leave();
    });

  test("a question longer than the window is shown once", async (t) => {
    const it = await open(t, 12);
    it.type(`/tell${KEY.enter}`);
    await it.sees("❯ line-1");
    it.type(DOWN);
    await it.sees("❯ line-2");
    it.type(KEY.enter);
    const shown = await it.sees("picked line-2");
    for (const name of ["line-1", "line-20", "line-40"])
      equal(shown.split(new RegExp(`told of ${name}\\b`)).length - 1, 1, shown);
    await it.leave();
  });

  test("an empty list says so, and none is taken", async (t) => {
    const it = await open(t, 15);
    it.type(`/none${KEY.enter}`);
    doesNotMatch(await it.sees("picked undefined"), /select/);
    match(it.screen(), /Which fruit\?\nThere is nothing to choose from\./);
    await it.leave();
  });
});

describe("while a tool has the person choose, type or edit, no live row is drawn", { concurrency: 3 }, () => {
  const TOOLS = `export default (zz) => {
    const tool = (name, act) => zz.tool({ name, description: "d", run: async (_, ctx) => "got " + (await act(ctx)) });
    tool("choose", ({ pick }) => pick("Which fruit?", ["apple", "pear"]));
    tool("draw", ({ io, terminal }) => terminal(() => {
      io.stderr.write("Draw here. ");
      io.stdin.setRawMode(true).resume();
      return new Promise((done) => io.stdin.once("data", () => done("a key")));
    }));
    tool("change", async ({ edit }) => (await edit("old text", "text.md")).trim());
  };`;
  for (const [name, shows, key, got] of [
    ["choose", "pear", `${DOWN}${KEY.enter}`, "got pear"],
    ["draw", "Draw here.", "x", "got a key"],
    ["change", "Editing.", KEY.enter, "got new text"],
  ] as const)
    test(name, async (t) => {
      const where = place();
      const editor = join(where.cwd, "editor.sh");
      writeFileSync(editor, `#!/bin/sh\nprintf 'Editing. '\nread answer\necho new text > "$1"\n`, { mode: 0o755 });
      writeFileSync(join(where.cwd, "own.ts"), TOOLS);
      const script = [call([name, {}]), say("Good.")];
      const args = ["--plugin", join(where.cwd, "own.ts")];
      const env = { EDITOR: editor, VISUAL: editor };
      const it = await repl(t, { where, args, script, env, process: name === "change" }); // zz waits for the editor
      it.type(`go${KEY.enter}`);
      await it.sees(shows);
      const before = it.raw().length;
      await sleep(500);
      doesNotMatch(it.raw().slice(before), /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
      it.type(key);
      await it.sees("Good.");
      match(JSON.stringify(it.fake.requests.at(-1)?.body.messages), new RegExp(got));
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
