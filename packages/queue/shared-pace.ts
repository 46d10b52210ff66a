// One pace for all workers of a queue: how much a provider still takes is counted in the server,
// learnt from the headers of its answers. Until one has answered, a single request asks alone.
import type { Around, Clock, Fault, Steps } from "zz";
import { CHARS_PER_TOKEN, rateLimitIn } from "zz/text";
import { hashOf } from "./job.ts";
import type { Connection } from "./queue.ts";
import { ALLOW, LEARN } from "./scripts.ts";

const MAX_REFUSALS = 20;
const MAX_PAUSE_MS = 600_000; // a longer one is a quota, and the job is left to others
const PROBE_MS = 30_000;
const TRANSIT_MS = 5_000; // that a request takes at most until the server counts it

type Fetch = Steps["fetch"];
type Answer = Fetch[1];

export function sharedPace({ client, keys, attempt }: Connection, clock: Clock): Around<Fetch> {
  return async (request, next) => {
    if (request.method !== "POST") return next(request);
    const key = keys.pace(hashOf(new URL(request.url).origin).slice(0, 16));
    const tokens = Math.ceil((request.body?.length ?? 0) / CHARS_PER_TOKEN);
    for (let refusals = 1; ; refusals++) {
      const sent = await allowed(key, tokens, request.signal);
      const answer = await next(request).catch((error: Fault) => error);
      const pause = answer instanceof Error ? pauseOf(answer, refusals) : 0;
      await learn(key, sent, answer, pause ?? 0);
      if (!(answer instanceof Error)) return answer;
      if (!pause || refusals === MAX_REFUSALS) throw answer;
    }
  };

  /** Waits until it may be sent; gives what has been sent with it: requests and tokens. */
  async function allowed(key: string, tokens: number, signal?: AbortSignal): Promise<number[]> {
    for (;;) {
      const given = [2, key, `${key}:sent`, tokens, PROBE_MS, TRANSIT_MS] as const;
      const [wait, ...sent] = (await attempt(() => client.eval(ALLOW, ...given))) as number[];
      if (!wait) return sent;
      await clock.sleep(wait, signal);
    }
  }

  async function learn(
    key: string,
    sent: number[],
    answer: Answer | Error,
    pause: number,
  ): Promise<void> {
    const told = (["requests", "tokens"] as const).flatMap((kind, i) => {
      const {
        limit = 0,
        left = 0,
        ms = 0,
      } = (answer instanceof Error ? undefined : rateLimitIn(answer, kind)) ?? {};
      return [sent[i]!, limit, left, Math.ceil(ms)];
    });
    const isAnswered = answer instanceof Error ? 0 : 1;
    await client.eval(LEARN, 2, key, `${key}:sent`, Math.ceil(pause), isAnswered, ...told);
  }
}

/** How long a refusal asks to wait. One without a time is left to those who try again. */
function pauseOf({ status, after }: Fault, refusals: number): number | undefined {
  const isRefusal = status === 429 || status === 503 || status === 529;
  if (!isRefusal || after === undefined || after > MAX_PAUSE_MS) return undefined;
  return Math.max(after, 10 * refusals);
}
