// Settings: what the person's and the project's files say, and how they are changed.
import type { Rules, Verdict } from "./permission-types.ts";

export interface Preferences {
  list(): Setting[];
  // checked, saved in the home, effective at once; undefined removes it
  set(name: string, value: unknown): Promise<void>;
  schema(): Record<string, unknown>; // a JSON Schema of all settings
}
export type Setting = {
  name: string;
  owner: string;
  value: unknown;
  default?: unknown;
  values?: unknown[];
} & SetBy;
// `from` lists who set it; without one, the default is in force
type SetBy = { about?: string; from?: ("team" | "home" | "project")[] };

export interface Settings {
  model?: string;
  models?: Record<string, string>; // by task
  window?: number; // the model's window in tokens, if its provider does not say
  project?: { scope?: "folder" | "repository" };
  rounds?: number;
  plugins?: { off?: string[] }; // those left out, by name
  disabled?: string[]; // the same, as it was called before
  timeout?: number; // seconds without a byte from the provider
  store?: string; // where sessions are kept, if not in files
  options?: Record<string, unknown>;
  providers?: Record<
    string,
    {
      url?: string;
      key?: string;
      kept?: string;
      key_command?: string;
      key_command_seconds?: number;
      like?: string;
      [otherField: string]: unknown;
    }
  >;
  permissions?: { [K in Verdict | "only"]?: Rules };
  [plugin: string]: unknown;
}
