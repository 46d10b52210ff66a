// A process that makes the plan of one refactoring: the conversation goes on meanwhile, and its memory goes with it.
import module from "node:module";
import type { CompilerRules, MakeCompilerGate } from "zz";
import type { Change, Opened, Order, Plan } from "./project.ts";

export type Outcome = { changes: Change[]; said: string; seen?: string[]; unread: string[] } | { failure: string };

module.enableCompileCache();

const ACTIONS: Record<string, () => Promise<(opened: Opened) => Plan>> = {
  move: async () => (await import("./moves.ts")).move,
  organize_imports: async () => (await import("./tidy.ts")).organizeImports,
  fix_imports: async () => (await import("./tidy.ts")).fixImports,
  remove_unused: async () => (await import("./tidy.ts")).removeUnused,
  change_signature: async () => (await import("./signature.ts")).changeSignature,
  extract_function: async () => (await import("./extract.ts")).extractFunction,
  extract_constant: async () => (await import("./extract.ts")).extractConstant,
};

async function outcomeOf(order: Order, rules: CompilerRules): Promise<Outcome> {
  try {
    const { open, changesOf } = await import("./project.ts");
    const { compilerGate } = (await import(rules.module)) as { compilerGate: MakeCompilerGate };
    const gate = compilerGate(rules);
    const act = await ACTIONS[order.action]!();
    const opened = open(order, gate);
    const { said, seen, ...plan } = act(opened);
    return { changes: changesOf(opened, { said, ...plan }), said, ...(seen && { seen }), unread: gate.unread() };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

process.on("message", async ({ order, rules }: { order: Order; rules: CompilerRules }) => {
  const outcome = await outcomeOf(order, rules);
  module.flushCompileCache();
  process.send!(outcome, () => process.exit());
});
process.on("disconnect", () => process.exit()); // nobody waits for it any more
process.on("SIGINT", () => {}); // the parent decides when to stop
