import { ok } from "node:assert/strict";
import { test } from "node:test";
import { livesHold } from "../support/undo-model.ts";

test("200 random lives of a project: the disk is what the model says after every step", async (t) => {
  const { undone, refused } = await livesHold(200);
  t.diagnostic(`${undone} undos and redos were exact, ${refused} were refused with nothing touched`);
  ok(undone > 100 && refused > 0); // refusals are rare by luck: between 6 and 30 in 200 lives
});
