// A REPL at its prompt, with a model that plays a script, and what the model was sent.
import { equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Script } from "./fake/http.ts";
import { fakeOpenAI, say } from "./fake/openai.ts";
import { type Place, place } from "./run.ts";
import { KEY, terminal } from "./terminal.ts";

export type ReplOptions = Partial<{
  script: Script;
  where: Place;
  args: string[];
  env: Record<string, string>;
  cols: number;
  rows: number;
  shell: (zz: string) => string;
}>;

export const ESC = "\x1b";
export const [UP, DOWN, LEFT, TAB] = [`${ESC}[A`, `${ESC}[B`, `${ESC}[D`, "\t"];

export async function repl(t: TestContext, options: ReplOptions = {}) {
  const { script = [say("Good.")], where = place(), args = [], ...how } = options;
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const term = terminal(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args], how);
  await term.sees("›");
  const sent = () => fake.requests.map(({ body }) => body.messages.findLast((one: any) => one.role === "user").content);
  return {
    ...term,
    where,
    fake,
    sent,
    /** Waits for that many requests, and returns what the person said in the last one. */
    async asked(count = 1) {
      for (let left = 500; fake.requests.length < count && left; left--) await sleep(10);
      equal(fake.requests.length, count, term.screen());
      return sent().at(-1);
    },
    /** Types a message and waits until the screen shows its answer. */
    async say(text: string, sees: string | RegExp = "Good.") {
      term.type(`${text}${KEY.enter}`);
      return term.sees(sees);
    },
    async leave() {
      term.type(KEY.ctrlC);
      await sleep(30);
      term.type(KEY.ctrlD);
      equal(await term.exited, 0);
    },
  };
}
