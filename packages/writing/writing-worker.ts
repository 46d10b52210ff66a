// A process that checks plugins one after the other. The conversation goes on meanwhile, and the
// memory is freed when the process ends.
import module from "node:module";
import type { CompilerRules } from "zz";
import type { Checked } from "./check.ts";

export type Order = { id: number; file: string; rules: CompilerRules; text?: string | undefined };
export type Outcome = { id: number; checked?: Checked; failure?: string };

const { check } = await import("./check.ts");
module.flushCompileCache();

process.on("message", async ({ id, file, rules, text }: Order) => {
  const outcome: Outcome = { id };
  try {
    outcome.checked = await check(file, rules, text);
  } catch (error) {
    outcome.failure = error instanceof Error ? error.message : String(error);
  }
  if (process.connected) process.send!(outcome); // if not, it ends by itself
});
process.on("SIGINT", () => {}); // the parent decides when to stop
