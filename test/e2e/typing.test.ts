// Typing at the prompt: history, search, several lines, pastes, completion, keys, wide characters, poor terminals.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, say, stream } from "../support/fake/openai.ts";
import { DOWN, ESC, LEFT, repl, sharedRepl, TAB, UP } from "../support/repl.ts";
import { type Place, place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const CTRL_R = "\x12";
const paste = (text: string) => `${ESC}[200~${text}${ESC}[201~`;

/** For a prompt that several tests type at, one after the other. */
const FILE = { after } as TestContext;

const historyOf = (where: Place): string[] => {
  const file = join(where.home, "history");
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
};

const again = await sharedRepl();

test("What was typed is kept in a private file, and Up brings it back after a restart", async (t) => {
  const one = await repl(t);
  one.type(`first thought${KEY.enter}`);
  await one.asked();
  await one.sees("Good.");
  await one.leave();
  deepEqual(historyOf(one.where), ["first thought"]);
  equal(statSync(join(one.where.home, "history")).mode & 0o777, 0o600);
  const two = await repl(t, { where: one.where });
  two.type(`${UP}${KEY.enter}`);
  equal(await two.asked(), "first thought");
});

const notKept = repl(FILE, { script: (_, turn) => say(`Good ${turn}.`) }); // one for all of them
for (const [i, [what, line]] of [
  ["a key of OpenAI's form", "my key is sk-abcdefghijklmnop1234"],
  ["a key of GitHub's form", "use ghp_abcdefghijklmnopqrst"],
  ["a password", "log in with password=hunter2"],
  ["a line that begins with a space", "  not to be kept"],
].entries())
  test(`What looks like a secret is not kept: ${what}`, async () => {
    const term = await notKept;
    term.type(`${line}${KEY.enter}`);
    equal((await term.asked(2 * i + 1)).trim(), line!.trim());
    await term.sees(new RegExp(`Good ${2 * i}\\.[\\s\\S]*›\\s*$`));
    term.type(`and this is ${i}${KEY.enter}`);
    await term.asked(2 * i + 2);
    await term.sees(new RegExp(`Good ${2 * i + 1}\\.[\\s\\S]*›\\s*$`));
    deepEqual(
      historyOf(term.where),
      Array.from({ length: i + 1 }, (_, n) => `and this is ${n}`),
    );
  });

test("Up with the start of a line finds what began so", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "history"), '"explain a.ts"\n"list files"\n"explain b.ts"\n"what now"\n');
  const term = await repl(t, { where });
  term.type("exp");
  term.type(UP);
  await term.sees("explain b.ts");
  term.type(UP);
  await term.sees("explain a.ts");
  term.type(DOWN);
  await term.sees("explain b.ts");
  term.type(KEY.enter);
  equal(await term.asked(), "explain b.ts");
});

test("Ctrl+R searches, again goes to an older one, Enter sends it", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "history"), '"fix the parser"\n"hello"\n"run the PARSER tests"\n"bye"\n');
  const term = await repl(t, { where });
  term.type(`${CTRL_R}parser`);
  await term.sees(/search 'parser' › run the PARSER tests/);
  term.type(CTRL_R);
  await term.sees(/search 'parser' › fix the parser/);
  term.type(KEY.enter);
  equal(await term.asked(), "fix the parser");
});

const toSearch = place();
mkdirSync(toSearch.home, { recursive: true });
writeFileSync(join(toSearch.home, "history"), '"needle"\n');
const searched = repl(FILE, { where: toSearch, script: (_, turn) => say(`Good ${turn}.`) }); // one for all of them
for (const [i, [what, key]] of [
  ["Escape", ESC],
  ["Ctrl+C", KEY.ctrlC],
  ["Ctrl+G", "\x07"],
].entries())
  test(`Ctrl+R and then ${what} gives back what was there`, async () => {
    const term = await searched;
    const draft = `draft ${i}`;
    term.type(draft);
    term.type(`${CTRL_R}need`);
    await term.sees(/search 'need' › needle/);
    term.type(`${CTRL_R}xx`);
    await term.sees("nothing ›");
    term.type(key!);
    await term.sees(new RegExp(`^[^']*› ${draft}$`, "m"));
    await sleep(100);
    term.type(KEY.enter);
    equal(await term.asked(i + 1), draft);
    await term.sees(new RegExp(`Good ${i}\\.[\\s\\S]*›\\s*$`));
  });

test("A trailing backslash goes on in the next line", async (t) => {
  const term = await repl(t);
  term.type(`one \\${KEY.enter}`);
  await term.sees("…");
  term.type(`two\\\\${KEY.enter}`);
  equal(await term.asked(), "one \ntwo\\\\");
  await term.sees("Good.");
  deepEqual(historyOf(term.where), ["one \ntwo\\\\"]);
  term.type(UP);
  await term.sees(/› one\s*\n(\| )?two/);
});

test("Three quotes begin and end a message of several lines", async () => {
  const term = await again();
  for (const line of ['"""', "first", "", "/help is no command here \\", 'last"""']) term.type(`${line}${KEY.enter}`);
  equal(await term.asked(), "first\n\n/help is no command here \\\nlast");
});

test("Alt+Enter breaks the line, and Enter sends it whole", async () => {
  const term = await again();
  term.type(`one${ESC}\r`);
  await sleep(100);
  term.type(`two${KEY.enter}`);
  equal(await term.asked(), "one\ntwo");
});

test("Ctrl+C drops a message of several lines", async () => {
  const term = await again();
  term.type(`gone \\${KEY.enter}`);
  await term.sees("…");
  term.type(KEY.ctrlC);
  await term.sees("^C");
  term.type(`kept${KEY.enter}`);
  equal(await term.asked(), "kept");
});

test("A paste of several lines is one message, and nothing of it is sent before Enter", async () => {
  const term = await again();
  term.type(paste("a = 1\r\n/quit\rb = 2"));
  await term.sees(/› a = 1\s*\n(\| )?\/quit\s*\n(\| )?b = 2/);
  await sleep(100);
  equal(term.sent().length, 0);
  term.type(` what?${KEY.enter}`);
  equal(await term.asked(), "a = 1\n/quit\nb = 2 what?");
});

test("A paste of 10,000 lines is shown by its size, and sent whole", async () => {
  const term = await again();
  const text = Array.from({ length: 10_000 }, (_, i) => `line ${i} of the log, with some words in it`).join("\n");
  term.type("see ");
  term.type(paste(text));
  await term.sees("[paste 1: 10000 lines]");
  term.type(` please${KEY.enter}`);
  equal(await term.asked(), `see ${text} please`);
});

test("What looks like a shell of control sequences in a paste is shown, never obeyed", async () => {
  const term = await again();
  term.type(paste(`x${ESC}[2J${ESC}]0;title\x07\x03\x04y`));
  await term.sees("x␛[2J␛]0;title␇␃␄y");
  term.type(KEY.enter);
  equal(await term.asked(), "x␛[2J␛]0;title␇␃␄y");
});

test("A paste in pieces, its markers torn apart, is still one", async () => {
  const term = await again();
  for (const piece of [ESC, "[20", "0~on", "e\rtw", "o", ESC, "[201", "~"]) {
    term.type(piece);
    await sleep(5);
  }
  await sleep(50);
  equal(term.sent().length, 0);
  term.type(KEY.enter);
  equal(await term.asked(), "one\ntwo");
});

test("Tab completes a command, and shows several with what they do", async (t) => {
  const term = await repl(t);
  term.type(`/permi${TAB}`);
  await term.sees("/permissions");
  term.type(`${TAB}`);
  await term.sees(/allow[\s\S]*deny[\s\S]*keep[\s\S]*drop/);
  term.type(`${TAB}${TAB}`);
  await term.sees("/permissions deny");
  term.type(ESC);
  await term.sees(/› \/permissions$/m);
  await sleep(80);
  ok(!term.screen().includes("keep"), "the menu is gone");
});

test("Tab finds a misspelt command by what it is like", async (t) => {
  const term = await repl(t);
  term.type(`/prmissions${TAB}`);
  await term.sees(/^ {2}\/permissions/m);
  term.type(TAB);
  await term.sees("› /permissions");
});

test("Tab completes @files and @folders, with quotes around a space; Tab goes through them", async (t) => {
  const where = place();
  mkdirSync(join(where.cwd, "src"));
  for (const name of ["src/alpha.ts", "src/beta.ts", "my notes.txt"]) writeFileSync(join(where.cwd, name), "x");
  const term = await repl(t, { where });
  term.type(`see @al${TAB}`);
  await term.sees("see @src/alpha.ts");
  term.type(` and @my${TAB}`);
  await term.sees('and @"my notes.txt"');
  term.type(` and @src${TAB}`);
  await term.sees(/src\/\s*\n\s*src\/alpha\.ts\s*\n\s*src\/beta\.ts/);
  term.type(TAB + TAB + TAB);
  await term.sees("and @src/beta.ts");
  term.type(`${ESC}[Z`);
  await term.sees(/and @src\/alpha\.ts$/m);
});

test("Tab completes a #symbol of the code", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "code.ts"), "export function gatherEverything() {}\n");
  const term = await repl(t, { where });
  term.type(`what is #gatherE${TAB}`);
  await term.sees("what is gatherEverything");
});

test("Tab where nothing fits says so, and types no tab", async () => {
  const term = await again();
  term.type(`@zzzzqqq${TAB}`);
  await term.sees("Nothing fits.");
  term.type(KEY.enter);
  equal(await term.asked(), "@zzzzqqq");
});

test("Keys that come while a completion is looked for are not lost", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "unique-name.md"), "x");
  const term = await repl(t, { where });
  term.type(`see @uniq${TAB} now${KEY.enter}`);
  match(await term.asked(), /see @unique-name\.md now$/);
});

test("What is typed while an answer is under way stays for the next prompt", async () => {
  const slow = stream(300, ...say("Slow.").body!);
  const term = await again([slow, say("Next.")]);
  term.type(`go${KEY.enter}`);
  await term.asked();
  term.type("typed meanwhile");
  await term.sees("Slow.");
  await term.sees(/› typed meanwhile$/m);
  ok(!/typed meanwhile[\s\S]*Slow\./.test(term.screen()), "it was not shown in the middle of the turn");
  term.type(KEY.enter);
  equal(await term.asked(2), "typed meanwhile");
});

test("A message sent while an answer is under way waits for its turn", async () => {
  const slow = stream(300, ...say("Slow.").body!);
  const term = await again([slow, say("Next.")]);
  term.type(`go${KEY.enter}`);
  await term.asked();
  term.type(`second${KEY.enter}`);
  await term.sees("queued: second");
  equal(await term.asked(2), "second");
  await term.sees(/Slow\.[\s\S]*Next\./);
});

test("Wide signs and emoji: the cursor is where the next sign goes", async () => {
  const term = await again();
  term.type(`漢字🙂é${LEFT}${LEFT}X`);
  await term.sees("漢字X🙂é");
  term.type("\x7f");
  await term.sees("漢字🙂é");
  term.type(KEY.enter);
  equal(await term.asked(), "漢字🙂é");
});

test("In 20 columns a long line wraps, is edited and sent", async (t) => {
  const term = await repl(t, { cols: 20 });
  term.type("the quick brown fox jumps over");
  await term.sees(/the quick brown fo\s*\nx jumps over/);
  term.type(`${ESC}[H>> `); // Home
  await term.sees(/>> the quick/);
  term.type(KEY.enter);
  equal(await term.asked(), ">> the quick brown fox jumps over");
});

test("A window made smaller and larger while typing keeps the line whole", async (t) => {
  const term = await repl(t);
  term.type("some words that are long enough to wrap");
  await term.sees("wrap");
  term.resize(24, 24);
  await sleep(100);
  term.resize(90, 24);
  await sleep(100);
  term.type(` later${KEY.enter}`);
  equal(await term.asked(), "some words that are long enough to wrap later");
});

test("Ctrl+Z on an empty line undoes the last change, after asking", async (t) => {
  const where = place();
  const script = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")];
  const term = await repl(t, { where, script, args: ["--allow-write"] });
  term.type(`go${KEY.enter}`);
  await term.sees("Written.");
  await term.sees(/›\s*$/);
  term.type("\x1a");
  await term.sees("Undo “created new.txt”? [y/N]");
  await sleep(300);
  term.type("n");
  await sleep(100);
  ok(existsSync(join(where.cwd, "new.txt")));
  term.type("\x1a");
  await term.sees(/\[y\/N\] n[\s\S]*\[y\/N\]/);
  await sleep(300);
  term.type("y");
  await term.sees(/Undone|undid|Took back|deleted/i);
  ok(!existsSync(join(where.cwd, "new.txt")));
  term.type(`still here${KEY.enter}`);
  match(await term.asked(3), /still here$/);
});

test("Ctrl+Z with keys.ctrlZ off does nothing, and with text in the line neither", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "zz.config.json"), '{ "keys": { "ctrlZ": "off" } }');
  const term = await repl(t, { where });
  term.type("\x1aab\x1ac");
  await term.sees(/› abc$/m);
  term.type(KEY.enter);
  equal(await term.asked(), "abc");
});

test("keys.ctrlZ suspend stops the program, and it comes back with its line", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "zz.config.json"), '{ "keys": { "ctrlZ": "suspend" } }');
  const shell = (zz: string) => `set -m; ${zz}; echo asleep; stty -a | grep -o ' icanon'; sleep 0.2; fg`;
  const term = await repl(t, { where, shell });
  term.type("half");
  await term.sees("half");
  term.type("\x1a");
  await term.sees(/asleep\s+icanon/);
  await sleep(400);
  term.type(` whole${KEY.enter}`);
  equal(await term.asked(), "half whole");
});

test("Stopped at a question by another program and continued, zz takes keys again", async (t) => {
  const where = place();
  const pid = join(where.cwd, "pid");
  const shell = (zz: string) => `set -m; (echo $BASHPID > pid; exec ${zz}); stty sane; echo asleep; fg`;
  const script = [call(["write_file", { path: "a", content: "one\n" }]), say("Done.")];
  const term = await repl(t, { where, script, shell });
  term.type(`go${KEY.enter}`);
  await term.sees(/Allow\?.*explains\)/);
  process.kill(Number(readFileSync(pid, "utf8")), "SIGTSTP");
  await term.sees(/asleep\n/);
  await sleep(400);
  term.type("y");
  await term.sees("Done.");
});

test("TERM=dumb: no escape sequence is written, and a message is answered", async (t) => {
  const term = await repl(t, { env: { TERM: "dumb" } });
  await term.sees(/^zz [\d.]+ · openai\/m · .*\n.*› ?$/); // the greeting in a row of its own
  term.type(`plain words${KEY.enter}`);
  await term.sees("Good.");
  equal(await term.asked(), "plain words");
  ok(!term.raw().includes(ESC), JSON.stringify(term.raw()));
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("Nothing is erased from the first row on, which tmux would copy into what scrolled away", async (t) => {
  const term = await repl(t);
  term.type("\x0c/red");
  await term.sees("/redo");
  term.type(`o${KEY.enter}`);
  await term.sees("Nothing to redo.");
  term.type(`\x0chello${KEY.enter}`);
  await term.sees("Good.");
  doesNotMatch(term.raw(), /(?<!\x1b7\x1b\[K\x1b\[B\r)\x1b\[0?J/);
  await term.leave();
});

test("TERM=dumb: Ctrl+C twice leaves with 130, a question is answered by a line", async (t) => {
  const where = place();
  const script = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")];
  const term = await repl(t, { where, script, env: { TERM: "dumb" }, process: true });
  term.type(`go${KEY.enter}`);
  await term.sees("Allow?");
  term.type(`y${KEY.enter}`);
  await term.sees("Written.");
  equal(readFileSync(join(where.cwd, "new.txt"), "utf8"), "x\n");
  await sleep(50);
  term.type(KEY.ctrlC);
  await term.sees("Ctrl+C again to leave.");
  term.type(KEY.ctrlC);
  equal(await term.exited, 130);
});

test("A long history is cut to 10,000 entries", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  const file = join(where.home, "history");
  writeFileSync(file, Array.from({ length: 12_500 }, (_, i) => `"entry ${i}"\n`).join(""));
  await repl(t, { where });
  equal(historyOf(where).length, 10_000);
  equal(historyOf(where).at(-1), "entry 12499");
});

test("A history that is a pipe or a device is neither read nor replaced", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  execFileSync("mkfifo", [join(where.home, "history")]);
  const term = await repl(t, { where });
  await term.say("hello");
  ok(statSync(join(where.home, "history")).isFIFO());
  await term.leave();
});

test("A key that a plugin adds works, one that throws is named, one that hangs is left by Ctrl+C", async (t) => {
  const where = place();
  const file = join(where.cwd, "own.ts");
  writeFileSync(
    file,
    `export default (zz) => {
       zz.key({ name: "f2", description: "greets", press: (line) => line.set("greetings") });
       zz.key({ name: "f3", description: "throws", press() { throw new Error("no such luck"); } });
       zz.key({ name: "f4", description: "hangs", press: () => new Promise(() => {}) });
     };`,
  );
  const term = await repl(t, { where, args: ["--plugin", file] });
  term.type(`${ESC}OQ`);
  await term.sees("› greetings");
  term.type(`${ESC}OR`);
  await term.sees("Plugin 'own' failed on the key 'f3': no such luck");
  term.type(`${ESC}OS`);
  await sleep(50);
  term.type(KEY.ctrlC);
  await term.sees("^C");
  term.type(`after${KEY.enter}`);
  equal(await term.asked(), "after");
});
