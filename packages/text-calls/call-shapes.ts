// Recognizes objects that are calls: what models call the name and the arguments, and what they
// wrap them in.

import { isObject } from "zz/text";
import { type Json, readJson, skipSpace, type Work, wholeJson } from "./json.ts";
import { matchAt, skipMatch } from "./search-text.ts";
import { MAX_CALLS_PER_MARK, type Piece, type Raw, type Source, type Tool } from "./types.ts";

const NAME_KEYS = ["name", "tool_name", "tool", "function", "action", "recipient_name"];
const ARGUMENTS = [
  "arguments",
  "parameters",
  "args",
  "input",
  "tool_input",
  "action_input",
  "params",
];
const SIDE_KEYS = /^(id|type|tool_call_id|call_id|index|thought|thoughts|reason|reasoning)$/;

/**
 * The calls in a value; undefined if it is something else. strong: marks around it say that it is a
 * call.
 */
function callsIn(
  value: unknown,
  json: Json,
  source: Source,
  strong: boolean,
  depth = 0,
): Raw[] | undefined {
  if (depth > 4) return undefined;
  if (Array.isArray(value)) {
    const callLists = value
      .slice(0, MAX_CALLS_PER_MARK)
      .map((element) => callsIn(element, json, source, strong, depth + 1));
    const listedCalls = callLists.filter((callList) => callList !== undefined).flat();
    return value.length && listedCalls.length && (strong || callLists.every(Boolean))
      ? listedCalls
      : undefined;
  }
  if (!isObject(value)) return undefined;
  const hasOnly = (onlyKey: string) =>
    Object.keys(value).every(
      (field) => field === onlyKey || SIDE_KEYS.test(field) || field === "content",
    );
  if (Array.isArray(value.tool_calls) && hasOnly("tool_calls"))
    return callsIn(value.tool_calls, json, source, strong, depth + 1);
  if (isObject(value.tool_call) && hasOnly("tool_call"))
    return callsIn(value.tool_call, json, source, strong, depth + 1);
  if (isObject(value.function)) {
    const innerCalls = callsIn(value.function, json, source, strong, depth + 1);
    return innerCalls?.map((innerCall) => ({
      ...innerCall,
      id: innerCall.id ?? readCallId(value),
    }));
  }
  const nameKey = NAME_KEYS.find((candidate) => typeof value[candidate] === "string");
  const argsKey = ARGUMENTS.find((candidate) => Object.hasOwn(value, candidate));
  const hasOthers = Object.keys(value).some(
    (key) => key !== nameKey && key !== argsKey && !SIDE_KEYS.test(key),
  );
  if (nameKey && (argsKey || !hasOthers)) {
    const name = value[nameKey] as string;
    if ((!strong && (!argsKey || hasOthers)) || /^directly[-_]answer$/.test(name)) return undefined;
    const given = argsKey && value[argsKey];
    const isWhole = isObject(given) && !json.open.has(given);
    const id = readCallId(value);
    return [{ name, ...argumentsIn(given, source.work), id, cut: json.cut && !isWhole }];
  }
  const [key = "", ...furtherKeys] = Object.keys(value);
  if (
    furtherKeys.length ||
    !isObject(value[key]) ||
    !source.tools.some((tool) => tool.name === key && (strong || !tool.foreign))
  )
    return undefined;
  return [{ name: key, args: value[key], cut: json.cut && json.open.has(value[key]) }];
}

function readCallId({ id, tool_call_id, call_id }: Raw["args"]): string | undefined {
  const callId = id ?? call_id ?? tool_call_id;
  return typeof callId === "string" && callId && callId.length <= 100 ? callId : undefined;
}

/** Reads arguments: an object, or its JSON, encoded up to twice; {} if there is nothing. */
export function argumentsIn(encoded: unknown, work: Work): Pick<Raw, "args" | "wrong"> {
  let decodedValue = encoded;
  for (let i = 0; i < 2 && typeof decodedValue === "string"; i++) {
    if (!decodedValue.trim()) return { args: {} };
    decodedValue = wholeJson(decodedValue, work);
  }
  if (encoded === undefined || decodedValue === null) return { args: {} };
  if (isObject(decodedValue)) return { args: decodedValue };
  return { args: {}, wrong: "they are not a JSON object" };
}

/** Reads the arguments of a call whose name is known. bare: strings may lack quotes. */
export function readArguments(
  { text, work }: Source,
  name: string,
  jsonStart: number,
  bare = false,
): Piece | undefined {
  const parsedJson = readJson(text, jsonStart, work, bare);
  if (!parsedJson) return undefined;
  const { value, cut, end } = parsedJson;
  return { calls: [{ name, ...argumentsIn(value, work), cut }], end };
}

const FENCE_START = /```[a-z_]{0,20}[ \t]{0,10}\r?\n?/y;
const BETWEEN = /[\s;,}\]]{0,200}/y;

/** Skips white space and the beginning of a fence. */
export function skipFence(sourceText: string, startIndex: number): number {
  const textStart = skipSpace(sourceText, startIndex);
  return skipSpace(sourceText, skipMatch(FENCE_START, sourceText, textStart));
}

/** The index after the mark that closes what ended at an index, or that index. */
export function skipCloser(
  closer: RegExp,
  sourceText: string,
  index: number,
  mayBeFenced = false,
): number {
  const closeStart = (mayBeFenced ? skipFence : skipSpace)(sourceText, index);
  const closeEnd = skipMatch(closer, sourceText, closeStart);
  return closeEnd > closeStart ? closeEnd : index;
}

// calls in Python's syntax, which need not be searched for objects
const PYTHON_LIST = /^\[\s{0,10}[A-Za-z_]/;

/** Reads objects and lists one after another, and what closes them. */
export function readObjects(
  source: Source,
  startIndex: number,
  strong: boolean,
  closers?: RegExp,
): Piece | undefined {
  const { text, work } = source;
  const calls: Raw[] = [];
  let callsEnd = startIndex;
  let nextIndex = skipFence(text, startIndex);
  if (PYTHON_LIST.test(text.slice(nextIndex, nextIndex + 20))) return undefined;
  for (let i = 0; i < MAX_CALLS_PER_MARK; i++) {
    const parsedJson = readJson(text, nextIndex, work);
    if (!parsedJson) break;
    const objectCalls = callsIn(parsedJson.value, parsedJson, source, strong);
    if (!objectCalls) {
      if (calls.length) break;
      return undefined;
    }
    calls.push(...objectCalls);
    callsEnd = parsedJson.end;
    nextIndex = skipMatch(BETWEEN, text, callsEnd);
    if (text[nextIndex] !== "{" && text[nextIndex] !== "[") break;
    if (text.startsWith("[TOOL", nextIndex)) break;
  }
  if (!calls.length) return undefined;
  return { calls, end: skipClosers(text, callsEnd, closers) };
}

const TRAILING = /(?:\s|[;.}\]]){0,60}/y;
const FENCE_END = /```(?!\w)/y;
/** Skips stray brackets, the end of a fence, and closing marks. */
function skipClosers(sourceText: string, callsEnd: number, closers?: RegExp): number {
  let trailEnd = skipMatch(TRAILING, sourceText, callsEnd);
  if (matchAt(FENCE_END, sourceText, trailEnd)) {
    callsEnd = trailEnd + 3;
    trailEnd = skipMatch(TRAILING, sourceText, callsEnd);
  }
  const closedEnd = closers ? skipMatch(closers, sourceText, trailEnd) : trailEnd;
  return closedEnd > trailEnd || trailEnd === sourceText.length ? closedEnd : callsEnd;
}

/** The longest name of an offered tool that a text begins with. */
export function longestName(candidateText: string, tools: readonly Tool[]): string | undefined {
  return tools
    .map(({ name }) => name)
    .filter((name) => candidateText.startsWith(name))
    .sort((first, second) => second.length - first.length)[0];
}
