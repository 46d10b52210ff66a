// What zz makes of the lists of models that servers give, whatever stands in them.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { readModelPage } from "../../../plugins/wires/listed-models.ts";
import { modelsOfPages } from "../../../plugins/wires/native.ts";

const named = (id: string, more: object = {}) => ({ id, generates: true, ...more });
const price = { prompt: "0.000001", completion: "0.000002" };

// biome-ignore format: one list a row.
const LISTS: [what: string, body: unknown, models: object[], next?: string][] = [
  ["OpenAI's", { object: "list", data: [{ id: "a", object: "model" }, { id: "b" }] }, [named("a"), named("b")]],
  ["a bare list", [{ id: "a" }, { name: "b" }], [named("a"), named("b")]],
  ["a list under another name", { models: [{ name: "a" }] }, [named("a")]],
  ["windows by four names", { data: ["context_length", "context_window", "max_context_length", "max_model_len"].map((name, i) => ({ id: name, [name]: i + 1 })) }, ["context_length", "context_window", "max_context_length", "max_model_len"].map((name, i) => named(name, { window: i + 1 }))],
  ["a window as text", { data: [{ id: "a", context_length: "4096" }] }, [named("a", { window: 4096 })]],
  ["windows that are none", { data: [0, -1, null, "x", {}, [], 1.5, "", "NaN"].map((context_length) => ({ id: "a", context_length })) }, Array(9).fill(named("a"))],
  ["models without a name", { data: [{}, { id: "" }, { id: 7 }, { id: null, name: "b" }, null, "c", []] }, [named("b")]],
  ["prices", { data: [{ id: "a", pricing: { ...price, input_cache_read: "0" } }] }, [named("a", { price: { input: 1, output: 2, cached: 0 } })]],
  ["prices that are none", { data: [{}, "x", null, { prompt: "1" }, { ...price, prompt: "" }, { ...price, prompt: "x" }, { ...price, prompt: "-1" }].map((pricing) => ({ id: "a", pricing })) }, Array(7).fill(named("a"))],
  ["a price of the cache that is none", { data: [{ id: "a", pricing: { ...price, input_cache_write: "x" } }] }, [named("a", { price: { input: 1, output: 2 } })]],
  ["Anthropic's page", { data: [{ id: "a", max_input_tokens: 9 }], has_more: true, last_id: "a" }, [named("a", { window: 9 })], "a"],
  ["Anthropic's last page", { data: [{ id: "a" }], has_more: false, last_id: "a" }, [named("a")]],
  ["Gemini's page", { models: [{ name: "models/a", inputTokenLimit: 9, supportedGenerationMethods: ["embedContent"] }], nextPageToken: "t" }, [{ id: "models/a", generates: false, window: 9 }], "t"],
  ["a mark of the next page that is none", { data: [], has_more: true, last_id: {}, nextPageToken: 7 }, []],
  ...[null, 7, "text", {}, { data: 7 }, { data: { a: 1 } }, { error: "no" }].map((body): [string, unknown, object[]] => [JSON.stringify(body), body, []]),
];
for (const [what, body, models, next] of LISTS)
  test(`a list of models: ${what}`, () =>
    deepEqual(readModelPage(body), { models, ...(next && { next }) }));

test("a list of models: more than a call of a function takes", async () => {
  const page = Response.json(Array(300_000).fill({ id: "a" }));
  equal((await modelsOfPages(async () => page as any)).length, 10_000);
});
