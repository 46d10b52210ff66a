// What a map is asked for, what it is made from, and the result.
import type { Facts } from "../scan/facts.ts";
import type { Bag } from "../scan/word-bag.ts";
import type { History } from "./commit-signals.ts";

export interface MapRequest {
  query?: string | undefined;
  focus?: string[] | undefined; // paths or symbols
  seen?: { path: string; edited?: boolean }[];
  history?: History | undefined;
  why?: boolean | undefined; // say of each file what brought it in
  tokens: number;
}
export interface Source {
  path: string;
  facts: Facts; // may be read from the disk each time
  imports: string[]; // resolved project paths
  words?: Bag | undefined;
}
/** A file that is no code: a bare path, and what words are in it where that is known. */
export type OtherFile = string | { path: string; words?: Bag | undefined };

export interface RepoMap {
  text: string;
  files: string[]; // included, best first where there is a query
  left: number; // files left out
  tokens: number;
  why?: Record<string, Reason[]>;
}
/**
 * What speaks for a file: its words, its path, the symbols that it declares, who uses whom, past
 * commits, the conversation.
 */
export type Reason = "words" | "path" | "symbols" | "uses" | "history" | "seen" | "focus";
