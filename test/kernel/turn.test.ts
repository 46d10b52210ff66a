// The turn loop, through real plugins and a real stream, in this process.
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { openChat } from "../../kernel/chat.ts";
import type { Phase } from "../../kernel/contract.ts";
import type { LiveChat } from "../../kernel/core.ts";
import { chooseModel } from "../../kernel/models.ts";
import { openSession } from "../../kernel/sessions.ts";
import { createZz, runTurn } from "../../zz.ts";
import type { Script } from "../support/fake/http.ts";
import { call, DONE, delta, fakeOpenAI, problems, say, stream, usage } from "../support/fake/openai.ts";
import { place } from "../support/run.ts";

/** A conversation with a scripted model, in a fresh project, with the tools of a plugin written on the spot. */
async function talk(t: TestContext, script: Script, plugin = "", options: object = {}) {
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const where = place();
  const file = join(where.cwd, "extra.ts");
  writeFileSync(file, plugin || "export default () => {};");
  const zz = await createZz({
    root: where.cwd,
    home: where.home,
    plugins: [file],
    model: "openai/m",
    baseUrl: fake.url,
    key: "x",
    ...options,
  });
  deepEqual(
    zz.plugins.filter((one) => one.failure).map((one) => one.failure),
    [],
  );
  const chat = openChat(zz, (await chooseModel(zz))!);
  t.after(() => chat.session?.close());
  return { zz, chat, fake, where };
}
const results = (chat: LiveChat) => chat.messages.flatMap((one) => (one.role === "tool" ? [one.text] : []));

const NAP = `
let running = 0;
const nap = (name, needs) => ({
  name, description: "Sleeps.", params: { id: "string", ms: "integer" }, ...needs && { needs },
  async run({ id, ms }) {
    const beside = ++running;
    await new Promise((wake) => setTimeout(wake, ms));
    running--;
    return id + " beside " + beside;
  },
});
export default (zz) => { zz.tool(nap("look")); zz.tool(nap("change", () => ({ write: ["x"] }))); };
`;

test("Calls that only read run side by side, at most four, and their results stand in call order", async (t) => {
  const naps = [100, 80, 60, 40, 20].map((ms, i): [string, unknown] => ["look", { id: `n${i}`, ms }]);
  const { zz, chat } = await talk(t, [call(...naps), say("ok")], NAP);
  await runTurn(zz, chat, "go");
  deepEqual(results(chat), ["n0 beside 1", "n1 beside 2", "n2 beside 3", "n3 beside 4", "n4 beside 1"]);
});

test("Calls that change something run one at a time", async (t) => {
  const naps = [30, 20, 10].map((ms, i): [string, unknown] => ["change", { id: `n${i}`, ms }]);
  const { zz, chat } = await talk(t, [call(...naps), say("ok")], NAP, { allow: { write: true } });
  await runTurn(zz, chat, "go");
  deepEqual(results(chat), ["n0 beside 1", "n1 beside 1", "n2 beside 1"]);
});

test("A call that changes something waits for the reads before it and holds up those after it", async (t) => {
  const calls: [string, unknown][] = [
    ["look", { id: "a", ms: 30 }],
    ["look", { id: "b", ms: 30 }],
    ["change", { id: "c", ms: 30 }],
    ["look", { id: "d", ms: 5 }],
  ];
  const { zz, chat } = await talk(t, [call(...calls), say("ok")], NAP, { allow: { write: true } });
  await runTurn(zz, chat, "go");
  deepEqual(results(chat), ["a beside 1", "b beside 2", "c beside 1", "d beside 1"]);
});

const tool = (body: string, more = "") =>
  `export default (zz) => zz.tool({ name: "t", description: "A tool.", ${more} run: ${body} });`;

for (const [what, plugin, text, failed] of [
  ["returns a string", tool('() => "fine"'), /^fine$/, undefined],
  ["throws", tool('() => { throw new Error("no ink. Buy some.") }'), /^no ink\. Buy some\.$/, true],
  ["throws a string", tool('() => { throw "no ink" }'), /^no ink$/, true],
  ["rejects", tool('async () => { throw new Error("later") }'), /^later$/, true],
  ["returns nothing", tool("() => {}"), /^'t' gave no result\. Its run\(\) must return text or \{ text \}\.$/, true],
  ["takes too long", tool("() => new Promise(() => {})", "timeout: 50,"), /^'t' took longer than 0\.05 s/, true],
  ["fails by itself", tool('() => ({ text: "half", failed: true })'), /^half$/, true],
] as const)
  test(`A tool that ${what} becomes a result that the model reads`, async (t) => {
    const { zz, chat, fake } = await talk(t, [call(["t", {}]), say("ok")], plugin);
    equal((await runTurn(zz, chat, "go")).text, "ok");
    const result = chat.messages.find((one) => one.role === "tool")!;
    match(result.text, text);
    equal(result.failed, failed);
    equal(fake.requests[1]!.body.messages.at(-1).content, result.text);
  });

test("What the person was asked about is what runs: a tool cannot change its arguments", async (t) => {
  const plugin = tool('(args) => { args.list.push("more"); return "changed"; }', 'params: { list: "string[]" },');
  const { zz, chat } = await talk(t, [call(["t", { list: ["one"] }]), say("ok")], plugin);
  await runTurn(zz, chat, "go");
  match(results(chat)[0]!, /not extensible|read only/);
});

test("A call that the output limit cut is never run, its whole sibling is", async (t) => {
  const plugin = tool('({ id }) => "ran " + id', 'params: { id: "string" },');
  const cut = stream(
    delta({ tool_calls: [{ index: 0, id: "a", function: { name: "t", arguments: '{"id":"one"}' } }] }),
    delta({ tool_calls: [{ index: 1, id: "b", function: { name: "t", arguments: '{"id":"tw' } }] }, "length"),
    DONE,
  );
  const { zz, chat, fake } = await talk(t, [cut, say("ok")], plugin);
  await runTurn(zz, chat, "go");
  deepEqual(
    results(chat).map((text) => text.slice(0, 16)),
    ["ran one", "The call was cut"],
  );
  deepEqual(problems(fake.requests[1]!.body), []);
});

test("The phases of a turn with tools, in order", async (t) => {
  const plugin = `export default (zz) => {
    zz.tool({ name: "t", description: "A tool.", run: () => "x" });
    zz.on("phase", ({ to }) => void globalThis.phases.push(to));
  };`;
  const phases: Phase[] = [];
  Object.assign(globalThis, { phases });
  const { zz, chat } = await talk(t, [call(["t", {}]), say("ok")], plugin);
  await runTurn(zz, chat, "go");
  deepEqual(phases.join(" "), "thinking planning_tools executing_tools thinking responding done idle");
});

test("A second turn sees the first turn's calls and results", async (t) => {
  const { zz, chat, fake } = await talk(t, [call(["t", {}]), say("one"), say("two")], tool('() => "the result"'));
  await runTurn(zz, chat, "first");
  await runTurn(zz, chat, "second");
  const roles = fake.requests[2]!.body.messages.map((one: any) => one.role);
  deepEqual(roles, ["system", "user", "assistant", "tool", "assistant", "user"]);
  equal(fake.requests[2]!.body.messages[3].content, "the result");
  deepEqual(problems(fake.requests[2]!.body), []);
});

test("Aborting closes the connection, keeps what had come as an unfinished message, and leaves the chat usable", async (t) => {
  const half = { ...stream(delta({ content: "Half an ans" })), ending: "hang" as const };
  const { zz, chat, fake, where } = await talk(t, [half, say("whole")]);
  const turn = runTurn(zz, chat, "go");
  while (!fake.requests.length) await new Promise((soon) => setTimeout(soon, 5));
  await new Promise((soon) => setTimeout(soon, 50));
  chat.stop.abort();
  await rejects(turn, { message: "Stopped.", exit: 130 });
  await fake.requests[0]!.aborted;
  equal((await runTurn(zz, chat, "again")).text, "whole");
  deepEqual(problems(fake.requests[1]!.body), []);
  const cut = where.sessions()[0]!.filter(({ message }) => message?.cut);
  deepEqual(
    cut.map(({ message }) => message.text),
    ["Half an ans"],
  );
});

test("A provider that says nothing for too long is given up, and not waited for again", async (t) => {
  const silent = { ...stream(), ending: "hang" as const };
  const { zz, chat, fake } = await talk(t, [silent, say("here")], "", { settings: { timeout: 0.2 } });
  await rejects(runTurn(zz, chat, "go"), { message: /^'openai' sent nothing for 0\.2 s\. Try again/ });
  await fake.requests[0]!.aborted;
  equal(fake.requests.length, 1);
  equal((await runTurn(zz, chat, "again")).text, "here");
});

test("Signs of life alone put silence off no longer than four times the limit; with words between them they do", async (t) => {
  const comments = (words: (string | number)[] = []) =>
    Array.from({ length: 12 }, () => [": wait\n\n", 100, ...words]).flat();
  const slow = [...comments([delta({ content: "a" })]), ...comments([delta({ content: "a" })])];
  const said = stream(...slow, delta({}, "stop"), usage(1, 1), DONE);
  const endless = { ...stream(...comments(), ...comments(), ...comments()), ending: "hang" as const };
  const { zz, chat } = await talk(t, [said, endless], "", { settings: { timeout: 0.5 } });
  equal((await runTurn(zz, chat, "go")).text, "a".repeat(24));
  await rejects(runTurn(zz, chat, "go"), { message: /^'openai' sent nothing but signs of life for 2 s\. Try again/ });
});

test("Two instances live side by side, each with its own tools", async (t) => {
  const one = await talk(t, [say("one")], tool('() => "x"'));
  const two = await talk(t, [say("two")]);
  ok(one.zz.tools.has("t") && !two.zz.tools.has("t"));
  const answers = await Promise.all([runTurn(one.zz, one.chat, "a"), runTurn(two.zz, two.chat, "b")]);
  deepEqual(
    answers.map(({ text }) => text),
    ["one", "two"],
  );
});
