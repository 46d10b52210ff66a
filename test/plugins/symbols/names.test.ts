// The names of a large project's files, kept from one process to the next: they are always those that a listing gives.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namesIn } from "../../../plugins/symbols/names.ts";
import { needs } from "../../support/needs.ts";
import { put as putAll } from "../../support/repository.ts";
import { type Place, place } from "../../support/run.ts";
import { isAll } from "../../support/runs.ts";
import { kernel } from "../../support/script.ts";

const isLinux = process.platform === "linux"; // elsewhere nothing is kept
const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd, stdio: "pipe" });

async function project(isGit: boolean) {
  const { home, cwd }: Place = place();
  const at = (name: string) => join(cwd, name);
  const put = (name: string, text = "") => putAll(cwd, { [name]: text });
  for (const name of ["a.ts", "deep/er/b.ts", "deep/c.ts", "other/d.ts", "gone/e.ts", "out/made.ts"]) put(name);
  put(".gitignore", "out\nbare\n");
  for (const name of ["empty/inner", "bare"]) fs.mkdirSync(at(name), { recursive: true });
  if (isGit) {
    git(cwd, "init", "-q", "-b", "main");
    git(cwd, "add", "-A");
    git(cwd, "commit", "-qm", "first");
  }
  const core = await kernel.createZz({ root: cwd, home, save: false });
  const ctx = core.ctx();
  return { cwd, at, put, listed: () => ctx.files.list(), names: () => namesIn(ctx, 1) };
}
type Project = Awaited<ReturnType<typeof project>>;

/** How many folders are listed meanwhile. */
async function listings(act: () => Promise<unknown>): Promise<number> {
  const system = fs as { -readonly [name in keyof typeof fs]: (typeof fs)[name] };
  const { readdirSync } = fs;
  let count = 0;
  system.readdirSync = ((...args: Parameters<typeof readdirSync>) => {
    count++;
    return readdirSync(...args);
  }) as typeof readdirSync;
  try {
    await act();
  } finally {
    system.readdirSync = readdirSync;
  }
  return count;
}
/** The names once they are kept: when the folders are old enough to be believed. */
async function settled({ names }: Pick<Project, "names">): Promise<string[]> {
  for (let found: string[] = []; ; ) {
    await sleep(TICK_MS);
    await names();
    if ((await listings(async () => (found = await names()))) === 0) return found;
  }
}
const TICK_MS = 110; // of the disk's clock; each try that comes too early starts git several times

const CHANGES: [what: string, change: (project: Project) => unknown, how?: "git"][] = [
  ["a new file", ({ put }) => put("new.ts")],
  ["a new file in a folder that was empty", ({ put }) => put("empty/inner/f.ts")],
  ["a file that goes", ({ at }) => fs.rmSync(at("other/d.ts"))],
  ["a link in the place of a file", ({ at }) => [fs.rmSync(at("new.ts")), fs.symlinkSync("a.ts", at("new.ts"))]],
  ["a new file in the past", ({ at, put }) => [put("deep/back.ts"), fs.utimesSync(at("deep"), 1e9, 1e9)]],
  [".gitignore, in place", ({ at }) => fs.appendFileSync(at(".gitignore"), "other\nback.ts\nempty\n")],
  ["a new .gitignore", ({ put }) => put("deep/.gitignore", "er\n")],
  ["a .gitignore that goes", ({ at }) => fs.rmSync(at("deep/.gitignore"))],
  ["git's own", ({ cwd, put }) => [put(".git/info/exclude", "a.ts\n"), git(cwd, "rm", "--cached", "a.ts")], "git"],
  ["another branch", ({ cwd }) => git(cwd, "checkout", "-qfb", "other", "HEAD"), "git"],
];

/** What leaves the names as they are. */
const SAME = /^(?:a link|another branch|a new .gitignore)/;

for (const isGit of isAll ? [true, false] : [true])
  needs("git")(`kept names are those that are there, ${isGit ? "with" : "without"} git`, async () => {
    const made = await project(isGit);
    let before = await made.listed();
    const again = async (what: string) =>
      deepEqual(await (isLinux ? settled(made) : made.names()), before, `${what}, asked again`);
    await again("nothing");
    for (const [what, change, how] of CHANGES) {
      if (how && !isGit) continue;
      change(made);
      const listed = await made.listed();
      deepEqual(await made.names(), listed, what);
      if (!SAME.test(what)) ok(before.join() !== listed.join(), what);
      before = listed;
      await again(what);
    }
  });

test("kept names that are damaged are listed again", async () => {
  const { cwd, names, listed } = await project(false);
  const home = join(dirname(cwd), "home");
  for (const text of ["{", '{"format":1}', "null"]) {
    if (isLinux) await settled({ names });
    const folder = join(home, "index");
    for (const name of fs.readdirSync(folder)) fs.writeFileSync(join(folder, name), text);
    deepEqual(await names(), await listed(), text);
  }
});
