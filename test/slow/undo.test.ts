import { ok } from "node:assert/strict";
import { test } from "node:test";
import { livesHold } from "../support/undo-model.ts";

const RUNS = process.env.ZZ_SHORT ? 600 : 10_000;

test(`${RUNS} random lives of a project: undo and redo are exact to the byte, or refuse and touch nothing`, async (t) => {
  const { undone, refused } = await livesHold(RUNS);
  t.diagnostic(`${RUNS} lives, ${undone} undos and redos exact, ${refused} refused with nothing touched`);
  ok(undone > RUNS && refused > RUNS / 60);
});
