// effects: what a command did on its view of the project, read from the overlay's upper folder.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { plural } from "zz/text";
import { direntsOf, isFolder } from "./paths.ts";
import type { View } from "./view.ts";

type FileState = Parameters<Ctx["files"]["apply"]>[0][number];

export interface Effects {
  states: FileState[]; // in the order in which they can be made
  about: string[]; // for the question
  leftOut: string[]; // for the model: what could not be kept, and why
  dropped: string[]; // tools' own caches, thrown away
}

const MAX_FILE_BYTES = 50 << 20; // what can be undone is kept whole
const MAX_BYTES = 200 << 20;
const MAX_FILES = 20_000;
const [MAX_BRIEF_FILES, MAX_BRIEF_BYTES] = [3_000, 20 << 20];
export const MAX_UPPER_BYTES = 2 * 2 ** 30;

/** What tools write for themselves, and write again when it is gone. */
const CACHE =
  /(^|\/)(node_modules\/\.(cache|vite|vite-temp)|\.pytest_cache|__pycache__|\.mypy_cache|\.ruff_cache|\.tox|\.nyc_output|\.parcel-cache|\.turbo|\.eslintcache|\.phpunit\.result\.cache|[^/]*\.tsbuildinfo)(\/|$)/;

const [TYPE, FILE, LINK, FOLDER] = [0o170000, 0o100000, 0o120000, 0o040000];

interface Change {
  name: string; // relative to the project
  before: fs.Stats | undefined;
  after: fs.Stats | undefined;
}

export async function readEffects(view: View, ctx: Ctx): Promise<Effects> {
  const { root } = ctx;
  const found: Effects = { states: [], about: [], leftOut: [], dropped: [] };
  const changes = await changesOf(view, root, found);
  const kept = changes.filter(({ name, after }) => !CACHE.test(name) || !after);
  const caches = changes.filter((one) => !kept.includes(one));
  if (caches.length) found.dropped = [...new Set(caches.map(({ name }) => CACHE.exec(name)![2]!))];
  const tooMany = kept.length > MAX_FILES || sizeOf(kept) > MAX_BYTES;
  if (tooMany) {
    found.leftOut.push(
      `it changed ${plural(kept.length, "file")}, ${sizeWords(sizeOf(kept))}: more than can be kept and undone`,
    );
    return found;
  }
  const raced = kept.filter(({ before }) => before && !before.isDirectory() && before.ctimeMs > view.began);
  if (raced.length) {
    found.leftOut.push(`${names(raced)} changed in the project while it ran, so nothing of it was kept. Run it again`);
    return found;
  }
  const ignored = await ignoredOf(ctx, kept);
  const groups = new Map<string, Change[]>();
  for (const one of kept) {
    const group = ignored(one.name);
    if (group !== undefined) groups.set(group, [...(groups.get(group) ?? []), one]);
  }
  const skipped = new Set<Change>();
  const briefOf = new Map<Change, string>();
  for (const [group, all] of groups) {
    const what = `${group}: ${plural(all.length, "file")}, ${sizeWords(sizeOf(all))}`;
    const isTooMuch = all.length > MAX_BRIEF_FILES || sizeOf(all) > MAX_BRIEF_BYTES;
    if (isTooMuch) found.leftOut.push(`${what}: too much of what git ignores to be kept. Run it with direct: true`);
    else found.about.push(`ignored by git, not shown: ${what}`);
    for (const one of all) isTooMuch ? skipped.add(one) : briefOf.set(one, group);
  }
  for (const one of ordered(kept.filter((change) => !skipped.has(change)))) {
    const brief = briefOf.get(one);
    found.states.push({
      path: path.join(root, one.name),
      ...stateOf(view, one),
      ...(brief !== undefined && { brief }),
    });
  }
  return found;
}

/** First what goes, the innermost first; then what comes, the outermost first. */
function ordered(changes: Change[]): Change[] {
  const isGone = ({ after, before }: Change) => !after || (before?.isDirectory() && !after.isDirectory());
  const depth = ({ name }: Change) => name.split("/").length;
  const gone = changes.filter(isGone).sort((a, b) => depth(b) - depth(a));
  return [...gone, ...changes.filter((one) => !isGone(one)).sort((a, b) => depth(a) - depth(b))];
}

function stateOf({ upper }: View, { name, after }: Change): Pick<FileState, "bytes" | "mode"> {
  if (!after) return {};
  const at = path.join(upper, name);
  const mode = after.mode & ~0o6000;
  if (after.isSymbolicLink()) return { bytes: Buffer.from(fs.readlinkSync(at)), mode: (mode & 0o777) | LINK };
  if (after.isDirectory()) return { bytes: Buffer.alloc(0), mode: (mode & 0o1777) | FOLDER };
  return { bytes: readLocked(at, after.mode), mode: (mode & 0o1777) | FILE };
}

/** A command may have taken the right to read its own file away. */
function readLocked(at: string, mode: number): Buffer {
  if (!(mode & 0o400)) fs.chmodSync(at, mode | 0o400);
  return fs.readFileSync(at);
}

const isWhiteout = (stat: fs.Stats): boolean => stat.isCharacterDevice() && stat.rdev === 0;
function lookAt(at: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(at, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw error;
  }
}

function isSame(root: string, upper: string, name: string, before: fs.Stats | undefined, after: fs.Stats): boolean {
  const bits = TYPE | 0o7777;
  if (!before || (before.mode & bits) !== (after.mode & bits) || before.size !== after.size) return false;
  const [one, two] = [path.join(root, name), path.join(upper, name)];
  if (after.isSymbolicLink()) return fs.readlinkSync(one) === fs.readlinkSync(two);
  return fs.readFileSync(one).equals(readLocked(two, after.mode));
}

/** Every entry of the upper folder against what stands there. */
async function changesOf(view: View, root: string, found: Effects): Promise<Change[]> {
  const changes: Change[] = [];
  const both: string[] = []; // folders that were there before: they may have been made again
  const top = { before: fs.statSync(root), after: fs.statSync(view.upper) };
  if ((top.before.mode & 0o7777) !== (top.after.mode & 0o7777))
    found.leftOut.push("the mode of the project's own folder was left as it is");
  walk("");
  const seen = new Set(changes.map(({ name }) => name));
  const left = both.length ? await view.list(both) : new Map<string, string[]>();
  if (!left)
    throw new Error("Cannot tell what the command changed: its view could not be read again. Nothing was kept.");
  for (const folder of both)
    for (const { name } of direntsOf(path.join(root, folder)))
      if (!left.get(folder)?.includes(name) && !seen.has(path.join(folder, name))) remove(path.join(folder, name));
  return changes;

  function walk(folder: string): void {
    const at = path.join(view.upper, folder);
    const mode = fs.lstatSync(at).mode;
    if ((mode & 0o500) !== 0o500) fs.chmodSync(at, mode | 0o700);
    for (const bytes of fs.readdirSync(at, { encoding: "buffer" })) {
      const name = bytes.toString("utf8");
      const whole = path.join(folder, name);
      const where = whole.split("/");
      if (!Buffer.from(name).equals(bytes)) found.leftOut.push(`'${whole}' was left out: its name is not UTF-8`);
      else if (where.includes(".git"))
        found.leftOut.push(`'${whole}' was left out: .git is git's own. Run it with direct: true`);
      else visit(whole);
    }
  }

  function visit(name: string): void {
    const after = fs.lstatSync(path.join(view.upper, name));
    const before = lookAt(path.join(root, name));
    const isKept = after.isFile() || after.isDirectory() || after.isSymbolicLink();
    if (isWhiteout(after)) return void remove(name);
    if (!isKept) return void found.leftOut.push(`'${name}' was left out: it is a device, a FIFO or a socket`);
    if (after.isFile() && after.mode & 0o6000)
      return void found.leftOut.push(`'${name}' was left out: it would run as another user or group`);
    if (after.isFile() && after.size > MAX_FILE_BYTES)
      return void found.leftOut.push(`'${name}' was left out: ${sizeWords(after.size)} are more than can be undone`);
    if (!after.isDirectory()) {
      if (before?.isDirectory() && !removeIn(name)) return;
      if (isSame(root, view.upper, name, before, after)) return;
      return void changes.push({ name, before, after });
    }
    if (before?.isDirectory()) both.push(name);
    const isNew = !before?.isDirectory();
    const isEmpty = isNew && direntsOf(path.join(view.upper, name)).length === 0;
    const isUsual = (after.mode & 0o7777) === (0o777 & ~process.umask());
    if (isNew ? isEmpty || !isUsual || before : (before!.mode & 0o7777) !== (after.mode & 0o7777))
      changes.push({ name, before, after });
    walk(name);
  }

  /** Whether it goes: what cannot be undone stays, and its folders with it. */
  function remove(name: string): boolean {
    const before = lookAt(path.join(root, name));
    if (!before) return true;
    const isPlain = before.isDirectory() || before.isFile() || before.isSymbolicLink();
    if (!isPlain || path.basename(name) === ".git" || before.size > MAX_FILE_BYTES) {
      found.leftOut.push(`'${name}' was left as it is: its removal could not be undone`);
      return false;
    }
    if (before.isDirectory() && !removeIn(name)) return false;
    changes.push({ name, before, after: undefined });
    return true;
  }

  function removeIn(folder: string): boolean {
    return direntsOf(path.join(root, folder))
      .map(({ name }) => remove(path.join(folder, name)))
      .every(Boolean);
  }
}

/** The topmost folder that git ignores, of a path that it ignores; a file of that kind in another folder is shown. */
async function ignoredOf(ctx: Ctx, changes: Change[]): Promise<(name: string) => string | undefined> {
  const all = changes.map(({ name }) => name);
  if (!all.length || !isFolder(path.join(ctx.root, ".git"))) return inModules;
  const above = (name: string) => [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index + 1));
  const asked = new Set(all.flatMap((name) => [name, ...above(name)]));
  const child = ctx.programs.run("git", [...ctx.git.quiet, "check-ignore", "-z", "--stdin"], {
    cwd: ctx.root,
    env: ctx.git.env(),
    input: Buffer.from(`${[...asked].join("\0")}\0`),
    timeout: 10_000,
    maxBuffer: 1 << 26,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ignored = new Set(child.stdout?.toString().split("\0") ?? []);
  return (name) => (ignored.has(name) ? above(name).find((at) => ignored.has(at)) : undefined) ?? inModules(name);
}
const inModules = (name: string): string | undefined => /^(.*?\/)?node_modules\/(?=.)/.exec(name)?.[0];

const sizeOf = (changes: Change[]): number =>
  changes.reduce(
    (sum, { after, before }) => sum + (after?.isFile() ? after.size : 0) + (before?.isFile() ? before.size : 0),
    0,
  );
const sizeWords = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${Math.round(bytes / 1_000_000)} MB`;
const names = (changes: Change[]): string =>
  changes
    .slice(0, 5)
    .map(({ name }) => `'${name}'`)
    .join(", ");
