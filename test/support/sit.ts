// A conversation in an instance of the test's own, with zz's own plugins: for commands whose words
// are all that matters.
import { match, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { harness, type Setup } from "../../sdk/testing.ts";

export async function sit(t: Pick<TestContext, "after">, setup: Setup = {}) {
  const it = await harness({ own: true, ...setup }, t as TestContext);
  return {
    it,
    /** What a command says, or why it fails; it holds this text. */
    async tells(line: string, text: string | RegExp): Promise<string> {
      const told = await it.command(line).catch((error: Error) => [error.message]);
      const all = told.join("\n");
      if (typeof text === "string") ok(all.includes(text), `${line} told: ${all}`);
      else match(all, text);
      return all;
    },
    async say(...lines: string[]) {
      for (const line of lines) await it.ask(line);
    },
    /** What the model was sent last. */
    sent: () => it.requests.at(-1)!.messages.map(({ text }) => text),
  };
}
