// OpenAI's Responses API through the wire: what goes out, what goes back, and when it is chosen.
// streams.test.ts has what comes.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Options } from "../../../kernel/instance.ts";
import type { Script } from "../../support/fake/http.ts";
import { fakeOpenAI, say as sayAsChat } from "../../support/fake/openai.ts";
import { answer, type Item, refuse, wrongInput } from "../../support/fake/responses.ts";
import { PIXEL, turnWith } from "../../support/wires.ts";

async function turn(script: Script, more: Options = {}, turns = 1, model = "openai/gpt-5-codex") {
  const turn = await turnWith(await fakeOpenAI(script), model, { options: more, turns });
  for (const { body, path } of turn.fake.requests)
    if (path.endsWith("/responses")) deepEqual(wrongInput(body), []);
  return turn;
}

const [think, hi]: [Item, Item] = [
  { think: "dim it", sealed: "s3al", id: "rs_a" },
  { say: "Hi there" },
];
const dim: Item = { call: "lamp_dim", args: { level: 8 }, id: "call_q1" };
test("What was thought goes back encrypted, in its place before its call, and not to another model", async () => {
  const look: Item = { call: "look", args: {}, id: "call_q2" };
  const two = answer(think, dim, { think: "and look", sealed: "s2" }, look);
  const { fake, error } = await turn([two, answer({ say: "done" })]);
  if (error) throw error;
  const { input } = fake.requests[1]!.body;
  deepEqual(input.map((one: any) => one.encrypted_content ?? one.call_id ?? one.role), ["user", "s3al", "call_q1", "s2", "call_q2", "call_q1", "call_q2"]); // biome-ignore format: short
  const summary = [{ type: "summary_text", text: "dim it" }];
  deepEqual(input[1], { id: "rs_a", type: "reasoning", summary, encrypted_content: "s3al" });
  deepEqual(input.at(-1).output, [{ type: "input_text", text: "a lamp" }, { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" }]); // biome-ignore format: short
});

test("A request keeps nothing at the server, asks for a summary, and has its tools flat", async () => {
  const { fake } = await turn([answer(hi)], {
    options: { max_tokens: 99, reasoning_effort: "high" },
  });
  const { body, headers } = fake.requests[0]!;
  equal(headers.authorization, "Bearer k-12345678");
  deepEqual([body.store, body.include, body.reasoning, body.max_output_tokens], [false, ["reasoning.encrypted_content"], { effort: "high", summary: "auto" }, 99]); // biome-ignore format: short
  deepEqual(
    Object.keys(body.tools[0]).sort(),
    "description name parameters strict type".split(" "),
  );
  ok(!("max_tokens" in body || "reasoning_effort" in body || "messages" in body));
});

// biome-ignore format: one case a row.
const REFUSED: [string, (body: any) => boolean, string][] = [
  ["encrypted reasoning", (body) => "include" in body, "Encrypted content is not supported with this model."],
  ["a summary", (body) => "summary" in (body.reasoning ?? {}), "Your organization must be verified to generate reasoning summaries."],
  ["a temperature", (body) => "temperature" in body, "Unsupported parameter: 'temperature' is not supported with this model."],
];
for (const [what, has, words] of REFUSED)
  test(`A server that refuses ${what} is asked without it, from then on`, async () => {
    const options = { temperature: 0, reasoning_effort: "low" };
    const script: Script = ({ body }) =>
      has(body) ? refuse(400, { error: { message: words } }) : answer(hi);
    const { answer: given, fake } = await turn(script, { options }, 2);
    equal(given?.text, "Hi there");
    deepEqual(fake.requests.map(({ body }) => has(body)), [true, false, false]); // biome-ignore format: short
  });

// biome-ignore format: one case a row.
const WAYS: [model: string, options: Record<string, unknown>, path: string][] = [
  ["openai/gpt-5-codex", {}, "/v1/responses"],
  ["openai/o3", {}, "/v1/responses"],
  ["openai/gpt-4o-mini", {}, "/v1/chat/completions"],
  ["openai/gpt-5", { wire: "chat" }, "/v1/chat/completions"],
  ["openai/gpt-4o", { wire: "responses" }, "/v1/responses"],
];
describe("the wire that is chosen", { concurrency: 8 }, () => {
  for (const [model, options, path] of WAYS)
    test(`for ${model} ${JSON.stringify(options)} is ${path}`, async () => {
      const script: Script = ({ path }) =>
        path.endsWith("responses") ? answer(hi) : sayAsChat("Hi there");
      const { fake } = await turn(script, { options }, 1, model);
      deepEqual(fake.requests.map((one) => one.path), [path]); // biome-ignore format: short
      ok(!("wire" in fake.requests[0]!.body));
    });
  test("is the other one where a server has such a model and no such path", async () => {
    const no = refuse(404, { error: "no such path" });
    const { answer, fake } = await turn(({ path }) =>
      path.endsWith("responses") ? no : sayAsChat("Hi there"),
    );
    deepEqual([answer!.text, fake.requests.length], ["Hi there", 2]);
  });
  test("stays the same where a server refuses the request for another reason", async () => {
    const { error, fake } = await turn([refuse(403, { error: "not yours" })]);
    match(error!.message, /not yours/);
    deepEqual(fake.requests.map(({ path }) => path), ["/v1/responses"]); // biome-ignore format: short
  });
  test("must be one that there is", async () => {
    const { error } = await turn([answer(hi)], { options: { wire: "soap" } });
    equal(
      error?.message,
      "Cannot ask 'openai' over the wire 'soap': there is none. Choose chat or responses.",
    );
  });
});
