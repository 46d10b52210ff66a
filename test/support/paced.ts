// A server of a provider that counts in windows, fails, and is late in both directions; and as many
// as ask it at once, by one pace.
import { deepEqual, equal } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Around, Clock, Steps } from "../../kernel/contract.ts";

const RATE = 40;
const WINDOW_MS = 100;
const WORKERS = 24;
const REQUESTS = 1_500;
export const SEEDS = [1, 2, 3];

/** The machine's, as far as a pace needs it. */
export const RUNNING_CLOCK = {
  now: () => performance.now(),
  sleep: (ms: number) => sleep(ms),
} as Clock;

/** Asks, and fails if the server got more in one of its windows than it takes. */
export async function neverTooFast(pace: Around<Steps["fetch"]>, seed: number): Promise<void> {
  const server = windowedServer(chances(seed));
  const post: any = { url: "http://127.0.0.1/v1", method: "POST", body: "" };
  let left = REQUESTS;
  const work = async () => {
    while (left-- > 0) await (pace as any)(post, server.answer).catch(() => {});
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
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
export function rateWindows(limit: number, ms: number) {
  let [used, ends] = [0, 0];
  const over: number[] = [];
  return {
    count(): Record<string, string> {
      const now = performance.now();
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

function windowedServer(chance: () => number) {
  const windows = rateWindows(RATE, WINDOW_MS);
  const answer = async () => {
    await sleep(chance() * 20);
    const told = windows.count();
    const isFailed = chance() < 0.3;
    await sleep(chance() * 20);
    if (isFailed) throw Object.assign(new Error("no"), { status: 500 });
    return { ok: true, status: 200, headers: { get: (name: string) => told[name] ?? null } };
  };
  return { ...windows, answer };
}
