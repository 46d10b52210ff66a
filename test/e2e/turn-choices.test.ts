// What a person may choose in the middle of a turn: when a provider fails, when a file has changed,
// at a limit.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { harness, type Move } from "../../sdk/testing.ts";
import { call, refuse, say } from "../support/fake/openai.ts";
import { ESC, repl, sharedRepl } from "../support/repl.ts";
import { KEY } from "../support/terminal.ts";

const broken = refuse(400, { error: { message: "no such engine" } });
const QUESTION = "another [m]odel?";
const PICKER = /\? Model \(now openai\/m\)/;
/** Prompts that several tests share. */
const again = await sharedRepl({ rows: 50 });
const capped = await sharedRepl({ args: ["--rounds", "1"] });
const ready = /\n[^\n]*›$/;

test("After a failure another model is picked, goes on with the turn, answers the next one too, and is named in the file", async (t) => {
  const zz = await repl(t, { script: [broken, say("From n."), say("Again.")] });
  await zz.say("go", QUESTION);
  await zz.hit("m", PICKER);
  await zz.hit("openai/n", /❯ openai\/n {2}8192 tokens/);
  await zz.hit(KEY.enter, /Now openai\/n, with a window of 8192 tokens\.[\s\S]*From n\./);
  await zz.say("more", "Again.");
  equal(zz.fake.requests.map(({ body }) => body.model).join(), "m,n,n");
  const [three, ...others] = zz.sent().reverse();
  deepEqual(others, ["go", "go"], "the message is sent as it was");
  match(three, /^--- RUNTIME ---\nModel: openai\/n\n[\s\S]*\n\nmore$/);
  await zz.leave();
  const answers = zz.where.sessions()[0]!.filter(({ message }) => message?.role === "assistant");
  equal(answers.map(({ message }) => message.model).join(), "openai/n,openai/n");
});

test("Leaving the picker keeps the model, and the question comes back; leaving that ends the turn, and the message stays", async () => {
  const zz = await again([broken, say("Good.")]);
  await zz.say("go", QUESTION);
  for (const keys of [KEY.ctrlC, ESC, KEY.enter]) {
    await zz.hit("m", /\? Model \(now openai\/m\)[^›]*$/);
    await zz.hit(keys, /Still openai\/m[\s\S]*another \[m\]odel\?$/);
  }
  equal(zz.fake.requests.length, 1, "it is no wish to try again");
  await zz.hit(KEY.ctrlC, ready);
  await zz.say("last");
  deepEqual(zz.sent(), ["go", "go\n\nlast"]);
});

test("Where the cursor cannot be moved [m] opens no picker, and names the model in use", async (t) => {
  const zz = await repl(t, { script: [broken, broken], env: { TERM: "dumb" } });
  await zz.say("go", QUESTION);
  await zz.say(
    "m",
    /openai\/m; its provider does not say how large its window is\.[\s\S]*\[m\]odel\?$/,
  );
  doesNotMatch(zz.screen(), /\? Model/);
  await zz.say("s", ready);
  zz.type(KEY.ctrlD);
  equal(await zz.exited, 0);
});

// A file that has changed meanwhile

test("r is offered at once where the file changed since it was read, and yes writes all the same", async (t) => {
  const change: Move = { call: ["write_file", { path: "a.txt", content: "zz's\n" }] };
  const later = (): Move => {
    it.write("a.txt", "theirs\n");
    return change;
  };
  const answers = ["?", "y"];
  const script = [{ call: ["read_file", { path: "a.txt" }] } as Move, later, "Good."];
  const it = await harness(
    { own: true, files: { "a.txt": "1\n" }, script, answer: async () => answers.shift()! },
    t,
  );
  await it.ask("go");
  match(it.questions[0]!, /Mind 'a\.txt': it changed since it was read\./);
  match(it.questions[1]!, /^┠ r /m);
  equal(it.read("a.txt"), "zz's\n");
});

test("Ctrl+C at the question of an edit is a no: nothing is written, and the turn goes on", async () => {
  const read = call(["read_file", { path: "a.txt" }]);
  const edit = call(["edit_file", { path: "a.txt", old_string: "two", new_string: "TWO" }]);
  const zz = await again([read, edit, say("Good.")]);
  const file = join(zz.where.cwd, "a.txt");
  writeFileSync(file, "one\ntwo\n");
  await zz.say("go", "Allow?");
  await zz.hit(KEY.ctrlC, /Good\.[\s\S]*›$/);
  equal(readFileSync(file, "utf8"), "one\ntwo\n");
  match(zz.fake.requests.at(-1)!.body.messages.at(-1).content, /^Refused: the person said no/);
  await zz.leave();
});

// At a limit

const look = (path?: string) => call(["list_dir", path ? { path } : {}]);

test("At the cap y goes on for as many rounds again, with tools", async (t) => {
  const zz = await repl(t, {
    script: [look(), look("."), look("./"), say("Good.")],
    args: ["--rounds", "2"],
  });
  await zz.say("go", "Stopped: 2 rounds used up. Go on? [y/N]");
  await zz.hit("y", "Good.");
  equal(zz.fake.requests.length, 4);
  ok(zz.fake.requests.every(({ body }) => body.tools.length));
  await zz.leave();
});

test("At the cap Ctrl+C asks for a report without tools; the next message has them again", async () => {
  const zz = await capped([look(), say("So far."), say("Good.")]);
  await zz.say("go", "Go on? [y/N]");
  await zz.hit(KEY.ctrlC, /So far\.[\s\S]*›$/);
  ok(!("tools" in zz.fake.requests[1]!.body));
  await zz.say("more");
  ok("tools" in zz.fake.requests[2]!.body);
});
