// Recognizes objects that are calls: what models call the name and the arguments, and what they
// wrap them in.

import { typeOf } from "./coerce.ts";
import { type Json, readJson, skipSpace, type Work, wholeJson } from "./json.ts";
import { matchAt } from "./search-text.ts";
import { MAX_CALLS, type Piece, type Raw, type Source, type Tool } from "./types.ts";

const NAMES = ["name", "tool_name", "tool", "function", "action", "recipient_name"];
const ARGUMENTS = [
  "arguments",
  "parameters",
  "args",
  "input",
  "tool_input",
  "action_input",
  "params",
];
const BESIDE = /^(id|type|tool_call_id|call_id|index|thought|thoughts|reason|reasoning)$/;

type Obj = Record<string, unknown>;
const isObj = (value: unknown): value is Obj => typeOf(value) === "object";

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
      .slice(0, MAX_CALLS)
      .map((element) => callsIn(element, json, source, strong, depth + 1));
    const calls = callLists.filter((list) => list !== undefined).flat();
    return value.length && calls.length && (strong || callLists.every(Boolean)) ? calls : undefined;
  }
  if (!isObj(value)) return undefined;
  const only = (key: string) =>
    Object.keys(value).every((field) => field === key || BESIDE.test(field) || field === "content");
  if (Array.isArray(value.tool_calls) && only("tool_calls"))
    return callsIn(value.tool_calls, json, source, strong, depth + 1);
  if (isObj(value.tool_call) && only("tool_call"))
    return callsIn(value.tool_call, json, source, strong, depth + 1);
  if (isObj(value.function)) {
    const inner = callsIn(value.function, json, source, strong, depth + 1);
    return inner?.map((call) => ({ ...call, id: call.id ?? idOf(value) }));
  }
  const nameKey = NAMES.find((key) => typeof value[key] === "string");
  const argsKey = ARGUMENTS.find((key) => Object.hasOwn(value, key));
  if (
    nameKey &&
    (argsKey || Object.keys(value).every((key) => key === nameKey || BESIDE.test(key)))
  ) {
    if (!argsKey && !strong) return undefined;
    const others = Object.keys(value).filter(
      (key) => key !== nameKey && key !== argsKey && !BESIDE.test(key),
    );
    if (others.length && !strong) return undefined;
    const name = value[nameKey] as string;
    if (/^directly[-_]answer$/.test(name)) return undefined;
    const { args, wrong } = argumentsIn(argsKey && value[argsKey], source.work);
    const cut =
      json.cut && (!argsKey || json.open.has(value[argsKey]) || !isWhole(value[argsKey], json));
    return [{ name, args, id: idOf(value), cut, wrong }];
  }
  const [key = "", ...furtherKeys] = Object.keys(value);
  if (
    furtherKeys.length ||
    !isObj(value[key]) ||
    !source.tools.some((tool) => tool.name === key && (strong || !tool.foreign))
  )
    return undefined;
  return [{ name: key, args: value[key], cut: json.cut && json.open.has(value[key]) }];
}

/**
 * Whether arguments were whole when the text ended: an object that was closed, or none that began
 * after it.
 */
function isWhole(args: unknown, json: Json): boolean {
  return !json.cut || (isObj(args) && !json.open.has(args));
}

function idOf({ id, tool_call_id, call_id }: Obj): string | undefined {
  const callId = id ?? call_id ?? tool_call_id;
  return typeof callId === "string" && callId && callId.length <= 100 ? callId : undefined;
}

/** Reads arguments: an object, or its JSON, encoded up to twice; {} if there is nothing. */
export function argumentsIn(encoded: unknown, work: Work): { args: Obj; wrong?: string } {
  let value = encoded;
  for (let i = 0; i < 2 && typeof value === "string"; i++) {
    if (!value.trim()) return { args: {} };
    value = wholeJson(value, work);
  }
  if (value === undefined && (encoded === undefined || encoded === "")) return { args: {} };
  if (value === null) return { args: {} };
  if (isObj(value)) return { args: value };
  return { args: {}, wrong: "they are not a JSON object" };
}

/** Reads the arguments of a call whose name is known. bare: strings may lack quotes. */
export function readArguments(
  { text, work }: Source,
  name: string,
  index: number,
  bare = false,
): { call: Raw; end: number } | undefined {
  const json = readJson(text, index, work, bare);
  return json && { call: { name, ...argumentsIn(json.value, work), cut: json.cut }, end: json.end };
}

const FENCE = /```[a-z_]{0,20}[ \t]{0,10}\r?\n?/y;
const BETWEEN = /[\s;,}\]]{0,200}/y;

/** Skips white space and the beginning of a fence. */
export function skipFence(text: string, index: number): number {
  const start = skipSpace(text, index);
  const fence = matchAt(FENCE, text, start);
  return fence ? skipSpace(text, start + fence[0].length) : start;
}

// calls in Python's syntax, which need not be searched for objects
const PYTHON = /^\[\s{0,10}[A-Za-z_]/;

/** Reads objects and lists one after another, and what closes them. */
export function readObjects(
  source: Source,
  index: number,
  strong: boolean,
  closers?: RegExp,
): Piece | undefined {
  const { text, work } = source;
  const calls: Raw[] = [];
  let end = index;
  let next = skipFence(text, index);
  if (PYTHON.test(text.slice(next, next + 20))) return undefined;
  for (let i = 0; i < MAX_CALLS; i++) {
    const json = readJson(text, next, work);
    if (!json) break;
    const objectCalls = callsIn(json.value, json, source, strong);
    if (!objectCalls) {
      if (calls.length) break;
      return undefined;
    }
    calls.push(...objectCalls);
    end = json.end;
    next = matchAt(BETWEEN, text, end)![0].length + end;
    if (text[next] !== "{" && text[next] !== "[") break;
    if (text.startsWith("[TOOL", next)) break;
  }
  if (!calls.length) return undefined;
  return { calls, end: skipClosers(text, end, closers) };
}

const TRAIL = /(?:\s|[;.}\]]){0,60}/y;
const FENCE_END = /```(?!\w)/y;
/** Skips stray brackets, the end of a fence, and closing marks. */
function skipClosers(text: string, index: number, closers?: RegExp): number {
  let trail = index + matchAt(TRAIL, text, index)![0].length;
  if (matchAt(FENCE_END, text, trail)) {
    index = trail + 3;
    trail = index + matchAt(TRAIL, text, index)![0].length;
  }
  const closed = closers && matchAt(closers, text, trail);
  if (closed) return trail + closed[0].length;
  return trail === text.length ? trail : index;
}

/** The longest name of an offered tool that a text begins with. */
export function longestName(text: string, tools: readonly Tool[]): string | undefined {
  const fits = tools.filter(({ name }) => text.startsWith(name)).map(({ name }) => name);
  return fits.sort((a, b) => b.length - a.length)[0];
}
