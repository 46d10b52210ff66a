// Findings about a command that may only read: why it should not just run, and which files it reads.
import type { GitSecrets } from "./git-history.ts";

/** Why a command may not just run; undefined means "allow". */
export interface Doubt {
  verdict: "open" | "ask"; // "ask": it runs, writes or waits, so no rule of the gate may allow it
  why: string;
  writes?: string[];
  git?: true; // the doubt is about what the repository would run, or show
}
export interface Read {
  doubt?: Doubt;
  reads: string[];
  showsUnnamed?: boolean; // it shows the content of files that the command does not name
}
/** What is known about files. Anything missing counts as the strictest answer. */
export interface FileFacts {
  secret?: ((path: string) => boolean) | undefined; // whether a file may contain secrets
  git?: GitSecrets | undefined;
  needsGit?(): void; // called if a command shows what git keeps, and `git` is missing
}

export const open = (why: string, writes?: string[]): Doubt => ({ verdict: "open", why, ...(writes && { writes }) });
export const ask = (why: string): Doubt => ({ verdict: "ask", why });
