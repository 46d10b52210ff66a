// plain: without a sandbox, only plain commands that read run unasked: by absolute paths, and no
// shell sees their line.
import path from "node:path";
import type { Judged, Simple } from "./judge/index.ts";

/** The folders where a system keeps its own programs. */
const SYSTEM = [
  "/usr/local/bin",
  "/usr/bin",
  "/bin",
  "/usr/local/sbin",
  "/usr/sbin",
  "/sbin",
  "/opt/homebrew/bin",
];
/** Commands that only mean something to the shell itself, or start another program by its name. */
const OF_SHELLS = /^(command|type|egrep|fgrep)$/; // and cd, which is given to one

/** A pattern of files; the judge says which there are. */
type Glob = { glob: RegExp };
/**
 * One command of a line. `tail`: its redirections, and what joins it to the next, as any shell
 * reads them.
 */
export interface Part {
  words: (string | Glob)[];
  inputs: string[]; // files that it reads as its input
  tail: string;
}

const BLANKS = /(?:[ \t]|\\\n)*/y;
const BRACKET = /\[(?= )|\](?=[\s;|&]|$)/y; // of a test; nothing else may be in the word
const PIECE =
  /([\w@%+=:,./^~!{}-]+)|([*?]+)|\\([!-/:-@[-`{-~])|'([^']*)'|"((?:[^"$`\\!]|\\[^!\n])*)"/y;
const NOWHERE = /(?:([12]?>|&>|<) ?\/dev\/null|(2>&1)|1?(>&2))(?=[\s;|&]|$)/y;
const INPUT = /<(?![<&(>])[ \t]*/y;
const JOINT = /\|\||&&|[|;\n]/y;
const GAP = /(?:\s|\\\n)*/y;
const NOT_ASCII = /[^\x20-\x7e\n]/;

/** What is there, after which it goes on. */
class Reader {
  at = 0;
  readonly line: string;
  constructor(line: string) {
    this.line = line;
  }
  take(kind: RegExp): RegExpExecArray | undefined {
    kind.lastIndex = this.at;
    const found = kind.exec(this.line) ?? undefined;
    this.at += found?.[0].length ?? 0;
    return found;
  }
}

/**
 * The commands of a line without assignments, expansions, blocks and redirections to files, joined
 * by | && || ; and line ends.
 */
export function plainParts(line: string): Part[] | undefined {
  const reader = new Reader(line.trim());
  if (NOT_ASCII.test(reader.line)) return undefined;
  const parts: Part[] = [];
  for (;;) {
    const part = partOf(reader);
    const [first] = part?.words ?? [];
    if (!part || typeof first !== "string" || first.includes("=")) return undefined;
    parts.push(part);
    const joint = reader.take(JOINT)?.[0];
    if (joint === undefined) return reader.at === reader.line.length ? parts : undefined;
    reader.take(GAP);
    if (reader.at === reader.line.length) return joint === ";" ? parts : undefined;
    part.tail += joint === "\n" || joint === ";" ? "; " : ` ${joint} `;
  }
}

function partOf(reader: Reader): Part | undefined {
  const part: Part = { words: [], inputs: [], tail: "" };
  for (;;) {
    reader.take(BLANKS);
    const nowhere = reader.take(NOWHERE);
    const isInput = !nowhere && reader.take(INPUT) !== undefined;
    const word = nowhere ? undefined : wordOf(reader);
    if (nowhere) part.tail += redirectOf(nowhere);
    else if (isInput) {
      if (typeof word !== "string") return undefined;
      part.inputs.push(word);
      part.tail += ` <${quoted(word)}`;
    } else if (word !== undefined) part.words.push(word);
    else return part;
    if (
      !/^(?:[\s;|&]|$)/.test(reader.line.slice(reader.at, reader.at + 1)) &&
      !reader.line.startsWith("\\\n", reader.at)
    )
      return undefined;
  }
}

const redirectOf = ([, to, both, err]: RegExpExecArray): string => {
  if (both || err) return ` ${both ?? err}`;
  if (to === "&>") return " >/dev/null 2>&1";
  return ` ${to}/dev/null`;
};

function wordOf(reader: Reader): string | Glob | undefined {
  const bracket = reader.take(BRACKET)?.[0];
  if (bracket !== undefined) return bracket;
  let [word, pattern, isGlob]: [string | undefined, string, boolean] = [undefined, "", false];
  for (let piece = reader.take(PIECE); piece; piece = reader.take(PIECE)) {
    const [, bare, stars, escaped, single, double] = piece;
    const text = bare ?? stars ?? escaped ?? single ?? double!.replace(/\\(["\\$`])/g, "$1");
    isGlob ||= stars !== undefined;
    word = (word ?? "") + text;
    pattern +=
      stars === undefined
        ? text.replace(/\W/g, "\\$&")
        : stars.replace(/\*+|\?/g, (sign) => (sign === "?" ? "[^/]" : "[^/]*"));
  }
  return isGlob ? { glob: new RegExp(`^${pattern}$`) } : word;
}

/** The words as the judge read them, if both readings agree. */
function agreed(
  { words, inputs }: Part,
  { verdict, words: judged, reads }: Simple,
): string[] | undefined {
  if (!inputs.every((name) => reads.some((read) => path.basename(read) === path.basename(name))))
    return undefined;
  let at = 0;
  for (const word of words) {
    if (typeof word === "string") {
      if (judged[at++] !== word) return undefined;
      continue;
    }
    const from = at;
    while (at < judged.length && word.glob.test(judged[at] ?? "")) at++;
    if (at === from) return undefined;
  }
  return verdict === "allow" && at === judged.length ? (judged as string[]) : undefined;
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/**
 * What to start for a line that zz's own tables allow. Three must agree: the judge, the words
 * above, and the system's folders. Several commands are started by a shell that is given nothing
 * but quoted words and what joins them.
 */
export function plainCommand(
  line: string,
  { verdict, simple, writes }: Judged,
  find: (name: string) => string | undefined,
): string[] | undefined {
  const parts = plainParts(line);
  if (verdict !== "allow" || writes.length || !parts || parts.length !== simple.length)
    return undefined;
  const commands = parts.map((part, i) => {
    const [name, ...rest] = agreed(part, simple[i]!) ?? [];
    if (name === "cd") return [name, ...rest];
    const program = name && programOf(name, find);
    return program && [program, ...rest];
  });
  if (!commands.every((command) => Array.isArray(command))) return undefined;
  const [only, ...others] = commands;
  if (!others.length && !parts[0]!.tail && only![0] !== "cd") return only;
  const shell = programOf("sh", find);
  const script = commands
    .map((command, i) => command.map(quoted).join(" ") + parts[i]!.tail)
    .join("");
  return shell ? [shell, "-c", script] : undefined;
}

/** A program of the system. */
function programOf(name: string, find: (name: string) => string | undefined): string | undefined {
  const named = name.startsWith("/") ? path.posix.normalize(name) : name;
  if (
    OF_SHELLS.test(path.posix.basename(named)) ||
    (!path.isAbsolute(named) && named.includes("/"))
  )
    return undefined;
  const program = find(named);
  return program && SYSTEM.includes(path.posix.dirname(program)) ? program : undefined;
}
