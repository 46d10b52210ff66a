// Edits that need no approval are still seen: their diff is shown, the prompt says so, and /changes
// N shows any again.
import { deepEqual, doesNotMatch, match, ok } from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { standingClock } from "../../sdk/clock.ts";
import { call, say } from "../support/fake/openai.ts";
import { ESC, nobodyTypes, repl } from "../support/repl.ts";
import { place, zz as run } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const LONG = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`).join("\n");
const EDIT = call(["create_file", { path: "a.txt", content: "one\ntwo\n" }]);

test("An edit under auto-apply shows its diff, the prompt says that it is on, and /changes N shows any again, 40 columns wide", async (t) => {
  const clock = standingClock();
  const wide = "export const price = sum + total of what was sold in spring and summer\n";
  const script = [
    call(["create_file", { path: "wide.txt", content: wide }]),
    EDIT,
    call(["create_file", { path: "long.txt", content: LONG }]),
    say("Done."),
  ];
  const zz = await repl(t, { cols: 40, rows: 15, script, clock });
  await zz.say("/auto-apply on", /auto-apply ›\s*$/);
  const shown = await zz.say("go", /Done\.[\s\S]*auto-apply ›\s*$/);
  match(
    shown,
    /create a\.txt · lines 1–2 · \+2 −0\n {4}1 \+ one\n {4}2 \+ two\n✓ create_file a\.txt/,
  );
  match(
    shown,
    /create long\.txt · lines 1–40[\s\S]* 11 \+ line 11\n {2}… 30 more rows: \/changes N shows all\n✓ create_file/,
  );
  await zz.say("/auto-apply off", /Edits are asked for again\.[\s\S]*›\s*$/);
  doesNotMatch(zz.screen().split("\n").at(-1)!, /auto-apply/);
  await zz.say(
    "/changes 1",
    /1 \+ export const price = sum \+ total\s+of what was sold in spring and\s+summer\n/,
  ); // no word is torn
  await zz.say(
    "/changes 2",
    /changes 2\ncreate a\.txt · lines 1–2 · \+2 −0\n {4}1 \+ one\n {4}2 \+ two\n/,
  );
  zz.type(`/changes 3${KEY.enter}`);
  await nobodyTypes(clock);
  await zz.sees(/(line \d+ of |\/)43/);
  await nobodyTypes(clock);
  await zz.press("\x1b");
  await clock.pass(50);
  await zz.sees(/─ .*\n.*›\s*$/);
  await zz.say("/changes 7", /Cannot show change 7: there is none/);
  for (const row of zz.screen().split("\n")) ok(row.length <= 40, row);
});

test("With edit.auto edits are made unasked from the start, the prompt says so, and /config edit.auto false ends it", async (t) => {
  const touch = call(["run_command", { command: "touch x" }]);
  const second = call(["create_file", { path: "b.txt", content: "b\n" }]);
  const script = [EDIT, touch, say("Done."), second, say("Well.")];
  const zz = await repl(t, {
    where: place({}, { edit: { auto: true }, shell: { effects: "before" } }),
    script,
  });
  await zz.sees(/auto-apply ›\s*$/);
  const shown = await zz.say("go", "Allow?");
  match(
    shown,
    /create a\.txt · lines 1–2 · \+2 −0\n {4}1 \+ one\n {4}2 \+ two\n✓ create_file a\.txt/,
  );
  match(shown, /\$ touch x/);
  await zz.hit(ESC, /Done\.[\s\S]*auto-apply ›\s*$/);
  await zz.say("/config edit.auto false", /edit\.auto is false now[^›]*›\s*$/);
  await zz.say("go", /create b\.txt[\s\S]*Allow\?/);
  await zz.hit(ESC, "Well.");
});

test("edit.auto counts without a conversation, after a denial, as true or false, and not for a project to say", async () => {
  for (const [home, project, code, says] of [
    [{ edit: { auto: true } }, {}, 0, /^$/],
    [{ edit: { auto: true }, permissions: { deny: { write: ["a.txt"] } } }, {}, 4, /denied/],
    [{}, { edit: { auto: true } }, 4, /^Cannot take edit from '/],
    [
      { edit: { auto: "yes" } },
      {},
      4,
      /^Cannot use the setting "edit\.auto" in '.*': it must be true or false\. /,
    ],
  ] as const) {
    const where = place({ ".zz/zz.config.json": project }, home);
    const ran = await run(where, ["--call", "create_file", '{"path":"a.txt","content":"one"}']);
    deepEqual([ran.code, existsSync(join(where.cwd, "a.txt"))], [code, code === 0], ran.stderr);
    match(ran.stderr, says);
  }
});

test("After A the next edit shows its diff, and one that was asked for is not shown twice", async (t) => {
  const script = [EDIT, call(["create_file", { path: "c.txt", content: "three\n" }]), say("Done.")];
  const zz = await repl(t, { script });
  await zz.say("go", "Allow?");
  const shown = await zz.hit("A", /Done\.[\s\S]*auto-apply ›\s*$/);
  match(shown, /^create c\.txt · line 1 · \+1 −0\n {4}1 \+ three\n✓ create_file c\.txt/m);
  doesNotMatch(shown, /^create a\.txt/m);
});
