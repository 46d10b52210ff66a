// What a command in a sandbox may access.
import path from "node:path";
import type { Programs } from "zz";
import type { View } from "./copy-on-write.ts";
import type { Lookups } from "./host-lookups.ts";
import type { Gateway } from "./host-proxy.ts";

export interface Limits {
  programs: Programs;
  root: string; // writable, except what other programs run later
  write: string[]; // writable too
  hide: string[]; // neither readable nor writable
  keep?: string[]; // readable, but not writable
  pin?: string[]; // hidden by path, so the folders above must not be moved
  show?: string[]; // not hidden, though on a list or in a hidden folder
  net: "none" | "all" | string[]; // hosts: reached through a proxy
  // nothing is writable but a /tmp of its own, and there is no network, whatever else is set
  readonly?: boolean;
  // keeps running: despite readonly it has `net` and may write to `write`; nothing is restored
  service?: boolean;
  tmp?: string; // the folder mounted as /tmp; absent: a temporary one
  // used with readonly: the project is writable on this view
  view?: Pick<View, "merged" | "upper" | "workFolder" | "wrap">;
}

/**
 * The limits with real paths, and what was opened for them. `sized`: bubblewrap can limit the size
 * of a tmpfs.
 */
export type OpenLimits = Limits & {
  own: string;
  tmp: string;
  proxy?: Gateway;
  lookups?: Lookups;
  guard?: Guard;
  endpoints: string[];
  sized: boolean;
};
/** Files that other programs run by themselves, among those that a command could write to. */
export interface Guard {
  readonly: string[];
  writable: string[]; // writable inside that
  // a copy is mounted in its place: writes to it have no effect
  copies: { at: string; from: string }[];
  endpoints: string[]; // sockets and FIFOs among them
  notes: string[];
}
export const SOCKET = "proxy";
export const PORT = 61_080; // on the sandbox's own loopback, where nothing else listens

/** Outer folders first. */
export const byDepth = (first: { at: string }, second: { at: string }): number =>
  depthOf(first.at) - depthOf(second.at);
const depthOf = (target: string) => target.split("/").filter(Boolean).length;

/** The folders around a path, the nearest first. */
export const foldersAbove = (target: string): string[] =>
  path.dirname(target) === target
    ? []
    : [path.dirname(target), ...foldersAbove(path.dirname(target))];

export function pathFolders(): string[] {
  return (process.env.PATH ?? "").split(":").filter(path.isAbsolute);
}
