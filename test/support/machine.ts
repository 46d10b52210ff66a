// How slow this machine is just now, so that a limit in ms becomes a ratio: noisy machines differ by a factor of three.
import { equal } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { tryTo } from "../../kernel/text.ts";

const QUIET_START_MS = 25; // of `node -e 0`, if nothing else runs

/** How long `node -e 0` takes, in ms. */
export function nodeStart(): number {
  const started = performance.now();
  spawnSync(process.execPath, ["-e", "0"]);
  return performance.now() - started;
}

/** The factor, at least 1, for a limit that holds on a quiet machine. starts: taken in turn with what is measured, or just now. */
export const slowness = (starts: readonly number[] = Array.from({ length: 7 }, nodeStart)): number =>
  Math.max(1, median(starts) / QUIET_START_MS);

/** The one a quarter from below: other work on the machine only ever adds to a time, so that this one has the least of it. */
export const undisturbed = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 4)]!;

/** CPU time of this process's children that have ended, in ms, in steps of 10. Disks and other programs add nothing to it. */
export function cpuOfChildren(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ");
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

/** The one in the middle. */
export const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;

/** How long a program takes, and how much memory at most, where that can be read; in MB. */
export async function runs(cwd: string, env: NodeJS.ProcessEnv, command: string, args: readonly string[]) {
  const started = performance.now();
  const child = spawn(command, args, { cwd, env, stdio: "ignore" });
  let peak = 0;
  const watch = setInterval(() => {
    const status = tryTo(() => readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? "";
    peak = Math.max(peak, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }, 5);
  const [code] = await once(child, "exit");
  clearInterval(watch);
  equal(code, 0);
  return { ms: performance.now() - started, peak };
}
