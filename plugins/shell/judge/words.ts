// Words as bash makes them of a line: quotes, escapes, braces, tildes and globs, and nothing that only a running shell knows.
import fs from "node:fs";
import path from "node:path";

/** One character of a word, and whether quotes keep it from meaning anything. */
type Cell = { char: string; quoted: boolean };
/** One argument: its text where it is known, why not where it is not, and how to show it. */
export interface Arg {
  text: string | undefined;
  shown: string;
  why?: string;
  doubt?: string; // the text is right for bash, but other shells read it otherwise
  given?: true; // it comes from xargs or find
  template?: string; // what they put it into
  globbed?: true;
}
/** What the shell itself knows before it starts. `dirs`: the folders that it may be in. */
export interface Known {
  home: string | undefined;
  dirs: readonly string[];
  budget: { left: number }; // files that globs may still look at
}
interface Scanned {
  end: number;
  cells?: Cell[]; // absent: the word has an end, but its value is not known
  named?: boolean; // a variable is in it
  why?: string;
  doubt?: string;
}
/** A command as its tokens show it: where its words start, and where those that a redirection names. */
export interface Group {
  words: number[];
  targets: number[];
}

export const MOST_FILES = 500;
const [ONE, MANY] = ["any one", "any number"]; // in a pattern, where the rest is single characters
const META = /[\s|&;<>()]/;
const OPERATOR = /&&|\|\||;;&|;;|;&|\|&|&>>|&>|<&|>&|>>|>\||[&|;()<>]/y;
const REDIRECTS = /^(&>>?|<&|>&|>>?|>\||<)$/;
const OPENERS = /^(if|then|elif|else|fi|while|until|do|done|[{}!])$/;
export const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
const TOO_DEEP = /^(case|select|function|coproc|\[\[)$/;
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
  /^(?:(?!~)[\w@%+=:,./^~-]+|[[\]!]|\{\})$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The word that starts at `at`; undefined where only the grammar, or nobody, knows its end. */
export function scanWord(source: string, at: number, known: Known): Scanned | undefined {
  const cells: Cell[] = [];
  let [i, why, doubt] = [at, undefined as string | undefined, undefined as string | undefined];
  const put = (text: string, quoted: boolean) => {
    for (const char of text) cells.push({ char, quoted });
  };
  /** Quotes count even where nothing is between them: `""` is a word, and `""~` no tilde. */
  const open = () => cells.push({ char: "", quoted: true });
  /** A `$`: a name, whose value may be known; undefined where it is more than a name. */
  const dollar = (inside: boolean): boolean => {
    const [all, braced, plain, special] =
      /^\$(?:\{(\w+)\}|([A-Za-z_]\w*)|([0-9?#$!@*_-]))/.exec(source.slice(i, i + 200)) ?? [];
    const next = source[i + 1];
    if (all === undefined) {
      if (next !== undefined && !(inside ? /["|)/.,\s]/ : /\s/).test(next)) return false;
      put("$", true);
      i++;
      return true;
    }
    // `$HOME\` at a line's end goes on in the next line.
    if (plain && source.startsWith("\\\n", i + all.length)) return false;
    const value = special ? undefined : valueIn((braced ?? plain)!, known);
    if (value === undefined || (!inside && /[\s*?[\]\\{}~]/.test(value)) || !value)
      why ??= `it depends on ${all}, which is not known before it runs`;
    else put(value, true);
    named = true;
    i += all.length;
    return true;
  };
  const double = (): boolean => {
    while (i < source.length) {
      const char = charAt(source, i);
      if (char === "`") return false;
      if (char === '"') {
        i++;
        return true;
      }
      if (char === "$") {
        if (!dollar(true)) return false;
      } else if (char === "\\" && source[i + 1] === "\n") i += 2;
      else if (char === "\\" && /[$`"\\]/.test(source[i + 1] ?? "")) {
        put(source[i + 1]!, true);
        i += 2;
      } else {
        put(char, true);
        i += char.length;
      }
    }
    return false;
  };
  let named = false;
  let empty = true; // not even a pair of quotes yet
  for (; i < source.length && !META.test(source[i]!); empty = false) {
    const char = charAt(source, i);
    if (char === "\\") {
      if (i + 1 >= source.length) return undefined;
      const next = charAt(source, i + 1);
      if (next !== "\n") put(next, true);
      i += 1 + next.length;
    } else if (char === "'") {
      const end = source.indexOf("'", i + 1);
      if (end < 0) return undefined;
      open();
      put(source.slice(i + 1, end), true);
      i = end + 1;
    } else if (char === '"' || source.startsWith('$"', i)) {
      if (char === "$") doubt = `$"…" may be translated`;
      i += char === "$" ? 2 : 1;
      open();
      if (!double()) return undefined;
    } else if (source.startsWith("$'", i)) {
      const [end, text] = ansi(source, i + 2);
      if (end === undefined) return undefined;
      if (text === undefined) why ??= "it holds an escape that zz does not read";
      else put(text, true);
      open();
      doubt = "$'…' means something else to other shells";
      i = end;
    } else if (char === "$") {
      if (!dollar(false)) return undefined;
    } else if (char === "`") return undefined;
    else {
      put(char, false);
      i += char.length;
    }
  }
  if (empty) return undefined;
  const more = doubt === undefined ? {} : { doubt };
  return why === undefined ? { end: i, cells, named, ...more } : { end: i, why, ...more };
}

const charAt = (text: string, at: number): string => String.fromCodePoint(text.codePointAt(at)!);

const valueIn = (name: string, { home, dirs }: Known): string | undefined =>
  name === "HOME" ? home : name === "PWD" && dirs.length === 1 ? dirs[0] : undefined;

/** `$'…'` from after its quote: where it ends, and its text where every escape is plain ASCII. */
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

/** What bash makes of the word from `start` to `end`: mostly one argument, with braces and globs several. */
export function argsOf(source: string, start: number, end: number, known: Known): Arg[] {
  const shown = source.slice(start, end);
  const unknown = (why: string): Arg[] => [{ text: undefined, shown, why }];
  const word = scanWord(source, start, known);
  if (!word || word.end !== end) return unknown("zz cannot read one of its words");
  if (!word.cells) return unknown(word.why!);
  const doubt = word.doubt === undefined ? {} : { doubt: word.doubt };
  const made: Arg[] = [];
  const braced = expandBraces(word.cells);
  // Braces come before variables: `$HOME{a,b}` is $HOMEa and $HOMEb.
  if (braced?.length !== 1 && word.named) return unknown("it holds braces that zz does not follow");
  for (const cells of braced ?? [undefined]) {
    const whole = cells && expandTilde(cells, known);
    if (!whole)
      return unknown(cells ? "it holds a ~ that zz does not follow" : "it holds braces that zz does not follow");
    if (!isGlob(whole)) made.push({ text: textOf(whole), shown: quote(textOf(whole)), ...doubt });
    else {
      const found = expandGlob(whole, known);
      if (typeof found === "string") return unknown(found);
      for (const text of found) made.push({ text, shown: text === found[0] ? shown : "", globbed: true, ...doubt });
    }
  }
  return made;
}

const textOf = (cells: Cell[]): string => cells.map(({ char }) => char).join("");
/** The word with every quoted character blotted out, one character a cell. */
const maskOf = (cells: Cell[]): string =>
  cells.map(({ char, quoted }) => (quoted || char.length !== 1 ? "\0" : char)).join("");

/** `{a,b}` side by side is followed; nested ones and `{1..9}` are not. */
function expandBraces(cells: Cell[]): Cell[][] | undefined {
  const mask = maskOf(cells);
  if (!/\{.*(,|\.\.)/s.test(mask)) return [cells];
  if (!/^[^{}]*(\{[^{}]*\}[^{}]*)*$/.test(mask)) return undefined;
  const group = /\{[^{}]*(,|\.\.)[^{}]*\}/.exec(mask);
  if (!group) return [cells];
  if (!group[0].includes(",")) return undefined;
  const [from, to] = [group.index, group.index + group[0].length];
  const made: Cell[][] = [];
  for (let i = from + 1; i < to; ) {
    const comma = mask.slice(0, to - 1).indexOf(",", i);
    const end = comma < 0 ? to - 1 : comma;
    const rest = expandBraces([...cells.slice(0, from), ...cells.slice(i, end), ...cells.slice(to)]);
    if (!rest || rest.some((one) => !one.length) || made.length > MOST_FILES) return undefined;
    made.push(...rest);
    i = end + 1;
  }
  return made;
}

function expandTilde(cells: Cell[], { home }: Known): Cell[] | undefined {
  const mask = maskOf(cells);
  if (/[=:]~/.test(mask)) return undefined;
  if (mask[0] !== "~") return cells;
  if (!/^~(\/|$)/.test(mask) || !home) return undefined;
  return [...[...home].map((char) => ({ char, quoted: true })), ...cells.slice(1)];
}

const isGlob = (cells: Cell[]): boolean => /[*?]|\[.*\]/s.test(maskOf(cells));

/** The files that a glob names, or the text itself where there are none; a string says why it cannot be told. */
function expandGlob(cells: Cell[], known: Known): string[] | string {
  if (known.dirs.length !== 1) return "it holds a glob after a cd that may or may not have happened";
  const parts = split(cells);
  const absolute = parts.length > 1 && !parts[0]!.length;
  if (parts.slice(1, -1).some((part) => !part.length)) return "it holds a glob that zz does not follow";
  let found = [absolute ? "/" : ""];
  for (const [i, part] of parts.entries()) {
    if (!i && absolute) continue;
    const last = i === parts.length - 1;
    const more = nextOf(part, found, known, last);
    if (typeof more === "string") return more;
    if (more.length > MOST_FILES) return `it holds a glob that matches more than ${MOST_FILES} files`;
    found = more;
  }
  if (!found.length) return [textOf(cells)];
  // A class of characters is taken as any character: right where nothing matches, and not known where something does.
  if (/\[.*\]/s.test(maskOf(cells))) return "it holds a glob with a class of characters";
  return found;
}

function nextOf(part: Cell[], found: string[], { dirs: [dir = "/"], budget }: Known, last: boolean): string[] | string {
  const end = last ? "" : "/";
  if (!isGlob(part)) {
    const made = found.map((before) => before + textOf(part) + end);
    return made.filter((name) => !last || exists(inFolder(dir, name), name.endsWith("/")));
  }
  if (textOf(part).startsWith(".")) return "it holds a glob that may match hidden files";
  const pattern = patternOf(part);
  const made: string[] = [];
  for (const before of found)
    for (const entry of list(inFolder(dir, before))) {
      if (budget.left-- < 0) return "it holds globs that take too long to look up";
      if (entry.startsWith(".") || !matches([...entry], pattern)) continue;
      const name = before + entry + end;
      if (last || exists(inFolder(dir, name), true)) made.push(name);
      if (made.length > MOST_FILES) return made;
    }
  return made.sort();
}

/** A plain class of characters is taken for any one, every other for any number. */
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
    if (p < pattern.length && (pattern[p] === ONE || pattern[p] === name[n])) [n, p] = [n + 1, p + 1];
    else if (pattern[p] === MANY) [star, from, p] = [p, n, p + 1];
    else if (star >= 0) [from, n, p] = [from + 1, from + 1, star + 1];
    else return false;
  return pattern.slice(p).every((one) => one === MANY);
}

/** Not path.join(): it would take `link/..` for nothing, and the disk does not. */
export const inFolder = (dir: string, name: string): string => (path.isAbsolute(name) ? name : `${dir}/${name}`);

function split(cells: Cell[]): Cell[][] {
  const parts: Cell[][] = [[]];
  for (const cell of cells)
    if (cell.char === "/") parts.push([]);
    else parts.at(-1)!.push(cell);
  return parts;
}

function list(dir: string): string[] {
  try {
    return fs.readdirSync(dir);
  } catch {
    return [];
  }
}

function exists(file: string, folder: boolean): boolean {
  try {
    return folder ? fs.statSync(file).isDirectory() : Boolean(fs.lstatSync(file));
  } catch {
    return false;
  }
}

/**
 * The commands of a line by its tokens alone: a second reading, to hold against the grammar's. Undefined where tokens
 * alone do not tell.
 */
export function groupsOf(source: string, known: Known): Group[] | undefined {
  const groups: Group[] = [];
  let [group, fresh, target, skip, i] = [{ words: [], targets: [] } as Group, true, false, false, 0];
  const close = () => {
    if (group.words.length || group.targets.length) groups.push(group);
    [group, fresh, skip] = [{ words: [], targets: [] }, true, false];
  };
  while (i < source.length) {
    if (source.startsWith("\\\n", i)) i += 2;
    else if (/[ \t]/.test(source[i]!)) i++;
    else if (source[i] === "#") while (i < source.length && source[i] !== "\n") i++;
    else if (source[i] === "\n") {
      if (target) return undefined;
      close();
      i++;
    } else if (META.test(source[i]!)) {
      OPERATOR.lastIndex = i;
      const operator = OPERATOR.exec(source)?.[0];
      i += operator?.length ?? 1;
      if (!operator || target || /^;[;&]/.test(operator) || (operator === "<" && /[<>(]/.test(source[i] ?? "")))
        return undefined;
      if (REDIRECTS.test(operator)) {
        if (source[i] === "(") return undefined;
        target = true;
      } else if (operator === "(" && (!fresh || source[i] === "(")) return undefined;
      else close();
    } else {
      const word = scanWord(source, i, known);
      if (!word) return undefined;
      const text = source.slice(i, word.end);
      const redirect = /[<>]/.test(source[word.end] ?? "");
      if (source[word.end] === "(" || (redirect && /^\{\w+\}$/.test(text))) return undefined;
      if (target) group.targets.push(i);
      else if (redirect && /^\d+$/.test(text))
        fresh = false; // the number of what is redirected
      else if (fresh && TOO_DEEP.test(text)) return undefined;
      else if (!fresh || !OPENERS.test(text)) {
        skip ||= fresh && text === "for";
        if (!skip && (group.words.length || !ASSIGNMENT.test(text))) group.words.push(i);
        fresh = false;
      }
      target = false;
      i = word.end;
    }
  }
  if (target) return undefined;
  close();
  return groups;
}
