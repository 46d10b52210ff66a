// check_types, by TypeScript's language server.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { plural, tryTo } from "zz/text";
import { checkFiles } from "../meaning/check-types.ts";
import { atDesk, type Desk, wake } from "../meaning/desk.ts";
import { capRows, filesUnder, MAX_ROWS, SCRIPT } from "./answer-rows.ts";
import { freshIndex, type State } from "./tool-state.ts";

export async function checkTypes(
  state: State,
  { paths }: { paths: string[] },
  ctx: Ctx,
): Promise<Result> {
  wake(undefined, ctx);
  const index = await freshIndex(state, ctx);
  const files = paths
    .flatMap((givenPath) => filesUnder(index, givenPath, ctx))
    .filter((file) => SCRIPT.test(file));
  if (!files.length)
    throw new Error(
      `Cannot check ${paths.join(", ") || "nothing"}: it is not TypeScript or JavaScript of this project. Name its files.`,
    );
  const ask = (desk: Desk) => checkFiles(desk, files);
  const { problems, unread } = await atDesk(state, index, files[0]!, ctx, ask, (reason) => {
    throw new Error(`Cannot check ${paths.join(", ")}: ${reason}. Run the project's own check.`);
  });
  const rows = problems.map(
    ({ path: file, line, column, code, message, category }) =>
      `${file}:${line}:${column}: ${category} TS${code}: ${message}`,
  );
  const text =
    capRows(rows, MAX_ROWS, "problems") || `No problems in ${plural(files.length, "file")}.`;
  return { text: [text, ...unread, ...olderTypescript(state)].join("\n"), data: problems };
}
/** TypeScript 7 checks more unasked than a project of an older one expects. */
function olderTypescript({ root }: State): string[] {
  const file = path.join(root, "node_modules/typescript/package.json");
  const { version = "" } =
    tryTo(() => JSON.parse(fs.readFileSync(file, "utf8")) as { version?: string }) ?? {};
  return /^[1-6]\.\d+\.\d+$/.test(version)
    ? [
        `[Checked by TypeScript 7; the project has ${version}, which may see less, or more, where tsconfig.json does not say.]`,
      ]
    : [];
}
