// The built program for tests that make their own instances: loading the source, and TypeScript with it, takes much longer.
import { join } from "node:path";
import type { Result } from "../../kernel/contract.ts";
import type { Options } from "../../kernel/core.ts";
import { roundsOf } from "./rounds.ts";
import { type Place, ROOT } from "./run.ts";

const load = (name: string) => import(join(ROOT, "dist", name));
export const kernel: typeof import("../../zz.ts") = await load("kernel.js");
export const { harness }: typeof import("../../sdk/testing.ts") = await load("test.js");
/** Asks one instance in this place again and again: each new one would load TypeScript first. */
export async function caller({ cwd: root, home }: Place, options: Options = {}) {
  const ctx = (await kernel.createZz({ root, home, save: false, ...options })).ctx();
  return (tool: string, args: object): Promise<Result> => ctx.call(tool, args);
}

export const { play, rowsOf } = roundsOf(kernel);
