// Calls in Python's syntax: [name(key="value", …), …]. They are read as literals, never run.
import { skipCloser } from "./call-shapes.ts";
import { toolFor } from "./coerce.ts";
import { readLiteral, setField, skipSpace } from "./json.ts";
import { matchAt } from "./search-text.ts";
import { MAX_CALLS_PER_MARK, type Piece, type Raw, type Source } from "./types.ts";

const CALL_HEAD = /((?:[A-Za-z_][\w]{0,99}\.){0,5}[A-Za-z_][\w-]{0,99})\s{0,10}\(/y;
const KEYWORD = /([A-Za-z_]\w{0,99})\s{0,10}=(?!=)/y;

/** Reads a list of calls; with `many`, also calls without a list, one per line. */
export function readPythonic(
  source: Source,
  startIndex: number,
  options: { list: boolean; many?: boolean },
): Piece | undefined {
  const { text } = source;
  const calls: Raw[] = [];
  let nextIndex = skipSpace(text, startIndex);
  if (options.list) {
    if (text[nextIndex] !== "[") return undefined;
    nextIndex = skipSpace(text, nextIndex + 1);
  }
  for (; calls.length < MAX_CALLS_PER_MARK; ) {
    const parsedCall = readCall(source, nextIndex);
    if (!parsedCall) break;
    calls.push(parsedCall.call);
    nextIndex = skipSpace(text, parsedCall.end);
    if (parsedCall.call.cut) return { calls, end: text.length };
    if (options.list && text[nextIndex] === ",") nextIndex = skipSpace(text, nextIndex + 1);
    else if (options.list || !options.many) break;
    else if (text[nextIndex] === ";") nextIndex = skipSpace(text, nextIndex + 1);
  }
  if (!calls.length) return undefined;
  if (!options.list) return { calls, end: nextIndex };
  if (text[nextIndex] === "]") return { calls, end: nextIndex + 1 };
  // all calls are whole; only the list was not closed
  return nextIndex >= text.length ? { calls, end: nextIndex } : undefined;
}

/** Reads `name(…)`, also as `x = name(…)` and `print(name(…))`. */
function readCall(source: Source, startIndex: number): Read | undefined {
  const { text } = source;
  const assigned = matchAt(KEYWORD, text, startIndex);
  let nextIndex = assigned ? skipSpace(text, startIndex + assigned[0].length) : startIndex;
  let headMatch = matchAt(CALL_HEAD, text, nextIndex);
  const isPrinted = headMatch?.[1] === "print" && !toolFor("print", source.tools);
  if (isPrinted) {
    nextIndex = skipSpace(text, nextIndex + headMatch![0].length);
    headMatch = matchAt(CALL_HEAD, text, nextIndex);
  }
  if (!headMatch) return undefined;
  const parsedCall = readArguments(source, headMatch[1]!, nextIndex + headMatch[0].length);
  if (!parsedCall) return undefined;
  const { call } = parsedCall;
  const end = isPrinted ? skipCloser(/\)/y, text, parsedCall.end) : parsedCall.end;
  source.work.left -= end - startIndex;
  return source.work.left > 0 ? { call, end } : undefined;
}

type Read = { call: Raw; end: number };
function readArguments(source: Source, name: string, bodyStart: number): Read | undefined {
  const { text } = source;
  const args: Raw["args"] = {};
  const positional: unknown[] = [];
  const cutCall = { call: { name, args, cut: true }, end: text.length };
  for (let nextIndex = bodyStart; ; ) {
    nextIndex = skipSpace(text, nextIndex);
    if (nextIndex >= text.length) return cutCall;
    if (text[nextIndex] === ")") {
      const wrong = placeArgs(source, name, positional, args);
      return { call: { name, args, wrong }, end: nextIndex + 1 };
    }
    const keywordMatch = matchAt(KEYWORD, text, nextIndex);
    const literal = readLiteral(text, nextIndex + (keywordMatch?.[0].length ?? 0));
    if (!literal) return undefined;
    if (keywordMatch) setField(args, keywordMatch[1]!, literal.value);
    else positional.push(literal.value);
    if (literal.cut) return cutCall;
    nextIndex = skipSpace(text, literal.end);
    if (text[nextIndex] === ",") nextIndex++;
    else if (nextIndex < text.length && text[nextIndex] !== ")") return undefined;
  }
}

/**
 * Assigns values without names: to the one required parameter first, then in the order of the
 * schema.
 */
function placeArgs(
  { tools }: Source,
  toolName: string,
  unnamedValues: unknown[],
  args: Raw["args"],
): string | undefined {
  if (!unnamedValues.length) return undefined;
  const { properties = {}, required = [] } = (toolFor(toolName, tools)?.schema ?? {}) as {
    properties?: object;
    required?: string[];
  };
  const parameterNames = Object.keys(properties);
  if (required.length !== 1 && !(parameterNames.length === 1 && unnamedValues.length === 1))
    return "its arguments have no names";
  const freeParameters = [
    ...required,
    ...parameterNames.filter((parameter) => !required.includes(parameter)),
  ].filter((parameter) => !Object.hasOwn(args, parameter));
  if (unnamedValues.length > freeParameters.length)
    return "it has more arguments than the tool takes";
  for (const [i, unnamedValue] of unnamedValues.entries())
    setField(args, freeParameters[i]!, unnamedValue);
  return undefined;
}
