// zz --run: a script of the person, in the settings and permissions of the flags before it.
import fs from "node:fs";
import path from "node:path";
import type { Io } from "../kernel/contract.ts";
import type { Core } from "../kernel/instance.ts";
import { locationOfError } from "../kernel/plugins/import-plugin.ts";
import { noteUnusualFolder } from "../kernel/program/command-line.ts";
import { type CommandLine, indexOfRunFlag, parseFlags } from "../kernel/program/parse-flags.ts";
import type { EarlyStop } from "../kernel/program/process-signals.ts";
import { connectPersonAtTerminal } from "../kernel/program/run-dialog.ts";
import { KERNEL_FLAGS } from "../kernel/settings/flag-table.ts";
import { codeOf, fault, usage } from "../kernel/text/faults.ts";
import { errorMessage } from "../kernel/text/secrets.ts";
import { importScript, openScript, type Story } from "./script.ts";
import { holdScript } from "./this-process.ts";

/** The parts of zz.ts that a script needs. */
interface ScriptStory extends Story {
  prepare(
    flags: string[],
    early: CommandLine,
    io: Io,
    stop: EarlyStop,
    isScript: boolean,
  ): Promise<{ core: Core; cli: CommandLine }>;
}

/** zz [flags] --run SCRIPT [ARGS] */
export async function runScript(
  argv: string[],
  io: Io,
  stop: EarlyStop,
  story: ScriptStory,
): Promise<number> {
  const runIndex = indexOfRunFlag(argv);
  const flags = argv.slice(0, runIndex);
  const [run = "", ...others] = argv.slice(runIndex);
  const [file = "", ...args] = run.startsWith("--run=")
    ? [run.slice("--run=".length), ...others]
    : others;
  if (!file) throw usage("Flag --run needs a value: --run SCRIPT [ARGS].");
  const script = path.resolve(io.cwd(), file);
  if (!fs.existsSync(script)) throw usage(`Cannot run '${file}': no such file. Check the path.`);
  const early = parseFlags(flags, KERNEL_FLAGS);
  const { core, cli } = await story.prepare(flags, early, io, stop, true);
  if (cli.words.length)
    throw usage(`Cannot use '${cli.words.join(" ")}': words for a script stand after its name.`);
  connectPersonAtTerminal(core);
  noteUnusualFolder(core);
  const handle = openScript(core, args, story);
  stop.leave = handle.stop;
  holdScript(handle);
  try {
    await importScript(script);
    // as under node: nothing is left to do
    await new Promise((idle) => process.once("beforeExit", idle));
  } catch (error) {
    const { name } = error as Error; // a sentence, of zz or of the script, needs no stack
    throw name === "Error" && !codeOf(error)
      ? error
      : fault(`Cannot run '${file}' (${locationOfError(error, script)}): ${errorMessage(error)}`);
  } finally {
    handle.end();
  }
  return handle.end() || Number(process.exitCode ?? 0);
}
