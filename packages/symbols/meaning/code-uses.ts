// What the tools make of the answers of a language server (ctx.service("languageServers")).

/** A declaration as in the index: it begins on this line, though its name may be on a later one. */
export interface SymbolSpot {
  path: string;
  line: number; // from 1
  name: string; // also "default", "constructor", "#private", "some-key"
}
export interface CodeUse {
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
  places: CodeUse[];
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
