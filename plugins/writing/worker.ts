// A process that checks plugins one after the other: the conversation goes on meanwhile, and its memory is freed with
// it.
import module from "node:module";
import type { CompilerRules } from "zz";
import type { Checked } from "./check.ts";

export type Order = { id: number; file: string; rules: CompilerRules; text?: string | undefined };
export type Outcome = { id: number; checked?: Checked; failure?: string };

module.enableCompileCache();
const { check } = await import("./check.ts");
module.flushCompileCache();

process.on("message", async ({ id, file, rules, text }: Order) => {
  const outcome: Outcome = { id };
  try {
    outcome.checked = await check(file, rules, text);
  } catch (error) {
    outcome.failure = error instanceof Error ? error.message : String(error);
  }
  process.send!(outcome);
});
process.on("disconnect", () => process.exit()); // nobody is waiting any more
process.on("SIGINT", () => {}); // the parent decides when to stop
