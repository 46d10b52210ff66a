// kill -9 right before each step on the disk that a change, an undo or a redo takes: the next zz
// finds whatever is left, and takes it away.
import { deepEqual, equal, notDeepEqual, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { place, ROOT, withEnvironment, zz, zzProcess } from "../../support/run.ts";
import { walk } from "../../support/walk.ts";

const KILL = pathToFileURL(join(ROOT, "test/support/kill-at.mjs")).href;
const FILES = { "a.txt": "one\n", "in/b.txt": "two\n" };
const call = (tool: string, args: object) => [
  "--call",
  tool,
  JSON.stringify(args),
  "--allow-write",
];
const DEEP = call("write_file", { path: "new/deeper/c.txt", content: "three\n" });

/** What is run before, and what is then killed at each of its steps. */
const KILLED: [what: string, before: string[][], args: string[]][] = [
  ["a new file in new folders", [], DEEP],
  ["a file that goes", [], call("delete_file", { path: "in/b.txt" })],
  ["an undo", [DEEP], ["--undo"]],
  ["a redo", [DEEP, ["--undo"]], ["--redo"]],
];

for (const [what, before, args] of KILLED)
  test(`Nothing is left of ${what} after a kill -9 at any step`, async () => {
    let steps = 0;
    for (let isOver = false; !isOver; steps++) {
      const where = place(FILES);
      const TMPDIR = join(where.home, "tmp");
      fs.mkdirSync(TMPDIR, { recursive: true });
      using _ = withEnvironment({ TMPDIR });
      const first = walk(where.cwd);
      for (const earlier of before) equal((await zz(where, earlier)).code, 0);
      const old = walk(where.cwd);
      const below = [where.cwd, join(TMPDIR, "zz-")].join(":");
      const env = { NODE_OPTIONS: `--import ${KILL}`, KILL_BELOW: below, KILL_AT: `${steps + 1}` };
      const dead = await zzProcess(where, args, { env });
      isOver = dead.code === 0;
      const at = `killed before step ${steps + 1}: ${dead.stderr}`;
      if (!isOver) equal(dead.code, null, at);
      await zz(where, ["--changes"]); // the next one in this project
      const now = walk(where.cwd);
      deepEqual(
        [...Object.keys(now).filter((name) => name.includes(".zz-")), ...leftIn(TMPDIR)],
        [],
        at,
      );
      if (isOver) notDeepEqual(now, old);
      else if (args[0] === "--undo") {
        await zz(where, args);
        deepEqual(walk(where.cwd), first, at);
      } else if (now["/new"]) ok(now["/new/deeper/c.txt"], at);
    }
    ok(steps > 5, `${steps} steps`);
  });

/** All but a dead process's lock, which the next change takes over. */
function leftIn(folder: string): string[] {
  const own = fs.readdirSync(folder).filter((name) => name.startsWith("zz-"));
  return own
    .flatMap((name) => fs.readdirSync(join(folder, name)))
    .filter((name) => !/^[0-9a-f]{32}$/.test(name));
}
