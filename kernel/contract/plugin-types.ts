// Plugins: what was found, and what became of it.

export interface Plugins {
  // loads what is new or changed, unloads what is gone; again: retries failures
  refresh(again?: boolean): Promise<Reloaded[]>;
  readonly brought?: Trust; // what the project's .zz/ brings
  // for what was looked at last; sends: approves these, too
  trust(yes: boolean, sends?: Trust["sends"]): Promise<Reloaded[]>;
}
/**
 * What a project brings that could run or steer zz, by name, and whether the person trusts exactly
 * these bytes.
 */
export interface Trust {
  files: string[];
  given: boolean;
  changed?: string[]; // since it was trusted
  wrong?: string; // why it cannot be trusted
  // settings that would send data elsewhere: each needs approval of its own
  sends?: { setting: string; from: string; to: string }[];
}
/** What happened to a plugin whose files changed. If it failed, its last good version stays. */
export type Reloaded = {
  name: string;
  did: "loaded" | "reloaded" | "unloaded" | "failed";
  ms: number;
  why?: string;
};

export type PluginFile = {
  name: string;
  from: "zz" | "home" | "project" | "flag" | "program";
  file: string;
  ms: number;
  adds: Added[];
};
// outdated: why its new version could not be loaded
export type PluginState = { failure?: string; disabled?: boolean; outdated?: string };
// what a plugin registered: a tool, a command, a wrapper …
export type Added = { kind: string; name: string };
