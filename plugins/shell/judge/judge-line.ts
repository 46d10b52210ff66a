// What a command line would run, according to bash's grammar and its words, and whether it may run
// unasked.
import os from "node:os";
import { makeParser } from "./bash-grammar.ts";
import { judgeArgs } from "./judge-argv.ts";
import {
  addIdle,
  ask,
  type Lists,
  type Run,
  raise,
  type SimpleCommand,
  unique,
  worstOf,
} from "./judge-state.ts";
import { judgeScript } from "./walk-script.ts";

export type { Lists, SimpleCommand as Simple } from "./judge-state.ts";

export interface Judged {
  simple: SimpleCommand[];
  runs: string[];
  reads: string[];
  writes: string[];
  verdict: "allow" | "ask" | "deny";
  why: string;
}

const MAX_GLOB_ENTRIES = 100_000;

/** Never throws: what cannot be judged is asked about. */
export async function judgeLine(commandLine: string, cwd: string, lists: Lists): Promise<Judged> {
  const { env = process.env } = lists;
  const commands = {
    simple: [] as SimpleCommand[],
    runs: [] as string[],
    functions: new Set<string>(),
  };
  try {
    const parser = await makeParser();
    const run: Run = { cwd, env, lists, parser, ...commands, judgeScript, judgeArgs };
    const home = env.HOME ?? os.homedir();
    try {
      judgeScript(run, commandLine, {
        dirs: [cwd],
        home,
        depth: 0,
        budget: { left: MAX_GLOB_ENTRIES },
      });
    } finally {
      parser.delete();
    }
  } catch (error) {
    const reason = `zz cannot judge it: ${error instanceof Error ? error.message : error}`;
    raise(commands.simple, ask(reason));
    if (!commands.simple.length) addIdle(commands, commandLine.trim(), {}, ask(reason));
  }
  return summarize(commands.simple, commands.runs);
}

function summarize(simple: SimpleCommand[], programNames: string[]): Judged {
  const reads = unique(simple.flatMap((command) => command.reads));
  const writes = unique(simple.flatMap((command) => command.writes));
  const worstRuling = worstOf({ verdict: "allow", why: "" }, ...simple);
  const summary = { simple, runs: unique(programNames), reads, writes };
  if (worstRuling.verdict === "allow" && writes.length)
    return { ...summary, verdict: "ask", why: `it writes '${writes[0]}'` };
  const reason =
    worstRuling.verdict === "allow"
      ? unique(simple.map((command) => command.why)).join("; ")
      : worstRuling.why;
  const verdict =
    worstRuling.verdict === "open" || worstRuling.verdict === "unknown"
      ? "ask"
      : worstRuling.verdict;
  return { ...summary, verdict, why: reason };
}
