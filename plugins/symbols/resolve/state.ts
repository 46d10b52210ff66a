// The state of an open resolver.
import type { Disk } from "./contract.ts";
import type { Modules } from "./typescript.ts";

/** A folder with the tsconfig.json that it goes by. */
export interface Place {
  folder: string;
  config: string | undefined;
  way: string | undefined; // p: paths or baseUrl; n: the order of "node10"; t: nothing is found without TypeScript; undefined: not read yet
  near: Map<string, string | null>;
}
export const UNSURE = "?"; // only TypeScript knows

/** What an open resolver holds. All paths in here are relative to the project. */
export interface State {
  list: readonly string[]; // of all files
  names: ReadonlySet<string>; // the same
  above: string | undefined; // the tsconfig.json of a folder above the project
  hash: string; // of the list
  disk: Disk;
  seen: Map<string, string>; // see Kept, also for the next two
  ways: Map<string, string>;
  found: Map<string, string | null>;
  places: Map<string, Place>; // by folder
  last?: { file: string; place: Place }; // the file that was asked for last
  modules?: Modules; // once TypeScript is loaded
  isAsked: boolean; // something was asked that was not kept
}
