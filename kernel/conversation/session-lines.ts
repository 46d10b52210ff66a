// The lines of a session: a header, then one entry a line; read whatever became of them, and only
// ever appended to.
import { LowSync } from "lowdb";
import type { Call, Entry, Header, KeptSession, Message } from "../contract.ts";
import type { Session } from "../instance.ts";
import { fault } from "../text/faults.ts";
import { veilData, veiledJson } from "../text/secrets.ts";
import { tryTo } from "../text/words.ts";

/**
 * The change of one file: from its old to its new state, each with a hash; null: it did not exist.
 */
export interface Change extends Entry {
  type: "change";
  change: number; // its number, from 1
  group: number; // the number of the first change in its call
  turn: number;
  tool: string;
  path: string; // absolute
  was: string | null;
  is: string | null;
  modes: [before: number, after: number];
  base?: Content; // the full old content, unless an earlier entry has it
  place: number; // `put` replaces `cut` bytes there
  cut: number;
  put: Content;
  made: string[]; // folders that it created
  moves?: string; // of many files shown as one: where they are kept
}
export type Content = { text: string } | { base64: string };

export const isChange = (sessionEntry: Entry): sessionEntry is Change =>
  sessionEntry.type === "change" &&
  typeof sessionEntry.change === "number" &&
  typeof sessionEntry.path === "string" &&
  Array.isArray(sessionEntry.made);

export type SessionLine = Header | Entry;
/**
 * A lowdb adapter that appends: `write` adds only new lines. `read` drops a torn last line (after a
 * crash) and reports it.
 */
export function appendingAdapter(
  keptSession: KeptSession,
  sessionFile: string,
  warnPerson: (warningText: string) => void,
) {
  let written = 0;
  return {
    read(): SessionLine[] {
      const sessionBytes = keptSession.read();
      const { lines, end, spoilt } = parseLines(sessionBytes, sessionFile);
      const tornBytes = sessionBytes.length - end;
      if (spoilt)
        warnPerson(
          `Session file '${sessionFile}' has ${spoilt} unreadable ` +
            `${spoilt === 1 ? "line, which was" : "lines, which were"} ignored.`,
        );
      if (tornBytes) {
        warnPerson(
          `Session file '${sessionFile}' ended in the middle of a line; ` +
            `its last ${tornBytes} bytes, never confirmed as saved, were cut off.`,
        );
        keptSession.cut?.(end);
      }
      written = lines.length;
      return lines;
    },
    write(sessionLines: SessionLine[]): void {
      try {
        keptSession.append(sessionLines.slice(written).map(serializeLine));
      } catch (error) {
        sessionLines.length = written;
        throw error;
      }
      written = sessionLines.length;
    },
  };
}

/** Veils entries that are new. */
const serializeLine = (sessionLine: SessionLine): string =>
  "type" in sessionLine && sessionLine.type === "change"
    ? JSON.stringify(sessionLine)
    : veiledJson(sessionLine);

/**
 * Parses a session. `end` is where the last complete line ends, `spoilt` counts lines that are
 * neither header nor entry.
 */
export function parseLines(
  sessionBytes: Buffer,
  sessionFile: string,
): { lines: [Header, ...Entry[]]; end: number; spoilt: number } {
  const parsedLines: SessionLine[] = [];
  let [end, spoilt, isFromNewer] = [0, 0, false];
  for (
    let newlineOffset = sessionBytes.indexOf(10);
    newlineOffset >= 0;
    newlineOffset = sessionBytes.indexOf(10, end)
  ) {
    const parsedLine = tryTo(() => JSON.parse(sessionBytes.toString("utf8", end, newlineOffset)));
    if (parsedLines.length ? typeof parsedLine?.id === "number" : isHeader(parsedLine))
      parsedLines.push(parsedLine);
    else spoilt++;
    isFromNewer ||= !parsedLines.length && isNewer(parsedLine);
    end = newlineOffset + 1;
  }
  if (parsedLines.length) return { lines: parsedLines as [Header, ...Entry[]], end, spoilt };
  const cannotOpen = (reason: string, nextStep: string) =>
    fault(
      `Cannot open session file '${sessionFile}': ${reason}. ` +
        `It was left as it is. ${nextStep}, or start without it.`,
    );
  if (isFromNewer) throw cannotOpen("a newer zz made it", "Open it with that one");
  throw cannotOpen(
    sessionBytes.length ? "it holds no readable header" : "it is empty",
    "Move it away",
  );
}

// written by a newer zz
export const isNewer = (parsedLine: unknown): boolean =>
  Number((parsedLine as Header | undefined)?.zz) > 1;
export const isHeader = (parsedLine: unknown): parsedLine is Header =>
  (parsedLine as Header)?.zz === 1 &&
  (["id", "at", "root", "model", "title"] as const).every(
    (headerField) => typeof (parsedLine as Header)[headerField] === "string",
  );

/** Whether a message from a file can be sent; others are ignored. */
export function isMessage(candidate: unknown): candidate is Message {
  const message = candidate as Message & { calls?: unknown };
  if (typeof message?.text !== "string") return false;
  if (message.role === "tool")
    return typeof message.id === "string" && typeof message.name === "string";
  const isCall = (savedCall: Call) =>
    typeof savedCall?.id === "string" &&
    typeof savedCall.name === "string" &&
    Boolean(savedCall.args);
  if (message.role === "assistant")
    return !message.calls || (Array.isArray(message.calls) && message.calls.every(isCall));
  return message.role === "user";
}

/** A session in memory, where nothing is saved. */
export function unsavedSession(header: Header, entries: readonly Entry[] = []): Session {
  const nowhere = new LowSync<SessionLine[]>({ read: () => null, write: () => {} }, [
    header,
    ...entries,
  ]);
  return sessionFromLines(header, nowhere, { sync: async () => {}, syncNow() {}, close: () => {} });
}

export function sessionFromLines(
  header: Header,
  database: LowSync<SessionLine[]>,
  diskActions: Pick<Session, "sync" | "syncNow" | "close">,
): Session {
  return {
    header,
    get entries() {
      return database.data.slice(1) as Entry[];
    },
    branch: () => branchOf(database.data.slice(1) as Entry[]),
    append(type, entryFields, parentId) {
      const lastEntry = database.data.length > 1 ? (database.data.at(-1) as Entry) : { id: 0 };
      const newParent = parentId === undefined ? lastEntry.id || null : parentId;
      // undo restores files to the byte
      const veiledFields = type === "change" ? entryFields : veilData(entryFields);
      database.data.push({
        id: lastEntry.id + 1,
        parent: newParent,
        at: new Date().toISOString(),
        type,
        ...veiledFields,
      });
      database.write();
    },
    ...diskActions,
  };
}

/**
 * The entries from the root to the last one. An entry whose parent is lost follows the one before
 * it.
 */
export function branchOf(entries: Entry[]): Entry[] {
  const indexById = new Map(entries.map((sessionEntry, i) => [sessionEntry.id, i]));
  const branchEntries: Entry[] = [];
  for (let entryIndex = entries.length - 1; entryIndex >= 0; ) {
    const currentEntry = entries[entryIndex]!;
    branchEntries.push(currentEntry);
    entryIndex =
      currentEntry.parent === null
        ? -1
        : Math.min(indexById.get(currentEntry.parent) ?? entryIndex - 1, entryIndex - 1);
  }
  return branchEntries.reverse();
}
