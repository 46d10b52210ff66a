// The names of a large project's files, kept from one process to the next: they are always those that a listing gives.
import { deepEqual, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namesIn } from "../../../plugins/symbols/names.ts";
import { needs } from "../../support/needs.ts";
import { type Place, place } from "../../support/run.ts";
import { isAll } from "../../support/runs.ts";
import { kernel } from "../../support/script.ts";

const isLinux = process.platform === "linux"; // elsewhere nothing is kept
const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd, stdio: "pipe" });

async function project(isGit: boolean) {
  const { home, cwd }: Place = place();
  const at = (name: string) => join(cwd, name);
  const put = (name: string, text = "") => {
    fs.mkdirSync(dirname(at(name)), { recursive: true });
    fs.writeFileSync(at(name), text);
  };
  for (const name of ["a.ts", "deep/er/b.ts", "deep/c.ts", "other/d.ts", "gone/e.ts"]) put(name);
  put(".gitignore", "out\nbare\n");
  put("out/made.ts");
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

const CHANGES: [what: string, change: (project: Project) => void, how?: "git"][] = [
  ["a new file", ({ put }) => put("new.ts")],
  ["a new file in a folder that was empty", ({ put }) => put("empty/inner/f.ts")],
  ["a new folder", ({ put }) => put("fresh/one/two/g.ts")],
  ["a file that goes", ({ at }) => fs.rmSync(at("other/d.ts"))],
  ["a folder that goes", ({ at }) => fs.rmSync(at("gone"), { recursive: true })],
  [
    "a file in the place of a folder",
    ({ at, put }) => {
      fs.rmSync(at("fresh"), { recursive: true });
      put("fresh");
    },
  ],
  ["a link in the place of a file", ({ at }) => [fs.rmSync(at("new.ts")), fs.symlinkSync("a.ts", at("new.ts"))]],
  [
    "a new file, with the folder's time set back",
    ({ at, put }) => {
      put("deep/back.ts");
      fs.utimesSync(at("deep"), 1e9, 1e9);
    },
  ],
  [".gitignore, in place", ({ at }) => fs.appendFileSync(at(".gitignore"), "other\nback.ts\nempty\n")],
  [".gitignore that ignores less, in place", ({ at }) => fs.writeFileSync(at(".gitignore"), "nothing\n")],
  ["a new file in a folder that was ignored", ({ put }) => put("out/later.ts")],
  ["a new .gitignore", ({ put }) => put("deep/.gitignore", "er\n")],
  ["a .gitignore that goes", ({ at }) => fs.rmSync(at("deep/.gitignore"))],
  [
    "a file that git forgets",
    ({ cwd, put }) => [put(".git/info/exclude", "a.ts\n"), git(cwd, "rm", "-q", "--cached", "a.ts")],
    "git",
  ],
  ["what .git/info/exclude says", ({ put }) => put(".git/info/exclude", "b.ts\nnew.ts\n"), "git"],
  ["another branch", ({ cwd }) => git(cwd, "checkout", "-qfb", "other", "HEAD"), "git"],
  [
    "a list of the repository's own",
    ({ cwd, put }) => [put("list", "*.ts\n"), git(cwd, "config", "core.excludesFile", "list")],
    "git",
  ],
  ["a repository inside", ({ cwd, put }) => [put("within/i.ts"), git(join(cwd, "within"), "init", "-q")]],
  ["a file that it gets", ({ put }) => put("within/j.ts")],
];

/** Enough for `npm test`: each change waits for the disk's clock, and starts git a dozen times. */
const BASIC = [
  "a new file",
  "a new file in a folder that was empty",
  "a file that goes",
  "a link in the place of a file",
  ".gitignore, in place",
  "a new .gitignore",
  "a .gitignore that goes",
  "another branch",
];
/** What leaves the names as they are. */
const SAME = /^(?:a link|another time|another branch|a list|which|a new .gitignore)/;

for (const isGit of isAll ? [true, false] : [true])
  needs("git")(`kept names are those that are there, ${isGit ? "with" : "without"} git`, async () => {
    const made = await project(isGit);
    let canKeep = isLinux;
    let before = await made.listed();
    const again = async (what: string) => {
      deepEqual(await (canKeep ? settled(made) : made.names()), before, `${what}, asked again`);
    };
    await again("nothing");
    for (const [what, change, how] of CHANGES) {
      if ((how && !isGit) || !(isAll || BASIC.includes(what))) continue;
      change(made);
      const listed = await made.listed();
      deepEqual(await made.names(), listed, what);
      if (!SAME.test(what)) ok(before.join() !== listed.join(), what);
      before = listed;
      canKeep &&= !/^(?:a list of the repository's own|a repository inside)$/.test(what); // others may count then, too
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
