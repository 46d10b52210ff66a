// A server of a provider that counts in windows, fails, and is late in both directions; and as many
// as ask it at once, by one pace.
import { deepEqual, equal } from "node:assert/strict";
import { setImmediate as nextRound } from "node:timers/promises";
import type { Around, Clock, Steps } from "../../kernel/contract.ts";
import { standingClock } from "../../sdk/clock.ts";

const RATE = 40;
const WINDOW_MS = 100;
const WORKERS = 24;
const REQUESTS = 500;
/** At most, on the way to the server and back. */
const LATE_MS = 20;
/** What chance begins with, and which share of the requests fails. */
export const SEEDS: [seed: number, failing: number][] = [
  [1, 0.3],
  [2, 0.3],
  [28, 0.9],
  [30, 0.9],
];

/** Asks, and fails if the server got more in one of its windows than it takes. All of it by a clock
 * that stands while anything is done, so that how late something is, is said here alone. */
export async function neverTooFast(
  paceBy: (clock: Clock) => Around<Steps["fetch"]>,
  [seed, failing]: [seed: number, failing: number],
  isBusy = () => false,
): Promise<void> {
  const clock = standingClock();
  const pace = paceBy(clock);
  const server = windowedServer(clock, chances(seed), failing);
  const post: any = { url: "http://127.0.0.1/v1", method: "POST", body: "" };
  let [left, working] = [REQUESTS, WORKERS];
  const work = async () => {
    while (left-- > 0) await (pace as any)(post, server.answer).catch(() => {});
    working--;
  };
  for (let worker = 0; worker < WORKERS; worker++) void work();
  while (working) {
    while (isBusy()) await nextRound();
    await clock.pass(1);
  }
  equal(
    server.counts().reduce((sum, count) => sum + count),
    REQUESTS,
  );
  deepEqual(server.tooMany(), []);
}

/** Chance that is the same at each run. */
function chances(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** A server's count of what it got in each window, and the headers with which it tells it. */
export function rateWindows(limit: number, ms: number, timeNow = () => performance.now()) {
  let [used, ends] = [0, 0];
  const over: number[] = [];
  return {
    count(): Record<string, string> {
      const now = timeNow();
      if (now >= ends) {
        over.push(used);
        [used, ends] = [0, now + ms];
      }
      used++;
      return {
        "x-ratelimit-limit-requests": `${limit}`,
        "x-ratelimit-remaining-requests": `${Math.max(0, limit - used)}`,
        "x-ratelimit-reset-requests": `${Math.ceil(ends - now)}ms`,
      };
    },
    counts: () => [...over, used],
    tooMany: () => [...over, used].filter((count) => count > limit),
  };
}

function windowedServer(clock: Clock, chance: () => number, failing: number) {
  const windows = rateWindows(RATE, WINDOW_MS, clock.now);
  const answer = async () => {
    await clock.sleep(chance() * LATE_MS);
    const told = windows.count();
    const isFailed = chance() < failing;
    await clock.sleep(chance() * LATE_MS);
    if (isFailed) throw Object.assign(new Error("no"), { status: 500 });
    return { ok: true, status: 200, headers: { get: (name: string) => told[name] ?? null } };
  };
  return { ...windows, answer };
}
