// One pace for all workers of a queue: how much a provider still takes is counted in the server.
import type { Clock } from "zz";
import { PROBE_MS, pacing, type RateLimit, TRANSIT_MS } from "zz/text";
import { hashOf } from "./job.ts";
import type { Connection } from "./queue.ts";
import { ALLOW, LEARN } from "./scripts.ts";

export function sharedPace({ client, keys, attempt }: Connection, paceClock: Clock) {
  const keysFor = (origin: string) => {
    const paceKey = keys.pace(hashOf(origin).slice(0, 16));
    return [2, paceKey, `${paceKey}:sent`] as const;
  };
  return pacing(paceClock, {
    async take(origin, neededTokens) {
      const allowArgs = [...keysFor(origin), neededTokens, PROBE_MS, TRANSIT_MS] as const;
      const [waitMs = 0, requests = 0, sentTokens = 0] = (await attempt(() =>
        client.eval(ALLOW, ...allowArgs),
      )) as number[];
      return waitMs || { requests, tokens: sentTokens };
    },
    async learn(origin, sentCounts, { pauseMs, isAnswered, requests, tokens }) {
      const limitArgs = [
        ...toldOf(sentCounts.requests, requests),
        ...toldOf(sentCounts.tokens, tokens),
      ];
      const learnArgs = [
        ...keysFor(origin),
        Math.ceil(pauseMs),
        isAnswered ? 1 : 0,
        ...limitArgs,
      ] as const;
      await client.eval(LEARN, ...learnArgs);
    },
  });
}

const toldOf = (sentCount: number, { limit = 0, left = 0, ms = 0 }: Partial<RateLimit> = {}) => [
  sentCount,
  limit,
  left,
  Math.ceil(ms),
];
