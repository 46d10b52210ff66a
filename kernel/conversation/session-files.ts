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
import { entriesOf, jsonIn } from "../text/read-quietly.ts";
import { veiledJson } from "../text/secrets.ts";
import { clean } from "../text/show-safely.ts";
import { compare, pickKeys, tryTo } from "../text/words.ts";
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
function fileLines(
  file: string,
  warnPerson: (warningText: string) => void,
  newFolders: string[],
): KeptSession {
  let fd = -1;
  let [isSynced, isTold] = [true, false];
  let newPaths: string[] = []; // new on the disk: the file, and the folders made for it
  const syncNames = (): void =>
    newPaths.splice(0).forEach((newPath) => void syncFolder(path.dirname(newPath)));
  return {
    read() {
      if (fs.lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink())
        throw fault(`Cannot open session file '${file}': it is a link. Put the file itself there.`);
      fd = fs.openSync(file, APPENDING, 0o600);
      return fs.readFileSync(fd);
    },
    cut: (endOffset) => fs.ftruncateSync(fd, endOffset),
    append(newLines) {
      if (fd < 0) {
        fd = fs.openSync(file, "ax+", 0o600);
        newPaths = [file, ...newFolders];
      }
      isSynced = false;
      const end = fs.fstatSync(fd).size;
      try {
        fs.writeFileSync(
          fd,
          Buffer.from(newLines.map((sessionLine) => `${sessionLine}\n`).join("")),
        );
      } catch (error) {
        // a full disk must not leave half a line
        tryTo(() => (end === 0 ? fs.unlinkSync(file) : fs.ftruncateSync(fd, end)));
        throw error;
      }
    },
    async sync(): Promise<void> {
      if (isSynced) return;
      isSynced = true;
      const syncError =
        fd < 0 ? null : await new Promise<Error | null>((resolve) => fs.fdatasync(fd, resolve));
      const reason = errnoSentence(syncError);
      if (reason && !NO_SYNC.test(codeOf(syncError)) && !isTold)
        warnPerson(`Session file '${file}' may not be saved: ${reason}`);
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
const sessionFile = (home: string, id: string): string => fileIn(sessionsFolder(home), id);
/** Without path.join(): there are thousands of them. */
const fileIn = (folder: string, id: string): string => `${folder}${path.sep}${id}.jsonl`;
const lockFile = (filePath: string): string => filePath.replace(/jsonl$/, "lock");

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
  idOrHeader: string | Header,
  warnPerson: (warningText: string) => void,
): Session {
  const id = typeof idOrHeader === "string" ? idOrHeader : idOrHeader.id;
  const keptSession = storeAt(sessionPlace).open(id, typeof idOrHeader !== "string", warnPerson);
  const database = new LowSync<SessionLine[]>(
    appendingAdapter(keptSession, nameOfPlace(sessionPlace, id), warnPerson),
    [],
  );
  try {
    if (typeof idOrHeader === "string") database.read();
    else database.update((sessionLines) => void sessionLines.push(idOrHeader));
  } catch (error) {
    keptSession.close();
    throw error;
  }
  const { sync, syncNow, close } = keptSession;
  return sessionFromLines({ ...(database.data[0] as Header), id }, database, {
    sync,
    syncNow,
    close,
  });
}

/** The sessions of a home, one file each. */
export const sessionFiles = (home: string): SessionStore => ({
  where: sessionsFolder(home),
  ids: () => sessionIds(home),
  list: () => listFiles(home),
  read: (id) => fs.readFileSync(sessionFile(home, id)),
  recent: (root, warnPerson) => recentFiles(home, root, warnPerson),
  open(id, isNew, warnPerson) {
    const filePath = sessionFile(home, id);
    const newFolders = missingFolders(sessionsFolder(home));
    if (isNew) makePrivate(sessionsFolder(home));
    const release = acquireLock(
      lockFile(filePath),
      `Cannot open session '${id}'`,
      "Go on there, or close it; --fork goes on in a copy",
    );
    const openLines = fileLines(filePath, warnPerson, newFolders);
    const close = () => {
      openLines.close();
      release();
    };
    return { ...openLines, close };
  },
  rename: (id, newTitle) => keepTitle(home, id, newTitle),
  remove(id) {
    fs.unlinkSync(sessionFile(home, id));
    keepTitle(home, id, "");
  },
});

/** Reads a session without a lock or repairs. */
export function readSession(sessionPlace: SessionPlace, id: string): Saved {
  const placeName = nameOfPlace(sessionPlace, id);
  const [header, ...entries] = parseLines(storeAt(sessionPlace).read(id), placeName).lines;
  return { header, entries, branch: () => branchOf(entries) };
}

const sessionIds = (home: string): string[] =>
  entriesOf(sessionsFolder(home)).flatMap((fileName) =>
    fileName.endsWith(".jsonl") ? [fileName.slice(0, -".jsonl".length)] : [],
  );

export const hasSession = (sessionPlace: SessionPlace, id: string): boolean =>
  storeAt(sessionPlace).ids().includes(id);

/** All sessions' headers, last used first; without failed one-shots that nobody continued. */
export const listSessions = (sessionPlace: SessionPlace): Listed[] =>
  storeAt(sessionPlace)
    .list()
    .sort((first, second) => compare(second.used, first.used) || compare(second.id, first.id));

/** By the beginning and the end of each file; a short one is read once. */
function listFiles(home: string): Listed[] {
  const buffer = Buffer.allocUnsafe(8192);
  const savedTitles = titlesOf(home);
  const folder = sessionsFolder(home);
  const lockNames = new Set(entriesOf(folder).filter((fileName) => fileName.endsWith(".lock")));
  return sessionIds(home).flatMap((id): Listed | [] => {
    const filePath = fileIn(folder, id);
    const { text, stat } = readPart(filePath, buffer, true);
    const isWholeFile = stat !== undefined && stat.size <= buffer.length;
    const header = isWholeFile ? firstLineOf(text) : readFirstLine(filePath, buffer);
    if (!isHeader(header) || /"type":"failed"\}\n$/.test(text)) return [];
    const lastUse = stat
      ? { used: new Date(findUseTime(stat, text)).toISOString(), bytes: stat.size }
      : { used: header.at, bytes: 0 };
    const [, model = header.model] =
      [...text.matchAll(/"model":"([^"\\]+)"(,"ms":\d+|\}\n)/g)].at(-1) ?? [];
    const isHeld = lockNames.has(`${id}.lock`) && isHeldByAnother(lockFile(filePath));
    return {
      ...header,
      ...lastUse,
      id, // that of the file, whatever the header says
      model,
      title: clean(savedTitles[id] || header.title),
      ...(isHeld && { held: true as const }),
    };
  });
}

/** The beginning of a file, or its end. */
function readPart(
  filePath: string,
  buffer: Buffer,
  isEnd = false,
): { text: string; stat?: fs.Stats } {
  const readResult = tryTo(() => {
    // a FIFO does not block
    const fd = fs.openSync(filePath, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    const stat = fs.fstatSync(fd);
    const byteCount =
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
    return { text: buffer.toString("utf8", 0, byteCount), stat };
  });
  return readResult ?? { text: "" };
}

/** Some disks keep times to two seconds. There the last line says when a session was used. */
const hasWholeSeconds = ({ mtimeMs }: fs.Stats): boolean => mtimeMs % 1_000 === 0;
function findUseTime(fileStat: fs.Stats, endText: string): number {
  const lastMatch = [...endText.matchAll(/^\{"id":\d+,"parent":\w+,"at":"([^"]+)"/gm)].at(-1);
  const entryTime = hasWholeSeconds(fileStat) && lastMatch ? Date.parse(lastMatch[1]!) : 0;
  return Math.abs(entryTime - fileStat.mtimeMs) < 2_000 ? entryTime : fileStat.mtimeMs;
}

/** Titles of renamed sessions, kept in one file so that lists need not read every session. */
const titlesFile = (home: string): string => path.join(sessionsFolder(home), "titles.json");
const titlesOf = (home: string): Record<string, string> =>
  pickKeys(jsonIn(titlesFile(home)) ?? {}, (_, title) => typeof title === "string");
function keepTitle(home: string, id: string, newTitle: string): void {
  if (!titlesOf(home)[id] && !newTitle) return;
  updatePrivateFile(titlesFile(home), () => {
    const { [id]: _, ...titles } = titlesOf(home);
    return veiledJson(newTitle ? { ...titles, [id]: newTitle } : titles, 2);
  });
}

const readFirstLine = (filePath: string, buffer: Buffer = Buffer.allocUnsafe(8192)): unknown =>
  firstLineOf(readPart(filePath, buffer).text);
const firstLineOf = (startText: string): unknown =>
  tryTo(() => JSON.parse(startText.split("\n", 1)[0]!));

/** The session of this folder that was used last and fits. */
export function lastSession(
  sessionPlace: SessionPlace,
  root: string,
  warnPerson: (warningText: string) => void,
  isWanted = (_: string) => true,
) {
  for (const id of storeAt(sessionPlace).recent(root, warnPerson)) if (isWanted(id)) return id;
  return undefined;
}

/** The sessions of this folder, last used first. Unreadable files are reported and skipped. */
function* recentFiles(
  home: string,
  root: string,
  warnPerson: (warningText: string) => void,
): Generator<string> {
  const folder = sessionsFolder(home);
  const staleLocks = entriesOf(folder).filter(
    (fileName) =>
      fileName.endsWith(".lock") && !readFirstLine(fileIn(folder, fileName.slice(0, -5))),
  );
  sweepParts(folder);
  // killed before the first line
  for (const lockName of staleLocks) tryTo(() => acquireLock(path.join(folder, lockName), "")());
  const buffer = Buffer.allocUnsafe(8192);
  const usedFiles = sessionIds(home).map((id) => {
    const file = fileIn(folder, id);
    const fileStat = fs.statSync(file, { throwIfNoEntry: false });
    const usedTime =
      fileStat &&
      (hasWholeSeconds(fileStat)
        ? findUseTime(fileStat, readPart(file, buffer, true).text)
        : fileStat.mtimeMs);
    return { id, file, at: usedTime ?? 0 };
  });
  for (const { id, file } of usedFiles.sort((first, second) => second.at - first.at)) {
    const firstLine = readFirstLine(file);
    if (isHeader(firstLine) && firstLine.root === root) yield id;
    const reason = isNewer(firstLine)
      ? "is of a newer zz"
      : (whyUnreadable(file) ?? "holds no readable header");
    if (!isHeader(firstLine))
      warnPerson(`Session file '${file}' ${reason}; it was ignored and left as it is.`);
  }
}

/** What the disk says against reading a file. */
function whyUnreadable(filePath: string): string | undefined {
  try {
    const fd = fs.openSync(filePath, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
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
export function findSession(sessionPlace: SessionPlace, idStart: string): string {
  const allIds = storeAt(sessionPlace).ids();
  const isMeant = (id: string) =>
    id.startsWith(idStart) || (idStart.length > 3 && id.includes(`-${idStart}`));
  const matchingIds = allIds.includes(idStart) ? [idStart] : allIds.filter(isMeant);
  const isUsable = (id: string) =>
    typeof sessionPlace !== "string" || fs.statSync(sessionFile(sessionPlace, id)).isFile();
  if (matchingIds.length === 1 && isUsable(matchingIds[0]!)) return matchingIds[0]!;
  const reasons = ["there is none. `zz --sessions` lists them", "it is not a file. Move it away"];
  const reason = reasons[matchingIds.length] ?? `${matchingIds.length} begin like that. Give more`;
  throw usage(`Cannot open session '${idStart}': ${reason}.`);
}

export const newSessionId = (timestamp: string): string =>
  `${timestamp.slice(0, 19).replace(/[-:]/g, "").replace("T", "-")}-${newId()}`;
