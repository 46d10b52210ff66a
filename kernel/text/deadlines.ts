// Deadlines: how long something may take, and what happens when it takes longer.
import type { Clock, Fault } from "../contract.ts";
import { fault } from "./faults.ts";

export function withTimeout<T>(
  clock: Clock,
  promise: Promise<T>,
  timeoutMs: number,
  lateMessage: string,
): Promise<T> {
  const timeLimit = deadline(clock, timeoutMs, () => fault(lateMessage));
  return orAbort(timeLimit.signal, promise).finally(timeLimit.lift);
}

export type Deadline = {
  signal: AbortSignal;
  putOff(): void;
  lift(): void;
  wait<T>(promise: Promise<T>): Promise<T>;
};
/**
 * A signal that aborts after some time. `restartTimer` starts it again, `wait` stops its clock
 * while a promise is pending, `lift` ends it.
 */
export function deadline(clock: Clock, timeoutMs: number, createFault: () => Fault): Deadline {
  const abortController = new AbortController();
  let cancelTimer = () => {};
  let holdCount = 0; // pending waits, and the end
  const restartTimer = (addedHolds = 0) => {
    holdCount += addedHolds;
    cancelTimer();
    if (!holdCount)
      cancelTimer = clock.timer(timeoutMs, () => abortController.abort(createFault()));
  };
  const wait = <T>(promise: Promise<T>): Promise<T> => {
    restartTimer(1);
    return promise.finally(() => restartTimer(-1));
  };
  restartTimer();
  return {
    signal: abortController.signal,
    putOff: () => restartTimer(),
    lift: () => restartTimer(1),
    wait,
  };
}

/** The promise, or the signal's reason, whichever comes first: for code that ignores the signal.
 * With `grace`, the code gets a moment to end by itself, and is then left behind with that
 * error. */
export function orAbort<T>(
  abortSignal: AbortSignal,
  promise: Promise<T>,
  grace?: { clock: Clock; left(): Fault },
): Promise<T> {
  return new Promise((resolve, reject) => {
    let cancelTimer = () => {};
    const handleAbort = () => {
      if (!grace) reject(abortSignal.reason);
      else cancelTimer = grace.clock.timer(GRACE_MS, () => reject(grace.left()));
    };
    if (abortSignal.aborted) handleAbort();
    abortSignal.addEventListener("abort", handleAbort, { once: true });
    promise.then(resolve, reject).finally(() => {
      cancelTimer();
      abortSignal.removeEventListener("abort", handleAbort);
    });
  });
}
const GRACE_MS = 2_000;
export const PROVIDER_TIMEOUT_MS = 10_000;
