// effects: what a command did on its view of the project, read from the overlay's upper folder.
import fs from "node:fs";
import path from "node:path";
import type { Ctx } from "zz";
import { plural, repositoryTop, runsByItself, tryTo, visible } from "zz/text";
import type { View } from "./view.ts";

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
const place = (folder: string, name: string): Buffer =>
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
  const changes = await changesOf(view, ctx.root, effects);
  const kept = withoutCaches(changes, effects);
  const { shown, groups } = await grouped(ctx, kept);
  if (shown.length > MAX_FILES || sizeOf(shown) > MAX_BYTES) {
    const much = `${plural(shown.length, "file")}, ${sizeWords(sizeOf(shown))}`;
    effects.leftOut.push(`it changed ${much}: more than can be kept and undone`);
    return effects;
  }
  const all = [...shown, ...[...groups.values()].flatMap(({ changes }) => changes)];
  const raced = all.filter(
    ({ before }) => before && !before.isDirectory() && before.ctimeMs > view.began,
  );
  effects.raced = raced.map(({ name }) => utf8(name));
  effects.modes = shown.flatMap(({ name, before, after }) =>
    before && after && typeOf(before) === typeOf(after) && before.mode !== after.mode
      ? { name: utf8(name), mode: modeOf(after) & 0o7777 }
      : [],
  );
  // names that are not UTF-8 may look like others
  const taken = new Set(shown.map(({ name }) => utf8(name)));
  const moved = [...groups].map(([group, { why, changes }]) => {
    const what = `${visible(group)}: ${sum(changes)}`;
    const isRaw = why === NOT_UTF8 || (why === LARGE && changes.length > 1);
    effects.about.push(
      `${why}, not shown: ${what}${isRaw ? shownRaw(view, ctx.root, changes) : ""}`,
    );
    return moveOf(view, ctx.root, group, changes, taken);
  });
  const isGoing = ({ moves = [] }: FileState) => moves.every(([, from]) => from === undefined);
  effects.states.push(...moved.filter(isGoing));
  for (const one of ordered(shown)) {
    effects.states.push({ path: path.join(ctx.root, utf8(one.name)), ...stateOf(view, one) });
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
  const rest = changes.filter((one) => !caches.has(one));
  const needed = new Set(
    rest
      .filter(({ name, isUsual }) => !isUsual || !around.has(name))
      .flatMap(({ name }) => parentsOf(name)),
  );
  return rest.filter(({ name, isUsual }) => !isUsual || !around.has(name) || needed.has(name));
}

type Group = { why: string; changes: Change[] };
const [IGNORED, MODULES] = ["ignored by git", "in node_modules"];
const [NOT_UTF8, LARGE] = ["its name is not UTF-8", "too large to be read"];

/**
 * Splits the changes into those shown in full, and groups shown in one line: an ignored folder, or
 * a single name.
 */
async function grouped(
  ctx: Ctx,
  changes: Change[],
): Promise<{ shown: Change[]; groups: Map<string, Group> }> {
  const ignored = await ignoredOf(ctx, changes);
  const isLarge = ({ before, after }: Change) =>
    [before, after].some((stat) => stat?.isFile() && stat.size > MAX_SHOWN_BYTES);
  // what comes into it goes with it
  const becomesFolder = (one: Change) => one.after?.isDirectory() && isLarge(one);
  const replaced = new Set(changes.filter(becomesFolder).map(({ name }) => name));
  const groupOf = (one: Change): [group: string, why: string] | undefined => {
    const unread = ignored(one);
    // what may run later is shown whole, wherever it lies
    if (unread && !mayRunLater(one)) return unread;
    if (!isUtf8(one.name))
      return [utf8(parentsOf(one.name).find((at) => !isUtf8(at)) ?? one.name), NOT_UTF8];
    const large = [...parentsOf(one.name), one.name].find((at) => replaced.has(at));
    return large !== undefined || isLarge(one) ? [utf8(large ?? one.name), LARGE] : undefined;
  };
  const mayRunLater = ({ name, after }: Change) =>
    after !== undefined &&
    !after.isDirectory() &&
    !inModules(name) &&
    runsByItself(path.join(ctx.root, utf8(name)));
  const known = new Map(changes.map((one) => [one, groupOf(one)]));
  const needed = new Set<string>(); // folders above what is shown, made or removed with it
  const around = new Set<string>(); // folders above what is shown in one line
  for (const [{ name }, group] of known)
    for (const at of parentsOf(name)) (group ? around : needed).add(at);
  const groups = new Map<string, Group>();
  const shown: Change[] = [];
  for (const [one, found] of known) {
    const isFolder = (one.after ?? one.before)!.isDirectory();
    if (found && !(isFolder && needed.has(one.name))) {
      const group = groups.get(found[0]) ?? { why: found[1], changes: [] };
      group.changes.push(one);
      groups.set(found[0], group);
    } else if (!one.isUsual || (around.has(one.name) && isFolder) || !needed.has(one.name))
      shown.push(one);
  }
  return { shown, groups };
}

function moveOf(
  { upper }: View,
  root: string,
  group: string,
  changes: Change[],
  taken: Set<string>,
): FileState {
  const moves = ordered(changes).map(({ name, after }): NonNullable<FileState["moves"]>[number] => {
    if (!after) return [name];
    const from = place(upper, name).toString("latin1");
    return after.isDirectory() ? [name, from, modeOf(after) & 0o7777] : [name, from];
  });
  const isOne = changes.length === 1 && utf8(changes[0]!.name) === group;
  let at = isOne ? group : path.join(group, "…");
  while (taken.has(at)) at += "…";
  taken.add(at);
  return {
    path: path.join(root, at),
    brief: group,
    bytes: Buffer.from(`${sum(changes)}\n`),
    moves,
  };
}

const typeOf = (stat: fs.Stats): number => stat.mode & TYPE;

/**
 * A folder may keep its setgid bit, which hands on its group; a file must not run as another user
 * or group.
 */
const modeOf = (stat: fs.Stats): number => {
  if (stat.isSymbolicLink()) return (stat.mode & 0o777) | LINK;
  return stat.isDirectory() ? (stat.mode & 0o3777) | FOLDER : (stat.mode & 0o1777) | FILE;
};

/** Removals first, starting with the innermost; then additions, starting with the outermost. */
function ordered(changes: Change[]): Change[] {
  const isGone = ({ after, before }: Change) =>
    !after || (before?.isDirectory() && !after.isDirectory());
  const depth = ({ name }: Change) => name.split("/").length;
  const gone = changes.filter(isGone).sort((a, b) => depth(b) - depth(a));
  return [...gone, ...changes.filter((one) => !isGone(one)).sort((a, b) => depth(a) - depth(b))];
}

function stateOf({ upper }: View, { name, after }: Change): Pick<FileState, "bytes" | "mode"> {
  if (!after) return {};
  const at = place(upper, name);
  const mode = modeOf(after);
  if (after.isSymbolicLink()) return { bytes: fs.readlinkSync(at, "buffer"), mode };
  if (after.isDirectory()) return { bytes: Buffer.alloc(0), mode };
  return { bytes: readLocked(at, after.mode), mode };
}

/** Reads a file even if the command took away its owner's right to read it. */
function readLocked(at: Buffer, mode: number): Buffer {
  if (mode & 0o400) return fs.readFileSync(at);
  fs.chmodSync(at, mode | 0o400);
  try {
    return fs.readFileSync(at);
  } finally {
    fs.chmodSync(at, mode & 0o7777);
  }
}

const isWhiteout = (stat: fs.Stats): boolean => stat.isCharacterDevice() && stat.rdev === 0;
function lookAt(at: Buffer): fs.Stats | undefined {
  try {
    return fs.lstatSync(at, { throwIfNoEntry: false });
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
  const [one, two] = [place(root, name), place(upper, name)];
  if (after.isSymbolicLink())
    return fs.readlinkSync(one, "buffer").equals(fs.readlinkSync(two, "buffer"));
  if (after.size > MAX_SHOWN_BYTES) return before.mtimeMs === after.mtimeMs;
  return fs.readFileSync(one).equals(readLocked(two, after.mode));
}

/** The names in a folder of the view, also in one that keeps its owner out. */
function namesOpened(at: Buffer): string[] {
  const { mode } = fs.lstatSync(at);
  if ((mode & 0o700) !== 0o700) fs.chmodSync(at, (mode & 0o7777) | 0o700);
  return namesIn(at);
}

const OF_REPOSITORY = ["HEAD", "objects", "refs"];
const namesIn = (folder: Buffer): string[] => fs.readdirSync(folder, { encoding: "latin1" });

/** Compares every entry of the upper folder with the project. */
async function changesOf(view: View, root: string, { leftOut }: Effects): Promise<Change[]> {
  const changes: Change[] = [];
  // folders that existed before: the command may have removed and remade them
  const oldFolders: string[] = [];
  const top = { before: fs.statSync(root), after: fs.statSync(view.upper) };
  if ((top.before.mode & 0o7777) !== (top.after.mode & 0o7777))
    leftOut.push("the mode of the project's own folder was left as it is");
  walk("", true);
  const seen = new Set(changes.map(({ name }) => name));
  const remaining = oldFolders.length ? await view.list(oldFolders) : new Set<string>();
  if (!remaining)
    throw new Error(
      "Cannot tell what the command changed: its view could not be read again. Nothing was kept.",
    );
  for (const folder of oldFolders)
    for (const name of namesIn(place(root, folder)).map((inner) => within(folder, inner)))
      if (!remaining.has(name) && !seen.has(name)) remove(name);
  return changes;

  function walk(folder: string, isThere: boolean): void {
    for (const name of namesOpened(place(view.upper, folder)))
      if (name === ".git")
        leftOut.push(
          `'${utf8(within(folder, name))}' was left out: .git is git's own. Run it with direct: true`,
        );
      else visit(within(folder, name), isThere);
  }

  function visit(name: string, isThere: boolean): void {
    const after = fs.lstatSync(place(view.upper, name));
    const before = isThere ? lookAt(place(root, name)) : undefined;
    const isKept = after.isFile() || after.isDirectory() || after.isSymbolicLink();
    const leave = (why: string) => leftOut.push(`'${utf8(name)}' was left out: ${why}`);
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
    const made = namesOpened(place(view.upper, name));
    const there = wasFolder ? (tryTo(() => namesIn(place(root, name))) ?? []) : [];
    const isNew = OF_REPOSITORY.some((one) => made.includes(one) && !there.includes(one));
    return isNew && OF_REPOSITORY.every((one) => made.includes(one) || there.includes(one));
  }

  /**
   * Whether a file is removed. What undo could not restore stays, and so do the folders that it is
   * in.
   */
  function remove(name: string): boolean {
    const before = lookAt(place(root, name));
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
    return namesIn(place(root, folder))
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
async function ignoredOf(
  ctx: Ctx,
  changes: Change[],
): Promise<(one: Change) => [group: string, why: string] | undefined> {
  const tops = new Map<string, string | undefined>([["", repositoryTop(ctx.root) && ""]]);
  const topOf = (folder: string): string | undefined => {
    if (tops.has(folder)) return tops.get(folder);
    const own = lookAt(place(ctx.root, within(folder, ".git")));
    tops.set(folder, own ? folder : topOf(folder.slice(0, Math.max(0, folder.lastIndexOf("/")))));
    return tops.get(folder);
  };
  // by repository: git looks neither through links nor into others
  const asked = new Map<string, Set<string>>();
  const links = new Set(
    changes.flatMap(({ name, before }) => (before && !before.isDirectory() ? name : [])),
  );
  for (const one of changes) {
    const { name } = one;
    const folders = parentsOf(name);
    const top = topOf(folders.at(-1) ?? "");
    if (top === undefined || folders.some((at) => links.has(at))) continue;
    const names = asked.get(top) ?? new Set();
    asked.set(top, names);
    for (const at of folders) if (at.length > top.length) names.add(`${at}/`);
    names.add(keyOf(one));
    if (isReplaced(one)) names.add(name);
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
  return (one) => {
    const key = keyOf(one);
    // what goes is shown
    if (isReplaced(one) && !ignored.has(one.name) && !inModules(one.name)) return undefined;
    const folder = ignored.has(key)
      ? parentsOf(key).find((at) => ignored.has(`${at}/`))
      : undefined;
    if (folder !== undefined) return [utf8(folder), IGNORED];
    const modules = tracked.has(one.name) ? undefined : inModules(key);
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

const sizeOf = (changes: Change[]): number =>
  changes.reduce(
    (sum, { after, before }) =>
      sum + (after?.isFile() ? after.size : 0) + (before?.isFile() ? before.size : 0),
    0,
  );
const sizeWords = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} kB` : `${Math.round(bytes / 1_000_000)} MB`;

/** Sums changes up, as in "214 files, 31 MB". */
function sum(changes: Change[]): string {
  const files = changes.filter(({ before, after }) => !(after ?? before)!.isDirectory());
  const bytes = changes.reduce((sum, { before, after }) => {
    const stat = after ?? before;
    return sum + (stat?.isFile() ? stat.size : 0);
  }, 0);
  const gone = files.filter(({ after }) => !after).length;
  if (!files.length)
    return `${plural(changes.length, "folder")}${changes.every(({ after }) => !after) ? " removed" : ""}`;
  const sized = `${plural(files.length, "file")}, ${sizeWords(bytes)}`;
  if (gone === 0) return sized;
  return gone === files.length ? `${sized} removed` : `${sized}, ${gone} of them removed`;
}

/** The contents of files whose names are not UTF-8, as raw lines for the question. */
function shownRaw({ upper }: View, root: string, changes: Change[]): string {
  return changes
    .flatMap(({ name, before, after }) => [
      ...linesOf(before, place(root, name), "-"),
      ...linesOf(after, place(upper, name), "+"),
    ])
    .join("");
}
function linesOf(stat: fs.Stats | undefined, at: Buffer, sign: string): string[] {
  if (!stat || stat.isDirectory()) return [];
  return [
    `\n${sign}${sign}${sign} ${visible(`${at.subarray(at.lastIndexOf("/") + 1)}`)}`,
    ...contentOf(stat, at)
      .split("\n")
      .map((line) => `\n${sign}${line}`),
  ];
}

function contentOf(stat: fs.Stats, at: Buffer): string {
  if (stat.isSymbolicLink()) return `link to ${visible(`${fs.readlinkSync(at)}`)}`;
  return stat.size < MAX_RAW_BYTES ? `${readLocked(at, stat.mode)}` : sizeWords(stat.size);
}

const MAX_RAW_BYTES = 100_000;
