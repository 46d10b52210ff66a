// What stderr says while a turn runs, and what plugins print on their own.
import type { Answer } from "../contract.ts";
import { observeEvent } from "../events.ts";
import { keptRulesFile } from "../gate/rules.ts";
import { trustFile } from "../gate/trust.ts";
import { type Core, MAX_TRIES } from "../instance.ts";
import { pluginInStack } from "../plugins/import-plugin.ts";
import { unknownSettings } from "../settings/change-settings.ts";
import { keysFile } from "../settings/settings-files.ts";
import { say, wrapForTerminal } from "../system/streams.ts";
import { whyNoObject } from "../text/read-quietly.ts";
import { plural } from "../text/words.ts";

/**
 * Notes go to stderr. Everything else that a person sees during a turn comes from plugins/terminal.
 */
export function narrateTurns(core: Core): void {
  let isShownLive = false; // then plugins/terminal shows every call, or a dialog does elsewhere
  observeEvent(
    core,
    "started",
    (startedFact) => void (isShownLive = startedFact.live || startedFact.stays),
  );
  observeEvent(
    core,
    "called",
    ({ call, result }) =>
      void (result.refused && !isShownLive && say(core.io, `${call.name}: ${result.text}`)),
  );
  observeEvent(core, "noted", ({ text, command }) => {
    if (command && core.showCommandNote) core.showCommandNote(text);
    else if (!core.options.quiet) showToPerson(core, wrapForTerminal(core.io, text));
  });
  if (core.options.quiet) return;
  observeEvent(core, "retried", ({ attempt, wait, reason }) =>
    say(
      core.io,
      `${reason.replace(/ Try again\.$/, "")} Trying again in ${(wait / 1000).toFixed(1)} ` +
        `s (${attempt} of ${MAX_TRIES - 1}).`,
    ),
  );
}

/** What is wrong with plugins and settings, once they are read. */
export function sayFaults(core: Core): void {
  const failures = core.plugins.flatMap(({ failure }) => failure ?? []);
  const settingFaults = core.options.quiet ? [] : unknownSettings(core);
  const { home } = core.options;
  const uselessFiles = [keysFile(home), keptRulesFile(home), trustFile(home)].filter(whyNoObject);
  const fileFaults = uselessFiles.map((file) => `Cannot use '${file}': ${whyNoObject(file)}`);
  for (const sentence of [...failures, ...settingFaults, ...fileFaults]) say(core.io, sentence);
}

/**
 * Sends what plugins print to stderr, each line with the plugin's name: stdout is for the answer,
 * or for a script.
 */
export function catchConsole(core: Core, isScript: boolean): void {
  if (!core.io.console) return;
  const consoleMethods = core.io.console as unknown as Record<string, any>;
  const originals = { ...consoleMethods };
  const stdout: any = { write: tellPerson };
  let pluginConsole: Record<string, any> | undefined; // created at the first output
  let pluginName: string | undefined;
  for (const methodName of Object.keys(consoleMethods))
    if (typeof consoleMethods[methodName] === "function" && methodName !== "Console")
      consoleMethods[methodName] = (...parameters: unknown[]) => {
        pluginName = pluginInStack(String(new Error().stack));
        if (isScript && !pluginName) return originals[methodName](...parameters);
        pluginConsole ??= new originals.Console({ stdout, ignoreErrors: false }) as Record<
          string,
          any
        >;
        return pluginConsole[methodName](...parameters);
      };

  function tellPerson(printedText: string): boolean {
    const printedLines = printedText.replace(/\n$/, "").split("\n");
    showToPerson(
      core,
      printedLines
        .map((printedLine) => (pluginName ? `${pluginName}: ${printedLine}` : printedLine))
        .join("\n"),
    );
    return true;
  }
}

/** Tokens are left out if the server did not report them. */
export function usageLine({ model, usage: { input, output, cached }, calls, ms }: Answer): string {
  const tokenParts =
    input || output
      ? [`${input} tokens in${cached ? ` (${cached} cached)` : ""}, ${output} out`]
      : [];
  return [model, ...tokenParts, plural(calls.length, "call"), `${(ms / 1000).toFixed(1)} s`].join(
    " · ",
  );
}

/** Works while a line is being typed, too. */
const showToPerson = (core: Core, shownText: string): void =>
  core.showNote ? core.showNote(shownText) : say(core.io, shownText);
