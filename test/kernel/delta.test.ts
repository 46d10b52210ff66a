// What a provider yields is looked at: what is no delta is told, with the provider's name, and not
// taken for an answer.
import { deepEqual, equal, rejects } from "node:assert/strict";
import { describe, test } from "node:test";
import type { Zz } from "zz";
import { harness } from "zz/test";

const provider = (deltas: unknown[]) => {
  async function* chat() {
    yield* deltas as any[];
  }
  return (zz: Zz) => zz.provider({ name: "odd", models: async () => [], chat });
};

const FIELDS =
  "It yields { text }, { thinking }, { call }, { usage }, { extra }, { finish } or { error }: see Delta.";

describe("a provider that yields", () => {
  const WRONG: [what: string, delta: unknown, why: string][] = [
    ["a bare text", "Hello", `"Hello" is not a delta. ${FIELDS}`],
    ["null", null, `null is not a delta. ${FIELDS}`],
    ["a misspelt field", { txt: "Hello" }, `{"txt":"Hello"} is not a delta. ${FIELDS}`],
    ["a text that is none", { text: 3 }, `{"text":3} is not a delta. ${FIELDS}`],
    ["a call that is none", { call: "now" }, `{"call":"now"} is not a delta. ${FIELDS}`],
    ["a finish that is none", { finish: true }, `{"finish":true} is not a delta. ${FIELDS}`],
  ];
  for (const [what, delta, why] of WRONG)
    test(`${what} is told of, by its name`, async (t) => {
      const zz = await harness({ plugins: [provider([delta, { finish: "stop" }])] }, t);
      await zz.chat.use("odd/m");
      await rejects(zz.ask("hi"), ({ message }: Error) => {
        equal(message, `Cannot read the answer of provider 'odd': ${why}`);
        return true;
      });
    });

  test("a null where a field may be left out is as nothing", async (t) => {
    const deltas = [
      { text: null },
      { thinking: null },
      { text: "Hi." },
      { finish: null },
      { finish: "stop" },
    ];
    const zz = await harness({ plugins: [provider(deltas)] }, t);
    await zz.chat.use("odd/m");
    deepEqual([(await zz.ask("hi")).text], ["Hi."]);
  });
});
