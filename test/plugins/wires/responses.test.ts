// OpenAI's Responses API through the wire: the events that it sends, what a turn makes of them, and what goes back.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Answer, Fault } from "../../../kernel/contract.ts";
import type { Options } from "../../../kernel/core.ts";
import type { Script, Step } from "../../support/fake/http.ts";
import { DONE, fakeOpenAI, say as sayAsChat, stream } from "../../support/fake/openai.ts";
import {
  answer,
  completed,
  event,
  type Item,
  itemEvents,
  refuse,
  USAGE,
  wholeItem,
  wrongInput,
} from "../../support/fake/responses.ts";
import { place, zz } from "../../support/run.ts";
import { kernel } from "../../support/script.ts";

const base = mkdtempSync(join(tmpdir(), "zz-responses-"));
after(() => rmSync(base, { recursive: true, force: true }));
const lamps = join(base, "lamps.ts");
writeFileSync(
  lamps,
  `export default (zz) => {
    const png = { type: "image/png", base64: "AA==" };
    zz.tool({ name: "lamp_dim", description: "Dims.", params: { level: "number" }, run: (args) => "ok " + JSON.stringify(args) });
    zz.tool({ name: "kiln_status", description: "Tells.", run: () => "cold" });
    zz.tool({ name: "look", description: "Looks.", run: () => ({ text: "a lamp", images: [png] }) });
  };\n`,
);

async function turn(script: Script, more: Options = {}, turns = 1, model = "openai/gpt-5-codex") {
  const fake = await fakeOpenAI(script);
  const core = await kernel.createZz({
    ...{ home: base, root: base, own: false, plugins: [lamps], tools: ["lamp_dim", "kiln_status", "look"] },
    ...{ baseUrl: fake.url, key: "k", save: false, ...more },
  });
  const chat = kernel.openChat(core, model);
  try {
    let given: Answer | undefined;
    for (let i = 0; i < turns; i++) given = await kernel.runTurn(core, chat, "hi");
    for (const { body, path } of fake.requests) if (path.endsWith("/responses")) deepEqual(wrongInput(body), []);
    return { fake, chat, answer: given, error: undefined };
  } catch (error) {
    if ((error as Error).name === "AssertionError") throw error;
    return { fake, chat, answer: undefined, error: error as Fault };
  } finally {
    await fake.close();
  }
}

const [think, hi]: [Item, Item] = [{ think: "dim it", sealed: "s3al", id: "rs_a" }, { say: "Hi there" }];
const dim: Item = { call: "lamp_dim", args: { level: 8 }, id: "call_q1" };
const whole = (items: Item[], more: object = {}) => ({
  id: "r",
  object: "response",
  status: "completed",
  output: items.map(wholeItem),
  usage: USAGE,
  ...more,
});

interface Told {
  text?: string;
  thinking?: string;
  calls?: [name: string, args: unknown][];
  finish?: string;
}
/** The events of two items, one of each in turn. */
const mixed = (one: string[], two: string[]): string[] => one.flatMap((event, i) => [event, two[i] ?? ""]);
const crlf = (step: Step): Step => ({ ...step, body: step.body!.map((one) => String(one).replaceAll("\n", "\r\n")) });
// biome-ignore format: one case a row.
const TOLD: [string, Step, Told][] = [
  ["an answer in pieces", answer(hi), { text: "Hi there" }],
  ["thinking as a summary", answer(think, hi), { text: "Hi there", thinking: "dim it" }],
  ["a call in pieces", answer(think, dim), { calls: [["lamp_dim", { level: 8 }]], thinking: "dim it" }],
  ["two calls side by side", answer(dim, { call: "kiln_status", args: {}, id: "call_q2" }), { calls: [["lamp_dim", { level: 8 }], ["kiln_status", {}]] }],
  ["a call whose arguments come only at their end", stream(...itemEvents(dim, 0).filter((one) => !one.includes("arguments.delta")), completed()), { calls: [["lamp_dim", { level: 8 }]] }],
  ["a call that comes only whole", stream(itemEvents(dim, 0).at(-1)!, completed()), { calls: [["lamp_dim", { level: 8 }]] }],
  ["items that come only at the end", stream(completed({ output: [wholeItem(think, 0), wholeItem(hi, 1)] })), { text: "Hi there", thinking: "dim it" }],
  ["a text that comes only whole", stream(itemEvents(hi, 0).at(-1)!, completed()), { text: "Hi there" }],
  ["a body that is no stream", refuse(200, whole([think, hi])), { text: "Hi there", thinking: "dim it" }],
  ["data without the names of events", stream(...itemEvents(hi, 0).map((one) => one.replace(/^event: .*\n/, "")), completed()), { text: "Hi there" }],
  ["names of events without a type in the data", stream('event: response.output_text.delta\ndata: {"output_index":0,"delta":"Hi there"}\n\n', completed()), { text: "Hi there" }],
  ["CRLF", crlf(answer(hi)), { text: "Hi there" }],
  ["[DONE] at its end", stream(...itemEvents(hi, 0), completed(), DONE), { text: "Hi there" }],
  ["keep-alives and events of other kinds", stream(": ping\n\n", event("response.web_search_call.searching"), event("response.x.y", { delta: "no" }), ...itemEvents(hi, 0), completed()), { text: "Hi there" }],
  ["an answer cut by its limit", stream(...itemEvents(hi, 0), event("response.incomplete", { response: { status: "incomplete", incomplete_details: { reason: "content_filter" }, output: [], usage: USAGE } })), { text: "Hi there", finish: "filter" }],
  ["a refusal", answer({ say: "I cannot.", refuses: true }), { text: "I cannot.", finish: "refusal" }],
  ["comments between its events, alone and together", stream(": ping\n\n", ": a\n: b\n\n:\n", ...itemEvents(hi, 0).flatMap((one) => [one, ": still there\n\n"]), completed()), { text: "Hi there" }],
  ["no blank line between its events", stream([...itemEvents(hi, 0), completed()].join("").replaceAll("\n\n", "\n").replaceAll(/^event: .*\n/gm, "")), { text: "Hi there" }],
  ["a byte order mark", stream(`\ufeff${itemEvents(hi, 0).join("")}`, completed()), { text: "Hi there" }],
  ["a slow server, with pieces cut anywhere", stream(...[...(itemEvents(hi, 0).join("") + completed()).match(/[\s\S]{1,97}/g)!].flatMap((one) => [one, 1])), { text: "Hi there" }],
  ["an event that has no blank line behind it at the end", stream(...itemEvents(hi, 0), completed().trimEnd()), { text: "Hi there" }],
  ["an item told twice", stream(...itemEvents(hi, 0), itemEvents(hi, 0).at(-1)!, itemEvents(hi, 0).at(-1)!, completed({ output: [wholeItem(hi, 0)] })), { text: "Hi there" }],
  ["a call told twice", stream(...itemEvents(dim, 0), itemEvents(dim, 0)[0]!, itemEvents(dim, 0).at(-1)!, completed({ output: [wholeItem(dim, 0)] })), { calls: [["lamp_dim", { level: 8 }]] }],
  ["thoughts told twice", stream(...itemEvents(think, 0), itemEvents(think, 0).at(-1)!, ...itemEvents(hi, 1), completed()), { text: "Hi there", thinking: "dim it" }],
  ["calls whose events are mixed", stream(...mixed(itemEvents(dim, 0), itemEvents({ call: "lamp_dim", args: { level: 9 }, id: "call_q2" }, 1)), completed()), { calls: [["lamp_dim", { level: 8 }], ["lamp_dim", { level: 9 }]] }],
  ["the second item before the first", stream(...itemEvents(dim, 1), ...itemEvents(think, 0), completed()), { calls: [["lamp_dim", { level: 8 }]], thinking: "dim it" }],
  ["a call that is done before it is added", stream(...itemEvents(dim, 0).toReversed().filter((one) => !one.includes("arguments.delta")), completed()), { calls: [["lamp_dim", { level: 8 }]] }],
  ["items of unknown types", stream(event("response.output_item.added", { output_index: 0, item: { type: "melody" } }), event("response.melody.delta", { output_index: 0, delta: "la" }), event("response.output_item.done", { output_index: 0, item: { type: "melody", text: "no" } }), ...itemEvents(hi, 1), completed()), { text: "Hi there" }],
  ["parts of unknown types", stream(completed({ output: [{ type: "message", content: [{ type: "melody" }, { type: "output_text", text: "Hi there" }] }] })), { text: "Hi there" }],
  ["items and content of null", stream(event("response.output_item.added", { output_index: 0, item: null }), event("response.output_item.done", { output_index: 0, item: null }), event("response.output_item.done", { output_index: 1, item: { type: "message", content: null } }), event("response.output_text.delta", { output_index: 2, delta: null }), ...itemEvents(hi, 3), completed({ output: null })), { text: "Hi there" }],
  ["data that is JSON but no event", stream("data: null\n\n", "data: 1\n\n", 'data: "x"\n\n', "data: {}\n\n", "data: []\n\n", ...itemEvents(hi, 0), completed()), { text: "Hi there" }],
  ["text in two items", stream(...itemEvents({ say: "Hi " }, 0), ...itemEvents({ say: "there" }, 1), completed()), { text: "Hi there" }],
  ["two answers at once, of which the second is not begun", stream(...itemEvents(hi, 0), completed(), completed({ output: [wholeItem({ say: "No" }, 0)] })), { text: "Hi there" }],
  ["an end told twice", stream(...itemEvents(hi, 0), completed(), completed()), { text: "Hi there" }],
  ["an error of null in each event", stream(...itemEvents(hi, 0).map((one) => one.replace('"type":', '"error":null,"type":')), completed({ error: null })), { text: "Hi there" }],
  ["a connection that stays open after the end", { ...stream(...itemEvents(hi, 0), completed()), ending: "hang" }, { text: "Hi there" }],
  ["a body that is no stream, over many lines", { ...refuse(200, JSON.stringify(whole([think, hi]), null, 2)) }, { text: "Hi there", thinking: "dim it" }],
  ["a refusal that comes only whole", stream(completed({ output: [wholeItem({ say: "I cannot.", refuses: true }, 0)] })), { text: "I cannot.", finish: "refusal" }],
];
describe("a turn over Responses is told", { concurrency: 16 }, () => {
  for (const [sentence, step, told] of TOLD)
    test(sentence, async () => {
      const { answer: given, error, fake, chat } = await turn([step, answer({ say: "done" })]);
      if (error) throw error;
      const rounds = told.calls ? 2 : 1;
      equal(given!.text, told.calls ? "done" : told.text);
      equal(fake.requests.length, rounds);
      equal(fake.requests[0]!.path, "/v1/responses");
      deepEqual(given!.calls.map(({ name, args }) => [name, args]), told.calls ?? []); // biome-ignore format: short
      equal(given!.finish, told.finish ?? "stop");
      const first: any = chat.messages.find(({ role }) => role === "assistant");
      equal(first.thinking ?? "", told.thinking ?? "");
      deepEqual(first.usage ?? { input: 61, output: 9, cached: 40 }, { input: 61, output: 9, cached: 40 });
    });
});

const MID = "The model's server failed in mid-stream: ";
const ENDED = "The connection ended before the answer was complete. Try again.";
const part = itemEvents(hi, 0).slice(0, 3);
const failed = (code: string, message: string) =>
  event("response.failed", { response: { status: "failed", error: { code, message } } });
// biome-ignore format: one case a row.
const FAILS: [string, Step, string | RegExp, 1 | 3][] = [
  ["an error event", stream(...part, event("error", { code: "server_error", message: "boom", param: null })), `${MID}boom.`, 3],
  ["a nested error event", stream(...part, event("error", { error: { code: "server_error", message: "boom" } })), `${MID}boom.`, 3],
  ["a failed answer", stream(...part, failed("server_error", "boom")), `${MID}boom.`, 3],
  ["a failed answer that was too long", stream(...part, failed("context_length_exceeded", "Your input exceeds the context window of this model")), `${MID}Your input exceeds the context window of this model.`, 1],
  ["a failed answer for want of quota", stream(failed("insufficient_quota", "You exceeded your quota")), `${MID}You exceeded your quota.`, 1],
  ["an end without its last event", stream(...part), ENDED, 3],
  ["a connection cut", { ...stream(...part, 20), ending: "cut" }, /^The connection ended|Cannot reach/, 3],
  ["an empty body", stream(), "The server answered with nothing. Try again.", 3],
  ["a line that is not JSON", stream(...part, "data: {oops\n\n"), `${MID}a line that is not JSON: {oops.`, 3],
  ["a web page", { headers: { "content-type": "text/html" }, body: ["<!doctype html><title>Welcome</title>"] }, /a web page \("Welcome"\)/, 1],
  ["an error event of plain words", stream(...part, "event: error\ndata: boom\n\n"), /boom/, 3],
  ["an error on a raw line", stream(...part, '{"error":"the runner went away"}\n'), `${MID}the runner went away.`, 3],
  ["an error that is a text", stream(...part, event("error", { error: "boom" })), `${MID}boom.`, 3],
  ["a rate limit in mid-stream", stream(...part, failed("rate_limit_exceeded", "slow down")), `${MID}slow down.`, 3],
  ["an answer that was cancelled", stream(...part, event("response.cancelled", { response: { status: "cancelled" } })), /cancelled/, 3],
  ["half a line and the end", stream(...part, 'data: {"type":"response.outp'), /^(The model's server failed in mid-stream: .*|The connection ended before the answer was complete\. Try again)\.$/, 3],
  ["nothing but comments", stream(": ping\n\n", ": ping\n\n"), "The server answered with nothing. Try again.", 3],
  ["nothing but its beginning", stream(event("response.created", { response: { status: "in_progress" } })), "The server answered with nothing. Try again.", 3],
  ["a call and no end", stream(...itemEvents(dim, 0)), ENDED, 3],
  ["a connection cut before the stream", { ...stream(20), ending: "cut" }, /^(The connection ended|The server answered with nothing|Cannot reach)/, 3],
  ["plain words", stream("Good day\n"), `${MID}not a stream but Good day.`, 3],
  ["an error as a JSON body over many lines", refuse(200, JSON.stringify({ error: { message: "no such lamp", code: "invalid_request" } }, null, 2)), `${MID}no such lamp.`, 1],
  ["an error as a list", refuse(200, [{ error: { message: "no such lamp", code: "invalid_request" } }]), `${MID}no such lamp.`, 1],
  ["a stream of Chat Completions", sayAsChat("Hi"), /not a stream of Responses but of Chat Completions/, 3],
  ["an error as a JSON body", refuse(200, { error: { message: "no such lamp", code: "invalid_request" } }), `${MID}no such lamp.`, 1],
];
describe("a turn over Responses fails", { concurrency: 16 }, () => {
  for (const [sentence, step, words, requests] of FAILS)
    test(`on ${sentence}`, async () => {
      const { error, fake } = await turn([step]);
      if (typeof words === "string") equal(error?.message, words);
      else match(error?.message ?? "", words);
      equal(fake.requests.length, requests);
    });
  test("on 429, and is tried again when the server says", async () => {
    const { answer: given, fake } = await turn([
      refuse(429, { error: { message: "slow" } }, { "retry-after-ms": "10" }),
      answer(hi),
    ]);
    equal(given!.text, "Hi there");
    equal(fake.requests.length, 2);
  });
});

test("What was thought goes back encrypted, in its place before its call, and not to another model", async () => {
  const two: Item[] = [
    think,
    dim,
    { think: "and look", sealed: "s2", id: "rs_b" },
    { call: "look", args: {}, id: "call_q2" },
  ];
  const { fake, error } = await turn([answer(...two), answer({ say: "done" })]);
  if (error) throw error;
  const { input } = fake.requests[1]!.body;
  deepEqual(input.map((one: any) => one.encrypted_content ?? one.call_id ?? one.role), ["user", "s3al", "call_q1", "s2", "call_q2", "call_q1", "call_q2"]); // biome-ignore format: short
  deepEqual(input[1], {
    id: "rs_a",
    type: "reasoning",
    summary: [{ type: "summary_text", text: "dim it" }],
    encrypted_content: "s3al",
  });
  deepEqual(input.at(-1).output, [{ type: "input_text", text: "a lamp" }, { type: "input_image", image_url: "data:image/png;base64,AA==", detail: "auto" }]); // biome-ignore format: short
});

test("A request keeps nothing at the server, asks for a summary, and has its tools flat", async () => {
  const { fake } = await turn([answer(hi)], { options: { max_tokens: 99, reasoning_effort: "high" } });
  const { body, headers } = fake.requests[0]!;
  equal(headers.authorization, "Bearer k");
  deepEqual([body.store, body.include, body.reasoning, body.max_output_tokens], [false, ["reasoning.encrypted_content"], { effort: "high", summary: "auto" }, 99]); // biome-ignore format: short
  deepEqual(Object.keys(body.tools[0]).sort(), ["description", "name", "parameters", "strict", "type"]);
  ok(!("max_tokens" in body || "reasoning_effort" in body || "messages" in body));
});

// biome-ignore format: one case a row.
const REFUSED: [string, (body: any) => boolean, string][] = [
  ["encrypted reasoning", (body) => "include" in body, "Encrypted content is not supported with this model."],
  ["a summary", (body) => "summary" in (body.reasoning ?? {}), "Your organization must be verified to generate reasoning summaries."],
  ["an effort", (body) => "effort" in (body.reasoning ?? {}), "Unsupported parameter: 'reasoning.effort' is not supported with this model."],
  ["a temperature", (body) => "temperature" in body, "Unsupported parameter: 'temperature' is not supported with this model."],
];
for (const [what, has, words] of REFUSED)
  test(`A server that refuses ${what} is asked without it, from then on`, async () => {
    const options = { temperature: 0, reasoning_effort: "low" };
    const { answer: given, fake } = await turn(
      ({ body }) => (has(body) ? refuse(400, { error: { message: words } }) : answer(hi)),
      { options },
      2,
    );
    equal(given?.text, "Hi there");
    deepEqual(fake.requests.map(({ body }) => has(body)), [true, false, false]); // biome-ignore format: short
  });

// biome-ignore format: one case a row.
const WAYS: [model: string, options: Record<string, unknown>, path: string][] = [
  ["openai/gpt-5-codex", {}, "/v1/responses"],
  ["openai/gpt-5", {}, "/v1/responses"],
  ["openai/gpt-5.1-codex-mini", {}, "/v1/responses"],
  ["openai/o3", {}, "/v1/responses"],
  ["openai/o4-mini", {}, "/v1/responses"],
  ["openai/gpt-4o-mini", {}, "/v1/chat/completions"],
  ["openai/gpt-5", { wire: "chat" }, "/v1/chat/completions"],
  ["openai/gpt-4o", { wire: "responses" }, "/v1/responses"],
];
describe("the wire that is chosen", { concurrency: 8 }, () => {
  for (const [model, options, path] of WAYS)
    test(`for ${model} ${JSON.stringify(options)} is ${path}`, async () => {
      const { fake } = await turn(
        ({ path }) => (path.endsWith("responses") ? answer(hi) : sayAsChat("Hi there")),
        { options },
        1,
        model,
      );
      deepEqual(fake.requests.map((one) => one.path), [path]); // biome-ignore format: short
      ok(!("wire" in fake.requests[0]!.body));
    });
  test("is the other one where a server has such a model and no such path", async () => {
    const { answer: given, fake } = await turn(({ path }) =>
      path.endsWith("responses") ? refuse(404, { error: "no such path" }) : sayAsChat("Hi there"),
    );
    equal(given!.text, "Hi there");
    equal(fake.requests.length, 2);
  });
  test("must be one that there is", async () => {
    const { error } = await turn([answer(hi)], { options: { wire: "soap" } });
    equal(error?.message, "Cannot ask 'openai' over the wire 'soap': there is none. Choose chat or responses.");
  });
});

test("zz -m openai/gpt-5-codex runs a tool over Responses", async () => {
  const fake = await fakeOpenAI([answer(think, { call: "list_dir", args: { path: "." }, id: "call_1" }), answer(hi)]);
  const { stdout, code, stderr } = await zz(place(), [
    "--once",
    "-m",
    "openai/gpt-5-codex",
    "--base-url",
    fake.url,
    "--key",
    "k",
    "hi",
  ]);
  await fake.close();
  equal(stdout, "Hi there\n", stderr);
  equal(code, 0);
  deepEqual(wrongInput(fake.requests[1]!.body), []);
});
