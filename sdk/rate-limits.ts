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
  kind: "requests" | "tokens",
): RateLimit | undefined {
  const kinds = kind === "tokens" ? ["tokens", "input-tokens"] : [kind];
  for (const name of kinds)
    for (const [limit, left, reset] of [
      [`x-ratelimit-limit-${name}`, `x-ratelimit-remaining-${name}`, `x-ratelimit-reset-${name}`],
      [
        `anthropic-ratelimit-${name}-limit`,
        `anthropic-ratelimit-${name}-remaining`,
        `anthropic-ratelimit-${name}-reset`,
      ],
    ] as const) {
      const ms = spanOf(headers.get(reset));
      const [most, rest] = [headers.get(limit), headers.get(left)].map((text) =>
        Number(text ?? Number.NaN),
      );
      if (most! > 0 && rest! >= 0 && ms !== undefined) return { limit: most!, left: rest!, ms };
    }
  return undefined;
}

/** How long until then: "6m0s", "20ms", seconds, or a date. */
export function spanOf(text: string | null): number | undefined {
  if (!text) return undefined;
  if (/^[\d.]+$/.test(text)) return Number(text) * 1_000;
  if (/^([\d.]+(ms|[smhd]))+$/.test(text)) {
    const parts = text.matchAll(/([\d.]+)(ms|[smhd])/g);
    return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * UNIT_MS[unit!]!, 0);
  }
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}
