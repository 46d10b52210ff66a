// A process that checks plugins, one after the other: the conversation goes on meanwhile, and its memory goes with it.
import module from "node:module";
import type { Problem } from "./check.ts";

export type Order = { id: number; file: string; text?: string | undefined };
export type Outcome = { id: number; problems?: Problem[]; failure?: string };

module.enableCompileCache();
const { check } = await import("./check.ts");
module.flushCompileCache();

process.on("message", ({ id, file, text }: Order) => {
  const outcome: Outcome = { id };
  try {
    outcome.problems = check(file, text);
  } catch (error) {
    outcome.failure = error instanceof Error ? error.message : String(error);
  }
  process.send!(outcome);
});
process.on("disconnect", () => process.exit()); // nobody waits any more
process.on("SIGINT", () => {}); // whoever started it says when to stop
