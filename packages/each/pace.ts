// What this process knows of how fast providers may be asked, for all jobs together.
import type { Clock } from "zz";
import {
  type News,
  PROBE_MS,
  pacing,
  type RateLimit,
  type RequestCount,
  type Sent,
  TRANSIT_MS,
} from "zz/text";

const PROBE_PAUSE_MS = 25;

/** What is left of one limit until it is whole again. */
interface Allowance {
  limit: number; // 0: none that is known
  left: number;
  whole: number; // when
  span: number; // that it takes at most to be whole
  since: number; // how much had been sent when it was whole last
}
const unknown = (): Allowance => ({ limit: 0, left: 0, whole: 0, span: 0, since: 0 });

export const paceOf = (clock: Clock) => pacing(clock, countOf(clock));

function countOf(clock: Clock): RequestCount {
  const servers = new Map<string, ServerCount>();
  const of = (origin: string): ServerCount => {
    const server = servers.get(origin) ?? new ServerCount();
    servers.set(origin, server);
    return server;
  };
  return {
    take: async (origin, tokens) => of(origin).take(tokens, clock.now()),
    learn: async (origin, sent, news) => of(origin).learn(sent, news, clock.now()),
  };
}

/**
 * What is left, as answers tell it, is not enough: they come late and out of order, a failure tells
 * nothing, and nobody knows when the server begins to count again. So each request is kept until
 * when it may count there: as long as the limit takes to be whole, from its answer on, or from when
 * it must have arrived. Of those there are never more than the limit. packages/queue counts in the
 * same way in its server.
 */
class ServerCount {
  private pausedUntil = 0;
  private isKnown = false; // whether something was answered
  private probeUntil = 0;
  private sent: Sent = { requests: 0, tokens: 0 };
  private limits = { requests: unknown(), tokens: unknown() };
  private firstSentAt = Number.POSITIVE_INFINITY;
  /** How long the server may count, until an answer tells of all that it counts. */
  private longestSpan = 0;
  private isSpanSure = false;
  private counting = new Map<number, number>(); // until when, by how many were sent before it

  take(tokens: number, now: number): Sent | number {
    const wait = this.waitFor(tokens, now);
    if (wait > 0) return Math.ceil(wait);
    if (!this.isKnown) this.probeUntil = now + PROBE_MS;
    this.firstSentAt = Math.min(this.firstSentAt, now);
    const { requests, tokens: byTokens } = this.limits;
    requests.left--;
    byTokens.left -= tokens;
    this.sent = { requests: this.sent.requests + 1, tokens: this.sent.tokens + tokens };
    this.counting.set(
      this.sent.requests,
      now + TRANSIT_MS + Math.max(requests.span, this.longestSpan),
    );
    return this.sent;
  }

  private waitFor(tokens: number, now: number): number {
    return Math.max(
      this.pausedUntil - now,
      !this.isKnown && this.probeUntil > now ? PROBE_PAUSE_MS : 0,
      this.waitOf("requests", 1, now),
      this.waitOf("tokens", tokens, now),
      this.waitForCounting(now),
    );
  }

  private waitOf(kind: keyof Sent, needed: number, now: number): number {
    const allowance = this.limits[kind];
    if (!allowance.limit) return 0;
    if (now >= allowance.whole) {
      allowance.left = allowance.limit;
      allowance.since = this.sent[kind];
      allowance.whole = now + allowance.span;
    }
    const isEnough = allowance.left >= Math.min(needed, allowance.limit);
    return isEnough ? 0 : Math.max(allowance.whole - now, 1);
  }

  private waitForCounting(now: number): number {
    for (const [request, until] of this.counting) {
      if (until > now) break; // those behind it rarely end sooner
      this.counting.delete(request);
    }
    const { limit } = this.limits.requests;
    if (!limit || this.counting.size < limit) return 0;
    let first = Number.POSITIVE_INFINITY;
    for (const [request, until] of this.counting)
      if (until <= now) this.counting.delete(request);
      else first = Math.min(first, until);
    return this.counting.size < limit ? 0 : Math.max(first - now, 1);
  }

  learn(sent: Sent, { pauseMs, isAnswered, ...told }: News, now: number): void {
    if (pauseMs > 0) this.pausedUntil = Math.max(this.pausedUntil, now + pauseMs);
    if (isAnswered) this.isKnown = true;
    else this.probeUntil = 0;
    for (const kind of ["requests", "tokens"] as const) {
      const news = told[kind];
      const allowance = this.limits[kind];
      if (news) allowance.span = Math.max(allowance.span, news.ms);
      // one that was sent before the limit was whole speaks of what is over
      if (!news || sent[kind] <= allowance.since) continue;
      allowance.limit = news.limit;
      allowance.left = news.left - (this.sent[kind] - sent[kind]);
      allowance.whole = now + news.ms;
    }
    const span = this.spanAfter(told.requests, now);
    const until = this.counting.get(sent.requests);
    if (until !== undefined && span > 0)
      this.counting.set(sent.requests, Math.min(until, now + span));
  }

  /**
   * How long a request may count. One that failed may have begun what the server counts, and told
   * nothing: until an answer says that it is the first, that lasts from the first one sent on.
   */
  private spanAfter(news: RateLimit | undefined, now: number): number {
    if (news) this.isSpanSure ||= news.left >= news.limit - 1;
    if (news) this.longestSpan = Math.max(this.longestSpan, now + news.ms - this.firstSentAt);
    const { span } = this.limits.requests;
    return this.isSpanSure ? span : Math.max(span, this.longestSpan);
  }
}
