// What the store asks of its thread. Both sides have these types, and neither loads the other.
import type { Listed } from "zz";

export interface Options {
  url: string;
  where: string; // the URL without user and password
  password: string; // what key_command printed, or ""
  prefix: string;
  cluster: boolean;
  replicas: number; // that must have an entry before it counts as safe from a power cut
  seconds: number; // to retry for
  lockSeconds: number;
  owner: string; // who holds the locks: machine, process, when it started, and which store of it
}

/** A team's settings and prompts: texts by their names, as "prompts/review.md". */
export type TeamFiles = Record<string, string>;

/** What the index says of a session. */
export type Kept = Listed & { failed?: true };
/** Thousands of them pass between threads as one text: JSON of `Kept[]`. */
export interface Many {
  sessions: string;
  titles: Record<string, string>; // by id, of those that were renamed
  held: string[]; // ids of those that another zz has open
}

export interface Questions {
  reach(): { news: string[]; team: TeamFiles };
  putTeam(teamFiles: TeamFiles): void;
  ids(): string[];
  list(): Many;
  read(id: string): string; // its lines
  open(id: string, isNew: boolean): string; // its lines
  append(id: string, newLines: readonly string[]): void;
  sync(id: string): string; // what is wrong, or ""
  release(id: string): void;
  rename(id: string, newTitle: string): void;
  remove(id: string): void;
}
export type Question = keyof Questions;
export type Asked = { question: Question; given: unknown[] };
export type Answered = { value?: unknown; failed?: string };
