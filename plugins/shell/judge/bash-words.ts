// The words that bash makes of a line: quotes, escapes, braces, tildes and globs, but nothing that
// only a running shell knows.
import fs from "node:fs";
import { entriesOf, fitsStars, tryTo } from "zz/text";
import { inFolder } from "../resolve-paths.ts";

/** One character of a word, and whether quotes make it literal. */
type Cell = { char: string; quoted: boolean };
/** One argument: its text if known, else why not, and how to show it. */
export interface Arg {
  text: string | undefined;
  shown: string;
  why?: string;
  // the text is right for bash, but other shells may read it differently
  doubt?: string | undefined;
  // it comes from xargs; or from find: a path below a folder that find was given
  filledBy?: "words" | "paths";
  template?: string; // the text that xargs or find inserts it into
  globbed?: true;
}
/** What is known about the shell before it starts. `dirs`: the folders that it may be in. */
export interface KnownShell {
  home: string | undefined;
  dirs: readonly string[];
  budget: { left: number }; // files that globs may still look at
}
interface Scanned {
  end: number;
  cells?: Cell[]; // absent: the end of the word is known, but not its value
  named?: boolean; // it contains a variable
  why?: string;
  doubt: string | undefined;
}

const MAX_FILES = 500; // files for a glob, or words from braces
// in a pattern; everything else is single characters
const [ANY_ONE, ANY_NUMBER] = ["any one", "any number"];
const META_CHARACTER = /[\s|&;<>()]/;
export const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
const LETTERS: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "?": "?",
};

export const quote = (wordText: string): string =>
  /^(?:(?!~)[\w@%+=:,./^~-]+|[[\]!]|\{\})$/.test(wordText)
    ? wordText
    : `'${wordText.replaceAll("'", `'\\''`)}'`;

/** The word that starts at `start`; undefined if tokens alone cannot tell its end. */
export function scanWord(source: string, start: number, shell: KnownShell): Scanned | undefined {
  const scan: Scan = { source, shell, offset: start, cells: [], named: false };
  while (scan.offset < source.length && !META_CHARACTER.test(source[scan.offset]!))
    if (!readPiece(scan)) return undefined;
  if (scan.offset === start) return undefined;
  const { offset: end, cells, named, why, doubt } = scan;
  return why === undefined ? { end, cells, named, doubt } : { end, why, doubt };
}

/** How far a word has been read, and what was found so far. */
interface Scan {
  readonly source: string;
  readonly shell: KnownShell;
  offset: number;
  cells: Cell[];
  named: boolean; // it contains a variable
  why?: string; // its value is unknown
  doubt?: string;
}

function putText({ cells }: Scan, pieceText: string, quoted: boolean): void {
  for (const char of pieceText) cells.push({ char, quoted });
}

/** Empty quotes count too: `""` is a word, and `""~` contains no tilde. */
function putQuote({ cells }: Scan): void {
  cells.push({ char: "", quoted: true });
}

/** Each of these reads one piece of a word; false if the end of the word cannot be determined. */
function readPiece(scan: Scan): boolean {
  const { source, offset } = scan;
  const char = charAt(source, offset);
  if (char === "\\") return readEscape(scan);
  if (char === "'") return readSingleQuoted(scan);
  if (char === '"') return readDoubleQuoted(scan);
  if (source.startsWith('$"', offset)) {
    scan.doubt = `$"…" may be translated`;
    scan.offset++;
    return readDoubleQuoted(scan);
  }
  if (source.startsWith("$'", offset)) return readAnsiQuoted(scan);
  if (char === "$") return readVariable(scan, false);
  if (char === "`") return false;
  putText(scan, char, false);
  scan.offset += char.length;
  return true;
}

function readEscape(scan: Scan): boolean {
  const { source, offset } = scan;
  if (offset + 1 >= source.length) return false;
  const nextChar = charAt(source, offset + 1);
  if (nextChar !== "\n") putText(scan, nextChar, true);
  scan.offset += 1 + nextChar.length;
  return true;
}

function readSingleQuoted(scan: Scan): boolean {
  const { source, offset } = scan;
  const endOffset = source.indexOf("'", offset + 1);
  if (endOffset < 0) return false;
  putQuote(scan);
  putText(scan, source.slice(offset + 1, endOffset), true);
  scan.offset = endOffset + 1;
  return true;
}

function readDoubleQuoted(scan: Scan): boolean {
  const { source } = scan;
  scan.offset++;
  putQuote(scan);
  while (scan.offset < source.length) {
    const char = charAt(source, scan.offset);
    const nextChar = source[scan.offset + 1];
    if (char === "`") return false;
    if (char === '"') {
      scan.offset++;
      return true;
    }
    if (char === "$") {
      if (!readVariable(scan, true)) return false;
    } else if (char === "\\" && nextChar === "\n") scan.offset += 2;
    else if (char === "\\" && /[$`"\\]/.test(nextChar ?? "")) {
      putText(scan, nextChar!, true);
      scan.offset += 2;
    } else {
      putText(scan, char, true);
      scan.offset += char.length;
    }
  }
  return false;
}

function readAnsiQuoted(scan: Scan): boolean {
  const [endOffset, decodedText] = decodeAnsi(scan.source, scan.offset + 2);
  if (endOffset === undefined) return false;
  if (decodedText === undefined) scan.why ??= "it holds an escape that zz does not read";
  else putText(scan, decodedText, true);
  putQuote(scan);
  scan.doubt = "$'…' means something else to other shells";
  scan.offset = endOffset;
  return true;
}

/**
 * A `$` alone, or with a name, whose value may be known. Anything more complex is left to the
 * grammar.
 */
function readVariable(scan: Scan, inQuotes: boolean): boolean {
  const { source, offset, shell } = scan;
  const [variable, bracedName, plainName, special] =
    /^\$(?:\{(\w+)\}|([A-Za-z_]\w*)|([0-9?#$!@*_-]))/.exec(source.slice(offset, offset + 200)) ??
    [];
  const nextChar = source[offset + 1];
  if (variable === undefined) {
    if (nextChar !== undefined && !(inQuotes ? /["|)/.,\s]/ : /\s/).test(nextChar)) return false;
    putText(scan, "$", true);
    scan.offset++;
    return true;
  }
  // `$HOME\` at the end of a line continues on the next line.
  if (plainName && source.startsWith("\\\n", offset + variable.length)) return false;
  const knownValue = special ? undefined : valueIn((bracedName ?? plainName)!, shell);
  if (knownValue === undefined || (!inQuotes && /[\s*?[\]\\{}~]/.test(knownValue)) || !knownValue)
    scan.why ??= `it depends on ${variable}, which is not known before it runs`;
  else putText(scan, knownValue, true);
  scan.named = true;
  scan.offset += variable.length;
  return true;
}

const charAt = (sourceText: string, offset: number): string =>
  String.fromCodePoint(sourceText.codePointAt(offset)!);

const valueIn = (variable: string, { home, dirs }: KnownShell): string | undefined => {
  if (variable === "HOME") return home;
  if (variable === "PWD" && dirs.length === 1) return dirs[0];
  return undefined;
};

const HEX_ESCAPE = /x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})/.source;
const ANSI_ESCAPE = new RegExp(
  String.raw`^\\(?:([ntrabeEfv\\'"?])|([0-7]{1,3})|(?:${HEX_ESCAPE}))`,
);

/** `$'…'` after its quote: where it ends, and its text if every escape is plain ASCII. */
function decodeAnsi(source: string, start: number): [end?: number, text?: string | undefined] {
  let [decodedText, isPlain] = ["", true];
  for (let i = start; i < source.length; ) {
    const nextChars = source.slice(i, i + 12);
    if (nextChars[0] === "'") return [i + 1, isPlain ? decodedText : undefined];
    const [sequence, letter, octalCode, hexCode] = ANSI_ESCAPE.exec(nextChars) ?? [];
    if (sequence === undefined) {
      if (nextChars[0] === "\\") isPlain = false;
      decodedText += nextChars[0];
      i += nextChars[0] === "\\" ? 2 : 1;
      continue;
    }
    const charCode = octalCode
      ? Number.parseInt(octalCode, 8)
      : Number.parseInt(hexCode ?? sequence.slice(2), 16);
    if (letter) decodedText += LETTERS[letter];
    else if (charCode > 0 && charCode < 128) decodedText += String.fromCharCode(charCode);
    else isPlain = false;
    i += sequence.length;
  }
  return [];
}

/**
 * The arguments that bash makes of the word from `start` to `end`: usually one, several with braces
 * and globs.
 */
export function argsOf(source: string, start: number, end: number, shell: KnownShell): Arg[] {
  const shown = source.slice(start, end);
  const unknown = (reason: string): Arg[] => [{ text: undefined, shown, why: reason }];
  const scannedWord = scanWord(source, start, shell);
  if (!scannedWord || scannedWord.end !== end) return unknown("zz cannot read one of its words");
  if (!scannedWord.cells) return unknown(scannedWord.why!);
  const { doubt } = scannedWord;
  const wordArgs: Arg[] = [];
  const bracedWords = expandBraces(scannedWord.cells);
  // Braces come before variables: `$HOME{a,b}` is $HOMEa and $HOMEb.
  if (!bracedWords || (bracedWords.length !== 1 && scannedWord.named))
    return unknown("it holds braces that zz does not follow");
  for (const wordCells of bracedWords) {
    const untilded = expandTilde(wordCells, shell);
    if (!untilded) return unknown("it holds a ~ that zz does not follow");
    if (!isGlob(untilded))
      wordArgs.push({ text: textOf(untilded), shown: quote(textOf(untilded)), doubt });
    else {
      const matchedNames = expandGlob(untilded, shell);
      if (typeof matchedNames === "string") return unknown(matchedNames);
      for (const text of matchedNames)
        wordArgs.push({ text, shown: text === matchedNames[0] ? shown : "", globbed: true, doubt });
    }
  }
  return wordArgs;
}

const textOf = (cells: Cell[]): string => cells.map(({ char }) => char).join("");
/** The word with every quoted character masked, one character per cell. */
const maskOf = (cells: Cell[]): string =>
  cells.map(({ char, quoted }) => (quoted || char.length !== 1 ? "\0" : char)).join("");

/** Adjacent `{a,b}` are expanded; nested ones and `{1..9}` are not. */
function expandBraces(cells: Cell[]): Cell[][] | undefined {
  const cellMask = maskOf(cells);
  if (!/\{.*(,|\.\.)/s.test(cellMask)) return [cells];
  if (!/^[^{}]*(\{[^{}]*\}[^{}]*)*$/.test(cellMask)) return undefined;
  const braceGroup = /\{[^{}]*(,|\.\.)[^{}]*\}/.exec(cellMask);
  if (!braceGroup) return [cells];
  if (!braceGroup[0].includes(",")) return undefined;
  const [groupStart, groupEnd] = [braceGroup.index, braceGroup.index + braceGroup[0].length];
  const expansions: Cell[][] = [];
  for (let i = groupStart + 1; i < groupEnd; ) {
    const commaIndex = cellMask.slice(0, groupEnd - 1).indexOf(",", i);
    const choiceEnd = commaIndex < 0 ? groupEnd - 1 : commaIndex;
    const expanded = expandBraces([
      ...cells.slice(0, groupStart),
      ...cells.slice(i, choiceEnd),
      ...cells.slice(groupEnd),
    ]);
    if (
      !expanded ||
      expanded.some((cellsOfWord) => !cellsOfWord.length) ||
      expansions.length > MAX_FILES
    )
      return undefined;
    expansions.push(...expanded);
    i = choiceEnd + 1;
  }
  return expansions;
}

function expandTilde(cells: Cell[], { home }: KnownShell): Cell[] | undefined {
  const cellMask = maskOf(cells);
  if (/[=:]~/.test(cellMask)) return undefined;
  if (cellMask[0] !== "~") return cells;
  if (!/^~(\/|$)/.test(cellMask) || !home) return undefined;
  return [...[...home].map((char) => ({ char, quoted: true })), ...cells.slice(1)];
}

const isGlob = (cells: Cell[]): boolean => /[*?]|\[.*\]/s.test(maskOf(cells));

/**
 * The files that a glob matches, or the text itself if there are none; a string says why it is
 * unknown.
 */
function expandGlob(cells: Cell[], shell: KnownShell): string[] | string {
  if (shell.dirs.length !== 1)
    return "it holds a glob after a cd that may or may not have happened";
  const pathParts = splitAtSlashes(cells);
  const absolute = pathParts.length > 1 && !pathParts[0]!.length;
  if (pathParts.slice(1, -1).some((pathPart) => !pathPart.length))
    return "it holds a glob that zz does not follow";
  let prefixes = [absolute ? "/" : ""];
  for (const [i, pathPart] of pathParts.entries()) {
    if (!i && absolute) continue;
    const isLast = i === pathParts.length - 1;
    const nextPrefixes = matchPart(pathPart, prefixes, shell, isLast);
    if (typeof nextPrefixes === "string") return nextPrefixes;
    if (nextPrefixes.length > MAX_FILES)
      return `it holds a glob that matches more than ${MAX_FILES} files`;
    prefixes = nextPrefixes;
  }
  if (!prefixes.length) return [textOf(cells)];
  // A character class counts as any character: correct if nothing matches, and unknown if something
  // does.
  if (/\[.*\]/s.test(maskOf(cells))) return "it holds a glob with a class of characters";
  return prefixes;
}

function matchPart(
  pathPart: Cell[],
  prefixes: string[],
  { dirs: [folder = "/"], budget }: KnownShell,
  isLast: boolean,
): string[] | string {
  const suffix = isLast ? "" : "/";
  if (!isGlob(pathPart)) {
    const joinedPaths = prefixes.map((prefix) => prefix + textOf(pathPart) + suffix);
    return joinedPaths.filter(
      (pathName) => !isLast || exists(inFolder(folder, pathName), pathName.endsWith("/")),
    );
  }
  if (textOf(pathPart).startsWith(".")) return "it holds a glob that may match hidden files";
  const pattern = patternOf(pathPart);
  const matchedPaths: string[] = [];
  for (const prefix of prefixes)
    for (const fileName of entriesOf(inFolder(folder, prefix))) {
      if (budget.left-- < 0) return "it holds globs that take too long to look up";
      if (fileName.startsWith(".") || !matchesPattern(fileName, pattern)) continue;
      const pathName = prefix + fileName + suffix;
      if (isLast || exists(inFolder(folder, pathName), true)) matchedPaths.push(pathName);
      if (matchedPaths.length > MAX_FILES) return matchedPaths;
    }
  return matchedPaths.sort();
}

/** A plain character class counts as any one character, other classes as any number. */
function patternOf(pathPart: Cell[]): string[] {
  const maskPieces = [...maskOf(pathPart).matchAll(/\[[\w.-]+\]|\[.*\]|[\s\S]/gs)];
  return maskPieces.flatMap(({ 0: maskPiece, index }) => {
    if (maskPiece === "?" || /^\[[\w.-]+\]$/.test(maskPiece)) return ANY_ONE;
    return maskPiece === "*" || maskPiece.length > 1 ? ANY_NUMBER : pathPart[index]!.char || [];
  });
}

/** Not a RegExp: one with many stars may never end. */
const matchesPattern = (fileName: string, pattern: string[]): boolean =>
  fitsStars(
    pattern,
    [...fileName],
    (piece) => piece === ANY_NUMBER,
    (piece, char) => piece === ANY_ONE || piece === char,
  );

/** Whether a word matches a pattern in which `*` is any number of characters. */
export const matchesStars = (word: string, pattern: string): boolean =>
  matchesPattern(
    word,
    [...pattern].map((char) => (char === "*" ? ANY_NUMBER : char)),
  );

function splitAtSlashes(cells: Cell[]): Cell[][] {
  const pathParts: Cell[][] = [[]];
  for (const cell of cells)
    if (cell.char === "/") pathParts.push([]);
    else pathParts.at(-1)!.push(cell);
  return pathParts;
}

function exists(filePath: string, asFolder: boolean): boolean {
  return (
    tryTo(() =>
      asFolder ? fs.statSync(filePath).isDirectory() : Boolean(fs.lstatSync(filePath)),
    ) ?? false
  );
}
