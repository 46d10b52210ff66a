// Runs of zz that are no conversation: a tool called by --call, and a flag of a plugin that does
// one thing.

import type { Call, Flag } from "../contract.ts";
import { openChat } from "../conversation/chat.ts";
import { wantedModel } from "../conversation/choose-model.ts";
import { closeChat } from "../conversation/save-chat.ts";
import { type Core, type LiveChat, NO_MODEL_ID, newId, registeredValues } from "../instance.ts";
import { createCtx } from "../plugins/create-ctx.ts";
import {
  callsMeant,
  normalizeArgs,
  requireTool,
  requireToolMeant,
  runCall,
  validateArgs,
} from "../plugins/run-call.ts";
import { print, say } from "../system/streams.ts";
import { usage } from "../text/faults.ts";
import { errorMessage, veiledJson } from "../text/secrets.ts";
import { askAboutTrust, noteUnusualFolder } from "./command-line.ts";
import { type CommandLine, isJson, lastValue } from "./parse-flags.ts";
import { printResult } from "./print-outcome.ts";
import type { EarlyStop } from "./process-signals.ts";
import { connectPersonAtTerminal } from "./run-dialog.ts";

/** The way to the person in a run without a dialog; then asks about trust. */
export async function meetPerson(core: Core, chat: LiveChat): Promise<void> {
  connectPersonAtTerminal(core);
  noteUnusualFolder(core);
  await askAboutTrust(core, chat);
}

export const flagToRun = (core: Core, cli: CommandLine): Flag | undefined =>
  registeredValues(core.flags).find(({ name, run }) => run && cli.values.has(name));

/** Runs a plugin's flag that is all that zz does in a run. */
export async function runFlag(
  core: Core,
  cli: CommandLine,
  flag: Flag,
  stop: EarlyStop,
): Promise<number> {
  const { io } = core;
  if (flag.stop) stop.leave = flag.stop;
  const flagValue = cli.values.get(flag.name)!.at(-1)!;
  const aloneSentence = `--${flag.name} is all that zz does in a run`;
  if (cli.values.has("call"))
    throw usage(
      `Cannot use --call with --${flag.name}: ${aloneSentence}. Run one after the other.`,
    );
  if (cli.values.has("once")) say(io, `${aloneSentence}: --once was left out.`);
  connectPersonAtTerminal(core, flag);
  const modelName = wantedModel(core) ?? "";
  const chat = openChat(core, modelName.includes("/") ? modelName : "");
  chat.past = lastValue(cli, "session") ?? true;
  // --undo 2 works like --undo=2, and --install "" like --install=""
  const separateValue = flagValue === true && flag.optional ? cli.words.shift() : undefined;
  const valueHint = flag.value ? "one value. Quote it" : "no value. Leave it out";
  if (cli.words.length && !flag.value?.includes(" "))
    throw usage(`Cannot use '${cli.words.join(" ")}': --${flag.name} takes ${valueHint}.`);
  const flagResult = await flag.run!(separateValue ?? flagValue, createCtx(core, chat), cli);
  closeChat(core, chat);
  return printResult(io, cli, flagResult);
}

/** --call NAME [JSON] */
export async function callTool(core: Core, cli: CommandLine, stop: EarlyStop): Promise<number> {
  const chat = openChat(core, NO_MODEL_ID);
  stop.leave = () => chat.stop.abort();
  await meetPerson(core, chat);
  const calledName = lastValue(cli, "call")!;
  const meantTool = await requireToolMeant(core, calledName);
  const args = argumentsOf(cli.words.join(" ") || "{}");
  const isOwnTool = core.tools.has(calledName); // else a plugin translates its arguments, too
  const toolCall: Call = {
    id: newId("call_"),
    name: isOwnTool ? meantTool.name : calledName,
    args,
  };
  const ctx = createCtx(core, chat);
  for (const ownCall of isOwnTool ? await callsMeant(core, toolCall, ctx) : []) {
    const namedTool = await requireTool(core, ownCall.name);
    const argsHint = "zz --tools --json shows its parameters.";
    await validateArgs(namedTool, normalizeArgs(namedTool, ownCall.args), argsHint);
  }
  const { text, data, failed, refused } = await runCall({ core, chat, ctx }, toolCall);
  closeChat(core, chat);
  if (isJson(cli)) await print(core.io, veiledJson({ ok: !failed, text, data }));
  else if (!failed) await print(core.io, text);
  else if (!refused) say(core.io, text);
  if (refused) return 4;
  if (failed) return 1;
  return 0;

  function argumentsOf(argsText: string): Call["args"] {
    try {
      return JSON.parse(argsText);
    } catch (error) {
      const remedy = `Write them as '{"name": "value"}'`;
      throw usage(
        `Cannot call '${meantTool.name}': ` +
          `its arguments are not JSON (${errorMessage(error)}). ${remedy}.`,
      );
    }
  }
}
