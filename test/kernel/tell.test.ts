// chat.tell(): a plugin tells the model something that stays.
import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { Ctx, Message, Zz } from "zz";
import { harness } from "zz/test";

const plain = (messages: readonly Message[]) =>
  messages.map(
    (message) =>
      `${message.role === "user" && message.aside ? "aside" : message.role}: ${message.text}`,
  );
const tool = (zz: Zz) => zz.tool({ name: "now", description: "d", run: () => "noon" });

test("what is told in a round comes after its results, with the next request, and stays", async (t) => {
  const plugin = (zz: Zz) => {
    tool(zz);
    zz.on("called", ({ call }, { chat }) => chat.tell(`linted after ${call.id}`));
  };
  const zz = await harness(
    { plugins: [plugin], script: [{ calls: [["now"], ["now"]] }, "One.", "Two."] },
    t,
  );
  await zz.ask("go");
  const asides = ["aside: linted after call_1", "aside: linted after call_2"];
  const expected = ["user: go", "assistant: ", "tool: noon", "tool: noon", ...asides];
  deepEqual(plain(zz.chat.messages), [...expected, "assistant: One."]);
  const sent = zz.requests[1]!.messages.map(({ role, text }) => `${role}: ${text}`);
  deepEqual(sent, [...expected.slice(0, 4), "user: linted after call_1\n\nlinted after call_2"]);
  await zz.restart();
  await zz.ask("on");
  deepEqual(plain(zz.chat.messages), [
    ...expected,
    "assistant: One.",
    "user: on",
    "assistant: Two.",
  ]);
});

test("what is told while the model answers comes after the answer, and goes with the next message", async (t) => {
  const plugin = (zz: Zz) => {
    zz.on("requested", (_, { chat }) => chat.tell("meanwhile"));
    zz.on("answered", (_, { chat }) => chat.tell("afterwards"));
  };
  const zz = await harness({ plugins: [plugin], script: ["One.", "Two."] }, t);
  await zz.ask("go");
  deepEqual(plain(zz.chat.messages), [
    "user: go",
    "assistant: One.",
    "aside: meanwhile",
    "aside: afterwards",
  ]);
  await zz.ask("on");
  equal(zz.requests[1]!.messages.at(-1)!.text, "meanwhile\n\nafterwards\n\non");
});

test("what is told before the first message goes after it, and names no session; nothing is told of nothing", async (t) => {
  const run = (_: string, { chat }: Ctx) => void ["first", " \n"].map((text) => chat.tell(text));
  const plugin = (zz: Zz) => zz.command({ name: "say", description: "d", run });
  const zz = await harness({ plugins: [plugin], script: ["One."] }, t);
  await zz.command("/say");
  deepEqual([zz.chat.messages.length, zz.chat.id], [0, null]);
  await zz.ask("go");
  deepEqual(plain(zz.chat.messages), ["user: go", "aside: first", "assistant: One."]);
  equal(zz.ctx.sessions.list()[0]!.title, "go");
});

test("it stands in /tree and /export, and /retry and /back take the person's message for the last", async (t) => {
  const plugin = (zz: Zz) => {
    tool(zz);
    zz.on("called", (_, { chat }) => chat.tell("linted: fine"));
  };
  const script = [{ call: ["now"] as [string] }, "One.", "Again."];
  const zz = await harness({ own: true, plugins: [plugin], script }, t);
  await zz.ask("go");
  match((await zz.command("/tree")).join("\n"), /linted: fine/);
  await zz.command("/export out.md");
  match(zz.read("out.md") ?? "", /^> linted: fine$/m);
  await zz.ask("/retry");
  deepEqual(plain(zz.chat.messages), ["user: go", "assistant: Again."]);
});

test("what is told is without known secrets", async (t) => {
  const plugin = (zz: Zz) => {
    zz.secret("hunter2hunter2");
    zz.on("answered", (_, { chat }) => chat.tell("it is hunter2hunter2"));
  };
  const zz = await harness({ plugins: [plugin], script: ["One."] }, t);
  await zz.ask("go");
  equal(zz.chat.messages.at(-1)!.text, "it is [key]");
});
