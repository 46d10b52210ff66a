// Deadlines: how long something may take, and what happens when it takes longer.
import type { Fault } from "./contract.ts";
import { fault } from "./faults.ts";

export function within<T>(promise: Promise<T>, ms: number, late: string): Promise<T> {
  const limit = deadline(ms, fault(late));
  return until(limit.signal, promise).finally(limit.lift);
}

/** A signal that aborts after so many ms, unless it is put off or lifted. */
export function deadline(ms: number, late: Fault): { signal: AbortSignal; putOff(): void; lift(): void } {
  const end = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const lift = () => clearTimeout(timer);
  const putOff = () => {
    lift();
    timer = setTimeout(() => end.abort(late), Math.min(ms, 2 ** 31 - 1));
  };
  putOff();
  return { signal: end.signal, putOff, lift };
}

/** The promise, or the signal's reason, whichever comes first: for code that does not heed the signal itself. */
export function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

export const PATIENCE = 10_000;
