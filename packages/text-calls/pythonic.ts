// Calls in Python's syntax: [name(key="value", …), …]. They are read as literals, never run.
import { toolFor } from "./coerce.ts";
import { readLiteral, setField, skipSpace } from "./json.ts";
import { matchAt } from "./search-text.ts";
import { MAX_CALLS, type Piece, type Raw, type Source } from "./types.ts";

const HEAD = /((?:[A-Za-z_][\w]{0,99}\.){0,5}[A-Za-z_][\w-]{0,99})\s{0,10}\(/y;
const KEYWORD = /([A-Za-z_]\w{0,99})\s{0,10}=(?!=)/y;

/** Reads a list of calls; with `many`, also calls without a list, one per line. */
export function readPythonic(
  source: Source,
  index: number,
  options: { list: boolean; many?: boolean },
): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let next = skipSpace(text, index);
  if (options.list) {
    if (text[next] !== "[") return undefined;
    next = skipSpace(text, next + 1);
  }
  for (; calls.length < MAX_CALLS; ) {
    const call = readCall(source, next);
    if (!call) break;
    calls.push(call.call);
    next = skipSpace(text, call.end);
    if (call.call.cut) return { calls, end: text.length };
    if (options.list && text[next] === ",") next = skipSpace(text, next + 1);
    else if (options.list || !options.many) break;
    else if (text[next] === ";") next = skipSpace(text, next + 1);
  }
  if (!calls.length) return undefined;
  if (!options.list) return { calls, end: next };
  if (text[next] === "]") return { calls, end: next + 1 };
  // all calls are whole; only the list was not closed
  return next >= text.length ? { calls, end: next } : undefined;
}

/** Reads `name(…)`, also as `x = name(…)` and `print(name(…))`. */
export function readCall(source: Source, index: number): { call: Raw; end: number } | undefined {
  const { text } = source;
  const assigned = matchAt(KEYWORD, text, index);
  let next = assigned ? skipSpace(text, index + assigned[0].length) : index;
  let head = matchAt(HEAD, text, next);
  const isPrinted = head?.[1] === "print" && !toolFor("print", source.tools);
  if (isPrinted) {
    next = skipSpace(text, next + head![0].length);
    head = matchAt(HEAD, text, next);
  }
  if (!head) return undefined;
  const read = readArguments(source, head[1]!, next + head[0].length);
  if (!read) return undefined;
  const end =
    isPrinted && text[skipSpace(text, read.end)] === ")" ? skipSpace(text, read.end) + 1 : read.end;
  source.work.left -= end - index;
  return source.work.left > 0 ? { call: read.call, end } : undefined;
}

function readArguments(
  source: Source,
  name: string,
  from: number,
): { call: Raw; end: number } | undefined {
  const { text } = source;
  const args: Raw["args"] = {};
  const positional: unknown[] = [];
  const cut = { call: { name, args, cut: true }, end: text.length };
  for (let next = from; ; ) {
    next = skipSpace(text, next);
    if (next >= text.length) return cut;
    if (text[next] === ")") {
      const wrong = placeArgs(source, name, positional, args);
      return { call: { name, args, wrong }, end: next + 1 };
    }
    const key = matchAt(KEYWORD, text, next);
    const value = readLiteral(text, next + (key?.[0].length ?? 0));
    if (!value) return undefined;
    if (key) setField(args, key[1]!, value.value);
    else positional.push(value.value);
    if (value.cut) return cut;
    next = skipSpace(text, value.end);
    if (text[next] === ",") next++;
    else if (next < text.length && text[next] !== ")") return undefined;
  }
}

/**
 * Assigns values without names: to the one required parameter first, then in the order of the
 * schema.
 */
function placeArgs(
  { tools }: Source,
  name: string,
  values: unknown[],
  args: Raw["args"],
): string | undefined {
  if (!values.length) return undefined;
  const { properties = {}, required = [] } = (toolFor(name, tools)?.schema ?? {}) as {
    properties?: object;
    required?: string[];
  };
  const names = Object.keys(properties);
  if (required.length !== 1 && !(names.length === 1 && values.length === 1))
    return "its arguments have no names";
  const order = [...required, ...names.filter((parameter) => !required.includes(parameter))].filter(
    (parameter) => !Object.hasOwn(args, parameter),
  );
  if (values.length > order.length) return "it has more arguments than the tool takes";
  for (const [i, value] of values.entries()) setField(args, order[i]!, value);
  return undefined;
}
