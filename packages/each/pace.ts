// How fast a provider may be asked, learnt from the headers of its answers, for all jobs together.
// A refusal with retry-after holds all of them back, and the request that met it is sent again.
import type { Around, Clock, Fault, HttpAnswer, Steps } from "zz";
import { CHARS_PER_TOKEN, rateLimitIn } from "zz/text";

/** What is left of one limit until it is whole again. */
interface Allowance {
  limit: number;
  left: number;
  whole: number; // when
}
interface Pace {
  requests?: Allowance;
  tokens?: Allowance;
  pausedUntil: number;
  sent: number;
  sentTokens: number;
}
type Fetch = Steps["fetch"];

const MAX_REFUSALS = 20;
const MAX_PAUSE_MS = 600_000; // a longer one is a quota, and the run ends with it

export function paceOf(clock: Clock): Around<Fetch> {
  const paces = new Map<string, Pace>();
  return async (request, next) => {
    if (request.method !== "POST") return next(request);
    const { origin } = new URL(request.url);
    const pace: Pace = paces.get(origin) ?? { pausedUntil: 0, sent: 0, sentTokens: 0 };
    paces.set(origin, pace);
    const tokens = Math.ceil((request.body?.length ?? 0) / CHARS_PER_TOKEN);
    for (let refusals = 1; ; refusals++) {
      await allowed(pace, tokens, clock, request.signal);
      const [sent, sentTokens] = [pace.sent, pace.sentTokens];
      const answer = await next(request).catch((error: Fault) => error);
      if (!(answer instanceof Error)) {
        learn(
          pace,
          answer,
          { since: pace.sent - sent, tokensSince: pace.sentTokens - sentTokens },
          clock,
        );
        return answer;
      }
      const wait = pauseOf(answer, refusals);
      if (wait === undefined || wait > MAX_PAUSE_MS || refusals === MAX_REFUSALS) throw answer;
      pace.pausedUntil = Math.max(pace.pausedUntil, clock.now() + wait);
    }
  };
}

/** Waits until one more request of that size may be sent, and counts it. */
async function allowed(
  pace: Pace,
  tokens: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  for (;;) {
    const wait = Math.max(
      pace.pausedUntil - clock.now(),
      waitOf(pace.requests, 1, clock),
      waitOf(pace.tokens, tokens, clock),
    );
    if (wait <= 0) break;
    await clock.sleep(Math.ceil(wait), signal);
  }
  pace.sent++;
  pace.sentTokens += tokens;
  if (pace.requests) pace.requests.left--;
  if (pace.tokens) pace.tokens.left -= tokens;
}

function waitOf(allowance: Allowance | undefined, needed: number, clock: Clock): number {
  if (!allowance) return 0;
  const now = clock.now();
  if (now >= allowance.whole) allowance.left = allowance.limit;
  // the next answer says when
  if (now >= allowance.whole) allowance.whole = Number.POSITIVE_INFINITY;
  const isEnough = allowance.left >= Math.min(needed, allowance.limit);
  return isEnough || !Number.isFinite(allowance.whole) ? 0 : allowance.whole - now;
}

function learn(
  pace: Pace,
  answer: HttpAnswer,
  { since, tokensSince }: { since: number; tokensSince: number },
  clock: Clock,
) {
  for (const [kind, spent] of [
    ["requests", since],
    ["tokens", tokensSince],
  ] as const) {
    const told = rateLimitIn(answer, kind);
    if (!told) continue;
    const { limit, left, ms } = told;
    // what was sent since may not be counted in it
    pace[kind] = { limit, left: left - spent, whole: clock.now() + ms };
  }
}

/** How long a refusal asks to wait. One without a time is left to those who try again. */
function pauseOf({ status, after }: Fault, refusals: number): number | undefined {
  const isRefusal = status === 429 || status === 503 || status === 529;
  return isRefusal && after !== undefined ? Math.max(after, 10 * refusals) : undefined;
}
