// Edits and commands as a person sees them: proposed, shown, approved or not, made, undone; and in a pipe, unanswered.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, fakeOpenAI, problems, say } from "../support/fake/openai.ts";
import { needs } from "../support/needs.ts";
import { asksBefore, type Place, place, visible, zz } from "../support/run.ts";
import { KEY, terminal } from "../support/terminal.ts";

const asks = (url: string, ...more: string[]) => ["-m", "openai/m", "--base-url", url, "--key", "x", ...more];
const READ = call(["read_file", { path: "src/a.ts" }]);
const EDIT = call(["edit_file", { path: "src/a.ts", old_string: "a - b", new_string: "a + b" }]);
const BEFORE = "export function add(a: number, b: number) {\n  return a - b;\n}\n";
const AFTER = BEFORE.replace("a - b", "a + b");

function project(): Place & { read(): string } {
  const where = place();
  mkdirSync(join(where.cwd, "src"));
  writeFileSync(join(where.cwd, "src", "a.ts"), BEFORE);
  return { ...where, read: () => readFileSync(join(where.cwd, "src", "a.ts"), "utf8") };
}
const lastOf = (fake: { requests: { body: any }[] }, back = 1): string =>
  fake.requests.at(-back)!.body.messages.at(-1).content;

for (const cols of [80, 40])
  test(`At ${cols} columns an edit is proposed, shown, confirmed, written, undone, redone`, async (t) => {
    const fake = await fakeOpenAI([READ, EDIT, say("Mended."), say("I see.")]);
    t.after(fake.close);
    const where = project();
    const term = terminal(where, asks(fake.url), { cols });
    await term.sees("›");
    term.type(`mend it${KEY.enter}`);
    const shown = (await term.sees("Allow? [y/N/e/A/?]")).replaceAll(/\n(?=\S)/g, "\n");
    match(shown.replaceAll(/\n(┃ )?/g, ""), /edit_file requests write access to "src\/a\.ts"\./);
    match(shown, /┃ edit src\/a\.ts · lines 1–3 · \+1 −1/);
    match(shown, /┃ +2 - +return a - b;\n┃ +2 \+ +return a \+ b;/);
    equal(where.read(), BEFORE, "nothing is written before the answer");
    term.type("y");
    await term.sees("Mended.");
    equal(where.read(), AFTER);
    term.type(`/undo${KEY.enter}`);
    await term.sees("Undone: edited src/a.ts.");
    equal(where.read(), BEFORE);
    term.type(`/redo${KEY.enter}`);
    await term.sees("Redone: edited src/a.ts.");
    equal(where.read(), AFTER);
    term.type(`what now?${KEY.enter}`);
    await term.sees("I see.");
    match(lastOf(fake), /Undone: edited src\/a\.ts\.[\s\S]*Redone: edited src\/a\.ts\.[\s\S]*what now\?$/);
    deepEqual(problems(fake.requests.at(-1)!.body), []);
    term.type(KEY.ctrlD);
    equal(await term.exited, 0);
  });

test("A no with a reason reaches the model; Enter is one without", async (t) => {
  const fake = await fakeOpenAI([READ, EDIT, say("One."), EDIT, say("Two.")]);
  t.after(fake.close);
  const where = project();
  const term = terminal(where, asks(fake.url));
  await term.sees("›");
  term.type(`mend it${KEY.enter}`);
  await term.sees("Allow?");
  term.type("n");
  await term.sees("Why not?");
  term.type(`keep the sign${KEY.enter}`);
  await term.sees("One.");
  equal(lastOf(fake), 'Refused: the person said no to write access to "src/a.ts": keep the sign');
  term.type(`again${KEY.enter}`);
  await term.sees(/again[\s\S]*Allow\?/);
  term.type(KEY.enter);
  await term.sees("Two.");
  equal(lastOf(fake), 'Refused: the person said no to write access to "src/a.ts".');
  equal(where.read(), BEFORE);
  term.type(KEY.ctrlD);
  await term.exited;
});

test("What was typed before a question is no answer to it", async (t) => {
  const fake = await fakeOpenAI([READ, { ...EDIT, body: [300, ...EDIT.body!] }, say("Not done."), say("Next.")]);
  t.after(fake.close);
  const where = project();
  const term = terminal(where, asks(fake.url));
  await term.sees("›");
  term.type(`mend it${KEY.enter}`);
  while (fake.requests.length < 2) await sleep(5);
  term.type("y");
  await term.sees("Allow?");
  await sleep(100);
  equal(where.read(), BEFORE);
  term.type(KEY.enter);
  await term.sees("Not done.");
  equal(where.read(), BEFORE);
  await term.sees("› y"); // zz waits for the rest of a message
  term.type(KEY.ctrlC);
  await term.sees("^C");
  term.type(KEY.ctrlD);
  await term.exited;
});

test("e opens the proposal in $EDITOR, and what is saved there is written and told to the model", async (t) => {
  const fake = await fakeOpenAI([READ, EDIT, say("Fine.")]);
  t.after(fake.close);
  const where = project();
  const editor = join(where.cwd, "editor.sh");
  writeFileSync(editor, `#!/bin/sh\nsed -i 's/a + b/b + a/' "$1"\n`);
  chmodSync(editor, 0o755);
  const term = terminal(where, asks(fake.url), { env: { EDITOR: editor } });
  await term.sees("›");
  term.type(`mend it${KEY.enter}`);
  await term.sees("Allow?");
  term.type("e");
  await term.sees("Fine.");
  equal(where.read(), BEFORE.replace("a - b", "b + a"));
  match(lastOf(fake), /The person edited the proposal before it was written:[\s\S]*\+ {2}return b \+ a;/);
  term.type(`/undo${KEY.enter}`);
  await term.sees("Undone:");
  equal(where.read(), BEFORE);
  term.type(KEY.ctrlD);
  await term.exited;
});

test("A allows edits in the project for the session, never commands; /permissions takes it back", async (t) => {
  const back = call(["edit_file", { path: "src/a.ts", old_string: "a + b", new_string: "a - b" }]);
  const fake = await fakeOpenAI([
    READ,
    EDIT,
    back,
    call(["run_command", { command: "touch x" }]),
    say("Done."),
    EDIT,
    say("End."),
  ]);
  t.after(fake.close);
  const where = project();
  asksBefore(where);
  const term = terminal(where, asks(fake.url), { rows: 50 });
  await term.sees("›");
  term.type(`mend it${KEY.enter}`);
  await term.sees("Allow?");
  term.type("A");
  await term.sees(/run_command requests run access to "touch x"[\s\S]*Allow\?/);
  equal(where.read(), BEFORE, "both edits were made without a second question");
  term.type("n");
  await term.sees("Why not?");
  term.type(KEY.enter);
  await term.sees("Done.");
  ok(!existsSync(join(where.cwd, "x")));
  term.type(`/permissions${KEY.enter}`);
  await term.sees(/1 {2}allow {2}write {2}\. {2}\(this session\)/);
  term.type(`/permissions drop 1${KEY.enter}`);
  await sleep(200);
  term.type(`once more${KEY.enter}`);
  await term.sees(/once more[\s\S]*Allow\?/);
  term.type("y");
  await term.sees("End.");
  term.type(KEY.ctrlD);
  await term.exited;
});

test("/auto-apply on makes edits without asking, off asks again", async (t) => {
  const fake = await fakeOpenAI([READ, EDIT, say("Quiet."), call(["delete_file", { path: "src/a.ts" }]), say("Kept.")]);
  t.after(fake.close);
  const where = project();
  const term = terminal(where, asks(fake.url));
  await term.sees("›");
  term.type(`/auto-apply on${KEY.enter}`);
  await term.sees("without asking");
  term.type(`mend it${KEY.enter}`);
  await term.sees("Quiet.");
  doesNotMatch(term.screen(), /Allow\?/);
  equal(where.read(), AFTER);
  term.type(`/auto-apply off${KEY.enter}`);
  await term.sees("Edits are asked for again.");
  term.type(`remove it${KEY.enter}`);
  await term.sees("Allow?");
  term.type(KEY.enter);
  await term.sees("Kept.");
  equal(where.read(), AFTER);
  term.type(KEY.ctrlD);
  await term.exited;
});

test("In a pipe without permission the file is untouched, the flag is named, and the exit code is 4", async (t) => {
  const fake = await fakeOpenAI([READ, EDIT, say("I could not.")]);
  t.after(fake.close);
  const where = project();
  const { code, stdout, stderr } = await zz(where, asks(fake.url, "--once"), { input: "mend it\n" });
  deepEqual([code, stdout], [4, "I could not.\n"]);
  match(stderr, /edit_file: Refused: requires write access to "src\/a\.ts"; run again with --allow-write=src\/a\.ts\./);
  equal(where.read(), BEFORE);
});

test("With --allow-write=src it edits there and nowhere else; zz --undo takes it back from the shell", async (t) => {
  const elsewhere = call(
    ["write_file", { path: "b.ts", content: "x\n" }],
    ["write_file", { path: "src/../c.ts", content: "x\n" }],
  );
  const fake = await fakeOpenAI([READ, EDIT, elsewhere, say("Half.")]);
  t.after(fake.close);
  const where = project();
  const { code, stderr } = await zz(where, asks(fake.url, "--once", "--allow-write=src"), { input: "mend it\n" });
  equal(code, 4);
  match(stderr, /"b\.ts"; run again with --allow-write=b\.ts\.[\s\S]*"c\.ts"/);
  equal(where.read(), AFTER);
  deepEqual([existsSync(join(where.cwd, "b.ts")), existsSync(join(where.cwd, "c.ts"))], [false, false]);
  const undone = await zz(where, ["--undo"]);
  deepEqual([undone.code, undone.stdout], [0, "Undone: edited src/a.ts.\n"]);
  equal(where.read(), BEFORE);
  deepEqual((await zz(where, ["--undo", "3"])).stdout, "Nothing to undo.\n");
  const redone = await zz(where, ["--redo"]);
  deepEqual([redone.stdout, where.read()], ["Redone: edited src/a.ts.\n", AFTER]);
  writeFileSync(join(where.cwd, "src", "a.ts"), "mine\n");
  const refused = await zz(where, ["--undo", "1"]);
  equal(refused.code, 1);
  match(refused.stdout + refused.stderr, /Cannot undo 'src\/a\.ts': it has changed since\. Nothing was touched\./);
  equal(where.read(), "mine\n");
});

test("--audit writes a line a decision", async (t) => {
  const fake = await fakeOpenAI([READ, EDIT, say("Done.")]);
  t.after(fake.close);
  const where = project();
  const file = join(where.cwd, "audit.log");
  await zz(where, asks(fake.url, "--once", "--audit", file), { input: "mend it\n" });
  const lines = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  deepEqual(
    lines.map(({ tool, kind, name, allowed }) => [tool, kind, name, allowed]),
    [
      ["read_file", "read", "src/a.ts", true],
      ["edit_file", "read", "src/a.ts", true],
      ["edit_file", "write", "src/a.ts", false],
    ],
  );
});

needs("bwrap")("A request in the sandbox fails to connect, and connects with --allow-net=127.0.0.1", async (t) => {
  const server = createServer((_, response) => response.end("here I am\n"));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const args = [
    "--call",
    "run_command",
    JSON.stringify({
      command: `'${process.execPath}' '${visible("test/support/request.ts")}' http://127.0.0.1:${port}`,
    }),
    "--allow-run",
  ];
  const cut = await zz(place(), args);
  equal(cut.code, 1);
  doesNotMatch(cut.stdout + cut.stderr, /here I am/);
  match(cut.stderr, /exit code 7|exit code 28/);
  const open = await zz(place(), [...args, "--allow-net=127.0.0.1"]);
  equal(open.code, 0, open.stderr);
  match(open.stdout, /here I am/);
});

test("Without bubblewrap the question says that there is no sandbox; where the settings require one, nothing runs", async (t) => {
  const fake = await fakeOpenAI([call(["run_command", { command: "touch x" }]), say("Not run.")]);
  t.after(fake.close);
  const where = place();
  const env = { PATH: "/nowhere" };
  const term = terminal(where, asks(fake.url), { env });
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees(/┃ No sandbox here \(bubblewrap is missing or switched off\)[\s\S]*Allow\?/);
  term.type(KEY.enter);
  await term.sees("Not run.");
  term.type(KEY.ctrlD);
  await term.exited;
  writeFileSync(join(where.cwd, "c.json"), '{"shell":{"sandbox":"required"}}');
  const args = ["--config", "c.json", "--call", "run_command", '{"command":"touch x"}', "--allow-run"];
  const { code, stderr } = await zz(where, args, { env });
  deepEqual([code, existsSync(join(where.cwd, "x"))], [1, false]);
  match(stderr, /the settings require a sandbox, and there is none here\. Install bubblewrap\./);
});

test("The REPL outlives a command that prints for ever, one that ignores SIGTERM and one that waits for input", async (t) => {
  const run = (command: string) => call(["run_command", { command, timeout_ms: 700 }]);
  const fake = await fakeOpenAI([
    run("yes"),
    run("trap '' TERM; while :; do sleep 1; done"),
    run("printf '\\377\\376 end'; read line"),
    say("Still here."),
    say("And now."),
  ]);
  t.after(fake.close);
  const where = place();
  const term = terminal(where, asks(fake.url, "--allow-run"));
  await term.sees("›");
  term.type(`go${KEY.enter}`);
  await term.sees("Still here.");
  const results = fake.requests[3]!.body.messages.filter(({ role }: any) => role === "tool");
  match(results[0].content, /left out; all of it is in |killed after/);
  match(results[1].content, /\[killed after 0\.7 s/);
  match(results[2].content, /end[\s\S]*\[exit code 1/);
  term.type(`well?${KEY.enter}`);
  await term.sees("And now.");
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});
