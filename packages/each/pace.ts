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
  const serverFor = (serverOrigin: string): ServerCount => {
    const serverCount = servers.get(serverOrigin) ?? new ServerCount();
    servers.set(serverOrigin, serverCount);
    return serverCount;
  };
  return {
    take: async (serverOrigin, tokensNeeded) =>
      serverFor(serverOrigin).take(tokensNeeded, clock.now()),
    learn: async (serverOrigin, sentBefore, rateNews) =>
      serverFor(serverOrigin).learn(sentBefore, rateNews, clock.now()),
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

  take(tokensNeeded: number, nowMs: number): Sent | number {
    const waitMs = this.waitFor(tokensNeeded, nowMs);
    if (waitMs > 0) return Math.ceil(waitMs);
    if (!this.isKnown) this.probeUntil = nowMs + PROBE_MS;
    this.firstSentAt = Math.min(this.firstSentAt, nowMs);
    const { requests, tokens: byTokens } = this.limits;
    requests.left--;
    byTokens.left -= tokensNeeded;
    this.sent = { requests: this.sent.requests + 1, tokens: this.sent.tokens + tokensNeeded };
    this.counting.set(
      this.sent.requests,
      nowMs + TRANSIT_MS + Math.max(requests.span, this.longestSpan),
    );
    return this.sent;
  }

  private waitFor(tokensNeeded: number, nowMs: number): number {
    return Math.max(
      this.pausedUntil - nowMs,
      !this.isKnown && this.probeUntil > nowMs ? PROBE_PAUSE_MS : 0,
      this.waitOf("requests", 1, nowMs),
      this.waitOf("tokens", tokensNeeded, nowMs),
      this.waitForCounting(nowMs),
    );
  }

  private waitOf(limitName: keyof Sent, amountNeeded: number, nowMs: number): number {
    const allowance = this.limits[limitName];
    if (!allowance.limit) return 0;
    if (nowMs >= allowance.whole) {
      allowance.left = allowance.limit;
      allowance.since = this.sent[limitName];
      allowance.whole = nowMs + allowance.span;
    }
    const isEnough = allowance.left >= Math.min(amountNeeded, allowance.limit);
    return isEnough ? 0 : Math.max(allowance.whole - nowMs, 1);
  }

  private waitForCounting(nowMs: number): number {
    for (const [request, countsUntil] of this.counting) {
      if (countsUntil > nowMs) break; // those behind it rarely end sooner
      this.counting.delete(request);
    }
    const { limit } = this.limits.requests;
    if (!limit || this.counting.size < limit) return 0;
    let earliestEnd = Number.POSITIVE_INFINITY;
    for (const [request, countsUntil] of this.counting)
      if (countsUntil <= nowMs) this.counting.delete(request);
      else earliestEnd = Math.min(earliestEnd, countsUntil);
    return this.counting.size < limit ? 0 : Math.max(earliestEnd - nowMs, 1);
  }

  learn(sentBefore: Sent, { pauseMs, isAnswered, ...told }: News, nowMs: number): void {
    if (pauseMs > 0) this.pausedUntil = Math.max(this.pausedUntil, nowMs + pauseMs);
    if (isAnswered) this.isKnown = true;
    else this.probeUntil = 0;
    for (const limitName of ["requests", "tokens"] as const) {
      const limitNews = told[limitName];
      const allowance = this.limits[limitName];
      if (limitNews) allowance.span = Math.max(allowance.span, limitNews.ms);
      // one that was sent before the limit was whole speaks of what is over
      if (!limitNews || sentBefore[limitName] <= allowance.since) continue;
      allowance.limit = limitNews.limit;
      allowance.left = limitNews.left - (this.sent[limitName] - sentBefore[limitName]);
      allowance.whole = nowMs + limitNews.ms;
    }
    const spanMs = this.spanAfter(told.requests, nowMs);
    const countsUntil = this.counting.get(sentBefore.requests);
    if (countsUntil !== undefined && spanMs > 0)
      this.counting.set(sentBefore.requests, Math.min(countsUntil, nowMs + spanMs));
  }

  /**
   * How long a request may count. One that failed may have begun what the server counts, and told
   * nothing: until an answer says that it is the first, that lasts from the first one sent on.
   */
  private spanAfter(requestNews: RateLimit | undefined, nowMs: number): number {
    if (requestNews) this.isSpanSure ||= requestNews.left >= requestNews.limit - 1;
    if (requestNews)
      this.longestSpan = Math.max(this.longestSpan, nowMs + requestNews.ms - this.firstSentAt);
    const { span } = this.limits.requests;
    return this.isSpanSure ? span : Math.max(span, this.longestSpan);
  }
}
