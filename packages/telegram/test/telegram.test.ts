// A conversation on the phone, from the pairing to the answer.
import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { say } from "../../../test/support/fake/openai.ts";
import { ALICE, MALLORY } from "./fake-bot-api.ts";
import { phone } from "./phone.ts";

describe("--telegram", () => {
  test("pairs by the code of the terminal, answers, and tells a stranger nothing", async () => {
    const { api, model } = await phone([say("It is **two**.")]);
    api.say("hello", { from: MALLORY });
    api.say("1 + 1?");
    await api.sees(/^It is two\.$/);
    equal(model.requests.length, 1);
    deepEqual(
      api.messages.filter(({ chat }) => chat !== ALICE.id),
      [],
    );
  });
});
