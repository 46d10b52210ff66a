// What the watcher of a project's folders sees, and what it leaves alone.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gitOf } from "../../../kernel/git.ts";
import { openWatch } from "../../../plugins/symbols/watch.ts";
import { impossible, needs } from "../../support/needs.ts";

const linuxTest = process.platform === "linux" ? needs("git") : impossible("elsewhere each question looks for itself");

function project(t: TestContext): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "zz-watch-")));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  execFileSync("git", ["init", "-q", root]);
  return root;
}

/** A watch that has looked around, and what it has seen so far. */
async function watching(t: TestContext, root: string, names: string[]) {
  const watch = openWatch(root, () => 1);
  t.after(() => watch.close());
  watch.on(names, gitOf(root), () => {});
  for (let i = 0; i < 200 && !(await watch.take()); i++) await sleep(20);
  return async () => [...((await watch.take()) ?? ["everything has to be looked at"])].sort();
}

linuxTest(
  "a folder that git ignores is not watched, however many there are in it, and whatever its name",
  async (t) => {
    const root = project(t);
    for (let i = 0; i < 700; i++) mkdirSync(join(root, `out ü "x"/${i}`), { recursive: true });
    for (const folder of ["src", "empty", "öde"]) mkdirSync(join(root, folder));
    writeFileSync(join(root, ".gitignore"), "out*\nöde\n");
    writeFileSync(join(root, "src/a.ts"), "");
    const seen = await watching(t, root, [".gitignore", "src/a.ts"]);
    deepEqual(await seen(), []);
    writeFileSync(join(root, 'out ü "x"/made.ts'), "");
    writeFileSync(join(root, "öde/made.ts"), "");
    deepEqual(await seen(), []);
    writeFileSync(join(root, "src/a.ts"), "1");
    writeFileSync(join(root, "empty/new.ts"), "1");
    const all = await seen();
    ok(all.includes("src/a.ts") && all.includes("empty/new.ts"), all.join());
  },
);
