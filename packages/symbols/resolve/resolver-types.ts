// What a resolver answers, and the graph made of the answers.
import type { Import } from "../scan/facts.ts";

/**
 * Where imports lead: a file of the project; "" for something outside of it; "node:" for a built-in
 * module; undefined for nowhere. A resolver is made for one list of names: open another one when
 * files were added or removed.
 */
export interface Resolver {
  // has to be called before resolve()
  prepare(
    askedFiles: Iterable<readonly [file: string, imports: readonly AskedImport[]]>,
  ): Promise<void>;
  resolve(importer: string, askedImport: AskedImport): string | undefined;
  // files of other languages (languages/find-imports.ts); undefined where resolve() answers
  others(
    importer: string,
    askedImport: Pick<Import, "from" | "names" | "inside">,
  ): string[] | undefined;
  // mains: what package.json names as main, bin, exports …
  packages(): { folder: string; mains: string[] }[];
  kept(): Kept; // the object that it was opened with, as long as nothing new was found or read
}
/** Plain JSON, to pass to openResolver() the next time. */
export interface Kept {
  names: string; // a hash of the list of files
  seen: Record<string, string>; // what the answers were made from, with their stamps
  ways: Record<string, string>; // what a tsconfig.json asks for, in letters: see resolve.ts
  found: Record<string, string | null>;
}
export type AskedImport = Pick<Import, "from" | "how">;
export type ImportForm = Import["how"];

export interface Edge {
  to: string | undefined; // the file, if it is internal
  also?: string[]; // further files, where one import leads to several
  own?: true; // a module within a file imports from that file
  spec: string;
  line: number;
  kind: "internal" | "external" | "builtin" | "missing";
  how: ImportForm;
}
export interface Graph {
  imports: Map<string, Edge[]>;
  dependents: Map<string, string[]>;
}

/** The project on the disk, for typescript.ts. Everything it reads is recorded. */
export interface Disk {
  readonly root: string;
  readonly names: ReadonlySet<string>;
  // relative to the project; undefined: outside, or in node_modules
  local(filePath: string): string | undefined;
  isFile(filePath: string): boolean;
  isFolder(filePath: string): boolean;
  read(filePath: string): string | undefined;
  packageIn(packageFolder: string): Json | undefined; // its package.json
  sourceOf(
    filePath: string,
    outFolders?: readonly [from: string, to: string][],
    isNamed?: boolean,
  ): string | undefined;
}
export type Json = Record<string, unknown>;
