// Reads JSON as models write it, and Python's literals: strictly if it is valid JSON, else with the
// usual syntax errors. It never invents a value.
import { isDeep } from "zz/text";
import { matchAt, skipMatch } from "./search-text.ts";

/** How many characters may still be examined, so that every text takes linear time. */
export type Work = { left: number };
/** cut: the text ended inside of it; open: the objects and lists that were not closed. */
export type Json = { value: unknown; end: number; cut: boolean; open: ReadonlySet<unknown> };

const MAX_DEPTH = 100;
const NOTHING: ReadonlySet<unknown> = new Set();
const LITERAL_WORDS: Record<string, unknown> = {
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
const QUOTE_MARKS: [open: string, close: string, raw?: true][] = [
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
export function readJson(
  sourceText: string,
  startIndex: number,
  work: Work,
  bare = false,
): Json | undefined {
  const firstChar = sourceText[startIndex];
  if ((firstChar !== "{" && firstChar !== "[") || work.left <= 0) return undefined;
  const end = bare ? -1 : balancedEnd(sourceText, startIndex, work);
  if (end > 0) {
    try {
      return {
        value: JSON.parse(sourceText.slice(startIndex, end)),
        end,
        cut: false,
        open: NOTHING,
      };
    } catch {} // not valid: the reader below tolerates errors
  }
  return new Reader(sourceText, startIndex, work, bare ? "bare" : "json").read(0);
}

/** The literal of Python that begins here. */
export const readLiteral = (sourceText: string, startIndex: number): Json | undefined =>
  new Reader(sourceText, startIndex, { left: 0 }, "python").read(1);

/** The whole text as one value, or undefined. */
export function wholeJson(jsonText: string, work: Work): unknown {
  try {
    const parsedValue = JSON.parse(jsonText);
    return isDeep(parsedValue, MAX_DEPTH) ? undefined : parsedValue;
  } catch {}
  const jsonStart = skipSpace(jsonText, 0);
  const parsedJson = readJson(jsonText, jsonStart, work);
  return parsedJson && !parsedJson.cut && skipSpace(jsonText, parsedJson.end) === jsonText.length
    ? parsedJson.value
    : undefined;
}

const SPACE = /[\t-\r \u00a0\ufeff]*/y;
const COMMA = new RegExp(`${SPACE.source}(?:,${SPACE.source})?`, "y");
export const skipSpace = (sourceText: string, index: number): number =>
  skipMatch(SPACE, sourceText, index);

/** Where valid JSON would end, judging by brackets and strings; -1 if it does not. */
function balancedEnd(sourceText: string, startIndex: number, work: Work): number {
  let depth = 0;
  let i = startIndex;
  for (; i < sourceText.length; i++) {
    const charCode = sourceText.charCodeAt(i);
    if (charCode === 34) {
      i = stringEnd(sourceText, i);
      if (i < 0) break;
    } else if (charCode === 123 || charCode === 91) {
      if (++depth > MAX_DEPTH) break;
    } else if ((charCode === 125 || charCode === 93) && --depth === 0) break;
  }
  work.left -= (i < 0 ? sourceText.length : i) - startIndex;
  return depth === 0 && i > 0 && i < sourceText.length ? i + 1 : -1;
}

/** The index of the quote that closes the string which opens here. */
function stringEnd(sourceText: string, quoteIndex: number): number {
  for (let i = quoteIndex + 1; i < sourceText.length; i++) {
    const charCode = sourceText.charCodeAt(i);
    if (charCode === 92) i++;
    else if (charCode === 34) return i;
  }
  return -1;
}

export function setField(object: Record<string, unknown>, fieldName: string, value: unknown): void {
  Object.defineProperty(object, fieldName, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

const NOT_JSON = new Error("not JSON"); // made once, since it is thrown at each of many marks

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
  constructor(sourceText: string, startIndex: number, work: Work, syntax: Syntax) {
    this.text = sourceText;
    this.at = startIndex;
    this.work = work;
    this.syntax = syntax;
  }

  read(depth: number): Json | undefined {
    const startIndex = this.at;
    try {
      const value = this.value(depth);
      return { value, end: this.at, cut: this.cut, open: this.open };
    } catch (error) {
      if (error !== NOT_JSON) throw error;
      return undefined;
    } finally {
      this.work.left -= this.at - startIndex;
    }
  }

  value(depth: number): unknown {
    const { text, syntax } = this;
    this.at = skipSpace(text, this.at);
    if (this.at >= text.length) return this.ended();
    const firstChar = text[this.at]!;
    if (/[{[(]/.test(firstChar) && depth >= MAX_DEPTH) throw NOT_JSON;
    if (firstChar === "{") return this.object(depth);
    if (firstChar === "[" || firstChar === "(")
      return this.list(depth, firstChar === "[" ? "]" : ")");
    const stringValue = this.string();
    if (stringValue !== undefined) return stringValue;
    const numberText = this.take(syntax === "bare" ? BARE_NUMBER : NUMBER);
    if (numberText) return Number(numberText.replaceAll("_", ""));
    const literalWord = matchAt(WORD, text, this.at)?.[0] ?? "";
    if (Object.hasOwn(LITERAL_WORDS, literalWord)) {
      this.at += literalWord.length;
      return LITERAL_WORDS[literalWord];
    }
    if (syntax === "bare") return this.unquoted();
    if (syntax === "python" && this.take(DICT_CALL)) return this.object(depth, ")", "=");
    if (!literalWord || this.at + literalWord.length < text.length) throw NOT_JSON;
    this.at = text.length;
    return this.ended();
  }

  object(depth: number, closer = "}", equals = ":"): Record<string, unknown> {
    const { text } = this;
    const objectFields: Record<string, unknown> = {};
    this.open.add(objectFields);
    if (closer === "}") this.at++;
    for (;;) {
      this.take(COMMA);
      if (this.at >= text.length) return this.ended(objectFields);
      if (text[this.at] === closer) break;
      const isValue = this.syntax === "python" && closer === "}"; // a key may be any literal
      const fieldName = isValue
        ? String(this.value(depth + 1))
        : (this.string() ?? this.take(BARE_KEY));
      if (fieldName === undefined) throw NOT_JSON;
      this.at = skipSpace(text, this.at);
      if (this.at >= text.length || this.cut) return this.ended(objectFields);
      if (text[this.at] !== equals) throw NOT_JSON;
      this.at++;
      const fieldValue = this.value(depth + 1);
      if (fieldValue !== undefined) setField(objectFields, fieldName, fieldValue);
      if (this.cut) return objectFields;
      if (depth === 0 && text.startsWith("</", skipSpace(text, this.at)))
        return this.ended(objectFields); // only the last brace is missing
      this.separated(closer);
    }
    this.at++;
    this.open.delete(objectFields);
    return objectFields;
  }

  list(depth: number, closer: string): unknown {
    const { text } = this;
    const elements: unknown[] = [];
    let isTuple = this.syntax !== "python" || closer === "]";
    this.open.add(elements);
    this.at++;
    for (;;) {
      this.take(COMMA);
      if (this.at >= text.length) return this.ended(elements);
      if (text[this.at] === closer) break;
      const listValue = this.value(depth + 1);
      if (listValue !== undefined) elements.push(listValue);
      if (this.cut) return elements;
      this.separated(closer);
      isTuple ||= text[this.at] === ",";
    }
    this.at++;
    this.open.delete(elements);
    return isTuple || elements.length !== 1 ? elements : elements[0];
  }

  /** A comma, a closing bracket, or (as some models do) the next object at once. */
  separated(closer: string): void {
    this.at = skipSpace(this.text, this.at);
    if (![undefined, ",", closer, "{"].includes(this.text[this.at])) throw NOT_JSON;
  }

  /** The string that begins here; in Python with all that follow it directly. */
  string(): string | undefined {
    const { text, syntax } = this;
    let joinedText: string | undefined;
    for (let partStart = this.at; ; partStart = skipSpace(text, this.at)) {
      this.at = partStart;
      const prefix = syntax === "python" ? (this.take(STRING_PREFIX) ?? "") : "";
      const quoteMarks = QUOTE_MARKS.find(([opener]) => text.startsWith(opener, this.at));
      if (!quoteMarks) {
        this.at = partStart;
        return joinedText;
      }
      joinedText = (joinedText ?? "") + this.quoted(quoteMarks, /r/i.test(prefix));
      if (syntax !== "python" || this.cut) return joinedText;
    }
  }

  quoted([opener, closer, isUnescaped]: (typeof QUOTE_MARKS)[number], isRaw: boolean): string {
    const { text } = this;
    let partStart = this.at + opener.length;
    let content = "";
    const closerCode = closer.charCodeAt(0);
    for (let i = partStart; i < text.length; i++) {
      const charCode = text.charCodeAt(i);
      if (charCode === closerCode && text.startsWith(closer, i)) {
        this.at = i + closer.length;
        return content + text.slice(partStart, i);
      }
      if (charCode !== BACKSLASH || isUnescaped) continue;
      if (isRaw) {
        i++;
        continue;
      }
      content += text.slice(partStart, i);
      const [escapeLength, escapedChar] = unescapeAt(text, i, this.syntax === "python");
      content += escapedChar;
      i += escapeLength - 1;
      partStart = i + 1;
    }
    this.at = text.length;
    this.cut = true;
    return content + text.slice(partStart);
  }

  unquoted(): string {
    const wordEnd = matchAt(WORD_END, this.text, this.at)?.index ?? this.text.length;
    const bareWord = this.text.slice(this.at, wordEnd).trim();
    if (!bareWord) throw NOT_JSON;
    this.at = wordEnd;
    return bareWord;
  }

  /** What a sticky pattern matches here, and goes past it. */
  take(pattern: RegExp): string | undefined {
    const matched = matchAt(pattern, this.text, this.at)?.[0];
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
const BARE_KEY = /[A-Za-z_$][\w$.-]{0,199}/y;
const STRING_PREFIX = /[rRbBuUfF]{1,2}(?=["'])/y;
const DICT_CALL = /dict\(/y;
const WORD_END = /[,}\]]/g;
const ESCAPE_DIGITS: Record<string, number> = { x: 2, u: 4, U: 8 };

/**
 * How many characters an escape takes, and what it means. An unknown one means its own character;
 * in Python, it stays.
 */
function unescapeAt(
  sourceText: string,
  escapeIndex: number,
  isPython: boolean,
): [taken: number, char: string] {
  const escapeChar = sourceText[escapeIndex + 1] ?? "";
  const digitCount = isPython || escapeChar === "u" ? ESCAPE_DIGITS[escapeChar] : undefined;
  const hexDigits = sourceText.slice(escapeIndex + 2, escapeIndex + 2 + (digitCount ?? 0));
  if (hexDigits.length === digitCount && /^[\da-fA-F]+$/.test(hexDigits)) {
    const codePoint = Number.parseInt(hexDigits, 16);
    return [
      2 + hexDigits.length,
      codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : "\ufffd",
    ];
  }
  if (!isPython) return [2, ESCAPES[escapeChar] ?? escapeChar];
  return [2, PYTHONS[escapeChar] ?? (/["'\\]/.test(escapeChar) ? escapeChar : `\\${escapeChar}`)];
}
