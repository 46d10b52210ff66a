// !command in a real pseudo-terminal: what the screen shows, and what is then sent to the model.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { askable, say } from "../support/fake/openai.ts";
import { sharedRepl } from "../support/repl.ts";
import { place, zz } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const PROMPT = /gives it to the model\n+[^\n]*›\s*$/;
const again = await sharedRepl({ process: true }); // its commands need a terminal that is theirs
const open = () => again([say("Seen.")]);

test("!command shows its output and exit code and asks nothing; !! gives it to the next message", async () => {
  const it = await open();
  match(
    await it.say("!echo one; echo two >&2; exit 3", PROMPT),
    /(one\ntwo|two\none)\nexit code 3 · \d+\.\d s/,
  );
  await it.say("!!", "2 lines of echo one; echo two >&2; exit 3 go with your next message.");
  await it.say("!!", "There is no output to give");
  await it.say("what is that?", "Seen.");
  const title = "OUTPUT OF echo one; echo two >&2; exit 3";
  match(
    it.sent()[0]!,
    new RegExp(`^--- ${title} ---\n(one\ntwo|two\none)\n--- END ${title} ---\n\nwhat is that\\?$`),
  );
  await it.say("and now?", /Seen\.[\s\S]*Seen\./);
  equal(it.sent()[1], "and now?");
});

test("Tab on the empty line gives it, anything else keeps it back, and without output nothing is offered", async () => {
  const it = await open();
  await it.say("!echo kept", PROMPT);
  await it.say("hello", "Seen.");
  deepEqual(it.sent(), ["hello"]);
  await it.say("!echo given", PROMPT);
  await it.hit("\t", "1 line of echo given go with your next message.");
  await it.say("so?", /Seen\.[\s\S]*Seen\./);
  match(it.sent()[1]!, /---\ngiven\n---/);
  doesNotMatch(
    await it.say("!touch made.txt", /made\.txt[\s\S]*exit code 0[\s\S]*›$/),
    /made\.txt[\s\S]*gives it to the model/,
  );
  ok(existsSync(join(it.where.cwd, "made.txt")));
});

test("Ctrl+C stops the command and not zz", async () => {
  const it = await open();
  // a shell that has just forked may miss the signal, so it is replaced
  await it.say("!echo ready; exec sleep 300", /^ready/m);
  await it.hit(KEY.ctrlC, /stopped by SIGINT[\s\S]*gives it to the model/);
  await it.say("hello", "Seen.");
});

test("A command reads the keyboard, and its keys are not the conversation's", async () => {
  const it = await open();
  await it.say('!printf "%s? " name; read name; echo "hi $name"', /\nname\?$/);
  await it.say("Ann", /hi Ann[\s\S]*gives it to the model/);
  equal(it.sent().length, 0);
});

test("!! hands the terminal over whole and keeps nothing; so does one ! for a program that fills the screen", async () => {
  const it = await open();
  writeFileSync(
    join(it.where.cwd, "long.txt"),
    Array.from({ length: 99 }, (_, i) => `row ${i}\n`).join(""),
  );
  doesNotMatch(
    await it.say("!!test -t 1 && echo a real one", /one\nexit code 0[\s\S]*›$/),
    /gives it to the model/,
  );
  await it.say("!more long.txt", "--More--");
  doesNotMatch(
    await it.hit("q", /exit code 0[\s\S]*exit code 0[\s\S]*›$/),
    /gives it to the model|row 98/,
  );
});

test("Colours and what a line wrote over do not reach the model, and a long output is cut in its middle", async () => {
  const it = await open();
  const command = String.raw`!printf '\033[31mred\033[0m\n10%%\r99%%\n'; yes line | head -9000; printf 'bell\007 last'`;
  await it.say(command, /bell last[\s\S]*gives it to the model/);
  await it.say("!!", "next message.");
  await it.say("so?", "Seen.");
  const [text = ""] = it.sent();
  match(text, /---\nred\n99%\nline\n/);
  match(text, /line\nbell last\n--- END/);
  match(text, /\[… \d+ characters left out …\]/);
  ok(text.length < 20_000, `${text.length} characters`);
  doesNotMatch(text, /[\x00-\x08\x0b-\x1f]/);
});

test("A picture in Markdown, several lines, \\! and a double slash are text", async () => {
  const it = await open();
  const pasted = `!touch pasted\n${"more\n".repeat(9)}end`;
  for (const [i, typed] of [
    "![cat](cat.png)",
    `\x1b[200~${pasted}\x1b[201~`,
    "\\!important",
    "//etc",
  ].entries())
    await it.say(typed, new RegExp(`(Seen\\.[\\s\\S]*){${i + 1}}›$`));
  deepEqual(it.sent(), ["![cat](cat.png)", pasted, "!important", "/etc"]);
  ok(!existsSync(join(it.where.cwd, "pasted")));
});

test("What a command leaves running does not hold the conversation up", async () => {
  const it = await open();
  await it.say(
    "!sleep 300 & echo $! started",
    /started[\s\S]*exit code 0[\s\S]*gives it to the model/,
  );
  const [, pid] = /^(\d+) started$/m.exec(await it.sees(PROMPT))!;
  process.kill(Number(pid)); // it was running all the time
});

test("In a one-shot !command is refused with a sentence; piped data that begins with ! is data", async () => {
  const { args, requests } = await askable([say("Seen.")]);
  const where = place();
  const refused = await zz(where, [...args, "!touch made"]);
  equal(refused.code, 2);
  match(
    refused.stderr,
    /^Cannot run '!touch made': your own commands run only in a conversation at a terminal\./,
  );
  const data = await zz(where, args, { input: "!touch made\n" });
  equal(data.stdout, "Seen.\n");
  equal(requests[0]!.body.messages.at(-1).content, "!touch made");
  ok(!existsSync(join(where.cwd, "made")));
});
