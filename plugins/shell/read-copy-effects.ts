// What a command did on its view of the project, read from the overlay's upper folder.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { plural, repositoryTop, runsByItself, tryTo, visible } from "zz/text";
import type { View } from "./copy-on-write.ts";

export type FileState = Parameters<Ctx["files"]["apply"]>[0][number];

export interface Effects {
  states: FileState[]; // in the order in which they can be made
  about: string[]; // lines for the question
  // files that changed in the project while the command ran: approval overwrites them
  raced: string[];
  leftOut: string[]; // what could not be kept and why, for the model
  dropped: string[]; // tools' own caches, thrown away
  modes: { name: string; mode: number }[]; // those that the command set
}

const MAX_SHOWN_BYTES = 50 << 20; // of a file whose content is shown, and kept in the session
const MAX_BYTES = 200 << 20;
const MAX_FILES = 20_000;

/** Caches that tools write for themselves, and write again when they are gone. */
const CACHE =
  /(^|\/)(node_modules\/\.(cache|vite|vite-temp)|\.pytest_cache|__pycache__|\.mypy_cache|\.ruff_cache|\.tox|\.nyc_output|\.parcel-cache|\.turbo|\.eslintcache|\.phpunit\.result\.cache|[^/]*\.tsbuildinfo)(\/|$)/;

const [TYPE, FILE, LINK, FOLDER] = [0o170000, 0o100000, 0o120000, 0o040000];

/** Names are bytes, as latin1, relative to the project: Linux allows any. */
interface Change {
  name: string;
  before: fs.Stats | undefined;
  after: fs.Stats | undefined;
  isUsual?: boolean; // a new folder with the usual mode: it is made along with its contents
}
const raw = (name: string): Buffer => Buffer.from(name, "latin1");
const utf8 = (name: string): string => raw(name).toString();
const isUtf8 = (name: string): boolean => Buffer.from(utf8(name)).equals(raw(name));
const within = (folder: string, name: string): string => (folder ? `${folder}/${name}` : name);
const parentsOf = (name: string): string[] =>
  [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index));
const bytePath = (folder: string, name: string): Buffer =>
  Buffer.concat([Buffer.from(`${folder}/`), raw(name)]);

export async function readEffects(view: View, ctx: Ctx): Promise<Effects> {
  const effects: Effects = {
    states: [],
    about: [],
    raced: [],
    leftOut: [],
    dropped: [],
    modes: [],
  };
  const changes = await compareWithProject(view, ctx.root, effects);
  const kept = withoutCaches(changes, effects);
  const { shown, groups } = await groupChanges(ctx, kept);
  if (shown.length > MAX_FILES || totalBytes(shown) > MAX_BYTES) {
    const amount = `${plural(shown.length, "file")}, ${formatSize(totalBytes(shown))}`;
    effects.leftOut.push(`it changed ${amount}: more than can be kept and undone`);
    return effects;
  }
  const allChanges = [...shown, ...[...groups.values()].flatMap(({ changes }) => changes)];
  const raced = allChanges.filter(
    ({ before }) => before && !before.isDirectory() && before.ctimeMs > view.began,
  );
  effects.raced = raced.map(({ name }) => utf8(name));
  effects.modes = shown.flatMap(({ name, before, after }) =>
    before && after && fileType(before) === fileType(after) && before.mode !== after.mode
      ? { name: utf8(name), mode: undoableMode(after) & 0o7777 }
      : [],
  );
  // names that are not UTF-8 may look like others
  const shownNames = new Set(shown.map(({ name }) => utf8(name)));
  const moved = [...groups].map(([group, { why: reason, changes }]) => {
    const summary = `${visible(group)}: ${sumUp(changes)}`;
    const isRaw = reason === NOT_UTF8 || (reason === LARGE && changes.length > 1);
    effects.about.push(
      `${reason}, not shown: ${summary}${isRaw ? shownRaw(view, ctx.root, changes) : ""}`,
    );
    return moveOf(view, ctx.root, group, changes, shownNames);
  });
  const isGoing = ({ moves = [] }: FileState) => moves.every(([, from]) => from === undefined);
  effects.states.push(...moved.filter(isGoing));
  for (const change of orderChanges(shown)) {
    effects.states.push({ path: path.join(ctx.root, utf8(change.name)), ...stateOf(view, change) });
  }
  effects.states.push(...moved.filter((state) => !isGoing(state)));
  return effects;
}

/** Drops caches, and folders that were made only for them. */
function withoutCaches(changes: Change[], effects: Effects): Change[] {
  const caches = new Set(changes.filter(({ name, after }) => after && CACHE.test(name)));
  if (!caches.size) return changes;
  effects.dropped = [...new Set([...caches].map(({ name }) => utf8(CACHE.exec(name)![2]!)))];
  const around = new Set([...caches].flatMap(({ name }) => parentsOf(name)));
  const otherChanges = changes.filter((change) => !caches.has(change));
  const needed = new Set(
    otherChanges
      .filter(({ name, isUsual }) => !isUsual || !around.has(name))
      .flatMap(({ name }) => parentsOf(name)),
  );
  return otherChanges.filter(
    ({ name, isUsual }) => !isUsual || !around.has(name) || needed.has(name),
  );
}

type Group = { why: string; changes: Change[] };
const [IGNORED, MODULES] = ["ignored by git", "in node_modules"];
const [NOT_UTF8, LARGE] = ["its name is not UTF-8", "too large to be read"];

/**
 * Splits the changes into those shown in full, and groups shown in one line: an ignored folder, or
 * a single name.
 */
async function groupChanges(
  ctx: Ctx,
  changes: Change[],
): Promise<{ shown: Change[]; groups: Map<string, Group> }> {
  const ignored = await findIgnored(ctx, changes);
  const isLarge = ({ before, after }: Change) =>
    [before, after].some((stat) => stat?.isFile() && stat.size > MAX_SHOWN_BYTES);
  // what comes into it goes with it
  const becomesFolder = (change: Change) => change.after?.isDirectory() && isLarge(change);
  const replaced = new Set(changes.filter(becomesFolder).map(({ name }) => name));
  const groupOf = (change: Change): [group: string, why: string] | undefined => {
    const unread = ignored(change);
    // what may run later is shown whole, wherever it lies
    if (unread && !mayRunLater(change)) return unread;
    if (!isUtf8(change.name))
      return [
        utf8(parentsOf(change.name).find((folder) => !isUtf8(folder)) ?? change.name),
        NOT_UTF8,
      ];
    const large = [...parentsOf(change.name), change.name].find((absolutePath) =>
      replaced.has(absolutePath),
    );
    return large !== undefined || isLarge(change) ? [utf8(large ?? change.name), LARGE] : undefined;
  };
  const mayRunLater = ({ name, after }: Change) =>
    after !== undefined &&
    !after.isDirectory() &&
    !inModules(name) &&
    runsByItself(path.join(ctx.root, utf8(name)));
  const groupByChange = new Map(changes.map((change) => [change, groupOf(change)]));
  const needed = new Set<string>(); // folders above what is shown, made or removed with it
  const around = new Set<string>(); // folders above what is shown in one line
  for (const [{ name }, group] of groupByChange)
    for (const parent of parentsOf(name)) (group ? around : needed).add(parent);
  const groups = new Map<string, Group>();
  const shown: Change[] = [];
  for (const [changed, chosenGroup] of groupByChange) {
    const isFolder = (changed.after ?? changed.before)!.isDirectory();
    if (chosenGroup && !(isFolder && needed.has(changed.name))) {
      const group = groups.get(chosenGroup[0]) ?? { why: chosenGroup[1], changes: [] };
      group.changes.push(changed);
      groups.set(chosenGroup[0], group);
    } else if (
      !changed.isUsual ||
      (around.has(changed.name) && isFolder) ||
      !needed.has(changed.name)
    )
      shown.push(changed);
  }
  return { shown, groups };
}

function moveOf(
  { upper }: View,
  root: string,
  group: string,
  changes: Change[],
  usedNames: Set<string>,
): FileState {
  const moves = orderChanges(changes).map(
    ({ name, after }): NonNullable<FileState["moves"]>[number] => {
      if (!after) return [name];
      const from = bytePath(upper, name).toString("latin1");
      return after.isDirectory() ? [name, from, undoableMode(after) & 0o7777] : [name, from];
    },
  );
  const isOne = changes.length === 1 && utf8(changes[0]!.name) === group;
  let absolutePath = isOne ? group : path.join(group, "…");
  while (usedNames.has(absolutePath)) absolutePath += "…";
  usedNames.add(absolutePath);
  return {
    path: path.join(root, absolutePath),
    brief: group,
    bytes: Buffer.from(`${sumUp(changes)}\n`),
    moves,
  };
}

const fileType = (stat: fs.Stats): number => stat.mode & TYPE;

/**
 * A folder may keep its setgid bit, which hands on its group; a file must not run as another user
 * or group.
 */
const undoableMode = (stat: fs.Stats): number => {
  if (stat.isSymbolicLink()) return (stat.mode & 0o777) | LINK;
  return stat.isDirectory() ? (stat.mode & 0o3777) | FOLDER : (stat.mode & 0o1777) | FILE;
};

/** Removals first, starting with the innermost; then additions, starting with the outermost. */
function orderChanges(changes: Change[]): Change[] {
  const isGone = ({ after, before }: Change) =>
    !after || (before?.isDirectory() && !after.isDirectory());
  const depth = ({ name }: Change) => name.split("/").length;
  const gone = changes.filter(isGone).sort((a, b) => depth(b) - depth(a));
  return [
    ...gone,
    ...changes.filter((change) => !isGone(change)).sort((a, b) => depth(a) - depth(b)),
  ];
}

function stateOf({ upper }: View, { name, after }: Change): Pick<FileState, "bytes" | "mode"> {
  if (!after) return {};
  const file = bytePath(upper, name);
  const mode = undoableMode(after);
  if (after.isSymbolicLink()) return { bytes: fs.readlinkSync(file, "buffer"), mode };
  if (after.isDirectory()) return { bytes: Buffer.alloc(0), mode };
  return { bytes: readUnlocked(file, after.mode), mode };
}

/** Reads a file even if the command took away its owner's right to read it. */
function readUnlocked(file: Buffer, mode: number): Buffer {
  if (mode & 0o400) return fs.readFileSync(file);
  fs.chmodSync(file, mode | 0o400);
  try {
    return fs.readFileSync(file);
  } finally {
    fs.chmodSync(file, mode & 0o7777);
  }
}

const isWhiteout = (stat: fs.Stats): boolean => stat.isCharacterDevice() && stat.rdev === 0;
function lstatOrNone(file: Buffer): fs.Stats | undefined {
  try {
    return fs.lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if (["ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code!)) return undefined;
    throw error;
  }
}

function isSame(
  root: string,
  upper: string,
  name: string,
  before: fs.Stats | undefined,
  after: fs.Stats,
): boolean {
  const bits = TYPE | 0o7777;
  if (!before || (before.mode & bits) !== (after.mode & bits) || before.size !== after.size)
    return false;
  const [original, two] = [bytePath(root, name), bytePath(upper, name)];
  if (after.isSymbolicLink())
    return fs.readlinkSync(original, "buffer").equals(fs.readlinkSync(two, "buffer"));
  if (after.size > MAX_SHOWN_BYTES) return before.mtimeMs === after.mtimeMs;
  return fs.readFileSync(original).equals(readUnlocked(two, after.mode));
}

/** The names in a folder of the view, also in one that keeps its owner out. */
function openAndList(folder: Buffer): string[] {
  const { mode } = fs.lstatSync(folder);
  if ((mode & 0o700) !== 0o700) fs.chmodSync(folder, (mode & 0o7777) | 0o700);
  return namesIn(folder);
}

const OF_REPOSITORY = ["HEAD", "objects", "refs"];
const namesIn = (folder: Buffer): string[] => fs.readdirSync(folder, { encoding: "latin1" });

/** Compares every entry of the upper folder with the project. */
async function compareWithProject(
  view: View,
  root: string,
  { leftOut }: Effects,
): Promise<Change[]> {
  const changes: Change[] = [];
  // folders that existed before: the command may have removed and remade them
  const oldFolders: string[] = [];
  const top = { before: fs.statSync(root), after: fs.statSync(view.upper) };
  if ((top.before.mode & 0o7777) !== (top.after.mode & 0o7777))
    leftOut.push("the mode of the project's own folder was left as it is");
  walk("", true);
  const changedNames = new Set(changes.map(({ name }) => name));
  const remaining = oldFolders.length ? await view.list(oldFolders) : new Set<string>();
  if (!remaining)
    throw new Error(
      "Cannot tell what the command changed: its view could not be read again. Nothing was kept.",
    );
  for (const folder of oldFolders)
    for (const name of namesIn(bytePath(root, folder)).map((inner) => within(folder, inner)))
      if (!remaining.has(name) && !changedNames.has(name)) remove(name);
  return changes;

  function walk(folder: string, isThere: boolean): void {
    for (const name of openAndList(bytePath(view.upper, folder)))
      if (name === ".git")
        leftOut.push(
          `'${utf8(within(folder, name))}' was left out: .git is git's own. Run it with direct: true`,
        );
      else visit(within(folder, name), isThere);
  }

  function visit(name: string, isThere: boolean): void {
    const after = fs.lstatSync(bytePath(view.upper, name));
    const before = isThere ? lstatOrNone(bytePath(root, name)) : undefined;
    const isKept = after.isFile() || after.isDirectory() || after.isSymbolicLink();
    const leave = (reason: string) => leftOut.push(`'${utf8(name)}' was left out: ${reason}`);
    if (isWhiteout(after)) return void remove(name);
    if (!isKept) return void leave("it is a device, a FIFO or a socket");
    if (after.isFile() && after.mode & 0o6000)
      return void leave("it would run as another user or group");
    if (!after.isDirectory()) {
      if (before && !isPlain(before))
        return void leave("what stands there could not be brought back");
      if (before?.isDirectory() && !removeIn(name)) return;
      if (isSame(root, view.upper, name, before, after)) return;
      return void changes.push({ name, before, after });
    }
    if (before && !isPlain(before))
      return void leave("what stands there could not be brought back");
    const wasFolder = before?.isDirectory() === true;
    if (wasFolder) oldFolders.push(name);
    const isUsual = !before && (after.mode & 0o7777) === (0o777 & ~process.umask());
    if (isRepository(name, wasFolder))
      return void leave("git would obey it as a repository. Run it with direct: true");
    if (!wasFolder || (before!.mode & 0o7777) !== (after.mode & 0o7777))
      changes.push({ name, before, after, isUsual });
    walk(name, wasFolder);
  }

  /**
   * Whether the command made a folder that git takes for a repository: with what stands in the
   * project, it has all that one needs.
   */
  function isRepository(name: string, wasFolder: boolean): boolean {
    const inView = openAndList(bytePath(view.upper, name));
    const there = wasFolder ? (tryTo(() => namesIn(bytePath(root, name))) ?? []) : [];
    const isNew = OF_REPOSITORY.some((name) => inView.includes(name) && !there.includes(name));
    return isNew && OF_REPOSITORY.every((name) => inView.includes(name) || there.includes(name));
  }

  /**
   * Whether a file is removed. What undo could not restore stays, and so do the folders that it is
   * in.
   */
  function remove(name: string): boolean {
    const before = lstatOrNone(bytePath(root, name));
    if (!before) return true;
    if (!isPlain(before) || /(^|\/)\.git$/.test(name)) {
      leftOut.push(`'${utf8(name)}' was left as it is: its removal could not be undone`);
      return false;
    }
    if (before.isDirectory() && !removeIn(name)) return false;
    changes.push({ name, before, after: undefined });
    return true;
  }

  function removeIn(folder: string): boolean {
    return namesIn(bytePath(root, folder))
      .map((name) => remove(within(folder, name)))
      .every(Boolean);
  }
}
const isPlain = (stat: fs.Stats): boolean =>
  stat.isDirectory() || stat.isFile() || stat.isSymbolicLink();

/**
 * The topmost folder of a path that git ignores, or of packages that git does not track, and why it
 * is not shown.
 */
async function findIgnored(
  ctx: Ctx,
  changes: Change[],
): Promise<(change: Change) => [group: string, why: string] | undefined> {
  const tops = new Map<string, string | undefined>([["", repositoryTop(ctx.root) && ""]]);
  const topOf = (folder: string): string | undefined => {
    if (tops.has(folder)) return tops.get(folder);
    const gitFolder = lstatOrNone(bytePath(ctx.root, within(folder, ".git")));
    tops.set(
      folder,
      gitFolder ? folder : topOf(folder.slice(0, Math.max(0, folder.lastIndexOf("/")))),
    );
    return tops.get(folder);
  };
  // by repository: git looks neither through links nor into others
  const asked = new Map<string, Set<string>>();
  const links = new Set(
    changes.flatMap(({ name, before }) => (before && !before.isDirectory() ? name : [])),
  );
  for (const changed of changes) {
    const { name } = changed;
    const folders = parentsOf(name);
    const top = topOf(folders.at(-1) ?? "");
    if (top === undefined || folders.some((folder) => links.has(folder))) continue;
    const names = asked.get(top) ?? new Set();
    asked.set(top, names);
    for (const absolutePath of folders)
      if (absolutePath.length > top.length) names.add(`${absolutePath}/`);
    names.add(keyOf(changed));
    if (isReplaced(changed)) names.add(name);
  }
  const [ignored, tracked] = [new Set<string>(), new Set<string>()];
  for (const [top, names] of [...asked].slice(0, MAX_REPOSITORIES)) {
    const cut = top ? top.length + 1 : 0;
    const input = raw(`${[...names].map((name) => name.slice(cut)).join("\0")}\0`);
    for (const name of listOf(top, ["check-ignore", "-z", "--stdin"], input)) ignored.add(name);
    if (![...names].some((name) => inModules(name) && !ignored.has(name))) continue;
    for (const name of listOf(top, ["ls-files", "-z", "--", ":(glob)**/node_modules/**"]))
      tracked.add(name);
  }
  return (change) => {
    const key = keyOf(change);
    // what goes is shown
    if (isReplaced(change) && !ignored.has(change.name) && !inModules(change.name))
      return undefined;
    const folder = ignored.has(key)
      ? parentsOf(key).find((folder) => ignored.has(`${folder}/`))
      : undefined;
    if (folder !== undefined) return [utf8(folder), IGNORED];
    const modules = tracked.has(change.name) ? undefined : inModules(key);
    return modules === undefined
      ? undefined
      : [utf8(modules), ignored.has(key) ? IGNORED : MODULES];
  };

  function listOf(top: string, args: string[], input?: Buffer): string[] {
    const child = ctx.programs.run("git", [...ctx.git.quiet, ...args], {
      cwd: path.join(ctx.root, utf8(top)),
      env: ctx.git.env(),
      ...(input && { input }),
      timeout: 10_000,
      maxBuffer: 1 << 26,
      stdio: [input ? "pipe" : "ignore", "pipe", "ignore"],
    });
    const names = child.stdout?.toString("latin1").split("\0") ?? [];
    return names.filter(Boolean).map((name) => within(top, name));
  }
}
/**
 * The name as git expects it: only the slash tells git that a name which is not on the disk is a
 * folder's.
 */
const keyOf = ({ name, before, after }: Change): string =>
  (after ?? before)!.isDirectory() ? `${name}/` : name;
/** Whether a folder takes the place of a file or a link. */
const isReplaced = ({ before, after }: Change): boolean =>
  before !== undefined && !before.isDirectory() && after?.isDirectory() === true;
const MAX_REPOSITORIES = 50;
const inModules = (name: string): string | undefined =>
  /^(.*?\/)?node_modules(?=\/)/s.exec(name)?.[0];

const totalBytes = (changes: Change[]): number =>
  changes.reduce(
    (sum, { after, before }) =>
      sum + (after?.isFile() ? after.size : 0) + (before?.isFile() ? before.size : 0),
    0,
  );
const formatSize = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${Math.round(bytes / 1_000_000)} MB`;

/** Sums changes up, as in "214 files, 31 MB". */
function sumUp(changes: Change[]): string {
  const files = changes.filter(({ before, after }) => !(after ?? before)!.isDirectory());
  const bytes = changes.reduce((sum, { before, after }) => {
    const stat = after ?? before;
    return sum + (stat?.isFile() ? stat.size : 0);
  }, 0);
  const gone = files.filter(({ after }) => !after).length;
  if (!files.length)
    return `${plural(changes.length, "folder")}${changes.every(({ after }) => !after) ? " removed" : ""}`;
  const sized = `${plural(files.length, "file")}, ${formatSize(bytes)}`;
  if (gone === 0) return sized;
  return gone === files.length ? `${sized} removed` : `${sized}, ${gone} of them removed`;
}

/** The contents of files whose names are not UTF-8, as raw lines for the question. */
function shownRaw({ upper }: View, root: string, changes: Change[]): string {
  return changes
    .flatMap(({ name, before, after }) => [
      ...linesOf(before, bytePath(root, name), "-"),
      ...linesOf(after, bytePath(upper, name), "+"),
    ])
    .join("");
}
function linesOf(stat: fs.Stats | undefined, file: Buffer, sign: string): string[] {
  if (!stat || stat.isDirectory()) return [];
  return [
    `\n${sign}${sign}${sign} ${visible(`${file.subarray(file.lastIndexOf("/") + 1)}`)}`,
    ...contentOf(stat, file)
      .split("\n")
      .map((line) => `\n${sign}${line}`),
  ];
}

function contentOf(stat: fs.Stats, file: Buffer): string {
  if (stat.isSymbolicLink()) return `link to ${visible(`${fs.readlinkSync(file)}`)}`;
  return stat.size < MAX_RAW_BYTES ? `${readUnlocked(file, stat.mode)}` : formatSize(stat.size);
}

const MAX_RAW_BYTES = 100_000;
