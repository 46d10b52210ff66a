// How long this process worked, by its own processor time: another program may take all of the
// machine meanwhile, and what comes of a text should not depend on that.

export function workedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Tells whether this process has worked for longer than that since. */
export function workLimit(milliseconds: number): () => boolean {
  const limit = workedMs() + milliseconds;
  let [isOver, nextLook] = [false, 0];
  return () => {
    // asking each time would take an eighth of the time
    if (isOver || performance.now() < nextLook) return isOver;
    nextLook = performance.now() + LOOK_MS;
    return (isOver = workedMs() > limit);
  };
}
const LOOK_MS = 10;
