// What a map is asked for, what it is made from, and the result.
import type { Facts } from "../scan/facts.ts";

export interface MapRequest {
  query?: string;
  focus?: string[]; // paths or symbols
  seen?: { path: string; edited?: boolean }[];
  tokens: number;
}
export interface Source {
  path: string;
  facts: Facts;
  imports: string[]; // resolved project paths
}
export interface RepoMap {
  text: string;
  files: string[]; // included
  left: number; // files left out
  tokens: number;
}
