// During a turn, typing shows, and Escape stops the turn; while a command or a file is typed, a
// menu opens by itself.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { delta, say, stream } from "../support/fake/openai.ts";
import { DOWN, ESC, repl, sharedRepl, TAB, UP } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

/** An answer that comes once the test says so. */
function held(text: string) {
  const { promise, resolve: come } = Promise.withResolvers<void>();
  return { step: stream(promise, ...say(text).body!), come };
}

const again = await sharedRepl();

test("What is typed during a turn is seen below the live line, and stays for the next prompt", async (t) => {
  const { step, come } = held("Slow.");
  const zz = await repl(t, { cols: 40, rows: 15, script: [step, say("Next.")] });
  zz.type(`go${KEY.enter}`);
  await zz.asked();
  await zz.hit("typed meanwhile", /thinking · \d+\.\d s\n› typed meanwhile$/);
  await zz.hit("\x7f\x7f", /\n› typed meanwhi$/);
  come();
  const shown = await zz.sees(/Slow\.[\s\S]*› typed meanwhi$/);
  equal(shown.split("typed").length, 2, "the live rows are gone");
  zz.type(KEY.enter);
  equal(await zz.asked(2), "typed meanwhi");
});

test("A menu opens while a command or a file is typed, and goes", async (t) => {
  const where = place({ "src/alpha.ts": "x", "src/beta.ts": "x" });
  const zz = await repl(t, { where, cols: 40, rows: 15 });
  await zz.hit("/co", /› \/co\n[\s\S]* {2}\/compact[\s\S]* {2}\/copy/);
  doesNotMatch(await zz.hit("m", /› \/com\n[\s\S]* {2}\/compact/), /\/copy/);
  await zz.hit("\x15", /›\s*$/);
  await zz.hit("see @src/al", /› see @src\/al\n {2}src\/alpha\.ts$/);
  await zz.hit(TAB, /› see @src\/alpha\.ts$/);
  await zz.hit(` and src/be${TAB}`, / and src\/beta\.ts$/);
  zz.type(KEY.enter);
  match(await zz.asked(), /see @src\/alpha\.ts and src\/beta\.ts$/);
  doesNotMatch(await zz.sees("Good."), /^ {2}src\/alpha/m);
});

test("Files are listed 60 ms after the last key, commands at once", async (t) => {
  const [where, clock] = [place({ "alpha.ts": "x" }), standingClock()];
  const zz = await repl(t, { where, clock });
  await zz.hit("/co", /^ {2}\/compact/m);
  await zz.hit("\x15@al", /› @al$/);
  await clock.waits(60);
  await clock.pass(59);
  match(await zz.drawn(), /› @al$/);
  await clock.pass(1);
  await zz.sees(/› @al\n {2}alpha\.ts$/);
});

test("Down goes into the menu that is open, Up comes back, and an earlier line keeps its Down", async () => {
  const zz = await again();
  await zz.hit("/per", /^ {2}\/permissions/m);
  await zz.hit(DOWN, /› \/permissions/);
  zz.type(KEY.ctrlC);
  await zz.hit("/co", /^ {2}\/config/m);
  await zz.hit(DOWN, /› \/commit/);
  await zz.hit(DOWN, /› \/compact/);
  await zz.hit(UP, /› \/commit *\n/);
  zz.type(ESC);
  await zz.sees(/› \/co$/); // the menu is gone
  zz.type(KEY.ctrlC);
  await zz.say("/status", /model[\s\S]*› *$/);
  await zz.hit(UP, /› \/status$/m);
  await zz.hit(DOWN, /› *$/);
});

test("The open menu is drawn again, and fits, in a window that is made narrower and wider", async (t) => {
  const clock = standingClock();
  const zz = await repl(t, { clock });
  await zz.hit("/co", /^ {2}\/cost/m);
  for (const cols of [60, 40, 30, 80]) {
    zz.resize(cols, 24);
    await clock.pass(150);
    const rows = (await zz.drawn()).split("\n").slice(-8); // the terminal may break what is above
    ok(
      rows[0]!.endsWith("› /co") && rows.slice(1).every((row) => /^ {2}\/co/.test(row)),
      zz.screen(),
    );
    ok(Math.max(...rows.map((row) => row.length)) <= cols, zz.screen());
  }
});

test("A message sent while an answer is under way is told of in a row of its own; Ctrl+Z and Tab do nothing meanwhile", async () => {
  const { step, come } = held("Slow.");
  const zz = await again([step, say("Next.")]);
  await zz.say("go", "thinking");
  await zz.say("second", /^queued: second/m);
  await zz.press(`a${TAB}b\x1ac`);
  come();
  equal(await zz.asked(2), "second");
  await zz.sees(/Slow\.[\s\S]*Next\.[\s\S]*› abc$/);
});

test("Escape stops an answer; what had come is shown, and the line is kept", async () => {
  const half = { ...stream(delta({ content: "Half" })), ending: "hang" as const };
  const zz = await again([half, say("Whole.")]);
  await zz.say("go", /thinking · .* tokens/);
  await zz.hit("mine", /› mine$/);
  zz.type(ESC);
  await zz.fake.requests[0]!.aborted;
  await zz.sees(/Half\n\[unfinished[\s\S]*Stopped\.\n.*› mine$/);
  zz.type(KEY.enter);
  equal(await zz.asked(2), "mine");
});
