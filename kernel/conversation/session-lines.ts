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
export function appendingAdapter(kept: KeptSession, file: string, warn: (text: string) => void) {
  let written = 0;
  return {
    read(): SessionLine[] {
      const bytes = kept.read();
      const { lines, end, spoilt } = parseLines(bytes, file);
      const torn = bytes.length - end;
      if (spoilt)
        warn(
          `Session file '${file}' has ${spoilt} unreadable ${spoilt === 1 ? "line, which was" : "lines, which were"} ignored.`,
        );
      if (torn)
        warn(
          `Session file '${file}' ended in the middle of a line; its last ${torn} bytes, never confirmed as saved, were cut off.`,
        );
      if (torn) kept.cut?.(end);
      written = lines.length;
      return lines;
    },
    write(lines: SessionLine[]): void {
      try {
        kept.append(lines.slice(written).map(serializeLine));
      } catch (error) {
        lines.length = written;
        throw error;
      }
      written = lines.length;
    },
  };
}

/** Veils entries that are new. */
const serializeLine = (line: SessionLine): string =>
  "type" in line && line.type === "change" ? JSON.stringify(line) : veiledJson(line);

/**
 * Parses a session. `end` is where the last complete line ends, `spoilt` counts lines that are
 * neither header nor entry.
 */
export function parseLines(
  bytes: Buffer,
  file: string,
): { lines: [Header, ...Entry[]]; end: number; spoilt: number } {
  const lines: SessionLine[] = [];
  let [end, spoilt, newer] = [0, 0, false];
  for (let stop = bytes.indexOf(10); stop >= 0; stop = bytes.indexOf(10, end)) {
    const line = tryTo(() => JSON.parse(bytes.toString("utf8", end, stop)));
    if (lines.length ? typeof line?.id === "number" : isHeader(line)) lines.push(line);
    else spoilt++;
    newer ||= !lines.length && isNewer(line);
    end = stop + 1;
  }
  if (lines.length) return { lines: lines as [Header, ...Entry[]], end, spoilt };
  const cannotOpen = (reason: string, next: string) =>
    fault(
      `Cannot open session file '${file}': ${reason}. It was left as it is. ${next}, or start without it.`,
    );
  if (newer) throw cannotOpen("a newer zz made it", "Open it with that one");
  throw cannotOpen(bytes.length ? "it holds no readable header" : "it is empty", "Move it away");
}

// written by a newer zz
export const isNewer = (line: unknown): boolean => Number((line as Header | undefined)?.zz) > 1;
export const isHeader = (line: unknown): line is Header =>
  (line as Header)?.zz === 1 &&
  (["id", "at", "root", "model", "title"] as const).every(
    (key) => typeof (line as Header)[key] === "string",
  );

/** Whether a message from a file can be sent; others are ignored. */
export function isMessage(value: unknown): value is Message {
  const message = value as Message & { calls?: unknown };
  if (typeof message?.text !== "string") return false;
  if (message.role === "tool")
    return typeof message.id === "string" && typeof message.name === "string";
  const isCall = (call: Call) =>
    typeof call?.id === "string" && typeof call.name === "string" && Boolean(call.args);
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
  db: LowSync<SessionLine[]>,
  ends: Pick<Session, "sync" | "syncNow" | "close">,
): Session {
  return {
    header,
    get entries() {
      return db.data.slice(1) as Entry[];
    },
    branch: () => branchOf(db.data.slice(1) as Entry[]),
    append(type, fields, parent) {
      const last = db.data.length > 1 ? (db.data.at(-1) as Entry) : { id: 0 };
      const under = parent === undefined ? last.id || null : parent;
      // undo restores files to the byte
      const veiledFields = type === "change" ? fields : veilData(fields);
      db.data.push({
        id: last.id + 1,
        parent: under,
        at: new Date().toISOString(),
        type,
        ...veiledFields,
      });
      db.write();
    },
    ...ends,
  };
}

/**
 * The entries from the root to the last one. An entry whose parent is lost follows the one before
 * it.
 */
export function branchOf(entries: Entry[]): Entry[] {
  const places = new Map(entries.map((sessionEntry, i) => [sessionEntry.id, i]));
  const branch: Entry[] = [];
  for (let index = entries.length - 1; index >= 0; ) {
    const currentEntry = entries[index]!;
    branch.push(currentEntry);
    index =
      currentEntry.parent === null
        ? -1
        : Math.min(places.get(currentEntry.parent) ?? index - 1, index - 1);
  }
  return branch.reverse();
}
