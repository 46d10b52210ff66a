// Gemini's generateContent through the wire: what goes out, what goes back, and what is sent
// otherwise after a refusal. streams.test.ts has what comes.
import { deepEqual, equal, match } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { Message } from "../../../kernel/contract.ts";
import { call, end, fakeGemini, parts, refuse, say, stream } from "../../support/fake/gemini.ts";
import type { Script, Step } from "../../support/fake/http.ts";
import { place, zz } from "../../support/run.ts";
import { type How, PIXEL, turnWith } from "../../support/wires.ts";

const MODEL = "gemini/gemini-2.5-flash";
const turn = async (script: Script, how: How = {}, model = MODEL) =>
  turnWith(await fakeGemini(script), model, how);
/** With these options; effort and schema among them are the request's own. */
const set = (options: Record<string, unknown>, more: How = {}): How => ({
  ...more,
  options: { options },
});

const done = say("done");
const stop = end();
const answered = say("Hi");
const QUOTA = "You exceeded your current quota, please check your plan and billing details.";
const info = (retryDelay: string) => ({
  "@type": "type.googleapis.com/google.rpc.RetryInfo",
  retryDelay,
});
const violation = (quotaId: string) => ({ "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId }] }); // biome-ignore format: one
const MINUTE = violation("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
const DAY = violation("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
const busy = (...details: object[]) => refuse(429, "RESOURCE_EXHAUSTED", QUOTA, details);
// [what holds, the steps, the waits, the text or the error]
// biome-ignore format: one case a row.
const RETRIES: [string, Step[], number[], string][] = [
  ["a quota of a minute waits for as long as the server says", [busy(MINUTE, info("0.2s")), answered], [200], "Hi"],
  ["a quota of a minute that has passed is asked again at once", [busy(MINUTE, info("0s")), answered], [0], "Hi"],
  ["a quota of a minute that asks for long is not waited for", [busy(MINUTE, info("90s")), answered], [], `127.0.0.1 answered 429: ${QUOTA} Try again in 90 s.`],
  ["a quota of a day is told once", [busy(DAY, info("0.2s")), answered], [], `127.0.0.1 answered 429: ${QUOTA}`],
];
describe("Gemini: of what may pass,", { concurrency: 20 }, () => {
  for (const [sentence, steps, waits, expected] of RETRIES)
    test(sentence, async () => {
      const { answer, error, retried, bodies } = await turn(steps);
      equal(answer?.text ?? error?.message.replace(/:\d+/, ""), expected);
      deepEqual(retried.map(({ wait }) => wait), waits); // biome-ignore format: one
      equal(bodies.length, waits.length + 1);
    });
});

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
    deepEqual(generation, {
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 100,
      stopSequences: ["END"],
    });
    deepEqual(
      [bodies[0].safetySettings, bodies[0].tools.at(-1)],
      [safetySettings, { googleSearch: {} }],
    );
  });

  test("has files with the person's words", async () => {
    const images = ["image/png", "application/pdf", "audio/mpeg"].map((type) => ({
      type,
      base64: "AA==",
    }));
    const { bodies } = await turn([say("Hi")], { images });
    const types = bodies[0].contents[0].parts.map(
      (part: any) => part.inlineData?.mimeType ?? part.text,
    );
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
    const { bodies } = await turn(
      [call(["look", {}, "s1"]), done],
      {},
      "gemini/gemini-3-pro-preview",
    );
    const { functionResponse, ...rest } = bodies[1].contents.at(-1).parts[0];
    deepEqual([functionResponse.parts, rest], [[file], {}]);
  });

  test("takes over another model's calls, without their signatures", async () => {
    const unsigned = { thoughtSignature: "no" };
    const before: Message[] = [
      { role: "user", text: "dim it" },
      {
        role: "assistant",
        text: "",
        model: "gemini/gemini-2.5-pro",
        extra: [{ ...unsigned, at: [0, 0] }],
        calls: [{ id: "call_1", name: "lamp dim", args: { level: 1 }, extra: unsigned }],
      },
      { role: "tool", id: "call_1", name: "lamp dim", text: "" },
    ];
    const [two, three] = await Promise.all(["2.5-flash", "3-pro-preview"].map((name) => turn([say("Hi")], { before }, `gemini/gemini-${name}`))); // biome-ignore format: one
    const functionCall = { name: "lamp_dim", args: { level: 1 } };
    deepEqual(two!.bodies[0].contents[1].parts, [{ functionCall }]);
    const thoughtSignature = "skip_thought_signature_validator";
    deepEqual(
      three!.bodies[0].contents[1].parts,
      [{ functionCall, thoughtSignature }],
      "as its makers say",
    );
  });
});

describe("Gemini: thinking", { concurrency: 16 }, () => {
  // [model, effort, what is sent]
  // biome-ignore format: one case a row.
  const EFFORTS: [string, string | undefined, object | undefined][] = [
    ["gemini-2.5-flash", undefined, { includeThoughts: true }],
    ["gemini-2.5-flash-image", "high", undefined],
    ["gemma-3-27b-it", "high", undefined],
    ["gemini-2.5-flash", "none", { includeThoughts: false, thinkingBudget: 0 }],
    ["gemini-2.5-flash", "low", { includeThoughts: true, thinkingBudget: 1_024 }],
    ["gemini-2.5-pro", "none", { includeThoughts: false, thinkingBudget: 128 }],
    ["gemini-3-flash-preview", "none", { includeThoughts: false, thinkingLevel: "minimal" }],
    ["gemini-3-flash-preview", "medium", { includeThoughts: true, thinkingLevel: "medium" }],
    ["gemini-3-pro-preview", "medium", { includeThoughts: true, thinkingLevel: "high" }],
  ];
  for (const [model, effort, expected] of EFFORTS)
    test(`${effort ?? "nothing said"} is for ${model}: ${JSON.stringify(expected)}`, async () => {
      const { bodies, error } = await turn(
        [say("Hi")],
        set({ ...(effort && { effort }) }),
        `gemini/${model}`,
      );
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
    ["a part in its middle", [parts({ text: "H", thoughtSignature: "s" }), parts({ text: "ello" }), stop], [{ text: "H", thoughtSignature: "s" }, { text: "ello" }]],
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
      {
        role: "assistant",
        text: "Hi",
        model: MODEL,
        extra: [{ thoughtSignature: "s", at: [0, 5] }],
      },
    ];
    const { bodies } = await turn([say("Hi")], { before });
    deepEqual(bodies[0].contents[1].parts, [{ text: "Hi", thoughtSignature: "s" }]);
  });
});

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
describe("Gemini: what a server refuses by name is sent otherwise from then on:", {
  concurrency: 16,
}, () => {
  for (const [what, model, options, sent, words] of REFUSED)
    test(what, async () => {
      const has = (body: any) => JSON.stringify(body).includes(sent);
      const script: Script = ({ body }) => (has(body) ? bad(words) : say("Hi"));
      const { answer, error, retried, bodies } = await turn(
        script,
        set(options, { turns: 2 }),
        `gemini/${model}`,
      );
      if (error) throw error;
      deepEqual([answer!.text, retried], ["Hi", []], "this is no retry: nobody waits");
      deepEqual(bodies.map(has), [true, false, false]);
    });

  test("JSON Schema as the part of it that OpenAPI has", async () => {
    const list = { type: "array", items: { enum: [1, 2] } };
    const more = { oneOf: [{ type: "string", format: "uri" }, list] };
    const odd = {
      type: "object",
      additionalProperties: false,
      required: ["at"],
      $defs: {
        at: { type: "object", properties: { x: { type: ["integer", "null"], default: 1 } } },
      },
      properties: { at: { $ref: "#/$defs/at" }, kind: { const: "a" }, more },
    };
    const file = join(place().cwd, "odd.ts");
    const tool = `{ name: "odd", description: "Odd.", run: () => "ok", params: ${JSON.stringify(odd)} }`;
    writeFileSync(file, `export default (zz) => zz.tool(${tool});`);
    const no = bad('Unknown name "parametersJsonSchema"');
    const script: Script = ({ body }) =>
      /parametersJsonSchema/.test(JSON.stringify(body)) ? no : say("Hi");
    const { bodies, error } = await turn(script, { options: { plugins: [file], tools: ["odd"] } });
    if (error) throw error;
    deepEqual(bodies[1].tools[0].functionDeclarations[0].parameters, {
      type: "object",
      properties: {
        at: { type: "object", properties: { x: { type: "integer", nullable: true } } },
        kind: { type: "string", enum: ["a"] },
        more: {
          anyOf: [
            { type: "string" },
            { type: "array", items: { type: "string", enum: ["1", "2"] } },
          ],
        },
      },
      required: ["at"],
    });
  });

  test("calls without a signature, where the server asks for one", async () => {
    const script: Script = ({ body }) => {
      const calls = body.contents.flatMap(({ parts }: any) =>
        parts.filter((part: any) => part.functionCall),
      );
      if (!calls.length) return call(["kiln_status", {}]);
      const no = bad("Function call is missing a thought_signature in functionCall parts.");
      return calls[0].thoughtSignature ? say("Hi") : no;
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

const KEY = { GEMINI_API_KEY: "AIza-12345678-abcdefgh" };
const NAMED = ["--once", "-m", MODEL];
describe("Gemini: the program", { concurrency: 2 }, () => {
  test("is reached with a version in the address or without, and by GOOGLE_API_KEY", async () => {
    const fake = await fakeGemini([say("Hi")]);
    const env = { GEMINI_API_KEY: undefined, GOOGLE_API_KEY: "AIza-other-12345678" };
    for (const url of ["", "/", "/v1beta", "/v1beta/", "/v1beta/openai"])
      equal(
        (await zz(place(), [...NAMED, "--base-url", `${fake.url}${url}`, "hi"], { env })).stdout,
        "Hi\n",
      );
    await fake.close();
    equal(fake.requests[0]!.headers["x-goog-api-key"], env.GOOGLE_API_KEY);
    const { stderr } = await zz(place(), [...NAMED, "hi"], { env: { GEMINI_API_KEY: undefined } });
    match(stderr, /no key is set\. Set GEMINI_API_KEY or GOOGLE_API_KEY, or pass/);
  });

  test("lists models page by page, those that answer", async () => {
    const methods = { supportedGenerationMethods: ["generateContent"] };
    const fake = await fakeGemini([], [
      [{ name: "models/gemini-2.5-pro", inputTokenLimit: 1_048_576, ...methods }, { name: "models/embedding-001", supportedGenerationMethods: ["embedContent"] }],
      [{ name: "models/gemma-3-1b-it", inputTokenLimit: 32_768, ...methods }],
    ]); // biome-ignore format: one
    const { stdout, code } = await zz(
      place(),
      ["--models", "-m", "gemini/x", "--base-url", fake.url],
      { env: KEY },
    );
    await fake.close();
    equal(code, 0);
    deepEqual(stdout.trim().split(/\s*\n/).map((line) => line.replace(/ +/g, " ")), ["gemini/gemini-2.5-pro 1048576 tokens", "gemini/gemma-3-1b-it 32768 tokens"]); // biome-ignore format: one
  });
});
