// The names of a large project's files, kept from one process to the next: they are always those that a listing gives.
import { deepEqual, equal, ok } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { namesIn } from "../../../plugins/symbols/names.ts";
import { needs } from "../../support/needs.ts";
import { type Place, place } from "../../support/run.ts";
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
/** Until the folders are old enough to be believed; returns whether the names are kept then, and the names. */
async function settle({ names }: Pick<Project, "names">): Promise<{ isKept: boolean; names: string[] }> {
  let found: string[] = [];
  for (let i = 0; i < 20; i++) {
    await sleep(TICK_MS);
    await names();
    if ((await listings(async () => (found = await names()))) === 0) return { isKept: true, names: found };
  }
  return { isKept: false, names: found };
}
const TICK_MS = 110; // each try that comes too early starts git several times

/** Plain: with git, another row proves as much. */
const CHANGES: [what: string, change: (project: Project) => void, how?: "git" | "plain"][] = [
  ["a new file", ({ put }) => put("new.ts")],
  ["a new file deep down", ({ put }) => put("deep/er/new.ts"), "plain"],
  ["a new file in a folder that was empty", ({ put }) => put("empty/inner/f.ts")],
  ["a new folder", ({ put }) => put("fresh/one/two/g.ts")],
  ["a file that goes", ({ at }) => fs.rmSync(at("other/d.ts"))],
  ["a folder that goes", ({ at }) => fs.rmSync(at("gone"), { recursive: true })],
  ["a file that is renamed", ({ at }) => fs.renameSync(at("deep/c.ts"), at("deep/h.ts")), "plain"],
  ["a folder that is renamed", ({ at }) => fs.renameSync(at("fresh"), at("fresher")), "plain"],
  [
    "a file in the place of a folder",
    ({ at, put }) => {
      fs.rmSync(at("fresher"), { recursive: true });
      put("fresher");
    },
    "plain",
  ],
  ["a link in the place of a file", ({ at }) => [fs.rmSync(at("new.ts")), fs.symlinkSync("a.ts", at("new.ts"))]],
  ["another time of a folder", ({ at }) => fs.utimesSync(at("deep"), 1e9, 1e9), "plain"],
  [
    "a new file, with the folder's time set back",
    ({ at, put }) => {
      put("deep/back.ts");
      fs.utimesSync(at("deep"), 1e9, 1e9);
    },
  ],
  [".gitignore, in place", ({ at }) => fs.appendFileSync(at(".gitignore"), "other\nback.ts\n")],
  [".gitignore that ignores less, in place", ({ at }) => fs.writeFileSync(at(".gitignore"), "nothing\n")],
  ["a new file in a folder that was ignored", ({ put }) => put("out/later.ts")],
  ["a new file in an empty folder that was ignored", ({ put }) => put("bare/k.ts")],
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
  ["which lists more", ({ put }) => put("list", "*.tsx\n"), "git"],
  ["a repository inside", ({ cwd, put }) => [put("within/i.ts"), git(join(cwd, "within"), "init", "-q")]],
  ["a file that it gets", ({ put }) => put("within/j.ts")],
];

const LONG = { timeout: 180_000 }; // two dozen changes one after the other

/** What leaves the names as they are. */
const SAME = /^(?:a link|another time|another branch|a list|which|a new .gitignore)/;

for (const isGit of [true, false])
  needs("git")(`kept names are those that are there, ${isGit ? "with" : "without"} git`, LONG, async () => {
    const made = await project(isGit);
    let canKeep = isLinux;
    let before = await made.listed();
    const again = async (what: string) => {
      const { isKept, names } = canKeep ? await settle(made) : { isKept: false, names: await made.names() };
      deepEqual(names, before, `${what}, asked again`);
      equal(isKept, canKeep, `kept after: ${what}`);
    };
    await again("nothing");
    for (const [what, change, how] of CHANGES) {
      if (how && (how === "git") !== isGit) continue;
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
  for (const text of ["", "{", '{"format":1}', "[]", "null"]) {
    await settle({ names });
    const folder = join(home, "index");
    for (const name of fs.readdirSync(folder)) fs.writeFileSync(join(folder, name), text);
    deepEqual(await names(), await listed(), text);
  }
});
