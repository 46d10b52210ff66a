// How fast a provider is asked, by a clock that stands still until it is moved.
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { standingClock } from "zz/test";
import { spanOf } from "zz/text";
import { paceOf } from "../pace.ts";

const URL = "http://127.0.0.1/v1/chat/completions";
const request = (body = "") => ({ url: URL, method: "POST", body });
const answer = (headers: Record<string, string> = {}) => ({
  ok: true,
  status: 200,
  headers: { get: (name: string) => headers[name] ?? null },
});

/** `send` sends so many at once; `when` is the time of the clock at which each reached the server. */
function sending(reply: (n: number) => object) {
  const clock = standingClock();
  const when: number[] = [];
  const pace: any = paceOf(clock);
  const next = async () => {
    when.push(clock.now());
    const given = reply(when.length);
    if (given instanceof Error) throw given;
    return given;
  };
  const send = async (count: number) => {
    const all = Promise.all(Array.from({ length: count }, () => pace(request(), next)));
    await Promise.race([all.catch(() => {}), new Promise(setImmediate)]);
    return { all };
  };
  return { clock, when, send };
}
const refusal = (status: number, after?: number) =>
  Object.assign(new Error("no"), { status, ...(after !== undefined && { after }) });

const LIMITS: [what: string, headers: Record<string, string>][] = [
  [
    "OpenAI's headers",
    {
      "x-ratelimit-limit-requests": "2",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "1m0s",
    },
  ],
  [
    "Anthropic's headers",
    {
      "anthropic-ratelimit-requests-limit": "2",
      "anthropic-ratelimit-requests-remaining": "0",
      "anthropic-ratelimit-requests-reset": "60",
    },
  ],
];
for (const [what, headers] of LIMITS)
  test(`${what}: no request goes beyond what is left until the limit is whole again`, async () => {
    const { clock, when, send } = sending((n) => answer(n === 1 ? headers : {}));
    await send(1);
    const { all: later } = await send(2);
    await clock.pass(59_000);
    equal(when.length, 1);
    await clock.pass(2_000);
    await later;
    deepEqual(when, [0, 60_000, 60_000]);
  });

test("a refusal with retry-after holds all jobs back, and the request is sent again", async () => {
  const { clock, when, send } = sending((n) => (n === 1 ? refusal(429, 5_000) : answer()));
  const { all } = await send(1);
  const { all: others } = await send(2);
  await clock.pass(4_900);
  deepEqual(when, [0]);
  await clock.pass(200);
  await Promise.all([all, others]);
  deepEqual(when, [0, 5_000, 5_000, 5_000]);
});

test("until one is answered, a single request asks at a time", async () => {
  const { clock, when, send } = sending((n) => (n === 1 ? refusal(500) : answer()));
  const { all } = await send(3);
  deepEqual(when, [0]);
  await clock.pass(60);
  await all.catch(() => {});
  deepEqual(when, [0, 25, 25]);
});

for (const [what, error] of [
  ["a refusal without a time", refusal(429)],
  ["another error", refusal(500, 1_000)],
  ["a pause of a day", refusal(429, 86_400_000)],
] as const)
  test(`${what} is left to those who try again`, async () => {
    const { when, send } = sending(() => error);
    const { all } = await send(1);
    equal(await all.catch((thrown) => thrown), error);
    equal(when.length, 1);
  });

test("spans are read as servers write them", () =>
  deepEqual(
    ["20ms", "6m0s", "1.5s", "1h", "7", "soon", ""].map((text) => spanOf(text)),
    [20, 360_000, 1_500, 3_600_000, 7_000, undefined, undefined],
  ));
