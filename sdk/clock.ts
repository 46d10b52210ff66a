// A clock for tests that stands still until the test moves it, so that no rule about time depends
// on how fast the machine is.

import type { Clock } from "../kernel/contract.ts";
import { CLOCK, sleepWith } from "../kernel/text/clock.ts";
import { fault } from "../kernel/text/faults.ts";

export interface StandingClock extends Clock {
  /**
   * Moves the clock on. Timers fire in order, and all that follows at once from one happens before
   * the next. Files and servers take real time: wait for them before you move the clock on.
   */
  pass(passedMs: number): Promise<void>;
  /**
   * Waits until some timer is set for at least `leastMs` and at most `maxMs`. Returns its ms:
   * `pass()` with them makes it fire.
   */
  waits(leastMs: number, maxMs?: number): Promise<number>;
}

/** In real time, only a test that hangs takes this long. */
const HANGS_MS = 150_000;

/** A delay from this length on is a limit, and no test waits for one. */
const IS_LIMIT_MS = 5_000;
const atLeast = (delayMs: number): number =>
  delayMs < IS_LIMIT_MS ? delayMs : Math.max(delayMs, HANGS_MS);

/** The real clock: tests may replace the functions of CLOCK. */
const MACHINE = { ...CLOCK };
/**
 * The real clock, with limits so long that only a hang reaches them: no test depends on how busy
 * the machine is.
 */
export const PATIENT: Clock = {
  ...CLOCK,
  timer: (delayMs, callback, options) => MACHINE.timer(atLeast(delayMs), callback, options),
  limit: (limitMs) => MACHINE.limit(Math.max(limitMs, HANGS_MS)),
};

type Due = { at: number; ms: number; act: () => void };

export function standingClock(): StandingClock {
  const pending = new Set<Due>();
  const awaited = new Set<{ fits(delayMs: number): boolean; go: (delayMs: number) => void }>();
  let currentTime = 0;
  const timer: Clock["timer"] = (ms, act) => {
    const dueTimer = { at: currentTime + (ms > 0 ? ms : 0), ms, act };
    pending.add(dueTimer);
    for (const waiting of awaited) if (waiting.fits(ms)) waiting.go(ms);
    return () => void pending.delete(dueTimer);
  };
  return {
    now: () => currentTime,
    timer,
    sleep: (delayMs, abortSignal) => sleepWith({ timer }, delayMs, abortSignal),
    limit(limitMs) {
      const abortController = new AbortController();
      timer(limitMs, () =>
        abortController.abort(
          new DOMException("The operation was aborted due to timeout", "TimeoutError"),
        ),
      );
      return abortController.signal;
    },
    async pass(passedMs) {
      if (!(passedMs >= 0 && passedMs < Number.POSITIVE_INFINITY))
        throw fault(`Cannot pass ${passedMs} ms. Give a number from 0 up.`);
      const endTime = currentTime + passedMs;
      for (;;) {
        const nextTimer = [...pending]
          .filter(({ at }) => at <= endTime)
          .sort((first, second) => first.at - second.at)[0];
        if (!nextTimer) break;
        currentTime = nextTimer.at;
        pending.delete(nextTimer);
        nextTimer.act();
        await settle();
      }
      currentTime = endTime;
    },
    async waits(leastMs, maxMs = leastMs) {
      const fits = (delayMs: number) => delayMs >= leastMs && delayMs <= maxMs;
      const current = [...pending].find(({ ms }) => fits(ms));
      if (current) return current.at - currentTime;
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const waiter = { fits, go: resolve };
      awaited.add(waiter);
      const hangTimer = setTimeout(() => {
        const pendingTimes = [...pending].map(({ ms }) => `${ms} ms`).join(", ") || "nothing";
        reject(fault(`Nothing came that waits for ${leastMs} ms. What waits: ${pendingTimes}.`));
      }, HANGS_MS);
      hangTimer.unref();
      return promise.finally(() => {
        awaited.delete(waiter);
        clearTimeout(hangTimer);
      });
    },
  };
}

/** Lets everything happen that waits for nothing but its turn. */
const settle = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
