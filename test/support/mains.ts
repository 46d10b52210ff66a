// Many runs of the program in a few processes that are not the test's: each with its own
// environment and folder.
import { type ChildProcess, type ForkOptions, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after } from "node:test";
import { environment, type How, type Place, type Ran } from "./run.ts";

/** Runs the program as `zz()` does, in a process that is free. What it learned of keys stays there:
 * give each run keys of its own. `who`: as whom the processes run. */
export function mains(
  who: ForkOptions = {},
): (where: Place, args: string[], how?: Pick<How, "env">) => Promise<Ran> {
  const [all, free]: ChildProcess[][] = [[], []];
  after(() => Promise.all(all!.map((child) => child.kill("SIGKILL") && once(child, "exit"))));
  return async (where, args, how = {}) => {
    const child =
      free!.pop() ??
      fork(join(import.meta.dirname, "fake", "mains.ts"), [], { execArgv: [], ...who });
    if (!all!.includes(child)) all!.push(child);
    const started = performance.now();
    const { promise, resolve, reject } = Promise.withResolvers<Omit<Ran, "ms">>();
    const ended = (code: number | null) =>
      reject(new Error(`The process ended with ${code} in the middle of a run.`));
    child.once("exit", ended).once("message", resolve);
    child.send({ args, env: environment(where, how), cwd: where.cwd });
    const ran = await promise.finally(() => child.off("exit", ended));
    free!.push(child);
    return { ...ran, ms: performance.now() - started };
  };
}
