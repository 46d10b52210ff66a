// What a provider must be sent back, such as a signature: kept on the answer, saved, and given to
// that provider alone.
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { ChatRequest, Delta, Message, Zz } from "zz";
import { harness, type Setup } from "zz/test";

/** Two providers that yield what they are told, and keep what they were sent. */
function providers(script: Delta[][]) {
  const sent: ChatRequest[] = [];
  const plugin = (zz: Zz) => {
    zz.tool({ name: "now", description: "The time.", run: () => "noon" });
    for (const name of ["signed", "other"])
      zz.provider({
        name,
        models: async () => [],
        async *chat(request) {
          sent.push(structuredClone({ ...request, endpoint: {} }));
          yield* script[sent.length - 1] ?? [{ text: "ok" }, { finish: "stop" }];
        },
      });
  };
  const having = async (t: Parameters<typeof harness>[1], more: Setup = {}) => {
    const zz = await harness({ ...more, plugins: [plugin] }, t);
    await zz.chat.use("signed/m");
    return zz;
  };
  const answers = (at: number) =>
    sent[at]!.messages.filter(
      (message): message is Extract<Message, { role: "assistant" }> => message.role === "assistant",
    );
  return { sent, having, answers };
}
const stop: Delta = { finish: "stop" };
const signature = { type: "thinking", signature: "c2ln", parts: [{ n: 1 }, null] };
const call: Delta = { call: { id: "a", name: "now", args: {}, extra: { sig: "call" } } };

test("an extra, alone and beside text, thinking and calls, comes back with the next request, in order and untouched", async (t) => {
  const { having, answers, sent } = providers([
    [
      { thinking: "hm", extra: 1 },
      { extra: signature },
      { ...call, extra: ["beside a call"] },
      { finish: "calls" },
    ],
    [{ text: "Noon.", extra: "end" }, stop],
  ]);
  const zz = await having(t);
  equal((await zz.ask("time?")).text, "Noon.");
  deepEqual(answers(1)[0]!.extra, [1, signature, ["beside a call"]]);
  deepEqual(answers(1)[0]!.calls![0]!.extra, { sig: "call" });
  await zz.ask("and now?");
  const extras = answers(2).map(({ extra }) => extra);
  deepEqual(extras, [[1, signature, ["beside a call"]], ["end"]]);
  await zz.restart();
  await zz.chat.use("signed/m");
  await zz.ask("and later?");
  deepEqual(answers(3).slice(0, 2), answers(2), "after a restart");
  equal(sent.length, 4);
});

test("another provider does not get it, and the one that it is from gets it again", async (t) => {
  const { having, answers } = providers([[call, { extra: signature }, { finish: "calls" }]]);
  const zz = await having(t);
  await zz.ask("time?");
  await zz.chat.use("other/m");
  await zz.ask("and now?");
  equal(answers(2).length, 2);
  ok(answers(2).every(({ extra, calls }) => (extra ?? calls?.[0]?.extra) === undefined));
  await zz.chat.use("signed/n");
  await zz.ask("and then?");
  deepEqual(
    [answers(3)[0]!.extra, answers(3)[0]!.calls![0]!.extra],
    [[signature], { sig: "call" }],
  );
});

test("extras count for the size of a reply, also those of a call; one that is nested too deep is left out", async (t) => {
  const large = "x".repeat(33 * 1024 * 1024);
  let deep: unknown = 1;
  for (let i = 0; i < 200; i++) deep = [deep];
  const { having, answers } = providers([
    [{ extra: large }, { extra: large }, stop],
    [...["a", "b"].map((id): Delta => ({ call: { id, name: "now", args: {}, extra: large } })),
      { finish: "calls" }],
    [{ text: "hi", extra: deep }, { extra: "flat" }, stop],
  ]); // biome-ignore format: a table
  const zz = await having(t);
  for (const line of ["one", "two"]) await rejects(zz.ask(line), /The answer is larger than 64 MB/);
  await zz.ask("three");
  await zz.ask("four");
  deepEqual(answers(3).at(-1)!.extra, ["flat"]);
});
