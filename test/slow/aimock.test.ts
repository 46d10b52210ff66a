// A conversation of 50 turns over each wire, with a server that others wrote and that fails at every third request.
import { ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { conversation, MODELS } from "../support/aimock.ts";

const TURNS = process.env.ZZ_SHORT ? 8 : 50;

describe("aimock", { concurrency: MODELS.length }, () => {
  for (const model of MODELS)
    test(`${model}: ${TURNS} turns of one conversation under chaos`, { timeout: 600_000 }, async (t) => {
      const { answered, failed } = await conversation(model, TURNS);
      t.diagnostic(`${answered} of ${TURNS} answered`);
      for (const why of new Set(failed)) t.diagnostic(why);
      ok(answered >= TURNS * 0.7, `${answered} of ${TURNS} answered`); // two requests a turn, three tries each
    });
});
