// The branch at the prompt: read from files that a project may have made to hold zz up, or to show
// what lies elsewhere.
import { equal } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { branchOf } from "../../../plugins/terminal/prompt-mark.ts";
import { place } from "../../support/run.ts";

const HASH = "0123456789abcdef0123456789abcdef01234567";
const rows: [what: string, make: (project: string, outside: string) => void, shown: string][] = [
  ["a branch", (at) => head(at, "ref: refs/heads/main\n"), "main"],
  ["a commit", (at) => head(at, `${HASH}\n`), "0123456"],
  ["a worktree", worktree, "w"],
  ["no repository", () => {}, ""],
  ["tables of references, where HEAD says nothing", (at) => head(at, "ref: refs/heads/.invalid\n"),
    ""],
  ["a HEAD that is other text", (at) => head(at, "SECRET of somebody\n"), ""],
  ["a HEAD that leads to a file outside", (at, out) => lead(at, text(out, "SECRETKEY")), ""],
  ["a HEAD that never answers", (at) => lead(at, pipe(at)), ""],
  ["a HEAD that never ends", (at) => lead(at, "/dev/zero"), ""],
  ["a HEAD of 5 MB", (at) => head(at, "x".repeat(5e6)), ""],
  ["a HEAD that leads to itself", (at) => lead(at, "HEAD"), ""],
  ["a .git that never answers", (at) => symlinkSync(pipe(at), join(at, ".git")), ""],
  ["a .git that leads to a terminal", (at) => writeFileSync(join(at, ".git"), "gitdir: /dev/tty\n"),
    ""],
  ["a .git of 5 MB", (at) => writeFileSync(join(at, ".git"), `gitdir: ${"x/".repeat(2.5e6)}`), ""],
]; // biome-ignore format: a table

function head(at: string, line: string): void {
  mkdirSync(join(at, ".git"), { recursive: true });
  writeFileSync(join(at, ".git/HEAD"), line);
}
function lead(at: string, to: string): void {
  mkdirSync(join(at, ".git"), { recursive: true });
  symlinkSync(to, join(at, ".git/HEAD"));
}
function worktree(at: string, out: string): void {
  head(out, "ref: refs/heads/w\n");
  writeFileSync(join(at, ".git"), `gitdir: ${out}/.git\n`);
}
function text(out: string, line: string): string {
  writeFileSync(join(out, "key"), line);
  return join(out, "key");
}
function pipe(at: string): string {
  execFileSync("mkfifo", [join(at, "pipe")]);
  return join(at, "pipe");
}

for (const [what, make, shown] of rows)
  test(`branchOf() ${what}: '${shown}'`, async () => {
    const { home, cwd } = place();
    mkdirSync(home, { recursive: true });
    make(cwd, home);
    equal(await branchOf(cwd), shown);
  });
