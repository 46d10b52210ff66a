// What the parts of the judge share: the commands found so far, where the shell may be, and how
// severe a verdict is.
import path from "node:path";
import type { Node, Parser } from "web-tree-sitter";
import type { GitDoubt, Programs } from "zz";
import { realOf } from "../paths.ts";
import { type GitSecrets, KEEPS, keepsSecrets } from "./git-history.ts";
import { programOf } from "./programs.ts";
import type { Arg, Known } from "./words.ts";

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
export interface Simple {
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
  verdict: Simple["verdict"];
  why: string;
  text?: string; // the denied command
  writes?: string[];
  git?: true; // the doubt is about what the repository would run, or show
};
export interface Read {
  doubt?: Ruling; // why it may not just run
  reads: string[];
  showsUnnamed?: boolean; // it shows the content of files that the command does not name
}
/** What is known about files. Anything missing counts as the strictest answer. */
export interface FileFacts {
  secret?: ((path: string) => boolean) | undefined; // whether a file may contain secrets
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
  simple: Simple[]; // the commands found so far
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
  const found = args.flatMap(({ globbed, text }) => (globbed && text !== undefined ? [text] : []));
  return found.length ? { ...scope, names: [...(scope.names ?? []), ...found] } : scope;
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
export const open = (why: string, writes?: string[]): Ruling => ({
  verdict: "open",
  why,
  ...(writes && { writes }),
});
/** It runs, writes or waits, so no rule for its words alone may allow it. */
export const ask = (why: string): Ruling => ({ verdict: "ask", why });
export const unknown = (why: string): Ruling => ({ verdict: "unknown", why });
export const RUNS_NOTHING: Ruling = { verdict: "allow", why: "it runs nothing" };
export const ONLY_READS: Ruling = { verdict: "allow", why: "only reads" };

/** The more severe of two, the first if they are equal. */
export const worse = (one: Ruling | undefined, other: Ruling): Ruling =>
  one && BY_SEVERITY.indexOf(one.verdict) >= BY_SEVERITY.indexOf(other.verdict) ? one : other;

/** Raises all of these to at least that ruling. */
export function raise(all: Simple[], floor: Ruling): void {
  for (const one of all) if (worse(one, floor) === floor) Object.assign(one, floor);
}

/** The scope with these as the minimum for any command in it. */
export function withFloor<S extends Pick<Scope, "floor">>(
  scope: S,
  ...floors: (Ruling | false | undefined)[]
): S {
  const floor = floors.reduce<Ruling | undefined>(
    (all, one) => (one ? worse(all, one) : all),
    scope.floor,
  );
  return floor ? { ...scope, floor } : scope;
}

// ── Commands ─────────────────────────────────────────────────────────────────────────────────────

type Found = Pick<Run, "simple" | "runs">;

export function addCommand(
  run: Found,
  args: Arg[],
  scope: Pick<Scope, "floor" | "ends"> & Partial<Pick<Scope, "dirs">>,
  ruling: Ruling,
): Simple {
  const { floor, ends, dirs } = scope;
  const { verdict, why, text = shownOf(args) } = floor ? worse(ruling, floor) : ruling;
  const added: Simple = {
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
  run.simple.push(added);
  const [first] = args;
  if (first) run.runs.push(first.text === undefined ? first.shown : programOf(first.text));
  return added;
}

/** Adds something that runs no program, so that it can still be asked for or denied. */
export function addIdle(
  run: Found,
  text: string,
  scope: Pick<Scope, "floor">,
  ruling: Ruling,
): Simple {
  const added = addCommand(run, [], scope, ruling);
  added.text ||= text || ":";
  return added;
}

export function addReads(run: Run, one: Simple, names: string[], scope: Pick<Scope, "dirs">): void {
  const files = unique(names).filter((name) => name !== "-" && name !== "/dev/null");
  const paths = files.map((name) => pathsOf(run, name, scope));
  if (paths.includes(undefined)) raise([one], ask("it reads in a folder that cannot be known"));
  one.reads = unique([...one.reads, ...paths.flatMap((some) => some ?? [])]);
  if (one.reads.some((at) => keepsSecrets(path.resolve(run.cwd, at), run.lists.fileFacts ?? {})))
    raise([one], ask(KEEPS));
}

export function addWrites(
  run: Run,
  one: Simple,
  names: string[],
  scope: Pick<Scope, "dirs">,
): void {
  const paths = names.map((name) => pathsOf(run, name, scope));
  if (paths.includes(undefined)) raise([one], ask("it writes in a folder that cannot be known"));
  one.writes = unique([...one.writes, ...paths.flatMap((some, i) => some ?? [names[i]!])]);
  if (one.verdict === "allow") raise([one], { verdict: "open", why: `it writes '${names[0]}'` });
}

/** A path in a command, as the gate needs it: relative to where the line starts. */
function pathsOf(
  { cwd }: { cwd: string },
  name: string,
  { dirs }: { dirs: readonly string[] },
): string[] | undefined {
  if (path.isAbsolute(name)) return [physical("/", name)];
  if (!dirs.length) return undefined;
  return dirs.map((dir) => {
    const real = physical(dir, name);
    return dir === cwd || path.isAbsolute(real)
      ? real
      : path.join(path.relative(cwd, dir), name) || ".";
  });
}

/**
 * `link/..` is not where it started: a path with `..` after a link is followed here, any other
 * stays as written.
 */
function physical(dir: string, name: string): string {
  let real = path.isAbsolute(name) ? "/" : (realOf(dir) ?? dir);
  let written = real;
  for (const part of name.split("/")) {
    real = part === ".." ? path.dirname(realOf(real) ?? real) : path.join(real, part);
    written = path.join(written, part);
  }
  return real === written ? name : real;
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

export function joinDirs(...all: (readonly string[])[]): readonly string[] {
  const dirs = unique(all.flat());
  return dirs.length > MAX_DIRS || all.some((one) => !one.length) ? [] : dirs;
}

export const knownIn = ({ dirs, home, budget }: Scope): Known => ({ home, dirs, budget });
export const unique = <T>(all: readonly T[]): T[] => [...new Set(all)];
