// Sessions: how conversations are kept, listed and read again.
import type { Message } from "./model-types.ts";

export interface Sessions {
  list(): Listed[]; // the one used last first
  read(id: string): Saved;
  // continues with that session, with a copy of it, or (no id) with a new one
  open(id?: string, copy?: boolean): void;
  rename(id: string, title: string): void;
  remove(id: string): void;
  // "files", a home's folder or a URL; without one, where this zz keeps its sessions
  store(placeName?: string): SessionStore;
}

/** A kind of place for sessions beside files, by the scheme of its URLs. */
export interface Store {
  name: string; // the scheme of its URLs
  // at its first use; it connects when it is first asked something
  open(url: string, home: string): SessionStore;
}
/**
 * Where sessions are kept. It answers at once: zz goes on when an entry is kept. What it throws is
 * shown; the session goes on unsaved.
 */
export interface SessionStore {
  readonly where: string; // as messages name it, without a password
  // throws if it is out of reach; what the person should know of it, each a sentence
  reach?(): string[];
  ids(): string[];
  list(): Listed[]; // in any order, without those whose last entry is of type "failed"
  // ids of this folder's sessions, last used first
  recent(root: string, warn: (text: string) => void): Iterable<string>;
  read(id: string): Buffer; // its lines, each with a newline at its end
  // locks it; throws if another zz has it open
  open(id: string, isNew: boolean, warn: (text: string) => void): KeptSession;
  rename(id: string, title: string): void; // "": as its header says
  remove(id: string): void;
  close?(): void;
}
/**
 * A session that this zz alone writes to. Its first line is a header as JSON, every other an entry.
 */
export interface KeptSession {
  read(): Buffer;
  append(lines: readonly string[]): void; // all or none; kept when it returns
  cut?(bytes: number): void; // keeps only the first so many: what follows is torn
  sync(): Promise<void>; // safe from a power cut, too
  syncNow(): void; // the same at once; throws if it cannot
  close(): void;
}

// the first line of a session's file
export type Header = { zz: 1; id: string; at: string; root: string; model: string; title: string };
// for lists: the last use, the file's size; held by another zz
export type Listed = Header & { used: string; bytes: number; held?: true };
/**
 * Every later line. `parent` makes them a tree: nothing is ever rewritten. Unknown types are kept.
 */
export interface Entry {
  id: number;
  parent: number | null;
  at: string;
  type: "message" | "draft" | "state" | "back" | (string & {});
  message?: Message;
  [field: string]: unknown;
}
/**
 * A session to read and to copy: all entries in order, and the branch from the root to the last
 * one.
 */
export type Saved = {
  readonly header: Header;
  readonly entries: readonly Entry[];
  branch(): Entry[];
};
