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
    for (const [limitHeader, leftHeader, resetHeader] of [
      [
        `x-ratelimit-limit-${limitName}`,
        `x-ratelimit-remaining-${limitName}`,
        `x-ratelimit-reset-${limitName}`,
      ],
      [
        `anthropic-ratelimit-${limitName}-limit`,
        `anthropic-ratelimit-${limitName}-remaining`,
        `anthropic-ratelimit-${limitName}-reset`,
      ],
    ] as const) {
      const ms = spanOf(headers.get(resetHeader));
      const [limitCount, leftCount] = [headers.get(limitHeader), headers.get(leftHeader)].map(
        (headerText) => Number(headerText ?? Number.NaN),
      );
      if (limitCount! > 0 && leftCount! >= 0 && ms !== undefined)
        return { limit: limitCount!, left: leftCount!, ms };
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
