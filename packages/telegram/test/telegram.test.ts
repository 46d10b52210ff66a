// A conversation on the phone, from the pairing to the answer.
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { say } from "../../../test/support/fake/openai.ts";
import { ALICE, MALLORY, TOKEN } from "./fake-bot-api.ts";
import { codeOf, phone } from "./phone.ts";

describe("--telegram", () => {
  test("pairs by the code of the terminal, answers, and tells a stranger nothing", async () => {
    const one = await phone([say("It is **two**.")], { isPaired: false });
    const { api, model } = one;
    api.say("hello"); // before the pairing Alice is a stranger, too
    api.say("hello", { from: MALLORY });
    api.say((await codeOf(one)).toLowerCase(), { from: MALLORY });
    const code = await codeOf(one);
    api.say(`/start ${code}`);
    await api.sees(/This chat is paired/);
    api.say(code, { from: MALLORY }); // a code counts once
    api.say("1 + 1?");
    const answer = await api.sees(/^It is two\.$/);
    equal(answer.texts[0], "…");
    equal(model.requests.length, 1);
    match(one.said(), /'Alice' is paired, in 'Alice'\. The next code: /);
    doesNotMatch(one.said(), new RegExp(TOKEN.split(":")[1]!));
    deepEqual(
      api.messages.filter(({ chat }) => chat !== ALICE.id),
      [],
    );
  });
});
