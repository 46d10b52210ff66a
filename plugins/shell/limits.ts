// limits: what a command in a sandbox may reach, and what none may.
import path from "node:path";
import type { Programs } from "zz";
import type { Gateway } from "./proxy.ts";

export interface Limits {
  programs: Programs;
  root: string; // writable, but for what runs later outside
  write: string[]; // writable as well
  hide: string[]; // neither read nor written
  keep?: string[]; // read, and not written
  pin?: string[]; // what is hidden by its place: the folders above it cannot be moved
  show?: string[]; // not hidden, though on a list or in a hidden folder
  net: "none" | "all" | string[]; // hosts: reached by a proxy
  readonly?: boolean; // nothing at all is writable but a /tmp of its own, and there is no network, whatever else stands here
  tmp?: string; // the folder that is /tmp within; absent: one of its own, for as long as it is open
}

/** The limits with real paths, and what was opened for them. `sized`: bubblewrap limits the size of what lies in memory. */
export type OpenLimits = Limits & {
  own: string;
  tmp: string;
  proxy?: Gateway;
  guard?: Guard;
  endpoints: string[];
  sized: boolean;
};
/** What other programs run by themselves, in what a command can write to. */
export interface Guard {
  readonly: string[];
  loose: string[]; // writable within that
  copies: { at: string; from: string }[]; // a copy is in its place: it can be written to, and nothing comes of it
  endpoints: string[]; // sockets and FIFOs among it
  notes: string[];
}
export const SOCKET = "proxy";
export const PORT = 61_080; // of the sandbox's own loopback, where nothing else listens

export function pathFolders(): string[] {
  return (process.env.PATH ?? "").split(":").filter(path.isAbsolute);
}
