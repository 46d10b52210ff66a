// The errors in files, as the server tells them.
import fs from "node:fs";
import path from "node:path";
import type { CompilerGate } from "zz";
import { gateOf } from "../answers/list-imports.ts";
import { comparePaths } from "../resolve/paths.ts";
import { conflictMarks } from "../scan/conflict.ts";
import type { Problem } from "./code-uses.ts";
import { codeUseAt, type Desk, NoAnswer, showFile, textAt, toCodeUse } from "./desk.ts";

const ERROR = 1;
const WARNING = 2;
const MAX_SHOWN = 50; // files that only this shows the server, at a time
const LEADS_NOWHERE = new Set([2307, 2306, 2792, 6053, 7016, 2732, 2834, 2835, 1192, 2503, 2875]);

export async function checkFiles(
  desk: Desk,
  files: string[],
): Promise<{ problems: Problem[]; unread: string[] }> {
  const { server, ctx } = desk;
  if (!server.isSafe && ctx.permissions.judge("read", "/").verdict !== "allow")
    throw new NoAnswer(
      "Cannot check types: there is no sandbox here, and imports may lead TypeScript to files outside of the project. " +
        "Allow reading (--allow-read), or install bubblewrap.",
    );
  const gate = await gateOf(ctx);
  const problems: Problem[] = [];
  const fresh: string[] = [];
  for (const file of files) {
    if (!server.shows(file)) fresh.push(file);
    await showFile(desk, file);
    problems.push(...(await problemsOf(desk, file, gate)));
    if (fresh.length > MAX_SHOWN) server.hide(fresh.shift()!);
  }
  return {
    problems: problems.sort(
      (a, b) =>
        comparePaths(a.path, b.path) || a.line - b.line || a.column - b.column || a.code - b.code,
    ),
    unread: gate.unread(),
  };
}

async function problemsOf(desk: Desk, file: string, gate: CompilerGate): Promise<Problem[]> {
  const { text } = await textAt(desk, file);
  const marks = conflictMarks(text);
  if (marks.length) {
    const places = await Promise.all(marks.map((start) => codeUseAt(desk, file, start, start)));
    const message = "Merge conflict marker encountered.";
    return places.map(({ line, column }) => ({
      path: file,
      line,
      column,
      code: 1185,
      message,
      category: "error",
    }));
  }
  const problems: Problem[] = [];
  for (const { message, code, severity, ...spot } of await desk.server.problems(file)) {
    if (severity !== ERROR && severity !== WARNING) continue;
    const { line, column } = await toCodeUse(desk, spot);
    noteImportTarget(desk, file, message, Number(code), gate);
    const category = severity === ERROR ? "error" : "warning";
    problems.push({ path: file, line, column, code: Number(code), message, category });
  }
  return problems;
}

/** An import that the server could not follow may lead to where nothing may be read. */
function noteImportTarget(
  { state }: Desk,
  file: string,
  message: string,
  code: number,
  gate: CompilerGate,
): void {
  const [, to] = LEADS_NOWHERE.has(code) ? (/'([^']+)'/.exec(message) ?? []) : [];
  if (!to) return;
  const target = path.resolve(state.root, path.dirname(file), to);
  const linked = path.join(state.root, "node_modules", to);
  if (/^[./]/.test(to)) gate.leadsOut(to, target);
  else if (fs.lstatSync(linked, { throwIfNoEntry: false })?.isSymbolicLink())
    gate.leadsOut(to, `${linked}/index.d.ts`);
}
