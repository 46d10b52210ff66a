// Puts plugins in place: stages them next to the others, then renames them, so that a killed run
// leaves either the old or the new one. Also reads and writes the lock file.
import fs from "node:fs";
import path from "node:path";
import {
  codeOf,
  compare,
  entriesOf,
  fault,
  makeFolder,
  textOf,
  tryTo,
  updatePrivateFile,
} from "zz/text";
import { filesIn, sumOf } from "./files.ts";
import { type NpmLock, packagesIn } from "./npm.ts";

/** What the lock file says about a plugin. Paths are relative to HOME/plugins. */
export interface LockEntry {
  spec: string;
  source: string;
  version?: string;
  commit?: string;
  integrity: string; // of what was fetched: npm's own, or one checksum over names and bytes
  top: string; // its file or folder
  files: Record<string, string>; // by path, sha256
  packages?: NpmLock; // to get the same packages again
}
type Lock = Map<string, LockEntry>;

/**
 * What to do once everything is confirmed and checked. If this run is killed, the next one
 * completes it.
 */
interface Plan {
  name: string;
  entry: LockEntry | null; // null: remove it
  target: string | null; // what is put in place
  old: string | null; // what was there before
}
export interface Stage {
  folder: string;
  home: string; // a separate home, for the check
  plugins: string;
  work: string;
}

const STAGE = /^\.install-(\d+)-/;
const PLAN = "plan.json";
const NAME = /^[A-Za-z][\w-]{0,63}$/;
const DAY_MS = 86_400_000;

// ── the lock file ──

const lockFile = (home: string): string => path.join(home, "plugins.lock.json");

export function readLock(home: string): Lock {
  const file = lockFile(home);
  return parseLock(file, fs.existsSync(file) ? tryTo(() => fs.readFileSync(file, "utf8")) : "");
}

function parseLock(file: string, text: string | undefined): Lock {
  const broken = (reason: string) =>
    fault(`Cannot use '${file}': ${reason}. Fix it, or remove it and install the plugins again.`);
  if (text === undefined) throw broken("it cannot be read");
  if (!text) return new Map();
  const parsed = tryTo(() => JSON.parse(text));
  if (!parsed) throw broken("it is not JSON");
  const { lockVersion, plugins } = parsed;
  if (lockVersion !== 1) throw broken("its lockVersion is not 1");
  if (typeof plugins !== "object" || !plugins) throw broken("it has no plugins");
  const lock: Lock = new Map(Object.entries(plugins as Record<string, LockEntry>));
  for (const [name, lockEntry] of lock)
    if (!NAME.test(name) || !isEntry(name, Object(lockEntry)))
      throw broken(`what it says of '${name.slice(0, 80)}' is not whole`);
  return lock;
}

function isEntry(name: string, { spec, integrity, top, files }: LockEntry): boolean {
  const isOwn =
    top === name || /^\.[cm]?[jt]s$/.test(top?.startsWith?.(name) ? top.slice(name.length) : "");
  return (
    isOwn && typeof spec === "string" && typeof integrity === "string" && Object(files) === files
  );
}

function lockText(lock: Lock): string {
  const sorted = [...lock].sort(([a], [b]) => compare(a, b));
  return JSON.stringify({ lockVersion: 1, plugins: Object.fromEntries(sorted) }, null, 2);
}

// ── on the disk ──

export const pluginsOf = (home: string): string => path.join(home, "plugins");
/**
 * A file or folder that the loader might take for a plugin of that name on any disk, so case is
 * ignored.
 */
export const existingName = (home: string, name: string): string | undefined =>
  entriesOf(pluginsOf(home)).find(
    (file) => file.replace(/\.[cm]?[jt]s$/, "").toLowerCase() === name.toLowerCase(),
  );

/** The files of a plugin as they are now, with their checksums. */
export function sumsIn(
  folder: string,
  { top, packages }: Pick<LockEntry, "top" | "packages">,
): Record<string, string> {
  const names = filesIn(folder, top, new Set(packagesIn(packages).keys()));
  const sum = (name: string) => tryTo(() => sumOf(fs.readFileSync(path.join(folder, name)))) ?? "";
  return Object.fromEntries(names.map((name) => [name, sum(name)]));
}

/**
 * What differs from what was installed: `extras` were put beside it by the person or by the plugin
 * itself.
 */
export function changesOf(home: string, lockEntry: LockEntry) {
  const current = sumsIn(pluginsOf(home), lockEntry);
  const before = Object.keys(lockEntry.files);
  return {
    missing: before.filter((name) => !Object.hasOwn(current, name)),
    changed: before.filter(
      (name) => Object.hasOwn(current, name) && current[name] !== lockEntry.files[name],
    ),
    extras: Object.keys(current).filter((name) => !Object.hasOwn(lockEntry.files, name)),
  };
}

// ── staging ──

export function openStage(home: string): Stage {
  makeFolder(pluginsOf(home));
  const folder = fs.mkdtempSync(path.join(pluginsOf(home), `.install-${process.pid}-`));
  const stageHome = path.join(folder, "home");
  const stage = {
    folder,
    home: stageHome,
    plugins: path.join(stageHome, "plugins"),
    work: path.join(folder, "work"),
  };
  makeFolder(stage.plugins);
  fs.mkdirSync(stage.work);
  return stage;
}

export const closeStage = ({ folder }: Stage): void =>
  fs.rmSync(folder, { recursive: true, force: true });

/** Keeps files that are next to the installed ones, unless the new version has one of that name. */
export function copyExtras(home: string, { plugins }: Stage, extras: string[]): void {
  for (const name of extras) {
    const to = path.join(plugins, name);
    if (!fs.existsSync(to))
      fs.cpSync(path.join(pluginsOf(home), name), to, {
        verbatimSymlinks: true,
        preserveTimestamps: true,
      });
  }
}

// ── putting in place ──

/** `expected`: the plugin's entry in the lock file when the person was asked. */
export function putInPlace(
  home: string,
  { folder }: Stage,
  { expected, ...placing }: Omit<Plan, "old"> & { expected: LockEntry | undefined },
): void {
  updatePrivateFile(lockFile(home), (text) => {
    const lock = parseLock(lockFile(home), text.trim());
    const current = lock.get(placing.name);
    if (JSON.stringify(current) !== JSON.stringify(expected))
      throw fault("another zz changed it meanwhile. Try again");
    if (!current && existingName(home, placing.name))
      throw fault("something of that name came meanwhile. Try again");
    const plan: Plan = { ...placing, old: current?.top ?? null };
    fs.writeFileSync(path.join(folder, "next.json"), JSON.stringify(plan));
    fs.renameSync(path.join(folder, "next.json"), path.join(folder, PLAN));
    return lockText(carryOut(home, folder, lock));
  });
  fs.rmSync(folder, { recursive: true, force: true });
}

/** Carries out a plan; if it is killed after any step, the next run can continue from there. */
function carryOut(home: string, folder: string, lock: Lock): Lock {
  const { name, entry, target, old }: Plan = JSON.parse(textOf(path.join(folder, PLAN)));
  const kept = path.join(folder, "old");
  const staged = target === null ? undefined : path.join(folder, "home", "plugins", target);
  const isStaged = staged !== undefined && fs.existsSync(staged);
  const was = old === null ? undefined : path.join(pluginsOf(home), old);
  try {
    if (was && (isStaged || !staged) && fs.existsSync(was) && !fs.existsSync(kept))
      fs.renameSync(was, kept);
    if (isStaged) fs.renameSync(staged, path.join(pluginsOf(home), target!));
  } catch (error) {
    if (was && fs.existsSync(kept) && !fs.existsSync(was)) fs.renameSync(kept, was);
    fs.rmSync(path.join(folder, PLAN));
    throw error;
  }
  if (entry) lock.set(name, entry);
  else lock.delete(name);
  return lock;
}

/** Cleans up after a killed run: completes what was confirmed and removes the rest. */
export function sweep(home: string): void {
  for (const name of entriesOf(pluginsOf(home))) {
    const pid = Number(STAGE.exec(name)?.[1]);
    const folder = path.join(pluginsOf(home), name);
    if (!pid || isUnderWay(pid, folder)) continue;
    const hasPlan = () => fs.existsSync(path.join(folder, PLAN));
    if (hasPlan())
      updatePrivateFile(lockFile(home), (text) => {
        const lock = parseLock(lockFile(home), text.trim());
        return lockText(hasPlan() ? carryOut(home, folder, lock) : lock);
      });
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Process ids are reused, so a living process protects its folder for at most a day. */
const isUnderWay = (pid: number, folder: string): boolean =>
  pid === process.pid || (isAlive(pid) && Date.now() - fs.statSync(folder).mtimeMs < DAY_MS);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
