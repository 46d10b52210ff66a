// Calls in Python's syntax: [name(key="value", …), …]. They are read as literals, never run.
import { toolFor } from "./coerce.ts";
import { put, skipSpace } from "./json.ts";
import { matchAt } from "./source.ts";
import type { Piece, Raw, Source } from "./types.ts";

const MAX_CALLS = 1_000;
const HEAD = /((?:[A-Za-z_][\w]{0,99}\.){0,5}[A-Za-z_][\w-]{0,99})\s{0,10}\(/y;
const KEYWORD = /([A-Za-z_]\w{0,99})\s{0,10}=(?!=)/y;
const PREFIX = /[rRbBuUfF]{1,2}(?=["'])/y;
const NUMBER = /[+-]?(?:\d[\d_]{0,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,4})?(?![\w.])/y;
const WORD = /[A-Za-z]{1,10}(?!\w)/y;
const WORDS: Record<string, unknown> = { True: true, False: false, None: null, true: true, false: false, null: null };

/** Reads a list of calls; with `many`, also calls without a list, one per line. */
export function readPythonic(source: Source, at: number, how: { list: boolean; many?: boolean }): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let next = skipSpace(text, at);
  if (how.list) {
    if (text[next] !== "[") return undefined;
    next = skipSpace(text, next + 1);
  }
  for (; calls.length < MAX_CALLS; ) {
    const call = readCall(source, next);
    if (!call) break;
    calls.push(call.call);
    next = skipSpace(text, call.end);
    if (call.call.cut) return { calls, end: text.length };
    if (how.list && text[next] === ",") next = skipSpace(text, next + 1);
    else if (how.list || !how.many) break;
    else if (text[next] === ";") next = skipSpace(text, next + 1);
  }
  if (!calls.length) return undefined;
  if (!how.list) return { calls, end: next };
  if (text[next] === "]") return { calls, end: next + 1 };
  return next >= text.length ? { calls, end: next } : undefined; // all calls are whole; only the list was not closed
}

/** Reads `name(…)`, also as `x = name(…)` and `print(name(…))`. */
export function readCall(source: Source, at: number): { call: Raw; end: number } | undefined {
  const { text } = source;
  const assigned = matchAt(KEYWORD, text, at);
  let next = assigned ? skipSpace(text, at + assigned[0].length) : at;
  let head = matchAt(HEAD, text, next);
  const isPrinted = head?.[1] === "print" && !toolFor("print", source.tools);
  if (isPrinted) {
    next = skipSpace(text, next + head![0].length);
    head = matchAt(HEAD, text, next);
  }
  if (!head) return undefined;
  const read = readArguments(source, head[1]!, next + head[0].length);
  if (!read) return undefined;
  const end = isPrinted && text[skipSpace(text, read.end)] === ")" ? skipSpace(text, read.end) + 1 : read.end;
  source.work.left -= end - at;
  return source.work.left > 0 ? { call: read.call, end } : undefined;
}

function readArguments(source: Source, name: string, from: number): { call: Raw; end: number } | undefined {
  const { text } = source;
  const args: Raw["args"] = {};
  const positional: unknown[] = [];
  const cut = { call: { name, args, cut: true }, end: text.length };
  for (let next = from; ; ) {
    next = skipSpace(text, next);
    if (next >= text.length) return cut;
    if (text[next] === ")") {
      const wrong = placed(source, name, positional, args);
      return { call: { name, args, ...(wrong && { wrong }) }, end: next + 1 };
    }
    const key = matchAt(KEYWORD, text, next);
    const value = readValue(source, skipSpace(text, next + (key?.[0].length ?? 0)), 0);
    if (!value) return undefined;
    if (key) put(args, key[1]!, value.value);
    else positional.push(value.value);
    if (value.cut) return cut;
    next = skipSpace(text, value.end);
    if (text[next] === ",") next++;
    else if (next < text.length && text[next] !== ")") return undefined;
  }
}

/** Assigns values without names: to the one required parameter first, then in the order of the schema. */
function placed({ tools }: Source, name: string, values: unknown[], args: Raw["args"]): string | undefined {
  if (!values.length) return undefined;
  const { properties = {}, required = [] } = (toolFor(name, tools)?.schema ?? {}) as {
    properties?: object;
    required?: string[];
  };
  const names = Object.keys(properties);
  if (required.length !== 1 && !(names.length === 1 && values.length === 1)) return "its arguments have no names";
  const order = [...required, ...names.filter((one) => !required.includes(one))].filter(
    (one) => !Object.hasOwn(args, one),
  );
  if (values.length > order.length) return "it has more arguments than the tool takes";
  for (const [i, value] of values.entries()) put(args, order[i]!, value);
  return undefined;
}

type Value = { value: unknown; end: number; cut?: boolean };
function readValue(source: Source, at: number, depth: number): Value | undefined {
  const { text } = source;
  const char = text[at];
  if (char === undefined) return { value: undefined, end: at, cut: true };
  if (depth > 50) return undefined;
  const prefix = matchAt(PREFIX, text, at)?.[0];
  const start = at + (prefix?.length ?? 0);
  const quote = text[start];
  if (quote === '"' || quote === "'") return readStrings(text, at);
  if (char === "[" || char === "(" || char === "{") return readGroup(source, at, depth);
  const number = matchAt(NUMBER, text, at)?.[0];
  if (number) return { value: Number(number.replaceAll("_", "")), end: at + number.length };
  const word = matchAt(WORD, text, at)?.[0];
  if (word && Object.hasOwn(WORDS, word)) return { value: WORDS[word], end: at + word.length };
  if (word === "dict") {
    const read = text[at + 4] === "(" ? readArguments({ ...source, tools: [] }, "dict", at + 5) : undefined;
    return read && { value: read.call.args, end: read.end, ...(read.call.cut && { cut: true }) };
  }
  return word && at + word.length === text.length ? { value: undefined, end: text.length, cut: true } : undefined;
}

/** Reads lists, tuples and dictionaries. */
function readGroup(source: Source, at: number, depth: number): Value | undefined {
  const { text } = source;
  const close = { "[": "]", "(": ")", "{": "}" }[text[at]!]!;
  const isDict = close === "}";
  const list: unknown[] = [];
  const made: Record<string, unknown> = {};
  let commas = 0;
  for (let next = at + 1; ; ) {
    next = skipSpace(text, next);
    if (next >= text.length) return { value: isDict ? made : list, end: next, cut: true };
    if (text[next] === close) {
      const value = isDict ? made : close === ")" && list.length === 1 && !commas ? list[0] : list;
      return { value, end: next + 1 };
    }
    const first = readValue(source, next, depth + 1);
    if (!first || first.cut) return first && { ...first, value: isDict ? made : list };
    next = skipSpace(text, first.end);
    if (isDict) {
      if (text[next] !== ":") return next >= text.length ? { value: made, end: next, cut: true } : undefined;
      const second = readValue(source, skipSpace(text, next + 1), depth + 1);
      if (!second || second.cut) return second && { ...second, value: made };
      put(made, String(first.value), second.value);
      next = skipSpace(text, second.end);
    } else list.push(first.value);
    if (text[next] === ",") {
      next++;
      commas++;
    } else if (next < text.length && text[next] !== close) return undefined;
  }
}

const BACKSLASH = 92;
const HEX = /^[\da-fA-F]+$/;
const ESCAPES: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  v: "\v",
  a: "\x07",
  "0": "\0",
  "\n": "",
};

/** Reads adjacent strings as one. */
function readStrings(text: string, at: number): Value | undefined {
  let value = "";
  let end = at;
  for (let next = at; ; ) {
    const prefix = matchAt(PREFIX, text, next)?.[0] ?? "";
    const start = next + prefix.length;
    if (text[start] !== '"' && text[start] !== "'") break;
    const one = readString(text, start, /r/i.test(prefix));
    value += one.value;
    end = one.end;
    if (one.cut) return { value, end, cut: true };
    next = skipSpace(text, end);
  }
  return { value, end };
}

function readString(text: string, at: number, isRaw: boolean): { value: string; end: number; cut?: true } {
  const quote = text[at]!;
  const close = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote;
  let from = at + close.length;
  let value = "";
  const last = quote.charCodeAt(0);
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === last && text.startsWith(close, i))
      return { value: value + text.slice(from, i), end: i + close.length };
    if (code !== BACKSLASH) continue;
    if (isRaw) {
      i++;
      continue;
    }
    value += text.slice(from, i);
    const next = text[i + 1] ?? "";
    const digits = next === "u" ? 4 : next === "x" ? 2 : next === "U" ? 8 : 0;
    const hex = digits ? text.slice(i + 2, i + 2 + digits) : "";
    if (hex.length === digits && digits && HEX.test(hex)) {
      const point = Number.parseInt(hex, 16);
      value += digits < 8 ? String.fromCharCode(point) : point <= 0x10ffff ? String.fromCodePoint(point) : "\ufffd";
      i += 1 + digits;
    } else {
      value += ESCAPES[next] ?? (next === quote || next === "\\" || next === '"' || next === "'" ? next : `\\${next}`);
      i++;
    }
    from = i + 1;
  }
  return { value: value + text.slice(from), end: text.length, cut: true };
}
