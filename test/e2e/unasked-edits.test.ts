// Edits that nobody asks about are seen all the same: their diff is shown, the prompt says so, and /changes N shows any again.
import { doesNotMatch, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { call, say } from "../support/fake/openai.ts";
import { repl } from "../support/repl.ts";
import { place } from "../support/run.ts";
import { KEY } from "../support/terminal.ts";

const LONG = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`).join("\n");
const EDIT = call(["create_file", { path: "a.txt", content: "one\ntwo\n" }]);

for (const [cols, rows] of [
  [80, 24],
  [40, 15],
] as const) {
  test(`At ${cols}×${rows} an edit under auto-apply shows its diff, and the prompt says that it is on`, async (t) => {
    const where = place();
    const script = [EDIT, call(["create_file", { path: "long.txt", content: LONG }]), say("Done.")];
    const zz = await repl(t, { where, cols, rows, script });
    await zz.say("/auto-apply on", /auto-apply ›\s*$/);
    const shown = await zz.say("go", /Done\.[\s\S]*auto-apply ›\s*$/);
    match(shown, /create a\.txt · lines 1–2 · \+2 −0\n {4}1 \+ one\n {4}2 \+ two\n✓ create_file a\.txt/);
    match(
      shown,
      /create long\.txt · lines 1–40[\s\S]* 11 \+ line 11\n {2}… 30 more rows: \/changes N shows all\n✓ create_file/,
    );
    await zz.say("/auto-apply off", /Edits are asked for again\.[\s\S]*›\s*$/);
    doesNotMatch(zz.screen().split("\n").at(-1)!, /auto-apply/);
    await zz.say("/changes 1", /changes 1\ncreate a\.txt · lines 1–2 · \+2 −0\n {4}1 \+ one\n {4}2 \+ two\n/);
    zz.type(`/changes 2${KEY.enter}`);
    await zz.sees(/line \d+ of 43/);
    await sleep(300);
    for (let left = 20; left && !/›\s*$/.test(zz.screen()); left--) {
      zz.type("\x1b");
      await sleep(400); // one that comes too early is dropped
    }
    await zz.sees(/── line .*\n.*›\s*$/);
    await zz.say("/changes 7", /Cannot show change 7: there is none/);
    await zz.say("/changes x", /Cannot show change 'x': there is none/);
    for (const row of zz.screen().split("\n")) ok(row.length <= cols, row);
  });
}

test("After A the next edit shows its diff, and one that was asked for is not shown twice", async (t) => {
  const where = place();
  writeFileSync(join(where.cwd, "b.txt"), "old\n");
  const script = [EDIT, call(["create_file", { path: "c.txt", content: "three\n" }]), say("Done.")];
  const zz = await repl(t, { where, script });
  zz.type(`go${KEY.enter}`);
  await zz.sees("Allow?");
  await sleep(200);
  zz.type("A");
  const shown = await zz.sees(/Done\.[\s\S]*auto-apply ›\s*$/);
  match(shown, /^create c\.txt · line 1 · \+1 −0\n {4}1 \+ three\n✓ create_file c\.txt/m);
  doesNotMatch(shown, /^create a\.txt/m);
});
