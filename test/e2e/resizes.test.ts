// Several changes of the window's size, one straight after the other: what is left on the screen is
// what there is, once.
import { equal, ok } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { call, delta, say, stream } from "../support/fake/openai.ts";
import { nobodyTypes, pressKey, type ReplOptions, repl, ticks } from "../support/repl.ts";
import { KEY } from "../support/terminal.ts";

const WIDTHS = [40, 80, 33, 100, 40];
const SETTLED_MS = 150; // without a change, and what is shown is drawn anew

/** A prompt whose clock the test moves. */
async function open(t: TestContext, options: ReplOptions = {}) {
  const clock = standingClock();
  const zz = await repl(t, { cols: 100, clock, ...options });
  return {
    ...zz,
    clock,
    async resized(pause: number): Promise<string> {
      for (const cols of WIDTHS) {
        zz.resize(cols, 24);
        await clock.pass(pause);
        await zz.drawn();
      }
      await clock.pass(SETTLED_MS);
      return zz.drawn();
    },
  };
}
/** The terminal breaks lines wherever they end. */
const count = (text: string, part: string): number =>
  text.replace(/\s+/g, "").split(part.replace(/\s+/g, "")).length - 1;

const LONG =
  "first the quick brown fox jumps over the lazy dog, and then it sleeps until the evening comes last";
for (const [reflow, pause, typed] of [
  [false, 0, "short words"],
  [false, SETTLED_MS, LONG],
  [true, 0, LONG],
] as const)
  test(`A line of ${typed.length} characters stands there once after five resizes, ${pause} ms apart${reflow ? ", where the terminal breaks it anew" : ""}`, async (t) => {
    const zz = await open(t, {
      env: { TMUX: "", TERM_PROGRAM: "", VTE_VERSION: reflow ? "7600" : "" },
    });
    zz.view.options.reflowCursorLine = reflow;
    await zz.press(typed);
    await zz.drawn();
    const shown = await zz.resized(pause);
    equal(count(shown, `› ${typed.split(" ")[0]}`), 1, shown);
    equal(count(shown, typed.split(" ").at(-1)!), 1, shown);
    ok(shown.trimEnd().split("\n").length <= 2 + Math.ceil((typed.length + 10) / 40), shown);
    zz.type(`!${KEY.enter}`);
    equal(await zz.asked(), `${typed}!`);
  });

test("The line is drawn once no change came for 150 ms", async (t) => {
  const zz = await open(t);
  await zz.press("words");
  await zz.drawn();
  const from = zz.raw().length;
  for (const cols of [60, 70]) {
    zz.resize(cols, 24);
    await zz.clock.pass(SETTLED_MS - 1);
  }
  await zz.drawn();
  equal(zz.raw().slice(from), "");
  await zz.clock.pass(1);
  await zz.drawn();
  ok(zz.raw().slice(from).includes("words"));
});

const SAID =
  "a rather long thought that takes the whole of a row of the screen, up to its very end";
/** The same while the model thinks, until `end` is called. */
async function thinking(t: TestContext) {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const thoughts = Array.from({ length: 25 }, () => delta({ reasoning_content: `${SAID} ` }));
  const zz = await open(t, {
    script: [stream(...thoughts, promise, ...say("Thought over.").body!)],
  });
  zz.type(`go${KEY.enter}`);
  const tick = () => zz.clock.pass(100).then(zz.drawn);
  await ticks(zz.clock, zz, /thinking · (\d\.\d s · )?\d+ tokens/);
  return { ...zz, tick, end };
}

for (const pause of [0, 100])
  test(`The live line leaves nothing behind after five resizes, ${pause} ms apart`, async (t) => {
    const zz = await thinking(t);
    const shown = await zz.resized(pause);
    ok(count(shown, "thinking · ") <= 1, shown);
    zz.end();
    equal(count(await zz.sees("Thought over."), "thinking · "), 0, zz.screen());
  });

test("The live line leaves nothing behind, and erases nothing else, where zz hears of a new width late", async (t) => {
  const zz = await thinking(t);
  for (const cols of [40, 100, 33, 60]) {
    zz.view.resize(cols, 24);
    await zz.tick();
    zz.resize(cols, 24);
    const shown = await zz.tick();
    ok(count(shown, "thinking · ") <= 1, shown);
    equal(count(shown, "› go"), 1, shown);
  }
  zz.end();
  equal(count(await zz.sees("Thought over."), "thinking · "), 0, zz.screen());
});

test("A question stands there once, and whole, after five resizes, and is answered", async (t) => {
  const zz = await open(t, {
    script: [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")],
  });
  zz.type(`go${KEY.enter}`);
  await nobodyTypes(zz.clock);
  const before = await zz.sees("Allow?");
  const shown = await zz.resized(60);
  equal(count(shown, "new.txt"), count(before, "new.txt"), shown);
  await pressKey(zz.clock, zz, "y");
  await zz.sees("Written.");
});
