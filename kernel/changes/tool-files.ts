// ctx.files: the tools' only way to the disk, and the list of a project's files that git does not
// ignore.
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import type { Call, Fault, FileRead, FileState, Files, Kind } from "../contract.ts";
import { emit } from "../events.ts";
import { verdictFor } from "../gate/rules.ts";
import { whyNotProject } from "../gate/sensitive-paths.ts";
import { isTool, type TurnContext } from "../instance.ts";
import {
  type DiskState,
  FILE,
  fileFault,
  hashOfState,
  isFolder,
  MAX_READ_BYTES,
  openReal,
  stateInPlace,
  stateOf,
  TYPE,
} from "../system/atomic-write.ts";
import { withProjectLock } from "../system/locks.ts";
import { absolutePath, projectContaining, realPath, shortestName } from "../system/real-paths.ts";
import { gitOf, mayBeInRepository } from "../system/safe-git.ts";
import { clockOf } from "../text/clock.ts";
import { codeOf, fault } from "../text/faults.ts";
import { isInside, readRegular, repositoryTop, textOf } from "../text/read-quietly.ts";
import { tryTo } from "../text/words.ts";
import { changeEffect, changeHistory, recordAndWrite } from "./change-log.ts";
import { commitChanges, type PendingChanges, showChange } from "./commit-changes.ts";
import { type Moves, plan } from "./folder-moves.ts";
import { followChanges, markLinesSeen, mergeSpans, movedNow } from "./seen-files.ts";
import { sessionWithChanges, undoOrRedo } from "./undo.ts";

/**
 * What one call may reach. `granted`: what the gate allowed by name; `held`: pending changes;
 * `reads`: hashes of the files read whole.
 */
type CallReach = {
  tool: string;
  args?: Call["args"];
  granted?: string[];
  held?: PendingChanges | undefined;
  reads?: Map<string, string>;
  changes?: boolean;
};
type FilesOfCall = TurnContext &
  CallReach & { args: Call["args"]; granted: string[]; changes: boolean };

export function filesForCall(place: TurnContext, reach: CallReach): Files {
  const hand: FilesOfCall = { ...place, args: {}, granted: [], changes: true, ...reach };
  const { options } = place.core;
  return {
    path: (name) => requireInside(hand, name),
    read: (name) => read(hand, name),
    shown(name, lines, hash) {
      const file = requireInside(hand, name);
      hand.reads?.delete(file);
      const pendingState = hash ?? tryTo(() => hashOfState(stateOf(file)));
      if (pendingState) markLinesSeen(place.chat, file, pendingState, lines);
    },
    open: openReal,
    list: (under) => list(hand, under),
    async write(name, content) {
      const given = typeof content === "string" ? undefined : Buffer.from(content);
      const mode = FILE | (0o666 & ~process.umask());
      const become = (before: DiskState) => ({
        bytes: given ?? adapt(String(content), before),
        mode: before?.mode ?? mode,
      });
      await change(hand, "write", name, [[realPath(options, name), become]]);
    },
    async remove(name) {
      const file = pathOfLinkItself(hand, name);
      if (!now(hand, file)) throw fileFault("delete", name, { code: "ENOENT" });
      await change(hand, "delete", name, [[file, () => undefined]]);
    },
    async move(from, to) {
      const [file, target] = [pathOfLinkItself(hand, from), pathOfLinkItself(hand, to)];
      if (!heldOrOnDisk(hand, file)) throw fileFault("move", from, { code: "ENOENT" });
      if (heldOrOnDisk(hand, target))
        throw fault(`Cannot move '${from}' to '${to}': there is a file already. Delete it first.`);
      await change(hand, "move", from, moveSteps(hand, file, target));
    },
    apply: (states, about) => applyCopyEffects(hand, states, about),
    made: (before) => recordMade(hand, before),
    changes: () =>
      changeHistory(sessionWithChanges(place)).changes.map((one) => {
        const { change: id, turn, at, tool, path: file, undone } = one;
        return {
          id,
          turn,
          at,
          tool,
          path: shortestName(options, file),
          did: changeEffect(one),
          undone,
        };
      }),
    async diff(id) {
      const all = changeHistory(sessionWithChanges(place)).changes;
      const change = all.find((one) => one.change === id);
      if (!change)
        throw fault(`Cannot show change ${id}: there is none of that number. /changes lists them.`);
      return showChange(place, all, change);
    },
    undo: (what = "1") => undoOrRedo(forPerson(hand, "undo"), "undo", what),
    redo: (what = "1") => undoOrRedo(forPerson(hand, "redo"), "redo", what),
  };
}

/** Commands and flags act for the person; a tool acts for the model. */
function forPerson(hand: FilesOfCall, verb: string): TurnContext {
  if (!isTool(hand.tool)) return hand;
  throw fault(`Cannot ${verb} in a tool: only the person does that. Register a command for it.`);
}

function requireInside({ core, granted }: FilesOfCall, name: string): string {
  const file = realPath(core.options, name);
  const allowed = (kind: Kind) => verdictFor(core, kind, file, file).verdict === "allow";
  if (
    !projectContaining(core.options, file) &&
    !granted.includes(file) &&
    !allowed("read") &&
    !allowed("write")
  )
    throw fault(
      `Cannot use '${name}': it is outside the project (${core.options.root}). Use a path inside it.`,
    );
  return file;
}

/** The path itself, with a link at its end not followed. */
function pathOfLinkItself({ core }: FilesOfCall, name: string): string {
  const whole = absolutePath(core.options, name);
  return path.join(realPath(core.options, path.dirname(whole)), path.basename(whole));
}

const heldOrOnDisk = ({ held }: FilesOfCall, file: string): DiskState =>
  held?.has(file) ? held.get(file)!.after : stateOf(file);

/**
 * A folder is made before what is in it, and goes after that; undone in reverse, this holds too.
 */
function moveSteps(hand: FilesOfCall, file: string, target: string): Becoming[] {
  const state = heldOrOnDisk(hand, file);
  const names = isFolder(state) ? fs.readdirSync(file) : [];
  const inner = names.flatMap((name) =>
    moveSteps(hand, path.join(file, name), path.join(target, name)),
  );
  return [[target, () => state], ...inner, [file, () => undefined]];
}

function now(hand: FilesOfCall, file: string): DiskState {
  const state = heldOrOnDisk(hand, file);
  if (isFolder(state))
    throw fault(`Cannot change '${file}': it is a folder. Name a file, or use a command.`);
  return state;
}

/** Changes that a command made on a copy: always shown and asked for, at once. */
async function applyCopyEffects(
  hand: FilesOfCall,
  states: FileState[],
  about: string,
): ReturnType<Files["apply"]> {
  const into: PendingChanges = new Map();
  const brief = new Map<string, string>();
  for (const { path: name, bytes, mode = FILE | 0o644, brief: folder, moves: given } of states) {
    const file = absolutePath(hand.core.options, name);
    const isMade = () =>
      // it replaces a link
      [...into].some(([at, { after }]) => at !== file && isFolder(after) && isInside(at, file));
    if (
      !isInside(hand.core.options.root, file) ||
      (pathOfLinkItself(hand, name) !== file && !isMade())
    )
      throw fault(`Cannot change '${name}': a link on its way leads elsewhere.`);
    if (into.has(file))
      throw fault(
        `Cannot change '${name}': two changes are of that name, as far as it is UTF-8. Make them one by one.`,
      );
    const after = bytes && { bytes: Buffer.from(bytes), mode };
    const moves = given && plan(hand.core.options.root, given);
    if (moves) into.set(file, { ...asOne(moves, after!), moves });
    else into.set(file, { before: stateInPlace(file), after });
    if (folder !== undefined) brief.set(file, folder);
  }
  return commitChanges(hand, callOf(hand), into, [], { about, brief });
}

/**
 * Records what a command did in the project itself, where it was allowed to, so that undo has it.
 */
async function recordMade(hand: FilesOfCall, states: FileState[]): Promise<void> {
  const { core, chat, ctx, tool } = hand;
  const made: PendingChanges = new Map();
  for (const { path: name, bytes, mode = FILE | 0o644 } of states) {
    const file = pathOfLinkItself(hand, name);
    const before = bytes && { bytes: Buffer.from(bytes), mode };
    if (isInside(core.options.root, file)) made.set(file, { before, after: stateInPlace(file) });
  }
  if (!made.size) return;
  await withProjectLock(core.options.root, clockOf(core.io), ctx.signal, (begin) =>
    recordAndWrite(hand, tool, made, { tidies: "made", begin }),
  );
  if (isTool(tool)) followChanges(chat, made, false);
  await emit(core, "changed", {
    tool,
    paths: [...made.keys()].map((file) => shortestName(core.options, file)),
  });
}

/** Many files that are shown and recorded as one entry with their number. */
function asOne(
  { rows }: Moves,
  about: NonNullable<DiskState>,
): { before: DiskState; after: DiskState } {
  const isGone = rows.every(([, , is]) => !is);
  const emptied = rows.some(([, was]) => was) ? { ...about, bytes: Buffer.alloc(0) } : undefined;
  return { before: isGone ? about : emptied, after: isGone ? undefined : about };
}

const callOf = ({ tool, args }: FilesOfCall) => ({ name: tool, args });

type Becoming = [file: string, become: (before: DiskState) => DiskState];
/** Holds a tool's changes until it returns; a command's are asked for and made at once. */
async function change(
  hand: FilesOfCall,
  verb: string,
  name: string,
  steps: Becoming[],
): Promise<void> {
  const { tool, held, changes } = hand;
  if (!changes)
    throw fault(
      `Cannot ${verb} '${name}': '${tool}' does not say that it changes files. Add changes: true to it.`,
    );
  const into: PendingChanges = held ?? new Map();
  try {
    for (const [file, become] of steps) {
      const present = verb === "move" ? heldOrOnDisk(hand, file) : now(hand, file);
      if (present && !(present.mode & 0o222) && (present.mode & TYPE) === FILE)
        throw fault(
          `Cannot ${verb} '${name}': it is read-only. Leave it, or have its mode changed first.`,
        );
      into.set(file, {
        before: into.has(file) ? into.get(file)!.before : present,
        after: become(present),
      });
    }
  } catch (error) {
    throw codeOf(error) ? fileFault(verb, name, error) : error;
  }
  const { refusal } = held ? {} : await commitChanges(hand, callOf(hand), into);
  if (refusal) throw fault(refusal);
}

async function read(hand: FilesOfCall, name: string): Promise<FileRead> {
  const { core, chat, granted, held, reads } = hand;
  const refuse = (why: string) => fault(`Cannot read '${name}': ${why}`);
  const file = requireInside(hand, name);
  // judged again: a search finds files that no need named
  const { verdict, why } = verdictFor(core, "read", file, file);
  if (verdict === "deny") throw refuse(`it is denied ${why}.`);
  if (verdict === "ask" && !granted.includes(file))
    throw refuse("it requires read access. Name the file itself, and it is asked for.");
  const waiting = held?.get(file);
  try {
    if (waiting && !waiting.after) throw fileFault("read", name, { code: "ENOENT" });
    const bytes = waiting?.after?.bytes ?? (await bytesOf(file, refuse));
    const hash = hashOfState({ bytes, mode: FILE })!;
    const seen = chat.seen.get(file);
    const known = {
      ...(seen && { seen: seen.hash }),
      lines: mergeSpans(seen?.lines ?? []),
      moved: movedNow(chat, seen),
    };
    if (granted.includes(file)) reads?.set(file, hash);
    return { text: bytes.toString("utf8"), bytes, hash, ...known };
  } catch (error) {
    throw codeOf(error) ? fileFault("read", name, error) : error;
  }
}

async function bytesOf(file: string, refuse: (why: string) => Fault): Promise<Buffer> {
  const check = (stat: fs.Stats) => {
    if (stat.isDirectory()) throw refuse("it is a folder. List it with list_dir instead.");
    if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
    if (stat.size > MAX_READ_BYTES)
      throw refuse(`${stat.size} bytes are too many. Search it instead.`);
  };
  check(await fs.promises.lstat(file)); // devices are refused before they are opened
  const fd = openReal(file);
  try {
    check(fs.fstatSync(fd));
    return await promisify(fs.readFile)(fd);
  } finally {
    fs.closeSync(fd);
  }
}

async function list(hand: FilesOfCall, under = "."): Promise<string[]> {
  const { options } = hand.core;
  const { root } = options;
  const folder = requireInside(hand, under);
  const stat = fs.statSync(folder, { throwIfNoEntry: false });
  if (!stat?.isDirectory())
    throw fault(
      `Cannot list '${under}': ${stat ? "it is a file. Read it" : "no such folder. Check the path"}.`,
    );
  const prefix = folder === root ? "" : `${path.relative(root, folder)}/`;
  // Where to start reading .gitignore files if git cannot help.
  const top = isInside(root, folder)
    ? root
    : (projectContaining(options, folder)?.folder ?? folder);
  const known = await listByGit(root, folder);
  // Foreign: the folder is in a repository that ignores it.
  const isForeign =
    known &&
    !known.length &&
    (await gitOf(root).say(["check-ignore", "-q", top], top)) !== undefined;
  const names = (known && !isForeign ? known : await listByWalk(root, top, folder)).map(
    (file) => prefix + file,
  );
  return names.filter((file) => !NEVER_LISTED.test(file)).sort();
}

/** A text that keeps the file's byte order mark, line ends and final newline. */
function adapt(text: string, before: DiskState): Buffer {
  const old = before?.bytes.toString("utf8") ?? "";
  if (!before || !old || !before.bytes.equals(Buffer.from(old))) return Buffer.from(text);
  const count = (what: string) => old.split(what).length - 1;
  const all = count("\n");
  let next = text;
  if (all && count("\r\n") === all) next = next.replace(/\r?\n/g, "\r\n");
  else if (all && !count("\r\n")) next = next.replaceAll("\r\n", "\n");
  if (!old.endsWith("\n")) next = next.replace(/\r?\n$/, "");
  else if (next && !next.endsWith("\n")) next += /\r\n$/.test(old) ? "\r\n" : "\n";
  if (old.startsWith("\ufeff") && !next.startsWith("\ufeff")) next = `\ufeff${next}`;
  return Buffer.from(next);
}

const NEVER_LISTED = /(^|\/)(node_modules|\.git)(\/|$)/;
const IGNORED_WITHOUT_GIT = [
  "dist",
  "build",
  ".next",
  "coverage",
  ".venv",
  "__pycache__",
  "target",
];

/**
 * What git tracks or would track, in nested repositories too. Undefined: git may not be asked here.
 */
async function listByGit(root: string, folder: string): Promise<string[] | undefined> {
  const git = gitOf(root);
  const { why, reads } = await git
    .check(folder)
    .catch(() => ({ why: "git gives no answer", reads: [] }));
  // listing works without git, so no question is asked
  if (why || reads.length || !mayBeInRepository(folder)) return undefined;
  const top = repositoryTop(folder) ?? folder;
  if (
    [folder, top].flatMap((at) => [`${at}/.gitignore`, `${at}/.git/info/exclude`]).some(isEndless)
  )
    return undefined;
  const out = await git.say(["ls-files", "-coz", "--exclude-standard", "--deduplicate"], folder);
  if (out === undefined) return undefined;
  // listing folders costs half of a stat for every file
  const folders = new Map<string, Map<string, fs.Dirent>>();
  const found: string[] = [];
  for (const name of out.split("\0")) {
    // tracked files may be missing
    const entry = name ? entryOf(name.replace(/\/$/, "")) : undefined;
    const file = `${folder}/${name}`;
    if (entry?.isFile() || entry?.isSymbolicLink()) found.push(name);
    else if (entry?.isDirectory() && fs.existsSync(path.join(file, ".git")))
      found.push(...((await listByGit(root, file)) ?? []).map((inner) => path.join(name, inner)));
  }
  return found;

  function entryOf(name: string): fs.Dirent | undefined {
    const cut = name.lastIndexOf("/") + 1;
    const at = name.slice(0, cut);
    const read = () =>
      tryTo(() => fs.readdirSync(`${folder}/${at}`, { withFileTypes: true })) ?? [];
    if (!folders.has(at)) folders.set(at, new Map(read().map((entry) => [entry.name, entry])));
    return folders.get(at)!.get(name.slice(cut));
  }
}

/** Without git: a folder's .gitignore applies below it, and the last rule that matches wins. */
async function listByWalk(root: string, top: string, under: string): Promise<string[]> {
  const [{ default: ignore }, { setImmediate }] = await Promise.all([
    import("ignore"),
    import("node:timers/promises"),
  ]);
  const wanted = under === top ? "" : `${path.relative(top, under)}/`;
  // there may be hundreds of repositories: none is asked
  const isWide = whyNotProject(root) !== undefined;
  const found: string[] = [];
  // reading in blocks of 30 ms is three times as fast as awaiting each folder
  let rest = performance.now() + 30;
  await walk("", [], { names: new Set(), alone: false });
  return found.map((name) => name.slice(wanted.length));

  async function walk(
    at: string,
    above: { base: string; rules: ReturnType<typeof ignore> }[],
    tracks: Tracks,
  ): Promise<void> {
    if (performance.now() > rest) rest = (await setImmediate(30)) + performance.now();
    const folder = path.join(top, at);
    const entries = tryTo(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [];
    const known =
      at && !isWide && entries.some((entry) => entry.name === ".git")
        ? await listByGit(root, folder)
        : undefined;
    if (known)
      return void found.push(
        ...known.map((name) => at + name).filter((name) => name.startsWith(wanted)),
      );
    const { names, alone } = entries.some((entry) => entry.name === ".git" && entry.isDirectory())
      ? { names: trackedIn(path.join(folder, ".git", "index"), at), alone: false }
      : tracks;
    const own = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
    const rules = own
      ? [
          ...above,
          { base: at, rules: ignore().add(rulesIn(textOf(path.join(folder, ".gitignore")))) },
        ]
      : above;
    for (const entry of entries) {
      if (performance.now() > rest) rest = (await setImmediate(30)) + performance.now();
      const name = at + entry.name + (entry.isDirectory() ? "/" : "");
      if (!name.startsWith(wanted) && !(entry.isDirectory() && wanted.startsWith(name))) continue;
      const judged = rules.map((rule) => rule.rules.test(name.slice(rule.base.length)));
      const last = judged.findLast(({ ignored, unignored }) => ignored || unignored);
      const isLeftOut = alone || (last ? last.ignored : IGNORED_WITHOUT_GIT.includes(entry.name));
      if (NEVER_LISTED.test(name) || (isLeftOut && !names.has(name))) continue;
      if (entry.isDirectory()) await walk(name, rules, { names, alone: isLeftOut });
      else if (entry.isFile() || entry.isSymbolicLink()) found.push(name);
    }
  }
}

/**
 * What a repository tracks below a folder, as paths with its folders; alone: nothing else counts
 * there.
 */
type Tracks = { names: ReadonlySet<string>; alone: boolean };

/**
 * The names in git's index, which can be read without running anything. Empty if it is not of a
 * form that is known.
 */
function trackedIn(index: string, at: string): Set<string> {
  const bytes = tryTo(() => readRegular(index)) ?? Buffer.alloc(0);
  const names = new Set<string>();
  const version =
    bytes.length > 12 && bytes.toString("latin1", 0, 4) === "DIRC" ? bytes.readUInt32BE(4) : 0;
  if (version !== 2 && version !== 3 && version !== 4) return names;
  let [start, before] = [12, ""];
  for (let left = bytes.readUInt32BE(8); left > 0 && start + 62 < bytes.length; left--) {
    let from = start + (version > 2 && bytes[start + 60]! & 0x40 ? 64 : 62);
    let kept = 0;
    if (version === 4) {
      let byte = bytes[from++]!;
      for (kept = byte & 127; byte & 128; kept = ((kept + 1) << 7) | (byte & 127))
        byte = bytes[from++]!;
    }
    const end = bytes.indexOf(0, from);
    if (end < 0) break;
    const name =
      (version === 4 ? before.slice(0, before.length - kept) : "") +
      bytes.toString("latin1", from, end);
    before = name;
    start = version === 4 ? end + 1 : start + (((end - start) >> 3) + 1) * 8;
    const own = Buffer.from(name, "latin1").toString();
    for (let cut = own.indexOf("/"); cut >= 0; cut = own.indexOf("/", cut + 1))
      names.add(at + own.slice(0, cut + 1));
    names.add(at + own);
  }
  return names;
}

/**
 * The rules of a .gitignore that are safe as regular expressions: many stars could take forever.
 */
function rulesIn(text: string): string[] {
  let starred = 0;
  return text
    .split(/\r?\n/, MAX_IGNORE_RULES)
    .filter(
      (line) =>
        line.length <= MAX_IGNORE_RULE_CHARS &&
        stars(line) <= 3 &&
        (stars(line) < 2 || starred++ < MAX_STARRED_RULES),
    );
}
const stars = (line: string): number =>
  Math.max(...line.split("/").map((part) => part.split(/\*+/).length - 1));
/**
 * Whether git could take minutes for such rules, at each listing: each star in a name multiplies
 * its work.
 */
const isEndless = (file: string): boolean =>
  textOf(file)
    .split("\n", MAX_IGNORE_RULES)
    .some((line) => stars(line) > 3);
const [MAX_IGNORE_RULES, MAX_IGNORE_RULE_CHARS, MAX_STARRED_RULES] = [10_000, 500, 100];
