// !command in a real pseudo-terminal: what the screen shows, and what is then sent to the model.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fakeOpenAI, say } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";
import { KEY, type Terminal, terminal } from "../support/terminal.ts";

const QUESTION = "to the conversation?";

/** A conversation with a model that says "Seen.", and the texts that it was sent. */
async function talk(
  t: { after(act: () => unknown): void },
  how: { where?: Place; cols?: number; env?: Record<string, string> } = {},
): Promise<{ term: Terminal; where: Place; sent: () => string[]; enter(line: string): void }> {
  const fake = await fakeOpenAI([say("Seen.")]);
  t.after(fake.close);
  const where = how.where ?? place();
  const env = { SHELL: "/bin/sh", ...how.env };
  const term = terminal(where, ["-m", "openai/m", "--base-url", fake.url, "--key", "x"], { ...how, env });
  await term.sees("›");
  const sent = () => fake.requests.map(({ body }) => body.messages.at(-1).content as string);
  return { term, where, sent, enter: (line) => term.type(`${line}${KEY.enter}`) };
}
const leave = async ({ term }: { term: Terminal }): Promise<void> => {
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
};
/** Waits before it answers: a question ignores keys for a moment, since what was typed before it is not an answer. */
async function answer(term: Terminal, key: string): Promise<void> {
  await term.sees(QUESTION);
  await sleep(150);
  term.type(key);
}

test("!command shows its output and exit code, and y gives it to the next message", async (t) => {
  const it = await talk(t);
  it.enter("!echo one; echo two >&2; exit 3");
  match(await it.term.sees("exit code 3"), /one\ntwo\nexit code 3 · \d\.\d s/);
  await answer(it.term, "y");
  await it.term.sees("It goes with your next message.");
  equal(it.sent().length, 0);
  it.enter("what is that?");
  await it.term.sees("Seen.");
  const title = "OUTPUT OF echo one; echo two >&2; exit 3";
  match(it.sent()[0]!, new RegExp(`^--- ${title} ---\n(one\ntwo|two\none)\n--- END ${title} ---\n\nwhat is that\\?$`));
  it.enter("and now?");
  await it.term.sees(/Seen\.[\s\S]*Seen\./);
  equal(it.sent()[1], "and now?");
  await leave(it);
});

test("Any other key than y forgets the output", async (t) => {
  const it = await talk(t);
  it.enter("!echo forgotten");
  await answer(it.term, "n");
  await it.term.sees(/\[y\/N\] n\s+[^\n]*›\s*$/);
  it.enter("hello");
  await it.term.sees("Seen.");
  equal(it.sent()[0], "hello");
  await leave(it);
});

test("Without output there is no question", async (t) => {
  const it = await talk(t);
  it.enter("!touch made.txt");
  doesNotMatch(await it.term.sees(/exit code 0[\s\S]*›/), /conversation/);
  ok(existsSync(join(it.where.cwd, "made.txt")));
  await leave(it);
});

test("Ctrl+C stops the command and not zz", async (t) => {
  const it = await talk(t);
  it.enter("!sleep 30");
  await sleep(300);
  it.term.type(KEY.ctrlC);
  await it.term.sees(/stopped by SIGINT[^›]*›\s*$/);
  it.enter("hello");
  await it.term.sees("Seen.");
  await leave(it);
});

test("A command reads the keyboard, and its keys are not the conversation's", async (t) => {
  const it = await talk(t);
  it.enter('!printf "%s? " name; read name; echo "hi $name"');
  await it.term.sees(/\nname\?$/);
  it.enter("Ann");
  await it.term.sees("hi Ann");
  await answer(it.term, "n");
  await it.term.sees(/\[y\/N\] n\s+[^\n]*›\s*$/);
  equal(it.sent().length, 0);
  await leave(it);
});

test("!! hands the terminal over whole and keeps nothing", async (t) => {
  const it = await talk(t);
  it.enter("!!test -t 1 && echo a real one");
  doesNotMatch(await it.term.sees(/a real one[\s\S]*exit code 0[\s\S]*›/), /conversation/);
  await leave(it);
});

test("A program that fills the screen gets the terminal with one ! too", async (t) => {
  const it = await talk(t);
  writeFileSync(join(it.where.cwd, "long.txt"), Array.from({ length: 99 }, (_, i) => `row ${i}\n`).join(""));
  it.enter("!more long.txt");
  await it.term.sees("--More--");
  it.term.type("q");
  doesNotMatch(await it.term.sees(/exit code 0[\s\S]*›/), /conversation|row 98/);
  await leave(it);
});

test("Colours and what a line wrote over do not reach the model, and a long output is cut in its middle", async (t) => {
  const it = await talk(t);
  it.enter(String.raw`!printf '\033[31mred\033[0m\n10%%\r99%%\n'; yes line | head -9000; printf 'bell\007 last'`);
  await it.term.sees("bell last");
  await answer(it.term, "y");
  await it.term.sees("next message.");
  it.enter("so?");
  await it.term.sees("Seen.");
  const [text = ""] = it.sent();
  match(text, /---\nred\n99%\nline\n/);
  match(text, /line\nbell last\n--- END/);
  match(text, /\[… \d+ characters left out …\]/);
  ok(text.length < 20_000, `${text.length} characters`);
  doesNotMatch(text, /[\x00-\x08\x0b-\x1f]/);
  await leave(it);
});

test("A picture in Markdown, several lines and \\! are text", async (t) => {
  const it = await talk(t);
  it.enter("![cat](cat.png)");
  await it.term.sees("Seen.");
  const pasted = `!touch pasted\n${"more\n".repeat(9)}end`;
  it.term.type(`\x1b[200~${pasted}\x1b[201~\r`);
  await it.term.sees(/Seen\.[\s\S]*Seen\./);
  it.enter("\\!important");
  await it.term.sees(/Seen\.[\s\S]*Seen\.[\s\S]*Seen\./);
  deepEqual(it.sent(), ["![cat](cat.png)", pasted, "!important"]);
  ok(!existsSync(join(it.where.cwd, "pasted")));
  await leave(it);
});

test("What a command leaves running does not hold the conversation up", async (t) => {
  const it = await talk(t);
  it.enter("!sleep 5 & echo started");
  await it.term.sees(/started[\s\S]*exit code 0 · 0/);
  await answer(it.term, "n");
  await it.term.sees(/\[y\/N\] n\s+[^\n]*›\s*$/);
  await leave(it);
});

test("A command that is not there says so in the shell's words, and a slash command leaves the output waiting", async (t) => {
  const it = await talk(t);
  it.enter("!no-such-program");
  await it.term.sees("exit code 127");
  await answer(it.term, "y");
  await it.term.sees("next message.");
  it.enter("/changes");
  await it.term.sees("Nothing was changed.");
  it.enter("//why?");
  await it.term.sees("Seen.");
  match(it.sent()[0]!, /not found[\s\S]*\n\n\/why\?$/);
  it.enter("//etc");
  await it.term.sees(/Seen\.[\s\S]*Seen\./);
  equal(it.sent()[1], "/etc");
  await leave(it);
});

test("In a one-shot !command is refused with a sentence; piped data that begins with ! is data", async (t) => {
  const fake = await fakeOpenAI([say("Seen.")]);
  t.after(fake.close);
  const asks = ["-m", "openai/m", "--base-url", fake.url, "--key", "x"];
  const where = place();
  const refused = await zz(where, [...asks, "!touch made"]);
  equal(refused.code, 2);
  match(refused.stderr, /^Cannot run '!touch made': your own commands run only in a conversation at a terminal\./);
  const data = await zz(where, asks, { input: "!touch made\n" });
  equal(data.stdout, "Seen.\n");
  equal(fake.requests[0]!.body.messages.at(-1).content, "!touch made");
  ok(!existsSync(join(where.cwd, "made")));
});
