// The state of an open service, which all functions of this folder pass on.
import type { Stats } from "node:fs";
import type { ts } from "ts-morph";
import type { CompilerGate } from "zz";
import type { Export, Import } from "../scan/facts.ts";

/** One tsconfig.json or jsconfig.json, or none. */
export interface Config {
  path: string; // "": none
  options: ts.CompilerOptions;
  cache: ts.ModuleResolutionCache;
  parts: Config[]; // it only names these
  files?: Set<string>; // its files, if another config references it
}
/** What is loaded under one config. */
export interface Slice {
  config: Config;
  roots: Set<string>;
  full: Set<string>; // parsed with JSDoc, which contains references too; without, parsing takes 40 % less
  docs: Map<string, { version: string; format: unknown; source: Source }>;
  service: ts.LanguageService;
  program?: ts.Program; // the latest one
  seen: number; // how many it then had in full
  importsMayHaveChanged: boolean; // an import may lead elsewhere than before
  slim?: Slice; // what names at the top level of modules need: it shares the trees
  typed?: Slice; // what names of members need, with the types that lead to them
  plain?: Slice; // the same, without those of browsers
  only?: Set<string>; // the files that imports may lead to
  unwarmed: ts.Node[]; // what warm() has not processed yet, the next one last
}
/** `imports` is set once a program has the file. */
type Source = ts.SourceFile & { imports?: readonly ts.StringLiteralLike[] };
/** A name that is an alias: imported, exported or inherited. "default" stands for `export =` as well. */
export interface Link {
  how: "import" | "all" | "export" | "extends";
  from: string;
  to: string;
  module?: string; // the specifier
  isAmbient?: boolean; // inside `declare module "name"`
}

/** Where imports of the project's own packages lead, which may not be built: by the importing file and, after \n, what it names. */
export type Sources = ReadonlyMap<string, string>;

export const LIB = "/zz-typescript-lib/";
export const MAX_WHOLE_PROJECT_FILES = 2_000; // files: in a larger project only what a question needs is loaded

/** What a file takes of another, as in the index. */
export type Passing = Pick<Import, "from" | "how" | "names">;

/** What an open service holds. All paths are absolute. */
export interface State {
  root: string;
  index: Index;
  gate: CompilerGate;
  disk: Disk;
  libs: Map<string, string>; // TypeScript's own declarations, by path
  stats: Map<string, Stats | undefined>; // as they are during one question
  importers: Map<string, Set<string>>; // likewise
  links: WeakMap<ts.SourceFile, Link[]>;
  tables: WeakMap<ts.SourceFile, Map<ts.__String, number>>;
  specifiers: Map<string, { version: string; found: string[] }>;
  configs: Map<string, Config>; // by path, and by the folder that they apply to
  settings: Map<string, string>; // files that a config came from or could have come from, with their stamps
  installed: Map<string, string>; // what changes when packages are installed
  missing: Set<string>; // where an import that leads nowhere looked: a program may make that file, and no list has it
  names: Set<string>; // every code file of the project
  sources: Sources;
  slices: Slice[]; // the most recently used first
  isThorough: boolean;
}
/** What is known of the files without reading them. */
export interface Index {
  usersOf(names: Set<string>): string[]; // files that contain one as an identifier, a string or in JSDoc; one too few is wrong
  globals(): string[]; // files whose declarations are visible without an import
  passing?: {
    of(path: string): Passing[]; // all that it imports
    exportsOf(path: string): Export[];
    taking(what: "*" | "default"): string[]; // files that may import a module as a whole, or its default
  };
}
interface Disk {
  useCaseSensitiveFileNames: boolean;
  getCurrentDirectory(): string;
  fileExists(path: string): boolean;
  directoryExists(path: string): boolean;
  readFile(path: string): string | undefined;
  realpath(path: string): string;
  readDirectory(): string[];
  getDirectories(path: string): string[];
}
