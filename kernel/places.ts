// What is no ordinary project, and what runs by itself some day: where reading and writing are let go less far.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import runs from "./run-by-themselves.json" with { type: "json" };
import { folded } from "./secret-files.ts";
import { isInside, tryTo } from "./text.ts";

/** Where accounts live that somebody logs in with: this one's, by either of its names, and those of the others. */
function homes(): string[] {
  const own = [os.homedir(), tryTo(() => os.userInfo().homedir) ?? ""];
  const rows = tryTo(() => fs.readFileSync("/etc/passwd", "utf8"))?.split("\n") ?? [];
  const others = rows.flatMap((row) => {
    const [, , id = "", , , home = "", shell = ""] = row.split(":");
    return (id === "0" || Number(id) >= 1_000) && !/(nologin|false)$/.test(shell) ? [home] : [];
  });
  const all = [...own, ...others].filter((home) => path.isAbsolute(home) && home !== "/" && home !== "/nonexistent");
  return [...new Set(all.flatMap((home) => [home, tryTo(() => fs.realpathSync(home)) ?? home]))];
}
let known: { key: string; homes: string[] } | undefined;
/** Looked up once, unless HOME changes. */
function homesOf(): string[] {
  const key = os.homedir();
  if (known?.key !== key) known = { key, homes: homes() };
  return known.homes;
}

/** Why a folder is no ordinary project; undefined: it is one. */
export function wideness(root: string): string | undefined {
  if (path.dirname(root) === root) return "the whole disk";
  if (homesOf().includes(root)) return "a home directory";
  if (["/home", "/Users"].includes(root) || homesOf().some((home) => isInside(root, home))) return "a folder with home directories in it";
  return undefined;
}

/** The home, and the name in it, of a file behind a dot there, where programs keep what they go by; or in a Mac's Library. */
export function behindDot(file: string): { home: string; name: string } | undefined {
  const names = homesOf().map((home) => ({ home, name: isInside(home, file) ? path.relative(home, file) : "" }));
  return names.find(({ name }) => /^\.|^Library(\/|$)/i.test(name));
}

/** What runs by itself, wherever it lies: git's own files and hooks, zz's, an editor's tasks, other agents' programs. */
const RUN_BY_THEMSELVES = new RegExp(`(^|/)(${runs.anywhere.join("|")})`);
/** And in a home, by the name in it. */
const RUNS_AT_HOME = new RegExp(`^(${runs.home.join("|")})`);
/** And in the system. */
const RUNS_IN_SYSTEM = new RegExp(`^/(${runs.system.join("|")})(/|$)`);

export function runsByItself(file: string): boolean {
  const plain = folded(file);
  if (RUN_BY_THEMSELVES.test(plain) || RUNS_IN_SYSTEM.test(plain)) return true;
  const name = behindDot(file)?.name;
  return name !== undefined && RUNS_AT_HOME.test(folded(name));
}
