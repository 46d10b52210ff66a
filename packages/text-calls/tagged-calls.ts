// Calls in tags: Qwen3-Coder's <function=…>, <invoke name="…"> of many families, GLM's keys and
// values, MiniCPM's tags.

import { longestName, readArguments, readObjects, skipFence } from "./call-shapes.ts";
import { toolFor } from "./coerce.ts";
import { setField, skipSpace, wholeJson } from "./json.ts";
import { matchAt } from "./search-text.ts";
import { MAX_CALLS, type Piece, type Raw, type Reader, type Source } from "./types.ts";

/** An XML value, without one line break at either end, which belongs to the tags. */
const trimValue = (value: string): string => value.replace(/^\n/, "").replace(/\n$/, "");

/** A block in `<tool_call>` or a similar tag: what follows the tag shows its grammar. */
export const readBlock: Reader = (source, _at, after) => {
  const { text } = source;
  const start = skipFence(text, after);
  const char = text[start];
  if (char === "{" || char === "[") return readObjects(source, start, true, BLOCK_END);
  if (char === "<") {
    if (text.startsWith("<function", start)) return readSeries(source, start, FUNCTION_TAGS);
    return undefined; // <invoke …> and inner blocks have marks of their own
  }
  return readPairs(source, start);
};
export const BLOCK_END =
  /<\/(?:longcat_tool_call|seed:tool_call|tool_calls?|toolcall|TOOLCALL|function_calls?|tools?|json|JSON|xml|response)>|<tool_call>(?=\s{0,20}$)/y;

/**
 * How a family writes a call in tags. Its patterns are sticky or global, as they are used; the
 * first group is a name.
 */
interface Tags {
  head: RegExp;
  key: RegExp; // the tag before a value; DeepSeek's say whether it is a text
  nextKey: RegExp;
  valueEnd: RegExp;
  stops: RegExp[]; // where a value ends at the latest
  end: RegExp;
  wrapperEnd: RegExp;
}

const FUNCTION_TAGS: Tags = {
  head: /<function(?:=|\s{1,5}name\s{0,5}=\s{0,5})["']?([^\s"'<>{}/]{1,200})["']?\s{0,5}>/y,
  key: /<(?:parameter|param)(?:=|\s{1,5}name\s{0,5}=\s{0,5})["']?([^\s"'<>=]{1,200})["']?\s{0,5}[>=]/y,
  nextKey: /<(?:parameter|param)(?:=|\s{1,5}name\s{0,5}=)/g,
  valueEnd:
    /<\/(?:parameter|param)>(?=\s{0,80}(?:<(?:parameter|param)[=\s]|<\/function>|<\/[\w:]{0,30}tool_call>|<function[=\s]|$))/g,
  stops: [/<\/function>/g, /<\/[\w:]{0,30}tool_call>/g],
  end: /<\/function>/y,
  wrapperEnd: BLOCK_END,
};
const INVOKE_TAGS: Tags = {
  head: /<?[^\s<>="']{0,30}?invoke\s{1,5}name\s{0,5}=\s{0,5}(?:"([^"<>\n]{1,200})"?|'([^'<>\n]{1,200})'?|([^\s<>"']{1,200}))[^>\n]{0,200}>/y,
  key: /<?(?:[^\s<>="']{0,30}?)parameter\s{1,5}name\s{0,5}=\s{0,5}(?:"([^"<>\n]{1,200})"?|'([^'<>\n]{1,200})'?|([^\s<>"']{1,200}))[^>\n]{0,200}>/y,
  nextKey: /<(?:[^\s<>="']{0,30}?)parameter\s{1,5}name\s{0,5}=/g,
  valueEnd:
    /<?\/[^\s<>="'/]{0,30}?parameter>(?=\s{0,80}(?:<?[^\s<>="']{0,30}?parameter\s{1,5}name|<?\/?[^\s<>="']{0,30}?invoke|<\/|$))/g,
  stops: [/<?\/[^\s<>="'/]{0,30}?invoke>/g],
  end: /<?\/[^\s<>="'/]{0,30}?invoke>/y,
  wrapperEnd:
    /<\/[^\s<>]{0,30}?(?:tool_calls?|function_calls)>|<[｜|]tool[▁_ \\]{1,2}calls?[▁_ \\]{1,2}end[｜|]>/y,
};
/** Kimi K3's. */
const OPEN_TAGS: Tags = {
  head: /<\|open\|>call tool="([^"<>]{1,200})"[^<>]{0,130}<\|sep\|>/y,
  key: /<\|open\|>argument key="([^"<>]{1,200})"[^<>]{0,130}<\|sep\|>/y,
  nextKey: /<\|open\|>argument key=/g,
  valueEnd: /<\|close\|>argument<\|sep\|>/g,
  stops: [/<\|close\|>call<\|sep\|>/g],
  end: /<\|close\|>call<\|sep\|>/y,
  wrapperEnd: /<\|close\|>tools<\|sep\|>/y,
};

const inTags =
  (tags: Tags): Reader =>
  (source, index) =>
    readSeries(source, index, tags);
/** `<function=NAME>`, `<invoke name="NAME">` or Kimi's `call tool="NAME"`, one after the other. */
export const readFunction = inTags(FUNCTION_TAGS);
export const readInvoke = inTags(INVOKE_TAGS);
export const readKimi3 = inTags(OPEN_TAGS);

function readSeries(source: Source, index: number, tags: Tags): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let end = index;
  for (let next = index; calls.length < MAX_CALLS; next = skipSpace(text, end)) {
    const read = readTaggedCall(source, next, tags);
    if (!read) break;
    calls.push(read.call);
    end = read.end;
  }
  if (!calls.length) return undefined;
  for (let i = 0; i < 3; i++) {
    const start = skipSpace(text, end);
    end = start + (matchAt(tags.wrapperEnd, text, start)?.[0].length ?? end - start);
  }
  return { calls, end };
}

function readTaggedCall(
  source: Source,
  index: number,
  tags: Tags,
): { call: Raw; end: number } | undefined {
  const { text } = source;
  const head = matchAt(tags.head, text, index);
  if (!head) return undefined;
  return readBody(source, groupOf(head), index + head[0].length, tags);
}

type Read = { call: Raw; end: number; closed?: boolean };
function readBody(source: Source, name: string, index: number, tags: Tags): Read | undefined {
  const { text } = source;
  const parameters = Object.keys((toolFor(name, source.tools)?.schema.properties as object) ?? {});
  let next = skipFence(text, index);
  if (text[next] === "{")
    return jsonBody(source, name, next, tags === PAIR_TAGS ? BLOCK_END : tags.end);
  const args: Raw["args"] = {};
  // raw: values do not say whether they are texts
  const call: Raw = { name, args, raw: tags !== INVOKE_TAGS };
  for (;;) {
    const opened = matchAt(tags.key, text, next);
    if (!opened) break;
    const key = groupOf(opened).trim();
    const from = next + opened[0].length;
    const stop = Math.min(
      ...tags.stops.map((pattern) => source.next(pattern, from)?.at ?? Number.POSITIVE_INFINITY),
    );
    const value = valueEnd(source, from, tags.valueEnd, tags.nextKey, stop, (offset) => {
      if (tags === PAIR_TAGS) return (source.next("</arg_value", from)?.at ?? text.length) > offset;
      const match = matchAt(tags.key, text, offset);
      const otherKey = match && groupOf(match);
      return (
        tags === FUNCTION_TAGS &&
        !!otherKey &&
        otherKey !== key &&
        parameters.includes(otherKey) &&
        !(otherKey in args)
      );
    });
    const held = text.slice(from, value.end);
    const textFlag = /string\s{0,5}=\s{0,5}["'](true|false)["']/.exec(opened[0])?.[1];
    const isWhole = tags === OPEN_TAGS || opened[0].endsWith("=");
    setField(
      args,
      key,
      textFlag
        ? flaggedValue(textFlag, held, source)
        : unwrapCdata(isWhole ? held : trimValue(held)),
    );
    if (!textFlag) call.raw = true;
    if (!value.closed) return { call: { ...call, cut: true }, end: text.length };
    next = skipSpace(text, value.next);
  }
  const close = matchAt(tags.end, text, next);
  call.loose = !close && skipSpace(text, next) >= text.length;
  const isNone = call.loose && tags !== PAIR_TAGS && !Object.keys(args).length;
  call.cut = !close && (isPartial(text, skipSpace(text, next), tags) || isNone);
  return { call, end: next + (close?.[0].length ?? 0), closed: close !== null };
}

/** What the first group says that took part. Kimi K3 writes entities. */
const groupOf = (match: RegExpExecArray): string =>
  match.slice(1).find(Boolean)!.replaceAll("&quot;", '"').replaceAll("&amp;", "&");

/** Whether the text ended inside of a tag, or between GLM's two around a key. */
function isPartial(text: string, index: number, tags: Tags): boolean {
  const pattern =
    tags === PAIR_TAGS
      ? /^<[^<>\n]{0,199}(>[^<>\n]{0,199}(<[^<>\n]{0,20})?)?\s*$/
      : /^<[^<>\n]{0,199}$/;
  return index < text.length && text.length - index < 250 && pattern.test(text.slice(index));
}

/** A value ends at the first closing tag that is followed by another parameter or the end; without
 * such a tag, at the next parameter or the end of the call. If there is none of these, the text
 * ended inside of the value. */
function valueEnd(
  source: Source,
  from: number,
  closing: RegExp,
  opening: RegExp,
  stop: number,
  isNext: (index: number) => boolean,
): { end: number; next: number; closed: boolean } {
  const close = source.next(closing, from);
  const nextOpening = source.next(opening, from);
  if (nextOpening && nextOpening.at < Math.min(close?.at ?? stop, stop) && isNext(nextOpening.at))
    return { end: nextOpening.at, next: nextOpening.at, closed: true };
  if (close) return { end: close.at, next: close.end, closed: true };
  if (nextOpening && nextOpening.at < stop)
    return { end: nextOpening.at, next: nextOpening.at, closed: true };
  if (Number.isFinite(stop)) return { end: stop, next: stop, closed: true };
  return { end: source.text.length, next: source.text.length, closed: false };
}

/** The value without CDATA, in which MiniCPM may wrap it. */
const unwrapCdata = (value: string): string =>
  /^\s{0,20}<!\[CDATA\[/.test(value) && value.trimEnd().endsWith("]]>")
    ? value.trim().slice(9, -3)
    : value;

function jsonBody(
  source: Source,
  name: string,
  index: number,
  close: RegExp,
): { call: Raw; end: number } | undefined {
  const read = readArguments(source, name, index);
  if (!read) return undefined;
  const next = skipFence(source.text, read.end);
  const closed = matchAt(close, source.text, next);
  return { call: read.call, end: closed ? next + closed[0].length : read.end };
}

/** DeepSeek marks each value as plain text or JSON. */
function flaggedValue(textFlag: string, held: string, { work }: Source): unknown {
  const value = textFlag === "true" ? held : wholeJson(held, work);
  return value === undefined ? trimValue(held) : value;
}

// ── GLM: <tool_call>NAME <arg_key>K</arg_key> <arg_value>V</arg_value> … ──

const PAIR_TAGS: Tags = {
  head: /([^\s<>{}[\]()"'`,;]{1,200}?)(?=(?:\s|\\n){0,20}(?:<|\{|$)|\s)(?:\s{0,20}<tool_sep[^<>]{0,20}>)?/y,
  key: /(?:(?:\s|\\n){0,20}<(?:arg_key|tool_call)[^<>]{0,20}>|\s{0,20})([^<>\n]{1,200})<\/arg_key[^<>]{0,20}>(?:(?:\s|\\n){0,20}<arg_value[^<>]{0,20}>)?/y,
  nextKey: /(?:\\n)?<arg_key[^<>]{0,20}>/g,
  valueEnd: /<\/arg_value[^<>]{0,20}>(?=(?:\s|\\n){0,80}(?:<arg_key|<\/tool_call|<tool_call>|$))/g,
  stops: [/<\/tool_call[^<>]{0,20}>/g],
  end: /(?:\s|\\n){0,80}<\/tool_call[^<>]{0,20}>/y,
  wrapperEnd: BLOCK_END,
};

function readPairs(source: Source, index: number): Piece | undefined {
  const { text, tools } = source;
  const head = matchAt(PAIR_TAGS.head, text, index);
  if (!head) return undefined;
  // If the first <arg_key> is missing, the name and the key run into one another.
  const isName = toolFor(head[1]!, tools) || text[skipSpace(text, index + head[0].length)] === "{";
  const meant = isName
    ? head[1]
    : longestName(text.slice(index, index + 400).split("<")[0]!, tools);
  if (!meant) return undefined;
  const read = readBody(source, meant, index + (isName ? head[0] : meant).length, PAIR_TAGS);
  const isWord =
    read && !Object.keys(read.call.args).length && read.call.raw && !read.call.cut && !read.closed;
  // just a word after the tag
  return !read || (isWord && !read.call.loose) ? undefined : { calls: [read.call], end: read.end };
}

// ── ipuaro: <tool_call name="NAME"><KEY>VALUE</KEY> … </tool_call> ──

const NAMED_HEAD =
  /<tool_call\s{1,5}name\s{0,5}=\s{0,5}["']?([^\s"'<>{}/]{1,200})["']?\s{0,5}(\/?)>/y;
const NAMED_KEY = /<([A-Za-z_][\w.-]{0,99})>/y;
const NAMED_END = /<\/tool_call>/y;
/** A value ends where its own tag is closed and another key or the end of the call follows. */
const AFTER_VALUE = /\s{0,80}(?:<[A-Za-z_][\w.-]{0,99}>|<\/tool_call>|$)/y;

export const readNamedBlock: Reader = (source, index) => {
  const { text } = source;
  const head = matchAt(NAMED_HEAD, text, index);
  if (!head) return undefined;
  const name = head[1]!;
  let next = skipSpace(text, index + head[0].length);
  if (head[2]) return { calls: [{ name, args: {}, raw: true }], end: next };
  if (text[next] === "{") {
    const read = jsonBody(source, name, next, NAMED_END);
    return read && { calls: [read.call], end: read.end };
  }
  const args: Raw["args"] = {};
  for (;;) {
    const key = matchAt(NAMED_KEY, text, next);
    if (!key) break;
    const from = next + key[0].length;
    const closing = `</${key[1]}>`;
    let close = source.next(closing, from);
    while (close && !matchAt(AFTER_VALUE, text, close.end)) close = source.next(closing, close.end);
    if (!close) return { calls: [{ name, args, raw: true, cut: true }], end: text.length };
    setField(args, key[1]!, unwrapCdata(trimValue(text.slice(from, close.at))));
    next = skipSpace(text, close.end);
  }
  const end = matchAt(NAMED_END, text, next);
  return { calls: [{ name, args, raw: true, cut: !end }], end: next + (end?.[0].length ?? 0) };
};

// ── MiniMax M3: every tag after a mark, a tag for each parameter ──

const M3 = "]<]minimax[>[";
export const readMarked: Reader = (source, index) => {
  const { text } = source;
  const close = source.next(`${M3}</tool_call>`, index);
  const inner = text.slice(index, close?.end ?? text.length);
  source.work.left -= inner.length;
  const plain = inner.replaceAll(M3, "");
  const calls: Raw[] = [];
  const heads = /<invoke name=["']?([^"'<>\s]{1,200})["']?>/g;
  for (let head = heads.exec(plain); head && calls.length < MAX_CALLS; head = heads.exec(plain)) {
    const end = plain.indexOf("</invoke>", heads.lastIndex);
    const args = tagsIn(plain.slice(heads.lastIndex, end < 0 ? plain.length : end), 0);
    const isObject = typeof args === "object" && !Array.isArray(args);
    calls.push({ name: head[1]!, args: isObject ? args : {}, raw: true, cut: end < 0 });
    if (end < 0) break;
    heads.lastIndex = end;
  }
  return calls.length ? { calls, end: close?.end ?? text.length } : undefined;
};

/** `<k>v</k>` as an object, `<item>` as a list, anything else as text. */
function tagsIn(text: string, depth: number): any {
  if (depth > 8 || !/^\s*<[\w.-]{1,100}>/.test(text)) return depth ? trimValue(text) : {};
  const items: unknown[] = [];
  const fields: Record<string, unknown> = {};
  const TAG = /\s*<([\w.-]{1,100})>/y;
  for (let index = 0; ; ) {
    const open = matchAt(TAG, text, index);
    if (!open) break;
    const from = index + open[0].length;
    const end = text.indexOf(`</${open[1]}>`, from);
    if (end < 0) break;
    const value = tagsIn(text.slice(from, end), depth + 1);
    if (open[1] === "item" && depth) items.push(value);
    else setField(fields, open[1]!, value);
    index = end + open[1]!.length + 3;
  }
  return items.length ? items : fields;
}
