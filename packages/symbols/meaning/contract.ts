// What a language server is asked, by packages/code, and what the tools make of its answers.

/** A place as the protocol of language servers counts: lines and UTF-16 units, from 0. */
export interface Point {
  path: string; // relative to the project, like all paths
  line: number;
  character: number;
}
export interface Spot extends Point {
  endLine: number;
  endCharacter: number;
}
/** See packages/code/questions.ts. */
export interface LanguageServer {
  readonly name: string;
  readonly isSafe: boolean; // it can read nothing that zz may not
  references(at: Point): Promise<Spot[]>;
  definition(at: Point): Promise<Spot[]>; // outside of the project: with an absolute path
  rename(at: Point, to: string): Promise<(Spot & { text: string })[]>;
  mayRename(at: Point): Promise<string | undefined>; // why not
  hover(at: Point): Promise<string>;
  problems(file: string): Promise<(Spot & { message: string; code: string | number; severity: number })[]>;
  callers(at: Point): Promise<Called[]>;
  callees(at: Point): Promise<Called[]>;
  symbols(file: string): Promise<(Spot & { name: string; begins: number; ends: number })[]>;
  show(file: string, text: string): void; // goes by this text, whatever the disk has
  hide(file: string): void;
  shows(file: string): boolean;
}
export type Called = Spot & { name: string; from: Spot[] }; // from: where the calls are

/** A declaration as in the index: it begins on this line, though its name may be on a later one. */
export interface At {
  path: string;
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
  kind: "definition" | "import" | "export" | "write" | "read" | "comment";
}
/** The places of one thing. */
export interface Group {
  symbol: string; // "function foo(): void"
  places: Place[];
}
export interface Edit {
  path: string;
  start: number;
  end: number;
  text: string;
}
export interface Problem {
  path: string;
  line: number;
  column: number;
  code: number;
  message: string;
  category: "error" | "warning";
}
