// Where a name leads that nothing in the project defines: the server follows it from a use.
import path from "node:path";
import type { Ctx } from "zz";
import type { State } from "../answers/tool-state.ts";
import type { Index } from "../index-view.ts";
import { scriptsUsing } from "../may-read.ts";
import { atDesk, type Desk, pointAt, showFile, textAt, titleOf, wordIn } from "./desk.ts";

const MAX_FILES = 5; // whose first use is followed

/** Rows, with what the thing is; none where no server knows. */
export async function definitionElsewhere(
  state: State,
  index: Index,
  symbolName: string,
  ctx: Ctx,
): Promise<string[]> {
  const userFiles = scriptsUsing(index, symbolName, ctx);
  if (!userFiles.length) return [];
  const searchedFiles = userFiles.slice(0, MAX_FILES);
  const askServer = async (desk: Desk) => {
    for (const filePath of searchedFiles) {
      const definitionRows = await definedFrom(desk, filePath, symbolName);
      if (definitionRows.length) return definitionRows;
    }
    return [];
  };
  return atDesk(state, index, searchedFiles[0]!, ctx, askServer, () => []);
}

async function definedFrom(desk: Desk, filePath: string, symbolName: string): Promise<string[]> {
  const { text } = await textAt(desk, filePath);
  const nameOffset = wordIn(text, symbolName);
  if (nameOffset === undefined) return [];
  await showFile(desk, filePath);
  const usePoint = await pointAt(desk, filePath, nameOffset);
  const otherSpots = (await desk.server.definition(usePoint)).filter(
    (spot) => spot.path !== filePath,
  );
  if (!otherSpots.length) return [];
  const symbolTitle = await titleOf(desk, usePoint, symbolName);
  const { root } = desk.state;
  const shortenPath = (targetPath: string) =>
    targetPath.startsWith(`${root}/`) ? path.relative(root, targetPath) : targetPath;
  return otherSpots.map((spot) => `${shortenPath(spot.path)}:${spot.line + 1}: ${symbolTitle}`);
}
