// Where a name leads that nothing in the project defines: the server follows it from a use.
import path from "node:path";
import type { Ctx } from "zz";
import type { State } from "../answers/tool-state.ts";
import type { Index } from "../index-view.ts";
import { mayRead } from "../may-read.ts";
import { SCRIPT } from "../resolve/paths.ts";
import { filesUsing } from "../rows.ts";
import { atDesk, type Desk, pointAt, showFile, textAt, titleOf, wordIn } from "./desk.ts";

const MAX_FILES = 5; // whose first use is followed

/** Rows, with what the thing is; none where no server knows. */
export async function definitionElsewhere(
  state: State,
  index: Index,
  name: string,
  ctx: Ctx,
): Promise<string[]> {
  const users = filesUsing(index, name).filter((file) => SCRIPT.test(file) && mayRead(ctx, file));
  if (!users.length) return [];
  const files = users.slice(0, MAX_FILES);
  const ask = async (desk: Desk) => {
    for (const file of files) {
      const rows = await definedFrom(desk, file, name);
      if (rows.length) return rows;
    }
    return [];
  };
  return atDesk(state, index, files[0]!, ctx, ask, () => []);
}

async function definedFrom(desk: Desk, file: string, name: string): Promise<string[]> {
  const { text } = await textAt(desk, file);
  const offset = wordIn(text, name);
  if (offset === undefined) return [];
  await showFile(desk, file);
  const point = await pointAt(desk, file, offset);
  const spots = (await desk.server.definition(point)).filter((spot) => spot.path !== file);
  if (!spots.length) return [];
  const title = await titleOf(desk, point, name);
  const { root } = desk.state;
  const shown = (target: string) =>
    target.startsWith(`${root}/`) ? path.relative(root, target) : target;
  return spots.map((spot) => `${shown(spot.path)}:${spot.line + 1}: ${title}`);
}
