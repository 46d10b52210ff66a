// What somebody waits for, the person or another with a limit of its own, is not their own time.
import { deepEqual, equal, match } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import type { Ctx, Zz } from "zz";
import { harness, type Setup, standingClock } from "zz/test";
import { orAbort } from "../../kernel/text/deadlines.ts";

const LIMIT = 150;
const LONG = 400; // ms that the other takes

/** What a plugin may wait for, and how often the other's time has to pass. */
const WAITS: [what: string, wait: (ctx: Ctx) => Promise<unknown>, times?: number][] = [
  ["ctx.ask()", (ctx) => ctx.ask!("So? ", "yn")],
  ["ctx.edit()", (ctx) => ctx.edit!("text", "a.md")],
  ["ctx.terminal()", (ctx) => ctx.terminal!(() => ctx.io.clock.sleep(LONG))],
  ["ctx.call()", (ctx) => ctx.call("slow", {})],
  ["ctx.request()", (ctx) => ctx.request({ task: "eval", messages: [{ role: "user", text: "beside" }] })],
  ["two at once", (ctx) => Promise.all([ctx.call("slow", {}), ctx.io.clock.sleep(30).then(() => ctx.ask!("So? ", "yn")), ctx.call("none", {})]), 2],
]; // biome-ignore format: a table

async function open(t: Parameters<typeof harness>[1], plugin: (zz: Zz) => void) {
  const clock = standingClock();
  const answer = () => clock.sleep(LONG).then(() => "y");
  const slow = (zz: Zz) =>
    zz.tool({ name: "slow", description: "d", run: () => clock.sleep(LONG).then(() => "slept") });
  const beside = ({ messages }: { messages: { text: string }[] }) =>
    messages.at(-1)!.text === "beside";
  const script: Setup["script"] = [
    (request) => (beside(request) ? clock.sleep(LONG).then(() => "yes") : "ok"),
  ];
  const zz = await harness({ plugins: [plugin, slow], answer, script, clock }, t);
  zz.core.edit = () => clock.sleep(LONG).then(() => "edited");
  zz.core.terminal = (act) => act();
  const passes = async (ms: number, times = 1) => {
    for (let i = 0; i < times; i++) {
      await clock.waits(ms);
      await clock.pass(ms);
    }
  };
  return { zz, passes };
}

describe("what is waited for does not count:", () => {
  for (const [what, wait, times] of WAITS) {
    test(`${what} in a tool`, async (t) => {
      const plugin = (zz: Zz) =>
        zz.tool({
          name: "it",
          description: "d",
          timeout: LIMIT,
          run: (_, ctx) => wait(ctx).then(() => "done"),
        });
      const { zz, passes } = await open(t, plugin);
      const called = zz.call("it");
      await passes(LONG, times);
      equal((await called).text, "done");
    });

    test(`${what} in a wrapper`, async (t) => {
      const around = async (line: string, next: (line: string) => Promise<string>, ctx: Ctx) => {
        await wait(ctx);
        return next(line);
      };
      const { zz, passes } = await open(t, (zz) =>
        zz.wrap("line", around, { order: "first", limit: LIMIT }),
      );
      const asked = zz.ask("hi");
      await passes(LONG, times);
      equal((await asked).text, "ok");
    });
  }

  test("ctx.call() in an observer", async (t) => {
    const see = async (_: unknown, { call, note }: Ctx) => note((await call("slow", {})).text);
    const { zz, passes } = await open(t, (zz) => zz.on("answered", see, { limit: LIMIT }));
    const asked = zz.ask("hi");
    await passes(LONG);
    deepEqual((await asked).notes, ["slept"]);
  });

  test("but its own time does, also after it waited", async (t) => {
    const run = async (_: object, ctx: Ctx) => {
      await ctx.call("slow", {});
      await new Promise(() => {});
      return "never";
    };
    const { zz, passes } = await open(t, (zz) =>
      zz.tool({ name: "it", description: "d", timeout: LIMIT, run }),
    );
    const called = zz.call("it");
    await passes(LONG);
    await passes(LIMIT);
    match((await called).text, /^'it' took longer than 0\.15 s/);
  });
});

test("What has ended no longer listens for a stop", async () => {
  const { signal } = new AbortController();
  await orAbort(signal, Promise.resolve());
  await new Promise(setImmediate);
  deepEqual(getEventListeners(signal, "abort"), []);
});
