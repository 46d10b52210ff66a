// Gemini's generateContent through the wire: the bytes that the server sends, what a turn makes of them, and what goes back.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Answer, Message } from "../../../kernel/contract.ts";
import { COUNTS, call, data, end, fakeGemini, json, parts, refuse, say, stream } from "../../support/fake/gemini.ts";
import type { Script, Step } from "../../support/fake/http.ts";
import { place, zz } from "../../support/run.ts";
import { type How, lamps, PIXEL, type Turn, turnWith } from "../../support/wires.ts";

const MODEL = "gemini/gemini-2.5-flash";
const turn = async (script: Script, how: How = {}, model = MODEL): Promise<Turn> =>
  turnWith(await fakeGemini(script), model, how);
/** With these options; effort and schema among them are the request's own. */
const set = (options: Record<string, unknown>, more: How = {}): How => ({ ...more, options: { options } });

const ending = (ending: "cut" | "hang", ...body: (string | number)[]): Step => ({ ...stream(...body), ending });
const hi = parts({ text: "Hi" });
const done = say("done");
const stop = end();
const chunk = (more: object, usageMetadata: object = COUNTS) => data({ ...more, usageMetadata });
const candidate = (parts: unknown, more: object = {}) => ({ content: { parts, role: "model" }, index: 0, ...more });
const lamp = { functionCall: { name: "lamp_dim", args: { level: 8 } } };

interface Told {
  text?: string;
  thinking?: string;
  finish?: Answer["finish"];
  usage?: object;
  calls?: [name: string, args: unknown][];
}
const dim: Told["calls"] = [["lamp_dim", { level: 8 }]];
const whole = (parts: unknown[], finishReason = "STOP") => ({ candidates: [candidate(parts, { finishReason })], usageMetadata: COUNTS }); // biome-ignore format: one

// biome-ignore format: one case a row.
const TOLD: [string, Step, Told][] = [
  ["an answer in pieces", say("Hello there, you."), { text: "Hello there, you." }],
  ["a call, finished with STOP", call(["lamp_dim", { level: 8 }]), { calls: dim }],
  ["two calls", call(["lamp_dim", { level: 8 }], ["kiln_status", {}]), { calls: [...dim!, ["kiln_status", {}]] }],
  ["two equal calls", call(["kiln_status", {}], ["kiln_status", {}]), { calls: [["kiln_status", {}], ["kiln_status", {}]] }],
  ["two equal calls in two chunks", stream(parts({ functionCall: { name: "kiln_status", args: {} } }), parts({ functionCall: { name: "kiln_status", args: {} } }), stop), { calls: [["kiln_status", {}], ["kiln_status", {}]] }],
  ["calls with ids of the server's", stream(parts({ functionCall: { id: "a", name: "kiln_status", args: {} } }, { functionCall: { id: "b", name: "kiln_status", args: {} } }), stop), { calls: [["kiln_status", {}], ["kiln_status", {}]] }],
  ["a call without arguments", stream(parts({ functionCall: { name: "kiln_status" } }), stop), { calls: [["kiln_status", {}]] }],
  ["a call with arguments of null", stream(parts({ functionCall: { name: "kiln_status", args: null } }), stop), { calls: [["kiln_status", {}]] }],
  ["text and a call in one chunk, with the reason", stream(end("STOP", [{ text: "I dim it." }, lamp])), { calls: dim }],
  ["thinking", stream(parts({ text: "how ", thought: true }), parts({ text: "bright?", thought: true }), hi, stop), { text: "Hi", thinking: "how bright?" }],
  ["thinking and text in one chunk", stream(parts({ text: "how bright?", thought: true }, { text: "Hi" }), stop), { text: "Hi", thinking: "how bright?" }],
  ["the finish in the chunk of the text", stream(end("STOP", [{ text: "Hi" }])), { text: "Hi" }],
  ["a finish without content", stream(hi, data({ candidates: [{ finishReason: "STOP", index: 0 }], usageMetadata: COUNTS })), { text: "Hi" }],
  ["a finish of a kind to come", say("Hi", "TIRED"), { text: "Hi" }],
  ["a finish that says nothing, before the true one", stream(hi, end("FINISH_REASON_UNSPECIFIED"), stop), { text: "Hi" }],
  ["a candidate without an index", stream(data({ candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }], usageMetadata: COUNTS })), { text: "Hi" }],
  ["several candidates, of which the first counts", stream(data({ candidates: [candidate([{ text: "No" }], { index: 1, finishReason: "SAFETY" }), candidate([{ text: "H" }])] }), data({ candidates: [candidate([{ text: "x" }], { index: 1 })] }), data({ candidates: [candidate([{ text: "i" }])] }), stop), { text: "Hi" }],
  ["chunks without candidates", stream(chunk({}), hi, chunk({ candidates: [] }), chunk({ candidates: null }), stop), { text: "Hi" }],
  ["content of null, parts of null and of nothing", stream(data({ candidates: [{ content: null }] }), data({ candidates: [candidate(null)] }), data({ candidates: [candidate([])] }), data({ candidates: [candidate([null, {}])] }), hi, stop), { text: "Hi" }],
  ["parts of a kind to come", stream(parts({ scent: "x" }), hi, stop), { text: "Hi" }],
  ["code that the server ran", stream(parts({ executableCode: { language: "PYTHON", code: "1+1\n" } }, { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2\n" } }), stop), { text: "\n```python\n1+1\n```\n\n```\n2\n```\n" }],
  ["usage in every chunk, growing", stream(...[1, 5, 9].map((candidatesTokenCount) => data({ candidates: [candidate([{ text: "." }])], usageMetadata: { promptTokenCount: 61, candidatesTokenCount } })), data({ candidates: [candidate([{ text: "" }], { finishReason: "STOP" })] })), { text: "..." }],
  ["what came from the cache, and what was thought", stream(hi, end("STOP", [{ text: "" }], { promptTokenCount: 61, cachedContentTokenCount: 40, candidatesTokenCount: 9, thoughtsTokenCount: 100, totalTokenCount: 170 })), { text: "Hi", usage: { input: 61, output: 109, cached: 40 } }],
  ["what the server's tools put in", stream(hi, end("STOP", [{ text: "" }], { promptTokenCount: 60, toolUsePromptTokenCount: 1, candidatesTokenCount: 9 })), { text: "Hi" }],
  ["half a line behind the finish", stream(hi, stop, hi.slice(0, 20)), { text: "Hi" }],
  ["line feeds alone", stream((hi + stop).replaceAll("\r\n", "\n")), { text: "Hi" }],
  ["no blank line between events", stream((hi + stop).replaceAll("\r\n\r\n", "\n")), { text: "Hi" }],
  ["comments", stream(": ping\n\n", hi, ": still there\n", stop), { text: "Hi" }],
  ["comments before, between and behind", stream(": a\r\n\r\n", ": b\n", hi, ": c\n: d\n\n", ":\r\n\r\n", stop, ": e\n\n"), { text: "Hi" }],
  ["a [DONE] of a gateway", stream(hi, stop, "data: [DONE]\n\n"), { text: "Hi" }],
  ["data that is JSON but no chunk", stream("data: null\n\n", "data: 1\n\n", "data: {}\n\n", hi, stop), { text: "Hi" }],
  ["a last event without its end", stream(hi, stop.trimEnd()), { text: "Hi" }],
  ["one JSON body instead of a stream", json(whole([{ text: "Hi" }])), { text: "Hi" }],
  ["one JSON body with a call", json(whole([lamp])), { calls: dim }],
  ["a list of chunks, as without alt=sse", json([{ candidates: [candidate([{ text: "H" }])] }, whole([{ text: "i" }])]), { text: "Hi" }],
];
describe("Gemini: a turn", { concurrency: 16 }, () => {
  for (const [sentence, step, { calls = [], text = calls.length ? "done" : "", ...told }] of TOLD)
    test(`understands ${sentence}`, async () => {
      const { answer, error, retried, bodies } = await turn([step, done]);
      if (error) throw error;
      const usage = told.usage ?? { input: calls.length ? 122 : 61, output: calls.length ? 18 : 9 };
      deepEqual(
        { text: answer!.text, thinking: answer!.thinking, finish: answer!.finish, usage: answer!.usage, retried },
        { text, thinking: told.thinking, finish: told.finish ?? "stop", usage, retried: [] },
      );
      deepEqual(answer!.calls, calls.map(([name, args]) => ({ name, args, ok: true }))); // biome-ignore format: short
      equal(bodies.length, calls.length ? 2 : 1);
      if (!calls.length) return;
      const [asked, results] = bodies[1].contents.slice(-2);
      const made = asked.parts.flatMap(({ functionCall: one }: any) => (one ? [[one.name, one.args]] : []));
      deepEqual(made, calls);
      const answers = results.parts.map(({ functionResponse: one }: any) => [one.name, one.response]);
      deepEqual(answers, calls.map(([name, args]) => [name, { output: `ok ${JSON.stringify(args)}` }])); // biome-ignore format: short
    });
});

const MID = "The model's server failed in mid-stream: ";
const ENDED = "The connection ended before the answer was complete. Try again.";
const NOTHING = "The server answered with nothing. Try again.";
const FILTER = "The provider's content filter withheld the answer. Put the question differently.";
const EMPTY = "Gemini's answer was empty. Try again.";
const failed = (code: number, status: string, message = status) => data({ error: { code, message, status } });
const html = "<!doctype html>\n<html><head><title>Welcome</title></head>\n<body>Sign: in</body></html>\n";
const page = (status: number): Step => ({ status, headers: { "content-type": "text/html" }, body: [html] });
const OTHER = (spoken: string) =>
  `Cannot read the answer of 'gemini': the server speaks ${spoken}, not Gemini's generateContent. Check --base-url, or name the provider that speaks so in --model.`;

// [what came, the step, every time, the error, the requests that it took, the text that is kept]
// biome-ignore format: one case a row.
const FAILS: [string, Step, string | RegExp, 1 | 3, string?][] = [
  ["an overloaded server in mid-stream", stream(hi, failed(503, "UNAVAILABLE", "The model is overloaded.")), `${MID}The model is overloaded.`, 3, "Hi"],
  ["an error of the server in mid-stream", stream(hi, failed(500, "INTERNAL")), `${MID}INTERNAL.`, 3, "Hi"],
  ["an invalid request in mid-stream", stream(hi, failed(400, "INVALID_ARGUMENT", "No such lamp")), `${MID}No such lamp.`, 1, "Hi"],
  ["a permission that is missing in mid-stream", stream(hi, failed(403, "PERMISSION_DENIED", "not yours")), /not yours\. Check the key/, 1, "Hi"],
  ["an error on a raw line, as a list", stream(`[{"error":{"code":400,"message":"No such lamp","status":"INVALID_ARGUMENT"}}]\n`), `${MID}No such lamp.`, 1, ""],
  ["an error as a JSON body", json({ error: { code: 400, message: "No such lamp", status: "INVALID_ARGUMENT" } }), `${MID}No such lamp.`, 1, ""],
  ["a call that cannot be read", stream(hi, end("MALFORMED_FUNCTION_CALL", [])), "Gemini gave up in the middle of its answer (MALFORMED_FUNCTION_CALL). Try again.", 3, "Hi"],
  ["a call that cannot be read, with the model's words", stream(data({ candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: print(x)", index: 0 }] })), "Gemini gave up in the middle of its answer (MALFORMED_FUNCTION_CALL: Malformed function call: print(x)). Try again.", 3, ""],
  ["another reason, and nothing", stream(end("OTHER", [])), "Gemini gave up in the middle of its answer (OTHER). Try again.", 3, ""],
  ["STOP and nothing", stream(stop), EMPTY, 3, ""],
  ["STOP, thoughts and nothing", stream(parts({ text: "hm", thought: true }), stop), EMPTY, 3, ""],
  ["a prompt that is blocked", stream(chunk({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })), FILTER, 1],
  ["a line that is not JSON", stream(hi, "data: {oops\n\n", stop), `${MID}a line that is not JSON: {oops.`, 3, "Hi"],
  ["no end", stream(hi), ENDED, 3, "Hi"],
  ["a call and no end", stream(parts(lamp)), ENDED, 3, ""],
  ["a connection cut in the stream", ending("cut", hi, 20), /^(The connection ended|Cannot reach '[^']+': the connection was closed)/, 3, "Hi"],
  ["a connection cut before the stream", ending("cut", 20), /^(The connection ended|The server answered with nothing|Cannot reach '[^']+': the connection was closed)/, 3, ""],
  ["an empty body", stream(), NOTHING, 3, ""],
  ["an empty list", json([]), NOTHING, 3, ""],
  ["a stream of Chat Completions", stream(`data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n`), OTHER("Chat Completions"), 1, ""],
  ["a stream of OpenAI's Responses", stream(`event: response.created\ndata: {"type":"response.created","response":{}}\n\n`), OTHER("OpenAI's Responses"), 1, ""],
  ["a stream of Anthropic's", stream(`event: message_start\ndata: {"type":"message_start","message":{}}\n\n`), OTHER("Anthropic's Messages"), 1, ""],
  ["lines of Ollama's", stream(`{"message":{"content":"H"},"done":false}\n{"message":{"content":"i"},"done":true}\n`), OTHER("Ollama's own API"), 1, ""],
  ["plain words", stream("Good day\n"), `${MID}not a stream but Good day.`, 3, ""],
  ["a web page with 200", page(200), /a web page \("Welcome"\).*--base-url/, 1, ""],
  ...["SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII", "IMAGE_SAFETY"].map((reason): [string, Step, string, 1] => [`${reason} and nothing`, stream(end(reason, [])), FILTER, 1]),
];
describe("Gemini: a turn fails", { concurrency: 40 }, () => {
  for (const [sentence, step, message, requests, partial] of FAILS)
    test(`on ${sentence}`, async () => {
      const { answer, error, bodies } = await turn([step]);
      equal(answer, undefined);
      if (typeof message === "string") equal(error?.message, message);
      else match(error?.message ?? "", message);
      equal(bodies.length, requests);
      equal(error?.partial?.text, partial);
    });

  test("on silence", async () => {
    const { error } = await turn([ending("hang", hi)], { options: { settings: { timeout: 3 } } });
    match(error!.message, /^'gemini' sent nothing for 3 s/);
  });
});

const answered = say("Hi");
const QUOTA = "You exceeded your current quota, please check your plan and billing details.";
const info = (retryDelay: string) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay });
const violation = (quotaId: string) => ({ "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] }); // biome-ignore format: one
const MINUTE = violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
const DAY = violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
const busy = (...details: object[]) => refuse(429, "RESOURCE_EXHAUSTED", QUOTA, details);
const list = (step: Step): Step => ({ ...step, body: [`[${step.body!.join("")}]`] });
// [what holds, the steps, the waits (least and most), the text or the error]
// biome-ignore format: one case a row.
const RETRIES: [string, Step[], [number, number][], string][] = [
  ["a quota of a minute waits for as long as the server says", [busy(MINUTE, info("0.2s")), answered], [[200, 200]], "Hi"],
  ["the same in a list", [list(busy(MINUTE, info("0.2s"))), answered], [[200, 200]], "Hi"],
  ["a quota of a minute that asks for long is not waited for", [busy(MINUTE, info("90s")), answered], [], `127.0.0.1 answered 429: ${QUOTA} Try again in 90 s.`],
  ["a quota of a day is told once", [busy(DAY, info("0.2s")), answered], [], `127.0.0.1 answered 429: ${QUOTA}`],
  ["a quota without more is told once", [busy(), answered], [], `127.0.0.1 answered 429: ${QUOTA}`],
  ["429 without a time is tried again", [refuse(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), answered], [[500, 625]], "Hi"],
  ["429 waits for retry-after", [{ ...refuse(429, "RESOURCE_EXHAUSTED", "slow down"), headers: { "retry-after": "1" } }, answered], [[1000, 1000]], "Hi"],
  ["503 is tried again", [refuse(503, "UNAVAILABLE", "The model is overloaded."), answered], [[500, 625]], "Hi"],
  ["500 three times is enough", [refuse(500, "INTERNAL", "oh")], [[500, 625], [1000, 1250]], "127.0.0.1 answered 500: oh."],
  ["502 with a web page is tried again", [page(502), answered], [[500, 625]], "Hi"],
  ["a call that cannot be read is made again", [stream(end("MALFORMED_FUNCTION_CALL", [])), answered], [[500, 625]], "Hi"],
  ["an empty answer is asked for again", [stream(stop), answered], [[500, 625]], "Hi"],
  ["a wrong key is told once", [refuse(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), answered], [], "127.0.0.1 answered 400: API key not valid. Please pass a valid API key."],
  ["a context that is too long is told once", [refuse(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."), answered], [], "127.0.0.1 answered 400: The input token count (9) exceeds the maximum number of tokens allowed (8)."],
];
describe("Gemini: of what may pass,", { concurrency: 20 }, () => {
  for (const [sentence, steps, waits, expected] of RETRIES)
    test(sentence, async () => {
      const { answer, error, retried, bodies } = await turn(steps);
      equal(answer?.text ?? error?.message.replace(/:\d+/, ""), expected);
      equal(retried.length, waits.length);
      for (const [i, [least, most]] of waits.entries())
        ok(retried[i]!.wait >= least && retried[i]!.wait <= most, `waited ${retried[i]!.wait} ms`);
      equal(bodies.length, waits.length + 1);
    });

  for (const reason of ["SAFETY", "RECITATION"])
    test(`what came before ${reason} is kept`, async () => {
      const { answer } = await turn([stream(hi, end(reason, []))]);
      deepEqual([answer!.text, answer!.finish], ["Hi", "filter"]);
    });
});

// ── What goes out ──

const file = { inlineData: { mimeType: "image/png", data: PIXEL } };
describe("Gemini: a request", { concurrency: 16 }, () => {
  test("has the key in a header, the instruction beside the contents, and tools as JSON Schema", async () => {
    const { fake, bodies } = await turn([say("Hi")]);
    const { headers, path } = fake.requests[0]!;
    equal(path, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    deepEqual([headers["x-goog-api-key"], headers.authorization], ["k-12345678", undefined]);
    const { systemInstruction, contents, tools, generationConfig } = bodies[0];
    deepEqual(contents, [{ role: "user", parts: [{ text: "hi" }] }]);
    equal(typeof systemInstruction.parts[0].text, "string");
    deepEqual(generationConfig, { thinkingConfig: { includeThoughts: true } });
    const [lamp, kiln] = ["lamp_dim", "kiln_status"].map((name) => tools[0].functionDeclarations.find((one: any) => one.name === name)); // biome-ignore format: one
    equal(lamp.parametersJsonSchema.properties.level.type, "number");
    deepEqual(kiln, { name: "kiln_status", description: "Tells." });
  });

  test("puts the person's options where they belong", async () => {
    const safetySettings = [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_NONE" }];
    const options = { temperature: 0.5, topP: 0.9, max_tokens: 100, stop: "END", safetySettings, tools: [{ googleSearch: {} }] }; // biome-ignore format: one
    const { bodies } = await turn([say("Hi")], set(options));
    const { thinkingConfig: _, ...generation } = bodies[0].generationConfig;
    deepEqual(generation, { temperature: 0.5, topP: 0.9, maxOutputTokens: 100, stopSequences: ["END"] });
    deepEqual([bodies[0].safetySettings, bodies[0].tools.at(-1)], [safetySettings, { googleSearch: {} }]);
  });

  test("has files with the person's words", async () => {
    const images = ["image/png", "application/pdf", "audio/mpeg"].map((type) => ({ type, base64: "AA==" }));
    const { bodies } = await turn([say("Hi")], { images });
    const types = bodies[0].contents[0].parts.map((part: any) => part.inlineData?.mimeType ?? part.text);
    deepEqual(types, ["hi", "image/png", "application/pdf", "audio/mpeg"]);
  });

  test("has results in the order of the calls, by name, images behind them, and says which failed", async () => {
    const { bodies, answer } = await turn([call(["look", {}], ["fail", {}]), done]);
    equal(answer!.text, "done");
    const [look, image, fail] = bodies[1].contents.at(-1).parts;
    deepEqual(look, { functionResponse: { name: "look", response: { output: "a lamp" } } });
    deepEqual(image, file);
    match(fail.functionResponse.response.error, /the lamp is broken/);
  });

  test("to a model of the third generation has images in the results", async () => {
    const { bodies } = await turn([call(["look", {}, "s1"]), done], {}, "gemini/gemini-3-pro-preview");
    const { functionResponse, ...rest } = bodies[1].contents.at(-1).parts[0];
    deepEqual([functionResponse.parts, rest], [[file], {}]);
  });

  test("takes over another provider's calls", async () => {
    const before: Message[] = [
      { role: "user", text: "dim it" },
      {
        ...{ role: "assistant", text: "", model: "openai/m", extra: [{ thoughtSignature: "no", at: [0, 0] }] },
        calls: [{ id: "call_1", name: "lamp dim", args: { level: 1 }, extra: { thoughtSignature: "no" } }],
      },
      { role: "tool", id: "call_1", name: "lamp dim", text: "" },
    ];
    const [two, three] = await Promise.all(["2.5-flash", "3-pro-preview"].map((name) => turn([say("Hi")], { before }, `gemini/gemini-${name}`))); // biome-ignore format: one
    const functionCall = { name: "lamp_dim", args: { level: 1 } };
    deepEqual(two!.bodies[0].contents[1].parts, [{ functionCall }]);
    const thoughtSignature = "skip_thought_signature_validator";
    deepEqual(three!.bodies[0].contents[1].parts, [{ functionCall, thoughtSignature }], "as its makers say");
  });

  test("of twenty turns with a call each is never refused", async () => {
    const script: Script = (_, at) =>
      at % 2 ? say(`done ${at}`) : call(["kiln_status", {}, `sig ${at}`], ["look", {}]);
    const { answer, error, bodies } = await turn(script, { turns: 20 }, "gemini/gemini-3-pro-preview");
    if (error) throw error;
    deepEqual([answer!.text, bodies.length], ["done 39", 40]);
    const signatures = bodies.at(-1).contents.flatMap(({ parts }: any) => parts.flatMap((one: any) => one.thoughtSignature ?? [])); // biome-ignore format: one
    deepEqual(
      signatures,
      Array.from({ length: 20 }, (_, i) => `sig ${i * 2}`),
    );
  });
});

// ── Signatures and thinking ──

describe("Gemini: thinking", { concurrency: 16 }, () => {
  // [model, effort, what is sent]
  // biome-ignore format: one case a row.
  const EFFORTS: [string, string | undefined, object | undefined][] = [
    ["gemini-2.5-flash", undefined, { includeThoughts: true }],
    ["gemini-2.5-flash-lite", undefined, undefined],
    ["gemini-2.5-flash-image", "high", undefined],
    ["gemini-2.0-flash", "high", undefined],
    ["gemma-3-27b-it", "high", undefined],
    ["gemini-2.5-flash", "none", { includeThoughts: false, thinkingBudget: 0 }],
    ["gemini-2.5-flash", "low", { includeThoughts: true, thinkingBudget: 1_024 }],
    ["gemini-2.5-flash", "high", { includeThoughts: true, thinkingBudget: 24_576 }],
    ["gemini-2.5-pro", "none", { includeThoughts: false, thinkingBudget: 128 }],
    ["gemini-3-flash-preview", "none", { includeThoughts: false, thinkingLevel: "minimal" }],
    ["gemini-3-flash-preview", "medium", { includeThoughts: true, thinkingLevel: "medium" }],
    ["gemini-3-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "high" }],
    ["gemini-3.1-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "medium" }],
    ["gemini-3-pro-preview", "none", { includeThoughts: false, thinkingLevel: "low" }],
  ];
  for (const [model, effort, expected] of EFFORTS)
    test(`${effort ?? "nothing said"} is for ${model}: ${JSON.stringify(expected)}`, async () => {
      const { bodies, error } = await turn([say("Hi")], set({ ...(effort && { effort }) }), `gemini/${model}`);
      if (error) throw error;
      deepEqual(bodies[0].generationConfig?.thinkingConfig, expected);
    });

  test("is signed on calls, and each signature goes back on its own part", async () => {
    const first = stream(parts({ text: "how bright?", thought: true }), parts({ text: "I look." }), parts({ functionCall: { name: "look", args: {} }, thoughtSignature: "s1" }, { functionCall: { id: "x", name: "kiln_status", args: {} } }), stop); // biome-ignore format: one
    const { bodies, error, answer } = await turn([first, done]);
    if (error) throw error;
    equal(answer!.thinking, "how bright?");
    const [asked, results] = bodies[1].contents.slice(-2);
    deepEqual(asked.parts, [
      { text: "I look." },
      { functionCall: { name: "look", args: {} }, thoughtSignature: "s1" },
      { functionCall: { id: "x", name: "kiln_status", args: {} } },
    ]);
    deepEqual(results.parts.map((part: any) => part.functionResponse?.id), [undefined, undefined, "x"]); // biome-ignore format: one
  });

  // [what is signed, the chunks, the parts that go back]
  // biome-ignore format: one case a row.
  const SIGNED: [string, string[], object[]][] = [
    ["the last part of the text", [parts({ text: "Hel" }), end("STOP", [{ text: "lo", thoughtSignature: "s" }])], [{ text: "Hel" }, { text: "lo", thoughtSignature: "s" }]],
    ["an empty part behind it", [parts({ text: "Hello" }), end("STOP", [{ text: "", thoughtSignature: "s" }])], [{ text: "Hello" }, { text: "", thoughtSignature: "s" }]],
    ["a part in its middle", [parts({ text: "H", thoughtSignature: "s" }), parts({ text: "ello" }), stop], [{ text: "H", thoughtSignature: "s" }, { text: "ello" }]],
    ["two parts", [parts({ text: "H", thoughtSignature: "s" }), parts({ text: "ello", thoughtSignature: "t" }), stop], [{ text: "H", thoughtSignature: "s" }, { text: "ello", thoughtSignature: "t" }]],
  ];
  for (const [what, chunks, expected] of SIGNED)
    test(`is signed on ${what}, and goes back there`, async () => {
      const { bodies, error } = await turn([stream(...chunks)], { turns: 2 });
      if (error) throw error;
      deepEqual(bodies[1].contents[1].parts, expected);
    });

  test("is signed on a text that became another one: it stays with it", async () => {
    const before: Message[] = [
      { role: "user", text: "dim it" },
      { role: "assistant", text: "Hi", model: MODEL, extra: [{ thoughtSignature: "s", at: [0, 5] }] },
    ];
    const { bodies } = await turn([say("Hi")], { before });
    deepEqual(bodies[0].contents[1].parts, [{ text: "Hi", thoughtSignature: "s" }]);
  });
});

// ── What a server refuses by name is sent otherwise ──

const bad = (message: string): Step => refuse(400, "INVALID_ARGUMENT", message);
const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
// [what is refused, the model, the options, when, the words]
// biome-ignore format: one case a row.
const REFUSED: [string, string, Record<string, unknown>, string, string][] = [
  ["JSON Schema of parameters", "gemini-2.5-flash", {}, '"parametersJsonSchema"', `Invalid JSON payload received. Unknown name "parametersJsonSchema" at 'tools[0].function_declarations[0]': Cannot find field.`],
  ["a schema of the answer beside tools", "gemini-2.5-flash", { schema }, '"responseMimeType"', "Function calling with a response mime type: 'application/json' is unsupported"],
  ["a level of thinking", "gemini-3-pro-preview", { effort: "medium" }, '"thinkingLevel"', "Thinking level is not supported for this model. thinking_level"],
  ["a budget for thinking", "gemini-2.5-pro", { effort: "none" }, '"thinkingBudget"', "Budget 128 is invalid. This model only works in thinking mode."],
  ["thinking", "gemini-2.5-flash", {}, '"thinkingConfig"', "Unable to submit request because thinking is not supported by this model."],
  ["an instruction", "gemma-3-27b-it", {}, '"systemInstruction"', "Developer instruction is not enabled for models/gemma-3-27b-it"],
];
describe("Gemini: what a server refuses by name is sent otherwise from then on:", { concurrency: 16 }, () => {
  for (const [what, model, options, sent, words] of REFUSED)
    test(what, async () => {
      const has = (body: any) => JSON.stringify(body).includes(sent);
      const script: Script = ({ body }) => (has(body) ? bad(words) : say("Hi"));
      const { answer, error, retried, bodies } = await turn(script, set(options, { turns: 2 }), `gemini/${model}`);
      if (error) throw error;
      deepEqual([answer!.text, retried], ["Hi", []], "this is no retry: nobody waits");
      deepEqual(bodies.map(has), [true, false, false]);
    });

  test("JSON Schema as the part of it that OpenAPI has", async () => {
    const plugin = `export default (zz) => zz.tool({ name: "odd", description: "Odd.", run: () => "ok", params: ${JSON.stringify(
      {
        type: "object",
        additionalProperties: false,
        $defs: { at: { type: "object", properties: { x: { type: ["integer", "null"], default: 1 } } } },
        properties: {
          at: { $ref: "#/$defs/at" },
          kind: { const: "a" },
          more: {
            oneOf: [
              { type: "string", format: "uri" },
              { type: "array", items: { enum: [1, 2] } },
            ],
          },
        },
        required: ["at"],
      },
    )} });`;
    const { mkdtempSync, writeFileSync } = await import("node:fs");
    const file = `${mkdtempSync("/tmp/zz-odd-")}/odd.ts`;
    writeFileSync(file, plugin);
    const script: Script = ({ body }) =>
      JSON.stringify(body).includes("parametersJsonSchema") ? bad('Unknown name "parametersJsonSchema"') : say("Hi");
    const { bodies, error } = await turn(script, { options: { plugins: [file], tools: ["odd"] } });
    if (error) throw error;
    deepEqual(bodies[1].tools[0].functionDeclarations[0].parameters, {
      type: "object",
      properties: {
        at: { type: "object", properties: { x: { type: "integer", nullable: true } } },
        kind: { type: "string", enum: ["a"] },
        more: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string", enum: ["1", "2"] } }] },
      },
      required: ["at"],
    });
  });

  test("an instruction as the person's first words", async () => {
    const script: Script = ({ body }) =>
      body.systemInstruction ? bad("Developer instruction is not enabled") : say("Hi");
    const { bodies } = await turn(script);
    const [first] = bodies[1].contents[0].parts;
    equal(first.text, bodies[0].systemInstruction.parts[0].text);
  });

  test("signatures that it cannot read", async () => {
    const script: Script = ({ body }) => {
      const text = JSON.stringify(body);
      if (!text.includes("functionCall")) return call(["kiln_status", {}, "s1"]);
      return text.includes('"s1"') ? bad("Corrupted thought signature.") : say("Hi");
    };
    const { answer, bodies } = await turn(script);
    deepEqual([answer?.text, bodies.length], ["Hi", 3]);
    equal(bodies[2].contents[1].parts[0].thoughtSignature, "skip_thought_signature_validator");
  });

  test("signatures of another model, which are not sent at all", async () => {
    const before: Message[] = [
      { role: "user", text: "look" },
      { role: "assistant", text: "So.", model: "gemini/gemini-2.5-pro", extra: [{ thoughtSignature: "s", at: [0, 3] }], calls: [{ id: "a", name: "look", args: {}, extra: { thoughtSignature: "t" } }] },
      { role: "tool", id: "a", name: "look", text: "ok" },
    ]; // biome-ignore format: one
    const { bodies } = await turn([say("Hi")], { before });
    deepEqual(bodies[0].contents[1].parts, [{ text: "So." }, { functionCall: { name: "look", args: {} } }]);
  });

  test("calls without a signature, where the server asks for one", async () => {
    const script: Script = ({ body }) => {
      const calls = body.contents.flatMap(({ parts }: any) => parts.filter((part: any) => part.functionCall));
      if (!calls.length) return call(["kiln_status", {}]);
      return calls[0].thoughtSignature
        ? say("Hi")
        : bad("Function call is missing a thought_signature in functionCall parts.");
    };
    const { answer, bodies } = await turn(script, {}, "gemini/gemini-flash-latest");
    deepEqual([answer?.text, bodies.length], ["Hi", 3]);
  });
});

test("Gemini: a schema goes out as the format of the answer", async () => {
  const { bodies } = await turn([say('{"name":"x"}')], set({ schema }));
  const { responseMimeType, responseJsonSchema } = bodies[0].generationConfig;
  deepEqual([responseMimeType, responseJsonSchema], ["application/json", schema]);
});

test("Gemini: an answer that the limit cuts is continued", async () => {
  const { answer, bodies } = await turn([say("The lamp is at eig", "MAX_TOKENS"), say("ht.")]);
  deepEqual([answer?.text, bodies.length], ["The lamp is at eight.", 2]);
});

// ── The program itself ──

const KEY = { GEMINI_API_KEY: "AIza-12345678-abcdefgh" };
const NAMED = ["--once", "-m", MODEL];
describe("Gemini: the built program", { concurrency: 2 }, () => {
  test("thinks, runs a tool, and sends back the signature and the image", async () => {
    const first = stream(parts({ text: "how bright?", thought: true }), parts({ text: "I look." }), parts({ functionCall: { name: "look", args: {} }, thoughtSignature: "s1" }), stop); // biome-ignore format: one
    const fake = await fakeGemini([first, say("A lamp.")]);
    const where = place();
    const args = [...NAMED, "--plugin", lamps, "--effort", "low", "--base-url", fake.url, "--json", "what is it?"];
    const { code, stdout, stderr } = await zz(where, args, { env: KEY });
    await fake.close();
    equal(code, 0, stderr);
    const answer = JSON.parse(stdout);
    deepEqual([answer.text, answer.thinking, answer.calls[0].name], ["A lamp.", "how bright?", "look"]);
    const [one, two] = fake.requests;
    deepEqual(one!.headers["x-goog-api-key"], KEY.GEMINI_API_KEY);
    const [asked, results] = two!.body.contents.slice(-2);
    deepEqual(asked.parts.at(-1), { functionCall: { name: "look", args: {} }, thoughtSignature: "s1" });
    deepEqual(results.parts.at(-1), file);
    equal(JSON.stringify(where.sessions()).includes(KEY.GEMINI_API_KEY), false);
  });

  test("is reached with a version in the address or without, and by GOOGLE_API_KEY", async () => {
    const fake = await fakeGemini([say("Hi")]);
    const env = { GEMINI_API_KEY: undefined, GOOGLE_API_KEY: "AIza-other-12345678" };
    for (const url of ["", "/", "/v1beta", "/v1beta/", "/v1beta/openai"])
      equal((await zz(place(), [...NAMED, "--base-url", `${fake.url}${url}`, "hi"], { env })).stdout, "Hi\n");
    await fake.close();
    equal(fake.requests[0]!.headers["x-goog-api-key"], env.GOOGLE_API_KEY);
  });

  test("goes on with a session, in which each signature is where it was, for twenty turns", async () => {
    const script: Script = (_, at) => (at % 2 ? say(`done ${at}`) : call(["look", {}, `sig ${at}`]));
    const fake = await fakeGemini(script);
    const where = place();
    for (let i = 0; i < 20; i++) {
      const args = ["--once", "-m", "gemini/gemini-3-pro-preview", "--plugin", lamps, "--base-url", fake.url, ...(i ? ["-c"] : []), `turn ${i}`]; // biome-ignore format: one
      const { code, stdout, stderr } = await zz(where, args, { env: KEY });
      deepEqual([code, stdout], [0, `done ${i * 2 + 1}\n`], stderr);
    }
    await fake.close();
    const { contents } = fake.requests.at(-1)!.body;
    for (let i = 0; i < 20; i++) equal(contents[i * 4 + 1].parts[0].thoughtSignature, `sig ${i * 2}`);
  });

  test("lists models page by page, those that answer", async () => {
    const methods = { supportedGenerationMethods: ["generateContent"] };
    const fake = await fakeGemini([], [
      [{ name: "models/gemini-2.5-pro", inputTokenLimit: 1_048_576, ...methods }, { name: "models/embedding-001", supportedGenerationMethods: ["embedContent"] }],
      [{ name: "models/gemma-3-1b-it", inputTokenLimit: 32_768, ...methods }],
    ]); // biome-ignore format: one
    const { stdout, code } = await zz(place(), ["--models", "-m", "gemini/x", "--base-url", fake.url], { env: KEY });
    await fake.close();
    equal(code, 0);
    deepEqual(stdout.trim().split(/\s*\n/).map((line) => line.replace(/ +/g, " ")), ["gemini/gemini-2.5-pro 1048576 tokens", "gemini/gemma-3-1b-it 32768 tokens"]); // biome-ignore format: one
  });

  test("says without a key what to set", async () => {
    const { code, stderr } = await zz(place(), [...NAMED, "hi"], { env: { GEMINI_API_KEY: "", GOOGLE_API_KEY: "" } });
    deepEqual([code, stderr], [2, "Cannot ask 'gemini': no key is set. Set GEMINI_API_KEY or GOOGLE_API_KEY, or pass --key KEY (--base-url URL for another server).\n"]); // biome-ignore format: one
  });

  test("prints the request of a dry run", async () => {
    const { code, stdout } = await zz(place(), [...NAMED, "--dry-run", "hi"], { env: KEY });
    const { contents, tools } = JSON.parse(stdout);
    deepEqual([code, contents.length, tools.length], [0, 1, 1]);
  });

  test("ends with 3 where the filter withheld the answer", async () => {
    const fake = await fakeGemini([stream(end("SAFETY", []))]);
    const { code, stderr } = await zz(place(), [...NAMED, "--base-url", fake.url, "hi"], { env: KEY });
    await fake.close();
    deepEqual([code, stderr.includes("content filter")], [3, true]);
  });
});
