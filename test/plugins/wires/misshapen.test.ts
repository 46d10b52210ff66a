// Whatever a server puts where something else is expected, no wire ends with an error of JavaScript's own.
import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import type { ChatRequest, Fault, HttpAnswer, Provider } from "../../../kernel/contract.ts";
import { collect } from "../../../kernel/stream.ts";
import ollama from "../../../plugins/ollama.ts";
import wires from "../../../plugins/wires/index.ts";

const providers = new Map<string, Provider>();
let body = "";
let list: unknown = {};
const answer = (): HttpAnswer => ({
  ...{ ok: true, status: 200, headers: { get: () => null } },
  body: (async function* () {
    yield Buffer.from(body);
  })(),
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

/** Streams with all that may come, as the servers send them. */
const STREAMS: [name: string, provider: string, options: object, events: unknown[]][] = [
  [
    "chat",
    "openai",
    {},
    [
      { choices: [{ index: 0, delta: { role: "assistant", content: "Hi", reasoning_content: "hm", refusal: null } }] },
      {
        choices: [
          {
            index: 0,
            delta: {
              content: [
                { type: "text", text: "a" },
                { type: "thinking", thinking: [{ text: "b" }] },
              ],
            },
          },
        ],
      },
      {
        choices: [
          { index: 0, delta: { reasoning_details: [{ index: 0, type: "x", text: "t" }], extra_content: { a: 1 } } },
        ],
      },
      {
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [{ index: 0, id: "c", function: { name: "look", arguments: "{}" }, extra_content: { b: 1 } }],
            },
          },
        ],
      },
      { choices: [{ index: 0, delta: { function_call: { name: "look", arguments: "{}" } } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      {
        choices: [],
        usage: { prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
        x_groq: { usage: {} },
      },
    ],
  ],
  [
    "responses",
    "openai",
    { wire: "responses" },
    [
      { type: "response.created", response: { id: "r" } },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", call_id: "c", name: "look", arguments: "" },
      },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: "{" },
      { type: "response.function_call_arguments.done", output_index: 0, arguments: "{}" },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "function_call", call_id: "c", name: "look", arguments: "{}" },
      },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { type: "reasoning", id: "t", summary: [{ text: "hm" }], encrypted_content: "x" },
      },
      {
        type: "response.output_item.done",
        output_index: 2,
        item: { type: "message", content: [{ type: "output_text", text: "Hi" }] },
      },
      { type: "response.output_text.delta", output_index: 2, delta: "Hi" },
      { type: "response.reasoning_summary_text.delta", output_index: 1, delta: "hm" },
      {
        type: "response.completed",
        response: {
          status: "completed",
          output: [
            { type: "message", content: [{ type: "output_text", text: "Hi" }] },
            { type: "reasoning", id: "u", summary: [{ text: "hm" }] },
          ],
          usage: { input_tokens: 1, output_tokens: 2, input_tokens_details: { cached_tokens: 1 } },
          incomplete_details: null,
        },
      },
    ],
  ],
  [
    "responses, whole",
    "openai",
    { wire: "responses" },
    [
      {
        type: "response.completed",
        response: {
          status: "incomplete",
          output: [
            { type: "message", content: [{ type: "output_text", text: "Hi" }] },
            { type: "reasoning", id: "u", summary: [{ text: "hm" }] },
            { type: "function_call", call_id: "c", name: "look", arguments: "{}" },
          ],
          incomplete_details: { reason: "max_output_tokens" },
        },
      },
    ],
  ],
  [
    "anthropic",
    "anthropic",
    {},
    [
      {
        type: "message_start",
        message: { role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } },
      },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
      { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "s" } },
      { type: "content_block_stop", index: 0 },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_delta", index: 1, delta: { type: "citations_delta", citation: { a: 1 } } },
      { type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "c", name: "look", input: {} } },
      { type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "{}" } },
      { type: "content_block_delta", index: 7, delta: { type: "input_json_delta", partial_json: "{}" } },
      { type: "content_block_stop", index: 2 },
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_details: { explanation: "x" } },
        usage: { output_tokens: 2 },
      },
      { type: "message_stop" },
    ],
  ],
  [
    "anthropic, whole",
    "anthropic",
    {},
    [
      {
        type: "message",
        content: [
          { type: "text", text: "Hi" },
          { type: "tool_use", id: "c", name: "look", input: { a: 1 } },
        ],
        stop_reason: "end_turn",
        usage: { input_tokens: 1 },
      },
    ],
  ],
  [
    "gemini",
    "gemini",
    {},
    [
      {
        candidates: [
          {
            index: 0,
            content: {
              parts: [
                { text: "hm", thought: true },
                { text: "Hi", thoughtSignature: "s" },
              ],
            },
          },
        ],
      },
      {
        candidates: [{ content: { parts: [{ functionCall: { id: "i", name: "look", args: { a: 1 } } }] } }],
        promptFeedback: {},
      },
      {
        candidates: [
          { content: { parts: [{ executableCode: { code: "1" } }, { codeExecutionResult: { output: "1" } }] } },
        ],
      },
      {
        candidates: [{ finishReason: "STOP", finishMessage: "x" }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 },
      },
    ],
  ],
  [
    "ollama",
    "ollama",
    {},
    [
      { message: { role: "assistant", content: "Hi", thinking: "hm" }, done: false },
      {
        message: { content: "", tool_calls: [{ id: "c", function: { name: "look", arguments: { a: 1 } } }] },
        done: false,
      },
      { message: { content: "" }, done: true, done_reason: "stop", prompt_eval_count: 1, eval_count: 2 },
    ],
  ],
];

/** Lists of models, as the servers send them. */
const LISTS: [provider: string, list: unknown][] = [
  ["openai", { data: [{ id: "m", context_length: 9, pricing: { prompt: "1", completion: "1" } }] }],
  ["anthropic", { data: [{ id: "m", max_input_tokens: 9 }], has_more: true, last_id: "m" }],
  [
    "gemini",
    { models: [{ name: "models/m", inputTokenLimit: 9, supportedGenerationMethods: ["x"] }], nextPageToken: "p" },
  ],
  [
    "ollama",
    {
      models: [{ name: "m", size: 9, size_vram: 9 }],
      capabilities: ["tools"],
      model_info: { "general.architecture": "x", "x.context_length": 9 },
      parameters: "num_ctx 9",
    },
  ],
];

const isRawError = (error: unknown) => /^(Type|Range|Reference)Error$/.test((error as Error)?.name);
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

const request = { task: "chat", model: "m", system: "s", messages: [{ role: "user", text: "hi" }], tools: [] } as const;
async function heard(provider: string, options: object, events: unknown[]) {
  const isLines = provider === "ollama";
  body = events.map((one) => (isLines ? `${JSON.stringify(one)}\n` : `data: ${JSON.stringify(one)}\n\n`)).join("");
  const endpoint = { url: "http://127.0.0.1:9/v1", key: "k" as never };
  const asked = { ...request, options, endpoint } as unknown as ChatRequest;
  return collect(providers.get(provider)!.chat(asked, new AbortController().signal), undefined, provider);
}

describe("misshapen answers", () => {
  for (const [name, provider, options, events] of STREAMS) {
    test(`${name}: a wrong value anywhere is passed over, or said in a sentence`, async () => {
      await heard(provider, options, events);
      const raw: string[] = [];
      for (const [at, event] of events.entries())
        for (const wrong of spoilt(event)) {
          const error: Fault | undefined = await heard(provider, options, events.with(at, wrong)).then(
            () => undefined,
            (failed) => failed,
          );
          const isRaw = isRawError(error) || /is not a delta|\bundefined\b|not a function/.test(error?.message ?? "");
          if (isRaw || (error && !/^[A-Z'].*[.!?]$/s.test(error.message)))
            raw.push(`${JSON.stringify(wrong)}: ${error!.message}`);
        }
      deepEqual(raw.slice(0, 20), []);
    });
  }

  for (const [provider, given] of LISTS)
    test(`${provider}: a list of models with a wrong value anywhere is read, or refused in a sentence`, async () => {
      const raw: string[] = [];
      for (const wrong of spoilt(given)) {
        list = wrong;
        const endpoint = { url: "http://127.0.0.1:9/v1", key: "k" as never };
        await providers.get(provider)!.models!(new AbortController().signal, endpoint).catch((error) => {
          if (isRawError(error)) raw.push(`${JSON.stringify(wrong)}: ${error.message}`);
        });
      }
      deepEqual(raw.slice(0, 5), []);
    });

  test("calls that are none are left out, and those beside them run", async () => {
    const calls = [null, 5, { index: 0, id: "c", function: { name: "look", arguments: "{}" } }];
    const chat = [
      { choices: [null, { delta: { content: "Hi", tool_calls: calls } }] },
      { choices: [{ finish_reason: "tool_calls" }] },
    ];
    const { text, calls: made } = await heard("openai", {}, chat);
    deepEqual([text, made.map(({ name }) => name)], ["Hi", ["look"]]);
    const told = [
      { message: { tool_calls: [null, { function: null }, { function: { name: "look", arguments: {} } }] } },
      { done: true },
    ];
    equal((await heard("ollama", {}, told)).calls.length, 1);
  });
});
