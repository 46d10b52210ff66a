// Calls after special tokens: Mistral, DeepSeek, Kimi, Granite, Command, Phi, InternLM, Gemma, gpt-oss and others.
import { toolFor } from "./coerce.ts";
import { put, readJson, skipSpace } from "./json.ts";
import { readPythonic } from "./pythonic.ts";
import { argumentsIn, readObjects, skipFence } from "./shapes.ts";
import { matchAt } from "./source.ts";
import type { Piece, Raw, Reader, Source } from "./types.ts";

/** Reads objects or a list of them after a marker, in JSON or in Python. */
const list =
  (closers: RegExp): Reader =>
  (source, _at, after) => {
    const { text } = source;
    const found = readObjects(source, after, true, closers);
    if (found) return found;
    const start = skipSpace(text, after);
    const code = skipFence(text, start); // MiniCPM writes Python in a fence
    const isCode = code > start && text[code] !== "[";
    const python = isCode
      ? readPythonic(source, code, { list: false, many: true })
      : text[start] === "["
        ? readPythonic(source, start, { list: true })
        : undefined;
    if (!python) return undefined;
    const rest = isCode ? skipFence(text, python.end) : skipSpace(text, python.end);
    const closed = matchAt(closers, text, rest);
    return { ...python, end: closed ? rest + closed[0].length : python.end };
  };

export const readList = list(
  /<\|\/tool_calls?\|>|<\|tool_call_end\|>|<\|END_ACTION\|>|<\|action_end\|>|<\|tools_suffix\|>|<\|python_end\|>|<\|e(?:om|ot)_id\|>|<\/?function_calls?>|<\/TOOLCALL>|<\/tool_calls>/y,
);

/** `<|python_tag|>`: JSON, a built-in tool as name.call(…), or calls in Python. */
export const readPythonTag: Reader = (source, at, after, marker) => {
  const found = readList(source, at, after, marker);
  if (found) return found;
  const { text, tools } = source;
  const python = readPythonic(source, after, { list: text[skipSpace(text, after)] === "[", many: true });
  const calls = python?.calls.map((call) => ({ ...call, name: call.name.replace(/\.call$/, "") }));
  return python && calls!.every(({ name }) => toolFor(name, tools)) ? { ...python, calls: calls! } : undefined;
};

/** Calls on a line each, as Olmo writes them; or objects. */
export const readLines: Reader = (source, at, after, marker) => {
  const found = readList(source, at, after, marker);
  if (found) return found;
  const python = readPythonic(source, after, { list: false, many: true });
  if (!python) return undefined;
  const rest = skipSpace(source.text, python.end);
  const closed = matchAt(/<\/function_calls?>/y, source.text, rest);
  return { ...python, end: closed ? rest + closed[0].length : python.end };
};

// ── Mistral ──

const NAME_THEN =
  /\s{0,20}([A-Za-z_][\w.-]{0,199})\s{0,5}(?:\[CALL_ID\]\s{0,5}([\w-]{1,60})\s{0,5})?(\[ARGS\])?\s{0,20}(?=\{)/y;

export const readMistral: Reader = (source, _at, after) => {
  const { text } = source;
  const start = skipSpace(text, after);
  if (text[start] === "[" || text[start] === "{") return readObjects(source, start, true, /\[\/TOOL_CALLS\]|<\/s>/y);
  const head = matchAt(NAME_THEN, text, after);
  if (!head) return cutHead(source, after);
  return named(source, head[1]!, after + head[0].length, head[2]);
};

/** `[ARGS]` whose opening mark was lost: the name is the word before it. */
export const readArgs: Reader = (source, at, after) => {
  const name = /[A-Za-z_][\w.-]{0,199}$/.exec(source.text.slice(Math.max(0, at - 200), at))?.[0];
  if (!name || !toolFor(name, source.tools)) return undefined;
  const found = named(source, name, skipSpace(source.text, after));
  return found && { ...found, start: at - name.length };
};

function named(source: Source, name: string, at: number, id?: string): Piece | undefined {
  const json = readJson(source.text, at, source.work);
  if (!json) return undefined;
  const { args, wrong } = argumentsIn(json.value, source.work);
  const call: Raw = { name, args, id, ...(json.cut && { cut: true }), ...(wrong && { wrong }) };
  return { calls: [call], end: json.end };
}

/** A call whose text ended after the name, before the arguments. */
function cutHead({ text, tools }: Source, at: number): Piece | undefined {
  const rest = text.slice(at, at + 300).trim();
  const name = /^[\w.:-]{1,200}/.exec(rest)?.[0] ?? "";
  const isEnd = text.length - at < 300 && toolFor(name, tools) && !/[{\s]/.test(rest.replace(/\[ARGS\]$/, ""));
  return isEnd ? { calls: [{ name, args: {}, cut: true }], end: text.length } : undefined;
}

// ── DeepSeek ──

const DS_BEGIN = /\s{0,20}<[｜|]tool(?:[▁_ ]|\\_)calls?(?:(?:[▁_ ]|\\_)begin)?[｜|]>\s{0,20}/y;
const DS_HEAD = /(?:function)?\s{0,5}<[｜|]tool(?:[▁_ ]|\\_)sep[｜|]>\s{0,5}([^\s<>{}`｜]{1,200})\s{0,20}(?=\{|```)/y;
const DS_SHORT = /\s{0,5}([^\s<>{}`｜|]{1,200})\s{0,5}<[｜|]tool(?:[▁_ ]|\\_)sep[｜|]>\s{0,20}(?=\{|```)/y;
const DS_END = /\s{0,20}<[｜|]tool(?:[▁_ ]|\\_)calls?(?:[▁_ ]|\\_)end[｜|]>/y;

export const readDeepSeek: Reader = (source, at) => {
  const { text } = source;
  const calls: Raw[] = [];
  let next = at;
  let end = at;
  for (let i = 0; i < 1_000; i++) {
    for (let begun = 0; begun < 3; begun++) next += matchAt(DS_BEGIN, text, next)?.[0].length ?? 0;
    const head = matchAt(DS_HEAD, text, next) ?? matchAt(DS_SHORT, text, next);
    if (!head) break;
    const json = readJson(text, skipFence(text, next + head[0].length), source.work);
    if (!json) break;
    const { args, wrong } = argumentsIn(json.value, source.work);
    calls.push({ name: head[1]!, args, ...(json.cut && { cut: true }), ...(wrong && { wrong }) });
    end = next = skipFence(text, json.end);
    for (let close = matchAt(DS_END, text, next); close; close = matchAt(DS_END, text, next))
      end = next += close[0].length;
  }
  if (calls.length) return { calls, end };
  const short = matchAt(/(?:function)?(?:\s{0,5}<[｜|]tool(?:[▁_ ]|\\_)sep[｜|]>)?/y, text, next);
  return cutHead(source, next + (short?.[0].length ?? 0));
};

// ── Kimi ──

const KIMI = /([^\s<>{}]{1,200})\s{0,10}<\|tool_call_argument_begin\|>\s{0,20}/y;
const KIMI_END = /\s{0,20}<\|(?:tool_call_end|tool_calls?_section_end)\|>/y;

const readKimi: Reader = (source, _at, after) => {
  const { text, tools } = source;
  const start = skipSpace(text, after);
  const head = matchAt(KIMI, text, start);
  if (!head) return cutHead(source, start);
  const json = readJson(text, start + head[0].length, source.work);
  if (!json) return undefined;
  const id = head[1]!;
  let end = json.end;
  for (let close = matchAt(KIMI_END, text, end); close; close = matchAt(KIMI_END, text, end)) end += close[0].length;
  const { args, wrong } = argumentsIn(json.value, source.work);
  const inner = args as { name?: unknown; arguments?: unknown };
  if (!toolFor(id, tools) && typeof inner.name === "string") {
    const own = argumentsIn(inner.arguments, source.work);
    return { calls: [{ name: inner.name, ...own, id, ...(json.cut && { cut: true }) }], end };
  }
  return { calls: [{ name: id, args, id, ...(json.cut && { cut: true }), ...(wrong && { wrong }) }], end };
};

/** Kimi's mark, which some models write instead of DeepSeek's. */
export const readCallBegin: Reader = (source, at, after, marker) =>
  matchAt(DS_SEP_NEAR, source.text, after)
    ? readDeepSeek(source, at, after, marker)
    : readKimi(source, at, after, marker);
const DS_SEP_NEAR = /[^<]{0,200}<[｜|]tool(?:[▁_ ]|\\_)sep/y;

const K3_CALL = /<\|open\|>call tool="([^"<>]{1,200})"(?: index="([^"<>]{0,20})")?[^<>]{0,100}<\|sep\|>/y;
const K3_ARG = /\s{0,20}<\|open\|>argument key="([^"<>]{1,200})"(?: type="([^"<>]{0,20})")?[^<>]{0,100}<\|sep\|>/y;
const K3_END = /\s{0,20}<\|close\|>(?:call|tools)<\|sep\|>/y;
const entities = (text: string): string => text.replaceAll("&quot;", '"').replaceAll("&amp;", "&");

export const readKimi3: Reader = (source, at) => {
  const { text } = source;
  const head = matchAt(K3_CALL, text, at);
  if (!head) return undefined;
  const args: Raw["args"] = {};
  let cut = false;
  let next = at + head[0].length;
  for (let one = matchAt(K3_ARG, text, next); one; one = matchAt(K3_ARG, text, next)) {
    const from = next + one[0].length;
    const close = source.next("<|close|>argument<|sep|>", from);
    put(args, entities(one[1]!), text.slice(from, close?.at ?? text.length));
    next = close?.end ?? text.length;
    if (!close) cut = true;
  }
  const behind = next;
  for (let close = matchAt(K3_END, text, next); close; close = matchAt(K3_END, text, next)) next += close[0].length;
  return {
    calls: [{ name: entities(head[1]!), args, raw: true, ...(cut && { cut }), loose: next === behind }],
    end: next,
  };
};

// ── Gemma ──

const GEMMA = /\s{0,20}(?:call:\s{0,5})?([A-Za-z_][\w.-]{0,99})(?::\1)?\s{0,5}(?=[{(])/y;
const GEMMA_END = /\s{0,20}(?:<tool_call\|>|<\|tool_call>(?!\s{0,20}call:)|<turn\|>|<end_function_call>)/y;

export const readGemma: Reader = (source, _at, after) => {
  const { text } = source;
  const head = matchAt(GEMMA, text, after);
  if (!head) return cutHead(source, after + (matchAt(/\s{0,20}call:/y, text, after)?.[0].length ?? 0));
  const at = after + head[0].length;
  if (text[at] === "(") {
    const python = readPythonic(source, at - head[1]!.length - spaces(head[0]), { list: false });
    return python && withEnd(source, python);
  }
  const json = readJson(text, at, source.work, true);
  if (!json) return undefined;
  const { args, wrong } = argumentsIn(json.value, source.work);
  return withEnd(source, {
    calls: [{ name: head[1]!, args, ...(json.cut && { cut: true }), ...(wrong && { wrong }) }],
    end: json.end,
  });
};
const spaces = (head: string): number => head.length - head.trimEnd().length;
function withEnd({ text }: Source, piece: Piece): Piece {
  const closed = matchAt(GEMMA_END, text, piece.end);
  return { ...piece, end: piece.end + (closed?.[0].length ?? 0) };
}

// ── gpt-oss ──

const HARMONY_HEAD =
  /(?:<\|start\|>[a-z]{1,20})?(?:\s{0,5}to=([^\s<]{1,200}))?\s{0,5}<\|channel\|>\s{0,5}([a-z]{1,20})(?:\s{1,5}to=([^\s<]{1,200}))?\s{0,5}(?:<\|constrain\|>[a-z]{0,20}|json|code)?\s{0,5}<\|message\|>/y;
const HARMONY_END = /<\|(?:end|call|return|start|channel)\|>/g;

/** One segment: a call if it names a recipient, thinking if it is analysis. Anything else is for the person. */
export const readHarmony: Reader = (source, at) => {
  const { text } = source;
  const head = matchAt(HARMONY_HEAD, text, at);
  if (!head) return undefined;
  const from = at + head[0].length;
  const stop = source.next(HARMONY_END, from);
  const to = head[1] ?? head[3];
  if (to && toolFor(to, source.tools)) {
    const json = readJson(text, skipSpace(text, from), source.work);
    if (!json)
      return skipSpace(text, from) >= text.length
        ? { calls: [{ name: to, args: {}, cut: true }], end: text.length }
        : undefined;
    const { args, wrong } = argumentsIn(json.value, source.work);
    const ended = source.next(HARMONY_END, json.end);
    const next = ended && text.startsWith("<|call|>", ended.at) ? ended.end : (ended?.at ?? text.length);
    return { calls: [{ name: to, args, ...(json.cut && { cut: true }), ...(wrong && { wrong }) }], end: next };
  }
  if (head[2] === "analysis")
    return { calls: [], thinking: text.slice(from, stop?.at ?? text.length), end: stop?.at ?? text.length };
  return undefined;
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
  for (let head = BARE_TO.exec(text); head && calls.length < 1_000; head = BARE_TO.exec(text)) {
    const json = readJson(text, head.index + head[0].length, source.work);
    if (!json) continue;
    const { args, wrong } = argumentsIn(json.value, source.work);
    calls.push({ name: head[1]!, args, ...(json.cut && { cut: true }), ...(wrong && { wrong }) });
    if (first < 0) first = head.index;
    end = BARE_TO.lastIndex = json.end;
  }
  if (!calls.length) return undefined;
  const before = text.slice(0, first);
  if (before && !/^(analysis|commentary)/.test(before)) return undefined;
  const isThinking = before.startsWith("analysis");
  return { calls, end, start: isThinking ? 0 : first, thinking: isThinking ? before.slice("analysis".length) : "" };
}

// ── Functionary, ReAct ──

export const readFunctionary: Reader = (source, _at, after, marker) => {
  const name = marker.replace(/^>{3}|\s{1,100}$/g, "");
  if (!toolFor(name, source.tools)) return undefined;
  return named(source, name, skipSpace(source.text, after));
};

const ACTION = /Action:[ \t]{0,10}([^\n]{1,300})\n/y;
const INPUT = /\s{0,20}Action Input:[ \t]{0,10}/y;
const OBSERVED = /\n\s{0,10}(?:Observation|Thought|Final Answer):/g;

/** `Action: NAME`, `Action Input:` with JSON, or text for the one parameter. Command-R: `Action:` and a fenced list. */
export const readAction: Reader = (source, at, after) => {
  const { text, tools, work } = source;
  const fence = matchAt(/\s{0,20}```(?:json)?\s{0,20}(?=\[)/y, text, after);
  if (fence) return readObjects(source, after + fence[0].length, true);
  const head = matchAt(ACTION, text, at);
  if (!head) return undefined;
  const said = head[1]!.trim().replace(/^[`"'*[]+|[`"'*\]]+$/g, "");
  const tool = toolFor(said, tools);
  const next = at + head[0].length;
  const input = matchAt(INPUT, text, next);
  if (!input && tool && said.includes("(")) return readPythonic(source, skipSpace(text, after), { list: false });
  if (!tool || !input || said.includes("(")) return undefined;
  const from = next + input[0].length;
  const stop = source.next(OBSERVED, Math.max(at, from - 1));
  const end = stop?.at ?? text.length;
  const start = skipFence(text, from);
  const json = text[start] === "{" ? readJson(text, start, work) : undefined;
  if (json) {
    const { args, wrong } = argumentsIn(json.value, work);
    return {
      calls: [{ name: said, args, ...(json.cut && { cut: true }), ...(wrong && { wrong }) }],
      end: Math.max(json.end, end),
    };
  }
  const { properties = {} } = tool.schema as { properties?: object };
  const keys = Object.keys(properties);
  const plain = text.slice(from, end).trim();
  if (keys.length > 1 || (keys.length === 1 && !plain)) return undefined;
  return { calls: [{ name: said, args: keys.length ? { [keys[0]!]: plain } : {}, raw: true }], end };
};
