// kill -9 while zz writes many files: each is either old or new, and undo takes the rest back.
import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { place, zz } from "../support/run.ts";

const KILLS = process.env.ZZ_KILLS ? Number(process.env.ZZ_KILLS) / 2 : 4; // test/slow/kill.test.ts does more
const FILES = Array.from({ length: 40 }, (_, i) => `d${i % 4}/f${i}.txt`);
const OLD = "old\n".repeat(2_000);
const NEW = OLD.replace("old", "new");

test(`after each of ${KILLS} kill -9 no file is half-written, and undo gives back every byte`, {
  timeout: 60_000 + KILLS * 3_000,
}, async (t) => {
  const counts = { killed: 0, between: 0 };
  let whole = 0; // how long the writing takes in a run that is not killed
  for (let i = 0; i <= KILLS; i++) {
    const where = place();
    for (let d = 0; d < 4; d++) fs.mkdirSync(join(where.cwd, `d${d}`));
    for (const name of FILES) fs.writeFileSync(join(where.cwd, name), OLD);
    const blow = new AbortController();
    const edits = JSON.stringify({ patch: unified() });
    let isOver = false;
    const running = zz(where, ["--call", "apply_patch", edits, "--allow-write"], { signal: blow.signal });
    void running.then(() => (isOver = true));
    while (!isOver && !fs.existsSync(join(where.home, "sessions"))) await sleep(1); // there it notes what would undo it
    const began = performance.now();
    const moment = Math.random() * whole;
    if (i > 0) {
      await Promise.race([sleep(moment), running]);
      blow.abort();
    }
    const { code } = await running;
    if (code === null) counts.killed++;
    else whole = performance.now() - began;
    const now = FILES.map((name) => fs.readFileSync(join(where.cwd, name), "utf8"));
    ok(
      now.every((text) => text === OLD || text === NEW),
      `${moment} ms: every file is whole`,
    );
    if (now.includes(OLD) && now.includes(NEW)) counts.between++;
    const undone = await zz(where, ["--undo"]);
    equal(undone.code, 0, undone.stderr);
    deepEqual(new Set(FILES.map((name) => fs.readFileSync(join(where.cwd, name), "utf8"))), new Set([OLD]));
    const made = FILES.slice(0, 4).map((name) => `--- /dev/null\n+++ b/${name}.x\n@@ -0,0 +1 @@\n+x\n`); // one in each folder
    const more = await zz(where, ["--call", "apply_patch", JSON.stringify({ patch: made.join("") }), "--allow-write"]);
    equal(more.code, 0, more.stderr);
    const left = fs.readdirSync(where.cwd, { recursive: true, encoding: "utf8" }).filter((name) => /\.zz-/.test(name));
    deepEqual(left, [], "what was half-written beside them is gone with the next write");
  }
  t.diagnostic(`${counts.killed} of ${KILLS} were killed, ${counts.between} of them between two files`);
  ok(counts.killed > KILLS / 3, `${counts.killed} were killed`);
});

/** A plain diff that changes the first line of each file. */
function unified(): string {
  return FILES.map((name) => `--- a/${name}\n+++ b/${name}\n@@ -1,2 +1,2 @@\n-old\n+new\n old\n`).join("");
}
