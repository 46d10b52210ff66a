// kill -9 while zz puts in place what a command changed on its copy: each file is either old or
// new, undo takes the rest back, and nothing is left behind.
import { deepEqual, equal } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../support/files.ts";
import { type Place, place, zz } from "../../support/run.ts";
import { viewTest as test } from "../../support/view.ts";
import { waitFor } from "../../support/wait.ts";
import { walk } from "../../support/walk.ts";

const FILES = 30;
const IGNORED = 300;
/** Each is killed once so many files are new. */
const MOMENTS = [1, 20, 150];

/** A folder for temporary files of its own: any other zz would sweep here too, and might not have
 * finished when we look. */
const TMP = temporaryFolder("zz-test-");

/** Edits, removes and adds ignored and other files; turns a folder into a file, and makes a folder
 * again. */
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

test("after each kill -9 every file is old or new, and undo takes back what was put in place", async () => {
  const whole = project();
  const old = walk(whole.cwd);
  const untouched = await run(whole);
  equal(untouched.code, 0, untouched.stderr);
  const made = walk(whole.cwd);
  for (const count of MOMENTS) {
    const where = project();
    await run(
      where,
      (now) => Object.keys(now).filter((name) => now[name] !== old[name]).length >= count,
    );
    const now = walk(where.cwd);
    const names = new Set([old, made, now].flatMap((tree) => Object.keys(tree)));
    const wrong = [...names].filter(
      (name) =>
        now[name] !== old[name] &&
        now[name] !== made[name] &&
        !isUnderWay(name) &&
        !isBetween(name, now),
    );
    deepEqual(wrong, [], "neither old nor new");
    const undone = await zz(where, ["--undo"], { env: { TMPDIR: TMP } });
    equal(undone.code, 0, undone.stderr);
    const left = Object.entries(walk(where.cwd)).filter(([name]) => !isUnderWay(name));
    deepEqual(Object.fromEntries(left), old, undone.stdout);
  }
  // The next start removes what they left.
  await zz(whole, ["--call", "run_command", JSON.stringify({ command: "node -e 1" })], {
    env: { TMPDIR: TMP },
  });
  const views = fs.readdirSync(TMP).filter((name) => name.startsWith("zz-view."));
  deepEqual(views, [], "scratch folders");
});

/** A temporary file that the next write in its folder removes. */
const isUnderWay = (name: string): boolean => /\.zz-\d+-\w+\.tmp$/.test(name);

/** Whether it was killed between the two steps in which a file replaces a folder. */
const isBetween = (name: string, now: Record<string, string>): boolean =>
  name === "/both" && now[name] === undefined;

/** Runs the command in zz, and kills zz as soon as its project is like that. */
async function run(where: Place, isTime = (_: Record<string, string>): boolean => false) {
  const blow = new AbortController();
  let isOver = false;
  const running = zz(where, ["--call", "run_command", command, "--allow-write"], {
    signal: blow.signal,
    env: { TMPDIR: TMP },
  }).finally(() => (isOver = true));
  await waitFor("the moment to kill it", () => isOver || isTime(seen(where)));
  blow.abort();
  return running;
}

/** What is there, while it changes. */
function seen(where: Place): Record<string, string> {
  try {
    return walk(where.cwd);
  } catch {
    return {}; // something went between two looks at it
  }
}
