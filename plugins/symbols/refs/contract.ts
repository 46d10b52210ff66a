// The questions to the service, and its answers.

/** A declaration as in the index: it begins on this line, though its name may be on a later one. */
export interface At {
  path: string; // relative to the project
  line: number; // from 1
  name: string; // also "default", "constructor", "#private", "some-key"
}
export interface Place {
  path: string;
  line: number; // from 1
  column: number; // from 1
  start: number; // in UTF-16 units of the text as read, including a byte order mark
  end: number;
  text: string; // the line, trimmed, at most 120 characters
  kind: "definition" | "import" | "export" | "write" | "read" | "type" | "comment";
}
/** The places of one symbol; under another name it is a separate group. */
export interface Group {
  symbol: string; // as TypeScript writes it: "function foo(): void"
  places: Place[];
}
/** What a name means wherever the project has it, though nothing of the project defines it. */
export interface Named {
  groups: Group[];
  left: number; // files that were not looked into, because the time was over
}
export interface Edit {
  path: string;
  start: number;
  end: number;
  text: string;
}
export interface Renaming {
  edits: Edit[]; // by path, then from the start; non-overlapping
  refused?: string; // why there are none
}
export interface Problem {
  path: string;
  line: number;
  column: number;
  code: number;
  message: string;
  category: "error" | "warning" | "suggestion" | "message";
}
export interface Service {
  references(at: At): Group[];
  /** All places of a name in these files, apart by what it means there. */
  named(name: string, paths: string[]): Named;
  rename(at: At, to: string): Renaming;
  check(paths: string[]): Problem[];
  /** What could not be read since the last question, as sentences. */
  unread(): string[];
  /** All code files: before the first question, and whenever one was added or removed. `sources`: see Sources. */
  update(names: string[], sources?: ReadonlyMap<string, string>): void;
  /** For idle time: one step, of about 50 ms except the first, towards faster answers. False: nothing is left to do. */
  warm(): boolean;
  close(): void;
}
