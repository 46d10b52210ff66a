// What a person may choose in the middle of a turn: when a provider fails, when a file has changed, at a limit.
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { call, refuse, say } from "../support/fake/openai.ts";
import { DOWN, ESC, type ReplOptions, repl, sharedRepl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const broken = refuse(400, { error: { message: "no such engine" } });
const QUESTION = "another [m]odel?";
const PICKER = /\? Model \(now openai\/m\)/;
/** Prompts that several tests share. */
const [again, editing, capped] = await Promise.all([
  sharedRepl(),
  sharedRepl({ rows: 50 }),
  sharedRepl({ args: ["--rounds", "1"] }),
]);
const ready = /\n[^\n]*›$/;

/** The model that each answer says it is from. */
const makers = (lines: any[]): string[] =>
  lines.flatMap(({ message }) => (message?.role === "assistant" ? [message.model] : []));
const models = ({ fake }: Awaited<ReturnType<typeof repl>>): string[] => fake.requests.map(({ body }) => body.model);

test("After a failure another model is picked, goes on with the turn, answers the next one too, and is named in the file", async (t) => {
  const zz = await repl(t, { script: [broken, say("From n."), say("Again.")] });
  await zz.say("go", QUESTION);
  zz.type("m");
  await zz.sees(PICKER);
  zz.type("openai/n");
  await zz.sees(/❯ openai\/n {2}8192 tokens/);
  zz.type(KEY.enter);
  await zz.sees(/Now openai\/n, with a window of 8192 tokens\.[\s\S]*From n\./);
  await zz.say("more", "Again.");
  deepEqual(models(zz), ["m", "n", "n"]);
  const [one, two, three] = zz.sent();
  deepEqual([one, two], ["go", "go"], "the message is sent as it was");
  match(three, /^--- RUNTIME ---\nModel: openai\/n\n[\s\S]*\n\nmore$/);
  await zz.leave();
  deepEqual(makers(zz.where.sessions()[0]!), ["openai/n", "openai/n"]);
});

test("A failure in a later round: the other model gets what the tools gave, and none runs again", async (t) => {
  const where = place();
  const zz = await repl(t, {
    where,
    script: [call(["create_file", { path: "a.txt", content: "one\n" }]), broken, say("From n.")],
    args: ["--allow-write"],
  });
  await zz.say("go", QUESTION);
  zz.type("m");
  await zz.sees(PICKER);
  zz.type(`${DOWN}${KEY.enter}`);
  await zz.sees("From n.");
  deepEqual(models(zz), ["m", "m", "n"]);
  const { messages } = zz.fake.requests[2]!.body;
  equal(messages.at(-1).role, "tool");
  deepEqual(messages, zz.fake.requests[1]!.body.messages);
  await zz.leave();
  deepEqual(makers(where.sessions()[0]!), ["openai/m", "openai/n"]);
});

for (const [how, keys] of [
  ["Ctrl+C", KEY.ctrlC],
  ["Escape", "\x1b"],
  ["Enter on the model in use", KEY.enter],
] as const)
  test(`${how} in the picker keeps the model, and the question comes back`, async () => {
    const zz = await again([broken, broken, broken]);
    await zz.say("go", QUESTION);
    zz.type("m");
    await zz.sees(PICKER);
    zz.type(keys);
    await zz.sees(/Still openai\/m[\s\S]*another \[m\]odel\?$/);
    zz.type("s");
    await zz.sees(ready);
    deepEqual(models(zz), ["m"], "it is no wish to try again");
  });

for (const [how, keys] of [
  ["Ctrl+C", KEY.ctrlC],
  ["Enter", KEY.enter],
  ["Escape", ESC],
] as const)
  test(`${how} at a provider's failure ends the turn; the message stays, and the next one is answered`, async () => {
    const zz = await again([broken, say("Good.")]);
    await zz.say("first", QUESTION);
    zz.type(keys);
    await zz.sees(ready);
    await zz.say("second");
    deepEqual(zz.sent(), ["first", "first\n\nsecond"]);
  });

test("Where the cursor cannot be moved [m] opens no picker, and names the model in use", async (t) => {
  const zz = await repl(t, { script: [broken, broken], env: { TERM: "dumb" } });
  await zz.say("go", QUESTION);
  zz.type(`m${KEY.enter}`);
  await zz.sees(/openai\/m; its provider does not say how large its window is\.[\s\S]*\[m\]odel\?$/);
  doesNotMatch(zz.screen(), /\? Model/);
  zz.type(`s${KEY.enter}`);
  await zz.sees(ready);
  zz.type(KEY.ctrlD);
  equal(await zz.exited, 0);
});

// A file that has changed meanwhile

const TEXT = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";
const OTHER = TEXT.replace("nine", "NINE");
const read = call(["read_file", { path: "a.txt" }]);
const edit = (from = "two", to = "TWO") => call(["edit_file", { path: "a.txt", old_string: from, new_string: to }]);

/** Shows a proposal to make two TWO, while the file is still as it was read. */
async function proposal(script: ReplOptions["script"] = [read, edit(), say("Good.")]) {
  const zz = await editing(script);
  const file = join(zz.where.cwd, "a.txt");
  writeFileSync(file, TEXT);
  await zz.say("go", "Allow?");
  return {
    ...zz,
    becomes: (text: string) => writeFileSync(file, text),
    holds: () => readFileSync(file, "utf8"),
    told: () => zz.fake.requests.at(-1)!.body.messages.at(-1).content as string,
  };
}

test("A file that changed elsewhere while the question waited is asked for again, and yes keeps both changes", async () => {
  const zz = await proposal();
  zz.becomes(OTHER);
  zz.type("y");
  await zz.sees(/'a\.txt' changed meanwhile; the change still applies\.[\s\S]*Allow\? \[y\/N\/e\/r\/A\/\?\]/);
  equal(zz.holds(), OTHER, "nothing is written before the second answer");
  zz.type("y");
  await zz.sees("Good.");
  equal(zz.holds(), OTHER.replace("two", "TWO"));
  await zz.leave();
});

test("The second time no leaves the other's change alone, and the reason reaches the model", async () => {
  const zz = await proposal();
  zz.becomes(OTHER);
  zz.type("y");
  await zz.sees("the change still applies.");
  zz.type("n");
  await zz.sees("Why not?");
  zz.type(`mine is newer${KEY.enter}`);
  await zz.sees("Good.");
  equal(zz.holds(), OTHER);
  match(zz.told(), /^Refused: the person said no to write access to "?'?a\.txt.*: mine is newer/);
  await zz.leave();
});

test("The second time r has the model read again and propose anew, which is asked for and written", async () => {
  const zz = await proposal([read, edit(), read, edit("two", "2"), say("Good.")]);
  zz.becomes(OTHER);
  zz.type("y");
  await zz.sees(/Allow\? \[y\/N\/e\/r\/A\/\?\]/);
  zz.type("r");
  await zz.sees(/2 \+ 2\n[\s\S]*Allow\? \[y\/N\/e\/A\/\?\]/);
  equal(zz.holds(), OTHER);
  const { messages } = zz.fake.requests[2]!.body;
  match(messages.at(-1).content, /the person sent it back\. Read the file again, and propose the change again\./);
  zz.type("y");
  await zz.sees("Good.");
  equal(zz.holds(), OTHER.replace("two", "2"));
  await zz.leave();
});

test("r is offered at once where the file changed since it was read, and yes writes all the same", async (t) => {
  const where = place();
  const file = join(where.cwd, "a.txt");
  writeFileSync(file, TEXT);
  const script = (_: unknown, turn: number) => {
    if (turn === 1) writeFileSync(file, OTHER);
    return [read, edit(), say("Good.")][turn]!;
  };
  const zz = await repl(t, { where, script, rows: 50 });
  await zz.say("go", /Mind 'a\.txt': it changed since it was read\.[\s\S]*Allow\? \[y\/N\/e\/r\/A\/\?\]/);
  zz.type("y");
  await zz.sees("Good.");
  equal(readFileSync(file, "utf8"), OTHER.replace("two", "TWO"));
  await zz.leave();
});

for (const [what, becomes] of [
  ["where another changed the same line", TEXT.replace("two", "zwei")],
  ["where nothing is left of it", ""],
] as const)
  test(`A change that no longer applies, ${what}, is not made; the model is told to read again`, async () => {
    const zz = await proposal();
    zz.becomes(becomes);
    zz.type("y");
    await zz.sees("Good.");
    equal(zz.holds(), becomes);
    match(zz.told(), /^Cannot write 'a\.txt': it changed meanwhile\. Read it again\./);
  });

test("A file that another made while the question waited is not overwritten", async (t) => {
  const where = place();
  const file = join(where.cwd, "new.txt");
  const script = [call(["create_file", { path: "new.txt", content: "zz's\n" }]), say("Good.")];
  const zz = await repl(t, { where, script });
  await zz.say("go", "Allow?");
  ok(!existsSync(file));
  writeFileSync(file, "another's\n");
  zz.type("y");
  await zz.sees("Good.");
  equal(readFileSync(file, "utf8"), "another's\n");
  await zz.leave();
});

test("Ctrl+C at the question of an edit is a no: nothing is written, and the turn goes on", async () => {
  const zz = await proposal();
  zz.type(KEY.ctrlC);
  await zz.sees(/Good\.[\s\S]*›$/);
  equal(zz.holds(), TEXT);
  match(zz.told(), /^Refused: the person said no/);
  await zz.leave();
});

// At a limit

const look = (path?: string) => call(["list_dir", path ? { path } : {}]);

test("At the cap y goes on for as many rounds again, with tools", async (t) => {
  const zz = await repl(t, { script: [look(), look("."), look("./"), say("Good.")], args: ["--rounds", "2"] });
  await zz.say("go", "Stopped: 2 rounds used up. Go on? [y/N]");
  zz.type("y");
  await zz.sees("Good.");
  equal(zz.fake.requests.length, 4);
  ok(zz.fake.requests.every(({ body }) => body.tools.length));
  await zz.leave();
});

for (const [how, keys] of [
  ["n", "n"],
  ["Enter", KEY.enter],
  ["Ctrl+C", KEY.ctrlC],
] as const)
  test(`At the cap ${how} asks for a report without tools; the next message has them again`, async () => {
    const zz = await capped([look(), say("So far."), say("Good.")]);
    await zz.say("go", "Go on? [y/N]");
    zz.type(keys);
    await zz.sees(/So far\.[\s\S]*›$/);
    ok(!("tools" in zz.fake.requests[1]!.body));
    await zz.say("more");
    ok("tools" in zz.fake.requests[2]!.body);
  });

test("The same call with the same result three times over is asked for as well", async () => {
  const zz = await again([look(), look(), look(), look("."), say("Good.")]);
  await zz.say("go", "Stopped: the same call gave the same result 3 times. Go on? [y/N]");
  zz.type("y");
  await zz.sees("Good.");
  equal(zz.fake.requests.length, 5);
  ok("tools" in zz.fake.requests[3]!.body);
  await zz.leave();
});
