// Time for everything that waits or measures: the machine's clock, unless a program or a test hands
// in its own with `io.clock`.
import type { Clock, Io } from "../contract.ts";

const LONGEST_MS = 2 ** 31 - 1; // setTimeout() fires at once beyond it

export const CLOCK: Clock = {
  now: () => process.uptime() * 1_000, // performance.now() loads node:perf_hooks, which takes 1 ms
  timer(delayMs, callback, { background = false } = {}) {
    const timeout = setTimeout(callback, Math.min(delayMs, LONGEST_MS));
    if (background) timeout.unref();
    return () => clearTimeout(timeout);
  },
  sleep: (delayMs, abortSignal) => sleepWith(CLOCK, delayMs, abortSignal),
  limit: (timeoutMs) => AbortSignal.timeout(Math.min(timeoutMs, LONGEST_MS)),
};

export const clockOf = ({ clock = CLOCK }: Io): Clock => clock;

/** Sleeps by a clock's timers. Rejects with the signal's reason as soon as that aborts. */
export function sleepWith(
  { timer }: Pick<Clock, "timer">,
  delayMs: number,
  abortSignal?: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (abortSignal?.aborted) return Promise.reject(abortSignal.reason);
  const cancelTimer = timer(delayMs, resolve);
  const handleAbort = () => reject(abortSignal?.reason);
  abortSignal?.addEventListener("abort", handleAbort, { once: true });
  return promise.finally(() => {
    cancelTimer();
    abortSignal?.removeEventListener("abort", handleAbort);
  });
}
