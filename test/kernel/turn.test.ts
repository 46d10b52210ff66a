// The turn loop, through real plugins and a real stream, in this process.
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Delta, Zz } from "zz";
import { harness, type Step, standingClock } from "zz/test";
import { openChat } from "../../kernel/conversation/chat.ts";
import { createZz, runTurn } from "../../zz.ts";
import { delta, fakeOpenAI, problems, say, stream } from "../support/fake/openai.ts";
import { place } from "../support/run.ts";
import { waitFor } from "../support/wait.ts";

/** Tools whose calls end when the test says so, and how many ran at once when each of them
 * began. */
function naps() {
  const running = new Map<string, () => void>();
  const beside: string[] = [];
  const nap = (name: string, more: object) => ({
    name,
    description: "Sleeps.",
    params: { id: "string" },
    ...more,
    run: ({ id }: any) =>
      new Promise<string>((done) => {
        running.set(id, () => void (running.delete(id) && done(id)));
        beside.push(`${id} ${running.size}`);
      }),
  });
  const plugin = (zz: Zz) => {
    zz.tool(nap("look", { needs: ({ id }: { id: string }) => ({ read: [id.trim()] }) }));
    zz.tool(nap("change", { needs: () => ({ write: ["x"] }) }));
  };
  /** Waits until just these run, and ends them, the last first. */
  const end = async (...ids: string[]) => {
    await waitFor(`${ids} to run`, () => [...running.keys()].join() === ids.join(), () => [...running.keys()]); // biome-ignore format: one line
    for (const wake of [...running.values()].reverse()) wake();
  };
  return { plugin, beside, end };
}
const ORDERS: [what: string, calls: string, ...together: string[]][] = [
  ["Calls that only read run side by side, at most four", "look a,look b,look c,look d,look e", "a b c d", "e"],
  ["Calls that change something run one at a time", "change a,change b,change c", "a", "b", "c"],
  ["A call that changes something waits for the reads before it and holds up those after it", "look a,look b,change c,look d", "a b", "c", "d"],
]; // biome-ignore format: a table
for (const [what, calls, ...together] of ORDERS)
  test(`${what}; their results stand in call order`, async (t) => {
    const { plugin, beside, end } = naps();
    const asked = calls.split(",").map((call) => call.split(" ") as [string, string]);
    const script: Step[] = [{ calls: asked.map(([name, id]) => [name, { id }]) }, "ok"];
    const zz = await harness({ plugins: [plugin], script, answer: "yes" }, t);
    const answered = zz.ask("go");
    for (const ids of together) await end(...ids.split(" "));
    const { results } = await answered;
    deepEqual(results.map(({ text }) => text), asked.map(([, id]) => id)); // biome-ignore format: short
    deepEqual(beside, together.flatMap((ids) => ids.split(" ").map((id, i) => `${id} ${i + 1}`))); // biome-ignore format: short
  });

const RUNS: [what: string, run: () => unknown, text: RegExp, failed: true | undefined][] = [
  ["returns a string", () => "fine", /^fine$/, undefined],
  ["throws", () => { throw new Error("no ink. Buy some."); }, /^no ink\. Buy some\.$/, true],
  ["returns nothing", () => {}, /^'t' gave no result\. Its run\(\) must return text or \{ text \}\.$/, true],
  ["takes too long", () => new Promise(() => {}), /^'t' took longer than 0\.07 s/, true],
  ["fails by itself", () => ({ text: "half", failed: true }), /^half$/, true],
]; // biome-ignore format: a table
for (const [what, run, text, failed] of RUNS)
  test(`A tool that ${what} becomes a result that the model reads`, async (t) => {
    const clock = standingClock();
    const plugin = (zz: Zz) =>
      zz.tool({ name: "t", description: "d", timeout: 70, run: run as () => string });
    const zz = await harness({ plugins: [plugin], script: [{ call: ["t"] }, "ok"], clock }, t);
    const asked = zz.ask("go");
    if (what === "takes too long") await clock.waits(70);
    await clock.pass(what === "takes too long" ? 70 : 0);
    const said = await asked;
    match(said.results[0]!.text, text);
    deepEqual([said.text, said.results[0]!.failed], ["ok", failed]);
    equal(zz.requests[1]!.messages.at(-1)!.text, said.results[0]!.text);
  });

test("What the person was asked about is what runs: a tool cannot change its arguments", async (t) => {
  const run = ({ list }: { list: string[] }) => `${list.push("more")}`;
  const plugin = (zz: Zz) =>
    zz.tool({ name: "t", description: "d", params: { list: "string[]" }, run });
  const zz = await harness({ plugins: [plugin] }, t);
  match((await zz.call("t", { list: ["one"] })).text, /not extensible|read only/);
});

test("The phases of a turn with tools, in order", async (t) => {
  const plugin = (zz: Zz) => zz.tool({ name: "t", description: "d", run: () => "x" });
  const zz = await harness({ plugins: [plugin], script: [{ call: ["t"] }, "ok"] }, t);
  await zz.ask("go");
  const phases = zz.events.flatMap((fact) => (fact.type === "phase" ? fact.to : []));
  deepEqual(
    phases.join(" "),
    "thinking planning_tools executing_tools thinking responding done idle",
  );
});

test("Aborting closes the connection, keeps what had come as an unfinished message, and leaves the chat usable", async (t) => {
  const half = { ...stream(delta({ content: "Half an ans" })), ending: "hang" as const };
  const fake = await fakeOpenAI([half, say("whole")]);
  t.after(fake.close);
  const where = place();
  const zz = await createZz({
    root: where.cwd,
    home: where.home,
    own: false,
    baseUrl: fake.url,
    key: "x",
  });
  const chat = openChat(zz, "openai/m");
  t.after(() => chat.session?.close());
  let isHere = false;
  zz.observers.push({
    owner: "",
    value: { event: "received", limit: 5_000, see: () => void (isHere = true) },
  });
  const turn = runTurn(zz, chat, "go");
  await waitFor("the half", () => isHere);
  chat.stop.abort();
  await rejects(turn, { message: "Stopped.", exit: 130 });
  await fake.requests[0]!.aborted;
  equal((await runTurn(zz, chat, "again")).text, "whole");
  deepEqual(problems(fake.requests[1]!.body), []);
  const cut = where.sessions()[0]!.flatMap(({ message }) => (message?.cut ? message.text : []));
  deepEqual(cut, ["Half an ans"]);
});

/** A provider that may be silent for half a second, and yields one of these each 100 ms; without a
 * finish it is silent then. */
async function slow(t: TestContext, ...answers: Delta[][]) {
  const clock = standingClock();
  let [asked, stopped]: [number, number | undefined] = [0, undefined];
  const plugin = (zz: Zz) =>
    zz.provider({
      name: "slow",
      models: async () => [],
      async *chat(_, signal) {
        asked++;
        signal.addEventListener("abort", () => (stopped = clock.now()));
        for (const delta of answers.shift() ?? []) {
          await clock.sleep(100, signal);
          yield delta;
          if ("finish" in delta) return;
        }
        await clock.sleep(100_000, signal);
      },
    });
  const zz = await harness(
    { plugins: [plugin], model: "slow/m", settings: { timeout: 0.5 }, clock },
    t,
  );
  /** What was said, and after how long it was stopped. */
  const ask = async (words: string) => {
    const [from, before] = [clock.now(), asked];
    const said = zz.ask(words).then(({ text }) => text, ({ message }) => message as string); // biome-ignore format: one line
    await waitFor("the provider to be asked", () => asked > before);
    await clock.pass(10_000);
    const result = [await said, stopped && stopped - from];
    stopped = undefined;
    return result;
  };
  return { ask };
}
const [sign, word, stop]: Delta[] = [{ text: "" }, { text: "a" }, { finish: "stop" }];
const signs = (count: number): Delta[] => Array.from({ length: count }, () => sign!);

test("A provider that says nothing for too long is asked once more, and then given up", async (t) => {
  const { ask } = await slow(t, [], [word!, stop!], [], []);
  equal((await ask("go"))[0], "a");
  equal(
    (await ask("again"))[0],
    `'slow' sent nothing for 0.5 s. Try again, or raise "timeout" in the settings.`,
  );
  equal(
    (await ask("and again"))[0],
    `'slow' sent nothing for 0.5 s. Try again, or raise "timeout" in the settings.`,
  );
});

test("Signs of life alone put silence off no longer than four times the limit; with words between them they do", async (t) => {
  const { ask } = await slow(
    t,
    [...signs(14), word!, ...signs(14), word!, stop!],
    signs(60),
    signs(60),
  );
  deepEqual(await ask("go"), ["aa", undefined]);
  const [said] = await ask("again");
  match(String(said), /^'slow' sent nothing but signs of life for 2 s\. Try again/);
});
