// What a resolver answers, and the graph that is made of the answers.
import type { Import } from "../scan/facts.ts";

/**
 * Where imports lead: a file of the project; "" for what lies outside of it; "node:" for one of Node's own; undefined for
 * nowhere. It is made for one list of names: open another one when files came or went.
 */
export interface Resolver {
  prepare(files: Iterable<readonly [file: string, imports: readonly Asked[]]>): Promise<void>; // before they are resolved
  resolve(file: string, one: Asked): string | undefined;
  packages(): { folder: string; mains: string[] }[]; // mains: what package.json names as main, bin, exports …
  kept(): Kept; // the very object that was given, unless something was asked anew
}
/** Plain JSON, to be given to openResolver() next time. */
export interface Kept {
  names: string; // the list of files, as a hash
  seen: Record<string, string>; // what the answers were made from, and when it last changed
  ways: Record<string, string>; // what a tsconfig.json asks for, one letter each: see Place
  found: Record<string, string | null>;
}
export type Asked = Pick<Import, "from" | "how">;
export type How = Import["how"];

export interface Edge {
  to: string | undefined; // of an internal one
  spec: string;
  line: number;
  kind: "internal" | "external" | "builtin" | "missing";
  how: How;
}
export interface Graph {
  imports: Map<string, Edge[]>;
  dependents: Map<string, string[]>;
}

/** The project as it is found on the disk, for modules.ts. All that it reads is noted. */
export interface Disk {
  readonly root: string;
  readonly names: ReadonlySet<string>;
  local(file: string): string | undefined; // relative to the project; undefined: outside, or in node_modules
  isFile(file: string): boolean;
  isFolder(file: string): boolean;
  read(file: string): string | undefined;
  packageIn(folder: string): Json | undefined; // its package.json
  sourceOf(file: string, out?: readonly [from: string, to: string][], isNamed?: boolean): string | undefined;
}
export type Json = Record<string, unknown>;
