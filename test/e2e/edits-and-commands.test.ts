// Edits and commands as a person sees them: proposed, shown, approved or not, made, undone; and in
// a pipe, unanswered.
import { deepEqual, equal, match } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Step } from "../../sdk/testing.ts";
import { askable, call, problems, say } from "../support/fake/openai.ts";
import { ESC, repl } from "../support/repl.ts";
import { place, zz } from "../support/run.ts";
import { sit } from "../support/sit.ts";

const READ = call(["read_file", { path: "src/a.ts" }]);
const EDIT = call(["edit_file", { path: "src/a.ts", old_string: "a - b", new_string: "a + b" }]);
const BEFORE = "export function add(a: number, b: number) {\n  return a - b;\n}\n";
const AFTER = BEFORE.replace("a - b", "a + b");

test("Several edits of one file are one question and one row", async (t) => {
  const args = [
    ["a - b", "a + b"],
    ["add", "sum"],
    ["number", "bigint"],
  ].map(([old_string, new_string]) => ({
    path: "src/a.ts",
    old_string,
    new_string,
    replace_all: true,
  }));
  const edits = call(...args.map((each): [string, object] => ["edit_file", each]));
  const script = [READ, edits, say("Mended.")];
  const term = await repl(t, { where: place({ "src/a.ts": BEFORE }), script });
  await term.say("mend it", "Allow? [y/n/e/A/?]");
  const screen = await term.hit("y", "Mended.");
  equal(screen.match(/[✓✗■] edit_file/g)?.length, 1, screen);
});

test("At 40 columns an edit is proposed, shown, confirmed, written, undone, redone", async (t) => {
  const where = place({ "src/a.ts": BEFORE });
  const script = [READ, EDIT, say("Mended."), say("I see.")];
  const { fake, ...term } = await repl(t, { where, script, cols: 40 });
  const read = () => readFileSync(join(where.cwd, "src/a.ts"), "utf8");
  const shown = (await term.say("mend it", "Allow? [y/n/e/A/?]")).replaceAll(/\n(?=\S)/g, "\n");
  match(shown.replaceAll(/\n(┃ )?/g, ""), /edit_file wants to change src\/a\.ts\./);
  match(shown, /┃ edit src\/a\.ts · lines 1–3 · \+1 −1/);
  match(shown, /┃ +2 - +return a - b;\n┃ +2 \+ +return a \+ b;/);
  equal(read(), BEFORE, "nothing is written before the answer");
  await term.hit("y", "Mended.");
  equal(read(), AFTER);
  await term.say("/changes 1", /^ {6}b: number\) \{\n[\s\S]*›\s*$/m);
  await term.say("/undo", "Undid 1 change: src/a.ts (+1 −1).");
  equal(read(), BEFORE);
  await term.say("/redo", "Redid 1 change: src/a.ts (+1 −1).");
  equal(read(), AFTER);
  await term.say("what now?", "I see.");
  match(
    term.sent().at(-1),
    /Undid 1 change: src\/a\.ts \(.*\)\.[\s\S]*Redid 1 change: src\/a\.ts \(.*\)\.[\s\S]*what now\?$/,
  );
  deepEqual(problems(fake.requests.at(-1)!.body), []);
  await term.leave();
});

test("A allows edits in the project for the session, never commands; /permissions takes it back", async (t) => {
  const answers = ["A", "n", "", "y"];
  const write = (content: string): Step => ({ call: ["write_file", { path: "a.ts", content }] });
  const run: Step = { call: ["run_command", { command: "touch x" }] };
  const script = [write("1\n"), write("2\n"), run, "Done.", write("3\n"), "End."];
  const settings = { shell: { effects: "before" } };
  const { it, tells, say } = await sit(t, {
    settings,
    script,
    answer: async () => answers.shift() ?? "",
  });
  await say("go");
  match(it.questions[1]!, /run_command wants to run "touch x"/);
  equal(it.read("x"), undefined);
  await tells("/permissions", /1 {2}allow {2}write {2}\. {2}\(this session\)/);
  await tells("/permissions drop 1", "");
  await say("once more");
  match(it.questions.slice(3).join("\n"), /write_file wants to change a\.ts/);
});

test("--audit writes a line a decision", async () => {
  const { args } = await askable([READ, EDIT, say("Done.")]);
  const where = place({ "src/a.ts": BEFORE });
  await zz(where, [...args, "--once", "--audit", "audit.log"], { input: "mend it\n" });
  const lines = readFileSync(join(where.cwd, "audit.log"), "utf8").trimEnd().split("\n");
  const rows = lines.map((line) => JSON.parse(line));
  deepEqual(
    rows.map(({ tool, kind, name, allowed }) => `${tool} ${kind} ${name} ${allowed}`),
    [
      "read_file read src/a.ts true",
      "edit_file read src/a.ts true",
      "edit_file write src/a.ts false",
    ],
  );
});

test("Without bubblewrap the question says that there is no sandbox; where the settings require one, nothing runs", async (t) => {
  const where = place({ "c.json": { shell: { sandbox: "required" } } });
  const env = { PATH: "/nowhere" };
  const script = [call(["run_command", { command: "touch x" }]), say("Not run.")];
  const term = await repl(t, { where, script, env });
  await term.say("go", /┃ No sandbox here \(bubblewrap is missing or switched off\)[\s\S]*Allow\?/);
  await term.hit(ESC, "Not run.");
  await term.leave();
  const flags = "--config c.json --allow-run --call run_command".split(" ");
  const { code, stderr } = await zz(where, [...flags, '{"command":"touch x"}'], { env });
  deepEqual([code, existsSync(join(where.cwd, "x"))], [1, false]);
  match(stderr, /the settings require a sandbox, and there is none here\. Install bubblewrap\./);
});
