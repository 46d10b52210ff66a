// Recognizes objects that are calls: what models call the name and the arguments, and what they
// wrap them in.

import { typeOf } from "./coerce.ts";
import { type Json, readJson, skipSpace, type Work, wholeJson } from "./json.ts";
import { matchAt } from "./search-text.ts";
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

type Obj = Record<string, unknown>;
const isObject = (value: unknown): value is Obj => typeOf(value) === "object";

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
  if (
    nameKey &&
    (argsKey || Object.keys(value).every((key) => key === nameKey || SIDE_KEYS.test(key)))
  ) {
    if (!argsKey && !strong) return undefined;
    const otherKeys = Object.keys(value).filter(
      (key) => key !== nameKey && key !== argsKey && !SIDE_KEYS.test(key),
    );
    if (otherKeys.length && !strong) return undefined;
    const name = value[nameKey] as string;
    if (/^directly[-_]answer$/.test(name)) return undefined;
    const { args, wrong } = argumentsIn(argsKey && value[argsKey], source.work);
    const cut =
      json.cut && (!argsKey || json.open.has(value[argsKey]) || !isWhole(value[argsKey], json));
    return [{ name, args, id: readCallId(value), cut, wrong }];
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

/**
 * Whether arguments were whole when the text ended: an object that was closed, or none that began
 * after it.
 */
function isWhole(args: unknown, parsedJson: Json): boolean {
  return !parsedJson.cut || (isObject(args) && !parsedJson.open.has(args));
}

function readCallId({ id, tool_call_id, call_id }: Obj): string | undefined {
  const callId = id ?? call_id ?? tool_call_id;
  return typeof callId === "string" && callId && callId.length <= 100 ? callId : undefined;
}

/** Reads arguments: an object, or its JSON, encoded up to twice; {} if there is nothing. */
export function argumentsIn(encoded: unknown, work: Work): { args: Obj; wrong?: string } {
  let decodedValue = encoded;
  for (let i = 0; i < 2 && typeof decodedValue === "string"; i++) {
    if (!decodedValue.trim()) return { args: {} };
    decodedValue = wholeJson(decodedValue, work);
  }
  if (decodedValue === undefined && (encoded === undefined || encoded === "")) return { args: {} };
  if (decodedValue === null) return { args: {} };
  if (isObject(decodedValue)) return { args: decodedValue };
  return { args: {}, wrong: "they are not a JSON object" };
}

/** Reads the arguments of a call whose name is known. bare: strings may lack quotes. */
export function readArguments(
  { text, work }: Source,
  name: string,
  jsonStart: number,
  bare = false,
): { call: Raw; end: number } | undefined {
  const parsedJson = readJson(text, jsonStart, work, bare);
  return (
    parsedJson && {
      call: { name, ...argumentsIn(parsedJson.value, work), cut: parsedJson.cut },
      end: parsedJson.end,
    }
  );
}

const FENCE_START = /```[a-z_]{0,20}[ \t]{0,10}\r?\n?/y;
const BETWEEN = /[\s;,}\]]{0,200}/y;

/** Skips white space and the beginning of a fence. */
export function skipFence(sourceText: string, startIndex: number): number {
  const textStart = skipSpace(sourceText, startIndex);
  const fenceMatch = matchAt(FENCE_START, sourceText, textStart);
  return fenceMatch ? skipSpace(sourceText, textStart + fenceMatch[0].length) : textStart;
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
    nextIndex = matchAt(BETWEEN, text, callsEnd)![0].length + callsEnd;
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
  let trailEnd = callsEnd + matchAt(TRAILING, sourceText, callsEnd)![0].length;
  if (matchAt(FENCE_END, sourceText, trailEnd)) {
    callsEnd = trailEnd + 3;
    trailEnd = callsEnd + matchAt(TRAILING, sourceText, callsEnd)![0].length;
  }
  const closeMatch = closers && matchAt(closers, sourceText, trailEnd);
  if (closeMatch) return trailEnd + closeMatch[0].length;
  return trailEnd === sourceText.length ? trailEnd : callsEnd;
}

/** The longest name of an offered tool that a text begins with. */
export function longestName(candidateText: string, tools: readonly Tool[]): string | undefined {
  const matchingNames = tools
    .filter(({ name }) => candidateText.startsWith(name))
    .map(({ name }) => name);
  return matchingNames.sort((first, second) => second.length - first.length)[0];
}
