// find_calls: who calls a function, and what it calls, from a language server.
import path from "node:path";
import type { Called, Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { SymbolSpot } from "../meaning/code-uses.ts";
import {
  atDesk,
  type Desk,
  locate,
  pointAt,
  startServerEarly,
  textAt,
  toCodeUse,
} from "../meaning/desk.ts";
import { isAt, showOthers } from "../meaning/references.ts";
import { capRows, MAX_ROWS, pathAndLine } from "./answer-rows.ts";
import { definitionsOf, nearestTo, spotsOf } from "./definitions-of.ts";
import { noteShown } from "./find-references.ts";
import { freshIndex, type State, type SymbolQuery } from "./tool-state.ts";

export async function findCalls(
  state: State,
  { callees, ...args }: SymbolQuery & { callees?: boolean },
  ctx: Ctx,
): Promise<Result> {
  const direction = callees ? "callees" : "callers";
  startServerEarly(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const { wanted, scriptDefinitions, others } = definitionsOf(index, args, ctx);
  const defined = [...scriptDefinitions, ...spotsOf(others, wanted)];
  const makeError = (reason: string) =>
    new Error(`Cannot tell the ${direction} of '${args.symbol}': ${reason}`);
  const [targetSpot, ...furtherDefined] = defined;
  if (!targetSpot) throw makeError(`nothing has that name. ${nearestTo(index, wanted, ctx)}`);
  if (furtherDefined.length)
    throw makeError(
      `${defined.length} things are: ${defined.map(pathAndLine).join(", ")}. ` +
        "Choose one by path and line.",
    );
  let serverName = "";
  const functions = await atDesk(
    state,
    index,
    targetSpot.path,
    ctx,
    async (desk) => {
      serverName = desk.server.name;
      return callsAtDesk(desk, targetSpot, direction);
    },
    (reason) => {
      throw makeError(`${reason}. find_references shows the places.`);
    },
  );
  noteShown(
    functions.flatMap(({ calls }) => calls),
    ctx,
  );
  const answerRows = functions.flatMap(({ name, at: { path, line }, calls }) => [
    name.endsWith(path) ? `${path}, outside of functions:` : `${name} (${path}:${line}):`,
    ...new Set(calls.map((callSite) => `  ${callSite.path}:${callSite.line}: ${callSite.text}`)),
  ]);
  const emptyAnswer =
    direction === "callers"
      ? `${serverName} knows nothing here that calls it.`
      : `${serverName} knows nothing that it calls.`;
  const headline =
    `${plural(functions.length, direction.slice(0, -1))} of ${args.symbol} ` +
    `(${targetSpot.path}:${targetSpot.line}):`;
  return {
    text: functions.length
      ? `${headline}\n${capRows(answerRows, 2 * MAX_ROWS, "rows")}`
      : emptyAnswer,
    data: functions,
  };
}

/** Who calls it, or what it calls, as far as that may be read. */
async function callsAtDesk(desk: Desk, targetSpot: SymbolSpot, direction: "callers" | "callees") {
  const targetPoint = await locate(desk, targetSpot);
  // some servers know just what they were shown
  if (direction === "callers") await showOthers(desk, targetSpot);
  const relatedCalls = await desk.server[direction](targetPoint).catch((error: Error) => {
    if (direction === "callers" || !/cannot tell/.test(error.message)) throw error;
    return calledIn(desk, targetSpot);
  });
  const readable = relatedCalls.filter(
    ({ path, from }) => desk.mayShow(path) && from.every((callSpot) => desk.mayShow(callSpot.path)),
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
async function calledIn(desk: Desk, { path: filePath, line, name }: SymbolSpot): Promise<Called[]> {
  const { text, rows, facts } = await textAt(desk, filePath);
  const { end = line } =
    facts?.symbols.find((symbol) => symbol.line === line && symbol.name === name) ?? {};
  const bodyStart = rows[line - 1]!;
  const calledBySpot = new Map<string, Called>();
  for (const { 0: calledName, index } of text.slice(bodyStart, rows[end]).matchAll(CALLED_NAME)) {
    const callPoint = await pointAt(desk, filePath, bodyStart + index);
    const [definitionSpot] = await desk.server.definition(callPoint);
    if (!definitionSpot || path.isAbsolute(definitionSpot.path) || isAt(definitionSpot, callPoint))
      continue;
    const spotKey = `${definitionSpot.path}:${definitionSpot.line}:${definitionSpot.character}`;
    const calledEntry = calledBySpot.get(spotKey) ?? {
      ...definitionSpot,
      name: calledName,
      from: [],
    };
    calledEntry.from.push({
      ...callPoint,
      endLine: callPoint.line,
      endCharacter: callPoint.character + calledName.length,
    });
    calledBySpot.set(spotKey, calledEntry);
  }
  return [...calledBySpot.values()];
}
const CALLED_NAME = /[\p{L}_][\p{L}\p{N}_]*(?=\s*\()/gu;
