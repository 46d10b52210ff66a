// Deadlines: how long something may take, and what happens when it takes longer.
import type { Clock, Fault } from "../contract.ts";
import { fault } from "./faults.ts";

export function withTimeout<T>(
  clock: Clock,
  promise: Promise<T>,
  ms: number,
  late: string,
): Promise<T> {
  const limit = deadline(clock, ms, () => fault(late));
  return orAbort(limit.signal, promise).finally(limit.lift);
}

export type Deadline = {
  signal: AbortSignal;
  putOff(): void;
  lift(): void;
  wait<T>(promise: Promise<T>): Promise<T>;
};
/**
 * A signal that aborts after some time. `putOff` starts it again, `wait` stops its clock while a
 * promise is pending, `lift` ends it.
 */
export function deadline(clock: Clock, ms: number, late: () => Fault): Deadline {
  const end = new AbortController();
  let cancel = () => {};
  let holds = 0; // pending waits, and the end
  const putOff = (added = 0) => {
    holds += added;
    cancel();
    if (!holds) cancel = clock.timer(ms, () => end.abort(late()));
  };
  const wait = <T>(promise: Promise<T>): Promise<T> => {
    putOff(1);
    return promise.finally(() => putOff(-1));
  };
  putOff();
  return { signal: end.signal, putOff: () => putOff(), lift: () => putOff(1), wait };
}

/** The promise, or the signal's reason, whichever comes first: for code that ignores the signal.
 * With `grace`, the code gets a moment to end by itself, and is then left behind with that
 * error. */
export function orAbort<T>(
  signal: AbortSignal,
  promise: Promise<T>,
  grace?: { clock: Clock; left(): Fault },
): Promise<T> {
  return new Promise((resolve, reject) => {
    let cancel = () => {};
    const stop = () => {
      if (!grace) reject(signal.reason);
      else cancel = grace.clock.timer(GRACE_MS, () => reject(grace.left()));
    };
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => {
      cancel();
      signal.removeEventListener("abort", stop);
    });
  });
}
const GRACE_MS = 2_000;
export const PROVIDER_TIMEOUT_MS = 10_000;
