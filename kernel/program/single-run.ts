// Runs of zz that are no conversation: a tool called by --call, and a flag of a plugin that does one thing.

import type { Call, Flag, Io, Result } from "../contract.ts";
import { closeChat, openChat } from "../conversation/chat.ts";
import { wantedModel } from "../conversation/choose-model.ts";
import { type Core, NO_ONE, newId } from "../instance.ts";
import { context } from "../plugins/create-ctx.ts";
import { normalizeArgs, runCall, toolNamed, validate } from "../plugins/run-call.ts";
import { print, say } from "../system/streams.ts";
import { fault, usage } from "../text/faults.ts";
import { reason, veiledJson } from "../text/secrets.ts";
import { notePlace, settleTrust } from "./command-line.ts";
import { type Cli, isJson, one } from "./parse-flags.ts";
import type { Stop } from "./process-signals.ts";
import { meetPerson } from "./run-dialog.ts";

/** Runs a plugin's flag that is all that zz does in a run. */
export async function runFlag(core: Core, cli: Cli, flag: Flag): Promise<number> {
  const { io } = core;
  const value = cli.values.get(flag.name)!.at(-1)!;
  const alone = `--${flag.name} is all that zz does in a run`;
  if (cli.values.has("call")) throw usage(`Cannot use --call with --${flag.name}: ${alone}. Run one after the other.`);
  if (cli.values.has("once")) say(io, `${alone}: --once was left out.`);
  meetPerson(core, flag);
  const model = wantedModel(core) ?? "";
  const chat = openChat(core, model.includes("/") ? model : "");
  chat.past = one(cli, "session") ?? true;
  const apart = value === true && flag.optional && cli.words.shift(); // --undo 2 works like --undo=2
  const wants = flag.value ? "one value. Quote it" : "no value. Leave it out";
  if (cli.words.length && !flag.value?.endsWith(" [WORDS]"))
    throw usage(`Cannot use '${cli.words.join(" ")}': --${flag.name} takes ${wants}.`);
  const result = await flag.run!(apart || value, context(core, chat), cli);
  closeChat(core, chat);
  return printResult(io, cli, result);
}

/** --call NAME [JSON] */
export async function callTool(core: Core, cli: Cli, stop: Stop): Promise<number> {
  const chat = openChat(core, NO_ONE);
  stop.leave = () => chat.stop.abort();
  meetPerson(core);
  notePlace(core);
  await settleTrust(core, chat);
  const tool = toolNamed(core, one(cli, "call")!);
  const args = argumentsOf(cli.words.join(" ") || "{}");
  await validate(tool, normalizeArgs(tool, args), "zz --tools --json shows its parameters.");
  const call: Call = { id: newId("call_"), name: tool.name, args };
  const { text, data, failed, refused } = await runCall({ core, chat, ctx: context(core, chat) }, call);
  closeChat(core, chat);
  if (isJson(cli)) await print(core.io, veiledJson({ ok: !failed, text, data }));
  else if (!failed) await print(core.io, text);
  else if (!refused) say(core.io, text);
  return refused ? 4 : failed ? 1 : 0;

  function argumentsOf(text: string): Call["args"] {
    try {
      return JSON.parse(text);
    } catch (error) {
      const remedy = `Write them as '{"name": "value"}'`;
      throw usage(`Cannot call '${tool.name}': its arguments are not JSON (${reason(error)}). ${remedy}.`);
    }
  }
}

export async function printResult(io: Io, cli: Cli, { text, data, failed }: Result): Promise<number> {
  if (failed) throw fault(text);
  const shown = isJson(cli) && (text || data !== undefined) ? veiledJson(data ?? text) : text;
  if (shown) await print(io, shown);
  return 0;
}
