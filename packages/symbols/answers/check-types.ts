// check_types, by TypeScript's language server.
import fs from "node:fs";
import path from "node:path";
import type { Ctx, Result } from "zz";
import { plural, tryTo } from "zz/text";
import { checkFiles } from "../meaning/check-types.ts";
import { atDesk, type Desk, startServerEarly } from "../meaning/desk.ts";
import { capRows, filesUnder, MAX_ROWS, SCRIPT } from "./answer-rows.ts";
import { freshIndex, type State } from "./tool-state.ts";

export async function checkTypes(
  state: State,
  { paths }: { paths: string[] },
  ctx: Ctx,
): Promise<Result> {
  startServerEarly(undefined, ctx);
  const index = await freshIndex(state, ctx);
  const scriptFiles = paths
    .flatMap((givenPath) => filesUnder(index, givenPath, ctx))
    .filter((filePath) => SCRIPT.test(filePath));
  if (!scriptFiles.length)
    throw new Error(
      `Cannot check ${paths.join(", ") || "nothing"}: ` +
        "it is not TypeScript or JavaScript of this project. Name its files.",
    );
  const checkAtDesk = (desk: Desk) => checkFiles(desk, scriptFiles);
  const { problems, unread } = await atDesk(
    state,
    index,
    scriptFiles[0]!,
    ctx,
    checkAtDesk,
    (reason) => {
      throw new Error(`Cannot check ${paths.join(", ")}: ${reason}. Run the project's own check.`);
    },
  );
  const problemRows = problems.map(
    ({ path: filePath, line, column, code, message, category }) =>
      `${filePath}:${line}:${column}: ${category} TS${code}: ${message}`,
  );
  const problemList =
    capRows(problemRows, MAX_ROWS, "problems") ||
    `No problems in ${plural(scriptFiles.length, "file")}.`;
  return { text: [problemList, ...unread, ...olderTypescript(state)].join("\n"), data: problems };
}
/** TypeScript 7 checks more unasked than a project of an older one expects. */
function olderTypescript({ root }: State): string[] {
  const packageFile = path.join(root, "node_modules/typescript/package.json");
  const { version = "" } =
    tryTo(() => JSON.parse(fs.readFileSync(packageFile, "utf8")) as { version?: string }) ?? {};
  return /^[1-6]\.\d+\.\d+$/.test(version)
    ? [
        `[Checked by TypeScript 7; the project has ${version}, which may see less, or more, ` +
          "where tsconfig.json does not say.]",
      ]
    : [];
}
