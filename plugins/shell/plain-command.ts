// Without a sandbox, only plain commands that read run unasked: by absolute paths, and no
// shell sees their line.
import path from "node:path";
import { SYSTEM_FOLDERS } from "zz/text";
import type { Judged, Simple } from "./judge/judge-line.ts";

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
const WORD_PIECE =
  /([\w@%+=:,./^~!{}-]+)|([*?]+)|\\([!-/:-@[-`{-~])|'([^']*)'|"((?:[^"$`\\!]|\\[^!\n])*)"/y;
const NOWHERE = /(?:([12]?>|&>|<) ?\/dev\/null|(2>&1)|1?(>&2))(?=[\s;|&]|$)/y;
const INPUT_SIGN = /<(?![<&(>])[ \t]*/y;
const COMMAND_JOINT = /\|\||&&|[|;\n]/y;
const JOINT_GAP = /(?:\s|\\\n)*/y;
const WORD_END = /(?=[\s;|&]|\\\n|$)/y;
const NOT_ASCII = /[^\x20-\x7e\n]/;

/** What is there, after which it goes on. */
class LineReader {
  offset = 0;
  readonly line: string;
  constructor(sourceLine: string) {
    this.line = sourceLine;
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
function plainParts(commandLine: string): PlainPart[] | undefined {
  const lineReader = new LineReader(commandLine.trim());
  if (NOT_ASCII.test(lineReader.line)) return undefined;
  const lineParts: PlainPart[] = [];
  for (;;) {
    const linePart = readPart(lineReader);
    const [firstWord] = linePart?.words ?? [];
    if (!linePart || typeof firstWord !== "string" || firstWord.includes("=")) return undefined;
    lineParts.push(linePart);
    const jointText = lineReader.take(COMMAND_JOINT)?.[0];
    if (jointText === undefined)
      return lineReader.offset === lineReader.line.length ? lineParts : undefined;
    lineReader.take(JOINT_GAP);
    if (lineReader.offset === lineReader.line.length)
      return jointText === ";" ? lineParts : undefined;
    linePart.tail += jointText === "\n" || jointText === ";" ? "; " : ` ${jointText} `;
  }
}

function readPart(lineReader: LineReader): PlainPart | undefined {
  const linePart: PlainPart = { words: [], inputs: [], tail: "" };
  for (;;) {
    lineReader.take(BLANKS);
    const nowhere = lineReader.take(NOWHERE);
    const isInput = !nowhere && lineReader.take(INPUT_SIGN) !== undefined;
    const nextWord = nowhere ? undefined : readWord(lineReader);
    if (nowhere) linePart.tail += redirection(nowhere);
    else if (isInput) {
      if (typeof nextWord !== "string") return undefined;
      linePart.inputs.push(nextWord);
      linePart.tail += ` <${quoteWord(nextWord)}`;
    } else if (nextWord !== undefined) linePart.words.push(nextWord);
    else return linePart;
    if (!lineReader.take(WORD_END)) return undefined;
  }
}

const redirection = ([, outputSign, duplicate, errorSign]: RegExpExecArray): string => {
  if (duplicate || errorSign) return ` ${duplicate ?? errorSign}`;
  if (outputSign === "&>") return " >/dev/null 2>&1";
  return ` ${outputSign}/dev/null`;
};

function readWord(lineReader: LineReader): string | Glob | undefined {
  const bracket = lineReader.take(BRACKET)?.[0];
  if (bracket !== undefined) return bracket;
  let wordText: string | undefined;
  let [pattern, hasWildcard] = ["", false];
  for (
    let wordPiece = lineReader.take(WORD_PIECE);
    wordPiece;
    wordPiece = lineReader.take(WORD_PIECE)
  ) {
    const [, bareText, wildcards, escaped, singleQuoted, doubleQuoted] = wordPiece;
    const pieceText =
      bareText ??
      wildcards ??
      escaped ??
      singleQuoted ??
      doubleQuoted!.replace(/\\(["\\$`])/g, "$1");
    hasWildcard ||= wildcards !== undefined;
    wordText = (wordText ?? "") + pieceText;
    pattern +=
      wildcards === undefined
        ? pieceText.replace(/\W/g, "\\$&")
        : wildcards.replace(/\*+|\?/g, (wildcard) => (wildcard === "?" ? "[^/]" : "[^/]*"));
  }
  return hasWildcard ? { glob: new RegExp(`^${pattern}$`) } : wordText;
}

/** The words as the judge read them, if both readings agree. */
function agreedWords(
  { words, inputs }: PlainPart,
  { verdict, words: judgedWords, reads }: Simple,
): string[] | undefined {
  if (
    !inputs.every((inputName) =>
      reads.some((readPath) => path.basename(readPath) === path.basename(inputName)),
    )
  )
    return undefined;
  let judgedIndex = 0;
  for (const plainWord of words) {
    if (typeof plainWord === "string") {
      if (judgedWords[judgedIndex++] !== plainWord) return undefined;
      continue;
    }
    const startIndex = judgedIndex;
    while (judgedIndex < judgedWords.length && plainWord.glob.test(judgedWords[judgedIndex] ?? ""))
      judgedIndex++;
    if (judgedIndex === startIndex) return undefined;
  }
  return verdict === "allow" && judgedIndex === judgedWords.length
    ? (judgedWords as string[])
    : undefined;
}

const quoteWord = (plainWord: string): string => `'${plainWord.replaceAll("'", "'\\''")}'`;

/**
 * What to start for a line that zz's own tables allow. Three must agree: the judge, the words
 * above, and the system's folders. Several commands are started by a shell that is given nothing
 * but quoted words and what joins them.
 */
export function plainCommand(
  commandLine: string,
  { verdict, simple, writes }: Judged,
  findProgram: (programName: string) => string | undefined,
): string[] | undefined {
  const lineParts = plainParts(commandLine);
  if (verdict !== "allow" || writes.length || !lineParts || lineParts.length !== simple.length)
    return undefined;
  const commands = lineParts.map((linePart, i) => {
    const [commandName, ...remainingWords] = agreedWords(linePart, simple[i]!) ?? [];
    if (commandName === "cd") return [commandName, ...remainingWords];
    const program = commandName && findSystemProgram(commandName, findProgram);
    return program && [program, ...remainingWords];
  });
  if (!commands.every((command) => Array.isArray(command))) return undefined;
  const [firstCommand, ...otherCommands] = commands;
  if (!otherCommands.length && !lineParts[0]!.tail && firstCommand![0] !== "cd")
    return firstCommand;
  const shellProgram = findSystemProgram("sh", findProgram);
  const shellScript = commands
    .map((command, i) => command.map(quoteWord).join(" ") + lineParts[i]!.tail)
    .join("");
  return shellProgram ? [shellProgram, "-c", shellScript] : undefined;
}

/** A program of the system. */
function findSystemProgram(
  programName: string,
  findProgram: (programName: string) => string | undefined,
): string | undefined {
  const normalName = programName.startsWith("/") ? path.posix.normalize(programName) : programName;
  if (
    OF_SHELLS.test(path.posix.basename(normalName)) ||
    (!path.isAbsolute(normalName) && normalName.includes("/"))
  )
    return undefined;
  const program = findProgram(normalName);
  return program && SYSTEM_FOLDERS.includes(path.posix.dirname(program)) ? program : undefined;
}
