// Reads JSON as models write it, and Python's literals: strictly if it is valid JSON, else with the
// usual syntax errors. It never invents a value.

/** How many characters may still be examined, so that every text takes linear time. */
export type Work = { left: number };
/** cut: the text ended inside of it; open: the objects and lists that were not closed. */
export type Json = { value: unknown; end: number; cut: boolean; open: ReadonlySet<unknown> };

const MAX_DEPTH = 100;
const NOTHING: ReadonlySet<unknown> = new Set();
const WORDS: Record<string, unknown> = {
  true: true,
  false: false,
  null: null,
  True: true,
  False: false,
  None: null,
};
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };
const PYTHONS: Record<string, string> = { ...ESCAPES, v: "\v", a: "\x07", "0": "\0", "\n": "" };
/** What opens and closes a string. Gemma has its own marks, within which nothing is escaped. */
const QUOTES: [open: string, close: string, raw?: true][] = [
  ['"""', '"""'],
  ["'''", "'''"],
  ['"', '"'],
  ["'", "'"],
  ["\u201c", "\u201d"],
  ["\u2018", "\u2019"],
  ['<|"|>', '<|"|>', true],
  ["<escape>", "<escape>", true],
];

/**
 * The object or list that begins here, whatever follows; undefined if none does. bare: strings may
 * lack quotes.
 */
export function readJson(text: string, index: number, work: Work, bare = false): Json | undefined {
  const first = text[index];
  if ((first !== "{" && first !== "[") || work.left <= 0) return undefined;
  const end = bare ? -1 : balancedEnd(text, index, work);
  if (end > 0) {
    try {
      return { value: JSON.parse(text.slice(index, end)), end, cut: false, open: NOTHING };
    } catch {} // not valid: the reader below tolerates errors
  }
  return new Reader(text, index, work, bare ? "bare" : "json").read(0);
}

/** The literal of Python that begins here. */
export const readLiteral = (text: string, index: number): Json | undefined =>
  new Reader(text, index, { left: 0 }, "python").read(1);

/** The whole text as one value, or undefined. */
export function wholeJson(text: string, work: Work): unknown {
  try {
    const value = JSON.parse(text);
    return isDeeper(value, MAX_DEPTH) ? undefined : value;
  } catch {}
  const start = skipSpace(text, 0);
  const parsed = readJson(text, start, work);
  return parsed && !parsed.cut && skipSpace(text, parsed.end) === text.length
    ? parsed.value
    : undefined;
}

export function skipSpace(text: string, index: number): number {
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code !== 32 && (code < 9 || code > 13) && code !== 0xa0 && code !== 0xfeff) break;
  }
  return index;
}

/** Where valid JSON would end, judging by brackets and strings; -1 if it does not. */
function balancedEnd(text: string, index: number, work: Work): number {
  let depth = 0;
  let i = index;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 34) {
      i = stringEnd(text, i);
      if (i < 0) break;
    } else if (code === 123 || code === 91) {
      if (++depth > MAX_DEPTH) break;
    } else if ((code === 125 || code === 93) && --depth === 0) break;
  }
  work.left -= (i < 0 ? text.length : i) - index;
  return depth === 0 && i > 0 && i < text.length ? i + 1 : -1;
}

/** The index of the quote that closes the string which opens here. */
function stringEnd(text: string, index: number): number {
  for (let i = index + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 92) i++;
    else if (code === 34) return i;
  }
  return -1;
}

function isDeeper(value: unknown, depthLeft: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depthLeft === 0 || Object.values(value).some((inner) => isDeeper(inner, depthLeft - 1));
}

export function setField(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

const WRONG = new Error("not JSON"); // made once, since it is thrown at each of many marks

type Syntax = "json" | "bare" | "python";
/**
 * Tolerates trailing and missing commas, other quotes, bare keys, Python's words, and raw line
 * breaks in strings.
 */
class Reader {
  cut = false;
  readonly open = new Set<unknown>();
  readonly text: string;
  at: number;
  readonly work: Work;
  readonly syntax: Syntax;
  constructor(text: string, index: number, work: Work, syntax: Syntax) {
    this.text = text;
    this.at = index;
    this.work = work;
    this.syntax = syntax;
  }

  read(depth: number): Json | undefined {
    const start = this.at;
    try {
      const value = this.value(depth);
      return { value, end: this.at, cut: this.cut, open: this.open };
    } catch (error) {
      if (error !== WRONG) throw error;
      return undefined;
    } finally {
      this.work.left -= this.at - start;
    }
  }

  value(depth: number): unknown {
    const { text, syntax } = this;
    this.at = skipSpace(text, this.at);
    if (this.at >= text.length) return this.ended();
    const char = text[this.at]!;
    if (/[{[(]/.test(char) && depth >= MAX_DEPTH) throw WRONG;
    if (char === "{") return this.object(depth);
    if (char === "[" || char === "(") return this.list(depth, char === "[" ? "]" : ")");
    const string = this.string();
    if (string !== undefined) return string;
    const number = this.take(syntax === "bare" ? BARE_NUMBER : NUMBER);
    if (number) return Number(number.replaceAll("_", ""));
    const word = this.match(WORD)?.[0] ?? "";
    if (Object.hasOwn(WORDS, word)) {
      this.at += word.length;
      return WORDS[word];
    }
    if (syntax === "bare") return this.unquoted();
    if (syntax === "python" && this.take(DICT)) return this.object(depth, ")", "=");
    if (!word || this.at + word.length < text.length) throw WRONG;
    this.at = text.length;
    return this.ended();
  }

  object(depth: number, close = "}", equals = ":"): Record<string, unknown> {
    const { text } = this;
    const fields: Record<string, unknown> = {};
    this.open.add(fields);
    if (close === "}") this.at++;
    for (;;) {
      this.skipCommas();
      if (this.at >= text.length) return this.ended(fields);
      if (text[this.at] === close) break;
      const isValue = this.syntax === "python" && close === "}"; // a key may be any literal
      const key = isValue ? String(this.value(depth + 1)) : (this.string() ?? this.take(KEY));
      if (key === undefined) throw WRONG;
      this.at = skipSpace(text, this.at);
      if (this.at >= text.length || this.cut) return this.ended(fields);
      if (text[this.at] !== equals) throw WRONG;
      this.at++;
      const value = this.value(depth + 1);
      if (value !== undefined) setField(fields, key, value);
      if (this.cut) return fields;
      if (depth === 0 && this.closedByTag()) return this.ended(fields);
      this.separated(close);
    }
    this.at++;
    this.open.delete(fields);
    return fields;
  }

  list(depth: number, close: string): unknown {
    const { text } = this;
    const elements: unknown[] = [];
    let isTuple = this.syntax !== "python" || close === "]";
    this.open.add(elements);
    this.at++;
    for (;;) {
      this.skipCommas();
      if (this.at >= text.length) return this.ended(elements);
      if (text[this.at] === close) break;
      const value = this.value(depth + 1);
      if (value !== undefined) elements.push(value);
      if (this.cut) return elements;
      this.separated(close);
      isTuple ||= text[this.at] === ",";
    }
    this.at++;
    this.open.delete(elements);
    return isTuple || elements.length !== 1 ? elements : elements[0];
  }

  /** A comma, a closing bracket, or (as some models do) the next object at once. */
  separated(close: string): void {
    this.at = skipSpace(this.text, this.at);
    const char = this.text[this.at];
    if (char === undefined || char === "," || char === close || char === "{") return;
    throw WRONG;
  }

  /** Whether a closing tag follows, so that only the last brace is missing. */
  closedByTag(): boolean {
    return this.text.startsWith("</", skipSpace(this.text, this.at));
  }

  skipCommas(): void {
    this.at = skipSpace(this.text, this.at);
    if (this.text[this.at] === ",") this.at = skipSpace(this.text, this.at + 1);
  }

  quote(): (typeof QUOTES)[number] | undefined {
    const char = this.text[this.at];
    if (char !== '"' && char !== "'" && char !== "<" && char !== "\u201c" && char !== "\u2018")
      return undefined;
    return QUOTES.find(([open]) => this.text.startsWith(open, this.at));
  }

  /** The string that begins here; in Python with all that follow it directly. */
  string(): string | undefined {
    const { text, syntax } = this;
    let joined: string | undefined;
    for (let start = this.at; ; start = skipSpace(text, this.at)) {
      this.at = start;
      const prefix = syntax === "python" ? (this.take(PREFIX) ?? "") : "";
      const quote = this.quote();
      if (!quote) {
        this.at = start;
        return joined;
      }
      joined = (joined ?? "") + this.quoted(quote, /r/i.test(prefix));
      if (syntax !== "python" || this.cut) return joined;
    }
  }

  quoted([open, close, isMark]: (typeof QUOTES)[number], isRaw: boolean): string {
    const { text } = this;
    let from = this.at + open.length;
    let content = "";
    const last = close.charCodeAt(0);
    for (let i = from; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === last && text.startsWith(close, i)) {
        this.at = i + close.length;
        return content + text.slice(from, i);
      }
      if (code !== BACKSLASH || isMark) continue;
      if (isRaw) {
        i++;
        continue;
      }
      content += text.slice(from, i);
      const [length, char] = unescapeAt(text, i, this.syntax === "python");
      content += char;
      i += length - 1;
      from = i + 1;
    }
    this.at = text.length;
    this.cut = true;
    return content + text.slice(from);
  }

  unquoted(): string {
    NEXT.lastIndex = this.at;
    const end = NEXT.exec(this.text)?.index ?? this.text.length;
    const word = this.text.slice(this.at, end).trim();
    if (!word) throw WRONG;
    this.at = end;
    return word;
  }

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    return pattern.exec(this.text);
  }

  /** What a sticky pattern matches here, and goes past it. */
  take(pattern: RegExp): string | undefined {
    const matched = this.match(pattern)?.[0];
    this.at += matched?.length ?? 0;
    return matched;
  }

  ended<T>(partial?: T): T {
    this.cut = true;
    return partial as T;
  }
}

const BACKSLASH = 92;
const NUMBER = /[+-]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])/y;
const BARE_NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?=[\s,}\]]|$)/y;
const WORD = /[A-Za-z]{1,10}(?!\w)/y;
const KEY = /[A-Za-z_$][\w$.-]{0,199}/y;
const PREFIX = /[rRbBuUfF]{1,2}(?=["'])/y;
const DICT = /dict\(/y;
const NEXT = /[,}\]]/g;
const DIGITS: Record<string, number> = { x: 2, u: 4, U: 8 };

/**
 * How many characters an escape takes, and what it means. An unknown one means its own character;
 * in Python, it stays.
 */
function unescapeAt(text: string, index: number, isPython: boolean): [taken: number, char: string] {
  const char = text[index + 1] ?? "";
  const digits = isPython || char === "u" ? DIGITS[char] : undefined;
  const hex = text.slice(index + 2, index + 2 + (digits ?? 0));
  if (hex.length === digits && /^[\da-fA-F]+$/.test(hex)) {
    const point = Number.parseInt(hex, 16);
    return [2 + hex.length, point <= 0x10ffff ? String.fromCodePoint(point) : "\ufffd"];
  }
  if (!isPython) return [2, ESCAPES[char] ?? char];
  return [2, PYTHONS[char] ?? (/["'\\]/.test(char) ? char : `\\${char}`)];
}
