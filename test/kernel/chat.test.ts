// What plugins keep in a conversation, and what they send: it goes back, on and into another one
// with it.
import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Ctx, Zz } from "zz";
import { harness, type Step, standingClock } from "zz/test";

/** Counts the person's messages, when they are answered. */
const counter = (zz: Zz) => {
  const kept = zz.state({ count: 0, words: [] as string[] });
  zz.wrap("line", (line, next) => {
    if (!line.startsWith("/")) kept.words.push(line);
    return next(line);
  });
  zz.on("answered", () => void kept.count++);
  zz.command({
    name: "kept",
    description: "what is kept",
    run: (_, { note }) => note(JSON.stringify(kept)),
  });
  zz.command({
    name: "back",
    description: "goes back",
    run: (to, { chat }) => chat.back(Number(to)),
  });
};

describe("zz.state()", () => {
  test("after going back it is what it was there, and not empty", async (t) => {
    const zz = await harness({ plugins: [counter] }, t);
    for (const line of ["one", "two", "three"]) await zz.ask(line);
    const { branch } = zz.chat.tree();
    const messages = branch.filter(({ message }) => message?.role === "user");
    await rejects(
      zz.command("back 99"),
      /^Error: Cannot go back to 99: there is no entry with that number\. \/tree/,
    );
    await zz.command(`back ${messages[2]!.parent}`);
    deepEqual(await zz.command("kept"), ['{"count":2,"words":["one","two"]}']);
    await zz.command(`back ${branch.at(-1)!.id}`);
    deepEqual(await zz.command("kept"), ['{"count":3,"words":["one","two","three"]}']);
    await zz.restart();
    deepEqual(await zz.command("kept"), ['{"count":3,"words":["one","two","three"]}']);
  });

  test("what a timer changes after the last turn is saved when the conversation ends", async (t) => {
    const late = (zz: Zz) => {
      const kept = zz.state({ ticks: 0 });
      zz.on("answered", () => void zz.io.clock.timer(10, () => kept.ticks++));
      zz.command({
        name: "ticks",
        description: "how many",
        run: (_, { note }) => note(String(kept.ticks)),
      });
    };
    const clock = standingClock();
    const zz = await harness({ plugins: [late], clock }, t);
    await zz.ask("one");
    await clock.pass(10);
    await zz.restart();
    deepEqual(await zz.command("ticks"), ["1"]);
  });

  const REFUSED: [what: string, plugin: (zz: Zz) => unknown, why: RegExp][] = [
    ["a Map", (zz) => zz.state({ seen: new Map() as any }), /zz\.state\(\) keeps plain JSON, and 'seen' is a Map\. Use an object or an array\./],
    ["a Date, deep within", (zz) => zz.state({ a: [{ at: new Date() as any }] }), /'at' is a Date\./],
    ["an array as a whole", (zz) => zz.state([1] as any), /zz\.state\(\) takes an object\. Put the array into one: \{ list: \[\] \}\./],
    ["a second state", (zz) => [zz.state({ a: 1 }), zz.state({ b: 2 })], /zz\.state\(\) was called twice, and a plugin has one state\. Put both into one object\./],
  ]; // biome-ignore format: a table
  for (const [what, plugin, why] of REFUSED)
    test(`${what} is refused at load`, () =>
      rejects(harness({ plugins: [(zz: Zz) => void plugin(zz)] }), why));

  test("what cannot be saved later is told, and the turn goes on", async (t) => {
    const plugin = (zz: Zz) => {
      const kept = zz.state({ it: null as unknown as string });
      zz.tool({
        name: "spoils",
        description: "d",
        run: () => Object.assign(kept, { it: new Map() }) && "done",
      });
    };
    const zz = await harness(
      { plugins: [{ name: "spoiler", default: plugin }], script: [{ call: ["spoils"] }] },
      t,
    );
    const { text, notes } = await zz.ask("hi");
    equal(text, "done");
    equal(notes.length, 1);
    match(
      notes[0]!,
      /^Cannot keep the state of plugin 'spoiler': .*'it' is a Map\. Use an object or an array\.$/,
    );
  });
});

describe("chat.send() during a turn", () => {
  const sent = (requests: { messages: { role: string; text: string }[] }[]) =>
    requests.map(({ messages }) => messages.findLast(({ role }) => role === "user")!.text);
  /** Sends from within: once each. */
  const sender = (zz: Zz) => {
    const said = new Set<string>();
    const once = (text: string, send: (text: string) => void) => {
      if (!said.has(text)) send(text);
      said.add(text);
    };
    const sends = ({ send }: Ctx["chat"]) =>
      ["from a tool", "and another"].map((text) => once(text, send));
    zz.tool({ name: "sends", description: "d", run: (_, { chat }) => sends(chat) && "sent" });
    zz.command({ name: "send", description: "d", run: (text, { chat }) => chat.send(text) });
    zz.wrap("render", (text, next, { chat }) => {
      once("from a wrapper", chat.send);
      return next(text);
    });
  };

  test("goes when the turn has ended, each message as a turn of its own, in its order", async (t) => {
    const zz = await harness({ plugins: [sender], script: [{ call: ["sends"] }, "ok"] }, t);
    await zz.ask("hi");
    deepEqual(sent(zz.requests), ["hi", "hi", "from a tool", "and another", "from a wrapper"]);
    await zz.ask("next");
    deepEqual(sent(zz.requests).slice(5), ["next"]);
  });

  test("what waits when a turn fails is not sent later instead of something else, and is told", async (t) => {
    const script = [
      { call: ["sends"] },
      { fail: "The key is wrong.", status: 401 },
      "ok",
    ] as Step[];
    const zz = await harness({ plugins: [sender], script }, t);
    await rejects(zz.ask("hi"), { message: "The key is wrong." });
    deepEqual(zz.notes, [
      "Not sent, since the turn before did not end: 'from a tool', 'and another'.",
    ]);
    await zz.ask("next");
    deepEqual(sent(zz.requests).slice(2), ["next", "from a wrapper"]);
  });
});

test("A model that was chosen answers when the conversation is opened again, also after going back behind the choice", async (t) => {
  const second = (zz: Zz) =>
    void zz.provider({
      name: "second",
      models: async () => [{ id: "a" }, { id: "b" }],
      async *chat() {
        yield* [{ text: "From the second." }, { finish: "stop" }];
      },
    });
  const zz = await harness({ plugins: [counter, second] }, t);
  await zz.ask("one");
  const first = zz.ctx.chat.model;
  await zz.ctx.chat.use("second/b");
  await zz.ask("two");
  const { id } = zz.ctx.chat;
  zz.ctx.chat.back(null);
  await zz.ask("three");
  zz.ctx.sessions.open();
  await zz.ctx.chat.use(first);
  zz.ctx.sessions.open(id!);
  equal(zz.ctx.chat.model, "second/b");
});

test("A session is found by its id, by the beginning of it, and by that of a later part, as lists show it", async (t) => {
  const zz = await harness({}, t);
  await zz.ask("one");
  const { id } = zz.ctx.chat;
  const [day, time, tail] = id!.split("-") as [string, string, string];
  for (const start of [id!, `${day}-${time}`, tail, tail.slice(0, 4)])
    equal(zz.ctx.sessions.read(start).header.id, id, start);
  for (const start of [tail.slice(0, 3), tail.slice(1), "none"])
    throws(
      () => zz.ctx.sessions.read(start),
      /^Error: Cannot open session '.*': there is none\./,
      start,
    );
});

test("a message that is shortened keeps its calls, with short arguments", async (t) => {
  const long = "x".repeat(5_000);
  const tool = (zz: Zz) =>
    zz.tool({
      name: "take",
      description: "d",
      params: { text: "string", count: "integer" },
      run: () => "taken",
    });
  const short = (zz: Zz) =>
    zz.command({
      name: "short",
      description: "d",
      run: (_, { chat }) => chat.compact({ texts: { 1: 300 } }),
    });
  const script: Step[] = [{ text: long, call: ["take", { text: long, count: 7 }] }, "done"];
  const zz = await harness({ plugins: [tool, short], script }, t);
  await zz.ask("take it");
  await zz.command("short");
  const { text, calls } = zz.chat.messages[1] as any;
  deepEqual([calls[0].name, calls[0].args.count], ["take", 7]);
  for (const one of [text, calls[0].args.text]) match(one, /^x{50,}.*x$/s);
  for (const one of [text, calls[0].args.text]) equal(one.length < 500, true, one);
});

test("a tool cannot undo or redo, as the person can", async (t) => {
  const run = async ({ redo }: any, { files }: Ctx) => (redo ? files.redo() : files.undo());
  const params = { redo: "boolean?" } as const;
  const tool = (zz: Zz) => zz.tool({ name: "back", description: "d", kind: "change", params, run });
  const zz = await harness({ plugins: [tool], answer: "yes" }, t);
  for (const word of ["undo", "redo"]) {
    const { text, failed } = await zz.call("back", { redo: word === "redo" });
    equal(text, `Cannot ${word} in a tool: only the person does that. Register a command for it.`);
    equal(failed, true);
  }
});
