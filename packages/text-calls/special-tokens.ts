// Calls after special tokens: Mistral, DeepSeek, Kimi, Granite, Command, Phi, InternLM, Gemma,
// gpt-oss and others.

import { argumentsIn, readArguments, readObjects, skipFence } from "./call-shapes.ts";
import { toolFor } from "./coerce.ts";
import { skipSpace } from "./json.ts";
import { readPythonic } from "./pythonic.ts";
import { matchAt } from "./search-text.ts";
import { MAX_CALLS, type Piece, type Raw, type Reader, type Source } from "./types.ts";

/** Reads objects or a list of them after a marker, in JSON or in Python. */
const list =
  (closers: RegExp): Reader =>
  (source, _at, after) => {
    const { text } = source;
    const objects = readObjects(source, after, true, closers);
    if (objects) return objects;
    const start = skipSpace(text, after);
    const code = skipFence(text, start); // MiniCPM writes Python in a fence
    const isCode = code > start && text[code] !== "[";
    const readList = () =>
      text[start] === "[" ? readPythonic(source, start, { list: true }) : undefined;
    const python = isCode ? readPythonic(source, code, { list: false, many: true }) : readList();
    if (!python) return undefined;
    const closeStart = isCode ? skipFence(text, python.end) : skipSpace(text, python.end);
    const closed = matchAt(closers, text, closeStart);
    return { ...python, end: closed ? closeStart + closed[0].length : python.end };
  };

export const readList = list(
  /<\|\/tool_calls?\|>|<\|tool_call_end\|>|<\|END_ACTION\|>|<\|action_end\|>|<\|tools_suffix\|>|<\|python_end\|>|<\|e(?:om|ot)_id\|>|<\/?function_calls?>|<\/TOOLCALL>|<\/tool_calls>/y,
);

/** `<|python_tag|>`: JSON, a built-in tool as name.call(…), or calls in Python. */
export const readPythonTag: Reader = (source, index, after, marker) => {
  const listed = readList(source, index, after, marker);
  if (listed) return listed;
  const { text, tools } = source;
  const python = readPythonic(source, after, {
    list: text[skipSpace(text, after)] === "[",
    many: true,
  });
  const calls = python?.calls.map((call) => ({ ...call, name: call.name.replace(/\.call$/, "") }));
  return python && calls!.every(({ name }) => toolFor(name, tools))
    ? { ...python, calls: calls! }
    : undefined;
};

/** Calls on a line each, as Olmo writes them; or objects. */
export const readLines: Reader = (source, index, after, marker) => {
  const listed = readList(source, index, after, marker);
  if (listed) return listed;
  const python = readPythonic(source, after, { list: false, many: true });
  if (!python) return undefined;
  const closeStart = skipSpace(source.text, python.end);
  const closed = matchAt(/<\/function_calls?>/y, source.text, closeStart);
  return { ...python, end: closed ? closeStart + closed[0].length : python.end };
};

// ── A name, a mark, and arguments in JSON ──

interface Named {
  head: RegExp; // the name and what stands between it and the arguments; another group is an id
  begin?: RegExp; // the marks before it
  end?: RegExp; // the marks after the arguments
  lead?: RegExp; // what may stand before a name in which the text ends
  bare?: true; // strings may lack quotes
  fence?: true; // the arguments stand in a fence
}

/**
 * Reads calls one after another. If the text ends in the name of the first, that one was cut off.
 */
function readNamed(
  source: Source,
  index: number,
  { head, begin, end, lead, bare, fence }: Named,
): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let last = index;
  let next = index;
  for (; calls.length < MAX_CALLS; next = last) {
    next = skipAll(begin, text, next);
    const match = matchAt(head, text, next);
    const [, name = "", id] = match?.filter((group) => group !== undefined) ?? [];
    const read =
      match && readArguments(source, name, skipFence(text, next + match[0].length), bare);
    if (!read) break;
    calls.push({ ...read.call, id });
    last = skipAll(end, text, fence ? skipFence(text, read.end) : read.end);
    if (!begin) break;
  }
  if (calls.length) return { calls, end: last };
  return lead && cutHead(source, skipAll(lead, text, next));
}

/** The index after all that a sticky pattern matches one after the other. */
function skipAll(pattern: RegExp | undefined, text: string, index: number): number {
  let next = index;
  for (
    let match = pattern && matchAt(pattern, text, next);
    match?.[0];
    match = matchAt(pattern!, text, next)
  )
    next += match[0].length;
  return next;
}

/** A call whose text ended after the name, before the arguments. */
function cutHead({ text, tools }: Source, index: number): Piece | undefined {
  const ending = text.slice(index, index + 300).trim();
  const name = /^[\w.:-]{1,200}/.exec(ending)?.[0] ?? "";
  const isEnd =
    text.length - index < 300 &&
    toolFor(name, tools) &&
    !/[{\s]/.test(ending.replace(/\[ARGS\]$/, ""));
  return isEnd ? { calls: [{ name, args: {}, cut: true }], end: text.length } : undefined;
}

const MISTRAL: Named = {
  head: /\s{0,20}([A-Za-z_][\w.-]{0,199})\s{0,5}(?:\[CALL_ID\]\s{0,5}([\w-]{1,60})\s{0,5})?(?:\[ARGS\])?\s{0,20}(?=\{)/y,
  lead: /(?!)/y,
};
const DEEPSEEK: Named = {
  fence: true,
  begin: /\s{0,20}<[｜|]tool(?:[▁_ ]|\\_)calls?(?:(?:[▁_ ]|\\_)begin)?[｜|]>\s{0,20}/y,
  head: /(?:(?:function)?\s{0,5}<[｜|]tool(?:[▁_ ]|\\_)sep[｜|]>\s{0,5}([^\s<>{}`｜]{1,200})\s{0,20}|\s{0,5}([^\s<>{}`｜|]{1,200})\s{0,5}<[｜|]tool(?:[▁_ ]|\\_)sep[｜|]>\s{0,20})(?=\{|```)/y,
  end: /\s{0,20}<[｜|]tool(?:[▁_ ]|\\_)calls?(?:[▁_ ]|\\_)end[｜|]>/y,
  lead: /(?:function)?(?:\s{0,5}<[｜|]tool(?:[▁_ ]|\\_)sep[｜|]>)?/y,
};
const KIMI: Named = {
  head: /\s{0,20}(([^\s<>{}]{1,200}))\s{0,10}<\|tool_call_argument_begin\|>\s{0,20}/y,
  end: /\s{0,20}<\|(?:tool_call_end|tool_calls?_section_end)\|>/y,
  lead: /\s{1,20}/y,
};
const GEMMA: Named = {
  head: /\s{0,20}(?:call:\s{0,5})?([A-Za-z_][\w.-]{0,99})(?::\1)?\s{0,5}(?=\{)/y,
  end: /\s{0,20}(?:<tool_call\|>|<\|tool_call>(?!\s{0,20}call:)|<turn\|>|<end_function_call>)/y,
  lead: /\s{0,20}call:/y,
  bare: true,
};

const UNMARKED: Named = {
  begin: /\s{1,20}/y,
  head: /((?:functions?\.)?[A-Za-z_][\w.-]{0,99}(?::\d{1,6})?)\s{0,5}(?:\[ARGS\]\s{0,5}|<\|message\|>|<\|constrain\|>json<\|message\|>)?(?=\{)/y,
  end: /\s{0,20}(?:<\/function>|<\|tool_call_end\|>|<tool_call\|>)/y,
};

/** `NAME{…}`, once or several times: calls of Mistral, Kimi or Gemma whose marks were lost. */
export function readUnmarked(source: Source, index: number): Piece | undefined {
  const isGemma = matchAt(/\s{0,20}call:/y, source.text, index);
  const piece = readNamed(
    source,
    index,
    isGemma ? { ...GEMMA, begin: UNMARKED.begin!, lead: /(?!)/y } : UNMARKED,
  );
  if (!piece?.calls.every(({ name }) => toolFor(name, source.tools))) return undefined;
  const withId = (call: Raw) =>
    /^functions\..*:\d+$/.test(call.name) ? { ...call, id: call.name } : call;
  return { ...piece, calls: piece.calls.map(withId) };
}

export const readMistral: Reader = (source, _at, after) => {
  const start = skipSpace(source.text, after);
  if (source.text[start] === "[" || source.text[start] === "{")
    return readObjects(source, start, true, /\[\/TOOL_CALLS\]|<\/s>/y);
  return readNamed(source, after, MISTRAL);
};

/** `[ARGS]` whose opening mark was lost: the name is the word before it. */
export const readArgs: Reader = (source, index, after) => {
  const name = /[A-Za-z_][\w.-]{0,199}$/.exec(
    source.text.slice(Math.max(0, index - 200), index),
  )?.[0];
  const piece = name && namedCall(source, name, after);
  return piece ? { ...piece, start: index - name.length } : undefined;
};

/** The call of an offered tool, by the arguments that follow. */
function namedCall(source: Source, name: string, index: number): Piece | undefined {
  const read =
    toolFor(name, source.tools) && readArguments(source, name, skipSpace(source.text, index));
  return read && { calls: [read.call], end: read.end };
}

export const readDeepSeek: Reader = (source, index) => readNamed(source, index, DEEPSEEK);

/** Kimi's mark, which some models write instead of DeepSeek's. Its header is the id, too. */
export const readCallBegin: Reader = (source, index, after) => {
  if (matchAt(/[^<]{0,200}<[｜|]tool(?:[▁_ ]|\\_)sep/y, source.text, after))
    return readNamed(source, index, DEEPSEEK);
  const piece = readNamed(source, after, KIMI);
  const [call] = piece?.calls ?? [];
  const { name, arguments: encoded } = call?.args ?? {};
  if (!call || toolFor(call.name, source.tools) || typeof name !== "string") return piece;
  return {
    ...piece!,
    calls: [{ ...call, name, wrong: undefined, ...argumentsIn(encoded, source.work) }],
  };
};

export const readGemma: Reader = (source, _at, after) => {
  const start = skipAll(/\s{1,20}|call:/y, source.text, after);
  const python = /^[A-Za-z_][\w.-]{0,99}\s{0,5}\(/.test(source.text.slice(start, start + 110))
    ? readPythonic(source, start, { list: false })
    : undefined;
  return python
    ? { ...python, end: skipAll(GEMMA.end, source.text, python.end) }
    : readNamed(source, after, GEMMA);
};

// ── gpt-oss ──

const HARMONY_HEAD =
  /(?:<\|start\|>[a-z]{1,20})?(?:\s{0,5}to=([^\s<]{1,200}))?\s{0,5}<\|channel\|>\s{0,5}([a-z]{1,20})(?:\s{1,5}to=([^\s<]{1,200}))?\s{0,5}(?:<\|constrain\|>[a-z]{0,20}|json|code)?\s{0,5}<\|message\|>/y;
const HARMONY_END = /<\|(?:end|call|return|start|channel)\|>/g;

/**
 * One segment: a call if it names a recipient, thinking if it is analysis. Anything else is for the
 * person.
 */
export const readHarmony: Reader = (source, index) => {
  const { text } = source;
  const head = matchAt(HARMONY_HEAD, text, index);
  if (!head) return undefined;
  const from = index + head[0].length;
  const to = head[1] ?? head[3];
  if (to && toolFor(to, source.tools)) {
    const start = skipSpace(text, from);
    const read = readArguments(source, to, start);
    if (!read)
      return start < text.length
        ? undefined
        : { calls: [{ name: to, args: {}, cut: true }], end: text.length };
    const ended = source.next(HARMONY_END, read.end);
    const isCall = ended && text.startsWith("<|call|>", ended.at);
    return { calls: [read.call], end: (isCall ? ended.end : ended?.at) ?? text.length };
  }
  const end = source.next(HARMONY_END, from)?.at ?? text.length;
  return head[2] === "analysis" ? { calls: [], end } : undefined;
};

/** Harmony's format without its special tokens. */
const BARE_TO =
  /(?:^|assistant)\s{0,5}(?:(?:commentary|analysis|final)\s{0,5})?to=(functions\.[\w.-]{1,200})\s{0,5}(?:commentary\s{0,5})?(?:json|code)?\s{0,20}(?=\{)/g;
export function readBareHarmony(source: Source): (Piece & { thinking: string }) | undefined {
  const { text } = source;
  if (!text.includes("to=functions.")) return undefined;
  BARE_TO.lastIndex = 0;
  const calls: Raw[] = [];
  let first = -1;
  let end = 0;
  for (let head = BARE_TO.exec(text); head && calls.length < MAX_CALLS; head = BARE_TO.exec(text)) {
    const read = readArguments(source, head[1]!, BARE_TO.lastIndex);
    if (!read) continue;
    calls.push(read.call);
    if (first < 0) first = head.index;
    end = BARE_TO.lastIndex = read.end;
  }
  if (!calls.length) return undefined;
  const before = text.slice(0, first);
  if (before && !/^(analysis|commentary)/.test(before)) return undefined;
  const isThinking = before.startsWith("analysis");
  return {
    calls,
    end,
    start: isThinking ? 0 : first,
    thinking: isThinking ? before.slice("analysis".length) : "",
  };
}

// ── Functionary, ReAct ──

export const readFunctionary: Reader = (source, _at, after, marker) =>
  namedCall(source, marker.replace(/^>{3}|\s{1,100}$/g, ""), after);

const ACTION = /Action:[ \t]{0,10}([^\n]{1,300})\n/y;
const INPUT = /\s{0,20}Action Input:[ \t]{0,10}/y;
const OBSERVED = /\n\s{0,10}(?:Observation|Thought|Final Answer):/g;

/**
 * `Action: NAME`, `Action Input:` with JSON, or text for the one parameter. Command-R: `Action:`
 * and a fenced list.
 */
export const readAction: Reader = (source, index, after) => {
  const { text, tools } = source;
  const fence = matchAt(/\s{0,20}```(?:json)?\s{0,20}(?=\[)/y, text, after);
  if (fence) return readObjects(source, after + fence[0].length, true);
  const head = matchAt(ACTION, text, index);
  if (!head) return undefined;
  const actionName = head[1]!.trim().replace(/^[`"'*[]+|[`"'*\]]+$/g, "");
  const tool = toolFor(actionName, tools);
  const next = index + head[0].length;
  const input = matchAt(INPUT, text, next);
  if (!input && tool && actionName.includes("("))
    return readPythonic(source, skipSpace(text, after), { list: false });
  if (!tool || !input || actionName.includes("(")) return undefined;
  const from = next + input[0].length;
  const stop = source.next(OBSERVED, Math.max(index, from - 1));
  const end = stop?.at ?? text.length;
  const start = skipFence(text, from);
  const read = text[start] === "{" ? readArguments(source, actionName, start) : undefined;
  if (read) return { calls: [read.call], end: Math.max(read.end, end) };
  const { properties = {} } = tool.schema as { properties?: object };
  const keys = Object.keys(properties);
  const plain = text.slice(from, end).trim();
  if (keys.length > 1 || (keys.length === 1 && !plain)) return undefined;
  return {
    calls: [{ name: actionName, args: keys.length ? { [keys[0]!]: plain } : {}, raw: true }],
    end,
  };
};
