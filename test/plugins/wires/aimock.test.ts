// The native wires against a server that others wrote: a round with a tool, thinking and an image, and turns under chaos.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { LLMock } from "@copilotkit/aimock";
import type { Fake } from "../../support/fake/http.ts";
import { PIXEL, turnWith } from "../../support/wires.ts";

const CALL = { content: "I look.", reasoning: "how bright?", reasoningSignature: "c2ln", toolCalls: [{ name: "look", arguments: "{}" }] }; // biome-ignore format: one

/** A call to each thing that the person says, an answer to each result. */
async function started(): Promise<{ mock: LLMock; fake: Fake; sent: () => any[] }> {
  const mock = new LLMock({ port: 0, host: "127.0.0.1", logLevel: "silent" });
  mock.on({ predicate: ({ messages }) => messages.at(-1)?.role === "tool" }, { content: "It is a lamp." });
  mock.on({ predicate: () => true }, CALL);
  await mock.start();
  const fake = { url: mock.url, port: Number(new URL(mock.url).port), requests: [], close: async () => {} };
  return { mock, fake, sent: () => mock.getRequests().map(({ body }) => body) };
}

for (const model of ["anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"])
  describe(`aimock: ${model}`, { concurrency: 2 }, () => {
    test("does a round with a tool, thinking and images", async () => {
      const { mock, fake, sent } = await started();
      const images = [{ type: "image/png", base64: PIXEL }];
      const { answer, error, messages } = await turnWith(fake, model, {
        options: { options: { effort: "low" } },
        images,
      });
      const requests = sent();
      await mock.stop();
      if (error) throw error;
      deepEqual([answer!.text, answer!.thinking, answer!.finish], ["It is a lamp.", "how bright?", "stop"]);
      deepEqual(answer!.calls, [{ name: "look", args: {}, ok: true }]);
      equal(requests.length, 2);
      const asked = messages.find(({ role }) => role === "assistant") as any;
      if (model.startsWith("anthropic")) deepEqual(asked.extra, [{ type: "thinking", thinking: "how bright?", signature: "c2ln" }]); // biome-ignore format: one
    });

    test("answers turn after turn though every third request fails", async () => {
      const { mock, fake } = await started();
      mock.setChaos({ dropRate: 0.1, malformedRate: 0.1, rateLimitRate: 0.05, disconnectRate: 0.1 });
      const options = { options: { effort: "low" } };
      const turns = Array.from({ length: 50 }, () => turnWith(fake, model, { options }));
      const done = await Promise.all(turns);
      await mock.stop();
      const answered = done.filter(({ answer }) => answer);
      ok(answered.length >= 38, `${answered.length} of 50 answered`);
      for (const { answer } of answered) equal(answer!.text, "It is a lamp.");
      for (const { error } of done) if (error) match(error.message, /^[A-Z1].*[.!?]$/s);
    });
  });
