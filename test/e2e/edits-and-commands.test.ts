// Edits and commands as a person sees them: proposed, shown, approved or not, made, undone; and in a pipe, unanswered.
import { deepEqual, equal, match } from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Step } from "../../sdk/testing.ts";
import { call, fakeOpenAI, problems, say } from "../support/fake/openai.ts";
import { type Place, place, zz } from "../support/run.ts";
import { sit } from "../support/sit.ts";
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
  const shown = (await term.hit(`mend it${KEY.enter}`, "Allow? [y/N/e/A/?]")).replaceAll(/\n(?=\S)/g, "\n");
  match(shown.replaceAll(/\n(┃ )?/g, ""), /edit_file requests write access to "src\/a\.ts"\./);
  match(shown, /┃ edit src\/a\.ts · lines 1–3 · \+1 −1/);
  match(shown, /┃ +2 - +return a - b;\n┃ +2 \+ +return a \+ b;/);
  equal(where.read(), BEFORE, "nothing is written before the answer");
  await term.hit("y", "Mended.");
  equal(where.read(), AFTER);
  await term.hit(`/undo${KEY.enter}`, "Undone: edited src/a.ts.");
  equal(where.read(), BEFORE);
  await term.hit(`/redo${KEY.enter}`, "Redone: edited src/a.ts.");
  equal(where.read(), AFTER);
  await term.hit(`what now?${KEY.enter}`, "I see.");
  match(lastOf(fake), /Undone: edited src\/a\.ts\.[\s\S]*Redone: edited src\/a\.ts\.[\s\S]*what now\?$/);
  deepEqual(problems(fake.requests.at(-1)!.body), []);
  term.type(KEY.ctrlD);
  equal(await term.exited, 0);
});

test("A allows edits in the project for the session, never commands; /permissions takes it back", async (t) => {
  const answers = ["A", "n", "", "y"];
  const write = (content: string): Step => ({ call: ["write_file", { path: "a.ts", content }] });
  const run: Step = { call: ["run_command", { command: "touch x" }] };
  const script = [write("1\n"), write("2\n"), run, "Done.", write("3\n"), "End."];
  const settings = { shell: { effects: "before" } };
  const { it, tells, say } = await sit(t, { settings, script, answer: async () => answers.shift() ?? "" });
  await say("go");
  match(it.questions[1]!, /run_command requests run access to "touch x"/);
  equal(it.read("x"), undefined);
  await tells("/permissions", /1 {2}allow {2}write {2}\. {2}\(this session\)/);
  await tells("/permissions drop 1", "");
  await say("once more");
  match(it.questions.slice(3).join("\n"), /write_file requests write access to "a\.ts"/);
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
  await term.hit(`go${KEY.enter}`, /┃ No sandbox here \(bubblewrap is missing or switched off\)[\s\S]*Allow\?/);
  await term.hit(KEY.enter, "Not run.");
  term.type(KEY.ctrlD);
  await term.exited;
  writeFileSync(join(where.cwd, "c.json"), '{"shell":{"sandbox":"required"}}');
  const args = ["--config", "c.json", "--call", "run_command", '{"command":"touch x"}', "--allow-run"];
  const { code, stderr } = await zz(where, args, { env });
  deepEqual([code, existsSync(join(where.cwd, "x"))], [1, false]);
  match(stderr, /the settings require a sandbox, and there is none here\. Install bubblewrap\./);
});
