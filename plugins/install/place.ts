// Puts plugins in place: stages them next to the others, then renames them, so that a killed run leaves either the old
// or the new one. Also reads and writes the lock file.
import fs from "node:fs";
import path from "node:path";
import { codeOf, compare, fault, makeFolder, tryTo } from "zz/text";
import { type Contents, safePath, sumOf } from "./contents.ts";

/** What the lock file says about a plugin. Paths are relative to HOME/plugins. */
export interface Entry {
  spec: string;
  source: string;
  version?: string;
  commit?: string;
  integrity: string; // the checksum of what was fetched: npm's own, or one over names and bytes
  entry: string;
  files: Record<string, string>; // by path, sha256
  dependencies?: { integrity: string; lock: object }; // the whole package-lock.json, to restore the same packages
}
export type Lock = Map<string, Entry>;

/** What to do once everything is confirmed and checked. If this run is killed, the next one completes it. */
interface Plan {
  name: string;
  entry: Entry | null; // null: remove it
  target: string | null; // what is put in place
  old: string | null; // what was there before
}
export interface Stage {
  folder: string;
  home: string; // a separate home, for the check
  plugins: string;
  work: string;
}

const LOCK = "plugins.lock.json";
const STAGE = /^\.install-(\d+)-/;
const PLAN = "plan.json";
const MUTEX_FILE = ".install.lock";
const NAME = /^[A-Za-z][\w-]{0,63}$/;
const DAY = 86_400_000; // ms

// ── the lock file ──

export function readLock(home: string): Lock {
  const file = path.join(home, LOCK);
  const broken = (why: string) =>
    fault(`Cannot use '${file}': ${why}. Fix it, or remove it and install the plugins again.`);
  let text: string;
  try {
    text = fs.readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return new Map();
    throw broken("it cannot be read");
  }
  let parsed: { lockVersion?: unknown; plugins?: unknown };
  try {
    parsed = Object(JSON.parse(text));
  } catch {
    throw broken("it is not JSON");
  }
  if (parsed.lockVersion !== 1) throw broken("its lockVersion is not 1");
  if (typeof parsed.plugins !== "object" || !parsed.plugins) throw broken("it has no plugins");
  const lock: Lock = new Map(Object.entries(parsed.plugins));
  for (const [name, entry] of lock)
    if (!NAME.test(name) || !isEntry(name, entry)) throw broken(`what it says of '${name.slice(0, 80)}' is not whole`);
  return lock;
}

function isEntry(name: string, entry: Entry): boolean {
  if (typeof entry !== "object" || !entry) return false;
  const { spec, source, version = "", commit = "", integrity, entry: file, files, dependencies } = entry;
  const own = (at: unknown) =>
    typeof at === "string" &&
    safePath(at) === at &&
    (at.startsWith(`${name}/`) || /^\.[cm]?[jt]s$/.test(at.slice(name.length)));
  const texts = [spec, source, version, commit, integrity].every((text) => typeof text === "string");
  const needs =
    dependencies === undefined ||
    (typeof dependencies?.integrity === "string" && typeof dependencies.lock === "object");
  return texts && needs && own(file) && typeof files === "object" && files !== null && Object.keys(files).every(own);
}

function writeLock(home: string, lock: Lock, stage: string): void {
  const sorted = [...lock].sort(([a], [b]) => compare(a, b));
  const plugins = Object.fromEntries(sorted.map(([name, entry]) => [name, ordered(entry)]));
  const next = path.join(stage, LOCK);
  fs.writeFileSync(next, `${JSON.stringify({ lockVersion: 1, plugins }, null, 2)}\n`, { mode: 0o600 });
  fs.renameSync(next, path.join(home, LOCK));
}

function ordered({ spec, source, version, commit, integrity, entry, files, dependencies }: Entry): Entry {
  const sorted = Object.fromEntries(Object.entries(files).sort(([a], [b]) => compare(a, b)));
  return {
    ...{ spec, source },
    ...(version !== undefined && { version }),
    ...(commit !== undefined && { commit }),
    ...{ integrity, entry, files: sorted },
    ...(dependencies && { dependencies }),
  };
}

// ── on the disk ──

export const pluginsOf = (home: string): string => path.join(home, "plugins");
export const topOf = ({ entry }: Entry): string => entry.split("/")[0]!;
/** A file or folder that the loader might take for a plugin of that name on any disk, so case is ignored. */
export const existingName = (home: string, name: string): string | undefined =>
  (fs.existsSync(pluginsOf(home)) ? fs.readdirSync(pluginsOf(home)) : []).find(
    (one) => one.replace(/\.[cm]?[jt]s$/, "").toLowerCase() === name.toLowerCase(),
  );

/** The checksums of the installed files as they are now. */
export function filesNow(home: string, { files }: Entry): Record<string, string | undefined> {
  const sum = (file: string) => tryTo(() => sumOf(fs.readFileSync(path.join(pluginsOf(home), file)), "sha256"));
  return Object.fromEntries(Object.keys(files).map((file) => [file, sum(file)]));
}

/** The paths of installed files that have changed since. */
export function changedOf(home: string, entry: Entry): string[] {
  return Object.entries(filesNow(home, entry)).flatMap(([file, sum]) => (sum === entry.files[file] ? [] : [file]));
}

/** Files next to the installed ones, added by the person or by the plugin itself. */
export function extrasOf(home: string, entry: Entry): string[] {
  const top = topOf(entry);
  const extras: string[] = [];
  if (top !== entry.entry && fs.existsSync(path.join(pluginsOf(home), top))) walk(top);
  return extras;

  function walk(under: string): void {
    for (const one of fs.readdirSync(path.join(pluginsOf(home), under), { withFileTypes: true })) {
      const at = `${under}/${one.name}`;
      if (at === `${top}/node_modules` && entry.dependencies) continue;
      if (one.isDirectory()) walk(at);
      else if (!Object.hasOwn(entry.files, at)) extras.push(at);
    }
  }
}

// ── staging ──

export function openStage(home: string): Stage {
  makeFolder(pluginsOf(home));
  const folder = fs.mkdtempSync(path.join(pluginsOf(home), `.install-${process.pid}-`));
  const stage = {
    folder,
    home: path.join(folder, "home"),
    plugins: path.join(folder, "home", "plugins"),
    work: path.join(folder, "work"),
  };
  makeFolder(stage.plugins);
  fs.mkdirSync(stage.work);
  return stage;
}

export const closeStage = ({ folder }: Stage): void => fs.rmSync(folder, { recursive: true, force: true });

/** Writes files into the stage; returns the checksum of each. */
export function write({ plugins }: Stage, top: string, contents: Contents, single: boolean): void {
  for (const [name, { bytes, runs }] of contents) {
    const at = path.join(plugins, single ? top : path.join(top, name));
    makeFolder(path.dirname(at));
    fs.writeFileSync(at, bytes, { mode: runs ? 0o755 : 0o644, flag: "wx" });
  }
}

export function sumsOf({ plugins }: Stage, names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, sumOf(fs.readFileSync(path.join(plugins, name)), "sha256")]));
}

/** Keeps files that are next to the installed ones, unless the new version has one of that name. */
export function copyExtras(home: string, { plugins }: Stage, extras: string[]): void {
  for (const name of extras) {
    const to = path.join(plugins, name);
    if (fs.existsSync(to)) continue;
    fs.cpSync(path.join(pluginsOf(home), name), to, { verbatimSymlinks: true, preserveTimestamps: true });
  }
}

// ── putting in place ──

/** `known`: the plugin's entry in the lock file when the person was asked. */
export function putInPlace(
  home: string,
  stage: Stage,
  name: string,
  entry: Entry | null,
  target: string | null,
  known?: Entry,
): void {
  withMutex(home, () => {
    const old = readLock(home).get(name);
    if (JSON.stringify(old) !== JSON.stringify(known)) throw fault("another zz changed it meanwhile. Try again");
    const there = old ? topOf(old) : null;
    if (!old && existingName(home, name)) throw fault("something of that name came meanwhile. Try again");
    const plan: Plan = { name, entry, target, old: there };
    fs.writeFileSync(path.join(stage.folder, "next.json"), JSON.stringify(plan));
    fs.renameSync(path.join(stage.folder, "next.json"), path.join(stage.folder, PLAN));
    runPlan(home, stage.folder);
  });
}

/** Carries out a plan; if it is killed after any step, the next run can continue from there. */
function runPlan(home: string, folder: string): void {
  const { name, entry, target, old }: Plan = JSON.parse(fs.readFileSync(path.join(folder, PLAN), "utf8"));
  const [place, kept] = [pluginsOf(home), path.join(folder, "old")];
  const staged = target === null ? undefined : path.join(folder, "home", "plugins", target);
  const isStaged = staged !== undefined && fs.existsSync(staged);
  const was = old === null ? undefined : path.join(place, old);
  const oneFile = old === target && isStaged && fs.statSync(staged).isFile(); // a rename replaces it in one step
  try {
    if (was && (isStaged || !staged) && !oneFile && fs.existsSync(was) && !fs.existsSync(kept))
      fs.renameSync(was, kept);
    if (isStaged) fs.renameSync(staged, path.join(place, target!));
  } catch (error) {
    if (was && fs.existsSync(kept) && !fs.existsSync(was)) fs.renameSync(kept, was);
    fs.rmSync(path.join(folder, PLAN));
    throw error;
  }
  const lock = readLock(home);
  if (entry) lock.set(name, entry);
  else lock.delete(name);
  writeLock(home, lock, folder);
  fs.rmSync(folder, { recursive: true, force: true });
}

/** Cleans up after a killed run: completes what was confirmed and removes the rest. */
export function sweep(home: string): void {
  const place = pluginsOf(home);
  if (!fs.existsSync(place)) return;
  const mutex = path.join(place, MUTEX_FILE);
  if (fs.existsSync(mutex) && isStale(mutex)) fs.rmSync(mutex, { force: true });
  for (const name of fs.readdirSync(place)) {
    const pid = Number(STAGE.exec(name)?.[1]);
    const folder = path.join(place, name);
    if (!pid || isUnderWay(pid, folder)) continue;
    if (fs.existsSync(path.join(folder, PLAN))) withMutex(home, () => fs.existsSync(folder) && runPlan(home, folder));
    else fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Process ids are reused, so a living process protects its folder for at most a day. */
const isUnderWay = (pid: number, folder: string): boolean =>
  pid === process.pid || (isAlive(pid) && Date.now() - fs.statSync(folder).mtimeMs < DAY);

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/**
 * Runs `act` in one process at a time. `act` takes milliseconds, so an older mark was left behind, and so was a dead
 * process's.
 */
function withMutex<T>(home: string, act: () => T): T {
  const mutex = path.join(pluginsOf(home), MUTEX_FILE);
  for (let left = 500; ; left--)
    try {
      fs.writeFileSync(mutex, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      if (isStale(mutex)) fs.rmSync(mutex, { force: true });
      else if (!left) throw fault("another zz is installing. Try again");
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  try {
    return act();
  } finally {
    fs.rmSync(mutex, { force: true });
  }
}

function isStale(mutex: string): boolean {
  const stat = fs.statSync(mutex, { throwIfNoEntry: false });
  const pid = stat ? Number(fs.readFileSync(mutex, "utf8")) : 0; // 0: it is being written
  return stat !== undefined && (Date.now() - stat.mtimeMs > 5_000 || (pid > 0 && !isAlive(pid)));
}
