// Chat Completions through the wire: the bytes that servers send, and what a turn makes of them.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Script, Step } from "../support/fake/http.ts";
import {
  call,
  DONE,
  delta,
  fakeOpenAI,
  problems,
  refuse,
  say,
  stream,
} from "../support/fake/openai.ts";
import { type How, turnWith } from "../support/wires.ts";

async function turn(steps: Script, how: How = {}, model = "openai/m") {
  const had = await turnWith(await fakeOpenAI(steps), model, how);
  for (const body of had.bodies) deepEqual(problems(body), []);
  return had;
}

/** Lines of a trace, each an event of its own. */
const trace = (lines: string): string => `${lines.trim().split("\n").join("\n\n")}\n\n`;
const hi = delta({ content: "Hi" });
const done = stream(delta({ content: "done" }, "stop"), DONE);

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
const old = { function_call: { name: "lamp_dim", arguments: '{"level":8}' } };
for (const [what, step, own] of [
  ["in pieces", stream(PIECES), /^call_q1$/],
  ["without an id", stream(delta(old, "function_call")), /^call_\w{8}$/],
] as const)
  test(`a call ${what} runs, and its result goes back under its id`, async () => {
    const { answer, retried, bodies } = await turn([step, done]);
    const dim = { name: "lamp_dim", args: { level: 8 }, ok: true };
    deepEqual([answer!.text, answer!.calls, retried], ["done", [dim], []]);
    const [asked, result] = bodies[1].messages.slice(-2);
    const [{ id, function: made }] = asked.tool_calls;
    match(id, own);
    deepEqual(made, { name: "lamp_dim", arguments: '{"level":8}' });
    deepEqual([result.tool_call_id, result.content], [id, 'ok {"level":8}']);
  });

const cut: Step = { ...stream(hi), ending: "cut" };
// biome-ignore format: one case a row.
const FAILS: [string, Step, RegExp, 1 | 3, string?][] = [
  ["an error in the stream", stream(hi, GAVE_UP), /^The model's server failed in mid-stream: backend gave up\.$/, 3, "Hi"],
  ["a connection cut in the stream", cut, /^(The connection ended|Cannot reach '[^']+': the connection was closed)/, 3, "Hi"],
  ["[DONE] and nothing else", stream(DONE), /^The server answered with nothing\. Try again\.$/, 3, ""],
  ["content_filter without text", stream(delta({}, "content_filter")), /^The provider's content filter withheld the answer\. Put the question differently\.$/, 1],
];
describe("a turn fails", () => {
  for (const [sentence, step, message, requests, partial] of FAILS)
    test(`on ${sentence}`, async () => {
      const { answer, error, bodies } = await turn([step]);
      equal(answer, undefined);
      match(error?.message ?? "", message);
      deepEqual([bodies.length, error?.partial?.text], [requests, partial]);
    });
});

const html =
  "<!doctype html>\n<html><head><title>Welcome</title></head>\n<body>Sign: in</body></html>\n";
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
  ["an error in mid-stream is tried again, and the half is gone", () => [stream(delta({ content: "Half an" }), GAVE_UP), answered], [[500, 625]], "Hi"],
];
describe("of what may pass,", () => {
  for (const [sentence, steps, waits, expected] of RETRIES)
    test(sentence, async () => {
      const { answer, error, retried, slept, fake } = await turn(steps());
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
      const how = { options: { options }, turns: 2 };
      const script = refusing(field, status, words);
      const { answer, error, retried, fake } = await turn(script, how, `openai/${field}-${status}`);
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
  const { answer, fake } = await turn([stream(delta({ tool_calls: [cutCall] }, "length")), done]);
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
  const { answer, error, fake } = await turn([call(["look", {}]), done], {
    options: { rounds: 1 },
  });
  if (error) throw error;
  equal(answer!.finish, "rounds");
  const roles = fake.requests[1]!.body.messages.map(({ role }: { role: string }) => role);
  deepEqual(roles.slice(-3), ["assistant", "tool", "user"]);
});

test("a request asks for a stream, its usage, and has the key", async () => {
  const { fake } = await turn([say("Hi")]);
  const { body, headers, path } = fake.requests[0]!;
  deepEqual([body.model, body.stream, body.stream_options], ["m", true, { include_usage: true }]);
  deepEqual([path, headers.authorization], ["/v1/chat/completions", "Bearer k-12345678"]);
  deepEqual(
    [body.messages[0].role, body.messages.at(-1)],
    ["system", { role: "user", content: "hi" }],
  );
});
