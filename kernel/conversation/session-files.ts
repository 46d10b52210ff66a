// Sessions: an append-only tree of JSON lines.

import fs from "node:fs";
import path from "node:path";
import { LowSync } from "lowdb";
import type { Header, KeptSession, Listed, Saved, SessionStore } from "../contract.ts";
import type { Session } from "../instance.ts";
import { newId } from "../instance.ts";
import {
  makePrivate,
  missingFolders,
  NO_SYNC,
  syncFile,
  syncFolder,
} from "../system/atomic-write.ts";
import { acquireLock, isHeldByAnother, updatePrivateFile } from "../system/locks.ts";
import { sweepParts } from "../system/temporary-files.ts";
import { codeOf, errnoSentence, fault, usage } from "../text/faults.ts";
import { entriesOf, textOf } from "../text/read-quietly.ts";
import { veiledJson } from "../text/secrets.ts";
import { clean } from "../text/show-safely.ts";
import { compare, tryTo } from "../text/words.ts";
import {
  appendingAdapter,
  branchOf,
  isHeader,
  isNewer,
  parseLines,
  type SessionLine,
  sessionFromLines,
} from "./session-lines.ts";

// a session is zz's own file: nothing is appended to what a link leads to, or cut off there
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDWR } = fs.constants;
const APPENDING = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW;

/** The lines of one file, without a lock. */
function fileLines(file: string, warn: (text: string) => void, newFolders: string[]): KeptSession {
  let fd = -1;
  let [isSynced, isTold] = [true, false];
  // that are new on the disk: its own, and those of the folders that were made for it
  let names: string[] = [];
  const syncNames = (): void =>
    names.splice(0).forEach((newPath) => void syncFolder(path.dirname(newPath)));
  return {
    read() {
      if (fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
        throw fault(`Cannot open session file '${file}': it is a link. Put the file itself there.`);
      fd = fs.openSync(file, APPENDING, 0o600);
      return fs.readFileSync(fd);
    },
    cut: (end) => fs.ftruncateSync(fd, end),
    append(lines) {
      if (fd < 0) {
        fd = fs.openSync(file, "ax+", 0o600);
        names = [file, ...newFolders];
      }
      isSynced = false;
      const end = fs.fstatSync(fd).size;
      try {
        fs.writeFileSync(fd, Buffer.from(lines.map((line) => `${line}\n`).join("")));
      } catch (error) {
        // a full disk must not leave half a line
        tryTo(() => (end === 0 ? fs.unlinkSync(file) : fs.ftruncateSync(fd, end)));
        throw error;
      }
    },
    async sync(): Promise<void> {
      if (isSynced) return;
      isSynced = true;
      const error =
        fd < 0 ? null : await new Promise<Error | null>((resolve) => fs.fdatasync(fd, resolve));
      const reason = errnoSentence(error);
      if (reason && !NO_SYNC.test(codeOf(error)) && !isTold)
        warn(`Session file '${file}' may not be saved: ${reason}`);
      isTold ||= reason !== "";
      syncNames();
    },
    syncNow(): void {
      if (fd >= 0) syncFile(fd);
      isSynced = true;
      syncNames();
    },
    close(): void {
      if (fd >= 0) tryTo(() => fs.closeSync(fd)); // sync() says what is wrong with the disk
      fd = -1;
    },
  };
}

export const UNSAVED_IN_FILES = "It goes on unsaved; --home or ZZ_HOME names another place.";
export const sessionsFolder = (home: string): string => path.join(home, "sessions");
const sessionFile = (home: string, id: string): string =>
  path.join(sessionsFolder(home), `${id}.jsonl`);
const lockFile = (file: string): string => file.replace(/jsonl$/, "lock");

/** Where sessions are: in files of this home, or in what the setting `store` names. */
export type SessionPlace = string | SessionStore;
const storeAt = (sessionPlace: SessionPlace): SessionStore =>
  typeof sessionPlace === "string" ? sessionFiles(sessionPlace) : sessionPlace;
export function nameOfPlace(sessionPlace: SessionPlace, id?: string): string {
  if (typeof sessionPlace !== "string")
    return id === undefined ? sessionPlace.where : `${sessionPlace.where} ${id}`;
  return id === undefined ? sessionsFolder(sessionPlace) : sessionFile(sessionPlace, id);
}

/** Opens a session for writing; given a header, creates it. */
export function openSession(
  sessionPlace: SessionPlace,
  which: string | Header,
  warn: (text: string) => void,
): Session {
  const id = typeof which === "string" ? which : which.id;
  const kept = storeAt(sessionPlace).open(id, typeof which !== "string", warn);
  const db = new LowSync<SessionLine[]>(
    appendingAdapter(kept, nameOfPlace(sessionPlace, id), warn),
    [],
  );
  try {
    if (typeof which === "string") db.read();
    else db.update((lines) => void lines.push(which));
  } catch (error) {
    kept.close();
    throw error;
  }
  const { sync, syncNow, close } = kept;
  return sessionFromLines({ ...(db.data[0] as Header), id }, db, { sync, syncNow, close });
}

/** The sessions of a home, one file each. */
export const sessionFiles = (home: string): SessionStore => ({
  where: sessionsFolder(home),
  ids: () => sessionIds(home),
  list: () => listFiles(home),
  read: (id) => fs.readFileSync(sessionFile(home, id)),
  recent: (root, warn) => recentFiles(home, root, warn),
  open(id, isNew, warn) {
    const file = sessionFile(home, id);
    const newFolders = missingFolders(sessionsFolder(home));
    if (isNew) makePrivate(sessionsFolder(home));
    const release = acquireLock(
      lockFile(file),
      `Cannot open session '${id}'`,
      "Go on there, close it, or use a copy with --fork",
    );
    const lines = fileLines(file, warn, newFolders);
    const close = () => {
      lines.close();
      release();
    };
    return { ...lines, close };
  },
  rename: (id, title) => keepTitle(home, id, title),
  remove(id) {
    fs.unlinkSync(sessionFile(home, id));
    keepTitle(home, id, "");
  },
});

/** Reads a session without a lock or repairs. */
export function readSession(sessionPlace: SessionPlace, id: string): Saved {
  const file = nameOfPlace(sessionPlace, id);
  const [header, ...entries] = parseLines(storeAt(sessionPlace).read(id), file).lines;
  return { header, entries, branch: () => branchOf(entries) };
}

const sessionIds = (home: string): string[] =>
  entriesOf(sessionsFolder(home)).flatMap((name) =>
    name.endsWith(".jsonl") ? [name.slice(0, -".jsonl".length)] : [],
  );

export const hasSession = (sessionPlace: SessionPlace, id: string): boolean =>
  storeAt(sessionPlace).ids().includes(id);

/** All sessions' headers, last used first; without failed one-shots that nobody continued. */
export const listSessions = (sessionPlace: SessionPlace): Listed[] =>
  storeAt(sessionPlace)
    .list()
    .sort((a, b) => compare(b.used, a.used) || compare(b.id, a.id));

/** By the beginning and the end of each file; a short one is read once. */
function listFiles(home: string): Listed[] {
  const buffer = Buffer.allocUnsafe(8192);
  const titles = titlesOf(home);
  const locks = new Set(entriesOf(sessionsFolder(home)).filter((name) => name.endsWith(".lock")));
  return sessionIds(home).flatMap((id): Listed | [] => {
    const file = sessionFile(home, id);
    const { text, stat } = readPart(file, buffer, true);
    const isWhole = stat !== undefined && stat.size <= buffer.length;
    const header = headerOf(file, isWhole ? firstLineOf(text) : readFirstLine(file, buffer));
    if (!header || /"type":"failed"\}\n$/.test(text)) return [];
    const used = stat
      ? { used: new Date(usedAt(stat, text)).toISOString(), bytes: stat.size }
      : { used: header.at, bytes: 0 };
    const model =
      Array.from(text.matchAll(/"model":"([^"\\]+)"(,"ms":\d+|\}\n)/g), ([, name]) => name).at(
        -1,
      ) ?? header.model;
    const isHeld = locks.has(`${id}.lock`) && isHeldByAnother(lockFile(file));
    return {
      ...header,
      ...used,
      model,
      title: clean(titles[id] || header.title),
      ...(isHeld && { held: true as const }),
    };
  });
}

/** The beginning of a file, or its end. */
function readPart(file: string, buffer: Buffer, isEnd = false): { text: string; stat?: fs.Stats } {
  const read = tryTo(() => {
    // a FIFO does not block
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const stat = fs.fstatSync(fd);
    const bytes =
      tryTo(() =>
        fs.readSync(
          fd,
          buffer,
          0,
          buffer.length,
          isEnd ? Math.max(0, stat.size - buffer.length) : 0,
        ),
      ) ?? 0;
    fs.closeSync(fd);
    return { text: buffer.toString("utf8", 0, bytes), stat };
  });
  return read ?? { text: "" };
}

/** Some disks keep times to two seconds. There the last line says when a session was used. */
const isWhole = ({ mtimeMs }: fs.Stats): boolean => mtimeMs % 1_000 === 0;
function usedAt(stat: fs.Stats, end: string): number {
  const line = Array.from(end.matchAll(/^\{"id":\d+,"parent":\w+,"at":"([^"]+)"/gm)).at(-1);
  const at = isWhole(stat) && line ? Date.parse(line[1]!) : 0;
  return Math.abs(at - stat.mtimeMs) < 2_000 ? at : stat.mtimeMs;
}

/** Titles of renamed sessions, kept in one file so that lists need not read every session. */
const titlesFile = (home: string): string => path.join(sessionsFolder(home), "titles.json");
function titlesOf(home: string): Record<string, string> {
  const titles = Object.entries(
    (tryTo(() => JSON.parse(textOf(titlesFile(home)))) as object) ?? {},
  );
  return Object.fromEntries(titles.filter(([, title]) => typeof title === "string"));
}
function keepTitle(home: string, id: string, title: string): void {
  if (!titlesOf(home)[id] && !title) return;
  updatePrivateFile(titlesFile(home), () => {
    const { [id]: _, ...titles } = titlesOf(home);
    return veiledJson(title ? { ...titles, [id]: title } : titles, 2);
  });
}

/** The id comes from the file's name, whatever the header says. */
function headerOf(file: string, header: unknown): Header | undefined {
  return isHeader(header) ? { ...header, id: path.basename(file, ".jsonl") } : undefined;
}
const readFirstLine = (file: string, buffer: Buffer = Buffer.allocUnsafe(8192)): unknown =>
  firstLineOf(readPart(file, buffer).text);
const firstLineOf = (text: string): unknown => tryTo(() => JSON.parse(text.split("\n", 1)[0]!));

/** The session of this folder that was used last and fits. */
export function lastSession(
  sessionPlace: SessionPlace,
  root: string,
  warn: (text: string) => void,
  fits = (_: string) => true,
) {
  for (const id of storeAt(sessionPlace).recent(root, warn)) if (fits(id)) return id;
  return undefined;
}

/** The sessions of this folder, last used first. Unreadable files are reported and skipped. */
function* recentFiles(home: string, root: string, warn: (text: string) => void): Generator<string> {
  const files = sessionIds(home).map((id) => sessionFile(home, id));
  const locks = entriesOf(sessionsFolder(home)).filter(
    (name) => name.endsWith(".lock") && !readFirstLine(sessionFile(home, name.slice(0, -5))),
  );
  sweepParts(sessionsFolder(home));
  // killed before the first line
  for (const name of locks) tryTo(() => acquireLock(path.join(sessionsFolder(home), name), "")());
  const buffer = Buffer.allocUnsafe(8192);
  const used = files.map((file) => {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    const at =
      stat && (isWhole(stat) ? usedAt(stat, readPart(file, buffer, true).text) : stat.mtimeMs);
    return { file, at: at ?? 0 };
  });
  for (const { file } of used.sort((a, b) => b.at - a.at)) {
    const start = readFirstLine(file);
    const id = path.basename(file, ".jsonl");
    if (isHeader(start) && start.root === root) yield id;
    const reason = isNewer(start)
      ? "is of a newer zz"
      : (whyUnreadable(file) ?? "holds no readable header");
    if (!isHeader(start))
      warn(`Session file '${file}' ${reason}; it was ignored and left as it is.`);
  }
}

/** What the disk says against reading a file. */
function whyUnreadable(file: string): string | undefined {
  try {
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      fs.readSync(fd, Buffer.alloc(1));
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    const reason = errnoSentence(error).split(".")[0];
    return reason ? `cannot be read (${reason})` : undefined;
  }
  return undefined;
}

/** The one session whose id, or a later part of it, starts like that. */
export function findSession(sessionPlace: SessionPlace, start: string): string {
  const ids = storeAt(sessionPlace).ids();
  const isMeant = (id: string) =>
    id.startsWith(start) || (start.length > 3 && id.includes(`-${start}`));
  const fits = ids.includes(start) ? [start] : ids.filter(isMeant);
  const isUsable = (id: string) =>
    typeof sessionPlace !== "string" || fs.statSync(sessionFile(sessionPlace, id)).isFile();
  if (fits.length === 1 && isUsable(fits[0]!)) return fits[0]!;
  const reason = fits.length
    ? `${fits.length} begin like that. Give more of it`
    : "there is none. `zz --sessions` lists them";
  throw usage(`Cannot open session '${start}': ${reason}.`);
}

export const newSessionId = (timestamp: string): string =>
  `${timestamp.slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}-${newId()}`;
