// How much memory is in use while something runs: what is garbage by then does not count, so that it is the same each time.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function inUse(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/** Its result, and by how many megabytes more were in use at some time than before. */
export async function mostInUse<T>(run: () => Promise<T>): Promise<{ result: T; megabytes: number }> {
  const before = inUse();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, inUse());
  }, 300);
  try {
    const result = await run();
    return { result, megabytes: Math.max(most, inUse()) - before };
  } finally {
    clearInterval(timer);
  }
}
