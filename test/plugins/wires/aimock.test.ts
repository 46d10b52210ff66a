// Each wire against a server that others wrote: a round with a tool, thinking and an image. test/all has conversations while it fails.
import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { ANSWER, MODELS, started } from "../../support/aimock.ts";
import { PIXEL, turnWith } from "../../support/wires.ts";

describe("aimock", { concurrency: 4 }, () => {
  for (const model of MODELS) {
    test(`${model} does a round with a tool, thinking and images`, async () => {
      const { mock, fake, sent } = await started(model);
      const images = [{ type: "image/png", base64: PIXEL }];
      const { answer, error, messages } = await turnWith(fake, model, {
        options: { options: { effort: "low" } },
        images,
      });
      const requests = sent().filter((one) => "messages" in one || "input" in one || "contents" in one);
      await mock.stop();
      if (error) throw error;
      const thinking = model.startsWith("ollama") ? undefined : "how bright?"; // it has no thoughts of Ollama's
      deepEqual([answer!.text, answer!.thinking, answer!.finish], [ANSWER, thinking, "stop"]);
      deepEqual(answer!.calls, [{ name: "look", args: {}, ok: true }]);
      equal(requests.length, 2);
      const asked = messages.find(({ role }) => role === "assistant") as any;
      if (model.startsWith("anthropic")) deepEqual(asked.extra, [{ type: "thinking", thinking: "how bright?", signature: "c2ln" }]); // biome-ignore format: one
    });
  }
});
