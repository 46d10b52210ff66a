// get_todos and get_complexity.
import type { Ctx, Result } from "zz";
import { plural } from "zz/text";
import type { Facts } from "../scan/facts.ts";
import { isGenerated } from "../scan/generated-files.ts";
import {
  capRows,
  filesUnder,
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
  const files = filesUnder(index, under, ctx);
  const comments = files.flatMap((file) =>
    index.facts(file)!.todos.map((todo) => ({ path: file, ...todo })),
  );
  const rows = comments.map(({ path: file, line, text }) => `${file}:${line}: ${text}`);
  const none = `No TODO, FIXME or HACK in the comments of ${plural(files.length, "file")}.`;
  const text = [capRows(rows, MAX_ROWS, "") || none, ...notLookedAt(index, under, files, ctx)].join(
    "\n",
  );
  return { text, data: comments };
}

export async function measureComplexity(
  state: State,
  { path: under = "." }: { path?: string },
  ctx: Ctx,
): Promise<Result | string> {
  const index = await freshIndex(state, ctx);
  const codeFiles = filesUnder(index, under, ctx);
  const scripts = codeFiles.filter(isMapped); // data has no branches, but many lines
  const writtenFiles = scripts.filter((file) => !isGenerated(file) && !index.facts(file)!.made);
  const generatedCount = writtenFiles.length ? scripts.length - writtenFiles.length : 0;
  const listed = scripts.length
    ? scripts
    : codeFiles.filter((file) => codeFiles.length === 1 || !LOCK_FILE.test(file));
  const files = writtenFiles.length ? writtenFiles : listed;
  const others = notLookedAt(index, under, files, ctx);
  if (generatedCount)
    others.push(
      `[Left out: ${plural(generatedCount, "file")} of build output or generated code. Give a path to measure it.]`,
    );
  if (!files.length) return [NO_CODE, ...others].join("\n");
  const scores = files
    .map((file) => scoreOf(file, index.facts(file)!))
    .sort((a, b) => b.score - a.score);
  if (scores.length > 1) {
    const rows = scores.map(
      ({ path: file, score, loc, nesting, imports, branches }) =>
        `${file}: score ${score} (${branches} branches, nesting ${nesting}, ${imports} imports, ${loc} lines)`,
    );
    return { text: [capRows(rows, MAX_ROWS, "files"), ...others].join("\n"), data: scores };
  }
  const [single] = scores;
  const functions = index
    .facts(single!.path)!
    .symbols.filter(({ kind: symbolKind }) => symbolKind === "function" || symbolKind === "method");
  functions.sort(
    (a, b) => (b.decisions ?? 0) - (a.decisions ?? 0) || b.end - b.line - (a.end - a.line),
  );
  const rows = functions.map(
    (sym) =>
      `${sym.line}-${sym.end}: ${nameOf(sym)}: ${(sym.decisions ?? 0) + 1} paths, ${sym.end - sym.line + 1} lines`,
  );
  const { path: file, score, loc, nesting, imports, branches } = single!;
  const head = `${file}: score ${score} = ${branches} branches + 2 × ${nesting} nesting + ${imports} imports + ${loc} lines / 20`;
  return {
    text: [head, capRows(rows, MAX_ROWS, "functions"), ...others].filter(Boolean).join("\n"),
    data: { ...single, functions },
  };
}

const LOCK_FILE =
  /(^|\/)(package-lock|npm-shrinkwrap|pnpm-lock|bun\.lock|[\w.-]+\.lock)\.(json|ya?ml)$/i;

function scoreOf(file: string, { loc, nesting, imports, decisions }: Facts) {
  const score = Math.round(decisions + 2 * nesting + imports.length + loc / 20);
  return { path: file, score, loc, nesting, imports: imports.length, branches: decisions };
}
