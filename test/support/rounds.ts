// Runs one round of calls through a kernel's turn loop, as a model would make them.
import type { Message } from "../../kernel/contract.ts";
import type { Core } from "../../kernel/core.ts";

export type Got = Message & { role: "tool" };
type Kernel = Pick<typeof import("../../zz.ts"), "openChat" | "runTurn">;

const TOGETHER = 8; // a turn takes much longer than one of its calls

export function roundsOf({ openChat, runTurn }: Kernel) {
  return { play, rowsOf };

  /** What the model gets back for each call. */
  async function play(core: Core, calls: [tool: string, args: object][]): Promise<Got[]> {
    const value = {
      name: "script",
      models: async () => [],
      async *chat({ messages }: { messages: Message[] }) {
        if (messages.at(-1)!.role === "tool") yield { text: "done" };
        else for (const [i, [name, args]] of calls.entries()) yield { call: { id: `c${i}`, name, args } };
        yield { finish: "stop" };
      },
    };
    core.providers.set("script", { owner: "test", value });
    const chat = openChat(core, "script/m");
    await runTurn(core, chat, "go");
    return chat.messages.filter((message) => message.role === "tool");
  }

  /** What comes back for each row of a table of calls, some of which share a turn. */
  function rowsOf(open: () => Promise<Core>, calls: [tool: string, args: object][]): (row: number) => Promise<Got> {
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
}
