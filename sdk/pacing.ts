// How fast a provider is asked by all that ask it together: what it still takes is counted
// somewhere, in this process or in a server for many, and learnt from its answers.
import type { Around, Clock, Fault, HttpAnswer, Steps } from "../kernel/contract.ts";
import { CHARS_PER_TOKEN } from "../kernel/text/words.ts";
import { type RateLimit, rateLimitIn } from "./rate-limits.ts";

const MAX_REFUSALS = 20;
const MAX_PAUSE_MS = 600_000; // a longer one is a quota, which no waiting helps against
/** A single request asks until one was answered, or for so long. */
export const PROBE_MS = 30_000;
/** A request takes at most so long until the server counts it. */
export const TRANSIT_MS = 5_000;

/** How much had been sent with a request, itself included. */
export type Sent = { requests: number; tokens: number };
/** What came of a request. */
export interface News {
  pauseMs: number; // that it asks all to wait
  isAnswered: boolean;
  requests?: RateLimit | undefined;
  tokens?: RateLimit | undefined;
}
/** What is known of the servers of providers, by origin. */
export interface RequestCount {
  /** Counts one more request of so many tokens; or gives how many ms it has to wait. */
  take(origin: string, tokenCount: number): Promise<Sent | number>;
  learn(origin: string, sentTotals: Sent, news: News): Promise<void>;
}

/**
 * Around each POST: it waits until it may be sent. A refusal with a time holds all others back, and
 * the request that met it is sent again.
 */
export function pacing(clock: Clock, requestCount: RequestCount): Around<Steps["fetch"]> {
  return async (request, sendNext) => {
    if (request.method !== "POST") return sendNext(request);
    const { origin } = new URL(request.url);
    const tokenCount = Math.ceil((request.body?.length ?? 0) / CHARS_PER_TOKEN);
    for (let refusals = 1; ; refusals++) {
      const sentTotals = await takeTurn(origin, tokenCount, request.signal);
      const answerOrError = await sendNext(request).catch((requestError: Fault) => requestError);
      const pauseMs = answerOrError instanceof Error ? pauseOf(answerOrError, refusals) : undefined;
      await requestCount.learn(origin, sentTotals, newsOf(answerOrError, pauseMs));
      if (!(answerOrError instanceof Error)) return answerOrError;
      if (pauseMs === undefined || refusals === MAX_REFUSALS) throw answerOrError;
    }
  };

  async function takeTurn(
    origin: string,
    tokenCount: number,
    abortSignal?: AbortSignal,
  ): Promise<Sent> {
    for (;;) {
      const sentOrWait = await requestCount.take(origin, tokenCount);
      if (typeof sentOrWait !== "number") return sentOrWait;
      await clock.sleep(sentOrWait, abortSignal);
    }
  }
}

const newsOf = (answerOrError: HttpAnswer | Error, pauseMs = 0): News =>
  answerOrError instanceof Error
    ? { pauseMs, isAnswered: false }
    : {
        pauseMs,
        isAnswered: true,
        requests: rateLimitIn(answerOrError, "requests"),
        tokens: rateLimitIn(answerOrError, "tokens"),
      };

/** How long a refusal asks to wait. One without a time is left to those who try again. */
function pauseOf({ status, after }: Fault, refusals: number): number | undefined {
  const isRefusal = status === 429 || status === 503 || status === 529;
  if (!isRefusal || after === undefined || after > MAX_PAUSE_MS) return undefined;
  return Math.max(after, 10 * refusals);
}
