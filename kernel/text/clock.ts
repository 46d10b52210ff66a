// Time for everything that waits or measures: the machine's clock, unless a program or a test hands
// in its own with `io.clock`.
import type { Clock, Io } from "../contract.ts";

const LONGEST_MS = 2 ** 31 - 1; // setTimeout() fires at once beyond it

export const CLOCK: Clock = {
  now: () => process.uptime() * 1_000, // performance.now() loads node:perf_hooks, which takes 1 ms
  timer(ms, act, { background = false } = {}) {
    const timer = setTimeout(act, Math.min(ms, LONGEST_MS));
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
  sleep: (ms, signal) => sleepWith(CLOCK, ms, signal),
  limit: (ms) => AbortSignal.timeout(Math.min(ms, LONGEST_MS)),
};

export const clockOf = ({ clock = CLOCK }: Io): Clock => clock;

/** Sleeps by a clock's timers. Rejects with the signal's reason as soon as that aborts. */
export function sleepWith(
  { timer }: Pick<Clock, "timer">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (signal?.aborted) return Promise.reject(signal.reason);
  const cancel = timer(ms, resolve);
  const stop = () => reject(signal?.reason);
  signal?.addEventListener("abort", stop, { once: true });
  return promise.finally(() => {
    cancel();
    signal?.removeEventListener("abort", stop);
  });
}
