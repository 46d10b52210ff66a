// What the parts of the judge share: the commands found so far, where the shell may be, and how
// severe a verdict is.
import path from "node:path";
import type { Node, Parser } from "web-tree-sitter";
import type { GitDoubt, Programs } from "zz";
import { realOf } from "../resolve-paths.ts";
import type { Arg, KnownShell } from "./bash-words.ts";
import { type GitSecrets, KEEPS, keepsSecrets } from "./git-history.ts";
import { programOf } from "./program-table.ts";

/**
 * The person's lists: argv prefixes such as "npm test". `except` lifts entries of the built-in deny
 * list: they then ask.
 */
export interface Lists {
  deny: string[];
  except: string[];
  // paths that must not be read: commands that show the content of many files then ask
  hidden?: string[];
  repository?: GitDoubt | undefined; // the repository of the folder that the line would run in
  find?: Programs["find"]; // finds a program outside of the project
  fileFacts?: FileFacts; // which files may contain secrets
  env?: NodeJS.ProcessEnv; // the environment that the line would run in; by default zz's own
}
/**
 * A command that would really run. "open": its words are known, and the gate's rules decide.
 * "unknown": it may be a denied command, so that no general rule allows it.
 */
export interface SimpleCommand {
  text: string;
  words: (string | undefined)[]; // undefined: not known before it runs; empty: no program runs
  verdict: "allow" | "open" | "ask" | "unknown" | "deny";
  why: string;
  reads: string[];
  writes: string[];
  git?: true; // the doubt is about what the repository would run, or show
  ends?: Ends; // what ends it with the line, however long it would run by itself
  dirs?: readonly string[]; // the folders that it may run in; empty: unknown
}
type Ends = "background" | "timeout";
/** The verdict on one command. */
export type Ruling = {
  verdict: SimpleCommand["verdict"];
  why: string;
  text?: string; // the denied command
  writes?: string[];
  git?: true; // the doubt is about what the repository would run, or show
};
export interface ReadRuling {
  doubt?: Ruling; // why it may not just run
  reads: string[];
  showsUnnamed?: boolean; // it shows the content of files that the command does not name
}
/** What is known about files. Anything missing counts as the strictest answer. */
export interface FileFacts {
  secret?: ((filePath: string) => boolean) | undefined; // whether a file may contain secrets
  git?: GitSecrets | undefined;
  needsGit?(): void; // called if a command shows what git keeps, and `git` is missing
}

/**
 * One line that is being judged. The functions are here because scripts contain commands, and
 * commands contain scripts.
 */
export interface Run {
  cwd: string;
  env: NodeJS.ProcessEnv;
  lists: Lists;
  parser: Parser;
  simple: SimpleCommand[]; // the commands found so far
  runs: string[]; // the names of their programs
  functions: Set<string>; // those that the line defines
  judgeScript(run: Run, source: string, scope: Scope): Dirs;
  judgeArgs(run: Run, args: Arg[], scope: Scope): Dirs;
}
/**
 * The folders that the shell may be in: after a command, and after it has succeeded. Empty:
 * unknown.
 */
export interface Dirs {
  any: readonly string[];
  ok: readonly string[];
}
/** What is known at a command, whatever source it is in. */
export interface Scope {
  dirs: readonly string[];
  home: string;
  budget: { left: number }; // files that globs may still look at
  depth: number;
  floor?: Ruling; // the mildest verdict that a command in it can get
  looped?: true;
  ends?: Ends;
  names?: readonly string[]; // files that a glob put into the script: its commands may show them
}
/**
 * The scope of a script that was put together from words: its commands may read the files that
 * their globs match.
 */
export function withNamesOf(scope: Scope, args: readonly Arg[]): Scope {
  const globbedNames = args.flatMap(({ globbed, text }) =>
    globbed && text !== undefined ? [text] : [],
  );
  return globbedNames.length
    ? { ...scope, names: [...(scope.names ?? []), ...globbedNames] }
    : scope;
}

/** A scope within one source. */
export interface SourceScope extends Scope {
  source: string;
  // redirections that the grammar attaches to a list, and bash to its last command
  tail?: Redirect[];
}
export interface Redirect {
  node: Node;
  target: Node | undefined;
  words: Node[]; // in `> f -x`, the grammar sees two targets, bash one target and a word
}

export const MAX_DEPTH = 50;
const MAX_DIRS = 8;

// ── Verdicts ─────────────────────────────────────────────────────────────────────────────────────

const BY_SEVERITY = ["allow", "open", "ask", "unknown", "deny"];

/** Its words are known, and the gate's rules decide. */
export const leaveToRules = (reason: string, writes?: string[]): Ruling => ({
  verdict: "open",
  why: reason,
  ...(writes && { writes }),
});
/** It runs, writes or waits, so no rule for its words alone may allow it. */
export const ask = (reason: string): Ruling => ({ verdict: "ask", why: reason });
export const unknown = (reason: string): Ruling => ({ verdict: "unknown", why: reason });
export const RUNS_NOTHING: Ruling = { verdict: "allow", why: "it runs nothing" };
export const ONLY_READS: Ruling = { verdict: "allow", why: "only reads" };

/** The most severe of them, the first of those that are equal. */
export const worstOf = (first: Ruling, ...others: (Ruling | false | undefined)[]): Ruling =>
  others.reduce<Ruling>(
    (worst, other) => (other && severityOf(other) > severityOf(worst) ? other : worst),
    first,
  );
const severityOf = ({ verdict }: Ruling): number => BY_SEVERITY.indexOf(verdict);

/** Raises all of these to at least that ruling. */
export function raise(commands: SimpleCommand[], floor: Ruling): void {
  for (const command of commands)
    if (worstOf(command, floor) === floor) Object.assign(command, floor);
}

/** The scope with these as the minimum for any command in it. */
export function withFloor<S extends Pick<Scope, "floor">>(
  scope: S,
  ...floors: (Ruling | false | undefined)[]
): S {
  const [first, ...others] = [scope.floor, ...floors].filter((floor) => !!floor);
  return first ? { ...scope, floor: worstOf(first, ...others) } : scope;
}

// ── Commands ─────────────────────────────────────────────────────────────────────────────────────

type FoundCommands = Pick<Run, "simple" | "runs">;

export function addCommand(
  run: FoundCommands,
  args: Arg[],
  scope: Pick<Scope, "floor" | "ends"> & Partial<Pick<Scope, "dirs">>,
  ruling: Ruling,
): SimpleCommand {
  const { floor, ends, dirs } = scope;
  const { verdict, why, text = shownOf(args) } = worstOf(ruling, floor);
  const addedCommand: SimpleCommand = {
    text,
    words: textsOf(args),
    verdict,
    why,
    reads: [],
    writes: [],
    ...(ends && { ends }),
    ...(dirs && { dirs }),
    ...(ruling.git && { git: true }),
  };
  run.simple.push(addedCommand);
  const [programArgument] = args;
  if (programArgument)
    run.runs.push(
      programArgument.text === undefined ? programArgument.shown : programOf(programArgument.text),
    );
  return addedCommand;
}

/** Adds something that runs no program, so that it can still be asked for or denied. */
export function addIdle(
  run: FoundCommands,
  shownText: string,
  scope: Pick<Scope, "floor">,
  ruling: Ruling,
): SimpleCommand {
  const addedCommand = addCommand(run, [], scope, ruling);
  addedCommand.text ||= shownText || ":";
  return addedCommand;
}

export function addReads(
  run: Run,
  command: SimpleCommand,
  fileNames: string[],
  scope: Pick<Scope, "dirs">,
): void {
  const readNames = unique(fileNames).filter(
    (fileName) => fileName !== "-" && fileName !== "/dev/null",
  );
  const pathsByFile = readNames.map((fileName) => pathsOf(run, fileName, scope));
  if (pathsByFile.includes(undefined))
    raise([command], ask("it reads in a folder that cannot be known"));
  command.reads = unique([
    ...command.reads,
    ...pathsByFile.flatMap((filePaths) => filePaths ?? []),
  ]);
  if (
    command.reads.some((absolutePath) =>
      keepsSecrets(path.resolve(run.cwd, absolutePath), run.lists.fileFacts ?? {}),
    )
  )
    raise([command], ask(KEEPS));
}

export function addWrites(
  run: Run,
  command: SimpleCommand,
  fileNames: string[],
  scope: Pick<Scope, "dirs">,
): void {
  const pathsByFile = fileNames.map((fileName) => pathsOf(run, fileName, scope));
  if (pathsByFile.includes(undefined))
    raise([command], ask("it writes in a folder that cannot be known"));
  command.writes = unique([
    ...command.writes,
    ...pathsByFile.flatMap((filePaths, i) => filePaths ?? [fileNames[i]!]),
  ]);
  if (command.verdict === "allow")
    raise([command], { verdict: "open", why: `it writes '${fileNames[0]}'` });
}

/** A path in a command, as the gate needs it: relative to where the line starts. */
function pathsOf(
  { cwd }: { cwd: string },
  fileName: string,
  { dirs }: { dirs: readonly string[] },
): string[] | undefined {
  if (path.isAbsolute(fileName)) return [followParents("/", fileName)];
  if (!dirs.length) return undefined;
  return dirs.map((folder) => {
    const followedPath = followParents(folder, fileName);
    return folder === cwd || path.isAbsolute(followedPath)
      ? followedPath
      : path.join(path.relative(cwd, folder), fileName) || ".";
  });
}

/**
 * `link/..` is not where it started: a path with `..` after a link is followed here, any other
 * stays as written.
 */
function followParents(folder: string, fileName: string): string {
  let realPath = realOf(folder) ?? folder;
  let written = realPath;
  for (const pathPart of fileName.split("/")) {
    realPath =
      pathPart === ".."
        ? path.dirname(realOf(realPath) ?? realPath)
        : path.join(realPath, pathPart);
    written = path.join(written, pathPart);
  }
  return realPath === written ? fileName : realPath;
}

export const textsOf = (args: readonly Arg[]): (string | undefined)[] =>
  args.map(({ text }) => text);

export const shownOf = (args: Arg[]): string =>
  args
    .map(({ shown }) => shown)
    .filter(Boolean)
    .join(" ");

// ── Folders ──────────────────────────────────────────────────────────────────────────────────────

export const NOWHERE: Dirs = { any: [], ok: [] };
/** After a command that does not change the folder. */
export const stayIn = ({ dirs }: Pick<Scope, "dirs">): Dirs => ({ any: dirs, ok: dirs });

export function joinDirs(...folderLists: (readonly string[])[]): readonly string[] {
  const joinedDirs = unique(folderLists.flat());
  return joinedDirs.length > MAX_DIRS || folderLists.some((folderList) => !folderList.length)
    ? []
    : joinedDirs;
}

export const shellIn = ({ dirs, home, budget }: Scope): KnownShell => ({ home, dirs, budget });
export const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];
