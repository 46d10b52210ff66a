// What zz writes in a format, it reads: a few random conversations in each format.
import { equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { runs } from "../../../test/support/runs.ts";
import { cutEverywhere, RANDOM_TOOLS, roundTrip } from "../../../test/support/text-calls.ts";
import { findCalls } from "../find-calls.ts";
import { FORMATS, formatFor, wordsFor } from "../formats.ts";

const RUNS = runs(25, 500);

describe("What is written is read", () => {
  for (const format of FORMATS)
    test(`${format.name}: ${RUNS} random conversations`, () => roundTrip(format, RUNS));
});

describe("Of what is cut off, nothing else runs than was written", () => {
  for (const format of FORMATS)
    test(`${format.name}: cut at every place`, () => cutEverywhere(format));
});

describe("A model's format", () => {
  for (const [model, name] of [
    ["ollama/qwen3-coder:30b", "qwen-coder"],
    ["ollama/qwen3:8b", "hermes"],
    ["ollama/llama3.1", "llama"],
    ["ollama/llama3.2:1b", "pythonic"],
    ["openai/meta-llama/Llama-4-Scout-17B-16E-Instruct", "pythonic"],
    ["ollama/mistral-nemo", "mistral"],
    ["ollama/deepseek-r1:8b", "deepseek-v3"],
    ["openai/deepseek-ai/DeepSeek-V3.1", "deepseek"],
    ["openai/deepseek-ai/DeepSeek-V3.2", "deepseek-dsml"],
    ["openai/zai-org/GLM-4.6", "glm"],
    ["openai/moonshotai/Kimi-K2-Instruct", "kimi"],
    ["ollama/granite3.3:8b", "granite"],
    ["ollama/granite4:tiny", "hermes"],
    ["ollama/gemma3:4b", "fenced"],
    ["openai/m", "fenced"],
  ])
    test(`of '${model}' is ${name}`, () => equal(formatFor(model!).name, name));
});

for (const format of FORMATS)
  test(`${format.name}: what the model is told names each tool, and its sample is a call`, async () => {
    const words = wordsFor(format, RANDOM_TOOLS);
    for (const { name } of RANDOM_TOOLS) ok(words.includes(name), name);
    const sample = format.calls([{ id: "", name: "run", args: { text: "value" } }], RANDOM_TOOLS);
    equal((await findCalls(sample, RANDOM_TOOLS, { worded: true }))?.calls.length, 1);
  });
