// One pace for many workers: however the answers come, a server never gets more than it takes.
import { Redis } from "ioredis";
import { needs } from "../../../../test/support/needs.ts";
import { neverTooFast, SEEDS } from "../../../../test/support/paced.ts";
import { redisServer } from "../../../redis/test/server.ts";
import { keysOf } from "../../job.ts";
import { sharedPace } from "../../shared-pace.ts";

const test = needs("redis-server");

for (const seed of SEEDS)
  test(`workers together never ask faster than the server takes, with chances from ${seed}`, async () => {
    const redis = await redisServer();
    const client = new Redis(redis.port);
    const shared = { client, keys: keysOf("p"), attempt: (act: () => unknown) => act() };
    await neverTooFast(
      (clock) => sharedPace(shared as never, clock),
      seed,
      () => client.status !== "ready" || (client as any).commandQueue.length > 0,
    );
    client.disconnect();
  });
