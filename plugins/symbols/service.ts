// The language service's thread: it answers one question after the other, from the files as they are now.
import module from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import type { CompilerRules, MakeCompilerGate } from "zz";
import { passing } from "./passing.ts";
import type { Service } from "./refs/contract.ts";
import { globals, type PageIndex, using } from "./rows.ts";
import { memoryPage } from "./store.ts";

/** A question, with the index and the sources if they have changed since the last question. */
export interface Question {
  id: number;
  ask: "references" | "named" | "rename" | "check" | "unread";
  args: unknown[];
  rules: CompilerRules; // the current rules on what may be read
  sources?: ReadonlyMap<string, string>; // see refs/state.ts
  index?: { names: string[]; pageIndexes: (Omit<PageIndex, "page"> & { rows: Uint8Array })[] };
}
export type Answer = { id: number; value?: unknown; error?: string };

const SCRIPT = /\.[cm]?[jt]sx?$/i; // what TypeScript reads; the index knows other languages too
const scripts = (names: string[]): string[] => names.filter((name) => SCRIPT.test(name));
const WARM_DELAY_MS = 1_500; // ms after an answer, before it prepares for the next question

module.enableCompileCache();
const { openService } = await import("./refs.ts");
module.flushCompileCache();

let pageIndexes: PageIndex[] = [];
let taken: ReturnType<typeof passing> | undefined;
const imports = () => (taken ??= passing(pageIndexes));
let names: string[] = [];
let sources: ReadonlyMap<string, string> = new Map();
let idle: NodeJS.Timeout | undefined;
let rulesInForce = ""; // the rules in force, as JSON
let service: Service;
let lastAnswer: Promise<unknown> = Promise.resolve();

/** Changed rules start a new service, which forgets what was read under the old ones. */
async function applyRules(rules: CompilerRules): Promise<void> {
  const text = JSON.stringify(rules);
  if (text === rulesInForce) return;
  const { compilerGate } = (await import(rules.module)) as { compilerGate: MakeCompilerGate };
  service?.close();
  service = openService(
    workerData.root,
    {
      usersOf: (names) => scripts([...new Set([...names].flatMap((name) => using(pageIndexes, name)))]),
      globals: () => globals(pageIndexes),
      passing: {
        of: (path) => imports().of(path),
        exportsOf: (path) => imports().exportsOf(path),
        taking: (what) => scripts(imports().taking(what)),
      },
    },
    compilerGate(rules),
  );
  service.update(names, sources);
  rulesInForce = text;
}

parentPort!.on("message", (question: Question) => (lastAnswer = lastAnswer.then(() => handleQuestion(question))));

async function handleQuestion({ id, ask, args, index, sources: given, rules }: Question): Promise<void> {
  clearTimeout(idle);
  const answer: Answer = { id };
  try {
    if (index) {
      pageIndexes = index.pageIndexes.map(({ rows, ...leaf }) => ({
        ...leaf,
        page: memoryPage(Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength)),
      }));
      taken = undefined;
      names = index.names;
    }
    if (given) sources = given;
    if (index || given) service?.update(names, sources);
    await applyRules(rules);
    answer.value = (service[ask] as (...args: unknown[]) => unknown)(...args);
  } catch (error) {
    answer.error = error instanceof Error ? error.message : String(error);
  }
  parentPort!.postMessage(answer);
  clearTimeout(idle);
  if (workerData.isOngoing) idle = setTimeout(warm, WARM_DELAY_MS);
}

/** One step at a time, so that a question need not wait. */
function warm(): void {
  if (service.warm()) idle = setTimeout(warm, 1);
}
