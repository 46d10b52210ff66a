// Several files put into their new states at once: killed at any step, each is either old or new,
// and what was kept aside meanwhile is swept.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Zz } from "zz";
import { harness } from "zz/test";
import { type WriteStep, writeAllOrNone } from "../../kernel/system/atomic-write.ts";
import {
  type DiskState,
  FILE,
  FOLDER,
  LINK,
  stateInPlace,
} from "../../kernel/system/file-state.ts";
import { openReal } from "../../kernel/system/open-real.ts";
import { errorMessage } from "../../kernel/text/secrets.ts";
import { temporaryFolder } from "../support/files.ts";
import { isAll } from "../support/runs.ts";
import { walk } from "../support/walk.ts";

const file = (text: string, mode = 0o644): DiskState => ({
  bytes: Buffer.from(text),
  mode: FILE | mode,
});
const folder: DiskState = { bytes: Buffer.alloc(0), mode: FOLDER | 0o755 };
/** What stands there, and what is to: removals first, as commands' changes are made. */
const CHANGES: [name: string, from: DiskState, to: DiskState][] = [
  ["gone/in/deep", file("deep"), undefined],
  ["gone/in", folder, undefined],
  ["gone/a", file("a", 0o400), undefined],
  ["gone", folder, undefined],
  ["both/b", file("b"), undefined],
  ["both", folder, file("was a folder")],
  ["edited", file("old"), file("new", 0o755)],
  ["link", { bytes: Buffer.from("edited"), mode: LINK | 0o777 }, file("was a link")],
  ["into", file("was a file"), folder],
  ["into/new", undefined, file("new")],
  ["last", file("old"), file("new")],
];

function project(): string {
  const root = fs.realpathSync(fs.mkdtempSync(join(os.tmpdir(), "zz-disk-")));
  const there = CHANGES.filter(([, from]) => from).toReversed();
  const steps = there.map(([name, from]) => ({
    file: join(root, name),
    from: undefined,
    to: from,
  }));
  writeAllOrNone(steps, () => {}, false);
  return root;
}
const stepsIn = (root: string): WriteStep[] =>
  CHANGES.map(([name, from, to]) => ({ file: join(root, name), from, to }));

const STEPS = [
  ...(["openSync", "writeFileSync", "fsyncSync", "linkSync", "renameSync"] as const),
  ...(["unlinkSync", "rmSync", "rmdirSync", "mkdirSync", "symlinkSync"] as const),
];
/** Makes them, and dies before that step, counted over all that change the disk: from then on
 * nothing happens any more. */
function killedAt(root: string, count: number, isFull: boolean): boolean {
  const steps = stepsIn(root);
  const real: Record<string, any> = Object.fromEntries(STEPS.map((name) => [name, fs[name]]));
  let left = count;
  for (const name of STEPS)
    Object.assign(fs, {
      [name](...given: any[]) {
        if (name === "openSync" && given[1] !== "wx") return real[name](...given);
        if (left-- <= 0) throw Object.assign(new Error("killed"), { code: "EIO" });
        if (isFull && name === "renameSync" && /\/last$/.test(given[1]))
          throw Object.assign(new Error("full"), { code: "ENOSPC" });
        return real[name](...given);
      },
    });
  try {
    writeAllOrNone(steps, () => {}, false);
  } catch (error) {
    if (left >= 0) deepEqual([isFull, (error as { lost?: string[] }).lost], [true, []]);
  } finally {
    Object.assign(fs, real);
  }
  for (const at of Object.keys(walk(root)).filter(isAside))
    fs.renameSync(root + at, root + at.replace(/-\d+-/, `-${DEAD}-`));
  return left < 0;
}
const DEAD = 2 ** 30; // no process has that number

const isAside = (name: string): boolean => /\/\.zz-\d+-\w+\.tmp$/.test(name);
/** Each step takes a project of its own: `npm test` dies before every fourth. */
const EVERY = isAll ? 1 : 4;
for (const isFull of [false, true])
  test(`killed at each step ${isFull ? "of taking them back, " : ""}every file is old or new, and the next write sweeps`, () => {
    const whole = project();
    const old = walk(whole);
    equal(killedAt(whole, Number.POSITIVE_INFINITY, isFull), false);
    const made = walk(whole);
    deepEqual(Object.keys(made).filter(isAside), [], "nothing is left aside");
    if (isFull) deepEqual(made, old);
    fs.rmSync(whole, { recursive: true });
    let [kills, asides] = [0, 0];
    for (; ; kills += EVERY) {
      const root = project();
      const steps = stepsIn(root);
      const isKilled = killedAt(root, kills, isFull);
      const now = walk(root);
      if (Object.keys(now).some(isAside)) asides++;
      for (const { file, from, to } of steps) {
        const state = stateInPlace(file);
        const name = file.slice(root.length);
        // A folder and a file cannot change places in one step.
        const isBetween = ["/both", "/into"].includes(name) && !state;
        ok(isBetween || [from, to].some((one) => isAlike(state, one)), `${name} after ${kills}`);
      }
      // As undo does, from what the session has of them.
      const back = steps
        .toReversed()
        .map(({ file, from }) => ({ file, from: stateInPlace(file), to: from }));
      writeAllOrNone(back, () => {}, true);
      deepEqual(walk(root), old, `after ${kills}`);
      fs.rmSync(root, { recursive: true });
      if (!isKilled) break;
    }
    ok(kills > 30 && asides > 2);
  });

const isAlike = (one: DiskState, two: DiskState): boolean =>
  one && two ? one.mode === two.mode && one.bytes.equals(two.bytes) : one === two;

test("What the disk refuses Node itself is a sentence, with a path and without, wherever it is told", async (t) => {
  if (!fs.existsSync("/dev/full")) return t.skip("only Linux has a disk that is always full");
  const acts: [name: string, act: () => string][] = [
    ["full", () => `${fs.writeFileSync("/dev/full", "x")}`],
    ["missing", () => fs.readFileSync("/dev/nothing", "utf8")],
  ];
  const plugin = (zz: Zz) => {
    for (const [name, run] of acts) {
      zz.tool({ name, kind: "read", description: "It fails.", run });
      zz.command({ name, description: "it fails", run: () => void run() });
    }
  };
  const zz = await harness({ plugins: [{ default: plugin }] }, t);
  const missing = "Cannot open '/dev/nothing': no such file or folder. Check the path.";
  const SAID = { full: "Cannot write: the disk is full. Make room.", missing };
  for (const [name, said] of Object.entries(SAID)) {
    equal((await zz.call(name)).text, said);
    deepEqual(await zz.command(`/${name}`).catch((error) => [errorMessage(error)]), [said]);
  }
});

test("A path that leads elsewhere is tried ten times, and not opened", (t) => {
  const at = temporaryFolder("zz-test-");
  fs.writeFileSync(join(at, "a"), "");
  fs.symlinkSync(at, join(at, "link"));
  const { mock } = t.mock.method(fs, "closeSync");
  throws(() => openReal(join(at, "link", "a")), /swapped for a link/);
  equal(mock.callCount(), 10);
});
