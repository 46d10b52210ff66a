// What programs take: time, CPU, memory. For `npm run bench`; no test looks at it.
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { tryTo } from "../../kernel/text/words.ts";
import type { Figure } from "./bench.ts";

export const figure = (
  name: string,
  unit: Figure["unit"],
  runs: number,
  what: string,
  prepare: Figure["prepare"],
): Figure => ({ name, unit, runs, what, prepare });

/** CPU time of this process's children that have ended, in ms, in steps of 10. Disks and other
 * programs add nothing to it. */
export function cpuOfChildren(): number {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ");
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

/** The one in the middle. */
export const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;

/** How long it takes, in ms. */
export async function timed(act: () => unknown): Promise<number> {
  const started = performance.now();
  await act();
  return performance.now() - started;
}

/** How much CPU time of this process it takes, in ms: other programs on the machine do not
 * count. */
export async function worked(act: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

interface Took {
  ms: number;
  /** The most memory that it had, in MB. */
  peak: number;
  stdout: string;
}
/** `input`: the file that is its stdin. */
type How = { cwd: string; env?: NodeJS.ProcessEnv; input?: string };
/** What a program takes. It may not fail. */
export function took(
  command: string,
  args: readonly string[],
  { cwd, env = process.env, input = "/dev/null" }: How,
): Promise<Took> {
  const stdin = openSync(input, "r");
  const started = performance.now();
  const child = spawn(command, args, { cwd, env, stdio: [stdin, "pipe", "pipe"] });
  closeSync(stdin);
  let [stdout, stderr, peak] = ["", "", 0];
  child.stdout!.setEncoding("utf8").on("data", (text) => (stdout += text));
  child.stderr!.setEncoding("utf8").on("data", (text) => (stderr += text));
  const watch = setInterval(() => (peak = Math.max(peak, peakOf(child.pid!))), 2);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      clearInterval(watch);
      if (code === 0) resolve({ ms: performance.now() - started, peak, stdout });
      else reject(new Error(`'${command}' ended with ${code}. ${stderr.slice(-500)}`));
    });
  });
}

function peakOf(pid: number): number {
  // it may have ended
  const status = tryTo(() => readFileSync(`/proc/${pid}/status`, "utf8")) ?? "";
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
