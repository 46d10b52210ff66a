// A clock for tests that stands still until the test moves it, so that no rule about time depends
// on how fast the machine is.

import type { Clock } from "../kernel/contract.ts";
import { CLOCK, sleepWith } from "../kernel/text/clock.ts";
import { fault } from "../kernel/text/faults.ts";

export interface StandingClock extends Clock {
  /** Moves on by so many ms. What is due on the way happens in its order, each with all that
   * follows from it at once. Files and servers take real time: wait for what they do before the
   * clock moves on. */
  pass(passedMs: number): Promise<void>;
  /**
   * Waits until something waits for that long, or for up to `most`. Returns for how long: `pass()`
   * that many ms reaches just it.
   */
  waits(leastMs: number, maxMs?: number): Promise<number>;
}

/** Real time. Only a test that hangs takes so long. */
const HANGS_MS = 150_000;

/** What takes so long is a limit, for which no test waits. */
const IS_LIMIT_MS = 5_000;
const atLeast = (delayMs: number): number =>
  delayMs < IS_LIMIT_MS ? delayMs : Math.max(delayMs, HANGS_MS);

/** As it is, whatever tests make of CLOCK. */
const MACHINE = { ...CLOCK };
/**
 * The machine's, but what has a limit gets one that only a hang reaches: how busy the machine is
 * decides nothing.
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
