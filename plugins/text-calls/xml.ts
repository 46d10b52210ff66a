// Calls in tags: Qwen3-Coder's <function=…>, <invoke name="…"> of many families, GLM's keys and values, MiniCPM's tags.
import { toolFor } from "./coerce.ts";
import { put, readJson, skipSpace, wholeJson } from "./json.ts";
import { argumentsIn, longestName, readObjects, skipFence } from "./shapes.ts";
import { matchAt } from "./source.ts";
import type { Piece, Raw, Reader, Source } from "./types.ts";

const MAX_CALLS = 1_000;
/** An XML value, without one line break at either end, which belongs to the tags. */
const trimmed = (value: string): string => value.replace(/^\n/, "").replace(/\n$/, "");

/** A block in `<tool_call>` or a similar tag: what follows the tag shows its grammar. */
export const readBlock: Reader = (source, _at, after) => {
  const { text } = source;
  const start = skipFence(text, after);
  const char = text[start];
  if (char === "{" || char === "[") return readObjects(source, start, true, BLOCK_END);
  if (char === "<") {
    if (text.startsWith("<function", start)) return readFunctions(source, start);
    return undefined; // <invoke …> and inner blocks have marks of their own
  }
  return readNamed(source, start);
};
export const BLOCK_END =
  /<\/(?:longcat_tool_call|seed:tool_call|tool_calls?|toolcall|TOOLCALL|function_calls?|tools?|json|JSON|xml|response)>|<tool_call>(?=\s{0,20}$)/y;

/** `<function=NAME>`, one after the other. */
export const readFunction: Reader = (source, at) => readFunctions(source, at);

function readFunctions(source: Source, at: number): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let end = at;
  for (let next = at; calls.length < MAX_CALLS; next = skipSpace(text, end)) {
    const one = readOneFunction(source, next);
    if (!one) break;
    calls.push(one.call);
    end = one.end;
  }
  if (!calls.length) return undefined;
  const closed = matchAt(BLOCK_END, text, skipSpace(text, end));
  return { calls, end: closed ? skipSpace(text, end) + closed[0].length : end };
}

const FUNCTION = /<function(?:=|\s{1,5}name\s{0,5}=\s{0,5})["']?([^\s"'<>{}/]{1,200})["']?\s{0,5}>/y;
const PARAMETER = /<(parameter|param)(?:=|\s{1,5}name\s{0,5}=\s{0,5})["']?([^\s"'<>=]{1,200})["']?\s{0,5}([>=])/y;
const PARAMETER_NEXT = /<(?:parameter|param)(?:=|\s{1,5}name\s{0,5}=)/g;
const PARAMETER_END =
  /<\/(?:parameter|param)>(?=\s{0,80}(?:<(?:parameter|param)[=\s]|<\/function>|<\/[\w:]{0,30}tool_call>|<function[=\s]|$))/g;
const FUNCTION_END = /<\/function>/g;
const TOOL_END = /<\/[\w:]{0,30}tool_call>/g;

function readOneFunction(source: Source, at: number): { call: Raw; end: number } | undefined {
  const { text } = source;
  const head = matchAt(FUNCTION, text, at);
  if (!head) return undefined;
  const name = head[1]!;
  const known = Object.keys((toolFor(name, source.tools)?.schema.properties as object) ?? {});
  let next = skipFence(text, at + head[0].length);
  if (text[next] === "{") return jsonBody(source, name, next, FUNCTION_END_HERE);
  const args: Raw["args"] = {};
  for (;;) {
    const parameter = matchAt(PARAMETER, text, next);
    if (!parameter) break;
    const [opened, , key = "", sign] = parameter;
    const from = next + opened.length;
    const stops = stopsOf(source, from);
    const given = Object.keys(args);
    const value = valueEnd(source, from, PARAMETER_END, PARAMETER_NEXT, stops, (at) => {
      const other = matchAt(PARAMETER, text, at)?.[2];
      return other !== undefined && other !== key && known.includes(other) && !given.includes(other);
    });
    const held = text.slice(from, value.end);
    put(args, key, unwrapped(sign === "=" ? held : trimmed(held)));
    if (!value.closed) return { call: { name, args, raw: true, cut: true }, end: text.length };
    next = skipSpace(text, value.next);
  }
  const close = matchAt(FUNCTION_END_HERE, text, next);
  const isCut = !close && next >= text.length && !Object.keys(args).length;
  const partial = !close && isPartial(text, next);
  return {
    call: { name, args, raw: true, ...((isCut || partial) && { cut: true }), loose: !close && next >= text.length },
    end: close ? next + close[0].length : next,
  };
}
const FUNCTION_END_HERE = /<\/function>/y;

/** Where values have to end: at the end of the function or of the block, whichever comes first. */
function stopsOf(source: Source, from: number): number {
  const all = [source.next(FUNCTION_END, from), source.next(TOOL_END, from)].map(
    (one) => one?.at ?? Number.POSITIVE_INFINITY,
  );
  return Math.min(...all);
}

/** Whether the text ended inside of a tag. */
function isPartial(text: string, at: number): boolean {
  return at < text.length && text.length - at < 200 && /^<[^<>\n]{0,199}$/.test(text.slice(at));
}

/** A value ends at the first closing tag that is followed by another parameter or the end; without such a tag, at the
 * next parameter or the end of the call. If there is none of these, the text ended inside of the value. */
function valueEnd(
  source: Source,
  from: number,
  closing: RegExp,
  opening: RegExp,
  stop: number,
  isNext: (at: number) => boolean,
): { end: number; next: number; closed: boolean } {
  const close = source.next(closing, from);
  const other = source.next(opening, from);
  if (other && other.at < Math.min(close?.at ?? stop, stop) && isNext(other.at))
    return { end: other.at, next: other.at, closed: true };
  if (close) return { end: close.at, next: close.end, closed: true };
  if (other && other.at < stop) return { end: other.at, next: other.at, closed: true };
  if (Number.isFinite(stop)) return { end: stop, next: stop, closed: true };
  return { end: source.text.length, next: source.text.length, closed: false };
}

/** The value without CDATA, in which MiniCPM may wrap it. */
const unwrapped = (value: string): string =>
  /^\s{0,20}<!\[CDATA\[/.test(value) && value.trimEnd().endsWith("]]>") ? value.trim().slice(9, -3) : value;

function jsonBody(source: Source, name: string, at: number, close: RegExp): { call: Raw; end: number } | undefined {
  const json = readJson(source.text, at, source.work);
  if (!json) return undefined;
  const { args, wrong } = argumentsIn(json.value, source.work);
  const next = skipFence(source.text, json.end);
  const closed = matchAt(close, source.text, next);
  const call: Raw = { name, args, ...(json.cut && { cut: true }), ...(wrong && { wrong }) };
  return { call, end: closed ? next + closed[0].length : json.end };
}

// ── <invoke name="…"> ──

const INVOKE =
  /<?([^\s<>="']{0,30}?)invoke\s{1,5}name\s{0,5}=\s{0,5}(?:"([^"<>\n]{1,200})"?|'([^'<>\n]{1,200})'?|([^\s<>"']{1,200}))([^>\n]{0,200})>/y;
const INVOKED =
  /<?(?:[^\s<>="']{0,30}?)parameter\s{1,5}name\s{0,5}=\s{0,5}(?:"([^"<>\n]{1,200})"?|'([^'<>\n]{1,200})'?|([^\s<>"']{1,200}))([^>\n]{0,200})>/y;
const INVOKED_NEXT = /<(?:[^\s<>="']{0,30}?)parameter\s{1,5}name\s{0,5}=/g;
const INVOKED_END =
  /<?\/[^\s<>="'/]{0,30}?parameter>(?=\s{0,80}(?:<?[^\s<>="']{0,30}?parameter\s{1,5}name|<?\/?[^\s<>="']{0,30}?invoke|<\/|$))/g;
const INVOKE_END = /<?\/[^\s<>="'/]{0,30}?invoke>/g;
const INVOKE_END_HERE = /<?\/[^\s<>="'/]{0,30}?invoke>/y;
const WRAPPER_END =
  /<\/[^\s<>]{0,30}?(?:tool_calls?|function_calls)>|<[｜|]tool[▁_ \\]{1,2}calls?[▁_ \\]{1,2}end[｜|]>/y;

export const readInvoke: Reader = (source, at) => {
  const { text } = source;
  const calls: Raw[] = [];
  let end = at;
  for (let next = at; calls.length < MAX_CALLS; ) {
    const one = readOneInvoke(source, next);
    if (!one) break;
    calls.push(one.call);
    end = one.end;
    next = skipSpace(text, end);
  }
  if (!calls.length) return undefined;
  for (let i = 0; i < 3; i++) {
    const closed = matchAt(WRAPPER_END, text, skipSpace(text, end));
    if (!closed) break;
    end = skipSpace(text, end) + closed[0].length;
  }
  return { calls, end };
};

function readOneInvoke(source: Source, at: number): { call: Raw; end: number } | undefined {
  const { text } = source;
  const head = matchAt(INVOKE, text, at);
  if (!head) return undefined;
  const name = (head[2] ?? head[3] ?? head[4])!;
  let next = skipSpace(text, at + head[0].length);
  if (text[next] === "{") return jsonBody(source, name, next, INVOKE_END_HERE);
  const args: Raw["args"] = {};
  let raw = false; // true if values do not say whether they are texts
  for (;;) {
    const parameter = matchAt(INVOKED, text, next);
    if (!parameter) break;
    const key = (parameter[1] ?? parameter[2] ?? parameter[3])!;
    const kind: string | undefined = /string\s{0,5}=\s{0,5}["'](true|false)["']/.exec(parameter[4]!)?.[1];
    const from = next + parameter[0].length;
    const stop = source.next(INVOKE_END, from)?.at ?? Number.POSITIVE_INFINITY;
    const value = valueEnd(source, from, INVOKED_END, INVOKED_NEXT, stop, () => false);
    const held = text.slice(from, value.end);
    put(args, key, kind ? ofKind(kind, held, source) : trimmed(held));
    if (!kind) raw = true;
    if (!value.closed) return { call: { name, args, raw, cut: true }, end: text.length };
    next = skipSpace(text, value.next);
  }
  const close = matchAt(INVOKE_END_HERE, text, next);
  const isCut = !close && (isPartial(text, next) || (next >= text.length && !Object.keys(args).length));
  return {
    call: { name, args, raw, ...(isCut && { cut: true }), loose: !close && next >= text.length },
    end: close ? next + close[0].length : next,
  };
}

/** DeepSeek marks each value as plain text or JSON. */
function ofKind(kind: string, held: string, { work }: Source): unknown {
  const value = kind === "true" ? held : wholeJson(held, work);
  return value === undefined ? trimmed(held) : value;
}

// ── GLM: <tool_call>NAME <arg_key>K</arg_key> <arg_value>V</arg_value> … ──

const NAMED = /([^\s<>{}[\]()"'`,;]{1,200}?)(?=(?:\s|\\n){0,20}(?:<|\{|$)|\s)/y;
const KEY_OPEN = /(?:\s|\\n){0,20}<(?:arg_key|tool_call)[^<>]{0,20}>/y;
const KEY_END = /<\/arg_key[^<>]{0,20}>/y;
const KEY_HELD = /[^<>\n]{1,200}/y;
const VALUE_OPEN = /(?:\s|\\n){0,20}<arg_value[^<>]{0,20}>/y;
const VALUE_END = /<\/arg_value[^<>]{0,20}>(?=(?:\s|\\n){0,80}(?:<arg_key|<\/tool_call|<tool_call>|$))/g;
const KEY_NEXT = /(?:\\n)?<arg_key[^<>]{0,20}>/g;
const PAIRS_END = /<\/tool_call[^<>]{0,20}>/g;
const PAIRS_END_HERE = /(?:\s|\\n){0,80}<\/tool_call[^<>]{0,20}>/y;

function readNamed(source: Source, at: number): Piece | undefined {
  const { text, tools } = source;
  const head = matchAt(NAMED, text, at);
  if (!head) return undefined;
  let name = head[1]!;
  let next = at + name.length;
  const body = skipSpace(text, next);
  if (text[body] === "{") {
    const one = jsonBody(source, name, body, BLOCK_END);
    return one && { calls: [one.call], end: one.end };
  }
  const separator = matchAt(/\s{0,20}<tool_sep[^<>]{0,20}>/y, text, next);
  if (separator) next += separator[0].length;
  const args: Raw["args"] = {};
  const call: Raw = { name, args, raw: true };
  let missing = 0;
  // If the first <arg_key> is missing, the name and the key run into one another.
  if (!toolFor(name, tools)) {
    const line = text.slice(at, at + 400).split("<")[0]!;
    const meant = longestName(line, tools);
    if (!meant) return undefined;
    name = call.name = meant;
    next = skipSpace(text, at + meant.length);
    missing = 1;
  } else if (matchAt(/\s{1,20}([\w.-]{1,100})<\/arg_key>/y, text, next)) {
    next = skipSpace(text, next);
    missing = 1;
  }
  for (let pair = 0; pair < MAX_CALLS; pair++) {
    const opened = missing && !pair ? undefined : matchAt(KEY_OPEN, text, next);
    if (!opened && !(missing && !pair)) break;
    const from = next + (opened?.[0].length ?? 0);
    const held = matchAt(KEY_HELD, text, from);
    if (!held) {
      if (from >= text.length) call.cut = true;
      break;
    }
    const key = held[0].trim();
    next = from + held[0].length;
    const closed = matchAt(KEY_END, text, next);
    if (!closed) {
      if (next >= text.length || isPartial(text, next)) call.cut = true;
      break;
    }
    next += closed[0].length;
    const valueOpened = matchAt(VALUE_OPEN, text, next);
    next += valueOpened?.[0].length ?? 0;
    const stop = source.next(PAIRS_END, next)?.at ?? Number.POSITIVE_INFINITY;
    const value = valueEnd(source, next, VALUE_END, KEY_NEXT, stop, () => !hasEnd(text, next));
    put(args, key, trimmed(text.slice(next, value.end)));
    next = value.next;
    if (!value.closed) {
      call.cut = true;
      break;
    }
  }
  const end = matchAt(PAIRS_END_HERE, text, next);
  if (!end && !Object.keys(args).length && !call.cut) {
    const rest = skipSpace(text, next);
    if (rest < text.length && !isPartial(text, rest)) return undefined; // just a word after the tag
    call.cut = rest < text.length;
  } else if (!end && isPartial(text, skipSpace(text, next))) call.cut = true;
  call.loose = !end && skipSpace(text, next) >= text.length;
  return { calls: [call], end: end ? next + end[0].length : next };

  /** Whether a value has a closing tag of its own before the next key. */
  function hasEnd(text: string, from: number): boolean {
    const key = source.next(KEY_NEXT, from)?.at ?? text.length;
    const close = source.next("</arg_value", from)?.at ?? text.length;
    return close < key;
  }
}

// ── MiniMax M3: every tag after a mark, a tag for each parameter ──

const M3 = "]<]minimax[>[";
export const readMarked: Reader = (source, at) => {
  const { text } = source;
  const close = source.next(`${M3}</tool_call>`, at);
  const inner = text.slice(at, close?.end ?? text.length);
  source.work.left -= inner.length;
  const plain = inner.replaceAll(M3, "");
  const calls: Raw[] = [];
  const heads = /<invoke name=["']?([^"'<>\s]{1,200})["']?>/g;
  for (let head = heads.exec(plain); head && calls.length < MAX_CALLS; head = heads.exec(plain)) {
    const end = plain.indexOf("</invoke>", heads.lastIndex);
    const args = tagsIn(plain.slice(heads.lastIndex, end < 0 ? plain.length : end), 0);
    const isObject = typeof args === "object" && !Array.isArray(args);
    calls.push({ name: head[1]!, args: isObject ? args : {}, raw: true, ...(end < 0 && { cut: true }) });
    if (end < 0) break;
    heads.lastIndex = end;
  }
  return calls.length ? { calls, end: close?.end ?? text.length } : undefined;
};

/** `<k>v</k>` as an object, `<item>` as a list, anything else as text. */
function tagsIn(text: string, depth: number): any {
  if (depth > 8 || !/^\s*<[\w.-]{1,100}>/.test(text)) return depth ? trimmed(text) : {};
  const items: unknown[] = [];
  const made: Record<string, unknown> = {};
  const TAG = /\s*<([\w.-]{1,100})>/y;
  for (let at = 0; ; ) {
    const open = matchAt(TAG, text, at);
    if (!open) break;
    const from = at + open[0].length;
    const end = text.indexOf(`</${open[1]}>`, from);
    if (end < 0) break;
    const value = tagsIn(text.slice(from, end), depth + 1);
    if (open[1] === "item" && depth) items.push(value);
    else put(made, open[1]!, value);
    at = end + open[1]!.length + 3;
  }
  return items.length ? items : made;
}
