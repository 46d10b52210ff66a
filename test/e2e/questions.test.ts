// Questions as a person answers them: the default and how it is shown, explained keys, capitals, arrows, an edited
// command, allowing its family, and a reason for the model.
import { equal, match, ok } from "node:assert/strict";
import { chmodSync, existsSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { familyOf } from "../../plugins/shell/family.ts";
import { call, say } from "../support/fake/openai.ts";
import { DOWN, LEFT, repl, sharedRepl, UP } from "../support/repl.ts";
import { asksBefore, place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const run = (command: string) => call(["run_command", { command }]);
const SETTLED = 200; // ms in which keys from before a question are dropped

const again = await sharedRepl({ where: asksBefore(place()) });

for (const [cols, rows] of [
  [80, 24],
  [40, 15],
] as const)
  test(`At ${cols}×${rows} ? explains the keys, arrows and other keys do nothing, a capital Y is a yes`, async (t) => {
    const where = asksBefore(place());
    const zz = await repl(t, { where, cols, rows, script: [run("touch made here"), say("Done.")] });
    zz.type(`go${KEY.enter}`);
    await zz.sees("Allow? [y/N/e/A/F/?] (? explains)");
    await sleep(SETTLED);
    zz.type("?");
    const shown = (await zz.sees(/Enter {2}no, without a reason[\s\S]*explains\)/)).replaceAll(/\n[┃┠ ] /g, "\n");
    match(shown.replaceAll("\n", " "), /A {2}always, in this session: run "touch made\s+here"/);
    match(shown.replaceAll("\n", " "), /words {2}no, for the reason that you\s+type/);
    match(shown.replaceAll("\n", " "), /F {2}always, in this session:\s+run "touch …"/);
    for (const key of [UP, DOWN, LEFT, " ", "x", "\x7f"]) {
      zz.type(key);
      await sleep(50);
    }
    ok(!existsSync(join(where.cwd, "made")));
    equal(zz.fake.requests.length, 1, "none of these keys was an answer");
    zz.type("Y");
    await zz.sees("Done.");
    ok(existsSync(join(where.cwd, "made")));
    await zz.leave();
  });

test("A question stands alone, whatever ends beside it: the time runs again, and results show, once it is answered", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "a"), "one\n");
  symlinkSync("/etc/hostname", join(where.cwd, "outside"));
  writeFileSync(
    join(where.cwd, "asks.js"),
    `import { setTimeout as sleep } from "node:timers/promises";
    export default (zz) => {
      zz.tool({ name: "asks", kind: "read", description: "Asks.", run: async (_, ctx) => (await ctx.ask("Go on?", "yn")) + (await sleep(700), "") });
      zz.tool({ name: "waits", kind: "read", description: "Waits.", run: async () => (await sleep(400), "waited") });
    };`,
  );
  const rounds = [
    call(["read_file", { path: "a" }], ["read_file", { path: "outside" }]),
    call(["asks", {}], ["waits", {}]),
    say("Done."),
  ];
  const zz = await repl(t, { where, script: rounds, args: ["--plugin", "asks.js"] });
  zz.type(`go${KEY.enter}`);
  for (const question of [/┗ Allow\? \[y\/N\/A\/\?\] \(\? explains\)$/, /Go on\?\s*(\[y\/n\])?$/i]) {
    await zz.sees(question);
    for (let i = 0; i < 8; i++) {
      await sleep(100);
      match(zz.screen(), question);
    }
    zz.type("y");
  }
  await zz.sees(/✓ asks[\s\S]*✓ waits[\s\S]*Done\./);
  match(zz.raw(), /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] asks/, "the time runs again after an answer");
  await zz.leave();
});

test("Words that begin with A or F are a reason, however slowly they are typed; A alone allows", async (t) => {
  const where = asksBefore(place());
  const zz = await repl(t, { where, script: [...Array(3).fill(run("touch made")), say("Done.")] });
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  for (const [n, letter] of ["A", "F"].entries()) {
    await sleep(SETTLED);
    for (const key of [letter, ..." test first", KEY.enter]) {
      zz.type(key);
      await sleep(key === letter ? 300 : 20);
    }
    await zz.sees(new RegExp(`Allow\\?${"[\\s\\S]*Allow\\?".repeat(n + 1)}`));
    const said = zz.fake.requests.at(-1)!.body.messages.at(-1).content;
    match(said, new RegExp(`the person said no to run access to "touch made": ${letter} test first`));
  }
  ok(!existsSync(join(where.cwd, "made")));
  await sleep(SETTLED);
  zz.type("A");
  await zz.sees("Done.");
  ok(existsSync(join(where.cwd, "made")));
  await zz.leave();
});

test("Enter takes the default, which is no; a reason after n goes to the model", async () => {
  const zz = await again([run("touch made"), run("touch made"), say("Done.")]);
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  await sleep(SETTLED);
  zz.type(KEY.enter);
  await zz.sees(/Allow\?[\s\S]*Allow\?/);
  await sleep(SETTLED);
  zz.type("n");
  await zz.sees("Why not?");
  zz.type(`use mkdir instead${KEY.enter}`);
  await zz.sees("Done.");
  const said = zz.fake.requests.at(-1)!.body.messages.map(({ content }: { content: string }) => content);
  ok(said.includes('Refused: the person said no to run access to "touch made".'), said.join("\n"));
  ok(said.includes('Refused: the person said no to run access to "touch made": use mkdir instead'), said.join("\n"));
  ok(!existsSync(join(zz.where.cwd, "made")));
});

test("Words at a question are a no that says why, and are kept where nobody asks why", async () => {
  const script = [...Array(4).fill(run("touch made")), say("Done.")];
  const zz = await again(script);
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  await sleep(SETTLED);
  zz.type("n");
  await zz.sees("Why not?");
  zz.type(`o${KEY.enter}`);
  await zz.sees(/Allow\?[\s\S]*Allow\?/);
  await sleep(SETTLED);
  for (const key of [..."use mkdirx\x7f, y?", KEY.enter]) {
    zz.type(key);
    await sleep(20);
  }
  await zz.sees(/use mkdir, y\?\n[\s\S]*Allow\?/);
  await sleep(SETTLED);
  zz.type(`wait, what?${KEY.enter}`); // all at once
  await zz.sees(/wait, what\?\n[\s\S]*Allow\?/);
  await sleep(SETTLED);
  zz.type("why");
  await sleep(50);
  zz.type("\x1b");
  await sleep(100);
  zz.type(`yes${KEY.enter}`);
  await zz.sees("Done.");
  const said = zz.fake.requests.at(-1)!.body.messages.map(({ content }: { content: string }) => content);
  for (const why of ["use mkdir, y?", "wait, what?"])
    ok(said.includes(`Refused: the person said no to run access to "touch made": ${why}`), said.join("\n"));
  ok(said.includes('Refused: the person said no to run access to "touch made".'), "the rest of a no is no reason");
  ok(existsSync(join(zz.where.cwd, "made")), "a yes that is written out is a yes");
  await zz.say("/rename a talk", "is called");
  zz.type(`/export out.md${KEY.enter}`);
  await zz.sees("Wrote");
  zz.type(`/export out.md${KEY.enter}`);
  await zz.sees("Overwrite it?");
  await sleep(SETTLED);
  zz.type(`save it elsewhere${KEY.enter}`);
  await zz.sees(/Nothing was written\.\n.*› save it elsewhere/);
});

test("e edits a command: what was saved is asked for and run, and the model is told", async (t) => {
  const where = asksBefore(place());
  const editor = join(where.home, "..", "editor.sh");
  writeFileSync(editor, `#!/bin/sh\nsed -i 's/wrong/right/' "$1"\n`);
  chmodSync(editor, 0o755);
  const zz = await repl(t, { where, script: [run("touch wrong"), say("Done.")], env: { EDITOR: editor } });
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  await sleep(SETTLED);
  zz.type("e");
  await zz.sees(/requests run access to "touch right"[\s\S]*Allow\?/);
  await sleep(SETTLED);
  zz.type("y");
  await zz.sees("Done.");
  ok(existsSync(join(where.cwd, "right")) && !existsSync(join(where.cwd, "wrong")));
  match(
    zz.fake.requests.at(-1)!.body.messages.at(-1).content,
    /^The person edited the command before it ran:\ntouch right\n/,
  );
});

test("What was edited into a command that is denied does not run", async (t) => {
  const where = asksBefore(place());
  const editor = join(where.home, "..", "editor.sh");
  writeFileSync(editor, `#!/bin/sh\necho 'mkdir no' > "$1"\n`);
  chmodSync(editor, 0o755);
  const script = [run("touch wrong"), say("Done.")];
  const zz = await repl(t, { where, script, env: { EDITOR: editor }, args: ["--deny-run=mkdir"] });
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  await sleep(SETTLED);
  zz.type("e");
  await zz.sees("Done.");
  ok(!existsSync(join(where.cwd, "no")));
  match(zz.fake.requests.at(-1)!.body.messages.at(-1).content, /^Refused: run access to "mkdir no" is denied/);
});

test("F allows the family of a command for the session", async () => {
  const script = [run("touch one"), run("touch two"), run("mkdir three"), say("Done.")];
  const zz = await again(script);
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  await sleep(SETTLED);
  zz.type("F");
  await zz.sees(/requests run access to "mkdir three"[\s\S]*Allow\?/);
  ok(existsSync(join(zz.where.cwd, "two")), "the second was not asked for");
  await sleep(SETTLED);
  zz.type(KEY.enter);
  await zz.sees("Done.");
  await zz.say("/permissions", /allow {2}run +touch {2}\(this session\)/);
});

for (const [command, family] of [
  ["npm run build", "npm run"],
  ["npm run build -- --watch", "npm run"],
  ["npm test", "npm test"],
  ["git push origin main", "git push"],
  ["mkdir a b", "mkdir"],
  ["mkdir", undefined],
  ["npm --prefix x run", undefined],
  ["npm exec evil", undefined],
  ["bash -c x", undefined],
  ["node a.js", undefined],
  ["python3.12 a.py", undefined],
  ["sudo ls", undefined],
  ["rm -rf x", undefined],
  ["./script.sh x", undefined],
  ["A=1 npm run x", undefined],
  ["to* x", undefined],
  ["$CMD x", undefined],
] as const)
  test(`The family of '${command}' is ${family ? `'${family} …'` : "none"}`, () => equal(familyOf(command), family));
