// What a call needs, and the rules that allow, ask or deny.
import type { Call } from "./model-types.ts";

export type Kind = "read" | "write" | "run" | "net" | "env";
export type Needs = { [K in Kind]?: Need[] };
// the most that a call does: look, change files, or anything else
export type Effect = "read" | "change" | "run";
/**
 * A path, a command's words, a host, or a variable. "ask": asked for whatever lists allow; exact:
 * only a rule with this name allows it.
 */
export type Need = string | { name: string; verdict: Verdict; why: string; exact?: boolean };
export type Verdict = "allow" | "ask" | "deny";

/**
 * The rules of the gate. Deny wins, then ask, then allow, then what a tool says about its need,
 * then the defaults.
 */
export interface Permissions {
  readonly rules: readonly Rule[];
  judge(needKind: Kind, need: Need): { verdict: Verdict; why: string };
  add(rule: Rule): void; // from "project": kept in the home, for this folder
  drop(rule: Rule): void;
  secret(path: string): boolean; // whether it may hold secrets, by its name
  credentials(): string[]; // absolute paths of the person's own
  // whether a denial of that name covers a name; links not followed
  matches(needKind: Kind, pattern: string): (name: string) => boolean;
  // why the root is not an ordinary project (a home, say), so that reading it is asked for
  readonly wide?: string;
  // the absolute path that a rule's name stands for; links not followed
  place(name: string): string;
  // for compilers, which read whatever imports lead to, in any thread or process
  compiler(): CompilerRules;
}
/**
 * Can be passed to another thread or process. `module` exports { compilerGate: MakeCompilerGate }.
 */
export type CompilerRules = {
  readonly module: string;
  readonly rules: readonly Rule[];
  readonly where: object;
};
/**
 * `own`: files and folders that may always be read. `near`: those that may be read although they
 * are outside of the project.
 */
export type MakeCompilerGate = (
  rules: CompilerRules,
  places?: { own?: string[]; near?: string[] },
) => CompilerGate;
/** A compiler reads through this. What it may not read seems not to exist, and is reported once. */
export interface CompilerGate {
  mayRead(file: string): boolean; // its text
  // only to resolve an import: package.json of installed packages too
  mayLookUp(file: string): boolean;
  mayList(folder: string): boolean;
  // reports an import that leads to where nothing may be read
  leadsOut(name: string, file: string): void;
  unread(): string[]; // sentences
  again(): void; // after changes: forgets what it found
}
export interface Rule extends Ruling {
  kind: Kind;
  name?: string; // absent: everything of that kind
  but?: string[]; // then: the exceptions, by name
  exact?: boolean; // only that name, not what is in it or starts with it
  from: "flag" | "settings" | "project" | "answer";
}
/**
 * unresolved: it may write what no need names and what passes no gate later, as all that runs
 * something may, unless it says false.
 */
export type Judged = { call: Omit<Call, "id">; kind: Effect; needs: Needs; unresolved?: true };
// why: for the person who is asked, or for the model
export type Ruling = { verdict: Verdict; why?: string };
export type Rules = { [K in Kind]?: true | string[] }; // true: everything
