// Edits and commands as a person sees them: proposed, shown, approved or not, made, undone; and in a pipe, unanswered.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, fakeOpenAI, problems, say } from "../support/fake/openai.ts";
import { asksBefore, type Place, place, zz } from "../support/run.ts";
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

test("At 40 columns an edit is proposed, shown, confirmed, written, undone, redone", async (t) => {
  const fake = await fakeOpenAI([READ, EDIT, say("Mended."), say("I see.")]);
  t.after(fake.close);
  const where = project();
  const term = terminal(where, asks(fake.url), { cols: 40 });
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
  await term.sees(/drop 1\n[\s\S]*›\s*$/);
  term.type(`once more${KEY.enter}`);
  await term.sees(/once more[\s\S]*Allow\?/);
  term.type("y");
  await term.sees("End.");
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
