// find_calls: who calls a function, and what it calls, from a language server.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import { atDesk, locate, placeOf, wake } from "../meaning/desk.ts";
import { showOthers } from "../meaning/references.ts";
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
    throw cannot(`${defined.length} things are: ${defined.map(placeIn).join(", ")}. Choose one by path and line.`);
  let name = "";
  const found = await atDesk(
    state,
    index,
    at.path,
    ctx,
    async (desk) => {
      const point = await locate(desk, at);
      if (!callees) await showOthers(desk, at); // some servers know just what they were shown
      const called = await desk.server[way](point);
      name = desk.server.name;
      const seen = called.filter(({ path, from }) => mayRead(ctx, path) && from.every((one) => mayRead(ctx, one.path)));
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
  const none = way === "callers" ? `${name} knows nothing here that calls it.` : `${name} knows nothing that it calls.`;
  const head = `${plural(found.length, way.slice(0, -1))} of ${args.symbol} (${at.path}:${at.line}):`;
  return { text: found.length ? `${head}\n${capped(rows, 2 * MAX_ROWS, "rows")}` : none, data: found };
}
