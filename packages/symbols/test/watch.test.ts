// What the watcher of a project's folders sees, and what it leaves alone.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { gitOf } from "../../../kernel/system/safe-git.ts";
import { CLOCK } from "../../../kernel/text/clock.ts";
import { impossible, needs } from "../../../test/support/needs.ts";
import { place } from "../../../test/support/run.ts";
import { random, runs, SEED } from "../../../test/support/runs.ts";
import { kernel } from "../../../test/support/script.ts";
import { waitFor } from "../../../test/support/wait.ts";
import { openProject } from "../project.ts";
import { Watch } from "../watch.ts";

const linuxTest =
  process.platform === "linux"
    ? needs("git")
    : impossible("elsewhere each question looks for itself");

function project(): string {
  const root = realpathSync(place().cwd);
  execFileSync("git", ["init", "-q", root]);
  return root;
}

/** A watch that has looked around, and what it has seen so far. */
async function watching(t: TestContext, root: string, names: string[]) {
  const watch = new Watch(root, () => 1, CLOCK);
  t.after(() => watch.close());
  watch.watchFolders(names, gitOf(root), () => {});
  await waitFor("the watch to have looked around", () => watch.takeTouched());
  return async () =>
    [...((await watch.takeTouched()) ?? ["everything has to be looked at"])].sort();
}

linuxTest(
  "a folder that git ignores is not watched, however many are in it, whatever its name",
  async (t) => {
    const root = project();
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

let made = 0;
const make = (root: string, name: string) =>
  writeFileSync(join(root, name), `export const made${made++} = 1;\n`);
const remove = (root: string, name: string) =>
  rmSync(join(root, name), { recursive: true, force: true });
/** What happens to files, by the name of the deed. */
const DEEDS: Record<string, (root: string, name: string) => void> = {
  make,
  delete: remove,
  move: (root, name) =>
    existsSync(join(root, name)) && renameSync(join(root, name), join(root, `${name}x.ts`)),
  ignore: (root, name) => appendFileSync(join(root, ".gitignore"), `/${name}\n`),
  "ignore no more": (root) => writeFileSync(join(root, ".gitignore"), ""),
  "make a folder": (root, name) => mkdirSync(join(root, `of-${name}`), { recursive: true }),
  "make in a folder": (root, name) =>
    existsSync(join(root, `of-${name}`)) && make(root, `of-${name}/${name}`),
  "make and delete": (root, name) => {
    make(root, name);
    remove(root, name);
  },
};

linuxTest(
  "whatever happens to files, what is watched is indexed as a look at everything would",
  async (t) => {
    const root = project();
    const home = join(root, ".git", "home");
    for (const name of ["a.ts", "b.ts", "c.ts"]) make(root, name);
    const ctx = (await kernel.createZz({ root, home, save: false, bare: true })).ctx();
    const watch = new Watch(root, () => 1, CLOCK);
    t.after(() => watch.close());
    const all = async () => ({ scope: "", most: 1_000 });
    const watched = openProject(root, home, all, () => [], watch);
    const whole = openProject(root, `${home}2`, all, () => []);
    const done: string[] = [];
    const next = random(SEED);
    const below = (count: number) => Math.floor(next() * count);
    for (let round = 0; round < runs(8, 100); round++) {
      for (let i = below(3); i >= 0; i--) {
        const deed = Object.keys(DEEDS)[below(Object.keys(DEEDS).length)]!;
        const name = ["a.ts", "b.ts", "d.ts"][below(3)]!;
        DEEDS[deed]!(root, name);
        done.push(`${deed} ${name}`);
      }
      const index = await watched.fresh(ctx);
      watch.watchFolders(index.names, ctx.git, () => {});
      done.push("look");
      deepEqual(index.files, (await whole.fresh(ctx)).files, done.slice(-12).join(", "));
    }
  },
);
