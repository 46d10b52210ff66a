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

export interface Questions {
  reach(): { news: string[]; team: TeamFiles };
  putTeam(files: TeamFiles): void;
  ids(): string[];
  list(): Listed[];
  read(id: string): string; // its lines
  open(id: string, isNew: boolean): string; // its lines
  append(id: string, lines: readonly string[]): void;
  sync(id: string): string; // what is wrong, or ""
  release(id: string): void;
  rename(id: string, title: string): void;
  remove(id: string): void;
  quit(): void;
}
export type Question = keyof Questions;
export type Asked = { question: Question; given: unknown[] };
export type Answered = { value?: unknown; failed?: string };
