// What a command line would run, according to bash's grammar and its words, and whether it may run
// unasked.
import os from "node:os";
import { judgeArgs } from "./args.ts";
import { makeParser } from "./grammar.ts";
import {
  addIdle,
  ask,
  type Lists,
  type Ruling,
  type Run,
  raise,
  type Simple,
  unique,
  worse,
} from "./state.ts";
import { judgeScript } from "./walk.ts";

export type { Lists, Simple } from "./state.ts";

export interface Judged {
  simple: Simple[];
  runs: string[];
  reads: string[];
  writes: string[];
  verdict: "allow" | "ask" | "deny";
  why: string;
}

const MAX_GLOB_ENTRIES = 100_000;

/** Never throws: what cannot be judged is asked about. */
export async function judgeLine(line: string, cwd: string, lists: Lists): Promise<Judged> {
  const { env = process.env } = lists;
  const found = { simple: [] as Simple[], runs: [] as string[], functions: new Set<string>() };
  try {
    const parser = await makeParser();
    const run: Run = { cwd, env, lists, parser, ...found, judgeScript, judgeArgs };
    const home = env.HOME ?? os.homedir();
    try {
      judgeScript(run, line, { dirs: [cwd], home, depth: 0, budget: { left: MAX_GLOB_ENTRIES } });
    } finally {
      parser.delete();
    }
  } catch (error) {
    const why = `zz cannot judge it: ${error instanceof Error ? error.message : error}`;
    raise(found.simple, ask(why));
    if (!found.simple.length) addIdle(found, line.trim(), {}, ask(why));
  }
  return summarize(found.simple, found.runs);
}

function summarize(simple: Simple[], runs: string[]): Judged {
  const reads = unique(simple.flatMap((one) => one.reads));
  const writes = unique(simple.flatMap((one) => one.writes));
  const worst = simple.reduce<Ruling>((all, one) => worse(all, one), { verdict: "allow", why: "" });
  const found = { simple, runs: unique(runs), reads, writes };
  if (worst.verdict === "allow" && writes.length)
    return { ...found, verdict: "ask", why: `it writes '${writes[0]}'` };
  const why =
    worst.verdict === "allow" ? unique(simple.map((one) => one.why)).join("; ") : worst.why;
  const verdict = worst.verdict === "open" || worst.verdict === "unknown" ? "ask" : worst.verdict;
  return { ...found, verdict, why };
}
