// What the service is asked, and what it answers.

/** A declaration as the index has it: on this line it begins, though its name may stand on a later one. */
export interface At {
  path: string; // relative to the project
  line: number; // from 1
  name: string; // also "default", "constructor", "#private", "some-key"
}
export interface Place {
  path: string;
  line: number; // from 1
  column: number; // from 1
  start: number; // in UTF-16 units of the text as it is read, in which a byte order mark is one
  end: number;
  text: string; // the line, trimmed, at most 120 characters
  kind: "definition" | "import" | "export" | "write" | "read" | "type" | "comment";
}
/** The places of one symbol; under another name it is a group of its own. */
export interface Group {
  symbol: string; // as TypeScript writes it: "function foo(): void"
  places: Place[];
}
export interface Edit {
  path: string;
  start: number;
  end: number;
  text: string;
}
export interface Renaming {
  edits: Edit[]; // by path, then from the start; none overlaps another
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
  rename(at: At, to: string): Renaming;
  check(paths: string[]): Problem[];
  /** What was not read since the last question, as sentences. */
  unread(): string[];
  /** Every code file there is: before the first question, and whenever one came or went. */
  update(names: string[]): void;
  /** For idle time: one step towards answers at once, of about 50 ms but for the first. False: nothing is left to do. */
  warm(): boolean;
  close(): void;
}
