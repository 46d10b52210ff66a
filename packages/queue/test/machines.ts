// Machines of a test: a folder and a home each, one that asks and some that work.
import type { ChildProcess } from "node:child_process";
import { after } from "node:test";
import { type Place, place, type Ran, zzProcess } from "../../../test/support/run.ts";

export const LEASE = { queue: { lease_seconds: 2 } };

export interface Machine {
  where: Place;
  child(): ChildProcess;
  said(): string; // on stderr, so far
  ended: Promise<Ran>;
}
/** A zz that runs until it is told to stop. */
export function start(where: Place, args: string[], input?: string): Machine {
  let child: ChildProcess | undefined;
  let said = "";
  const ended = zzProcess(where, args, {
    ...(input !== undefined && { input }),
    started(one) {
      child = one;
      one.stderr!.on("data", (text) => (said += text));
    },
  });
  after(() => child!.kill("SIGKILL"));
  return { where, child: () => child!, said: () => said, ended };
}

export const worker = (url: string, args: string[], where = place({}, LEASE)): Machine =>
  start(where, [...args, "--work", url]);

export const rowsOf = ({ stdout }: Pick<Ran, "stdout">): any[] =>
  stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
