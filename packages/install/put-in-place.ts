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

const STAGE_FOLDER = /^\.install-(\d+)-/;
const PLAN_FILE = "plan.json";
const PLUGIN_NAME = /^[A-Za-z][\w-]{0,63}$/;
const DAY_MS = 86_400_000;

// ── the lock file ──

const lockFile = (homeFolder: string): string => path.join(homeFolder, "plugins.lock.json");

export function readLock(homeFolder: string): Lock {
  const lockPath = lockFile(homeFolder);
  return parseLock(
    lockPath,
    fs.existsSync(lockPath) ? tryTo(() => fs.readFileSync(lockPath, "utf8")) : "",
  );
}

function parseLock(lockPath: string, fileText: string | undefined): Lock {
  const brokenLock = (reason: string) =>
    fault(
      `Cannot use '${lockPath}': ${reason}. Fix it, or remove it and install the plugins again.`,
    );
  if (fileText === undefined) throw brokenLock("it cannot be read");
  if (!fileText) return new Map();
  const parsedLock = tryTo(() => JSON.parse(fileText));
  if (!parsedLock) throw brokenLock("it is not JSON");
  const { lockVersion, plugins } = parsedLock;
  if (lockVersion !== 1) throw brokenLock("its lockVersion is not 1");
  if (typeof plugins !== "object" || !plugins) throw brokenLock("it has no plugins");
  const pluginLock: Lock = new Map(Object.entries(plugins as Record<string, LockEntry>));
  for (const [pluginName, lockEntry] of pluginLock)
    if (!PLUGIN_NAME.test(pluginName) || !isEntry(pluginName, Object(lockEntry)))
      throw brokenLock(`what it says of '${pluginName.slice(0, 80)}' is not whole`);
  return pluginLock;
}

function isEntry(pluginName: string, { spec, integrity, top, files }: LockEntry): boolean {
  const isOwnTop =
    top === pluginName ||
    /^\.[cm]?[jt]s$/.test(top?.startsWith?.(pluginName) ? top.slice(pluginName.length) : "");
  return (
    isOwnTop && typeof spec === "string" && typeof integrity === "string" && Object(files) === files
  );
}

function lockText(pluginLock: Lock): string {
  const sortedEntries = [...pluginLock].sort(([first], [second]) => compare(first, second));
  return JSON.stringify({ lockVersion: 1, plugins: Object.fromEntries(sortedEntries) }, null, 2);
}

// ── on the disk ──

export const pluginsOf = (homeFolder: string): string => path.join(homeFolder, "plugins");
/**
 * A file or folder that the loader might take for a plugin of that name on any disk, so case is
 * ignored.
 */
export const existingName = (homeFolder: string, pluginName: string): string | undefined =>
  entriesOf(pluginsOf(homeFolder)).find(
    (entryName) =>
      entryName.replace(/\.[cm]?[jt]s$/, "").toLowerCase() === pluginName.toLowerCase(),
  );

/** The files of a plugin as they are now, with their checksums. */
export function sumsIn(
  pluginsFolder: string,
  { top, packages }: Pick<LockEntry, "top" | "packages">,
): Record<string, string> {
  const fileNames = filesIn(pluginsFolder, top, new Set(packagesIn(packages).keys()));
  const checksum = (fileName: string) =>
    tryTo(() => sumOf(fs.readFileSync(path.join(pluginsFolder, fileName)))) ?? "";
  return Object.fromEntries(fileNames.map((fileName) => [fileName, checksum(fileName)]));
}

/**
 * What differs from what was installed: `extras` were put beside it by the person or by the plugin
 * itself.
 */
export function changesOf(homeFolder: string, lockEntry: LockEntry) {
  const current = sumsIn(pluginsOf(homeFolder), lockEntry);
  const namesBefore = Object.keys(lockEntry.files);
  return {
    missing: namesBefore.filter((fileName) => !Object.hasOwn(current, fileName)),
    changed: namesBefore.filter(
      (fileName) =>
        Object.hasOwn(current, fileName) && current[fileName] !== lockEntry.files[fileName],
    ),
    extras: Object.keys(current).filter((fileName) => !Object.hasOwn(lockEntry.files, fileName)),
  };
}

// ── staging ──

export function openStage(homeFolder: string): Stage {
  makeFolder(pluginsOf(homeFolder));
  const folder = fs.mkdtempSync(path.join(pluginsOf(homeFolder), `.install-${process.pid}-`));
  const stageHome = path.join(folder, "home");
  const newStage = {
    folder,
    home: stageHome,
    plugins: path.join(stageHome, "plugins"),
    work: path.join(folder, "work"),
  };
  makeFolder(newStage.plugins);
  fs.mkdirSync(newStage.work);
  return newStage;
}

export const closeStage = ({ folder }: Stage): void =>
  fs.rmSync(folder, { recursive: true, force: true });

/** Keeps files that are next to the installed ones, unless the new version has one of that name. */
export function copyExtras(homeFolder: string, { plugins }: Stage, extraNames: string[]): void {
  for (const extraName of extraNames) {
    const stagedPath = path.join(plugins, extraName);
    if (!fs.existsSync(stagedPath))
      fs.cpSync(path.join(pluginsOf(homeFolder), extraName), stagedPath, {
        verbatimSymlinks: true,
        preserveTimestamps: true,
      });
  }
}

// ── putting in place ──

/** `expected`: the plugin's entry in the lock file when the person was asked. */
export function putInPlace(
  homeFolder: string,
  { folder }: Stage,
  { expected, ...placing }: Omit<Plan, "old"> & { expected: LockEntry | undefined },
): void {
  updatePrivateFile(lockFile(homeFolder), (storedText) => {
    const pluginLock = parseLock(lockFile(homeFolder), storedText.trim());
    const current = pluginLock.get(placing.name);
    if (JSON.stringify(current) !== JSON.stringify(expected))
      throw fault("another zz changed it meanwhile. Try again");
    if (!current && existingName(homeFolder, placing.name))
      throw fault("something of that name came meanwhile. Try again");
    const placingPlan: Plan = { ...placing, old: current?.top ?? null };
    fs.writeFileSync(path.join(folder, "next.json"), JSON.stringify(placingPlan));
    fs.renameSync(path.join(folder, "next.json"), path.join(folder, PLAN_FILE));
    return lockText(carryOut(homeFolder, folder, pluginLock));
  });
  fs.rmSync(folder, { recursive: true, force: true });
}

/** Carries out a plan; if it is killed after any step, the next run can continue from there. */
function carryOut(homeFolder: string, folder: string, pluginLock: Lock): Lock {
  const { name, entry, target, old }: Plan = JSON.parse(textOf(path.join(folder, PLAN_FILE)));
  const keptPath = path.join(folder, "old");
  const stagedPath = target === null ? undefined : path.join(folder, "home", "plugins", target);
  const isStaged = stagedPath !== undefined && fs.existsSync(stagedPath);
  const oldPath = old === null ? undefined : path.join(pluginsOf(homeFolder), old);
  try {
    if (oldPath && (isStaged || !stagedPath) && fs.existsSync(oldPath) && !fs.existsSync(keptPath))
      fs.renameSync(oldPath, keptPath);
    if (isStaged) fs.renameSync(stagedPath, path.join(pluginsOf(homeFolder), target!));
  } catch (error) {
    if (oldPath && fs.existsSync(keptPath) && !fs.existsSync(oldPath))
      fs.renameSync(keptPath, oldPath);
    fs.rmSync(path.join(folder, PLAN_FILE));
    throw error;
  }
  if (entry) pluginLock.set(name, entry);
  else pluginLock.delete(name);
  return pluginLock;
}

/** Cleans up after a killed run: completes what was confirmed and removes the rest. */
export function sweep(homeFolder: string): void {
  for (const entryName of entriesOf(pluginsOf(homeFolder))) {
    const processId = Number(STAGE_FOLDER.exec(entryName)?.[1]);
    const folder = path.join(pluginsOf(homeFolder), entryName);
    if (!processId || isUnderWay(processId, folder)) continue;
    const hasPlan = () => fs.existsSync(path.join(folder, PLAN_FILE));
    if (hasPlan())
      updatePrivateFile(lockFile(homeFolder), (storedText) => {
        const pluginLock = parseLock(lockFile(homeFolder), storedText.trim());
        return lockText(hasPlan() ? carryOut(homeFolder, folder, pluginLock) : pluginLock);
      });
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** Process ids are reused, so a living process protects its folder for at most a day. */
const isUnderWay = (processId: number, folder: string): boolean =>
  processId === process.pid ||
  (isAlive(processId) && Date.now() - fs.statSync(folder).mtimeMs < DAY_MS);

function isAlive(processId: number): boolean {
  try {
    return process.kill(processId, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}
