// Waiting for what happens: by looking for it again and again, for as long as it takes. Nothing
// here says how fast something must be.
import { setTimeout as sleep } from "node:timers/promises";

const LOOK_MS = 10;
/** Only what hangs takes so long; the runner would end the test a little later, without saying what
 * it waited for. */
export const HANGS_MS = 150_000;

/**
 * The first value that is neither false, undefined, null nor "". `what` completes "Waited for …".
 * `shown`: what there is instead.
 */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
  shown: () => unknown = () => "",
): Promise<NonNullable<T>> {
  const end = performance.now() + HANGS_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > end)
      throw new Error(`Waited for ${what}, which never came. ${shown()}`);
    await sleep(LOOK_MS);
  }
}
