// The type errors in a file.
import { ts } from "ts-morph";
import { codeFile } from "./candidates.ts";
import { internals } from "./compiler.ts";
import { configOf } from "./configs.ts";
import type { Problem } from "./contract.ts";
import { isScript, relative } from "./disk.ts";
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
    for (const file of files) found.push(...diagnose(program, file).map((_0) => problemOf(state, _0)));
  }
  return found.sort((a, b) => compare(a.path, b.path) || a.line - b.line || a.column - b.column || a.code - b.code);
}

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
