// What the index knows about one file: its symbols, imports, exports, uses and TODO comments.

/** What the index holds of one file. No bodies. */
export interface Facts {
  symbols: Sym[];
  imports: Import[];
  exports: Export[];
  uses: Record<string, number>; // how often each identifier stands there
  todos: Todo[];
  loc: number; // lines that are neither blank nor comment
  nesting: number; // blocks and functions within one another, at the deepest place
  decisions: number; // ways to branch: if, loops, case, catch, ?:, && || ??
  parseError?: string;
  global?: true; // what it declares is seen without an import
  unread?: string; // listed, not parsed: why
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
  decisions?: number; // of a function, without those within it
  local?: true; // within a function
}
export interface Import {
  from: string;
  line: number;
  how: "import" | "type" | "export" | "dynamic" | "require";
  names: string[]; // "foo", "foo as bar", "default as x", "* as all", "*"
}
export interface Export {
  name: string; // as others see it
  local?: string; // as it is called here, where that differs
  from?: string; // re-exported from there
}
export interface Todo {
  line: number;
  text: string;
}

/** Index files hold places in this list: new kinds go at its end. */
export const SYMBOL_KINDS = [
  ...(["function", "class", "method", "property", "interface", "type", "enum", "member", "namespace"] as const),
  ...(["const", "variable", "key"] as const),
];

/** Of a signature, a comment or a TODO. */
export const MAX_TEXT_CHARS = 120;

/** A file that is listed and not parsed. */
export const listed = (unread: string): Facts => ({ ...empty(), unread });

export const empty = (): Facts => ({
  ...{ symbols: [], imports: [], exports: [], uses: {}, todos: [] },
  ...{ loc: 0, nesting: 0, decisions: 0 },
});
