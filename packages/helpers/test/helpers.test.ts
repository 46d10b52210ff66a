// task: helpers beside the conversation, with tools that pass its gate.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";

import { describe, type TestContext, test } from "node:test";
import type { Zz } from "zz";
import { type Harness, harness, type Setup, type Step } from "zz/test";

const files = { "a.ts": "export const a = 1;\n", ".env": "KEY=verysecretvalue\n" };
const having = (t: TestContext, setup: Setup = {}) => harness({ own: true, files, ...setup }, t);
const task = (question: string): [string, object] => ["task", { question }];

/**
 * A model that plays its part by who it is asked as: a helper, by its question, or the
 * conversation.
 */
function parts(
  helpers: Record<string, Step[]>,
  conversation: Step[] = [{ calls: [task("x")] }, "Done."],
): Step[] {
  const taken: Record<string, number> = {};
  return [
    (request) => {
      const name = request.task === "helper" ? request.messages[0]!.text : "";
      const steps = name ? helpers[name]! : conversation;
      taken[name] = (taken[name] ?? -1) + 1;
      const step = steps[Math.min(taken[name], steps.length - 1)]!;
      return typeof step === "function" ? step(request) : step;
    },
  ];
}
const asHelpers = (zz: Harness) => zz.requests.filter((request) => request.task === "helper");
const kept = (zz: Harness) => zz.chat.tree().entries.filter(({ type }) => type === "helper");

describe("task", () => {
  test("reads with tools of its own; the conversation has its report alone, the session what it did, /cost what it took", async (t) => {
    const usage = { input: 1_000, output: 10 };
    const steps: Step[] = [
      { calls: [["grep", { pattern: "const a" }]], usage },
      { text: "In a.ts, line 1.", usage },
    ];
    const asking: [string, object] = ["Task", { description: "find a", prompt: "Where is a?" }];
    const zz = await having(t, {
      settings: { prices: { "script/model": { input: 1, output: 1 } } },
      script: parts({ "Where is a?": steps }, [{ call: asking }, "There it is."]),
    });
    const { results, text } = await zz.ask("where is a?");
    deepEqual([results[0]!.text, text], ["In a.ts, line 1.", "There it is."]);
    const asked = asHelpers(zz);
    const names = asked[0]!.tools.map(({ name }) => name);
    ok(names.includes("read_file") && names.includes("web_fetch"), `${names}`);
    for (const name of ["task", "write_file", "run_command", "plan", "more_tools"])
      ok(!names.includes(name), name);
    match(asked[1]!.messages.at(-1)!.text, /a\.ts/);
    equal(zz.chat.messages.map(({ role }) => role).join(), "user,assistant,tool,assistant");
    const [entry, ...more] = kept(zz) as any[];
    const { input, output } = entry.usage;
    deepEqual(
      [entry.question, entry.text, input, output],
      ["Where is a?", "In a.ts, line 1.", 2_000, 20],
    );
    deepEqual([entry.calls.map(({ name }: any) => name), more], [["grep"], []]);
    match((await zz.command("/cost")).join("\n"), /2000 in +20 out +0\.0020/);
  });

  test("four at once are all at work before the first has ended, each with its line", async (t) => {
    const all = Promise.withResolvers<void>();
    let arrived = 0;
    const wait = async () => {
      if (++arrived === 4) all.resolve();
      await all.promise;
      return "Found.";
    };
    const questions = ["one", "two", "three", "four"];
    const steps: Step[] = [{ call: ["list_dir"] }, wait];
    const helpers = Object.fromEntries(questions.map((name) => [name, steps]));
    const zz = await having(t, {
      script: parts(helpers, [{ calls: questions.map(task) }, "Done."]),
    });
    const { results } = await zz.ask("go");
    deepEqual(new Set(results.map(({ text }) => text)), new Set(["Found."]));
    const shown = zz.events.flatMap((fact) => (fact.type === "progressed" ? fact.text : []));
    const all4 = /^1 one · .*\n2 two · .*\n3 three · .*\n4 four · [^\n]*$/;
    const isShown = shown.some((text) => all4.test(text));
    ok(isShown, shown.join("\n--\n"));
    equal(shown.at(-1), "");
    equal(kept(zz).length, 4);
  });

  test("is refused what the conversation is refused, also by plugins, and has no other tools", async (t) => {
    const strict = (zz: Zz) =>
      zz.wrap("gate", (asked, next) =>
        asked.call.name === "list_dir" ? { verdict: "deny", why: "not now" } : next(asked),
      );
    const calls: [string, object][] = [
      ["read_file", { path: ".env" }],
      ["list_dir", {}],
      ["web_fetch", { url: "http://127.0.0.1:9/" }],
      ["write_file", { path: "a.ts", content: "" }],
      ["run_command", { command: "touch b" }],
      ["task", { question: "again" }],
    ];
    const script = parts({ x: [{ calls }, "Nothing."] });
    const zz = await having(t, { deny: { net: true }, plugins: [strict], script });
    await zz.ask("go");
    const results = asHelpers(zz)[1]!.messages.filter(({ role }) => role === "tool");
    const net = /^Refused: net access .* denied by --deny-net/;
    for (const [i, words] of [/^Refused: the person said no/, /^Refused: not now\./, net].entries())
      match(results[i]!.text, words);
    for (const { text } of results.slice(3)) match(text, /^Cannot call '/);
    doesNotMatch(JSON.stringify(zz.requests), /verysecretvalue/);
    equal(zz.read("a.ts"), files["a.ts"]);
  });

  test("may do what the person gives it, through the same gate, one after the other", async (t) => {
    let [open, most] = [0, 0];
    const work: Step = async () => {
      most = Math.max(most, ++open);
      // in which another could begin
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
      open--;
      return { calls: [["write_file", { path: "b.txt", content: "made\n" }]] };
    };
    const script = parts({ x: [work, "Made."], y: [work, "Made."] }, [
      { calls: [task("x"), task("y")] },
      "Done.",
    ]);
    const zz = await having(t, {
      settings: { helpers: { tools: ["write_file"] } },
      script,
      answer: "no",
    });
    await zz.ask("go");
    equal(zz.questions.filter((question) => /write_file wants to/.test(question)).length, 2);
    equal(zz.read("b.txt"), undefined);
    equal(most, 1);
  });

  test("sends helpers itself only so deep as the settings say", async (t) => {
    const again = (question: string): Step => ({ calls: [task(question)] });
    const script = () =>
      parts({ one: [again("two"), "One."], two: [again("three"), "Two."], three: ["Three."] }, [
        again("one"),
        "Done.",
      ]);
    for (const [depth, helpers] of [["one"], ["one", "two"]].entries()) {
      const zz = await having(t, { settings: { helpers: { depth: depth + 1 } }, script: script() });
      await zz.ask("go");
      const asked = asHelpers(zz).map(({ messages }) => messages[0]!.text);
      deepEqual([...new Set(asked)], helpers);
    }
  });

  test("one that goes on without end has to answer", async (t) => {
    const script = parts({
      x: [(request) => (request.tools.length ? { call: ["list_dir"] } : "Enough.")],
    });
    const zz = await having(t, { settings: { helpers: { rounds: 3 } }, script });
    equal((await zz.ask("go")).results[0]!.text, "Enough.");
    equal(asHelpers(zz).length, 4);
  });

  test("sends no more of them in a turn than the settings say, those of helpers included; the next turn has its own", async (t) => {
    const again = (...questions: string[]): Step => ({ calls: questions.map(task) });
    const turns = [again("one"), again("two"), "Done.", again("two"), "Again."];
    const script = parts(
      { one: [again("two", "three"), "One."], two: ["Two."], three: ["Three."] },
      turns,
    );
    const zz = await having(t, { settings: { helpers: { depth: 2, most: 3 } }, script });
    const { results } = await zz.ask("go");
    equal(results[0]!.text, "One.");
    const most =
      /^Cannot send a helper: this turn has sent 3 helpers \("helpers\.most"\)\. Answer with/;
    match(results[1]!.text, most);
    equal((await zz.ask("more")).results[0]!.text, "Two.");
  });

  test("Ctrl+C ends all of them", async (t) => {
    const both = Promise.withResolvers<void>();
    let arrived = 0;
    const hang = () => {
      if (++arrived === 2) both.resolve();
      return new Promise<string>(() => {});
    };
    const script = parts({ x: [hang], y: [hang] }, [{ calls: [task("x"), task("y")] }, "Done."]);
    const zz = await having(t, { script });
    const asked = zz.ask("go").catch((error: Error) => error.message);
    await both.promise;
    zz.stop();
    equal(await asked, "Stopped.");
    const ended = kept(zz).map(({ question, failed }) => `${question} ${failed}`);
    deepEqual(ended.sort(), ["x true", "y true"]);
  });

  test("the budget holds helpers too", async (t) => {
    const usage = { input: 2_000_000, output: 0 };
    const settings = { budget: 1, prices: { "script/model": { input: 1, output: 1 } } };
    const script = parts({ x: [{ call: ["list_dir"], usage }, "Found."] });
    const zz = await having(t, { answer: "nobody", settings, script });
    match(
      String(await zz.ask("go").catch((error: Error) => error.message)),
      /This conversation cost about \$2\.00/,
    );
    equal(zz.requests.length, 2);
  });

  test("faults: nothing said, a tool that there is not", async (t) => {
    const script = () => parts({ x: [{ thinking: "hm" }] });
    const silent = await having(t, { script: script() });
    match((await silent.ask("go")).results[0]!.text, /^The helper answered with nothing\./);
    const wrong = await having(t, {
      settings: { helpers: { tools: ["write_fle"] } },
      script: script(),
    });
    match(
      (await wrong.ask("go")).results[0]!.text,
      /^Cannot give helpers 'write_fle': .*write_file/,
    );
  });
});
