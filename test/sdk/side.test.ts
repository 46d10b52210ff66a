// ctx.request(): a model beside the conversation, with tools that pass the same gate.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Ctx, Message, SideRequest, Zz } from "zz";
import { harness, type Setup, type Step } from "zz/test";

const SYSTEM = "You help.";
const asking: SideRequest = {
  task: "helper",
  system: SYSTEM,
  messages: [{ role: "user", text: "where is it?" }],
};

/** A tool with which the model sends a helper, and what the helper's requests were. */
async function helping(
  t: TestContext,
  more: Partial<SideRequest>,
  script: Step[],
  setup: Setup = {},
) {
  let reply: unknown;
  const plugin = (zz: Zz) => {
    zz.tool({ name: "now", description: "The time.", run: () => "noon" });
    zz.tool({
      name: "make",
      description: "Makes.",
      needs: () => ({ run: ["make"] }),
      run: () => "made",
    });
    zz.tool({
      name: "help",
      description: "Sends a helper.",
      async run(_, ctx: Ctx) {
        reply = await ctx.request({ ...asking, ...more });
        return (reply as { text: string }).text;
      },
    });
  };
  const zz = await harness(
    { ...setup, plugins: [plugin], script: [{ call: ["help"] }, ...script] },
    t,
  );
  const said = await zz.ask("go");
  const asked = zz.requests.filter(({ system }) => system === SYSTEM);
  return { zz, said, asked, results: (at: number) => asked[at]!.messages.filter(isResult), reply };
}
const isResult = (message: Message) => message.role === "tool";
const textsOf = (messages: Message[]) => messages.map(({ text }) => text);

describe("a side request with tools", () => {
  test("lets the model call them until it answers; the conversation keeps the answer alone, and all that it cost", async (t) => {
    const usage = { input: 10, output: 1 };
    const script: Step[] = [{ call: ["now"], usage }, { text: "Here, at noon.", usage }, "Done."];
    const { zz, said, asked } = await helping(t, { tools: ["now"] }, script);
    equal(said.text, "Done.");
    deepEqual(textsOf(asked[1]!.messages), ["where is it?", "", "noon"]);
    const requests = asked.map(({ task, tools }) => `${task}: ${tools.map(({ name }) => name)}`);
    deepEqual(requests, ["helper: now", "helper: now"]);
    deepEqual(textsOf([...zz.chat.messages]), ["go", "", "Here, at noon.", "Done."]);
    const spent = zz.chat.tree().entries.filter(({ type }) => type === "spent");
    const helpers = { task: "helper", usage };
    const costs = spent.map(({ task, usage }) => ({ task, usage }));
    deepEqual(costs, [helpers, helpers]);
    const called = zz.events.flatMap((fact) =>
      fact.type === "called" ? [`${fact.call.name} ${fact.inner}`] : [],
    );
    deepEqual(called, ["now true", "help undefined"]);
  });

  for (const [what, setup, text] of [
    ["asks the person", { answer: "yes" }, "made"],
    [
      "is denied what is denied",
      { deny: { run: true } },
      'Refused: run access to "make" is denied by --deny-run.',
    ],
  ] as [string, Setup, string][])
    test(`${what}, as any call does`, async (t) => {
      const { results } = await helping(
        t,
        { tools: ["make"] },
        [{ call: ["make"] }, "Well.", "Done."],
        setup,
      );
      deepEqual(textsOf(results(1)), [text]);
    });

  test("has no other tools, whatever the model calls", async (t) => {
    const script: Step[] = [{ calls: [["make"], ["nowhere"], ["now"]] }, "Well.", "Done."];
    const { results } = await helping(t, { tools: ["now"] }, script);
    const [make, nowhere, now] = textsOf(results(1));
    match(
      make!,
      /^Cannot call 'make': There is no tool 'make'|^Cannot call 'make': there is no tool 'make'/,
    );
    match(nowhere!, /^Cannot call 'nowhere': /);
    equal(now, "noon");
  });

  test("must answer after so many rounds", async (t) => {
    const call: Step = { call: ["now"] };
    const { said, asked } = await helping(t, { tools: ["now"], rounds: 2 }, [
      call,
      call,
      "At noon.",
      "Done.",
    ]);
    equal(asked.map(({ tools }) => tools.length).join(), "1,1,0");
    equal(
      asked[2]!.messages.at(-1)!.text,
      "No more tools can be used now. Answer with what you know.",
    );
    deepEqual([said.results[0]!.text, said.text], ["At noon.", "Done."]);
  });

  test("what this run leaves out, it has not either", async (t) => {
    const { asked } = await helping(t, { tools: ["now", "make"] }, ["There.", "Done."], {
      tools: ["help", "now"],
    });
    equal(asked[0]!.tools.map(({ name }) => name).join(), "now");
  });

  test("what the helper read, the conversation has not seen; what it saw itself, it may change", async (t) => {
    const plugin = (zz: Zz) =>
      zz.tool({
        name: "help",
        description: "Sends a helper.",
        run: async (_, ctx) =>
          (await ctx.request({ ...asking, tools: ["read_file", "edit_lines"] })).text,
      });
    const edit = (line: number, text: string): Step => ({
      call: ["edit_lines", { path: "a.txt", start: line, end: line, text }],
    });
    const script: Step[] = [
      { call: ["help"] },
      { call: ["read_file", { path: "a.txt" }] },
      edit(1, "ONE"),
      edit(2, "TWO"),
      "Changed.",
      edit(3, "THREE"),
      "Done.",
    ];
    const files = { "a.txt": "one\ntwo\nthree\n" };
    const zz = await harness(
      { own: true, plugins: [plugin], files, script, allow: { write: ["."] } },
      t,
    );
    const { results } = await zz.ask("go");
    equal(results[0]!.text, "Changed.");
    match(results[1]!.text, /^Cannot edit 'a\.txt': /);
    equal(zz.read("a.txt"), "ONE\nTWO\nthree\n");
  });

  test("Ctrl+C ends it between two calls", async (t) => {
    let ran = 0;
    const plugin = (zz: Zz) => {
      zz.tool({ name: "stop", description: "d", run: () => `ran ${++ran}` });
      zz.on("called", ({ call }) => void (call.name === "stop" && kit.stop()));
      const tries = (_: string, ctx: Ctx) =>
        ctx.request({ ...asking, tools: ["stop"] }).then(() => {});
      zz.command({ name: "try", description: "d", run: tries });
    };
    const kit = await harness(
      { plugins: [plugin], script: [{ calls: [["stop"], ["stop"]] }, "Well."] },
      t,
    );
    await rejects(kit.command("/try"));
    deepEqual([ran, kit.requests.length], [1, 1]);
  });
});
