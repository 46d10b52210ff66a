// Plan mode: only looking, until the person has approved a plan; then it stays before the model,
// and is ticked off.
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { harness, type Setup } from "zz/test";
import { call, fakeOpenAI, say } from "../../../test/support/fake/openai.ts";
import { place, zz as program } from "../../../test/support/run.ts";

const files = { "a.txt": "one\n" };
const having = (t: TestContext, setup: Setup = {}) => harness({ own: true, files, ...setup }, t);
const edit = (content: string): [string, object] => ["write_file", { path: "a.txt", content }];
const plan = (args: object): [string, object] => ["plan", args];
const STEPS = ["Read a.txt", "Change it"];
const all = { read: true, write: true, run: true, net: true, env: true } as const;

/** Answers in turn; what is not a plan's question gets a yes. */
const saying =
  (...answers: string[]) =>
  async (question: string, keys?: string): Promise<string> =>
    keys === undefined || /The model's plan/.test(question) ? answers.shift()! : "y";

describe("plan mode", () => {
  test("lets the model look, and neither change nor run, whatever is allowed; helpers neither", async (t) => {
    const calls: [string, object][] = [
      ["read_file", { path: "a.txt" }],
      ["run_command", { command: "ls" }],
      edit("two\n"),
      ["run_command", { command: "touch b.txt" }],
      ["rename_self", { name: "Bo" }],
      ["task", { question: "Change it." }],
    ];
    const change = { calls: [edit("two\n")] };
    const zz = await having(t, {
      allow: all,
      settings: { helpers: { tools: ["write_file"] } },
      script: [{ calls }, change, "I may not.", "1. Change a.txt.", change, "Done."],
    });
    match((await zz.command("/plan on"))[0]!, /^Plan mode is on/);
    const { results } = await zz.ask("change it");
    const refusals = results.map(({ refused = false }) => refused);
    deepEqual(refusals, [false, false, true, true, true, false]);
    equal(
      results[2]!.text,
      "Refused: plan mode is on, and this call would change files. Put it into the plan.",
    );
    equal(zz.requests[2]!.messages.at(-1)!.text, results[2]!.text);
    match(zz.requests[0]!.system, /Plan mode is on\. Only look/);
    equal(zz.read("a.txt"), "one\n");
    await zz.command("/plan go");
    equal(zz.read("a.txt"), "two\n");
    ok(zz.chat.messages.some(({ text }) => text.startsWith("The plan is agreed.")));
  });

  test("after a yes the plan is carried out, stays before the model, is ticked off, and survives a restart", async (t) => {
    const zz = await having(t, {
      answer: saying("y"),
      script: [
        { calls: [["read_file", { path: "a.txt" }], plan({ steps: STEPS })] },
        { calls: [edit("two\n"), plan({ done: [1] })] },
        "Half.",
        { calls: [plan({ done: [2] })] },
        "All.",
        "Ok.",
      ],
    });
    await zz.command("/plan on");
    const { results } = await zz.ask("change it");
    match(
      zz.questions[0]!,
      /^┏ The model's plan:\n┃ 1\. Read a\.txt\n┃ 2\. Change it\n┗ Carry it out\? /,
    );
    match(
      results[1]!.text,
      /^The person approved the plan:\n1\. \[ \] Read a\.txt\n2\. .*\nPlan mode is off/,
    );
    equal(zz.read("a.txt"), "two\n");
    await zz.restart();
    deepEqual(await zz.command("/plan"), [
      "Plan mode is off.\n1. [x] Read a.txt\n2. [ ] Change it",
    ]);
    await zz.ask("go on");
    const told = zz.requests[3]!.messages.findLast(({ role }) => role === "user")!.text;
    match(told, /The plan that the person approved:\n1\. \[x\] Read a\.txt\n2\. \[ \] Change it/);
    match((await zz.command("/plan"))[0]!, /2\. \[x\] Change it/);
    await zz.ask("and now?");
    match(
      zz.requests.at(-1)!.messages.findLast(({ role }) => role === "user")!.text,
      /PLAN[\s\S]*Nothing any more/,
    );
  });

  test("a no goes to the model with its reason, and plan mode stays", async (t) => {
    const script = [{ calls: [plan({ steps: STEPS })] }, { calls: [edit("two\n")] }, "Well."];
    const zz = await having(t, { answer: saying("n", "tests first"), script });
    await zz.command("/plan on");
    const { results } = await zz.ask("change it");
    equal(
      results[0]!.text,
      "The person said no to the plan: “tests first”.\nChange it, and present it again.",
    );
    ok(results[1]!.refused);
    equal(zz.read("a.txt"), "one\n");
  });

  test("the person may edit it", async (t) => {
    const script = [{ calls: [plan({ plan: "1. One\n   more of it\n2. Two" })] }, "Well."];
    const zz = await having(t, { answer: saying("e", "y"), script });
    let shown = "";
    zz.core.edit = async (text) => {
      shown = text;
      return "# Plan\n- Write a test\n* [ ] Two,\n  and three\n\n";
    };
    const { results } = await zz.ask("change it");
    equal(shown, "1. One more of it\n2. Two\n");
    const edited =
      /approved the plan, as they edited it:\n1\. \[ \] Write a test\n2\. \[ \] Two, and three\n/;
    match(results[0]!.text, edited);
  });

  test("is of the conversation: it lasts over a restart, and /plan off ends it", async (t) => {
    const zz = await having(t, { script: ["A plan.", { calls: [edit("two\n")] }, "Well."] });
    await zz.command("/plan on");
    await zz.ask("plan");
    await zz.restart();
    equal((await zz.ask("change it")).results[0]!.refused, true);
    deepEqual(await zz.command("/plan off"), ["Plan mode is off."]);
    await rejects(zz.command("/plan now"), /Cannot do '\/plan now'/);
  });

  test("faults: no steps, no plan, no such step; ticked off and put away by hand", async (t) => {
    const zz = await having(t, { answer: saying("y"), script: ["Ok."] });
    match((await zz.call("plan", { steps: [" "] })).text, /^Cannot present a plan without steps\./);
    match(
      (await zz.call("plan", { done: [1] })).text,
      /^Cannot tick anything off: there is no plan\./,
    );
    ok(!(await zz.call("plan", { steps: STEPS })).failed);
    match((await zz.call("plan", { done: [3] })).text, /^Cannot tick off step 3: there are 2\./);
    match((await zz.command("/plan done 2"))[0]!, /2\. \[x\] Change it/);
    deepEqual(await zz.command("/plan clear"), ["Plan mode is off."]);
    doesNotMatch((await zz.ctx.about.offered()).map(({ name }) => name).join(" "), /\bplan\b/);
  });

  test("--plan: one answer, with nobody to approve it, is the plan", async (t) => {
    const fake = await fakeOpenAI([
      call(plan({ steps: STEPS })),
      call(edit("two\n")),
      say("1. Read a.txt"),
    ]);
    t.after(fake.close);
    const model = ["-m", "openai/m", "--base-url", fake.url, "--key", "x"];
    const ran = await program(place(), ["--plan", "-A", "--once", ...model, "change it"]);
    deepEqual([ran.code, ran.stdout], [4, "1. Read a.txt\n"]);
    const [, second, third] = fake.requests.map(({ body }) => body.messages.at(-1).content);
    match(second, /^No terminal is there to approve it on\. Give the plan as your answer/);
    match(third, /^Refused: plan mode is on/);
  });
});
