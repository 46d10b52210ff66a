// During a turn, typing shows, and Escape stops the turn; while a command or a file is typed, a menu opens by itself.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, delta, say, stream } from "../support/fake/openai.ts";
import { DOWN, ESC, repl, sharedRepl, TAB, UP } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const slow = (ms: number, text: string) => stream(ms, ...say(text).body!);

const again = await sharedRepl();

for (const [cols, rows] of [
  [80, 24],
  [40, 15],
] as const) {
  test(`At ${cols}×${rows} what is typed during a turn is seen below the live line, and stays for the next prompt`, async (t) => {
    const zz = await repl(t, { cols, rows, script: [slow(1_500, "Slow."), say("Next.")] });
    zz.type(`go${KEY.enter}`);
    await zz.asked();
    zz.type("typed meanwhile");
    await zz.sees(/thinking · \d\.\d s\n› typed meanwhile$/);
    zz.type("\x7f\x7f");
    await zz.sees(/\n› typed meanwhi$/);
    const shown = await zz.sees(/Slow\.[\s\S]*› typed meanwhi$/);
    equal(shown.split("typed").length, 2, "the live rows are gone");
    zz.type(KEY.enter);
    equal(await zz.asked(2), "typed meanwhi");
    await zz.leave();
  });

  test(`At ${cols}×${rows} a menu opens while a command or a file is typed, and goes`, async (t) => {
    const where = place();
    mkdirSync(join(where.cwd, "src"));
    for (const name of ["alpha.ts", "beta.ts"]) writeFileSync(join(where.cwd, "src", name), "x");
    const zz = await repl(t, { where, cols, rows });
    zz.type("/co");
    await zz.sees(/› \/co\n[\s\S]* {2}\/compact[\s\S]* {2}\/copy/);
    zz.type("m");
    await zz.sees(/› \/com\n[\s\S]* {2}\/compact/);
    doesNotMatch(zz.screen(), /\/copy/);
    zz.type("\x15");
    await zz.sees(/›\s*$/);
    zz.type("see @src/al");
    await zz.sees(/› see @src\/al\n {2}src\/alpha\.ts$/);
    zz.type(TAB);
    await zz.sees(/› see @src\/alpha\.ts$/);
    zz.type(` and src/be${TAB}`);
    await zz.sees(/ and src\/beta\.ts$/);
    zz.type(KEY.enter);
    match(await zz.asked(), /see @src\/alpha\.ts and src\/beta\.ts$/);
    await zz.sees("Good.");
    doesNotMatch(zz.screen(), /^ {2}src\/alpha/m);
    await zz.leave();
  });
}

test("Down goes into the menu that is open, Up comes back, and an earlier line keeps its Down", async () => {
  const zz = await again();
  zz.type("/per");
  await zz.sees(/^ {2}\/permissions/m);
  zz.type(DOWN);
  await zz.sees(/› \/permissions/);
  zz.type(KEY.ctrlC);
  zz.type("/co");
  await zz.sees(/^ {2}\/config/m);
  zz.type(DOWN);
  await zz.sees(/› \/commit/);
  zz.type(DOWN);
  await zz.sees(/› \/compact/);
  zz.type(UP);
  await zz.sees(/› \/commit *\n/);
  zz.type(ESC);
  await zz.sees(/› \/co$/); // the menu is gone
  zz.type(KEY.ctrlC);
  await zz.say("/status", "model");
  zz.type(UP);
  await zz.sees(/› \/status$/m);
  zz.type(DOWN);
  await sleep(100);
  ok(/› *$/.test(zz.screen().trimEnd().split("\n").at(-1)!), zz.screen());
  await zz.leave();
});

test("The open menu is drawn again, and fits, in a window that is made narrower and wider", async (t) => {
  const zz = await repl(t);
  zz.type("/co");
  for (const cols of [60, 40, 30, 80]) {
    await zz.sees(/^ {2}\/config/m);
    zz.resize(cols, 24);
    await sleep(400);
    const rows = (await zz.sees(/^ {2}\/cost .*$/m)).split("\n").slice(-8); // the terminal may break what is above
    ok(rows[0]!.endsWith("› /co") && rows.slice(1).every((row) => /^ {2}\/co/.test(row)), zz.screen());
    ok(
      rows.every((row) => row.length <= cols),
      zz.screen(),
    );
  }
  zz.type(KEY.ctrlC);
  await zz.leave();
});

test("The menu stays shut with complete.menu false, and Tab works all the same", async (t) => {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "zz.config.json"), '{"complete":{"menu":false}}');
  const zz = await repl(t, { where });
  zz.type("/copy");
  await zz.sees("› /copy");
  await sleep(300);
  ok(!zz.screen().includes("copy the last answer"), zz.screen());
  zz.type(`\x15/retr${TAB}`);
  await zz.sees("› /retry");
});

test("Escape stops an answer; what had come is shown, and the line is kept", async () => {
  const half = { ...stream(delta({ content: "Half" })), ending: "hang" as const };
  const zz = await again([half, say("Whole.")]);
  zz.type(`go${KEY.enter}`);
  await zz.asked();
  zz.type("mine");
  await sleep(200);
  zz.type(ESC);
  await zz.fake.requests[0]!.aborted;
  await zz.sees(/Half\n\[unfinished[\s\S]*Stopped\.\n.*› mine$/);
  zz.type(KEY.enter);
  equal(await zz.asked(2), "mine");
});

test("Escape stops a command that the model runs", async (t) => {
  const zz = await repl(t, { script: [call(["run_command", { command: "sleep 30" }])], args: ["--allow-run"] });
  zz.type(`go${KEY.enter}`);
  await zz.sees(/run_command · \d/);
  zz.type(ESC);
  await zz.sees(/Stopped\.\n.*›\s*$/);
  await zz.leave();
});

test("Tab completes a path in a line of one's own shell, and no word that is none", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "unique-name.md"), "x");
  const zz = await repl(t, { where });
  zz.type(`!cat ./uni${TAB}`);
  await zz.sees("› !cat ./unique-name.md");
  zz.type(`\x15a uniform${TAB} word`);
  await zz.sees("› a uniform word");
});

test("After Ctrl+C on a recalled line Up begins at the newest again", async (t) => {
  const zz = await repl(t);
  await zz.say("first", /Good\.[\s\S]*›\s*$/);
  await zz.say("second", /second[\s\S]*Good\.[\s\S]*›\s*$/);
  zz.type(UP);
  await zz.sees(/› second$/);
  zz.type(UP);
  await zz.sees(/› first$/);
  zz.type(KEY.ctrlC);
  await zz.sees(/\^C\n.*›\s*$/);
  zz.type(UP);
  await zz.sees(/› second$/);
});

test("Escape in the picker of /model and of /sessions load is a no", async (t) => {
  const where = place();
  const one = await repl(t, { where });
  await one.say("an earlier talk", /Good\.[\s\S]*›\s*$/);
  await one.leave();
  const zz = await repl(t, { where });
  zz.type(`/model${KEY.enter}`);
  await zz.sees("⏎ select · esc leave");
  zz.type(ESC);
  await zz.sees(/\/model\s+Still openai\/m[\s\S]*›\s*$/);
  zz.type(`/sessions load${KEY.enter}`);
  await zz.sees(/Conversation[\s\S]*an earlier talk[\s\S]*navigate/);
  zz.type(ESC);
  await zz.sees(/load\n[^\n]*›\s*$/);
  await zz.leave();
});

test("What is typed soon after Escape in a picker is typed at the prompt", async () => {
  const zz = await again();
  const typed = async () => {
    zz.type(`/model${KEY.enter}`);
    await zz.sees("⏎ select · esc leave");
    zz.type(ESC);
    await sleep(200); // readline by itself would take 500 ms to tell Escape from Alt
    zz.type("hello");
    return zz.sees(/Still openai\/m[\s\S]*› hello$|No results found/);
  };
  // On a machine that stalls for so long both arrive at once, which is Alt+h: then once more.
  for (let left = 2; /No results/.test(await typed()) && left; left--) {
    zz.type(ESC);
    await zz.sees(/Still openai\/m[\s\S]*›\s*$/);
    zz.view.clear();
  }
  await zz.sees(/Still openai\/m[\s\S]*› hello$/);
  zz.type("\x15");
  await zz.leave();
});

test("A window made narrower in a turn keeps no rows of the live line", async (t) => {
  const said = "a rather long thought that takes the whole of a row of the screen, up to its very end";
  const thoughts = Array.from({ length: 20 }, () => [delta({ reasoning_content: `${said} ` }), 100]).flat();
  const script = [stream(...thoughts, ...say("Thought over.").body!)];
  const zz = await repl(t, { script, args: [] });
  zz.type(`go${KEY.enter}`);
  await zz.sees(/thinking · \d\.\d s · \d+ tokens/);
  for (const cols of [60, 45, 30]) {
    zz.resize(cols, 24);
    await sleep(350);
  }
  const shown = await zz.sees("Thought over.");
  doesNotMatch(shown, /thinking · /);
});
