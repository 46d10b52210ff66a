// Calls in tags: Qwen3-Coder's <function=…>, <invoke name="…"> of many families, GLM's keys and
// values, MiniCPM's tags.
import { anyOf, isObject } from "zz/text";
import { longestName, readArguments, readObjects, skipCloser, skipFence } from "./call-shapes.ts";
import { toolFor } from "./coerce.ts";
import { setField, skipSpace, wholeJson } from "./json.ts";
import { matchAt, skipMatch } from "./search-text.ts";
import { MAX_CALLS_PER_MARK, type Piece, type Raw, type Reader, type Source } from "./types.ts";

/** An XML value, without one line break at either end, which belongs to the tags. */
const trimValue = (tagValue: string): string => tagValue.replace(/^\n/, "").replace(/\n$/, "");

/** A block in `<tool_call>` or a similar tag: what follows the tag shows its grammar. */
export const readBlock: Reader = (source, _at, markerEnd) => {
  const { text } = source;
  const bodyStart = skipFence(text, markerEnd);
  const firstChar = text[bodyStart];
  if (firstChar === "{" || firstChar === "[")
    return readObjects(source, bodyStart, true, BLOCK_END);
  if (firstChar === "<") {
    if (text.startsWith("<function", bodyStart))
      return readSeries(source, bodyStart, FUNCTION_TAGS);
    return undefined; // <invoke …> and inner blocks have marks of their own
  }
  return readPairs(source, bodyStart);
};
export const BLOCK_END = anyOf(
  /<\/(?:longcat_tool_call|seed:tool_call|tool_calls?|toolcall|TOOLCALL|function_calls?)>/y,
  /<\/(?:tools?|json|JSON|xml|response)>|<tool_call>(?=\s{0,20}$)/y,
);

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

const NAME_SIGN = String.raw`(?:=|\s{1,5}name\s{0,5}=\s{0,5})`;
const AFTER_PARAMETER =
  /<(?:parameter|param)[=\s]|<\/function>|<\/[\w:]{0,30}tool_call>|<function[=\s]|$/.source;
const FUNCTION_TAGS: Tags = {
  head: /<function(?:=|\s{1,5}name\s{0,5}=\s{0,5})["']?([^\s"'<>{}/]{1,200})["']?\s{0,5}>/y,
  key: new RegExp(
    String.raw`<(?:parameter|param)${NAME_SIGN}["']?([^\s"'<>=]{1,200})["']?\s{0,5}[>=]`,
    "y",
  ),
  nextKey: /<(?:parameter|param)(?:=|\s{1,5}name\s{0,5}=)/g,
  valueEnd: new RegExp(String.raw`<\/(?:parameter|param)>(?=\s{0,80}(?:${AFTER_PARAMETER}))`, "g"),
  stops: [/<\/function>/g, /<\/[\w:]{0,30}tool_call>/g],
  end: /<\/function>/y,
  wrapperEnd: BLOCK_END,
};
const QUOTED_NAME = /(?:"([^"<>\n]{1,200})"?|'([^'<>\n]{1,200})'?|([^\s<>"']{1,200}))/.source;
const NAME_TO_END = String.raw`\s{1,5}name\s{0,5}=\s{0,5}${QUOTED_NAME}[^>\n]{0,200}>`;
const AFTER_ARGUMENT = /<?[^\s<>="']{0,30}?parameter\s{1,5}name|<?\/?[^\s<>="']{0,30}?invoke|<\/|$/
  .source;
const INVOKE_TAGS: Tags = {
  head: new RegExp(String.raw`<?[^\s<>="']{0,30}?invoke${NAME_TO_END}`, "y"),
  key: new RegExp(String.raw`<?(?:[^\s<>="']{0,30}?)parameter${NAME_TO_END}`, "y"),
  nextKey: /<(?:[^\s<>="']{0,30}?)parameter\s{1,5}name\s{0,5}=/g,
  valueEnd: new RegExp(
    String.raw`<?\/[^\s<>="'/]{0,30}?parameter>(?=\s{0,80}(?:${AFTER_ARGUMENT}))`,
    "g",
  ),
  stops: [/<?\/[^\s<>="'/]{0,30}?invoke>/g],
  end: /<?\/[^\s<>="'/]{0,30}?invoke>/y,
  wrapperEnd: anyOf(
    /<\/[^\s<>]{0,30}?(?:tool_calls?|function_calls)>/y,
    /<[｜|]tool[▁_ \\]{1,2}calls?[▁_ \\]{1,2}end[｜|]>/y,
  ),
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

/** `<function=NAME>`, `<invoke name="NAME">` or Kimi's `call tool="NAME"`, one after the other. */
export const readFunction: Reader = (source, at) => readSeries(source, at, FUNCTION_TAGS);
export const readInvoke: Reader = (source, at) => readSeries(source, at, INVOKE_TAGS);
export const readKimi3: Reader = (source, at) => readSeries(source, at, OPEN_TAGS);

function readSeries(source: Source, startIndex: number, tagFamily: Tags): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let end = startIndex;
  for (
    let nextIndex = startIndex;
    calls.length < MAX_CALLS_PER_MARK;
    nextIndex = skipSpace(text, end)
  ) {
    const headMatch = matchAt(tagFamily.head, text, nextIndex);
    const parsedCall =
      headMatch && readBody(source, groupOf(headMatch), nextIndex + headMatch[0].length, tagFamily);
    if (!parsedCall) break;
    calls.push(...parsedCall.calls);
    end = parsedCall.end;
  }
  if (!calls.length) return undefined;
  for (let i = 0; i < 3; i++) end = skipCloser(tagFamily.wrapperEnd, text, end);
  return { calls, end };
}

function readBody(source: Source, name: string, bodyStart: number, tags: Tags): Piece | undefined {
  const { text } = source;
  const parameters = Object.keys((toolFor(name, source.tools)?.schema.properties as object) ?? {});
  let next = skipFence(text, bodyStart);
  if (text[next] === "{")
    return jsonBody(source, name, next, tags === PAIR_TAGS ? BLOCK_END : tags.end);
  const args: Raw["args"] = {};
  // raw: values do not say whether they are texts
  const call: Raw = { name, args, raw: tags !== INVOKE_TAGS };
  for (;;) {
    const keyMatch = matchAt(tags.key, text, next);
    if (!keyMatch) break;
    const keyName = groupOf(keyMatch).trim();
    const valueStart = next + keyMatch[0].length;
    const valueSpan = valueEnd(source, valueStart, tags, (offset) => {
      if (tags === PAIR_TAGS)
        return (source.next("</arg_value", valueStart)?.at ?? text.length) > offset;
      const otherMatch = matchAt(tags.key, text, offset);
      const otherKey = otherMatch && groupOf(otherMatch);
      return (
        tags === FUNCTION_TAGS &&
        !!otherKey &&
        otherKey !== keyName &&
        parameters.includes(otherKey) &&
        !(otherKey in args)
      );
    });
    const valueText = text.slice(valueStart, valueSpan?.at);
    const textFlag = /string\s{0,5}=\s{0,5}["'](true|false)["']/.exec(keyMatch[0])?.[1];
    const isWhole = tags === OPEN_TAGS || keyMatch[0].endsWith("=");
    setField(
      args,
      keyName,
      textFlag
        ? flaggedValue(textFlag, valueText, source)
        : unwrapCdata(isWhole ? valueText : trimValue(valueText)),
    );
    if (!textFlag) call.raw = true;
    if (!valueSpan) return { calls: [{ ...call, cut: true }], end: text.length };
    next = skipSpace(text, valueSpan.end);
  }
  const end = skipMatch(tags.end, text, next);
  if (end > next) return { calls: [call], end };
  const followingIndex = skipSpace(text, next);
  const isEmpty = !Object.keys(args).length;
  call.loose = followingIndex >= text.length;
  call.cut = isPartial(text, followingIndex, tags) || (call.loose && isEmpty && tags !== PAIR_TAGS);
  const isJustWord = tags === PAIR_TAGS && isEmpty && !call.loose && !call.cut; // after the tag
  return isJustWord ? undefined : { calls: [call], end };
}

/** What the first group says that took part. Kimi K3 writes entities. */
const groupOf = (match: RegExpExecArray): string =>
  match.slice(1).find(Boolean)!.replaceAll("&quot;", '"').replaceAll("&amp;", "&");

/** Whether the text ended inside of a tag, or between GLM's two around a key. */
function isPartial(sourceText: string, index: number, tagFamily: Tags): boolean {
  const pattern =
    tagFamily === PAIR_TAGS
      ? /^<[^<>\n]{0,199}(>[^<>\n]{0,199}(<[^<>\n]{0,20})?)?\s*$/
      : /^<[^<>\n]{0,199}$/;
  return (
    index < sourceText.length &&
    sourceText.length - index < 250 &&
    pattern.test(sourceText.slice(index))
  );
}

/** A value ends at the first closing tag that is followed by another parameter or the end; without
 * such a tag, at the next parameter or the end of the call. If there is none of these, the text
 * ended inside of the value. */
function valueEnd(
  source: Source,
  valueStart: number,
  tags: Tags,
  isNextKey: (keyIndex: number) => boolean,
): { at: number; end: number } | undefined {
  const indexOf = (pattern: RegExp) => source.next(pattern, valueStart)?.at ?? Infinity;
  const closing = source.next(tags.valueEnd, valueStart);
  const keyIndex = indexOf(tags.nextKey);
  const stopIndex = Math.min(...tags.stops.map(indexOf));
  const isUnclosed = closing && keyIndex < Math.min(closing.at, stopIndex) && isNextKey(keyIndex);
  if (closing && !isUnclosed) return closing;
  const at = Math.min(keyIndex, stopIndex);
  return Number.isFinite(at) ? { at, end: at } : undefined;
}

/** The value without CDATA, in which MiniCPM may wrap it. */
const unwrapCdata = (tagValue: string): string =>
  /^\s{0,20}<!\[CDATA\[/.test(tagValue) && tagValue.trimEnd().endsWith("]]>")
    ? tagValue.trim().slice(9, -3)
    : tagValue;

function jsonBody(
  source: Source,
  toolName: string,
  jsonStart: number,
  closePattern: RegExp,
): Piece | undefined {
  const parsedCall = readArguments(source, toolName, jsonStart);
  if (!parsedCall) return undefined;
  return { ...parsedCall, end: skipCloser(closePattern, source.text, parsedCall.end, true) };
}

/** DeepSeek marks each value as plain text or JSON. */
function flaggedValue(textFlag: string, valueText: string, { work }: Source): unknown {
  const typedValue = textFlag === "true" ? valueText : wholeJson(valueText, work);
  return typedValue === undefined ? trimValue(valueText) : typedValue;
}

// ── GLM: <tool_call>NAME <arg_key>K</arg_key> <arg_value>V</arg_value> … ──

const PAIR_NAME = /([^\s<>{}[\]()"'`,;]{1,200}?)(?=(?:\s|\\n){0,20}(?:<|\{|$)|\s)/.source;
const KEY_OPENING = /(?:(?:\s|\\n){0,20}<(?:arg_key|tool_call)[^<>]{0,20}>|\s{0,20})/.source;
const VALUE_OPENING = /(?:(?:\s|\\n){0,20}<arg_value[^<>]{0,20}>)?/.source;
const PAIR_TAGS: Tags = {
  head: new RegExp(String.raw`${PAIR_NAME}(?:\s{0,20}<tool_sep[^<>]{0,20}>)?`, "y"),
  key: new RegExp(
    String.raw`${KEY_OPENING}([^<>\n]{1,200})<\/arg_key[^<>]{0,20}>${VALUE_OPENING}`,
    "y",
  ),
  nextKey: /(?:\\n)?<arg_key[^<>]{0,20}>/g,
  valueEnd: /<\/arg_value[^<>]{0,20}>(?=(?:\s|\\n){0,80}(?:<arg_key|<\/tool_call|<tool_call>|$))/g,
  stops: [/<\/tool_call[^<>]{0,20}>/g],
  end: /(?:\s|\\n){0,80}<\/tool_call[^<>]{0,20}>/y,
  wrapperEnd: BLOCK_END,
};

function readPairs(source: Source, startIndex: number): Piece | undefined {
  const { text, tools } = source;
  const headMatch = matchAt(PAIR_TAGS.head, text, startIndex);
  if (!headMatch) return undefined;
  // If the first <arg_key> is missing, the name and the key run into one another.
  const hasName =
    toolFor(headMatch[1]!, tools) ||
    text[skipSpace(text, startIndex + headMatch[0].length)] === "{";
  const meantName = hasName
    ? headMatch[1]
    : longestName(text.slice(startIndex, startIndex + 400).split("<")[0]!, tools);
  if (!meantName) return undefined;
  const bodyStart = startIndex + (hasName ? headMatch[0] : meantName).length;
  return readBody(source, meantName, bodyStart, PAIR_TAGS);
}

// ── ipuaro: <tool_call name="NAME"><KEY>VALUE</KEY> … </tool_call> ──

const NAMED_HEAD =
  /<tool_call\s{1,5}name\s{0,5}=\s{0,5}["']?([^\s"'<>{}/]{1,200})["']?\s{0,5}(\/?)>/y;
const NAMED_KEY = /<([A-Za-z_][\w.-]{0,99})>/y;
const NAMED_END = /<\/tool_call>/y;
/** A value ends where its own tag is closed and another key or the end of the call follows. */
const AFTER_VALUE = /\s{0,80}(?:<[A-Za-z_][\w.-]{0,99}>|<\/tool_call>|$)/y;

export const readNamedBlock: Reader = (source, markerStart) => {
  const { text } = source;
  const headMatch = matchAt(NAMED_HEAD, text, markerStart);
  if (!headMatch) return undefined;
  const name = headMatch[1]!;
  let nextIndex = skipSpace(text, markerStart + headMatch[0].length);
  if (headMatch[2]) return { calls: [{ name, args: {}, raw: true }], end: nextIndex };
  if (text[nextIndex] === "{") return jsonBody(source, name, nextIndex, NAMED_END);
  const args: Raw["args"] = {};
  for (;;) {
    const keyMatch = matchAt(NAMED_KEY, text, nextIndex);
    if (!keyMatch) break;
    const valueStart = nextIndex + keyMatch[0].length;
    const closing = `</${keyMatch[1]}>`;
    let closeMatch = source.next(closing, valueStart);
    while (closeMatch && !matchAt(AFTER_VALUE, text, closeMatch.end))
      closeMatch = source.next(closing, closeMatch.end);
    if (!closeMatch) return { calls: [{ name, args, raw: true, cut: true }], end: text.length };
    setField(args, keyMatch[1]!, unwrapCdata(trimValue(text.slice(valueStart, closeMatch.at))));
    nextIndex = skipSpace(text, closeMatch.end);
  }
  const end = skipMatch(NAMED_END, text, nextIndex);
  return { calls: [{ name, args, raw: true, cut: end === nextIndex }], end };
};

// ── MiniMax M3: every tag after a mark, a tag for each parameter ──

const MINIMAX_MARK = "]<]minimax[>[";
export const readMarked: Reader = (source, markerStart) => {
  const { text } = source;
  const closeMatch = source.next(`${MINIMAX_MARK}</tool_call>`, markerStart);
  const innerText = text.slice(markerStart, closeMatch?.end ?? text.length);
  source.work.left -= innerText.length;
  const plainText = innerText.replaceAll(MINIMAX_MARK, "");
  const calls: Raw[] = [];
  const headPattern = /<invoke name=["']?([^"'<>\s]{1,200})["']?>/g;
  for (
    let headMatch = headPattern.exec(plainText);
    headMatch && calls.length < MAX_CALLS_PER_MARK;
    headMatch = headPattern.exec(plainText)
  ) {
    const callEnd = plainText.indexOf("</invoke>", headPattern.lastIndex);
    const parsedArgs = readTags(
      plainText.slice(headPattern.lastIndex, callEnd < 0 ? plainText.length : callEnd),
      0,
    );
    const args = isObject(parsedArgs) ? parsedArgs : {};
    calls.push({ name: headMatch[1]!, args, raw: true, cut: callEnd < 0 });
    if (callEnd < 0) break;
    headPattern.lastIndex = callEnd;
  }
  return calls.length ? { calls, end: closeMatch?.end ?? text.length } : undefined;
};

/** `<k>v</k>` as an object, `<item>` as a list, anything else as text. */
function readTags(tagText: string, depth: number): any {
  if (depth > 8 || !/^\s*<[\w.-]{1,100}>/.test(tagText)) return depth ? trimValue(tagText) : {};
  const listItems: unknown[] = [];
  const objectFields: Record<string, unknown> = {};
  const OPENING_TAG = /\s*<([\w.-]{1,100})>/y;
  for (let tagStart = 0; ; ) {
    const openMatch = matchAt(OPENING_TAG, tagText, tagStart);
    if (!openMatch) break;
    const valueStart = tagStart + openMatch[0].length;
    const closeStart = tagText.indexOf(`</${openMatch[1]}>`, valueStart);
    if (closeStart < 0) break;
    const tagValue = readTags(tagText.slice(valueStart, closeStart), depth + 1);
    if (openMatch[1] === "item" && depth) listItems.push(tagValue);
    else setField(objectFields, openMatch[1]!, tagValue);
    tagStart = closeStart + openMatch[1]!.length + 3;
  }
  return listItems.length ? listItems : objectFields;
}
