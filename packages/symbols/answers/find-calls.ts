// find_calls: who calls a function, and what it calls, from a language server.
import path from "node:path";
import type { Called, Ctx, Result } from "zz";
import { plural } from "zz/text";
import { mayRead } from "../may-read.ts";
import type { SymbolSpot } from "../meaning/code-uses.ts";
import { atDesk, type Desk, locate, pointAt, textAt, toCodeUse, wake } from "../meaning/desk.ts";
import { isAt, showOthers } from "../meaning/references.ts";
import { capRows, MAX_ROWS, pathAndLine } from "./answer-rows.ts";
import { definitionsOf, nearestTo } from "./definitions-of.ts";
import { noteShown } from "./find-references.ts";
import { freshIndex, type State, type SymbolQuery } from "./tool-state.ts";

export async function findCalls(
  state: State,
  { callees, ...args }: SymbolQuery & { callees?: boolean },
  ctx: Ctx,
): Promise<Result> {
  const direction = callees ? "callees" : "callers";
  wake(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const { wanted, scriptDefinitions, others } = definitionsOf(index, args, ctx);
  const defined = [
    ...scriptDefinitions,
    ...others.map(({ path, line }) => ({ path, line, name: wanted })),
  ];
  const cannot = (reason: string) =>
    new Error(`Cannot tell the ${direction} of '${args.symbol}': ${reason}`);
  const [target, ...furtherDefined] = defined;
  if (!target) throw cannot(`nothing has that name. ${nearestTo(index, wanted, ctx)}`);
  if (furtherDefined.length)
    throw cannot(
      `${defined.length} things are: ${defined.map(pathAndLine).join(", ")}. Choose one by path and line.`,
    );
  let name = "";
  const functions = await atDesk(
    state,
    index,
    target.path,
    ctx,
    async (desk) => {
      name = desk.server.name;
      return callsAtDesk(desk, target, direction, ctx);
    },
    (reason) => {
      throw cannot(`${reason}. find_references shows the places.`);
    },
  );
  noteShown(
    functions.flatMap(({ calls }) => calls),
    ctx,
  );
  const rows = functions.flatMap(({ name, at: { path, line }, calls }) => [
    name.endsWith(path) ? `${path}, outside of functions:` : `${name} (${path}:${line}):`,
    ...new Set(calls.map((call) => `  ${call.path}:${call.line}: ${call.text}`)),
  ]);
  const none =
    direction === "callers"
      ? `${name} knows nothing here that calls it.`
      : `${name} knows nothing that it calls.`;
  const head = `${plural(functions.length, direction.slice(0, -1))} of ${args.symbol} (${target.path}:${target.line}):`;
  return {
    text: functions.length ? `${head}\n${capRows(rows, 2 * MAX_ROWS, "rows")}` : none,
    data: functions,
  };
}

/** Who calls it, or what it calls, as far as that may be read. */
async function callsAtDesk(
  desk: Desk,
  target: SymbolSpot,
  direction: "callers" | "callees",
  ctx: Ctx,
) {
  const point = await locate(desk, target);
  // some servers know just what they were shown
  if (direction === "callers") await showOthers(desk, target);
  const called = await desk.server[direction](point).catch((error: Error) => {
    if (direction === "callers" || !/cannot tell/.test(error.message)) throw error;
    return calledIn(desk, target);
  });
  const readable = called.filter(
    ({ path, from }) => mayRead(ctx, path) && from.every((spot) => mayRead(ctx, spot.path)),
  );
  return Promise.all(
    readable.map(async ({ name, from, ...spot }) => ({
      name,
      at: await toCodeUse(desk, spot),
      calls: await Promise.all(from.map((callSpot) => toCodeUse(desk, callSpot))),
    })),
  );
}

/** What a function calls, by what each name with parentheses means: older servers cannot tell. */
async function calledIn(desk: Desk, { path: file, line, name }: SymbolSpot): Promise<Called[]> {
  const { text, rows, facts } = await textAt(desk, file);
  const { end = line } =
    facts?.symbols.find((symbol) => symbol.line === line && symbol.name === name) ?? {};
  const from = rows[line - 1]!;
  const calledBySpot = new Map<string, Called>();
  for (const { 0: word, index } of text.slice(from, rows[end]).matchAll(CALLED)) {
    const point = await pointAt(desk, file, from + index);
    const [spot] = await desk.server.definition(point);
    if (!spot || path.isAbsolute(spot.path) || isAt(spot, point)) continue;
    const key = `${spot.path}:${spot.line}:${spot.character}`;
    const called = calledBySpot.get(key) ?? { ...spot, name: word, from: [] };
    called.from.push({
      ...point,
      endLine: point.line,
      endCharacter: point.character + word.length,
    });
    calledBySpot.set(key, called);
  }
  return [...calledBySpot.values()];
}
const CALLED = /[\p{L}_][\p{L}\p{N}_]*(?=\s*\()/gu;
