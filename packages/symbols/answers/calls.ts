// find_calls: who calls a function, and what it calls, from a language server.
import path from "node:path";
import type { Called, Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { At } from "../meaning/contract.ts";
import { atDesk, type Desk, locate, placeOf, pointAt, textAt, wake } from "../meaning/desk.ts";
import { isAt, showOthers } from "../meaning/references.ts";
import { mayRead } from "../project.ts";
import { definitionsOf, nearestTo, noteShown } from "./meaning.ts";
import { capped, MAX_ROWS, placeIn } from "./rows.ts";
import { freshIndex, type State, type SymbolQuery } from "./state.ts";

export async function calls(
  state: State,
  { callees, ...args }: SymbolQuery & { callees?: boolean },
  ctx: Ctx,
): Promise<Result> {
  const way = callees ? "callees" : "callers";
  wake(args.path, ctx);
  const index = await freshIndex(state, ctx);
  const { wanted, all, others } = definitionsOf(index, args, ctx);
  const defined = [...all, ...others.map(({ path, line }) => ({ path, line, name: wanted }))];
  const cannot = (why: string) => new Error(`Cannot tell the ${way} of '${args.symbol}': ${why}`);
  const [at, ...more] = defined;
  if (!at) throw cannot(`nothing has that name. ${nearestTo(index, wanted, ctx)}`);
  if (more.length)
    throw cannot(
      `${defined.length} things are: ${defined.map(placeIn).join(", ")}. Choose one by path and line.`,
    );
  let name = "";
  const found = await atDesk(
    state,
    index,
    at.path,
    ctx,
    async (desk) => {
      const point = await locate(desk, at);
      if (!callees) await showOthers(desk, at); // some servers know just what they were shown
      const called = await desk.server[way](point).catch((error: Error) => {
        if (!callees || !/cannot tell/.test(error.message)) throw error;
        return calledIn(desk, at);
      });
      name = desk.server.name;
      const seen = called.filter(
        ({ path, from }) => mayRead(ctx, path) && from.every((one) => mayRead(ctx, one.path)),
      );
      return Promise.all(
        seen.map(async ({ name, from, ...spot }) => ({
          name,
          at: await placeOf(desk, spot),
          calls: await Promise.all(from.map((one) => placeOf(desk, one))),
        })),
      );
    },
    (why) => {
      throw cannot(`${why}. find_references shows the places.`);
    },
  );
  noteShown(
    found.flatMap(({ calls }) => calls),
    ctx,
  );
  const rows = found.flatMap(({ name, at: { path, line }, calls }) => [
    name.endsWith(path) ? `${path}, outside of functions:` : `${name} (${path}:${line}):`,
    ...new Set(calls.map((one) => `  ${one.path}:${one.line}: ${one.text}`)),
  ]);
  const none =
    way === "callers"
      ? `${name} knows nothing here that calls it.`
      : `${name} knows nothing that it calls.`;
  const head = `${plural(found.length, way.slice(0, -1))} of ${args.symbol} (${at.path}:${at.line}):`;
  return {
    text: found.length ? `${head}\n${capped(rows, 2 * MAX_ROWS, "rows")}` : none,
    data: found,
  };
}

/** What a function calls, by what each name with parentheses means: older servers cannot tell. */
async function calledIn(desk: Desk, { path: file, line, name }: At): Promise<Called[]> {
  const { text, rows, facts } = await textAt(desk, file);
  const { end = line } = facts?.symbols.find((one) => one.line === line && one.name === name) ?? {};
  const from = rows[line - 1]!;
  const found = new Map<string, Called>();
  for (const { 0: word, index } of text.slice(from, rows[end]).matchAll(CALLED)) {
    const point = await pointAt(desk, file, from + index);
    const [spot] = await desk.server.definition(point);
    if (!spot || path.isAbsolute(spot.path) || isAt(spot, point)) continue;
    const key = `${spot.path}:${spot.line}:${spot.character}`;
    const known = found.get(key) ?? { ...spot, name: word, from: [] };
    known.from.push({ ...point, endLine: point.line, endCharacter: point.character + word.length });
    found.set(key, known);
  }
  return [...found.values()];
}
const CALLED = /[\p{L}_][\p{L}\p{N}_]*(?=\s*\()/gu;
