// Questions as a person answers them: the default and how it is shown, explained keys, capitals,
// arrows, an edited command, allowing its family, and a reason for the model.
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { harness } from "../../sdk/testing.ts";
import type { Fake } from "../support/fake/http.ts";
import { call, say } from "../support/fake/openai.ts";
import { DOWN, ESC, LEFT, nobodyTypes, pressKey, repl, sharedRepl, UP } from "../support/repl.ts";
import { asksBefore, place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";
import { waitFor } from "../support/wait.ts";

const run = (command: string) => call(["run_command", { command }]);
const again = await sharedRepl({ where: asksBefore(place()) });
/** How the refusals of that command end which the model was sent. */
const refusals = ({ fake }: { fake: Fake }): string[] =>
  fake.requests
    .at(-1)!
    .body.messages.flatMap(
      ({ content }: any) =>
        /^Refused: the person said no to run access to "touch made"(.*)$/.exec(content)?.[1] ?? [],
    );

test("? explains the keys, arrows and other keys do nothing, a capital Y is a yes", async (t) => {
  const where = asksBefore(place());
  const zz = await repl(t, {
    where,
    cols: 40,
    rows: 15,
    script: [run("touch made here"), say("Done.")],
  });
  await zz.say("go", "Allow? [y/n/e/A/F/?] (? explains)");
  const shown = (await zz.hit("?", /Escape {2}no, without a reason[\s\S]*explains\)/)).replaceAll(
    /\n[┃┠ ] /g,
    "\n",
  );
  match(shown.replaceAll("\n", " "), /A {2}always, in this session: run "touch made\s+here"/);
  match(shown.replaceAll("\n", " "), /words {2}no, for the reason that you\s+type/);
  match(shown.replaceAll("\n", " "), /F {2}always, in this session:\s+run "touch …"/);
  for (const key of [UP, DOWN, LEFT, " ", "x", "\x7f"]) await zz.press(key);
  await zz.hit("Y", "Done.");
  equal(zz.fake.requests.length, 2, "only the last of these keys was an answer");
  ok(existsSync(join(where.cwd, "made")));
});

test("A question stands alone, whatever ends beside it: the time runs again, and results show, once it is answered", async (t) => {
  const asks = `import { writeFileSync } from "node:fs";
    export default (zz) => {
      zz.tool({ name: "asks", kind: "read", description: "Asks.",
        run: async (_, ctx) => (await ctx.ask("Go on?", "yn")) + (await ctx.io.clock.sleep(700), "") });
      zz.tool({ name: "ends", kind: "read", description: "Ends.", run: async () => "ended" });
      zz.on("called", ({ call }, { root }) => writeFileSync(root + "/" + call.id, ""));
    };`;
  const [where, clock] = [place({ a: "one\n", "asks.js": asks }), standingClock()];
  symlinkSync("/etc/hostname", join(where.cwd, "outside"));
  const reads = call(["read_file", { path: "outside" }], ["read_file", { path: "a" }]);
  const script = [reads, call(["asks", {}], ["ends", {}]), say("Done.")];
  const zz = await repl(t, { where, clock, script, args: ["--plugin", "asks.js"] });
  zz.type(`go${KEY.enter}`);
  for (const [question, beside] of [
    [/┗ Allow\? \[y\/n\/A\/\?\] \(\? explains\)$/, "call_read_file_1"],
    [/Go on\?\s*(\[y\/n\])?$/i, "call_ends_1"],
  ] as const) {
    await nobodyTypes(clock);
    await zz.sees(question);
    await waitFor(`the end of ${beside}`, () => existsSync(join(where.cwd, beside)));
    await clock.pass(1_000);
    match(await zz.drawn(), question);
    await pressKey(clock, zz, "y");
  }
  await clock.waits(700);
  await clock.pass(100);
  match(await zz.drawn(), /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] asks$/, "the time runs again after an answer");
  await clock.pass(600);
  await zz.sees(/✓ asks[\s\S]*✓ ends[\s\S]*Done\./);
});

test("Words that begin with A or F are a reason if they go on within 600 ms; A alone allows", async (t) => {
  const [where, clock] = [asksBefore(place()), standingClock()];
  const zz = await repl(t, {
    where,
    clock,
    script: [...Array(3).fill(run("touch made")), say("Done.")],
  });
  zz.type(`go${KEY.enter}`);
  for (const [turn, letter] of ["A", "F", "A"].entries()) {
    await nobodyTypes(clock);
    await zz.sees(/explains\)$/);
    await zz.press(letter);
    await clock.waits(600);
    await clock.pass(599);
    if (turn === 2) continue;
    for (const key of [..." test first", KEY.enter]) await zz.press(key);
    await zz.asked(turn + 2);
    const said = zz.fake.requests.at(-1)!.body.messages.at(-1).content;
    match(
      said,
      new RegExp(`the person said no to run access to "touch made": ${letter} test first`),
    );
  }
  ok(!existsSync(join(where.cwd, "made")));
  await clock.pass(1);
  await zz.sees("Done.");
  ok(existsSync(join(where.cwd, "made")));
});

test("Enter explains the keys, Escape is a no; a reason after n goes to the model", async () => {
  const zz = await again([run("touch made"), run("touch made"), say("Done.")]);
  await zz.say("go", "Allow?");
  await zz.hit(KEY.enter, /Allow\?[\s\S]*Escape {2}no[\s\S]*Allow\?/);
  await zz.hit(ESC, /Allow\?[\s\S]*Allow\?[\s\S]*wants to run "touch made"[\s\S]*Allow\?/);
  await zz.hit("n", "Why not?");
  await zz.say("use mkdir instead", "Done.");
  deepEqual(refusals(zz), [".", ": use mkdir instead"]);
  ok(!existsSync(join(zz.where.cwd, "made")));
});

test("Words at a question are a no that says why, and are kept where nobody asks why", async () => {
  const zz = await again([...Array(5).fill(run("touch made")), say("Done.")]);
  await zz.say("go", "Allow?");
  await zz.hit("n", "Why not?");
  await zz.say("o", /Allow\?[\s\S]*Allow\?/);
  for (const key of [..."use mkdirx\x7f, y?", KEY.enter]) await zz.press(key);
  await zz.sees(/use mkdir, y\?\n[\s\S]*Allow\?/);
  zz.type(`wait, what?${KEY.enter}`); // all at once
  await zz.sees(/wait, what\?\n[\s\S]*explains\)$/);
  await zz.hit("\x1b[200~name\ny\x1b[201~", /explains\) name y$/); // a paste
  await zz.hit(KEY.enter, /name y\n[\s\S]*explains\)$/);
  await zz.hit("why", /explains\) why$/);
  await zz.hit(ESC, /explains\)$/);
  await zz.say("yes", "Done.");
  deepEqual(
    refusals(zz),
    [".", ": use mkdir, y?", ": wait, what?", ": name y"],
    "the rest of a no is no reason",
  );
  ok(existsSync(join(zz.where.cwd, "made")), "a yes that is written out is a yes");
  await zz.say("/rename a talk", "is called");
  await zz.say("/export out.md", "Wrote");
  await zz.say("/export out.md", "Overwrite it?");
  await zz.say("save it elsewhere", /Nothing was written\.\n.*› save it elsewhere/);
});

test("F allows the family of a command for the session", async () => {
  const zz = await again([run("touch one"), run("touch two"), run("mkdir three"), say("Done.")]);
  await zz.say("go", "Allow?");
  await zz.hit("F", /wants to run "mkdir three"[\s\S]*Allow\?/);
  ok(existsSync(join(zz.where.cwd, "two")), "the second was not asked for");
  await zz.hit(ESC, "Done.");
  await zz.say("/permissions", /allow {2}run +touch {2}\(this session\)/);
});

test("e edits a command: what was saved is asked for and run, and the model is told; what is denied does not run", async (t) => {
  for (const [saved, says] of [
    ["touch right", /^The person edited the command before it ran:\ntouch right\n/],
    ["mkdir no", /^Refused: run access to "mkdir no" is denied/],
  ] as const) {
    const keys = ["e", "y"];
    const settings = { shell: { effects: "before" } };
    const answer = async () => keys.shift() ?? "";
    const it = await harness({ own: true, settings, deny: { run: ["mkdir"] }, answer }, t);
    it.core.edit = async () => saved;
    match((await it.call("run_command", { command: "touch wrong" })).text, says);
    const made = ["wrong", "right", "no"].filter((name) => existsSync(join(it.root, name)));
    deepEqual(made, saved === "touch right" ? ["right"] : []);
  }
});
