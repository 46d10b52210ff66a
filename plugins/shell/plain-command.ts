// Without a sandbox, only plain commands that read run unasked: by absolute paths, and no
// shell sees their line.
import path from "node:path";
import type { Judged, Simple } from "./judge/judge-line.ts";

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
interface PlainPart {
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
class LineReader {
  offset = 0;
  readonly line: string;
  constructor(line: string) {
    this.line = line;
  }
  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.offset;
    const match = pattern.exec(this.line) ?? undefined;
    this.offset += match?.[0].length ?? 0;
    return match;
  }
}

/**
 * The commands of a line without assignments, expansions, blocks and redirections to files, joined
 * by | && || ; and line ends.
 */
function plainParts(line: string): PlainPart[] | undefined {
  const reader = new LineReader(line.trim());
  if (NOT_ASCII.test(reader.line)) return undefined;
  const parts: PlainPart[] = [];
  for (;;) {
    const part = readPart(reader);
    const [first] = part?.words ?? [];
    if (!part || typeof first !== "string" || first.includes("=")) return undefined;
    parts.push(part);
    const joint = reader.take(JOINT)?.[0];
    if (joint === undefined) return reader.offset === reader.line.length ? parts : undefined;
    reader.take(GAP);
    if (reader.offset === reader.line.length) return joint === ";" ? parts : undefined;
    part.tail += joint === "\n" || joint === ";" ? "; " : ` ${joint} `;
  }
}

function readPart(reader: LineReader): PlainPart | undefined {
  const part: PlainPart = { words: [], inputs: [], tail: "" };
  for (;;) {
    reader.take(BLANKS);
    const nowhere = reader.take(NOWHERE);
    const isInput = !nowhere && reader.take(INPUT) !== undefined;
    const word = nowhere ? undefined : readWord(reader);
    if (nowhere) part.tail += redirection(nowhere);
    else if (isInput) {
      if (typeof word !== "string") return undefined;
      part.inputs.push(word);
      part.tail += ` <${quoted(word)}`;
    } else if (word !== undefined) part.words.push(word);
    else return part;
    if (
      !/^(?:[\s;|&]|$)/.test(reader.line.slice(reader.offset, reader.offset + 1)) &&
      !reader.line.startsWith("\\\n", reader.offset)
    )
      return undefined;
  }
}

const redirection = ([, to, duplicate, err]: RegExpExecArray): string => {
  if (duplicate || err) return ` ${duplicate ?? err}`;
  if (to === "&>") return " >/dev/null 2>&1";
  return ` ${to}/dev/null`;
};

function readWord(reader: LineReader): string | Glob | undefined {
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
function agreedWords(
  { words, inputs }: PlainPart,
  { verdict, words: judged, reads }: Simple,
): string[] | undefined {
  if (!inputs.every((name) => reads.some((read) => path.basename(read) === path.basename(name))))
    return undefined;
  let index = 0;
  for (const word of words) {
    if (typeof word === "string") {
      if (judged[index++] !== word) return undefined;
      continue;
    }
    const from = index;
    while (index < judged.length && word.glob.test(judged[index] ?? "")) index++;
    if (index === from) return undefined;
  }
  return verdict === "allow" && index === judged.length ? (judged as string[]) : undefined;
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
    const [name, ...remainingWords] = agreedWords(part, simple[i]!) ?? [];
    if (name === "cd") return [name, ...remainingWords];
    const program = name && findSystemProgram(name, find);
    return program && [program, ...remainingWords];
  });
  if (!commands.every((command) => Array.isArray(command))) return undefined;
  const [only, ...others] = commands;
  if (!others.length && !parts[0]!.tail && only![0] !== "cd") return only;
  const shell = findSystemProgram("sh", find);
  const script = commands
    .map((command, i) => command.map(quoted).join(" ") + parts[i]!.tail)
    .join("");
  return shell ? [shell, "-c", script] : undefined;
}

/** A program of the system. */
function findSystemProgram(
  name: string,
  find: (name: string) => string | undefined,
): string | undefined {
  const named = name.startsWith("/") ? path.posix.normalize(name) : name;
  if (
    OF_SHELLS.test(path.posix.basename(named)) ||
    (!path.isAbsolute(named) && named.includes("/"))
  )
    return undefined;
  const program = find(named);
  return program && SYSTEM.includes(path.posix.dirname(program)) ? program : undefined;
}
