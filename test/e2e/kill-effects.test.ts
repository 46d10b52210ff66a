// kill -9 while zz puts in place what a command changed on its copy: each file is either old or new, undo takes the
// rest back, and nothing is left behind.
import { deepEqual, equal, ok } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Place, place, zz } from "../support/run.ts";
import { viewTest } from "../support/view.ts";
import { walk } from "../support/walk.ts";

// A folder for temporary files of its own: any other zz would sweep here too, and might not have finished when we look.
process.env.TMPDIR = fs.mkdtempSync(join(os.tmpdir(), "zz-test-"));
after(() => fs.rmSync(process.env.TMPDIR!, { recursive: true, force: true }));

// test/slow/kill.test.ts kills more often, and in the midst of more files.
const isLong = process.env.ZZ_KILLS !== undefined;
const KILLS = isLong ? Number(process.env.ZZ_KILLS) / 4 : 2;
const FILES = isLong ? 60 : 30;
const IGNORED = isLong ? 1_500 : 300;

/** Edits, removes and adds ignored and other files; turns a folder into a file, and makes a folder again. */
const SCRIPT = `const fs = require("fs");
for (let i = 0; i < ${FILES}; i++) fs.writeFileSync("src/" + i, "new " + i + "\\n".repeat(2000));
for (let i = 0; i < ${IGNORED}; i++) i % 3 ? fs.writeFileSync("dist/" + i, "new " + i) : fs.rmSync("dist/" + i);
fs.rmSync("dist/deep", { recursive: true }); fs.mkdirSync("dist/deep"); fs.writeFileSync("dist/deep/again", "new");
fs.rmSync("both", { recursive: true }); fs.writeFileSync("both", "new");
for (let i = 0; i < ${IGNORED / 10}; i++) fs.writeFileSync("dist/deep/n" + i, "new");`;
const command = JSON.stringify({ command: `node -e '${SCRIPT.replaceAll("\n", " ")}'` });

function project(): Place {
  const where = place();
  const at = (name: string) => join(where.cwd, name);
  for (const name of ["src", "dist/deep", "both", ".git/objects", ".git/refs"])
    fs.mkdirSync(at(name), { recursive: true });
  fs.writeFileSync(at(".gitignore"), "dist/\n");
  fs.writeFileSync(at(".git/HEAD"), "ref: refs/heads/main\n");
  for (let i = 0; i < FILES; i++) fs.writeFileSync(at(`src/${i}`), `old ${i}${"\n".repeat(2_000)}`);
  for (let i = 0; i < IGNORED; i++) fs.writeFileSync(at(`dist/${i}`), `old ${i}`);
  fs.writeFileSync(at("dist/deep/gone"), "old");
  fs.writeFileSync(at("both/in"), "old");
  return where;
}

viewTest(
  `after each of ${KILLS} kill -9 every file is old or new, and undo takes back what was put in place`,
  { timeout: 120_000 + KILLS * 20_000 },
  async (t) => {
    const args = ["--call", "run_command", command, "--allow-write"];
    const counts = { killed: 0, between: 0 };
    const whole = project();
    const old = walk(whole.cwd);
    const untouched = await run(whole, args, Number.POSITIVE_INFINITY);
    equal(untouched.code, 0, untouched.stderr);
    const made = walk(whole.cwd);
    for (let i = 0; i < KILLS; i++) {
      const where = project();
      if ((await run(where, args, Math.random() * untouched.put * 1.2)).code === null) counts.killed++;
      const now = walk(where.cwd);
      const names = new Set([old, made, now].flatMap((tree) => Object.keys(tree)));
      const wrong = [...names].filter(
        (name) => now[name] !== old[name] && now[name] !== made[name] && !isUnderWay(name) && !isBetween(name, now),
      );
      deepEqual(wrong, [], "neither old nor new");
      const [has, lacks] = [made, old].map((tree) =>
        [...names].some((name) => now[name] === tree[name] && old[name] !== made[name]),
      );
      if (has && lacks) counts.between++;
      const undone = await zz(where, ["--undo"]);
      equal(undone.code, 0, undone.stderr);
      const left = Object.entries(walk(where.cwd)).filter(([name]) => !isUnderWay(name));
      deepEqual(Object.fromEntries(left), old, undone.stdout);
    }
    // The next start removes what they left.
    await zz(whole, ["--call", "run_command", JSON.stringify({ command: "node -e 1" })]);
    const views = fs.readdirSync(os.tmpdir()).filter((name) => name.startsWith("zz-view-"));
    deepEqual(views, [], "scratch folders");
    t.diagnostic(`${counts.killed} of ${KILLS} were killed, ${counts.between} of them between two files`);
    ok(counts.killed > KILLS / 4 || KILLS < 8);
  },
);

/** A temporary file that the next write in its folder removes. */
const isUnderWay = (name: string): boolean => /\.zz-\d+-\w+\.tmp$/.test(name);

/** Whether it was killed between the two steps in which a file replaces a folder. */
const isBetween = (name: string, now: Record<string, string>): boolean => name === "/both" && now[name] === undefined;

/** Kills zz that many ms after it began to record its changes; `put`: how long the rest takes if it is not killed. */
async function run(
  where: Place,
  args: string[],
  after: number,
): Promise<{ code: number | null; put: number; stderr: string }> {
  const blow = new AbortController();
  const running = zz(where, args, { signal: blow.signal });
  let isOver = false;
  void running.then(() => (isOver = true));
  const sessions = join(where.home, "sessions");
  while (!isOver && !(fs.existsSync(sessions) && fs.readdirSync(sessions).some((name) => name.endsWith(".jsonl"))))
    await sleep(1);
  const began = performance.now();
  if (Number.isFinite(after)) {
    await Promise.race([sleep(after), running]);
    blow.abort();
  }
  const { code, stderr } = await running;
  return { code, put: performance.now() - began, stderr };
}
