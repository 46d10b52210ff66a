// Places that are not an ordinary project, and files that run by themselves some day: less is
// allowed there without asking.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { isInside, repositoryTop } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import runs from "./run-by-themselves.json" with { type: "json" };
import { foldPath } from "./secret-files.ts";

/** Where accounts are: this one's, by both of its names, and everybody else's. */
function findHomes(): string[] {
  const ownHomes = [os.homedir(), tryTo(() => os.userInfo().homedir) ?? ""];
  const rows = tryTo(() => fs.readFileSync("/etc/passwd", "utf8"))?.split("\n") ?? [];
  const others = rows.flatMap((row) => {
    const [, , id = "", , , home = "", shell = ""] = row.split(":");
    return (id === "0" || Number(id) >= 1_000) && !/(nologin|false)$/.test(shell) ? [home] : [];
  });
  const allHomes = [...ownHomes, ...others].filter((home) => path.isAbsolute(home) && home !== "/");
  return [
    ...new Set(allHomes.flatMap((home) => [home, tryTo(() => fs.realpathSync(home)) ?? home])),
  ];
}
let cachedHomes: { key: string; homes: string[] } | undefined;
/** Computed once, unless HOME changes. */
function knownHomes(): string[] {
  const key = os.homedir();
  if (cachedHomes?.key !== key) cachedHomes = { key, homes: findHomes() };
  return cachedHomes.homes;
}

/** Why a folder is not an ordinary project; undefined if it is one. */
export function whyNotProject(root: string): string | undefined {
  if (path.dirname(root) === root) return "the whole disk";
  if (knownHomes().includes(root)) return "a home directory";
  if (["/home", "/Users"].includes(root) || knownHomes().some((home) => isInside(root, home)))
    return "a folder with home directories in it";
  return undefined;
}

/** The repository around a folder; undefined where its top may not be a project, such as a home. */
export function repositoryAround(folder: string): string | undefined {
  const top = repositoryTop(folder);
  return top && !whyNotProject(top) ? top : undefined;
}

/**
 * The home and the name in it, for a file behind a dot in a home, where programs keep their
 * settings, or in a Mac's Library.
 */
export function behindDot(file: string): { home: string; name: string } | undefined {
  const names = knownHomes().map((home) => ({
    home,
    name: isInside(home, file) ? path.relative(home, file) : "",
  }));
  return names.find(({ name }) => /^\.|^Library(\/|$)/i.test(name));
}

/**
 * Git takes any folder with these in it for a repository, whatever its name, and obeys its
 * settings.
 */
const OF_REPOSITORY = ["HEAD", "objects", "refs"];
const OBEYED_BY_GIT = /^(HEAD|objects|refs|config|hooks|commondir)$/;
/**
 * Those of some files that are the settings or a hook of such a folder, or the last things that it
 * lacks to be one.
 */
export function partsOfRepositories(files: readonly string[]): Set<string> {
  // what git obeys of each, and the files that it comes with
  const folders = new Map<string, Map<string, string[]>>();
  for (const file of files) {
    const parts = file.split("/");
    for (const [index, part] of parts.entries()) {
      if (index < 1 || !OBEYED_BY_GIT.test(part)) continue;
      const folder = parts.slice(0, index).join("/");
      const comes = folders.get(folder) ?? new Map<string, string[]>();
      folders.set(folder, comes.set(part, [...(comes.get(part) ?? []), file]));
    }
  }
  const newRepositories = [...folders].filter(([folder, comes]) => {
    const there = tryTo(() => fs.readdirSync(folder)) ?? [];
    return OF_REPOSITORY.every((name) => comes.has(name) || there.includes(name));
  });
  return new Set(newRepositories.flatMap(([, comes]) => [...comes.values()].flat()));
}

/** Whether a file holds the settings of such a folder, or of a worktree: a token, maybe. */
export function configuresRepository(file: string): boolean {
  if (!/^config(\.worktree)?$/i.test(path.basename(file))) return false;
  const there = tryTo(() => fs.readdirSync(path.dirname(file))) ?? [];
  return there.includes("commondir") || OF_REPOSITORY.every((name) => there.includes(name));
}

/**
 * What runs by itself wherever it is: git's files and hooks, zz's own, editors' tasks, other
 * agents' programs.
 */
const RUN_BY_THEMSELVES = new RegExp(`(^|/)(${runs.anywhere.join("|")})`);
/** The same in a home, by the name in it. */
const RUNS_AT_HOME = new RegExp(`^(${runs.home.join("|")})`);
/** The same in the system. */
const RUNS_IN_SYSTEM = new RegExp(`^/(${runs.system.join("|")})(/|$)`);

export function runsByItself(file: string): boolean {
  const plain = foldPath(file);
  if (partsOfRepositories([file]).size) return true;
  if (RUN_BY_THEMSELVES.test(plain) || RUNS_IN_SYSTEM.test(plain)) return true;
  const name = behindDot(file)?.name;
  return name !== undefined && RUNS_AT_HOME.test(foldPath(name));
}
