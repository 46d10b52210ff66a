// The examples that reach into a turn: a cost guard, a linter, a picker. Each written from
// docs/plugins.md.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { harness, type Setup } from "zz/test";
import { ROOT } from "../support/run.ts";

const having = (t: TestContext, name: string, setup: Setup = {}) =>
  harness({ own: true, ...setup, plugins: [join(ROOT, "plugins", "examples", `${name}.ts`)] }, t);

describe("budget", () => {
  const script = [{ text: "A.", usage: { input: 100, output: 10, cached: 50 } }];
  const settings = { budget: { tokens: 100, cached: 0.2 } };

  test("asks once the tokens are used up, with those of a cache counted less, and then for the next share", async (t) => {
    const zz = await having(t, "budget", { settings, script, answer: "yes" });
    for (const line of ["one", "two"]) await zz.ask(line);
    deepEqual(zz.questions, []);
    await zz.ask("three");
    deepEqual(zz.questions, [
      "This conversation took about 140 tokens. Go on for 100 more? [y/N] ",
    ]);
    await zz.ask("four");
    equal(zz.questions.length, 2);
  });

  test("a no keeps the request back, and so does that nobody is there", async (t) => {
    for (const answer of ["no", "nobody"] as const) {
      const zz = await having(t, "budget", { settings, script, answer });
      for (const line of ["one", "two"]) await zz.ask(line);
      const why =
        /^Error: This conversation took about 140 tokens, and (you said|100 are its budget)/;
      await rejects(zz.ask("three"), why);
      equal(zz.requests.length, 2);
    }
  });
});

describe("lint", () => {
  const files = { "lint.sh": 'grep -nH TODO "$@" && exit 1; exit 0\n' };
  const write = (path: string, content: string) => ({
    call: ["write_file", { path, content }] as [string, object],
  });
  const allow = { write: true, run: true } as const;

  test("tells the model what it says of files that changed, and nothing where all is well", async (t) => {
    const zz = await having(t, "lint", {
      files,
      allow,
      settings: { lint: { command: "sh lint.sh" } },
      script: [
        write("it's a.ts", "// TODO: all\n"),
        write("b.ts", "b\n"),
        write("c.md", "TODO\n"),
        "Done.",
      ],
    });
    await zz.ask("go");
    const told = zz.chat.messages.filter((message) => message.role === "user" && message.aside);
    equal(told.length, 1);
    const words =
      /^\[The linter ran after your change: sh lint\.sh 'it'\\''s a\.ts'\]\n[\s\S]*'s a\.ts:1:\/\/ TODO/;
    match(told[0]!.text, words);
    match(zz.requests[1]!.messages.at(-1)!.text, /^\[The linter ran/);
  });

  test("runs only what the person allows, and nothing where no command is set", async (t) => {
    const zz = await having(t, "lint", {
      files,
      allow: { write: true },
      settings: { lint: { command: "sh lint.sh" }, shell: { effects: "before" } },
      script: [write("a.ts", "// TODO\n"), "Done."],
    });
    const { notes } = await zz.ask("go");
    match(
      notes.join("\n"),
      /^lint: Refused: the person said no to run access to "sh lint\.sh a\.ts"/m,
    );
    const bare = await having(t, "lint", {
      files,
      allow,
      script: [write("a.ts", "// TODO\n"), "Done."],
    });
    await bare.ask("go");
    ok(!bare.events.some((fact) => fact.type === "called" && fact.call.name === "run_command"));
  });
});

describe("attach", () => {
  const files = { "a.txt": "one\n", "b.txt": "two\n", "c.md": "three\n" };

  test("the chosen file goes with the next message", async (t) => {
    const zz = await having(t, "attach", { files, answer: async () => "b.txt" });
    deepEqual(await zz.command("/attach txt"), ["'b.txt' goes with your next message."]);
    deepEqual(zz.questions, ["Which file?"]);
    await zz.ask("what is it?");
    equal(zz.chat.messages[0]!.text, "--- FILE b.txt ---\ntwo\n--- END ---\n\nwhat is it?");
  });

  test("one that fits needs no choice; none is attached where none is chosen, none fits, or nobody is there", async (t) => {
    const zz = await having(t, "attach", { files, answer: async () => "" });
    deepEqual(await zz.command("/attach md"), ["'c.md' goes with your next message."]);
    deepEqual(await zz.command("/attach"), ["Nothing was attached."]);
    await rejects(zz.command("/attach zip"), /Cannot attach 'zip': no file has that in its name/);
    const alone = await having(t, "attach", { files, answer: "nobody" });
    await rejects(alone.command("/attach"), /there is no terminal to choose on/);
  });
});
