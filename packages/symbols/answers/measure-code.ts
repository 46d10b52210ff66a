// get_todos and get_complexity.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { Facts, Sym } from "../scan/facts.ts";
import {
  capRows,
  filesUnder,
  generatedTest,
  isMapped,
  MAX_ROWS,
  NO_CODE,
  nameOf,
  notLookedAt,
} from "./answer-rows.ts";
import { freshIndex, type State } from "./tool-state.ts";

export async function listTodos(
  state: State,
  { path: under = "." }: { path?: string },
  ctx: Ctx,
): Promise<Result> {
  const index = await freshIndex(state, ctx);
  const codeFiles = filesUnder(index, under, ctx);
  const comments = codeFiles.flatMap((filePath) =>
    index.facts(filePath)!.todos.map((todoComment) => ({ path: filePath, ...todoComment })),
  );
  const todoRows = comments.map(({ path: filePath, line, text }) => `${filePath}:${line}: ${text}`);
  const countedFiles = plural(codeFiles.length, "file");
  const emptyAnswer = `No TODO, FIXME or HACK in the comments of ${countedFiles}.`;
  const text = [
    capRows(todoRows, MAX_ROWS, "") || emptyAnswer,
    ...notLookedAt(index, under, codeFiles, ctx),
  ].join("\n");
  return { text, data: comments };
}

const byComplexity = (first: Sym, second: Sym) =>
  (second.decisions ?? 0) - (first.decisions ?? 0) ||
  second.end - second.line - (first.end - first.line);

export async function measureComplexity(
  state: State,
  { path: under = "." }: { path?: string },
  ctx: Ctx,
): Promise<Result | string> {
  const index = await freshIndex(state, ctx);
  const codeFiles = filesUnder(index, under, ctx);
  const scripts = codeFiles.filter(isMapped); // data has no branches, but many lines
  const isGeneratedFile = generatedTest(index);
  const writtenFiles = scripts.filter((filePath) => !isGeneratedFile(filePath));
  const generatedCount = writtenFiles.length ? scripts.length - writtenFiles.length : 0;
  const fallbackFiles = scripts.length
    ? scripts
    : codeFiles.filter((filePath) => codeFiles.length === 1 || !LOCK_FILE.test(filePath));
  const measuredFiles = writtenFiles.length ? writtenFiles : fallbackFiles;
  const leftOutNotes = notLookedAt(index, under, measuredFiles, ctx);
  if (generatedCount)
    leftOutNotes.push(
      `[Left out: ${plural(generatedCount, "file")} of build output or generated code. ` +
        "Give a path to measure it.]",
    );
  if (!measuredFiles.length) return [NO_CODE, ...leftOutNotes].join("\n");
  const fileScores = measuredFiles
    .map((filePath) => scoreOf(filePath, index.facts(filePath)!))
    .sort((first, second) => second.score - first.score);
  if (fileScores.length > 1) {
    const scoreRows = fileScores.map(
      ({ path: filePath, score, loc, nesting, imports, branches }) =>
        `${filePath}: score ${score} (${branches} branches, ` +
        `nesting ${nesting}, ${imports} imports, ${loc} lines)`,
    );
    return {
      text: [capRows(scoreRows, MAX_ROWS, "files"), ...leftOutNotes].join("\n"),
      data: fileScores,
    };
  }
  const [singleScore] = fileScores;
  const functions = index
    .facts(singleScore!.path)!
    .symbols.filter(({ kind: symbolKind }) => symbolKind === "function" || symbolKind === "method");
  functions.sort(byComplexity);
  const functionRows = functions.map(
    ({ line, end, decisions = 0, ...named }) =>
      `${line}-${end}: ${nameOf(named)}: ${decisions + 1} paths, ${end - line + 1} lines`,
  );
  const { path: filePath, score, loc, nesting, imports, branches } = singleScore!;
  const headline =
    `${filePath}: score ${score} = ${branches} branches + 2 × ${nesting} nesting + ` +
    `${imports} imports + ${loc} lines / 20`;
  return {
    text: [headline, capRows(functionRows, MAX_ROWS, "functions"), ...leftOutNotes]
      .filter(Boolean)
      .join("\n"),
    data: { ...singleScore, functions },
  };
}

const LOCK_FILE =
  /(^|\/)(package-lock|npm-shrinkwrap|pnpm-lock|bun\.lock|[\w.-]+\.lock)\.(json|ya?ml)$/i;

function scoreOf(filePath: string, { loc, nesting, imports, decisions }: Facts) {
  const score = Math.round(decisions + 2 * nesting + imports.length + loc / 20);
  return { path: filePath, score, loc, nesting, imports: imports.length, branches: decisions };
}
