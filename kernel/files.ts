// Chapter 6 of the kernel: the only way to the disk for tools. Every write is checked against what was last read, made
// whole or not at all, and recorded so that it can be undone.
import fs from "node:fs";
import path from "node:path";
import type { StructuredPatch } from "diff";
import {
  around,
  type Changed,
  clean,
  codeOf,
  type Difference,
  emit,
  entriesOf,
  type Fault,
  type FileRead,
  type Files,
  fault,
  type Kind,
  type LiveChat,
  newId,
  note,
  type Place,
  type Result,
  reason,
  textOf,
  tryTo,
} from "../zz.ts";
import { keepLog, openChat, remember } from "./chat.ts";
import {
  confirm,
  followed,
  holderOf,
  isInside,
  judge,
  type Open,
  placeOf,
  realPath,
  shortName,
  weigh,
} from "./gate.ts";
import { type Entry, lastSession, openSession, readSession, startOf } from "./store.ts";

const NEVER_LISTED = /(^|\/)(node_modules|\.git)(\/|$)/;
const IGNORED_WITHOUT_GIT = ["dist", "build", ".next", "coverage", ".venv", "__pycache__", "target"];
export const LARGEST_READ = 50 * 1024 * 1024;
export const [FILE, LINK, TYPE] = [0o100000, 0o120000, 0o170000];

/** A file as it is: its mode with the type in it; a link's bytes are its target. Undefined: not there. */
type State = { bytes: Buffer; mode: number } | undefined;
/** What is to become of files, by real path. */
export type Held = Map<string, { before: State; after: State }>;
/** What one call may reach. `granted`: what the gate let it have by name; `held`: where its changes wait. */
type Reach = { tool: string; granted?: string[]; held?: Held | undefined; changes?: boolean };

export const ZZ = "zz"; // who acts when it is no tool

export function openFiles(place: Place, { tool, granted = [], held, changes = true }: Reach): Files {
  const { core, chat } = place;
  const { root } = core.options;
  return {
    path: inside,
    read,
    list,
    async write(name, content) {
      const given = typeof content === "string" ? undefined : Buffer.from(content);
      const mode = FILE | (0o666 & ~process.umask());
      const become = (before: State) => ({
        bytes: given ?? adapt(String(content), before),
        mode: before?.mode ?? mode,
      });
      await change("write", name, [[realPath(core.options, name), become]]);
    },
    async remove(name) {
      const file = ownPath(name);
      if (!now(file)) throw fileFault("delete", name, { code: "ENOENT" });
      await change("delete", name, [[file, () => undefined]]);
    },
    async move(from, to) {
      const [file, target] = [ownPath(from), ownPath(to)];
      const moved = now(file);
      if (!moved) throw fileFault("move", from, { code: "ENOENT" });
      if (now(target)) throw fault(`Cannot move '${from}' to '${to}': there is a file already. Delete it first.`);
      await change("move", from, [
        [target, () => moved],
        [file, () => undefined],
      ]);
    },
    changes: () =>
      history(recall(place).log).changes.map((one) => {
        const { change: id, turn, at, tool, path: file, undone } = one;
        return { id, turn, at, tool, path: shortName(core.options, file), did: didOf(one), undone };
      }),
    undo: (what = "1") => travel(forPerson("undo"), "undo", what),
    redo: (what = "1") => travel(forPerson("redo"), "redo", what),
  };

  /** Commands and flags are the person's; a tool acts for the model. */
  function forPerson(verb: string): Place {
    if (tool === ZZ) return place;
    throw fault(`Cannot ${verb} in a tool: only the person does that. Register a command for it.`);
  }

  function inside(name: string): string {
    const file = realPath(core.options, name);
    const allowed = (kind: Kind) => judge(core, kind, file).verdict === "allow";
    if (!holderOf(core.options, file) && !granted.includes(file) && !allowed("read") && !allowed("write"))
      throw fault(`Cannot use '${name}': it is outside the project (${root}). Use a path inside it.`);
    return file;
  }

  /** The path itself, not what it links to. */
  function ownPath(name: string): string {
    const whole = placeOf(core.options, name);
    return path.join(realPath(core.options, path.dirname(whole)), path.basename(whole));
  }

  function now(file: string): State {
    return held?.has(file) ? held.get(file)!.after : stateOf(file);
  }

  /** Holds the changes of a tool until it returns; a command's are asked for and made at once. */
  async function change(
    verb: string,
    name: string,
    steps: [file: string, become: (before: State) => State][],
  ): Promise<void> {
    if (!changes)
      throw fault(`Cannot ${verb} '${name}': '${tool}' does not say that it changes files. Add changes: true to it.`);
    const into: Held = held ?? new Map();
    try {
      for (const [file, become] of steps) {
        const present = now(file);
        if (present && !(present.mode & 0o222) && (present.mode & TYPE) === FILE)
          throw fault(`Cannot ${verb} '${name}': it is read-only. Leave it, or have its mode changed first.`);
        into.set(file, { before: into.has(file) ? into.get(file)!.before : present, after: become(present) });
      }
    } catch (error) {
      throw codeOf(error) ? fileFault(verb, name, error) : error;
    }
    const { refusal } = held ? {} : await commit(place, tool, into, new Map());
    if (refusal) throw fault(refusal);
  }

  async function read(name: string): Promise<FileRead> {
    const refuse = (why: string) => fault(`Cannot read '${name}': ${why}`);
    const file = inside(name);
    const { verdict } = judge(core, "read", file); // again, since a search comes upon files that nobody named
    if (verdict === "deny") throw refuse(`it is denied ${judge(core, "read", file).why}.`);
    if (verdict === "ask" && !granted.includes(file))
      throw refuse("it requires read access. Name the file itself, and it is asked for.");
    const waiting = held?.get(file);
    try {
      if (!waiting) {
        const stat = await fs.promises.stat(file);
        if (stat.isDirectory()) throw refuse("it is a folder. List it with list_dir instead.");
        if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
        if (stat.size > LARGEST_READ) throw refuse(`${stat.size} bytes are too many. Search it instead.`);
      } else if (!waiting.after) throw fileFault("read", name, { code: "ENOENT" });
      const bytes = waiting?.after?.bytes ?? (await fs.promises.readFile(file));
      const hash = hashOf(bytes);
      const seen = chat.seen.get(file);
      if (granted.includes(file) && !changes) chat.seen.set(file, hash);
      return { text: bytes.toString("utf8"), bytes, hash, ...(seen && { seen }) };
    } catch (error) {
      throw codeOf(error) ? fileFault("read", name, error) : error;
    }
  }

  async function list(under = "."): Promise<string[]> {
    const folder = inside(under);
    const stat = fs.statSync(folder, { throwIfNoEntry: false });
    if (!stat?.isDirectory())
      throw fault(`Cannot list '${under}': ${stat ? "it is a file. Read it" : "no such folder. Check the path"}.`);
    const prefix = folder === root ? "" : `${path.relative(root, folder)}/`;
    // Where the .gitignore files begin, if git does not know.
    const top = isInside(root, folder) ? root : (holderOf(core.options, folder)?.folder ?? folder);
    const known = await listByGit(root, folder);
    const isForeign = known && !known.length && (await git(root, top, "check-ignore", "-q", top)) !== undefined; // to a repository around it
    const found = known && !isForeign ? known : await listByWalk(root, top, folder);
    return found
      .map((file) => prefix + file)
      .filter((file) => !NEVER_LISTED.test(file))
      .sort();
  }
}

const hashOf = (bytes: Uint8Array): string =>
  process.getBuiltinModule("node:crypto").createHash("sha256").update(bytes).digest("hex");
const hashOfState = (state: State): string | null => (state ? hashOf(state.bytes) : null);
const alike = (one: State, two: State): boolean =>
  one && two ? one.bytes.equals(two.bytes) && one.mode === two.mode : one === two;

function stateOf(file: string): State {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const refuse = (why: string) => fault(`Cannot change '${file}': ${why}`);
  if (stat.isSymbolicLink()) return { bytes: Buffer.from(fs.readlinkSync(file)), mode: stat.mode };
  if (stat.isDirectory()) throw refuse("it is a folder. Name a file, or use a command.");
  if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (stat.size > LARGEST_READ) throw refuse(`${stat.size} bytes are too many. Use a command.`);
  return { bytes: fs.readFileSync(file), mode: stat.mode };
}

/** A text as the file has it: its byte order mark, its line ends and its last newline stay. */
function adapt(text: string, before: State): Buffer {
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

/** Puts a file into a state, by a neighbour that takes its place: whole, or not at all. */
export function put(file: string, state: State): void {
  const folder = path.dirname(file);
  for (const missing of missingFolders(folder)) fs.mkdirSync(missing);
  const name = path.basename(file);
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  const handle = `/proc/self/fd/${fd}`; // the folder itself: nobody can swap it for a link meanwhile
  const real = tryTo(() => fs.readlinkSync(handle));
  const at = real === undefined ? folder : handle;
  try {
    if ((real ?? fs.realpathSync(folder)) !== folder)
      throw fault(`Cannot write '${file}': its folder was swapped for a link. Look at what happens there.`);
    sweep(at);
    if (state) replace(path.join(at, name), path.join(at, `.zz-${process.pid}-${newId()}.tmp`), state);
    else fs.unlinkSync(path.join(at, name));
  } finally {
    fs.closeSync(fd);
  }
}

function replace(file: string, temporary: string, { bytes, mode }: NonNullable<State>): void {
  const owner = fs.lstatSync(file, { throwIfNoEntry: false });
  try {
    if ((mode & TYPE) === LINK) fs.symlinkSync(bytes.toString(), temporary);
    else {
      const fd = fs.openSync(temporary, "wx", 0o600);
      try {
        fs.writeFileSync(fd, bytes);
        if (owner && owner.uid !== process.getuid?.()) tryTo(() => fs.fchownSync(fd, owner.uid, owner.gid));
        fs.fchmodSync(fd, mode & 0o7777);
        fs.fsyncSync(fd);
      } finally {
        fs.closeSync(fd);
      }
    }
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** What a zz that was killed in the middle of a write left behind. */
function sweep(folder: string): void {
  for (const name of entriesOf(folder)) {
    const pid = /^\.zz-(\d+)-\w+\.tmp$/.exec(name)?.[1];
    if (pid && !startOf(Number(pid))) tryTo(() => fs.unlinkSync(path.join(folder, name)));
  }
}

const missingFolders = (folder: string): string[] =>
  fs.existsSync(folder) ? [] : [...missingFolders(path.dirname(folder)), folder];

/** Puts all files into their new states, or none of them. */
function putAll(steps: Step[]): void {
  const made: string[] = [];
  const done: Step[] = [];
  try {
    for (const step of steps) {
      made.push(...missingFolders(path.dirname(step.file)));
      done.push(step);
      if (step.to || stateOf(step.file)) put(step.file, step.to);
    }
  } catch (error) {
    for (const { file, from } of done.reverse())
      tryTo(() => (alike(stateOf(file), from) ? undefined : put(file, from)));
    unmake(made);
    throw error;
  }
}

/** Only those that are empty again. */
const unmake = (folders: string[]): void => {
  for (const folder of folders.toReversed()) tryTo(() => fs.rmdirSync(folder));
};

/** Folders around these files that one of the changes made: they go with the last file in them. */
function tidy(changes: Change[], files: string[]): void {
  const made = new Set(changes.flatMap((change) => change.made));
  unmake([...made].filter((folder) => files.some((file) => isInside(folder, file))).sort());
}

type Committed = { refusal?: string; said?: string };

/** Shows what a tool would change, asks for what the gate did not let it write yet, and makes it. What it says is for the model. */
export async function commit(
  place: Place,
  tool: string,
  held: Held,
  seen: Map<string, string>,
  granted: string[] = [],
): Promise<Committed> {
  const { core } = place;
  const named = (file: string) => shortName(core.options, file);
  const open = new Map<string, Open>();
  for (const [file, { before, after }] of held) if (alike(before, after)) held.delete(file);
  for (const file of held.keys()) {
    if (granted.includes(file)) continue;
    const refusal = await weigh(core, tool, "write", named(file), open);
    if (refusal) return { refusal };
  }
  const told: string[] = [];
  for (let news = ""; held.size; ) {
    const stale = [...held].filter(
      ([file, { before }]) => (seen.get(file) ?? hashOfState(before)) !== hashOfState(before),
    );
    const again = `${stale.map(([file]) => `'${named(file)}'`).join(", ")}: it changed since it was read`;
    if (stale.length && !open.size) throw fault(`Cannot write ${again}. Read it again.`);
    if (open.size) {
      const text = await preview(place, tool, news || (stale.length ? `Mind ${again}.` : ""), held);
      const more = {
        ...(editable().length && { e: "edit it first" }),
        ...((news || stale.length) && { r: "let the model look again" }),
      };
      const { key, refusal } = await confirm(place, tool, [...open.values()], text, more);
      if (refusal) return { refusal };
      if (key === "r")
        return { refusal: `Refused: the person sent it back. Read the file again, and propose the change anew.` };
      if (key === "e" && !(await editAll())) continue; // the editor was left without saving: ask again
    }
    const swapped = [...held].filter(([file, { before }]) => !alike(stateOf(file), before));
    if (!swapped.length) break;
    const names = swapped.map(([file]) => `'${named(file)}'`).join(", ");
    for (const [file, { before, after }] of swapped) {
      const rebased = await rebase(stateOf(file), before, after);
      if (!rebased || !open.size) throw fault(`Cannot write ${names}: it changed meanwhile. Read it again.`);
      held.set(file, rebased);
    }
    news = `${names} changed meanwhile; the change still applies.`;
  }
  const said = told.length ? `The person edited the proposal before it was written:\n${told.join("\n")}` : "";
  record(place, tool, held);
  for (const [file, { after }] of held) if (after) seen.set(file, hashOf(after.bytes));
  if (held.size) await emit(core, "changed", { tool, paths: [...held.keys()].map(named) });
  return { said };

  function editable(): [file: string, before: State, after: NonNullable<State>][] {
    return [...held].flatMap(([file, { before, after }]) =>
      core.edit && after && isText(after) && (after.mode & TYPE) === FILE ? [[file, before, after]] : [],
    );
  }

  /** Lets the person edit each proposed text. What was saved is what is written. Undefined: nothing was. */
  async function editAll(): Promise<boolean> {
    for (const [file, before, after] of editable()) {
      const proposed = after.bytes.toString("utf8");
      const saved = await core.edit!(proposed, path.basename(file));
      if (saved === undefined) return false;
      if (saved === proposed) continue;
      held.set(file, { before, after: { ...after, bytes: Buffer.from(saved) } });
      told.push(await patchOf({ path: named(file), before: proposed, after: saved }));
    }
    return true;
  }
}

const isText = (state: State): boolean =>
  state !== undefined && !state.bytes.includes(0) && Buffer.from(state.bytes.toString("utf8")).equals(state.bytes);

/** The same change to a file that is another by now; undefined when it does not apply there. */
async function rebase(now: State, before: State, after: State): Promise<{ before: State; after: State } | undefined> {
  if (!now || !before || !after || ![now, before, after].every(isText)) return undefined;
  const { applyPatch, structuredPatch } = await import("diff");
  const [from, to, on] = [before, after, now].map((state) => state.bytes.toString("utf8")) as [string, string, string];
  const patch = structuredPatch("", "", from, to, "", "", { timeout: DIFF_LIMIT }) as StructuredPatch | undefined;
  const merged = patch && applyPatch(on, patch, { autoConvertLineEndings: false });
  return merged === undefined || merged === false
    ? undefined
    : { before: now, after: { ...after, bytes: Buffer.from(merged) } };
}

async function preview(place: Place, tool: string, about: string, held: Held): Promise<string> {
  const changes = [...held].map(([file, { before, after }]) => {
    const text = (state: State) => state && { text: clean(state.bytes.toString("utf8")) };
    const binary = [before, after].some((state) => state?.bytes.subarray(0, 8_192).includes(0));
    const [old, next] = [before, after].map((state) =>
      binary ? state && `${state.bytes.length} bytes\n` : text(state)?.text,
    );
    return {
      path: clean(shortName(place.core.options, file)).replaceAll("\n", "␊"),
      ...(old !== undefined && { before: old }),
      ...(next !== undefined && { after: next }),
      ...noteOf(before, after, binary, old === next),
    };
  });
  return around(place, "preview", { tool, about: clean(about), changes }, async ({ about, changes }) =>
    [about, ...(await Promise.all(changes.map(patchOf)))].filter(Boolean).join("\n"),
  );
}

/** What the texts do not show. */
function noteOf(before: State, after: State, binary: boolean, same: boolean): { note?: string } {
  const mode = (after ?? before)!.mode;
  const notes = [
    ...(binary ? ["not text"] : []),
    ...((mode & TYPE) === LINK ? ["a link"] : mode & 0o111 ? ["executable"] : []),
    ...(before && after && before.mode !== after.mode ? ["another mode"] : []),
    ...(same && before && after ? ["only line ends or bytes that do not show"] : []),
  ];
  return notes.length ? { note: notes.join(", ") } : {};
}

async function patchOf({ path, before, after }: Difference): Promise<string> {
  const { createTwoFilesPatch } = await import("diff");
  const [from, to] = [before === undefined ? "/dev/null" : path, after === undefined ? "/dev/null" : path];
  const options = { timeout: DIFF_LIMIT };
  const patch: string | undefined = createTwoFilesPatch(from, to, before ?? "", after ?? "", "", "", options);
  return patch?.replace(/^(Index: .*\n)?=+\n/, "").trimEnd() ?? `${path}: nearly all of it differs`;
}
const DIFF_LIMIT = 1_000; // ms

/** An entry of a session: one file, from what it was to what it is. Hashes tell whether it still is; null: not there. */
interface Change extends Entry {
  type: "change";
  change: number; // from 1
  group: number; // the first change of its call
  turn: number;
  tool: string;
  path: string; // absolute
  was: string | null;
  is: string | null;
  modes: [before: number, after: number];
  base?: Content; // all of it before, where no earlier entry tells
  place: number; // where `put` took the place of `cut` bytes
  cut: number;
  put: Content;
  made: string[]; // folders
}
type Content = { text: string } | { base64: string };

function toContent(bytes: Buffer): Content {
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString("base64") };
}
const fromContent = (content: Content): Buffer =>
  "text" in content ? Buffer.from(content.text) : Buffer.from(content.base64, "base64");

export const isChange = (entry: Entry): entry is Change =>
  entry.type === "change" &&
  typeof entry.change === "number" &&
  typeof entry.path === "string" &&
  Array.isArray(entry.made);
const LONGEST_CHAIN = 20;

/** Writes down, then makes: what was killed in between is seen by the hashes. */
function record({ core, chat }: Place, tool: string, held: Held): void {
  const steps = [...held].map(([file, { before, after }]) => ({ file, from: before, to: after }));
  const first = chat.log.filter(isChange).length + 1;
  for (const [i, { file, from, to }] of steps.entries()) {
    const [was, is] = [hashOfState(from), hashOfState(to)];
    const [old, next] = [from?.bytes ?? Buffer.alloc(0), to?.bytes ?? Buffer.alloc(0)];
    const earlier = chat.log.filter(isChange).filter((change) => change.path === file);
    const told =
      earlier.at(-1)?.is === was && earlier.slice(-LONGEST_CHAIN).some((change) => change.base || !change.was);
    let place = 0;
    while (place < old.length && place < next.length && old[place] === next[place]) place++;
    let end = 0;
    while (end < Math.min(old.length, next.length) - place && old.at(-end - 1) === next.at(-end - 1)) end++;
    keepLog(core, chat, "change", {
      change: first + i,
      group: first,
      turn: chat.turn,
      tool,
      path: file,
      was,
      is,
      modes: [from?.mode ?? 0, to?.mode ?? 0],
      ...(from && !told && { base: toContent(old) }),
      place,
      cut: old.length - place - end,
      put: toContent(next.subarray(place, next.length - end)),
      made: missingFolders(path.dirname(file)),
    });
  }
  try {
    putAll(steps);
    const gone = steps.flatMap(({ file, to }) => (to ? [] : [file]));
    const open = history(chat.log).changes.filter(({ undone }) => !undone);
    if (gone.length) tidy(open, gone);
  } catch (error) {
    keepLog(core, chat, "undone", { changes: steps.map((_, i) => first + i), never: true });
    throw codeOf(error) ? fileFault("write", shortName(core.options, steps[0]!.file), error) : error;
  }
}

/** Every change, with whether it is undone; and what a redo would take up again, the last first. */
function history(log: readonly Entry[]): { changes: (Change & { undone: boolean })[]; redo: number[][] } {
  const changes: (Change & { undone: boolean })[] = [];
  let redo: number[][] = [];
  for (const entry of log) {
    const ids = Array.isArray(entry.changes) ? (entry.changes as number[]) : [];
    for (const change of changes) if (ids.includes(change.change)) change.undone = entry.type === "undone";
    if (isChange(entry)) changes.push({ ...entry, undone: false });
    if (entry.type === "undone" && !entry.never) redo = [ids, ...redo];
    else if (entry.type === "redone") redo = redo.slice(1);
    else if (isChange(entry)) redo = []; // after a new change there is nothing to take up again
  }
  return { changes, redo };
}

const didOf = ({ was, is }: Change): Changed["did"] => (was === null ? "created" : is === null ? "deleted" : "edited");

/** A file's bytes before a change: from the nearest whole copy, through the changes since. */
function bytesBefore(changes: readonly Change[], change: Change): Buffer {
  const chain: Change[] = [];
  let from = change;
  while (!from.base && from.was !== null) {
    const earlier = changes.findLast((one) => one.path === from.path && one.change < from.change);
    if (!earlier) throw fault(`Cannot restore '${change.path}': the session no longer holds what it was.`);
    chain.unshift(earlier);
    from = earlier;
  }
  return chain.reduce(bytesAfter, from.base ? fromContent(from.base) : Buffer.alloc(0));
}
const bytesAfter = (before: Buffer, { place, cut, put }: Change): Buffer =>
  Buffer.concat([before.subarray(0, place), fromContent(put), before.subarray(place + cut)]);

/** Outside of a conversation: the last session of this folder that changed anything. */
function recall({ core, chat }: Place): LiveChat {
  const { home, root } = core.options;
  if (chat.model || chat.session) return chat;
  const warn = (text: string) => note(core, text);
  const id = lastSession(home, root, warn, (id) => Boolean(tryTo(() => readSession(home, id).entries.some(isChange))));
  return id ? Object.assign(chat, openChat(core, "", openSession(home, id, warn))) : chat;
}

type Step = { file: string; from: State; to: State };

/** Takes changes back, or makes them again: all that are named, or none. */
async function travel(place: Place, way: "undo" | "redo", what: string): Promise<Result> {
  const { core } = place;
  const chat = recall(place);
  const back = way === "undo";
  const named = (file: string) => shortName(core.options, file);
  const { changes, redo } = history(chat.log);
  const batches = back ? toUndo() : redo.slice(0, Number(what) || 0);
  const picked = changes.filter(({ change }) => batches.flat().includes(change));
  if (!picked.length)
    return { text: `Nothing to ${way}${/^(\d+|turn)$/.test(what) ? "" : ` in '${what}'`}.`, data: [] };
  if (back) picked.reverse();
  const steps: Step[] = [];
  for (const file of new Set(picked.map((change) => change.path))) {
    const step = await stepOf(
      file,
      picked.filter((change) => change.path === file),
    );
    if (typeof step === "string") return { text: step, failed: true };
    if (step) steps.push(step);
  }
  try {
    putAll(steps);
  } catch (error) {
    throw codeOf(error) ? fileFault(way, steps.map(({ file }) => named(file)).join(", "), error) : error;
  }
  const paths = picked.map((change) => change.path);
  tidy(changes, paths);
  for (const changes of batches) keepLog(core, chat, back ? "undone" : "redone", { changes });
  const text = `${back ? "Undone" : "Redone"}: ${picked.map((change) => `${didOf(change)} ${named(change.path)}`).join(", ")}.`;
  if (chat.messages.length)
    remember(core, chat, { role: "user", text: `[Since your last message: ${text}]`, aside: true });
  return { text, data: picked.map((change) => named(change.path)) };

  /** The last so many calls, one after the other; all of the last turn; or the last change of one file. */
  function toUndo(): number[][] {
    const open = changes.filter((change) => !change.undone);
    const of = (fits: (change: Change) => boolean) => open.filter(fits).map(({ change }) => change);
    const last = open.at(-1);
    if (what === "turn") return last ? [of(({ turn }) => turn === last.turn)] : [];
    const count = /^\d+$/.test(what) ? Number(what) : undefined;
    const groups = [...new Set(open.map(({ group }) => group))].slice(count ? -count : open.length);
    if (count !== undefined) return groups.reverse().map((group) => of((change) => change.group === group));
    const file = realPath(core.options, what);
    return [of((change) => change.path === file).slice(-1)];
  }

  /** What is to become of one file. A text: why nothing can. */
  async function stepOf(file: string, own: Change[]): Promise<Step | string | undefined> {
    const from = stateOf(file);
    let hash = hashOfState(from);
    const expected = own.every(({ was, is }) => {
      const [before, after] = back ? [is, was] : [was, is];
      const fits = hash === before || hash === after; // the latter: it was killed before it could be made
      hash = after;
      return fits;
    });
    const [first, last] = [own[0]!, own.at(-1)!];
    const after = (change: Change) => {
      if ((back ? change.was : change.is) === null) return undefined;
      const before = bytesBefore(changes, change);
      return back ? before : bytesAfter(before, change);
    };
    const bytes = after(last);
    const untouched = from?.mode === first.modes[back ? 1 : 0]; // a mode that somebody set since stays
    const mode = !from || untouched ? last.modes[back ? 0 : 1] : from.mode;
    const to = bytes && { bytes, mode };
    if (expected) return alike(from, to) ? undefined : { file, from, to };
    const verb = `Cannot ${way} '${named(file)}': it has changed since.`;
    if (!core.ask) return `${verb} Nothing was touched. At the prompt, zz can merge or overwrite it.`;
    const merged = await mergeAll();
    const keys = `${merged ? "m = merge into what is there now, " : ""}o = overwrite, n = leave everything`;
    const key = await core.ask(`${verb} [${merged ? "m/" : ""}o/n] (${keys}) `, merged ? "mon" : "on");
    if (key === "o") return { file, from, to };
    return key === "m" && merged ? { file, from, to: merged } : `${verb} Nothing was touched.`;

    async function mergeAll(): Promise<State> {
      let now = from;
      for (const { was, is, ...change } of own) {
        if (was === null || is === null) return undefined;
        const old = bytesBefore(changes, { was, is, ...change });
        const [one, two] = [old, bytesAfter(old, { was, is, ...change })].map((bytes) => ({ bytes, mode: 0 }));
        now = (await rebase(now, back ? two : one, back ? one : two))?.after;
      }
      return now && { bytes: now.bytes, mode: from!.mode };
    }
  }
}

/** npx and npm put the project's own programs into PATH. */
function gitOutside(root: string): string {
  const name = process.platform === "win32" ? "git.exe" : "git";
  const folders = (process.env.PATH ?? "").split(path.delimiter).filter(path.isAbsolute);
  const outside = folders.filter((at) => fs.existsSync(path.join(at, name)) && !isInside(root, followed(at)));
  return path.join(outside[0] ?? "/nowhere", name);
}

/** What git tracks, and what it would if asked; so for every repository in it. Undefined: git does not look here. */
async function listByGit(root: string, folder: string): Promise<string[] | undefined> {
  const out = await git(root, folder, "ls-files", "-coz", "--exclude-standard", "--deduplicate");
  if (out === undefined) return undefined;
  const folders = new Map<string, Map<string, fs.Dirent>>(); // a look at each folder is half the work of one at each file
  const found: string[] = [];
  for (const name of out.split("\0")) {
    const entry = name ? entryOf(name.replace(/\/$/, "")) : undefined; // tracked ones may be gone
    const file = `${folder}/${name}`;
    if (entry?.isFile() || entry?.isSymbolicLink()) found.push(name);
    else if (entry?.isDirectory() && fs.existsSync(path.join(file, ".git")))
      found.push(...((await listByGit(root, file)) ?? []).map((inner) => path.join(name, inner)));
  }
  return found;

  function entryOf(name: string): fs.Dirent | undefined {
    const cut = name.lastIndexOf("/") + 1;
    const at = name.slice(0, cut);
    const read = () => tryTo(() => fs.readdirSync(`${folder}/${at}`, { withFileTypes: true })) ?? [];
    if (!folders.has(at)) folders.set(at, new Map(read().map((entry) => [entry.name, entry])));
    return folders.get(at)!.get(name.slice(cut));
  }
}

async function git(root: string, cwd: string, ...args: string[]): Promise<string | undefined> {
  const { execFile } = await import("node:child_process");
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]; // a repository's own programs stay out
  const env = { ...process.env, GIT_NO_LAZY_FETCH: "1", GIT_ALLOW_PROTOCOL: "none", GIT_OPTIONAL_LOCKS: "0" };
  const how = { cwd, env, maxBuffer: 1 << 28, timeout: 30_000 };
  execFile(gitOutside(root), [...quiet, ...args], how, (error, out) => resolve(error ? undefined : out));
  return promise;
}

/** Where there is no git: every folder's .gitignore holds below it, and the last rule that says anything wins. */
async function listByWalk(root: string, top: string, under: string): Promise<string[]> {
  const [{ default: ignore }, { setImmediate }] = await Promise.all([import("ignore"), import("node:timers/promises")]);
  const wanted = under === top ? "" : `${path.relative(top, under)}/`;
  const found: string[] = [];
  let rest = performance.now() + 30; // reading folders at a stretch is three times as fast as waiting for each
  await walk("", []);
  return found.map((name) => name.slice(wanted.length));

  async function walk(at: string, above: { base: string; rules: ReturnType<typeof ignore> }[]): Promise<void> {
    if (performance.now() > rest) rest = (await setImmediate(30)) + performance.now();
    const folder = path.join(top, at);
    const entries = tryTo(() => fs.readdirSync(folder, { withFileTypes: true })) ?? [];
    const known = at && entries.some((entry) => entry.name === ".git") ? await listByGit(root, folder) : undefined;
    if (known) return void found.push(...known.map((name) => at + name).filter((name) => name.startsWith(wanted)));
    const own = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
    const text = own ? textOf(path.join(folder, ".gitignore")) : "";
    const rules = own ? [...above, { base: at, rules: ignore().add(text) }] : above;
    for (const entry of entries) {
      const name = at + entry.name + (entry.isDirectory() ? "/" : "");
      if (!name.startsWith(wanted) && !(entry.isDirectory() && wanted.startsWith(name))) continue;
      const judged = rules.map((rule) => rule.rules.test(name.slice(rule.base.length)));
      const last = judged.findLast(({ ignored, unignored }) => ignored || unignored);
      if (NEVER_LISTED.test(name) || (last ? last.ignored : IGNORED_WITHOUT_GIT.includes(entry.name))) continue;
      if (entry.isDirectory()) await walk(name, rules);
      else if (entry.isFile() || entry.isSymbolicLink()) found.push(name);
    }
  }
}

const FILE_WORDS: Record<string, string> = {
  ENOENT: "no such file or folder. Check the path.",
  EACCES: "permission denied. Check its mode.",
  EPERM: "permission denied. Check its mode.",
  EROFS: "the file system is read-only. Choose another place.",
  ENOSPC: "the disk is full. Make room.",
  EISDIR: "it is a folder. Name a file.",
  ENOTDIR: "a part of the path is not a folder. Check the path.",
};

export function fileFault(verb: string, name: string, error: unknown, more: Partial<Fault> = {}): Fault {
  return fault(`Cannot ${verb} '${name}': ${FILE_WORDS[codeOf(error)] ?? `${reason(error)}.`}`, more);
}
