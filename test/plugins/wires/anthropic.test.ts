// Anthropic's Messages through the wire: what goes out, what goes back, and what is sent otherwise
// after a refusal. streams.test.ts has what comes.
import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Message } from "../../../kernel/contract.ts";
import * as own from "../../support/fake/anthropic.ts";
import type { Script, Step } from "../../support/fake/http.ts";
import { place, zz } from "../../support/run.ts";
import { type How, lamps, PIXEL, turnWith } from "../../support/wires.ts";

const {
  block,
  call,
  end,
  fakeAnthropic,
  redacted,
  refuse,
  say,
  start,
  stream,
  text,
  thinking,
  use,
} = own;
const MODEL = "anthropic/claude-sonnet-4-5";
const turn = async (script: Script, how: How = {}, model = MODEL) =>
  turnWith(await fakeAnthropic(script), model, how);
/** With these options; effort and schema among them are the request's own. */
const set = (options: Record<string, unknown>, more: How = {}): How => ({
  ...more,
  options: { options },
});

const done = say("done");
const signed = { type: "thinking", thinking: "how bright?", signature: "sig-abc/+=" };
const thought = thinking(0, signed.thinking, signed.signature);

const search = block(1, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }, { type: "input_json_delta", partial_json: '{"query":"lamps"}' }); // biome-ignore format: one block
const found = block(2, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://a", title: "A", encrypted_content: "x" }] }); // biome-ignore format: one block

const CACHE = { type: "ephemeral" };
describe("Anthropic: a request", { concurrency: 16 }, () => {
  test("has the key, the version, a limit of the output, and marks of what stays the same", async () => {
    const { fake } = await turn([say("Hi")]);
    const { body, headers, path } = fake.requests[0]!;
    deepEqual(
      [path, headers["x-api-key"], headers["anthropic-version"]],
      ["/v1/messages", "k-12345678", "2023-06-01"],
    );
    deepEqual([headers.authorization, headers["anthropic-beta"]], [undefined, undefined]);
    deepEqual([body.model, body.stream, body.max_tokens], ["claude-sonnet-4-5", true, 32_000]);
    deepEqual([body.system[0].cache_control, body.tools.at(-1).cache_control], [CACHE, CACHE]);
    equal(body.tools.filter((tool: any) => tool.cache_control).length, 1);
    equal(body.tools.find((tool: any) => tool.name === "lamp_dim").input_schema.type, "object");
    deepEqual(body.messages, [
      { role: "user", content: [{ type: "text", text: "hi", cache_control: CACHE }] },
    ]);
  });

  const LIMITS = {
    "claude-3-haiku-1": 4_096,
    "claude-opus-4-1": 32_000,
    "claude-sonnet-5-5": 64_000,
    "kimi-k2": 8_192,
  };
  for (const [model, most] of Object.entries(LIMITS))
    test(`asks ${model} for at most ${most} tokens`, async () => {
      const { bodies } = await turn([say("Hi")], {}, `anthropic/${model}`);
      equal(bodies[0].max_tokens, most);
    });

  test("carries the person's options, and betas as a header", async () => {
    const options = { temperature: 0.5, max_tokens: 100, stop: "END", betas: ["a-1", "b-2"] };
    const { fake, bodies } = await turn([say("Hi")], set(options));
    const { temperature, max_tokens, stop_sequences } = bodies[0];
    deepEqual([temperature, max_tokens, stop_sequences], [0.5, 100, ["END"]]);
    equal(fake.requests[0]!.headers["anthropic-beta"], "a-1,b-2");
  });

  test("has results of one round in one message, images in them, and says which failed", async () => {
    const { bodies, answer } = await turn([
      call(["look", {}], ["fail", {}], ["kiln_status", {}]),
      done,
    ]);
    equal(answer!.text, "done");
    const [asked, results] = bodies[1].messages.slice(-2);
    equal(asked.content.length, 3);
    const image = {
      type: "image",
      source: { type: "base64", media_type: "image/png", data: PIXEL },
    };
    const [look, fail, kiln] = results.content;
    const content = [{ type: "text", text: "a lamp" }, image];
    deepEqual(look, { type: "tool_result", tool_use_id: "toolu_look_0", content });
    deepEqual([fail.is_error, /the lamp is broken/.test(fail.content[0].text)], [true, true]);
    deepEqual([kiln.is_error, kiln.cache_control], [undefined, CACHE]);
    deepEqual(
      bodies[1].messages[0].content.at(-1).cache_control,
      CACHE,
      "and the message before is marked",
    );
  });

  test("has images and PDFs as blocks, before the words", async () => {
    const images = ["image/png", "application/pdf"].map((type) => ({ type, base64: PIXEL }));
    const { bodies } = await turn([say("Hi")], { images });
    deepEqual(bodies[0].messages[0].content.map(({ type }: any) => type), ["image", "document", "text"]); // biome-ignore format: one
  });

  test("with a sound is not sent", async () => {
    const { error, bodies } = await turn([say("Hi")], {
      images: [{ type: "audio/mpeg", base64: "AA==" }],
    });
    equal(error?.message, "Cannot send a sound to 'claude-sonnet-4-5': it does not take sound. Choose a model that does."); // biome-ignore format: one
    equal(bodies.length, 0);
  });

  test("takes over another provider's calls, whatever their ids, and nothing of its thinking", async () => {
    const before: Message[] = [
      { role: "user", text: "dim it" },
      {
        role: "assistant",
        text: " ",
        model: "openai/m",
        extra: [signed],
        calls: [
          { id: "functions.lamp_dim:0|x", name: "lamp.dim", args: { level: 1 }, extra: { a: 1 } },
        ],
      },
      { role: "tool", id: "functions.lamp_dim:0|x", name: "lamp.dim", text: "" },
    ];
    const { bodies } = await turn([say("Hi")], { before });
    const [, asked, result] = bodies[0].messages;
    const input = { level: 1 };
    deepEqual(asked.content, [
      { type: "tool_use", id: "functions_lamp_dim_0_x", name: "lamp_dim", input },
    ]);
    deepEqual(result.content[0], { type: "tool_result", tool_use_id: "functions_lamp_dim_0_x" });
  });
});

describe("Anthropic: thinking", { concurrency: 16 }, () => {
  // [effort, options, what is sent]
  // biome-ignore format: one case a row.
  const EFFORTS: [string, string, Record<string, unknown>, object][] = [
    ["claude-sonnet-4-5", "medium", { temperature: 0.5, top_k: 3 }, { thinking: { type: "enabled", budget_tokens: 8_192 } }],
    ["claude-sonnet-4-5", "high", { max_tokens: 4_000 }, { thinking: { type: "enabled", budget_tokens: 2_976 } }],
    ["claude-sonnet-4-5", "high", { max_tokens: 1_500, temperature: 0.5 }, { temperature: 0.5 }],
    ["claude-sonnet-4-5", "none", { temperature: 0.5 }, { temperature: 0.5 }],
    ["claude-sonnet-4-5", "low", { thinking: { type: "enabled", budget_tokens: 1_111 } }, { thinking: { type: "enabled", budget_tokens: 1_111 } }],
    ["claude-3-5-sonnet-20241022", "high", {}, {}],
    ["claude-opus-4-6", "medium", { temperature: 0.5 }, { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "medium" } }],
    ["claude-sonnet-5", "none", {}, { thinking: { type: "disabled" } }],
  ];
  for (const [model, effort, options, expected] of EFFORTS)
    test(`${effort} is for ${model} ${JSON.stringify(options)}: ${JSON.stringify(expected)}`, async () => {
      const { bodies, error } = await turn(
        [say("Hi")],
        set({ effort, ...options }),
        `anthropic/${model}`,
      );
      if (error) throw error;
      const { thinking, output_config, temperature, top_k } = bodies[0];
      deepEqual(
        JSON.parse(JSON.stringify({ thinking, output_config, temperature, top_k })),
        expected,
      );
    });

  test("goes back exactly as it came, before the call that it led to", async () => {
    const called = use(3, "kiln_status", {});
    const first = stream(
      start(),
      thought,
      redacted(1, "AbC="),
      text(2, "I look."),
      called,
      end("tool_use"),
    );
    const { bodies, answer, error } = await turn([first, done], set({ effort: "medium" }));
    if (error) throw error;
    equal(answer!.thinking, "how bright?");
    const { content } = bodies[1].messages.at(-2);
    deepEqual(content.slice(0, 2), [signed, { type: "redacted_thinking", data: "AbC=" }]);
    deepEqual(content.slice(2).map(({ type }: any) => type), ["text", "tool_use"]); // biome-ignore format: one
    ok(bodies[1].thinking, "and it goes on thinking");
  });

  test("of another model does not go back, and calls without it are not thought about further", async () => {
    const call = { id: "t1", name: "kiln_status", args: {} };
    const before = (model: string): Message[] => [
      { role: "user", text: "look" },
      { role: "assistant", text: "", model, extra: [signed], calls: [call] },
      { role: "tool", id: "t1", name: "kiln_status", text: "cold" },
    ];
    const how = (model: string) => set({ effort: "low" }, { before: before(model) });
    const other = await turn([say("Hi")], how("anthropic/claude-opus-4-1"));
    equal(JSON.stringify(other.bodies[0]).includes("sig-abc"), false);
    equal(other.bodies[0].thinking, undefined);
    const same = await turn([say("Hi")], how(MODEL));
    deepEqual(same.bodies[0].messages[1].content[0], signed);
    equal(same.bodies[0].thinking.type, "enabled");
  });

  test("with a signature that the server does not take is left out from then on, and what comes later is not", async () => {
    const look = (n: number) => stream(start(), thinking(0, `thought ${n}`, `sig-${n}`), use(1, "kiln_status", {}, `t${n}`), end("tool_use")); // biome-ignore format: one
    const steps = [look(1), say("done"), look(2), say("done")];
    const script: Script = ({ body }) =>
      JSON.stringify(body).includes("sig-1")
        ? refuse(
            400,
            "invalid_request_error",
            "messages.1.content.0: Invalid `signature` in `thinking` block",
          )
        : steps.shift()!;
    const { answer, retried, bodies } = await turn(script, set({ effort: "low" }, { turns: 2 }));
    deepEqual([answer?.text, retried, bodies.length], ["done", [], 5]);
    deepEqual(bodies.map((body) => /sig-\d/.exec(JSON.stringify(body))?.[0]), [undefined, "sig-1", undefined, undefined, "sig-2"]); // biome-ignore format: one
    deepEqual(bodies.map((body) => Boolean(body.thinking)), [true, true, false, true, true], "calls without thoughts end it for that turn"); // biome-ignore format: one
  });
});

const bad = (words: string): Step => refuse(400, "invalid_request_error", words);
// [what is refused, the model, the options, when, the words, what is sent instead]
// biome-ignore format: one case a row.
const REFUSED: [string, string, Record<string, unknown>, (body: any) => unknown, string, object][] = [
  ["a limit above the model's", "kimi-k2", {}, (body) => body.max_tokens > 4096, "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for kimi-k2", { max_tokens: 4_096 }],
  ["marks for the cache", "glm-5", {}, (body) => JSON.stringify(body).includes("cache_control"), "system.0.cache_control: Extra inputs are not permitted", {}],
  ["a temperature", "claude-opus-5-5", { temperature: 0.1 }, (body) => "temperature" in body, "`temperature` is not supported for this model.", { temperature: undefined }],
  ["a budget for thinking", "claude-sonnet-4-5", { effort: "low" }, (body) => body.thinking?.budget_tokens, '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.', { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "low" } }],
  ["adaptive thinking", "claude-opus-4-6", { effort: "low" }, (body) => body.thinking?.type === "adaptive", "adaptive thinking is not supported on this model", { thinking: { type: "enabled", budget_tokens: 2_048 }, output_config: undefined }],
  ["that it does not think", "claude-opus-5-5", { effort: "none" }, (body) => body.thinking?.type === "disabled", '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.', { thinking: undefined, output_config: { effort: "low" } }],
  ["how thinking is shown", "claude-opus-4-6", { effort: "low" }, (body) => body.thinking?.display, "thinking.adaptive.display: Extra inputs are not permitted", { thinking: { type: "adaptive" } }],
];
describe("Anthropic: what a server refuses by name is sent otherwise from then on:", {
  concurrency: 16,
}, () => {
  for (const [what, model, options, when, words, instead] of REFUSED)
    test(what, async () => {
      const script: Script = ({ body }) => (when(body) ? bad(words) : say("Hi"));
      const { answer, error, retried, bodies } = await turn(
        script,
        set(options, { turns: 2 }),
        `anthropic/${model}`,
      );
      if (error) throw error;
      deepEqual([answer!.text, retried], ["Hi", []], "this is no retry: nobody waits");
      deepEqual(bodies.map((body) => Boolean(when(body))), [true, false, false]); // biome-ignore format: one
      for (const [name, value] of Object.entries(instead)) deepEqual(bodies[1][name], value);
    });

  test("room for the answer, in that request alone", async () => {
    const words =
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length";
    const script: Script = ({ body }, at) =>
      at < 2 && body.max_tokens === 32_000 ? bad(words) : say("Hi");
    const { bodies } = await turn(script, { turns: 2 });
    deepEqual(bodies.map((body) => body.max_tokens), [32_000, 10_000, 32_000]); // biome-ignore format: one
  });

  test("a key as a Bearer, where it is a token", async () => {
    const isToken = ({ headers }: any) => /^Bearer /.test(headers.authorization ?? "");
    const script: Script = (seen) =>
      isToken(seen) ? say("Hi") : refuse(401, "authentication_error", "invalid x-api-key");
    const { answer, fake } = await turn(script, { turns: 2 });
    equal(answer!.text, "Hi");
    deepEqual(fake.requests.map(isToken), [false, true, true]);
    deepEqual([fake.requests[1]!.headers["x-api-key"], fake.requests[1]!.headers["anthropic-beta"]], [undefined, "oauth-2025-04-20"]); // biome-ignore format: one
  });
});

const schema = {
  type: "object",
  properties: { name: { type: "string", minLength: 1 }, tags: { type: "array", items: { type: "object", properties: { a: { type: "integer", minimum: 0 } } } } },
  required: ["name"],
  $defs: { spot: { type: "object", properties: {} } },
}; // biome-ignore format: one
describe("Anthropic: a schema", { concurrency: 16 }, () => {
  test("goes out as the format of the answer", async () => {
    const { bodies, answer } = await turn([say('{"name":"x"}')], set({ schema }));
    equal(answer!.text, '{"name":"x"}');
    const item = {
      type: "object",
      properties: { a: { type: "integer" } },
      additionalProperties: false,
    };
    const properties = { name: { type: "string" }, tags: { type: "array", items: item } };
    const $defs = { spot: { type: "object", properties: {}, additionalProperties: false } };
    const strict = { ...schema, properties, $defs, additionalProperties: false };
    deepEqual(bodies[0].output_config, { format: { type: "json_schema", schema: strict } });
  });

  test("is a tool that must be called where the format is refused", async () => {
    const no = bad("output_config.format: not supported by this model");
    const script: Script = ({ body }) =>
      body.output_config ? no : call(["structured_answer", { name: "x" }]);
    const { bodies, answer, error } = await turn(script, {
      options: { options: { schema }, tools: false },
    });
    if (error) throw error;
    deepEqual([answer!.text, answer!.finish, answer!.calls], ['{"name":"x"}', "stop", []]);
    const { tools, tool_choice } = bodies[1];
    deepEqual(
      [tool_choice, tools.at(-1).input_schema],
      [{ type: "tool", name: "structured_answer" }, schema],
    );
  });
});

describe("Anthropic: an answer", { concurrency: 16 }, () => {
  test("that pauses goes on with what came, and its tokens are added up", async () => {
    const paused = stream(start(), text(0, "I look. "), search, found, end("pause_turn"));
    const { answer, bodies, retried } = await turn([paused, say("Hi")]);
    deepEqual([answer?.text, retried], ["I look. Hi", []]);
    deepEqual(answer!.usage, { input: 122, output: 18 });
    const { role, content } = bodies[1].messages.at(-1);
    equal(role, "assistant");
    deepEqual(content.map(({ type }: any) => type), ["text", "server_tool_use", "web_search_tool_result"]); // biome-ignore format: one
    deepEqual(content[1].input, { query: "lamps" });
  });

  for (const reason of ["max_tokens", "model_context_window_exceeded"])
    test(`that ends with ${reason} is continued`, async () => {
      const { answer, bodies } = await turn([say("The lamp is at eig", reason), say("ht.")]);
      deepEqual([answer?.text, bodies.length], ["The lamp is at eight.", 2]);
    });
});

const KEY = { ANTHROPIC_API_KEY: "sk-ant-api03-12345678" };
const NAMED = ["--once", "-m", MODEL];
describe("Anthropic: the program", { concurrency: 2 }, () => {
  test("is reached by ANTHROPIC_BASE_URL, with a version or without, and chosen by its key alone", async () => {
    const fake = await fakeAnthropic([say("Hi")]);
    for (const url of [fake.url, `${fake.url}/`, `${fake.url}/v1`, `${fake.url}/v1/messages`])
      equal(
        (await zz(place(), ["--once", "hi"], { env: { ...KEY, ANTHROPIC_BASE_URL: url } })).stdout,
        "Hi\n",
      );
    await fake.close();
    equal(fake.requests.at(-1)!.body.model, "claude-sonnet-4-5");
  });

  test("goes on with a session, in which each thought is where it was, turn after turn", async () => {
    const look = (n: number) =>
      stream(start(), thinking(0, `${n}`, `sig ${n}`), use(1, "look", {}), end("tool_use"));
    const fake = await fakeAnthropic((_, at) => (at % 2 ? say(`done ${at}`) : look(at)));
    const where = place();
    for (const more of [[], ["-c"], ["-c"]]) {
      const flags = ["--plugin", lamps, "--effort", "low", "--base-url", fake.url];
      const args = [...NAMED, ...flags, ...more, "go"];
      equal((await zz(where, args, { env: KEY })).code, 0);
    }
    await fake.close();
    const { messages } = fake.requests.at(-1)!.body;
    for (const at of [0, 2, 4])
      deepEqual(messages[at * 2 + 1].content[0], {
        type: "thinking",
        thinking: `${at}`,
        signature: `sig ${at}`,
      });
  });

  test("lists models page by page", async () => {
    const fake = await fakeAnthropic([], [[{ id: "claude-opus-4-1" }, { id: "claude-next", max_input_tokens: 500_000 }], [{ id: "other" }]]); // biome-ignore format: one
    const { stdout, code } = await zz(
      place(),
      ["--models", "-m", "anthropic/x", "--base-url", fake.url],
      { env: KEY },
    );
    await fake.close();
    equal(code, 0);
    deepEqual(stdout.trim().split(/\s*\n/).map((line) => line.replace(/ +/g, " ")), ["anthropic/claude-opus-4-1 200000 tokens", "anthropic/claude-next 500000 tokens", "anthropic/other"]); // biome-ignore format: one
  });
});
