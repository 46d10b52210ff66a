// Providers of the table, against a server that has its ways: what it refuses, how it calls and
// thinks, and how it counts.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Message } from "../../../kernel/contract.ts";
import type { Options } from "../../../kernel/instance.ts";
import { toMessages } from "../../../plugins/wires/messages.ts";
import { PRESETS } from "../../../plugins/wires/presets.ts";
import type { Step } from "../../support/fake/http.ts";
import {
  DONE,
  data,
  fakeOpenAI,
  problems,
  refuse,
  say,
  stream,
} from "../../support/fake/openai.ts";
import { place, zz } from "../../support/run.ts";
import { turnWith } from "../../support/wires.ts";

interface Ways {
  refuses?: string[]; // fields of a request
  limit?: "max_tokens" | "max_completion_tokens";
  thinks?: object[]; // deltas
  calls: "pieces" | "whole" | "no index" | "name first" | "object" | "no tools";
  id?: string; // of its call, as it says it
  counts: "extra" | "finish" | "every" | "choice" | "x_groq";
  ends?: string; // its reason, after a call
  echo?: object; // what the model's message must bring back
  back?: RegExp; // what its call's id must look like when it comes back
}
const THINKS = (field: string): object[] => [{ [field]: "dim " }, { [field]: "it" }];
const STRICT = ["frequency_penalty", "presence_penalty"];

// biome-ignore format: one provider a row.
const WAYS: Record<string, Ways> = {
  azure: { limit: "max_completion_tokens", refuses: ["max_tokens"], calls: "pieces", id: "call_a1", counts: "extra" },
  cerebras: { limit: "max_completion_tokens", refuses: STRICT, thinks: THINKS("reasoning"), calls: "pieces", id: "a1b2c3d4e", counts: "extra", echo: { reasoning: "dim it" } },
  deepseek: { limit: "max_tokens", refuses: ["seed", "max_completion_tokens"], thinks: [{ content: null, reasoning_content: "dim it" }, { content: "", reasoning_content: null }], calls: "pieces", id: "call_00_x", counts: "finish", echo: { reasoning_content: "dim it" } },
  groq: { limit: "max_completion_tokens", thinks: THINKS("reasoning"), calls: "whole", id: "fc_1", counts: "x_groq" },
  llamacpp: { limit: "max_tokens", thinks: THINKS("reasoning_content"), calls: "object", id: "Zb3kQ9vYw1xR5tN7mL2pJ4hG6fD8sA0c", counts: "extra" },
  mistral: { limit: "max_tokens", refuses: ["stream_options", "max_completion_tokens"], thinks: [{ content: [{ type: "thinking", thinking: [{ type: "text", text: "dim it" }] }] }], calls: "no index", id: "a1B2c3D4e", counts: "finish",
    echo: { content: [{ type: "thinking", thinking: [{ type: "text", text: "dim it" }] }] }, back: /^[A-Za-z0-9]{9}$/ },
  moonshot: { limit: "max_tokens", thinks: THINKS("reasoning_content"), calls: "pieces", id: "functions.lamp_dim:0", counts: "choice", echo: { reasoning_content: "dim it" }, back: /^functions\.lamp_dim:0$/ },
  openrouter: { limit: "max_tokens", thinks: [{ reasoning: "dim ", reasoning_details: [{ type: "reasoning.text", text: "dim ", index: 0 }] }, { reasoning: "it", reasoning_details: [{ type: "reasoning.text", text: "it", signature: "sig", index: 0 }, { type: "reasoning.encrypted", data: "xyz", index: 1 }] }],
    calls: "pieces", id: "tool_1", counts: "finish", ends: "tool_calls", echo: { reasoning_details: [{ type: "reasoning.text", text: "dim it", index: 0, signature: "sig" }, { type: "reasoning.encrypted", data: "xyz", index: 1 }] } },
  perplexity: { limit: "max_tokens", refuses: ["stream_options", "tools"], thinks: [{ content: "<think>dim it</think>" }], calls: "no tools", counts: "every" },
  together: { limit: "max_tokens", thinks: THINKS("reasoning"), calls: "name first", id: "call_t1", counts: "finish" },
  vllm: { limit: "max_tokens", thinks: THINKS("reasoning"), calls: "pieces", id: "chatcmpl-tool-a1", counts: "every" },
};

const COUNT = { prompt_tokens: 61, completion_tokens: 9, total_tokens: 70 };

/** The deltas as that server sends them, what it counted where it says it. */
function answer({ counts, ends }: Ways, deltas: object[], reason: string): Step {
  const every = counts === "every" ? { usage: COUNT } : {};
  const chunks = deltas.map((delta) =>
    data({ choices: [{ index: 0, delta, finish_reason: null }], ...every }),
  );
  const finish_reason = reason === "stop" ? reason : (ends ?? reason);
  const last = { index: 0, delta: {}, finish_reason, ...(counts === "choice" && { usage: COUNT }) };
  const more =
    { finish: { usage: COUNT }, x_groq: { x_groq: { id: "r", usage: COUNT } } }[counts as string] ??
    every;
  const extra = counts === "extra" ? [data({ choices: [], usage: COUNT })] : [];
  return stream(...chunks, data({ choices: [last], ...more }), ...extra, DONE);
}

function callOf({ calls, id }: Ways): object[] {
  const [name, args] = ["lamp_dim", '{"level":8}'];
  const one = (more: object, own: object) => ({ tool_calls: [{ ...more, function: own }] });
  const first = { index: 0, id, type: "function" };
  if (calls === "whole") return [one(first, { name, arguments: args })];
  if (calls === "no index") return [one({ id }, { name, arguments: args })];
  if (calls === "object") return [one(first, { name, arguments: { level: 8 } })];
  if (calls === "name first")
    return [one(first, { name, arguments: "" }), one({ index: 0 }, { arguments: args })];
  return [
    one(first, { name, arguments: "" }),
    one({ index: 0, id: "" }, { name: "", arguments: args.slice(0, 5) }),
    one({ index: 0 }, { arguments: args.slice(5) }),
  ];
}

const OPTIONS = { max_tokens: 77, seed: 1, stop: ["x"], frequency_penalty: 0, presence_penalty: 0 };

async function turn(name: string, script: (body: any, at: number) => Step, more: Options = {}) {
  const options = { options: OPTIONS, tools: ["lamp_dim"], ...more };
  return turnWith(await fakeOpenAI(({ body }, at) => script(body, at)), `${name}/m`, { options });
}

/** What such a server says of a field that it does not know. */
const refusal = ({ refuses = [] }: Ways, body: any): Step | undefined => {
  const field = refuses.find((one) => one in body);
  return field === undefined
    ? undefined
    : refuse(422, { error: { message: `${field}: extra fields not permitted` } });
};

describe("a turn with a call, at", { concurrency: 8 }, () => {
  for (const [name, ways] of Object.entries(WAYS))
    test(name, async () => {
      const { thinks = [], calls } = ways;
      const ran = await turn(name, (body, at) => {
        const wrong = refusal(ways, body);
        if (wrong) return wrong;
        if (calls === "no tools") return answer(ways, [...thinks, { content: "Dimmed." }], "stop");
        if (at === 0) return answer(ways, [...thinks, ...callOf(ways)], "tool_calls");
        return answer(ways, [{ content: "Dim" }, { content: "med." }], "stop");
      });
      const { fake, answer: given, error } = ran;
      if (error) throw error;
      equal(given!.text, "Dimmed.");
      const rounds = calls === "no tools" ? 1 : 2;
      deepEqual(given!.usage, { input: 61 * rounds, output: 9 * rounds });
      equal(fake.requests.length, rounds, "nothing was refused");
      const [first, second] = fake.requests;
      const { auth } = PRESETS.find((one) => one.name === name)!.quirks ?? {};
      equal(first!.headers[auth ?? "authorization"], auth ? "k-12345678" : "Bearer k-12345678");
      equal(first!.body[ways.limit ?? "max_tokens"], 77);
      for (const { body } of fake.requests) deepEqual(problems(body), []);
      if (rounds === 1) return equal(given!.thinking, "dim it");
      deepEqual(given!.calls, [{ name: "lamp_dim", args: { level: 8 }, ok: true }]);
      const [said, result] = second!.body.messages.slice(-2);
      equal(said.tool_calls[0].id, result.tool_call_id);
      match(said.tool_calls[0].id, ways.back ?? new RegExp(`^${ways.id}$`));
      equal(said.tool_calls[0].function.arguments, '{"level":8}');
      const { role, tool_calls, content, ...more } = said;
      deepEqual(
        { ...(ways.echo && "content" in ways.echo && { content }), ...more },
        ways.echo ?? {},
      );
    });
});

async function asks(env: Record<string, string>, args: string[], settings: object = {}) {
  const fake = await fakeOpenAI([say("Hi")]);
  const filled = (text: string) =>
    text.replaceAll("FAKE", fake.url).replaceAll("ROOT", new URL(fake.url).origin);
  const where = place({}, JSON.parse(filled(JSON.stringify(settings))));
  const ran = await zz(where, args.map(filled), { env: { ZZ_LOAD_LIMIT: "10", ...env } });
  await fake.close();
  return { out: ran.stdout + ran.stderr, fake, code: ran.code };
}

const groq = { providers: { groq: { url: "FAKE" } } };
describe("a provider by its name", { concurrency: 4 }, () => {
  test("is the one that is asked where only its key is set, and takes its usual model", async () => {
    const { fake } = await asks({ GROQ_API_KEY: "gsk_0123456789abcdef" }, ["--once", "hi"], groq);
    const { headers, body } = fake.requests[0]!;
    deepEqual(
      [headers.authorization, body.model],
      ["Bearer gsk_0123456789abcdef", "llama-3.3-70b-versatile"],
    );
  });
  test("says which key it wants, and that Azure has no address of its own", async () => {
    const { code, out } = await asks({}, ["--once", "-m", "groq/x", "hi"]);
    equal(code, 2);
    match(out, /Cannot ask 'groq': no key is set\. Set GROQ_API_KEY, or/);
    const azure = await asks(
      { AZURE_OPENAI_API_KEY: "0123456789abcdef" },
      "--once -m azure/x hi".split(" "),
    );
    match(azure.out, /Cannot ask 'azure': no address is set\. Set AZURE_OPENAI_ENDPOINT/);
  });
  test("is listed where it has a key or an address, and others are not asked", async () => {
    const providers = { groq: { url: "FAKE" }, vllm: { url: "FAKE" } };
    const { out } = await asks({ GROQ_API_KEY: "gsk_0123456789abcdef" }, ["--models"], {
      providers,
    });
    for (const name of ["groq", "vllm"]) match(out, new RegExp(`${name}/m\n`));
    ok(!/mistral|lmstudio|azure/.test(out), out);
    match(out, /openai: Cannot ask 'openai': no key is set/);
  });
});

test("a provider without tools is told of earlier calls in words", () => {
  const calls = [{ id: "c1", name: "look", args: {} }];
  const earlier: Message[] = [
    { role: "assistant", text: "", calls },
    { role: "tool", id: "c1", name: "look", text: "rain" },
    { role: "user", text: "And?" },
    { role: "assistant", text: "It rains.", calls },
  ];
  deepEqual(toMessages(earlier, "m", { tools: false }), [
    { role: "assistant", content: "(called look)" },
    { role: "user", content: "The result of look:\nrain\n\nAnd?" },
    { role: "assistant", content: "It rains." },
  ]);
});

const strictly = { required: ["due"], additionalProperties: false };
const schema = { type: "object", properties: { due: { type: "string" } }, ...strictly };
// biome-ignore format: one case a row.
const ASKED: [name: string, effort: object, format: "json_schema" | "json_object", strict?: true][] = [
  ["openai", { reasoning_effort: "low" }, "json_schema"],
  ["azure", { reasoning_effort: "low" }, "json_schema", true],
  ["mistral", { reasoning_effort: "high" }, "json_schema"],
  ["deepseek", { thinking: { type: "enabled" } }, "json_object"],
  ["openrouter", { reasoning: { effort: "low" } }, "json_schema"],
];
describe("how much to think and what the answer must fit, as it is told to", {
  concurrency: 8,
}, () => {
  for (const [name, effort, format, strict] of ASKED)
    test(name, async () => {
      const { fake, error } = await turn(name, () => say("{}"), {
        options: { ...OPTIONS, effort: "low", schema },
      });
      if (error) throw error;
      const { body } = fake.requests[0]!;
      for (const [field, value] of Object.entries(effort)) deepEqual(body[field], value);
      equal(body.response_format.type, format);
      equal(body.response_format.json_schema?.strict, strict);
      if (format === "json_object")
        match(body.messages[0].content, /JSON Schema, and nothing else:\n\{"type":"object"/);
    });
});

// biome-ignore format: one case a row.
const AZURE: [url: string, env: Record<string, string>, path: string][] = [
  ["FAKE?api-version=2024-10-21", {}, "/openai/deployments/mine/chat/completions?api-version=2024-10-21"],
  ["FAKE/", { OPENAI_API_VERSION: "2024-10-21" }, "/openai/deployments/mine/chat/completions?api-version=2024-10-21"],
];
describe("Azure, by its address", { concurrency: 4 }, () => {
  for (const [url, env, path] of AZURE)
    test(`${url} ${Object.values(env)}`, async () => {
      const providers = { azure: { url: url.replace("FAKE", "ROOT") } };
      const key = { AZURE_OPENAI_API_KEY: "0123456789abcdef" };
      const { fake, out } = await asks({ ...key, ...env }, ["--once", "-m", "azure/mine", "hi"], {
        providers,
      });
      match(out, /^Hi/);
      const { headers, path: to } = fake.requests[0]!;
      deepEqual(
        [to, headers["api-key"], headers.authorization],
        [path, "0123456789abcdef", undefined],
      );
    });
});
