// One pace for all workers of a queue: how much a provider still takes is counted in the server.
import type { Clock } from "zz";
import { PROBE_MS, pacing, type RateLimit, TRANSIT_MS } from "zz/text";
import { hashOf } from "./job.ts";
import type { Connection } from "./queue.ts";
import { ALLOW, LEARN } from "./scripts.ts";

export function sharedPace({ client, keys, attempt }: Connection, clock: Clock) {
  const keysFor = (origin: string) => {
    const key = keys.pace(hashOf(origin).slice(0, 16));
    return [2, key, `${key}:sent`] as const;
  };
  return pacing(clock, {
    async take(origin, tokens) {
      const given = [...keysFor(origin), tokens, PROBE_MS, TRANSIT_MS] as const;
      const [wait = 0, requests = 0, sentTokens = 0] = (await attempt(() =>
        client.eval(ALLOW, ...given),
      )) as number[];
      return wait || { requests, tokens: sentTokens };
    },
    async learn(origin, sent, { pauseMs, isAnswered, requests, tokens }) {
      const told = [...toldOf(sent.requests, requests), ...toldOf(sent.tokens, tokens)];
      const given = [...keysFor(origin), Math.ceil(pauseMs), isAnswered ? 1 : 0, ...told] as const;
      await client.eval(LEARN, ...given);
    },
  });
}

const toldOf = (sent: number, { limit = 0, left = 0, ms = 0 }: Partial<RateLimit> = {}) => [
  sent,
  limit,
  left,
  Math.ceil(ms),
];
