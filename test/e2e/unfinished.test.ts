// What was interrupted or cut off is not lost: it is shown, marked, copied, continued; what was
// typed ahead waits.
import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import type { Step } from "../support/fake/http.ts";
import { delta, problems, refuse, say, stream } from "../support/fake/openai.ts";
import { pressKey, repl, sharedRepl } from "../support/repl.ts";
import { KEY } from "../support/terminal.ts";

const half = (ending: "hang" | "cut"): Step => ({
  ...stream(delta({ content: "The first half" })),
  ending,
});
const down = refuse(400, "the server is down");
const MARK = /The first half\n\[unfinished: \/continue goes on\]/;
const MIN_PAUSE_MS = 500; // before the second try; up to a quarter more, which other timers are not

const again = await sharedRepl();

test("After a stream that broke three times over what had come is shown and kept, 40 columns", async (t) => {
  const clock = standingClock();
  const script = [...Array(3).fill(half("cut")), say(" and the second.")];
  const term = await repl(t, { script, cols: 40, rows: 15, clock });
  term.type(`go${KEY.enter}`);
  for (const tries of [1, 2]) {
    const pause = await clock.waits(tries * MIN_PAUSE_MS + 0.001, 1.25 * tries * MIN_PAUSE_MS);
    match(await term.drawn(), new RegExp(`(Trying\\s+again\\s+in[\\s\\S]*){${tries}}`));
    await clock.pass(pause); // no further, so that the question's own wait is still to come
  }
  await clock.waits(50);
  await clock.pass(50);
  await term.sees("[S]kip");
  await pressKey(clock, term, "s");
  await term.sees(MARK);
  await term.sees(/›\s*$/);
  await term.say("/tree", "→ (unfinished) The first");
  await term.say("/copy", /Copied 14 characters/);
  await term.say("/sessions export talk.md", /Wrote\s/);
  match(
    readFileSync(join(term.where.cwd, "talk.md"), "utf8"),
    /The first half\n\n\*\(unfinished\)\*/,
  );
  await term.say("/continue", "and the second.");
  const { body } = term.fake.requests.at(-1)!;
  deepEqual(problems(body), []);
  match(body.messages.at(-1).content, /^Your last answer was cut off\./);
  equal(body.messages.at(-2).content, "The first half");
  await term.say("/continue", /Cannot continue: the last answer is\s+whole\./);
});

test("After a failed request the reason is shown once more, and then what became of the message", async () => {
  const term = await again([down, down, down, say("Up again.")]);
  const reasons = () => term.screen().split("the server is down").length - 1;
  await term.say("first", "[S]kip");
  const before = reasons();
  await term.hit(
    "s",
    /Your message stays in the conversation; \/retry sends it again\.\s+[^\n]*›\s*$/,
  );
  equal(reasons(), before);
  await term.say("second", /\[S\]kip[^›]*$/);
  await term.hit("a", /Took back “second”\.\s+[^\n]*›\s*$/);
  await term.say("third", /third[\s\S]*\[S\]kip[^›]*$/);
  await term.hit("r", "Up again.");
  deepEqual(term.fake.requests.at(-1)!.body.messages.slice(1), [
    { role: "user", content: "first\n\nthird" },
  ]);
});

test("Ctrl+C between two tries shows what the first had brought", async () => {
  const late = refuse(503, "busy", { "retry-after": "30" });
  const term = await again([half("cut"), late, say("Whole.")]);
  await term.say("go", "Trying again in 30.0 s");
  await term.hit(KEY.ctrlC, MARK);
});

test("An answer that the output limit cut three times says so, and /continue goes on", async () => {
  const cut = (text: string) => say(text, "length");
  const term = await again([cut("One, "), cut("two, "), cut("three, "), say("four.")]);
  const why =
    /The answer is not complete: the model's output limit cut it off\.\s\/continue\s+goes\s+on\s+from\s+there\./;
  await term.say("count", why);
  await term.say("/continue", "four.");
});

test("What was typed ahead waits in the line after a turn that was stopped; Enter sends it, and what comes after it", async () => {
  const term = await again([half("hang"), say("Second."), say("Third.")]);
  term.type(`go${KEY.enter}`);
  await term.asked();
  await term.hit(`second${KEY.enter}third${KEY.enter}`, "queued: third");
  await term.hit(
    KEY.ctrlC,
    "What you typed ahead was not sent; Enter also sends the 1 other after it.",
  );
  await term.sees(/› second$/);
  equal(term.fake.requests.length, 1, "nothing was sent");
  await term.hit(KEY.enter, /Second\.[\s\S]*Third\./);
});
