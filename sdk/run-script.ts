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
    flagWords: string[],
    earlyFlags: CommandLine,
    io: Io,
    earlyStop: EarlyStop,
    isScript: boolean,
  ): Promise<{ core: Core; cli: CommandLine }>;
}

/** zz [flags] --run SCRIPT [ARGS] */
export async function runScript(
  argv: string[],
  io: Io,
  earlyStop: EarlyStop,
  story: ScriptStory,
): Promise<number> {
  const runIndex = indexOfRunFlag(argv);
  const flagWords = argv.slice(0, runIndex);
  const [runFlag = "", ...otherWords] = argv.slice(runIndex);
  const [scriptName = "", ...scriptWords] = runFlag.startsWith("--run=")
    ? [runFlag.slice("--run=".length), ...otherWords]
    : otherWords;
  if (!scriptName) throw usage("Flag --run needs a value: --run SCRIPT [ARGS].");
  const scriptFile = path.resolve(io.cwd(), scriptName);
  if (!fs.existsSync(scriptFile))
    throw usage(`Cannot run '${scriptName}': no such file. Check the path.`);
  const earlyFlags = parseFlags(flagWords, KERNEL_FLAGS);
  const { core, cli } = await story.prepare(flagWords, earlyFlags, io, earlyStop, true);
  if (cli.words.length)
    throw usage(`Cannot use '${cli.words.join(" ")}': words for a script stand after its name.`);
  connectPersonAtTerminal(core);
  noteUnusualFolder(core);
  const scriptHandle = openScript(core, scriptWords, story);
  earlyStop.leave = scriptHandle.stop;
  holdScript(scriptHandle);
  try {
    await importScript(scriptFile);
    // as under node: nothing is left to do
    await new Promise((resolveIdle) => process.once("beforeExit", resolveIdle));
  } catch (scriptError) {
    const { name } = scriptError as Error; // a sentence, of zz or of the script, needs no stack
    throw name === "Error" && !codeOf(scriptError)
      ? scriptError
      : fault(
          `Cannot run '${scriptName}' (${locationOfError(scriptError, scriptFile)}): ` +
            errorMessage(scriptError),
        );
  } finally {
    scriptHandle.end();
  }
  return scriptHandle.end() || Number(process.exitCode ?? 0);
}
