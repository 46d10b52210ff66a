// Instances made from the source, and rounds of calls through their turn loop, as a model would
// make them.
import type { Message, Result } from "../../kernel/contract.ts";
import type { Core, Options } from "../../kernel/instance.ts";
import * as kernel from "../../zz.ts";
import type { Place } from "./run.ts";

export { harness } from "../../sdk/testing.ts";
export { kernel };

export type Got = Message & { role: "tool" };
const TOGETHER = 8; // a turn takes much longer than one of its calls

/** What the model gets back for each call. */
export async function play(core: Core, calls: [tool: string, args: object][]): Promise<Got[]> {
  const value = {
    name: "script",
    models: async () => [],
    async *chat({ messages }: { messages: Message[] }) {
      if (messages.at(-1)!.role === "tool") yield { text: "done" };
      else
        for (const [i, [name, args]] of calls.entries())
          yield { call: { id: `c${i}`, name, args } };
      yield { finish: "stop" };
    },
  };
  core.providers.set("script", { owner: "test", value });
  const chat = kernel.openChat(core, "script/m");
  await kernel.runTurn(core, chat, "go");
  return chat.messages.filter((message) => message.role === "tool");
}

/** What comes back for each row of a table of calls, some of which share a turn. */
export function rowsOf(
  open: () => Promise<Core>,
  calls: [tool: string, args: object][],
): (row: number) => Promise<Got> {
  const turns = new Map<number, Promise<Got[]>>();
  return async (row) => {
    const from = row - (row % TOGETHER);
    const own = calls.slice(from, from + TOGETHER);
    if (!turns.has(from))
      turns.set(
        from,
        open().then((core) => play(core, own)),
      );
    return (await turns.get(from)!)[row - from]!;
  };
}

/** Asks one instance in this place again and again: each new one would load TypeScript first. */
export async function caller({ cwd: root, home }: Place, options: Options = {}) {
  const ctx = (await kernel.createZz({ root, home, save: false, ...options })).ctx();
  return (tool: string, args: object): Promise<Result> => ctx.call(tool, args);
}
