// What somebody waits for, the person or another with a limit of its own, is not their own time.
import { equal, match } from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ctx, Zz } from "zz";
import { harness, type Setup } from "zz/test";

const LIMIT = 150;
const LONG = 400; // ms that the other takes
const slow = (zz: Zz) => zz.tool({ name: "slow", description: "d", run: () => sleep(LONG).then(() => "slept") });

/** What a plugin may wait for. */
const WAITS: [what: string, wait: (ctx: Ctx) => Promise<unknown>][] = [
  ["ctx.ask()", (ctx) => ctx.ask!("So? ", "yn")],
  ["ctx.edit()", (ctx) => ctx.edit!("text", "a.md")],
  ["ctx.terminal()", (ctx) => ctx.terminal!(() => sleep(LONG))],
  ["ctx.call()", (ctx) => ctx.call("slow", {})],
  ["ctx.request()", (ctx) => ctx.request({ task: "eval", messages: [{ role: "user", text: "beside" }] })],
  ["two at once", (ctx) => Promise.all([ctx.call("slow", {}), sleep(30).then(() => ctx.ask!("So? ", "yn")), ctx.call("none", {})])],
]; // biome-ignore format: a table

async function open(t: Parameters<typeof harness>[1], plugin: (zz: Zz) => void, more: Setup = {}) {
  const answer = () => sleep(LONG).then(() => "y");
  const beside = ({ messages }: { messages: { text: string }[] }) => messages.at(-1)!.text === "beside";
  const script: Setup["script"] = [(request) => (beside(request) ? sleep(LONG).then(() => "yes") : "ok")];
  const zz = await harness({ plugins: [plugin, slow], answer, script, ...more }, t);
  zz.core.edit = () => sleep(LONG).then(() => "edited");
  zz.core.terminal = (act) => act();
  return zz;
}

describe("what is waited for does not count", { concurrency: 4 }, () => {
  for (const [what, wait] of WAITS) {
    test(`${what} in a tool`, async (t) => {
      const plugin = (zz: Zz) =>
        zz.tool({ name: "it", description: "d", timeout: LIMIT, run: (_, ctx) => wait(ctx).then(() => "done") });
      const zz = await open(t, plugin);
      equal((await zz.call("it")).text, "done");
    });

    test(`${what} in a wrapper`, async (t) => {
      const around = async (line: string, next: (line: string) => Promise<string>, ctx: Ctx) => {
        await wait(ctx);
        return next(line);
      };
      const zz = await open(t, (zz) => zz.wrap("line", around, { order: "first", limit: LIMIT }));
      equal((await zz.ask("hi")).text, "ok");
    });
  }

  test("its own time does, also after it waited", async (t) => {
    const run = async (_: object, ctx: Ctx) => {
      await ctx.call("slow", {});
      await new Promise(() => {});
      return "never";
    };
    const zz = await open(t, (zz) => zz.tool({ name: "it", description: "d", timeout: LIMIT, run }));
    match((await zz.call("it")).text, /^'it' took longer than 0\.15 s/);
  });
});
