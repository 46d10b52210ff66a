// Chapter 7 of the kernel: sessions, an append-only tree of JSON lines, one writer at a time.
import fs from "node:fs";
import path from "node:path";
import { LowSync } from "lowdb";
import {
  type Call,
  clean,
  codeOf,
  compare,
  entriesOf,
  fault,
  type Message,
  newId,
  textOf,
  tryTo,
  usage,
} from "../zz.ts";
import { put } from "./files.ts";

/** A session file's first line. */
export type Header = { zz: 1; id: string; at: string; root: string; model: string; title: string };
/** Every later line. `parent` makes a tree of it: nothing is ever rewritten. Unknown types are kept. */
export interface Entry {
  id: number;
  parent: number | null;
  at: string;
  type: "message" | "draft" | "state" | "back" | (string & {});
  message?: Message;
  [field: string]: unknown;
}
type Row = Header | Entry;
/** A session to look at and to copy. */
export interface Saved {
  readonly header: Header;
  readonly entries: readonly Entry[]; // as they came
  branch(): Entry[]; // from the root to the last entry
}
export interface Session extends Saved {
  append(type: Entry["type"], fields: Record<string, unknown>, parent?: number | null): void; // on the disk when it returns
  sync(): Promise<void>; // also past a power cut
  close(): void;
}

/**
 * A lowdb adapter that appends: `write` puts down only the lines that it has not yet written, so that an
 * append costs the same at entry 10 and at entry 100,000. `read` cuts off a torn last line (a crash) and says so.
 */
function jsonLines(file: string, warn: (text: string) => void) {
  let fd = -1;
  let written = 0;
  return {
    read(): Row[] {
      fd = fs.openSync(file, "a+");
      const bytes = fs.readFileSync(fd);
      const { lines, end, spoilt } = parseLines(bytes, file);
      const torn = bytes.length - end;
      const were = spoilt === 1 ? "line, which was" : "lines, which were";
      if (spoilt) warn(`Session file '${file}' has ${spoilt} unreadable ${were} passed over.`);
      if (torn) warn(`Session file '${file}' ended in the middle of a line; its last ${torn} bytes, ${NEVER_SAVED}.`);
      if (torn) fs.ftruncateSync(fd, end);
      written = lines.length;
      return lines;
    },
    write(lines: Row[]): void {
      if (fd < 0) fd = fs.openSync(file, "ax+", 0o600);
      const end = fs.fstatSync(fd).size;
      const added = lines.slice(written).map((line) => `${JSON.stringify(line)}\n`);
      try {
        fs.writeFileSync(fd, Buffer.from(added.join("")));
      } catch (error) {
        if (end === 0) fs.rmSync(file);
        else fs.ftruncateSync(fd, end); // a full disk leaves no half line behind
        lines.length = written;
        throw error;
      }
      written = lines.length;
    },
    sync: () => new Promise<void>((resolve) => (fd < 0 ? resolve() : fs.fdatasync(fd, () => resolve()))),
    close: () => fd < 0 || fs.closeSync(fd),
  };
}
export const UNSAVED = "It goes on unsaved; --home or ZZ_HOME names another place.";
const NEVER_SAVED = "never confirmed as saved, were cut off";

/** The header and all entries; `end` is where the last whole line ends, `spoilt` counts the lines that are neither. */
function parseLines(bytes: Buffer, file: string): { lines: [Header, ...Entry[]]; end: number; spoilt: number } {
  const lines: Row[] = [];
  let [end, spoilt] = [0, 0];
  for (let stop = bytes.indexOf(10); stop >= 0; stop = bytes.indexOf(10, end)) {
    const line = tryTo(() => JSON.parse(bytes.toString("utf8", end, stop)));
    if (lines.length ? typeof line?.id === "number" : isHeader(line)) lines.push(line);
    else spoilt++;
    end = stop + 1;
  }
  if (lines.length) return { lines: lines as [Header, ...Entry[]], end, spoilt };
  const why = bytes.length ? "it holds no readable header" : "it is empty";
  throw fault(`Cannot open session file '${file}': ${why}. It was left as it is; move it away, or start without it.`);
}

const isHeader = (line: unknown): line is Header =>
  (line as Header)?.zz === 1 &&
  (["id", "at", "root", "model", "title"] as const).every((key) => typeof (line as Header)[key] === "string");

/** Whether a message from a file can be sent: what others wrote there is passed over. */
export function isMessage(value: unknown): value is Message {
  const message = value as Message & { calls?: unknown };
  if (typeof message?.text !== "string") return false;
  if (message.role === "tool") return typeof message.id === "string" && typeof message.name === "string";
  const isCall = (call: Call) => typeof call?.id === "string" && typeof call.name === "string" && Boolean(call.args);
  if (message.role === "assistant")
    return !message.calls || (Array.isArray(message.calls) && message.calls.every(isCall));
  return message.role === "user";
}
export const sessionsFolder = (home: string): string => path.join(home, "sessions");
export const sessionFile = (home: string, id: string): string => path.join(sessionsFolder(home), `${id}.jsonl`);

/** Opens a session for writing; with a header, makes it. */
export function openSession(home: string, which: string | Header, warn: (text: string) => void): Session {
  const id = typeof which === "string" ? which : which.id;
  const file = sessionFile(home, id);
  if (typeof which !== "string") makePrivate(sessionsFolder(home));
  const release = lock(file.replace(/jsonl$/, "lock"), id);
  const adapter = jsonLines(file, warn);
  const db = new LowSync<Row[]>(adapter, []);
  const close = () => {
    adapter.close();
    release();
  };
  try {
    if (typeof which === "string") db.read();
    else db.update((lines) => void lines.push(which));
  } catch (error) {
    close();
    throw error;
  }
  const header: Header = { ...(db.data[0] as Header), id };
  return sessionOf(header, db, { sync: adapter.sync, close });
}

/** Where nothing is saved, the tree is in memory alone. */
export function unsavedSession(header: Header, entries: readonly Entry[] = []): Session {
  const nowhere = new LowSync<Row[]>({ read: () => null, write: () => {} }, [header, ...entries]);
  return sessionOf(header, nowhere, { sync: async () => {}, close: () => {} });
}

function sessionOf(header: Header, db: LowSync<Row[]>, ends: Pick<Session, "sync" | "close">): Session {
  return {
    header,
    get entries() {
      return db.data.slice(1) as Entry[];
    },
    branch: () => branchOf(db.data.slice(1) as Entry[]),
    append(type, fields, parent) {
      const last = db.data.length > 1 ? (db.data.at(-1) as Entry) : { id: 0 };
      const under = parent === undefined ? last.id || null : parent;
      db.data.push({ id: last.id + 1, parent: under, at: new Date().toISOString(), type, ...fields });
      db.write();
    },
    ...ends,
  };
}

/** One by one: mkdir's own `recursive` never returns under /proc, and calls a read-only disk a missing folder. */
export function makePrivate(folder: string): void {
  if (!fs.existsSync(folder)) {
    if (!fs.existsSync(path.dirname(folder))) makePrivate(path.dirname(folder));
    try {
      fs.mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error; // another zz made it just now
    }
  } else if (path.basename(folder) === "sessions" && fs.statSync(folder).mode & 0o077) fs.chmodSync(folder, 0o700);
}

/** No lock, and nothing repaired. */
export function readSession(home: string, id: string): Saved {
  const file = sessionFile(home, id);
  const [header, ...entries] = parseLines(fs.readFileSync(file), file).lines;
  return { header, entries, branch: () => branchOf(entries) };
}

/** From the root to the last entry. An entry whose parent was lost hangs on the one before it. */
function branchOf(entries: Entry[]): Entry[] {
  const places = new Map(entries.map((entry, i) => [entry.id, i]));
  const branch: Entry[] = [];
  for (let at = entries.length - 1; at >= 0; ) {
    const entry = entries[at]!;
    branch.push(entry);
    at = entry.parent === null ? -1 : Math.min(places.get(entry.parent) ?? at - 1, at - 1);
  }
  return branch.reverse();
}

/** One writer at a time. The lock names its process by number and start time, so that a dead one does not keep it. */
function lock(file: string, session: string): () => void {
  const mine = `${process.pid} ${startOf(process.pid)}`;
  const temporary = `${file}.${process.pid}`;
  try {
    fs.writeFileSync(temporary, mine, { mode: 0o600 });
    for (;;) {
      try {
        fs.linkSync(temporary, file); // all at once: nobody ever sees an empty lock
        return () => fs.rmSync(file, { force: true });
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      }
      const theirs = textOf(file);
      const [pid, start] = theirs.split(" ");
      const busy = `another zz (process ${pid}) has it open. Close that one, or go on in a copy with --fork`;
      if (start && startOf(Number(pid)) === start) throw fault(`Cannot open session '${session}': ${busy}.`);
      let mayBreak: (() => void) | undefined;
      try {
        mayBreak = lock(`${file}.break`, session); // only one at a time may take a dead one's lock away
        if (textOf(file) === theirs) fs.rmSync(file, { force: true });
      } catch (error) {
        if (codeOf(error)) throw error; // else someone else is at it; look again
      } finally {
        mayBreak?.();
      }
    }
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** When a process started ("" if there is none), to tell it from a later one of the same number. */
export function startOf(pid: number): string {
  if (process.platform === "linux") {
    const fields = textOf(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
    return "ZX".includes(fields[0]!) ? "" : (fields[19] ?? ""); // a zombie waits to be reaped; it holds nothing
  }
  try {
    return process.kill(pid, 0) ? "alive" : "";
  } catch (error) {
    return codeOf(error) === "EPERM" ? "alive" : "";
  }
}

export const sessionIds = (home: string): string[] =>
  entriesOf(sessionsFolder(home)).flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -".jsonl".length)] : []));

/** Every session's header, newest first, by its file's first line alone. */
export function listSessions(home: string): Header[] {
  const buffer = Buffer.allocUnsafe(8192);
  const titles = titlesOf(home);
  const headers = sessionIds(home).flatMap((id) => headerOf(sessionFile(home, id), buffer) ?? []);
  return headers
    .map((header) => ({ ...header, title: clean(titles[header.id] || header.title) }))
    .sort((a, b) => compare(b.id, a.id));
}

/** New names of sessions. Each session's file holds its own as well; here they are found without reading it. */
const titlesFile = (home: string): string => path.join(sessionsFolder(home), "titles.json");
function titlesOf(home: string): Record<string, string> {
  const titles = tryTo(() => JSON.parse(textOf(titlesFile(home))));
  const isTitle = ([, title]: [string, unknown]) => typeof title === "string";
  return Object.fromEntries(Object.entries((titles as object) ?? {}).filter(isTitle));
}
export function keepTitle(home: string, id: string, title: string): void {
  const { [id]: old, ...titles } = titlesOf(home);
  if (!old && !title) return;
  writePrivate(titlesFile(home), JSON.stringify(title ? { ...titles, [id]: title } : titles, null, 2));
}

/** The person's alone. */
export function writePrivate(file: string, text: string): void {
  makePrivate(path.dirname(file));
  const real =
    tryTo(() => fs.realpathSync(file)) ?? path.join(fs.realpathSync(path.dirname(file)), path.basename(file));
  put(real, { bytes: Buffer.from(`${text}\n`), mode: 0o100600 });
}

/** By the file's own name, whatever the header says of it. */
function headerOf(file: string, buffer = Buffer.allocUnsafe(8192)): Header | undefined {
  return tryTo(() => {
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK); // a FIFO holds nobody up
    const size = tryTo(() => fs.readSync(fd, buffer, 0, buffer.length, 0)) ?? 0;
    fs.closeSync(fd);
    const end = buffer.subarray(0, size).indexOf(10);
    const header = JSON.parse(buffer.toString("utf8", 0, end < 0 ? size : end));
    return isHeader(header) ? { ...header, id: path.basename(file, ".jsonl") } : undefined;
  });
}

/** The session of this folder that was used last, and fits. Files that cannot be read are named and passed over. */
export function lastSession(home: string, root: string, warn: (text: string) => void, fits = (_: string) => true) {
  const files = sessionIds(home).map((id) => sessionFile(home, id));
  const used = files.map((file) => ({ file, at: fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }));
  for (const { file } of used.sort((a, b) => b.at - a.at)) {
    const header = headerOf(file);
    if (header?.root === root && fits(header.id)) return header.id;
    if (!header) warn(`Session file '${file}' holds no readable header; it was passed over and left as it is.`);
  }
  return undefined;
}

/** The one session whose id starts so. */
export function findSession(home: string, start: string): string {
  const ids = sessionIds(home);
  const fits = ids.includes(start) ? [start] : ids.filter((id) => id.startsWith(start));
  const [id] = fits;
  if (fits.length === 1 && fs.statSync(sessionFile(home, id!)).isFile()) return id!;
  const why = fits.length ? `${fits.length} start so. Give more of it` : "there is none. `zz --sessions` lists them";
  throw usage(`Cannot open session '${start}': ${why}.`);
}

export const newSessionId = (at: string): string =>
  `${at.slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}-${newId()}`;

/**
 * What every provider accepts: each call has exactly one result, straight after it and in call order; results
 * without a call are gone; neighbours of one role are merged; nothing is empty. Run before every request.
 */
export function repair(history: readonly Message[]): Message[] {
  const fixed: Message[] = [];
  let open = new Map<string, number>(); // where in `fixed` the results of the last calls belong
  for (const given of history) {
    const message = briefed(given);
    if (message.role === "tool") {
      const place = open.get(message.id);
      if (place !== undefined) fixed[place] = message;
      open.delete(message.id);
      continue;
    }
    const calls = message.role === "assistant" ? (message.calls ?? []) : [];
    const images = message.role === "user" ? (message.images ?? []) : [];
    if (message.role === "assistant") open = new Map();
    if (!message.text && !calls.length && !images.length) continue;
    const last = fixed.at(-1);
    if (last?.role === message.role) fixed[fixed.length - 1] = joined(last, message);
    else fixed.push(message);
    for (const { id, name } of calls)
      open.set(id, fixed.push({ role: "tool", id, name, text: "[interrupted]", failed: true }) - 1);
  }
  return fixed;
}

/** What is new in the layers stands before the words that it goes with. */
function briefed(message: Message): Message {
  if (message.role !== "user" || !message.news) return message;
  const { news, ...rest } = message;
  return { ...rest, text: [...Object.values(news), rest.text].filter(Boolean).join("\n\n") };
}

function joined(one: Message, two: Message): Message {
  const images = [one, two].flatMap((message) => ("images" in message && message.images) || []);
  return { ...two, text: [one.text, two.text].filter(Boolean).join("\n\n"), ...(images.length && { images }) };
}
