// The words that bash makes of a line: quotes, escapes, braces, tildes and globs, but nothing that
// only a running shell knows.
import fs from "node:fs";
import { entriesOf, tryTo } from "zz/text";
import { inFolder } from "../resolve-paths.ts";

/** One character of a word, and whether quotes make it literal. */
type Cell = { char: string; quoted: boolean };
/** One argument: its text if known, else why not, and how to show it. */
export interface Arg {
  text: string | undefined;
  shown: string;
  why?: string;
  doubt?: string; // the text is right for bash, but other shells may read it differently
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
  doubt?: string;
}

const MAX_FILES = 500; // files for a glob, or words from braces
const [ONE, MANY] = ["any one", "any number"]; // in a pattern; everything else is single characters
const META = /[\s|&;<>()]/;
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

export const quote = (text: string): string =>
  /^(?:(?!~)[\w@%+=:,./^~-]+|[[\]!]|\{\})$/.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;

/** The word that starts at `start`; undefined if tokens alone cannot tell its end. */
export function scanWord(source: string, start: number, shell: KnownShell): Scanned | undefined {
  const scan: Scan = { source, shell, offset: start, cells: [], named: false };
  while (scan.offset < source.length && !META.test(source[scan.offset]!))
    if (!readPiece(scan)) return undefined;
  if (scan.offset === start) return undefined;
  const { offset: end, cells, named, why, doubt } = scan;
  const doubtIfAny = doubt === undefined ? {} : { doubt };
  return why === undefined ? { end, cells, named, ...doubtIfAny } : { end, why, ...doubtIfAny };
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

function put({ cells }: Scan, text: string, quoted: boolean): void {
  for (const char of text) cells.push({ char, quoted });
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
  put(scan, char, false);
  scan.offset += char.length;
  return true;
}

function readEscape(scan: Scan): boolean {
  const { source, offset } = scan;
  if (offset + 1 >= source.length) return false;
  const next = charAt(source, offset + 1);
  if (next !== "\n") put(scan, next, true);
  scan.offset += 1 + next.length;
  return true;
}

function readSingleQuoted(scan: Scan): boolean {
  const { source, offset } = scan;
  const end = source.indexOf("'", offset + 1);
  if (end < 0) return false;
  putQuote(scan);
  put(scan, source.slice(offset + 1, end), true);
  scan.offset = end + 1;
  return true;
}

function readDoubleQuoted(scan: Scan): boolean {
  const { source } = scan;
  scan.offset++;
  putQuote(scan);
  while (scan.offset < source.length) {
    const char = charAt(source, scan.offset);
    const next = source[scan.offset + 1];
    if (char === "`") return false;
    if (char === '"') {
      scan.offset++;
      return true;
    }
    if (char === "$") {
      if (!readVariable(scan, true)) return false;
    } else if (char === "\\" && next === "\n") scan.offset += 2;
    else if (char === "\\" && /[$`"\\]/.test(next ?? "")) {
      put(scan, next!, true);
      scan.offset += 2;
    } else {
      put(scan, char, true);
      scan.offset += char.length;
    }
  }
  return false;
}

function readAnsiQuoted(scan: Scan): boolean {
  const [end, text] = decodeAnsi(scan.source, scan.offset + 2);
  if (end === undefined) return false;
  if (text === undefined) scan.why ??= "it holds an escape that zz does not read";
  else put(scan, text, true);
  putQuote(scan);
  scan.doubt = "$'…' means something else to other shells";
  scan.offset = end;
  return true;
}

/**
 * A `$` alone, or with a name, whose value may be known. Anything more complex is left to the
 * grammar.
 */
function readVariable(scan: Scan, inQuotes: boolean): boolean {
  const { source, offset, shell } = scan;
  const [variable, braced, plain, special] =
    /^\$(?:\{(\w+)\}|([A-Za-z_]\w*)|([0-9?#$!@*_-]))/.exec(source.slice(offset, offset + 200)) ??
    [];
  const next = source[offset + 1];
  if (variable === undefined) {
    if (next !== undefined && !(inQuotes ? /["|)/.,\s]/ : /\s/).test(next)) return false;
    put(scan, "$", true);
    scan.offset++;
    return true;
  }
  // `$HOME\` at the end of a line continues on the next line.
  if (plain && source.startsWith("\\\n", offset + variable.length)) return false;
  const value = special ? undefined : valueIn((braced ?? plain)!, shell);
  if (value === undefined || (!inQuotes && /[\s*?[\]\\{}~]/.test(value)) || !value)
    scan.why ??= `it depends on ${variable}, which is not known before it runs`;
  else put(scan, value, true);
  scan.named = true;
  scan.offset += variable.length;
  return true;
}

const charAt = (text: string, offset: number): string =>
  String.fromCodePoint(text.codePointAt(offset)!);

const valueIn = (name: string, { home, dirs }: KnownShell): string | undefined => {
  if (name === "HOME") return home;
  if (name === "PWD" && dirs.length === 1) return dirs[0];
  return undefined;
};

/** `$'…'` after its quote: where it ends, and its text if every escape is plain ASCII. */
function decodeAnsi(source: string, start: number): [end?: number, text?: string] {
  let [text, plain] = ["", true];
  for (let i = start; i < source.length; ) {
    const ahead = source.slice(i, i + 12);
    if (ahead[0] === "'") return [i + 1, ...(plain ? [text] : [])] as [number, string?];
    const [sequence, letter, octal, hex] =
      /^\\(?:([ntrabeEfv\\'"?])|([0-7]{1,3})|(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})))/.exec(
        ahead,
      ) ?? [];
    if (sequence === undefined) {
      if (ahead[0] === "\\") plain = false;
      text += ahead[0];
      i += ahead[0] === "\\" ? 2 : 1;
      continue;
    }
    const code = octal ? Number.parseInt(octal, 8) : Number.parseInt(hex ?? sequence.slice(2), 16);
    if (letter) text += LETTERS[letter];
    else if (code > 0 && code < 128) text += String.fromCharCode(code);
    else plain = false;
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
  const word = scanWord(source, start, shell);
  if (!word || word.end !== end) return unknown("zz cannot read one of its words");
  if (!word.cells) return unknown(word.why!);
  const doubt = word.doubt === undefined ? {} : { doubt: word.doubt };
  const result: Arg[] = [];
  const braced = expandBraces(word.cells);
  // Braces come before variables: `$HOME{a,b}` is $HOMEa and $HOMEb.
  if (braced?.length !== 1 && word.named) return unknown("it holds braces that zz does not follow");
  for (const cells of braced ?? [undefined]) {
    const untilded = cells && expandTilde(cells, shell);
    if (!untilded)
      return unknown(
        cells ? "it holds a ~ that zz does not follow" : "it holds braces that zz does not follow",
      );
    if (!isGlob(untilded))
      result.push({ text: textOf(untilded), shown: quote(textOf(untilded)), ...doubt });
    else {
      const names = expandGlob(untilded, shell);
      if (typeof names === "string") return unknown(names);
      for (const text of names)
        result.push({ text, shown: text === names[0] ? shown : "", globbed: true, ...doubt });
    }
  }
  return result;
}

const textOf = (cells: Cell[]): string => cells.map(({ char }) => char).join("");
/** The word with every quoted character masked, one character per cell. */
const maskOf = (cells: Cell[]): string =>
  cells.map(({ char, quoted }) => (quoted || char.length !== 1 ? "\0" : char)).join("");

/** Adjacent `{a,b}` are expanded; nested ones and `{1..9}` are not. */
function expandBraces(cells: Cell[]): Cell[][] | undefined {
  const mask = maskOf(cells);
  if (!/\{.*(,|\.\.)/s.test(mask)) return [cells];
  if (!/^[^{}]*(\{[^{}]*\}[^{}]*)*$/.test(mask)) return undefined;
  const group = /\{[^{}]*(,|\.\.)[^{}]*\}/.exec(mask);
  if (!group) return [cells];
  if (!group[0].includes(",")) return undefined;
  const [from, to] = [group.index, group.index + group[0].length];
  const result: Cell[][] = [];
  for (let i = from + 1; i < to; ) {
    const comma = mask.slice(0, to - 1).indexOf(",", i);
    const end = comma < 0 ? to - 1 : comma;
    const expanded = expandBraces([
      ...cells.slice(0, from),
      ...cells.slice(i, end),
      ...cells.slice(to),
    ]);
    if (
      !expanded ||
      expanded.some((cellsOfWord) => !cellsOfWord.length) ||
      result.length > MAX_FILES
    )
      return undefined;
    result.push(...expanded);
    i = end + 1;
  }
  return result;
}

function expandTilde(cells: Cell[], { home }: KnownShell): Cell[] | undefined {
  const mask = maskOf(cells);
  if (/[=:]~/.test(mask)) return undefined;
  if (mask[0] !== "~") return cells;
  if (!/^~(\/|$)/.test(mask) || !home) return undefined;
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
  const parts = splitAtSlashes(cells);
  const absolute = parts.length > 1 && !parts[0]!.length;
  if (parts.slice(1, -1).some((part) => !part.length))
    return "it holds a glob that zz does not follow";
  let prefixes = [absolute ? "/" : ""];
  for (const [i, part] of parts.entries()) {
    if (!i && absolute) continue;
    const last = i === parts.length - 1;
    const longer = matchPart(part, prefixes, shell, last);
    if (typeof longer === "string") return longer;
    if (longer.length > MAX_FILES)
      return `it holds a glob that matches more than ${MAX_FILES} files`;
    prefixes = longer;
  }
  if (!prefixes.length) return [textOf(cells)];
  // A character class counts as any character: correct if nothing matches, and unknown if something
  // does.
  if (/\[.*\]/s.test(maskOf(cells))) return "it holds a glob with a class of characters";
  return prefixes;
}

function matchPart(
  part: Cell[],
  prefixes: string[],
  { dirs: [dir = "/"], budget }: KnownShell,
  last: boolean,
): string[] | string {
  const end = last ? "" : "/";
  if (!isGlob(part)) {
    const result = prefixes.map((before) => before + textOf(part) + end);
    return result.filter((name) => !last || exists(inFolder(dir, name), name.endsWith("/")));
  }
  if (textOf(part).startsWith(".")) return "it holds a glob that may match hidden files";
  const pattern = patternOf(part);
  const result: string[] = [];
  for (const before of prefixes)
    for (const fileName of entriesOf(inFolder(dir, before))) {
      if (budget.left-- < 0) return "it holds globs that take too long to look up";
      if (fileName.startsWith(".") || !matchesPattern([...fileName], pattern)) continue;
      const name = before + fileName + end;
      if (last || exists(inFolder(dir, name), true)) result.push(name);
      if (result.length > MAX_FILES) return result;
    }
  return result.sort();
}

/** A plain character class counts as any one character, other classes as any number. */
function patternOf(part: Cell[]): string[] {
  const pieces = [...maskOf(part).matchAll(/\[[\w.-]+\]|\[.*\]|[\s\S]/gs)];
  return pieces.flatMap(({ 0: piece, index }) => {
    if (piece === "?" || /^\[[\w.-]+\]$/.test(piece)) return ONE;
    return piece === "*" || piece.length > 1 ? MANY : part[index]!.char || [];
  });
}

/** Not a RegExp: one with many stars may never end. */
function matchesPattern(name: string[], pattern: string[]): boolean {
  let [n, p, star, from] = [0, 0, -1, 0];
  while (n < name.length)
    if (p < pattern.length && (pattern[p] === ONE || pattern[p] === name[n]))
      [n, p] = [n + 1, p + 1];
    else if (pattern[p] === MANY) [star, from, p] = [p, n, p + 1];
    else if (star >= 0) [from, n, p] = [from + 1, from + 1, star + 1];
    else return false;
  return pattern.slice(p).every((piece) => piece === MANY);
}

/** Whether a word matches a pattern in which `*` is any number of characters. */
export const matchesStars = (word: string, pattern: string): boolean =>
  matchesPattern(
    [...word],
    [...pattern].map((char) => (char === "*" ? MANY : char)),
  );

function splitAtSlashes(cells: Cell[]): Cell[][] {
  const parts: Cell[][] = [[]];
  for (const cell of cells)
    if (cell.char === "/") parts.push([]);
    else parts.at(-1)!.push(cell);
  return parts;
}

function exists(file: string, asFolder: boolean): boolean {
  return (
    tryTo(() => (asFolder ? fs.statSync(file).isDirectory() : Boolean(fs.lstatSync(file)))) ?? false
  );
}
