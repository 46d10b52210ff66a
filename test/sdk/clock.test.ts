// standingClock(): time that passes only when the test says so.
import { deepEqual, equal, rejects } from "node:assert/strict";
import { describe, test } from "node:test";
import { standingClock } from "zz/test";

/** A clock, and what was heard of it. */
function heard() {
  const clock = standingClock();
  const all: string[] = [];
  const hear = (what: string) => () => void all.push(`${what} at ${clock.now()}`);
  return { clock, all, hear };
}

describe("pass()", () => {
  test("does what is due on the way, in the order of time, and nothing else", async () => {
    const { clock, all, hear } = heard();
    clock.timer(30, hear("late"));
    clock.timer(10, hear("early"));
    clock.timer(10, hear("early too"));
    clock.timer(31, hear("beyond"));
    await clock.pass(30);
    deepEqual([all, clock.now()], [["early at 10", "early too at 10", "late at 30"], 30]);
    await clock.pass(0);
    await clock.pass(1);
    deepEqual([all.at(-1), clock.now()], ["beyond at 31", 31]);
  });

  test("reaches what was to happen at once, and time never goes back", async () => {
    const { clock, all, hear } = heard();
    await clock.pass(5);
    for (const ms of [0, -3, Number.NaN]) clock.timer(ms, hear(`${ms}`));
    await clock.pass(0);
    deepEqual(all, ["0 at 5", "-3 at 5", "NaN at 5"]);
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      await rejects(clock.pass(ms), { message: `Cannot pass ${ms} ms. Give a number from 0 up.` });
    equal(clock.now(), 5);
  });
});

describe("sleep() and limit()", () => {
  test("end with their time", async () => {
    const clock = standingClock();
    const [slept, limit] = [clock.sleep(10), clock.limit(10)];
    equal(limit.aborted, false);
    await clock.pass(10);
    await slept;
    equal(limit.reason.name, "TimeoutError");
  });

  test("a sleep ends with its signal, and leaves nothing to wait for", async () => {
    const clock = standingClock();
    const [before, stop] = [AbortSignal.abort(new Error("was stopped")), new AbortController()];
    await rejects(clock.sleep(10, before), { message: "was stopped" });
    const slept = clock.sleep(10, stop.signal);
    stop.abort(new Error("stopped"));
    await rejects(slept, { message: "stopped" });
    const { promise, resolve } = Promise.withResolvers<string>();
    const waited = clock.waits(10).then(() => resolve("of another"));
    clock.timer(10, () => {});
    await waited;
    equal(await promise, "of another");
  });
});

describe("waits()", () => {
  test("gives up when nothing ever does, and says what there is instead", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const clock = standingClock();
    const first = clock.waits(10);
    t.mock.timers.tick(150_000);
    await rejects(first, { message: "Nothing came that waits for 10 ms. What waits: nothing." });
    clock.timer(9, () => {});
    clock.timer(8, () => {});
    const second = clock.waits(10);
    t.mock.timers.tick(150_000);
    await rejects(second, {
      message: "Nothing came that waits for 10 ms. What waits: 9 ms, 8 ms.",
    });
  });
});
