// A REPL at its prompt, with a model that plays a script, and what the model was sent.
import { equal } from "node:assert/strict";
import { after, type TestContext } from "node:test";
import type { StandingClock } from "../../sdk/clock.ts";
import type { Fake, Script } from "./fake/http.ts";
import { fakeOpenAI, say } from "./fake/openai.ts";
import { type Place, place } from "./run.ts";
import { KEY, type Terminal, type TerminalOptions, terminal } from "./terminal.ts";
import { waitFor } from "./wait.ts";

export type ReplOptions = TerminalOptions &
  Partial<{ script: Script; where: Place; args: string[] }>;

export const ESC = "\x1b";
const CTRL_U = "\x15"; // drops what stands in the line
export const [UP, DOWN, LEFT, TAB] = [`${ESC}[A`, `${ESC}[B`, `${ESC}[D`, "\t"];

/** Passes the moment without a key that a question waits for before it shows, or before it takes a
 * key on a further page. */
export async function nobodyTypes(clock: StandingClock): Promise<void> {
  await clock.waits(LOOK_MS);
  await clock.pass(LOOK_MS);
}
const LOOK_MS = 50;

/** Presses a key of a question, and passes the moment in which it may turn out to begin a word. */
export async function pressKey(clock: StandingClock, term: Pick<Terminal, "press">, key: string) {
  await term.press(key);
  await clock.waits(WORD_MS);
  await clock.pass(WORD_MS);
}
const WORD_MS = 250;

/** Lets the live line move on until the screen shows the text. */
export async function ticks(clock: StandingClock, term: Terminal, text: RegExp | string) {
  return waitFor(`${text} on the live line`, async () => {
    await clock.pass(TICK_MS);
    const shown = await term.drawn();
    const isShown = typeof text === "string" ? shown.includes(text) : text.test(shown);
    return isShown ? shown : "";
  });
}
const TICK_MS = 100;

export async function repl(t: TestContext, options: ReplOptions = {}) {
  const { script = [say("Good.")], where = place(), args = [], ...how } = options;
  const fake = await fakeOpenAI(script);
  t.after(fake.close);
  const term = terminal(
    where,
    ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args],
    how,
  );
  t.after(term.hangUp);
  await term.sees("›");
  return at(term, where, fake);
}

/** One prompt for several tests of a file, opened before the first of them (node:test ends when
 * none is left). Each test gets a conversation, a screen and a script of its own, and may leave
 * something in the line; settings, models, files and the history of lines are those of the tests
 * before. It is left, with its exit code looked at, when the file ends. */
export async function sharedRepl({
  where = place(),
  args = [],
  ...how
}: Omit<ReplOptions, "script"> = {}) {
  let [script, first]: [Script, number] = [[], 0];
  const fake = await fakeOpenAI((seen, turn) =>
    typeof script === "function"
      ? script(seen, turn - first)
      : (script[Math.min(turn - first, script.length - 1)] ?? {}),
  );
  let turns = 0; // of the tests before, and of this one so far
  let [isFresh, isGone] = [true, false];
  after(async () => {
    if (!isGone) await one.leave();
    await fake.close();
  });
  const open = () => {
    const term = terminal(
      where,
      ["-m", "openai/m", "--base-url", fake.url, "--key", "x", ...args],
      { ...how, isShared: true },
    );
    [isFresh, isGone] = [true, false];
    term.exited.then(() => (isGone = true));
    return at(term, where, fake);
  };
  let one = open();
  return async (next: Script = [say("Good.")]) => {
    if (isGone) one = open(); // a test that failed ended it
    await one.sees(/›[^\n]*(\n {2}[^\n]*)*$/); // the turn before may end yet; a menu may be open
    if (!isFresh) one.type(`${CTRL_U}/new${KEY.enter}`);
    await one.sees(isFresh ? "›" : /A new conversation\.[^›]*›$/);
    isFresh = false;
    one.view.clear(); // all but the row of the prompt
    turns += fake.requests.length;
    [script, first] = [next, turns];
    fake.requests.length = 0;
    const { raw, sees, ...rest } = one;
    const from = raw().length;
    return { ...rest, sees, raw: () => raw().slice(from), leave: () => sees(/›$/).then(() => {}) };
  };
}

function at(term: Terminal, where: Place, fake: Fake) {
  const sent = () =>
    fake.requests.map(
      ({ body }) => body.messages.findLast((one: any) => one.role === "user").content,
    );
  return {
    ...term,
    where,
    fake,
    sent,
    /** Waits for that many requests, and returns what the person said in the last one. */
    async asked(count = 1) {
      await waitFor(`request ${count}`, () => fake.requests.length >= count, term.screen);
      equal(fake.requests.length, count, term.screen());
      return sent().at(-1);
    },
    /** Types a message and waits until the screen shows its answer. */
    async say(text: string, sees: string | RegExp = "Good.") {
      term.type(`${text}${KEY.enter}`);
      return term.sees(sees);
    },
    async leave() {
      term.type(KEY.ctrlC + KEY.ctrlD);
      equal(await term.exited, 0);
    },
  };
}
