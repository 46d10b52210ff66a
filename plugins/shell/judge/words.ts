// The words that bash makes of a line: quotes, escapes, braces, tildes and globs, but nothing that
// only a running shell knows.
import fs from "node:fs";
import { entriesOf, tryTo } from "zz/text";
import { inFolder } from "../paths.ts";

/** One character of a word, and whether quotes make it literal. */
type Cell = { char: string; quoted: boolean };
/** One argument: its text if known, else why not, and how to show it. */
export interface Arg {
  text: string | undefined;
  shown: string;
  why?: string;
  doubt?: string; // the text is right for bash, but other shells may read it differently
  // it comes from xargs; or from find: a path below a folder that find was given
  given?: "words" | "paths";
  template?: string; // the text that xargs or find inserts it into
  globbed?: true;
}
/** What is known about the shell before it starts. `dirs`: the folders that it may be in. */
export interface Known {
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

/** The word that starts at `at`; undefined if tokens alone cannot tell its end. */
export function scanWord(source: string, at: number, known: Known): Scanned | undefined {
  const scan: Scan = { source, known, at, cells: [], named: false };
  while (scan.at < source.length && !META.test(source[scan.at]!))
    if (!readPiece(scan)) return undefined;
  if (scan.at === at) return undefined;
  const { at: end, cells, named, why, doubt } = scan;
  const more = doubt === undefined ? {} : { doubt };
  return why === undefined ? { end, cells, named, ...more } : { end, why, ...more };
}

/** How far a word has been read, and what was found so far. */
interface Scan {
  readonly source: string;
  readonly known: Known;
  at: number;
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
  const { source, at } = scan;
  const char = charAt(source, at);
  if (char === "\\") return readEscape(scan);
  if (char === "'") return readSingleQuoted(scan);
  if (char === '"') return readDoubleQuoted(scan);
  if (source.startsWith('$"', at)) {
    scan.doubt = `$"…" may be translated`;
    scan.at++;
    return readDoubleQuoted(scan);
  }
  if (source.startsWith("$'", at)) return readAnsiQuoted(scan);
  if (char === "$") return readVariable(scan, false);
  if (char === "`") return false;
  put(scan, char, false);
  scan.at += char.length;
  return true;
}

function readEscape(scan: Scan): boolean {
  const { source, at } = scan;
  if (at + 1 >= source.length) return false;
  const next = charAt(source, at + 1);
  if (next !== "\n") put(scan, next, true);
  scan.at += 1 + next.length;
  return true;
}

function readSingleQuoted(scan: Scan): boolean {
  const { source, at } = scan;
  const end = source.indexOf("'", at + 1);
  if (end < 0) return false;
  putQuote(scan);
  put(scan, source.slice(at + 1, end), true);
  scan.at = end + 1;
  return true;
}

function readDoubleQuoted(scan: Scan): boolean {
  const { source } = scan;
  scan.at++;
  putQuote(scan);
  while (scan.at < source.length) {
    const char = charAt(source, scan.at);
    const next = source[scan.at + 1];
    if (char === "`") return false;
    if (char === '"') {
      scan.at++;
      return true;
    }
    if (char === "$") {
      if (!readVariable(scan, true)) return false;
    } else if (char === "\\" && next === "\n") scan.at += 2;
    else if (char === "\\" && /[$`"\\]/.test(next ?? "")) {
      put(scan, next!, true);
      scan.at += 2;
    } else {
      put(scan, char, true);
      scan.at += char.length;
    }
  }
  return false;
}

function readAnsiQuoted(scan: Scan): boolean {
  const [end, text] = ansi(scan.source, scan.at + 2);
  if (end === undefined) return false;
  if (text === undefined) scan.why ??= "it holds an escape that zz does not read";
  else put(scan, text, true);
  putQuote(scan);
  scan.doubt = "$'…' means something else to other shells";
  scan.at = end;
  return true;
}

/**
 * A `$` alone, or with a name, whose value may be known. Anything more complex is left to the
 * grammar.
 */
function readVariable(scan: Scan, inQuotes: boolean): boolean {
  const { source, at, known } = scan;
  const [all, braced, plain, special] =
    /^\$(?:\{(\w+)\}|([A-Za-z_]\w*)|([0-9?#$!@*_-]))/.exec(source.slice(at, at + 200)) ?? [];
  const next = source[at + 1];
  if (all === undefined) {
    if (next !== undefined && !(inQuotes ? /["|)/.,\s]/ : /\s/).test(next)) return false;
    put(scan, "$", true);
    scan.at++;
    return true;
  }
  // `$HOME\` at the end of a line continues on the next line.
  if (plain && source.startsWith("\\\n", at + all.length)) return false;
  const value = special ? undefined : valueIn((braced ?? plain)!, known);
  if (value === undefined || (!inQuotes && /[\s*?[\]\\{}~]/.test(value)) || !value)
    scan.why ??= `it depends on ${all}, which is not known before it runs`;
  else put(scan, value, true);
  scan.named = true;
  scan.at += all.length;
  return true;
}

const charAt = (text: string, at: number): string => String.fromCodePoint(text.codePointAt(at)!);

const valueIn = (name: string, { home, dirs }: Known): string | undefined => {
  if (name === "HOME") return home;
  if (name === "PWD" && dirs.length === 1) return dirs[0];
  return undefined;
};

/** `$'…'` after its quote: where it ends, and its text if every escape is plain ASCII. */
function ansi(source: string, at: number): [end?: number, text?: string] {
  let [text, plain] = ["", true];
  for (let i = at; i < source.length; ) {
    const rest = source.slice(i, i + 12);
    if (rest[0] === "'") return [i + 1, ...(plain ? [text] : [])] as [number, string?];
    const [all, letter, octal, hex] =
      /^\\(?:([ntrabeEfv\\'"?])|([0-7]{1,3})|(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})))/.exec(
        rest,
      ) ?? [];
    if (all === undefined) {
      if (rest[0] === "\\") plain = false;
      text += rest[0];
      i += rest[0] === "\\" ? 2 : 1;
      continue;
    }
    const code = octal ? Number.parseInt(octal, 8) : Number.parseInt(hex ?? all.slice(2), 16);
    if (letter) text += LETTERS[letter];
    else if (code > 0 && code < 128) text += String.fromCharCode(code);
    else plain = false;
    i += all.length;
  }
  return [];
}

/**
 * The arguments that bash makes of the word from `start` to `end`: usually one, several with braces
 * and globs.
 */
export function argsOf(source: string, start: number, end: number, known: Known): Arg[] {
  const shown = source.slice(start, end);
  const unknown = (why: string): Arg[] => [{ text: undefined, shown, why }];
  const word = scanWord(source, start, known);
  if (!word || word.end !== end) return unknown("zz cannot read one of its words");
  if (!word.cells) return unknown(word.why!);
  const doubt = word.doubt === undefined ? {} : { doubt: word.doubt };
  const result: Arg[] = [];
  const braced = expandBraces(word.cells);
  // Braces come before variables: `$HOME{a,b}` is $HOMEa and $HOMEb.
  if (braced?.length !== 1 && word.named) return unknown("it holds braces that zz does not follow");
  for (const cells of braced ?? [undefined]) {
    const whole = cells && expandTilde(cells, known);
    if (!whole)
      return unknown(
        cells ? "it holds a ~ that zz does not follow" : "it holds braces that zz does not follow",
      );
    if (!isGlob(whole)) result.push({ text: textOf(whole), shown: quote(textOf(whole)), ...doubt });
    else {
      const found = expandGlob(whole, known);
      if (typeof found === "string") return unknown(found);
      for (const text of found)
        result.push({ text, shown: text === found[0] ? shown : "", globbed: true, ...doubt });
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
    const rest = expandBraces([
      ...cells.slice(0, from),
      ...cells.slice(i, end),
      ...cells.slice(to),
    ]);
    if (!rest || rest.some((one) => !one.length) || result.length > MAX_FILES) return undefined;
    result.push(...rest);
    i = end + 1;
  }
  return result;
}

function expandTilde(cells: Cell[], { home }: Known): Cell[] | undefined {
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
function expandGlob(cells: Cell[], known: Known): string[] | string {
  if (known.dirs.length !== 1)
    return "it holds a glob after a cd that may or may not have happened";
  const parts = split(cells);
  const absolute = parts.length > 1 && !parts[0]!.length;
  if (parts.slice(1, -1).some((part) => !part.length))
    return "it holds a glob that zz does not follow";
  let found = [absolute ? "/" : ""];
  for (const [i, part] of parts.entries()) {
    if (!i && absolute) continue;
    const last = i === parts.length - 1;
    const more = nextOf(part, found, known, last);
    if (typeof more === "string") return more;
    if (more.length > MAX_FILES) return `it holds a glob that matches more than ${MAX_FILES} files`;
    found = more;
  }
  if (!found.length) return [textOf(cells)];
  // A character class counts as any character: correct if nothing matches, and unknown if something
  // does.
  if (/\[.*\]/s.test(maskOf(cells))) return "it holds a glob with a class of characters";
  return found;
}

function nextOf(
  part: Cell[],
  found: string[],
  { dirs: [dir = "/"], budget }: Known,
  last: boolean,
): string[] | string {
  const end = last ? "" : "/";
  if (!isGlob(part)) {
    const result = found.map((before) => before + textOf(part) + end);
    return result.filter((name) => !last || exists(inFolder(dir, name), name.endsWith("/")));
  }
  if (textOf(part).startsWith(".")) return "it holds a glob that may match hidden files";
  const pattern = patternOf(part);
  const result: string[] = [];
  for (const before of found)
    for (const entry of entriesOf(inFolder(dir, before))) {
      if (budget.left-- < 0) return "it holds globs that take too long to look up";
      if (entry.startsWith(".") || !matches([...entry], pattern)) continue;
      const name = before + entry + end;
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
function matches(name: string[], pattern: string[]): boolean {
  let [n, p, star, from] = [0, 0, -1, 0];
  while (n < name.length)
    if (p < pattern.length && (pattern[p] === ONE || pattern[p] === name[n]))
      [n, p] = [n + 1, p + 1];
    else if (pattern[p] === MANY) [star, from, p] = [p, n, p + 1];
    else if (star >= 0) [from, n, p] = [from + 1, from + 1, star + 1];
    else return false;
  return pattern.slice(p).every((one) => one === MANY);
}

/** Whether a word matches a pattern in which `*` is any number of characters. */
export const matchesStars = (word: string, pattern: string): boolean =>
  matches(
    [...word],
    [...pattern].map((char) => (char === "*" ? MANY : char)),
  );

function split(cells: Cell[]): Cell[][] {
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
