// One way to obey a line, wherever it was typed: as a command, or as the next message.

import { keepStates } from "./chat.ts";
import { clockOf } from "./clock.ts";
import type { Answer, Command } from "./contract.ts";
import { type Core, commandNamed, type LiveChat, type TurnContext } from "./core.ts";
import { around, note } from "./events.ts";
import { fault } from "./faults.ts";
import { until } from "./limits.ts";
import { TEMPLATES } from "./prompt.ts";

/** Runs one turn: the loop in zz.ts. `show` prints its answer. */
export type RunTurn = (core: Core, chat: LiveChat, text: string, how?: { show?: (text: string) => unknown }) => Promise<Answer>;

/** Passes the line through its wrappers, then runs it as a command or a message. Undefined: it led to no turn. */
export async function obey(place: TurnContext, typed: string, runTurn: (text: string) => Promise<Answer>): Promise<Answer | undefined> {
  const { core, chat } = place;
  const line = await around(place, "line", typed);
  const { name, rest } = commandIn(core, line);
  if (name) await runCommand(place, commandNamed(core, name), rest);
  else if (line) chat.send(line.replace(/^\/\//, "/"));
  return sendQueued(core, chat, runTurn);
}

/** Sends each queued message as a turn of its own, also those queued meanwhile. Returns the last answer. */
export async function sendQueued(core: Core, chat: LiveChat, runTurn: (text: string) => Promise<Answer>): Promise<Answer | undefined> {
  let answer: Answer | undefined;
  try {
    for (let text = chat.queue.shift(); text !== undefined; text = chat.queue.shift()) answer = await runTurn(text);
  } finally {
    const left = chat.queue.splice(0).map((text) => `'${text.slice(0, 60)}'`);
    if (left.length) note(core, `Not sent, since the turn before did not end: ${left.join(", ")}.`);
  }
  return answer;
}

async function runCommand({ core, chat, ctx }: TurnContext, command: Command, rest: string): Promise<void> {
  const left = () => {
    note(core, `'/${command.name}' of plugin '${core.commands.get(command.name)?.owner}' did not stop, and was left behind.`);
    return fault("Stopped.", { exit: 130 });
  };
  try {
    await until(ctx.signal, ctx.command(command.name, rest), { clock: clockOf(core.io), left });
  } finally {
    keepStates(core, chat);
    ctx.progress(""); // its progress line goes away
  }
}

/** Several lines are a message, as a paste would be, unless they are for a template. */
function commandIn(core: Core, line: string): { name: string; rest: string } {
  const found = parseCommand(line);
  return !line.includes("\n") || core.commands.get(found.name)?.value.group === TEMPLATES ? found : { name: "", rest: "" };
}

/** `/undo 2` is a command; `//x` and `/` are text. */
export function parseCommand(line: string): { name: string; rest: string } {
  const match = /^\/([A-Za-z][\w-]*)(?:\s+(.*))?$/s.exec(line.trim());
  return { name: match?.[1] ?? "", rest: match?.[2]?.trim() ?? "" };
}
