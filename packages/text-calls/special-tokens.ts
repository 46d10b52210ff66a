// Calls after special tokens: Mistral, DeepSeek, Kimi, Granite, Command, Phi, InternLM, Gemma,
// gpt-oss and others.
import { anyOf } from "zz/text";
import { argumentsIn, readArguments, readObjects, skipCloser, skipFence } from "./call-shapes.ts";
import { toolFor } from "./coerce.ts";
import { skipSpace } from "./json.ts";
import { readPythonic } from "./pythonic.ts";
import { matchAt, skipMatch } from "./search-text.ts";
import { MAX_CALLS_PER_MARK, type Piece, type Raw, type Reader, type Source } from "./types.ts";

const LIST_END = anyOf(
  /<\|\/tool_calls?\|>|<\|tool_call_end\|>|<\|END_ACTION\|>|<\|action_end\|>/y,
  /<\|tools_suffix\|>|<\|python_end\|>|<\|e(?:om|ot)_id\|>/y,
  /<\/?function_calls?>|<\/TOOLCALL>|<\/tool_calls>/y,
);

/** Reads objects or a list of them after a marker, in JSON or in Python. */
export const readList: Reader = (source, _at, markerEnd) => {
  const { text } = source;
  const objects = readObjects(source, markerEnd, true, LIST_END);
  if (objects) return objects;
  const callStart = skipSpace(text, markerEnd);
  const codeStart = skipFence(text, callStart); // MiniCPM writes Python in a fence
  const isFencedCode = codeStart > callStart && text[codeStart] !== "[";
  const pythonCalls = isFencedCode
    ? readPythonic(source, codeStart, { list: false, many: true })
    : readPythonic(source, callStart, { list: true });
  if (!pythonCalls) return undefined;
  const { calls, end } = pythonCalls;
  return { calls, end: skipCloser(LIST_END, text, end, isFencedCode) };
};

/** `<|python_tag|>`: JSON, a built-in tool as name.call(…), or calls in Python. */
export const readPythonTag: Reader = (source, markerStart, markerEnd, marker) => {
  const listedCalls = readList(source, markerStart, markerEnd, marker);
  if (listedCalls) return listedCalls;
  const { text, tools } = source;
  const pythonCalls = readPythonic(source, markerEnd, {
    list: text[skipSpace(text, markerEnd)] === "[",
    many: true,
  });
  const bareCalls = pythonCalls?.calls.map((call) => ({
    ...call,
    name: call.name.replace(/\.call$/, ""),
  }));
  return pythonCalls && bareCalls!.every(({ name }) => toolFor(name, tools))
    ? { ...pythonCalls, calls: bareCalls! }
    : undefined;
};

/** Calls on a line each, as Olmo writes them; or objects. */
export const readLines: Reader = (source, markerStart, markerEnd, marker) => {
  const listedCalls = readList(source, markerStart, markerEnd, marker);
  if (listedCalls) return listedCalls;
  const pythonCalls = readPythonic(source, markerEnd, { list: false, many: true });
  if (!pythonCalls) return undefined;
  const end = skipCloser(/<\/function_calls?>/y, source.text, pythonCalls.end);
  return { ...pythonCalls, end };
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
  startIndex: number,
  { head, begin, end, lead, bare, fence }: Named,
): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let callEnd = startIndex;
  let nextIndex = startIndex;
  for (; calls.length < MAX_CALLS_PER_MARK; nextIndex = callEnd) {
    nextIndex = skipAll(begin, text, nextIndex);
    const headMatch = matchAt(head, text, nextIndex);
    const [, toolName = "", id] = headMatch?.filter((group) => group !== undefined) ?? [];
    const parsedCall =
      headMatch &&
      readArguments(source, toolName, skipFence(text, nextIndex + headMatch[0].length), bare);
    if (!parsedCall) break;
    calls.push(...parsedCall.calls.map((call) => ({ ...call, id })));
    callEnd = skipAll(end, text, fence ? skipFence(text, parsedCall.end) : parsedCall.end);
    if (!begin) break;
  }
  if (calls.length) return { calls, end: callEnd };
  return lead && cutHead(source, skipAll(lead, text, nextIndex));
}

/** The index after all that a sticky pattern matches one after the other. */
function skipAll(pattern: RegExp | undefined, sourceText: string, startIndex: number): number {
  if (!pattern) return startIndex;
  for (let index = startIndex; ; ) {
    const nextIndex = skipMatch(pattern, sourceText, index);
    if (nextIndex === index) return index;
    index = nextIndex;
  }
}

/** A call whose text ended after the name, before the arguments. */
function cutHead({ text, tools }: Source, nameStart: number): Piece | undefined {
  const ending = text.slice(nameStart, nameStart + 300).trim();
  const name = /^[\w.:-]{1,200}/.exec(ending)?.[0] ?? "";
  const endsInName =
    text.length - nameStart < 300 &&
    toolFor(name, tools) &&
    !/[{\s]/.test(ending.replace(/\[ARGS\]$/, ""));
  return endsInName ? { calls: [{ name, args: {}, cut: true }], end: text.length } : undefined;
}

const CALL_ID = String.raw`(?:\[CALL_ID\]\s{0,5}([\w-]{1,60})\s{0,5})?`;
const MISTRAL: Named = {
  head: new RegExp(
    String.raw`\s{0,20}([A-Za-z_][\w.-]{0,199})\s{0,5}${CALL_ID}(?:\[ARGS\])?\s{0,20}(?=\{)`,
    "y",
  ),
  lead: /(?!)/y,
};
const TOOL_SEPARATOR = /<[｜|]tool(?:[▁_ ]|\\_)sep[｜|]>/.source;
const NAME_AFTER = /\s{0,5}([^\s<>{}`｜]{1,200})\s{0,20}/.source;
const NAME_BEFORE = /\s{0,5}([^\s<>{}`｜|]{1,200})\s{0,5}/.source;
const JSON_OR_FENCE = /(?=\{|```)/.source;
const DEEPSEEK: Named = {
  fence: true,
  begin: /\s{0,20}<[｜|]tool(?:[▁_ ]|\\_)calls?(?:(?:[▁_ ]|\\_)begin)?[｜|]>\s{0,20}/y,
  head: new RegExp(
    String.raw`(?:(?:function)?\s{0,5}${TOOL_SEPARATOR}${NAME_AFTER}|` +
      String.raw`${NAME_BEFORE}${TOOL_SEPARATOR}\s{0,20})${JSON_OR_FENCE}`,
    "y",
  ),
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

const ARGUMENT_MARK = /(?:\[ARGS\]\s{0,5}|<\|message\|>|<\|constrain\|>json<\|message\|>)?/.source;
const UNMARKED: Named = {
  begin: /\s{1,20}/y,
  head: new RegExp(
    String.raw`((?:functions?\.)?[A-Za-z_][\w.-]{0,99}(?::\d{1,6})?)\s{0,5}${ARGUMENT_MARK}(?=\{)`,
    "y",
  ),
  end: /\s{0,20}(?:<\/function>|<\|tool_call_end\|>|<tool_call\|>)/y,
};

/** `NAME{…}`, once or several times: calls of Mistral, Kimi or Gemma whose marks were lost. */
export function readUnmarked(source: Source, startIndex: number): Piece | undefined {
  const isGemma = matchAt(/\s{0,20}call:/y, source.text, startIndex);
  const piece = readNamed(
    source,
    startIndex,
    isGemma ? { ...GEMMA, begin: UNMARKED.begin!, lead: /(?!)/y } : UNMARKED,
  );
  if (!piece?.calls.every(({ name }) => toolFor(name, source.tools))) return undefined;
  const addCallId = (call: Raw) =>
    /^functions\..*:\d+$/.test(call.name) ? { ...call, id: call.name } : call;
  return { ...piece, calls: piece.calls.map(addCallId) };
}

export const readMistral: Reader = (source, _at, markerEnd) => {
  const callStart = skipSpace(source.text, markerEnd);
  if (source.text[callStart] === "[" || source.text[callStart] === "{")
    return readObjects(source, callStart, true, /\[\/TOOL_CALLS\]|<\/s>/y);
  return readNamed(source, markerEnd, MISTRAL);
};

/** `[ARGS]` whose opening mark was lost: the name is the word before it. */
export const readArgs: Reader = (source, markerStart, markerEnd) => {
  const toolName = /[A-Za-z_][\w.-]{0,199}$/.exec(
    source.text.slice(Math.max(0, markerStart - 200), markerStart),
  )?.[0];
  const piece = toolName && namedCall(source, toolName, markerEnd);
  return piece ? { ...piece, start: markerStart - toolName.length } : undefined;
};

/** The call of an offered tool, by the arguments that follow. */
const namedCall = (source: Source, toolName: string, bodyStart: number) =>
  toolFor(toolName, source.tools) &&
  readArguments(source, toolName, skipSpace(source.text, bodyStart));

export const readDeepSeek: Reader = (source, markerStart) =>
  readNamed(source, markerStart, DEEPSEEK);

/** Kimi's mark, which some models write instead of DeepSeek's. Its header is the id, too. */
export const readCallBegin: Reader = (source, markerStart, markerEnd) => {
  if (matchAt(/[^<]{0,200}<[｜|]tool(?:[▁_ ]|\\_)sep/y, source.text, markerEnd))
    return readNamed(source, markerStart, DEEPSEEK);
  const piece = readNamed(source, markerEnd, KIMI);
  const [firstCall] = piece?.calls ?? [];
  const { name, arguments: encoded } = firstCall?.args ?? {};
  if (!firstCall || toolFor(firstCall.name, source.tools) || typeof name !== "string") return piece;
  return {
    ...piece!,
    calls: [{ ...firstCall, name, wrong: undefined, ...argumentsIn(encoded, source.work) }],
  };
};

export const readGemma: Reader = (source, _at, markerEnd) => {
  const nameStart = skipAll(/\s{1,20}|call:/y, source.text, markerEnd);
  const pythonCalls = /^[A-Za-z_][\w.-]{0,99}\s{0,5}\(/.test(
    source.text.slice(nameStart, nameStart + 110),
  )
    ? readPythonic(source, nameStart, { list: false })
    : undefined;
  return pythonCalls
    ? { ...pythonCalls, end: skipAll(GEMMA.end, source.text, pythonCalls.end) }
    : readNamed(source, markerEnd, GEMMA);
};

// ── gpt-oss ──

const RECIPIENT_FIELD = String.raw`to=([^\s<]{1,200})`;
const HARMONY_HEAD = new RegExp(
  String.raw`(?:<\|start\|>[a-z]{1,20})?(?:\s{0,5}${RECIPIENT_FIELD})?\s{0,5}<\|channel\|>\s{0,5}` +
    String.raw`([a-z]{1,20})(?:\s{1,5}${RECIPIENT_FIELD})?\s{0,5}` +
    String.raw`(?:<\|constrain\|>[a-z]{0,20}|json|code)?\s{0,5}<\|message\|>`,
  "y",
);
const HARMONY_END = /<\|(?:end|call|return|start|channel)\|>/g;

/**
 * One segment: a call if it names a recipient, thinking if it is analysis. Anything else is for the
 * person.
 */
export const readHarmony: Reader = (source, markerStart) => {
  const { text } = source;
  const headMatch = matchAt(HARMONY_HEAD, text, markerStart);
  if (!headMatch) return undefined;
  const bodyStart = markerStart + headMatch[0].length;
  const recipient = headMatch[1] ?? headMatch[3];
  if (recipient && toolFor(recipient, source.tools)) {
    const jsonStart = skipSpace(text, bodyStart);
    const parsedCall = readArguments(source, recipient, jsonStart);
    if (!parsedCall)
      return jsonStart < text.length
        ? undefined
        : { calls: [{ name: recipient, args: {}, cut: true }], end: text.length };
    const endMatch = source.next(HARMONY_END, parsedCall.end);
    const isCallEnd = endMatch && text.startsWith("<|call|>", endMatch.at);
    return { ...parsedCall, end: (isCallEnd ? endMatch.end : endMatch?.at) ?? text.length };
  }
  const end = source.next(HARMONY_END, bodyStart)?.at ?? text.length;
  return headMatch[2] === "analysis" ? { calls: [], end } : undefined;
};

/** Harmony's format without its special tokens. */
const BARE_TO = new RegExp(
  String.raw`(?:^|assistant)\s{0,5}(?:(?:commentary|analysis|final)\s{0,5})?` +
    String.raw`to=(functions\.[\w.-]{1,200})\s{0,5}` +
    String.raw`(?:commentary\s{0,5})?(?:json|code)?\s{0,20}(?=\{)`,
  "g",
);
export function readBareHarmony(source: Source) {
  const { text } = source;
  if (!text.includes("to=functions.")) return undefined;
  BARE_TO.lastIndex = 0;
  const calls: Raw[] = [];
  let firstStart = -1;
  let end = 0;
  for (
    let headMatch = BARE_TO.exec(text);
    headMatch && calls.length < MAX_CALLS_PER_MARK;
    headMatch = BARE_TO.exec(text)
  ) {
    const parsedCall = readArguments(source, headMatch[1]!, BARE_TO.lastIndex);
    if (!parsedCall) continue;
    calls.push(...parsedCall.calls);
    if (firstStart < 0) firstStart = headMatch.index;
    end = BARE_TO.lastIndex = parsedCall.end;
  }
  if (!calls.length) return undefined;
  const textBefore = text.slice(0, firstStart);
  if (textBefore && !/^(analysis|commentary)/.test(textBefore)) return undefined;
  const isThinking = textBefore.startsWith("analysis");
  return {
    calls,
    end,
    start: isThinking ? 0 : firstStart,
    thinking: isThinking ? textBefore.slice("analysis".length) : "",
  };
}

// ── Functionary, ReAct ──

export const readFunctionary: Reader = (source, _at, markerEnd, marker) =>
  namedCall(source, marker.replace(/^>{3}|\s{1,100}$/g, ""), markerEnd);

const ACTION_LINE = /Action:[ \t]{0,10}([^\n]{1,300})\n/y;
const INPUT_LABEL = /\s{0,20}Action Input:[ \t]{0,10}/y;
const OBSERVED = /\n\s{0,10}(?:Observation|Thought|Final Answer):/g;

/**
 * `Action: NAME`, `Action Input:` with JSON, or text for the one parameter. Command-R: `Action:`
 * and a fenced list.
 */
export const readAction: Reader = (source, markerStart, markerEnd) => {
  const { text, tools } = source;
  const fenceMatch = matchAt(/\s{0,20}```(?:json)?\s{0,20}(?=\[)/y, text, markerEnd);
  if (fenceMatch) return readObjects(source, markerEnd + fenceMatch[0].length, true);
  const headMatch = matchAt(ACTION_LINE, text, markerStart);
  if (!headMatch) return undefined;
  const actionName = headMatch[1]!.trim().replace(/^[`"'*[]+|[`"'*\]]+$/g, "");
  const namedTool = toolFor(actionName, tools);
  const nextIndex = markerStart + headMatch[0].length;
  const inputMatch = matchAt(INPUT_LABEL, text, nextIndex);
  if (!inputMatch && namedTool && actionName.includes("("))
    return readPythonic(source, skipSpace(text, markerEnd), { list: false });
  if (!namedTool || !inputMatch || actionName.includes("(")) return undefined;
  const inputStart = nextIndex + inputMatch[0].length;
  const stopMatch = source.next(OBSERVED, Math.max(markerStart, inputStart - 1));
  const end = stopMatch?.at ?? text.length;
  const jsonStart = skipFence(text, inputStart);
  const parsedCall =
    text[jsonStart] === "{" ? readArguments(source, actionName, jsonStart) : undefined;
  if (parsedCall) return { ...parsedCall, end: Math.max(parsedCall.end, end) };
  const { properties = {} } = namedTool.schema as { properties?: object };
  const parameterNames = Object.keys(properties);
  const plainInput = text.slice(inputStart, end).trim();
  if (parameterNames.length > 1 || (parameterNames.length === 1 && !plainInput)) return undefined;
  const args = parameterNames.length ? { [parameterNames[0]!]: plainInput } : {};
  return { calls: [{ name: actionName, args, raw: true }], end };
};
