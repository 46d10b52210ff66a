// What a command line would run, as bash's grammar and its words show it, and whether it may run unasked.
import fs from "node:fs";
import module from "node:module";
import os from "node:os";
import path from "node:path";
import type { Node, Parser } from "web-tree-sitter";
import { isBrought } from "./hostile.ts";
import {
  ASKS,
  DENIED,
  FIND_ASKS,
  FIND_RUNS,
  FIND_TESTS,
  HARMLESS,
  HARMLESS_VALUE,
  holds,
  INTERPRETER_SAFE,
  INTERPRETERS,
  isKnown,
  parse,
  programOf,
  type Read,
  RUNNING,
  readsOf,
  SHELLS,
  startsWith,
  TAKES_ANYTHING,
  TELLING,
  type Words,
  WRAPPERS,
  type Wrapper,
} from "./tables.ts";
import { type Arg, ASSIGNMENT, argsOf, type Group, groupsOf, type Known, scanWord } from "./words.ts";

/** The person's: argv prefixes such as "npm test". `except` lifts entries of the built-in deny list: they then ask. */
export interface Lists {
  allow: string[];
  deny: string[];
  except: string[];
  hidden?: string[]; // paths that may not be read: what shows the content of many files then asks
  env?: NodeJS.ProcessEnv; // that it would run in; zz's own unless it says otherwise
}
/** A command that would really run. "open": its words are known, and the gate's own rules decide. */
export interface Simple {
  text: string;
  words: (string | undefined)[]; // undefined: not known before it runs
  verdict: "allow" | "ask" | "deny" | "open";
  why: string;
  reads: string[];
  writes: string[];
}
export interface Judged {
  simple: Simple[];
  runs: string[];
  reads: string[];
  writes: string[];
  verdict: "allow" | "ask" | "deny";
  why: string;
}

type Says = { verdict: Simple["verdict"]; why: string };
/** The folders that the shell may be in: after a command, and after it has succeeded. None: nobody can tell. */
interface Dirs {
  any: readonly string[];
  ok: readonly string[];
}
interface Redirect {
  node: Node;
  targets: Node[];
}
/** Where a command stands. */
interface Place {
  dirs: readonly string[];
  home: string;
  budget: { left: number }; // files that globs may still look at
  depth: number;
  source: string;
  seen: Group[]; // what the grammar made of this source, to hold against its tokens
  floor?: Says; // whatever is in it is at least this
  looped?: true;
  tail?: Redirect[]; // redirections that the grammar hung on a list, and bash on its last command
}
interface Run {
  cwd: string;
  env: NodeJS.ProcessEnv;
  lists: Lists;
  parser: Parser;
  out: Simple[];
  runs: string[];
  listed: Set<Simple>; // allowed by the person, so a redirection does not change it
  functions: Set<string>;
}

const LONGEST = 10_000;
const NO_LISTS: Lists = { allow: [], deny: [], except: [] };
const DEEPEST = 50;
const MOST_DIRS = 8;
const MOST_WORDS = 500; // as they are written
const MOST_ARGS = 5_000; // with what globs make of them
const MOST_LOOKS = 100_000;
const RANK = ["allow", "open", "ask", "deny"];
/** Control characters, Unicode's spaces and what is not seen: bash, the grammar and a person read them differently. */
const ODD = /(?![\t\n ])(?:\p{C}|\p{Z}|\p{Variation_Selector}|[\u115f\u1160\u3164\uffa0])/u;
/** What shells other than bash read otherwise. */
const BASHISM = /[{}]|\$['"]|&>|\|&|[<>]\(|<<</;

const ask = (why: string): Says => ({ verdict: "ask", why });
const worse = (one: Says | undefined, other: Says): Says =>
  one && RANK.indexOf(one.verdict) >= RANK.indexOf(other.verdict) ? one : other;
const unique = <T>(all: readonly T[]): T[] => [...new Set(all)];

/** Never throws: what cannot be judged asks. */
export async function judgeLine(line: string, cwd: string, lists: Lists): Promise<Judged> {
  const { env = process.env } = lists;
  const run: Omit<Run, "parser"> = { cwd, env, lists, out: [], runs: [], listed: new Set(), functions: new Set() };
  let trouble: string | undefined;
  try {
    const parser = await makeParser();
    try {
      script({ ...run, parser }, line, {
        dirs: [cwd],
        home: env.HOME ?? os.homedir(),
        depth: 0,
        budget: { left: MOST_LOOKS },
      });
    } finally {
      parser.delete();
    }
  } catch (error) {
    trouble = `zz cannot judge it: ${error instanceof Error ? error.message : error}`;
    raise(run.out, ask(trouble));
    if (!run.out.length) run.out.push(unread(line, trouble));
  }
  return sum(run.out, run.runs);
}

function sum(simple: Simple[], runs: string[]): Judged {
  const reads = unique(simple.flatMap((one) => one.reads));
  const writes = unique(simple.flatMap((one) => one.writes));
  const worst = simple.reduce<Says>((says, one) => worse(says, one), { verdict: "allow", why: "" });
  const made = { simple, runs: unique(runs), reads, writes };
  if (worst.verdict === "allow" && writes.length) return { ...made, verdict: "ask", why: `it writes '${writes[0]}'` };
  const why = worst.verdict === "allow" ? unique(simple.map((one) => one.why)).join("; ") : worst.why;
  return { ...made, verdict: worst.verdict === "open" ? "ask" : worst.verdict, why: why || "it runs nothing" };
}

// ── The grammar ────────────────────────────────────────────────────────────────────────────────────────

/** Beside the bundle when zz is built, in node_modules when it runs from its source. */
function readWasm(name: string): Uint8Array {
  const built = ["./", "../"].map((up) => new URL(`${up}${name}.wasm`, import.meta.url));
  const found = built.find((file) => fs.existsSync(file));
  return fs.readFileSync(found ?? module.createRequire(import.meta.url).resolve(`${name}/${name}.wasm`));
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

const loadGrammar = once(async () => {
  const { Language, Parser } = await import("web-tree-sitter");
  await Parser.init({ wasmBinary: readWasm("web-tree-sitter") });
  const bash = await Language.load(readWasm("tree-sitter-bash"));
  return { bash, Parser };
});

async function makeParser(): Promise<Parser> {
  const { bash, Parser } = await loadGrammar();
  return new Parser().setLanguage(bash);
}

// ── A script: the line itself, and what bash -c and eval are given ─────────────────────────────────────

type Outer = Pick<Place, "dirs" | "home" | "budget" | "depth" | "floor" | "looped">;

function script(run: Run, source: string, outer: Outer): Dirs {
  const start = run.out.length;
  const add = (why: string, first = true) => {
    const made = run.out.slice(start);
    raise(made, ask(why));
    if (first) for (const one of made) if (one.verdict === "ask") one.why = why;
    if (run.out.length === start) run.out.push(unread(source, why));
  };
  const nowhere = { any: [], ok: [] };
  if (source.length > LONGEST || outer.depth > DEEPEST) {
    add(source.length > LONGEST ? `it is longer than ${LONGEST} characters` : "it is nested too deeply");
    return nowhere;
  }
  const place: Place = { ...outer, source, seen: [] };
  const tree = run.parser.parse(source);
  if (!tree) throw new Error("the parser gave nothing");
  try {
    const dirs = visit(run, tree.rootNode, place);
    const odd = ODD.exec(source)?.[0];
    if (odd !== undefined) add(`it holds the character U+${odd.codePointAt(0)!.toString(16).padStart(4, "0")}`);
    else if (tree.rootNode.hasError) add("zz cannot parse it as a command line");
    else if (!agree(place.seen, groupsOf(source, knownAt(place))))
      add("some of the line cannot be told before it runs", false);
    return dirs;
  } finally {
    tree.delete();
  }
}

/** Two readings of the source, by the grammar and by its tokens, must find the same words in the same commands. */
function agree(seen: Group[], groups: Group[] | undefined): boolean {
  const flat = (all: Group[]) =>
    JSON.stringify(
      all
        .map(({ words, targets }) => [words.toSorted((a, b) => a - b), targets.toSorted((a, b) => a - b)])
        .sort((a, b) => Math.min(...a.flat()) - Math.min(...b.flat())),
    );
  return groups !== undefined && flat(seen) === flat(groups);
}

const unread = (source: string, why: string): Simple => ({
  text: source.trim(),
  words: [undefined],
  verdict: "ask",
  why,
  reads: [],
  writes: [],
});

function raise(all: Simple[], floor: Says): void {
  for (const one of all) if (worse(one, floor) === floor) Object.assign(one, floor);
}

const knownAt = ({ dirs, home, budget }: Place): Known => ({ home, dirs, budget });
const stay = ({ dirs }: Pick<Place, "dirs">): Dirs => ({ any: dirs, ok: dirs });
const join = (...all: (readonly string[])[]): readonly string[] => {
  const dirs = unique(all.flat());
  return dirs.length > MOST_DIRS || all.some((one) => !one.length) ? [] : dirs;
};
const floored = <P extends { floor?: Says }>(place: P, floor: Says): P => ({
  ...place,
  floor: worse(place.floor, floor),
});

function visit(run: Run, node: Node, place: Place): Dirs {
  if (place.depth > DEEPEST) throw new Error("it is nested too deeply");
  const inner = { ...place, depth: place.depth + 1 };
  const alone = { ...inner };
  delete alone.tail;
  switch (node.type) {
    case "command":
      return command(run, node, place);
    case "program":
    case "compound_statement":
      if (node.children[0]?.type === "((") return unfollowed(run, node, alone, "it holds arithmetic");
      return sequence(run, node.children, alone);
    case "subshell":
      sequence(run, node.children, alone);
      return stay(place);
    case "list":
      return list(run, node, inner);
    case "pipeline": {
      const parts = node.namedChildren;
      for (const part of parts) visit(run, part, part === parts.at(-1) ? inner : alone);
      return stay(place);
    }
    case "negated_command": {
      const { any } = sequence(run, node.namedChildren, inner);
      return { any, ok: any };
    }
    case "redirected_statement":
      return redirected(run, node, inner);
    case "if_statement":
    case "elif_clause":
    case "else_clause":
      return branches(run, node, alone);
    case "while_statement":
    case "do_group":
      return branches(run, node, { ...alone, looped: true });
    case "for_statement":
      return forLoop(run, node, { ...alone, looped: true });
    case "variable_assignment":
    case "variable_assignments":
      return assignments(run, node, place);
    case "test_command":
      if (node.children[0]?.type === "[") return bracket(run, node, place);
      return unfollowed(run, node, alone, "[[ ]] may run what it is given");
    case "function_definition":
      run.functions.add(node.childForFieldName("name")?.text ?? "");
      return unfollowed(run, node, alone, "it defines a function");
    case "case_statement":
      return unfollowed(run, node, alone, "zz does not follow case");
    case "declaration_command":
    case "unset_command":
      return declaration(run, node, place);
    case "ERROR":
      return unfollowed(run, node, alone, "zz cannot parse it as a command line");
    case "comment":
      return stay(place);
    default:
      return unfollowed(run, node, alone, "it holds something that zz does not follow");
  }
}

/** Statements after one another. What stands before & runs in a shell of its own. */
function sequence(run: Run, children: Node[], place: Place): Dirs {
  let dirs = stay(place);
  for (const [i, child] of children.entries()) {
    if (!child.isNamed || child.type === "comment") continue;
    const after = visit(run, child, { ...place, dirs: dirs.any });
    if (children[i + 1]?.type !== "&") dirs = after;
  }
  return dirs;
}

function list(run: Run, node: Node, place: Place): Dirs {
  const { tail, ...alone } = place;
  const [left, right] = node.namedChildren.filter(({ type }) => type !== "comment");
  if (!left || !right) throw new Error("half a list");
  const first = visit(run, left, alone);
  const and = node.children.some(({ type }) => type === "&&");
  const second = visit(run, right, { ...place, dirs: and ? first.ok : first.any });
  return { any: join(first.any, second.any), ok: and ? second.ok : join(first.ok, second.ok) };
}

/** Every part may or may not run, so a cd in one only adds a place to be. */
function branches(run: Run, node: Node, place: Place): Dirs {
  let { dirs } = place;
  for (const child of node.namedChildren) dirs = join(dirs, visit(run, child, { ...place, dirs }).any);
  return { any: dirs, ok: dirs };
}

function forLoop(run: Run, node: Node, place: Place): Dirs {
  const body = node.childForFieldName("body");
  const name = node.childForFieldName("variable")?.text ?? "";
  const values = node.namedChildren.filter((child) => child.type !== "do_group");
  const floor = TELLING.some((one) => one.test(name)) ? ask(`it sets ${name}`) : undefined;
  for (const value of values) substitutions(run, value, place);
  return body ? visit(run, body, floor ? floored(place, floor) : place) : stay(place);
}

/** What zz does not follow, it still looks through. Nothing found: the thing itself is asked for. */
function unfollowed(run: Run, node: Node, place: Place, why: string): Dirs {
  const start = run.out.length;
  lookThrough(run, node, floored(place, ask(why)));
  if (run.out.length === start) enter(run, [{ text: undefined, shown: node.text.trim(), why }], place, ask(why));
  return { any: [], ok: [] };
}

function lookThrough(run: Run, node: Node, place: Place): void {
  const isCommand =
    /_(statement|command|definition|assignments?)$|^(command|list|pipeline|subshell|do_group|case_item|ERROR)$/;
  for (const child of node.namedChildren)
    if (isCommand.test(child.type)) visit(run, child, place);
    else substitutions(run, child, place);
}

/** The commands inside `$( )`, backticks, `<( )` and `>( )`, wherever in a word they are. */
function substitutions(run: Run, node: Node, place: Place): void {
  if (place.depth > DEEPEST) throw new Error("it is nested too deeply");
  const { tail, ...alone } = { ...place, depth: place.depth + 1 };
  if (node.type === "command_substitution" || node.type === "process_substitution") sequence(run, node.children, alone);
  else for (const child of node.namedChildren) substitutions(run, child, alone);
}

// ── Redirections ───────────────────────────────────────────────────────────────────────────────────────

function redirected(run: Run, node: Node, place: Place): Dirs {
  const body = node.childForFieldName("body");
  const redirects = node.childrenForFieldName("redirect").filter((one) => one !== null);
  const files = redirects.filter(({ type }) => type === "file_redirect").map(targetsOf);
  const other = redirects.find(({ type }) => type !== "file_redirect");
  const tail = [...files, ...(place.tail ?? [])];
  const floor = other && ask(other.type === "heredoc_redirect" ? "it holds a here-document" : "it holds a here-string");
  const { tail: _, ...alone } = floor ? floored(place, floor) : place;
  let dirs = stay(place);
  if (!body) bare(run, node, tail, alone);
  else if (/^(command|list|pipeline|negated_command|redirected_statement|test_command)$/.test(body.type))
    dirs = visit(run, body, { ...alone, tail });
  else {
    const start = run.out.length;
    dirs = visit(run, body, alone);
    if (run.out.length === start) bare(run, node, tail, alone);
    else {
      attach(run, run.out.slice(start), tail, alone);
      alone.seen.push({ words: [], targets: tail.flatMap(startsOf) });
    }
  }
  for (const one of redirects) if (one !== other) substitutions(run, one, alone);
  if (other) lookThrough(run, other, alone);
  return dirs;
}

/** `> f` alone: it empties a file. */
function bare(run: Run, node: Node, tail: Redirect[], place: Place): void {
  place.seen.push({ words: [], targets: tail.flatMap(startsOf) });
  const entry = enter(run, [], place, ask("it only redirects"));
  entry.text = node.text.trim();
  attach(run, [entry], tail, place);
}

const targetsOf = (node: Node): Redirect => {
  const targets = node.namedChildren.filter(({ type }) => type !== "file_descriptor" && type !== "comment");
  return { node, targets };
};
/** Where its target starts; `>&-` has one that the grammar does not show. */
function startsOf({ node, targets: [target] }: Redirect): number[] {
  const closed = node.children.find(({ type }) => /^[<>]&-$/.test(type));
  return closed ? [closed.startIndex + 2] : target ? [target.startIndex] : [];
}

/** Tells commands what is redirected to and from them. */
function attach(run: Run, all: Simple[], redirects: Redirect[], place: Place): void {
  for (const { node, targets } of redirects) {
    const operator = node.children.find(({ isNamed }) => !isNamed)?.type ?? "";
    if (/^[<>]&-$/.test(operator)) continue;
    const args = targets[0] ? argsAt(targets[0], place) : [];
    const name = args.length === 1 ? args[0]!.text : undefined;
    if (name === undefined || /^\/dev\/(tcp|udp)\//.test(name)) raise(all, ask(`'${node.text}' cannot be judged`));
    else if (/^[<>]&$/.test(operator) && /^(\d+-?|-)$/.test(name)) continue;
    else if (operator === "<") for (const one of all) addReads(run, one, [name], place);
    else if (operator === "<&") raise(all, ask(`'${node.text}' cannot be judged`));
    else if (name !== "/dev/null") for (const one of all) addWrites(run, one, [name], place);
  }
}

function addReads(run: Run, one: Simple, names: string[], place: Pick<Place, "dirs">): void {
  const files = unique(names).filter((name) => name !== "-" && name !== "/dev/null");
  const paths = files.map((name) => pathsOf(run, name, place));
  if (paths.includes(undefined)) raise([one], ask("it reads in a folder that cannot be known"));
  one.reads = unique([...one.reads, ...paths.flatMap((some) => some ?? [])]);
}

function addWrites(run: Run, one: Simple, names: string[], place: Pick<Place, "dirs">): void {
  const paths = names.map((name) => pathsOf(run, name, place));
  if (paths.includes(undefined)) raise([one], ask("it writes in a folder that cannot be known"));
  one.writes = unique([...one.writes, ...paths.flatMap((some, i) => some ?? [names[i]!])]);
  if (one.verdict === "allow" && !run.listed.has(one))
    raise([one], { verdict: "open", why: `it writes '${names[0]}'` });
}

/** What a path in a command means for the gate: relative to where the line starts. */
function pathsOf({ cwd }: Pick<Run, "cwd">, name: string, { dirs }: Pick<Place, "dirs">): string[] | undefined {
  if (path.isAbsolute(name)) return [physical("/", name)];
  if (!dirs.length) return undefined;
  return dirs.map((dir) => {
    const real = physical(dir, name);
    return dir === cwd || path.isAbsolute(real) ? real : path.join(path.relative(cwd, dir), name) || ".";
  });
}

/** `link/..` is not where it started: a path that comes to that is followed here, any other stays as it is written. */
function physical(dir: string, name: string): string {
  let real = path.isAbsolute(name) ? "/" : (realOf(dir) ?? dir);
  let written = real;
  for (const part of name.split("/")) {
    real = part === ".." ? path.dirname(realOf(real) ?? real) : path.join(real, part);
    written = path.join(written, part);
  }
  return real === written ? name : real;
}

function realOf(file: string): string | undefined {
  try {
    return fs.realpathSync(file);
  } catch {
    return undefined;
  }
}

// ── A simple command ───────────────────────────────────────────────────────────────────────────────────

const argsAt = (node: Node, place: Place): Arg[] => {
  const args = argsOf(place.source, node.startIndex, node.endIndex, knownAt(place));
  const why = reasonOf(node);
  return why ? args.map((arg) => (arg.text === undefined ? { ...arg, why } : arg)) : args;
};

const REASONS: [RegExp, string][] = [
  [/command_substitution/, "it holds a command substitution"],
  [/process_substitution/, "it holds a process substitution"],
  [/arithmetic_expansion/, "it holds arithmetic"],
];
const reasonOf = (node: Node): string | undefined => REASONS.find(([type]) => type.test(node.toString()))?.[1];

function command(run: Run, node: Node, place: Place): Dirs {
  const { tail = [], ...alone } = place;
  const redirects = [...node.children.filter(({ type }) => type === "file_redirect").map(targetsOf), ...tail];
  const settings = node.namedChildren.filter(({ type }) => type === "variable_assignment");
  const shell = node.namedChildren.find(({ type }) => type === "subshell");
  const string = node.namedChildren.find(({ type }) => type === "herestring_redirect");
  const words = [
    ...node.children.filter(
      ({ type }) => !/^(variable_assignment|file_redirect|herestring_redirect|comment|subshell)$/.test(type),
    ),
    // `> f -x` gives the grammar two targets and bash one, and a word more.
    ...redirects.flatMap(({ targets }) => targets.slice(1)),
  ]
    .filter(({ startIndex, endIndex }) => startIndex < endIndex)
    .sort((a, b) => a.startIndex - b.startIndex);
  place.seen.push({ words: words.map(({ startIndex }) => startIndex), targets: redirects.flatMap(startsOf) });
  let inner: Place = alone;
  for (const setting of settings) inner = floored(inner, setsFor(setting, place));
  if (string) inner = floored(inner, ask("it holds a here-string"));
  if (shell) inner = floored(inner, ask("it holds something that zz does not follow"));
  const start = run.out.length;
  const args = words.slice(0, MOST_WORDS).flatMap((word) => argsAt(word, place));
  if (words.length > MOST_WORDS || args.length > MOST_ARGS)
    args.splice(MOST_ARGS, args.length, { text: undefined, shown: "…", why: "it has too many words" });
  const dirs = judge(run, args, inner);
  if (run.out.length === start && redirects.length) bare(run, node, redirects, inner);
  else attach(run, run.out.slice(start), redirects, place);
  if (shell) visit(run, shell, inner);
  for (const one of [...settings, ...words, ...redirects.map((redirect) => redirect.node), ...(string ? [string] : [])])
    substitutions(run, one, alone);
  return dirs;
}

/** `[ … ]` has a grammar of its own to tree-sitter; to bash it is a command like any other. */
function bracket(run: Run, node: Node, place: Place): Dirs {
  const { tail = [], ...alone } = place;
  const groups = groupsOf(node.text, knownAt(place));
  const [group] = groups ?? [];
  const start = run.out.length;
  if (!group || groups?.length !== 1 || group.targets.length)
    return unfollowed(run, node, alone, "zz does not follow this test");
  const words = group.words.map((at) => at + node.startIndex);
  place.seen.push({ words, targets: tail.flatMap(startsOf) });
  const args = group.words.flatMap((at) =>
    argsOf(node.text, at, scanWord(node.text, at, knownAt(place))!.end, knownAt(place)),
  );
  const dirs = judge(run, args, alone);
  attach(run, run.out.slice(start), tail, place);
  return dirs;
}

/** What an assignment before a command means for it. */
function setsFor(node: Node, place: Place): Says {
  const { name, value, doubt } = settingOf(node, place);
  if (doubt) return ask(doubt);
  return HARMLESS.test(name) && HARMLESS_VALUE.test(value!) ? { verdict: "allow", why: "" } : ask(`it sets ${name}`);
}

function settingOf(node: Node, place: Place): { name: string; value?: string; doubt?: string } {
  const [, name, value] = /^([A-Za-z_]\w*)=([\s\S]*)$/.exec(node.text) ?? [];
  if (name === undefined) return { name: node.text, doubt: "it sets part of a variable" };
  const at = node.startIndex + name.length + 1;
  if (!value) return { name, value: "" };
  const word = scanWord(place.source, at, knownAt(place));
  if (!word?.cells || word.end !== node.endIndex)
    return { name, doubt: reasonOf(node) ?? `it sets ${name} to what is not known` };
  return { name, value: word.cells.map(({ char }) => char).join("") };
}

/** Assignments alone: harmless where nothing goes by them, since `$X` asks anyway. */
function assignments(run: Run, node: Node, place: Place): Dirs {
  const all = node.type === "variable_assignment" ? [node] : node.namedChildren;
  for (const one of all) {
    const { name, doubt } = settingOf(one, place);
    const telling = name in run.env || TELLING.some((test) => test.test(name));
    const why = doubt ?? (telling ? `it sets ${name}` : undefined);
    if (why) enter(run, [{ text: undefined, shown: one.text, why }], place, ask(why), true);
    substitutions(run, one, place);
  }
  return stay(place);
}

/** export, declare and their like may run what an index of theirs holds. */
function declaration(run: Run, node: Node, place: Place): Dirs {
  const { tail = [], ...alone } = place;
  const words = node.children.filter(({ type }) => type !== "comment");
  place.seen.push({ words: words.map(({ startIndex }) => startIndex), targets: tail.flatMap(startsOf) });
  const start = run.out.length;
  const args = words.flatMap((one) => argsAt(one, place));
  judge(run, args, alone);
  attach(run, run.out.slice(start), tail, place);
  for (const child of node.namedChildren) substitutions(run, child, alone);
  return stay(place);
}

// ── What really runs ───────────────────────────────────────────────────────────────────────────────────

/** Adds a command to what runs. */
function enter(run: Run, args: Arg[], { floor }: Pick<Place, "floor">, says: Says, silent = false): Simple {
  const { verdict, why } = floor ? worse(says, floor) : says;
  const text = args
    .map(({ shown }) => shown)
    .filter(Boolean)
    .join(" ");
  const entry: Simple = { text, words: args.map((arg) => arg.text), verdict, why, reads: [], writes: [] };
  run.out.push(entry);
  const [first] = args;
  if (first && !silent) run.runs.push(first.text === undefined ? first.shown : programOf(first.text));
  return entry;
}

/** Judges an argument vector: unwraps it, or judges it as it is. */
function judge(run: Run, args: Arg[], at: Outer): Dirs {
  if (at.depth > DEEPEST) throw new Error("it is nested too deeply");
  const [first, ...rest] = args;
  if (!first) return stay(at);
  const doubt = args.find((arg) => arg.doubt !== undefined)?.doubt;
  const denied = deniedBy(textsOf(args), run.lists);
  let place = raised(at, denied, first.globbed && ask("a glob says what runs"), doubt !== undefined && ask(doubt));
  if (first.text === undefined) {
    enter(run, args, place, ask(first.why ?? "what it runs is not known"));
    return stay(place);
  }
  const name = programOf(first.text);
  const brought = isKnown(name) && isBrought(first.text, run.cwd, run.env.PATH);
  if (brought) place = floored(place, ask(`'${name}' is a program that the project brings`));
  const inner = { ...place, depth: place.depth + 1 };
  if (name === "command" && /^-[pvV]*[vV]/.test(rest[0]?.text ?? "")) return plain(run, args, place, name);
  if (name === "find") return find(run, args, inner);
  if (name === "eval") return evaluate(run, args, inner);
  if (name === "cd") return changeDir(run, args, place);
  if (SHELLS.has(name)) return shell(run, name, args, inner);
  if (Object.hasOwn(WRAPPERS, name)) return unwrap(run, name, WRAPPERS[name]!, args, inner);
  return plain(run, args, place, name);
}

/** The place with these as the least that may be said of what is in it. */
function raised(place: Outer, ...floors: (Says | false | undefined)[]): Outer {
  const floor = floors.reduce<Says | undefined>((all, one) => (one ? worse(all, one) : all), place.floor);
  return floor ? { ...place, floor } : place;
}

const textsOf = (args: readonly Arg[]): Words => args.map(({ text }) => text);
/** The words with the program's plain name first: `/BIN/RM` is rm, at least on a Mac's disk. */
const plainWords = ([first, ...rest]: Words): Words => [first && path.posix.basename(first).toLowerCase(), ...rest];

function deniedBy(words: Words, { deny, except }: Lists): Says | undefined {
  const plainly = plainWords(words);
  const lifted = new Set(except.map((one) => one.trim().split(/\s+/).join(" ")));
  const built = DENIED.find(([name, test]) => !lifted.has(name) && test(plainly))?.[0];
  const own = deny.find((one) => {
    const entry = one.trim().split(/\s+/);
    return one.trim() && (startsWith(plainly, entry) || startsWith(words, entry));
  });
  const name = built ?? own;
  return name === undefined ? undefined : { verdict: "deny", why: `${name} is on the deny list` };
}

function allowedBy(words: Words, { allow }: Lists): string | undefined {
  const [first = "", ...rest] = words;
  return allow.find((one) => {
    const [name = "", ...more] = one.trim().split(/\s+/);
    const same = name !== "" && (name === first || name === programOf(first));
    return (
      same && (more.length > 0 || !INTERPRETERS.has(programOf(first))) && more.every((word, i) => word === rest[i])
    );
  });
}

function plain(run: Run, args: Arg[], place: Outer, name: string): Dirs {
  const { says, read, listed } = judgePlain(run, args, place, name);
  const entry = enter(run, args, place, says);
  if (listed) run.listed.add(entry);
  const globbed = args.flatMap(({ globbed, text }) => (globbed ? [text!] : []));
  if (read) addReads(run, entry, [...read.reads, ...globbed], place);
  if (read?.doubt?.writes) addWrites(run, entry, read.doubt.writes, place);
  return stay(place);
}

function judgePlain(run: Run, args: Arg[], { dirs }: Outer, name: string): { says: Says; read?: Read; listed?: true } {
  const words = textsOf(args);
  const unknown = args.find(({ text }) => text === undefined);
  if (unknown && !(unknown.given && TAKES_ANYTHING.has(name)))
    return { says: ask(unknown.why ?? "one of its words is not known") };
  if (run.functions.has(words[0]!)) return { says: ask("a function of this line") };
  const listed = allowedBy(words, run.lists);
  if (listed !== undefined)
    return { says: { verdict: "allow", why: `'${listed}' is on the allow list` }, listed: true };
  const read = readsOf(name, args.slice(1), dirs);
  if (read?.whole && run.lists.hidden?.length) return { says: ask("it may show what may not be read") };
  if (read && name === "git" && !read.doubt && (dirs.length !== 1 || dirs[0] !== run.cwd))
    return { says: ask("after a cd, git may meet another repository") };
  if (read) return { says: read.doubt ?? { verdict: "allow", why: "only reads" }, read };
  return { says: judgeOther(name, words.slice(1)) };
}

/** What neither is denied nor only reads. */
function judgeOther(name: string, rest: Words): Says {
  const why = ASKS.get(name);
  if (why) return ask(why);
  if (Object.hasOwn(RUNNING, name) && holds(rest, RUNNING[name]!))
    return ask(`${name} can run other commands this way`);
  if (INTERPRETERS.has(name) && runsText(rest)) return ask("an interpreter runs what it is given");
  const hidden = hiddenIn(rest);
  if (hidden) return ask(hidden);
  return {
    verdict: "open",
    why: INTERPRETERS.has(name) ? "an interpreter runs what it is given" : `'${name}' may change something`,
  };
}

/** Whether an interpreter gets its program from elsewhere than a file that is named first. */
const runsText = (rest: Words): boolean => {
  const first = rest.findIndex((word) => !word?.startsWith("-") || word === "-");
  const options = first < 0 ? rest : rest.slice(0, first);
  if (options.some((word) => !INTERPRETER_SAFE.test(word ?? ""))) return true;
  return first < 0 ? !options.length : rest[first] === "-";
};

function unwrap(run: Run, name: string, wrapper: Wrapper, args: Arg[], place: Outer): Dirs {
  let inner = raised(place, wrapper.asks !== undefined && ask(wrapper.asks));
  const parsed = parse(args.slice(1), wrapper.options, !wrapper.late);
  if (parsed.bad) {
    const why = hiddenIn(textsOf(args).slice(1)) ?? `zz does not know '${parsed.bad}' of ${name}`;
    enter(run, args, inner, ask(why));
    return stay(place);
  }
  if (wrapper.wipes?.split(" ").some((one) => parsed.values.has(one)))
    inner = raised(inner, ask(`${name} changes where programs are looked for`));
  const line = scriptOf(wrapper, parsed.operands, parsed.values);
  if (line !== undefined) {
    script(run, line, raised(inner, ask(`${name} hands it to a shell`)));
    return stay(place);
  }
  let rest = parsed.operands.slice(wrapper.skip ?? 0);
  while (wrapper.sets && ASSIGNMENT.test(rest[0]?.text ?? "")) {
    const [set, value] = rest[0]!.text!.split(/=(.*)/s);
    if (!HARMLESS.test(set!) || !HARMLESS_VALUE.test(value!)) inner = raised(inner, ask(`it sets ${set}`));
    rest = rest.slice(1);
  }
  if (wrapper.adds) rest = withUnknown(rest, parsed.values);
  if (wrapper.joins && rest.length) {
    const texts = textsOf(rest);
    if (!texts.includes(undefined)) script(run, texts.join(" "), inner);
    else enter(run, args, inner, ask("what it runs is not known"));
    return stay(place);
  }
  if (!rest.length || wrapper.late) {
    enter(run, args, inner, { verdict: "open", why: `${name} alone` });
    return stay(place);
  }
  const start = run.out.length;
  const dirs = judge(run, rest, inner);
  for (const one of run.out.slice(start)) addReads(run, one, parsed.files, place);
  return wrapper.stays ? dirs : stay(place);
}

/** A denied command among the words of one that zz does not know. */
function hiddenIn(words: Words): string | undefined {
  const at = words.findIndex((_, i) => deniedBy(words.slice(i), NO_LISTS));
  return at < 0 ? undefined : `it may run '${words[at]}'`;
}

function scriptOf(
  { script: names = "", late }: Wrapper,
  operands: Arg[],
  values: Map<string, string[]>,
): string | undefined {
  const all = names.split(" ").filter(Boolean);
  const given = all.flatMap((one) => values.get(one) ?? []);
  if (given.length) return [given.at(-1), ...(late ? [] : operands.map(({ shown }) => shown))].join(" ");
  // flock FILE -c 'line'
  return all.includes(operands[1]?.text ?? "") ? operands[2]?.text : undefined;
}

/** xargs adds words at the end, or where {} or the word that it was told stands. */
function withUnknown(args: Arg[], values: Map<string, string[]>): Arg[] {
  const marks = ["{}", ...["-I", "-i", "--replace"].flatMap((one) => values.get(one) ?? [])];
  const program: Arg[] = args.length ? args : [{ text: "echo", shown: "echo" }];
  return [...program.map((arg) => given(arg, marks)), { ...GIVEN, shown: "…" }];
}

const GIVEN = { text: undefined, why: "it gets words that are not known", given: true } as const;
/** An argument that holds one of the marks is what xargs or find makes of it. */
const given = (arg: Arg, marks: string[]): Arg =>
  marks.some((mark) => arg.text?.includes(mark)) ? { ...GIVEN, shown: arg.shown, template: arg.text! } : arg;

/** find looks, and runs what follows -exec. */
function find(run: Run, args: Arg[], place: Outer): Dirs {
  const words = textsOf(args);
  const known = words.every((word) => word !== undefined && !FIND_RUNS.test(word));
  if (known && allowedBy(words, run.lists) !== undefined) return plain(run, args, place, "find");
  const entry = enter(run, args, place, { verdict: "allow", why: "only reads" });
  const starts: string[] = [];
  for (let i = 1, looking = false; i < args.length; i++) {
    const word = words[i];
    looking ||= word !== undefined && /^-.|^[(!),]$/.test(word) && word !== "-P";
    if (word === undefined) raise([entry], ask(args[i]!.why ?? "one of its words is not known"));
    else if (!looking) starts.push(...(word === "-P" ? [] : [word]));
    else if (FIND_RUNS.test(word)) i = findRuns(run, entry, args, i, place);
    else if (FIND_ASKS.test(word)) raise([entry], ask(`find ${word} does more than look`));
    else if (!Object.hasOwn(FIND_TESTS, word))
      raise([entry], { verdict: "open", why: `zz does not know '${word}' of find` });
    else i += FIND_TESTS[word]!;
  }
  if (!place.dirs.length) raise([entry], ask("it reads in a folder that cannot be known"));
  addReads(run, entry, starts, place);
  return stay(place);
}

/** From -exec to its end; where that is. */
function findRuns(run: Run, entry: Simple, args: Arg[], at: number, place: Outer): number {
  const end = args.findIndex(({ text }, i) => i > at && (text === ";" || (text === "+" && args[i - 1]?.text === "{}")));
  if (end < 0) raise([entry], ask("its -exec has no end"));
  const inner = args.slice(at + 1, end < 0 ? args.length : end).map((arg) => given(arg, ["{}"]));
  const how = args[at]!.text!;
  const asked = raised(place, how.startsWith("-ok") && ask("find asks on the terminal"));
  if (inner.length) judge(run, inner, { ...asked, dirs: how.endsWith("dir") ? [] : place.dirs });
  return end < 0 ? args.length : end;
}

function evaluate(run: Run, args: Arg[], place: Outer): Dirs {
  const words = textsOf(args.slice(args[1]?.text === "--" ? 2 : 1));
  if (!words.includes(undefined)) return script(run, words.join(" "), place);
  enter(run, args, place, ask("what it runs is not known"));
  return { any: [], ok: [] };
}

/** bash -c 'line', or a script's file, or whatever comes in. */
function shell(run: Run, name: string, args: Arg[], place: Outer): Dirs {
  const words = textsOf(args);
  let [i, letters, known] = [1, "", true];
  for (; i < words.length && /^[-+]./.test(words[i] ?? ""); i++) {
    const word = words[i]!;
    if (word === "--") {
      i++;
      break;
    }
    if (word.startsWith("--")) known &&= /^--(norc|noprofile|posix|login)$/.test(word);
    else {
      known &&= /^-[celuxo]+$/.test(word);
      letters += word.slice(1);
      if (word.includes("o")) known &&= /^(pipefail|errexit|nounset)$/.test(words[++i] ?? "");
    }
  }
  if (!letters.includes("c")) {
    plain(run, args, place, name);
    return stay(place);
  }
  const template = args[i]?.template;
  const line = words[i] ?? template;
  if (line === undefined) {
    enter(run, args, place, ask(args[i]?.why ?? "what it runs is not known"));
    return stay(place);
  }
  const reads = name === "bash" || (/^(sh|dash|ash)$/.test(name) && !BASHISM.test(line));
  const inner = raised(
    place,
    template !== undefined && ask("what is put into it is not known"),
    !known && ask(`zz does not know how ${name} is told to run it`),
    !reads && ask(`${name} may read it otherwise`),
  );
  script(run, line, inner);
  return stay(place);
}

/** cd to a literal folder inside is followed; anywhere else it asks, and nobody knows where it leads. */
function changeDir(run: Run, args: Arg[], place: Outer): Dirs {
  const [, to, ...more] = args;
  const nowhere = (why: string): Dirs => {
    enter(run, args, place, ask(why));
    return { any: [], ok: [] };
  };
  if (!to || more.length || !to.text || to.text.startsWith("-")) return nowhere("zz does not follow this cd");
  if (run.env.CDPATH) return nowhere("CDPATH may lead cd elsewhere");
  if (place.looped) return nowhere("a cd in a loop leads further each time");
  if (!place.dirs.length) return nowhere("a cd from a folder that cannot be known");
  const made: string[] = [];
  const root = realOf(run.cwd) ?? run.cwd;
  for (const dir of place.dirs) {
    const target = path.resolve(dir, to.text);
    const real = realOf(target);
    if (!real) return nowhere(`there is no folder '${to.text}' yet`);
    if (real !== path.resolve(realOf(dir) ?? dir, to.text)) return nowhere("it follows a link");
    if (real !== root && !real.startsWith(`${root}/`)) return nowhere("it leaves the folder");
    made.push(target);
  }
  enter(run, args, place, { verdict: "allow", why: "only reads" });
  return { any: join(place.dirs, made), ok: made };
}
