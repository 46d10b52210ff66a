// A process that makes the plan of one refactoring: the conversation goes on meanwhile, and its
// memory goes with it.
import type { CompilerRules, MakeCompilerGate } from "zz";
import { changeSignature } from "./change-signature.ts";
import { extractConstant, extractFunction } from "./extract-code.ts";
import { move } from "./move-files.ts";
import {
  type Change,
  changesOf,
  type OpenProject,
  openProject,
  type Plan,
  type RefactorRequest,
} from "./project.ts";
import { fixImports, organizeImports, removeUnused } from "./tidy-imports.ts";

export type PlannedChanges = Omit<Plan, "edits"> & { changes: Change[]; unread: string[] };

const ACTIONS: Record<string, (openedProject: OpenProject) => Plan> = {
  move,
  organize_imports: organizeImports,
  fix_imports: fixImports,
  remove_unused: removeUnused,
  change_signature: changeSignature,
  extract_function: extractFunction,
  extract_constant: extractConstant,
};

async function makePlan(
  request: RefactorRequest,
  compilerRules: CompilerRules,
): Promise<PlannedChanges> {
  const { compilerGate } = (await import(compilerRules.module)) as {
    compilerGate: MakeCompilerGate;
  };
  const fileGate = compilerGate(compilerRules);
  const openedProject = openProject(request, fileGate);
  const { edits, ...plan } = ACTIONS[request.action]!(openedProject);
  return { ...plan, changes: changesOf(openedProject, edits), unread: fileGate.unread() };
}

process.on(
  "message",
  async ({ order, rules }: { order: RefactorRequest; rules: CompilerRules }) => {
    const outcome = await makePlan(order, rules).catch((error: Error) => ({
      failure: error.message,
    }));
    if (process.connected) process.send!(outcome); // if not, it ends by itself
  },
);
process.on("SIGINT", () => {}); // the parent decides when to stop
