// The type errors in a file.
import { ts } from "ts-morph";
import { conflictMarks } from "../scan/conflict.ts";
import { codeFile } from "./candidates.ts";
import { internals } from "./compiler.ts";
import { configOf } from "./configs.ts";
import type { Problem } from "./contract.ts";
import { isScript, relative, textOf } from "./disk.ts";
import { begin, grow, sliceOf } from "./programs.ts";
import type { State } from "./state.ts";
import { compare } from "./words.ts";

export function check(state: State, paths: string[]): Problem[] {
  begin(state);
  const found: Problem[] = [];
  for (const [, files] of Map.groupBy(new Set(paths.map((path) => codeFile(state, path))), (file) =>
    configOf(state, file),
  )) {
    const program = grow(state, sliceOf(state, files[0]!), files, false);
    for (const file of files) {
      const source = program.getSourceFile(file);
      const marks = source ? conflictMarks(textOf(state, file)) : [];
      const all = marks.length ? marks.map((start) => atMark(source!, start)) : diagnose(program, file);
      found.push(...all.map((one) => problemOf(state, one)));
    }
  }
  return found.sort((a, b) => compare(a.path, b.path) || a.line - b.line || a.column - b.column || a.code - b.code);
}

/** Its trees have both sides of a conflict, so what else is wrong there says nothing. */
const atMark = (file: ts.SourceFile, start: number): ts.Diagnostic => ({
  ...{ file, start, length: MARK_CHARS, category: ts.DiagnosticCategory.Error },
  ...{ code: 1185, messageText: "Merge conflict marker encountered." },
});
const MARK_CHARS = 7;

export function diagnose(program: ts.Program, file: string): ts.Diagnostic[] {
  const source = program.getSourceFile(file);
  if (!source) return [];
  const isDeclared = internals.getEmitDeclarations(program.getCompilerOptions()) && !isScript(file);
  return [
    ...program.getSyntacticDiagnostics(source),
    ...program.getSemanticDiagnostics(source),
    ...(isDeclared ? program.getDeclarationDiagnostics(source) : []),
  ];
}

export function problemOf(state: State, { file, start = 0, messageText, code, category }: ts.Diagnostic): Problem {
  const { line, character } = file!.getLineAndCharacterOfPosition(start);
  const place = { path: relative(state, file!.fileName), line: line + 1, column: character + 1 };
  return {
    ...place,
    code,
    message: ts.flattenDiagnosticMessageText(messageText, "\n"),
    category: CATEGORIES[category],
  };
}
const CATEGORIES = ["warning", "error", "suggestion", "message"] as const;
