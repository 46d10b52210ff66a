// kill -9 while zz writes many files: each is either old or new, and undo takes the rest back.
import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { place, zz } from "../support/run.ts";

const KILLS = process.env.ZZ_KILLS ? Number(process.env.ZZ_KILLS) / 2 : 8;
const FILES = Array.from({ length: 40 }, (_, i) => `d${i % 4}/f${i}.txt`);
const OLD = "old\n".repeat(2_000);
const NEW = OLD.replace("old", "new");

test(`after each of ${KILLS} kill -9 no file is half-written, and undo gives back every byte`, {
  timeout: 60_000 + KILLS * 3_000,
}, async (t) => {
  const counts = { killed: 0, between: 0 };
  let whole = 0; // how long a run takes that is not killed
  for (let i = 0; i < KILLS; i++) {
    const where = place();
    for (let d = 0; d < 4; d++) fs.mkdirSync(join(where.cwd, `d${d}`));
    for (const name of FILES) fs.writeFileSync(join(where.cwd, name), OLD);
    const blow = new AbortController();
    const edits = JSON.stringify({ patch: unified() });
    const running = zz(where, ["--call", "apply_patch", edits, "--allow-write"], { signal: blow.signal });
    const moment = Math.round(whole * (0.5 + Math.random() / 2));
    if (i < 2)
      whole = (await running).ms; // the first run compiles what the others read from the cache
    else await sleep(moment);
    blow.abort();
    const { code, ms } = await running;
    if (code === null) counts.killed++;
    else whole = Math.min(whole, ms); // the machine was busier when it was measured
    const now = FILES.map((name) => fs.readFileSync(join(where.cwd, name), "utf8"));
    ok(
      now.every((text) => text === OLD || text === NEW),
      `${moment} ms: every file is whole`,
    );
    if (now.includes(OLD) && now.includes(NEW)) counts.between++;
    const undone = await zz(where, ["--undo"]);
    equal(undone.code, 0, undone.stderr);
    deepEqual(new Set(FILES.map((name) => fs.readFileSync(join(where.cwd, name), "utf8"))), new Set([OLD]));
    for (let d = 0; d < 4; d++)
      await zz(where, ["--call", "create_file", JSON.stringify({ path: `d${d}/x`, content: "" }), "--allow-write"]);
    const left = fs.readdirSync(where.cwd, { recursive: true, encoding: "utf8" }).filter((name) => /\.zz-/.test(name));
    deepEqual(left, [], "what was half-written beside them is gone with the next write");
  }
  t.diagnostic(`${counts.killed} of ${KILLS} were killed, ${counts.between} of them between two files`);
  ok(counts.killed > KILLS / 3);
});

/** A plain diff that changes the first line of each file. */
function unified(): string {
  return FILES.map((name) => `--- a/${name}\n+++ b/${name}\n@@ -1,2 +1,2 @@\n-old\n+new\n old\n`).join("");
}
