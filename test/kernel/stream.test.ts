// Chat Completions through the wire: the bytes that servers send, and what a turn makes of them.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Answer, Clock, Events, Fault } from "../../kernel/contract.ts";
import { openChat } from "../../kernel/conversation/chat.ts";
import type { Options } from "../../kernel/instance.ts";
import { processIo } from "../../kernel/system/streams.ts";
import { CLOCK } from "../../kernel/text/clock.ts";
import { createZz, runTurn } from "../../zz.ts";
import type { Fake, Script, Step } from "../support/fake/http.ts";
import {
  call,
  DONE,
  data,
  delta,
  fakeOpenAI,
  problems,
  refuse,
  say,
  stream,
  usage,
} from "../support/fake/openai.ts";

const base = mkdtempSync(join(tmpdir(), "zz-stream-"));
after(() => rmSync(base, { recursive: true, force: true }));
const lamps = join(base, "lamps.ts");
writeFileSync(
  lamps,
  `export default (zz) => {
    const ok = (args) => "ok " + JSON.stringify(args);
    const png = { type: "image/png", base64: "AA==" };
    zz.tool({ name: "lamp_dim", description: "Dims.", params: { level: "number" }, run: ok });
    zz.tool({ name: "kiln_status", description: "Tells.", run: ok });
    zz.tool({ name: "ledger_append", description: "Appends.", params: { text: "string" }, run: ok });
    zz.tool({ name: "look", description: "Looks.", run: () => ({ text: "a lamp", images: [png] }) });
  };\n`,
);

type Turn = {
  answer?: Answer;
  error?: Fault;
  retried: Events["retried"][];
  fake: Pick<Fake, "port" | "requests">;
};
/**
 * A clock on which nobody waits between two tries, but it is noted how long they would have waited.
 */
let slept: number[] = [];
const clock: Clock = { ...CLOCK, sleep: async (ms) => void slept.push(Math.round(ms)) };

let script: Script = [];
const server = await fakeOpenAI((seen) => {
  const turn = server.requests.length - 1;
  return typeof script === "function"
    ? script(seen, turn)
    : script[Math.min(turn, script.length - 1)]!;
});
after(server.close);
const tools = ["lamp_dim", "kiln_status", "ledger_append", "look"];
const given = {
  home: base,
  root: base,
  own: false,
  plugins: [lamps],
  tools,
  baseUrl: server.url,
  save: false,
};
const open = (more: Options = {}) =>
  createZz({ ...given, key: "k", io: Object.assign(processIo(), { clock }), ...more });
const shared = await open();

/** One turn, or several, against one script. With options of its own it has a zz of its own. */
async function turn(steps: Script, more?: Options, turns = 1): Promise<Turn> {
  const core = more ? await open(more) : shared;
  const retried: Events["retried"][] = [];
  core.observers.length = 0;
  core.observers.push({
    owner: "",
    value: { event: "retried", limit: 5_000, see: (fact) => void retried.push(fact) },
  });
  script = steps;
  slept = [];
  server.requests.length = 0;
  const chat = openChat(core, more?.model ?? "openai/m");
  const fake = { port: server.port, requests: server.requests };
  try {
    let answer: Answer | undefined;
    for (let i = 0; i < turns; i++) answer = await runTurn(core, chat, "hi");
    for (const { body } of fake.requests) deepEqual(problems(body), []);
    return { answer: answer!, retried, fake };
  } catch (error) {
    if ((error as Error).name === "AssertionError") throw error;
    return { error: error as Fault, retried, fake };
  }
}

const sse = (...body: (string | Uint8Array)[]): Step => stream(...body);
const ending = (ending: "cut" | "hang", ...body: string[]): Step => ({
  ...stream(...body),
  ending,
});
/** Lines of a trace, each an event of its own. */
const trace = (lines: string): string => `${lines.trim().split("\n").join("\n\n")}\n\n`;
const json = (body: unknown, space?: number): Step =>
  refuse(200, JSON.stringify(body, null, space));
const [stop, hi] = [delta({}, "stop"), delta({ content: "Hi" })];
const done = sse(delta({ content: "done" }, "stop"), DONE);

// Byte for byte as PROVIDERS.md 1.7 has them.
const PIECES = trace(String.raw`
data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_q1","type":"function","function":{"name":"lamp_dim","arguments":""}}]},"finish_reason":null}],"usage":null}
data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"level\":"}}]},"finish_reason":null}],"usage":null}
data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"8}"}}]},"finish_reason":null}],"usage":null}
data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}
data: {"choices":[],"usage":{"prompt_tokens":61,"completion_tokens":9,"total_tokens":70}}
data: [DONE]`);
const GAVE_UP = trace(
  `data: {"error":{"message":"backend gave up","type":"server_error","code":null}}`,
);
const BAD_CALL = String.raw`event: error
data: {"error":{"message":"bad call","code":"tool_use_failed","failed_generation":"lamp_dim{\"level\":8}"}}

`;

/** What a server says of its cache, in its own words, and what zz makes of it. */
// biome-ignore format: one case a row.
const CACHED: [server: string, usage: object, expected: object][] = [
  ["OpenAI", { prompt_tokens_details: { cached_tokens: 40 } }, { cached: 40 }],
  ["OpenRouter", { prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 } }, { cached: 40, written: 10 }],
  ["Moonshot", { cached_tokens: 40 }, { cached: 40 }],
  ["a gateway to Anthropic", { cache_read_input_tokens: 40, cache_creation_input_tokens: 10 }, { cached: 40, written: 10 }],
  ["a server whose counts are below zero", { prompt_tokens: -1, completion_tokens: -5 }, { input: 0, output: 0 }],
];
for (const [server, said, expected] of CACHED)
  test(`tokens from a cache, as ${server} tells them`, async () => {
    const end = data({ choices: [], usage: { prompt_tokens: 61, completion_tokens: 9, ...said } });
    const { answer } = await turn([sse(hi, stop, end, DONE)]);
    deepEqual(answer!.usage, { input: 61, output: 9, ...expected });
  });

type Called = [name: string, args: unknown, id: string]; // "made": zz made the id
type Told = Partial<Pick<Answer, "text" | "thinking" | "finish">> & {
  usage?: [number, number];
  calls?: Called[];
};
const dim: Told["calls"] = [["lamp_dim", { level: 8 }, "call_q1"]];
const whole = {
  id: "c",
  object: "chat.completion",
  model: "m",
  usage: { prompt_tokens: 61, completion_tokens: 9 },
};
const message = (message: unknown, end = "stop") => ({
  ...whole,
  choices: [{ message, finish_reason: end }],
});
const lampCall = {
  id: "call_q1",
  type: "function",
  function: { name: "lamp_dim", arguments: '{"level":8}' },
};
const utf8 = new TextEncoder().encode(delta({ content: "Grüße 🏮 灯" }) + stop + DONE);
const half = (piece: string): [Uint8Array, Uint8Array] => {
  const at = Buffer.from(utf8).indexOf(piece) + 1;
  return [utf8.subarray(0, at), utf8.subarray(at)];
};
const parts = [
  { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
  { type: "text", text: "Hi" },
];

// biome-ignore format: one case a row.
const TOLD: [string, Step, Told][] = [
  ["a call in pieces, its usage in an extra chunk", sse(PIECES), { calls: dim, usage: [61, 9] }],
  ["an answer in pieces", say("Hello there, you."), { text: "Hello there, you.", usage: [61, 9] }],
  ["two answers at once, of which the first counts", sse(data({ choices: [{ index: 1, delta: { content: "No" } }] }), hi, data({ choices: [{ index: 1, delta: {}, finish_reason: "length" }, { index: 0, delta: {}, finish_reason: "stop" }] }), DONE), { text: "Hi" }],
  ["no finish and no [DONE], but its usage as the last thing", sse(hi, usage(61, 9)), { text: "Hi", usage: [61, 9] }],
  ["data that is JSON but no chunk", sse("data: null\n\n", 'data: "ping"\n\n', "data: {}\n\n", "data: 1\n\n", hi, stop, DONE), { text: "Hi" }],
  ["a delta of null", sse(data({ choices: [{ delta: null, finish_reason: null }] }), hi, data({ choices: [{ delta: null, finish_reason: "stop" }] })), { text: "Hi" }],
  ["tool_calls of null and of nothing", sse(delta({ content: "H", tool_calls: null }), delta({ content: "i", tool_calls: [] }), stop), { text: "Hi" }],
  ["anything after [DONE] left alone", sse(hi, stop, DONE, delta({ content: "!" })), { text: "Hi" }],
  ["[DONE] after text without a finish", sse(hi, DONE), { text: "Hi" }],
  ["a connection that stays open after [DONE]", ending("hang", hi, stop, DONE), { text: "Hi" }],
  ["usage inside the choice", sse(hi, data({ choices: [{ delta: {}, finish_reason: "stop", usage: { prompt_tokens: 61, completion_tokens: 9 } }] })), { text: "Hi", usage: [61, 9] }],
  ["reasoning_content", sse(delta({ reasoning_content: "h" }), delta({ reasoning_content: "m", content: null }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["thinking", sse(delta({ thinking: "hm" }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["two reasoning fields of the same text", sse(delta({ reasoning: "h", reasoning_content: "h" }), delta({ reasoning: "m", reasoning_content: "m" }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["reasoning details beside the text", sse(delta({ reasoning: "hm", reasoning_details: [{ type: "reasoning.text", text: "hm" }] }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["content in parts", sse(delta({ content: parts }), stop), { text: "Hi", thinking: "hm" }],
  ["a refusal", sse(delta({ refusal: "I can" }), delta({ refusal: "not." }), stop), { text: "I cannot.", finish: "refusal" }],
  ["the old function_call", sse(delta({ function_call: { name: "lamp_dim", arguments: '{"level"' } }), delta({ function_call: { arguments: ":8}" } }, "function_call")), { calls: [["lamp_dim", { level: 8 }, "made"]] }],
  ["a chunk cut in a four-byte character", sse(...half("🏮")), { text: "Grüße 🏮 灯" }],
  ["one JSON body instead of a stream", json(message({ role: "assistant", content: "Hi" })), { text: "Hi", usage: [61, 9] }],
  ["one JSON body with a call", json(message({ role: "assistant", content: null, tool_calls: [lampCall] }, "tool_calls")), { calls: dim, usage: [61, 9] }],
];
describe("a turn", () => {
  for (const [sentence, step, { calls = [], text = calls.length ? "done" : "", ...told }] of TOLD)
    test(`understands ${sentence}`, async () => {
      const { answer, error, retried, fake } = await turn([step, done]);
      if (error) throw error;
      const [input, output] = told.usage ?? [0, 0];
      deepEqual(
        {
          text: answer!.text,
          thinking: answer!.thinking,
          finish: answer!.finish,
          usage: answer!.usage,
          retried,
        },
        {
          text,
          thinking: told.thinking,
          finish: told.finish ?? "stop",
          usage: { input, output },
          retried: [],
        },
      );
      deepEqual(answer!.calls, calls.map(([name, args]) => ({ name, args, ok: true }))); // biome-ignore format: short
      equal(fake.requests.length, calls.length ? 2 : 1);
      if (!calls.length) return;
      const back = fake.requests[1]!.body.messages;
      const asked = back.findLast((one: any) => one.role === "assistant").tool_calls;
      for (const [i, [name, args, id]] of calls.entries()) {
        deepEqual([asked[i].function.name, JSON.parse(asked[i].function.arguments)], [name, args]);
        if (id === "made") match(asked[i].id, /^call_\w{8}$/);
        else equal(asked[i].id, id);
      }
      const results = back.filter((one: any) => one.role === "tool");
      deepEqual(results.map((one: any) => one.content), calls.map(([, args]) => `ok ${JSON.stringify(args)}`)); // biome-ignore format: short
    });
});

const MID = "The model's server failed in mid-stream: ";
const ENDED = "The connection ended before the answer was complete. Try again.";
const NOTHING = "The server answered with nothing. Try again.";
const html =
  "<!doctype html>\n<html><head><title>Welcome</title></head>\n<body>Sign: in</body></html>\n";
const page = (status: number): Step => ({
  status,
  headers: { "content-type": "text/html" },
  body: [html],
});

// [what came, the step, every time, the error, the requests that it took, the text that is kept]
// biome-ignore format: one case a row.
const FAILS: [string, Step, string | RegExp, 1 | 3, string?][] = [
  ["an error in the stream", sse(hi, GAVE_UP), `${MID}backend gave up.`, 3, "Hi"],
  ["an error as an event", sse(hi, BAD_CALL), `${MID}bad call.`, 1, "Hi"],
  ["an error event of plain words", sse(hi, "event: error\ndata: boom\n\n"), /^The model's server failed in mid-stream: .*boom\.$/, 3, "Hi"],
  ["an error on a raw line", sse(hi, '{"error":"the runner went away"}\n'), `${MID}the runner went away.`, 3, "Hi"],
  ["an error with JSON in its metadata", sse(data({ error: { code: 429, message: "Provider returned error", metadata: { raw: "slow down" } } })), `${MID}Provider returned error: slow down.`, 3, ""],
  ["a line that is not JSON", sse(hi, "data: {oops\n\n", stop), `${MID}a line that is not JSON: {oops.`, 3, "Hi"],
  ["no finish and no [DONE]", sse(hi), ENDED, 3, "Hi"],
  ["a connection cut in the stream", ending("cut", hi), /^(The connection ended|Cannot reach '[^']+': the connection was closed)/, 3, "Hi"],
  ["[DONE] and nothing else", sse(DONE), NOTHING, 3, ""],
  ["an error as a JSON body", json({ error: { message: "no such lamp", code: "invalid_request" } }), `${MID}no such lamp.`, 1, ""],
  ["a web page with 200", page(200), /a web page \("Welcome"\).*--base-url/, 1, ""],
  ["content_filter without text", sse(delta({}, "content_filter")), "The provider's content filter withheld the answer. Put the question differently.", 1],
];
describe("a turn fails", () => {
  for (const [sentence, step, message, requests, partial] of FAILS)
    test(`on ${sentence}`, async () => {
      const { answer, error, fake } = await turn([step]);
      equal(answer, undefined);
      if (typeof message === "string") equal(error?.message, message);
      else match(error?.message ?? "", message);
      equal(fake.requests.length, requests);
      equal(error?.partial?.text, partial);
    });
});

// biome-ignore format: one case a row.
const REFUSALS: [string, number, unknown, string][] = [
  ["OpenAI", 400, { error: { message: "No such lamp", type: "invalid_request_error", param: null, code: null } }, "No such lamp."],
  ["OpenRouter", 400, { error: { code: 400, message: "Provider returned error", metadata: { provider_name: "p", raw: '{"why":"lamp"}' } } }, 'Provider returned error: {"why":"lamp"}.'],
  ["Gemini", 400, [{ error: { code: 400, message: "No such lamp!", status: "INVALID_ARGUMENT" } }], "No such lamp!"],
  ["a FastAPI proxy with a list", 400, { detail: [{ loc: ["body"], msg: "Field required", type: "missing" }] }, '[{"loc":["body"],"msg":"Field required","type":"missing"}].'],
  ["a proxy with a web page", 400, html, 'a web page ("Welcome"). Check --model (zz --models lists what there is) and --base-url, which usually ends in /v1.'],
  ["a proxy with nothing", 400, "", "no reason given."],
  ["a server that has no such path", 404, { error: { message: "Not found" } }, "Not found. Check --model (zz --models lists what there is) and --base-url, which usually ends in /v1."],
  ["a server that wants another key", 401, { error: { message: "Incorrect API key" } }, "Incorrect API key. Check the key: --key, or the provider's variable."],
  ["OpenAI without quota", 429, { error: { message: "You exceeded your current quota.", type: "insufficient_quota", code: "insufficient_quota" } }, "You exceeded your current quota."],
];
describe("a refusal is told once, in the server's own words,", () => {
  for (const [who, status, body, words] of REFUSALS)
    test(`by ${who} (${status})`, async () => {
      const { error, fake } = await turn([refuse(status, body), say("no")]);
      equal(error?.message, `127.0.0.1:${fake.port} answered ${status}: ${words}`);
      deepEqual([error?.status, error?.transient, fake.requests.length], [status, false, 1]);
    });
});

const slow = { error: { message: "slow down" } };
const [answered, no500] = [say("Hi"), refuse(500, slow)];
const date = () => new Date(Date.now() + 50_000).toUTCString();
// [what holds, the steps, the waits (least and most), the text or the error]
// biome-ignore format: one case a row.
const RETRIES: [string, () => Step[], [number, number][], string][] = [
  ["429 waits for the seconds of retry-after", () => [refuse(429, slow, { "retry-after": "1" }), answered], [[1000, 1000]], "Hi"],
  ["429 waits for the milliseconds of retry-after-ms", () => [refuse(429, slow, { "retry-after-ms": "120", "retry-after": "9" }), answered], [[120, 120]], "Hi"],
  ["429 waits for the date of retry-after", () => [refuse(429, slow, { "retry-after": date() }), answered], [[1, 50_000]], "Hi"],
  ["429 with a date gone by is tried again", () => [refuse(429, slow, { "retry-after": new Date(0).toUTCString() }), answered], [[0, 625]], "Hi"],
  ["500 twice is tried a third time", () => [no500, no500, answered], [[500, 625], [1000, 1250]], "Hi"],
  ["500 three times is enough", () => [no500], [[500, 625], [1000, 1250]], "127.0.0.1 answered 500: slow down."],
  ["an error in mid-stream is tried again, and the half is gone", () => [sse(delta({ content: "Half an" }), GAVE_UP), answered], [[500, 625]], "Hi"],
];
describe("of what may pass,", () => {
  for (const [sentence, steps, waits, expected] of RETRIES)
    test(sentence, async () => {
      const { answer, error, retried, fake } = await turn(steps());
      equal(answer?.text ?? error?.message.replace(/:\d+/, ""), expected);
      deepEqual(slept, retried.map(({ wait }) => wait)); // biome-ignore format: short
      deepEqual(retried.map(({ attempt }) => attempt), waits.map((_, i) => i + 1)); // biome-ignore format: short
      for (const [i, { wait }] of retried.entries())
        ok(wait >= waits[i]![0] && wait <= waits[i]![1], `waited ${wait} ms, not ${waits[i]}`);
      equal(fake.requests.length, waits.length + 1);
      const [first, ...more] = fake.requests.map(({ body }) => body);
      for (const body of more) deepEqual(body, first, "the same request again");
    });
});

const refusing =
  (field: string, status: number, words: string) =>
  ({ body }: { body: any }) =>
    field in body ? refuse(status, { error: { message: words } }) : say("Hi");
// [the field, the status, the words, the options, what the second request and all after it has
// instead]
// biome-ignore format: one case a row.
const FIELDS: [string, number, string, Record<string, unknown>, Record<string, unknown>][] = [
  ["stream_options", 400, "Unrecognized request argument supplied: stream_options", {}, {}],
  ["temperature", 400, "Unsupported value: 'temperature' does not support 0 with this model.", { temperature: 0 }, {}],
  ["max_tokens", 400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", { max_tokens: 5 }, { max_completion_tokens: 5 }],
  ["max_completion_tokens", 422, "max_completion_tokens: extra fields not permitted", { max_completion_tokens: 5 }, { max_tokens: 5 }],
];
describe("a field that a server refuses by name", () => {
  for (const [field, status, words, options, instead] of FIELDS)
    test(`is left out from then on: ${field} (${status})`, async () => {
      const more = { options, model: `openai/${field}-${status}` };
      const { answer, error, retried, fake } = await turn(refusing(field, status, words), more, 2);
      if (error) throw error;
      equal(answer!.text, "Hi");
      deepEqual(retried, [], "this is no retry: nobody waits");
      deepEqual(fake.requests.map(({ body }) => field in body), [true, false, false]); // biome-ignore format: short
      const first = { ...fake.requests[0]!.body };
      delete first[field];
      deepEqual(fake.requests[1]!.body, { ...first, ...instead });
    });

  test("is an error when it cannot be left out", async () => {
    const { error, fake } = await turn([
      refuse(400, { error: { message: "model: no such model" } }),
      say("Hi"),
    ]);
    equal(error?.message, `127.0.0.1:${fake.port} answered 400: model: no such model.`);
    equal(fake.requests.length, 1);
  });
});

const CUT_CALL =
  "The call was cut off by the output limit and did not run. Send it again, shorter or in parts.";
test("a call that the output limit cut is told to the model, whose history stays valid", async () => {
  const cutCall = { index: 0, id: "a", function: { name: "lamp_dim", arguments: '{"level":' } };
  const { answer, fake } = await turn([sse(delta({ tool_calls: [cutCall] }, "length")), done]);
  deepEqual(answer!.calls, [{ name: "lamp_dim", args: {}, ok: false }]);
  const [asked, result] = fake.requests[1]!.body.messages.slice(-2);
  deepEqual([asked.tool_calls[0].function.arguments, result.content], ["{}", CUT_CALL]);
});

test("a text that the output limit cuts is continued without a seam", async () => {
  const steps = [
    say("The lamp is at eig", "length"),
    say("ht, and the kiln is", "length"),
    say(" cold."),
  ];
  const { answer, fake } = await turn(steps);
  deepEqual(
    [answer!.text, answer!.finish],
    ["The lamp is at eight, and the kiln is cold.", "stop"],
  );
  deepEqual(answer!.usage, { input: 183, output: 27 });
  match(
    fake.requests[1]!.body.messages.at(-1).content,
    /cut off by the output limit\. Continue exactly/,
  );
});

test("images of a result and words that follow it are one message", async () => {
  const { answer, error, fake } = await turn([call(["look", {}]), done], { rounds: 1 });
  if (error) throw error;
  equal(answer!.finish, "rounds");
  const roles = fake.requests[1]!.body.messages.map(({ role }: { role: string }) => role);
  deepEqual(roles.slice(-3), ["assistant", "tool", "user"]);
});

test("a request asks for a stream, its usage, and has the key", async () => {
  const { fake } = await turn([say("Hi")]);
  const { body, headers, path } = fake.requests[0]!;
  deepEqual([body.model, body.stream, body.stream_options], ["m", true, { include_usage: true }]);
  deepEqual([path, headers.authorization], ["/v1/chat/completions", "Bearer k"]);
  deepEqual(
    [body.messages[0].role, body.messages.at(-1)],
    ["system", { role: "user", content: "hi" }],
  );
});
