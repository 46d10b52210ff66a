// Typing at the prompt: history, search, several lines, pastes, completion, keys, wide characters,
// poor terminals.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { call, say } from "../support/fake/openai.ts";
import { DOWN, ESC, LEFT, repl, sharedRepl, TAB, UP } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const CTRL_R = "\x12";
const paste = (text: string) => `${ESC}[200~${text}${ESC}[201~`;

const names = ["src/alpha.ts", "src/beta.ts", "my notes.txt", "unique-name.md"];
const files = names.map((name) => [name, "export function gatherEverything() {}\n"]);
const again = await sharedRepl({ where: place(Object.fromEntries(files)) });

test("What was typed is kept in a private file, but no secrets; Up brings it back after a restart, and what begins as the line does", async (t) => {
  const one = await repl(t);
  for (const line of [
    "explain a.ts",
    "log in with password=hunter2",
    "  not this",
    "list files",
    "explain b.ts",
  ])
    await one.say(line, new RegExp(`${line}\\n[\\s\\S]*Good\\.[\\s\\S]*› *$`));
  await one.say("one \\", "…");
  one.type(`two\\\\${KEY.enter}`);
  equal(await one.asked(6), "one \ntwo\\\\");
  await one.sees(/two[\s\S]*Good\.[\s\S]*› *$/);
  await one.leave();
  const history = join(one.where.home, "history");
  equal(
    readFileSync(history, "utf8"),
    '"explain a.ts"\n"list files"\n"explain b.ts"\n"one \\ntwo\\\\\\\\"\n',
  );
  equal(statSync(history).mode & 0o777, 0o600);
  const two = await repl(t, { where: one.where });
  await two.hit(UP, /› one\s*\n(\| )?two/);
  await two.hit(KEY.enter, /two[\s\S]*Good\.[\s\S]*› *$/);
  await two.hit(`exp${UP}`, "explain b.ts");
  await two.hit(UP, "explain a.ts");
  two.type(`${DOWN}${KEY.enter}`);
  equal(await two.asked(2), "explain b.ts");
});

test("Ctrl+R searches, again goes to an older one, Enter sends it; Escape, Ctrl+C or Ctrl+G give back what was there", async (t) => {
  const where = place(
    {},
    {},
    { history: '"fix the parser"\n"hello"\n"run the PARSER tests"\n"bye"\n' },
  );
  const term = await repl(t, { where });
  for (const key of [ESC, KEY.ctrlC, "\x07"]) {
    await term.hit(`draft${CTRL_R}parser`, /search 'parser' › run the PARSER tests/);
    await term.hit(`${CTRL_R}xx`, "nothing ›");
    await term.hit(key, /^[^']*› draft$/m);
    await term.hit("\x15", /› *$/);
  }
  await term.hit(`${CTRL_R}parser${CTRL_R}`, /search 'parser' › fix the parser/);
  term.type(KEY.enter);
  equal(await term.asked(), "fix the parser");
});

for (const [what, keys, sent] of [
  ["Three quotes begin and end a message of several lines", ['"""\r', "first\r", "\r", "/help is no command here \\\r", 'last"""\r'], "first\n\n/help is no command here \\\nlast"],
  ["Alt+Enter breaks the line, and Enter sends it whole", [`one${ESC}\r`, "two\r"], "one\ntwo"],
  ["A paste of several lines is one message, and nothing of it is sent before Enter", [`${paste("/quit\r\na = 1\r/quit\rb = 2")}`, " what?\r"], "/quit\na = 1\n/quit\nb = 2 what?"],
  ["Control sequences in a paste are shown, never obeyed", [paste(`x${ESC}[2J${ESC}]0;title\x07\x03\x04y`), "\r"], "x␛[2J␛]0;title␇␃␄y"],
  ["A paste in pieces, its markers torn apart, is still one", [ESC, "[20", "0~on", "e\rtw", "o", ESC, "[201", "~", "\r"], "one\ntwo"],
  ["Wide signs and emoji: the cursor is where the next sign goes", [`漢字🙂é${LEFT}${LEFT}X`, "\x7f", "Y\r"], "漢字Y🙂é"],
] as const) // biome-ignore format: a table
  test(what, async () => {
    const term = await again();
    for (const key of keys) {
      equal(term.sent().length, 0);
      await term.press(key);
    }
    equal(await term.asked(), sent);
  });

test("Tab completes @files and @folders, with quotes around a space; Tab goes through them", async () => {
  const term = await again();
  await term.hit(`see @al${TAB}`, "see @src/alpha.ts");
  await term.hit(` and @my${TAB}`, 'and @"my notes.txt"');
  await term.hit(` and @src${TAB}`, /src\/\s*\n\s*src\/alpha\.ts\s*\n\s*src\/beta\.ts/);
  await term.hit(TAB + TAB + TAB, "and @src/beta.ts");
  await term.hit(`${ESC}[Z`, /and @src\/alpha\.ts$/m);
});

for (const [what, typed, becomes] of [
  ["a command that is misspelt, by what it is like", `/prmissions${TAB}${TAB}`, "/permissions"],
  ["a #symbol of the code", `what is #gatherE${TAB}`, "what is gatherEverything"],
  ["a path in a line of one's own shell", `!cat ./uni${TAB}`, "!cat ./unique-name.md"],
  ["no word that is no path", `a uniform${TAB} word`, "a uniform word"],
  ["a file, and keys that come meanwhile are not lost", `see @uniq${TAB} now`,
    "see @unique-name.md now"],
  ["nor is a paste that comes meanwhile", `see @uniq${TAB} and ${paste("a b")} end`,
    "see @unique-name.md and a b end"],
] as const) // biome-ignore format: a table
  test(`Tab completes ${what}`, async () => {
    const term = await again();
    await term.hit(typed, `› ${becomes}`);
  });

test("keys.ctrlZ undo: on an empty line it undoes the last change, after asking; with text in the line it does nothing", async (t) => {
  const where = place({}, { keys: { ctrlZ: "undo" } });
  const script = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")];
  const term = await repl(t, { where, script, args: ["--allow-write"] });
  await term.say("go", /Written\.[\s\S]*›\s*$/);
  for (const [answer, sees] of [
    ["n", /\[y\/N\] n\s+[^\n]*›$/],
    ["y", /Undid 1 change/],
  ] as const) {
    equal(existsSync(join(where.cwd, "new.txt")), true);
    await term.hit("\x1a", /Undo “created new\.txt”\? \[y\/N\]\s*$/);
    await term.hit(answer, sees);
  }
  ok(!existsSync(join(where.cwd, "new.txt")));
  term.type(`ab\x1ac${KEY.enter}`);
  match(await term.asked(3), /abc$/);
});

test("Ctrl+Z stops the program, and it comes back with its line", async (t) => {
  const shell = (zz: string) => `set -m; ${zz}; echo asleep; stty -a | grep -o ' icanon'; fg`;
  const term = await repl(t, { where: place(), shell });
  await term.hit("half", "half");
  await term.hit("\x1a", /asleep\s+icanon[\s\S]*› half$/);
  term.type(` whole${KEY.enter}`);
  equal(await term.asked(), "half whole");
});

test("Stopped at a question by another program and continued, zz takes keys again", async (t) => {
  const where = place();
  const shell = (zz: string) =>
    `set -m; (echo $BASHPID > pid; exec ${zz}); stty sane; echo asleep; fg; echo "left $?"`;
  const script = [call(["write_file", { path: "a", content: "one\n" }]), say("Done.")];
  const term = await repl(t, { where, script, shell });
  await term.say("go", /Allow\?.*explains\)/);
  process.kill(Number(readFileSync(join(where.cwd, "pid"), "utf8")), "SIGTSTP");
  await term.sees(/asleep\n\( echo/); // fg names it, and continues it
  await term.hit("y", "Done.");
});

test("TERM=dumb: no escape sequence is written, a question is answered by a line, Ctrl+C twice leaves with 130", async (t) => {
  const where = place();
  const script = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")];
  const term = await repl(t, { where, script, env: { TERM: "dumb" }, process: true });
  await term.sees(/^zz [\d.]+ · openai\/m · .*\n.*› ?$/); // the greeting in a row of its own
  await term.say("go", "Allow?");
  await term.say("y", /Written\.[\s\S]*›\s*$/);
  equal(readFileSync(join(where.cwd, "new.txt"), "utf8"), "x\n");
  ok(!term.raw().includes(ESC), JSON.stringify(term.raw()));
  await term.hit(KEY.ctrlC, "Ctrl+C again to leave.");
  term.type(KEY.ctrlC);
  equal(await term.exited, 130);
});

test("In 20 columns a long line wraps, is edited and sent; a history that is a pipe is neither read nor replaced", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  execFileSync("mkfifo", [join(where.home, "history")]);
  const term = await repl(t, { where, cols: 20 });
  await term.hit("the quick brown fox jumps over", /the quick brown fo\s*\nx jumps over/);
  term.type(`${ESC}[H>> `); // Home
  await term.sees(/>> the quick/);
  await term.say("", "Good.");
  equal(await term.asked(), ">> the quick brown fox jumps over");
  ok(statSync(join(where.home, "history")).isFIFO());
});

test("Nothing is erased from the first row on, which tmux would copy into what scrolled away", async (t) => {
  const term = await repl(t);
  await term.hit("\x0c/red", "/redo");
  await term.say("o", "Nothing to redo.");
  await term.say("\x0chello");
  doesNotMatch(term.raw(), /(?<!\x1b7\x1b\[K\x1b\[B\r)\x1b\[0?J/);
});

test("A key that a plugin adds works, one that throws is named, one that hangs is left by Ctrl+C", async (t) => {
  const own = `export default (zz) => {
    zz.key({ name: "f2", description: "greets", press: (line) => line.set("greetings") });
    zz.key({ name: "f3", description: "throws", press() { throw new Error("no such luck"); } });
    zz.key({ name: "f4", description: "hangs", press: () => new Promise(() => {}) });
  };`;
  const term = await repl(t, { where: place({ "own.ts": own }), args: ["--plugin", "own.ts"] });
  await term.hit(`${ESC}OQ`, "› greetings");
  await term.hit(`${ESC}OR`, "Plugin 'own' failed on the key 'f3': no such luck");
  await term.press(`${ESC}OS`);
  await term.hit(KEY.ctrlC, "^C");
  term.type(`after${KEY.enter}`);
  equal(await term.asked(), "after");
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
