// Ollama's own API: what is sent, what a turn makes of what comes, and which model and window are
// chosen.
import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Ollama } from "ollama/browser";
import { standingClock } from "zz/test";
import { hostOf } from "../../plugins/ollama.ts";
import type { Script } from "../support/fake/http.ts";
import * as own from "../support/fake/ollama.ts";
import { fakeOpenAI, say as sayOpenAI } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";
import { HURRIED, PIXEL } from "../support/wires.ts";

const { call, done, fakeOllama, line, refuse, say, stream } = own;
type Surroundings = { models?: own.Installed[]; where?: Place; env?: Record<string, string> };
/** Asks the program with this fake as its Ollama. */
async function ask(
  script: Script,
  args: string[],
  { models, where = place(), env }: Surroundings = {},
) {
  const fake = await fakeOllama(script, models);
  after(fake.close);
  const ran = await zz(where, ["--once", ...args], {
    env: { OLLAMA_HOST: fake.url, ...env },
    clock: HURRIED,
  });
  return { ...ran, fake, bodies: fake.requests.map(({ body }) => body), where };
}
const M = ["-m", "ollama/m"];
const LIMIT_MS = 300; // for an Ollama of this machine to answer

describe("Ollama", { concurrency: 3 }, () => {
  // ── Answers ──

  test("thinking is kept apart from the answer, and saved with it", async () => {
    const { stdout, where } = await ask([say("Dimmed.", "how bright?")], [...M, "--json", "hi"]);
    const { usage } = JSON.parse(stdout);
    const { text, thinking } = where.sessions()[0]!.at(-1).message;
    deepEqual([text, thinking, usage], ["Dimmed.", "how bright?", { input: 61, output: 9 }]);
  });

  test("done_reason length: the rest is asked for, and exit is 3 when it never comes", async () => {
    const { code, bodies } = await ask([say("one ", "", "length")], [...M, "hi"]);
    deepEqual([code, bodies.length], [3, 3]);
  });

  // ── Calls ──

  test("a tool call runs, and goes back with its arguments as an object and its result under the tool's name", async () => {
    const where = place({ "lamp.txt": "on\noff\n" });
    const args = { path: "lamp.txt", start: 2 };
    const script = [call(["read_file", args]), say("It is off.")];
    const { code, stdout, bodies } = await ask(script, [...M, "is it on?"], { where });
    deepEqual([code, stdout], [0, "It is off.\n"]);
    equal(bodies.length, 2);
    const { parameters } = bodies[0].tools.find(
      (tool: any) => tool.function.name === "read_file",
    ).function;
    equal(parameters.properties.path.type, "string");
    const [asked, result] = bodies[1].messages.slice(-2);
    equal(asked.role, "assistant");
    deepEqual(asked.tool_calls[0].function, { name: "read_file", arguments: args });
    deepEqual([result.role, result.tool_name, result.content], ["tool", "read_file", "2\toff"]);
    equal(result.tool_call_id, asked.tool_calls[0].id);
  });

  test("two equal calls without ids, on two lines, are two", async () => {
    const one = line({ tool_calls: [{ function: { name: "list_dir", arguments: {} } }] });
    const { stdout, bodies } = await ask(
      [stream(one, one, done()), say("ok")],
      [...M, "--json", "hi"],
    );
    equal(JSON.parse(stdout).calls.length, 2);
    const [asked, ...results] = bodies[1].messages.slice(-3);
    const ids = asked.tool_calls.map((call: any) => call.id);
    notEqual(ids[0], ids[1]);
    deepEqual(results.map((one: any) => one.tool_call_id), ids); // biome-ignore format: short
  });

  // ── The window ──

  for (const [what, model, args, expected] of [
    ["a small trained window is taken whole", { trained: 8_192 }, [], 8_192],
    ["the model's own num_ctx wins, smaller", { parameters: 'num_ctx 4096\nstop "<|end|>"' },
      ["--no-tools"], 4_096],
    ["what the person sets goes before all", { parameters: "num_ctx 4096" },
      ["-o", "num_ctx", "12000"], 12_000],
  ] as [string, Partial<own.Installed>, string[], number][]) // biome-ignore format: a table
    test(`num_ctx is always sent: ${what}`, async () => {
      const { bodies } = await ask([say("ok")], [...M, ...args, "hi"], {
        models: [{ name: "m:latest", ...model }],
      });
      equal(bodies[0].options.num_ctx, expected);
    });

  test("num_ctx: the settings' ollama.window is the most that is asked for", async () => {
    const where = place({}, { ollama: { window: 16_384 } });
    equal((await ask([say("ok")], [...M, "hi"], { where })).bodies[0].options.num_ctx, 16_384);
  });

  test("num_ctx is the same for every request of a session, since another one reloads the model", async () => {
    const models = [{ name: "m:latest", trained: 9_000 }];
    const one = await ask([call(["list_dir", {}]), say("ok")], [...M, "hi"], { models });
    const two = await ask([say("ok")], ["--continue", "again"], { models, where: one.where });
    equal(two.code, 0, two.stderr);
    equal(two.bodies[0].messages.filter(({ role }: any) => role === "user").length, 2);
    for (const { options } of [...one.bodies, ...two.bodies]) equal(options.num_ctx, 9_000);
    equal(
      one.fake.asked.filter((path) => path === "POST /api/show m").length,
      1,
      "show is asked once a run",
    );
  });

  // ── What is sent ──

  test("options go where Ollama looks for them", async () => {
    const args =
      "-o temperature 0.2 -o num_predict 99 -o think false -o format json -o keep_alive 10m".split(
        " ",
      );
    const [body] = (await ask([say("ok")], [...M, ...args, "hi"])).bodies;
    deepEqual(body.options, { num_ctx: 32_768, temperature: 0.2, num_predict: 99 });
    deepEqual([body.think, body.format, body.keep_alive], [false, "json", "10m"]);
    for (const field of ["temperature", "num_predict", "num_ctx"])
      equal(field in body, false, field);
  });

  test("options that nobody set are not sent, and a server that tells no capabilities is offered the tools", async () => {
    const [body] = (
      await ask([say("ok")], [...M, "hi"], { models: [{ name: "m", capabilities: null }] })
    ).bodies;
    deepEqual(body.options, { num_ctx: 32_768 });
    deepEqual(Object.keys(body).sort(), ["messages", "model", "options", "stream", "tools"]);
  });

  test("images are bare base64 beside the words", async () => {
    const where = place({ "lamp.png": Buffer.from(PIXEL, "base64") });
    const models = [{ name: "lamp:7b", trained: 8_192, capabilities: ["completion", "vision"] }];
    const args = ["-m", "ollama/lamp:7b", "-f", "lamp.png", "what is it?"];
    const { bodies } = await ask([say("a lamp")], args, { where, models });
    deepEqual(bodies[0].messages.at(-1), { role: "user", content: "what is it?", images: [PIXEL] });
  });

  test("OLLAMA_API_KEY goes out as a bearer token; without it no authorization does", async () => {
    const one = await ask([say("ok")], [...M, "hi"], { env: { OLLAMA_API_KEY: "lamp-key" } });
    equal(one.fake.requests[0]!.headers.authorization, "Bearer lamp-key");
    const two = await ask([say("ok")], [...M, "hi"], { env: { OLLAMA_API_KEY: "" } });
    equal(two.fake.requests[0]!.headers.authorization, undefined);
  });

  // ── What goes wrong ──

  test("503 with a full queue is tried three times, then exit is 1 with a sentence", async () => {
    const full = refuse(503, "server busy, please try again.");
    const { code, stdout, stderr, bodies } = await ask([full], [...M, "hi"]);
    deepEqual([code, stdout, bodies.length], [1, "", 3]);
    match(stderr.trim().split("\n").at(-1)!, /server busy/);
    doesNotMatch(stderr, /TypeError|^\s+at |^terminated/m);
  });

  test("a model that is not installed: the sentence says how to get it, at once", async () => {
    const { code, stderr, bodies } = await ask([say("ok")], ["-m", "ollama/qwen9:7b", "hi"]);
    deepEqual([code, bodies.length], [1, 0]);
    match(stderr, /no model 'qwen9:7b'.*ollama pull qwen9:7b/);
    doesNotMatch(stderr, /Trying again/);
  });

  test("an OLLAMA_HOST that is no address is named as what is wrong", async () => {
    const { code, stderr } = await zz(place(), [...M, "--once", "hi"], {
      env: { OLLAMA_HOST: "no host at all" },
    });
    ok(code === 1 || code === 2, String(code));
    match(stderr, /OLLAMA_HOST/);
  });

  // ── Choosing ──

  test("with no key, an Ollama that has a model with tools is used by itself", async () => {
    const models = [
      { name: "embed:latest", capabilities: ["embedding"] },
      { name: "plain:latest", capabilities: ["completion"] },
      { name: "lamp:7b", capabilities: ["completion", "tools"] },
    ];
    const { code, stdout, bodies } = await ask([say("Hello.")], ["hi"], { models });
    deepEqual([code, stdout], [0, "Hello.\n"]);
    equal(bodies[0].model, "lamp:7b");
  });

  test("an Ollama that does not answer in time is not waited for", async () => {
    const clock = standingClock();
    const fake = await fakeOllama([say("late")], undefined, new Promise(() => {}));
    const asked = zz(place(), ["--once", "hi"], { env: { OLLAMA_HOST: fake.url }, clock });
    await clock.waits(LIMIT_MS);
    await clock.pass(LIMIT_MS);
    const { code, stdout, stderr } = await asked;
    await fake.close();
    deepEqual([code, stdout, fake.requests.length], [2, "", 0]);
    match(stderr, /^No model to ask: .*start Ollama/);
  });

  test("OPENAI_API_KEY goes before Ollama, and Ollama is not waited for", async () => {
    const fake = await fakeOllama([say("from Ollama")]);
    const openai = await fakeOpenAI([sayOpenAI("from OpenAI")]);
    const env = { OLLAMA_HOST: fake.url, OPENAI_API_KEY: "k", OPENAI_BASE_URL: openai.url };
    const { stdout } = await zz(place(), ["--once", "--json", "hi"], { env });
    await Promise.all([fake.close(), openai.close()]);
    const { text, model } = JSON.parse(stdout);
    deepEqual([text, model, fake.requests.length], ["from OpenAI", "openai/gpt-4o-mini", 0]);
  });

  // ── Listing ──

  test("--models lists what is installed with the windows that they have here", async () => {
    const models = [
      { name: "lamp:7b", trained: 131_072, capabilities: ["completion", "tools", "vision"] },
      { name: "old:latest", trained: null, capabilities: null },
      { name: "small:1b", trained: 2_048, capabilities: ["completion"] },
    ];
    const { code, stdout } = await ask([], ["--models", "-m", "ollama"], { models });
    equal(code, 0);
    match(
      stdout,
      /^ollama\/lamp:7b {3}32768 tokens\nollama\/old:latest *\nollama\/small:1b {2}2048 tokens\n$/,
    );
    const json = JSON.parse(
      (await ask([], ["--models", "-m", "ollama", "--json"], { models })).stdout,
    );
    deepEqual(json[0], { id: "ollama/lamp:7b", window: 32_768, tools: true, vision: true });
    deepEqual(json[1], { id: "ollama/old:latest" });
  });

  test("--models and /models tell which of them are loaded, and where", async () => {
    const models = [
      { name: "lamp:7b", loaded: { size: 6_200_000_000, size_vram: 3_100_000_000 } },
      { name: "small:1b", loaded: { size: 1_400_000_000, size_vram: 1_400_000_000 } },
      { name: "odd:1b", loaded: {} },
      { name: "rest:1b" },
    ];
    const rows = [
      "ollama/lamp:7b   32768 tokens  loaded, 6.2 GB, 50 % in graphics memory",
      "ollama/small:1b  32768 tokens  loaded, 1.4 GB",
      "ollama/odd:1b    32768 tokens  loaded",
      "ollama/rest:1b   32768 tokens",
    ];
    deepEqual(
      (await ask([], ["--models", "-m", "ollama"], { models })).stdout.trimEnd().split("\n"),
      rows,
    );
    const where = place({}, {}, { "kept/": null });
    const kept = await ask([], ["--models"], { models, where });
    ok(kept.stdout.includes(rows[0]!), kept.stdout);
    const file = readFileSync(join(where.home, "models.json"), "utf8"); // shown again for an hour
    ok(file.includes("lamp:7b") && !file.includes("loaded"), file);
    const { stdout, stderr } = await ask([], ["-m", "ollama/small:1b", "/models"], { models });
    match(stdout + stderr, /^\* ollama\/small:1b +32768 tokens {2}loaded, 1\.4 GB$/m);
  });
});

// ── Addresses ──

/** Where the client asks for the list of models. */
async function placeOf(url: string): Promise<string> {
  let asked = "";
  const fetch = async (at: string) => Promise.reject((asked = at));
  await new Ollama({ host: hostOf({ url }), fetch: fetch as never }).list().catch(() => {});
  return asked;
}
for (const [url, expected] of [
  ["", "http://127.0.0.1:11434"],
  [" box.lan ", "http://box.lan:11434"],
  [":8080", "http://127.0.0.1:8080"],
  ["http://0.0.0.0:8080/", "http://127.0.0.1:8080"],
  ["box/ollama", "http://box:11434/ollama"],
  ['"box:8080"', "http://box:8080"],
  ["http://box:1/v1/", "http://box:1"],
  ["https://me:word@box/ollama/api/", "https://me:word@box:443/ollama"],
] as const)
  test(`OLLAMA_HOST=${JSON.stringify(url)} is asked at ${expected}`, async () => {
    equal(await placeOf(url), `${expected}/api/tags`);
  });
