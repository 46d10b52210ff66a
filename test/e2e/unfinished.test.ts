// What was interrupted or cut off is not lost: it is shown, marked, copied, continued; what was typed ahead waits.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Step } from "../support/fake/http.ts";
import { delta, problems, refuse, say, stream } from "../support/fake/openai.ts";
import { repl, sharedRepl } from "../support/repl.ts";
import { KEY } from "../support/terminal.ts";

const half = (ending: "hang" | "cut", text = "The first half"): Step => ({
  ...stream(delta({ content: text })),
  ending,
});
const MARK = /The first half\n\[unfinished: \/continue goes on\]/;

const again = await sharedRepl();

for (const [how, ending] of [
  ["Ctrl+C", "hang"],
  ["a broken stream, three times over", "cut"],
] as const)
  for (const cols of [80, 40])
    test(`After ${how} what had come is shown and kept, ${cols} columns`, async (t) => {
      const broken = half(ending);
      const script =
        ending === "hang" ? [broken, say(" and the second.")] : [broken, broken, broken, say(" and the second.")];
      const term = await repl(t, { script, cols, rows: cols === 40 ? 15 : 24 });
      term.type(`go${KEY.enter}`);
      if (ending === "hang") {
        await term.asked();
        await sleep(200);
        term.type(KEY.ctrlC);
      } else {
        await term.sees("[S]kip");
        term.type("s");
      }
      await term.sees(MARK);
      await term.sees(/›\s*$/);
      term.type(`/tree${KEY.enter}`);
      await term.sees("→ (unfinished) The first");
      await term.say("/copy", /Copied 14 characters/);
      await term.say("/sessions export talk.md", /Wrote\s/);
      match(readFileSync(join(term.where.cwd, "talk.md"), "utf8"), /The first half\n\n\*\(unfinished\)\*/);
      await term.say("/continue", "and the second.");
      const { body } = term.fake.requests.at(-1)!;
      deepEqual(problems(body), []);
      match(body.messages.at(-1).content, /^Your last answer was cut off\./);
      equal(body.messages.at(-2).content, "The first half");
      await term.say("/continue", /Cannot continue: the last answer is\s+whole\./);
      await term.leave();
    });

test("After a failed request the reason is shown once more, and then what became of the message", async () => {
  const down = refuse(500, "the server is down");
  const term = await again([down, down, down, down, down, down, say("Up again.")]);
  const reasons = () => term.screen().split("the server is down").length - 1;
  term.type(`first${KEY.enter}`);
  await term.sees("[S]kip");
  const before = reasons();
  term.type("s");
  await term.sees(/Your message stays in the conversation; \/retry sends it again\.\s+project ›\s*$/);
  equal(reasons(), before);
  term.type(`second${KEY.enter}`);
  await term.sees(/\[S\]kip[^›]*$/);
  term.type("a");
  await term.sees(/Took back “second”\.\s+project ›\s*$/);
  await term.leave();
});

test("Words at that question are shown, send nothing, and stay for the next message", async () => {
  const down = refuse(500, "down");
  const term = await again([down, down, down, say("Here.")]);
  term.type(`go${KEY.enter}`);
  await term.sees("[S]kip");
  for (const letter of "what now") {
    term.type(letter);
    await sleep(20);
  }
  await term.sees(/\[m\]odel\? what now$/);
  term.type(KEY.enter);
  await term.sees(/› what now$/);
  equal(term.fake.requests.length, 3);
  term.type(KEY.enter);
  await term.sees("Here.");
  await term.leave();
});

test("The most that came in any of the tries is what is shown", async () => {
  const term = await again([half("cut"), half("cut", "The"), refuse(500, "down"), say("Whole.")]);
  term.type(`go${KEY.enter}`);
  await term.sees("[S]kip");
  term.type("s");
  await term.sees(MARK);
});

test("Ctrl+C between two tries shows what the first had brought", async () => {
  const late = refuse(503, "busy", { "retry-after": "30" });
  const term = await again([half("cut"), late, say("Whole.")]);
  term.type(`go${KEY.enter}`);
  await term.sees("Trying again in 30.0 s");
  term.type(KEY.ctrlC);
  await term.sees(MARK);
  await term.leave();
});

test("An answer that the output limit cut three times says so, and /continue goes on", async () => {
  const cut = (text: string) => say(text, "length");
  const term = await again([cut("One, "), cut("two, "), cut("three, "), say("four.")]);
  term.type(`count${KEY.enter}`);
  await term.sees(
    /The answer is not complete: the model's output limit cut it off\.\s\/continue\s+goes\s+on\s+from\s+there\./,
  );
  await term.say("/continue", "four.");
});

test("An answer of several requests that is stopped in the last shows all of it", async () => {
  const term = await again([say("One, ", "length"), half("hang", "two")]);
  term.type(`count${KEY.enter}`);
  await term.asked(2);
  await sleep(200);
  term.type(KEY.ctrlC);
  await term.sees(/One, two\n\[unfinished/);
  await term.leave();
});

test("What was typed ahead waits in the line after a turn that was stopped; Enter sends it, and what comes after it", async (t) => {
  const term = await repl(t, { script: [half("hang"), say("Second."), say("Third.")] });
  term.type(`go${KEY.enter}`);
  await term.asked();
  term.type(`second${KEY.enter}third${KEY.enter}`);
  await term.sees("queued: third");
  term.type(KEY.ctrlC);
  await term.sees("What you typed ahead was not sent; Enter also sends the 1 other after it.");
  await term.sees(/› second$/);
  await sleep(100);
  equal(term.fake.requests.length, 1, "nothing was sent");
  term.type(KEY.enter);
  await term.sees(/Second\.[\s\S]*Third\./);
  deepEqual(term.sent(), ["go", "second", "third"]);
});

test("What was typed ahead waits after a failure too, and Ctrl+C drops it", async (t) => {
  const term = await repl(t, { script: [stream(300), refuse(400, "no"), say("New.")] });
  term.type(`go${KEY.enter}`);
  await term.asked();
  term.type(`second${KEY.enter}third${KEY.enter}`);
  await term.sees("[S]kip");
  term.type("s");
  await term.sees(/› second$/);
  term.type(KEY.ctrlC);
  await term.sees("^C");
  await term.say("new", "New.");
  ok(!term.sent().some((text) => /third/.test(text)), String(term.sent()));
});
