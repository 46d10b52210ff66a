// One pace for many workers, beside a server that counts in windows, fails, and is late in both
// directions: however the answers come, it never gets more than it takes.
import { deepEqual, equal } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { needs } from "../../../../test/support/needs.ts";
import { redisServer } from "../../../redis/test/server.ts";
import { keysOf } from "../../job.ts";
import { sharedPace } from "../../shared-pace.ts";

const test = needs("redis-server");
const RATE = 40;
const WINDOW_MS = 100;
const WORKERS = 24;
const REQUESTS = 1_500;

/** Chance that is the same at each run. */
function chances(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function windowedServer(chance: () => number) {
  let [used, ends] = [0, 0];
  const most: number[] = [];
  const answer = async () => {
    await sleep(chance() * 20);
    const now = performance.now();
    if (now >= ends) {
      most.push(used);
      [used, ends] = [0, now + WINDOW_MS];
    }
    used++;
    const told: Record<string, string> = {
      "x-ratelimit-limit-requests": `${RATE}`,
      "x-ratelimit-remaining-requests": `${Math.max(0, RATE - used)}`,
      "x-ratelimit-reset-requests": `${Math.ceil(ends - now)}ms`,
    };
    const isFailed = chance() < 0.3;
    await sleep(chance() * 20);
    if (isFailed) throw Object.assign(new Error("no"), { status: 500 });
    return { ok: true, status: 200, headers: { get: (name: string) => told[name] ?? null } };
  };
  return { answer, most: () => [...most, used] };
}

for (const seed of [1, 2, 3])
  test(`workers together never ask faster than the server takes, with chances from ${seed}`, async () => {
    const redis = await redisServer();
    const client = new Redis(redis.port);
    const chance = chances(seed);
    const server = windowedServer(chance);
    const clock = { sleep: (ms: number) => sleep(ms) };
    const shared = { client, keys: keysOf("p"), attempt: (act: () => unknown) => act() };
    const pace: any = sharedPace(shared as never, clock as never);
    let left = REQUESTS;
    const work = async () => {
      while (left-- > 0)
        await pace({ url: "http://127.0.0.1/v1", method: "POST", body: "" }, server.answer).catch(
          () => {},
        );
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
    client.disconnect();
    equal(
      server.most().reduce((sum, count) => sum + count),
      REQUESTS,
    );
    deepEqual(
      server.most().filter((count) => count > RATE),
      [],
    );
  });
