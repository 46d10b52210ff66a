// The state of an open resolver.
import type { Disk } from "./contract.ts";
import type { Modules } from "./typescript.ts";

/** A folder with the tsconfig.json that applies to it. */
export interface Place {
  folder: string;
  config: string | undefined;
  way: string | undefined; // p: paths or baseUrl; n: the order of "node10"; t: everything needs TypeScript; undefined: not read yet
  near: Map<string, string | null>;
}
export const UNSURE = "?"; // only TypeScript knows

/** What an open resolver holds. All paths are relative to the project. */
export interface State {
  list: readonly string[]; // of all files
  names: ReadonlySet<string>; // the same, as a set
  parentConfig: string | undefined; // the tsconfig.json of a folder above the project
  hash: string; // of the list
  disk: Disk;
  seen: Map<string, string>; // see Kept; so are the next two
  ways: Map<string, string>;
  found: Map<string, string | null>;
  places: Map<string, Place>; // by folder
  last?: { file: string; place: Place }; // the last one resolved
  modules?: Modules; // once TypeScript is loaded
  hasNewAnswers: boolean; // there are answers that were not kept
}
