// What the index knows about one file: its symbols, imports, exports, uses and TODO comments.

import { NO_USES } from "./uses.ts";

/** The index entry of one file, without bodies. */
export interface Facts {
  symbols: Sym[];
  imports: Import[];
  exports: Export[];
  uses: string; // how often each identifier occurs: see uses.ts
  todos: Todo[];
  loc: number; // lines that are neither blank nor comment
  nesting: number; // the deepest nesting of blocks and functions
  decisions: number; // branches: if, loops, case, catch, ?:, && || ??
  parseError?: string;
  global?: true; // its declarations are visible without an import
  unread?: string; // why it is listed but not parsed
  made?: true; // by a program: its first lines say so
  retry?: true; // not kept: what could not be read may be another time
}
export interface Sym {
  name: string;
  kind: (typeof SYMBOL_KINDS)[number];
  line: number;
  end: number;
  signature: string; // one line, cut at 120 characters
  owner?: string; // the class, object, namespace or function around it
  exported?: true;
  async?: true;
  visibility?: "private" | "protected";
  doc?: string; // the first line of the comment before it
  decisions?: number; // of a function, without nested ones
  local?: true; // inside a function
}
export interface Import {
  from: string;
  line: number;
  how: "import" | "type" | "export" | "dynamic" | "require";
  names: string[]; // "foo", "foo as bar", "default as x", "* as all", "*"
  inside?: number; // Rust: so many modules of the file itself are around it
}
export interface Export {
  name: string; // as other files see it
  local?: string; // its name in this file, if different
  from?: string; // re-exported from there
}
export interface Todo {
  line: number;
  text: string;
}

export const SYMBOL_KINDS = [
  "function",
  "class",
  "method",
  "property",
  "interface",
  "type",
  "enum",
  "member",
  "namespace",
  "const",
  "variable",
  "key",
] as const;

/** of a signature, a comment or a TODO */
export const MAX_TEXT_CHARS = 120;

/** The facts of a file that is listed but not parsed. */
export const unreadFacts = (unread: string): Facts => ({ ...emptyFacts(), unread });

export const emptyFacts = (): Facts => ({
  symbols: [],
  imports: [],
  exports: [],
  uses: NO_USES,
  todos: [],
  loc: 0,
  nesting: 0,
  decisions: 0,
});
