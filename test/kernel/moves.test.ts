// Many files moved at once: into their places and back, within one disk and between two, whatever
// their names, and from any moment that it was killed at.
import { deepEqual, ok, throws } from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  changedSince,
  keepMoves,
  keptMoves,
  type Moves,
  markMoves,
  moveFiles,
  planMoves,
} from "../../kernel/changes/folder-moves.ts";
import type { Move } from "../../kernel/contract.ts";
import { walk } from "../support/walk.ts";

const ODD = "caf\xe9\n";
const isLinux = process.platform === "linux";

/** A project, what it is to become, and where what stood there waits; the last two on another disk
 * where there is one. */
function stage(t: TestContext, other = os.tmpdir()) {
  const [root, from, sessions] = [os.tmpdir(), other, other].map((at) =>
    fs.realpathSync(fs.mkdtempSync(join(at, "zz-moves-"))),
  );
  t.after(() => {
    const shut = join(root!, "folder"); // the moves leave it so that only root could empty it
    if (fs.existsSync(shut)) fs.chmodSync(shut, 0o755);
    for (const at of [root!, from!, sessions!]) fs.rmSync(at, { recursive: true, force: true });
  });
  const put = (at: string, name: string, text: string, mode = 0o644) =>
    fs.writeFileSync(Buffer.from(`${at}/${name}`, "latin1"), text, { mode });
  for (const name of ["in", "gone", "file"]) fs.mkdirSync(join(root!, name));
  put(root!, "in/edited", "old");
  put(root!, "in/same", "same");
  put(root!, "gone/a", "a", 0o400);
  fs.symlinkSync("a", join(root!, "gone/link"));
  put(root!, ODD, "old");
  put(root!, "folder", "was a file");
  put(from!, "edited", "new", 0o755);
  put(from!, ODD, "new");
  put(from!, "text", "was a folder");
  put(from!, "inner", "in", 0o600);
  fs.symlinkSync("nowhere", join(from!, "link"));
  fs.mkdirSync(join(from!, "made"));
  const source = (name: string) => `${from}/${name}`;
  const moves: Move[] = [
    ["gone/link"],
    ["gone/a"],
    ["gone"],
    ["file", source("text")],
    ["in/edited", source("edited")],
    [ODD, source(ODD)],
    ["in/link", source("link")],
    ["folder", source("made"), 0o555],
    ["folder/inner", source("inner")],
  ];
  const planned = planMoves(root!, moves);
  keepMoves(sessions!, planned);
  return { root: root!, sessions: sessions!, planned, was: walk(root!) };
}
/** As undo finds them, in another process. */
const kept = ({ kept = "" }: Moves, sessions: string) =>
  keptMoves(sessions, kept.slice(kept.lastIndexOf("/") + 1))!;

const isOther =
  fs.existsSync("/dev/shm") && fs.statSync("/dev/shm").dev !== fs.statSync(os.tmpdir()).dev;
for (const [where, other] of [
  ["one disk", os.tmpdir()] as const,
  ...(isOther ? [["two disks", "/dev/shm"] as const] : []),
])
  test(`on ${where} they come, go back, and come again`, { skip: !isLinux }, (t) => {
    const { root, sessions, planned, was } = stage(t, other);
    moveFiles(planned, false);
    const made = walk(root);
    deepEqual(made, {
      "": was[""],
      "/in": was["/in"],
      "/in/edited": "file 755 new",
      "/in/same": "file 644 same",
      "/in/link": "link nowhere",
      "/file": "file 644 was a folder",
      "/folder": "folder 555",
      "/folder/inner": "file 600 in",
      [`/${ODD}`]: "file 644 new",
    });
    moveFiles(kept(planned, sessions), true);
    deepEqual(walk(root), was);
    moveFiles(kept(planned, sessions), false);
    deepEqual(walk(root), made);
    deepEqual(changedSince(planned, true).changed, []);
  });

test("killed between any two of them and undone, they come again if their copies are there, else they are named", {
  skip: !isLinux,
}, (t) => {
  const files = ["file", "in/edited", ODD, "in/link", "folder/inner"];
  const names = files.map((name) => Buffer.from(name, "latin1").toString());
  for (let done = 0; done <= 9; done++) {
    const { root, sessions, planned, was } = stage(t);
    moveFiles({ ...planned, rows: planned.rows.slice(0, done) }, false);
    const rest = kept(planned, sessions);
    deepEqual(changedSince(rest, true), { changed: [], missing: [] }, `undo after ${done}`);
    moveFiles(rest, true);
    deepEqual(walk(root), was, `undone after ${done}`);
    const gone = names.slice([0, 0, 0, 0, 1, 2, 3, 4, 4, 5][done]);
    deepEqual(changedSince(rest, false).missing, gone, `redo after ${done}`);
    if (gone.length) throws(() => moveFiles(rest, false), /: its copy is gone\./);
    moveFiles(rest, true);
    deepEqual(walk(root), was, `after ${done}`);
  }
});

test("a file alike in size, time and mode is back only if it is that file: its copy may be gone", {
  skip: !isLinux,
}, (t) => {
  const { root, sessions } = stage(t);
  const [file, from] = [join(root, "in/same"), join(sessions, "from")];
  const put = (at: string, text: string) => {
    fs.writeFileSync(at, text, { mode: 0o644 });
    fs.utimesSync(at, 1, 1);
  };
  put(file, "old");
  put(from, "new");
  const moves = planMoves(root, [["in/same", from]]);
  keepMoves(sessions, moves);
  moveFiles(moves, false);
  const later = kept(moves, sessions);
  deepEqual(
    [changedSince(later, true).missing, changedSince(later, false).missing],
    [[], []],
    "it is there",
  );
  fs.rmSync(join(moves.kept!, "old"), { recursive: true });
  deepEqual(changedSince(later, true).missing, ["in/same"]);
  throws(() => moveFiles(later, true), /Cannot write 'in\/same': its copy is gone\./);
  deepEqual(fs.readFileSync(file, "utf8"), "new");
  const next: Move[] = [["in/same"]];
  const removal = planMoves(root, next);
  keepMoves(sessions, removal);
  moveFiles(removal, false);
  const known = new Map();
  deepEqual(changedSince(removal, true, known), { changed: [], missing: [] });
  deepEqual(changedSince(later, true, known).missing, ["in/same"], "after the removal was undone");
});

test("a file that is to be moved and is not there is not taken for a removal", {
  skip: !isLinux,
}, (t) => {
  const { root, planned } = stage(t);
  fs.rmSync(planned.from![4]!);
  throws(
    () => planMoves(root, [["in/same", planned.from![4]!]]),
    /Cannot write 'in\/same': its copy is gone\./,
  );
  throws(() => moveFiles(planned, false), /Cannot write 'in\/edited': its copy is gone\./);
  moveFiles(planned, true);
  deepEqual(fs.readFileSync(join(root, "in/edited"), "utf8"), "old");
});

test("what is neither as it was nor as it became is named, and a folder that holds something since is no harm", {
  skip: !isLinux,
}, (t) => {
  const { root, planned } = stage(t);
  moveFiles(planned, false);
  fs.writeFileSync(join(root, "in/edited"), "the person's");
  fs.chmodSync(join(root, "folder"), 0o755);
  fs.writeFileSync(join(root, "folder/own"), "own");
  deepEqual(changedSince(planned, true).changed, ["in/edited"]);
});

test("a folder that was swapped for a link leads nowhere", { skip: !isLinux }, (t) => {
  const { root, planned } = stage(t);
  fs.renameSync(join(root, "in"), join(root, "elsewhere"));
  fs.symlinkSync("elsewhere", join(root, "in"));
  const some = { ...planned, rows: planned.rows.slice(4, 5), from: planned.from!.slice(4, 5) };
  throws(() => moveFiles(some, false), /its folder was swapped for a link/);
  deepEqual(fs.readFileSync(join(root, "elsewhere/edited"), "utf8"), "old");
});

test("nor do files in a link that only stands there until a folder takes its place", {
  skip: !isLinux,
}, (t) => {
  const { root, sessions } = stage(t);
  fs.renameSync(join(root, "in"), join(root, "elsewhere"));
  fs.mkdirSync(join(root, "elsewhere/deep"));
  fs.symlinkSync("elsewhere", join(root, "in"));
  const was = walk(root);
  for (const name of ["edited", "x", "same"]) fs.writeFileSync(join(sessions, name), "new");
  const names = ["in/edited", "in/same", "in/deep/x"];
  const edits = names.map((name): Move => [name, join(sessions, basename(name))]);
  const moves = planMoves(root, edits);
  ok(moves.rows.every(([, was]) => was === null));
  deepEqual(changedSince(moves, false), { changed: [], missing: [] });
  keepMoves(sessions, moves);
  throws(() => moveFiles(moves, false), /its folder was swapped for a link/);
  const rows: Moves["rows"] = moves.rows.map(([name, , is]) => [name, is, null]);
  throws(() => moveFiles({ ...moves, rows }, false), /swapped for a link/);
  deepEqual(walk(root), was);
  fs.unlinkSync(join(root, "in"));
  fs.mkdirSync(join(root, "in/deep"), { recursive: true });
  moveFiles(moves, false);
  moveFiles(kept(moves, sessions), true);
  deepEqual(fs.readdirSync(join(root, "in"), { recursive: true }), ["deep"]);
});

test("what is kept goes with its session", { skip: !isLinux }, (t) => {
  const { root, sessions, planned } = stage(t);
  fs.writeFileSync(join(sessions, "mine.jsonl"), "{}");
  markMoves(planned, "gone");
  const other = planMoves(root, [["in/same"]]);
  keepMoves(sessions, other);
  markMoves(other, "mine");
  ok(!fs.existsSync(planned.kept!), "its session is gone");
  const last = planMoves(root, [["in/same"]]);
  keepMoves(sessions, last);
  markMoves(last, "mine");
  ok(fs.existsSync(other.kept!) && fs.existsSync(last.kept!), "its session is there");
});
