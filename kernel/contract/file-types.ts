// The disk and git, as tools reach them.
import type { Result } from "./model-types.ts";

/**
 * Git, asked in such a way that a repository can neither start programs nor reveal files elsewhere.
 */
export interface Git {
  readonly quiet: readonly string[]; // options that go before git's command
  // its environment: from zz's variables, or from a command's
  env(command?: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /**
   * What to ask about before git is run; with a command's variables, before that command runs git
   * itself.
   */
  check(
    folder: string,
    options?: { stop?: AbortSignal; command?: NodeJS.ProcessEnv },
  ): Promise<GitDoubt>;
  // undefined: it failed, or there is no git
  say(args: readonly string[], folder?: string): Promise<string | undefined>;
}
/**
 * Why git might start a program (the name of a setting), and folders outside of the project whose
 * contents it would show. `settings`, only for a command: the repository's own that may name a
 * program or a file; which of them count depends on the command. `top`: its top folder.
 */
export type GitDoubt = { why?: string; settings?: string[]; reads: string[]; top?: string };

/**
 * The disk, for tools. Paths are relative to the project, or absolute inside of it. A tool sees its
 * own changes before they are made.
 */
export interface Files {
  path(name: string): string; // absolute, links followed; throws outside the project
  // if the tool's needs name the file, the model counts as shown all of it
  read(name: string): Promise<FileRead>;
  // instead: only these lines, of the text with this hash or as it is now
  shown(name: string, lines: Span[], hash?: string): void;
  open(file: string): number; // a descriptor for reading that absolute path, which holds no links
  // every file that is not ignored, relative to the project
  list(under?: string): Promise<string[]>;
  // a text keeps the file's BOM, line ends and last newline
  write(name: string, content: string | Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
  move(from: string, to: string): Promise<void>;
  // what a command did on a copy, shown and asked for at once. left: names that got a no
  apply(
    states: FileState[],
    about: string,
  ): Promise<{ refusal?: string; said?: string; left?: string[] }>;
  // for undo: what these files were before a change that is made already
  made(before: FileState[]): Promise<void>;
  changes(): Changed[]; // of files in this conversation, oldest first
  diff(id: number): Promise<string>; // of one change, as a question shows it
  undo(selector?: string): Promise<Result>; // the last one; or a count, "turn", a path
  redo(selector?: string): Promise<Result>;
}
export type FileState = {
  path: string;
  bytes?: Uint8Array; // absent: it is removed
  mode?: number; // with its type; absent: an ordinary file
  brief?: string; // the folder as which it is shown, with others
  moves?: Move[]; // many files, shown as that folder
};
// names as latin1; without a `from` it is removed
export type Move = [name: string, from?: string, mode?: number];
export type FileRead = {
  text: string;
  bytes: Uint8Array;
  hash: string;
  seen?: string; // the hash of what the model last saw
  lines: Span[]; // those that it saw
  moved: Moved[]; // changes of lines since it made this round's calls
};
export type Span = [from: number, to: number]; // lines, from 1, both included
// these lines were replaced; later ones moved by so many
export type Moved = { from: number; to: number; by: number };
/** One file in a preview. */
export type Difference = {
  path: string;
  before?: string; // its text; absent: it is new
  after?: string; // absent: it is removed
  note?: string; // what texts do not show, such as modes
  line?: number; // where the texts begin in a large file, of which they are a part
};
/** A change of a file that was made in the conversation. */
export type Changed = {
  id: number; // what diff() takes
  turn: number; // which of the conversation's turns made it, from 1
  at: string; // when, as ISO 8601
  tool: string; // or a command, as it is typed
  path: string; // relative to the project
  did: Did;
  undone: boolean;
};
export type Did = "created" | "edited" | "deleted";
