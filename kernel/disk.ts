// The disk: files written whole or not at all, opened exactly where they were judged, and private files of the home.
import fs from "node:fs";
import path from "node:path";
import type { Fault } from "./contract.ts";
import { newId } from "./core.ts";
import { codeOf, errnoSentence, fault } from "./faults.ts";
import { reason } from "./secrets.ts";
import { entriesOf, textOf, tryTo } from "./text.ts";

export const MAX_READ_BYTES = 50 * 1024 * 1024;
export const [FILE, LINK, FOLDER, TYPE] = [0o100000, 0o120000, 0o040000, 0o170000];

/** The state of a file: its mode with the type; the bytes of a link are its target, a folder has none. Undefined: it does not exist. */
export type State = { bytes: Buffer; mode: number } | undefined;

export const hashOf = (bytes: Uint8Array): string =>
  process.getBuiltinModule("node:crypto").createHash("sha256").update(bytes).digest("hex");
export const isFolder = (state: State): boolean => state !== undefined && (state.mode & TYPE) === FOLDER;
export const hashOfState = (state: State): string | null => (state ? (isFolder(state) ? "folder" : hashOf(state.bytes)) : null);
export const alike = (one: State, two: State): boolean => (one && two ? one.bytes.equals(two.bytes) && one.mode === two.mode : one === two);

export function stateOf(file: string): State {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false });
  if (!stat) return undefined;
  const refuse = (why: string) => fault(`Cannot change '${file}': ${why}`);
  if (stat.isSymbolicLink()) return { bytes: fs.readlinkSync(file, "buffer"), mode: stat.mode };
  if (stat.isDirectory()) return { bytes: Buffer.alloc(0), mode: stat.mode };
  if (!stat.isFile()) throw refuse("it is not a regular file. Choose another.");
  if (stat.size > MAX_READ_BYTES) throw refuse(`${stat.size} bytes are too many. Use a command.`);
  const fd = openReal(file);
  try {
    return { bytes: fs.readFileSync(fd), mode: fs.fstatSync(fd).mode };
  } finally {
    fs.closeSync(fd);
  }
}

/** The same, for a path whose parent may be a file or a link: then nothing is there. */
export function standing(file: string): State {
  const folder = path.dirname(file);
  try {
    return followLinks(folder) === folder ? stateOf(file) : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = fs.constants; // Windows has only the first
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x20000000 : 0; // refuses links anywhere in the path
export const SAFELY = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOFOLLOW_ANY; // a FIFO does not block

/** Opens a path that was resolved before. A link that was swapped in since then is not followed. */
export function openReal(file: string): number {
  const fd = fs.openSync(file, SAFELY);
  try {
    checkPlace(fd, file);
    return fd;
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** Checks what was really opened, since the name may point elsewhere by now. */
export function checkPlace(fd: number, file: string): void {
  if (O_NOFOLLOW_ANY) return;
  const place = placeOfOpen(fd);
  const same = (one: string) => one.normalize().toLowerCase(); // some disks ignore case
  if (place === undefined ? isStill(fd, file) : place === file || same(place) === same(file)) return;
  throw Object.assign(new Error(`'${file}' was swapped for a link`), { code: "ELOOP" });
}

/** Where the system cannot tell what was opened: no link may be in the path, before or after. */
function isStill(fd: number, file: string): boolean {
  const { ino, dev } = fs.fstatSync(fd);
  const isHere = (stat = fs.lstatSync(file, { throwIfNoEntry: false })) =>
    followLinks(file) === file && stat?.ino === ino && stat.dev === dev;
  return isHere() && isHere() && followLinks(file) === file;
}

/** Where an open file is, even if it was replaced meanwhile. Undefined: this system cannot tell. */
function placeOfOpen(fd: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  const at = tryTo(() => fs.readlinkSync(`/proc/self/fd/${fd}`));
  return at?.endsWith(GONE) && fs.fstatSync(fd).nlink === 0 ? at.slice(0, -GONE.length) : at;
}
const GONE = " (deleted)";

/** Writes a file's new state next to it and renames it into place: whole, or not at all. */
function put(file: string, state: State): void {
  const folder = path.dirname(file);
  for (const missing of missingFolders(folder)) fs.mkdirSync(missing);
  const name = path.basename(file);
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  const handle = `/proc/self/fd/${fd}`; // the folder by its handle: nobody can swap it for a link
  const real = tryTo(() => fs.readlinkSync(handle));
  const at = real === undefined ? folder : handle;
  try {
    if ((real ?? fs.realpathSync(folder)) !== folder)
      throw fault(`Cannot write '${file}': its folder was swapped for a link. Look at what happens there.`);
    sweep(at);
    const here = path.join(at, name);
    const wasFolder = fs.lstatSync(here, { throwIfNoEntry: false })?.isDirectory();
    if (state && isFolder(state)) putFolder(here, state.mode, wasFolder);
    else if (!state) wasFolder ? fs.rmdirSync(here) : fs.unlinkSync(here);
    if (state && !isFolder(state)) replace(here, path.join(at, `.zz-${process.pid}-${newId()}.tmp`), state);
  } finally {
    fs.closeSync(fd);
  }
}

function putFolder(at: string, mode: number, isThere = false): void {
  if (!isThere) fs.rmSync(at, { force: true });
  if (!isThere) fs.mkdirSync(at);
  fs.chmodSync(at, mode & 0o7777);
}

function replace(file: string, temporary: string, { bytes, mode }: NonNullable<State>): void {
  const owner = fs.lstatSync(file, { throwIfNoEntry: false });
  try {
    if ((mode & TYPE) === LINK) fs.symlinkSync(bytes, temporary);
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
    if (owner?.isDirectory()) fs.rmdirSync(file); // its replacement is complete
    fs.renameSync(temporary, file);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw error;
  }
}

/** Removes what a killed zz left behind in the middle of a write. */
function sweep(folder: string): void {
  for (const name of entriesOf(folder)) {
    const pid = /^\.zz-(\d+)-\w+\.tmp$/.exec(name)?.[1];
    if (pid && !startOf(Number(pid))) tryTo(() => fs.unlinkSync(path.join(folder, name)));
  }
}

export const missingFolders = (folder: string): string[] =>
  fs.existsSync(folder) ? [] : [...missingFolders(path.dirname(folder)), folder];

/** Puts all files into their new states, or none of them. */
export function putAll(steps: Step[]): void {
  const made: string[] = [];
  const done: Step[] = [];
  try {
    for (const step of steps) {
      if (!step.act) made.push(...missingFolders(path.dirname(step.file)));
      done.push(step);
      if (step.act) step.act(false);
      else if (step.to || standing(step.file)) put(step.file, step.to);
    }
  } catch (error) {
    for (const { file, from, act } of done.reverse())
      tryTo(() => (act ? act(true) : alike(standing(file), from) ? undefined : put(file, from)));
    unmake(made);
    throw error;
  }
}

/** Removes the folders that are empty again. */
export const unmake = (folders: string[]): void => {
  for (const folder of folders.toReversed()) tryTo(() => fs.rmdirSync(folder));
};

/** act: used instead of writing, and to take it back. */
export type Step = { file: string; from: State; to: State; act?: ((back: boolean) => void) | undefined };

export function fileFault(verb: string, name: string, error: unknown, more: Partial<Fault> = {}): Fault {
  return fault(`Cannot ${verb} '${name}': ${errnoSentence(error) || `${reason(error)}.`}`, more);
}

export function followLinks(file: string): string {
  let existing = file;
  const missing: string[] = [];
  for (let links = 0; ; ) {
    const real = tryTo(() => fs.realpathSync.native(existing));
    const parent = path.dirname(existing);
    if (real !== undefined || parent === existing) return path.join(real ?? existing, ...missing);
    const to = links++ < 40 ? tryTo(() => fs.readlinkSync(existing)) : undefined; // a link to something that does not exist yet
    if (to === undefined) missing.unshift(path.basename(existing));
    existing = to === undefined ? parent : path.resolve(parent, to);
  }
}

/** Makes folders one by one: mkdir's own `recursive` hangs under /proc, and reports a read-only disk as a missing folder. */
export function makePrivate(folder: string): void {
  if (!fs.existsSync(folder)) {
    if (!fs.existsSync(path.dirname(folder))) makePrivate(path.dirname(folder));
    try {
      fs.mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error; // another zz has just made it
    }
  } else if (path.basename(folder) === "sessions" && fs.statSync(folder).mode & 0o077) fs.chmodSync(folder, 0o700);
}

/** When a process started ("" if it does not exist), to tell it from a later one with the same number. */
export function startOf(pid: number): string {
  if (process.platform === "linux") {
    const fields = textOf(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
    return "ZX".includes(fields[0]!) ? "" : (fields[19] ?? ""); // a zombie holds nothing any more
  }
  try {
    return process.kill(pid, 0) ? "alive" : "";
  } catch (error) {
    return codeOf(error) === "EPERM" ? "alive" : "";
  }
}

/** Only the person may read it. */
export function writePrivate(file: string, text: string): void {
  makePrivate(path.dirname(file));
  const real = tryTo(() => fs.realpathSync(file)) ?? path.join(fs.realpathSync(path.dirname(file)), path.basename(file));
  put(real, { bytes: Buffer.from(`${text}\n`), mode: 0o100600 });
}
