// A clock for tests that stands still until the test moves it, so that no rule about time depends
// on how fast the machine is.

import type { Clock } from "../kernel/contract.ts";
import { CLOCK, sleepWith } from "../kernel/text/clock.ts";
import { fault } from "../kernel/text/faults.ts";

export interface StandingClock extends Clock {
  /** Moves on by so many ms. What is due on the way happens in its order, each with all that
   * follows from it at once. Files and servers take real time: wait for what they do before the
   * clock moves on. */
  pass(ms: number): Promise<void>;
  /**
   * Waits until something waits for that long, or for up to `most`. Returns for how long: `pass()`
   * that many ms reaches just it.
   */
  waits(ms: number, maxMs?: number): Promise<number>;
}

/** Real time. Only a test that hangs takes so long. */
const HANGS_MS = 150_000;

/** What takes so long is a limit, for which no test waits. */
const IS_LIMIT_MS = 5_000;
const atLeast = (ms: number): number => (ms < IS_LIMIT_MS ? ms : Math.max(ms, HANGS_MS));

/** As it is, whatever tests make of CLOCK. */
const MACHINE = { ...CLOCK };
/**
 * The machine's, but what has a limit gets one that only a hang reaches: how busy the machine is
 * decides nothing.
 */
export const PATIENT: Clock = {
  ...CLOCK,
  timer: (ms, act, options) => MACHINE.timer(atLeast(ms), act, options),
  limit: (ms) => MACHINE.limit(Math.max(ms, HANGS_MS)),
};

type Due = { at: number; ms: number; act: () => void };

export function standingClock(): StandingClock {
  const pending = new Set<Due>();
  const awaited = new Set<{ fits(ms: number): boolean; go: (ms: number) => void }>();
  let time = 0;
  const timer: Clock["timer"] = (ms, act) => {
    const due = { at: time + (ms > 0 ? ms : 0), ms, act };
    pending.add(due);
    for (const waiting of awaited) if (waiting.fits(ms)) waiting.go(ms);
    return () => void pending.delete(due);
  };
  return {
    now: () => time,
    timer,
    sleep: (ms, signal) => sleepWith({ timer }, ms, signal),
    limit(ms) {
      const end = new AbortController();
      timer(ms, () =>
        end.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
      );
      return end.signal;
    },
    async pass(ms) {
      if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY))
        throw fault(`Cannot pass ${ms} ms. Give a number from 0 up.`);
      const end = time + ms;
      for (;;) {
        const next = [...pending].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        time = next.at;
        pending.delete(next);
        next.act();
        await settle();
      }
      time = end;
    },
    async waits(least, maxMs = least) {
      const fits = (ms: number) => ms >= least && ms <= maxMs;
      const current = [...pending].find(({ ms }) => fits(ms));
      if (current) return current.at - time;
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const waiter = { fits, go: resolve };
      awaited.add(waiter);
      const hangs = setTimeout(() => {
        const pendingTimes = [...pending].map(({ ms }) => `${ms} ms`).join(", ") || "nothing";
        reject(fault(`Nothing came that waits for ${least} ms. What waits: ${pendingTimes}.`));
      }, HANGS_MS);
      hangs.unref();
      return promise.finally(() => {
        awaited.delete(waiter);
        clearTimeout(hangs);
      });
    },
  };
}

/** Lets everything happen that waits for nothing but its turn. */
const settle = () => new Promise<void>((done) => setImmediate(() => setImmediate(done)));
