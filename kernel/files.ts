// ctx.files: the only way to the disk for tools.
import fs from "node:fs";
import path from "node:path";
import { didOf, history } from "./changes.ts";
import { commit, type Held, showChange } from "./commit.ts";
import type { Fault, FileRead, Files, Kind } from "./contract.ts";
import { type TurnContext, ZZ } from "./core.ts";
import {
  checkPlace,
  FILE,
  fileFault,
  hashOf,
  MAX_READ_BYTES,
  openReal,
  SAFELY,
  type State,
  stateOf,
  TYPE,
} from "./disk.ts";
import { codeOf, fault } from "./faults.ts";
import { gitOf } from "./git.ts";
import { listByGit, listByWalk, NEVER_LISTED } from "./list-files.ts";
import { holderOf, placeOf, realPath, shortName } from "./paths.ts";
import { judge } from "./rules.ts";
import { isInside } from "./text.ts";
import { sessionWithChanges, undoOrRedo } from "./undo.ts";

/** What one call may reach. `granted`: what the gate let it have by name; `held`: where its changes wait. */
type Reach = { tool: string; granted?: string[]; held?: Held | undefined; changes?: boolean };

export function openFiles(place: TurnContext, { tool, granted = [], held, changes = true }: Reach): Files {
  const { core, chat } = place;
  const { root } = core.options;
  return {
    path: inside,
    read,
    open: openReal,
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
      history(sessionWithChanges(place).log).changes.map((one) => {
        const { change: id, turn, at, tool, path: file, undone } = one;
        return { id, turn, at, tool, path: shortName(core.options, file), did: didOf(one), undone };
      }),
    async diff(id) {
      const all = history(sessionWithChanges(place).log).changes;
      const change = all.find((one) => one.change === id);
      if (!change) throw fault(`Cannot show change ${id}: there is none of that number. /changes lists them.`);
      return showChange(place, all, change);
    },
    undo: (what = "1") => undoOrRedo(forPerson("undo"), "undo", what),
    redo: (what = "1") => undoOrRedo(forPerson("redo"), "redo", what),
  };

  /** Commands and flags are the person's; a tool acts for the model. */
  function forPerson(verb: string): TurnContext {
    if (tool === ZZ) return place;
    throw fault(`Cannot ${verb} in a tool: only the person does that. Register a command for it.`);
  }

  function inside(name: string): string {
    const file = realPath(core.options, name);
    const allowed = (kind: Kind) => judge(core, kind, file, file).verdict === "allow";
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
    const { verdict, why } = judge(core, "read", file, file); // again, since a search comes upon files that nobody named
    if (verdict === "deny") throw refuse(`it is denied ${why}.`);
    if (verdict === "ask" && !granted.includes(file))
      throw refuse("it requires read access. Name the file itself, and it is asked for.");
    const waiting = held?.get(file);
    try {
      if (waiting && !waiting.after) throw fileFault("read", name, { code: "ENOENT" });
      const bytes = waiting?.after?.bytes ?? (await bytesOf(file, refuse));
      const hash = hashOf(bytes);
      const seen = chat.seen.get(file);
      if (granted.includes(file) && !changes) chat.seen.set(file, hash);
      return { text: bytes.toString("utf8"), bytes, hash, ...(seen && { seen }) };
    } catch (error) {
      throw codeOf(error) ? fileFault("read", name, error) : error;
    }
  }

  async function bytesOf(file: string, refuse: (why: string) => Fault): Promise<Buffer> {
    const check = (stat: fs.Stats) => {
      if (stat.isDirectory()) throw refuse("it is a folder. List it with list_dir instead.");
      if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
      if (stat.size > MAX_READ_BYTES) throw refuse(`${stat.size} bytes are too many. Search it instead.`);
    };
    check(await fs.promises.lstat(file)); // a device is not even opened
    const handle = await fs.promises.open(file, SAFELY);
    try {
      check(await handle.stat());
      checkPlace(handle.fd, file);
      return await handle.readFile();
    } finally {
      await handle.close();
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
    const isForeign = known && !known.length && (await gitOf(root).say(["check-ignore", "-q", top], top)) !== undefined; // to a repository around it
    const found = known && !isForeign ? known : await listByWalk(root, top, folder);
    return found
      .map((file) => prefix + file)
      .filter((file) => !NEVER_LISTED.test(file))
      .sort();
  }
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
