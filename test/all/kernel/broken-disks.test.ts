// A disk whose calls fail now and then, as those over a network do, under the home and under the
// project: zz ends, says why in sentences, leaves each file old or new, and undo takes back what
// was made once the disk works again.
import { deepEqual, doesNotMatch, ok } from "node:assert/strict";
import fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { askable, call, say } from "../../support/fake/openai.ts";
import { type Place, place, zz } from "../../support/run.ts";
import { random, runs, SEED } from "../../support/runs.ts";
import { walk } from "../../support/walk.ts";

const FILES = { "a.txt": "one\ntwo\n", "gone.txt": "it goes\n" };
const MADE = { "a.txt": "1\ntwo\n", "gone.txt": undefined, "new/c.txt": "c\n" };
const CALLS = [
  ...([
    "openSync",
    "closeSync",
    "readSync",
    "readFileSync",
    "writeFileSync",
    "ftruncateSync",
    "fsyncSync",
  ] as const),
  ...([
    "fstatSync",
    "lstatSync",
    "statSync",
    "readdirSync",
    "mkdirSync",
    "chmodSync",
    "fchmodSync",
  ] as const),
  ...([
    "linkSync",
    "renameSync",
    "unlinkSync",
    "rmdirSync",
    "rmSync",
    "fdatasync",
    "realpathSync",
  ] as const),
];
/** As Node throws them: it has no name for the third, and none at all from rmSync(). */
const ERRORS: [code: string, errno: number][] = [
  ["EIO", -5],
  ["EACCES", -13],
  ["Unknown system error -116", -116],
  ["ENOSPC", -28],
];
const next = random(SEED);

/** From now on one in so many calls on what lies in this folder fails. */
function breaks(
  folder: string,
  name: (typeof CALLS)[number],
  [code, errno]: (typeof ERRORS)[number],
  every: number,
): () => void {
  const real = fs[name] as (...given: unknown[]) => unknown;
  const { readlinkSync } = fs;
  const isThere = (at: unknown): boolean => {
    try {
      return `${typeof at === "number" ? readlinkSync(`/proc/self/fd/${at}`) : at}`.startsWith(
        folder,
      );
    } catch {
      return false;
    }
  };
  const failing = (...given: unknown[]): unknown => {
    if (!isThere(given[0]) || next() * every > 1) return real(...given);
    if (name === "closeSync") real(...given);
    const error = Object.assign(new Error(`${code}: ${code}, ${name}`), {
      code,
      errno,
      syscall: name.replace("Sync", ""),
    });
    if (name !== "fdatasync") throw error;
    return (given[1] as (error: Error) => void)(error);
  };
  Object.assign(fs, { [name]: Object.assign(failing, real) });
  return () => Object.assign(fs, { [name]: real });
}

const server = await askable(({ body }) => {
  const since = body.messages.slice(body.messages.findLastIndex((one: any) => one.role === "user"));
  const edits = [{ old: "one", new: "1" }];
  return since.length > 1
    ? say("Done.")
    : call(
        ["write_file", { path: "new/c.txt", content: "c\n" }],
        ["read_file", { path: "a.txt" }],
        ["edit_file", { path: "a.txt", edits }],
        ["delete_file", { path: "gone.txt" }],
      );
});
const RAW = /\bE[A-Z]{3,}\b|Unknown (system )?error|\bat \S+:\d+|undefined|\[object/;
const read = ({ cwd }: Place, name: string) =>
  fs.existsSync(join(cwd, name)) ? fs.readFileSync(join(cwd, name), "utf8") : undefined;

const rows = CALLS.flatMap((name) =>
  ERRORS.flatMap((error) => (["home", "cwd"] as const).map((where) => ({ name, error, where }))),
);
for (const { name, error, where } of rows.filter((_, i) => i % 5 === 0 || runs(0, 0) > 0))
  test(`${name}() that fails with ${error[0]} under the ${where === "cwd" ? "project" : "home"} loses nothing`, async () => {
    for (const every of [1, 4]) {
      const at = place(FILES);
      await zz(at, ["--once", ...server.args, "--deny-write", "before"]);
      const repair = breaks(at[where], name, error, every);
      const ran = await zz(at, ["--once", "-c", "-A", ...server.args, "go"]).finally(repair);
      doesNotMatch(ran.stderr, RAW);
      const told = server.requests.at(-1)!.body.messages.filter((one: any) => one.role === "tool");
      for (const { content } of told) doesNotMatch(content, RAW);
      ok(ran.code === 0 || ran.stderr.trim() !== "", `${ran.code}, and not a word`);
      for (const [file, made] of Object.entries(MADE)) {
        const old = (FILES as Record<string, string>)[file];
        ok([old, made].includes(read(at, file)), `${file} is ${read(at, file)}`);
      }
      const isSaved = !/Cannot save|goes on unsaved|may not be saved/.test(ran.stderr);
      const undone = await zz(at, ["--undo=99"]);
      if (isSaved)
        deepEqual(
          Object.keys(FILES).map((file) => read(at, file)),
          Object.values(FILES),
          undone.stdout + undone.stderr,
        );
      deepEqual(
        Object.keys(walk(at.cwd)).filter((file) => file.includes(".zz-")).length <= 8,
        true,
      );
    }
  });
