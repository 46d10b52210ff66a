// What once broke zz at the terminal: text was lost, escape codes were obeyed, the keyboard went
// dead.
import { doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { processStartTime } from "../../kernel/system/temporary-files.ts";
import { standingClock } from "../../sdk/clock.ts";
import { call, say } from "../support/fake/openai.ts";
import { ESC, repl, sharedRepl, TAB, UP } from "../support/repl.ts";
import { put } from "../support/repository.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";
import { waitFor } from "../support/wait.ts";

const CTRL_R = "\x12";
const paste = (text: string) => `${ESC}[200~${text}${ESC}[201~`;
const EVIL = `${ESC}]0;obeyed\x07`; // it would set the window's title

/** What a terminal answers late, when who asked is gone. */
const REPORTS = `${ESC}[?62;4c${ESC}[24;80R${ESC}]11;rgb:00/00/00${ESC}\\${ESC}[6;20;10t`;

/** A home whose history holds these lines. */
const remembering = (line: string) => place({}, {}, { history: `${JSON.stringify(line)}\n` });
/** The prompt of a zz with such a plugin. */
const withPlugin = (
  t: TestContext,
  body: string,
  where = place({ "own.ts": `export default (zz) => ${body};` }),
) => repl(t, { where, args: ["--plugin", "own.ts"] });

const again = await sharedRepl({ where: remembering("needle in the hay") });

test("An old line that holds escape codes is shown, not obeyed", async (t) => {
  const term = await repl(t, { where: remembering(`x${EVIL}y`) });
  await term.hit(UP, "› x␛]0;obeyed␇y");
  ok(!term.raw().includes(EVIL));
});

test("A plugin's question that quotes escape codes obeys none, nor shows colours, which could hide words", async (t) => {
  const evil = JSON.stringify(`Use ${ESC}[31m'${EVIL}'${ESC}[0m? `);
  const run = `(rest, ctx) => void ctx.ask(${evil}, "yn")`;
  const term = await withPlugin(t, `zz.command({ name: "own", description: "asks", run: ${run} })`);
  await term.say("/own", "Use ␛[31m'␛]0;obeyed␇'␛[0m?");
  for (const obeyed of [`${ESC}[31m'`, EVIL]) ok(!term.raw().includes(obeyed));
});

test("A picker obeys no escape codes of models' names and of titles", async (t) => {
  const models = JSON.stringify([{ id: "good" }, { id: "fine" }, { id: `bad${EVIL}` }]);
  const where = place({
    "own.ts": `export default (zz) => zz.provider({ name: "own", models: async () => ${models}, async *chat() {} });`,
  });
  const [id, at] = ["20260101-000000-abcdefgh", "2026-01-01T00:00:00.000Z"];
  const header = { zz: 1, id, at, root: where.cwd, model: "own/good", title: `title${EVIL}` };
  const message = {
    id: 1,
    parent: null,
    at,
    type: "message",
    message: { role: "user", text: "hi" },
  };
  put(where.home, {
    [`sessions/${id}.jsonl`]: `${JSON.stringify(header)}\n${JSON.stringify(message)}\n`,
  });
  const term = await withPlugin(t, "", where);
  await term.say("/model", "own/good");
  await term.hit(`${REPORTS}fine`, /Model.* fine\n/);
  await term.hit(KEY.ctrlC, /›\s*$/);
  await term.say("/sessions load", "title");
  ok(!term.raw().includes(EVIL), JSON.stringify(term.raw()));
});

test("A paste while a menu is open stays in the line", async (t) => {
  const term = await repl(t, { where: place({ "alpha1.ts": "x", "alpha2.ts": "x" }) });
  await term.hit(`see @al${TAB}`, "alpha2.ts");
  await term.hit(paste("1.ts pasted"), "› see @alpha1.ts pasted");
  term.type(` more${KEY.enter}`);
  match(await term.asked(), /see @alpha1\.ts pasted more$/);
});

test("A paste while Ctrl+R is open is looked for", async () => {
  const term = await again();
  await term.hit(CTRL_R, "search");
  await term.hit(paste("in the hay\nand more"), "search 'in the hay' › needle in the hay");
  term.type(KEY.enter);
  equal(await term.asked(), "needle in the hay");
});

/** A write that zz asks about. */
const asks = () => [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Done.")];

test("What is typed and pasted before a question shows is no answer to it, and is kept for the next message", async (t) => {
  const clock = standingClock();
  const term = await repl(t, { script: asks(), clock });
  term.type(`go${KEY.enter}`);
  await clock.waits(50);
  for (const keys of ["y", paste(" and pasted"), "!"]) {
    await term.press(keys);
    await clock.pass(50);
    doesNotMatch(await term.drawn(), /Allow\?/, "it waits until nobody has typed for 100 ms");
  }
  await clock.pass(100);
  await term.sees("Allow?");
  await term.press(ESC);
  await clock.pass(50);
  await term.sees(/Done\.[\s\S]*› y and pasted!$/);
  equal(existsSync(join(term.where.cwd, "new.txt")), false);
});

test("A paste at a question is no key of it: it stands there as words, and counts with Enter", async (t) => {
  const term = await repl(t, { script: asks() });
  await term.say("go", "Allow?");
  await term.hit(paste("y\nmore"), /explains\) y more$/);
  await term.hit(KEY.enter, /Refused[\s\S]*:\s+y more[\s\S]*Done\.[\s\S]*›\s*$/);
  equal(existsSync(join(term.where.cwd, "new.txt")), false);
});

test("Ctrl+C while a question is about to show stops the turn, and nothing is asked", async (t) => {
  const clock = standingClock();
  const slow =
    "async (shown, next, { io }) => { await io.clock.sleep(4_321); return next(shown); }";
  const where = place({ "slow.ts": `export default (zz) => zz.wrap("preview", ${slow});\n` });
  const term = await repl(t, { where, script: asks(), args: ["--plugin", "slow.ts"], clock });
  term.type(`go${KEY.enter}`);
  await clock.waits(4_321);
  await term.press(KEY.ctrlC);
  await clock.pass(4_321);
  await term.sees(/Stopped\.[\s\S]*›\s*$/);
  await clock.pass(200);
  doesNotMatch(await term.drawn(), /Allow\?/);
});

// one look: between two it may end
const hasEnded = (pid: number): boolean => processStartTime(pid) === "";
for (const [what, keys, sees] of [
  ["at a question", `go${KEY.enter}`, "Allow?"],
  ["while a command of the person's runs", `!echo ready; exec sleep 60${KEY.enter}`, /^ready/m],
] as const)
  test(`A window that is closed ${what} ends zz`, async (t) => {
    const term = await repl(t, { script: asks(), process: true });
    await term.hit(keys, sees);
    (term.pty as unknown as { destroy(): void }).destroy();
    await waitFor("the end of zz", () => hasEnded(term.pty.pid));
  });

test("A window that is closed in a turn ends the turn, its tools and zz, and the session holds how it ended", async (t) => {
  const script = [
    call(["run_command", { command: "echo $$ > pid; sleep 60", direct: true }]),
    say("Done."),
  ];
  const term = await repl(t, { script, args: ["--allow-all"], process: true });
  term.type(`go${KEY.enter}`);
  await waitFor("the command", () => existsSync(join(term.where.cwd, "pid")));
  (term.pty as unknown as { destroy(): void }).destroy();
  await waitFor("the end of zz", () => hasEnded(term.pty.pid));
  match(JSON.stringify(term.where.sessions()[0]!.at(-1)), /interrupted|stopped/i);
});

test("What is typed after a history that was cut in the middle of a line stands on its own line", async (t) => {
  const where = place({}, {}, { history: '"whole"\n"to' });
  const term = await repl(t, { where });
  await term.say("new words");
  equal(readFileSync(join(where.home, "history"), "utf8"), '"whole"\n"to\n"new words"\n');
});

test("An editor that removes the file changes nothing, and no system's words are shown", async (t) => {
  const term = await repl(t, { env: { EDITOR: "rm", VISUAL: "" } });
  await term.hit("draft", "draft");
  doesNotMatch(await term.hit("\x07", /› draft\s*\n.*› draft$/), /ENOENT/);
});
