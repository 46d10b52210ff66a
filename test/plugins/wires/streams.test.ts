// What each wire makes of what a server sends, whatever that is: a whole reply, or a sentence that
// says what is wrong.
import { deepEqual, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChatRequest, Fault, HttpAnswer, Provider, Reply } from "../../../kernel/contract.ts";
import { collectReply } from "../../../kernel/conversation/collect-reply.ts";
import ollama from "../../../plugins/ollama.ts";
import wires from "../../../plugins/wires/index.ts";
import * as anthropic from "../../support/fake/anthropic.ts";
import * as gemini from "../../support/fake/gemini.ts";
import type { Step } from "../../support/fake/http.ts";
import * as openai from "../../support/fake/openai.ts";
import * as responses from "../../support/fake/responses.ts";

const providers = new Map<string, Provider>();
let sent: Step = {};
let list: unknown = {};
async function* body(): AsyncGenerator<Uint8Array, void> {
  for (const piece of sent.body ?? []) yield Buffer.from(piece as string);
  if (sent.ending === "hang") await new Promise(() => {});
}
const answer = (): HttpAnswer => ({
  ok: true,
  status: 200,
  headers: { get: () => null },
  body: body(),
  text: async () => "{}",
  json: async () => list,
});
const zz = {
  config: { model: "", window: 8_192 },
  io: { variable: () => undefined },
  fetch: async () => answer(),
  secret: (value: string) => value,
  provider: (one: Provider) => void providers.set(one.name, one),
};
for (const plugin of [wires, ollama]) plugin(zz as never);

type Wire = "chat" | "responses" | "anthropic" | "gemini" | "ollama";
const endpoint = { url: "http://127.0.0.1:9/v1", key: "k" as never };
const request = {
  task: "chat",
  model: "m",
  system: "s",
  messages: [{ role: "user", text: "hi" }],
  tools: [],
};
const nameOf = (wire: Wire): string => (wire === "chat" || wire === "responses" ? "openai" : wire);
/** The reply that this wire reads from the step. */
async function heard(wire: Wire, step: Step): Promise<Reply> {
  sent = step;
  const asked = {
    ...request,
    endpoint,
    options: wire === "responses" ? { wire } : {},
  } as unknown as ChatRequest;
  const name = nameOf(wire);
  return collectReply(
    providers.get(name)!.chat(asked, new AbortController().signal),
    undefined,
    name,
  );
}
const failing = (wire: Wire, step: Step): Promise<Fault | undefined> => failure(heard(wire, step));
const failure = (what: Promise<unknown>) =>
  what.then(() => undefined).catch((error: Fault) => error);

type Calls = [name: string, args: unknown, id?: string][];
type Told = Partial<Pick<Reply, "text" | "thinking" | "finish">> & {
  usage?: object;
  calls?: Calls;
};
type Row = [sentence: string, step: Step, told: Told];
/** Streams with much that may come, some of the rows, which are spoilt at the end. */
const TOLD: Partial<Record<Wire, string[]>> = {};
function tellsAll(wire: Wire, rows: Row[], usual?: object): void {
  const bodies = rows
    .map(([, { body = [] }]) => body.join(""))
    .filter((text) => /^(event|data):/.test(text));
  TOLD[wire] = bodies.filter((_, i) => i % 4 === 1);
  for (const [
    sentence,
    step,
    { calls = [], text = "", thinking = "", finish, usage = usual },
  ] of rows)
    test(`understands ${sentence}`, async () => {
      const reply = await heard(wire, step);
      const made = reply.calls.map(({ id, name, args }, i) =>
        [name, args, id].slice(0, calls[i]?.length),
      );
      const said = [reply.text, reply.thinking, reply.finish, reply.usage, made];
      deepEqual(said, [text, thinking, finish ?? (calls.length ? "calls" : "stop"), usage, calls]);
    });
}

const AGAIN = "is tried again";
type Failure = [what: string, step: Step, words: string | RegExp, again?: typeof AGAIN];
function failsAll(wire: Wire, rows: Failure[]): void {
  for (const [what, step, words, again] of rows)
    test(`fails on ${what}`, async () => {
      const error = await failing(wire, step);
      if (typeof words === "string") equal(error?.message, words);
      else match(error?.message ?? "", words);
      equal(Boolean(error?.transient), again !== undefined);
    });
}

const MID = "The model's server failed in mid-stream: ";
const ENDED = "The connection ended before the answer was complete. Try again.";
const NOTHING = "The server answered with nothing. Try again.";
const html =
  "<!doctype html>\n<html><head><title>Welcome</title></head>\n<body>Sign: in</body></html>\n";
const OTHERS = {
  "Chat Completions": `data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n`,
  "OpenAI's Responses": `event: response.created\ndata: {"type":"response.created","response":{}}\n\n`,
  "Anthropic's Messages": `event: message_start\ndata: {"type":"message_start","message":{}}\n\n`,
  "Gemini's generateContent": `data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}\n\n`,
  "Ollama's own API": `{"message":{"content":"H"},"done":false}\n{"message":{"content":"i"},"done":true}\n`,
};

const START = anthropic.start();
const item = (item: responses.Item): string => responses.itemEvents(item, 0).join("");
/** The same words over each wire: what comes before the end, the end, and a call that has begun. */
const SPOKEN: Record<string, [begun: string, end: string, call: string]> = {
  chat: [
    openai.delta({ content: "Hi" }),
    openai.delta({}, "stop") + openai.DONE,
    openai.delta({
      tool_calls: [{ index: 0, id: "c", function: { name: "look", arguments: "{}" } }],
    }),
  ],
  responses: [item({ say: "Hi" }), responses.completed(), item({ call: "look", args: {} })],
  anthropic: [START + anthropic.text(0, "Hi"), anthropic.end("end_turn"),
    START + anthropic.use(0, "look", {})],
  gemini: [gemini.parts({ text: "Hi" }), gemini.end(),
    gemini.parts({ functionCall: { name: "look", args: {} } })],
}; // biome-ignore format: a table
const plain = (text: string): string => text.replaceAll("\r\n", "\n");
const commented = (text: string): string =>
  plain(text).replaceAll("\n\n", "\n\n: still there\n\n: a\n: b\n");
// biome-ignore format: one case a row.
const ODD: [what: string, body: (begun: string, end: string) => string[]][] = [
  ["lines that end in a line feed", (begun, end) => [plain(begun + end)]],
  ["CRLF cut in two", (begun, end) => plain(begun + end).replaceAll("\n", "\r\n").split(/(?<=\r)/)],
  ["no names of its events and no blank line between its events", (begun, end) => [plain(begun + end).replaceAll(/^event: .*\n/gm, "").replaceAll("\n\n", "\n")]],
  ["comments before, between and behind", (begun, end) => [": a\n\n: b\n", commented(begun + end), ":\n\n"]],
  ["a byte order mark", (begun, end) => [`\ufeff${begun}${end}`]],
  ["a [DONE] at its end", (begun, end) => [begun, end, openai.DONE]],
  ["data that is JSON but no event", (begun, end) => ["null", "1", '"x"', "{}", "[]"].map((value) => `data: ${value}\n\n`).concat(begun, end)],
  ["a last event without its end", (begun, end) => [begun, end.trimEnd()]],
  ["JSON over several lines of an event", (begun, end) => [begun.replaceAll(/{"/g, '{\ndata: "'), end]],
];
// biome-ignore format: one case a row.
const BROKEN: [what: string, body: (begun: string, end: string, call: string) => string[], words: string | RegExp, again?: typeof AGAIN][] = [
  ["no end", (begun) => [begun], ENDED, AGAIN],
  ["a line begun instead of its end", (begun) => [begun, "event: pi"], ENDED, AGAIN],
  ["half of its end", (begun, end) => [begun, end.slice(0, 20)], /^(The model's server failed in mid-stream: .*|The connection ended before the answer was complete\. Try again)\.$/, AGAIN],
  ["an empty body", () => [], NOTHING, AGAIN],
  ["a line that is not JSON", (begun, end) => [begun, "data: {oops\n\n", end], `${MID}a line that is not JSON: {oops.`, AGAIN],
  ["plain words", () => ["Good day\n"], `${MID}not a stream but Good day.`, AGAIN],
  ["an error event of plain words", (begun) => [begun, "event: error\ndata: boom\n\n"], /^The model's server failed in mid-stream: .*boom\.$/, AGAIN],
  ["an error without an event's name", (begun) => [begun, 'data: {"error":{"message":"boom"}}\n\n'], `${MID}boom.`, AGAIN],
  ["an error as a JSON body", () => ['{"error":{"message":"No such lamp","code":400}}'], `${MID}No such lamp.`],
  ["an error in a list", () => ['[{"error":{"message":"No such lamp","code":400}}]\n'], `${MID}No such lamp.`],
  ["a web page", () => [html], /a web page \("Welcome"\).*--base-url/],
];
for (const [wire, spoken] of Object.entries(SPOKEN) as [Wire, [string, string, string]][])
  describe(`${wire}: a stream`, () => {
    for (const [what, bodyOf] of ODD)
      test(`with ${what} is understood`, async () => {
        const { text, finish, calls } = await heard(wire, { body: bodyOf(spoken[0], spoken[1]) });
        deepEqual([text, finish, calls], ["Hi", "stop", []]);
      });
    // Gemini's counts may come behind its finish.
    if (wire !== "gemini")
      test("whose connection stays open after its end is understood", async () => {
        equal((await heard(wire, { body: spoken.slice(0, 2), ending: "hang" })).text, "Hi");
      });
    const rows = BROKEN.map(
      ([what, bodyOf, ...rest]): Failure => [what, { body: bodyOf(...spoken) }, ...rest],
    );
    failsAll(wire, rows);
  });

for (const [wire, own] of [
  ["anthropic", "Anthropic's Messages"],
  ["gemini", "Gemini's generateContent"],
] as const)
  describe(`${wire}: another protocol`, () => {
    for (const [spoken, words] of Object.entries(OTHERS))
      if (spoken !== own)
        test(spoken, async () => {
          const says = `Cannot read the answer of '${wire}': the server speaks ${spoken}, not ${own}. Check --base-url, or name the provider that speaks so in --model.`;
          equal((await failing(wire, { body: [words] }))?.message, says);
          const whole = JSON.stringify({ choices: [{ message: { content: "Hi" } }] }, null, 2);
          match(
            (await failing(wire, { body: [whole] }))!.message,
            /the server speaks Chat Completions/,
          );
        });
  });

failsAll("ollama", [
  ["an error line", { body: ['{"message":{"content":"H"}}\n{"error":"the runner went away"}\n'] }, /the runner went away/, AGAIN],
  ["no done", { body: ['{"message":{"content":"H"}}\n'] }, ENDED, AGAIN],
]); // biome-ignore format: one case a row
test("ollama: lines that are cut anywhere, in the middle of a character as well, are understood", async () => {
  const lines = ["💡", " on"].map((content) =>
    JSON.stringify({ message: { content }, done: false }),
  );
  const bytes = Buffer.from(`${lines.join("\n")}\n{"message":{"content":""},"done":true}`);
  const pieces = [...bytes].map((_, i) => bytes.subarray(i, i + 1)) as unknown as string[];
  equal((await heard("ollama", { body: pieces })).text, "💡 on");
});

describe("chat", () => {
  const { DONE, data, delta, refuse, stream, usage } = openai;
  const [stop, hi] = [delta({}, "stop"), delta({ content: "Hi" })];
  const COUNTED = { input: 61, output: 9 };
  const dim: Told["calls"] = [["lamp_dim", { level: 8 }, "call_q1"]];
  const message = (message: unknown, end = "stop") => ({
    usage: { prompt_tokens: 61, completion_tokens: 9 },
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

  const BAD_CALL = String.raw`event: error
data: {"error":{"message":"bad call","code":"tool_use_failed","failed_generation":"lamp_dim{\"level\":8}"}}

`;

  // biome-ignore format: one case a row.
  const CACHED: [server: string, usage: object, expected: object][] = [
  ["OpenAI", { prompt_tokens_details: { cached_tokens: 40 } }, { cached: 40 }],
  ["OpenRouter", { prompt_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 } }, { cached: 40, written: 10 }],
  ["Moonshot", { cached_tokens: 40 }, { cached: 40 }],
  ["a gateway to Anthropic", { cache_read_input_tokens: 40, cache_creation_input_tokens: 10 }, { cached: 40, written: 10 }],
  ["a server whose counts are below zero", { prompt_tokens: -1, completion_tokens: -5 }, { input: 0, output: 0 }],
  ];
  // biome-ignore format: one case a row.
  const TOLD: Row[] = [
  ["two answers at once, of which the first counts", stream(data({ choices: [{ index: 1, delta: { content: "No" } }] }), hi, data({ choices: [{ index: 1, delta: {}, finish_reason: "length" }, { index: 0, delta: {}, finish_reason: "stop" }] }), DONE), { text: "Hi" }],
  ["no finish and no [DONE], but its usage as the last thing", stream(hi, usage(61, 9)), { text: "Hi", usage: COUNTED }],
  ["a delta of null", stream(data({ choices: [{ delta: null, finish_reason: null }] }), hi, data({ choices: [{ delta: null, finish_reason: "stop" }] })), { text: "Hi" }],
  ["tool_calls of null and of nothing", stream(delta({ content: "H", tool_calls: null }), delta({ content: "i", tool_calls: [] }), stop), { text: "Hi" }],
  ["anything after [DONE] left alone", stream(hi, stop, DONE, delta({ content: "!" })), { text: "Hi" }],
  ["[DONE] after text without a finish", stream(hi, DONE), { text: "Hi" }],
  ["usage inside the choice", stream(hi, data({ choices: [{ delta: {}, finish_reason: "stop", usage: { prompt_tokens: 61, completion_tokens: 9 } }] })), { text: "Hi", usage: COUNTED }],
  ["reasoning_content", stream(delta({ reasoning_content: "h" }), delta({ reasoning_content: "m", content: null }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["thinking", stream(delta({ thinking: "hm" }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["two reasoning fields of the same text", stream(delta({ reasoning: "h", reasoning_content: "h" }), delta({ reasoning: "m", reasoning_content: "m" }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["reasoning details beside the text", stream(delta({ reasoning: "hm", reasoning_details: [{ type: "reasoning.text", text: "hm" }] }), hi, stop), { text: "Hi", thinking: "hm" }],
  ["content in parts", stream(delta({ content: parts }), stop), { text: "Hi", thinking: "hm" }],
  ["a refusal", stream(delta({ refusal: "I can" }), delta({ refusal: "not." }), stop), { text: "I cannot.", finish: "refusal" }],
  ["the old function_call", stream(delta({ function_call: { name: "lamp_dim", arguments: '{"level"' } }), delta({ function_call: { arguments: ":8}" } }, "function_call")), { calls: [["lamp_dim", { level: 8 }]] }],
  ["a chunk cut in a four-byte character", stream(...half("🏮")), { text: "Grüße 🏮 灯" }],
  ["one JSON body instead of a stream", refuse(200, message({ role: "assistant", content: "Hi" })), { text: "Hi", usage: COUNTED }],
  ["one JSON body with a call", refuse(200, message({ role: "assistant", content: null, tool_calls: [lampCall] }, "tool_calls")), { calls: dim, usage: COUNTED }],
  ...CACHED.map(([server, more, expected]): Row => [`tokens from a cache, as ${server} tells them`, stream(hi, stop, data({ choices: [], usage: { prompt_tokens: 61, completion_tokens: 9, ...more } }), DONE), { text: "Hi", usage: { input: 61, output: 9, ...expected } }]),
  ];
  tellsAll("chat", TOLD);

  // biome-ignore format: one case a row.
  const FAILS: Failure[] = [
  ["an error as an event", stream(hi, BAD_CALL), `${MID}bad call.`],
  ["an error on a raw line", stream(hi, '{"error":"the runner went away"}\n'), `${MID}the runner went away.`, AGAIN],
  ["an error with JSON in its metadata", stream(data({ error: { code: 429, message: "Provider returned error", metadata: { raw: "slow down" } } })), `${MID}Provider returned error: slow down.`, AGAIN],
  ["[DONE] and nothing else", stream(DONE), NOTHING, AGAIN],
  ];
  failsAll("chat", FAILS);
});

describe("anthropic", () => {
  const { block, COUNTS, call, end, event, json, redacted, say, start, stream, text, thinking } =
    anthropic;
  const hi = text(0, "Hi");
  const stop = end("end_turn");
  const signed = { type: "thinking", thinking: "how bright?", signature: "sig-abc/+=" };
  const thought = thinking(0, signed.thinking, signed.signature);
  const dim: Told["calls"] = [["lamp_dim", { level: 8 }, "toolu_lamp_dim_0"]];
  const message = (content: unknown, stop_reason = "end_turn") => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    content,
    stop_reason,
    usage: { input_tokens: 61, output_tokens: 9 },
  });
  const delta = (index: number, delta: object) => event("content_block_delta", { index, delta });
  const search = block(1, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }, { type: "input_json_delta", partial_json: '{"query":"lamps"}' }); // biome-ignore format: one block
  const found = block(2, {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [],
  });
  const failed = (type: string, message = type) => event("error", { error: { type, message } });

  // biome-ignore format: one case a row.
  const TOLD: Row[] = [
    ["two calls", call(["lamp_dim", { level: 8 }], ["kiln_status", {}]), { calls: [...dim!, ["kiln_status", {}, "toolu_kiln_status_1"]] }],
    ["thinking before text, which goes back with its signature", stream(start(), thought, text(1, "Hi"), stop), { text: "Hi", thinking: "how bright?" }],
    ["thinking that is not shown", stream(start(), redacted(0, "AbC="), text(1, "Hi"), stop), { text: "Hi" }],
    ["a whole call in its first event", stream(start(), block(0, { type: "tool_use", id: "toolu_lamp_dim_0", name: "lamp_dim", input: { level: 8 } }), end("tool_use")), { calls: dim }],
    ["a call whose arguments come twice", stream(start(), block(0, { type: "tool_use", id: "toolu_lamp_dim_0", name: "lamp_dim", input: { level: 8 } }, { type: "input_json_delta", partial_json: '{"level":8}' }), end("tool_use")), { calls: dim }],
    ["events of a kind to come", stream(start(), event("weather", { sky: "blue" }), hi, delta(0, { type: "scent_delta", scent: "x" }), stop), { text: "Hi" }],
    ["the server's own tools", stream(start(), text(0, "I look. "), search, found, text(3, "Hi"), stop), { text: "I look. Hi" }],
    ["no message_stop", stream(start(), hi, event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 9 } })), { text: "Hi" }],
    ["a refusal", say("I will not.", "refusal"), { text: "I will not.", finish: "refusal" }],
    ["a refusal that only explains itself", stream(start(), end("refusal", { output_tokens: 9 }, { stop_details: { type: "refusal", explanation: "Not this." } })), { text: "Not this.", finish: "refusal" }],
    ["what came from the cache", stream(start({ ...COUNTS, input_tokens: 1, cache_creation_input_tokens: 20, cache_read_input_tokens: 40 }), hi, stop), { text: "Hi", usage: { input: 61, output: 9, cached: 40, written: 20 } }],
    ["one JSON body over many lines", json(message([signed, { type: "text", text: "data: Hi\n\nevent: you" }]), 2), { text: "data: Hi\n\nevent: you", thinking: "how bright?" }],
  ];
  tellsAll("anthropic", TOLD, { input: 61, output: 9 });

  // biome-ignore format: one case a row.
  const FAILS: Failure[] = [
    ["an overloaded server in mid-stream", stream(start(), hi, failed("overloaded_error", "Overloaded")), `${MID}Overloaded.`, AGAIN],
    ["a key that ends in mid-stream", stream(start(), hi, failed("authentication_error", "expired")), `${MID}expired. Check the key: --key, or the provider's variable.`],
    ["a start and an end of nothing", stream(start(), event("message_stop")), NOTHING, AGAIN],
  ];
  failsAll("anthropic", FAILS);
});

describe("gemini", () => {
  const { COUNTS, call, data, end, json, parts, say, stream } = gemini;
  const EMPTY = "Gemini's answer was empty. Try again.";
  const hi = parts({ text: "Hi" });
  const stop = end();
  const chunk = (more: object, usageMetadata: object = COUNTS) => data({ ...more, usageMetadata });
  const candidate = (parts: unknown, more: object = {}) => ({
    content: { parts, role: "model" },
    index: 0,
    ...more,
  });
  const dim: Told["calls"] = [["lamp_dim", { level: 8 }]];
  const last = { finishReason: "STOP" };
  const whole = (parts: unknown[]) => ({
    candidates: [candidate(parts, last)],
    usageMetadata: COUNTS,
  });
  const failed = (code: number, status: string, message = status) =>
    data({ error: { code, message, status } });

  // biome-ignore format: one case a row.
  const TOLD: Row[] = [
    ["an answer in pieces", say("Hello there, you."), { text: "Hello there, you." }],
    ["a call, finished with STOP", call(["lamp_dim", { level: 8 }]), { calls: dim }],
    ["thinking", stream(parts({ text: "how ", thought: true }), parts({ text: "bright?", thought: true }), hi, stop), { text: "Hi", thinking: "how bright?" }],
    ["several candidates, of which the first counts", stream(data({ candidates: [candidate([{ text: "No" }], { index: 1, finishReason: "SAFETY" }), candidate([{ text: "H" }])] }), data({ candidates: [candidate([{ text: "x" }], { index: 1 })] }), data({ candidates: [candidate([{ text: "i" }])] }), stop), { text: "Hi" }],
    ["code that the server ran", stream(parts({ executableCode: { language: "PYTHON", code: "1+1\n" } }, { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2\n" } }), stop), { text: "\n```python\n1+1\n```\n\n```\n2\n```\n" }],
    ["what came from the cache, and what was thought", stream(hi, end("STOP", [{ text: "" }], { promptTokenCount: 61, cachedContentTokenCount: 40, candidatesTokenCount: 9, thoughtsTokenCount: 100, totalTokenCount: 170 })), { text: "Hi", usage: { input: 61, output: 109, cached: 40 } }],
    ["one JSON body instead of a stream", json(whole([{ text: "Hi" }])), { text: "Hi" }],
    ["a list of chunks, as without alt=sse", json([{ candidates: [candidate([{ text: "H" }])] }, whole([{ text: "i" }])]), { text: "Hi" }],
    ["a prompt that is blocked", stream(chunk({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })), { finish: "filter" }],
    ...["SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "IMAGE_SAFETY"].map((reason): Row => [`${reason} and nothing`, stream(end(reason, [])), { finish: "filter" }]),
    ["what came before the filter", stream(hi, end("SAFETY", [])), { text: "Hi", finish: "filter" }],
  ];
  tellsAll("gemini", TOLD, { input: 61, output: 9 });

  // biome-ignore format: one case a row.
  const FAILS: Failure[] = [
    ["an overloaded server in mid-stream", stream(hi, failed(503, "UNAVAILABLE", "The model is overloaded.")), `${MID}The model is overloaded.`, AGAIN],
    ["a call that cannot be read, with the model's words", stream(data({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: print(x)", index: 0 }] })), "Gemini gave up in the middle of its answer (MALFORMED_FUNCTION_CALL: Malformed function call: print(x)). Try again.", AGAIN],
    ["STOP and nothing", stream(stop), EMPTY, AGAIN],
  ];
  failsAll("gemini", FAILS);
});

describe("responses", () => {
  const { answer, completed, event, itemEvents, USAGE, wholeItem } = responses;
  const { say: sayAsChat, refuse, stream } = openai;
  const think: responses.Item = { think: "dim it", sealed: "s3al", id: "rs_a" };
  const hi: responses.Item = { say: "Hi there" };
  const dim: responses.Item = { call: "lamp_dim", args: { level: 8 }, id: "call_q1" };
  const about = { id: "r", object: "response", status: "completed", usage: USAGE };
  const whole = (items: responses.Item[]) => ({ ...about, output: items.map(wholeItem) });
  /** The events of two items, one of each in turn. */
  const mixed = (one: string[], two: string[]): string[] =>
    one.flatMap((event, i) => [event, two[i] ?? ""]);
  const part = itemEvents(hi, 0).slice(0, 3);
  const failed = (code: string, message: string) =>
    event("response.failed", { response: { status: "failed", error: { code, message } } });

  // biome-ignore format: one case a row.
  const TOLD: Row[] = [
    ["thinking as a summary", answer(think, hi), { text: "Hi there", thinking: "dim it" }],
    ["two calls side by side", answer(dim, { call: "kiln_status", args: {}, id: "call_q2" }), { calls: [["lamp_dim", { level: 8 }], ["kiln_status", {}]] }],
    ["items that come only at the end", stream(completed({ output: [wholeItem(think, 0), wholeItem(hi, 1)] })), { text: "Hi there", thinking: "dim it" }],
    ["a body that is no stream", refuse(200, whole([think, hi])), { text: "Hi there", thinking: "dim it" }],
    ["an answer cut by its limit", stream(...itemEvents(hi, 0), event("response.incomplete", { response: { status: "incomplete", incomplete_details: { reason: "content_filter" }, output: [], usage: USAGE } })), { text: "Hi there", finish: "filter" }],
    ["a refusal", answer({ say: "I cannot.", refuses: true }), { text: "I cannot.", finish: "refusal" }],
    ["a call told twice", stream(...itemEvents(dim, 0), itemEvents(dim, 0)[0]!, itemEvents(dim, 0).at(-1)!, completed({ output: [wholeItem(dim, 0)] })), { calls: [["lamp_dim", { level: 8 }]] }],
    ["calls whose events are mixed", stream(...mixed(itemEvents(dim, 0), itemEvents({ call: "lamp_dim", args: { level: 9 }, id: "call_q2" }, 1)), completed()), { calls: [["lamp_dim", { level: 8 }], ["lamp_dim", { level: 9 }]] }],
  ];
  tellsAll("responses", TOLD, { input: 61, output: 9, cached: 40 });

  // biome-ignore format: one case a row.
  const FAILS: Failure[] = [
    ["an error event", stream(...part, event("error", { code: "server_error", message: "boom", param: null })), `${MID}boom.`, AGAIN],
    ["a failed answer that was too long", stream(...part, failed("context_length_exceeded", "Your input exceeds the context window of this model")), `${MID}Your input exceeds the context window of this model.`],
    ["a stream of Chat Completions", sayAsChat("Hi"), /not a stream of Responses but of Chat Completions/, AGAIN],
  ];
  failsAll("responses", FAILS);
});

const called = {
  index: 0,
  id: "c",
  function: { name: "look", arguments: "{}" },
  extra_content: { b: 1 },
};
const STREAMS: Partial<Record<Wire, string[]>> = {
  ...TOLD,
  chat: [
    openai.delta({ role: "assistant", content: "Hi", reasoning_content: "hm", refusal: null }),
    openai.delta({ content: [{ type: "thinking", thinking: [{ text: "b" }] }] }),
    openai.delta({
      reasoning_details: [{ index: 0, type: "x", text: "t" }],
      extra_content: { a: 1 },
    }),
    openai.delta({ tool_calls: [called] }),
    openai.delta({ function_call: { name: "look", arguments: "{}" } }, "stop"),
    openai.data({
      choices: [],
      usage: { prompt_tokens: 1, prompt_tokens_details: { cached_tokens: 1 } },
    }),
  ],
  ollama: [
    { message: { role: "assistant", content: "Hi", thinking: "hm" }, done: false },
    {
      message: { tool_calls: [{ id: "c", function: { name: "look", arguments: { a: 1 } } }] },
      done: false,
    },
    {
      message: { content: "" },
      done: true,
      done_reason: "stop",
      prompt_eval_count: 1,
      eval_count: 2,
    },
  ].map((line) => `${JSON.stringify(line)}\n\n`),
};

/** Lists of models, as the servers send them. */
const LISTS: [provider: string, list: unknown][] = [
  ["openai", { data: [{ id: "m", context_length: 9, pricing: { prompt: "1", completion: "1" } }] }],
  ["anthropic", { data: [{ id: "m", max_input_tokens: 9 }], has_more: true, last_id: "m" }],
  ["gemini",
    { models: [{ name: "models/m", inputTokenLimit: 9, supportedGenerationMethods: ["x"] }] }],
  [
    "ollama",
    {
      models: [{ name: "m", size: 9, size_vram: 9 }],
      capabilities: ["tools"],
      parameters: "num_ctx 9",
    },
  ],
]; // biome-ignore format: a table

const WRONG = [null, 5, true, "x", [], {}, [null], [5], [[]], { a: null }];
/** The value with something wrong in each of its places, one at a time. */
function* spoilt(value: unknown): Generator<unknown> {
  yield* WRONG;
  if (typeof value !== "object" || !value) return;
  for (const [key, inner] of Object.entries(value))
    for (const wrong of spoilt(inner)) {
      const made = structuredClone(value) as Record<string, unknown>;
      made[key] = wrong;
      yield made;
    }
}
/** The stream with a wrong value in an event, without an event, with one twice, and cut in the
 * middle of one. */
function* spoiltStreams(stream: string): Generator<string> {
  const events = stream.split(/(?<=\n\r?\n)/);
  for (const [at, event] of events.entries()) {
    for (const given of ["", event + event, event.slice(0, event.length / 2)])
      yield events.with(at, given).join("");
    const [, before = "", value = ""] = /^((?:event: .*\n)?(?:data: )?)(.*)/.exec(event)!;
    for (const wrong of spoilt(JSON.parse(value)))
      yield events.with(at, `${before}${JSON.stringify(wrong)}\n\n`).join("");
  }
}
const RAW = /^(Type|Range|Reference)Error$/;
const isRaw = (error: Fault): boolean =>
  RAW.test(error.name) ||
  /is not a delta|\bundefined\b|not a function|not iterable/.test(error.message) ||
  !/^[A-Z'].*[.!?]$/s.test(error.message);

describe("Whatever stands where something else is expected is passed over, or said in a sentence:", () => {
  for (const [wire, streams] of Object.entries(STREAMS) as [Wire, string[]][])
    test(wire, async () => {
      const raw: string[] = [];
      const all = wire === "chat" || wire === "ollama" ? [streams.join("")] : streams;
      for (const wrong of all.flatMap((stream) => [...spoiltStreams(stream)])) {
        const error = await failing(wire, { body: [wrong] });
        if (error && isRaw(error)) raw.push(`${error.message} ${wrong}`);
      }
      deepEqual(raw.slice(0, 5), []);
    });

  for (const [provider, given] of LISTS)
    test(`the list of models of ${provider}`, async () => {
      const raw: string[] = [];
      for (const wrong of spoilt(given)) {
        list = wrong;
        const listed = providers.get(provider)!.models!(new AbortController().signal, endpoint);
        const error = await failure(listed);
        if (error && RAW.test(error.name)) raw.push(`${error.message} ${JSON.stringify(wrong)}`);
      }
      deepEqual(raw.slice(0, 5), []);
    });

  test("calls that are none are left out, and those beside them run", async () => {
    const calls = [null, 5, { index: 0, id: "c", function: { name: "look", arguments: "{}" } }];
    const begun = openai.data({ choices: [null, { delta: { content: "Hi", tool_calls: calls } }] });
    const { text, calls: made } = await heard("chat", {
      body: [begun, openai.delta({}, "tool_calls")],
    });
    deepEqual([text, made.map(({ name }) => name)], ["Hi", ["look"]]);
    const told = {
      message: {
        tool_calls: [null, { function: null }, { function: { name: "look", arguments: {} } }],
      },
    };
    equal(
      (await heard("ollama", { body: [`${JSON.stringify(told)}\n{"done":true}\n`] })).calls.length,
      1,
    );
  });
});
