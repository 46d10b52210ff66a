// The errors in files, as the server tells them.
import fs from "node:fs";
import path from "node:path";
import type { CompilerGate } from "zz";
import { compare } from "zz/text";
import { gateOf } from "../answers/list-imports.ts";
import { conflictMarks } from "../scan/conflict.ts";
import type { Problem } from "./code-uses.ts";
import { codeUseAt, type Desk, NoAnswer, showFile, textAt, toCodeUse } from "./desk.ts";

const ERROR = 1;
const WARNING = 2;
const MAX_SHOWN = 50; // files that only this shows the server, at a time
const LEADS_NOWHERE = new Set([2307, 2306, 2792, 6053, 7016, 2732, 2834, 2835, 1192, 2503, 2875]);

export async function checkFiles(
  desk: Desk,
  filePaths: string[],
): Promise<{ problems: Problem[]; unread: string[] }> {
  const { server, ctx } = desk;
  if (!server.isSafe && ctx.permissions.judge("read", "/").verdict !== "allow")
    throw new NoAnswer(
      "Cannot check types: there is no sandbox here, " +
        "and imports may lead TypeScript to files outside of the project. " +
        "Allow reading (--allow-read), or install bubblewrap.",
    );
  const fileGate = await gateOf(ctx);
  const problems: Problem[] = [];
  const newlyShown: string[] = [];
  for (const filePath of filePaths) {
    if (!server.shows(filePath)) newlyShown.push(filePath);
    await showFile(desk, filePath);
    problems.push(...(await problemsOf(desk, filePath, fileGate)));
    if (newlyShown.length > MAX_SHOWN) server.hide(newlyShown.shift()!);
  }
  return {
    problems: problems.sort(
      (a, b) =>
        compare(a.path, b.path) || a.line - b.line || a.column - b.column || a.code - b.code,
    ),
    unread: fileGate.unread(),
  };
}

async function problemsOf(
  desk: Desk,
  filePath: string,
  fileGate: CompilerGate,
): Promise<Problem[]> {
  const { text } = await textAt(desk, filePath);
  const markOffsets = conflictMarks(text);
  if (markOffsets.length) {
    const markPlaces = await Promise.all(
      markOffsets.map((markOffset) => codeUseAt(desk, filePath, markOffset, markOffset)),
    );
    const message = "Merge conflict marker encountered.";
    return markPlaces.map(({ line, column }) => ({
      path: filePath,
      line,
      column,
      code: 1185,
      message,
      category: "error",
    }));
  }
  const problems: Problem[] = [];
  for (const { message, code, severity, ...spot } of await desk.server.problems(filePath)) {
    if (severity !== ERROR && severity !== WARNING) continue;
    const { line, column } = await toCodeUse(desk, spot);
    noteImportTarget(desk, filePath, message, Number(code), fileGate);
    const category = severity === ERROR ? "error" : "warning";
    problems.push({ path: filePath, line, column, code: Number(code), message, category });
  }
  return problems;
}

/** An import that the server could not follow may lead to where nothing may be read. */
function noteImportTarget(
  { state }: Desk,
  filePath: string,
  message: string,
  problemCode: number,
  fileGate: CompilerGate,
): void {
  const [, importedPath] = LEADS_NOWHERE.has(problemCode) ? (/'([^']+)'/.exec(message) ?? []) : [];
  if (!importedPath) return;
  const targetPath = path.resolve(state.root, path.dirname(filePath), importedPath);
  const packagePath = path.join(state.root, "node_modules", importedPath);
  if (/^[./]/.test(importedPath)) fileGate.leadsOut(importedPath, targetPath);
  else if (fs.lstatSync(packagePath, { throwIfNoEntry: false })?.isSymbolicLink())
    fileGate.leadsOut(importedPath, `${packagePath}/index.d.ts`);
}
