// The prompt's loop, in a real pseudo-terminal: what the screen shows and what the files hold.
import { deepEqual, doesNotMatch, equal } from "node:assert/strict";
import { test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { problems, say, stream } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { KEY } from "../support/terminal.ts";

test("The REPL answers, remembers, and leaves at Ctrl+D with 0", async (t) => {
  const term = await repl(t, { script: [say("Good day."), say("You said hello.")] });
  await term.say("hello", /Good day\.[\s\S]*61 tokens in, 9 out · 0 calls/);
  await term.say("what did I say?", "You said hello.");
  const sent = term.fake.requests[1]!.body.messages.slice(1).map((message: any) => message.content);
  deepEqual(sent, ["hello", "Good day.", "what did I say?"]);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
  equal(term.where.sessions()[0]!.filter(({ type }) => type === "message").length, 4);
});

test("Ctrl+C aborts a turn: the socket closes, the session stays, the next message is answered", async (t) => {
  const term = await repl(t, { script: [{ ...stream(), ending: "hang" }, say("Back.")] });
  term.type(`wait${KEY.enter}`);
  await term.asked();
  term.type(KEY.ctrlC);
  await term.fake.requests[0]!.aborted;
  await term.sees("Stopped.");
  await term.say("again", "Back.");
  deepEqual(problems(term.fake.requests[1]!.body), []);
});

test("Ctrl+C clears what is typed; at an empty prompt twice within a second it leaves with 130", async (t) => {
  const clock = standingClock();
  const term = await repl(t, { clock });
  await term.hit("half a thought", "half a thought");
  await term.hit(KEY.ctrlC, "^C");
  for (const times of [1, 2]) {
    await term.hit(KEY.ctrlC, new RegExp(`(Ctrl\\+C again to leave\\.[\\s\\S]*){${times}}›$`));
    await clock.pass(times === 1 ? 1_000 : 999);
  }
  term.type(KEY.ctrlC);
  equal(await term.exited, 130);
  doesNotMatch(term.screen(), /(again to leave\.[\s\S]*){3}/);
});
