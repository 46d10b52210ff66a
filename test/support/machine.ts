// How slow this machine is just now, so that a limit in ms becomes a ratio: noisy machines differ by a factor of three.
import { spawnSync } from "node:child_process";

const QUIET_START_MS = 25; // of `node -e 0`, if nothing else runs

/** The factor, at least 1, for a limit that holds on a quiet machine. */
export function slowness(): number {
  const times = Array.from({ length: 7 }, () => {
    const started = performance.now();
    spawnSync(process.execPath, ["-e", "0"]);
    return performance.now() - started;
  });
  return Math.max(1, times.sort((a, b) => a - b)[3]! / QUIET_START_MS);
}
