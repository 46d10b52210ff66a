// One pace for many workers: however the answers come, a server never gets more than it takes.
import { Redis } from "ioredis";
import type { Clock } from "../../../../kernel/contract.ts";
import { needs } from "../../../../test/support/needs.ts";
import { neverTooFast, SEEDS } from "../../../../test/support/paced.ts";
import { redisServer } from "../../../redis/test/server.ts";
import { keysOf } from "../../job.ts";
import { sharedPace } from "../../shared-pace.ts";

const test = needs("redis-server");

for (const chances of SEEDS)
  test(`workers together never ask faster than the server takes, with chances ${chances.join(" of ")}`, async (t) => {
    const redis = await redisServer();
    const client = new Redis(redis.port);
    t.after(() => client.disconnect());
    let running = 0;
    const paceBy = (clock: Clock) => {
      // the server's time is the test's
      const timed = (script: string) =>
        script.replace("redis.call('TIME')", `{${clock.now() / 1_000}, 0}`);
      const standing = {
        async eval(script: string, ...values: unknown[]) {
          running++;
          return (client.eval as any)(timed(script), ...values).finally(() => running--);
        },
      };
      const connection = {
        client: standing,
        keys: keysOf("p"),
        attempt: (act: () => unknown) => act(),
      };
      return sharedPace(connection as never, clock);
    };
    await neverTooFast(paceBy, chances, () => running > 0);
  });
