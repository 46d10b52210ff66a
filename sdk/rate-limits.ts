// How fast a provider may be asked, as the headers of its answers say.
import type { HttpAnswer } from "../kernel/contract.ts";

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** What is left of one limit, and after how many ms it is whole again. */
export interface RateLimit {
  limit: number;
  left: number;
  ms: number;
}

export function rateLimitIn(
  { headers }: Pick<HttpAnswer, "headers">,
  limitKind: "requests" | "tokens",
): RateLimit | undefined {
  const limitKinds = limitKind === "tokens" ? ["tokens", "input-tokens"] : [limitKind];
  for (const limitName of limitKinds)
    for (const headerNamed of [
      (fact: string) => headers.get(`x-ratelimit-${fact}-${limitName}`),
      (fact: string) => headers.get(`anthropic-ratelimit-${limitName}-${fact}`),
    ]) {
      const ms = spanOf(headerNamed("reset"));
      const limit = Number(headerNamed("limit"));
      const left = Number(headerNamed("remaining") ?? "none");
      if (limit > 0 && left >= 0 && ms !== undefined) return { limit, left, ms };
    }
  return undefined;
}

/** How long until then: "6m0s", "20ms", seconds, or a date. */
export function spanOf(spanText: string | null): number | undefined {
  if (!spanText) return undefined;
  if (/^[\d.]+$/.test(spanText)) return Number(spanText) * 1_000;
  if (/^([\d.]+(ms|[smhd]))+$/.test(spanText)) {
    const spanParts = spanText.matchAll(/([\d.]+)(ms|[smhd])/g);
    return [...spanParts].reduce(
      (totalMs, [, unitCount, unitName]) => totalMs + Number(unitCount) * UNIT_MS[unitName!]!,
      0,
    );
  }
  const dateMs = Date.parse(spanText);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - Date.now());
}
