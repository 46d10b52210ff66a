// What once broke zz at the terminal: text was lost, escape codes were obeyed, the keyboard went dead.
import { equal, match, ok } from "node:assert/strict";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, delta, say, stream } from "../support/fake/openai.ts";
import { ESC, repl, TAB, UP } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const CTRL_R = "\x12";
const paste = (text: string) => `${ESC}[200~${text}${ESC}[201~`;
const EVIL = `${ESC}]0;obeyed\x07`; // it would set the window's title

/** A home whose history holds these lines. */
function remembering(...lines: string[]) {
  const where = place();
  mkdirSync(where.home, { recursive: true });
  writeFileSync(join(where.home, "history"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return where;
}

test("A file's name that holds escape codes is shown by Tab, not obeyed", async (t) => {
  const where = place();
  for (const name of ["a", "b"]) writeFileSync(join(where.cwd, `bad${EVIL}${name}.txt`), "x");
  const term = await repl(t, { where });
  term.type(`see @ba${TAB}`);
  await term.sees(/bad␛\]0;obeyed␇a\.txt\s+bad␛\]0;obeyed␇b\.txt/);
  term.type(TAB);
  await term.sees("› see @bad␛]0;obeyed␇a.txt");
  ok(!term.raw().includes(EVIL));
});

test("An old line that holds escape codes is shown, not obeyed", async (t) => {
  const term = await repl(t, { where: remembering(`x${EVIL}y`) });
  term.type(UP);
  await term.sees("› x␛]0;obeyed␇y");
  ok(!term.raw().includes(EVIL));
});

test("A plugin's question that quotes escape codes obeys none, nor shows colours, which could hide words", async (t) => {
  const where = place();
  const file = join(where.cwd, "own.ts");
  const evil = JSON.stringify(`Use ${ESC}[31m'${EVIL}'${ESC}[0m? `);
  writeFileSync(
    file,
    `export default (zz) => zz.command({ name: "own", description: "asks", run: (rest, ctx) => void ctx.ask(${evil}, "yn") });`,
  );
  const term = await repl(t, { where, args: ["--plugin", file] });
  term.type(`/own${KEY.enter}`);
  await term.sees("Use ␛[31m'␛]0;obeyed␇'␛[0m?");
  ok(!term.raw().includes(`${ESC}[31m'`));
  ok(!term.raw().includes(EVIL));
});

test("A picker obeys no escape codes of models' names and of titles", async (t) => {
  const where = place();
  const file = join(where.cwd, "own.ts");
  const models = JSON.stringify([{ id: "good" }, { id: "fine" }, { id: `bad${EVIL}` }]);
  writeFileSync(
    file,
    `export default (zz) => zz.provider({ name: "own", models: async () => ${models}, async *chat() {} });`,
  );
  const id = "20260101-000000-abcdefgh";
  const header = {
    zz: 1,
    id,
    at: "2026-01-01T00:00:00.000Z",
    root: where.cwd,
    model: "own/good",
    title: `title${EVIL}`,
  };
  const message = { id: 1, parent: null, at: header.at, type: "message", message: { role: "user", text: "hi" } };
  mkdirSync(join(where.home, "sessions"), { recursive: true });
  writeFileSync(join(where.home, "sessions", `${id}.jsonl`), `${JSON.stringify(header)}\n${JSON.stringify(message)}\n`);
  const term = await repl(t, { where, args: ["--plugin", file] });
  term.type(`/model${KEY.enter}`);
  await term.sees("own/good");
  term.type(KEY.ctrlC);
  await term.sees(/›\s*$/);
  term.type(`/sessions load${KEY.enter}`);
  await term.sees("title");
  ok(!term.raw().includes(EVIL), JSON.stringify(term.raw()));
});

test("A paste while a menu is open stays in the line", async (t) => {
  const where = place();
  for (const name of ["alpha1.ts", "alpha2.ts"]) writeFileSync(join(where.cwd, name), "x");
  const term = await repl(t, { where });
  term.type(`see @al${TAB}`);
  await term.sees("alpha2.ts");
  term.type(paste("1.ts pasted"));
  await term.sees("› see @alpha1.ts pasted");
  term.type(ESC);
  await sleep(150);
  term.type(` more${KEY.enter}`);
  match(await term.asked(), /see @alpha1\.ts pasted more$/);
});

test("A paste right after Tab waits for what is completed, as keys do", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "unique-name.md"), "x");
  const term = await repl(t, { where });
  term.type(`see @uniq${TAB} and ${paste("a\nb")} end`);
  await term.sees(/see @unique-name\.md and a\s*\n(\| )?b end/);
});

test("A paste while Ctrl+R is open is looked for", async (t) => {
  const term = await repl(t, { where: remembering("needle in the hay", "other") });
  term.type(CTRL_R);
  await term.sees("search");
  term.type(paste("in the hay\nand more"));
  await term.sees("search 'in the hay' › needle in the hay");
  term.type(KEY.enter);
  equal(await term.asked(), "needle in the hay");
});

test("A paste whose end was lost is ended by Ctrl+C, and what came of it is in the line", async (t) => {
  const term = await repl(t);
  term.type(`${ESC}[200~half of it`);
  await sleep(700);
  term.type(KEY.ctrlC);
  await term.sees("› half of it");
  term.type(` and more${KEY.enter}`);
  equal(await term.asked(), "half of it and more");
});

/** A write that zz asks about, a moment after the message. */
const asks = () => [stream(200, ...call(["write_file", { path: "new.txt", content: "x\n" }]).body!), say("Done.")];

test("What is typed and pasted while a question is about to show is kept for the next message", async (t) => {
  const term = await repl(t, { script: asks() });
  term.type(`go${KEY.enter}`);
  await term.asked();
  const sentence = "a sentence that is typed across";
  for (const sign of sentence) {
    term.type(sign);
    await sleep(20);
  }
  term.type(paste(" and pasted"));
  await term.sees("Allow?");
  term.type("y");
  await term.sees(new RegExp(`Done\\.[\\s\\S]*› ${sentence} and pasted$`));
});

test("Ctrl+C while a question is about to show stops the turn, and nothing is asked", async (t) => {
  const where = place();
  const slow = "(shown, next) => new Promise((done) => setTimeout(() => done(next(shown)), 1_000))";
  writeFileSync(join(where.cwd, "slow.ts"), `export default (zz) => zz.wrap("preview", ${slow});\n`);
  const term = await repl(t, { where, script: asks(), args: ["--plugin", "slow.ts"] });
  term.type(`go${KEY.enter}`);
  await term.sees("■ write_file");
  term.type(KEY.ctrlC);
  await term.sees("Stopped.");
  await term.sees(/›\s*$/);
  await sleep(200);
  ok(!term.screen().includes("Allow?"), term.screen());
});

test("Thinking in wide signs stays on one line", async (t) => {
  const thought = delta({ reasoning_content: "思考✅".repeat(60) });
  const term = await repl(t, { script: [stream(thought, 500, ...say("Good.").body!)] });
  term.type(`go${KEY.enter}`);
  await term.asked();
  await sleep(450);
  equal(term.screen().match(/thinking/g)?.length, 1, term.screen());
});

test("A terminal that does not know its size is taken for one of 80 columns", async (t) => {
  const script = [say("An answer of several words.")];
  const term = await repl(t, { script, shell: (zz) => `stty cols 0 rows 0; ${zz}` });
  await term.say("go", "An answer of several words.");
});

test("Ctrl+Z in a turn does not put zz to sleep, and Tab types no tab", async (t) => {
  const slow = stream(400, ...say("Slow.").body!);
  const shell = (zz: string) => `set -m; ${zz}; echo asleep`;
  const term = await repl(t, { script: [slow, say("Next.")], shell });
  term.type(`go${KEY.enter}`);
  await term.asked();
  term.type(`a${TAB}b\x1ac`);
  await term.sees(/Slow\.[\s\S]*› abc$/);
  ok(!term.screen().includes("asleep"));
});

test("A window that changes its size leaves a question at the prompt to be read", async (t) => {
  const script = [call(["write_file", { path: "new.txt", content: "x\n" }]), say("Written.")];
  const term = await repl(t, { script, args: ["--allow-write"] });
  await term.say("go", /Written\.[\s\S]*›\s*$/);
  term.type("\x1a");
  await term.sees("[y/N]");
  for (const cols of [70, 76, 72]) {
    term.resize(cols, 24);
    await sleep(50);
  }
  ok(term.screen().includes("Undo “created new.txt”? [y/N]"), term.screen());
  term.type("n");
  await term.sees(/\[y\/N\] n\s*\n.*›\s*$/);
});

test("After Ctrl+R in a message of several lines its mark is there again", async (t) => {
  const term = await repl(t, { where: remembering("needle") });
  term.type(`one \\${KEY.enter}`);
  await term.sees("…");
  term.type(`${CTRL_R}need`);
  await term.sees("search 'need'");
  term.type(ESC);
  await term.sees(/^…$/m);
});

test("A paste at a question is no answer to it, and is kept for the next message", async (t) => {
  const term = await repl(t, { script: asks() });
  term.type(`go${KEY.enter}`);
  await term.sees("Allow?");
  await sleep(50);
  term.type(paste("y\nmore"));
  await term.sees(/Refused[\s\S]*Done\.[\s\S]*› y\s*\n(\| )?more$/);
});

test("A window that is closed in a turn ends the turn, its tools and zz, and the session holds how it ended", async (t) => {
  const script = [call(["run_command", { command: "echo $$ > pid; sleep 60" }]), say("Done.")];
  const term = await repl(t, { script, args: ["--allow-all"], process: true });
  const pid = term.pty.pid;
  term.type(`go${KEY.enter}`);
  for (let left = 300; !existsSync(join(term.where.cwd, "pid")) && left; left--) await sleep(10);
  (term.pty as unknown as { destroy(): void }).destroy();
  const lives = () => existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  for (let left = 3_000; lives() && left; left--) await sleep(10);
  ok(!lives(), "zz has ended");
  const last = term.where.sessions()[0]!.at(-1);
  match(JSON.stringify(last), /interrupted|stopped/i);
});

for (const [what, keys, sees] of [
  ["at the prompt", "half", "half"],
  ["at a question", `go${KEY.enter}`, "Allow?"],
  ["while a search is open", `${CTRL_R}x`, "search"],
  ["while a picker is open", `/model${KEY.enter}`, "navigate"],
  ["while a command of the person's runs", `!echo ready; sleep 60${KEY.enter}`, /^ready/m],
] as const)
  test(`A window that is closed ${what} ends zz`, async (t) => {
    const term = await repl(t, { script: asks(), process: true });
    term.type(keys);
    await term.sees(sees);
    await sleep(50);
    (term.pty as unknown as { destroy(): void }).destroy();
    const lives = () => existsSync(`/proc/${term.pty.pid}`);
    for (let left = 3_000; lives() && left; left--) await sleep(10);
    ok(!lives(), "zz has ended");
  });

test("Several lines that begin with a command's name are a message, as what was pasted", async (t) => {
  const term = await repl(t);
  term.type(paste("/quit\nis what it says"));
  await term.sees("is what it says");
  term.type(KEY.enter);
  equal(await term.asked(), "/quit\nis what it says");
});

test("What is typed after a history that was cut in the middle of a line stands on its own line", async (t) => {
  const where = remembering("whole");
  appendFileSync(join(where.home, "history"), '"to');
  const term = await repl(t, { where });
  await term.say("new words");
  equal(readFileSync(join(where.home, "history"), "utf8"), '"whole"\n"to\n"new words"\n');
});

test("An editor that removes the file changes nothing, and no system's words are shown", async (t) => {
  const term = await repl(t, { env: { EDITOR: "rm", VISUAL: "" } });
  term.type("draft");
  await term.sees("draft");
  term.type("\x07");
  await term.sees(/› draft\s*\n.*› draft$/);
  ok(!term.screen().includes("ENOENT"), term.screen());
});

test("The word that a message is queued stands on its own line", async (t) => {
  const term = await repl(t, { script: [stream(600, ...say("Slow.").body!)] });
  term.type(`go${KEY.enter}`);
  await term.sees("thinking");
  term.type(`later${KEY.enter}`);
  await term.sees(/^queued: later/m);
});
