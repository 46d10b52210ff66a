// The window: what leaves it, what is kept, and what is said when nothing helps. The server is a
// strict one.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Call, Changed, ChatRequest, Message } from "../../../kernel/contract.ts";
import { counts, scales, weigh } from "../../../plugins/window/count.ts";
import { recordUsage } from "../../../plugins/window/fit.ts";
import { overflow } from "../../../plugins/window/overflow.ts";
import { staleResults } from "../../../plugins/window/stale.ts";
import { filesChanged } from "../../../plugins/window/summary.ts";
import { newState } from "../../../plugins/window/window-state.ts";
import type { Fake, Script, Step } from "../../support/fake/http.ts";
import { call, refuse, say, strictOpenAI, tokensOf } from "../../support/fake/openai.ts";
import { put } from "../../support/files.ts";
import { type Place, place, zz } from "../../support/run.ts";
import { sit } from "../../support/sit.ts";
import { KEY, terminal } from "../../support/terminal.ts";

const SUMMARY = "Goal: the lamp.\nConstraints: tabs, no semicolons.";
const ID = "20260101-000000-aaaaaaaa";

/** A session of so many turns, each of some 300 tokens. */
function talked(turns: number, config: object = {}): Place {
  // what is sent twice is compared: between two requests a minute may begin
  const where = place({}, { disabled: ["time"], symbols: { map: "never" }, ...config });
  const at = "2026-01-01T00:00:00.000Z";
  const header = { zz: 1, id: ID, at, root: where.cwd, model: "openai/m", title: "said 1" };
  const said = Array.from({ length: turns }, (_, i) => [
    { role: "user", text: `said ${i + 1}, and some words about the lamp in the hall. `.repeat(10) },
    {
      role: "assistant",
      text: `heard ${i + 1}, and some words about the lamp in the hall. `.repeat(10),
    },
  ]).flat();
  const entries = said.map((message, i) => ({
    id: i + 1,
    parent: i || null,
    at,
    type: "message",
    message,
  }));
  const lines = [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join("");
  put(where.home, { [`sessions/${ID}.jsonl`]: lines });
  return where;
}
const isSummary = (body: any): boolean => body.messages[0].content.startsWith("You keep the notes");
const texts = (body: any): string => body.messages.map(({ content }: any) => content).join("\n");

/** The flags for this server, which is closed at the end. */
function flags(fake: Fake): string[] {
  after(fake.close);
  return ["-m", "openai/m", "--base-url", fake.url, "--key", "x"];
}
/** Asks once more, in a conversation that goes on. */
async function goesOn(
  where: Place,
  window: number,
  script: Script,
  args: string[] = [],
  tells = true,
) {
  const fake = await strictOpenAI(window, script, tells);
  const ran = await zz(where, [...flags(fake), "--no-tools", ...args]);
  const bodies = fake.requests.map(({ body }) => body);
  return {
    ...ran,
    bodies,
    chats: bodies.filter((body) => !isSummary(body)),
    refusals: fake.refusals,
  };
}
const asking = (messages: Message[]): ChatRequest => ({
  task: "chat",
  model: "m",
  system: "",
  tools: [],
  options: {},
  endpoint: {},
  messages,
});
const answers =
  (summary: Step, answer: Step = say("Good.")): Script =>
  ({ body }) =>
    isSummary(body) ? summary : answer;

describe("a full window", () => {
  test("the earlier turns become notes, the last two stay, and the file keeps all", async () => {
    const where = talked(30);
    const before = readFileSync(join(where.home, "sessions", `${ID}.jsonl`), "utf8");
    const ran = await goesOn(where, 8_192, answers(say(SUMMARY)), ["-c", "next"]);
    const { stdout, stderr, code, bodies, refusals } = ran;
    deepEqual([stdout, code, refusals, bodies.length], ["Good.\n", 0, [], 2]);
    match(
      stderr,
      /^The first 29 turns are notes now: about \d+ tokens of conversation became \d+\.\n$/,
    );
    const [asked, sent] = bodies;
    match(asked.messages[1].content, /PERSON: said 1,[\s\S]*ASSISTANT: heard 29/);
    equal(asked.tools, undefined);
    const [, notes, understood, ...rest] = sent.messages.map(({ content }: any) => content);
    match(notes, /the first 29 turns have left your view[\s\S]*Constraints: tabs, no semicolons\./);
    equal(understood, "Understood. I go on from there.");
    match(rest.join("\n"), /^said 30,[^\n]*\nheard 30,[^\n]*\nnext$/);
    ok(readFileSync(join(where.home, "sessions", `${ID}.jsonl`), "utf8").startsWith(before));
    const again = await goesOn(where, 8_192, [say("Good.")], ["-c", "more"]);
    equal(again.chats.length, 1, "no second summary");
    const same = again.chats[0].messages.slice(0, sent.messages.length);
    deepEqual(same, sent.messages, "a new process sends the same");
    const fork = await goesOn(where, 8_192, [say("Good.")], [`--fork=${ID}`, "elsewhere"]);
    deepEqual(fork.chats[0].messages.slice(0, same.length), same);
  });

  test("with context.method truncate the earlier turns leave without a model, again and again", async () => {
    const where = talked(30, { context: { method: "truncate" } });
    const first = await goesOn(where, 8_192, [say("Good.")], ["-c", "next"]);
    deepEqual(
      [first.stdout, first.code, first.refusals, first.bodies.length],
      ["Good.\n", 0, [], 1],
    );
    match(
      first.stderr,
      /^The first 29 turns are left out now: about \d+ tokens of conversation became \d+\.\n$/,
    );
    const [, gone, , ...rest] = first.bodies[0].messages.map(({ content }: any) => content);
    match(
      gone,
      /^\[Not from the person: of this conversation the first 29 turns have left your view\.\]/,
    );
    match(rest.join("\n"), /^said 30,[^\n]*\nheard 30,[^\n]*\nnext$/);
    const again = await goesOn(where, 8_192, [say("Good.")], ["-c", "/compact"]);
    match(again.stdout, /^The first 30 turns are left out now/);
    const hinted = await goesOn(where, 8_192, [], ["-c", "/compact keep the lamp"]);
    match(hinted.stderr, /^Cannot use a hint: context\.method is 'truncate'/);
  });

  test("with context.messages earlier turns leave a large window, each whole", async () => {
    const where = talked(30, { context: { method: "truncate", messages: 12 } });
    const { stdout, stderr, chats } = await goesOn(
      where,
      1_000_000,
      [say("Good.")],
      ["-c", "next"],
    );
    equal(stdout, "Good.\n");
    match(stderr, /^The first 25 turns are left out now/);
    const [, , , ...rest] = chats[0].messages.map(({ content }: any) => content);
    equal(rest.length, 11); // five turns of two, and the question
    match(rest[0], /^said 26,/);
  });

  for (const [what, step, why] of [
    ["is empty", say(""), "the model answered with nothing"],
    ["is a call", call(["read_file", { path: "a" }]), "the model called a tool instead"],
    ["is no shorter", say("words of no use at all. ".repeat(1_500)),
      "the notes are no shorter than what they"],
    ["fails", refuse(400, { error: { message: "No such thing." } }), "No such thing"],
  ] as const) // biome-ignore format: a table
    test(`a summary that ${what}: the conversation stays, the person is told, once`, async () => {
      const where = talked(30, { context: { compactAt: 0.3 } });
      const ran = await goesOn(where, 16_384, answers(step), ["-c", "next"]);
      deepEqual([ran.stdout, ran.code, ran.refusals, ran.bodies.length], ["Good.\n", 0, [], 2]);
      match(
        ran.stderr,
        /^Cannot summarise the conversation: .*\. It stays as it is; \/compact tries again\.\n$/,
      );
      ok(ran.stderr.includes(why), ran.stderr);
      match(texts(ran.chats[0]), /said 1,[\s\S]*said 30,[\s\S]*next/);
    });

  test("a result that is too much for the window is cut before it is sent, and whole in the file", async () => {
    const where = talked(0);
    writeFileSync(
      join(where.cwd, "huge.txt"),
      Array.from({ length: 20_000 }, (_, i) => `row ${i}`).join("\n"),
    );
    const calls = call(["run_command", { command: "cat huge.txt" }]);
    const script: Script = ({ body }) =>
      body.messages.at(-1).role === "tool" ? say("Read.") : calls;
    const fake = await strictOpenAI(16_384, script);
    const ran = await zz(where, [...flags(fake), "--allow-run", "show it"]);
    deepEqual([ran.stdout, ran.code, fake.refusals], ["Read.\n", 0, []], ran.stderr);
    const result = fake.requests[1]!.body.messages.at(-1).content;
    match(result, /row 1\n[\s\S]*characters left out/);
    ok(tokensOf(fake.requests[1]!.body) < 16_384);
  });

  test("a window that the tools alone fill is said in a sentence, and nothing is sent", async () => {
    const fake = await strictOpenAI(2_000, [say("x")], false);
    const ran = await zz(talked(0, { window: 2_000, tools: { offer: "all" } }), [
      ...flags(fake),
      "hello",
    ]);
    deepEqual([ran.code, fake.requests.length], [1, 0]);
    match(
      ran.stderr,
      /^Cannot send this: about \d+ tokens are left .*'openai\/m' takes in 2000\. Offer fewer tools/m,
    );
  });
});

describe("a server that cuts the conversation without a word", () => {
  /** What is noted when these requests are counted, one after the other. */
  function noted(...counts: [change: Partial<ChatRequest>, tokens: number, data?: unknown][]) {
    const text = "a lamp in the hall. ".repeat(99);
    const messages: Message[] = Array.from({ length: 3 }, () => ({ role: "user", text }));
    const tools = [{ name: "look", description: "looks ".repeat(500), schema: {} }];
    const request = { ...asking(messages), model: "x/m", system: "Help.", tools };
    const notes: string[] = [];
    const state = newState({ config: {} } as never);
    const chat = { note: (text: string) => notes.push(text) } as never;
    for (const [change, input, data] of counts) {
      const reply = {
        text: "",
        thinking: "",
        calls: [],
        finish: "stop" as const,
        usage: { input, output: 1 },
        data,
      };
      recordUsage(state, { ...request, ...change }, reply, chat);
    }
    return notes;
  }

  // biome-ignore format: a table
  for (const [what, words, counts, isCut] of [
    ["stays the same from the first request on, each message being small", 60, [2048, 2048, 2048, 2048, 2048, 2048], true],
    ["stays nearly the same", 60, [2040, 2048, 2031, 2048, 2044, 2048], true],
    ["grows", 60, [2048, 2110, 2180, 2250, 2320, 2390], false],
    ["stays the same while next to nothing is sent", 1, [2048, 2048, 2048, 2048, 2048, 2048], false],
    ["means nothing", 60, [61, 61, 61, 61, 61, 61], false],
  ] as [string, number, number[], boolean][])
    test(`a count that ${what}: ${isCut ? "said once" : "nothing is said"}`, () => {
      const said: Message[] = [{ role: "user", text: "a lamp in the hall. ".repeat(900) }];
      const rows = counts.map((tokens) => {
        said.push({ role: "user", text: "lamp ".repeat(words) });
        return [{ messages: [...said] }, tokens] as [Partial<ChatRequest>, number];
      });
      equal(noted(...rows).length, isCut ? 1 : 0);
    });

  test("only requests with the same prompt, tools and schema are compared, and not what several requests came to", () => {
    const [said, ...more] = noted([{}, 2_625], [{}, 565]);
    match(
      said!,
      /The server is cutting the conversation: it counted 565 tokens.*set "window": 2625 in zz's settings/s,
    );
    deepEqual(more, []);
    deepEqual(noted([{}, 61], [{}, 61]), [], "of a server that always says the same few");
    deepEqual(noted([{}, 2_625], [{ tools: [] }, 565]), []);
    deepEqual(noted([{ system: "Help. ".repeat(900) }, 2_625], [{}, 565]), []);
    deepEqual(noted([{ schema: { type: "object" } }, 2_625], [{}, 565]), []);
    deepEqual(noted([{}, 7_800, { lamp: 1 }], [{}, 2_600]), []);
    equal(noted([{}, 2_625], [{ tools: [] }, 1_565], [{ tools: [] }, 565]).length, 1);
  });
});

describe("a provider that says it is too long", () => {
  test("the conversation is compacted once, and sent again", async () => {
    const ran = await goesOn(talked(30), 8_192, answers(say(SUMMARY)), ["-c", "next"], false);
    deepEqual([ran.stdout, ran.code, ran.refusals.length], ["Good.\n", 0, 1]);
    match(
      ran.stderr,
      /^The request was too long for 'openai\/m'; sending less\.\nThe first 29 turns are notes now/,
    );
    deepEqual(ran.bodies.map(isSummary), [false, true, false]);
  });

  test("and when it says so again, that is an error", async () => {
    const long = refuse(400, {
      error: { message: "prompt is too long: 9999 tokens > 700 maximum", code: "x" },
    });
    const script: Script = ({ body }) => (isSummary(body) ? say(SUMMARY) : long);
    const ran = await goesOn(talked(30), 1e9, script, ["-c", "next"], false);
    equal(ran.code, 1);
    match(
      ran.stderr,
      /Cannot send this: it is too long for 'openai\/m' even after what could be was left out/,
    );
    equal(ran.chats.length, 2);
  });

  for (const [message, window, status = 400] of [
    [
      "This model's maximum context length is 16,384 tokens. However, your messages resulted in 17012 tokens.",
      16_384,
    ],
    ["Your input exceeds the context window of this model. Please adjust your input and try again.",
      0],
    ["The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
      1_048_576],
    ["the request exceeds the available context size (4096 tokens), try increasing it", 4_096, 500],
    ["`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens", 8_192, 422],
    ["Request too large for gpt on tokens per minute (TPM): Limit 30000. maximum context length",
      undefined],
    ["context_length_exceeded", undefined, 429],
    ["Invalid value for 'messages'", undefined],
    ["Payload too large", 0, 413],
  ] as [string, number | undefined, number?][]) // biome-ignore format: a table
    test(`'${message.slice(0, 60)}' ${window === undefined ? "is something else" : `says ${window || "no number"}`}`, () =>
      equal(overflow({ message, status }), window));
});

describe("the count", () => {
  const prose = "The lamp in the hall was lit when we came home, and nobody had been there. ";
  const TEXTS = { prose, Chinese: "走廊里的灯亮着，但是没有人在家。请检查开关。" };
  const request = (text: string): ChatRequest => asking([{ role: "user", text }]);
  const real = ({ messages }: ChatRequest) =>
    tokensOf({ messages: messages.map(({ role, text }) => ({ role, content: text })) });

  for (const [kind, text] of Object.entries(TEXTS))
    test(`after the provider has counted once, ${kind} is counted to a tenth`, () => {
      const count = counts(scales());
      const first = request(text.repeat(40));
      count.learn(first, real(first));
      for (const more of [1, 10, 200]) {
        const next = {
          ...first,
          messages: [...first.messages, ...request(text.repeat(more)).messages],
        };
        const [guess, is] = [count.estimate(next), real(next)];
        ok(
          guess > is * 0.95 && guess < is * (weigh(text) > real(request(text)) ? 2 : 1.1),
          `${guess} for ${is}`,
        );
      }
    });
});

describe("what need not be seen again", () => {
  const long = "a line of it\n".repeat(40);
  type Args = Record<string, unknown>;
  const called = (...calls: Call[]): Message => ({ role: "assistant", text: "", calls });
  const made = (id: string, name: string, args: Args) => called({ id, name, args });
  const gave = (id: string, name: string, text = long): Message => ({
    role: "tool",
    id,
    name,
    text,
  });
  const chat = (...texts: string[]): Message[] =>
    texts.map((text, i) => ({ role: i % 2 ? "user" : "assistant", text }) as Message);
  const path = "src/a.ts";
  const read = (id: string, args: object = {}) => [
    made(id, "read_file", { path, ...args }),
    gave(id, "read_file"),
  ];
  const start: Message = { role: "user", text: "look" };
  const edited = [made("2", "edit_file", { path: "./src/a.ts" }), gave("2", "edit_file", "ok")];
  const grepped = [made("1", "grep", { pattern: "x" }), gave("1", "grep")];
  const later = chat("a", "b", "c", "d", "e", "f");
  const cases: [what: string, messages: Message[], stubs: Record<number, RegExp>][] = [
    ["read again", [start, ...read("1"), ...read("2")],
      { 2: /^\[read_file src\/a\.ts: 41 lines left out, since it/ }],
    ["a part of it, then all of it", [start, ...read("1", { start: 3 }), ...read("2")],
      { 2: /asked for again/ }],
    ["all of it, then a part", [start, ...read("1"), ...read("2", { start: 3 })], {}],
    ["changed since", [start, ...read("1"), ...edited, ...chat("done")],
      { 2: /the file was changed since/ }],
    ["old, and nobody mentioned it", [start, ...read("1"), ...later], { 2: /since it is old/ }],
    ["old, but mentioned",
      [start, ...read("1"), ...chat("a", "b", "c", "what is in a.ts?", "e", "f")], {}],
    ["of the last round, which the model has not seen", [start, ...grepped], {}],
    ["of no file, and old", [start, ...grepped, ...later],
      { 2: /^\[grep: 41 lines left out, since it is old/ }],
  ]; // biome-ignore format: a table
  for (const [what, messages, stubs] of cases)
    test(`a result that is ${what}: ${Object.keys(stubs).length ? "goes" : "stays"}`, () => {
      const found = staleResults(messages, new Set(["edit_file"]));
      deepEqual(Object.keys(found), Object.keys(stubs));
      for (const [at, pattern] of Object.entries(stubs)) match(found[Number(at)]!, pattern);
    });

  const change = (path: string, did: Changed["did"], undone = false): Changed => ({
    id: 1,
    turn: 1,
    at: "",
    tool: "t",
    path,
    did,
    undone,
  });
  for (const [what, changes, before, lines] of [
    ["created and edited", [change("a", "created"), change("a", "edited")], "", "- created: a"],
    ["undone", [change("a", "edited", true)], "", "- changed and undone again: a"],
    ["named in earlier notes", [change("c", "created")], "- edited: a, b",
      "- created: c\n- edited: a, b"],
    ["deleted since the notes", [change("a", "deleted")], "- edited: a, b",
      "- edited: b\n- deleted: a"],
  ] as const) // biome-ignore format: a table
    test(`a file that is ${what} is named with what became of it`, () =>
      equal(filesChanged(changes, before), lines));
});

describe("at the prompt", () => {
  test("/compact makes notes with a hint, /context shows them, /back brings back what was said", async (t) => {
    const script = ["A.", "B.", "C.", "D.", SUMMARY, "Good.", "Good."];
    const { it, say, tells, sent } = await sit(t, { script });
    await say(...[1, 2, 3, 4].map((i) => `said ${i}, and some words about the lamp. `.repeat(30)));
    await tells(
      "/compact keep the tabs",
      /^The first 2 turns are notes now: about \d+ tokens of conversation became \d+\./,
    );
    match(it.requests[4]!.messages.at(-1)!.text, /The person says of the notes: keep the tabs/);
    await tells("/context", /what zz told it \(1\)/);
    await say("next");
    match(sent()[0]!, /the first 2 turns have left your view/);
    doesNotMatch(sent().join("\n"), /said 1,/);
    await tells("/back 3", "Took back");
    await say("again");
    match(sent().join("\n"), /said 1,[\s\S]*said 2,[\s\S]*again/);
  });

  test("Ctrl+C while the notes are written stops the turn, and nothing was taken away", async () => {
    const where = talked(30);
    const slow: Step = {
      headers: { "content-type": "text/event-stream" },
      body: [],
      ending: "hang",
    };
    const fake = await strictOpenAI(8_192, answers(slow));
    const term = terminal(where, ["-c", ...flags(fake), "--no-tools"], { cols: 100 });
    await term.sees(/›$/);
    term.type(`next${KEY.enter}`);
    await term.sees(/summarising 29 turns/);
    term.type(KEY.ctrlC);
    await term.sees(/Stopped\./);
    term.type(KEY.ctrlD);
    equal(await term.exited, 0);
    ok(!where.sessions()[0]!.some(({ type }) => type === "compaction"));
  });
});
